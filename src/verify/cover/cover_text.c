/* cover_text - why a region is not covered, with loops as what they are on screen. */
#include "moonloop/verify/cover/cover_impl.h"

static const char *end_text(ml_Cover *c, const ml_Expr *e, size_t k, ml_CoverEnds *ends)
{
    ml_Subst threads = {0};

    if (!e)
        return k % 2 ? "inf" : "-inf";
    if (ml_is_const_int(e))
        return ml_format(c->cx, "%lld", (long long)e->as.i);
    for (size_t t = 0; t < c->tags.n; t++)
        ml_subst_var(c->cx, &threads, c->tags.v[t].var,
                     ml_var(c->cx, c->tags.v[t].loop->var));
    ends->v[k] = threads.vars ? ml_expr_subst(c->cx, e, &threads) : e;
    return ml_format(c->cx, "{%zu}", ML_COVER_FIRST_END + k);
}

/* " 2 elements past the end", where the distance is a number. */
static const char *beyond(ml_Cover *c, const ml_Expr *far, const ml_Expr *near,
                          const char *where)
{
    if (!far || !near || !ml_promote(c->cx, &far, &near))
        return "";
    const ml_Expr *d = ml_simplify(c->ar, ml_sub(c->cx, far, near));

    if (!ml_is_const_int(d) || d->as.i <= 0)
        return "";
    return ml_format(c->cx, ", %lld element%s %s", (long long)d->as.i,
                     d->as.i == 1 ? "" : "s", where);
}

static bool is_number(const ml_Expr *e)
{
    return e && ml_is_const_int(e);
}

bool ml_cover_numbers(ml_Interval a, ml_Interval b)
{
    return is_number(a.min) && is_number(a.max) && is_number(b.min) && is_number(b.max);
}

const char *ml_cover_dimension_text(ml_Cover *c, size_t dim, size_t rank, ml_Interval read,
                                    ml_Interval written, ml_CoverEnds *ends)
{
    const char *of = rank > 1 ? ml_format(c->cx, " of %zu", rank) : "";
    bool low = !written.min || (read.min && ml_prove_le_expr(c->ar, written.min, read.min));
    bool high =
        !written.max || (read.max && ml_prove_le_expr(c->ar, read.max, written.max));
    bool numbers = ml_cover_numbers(read, written);

    if (!numbers && low != high)
        return ml_format(c->cx, "dimension %zu%s is read %s %s, written %s %s%s", dim, of,
                         low ? "up to" : "from",
                         end_text(c, low ? read.max : read.min, low, ends),
                         low ? "up to" : "from",
                         end_text(c, low ? written.max : written.min, 2u + low, ends),
                         low ? beyond(c, read.max, written.max, "past it")
                             : beyond(c, written.min, read.min, "before it"));
    return ml_format(c->cx, "dimension %zu%s reads [%s, %s], written is [%s, %s]%s%s", dim,
                     of, end_text(c, read.min, 0, ends), end_text(c, read.max, 1, ends),
                     end_text(c, written.min, 2, ends), end_text(c, written.max, 3, ends),
                     beyond(c, written.min, read.min, "before it"),
                     beyond(c, read.max, written.max, "past it"));
}

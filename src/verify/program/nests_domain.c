/*
 * nests_domain - whether blocks take the whole domains of their iters, alone or with other
 * pieces, and whether reductions start where their init runs. Source: ir-and-analysis 5.1,
 * rules 4 and 5.
 */
#include "moonloop/verify/program/nests_impl.h"

static const char *range_text(ml_Nest *n, const ml_Expr *min, const ml_Expr *extent)
{
    const ml_Expr *end = ml_simplify(n->ar, ml_add(n->cx, min, extent));

    return ml_format(n->cx, "[%s, %s)", ml_expr_text(n->cx, min), ml_expr_text(n->cx, end));
}

/* A detected digit as [min, min + extent), when its scale is 1 or it has one value; a
 * constant has extent 1. */
static bool sum_range(ml_Nest *n, const ml_IterSum *s, ml_Range *out)
{
    if (s->n > 1 || (s->n == 1 && !ml_is_int(s->digits[0].scale, 1) &&
                     !ml_is_int(s->digits[0].extent, 1)))
        return false;
    *out =
        (ml_Range){s->base, s->n ? s->digits[0].extent : ml_int(n->cx, s->base->type, 1)};
    return true;
}

bool ml_nest_uses_any(const ml_Expr *e, const ml_DomVec *dom)
{
    for (size_t k = 0; k < dom->n; k++)
        if (ml_expr_uses_var(e, dom->v[k].var))
            return true;
    return false;
}

/* What a detected sum takes: a range; or every step-th value, or something else. */
typedef struct Taken {
    ml_Range range;
    const ml_Expr *step; /* NULL: none */
    bool known, gaps;    /* gaps: some values between others surely never come */
} Taken;

static Taken taken(ml_Nest *n, const ml_IterSum *s)
{
    Taken t = {0};

    t.known = sum_range(n, s, &t.range);
    if (t.known || s->n != 1)
        return t;
    const ml_IterDigit *d = &s->digits[0];

    if (ml_is_int(d->scale, -1)) { /* every value once, downwards */
        const ml_Expr *one = ml_int(n->cx, d->extent->type, 1);

        t.range.min =
            ml_simplify(n->ar, ml_sub(n->cx, s->base, ml_sub(n->cx, d->extent, one)));
        t.range.extent = d->extent;
        t.known = true;
        return t;
    }
    t.step = d->scale;
    t.gaps = ml_is_const_int(d->scale) && ml_is_const_int(d->extent) &&
             (d->scale->as.i > 1 || d->scale->as.i < -1) && d->extent->as.i > 1;
    return t;
}

/* -1: another range, provably; 1: the iter's domain; 0: not known. */
static int compare(ml_Nest *n, const ml_Iter *it, const ml_Range *have)
{
    const ml_Expr *min = have->min, *dmin = it->min, *ext = have->extent,
                  *dext = it->extent;

    if (!ml_dtype_eq(min->type, dmin->type))
        ml_promote(n->cx, &min, &dmin);
    if (!ml_dtype_eq(ext->type, dext->type))
        ml_promote(n->cx, &ext, &dext);
    if (ml_prove_equal(n->ar, min, dmin) && ml_prove_equal(n->ar, ext, dext))
        return 1;
    return ml_prove(n->ar, ml_ne(n->cx, min, dmin)) ||
                   ml_prove(n->ar, ml_ne(n->cx, ext, dext))
               ? -1
               : 0;
}

/* The same with the iters of all blocks around by the loops that drive them. */
static bool whole_with_all_loops(ml_Nest *n, const ml_Iter *it)
{
    ml_StmtVec loops = {0};
    ml_DomVec dom = {0};
    const ml_Expr *value = it->value, *pred = n->b->predicate;

    for (ml_Up u = ml_index_up(n->p.index, n->b->tag); u.node; ml_index_next(&u)) {
        if (u.node->kind == ML_STMT_FOR) {
            ml_push(n->cx, &loops, u.node);
            continue;
        }
        const ml_Block *b = ml_as_block(u.node);
        ml_Subst sub = {0};

        for (size_t k = 0; k < b->n_iters; k++)
            ml_subst_var(n->cx, &sub, b->iters[k].var, b->iters[k].value);
        value = ml_expr_subst(n->cx, value, &sub);
        pred = ml_and(n->cx, ml_expr_subst(n->cx, pred, &sub), b->predicate);
    }
    while (loops.n > 0) {
        const ml_For *f = ml_as_for(loops.v[--loops.n]);

        ml_push(n->cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    ml_IterMap m =
        ml_iter_detect(n->ar, &value, 1, dom.v, dom.n, pred, ML_SURJECTIVE, false);

    if (!m.ok)
        return false;
    Taken t = taken(n, &m.sums[0]);

    return t.known && compare(n, it, &t.range) > 0;
}

/* With the loops of outer scopes in their ranges, too: of a domain that does not depend on
 * them. */
static bool whole_with_outer(ml_Nest *n, const ml_Iter *it)
{
    ml_DomVec wide = {0};

    ml_wide_domain(n->cx, n->p, n->b->tag, &wide);
    if (wide.n == n->dom.n || ml_nest_uses_any(it->min, &wide) ||
        ml_nest_uses_any(it->extent, &wide))
        return false;
    ml_IterMap m = ml_iter_detect(n->ar, &it->value, 1, wide.v, wide.n, n->b->predicate,
                                  ML_SURJECTIVE, false);

    Taken t = {0};

    if (m.ok)
        t = taken(n, &m.sums[0]);
    return (t.known && compare(n, it, &t.range) > 0) || whole_with_all_loops(n, it);
}

static bool same_iters(const ml_Block *a, const ml_Block *b)
{
    bool same = a->n_iters == b->n_iters;

    for (size_t k = 0; k < b->n_iters && same; k++)
        same = a->iters[k].kind == b->iters[k].kind && a->iters[k].min == b->iters[k].min &&
               a->iters[k].extent == b->iters[k].extent;
    return same;
}

/* No other block may do the rest: writes what it writes or, a reduction that a later step
 * gave another buffer, has the same iters. */
static bool is_alone(const ml_Nest *n, const ml_Iter *it)
{
    for (size_t k = 0; k < n->blocks.n; k++) {
        const ml_Block *o = ml_as_block(n->blocks.v[k]);

        if (!ml_works_beside(n->p, o, n->b))
            continue;
        if (it->kind == ML_ITER_REDUCE && same_iters(o, n->b))
            return false;
        for (size_t w = 0; w < o->n_writes; w++)
            for (size_t m = 0; m < n->b->n_writes; m++)
                if (o->writes[w].buffer->uid == n->b->writes[m].buffer->uid)
                    return false;
    }
    return true;
}

/* Together with other pieces. */
static ml_Whole whole_with_others(ml_Nest *n, size_t k)
{
    ml_Whole w = ml_iter_whole(n->cx, n->p, &n->blocks, n->b, k);

    if (w != ML_WHOLE_DONE && n->b->iters[k].kind == ML_ITER_SPATIAL)
        return ml_output_whole(n->cx, n->p, &n->blocks, n->b, k);
    return w == ML_WHOLE_PART && !is_alone(n, &n->b->iters[k]) ? ML_WHOLE_UNKNOWN : w;
}

/* Whether it is the predicate that cuts the iter, together with loops of other iters: the
 * rest of the last tile, which other tiles have. */
static bool cut_jointly(ml_Nest *n, const ml_Iter *it)
{
    const ml_Expr *yes = ml_bool(n->cx, true);
    bool joint = false;

    if (ml_is_true(n->b->predicate))
        return false;
    for (size_t d = 0; d < n->dom.n; d++)
        joint |= ml_expr_uses_var(n->b->predicate, n->dom.v[d].var) &&
                 !ml_expr_uses_var(it->value, n->dom.v[d].var);
    ml_IterMap m =
        ml_iter_detect(n->ar, &it->value, 1, n->dom.v, n->dom.n, yes, ML_SURJECTIVE, false);

    if (!joint || !m.ok)
        return false;
    Taken t = taken(n, &m.sums[0]);

    return t.known && compare(n, it, &t.range) > 0;
}

void ml_nest_check_whole(ml_Nest *n, size_t k, const ml_IterMap *m, size_t at)
{
    const ml_Iter *it = &n->b->iters[k];
    Taken t = {0};
    const char *text = "an unknown part";
    int same = 0;

    if (m->ok) {
        t = taken(n, &m->sums[at]);
    } else {
        ml_IterMap alone = ml_iter_detect(n->ar, &it->value, 1, n->dom.v, n->dom.n,
                                          n->b->predicate, ML_SURJECTIVE, false);
        if (alone.ok)
            t = taken(n, &alone.sums[0]);
    }
    if (t.known)
        same = compare(n, it, &t.range);
    if (same > 0 || whole_with_outer(n, it))
        return;
    if (cut_jointly(n, it))
        return;
    if (!t.known && !t.step &&
        (!n->independent || (m->fail == ML_ITER_FAIL_EMPTY && !m->ok)))
        return;
    /* Pieces of a domain lie in it. */
    ml_Whole whole = n->inside ? whole_with_others(n, k) : ML_WHOLE_UNKNOWN;

    if (whole == ML_WHOLE_DONE)
        return;
    if (t.known)
        text = range_text(n, t.range.min, t.range.extent);
    else if (t.step)
        text = ml_format(n->cx, "every %s-th value", ml_expr_text(n->cx, t.step));
    bool wrong = whole == ML_WHOLE_PART || ((same < 0 || t.gaps) && is_alone(n, it));

    /* A predicate says by itself what is to be left out. */
    wrong &= ml_is_true(n->b->predicate);

    ml_find(&n->find, wrong ? ml_nest_severity(n) : ML_SEV_UNPROVED, ML_E_DOMAIN_NOT_EQUAL,
            ML_ITER(n->b, k), ML_BLOCK(n->b), ML_TEXT(text),
            ML_TEXT(ml_nest_domain_text(n, it)));
    /* The init runs at the first reduce iteration: it must not be cut off. */
    if (t.known && it->kind == ML_ITER_REDUCE && n->b->init &&
        ml_nest_lt(n, it->min, t.range.min))
        ml_find(&n->find, ml_nest_severity(n), ML_E_INIT_EXCLUDED, ML_BLOCK(n->b),
                ML_TEXT("the predicate excludes the first reduce iteration"));
}

bool ml_nest_uses_kind(const ml_Nest *n, const ml_Var *v, ml_IterKind kind)
{
    for (size_t k = 0; k < n->b->n_iters; k++)
        if (n->b->iters[k].kind == kind && ml_expr_uses_var(n->b->iters[k].value, v))
            return true;
    return false;
}

/* Rule 5 where the detection failed: a predicate over loops of reduce bindings may cut off
 * the first reduce iteration; not if it holds there whenever it holds at all. */
void ml_nest_check_init(ml_Nest *n)
{
    ml_DomVec reduce = {0};
    ml_Subst start = {0};

    if (!n->b->init || ml_is_true(n->b->predicate))
        return;
    for (size_t d = 0; d < n->dom.n; d++)
        if (ml_nest_uses_kind(n, n->dom.v[d].var, ML_ITER_REDUCE)) {
            ml_push(n->cx, &reduce, n->dom.v[d]);
            ml_subst_var(n->cx, &start, n->dom.v[d].var, n->dom.v[d].min);
        }
    if (!ml_nest_uses_any(n->b->predicate, &reduce))
        return;
    ml_ArithMark mark = ml_arith_save(n->ar);

    ml_arith_assume(n->ar, n->b->predicate);
    bool holds = ml_prove_cases(n->ar, ml_expr_subst(n->cx, n->b->predicate, &start));

    ml_arith_restore(n->ar, mark);
    if (!holds)
        ml_find(&n->find, ML_SEV_UNPROVED, ML_E_INIT_EXCLUDED, ML_BLOCK(n->b),
                ML_TEXT("the predicate may exclude the first reduce iteration"));
}

/* The init runs where every reduce iter is at its domain's minimum: that must be the first
 * iteration of the loops, not just one of them (a reversed or rotated binding). */
void ml_nest_check_first(ml_Nest *n)
{
    ml_Subst start = {0};

    if (!n->b->init)
        return;
    for (size_t d = 0; d < n->dom.n; d++)
        if (ml_nest_uses_kind(n, n->dom.v[d].var, ML_ITER_REDUCE))
            ml_subst_var(n->cx, &start, n->dom.v[d].var, n->dom.v[d].min);
    for (size_t k = 0; start.vars && k < n->b->n_iters; k++) {
        const ml_Iter *it = &n->b->iters[k];
        const ml_Expr *first, *min = it->min;

        if (it->kind != ML_ITER_REDUCE)
            continue;
        first = ml_simplify(n->ar, ml_expr_subst(n->cx, it->value, &start));
        if (!ml_dtype_eq(first->type, min->type))
            ml_promote(n->cx, &first, &min);
        if (ml_prove_equal(n->ar, first, min))
            continue;
        bool wrong =
            ml_is_true(n->b->predicate) && ml_prove(n->ar, ml_ne(n->cx, first, min));

        ml_find(&n->find, wrong ? ml_nest_severity(n) : ML_SEV_UNPROVED, ML_E_INIT_EXCLUDED,
                ML_BLOCK(n->b),
                ML_TEXT(ml_format(n->cx, "iter %s starts at %s, its domain at %s",
                                  ml_iter_name(n->b, k), ml_expr_text(n->cx, first),
                                  ml_expr_text(n->cx, it->min))));
    }
}

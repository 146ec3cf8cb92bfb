/*
 * iter_expr - detected maps as expressions: export, emission, simplification of indices and
 * their normal form as a sum. Source: ir-and-analysis 4.7.
 */
#include "moonloop/core/arith/iter_impl.h"

/* ---- export */

const ml_IterMark *ml_it_export_mark(ml_ItState *st, ml_ItMark *m)
{
    if (m->out)
        return m->out;
    m->out = ML_NEW(st->cx, ml_IterMark);
    m->out->id = m->id;
    m->out->var = m->var;
    m->out->extent = ml_it_expr(st, m->extent);
    if (m->kind == ML_IT_INPUT) {
        m->out->min = ml_it_expr(st, m->min);
    } else {
        ml_IterSum *s = ML_NEW(st->cx, ml_IterSum);
        *s = ml_it_export(st, &m->sum);
        m->out->sum = s;
    }
    return m->out;
}

ml_IterSum ml_it_export(ml_ItState *st, const ml_ItSum *s)
{
    ml_IterDigit *v = s->n ? ML_ARRAY(st->cx, ml_IterDigit, s->n) : NULL;

    for (size_t k = 0; k < s->n; k++) {
        const ml_ItDigit *d = &s->v[k];
        v[k] = (ml_IterDigit){.mark = ml_it_export_mark(st, d->mark),
                              .offset = ml_it_expr(st, d->off),
                              .lower = ml_it_expr(st, d->low),
                              .extent = ml_it_expr(st, d->ext),
                              .scale = ml_it_expr(st, d->scale),
                              .open = d->open};
    }
    return (ml_IterSum){s->n, v, ml_it_expr(st, s->base)};
}

/* ---- emission */

static const ml_Expr *source_expr(ml_Arith *ar, const ml_IterMark *m)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    if (m->sum)
        return ml_iter_sum_expr(ar, m->sum);
    const ml_Expr *v = ml_var(cx, m->var);
    if (!ml_dtype_eq(v->type, m->extent->type))
        v = ml_cast(cx, m->extent->type, v);
    return ml_sub(cx, v, m->min);
}

static bool ends_exactly(ml_Arith *ar, const ml_IterDigit *d)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    return ml_prove_equal(ar, ml_mul(cx, d->lower, d->extent),
                          ml_add(cx, d->mark->extent, d->offset));
}

static const ml_Expr *digit_expr(ml_Arith *ar, const ml_IterDigit *d)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    if (ml_is_int(d->extent, 1) && !ml_is_int(d->mark->extent, 1))
        return ml_int(cx, d->scale->type, 0);
    const ml_Expr *e = source_expr(ar, d->mark);
    if (!ml_is_int(d->offset, 0))
        e = ml_add(cx, e, d->offset);
    if (!d->open && !ends_exactly(ar, d))
        e = ml_floormod(cx, e, ml_mul(cx, d->lower, d->extent));
    return ml_mul(cx, ml_floordiv(cx, e, d->lower), d->scale);
}

const ml_Expr *ml_iter_sum_expr(ml_Arith *ar, const ml_IterSum *s)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Expr *e = NULL;

    for (size_t k = 0; k < s->n; k++) {
        const ml_Expr *d = digit_expr(ar, &s->digits[k]);
        e = e ? ml_add(cx, e, d) : d;
    }
    if (!e)
        return s->base;
    if (ml_is_const_int(s->base) && s->base->as.i < 0 &&
        s->base->as.i > ml_dtype_min(s->base->type))
        return ml_sub(cx, e, ml_int(cx, s->base->type, -s->base->as.i));
    return ml_add(cx, e, s->base);
}

const ml_Expr *ml_it_sum_expr(ml_ItState *st, const ml_ItSum *s)
{
    ml_IterSum out = ml_it_export(st, s);

    return ml_iter_sum_expr(st->ar, &out);
}

/* ---- simplification */

/* Whether the emitted text may hold what only plain simplification removes. */
static bool has_shifts(const ml_ItState *st)
{
    for (size_t k = 0; k < st->n_inputs; k++)
        if (!ml_it_is(st->marks.v[k]->min, 0))
            return true;
    return st->constraints.n > 0;
}

/* e simplified; keep_unit: as if iterators of extent 1 could take other values too. */
static const ml_Expr *plain(ml_Arith *ar, const ml_Expr *e, const ml_Dom *iters,
                            size_t n_iters, bool keep_unit)
{
    ml_ArithMark mark = ml_arith_save(ar);

    for (size_t k = 0; keep_unit && k < n_iters; k++)
        if (ml_is_int(iters[k].extent, 1))
            ml_arith_bind_range(ar, iters[k].var, iters[k].min,
                                ml_int(ml_arith_ctx(ar), iters[k].extent->type, 2));
    e = ml_simplify(ar, e);
    ml_arith_restore(ar, mark);
    return e;
}

void ml_iter_simplify(ml_Arith *ar, const ml_Expr *const *indices, size_t n,
                      const ml_Dom *iters, size_t n_iters, const ml_Expr *pred,
                      ml_IterLevel level, bool keep_unit, bool non_trivial,
                      const ml_Expr **out)
{
    if (level != ML_BIJECTIVE && (!pred || ml_is_true(pred)) &&
        ml_it_radix(ar, indices, n, iters, n_iters, out))
        return;
    ml_ItState st = {.ar = ar, .level = level, .keep_unit = keep_unit};
    bool ok = ml_it_detect(&st, indices, n, iters, n_iters, pred);

    if (!ok && pred && level != ML_BIJECTIVE) {
        st = (ml_ItState){.ar = ar, .level = level, .keep_unit = keep_unit};
        ok = ml_it_detect(&st, indices, n, iters, n_iters, NULL);
    }
    for (size_t k = 0; k < n; k++) {
        const ml_Expr *old = indices[k], *e = old;
        if (ok) {
            e = ml_it_sum_expr(&st, &st.sums[k]);
            if (has_shifts(&st))
                e = plain(ar, e, iters, n_iters, keep_unit);
            if (!ml_dtype_eq(e->type, old->type))
                e = ml_cast(st.cx, old->type, e);
        }
        if (st.failed) /* a value did not fit */
            ok = false;
        out[k] = !ok || (non_trivial && old->kind == ML_EXPR_VAR && ml_is_const_int(e))
                     ? old
                     : e;
    }
    if (!ok)
        for (size_t k = 0; k < n; k++)
            out[k] = indices[k];
}

/* ---- normal form as a sum */

/* Adds e * coef summand by summand; what is no quasi-affine summand goes to the base. */
static void add_summands(ml_ItState *st, const ml_Expr *e, ml_ItVal coef, ml_ItSum *acc)
{
    if (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) {
        add_summands(st, e->args[0], coef, acc);
        if (e->kind == ML_EXPR_SUB)
            coef = ml_it_mul(st, coef, ml_it_lit(-1));
        add_summands(st, e->args[1], coef, acc);
        return;
    }
    ml_ItSum s = *acc;
    s.v = ML_ARRAY(st->cx, ml_ItDigit, acc->n + 1);
    s.cap = acc->n + 1;
    if (acc->n)
        memcpy(s.v, acc->v, acc->n * sizeof *s.v);
    if (st->failed)
        return;
    if (ml_it_convert(st, e, coef, &s)) {
        *acc = s;
        return;
    }
    st->failed = false;
    st->fail = ML_ITER_FAIL_NONE;
    acc->base = ml_it_add(st, acc->base, ml_it_mul(st, ml_it_val(st, e), coef));
}

/* Literal part and number of symbolic factors of a scale. */
static void weigh(ml_ItVal v, int64_t *literal, size_t *symbols)
{
    *literal = v.e ? 1 : v.i;
    *symbols = 0;
    for (const ml_Expr *e = v.e; e;) {
        const ml_Expr *last = e->kind == ML_EXPR_MUL ? e->args[1] : e;
        if (ml_is_const_int(last))
            *literal = last->as.i;
        else
            ++*symbols;
        e = e->kind == ML_EXPR_MUL ? e->args[0] : NULL;
    }
}

static bool heavier(ml_ItVal a, ml_ItVal b)
{
    int64_t la, lb;
    size_t na, nb;

    weigh(a, &la, &na);
    weigh(b, &lb, &nb);
    return la != lb ? la > lb : na > nb;
}

bool ml_iter_normalize(ml_Arith *ar, const ml_Expr *e, const ml_Dom *iters, size_t n_iters,
                       ml_IterSum *out)
{
    ml_ItState st = {.ar = ar, .level = ML_NO_CHECK};
    ml_ItSum s = {0};

    if (!ml_dtype_is_index(e->type) || e->size > ML_IT_SIZE_LIMIT ||
        !ml_it_begin(&st, &e, 1, iters, n_iters))
        return false;
    add_summands(&st, e, ml_it_lit(1), &s);
    ml_it_combine(&st, &s);
    for (size_t k = 1; k < s.n; k++) {
        ml_ItDigit d = s.v[k];
        size_t at = k;
        while (at > 0 && heavier(d.scale, s.v[at - 1].scale)) {
            s.v[at] = s.v[at - 1];
            at--;
        }
        s.v[at] = d;
    }
    if (st.failed)
        return false;
    *out = ml_it_export(&st, &s);
    return !st.failed;
}

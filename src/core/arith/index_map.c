/*
 * index_map - maps from indices to indices: application, shapes, inverses.
 * Source: ir-and-analysis 4.11.
 */
#include "moonloop/core/arith/iter_impl.h"

/* ---- application */

typedef struct Apply {
    const ml_IndexMap *map;
    const ml_Expr *const *idx;
    ml_Dtype t; /* the widest index */
} Apply;

static const ml_Expr *widen(ml_Ctx *cx, ml_Dtype t, const ml_Expr *e)
{
    return ml_dtype_eq(e->type, t) || !ml_dtype_is_index(e->type) ? e : ml_cast(cx, t, e);
}

/* e over the given indices, all index arithmetic in their widest dtype. */
static const ml_Expr *apply(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Apply *a = user;

    switch ((int)e->kind) {
    case ML_EXPR_VAR:
        for (size_t k = 0; k < a->map->n_vars; k++)
            if (a->map->vars[k]->uid == e->as.var->uid)
                return widen(cx, a->t, a->idx[k]);
        return widen(cx, a->t, e);
    case ML_EXPR_INT: return widen(cx, a->t, e);
    case ML_EXPR_CAST:
        if (ml_dtype_is_index(e->type))
            return widen(cx, a->t, apply(cx, e->args[0], user));
        break;
    }
    if (ml_kind_is_binary(e->kind)) {
        const ml_Expr *x = apply(cx, e->args[0], user), *y = apply(cx, e->args[1], user);
        if (!ml_dtype_eq(x->type, y->type))
            ml_promote(cx, &x, &y);
        if (x == e->args[0] && y == e->args[1])
            return e;
        return ml_binary(cx, (ml_ExprKind)e->kind, x, y);
    }
    if (e->kind == ML_EXPR_SELECT) {
        const ml_Expr *x = apply(cx, e->args[1], user), *y = apply(cx, e->args[2], user);
        if (!ml_dtype_eq(x->type, y->type))
            ml_promote(cx, &x, &y);
        return ml_select(cx, apply(cx, e->args[0], user), x, y);
    }
    /* Inside of anything else the map's variables keep their own dtype. */
    ml_Subst s = {0};
    for (size_t k = 0; k < a->map->n_vars; k++) {
        const ml_Var *v = a->map->vars[k];
        ml_subst_var(cx, &s, v, ml_cast(cx, v->type, a->idx[k]));
    }
    return widen(cx, a->t, ml_expr_subst(cx, e, &s));
}

void ml_index_map_apply(ml_Arith *ar, const ml_IndexMap *m, const ml_Expr *const *idx,
                        const ml_Expr **out)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    Apply a = {m, idx, ML_DT_I32};

    for (size_t k = 0; k < m->n_vars; k++)
        if (idx[k]->type.bits == 64)
            a.t = ML_DT_I64;
    if (m->n_vars == 0 && m->n_exprs)
        a.t = m->exprs[0]->type;
    for (size_t k = 0; k < m->n_exprs; k++)
        out[k] = ml_simplify(ar, apply(cx, m->exprs[k], &a));
}

/* ---- ranges */

static ml_Dom *domain(ml_Ctx *cx, const ml_IndexMap *m, const ml_Range *ranges)
{
    ml_Dom *dom = ML_ARRAY(cx, ml_Dom, m->n_vars + 1);

    for (size_t k = 0; k < m->n_vars; k++)
        dom[k] = (ml_Dom){m->vars[k], ranges[k].min, ranges[k].extent};
    return dom;
}

bool ml_index_map_shape(ml_Arith *ar, const ml_IndexMap *m, const ml_Expr *const *shape,
                        const ml_Expr **out)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    ml_Range *ranges = ML_ARRAY(cx, ml_Range, m->n_vars + 1);

    for (size_t k = 0; k < m->n_vars; k++)
        ranges[k] = (ml_Range){ml_int(cx, shape[k]->type, 0), shape[k]};
    const ml_Dom *dom = domain(cx, m, ranges);
    ml_IterMap map =
        ml_iter_detect(ar, m->exprs, m->n_exprs, dom, m->n_vars, NULL, ML_NO_CHECK, true);
    for (size_t k = 0; k < m->n_exprs; k++) {
        const ml_Expr *min, *extent;
        if (map.ok) {
            const ml_IterSum *s = &map.sums[k];
            min = s->base;
            extent = ml_int(cx, min->type, 1);
            if (s->n) {
                const ml_IterDigit *d = &s->digits[0];
                bool falls = ml_is_const_int(d->scale) && d->scale->as.i < 0;
                const ml_Expr *run =
                    ml_mul(cx, ml_sub(cx, d->extent, ml_int(cx, min->type, 1)), d->scale);
                extent = falls ? ml_sub(cx, ml_int(cx, min->type, 1), run)
                               : ml_mul(cx, d->extent, d->scale);
                min = falls ? ml_add(cx, min, run) : min;
            }
        } else {
            ml_Interval set = ml_relax(ar, m->exprs[k], dom, m->n_vars);
            ml_Range r = ml_interval_cover(ar, set, (ml_Range){NULL, NULL});
            if (!r.min)
                return false;
            min = r.min;
            extent = r.extent;
        }
        if (!ml_is_int(ml_simplify(ar, min), 0))
            return false;
        out[k] = ml_simplify(ar, extent);
    }
    return true;
}

/* ---- inverses */

static const ml_IndexMap *invert(ml_Arith *ar, const ml_IndexMap *m, const ml_Range *ranges,
                                 ml_IterLevel level, const ml_Expr **padding,
                                 ml_IterFail *fail)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Dom *dom = domain(cx, m, ranges);
    ml_IterMap map =
        ml_iter_detect(ar, m->exprs, m->n_exprs, dom, m->n_vars, NULL, level, true);

    *fail = map.fail;
    if (!map.ok)
        return NULL;
    const ml_Var **vars = ML_ARRAY(cx, const ml_Var *, m->n_exprs + 1);
    const ml_Expr **outputs = ML_ARRAY(cx, const ml_Expr *, m->n_exprs + 1);
    for (size_t k = 0; k < m->n_exprs; k++) {
        const ml_Expr *e = m->exprs[k];
        const char *hint =
            e->kind == ML_EXPR_VAR ? e->as.var->hint : ml_format(cx, "axis%zu", k);
        vars[k] = ml_var_new(cx, hint, e->type);
        outputs[k] = ml_var(cx, vars[k]);
    }
    ml_Map *values = ml_map_new(cx);
    const ml_Expr *pad = NULL;
    if (!ml_it_invert(ar, &map, outputs, values, padding ? &pad : NULL)) {
        *fail = ML_ITER_FAIL_BIJECTIVE;
        return NULL;
    }
    const ml_Expr **exprs = ML_ARRAY(cx, const ml_Expr *, m->n_vars + 1);
    for (size_t k = 0; k < m->n_vars; k++) {
        exprs[k] = ml_map_get(values, m->vars[k]->uid);
        if (exprs[k])
            continue;
        if (!ml_is_int(ml_simplify(ar, ranges[k].extent), 1)) {
            *fail = ML_ITER_FAIL_BIJECTIVE;
            return NULL;
        }
        exprs[k] = ml_cast(cx, m->vars[k]->type, ranges[k].min);
    }
    ml_IndexMap *out = ML_NEW(cx, ml_IndexMap);
    out->vars = vars;
    out->exprs = exprs;
    out->n_vars = m->n_exprs;
    out->n_exprs = m->n_vars;
    if (padding)
        *padding = pad;
    return out;
}

const ml_IndexMap *ml_index_map_inverse(ml_Arith *ar, const ml_IndexMap *m,
                                        const ml_Range *ranges, ml_IterFail *fail)
{
    ml_IterFail ignored;

    fail = fail ? fail : &ignored;
    *fail = ML_ITER_FAIL_NONE;
    if (m->inverse)
        return m->inverse;
    return invert(ar, m, ranges, ML_BIJECTIVE, NULL, fail);
}

const ml_IndexMap *ml_index_map_inverse_padded(ml_Arith *ar, const ml_IndexMap *m,
                                               const ml_Range *ranges,
                                               const ml_Expr **padding, ml_IterFail *fail)
{
    ml_IterFail ignored;

    fail = fail ? fail : &ignored;
    *fail = ML_ITER_FAIL_NONE;
    if (m->inverse) {
        *padding = ml_bool(ml_arith_ctx(ar), false);
        return m->inverse;
    }
    return invert(ar, m, ranges, ML_NO_CHECK, padding, fail);
}

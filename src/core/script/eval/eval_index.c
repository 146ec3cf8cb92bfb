/* eval_index - subscripts: loads, stores' indices, slices, regions. Source:
 * script 8.2, 10.3. */
#include "moonloop/core/script/eval/eval.h"

static ml_Cv slice_part(ml_Eval *ev, const ml_Node *nd, size_t k)
{
    return nd->kids[k] ? ml_ev_value(ev, nd->kids[k]) : ml_cv(ML_CV_NONE);
}

/* Brings the two ends of a slice to one integer dtype. */
static bool same_int(ml_Eval *ev, const ml_Expr **a, const ml_Expr **b, ml_Place at)
{
    if (ml_ev_promote(ev, a, b))
        return true;
    return ml_ev_reject(ev, E512, at, "the bounds have types %s and %s",
                        ml_dtype_name(ev->cx, (*a)->type),
                        ml_dtype_name(ev->cx, (*b)->type));
}

static bool slice_bounds(ml_Eval *ev, const ml_Node *nd, const ml_Expr *whole,
                         const ml_Expr **lo, const ml_Expr **hi)
{
    ml_Cv a = slice_part(ev, nd, 0), b = slice_part(ev, nd, 1);

    *lo = a.kind == ML_CV_NONE ? ml_int(ev->cx, whole->type, 0)
                               : ml_ev_to_int(ev, a, nd->kids[0]->at, "slice bound");
    *hi =
        b.kind == ML_CV_NONE ? whole : ml_ev_to_int(ev, b, nd->kids[1]->at, "slice bound");
    if (!*lo || !*hi)
        return false;
    if ((*lo)->type.lanes != 1 || (*hi)->type.lanes != 1)
        return ml_ev_reject(ev, E501, nd->at, "slice bounds must be scalars");
    return same_int(ev, lo, hi, nd->at);
}

/* A slice as an index: Ramp(lo, step, ceil((hi - lo) / step)). */
static const ml_Expr *slice_index(ml_Eval *ev, const ml_Node *nd, const ml_Expr *whole)
{
    const ml_Expr *lo, *hi, *count;
    ml_Cv s = slice_part(ev, nd, 2);
    int64_t step = 1, lanes;

    if (s.kind == ML_CV_POISON)
        return NULL;
    if (s.kind != ML_CV_NONE) {
        const ml_Expr *e = ml_ev_to_int(ev, s, nd->kids[2]->at, "slice step");

        if (!e)
            return NULL;
        if (!ml_is_const_int(e))
            return ml_ev_nothing(ev, E505, nd->kids[2]->at, "slice step is not a constant");
        step = e->as.i;
        if (step <= 0)
            return ml_ev_nothing(ev, E506, nd->kids[2]->at, "slice step must be positive");
    }
    if (!slice_bounds(ev, nd, whole, &lo, &hi))
        return NULL;
    count = ml_ev_difference(ev, lo, hi);
    if (!ml_is_const_int(count)) {
        ml_Text t = {0};

        ml_print_expr(ev->cx, &t, count, NULL);
        ml_report(ev->rep, ML_E_E505, nd->at, "slice length `%s` is not a constant",
                  ml_text_z(&t));
        ml_text_free(&t);
        return NULL;
    }
    lanes = count->as.i <= 0 ? 0 : (count->as.i - 1) / step + 1;
    if (lanes < 1 || lanes > 4096)
        return ml_ev_nothing(ev, E505, nd->at, "slice length %lld is not in [1, 4096]",
                             (long long)lanes);
    if (lanes == 1)
        return lo;
    return ml_ramp(ev->cx, lo, ml_int(ev->cx, lo->type, step), (unsigned)lanes);
}

typedef ML_VEC(const ml_Node *) NodeVec;
typedef struct Index {
    const ml_Node *slice; /* or */
    ml_Cv v;
    ml_Place at;
} Index;
typedef ML_VEC(Index) IndexVec;

/* The index items of nd[...], tuples and loop tuples spread; false: poison. */
static bool items(ml_Eval *ev, const ml_Node *nd, IndexVec *out)
{
    bool ok = true;

    for (size_t k = 1; k < nd->n; k++) {
        const ml_Node *sub = nd->kids[k];
        Index x = {sub->kind == ML_N_SLICE ? sub : NULL, ml_cv(ML_CV_NONE), sub->at};
        bool star = sub->kind == ML_N_STAR;

        if (x.slice) {
            ml_push(ev->sc, out, x);
            continue;
        }
        x.v = ml_ev_value(ev, star ? sub->kids[0] : sub);
        if (x.v.kind == ML_CV_POISON) {
            ok = false;
        } else if (x.v.kind == ML_CV_TUPLE || x.v.kind == ML_CV_LIST) {
            ml_Cv all = x.v;

            for (size_t j = 0; j < all.n; j++) {
                x.v = all.as.list[j];
                ml_push(ev->sc, out, x);
            }
        } else {
            ml_push(ev->sc, out, x);
        }
    }
    return ok;
}

static void wrong_rank(ml_Eval *ev, const ml_Buffer *b, size_t n, ml_Place at)
{
    ml_report(ev->rep, ML_E_E503, at, "`%s` has %u dimension%s, %zu ind%s given", b->name,
              (unsigned)b->rank, b->rank == 1 ? "" : "s", n, n == 1 ? "ex" : "ices");
}

bool ml_ev_indices(ml_Eval *ev, const ml_Buffer *b, const ml_Node *nd, bool is_store,
                   ml_ExprVec *out)
{
    IndexVec v = {0};
    size_t n, lanes = 0;

    if (!items(ev, nd, &v))
        return false;
    n = v.n;
    if (n > b->rank || n + 1 < b->rank || (n < b->rank && is_store)) {
        wrong_rank(ev, b, n, nd->at);
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        const ml_Expr *e = v.v[k].slice ? slice_index(ev, v.v[k].slice, b->shape[k])
                                        : ml_ev_to_int(ev, v.v[k].v, v.v[k].at, "index");

        if (!e)
            return false;
        if (e->type.lanes > 1 && ++lanes && k + 1 < b->rank)
            return ml_ev_reject(ev, E520, v.v[k].at, "only the last index may be a vector");
        ml_push(ev->cx, out, e);
    }
    if (n < b->rank) { /* the one missing dimension as a vector */
        const ml_Expr *extent = b->shape[n];

        if (!ml_is_const_int(extent) || extent->as.i < 1 || extent->as.i > 4096) {
            wrong_rank(ev, b, n, nd->at);
            return false;
        }
        ml_push(ev->cx, out,
                extent->as.i == 1
                    ? ml_int(ev->cx, extent->type, 0)
                    : ml_ramp(ev->cx, ml_int(ev->cx, extent->type, 0),
                              ml_int(ev->cx, extent->type, 1), (unsigned)extent->as.i));
    }
    return true;
}

bool ml_ev_region(ml_Eval *ev, const ml_Node *nd, ml_Region *out, const char *what)
{
    IndexVec v = {0};
    ml_Cv base;
    const ml_Buffer *b;
    ml_Range *r;

    base = nd->kind == ML_N_SUB ? ml_ev_raw(ev, nd->kids[0]) : ml_ev_raw(ev, nd);
    if (base.kind == ML_CV_POISON)
        return false;
    if ((base.kind != ML_CV_BUFFER && base.kind != ML_CV_CELL) || nd->kind != ML_N_SUB) {
        if (base.kind == ML_CV_BUFFER && nd->kind != ML_N_SUB)
            ml_report(
                ev->rep, ML_E_E508, nd->at, "give the region, e.g. `%s[%s]`",
                base.as.b->name,
                base.as.b->rank == 0 ? "()"
                : ml_is_const_int(base.as.b->shape[0])
                    ? ml_format(ev->cx, "0:%lld", (long long)base.as.b->shape[0]->as.i)
                    : "...");
        else
            ml_report(ev->rep, ML_E_E508, nd->at, "%s takes regions of buffers, got %s",
                      what, ml_cv_describe(ev, base));
        return false;
    }
    b = base.as.b;
    if (!items(ev, nd, &v))
        return false;
    if (v.n > b->rank) {
        wrong_rank(ev, b, v.n, nd->at);
        return false;
    }
    r = ML_ARRAY(ev->cx, ml_Range, b->rank + 1u);
    for (size_t k = 0; k < b->rank; k++) {
        const ml_Expr *lo, *hi;

        if (k >= v.n) {
            r[k] = (ml_Range){ml_int(ev->cx, b->shape[k]->type, 0), b->shape[k]};
        } else if (v.v[k].slice) {
            if (v.v[k].slice->kids[2])
                return ml_ev_reject(ev, E507, v.v[k].at, "regions cannot have a step");
            if (!slice_bounds(ev, v.v[k].slice, b->shape[k], &lo, &hi))
                return false;
            r[k] = (ml_Range){lo, ml_ev_difference(ev, lo, hi)};
        } else {
            lo = ml_ev_to_int(ev, v.v[k].v, v.v[k].at, "index");
            if (!lo)
                return false;
            if (lo->kind == ML_EXPR_RAMP && ml_is_int(lo->args[1], 1)) {
                r[k] = (ml_Range){lo->args[0],
                                  ml_int(ev->cx, lo->args[0]->type, lo->type.lanes)};
                continue;
            }
            if (lo->type.lanes != 1)
                return ml_ev_reject(ev, E501, v.v[k].at,
                                    "a region's index must be a scalar");
            r[k] = (ml_Range){lo, ml_int(ev->cx, lo->type, 1)};
        }
    }
    *out = (ml_Region){b, r};
    return true;
}

static ml_Cv list_item(ml_Eval *ev, const ml_Node *nd, ml_Cv list)
{
    const ml_Node *sub = nd->kids[1];
    ml_Cv v;
    int64_t k;

    if (nd->n != 2)
        return ml_ev_fail(ev, E503, nd->at, "a %s takes 1 index, %u given",
                          ml_cv_describe(ev, list), (unsigned)nd->n - 1);
    if (sub->kind == ML_N_SLICE) {
        int64_t lim[3] = {0, list.n, 1};
        ML_VEC(ml_Cv) out = {0};

        for (size_t p = 0; p < 3; p++) {
            v = slice_part(ev, sub, p);
            if (v.kind == ML_CV_NONE)
                continue;
            if (v.kind != ML_CV_INT || v.big)
                return ml_ev_fail(ev, E501, sub->at,
                                  "slice bounds of a list must be constants");
            lim[p] = v.as.i;
            if (p < 2 && lim[p] < 0)
                lim[p] += list.n;
            if (p < 2)
                lim[p] = lim[p] < 0 ? 0 : lim[p] > list.n ? list.n : lim[p];
        }
        if (lim[2] <= 0)
            return ml_ev_fail(ev, E506, sub->at, "slice step must be positive");
        for (int64_t j = lim[0]; j < lim[1]; j += lim[2] < list.n ? lim[2] : list.n)
            ml_push(ev->sc, &out, list.as.list[j]);
        return ml_cv_list(ev, (ml_CvKind)list.kind, out.v, out.n);
    }
    v = ml_ev_value(ev, sub);
    if (v.kind == ML_CV_POISON)
        return v;
    if (v.kind == ML_CV_EXPR && ml_is_const_int(v.as.e))
        v = ml_cv_int(v.as.e->as.i);
    if (v.kind != ML_CV_INT || v.big)
        return ml_ev_fail(ev, E501, sub->at, "the index of a %s must be a constant integer",
                          ml_cv_describe(ev, list));
    k = v.as.i < 0 ? v.as.i + (int64_t)list.n : v.as.i;
    if (k < 0 || k >= (int64_t)list.n)
        return ml_ev_fail(ev, E521, nd->at, "index %lld is outside a %s of %u",
                          (long long)v.as.i, ml_cv_describe(ev, list), (unsigned)list.n);
    return list.as.list[k];
}

static ml_Cv dict_item(ml_Eval *ev, const ml_Node *nd, ml_Cv dict)
{
    ml_Cv key = nd->n == 2 ? ml_ev_value(ev, nd->kids[1]) : ml_cv(ML_CV_NONE);

    if (key.kind == ML_CV_POISON)
        return key;
    for (size_t k = 0; k + 1 < dict.n; k += 2)
        if (ml_cv_same(dict.as.list[k], key))
            return dict.as.list[k + 1];
    return ml_ev_fail(ev, E521, nd->at, "the dict has no such key");
}

ml_Cv ml_ev_subscript(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv base = ml_ev_raw(ev, nd->kids[0]), v;
    ml_ExprVec idx = {0};
    ML_VEC(ml_Cv) dims = {0};
    const ml_Expr *e;

    switch (base.kind) {
    case ML_CV_POISON: return base;
    case ML_CV_CELL:
    case ML_CV_BUFFER:
        if (!ml_ev_indices(ev, base.as.b, nd, false, &idx))
            return ml_cv_poison();
        if (idx.n &&
            (uint32_t)base.as.b->type.lanes * idx.v[idx.n - 1]->type.lanes > UINT16_MAX)
            return ml_ev_fail(ev, E505, nd->at, "the vector has too many lanes");
        e = ml_load(ev->cx, base.as.b, idx.v, idx.n);
        return ml_ev_too_deep(ev, e, nd->at) ? ml_cv_poison() : ml_cv_expr(e);
    case ML_CV_TUPLE:
    case ML_CV_LIST: return list_item(ev, nd, base);
    case ML_CV_DICT: return dict_item(ev, nd, base);
    case ML_CV_FN: return ml_ev_buffer_subscript(ev, nd);
    case ML_CV_LET:
        v = nd->n == 2 ? ml_ev_value(ev, nd->kids[1]) : ml_cv(ML_CV_NONE);
        if (v.kind == ML_CV_POISON)
            return v;
        if (v.kind != ML_CV_DTYPE && v.kind != ML_CV_FRESH)
            return ml_ev_fail(ev, E516, nd->at, "T.let[...] takes a dtype, got %s",
                              ml_cv_describe(ev, v));
        v.kind = ML_CV_LET;
        v.big = true;
        return v;
    case ML_CV_DTYPE: /* T.float32[4]: a local array */
        for (size_t k = 1; k < nd->n; k++) {
            ml_Cv d;

            if (nd->kids[k]->kind == ML_N_SLICE)
                return ml_ev_fail(ev, E501, nd->kids[k]->at,
                                  "an extent must be an integer");
            d = ml_ev_value(ev, nd->kids[k]);
            if (d.kind == ML_CV_POISON)
                return d;
            ml_push(ev->sc, &dims, d);
        }
        v = ml_cv_list(ev, ML_CV_ARRAY, dims.v, dims.n);
        v.dt = base.dt;
        return v;
    default: break;
    }
    return ml_ev_fail(ev, E512, nd->at, "%s cannot be subscripted",
                      ml_cv_describe(ev, base));
}

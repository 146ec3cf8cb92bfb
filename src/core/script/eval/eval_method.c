/* eval_method - methods of buffers and expressions: A.access_ptr(...), A.vload(...),
 * A.view(...). Source: script 6.2. */
#include "moonloop/core/script/eval/eval.h"

/* A.access_ptr(mode, ...). */
static ml_Cv access_ptr(ml_Eval *ev, const ml_Buffer *b, ml_Args *a)
{
    static const char *const NAMES[] = {"access_mask", "ptr_type", "content_lanes",
                                        "offset",      "extent",   NULL};
    ml_Arg *s[5];
    const ml_Expr *x[5], *extent = NULL, *offset;
    int64_t mask = 0, lanes = 1;
    ml_Dtype index = ml_buffer_index_dtype(b), content = b->type;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "access_mask"))
        return ml_cv_poison();
    if (s[0]->v.kind == ML_CV_STRING) {
        for (size_t k = 0; k < s[0]->v.as.s.n; k++) {
            char c = s[0]->v.as.s.p[k];

            if (c != 'r' && c != 'w')
                return ml_ev_fail(ev, E415, s[0]->at, "the mode is made of `r` and `w`");
            mask |= c == 'r' ? 1 : 2;
        }
    } else if (s[0]->v.kind == ML_CV_INT) {
        mask = s[0]->v.as.i;
    }
    if (mask < 1 || mask > 3)
        return ml_ev_fail(ev, E415, s[0]->at,
                          "the mode is a string of `r`, `w` or 1, 2, 3");
    if (s[2]) {
        if (s[2]->v.kind != ML_CV_INT || s[2]->v.as.i < 1 || s[2]->v.as.i > 4096)
            return ml_ev_fail(ev, E415, s[2]->at, "content_lanes must be in 1 … 4096");
        lanes = s[2]->v.as.i;
    }
    offset =
        s[3] ? ml_ev_to_int(ev, s[3]->v, s[3]->at, "offset") : ml_int(ev->cx, index, 0);
    if (!offset || (s[4] && s[4]->v.kind != ML_CV_NONE &&
                    !(extent = ml_ev_to_int(ev, s[4]->v, s[4]->at, "extent"))))
        return ml_cv_poison();
    if (!extent) {
        const ml_Expr *off = offset;

        if (b->rank == 0) {
            extent = ml_i32(ev->cx, 1);
        } else {
            extent = b->shape[0];
            if (b->n_strides) {
                const ml_Expr *st = b->strides[0];

                if (!ml_ev_promote(ev, &st, &extent))
                    return ml_cv_poison();
                extent = ml_mul(ev->cx, st, extent);
            } else {
                for (size_t k = 1; k < b->rank; k++) {
                    const ml_Expr *d = b->shape[k];

                    if (!ml_ev_promote(ev, &extent, &d))
                        return ml_cv_poison();
                    extent = ml_mul(ev->cx, extent, d);
                }
            }
            if (!ml_ev_promote(ev, &extent, &off))
                return ml_cv_poison();
            extent = ml_sub(ev->cx, extent, off);
        }
        if (lanes > 1)
            extent = ml_floordiv(ev->cx, extent, ml_int(ev->cx, extent->type, lanes));
    }
    x[2] = b->elem_offset;
    if (!ml_ev_promote(ev, &x[2], &offset))
        return ml_cv_poison();
    x[2] = ml_add(ev->cx, x[2], offset);
    if (lanes > 1)
        x[2] = ml_floordiv(ev->cx, x[2], ml_int(ev->cx, x[2]->type, lanes));
    if ((int64_t)content.lanes * lanes > UINT16_MAX)
        return ml_ev_fail(ev, E522, a->call->at, "too many lanes");
    content.lanes = (uint16_t)(content.lanes * lanes);
    x[0] = ml_call_id(ev->cx, content, ML_OP_TYPE_ANNOTATION, NULL, 0);
    x[1] = ml_var(ev->cx, b->data);
    x[3] = extent;
    x[4] = ml_i32(ev->cx, mask);
    return ml_cv_expr(ml_call_id(ev->cx, ML_DT_HANDLE, ML_OP_ACCESS_PTR, x, 5));
}

static bool begin_of(ml_Eval *ev, const ml_Buffer *b, ml_Arg *s, unsigned factor,
                     ml_ExprVec *out)
{
    ml_Cv one = s->v;
    const ml_Cv *list =
        one.kind == ML_CV_LIST || one.kind == ML_CV_TUPLE ? one.as.list : &one;
    size_t n = list == &one ? 1 : one.n;

    if (n != b->rank)
        return ml_ev_reject(ev, E503, s->at, "`%s` has %u dimension%s, %zu ind%s given",
                            b->name, (unsigned)b->rank, b->rank == 1 ? "" : "s", n,
                            n == 1 ? "ex" : "ices");
    for (size_t k = 0; k < n; k++) {
        const ml_Expr *e = ml_ev_to_int(ev, list[k], s->at, "index");

        if (!e)
            return false;
        if (e->type.lanes > 1 && (k + 1 < n || factor > 1))
            return ml_ev_reject(ev, E520, s->at, "only the last index may be a vector");
        if (k + 1 == n && factor > 1)
            e = ml_ramp(ev->cx, e, ml_int(ev->cx, e->type, 1), factor);
        ml_push(ev->cx, out, e);
    }
    return true;
}

/* A.offset_of(indices): where the element lies, one offset per group of axes. */
static ml_Cv offset_of(ml_Eval *ev, const ml_Buffer *b, ml_Args *a)
{
    static const char *const NAMES[] = {"indices", NULL};
    ml_ExprVec idx = {0};
    ML_VEC(ml_Cv) out = {0};
    const ml_Expr *sum = NULL;
    ml_Arg *s[1];

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "indices") ||
        !begin_of(ev, b, s[0], 1, &idx))
        return ml_cv_poison();
    for (size_t k = 0, group = 0; k < b->rank; k++) {
        const ml_Expr *i = idx.v[k], *size = b->n_strides ? b->strides[k] : b->shape[k];

        while (group < b->n_separators && (size_t)b->separators[group] <= k) {
            if (sum)
                ml_push(ev->sc, &out, ml_cv_expr(sum));
            sum = NULL;
            group++;
        }
        if (b->n_strides) {
            if (!ml_ev_promote(ev, &i, &size))
                return ml_cv_poison();
            i = ml_mul(ev->cx, i, size);
        } else if (sum) {
            if (!ml_ev_promote(ev, &sum, &size))
                return ml_cv_poison();
            sum = ml_mul(ev->cx, sum, size);
        }
        if (sum && !ml_ev_promote(ev, &sum, &i))
            return ml_cv_poison();
        sum = sum ? ml_add(ev->cx, sum, i) : i;
    }
    if (!sum)
        sum = ml_int(ev->cx, ml_buffer_index_dtype(b), 0);
    if (out.n == 0) {
        const ml_Expr *base = b->elem_offset;

        if (!ml_ev_promote(ev, &base, &sum))
            return ml_cv_poison();
        sum = ml_add(ev->cx, base, sum);
    }
    if (ml_ev_too_deep(ev, sum, a->call->at))
        return ml_cv_poison();
    ml_push(ev->sc, &out, ml_cv_expr(sum));
    return ml_cv_list(ev, ML_CV_LIST, out.v, out.n);
}

/* A.ptr_to(indices): the address of an element. */
static ml_Cv ptr_to(ml_Eval *ev, const ml_Buffer *b, ml_Args *a)
{
    static const char *const NAMES[] = {"indices", NULL};
    ml_ExprVec idx = {0};
    const ml_Expr *e;
    ml_Arg *s[1];

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "indices") ||
        !begin_of(ev, b, s[0], 1, &idx))
        return ml_cv_poison();
    e = ml_load(ev->cx, b, idx.v, idx.n);
    return ml_cv_expr(ml_call_id(ev->cx, ML_DT_HANDLE, ML_OP_ADDRESS_OF, &e, 1));
}

static const ml_Expr *n_elements(ml_Eval *ev, const ml_Expr *const *shape, size_t n)
{
    const ml_Expr *all = ml_int(ev->cx, ML_DT_I64, 1);

    for (size_t k = 0; k < n; k++)
        all = ml_mul(ev->cx, all, ml_cast(ev->cx, ML_DT_I64, shape[k]));
    return all;
}

/* A.view(n, m, ...): the same elements under another shape, which is a declaration over A's
 * pointer. Other layouts have no meaning here. */
static ml_Cv view(ml_Eval *ev, const ml_Buffer *b, ml_Args *a)
{
    ml_Arg *layout = ml_ev_keyword(a, "layout");
    const ml_Cv *dims = a->n_pos == 1 ? a->v[0].v.as.list : NULL;
    size_t n = a->n_pos;
    ml_ExprVec shape = {0};
    ml_Spec s = {.b = *b, .at = a->call->at, .has_offset = b->says_offset};

    if (!ml_ev_no_more(ev, a, SIZE_MAX))
        return ml_cv_poison();
    if (layout && layout->v.kind != ML_CV_NONE)
        return ml_ev_fail(ev, E418, layout->at, "layouts of buffers are not supported");
    if (n == 1 && (a->v[0].v.kind == ML_CV_TUPLE || a->v[0].v.kind == ML_CV_LIST))
        n = a->v[0].v.n;
    else
        dims = NULL;
    for (size_t k = 0; k < n; k++) {
        ml_Place at = a->v[dims ? 0 : k].at;
        const ml_Expr *e = ml_ev_to_int(ev, dims ? dims[k] : a->v[k].v, at, "extent");

        if (!e)
            return ml_cv_poison();
        ml_push(ev->cx, &shape, e);
    }
    if (n == 0 || n > 256)
        return ml_ev_fail(ev, E414, a->call->at, "view takes the extents of its shape");
    if (b->n_strides || b->n_separators)
        return ml_ev_fail(ev, E420, a->call->at,
                          "a view of `%s`, which is not compact, is not supported; use "
                          "T.decl_buffer",
                          b->name);
    if (!ml_prove_equal(ev->ar, n_elements(ev, b->shape, b->rank),
                        n_elements(ev, shape.v, shape.n)))
        return ml_ev_fail(ev, E417, a->call->at,
                          "the view must have as many elements as `%s`", b->name);
    s.data = ml_var(ev->cx, b->data);
    s.b.shape = shape.v;
    s.b.rank = (uint16_t)shape.n;
    s.b.is_scalar = false;
    s.has_offset = true;
    return ml_ev_declare(ev, &s, ml_ev_hint(ev, a->call, 0, b->name));
}

static const ml_Expr *mask_of(ml_Eval *ev, ml_Arg *s, unsigned lanes, bool *ok)
{
    const ml_Expr *e;

    if (!s || s->v.kind == ML_CV_NONE)
        return NULL;
    e = ml_ev_to_expr(ev, s->v, s->at);
    *ok = e && ml_dtype_is_bool(e->type) && e->type.lanes == lanes;
    if (e && !*ok)
        ml_report(ev->rep, ML_E_E504, s->at, "the predicate must be a bool of %u lanes",
                  lanes);
    return e;
}

ml_Cv ml_ev_method(ml_Eval *ev, ml_Str name, ml_Args *a)
{
    static const char *const LOAD[] = {"begin", "dtype", "predicate", NULL};
    static const char *const STORE[] = {"begin", "value", "predicate", NULL};
    static const char *const TYPE[] = {"dtype", NULL};
    const ml_Buffer *b = a->self->kind == ML_CV_BUFFER ? a->self->as.b : NULL;
    const ml_Expr *mask, *value;
    ml_ExprVec idx = {0};
    ml_Arg *s[3];
    ml_Dtype t;
    unsigned lanes;
    bool ok = true;

    if (ml_str_eq(name, ml_str("astype"))) {
        if (!ml_ev_slots(ev, a, TYPE, s) || !ml_ev_need(ev, a, s[0], "dtype") ||
            !ml_ev_dtype(ev, s[0]->v, s[0]->at, &t))
            return ml_cv_poison();
        return ml_cv_expr(ml_ev_cast(ev, t, a->self->as.e, a->call->at));
    }
    ML_ASSERT(b); /* only buffers have the others */
    if (ml_str_eq(name, ml_str("scope")))
        return a->n ? ml_ev_fail(ev, E414, a->call->at, "scope() takes no argument")
                    : ml_cv_str(ml_str(b->scope.name));
    if (ml_str_eq(name, ml_str("access_ptr")))
        return access_ptr(ev, b, a);
    if (ml_str_eq(name, ml_str("offset_of")))
        return offset_of(ev, b, a);
    if (ml_str_eq(name, ml_str("ptr_to")))
        return ptr_to(ev, b, a);
    if (ml_str_eq(name, ml_str("view")))
        return view(ev, b, a);
    if (ml_str_eq(name, ml_str("vload"))) {
        unsigned factor = 1;

        if (!ml_ev_slots(ev, a, LOAD, s) || !ml_ev_need(ev, a, s[0], "begin"))
            return ml_cv_poison();
        if (s[1] && s[1]->v.kind != ML_CV_NONE) {
            if (!ml_ev_dtype(ev, s[1]->v, s[1]->at, &t))
                return ml_cv_poison();
            if (!ml_dtype_eq(ml_dtype_lanes(t, 1), ml_dtype_lanes(b->type, 1)) ||
                t.lanes % b->type.lanes)
                return ml_ev_fail(ev, E515, s[1]->at, "`%s` holds %s, not %s", b->name,
                                  ml_dtype_name(ev->cx, b->type), ml_dtype_name(ev->cx, t));
            factor = t.lanes / b->type.lanes;
        }
        if (factor > 1 && b->rank == 0)
            return ml_ev_fail(ev, E503, a->call->at, "`%s` has no dimension to load from",
                              b->name);
        if (!begin_of(ev, b, s[0], factor, &idx))
            return ml_cv_poison();
        lanes = b->type.lanes * (idx.n ? idx.v[idx.n - 1]->type.lanes : 1u);
        mask = mask_of(ev, s[2], lanes, &ok);
        if (!ok)
            return ml_cv_poison();
        return ml_cv_expr(mask ? ml_load_masked(ev->cx, b, idx.v, idx.n, mask)
                               : ml_load(ev->cx, b, idx.v, idx.n));
    }
    /* vstore */
    if (!ev->frame || ev->stmt != a->call)
        return ml_ev_fail(ev, E202, a->call->at, "vstore is a statement");
    if (!ml_ev_slots(ev, a, STORE, s) || !ml_ev_need(ev, a, s[0], "begin") ||
        !ml_ev_need(ev, a, s[1], "value") ||
        !(value = ml_ev_to_expr(ev, s[1]->v, s[1]->at)))
        return ml_cv_poison();
    lanes = value->type.lanes / (b->type.lanes ? b->type.lanes : 1);
    if (s[0]->v.kind == ML_CV_LIST || s[0]->v.kind == ML_CV_TUPLE) {
        ml_Cv last = s[0]->v.n ? s[0]->v.as.list[s[0]->v.n - 1] : ml_cv_int(0);

        if ((last.kind == ML_CV_EXPR && last.as.e->type.lanes > 1) || lanes < 1 ||
            b->rank == 0)
            lanes = 1;
    } else if (s[0]->v.kind == ML_CV_EXPR && s[0]->v.as.e->type.lanes > 1) {
        lanes = 1;
    }
    if (!begin_of(ev, b, s[0], lanes, &idx))
        return ml_cv_poison();
    lanes = b->type.lanes * (idx.n ? idx.v[idx.n - 1]->type.lanes : 1u);
    if (value->type.lanes != lanes)
        return ml_ev_fail(ev, E504, a->call->at, "storing %u lanes into %u",
                          (unsigned)value->type.lanes, lanes);
    if (!(value = ml_ev_cast(ev, ml_dtype_lanes(b->type, lanes), value, s[1]->at)))
        return ml_cv_poison();
    mask = mask_of(ev, s[2], lanes, &ok);
    if (ok)
        ml_ev_emit(ev, ml_store(ev->cx, b, value, idx.v, idx.n, mask), a->call->at);
    return ml_cv(ML_CV_DONE);
}

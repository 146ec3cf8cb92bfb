/* eval_member - what stands behind a dot: namespaces, fields and methods of buffers and
 * expressions. Source: script 6.2, 10.4, 14. */
#include "core/script/eval.h"
#include "core/script/lowcall.h"

static const ml_Builtin *const TABLES[] = {
    ml_ev_math_table, ml_ev_call_table,  ml_ev_buffer_table, ml_ev_alloc_table,
    ml_ev_loop_table, ml_ev_block_table, ml_ev_stmt_table};

/* What older or other forms of the program have, and what is written instead. */
static const struct {
    const char *name, *instead;
} REFUSED[] = {
    {"realize", "TensorIR has blocks and buffers instead"},
    {"prefetch", "TensorIR has blocks and buffers instead"},
    {"load", "write A[i], with T.decl_buffer where only a pointer is there"},
    {"store", "write A[i] = value, with T.decl_buffer where only a pointer is there"},
    {"preflattened_buffer", "give the parameter its shape in T.Buffer or T.match_buffer"},
    {"buffer_store", "write A[i] = value"},
};

bool ml_ev_is_scalable(ml_Str name)
{
    static const char PART[] = "xvscalex";
    size_t n = sizeof PART - 1;

    for (size_t k = 1; k + n < name.n; k++)
        if (memcmp(name.p + k, PART, n) == 0)
            return true;
    return false;
}

const char *ml_ev_refused(ml_Str name)
{
    for (size_t k = 0; k < ML_COUNT(REFUSED); k++)
        if (ml_str_eq(name, ml_str(REFUSED[k].name)))
            return REFUSED[k].instead;
    return NULL;
}

const ml_Builtin *ml_ev_builtin(ml_Str name)
{
    for (size_t t = 0; t < ML_COUNT(TABLES); t++)
        for (const ml_Builtin *b = TABLES[t]; b->name; b++)
            if (b->name[0] == name.p[0] && ml_str_eq(name, ml_str(b->name)))
                return b;
    return NULL;
}

void ml_ev_builtin_names(ml_Nearest *n)
{
    for (size_t t = 0; t < ML_COUNT(TABLES); t++)
        for (const ml_Builtin *b = TABLES[t]; b->name; b++)
            ml_nearest_try(n, ml_str(b->name));
    for (size_t k = 0; ml_low_name(k); k++)
        ml_nearest_try(n, ml_str(ml_low_name(k)));
}

const ml_Builtin *ml_ev_axis_builtin(ml_Str name)
{
    for (const ml_Builtin *b = ml_ev_axis_table; b->name; b++)
        if (ml_str_eq(name, ml_str(b->name)))
            return b;
    return NULL;
}

bool ml_ev_dtype_name(ml_Str name, ml_Dtype *out)
{
    static const struct {
        const char *alias, *name;
    } ALIAS[] = {{"f16", "float16"},   {"f32", "float32"}, {"f64", "float64"},
                 {"bf16", "bfloat16"}, {"i8", "int8"},     {"i16", "int16"},
                 {"i32", "int32"},     {"i64", "int64"},   {"u8", "uint8"},
                 {"u16", "uint16"},    {"u32", "uint32"},  {"u64", "uint64"},
                 {"boolean", "bool"}};

    if (name.n == 0 || ml_str_eq(name, ml_str("void")))
        return ml_dtype_parse(name, out);
    for (size_t k = 0; k < ML_COUNT(ALIAS); k++)
        if (ml_str_eq(name, ml_str(ALIAS[k].alias)))
            return ml_dtype_parse(ml_str(ALIAS[k].name), out);
    return ml_dtype_parse(name, out);
}

static ml_Cv builtin_cv(const ml_Builtin *b)
{
    ml_Cv v = ml_cv(ML_CV_FN);

    v.as.builtin = b;
    return v;
}

static ml_Cv ns(ml_Namespace which)
{
    ml_Cv v = ml_cv(ML_CV_NS);

    v.as.i = which;
    return v;
}

static ml_Cv of_namespace(ml_Eval *ev, const ml_Node *nd, ml_Cv base)
{
    ml_Str name = nd->as.sym->name;
    const ml_Builtin *b;
    ml_Nearest near = ml_nearest_begin(name);
    ml_Dtype t;
    ml_Cv v;

    switch ((ml_Namespace)base.as.i) {
    case ML_NS_TVM:
        if (ml_str_eq(name, ml_str("script")))
            return ns(ML_NS_SCRIPT);
        if (ml_str_eq(name, ml_str("tir")) || ml_str_eq(name, ml_str("tirx")))
            return ns(ML_NS_T);
        break;
    case ML_NS_SCRIPT:
        if (ml_str_eq(name, ml_str("tir")) || ml_str_eq(name, ml_str("tirx")))
            return ns(ML_NS_T);
        if (ml_str_eq(name, ml_str("ir")))
            return ns(ML_NS_I);
        break;
    case ML_NS_SELF:
        for (size_t k = 0; k < ev->callees.n; k++)
            if (ml_str_eq(name, ml_str(ev->callees.v[k]->name))) {
                v = ml_cv(ML_CV_CALLEE);
                v.as.fn = ev->callees.v[k];
                return v;
            }
        for (size_t k = 0; k < ev->callees.n; k++)
            ml_nearest_try(&near, ml_str(ev->callees.v[k]->name));
        return ml_ev_fail(ev, E401, nd->at, "no function `%.*s` in the module%s",
                          (int)name.n, name.p, ml_nearest_text(ev->cx, &near, ""));
    case ML_NS_AXIS:
        if ((b = ml_ev_axis_builtin(name)))
            return builtin_cv(b);
        for (b = ml_ev_axis_table; b->name; b++)
            ml_nearest_try(&near, ml_str(b->name));
        return ml_ev_fail(ev, E401, nd->at, "no `T.axis.%.*s`%s", (int)name.n, name.p,
                          ml_nearest_text(ev->cx, &near, "T.axis."));
    case ML_NS_T:
    case ML_NS_I:
        if (ml_str_eq(name, ml_str("axis")))
            return ns(ML_NS_AXIS);
        if (ml_str_eq(name, ml_str("let")))
            return ml_cv(ML_CV_LET);
        if (ml_low_space(name)) {
            v = ns(ML_NS_LOW);
            v.scope = ml_low_space(name);
            return v;
        }
        if (!nd->as.sym->looked_up) {
            nd->as.sym->builtin = ml_ev_builtin(name);
            if (!nd->as.sym->builtin)
                nd->as.sym->builtin = ml_ev_archaic_builtin(ev, name);
            if (!nd->as.sym->builtin)
                nd->as.sym->builtin = ml_ev_low_builtin(ev, "", name);
            nd->as.sym->looked_up = true;
        }
        if ((b = nd->as.sym->builtin))
            return builtin_cv(b);
        if (name.n && ml_ev_dtype_name(name, &t) &&
            (t.code == ML_VOID || ml_dtype_has_name(t))) {
            v = ml_cv(ML_CV_DTYPE);
            v.dt = t;
            return v;
        }
        if (ml_ev_is_scalable(name)) {
            ml_ev_dtype(ev, ml_cv_str(name), nd->at, &t);
            return ml_cv_poison();
        }
        if (ml_ev_refused(name))
            return ml_ev_fail(ev, E420, nd->at, "`T.%.*s` is not supported: %s",
                              (int)name.n, name.p, ml_ev_refused(name));
        ml_ev_builtin_names(&near);
        {
            static const char *const TYPES[] = {"float32", "float16", "float64", "int32",
                                                "int64",   "int8",    "uint8",   "bool",
                                                "handle",  "bfloat16"};

            for (size_t k = 0; k < ML_COUNT(TYPES); k++)
                ml_nearest_try(&near, ml_str(TYPES[k]));
        }
        return ml_ev_fail(ev, E401, nd->at, "no `T.%.*s`%s", (int)name.n, name.p,
                          ml_nearest_text(ev->cx, &near, "T."));
    case ML_NS_LOW: return ml_ev_low_member(ev, nd, base.scope);
    case ML_NS_R:
        return ml_ev_fail(ev, E613, nd->at,
                          "only T.prim_func functions are supported in a module");
    case ML_NS_OTHER: break;
    }
    return ml_ev_fail(ev, E401, nd->at, "`%.*s` is not known here", (int)name.n, name.p);
}

static ml_Cv exprs_as_tuple(ml_Eval *ev, const ml_Expr *const *e, size_t n)
{
    ml_Cv *v = ML_ARRAY(ev->sc, ml_Cv, n + 1);

    for (size_t k = 0; k < n; k++)
        v[k] = ml_cv_expr(e[k]);
    return ml_cv_list(ev, ML_CV_TUPLE, v, n);
}

static ml_Cv method(ml_Eval *ev, ml_Cv self, ml_Str name)
{
    ml_Cv v = ml_cv(ML_CV_METHOD), *copy = ML_NEW(ev->sc, ml_Cv);

    *copy = self;
    v.self = copy;
    v.as.s = name;
    return v;
}

static ml_Cv of_buffer(ml_Eval *ev, const ml_Node *nd, const ml_Buffer *b, ml_Cv self)
{
    static const char *const METHODS[] = {"scope", "vload", "vstore", "access_ptr",
                                          "offset_of"};
    static const char *const REFUSE[] = {"view", "permute", "local",
                                         "sub",  "tile",    "chunk"};
    ml_Str name = nd->as.sym->name;
    ml_Nearest near = ml_nearest_begin(name);

    if (ml_str_eq(name, ml_str("data")))
        return ml_cv_expr(ml_var(ev->cx, b->data));
    if (ml_str_eq(name, ml_str("shape")))
        return exprs_as_tuple(ev, b->shape, b->rank);
    if (ml_str_eq(name, ml_str("strides")))
        return exprs_as_tuple(ev, b->strides, b->n_strides);
    if (ml_str_eq(name, ml_str("elem_offset")))
        return ml_cv_expr(b->elem_offset);
    if (ml_str_eq(name, ml_str("dtype")))
        return ml_cv_str(ml_str(ml_dtype_name(ev->cx, b->type)));
    if (ml_str_eq(name, ml_str("ndim")))
        return ml_cv_int(b->rank);
    if (ml_str_eq(name, ml_str("name")))
        return ml_cv_str(ml_str(b->name));
    if (ml_str_eq(name, ml_str("buffer")) && self.kind == ML_CV_CELL)
        return ml_cv_buffer(b);
    for (size_t k = 0; k < ML_COUNT(METHODS); k++)
        if (ml_str_eq(name, ml_str(METHODS[k])))
            return method(ev, ml_cv_buffer(b), name);
    for (size_t k = 0; k < ML_COUNT(REFUSE); k++)
        if (ml_str_eq(name, ml_str(REFUSE[k])))
            return ml_ev_fail(ev, E420, nd->at,
                              "`%s` of a buffer is not supported; use T.match_buffer or "
                              "T.decl_buffer",
                              REFUSE[k]);
    for (size_t k = 0; k < ML_COUNT(METHODS); k++)
        ml_nearest_try(&near, ml_str(METHODS[k]));
    return ml_ev_fail(ev, E401, nd->at, "a buffer has no `%.*s`%s", (int)name.n, name.p,
                      ml_nearest_text(ev->cx, &near, ""));
}

ml_Cv ml_ev_attribute(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv base = ml_ev_raw(ev, nd->kids[0]);
    ml_Str name = nd->as.sym->name;
    const ml_Expr *e;

    switch (base.kind) {
    case ML_CV_POISON: return base;
    case ML_CV_NS: return of_namespace(ev, nd, base);
    case ML_CV_CELL:
    case ML_CV_BUFFER: return of_buffer(ev, nd, base.as.b, base);
    case ML_CV_EXPR:
        e = base.as.e;
        if (ml_str_eq(name, ml_str("dtype")))
            return ml_cv_str(ml_str(ml_dtype_name(ev->cx, e->type)));
        if (ml_str_eq(name, ml_str("astype")))
            return method(ev, base, name);
        break;
    case ML_CV_FN:
        if (ml_streq(base.as.builtin->name, "Buffer"))
            return ml_ev_fail(ev, E401, nd->at, "T.Buffer has no members");
        if (ml_ev_low_path(ev, base.as.builtin))
            return ml_ev_low_member(ev, nd, ml_ev_low_path(ev, base.as.builtin));
        break;
    default: break;
    }
    return ml_ev_fail(ev, E401, nd->at, "%s has no `%.*s`", ml_cv_describe(ev, base),
                      (int)name.n, name.p);
}

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

    if (n != b->rank) {
        ml_report(ev->rep, ML_E_E503, s->at, "`%s` has %u dimension%s, %zu ind%s given",
                  b->name, (unsigned)b->rank, b->rank == 1 ? "" : "s", n,
                  n == 1 ? "ex" : "ices");
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        const ml_Expr *e = ml_ev_to_int(ev, list[k], s->at, "index");

        if (!e)
            return false;
        if (e->type.lanes > 1 && (k + 1 < n || factor > 1)) {
            ml_report(ev->rep, ML_E_E520, s->at, "only the last index may be a vector");
            return false;
        }
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
                    : ml_cv_str(ml_str(b->scope));
    if (ml_str_eq(name, ml_str("access_ptr")))
        return access_ptr(ev, b, a);
    if (ml_str_eq(name, ml_str("offset_of")))
        return offset_of(ev, b, a);
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

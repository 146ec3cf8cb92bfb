/* eval_member - what stands behind a dot: namespaces, fields and methods of buffers and
 * expressions. Source: script 6.2, 10.4, 14. */
#include "moonloop/core/script/eval/eval.h"
#include "moonloop/core/script/lowcall.h"

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

/* T.name that is none of TensorIR: what is written instead; NULL: not refused. */
static const char *find_refused(ml_Str name)
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

static void add_builtin_names(ml_Nearest *n)
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
            return ml_cv_ns(ML_NS_SCRIPT);
        if (ml_str_eq(name, ml_str("tir")) || ml_str_eq(name, ml_str("tirx")))
            return ml_cv_ns(ML_NS_T);
        break;
    case ML_NS_SCRIPT:
        if (ml_str_eq(name, ml_str("tir")) || ml_str_eq(name, ml_str("tirx")))
            return ml_cv_ns(ML_NS_T);
        if (ml_str_eq(name, ml_str("ir")))
            return ml_cv_ns(ML_NS_I);
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
            return ml_cv_ns(ML_NS_AXIS);
        if (ml_str_eq(name, ml_str("let")))
            return ml_cv(ML_CV_LET);
        if (ml_low_space(name)) {
            v = ml_cv_ns(ML_NS_LOW);
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
        if (find_refused(name))
            return ml_ev_fail(ev, E420, nd->at, "`T.%.*s` is not supported: %s",
                              (int)name.n, name.p, find_refused(name));
        add_builtin_names(&near);
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
    static const char *const METHODS[] = {"scope",     "vload",  "vstore", "access_ptr",
                                          "offset_of", "ptr_to", "view"};
    static const char *const REFUSE[] = {"permute", "local", "sub", "tile", "chunk"};
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

/* eval_call - opaque calls, reducers, index maps, targets, dtype constructors.
 * Source: script 10.4. */
#include "moonloop/core/script/eval/eval.h"

/* An operand of a call: buffers mean their data pointer. */
static const ml_Expr *operand(ml_Eval *ev, ml_Arg *s)
{
    if (s->v.kind == ML_CV_BUFFER)
        return ml_var(ev->cx, s->v.as.b->data);
    return ml_ev_to_expr(ev, s->v, s->at);
}

static ml_Cv build(ml_Eval *ev, ml_Args *a, ml_Dtype t, const ml_Op *op, size_t first)
{
    const ml_Expr **x = ML_ARRAY(ev->sc, const ml_Expr *, a->n_pos + 1);
    size_t n = 0;
    const ml_Expr *e;

    for (size_t k = first; k < a->n_pos; k++)
        if (!(x[n++] = operand(ev, &a->v[k])))
            return ml_cv_poison();
    if ((op->n_args >= 0 && (size_t)op->n_args != n) || n > 1000)
        return ml_ev_fail(ev, E414, a->call->at, "%s takes %d arguments, %zu given",
                          a->name, op->n_args >= 0 ? op->n_args : 1000, n);
    e = ml_call(ev->cx, t, op, x, n);
    return ml_ev_too_deep(ev, e, a->call->at) ? ml_cv_poison() : ml_cv_expr(e);
}

/* Ops whose dtype comes first or by keyword. */
static ml_Cv dtype_first(ml_Eval *ev, ml_Args *a)
{
    ml_Arg *key = ml_ev_keyword(a, "dtype");
    ml_Arg *type = key ? key : a->n_pos ? &a->v[0] : NULL;
    size_t first = key ? 0 : 1;
    const ml_Op *op;
    ml_Dtype t;
    ml_Str z;

    if (!ml_ev_no_more(ev, a, SIZE_MAX) || !ml_ev_need(ev, a, type, "dtype") ||
        !ml_ev_dtype(ev, type->v, type->at, &t))
        return ml_cv_poison();
    if (a->fn->arg == ML_OP_OTHER) { /* call_intrin: the operator by name */
        if (first >= a->n_pos)
            return ml_ev_fail(ev, E414, a->call->at, "%s needs the operator's name",
                              a->name);
        if (!ml_ev_arg_string(ev, a, &a->v[first], "the operator", &z))
            return ml_cv_poison();
        op = ml_op_intern(ev->cx, z);
        if (op->id == ML_OP_LIKELY && !ml_dtype_is_bool(t))
            return ml_ev_fail(ev, E515, a->call->at, "likely gives a boolean");
        return build(ev, a, t, op, first + 1);
    }
    op = ml_op((ml_OpId)a->fn->arg);
    if ((op->id == ML_OP_CALL_LLVM_INTRIN || op->id == ML_OP_CALL_LLVM_PURE_INTRIN)) {
        ml_Arg *count = first + 1 < a->n_pos ? &a->v[first + 1] : NULL;

        if (first >= a->n_pos ||
            !ml_ev_arg_string(ev, a, &a->v[first], "the intrinsic", &z))
            return first < a->n_pos ? ml_cv_poison()
                                    : ml_ev_fail(ev, E414, a->call->at,
                                                 "%s needs the intrinsic's name", a->name);
        if (z.n < 6 || memcmp(z.p, "llvm.", 5) != 0)
            return ml_ev_fail(ev, E416, a->v[first].at, "unknown intrinsic `%.*s`",
                              (int)z.n, z.p);
        if (count && count->v.kind == ML_CV_EXPR && ml_is_const_int(count->v.as.e) &&
            ml_dtype_eq(count->v.as.e->type, ML_DT(ML_UINT, 32)) &&
            count->v.as.e->as.i == (int64_t)(a->n_pos - first - 2)) {
            for (size_t k = first + 1; k + 1 < a->n_pos; k++) /* the old signature count */
                a->v[k] = a->v[k + 1];
            a->n_pos--;
        }
    }
    return build(ev, a, t, op, first);
}

static ml_Cv type_annotation(ml_Eval *ev, ml_Args *a)
{
    ml_Arg *type = ml_ev_keyword(a, "dtype");
    ml_Dtype t;

    if (!type && a->n_pos)
        type = &a->v[0];
    if (!ml_ev_no_more(ev, a, 1) || !ml_ev_need(ev, a, type, "dtype") ||
        !ml_ev_dtype(ev, type->v, type->at, &t))
        return ml_cv_poison();
    return ml_cv_expr(ml_call_id(ev->cx, t, ML_OP_TYPE_ANNOTATION, NULL, 0));
}

/* T.llvm_lookup_intrinsic_id("llvm.x") is the name itself. */
static ml_Cv llvm_name(ml_Eval *ev, ml_Args *a)
{
    ml_Str z;

    if (a->n_pos != 1 || !ml_ev_no_more(ev, a, 1))
        return ml_ev_fail(ev, E414, a->call->at, "%s takes 1 argument", a->name);
    if (!ml_ev_arg_string(ev, a, &a->v[0], "the intrinsic", &z))
        return ml_cv_poison();
    if (z.n < 6 || memcmp(z.p, "llvm.", 5) != 0)
        return ml_ev_fail(ev, E416, a->v[0].at, "unknown intrinsic `%.*s`", (int)z.n, z.p);
    return ml_cv_str(z);
}

/* Ops with a fixed result dtype. */
static ml_Cv fixed(ml_Eval *ev, ml_Args *a)
{
    const ml_Op *op = ml_op((ml_OpId)a->fn->arg);
    ml_Arg *type = ml_ev_keyword(a, "dtype");
    ml_Dtype t = op->id == ML_OP_THREAD_ALLREDUCE || op->id == ML_OP_ACCESS_PTR
                     ? ML_DT_HANDLE
                 : op->id == ML_OP_ASSUME ? ML_DT_BOOL
                                          : ML_DT_I32;

    if (!ml_ev_no_more(ev, a, SIZE_MAX))
        return ml_cv_poison();
    if (op->id == ML_OP_UNDEF && type && !ml_ev_dtype(ev, type->v, type->at, &t))
        return ml_cv_poison();
    if (op->id == ML_OP_ACCESS_PTR && a->n_pos) { /* a string is wrapped */
        ml_Cv v = a->v[0].v;
        ml_Dtype elem;

        if (v.kind == ML_CV_STRING || v.kind == ML_CV_DTYPE) {
            if (!ml_ev_dtype(ev, v, a->v[0].at, &elem))
                return ml_cv_poison();
            a->v[0].v =
                ml_cv_expr(ml_call_id(ev->cx, elem, ML_OP_TYPE_ANNOTATION, NULL, 0));
        }
    }
    return build(ev, a, t, op, 0);
}

static ml_Cv address_of(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *e;
    ml_ExprVec idx = {0};

    ml_ev_keyword(a, "dtype");
    if (a->n_pos != 1 || !ml_ev_no_more(ev, a, 1))
        return ml_ev_fail(ev, E414, a->call->at, "T.address_of takes 1 argument");
    if (a->v[0].v.kind == ML_CV_BUFFER) {
        const ml_Buffer *b = a->v[0].v.as.b;

        for (size_t k = 0; k < b->rank; k++)
            ml_push(ev->cx, &idx, ml_int(ev->cx, b->shape[k]->type, 0));
        e = ml_load(ev->cx, b, idx.v, idx.n);
    } else {
        e = ml_ev_to_expr(ev, a->v[0].v, a->v[0].at);
    }
    if (!e)
        return ml_cv_poison();
    if (e->kind != ML_EXPR_LOAD)
        return ml_ev_fail(ev, E415, a->v[0].at,
                          "T.address_of takes an element of a buffer");
    return ml_cv_expr(ml_call_id(ev->cx, ML_DT_HANDLE, ML_OP_ADDRESS_OF, &e, 1));
}

static ml_Cv comm_reducer(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"combiner", "identity", NULL};
    ml_Arg *s[2];
    const ml_Node *fn;
    const ml_Cv *ids, *out;
    ml_Cv body, *args;
    ml_Reducer *r;
    size_t n;
    const ml_Var **lhs, **rhs;
    const ml_Expr **results, **identities;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "combiner") ||
        !ml_ev_need(ev, a, s[1], "identity"))
        return ml_cv_poison();
    if (s[0]->v.kind != ML_CV_LAMBDA)
        return ml_ev_fail(ev, E415, s[0]->at, "the combiner must be a lambda, got %s",
                          ml_cv_describe(ev, s[0]->v));
    fn = s[0]->v.as.node;
    if (s[1]->v.kind == ML_CV_LIST || s[1]->v.kind == ML_CV_TUPLE) {
        ids = s[1]->v.as.list;
        n = s[1]->v.n;
    } else {
        ids = &s[1]->v;
        n = 1;
    }
    if (n == 0 || fn->n_keys != 2 * n)
        return ml_ev_fail(ev, E414, s[0]->at,
                          "%zu identit%s need a lambda of %zu parameters", n,
                          n == 1 ? "y" : "ies", 2 * n);
    lhs = ML_ARRAY(ev->cx, const ml_Var *, n);
    rhs = ML_ARRAY(ev->cx, const ml_Var *, n);
    results = ML_ARRAY(ev->cx, const ml_Expr *, n);
    identities = ML_ARRAY(ev->cx, const ml_Expr *, n);
    args = ML_ARRAY(ev->sc, ml_Cv, 2 * n);
    for (size_t k = 0; k < n; k++) {
        if (!(identities[k] = ml_ev_to_expr(ev, ids[k], s[1]->at)))
            return ml_cv_poison();
        lhs[k] = ml_var_new(ev->cx, fn->keys[k]->name.p, identities[k]->type);
        rhs[k] = ml_var_new(ev->cx, fn->keys[n + k]->name.p, identities[k]->type);
        args[k] = ml_cv_expr(ml_var(ev->cx, lhs[k]));
        args[n + k] = ml_cv_expr(ml_var(ev->cx, rhs[k]));
    }
    body = ml_ev_apply(ev, fn, args, 2 * n, a->call->at);
    if (body.kind == ML_CV_POISON)
        return body;
    out = body.kind == ML_CV_TUPLE || body.kind == ML_CV_LIST ? body.as.list : &body;
    if ((out == &body ? 1 : body.n) != n)
        return ml_ev_fail(ev, E414, s[0]->at, "the lambda must give %zu value%s", n,
                          n == 1 ? "" : "s");
    for (size_t k = 0; k < n; k++)
        if (!(results[k] = ml_ev_to_expr(ev, out[k], s[0]->at)))
            return ml_cv_poison();
    r = ML_NEW(ev->cx, ml_Reducer);
    *r = (ml_Reducer){(uint32_t)n, lhs, rhs, results, identities};
    body = ml_cv(ML_CV_REDUCER);
    body.as.reducer = r;
    return body;
}

ml_IndexMap *ml_ev_index_map(ml_Eval *ev, const ml_Node *fn, ml_Dtype index, ml_Place at)
{
    ml_IndexMap *m = ML_NEW(ev->cx, ml_IndexMap);
    const ml_Var **vars = ML_ARRAY(ev->cx, const ml_Var *, fn->n_keys + 1);
    ml_Cv *args = ML_ARRAY(ev->sc, ml_Cv, fn->n_keys + 1), body;
    const ml_Cv *out;
    const ml_Expr **exprs;
    size_t n;

    for (size_t k = 0; k < fn->n_keys; k++) {
        vars[k] = ml_var_new(ev->cx, fn->keys[k]->name.p, index);
        args[k] = ml_cv_expr(ml_var(ev->cx, vars[k]));
    }
    body = ml_ev_apply(ev, fn, args, fn->n_keys, at);
    if (body.kind == ML_CV_POISON)
        return NULL;
    out = body.kind == ML_CV_TUPLE || body.kind == ML_CV_LIST ? body.as.list : &body;
    n = out == &body ? 1 : body.n;
    exprs = ML_ARRAY(ev->cx, const ml_Expr *, n + 1);
    for (size_t k = 0; k < n; k++) {
        if (out[k].kind == ML_CV_INT)
            exprs[k] = ml_ev_const(ev, index, out[k], at);
        else if (out[k].kind == ML_CV_FLOAT ||
                 (out[k].kind == ML_CV_EXPR && !ml_dtype_is_int(out[k].as.e->type)))
            exprs[k] = ml_ev_to_expr(ev, out[k], at); /* a value: of padding */
        else
            exprs[k] = ml_ev_to_int(ev, out[k], at, "index");
        if (!exprs[k])
            return NULL;
    }
    *m = (ml_IndexMap){vars, exprs, fn->n_keys, (uint32_t)n, NULL};
    return m;
}

static ml_Cv index_map(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"mapping", "*inverse_index_map", "*index_dtype",
                                        NULL};
    ml_Arg *s[3];
    ml_Dtype t = ML_DT_I64;
    ml_IndexMap *m;
    ml_Cv v;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "mapping") ||
        (s[2] && !ml_ev_dtype(ev, s[2]->v, s[2]->at, &t)))
        return ml_cv_poison();
    if (!ml_dtype_is_index(t))
        return ml_ev_fail(ev, E515, a->call->at, "an index map has dtype int32 or int64");
    if (s[0]->v.kind != ML_CV_LAMBDA)
        return ml_ev_fail(ev, E415, s[0]->at, "the mapping must be a lambda, got %s",
                          ml_cv_describe(ev, s[0]->v));
    m = ml_ev_index_map(ev, s[0]->v.as.node, t, a->call->at);
    if (m && s[1] && s[1]->v.kind == ML_CV_LAMBDA) {
        m->inverse = ml_ev_index_map(ev, s[1]->v.as.node, t, a->call->at);
        if (!m->inverse)
            m = NULL;
    } else if (m && s[1] && s[1]->v.kind == ML_CV_MAP) {
        m->inverse = s[1]->v.as.map;
    }
    v = ml_cv(m ? ML_CV_MAP : ML_CV_POISON);
    v.as.map = m;
    return v;
}

static ml_Cv target(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"target", "host", NULL};
    ml_Arg *s[2];
    const ml_Value *t, *host = NULL;
    ml_Cv v = ml_cv(ML_CV_VALUE);

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "target") ||
        !(t = ml_ev_to_value(ev, s[0]->v, s[0]->at)))
        return ml_cv_poison();
    if (t->kind != ML_VAL_STRING && t->kind != ML_VAL_DICT)
        return ml_ev_fail(ev, E415, s[0]->at, "a target is a string or a dict, got %s",
                          ml_cv_describe(ev, s[0]->v));
    if (s[1] && s[1]->v.kind != ML_CV_NONE &&
        !(host = ml_ev_to_value(ev, s[1]->v, s[1]->at)))
        return ml_cv_poison();
    v.as.val = ml_val_target(ev->cx, t, host);
    return v;
}

static ml_Cv range(ml_Eval *ev, ml_Args *a)
{
    ml_Cv v[2];

    if (a->n_pos < 1 || a->n_pos > 2 || !ml_ev_no_more(ev, a, 2))
        return ml_ev_fail(ev, E414, a->call->at, "T.Range takes (min, end)");
    v[0] = a->n_pos == 2 ? a->v[0].v : ml_cv_int(0);
    v[1] = a->v[a->n_pos - 1].v;
    return ml_cv_list(ev, ML_CV_RANGE, v, 2);
}

static ml_Cv iter_var(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"var", "dom", "iter_type", "thread_tag", NULL};
    ml_Arg *s[4];
    ml_Cv v = ml_cv(ML_CV_VALUE);
    const ml_Var *var = NULL;
    ml_Str tag = {"", 0};

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "var"))
        return ml_cv_poison();
    if (s[3] && !ml_ev_arg_string(ev, a, s[3], "the thread tag", &tag))
        return ml_cv_poison();
    if (s[0]->v.kind == ML_CV_STRING)
        var = ml_var_new(ev->cx, ml_strdup(ev->cx, s[0]->v.as.s), ML_DT_I32);
    else if (s[0]->v.kind == ML_CV_EXPR && s[0]->v.as.e->kind == ML_EXPR_VAR)
        var = s[0]->v.as.e->as.var;
    if (!var)
        return ml_ev_fail(ev, E415, s[0]->at, "T.iter_var takes a variable or a name");
    if ((s[1] && s[1]->v.kind != ML_CV_NONE))
        ml_report(ev->rep, ML_E_W401, s[1]->at,
                  "the domain is ignored: an attribute names the variable alone");
    v.as.val = ml_val_var(ev->cx, var);
    v.scope = tag.n ? ml_strdup(ev->cx, tag) : NULL;
    return v;
}

static ml_Cv meta_var(ml_Eval *ev, ml_Args *a)
{
    if (a->n_pos != 1 || !ml_ev_no_more(ev, a, 1))
        return ml_ev_fail(ev, E414, a->call->at, "T.meta_var takes 1 argument");
    return ml_cv_list(ev, ML_CV_META, &a->v[0].v, 1);
}

/* T.var, T.Var, TypeVar, T.SizeVar: a variable that gets the target's name, or the given
 * one. */
static ml_Cv new_var(ml_Eval *ev, ml_Args *a)
{
    static const char *const VAR[] = {"dtype", NULL};
    static const char *const NAMED[] = {"name", "dtype", "*is_size_var", NULL};
    static const char *const TYPE[] = {"name", NULL};
    ml_Arg *s[3] = {NULL, NULL, NULL};
    ml_Cv v = ml_cv(ML_CV_FRESH);
    bool named = a->fn->arg == 1 || a->fn->arg == 3;
    ml_Str name;

    v.dt = a->fn->arg == 2 ? ML_DT_I64 : ML_DT_I32;
    if (!ml_ev_slots(ev, a, a->fn->arg == 0 ? VAR : named ? NAMED : TYPE, s))
        return ml_cv_poison();
    if (a->fn->arg > 0 && (!ml_ev_need(ev, a, s[0], "name") ||
                           !ml_ev_arg_string(ev, a, s[0], "the name", &name)))
        return ml_cv_poison();
    if (a->fn->arg != 2) {
        ml_Arg *type = s[named];

        if (type && !ml_ev_dtype(ev, type->v, type->at, &v.dt))
            return ml_cv_poison();
        if (type)
            v.elem = type->v.elem, v.scope = type->v.scope;
    }
    v.big = a->fn->arg == 3 || (named && s[2] && ml_ev_truth(s[2]->v));
    if (v.dt.code == ML_VOID)
        return ml_ev_fail(ev, E516, a->call->at, "a variable cannot be void");
    return v;
}

/* T.handle("float32", "shared"), T.Ptr(...): the type of a pointer. */
static ml_Cv pointer(ml_Eval *ev, ml_Args *a)
{
    static const char *const OPTS[] = {"dtype", "storage_scope", "*is_size_var", NULL};
    ml_Arg *s[3];
    ml_Cv v = ml_cv(ML_CV_FRESH);
    ml_Str scope = {"global", 6};

    v.dt = ML_DT_HANDLE;
    if (!ml_ev_slots(ev, a, OPTS, s))
        return ml_cv_poison();
    if (s[0] && s[0]->v.kind != ML_CV_NONE) {
        if (!ml_ev_dtype(ev, s[0]->v, s[0]->at, &v.elem))
            return ml_cv_poison();
    }
    if (s[1] && !ml_ev_arg_string(ev, a, s[1], "the storage scope", &scope))
        return ml_cv_poison();
    if (v.elem.code != ML_VOID || !(scope.n == 0 || ml_str_eq(scope, ml_str("global"))))
        /* "" is global, as of a buffer */
        v.scope = ml_strdup(ev->cx, scope.n ? scope : ml_str("global"));
    return v;
}

ml_Cv ml_ev_dtype_call(ml_Eval *ev, ml_Cv dt, ml_Args *a)
{
    static const char *const NAMES[] = {"value", "*is_size_var", "*dtype", NULL};
    ml_Arg *s[3];
    const ml_Expr *e;
    ml_Cv v;

    if (dt.dt.code == ML_HANDLE && dt.dt.lanes == 1)
        return pointer(ev, a);
    if (!ml_ev_slots(ev, a, NAMES, s))
        return ml_cv_poison();
    if (!s[0] || s[0]->v.kind == ML_CV_NONE) {
        v = ml_cv(ML_CV_FRESH);
        v.dt = dt.dt;
        v.big = s[1] && ml_ev_truth(s[1]->v);
        if (v.dt.code == ML_VOID)
            v.kind = ML_CV_DTYPE;
        return v;
    }
    v = s[0]->v;
    if (v.kind == ML_CV_BOOL || v.kind == ML_CV_INT || v.kind == ML_CV_FLOAT ||
        (v.kind == ML_CV_STRING && ml_dtype_is_float(dt.dt)))
        return ml_cv_expr(ml_ev_const(ev, dt.dt, v, a->call->at));
    e = ml_ev_to_expr(ev, v, s[0]->at);
    return e ? ml_cv_expr(ml_ev_cast(ev, dt.dt, e, a->call->at)) : ml_cv_poison();
}

const ml_Builtin ml_ev_call_table[] = {
    {"call_extern", dtype_first, ML_OP_CALL_EXTERN, false},
    {"call_pure_extern", dtype_first, ML_OP_CALL_PURE_EXTERN, false},
    {"call_llvm_intrin", dtype_first, ML_OP_CALL_LLVM_INTRIN, false},
    {"call_llvm_pure_intrin", dtype_first, ML_OP_CALL_LLVM_PURE_INTRIN, false},
    {"call_intrin", dtype_first, ML_OP_OTHER, false},
    {"llvm_lookup_intrinsic_id", llvm_name, 0, false},
    {"type_annotation", type_annotation, 0, false},
    {"call_packed", fixed, ML_OP_CALL_PACKED, false},
    {"call_cpacked", fixed, ML_OP_CALL_CPACKED, false},
    {"tvm_call_packed", fixed, ML_OP_CALL_PACKED, false},
    {"tvm_call_cpacked", fixed, ML_OP_CALL_CPACKED, false},
    {"tvm_access_ptr", fixed, ML_OP_ACCESS_PTR, false},
    {"tvm_thread_allreduce", fixed, ML_OP_THREAD_ALLREDUCE, false},
    {"tvm_storage_sync", fixed, ML_OP_STORAGE_SYNC, false},
    {"assume", fixed, ML_OP_ASSUME, false},
    {"undef", fixed, ML_OP_UNDEF, false},
    {"axis_separator", fixed, ML_OP_AXIS_SEPARATOR, false},
    {"named_load", dtype_first, ML_OP_NAMED_LOAD, false},
    {"address_of", address_of, 0, false},
    {"comm_reducer", comm_reducer, 0, false},
    {"index_map", index_map, 0, false},
    {"target", target, 0, false},
    {"Range", range, 0, false},
    {"iter_var", iter_var, 0, false},
    {"meta_var", meta_var, 0, false},
    {"var", new_var, 0, false},
    {"Var", new_var, 1, false},
    {"TypeVar", new_var, 2, false},
    {"SizeVar", new_var, 3, false},
    {"Ptr", pointer, 0, false},
    {NULL, NULL, 0, false},
};

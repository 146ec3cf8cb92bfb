/* eval_args - calls: who is called, with which arguments. Source: script 10.4. */
#include "moonloop/core/script/eval/eval.h"

bool ml_ev_poisoned(const ml_Args *a)
{
    for (size_t k = 0; k < a->n; k++)
        if (a->v[k].v.kind == ML_CV_POISON)
            return true;
    return false;
}

ml_Arg *ml_ev_keyword(ml_Args *a, const char *name)
{
    for (size_t k = a->n_pos; k < a->n; k++)
        if (a->v[k].key && ml_str_eq(a->v[k].key->name, ml_str(name))) {
            a->v[k].used = true;
            return &a->v[k];
        }
    return NULL;
}

bool ml_ev_no_more(ml_Eval *ev, ml_Args *a, size_t max_pos)
{
    if (a->n_pos > max_pos)
        return ml_ev_reject(ev, E414, a->v[max_pos].at,
                            "%s takes at most %zu positional argument%s, %zu given",
                            a->name, max_pos, max_pos == 1 ? "" : "s", a->n_pos);
    for (size_t k = a->n_pos; k < a->n; k++)
        if (a->v[k].key && !a->v[k].used)
            return ml_ev_reject(ev, E412, a->v[k].key_at, "%s has no argument `%.*s`",
                                a->name, (int)a->v[k].key->name.n, a->v[k].key->name.p);
    return true;
}

bool ml_ev_slots(ml_Eval *ev, ml_Args *a, const char *const *names, ml_Arg **out)
{
    size_t n_pos = 0, n = 0;

    for (; names[n]; n++) {
        bool only_key = names[n][0] == '*';
        const char *name = names[n] + only_key;
        ml_Arg *key = ml_ev_keyword(a, name);

        out[n] = key;
        if (only_key)
            continue;
        if (n_pos < a->n_pos) {
            if (key)
                return ml_ev_reject(ev, E412, key->key_at, "%s got `%s` twice", a->name,
                                    name);
            out[n] = &a->v[n_pos];
        }
        n_pos++;
    }
    return ml_ev_no_more(ev, a, n_pos);
}

void ml_ev_missing(ml_Eval *ev, ml_Args *a, const char *name)
{
    ml_report(ev->rep, ML_E_E414, a->call->at, "%s needs the argument `%s`", a->name, name);
}

bool ml_ev_arg_string(ml_Eval *ev, ml_Args *a, ml_Arg *arg, const char *what, ml_Str *out)
{
    ml_Cv v = arg->v;

    if (v.kind == ML_CV_EXPR && v.as.e->kind == ML_EXPR_STRING)
        v = ml_cv_str(ml_str(v.as.e->as.s));
    if (v.kind == ML_CV_STRING) {
        *out = v.as.s;
        return true;
    }
    if (v.kind != ML_CV_POISON)
        ml_report(ev->rep, ML_E_E415, arg->at, "%s: %s must be a string, got %s", a->name,
                  what, ml_cv_describe(ev, v));
    return false;
}

const char *ml_ev_hint(ml_Eval *ev, const ml_Node *call, size_t k, const char *other)
{
    const ml_Node *t = ev->target, *v = ev->rhs;

    if (t && v && v != call && (v->kind == ML_N_TUPLE || v->kind == ML_N_LIST) &&
        (t->kind == ML_N_TUPLE || t->kind == ML_N_LIST) && t->n == v->n)
        for (size_t j = 0; j < t->n; j++) /* a, b = f(), g() */
            if (v->kids[j] == call) {
                t = t->kids[j];
                v = call;
                break;
            }
    if (!t || v != call)
        return other;
    if (t->kind == ML_N_TUPLE || t->kind == ML_N_LIST)
        t = k < t->n ? t->kids[k] : NULL;
    else if (k > 0)
        return other;
    if (t && t->kind == ML_N_STAR)
        t = t->kids[0];
    return t && t->kind == ML_N_NAME ? t->as.sym->name.p : other;
}

/* Evaluates the arguments; stars are spread. Lazy positional ones stay unevaluated; cells
 * stay cells for macros. */
static bool collect(ml_Eval *ev, const ml_Node *nd, bool lazy, bool cells, ml_Args *out)
{
    ML_VEC(ml_Arg) v = {0};
    bool ok = true;

    for (size_t k = 1; k < nd->n; k++) {
        const ml_Node *sub = nd->kids[k];
        ml_Arg a = {
            .node = sub, .key = nd->keys[k], .at = sub->at, .key_at = nd->key_at[k]};

        a.v = ml_cv(ML_CV_NONE);
        if (sub->kind == ML_N_STAR) {
            ml_Cv all = ml_ev_value(ev, sub->kids[0]);

            if (all.kind == ML_CV_POISON) {
                ok = false;
                continue;
            }
            if (all.kind != ML_CV_TUPLE && all.kind != ML_CV_LIST) {
                ml_report(ev->rep, ML_E_E501, sub->at, "`*` needs a tuple or list, got %s",
                          ml_cv_describe(ev, all));
                ok = false;
                continue;
            }
            for (size_t j = 0; j < all.n; j++) {
                a.v = all.as.list[j];
                ml_push(ev->sc, &v, a);
            }
            continue;
        }
        if (a.key) {
            for (size_t j = 1; j < k; j++)
                if (nd->keys[j] == a.key) {
                    ml_report(ev->rep, ML_E_E412, a.key_at,
                              "argument `%.*s` is given twice", (int)a.key->name.n,
                              a.key->name.p);
                    ok = false;
                }
        }
        if (!lazy || a.key)
            a.v = ml_ev_raw(ev, sub);
        if (a.v.kind == ML_CV_CELL && !lazy && !cells)
            a.v = ml_ev_load_cell(ev, a.v);
        ml_push(ev->sc, &v, a);
        ok &= a.v.kind != ML_CV_POISON;
    }
    out->v = v.v;
    out->n = v.n;
    for (out->n_pos = 0; out->n_pos < v.n && !v.v[out->n_pos].key;)
        out->n_pos++;
    return ok;
}

static const char *callee_text(ml_Eval *ev, const ml_Node *fn)
{
    const char *base;
    size_t n;
    char *z;

    if (fn->kind == ML_N_NAME)
        return fn->as.sym->name.p;
    if (fn->kind != ML_N_ATTR)
        return "this";
    base = callee_text(ev, fn->kids[0]);
    n = strlen(base);
    z = ml_alloc(ev->sc, n + fn->as.sym->name.n + 2);
    memcpy(z, base, n);
    z[n] = '.';
    memcpy(z + n + 1, fn->as.sym->name.p, fn->as.sym->name.n + 1);
    return z;
}

static ml_Cv call_function(ml_Eval *ev, const ml_Callee *f, ml_Args *a)
{
    const ml_Expr **args = ML_ARRAY(ev->sc, const ml_Expr *, a->n + 2);

    if (!ml_ev_no_more(ev, a, SIZE_MAX))
        return ml_cv_poison();
    if (a->n > 1000)
        return ml_ev_fail(ev, E109, a->call->at, "a call takes at most 1000 arguments");
    for (size_t k = 0; k < a->n; k++) {
        args[k] = a->v[k].v.kind == ML_CV_BUFFER ? ml_var(ev->cx, a->v[k].v.as.b->data)
                                                 : ml_ev_to_expr(ev, a->v[k].v, a->v[k].at);
        if (!args[k])
            return ml_cv_poison();
    }
    return ml_cv_expr(ml_call(
        ev->cx, f->ret, ml_op_intern(ev->cx, ml_str(ml_format(ev->cx, "@%s", f->name))),
        args, a->n));
}

/* A function of the caller of the reader: constants and expressions in, one of them out. */
static ml_Cv call_host(ml_Eval *ev, const ml_ParseValue *f, ml_Args *a)
{
    const ml_Value **args = ML_ARRAY(ev->sc, const ml_Value *, a->n + 1), *out;
    const char *why = NULL;

    if (!ml_ev_no_more(ev, a, 250))
        return ml_cv_poison();
    for (size_t k = 0; k < a->n; k++)
        if (!(args[k] = ml_ev_to_value(ev, a->v[k].v, a->v[k].at)))
            return ml_cv_poison();
    ev->steps += 100;
    out = f->call(ev->cx, f->user, args, a->n, &why);
    if (!out)
        return ml_ev_fail(ev, E415, a->call->at, "%s: %s", a->name,
                          why ? why : "no result");
    return ml_ev_from_value(ev, out);
}

/* Whether the function works on the body of a function: it emits, or looks at blocks. */
static bool needs_body(const ml_Builtin *f)
{
    static const ml_Builtin *const TABLES[] = {ml_ev_stmt_table, ml_ev_block_table,
                                               ml_ev_axis_table, ml_ev_alloc_table};

    for (size_t t = 0; t < ML_COUNT(TABLES); t++)
        for (const ml_Builtin *b = TABLES[t]; b->name; b++)
            if (b == f)
                return true;
    return false;
}

/* with T.let(x, e): binds the existing variable x; T.let(x, e, body) is an expression. */
static ml_Cv let_existing(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *e, *body = NULL;
    ml_Cv v;

    if ((a->n_pos != 2 && a->n_pos != 3) || !ml_ev_no_more(ev, a, 3))
        return ml_ev_fail(
            ev, E414, a->call->at,
            "T.let takes a variable and a value, and as an expression a body");
    v = a->v[0].v;
    if (!ev->frame || v.kind != ML_CV_EXPR || v.as.e->kind != ML_EXPR_VAR)
        return ml_ev_fail(ev, E415, a->v[0].at, "T.let binds a variable");
    if (a->n_pos == 3 && !(body = ml_ev_to_expr(ev, a->v[2].v, a->v[2].at)))
        return ml_cv_poison();
    if (!(e = ml_ev_to_expr(ev, a->v[1].v, a->v[1].at)))
        return ml_cv_poison();
    if (!ml_dtype_eq(e->type, v.as.e->type))
        return ml_ev_fail(ev, E515, a->v[1].at, "the variable is %s, its value %s",
                          ml_dtype_name(ev->cx, v.as.e->type),
                          ml_cv_describe(ev, a->v[1].v));
    if (body)
        return ml_ev_checked(ev, ml_let(ev->cx, v.as.e->as.var, e, body), a->call->at);
    ml_ev_emit(ev, ml_bind(ev->cx, v.as.e->as.var, e), a->call->at);
    return ml_cv_list(ev, ML_CV_SCOPE, &v, 1);
}

ml_Cv ml_ev_call(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv fn = ml_ev_raw(ev, nd->kids[0]);
    ml_Args a = {.call = nd};
    ml_BlockB *ctx;
    ml_Cv *vals, v;
    bool ok;

    if (fn.kind == ML_CV_POISON) {
        return fn;
    }
    a.name = callee_text(ev, nd->kids[0]);
    /* A macro may take a loop variable to bind it: the check is made on what it makes. */
    ctx = ev->blk_ctx;
    if (fn.kind == ML_CV_MACRO)
        ev->blk_ctx = NULL;
    ok = collect(ev, nd, fn.kind == ML_CV_FN && fn.as.builtin->lazy, fn.kind == ML_CV_MACRO,
                 &a);
    ev->blk_ctx = ctx;
    if (!ok)
        return ml_cv_poison();
    switch (fn.kind) {
    case ML_CV_FN:
        a.fn = fn.as.builtin;
        if (!ev->frame && needs_body(a.fn))
            return ml_ev_fail(ev, E602, nd->at, "%s must be inside a function", a.name);
        v = a.fn->run(ev, &a);
        /* whatever the function looks at: no argument is passed over */
        if (v.kind != ML_CV_POISON && !ml_ev_no_more(ev, &a, SIZE_MAX))
            return ml_cv_poison();
        return v;
    case ML_CV_DTYPE: return ml_ev_dtype_call(ev, fn, &a);
    case ML_CV_PYFN: return ml_ev_python_call(ev, (int)fn.as.i, &a);
    case ML_CV_METHOD: a.self = fn.self; return ml_ev_method(ev, fn.as.s, &a);
    case ML_CV_CALLEE: return call_function(ev, fn.as.fn, &a);
    case ML_CV_LAMBDA:
        if (!ml_ev_no_more(ev, &a, SIZE_MAX))
            return ml_cv_poison();
        vals = ML_ARRAY(ev->sc, ml_Cv, a.n + 1);
        for (size_t k = 0; k < a.n; k++)
            vals[k] = a.v[k].v;
        return ml_ev_lambda_call(ev, fn, vals, a.n, nd->at);
    case ML_CV_LET: return let_existing(ev, &a);
    case ML_CV_HOST: return call_host(ev, fn.as.host, &a);
    case ML_CV_MACRO: return ml_ev_macro_call(ev, fn.as.macro, &a);
    default: break;
    }
    return ml_ev_fail(ev, E401, nd->kids[0]->at, "%s cannot be called",
                      ml_cv_describe(ev, fn));
}

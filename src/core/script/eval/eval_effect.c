/* eval_effect - functions of T that are statements: evaluate, assertions, bindings,
 * attributes, threads. Source: script 9. */
#include "moonloop/core/script/eval/eval.h"

static ml_Cv scope_value(ml_Eval *ev, ml_Cv v)
{
    return ml_cv_list(ev, ML_CV_SCOPE, &v, v.kind == ML_CV_NONE ? 0 : 1);
}

static ml_Cv evaluate_call(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *e;

    if (a->n_pos != 1 || !ml_ev_no_more(ev, a, 1))
        return ml_ev_fail(ev, E414, a->call->at, "T.evaluate takes 1 argument");
    if (!(e = ml_ev_to_expr(ev, a->v[0].v, a->v[0].at)))
        return ml_cv_poison();
    ml_ev_emit(ev, ml_evaluate(ev->cx, e), a->call->at);
    return ml_cv(ML_CV_DONE);
}

static ml_Cv assert_call(ml_Eval *ev, ml_Args *a)
{
    if (a->n_pos == 1)
        return ml_ev_fail(ev, E204, a->call->at, "assert needs a message");
    if (a->n_pos != 2 || !ml_ev_no_more(ev, a, 2))
        return ml_ev_fail(ev, E414, a->call->at,
                          "T.Assert takes a condition and a message");
    ml_ev_assert(ev, a->v[0].v, a->v[0].at, a->v[1].v, a->v[1].at, a->call->at);
    return scope_value(ev, ml_cv(ML_CV_NONE));
}

static ml_Cv ret(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *e;

    if (a->n_pos != 1 || !ml_ev_no_more(ev, a, 1))
        return ml_ev_fail(ev, E414, a->call->at, "T.ret takes 1 argument");
    if (!(e = ml_ev_to_expr(ev, a->v[0].v, a->v[0].at)))
        return ml_cv_poison();
    ml_ev_return(ev, e, a->call->at);
    return ml_cv(ML_CV_DONE);
}

static ml_Cv jump(ml_Eval *ev, ml_Args *a)
{
    if (!ml_ev_no_more(ev, a, 0))
        return ml_cv_poison();
    if (ev->n_loops == 0)
        return ml_ev_fail(ev, E611, a->call->at, "`%s` outside a loop",
                          a->fn->arg ? "continue" : "break");
    ml_ev_emit(ev, a->fn->arg ? ml_continue(ev->cx) : ml_break(ev->cx), a->call->at);
    return ml_cv(ML_CV_DONE);
}

/* T.LetStmt(v, var=x), T.let(x, v), T.bind(v, var=x). */
static ml_Cv let_stmt(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"value", "*var", "*type_annotation", NULL};
    ml_Arg *s[3];
    const ml_Expr *e;
    const ml_Var *v;
    ml_Cv out;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "value") ||
        !(e = ml_ev_to_expr(ev, s[0]->v, s[0]->at)))
        return ml_cv_poison();
    if (s[1]) {
        if (s[1]->v.kind != ML_CV_EXPR || s[1]->v.as.e->kind != ML_EXPR_VAR)
            return ml_ev_fail(ev, E415, s[1]->at, "`var` must be a variable");
        v = s[1]->v.as.e->as.var;
        if (!ml_dtype_eq(v->type, e->type))
            return ml_ev_fail(ev, E515, s[0]->at, "`%s` is %s, its value is %s", v->hint,
                              ml_dtype_name(ev->cx, v->type), ml_cv_describe(ev, s[0]->v));
    } else {
        v = ml_var_new(ev->cx, ml_ev_hint(ev, a->call, 0, "v"), e->type);
        ml_ev_remember(ev, v, a->call->at);
    }
    ml_ev_emit(ev, ml_bind(ev->cx, v, e), a->call->at);
    out = ml_cv_expr(ml_var(ev->cx, v));
    return a->fn->arg ? out : scope_value(ev, out);
}

/* T.bind: its arguments wait until it is known whether it binds an axis. */
static ml_Cv bind(ml_Eval *ev, ml_Args *a)
{
    ml_Cv out;

    if (ml_ev_header_bind(ev, a, &out))
        return out;
    for (size_t k = 0; k < a->n; k++) {
        ml_Arg *s = &a->v[k];

        if (k < a->n_pos && s->node->kind != ML_N_STAR)
            s->v = ml_ev_value(ev, s->node);
        s->v = ml_ev_load_cell(ev, s->v);
        if (s->v.kind == ML_CV_POISON)
            return ml_cv_poison();
    }
    return let_stmt(ev, a);
}

/* ---- attributes */
static void wrap_attr(ml_Eval *ev, const ml_Value *node, ml_Thread thread, const char *key,
                      const ml_Value *value, ml_Place at)
{
    ml_Attr w = {.node = node, .key = key, .value = value, .thread = thread};

    ml_ev_wrap(ev, &w, at);
}

static const char *fold_key(ml_Eval *ev, ml_Str key)
{
    if (key.n >= 5 && memcmp(key.p, "tirx.", 5) == 0)
        return ml_format(ev->cx, "tir.%.*s", (int)(key.n - 5), key.p + 5);
    return ml_strdup(ev->cx, key);
}

static ml_Cv attr(ml_Eval *ev, ml_Args *a)
{
    ml_Str key;
    const ml_Value *node, *value;
    ml_Thread thread;

    if (!ml_ev_no_more(ev, a, 3))
        return ml_cv_poison();
    if (a->n_pos == 1 && a->v[0].v.kind == ML_CV_DICT) {
        const ml_Value *d = ml_ev_to_value(ev, a->v[0].v, a->v[0].at);

        for (uint32_t k = 0; d && k < d->n; k++)
            wrap_attr(ev, ml_val_int(ev->cx, 0), (ml_Thread){0}, d->keys[k], d->as.list[k],
                      a->call->at);
        return d ? scope_value(ev, ml_cv(ML_CV_NONE)) : ml_cv_poison();
    }
    if (a->n_pos != 3)
        return ml_ev_fail(ev, E414, a->call->at, "T.attr takes (node, \"key\", value)");
    thread = ml_thread(a->v[0].v.kind == ML_CV_VALUE ? a->v[0].v.scope : NULL);
    if (a->v[0].v.kind == ML_CV_EXPR && a->v[0].v.as.e->kind == ML_EXPR_VAR) {
        const ml_Var *v = a->v[0].v.as.e->as.var;

        node = ml_val_var(ev->cx, v);
        for (size_t k = 0; k < ev->fn->threads.n; k++)
            if (ev->fn->threads.v[k] == v)
                thread = ev->fn->thread_tags.v[k];
    } else {
        node = ml_ev_to_value(ev, a->v[0].v, a->v[0].at);
    }
    if (!node || !ml_ev_arg_string(ev, a, &a->v[1], "the key", &key) ||
        !(value = ml_ev_to_value(ev, a->v[2].v, a->v[2].at)))
        return ml_cv_poison();
    if (!ml_str_eq(key, ml_str("thread_extent")) &&
        !ml_str_eq(key, ml_str("virtual_thread")))
        thread = (ml_Thread){0};
    wrap_attr(ev, node, thread, fold_key(ev, key), value, a->call->at);
    return scope_value(ev, ml_cv(ML_CV_NONE));
}

static ml_Cv new_thread(ml_Eval *ev, ml_Str tag, const char *hint, ml_Dtype t, ml_Place at)
{
    const ml_Var *v = ml_var_new(ev->cx, hint, t);

    ml_ev_remember(ev, v, at);
    ml_push(ev->sc, &ev->fn->threads, v);
    ml_push(ev->sc, &ev->fn->thread_tags, ml_thread(ml_strdup(ev->cx, tag)));
    ml_push(ev->sc, &ev->fn->thread_extents, NULL);
    return ml_cv_expr(ml_var(ev->cx, v));
}

static ml_Cv env_thread(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"thread_tag", "dtype", NULL};
    ml_Arg *s[2];
    ml_Dtype t = ML_DT_I32;
    ml_Str tag;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "thread_tag") ||
        !ml_ev_arg_string(ev, a, s[0], "the thread tag", &tag) ||
        (s[1] && !ml_ev_dtype(ev, s[1]->v, s[1]->at, &t)))
        return ml_cv_poison();
    return new_thread(ev, tag, ml_ev_hint(ev, a->call, 0, "tx"), t, a->call->at);
}

static ml_Cv launch_thread(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"thread", "extent", NULL};
    ml_Arg *s[2];
    const ml_Expr *extent;
    const ml_Value *value, *old;
    ml_Cv var;
    size_t k;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "thread") ||
        !ml_ev_need(ev, a, s[1], "extent") ||
        !(extent = ml_ev_to_int(ev, s[1]->v, s[1]->at, "thread extent")))
        return ml_cv_poison();
    var = s[0]->v;
    if (var.kind == ML_CV_STRING)
        var = new_thread(ev, var.as.s, ml_ev_hint(ev, a->call, 0, "tx"), extent->type,
                         a->call->at);
    if (var.kind != ML_CV_EXPR || var.as.e->kind != ML_EXPR_VAR)
        return ml_ev_fail(ev, E415, s[0]->at,
                          "T.launch_thread takes a thread variable or a tag");
    for (k = 0; k < ev->fn->threads.n && ev->fn->threads.v[k] != var.as.e->as.var;)
        k++;
    if (k == ev->fn->threads.n)
        return ml_ev_fail(ev, E415, s[0]->at, "`%s` was not made by T.env_thread",
                          var.as.e->as.var->hint);
    value = ml_val_expr(ev->cx, extent);
    old = ev->fn->thread_extents.v[k];
    if (old && !ml_value_eq(old, value) &&
        !(old->kind == ML_VAL_EXPR && ml_dtype_eq(old->as.expr->type, extent->type) &&
          ml_prove_equal(ev->ar, old->as.expr, extent)))
        return ml_ev_fail(ev, E704, a->call->at, "`%s` was launched with another extent",
                          var.as.e->as.var->hint);
    ev->fn->thread_extents.v[k] = value;
    wrap_attr(ev, ml_val_var(ev->cx, var.as.e->as.var), ev->fn->thread_tags.v[k],
              ml_thread_key(ev->fn->thread_tags.v[k]), value, a->call->at);
    return scope_value(ev, var);
}

static ml_Cv func_attr(ml_Eval *ev, ml_Args *a)
{
    const ml_Value *d;

    if (!ev->frame || ev->frame->kind != ML_FRAME_FUNC)
        return ml_ev_fail(ev, E604, a->call->at,
                          "T.func_attr must be at the top level of the function");
    if (a->n_pos != 1 || a->v[0].v.kind != ML_CV_DICT)
        return ml_ev_fail(ev, E415, a->call->at, "T.func_attr takes a dict");
    d = ml_ev_to_value(ev, a->v[0].v, a->v[0].at);
    for (uint32_t k = 0; d && k < d->n; k++) {
        if (ml_streq(d->keys[k], "global_symbol") && ev->fn->private_)
            return ml_ev_fail(ev, E610, a->call->at,
                              "a private function has no global symbol");
        for (size_t j = 0; j < ev->fn->attr_keys.n; j++)
            if (ml_streq(ev->fn->attr_keys.v[j], d->keys[k]))
                return ml_ev_fail(ev, E609, a->call->at, "attribute `%s` is already given",
                                  d->keys[k]);
        ml_push(ev->sc, &ev->fn->attr_keys, d->keys[k]);
        ml_push(ev->sc, &ev->fn->attr_values, d->as.list[k]);
    }
    return d ? ml_cv(ML_CV_DONE) : ml_cv_poison();
}

const ml_Builtin ml_ev_stmt_table[] = {
    {"evaluate", evaluate_call, 0, false},
    {"Assert", assert_call, 0, false},
    {"ret", ret, 0, false},
    {"break_loop", jump, 0, false},
    {"continue_loop", jump, 1, false},
    {"LetStmt", let_stmt, 0, false},
    {"bind", bind, 1, true},
    {"attr", attr, 0, false},
    {"env_thread", env_thread, 0, false},
    {"launch_thread", launch_thread, 0, false},
    {"func_attr", func_attr, 0, false},
    {NULL, NULL, 0, false},
};

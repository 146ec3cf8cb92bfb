/* eval_func - functions, modules, constants and imports of a text; the entry points.
 * Source: script 1, 4, 5. */
#include "moonloop/core/script/eval/eval.h"

static ml_Cv type_var(void)
{
    ml_Cv v = ml_cv(ML_CV_FN);

    v.as.builtin = ml_ev_builtin(ml_str("TypeVar"));
    return v;
}

static void predefine(ml_Eval *ev)
{
    static const struct {
        const char *name;
        ml_Namespace ns;
    } NAMES[] = {{"T", ML_NS_T}, {"tir", ML_NS_T}, {"tirx", ML_NS_T},
                 {"I", ML_NS_I}, {"ir", ML_NS_I},  {"tvm", ML_NS_TVM}};
    ml_Place none = {0};

    for (size_t k = 0; k < ML_COUNT(NAMES); k++)
        ml_ev_bind(ev, ml_symbol(ev->syms, ml_str(NAMES[k].name)), ml_cv_ns(NAMES[k].ns),
                   none);
    ml_ev_bind(ev, ml_symbol(ev->syms, ml_str("TypeVar")), type_var(), none);
    for (size_t k = 0; k < ev->lx->imports.n; k++)
        if (!ev->lx->imports.v[k].as->top)
            ml_ev_bind(ev, ev->lx->imports.v[k].as, ml_cv_ns(ML_NS_T), none);
}

ml_Cv ml_ev_from_value(ml_Eval *ev, const ml_Value *v)
{
    ML_VEC(ml_Cv) out = {0};

    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_NONE: return ml_cv(ML_CV_NONE);
    case ML_VAL_BOOL: return ml_cv_bool(v->as.i != 0);
    case ML_VAL_INT: return ml_cv_int(v->as.i);
    case ML_VAL_FLOAT: return ml_cv_float(v->as.f);
    case ML_VAL_STRING: return ml_cv_str(ml_str(v->as.s));
    case ML_VAL_DICT:
    case ML_VAL_LIST:
        for (uint32_t k = 0; k < v->n; k++) {
            if (v->kind == ML_VAL_DICT)
                ml_push(ev->sc, &out, ml_cv_str(ml_str(v->keys[k])));
            ml_push(ev->sc, &out, ml_ev_from_value(ev, v->as.list[k]));
        }
        return ml_cv_list(ev, v->kind == ML_VAL_DICT ? ML_CV_DICT : ML_CV_LIST, out.v,
                          out.n);
    case ML_VAL_EXPR: return ml_cv_expr(v->as.expr);
    case ML_VAL_BUFFER: return ml_cv_buffer(v->as.buffer);
    case ML_VAL_VAR: return ml_cv_expr(ml_var(ev->cx, v->as.var));
    case ML_VAL_TARGET: {
        ml_Cv c = ml_cv(ML_CV_VALUE);

        c.as.val = v;
        return c;
    }
    case ML_VAL_MAP:
    case ML_VAL_REDUCER: {
        ml_Cv c = ml_cv(v->kind == ML_VAL_MAP ? ML_CV_MAP : ML_CV_REDUCER);

        if (v->kind == ML_VAL_MAP)
            c.as.map = v->as.map;
        else
            c.as.reducer = v->as.reducer;
        return c;
    }
    }
    return ml_cv(ML_CV_NONE);
}

/* big marks a namespace that was imported, n its flavour: 1 tir, 2 tirx. */
static void import(ml_Eval *ev, const ml_Node *nd)
{
    const ml_Node *from = nd->n ? nd->kids[0] : NULL;

    for (size_t k = 0; k < nd->n_keys; k++) {
        const ml_Node *what = nd->kids[k + 1];
        ml_Str last = what->as.sym->name;
        ml_Cv v = ml_cv_ns(ML_NS_OTHER);

        if (ml_str_eq(last, ml_str("tir")) || ml_str_eq(last, ml_str("tirx"))) {
            v = ml_cv_ns(ML_NS_T);
            v.big = true;
            v.n = last.n == 3 ? 1 : 2;
        } else if (ml_str_eq(last, ml_str("ir"))) {
            v = ml_cv_ns(ML_NS_I);
        } else if (ev->opts->archaic && ml_str_eq(last, ml_str("ty"))) {
            v = ml_cv_ns(ML_NS_T);
        } else if (ml_str_eq(last, ml_str("relax"))) {
            v = ml_cv_ns(ML_NS_R);
        } else if (ml_str_eq(last, ml_str("tvm"))) {
            v = ml_cv_ns(ML_NS_TVM);
        } else if (ml_str_eq(last, ml_str("script"))) {
            v = ml_cv_ns(ML_NS_SCRIPT);
        } else if (from && ml_str_eq(last, ml_str("ir_module"))) {
            continue; /* bare decorator, known by name */
        } else if (from && ml_str_eq(last, ml_str("TypeVar"))) {
            v = type_var();
        }
        ml_ev_bind(ev, nd->keys[k], v, nd->at);
    }
}

/* ---- functions */
static bool parameter(ml_Eval *ev, const ml_ParamNode *q)
{
    ml_Cv ann;
    ml_FuncParam p = {0};
    ml_Sym *sym = q->sym;
    const char *hint;

    if (q->star)
        return ml_ev_reject(ev, E406, q->at,
                            "only plain positional parameters are supported");
    hint = sym->name.p;
    if (!q->ann) {
        ml_report(ev->rep, ML_E_E405, q->at, "parameter `%s` needs a type annotation",
                  hint);
        ml_ev_define(ev, sym, ml_cv_poison(), q->at);
        return false;
    }
    if (q->def) {
        ml_report(ev->rep, ML_E_E406, q->def->at,
                  "default values are not supported for parameters");
        ml_ev_define(ev, sym, ml_cv_poison(), q->at);
        return false;
    }
    for (size_t k = 0; k < ev->fn->params.n; k++)
        if (ml_streq(ev->fn->params.v[k].var->hint, hint) && sym->top &&
            sym->top->at.line == ev->fn->param_at.v[k].line &&
            sym->top->at.col == ev->fn->param_at.v[k].col) {
            ml_Diag *d =
                ml_report(ev->rep, ML_E_E310, q->at, "parameter `%s` appears twice", hint);

            ml_report_note(ev->rep, d, ev->fn->param_at.v[k], "first here");
            return false;
        }
    ev->target = NULL;
    ann = ml_ev_raw(ev, q->ann);
    switch (ann.kind) {
    case ML_CV_SPEC: {
        const ml_Buffer *b = ml_ev_make_buffer(ev, ann.as.spec, hint, NULL);

        ml_ev_no_annotations(ev, ann.as.spec);
        if (ann.as.spec->data)
            return ml_ev_reject(ev, E417, q->ann->at, "a parameter brings its own data");
        p.var = ml_var_new(ev->cx, ml_format(ev->cx, "%s_handle", hint), ML_DT_HANDLE);
        p.buffer = b;
        ml_ev_define(ev, sym, ml_cv_buffer(b), q->at);
        break;
    }
    case ML_CV_DTYPE:
    case ML_CV_FRESH:
        if (ann.dt.code == ML_VOID)
            return ml_ev_reject(ev, E516, q->ann->at, "a parameter cannot be void");
        if (sym->top && sym->top->func == ev->fn->id && sym->top->val.kind == ML_CV_EXPR &&
            sym->top->val.as.e->kind == ML_EXPR_VAR) { /* made by a quoted dimension */
            p.var = sym->top->val.as.e->as.var;
            if (!ml_dtype_eq(p.var->type, ann.dt))
                return ml_ev_reject(ev, E310, q->at,
                                    "`%s` is already a variable of dtype %s", hint,
                                    ml_dtype_name(ev->cx, p.var->type));
            break;
        }
        if (ann.dt.code == ML_HANDLE && ann.scope)
            p.var = ml_var_new_handle(ev->cx, hint, ann.elem, ann.scope);
        else
            p.var = ann.big ? ml_var_new_size(ev->cx, hint, ann.dt)
                            : ml_var_new(ev->cx, hint, ann.dt);
        ml_ev_define(ev, sym, ml_cv_expr(ml_var(ev->cx, p.var)), q->at);
        break;
    case ML_CV_POISON: ml_ev_define(ev, sym, ann, q->at); return false;
    default:
        ml_report(ev->rep, ML_E_E405, q->ann->at, "%s cannot be the type of a parameter",
                  ml_cv_describe(ev, ann));
        ml_ev_define(ev, sym, ml_cv_poison(), q->at);
        return false;
    }
    ml_ev_remember(ev, p.var, q->at);
    ml_push(ev->cx, &ev->fn->params, p);
    ml_push(ev->sc, &ev->fn->param_at, q->at);
    return true;
}

static ml_Dtype return_type(ml_Eval *ev, const ml_Node *fn)
{
    ml_Cv v;

    if (!fn->ret)
        return ML_DT_VOID;
    v = ml_ev_raw(ev, fn->ret);
    if (v.kind == ML_CV_NONE || v.kind == ML_CV_POISON)
        return ML_DT_VOID;
    if (v.kind == ML_CV_DTYPE || v.kind == ML_CV_FRESH)
        return v.dt;
    ml_report(ev->rep, ML_E_E516, fn->ret->at, "the return type is None or a dtype, got %s",
              ml_cv_describe(ev, v));
    return ML_DT_VOID;
}

static const ml_Func *function(ml_Eval *ev, const ml_Node *nd, const ml_Node *deco)
{
    static const char *const KNOWN[] = {"private", "check_well_formed", "s_tir",
                                        "persistent", NULL};
    ml_FuncB *f = ML_NEW(ev->sc, ml_FuncB);
    uint32_t saved = ml_ev_push_scope(ev);
    size_t bound = ev->bound.n, errors = ev->rep->n_errors;
    ml_Func out = {0};
    const ml_Stmt *body;

    f->node = nd;
    f->id = ++ev->n_funcs;
    f->notes = ml_map_new(ev->sc);
    f->places = ml_map_new(ev->sc);
    ml_ev_deco_check(ev, deco, KNOWN);
    f->private_ = ml_ev_deco_flag(ev, deco, "private", false);
    f->check = ml_ev_deco_flag(ev, deco, "check_well_formed", true);
    f->newest = ml_ev_deco_mode(ev, nd, deco) == ML_NEWEST;
    ev->fn = f;
    ev->ar = ml_arith_new(ev->cx);
    ev->blk = ev->blk_ctx = NULL;
    ev->frame = NULL;
    ev->n_loops = 0;
    for (size_t k = 0; k < nd->n_keys; k++) { /* def f[n](...): a symbolic dimension */
        const ml_Var *v = ml_var_new(ev->cx, nd->keys[k]->name.p, ML_DT_I64);

        ml_ev_define(ev, nd->keys[k], ml_cv_expr(ml_var(ev->cx, v)), nd->key_at[k]);
        ml_ev_remember(ev, v, nd->key_at[k]);
    }
    for (size_t k = 0; k < nd->as.params.n; k++)
        parameter(ev, &nd->as.params.v[k]);
    f->ret = return_type(ev, nd);
    ml_ev_open(ev, ML_FRAME_FUNC, nd->name_at);
    ml_ev_suite(ev, nd->body);
    body = ml_ev_close(ev);
    ev->frame = NULL;
    ml_ev_pop_scope(ev, saved, bound);
    if (ev->rep->n_errors == errors && ml_ok(ev->cx)) {
        body = ml_ev_merge_allocations(ev, body);
        out.name = ml_strdup(ev->cx, nd->sym->name);
        out.span = ml_place_span(ev->rep, nd->name_at);
        out.n_params = (uint32_t)f->params.n;
        out.params = f->params.v;
        out.ret = f->ret;
        out.spelling = f->newest ? ML_NEWEST : ML_CLASSIC;
        out.no_s_tir = f->newest && !ml_ev_deco_has(deco, "s_tir");
        out.attrs = NULL;
        if (!f->private_)
            out.attrs = ml_dict_with(ev->cx, NULL, "global_symbol",
                                     ml_val_string(ev->cx, nd->sym->name));
        for (size_t k = 0; k < f->attr_keys.n; k++)
            out.attrs =
                ml_dict_with(ev->cx, out.attrs, f->attr_keys.v[k], f->attr_values.v[k]);
        out.body = ml_complete(ev, body);
        if (ev->rep->n_errors == errors && f->check)
            ml_check_func(ev, &(ml_Func){.n_params = out.n_params,
                                         .params = out.params,
                                         .body = out.body,
                                         .ret = out.ret,
                                         .name = out.name});
    }
    ev->fn = NULL;
    return ev->rep->n_errors == errors && out.body ? ml_func_from(ev->cx, &out) : NULL;
}

/* ---- modules */
typedef ML_VEC(const ml_Func *) FuncVec;

static void class_body(ml_Eval *ev, const ml_Node *nd, FuncVec *out, const ml_Value **attrs)
{
    static const char *const KNOWN[] = {"check_well_formed", "s_tir", NULL};
    uint32_t saved;
    size_t bound;
    ml_Str name = {"", 0};
    ml_Sym *cls = ml_symbol(ev->syms, ml_str("cls"));

    for (size_t k = 0; k < nd->n; k++) {
        const ml_Node *deco = ml_ev_deco_name(nd->kids[k], &name);

        if (!ml_str_eq(name, ml_str("ir_module"))) {
            ml_report(ev->rep, ML_E_E613, deco->at,
                      "`%.*s` is no decorator of a module; it needs I.ir_module",
                      (int)name.n, name.p);
            return;
        }
        if (!ml_ev_deco_known(ev, deco, true))
            return;
    }
    if (nd->n == 0) {
        ml_report(ev->rep, ML_E_E613, nd->name_at,
                  "a module class needs the decorator I.ir_module");
        return;
    }
    ml_ev_deco_check(ev, nd->kids[nd->n - 1], KNOWN);
    saved = ml_ev_push_scope(ev);
    bound = ev->bound.n;
    ml_ev_bind(ev, cls, ml_cv_ns(ML_NS_SELF), nd->name_at);
    if (nd->sym != cls)
        ml_ev_bind(ev, nd->sym, ml_cv_ns(ML_NS_SELF), nd->name_at);
    for (size_t k = 0; nd->body && k < nd->body->n; k++) { /* signatures first */
        const ml_Node *s = nd->body->kids[k];
        ml_Callee *c;

        if (s->kind != ML_N_FUNC)
            continue;
        c = ML_NEW(ev->sc, ml_Callee);
        c->name = ml_strdup(ev->cx, s->sym->name);
        c->at = s->name_at;
        c->ret = ml_ev_is_prim_func(ev, s, false) ? return_type(ev, s) : ML_DT_VOID;
        for (size_t j = 0; j < ev->callees.n && ev->callees.n < 1000; j++)
            if (ml_streq(ev->callees.v[j]->name, c->name)) {
                ml_Diag *d = ml_report(ev->rep, ML_E_E310, s->name_at,
                                       "function `%s` is already defined", c->name);

                ml_report_note(ev->rep, d, ev->callees.v[j]->at, "first defined here");
            }
        ml_push(ev->sc, &ev->callees, c);
    }
    for (size_t k = 0; nd->body && k < nd->body->n && !ml_report_full(ev->rep); k++) {
        const ml_Node *s = nd->body->kids[k];
        const ml_Node *call = s->kind == ML_N_EXPR_STMT ? s->kids[0] : NULL;

        if (s->kind == ML_N_FUNC) {
            const ml_Func *f =
                ml_ev_is_prim_func(ev, s, true) ? function(ev, s, s->kids[s->n - 1]) : NULL;

            if (f)
                ml_push(ev->cx, out, f);
        } else if (call && call->kind == ML_N_STRING) {
            continue;
        } else if (call && call->kind == ML_N_CALL && call->kids[0]->kind == ML_N_ATTR &&
                   ml_str_eq(call->kids[0]->as.sym->name, ml_str("module_attrs"))) {
            ml_Cv v = call->n == 2 ? ml_ev_value(ev, call->kids[1]) : ml_cv(ML_CV_NONE);

            if (*attrs)
                ml_report(ev->rep, ML_E_E609, call->at,
                          "module attributes are already given");
            else if (v.kind == ML_CV_DICT)
                *attrs = ml_ev_to_value(ev, v, call->at);
            else if (v.kind != ML_CV_POISON)
                ml_report(ev->rep, ML_E_E415, call->at, "I.module_attrs takes a dict");
        } else if (call && call->kind == ML_N_CALL && call->kids[0]->kind == ML_N_ATTR &&
                   ml_str_eq(call->kids[0]->as.sym->name, ml_str("module_global_infos"))) {
            ml_report(ev->rep, ML_E_W401, call->at, "I.module_global_infos is ignored");
        } else if (s->kind == ML_N_ASSIGN && s->n == 2 && s->kids[0]->kind == ML_N_NAME) {
            ml_ev_define(ev, s->kids[0]->as.sym, ml_ev_value(ev, s->kids[1]),
                         s->kids[0]->at);
        } else if (s->kind != ML_N_PASS && s->kind != ML_N_BAD) {
            ml_report(ev->rep, ML_E_E613, s->at,
                      "only T.prim_func functions are supported in a module");
        }
    }
    ml_ev_pop_scope(ev, saved, bound);
}

/* A constant of the file; FRESH becomes a variable of that name. */
static void constant(ml_Eval *ev, const ml_Node *t, ml_Cv v)
{
    if (t->kind == ML_N_NAME) {
        if (v.kind == ML_CV_META)
            v = v.as.list[0];
        if (v.kind == ML_CV_FRESH)
            v = ml_cv_expr(
                ml_var(ev->cx, v.big ? ml_var_new_size(ev->cx, t->as.sym->name.p, v.dt)
                                     : ml_var_new(ev->cx, t->as.sym->name.p, v.dt)));
        ml_ev_bind(ev, t->as.sym, v, t->at);
    } else if ((t->kind == ML_N_TUPLE || t->kind == ML_N_LIST) &&
               (v.kind == ML_CV_TUPLE || v.kind == ML_CV_LIST) && v.n == t->n) {
        for (size_t k = 0; k < t->n; k++)
            constant(ev, t->kids[k], v.as.list[k]);
    } else if (v.kind != ML_CV_POISON) {
        ml_report(ev->rep, ML_E_E203, t->at, "cannot assign to this at file level");
    }
}

static const ml_Module *read_module(ml_Eval *ev, const ml_Ast *ast)
{
    FuncVec funcs = {0};
    const ml_Value *attrs = NULL;
    bool any = false;
    ml_Place none = {0};

    predefine(ev);
    for (size_t k = 0; k < ev->opts->n_values; k++) {
        const ml_ParseValue *v = &ev->opts->values[k];
        ml_Cv host = ml_cv(ML_CV_HOST);

        host.as.host = v;
        ml_ev_bind(ev, ml_symbol(ev->syms, ml_str(v->name)),
                   v->call ? host : ml_ev_from_value(ev, v->value), none);
    }
    for (size_t k = 0; k < ast->n && !ml_report_full(ev->rep); k++) {
        const ml_Node *s = ast->tops[k];
        size_t n_diags = ev->rep->diags.n;

        ev->target = ev->rhs = ev->stmt = ev->with = NULL;
        any |= (s->kind == ML_N_FUNC && !ml_ev_is_macro(s)) || s->kind == ML_N_CLASS;
        if (s->kind == ML_N_IMPORT) {
            import(ev, s);
        } else if (s->kind == ML_N_FUNC && ml_ev_is_macro(s)) {
            ml_ev_macro_define(ev, s);
        } else if (s->kind == ML_N_FUNC) {
            const ml_Func *f =
                ml_ev_is_prim_func(ev, s, true) ? function(ev, s, s->kids[s->n - 1]) : NULL;

            for (size_t j = 0; f && j < funcs.n && funcs.n < 1000; j++)
                if (ml_streq(funcs.v[j]->name, f->name))
                    ml_report(ev->rep, ML_E_E310, s->name_at,
                              "function `%s` is already defined", f->name);
            if (f)
                ml_push(ev->cx, &funcs, f);
        } else if (s->kind == ML_N_CLASS) {
            class_body(ev, s, &funcs, &attrs);
        } else if (s->kind == ML_N_ASSIGN) { /* M = N = 64 */
            ml_Cv v = ml_ev_value(ev, s->kids[s->n - 1]);

            for (size_t j = 0; j + 1 < s->n; j++)
                constant(ev, s->kids[j], v);
        } else if (s->kind == ML_N_ANN && s->kids[2] && s->kids[0]->kind == ML_N_NAME) {
            constant(ev, s->kids[0], ml_ev_value(ev, s->kids[2]));
        } else if (s->kind == ML_N_BAD) {
            for (size_t j = 0; j < s->n; j++)
                ml_ev_bind(ev, s->kids[j]->as.sym, ml_cv_poison(), s->kids[j]->at);
        } else if (s->kind == ML_N_PASS ||
                   (s->kind == ML_N_EXPR_STMT && s->kids[0]->kind == ML_N_STRING)) {
            continue;
        } else if (s->kind == ML_N_SKIPPED) {
            ml_ev_skipped(ev, s);
        } else if (ev->opts->file_mode) {
            ml_ev_skip(ev, s, NULL);
        } else {
            ml_report(
                ev->rep, ML_E_E108, s->at,
                "only imports, constants, modules and functions may stand at top level");
        }
        if (ev->opts->file_mode && (s->kind == ML_N_ASSIGN || s->kind == ML_N_ANN) &&
            ev->rep->diags.n > n_diags) { /* some other Python */
            const char *why = ev->rep->diags.v[n_diags].message;

            ml_report_cut(ev->rep, n_diags);
            ml_ev_skip(ev, s, why);
        }
    }
    if (ev->lost.line && ev->rep->n_errors == 0)
        ml_report(ev->rep, ML_E_E202, ev->lost, "this has no value that is known here");
    if (!any)
        ml_ev_no_program(ev);
    if (ev->rep->n_errors || !ml_ok(ev->cx))
        return NULL;
    return ml_module_new(ev->cx, funcs.v, funcs.n, attrs);
}

/* ---- entry points */
typedef struct Session {
    ml_Report rep;
    ml_Symbols syms;
    ml_Lexed lx;
    ml_Eval ev;
} Session;

static const ml_ParseOpts DEFAULTS = {.spelling = -1};

static void begin(Session *s, ml_Ctx *cx, ml_Str text, const ml_ParseOpts *opts)
{
    ml_Ctx *sc = ml_ctx_new(0);

    memset(s, 0, sizeof *s);
    s->rep.cx = cx;
    s->rep.file = opts->file ? ml_strdup(cx, ml_str(opts->file)) : "<text>";
    s->syms.sc = sc;
    s->ev.cx = cx;
    s->ev.sc = sc;
    s->ev.rep = &s->rep;
    s->ev.syms = &s->syms;
    s->ev.opts = opts;
    s->ev.lx = &s->lx;
    ml_lex(sc, &s->syms, &s->rep, text, &s->lx);
}

ml_Parsed ml_parse(ml_Ctx *cx, ml_Str text, const ml_ParseOpts *opts)
{
    Session s;
    ml_Ast ast = {0};
    const ml_Module *mod;

    opts = opts ? opts : &DEFAULTS;
    begin(&s, cx, text, opts);
    ml_syntax(s.ev.sc, &s.rep, &s.lx, opts->file_mode, &ast);
    mod = read_module(&s.ev, &ast);
    ml_ctx_unref(s.ev.sc);
    return ml_report_finish(&s.rep, mod);
}

static const ml_Node *expr_node(Session *s)
{
    return s->rep.n_errors ? NULL : ml_syntax_expr(s->ev.sc, &s->rep, &s->lx);
}

const ml_Expr *ml_parse_expr(ml_Ctx *cx, ml_Str text, const ml_ParseName *names, size_t n,
                             ml_Parsed *diags)
{
    Session s;
    const ml_Node *nd;
    const ml_Expr *e = NULL;
    ml_Place none = {0};
    ml_Parsed out;

    begin(&s, cx, text, &DEFAULTS);
    s.ev.ar = ml_arith_new(cx);
    predefine(&s.ev);
    for (size_t k = 0; k < n; k++)
        ml_ev_bind(&s.ev, ml_symbol(&s.syms, ml_str(names[k].name)),
                   names[k].buffer ? ml_cv_buffer(names[k].buffer)
                                   : ml_cv_expr(names[k].expr),
                   none);
    nd = expr_node(&s);
    if (nd)
        e = ml_ev_expr(&s.ev, nd);
    ml_ctx_unref(s.ev.sc);
    out = ml_report_finish(&s.rep, NULL);
    if (diags)
        *diags = out;
    return out.n_errors ? NULL : e;
}

/* tvm.tir.IndexMap.from_func(...), as scripts and printed traces say it, is T.index_map. */
static ml_Str map_text(ml_Ctx *cx, ml_Str text)
{
    static const char *const PREFIXES[] = {"tvm.", "tirx.", "s_tir.", "tir.",
                                           "IndexMap.from_func("};
    const char *p = text.p, *end = text.p + text.n;

    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n'))
        p++;
    for (size_t k = 0; k < ML_COUNT(PREFIXES); k++) {
        size_t n = strlen(PREFIXES[k]);

        if ((size_t)(end - p) < n || strncmp(p, PREFIXES[k], n) != 0)
            continue;
        p += n;
        if (k + 1 == ML_COUNT(PREFIXES))
            return ml_str(ml_format(cx, "T.index_map(%.*s", (int)(end - p), p));
    }
    return text;
}

const ml_IndexMap *ml_parse_index_map(ml_Ctx *cx, ml_Str text, ml_Dtype index,
                                      ml_Parsed *diags)
{
    Session s;
    const ml_Node *nd;
    const ml_IndexMap *m = NULL;
    ml_Parsed out;

    text = map_text(cx, text);
    begin(&s, cx, text, &DEFAULTS);
    s.ev.ar = ml_arith_new(cx);
    predefine(&s.ev);
    nd = expr_node(&s);
    if (nd) {
        ml_Cv v = ml_ev_value(&s.ev, nd);

        if (v.kind == ML_CV_LAMBDA)
            m = ml_ev_index_map(&s.ev, v.as.node, index, nd->at);
        else if (v.kind == ML_CV_MAP)
            m = v.as.map;
        else if (v.kind != ML_CV_POISON)
            ml_report(&s.rep, ML_E_E415, nd->at, "an index map is a lambda, got %s",
                      ml_cv_describe(&s.ev, v));
    }
    ml_ctx_unref(s.ev.sc);
    out = ml_report_finish(&s.rep, NULL);
    if (diags)
        *diags = out;
    return out.n_errors ? NULL : m;
}

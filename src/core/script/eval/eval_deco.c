/* eval_deco - decorators: which functions are programs, their keywords, the spelling of a
 * function. Source: script 1, 5. */
#include "moonloop/core/script/eval/eval.h"

const ml_Node *ml_ev_deco_name(const ml_Node *d, ml_Str *name)
{
    if (d->kind == ML_N_CALL)
        d = d->kids[0];
    *name =
        d->kind == ML_N_ATTR || d->kind == ML_N_NAME ? d->as.sym->name : (ml_Str){"", 0};
    return d;
}

static bool token_is(const ml_Tok *t, const char *z)
{
    return t->kind == ML_TOK_NAME && ml_str_eq(t->as.sym->name, ml_str(z));
}

bool ml_ev_deco_has(const ml_Node *deco, const char *name)
{
    for (size_t k = 1; deco->kind == ML_N_CALL && k < deco->n_keys; k++)
        if (deco->keys[k] && ml_str_eq(deco->keys[k]->name, ml_str(name)))
            return true;
    return false;
}

int ml_ev_deco_mode(ml_Eval *ev, const ml_Node *fn, const ml_Node *deco)
{
    const ml_Tok *t = ev->lx->toks;
    const ml_Node *name = deco->kind == ML_N_CALL ? deco->kids[0] : deco;
    uint32_t line = t[fn->tok].at.line;

    if (ev->opts->spelling >= 0)
        return ev->opts->spelling;
    for (size_t k = ev->lx->pragmas.n; k-- > 0;) {
        uint32_t at = ev->lx->pragmas.v[k].line;

        if (at < line &&
            (fn->tok == 0 || t[fn->tok - 1].at.line <= at ||
             t[fn->tok - 1].kind == ML_TOK_DEDENT || t[fn->tok - 1].kind == ML_TOK_INDENT))
            if (fn->tok < 2 || t[fn->tok - 1].kind == ML_TOK_INDENT ||
                t[fn->tok - 2].at.line < at)
                return ev->lx->pragmas.v[k].spelling;
    }
    if (ml_ev_deco_has(deco, "s_tir"))
        return ML_NEWEST;
    if (name->kind == ML_N_ATTR && name->kids[0]->kind == ML_N_NAME &&
        name->kids[0]->as.sym->top && name->kids[0]->as.sym->top->val.kind == ML_CV_NS &&
        name->kids[0]->as.sym->top->val.big)
        return name->kids[0]->as.sym->top->val.n == 2 ? ML_NEWEST : ML_CLASSIC;
    /* a tir in a comment says nothing: functions of both spellings may stand below it */
    for (size_t k = 0; name->kind == ML_N_ATTR && k < ev->lx->imports.n; k++)
        if (ev->lx->imports.v[k].line < line &&
            ev->lx->imports.v[k].as == name->kids[0]->as.sym &&
            ev->lx->imports.v[k].spelling == ML_NEWEST)
            return ML_NEWEST;
    for (size_t k = fn->tok; k < fn->tok_end; k++) {
        if (t[k].kind != ML_TOK_NAME || k == 0 || t[k - 1].op != ML_OPR_DOT)
            continue;
        if ((t[k].as.sym->name.n >= 6 && memcmp(t[k].as.sym->name.p, "sblock", 6) == 0) ||
            token_is(&t[k], "alloc_local") || token_is(&t[k], "alloc_shared") ||
            (token_is(&t[k], "let") && t[k + 1].op == ML_OPR_LBRACKET))
            return ML_NEWEST;
    }
    return ML_CLASSIC;
}

bool ml_ev_deco_flag(ml_Eval *ev, const ml_Node *deco, const char *name, bool otherwise)
{
    if (deco->kind == ML_N_CALL)
        for (size_t k = 1; k < deco->n_keys; k++)
            if (deco->keys[k] && ml_str_eq(deco->keys[k]->name, ml_str(name)))
                return ml_ev_truth(ml_ev_value(ev, deco->kids[k]));
    return otherwise;
}

bool ml_ev_deco_check(ml_Eval *ev, const ml_Node *deco, const char *const *known)
{
    if (deco->kind != ML_N_CALL)
        return true;
    for (size_t k = 1; k < deco->n; k++) {
        bool ok = false;

        for (size_t j = 0; known[j] && deco->keys[k]; j++)
            ok |= ml_str_eq(deco->keys[k]->name, ml_str(known[j]));
        if (!ok)
            return ml_ev_reject(ev, E412, deco->key_at[k],
                                "the decorator has no such argument");
        if (ml_ev_value(ev, deco->kids[k]).kind == ML_CV_POISON)
            return false;
        if (ml_str_eq(deco->keys[k]->name, ml_str("persistent")))
            ml_report(ev->rep, ML_E_W401, deco->key_at[k], "`persistent` is ignored");
    }
    return true;
}

/* Whether a decorator's first name means something, if it has dots: T of T.prim_func. */
bool ml_ev_deco_known(ml_Eval *ev, const ml_Node *deco, bool say)
{
    const ml_Node *root = deco;

    while (root->kind == ML_N_ATTR)
        root = root->kids[0];
    if (root == deco || root->kind != ML_N_NAME)
        return true;
    if (root->as.sym->top && root->as.sym->top->val.kind == ML_CV_NS)
        return true;
    if (say && !root->as.sym->top && root == deco->kids[0]) {
        const char *name = root->as.sym->name.p;
        bool module = ml_str_eq(deco->as.sym->name, ml_str("ir_module"));

        ml_report_help(ev->rep,
                       ml_report(ev->rep, ML_E_E301, root->at, "undefined name `%s`", name),
                       "an import above names it: from tvm.script import %s as %s",
                       module ? "ir" : "tir", name);
        return false;
    }
    if (say && ml_ev_name(ev, root->as.sym, root->at).kind != ML_CV_POISON)
        ml_report(ev->rep, ML_E_E613, deco->at, "`%s` is no namespace of the dialect",
                  root->as.sym->name.p);
    return false;
}

/* say: why not is reported. */
bool ml_ev_is_prim_func(ml_Eval *ev, const ml_Node *nd, bool say)
{
    ml_Str name;
    const ml_Node *last;

    if (nd->n == 0) {
        if (say)
            ml_report(ev->rep, ML_E_E613, nd->name_at,
                      "only T.prim_func functions are supported; `%s` has no decorator",
                      nd->sym->name.p);
        return false;
    }
    for (size_t k = 0; k < nd->n; k++) {
        last = ml_ev_deco_name(nd->kids[k], &name);
        if (ml_str_eq(name, ml_str("prim_func")) || ml_ev_is_archaic_script(ev, name)) {
            if (ml_ev_deco_known(ev, last, say))
                continue;
            return false;
        }
        if (say && (ml_str_eq(name, ml_str("script")) || ml_str_eq(name, ml_str("tir"))))
            ml_report(ev->rep, ML_E_E613, last->at,
                      "`%s` is a decorator of older texts; read this one with "
                      "{archaic = true}",
                      name.p);
        else if (say)
            ml_report(ev->rep, ML_E_E613, last->at,
                      "only T.prim_func functions are supported; `%s` is decorated with "
                      "`%.*s`",
                      nd->sym->name.p, (int)name.n, name.p);
        return false;
    }
    return true;
}

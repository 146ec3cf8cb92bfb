/* eval_skip - other Python in a file, which is passed over: its names have no value from
 * there on, and a program that merely lacks its decorator is no other Python; a text that
 * has nothing else is no program. Source: script 3. */
#include "moonloop/core/script/eval/eval.h"

/* What would define these names is passed over: their uses are errors. */
static void skip_names(ml_Eval *ev, const ml_NodeVec *names, ml_Place at, const char *why)
{
    ml_Cv v = ml_cv(ML_CV_SKIPPED);

    for (size_t k = 0; k < names->n; k++) {
        const ml_Node *name = names->v[k];
        const ml_Binding *old = name->as.sym->top;

        if (!name->big ||
            (old && (old->val.kind == ML_CV_LIST || old->val.kind == ML_CV_DICT))) {
            v.as.skipped = ML_NEW(ev->sc, ml_Skipped);
            *v.as.skipped = (ml_Skipped){at, why, 0};
            ml_ev_bind(ev, name->as.sym, v, name->at);
        }
    }
}

/* The first token with a text at or behind a place. */
static size_t token_at(const ml_Lexed *lx, uint32_t line, uint32_t col)
{
    size_t lo = 0, hi = lx->n - 1; /* the last one is EOF */

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        ml_Place at = lx->toks[mid].at;

        if (at.line < line || (at.line == line && at.col < col))
            lo = mid + 1;
        else
            hi = mid;
    }
    while (lx->toks[lo].kind == ML_TOK_DEDENT)
        lo++;
    return lo;
}

static bool names_type(ml_Eval *ev, const ml_Tok *t)
{
    const ml_Binding *b = t->kind == ML_TOK_NAME ? t->as.sym->top : NULL;
    ml_Cv v;

    if (t->kind == ML_TOK_NAME && !b)
        return ml_ev_archaic_name(ev, t->as.sym, &v);
    return b && b->val.kind == ML_CV_NS && b->val.as.i == ML_NS_T &&
           t[1].kind == ML_TOK_OP && t[1].op == ML_OPR_DOT;
}

/* Whether the plain function at a place has parameters of the dialect's types: a program
 * without its decorator, which would vanish with the other Python. */
static const ml_Tok *lacks_decorator(ml_Eval *ev, ml_Place at)
{
    const ml_Tok *t = &ev->lx->toks[token_at(ev->lx, at.line, at.col)], *name = &t[1];

    if (t->kind != ML_TOK_KEYWORD || t->op != ML_KW_DEF || name->kind != ML_TOK_NAME)
        return NULL;
    for (; t->kind != ML_TOK_NEWLINE && t->kind != ML_TOK_EOF; t++)
        if (t->kind == ML_TOK_OP && t->op == ML_OPR_COLON && names_type(ev, &t[1]))
            return name;
    return NULL;
}

void ml_ev_skip(ml_Eval *ev, const ml_Node *s, const char *why)
{
    ml_NodeVec names = {0};

    ml_report(ev->rep, ML_E_W103, s->at, "skipped: not part of a script");
    ml_syn_bound_names(ev->sc, ev->lx, token_at(ev->lx, s->at.line, s->at.col),
                       token_at(ev->lx, s->at.end_line, s->at.end_col), &names);
    skip_names(ev, &names, s->at, why ? why : "not part of a script");
}

void ml_ev_skipped(ml_Eval *ev, const ml_Node *s)
{
    const ml_Tok *name = lacks_decorator(ev, s->at);

    if (name)
        ml_report(ev->rep, ML_E_E613, name->at,
                  "only T.prim_func functions are supported; `%s` has no decorator",
                  name->as.sym->name.p);
    skip_names(ev, &(ml_NodeVec){.v = s->kids, .n = s->n}, s->at, s->as.s.p);
}

/* Whether something here is written as programs are: what is said of the rest then helps. */
static bool has_signs(const ml_Eval *ev)
{
    static const char *const SIGNS[] = {"prim_func", "ir_module"},
                             *const OLDER[] = {"script", "tir"}; /* @tvm.script.tir */
    bool deco = false;

    for (size_t k = 0; k < ev->rep->codes.n; k++)
        if (ev->rep->codes.v[k] == ML_E_E613)
            return true;
    for (const ml_Tok *t = ev->lx->toks; t->kind != ML_TOK_EOF; t++) {
        deco = t->kind == ML_TOK_OP ? deco || t->op == ML_OPR_AT
                                    : deco && t->kind != ML_TOK_NEWLINE;
        if (t->kind != ML_TOK_NAME)
            continue;
        for (size_t k = 0; k < ML_COUNT(SIGNS); k++)
            if (ml_str_eq(t->as.sym->name, ml_str(SIGNS[k])) ||
                (deco && ml_str_eq(t->as.sym->name, ml_str(OLDER[k]))))
                return true;
        if (ml_str_eq(t->as.sym->name, ml_str("T")) && t[1].op == ML_OPR_DOT)
            return true;
    }
    return false;
}

void ml_ev_no_program(ml_Eval *ev)
{
    ml_Place at = {1, 1, 1, 2};
    const char *help = "a program is a function below @T.prim_func, or a class of such "
                       "functions below @I.ir_module";
    const char *why = "";

    if (ev->rep->n_errors && (!ev->opts->file_mode || has_signs(ev)))
        return;
    for (size_t k = 0; k < ev->rep->diags.n; k++) {
        const ml_Diag *d = &ev->rep->diags.v[k];

        if (d->warning && strncmp(d->message, "depends on", 10) == 0) {
            at = (ml_Place){d->span.line, d->span.col, d->span.end_line, d->span.end_col};
            why = " but one inside other Python";
            help = d->message;
        }
    }
    ml_report_cut(ev->rep, 0);
    ml_report_help(ev->rep,
                   ml_report(ev->rep, ML_E_E612, at, "no function in the text%s", why),
                   "%s", help);
}

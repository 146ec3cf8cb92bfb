/*
 * syntax - statements of the grammar, with recovery at the next statement: blocks, which
 * statement begins here, the top level. Source: script 3.
 *
 * A statement that fails has been reported; its rest and the block below it are passed over
 * and the next statement of the same block is read.
 */
#include "moonloop/core/script/syntax/ast.h"

static ml_Node *statement(ml_Parser *p);

/* Passes over the rest of the logical line and the indented block below it. */
void ml_syn_skip(ml_Parser *p)
{
    size_t depth = 0;

    while (ml_syn_peek(p)->kind != ML_TOK_NEWLINE && ml_syn_peek(p)->kind != ML_TOK_EOF &&
           ml_syn_peek(p)->kind != ML_TOK_DEDENT)
        p->k++;
    if (ml_syn_peek(p)->kind == ML_TOK_NEWLINE)
        p->k++;
    if (ml_syn_peek(p)->kind != ML_TOK_INDENT)
        return;
    do {
        if (ml_syn_peek(p)->kind == ML_TOK_INDENT)
            depth++;
        else if (ml_syn_peek(p)->kind == ML_TOK_DEDENT)
            depth--;
        else if (ml_syn_peek(p)->kind == ML_TOK_EOF)
            return;
        p->k++;
    } while (depth > 0);
}

ml_Node *ml_syn_suite(ml_Parser *p, ml_NodeVec *v, ml_Place at)
{
    ml_Node *nd = ml_syn_node(p, ML_N_SUITE, at, 0);

    ml_syn_keep(p, nd, v);
    return nd;
}

ml_Place ml_syn_so_far(const ml_Parser *p, ml_Place from)
{
    return ml_place_join(from, p->lx->toks[p->k ? p->k - 1 : 0].at);
}

ml_Node *ml_syn_keyword(ml_Parser *p, ml_NodeKind kind, size_t kids)
{
    ml_Node *nd = ml_syn_node(p, kind, ml_syn_peek(p)->at, kids);

    p->k++;
    return nd;
}

/* A statement that failed: BAD, with the names that it would have defined. */
static ml_Node *failed_statement(ml_Parser *p, size_t from)
{
    ml_Node *nd = ml_syn_node(p, ML_N_BAD, p->lx->toks[from].at, 0);
    ml_NodeVec v = {0};
    const ml_Tok *t = &p->lx->toks[from];

    for (; t->kind == ML_TOK_NAME; t++) {
        ml_Node *name = ml_syn_node(p, ML_N_NAME, t->at, 0);

        name->as.sym = t->as.sym;
        ml_push(p->sc, &v, name);
        t++;
        if (t->kind != ML_TOK_OP || t->op != ML_OPR_COMMA)
            break;
    }
    if (v.n && t->kind == ML_TOK_OP && (t->op == ML_OPR_ASSIGN || t->op == ML_OPR_COLON))
        ml_syn_keep(p, nd, &v);
    return nd;
}

/* Passes over a block that nothing opened. */
static void skip_indented(ml_Parser *p)
{
    ml_report(p->rep, ML_E_E107, ml_syn_peek(p)->at, "unexpected indentation");
    p->k++;
    for (size_t depth = 1; depth > 0 && ml_syn_peek(p)->kind != ML_TOK_EOF; p->k++)
        depth += ml_syn_peek(p)->kind == ML_TOK_INDENT   ? 1
                 : ml_syn_peek(p)->kind == ML_TOK_DEDENT ? (size_t)-1
                                                         : 0;
}

static void simple_line(ml_Parser *p, ml_NodeVec *out)
{
    for (;;) {
        size_t from = p->k;
        ml_Node *nd = ml_syn_simple(p);

        if (p->failed)
            nd = failed_statement(p, from);
        ml_push(p->sc, out, nd);
        if (p->failed)
            break;
        if (!ml_syn_take(p, ML_OPR_SEMICOLON) || ml_syn_peek(p)->kind == ML_TOK_NEWLINE)
            break;
    }
    if (!p->failed && ml_syn_peek(p)->kind != ML_TOK_NEWLINE &&
        ml_syn_peek(p)->kind != ML_TOK_EOF)
        ml_syn_expected(p, "the end of the line");
    if (p->failed) {
        ml_syn_skip(p);
        p->failed = false;
    } else if (ml_syn_peek(p)->kind == ML_TOK_NEWLINE) {
        p->k++;
        if (ml_syn_peek(p)->kind == ML_TOK_INDENT)
            skip_indented(p);
    }
}

/* ':' and the block behind it. `what` names the header for messages. */
ml_Node *ml_syn_block(ml_Parser *p, const char *what)
{
    ml_NodeVec v = {0};
    ml_Place at = ml_syn_peek(p)->at, end;

    if (p->failed)
        return NULL;
    if (!ml_syn_take(p, ML_OPR_COLON)) {
        if (ml_syn_peek(p)->kind != ML_TOK_ERROR)
            ml_report(p->rep, ML_E_E106, ml_syn_peek(p)->at, "expected `:` after %s", what);
        p->failed = true;
        return NULL;
    }
    if (ml_syn_peek(p)->kind != ML_TOK_NEWLINE) {
        simple_line(p, &v);
        return ml_syn_suite(p, &v, at);
    }
    end = ml_syn_peek(p)->at;
    p->k++;
    if (ml_syn_peek(p)->kind != ML_TOK_INDENT) {
        ml_report(p->rep, ML_E_E107, end, "expected an indented block after %s", what);
        return ml_syn_suite(p, &v, at);
    }
    if (p->blocks >= ML_MAX_BLOCKS) {
        ml_report(p->rep, ML_E_E109, at, "statements are nested deeper than %d",
                  ML_MAX_BLOCKS);
        p->failed = true;
        return NULL;
    }
    p->k++;
    p->blocks++;
    while (ml_syn_peek(p)->kind != ML_TOK_DEDENT && ml_syn_peek(p)->kind != ML_TOK_EOF) {
        const ml_Tok *t = ml_syn_peek(p);

        if (t->kind == ML_TOK_INDENT) {
            skip_indented(p);
        } else if (t->kind == ML_TOK_NEWLINE) {
            p->k++;
        } else {
            ml_Node *s = statement(p);

            if (s->kind == ML_N_SUITE)
                for (size_t k = 0; k < s->n; k++)
                    ml_push(p->sc, &v, s->kids[k]);
            else
                ml_push(p->sc, &v, s);
        }
    }
    p->blocks--;
    if (ml_syn_peek(p)->kind == ML_TOK_DEDENT)
        p->k++;
    return ml_syn_suite(p, &v, at);
}

static ml_Node *statement(ml_Parser *p)
{
    ml_NodeVec v = {0};
    const ml_Tok *t = ml_syn_peek(p);
    ml_Node *nd = NULL;

    p->failed = false;
    p->depth = 0;
    if (t->kind == ML_TOK_KEYWORD) {
        switch ((unsigned)t->op) {
        case ML_KW_FOR: nd = ml_syn_for(p); break;
        case ML_KW_WHILE: nd = ml_syn_while(p); break;
        case ML_KW_IF: nd = ml_syn_if(p); break;
        case ML_KW_WITH: nd = ml_syn_with(p); break;
        case ML_KW_DEF:
        case ML_KW_CLASS: nd = ml_syn_definition(p); break;
        default: break;
        }
    } else if (ml_syn_at(p, ML_OPR_AT)) {
        nd = ml_syn_definition(p);
    } else if (t->kind == ML_TOK_NAME && ml_str_eq(t->as.sym->name, ml_str("match")) &&
               (t[1].kind == ML_TOK_NAME || t[1].kind == ML_TOK_INT)) {
        ml_syn_unsupported(p, t->at, "`match` is");
        nd = ml_syn_bad(p);
    }
    if (!nd) {
        simple_line(p, &v);
        return ml_syn_suite(p, &v, t->at);
    }
    if (p->failed) {
        ml_syn_skip(p);
        p->failed = false;
        return ml_syn_node(p, ML_N_BAD, t->at, 0);
    }
    return nd;
}

/* ---- the top level */
static bool names_decorator(const ml_Parser *p, size_t at)
{
    for (const ml_Tok *t = &p->lx->toks[at];
         t->kind != ML_TOK_NEWLINE && t->kind != ML_TOK_EOF; t++)
        if (t->kind == ML_TOK_NAME && ml_str_eq(t->as.sym->name, ml_str("prim_func")))
            return true;
    return false;
}

/* A decorated function in [from, to); deep: at any depth, else in the body itself. */
static bool has_decorated_function(const ml_Parser *p, size_t from, size_t to, bool deep)
{
    size_t depth = 0;

    for (size_t k = from; k + 2 < to; k++) {
        const ml_Tok *t = &p->lx->toks[k];

        depth += t->kind == ML_TOK_INDENT ? 1 : t->kind == ML_TOK_DEDENT ? (size_t)-1 : 0;
        if (t->kind == ML_TOK_OP && t->op == ML_OPR_AT && (deep || depth == 1) &&
            names_decorator(p, k))
            return true;
    }
    return false;
}

/* Passes over other Python: its names have no value that is known here. why: what is wrong
 * with it as a statement of a script, or NULL. */
static ml_Node *skip_other(ml_Parser *p, ml_Place at, const char *why)
{
    size_t from = p->k;
    ml_NodeVec names = {0};
    ml_Node *nd;

    ml_syn_skip(p);
    if (p->lx->toks[from].op == ML_KW_CLASS && p->lx->toks[from + 2].op == ML_OPR_COLON &&
        has_decorated_function(p, from, p->k, false))
        ml_report(p->rep, ML_E_E613, at, "a module class needs the decorator I.ir_module");
    else if (has_decorated_function(p, from, p->k, true))
        ml_report(
            p->rep, ML_E_W103, at,
            "depends on a Python closure; pass its constants and parse it separately");
    else
        ml_report(p->rep, ML_E_W103, at, "skipped: not part of a script");
    nd = ml_syn_node(p, ML_N_SKIPPED, at, 0);
    ml_syn_bound_names(p->sc, p->lx, from, p->k, &names);
    ml_syn_keep(p, nd, &names);
    nd->as.s = ml_str(why ? why : "not part of a script");
    return nd;
}

/* What a text may hold at top level: imports, constants, modules, functions, docstrings. */
static bool may_stand_at_top(const ml_Tok *t)
{
    if (t->kind == ML_TOK_KEYWORD)
        return t->op == ML_KW_IMPORT || t->op == ML_KW_FROM || t->op == ML_KW_CLASS ||
               t->op == ML_KW_DEF || t->op == ML_KW_PASS;
    if (t->kind == ML_TOK_OP)
        return t->op == ML_OPR_AT;
    return t->kind == ML_TOK_STRING || t->kind == ML_TOK_ERROR || t->kind == ML_TOK_NAME;
}

void ml_syntax(ml_Ctx *sc, ml_Report *rep, const ml_Lexed *lx, bool file_mode, ml_Ast *out)
{
    ml_Parser p = {.sc = sc, .rep = rep, .lx = lx, .file_mode = file_mode};
    ml_NodeVec v = {0};

    while (ml_syn_peek(&p)->kind != ML_TOK_EOF && !ml_report_full(rep)) {
        const ml_Tok *t = ml_syn_peek(&p);
        bool plain_def =
            t->kind == ML_TOK_KEYWORD && (t->op == ML_KW_DEF || t->op == ML_KW_CLASS);
        size_t at = p.k, n_diags = rep->diags.n;
        ml_Node *nd;

        if (t->kind == ML_TOK_NEWLINE || t->kind == ML_TOK_INDENT ||
            t->kind == ML_TOK_DEDENT) {
            if (t->kind == ML_TOK_INDENT)
                ml_report(rep, ML_E_E107, t->at, "unexpected indentation");
            p.k++;
            continue;
        }
        if (file_mode && (plain_def || !may_stand_at_top(t))) {
            ml_push(sc, &v, skip_other(&p, t->at, NULL));
            continue;
        }
        if (!may_stand_at_top(t)) {
            ml_report(
                rep, ML_E_E108, t->at,
                "only imports, constants, modules and functions may stand at top level");
            p.failed = false;
            ml_syn_skip(&p);
            continue;
        }
        nd = statement(&p);
        if (file_mode && t->kind == ML_TOK_NAME && rep->diags.n > n_diags) {
            const char *why = rep->diags.v[n_diags].message;

            ml_report_cut(rep, n_diags);
            p.k = at;
            ml_push(sc, &v, skip_other(&p, t->at, why));
            continue;
        }
        if (nd->kind == ML_N_SUITE)
            for (size_t k = 0; k < nd->n; k++)
                ml_push(sc, &v, nd->kids[k]);
        else
            ml_push(sc, &v, nd);
    }
    out->tops = v.v;
    out->n = v.n;
}

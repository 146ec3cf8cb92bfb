/*
 * syntax_atom - what an expression is made of: names and literals, what stands between
 * brackets, and comprehensions. Source: script 3.
 */
#include "moonloop/core/script/syntax/ast.h"

ml_Node *ml_syn_starred(ml_Parser *p)
{
    const ml_Tok *t = ml_syn_peek(p);
    ml_Node *nd, *e;

    if (!ml_syn_take(p, ML_OPR_MUL))
        return ml_syn_expr(p);
    e = ml_syn_expr(p);
    nd = ml_syn_node(p, ML_N_STAR, ml_place_join(t->at, e->at), 1);
    nd->kids[0] = e;
    ml_syn_measure(p, nd);
    return nd;
}

bool ml_syn_no_comprehension(ml_Parser *p, const char *what)
{
    if (!ml_syn_at(p, ML_KW_FOR) && !ml_syn_at(p, ML_KW_ASYNC))
        return true;
    ml_syn_unsupported(p, ml_syn_peek(p)->at, what);
    return false;
}

/* One `for targets in list` or `if condition`. */
static ml_Node *clause(ml_Parser *p)
{
    ml_Place at = ml_syn_peek(p)->at;
    bool loop = ml_syn_at(p, ML_KW_FOR);
    ml_Node *nd = ml_syn_keyword(p, loop ? ML_N_FOR : ML_N_IF, loop ? 2 : 1);

    if (loop) {
        nd->kids[0] = ml_syn_target_list(p);
        if (!p->failed && !ml_syn_take(p, ML_KW_IN))
            ml_syn_expected(p, "`in`");
    }
    nd->kids[loop] = p->failed ? ml_syn_bad(p) : ml_syn_test(p);
    nd->at = ml_syn_so_far(p, at);
    ml_syn_measure(p, nd);
    return nd;
}

ml_Node *ml_syn_comprehension(ml_Parser *p, ml_Node *element)
{
    ml_NodeVec v = {0};
    ml_Node *nd;

    if (p->failed || !ml_syn_at(p, ML_KW_FOR))
        return element;
    if (element->kind == ML_N_STAR) {
        ml_syn_unsupported(p, element->at, "`*` in a comprehension is");
        return element;
    }
    ml_push(p->sc, &v, element);
    while (!p->failed && (ml_syn_at(p, ML_KW_FOR) || ml_syn_at(p, ML_KW_IF)))
        ml_push(p->sc, &v, clause(p));
    nd = ml_syn_node(p, ML_N_COMP, ml_syn_so_far(p, element->at), 0);
    ml_syn_keep(p, nd, &v);
    ml_syn_measure(p, nd);
    return nd;
}

/* Elements up to the closing bracket, which is taken; *comma: whether there was one. */
static void elements(ml_Parser *p, ml_TokOp close, ml_NodeVec *out, bool *comma)
{
    *comma = false;
    while (!p->failed && !ml_syn_at(p, close)) {
        ml_Node *one = ml_syn_starred(p);

        if (out->n == 0)
            one = ml_syn_comprehension(p, one);
        ml_push(p->sc, out, one);
        if (p->failed ||
            !ml_syn_no_comprehension(p, "a comprehension behind other elements is"))
            return;
        if (one->kind == ML_N_COMP && ml_syn_at(p, ML_OPR_COMMA)) {
            ml_syn_expected(p, "the end of the comprehension");
            return;
        }
        if (ml_syn_take(p, ML_OPR_COMMA))
            *comma = true;
        else
            break;
    }
    if (!ml_syn_take(p, close))
        ml_syn_expected(p, ml_format(p->rep->cx, "`,` or `%s`", ml_tok_op_text(close)));
}

static ml_Node *dict(ml_Parser *p, ml_Place open)
{
    ml_NodeVec v = {0};
    ml_Node *nd;

    while (!p->failed && !ml_syn_at(p, ML_OPR_RBRACE)) {
        if (ml_syn_at(p, ML_OPR_POW)) {
            ml_syn_unsupported(p, ml_syn_peek(p)->at, "`**` in a dict is");
            break;
        }
        ml_push(p->sc, &v, ml_syn_expr(p));
        if (p->failed)
            break;
        if (!ml_syn_take(p, ML_OPR_COLON)) {
            if (ml_syn_at(p, ML_OPR_COMMA) || ml_syn_at(p, ML_OPR_RBRACE) ||
                ml_syn_at(p, ML_KW_FOR))
                ml_syn_unsupported(p, open, "a set is");
            else
                ml_syn_expected(p, "`:`");
            break;
        }
        ml_push(p->sc, &v, ml_syn_expr(p));
        if (p->failed || !ml_syn_no_comprehension(p, "a comprehension of a dict is") ||
            !ml_syn_take(p, ML_OPR_COMMA))
            break;
    }
    if (!p->failed && !ml_syn_take(p, ML_OPR_RBRACE))
        ml_syn_expected(p, "`,` or `}`");
    nd = ml_syn_node(p, ML_N_DICT, ml_syn_so_far(p, open), 0);
    ml_syn_keep(p, nd, &v);
    if (p->failed)
        nd->n &= ~1u;
    return nd;
}

/* The expression of a field, which must be all of its tokens. */
static ml_Node *field(ml_Parser *p, const ml_FPart *part)
{
    ml_Parser inner = *p;
    ml_Node *nd = ml_syn_node(p, ML_N_FIELD, part->at, 1);

    inner.lx = part->expr;
    inner.k = 0;
    nd->kids[0] = ml_syn_expr_list(&inner);
    if (!inner.failed && ml_syn_peek(&inner)->kind != ML_TOK_EOF)
        ml_syn_expected(&inner, "the end of the field");
    p->failed = inner.failed;
    nd->op = (uint8_t)part->conversion;
    nd->as.s = part->text;
    ml_syn_measure(p, nd);
    return nd;
}

/* Adjacent strings of which one is an f-string. */
static ml_Node *fstring(ml_Parser *p)
{
    ml_Place at = ml_syn_peek(p)->at;
    ml_NodeVec v = {0};
    const ml_Tok *t;
    ml_Node *nd;

    for (; !p->failed && (t = ml_syn_peek(p))->kind == ML_TOK_STRING; p->k++) {
        size_t n = t->big ? t->as.fs->parts.n : 1;

        for (size_t k = 0; k < n && !p->failed; k++) {
            const ml_FPart *part = t->big ? &t->as.fs->parts.v[k] : NULL;

            if (part && part->expr) {
                ml_push(p->sc, &v, field(p, part));
                continue;
            }
            nd = ml_syn_node(p, ML_N_STRING, t->at, 0);
            nd->as.s = part ? part->text : t->as.s;
            ml_push(p->sc, &v, nd);
        }
    }
    nd = ml_syn_node(p, ML_N_FSTRING, ml_syn_so_far(p, at), 0);
    ml_syn_keep(p, nd, &v);
    ml_syn_measure(p, nd);
    return nd;
}

ml_Node *ml_syn_atom(ml_Parser *p)
{
    const ml_Tok *t = ml_syn_peek(p);
    ml_Node *nd;
    ml_NodeVec v = {0};
    bool comma;

    switch ((ml_TokKind)t->kind) {
    case ML_TOK_NAME:
        p->k++;
        nd = ml_syn_node(p, ML_N_NAME, t->at, 0);
        nd->as.sym = t->as.sym;
        return nd;
    case ML_TOK_INT:
        p->k++;
        nd = ml_syn_node(p, ML_N_INT, t->at, 0);
        nd->as.i = t->as.i;
        nd->big = t->big;
        return nd;
    case ML_TOK_FLOAT:
        p->k++;
        nd = ml_syn_node(p, ML_N_FLOAT, t->at, 0);
        nd->as.f = t->as.f;
        return nd;
    case ML_TOK_STRING: {
        ml_Text joined = {0};
        ml_Place at = t->at;

        for (size_t k = p->k; p->lx->toks[k].kind == ML_TOK_STRING; k++)
            if (p->lx->toks[k].big)
                return fstring(p);
        for (; (t = ml_syn_peek(p))->kind == ML_TOK_STRING; p->k++) {
            ml_text_addn(&joined, t->as.s.p, t->as.s.n);
            at = ml_place_join(at, t->at);
        }
        nd = ml_syn_node(p, ML_N_STRING, at, 0);
        nd->as.s.p = ml_strdup(p->sc, (ml_Str){ml_text_z(&joined), joined.n});
        nd->as.s.n = joined.n;
        ml_text_free(&joined);
        return nd;
    }
    case ML_TOK_KEYWORD:
        if (t->op == ML_KW_TRUE || t->op == ML_KW_FALSE || t->op == ML_KW_NONE) {
            p->k++;
            nd = ml_syn_node(p, ML_N_CONST, t->at, 0);
            nd->op = t->op;
            return nd;
        }
        if (t->op == ML_KW_YIELD || t->op == ML_KW_AWAIT || t->op == ML_KW_ASYNC) {
            ml_syn_unsupported(p, t->at,
                               ml_format(p->rep->cx, "`%s` is", ml_tok_op_text(t->op)));
            return ml_syn_bad(p);
        }
        break;
    case ML_TOK_OP:
        if (t->op == ML_OPR_LPAREN || t->op == ML_OPR_LBRACKET) {
            bool paren = t->op == ML_OPR_LPAREN;

            p->k++;
            elements(p, paren ? ML_OPR_RPAREN : ML_OPR_RBRACKET, &v, &comma);
            if (v.n == 1 && v.v[0]->kind == ML_N_COMP) {
                v.v[0]->at = ml_syn_so_far(p, t->at);
                return v.v[0];
            }
            if (paren && v.n == 1 && !comma && v.v[0]->kind != ML_N_STAR) {
                if (!p->failed)
                    v.v[0]->at = ml_syn_so_far(p, t->at);
                return v.v[0];
            }
            nd = ml_syn_node(p, paren ? ML_N_TUPLE : ML_N_LIST, ml_syn_so_far(p, t->at), 0);
            ml_syn_keep(p, nd, &v);
            ml_syn_measure(p, nd);
            return nd;
        }
        if (t->op == ML_OPR_LBRACE) {
            p->k++;
            nd = dict(p, t->at);
            ml_syn_measure(p, nd);
            return nd;
        }
        if (t->op == ML_OPR_ELLIPSIS) {
            ml_syn_unsupported(p, t->at, "`...` is");
            return ml_syn_bad(p);
        }
        break;
    case ML_TOK_EOF:
    case ML_TOK_NEWLINE:
    case ML_TOK_INDENT:
    case ML_TOK_DEDENT:
    case ML_TOK_ERROR: break;
    }
    ml_syn_expected(p, "an expression");
    return ml_syn_bad(p);
}

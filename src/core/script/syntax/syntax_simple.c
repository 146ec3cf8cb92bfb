/*
 * syntax_simple - statements on one line: assignments, imports, return, assert,
 * expressions. Source: script 3.
 */
#include "moonloop/core/script/syntax/ast.h"

static uint8_t aug_op(const ml_Tok *t)
{
    if (t->kind != ML_TOK_OP)
        return 0;
    switch ((unsigned)t->op) {
    case ML_OPR_ADD_EQ: return ML_OPR_ADD;
    case ML_OPR_SUB_EQ: return ML_OPR_SUB;
    case ML_OPR_MUL_EQ: return ML_OPR_MUL;
    case ML_OPR_DIV_EQ: return ML_OPR_DIV;
    case ML_OPR_FLOORDIV_EQ: return ML_OPR_FLOORDIV;
    case ML_OPR_MOD_EQ: return ML_OPR_MOD;
    case ML_OPR_AND_EQ: return ML_OPR_BITAND;
    case ML_OPR_OR_EQ: return ML_OPR_BITOR;
    case ML_OPR_XOR_EQ: return ML_OPR_BITXOR;
    case ML_OPR_SHL_EQ: return ML_OPR_SHL;
    case ML_OPR_SHR_EQ: return ML_OPR_SHR;
    case ML_OPR_POW_EQ: return ML_OPR_POW;
    case ML_OPR_AT_EQ: return ML_OPR_AT;
    default: return 0;
    }
}

static ml_Node *dotted(ml_Parser *p)
{
    ml_Node *nd, *a;

    if (ml_syn_peek(p)->kind != ML_TOK_NAME) {
        ml_syn_expected(p, "a module name");
        return ml_syn_bad(p);
    }
    nd = ml_syn_node(p, ML_N_NAME, ml_syn_peek(p)->at, 0);
    nd->as.sym = ml_syn_peek(p)->as.sym;
    p->k++;
    while (ml_syn_take(p, ML_OPR_DOT)) {
        if (ml_syn_peek(p)->kind != ML_TOK_NAME) {
            ml_syn_expected(p, "a name after `.`");
            return nd;
        }
        a = ml_syn_node(p, ML_N_ATTR, ml_place_join(nd->at, ml_syn_peek(p)->at), 1);
        a->kids[0] = nd;
        a->as.sym = ml_syn_peek(p)->as.sym;
        p->k++;
        nd = a;
    }
    return nd;
}

/* kids[0]: the module of `from`, or NULL; then pairs are in keys: kids[1 + k] what, keys[k]
 * the name it gets. */
static ml_Node *import(ml_Parser *p)
{
    ml_Place at = ml_syn_peek(p)->at;
    ml_NodeVec v = {0};
    ML_VEC(ml_Sym *) names = {0};
    ml_Node *nd = ml_syn_node(p, ML_N_IMPORT, at, 0);
    bool from = ml_syn_take(p, ML_KW_FROM), paren = false;

    if (from) {
        while (ml_syn_take(p, ML_OPR_DOT)) /* relative imports name nothing that we know */
            ;
        ml_push(p->sc, &v, ml_syn_at(p, ML_KW_IMPORT) ? NULL : dotted(p));
    } else {
        ml_push(p->sc, &v, NULL);
    }
    if (!ml_syn_take(p, ML_KW_IMPORT))
        ml_syn_expected(p, "`import`");
    if (from && ml_syn_take(p, ML_OPR_MUL)) {
        nd->at = ml_syn_so_far(p, at);
        ml_syn_keep(p, nd, &v);
        return nd;
    }
    if (from)
        paren = ml_syn_take(p, ML_OPR_LPAREN);
    while (!p->failed) {
        ml_Node *what = dotted(p), *root = what;

        if (p->failed)
            break;
        while (root->kind == ML_N_ATTR)
            root = root->kids[0];
        ml_push(p->sc, &v, what);
        if (ml_syn_take(p, ML_KW_AS)) {
            if (ml_syn_peek(p)->kind != ML_TOK_NAME) {
                ml_syn_expected(p, "a name after `as`");
                break;
            }
            ml_push(p->sc, &names, ml_syn_peek(p)->as.sym);
            p->k++;
        } else {
            if (!from)
                v.v[v.n - 1] = root; /* import a.b binds a */
            ml_push(p->sc, &names, root->as.sym);
        }
        if (!ml_syn_take(p, ML_OPR_COMMA) || (paren && ml_syn_at(p, ML_OPR_RPAREN)))
            break;
    }
    if (paren && !ml_syn_take(p, ML_OPR_RPAREN))
        ml_syn_expected(p, "`)`");
    ml_syn_keep(p, nd, &v);
    nd->keys = names.v;
    nd->n_keys = (uint32_t)names.n;
    nd->at = ml_syn_so_far(p, at);
    return nd;
}

ml_Node *ml_syn_simple(ml_Parser *p)
{
    const ml_Tok *t = ml_syn_peek(p);
    ml_Node *nd, *first;
    ml_NodeVec v = {0};

    if (t->kind == ML_TOK_KEYWORD) {
        switch ((unsigned)t->op) {
        case ML_KW_PASS: return ml_syn_keyword(p, ML_N_PASS, 0);
        case ML_KW_BREAK: return ml_syn_keyword(p, ML_N_BREAK, 0);
        case ML_KW_CONTINUE: return ml_syn_keyword(p, ML_N_CONTINUE, 0);
        case ML_KW_RETURN:
            nd = ml_syn_keyword(p, ML_N_RETURN, 1);
            if (ml_syn_peek(p)->kind != ML_TOK_NEWLINE &&
                ml_syn_peek(p)->kind != ML_TOK_EOF && !ml_syn_at(p, ML_OPR_SEMICOLON))
                nd->kids[0] = ml_syn_expr_list(p);
            nd->at = ml_syn_so_far(p, t->at);
            return nd;
        case ML_KW_ASSERT:
            nd = ml_syn_keyword(p, ML_N_ASSERT, 2);
            nd->kids[0] = ml_syn_expr(p);
            if (ml_syn_take(p, ML_OPR_COMMA))
                nd->kids[1] = ml_syn_expr(p);
            nd->at = ml_syn_so_far(p, t->at);
            if (!p->failed && !nd->kids[1]) {
                ml_report(p->rep, ML_E_E204, nd->at, "assert needs a message");
                p->failed = true;
            }
            return nd;
        case ML_KW_IMPORT:
        case ML_KW_FROM: return import(p);
        case ML_KW_DEL:
        case ML_KW_GLOBAL:
        case ML_KW_NONLOCAL:
        case ML_KW_RAISE:
        case ML_KW_TRY:
        case ML_KW_EXCEPT:
        case ML_KW_FINALLY:
        case ML_KW_YIELD:
        case ML_KW_ASYNC:
        case ML_KW_AWAIT:
            ml_syn_unsupported(p, t->at,
                               ml_format(p->rep->cx, "`%s` is", ml_tok_op_text(t->op)));
            return ml_syn_bad(p);
        default: break;
        }
    }
    first = ml_syn_expr_list(p);
    if (p->failed)
        return first;
    if (ml_syn_at(p, ML_OPR_ASSIGN)) {
        ml_push(p->sc, &v, first);
        while (!p->failed && ml_syn_take(p, ML_OPR_ASSIGN))
            ml_push(p->sc, &v, ml_syn_expr_list(p));
        nd = ml_syn_node(p, ML_N_ASSIGN, ml_syn_so_far(p, t->at), 0);
        ml_syn_keep(p, nd, &v);
        return nd;
    }
    if (ml_syn_take(p, ML_OPR_COLON)) {
        nd = ml_syn_node(p, ML_N_ANN, t->at, 3);
        nd->kids[0] = first;
        nd->kids[1] = ml_syn_expr(p);
        if (ml_syn_take(p, ML_OPR_ASSIGN))
            nd->kids[2] = ml_syn_expr_list(p);
        nd->at = ml_syn_so_far(p, t->at);
        return nd;
    }
    if (aug_op(ml_syn_peek(p))) {
        nd = ml_syn_node(p, ML_N_AUG, t->at, 2);
        nd->op = aug_op(ml_syn_peek(p));
        p->k++;
        nd->kids[0] = first;
        nd->kids[1] = ml_syn_expr_list(p);
        nd->at = ml_syn_so_far(p, t->at);
        return nd;
    }
    nd = ml_syn_node(p, ML_N_EXPR_STMT, first->at, 1);
    nd->kids[0] = first;
    return nd;
}

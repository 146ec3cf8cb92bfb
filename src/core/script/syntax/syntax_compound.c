/*
 * syntax_compound - statements that hold a block: loops, conditions, `with`, definitions.
 * Source: script 3.
 */
#include "moonloop/core/script/syntax/ast.h"

/* The rest of a loop, from the end of its header on. */
static ml_Node *loop_body(ml_Parser *p, ml_Node *nd)
{
    nd->at = ml_syn_so_far(p, nd->name_at);
    nd->body = ml_syn_block(p, "the loop header");
    if (!p->failed && ml_syn_at(p, ML_KW_ELSE)) {
        ml_syn_unsupported(p, ml_syn_peek(p)->at, "`else` of a loop is");
        ml_syn_skip(p);
        p->failed = false;
    }
    return nd;
}

ml_Node *ml_syn_for(ml_Parser *p)
{
    ml_Node *nd = ml_syn_keyword(p, ML_N_FOR, 2);

    nd->name_at = nd->at;
    nd->kids[0] = ml_syn_target_list(p);
    if (!p->failed && !ml_syn_take(p, ML_KW_IN))
        ml_syn_expected(p, "`in`");
    nd->kids[1] = ml_syn_expr_list(p);
    return loop_body(p, nd);
}

ml_Node *ml_syn_while(ml_Parser *p)
{
    ml_Node *nd = ml_syn_keyword(p, ML_N_WHILE, 1);

    nd->name_at = nd->at;
    nd->kids[0] = ml_syn_expr(p);
    return loop_body(p, nd);
}

/* A chain of elif is read in a loop: no recursion for a long one, but a nested tree, whose
 * length counts as nesting. */
ml_Node *ml_syn_if(ml_Parser *p)
{
    ml_Node *top = NULL, *last = NULL;
    size_t arms = 0;

    for (;;) {
        ml_Place at = ml_syn_peek(p)->at;
        ml_Node *nd = ml_syn_keyword(p, ML_N_IF, 1);
        ml_NodeVec v = {0};

        nd->name_at = at;
        nd->kids[0] = ml_syn_expr(p);
        nd->at = ml_syn_so_far(p, at);
        nd->body = ml_syn_block(p, "the condition");
        if (last) {
            ml_push(p->sc, &v, nd);
            last->other = ml_syn_suite(p, &v, at);
        } else {
            top = nd;
        }
        last = nd;
        if (p->failed)
            return top;
        if (ml_syn_at(p, ML_KW_ELIF)) {
            if (++arms + p->blocks > ML_MAX_BLOCKS) {
                ml_report(p->rep, ML_E_E109, ml_syn_peek(p)->at,
                          "statements are nested deeper than %d", ML_MAX_BLOCKS);
                p->failed = true;
                return top;
            }
            continue;
        }
        if (ml_syn_take(p, ML_KW_ELSE))
            last->other = ml_syn_block(p, "`else`");
        return top;
    }
}

ml_Node *ml_syn_with(ml_Parser *p)
{
    ml_Place at = ml_syn_peek(p)->at;
    ml_Node *nd = ml_syn_keyword(p, ML_N_WITH, 0);
    ml_NodeVec v = {0};
    size_t save = p->k;
    bool paren = ml_syn_at(p, ML_OPR_LPAREN);

    /* with (a as x, b as y): only when the parenthesis holds an `as` */
    if (paren) {
        size_t depth = 0;
        bool as = false;

        for (size_t k = save;; k++) {
            const ml_Tok *t = &p->lx->toks[k];

            if (t->kind == ML_TOK_NEWLINE || t->kind == ML_TOK_EOF)
                break;
            if (t->kind == ML_TOK_OP &&
                (t->op == ML_OPR_LPAREN || t->op == ML_OPR_LBRACKET ||
                 t->op == ML_OPR_LBRACE))
                depth++;
            if (t->kind == ML_TOK_OP &&
                (t->op == ML_OPR_RPAREN || t->op == ML_OPR_RBRACKET ||
                 t->op == ML_OPR_RBRACE) &&
                --depth == 0)
                break;
            as |= depth == 1 && t->kind == ML_TOK_KEYWORD && t->op == ML_KW_AS;
        }
        paren = as;
        if (paren)
            p->k++;
    }
    do {
        if (paren && ml_syn_at(p, ML_OPR_RPAREN))
            break;
        ml_push(p->sc, &v, ml_syn_expr(p));
        ml_push(p->sc, &v, NULL);
        if (!p->failed && ml_syn_take(p, ML_KW_AS)) {
            ml_Node *t;

            if (ml_syn_at(p, ML_OPR_LPAREN) || ml_syn_at(p, ML_OPR_LBRACKET)) {
                t = ml_syn_expr(p);
            } else if (ml_syn_peek(p)->kind == ML_TOK_NAME) {
                t = ml_syn_node(p, ML_N_NAME, ml_syn_peek(p)->at, 0);
                t->as.sym = ml_syn_peek(p)->as.sym;
                p->k++;
            } else {
                ml_syn_expected(p, "a name after `as`");
                t = ml_syn_bad(p);
            }
            v.v[v.n - 1] = t;
        }
    } while (!p->failed && ml_syn_take(p, ML_OPR_COMMA));
    if (paren && !p->failed && !ml_syn_take(p, ML_OPR_RPAREN))
        ml_syn_expected(p, "`)`");
    nd->name_at = at;
    nd->at = ml_syn_so_far(p, at);
    ml_syn_keep(p, nd, &v);
    nd->body = ml_syn_block(p, "the `with` header");
    return nd;
}

static void params(ml_Parser *p, ml_Node *fn)
{
    ML_VEC(ml_ParamNode) v = {0};

    while (!p->failed && !ml_syn_at(p, ML_OPR_RPAREN)) {
        ml_ParamNode q = {0};

        q.at = ml_syn_peek(p)->at;
        if (ml_syn_take(p, ML_OPR_MUL))
            q.star = 1;
        else if (ml_syn_take(p, ML_OPR_POW))
            q.star = 2;
        else if (ml_syn_take(p, ML_OPR_DIV))
            q.star = 3;
        if (q.star < 3 && ml_syn_peek(p)->kind == ML_TOK_NAME) {
            q.sym = ml_syn_peek(p)->as.sym;
            q.at = ml_syn_peek(p)->at;
            p->k++;
        } else if (q.star == 1) {
            q.star = 3;
        } else if (q.star == 0) {
            ml_syn_expected(p, "a parameter name");
        }
        if (ml_syn_take(p, ML_OPR_COLON))
            q.ann = ml_syn_expr(p);
        if (ml_syn_take(p, ML_OPR_ASSIGN))
            q.def = ml_syn_expr(p);
        ml_push(p->sc, &v, q);
        if (!ml_syn_take(p, ML_OPR_COMMA))
            break;
    }
    if (!p->failed && !ml_syn_take(p, ML_OPR_RPAREN))
        ml_syn_expected(p, "`,` or `)`");
    fn->as.params.v = v.v;
    fn->as.params.n = v.n;
}

/* def f[n, m](...): names of symbolic dimensions; a bound behind `:` is passed over. */
static void type_params(ml_Parser *p, ml_Node *fn)
{
    ML_VEC(ml_Sym *) names = {0};
    ML_VEC(ml_Place) at = {0};

    while (!p->failed && !ml_syn_at(p, ML_OPR_RBRACKET)) {
        const ml_Tok *t = ml_syn_peek(p);

        if (t->kind != ML_TOK_NAME) {
            ml_syn_expected(p, "the name of a type parameter");
            return;
        }
        p->k++;
        ml_push(p->sc, &names, t->as.sym);
        ml_push(p->sc, &at, t->at);
        if (ml_syn_take(p, ML_OPR_COLON))
            ml_syn_expr(p);
        if (!ml_syn_take(p, ML_OPR_COMMA))
            break;
    }
    if (!p->failed && !ml_syn_take(p, ML_OPR_RBRACKET))
        ml_syn_expected(p, "`,` or `]`");
    if (!p->failed && names.n == 0)
        ml_syn_expected(p, "the name of a type parameter");
    fn->keys = names.v;
    fn->key_at = at.v;
    fn->n_keys = (uint32_t)names.n;
}

ml_Node *ml_syn_definition(ml_Parser *p)
{
    size_t first = p->k;
    ml_Place at = ml_syn_peek(p)->at;
    ml_NodeVec decorators = {0};
    ml_Node *nd;

    while (!p->failed && ml_syn_take(p, ML_OPR_AT)) {
        ml_push(p->sc, &decorators, ml_syn_expr(p));
        if (!p->failed && ml_syn_peek(p)->kind != ML_TOK_NEWLINE)
            ml_syn_expected(p, "the end of the line");
        while (ml_syn_peek(p)->kind == ML_TOK_NEWLINE)
            p->k++;
    }
    if (p->failed)
        return ml_syn_bad(p);
    if (ml_syn_at(p, ML_KW_ASYNC)) {
        ml_syn_unsupported(p, ml_syn_peek(p)->at, "`async` is");
        return ml_syn_bad(p);
    }
    if (!ml_syn_at(p, ML_KW_DEF) && !ml_syn_at(p, ML_KW_CLASS)) {
        ml_syn_expected(p, "`def` or `class` after a decorator");
        return ml_syn_bad(p);
    }
    nd = ml_syn_node(p, ml_syn_at(p, ML_KW_DEF) ? ML_N_FUNC : ML_N_CLASS, at, 0);
    ml_syn_keep(p, nd, &decorators);
    p->k++;
    if (ml_syn_peek(p)->kind != ML_TOK_NAME) {
        ml_syn_expected(p, "a name");
        return ml_syn_bad(p);
    }
    nd->sym = ml_syn_peek(p)->as.sym;
    nd->name_at = ml_syn_peek(p)->at;
    p->k++;
    if (nd->kind == ML_N_CLASS) {
        if (ml_syn_take(p, ML_OPR_LPAREN)) {
            while (!p->failed && !ml_syn_at(p, ML_OPR_RPAREN)) {
                ml_syn_expr(p);
                if (!ml_syn_take(p, ML_OPR_COMMA))
                    break;
            }
            if (!p->failed && !ml_syn_take(p, ML_OPR_RPAREN))
                ml_syn_expected(p, "`)`");
        }
    } else {
        if (ml_syn_take(p, ML_OPR_LBRACKET))
            type_params(p, nd);
        if (!p->failed && !ml_syn_take(p, ML_OPR_LPAREN))
            ml_syn_expected(p, "`(`");
        if (!p->failed)
            params(p, nd);
        if (!p->failed && ml_syn_take(p, ML_OPR_ARROW))
            nd->ret = ml_syn_expr(p);
    }
    nd->tok = (uint32_t)first;
    nd->body = ml_syn_block(p, nd->kind == ML_N_CLASS ? "the class header"
                                                      : "the function header");
    nd->tok_end = (uint32_t)p->k;
    return p->failed ? ml_syn_bad(p) : nd;
}

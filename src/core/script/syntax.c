/*
 * syntax - statements of the grammar, with recovery at the next statement. Source:
 * script 3.
 *
 * A statement that fails has been reported; its rest and the block below it are passed over
 * and the next statement of the same block is read.
 */
#include "core/script/ast.h"

static ml_Node *statement(ml_Parser *p);

static const ml_Tok *tok(const ml_Parser *p)
{
    return ml_syn_peek(p);
}

/* Passes over the rest of the logical line and the indented block below it. */
static void skip_statement(ml_Parser *p)
{
    size_t depth = 0;

    while (tok(p)->kind != ML_TOK_NEWLINE && tok(p)->kind != ML_TOK_EOF &&
           tok(p)->kind != ML_TOK_DEDENT)
        p->k++;
    if (tok(p)->kind == ML_TOK_NEWLINE)
        p->k++;
    if (tok(p)->kind != ML_TOK_INDENT)
        return;
    do {
        if (tok(p)->kind == ML_TOK_INDENT)
            depth++;
        else if (tok(p)->kind == ML_TOK_DEDENT)
            depth--;
        else if (tok(p)->kind == ML_TOK_EOF)
            return;
        p->k++;
    } while (depth > 0);
}

static ml_Node *suite_of(ml_Parser *p, ml_NodeVec *v, ml_Place at)
{
    ml_Node *nd = ml_syn_node(p, ML_N_SUITE, at, 0);

    ml_syn_keep(p, nd, v);
    return nd;
}

static ml_Place line_end(const ml_Parser *p)
{
    const ml_Tok *t = tok(p);

    if (t->kind == ML_TOK_NEWLINE || p->k == 0)
        return t->at;
    return t->at;
}

static ml_Node *simple(ml_Parser *p);

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

static void simple_line(ml_Parser *p, ml_NodeVec *out)
{
    for (;;) {
        size_t from = p->k;
        ml_Node *nd = simple(p);

        if (p->failed)
            nd = failed_statement(p, from);
        ml_push(p->sc, out, nd);
        if (p->failed)
            break;
        if (!ml_syn_take(p, ML_OPR_SEMICOLON) || tok(p)->kind == ML_TOK_NEWLINE)
            break;
    }
    if (!p->failed && tok(p)->kind != ML_TOK_NEWLINE && tok(p)->kind != ML_TOK_EOF)
        ml_syn_expected(p, "the end of the line");
    if (p->failed) {
        skip_statement(p);
        p->failed = false;
    } else if (tok(p)->kind == ML_TOK_NEWLINE) {
        p->k++;
        if (tok(p)->kind == ML_TOK_INDENT) {
            ml_report(p->rep, ML_E_E107, tok(p)->at, "unexpected indentation");
            p->k++;
            for (size_t depth = 1; depth > 0 && tok(p)->kind != ML_TOK_EOF; p->k++)
                depth += tok(p)->kind == ML_TOK_INDENT   ? 1
                         : tok(p)->kind == ML_TOK_DEDENT ? (size_t)-1
                                                         : 0;
        }
    }
}

/* ':' and the block behind it. `what` names the header for messages. */
static ml_Node *block(ml_Parser *p, const char *what)
{
    ml_NodeVec v = {0};
    ml_Place at = tok(p)->at, end;

    if (p->failed)
        return NULL;
    if (!ml_syn_take(p, ML_OPR_COLON)) {
        if (tok(p)->kind != ML_TOK_ERROR)
            ml_report(p->rep, ML_E_E106, line_end(p), "expected `:` after %s", what);
        p->failed = true;
        return NULL;
    }
    if (tok(p)->kind != ML_TOK_NEWLINE) {
        simple_line(p, &v);
        return suite_of(p, &v, at);
    }
    end = tok(p)->at;
    p->k++;
    if (tok(p)->kind != ML_TOK_INDENT) {
        ml_report(p->rep, ML_E_E107, end, "expected an indented block after %s", what);
        return suite_of(p, &v, at);
    }
    if (p->blocks >= ML_MAX_BLOCKS) {
        ml_report(p->rep, ML_E_E109, at, "statements are nested deeper than %d",
                  ML_MAX_BLOCKS);
        p->failed = true;
        return NULL;
    }
    p->k++;
    p->blocks++;
    while (tok(p)->kind != ML_TOK_DEDENT && tok(p)->kind != ML_TOK_EOF) {
        const ml_Tok *t = tok(p);

        if (t->kind == ML_TOK_INDENT) {
            ml_report(p->rep, ML_E_E107, t->at, "unexpected indentation");
            p->k++;
            for (size_t depth = 1; depth > 0 && tok(p)->kind != ML_TOK_EOF; p->k++)
                depth += tok(p)->kind == ML_TOK_INDENT   ? 1
                         : tok(p)->kind == ML_TOK_DEDENT ? (size_t)-1
                                                         : 0;
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
    if (tok(p)->kind == ML_TOK_DEDENT)
        p->k++;
    return suite_of(p, &v, at);
}

static ml_Place so_far(const ml_Parser *p, ml_Place from)
{
    return ml_place_join(from, p->lx->toks[p->k ? p->k - 1 : 0].at);
}

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

    if (tok(p)->kind != ML_TOK_NAME) {
        ml_syn_expected(p, "a module name");
        return ml_syn_bad(p);
    }
    nd = ml_syn_node(p, ML_N_NAME, tok(p)->at, 0);
    nd->as.sym = tok(p)->as.sym;
    p->k++;
    while (ml_syn_take(p, ML_OPR_DOT)) {
        if (tok(p)->kind != ML_TOK_NAME) {
            ml_syn_expected(p, "a name after `.`");
            return nd;
        }
        a = ml_syn_node(p, ML_N_ATTR, ml_place_join(nd->at, tok(p)->at), 1);
        a->kids[0] = nd;
        a->as.sym = tok(p)->as.sym;
        p->k++;
        nd = a;
    }
    return nd;
}

/* kids[0]: the module of `from`, or NULL; then pairs are in keys: kids[1 + k] what, keys[k]
 * the name it gets. */
static ml_Node *import(ml_Parser *p)
{
    ml_Place at = tok(p)->at;
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
        nd->at = so_far(p, at);
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
            if (tok(p)->kind != ML_TOK_NAME) {
                ml_syn_expected(p, "a name after `as`");
                break;
            }
            ml_push(p->sc, &names, tok(p)->as.sym);
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
    nd->at = so_far(p, at);
    return nd;
}

static ml_Node *keyword_stmt(ml_Parser *p, ml_NodeKind kind, size_t kids)
{
    ml_Node *nd = ml_syn_node(p, kind, tok(p)->at, kids);

    p->k++;
    return nd;
}

static ml_Node *simple(ml_Parser *p)
{
    const ml_Tok *t = tok(p);
    ml_Node *nd, *first;
    ml_NodeVec v = {0};

    if (t->kind == ML_TOK_KEYWORD) {
        switch ((unsigned)t->op) {
        case ML_KW_PASS: return keyword_stmt(p, ML_N_PASS, 0);
        case ML_KW_BREAK: return keyword_stmt(p, ML_N_BREAK, 0);
        case ML_KW_CONTINUE: return keyword_stmt(p, ML_N_CONTINUE, 0);
        case ML_KW_RETURN:
            nd = keyword_stmt(p, ML_N_RETURN, 1);
            if (tok(p)->kind != ML_TOK_NEWLINE && tok(p)->kind != ML_TOK_EOF &&
                !ml_syn_at(p, ML_OPR_SEMICOLON))
                nd->kids[0] = ml_syn_expr_list(p);
            nd->at = so_far(p, t->at);
            return nd;
        case ML_KW_ASSERT:
            nd = keyword_stmt(p, ML_N_ASSERT, 2);
            nd->kids[0] = ml_syn_expr(p);
            if (ml_syn_take(p, ML_OPR_COMMA))
                nd->kids[1] = ml_syn_expr(p);
            nd->at = so_far(p, t->at);
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
        nd = ml_syn_node(p, ML_N_ASSIGN, so_far(p, t->at), 0);
        ml_syn_keep(p, nd, &v);
        return nd;
    }
    if (ml_syn_take(p, ML_OPR_COLON)) {
        nd = ml_syn_node(p, ML_N_ANN, t->at, 3);
        nd->kids[0] = first;
        nd->kids[1] = ml_syn_expr(p);
        if (ml_syn_take(p, ML_OPR_ASSIGN))
            nd->kids[2] = ml_syn_expr_list(p);
        nd->at = so_far(p, t->at);
        return nd;
    }
    if (aug_op(tok(p))) {
        nd = ml_syn_node(p, ML_N_AUG, t->at, 2);
        nd->op = aug_op(tok(p));
        p->k++;
        nd->kids[0] = first;
        nd->kids[1] = ml_syn_expr_list(p);
        nd->at = so_far(p, t->at);
        return nd;
    }
    nd = ml_syn_node(p, ML_N_EXPR_STMT, first->at, 1);
    nd->kids[0] = first;
    return nd;
}

static ml_Node *for_stmt(ml_Parser *p)
{
    ml_Place at = tok(p)->at;
    ml_Node *nd = keyword_stmt(p, ML_N_FOR, 2);

    nd->name_at = at;
    nd->kids[0] = ml_syn_target_list(p);
    if (!p->failed && !ml_syn_take(p, ML_KW_IN))
        ml_syn_expected(p, "`in`");
    nd->kids[1] = ml_syn_expr_list(p);
    nd->at = so_far(p, at);
    nd->body = block(p, "the loop header");
    if (!p->failed && ml_syn_at(p, ML_KW_ELSE)) {
        ml_syn_unsupported(p, tok(p)->at, "`else` of a loop is");
        skip_statement(p);
        p->failed = false;
    }
    return nd;
}

static ml_Node *while_stmt(ml_Parser *p)
{
    ml_Place at = tok(p)->at;
    ml_Node *nd = keyword_stmt(p, ML_N_WHILE, 1);

    nd->name_at = at;
    nd->kids[0] = ml_syn_expr(p);
    nd->at = so_far(p, at);
    nd->body = block(p, "the loop header");
    if (!p->failed && ml_syn_at(p, ML_KW_ELSE)) {
        ml_syn_unsupported(p, tok(p)->at, "`else` of a loop is");
        skip_statement(p);
        p->failed = false;
    }
    return nd;
}

/* A chain of elif is read in a loop: no recursion for a long one, but a nested tree, whose
 * length counts as nesting. */
static ml_Node *if_stmt(ml_Parser *p)
{
    ml_Node *top = NULL, *last = NULL;
    size_t arms = 0;

    for (;;) {
        ml_Place at = tok(p)->at;
        ml_Node *nd = keyword_stmt(p, ML_N_IF, 1);
        ml_NodeVec v = {0};

        nd->name_at = at;
        nd->kids[0] = ml_syn_expr(p);
        nd->at = so_far(p, at);
        nd->body = block(p, "the condition");
        if (last) {
            ml_push(p->sc, &v, nd);
            last->other = suite_of(p, &v, at);
        } else {
            top = nd;
        }
        last = nd;
        if (p->failed)
            return top;
        if (ml_syn_at(p, ML_KW_ELIF)) {
            if (++arms + p->blocks > ML_MAX_BLOCKS) {
                ml_report(p->rep, ML_E_E109, tok(p)->at,
                          "statements are nested deeper than %d", ML_MAX_BLOCKS);
                p->failed = true;
                return top;
            }
            continue;
        }
        if (ml_syn_take(p, ML_KW_ELSE))
            last->other = block(p, "`else`");
        return top;
    }
}

static ml_Node *with_stmt(ml_Parser *p)
{
    ml_Place at = tok(p)->at;
    ml_Node *nd = keyword_stmt(p, ML_N_WITH, 0);
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
            } else if (tok(p)->kind == ML_TOK_NAME) {
                t = ml_syn_node(p, ML_N_NAME, tok(p)->at, 0);
                t->as.sym = tok(p)->as.sym;
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
    nd->at = so_far(p, at);
    ml_syn_keep(p, nd, &v);
    nd->body = block(p, "the `with` header");
    return nd;
}

static void params(ml_Parser *p, ml_Node *fn)
{
    ML_VEC(ml_ParamNode) v = {0};

    while (!p->failed && !ml_syn_at(p, ML_OPR_RPAREN)) {
        ml_ParamNode q = {0};

        q.at = tok(p)->at;
        if (ml_syn_take(p, ML_OPR_MUL))
            q.star = 1;
        else if (ml_syn_take(p, ML_OPR_POW))
            q.star = 2;
        else if (ml_syn_take(p, ML_OPR_DIV))
            q.star = 3;
        if (q.star < 3 && tok(p)->kind == ML_TOK_NAME) {
            q.sym = tok(p)->as.sym;
            q.at = tok(p)->at;
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

static ml_Node *definition(ml_Parser *p)
{
    size_t first = p->k;
    ml_Place at = tok(p)->at;
    ml_NodeVec decorators = {0};
    ml_Node *nd;

    while (!p->failed && ml_syn_take(p, ML_OPR_AT)) {
        ml_push(p->sc, &decorators, ml_syn_expr(p));
        if (!p->failed && tok(p)->kind != ML_TOK_NEWLINE)
            ml_syn_expected(p, "the end of the line");
        while (tok(p)->kind == ML_TOK_NEWLINE)
            p->k++;
    }
    if (p->failed)
        return ml_syn_bad(p);
    if (ml_syn_at(p, ML_KW_ASYNC)) {
        ml_syn_unsupported(p, tok(p)->at, "`async` is");
        return ml_syn_bad(p);
    }
    if (!ml_syn_at(p, ML_KW_DEF) && !ml_syn_at(p, ML_KW_CLASS)) {
        ml_syn_expected(p, "`def` or `class` after a decorator");
        return ml_syn_bad(p);
    }
    nd = ml_syn_node(p, ml_syn_at(p, ML_KW_DEF) ? ML_N_FUNC : ML_N_CLASS, at, 0);
    ml_syn_keep(p, nd, &decorators);
    p->k++;
    if (tok(p)->kind != ML_TOK_NAME) {
        ml_syn_expected(p, "a name");
        return ml_syn_bad(p);
    }
    nd->sym = tok(p)->as.sym;
    nd->name_at = tok(p)->at;
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
        if (ml_syn_at(p, ML_OPR_LBRACKET)) {
            ml_syn_unsupported(p, tok(p)->at, "type parameters of a function are");
            return ml_syn_bad(p);
        }
        if (!ml_syn_take(p, ML_OPR_LPAREN))
            ml_syn_expected(p, "`(`");
        if (!p->failed)
            params(p, nd);
        if (!p->failed && ml_syn_take(p, ML_OPR_ARROW))
            nd->ret = ml_syn_expr(p);
    }
    nd->tok = (uint32_t)first;
    nd->body =
        block(p, nd->kind == ML_N_CLASS ? "the class header" : "the function header");
    nd->tok_end = (uint32_t)p->k;
    return p->failed ? ml_syn_bad(p) : nd;
}

static ml_Node *statement(ml_Parser *p)
{
    ml_NodeVec v = {0};
    const ml_Tok *t = tok(p);
    ml_Node *nd = NULL;

    p->failed = false;
    p->depth = 0;
    if (t->kind == ML_TOK_KEYWORD) {
        switch ((unsigned)t->op) {
        case ML_KW_FOR: nd = for_stmt(p); break;
        case ML_KW_WHILE: nd = while_stmt(p); break;
        case ML_KW_IF: nd = if_stmt(p); break;
        case ML_KW_WITH: nd = with_stmt(p); break;
        case ML_KW_DEF:
        case ML_KW_CLASS: nd = definition(p); break;
        default: break;
        }
    } else if (ml_syn_at(p, ML_OPR_AT)) {
        nd = definition(p);
    } else if (t->kind == ML_TOK_NAME && ml_str_eq(t->as.sym->name, ml_str("match")) &&
               (t[1].kind == ML_TOK_NAME || t[1].kind == ML_TOK_INT)) {
        ml_syn_unsupported(p, t->at, "`match` is");
        nd = ml_syn_bad(p);
    }
    if (!nd) {
        simple_line(p, &v);
        return suite_of(p, &v, t->at);
    }
    if (p->failed) {
        skip_statement(p);
        p->failed = false;
        return ml_syn_node(p, ML_N_BAD, t->at, 0);
    }
    return nd;
}

/* ---- the top level */
static bool has_decorated_function(const ml_Parser *p, size_t from, size_t to)
{
    for (size_t k = from; k + 2 < to; k++)
        if (p->lx->toks[k].kind == ML_TOK_OP && p->lx->toks[k].op == ML_OPR_AT)
            for (size_t j = k + 1; j < to && p->lx->toks[j].kind != ML_TOK_NEWLINE; j++)
                if (p->lx->toks[j].kind == ML_TOK_NAME &&
                    ml_str_eq(p->lx->toks[j].as.sym->name, ml_str("prim_func")))
                    return true;
    return false;
}

static void skip_other(ml_Parser *p, ml_Place at)
{
    size_t from = p->k;

    skip_statement(p);
    if (has_decorated_function(p, from, p->k))
        ml_report(
            p->rep, ML_E_W103, at,
            "depends on a Python closure; pass its constants and parse it separately");
    else
        ml_report(p->rep, ML_E_W103, at, "skipped: not part of a script");
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

    while (tok(&p)->kind != ML_TOK_EOF && !ml_report_full(rep)) {
        const ml_Tok *t = tok(&p);
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
            skip_other(&p, t->at);
            continue;
        }
        if (!may_stand_at_top(t)) {
            ml_report(
                rep, ML_E_E108, t->at,
                "only imports, constants, modules and functions may stand at top level");
            p.failed = false;
            skip_statement(&p);
            continue;
        }
        nd = statement(&p);
        if (file_mode && t->kind == ML_TOK_NAME && rep->diags.n > n_diags) {
            ml_report_cut(rep, n_diags);
            p.k = at;
            skip_other(&p, t->at);
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

/* syntax_expr - expressions of the grammar by precedence climbing; what they are made of is
 * in syntax_atom.c. Source: script 3. */
#include "moonloop/core/script/syntax/ast.h"

const ml_Tok *ml_syn_peek(const ml_Parser *p)
{
    return &p->lx->toks[p->k];
}

bool ml_syn_at(const ml_Parser *p, ml_TokOp op)
{
    const ml_Tok *t = ml_syn_peek(p);

    return t->op == op && (t->kind == ML_TOK_OP || t->kind == ML_TOK_KEYWORD);
}

bool ml_syn_take(ml_Parser *p, ml_TokOp op)
{
    if (!ml_syn_at(p, op))
        return false;
    p->k++;
    return true;
}

static const char *describe(ml_Parser *p, const ml_Tok *t)
{
    switch ((ml_TokKind)t->kind) {
    case ML_TOK_EOF: return "the end of the text";
    case ML_TOK_NEWLINE: return "the end of the line";
    case ML_TOK_INDENT: return "an indented line";
    case ML_TOK_DEDENT: return "the end of the block";
    case ML_TOK_NAME:
    case ML_TOK_KEYWORD:
        return ml_format(p->rep->cx, "`%.*s`", (int)t->as.sym->name.n, t->as.sym->name.p);
    case ML_TOK_INT:
    case ML_TOK_FLOAT: return "a number";
    case ML_TOK_STRING: return "a string";
    case ML_TOK_OP: return ml_format(p->rep->cx, "`%s`", ml_tok_op_text(t->op));
    case ML_TOK_ERROR: return "an error";
    }
    return "";
}

void ml_syn_expected(ml_Parser *p, const char *what)
{
    const ml_Tok *t = ml_syn_peek(p);

    if (!p->failed && t->kind != ML_TOK_ERROR)
        ml_report(p->rep, ML_E_E100, t->at, "expected %s, found %s", what, describe(p, t));
    p->failed = true;
}

void ml_syn_unsupported(ml_Parser *p, ml_Place at, const char *what)
{
    if (!p->failed)
        ml_report(p->rep, ML_E_E108, at, "%s not supported in script functions", what);
    p->failed = true;
}

ml_Node *ml_syn_node(ml_Parser *p, ml_NodeKind kind, ml_Place at, size_t n_kids)
{
    ml_Node *nd = ML_NEW(p->sc, ml_Node);

    nd->kind = (uint8_t)kind;
    nd->at = at;
    nd->depth = 1;
    nd->n = (uint32_t)n_kids;
    nd->kids = n_kids ? ML_ARRAY(p->sc, ml_Node *, n_kids) : NULL;
    return nd;
}

ml_Node *ml_syn_bad(ml_Parser *p)
{
    p->failed = true;
    return ml_syn_node(p, ML_N_BAD, ml_syn_peek(p)->at, 0);
}

void ml_syn_keep(ml_Parser *p, ml_Node *nd, const ml_NodeVec *kids)
{
    (void)p;
    nd->kids = kids->v;
    nd->n = (uint32_t)kids->n;
}

void ml_syn_measure(ml_Parser *p, ml_Node *nd)
{
    unsigned d = 0;

    for (size_t k = 0; k < nd->n; k++)
        if (nd->kids[k] && nd->kids[k]->depth > d)
            d = nd->kids[k]->depth;
    if (d >= ML_MAX_EXPR_DEPTH) {
        if (!p->failed)
            ml_report(p->rep, ML_E_E109, nd->at, "the expression is deeper than %d",
                      ML_MAX_EXPR_DEPTH);
        p->failed = true;
        nd->n = 0;
        nd->kind = ML_N_BAD;
        d = 0;
    }
    nd->depth = (uint16_t)(d + 1);
}

/* Counts one level of recursion; false: too deep. */
static bool enter(ml_Parser *p)
{
    if (++p->depth <= ML_MAX_EXPR_DEPTH)
        return true;
    if (!p->failed)
        ml_report(p->rep, ML_E_E109, ml_syn_peek(p)->at, "the expression is deeper than %d",
                  ML_MAX_EXPR_DEPTH);
    p->failed = true;
    return false;
}

static ml_Node *call(ml_Parser *p, ml_Node *fn)
{
    ml_NodeVec v = {0};
    ML_VEC(ml_Sym *) keys = {0};
    ML_VEC(ml_Place) at = {0};
    bool keyed = false;
    ml_Node *nd;

    ml_push(p->sc, &v, fn);
    ml_push(p->sc, &keys, NULL);
    ml_push(p->sc, &at, fn->at);
    while (!p->failed && !ml_syn_at(p, ML_OPR_RPAREN)) {
        const ml_Tok *t = ml_syn_peek(p);
        ml_Sym *key = NULL;

        if (ml_syn_at(p, ML_OPR_POW)) {
            ml_syn_unsupported(p, t->at, "`**` arguments are");
            break;
        }
        if (t->kind == ML_TOK_NAME && t[1].kind == ML_TOK_OP && t[1].op == ML_OPR_ASSIGN) {
            key = t->as.sym;
            keyed = true;
            p->k += 2;
        } else if (keyed) {
            ml_syn_expected(p, "a keyword argument");
            break;
        }
        ml_Node *value = key ? ml_syn_expr(p) : ml_syn_starred(p);

        if (!key && v.n == 1)
            value = ml_syn_comprehension(p, value);
        ml_push(p->sc, &v, value);
        ml_push(p->sc, &keys, key);
        ml_push(p->sc, &at, t->at);
        if (p->failed ||
            !ml_syn_no_comprehension(p, "a comprehension among other arguments is"))
            break;
        if (!ml_syn_take(p, ML_OPR_COMMA))
            break;
    }
    if (!p->failed && !ml_syn_take(p, ML_OPR_RPAREN))
        ml_syn_expected(p, "`,` or `)`");
    nd = ml_syn_node(p, ML_N_CALL, ml_syn_so_far(p, fn->at), 0);
    ml_syn_keep(p, nd, &v);
    nd->keys = keys.v;
    nd->key_at = at.v;
    nd->n_keys = (uint32_t)keys.n;
    return nd;
}

static ml_Node *slice_or_expr(ml_Parser *p)
{
    ml_Place at = ml_syn_peek(p)->at;
    ml_Node *lo = NULL, *nd;

    if (!ml_syn_at(p, ML_OPR_COLON))
        lo = ml_syn_starred(p);
    if (p->failed || !ml_syn_at(p, ML_OPR_COLON))
        return lo ? lo : ml_syn_bad(p);
    nd = ml_syn_node(p, ML_N_SLICE, at, 3);
    nd->kids[0] = lo;
    for (size_t part = 1; part < 3 && ml_syn_take(p, ML_OPR_COLON); part++)
        if (!ml_syn_at(p, ML_OPR_COLON) && !ml_syn_at(p, ML_OPR_COMMA) &&
            !ml_syn_at(p, ML_OPR_RBRACKET))
            nd->kids[part] = ml_syn_expr(p);
    nd->at = ml_syn_so_far(p, at);
    ml_syn_measure(p, nd);
    return nd;
}

static ml_Node *subscript(ml_Parser *p, ml_Node *base)
{
    ml_NodeVec v = {0};
    ml_Node *nd;
    bool comma = false;

    ml_push(p->sc, &v, base);
    while (!p->failed && !ml_syn_at(p, ML_OPR_RBRACKET)) {
        ml_push(p->sc, &v, slice_or_expr(p));
        if (p->failed || !ml_syn_no_comprehension(p, "a comprehension in an index is"))
            break;
        if (!ml_syn_take(p, ML_OPR_COMMA))
            break;
        comma = true;
    }
    if (!p->failed && v.n == 1)
        ml_syn_expected(p, "an index");
    if (!p->failed && !ml_syn_take(p, ML_OPR_RBRACKET))
        ml_syn_expected(p, "`,` or `]`");
    nd = ml_syn_node(p, ML_N_SUB, ml_syn_so_far(p, base->at), 0);
    ml_syn_keep(p, nd, &v);
    nd->big = comma && v.n == 2;
    return nd;
}

static ml_Node *primary(ml_Parser *p)
{
    ml_Node *nd = ml_syn_atom(p);

    while (!p->failed) {
        if (ml_syn_take(p, ML_OPR_LPAREN)) {
            nd = call(p, nd);
        } else if (ml_syn_take(p, ML_OPR_LBRACKET)) {
            nd = subscript(p, nd);
        } else if (ml_syn_take(p, ML_OPR_DOT)) {
            const ml_Tok *t = ml_syn_peek(p);
            ml_Node *a;

            if (t->kind != ML_TOK_NAME) {
                ml_syn_expected(p, "a name after `.`");
                break;
            }
            p->k++;
            a = ml_syn_node(p, ML_N_ATTR, ml_place_join(nd->at, t->at), 1);
            a->kids[0] = nd;
            a->as.sym = t->as.sym;
            a->name_at = t->at;
            nd = a;
        } else {
            break;
        }
        ml_syn_measure(p, nd);
    }
    return nd;
}

/* Binding strength of binary operators; 0: none. Comparisons are 4. */
static int strength(const ml_Tok *t)
{
    if (t->kind == ML_TOK_KEYWORD)
        return t->op == ML_KW_OR                                              ? 1
               : t->op == ML_KW_AND                                           ? 2
               : t->op == ML_KW_IN || t->op == ML_KW_IS || t->op == ML_KW_NOT ? 4
                                                                              : 0;
    if (t->kind != ML_TOK_OP)
        return 0;
    switch ((unsigned)t->op) {
    case ML_OPR_LT:
    case ML_OPR_GT:
    case ML_OPR_LE:
    case ML_OPR_GE:
    case ML_OPR_EQ:
    case ML_OPR_NE: return 4;
    case ML_OPR_BITOR: return 5;
    case ML_OPR_BITXOR: return 6;
    case ML_OPR_BITAND: return 7;
    case ML_OPR_SHL:
    case ML_OPR_SHR: return 8;
    case ML_OPR_ADD:
    case ML_OPR_SUB: return 9;
    case ML_OPR_MUL:
    case ML_OPR_DIV:
    case ML_OPR_FLOORDIV:
    case ML_OPR_MOD:
    case ML_OPR_AT: return 10;
    default: return 0;
    }
}

static ml_Node *unary(ml_Parser *p)
{
    const ml_Tok *t = ml_syn_peek(p);
    ml_Node *nd, *base;

    if (ml_syn_at(p, ML_OPR_ADD) || ml_syn_at(p, ML_OPR_SUB) ||
        ml_syn_at(p, ML_OPR_BITNOT)) {
        if (!enter(p))
            return ml_syn_bad(p);
        p->k++;
        nd = ml_syn_node(p, ML_N_UNARY, t->at, 1);
        nd->op = t->op;
        nd->kids[0] = unary(p);
        nd->at = ml_place_join(t->at, nd->kids[0]->at);
        p->depth--;
        ml_syn_measure(p, nd);
        return nd;
    }
    base = primary(p);
    if (p->failed || !ml_syn_take(p, ML_OPR_POW))
        return base;
    if (!enter(p))
        return base;
    nd = ml_syn_node(p, ML_N_BIN, base->at, 2);
    nd->op = ML_OPR_POW;
    nd->kids[0] = base;
    nd->kids[1] = unary(p);
    nd->at = ml_place_join(base->at, nd->kids[1]->at);
    p->depth--;
    ml_syn_measure(p, nd);
    return nd;
}

static ml_Node *binary(ml_Parser *p, int least);

/* a < b <= c ... as one node. */
static ml_Node *comparison(ml_Parser *p, ml_Node *first)
{
    ml_NodeVec v = {0};
    ML_VEC(uint8_t) ops = {0};
    ml_Node *nd;

    ml_push(p->sc, &v, first);
    while (!p->failed && strength(ml_syn_peek(p)) == 4) {
        uint8_t op = ml_syn_peek(p)->op;

        if (op == ML_KW_NOT && !(p->lx->toks[p->k + 1].kind == ML_TOK_KEYWORD &&
                                 p->lx->toks[p->k + 1].op == ML_KW_IN))
            break;
        p->k++;
        if (op == ML_KW_NOT)
            p->k++;
        else if (op == ML_KW_IS && ml_syn_take(p, ML_KW_NOT))
            op = ML_OPR_NE; /* on compile-time values `is not` is `!=` */
        ml_push(p->sc, &ops, op);
        ml_push(p->sc, &v, binary(p, 5));
    }
    if (v.n == 1) {
        ml_syn_expected(p, "the end of the expression");
        return first;
    }
    nd = ml_syn_node(p, ML_N_CMP, ml_place_join(first->at, v.v[v.n - 1]->at), 0);
    ml_syn_keep(p, nd, &v);
    nd->as.ops = ops.v;
    return nd;
}

static ml_Node *binary(ml_Parser *p, int least)
{
    ml_Node *left;

    if (least <= 3 && ml_syn_at(p, ML_KW_NOT)) {
        ml_Place at = ml_syn_peek(p)->at;

        if (!enter(p))
            return ml_syn_bad(p);
        p->k++;
        left = ml_syn_node(p, ML_N_UNARY, at, 1);
        left->op = ML_KW_NOT;
        left->kids[0] = binary(p, 3);
        left->at = ml_place_join(at, left->kids[0]->at);
        p->depth--;
        ml_syn_measure(p, left);
    } else {
        left = unary(p);
    }
    while (!p->failed) {
        const ml_Tok *t = ml_syn_peek(p);
        int s = strength(t);
        ml_Node *nd;

        if (s == 0 || s < least)
            break;
        if (s == 4) {
            left = comparison(p, left);
            ml_syn_measure(p, left);
            continue;
        }
        p->k++;
        nd = ml_syn_node(p, ML_N_BIN, left->at, 2);
        nd->op = t->op;
        nd->kids[0] = left;
        nd->kids[1] = binary(p, s + 1);
        nd->at = ml_place_join(left->at, nd->kids[1]->at);
        ml_syn_measure(p, nd);
        left = nd;
    }
    return left;
}

ml_Node *ml_syn_test(ml_Parser *p)
{
    return binary(p, 1);
}

static ml_Node *lambda(ml_Parser *p)
{
    ml_Place at = ml_syn_peek(p)->at;
    ML_VEC(ml_Sym *) keys = {0};
    ML_VEC(ml_Place) places = {0};
    ml_Node *nd = ml_syn_node(p, ML_N_LAMBDA, at, 1);

    p->k++;
    while (!p->failed && ml_syn_peek(p)->kind == ML_TOK_NAME) {
        ml_push(p->sc, &keys, ml_syn_peek(p)->as.sym);
        ml_push(p->sc, &places, ml_syn_peek(p)->at);
        p->k++;
        if (!ml_syn_take(p, ML_OPR_COMMA))
            break;
    }
    if (ml_syn_at(p, ML_OPR_MUL))
        ml_syn_unsupported(p, ml_syn_peek(p)->at, "`*` parameters of a lambda are");
    else if (!ml_syn_take(p, ML_OPR_COLON))
        ml_syn_expected(p, "a parameter name or `:`");
    nd->keys = keys.v;
    nd->key_at = places.v;
    nd->n_keys = (uint32_t)keys.n;
    nd->kids[0] = p->failed ? ml_syn_bad(p) : ml_syn_expr(p);
    nd->at = ml_place_join(at, nd->kids[0]->at);
    return nd;
}

ml_Node *ml_syn_expr(ml_Parser *p)
{
    ml_Node *nd;

    if (p->failed || !enter(p))
        return ml_syn_bad(p);
    if (ml_syn_at(p, ML_KW_LAMBDA)) {
        nd = lambda(p);
    } else {
        nd = binary(p, 1);
        if (!p->failed && ml_syn_take(p, ML_KW_IF)) {
            ml_Node *c = ml_syn_node(p, ML_N_COND, nd->at, 3);

            c->kids[0] = nd;
            c->kids[1] = binary(p, 1);
            if (!ml_syn_take(p, ML_KW_ELSE))
                ml_syn_expected(p, "`else`");
            c->kids[2] = ml_syn_expr(p);
            c->at = ml_place_join(nd->at, c->kids[2]->at);
            nd = c;
        }
    }
    ml_syn_measure(p, nd);
    if (!p->failed && ml_syn_at(p, ML_OPR_WALRUS))
        ml_syn_unsupported(p, ml_syn_peek(p)->at, "`:=` is");
    p->depth--;
    return nd;
}

static bool ends_list(const ml_Parser *p)
{
    const ml_Tok *t = ml_syn_peek(p);

    return t->kind == ML_TOK_NEWLINE || t->kind == ML_TOK_EOF ||
           ml_syn_at(p, ML_OPR_ASSIGN) || ml_syn_at(p, ML_OPR_COLON) ||
           ml_syn_at(p, ML_OPR_SEMICOLON) || ml_syn_at(p, ML_KW_IN);
}

static ml_Node *list_of(ml_Parser *p, ml_Node *(*item)(ml_Parser *))
{
    ml_Place at = ml_syn_peek(p)->at;
    ml_Node *first = item(p), *nd;
    ml_NodeVec v = {0};

    if (p->failed || (!ml_syn_at(p, ML_OPR_COMMA) && first->kind != ML_N_STAR))
        return first;
    ml_push(p->sc, &v, first);
    while (!p->failed && ml_syn_take(p, ML_OPR_COMMA) && !ends_list(p))
        ml_push(p->sc, &v, item(p));
    nd = ml_syn_node(p, ML_N_TUPLE, ml_syn_so_far(p, at), 0);
    ml_syn_keep(p, nd, &v);
    ml_syn_measure(p, nd);
    return nd;
}

ml_Node *ml_syn_expr_list(ml_Parser *p)
{
    return list_of(p, ml_syn_starred);
}

static ml_Node *target(ml_Parser *p)
{
    ml_Place at = ml_syn_peek(p)->at;
    ml_Node *nd;

    if (!ml_syn_take(p, ML_OPR_MUL))
        return primary(p);
    nd = ml_syn_node(p, ML_N_STAR, at, 1);
    nd->kids[0] = primary(p);
    nd->at = ml_place_join(at, nd->kids[0]->at);
    return nd;
}

ml_Node *ml_syn_target_list(ml_Parser *p)
{
    return list_of(p, target);
}

ml_Node *ml_syntax_expr(ml_Ctx *sc, ml_Report *rep, const ml_Lexed *lx)
{
    ml_Parser p = {.sc = sc, .rep = rep, .lx = lx};
    ml_Node *nd = ml_syn_expr_list(&p);

    while (ml_syn_peek(&p)->kind == ML_TOK_NEWLINE)
        p.k++;
    if (!p.failed && ml_syn_peek(&p)->kind != ML_TOK_EOF)
        ml_syn_expected(&p, "the end of the expression");
    return p.failed ? NULL : nd;
}

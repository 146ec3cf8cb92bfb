/*
 * syntax_names - the names that other Python would bind, found in its tokens alone.
 *
 * What is passed over at file level is not understood, but its names must not keep an older
 * meaning behind it: targets of assignments, of `for`, `as` and `:=`, names of functions
 * and classes, what `del` takes away. What an import binds is left out: the reader knows
 * its own imports, and a name of another one is undefined anyway. Source: script 3.
 */
#include "moonloop/core/script/syntax/ast.h"

typedef struct Names {
    ml_Ctx *sc;
    const ml_Tok *toks;
    size_t to;
    ml_NodeVec *out;
} Names;

static bool is_op(const ml_Tok *t, ml_TokOp op)
{
    return t->kind == ML_TOK_OP && t->op == op;
}

static bool is_keyword(const ml_Tok *t, ml_TokOp op)
{
    return t->kind == ML_TOK_KEYWORD && t->op == op;
}

static bool opens(const ml_Tok *t)
{
    return is_op(t, ML_OPR_LPAREN) || is_op(t, ML_OPR_LBRACKET) || is_op(t, ML_OPR_LBRACE);
}

static bool closes(const ml_Tok *t)
{
    return is_op(t, ML_OPR_RPAREN) || is_op(t, ML_OPR_RBRACKET) || is_op(t, ML_OPR_RBRACE);
}

static bool assigns(const ml_Tok *t)
{
    return is_op(t, ML_OPR_ASSIGN) ||
           (t->kind == ML_TOK_OP &&
            (t->op == ML_OPR_POW_EQ || t->op == ML_OPR_FLOORDIV_EQ ||
             t->op == ML_OPR_SHL_EQ || t->op == ML_OPR_SHR_EQ ||
             (t->op >= ML_OPR_ADD_EQ && t->op <= ML_OPR_AT_EQ)));
}

/* inside: only what the name holds is changed. */
static void add(Names *n, const ml_Tok *t, bool inside)
{
    ml_Node *nd = ML_NEW(n->sc, ml_Node);

    if (t->kind != ML_TOK_NAME)
        return;
    nd->kind = ML_N_NAME;
    nd->at = t->at;
    nd->as.sym = t->as.sym;
    nd->big = inside;
    ml_push(n->sc, n->out, nd);
}

/* The names of targets in [from, to): a, (b, c), d.e, f[g]. */
static void targets(Names *n, size_t from, size_t to)
{
    size_t inside = 0; /* an index */

    for (size_t k = from; k < to; k++) {
        const ml_Tok *t = &n->toks[k];
        bool after_name = k > from && (t[-1].kind == ML_TOK_NAME || closes(&t[-1]));

        if (inside || (opens(t) && after_name))
            inside += opens(t) ? 1 : closes(t) ? (size_t)-1 : 0;
        else if (t->kind == ML_TOK_NAME && !(k > from && is_op(&t[-1], ML_OPR_DOT)))
            add(n, t, false);
    }
}

/* The end of the block that a header ending at k opens, or of its line. */
static size_t end_of_block(const Names *n, size_t k)
{
    size_t depth = 0;

    while (k < n->to && n->toks[k].kind != ML_TOK_NEWLINE)
        k++;
    if (k + 1 >= n->to || n->toks[k + 1].kind != ML_TOK_INDENT)
        return k + 1 < n->to ? k + 1 : n->to;
    for (k++; k < n->to; k++) {
        depth += n->toks[k].kind == ML_TOK_INDENT   ? 1
                 : n->toks[k].kind == ML_TOK_DEDENT ? (size_t)-1
                                                    : 0;
        if (depth == 0)
            return k + 1;
    }
    return n->to;
}

/* One statement, or a header up to its colon, from k on; the place behind it. */
static size_t statement(Names *n, size_t k)
{
    const ml_Tok *first = &n->toks[k];
    bool header = first->kind == ML_TOK_KEYWORD && !is_keyword(first, ML_KW_LAMBDA);
    size_t from = k, depth = 0;

    if (is_keyword(first, ML_KW_ASYNC) && k + 1 < n->to)
        return k + 1;
    if (is_keyword(first, ML_KW_DEF) || is_keyword(first, ML_KW_CLASS)) {
        if (k + 1 < n->to)
            add(n, &first[1], false);
        return end_of_block(n, k);
    }
    if (is_keyword(first, ML_KW_IMPORT) || is_keyword(first, ML_KW_FROM)) {
        while (k < n->to && n->toks[k].kind != ML_TOK_NEWLINE &&
               !is_op(&n->toks[k], ML_OPR_SEMICOLON))
            k++;
        return k + 1;
    }
    if (is_keyword(first, ML_KW_DEL) || is_keyword(first, ML_KW_FOR)) {
        while (k < n->to && n->toks[k].kind != ML_TOK_NEWLINE &&
               !is_keyword(&n->toks[k], ML_KW_IN))
            k++;
        targets(n, from, k);
    }
    for (; k < n->to; k++) {
        const ml_Tok *t = &n->toks[k];

        if (t->kind == ML_TOK_NEWLINE || t->kind == ML_TOK_INDENT ||
            t->kind == ML_TOK_DEDENT ||
            (depth == 0 &&
             (is_op(t, ML_OPR_SEMICOLON) || (header && is_op(t, ML_OPR_COLON)))))
            return k + 1;
        if (is_keyword(t, ML_KW_AS) && k + 1 < n->to)
            add(n, &t[1], false);
        if (is_op(t, ML_OPR_WALRUS) && k > from)
            add(n, &t[-1], false);
        if (depth == 0 && !header && assigns(t)) {
            size_t end = from; /* of a name with a type: its type is no target */

            while (end < k && !is_op(&n->toks[end], ML_OPR_COLON))
                end++;
            targets(n, from, end);
            from = k + 1;
        }
        depth += opens(t) ? 1 : closes(t) && depth ? (size_t)-1 : 0;
    }
    return k;
}

void ml_syn_bound_names(ml_Ctx *sc, const ml_Lexed *lx, size_t from, size_t to,
                        ml_NodeVec *out)
{
    Names n = {.sc = sc, .toks = lx->toks, .to = to, .out = out};

    for (size_t k = from; k < to;) {
        const ml_Tok *t = &lx->toks[k];

        if (t->kind == ML_TOK_NAME && k + 2 < to && is_op(&t[1], ML_OPR_DOT) &&
            t[2].kind == ML_TOK_NAME) /* a.append(b) changes what a holds */
            add(&n, t, true);
        k = statement(&n, k);
    }
}

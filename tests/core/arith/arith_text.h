/*
 * arith_text - expressions for the tests of iterator maps and regions, written as text, and
 * their evaluation on points.
 *
 * The text is Python's: + - * // % < <= > >= == and or not, min(a,b) max(a,b) likely(c),
 * A[..] (an int32 buffer), parentheses, literals; a name is looked up among the scope's
 * variables and made (an int32 variable) when it is new.
 */
#ifndef ML_TESTS_ARITH_TEXT_H
#define ML_TESTS_ARITH_TEXT_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "moonloop/core/arith/iter_map.h"

typedef struct Scope {
    ml_Ctx *cx;
    ml_Arith *ar;
    const ml_Var *vars[16];
    int64_t at[16]; /* the point of evaluation */
    size_t n;
    ml_Dom dom[16]; /* the first n_dom are iterators */
    size_t n_dom;
    const ml_Buffer *buffer;
    const char *p;
} Scope;

static inline const ml_Var *sc_var(Scope *sc, const char *name, size_t len)
{
    for (size_t k = 0; k < sc->n; k++)
        if (strlen(sc->vars[k]->hint) == len && !memcmp(sc->vars[k]->hint, name, len))
            return sc->vars[k];
    ML_ASSERT(sc->n < 16);
    const char *copy = ml_strdup(sc->cx, (ml_Str){name, len});
    return sc->vars[sc->n++] = ml_var_new(sc->cx, copy, ML_DT_I32);
}

static inline void sc_space(Scope *sc)
{
    while (*sc->p == ' ')
        sc->p++;
}

static inline bool sc_eat(Scope *sc, const char *word)
{
    size_t n = strlen(word);

    sc_space(sc);
    if (strncmp(sc->p, word, n) != 0)
        return false;
    if (isalpha((unsigned char)word[0]) &&
        (isalnum((unsigned char)sc->p[n]) || sc->p[n] == '_'))
        return false;
    sc->p += n;
    return true;
}

static inline const ml_Expr *sc_level(Scope *sc, int level);

static inline const ml_Expr *sc_atom(Scope *sc)
{
    static const ml_ExprKind two[] = {ML_EXPR_MIN, ML_EXPR_MAX};

    sc_space(sc);
    if (isdigit((unsigned char)*sc->p))
        return ml_i32(sc->cx, strtoll(sc->p, (char **)(uintptr_t)&sc->p, 10));
    if (sc_eat(sc, "-"))
        return ml_neg(sc->cx, sc_atom(sc));
    if (sc_eat(sc, "(")) {
        const ml_Expr *e = sc_level(sc, 0);
        ML_ASSERT(sc_eat(sc, ")"));
        return e;
    }
    for (int k = 0; k < 2; k++)
        if (sc_eat(sc, k ? "max" : "min")) {
            ML_ASSERT(sc_eat(sc, "("));
            const ml_Expr *a = sc_level(sc, 0);
            ML_ASSERT(sc_eat(sc, ","));
            const ml_Expr *b = sc_level(sc, 0);
            ML_ASSERT(sc_eat(sc, ")"));
            return ml_binary(sc->cx, two[k], a, b);
        }
    if (sc_eat(sc, "likely")) {
        ML_ASSERT(sc_eat(sc, "("));
        const ml_Expr *a = sc_level(sc, 0);
        ML_ASSERT(sc_eat(sc, ")"));
        return ml_likely(sc->cx, a);
    }
    if (sc_eat(sc, "true"))
        return ml_bool(sc->cx, true);
    const char *from = sc->p;
    while (isalnum((unsigned char)*sc->p) || *sc->p == '_')
        sc->p++;
    ML_ASSERT(sc->p > from);
    size_t len = (size_t)(sc->p - from);
    if (sc_eat(sc, "[")) {
        const ml_Expr *shape[1] = {ml_i32(sc->cx, 100)};
        if (!sc->buffer)
            sc->buffer = ml_buffer_new(sc->cx, "A", ML_DT_I32, shape, 1, "global");
        const ml_Expr *i = sc_level(sc, 0);
        ML_ASSERT(sc_eat(sc, "]"));
        return ml_load(sc->cx, sc->buffer, &i, 1);
    }
    return ml_var(sc->cx, sc_var(sc, from, len));
}

/* Levels: 0 or, 1 and, 2 not, 3 comparisons (chained), 4 sums, 5 products. */
static inline const ml_Expr *sc_level(Scope *sc, int level)
{
    static const struct {
        const char *text;
        ml_ExprKind kind;
        int level;
    } ops[] = {
        {"or", ML_EXPR_OR, 0},     {"and", ML_EXPR_AND, 1}, {"<=", ML_EXPR_LE, 3},
        {">=", ML_EXPR_GE, 3},     {"==", ML_EXPR_EQ, 3},   {"!=", ML_EXPR_NE, 3},
        {"<", ML_EXPR_LT, 3},      {">", ML_EXPR_GT, 3},    {"+", ML_EXPR_ADD, 4},
        {"-", ML_EXPR_SUB, 4},     {"*", ML_EXPR_MUL, 5},   {"//", ML_EXPR_FLOORDIV, 5},
        {"%", ML_EXPR_FLOORMOD, 5}};

    if (level == 6)
        return sc_atom(sc);
    if (level == 2)
        return sc_eat(sc, "not") ? ml_not(sc->cx, sc_level(sc, 2)) : sc_level(sc, 3);
    const ml_Expr *e = sc_level(sc, level + 1), *chain = NULL, *left = e;
    for (bool again = true; again;) {
        again = false;
        for (size_t k = 0; k < ML_COUNT(ops) && !again; k++)
            if (ops[k].level == level && sc_eat(sc, ops[k].text)) {
                const ml_Expr *right = sc_level(sc, level + 1);
                if (level == 3) {
                    const ml_Expr *c = ml_binary(sc->cx, ops[k].kind, left, right);
                    chain = chain ? ml_and(sc->cx, chain, c) : c;
                    left = right;
                } else {
                    e = ml_binary(sc->cx, ops[k].kind, e, right);
                }
                again = true;
            }
    }
    return chain ? chain : e;
}

static inline const ml_Expr *sc_expr(Scope *sc, const char *text)
{
    sc->p = text;
    const ml_Expr *e = sc_level(sc, 0);
    sc_space(sc);
    ML_ASSERT(*sc->p == 0 || *sc->p == ',');
    return e;
}

/* "a, b, c" -> expressions; commas inside of parentheses do not separate. */
static inline size_t sc_list(Scope *sc, const char *text, const ml_Expr **out)
{
    size_t n = 0;

    sc->p = text;
    for (sc_space(sc); *sc->p;) {
        out[n++] = sc_level(sc, 0);
        if (!sc_eat(sc, ","))
            break;
    }
    sc_space(sc);
    ML_ASSERT(*sc->p == 0);
    return n;
}

/* "i<6 j<20": iterators from 0 below the (space-free) extent; "2<=i<6" with a minimum. */
static inline void sc_iters(Scope *sc, const char *text)
{
    sc->p = text;
    for (sc_space(sc); *sc->p; sc_space(sc)) {
        const ml_Expr *a = sc_level(sc, 4), *min = ml_i32(sc->cx, 0);
        if (sc_eat(sc, "<=")) {
            min = a;
            a = sc_level(sc, 4);
        }
        ML_ASSERT(a->kind == ML_EXPR_VAR && sc_eat(sc, "<"));
        const ml_Expr *end = sc_level(sc, 4);
        sc->dom[sc->n_dom++] = (ml_Dom){a->as.var, min, ml_sub(sc->cx, end, min)};
    }
}

static inline Scope sc_new(const char *iters)
{
    Scope sc = {.cx = ml_ctx_new(0)};

    sc.ar = ml_arith_new(sc.cx);
    sc_iters(&sc, iters);
    return sc;
}

static inline void sc_free(Scope *sc)
{
    ml_ctx_unref(sc->cx);
}

/* The value on the point sc->at. */
static inline int64_t sc_eval(const Scope *sc, const ml_Expr *e)
{
    int64_t a = 0, b = 0;

    switch ((int)e->kind) {
    case ML_EXPR_INT: return e->as.i;
    case ML_EXPR_VAR:
        for (size_t k = 0; k < sc->n; k++)
            if (sc->vars[k]->uid == e->as.var->uid)
                return sc->at[k];
        break;
    case ML_EXPR_NOT: return !sc_eval(sc, e->args[0]);
    case ML_EXPR_CAST: return sc_eval(sc, e->args[0]);
    case ML_EXPR_SELECT: return sc_eval(sc, e->args[sc_eval(sc, e->args[0]) ? 1 : 2]);
    case ML_EXPR_CALL: ML_ASSERT(ml_is_op(e, ML_OP_LIKELY)); return sc_eval(sc, e->args[0]);
    }
    ML_ASSERT(e->n_args == 2);
    a = sc_eval(sc, e->args[0]);
    b = sc_eval(sc, e->args[1]);
    switch ((int)e->kind) {
    case ML_EXPR_ADD: return a + b;
    case ML_EXPR_SUB: return a - b;
    case ML_EXPR_MUL: return a * b;
    case ML_EXPR_FLOORDIV: return ml_floordiv_i64(a, b);
    case ML_EXPR_FLOORMOD: return ml_floormod_i64(a, b);
    case ML_EXPR_MIN: return a < b ? a : b;
    case ML_EXPR_MAX: return a > b ? a : b;
    case ML_EXPR_EQ: return a == b;
    case ML_EXPR_NE: return a != b;
    case ML_EXPR_LT: return a < b;
    case ML_EXPR_LE: return a <= b;
    case ML_EXPR_GT: return a > b;
    case ML_EXPR_GE: return a >= b;
    case ML_EXPR_AND: return a && b;
    case ML_EXPR_OR: return a || b;
    }
    ML_ASSERT(!"an expression that the tests cannot evaluate");
    return 0;
}

/* Steps sc->at through the box of the iterators (constant ranges); begin with first. */
static inline bool sc_step(Scope *sc, bool first)
{
    for (size_t k = 0; k < sc->n_dom; k++) {
        size_t v = 0;
        while (sc->vars[v] != sc->dom[k].var)
            v++;
        int64_t min = sc->dom[k].min->as.i, end = min + sc->dom[k].extent->as.i;
        if (first) {
            sc->at[v] = min;
            if (min >= end)
                return false;
            continue;
        }
        if (++sc->at[v] < end)
            return true;
        sc->at[v] = min;
    }
    return first;
}

#endif

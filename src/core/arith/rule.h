/*
 * rule - rewrite rules as data: "pattern becomes template when condition".
 *
 * A pattern is a tree of operators, wildcards x y z w (any expression; the same letter
 * twice: the same expression) and literals c1..c4. Matching allocates nothing; commutative
 * operators match in both orders. A template is built with folding that never wraps: a
 * constant that does not fit the dtype makes the rule not apply. Conditions compare
 * templates by their constant bounds. Because rules are data, a test checks each of them by
 * enumeration. Source: ir-and-analysis 3.5, 8.3.
 */
#ifndef ML_CORE_ARITH_RULE_H
#define ML_CORE_ARITH_RULE_H

#include "moonloop/core/arith/arith_impl.h"

enum {
    ML_P_ANY = ML_EXPR_KINDS, /* wildcard, slot n */
    ML_P_LIT,                 /* literal of an index dtype, slot n */
    ML_P_NUM,                 /* the number v */
    ML_P_TRUTH,               /* bool literal v, in templates */
    ML_P_GCD,                 /* of two literals, in templates and conditions */
    ML_P_PROVE,               /* condition: the comparison below holds, by 3.6 */
    ML_P_CONG,                /* condition: a is always congruent to b modulo c */
};
enum { ML_RULE_SLOTS = 10 };

typedef struct ml_Pat {
    uint8_t op; /* an ml_ExprKind or ML_P_... */
    uint8_t n;  /* slot */
    int64_t v;
    const struct ml_Pat *a, *b, *c;
} ml_Pat;

typedef struct ml_Rule {
    const ml_Pat *from, *to, *when; /* when NULL: always */
    bool again;                     /* the result is simplified again */
} ml_Rule;

typedef struct ml_RuleSet {
    const char *name;
    const ml_Rule *rules;
    size_t n;
} ml_RuleSet;

extern const ml_RuleSet ml_rules_add, ml_rules_sub, ml_rules_mul, ml_rules_floordiv,
    ml_rules_floormod, ml_rules_div, ml_rules_mod, ml_rules_min, ml_rules_max, ml_rules_eq,
    ml_rules_lt, ml_rules_and, ml_rules_or;

typedef struct ml_RuleMatch {
    ml_Dtype type; /* the index dtype of the numbers; lanes 0: not known yet */
    const ml_Expr *slot[ML_RULE_SLOTS];
} ml_RuleMatch;

/* The first rule of the set that applies to e, done; NULL: none. */
const ml_Expr *ml_rule_apply(ml_Arith *ar, const ml_RuleSet *set, const ml_Expr *e,
                             bool *again);

#ifdef ML_RULES /* the notation, for the tables */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define P2(k, p, q) (&(const ml_Pat){.op = (k), .a = (p), .b = (q)})
#define WILD(k)     (&(const ml_Pat){.op = ML_P_ANY, .n = (k)})
#define LITERAL(k)  (&(const ml_Pat){.op = ML_P_LIT, .n = (k)})
#define NUM(x)      (&(const ml_Pat){.op = ML_P_NUM, .v = (x)})
#define TRUTH(x)    (&(const ml_Pat){.op = ML_P_TRUTH, .v = (x)})
#define X           WILD(0)
#define Y           WILD(1)
#define Z           WILD(2)
#define W           WILD(3)
#define P           WILD(4) /* booleans */
#define Q           WILD(5)
#define C1          LITERAL(6)
#define C2          LITERAL(7)
#define C3          LITERAL(8)
#define C4          LITERAL(9)
#define ADD(p, q)   P2(ML_EXPR_ADD, p, q)
#define SUB(p, q)   P2(ML_EXPR_SUB, p, q)
#define MUL(p, q)   P2(ML_EXPR_MUL, p, q)
#define FDIV(p, q)  P2(ML_EXPR_FLOORDIV, p, q)
#define FMOD(p, q)  P2(ML_EXPR_FLOORMOD, p, q)
#define TDIV(p, q)  P2(ML_EXPR_DIV, p, q)
#define TMOD(p, q)  P2(ML_EXPR_MOD, p, q)
#define MIN(p, q)   P2(ML_EXPR_MIN, p, q)
#define MAX(p, q)   P2(ML_EXPR_MAX, p, q)
#define EQ(p, q)    P2(ML_EXPR_EQ, p, q)
#define NE(p, q)    P2(ML_EXPR_NE, p, q)
#define LT(p, q)    P2(ML_EXPR_LT, p, q)
#define LE(p, q)    P2(ML_EXPR_LE, p, q)
#define GT(p, q)    P2(ML_EXPR_GT, p, q)
#define GE(p, q)    P2(ML_EXPR_GE, p, q)
#define AND(p, q)   P2(ML_EXPR_AND, p, q)
#define OR(p, q)    P2(ML_EXPR_OR, p, q)
#define NOT(p)      P2(ML_EXPR_NOT, p, NULL)
#define SELECT(p, q, r)                                                                    \
    (&(const ml_Pat){.op = ML_EXPR_SELECT, .a = (p), .b = (q), .c = (r)})
#define GCD(p, q)        P2(ML_P_GCD, p, q)
#define PROVE(p)         P2(ML_P_PROVE, p, NULL)
#define CONG(p, q, m)    (&(const ml_Pat){.op = ML_P_CONG, .a = (p), .b = (q), .c = (m)})
#define DIVIDES(d, p)    EQ(FMOD(p, d), NUM(0))
#define POS(p)           GT(p, NUM(0))
#define NONNEG(p)        GE(p, NUM(0))
#define BOTH(p, q)       AND(p, q)
#define ALL3(p, q, r)    AND(AND(p, q), r)
#define ALL4(p, q, r, s) AND(AND(p, q), AND(r, s))
#define R(p, q)                                                                            \
    {                                                                                      \
        .from = (p), .to = (q)                                                             \
    }
#define RW(p, q, w)                                                                        \
    {                                                                                      \
        .from = (p), .to = (q), .when = (w)                                                \
    }
#define RR(p, q)                                                                           \
    {                                                                                      \
        .from = (p), .to = (q), .again = true                                              \
    }
#define RRW(p, q, w)                                                                       \
    {                                                                                      \
        .from = (p), .to = (q), .when = (w), .again = true                                 \
    }
#define RULESET(nm, tab) const ml_RuleSet ml_rules_##nm = {#nm, tab, ML_COUNT(tab)}
/* NOLINTEND(bugprone-macro-parentheses) */
#endif

#endif

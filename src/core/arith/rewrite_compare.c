/* rewrite_compare - the rules for == and < over index integers (ir-and-analysis 3.5).
 * > and >= are swapped, <= is the negation of the swapped <, != of ==, before these. */
#define ML_RULES
#include "moonloop/core/arith/rule.h"

static const ml_Rule eq_rules[] = {
    R(EQ(ADD(X, Y), ADD(X, Z)), EQ(Y, Z)),
    R(EQ(ADD(X, Y), X), EQ(Y, NUM(0))),
    R(EQ(SUB(X, Y), SUB(X, Z)), EQ(Y, Z)),
    R(EQ(SUB(X, Z), SUB(Y, Z)), EQ(X, Y)),
    R(EQ(SUB(X, Y), NUM(0)), EQ(X, Y)),
    RR(EQ(ADD(X, C1), C2), EQ(X, SUB(C2, C1))),
    RR(EQ(SUB(C1, X), C2), EQ(X, SUB(C1, C2))),
    RW(EQ(MUL(X, C1), C2), EQ(X, FDIV(C2, C1)), BOTH(NE(C1, NUM(0)), DIVIDES(C1, C2))),
    RW(EQ(MUL(X, C1), C2), TRUTH(0), BOTH(NE(C1, NUM(0)), NE(FMOD(C2, C1), NUM(0)))),
    RW(EQ(MUL(X, C1), MUL(Y, C1)), EQ(X, Y), NE(C1, NUM(0))),
    RR(EQ(MUL(X, Y), NUM(0)), OR(EQ(X, NUM(0)), EQ(Y, NUM(0)))),
    R(EQ(X, MUL(FDIV(X, Y), Y)), EQ(FMOD(X, Y), NUM(0))),
    R(EQ(MIN(X, Y), X), LE(X, Y)),
    R(EQ(MAX(X, Y), X), LE(Y, X)),
    RW(EQ(MAX(X, C1), C2), EQ(X, C2), LT(C1, C2)),
    RW(EQ(MAX(X, C1), C2), TRUTH(0), LT(C2, C1)),
    RW(EQ(MIN(X, C1), C2), EQ(X, C2), LT(C2, C1)),
    RW(EQ(MIN(X, C1), C2), TRUTH(0), LT(C1, C2)),
};
RULESET(eq, eq_rules);

static const ml_Rule lt_rules[] = {
    R(LT(ADD(X, Y), ADD(X, Z)), LT(Y, Z)),
    R(LT(ADD(X, Y), X), LT(Y, NUM(0))),
    R(LT(X, ADD(X, Y)), LT(NUM(0), Y)),
    R(LT(SUB(X, Y), SUB(X, Z)), LT(Z, Y)),
    R(LT(SUB(X, Z), SUB(Y, Z)), LT(X, Y)),
    R(LT(SUB(X, Y), X), LT(NUM(0), Y)),
    R(LT(X, SUB(X, Y)), LT(Y, NUM(0))),
    R(LT(SUB(X, Y), NUM(0)), LT(X, Y)),
    R(LT(NUM(0), SUB(X, Y)), LT(Y, X)),
    RW(LT(MUL(X, C1), MUL(Y, C1)), LT(X, Y), POS(C1)),
    RW(LT(MUL(X, C1), MUL(Y, C1)), LT(Y, X), LT(C1, NUM(0))),
    RW(LT(MUL(X, C1), C2), LT(X, ADD(FDIV(SUB(C2, NUM(1)), C1), NUM(1))), POS(C1)),
    RW(LT(MUL(X, C1), C2), LT(FDIV(C2, C1), X), LT(C1, NUM(0))),
    RW(LT(C1, MUL(X, C2)), LT(FDIV(C1, C2), X), POS(C2)),
    RW(LT(C1, MUL(X, C2)), LT(X, SUB(NUM(0), FDIV(SUB(NUM(0), C1), C2))), LT(C2, NUM(0))),
    RW(LT(FDIV(X, C1), C2), LT(X, MUL(C1, C2)), POS(C1)),
    RW(LT(C1, FDIV(X, C2)), LT(SUB(MUL(ADD(C1, NUM(1)), C2), NUM(1)), X), POS(C2)),
    R(LT(MUL(FDIV(X, C1), C1), ADD(X, Y)), LT(NUM(0), ADD(FMOD(X, C1), Y))),
    R(LT(MUL(FDIV(X, C1), C1), X), LT(NUM(0), FMOD(X, C1))),
    R(LT(MUL(FDIV(ADD(X, C2), C1), C1), ADD(X, Y)), LT(C2, ADD(FMOD(ADD(X, C2), C1), Y))),
    R(LT(MUL(FDIV(ADD(X, C2), C1), C1), X), LT(C2, FMOD(ADD(X, C2), C1))),
    RR(LT(MIN(X, Y), Z), OR(LT(X, Z), LT(Y, Z))),
    RR(LT(MAX(X, Y), Z), AND(LT(X, Z), LT(Y, Z))),
    RR(LT(Z, MIN(X, Y)), AND(LT(Z, X), LT(Z, Y))),
    RR(LT(Z, MAX(X, Y)), OR(LT(Z, X), LT(Z, Y))),
    RR(LT(ADD(X, C1), C2), LT(X, SUB(C2, C1))),
    RR(LT(C1, ADD(X, C2)), LT(SUB(C1, C2), X)),
    RR(LT(SUB(C1, X), C2), LT(SUB(C1, C2), X)),
    RR(LT(C1, SUB(C2, X)), LT(X, SUB(C2, C1))),
    RW(LT(ADD(X, C1), ADD(Y, C2)), LT(ADD(X, SUB(C1, C2)), Y), GE(C1, C2)),
    RW(LT(ADD(X, C1), ADD(Y, C2)), LT(X, ADD(Y, SUB(C2, C1))), LT(C1, C2)),
    R(LT(X, ADD(Y, NUM(1))), LE(X, Y)),
    R(LT(ADD(X, NUM(-1)), Y), LE(X, Y)),
};
RULESET(lt, lt_rules);

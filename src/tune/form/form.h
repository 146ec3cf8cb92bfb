/*
 * form - numbers as closed forms of a vector of decisions.
 *
 * A number (ml_Num) is a node of a graph over the inputs x[0], x[1], ...; equal nodes are
 * one. Beside the graph there is one vector at hand: each node has its value there, and
 * ml_form_holds answers a condition by it and keeps the question with its answer on the
 * path. So code written once over forms gives plain numbers for a program without decisions
 * and, for a sketch, forms that hold for every vector with the same answers.
 * Source: auto-scheduler 13.
 */
#ifndef ML_TUNE_FORM_H
#define ML_TUNE_FORM_H

#include "moonloop/core/vec.h"

#include <math.h>

typedef uint32_t ml_Num;

typedef enum ml_FormOp {
    ML_FORM_CONST,
    ML_FORM_INPUT, /* a: which */
    ML_FORM_PICK,  /* of table b, the entry a */
    ML_FORM_ADD,
    ML_FORM_SUB,
    ML_FORM_MUL,
    ML_FORM_DIV,      /* of reals */
    ML_FORM_FLOORDIV, /* of integers, b > 0 */
    ML_FORM_MOD,
    ML_FORM_MIN,
    ML_FORM_MAX,
    ML_FORM_EQ, /* these give 0 or 1 */
    ML_FORM_LT,
    ML_FORM_LE,
    ML_FORM_SELECT, /* a != 0 ? b : c */
    ML_FORM_SLOG,   /* log2(|a| + 1) */
    ML_FORM_OPS
} ml_FormOp;

typedef struct ml_FormNode {
    uint8_t op; /* an ml_FormOp */
    ml_Num a, b, c;
    double value;  /* of CONST, and at the vector at hand */
    double lo, hi; /* for all vectors */
} ml_FormNode;

typedef struct ml_FormTable {
    uint32_t n;
    const double *v;
} ml_FormTable;

typedef struct ml_FormAnswer {
    ml_Num question;
    bool yes;
} ml_FormAnswer;

typedef struct ml_Forms {
    ml_Ctx *cx; /* where it all is */
    ML_VEC(ml_FormNode) nodes;
    ML_VEC(ml_FormTable) tables;
    uint64_t *slots; /* hash table of 1 + node */
    size_t n_slots;
    const double *x;            /* the vector at hand */
    size_t known;               /* nodes before have their value at x */
    ML_VEC(ml_FormAnswer) path; /* since ml_forms_at */
} ml_Forms;

void ml_forms_init(ml_Forms *f, ml_Ctx *cx);
/* From now on at that vector, with an empty path. x is not copied; NULL: no input is used. */
void ml_forms_at(ml_Forms *f, const double *x);

ml_Num ml_form_const(ml_Forms *f, double v);
ml_Num ml_form_input(ml_Forms *f, uint32_t k, double lo, double hi);
/* v[at]: n numbers, copied. */
ml_Num ml_form_pick(ml_Forms *f, ml_Num at, const double *v, uint32_t n);
/* Any operator, folded where its operands are known. */
ml_Num ml_form(ml_Forms *f, ml_FormOp op, ml_Num a, ml_Num b, ml_Num c);

static inline ml_Num ml_form_add(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_ADD, a, b, 0);
}
static inline ml_Num ml_form_sub(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_SUB, a, b, 0);
}
static inline ml_Num ml_form_mul(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_MUL, a, b, 0);
}
static inline ml_Num ml_form_div(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_DIV, a, b, 0);
}
static inline ml_Num ml_form_floordiv(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_FLOORDIV, a, b, 0);
}
static inline ml_Num ml_form_mod(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_MOD, a, b, 0);
}
static inline ml_Num ml_form_min(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_MIN, a, b, 0);
}
static inline ml_Num ml_form_max(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_MAX, a, b, 0);
}
static inline ml_Num ml_form_eq(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_EQ, a, b, 0);
}
static inline ml_Num ml_form_lt(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_LT, a, b, 0);
}
static inline ml_Num ml_form_le(ml_Forms *f, ml_Num a, ml_Num b)
{
    return ml_form(f, ML_FORM_LE, a, b, 0);
}
static inline ml_Num ml_form_select(ml_Forms *f, ml_Num c, ml_Num yes, ml_Num no)
{
    return ml_form(f, ML_FORM_SELECT, c, yes, no);
}
static inline ml_Num ml_form_slog(ml_Forms *f, ml_Num a)
{
    return ml_form(f, ML_FORM_SLOG, a, 0, 0);
}
ml_Num ml_form_not(ml_Forms *f, ml_Num a);               /* of 0 or 1 */
ml_Num ml_form_ceildiv(ml_Forms *f, ml_Num a, ml_Num b); /* b > 0 */

static inline double ml_form_value(const ml_Forms *f, ml_Num a)
{
    return f->nodes.v[a].value;
}
static inline bool ml_form_is_const(const ml_Forms *f, ml_Num a)
{
    return f->nodes.v[a].op == ML_FORM_CONST;
}
static inline bool ml_form_is(const ml_Forms *f, ml_Num a, double v)
{
    return ml_form_is_const(f, a) && f->nodes.v[a].value == v;
}
/* Whether a is not 0 at the vector at hand; put on the path unless it is so for all. */
bool ml_form_holds(ml_Forms *f, ml_Num a);

/* ---- many vectors at once */

enum {
    ML_LANES = 64, /* vectors of one run */
    ML_LANES_AT_LEAST = 16,
};

typedef struct ml_FormStep {
    uint8_t op;
    uint16_t to, a, b, c; /* registers; of PICK b is a table, of INPUT a an input */
} ml_FormStep;

typedef struct ml_FormProgram {
    size_t n_steps, n_out;
    uint32_t n_registers, n_consts; /* the first n_consts registers hold constants */
    const ml_FormStep *steps;
    const double *consts;
    const uint16_t *out; /* the register of each result */
    const ml_FormTable *tables;
} ml_FormProgram;

/* out[n] as a program, in cx; false: it needs more than 65535 registers. */
bool ml_form_compile(ml_Ctx *cx, const ml_Forms *f, const ml_Num *out, size_t n,
                     ml_FormProgram *p);
/* Doubles that a run needs as its registers, aligned as a cache line is. */
size_t ml_form_room(const ml_FormProgram *p);
/* The constants are put into the registers: once before runs in this room. */
void ml_form_ready(const ml_FormProgram *p, double *room);
/* x: input k of lane l is x[k * ML_LANES + l]. The results are in
 * room[p->out[k] * ML_LANES + l] afterwards, of the first n lanes. All up to the next multiple of
 * ML_LANES_AT_LEAST run, so that all have inputs. */
void ml_form_run(const ml_FormProgram *p, size_t n, const double *x, double *room);

/* The greatest integer <= x, of |x| < 2^51: larger ones are taken as integers. */
static inline double ml_form_floor(double x)
{
    double r = (x + 0x1.8p52) - 0x1.8p52;

    r = r > x ? r - 1 : r;
    return fabs(x) < 0x1p51 ? r : x;
}

/* log2(|x| + 1), the same on every machine and in every run: error below 1e-14 of it. */
static inline double ml_slog(double x)
{
    union {
        double d;
        uint64_t u;
    } m = {.d = fabs(x) + 1}, e;
    /* exponent and mantissa: 2^e * m, m in [1/sqrt 2, sqrt 2) */
    uint64_t up = m.u + UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd);

    e.u = (up >> 52) | UINT64_C(0x4330000000000000);
    m.u = (up & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd);

    double s = (m.d - 1) / (m.d + 1), z = s * s, p = 1.0 / 17;

    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1;
    return (e.d - 0x1p52 - 1023) + s * p * 2.8853900817779268147; /* 2 / ln 2 */
}

#endif

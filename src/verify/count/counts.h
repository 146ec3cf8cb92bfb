/*
 * counts - what the loops of a program do, without running it: iterations, operations, what
 * of each buffer they touch, and the strides of the accesses.
 *
 * Every number says how sure it is. What one execution of a loop does is asked, all its
 * iterations together, while the loops around it stand still. Source: interaction 8.
 */
#ifndef ML_VERIFY_COUNTS_H
#define ML_VERIFY_COUNTS_H

#include "moonloop/verify/verify.h"

typedef enum ml_How {
    ML_EXACT,
    ML_AT_MOST, /* never more; which places the loops around stand at may decide */
    ML_UNKNOWN, /* no number: neither n nor expr means anything */
} ml_How;

typedef struct ml_Number {
    uint8_t how; /* an ml_How */
    int64_t n;   /* when expr is NULL */
    const ml_Expr
        *expr; /* of the function's sizes (int64), where they decide it; or NULL */
} ml_Number;

typedef enum ml_StrideKind {
    ML_STRIDE_EVEN,   /* each iteration is as far from the one before it */
    ML_STRIDE_UNEVEN, /* usually so far, with jumps: a loop that goes by rows and columns */
    ML_STRIDE_OPEN,   /* not affine in the loop */
} ml_StrideKind;

/* One load or store as it stands in the text. */
typedef struct ml_Site {
    const ml_Buffer *text, *buffer; /* as it stands there; a view followed to its source */
    const ml_Block *block;          /* the innermost around it; NULL: none */
    const ml_Expr *const *index;    /* text->rank of them, as they stand there; of what is
                                       declared the first ones */
    bool write;
    bool in_init;
    bool declared; /* no access that can be seen: a region that the block declares */
} ml_Site;

/* How far an access moves from one iteration of the loop to the next, in elements. */
typedef struct ml_Stride {
    const ml_Site *site;
    uint8_t kind;        /* an ml_StrideKind */
    int64_t n;           /* when expr is NULL; of UNEVEN: the usual step */
    const ml_Expr *expr; /* of the function's sizes; or NULL */
} ml_Stride;

typedef struct ml_Touched {
    const ml_Buffer *buffer;
    ml_Number elements, bytes; /* distinct */
    ml_Number loads, stores;   /* executed */
} ml_Touched;

typedef struct ml_LoopFacts {
    const ml_For *loop;
    const ml_For *parent; /* the loop around it; NULL: none */
    uint32_t depth;       /* loops around it */
    ml_Number extent;     /* iterations of one execution */
    ml_Number iterations; /* of all executions */
    ml_Number flops;      /* as ml_flops counts them, inits left out */
    uint32_t n_touched, n_strides;
    const ml_Touched *touched; /* by the reads and writes of the blocks, in textual order */
    const ml_Stride *strides;  /* of every access below, in textual order */
} ml_LoopFacts;

typedef struct ml_Counts {
    size_t n;
    const ml_LoopFacts *loops; /* of the function, in textual order; not those in inits */
} ml_Counts;

/* func: position in the module. Everything lives in cx. false: interrupted (cx's error). */
bool ml_counts(ml_Ctx *cx, ml_Program p, uint32_t func, ml_Counts *out);
/* Of one loop alone; out->loop is NULL when there is none of that uid. */
bool ml_counts_loop(ml_Ctx *cx, ml_Program p, ml_Uid loop, ml_LoopFacts *out);
/* Operations of the whole function, those of all its loops and what stands outside. In cx.
 * only (may be NULL): of these. */
ml_Number ml_counts_flops(ml_Ctx *cx, const ml_Func *f, const ml_WorkKind *only);
const ml_LoopFacts *ml_counts_of(const ml_Counts *c, ml_Uid loop); /* NULL: no such loop */
/* Accesses for each distinct element; NAN: not known. *exact (may be NULL). */
double ml_reuse(const ml_Touched *t, bool *exact);

#endif

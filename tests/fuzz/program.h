/*
 * program - random small programs in the text dialect, for the random differential test.
 *
 * A program is a pure function of its plan: shrinking lowers the caps of the plan and makes
 * the text anew. All arithmetic is on small whole numbers, exact in every dtype used, so
 * that the order of a sum does not matter. Source: style 10.
 */
#ifndef ML_TESTS_FUZZ_PROGRAM_H
#define ML_TESTS_FUZZ_PROGRAM_H

#include "moonloop/core/base/text.h"

/* Features that a plan may leave out. */
enum {
    FZ_SYMBOLIC = 1,   /* an extent n, given at run time */
    FZ_INT64 = 2,      /* 64-bit indices */
    FZ_NESTED = 4,     /* a block within a block, with a local buffer or a matched region */
    FZ_WHERE = 8,      /* tiled loops with a predicate */
    FZ_LOOPS = 16,     /* fused, permuted, shifted, parallel loops */
    FZ_FUNCS = 32,     /* a second function */
    FZ_IF = 64,        /* an if around a stage or in a body */
    FZ_DTYPES = 128,   /* other than int32 */
    FZ_OPERANDS = 256, /* a second operand */
    FZ_INPLACE = 512,  /* a stage that updates a buffer */
    FZ_SHAPES = 1024,  /* stages other than elementwise and reductions */
    FZ_EPILOGUE = 2048,   /* a stage that adds to the result of a reduction */
    FZ_STRIDES = 4096,    /* strided and dilated windows */
    FZ_GATHER = 8192,     /* an index that is loaded */
    FZ_GUARDS = 1 << 14,  /* predicates over two loops, bounds that follow a loop outside */
    FZ_KINDS = 1 << 15,   /* vectorized, unrolled and bound loops, other storage scopes */
    FZ_PAIR = 1 << 16,    /* a reduction of two buffers */
    FZ_APART = 1 << 17,   /* the init of a reduction as a stage of its own */
    FZ_LET = 1 << 18,     /* a let in a body */
    FZ_OPAQUE = 1 << 19,  /* a block without iters around a stage */
    FZ_PARTS = 1 << 20,   /* a buffer that two blocks write, each a part */
    FZ_SIZES = 1 << 21,   /* a second extent m, given at run time */
    FZ_SCALARS = 1 << 22, /* a program about numbers instead (program_scalar.c) */
    FZ_SELF = 1 << 23,    /* a stage whose instances depend on each other */
    FZ_FEATURES = 24,     /* bits */
};

typedef struct FzPlan {
    uint64_t seed;
    int stages;        /* at most so many */
    int cap;           /* extents at most this */
    uint32_t off;      /* features left out */
    const char *lower; /* versions are lowered, too, up to this pass ("": all of them), and
                          run at every stage; NULL: they are not */
    int compile;       /* one in so many last versions, and a tenth as many of those before,
                          are compiled and run; 0: none */
    bool trace;        /* the trace of addresses of each version is that of a whole run */
    uint32_t code; /* how they are compiled (fz_code); 0: by the numbers of plan and step */
} FzPlan;

typedef struct FzProgram {
    ml_Text text;
    int64_t n, m; /* values of the symbols */
    int64_t flag; /* value of the parameter flag */
    int stages;   /* that there were before the plan's limit */
    bool extreme; /* inputs are the ends of ranges; all dtypes */
} FzProgram;

/* The next number of a stream, and one below n (> 0). */
uint64_t fz_next(uint64_t *state);
int fz_below(uint64_t *state, int n);
static inline bool fz_chance(uint64_t *state, int percent)
{
    return fz_below(state, 100) < percent;
}

void fz_program(const FzPlan *plan, FzProgram *out);

/* The value of a size or scalar parameter, by name. */
int64_t fz_scalar(const FzProgram *p, const char *name);

#endif

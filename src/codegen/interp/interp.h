/*
 * interp - the reference interpreter: runs a program at any stage and checks every access.
 *
 * What it refuses, by error code: out-of-bounds, undefined-read (an element is defined once
 * it is written or passed in; a store whose whole value is one load, plainly or by choice
 * of a condition, moves an undefined element along), race (between iterations of a
 * parallel, vectorized or thread-bound loop), outside-region, domain-exceeded, overflow (in
 * indices, bounds, bindings and conditions; stored integers wrap), divide-by-zero,
 * bad-shift, assert-failed, threads-cooperate (thread-bound loops run one iteration after
 * the other), too-large, interrupted. Source: DESIGN 4.
 *
 * In a program with a barrier, or when asked to, the threads of a block run side by side
 * from barrier to barrier, and are refused: thread-race (two threads touch an element, one
 * of them writes, and no barrier lies between), divergent-barrier (threads that wait at
 * different barriers, or are done). Source: lowering-and-codegen 11.3.
 */
#ifndef ML_CODEGEN_INTERP_H
#define ML_CODEGEN_INTERP_H

#include "moonloop/codegen/tensor/tensor.h"

/* One argument per parameter of the function: a tensor where the parameter has a buffer or
 * is a data pointer, else a number (f for floats, i otherwise). Size variables are found
 * from the shapes. */
typedef struct ml_RunArg {
    ml_Tensor *tensor;
    int64_t i;
    double f;
} ml_RunArg;

enum { /* checks that can be left out */
       ML_SKIP_RACES = 1,
       ML_SKIP_REGIONS = 2, /* block regions and iterator domains */
       ML_SKIP_UNDEFINED = 4,
};

typedef struct ml_InterpOpts {
    uint32_t skip;           /* ML_SKIP_... */
    uint64_t max_iterations; /* of all loops together; 0: no limit. Beyond: too-large */
    uint64_t max_bytes;      /* for buffers, maps and shadows; 0: 4 GiB */
    bool side_by_side;       /* threads of a block, also where no barrier is */
} ml_InterpOpts;

typedef struct ml_InterpReport {
    uint64_t iterations;   /* of all loops together */
    uint64_t instructions; /* of the interpreter's code, static */
    ml_RunArg result;      /* value of a return statement */
    const ml_Stmt
        *where;        /* of a failure: the statement at work (its span tells the line) */
    const char *loops; /* of a failure: "i = 3, j = 0", in cx; "" outside loops */
} ml_InterpReport;

/*
 * ml_interpret - runs f.
 *
 * m       where functions called by name are found; may be NULL
 * args    n_args of them, one per parameter; tensors are read and written in place, and
 *         their `defined` maps, when present, are respected and kept up to date
 * report  may be NULL
 * return  false with cx's error; the tensors then hold what was computed so far
 *
 * f and m live in cx or an ancestor of it. cx must not be frozen.
 */
bool ml_interpret(ml_Ctx *cx, const ml_Module *m, const ml_Func *f, const ml_RunArg *args,
                  size_t n_args, const ml_InterpOpts *opts, ml_InterpReport *report);

#endif

/* memory_impl - what the walk leaves for the summary. Internal header. */
#ifndef ML_CODEGEN_TRACE_MEMORY_IMPL_H
#define ML_CODEGEN_TRACE_MEMORY_IMPL_H

#include "moonloop/codegen/trace/memory.h"
#include "moonloop/codegen/trace/reuse.h"
#include "moonloop/core/vec.h"

/* A loop is new for a line when the line was last touched before its iteration began. */
typedef struct ml_WalkLoop {
    uint32_t start;      /* the clock when the current iteration began */
    uint64_t iterations; /* begun */
    int64_t value, first;
} ml_WalkLoop;

typedef struct ml_WalkAccess {
    uint32_t memory, n_chain;
    const uint32_t *chain; /* loops around it, innermost first */
    uint64_t *fresh;       /* [k]: new for the loops chain[0 .. k); k = 0 .. n_chain */
    bool store, deep, update;
    int32_t par; /* of the watched parallel loops, or -1 */
    uint32_t lane_shift;
    uint64_t touches, lo, hi;
    uint64_t distance[ML_DISTANCE_BINS], cold;
    uint64_t overwritten, unread, again;
    /* strides: the first touch, and what is still looked for */
    uint32_t open; /* how many of chain */
    uint64_t at;
    int64_t *origin; /* values of chain at the first touch */
    int64_t *stride;
    bool *known;
} ml_WalkAccess;

typedef struct ml_WalkMemory {
    uint32_t base, lines; /* its numbers of lines; 0 lines: not touched yet */
} ml_WalkMemory;

typedef struct ml_WalkParallel {
    uint32_t loop, threads, now;
    bool in_turn, dynamic, own, uneven;
    uint32_t *loads, *stores; /* bits of the threads, per element */
    uint64_t n_loads[ML_MAX_TRACE_THREADS], n_stores[ML_MAX_TRACE_THREADS];
} ml_WalkParallel;

typedef struct ml_MemoryWalk {
    const ml_MemoryOpts *opts;
    ml_Tracer *t;
    ml_Ctx *cx;   /* the trace's */
    int32_t deep; /* the memory that is looked at, or -1 */
    uint32_t clock, limit;
    uint32_t *last; /* per line: the clock of its last touch; 0: none */
    uint32_t n_lines, lines_cap;
    ml_Reuse reuse;
    ml_WalkLoop *loops;
    ml_WalkAccess *accesses;
    ml_WalkMemory *memories;
    uint32_t n_par;
    ml_WalkParallel *par;
    int32_t *par_of; /* per loop: the watched parallel loop that it is, or -1 */
    bool stopped, failed;
    /* per element of the deep memory */
    uint32_t n_elements;
    uint32_t *loads, *stores;
    uint16_t *state; /* access number + 1 of the last store, modulo; PENDING: not loaded */
} ml_MemoryWalk;

enum { ML_PENDING = 1 << 15 };

/* memory_facts.c */
void ml_memory_summary(ml_MemoryWalk *w, ml_MemoryFacts *out);

#endif

/*
 * memory - how a program uses memory: loads and stores per element, stores that nobody
 * reads, reuse distance, lines per iteration of each loop, and what each thread touches.
 *
 * Counted from the trace of addresses (tracer.h); exact unless `cut` or `stopped` says that
 * only a part of the program was walked. A line has 64 bytes; reuse distances count the
 * lines of all buffers together. An element is a lane: of a buffer of vectors each lane.
 * Source: interaction 4 (:memory), 10 (pane 8).
 */
#ifndef ML_CODEGEN_TRACE_MEMORY_H
#define ML_CODEGEN_TRACE_MEMORY_H

#include "moonloop/codegen/trace/tracer.h"

enum {
    ML_LINE_BYTES = 64,
    ML_DISTANCE_BINS = 34, /* 0; then 1, 2 to 3, 4 to 7, ... lines between */
    ML_MAX_TRACE_THREADS = 32,
    ML_TRACE_RANK = 16, /* dimensions of the box of a thread */
};
#define ML_TRACE_ELEMENTS (INT64_C(1) << 25) /* of the buffer that is looked at */

/* How often each element is touched. */
typedef struct ml_PerElement {
    uint64_t total, min, max; /* over all elements of the buffer */
    uint32_t n;               /* of the lists: how many elements are touched so often */
    const uint64_t *times, *elements; /* ascending; at most 16, neighbours then joined: */
    const uint64_t *to;               /* times[k] to to[k] */
} ml_PerElement;

/* One loop around accesses of the buffer, outer ones first. */
typedef struct ml_LoopTouches {
    uint32_t loop; /* of the trace's table */
    const ml_Stmt *stmt;
    const ml_Var *var;
    uint16_t depth;
    uint8_t kind;
    uint64_t iterations; /* walked, of all its runs together */
    double touches;      /* of the buffer, per iteration */
    double lines;        /* of the buffer that one iteration touches, on average */
    double all_lines;    /* the same of all buffers */
} ml_LoopTouches;

/* One place where memory is touched. */
typedef struct ml_AccessTouches {
    const ml_Buffer *buffer; /* as written */
    const ml_Buffer *memory; /* whose memory it is */
    const ml_Stmt *stmt;
    bool store;
    uint32_t bytes; /* of a touch */
    uint64_t touches;
    uint64_t first_byte, last_byte; /* of the memory, touched; when touches > 0 */
    int32_t loop;                   /* innermost around it, an index of loops; -1: none */
    uint64_t distance[ML_DISTANCE_BINS]; /* of its line, since the touch before */
    uint64_t cold;                       /* the line's first touch */
    uint32_t n_strides;
    const struct ml_AccessStride {
        uint32_t loop; /* an index of loops */
        bool known;    /* it has a second iteration */
        int64_t bytes; /* from its first iteration to its second */
    } * strides;       /* outer loops first */
    /* of stores */
    uint64_t overwritten; /* the element was stored again before any load of it */
    uint64_t unread;      /* not loaded any more, in a buffer of the function's own */
    uint64_t again;       /* stored by this statement before, and loaded since */
} ml_AccessTouches;

typedef struct ml_ThreadTouches {
    uint64_t loads, stores;
    uint64_t elements, lines;                       /* different ones */
    int64_t min[ML_TRACE_RANK], max[ML_TRACE_RANK]; /* a box around them */
    bool rows;                                      /* the box is exactly what it touches */
} ml_ThreadTouches;

typedef struct ml_ParallelTouches {
    const ml_Var *var;
    ml_Uid loop;
    uint32_t threads; /* at work: never more than iterations */
    bool in_turn;     /* iterations are not in chunks: thread t has t, t + threads, ... */
    bool dynamic;     /* and that is only one possible order */
    bool own;         /* each iteration has the buffer to itself */
    const ml_ThreadTouches *thread;
    uint64_t shared_lines;    /* touched by several threads, one of which stores */
    uint64_t false_lines;     /* of those: no element of it is */
    uint64_t shared_elements; /* touched by several threads, one of which stores */
    uint64_t read_lines;      /* loaded by several threads, stored by none */
} ml_ParallelTouches;

typedef struct ml_MemoryFacts {
    ml_Ctx *keep; /* holds what is below */
    /* what was walked */
    double expected;  /* touches of the whole program, as far as extents are known */
    uint64_t touches; /* that were walked, of all buffers */
    bool cut;         /* loops ran their first iterations only, those of caps */
    bool stopped;     /* the walk ended before the program did */
    uint32_t n_caps;
    const struct ml_LoopCap {
        const ml_Var *var;
        int64_t walked, extent; /* the first iterations of each run, of all */
    } * caps;
    bool exact; /* neither */
    /* the buffer that was asked for; NULL: none was */
    const ml_Buffer *buffer;
    bool param;
    uint32_t rank;
    int64_t extent[ML_TRACE_RANK];
    int64_t elements;
    uint32_t element_bytes;
    uint64_t lines_touched, lines;
    ml_PerElement loads, stores;
    uint64_t overwritten, unread, again; /* of its stores */
    uint64_t distance[ML_DISTANCE_BINS], cold;
    uint32_t n_parallel;
    const ml_ParallelTouches *parallel;
    /* of the whole program */
    uint32_t n_loops, n_accesses;
    const ml_LoopTouches *loops; /* every loop; touches and lines are of the buffer */
    const ml_AccessTouches *accesses;
} ml_MemoryFacts;

typedef struct ml_MemoryOpts {
    const ml_Buffer *buffer; /* looked at closely; NULL: none */
    uint32_t threads;        /* 0: 1 */
    ml_TracerOpts trace;
    /* Called now and then; may be NULL. */
    void (*progress)(void *user, uint64_t done, double of);
    void *user;
} ml_MemoryOpts;

/* f of module m (may be NULL), both in cx or an ancestor of it. false: cx's error
 * (interrupted; too-large; what the program does wrong). *out is freed by ml_memory_free.
 */
bool ml_memory_measure(ml_Ctx *cx, const ml_Module *m, const ml_Func *f,
                       const ml_MemoryOpts *opts, ml_MemoryFacts *out);
void ml_memory_free(ml_MemoryFacts *facts);

/* Lines between that a bin stands for: *from to *to. */
void ml_distance_bin(uint32_t bin, uint64_t *from, uint64_t *to);

#endif

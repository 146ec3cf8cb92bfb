/*
 * tracer - the addresses that a program touches, in the order in which it touches them.
 *
 * The program is interpreted as it is scheduled: guards, inits, caches and layouts are what
 * they are. Only addresses are worked out; values where an index, a bound or a condition
 * loads them. Loops of every kind run in order, iteration after iteration. What would take
 * too long is cut: some loops then run only their first iterations, and the trace says
 * which. Source: interaction 4, 10 (pane 8).
 */
#ifndef ML_CODEGEN_TRACE_TRACER_H
#define ML_CODEGEN_TRACE_TRACER_H

#include "moonloop/codegen/measure/check.h"

#define ML_TRACE_BUDGET (INT64_C(1) << 28) /* touches of a whole trace */

typedef struct ml_TracedLoop {
    const ml_Stmt *stmt; /* a FOR, or the ATTR of a thread */
    const ml_Var *var;
    int32_t up;     /* the loop around it, or -1 */
    uint16_t depth; /* loops around it */
    uint8_t kind;   /* an ml_ForKind */
    int64_t cap;    /* only so many iterations are walked; -1: all */
    int64_t extent; /* -1: not known before */
} ml_TracedLoop;

typedef struct ml_TracedMemory {
    const ml_Buffer *buffer; /* whose memory it is: a parameter's or an allocated one's */
    bool param;
    bool values; /* an address, a bound or a condition depends on what it holds */
} ml_TracedMemory;

typedef struct ml_TracedAccess {
    const ml_Buffer *buffer; /* as it is written there: an alias maybe */
    uint32_t memory;
    uint32_t bytes; /* of one touch: a lane */
    int32_t loop;   /* the innermost loop around it, or -1 */
    bool store;
    const ml_Stmt *stmt; /* the statement that it belongs to */
} ml_TracedAccess;

typedef struct ml_Tracer {
    ml_Ctx *cx;
    uint32_t n_loops, n_memories, n_accesses;
    const ml_TracedLoop *loops; /* outer ones before inner ones */
    const ml_TracedMemory *memories;
    const ml_TracedAccess *accesses;
    double expected;        /* touches, as far as extents are known */
    double planned;         /* the same with the caps */
    bool cut;               /* some loop has a cap */
    struct ml_TracerRun *r; /* its own */
} ml_Tracer;

typedef struct ml_TracerOpts {
    int64_t budget; /* touches; 0: ML_TRACE_BUDGET */
    bool values; /* everything is computed and, regions aside, checked as by ml_interpret */
    const ml_Size *sizes;
    size_t n_sizes;
    uint64_t seed; /* of the inputs, where values matter; 0: 1 */
} ml_TracerOpts;

typedef struct ml_TracerSink {
    /* One lane, `byte` from the begin of its memory. false: enough, stop. */
    bool (*touch)(void *user, uint32_t access, uint64_t byte);
    /* An iteration begins. */
    bool (*iteration)(void *user, uint32_t loop, int64_t value);
    void *user;
} ml_TracerSink;

/* Prepares: the tables are filled. NULL: cx's error (a size is not given; too-deep). Ends
 * with ml_tracer_end; everything lives in a fork of cx, which is frozen meanwhile. */
ml_Tracer *ml_tracer_begin(ml_Ctx *cx, const ml_Module *m, const ml_Func *f,
                           const ml_TracerOpts *opts);
/* Runs; false: the error is the fork's (t->cx), `interrupted` too when the sink stopped it.
 */
bool ml_tracer_run(ml_Tracer *t, const ml_TracerSink *sink);
/* Bytes that the memory has by now; 0 before it is allocated. */
uint64_t ml_tracer_bytes(const ml_Tracer *t, uint32_t memory);
/* Bounds of a loop that is running. */
void ml_tracer_bounds(const ml_Tracer *t, uint32_t loop, int64_t *min, int64_t *extent,
                      int64_t *step);
/* Moves the fork's error, if it has one, to the context it was forked from. */
void ml_tracer_end(ml_Tracer *t);

#endif

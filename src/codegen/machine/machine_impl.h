/* machine_impl - the programs of the probe, for probe.c and its tests. */
#ifndef ML_CODEGEN_MACHINE_IMPL_H
#define ML_CODEGEN_MACHINE_IMPL_H

#include "moonloop/codegen/machine/machine.h"

/* A loop over independent accumulators, `n` times (a parameter), on `nt` threads (another).
 * Its arguments: S, what the accumulators start with, X, two operands, Y, where they end.
 */
typedef struct ml_PeakProbe {
    const char *text;    /* in cx; NULL: the target has no such instruction */
    ml_Dtype acc, in;    /* of S and Y, of X */
    int64_t n_acc, n_in; /* lanes of S (Y: times nt), of X */
    double flop;         /* of one round */
} ml_PeakProbe;
ml_PeakProbe ml_probe_peak(ml_Ctx *cx, const ml_Target *t, ml_MachineKind k,
                           uint32_t threads);

/* A stream over `bytes` of each of `threads` threads, `rounds` times, inside a buffer M; Y
 * takes a few lanes per thread. Of float32 both; `room` (zero: what it needs) says how many
 * lanes they have, so that one pair serves several programs. */
typedef struct ml_StreamProbe {
    const char *text;
    int64_t lanes[2]; /* that M and Y need */
    double bytes;     /* moved by one call */
} ml_StreamProbe;
ml_StreamProbe ml_probe_stream(ml_Ctx *cx, const ml_Target *t, ml_Traffic what,
                               uint64_t bytes, uint32_t threads, uint32_t rounds,
                               const int64_t room[2]);

/* A function (of two: a division, ...) of X in L1 into Y, `n` times (a parameter); the second
 * operands lie behind the first ones. */
typedef struct ml_MathProbe {
    const char *text;
    ml_Dtype type;
    int64_t lanes; /* of Y; X has twice as many */
} ml_MathProbe;
ml_MathProbe ml_probe_math(ml_Ctx *cx, const ml_Target *t, ml_Math k, bool f64);

/* Results per second of one thread; NAN in *rate: it cannot be compiled or run. false: cx's
 * error. */
bool ml_machine_measure_math(ml_Ctx *cx, ml_Engine *e, ml_Math k, bool f64, double *rate);

/* A chain of additions and exclusive ors, each waiting for the one before: ML_CHAIN cycles
 * a round. */
enum { ML_CHAIN = 64 };
const char *ml_probe_chain(ml_Ctx *cx);
/* One store in each of `threads` iterations of a parallel loop. */
const char *ml_probe_fork(ml_Ctx *cx, uint32_t threads);

#endif

/*
 * machine - what the machine at hand can do: figures by the table, and measured ones.
 *
 * Peaks and bandwidths are measured with programs of our own dialect, compiled and timed
 * like any other, so that a kernel is compared with what generated code reaches here. They
 * are kept in a file of the user's cache and measured again when a kernel beats them.
 * Source: lowering-and-codegen 8.1; interaction 8; workloads 10.
 */
#ifndef ML_CODEGEN_MACHINE_H
#define ML_CODEGEN_MACHINE_H

#include "moonloop/codegen/machine/engine.h"

/* Instruction kinds with a peak of their own. */
typedef enum ml_MachineKind {
    ML_MACHINE_F32,
    ML_MACHINE_F64,
    ML_MACHINE_F16,  /* arithmetic of float16 */
    ML_MACHINE_BF16, /* dot products of pairs */
    ML_MACHINE_INT8, /* dot products of fours */
    ML_MACHINE_KINDS,
} ml_MachineKind;
const char *ml_machine_kind_name(ml_MachineKind k); /* "float32", ..., "int8" */

typedef enum ml_MachineLevel {
    ML_MACHINE_L1,
    ML_MACHINE_L2,
    ML_MACHINE_L3,
    ML_MACHINE_MEMORY,
    ML_MACHINE_LEVELS,
} ml_MachineLevel;
const char *ml_machine_level_name(ml_MachineLevel l); /* "L1", ..., "memory" */

typedef enum ml_Traffic {
    ML_TRAFFIC_READ,
    ML_TRAFFIC_COPY,  /* B = A: bytes read and bytes written */
    ML_TRAFFIC_TRIAD, /* C = A + s * B */
    ML_TRAFFICS,
} ml_Traffic;
const char *ml_traffic_name(ml_Traffic t);

/* [0]: one thread, [1]: all `threads`. What was not measured is NAN. */
typedef struct ml_Machine ml_Machine;
struct ml_Machine {
    ml_Target target; /* the host's */
    char cpu[80];     /* as the processor calls itself */
    uint32_t threads;
    /* by the table */
    double clock;          /* Hz, as the system or the processor says; 0: neither does */
    double flop_per_cycle; /* of one core, float32; NAN: not in the table */
    uint64_t cache[ML_MACHINE_MEMORY]; /* bytes of one L1, L2, L3; 0: there is none */
    /* measured */
    double clock_measured;            /* Hz */
    double peak[ML_MACHINE_KINDS][2]; /* operations per second, as a user counts them */
    double bandwidth[ML_MACHINE_LEVELS][ML_TRAFFICS][2]; /* bytes per second */
    double call;      /* seconds of a call that does nothing */
    double fork_join; /* seconds that a parallel loop over all threads adds */
    bool full;        /* more than peaks was measured */
    double peak_set;  /* float32 peak of all threads that the user gave; 0: none */
};

/* ---- by the table */
/* Operations of one core per cycle; NAN: not in the table, or no such instruction. */
double ml_machine_flop_per_cycle(const ml_Target *t, ml_MachineKind k);
/* Fills in the host and its table figures, and NAN for all that is measured. */
void ml_machine_host(uint32_t threads, ml_Machine *out);
/* Bytes of one L1, L2, L3; those not known stay as they are. */
void ml_machine_caches(uint64_t bytes[ML_MACHINE_MEMORY]);
/* Nominal operations per second with this many threads, by the clock that the processor
 * names, else by the measured one; NAN: unknown. */
double ml_machine_nominal(const ml_Machine *m, ml_MachineKind k, uint32_t threads);

/* ---- measured */
/* Measures with e's worker and threads, whatever e's target is. quick: peaks of float32 and
 * float64 alone. false: cx's error (no LLVM, no worker, interrupted). */
bool ml_machine_measure(ml_Ctx *cx, ml_Engine *e, bool quick, ml_Machine *out);
/* What is known to e, else what the cache file holds, else measured and stored there. full:
 * bandwidths are needed. Valid until the next call with e. NULL: cx's error. */
const ml_Machine *ml_machine_get(ml_Ctx *cx, ml_Engine *e, bool full);
/* What is known without measuring; NULL: nothing yet. */
const ml_Machine *ml_machine_known(ml_Ctx *cx, ml_Engine *e);
/* Measures anew and stores. keep: the larger of old and new figures count, since a probe
 * can only come out low. A set peak is kept. */
const ml_Machine *ml_machine_calibrate(ml_Ctx *cx, ml_Engine *e, bool full, bool keep);
/* The user's float32 peak of all threads in operations per second; other peaks follow in
 * proportion. 0: the measured ones count again. */
void ml_machine_set_peak(ml_Engine *e, double peak);

/* ---- questions */
/* Operations per second; between 1 and all threads no more than the measured ends allow.
 * NAN: the type has no measured peak. Types that are computed in float32 have its peak. */
double ml_machine_peak(const ml_Machine *m, ml_Dtype t, uint32_t threads);
/* The best of all patterns; a level that was not measured counts as the next one. */
double ml_machine_bandwidth(const ml_Machine *m, ml_MachineLevel l, uint32_t threads);
/* The best of the patterns that write, or, where `reads`, of those that only read. */
double ml_machine_stream(const ml_Machine *m, ml_MachineLevel l, uint32_t threads,
                         bool reads);
/* The innermost level that holds so many bytes, spread over the threads. */
ml_MachineLevel ml_machine_level(const ml_Machine *m, uint32_t threads, double bytes);

typedef struct ml_Roof {
    double peak;           /* operations per second; NAN: unknown */
    double bandwidth;      /* bytes per second at `level`; NAN: unknown */
    double intensity;      /* operations per byte; INFINITY: no bytes */
    double limit;          /* seconds that it must take at least; 0: unknown */
    ml_MachineLevel level; /* where the bytes fit */
    bool memory;           /* the bandwidth is the nearer roof */
} ml_Roof;
/* written: how many of the bytes are; less than a sixteenth counts as none. */
ml_Roof ml_machine_roof(const ml_Machine *m, ml_Dtype t, uint32_t threads, double flop,
                        double bytes, double written);
/* A share above this says that the peak was probed in a bad moment. */
#define ML_SHARE_MOST 1.02
/* rate / peak. Above ML_SHARE_MOST the peak is measured anew first, up to three times; the
 * largest counts. What stays above it is no share: the machine is busy, or the program
 * leaves operations out. false: cx's error; *share NAN: no peak is known for the type. */
bool ml_machine_share(ml_Ctx *cx, ml_Engine *e, ml_Dtype t, uint32_t threads, double rate,
                      double *share);

/* ---- the cache file */
/* $XDG_CACHE_HOME/moonloop/machine.json, else below ~/.cache; in cx. NULL: no home. */
const char *ml_machine_path(ml_Ctx *cx);
/* Fills in what was measured on m's processor with m's features, cores and threads by this
 * version of moonloop. false: it is not there, or the file cannot be understood. */
bool ml_machine_load(ml_Ctx *cx, const char *path, ml_Machine *m);
/* Writes at once or not at all, keeping what the file holds of other machines. false: it
 * cannot be written, which is no error of cx. */
bool ml_machine_store(ml_Ctx *cx, const char *path, const ml_Machine *m);

#endif

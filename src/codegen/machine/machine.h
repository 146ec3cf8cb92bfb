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
    ML_TRAFFIC_WRITE,
    ML_TRAFFIC_COPY,   /* B = A: bytes read and bytes written */
    ML_TRAFFIC_TRIAD,  /* C = A + s * B */
    ML_TRAFFIC_STREAM, /* B = A, stored past the caches */
    ML_TRAFFIC_STREAM_TRIAD,
    ML_TRAFFICS,
} ml_Traffic;
const char *ml_traffic_name(ml_Traffic t);
/* Shares of its bytes that are read; the others are written. */
double ml_traffic_read(ml_Traffic t);

/* Functions of floats whose rate is nothing like that of a product and a sum. */
typedef enum ml_Math {
    ML_MATH_DIVIDE,
    ML_MATH_QUOTIENT, /* by what the lanes of a vector share */
    ML_MATH_POW,
    ML_MATH_ATAN2,
    ML_MATH_HYPOT,
    ML_MATH_FMOD,
#define ML_OP(ID, name, effect, n, first, family) ML_MATH_##ID,
#include "moonloop/core/ops_math.def"
#undef ML_OP
    ML_MATHS
} ml_Math;
const char *ml_math_name(ml_Math k); /* "division", "pow", ..., "exp", ... */
/* Which of them the root of e is; ML_MATHS: none, or as quick as a sum. */
ml_Math ml_math_of(const ml_Expr *e);
enum { ML_MATH_TYPES = 2 }; /* float32, in which narrower ones are computed; float64 */

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
    /* Results per second of one thread, arguments and results in L1; NAN until a program
     * needs it. */
    double math[ML_MATHS][ML_MATH_TYPES];
    double call;      /* seconds of a call that does nothing */
    double fork_join; /* seconds that a parallel loop over all threads adds */
    bool full;        /* more than peaks was measured */
    double peak_set;  /* float32 peak of all threads that the user gave; 0: none */
    /* of this session: measured anew because a program was quicker; when that was last */
    uint32_t probes;
    double probed;
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
/* Measures those functions that d has and m has not, and stores them. What cannot be measured
 * stays NAN. false: cx's error (interrupted). */
typedef struct ml_Demand ml_Demand;
bool ml_machine_math(ml_Ctx *cx, ml_Engine *e, const ml_Demand *d);
/* The user's float32 peak of all threads in operations per second; other peaks follow in
 * proportion. 0: the measured ones count again. */
void ml_machine_set_peak(ml_Engine *e, double peak);

/* ---- questions */
/* Operations per second; between 1 and all threads no more than the measured ends allow.
 * NAN: the type has no measured peak. Types that are computed in float32 have its peak. */
double ml_machine_peak(const ml_Machine *m, ml_Dtype t, uint32_t threads);
/* The best of all patterns; a level that was not measured counts as the next one. */
double ml_machine_bandwidth(const ml_Machine *m, ml_MachineLevel l, uint32_t threads);
/* Least seconds in which the measured patterns, one after the other, read and write so many
 * bytes of that level; NAN: it was not measured. */
double ml_machine_moving(const ml_Machine *m, ml_MachineLevel l, uint32_t threads,
                         double read, double written);
/* The same of bytes that lie where they fit: those of a cache come from the next level more
 * and more as they fill it. */
double ml_machine_touring(const ml_Machine *m, uint32_t threads, double read,
                          double written);
/* The innermost level that holds so many bytes, spread over the threads. */
ml_MachineLevel ml_machine_level(const ml_Machine *m, uint32_t threads, double bytes);

/* What a program must do, however it is scheduled. */
struct ml_Demand {
    ml_Dtype type;        /* whose peak counts */
    double flop;          /* operations; a division is one, a function of a float none */
    double read, written; /* bytes */
    double math[ML_MATHS][ML_MATH_TYPES]; /* how many of each */
};

typedef struct ml_Roof {
    double peak;           /* operations per second; NAN: unknown */
    double bandwidth;      /* bytes per second where they are, as many read and written as
                              there are; NAN: unknown */
    double intensity;      /* operations per byte; INFINITY: no bytes */
    double computing;      /* seconds to compute at least; 0: unknown */
    double moving;         /* the same, to move */
    double limit;          /* the longer of both */
    ml_MachineLevel level; /* where the bytes fit */
    bool memory;           /* the bandwidth is the nearer roof */
    ml_Math math;          /* that takes more than half of computing; ML_MATHS: none */
    double in_math;        /* seconds of that one that takes most; 0: there is none */
} ml_Roof;
ml_Roof ml_machine_roof(const ml_Machine *m, uint32_t threads, const ml_Demand *d);
/* The same where the caches are empty. */
ml_Roof ml_machine_roof_cold(const ml_Machine *m, uint32_t threads, const ml_Demand *d);
/* What limits it: "compute", "exp", or a level of memory. */
const char *ml_roof_name(const ml_Roof *r);
/* A share of a bound above this says that the machine was measured in a bad moment. */
#define ML_SHARE_MOST 1.02
/* A program needed less than r (the roof of d) allows: measures those figures anew, the
 * better count. *anew: whether it did so; not where the user set the peak, nor more than
 * three times a minute. false: cx's error. */
bool ml_machine_beaten(ml_Ctx *cx, ml_Engine *e, const ml_Demand *d, const ml_Roof *r,
                       bool *anew);

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

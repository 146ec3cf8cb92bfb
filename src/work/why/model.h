/*
 * model - what a version takes, in closed form: cycles of what its code issues, lines that
 * its touches bring from each cache, threads at work. Nothing is run.
 *
 * The code is that of the lowered program, which the compiler neither vectorizes nor unrolls
 * once more; a cache is simulated on the trace of addresses, cut where that is long. All
 * figures are of one call. Source: interaction 8 (:why-slow).
 */
#ifndef ML_WORK_WHY_MODEL_H
#define ML_WORK_WHY_MODEL_H

#include "moonloop/codegen/lower/lower.h"
#include "moonloop/codegen/machine/machine.h"
#include "moonloop/work/timing.h"
#include "moonloop/work/work.h"

/* What one iteration of a loop issues, in operations on registers. */
typedef struct ml_WhyIssue {
    double fmas;     /* multiplications, multiply-adds */
    double ops;      /* other arithmetic */
    double math;     /* of ops, those of exp and the like */
    double loads;    /* of whole registers, or of one element where nothing is a vector */
    double stores;   /* the same */
    double elements; /* loads and stores of single elements that make a vector */
    double crossing; /* of loads and stores, those that cross a line */
    double guards;   /* conditions */
} ml_WhyIssue;

/* A loop of the lowered program with the stores that stand directly in it. */
typedef struct ml_WhyLoop {
    const char *name; /* of its variable; "" outside of all loops */
    uint32_t line;    /* of the first store */
    uint32_t depth;
    double entries, trips; /* how often it begins; iterations each time */
    ml_WhyIssue issue;
    uint32_t lanes;      /* of the widest value stored; 1: scalar */
    double accumulators; /* registers that go from one iteration to the next */
    double spills;       /* of these, those that find no register */
    double chain;        /* cycles that an iteration waits for the one before */
    double ports;        /* cycles that its units need for an iteration */
    double cycles;       /* of all of it */
    bool guarded, inner; /* a condition depends on it; it holds no other loop */
} ml_WhyLoop;

typedef struct ml_WhyStage { /* a block that holds no other */
    const char *block;       /* its name */
    uint32_t line;           /* of its first store */
    uint32_t n_loops;
    const ml_WhyLoop *loops;         /* those with stores of it; [0]: the costliest */
    double cycles;                   /* of all loops, on one thread */
    double touches;                  /* loads and stores of elements */
    double moved[ML_MACHINE_LEVELS]; /* lines that came from that level; of L1: touched */
    double
        conflicts; /* of the lines not in L1, those that a cache without sets would hold */
    double
        far; /* of the lines, those that are waited for: on pages not used lately, for stores */
    double used;    /* bytes touched of a line, on average, while it is in L1 */
    double compute; /* seconds on its threads */
    double memory[ML_MACHINE_LEVELS]; /* the same, to move the lines from there */
    double waiting;                   /* the same, for lines that nothing fetches ahead */
    double seconds;                   /* all of it */
    double threads;                   /* that are at work, on average */
    double flop;
} ml_WhyStage;

typedef struct ml_WhyModel {
    uint32_t n;
    ml_WhyStage *stages; /* in textual order */
    double regions;      /* parallel regions entered */
    double fork;         /* seconds of those */
    double seconds;      /* of a call */
    double flop;
    double footprint; /* bytes touched */
    bool opaque;      /* calls of which nothing is known */
} ml_WhyModel;

/* Everything lives in cx. false: cx's error (it cannot be lowered; interrupted). */
bool ml_why_model(ml_Ctx *cx, ml_Engine *e, const ml_Machine *m, const ml_Work *w,
                  const ml_TimingOpts *o, ml_WhyModel *out);

/* Of the shorter of computing and moving that is not hidden. */
#define ML_WHY_OVERLAP 0.3
/* Of both at once. */
double ml_why_seconds(double compute, double moving);

/* ---- issue.c: the lowered function's loops, in textual order. */
typedef struct ml_WhyCode {
    ML_VEC(ml_WhyLoop) loops;
    ML_VEC(double) threads; /* per loop: at work, on average */
    double regions;
    bool opaque;
} ml_WhyCode;
void ml_why_issue(ml_Ctx *cx, const ml_Machine *m, const ml_Target *t, uint32_t threads,
                  const ml_Func *lowered, const ml_TimingOpts *o, ml_WhyCode *out);

/* ---- cache.c: lines by the line of the program on which they are touched. */
typedef struct ml_WhyLines {
    uint32_t line;
    double touches, used;
    double from[ML_MACHINE_LEVELS];
    double conflicts, far;
} ml_WhyLines;
typedef struct ml_WhyCache {
    uint32_t n;
    const ml_WhyLines *v;
    double footprint;
} ml_WhyCache;
bool ml_why_cache(ml_Ctx *cx, const ml_Machine *m, const ml_Module *mod, const ml_Func *f,
                  const ml_TimingOpts *o, ml_WhyCache *out);

#endif

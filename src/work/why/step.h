/*
 * step - steps tried on a fork of the current version: calls of primitives that are applied
 * one after the other and written down as somebody types them.
 */
#ifndef ML_WORK_WHY_STEP_H
#define ML_WORK_WHY_STEP_H

#include "moonloop/core/base/text.h"
#include "moonloop/primitives/schedule.h"

enum { ML_WHY_LOOPS = 24, ML_WHY_READS = 8 };

typedef struct ml_WhyNestLoop {
    ml_Uid uid;
    int64_t extent; /* -1: not known */
    uint8_t kind;   /* an ml_ForKind */
    bool reduce;    /* drives a reduction */
    uint32_t unit;  /* accesses that move by one element */
    uint32_t still; /* that do not move */
    uint32_t wide;  /* that move by a line and more, or nobody knows how */
} ml_WhyNestLoop;

typedef struct ml_WhyNest { /* a block and the loops around it, outer ones first */
    ml_Uid block;
    uint32_t n, accesses;
    ml_WhyNestLoop loop[ML_WHY_LOOPS];
    bool init, writes_param;
    uint32_t n_reads; /* buffers that it reads and does not write */
    struct {
        ml_Uid uid;
        bool param;
    } reads[ML_WHY_READS];
    ml_Uid writes; /* the first buffer that it writes */
} ml_WhyNest;

typedef struct ml_WhyTry {
    ml_Schedule *s; /* a fork */
    ml_Text line;   /* the calls so far */
    ml_Results r;   /* of the last one */
    ml_WhyNest nest;
    uint32_t lanes; /* elements of the block's type in a register */
    uint32_t threads;
} ml_WhyTry;

/* Applies `split("i", {auto, 4})`; false: it does not apply. */
bool ml_why_call(ml_WhyTry *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A name, quoted. Good until the next step. */
const char *ml_why_name(ml_WhyTry *t, ml_Uid uid);
/* Looks at the block anew; false: it has no loops, or more than there is room for. */
bool ml_why_look(ml_Schedule *s, ml_Uid block, ml_WhyNest *out);

#endif

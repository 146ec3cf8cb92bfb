/* step - random calls of primitives on a schedule, as Lua text with display names; legal
 * about half of the time. */
#ifndef ML_TESTS_FUZZ_STEP_H
#define ML_TESTS_FUZZ_STEP_H

#include "moonloop/primitives/intrin.h"
#include "moonloop/primitives/schedule/schedule_impl.h"
#include "program.h"

typedef struct FzFocus { /* what the steps before were about: biases the next one */
    ml_Uid block, made;  /* made: a block that a step returned */
    ml_Uid loops[4];
    int n_loops;
    int n_samples;    /* integers that the last sampling returned */
    const char *last; /* name of the primitive accepted last, or "" */
    uint64_t swarm;   /* which primitives the schedule prefers */
    bool chain;       /* it splits and fuses one nest in turn (step_chain.c) */
} FzFocus;

/* Whether the trial of that seed is one. */
bool fz_is_chain(uint64_t seed);

/* Stand for the results of the last sampling in a call's text. */
enum { FZ_SAMPLE = 900001 };

/* copy_TYPE_N_FROM_TO and sum_TYPE_N, for schedules that fz_step makes calls for; kept for
 * good. */
struct ml_Intrins *fz_intrins(void);

void fz_step(uint64_t *rnd, ml_Schedule *s, const FzFocus *focus, ml_Ctx *tmp,
             ml_Text *out);

#endif

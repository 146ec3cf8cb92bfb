/* propose - the steps that mend a cause, by the loops around a block and what its accesses do
 * there. Each takes an alternative from 0 and gives false where that one is none, or does not
 * apply. */
#ifndef ML_WORK_WHY_PROPOSE_H
#define ML_WORK_WHY_PROPOSE_H

#include "moonloop/work/why/step.h"

typedef bool ml_WhyPropose(ml_WhyTry *t, unsigned k);

ml_WhyPropose ml_why_vectorize;  /* a loop along which accesses move by one element */
ml_WhyPropose ml_why_accumulate; /* more results at once inside of a reduction */
ml_WhyPropose ml_why_parts;      /* a reduction in parts */
ml_WhyPropose ml_why_narrow;     /* fewer results at once */
ml_WhyPropose ml_why_unroll;     /* a short loop */
ml_WhyPropose ml_why_take_init;  /* out of the reduction */
ml_WhyPropose ml_why_parallel;
ml_WhyPropose ml_why_along;  /* the loop with the small strides goes inside */
ml_WhyPropose ml_why_swap;   /* two outer loops change places; blocks of a nest */
ml_WhyPropose ml_why_pack;   /* what is read is copied close together */
ml_WhyPropose ml_why_turn;   /* the same, its dimensions in another order */
ml_WhyPropose ml_why_inline; /* a stage goes into its readers, or under their loops */
ml_WhyPropose ml_why_move;   /* a stage goes under an outer loop of its readers */

/* Alternatives that are worth trying of each. */
enum { ML_WHY_ALTERNATIVES = 6 };

#endif

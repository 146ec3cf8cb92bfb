/* block_facts - what :block and the panes say of a block. Source: interaction 4, 10. */
#ifndef ML_REPL_SHOW_BLOCK_FACTS_H
#define ML_REPL_SHOW_BLOCK_FACTS_H

#include "moonloop/primitives/schedule.h"

typedef enum ml_BlockKind {
    ML_BLOCK_COMPLETE,
    ML_BLOCK_REDUCTION,
    ML_BLOCK_NEITHER,
} ml_BlockKind;

typedef struct ml_BlockFacts {
    ml_BlockKind kind;
    bool affine, covered, pipeline;
    /* Phrases, or NULL; those about kinds begin with the number of the condition. */
    const char *complete_why, *reduction_why, *affine_why;
    const char *cover_why, *pipeline_why; /* sentences; only when they were wanted */
    ml_UidVec producers, consumers;
} ml_BlockFacts;

/* Of a block of the schedule's version that is none of the roots; texts and lists in cx, a
 * fork of the schedule's context. why: also why it is not covered or no stage pipeline. */
void ml_block_facts(ml_Ctx *cx, ml_Schedule *s, int version, ml_Uid block, bool why,
                    ml_BlockFacts *out);

#endif

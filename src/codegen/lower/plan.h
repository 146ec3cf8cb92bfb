/* plan - what plan_allocations knows of loops, blocks and buffers. Internal. */
#ifndef ML_CODEGEN_LOWER_PLAN_H
#define ML_CODEGEN_LOWER_PLAN_H

#include "moonloop/codegen/lower/lower_impl.h"
#include "moonloop/verify/verify.h"

typedef struct ml_PlanNode { /* a loop or block */
    struct ml_PlanNode *up;
    const ml_Stmt *stmt;
    uint32_t depth;
    uint32_t n_allocs; /* buffers that are allocated here now */
    bool serial;       /* a parallel loop whose iterations may share an element */
} ml_PlanNode;

typedef struct ml_PlanAlign { /* an entry of buffer_dim_align about a buffer */
    const ml_Value *entry;
    const ml_PlanNode *block; /* that has it */
} ml_PlanAlign;

typedef struct ml_PlanBuffer {
    const ml_Buffer *buffer;
    ml_PlanNode *site; /* the block that allocates it */
    ml_PlanNode *at;   /* where it goes */
    ml_PlanNode *low;  /* the lowest place that sees all accesses */
    ML_VEC(ml_PlanAlign) align;
} ml_PlanBuffer;

typedef struct ml_Plan {
    ml_Lower *lo;
    const ml_Func *f;
    ml_Map *buffers;  /* uid -> ml_PlanBuffer, of those allocated in blocks */
    ml_Map *pointers; /* uid of the data pointer -> the same */
    ml_Map *nodes;    /* uid of a loop or block -> ml_PlanNode */
    ml_Map *loops;    /* uid of a loop's variables -> ml_PlanNode */
    ml_Map *bindings; /* uid of an iterator -> its value */
    ml_Map *known;    /* buffers that were defined so far */
    ml_PlanNode *cur;
    bool moved, failed;
    ml_Program program; /* of f alone, and facts of it: made when needed */
    ml_Facts *facts;
} ml_Plan;

const ml_Stmt *ml_plan_content(const ml_PlanNode *n); /* the body */
/* The block begins with giving a value to what it accumulates into. */
bool ml_plan_initialises(const ml_Block *b, const ml_Buffer *buf);
/* Whether all that one execution of n reads of the buffer was written in it before. */
bool ml_plan_defined_first(ml_Plan *p, const ml_PlanBuffer *r, const ml_PlanNode *n);
/* Raises r->at above loops around which the buffer carries a value, or may do. */
void ml_plan_raise_carried(ml_Plan *p, ml_PlanBuffer *r);
/* Parallel loops from the lowest place up to r->at, whose iterations will share the buffer,
 * become serial unless they use different elements of it. */
void ml_plan_keep_apart(ml_Plan *p, const ml_PlanBuffer *r);

#endif

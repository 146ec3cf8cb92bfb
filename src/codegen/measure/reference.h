/*
 * reference - what the start of a schedule leaves, and how far from it is right.
 *
 * What is small is interpreted, the rest compiled without contraction; the same in the next
 * wider type tells the bounds (bound.h). Checks, timings and searches all compare with
 * this. Source: interaction 8; lowering-and-codegen 12.11.
 */
#ifndef ML_CODEGEN_REFERENCE_H
#define ML_CODEGEN_REFERENCE_H

#include "moonloop/codegen/measure/run.h"

enum {
    ML_INTERP_REFERENCE = 10000000, /* innermost iterations below which the reference is
                                       interpreted */
    ML_WIDE_ONE_IN = 16, /* of the iterations of a start that is not interpreted, in the
                            next wider type; fewer of them where there are very many */
};

/* Where what is not small is run. */
typedef struct ml_StartRun {
    ml_Worker *worker;
    const ml_Target *target;
    double limit;         /* seconds; 0: by the iterations that are known of, 10 to 120 */
    const ml_Work *quick; /* a faster version, or NULL: where the start takes long, what it
                             leaves counts, if samples of the start in the wider type
                             agree with it */
    int64_t steps; /* of the interpreter; more (a loop without bounds) are compiled code's;
                      0: no limit */
} ml_StartRun;

/* Runs `start` on `initial`. by NULL: in the interpreter alone. NULL: cx's error. */
ML_GIVES ml_Reference *ml_reference_make(ml_Ctx *cx, const ml_Work *start,
                                         const ml_CheckOpts *opts,
                                         const ml_ParamRole *roles,
                                         const ml_RunArg *initial, const ml_StartRun *by);

#endif

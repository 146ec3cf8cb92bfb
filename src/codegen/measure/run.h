/*
 * run - programs as machine code in a worker: their text, their arguments, what they leave.
 * Source: lowering-and-codegen 12.
 */
#ifndef ML_CODEGEN_RUN_H
#define ML_CODEGEN_RUN_H

#include "moonloop/codegen/measure/check.h"
#include "moonloop/codegen/worker/worker.h"

/* A function with the text that a person sees; lines of reports are lines of it. */
typedef struct ml_Work {
    const ml_Module *mod;
    const ml_Func *func;
    const char *text;            /* NULL: printed by default rules */
    const ml_TargetKind *device; /* the GPU that it is for; NULL: none */
} ml_Work;
/* What a job carries of it beside its text, in cx; none where it has a text. */
ml_Binary ml_work_binary(ml_Ctx *cx, const ml_Work *work);

/* Arguments of f in shared memory. expected (may be NULL): what a run must leave, within
 * what opts and its bounds tolerate. NULL: cx's error. */
ML_GIVES ml_WorkSet *ml_arguments_share(ml_Ctx *cx, const ml_Func *f,
                                        const ml_ParamRole *roles, const ml_RunArg *initial,
                                        const ml_Reference *expected,
                                        const ml_CheckOpts *opts);
/* Made by the generators (opts NULL: random ones), for timing. */
ML_GIVES ml_WorkSet *ml_inputs_share(ml_Ctx *cx, const ml_Func *f,
                                     const ml_CheckOpts *opts);

typedef struct ml_Run {
    ml_Worker *worker;
    const ml_Target *target;
    const ml_Work *work;
    const ml_Func *func; /* of the parameters: what it was before layouts moved */
    const ml_ParamRole *roles;
    bool contract;
    double limit; /* seconds; 0: 10 */
} ml_Run;
/* Runs one program on the initial contents and reads what it wrote into `into`, whose
 * tensors are made where they are not those of `initial`. false: cx's error; a job that
 * failed is none. */
bool ml_run_compiled(ml_Ctx *cx, const ml_Run *run, const ml_RunArg *initial,
                     ml_RunArg *into, ml_JobResult *job);
/* Turns a failed job into cx's error; false. */
bool ml_job_fail(ml_Ctx *cx, const ml_JobResult *r, const char *name);

#endif

/* job - jobs and results as frames. */
#ifndef ML_CODEGEN_WORKER_JOB_H
#define ML_CODEGEN_WORKER_JOB_H

#include "moonloop/codegen/runtime/runtime.h"
#include "moonloop/codegen/worker/set.h"

void ml_job_pack(ml_Pack *p, const ml_Job *j);
void ml_job_pack_key(ml_Pack *p, const ml_Job *j); /* what decides the object */
/* Strings point into the frame. false: not a job. set stays NULL; its id goes to *set. */
bool ml_job_unpack(ml_Unpack *u, ml_Job *j, uint64_t *set);
void ml_result_pack(ml_Pack *p, const ml_JobResult *r);
/* Texts and lists are copied into cx, the object by malloc. */
bool ml_result_unpack(ml_Unpack *u, ml_Ctx *cx, ml_JobResult *r);

/* ---- what the worker asks of its runner */
typedef struct ml_RunJob {
    uint64_t set;
    uint64_t keep; /* 0, or under what the linked object stays; without an object: it is
                      to be there, and ML_FRAME_MISSING says that it is not */
    const char *symbol;  /* of the kernel: NAME_call */
    const char *body;    /* NAME_body: crash addresses are told relative to it */
    const char *library; /* instead of object and symbol */
    uint32_t want, timing, runs;
    bool cold;
    double best, checked;
    uint64_t memory_limit;
    uint32_t n_words;
    const ml_Word *words;  /* of tensors: not looked at */
    const int32_t *tensor; /* per word: argument whose data it points to, or -1 */
    const void *object;
    size_t object_bytes;
} ml_RunJob;
void ml_run_pack(ml_Pack *p, const ml_RunJob *r);
bool ml_run_unpack(ml_Unpack *u, ml_RunJob *r); /* points into the frame */

/* What is sent when a kernel dies. */
typedef struct ml_FaultReport {
    int32_t signal, detail; /* and si_code */
    int32_t argument;       /* whose mapping the address lies in or beside; -1 */
    int32_t stack;          /* 1: the address is where the stack pointer is */
    int64_t byte;           /* address less the argument's data, or that of the workspace */
    int64_t workspace;      /* bytes of the buffer there, in or beside which it lies; -1 */
    int64_t offset;         /* program counter less the body's address */
    uint64_t address;
} ml_FaultReport;

/* The runner's main loop, in the child; never returns. */
_Noreturn void ml_runner_main(int fd, ml_Codegen *code, ml_Sets sets);

#endif

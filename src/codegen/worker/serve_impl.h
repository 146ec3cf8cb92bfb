/* serve_impl - the state of a worker and of the job at work (worker/ only). */
#ifndef ML_CODEGEN_WORKER_SERVE_IMPL_H
#define ML_CODEGEN_WORKER_SERVE_IMPL_H

#include "moonloop/codegen/worker/job.h"

#include <sys/types.h>

enum { KEPT = 64 };

typedef struct ml_Lines { /* of a program whose statements came with ordinals */
    const ml_Module *mod;
    ml_Span *v;
    uint32_t n;
    bool known; /* they are lines of the printed text by now */
} ml_Lines;

typedef struct Kept { /* an object made before */
    uint64_t key;
    ml_Bytes object;
    uint64_t used;
    ml_Ctx *cx; /* of the program it was made of; NULL: that is not kept */
    const ml_Module *mod;
    const ml_Func *func, *lowered;
    ml_Lines *lines;
} Kept;

typedef struct ml_Server {
    int fd;
    ml_Codegen *code;
    ml_Target target; /* of code */
    int runner;       /* socket, -1: none */
    pid_t pid;
    ml_Sets sets;
    Kept kept[KEPT];
    uint64_t clock;
} ml_Server;

typedef struct ml_ServerJob {
    ml_Server *sv;
    ml_Ctx *cx;
    ml_Job job;
    uint64_t set_id;
    const ml_Module *mod;
    const ml_Func *func, *lowered;
    ml_Lines *lines; /* NULL: they came with the program */
    ml_Lower lower;
    uint64_t keep; /* the object's key, when it is to stay linked; 0 */
    ml_JobResult r;
} ml_ServerJob;

/* Sets the result's failure; false. By cx's error, or by words. */
bool ml_serve_fail(ml_ServerJob *w, const char *phase);
bool ml_serve_fail_text(ml_ServerJob *w, ml_ErrorCode code, const char *phase,
                        const char *text);

/* Makes lines of the ordinals that spans of the program have; false: they are lines. All
 * that was made from it points to the same spans. */
bool ml_serve_lines(ml_ServerJob *w);

/* Has the runner run the object (NULL: the job's library). */
bool ml_serve_run(ml_ServerJob *w, const ml_Bytes *object);
void ml_serve_stop_runner(ml_Server *sv);

#endif

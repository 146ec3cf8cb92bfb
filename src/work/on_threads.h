/* on_threads - programs over thread-bound loops, checked with their threads side by side. */
#ifndef ML_WORK_ON_THREADS_H
#define ML_WORK_ON_THREADS_H

#include "moonloop/codegen/machine/engine.h"
#include "moonloop/codegen/measure/compiled.h"

/* Whether there is a loop or an attribute over threads. */
bool ml_work_has_threads(const ml_Func *f);
/* ml_check of it. runs->loop_by_loop says when the threads could not run side by side. */
bool ml_check_on_threads(ml_Ctx *cx, ml_Engine *e, const ml_Work *ref, const ml_Work *got,
                         const ml_CheckOpts *opts, ml_CheckResult *r, ml_CheckRuns *runs);

#endif

/* fixture - a schedule to try calls on, for the tests of src/primitives. Calls are written
 * as in cases: fx_apply(fx, "split(\"i\", {auto, 4})"). */
#ifndef ML_TESTS_PRIMITIVES_FIXTURE_H
#define ML_TESTS_PRIMITIVES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "moonloop/primitives/schedule/schedule_impl.h"

typedef struct Fixture {
    ml_Ctx *module_cx;
    ml_Schedule *s;
    ml_Ctx *tmp;  /* of the calls' texts; emptied by the next call */
    ml_Results r; /* of the last call */
} Fixture;

/* C[i, j] += A[i, k] * B[k, j] over n, m, k; one block C under loops i, j, k, init 0. */
const ml_Module *fx_matmul_module(ml_Ctx *cx, int64_t n, int64_t m, int64_t k);
/* B = A + 1 in block B under loop i, C = B + 1 in block C under loop `second`. */
const ml_Module *fx_stages_module(ml_Ctx *cx, int64_t n, const char *second);
/* Takes over `cx`. */
void fx_open(Fixture *fx, ml_Ctx *cx, const ml_Module *m, const ml_ScheduleOpts *opts);
void fx_matmul(Fixture *fx, int64_t n, int64_t m, int64_t k);
void fx_stages(Fixture *fx, int64_t n, const char *second);
/* A program in the text dialect. */
void fx_text(Fixture *fx, const char *text);
void fx_close(Fixture *fx);

/* Calls, one after the other; true when all succeed. */
bool fx_try(Fixture *fx, const char *calls);
/* The same, failing the test with the error's sentence. */
void fx_apply(Fixture *fx, const char *calls);
/* The call fails with this code, and nothing but the error has changed. */
void fx_refuses(Fixture *fx, ml_ErrorCode code, const char *call);
ml_Handle fx_handle(Fixture *fx, const char *name);
/* The sentence of the last error. */
const char *fx_message(Fixture *fx);

#endif

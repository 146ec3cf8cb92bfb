/*
 * moonloop - the C interface: read a program, schedule it, check it, time it, print it.
 *
 *   ml_Ctx       owns everything of a program: ml_ctx_new, ml_ctx_unref
 *   ml_parse     a text becomes a module; all its diagnostics are in the result
 *   ml_print     a module becomes a text that reads back
 *   ml_schedule_new, ml_apply   steps by the name of a primitive, any argument as an
 *                ml_Arg; <moonloop/primitives.h> has a typed function for each primitive
 *   ml_check     compares two programs on random inputs
 *   ml_interpret runs one, every access checked
 *   ml_build     compiles a function, to be called on tensors (ml_built_call) and saved
 *   ml_engine_new        what compiles and runs: a target, threads, workers. They are the
 *                program moonloop (MOONLOOP_WORKER, beside the library, PATH) with LLVM
 *   ml_work_check        compares versions of a schedule, compiled where that is possible
 *   ml_timing_run        times a version, beside start, parent, best and the machine
 *   ml_profile_run       times its nests one by one
 *   ml_tuner_new, ml_records_best, ml_record_adopt   search, and what was found
 *
 * Errors are values: a function that fails returns false or NULL and leaves an ml_Error in
 * its context (ml_error) or schedule (ml_schedule_error); ml_failure_take keeps one with
 * what is needed to show it (ml_failure_render). Nothing sets errno, nothing ends the
 * program. One context is used by one thread at a time. Link libmoonloop.a with -lm
 * -lpthread, and -lsqlite3 for records.
 */
#ifndef ML_MOONLOOP_H
#define ML_MOONLOOP_H

#include "moonloop/codegen/interp/interp.h"
#include "moonloop/codegen/kernel/kernel.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/trace.h"
#include "moonloop/work/profile.h"
#include "moonloop/work/records.h"
#include "moonloop/work/roofs.h"
#include "moonloop/work/say.h"

/* The module as text, appended to *out (ml_text_free). cx is for scratch. */
static inline void ml_print(ml_Ctx *cx, ml_Text *out, const ml_Module *m)
{
    ml_print_module(cx, out, m, NULL);
}

#endif

/* work - versions of schedules as work for compiled code, and what a check of them is given.
 * Source: interaction 8. */
#ifndef ML_WORK_WORK_H
#define ML_WORK_WORK_H

#include "moonloop/codegen/lower/lower.h"
#include "moonloop/codegen/machine/engine.h"
#include "moonloop/primitives/schedule.h"

/* Function `at` of a version with the text that :show prints, in cx: what is told of a line
 * is told of that text. */
ml_Work ml_work_of(ml_Ctx *cx, ml_Schedule *s, int version, uint32_t at);
/* The function read from that text, so that spans are its lines, and *lo ready to lower it
 * for the engine's target; both in cx. NULL: cx's error. */
const ml_Func *ml_work_read(ml_Ctx *cx, ml_Engine *e, const ml_Work *w, ml_Lower *lo);
/* A worker is asked for a text of its code: "asm", "llvm". lines: with lines of the text. */
ml_Job ml_work_job(const ml_Engine *e, const ml_Work *w, const char *text, bool lines);
/* Why code for the schedule's own target cannot be made here, in cx; NULL: it can. */
const char *ml_work_foreign(ml_Ctx *cx, const ml_Schedule *s);
/* A loop of it that is bound to threads of a GPU; NULL: none. */
const ml_For *ml_work_bound(const ml_Func *f);
/* The same of a function: a loop of it is bound to threads of a GPU. */
const char *ml_work_for_gpu(ml_Ctx *cx, const ml_Func *f);
/* ml_check_compiled with the engine's worker; the outputs are named in *r. */
bool ml_work_check(ml_Ctx *cx, ml_Engine *e, const ml_Work *ref, const ml_Work *got,
                   const ml_CheckOpts *opts, ml_CheckResult *r, ml_CheckRuns *runs);

/* Whether function `at` of the start is compared with that of the current version: every
 * one that differs; when none does, the function worked on, or each where none is chosen.
 */
bool ml_checking_wants(const ml_Schedule *s, const ml_Module *start, uint32_t at);

/* What is wrong with the sizes given, NULL: nothing. Every one must be a size of some
 * function of the module (of f, when there is one), and be given once. */
const char *ml_checking_bad_size(ml_Ctx *cx, const ml_Module *m, const ml_Func *f,
                                 const ml_Size *sizes, size_t n);

/* Whether the error of a check tells about the current version: it ran and broke a rule. */
bool ml_checking_is_verdict(const ml_Error *e);

#endif

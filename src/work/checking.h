/* checking - what all that checks versions has in common: which functions of a module are
 * compared, and which symbolic sizes there are. Source: interaction 8. */
#ifndef ML_WORK_CHECKING_H
#define ML_WORK_CHECKING_H

#include "codegen/measure/check.h"
#include "primitives/schedule.h"

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

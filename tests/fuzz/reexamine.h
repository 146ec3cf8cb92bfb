/*
 * reexamine - whether a step that was refused would have been right.
 *
 * The step is applied to the same program in a schedule that skips the conditions of
 * legality (unchecked), then, where there is no such rewrite of it, to the program with its
 * loops made plain (from 0, without annotations and threads), and what it makes is compared
 * with what was there: well formed, its loop nests in order, and the same output for
 * several inputs, with all checks of the interpreter. The answer "right" is about this
 * program and these sizes: a rule that also holds for other values of a size may refuse it
 * with reason (src/primitives/prim/README.md, "refused by design").
 */
#ifndef ML_TESTS_FUZZ_REEXAMINE_H
#define ML_TESTS_FUZZ_REEXAMINE_H

#include "trial.h"

typedef enum FzVerdict {
    FZ_NOT_APPLIED, /* refused without the conditions, too: there is no such rewrite */
    FZ_WRONG, /* another output, a race, a read of what was not written, not well formed */
    FZ_RIGHT, /* refused though correct */
} FzVerdict;

/* One call as text, with display names, on function main of the module. n and flag are the
 * values of the parameters of these names. after, when not NULL, gets the program made. */
FzVerdict fz_reexamine(const ml_Module *m, const char *step, const FzProgram *sizes,
                       ml_Text *after);

#endif

/* checked - a schedule that computes the same must pass :check, whose inputs and bounds are
 * other than the trial's own. Source: interaction 8. */
#ifndef ML_TESTS_FUZZ_CHECKED_H
#define ML_TESTS_FUZZ_CHECKED_H

#include "trial_impl.h"

bool fz_passes_check(FzRun *r);

#endif

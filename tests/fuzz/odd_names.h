/* odd_names - the parameters of a random step's index map get names of some kind: later
 * steps name loops and blocks after them. */
#ifndef ML_TESTS_FUZZ_ODD_NAMES_H
#define ML_TESTS_FUZZ_ODD_NAMES_H

#include "step.h"

/* Of the step's text; a step without a map, and a third of the others, stay as they are. */
void fz_rename_parameters(uint64_t *rnd, ml_Text *step);

#endif

/* saved - a random schedule written to a file's text and read back. */
#ifndef ML_TESTS_FUZZ_SAVED_H
#define ML_TESTS_FUZZ_SAVED_H

#include "trial_impl.h"

/* What :save FILE.json writes, read back and replayed, gives a program of that hash in
 * which everything has the name it had. */
bool fz_saved_is_the_same(FzRun *r, uint64_t hash);
/* Whether loops, blocks and buffers are called the same in it; else the trial has failed.
 */
bool fz_same_names(FzRun *r, const char *kind, ml_Schedule *again);

#endif

/* words - what the columns of features are called by people. */
#ifndef ML_TUNE_FEATURE_WORDS_H
#define ML_TUNE_FEATURE_WORDS_H

#include <stdint.h>

/* "vector width"; columns that tell of one thing have the same words. "" beyond the last. */
const char *ml_feature_words(uint32_t column);

#endif

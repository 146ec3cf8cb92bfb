/* habits - what is typed here in the place of a word of other schedulers, of Python, of a shell:
 * for errors about names that are nothing. The table is habits.def. */
#ifndef ML_PRIMITIVES_HABITS_H
#define ML_PRIMITIVES_HABITS_H

#include "moonloop/core/base/base.h"

/* A phrase, "parallel("i")" for parallelize; NULL: nobody is used to the word. */
const char *ml_habit(const char *word);
/* The k-th row: its words with blanks between, its phrase; NULL: there is none. */
const char *ml_habit_words(size_t k);
const char *ml_habit_at(size_t k);

#endif

/* registered - the tensor intrinsics and reducers that a session has registered beside
 * those that are built in, for its autosave. Source: interaction 6. */
#ifndef ML_REPL_KEEP_REGISTERED_H
#define ML_REPL_KEEP_REGISTERED_H

#include "moonloop/core/json/json.h"
#include "moonloop/primitives/intrin.h"

typedef struct ml_Registered { /* how many were written; all zero at first */
    size_t intrins, reducers;
} ml_Registered;
/* Appends `, "registered": {…}` when there are more than were written; false: nothing. */
bool ml_registered_news(ml_Registered *r, ml_Intrins *t, ml_Text *out);
/* Registers what is not there yet; false: *why says what is wrong. j NULL: nothing. */
bool ml_registered_add(ml_Intrins *t, const ml_Json *j, ml_Text *why);

#endif

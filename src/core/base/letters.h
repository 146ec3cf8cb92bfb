/* letters - which characters make up names, in any script: those of Python's identifiers.
 * Source: UAX #31 (XID_Start, XID_Continue). */
#ifndef ML_CORE_LETTERS_H
#define ML_CORE_LETTERS_H

#include "moonloop/core/base/base.h"

/* The bytes of the character at p, when it may stand in a name (first: begin one); 0: it may
 * not, or is no UTF-8. p < end. */
size_t ml_letter(const char *p, const char *end, bool first);

#endif

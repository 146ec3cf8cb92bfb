/* utf8 - code points as bytes and back. Source: RFC 3629. */
#ifndef ML_CORE_UTF8_H
#define ML_CORE_UTF8_H

#include "moonloop/core/base/base.h"

/* Length of the valid sequence at p, 0: none (overlong and surrogates are not valid).
 * p < end. */
size_t ml_utf8_length(const char *p, const char *end);
/* Writes the code point (at most 0x10ffff) and gives its length. */
size_t ml_utf8_put(char z[4], uint32_t c);

#endif

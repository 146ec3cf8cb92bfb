/* utf8 - code points as bytes and back, and tables of them. Source: RFC 3629. */
#ifndef ML_CORE_UTF8_H
#define ML_CORE_UTF8_H

#include "moonloop/core/base/base.h"

/* Length of the valid sequence at p, 0: none (overlong and surrogates are not valid).
 * p < end. */
size_t ml_utf8_length(const char *p, const char *end);
/* Writes the code point (at most 0x10ffff) and gives its length. */
size_t ml_utf8_put(char z[4], uint32_t c);
/* The code point of a valid sequence of n bytes. */
uint32_t ml_utf8_get(const char *p, size_t n);

typedef struct ml_CodeRange {
    uint32_t from, to; /* both in it */
} ml_CodeRange;
/* Whether one of the ranges, which are in order, holds the code point. */
bool ml_code_among(const ml_CodeRange *v, size_t n, uint32_t c);

#endif

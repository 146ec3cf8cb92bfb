/* text - growing strings on the heap, for output. Appending cannot fail visibly: after the
 * first failed allocation the text stays as it was and `bad` is set, checked once at the
 * end. Not for IR: names of nodes live in arenas. */
#ifndef ML_CORE_TEXT_H
#define ML_CORE_TEXT_H

#include "moonloop/core/base/base.h"
#include <stdarg.h>

typedef struct ml_Text {
    char *p; /* zero-terminated when n > 0; NULL at first */
    size_t n, cap;
    bool bad;
} ml_Text;

void ml_text_free(ml_Text *t);
void ml_text_clear(ml_Text *t);
const char *ml_text_z(ml_Text *t); /* "" for an empty text */
void ml_text_add(ml_Text *t, const char *z);
void ml_text_addn(ml_Text *t, const char *p, size_t n);
/* Of any bytes: one that is part of no valid UTF-8 becomes U+FFFD, for whoever reads it. */
void ml_text_utf8(ml_Text *t, const char *p, size_t n);
void ml_text_char(ml_Text *t, char c);
void ml_text_repeat(ml_Text *t, char c, size_t n);
void ml_text_fmt(ml_Text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ml_text_vfmt(ml_Text *t, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
void ml_text_shell(ml_Text *t, const char *word); /* as it is, or in quotes */
void ml_text_int(ml_Text *t, int64_t v);
/* The shortest decimal that reads back to the same double, with a point or an exponent:
 * 2.0, 0.1, 1e-05; inf, -inf, nan by name. */
void ml_text_double(ml_Text *t, double v);
/* For %g: v, or a NaN without the sign that printf would show. */
static inline double ml_plain_nan(double v)
{
    return v != v ? __builtin_nan("") : v;
}

#endif

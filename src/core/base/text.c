/*
 * text - growing strings on the heap.
 *
 * Invariant: p[n] == 0 whenever p is not NULL. A failed allocation sets `bad` and leaves
 * the text as it was.
 */
#include "moonloop/core/base/text.h"

#include "moonloop/core/base/arena.h"
#include "moonloop/core/base/utf8.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Room for n more bytes and the final zero. */
static bool room(ml_Text *t, size_t n)
{
    if (t->bad)
        return false;
    if (n < t->cap - t->n)
        return true;
    size_t want = t->n + n + 1;
    size_t cap = t->cap ? t->cap : 64;
    if (want <= n || want > SIZE_MAX / 2) {
        t->bad = true;
        return false;
    }
    while (cap < want)
        cap *= 2;
    char *p = ml_heap_try_grow(t->p, cap);
    if (!p) {
        t->bad = true;
        return false;
    }
    t->p = p;
    t->cap = cap;
    return true;
}

void ml_text_free(ml_Text *t)
{
    ml_heap_free(t->p);
    *t = (ml_Text){0};
}

void ml_text_clear(ml_Text *t)
{
    t->n = 0;
    t->bad = false;
    if (t->p)
        t->p[0] = 0;
}

const char *ml_text_z(ml_Text *t)
{
    return t->p ? t->p : "";
}

void ml_text_add(ml_Text *t, const char *z)
{
    ml_text_addn(t, z, strlen(z));
}

void ml_text_addn(ml_Text *t, const char *p, size_t n)
{
    if (n == 0 || !room(t, n))
        return;
    memcpy(t->p + t->n, p, n);
    t->n += n;
    t->p[t->n] = 0;
}

void ml_text_utf8(ml_Text *t, const char *p, size_t n)
{
    static const char UNKNOWN[] = "\xef\xbf\xbd";

    for (const char *end = p + n; p < end;) {
        size_t k = ml_utf8_length(p, end);

        ml_text_addn(t, k ? p : UNKNOWN, k ? k : sizeof UNKNOWN - 1);
        p += k ? k : 1;
    }
}

void ml_text_char(ml_Text *t, char c)
{
    ml_text_addn(t, &c, 1);
}

void ml_text_repeat(ml_Text *t, char c, size_t n)
{
    if (n == 0 || !room(t, n))
        return;
    memset(t->p + t->n, c, n);
    t->n += n;
    t->p[t->n] = 0;
}

void ml_text_fmt(ml_Text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    ml_text_vfmt(t, fmt, ap);
    va_end(ap);
}

void ml_text_vfmt(ml_Text *t, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) {
        t->bad = true;
        return;
    }
    if (n == 0 || !room(t, (size_t)n))
        return;
    vsnprintf(t->p + t->n, (size_t)n + 1, fmt, ap);
    t->n += (size_t)n;
}

void ml_text_shell(ml_Text *t, const char *word)
{
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./=,:+@%";

    if (*word && word[strspn(word, PLAIN)] == '\0') {
        ml_text_add(t, word);
        return;
    }
    ml_text_char(t, '\'');
    for (; *word; word++)
        ml_text_add(t, *word == '\'' ? "'\\''" : (const char[]){*word, '\0'});
    ml_text_char(t, '\'');
}

void ml_text_int(ml_Text *t, int64_t v)
{
    char buf[24];
    char *p = buf + sizeof(buf);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        *--p = (char)('0' + u % 10);
        u /= 10;
    } while (u > 0);
    if (v < 0)
        *--p = '-';
    ml_text_addn(t, p, (size_t)(buf + sizeof(buf) - p));
}

/* Prints with `digits` significant digits; whether that reads back to the same bits. The
 * reading is done before the locale's decimal point is taken out. */
static bool try_digits(char *buf, size_t size, double v, int digits)
{
    snprintf(buf, size, "%.*g", digits, v);
    double back = strtod(buf, NULL);
    return memcmp(&back, &v, sizeof(v)) == 0;
}

/* Copies src, any locale's decimal point becoming '.'; returns whether a point or an
 * exponent is in it. */
static bool plain_point(char *dst, const char *src)
{
    bool marked = false;
    bool in_point = false;
    for (; *src; src++) {
        bool keep =
            (*src >= '0' && *src <= '9') || *src == '-' || *src == '+' || *src == 'e';
        marked = marked || !keep || *src == 'e';
        if (keep)
            *dst++ = *src;
        else if (!in_point)
            *dst++ = '.';
        in_point = !keep;
    }
    *dst = 0;
    return marked;
}

void ml_text_double(ml_Text *t, double v)
{
    char local[64], plain[64];

    if (isnan(v)) {
        ml_text_add(t, "nan");
        return;
    }
    if (isinf(v)) {
        ml_text_add(t, v < 0 ? "-inf" : "inf");
        return;
    }
    /* Every decimal of 15 digits survives a normal double, so that %.15g finds all shorter
     * ones; denormals hold fewer digits. */
    int digits = fabs(v) < DBL_MIN ? 1 : DBL_DIG;
    while (!try_digits(local, sizeof(local), v, digits) && digits < DBL_DECIMAL_DIG)
        digits++;
    bool marked = plain_point(plain, local);
    ml_text_add(t, plain);
    if (!marked)
        ml_text_add(t, ".0");
}

/*
 * base - what every file of moonloop may use: assertions, slices, ownership words, a clock,
 * a hash of bytes.
 *
 * ML_ASSERT guards the project's own invariants, never input (style: errors are values).
 */
#ifndef ML_CORE_BASE_H
#define ML_CORE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ML_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Ownership words, read by people: a parameter that is taken over, kept (not copied), a
 * result that the caller must release. Without a word a pointer is only looked at. */
#define ML_TAKES
#define ML_KEEPS
#define ML_GIVES

_Noreturn void ml_assert_failed(const char *what, const char *file, int line);
/* The memory of the machine is exhausted: the same end as a failed assertion. */
_Noreturn void ml_out_of_memory(void);
/* Called once, before the program ends with status 4: saves what must not be lost. */
void ml_set_assert_hook(void (*fn)(void));
#define ML_ASSERT(x) ((x) ? (void)0 : ml_assert_failed(#x, __FILE__, __LINE__))

/* A slice of text; not terminated by a zero byte. */
typedef struct ml_Str {
    const char *p;
    size_t n;
} ml_Str;

static inline ml_Str ml_str(const char *z)
{
    return (ml_Str){z, z ? strlen(z) : 0};
}

static inline bool ml_str_eq(ml_Str a, ml_Str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool ml_str_begins(ml_Str s, const char *with)
{
    size_t n = strlen(with);

    return s.n >= n && memcmp(s.p, with, n) == 0;
}

static inline bool ml_streq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Seconds of a clock that only goes forward. */
double ml_clock(void);

/* FNV-1a over n bytes, going on from h (ML_FNV at first): keys of tables and of what is
 * saved, so that it must not change. */
#define ML_FNV UINT64_C(0xcbf29ce484222325)
static inline uint64_t ml_fnv(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;

    for (size_t k = 0; k < n; k++)
        h = (h ^ p[k]) * UINT64_C(0x100000001b3);
    return h;
}

/* >= 0; of 0 and 0: 0; 2^63 has no sign: of it and 0 or itself 1. */
static inline int64_t ml_gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a,
             y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;

    while (y) {
        uint64_t t = x % y;
        x = y;
        y = t;
    }
    return x > (uint64_t)INT64_MAX ? 1 : (int64_t)x;
}

/* Identity number of a variable (loop, iterator, let, data pointer), a block or a buffer:
 * one counter per context, continued in forks and kept by imports. 0 means none. */
typedef uint32_t ml_Uid;

#endif

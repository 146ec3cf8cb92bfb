/*
 * base - what every file of moonloop may use: assertions, slices, ownership words.
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

/* Seconds of a clock that only goes on. */
double ml_now(void);

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

static inline bool ml_streq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Identity number of a variable (loop, iterator, let, data pointer), a block or a buffer:
 * one counter per context, continued in forks and kept by imports. 0 means none. */
typedef uint32_t ml_Uid;

#endif

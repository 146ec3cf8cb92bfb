/* core_test - what the tests of src/core share: cmocka and random numbers that repeat. */
#ifndef ML_TESTS_CORE_TEST_H
#define ML_TESTS_CORE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct Rng {
    uint64_t state;
} Rng;

static inline uint64_t rng_next(Rng *r)
{
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline uint32_t rng_below(Rng *r, uint32_t n)
{
    return (uint32_t)(rng_next(r) % n);
}

#endif

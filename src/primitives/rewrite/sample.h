/* sample - random draws as primitives 5 defines them: the same values for the same seed on
 * every machine. The state is the schedule's. */
#ifndef ML_PRIMITIVES_SAMPLE_H
#define ML_PRIMITIVES_SAMPLE_H

#include "moonloop/core/ctx.h"

/* One step of the generator: *state in [1, 2^31 - 2]. */
uint32_t ml_random_step(uint32_t *state);
/* Uniform on [lo, hi); hi > lo. */
int64_t ml_random_int(uint32_t *state, int64_t lo, int64_t hi);
/* Index by weight; n > 0, weights not negative, their sum positive. */
size_t ml_random_categorical(uint32_t *state, const double *weights, size_t n);
/* An integer as its prime powers, smallest prime first. */
typedef struct ml_Primes {
    int n;
    int64_t p[16], e[16];
} ml_Primes;
/* v >= 1. cx (may be NULL) is asked now and then whether to go on; false: it says stop. */
bool ml_factorise(ml_Ctx *cx, int64_t v, ml_Primes *out);
/* An ordered tuple of n >= 1 positive factors of `extent`, whose primes are given, uniform
 * over all such tuples; `scratch` has room for 2n + 64 numbers. */
void ml_random_tile(uint32_t *state, int64_t extent, const ml_Primes *primes, size_t n,
                    int64_t *scratch, int64_t *out);

#endif

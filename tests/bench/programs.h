/* programs - the programs that steps are timed on, 7 to 20 loops each, and the same among
 * 1,000 blocks. */
#ifndef ML_TESTS_BENCH_PROGRAMS_H
#define ML_TESTS_BENCH_PROGRAMS_H

#include "moonloop/core/base/text.h"

/* A function as text, and the steps that lead to where measuring begins. */
typedef struct Program {
    const char *name, *params, *body;
    const char *steps; /* or NULL */
    int blocks;
} Program;

extern const Program dense; /* product, bias, maximum: 7 loops */
extern const Program tiled; /* the same in tiles, with caches: 20 loops */
extern const Program conv;  /* padding, convolution, bias, maximum: 15 loops */
extern const Program
    conv8; /* the same of bytes, 30 steps from a tensorized nest: 19 loops */
extern const Program bytes;  /* product of bytes with packed weights, in tiles: 10 loops */
extern const Program chars;  /* product of bytes with a sign: 3 loops */
extern const Program zeros;  /* transposed convolution: 6 loops */
extern const Program padded; /* convolution of a padded image: 6 loops */
extern const Program update; /* a block that adds to what it reads: 7 loops */

/* Among enough elementwise stages, before and behind, that there are `blocks` blocks; 0:
 * alone. */
void program_text(const Program *p, int blocks, ml_Text *out);
/* Only such stages, S1 to Sn; loops p1, q1, ... */
void chain_text(int n, ml_Text *out);

#endif

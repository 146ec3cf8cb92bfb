/*
 * curves - lines over the number of trials, in characters: how far searches have come. For
 * :tune --compare. Source: interaction 11.
 */
#ifndef ML_REPL_SHOW_CURVES_H
#define ML_REPL_SHOW_CURVES_H

#include "moonloop/core/base/text.h"

typedef struct ml_Curve {
    const char *name;
    size_t n;
    const double *y; /* 0 to 1; NAN: nothing yet */
} ml_Curve;

/* The plot in at most that many columns (from 24 on) and lines (from 6 on), without colour: x
 * from 1 to the largest n, y from below the least to 1. A curve is drawn by a letter of its
 * own, a, b, c ..., from its second value at most to its end; where several lie on one place the
 * first is seen. A newline after each line; the last tells the letters. */
void ml_curves_draw(const ml_Curve *v, size_t n, int width, int height, ml_Text *out);

#endif

/* say - times and speeds as people read them. */
#ifndef ML_WORK_SAY_H
#define ML_WORK_SAY_H

#include "moonloop/core/base/text.h"

/* 2.15 G, 524 k, 64 ; three digits. */
void ml_text_si(ml_Text *t, double v);
void ml_text_thousands(ml_Text *t, int64_t v); /* 1,048,576 */
/* "36.8 ms", "1.02 s", "830 ns" */
void ml_text_seconds(ml_Text *t, double seconds);
/* The number alone, in the unit that ml_text_seconds gives `like`. */
void ml_text_seconds_like(ml_Text *t, double seconds, double like);
/* ` ±34 %` when the measurement is noisy: half of its runs lie within 34 % of the median,
 * the others further away. Nothing when that is 5 % or less. */
void ml_text_noise(ml_Text *t, double spread);
/* "58.4 GFLOP/s" */
void ml_text_rate(ml_Text *t, double flop, double seconds);
/* As versions keep it: the rate, or (flop 0) the time; with the noise. */
void ml_text_speed(ml_Text *t, double flop, double seconds, double spread);
/* That as a number, larger for the faster; 0: neither. *flops (may be NULL): it is a rate. */
double ml_speed_read(const char *speed, bool *flops);

#endif

/* say - times and speeds as people read them. */
#ifndef ML_WORK_SAY_H
#define ML_WORK_SAY_H

#include "moonloop/core/base/text.h"

/* 2.15 G, 524 k, 64 ; three digits. */
void ml_text_si(ml_Text *t, double v);
void ml_text_thousands(ml_Text *t, int64_t v); /* 1,048,576 */
/* "12 of 64 trials"; where earlier searches have more than were asked for that is said. */
void ml_text_trials(ml_Text *t, int64_t done, int64_t total);
/* "36.8 ms", "1.02 s", "830 ns" */
void ml_text_seconds(ml_Text *t, double seconds);
/* The number alone, in the unit that ml_text_seconds gives `like`. */
void ml_text_seconds_like(ml_Text *t, double seconds, double like);
/* "31.2 µs by exp", "20 µs by the bandwidth of L2"; limit: ml_roof_name. */
void ml_text_bound(ml_Text *t, double seconds, const char *limit);
/* "exp", "the peak", "the bandwidth of L2" */
void ml_text_limit(ml_Text *t, const char *limit);
/* ` ±34 %` when the measurement is noisy: half of its runs lie within 34 % of the median,
 * the others further away. Nothing when that is 5 % or less. */
void ml_text_noise(ml_Text *t, double spread);
/* What a speed is told of: operations, or the bytes that must move where the bandwidth is
 * the nearer roof; n 0: neither is known, and the time is told. */
typedef struct ml_Amount {
    double n;
    bool bytes;
} ml_Amount;
/* "58.4 GFLOP/s", "31.2 GB/s" */
void ml_text_rate(ml_Text *t, ml_Amount a, double seconds);
/* The same in units of 1e9, for a column: ml_rate_unit stands above it. */
void ml_text_giga(ml_Text *t, ml_Amount a, double seconds);
const char *ml_rate_unit(ml_Amount a); /* GFLOP/s, GB/s */
/* As versions keep it: the rate, or the time; with the noise. */
void ml_text_speed(ml_Text *t, ml_Amount a, double seconds, double spread);
/* That as a number, larger for the faster; 0: it is none. */
typedef enum ml_SpeedKind { ML_SPEED_TIME, ML_SPEED_FLOP, ML_SPEED_BYTES } ml_SpeedKind;
double ml_speed_read(const char *speed, ml_SpeedKind *kind);
/* Seconds of a run of so many operations and bytes; NAN: it does not say. */
double ml_speed_seconds(const char *speed, double flop, double bytes);

#endif

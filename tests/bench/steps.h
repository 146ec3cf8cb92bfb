/* steps - every primitive, timed: median and 99th of 100 on programs of 7 to 20 loops, the
 * slowest on a function of 1,000 blocks. */
#ifndef ML_TESTS_BENCH_STEPS_H
#define ML_TESTS_BENCH_STEPS_H

/* only: the rows of one primitive, or NULL. A primitive without a row is a missed target.
 */
void bench_steps(const char *only);

#endif

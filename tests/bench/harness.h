/* harness - what the benchmarks of this folder share: figures with their targets, the
 * clock, and schedules that are brought to where a measured step begins.
 *
 * Times are of the processor, so that neighbours on the machine do not matter. */
#ifndef ML_TESTS_BENCH_HARNESS_H
#define ML_TESTS_BENCH_HARNESS_H

#include "moonloop/primitives/schedule/schedule_impl.h"

/* ---- figures */
typedef struct Report {
    bool json; /* one object per line instead of a table */
    int missed;
} Report;
extern Report report;

/* One line: what, value, target, met or not. higher: at least the target, else at most. */
void figure(const char *what, double value, double target, const char *unit, bool higher);
/* The same outside of a table: counts what is missed. */
bool judge(double value, double target, bool higher);

double now(void); /* seconds of this process */
/* Of n values, which are sorted: the smallest that at least this share is no larger than.
 */
double quantile(double *v, size_t n, double share);
double median(double *v, size_t n);

/* ---- schedules */
typedef struct Bench {
    ml_Ctx *cx, *tmp;
    const ml_Module *mod;
    struct ml_Intrins *intrins; /* of all its schedules, as a session has them */
    ml_Schedule *s;
} Bench;

void die(const char *what, const ml_Error *e);
void bench_open(Bench *b, const char *text);
void bench_close(Bench *b);
/* A new schedule of the program. */
ml_Schedule *bench_schedule(Bench *b, bool unchecked);
void bench_restart(Bench *b); /* b->s is a new one */
/* Calls written as in cases, one after the other: split("i", {auto, 4}) parallel("i_0") */
void bench_apply(Bench *b, const char *calls);
/* The arguments of one call, with the names of loops and blocks looked up in b->s. */
void bench_resolve(Bench *b, const ml_CallText *call, ml_Arg *out);

#endif

/*
 * steps - see steps.h. Each measured call is the first on a schedule of its own that was
 * brought there by a replay: nothing of the step is remembered. Names are looked up before.
 */
#include "steps.h"

#include "harness.h"
#include "programs.h"

#include <stdio.h>

enum { REPEATS = 301, REPEATS_LARGE = 11, LARGE = 1000, MAX_ARGS = 16 };
#define P99_MS   0.5
#define LARGE_MS 5.0

typedef struct Row {
    const char *primitive;
    const Program *program;
    const char *before, *args;
    double target; /* of the median, ms */
} Row;

static const Row rows[] = {
#define BENCH_STEP(primitive, program, before, args, target)                               \
    {#primitive, &(program), before, args, target},
#include "steps.def"
};

/* Times of the row's call, each on a new schedule, in ms. */
static void sample(const Row *row, int blocks, double *v, size_t n)
{
    Bench one, *b = &one;
    ml_Text t = {0};
    ml_CallTexts calls = {0};
    ml_Trace way;

    program_text(row->program, blocks, &t);
    bench_open(b, ml_text_z(&t));
    if (row->program->steps)
        bench_apply(b, row->program->steps);
    bench_apply(b, row->before);
    way = ml_schedule_trace(b->s, b->tmp);
    ml_text_clear(&t);
    ml_text_fmt(&t, "%s%s", row->primitive, row->args);
    if (!ml_parse_calls(b->tmp, ml_str(ml_text_z(&t)), &calls))
        die(ml_text_z(&t), ml_error(b->tmp));
    for (size_t k = 0; k < n; k++) {
        Bench fresh = *b;
        ml_Arg args[MAX_ARGS];
        size_t done;

        fresh.s = bench_schedule(b, false);
        if (!ml_trace_apply(fresh.s, &way, false, NULL, NULL, &done))
            die("replay", ml_schedule_error(fresh.s));
        bench_resolve(&fresh, &calls.v[0], args);
        double start = now();
        bool ok = ml_apply_prim(fresh.s, calls.v[0].prim, args, calls.v[0].n, NULL);

        v[k] = 1e3 * (now() - start);
        if (!ok)
            die(ml_text_z(&t), ml_schedule_error(fresh.s));
        ml_schedule_unref(fresh.s);
    }
    ml_text_free(&t);
    bench_close(b);
}

typedef struct Slowest {
    const char *primitive;
    double ms;
} Slowest;

static void time_row(const Row *row, Slowest *slowest)
{
    double v[REPEATS];

    sample(row, 0, v, REPEATS);
    double middle = median(v, REPEATS), late = quantile(v, REPEATS, 0.99);

    sample(row, LARGE, v, REPEATS_LARGE);
    double large = quantile(v, REPEATS_LARGE, 1);
    bool met = judge(middle, row->target, false);

    met = judge(late, P99_MS, false) && met;
    met = judge(large, LARGE_MS, false) && met;
    if (large > slowest->ms)
        *slowest = (Slowest){row->primitive, large};
    if (report.json)
        printf("{\"name\": \"%s\", \"program\": \"%s\", \"value\": %.6g, \"target\": %g, "
               "\"p99\": %.6g, \"p99_target\": %g, \"large\": %.6g, \"large_target\": %g, "
               "\"unit\": \"ms\", \"met\": %s}\n",
               row->primitive, row->program->name, middle, row->target, late, P99_MS, large,
               LARGE_MS, met ? "true" : "false");
    else
        printf("%-26s %-8s %8.4f <= %.2f  %8.4f <= %.1f  %8.3f <= %.0f  %s\n",
               row->primitive, row->program->name, middle, row->target, late, P99_MS, large,
               LARGE_MS, met ? "met" : "NOT MET");
    fflush(stdout);
}

static bool has_row(const char *name)
{
    for (size_t k = 0; k < ML_COUNT(rows); k++)
        if (ml_streq(rows[k].primitive, name))
            return true;
    return false;
}

void bench_steps(const char *only)
{
    Slowest slowest = {"", 0};

    if (!report.json)
        printf("%-26s %-8s %16s  %15s  %13s\n", "primitive (ms)", "program", "median",
               "p99", "1,000 blocks");
    for (size_t k = 0; k < ML_COUNT(rows); k++)
        if (!only || ml_streq(rows[k].primitive, only))
            time_row(&rows[k], &slowest);
    for (size_t k = 0; k < ml_n_primitives && !only; k++)
        if (!has_row(ml_primitives[k]->name)) {
            char what[80];

            snprintf(what, sizeof what, "rows of %s", ml_primitives[k]->name);
            figure(what, 0, 1, "", true);
        }
    if (!only) {
        char what[80];

        snprintf(what, sizeof what, "slowest step on 1,000 blocks: %s", slowest.primitive);
        figure(what, slowest.ms, LARGE_MS, "ms", false);
    }
}

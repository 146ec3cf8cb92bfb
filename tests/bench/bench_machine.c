/*
 * bench_machine - what a parallel loop and the probe of the machine cost.
 *
 * One line per figure, as bench_primitives writes them. The time of a parallel loop is that
 * of a program with one store in each of two iterations, called back to back in a runner,
 * without the time of the same program in series. Source: lowering-and-codegen 7.5, 8.1.
 */
#include "moonloop/codegen/machine/machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static bool json;
static int missed;

static void report(const char *what, double value, double target, const char *unit)
{
    bool met = value <= target;

    missed += !met;
    if (json)
        printf("{\"name\": \"%s\", \"value\": %.6g, \"target\": %.6g, \"unit\": \"%s\", "
               "\"met\": %s}\n",
               what, value, target, unit, met ? "true" : "false");
    else
        printf("%-58s %10.4g  <= %8.4g %-5s %s\n", what, value, target, unit,
               met ? "met" : "NOT MET");
    fflush(stdout);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double probe(ml_Ctx *cx, ml_Engine *e, bool quick, ml_Machine *m)
{
    double start = now();

    if (!ml_machine_measure(cx, e, quick, m)) {
        const ml_Error *x = ml_error(cx);

        fprintf(stderr, "bench_machine: %s: %s\n", ml_error_code(x->code),
                x->n_facts && x->facts[0].kind == ML_FACT_TEXT ? x->facts[0].as.text : "");
        exit(2);
    }
    return now() - start;
}

int main(int argc, char **argv)
{
    const char *program = getenv("MOONLOOP");
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Engine *e = ml_engine_new();
    ml_Machine m;

    json = argc > 1 && ml_streq(argv[1], "--json");
    if (ml_backend_find("llvm") == NULL) {
        fprintf(stderr, "bench_machine: skipped: libLLVM 19 is not there\n");
        return 0;
    }
    if (program && !getenv("MOONLOOP_WORKER"))
        (void)setenv("MOONLOOP_WORKER", program, 1);
    report("peaks of this machine, the worker's start included",
           1e3 * probe(cx, e, true, &m), 150, "ms");
    report("all figures of this machine", 1e3 * probe(cx, e, false, &m), 1500, "ms");
    report("call of a compiled function", 1e9 * m.call, 10, "ns");
    ml_engine_set_threads(e, 2);
    if (ml_engine_target(e)->cores < 2) {
        fprintf(stderr, "bench_machine: no parallel loop: one core\n");
    } else {
        if (m.threads != 2)
            (void)probe(cx, e, false, &m);
        report("parallel loop over two threads, back to back", 1e6 * m.fork_join, 2, "us");
    }
    ml_engine_free(e);
    ml_ctx_unref(cx);
    if (!json)
        printf(missed ? "%d targets not met\n" : "all targets met\n", missed);
    return 0;
}

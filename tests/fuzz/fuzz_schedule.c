/*
 * fuzz_schedule - random programs under random schedules, against the oracle.
 *
 *   fuzz_schedule N SEED           N programs; exit 1 and a shrunk script at each failure
 *   fuzz_schedule N SEED compile=K one in K last versions is compiled and run (10; 0: none)
 *                                  (FZ_CC=COMMAND in the environment: printed as C for it)
 *   fuzz_schedule N SEED refused   what is refused is tried again without the conditions: a
 *                                  table of refusals that were not needed; FZ_SHOW=CODE
 *                                  in the environment shows the programs (empty: all codes)
 *   fuzz_schedule N SEED faults    with -DML_FAULTS: each built-in fault must be found
 *   fuzz_schedule 1 SEED plan STAGES CAP OFF [code=C] 'step' ...   one plan under the given
 *                                  steps; code: every version is compiled, as C says
 *
 * The output for a seed is always the same. Source: style 10.
 */
#include "compiled.h"
#include "moonloop/core/base/fault.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_FAILURES = 10 };

/* compile as asked for, 0 when there is no compiler. */
static int compiling(int compile)
{
    const char *why;

    if (compile == 0 || fz_compiler(&why))
        return compile;
    printf("nothing is compiled: %s\n", why);
    return 0;
}

static void print_failure(FzTrial *t)
{
    ml_Text out = {0};

    fz_shrink(t);
    fz_report(t, &out);
    fputs(ml_text_z(&out), stdout);
    fflush(stdout);
    ml_text_free(&out);
}

static void print_stats(const FzStats *s)
{
    printf("%lld programs, %lld steps, %lld runs, %lld not judged (threads-cooperate, "
           "too-large), "
           "%lld start versions refused\n",
           (long long)s->programs, (long long)s->steps, (long long)s->runs,
           (long long)s->not_judged, (long long)s->start_refused);
    printf(
        "%lld versions to compile: %lld compiled, %lld run, %lld refused for a GPU, %lld "
        "for a dtype\n",
        (long long)s->to_compile, (long long)s->compiled, (long long)s->ran,
        (long long)s->for_gpu, (long long)s->not_supported);
    printf("%-24s %8s %8s %5s  %s\n", "primitive", "tried", "accepted", "%", "refused");
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const FzCount *c = &s->prims[k];
        if (c->tried == 0)
            continue;
        printf("%-24s %8lld %8lld %5.1f ", ml_primitives[k]->name, (long long)c->tried,
               (long long)c->accepted, 100.0 * (double)c->accepted / (double)c->tried);
        for (int e = 0; e < ML_E_COUNT; e++)
            if (c->refused[e])
                printf(" %s %lld", ml_error_code((ml_ErrorCode)e),
                       (long long)c->refused[e]);
        printf("\n");
    }
}

static void print_refusals(const FzStats *s)
{
    printf("%-24s %-28s %8s %8s %8s\n", "primitive", "refused with", "refused", "applied",
           "right");
    for (size_t k = 0; k < ml_n_primitives; k++)
        for (int e = 0; e < ML_E_COUNT; e++)
            if (s->prims[k].applied[e])
                printf("%-24s %-28s %8lld %8lld %8lld\n", ml_primitives[k]->name,
                       ml_error_code((ml_ErrorCode)e), (long long)s->prims[k].refused[e],
                       (long long)s->prims[k].applied[e], (long long)s->prims[k].right[e]);
}

static int campaign(int64_t n, uint64_t seed, int compile, bool reexamine)
{
    FzStats stats = {.reexamine = reexamine,
                     .prims = calloc(ml_n_primitives, sizeof(FzCount))};
    FzProgress progress = fz_progress("schedules", n, seed);
    int failures = 0;

    for (int64_t k = 0; k < n && failures < MAX_FAILURES; k++) {
        FzTrial t = fz_trial(seed, k);
        fz_progress_step(&progress, k, failures);
        t.plan.compile = compile;
        if (getenv("FZ_TRACE"))
            fprintf(stderr, "program %llu\n", (unsigned long long)t.plan.seed);
        fz_run(&t, true, &stats);
        if (t.failed) {
            failures++;
            print_failure(&t);
        }
        fz_trial_clear(&t);
    }
    print_stats(&stats);
    if (reexamine)
        print_refusals(&stats);
    printf("seed %llu: %d failures\n", (unsigned long long)seed, failures);
    free(stats.prims);
    return failures ? 1 : 0;
}

#ifdef ML_FAULTS
static int faults(int64_t n, uint64_t seed)
{
    static const char *const names[] = {
#define ML_FAULT_NAME(id, text) text,
#include "moonloop/core/base/fault.def"
#undef ML_FAULT_NAME
    };
    int missed = 0, found = 0;

    printf("%-64s %s\n", "fault", "found by");
    for (size_t f = 0; f < ML_COUNT(names); f++) {
        FzTrial t = {0};
        int64_t k = 0;

        ml_fault = (int)f + 1;
        if (ml_fault >= ML_FAULT_VECTOR_MASK && !compiling(1)) {
            printf("%-64s not looked for\n", names[f]);
            continue;
        }
        for (; k < n && !t.failed; k++) {
            fz_trial_clear(&t);
            t = fz_trial(seed, k);
            t.plan.compile = ml_fault >= ML_FAULT_VECTOR_MASK;
            fz_run(&t, true, NULL);
        }
        if (t.failed)
            printf("%-64s %s, program %lld\n", names[f], t.kind, (long long)k);
        else
            printf("%-64s NOT FOUND in %lld programs\n", names[f], (long long)n);
        missed += !t.failed;
        found += t.failed;
        fflush(stdout);
        fz_trial_clear(&t);
    }
    ml_fault = 0;
    printf("seed %llu: %d of %d faults found\n", (unsigned long long)seed, found,
           (int)ML_COUNT(names));
    return missed ? 1 : 0;
}
#endif

/* One plan under steps given as text: what a report names. */
static int one_plan(uint64_t seed, int argc, char **argv)
{
    FzTrial t = {.plan.seed = seed};

    t.plan.stages = (int)strtol(argv[0], NULL, 10);
    t.plan.cap = (int)strtol(argv[1], NULL, 10);
    t.plan.off = (uint32_t)strtoul(argv[2], NULL, 0);
    for (int k = 3; k < argc && t.n_steps < FZ_MAX_STEPS; k++)
        if (strncmp(argv[k], "code=", 5) == 0) {
            t.plan.compile = compiling(1);
            t.plan.code = (uint32_t)strtoul(argv[k] + 5, NULL, 10);
        } else {
            t.steps[t.n_steps++] = strdup(argv[k]);
        }
    fz_run(&t, false, NULL);
    if (t.failed) {
        ml_Text out = {0};
        fz_report(&t, &out);
        fputs(ml_text_z(&out), stdout);
        ml_text_free(&out);
    } else {
        printf("no failure\n");
    }
    int bad = t.failed;
    fz_trial_clear(&t);
    return bad;
}

static int run(int argc, char **argv)
{
    int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    int compile = 10;

    if (argc > 6 && strcmp(argv[3], "plan") == 0)
        return one_plan(seed, argc - 4, argv + 4);
    if (argc > 3 && strcmp(argv[3], "faults") == 0) {
#ifdef ML_FAULTS
        return faults(n < 5000 ? 5000 : n, seed);
#else
        fprintf(stderr, "the faults need a build with FAULTS=1\n");
        return 2;
#endif
    }
    if (argc > 3 && strncmp(argv[3], "compile=", 8) == 0)
        compile = (int)strtol(argv[3] + 8, NULL, 10);
    if (argc > 3 && strcmp(argv[3], "refused") == 0)
        return campaign(n, seed, 0, true);
    return campaign(n, seed, compiling(compile), false);
}

int main(int argc, char **argv)
{
    int status;

    fz_print_for(getenv("FZ_CC"));
    status = run(argc, argv);
    fz_compiler_close();
    return status;
}

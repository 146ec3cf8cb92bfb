/*
 * bench_primitives - how fast steps, replays, printing, parsing, the oracle and the start
 * are.
 *
 * One line per figure: what, value, target, met or not; with --json one JSON object per
 * line. Times are of the processor (but for the start); those of steps include all their
 * checks. Source: DESIGN 5.
 */
#include "harness.h"
#include "moonloop/codegen/interp/interp.h"
#include "programs.h"
#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 51, LARGE = 1000 };

/* A program after its steps. */
static void open_program(Bench *b, const Program *p)
{
    ml_Text t = {0};

    program_text(p, 0, &t);
    bench_open(b, ml_text_z(&t));
    ml_text_free(&t);
    if (p->steps)
        bench_apply(b, p->steps);
}

static void replay(const Program *p, bool unchecked, double target)
{
    Bench one, *b = &one;
    char what[80];
    size_t done;
    int n = 0;

    open_program(b, p);
    ml_Trace t = ml_schedule_trace(b->s, b->tmp);
    uint64_t hash = ml_schedule_hash(b->s);
    double start = now(), spent;

    do {
        ml_Schedule *s = bench_schedule(b, unchecked);
        if (!ml_trace_apply(s, &t, false, NULL, NULL, &done))
            die("replay", ml_schedule_error(s));
        if (n == 0 && ml_schedule_hash(s) != hash)
            die("replay gives another program", NULL);
        ml_schedule_unref(s);
        n++;
        spent = now() - start;
    } while (spent < 1.0);
    snprintf(what, sizeof what, "replays of a %d-step trace, %s%s",
             ml_schedule_version(b->s), p->name, unchecked ? ", unchecked" : "");
    figure(what, (double)n / spent, target, "1/s", true);
    bench_close(b);
}

static void printing(const Program *p)
{
    Bench one, *b = &one;
    double v[REPEATS];

    open_program(b, p);
    for (int k = 0; k < REPEATS; k++) {
        ml_PrintOpts opts = {.spelling = -1};
        ml_Text t = {0};
        double start = now();
        ml_schedule_print(b->s, ml_schedule_version(b->s), &t, &opts);
        v[k] = now() - start;
        ml_text_free(&t);
    }
    figure("print of 20 loops", 1e3 * median(v, REPEATS), 0.1, "ms", false);
    bench_close(b);
}

/* `#` stands for the number of a stage, `+` for that of the next. */
static void numbered(ml_Text *out, const char *pattern, int stage)
{
    ml_text_clear(out);
    for (; *pattern; pattern++)
        if (*pattern == '#' || *pattern == '+')
            ml_text_int(out, stage + (*pattern == '+'));
        else
            ml_text_char(out, *pattern);
}

/* Medians of six steps, summed, each on a block that was not touched before: what is known
 * of the scope is known, what is asked about the block is not. */
static double of_blocks(int n)
{
    static const char *const six[] = {
        "split(\"p#\", 4)", "reorder(\"q#\", \"p#\")",      "fuse(\"p#\", \"q#\")",
        "parallel(\"p#\")", "annotate(\"p#\", \"key\", 1)", "compute_at(\"S#\", \"p+\")"};
    ml_Text t = {0};
    Bench one, *b = &one;
    double v[ML_COUNT(six)][REPEATS], sum = 0;

    chain_text(n, &t);
    bench_open(b, ml_text_z(&t));
    for (int k = 0; k < REPEATS; k++) {
        int at = 2 + k % 8;

        if (at == 2) { /* a fresh schedule, and one step to begin with */
            bench_restart(b);
            bench_apply(b, "compute_at(\"S1\", \"p2\")");
            ml_schedule_undo(b->s, 1);
        }
        if (at >= n)
            at = n - 1;
        ml_CallTexts calls = {0};
        ml_Arg args[ML_COUNT(six)][8];

        for (size_t m = 0; m < ML_COUNT(six); m++) {
            numbered(&t, six[m], at);
            if (!ml_parse_calls(b->tmp, ml_str(ml_text_z(&t)), &calls))
                die(ml_text_z(&t), ml_error(b->tmp));
            bench_resolve(b, &calls.v[m], args[m]);
        }
        for (size_t m = 0; m < ML_COUNT(six); m++) {
            double start = now();
            bool ok = ml_apply_prim(b->s, calls.v[m].prim, args[m], calls.v[m].n, NULL);

            v[m][k] = now() - start;
            if (!ok)
                die(six[m], ml_schedule_error(b->s));
            ml_schedule_undo(b->s, 1);
        }
    }
    for (size_t m = 0; m < ML_COUNT(six); m++)
        sum += median(v[m], REPEATS);
    bench_close(b);
    ml_text_free(&t);
    return sum;
}

static void parsing(void)
{
    ml_Text t = {0};
    double v[5];

    chain_text(1110, &t); /* 9 lines each */
    for (int k = 0; k < 5; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        double start = now();
        ml_Parsed p = ml_parse(cx, ml_str(ml_text_z(&t)), NULL);
        v[k] = now() - start;
        if (!p.mod)
            die("parse", NULL);
        ml_ctx_unref(cx);
    }
    figure("parse of 10,000 lines", 1e3 * median(v, 5), 50, "ms", false);
    ml_text_free(&t);
}

static void oracle(void)
{
    static const char matmul[] =
        "@T.prim_func\n"
        "def main(A: T.Buffer((216, 216), \"float32\"), B: T.Buffer((216, 216), "
        "\"float32\"),\n"
        "         C: T.Buffer((216, 216), \"float32\")):\n"
        "    for i, j, k in T.grid(216, 216, 216):\n"
        "        with T.block(\"C\"):\n"
        "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
        "            with T.init():\n"
        "                C[vi, vj] = T.float32(0)\n"
        "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(matmul), NULL);
    ml_RunArg args[3] = {{0}};
    int64_t shape[2] = {216, 216};
    double start;

    for (uint32_t k = 0; k < 3; k++) {
        args[k].tensor = ml_tensor_new(cx, ML_DT_F32, shape, 2);
        ml_tensor_fill(args[k].tensor, ML_FILL_RANDOM, "bench", k, 1, 0, 0);
    }
    start = now();
    if (!ml_interpret(cx, p.mod, p.mod->funcs[0], args, 3, NULL, NULL))
        die("oracle", ml_error(cx));
    figure("oracle, 10^7 innermost iterations of a product", now() - start, 2, "s", false);
    for (int k = 0; k < 3; k++)
        ml_tensor_free(args[k].tensor);
    ml_ctx_unref(cx);
}

/* 10,000 steps and undos, compacted now and then as a session does. */
static void memory(void)
{
    Bench one, *b = &one;
    struct rusage use;

    open_program(b, &dense);
    ml_schedule_set_undo_limit(b->s, 1000);
    for (int k = 0; k < 10000; k++) {
        char call[40];

        ml_ctx_reset(b->tmp);
        snprintf(call, sizeof call, "split(\"i\", {auto, %d})", 2 + k % 7);
        bench_apply(b, call);
        ml_schedule_undo(b->s, 1);
        if (k % 100 == 99)
            ml_schedule_compact(b->s);
    }
    getrusage(RUSAGE_SELF, &use);
    figure("memory after 10,000 steps and undos", (double)use.ru_maxrss / 1024, 200, "MiB",
           false);
    bench_close(b);
}

static void start_up(void)
{
    const char *program = getenv("MOONLOOP");
    double wall[21], cpu[21];
    struct timespec from, to;

    if (!program || access(program, X_OK) != 0) {
        if (!report.json)
            printf("start-up: not measured (MOONLOOP does not name the program)\n");
        return;
    }
    for (int k = 0; k < 21; k++) {
        struct rusage a, z;
        int status = 0;
        clock_gettime(CLOCK_MONOTONIC, &from);
        getrusage(RUSAGE_CHILDREN, &a);
        pid_t pid = fork();
        if (pid == 0) {
            execl(program, program, "-b", "-e", "", (char *)NULL);
            _exit(127);
        }
        waitpid(pid, &status, 0);
        clock_gettime(CLOCK_MONOTONIC, &to);
        wall[k] =
            (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
        getrusage(RUSAGE_CHILDREN, &z);
        cpu[k] = (double)(z.ru_utime.tv_sec - a.ru_utime.tv_sec) +
                 (double)(z.ru_stime.tv_sec - a.ru_stime.tv_sec) +
                 1e-6 * (double)(z.ru_utime.tv_usec - a.ru_utime.tv_usec) +
                 1e-6 * (double)(z.ru_stime.tv_usec - a.ru_stime.tv_usec);
        if (status != 0) {
            printf("start-up: the program failed\n");
            report.missed++;
            return;
        }
    }
    figure("start-up, wall", 1e3 * median(wall, 21), 40, "ms", false);
    figure("start-up, CPU", 1e3 * median(cpu, 21), 20, "ms", false);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    report.json = ml_streq(what, "--json");
    /* parts of it, for a profiler */
    if (ml_streq(what, "--step")) {
        bench_steps(argc > 2 ? argv[2] : NULL);
        return 0;
    }
    if (ml_streq(what, "--blocks")) {
        figure("six steps on 1,000 blocks", 1e3 * of_blocks(LARGE), 1, "ms", false);
        return 0;
    }
    if (ml_streq(what, "--replay")) {
        replay(argc > 2 && ml_streq(argv[2], "tiled") ? &tiled : &conv8, false, 2000);
        return 0;
    }
    memory(); /* first: the peak of the process is what is reported */
    bench_steps(NULL);
    printing(&tiled);
    replay(&tiled, false, 5000);
    replay(&tiled, true, 12000);
    replay(&conv8, false, 2000);
    figure("six steps on 1,000 blocks, against 10 blocks", of_blocks(LARGE) / of_blocks(10),
           3, "times", false);
    parsing();
    oracle();
    start_up();
    if (!report.json && report.missed > 0)
        printf("%d targets not met\n", report.missed);
    else if (!report.json)
        printf("all targets met\n");
    return 0;
}

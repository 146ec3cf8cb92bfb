/*
 * bench_primitives - how fast steps, replays, printing, parsing, the oracle and the start
 * are.
 *
 * One line per figure: what, value, target, met or not; with --json one JSON object per
 * line. Times are of the processor (but for the start), so that neighbours on the machine
 * do not matter; those of steps are medians, and a step includes all its checks. Source:
 * DESIGN 5.
 */
#include "codegen/interp.h"
#include "primitives/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 51 };

static bool json;
static int missed;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* higher: the value should be at least the target. */
static void report(const char *what, double value, double target, const char *unit,
                   bool higher)
{
    bool met = higher ? value >= target : value <= target;

    missed += !met;
    if (json)
        printf("{\"name\": \"%s\", \"value\": %.6g, \"target\": %.6g, \"unit\": \"%s\", "
               "\"met\": %s}\n",
               what, value, target, unit, met ? "true" : "false");
    else
        printf("%-58s %10.4g  %s %8.4g %-5s %s\n", what, value,
               higher ? ">=" : "<=", target, unit, met ? "met" : "NOT MET");
    fflush(stdout);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return v[n / 2];
}

/* ---- programs */

static const char dense[] = "@T.prim_func\n"
                            "def main(A: T.Buffer((1024, 1024), \"float32\"), B: "
                            "T.Buffer((1024, 1024), \"float32\"),\n"
                            "         bias: T.Buffer((1024,), \"float32\"), D: "
                            "T.Buffer((1024, 1024), \"float32\")):\n"
                            "    C = T.alloc_buffer((1024, 1024))\n"
                            "    E = T.alloc_buffer((1024, 1024))\n"
                            "    for i, j, k in T.grid(1024, 1024, 1024):\n"
                            "        with T.block(\"C\"):\n"
                            "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                            "            with T.init():\n"
                            "                C[vi, vj] = T.float32(0)\n"
                            "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"
                            "    for m, n in T.grid(1024, 1024):\n"
                            "        with T.block(\"E\"):\n"
                            "            vi, vj = T.axis.remap(\"SS\", [m, n])\n"
                            "            E[vi, vj] = C[vi, vj] + bias[vj]\n"
                            "    for x, y in T.grid(1024, 1024):\n"
                            "        with T.block(\"D\"):\n"
                            "            vi, vj = T.axis.remap(\"SS\", [x, y])\n"
                            "            D[vi, vj] = T.max(E[vi, vj], T.float32(0))\n";

/* n elementwise stages, one after the other. */
static void chain(ml_Text *out, int n)
{
    ml_text_add(out, "@T.prim_func\ndef main(B0: T.Buffer((64, 64), \"float32\"), ");
    ml_text_fmt(out, "B%d: T.Buffer((64, 64), \"float32\")):\n", n);
    for (int k = 1; k < n; k++)
        ml_text_fmt(out, "    B%d = T.alloc_buffer((64, 64))\n", k);
    for (int k = 1; k <= n; k++)
        ml_text_fmt(out,
                    "    for i in range(64):\n"
                    "        for j in range(64):\n"
                    "            with T.block(\"B%d\"):\n"
                    "                vi = T.axis.spatial(64, i)\n"
                    "                vj = T.axis.spatial(64, j)\n"
                    "                T.reads(B%d[vi, vj])\n"
                    "                T.writes(B%d[vi, vj])\n"
                    "                B%d[vi, vj] = B%d[vi, vj] + T.float32(1)\n",
                    k, k - 1, k, k, k - 1);
}

typedef struct Bench {
    ml_Ctx *cx, *tmp;
    const ml_Module *mod;
    ml_Schedule *s;
} Bench;

static void die(const char *what, const ml_Error *e)
{
    fprintf(stderr, "bench_primitives: %s: %s\n", what, e ? ml_error_code(e->code) : "?");
    exit(2);
}

static ml_Schedule *schedule(Bench *b, bool unchecked)
{
    ml_ScheduleOpts opts = {.unchecked = unchecked};
    const ml_Error *e = NULL;
    ml_Schedule *s = ml_schedule_new(b->cx, b->mod, &opts, &e);

    if (!s)
        die("schedule", e);
    return s;
}

static void bench_open(Bench *b, const char *text)
{
    ml_Parsed p;

    b->cx = ml_ctx_new(0);
    b->tmp = ml_ctx_new(0);
    p = ml_parse(b->cx, ml_str(text), NULL);
    if (!p.mod)
        die(p.diags[0].message, NULL);
    b->mod = p.mod;
    b->s = schedule(b, false);
}

static void bench_close(Bench *b)
{
    ml_schedule_unref(b->s);
    ml_ctx_unref(b->tmp);
    ml_ctx_unref(b->cx);
}

/* ---- calls: up to four arguments; strings that name loops or blocks become handles */

static ml_Arg loop_arg(Bench *b, const char *name, ml_HandleKind kind)
{
    ml_Handle h;

    if (!ml_resolve(b->s, name, kind, &h))
        die(name, ml_schedule_error(b->s));
    return ML_ARG_HANDLE(h);
}

#define L(x)   loop_arg(b, (x), ML_H_LOOP)
#define BLK(x) loop_arg(b, (x), ML_H_BLOCK)
#define LIST(...)                                                                          \
    ML_ARG_LIST(((ml_Arg[]){__VA_ARGS__}), sizeof((ml_Arg[]){__VA_ARGS__}) / sizeof(ml_Arg))
#define CALL(name, ...)                                                                    \
    call(b, (name), (ml_Arg[]){__VA_ARGS__},                                               \
         sizeof((ml_Arg[]){__VA_ARGS__}) / sizeof(ml_Arg))
#define TIME(name, target, ...)                                                            \
    timed(b, (name), (target), (ml_Arg[]){__VA_ARGS__},                                    \
          sizeof((ml_Arg[]){__VA_ARGS__}) / sizeof(ml_Arg))

static void call(Bench *b, const char *name, const ml_Arg *args, size_t n)
{
    if (!ml_apply(b->s, name, args, n, NULL))
        die(name, ml_schedule_error(b->s));
}

/* Median over fresh schedules at the version of b->s: nothing of the step is remembered.
 * Names are looked up before. */
static double step_time(Bench *b, const char *name, const ml_Arg *args, size_t n)
{
    double v[REPEATS];
    ml_Trace t = ml_schedule_trace(b->s, b->tmp);

    for (int k = 0; k < REPEATS; k++) {
        Bench fresh = *b;
        ml_Arg own[16];
        size_t done;

        fresh.s = schedule(b, false);
        if (!ml_trace_apply(fresh.s, &t, false, NULL, NULL, &done))
            die("replay", ml_schedule_error(fresh.s));
        memcpy(own, args, n * sizeof *args);
        for (size_t m = 0; m < n && m < ML_COUNT(own); m++)
            if (args[m].kind == ML_A_STRING && !ml_streq(args[m].as.s, "key") &&
                !ml_streq(args[m].as.s, "shared") && !ml_streq(args[m].as.s, "local") &&
                strncmp(args[m].as.s, "lambda ", 7) != 0)
                own[m] = loop_arg(&fresh, args[m].as.s, ML_H_NONE);
        double start = now();
        call(&fresh, name, own, n);
        v[k] = now() - start;
        ml_schedule_unref(fresh.s);
    }
    return median(v, REPEATS);
}

static void timed(Bench *b, const char *name, double target, const ml_Arg *args, size_t n)
{
    char what[80];

    snprintf(what, sizeof what, "%s", name);
    report(what, 1e3 * step_time(b, name, args, n), target, "ms", false);
}

/* Multi-level tiles of the product, its caches, and the epilogue under it: 20 loops. */
static void tile(Bench *b)
{
    CALL("compute_inline", BLK("E"));
    CALL("split", L("i"), LIST(ML_ARG_AUTO, ML_ARG_INT(4), ML_ARG_INT(8), ML_ARG_INT(2)));
    CALL("split", L("j"), LIST(ML_ARG_AUTO, ML_ARG_INT(4), ML_ARG_INT(8), ML_ARG_INT(16)));
    CALL("split", L("k"), LIST(ML_ARG_AUTO, ML_ARG_INT(4)));
    CALL("reorder", L("i_0"), L("j_0"), L("i_1"), L("j_1"), L("k_0"), L("i_2"), L("j_2"),
         L("k_1"), L("i_3"), L("j_3"));
    CALL("cache_write", BLK("C"), ML_ARG_INT(0), ML_ARG_STR("global"));
    CALL("reverse_compute_at", BLK("C_global"), L("j_1"));
    CALL("cache_read", BLK("C"), ML_ARG_INT(0), ML_ARG_STR("global"));
    CALL("compute_at", BLK("A_global"), L("k_0"));
    CALL("cache_read", BLK("C"), ML_ARG_INT(1), ML_ARG_STR("global"));
    CALL("compute_at", BLK("B_global"), L("k_0"));
    CALL("fuse", L("i_0"), L("j_0"));
    CALL("parallel", L("i_0_j_0_fused"));
    CALL("vectorize", L("j_3"));
}

static void replay(Bench *b, bool unchecked, double target)
{
    ml_Trace t = ml_schedule_trace(b->s, b->tmp);
    uint64_t hash = ml_schedule_hash(b->s);
    double start = now(), spent;
    size_t done;
    int n = 0;

    do {
        ml_Schedule *s = schedule(b, unchecked);
        if (!ml_trace_apply(s, &t, false, NULL, NULL, &done))
            die("replay", ml_schedule_error(s));
        if (n == 0 && ml_schedule_hash(s) != hash)
            die("replay gives another program", NULL);
        ml_schedule_unref(s);
        n++;
        spent = now() - start;
    } while (spent < 1.0);
    report(unchecked ? "replays of a 14-step trace, unchecked"
                     : "replays of a 14-step trace",
           (double)n / spent, target, "1/s", true);
}

static void printing(Bench *b)
{
    double v[REPEATS];

    for (int k = 0; k < REPEATS; k++) {
        ml_PrintOpts opts = {.spelling = -1};
        ml_Text t = {0};
        double start = now();
        ml_schedule_print(b->s, ml_schedule_version(b->s), &t, &opts);
        v[k] = now() - start;
        ml_text_free(&t);
    }
    report("print", 1e3 * median(v, REPEATS), 0.1, "ms", false);
}

static void steps(void)
{
    Bench one, *b = &one;

    bench_open(b, dense);
    TIME("split", 0.05, L("i"), LIST(ML_ARG_AUTO, ML_ARG_INT(16)));
    TIME("fuse", 0.05, L("i"), L("j"));
    TIME("reorder", 0.05, L("k"), L("i"), L("j"));
    TIME("annotate", 0.05, L("i"), ML_ARG_STR("key"), ML_ARG_INT(1));
    TIME("cache_read", 0.15, BLK("C"), ML_ARG_INT(0), ML_ARG_STR("shared"));
    TIME("cache_write", 0.15, BLK("C"), ML_ARG_INT(0), ML_ARG_STR("local"));
    TIME("reindex", 0.15, BLK("C"), LIST(ML_ARG_STR("read"), ML_ARG_INT(1)));
    TIME("reindex_cache_read", 0.15, BLK("C"), ML_ARG_INT(1), ML_ARG_STR("shared"),
         ML_ARG_STR("lambda i, j, k: (j, k)"));
    TIME("reindex_cache_write", 0.15, BLK("C"), ML_ARG_INT(0), ML_ARG_STR("local"),
         ML_ARG_STR("lambda i, j, k: (j * 1024 + i,)"));
    TIME("cache_index", 0.15, BLK("D"), ML_ARG_STR("local"));
    TIME("read_at", 0.15, L("j"), BLK("C"), ML_ARG_INT(0), ML_ARG_STR("shared"));
    TIME("write_at", 0.15, L("i"), BLK("C"), ML_ARG_INT(0), ML_ARG_STR("shared"));
    TIME("annotate_buffer_access", 0.15, BLK("E"), LIST(ML_ARG_STR("read"), ML_ARG_INT(0)),
         ML_ARG_STR("lambda i, j: (i, i + 1, 0, 1024)"));
    TIME("fuse_reduction_epilogue", 0.15, BLK("C"), BLK("E"));
    TIME("compute_inline", 0.15, BLK("E"));
    TIME("reverse_compute_at", 0.15, BLK("E"), L("i"));
    TIME("compute_at", 0.15, BLK("C"), L("m"));
    TIME("decompose_reduction", 0.15, BLK("C"), L("k"));
    TIME("transform_layout", 0.3, BLK("C"), LIST(ML_ARG_STR("write"), ML_ARG_INT(0)),
         ML_ARG_STR("lambda i, j: (i // 16, j // 16, i % 16, j % 16)"));
    TIME("transform_block_layout", 0.15, BLK("C"),
         ML_ARG_STR("lambda i, j, k: (i // 16, k, j, i % 16)"));
    tile(b);
    if (!json)
        printf("on the tiled program of 20 loops:\n");
    TIME("split", 0.05, L("k_1"), LIST(ML_ARG_AUTO, ML_ARG_INT(2)));
    TIME("fuse", 0.05, L("i_2"), L("j_2"));
    TIME("reorder", 0.05, L("i_3"), L("k_1"));
    TIME("annotate", 0.05, L("k_0"), ML_ARG_STR("key"), ML_ARG_INT(1));
    TIME("cache_read", 0.15, BLK("D"), ML_ARG_INT(0), ML_ARG_STR("shared"));
    TIME("reverse_compute_at", 0.15, BLK("D"), L("j_1"));
    TIME("decompose_reduction", 0.15, BLK("C"), L("k_0"));
    TIME("transform_layout", 0.3, BLK("C"), LIST(ML_ARG_STR("write"), ML_ARG_INT(0)),
         ML_ARG_STR("lambda i, j: (i // 16, j // 16, i % 16, j % 16)"));
    printing(b);
    replay(b, false, 5000);
    replay(b, true, 12000);
    bench_close(b);
}

/* Medians of six steps, summed, each on a block that was not touched before: what is known
 * of the scope is known, what is asked about the block is not. */
static double of_blocks(int n)
{
    static const char *const names[] = {"split",    "reorder",  "fuse",
                                        "parallel", "annotate", "compute_at"};
    ml_Text t = {0};
    Bench one, *b = &one;
    double v[ML_COUNT(names)][REPEATS], sum = 0;

    chain(&t, n);
    bench_open(b, ml_text_z(&t));
    for (int k = 0; k < REPEATS; k++) {
        char text[4][32];
        int at = 2 + k % 8;

        if (at == 2) { /* a fresh schedule, and one step to begin with */
            ml_schedule_unref(b->s);
            b->s = schedule(b, false);
            CALL("compute_at", loop_arg(b, "B1", ML_H_BLOCK),
                 loop_arg(b, "B2/i", ML_H_LOOP));
            ml_schedule_undo(b->s, 1);
        }
        if (at >= n)
            at = n - 1;
        snprintf(text[0], sizeof text[0], "B%d/i", at);
        snprintf(text[1], sizeof text[1], "B%d/j", at);
        snprintf(text[2], sizeof text[2], "B%d", at);
        snprintf(text[3], sizeof text[3], "B%d/i", at + 1);
        ml_Arg i = loop_arg(b, text[0], ML_H_LOOP), j = loop_arg(b, text[1], ML_H_LOOP);
        ml_Arg block = loop_arg(b, text[2], ML_H_BLOCK),
               next = loop_arg(b, text[3], ML_H_LOOP);
        const struct {
            ml_Arg args[3];
            size_t n;
        } six[] = {{{i, ML_ARG_INT(4)}, 2},
                   {{j, i}, 2},
                   {{i, j}, 2},
                   {{i}, 1},
                   {{i, ML_ARG_STR("key"), ML_ARG_INT(1)}, 3},
                   {{block, next}, 2}};

        for (size_t m = 0; m < ML_COUNT(six); m++) {
            double start = now();
            call(b, names[m], six[m].args, six[m].n);
            v[m][k] = now() - start;
            ml_schedule_undo(b->s, 1);
        }
    }
    for (size_t m = 0; m < ML_COUNT(names); m++) {
        double one_step = median(v[m], REPEATS);
        if (getenv("ML_BENCH_DETAIL"))
            fprintf(stderr, "%d blocks: %s %.4f ms\n", n, names[m], 1e3 * one_step);
        sum += one_step;
    }
    bench_close(b);
    ml_text_free(&t);
    return sum;
}

static void parsing(void)
{
    ml_Text t = {0};
    double v[5];

    chain(&t, 1110); /* 9 lines each */
    for (int k = 0; k < 5; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        double start = now();
        ml_Parsed p = ml_parse(cx, ml_str(ml_text_z(&t)), NULL);
        v[k] = now() - start;
        if (!p.mod)
            die("parse", NULL);
        ml_ctx_unref(cx);
    }
    report("parse of 10,000 lines", 1e3 * median(v, 5), 50, "ms", false);
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
    report("oracle, 10^7 innermost iterations of a product", now() - start, 2, "s", false);
    for (int k = 0; k < 3; k++)
        ml_tensor_free(args[k].tensor);
    ml_ctx_unref(cx);
}

/* 10,000 steps and undos, compacted now and then as a session does. */
static void memory(void)
{
    Bench one, *b = &one;
    struct rusage use;

    bench_open(b, dense);
    ml_schedule_set_undo_limit(b->s, 1000);
    for (int k = 0; k < 10000; k++) {
        CALL("split", L("i"), LIST(ML_ARG_AUTO, ML_ARG_INT(2 + k % 7)));
        ml_schedule_undo(b->s, 1);
        if (k % 100 == 99)
            ml_schedule_compact(b->s);
    }
    getrusage(RUSAGE_SELF, &use);
    report("memory after 10,000 steps and undos", (double)use.ru_maxrss / 1024, 200, "MiB",
           false);
    bench_close(b);
}

static void start_up(void)
{
    const char *program = getenv("MOONLOOP");
    double wall[21], cpu[21];
    struct timespec from, to;

    if (!program || access(program, X_OK) != 0) {
        if (!json)
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
            missed++;
            return;
        }
    }
    report("start-up, wall", 1e3 * median(wall, 21), 40, "ms", false);
    report("start-up, CPU", 1e3 * median(cpu, 21), 20, "ms", false);
}

int main(int argc, char **argv)
{
    json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && strcmp(argv[1], "--blocks") == 0) { /* for a profiler */
        report("six steps on 1,000 blocks", 1e3 * of_blocks(1000), 1, "ms", false);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--replay") == 0) {
        Bench one, *b = &one;
        bench_open(b, dense);
        tile(b);
        replay(b, false, 5000);
        bench_close(b);
        return 0;
    }
    memory(); /* first: the peak of the process is what is reported */
    steps();
    double few = of_blocks(10), many = of_blocks(1000);

    report("six steps on 1,000 blocks, against 10 blocks", many / few, 3, "times", false);
    parsing();
    oracle();
    start_up();
    if (!json)
        printf(missed ? "%d targets not met\n" : "all targets met\n", missed);
    return 0;
}

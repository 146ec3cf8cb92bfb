/*
 * moonloop in a C program: read a matrix product, tile it, check it, time it, print it.
 *   make && cc -std=c11 -Ibuild/include examples/embed.c build/libmoonloop.a -lm -lpthread
 * && ./a.out
 */
#include <moonloop/moonloop.h>
#include <moonloop/primitives.h>
#include <stdio.h>

static const char source[] =
    "@T.prim_func\n"
    "def matmul(A: T.Buffer((64, 64)), B: T.Buffer((64, 64)), C: T.Buffer((64, 64))):\n"
    "    for i, j, k in T.grid(64, 64, 64):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";

static int show(ml_Failure *f)
{
    ml_Text t = {0};

    ml_failure_render(f, &t, &(ml_RenderOpts){0});
    fprintf(stderr, "%s\n", ml_text_z(&t));
    ml_text_free(&t);
    ml_failure_free(f);
    return 1;
}

/* Against the start, on random inputs: compiled where LLVM and the program moonloop, which
 * serves as worker, are found, else interpreted. */
static bool check(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s)
{
    const ml_Work start = ml_work_of(cx, s, 0, 0);
    const ml_Work now = ml_work_of(cx, s, ml_schedule_version(s), 0);
    ml_CheckResult r = {0};
    ml_CheckRuns runs;

    if (!ml_work_check(cx, e, &start, &now, &(ml_CheckOpts){.seed = 1}, &r, &runs))
        return show(ml_failure_from(ml_error(cx))) == 0;
    printf("check: %s", r.ok ? "ok" : "FAIL");
    if (r.outside > 0)
        printf(", %lld elements differ, the first at %s: %g instead of %g",
               (long long)r.outside, r.first_at, r.first_got, r.first_ref);
    printf("\n");
    if (runs.not_compiled)
        printf("interpreted: %s\n", runs.not_compiled);
    return r.ok;
}

/* By turns with the start; what hinders it is told. */
static void time_it(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s)
{
    const ml_TimingOpts o = {.seed = 1};
    ml_Timing t;
    ml_Text text = {0};

    if (ml_backend_find("llvm") == NULL) {
        printf("not timed: LLVM 19 was not found\n");
    } else if (!ml_timing_run(cx, e, s, ml_schedule_version(s), 0, &o, &t)) {
        show(ml_failure_from(ml_error(cx)));
    } else {
        const ml_Amount a = ml_timing_of(&t);

        ml_text_add(&text, "start ");
        ml_text_speed(&text, a, t.start.seconds, t.start.spread);
        ml_text_add(&text, ", now ");
        ml_text_speed(&text, a, t.t.median, t.t.spread);
        printf("time: %s: x%.3g\n", ml_text_z(&text), t.start.ratio);
    }
    ml_text_free(&text);
}

int main(void)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Engine *engine = ml_engine_new();
    ml_Parsed parsed = ml_parse(cx, ml_str(source), NULL);
    ml_Schedule *s = parsed.mod ? ml_schedule_new(cx, parsed.mod, NULL, NULL) : NULL;
    const ml_Arg factors[] = {ML_ARG_AUTO, ML_ARG_INT(16)};
    ml_Results tiles;
    ml_Text text = {0};
    int status = 1;

    if (!s)
        fprintf(stderr, "the program cannot be read\n");
    else if (!ml_split(s, ML_ARG_STR("j"), factors, 2, true, false, &tiles) ||
             !ml_reorder(s, (ml_Arg[]){ML_ARG_STR("k"), ML_ARG_HANDLE(tiles.v[1])}, 2) ||
             !ml_vectorize(s, ML_ARG_HANDLE(tiles.v[1])) ||
             !ml_parallel(s, ML_ARG_STR("i")))
        status = show(ml_failure_take(s));
    else {
        ml_Ctx *run = ml_ctx_fork(ml_schedule_ctx(s));

        ml_print(run, &text, ml_schedule_program(s).mod);
        printf("%s\n", ml_text_z(&text));
        status = check(run, engine, s) ? 0 : 1;
        time_it(run, engine, s);
        ml_ctx_unref(run);
    }
    ml_text_free(&text);
    ml_schedule_unref(s);
    ml_ctx_unref(cx);
    ml_engine_free(engine);
    return status;
}

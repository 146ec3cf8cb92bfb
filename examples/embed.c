/*
 * moonloop in a C program: read a matrix product, tile it, check it, run it, print it.
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

static int show_error(ml_Schedule *s)
{
    ml_Failure *f = ml_failure_take(s);
    ml_Text t = {0};

    ml_failure_render(f, &t, &(ml_RenderOpts){0});
    fprintf(stderr, "%s\n", ml_text_z(&t));
    ml_text_free(&t);
    ml_failure_free(f);
    return 1;
}

int main(void)
{
    ml_Ctx *cx = ml_ctx_new(0);
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
        status = show_error(s);
    else {
        ml_Ctx *run = ml_ctx_fork(ml_schedule_ctx(s));
        ml_CheckResult r = {0};
        bool ran =
            ml_check(run, parsed.mod, parsed.mod->funcs[0], ml_schedule_program(s).mod,
                     ml_schedule_func(s), &(ml_CheckOpts){.seed = 1}, &r);

        ml_print(run, &text, ml_schedule_program(s).mod);
        printf("%s\ncheck: %s\n", ml_text_z(&text), ran && r.ok ? "ok" : "FAIL");
        status = ran && r.ok ? 0 : 1;
        ml_ctx_unref(run);
    }
    ml_text_free(&text);
    ml_schedule_unref(s);
    ml_ctx_unref(cx);
    return status;
}

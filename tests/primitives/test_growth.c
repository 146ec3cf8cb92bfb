/*
 * test_growth - long chains of steps that undo each other: no step does more work, and no
 * name or expression is longer, for the steps before it. Work is counted (units of work and
 * bytes), not timed.
 */
#include "fixture.h"

#include "moonloop/core/ctx_impl.h"
#include "moonloop/core/script/script.h"

#include <string.h>

typedef struct Chain {
    const char *what;
    const char *text; /* of the program; NULL: a matrix product of 64 */
    /* One period: 's' splits the outermost loop by the next factors, 'f' fuses the two
     * outermost, 'F' all of them, 'r' swaps the two outermost. */
    const char *period;
    const char *factors[5];
} Chain;

#define FUNC                                                                               \
    "@T.prim_func\ndef main(A: T.Buffer((64, 64), \"int32\"), B: T.Buffer((64,), "         \
    "\"int32\")):\n"

static const char triangle[] =
    FUNC "    for i in range(64):\n"
         "        B[i] = i * i + 3 * i\n"
         "        for j in range(i + 1):\n"
         "            with T.block(\"C\"):\n"
         "                vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "                A[vi, vj] = 0\n";
static const char guarded[] = FUNC "    for i, j in T.grid(64, 64):\n"
                                   "        if i * 3 < j + i:\n"
                                   "            with T.block(\"C\"):\n"
                                   "                vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                                   "                A[vi, vj] = 0\n";
static const char regions[] = FUNC "    for i, j in T.grid(64, 64):\n"
                                   "        with T.block(\"C\"):\n"
                                   "            T.reads()\n"
                                   "            T.writes(A[i, j])\n"
                                   "            with T.block(\"D\"):\n"
                                   "                vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                                   "                A[vi, vj] = 0\n";

static const Chain chains[] = {
    {"exact factors", NULL, "sf", {"2, auto"}},
    {"a guard", NULL, "sf", {"3, auto"}},
    {"another guard each time", NULL, "sf", {"3, auto", "5, auto", "7, auto"}},
    {"inner factors", NULL, "sf", {"auto, 3", "auto, 5", "auto, 7", "auto, 11"}},
    {"all loops", NULL, "Fs", {"auto, 5, 3"}},
    {"a transposition", NULL, "srf", {"4, auto"}},
    {"an extent, a statement beside", triangle, "sf", {"5, auto"}},
    {"a condition", guarded, "sf", {"5, auto"}},
    {"a region of an opaque block", regions, "sf", {"5, auto"}},
};

enum { MAX_LOOPS = 8, LONGEST = 256, LONGEST_TEXT = 1 << 17 };

static void step(Fixture *fx, const Chain *c, char kind, size_t k)
{
    ml_Text t = {0};
    size_t n_factors = 0;

    fx_apply(fx, "get_block(\"C\") get_loops(\"C\")");
    assert_in_range(fx->r.n, 1, MAX_LOOPS);
    const char *name[MAX_LOOPS];
    size_t n = fx->r.n;

    for (size_t l = 0; l < n; l++) {
        name[l] = ml_name_of(fx->s, fx->r.v[l].uid);
        assert_true(strlen(name[l]) < LONGEST);
    }
    while (n_factors < ML_COUNT(c->factors) && c->factors[n_factors])
        n_factors++;
    if (kind == 's')
        ml_text_fmt(&t, "split(\"%s\", {%s})", name[0], c->factors[k % n_factors]);
    else if (kind == 'r')
        ml_text_fmt(&t, "reorder(\"%s\", \"%s\")", name[1], name[0]);
    else {
        ml_text_fmt(&t, "fuse(\"%s\", \"%s\"", name[0], name[1]);
        for (size_t l = 2; kind == 'F' && l < n; l++)
            ml_text_fmt(&t, ", \"%s\"", name[l]);
        ml_text_add(&t, ")");
    }
    fx_apply(fx, ml_text_z(&t));
    ml_text_clear(&t);
    ml_print_module(fx->tmp, &t, ml_schedule_program(fx->s).mod,
                    &(ml_PrintOpts){.spelling = -1});
    if (t.n >= LONGEST_TEXT) /* before it takes for ever */
        fail_msg("%s: a program of %zu letters after %zu periods", c->what, t.n, k);
    ml_text_free(&t);
}

typedef struct Work {
    uint64_t ticks;
    size_t bytes;
} Work;

static Work done(const Fixture *fx)
{
    ml_Ctx *cx = ml_schedule_ctx(fx->s);

    return (Work){cx->ticks, ml_ctx_bytes(cx)};
}

static Work run(Fixture *fx, const Chain *c, size_t from, size_t to)
{
    Work was = done(fx), now;

    for (size_t k = from; k < to; k++)
        step(fx, c, c->period[k % strlen(c->period)], k / strlen(c->period));
    now = done(fx);
    return (Work){now.ticks - was.ticks, now.bytes - was.bytes};
}

static void a_step_costs_the_same_however_many_came_before(void **state)
{
    (void)state;
    for (size_t k = 0; k < ML_COUNT(chains); k++) {
        const Chain *c = &chains[k];
        Fixture fx;

        if (c->text)
            fx_text(&fx, c->text);
        else
            fx_matmul(&fx, 64, 64, 64);
        (void)run(&fx, c, 0, 24);
        Work early = run(&fx, c, 24, 48), late;

        (void)run(&fx, c, 48, 96);
        late = run(&fx, c, 96, 120);
        if (late.bytes > 2 * early.bytes || late.ticks > 2 * early.ticks)
            fail_msg("%s: %zu bytes and %llu units of work became %zu and %llu", c->what,
                     early.bytes, (unsigned long long)early.ticks, late.bytes,
                     (unsigned long long)late.ticks);
        fx_close(&fx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_costs_the_same_however_many_came_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

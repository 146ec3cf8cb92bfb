/*
 * test_cache_inplace - whichever elements a block updates, its copies are blocks that
 * verification takes without a word, and the program computes what it did.
 */
#include "fixture.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/verify/verify.h"

static void is_cached_quietly(const char *params, const char *body)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Findings found = {0};
    ml_CheckOpts opts = {.inputs = ML_FILL_RANDOM};
    ml_CheckResult r = {0};
    Fixture fx;

    fx_text(&fx, ml_format(cx, "@T.prim_func\ndef main(%s):\n%s", params, body));
    const ml_Module *was = ml_schedule_program(fx.s).mod;

    fx_apply(&fx, "cache_inplace(\"S\", \"S\", \"local\")");
    ml_Ctx *work = ml_ctx_fork(ml_schedule_ctx(fx.s));
    ml_Program p = ml_schedule_program(fx.s);

    ml_verify_well_formed(work, p.mod, &found);
    ml_verify_nests(work, p, &found);
    ml_verify_bounds(work, p, &found);
    if (found.n > 0)
        fail_msg("%zu findings, the first is %s:\n%s", found.n,
                 ml_error_code(found.v[0].error->code), body);
    if (!ml_check(work, was, was->funcs[0], p.mod, p.mod->funcs[0], &opts, &r) || !r.ok)
        fail_msg("it computes something else:\n%s", body);
    ml_ctx_unref(work);
    fx_close(&fx);
    ml_ctx_unref(cx);
}

static void elements_apart_are_copied_by_tiles(void **state)
{
    (void)state;
    is_cached_quietly("S: T.Buffer((12,), \"int32\")",
                      "    for i in range(6):\n"
                      "        with T.block(\"S\"):\n"
                      "            a = T.axis.spatial(6, i)\n"
                      "            S[a * 2] = S[a * 2] + 1\n");
    is_cached_quietly("S: T.Buffer((16,), \"int32\")",
                      "    for i in range(4):\n"
                      "        with T.block(\"S\"):\n"
                      "            a = T.axis.spatial(4, i)\n"
                      "            T.reads(S[a * 4:a * 4 + 3])\n"
                      "            T.writes(S[a * 4:a * 4 + 3])\n"
                      "            for x in range(3):\n"
                      "                S[a * 4 + x] = S[a * 4 + x] + 1\n");
}

static void diagonals_are_copied_by_tiles(void **state)
{
    (void)state;
    is_cached_quietly("S: T.Buffer((8, 8), \"int32\")",
                      "    for i, j in T.grid(4, 4):\n"
                      "        with T.block(\"S\"):\n"
                      "            a, b = T.axis.remap(\"SS\", [i, j])\n"
                      "            S[a + b, a + 1] = S[a + b, a + 1] + 1\n");
    is_cached_quietly("S: T.Buffer((10, 10), \"int32\")",
                      "    for i_0, i_1 in T.grid(3, 4):\n"
                      "        with T.block(\"S\"):\n"
                      "            a = T.axis.spatial(10, i_0 * 4 + i_1)\n"
                      "            T.where(i_0 * 4 + i_1 < 10)\n"
                      "            S[a, a] = S[a, a] + 1\n");
}

static void what_lies_outside_of_the_buffer_is_left_out(void **state)
{
    (void)state;
    is_cached_quietly("S: T.Buffer((10,), \"int32\")",
                      "    for i in range(4):\n"
                      "        with T.block(\"S\"):\n"
                      "            a = T.axis.spatial(4, i)\n"
                      "            T.reads(S[a * 3:a * 3 + 3])\n"
                      "            T.writes(S[a * 3:a * 3 + 3])\n"
                      "            for x in range(3):\n"
                      "                if a * 3 + x < 10:\n"
                      "                    S[a * 3 + x] = S[a * 3 + x] + 1\n");
}

static void tiles_may_be_of_any_size(void **state)
{
    (void)state;
    is_cached_quietly("S: T.Buffer((40,), \"int32\")",
                      "    for i in range(4):\n"
                      "        with T.block(\"S\"):\n"
                      "            a = T.axis.spatial(4, i)\n"
                      "            T.reads(S[a * 7:a * 8])\n"
                      "            T.writes(S[a * 7:a * 8])\n"
                      "            for x in range(a):\n"
                      "                S[a * 7 + x] = S[a * 7 + x] + 1\n");
}

static void an_iter_of_one_value_stays_in_the_place(void **state)
{
    (void)state;
    is_cached_quietly("S: T.Buffer((8, 8), \"int32\")",
                      "    for i_0, i_1, j in T.grid(1, 2, 2):\n"
                      "        with T.block(\"S\"):\n"
                      "            a = T.axis.spatial(1, i_0 * 2 + i_1)\n"
                      "            b = T.axis.spatial(2, j)\n"
                      "            T.where(i_0 * 2 + i_1 < 1)\n"
                      "            S[b * 2 + 1, a + b] = S[b * 2 + 1, a + b] + 1\n");
}

static void a_predicate_that_cuts_a_sum_is_no_whole_domain(void **state)
{
    (void)state;
    is_cached_quietly("S: T.Buffer((12,), \"int32\")",
                      "    for i_0, i_1, j in T.grid(2, 2, 5):\n"
                      "        with T.block(\"S\"):\n"
                      "            a = T.axis.reduce(3, i_0 * 2 + i_1)\n"
                      "            b = T.axis.reduce(5, j)\n"
                      "            T.where(i_0 * 2 + i_1 < 3)\n"
                      "            S[a + b] = S[a + b] + 1\n");
}

static void a_block_without_iters_gives_its_loops(void **state)
{
    (void)state;
    is_cached_quietly("S: T.Buffer((12,), \"int32\")",
                      "    for i in range(6):\n"
                      "        with T.block(\"S\"):\n"
                      "            T.reads(S[i * 2])\n"
                      "            T.writes(S[i * 2])\n"
                      "            S[i * 2] = S[i * 2] + 1\n");
}

static void what_a_block_inside_guards_is_not_surely_touched(void **state)
{
    (void)state;
    is_cached_quietly("S: T.Buffer((4,), \"int32\")",
                      "    for i_0, i_1 in T.grid(2, 3):\n"
                      "        with T.block(\"S\"):\n"
                      "            T.reads(S[i_0 * 3 + i_1])\n"
                      "            T.writes(S[i_0 * 3 + i_1])\n"
                      "            with T.block(\"inner\"):\n"
                      "                a = T.axis.spatial((i_0 * 3 + i_1, i_0 * 3 + i_1 + "
                      "1), i_0 * 3 + i_1)\n"
                      "                T.where(i_0 * 3 + i_1 < 4)\n"
                      "                S[a] = S[a] + 1\n");
}

static void copies_of_a_reduction_add_nothing_up(void **state)
{
    (void)state;
    is_cached_quietly("S: T.Buffer((12,), \"int32\"), A: T.Buffer((6, 4), \"int32\")",
                      "    for i, j in T.grid(6, 4):\n"
                      "        with T.block(\"S\"):\n"
                      "            a, b = T.axis.remap(\"RS\", [i, j])\n"
                      "            S[a * 2] = S[a * 2] + A[a, b]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_apart_are_copied_by_tiles),
        cmocka_unit_test(diagonals_are_copied_by_tiles),
        cmocka_unit_test(what_lies_outside_of_the_buffer_is_left_out),
        cmocka_unit_test(tiles_may_be_of_any_size),
        cmocka_unit_test(an_iter_of_one_value_stays_in_the_place),
        cmocka_unit_test(a_predicate_that_cuts_a_sum_is_no_whole_domain),
        cmocka_unit_test(a_block_without_iters_gives_its_loops),
        cmocka_unit_test(what_a_block_inside_guards_is_not_surely_touched),
        cmocka_unit_test(copies_of_a_reduction_add_nothing_up),
    };
    return cmocka_run_group_tests_name("cache_inplace", tests, NULL, NULL);
}

/* What a step makes the analyses work out again, seen in their counters: nothing about
 * blocks that it does not touch (ir-and-analysis 8.4). */
#include "fixture.h"

/* P, Q, R and S, each reading the buffer of the one before. */
static const char four[] = "@T.prim_func\n"
                           "def main(A: T.Buffer((32, 32)), Z: T.Buffer((32, 32))):\n"
                           "    B = T.alloc_buffer((32, 32))\n"
                           "    C = T.alloc_buffer((32, 32))\n"
                           "    D = T.alloc_buffer((32, 32))\n"
                           "    for i, j in T.grid(32, 32):\n"
                           "        with T.block(\"P\"):\n"
                           "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                           "            B[vi, vj] = A[vi, vj] * T.float32(2)\n"
                           "    for i, j in T.grid(32, 32):\n"
                           "        with T.block(\"Q\"):\n"
                           "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                           "            C[vi, vj] = B[vi, vj] * T.float32(2)\n"
                           "    for i, j in T.grid(32, 32):\n"
                           "        with T.block(\"R\"):\n"
                           "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                           "            D[vi, vj] = C[vi, vj] * T.float32(2)\n"
                           "    for i, j in T.grid(32, 32):\n"
                           "        with T.block(\"S\"):\n"
                           "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                           "            Z[vi, vj] = D[vi, vj] * T.float32(2)\n";

/* Every flag of every block; all hold. */
static void ask_all(Fixture *fx)
{
    ml_Schedule *s = fx->s;
    ml_Facts *f = ml_space_facts(s->space);
    ml_Program p = ml_schedule_program(s);
    ml_Ctx *cx = ml_schedule_ctx(s);
    const ml_Block *root = ml_func_root(p.mod->funcs[0]);
    ml_StmtVec all = {0};

    ml_all_blocks(cx, root->body, &all);
    for (size_t k = 0; k < all.n; k++) {
        ml_Uid b = ml_stmt_uid(all.v[k]);

        assert_true(ml_is_affine(cx, f, p, b, NULL));
        assert_true(ml_is_covered(cx, f, p, b, false));
    }
    assert_true(ml_is_stage_pipeline(cx, f, p, root->tag));
}

typedef struct Row {
    const char *call;
    unsigned affine, cover; /* worked out again, at most */
} Row;

static const Row rows[] = {
    {"parallel(\"R/i\")", 0, 0},
    {"vectorize(\"R/j\")", 0, 0},
    {"unroll(\"R/j\")", 0, 0},
    {"annotate(\"R\", \"k\", 1)", 0, 0},
    {"annotate(\"R/i\", \"k\", 1)", 0, 0},
    {"storage_align(\"R\", 0, 0, 32, 8)", 0, 0},
    {"split(\"R/i\", {auto, 4})", 1, 2},
    {"fuse(\"R/i\", \"R/j\")", 1, 2},
    {"reorder(\"R/j\", \"R/i\")", 1, 2},
    {"add_unit_loop(\"R\")", 1, 2},
    {"bind(\"R/i\", \"threadIdx.x\")", 1, 2},
    {"set_scope(\"R\", 0, \"shared\")", 0, 2},
    {"compute_at(\"Q\", \"R/i\")", 2, 3},
    {"reverse_compute_at(\"R\", \"Q/i\")", 2, 3},
    {"compute_inline(\"Q\")", 0, 2},
    {"reverse_compute_inline(\"R\")", 1, 2},
    {"cache_read(\"R\", 0, \"local\")", 2, 2},
    {"cache_write(\"R\", 0, \"local\")", 2, 3},
};

static void untouched_blocks_are_not_looked_at_again(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        Fixture fx;

        fx_text(&fx, four);
        ask_all(&fx);
        ml_FactCounts before = ml_schedule_fact_counts(fx.s);

        assert_int_equal(before.computed[ML_ASK_AFFINE], 4);
        assert_int_equal(before.computed[ML_ASK_COVER], 3);
        fx_apply(&fx, rows[k].call);
        ask_all(&fx);
        ml_FactCounts after = ml_schedule_fact_counts(fx.s);
        uint64_t affine = after.computed[ML_ASK_AFFINE] - before.computed[ML_ASK_AFFINE];
        uint64_t cover = after.computed[ML_ASK_COVER] - before.computed[ML_ASK_COVER];

        if (affine > rows[k].affine || cover > rows[k].cover)
            fail_msg("%s: %u affine bindings and %u covers again", rows[k].call,
                     (unsigned)affine, (unsigned)cover);
        before = after;
        ask_all(&fx); /* and now all is known */
        after = ml_schedule_fact_counts(fx.s);
        assert_memory_equal(after.computed, before.computed, sizeof after.computed);
        fx_close(&fx);
    }
}

static void what_was_taken_back_is_still_known(void **state)
{
    Fixture fx;

    (void)state;
    fx_text(&fx, four);
    ask_all(&fx);
    ml_FactCounts before = ml_schedule_fact_counts(fx.s);

    fx_apply(&fx, "split(\"R/i\", {auto, 4})");
    assert_int_equal(ml_schedule_undo(fx.s, 1), 1);
    ask_all(&fx);
    ml_FactCounts after = ml_schedule_fact_counts(fx.s);

    assert_memory_equal(after.computed, before.computed, sizeof after.computed);
    fx_close(&fx);
}

static void counts_outlive_a_compaction(void **state)
{
    Fixture fx;

    (void)state;
    fx_text(&fx, four);
    ask_all(&fx);
    ml_FactCounts before = ml_schedule_fact_counts(fx.s);

    ml_schedule_compact(fx.s);
    ml_FactCounts after = ml_schedule_fact_counts(fx.s);

    assert_memory_equal(&after, &before, sizeof after);
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched_blocks_are_not_looked_at_again),
        cmocka_unit_test(what_was_taken_back_is_still_known),
        cmocka_unit_test(counts_outlive_a_compaction),
    };

    return cmocka_run_group_tests_name("primitives counts", tests, NULL, NULL);
}

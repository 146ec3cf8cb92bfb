/*
 * test_lower_auto_copy - copies that say only what they copy, done by the threads together:
 * the nests, the same results before and after, and what is left as it is.
 */
#include "lowering.h"

#include "../../core/core_test.h"

static ml_Lower gpu(Fix *x)
{
    ml_Lower lo = lowering(x);

    lo.opts.target.kind = (uint32_t)(ml_target_kind("cuda") - ml_target_kinds);
    return lo;
}

typedef struct Text {
    char z[4096];
} Text;

/* A and C of rows x cols; a copy of all of A but `row` rows and `col` columns, rows x cols
 * from there, to S and back to C by blocks annotated auto_copy; threads: loops over them. */
typedef struct Case {
    int rows, cols, row, col, y, x;
    const char *dtype, *scope, *in, *out; /* in, out: more annotations */
} Case;

static Text program(const Case *c)
{
    int h = c->rows + c->row, w = c->cols + c->col;
    Text t;

    snprintf(t.z, sizeof t.z,
             HEAD "A: T.Buffer((%d, %d), \"%s\"), C: T.Buffer((%d, %d), \"%s\")):\n"
                  "    S = T.alloc_buffer((%d, %d), \"%s\", scope=\"%s\")\n"
                  "    for b in T.thread_binding(1, thread=\"blockIdx.x\"):\n"
                  "        with T.block(\"in\"):\n"
                  "            T.reads(A[%d:%d, %d:%d])\n"
                  "            T.writes(S[0:%d, 0:%d])\n"
                  "            T.block_attr({\"auto_copy\": True%s})\n"
                  "            for i, j in T.grid(%d, %d):\n"
                  "                S[i, j] = A[i + %d, j + %d]\n"
                  "        with T.block(\"out\"):\n"
                  "            T.reads(S[0:%d, 0:%d])\n"
                  "            T.writes(C[%d:%d, %d:%d])\n"
                  "            T.block_attr({\"auto_copy\": True%s})\n"
                  "            for i, j in T.grid(%d, %d):\n"
                  "                C[i + %d, j + %d] = S[i, j]\n"
                  "        for ty in T.thread_binding(%d, thread=\"threadIdx.y\"):\n"
                  "            for tx in T.thread_binding(%d, thread=\"threadIdx.x\"):\n"
                  "                with T.block(\"other\"):\n"
                  "                    vy, vx = T.axis.remap(\"SS\", [ty, tx])\n"
                  "                    T.where(ty + tx < 0)\n"
                  "                    C[0, 0] = A[0, 0]\n",
             h, w, c->dtype, h, w, c->dtype, c->rows, c->cols, c->dtype, c->scope, c->row,
             h, c->col, w, c->rows, c->cols, c->in, c->rows, c->cols, c->row, c->col,
             c->rows, c->cols, c->row, h, c->col, w, c->out, c->rows, c->cols, c->row,
             c->col, c->y, c->x);
    return t;
}

/* The program and what is made of it compute the same, once barriers let threads run side by
 * side; the text after the pass. */
static const char *same_after(Fix *x, const char *text, ml_Lower *lo)
{
    const ml_Module *m = parse_module(x, text);
    const ml_Func *f = m->funcs[0], *g = lowered(x, lo, f, "lower_auto_copy");
    const char *run = strstr(text, "thread_binding") ? "sync_threads" : "lower_auto_copy";
    ml_Lower to_run = gpu(x);
    Stages s = {.x = x, .mod = m, .n_args = f->n_params};

    make_args(x, f);
    fill_args(x);
    if (!ml_interpret(x->cx, m, f, x->args, f->n_params, &x->opts, &x->report)) {
        show_error(x);
        fail_msg("the program itself does not run:\n%s", text);
    }
    for (uint32_t k = 0; k < s.n_args; k++)
        s.ref[k] = x->args[k].tensor ? ml_tensor_copy(x->cx, x->args[k].tensor) : NULL;
    runs_the_same(ml_pass_find(run), lowered(x, &to_run, f, run), &s);
    for (uint32_t k = 0; k < s.n_args; k++)
        ml_tensor_free(s.ref[k]);
    drop_args(x);
    return body_text(x, g);
}

static void expect_in(const char *text, const char *want)
{
    if (!strstr(text, want))
        fail_msg("no\n%s\nin\n%s", want, text);
}

static void threads_take_vectors_by_turns(void **state)
{
    Fix *x = *state;
    Case c = {24, 40, 2, 8, 2, 32, "float16", "shared", ", \"vector_bytes\": 16", ""};
    ml_Lower lo = gpu(x);
    const char *text = same_after(x, program(&c).z, &lo);

    /* 960 elements by 64 threads, 8 at once: two turns, the second not whole */
    expect_in(text, "for ty in T.thread_binding(2, thread=\"threadIdx.y\"):");
    expect_in(text, "for turn in range(2):");
    expect_in(text, "if ((turn * 2 + ty) * 32 + tx) * 8 < 960:");
    expect_in(text, "for lane in T.vectorized(8):");
    expect_in(text, "for turn in range(15):"); /* back one by one, which divides */
    assert_null(strstr(text, "auto_copy"));
    assert_int_equal(lo.notes.n, 0);
}

static void the_next_tile_waits_in_registers(void **state)
{
    Fix *x = *state;
    Case c = {16,
              48,
              0,
              0,
              1,
              32,
              "float32",
              "shared.dyn",
              ", \"vector_bytes\": 8, \"local_stage\": 1",
              ", \"local_stage\": 1"};
    ml_Lower lo = gpu(x);
    const char *text = same_after(x, program(&c).z, &lo);

    expect_in(text, "S_local = T.alloc_buffer((12, 2), scope=\"local\")");
    expect_in(text, "S_local[turn, lane] = A[");
    expect_in(text, "= S_local[turn, lane]");
    assert_null(
        strstr(text, "C_local")); /* from shared memory there is nothing to wait for */
}

static void every_shape_is_copied_whole(void **state)
{
    static const char *const TYPES[] = {"float16", "float32", "int8", "float64"};
    static const char *const SCOPES[] = {"shared", "shared.dyn"};
    static const char *const SAID[] = {"", ", \"vector_bytes\": 4",
                                       ", \"vector_bytes\": 16",
                                       ", \"vector_bytes\": 8, \"local_stage\": 1"};
    Fix *x = *state;
    Rng rng = {19};

    for (int k = 0; k < 150; k++) {
        Case c = {1 + (int)rng_below(&rng, 20), 1 + (int)rng_below(&rng, 40),
                  (int)rng_below(&rng, 3),      (int)rng_below(&rng, 3),
                  1 + (int)rng_below(&rng, 4),  1 + (int)rng_below(&rng, 40),
                  TYPES[rng_below(&rng, 4)],    SCOPES[rng_below(&rng, 2)],
                  SAID[rng_below(&rng, 4)],     SAID[rng_below(&rng, 3)]};
        ml_Lower lo = gpu(x);

        same_after(x, program(&c).z, &lo);
    }
}

/* The tile of 32 x 32 of A in fragments, and its sums stored. */
static Text with_fragments(const char *in, const char *sum, const char *out, int row)
{
    Text t;

    snprintf(t.z, sizeof t.z,
             HEAD
             "A: T.Buffer((48, 32), \"float16\"), C: T.Buffer((48, 32), \"float16\")):\n"
             "    S = T.alloc_buffer((48, 32), \"float16\", scope=\"shared\")\n"
             "    F = T.alloc_buffer((3, 16, 32), \"float16\", scope=\"%s\")\n"
             "    G = T.alloc_buffer((48, 32), \"float16\", scope=\"%s\")\n"
             "    D = T.alloc_buffer((48, 32), \"float16\", scope=\"%s\")\n"
             "    for i, j in T.grid(48, 32):\n"
             "        with T.block(\"S\"):\n"
             "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
             "            S[vi, vj] = A[vi, vj]\n"
             "    for t in range(3):\n"
             "        with T.block(\"F\"):\n"
             "            vt = T.axis.spatial(3, t)\n"
             "            T.reads(S[vt * 16:vt * 16 + 16, 0:32])\n"
             "            T.writes(F[vt, 0:16, 0:32])\n"
             "            T.block_attr({\"auto_copy\": True, \"warp_execution\": 1})\n"
             "            for i, j in T.grid(16, 32):\n"
             "                F[vt, i, j] = S[vt * 16 + i, j]\n"
             "    for i, j in T.grid(48, 32):\n"
             "        with T.block(\"G\"):\n"
             "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
             "            G[vi, vj] = F[vi // 16, vi %% 16, vj] * T.float16(2)\n"
             "    with T.block(\"D\"):\n"
             "        T.reads(G[%d:%d, 0:32])\n"
             "        T.writes(D[%d:%d, 0:32])\n"
             "        T.block_attr({\"auto_copy\": True, \"warp_execution\": 1})\n"
             "        for i, j in T.grid(32, 32):\n"
             "            D[i + %d, j] = G[i + %d, j]\n"
             "    for i, j in T.grid(32, 32):\n"
             "        with T.block(\"C\"):\n"
             "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
             "            C[vi + %d, vj] = D[vi + %d, vj]\n",
             in, sum, out, row, row + 32, row, row + 32, row, row, row, row);
    return t;
}

static void a_warp_loads_and_stores_tiles(void **state)
{
    static const struct {
        const char *in, *sum, *out, *load, *store;
    } ROWS[] = {
        {"wmma.matrix_a", "wmma.accumulator", "shared",
         "tvm_load_matrix_sync(F.data, 16, 16, 16, ",
         "tvm_store_matrix_sync(G.data, 16, 16, 16, "},
        {"wmma.matrix_b", "wmma.accumulator", "global",
         "tvm_load_matrix_sync(F.data, 16, 16, 16, ",
         "tvm_store_matrix_sync(G.data, 16, 16, 16, "},
        {"local", "m16n8k8.matrixC", "global", "F[",
         "tvm_store_matrix_sync(G.data, 16, 8, 8, "},
    };
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(ROWS); k++) {
        ml_Lower lo = gpu(x);
        const char *text =
            same_after(x, with_fragments(ROWS[k].in, ROWS[k].sum, ROWS[k].out, 16).z, &lo);

        expect_in(text, ROWS[k].load);
        expect_in(text, ROWS[k].store);
        assert_true(has_note(&lo, "block F") == (k == 2)); /* to registers of a thread */
    }
}

static void what_does_not_fit_stays_as_it_is(void **state)
{
    Fix *x = *state;
    Case alone = {8, 8, 0, 0, 1, 1, "float32", "shared", "", ""};
    ml_Lower lo = gpu(x);
    const char *text = same_after(x, program(&alone).z, &lo);

    expect_in(text, "C[i, j] = S[i, j]");
    assert_true(has_note(&lo, "block in") && has_note(&lo, "block out"));
    lo = gpu(x); /* a tile that begins inside of a fragment */
    text = same_after(x, with_fragments("wmma.matrix_a", "wmma.accumulator", "shared", 8).z,
                      &lo);
    assert_null(strstr(text, "tvm_store_matrix_sync"));
    assert_true(has_note(&lo, "block D") && !has_note(&lo, "block F"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_take_vectors_by_turns, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(the_next_tile_waits_in_registers, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(every_shape_is_copied_whole, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_warp_loads_and_stores_tiles, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(what_does_not_fit_stays_as_it_is, fix_setup,
                                        fix_teardown),
    };

    return cmocka_run_group_tests_name("lower_auto_copy", tests, NULL, NULL);
}

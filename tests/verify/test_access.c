/* Access regions and where buffers must live: rows T1 to T9 of ir-and-analysis 6.7. */
#include "verify/verify_test.h"

#define I4  "    "
#define I8  I4 I4
#define I12 I8 I4
#define I16 I8 I8

/* What the body of block b touches. */
static void expect(const char *params, const char *body, const char *reads,
                   const char *writes)
{
    Prog g = prog_any(params, body);
    ml_Access a = {0};
    const ml_Block *b = block_of(&g, "b"), *again;

    ml_block_access(g.cx, g.p.mod->funcs[0], b, &a);
    assert_string_equal(region_text(&g, a.reads.v, a.reads.n), reads);
    assert_string_equal(region_text(&g, a.writes.v, a.writes.n), writes);
    assert_int_equal(a.opaque.n, 0);
    again = ml_block_reinfer(g.cx, g.p.mod->funcs[0], b);
    assert_non_null(again);
    assert_string_equal(region_text(&g, again->reads, again->n_reads), reads);
    assert_string_equal(region_text(&g, again->writes, again->n_writes), writes);
    assert_int_equal(again->tag, b->tag);
    prog_free(&g);
}

static void t1_accesses_are_joined_over_inner_loops(void **state)
{
    expect("A: T.Buffer((80,), \"float32\"), B: T.Buffer((64,), \"float32\")",
           I4 "for j in range(4):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(4, j)\n" I12 "for i in range(16):\n" I16
              "B[v * 16 + i] = A[v * 16 + i] + A[v * 16 + i + 1]\n",
           "A[v * 16:v * 16 + 17]", "B[v * 16:v * 16 + 16]");
}

static void t2_an_init_takes_the_result_out_of_the_reads(void **state)
{
    expect("A: T.Buffer((8, 4), \"float32\"), B: T.Buffer((4,), \"float32\"), C: "
           "T.Buffer((8,), \"float32\")",
           I4 "for i, k in T.grid(8, 4):\n" I8 "with T.block(\"b\"):\n" I12
              "v, w = T.axis.remap(\"SR\", [i, k])\n" I12 "with T.init():\n" I16
              "C[v] = T.float32(0)\n" I12 "C[v] = C[v] + A[v, w] * B[w]\n",
           "A[v, w], B[w]", "C[v]");
}

static void an_index_loaded_from_an_own_buffer_stands_for_the_whole_dimension(void **state)
{
    expect("A: T.Buffer((4, 64), \"float32\"), B: T.Buffer((4,), \"float32\")",
           I4 "for j in range(4):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(4, j)\n" I12 "X = T.alloc_buffer((1,), \"int32\")\n" I12
              "X[0] = v * 2\n" I12 "B[v] = A[v, X[0]]\n",
           "A[v, 0:64]", "B[v]");
}

static void t3_a_loaded_index_is_read_after_what_it_indexes(void **state)
{
    const char *params =
        "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\"), "
        "X: T.Buffer((64,), \"int32\")";

    expect(params,
           I4 "for j in range(64):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(64, j)\n" I12 "B[v] = A[X[v]]\n",
           "A[X[v]], X[v]", "B[v]");
    expect(params,
           I4 "for j in range(16):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(16, j)\n" I12 "for i in range(4):\n" I16
              "B[v * 4 + i] = A[X[v * 4 + i]]\n",
           "A[0:64], X[v * 4:v * 4 + 4]", "B[v * 4:v * 4 + 4]");
}

static void t4_a_condition_narrows_an_inner_loop(void **state)
{
    const char *params = "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")";
    char body[512];

    snprintf(body, sizeof body,
             I4 "with T.block(\"root\"):\n" I8 "with T.block(\"b\"):\n" I12
                "for i in range(16):\n" I16 "if i < 4:\n" I16 I4 "B[i] = A[i + 2]\n");
    expect(params, body, "A[2:6]", "B[0:4]");
    snprintf(body, sizeof body,
             I4 "with T.block(\"root\"):\n" I8 "with T.block(\"b\"):\n" I12
                "for i in range(16):\n" I16
                "B[i] = T.if_then_else(i >= 5 and i < 9, A[i], T.float32(0))\n");
    expect(params, body, "A[5:9]", "B[0:16]");
}

static void t5_a_bare_pointer_needs_annotated_regions(void **state)
{
    Prog g =
        prog_any("A: T.Buffer((64,), \"float32\")", I4
                 "for j in range(64):\n" I8 "with T.block(\"b\"):\n" I12
                 "v = T.axis.spatial(64, j)\n" I12 "T.reads()\n" I12 "T.writes(A[v])\n" I12
                 "T.evaluate(T.call_extern(\"int32\", \"fill\", A.data, v))\n");
    ml_Access a = {0};

    ml_block_access(g.cx, g.p.mod->funcs[0], block_of(&g, "b"), &a);
    assert_int_equal(a.opaque.n, 1);
    assert_ptr_equal(a.opaque.v[0], buffer_of(&g, "A"));
    assert_null(ml_block_reinfer(g.cx, g.p.mod->funcs[0], block_of(&g, "b")));
    assert_string_equal(ml_error_code(ml_error(g.cx)->code), "region-missing");
    prog_free(&g);
}

static void t6_a_child_block_counts_with_its_regions(void **state)
{
    expect("A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")",
           I4 "for i in range(16):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(16, i)\n" I12 "for j in range(4):\n" I16
              "with T.block(\"inner\"):\n" I16 I4 "w = T.axis.spatial(4, j)\n" I16 I4
              "B[v * 4 + w] = A[v * 4 + w]\n",
           "A[v * 4:v * 4 + 4]", "B[v * 4:v * 4 + 4]");
}

static void an_explicit_region_is_kept(void **state)
{
    Prog g = prog_any(
        "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")", I4
        "for i in range(32):\n" I8 "with T.block(\"b\"):\n" I12
        "v = T.axis.spatial(32, i)\n" I12 "T.reads(A[v:v + 8])\n" I12 "T.writes(B[v])\n" I12
        "T.block_attr({\"explicit_read_region\": [0]})\n" I12 "B[v] = A[v]\n");
    const ml_Block *b = ml_block_reinfer(g.cx, g.p.mod->funcs[0], block_of(&g, "b"));

    assert_string_equal(region_text(&g, b->reads, b->n_reads), "A[v:v + 8]");
    assert_int_equal(ml_dict_get(b->annotations, "explicit_read_region")->n, 1);
    prog_free(&g);
}

static void an_explicit_region_that_does_not_hold_is_left(void **state)
{
    Prog g = prog_any(
        "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")", I4
        "for i in range(32):\n" I8 "with T.block(\"b\"):\n" I12
        "v = T.axis.spatial(32, i)\n" I12 "T.reads(A[v])\n" I12 "T.writes(B[v])\n" I12
        "T.block_attr({\"explicit_read_region\": [0]})\n" I12 "B[v] = A[v] + A[v + 3]\n");
    const ml_Block *b = ml_block_reinfer(g.cx, g.p.mod->funcs[0], block_of(&g, "b"));

    assert_string_equal(region_text(&g, b->reads, b->n_reads), "A[v:v + 4]");
    prog_free(&g);
}

static ml_Uid lca(Prog *g, const char *buffer)
{
    return ml_buffer_lca(g->cx, g->p, 0, buffer_of(g, buffer));
}

static void t7_a_buffer_of_one_loop_lives_there(void **state)
{
    Prog g = prog_any("A: T.Buffer((64,), \"float32\"), C: T.Buffer((64,), \"float32\")",
                      I4 "B = T.alloc_buffer((64,))\n" I4 "D = T.alloc_buffer((64,))\n" I4
                         "for i in range(64):\n" I8 "with T.block(\"P\"):\n" I12
                         "v = T.axis.spatial(64, i)\n" I12 "B[v] = A[v]\n" I8
                         "with T.block(\"Q\"):\n" I12 "v = T.axis.spatial(64, i)\n" I12
                         "C[v] = B[v]\n");

    assert_int_equal(lca(&g, "B"), loop_uid(&g, "i"));
    assert_int_equal(lca(&g, "C"), block_uid(&g, "Q"));
    assert_int_equal(lca(&g, "D"), 0);
    prog_free(&g);
}

static void t8_global_memory_lives_above_the_grid(void **state)
{
    Prog g = prog_any(
        "A: T.Buffer((64,), \"float32\")", I4
        "B = T.alloc_buffer((64,))\n" I4 "S = T.alloc_buffer((64,), scope=\"shared\")\n" I4
        "for b in T.thread_binding(64, thread=\"blockIdx.x\"):\n" I8
        "with T.block(\"P\"):\n" I12 "v = T.axis.spatial(64, b)\n" I12 "B[v] = A[v]\n" I8
        "with T.block(\"Q\"):\n" I12 "v = T.axis.spatial(64, b)\n" I12 "S[v] = B[v]\n" I8
        "with T.block(\"R\"):\n" I12 "v = T.axis.spatial(64, b)\n" I12 "A[v] = S[v]\n");

    assert_int_equal(lca(&g, "B"), ml_func_root(g.p.mod->funcs[0])->tag);
    assert_int_equal(lca(&g, "S"), loop_uid(&g, "b"));
    prog_free(&g);
}

static void t9_a_reduction_result_lives_above_its_reduce_loops(void **state)
{
    Prog g = prog_any("A: T.Buffer((8, 4), \"float32\"), C: T.Buffer((8,), \"float32\")", I4
                      "for i, k in T.grid(8, 4):\n" I8 "with T.block(\"b\"):\n" I12
                      "vi, vk = T.axis.remap(\"SR\", [i, k])\n" I12 "with T.init():\n" I16
                      "C[vi] = T.float32(0)\n" I12 "C[vi] = C[vi] + A[vi, vk]\n");

    assert_int_equal(lca(&g, "C"), loop_uid(&g, "i"));
    assert_int_equal(lca(&g, "A"), block_uid(&g, "b"));
    prog_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t1_accesses_are_joined_over_inner_loops),
        cmocka_unit_test(t2_an_init_takes_the_result_out_of_the_reads),
        cmocka_unit_test(t3_a_loaded_index_is_read_after_what_it_indexes),
        cmocka_unit_test(t4_a_condition_narrows_an_inner_loop),
        cmocka_unit_test(t5_a_bare_pointer_needs_annotated_regions),
        cmocka_unit_test(t6_a_child_block_counts_with_its_regions),
        cmocka_unit_test(an_index_loaded_from_an_own_buffer_stands_for_the_whole_dimension),
        cmocka_unit_test(an_explicit_region_is_kept),
        cmocka_unit_test(an_explicit_region_that_does_not_hold_is_left),
        cmocka_unit_test(t7_a_buffer_of_one_loop_lives_there),
        cmocka_unit_test(t8_global_memory_lives_above_the_grid),
        cmocka_unit_test(t9_a_reduction_result_lives_above_its_reduce_loops),
    };

    return cmocka_run_group_tests_name("verify access", tests, NULL, NULL);
}

/* Loop nests and bounds: rows V1 to V8, V16, V17, V20 of ir-and-analysis 5.7. */
#include "verify/verify_test.h"

#define I4  "    "
#define I8  I4 I4
#define I12 I8 I4
#define I16 I8 I8

static void nests_of(Prog *g, ml_Findings *out)
{
    ml_verify_nests(g->cx, g->p, out);
    assert_null(ml_error(g->cx));
}

/* The program gives one finding of this severity and code, and nothing else; code NULL: no
 * finding. The third text fact, if asked for. */
static void expect(const char *params, const char *body, ml_Severity severity,
                   const char *code, const char *text)
{
    Prog g = prog_any(params, body);
    ml_Findings found = {0};
    const ml_Error *e;

    nests_of(&g, &found);
    for (int s = 0; s < 2; s++)
        only(&found, (ml_Severity)s, code && s == (int)severity ? code : NULL);
    if (text) {
        bool seen = false;

        e = only(&found, severity, code);
        for (size_t k = 0; k < e->n_facts; k++)
            seen |= e->facts[k].kind == ML_FACT_TEXT && strstr(e->facts[k].as.text, text);
        if (!seen)
            print_finding(&found.v[0]);
        assert_true(seen);
    }
    assert_int_equal(code && severity == ML_SEV_UNPROVED,
                     found.n && found.v[0].error->unproved);
    prog_free(&g);
}

#define V64 "A: T.Buffer((64,), \"float32\"), C: T.Buffer((64,), \"float32\")"
#define MAT "A: T.Buffer((16, 64), \"float32\"), C: T.Buffer((16,), \"float32\")"

static void v1_digits_of_one_loop_are_independent(void **state)
{
    expect("A: T.Buffer((16, 4), \"float32\"), C: T.Buffer((16, 4), \"float32\")",
           I4 "for i in range(64):\n" I8 "with T.block(\"b\"):\n" I12
              "v0 = T.axis.spatial(16, i // 4)\n" I12 "v1 = T.axis.spatial(4, i % 4)\n" I12
              "C[v0, v1] = A[v0, v1]\n",
           ML_SEV_ERROR, NULL, NULL);
}

static void v2_one_loop_in_two_bindings_is_not_independent(void **state)
{
    Prog g =
        prog_any("A: T.Buffer((8, 16), \"float32\"), C: T.Buffer((8, 16), \"float32\")",
                 I4 "for i in range(8):\n" I8 "with T.block(\"b\"):\n" I12
                    "v0 = T.axis.spatial(8, i)\n" I12 "v1 = T.axis.spatial(16, i * 2)\n" I12
                    "C[v0, v1] = A[v0, v1]\n");
    ml_Findings found = {0};

    nests_of(&g, &found);
    assert_true(has_code(&found, ML_SEV_ERROR, "not-independent"));
    prog_free(&g);
}

static void v3_an_output_takes_its_whole_domain(void **state)
{
    expect(V64,
           I4 "for i in range(32):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(64, i)\n" I12 "C[v] = A[v]\n",
           ML_SEV_ERROR, "domain-not-equal", "[0, 32)");
}

static void v4_an_intermediate_may_take_a_part(void **state)
{
    expect("A: T.Buffer((64,), \"float32\"), C: T.Buffer((32,), \"float32\")",
           I4 "B = T.alloc_buffer((64,))\n" I4 "for i in range(32):\n" I8
              "with T.block(\"b\"):\n" I12 "v = T.axis.spatial(64, i)\n" I12
              "B[v] = A[v]\n" I4 "for i in range(32):\n" I8 "with T.block(\"c\"):\n" I12
              "v = T.axis.spatial(32, i)\n" I12 "C[v] = B[v]\n",
           ML_SEV_ERROR, NULL, NULL);
}

static void an_intermediate_of_an_outer_scope_may_take_a_diagonal(void **state)
{
    Prog g = prog_any("A: T.Buffer((4, 4), \"float32\"), C: T.Buffer((4,), \"float32\")",
                      I4 "B = T.alloc_buffer((4, 4))\n" I4 "with T.block(\"piece\"):\n" I8
                         "for i in range(4):\n" I12 "with T.block(\"b\"):\n" I16
                         "v, w = T.axis.remap(\"SS\", [i, i])\n" I16
                         "B[v, w] = A[v, w]\n" I12 "with T.block(\"c\"):\n" I16
                         "v = T.axis.spatial(4, i)\n" I16 "C[v] = B[v, v]\n");
    ml_Findings found = {0};

    (void)state;
    nests_of(&g, &found);
    assert_true(has_code(&found, ML_SEV_UNPROVED, "not-independent"));
    assert_false(has_code(&found, ML_SEV_ERROR, "not-independent"));
    prog_free(&g);
}

static void v5_a_reduction_takes_its_whole_domain(void **state)
{
    expect(MAT,
           I4 "for i, k in T.grid(16, 60):\n" I8 "with T.block(\"b\"):\n" I12
              "vi = T.axis.spatial(16, i)\n" I12 "vk = T.axis.reduce(64, k)\n" I12
              "with T.init():\n" I16 "C[vi] = T.float32(0)\n" I12
              "C[vi] = C[vi] + A[vi, vk]\n",
           ML_SEV_ERROR, "domain-not-equal", "[0, 60)");
}

static void v6_a_predicate_keeps_a_binding_inside(void **state)
{
    const char *params =
        "A: T.Buffer((100,), \"float32\"), C: T.Buffer((100,), \"float32\")";

    expect(params,
           I4 "for a, b in T.grid(4, 32):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(100, a * 32 + b)\n" I12 "T.where(a * 32 + b < 100)\n" I12
              "C[v] = A[v]\n",
           ML_SEV_ERROR, NULL, NULL);
    Prog g =
        prog_any(params, I4 "for a, b in T.grid(4, 32):\n" I8 "with T.block(\"b\"):\n" I12
                            "v = T.axis.spatial(100, a * 32 + b)\n" I12 "C[v] = A[v]\n");
    ml_Findings found = {0};

    nests_of(&g, &found);
    assert_string_equal(ml_error_code(found.v[0].error->code), "domain-exceeded");
    assert_int_equal(found.v[0].severity, ML_SEV_ERROR);
    assert_string_equal(fact_text(found.v[0].error, 2), "127");
    assert_string_equal(fact_text(found.v[0].error, 3), "[0, 100)");
    prog_free(&g);
}

static const char *reduction(const char *loop)
{
    static char text[1024];

    snprintf(text, sizeof text,
             I4 "for i in range(16):\n" I8 "for k in %s:\n" I12 "with T.block(\"b\"):\n" I16
                "vi = T.axis.spatial(16, i)\n" I16 "vk = T.axis.reduce(64, k)\n" I16
                "with T.init():\n" I16 I4 "C[vi] = T.float32(0)\n" I16
                "C[vi] = C[vi] + A[vi, vk]\n",
             loop);
    return text;
}

static void v7_v8_loop_kinds_and_reduce_bindings(void **state)
{
    expect(MAT, reduction("range(64)"), ML_SEV_ERROR, NULL, NULL);
    expect(MAT, reduction("T.parallel(64)"), ML_SEV_ERROR, "loop-kind", "parallel");
    expect(MAT, reduction("T.vectorized(64)"), ML_SEV_ERROR, "loop-kind", "vectorized");
    expect(MAT, reduction("T.thread_binding(64, thread=\"blockIdx.x\")"), ML_SEV_ERROR,
           "loop-kind", "blockIdx.x");
    expect(MAT, reduction("T.thread_binding(64, thread=\"threadIdx.x\")"), ML_SEV_ERROR,
           NULL, NULL);
}

static void a_vectorized_loop_has_a_constant_extent(void **state)
{
    expect("a: T.handle, n: T.int32",
           I4 "C = T.match_buffer(a, (n,))\n" I4 "for i in T.vectorized(n):\n" I8
              "with T.block(\"b\"):\n" I12 "v = T.axis.spatial(n, i)\n" I12
              "C[v] = T.float32(1)\n",
           ML_SEV_WARNING, "loop-dynamic", NULL);
}

static void v20_a_reduction_with_overlap_finishes_each_repetition(void **state)
{
    const char *params =
        "A: T.Buffer((58, 4), \"float32\"), C: T.Buffer((58,), \"float32\")";
    const char *body =
        I8 "with T.block(\"b\"):\n" I12 "v = T.axis.spatial(58, i * 8 + j)\n" I12
           "vk = T.axis.reduce(4, k)\n" I12 "with T.init():\n" I16
           "C[v] = T.float32(0)\n" I12 "C[v] = C[v] + A[v, vk]\n";
    char text[1024];

    snprintf(text, sizeof text, I4 "for k, i, j in T.grid(4, 7, 10):\n%s", body);
    expect(params, text, ML_SEV_ERROR, "accumulated-twice", NULL);
    snprintf(text, sizeof text, I4 "for i, j, k in T.grid(7, 10, 4):\n%s", body);
    expect(params, text, ML_SEV_ERROR, NULL, NULL);
}

static void a_repeating_loop_inside_the_reduction_accumulates_twice(void **state)
{
    const char *body = I8 "with T.block(\"b\"):\n" I12 "v = T.axis.spatial(16, i)\n" I12
                          "vk = T.axis.reduce(64, k)\n" I12 "with T.init():\n" I16
                          "C[v] = T.float32(0)\n" I12 "C[v] = C[v] + A[v, vk]\n";
    char text[1024];

    snprintf(text, sizeof text, I4 "for i, k, z in T.grid(16, 64, 2):\n%s", body);
    expect(MAT, text, ML_SEV_ERROR, "accumulated-twice", NULL);
    snprintf(text, sizeof text, I4 "for z, i, k in T.grid(2, 16, 64):\n%s", body);
    expect(MAT, text, ML_SEV_ERROR, NULL, NULL);
    snprintf(text, sizeof text, I4 "for k, i in T.grid(64, 16):\n%s", body);
    expect(MAT, text, ML_SEV_ERROR, NULL, NULL);
}

static void a_predicate_must_not_cut_off_the_first_reduce_iteration(void **state)
{
    Prog g = prog_any(MAT, I4
                      "for i, k in T.grid(16, 64):\n" I8 "with T.block(\"b\"):\n" I12
                      "vi = T.axis.spatial(16, i)\n" I12 "vk = T.axis.reduce(64, k)\n" I12
                      "T.where(1 <= k)\n" I12 "with T.init():\n" I16
                      "C[vi] = T.float32(0)\n" I12 "C[vi] = C[vi] + A[vi, vk]\n");
    ml_Findings found = {0};

    nests_of(&g, &found);
    assert_true(has_code(&found, ML_SEV_ERROR, "init-excluded"));
    prog_free(&g);
}

static void the_init_comes_with_the_first_iteration_of_the_loops(void **state)
{
    static const char text[] = I4
        "for i, k in T.grid(16, 64):\n" I8 "with T.block(\"b\"):\n" I12
        "vi = T.axis.spatial(16, i)\n" I12 "vk = T.axis.reduce(64, %s)\n" I12
        "with T.init():\n" I16 "C[vi] = T.float32(0)\n" I12 "C[vi] = C[vi] + A[vi, vk]\n";
    char body[1024];

    snprintf(body, sizeof body, text, "63 - k");
    expect(MAT, body, ML_SEV_ERROR, "init-excluded", "starts at 63");
}

static void reading_before_any_write_is_an_error(void **state)
{
    Prog g = prog_any(V64, I4 "B = T.alloc_buffer((64,))\n" I4 "for i in range(64):\n" I8
                              "with T.block(\"Q\"):\n" I12 "v = T.axis.spatial(64, i)\n" I12
                              "C[v] = B[v]\n" I4 "for i in range(64):\n" I8
                              "with T.block(\"P\"):\n" I12 "v = T.axis.spatial(64, i)\n" I12
                              "B[v] = A[v]\n");
    ml_Findings found = {0};
    const ml_Error *e;

    nests_of(&g, &found);
    e = only(&found, ML_SEV_ERROR, "read-before-write");
    assert_ptr_equal(e->facts[1].as.buffer, buffer_of(&g, "B"));
    prog_free(&g);
}

static void what_is_surely_not_written_is_an_error_else_unproved(void **state)
{
    static const char text[] =
        I4 "B = T.alloc_buffer((64,))\n" I4 "for i in range(%s):\n" I8
           "with T.block(\"P\"):\n" I12 "v = T.axis.spatial(64, %s)\n" I12
           "B[v] = A[v]\n" I4 "for i in range(64):\n" I8 "with T.block(\"Q\"):\n" I12
           "v = T.axis.spatial(64, i)\n" I12 "C[v] = B[v]\n";
    char body[1024];

    snprintf(body, sizeof body, text, "63", "i");
    expect(V64, body, ML_SEV_ERROR, "not-region-covered", NULL);
    /* every element is written, but the map is not an affine one */
    snprintf(body, sizeof body, text, "64", "T.bitwise_xor(i, 1)");
    Prog g = prog_any(V64, body);
    ml_Findings found = {0};

    nests_of(&g, &found);
    assert_false(has_code(&found, ML_SEV_ERROR, "not-region-covered"));
    assert_true(has_code(&found, ML_SEV_UNPROVED, "not-region-covered"));
    prog_free(&g);
}

static void the_iters_of_all_blocks_around_are_seen_through(void **state)
{
    expect("A: T.Buffer((4, 8), \"float32\"), C: T.Buffer((4, 8), \"float32\")",
           I4 "for i in range(4):\n" I8 "with T.block(\"o\"):\n" I12
              "u = T.axis.spatial(4, i)\n" I12 "T.reads(A[u, 0:8])\n" I12
              "T.writes(C[u, 0:8])\n" I12 "for j in range(8):\n" I16
              "with T.block(\"m\"):\n" I16 I4 "w = T.axis.spatial(8, j)\n" I16 I4
              "T.reads(A[u, w])\n" I16 I4 "T.writes(C[u, w])\n" I16 I4
              "for k in range(1):\n" I16 I8 "with T.block(\"b\"):\n" I16 I12
              "v0 = T.axis.spatial(4, u + k)\n" I16 I12
              "v1 = T.axis.spatial(8, w)\n" I16 I12 "C[v0, v1] = A[v0, v1]\n",
           ML_SEV_ERROR, NULL, NULL);
    expect("A: T.Buffer((4, 8), \"float32\"), C: T.Buffer((4, 8), \"float32\")",
           I4 "for i in range(3):\n" I8 "with T.block(\"o\"):\n" I12
              "u = T.axis.spatial(3, i)\n" I12 "T.reads(A[u, 0:8])\n" I12
              "T.writes(C[u, 0:8])\n" I12 "for j in range(8):\n" I16
              "with T.block(\"b\"):\n" I16 I4 "v0 = T.axis.spatial(4, u)\n" I16 I4
              "v1 = T.axis.spatial(8, j)\n" I16 I4 "C[v0, v1] = A[v0, v1]\n",
           ML_SEV_ERROR, "domain-not-equal", NULL);
}

/* Another piece may have the rest; what is read may come from the iteration before. */
static void what_lies_elsewhere_is_not_missing(void **state)
{
    expect("A: T.Buffer((4,), \"float32\"), C: T.Buffer((4,), \"float32\")",
           I4 "with T.block(\"o\"):\n" I8 "u = T.axis.spatial(1, 0)\n" I8
              "T.reads(A[0:3])\n" I8 "T.writes(C[0:3])\n" I8 "for i in range(3):\n" I12
              "with T.block(\"b\"):\n" I16 "v = T.axis.spatial(4, i)\n" I16
              "C[v] = A[v]\n" I4 "for i in range(3, 4):\n" I8 "with T.block(\"r\"):\n" I12
              "v = T.axis.spatial((3, 4), i)\n" I12 "C[v] = A[v]\n",
           ML_SEV_UNPROVED, "domain-not-equal", NULL);
    expect("A: T.Buffer((4,), \"float32\"), C: T.Buffer((4,), \"float32\")",
           I4 "B = T.alloc_buffer((5,))\n" I4 "for i in range(4):\n" I8
              "with T.block(\"c\"):\n" I12 "v = T.axis.spatial(4, i)\n" I12
              "T.reads(B[v])\n" I12 "T.writes(C[v])\n" I12
              "C[v] = T.if_then_else(0 < v, B[v], T.float32(0))\n" I8
              "with T.block(\"b\"):\n" I12 "v = T.axis.spatial(5, i + 1)\n" I12
              "B[v] = A[v - 1]\n",
           ML_SEV_UNPROVED, "read-before-write", NULL);
    expect("A: T.Buffer((2,), \"float32\"), C: T.Buffer((4,), \"float32\")",
           I4 "B = T.alloc_buffer((2,))\n" I4 "for i in range(4):\n" I8
              "with T.block(\"c\"):\n" I12 "v = T.axis.spatial(4, i)\n" I12
              "T.reads(B[v])\n" I12 "T.writes(C[v])\n" I12
              "C[v] = T.if_then_else(v < 0, B[v], T.float32(0))\n" I4
              "for i in range(2):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(2, i)\n" I12 "B[v] = A[v]\n",
           ML_SEV_UNPROVED, "read-before-write", NULL);
}

/* The signature says more than what must have been there before. */
static void a_read_may_be_of_what_was_written_inside_or_not_happen(void **state)
{
    expect("A: T.Buffer((4,), \"float32\"), C: T.Buffer((4,), \"float32\")",
           I4 "B = T.alloc_buffer((4,))\n" I4 "for i in range(3):\n" I8
              "with T.block(\"b\"):\n" I12 "v = T.axis.spatial(3, i)\n" I12
              "B[v] = A[v]\n" I4 "with T.block(\"o\"):\n" I8 "T.reads(B[0:4])\n" I8
              "T.writes(B[3], C[0:4])\n" I8 "with T.block(\"r\"):\n" I12 "B[3] = 1.0\n" I8
              "for i in range(4):\n" I12 "with T.block(\"c\"):\n" I16
              "v = T.axis.spatial(4, i)\n" I16 "C[v] = B[v]\n",
           ML_SEV_UNPROVED, "not-region-covered", NULL);
    expect("A: T.Buffer((2,), \"float32\"), C: T.Buffer((5,), \"float32\")",
           I4 "B = T.alloc_buffer((5,))\n" I4 "for i in range(2):\n" I8
              "with T.block(\"b\"):\n" I12 "v = T.axis.spatial(2, i)\n" I12
              "B[v] = A[v]\n" I4 "for i in range(5):\n" I8 "with T.block(\"c\"):\n" I12
              "v = T.axis.spatial(5, i)\n" I12 "T.reads(B[v])\n" I12 "T.writes(C[v])\n" I12
              "C[v] = T.if_then_else(v < 2, B[v], T.float32(0))\n",
           ML_SEV_UNPROVED, "not-region-covered", NULL);
}

/* ---- bounds */

static void bounds(const char *params, const char *body, ml_Severity severity,
                   const char *code, const char *have)
{
    Prog g = prog_any(params, body);
    ml_Findings found = {0};

    ml_verify_bounds(g.cx, g.p, &found);
    for (int s = 0; s < 2; s++)
        only(&found, (ml_Severity)s, code && s == (int)severity ? code : NULL);
    if (have)
        assert_string_equal(fact_text(found.v[0].error, 3), have);
    prog_free(&g);
}

static void v16_an_index_past_the_end_is_an_error_unless_guarded(void **state)
{
    const char *params = "A: T.Buffer((8,), \"float32\"), C: T.Buffer((8,), \"float32\")";

    bounds(params, I4 "for i in range(8):\n" I8 "C[i] = A[i + 1]\n", ML_SEV_ERROR,
           "access-bounds", "[1, 8]");
    bounds(params, I4 "for i in range(8):\n" I8 "if i < 7:\n" I12 "C[i] = A[i + 1]\n",
           ML_SEV_ERROR, NULL, NULL);
    bounds(params,
           I4 "for i in range(8):\n" I8
              "C[i] = T.if_then_else(i < 7, A[i + 1], T.float32(0))\n",
           ML_SEV_ERROR, NULL, NULL);
    bounds(params,
           I4 "for i in range(8):\n" I8 "C[i] = T.Select(i < 7, A[i + 1], T.float32(0))\n",
           ML_SEV_ERROR, "access-bounds", "[1, 8]");
    bounds(params,
           I4 "for i in range(8):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(8, i)\n" I12 "C[v] = A[v - 1]\n",
           ML_SEV_ERROR, "access-bounds", "[-1, 6]");
    bounds(params,
           I4 "for i in range(8):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.spatial(8, i)\n" I12 "T.where(0 < i)\n" I12 "C[v] = A[v - 1]\n",
           ML_SEV_ERROR, NULL, NULL);
}

static void a_predicate_guards_what_bindings_read(void **state)
{
    const char *params = "X: T.Buffer((16,), \"int32\"), C: T.Buffer((8,), \"float32\")";

    bounds(params,
           I4 "for i, j in T.grid(4, 5):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.opaque(8, T.min(T.max(X[i * 5 + j], 0), 7))\n" I12
              "T.where(i * 5 + j < 16)\n" I12 "C[v] = T.float32(1)\n",
           ML_SEV_ERROR, NULL, NULL);
    bounds(params,
           I4 "for i, j in T.grid(4, 5):\n" I8 "with T.block(\"b\"):\n" I12
              "v = T.axis.opaque(8, T.min(T.max(X[i * 5 + j], 0), 7))\n" I12
              "T.where(i * 5 + j < 17)\n" I12 "C[v] = T.float32(1)\n",
           ML_SEV_ERROR, "access-bounds", NULL);
}

static void every_dimension_out_of_bounds_is_reported(void **state)
{
    Prog g = prog_any("A: T.Buffer((4, 4), \"float32\"), C: T.Buffer((4,), \"float32\")",
                      I4 "for i in range(4):\n" I8 "C[i] = A[i + 1, i - 1]\n");
    ml_Findings found = {0};

    ml_verify_bounds(g.cx, g.p, &found);
    assert_int_equal(found.n, 2);
    assert_int_equal(found.v[0].error->facts[1].as.i, 0);
    assert_int_equal(found.v[1].error->facts[1].as.i, 1);
    prog_free(&g);
}

static void an_interval_that_no_point_takes_is_unproved(void **state)
{
    bounds("A: T.Buffer((8,), \"float32\"), C: T.Buffer((8,), \"float32\"), X: "
           "T.Buffer((8,), \"int32\")",
           I4 "for i in range(8):\n" I8 "C[i] = A[X[i]]\n", ML_SEV_UNPROVED,
           "access-bounds", NULL);
    bounds("A: T.Buffer((50,), \"float32\"), C: T.Buffer((8,), \"float32\")",
           I4 "for i in range(8):\n" I8 "C[i] = A[i * i + i]\n", ML_SEV_UNPROVED,
           "access-bounds", NULL);
}

static void v17_unrelated_sizes_are_unproved(void **state)
{
    bounds("a: T.handle, c: T.handle, n: T.int32, m: T.int32",
           I4 "A = T.match_buffer(a, (m,))\n" I4 "C = T.match_buffer(c, (1,))\n" I4
              "C[0] = A[n]\n",
           ML_SEV_UNPROVED, "access-bounds", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v1_digits_of_one_loop_are_independent),
        cmocka_unit_test(v2_one_loop_in_two_bindings_is_not_independent),
        cmocka_unit_test(v3_an_output_takes_its_whole_domain),
        cmocka_unit_test(v4_an_intermediate_may_take_a_part),
        cmocka_unit_test(an_intermediate_of_an_outer_scope_may_take_a_diagonal),
        cmocka_unit_test(v5_a_reduction_takes_its_whole_domain),
        cmocka_unit_test(v6_a_predicate_keeps_a_binding_inside),
        cmocka_unit_test(v7_v8_loop_kinds_and_reduce_bindings),
        cmocka_unit_test(a_vectorized_loop_has_a_constant_extent),
        cmocka_unit_test(v20_a_reduction_with_overlap_finishes_each_repetition),
        cmocka_unit_test(a_repeating_loop_inside_the_reduction_accumulates_twice),
        cmocka_unit_test(a_predicate_must_not_cut_off_the_first_reduce_iteration),
        cmocka_unit_test(the_init_comes_with_the_first_iteration_of_the_loops),
        cmocka_unit_test(reading_before_any_write_is_an_error),
        cmocka_unit_test(what_is_surely_not_written_is_an_error_else_unproved),
        cmocka_unit_test(the_iters_of_all_blocks_around_are_seen_through),
        cmocka_unit_test(what_lies_elsewhere_is_not_missing),
        cmocka_unit_test(a_read_may_be_of_what_was_written_inside_or_not_happen),
        cmocka_unit_test(v16_an_index_past_the_end_is_an_error_unless_guarded),
        cmocka_unit_test(a_predicate_guards_what_bindings_read),
        cmocka_unit_test(every_dimension_out_of_bounds_is_reported),
        cmocka_unit_test(an_interval_that_no_point_takes_is_unproved),
        cmocka_unit_test(v17_unrelated_sizes_are_unproved),
    };

    return cmocka_run_group_tests_name("verify nests", tests, NULL, NULL);
}

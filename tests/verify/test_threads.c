/* Threading and resources: rows V8 to V15, V18, V19 of ir-and-analysis 5.7. */
#include "verify/verify_test.h"

#define I4           "    "
#define I8           I4 I4
#define I12          I8 I4
#define I16          I8 I8
#define BIND(n, tag) "T.thread_binding(" n ", thread=\"" tag "\")"
#define V64          "A: T.Buffer((64,), \"float32\"), C: T.Buffer((64,), \"float32\")"

static const ml_Value *limit(ml_Ctx *cx, const char *name, int64_t v)
{
    return ml_dict_with(cx, NULL, name, ml_val_int(cx, v));
}

static ml_Findings check(Prog *g, const char *name, int64_t value, bool gpu)
{
    ml_Findings found = {0};

    ml_verify_threads(g->cx, g->p, name ? limit(g->cx, name, value) : NULL, gpu, &found);
    assert_null(ml_error(g->cx));
    return found;
}

/* The only finding that is no warning has this severity and code; NULL: there is none.
 * text: part of one of its texts. */
static void expect(const char *params, const char *body, const char *name, int64_t value,
                   ml_Severity severity, const char *code, const char *text)
{
    Prog g = prog_any(params, body);
    ml_Findings found = check(&g, name, value, false);
    bool seen = text == NULL;

    for (int s = 0; s < 2; s++)
        only(&found, (ml_Severity)s, code && s == (int)severity ? code : NULL);
    for (size_t k = 0; text && k < found.v[0].error->n_facts; k++)
        seen |= found.v[0].error->facts[k].kind == ML_FACT_TEXT &&
                strstr(found.v[0].error->facts[k].as.text, text);
    if (!seen)
        print_finding(&found.v[0]);
    assert_true(seen);
    prog_free(&g);
}

static const char *copy(const char *in, const char *name, const char *n, const char *e)
{
    static char ring[4][512];
    static int at;
    char *t = ring[at++ % 4];

    snprintf(
        t, sizeof ring[0],
        "%swith T.block(\"%s\"):\n%s    v = T.axis.spatial(%s, %s)\n%s    C[v] = A[v]\n",
        in, name, in, n, e, in);
    return t;
}

static void v8_v13_reductions_across_threads(void **state)
{
    const char *params =
        "A: T.Buffer((16, 64), \"float32\"), C: T.Buffer((16,), \"float32\")";
    static const char text[] =
        I4 "for i in range(16):\n" I8
           "for k in " BIND("64", "threadIdx.x") ":\n" I12 "with T.block(\"b\"):\n" I16
                                                 "vi, vk = T.axis.remap(\"SR\", [i, k])\n"
                                                 "%s" I16 "C[vi] = C[vi] + A[vi, vk]%s\n";
    const char *init = I16 "with T.init():\n" I16 I4 "C[vi] = T.float32(0)\n";
    char body[1024];

    snprintf(body, sizeof body, text, init, "");
    expect(params, body, NULL, 0, ML_SEV_ERROR, NULL, NULL);
    snprintf(body, sizeof body, text, "", "");
    expect(params, body, NULL, 0, ML_SEV_ERROR, "cross-thread", "it has no init");
    snprintf(body, sizeof body, text, init, " * C[vi]");
    expect(params, body, NULL, 0, ML_SEV_ERROR, NULL, NULL);
    expect(params,
           I4 "for i in range(16):\n" I8 "for k in " BIND(
               "64", "threadIdx.x") ":\n" I12 "for z in range(2):\n" I12 I4
                                    "C[i] = T.float32(1)\n" I12 "with T.block(\"b\"):\n" I16
                                    "vi, vk = T.axis.remap(\"SR\", [i, k])\n" I16
                                    "with T.init():\n" I16 I4 "C[vi] = T.float32(0)\n" I16
                                    "C[vi] = C[vi] + A[vi, vk]\n",
           NULL, 0, ML_SEV_ERROR, "cross-thread", "not directly under");
}

static void v9_one_extent_per_tag_in_a_kernel(void **state)
{
    char body[1024];

    snprintf(body, sizeof body,
             I4 "for b in " BIND("1", "blockIdx.x") ":\n" I8 "for t in " BIND(
                 "32", "threadIdx.x") ":\n%s" I8
                                      "for u in " BIND("64", "threadIdx.x") ":\n%s",
             copy(I12, "P", "64", "t"), copy(I12, "Q", "64", "u"));
    expect(V64, body, NULL, 0, ML_SEV_ERROR, "thread-extents", "64");
    snprintf(body, sizeof body,
             I4 "for t in " BIND("32", "threadIdx.x") ":\n%s" I4 "for u in " BIND(
                 "64", "threadIdx.x") ":\n%s",
             copy(I8, "P", "64", "t"), copy(I8, "Q", "64", "u"));
    expect(V64, body, NULL, 0, ML_SEV_ERROR, NULL, NULL);
}

static void v10_the_threads_of_a_block_are_limited(void **state)
{
    const char *params =
        "A: T.Buffer((2048,), \"float32\"), C: T.Buffer((2048,), \"float32\")";
    char body[1024];

    snprintf(body, sizeof body,
             I4 "for x in " BIND("64", "threadIdx.x") ":\n" I8 "for y in " BIND(
                 "32", "threadIdx.y") ":\n%s",
             copy(I12, "P", "2048", "x * 32 + y"));
    expect(params, body, NULL, 0, ML_SEV_ERROR, "launch-limit", "2048");
    expect(params, body, "max_threads_per_block", 2048, ML_SEV_ERROR, NULL, NULL);
    Prog g = prog_any(params, body);
    ml_Findings found = check(&g, "max_thread_y", 16, false);

    assert_int_equal(found.n, 2);
    assert_string_equal(fact_text(found.v[0].error, 0), "threadIdx.y");
    prog_free(&g);
}

static void v10_other_launch_limits(void **state)
{
    char body[1024];

    snprintf(body, sizeof body, I4 "for z in " BIND("128", "threadIdx.z") ":\n%s",
             copy(I8, "P", "128", "z"));
    expect("A: T.Buffer((128,), \"float32\"), C: T.Buffer((128,), \"float32\")", body, NULL,
           0, ML_SEV_ERROR, "launch-limit", "threadIdx.z");
    snprintf(body, sizeof body, I4 "for z in " BIND("16", "vthread.x") ":\n%s",
             copy(I8, "P", "16", "z"));
    expect(V64, body, NULL, 0, ML_SEV_ERROR, "launch-limit", "vthread.x");
    expect(V64, body, "max_vthread", 16, ML_SEV_ERROR, NULL, NULL);
    Prog g = prog_any(V64, body);
    ml_Findings found = check(&g, "max_vthraed", 16, false);

    assert_true(has_code(&found, ML_SEV_ERROR, "bad-argument"));
    assert_true(has_code(&found, ML_SEV_ERROR, "launch-limit"));
    prog_free(&g);
}

static void v11_a_tag_below_itself_is_the_same_thread(void **state)
{
    char body[1024];

    snprintf(body, sizeof body,
             I4 "for t in " BIND("8", "threadIdx.x") ":\n" I8 "for u in " BIND(
                 "8", "threadIdx.x") ":\n%s",
             copy(I12, "P", "64", "t * 8 + u"));
    expect(V64, body, NULL, 0, ML_SEV_ERROR, "thread-nested", "threadIdx.x");
    snprintf(body, sizeof body,
             I4 "for t in " BIND("8", "threadIdx.x") ":\n" I8 "for u in " BIND(
                 "8", "threadIdx.x") ":\n%s",
             copy(I12, "P", "64", "u"));
    expect(V64, body, NULL, 0, ML_SEV_ERROR, NULL, NULL);
    snprintf(body, sizeof body,
             I4 "for t in " BIND("8", "vthread") ":\n" I8
                                                 "for u in " BIND("4", "vthread") ":\n%s",
             copy(I12, "P", "64", "t * 4 + u"));
    expect(V64, body, NULL, 0, ML_SEV_ERROR, NULL, NULL);
}

/* An iter of a block between the two loops carries the outer variable. */
static void v11_the_outer_thread_may_come_through_an_iter(void **state)
{
    expect(
        V64,
        I4 "for t in " BIND(
            "8", "threadIdx.x") ":\n" I8 "with T.block(\"P\"):\n" I12
                                "v = T.axis.spatial(8, t)\n" I12
                                "T.reads(A[v * 8:v * 8 + 8])\n" I12
                                "T.writes(C[v * 8:v * 8 + 8])\n" I12 "for u in " BIND(
                                    "8", "threadIdx.x") ":\n" I16
                                                        "with T.block(\"Q\"):\n" I16 I4
                                                        "w = T.axis.spatial(8, u)\n" I16 I4
                                                        "C[v * 8 + w] = A[v * 8 + w]\n",
        NULL, 0, ML_SEV_ERROR, "thread-nested", NULL);
}

static bool tile_is_covered(const char *rows)
{
    static const char text[] = I4
        "B = T.alloc_buffer((%s, 32), scope=\"shared\")\n" I4
        "for b in " BIND("1", "blockIdx.x") ":\n" I8 "for t in " BIND(
            "64", "threadIdx.x") ":\n" I12 "for v in range(4):\n" I16
                                 "with T.block(\"fill\"):\n" I16 I4
                                 "r = T.axis.spatial(%s, (t * 4 + v) // 32)\n" I16 I4
                                 "c = T.axis.spatial(32, (t * 4 + v) %% 32)\n" I16 I4
                                 "B[r, c] = A[r, c]\n" I8 "for t in " BIND(
                                     "64", "threadIdx.x") ":\n" I12
                                                          "with T.block(\"use\"):\n" I16
                                                          "w = T.axis.spatial(64, t)\n" I16
                                                          "T.reads(B[0:%s, 0:32])\n" I16
                                                          "T.writes(C[w])\n" I16
                                                          "C[w] = B[w // 32, w %% 32]\n";
    char body[2048];
    ml_Findings found = {0};
    bool error;

    snprintf(body, sizeof body, text, rows, rows, rows);
    Prog g = prog_any("A: T.Buffer((16, 32), \"float32\"), C: T.Buffer((64,), \"float32\")",
                      body);

    ml_verify_nests(g.cx, g.p, &found);
    error = has_code(&found, ML_SEV_ERROR, "not-region-covered");
    if (!error)
        only(&found, ML_SEV_ERROR, NULL);
    prog_free(&g);
    return !error;
}

static void v12_a_cooperative_fill_covers_its_tile(void **state)
{
    assert_true(tile_is_covered("8"));
    assert_false(tile_is_covered("16"));
}

static void v13_a_private_buffer_is_not_seen_by_another_thread(void **state)
{
    static const char text[] =
        I4 "B = T.alloc_buffer((32,), scope=\"%s\")\n" I4
           "for t in " BIND("32", "threadIdx.x") ":\n" I8 "with T.block(\"P\"):\n" I12
                                                 "v = T.axis.spatial(32, t)\n" I12
                                                 "B[v] = A[v]\n" I8
                                                 "with T.block(\"Q\"):\n" I12
                                                 "v = T.axis.spatial(32, t)\n" I12
                                                 "C[v] = B[31 - v]\n";
    const char *params = "A: T.Buffer((32,), \"float32\"), C: T.Buffer((32,), \"float32\")";
    char body[1024];
    ml_Findings found = {0};

    snprintf(body, sizeof body, text, "local");
    Prog g = prog_any(params, body);

    ml_verify_nests(g.cx, g.p, &found);
    only(&found, ML_SEV_ERROR, "not-region-covered");
    prog_free(&g);
    snprintf(body, sizeof body, text, "shared");
    g = prog_any(params, body);
    found = (ml_Findings){0};
    ml_verify_nests(g.cx, g.p, &found);
    only(&found, ML_SEV_ERROR, NULL);
    prog_free(&g);
}

static const char *warp_block(const char *loop, const char *binding)
{
    static char body[1024];

    snprintf(body, sizeof body,
             I4 "for t in %s:\n" I8 "for i in range(2):\n" I12 "with T.block(\"w\"):\n" I16
                "v = T.axis.spatial(64, %s)\n" I16
                "T.block_attr({\"warp_execution\": 1})\n" I16 "C[v] = A[v]\n",
             loop, binding);
    return body;
}

static void v14_a_warp_block_is_executed_by_one_warp(void **state)
{
    expect(V64, warp_block(BIND("16", "threadIdx.x"), "i"), NULL, 0, ML_SEV_ERROR,
           "execution-scope", "extent 16, not 32");
    expect(V64, warp_block(BIND("32", "threadIdx.x"), "t * 2 + i"), NULL, 0, ML_SEV_ERROR,
           "execution-scope", "binding uses threadIdx.x");
    expect(V64, warp_block(BIND("32", "threadIdx.x"), "i"), NULL, 0, ML_SEV_ERROR, NULL,
           NULL);
    expect(V64, warp_block(BIND("4", "threadIdx.y"), "t * 2 + i"), NULL, 0, ML_SEV_ERROR,
           NULL, NULL);
}

/* "threadIdx.~" is read with a warning; it is none of the three numbers of a thread. */
static void v14_a_tag_that_nothing_knows_counts_no_threads(void **state)
{
    expect(V64,
           I4 "for t in " BIND("4", "threadIdx.x") ":\n" I8 "for u in " BIND(
               "16", "threadIdx.~") ":\n" I12 "with T.block(\"w\"):\n" I16
                                    "v = T.axis.spatial(64, t * 16 + u)\n" I16
                                    "T.block_attr({\"meta_schedule.thread_extent_low_"
                                    "inclusive\": 5})\n" I16 "C[v] = A[v]\n",
           NULL, 0, ML_SEV_ERROR, "execution-scope", "executed by 4 threads");
}

static void v14_fragments_belong_to_warp_blocks(void **state)
{
    static const char text[] =
        I4 "B = T.alloc_buffer((64,), scope=\"wmma.accumulator\")\n" I4
           "for i in range(64):\n" I8 "with T.block(\"P\"):\n" I12
           "v = T.axis.spatial(64, i)\n"
           "%s" I12 "B[v] = A[v]\n";
    char body[1024];

    snprintf(body, sizeof body, text, "");
    expect(V64, body, NULL, 0, ML_SEV_ERROR, "execution-scope", "not executed by a warp");
    snprintf(body, sizeof body, text, I12 "T.block_attr({\"warp_execution\": True})\n");
    expect(V64, body, NULL, 0, ML_SEV_ERROR, NULL, NULL);
}

static void v15_a_loop_that_was_not_bound_accesses_from_the_host(void **state)
{
    char body[512];

    snprintf(body, sizeof body, I4 "for i in range(64):\n%s", copy(I8, "P", "64", "i"));
    Prog g = prog_any(V64, body);
    ml_Findings found = check(&g, NULL, 0, true);

    assert_true(has_code(&found, ML_SEV_ERROR, "host-access"));
    assert_int_equal(found.n, 2);
    found = check(&g, NULL, 0, false);
    assert_int_equal(found.n, 0);
    prog_free(&g);
    snprintf(body, sizeof body, I4 "for i in " BIND("64", "blockIdx.x") ":\n%s",
             copy(I8, "P", "64", "i"));
    g = prog_any(V64, body);
    found = check(&g, NULL, 0, true);
    assert_int_equal(found.n, 0);
    prog_free(&g);
}

static void v17_a_barrier_under_a_condition_on_the_thread_is_unproved(void **state)
{
    static const char text[] =
        I4 "B = T.alloc_buffer((64,), scope=\"shared\")\n" I4
           "for t in " BIND("64", "threadIdx.x") ":\n" I8 "if %s:\n" I12
                                                 "with T.block(\"P\"):\n" I16
                                                 "v = T.axis.spatial(64, t)\n" I16
                                                 "B[v] = A[v]\n";
    char body[1024];

    snprintf(body, sizeof body, text, "t < 8");
    expect(V64, body, NULL, 0, ML_SEV_UNPROVED, "barrier", NULL);
    snprintf(body, sizeof body, text, "n < 8");
    expect(V64 ", n: T.int32", body, NULL, 0, ML_SEV_ERROR, NULL, NULL);
}

static void v18_shared_memory_is_limited(void **state)
{
    const char *params =
        "A: T.Buffer((128, 128), \"float32\"), C: T.Buffer((128, 128), \"float32\")";
    static const char text[] = I4
        "B = T.alloc_buffer((128, 128), scope=\"shared\")\n" I4
        "for b in " BIND("%s", "blockIdx.x") ":\n" I8 "for i, j in T.grid(%s, 128):\n" I12
                                             "with T.block(\"P\"):\n" I16
                                             "vi = T.axis.spatial(128, b * %s + i)\n" I16
                                             "vj = T.axis.spatial(128, j)\n" I16
                                             "B[vi, vj] = A[vi, vj]\n" I8
                                             "for i, j in T.grid(%s, 128):\n" I12
                                             "with T.block(\"Q\"):\n" I16
                                             "vi = T.axis.spatial(128, b * %s + i)\n" I16
                                             "vj = T.axis.spatial(128, j)\n" I16
                                             "C[vi, vj] = B[vi, vj]\n";
    char body[2048];

    snprintf(body, sizeof body, text, "1", "128", "128", "128", "128");
    expect(params, body, NULL, 0, ML_SEV_ERROR, "memory-limit", "65536");
    expect(params, body, "max_shared_memory_per_block", 65536, ML_SEV_ERROR, NULL, NULL);
    /* Only 16 rows of it are used by one block: 8 KiB after compaction. */
    snprintf(body, sizeof body, text, "8", "16", "16", "16", "16");
    expect(params, body, NULL, 0, ML_SEV_ERROR, NULL, NULL);
    expect(params, body, "max_shared_memory_per_block", 8191, ML_SEV_ERROR, "memory-limit",
           "8192");
}

static void v19_vectors_are_limited(void **state)
{
    const char *params =
        "A: T.Buffer((8,), \"float32x8\"), C: T.Buffer((8,), \"float32x8\")";

    expect(params, I4 "for i in range(8):\n" I8 "C[i] = A[i]\n", "max_vector_bytes", 16,
           ML_SEV_ERROR, "launch-limit", "32");
    expect(params, I4 "for i in range(8):\n" I8 "C[i] = A[i]\n", "max_vector_bytes", 32,
           ML_SEV_ERROR, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v8_v13_reductions_across_threads),
        cmocka_unit_test(v9_one_extent_per_tag_in_a_kernel),
        cmocka_unit_test(v10_the_threads_of_a_block_are_limited),
        cmocka_unit_test(v10_other_launch_limits),
        cmocka_unit_test(v11_a_tag_below_itself_is_the_same_thread),
        cmocka_unit_test(v11_the_outer_thread_may_come_through_an_iter),
        cmocka_unit_test(v12_a_cooperative_fill_covers_its_tile),
        cmocka_unit_test(v13_a_private_buffer_is_not_seen_by_another_thread),
        cmocka_unit_test(v14_a_warp_block_is_executed_by_one_warp),
        cmocka_unit_test(v14_a_tag_that_nothing_knows_counts_no_threads),
        cmocka_unit_test(v14_fragments_belong_to_warp_blocks),
        cmocka_unit_test(v15_a_loop_that_was_not_bound_accesses_from_the_host),
        cmocka_unit_test(v17_a_barrier_under_a_condition_on_the_thread_is_unproved),
        cmocka_unit_test(v18_shared_memory_is_limited),
        cmocka_unit_test(v19_vectors_are_limited),
    };

    return cmocka_run_group_tests_name("verify threads", tests, NULL, NULL);
}

/* Scopes: dependences, kinds of blocks, cover, stage pipelines, affine flags, loop types.
 * The table of ir-and-analysis 2.7. */
#include "verify/verify_test.h"

#define VEC "A: T.Buffer((64,), \"float32\"), C: T.Buffer((64,), \"float32\")"
/* One block with one spatial iter, its statement on one line. */
#define BLOCK(ind, name, n, e, st)                                                         \
    ind "with T.block(\"" name "\"):\n" ind "    v = T.axis.spatial(" n ", " e ")\n" ind   \
        "    " st "\n"
#define I4  "    "
#define I8  I4 I4
#define I12 I8 I4
#define I16 I8 I8

static bool covered(Prog *g, const char *block)
{
    return ml_is_covered(g->cx, g->facts, g->p, block_uid(g, block), false);
}

static bool pipeline(Prog *g)
{
    return ml_is_stage_pipeline(g->cx, g->facts, g->p,
                                ml_func_root(g->p.mod->funcs[0])->tag);
}

static int complete(Prog *g, const char *block)
{
    return ml_complete_violation(g->cx, g->facts, g->p, block_uid(g, block), NULL);
}

static int reduction(Prog *g, const char *block)
{
    return ml_reduction_violation(g->cx, g->facts, g->p, block_uid(g, block), NULL);
}

static bool affine(Prog *g, const char *block)
{
    return ml_is_affine(g->cx, g->facts, g->p, block_uid(g, block), NULL);
}

static void s1_two_stages_are_a_pipeline(void **state)
{
    Prog g =
        prog_any(VEC, I4 "B = T.alloc_buffer((64,))\n" I4
                         "for i in range(64):\n" BLOCK(I8, "P", "64", "i", "B[v] = A[v]") I4
                 "for i in range(64):\n" BLOCK(I8, "Q", "64", "i", "C[v] = B[v]"));
    ml_UidVec v = {0}, none = {0}, out = {0};

    assert_int_equal(complete(&g, "P"), 0);
    assert_int_equal(complete(&g, "Q"), 0);
    assert_true(affine(&g, "P") && affine(&g, "Q"));
    assert_true(covered(&g, "P") && covered(&g, "Q") && pipeline(&g));
    ml_producers(g.cx, g.facts, g.p, block_uid(&g, "Q"), &v);
    assert_int_equal(v.n, 1);
    assert_int_equal(v.v[0], block_uid(&g, "P"));
    ml_producers(g.cx, g.facts, g.p, block_uid(&g, "P"), &none);
    assert_int_equal(none.n, 0);
    ml_consumers(g.cx, g.facts, g.p, block_uid(&g, "P"), &out);
    assert_int_equal(out.n, 1);
    assert_int_equal(out.v[0], block_uid(&g, "Q"));
    assert_true(ml_is_output_block(g.p, block_uid(&g, "Q"), NULL));
    assert_false(ml_is_output_block(g.p, block_uid(&g, "P"), NULL));
    prog_free(&g);
}

static void s2_a_write_after_a_read_is_no_pipeline(void **state)
{
    Prog g =
        prog_any(VEC, I4 "B = T.alloc_buffer((64,))\n" I4
                         "for i in range(64):\n" BLOCK(I8, "Q", "64", "i", "C[v] = B[v]") I4
                 "for i in range(64):\n" BLOCK(I8, "P", "64", "i", "B[v] = A[v]"));
    const ml_Error *e;

    assert_true(covered(&g, "P") && covered(&g, "Q"));
    assert_false(pipeline(&g));
    assert_false(
        ml_need_stage_pipeline(g.cx, g.facts, g.p, ml_func_root(g.p.mod->funcs[0])->tag));
    e = ml_error(g.cx);
    assert_string_equal(ml_error_code(e->code), "not-stage-pipeline");
    assert_string_equal(ml_error_says(e),
                        "the scope of block {0} is not a stage pipeline: block "
                        "{1} overwrites {2}, which block {3} reads before it");
    assert_int_equal(e->facts[1].as.uid, block_uid(&g, "P"));
    assert_string_equal(e->facts[2].as.buffer->name, "B");
    assert_int_equal(e->facts[3].as.uid, block_uid(&g, "Q"));
    prog_free(&g);
}

static void s3_the_neighbour_is_not_covered_in_one_loop(void **state)
{
    Prog g =
        prog_any(VEC, I4 "B = T.alloc_buffer((64,))\n" I4
                         "for i in range(64):\n" BLOCK(I8, "P", "64", "i", "B[v] = A[v]")
                             BLOCK(I8, "Q", "64", "i",
                                   "C[v] = T.if_then_else(v > 0, B[v - 1], T.float32(0))"));

    assert_false(covered(&g, "Q"));
    assert_false(pipeline(&g));
    prog_free(&g);
}

static void s4_the_same_element_is_covered_in_one_loop(void **state)
{
    Prog g =
        prog_any(VEC, I4 "B = T.alloc_buffer((64,))\n" I4
                         "for i in range(64):\n" BLOCK(I8, "P", "64", "i", "B[v] = A[v]")
                             BLOCK(I8, "Q", "64", "i", "C[v] = B[v]"));

    assert_true(covered(&g, "Q") && pipeline(&g));
    prog_free(&g);
}

static bool parts_cover(const char *a, const char *b, const char *c)
{
    const char *parts[] = {a, b, c};
    char text[2048];
    size_t at = 0;
    bool yes;

    at += (size_t)snprintf(text, sizeof text, I4 "B = T.alloc_buffer((64,))\n");
    for (int k = 0; k < 3; k++) {
        int lo, hi;

        if (!parts[k])
            continue;
        sscanf(parts[k], "%d:%d", &lo, &hi);
        at += (size_t)snprintf(text + at, sizeof text - at,
                               I4 "for i in range(%d):\n" I8 "with T.block(\"P%d\"):\n" I12
                                  "v = T.axis.spatial((%d, %d), i + %d)\n" I12
                                  "B[v] = A[v]\n",
                               hi - lo, k, lo, hi, lo);
    }
    snprintf(text + at, sizeof text - at,
             I4 "for i in range(64):\n" BLOCK(I8, "Q", "64", "i", "C[v] = B[v]"));
    Prog g = prog_any(VEC, text);

    yes = covered(&g, "Q");
    prog_free(&g);
    return yes;
}

static void s5_s6_producers_of_parts_are_joined_in_any_order(void **state)
{
    assert_true(parts_cover("0:24", "24:64", NULL));
    assert_false(parts_cover("0:24", "25:64", NULL));
    assert_true(parts_cover("0:16", "32:64", "16:32"));
    assert_true(parts_cover("32:64", "0:40", NULL));
    assert_false(parts_cover("0:16", "32:64", "17:32"));
}

static void s7_diagonal_tiles_do_not_cover_a_square(void **state)
{
    Prog g =
        prog_any("A: T.Buffer((8, 8), \"float32\"), C: T.Buffer((8, 8), \"float32\")", I4
                 "B = T.alloc_buffer((8, 8))\n" I4 "for i, j in T.grid(4, 4):\n" I8
                 "with T.block(\"P\"):\n" I12 "vi, vj = T.axis.remap(\"SS\", [i, j])\n" I12
                 "B[vi, vj] = A[vi, vj]\n" I4 "for i, j in T.grid(4, 4):\n" I8
                 "with T.block(\"P2\"):\n" I12 "vi, vj = T.axis.remap(\"SS\", [i, j])\n" I12
                 "B[vi + 4, vj + 4] = A[vi, vj]\n" I4 "for i, j in T.grid(8, 8):\n" I8
                 "with T.block(\"Q\"):\n" I12 "vi, vj = T.axis.remap(\"SS\", [i, j])\n" I12
                 "C[vi, vj] = B[vi, vj]\n");

    assert_false(covered(&g, "Q"));
    prog_free(&g);
}

static bool across_threads(const char *scope, bool two_loops, const char *row)
{
    char text[1024];
    bool yes;

    snprintf(text, sizeof text,
             I4 "B = T.alloc_buffer((32,), scope=\"%s\")\n" I4
                "for t in T.thread_binding(32, thread=\"threadIdx.x\"):\n" BLOCK(
                    I8, "P", "32", "t", "B[v] = A[v]") "%s" BLOCK(I8, "Q", "32", "t",
                                                                  "C[v] = B[%s]"),
             scope,
             two_loops ? I4 "for u in T.thread_binding(32, thread=\"threadIdx.x\"):\n" : "",
             row);
    if (two_loops) {
        char *at = strstr(text, "spatial(32, t)\n            C");

        at[12] = 'u';
    }
    Prog g = prog_any(VEC, text);

    yes = covered(&g, "Q");
    prog_free(&g);
    return yes;
}

static void s8_shared_memory_is_seen_by_all_threads_local_by_one(void **state)
{
    assert_true(across_threads("shared", false, "31 - v"));
    assert_false(across_threads("local", false, "31 - v"));
    assert_true(across_threads("local", false, "v"));
    assert_true(across_threads("local", true, "v"));
    assert_false(across_threads("local", true, "31 - v"));
    assert_true(across_threads("shared", true, "31 - v"));
}

static bool across_rows(const char *scope, const char *index)
{
    char text[1024];
    bool yes;

    snprintf(text, sizeof text,
             I4 "B = T.alloc_buffer((4, 32), scope=\"%s\")\n" I4
                "for y in T.thread_binding(4, thread=\"threadIdx.y\"):\n" I8
                "for x in T.thread_binding(32, thread=\"threadIdx.x\"):\n" I12
                "with T.block(\"P\"):\n" I16 "vy, vx = T.axis.remap(\"SS\", [y, x])\n" I16
                "B[vy, vx] = A[vx]\n" I12 "with T.block(\"Q\"):\n" I16
                "vy, vx = T.axis.remap(\"SS\", [y, x])\n" I16 "C[vx] = B[%s]\n",
             scope, index);
    Prog g = prog_any(VEC, text);

    yes = covered(&g, "Q");
    prog_free(&g);
    return yes;
}

static void s9_a_warp_shares_along_threadIdx_x_only(void **state)
{
    assert_false(across_rows("warp", "3 - vy, vx"));
    assert_true(across_rows("warp", "vy, 31 - vx"));
    assert_true(across_rows("shared", "3 - vy, 31 - vx"));
    assert_false(across_rows("local", "vy, 31 - vx"));
}

static void s10_a_region_with_gaps_covers_nothing(void **state)
{
    Prog g = prog_any(
        VEC, I4 "B = T.alloc_buffer((64,))\n" I4 "for i in range(16):\n" I8
                "with T.block(\"P\"):\n" I12 "v = T.axis.spatial(16, i)\n" I12
                "T.reads(A[v * 4:v * 4 + 2])\n" I12 "T.writes(B[v * 4:v * 4 + 2])\n" I12
                "for j in range(2):\n" I16 "with T.block(\"inner\"):\n" I16 I4
                "w = T.axis.spatial(2, j)\n" I16 I4 "B[v * 4 + w] = A[v * 4 + w]\n" I4
                "for i in range(64):\n" BLOCK(I8, "Q", "64", "i", "C[v] = B[v]"));

    assert_false(covered(&g, "Q"));
    prog_free(&g);
}

static bool predicated_cover(int n)
{
    char text[1024];
    bool yes;

    snprintf(text, sizeof text,
             I4 "B = T.alloc_buffer((64,))\n" I4 "for i0, i1 in T.grid(4, 16):\n" I8
                "with T.block(\"P\"):\n" I12 "v = T.axis.spatial(60, i0 * 16 + i1)\n" I12
                "T.where(i0 * 16 + i1 < 60)\n" I12 "B[v] = A[v]\n" I4
                "for i in range(%d):\n" I8 "with T.block(\"Q\"):\n" I12
                "v = T.axis.spatial(%d, i)\n" I12 "C[v] = B[v]\n",
             n, n);
    Prog g = prog_any(VEC, text);

    yes = covered(&g, "Q");
    prog_free(&g);
    return yes;
}

static void s11_a_predicate_bounds_what_is_written(void **state)
{
    assert_true(predicated_cover(60));
    assert_false(predicated_cover(64));
}

/* Where the guard leaves no iteration of P, nothing is written, however wide each of its
 * writes is. */
static bool guarded_per_tile(const char *guard)
{
    char text[1024];
    bool yes;

    snprintf(text, sizeof text,
             I4 "B = T.alloc_buffer((64,))\n" I4 "for i in range(4):\n" I8
                "for j in range(2):\n" I12 "with T.block(\"P\"):\n" I16
                "v = T.axis.spatial(11, i * 3 + j)\n" I16 "T.where(%s)\n" I16
                "for q in range(4):\n" I16 I4 "B[v // 4 + q] = A[v]\n" I8
                "with T.block(\"Q\"):\n" I12 "v = T.axis.spatial(4, i)\n" I12
                "C[v] = B[v]\n",
             guard);
    Prog g = prog_any(VEC, text);

    yes = covered(&g, "Q");
    prog_free(&g);
    return yes;
}

static void s11_a_predicate_may_leave_nothing_of_a_tile(void **state)
{
    (void)state;
    assert_false(guarded_per_tile("i * 3 + j >= 2"));
    assert_true(guarded_per_tile("i * 3 + j >= 1"));
    assert_false(guarded_per_tile("i * 3 + j < 9"));
    assert_true(guarded_per_tile("i * 3 + j < 10"));
}

static void s12_the_two_blocks_of_a_split_reduction_are_neither(void **state)
{
    Prog g = prog_any("A: T.Buffer((8, 4), \"float32\"), C: T.Buffer((8,), \"float32\")", I4
                      "for i in range(8):\n" BLOCK(I8, "I", "8", "i", "C[v] = T.float32(0)")
                          I4 "for i, k in T.grid(8, 4):\n" I8 "with T.block(\"U\"):\n" I12
                             "vi, vk = T.axis.remap(\"SR\", [i, k])\n" I12
                             "C[vi] = C[vi] + A[vi, vk]\n");

    assert_int_equal(complete(&g, "U"), 1);
    assert_int_equal(complete(&g, "I"), 2);
    assert_int_equal(reduction(&g, "U"), 1);
    assert_false(ml_need_complete_or_reduction(g.cx, g.facts, g.p, block_uid(&g, "U")));
    assert_string_equal(ml_error_code(ml_error(g.cx)->code), "not-complete-or-reduction");
    prog_free(&g);
}

static void s13_a_store_at_a_reduce_iter_is_no_reduction(void **state)
{
    Prog g =
        prog_any("A: T.Buffer((8, 4), \"float32\"), C: T.Buffer((8, 4), \"float32\")",
                 I4 "for i, k in T.grid(8, 4):\n" I8 "with T.block(\"U\"):\n" I12
                    "vi, vk = T.axis.remap(\"SR\", [i, k])\n" I12 "with T.init():\n" I16
                    "C[vi, vk] = T.float32(0)\n" I12 "C[vi, vk] = C[vi, vk] + A[vi, vk]\n");

    assert_int_equal(reduction(&g, "U"), 5);
    prog_free(&g);
}

static void a_plain_reduction_holds_and_an_undeclared_store_is_an_error(void **state)
{
    Prog g = prog_any("A: T.Buffer((8, 4), \"float32\"), C: T.Buffer((8,), \"float32\")", I4
                      "for i, k in T.grid(8, 4):\n" I8 "with T.block(\"U\"):\n" I12
                      "vi, vk = T.axis.remap(\"SR\", [i, k])\n" I12 "with T.init():\n" I16
                      "C[vi] = T.float32(0)\n" I12 "C[vi] = C[vi] + A[vi, vk]\n");

    assert_int_equal(reduction(&g, "U"), 0);
    assert_int_equal(complete(&g, "U"), 1);
    assert_true(ml_need_reduction(g.cx, g.facts, g.p, block_uid(&g, "U")));
    prog_free(&g);
    g = prog_any("A: T.Buffer((8, 4), \"float32\"), C: T.Buffer((8,), \"float32\")",
                 I4 "for i, k in T.grid(8, 4):\n" I8 "with T.block(\"U\"):\n" I12
                    "vi, vk = T.axis.remap(\"SR\", [i, k])\n" I12 "T.reads(A[vi, vk])\n" I12
                    "T.writes()\n" I12 "with T.init():\n" I16 "C[vi] = T.float32(0)\n" I12
                    "C[vi] = C[vi] + A[vi, vk]\n");
    assert_int_equal(reduction(&g, "U"), 5);
    prog_free(&g);
}

static void s14_reading_what_is_written_is_not_complete(void **state)
{
    Prog g = prog_any(
        VEC, I4 "for i in range(64):\n" BLOCK(I8, "P", "64", "i", "C[v] = C[v] + A[v]"));

    assert_int_equal(complete(&g, "P"), 3);
    prog_free(&g);
}

static void s15_writers_of_disjoint_halves(void **state)
{
    Prog g =
        prog_any(VEC, I4 "for i in range(32):\n" BLOCK(I8, "P", "32", "i", "C[v] = A[v]") I4
                 "for j in range(32):\n" BLOCK(I8, "Q", "32", "j", "C[v + 32] = A[v]"));

    assert_int_equal(complete(&g, "P"), 2);
    assert_int_equal(complete(&g, "Q"), 2);
    assert_int_equal(ml_local_complete_violation(g.cx, g.facts, g.p, block_uid(&g, "P"),
                                                 loop_uid(&g, "i"), NULL),
                     0);
    prog_free(&g);
    g = prog_any(VEC, I4 "for i in range(32):\n" BLOCK(I8, "P", "32", "i", "C[v] = A[v]")
                          BLOCK(I8, "Q", "32", "i", "C[v + 32] = A[v]"));
    assert_int_equal(complete(&g, "P"), 2);
    assert_int_equal(ml_local_complete_violation(g.cx, g.facts, g.p, block_uid(&g, "P"),
                                                 loop_uid(&g, "i"), NULL),
                     0);
    assert_int_equal(ml_local_complete_violation(g.cx, g.facts, g.p, block_uid(&g, "Q"),
                                                 loop_uid(&g, "i"), NULL),
                     0);
    prog_free(&g);
}

static void s16_the_affine_flag_ignores_the_domain(void **state)
{
    Prog g =
        prog_any(VEC, I4 "for i in range(32):\n" BLOCK(I8, "P", "64", "i", "C[v] = A[v]"));

    assert_true(affine(&g, "P"));
    prog_free(&g);
    g = prog_any(VEC,
                 I4 "for i in range(32):\n" BLOCK(I8, "P", "64", "i * 2", "C[v] = A[v]"));
    assert_false(affine(&g, "P"));
    prog_free(&g);
    g = prog_any(VEC,
                 I4 "for i in range(8):\n" BLOCK(I8, "P", "64", "i * i", "C[v] = A[v]"));
    assert_false(affine(&g, "P"));
    prog_free(&g);
}

static void s17_a_loop_in_a_spatial_and_a_reduce_binding_is_opaque(void **state)
{
    Prog g = prog_any("A: T.Buffer((8, 8), \"float32\"), C: T.Buffer((8,), \"float32\")",
                      I4 "for i, k, z in T.grid(8, 8, 2):\n" I8 "with T.block(\"U\"):\n" I12
                         "vi = T.axis.spatial(8, i)\n" I12 "vk = T.axis.reduce(8, i)\n" I12
                         "vl = T.axis.reduce(8, k)\n" I12 "with T.init():\n" I16
                         "C[vi] = T.float32(0)\n" I12 "C[vi] = C[vi] + A[vk, vl]\n");

    assert_int_equal(ml_loop_type(g.p, loop_uid(&g, "i")), ML_ITER_OPAQUE);
    assert_int_equal(ml_loop_type(g.p, loop_uid(&g, "k")), ML_ITER_REDUCE);
    assert_int_equal(ml_loop_type(g.p, loop_uid(&g, "z")), ML_ITER_SPATIAL);
    assert_false(affine(&g, "U"));
    prog_free(&g);
}

static void s18a_iterations_that_write_one_element_are_no_compact_dataflow(void **state)
{
    Prog g = prog_any("A: T.Buffer((65,), \"float32\"), B: T.Buffer((65,), \"float32\")",
                      I4 "for i in range(64):\n" BLOCK(I8, "P", "64", "i", "B[v] = A[v]")
                          BLOCK(I8, "Q", "64", "i", "B[v + 1] = A[v]"));

    assert_false(ml_need_compact_dataflow(g.cx, g.facts, g.p, loop_uid(&g, "i")));
    assert_string_equal(ml_error_code(ml_error(g.cx)->code), "not-compact-dataflow");
    assert_false(
        ml_writes_disjoint(g.cx, g.facts, g.p, loop_uid(&g, "i"), buffer_of(&g, "B")));
    prog_free(&g);
}

/* The tiles of o overlap, and f1 alone is no digit of the indices: f0 and f1 together say
 * which element of the tile is written. */
static void a_tile_fetched_by_threads_in_turns_is_written_once(void **state)
{
    Prog g =
        prog_any("A: T.Buffer((32, 9), \"float32\"), B: T.Buffer((32, 9), \"float32\")",
                 I4 "for o, f0, f1 in T.grid(4, 3, 32):\n" I8 "with T.block(\"P\"):\n" I12
                    "v = T.axis.spatial(32, o * 7 + (f0 * 32 + f1) // 9)\n" I12
                    "w = T.axis.spatial(9, (f0 * 32 + f1) % 9)\n" I12
                    "T.where(f0 * 32 + f1 < 81)\n" I12 "B[v, w] = A[v, w]\n");

    for (int k = 0; k < 2; k++)
        assert_true(ml_writes_disjoint(g.cx, g.facts, g.p, loop_uid(&g, k ? "f0" : "f1"),
                                       buffer_of(&g, "B")));
    assert_false(
        ml_writes_disjoint(g.cx, g.facts, g.p, loop_uid(&g, "o"), buffer_of(&g, "B")));
    prog_free(&g);
}

static void writers_not_shown_to_meet_are_not_shown_apart(void **state)
{
    Prog g = prog_any("A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\"), "
                      "n: T.int32",
                      I4 "for i in range(32):\n" BLOCK(I8, "P", "32", "i", "B[v] = A[v]")
                          BLOCK(I8, "Q", "32", "i", "B[v + n] = A[v]"));

    assert_false(ml_need_compact_dataflow(g.cx, g.facts, g.p, loop_uid(&g, "i")));
    assert_string_equal(ml_error_code(ml_error(g.cx)->code), "would-race");
    assert_true(ml_error(g.cx)->unproved);
    prog_free(&g);
}

static void s19_an_if_between_root_and_block_is_seen(void **state)
{
    Prog g = prog_any(VEC ", n: T.int32", I4 "if n > 0:\n" I8 "for i in range(64):\n" BLOCK(
                                              I12, "P", "64", "i", "C[v] = A[v]"));
    const ml_Stmt *s =
        ml_between(g.p.index, ml_func_root(g.p.mod->funcs[0])->tag, block_uid(&g, "P"));

    assert_non_null(s);
    assert_int_equal(s->kind, ML_STMT_IF);
    prog_free(&g);
}

/* The worked example of 2.4: a producer per tile, a consumer with halo. */
static bool halo_covered(const char *loop, const char *scope)
{
    char text[1024];
    bool yes;

    snprintf(text, sizeof text,
             I4 "B = T.alloc_buffer((66,), scope=\"%s\")\n" I4 "for i0 in range(8):\n" I8
                "for a in %s:\n" I12 "with T.block(\"P\"):\n" I16
                "v = T.axis.spatial(66, i0 * 8 + a)\n" I16 "B[v] = A[v]\n" I8
                "for i1, k in T.grid(8, 3):\n" I12 "with T.block(\"Q\"):\n" I16
                "v = T.axis.spatial(64, i0 * 8 + i1)\n" I16 "vk = T.axis.reduce(3, k)\n" I16
                "with T.init():\n" I16 I4 "C[v] = T.float32(0)\n" I16
                "C[v] = C[v] + B[v + vk]\n",
             scope, loop);
    Prog g =
        prog_any("A: T.Buffer((66,), \"float32\"), C: T.Buffer((64,), \"float32\")", text);

    yes = covered(&g, "Q");
    prog_free(&g);
    return yes;
}

static void the_worked_halo_is_covered_exactly(void **state)
{
    assert_true(halo_covered("range(10)", "global"));
    assert_false(halo_covered("range(9)", "global"));
    assert_true(halo_covered("T.thread_binding(10, thread=\"threadIdx.x\")", "shared"));
    assert_false(halo_covered("T.thread_binding(10, thread=\"threadIdx.x\")", "local"));
}

static void scopes_are_values_that_keep_their_text(void **state)
{
    ml_Scope s = ml_scope("shared.dyn");
    ml_Thread x = ml_thread("threadIdx.x"), y = ml_thread("threadIdx.y");

    assert_int_equal(s.rank, ML_SCOPE_SHARED);
    assert_string_equal(s.name, "shared.dyn");
    assert_false(ml_is_scope(s, ML_SCOPE_SHARED) || ml_scope_eq(s, ml_scope("shared")));
    assert_int_equal(ml_scope("sharde").rank, ML_SCOPE_UNKNOWN);
    assert_string_equal(ml_scope("sharde").name, "sharde");
    assert_false(ml_scope_spans(ml_scope("sharde"), x));
    assert_true(ml_is_scope(ml_scope(""), ML_SCOPE_GLOBAL));
    assert_string_equal(ml_scope("").name, "global");
    assert_true(ml_scope_is_fragment(ml_scope("wmma.matrix_b")) &&
                ml_scope_is_fragment(ml_scope("m16n8k8.matrixC")) &&
                !ml_scope_is_fragment(ml_scope("texture")));
    s = ml_scope("shared");
    assert_true(ml_scope_spans(s, y) && ml_scope_spans(s, ml_thread("vthread")) &&
                !ml_scope_spans(s, ml_thread("blockIdx.x")));
    s = ml_scope("warp");
    assert_true(ml_scope_spans(s, x) && !ml_scope_spans(s, y));
    assert_false(ml_scope_spans(ml_scope("local"), x));
}

static void thread_tags_are_values_that_keep_their_text(void **state)
{
    static const char *const OTHERS[] = {"threadIdx.w", "threadIdx", "threadIdx.x.y",
                                         "lane"};
    ml_Thread none = ml_thread(NULL), bare = ml_thread("vthread");

    assert_true(none.axis == ML_AXIS_NONE && !none.name && ml_thread_rank(none) < 0);
    assert_true(ml_thread_eq(none, none) && !ml_thread_eq(none, ml_thread("blockIdx.x")));
    assert_true(ml_is_thread(ml_thread("threadIdx.z"), ML_AXIS_THREAD, ML_DIM_Z));
    assert_int_equal(ml_thread_rank(ml_thread("blockIdx.y")), 0);
    assert_int_equal(ml_thread_rank(ml_thread("clusterCtaIdx.x")), 2);
    assert_true(ml_thread_rank(bare) == 1 && !ml_thread_eq(bare, ml_thread("vthread.x")));
    assert_string_equal(ml_thread_key(bare), "virtual_thread");
    assert_string_equal(ml_thread_key(ml_thread("vthread.x")), "thread_extent");
    for (size_t k = 0; k < ML_COUNT(OTHERS); k++) {
        ml_Thread t = ml_thread(OTHERS[k]);

        assert_int_equal(ml_thread_rank(t), -1);
        assert_string_equal(t.name, OTHERS[k]);
        for (size_t m = 0; m < ML_COUNT(OTHERS); m++)
            assert_int_equal(ml_thread_eq(t, ml_thread(OTHERS[m])), k == m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s1_two_stages_are_a_pipeline),
        cmocka_unit_test(s2_a_write_after_a_read_is_no_pipeline),
        cmocka_unit_test(s3_the_neighbour_is_not_covered_in_one_loop),
        cmocka_unit_test(s4_the_same_element_is_covered_in_one_loop),
        cmocka_unit_test(s5_s6_producers_of_parts_are_joined_in_any_order),
        cmocka_unit_test(s7_diagonal_tiles_do_not_cover_a_square),
        cmocka_unit_test(s8_shared_memory_is_seen_by_all_threads_local_by_one),
        cmocka_unit_test(s9_a_warp_shares_along_threadIdx_x_only),
        cmocka_unit_test(s10_a_region_with_gaps_covers_nothing),
        cmocka_unit_test(s11_a_predicate_bounds_what_is_written),
        cmocka_unit_test(s11_a_predicate_may_leave_nothing_of_a_tile),
        cmocka_unit_test(s12_the_two_blocks_of_a_split_reduction_are_neither),
        cmocka_unit_test(s13_a_store_at_a_reduce_iter_is_no_reduction),
        cmocka_unit_test(a_plain_reduction_holds_and_an_undeclared_store_is_an_error),
        cmocka_unit_test(s14_reading_what_is_written_is_not_complete),
        cmocka_unit_test(s15_writers_of_disjoint_halves),
        cmocka_unit_test(s16_the_affine_flag_ignores_the_domain),
        cmocka_unit_test(s17_a_loop_in_a_spatial_and_a_reduce_binding_is_opaque),
        cmocka_unit_test(s18a_iterations_that_write_one_element_are_no_compact_dataflow),
        cmocka_unit_test(a_tile_fetched_by_threads_in_turns_is_written_once),
        cmocka_unit_test(writers_not_shown_to_meet_are_not_shown_apart),
        cmocka_unit_test(s19_an_if_between_root_and_block_is_seen),
        cmocka_unit_test(the_worked_halo_is_covered_exactly),
        cmocka_unit_test(scopes_are_values_that_keep_their_text),
        cmocka_unit_test(thread_tags_are_values_that_keep_their_text),
    };

    return cmocka_run_group_tests_name("verify scope", tests, NULL, NULL);
}

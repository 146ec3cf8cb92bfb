/* The anchor block and the ways of comparing programs: ir-and-analysis 6.3, 6.6, row Q4. */
#include "verify/verify_test.h"

#define I4  "    "
#define I8  I4 I4
#define I12 I8 I4
#define I16 I8 I8
#define ABC                                                                                \
    "A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16, 16), \"float32\"), "             \
    "D: T.Buffer((16, 16), \"float32\")"
#define ALLOC I4 "C = T.alloc_buffer((16, 16))\n"
#define GEMM_OF(name, loops, binds)                                                        \
    I4 "for " loops ":\n" I8 "with T.block(\"" name "\"):\n" I12 binds I12                 \
       "with T.init():\n" I16 "C[vi, vj] = T.float32(0)\n" I12                             \
       "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"
#define REMAP "vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
#define GEMM  GEMM_OF("gemm", "i, j, k in T.grid(16, 16, 16)", REMAP)
#define EPILOGUE(value)                                                                    \
    I4 "for i, j in T.grid(16, 16):\n" I8 "with T.block(\"out\"):\n" I12                   \
       "vi, vj = T.axis.remap(\"SS\", [i, j])\n" I12 "D[vi, vj] = " value "\n"

static void same(const char *a, const char *b, bool anchor, bool structure)
{
    Prog x = prog_any(ABC, a), y = prog_any(ABC, b);
    static const ml_Sameness how[] = {ML_SAME_STRUCTURE, ML_SAME_BUT_TENSORS,
                                      ML_SAME_ANCHOR};

    for (size_t k = 0; k < ML_COUNT(how); k++) {
        ml_Identity p = ml_identity(x.cx, x.p.mod, how[k]),
                    q = ml_identity(y.cx, y.p.mod, how[k]);
        bool want = how[k] == ML_SAME_ANCHOR ? anchor : structure;
        ml_Difference diff = {0};

        assert_int_equal(ml_identity_equal(x.cx, p, q, &diff), want);
        assert_int_equal(ml_identity_hash(x.cx, p) == ml_identity_hash(y.cx, q), want);
        assert_true(want || diff.reason);
    }
    prog_free(&x);
    prog_free(&y);
}

static void q4_other_epilogues_keep_the_anchor(void **state)
{
    (void)state;
    same(ALLOC GEMM EPILOGUE("C[vi, vj] * T.float32(2)"),
         ALLOC GEMM EPILOGUE("T.max(C[vi, vj], T.float32(0))"), true, false);
    same(ALLOC GEMM EPILOGUE("C[vi, vj]"), ALLOC GEMM EPILOGUE("C[vi, vj]"), true, true);
}

static void where_the_anchor_stands_does_not_count(void **state)
{
    (void)state;
    same(ALLOC GEMM EPILOGUE("C[vi, vj]"),
         ALLOC GEMM_OF("other", "j, io, ii, k in T.grid(16, 4, 4, 16)",
                       "vi = T.axis.spatial(16, io * 4 + ii)\n" I12
                       "vj, vk = T.axis.remap(\"SR\", [j, k])\n") EPILOGUE("C[vi, vj]"),
         true, false);
    /* what it does counts, and of what size: another annotation, another domain */
    same(ALLOC GEMM EPILOGUE("C[vi, vj]"),
         ALLOC GEMM_OF("gemm", "i, j, k in T.grid(16, 16, 16)",
                       REMAP I12 "T.block_attr({\"a\": 1})\n") EPILOGUE("C[vi, vj]"),
         false, false);
    same(ALLOC GEMM EPILOGUE("C[vi, vj]"),
         ALLOC GEMM_OF("gemm", "i, j, k in T.grid(16, 16, 8)", REMAP) EPILOGUE("C[vi, vj]"),
         false, false);
}

static void without_a_reduction_the_whole_program_counts(void **state)
{
    (void)state;
    same(EPILOGUE("A[vi, vj]"), EPILOGUE("A[vi, vj]"), true, true);
    same(EPILOGUE("A[vi, vj]"), EPILOGUE("B[vi, vj]"), false, false);
    same(EPILOGUE("A[vi, vj]"), ALLOC GEMM EPILOGUE("C[vi, vj]"), false, false);
}

static void the_anchor_is_the_dearest_reduction_and_the_first_of_equals(void **state)
{
    (void)state;
    Prog g = prog_any(ABC, ALLOC GEMM_OF("small", "i, j, k in T.grid(16, 16, 2)", REMAP)
                               GEMM_OF("big", "i, j, k in T.grid(16, 16, 16)", REMAP));

    /* two writers of C: neither is a reduction block */
    assert_null(ml_anchor_block(g.cx, g.p.mod));
    prog_free(&g);
#define SUM(name, out, n)                                                                  \
    I4 "for i, k in T.grid(16, " n "):\n" I8 "with T.block(\"" name "\"):\n" I12           \
       "vi, vk = T.axis.remap(\"SR\", [i, k])\n" I12 "with T.init():\n" I16 out            \
       "[vi, 0] = T.float32(0)\n" I12 out "[vi, 0] = " out "[vi, 0] + A[vi, vk]\n"
    g = prog_any(ABC, ALLOC SUM("small", "B", "4") SUM("big", "C", "16"));
    assert_string_equal(ml_anchor_block(g.cx, g.p.mod)->name, "big");
    prog_free(&g);
    g = prog_any(ABC, ALLOC SUM("first", "B", "16") SUM("second", "C", "16"));
    assert_string_equal(ml_anchor_block(g.cx, g.p.mod)->name, "first");
    prog_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q4_other_epilogues_keep_the_anchor),
        cmocka_unit_test(where_the_anchor_stands_does_not_count),
        cmocka_unit_test(without_a_reduction_the_whole_program_counts),
        cmocka_unit_test(the_anchor_is_the_dearest_reduction_and_the_first_of_equals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

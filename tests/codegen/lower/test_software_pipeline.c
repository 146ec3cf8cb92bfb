/*
 * test_software_pipeline - statements of an annotated loop run some iterations late: their
 * places, versions of buffers, what is refused, and the same results at every stage.
 */
#include "lowering.h"

#include "moonloop/codegen/tensor/tensor.h"

#define PIPELINE(n, stage, order)                                                          \
    "    for i in T.serial(" #n ", annotations={\"software_pipeline_stage\": " stage       \
    ", \"software_pipeline_order\": " order "}):\n"
#define THREE(n)                                                                           \
    HEAD "A: T.Buffer((" #n ", 4), \"float32\"), C: T.Buffer((" #n ", 4), "                \
         "\"float32\")):\n"
#define BLOCK(name, out, value)                                                            \
    "        for j in range(4):\n"                                                         \
    "            with T.block(\"" name "\"):\n"                                            \
    "                v, w = T.axis.remap(\"SS\", [i, j])\n"                                \
    "                " out "[v, w] = " value "\n"
#define CHAIN                                                                              \
    BLOCK("B", "B", "A[v, w] * T.float32(2)")                                              \
    BLOCK("D", "D", "B[v, w] + T.float32(1)")                                              \
    BLOCK("C", "C", "D[v, w] * B[v, w]")
#define ALLOCS(n)                                                                          \
    "    B = T.alloc_buffer((" #n ", 4))\n"                                                \
    "    D = T.alloc_buffer((" #n ", 4))\n"

static void the_pipeline_fills_runs_and_empties(void **state)
{
    expect_body(*state,
                HEAD "A: T.Buffer((6,), \"int32\"), C: T.Buffer((6,), \"int32\")):\n"
                     "    B = T.alloc_buffer((6,), \"int32\")\n" PIPELINE(
                         6, "[0, 2]", "[0, 1]") "        with T.block(\"B\"):\n"
                                                "            v = T.axis.spatial(6, i)\n"
                                                "            B[v] = A[v] * 2\n"
                                                "        with T.block(\"C\"):\n"
                                                "            v = T.axis.spatial(6, i)\n"
                                                "            C[v] = B[v] + 1\n",
                "lower_opaque",
                "    B = T.decl_buffer((3, 1), \"int32\")\n"
                "    B[0, 0] = A[0] * 2\n"
                "    B[1, 0] = A[1] * 2\n"
                "    for i in range(4):\n"
                "        B[(i + 2) % 3, 0] = A[i + 2] * 2\n"
                "        C[i] = B[i % 3, 0] + 1\n"
                "    C[4] = B[1, 0] + 1\n"
                "    C[5] = B[2, 0] + 1");
}

/* A reader that comes before the next writer leaves it the same memory. */
static void two_versions_become_one_where_the_reader_is_first(void **state)
{
    const char *program = THREE(8) ALLOCS(8) PIPELINE(8, "[0, 1, 1]", "[2, 0, 1]") CHAIN;
    ml_Lower lo = lowering(*state);
    const char *text = body_text(
        *state, lowered(*state, &lo, parse(*state, program), "software_pipeline"));

    assert_non_null(strstr(text, "B = T.alloc_buffer((1, 4))"));
    assert_true(expect_same_for(*state, program, 0) > 2);
    program = THREE(8) ALLOCS(8) PIPELINE(8, "[0, 1, 1]", "[0, 1, 2]") CHAIN;
    text = body_text(*state,
                     lowered(*state, &lo, parse(*state, program), "software_pipeline"));
    assert_non_null(strstr(text, "B = T.alloc_buffer((2, 1, 4))"));
    assert_true(expect_same_for(*state, program, 0) > 2);
}

static void a_block_may_ask_for_two_versions(void **state)
{
    const char *program =
        HEAD "A: T.Buffer((8,), \"int32\"), C: T.Buffer((8,), \"int32\")):\n"
             "    B = T.alloc_buffer((8,), \"int32\")\n" PIPELINE(
                 8, "[0, 0]",
                 "[0, 1]") "        with T.block(\"B\"):\n"
                           "            v = T.axis.spatial(8, i)\n"
                           "            T.block_attr({\"double_buffer_scope\": 0})\n"
                           "            B[v] = A[v] * 2\n"
                           "        with T.block(\"C\"):\n"
                           "            v = T.axis.spatial(8, i)\n"
                           "            C[v] = B[v] + 1\n";
    ml_Lower lo = lowering(*state);

    assert_non_null(strstr(body_text(*state, lowered(*state, &lo, parse(*state, program),
                                                     "software_pipeline")),
                           "alloc_buffer((2, 1)"));
    assert_true(expect_same_for(*state, program, 0) > 2);
}

static void pipelines_of_two_to_four_stages_compute_the_same(void **state)
{
    static const char *const programs[] = {
        THREE(8) ALLOCS(8) PIPELINE(8, "[0, 1, 2]", "[0, 1, 2]") CHAIN,
        THREE(8) ALLOCS(8) PIPELINE(8, "[0, 1, 2]", "[2, 1, 0]") CHAIN,
        THREE(8) ALLOCS(8) PIPELINE(8, "[0, 0, 3]", "[0, 1, 2]") CHAIN,
        THREE(8) ALLOCS(8) PIPELINE(8, "[0, 2, 4]", "[1, 2, 0]") CHAIN,
        /* fewer iterations than stages, one, none more than the stages */
        THREE(2) ALLOCS(2) PIPELINE(2, "[0, 2, 4]", "[0, 1, 2]") CHAIN,
        THREE(1) ALLOCS(1) PIPELINE(1, "[0, 1, 2]", "[0, 1, 2]") CHAIN,
        THREE(3) ALLOCS(3) PIPELINE(3, "[0, 1, 3]", "[0, 1, 2]") CHAIN,
    };

    for (size_t k = 0; k < ML_COUNT(programs); k++)
        assert_true(expect_same_for(*state, programs[k], 0) > 2);
}

static void a_number_of_iterations_that_is_open_is_guarded(void **state)
{
    const char *program =
        HEAD "A: T.Buffer((8,), \"int32\"), C: T.Buffer((8,), \"int32\"), n: T.int32):\n"
             "    B = T.alloc_buffer((8,), \"int32\")\n" PIPELINE(
                 n, "[0, 2]", "[0, 1]") "        with T.block(\"B\"):\n"
                                        "            v = T.axis.spatial(8, i)\n"
                                        "            B[v] = A[v] * 2\n"
                                        "        with T.block(\"C\"):\n"
                                        "            v = T.axis.spatial(8, i)\n"
                                        "            C[v] = B[v] + 1\n";

    for (int64_t n = 0; n <= 8; n++)
        assert_true(expect_same_for(*state, program, n) > 2);
}

static void what_cannot_be_pipelined_is_refused(void **state)
{
    static const struct {
        const char *program, *words;
    } row[] = {
        {THREE(8) ALLOCS(8) "    for i in T.serial(8, annotations={"
                            "\"software_pipeline_stage\": [0, 1, 2]}):\n" CHAIN,
         "stand together"},
        {THREE(8) ALLOCS(8) PIPELINE(8, "[0, 1]", "[0, 1, 2]") CHAIN, "a list of 3"},
        {THREE(8) ALLOCS(8) PIPELINE(8, "[0, 1, 2]", "[0, 1, 1]") CHAIN, "once"},
        {THREE(8) ALLOCS(8) PIPELINE(8, "[0, 1, 2]", "[0, 1, 3]") CHAIN, "once"},
        {THREE(8) ALLOCS(8) PIPELINE(8, "[0, -1, 2]", "[0, 1, 2]") CHAIN, "from 0"},
        {THREE(8) ALLOCS(8) PIPELINE(8, "[1, 0, 2]", "[0, 1, 2]") CHAIN,
         "would run before"},
        {THREE(8) ALLOCS(8) PIPELINE(8, "[0, 0, 0]", "[0, 2, 1]") CHAIN, "both touch D"},
        {THREE(8) PIPELINE(8, "[0]", "[0]") BLOCK("C", "C", "A[v, w]"), "no sequence"},
        {THREE(8) ALLOCS(8) "    for i in T.parallel(8, annotations={"
                            "\"software_pipeline_stage\": [0, 1, 2], "
                            "\"software_pipeline_order\": [0, 1, 2]}):\n" CHAIN,
         "no order"},
    };

    for (size_t k = 0; k < ML_COUNT(row); k++)
        expect_lowering_failed(*state, row[k].program, "software_pipeline", row[k].words);
}

/* Written for the next iteration, which an earlier stage would read too soon. */
static void a_value_for_the_next_iteration_stays_ahead_of_it(void **state)
{
#define CARRIED(stage)                                                                     \
    HEAD "S: T.Buffer((9,), \"int32\"), C: T.Buffer((9,), \"int32\")):\n" PIPELINE(        \
        8, stage, "[0, 1]") "        C[i] = S[i] * 2\n"                                    \
                            "        S[i + 1] = C[i] + 1\n"
    expect_lowering_failed(*state, CARRIED("[0, 1]"), "software_pipeline",
                           "of the iteration before");
    assert_true(expect_same_for(*state, CARRIED("[0, 0]"), 0) > 0);
}

/* ---------------------------------------------------------------- against all pairs */

enum { N = 6, MOST = 4, SHIFTS = 3 };

typedef struct Line { /* X[own or i + to] = f(X[from]) */
    bool own_to, own_from;
    size_t to, from; /* buffers */
    int64_t to_shift, from_shift;
} Line;

/* Whether instance i of a and j of b touch one element that either writes. */
static bool meet(const Line *a, int64_t i, const Line *b, int64_t j)
{
    for (int x = 0; x < 2; x++)
        for (int y = 0; y < 2; y++) {
            bool own_x = x ? a->own_to : a->own_from, own_y = y ? b->own_to : b->own_from;
            size_t bx = x ? a->to : a->from, by = y ? b->to : b->from;
            int64_t sx = x ? a->to_shift : a->from_shift;
            int64_t sy = y ? b->to_shift : b->from_shift;

            if ((!x && !y) || own_x != own_y || bx != by)
                continue;
            if (own_x ? i == j : i + sx == j + sy)
                return true;
        }
    return false;
}

static bool legal(const Line *l, const int *stage, const int *order, size_t n)
{
    for (size_t p = 0; p < n; p++)
        for (size_t q = 0; q < n; q++)
            for (int64_t i = 0; i < N; i++)
                for (int64_t j = 0; j < N; j++) {
                    bool before = i < j || (i == j && p < q);
                    int64_t ti = i + stage[p], tj = j + stage[q];
                    bool now = ti < tj || (ti == tj && order[p] < order[q]);

                    if (p != q && before && !now && meet(&l[p], i, &l[q], j))
                        return false;
                }
    return true;
}

static const char *name_of(ml_Ctx *cx, bool own, size_t k, int64_t shift)
{
    return own ? ml_format(cx, "T%zu[0]", k)
               : ml_format(cx, "X%zu[i + %lld]", k, (long long)shift);
}

static void those_are_refused_that_change_an_order(void **state)
{
    enum { TIMES = 1500 };
    Fix *x = *state;
    ml_Random r = ml_random("software_pipeline", 0, 7);
    size_t taken = 0;

    for (size_t t = 0; t < TIMES; t++) {
        size_t n = 2 + ml_random_below(&r, MOST - 1);
        ml_Text body = {0}, lists[2] = {{0}, {0}}, all = {0};
        int stage[MOST], order[MOST];
        Line l[MOST];

        for (size_t k = 0; k < n; k++)
            order[k] = (int)k;
        for (size_t k = n; k-- > 1;) {
            size_t o = ml_random_below(&r, k + 1);
            int was = order[k];

            order[k] = order[o];
            order[o] = was;
        }
        for (size_t k = 0; k < n; k++) {
            stage[k] = (int)ml_random_below(&r, 3);
            l[k] = (Line){ml_random_below(&r, 2) == 0,
                          k > 0 && ml_random_below(&r, 2) == 0,
                          ml_random_below(&r, 2),
                          ml_random_below(&r, 2),
                          (int64_t)ml_random_below(&r, SHIFTS),
                          (int64_t)ml_random_below(&r, SHIFTS)};
            if (l[k].own_from) { /* what was written in this iteration */
                size_t from = ml_random_below(&r, k);

                l[k].own_from = l[from].own_to;
                l[k].from = l[from].to;
            }
            ml_text_fmt(&body, "            %s = %s * 3 + %zu\n",
                        name_of(x->cx, l[k].own_to, l[k].to, l[k].to_shift),
                        name_of(x->cx, l[k].own_from, l[k].from, l[k].from_shift), k + 1);
            ml_text_fmt(&lists[0], "%s%d", k ? ", " : "", stage[k]);
            ml_text_fmt(&lists[1], "%s%d", k ? ", " : "", order[k]);
        }
        ml_text_fmt(&all,
                    HEAD
                    "X0: T.Buffer((%d,), \"int32\"), X1: T.Buffer((%d,), \"int32\")):\n"
                    "    for i in T.serial(%d, annotations={"
                    "\"software_pipeline_stage\": [%s], "
                    "\"software_pipeline_order\": [%s]}):\n"
                    "        with T.block(\"\"):\n"
                    "            T.reads(X0[0:%d], X1[0:%d])\n"
                    "            T.writes(X0[0:%d], X1[0:%d])\n"
                    "            T0 = T.alloc_buffer((1,), \"int32\")\n"
                    "            T1 = T.alloc_buffer((1,), \"int32\")\n%s",
                    N + SHIFTS, N + SHIFTS, N, ml_text_z(&lists[0]), ml_text_z(&lists[1]),
                    N + SHIFTS, N + SHIFTS, N + SHIFTS, N + SHIFTS, ml_text_z(&body));
        const char *program = ml_strdup(x->cx, ml_str(ml_text_z(&all)));
        ml_Lower lo = lowering(x);
        bool ok = ml_lower(&lo, parse(x, program), "software_pipeline", NULL, NULL);

        if (!ok)
            ml_error_clear(x->cx);
        if (ok != legal(l, stage, order, n))
            fail_msg("%s:\n%s", ok ? "taken" : "refused", program);
        if (ok && ++taken % 4 == 0)
            (void)expect_same_for(x, program, 0);
        ml_text_free(&body);
        ml_text_free(&lists[0]);
        ml_text_free(&lists[1]);
        ml_text_free(&all);
    }
    assert_true(taken > TIMES / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_pipeline_fills_runs_and_empties),
        TEST(two_versions_become_one_where_the_reader_is_first),
        TEST(a_block_may_ask_for_two_versions),
        TEST(pipelines_of_two_to_four_stages_compute_the_same),
        TEST(a_number_of_iterations_that_is_open_is_guarded),
        TEST(what_cannot_be_pipelined_is_refused),
        TEST(a_value_for_the_next_iteration_stays_ahead_of_it),
        TEST(those_are_refused_that_change_an_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

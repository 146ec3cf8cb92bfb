/*
 * test_memory - how programs use memory: counts against closed forms, reuse distances and
 * lines per iteration against a plain list of touches.
 */
#include "../build.h"

#include "moonloop/codegen/trace/memory.h"
#include "moonloop/codegen/trace/reuse.h"

static ml_MemoryFacts measure(Fix *x, const ml_Func *f, const ml_Buffer *b,
                              uint32_t threads, int64_t budget)
{
    ml_MemoryOpts o = {.buffer = b, .threads = threads, .trace = {.budget = budget}};
    ml_MemoryFacts facts;

    if (!ml_memory_measure(x->cx, NULL, f, &o, &facts))
        fail_msg("%s", ml_error_code(ml_error(x->cx)->code));
    return facts;
}

static const ml_Stmt *nest(Fix *x, const ml_Var *const *v, const int64_t *n, size_t rank,
                           const ml_Stmt *body)
{
    while (rank-- > 0)
        body = loop(x, ML_FOR_SERIAL, v[rank], I(n[rank]), body);
    return body;
}

/* C[i, j] += A[i, k] * B[k, j], all of n by n. */
static const ml_Func *matmul(Fix *x, int64_t n, const ml_Buffer **out)
{
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(n), I(n)),
                    *b = BUF("B", ML_DT_F32, I(n), I(n)),
                    *c = BUF("C", ML_DT_F32, I(n), I(n));
    const ml_Var *v[] = {IVAR("i"), IVAR("j"), IVAR("k")};
    const int64_t e[] = {n, n, n};
    const ml_Stmt *s = ST(
        c,
        ADD(LD(c, X(v[0]), X(v[1])), MUL(LD(a, X(v[0]), X(v[2])), LD(b, X(v[2]), X(v[1])))),
        X(v[0]), X(v[1]));

    out[0] = a;
    out[1] = b;
    out[2] = c;
    return FUNC(nest(x, v, e, 3, s), a, b, c);
}

/* ---------------------------------------------------------------- counts */

static void each_element_of_a_matmul_is_loaded_as_often_as_the_sum_says(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b[3];
    const ml_Func *f = matmul(x, 32, b);

    for (int k = 0; k < 3; k++) {
        ml_MemoryFacts m = measure(x, f, b[k], 1, 0);
        assert_true(m.exact);
        assert_ptr_equal(m.buffer, b[k]);
        assert_int_equal(m.elements, 1024);
        assert_int_equal(m.loads.total, 32768);
        assert_int_equal(m.loads.min, 32);
        assert_int_equal(m.loads.max, 32);
        assert_int_equal(m.loads.n, 1);
        assert_int_equal(m.loads.times[0], 32);
        assert_int_equal(m.loads.elements[0], 1024);
        assert_int_equal(m.stores.total, k == 2 ? 32768 : 0);
        assert_int_equal(m.lines, 64);
        assert_int_equal(m.lines_touched, 64);
        assert_int_equal(m.overwritten + m.again + m.unread, 0);
        assert_int_equal(m.touches, 4 * 32768);
        ml_memory_free(&m);
    }
}

static void lines_per_iteration_are_those_of_the_loop_s_box(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b[3];
    const ml_Func *f = matmul(x, 32, b);
    const double lines[3][3] = {{2, 2, 1}, {64, 32, 1}, {2, 1, 1}}; /* i, j, k */

    for (int k = 0; k < 3; k++) {
        ml_MemoryFacts m = measure(x, f, b[k], 1, 0);
        assert_int_equal(m.n_loops, 3);
        for (int l = 0; l < 3; l++) {
            assert_true(m.loops[l].lines == lines[k][l]);
            assert_true(m.loops[l].all_lines == lines[0][l] + lines[1][l] + lines[2][l]);
        }
        assert_int_equal(m.loops[0].iterations, 32);
        assert_int_equal(m.loops[2].iterations, 32768);
        ml_memory_free(&m);
    }
}

static void strides_are_the_bytes_from_one_iteration_to_the_next(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b[3];
    const ml_Func *f = matmul(x, 32, b);
    const int64_t stride[4][3] = {{128, 4, 0}, {128, 0, 4}, {0, 4, 128}, {128, 4, 0}};
    ml_MemoryFacts m = measure(x, f, b[0], 1, 0);

    assert_int_equal(m.n_accesses, 4); /* C, A, B, and the store */
    for (int a = 0; a < 4; a++) {
        assert_int_equal(m.accesses[a].n_strides, 3);
        assert_true(m.accesses[a].store == (a == 3));
        for (int l = 0; l < 3; l++) {
            assert_true(m.accesses[a].strides[l].known);
            assert_int_equal(m.accesses[a].strides[l].bytes, stride[a][l]);
            assert_int_equal(m.accesses[a].strides[l].loop, l);
        }
        assert_int_equal(m.accesses[a].first_byte, 0);
        assert_int_equal(m.accesses[a].last_byte, 4095);
    }
    ml_memory_free(&m);
}

static void guards_are_followed(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(16)), *b = BUF("B", ML_DT_F32, I(16));
    const ml_Var *i = IVAR("i");
    const ml_Expr *in = ml_lt(x->cx, X(i), I(5));
    const ml_Func *f =
        FUNC(loop(x, ML_FOR_SERIAL, i, I(16),
                  ST(b, ml_if_then_else(x->cx, in, LD(a, X(i)), FL(0)), X(i))),
             a, b);
    ml_MemoryFacts m = measure(x, f, a, 1, 0);

    assert_int_equal(m.loads.total, 5);
    assert_int_equal(m.loads.n, 2);
    assert_int_equal(m.loads.elements[0], 11);
    assert_int_equal(m.loads.elements[1], 5);
    ml_memory_free(&m);
}

static void an_index_that_is_loaded_is_followed(void **state)
{
    Fix *x = *state;
    const ml_Buffer *p = BUF("P", ML_DT_I32, I(8)), *t = BUF("T", ML_DT_I32, I(8)),
                    *a = BUF("A", ML_DT_F32, I(8)), *b = BUF("B", ML_DT_F32, I(8));
    const ml_Var *i = IVAR("i"), *j = IVAR("j");
    const ml_Func *f =
        FUNC(SEQ(ml_alloc_stmt(x->cx, t, NULL),
                 loop(x, ML_FOR_SERIAL, i, I(8),
                      ST(t, ml_floordiv(x->cx, SUB(I(7), X(i)), I(2)), X(i))),
                 loop(x, ML_FOR_SERIAL, j, I(8), ST(b, LD(a, LD(t, X(j))), X(j)))),
             p, a, b);
    ml_MemoryFacts m = measure(x, f, a, 1, 0);

    assert_int_equal(m.loads.total, 8); /* 3 3 2 2 1 1 0 0 */
    assert_int_equal(m.loads.n, 2);
    assert_int_equal(m.loads.times[1], 2);
    assert_int_equal(m.loads.elements[1], 4);
    ml_memory_free(&m);
}

/* ---------------------------------------------------------------- redundant stores */

static void stores_that_nobody_loads_are_told_apart(void **state)
{
    Fix *x = *state;
    const ml_Buffer *t = BUF("T", ML_DT_F32, I(8)), *b = BUF("B", ML_DT_F32, I(8));
    const ml_Var *i = IVAR("i"), *j = IVAR("j"), *k = IVAR("k"), *l = IVAR("l");
    const ml_Func *f =
        FUNC(SEQ(ml_alloc_stmt(x->cx, t, NULL),
                 loop(x, ML_FOR_SERIAL, i, I(8), ST(t, FL(0), X(i))), /* 6 stored over */
                 loop(x, ML_FOR_SERIAL, j, I(6), ST(t, FL(1), X(j))),
                 loop(x, ML_FOR_SERIAL, k, I(3), /* again, twice 4 */
                      loop(x, ML_FOR_SERIAL, l, I(4),
                           SEQ(ST(t, FL(2), X(l)), ST(b, LD(t, X(l)), X(l)))))),
             b);
    ml_MemoryFacts m = measure(x, f, t, 1, 0);

    assert_int_equal(m.stores.total, 8 + 6 + 12);
    assert_int_equal(m.overwritten, 6 + 4);
    assert_int_equal(m.again, 8);
    assert_int_equal(m.unread, 4); /* 4 to 7 */
    ml_memory_free(&m);
    m = measure(x, f, b, 1, 0);
    assert_int_equal(m.overwritten, 8); /* B is stored three times */
    assert_int_equal(m.unread, 0);      /* and is a result */
    ml_memory_free(&m);
}

/* ---------------------------------------------------------------- reuse distance */

static void distances_are_those_of_a_plain_list(void **state)
{
    enum { LINES = 300, TOUCHES = 20000 };
    Fix *x = *state;
    static uint32_t order[LINES];
    uint32_t n = 0;
    ml_Random rnd = ml_random("reuse", 0, 1);
    ml_Reuse r;

    ml_reuse_init(&r, x->cx);
    ml_reuse_reserve(&r, LINES);
    for (int k = 0; k < TOUCHES; k++) {
        uint64_t pick = ml_random_below(&rnd, 4);
        uint32_t line = (uint32_t)(pick == 0   ? ml_random_below(&rnd, LINES)
                                   : pick == 1 ? (uint64_t)k / 3 % LINES
                                               : ml_random_below(&rnd, 12));
        uint64_t got = ml_reuse_touch(&r, line);
        uint32_t at = 0;

        while (at < n && order[at] != line)
            at++;
        assert_true(got == (at == n ? ML_REUSE_COLD : at));
        if (at == n)
            n++;
        for (uint32_t d = at; d > 0; d--)
            order[d] = order[d - 1];
        order[0] = line;
    }
    assert_true(n > 250);
}

static void a_buffer_that_is_read_twice_is_reused_over_all_of_its_lines(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(1600)), *b = BUF("B", ML_DT_F32, I(1));
    const ml_Var *v[] = {IVAR("i"), IVAR("j")};
    const int64_t e[] = {2, 1600};
    const ml_Func *f = FUNC(nest(x, v, e, 2, ST(b, LD(a, X(v[1])), I(0))), a, b);
    ml_MemoryFacts m = measure(x, f, a, 1, 0);

    assert_int_equal(m.cold, 100);
    assert_int_equal(m.distance[1], 2 * 1500); /* b between */
    assert_int_equal(m.distance[7], 100);      /* 64 to 127: the other 99 and b */
    ml_memory_free(&m);
}

/* ---------------------------------------------------------------- threads */

static void threads_of_rows_share_no_line_and_threads_of_columns_do(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8), I(24));
    const ml_Var *i = IVAR("i"), *j = IVAR("j");
    const ml_Func *rows =
        FUNC(loop(x, ML_FOR_PARALLEL, i, I(8),
                  loop(x, ML_FOR_SERIAL, j, I(24), ST(a, FL(1), X(i), X(j)))),
             a);
    const ml_Func *columns =
        FUNC(loop(x, ML_FOR_PARALLEL, j, I(24),
                  loop(x, ML_FOR_SERIAL, i, I(8), ST(a, FL(1), X(i), X(j)))),
             a);
    ml_MemoryFacts m = measure(x, rows, a, 2, 0);

    assert_int_equal(m.n_parallel, 1);
    assert_int_equal(m.parallel[0].threads, 2);
    assert_int_equal(m.parallel[0].shared_lines, 0);
    assert_false(m.parallel[0].in_turn);
    for (int t = 0; t < 2; t++) {
        const ml_ThreadTouches *v = &m.parallel[0].thread[t];
        assert_int_equal(v->stores, 96);
        assert_int_equal(v->lines, 6);
        assert_int_equal(v->min[0], 4 * t);
        assert_int_equal(v->max[0], 4 * t + 3);
        assert_int_equal(v->min[1], 0);
        assert_int_equal(v->max[1], 23);
        assert_true(v->rows);
    }
    ml_memory_free(&m);
    m = measure(x, columns, a, 2, 0);
    assert_int_equal(m.parallel[0].shared_lines, 12); /* every line has columns of both */
    assert_int_equal(m.parallel[0].false_lines, m.parallel[0].shared_lines);
    assert_int_equal(m.parallel[0].shared_elements, 0);
    assert_int_equal(m.parallel[0].thread[1].min[1], 12);
    ml_memory_free(&m);
}

static void few_iterations_are_handed_out_one_by_one(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(6), I(16));
    const ml_Var *i = IVAR("i"), *j = IVAR("j");
    const ml_Func *f =
        FUNC(loop(x, ML_FOR_PARALLEL, i, I(6),
                  loop(x, ML_FOR_SERIAL, j, I(16), ST(a, FL(1), X(i), X(j)))),
             a);
    ml_MemoryFacts m = measure(x, f, a, 4, 0);

    assert_true(m.parallel[0].dynamic);
    assert_int_equal(m.parallel[0].threads, 4);
    assert_int_equal(m.parallel[0].thread[0].stores, 32);
    assert_int_equal(m.parallel[0].thread[3].stores, 16);
    assert_false(m.parallel[0].thread[0].rows); /* rows 0 and 4 */
    ml_memory_free(&m);
}

static void a_buffer_used_below_the_parallel_loop_only_is_each_iteration_s_own(void **state)
{
    Fix *x = *state;
    const ml_Buffer *t = BUF("T", ML_DT_F32, I(4)), *b = BUF("B", ML_DT_F32, I(8));
    const ml_Var *i = IVAR("i");
    const ml_Func *f = FUNC(SEQ(ml_alloc_stmt(x->cx, t, NULL),
                                loop(x, ML_FOR_PARALLEL, i, I(8),
                                     SEQ(ST(t, FL(1), I(0)), ST(b, LD(t, I(0)), X(i))))),
                            b);
    ml_MemoryFacts m = measure(x, f, t, 2, 0);

    assert_true(m.parallel[0].own);
    ml_memory_free(&m);
    m = measure(x, f, b, 2, 0);
    assert_false(m.parallel[0].own);
    ml_memory_free(&m);
}

/* ---------------------------------------------------------------- the budget */

static void beyond_the_budget_the_first_iterations_are_walked_and_told(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b[3];
    const ml_Func *f = matmul(x, 32, b);
    ml_MemoryFacts m = measure(x, f, b[1], 1, 4 * 32768 / 4);

    assert_true(m.cut);
    assert_false(m.exact);
    assert_false(m.stopped);
    assert_true(m.expected == 4 * 32768);
    assert_int_equal(m.touches, 4 * 32768 / 4);
    assert_int_equal(m.n_caps, 1);
    assert_string_equal(m.caps[0].var->hint, "i");
    assert_int_equal(m.caps[0].walked, 8);
    assert_int_equal(m.caps[0].extent, 32);
    assert_int_equal(m.loads.min, 8);
    assert_true(m.loops[1].lines == 32);
    ml_memory_free(&m);
}

static void a_walk_of_unknown_length_ends_at_twice_the_budget(void **state)
{
    Fix *x = *state;
    const ml_Buffer *n = BUF("N", ML_DT_I32, I(1)), *b = BUF("B", ML_DT_F32, I(64));
    const ml_Var *i = IVAR("i"), *j = IVAR("j");
    const ml_Func *f =
        FUNC(SEQ(ST(n, I(50), I(0)),
                 loop(x, ML_FOR_SERIAL, i, LD(n, I(0)),
                      loop(x, ML_FOR_SERIAL, j, LD(n, I(0)), ST(b, FL(0), X(j))))),
             n, b);
    ml_MemoryFacts m = measure(x, f, b, 1, 100);

    assert_true(m.stopped);
    assert_int_equal(m.touches, 200);
    ml_memory_free(&m);
    m = measure(x, f, b, 1, 100000);
    assert_true(m.exact);
    assert_int_equal(m.stores.total, 2500);
    ml_memory_free(&m);
}

static void what_the_program_does_wrong_is_an_error(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8));
    const ml_Var *i = IVAR("i");
    const ml_Func *f = FUNC(loop(x, ML_FOR_SERIAL, i, I(9), ST(a, FL(1), X(i))), a);
    ml_MemoryOpts o = {.buffer = a};
    ml_MemoryFacts m;

    assert_false(ml_memory_measure(x->cx, NULL, f, &o, &m));
    assert_int_equal(ml_error(x->cx)->code, ML_E_OUT_OF_BOUNDS);
    ml_error_clear(x->cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_element_of_a_matmul_is_loaded_as_often_as_the_sum_says),
        TEST(lines_per_iteration_are_those_of_the_loop_s_box),
        TEST(strides_are_the_bytes_from_one_iteration_to_the_next),
        TEST(guards_are_followed),
        TEST(an_index_that_is_loaded_is_followed),
        TEST(stores_that_nobody_loads_are_told_apart),
        TEST(distances_are_those_of_a_plain_list),
        TEST(a_buffer_that_is_read_twice_is_reused_over_all_of_its_lines),
        TEST(threads_of_rows_share_no_line_and_threads_of_columns_do),
        TEST(few_iterations_are_handed_out_one_by_one),
        TEST(a_buffer_used_below_the_parallel_loop_only_is_each_iteration_s_own),
        TEST(beyond_the_budget_the_first_iterations_are_walked_and_told),
        TEST(a_walk_of_unknown_length_ends_at_twice_the_budget),
        TEST(what_the_program_does_wrong_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_interp - what the reference interpreter refuses, each rule with a program that
 * breaks it and one that does not; blocks, loops, matches, calls.
 */
#include "build.h"

/* ---------------------------------------------------------------- bounds */

static void an_index_outside_its_buffer_is_refused(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)), *b = BUF("B", ML_DT_F32, I(8));
    const ml_Var *i = IVAR("i");
    const ml_Func *f =
        FUNC(loop(x, ML_FOR_SERIAL, i, I(8), ST(b, LD(a, ADD(X(i), I(1))), X(i))), a, b);
    const ml_Error *e;

    expect_code(x, f, ML_E_OUT_OF_BOUNDS);
    e = ml_error(x->cx);
    assert_ptr_equal(e->facts[0].as.buffer, a);
    assert_int_equal(e->facts[1].as.i, 8);
    assert_int_equal(e->facts[2].as.i, 0);
    assert_int_equal(e->facts[3].as.i, 8);
    assert_string_equal(x->report.loops, "i = 7");
    assert_string_equal(e->notes[0], "at i = 7");
    assert_int_equal(x->report.where->kind, ML_STMT_STORE);
    assert_ptr_equal(e->facts[4].as.stmt, x->report.where);
    f = FUNC(loop(x, ML_FOR_SERIAL, i, I(7), ST(b, LD(a, ADD(X(i), I(1))), X(i))), a, b);
    expect_code(x, f, ML_E_OK);
    assert_true(at(x, 1, 6) == 7.0);
    f = FUNC(ST(b, LD(a, I(0)), I(-1)), a, b);
    expect_code(x, f, ML_E_OUT_OF_BOUNDS);
}

static void if_then_else_guards_and_select_does_not(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)), *b = BUF("B", ML_DT_F32, I(10));
    const ml_Var *i = IVAR("i");
    const ml_Expr *in = ml_lt(x->cx, X(i), I(8));

    expect_code(x,
                FUNC(loop(x, ML_FOR_SERIAL, i, I(10),
                          ST(b, ml_if_then_else(x->cx, in, LD(a, X(i)), FL(-1)), X(i))),
                     a, b),
                ML_E_OK);
    assert_true(at(x, 1, 7) == 7.0 && at(x, 1, 8) == -1.0);
    expect_code(x,
                FUNC(loop(x, ML_FOR_SERIAL, i, I(10),
                          ST(b, ml_select(x->cx, in, LD(a, X(i)), FL(-1)), X(i))),
                     a, b),
                ML_E_OUT_OF_BOUNDS);
    expect_code(x,
                FUNC(loop(x, ML_FOR_SERIAL, i, I(10),
                          ml_if(x->cx, in, ST(b, LD(a, X(i)), X(i)), NULL)),
                     a, b),
                ML_E_OK);
}

/* ---------------------------------------------------------------- undefined elements */

static void an_element_is_used_only_after_it_is_written(void **state)
{
    Fix *x = *state;
    const ml_Buffer *t = BUF("T", ML_DT_F32, I(4)), *b = BUF("B", ML_DT_F32, I(4));
    const ml_Stmt *alloc = ml_alloc_stmt(x->cx, t, NULL);

    expect_code(
        x, FUNC(SEQ(alloc, ST(t, FL(1), I(0)), ST(b, ADD(LD(t, I(1)), FL(1)), I(0))), b),
        ML_E_UNDEFINED_READ);
    assert_ptr_equal(ml_error(x->cx)->facts[0].as.buffer, t);
    assert_string_equal(ml_error(x->cx)->facts[1].as.text, "[1]");
    expect_code(
        x, FUNC(SEQ(alloc, ST(t, FL(1), I(1)), ST(b, ADD(LD(t, I(1)), FL(1)), I(0))), b),
        ML_E_OK);
    assert_true(at(x, 0, 0) == 2.0);
}

static void a_plain_copy_moves_an_undefined_element_along(void **state)
{
    Fix *x = *state;
    const ml_Buffer *t = BUF("T", ML_DT_F32, I(4)), *u = BUF("U", ML_DT_F32, I(4));
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(4));
    const ml_Stmt *at_ = ml_alloc_stmt(x->cx, t, NULL), *au = ml_alloc_stmt(x->cx, u, NULL);
    const ml_Stmt *copy = ST(u, LD(t, I(2)), I(3));

    expect_code(x, FUNC(SEQ(at_, au, copy, ST(b, FL(1), I(0))), b), ML_E_OK);
    expect_code(x, FUNC(SEQ(at_, au, copy, ST(b, MUL(LD(u, I(3)), FL(2)), I(0))), b),
                ML_E_UNDEFINED_READ);
    expect_code(
        x,
        FUNC(SEQ(at_, au, copy, ST(u, FL(1), I(3)), ST(b, MUL(LD(u, I(3)), FL(2)), I(0))),
             b),
        ML_E_OK);
    /* a defined element overwritten by an undefined one is undefined */
    expect_code(
        x,
        FUNC(SEQ(at_, au, ST(u, FL(1), I(3)), copy, ST(b, MUL(LD(u, I(3)), FL(2)), I(0))),
             b),
        ML_E_UNDEFINED_READ);
    expect_code(
        x,
        FUNC(SEQ(at_, au, ST(u, ml_call_id(x->cx, ML_DT_F32, ML_OP_UNDEF, NULL, 0), I(3)),
                 ST(b, MUL(LD(u, I(3)), FL(2)), I(0))),
             b),
        ML_E_UNDEFINED_READ);
}

/* Padding: the copy chooses between a constant and an element that may be undefined. */
static void a_copy_that_chooses_moves_an_undefined_element_along(void **state)
{
    Fix *x = *state;
    const ml_Buffer *t = BUF("T", ML_DT_F32, I(4)), *u = BUF("U", ML_DT_F32, I(4));
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(4)), *n = BUF("N", ML_DT_I32, I(1));
    const ml_Stmt *at_ = ml_alloc_stmt(x->cx, t, NULL), *au = ml_alloc_stmt(x->cx, u, NULL),
                  *an = ml_alloc_stmt(x->cx, n, NULL);
    const ml_Expr *zero = LD(n, I(0)); /* not folded */
    const ml_Stmt *use = ST(b, MUL(LD(u, I(3)), FL(2)), I(0)), *end = ST(b, FL(1), I(0));

    for (int k = 0; k < 2; k++) {
        const ml_Expr *c = ml_lt(x->cx, zero, I(k)), *is_op[3] = {c, FL(5), LD(t, I(2))};
        const ml_Expr *chosen = ml_call_id(x->cx, ML_DT_F32, ML_OP_IF_THEN_ELSE, is_op, 3);
        const ml_Expr *selected = ml_select(x->cx, c, FL(5), LD(t, I(2)));

        for (int m = 0; m < 2; m++) {
            const ml_Stmt *copy = ST(u, m ? selected : chosen, I(3));

            expect_code(x, FUNC(SEQ(at_, au, an, ST(n, I(0), I(0)), copy, end), b),
                        ML_E_OK);
            expect_code(x, FUNC(SEQ(at_, au, an, ST(n, I(0), I(0)), copy, use), b),
                        k ? ML_E_OK : ML_E_UNDEFINED_READ);
            if (k)
                assert_true(at(x, 0, 0) == 10.0);
        }
    }
}

static void an_allocation_is_undefined_each_time_it_is_reached(void **state)
{
    Fix *x = *state;
    const ml_Buffer *t = BUF("T", ML_DT_F32, I(1)), *b = BUF("B", ML_DT_F32, I(4));
    const ml_Var *i = IVAR("i");
    const ml_Stmt *first = ml_if(x->cx, ml_eq(x->cx, X(i), I(0)), ST(t, FL(5), I(0)), NULL);
    const ml_Stmt *use = ST(b, ADD(LD(t, I(0)), FL(0.5)), X(i));
    const ml_Stmt *alloc = ml_alloc_stmt(x->cx, t, NULL);

    expect_code(x, FUNC(SEQ(alloc, loop(x, ML_FOR_SERIAL, i, I(4), SEQ(first, use))), b),
                ML_E_OK);
    expect_code(x, FUNC(loop(x, ML_FOR_SERIAL, i, I(4), SEQ(alloc, first, use)), b),
                ML_E_UNDEFINED_READ);
    assert_string_equal(x->report.loops, "i = 1");
}

static void the_maps_of_tensors_are_respected_and_kept(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(4)), *b = BUF("B", ML_DT_F32, I(4));
    const ml_Func *f = FUNC(ST(b, ADD(LD(a, I(1)), FL(1)), I(2)), a, b);

    make_args(x, f);
    assert_true(ml_tensor_track(x->cx, x->args[0].tensor, 0));
    assert_true(ml_tensor_track(x->cx, x->args[1].tensor, 0));
    assert_int_equal(rerun(x, f), ML_E_UNDEFINED_READ);
    x->args[0].tensor->defined[1] = 1;
    assert_int_equal(rerun(x, f), ML_E_OK);
    assert_int_equal(x->args[1].tensor->defined[2], 1);
    assert_int_equal(x->args[1].tensor->defined[1], 0);
}

/* ---------------------------------------------------------------- races */

static void iterations_of_a_parallel_loop_must_not_conflict(void **state)
{
    static const ml_ForKind kinds[] = {ML_FOR_PARALLEL, ML_FOR_VECTORIZED};
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)), *b = BUF("B", ML_DT_F32, I(9));
    const ml_Var *i = IVAR("i");
    const ml_Error *e;

    for (size_t k = 0; k < ML_COUNT(kinds); k++) {
        expect_code(x, FUNC(loop(x, kinds[k], i, I(8), ST(b, LD(a, X(i)), X(i))), a, b),
                    ML_E_OK);
        /* two writers */
        expect_code(x, FUNC(loop(x, kinds[k], i, I(8), ST(b, LD(a, X(i)), I(0))), a, b),
                    ML_E_RACE);
        e = ml_error(x->cx);
        assert_int_equal(e->facts[1].as.i, 0);
        assert_int_equal(e->facts[2].as.i, 1);
        assert_ptr_equal(e->facts[3].as.buffer, b);
        /* read after write */
        expect_code(x,
                    FUNC(loop(x, kinds[k], i, I(8),
                              ST(b, ADD(LD(b, X(i)), FL(2)), ADD(X(i), I(1)))),
                         a, b),
                    ML_E_RACE);
        /* write after read */
        expect_code(x,
                    FUNC(loop(x, kinds[k], i, I(8),
                              ST(b, ADD(LD(b, ADD(X(i), I(1))), FL(2)), X(i))),
                         a, b),
                    ML_E_RACE);
        /* a sum in one element */
        expect_code(
            x, FUNC(loop(x, kinds[k], i, I(8), ST(b, ADD(LD(b, I(0)), FL(2)), I(0))), a, b),
            ML_E_RACE);
        /* its own element, several times */
        expect_code(
            x,
            FUNC(loop(x, kinds[k], i, I(8),
                      SEQ(ST(b, FL(1), X(i)), ST(b, ADD(LD(b, X(i)), FL(2)), X(i)))),
                 a, b),
            ML_E_OK);
    }
    expect_code(
        x,
        FUNC(loop(x, ML_FOR_SERIAL, i, I(8), ST(b, ADD(LD(b, I(0)), FL(2)), I(0))), a, b),
        ML_E_OK);
    expect_code(
        x,
        FUNC(loop(x, ML_FOR_UNROLLED, i, I(8), ST(b, ADD(LD(b, I(0)), FL(2)), I(0))), a, b),
        ML_E_OK);
}

static void storing_what_is_there_changes_nothing(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(4));
    const ml_Var *i = IVAR("i");
    const ml_Func *f = FUNC(loop(x, ML_FOR_PARALLEL, i, I(4), ST(b, FL(3), I(3))), b);

    expect_code(x, f, ML_E_OK); /* it holds 3 already: nobody changes it */
    f = FUNC(loop(x, ML_FOR_PARALLEL, i, I(4), ST(b, FL(7), I(3))), b);
    expect_code(x, f, ML_E_RACE); /* the first changes what the second touches */
}

static void instances_of_a_parallel_loop_are_ordered(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(8));
    const ml_Var *k = IVAR("k"), *i = IVAR("i");
    const ml_Stmt *inner = loop(x, ML_FOR_PARALLEL, i, I(4),
                                ST(b, ADD(LD(b, SUB(I(3), X(i))), FL(1)), ADD(X(i), I(4))));
    const ml_Stmt *back =
        loop(x, ML_FOR_PARALLEL, i, I(4), ST(b, LD(b, ADD(X(i), I(4))), X(i)));

    expect_code(x, FUNC(loop(x, ML_FOR_SERIAL, k, I(3), SEQ(inner, back)), b), ML_E_OK);
    expect_code(x, FUNC(loop(x, ML_FOR_PARALLEL, k, I(3), SEQ(inner, back)), b), ML_E_RACE);
}

static void a_reader_two_loops_ago_is_remembered(void **state)
{
    /* parallel o: { parallel p: read B[0] }, then write B[0] only in the last iteration of
     * o: the conflict is with the reads of earlier iterations of o. */
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(1)), *c = BUF("C", ML_DT_F32, I(2), I(2));
    const ml_Var *o = IVAR("o"), *p = IVAR("p");
    const ml_Stmt *reads =
        loop(x, ML_FOR_PARALLEL, p, I(2), ST(c, LD(b, I(0)), X(o), X(p)));
    const ml_Stmt *write = ml_if(x->cx, ml_eq(x->cx, X(o), I(1)), ST(b, FL(9), I(0)), NULL);
    const ml_Func *f = FUNC(loop(x, ML_FOR_PARALLEL, o, I(2), SEQ(reads, write)), b, c);

    expect_code(x, f, ML_E_RACE);
    assert_int_equal(ml_error(x->cx)->facts[1].as.i, 0);
    assert_int_equal(ml_error(x->cx)->facts[2].as.i, 1);
    f = FUNC(SEQ(loop(x, ML_FOR_PARALLEL, o, I(2), reads), ST(b, FL(9), I(0))), b, c);
    expect_code(x, f, ML_E_OK);
}

static void memory_of_one_iteration_may_be_reused_by_the_next(void **state)
{
    Fix *x = *state;
    const ml_Buffer *t = BUF("T", ML_DT_F32, I(1)), *b = BUF("B", ML_DT_F32, I(4));
    const ml_Var *i = IVAR("i");
    const ml_Stmt *alloc = ml_alloc_stmt(x->cx, t, NULL);
    const ml_Stmt *good =
        SEQ(ST(t, ml_cast(x->cx, ML_DT_F32, X(i)), I(0)), ST(b, LD(t, I(0)), X(i)));
    const ml_Stmt *bad =
        SEQ(ml_if(x->cx, ml_eq(x->cx, X(i), I(0)), ST(t, FL(1), I(0)), NULL),
            ST(b, LD(t, I(0)), X(i)));

    expect_code(x, FUNC(SEQ(alloc, loop(x, ML_FOR_PARALLEL, i, I(4), good)), b), ML_E_OK);
    /* used outside the loop too: no copy for each iteration */
    expect_code(
        x, FUNC(SEQ(alloc, ST(t, FL(0), I(0)), loop(x, ML_FOR_PARALLEL, i, I(4), good)), b),
        ML_E_RACE);
    /* reads what another iteration wrote */
    expect_code(x, FUNC(SEQ(alloc, loop(x, ML_FOR_PARALLEL, i, I(4), bad)), b), ML_E_RACE);
}

/* C[0] = sum of A over vk, with init, the reduction bound to `value`. */
static const ml_Stmt *sum_block(Fix *x, const ml_Buffer *c, const ml_Buffer *a,
                                const ml_Expr *value, int64_t extent)
{
    Blk b = {.b.n_iters = 0};
    const ml_Var *vk = iter(x, &b, "vk", ML_ITER_REDUCE, extent, value);

    READS(&b, a, X(vk), I(1));
    WRITES(&b, c, I(0), I(1));
    b.b.init = ST(c, FL(0), I(0));
    return block(x, &b, "C", ST(c, ADD(LD(c, I(0)), LD(a, X(vk))), I(0)));
}

static void an_init_form_reduction_may_run_across_threads(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)), *c = BUF("C", ML_DT_F32, I(1));
    const ml_Buffer *d = BUF("D", ML_DT_F32, I(8));
    const ml_Var *t = IVAR("tx");
    const ml_Stmt *s = sum_block(x, c, a, X(t), 8);
    Blk use = {.b.n_iters = 0};
    const ml_Var *v = iter(x, &use, "v", ML_ITER_SPATIAL, 8, X(t));
    const ml_Stmt *reader;

    READS(&use, c, I(0), I(1));
    WRITES(&use, d, X(v), I(1));
    reader = block(x, &use, "D", ST(d, ADD(LD(c, I(0)), FL(1)), X(v)));
    expect_code(x, FUNC(thread_loop(x, "threadIdx.x", t, 8, s), a, c), ML_E_OK);
    assert_true(at(x, 1, 0) == 28.0);
    expect_code(x, FUNC(thread_loop(x, "blockIdx.x", t, 8, s), a, c), ML_E_RACE);
    expect_code(x, FUNC(loop(x, ML_FOR_PARALLEL, t, I(8), s), a, c), ML_E_RACE);
    /* a partial sum must not be used by another block of the same loop */
    expect_code(x, FUNC(thread_loop(x, "threadIdx.x", t, 8, SEQ(s, reader)), a, c, d),
                ML_E_THREADS_COOPERATE);
    {
        const ml_Var *t2 = IVAR("ty");
        Blk use2 = {.b.n_iters = 0};
        const ml_Var *v2 = iter(x, &use2, "v", ML_ITER_SPATIAL, 8, X(t2));
        READS(&use2, c, I(0), I(1));
        WRITES(&use2, d, X(v2), I(1));
        reader = block(x, &use2, "D", ST(d, ADD(LD(c, I(0)), FL(1)), X(v2)));
        expect_code(x,
                    FUNC(SEQ(thread_loop(x, "threadIdx.x", t, 8, s),
                             thread_loop(x, "threadIdx.x", t2, 8, reader)),
                         a, c, d),
                    ML_E_OK);
        assert_true(at(x, 2, 5) == 29.0);
    }
}

static void threads_that_pass_values_are_refused_by_name(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)), *b = BUF("B", ML_DT_F32, I(8));
    const ml_Buffer *s = scoped(x, "S", ML_DT_F32, 8, "shared");
    const ml_Var *t = IVAR("tx"), *u = IVAR("tx2");
    const ml_Stmt *alloc = ml_alloc_stmt(x->cx, s, NULL);
    const ml_Stmt *fetch = ST(s, LD(a, X(t)), X(t));
    const ml_Expr *other = SUB(I(7), X(t));

    /* the other half is not there yet, whether it is copied or computed with */
    expect_code(x,
                FUNC(SEQ(alloc, thread_loop(x, "threadIdx.x", t, 8,
                                            SEQ(fetch, ST(b, LD(s, other), X(t))))),
                     a, b),
                ML_E_THREADS_COOPERATE);
    assert_int_equal(ml_error(x->cx)->facts[0].as.uid, t->uid);
    expect_code(
        x,
        FUNC(SEQ(alloc, thread_loop(x, "threadIdx.x", t, 8,
                                    SEQ(fetch, ST(b, ADD(LD(s, other), FL(1)), X(t))))),
             a, b),
        ML_E_THREADS_COOPERATE);
    /* an earlier thread's value */
    expect_code(
        x,
        FUNC(SEQ(alloc,
                 thread_loop(
                     x, "threadIdx.x", t, 8,
                     SEQ(fetch, ST(b, LD(s, ml_max(x->cx, SUB(X(t), I(1)), I(0))), X(t))))),
             a, b),
        ML_E_THREADS_COOPERATE);
    /* what is there, but another thread writes it afterwards */
    const ml_Expr *next = ml_min(x->cx, ADD(X(t), I(1)), I(7));

    expect_code(
        x,
        FUNC(SEQ(alloc, thread_loop(x, "threadIdx.x", u, 8, ST(s, FL(-1), X(u))),
                 thread_loop(x, "vthread.x", t, 8, SEQ(ST(b, LD(s, next), X(t)), fetch))),
             a, b),
        ML_E_THREADS_COOPERATE);
    /* two loops, one after the other: every thread has run */
    expect_code(
        x,
        FUNC(SEQ(alloc, thread_loop(x, "threadIdx.x", t, 8, fetch),
                 thread_loop(x, "threadIdx.x", u, 8, ST(b, LD(s, SUB(I(7), X(u))), X(u)))),
             a, b),
        ML_E_OK);
    assert_true(at(x, 1, 0) == 7.0);
    /* a cooperative copy below the same thread is repeated by each */
    expect_code(x,
                FUNC(SEQ(alloc, thread_loop(x, "threadIdx.x", t, 8,
                                            SEQ(thread_loop(x, "threadIdx.x", u, 8,
                                                            ST(s, LD(a, X(u)), X(u))),
                                                ST(b, ADD(LD(s, other), FL(1)), X(t))))),
                     a, b),
                ML_E_OK);
    assert_true(at(x, 1, 0) == 8.0);
}

static void memory_of_the_grid_is_not_private_to_a_block(void **state)
{
    Fix *x = *state;
    const ml_Buffer *g = scoped(x, "G", ML_DT_F32, 1, "global");
    const ml_Buffer *l = scoped(x, "L", ML_DT_F32, 1, "local");
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(4));
    const ml_Var *i = IVAR("bx");

    for (int k = 0; k < 2; k++) {
        const ml_Buffer *t = k ? l : g;
        const ml_Stmt *body = SEQ(ST(t, ml_cast(x->cx, ML_DT_F32, X(i)), I(0)),
                                  ST(b, ADD(LD(t, I(0)), FL(1)), X(i)));
        expect_code(x,
                    FUNC(SEQ(ml_alloc_stmt(x->cx, t, NULL),
                             thread_loop(x, "blockIdx.x", i, 4, body)),
                         b),
                    k ? ML_E_OK : ML_E_RACE);
    }
}

/* ---------------------------------------------------------------- blocks */

static void a_block_touches_only_its_regions(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)), *b = BUF("B", ML_DT_F32, I(8));

    for (int bad = 0; bad < 3; bad++) {
        const ml_Var *i = IVAR("i");
        Blk blk = {.b.n_iters = 0};
        const ml_Var *v = iter(x, &blk, "v", ML_ITER_SPATIAL, 8, X(i));
        const ml_Expr *j = ml_floormod(x->cx, ADD(X(v), I(1)), I(8));
        if (bad == 1)
            READS(&blk, a, X(v), I(1));
        else
            READS(&blk, a, j, I(1));
        if (bad == 2)
            WRITES(&blk, b, j, I(1));
        else
            WRITES(&blk, b, X(v), I(1));
        expect_code(x,
                    FUNC(loop(x, ML_FOR_SERIAL, i, I(8),
                              block(x, &blk, "B", ST(b, LD(a, j), X(v)))),
                         a, b),
                    bad ? ML_E_OUTSIDE_REGION : ML_E_OK);
        if (bad)
            assert_string_equal(ml_error(x->cx)->facts[1].as.text,
                                bad == 1 ? "reads" : "writes");
    }
}

static void a_buffer_that_is_not_named_at_all_is_outside(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)), *b = BUF("B", ML_DT_F32, I(8));
    const ml_Var *i = IVAR("i");
    Blk blk = {.b.n_iters = 0};
    const ml_Var *v = iter(x, &blk, "v", ML_ITER_SPATIAL, 8, X(i));

    WRITES(&blk, b, X(v), I(1));
    expect_code(
        x,
        FUNC(loop(x, ML_FOR_SERIAL, i, I(8), block(x, &blk, "B", ST(b, LD(a, X(v)), X(v)))),
             a, b),
        ML_E_OUTSIDE_REGION);
    x->opts.skip = ML_SKIP_REGIONS;
    expect_code(
        x,
        FUNC(loop(x, ML_FOR_SERIAL, i, I(8), block(x, &blk, "B", ST(b, LD(a, X(v)), X(v)))),
             a, b),
        ML_E_OK);
}

static void outer_blocks_bind_inner_ones(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(8));

    for (int bad = 0; bad < 2; bad++) {
        const ml_Var *i = IVAR("i"), *j = IVAR("j");
        Blk outer = {.b.n_iters = 0}, inner = {.b.n_iters = 0};
        const ml_Var *vo = iter(x, &outer, "vo", ML_ITER_SPATIAL, 4, X(i));
        const ml_Expr *base = MUL(X(vo), I(2));
        const ml_Var *vi = iter(x, &inner, "vi", ML_ITER_SPATIAL, 8, ADD(base, X(j)));
        const ml_Stmt *s;
        WRITES(&inner, b, X(vi), I(1));
        WRITES(&outer, b, base, I(bad ? 1 : 2));
        s = block(x, &inner, "inner", ST(b, FL(1), X(vi)));
        s = block(x, &outer, "outer", loop(x, ML_FOR_SERIAL, j, I(2), s));
        expect_code(x, FUNC(loop(x, ML_FOR_SERIAL, i, I(4), s), b),
                    bad ? ML_E_OUTSIDE_REGION : ML_E_OK);
    }
}

static void init_runs_at_the_first_reduction_point_only(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)), *c = BUF("C", ML_DT_F32, I(1));
    const ml_Var *k = IVAR("k");

    expect_code(x, FUNC(loop(x, ML_FOR_SERIAL, k, I(8), sum_block(x, c, a, X(k), 8)), a, c),
                ML_E_OK);
    assert_true(at(x, 1, 0) == 28.0);
    /* backwards the init comes last and all but the last term are lost */
    expect_code(
        x,
        FUNC(loop(x, ML_FOR_SERIAL, k, I(8), sum_block(x, c, a, SUB(I(7), X(k)), 8)), a, c),
        ML_E_OK);
    assert_true(at(x, 1, 0) == 0.0);
}

static void a_predicate_keeps_the_whole_block_from_running(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(10));
    const ml_Var *i = IVAR("i"), *j = IVAR("j");

    for (int guarded = 0; guarded < 2; guarded++) {
        Blk blk = {.b.n_iters = 0};
        const ml_Expr *e = ADD(MUL(X(i), I(4)), X(j));
        const ml_Var *v = iter(x, &blk, "v", ML_ITER_SPATIAL, 10, e);
        WRITES(&blk, b, X(v), I(1));
        if (guarded)
            blk.b.predicate = ml_lt(x->cx, e, I(10));
        expect_code(x,
                    FUNC(loop(x, ML_FOR_SERIAL, i, I(3),
                              loop(x, ML_FOR_SERIAL, j, I(4),
                                   block(x, &blk, "B", ST(b, FL(2), X(v))))),
                         b),
                    guarded ? ML_E_OK : ML_E_DOMAIN_EXCEEDED);
    }
    assert_true(at(x, 0, 9) == 2.0);
}

/* for vi < 4: match T (2 x 2, strides s0, s1) to A[vi, 2:4, 0:2] and sum its diagonal */
static const ml_Func *matching(Fix *x, int64_t first, int64_t lead,
                               const ml_Buffer **target)
{
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(4), I(5), I(6)),
                    *b = BUF("B", ML_DT_F32, I(4));
    const ml_Var *i = IVAR("i");
    const ml_Var *s0 = IVAR("s0"), *s1 = IVAR("s1"), *off = IVAR("off");
    const ml_Buffer *t = BUF("T", ML_DT_F32, I(2), I(2));
    ml_Buffer fields = *t;
    const ml_Expr *strides[2] = {X(s0), X(s1)};
    Blk blk = {.b.n_iters = 0};
    const ml_Var *v = iter(x, &blk, "v", ML_ITER_SPATIAL, 4, X(i));
    const ml_Expr *value;

    fields.n_strides = 2;
    fields.strides = keep(x, strides, sizeof strides);
    fields.elem_offset = X(off);
    t = ml_buffer_from(x->cx, &fields, true);
    READS(&blk, a, X(v), I(1), I(0), I(5), I(0), I(6));
    WRITES(&blk, b, X(v), I(1));
    blk.matches[blk.b.n_matches++] =
        (ml_Match){t, region(x, a, LIST(X(v), I(lead), I(first), I(2), I(0), I(2)))};
    value = ADD(LD(t, I(0), I(0)), LD(t, I(1), I(1)));
    value =
        ADD(value, ml_cast(x->cx, ML_DT_F32,
                           ADD(ADD(MUL(X(s0), I(1000)), MUL(X(s1), I(100000))), X(off))));
    *target = t;
    return FUNC(loop(x, ML_FOR_SERIAL, i, I(4), block(x, &blk, "B", ST(b, value, X(v)))), a,
                b);
}

static void a_match_is_a_view_of_its_source(void **state)
{
    Fix *x = *state;
    const ml_Buffer *t;
    const ml_Func *f = matching(x, 2, 1, &t);

    expect_code(x, f, ML_E_OK);
    for (int64_t v = 0; v < 4; v++) {
        int64_t first = v * 30 + 12; /* A[v, 2, 0] */
        assert_true(at(x, 1, v) == (double)(first + first + 7 + 6 * 1000 + 100000 + first));
    }
    expect_code(x, matching(x, 4, 1, &t), ML_E_OUT_OF_BOUNDS); /* rows 4 and 5 of 5 */
    expect_code(x, matching(x, 2, 2, &t), ML_E_WF_MATCH);
}

static void an_access_beyond_a_matched_region_is_refused(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)), *b = BUF("B", ML_DT_F32, I(8));

    for (int64_t index = 1; index <= 2; index++) {
        const ml_Buffer *t = BUF("T", ML_DT_F32, I(2));
        Blk blk = {.b.n_iters = 0};
        READS(&blk, a, I(0), I(8));
        WRITES(&blk, b, I(0), I(8));
        blk.matches[blk.b.n_matches++] = (ml_Match){t, region(x, a, LIST(I(4), I(2)))};
        (void)iter(x, &blk, "v", ML_ITER_SPATIAL, 1, I(0));
        expect_code(x, FUNC(block(x, &blk, "B", ST(b, LD(t, I(index)), I(0))), a, b),
                    index == 1 ? ML_E_OK : ML_E_OUT_OF_BOUNDS);
    }
}

/* ---------------------------------------------------------------- arithmetic rules */

static void overflow_counts_in_indices_and_not_in_data(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(4)), *b = BUF("B", ML_DT_I32, I(4));
    const ml_Var *i = IVAR("i");
    const ml_Expr *big = MUL(ADD(X(i), I(65536)), I(65536));
    const ml_Expr *small = ml_floormod(x->cx, MUL(X(i), I(65536)), I(4));

    expect_code(x, FUNC(loop(x, ML_FOR_SERIAL, i, I(2), ST(b, big, X(i))), a, b), ML_E_OK);
    assert_true(at(x, 1, 0) == 0.0);
    expect_code(
        x,
        FUNC(loop(x, ML_FOR_SERIAL, i, I(2), ST(b, I(1), ml_floormod(x->cx, big, I(4)))), a,
             b),
        ML_E_OVERFLOW);
    expect_code(x, FUNC(loop(x, ML_FOR_SERIAL, i, I(2), ST(b, I(1), small)), a, b),
                ML_E_OK);
    expect_code(x,
                FUNC(loop(x, ML_FOR_SERIAL, i, I(2),
                          ml_if(x->cx, ml_lt(x->cx, big, I(0)), ST(b, I(1), I(0)), NULL)),
                     a, b),
                ML_E_OVERFLOW);
    expect_code(x, FUNC(loop(x, ML_FOR_SERIAL, i, big, ST(b, I(1), I(0))), a, b),
                ML_E_NOT_SUPPORTED); /* i outside its loop */
}

/* A condition of data keeps its meaning where the value that it chooses is an index. */
static void a_condition_of_data_may_wrap_in_an_index(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(4)), *b = BUF("B", ML_DT_I32, I(4));
    const ml_Var *i = IVAR("i");
    const ml_Expr *wraps = ml_le(x->cx, MUL(ADD(LD(a, X(i)), I(1 << 30)), I(4)), I(1000));
    const ml_Expr *args[] = {wraps, X(i), I(0)};
    const ml_Expr *at[] = {
        ml_call_id(x->cx, ML_DT_I32, ML_OP_IF_THEN_ELSE, args, 3),
        ml_select(x->cx, wraps, X(i), I(0)),
        ml_floormod(x->cx, ml_load_masked(x->cx, a, &args[1], 1, wraps), I(4)),
    };

    for (size_t k = 0; k < ML_COUNT(at); k++)
        expect_code(x,
                    FUNC(loop(x, ML_FOR_SERIAL, i, I(4), ST(b, LD(a, at[k]), X(i))), a, b),
                    ML_E_OK);
}

static void division_by_zero_is_refused(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(4)), *b = BUF("B", ML_DT_I32, I(4));
    const ml_Var *i = IVAR("i");

    expect_code(x,
                FUNC(loop(x, ML_FOR_SERIAL, i, I(4),
                          ST(b, ml_floordiv(x->cx, I(7), LD(a, X(i))), X(i))),
                     a, b),
                ML_E_DIVIDE_BY_ZERO);
    expect_code(x,
                FUNC(loop(x, ML_FOR_SERIAL, i, I(3),
                          ST(b, ml_floordiv(x->cx, I(7), LD(a, ADD(X(i), I(1)))), X(i))),
                     a, b),
                ML_E_OK);
    assert_true(at(x, 1, 0) == 7.0 && at(x, 1, 1) == 3.0 && at(x, 1, 2) == 2.0);
}

static void asserts_stop_the_run_with_their_text(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(4));
    static const char *const parts[] = {"i is ", "large"};
    const ml_Var *i = IVAR("i");
    ml_Assert a = {.cond = ml_lt(x->cx, X(i), I(2)),
                   .error = "ValueError",
                   .n_parts = 2,
                   .parts = parts};
    const ml_Stmt *s = SEQ(ml_assert_from(x->cx, &a), ST(b, FL(1), X(i)));

    expect_code(x, FUNC(loop(x, ML_FOR_SERIAL, i, I(2), s), b), ML_E_OK);
    expect_code(x, FUNC(loop(x, ML_FOR_SERIAL, i, I(3), s), b), ML_E_ASSERT_FAILED);
    assert_string_equal(ml_error(x->cx)->facts[0].as.text, "ValueError: i is large");
}

/* ---------------------------------------------------------------- control flow */

static void while_break_continue_and_return_leave_where_they_should(void **state)
{
    Fix *x = *state;
    const ml_Buffer *n = BUF("N", ML_DT_I32, I(1)), *b = BUF("B", ML_DT_I32, I(10));
    const ml_Var *i = IVAR("i"), *p = IVAR("p");
    const ml_Stmt *inc = ST(n, ADD(LD(n, I(0)), I(1)), I(0));
    const ml_Stmt *w = ml_while(x->cx, ml_lt(x->cx, LD(n, I(0)), I(5)), inc);

    expect_code(x, FUNC(w, n, b), ML_E_OK);
    assert_true(at(x, 0, 0) == 5.0);
    w = ml_while(
        x->cx, ml_bool(x->cx, true),
        SEQ(inc, ml_if(x->cx, ml_eq(x->cx, LD(n, I(0)), I(3)), ml_break(x->cx), NULL)));
    expect_code(x, FUNC(w, n, b), ML_E_OK);
    assert_true(at(x, 0, 0) == 3.0);
    expect_code(
        x,
        FUNC(loop(x, ML_FOR_SERIAL, i, I(10),
                  SEQ(ml_if(x->cx, ml_eq(x->cx, X(i), I(4)), ml_continue(x->cx), NULL),
                      ml_if(x->cx, ml_eq(x->cx, X(i), I(7)), ml_break(x->cx), NULL),
                      ST(b, I(100), X(i)))),
             n, b),
        ML_E_OK);
    assert_true(at(x, 1, 3) == 100 && at(x, 1, 4) == 4 && at(x, 1, 6) == 100 &&
                at(x, 1, 7) == 7);
    /* out of a parallel loop: the level ends too, so what follows is no conflict */
    expect_code(x,
                FUNC(SEQ(loop(x, ML_FOR_PARALLEL, p, I(4),
                              SEQ(ST(b, I(9), X(p)), ml_if(x->cx, ml_eq(x->cx, X(p), I(2)),
                                                           ml_break(x->cx), NULL))),
                         ST(b, I(8), I(1)), ml_return(x->cx, NULL), ST(b, I(7), I(1))),
                     n, b),
                ML_E_OK);
    assert_true(at(x, 1, 1) == 8 && at(x, 1, 3) == 3);
}

static void loops_honour_minimum_step_and_empty_ranges(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_I32, I(10));
    const ml_Var *i = IVAR("i");
    ml_For f = {.kind = ML_FOR_SERIAL,
                .var = i,
                .min = I(2),
                .extent = I(7),
                .step = I(3),
                .body = ST(b, I(-1), X(i))};

    expect_code(x, FUNC(ml_for_from(x->cx, &f), b), ML_E_OK); /* 2, 5, 8 */
    for (int64_t k = 0; k < 10; k++)
        assert_true(at(x, 0, k) == (k == 2 || k == 5 || k == 8 ? -1.0 : (double)k));
    assert_int_equal(x->report.iterations, 3);
    f.extent = I(-4);
    expect_code(x, FUNC(ml_for_from(x->cx, &f), b), ML_E_OK);
    assert_int_equal(x->report.iterations, 0);
    f.extent = I(7);
    f.step = I(0);
    expect_code(x, FUNC(ml_for_from(x->cx, &f), b), ML_E_ILL_FORMED);
    f.step = NULL;
    f.min = I(2147483640);
    f.extent = I(100);
    expect_code(x, FUNC(ml_for_from(x->cx, &f), b), ML_E_OVERFLOW);
}

static void vectors_are_loaded_and_stored_lane_by_lane(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(16)), *b = BUF("B", ML_DT_F32, I(16));
    const ml_Expr *r = ml_ramp(x->cx, I(1), I(3), 4), *s = ml_ramp(x->cx, I(8), I(1), 4);
    const ml_Expr *two = ml_broadcast(x->cx, FL(2), 4);
    const ml_Expr *mask[4];

    expect_code(x, FUNC(ST(b, MUL(LD(a, r), two), s), a, b), ML_E_OK);
    for (int64_t k = 0; k < 4; k++)
        assert_true(at(x, 1, 8 + k) == 2.0 * (double)(1 + 3 * k));
    /* overlapping: all is loaded before anything is stored */
    expect_code(
        x,
        FUNC(ST(a, LD(a, ml_ramp(x->cx, I(0), I(1), 4)), ml_ramp(x->cx, I(1), I(1), 4)), a,
             b),
        ML_E_OK);
    assert_true(at(x, 0, 4) == 3.0 && at(x, 0, 1) == 0.0);
    for (int k = 0; k < 4; k++)
        mask[k] = ml_bool(x->cx, k % 2 == 0);
    {
        const ml_Expr *idx[4] = {I(0), I(1), I(2), I(3)};
        const ml_Expr *m = ml_shuffle(x->cx, mask, 4, idx, 4);
        const ml_Expr *at_[1] = {s};
        expect_code(x, FUNC(ml_store(x->cx, b, two, at_, 1, m), a, b), ML_E_OK);
    }
    assert_true(at(x, 1, 8) == 2.0 && at(x, 1, 9) == 9.0 && at(x, 1, 10) == 2.0);
}

static void elements_that_are_vectors_have_lanes_of_their_own(void **state)
{
    Fix *x = *state;
    ml_Dtype f4 = ml_dtype_lanes(ML_DT_F32, 4);
    const ml_Buffer *a = BUF("A", f4, I(3)), *b = BUF("B", f4, I(3));
    const ml_Buffer *t = BUF("T", f4, I(3));
    const ml_Stmt *alloc = ml_alloc_stmt(x->cx, t, NULL);

    expect_code(x, FUNC(ST(b, ADD(LD(a, I(1)), LD(a, I(2))), I(0)), a, b), ML_E_OK);
    for (int64_t l = 0; l < 4; l++)
        assert_true(at(x, 1, l) == (double)(4 + l + 8 + l));
    assert_true(at(x, 1, 4) == 4.0);
    expect_code(x,
                FUNC(SEQ(alloc, ST(t, LD(a, I(1)), I(1)),
                         ST(b, ADD(LD(t, I(1)), LD(t, I(1))), I(2))),
                     a, b),
                ML_E_OK);
    assert_true(at(x, 1, 11) == 14.0);
    expect_code(x,
                FUNC(SEQ(alloc, ST(t, LD(a, I(1)), I(1)),
                         ST(b, ADD(LD(t, I(1)), LD(t, I(2))), I(2))),
                     a, b),
                ML_E_UNDEFINED_READ);
}

static void symbolic_sizes_come_from_the_arguments(void **state)
{
    Fix *x = *state;
    const ml_Var *n = ml_var_new_size(x->cx, "n", ML_DT_I32), *i = IVAR("i");
    const ml_Buffer *a = BUF("A", ML_DT_F32, X(n)), *b = BUF("B", ML_DT_F32, X(n));
    const ml_Buffer *c = BUF("C", ML_DT_F32, ADD(X(n), I(1)));
    const ml_Stmt *s =
        loop(x, ML_FOR_SERIAL, i, X(n), ST(b, ADD(LD(a, X(i)), FL(1)), X(i)));
    static const int64_t seven[] = {7};

    expect_code(x, FUNC(s, a, b), ML_E_OK); /* six, by make_args */
    assert_true(at(x, 1, 5) == 6.0);
    expect_code(x, FUNC(s, a, b, c), ML_E_BAD_RUN_ARGUMENT); /* C of 6, not 7 */
    ml_tensor_free(x->args[2].tensor);
    x->args[2].tensor = ml_tensor_new(x->cx, ML_DT_F32, seven, 1);
    assert_int_equal(rerun(x, FUNC(s, a, b, c)), ML_E_OK);
    ml_tensor_free(x->args[1].tensor);
    x->args[1].tensor = ml_tensor_new(x->cx, ML_DT_F32, seven, 1);
    assert_int_equal(rerun(x, FUNC(s, a, b, c)), ML_E_BAD_RUN_ARGUMENT);
}

static void aliases_share_their_memory(void **state)
{
    Fix *x = *state;
    const ml_Buffer *t = BUF("T", ML_DT_F32, I(2), I(3)), *b = BUF("B", ML_DT_F32, I(6));
    ml_Buffer fields = *BUF("F", ML_DT_F32, I(6));
    const ml_Buffer *flat;
    const ml_Var *i = IVAR("i");

    fields.data = t->data;
    flat = ml_buffer_from(x->cx, &fields, false);
    expect_code(x,
                FUNC(SEQ(ml_alloc_stmt(x->cx, t, NULL),
                         ml_decl_stmt(x->cx, flat, ml_var(x->cx, t->data)),
                         ST(t, FL(5), I(1), I(2)), ST(b, ADD(LD(flat, I(5)), FL(1)), I(0))),
                     b),
                ML_E_OK);
    assert_true(at(x, 0, 0) == 6.0);
    expect_code(x,
                FUNC(SEQ(ml_alloc_stmt(x->cx, t, NULL),
                         ml_decl_stmt(x->cx, flat, ml_var(x->cx, t->data)),
                         loop(x, ML_FOR_SERIAL, i, I(5), ST(flat, FL(5), X(i))),
                         ST(b, ADD(LD(t, I(1), I(2)), FL(1)), I(0))),
                     b),
                ML_E_UNDEFINED_READ);
}

static void limits_and_cancellation_end_a_run(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(4)),
                    *h = BUF("H", ML_DT_F32, I(2000000000), I(1000));
    const ml_Stmt *forever = ml_while(x->cx, ml_bool(x->cx, true), ST(b, FL(1), I(0)));
    static const volatile int stop = 1;

    x->opts.max_iterations = 1000;
    expect_code(x, FUNC(forever, b), ML_E_TOO_LARGE);
    x->opts.max_iterations = 0;
    expect_code(x, FUNC(SEQ(ml_alloc_stmt(x->cx, h, NULL), ST(b, FL(1), I(0))), b),
                ML_E_TOO_LARGE);
    x->opts.max_bytes = 64;
    expect_code(x,
                FUNC(SEQ(ml_alloc_stmt(x->cx, BUF("S", ML_DT_F32, I(64)), NULL),
                         ST(b, FL(1), I(0))),
                     b),
                ML_E_TOO_LARGE);
    x->opts.max_bytes = 0;
    make_args(x, FUNC(forever, b));
    ml_ctx_set_cancel(x->cx, &stop);
    assert_int_equal(rerun(x, FUNC(forever, b)), ML_E_INTERRUPTED);
    ml_ctx_set_cancel(x->cx, NULL);
}

static void functions_of_the_module_are_called_by_name(void **state)
{
    Fix *x = *state;
    const ml_Buffer *p = BUF("P", ML_DT_F32, I(4)), *a = BUF("A", ML_DT_F32, I(4));
    const ml_Var *i = IVAR("i");
    const ml_Func *twice =
        func(x, "twice", BUFS(p), 1,
             loop(x, ML_FOR_SERIAL, i, I(4), ST(p, MUL(LD(p, X(i)), FL(2)), X(i))));
    const ml_Expr *arg = ml_var(x->cx, a->data);
    const ml_Expr *call =
        ml_call(x->cx, ML_DT_I32, ml_op_intern(x->cx, ml_str("twice")), &arg, 1);
    const ml_Func *f = FUNC(SEQ(ml_evaluate(x->cx, call), ml_evaluate(x->cx, call)), a);
    const ml_Func *both[] = {f, twice};
    const ml_Module *m = ml_module_new(x->cx, both, 2, NULL);

    make_args(x, f);
    assert_true(ml_interpret(x->cx, m, f, x->args, 1, NULL, NULL));
    assert_true(at(x, 0, 3) == 12.0);
    assert_int_equal(rerun(x, f), ML_E_NOT_SUPPORTED); /* without the module */
}

static void arguments_that_do_not_fit_are_refused(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(4));
    const ml_Func *f = FUNC(ST(a, FL(1), I(0)), a);
    static const int64_t five[] = {5};
    ml_Tensor *good;

    make_args(x, f);
    x->n_args = 0;
    assert_int_equal(rerun(x, f), ML_E_BAD_RUN_ARGUMENT);
    x->n_args = 1;
    good = x->args[0].tensor;
    x->args[0].tensor = NULL;
    assert_int_equal(rerun(x, f), ML_E_BAD_RUN_ARGUMENT);
    x->args[0].tensor = ml_tensor_new(x->cx, ML_DT_F32, five, 1);
    assert_int_equal(rerun(x, f), ML_E_BAD_RUN_ARGUMENT);
    ml_tensor_free(x->args[0].tensor);
    x->args[0].tensor = ml_tensor_new(x->cx, ML_DT_F64, good->shape, 1);
    assert_int_equal(rerun(x, f), ML_E_BAD_RUN_ARGUMENT);
    ml_tensor_free(good);
}

static void thread_attributes_run_as_loops(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_I32, I(8));
    const ml_Var *t = IVAR("tx");
    ml_Attr a = {.node = ml_val_var(x->cx, t),
                 .key = "thread_extent",
                 .value = ml_val_expr(x->cx, I(8)),
                 .thread = ml_thread("threadIdx.x")};

    a.body = ST(b, MUL(X(t), I(3)), X(t));
    a.body = ml_attr_from(x->cx, &a); /* the same thread again: once */
    expect_code(x, FUNC(ml_attr_from(x->cx, &a), b), ML_E_OK);
    assert_true(at(x, 0, 7) == 21.0);
    assert_int_equal(x->report.iterations, 8);
    a.body = ST(b, X(t), I(0));
    expect_code(x, FUNC(ml_attr_from(x->cx, &a), b), ML_E_RACE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_index_outside_its_buffer_is_refused),
        TEST(if_then_else_guards_and_select_does_not),
        TEST(an_element_is_used_only_after_it_is_written),
        TEST(a_plain_copy_moves_an_undefined_element_along),
        TEST(a_copy_that_chooses_moves_an_undefined_element_along),
        TEST(an_allocation_is_undefined_each_time_it_is_reached),
        TEST(the_maps_of_tensors_are_respected_and_kept),
        TEST(iterations_of_a_parallel_loop_must_not_conflict),
        TEST(storing_what_is_there_changes_nothing),
        TEST(instances_of_a_parallel_loop_are_ordered),
        TEST(a_reader_two_loops_ago_is_remembered),
        TEST(memory_of_one_iteration_may_be_reused_by_the_next),
        TEST(an_init_form_reduction_may_run_across_threads),
        TEST(threads_that_pass_values_are_refused_by_name),
        TEST(memory_of_the_grid_is_not_private_to_a_block),
        TEST(a_block_touches_only_its_regions),
        TEST(a_buffer_that_is_not_named_at_all_is_outside),
        TEST(outer_blocks_bind_inner_ones),
        TEST(init_runs_at_the_first_reduction_point_only),
        TEST(a_predicate_keeps_the_whole_block_from_running),
        TEST(a_match_is_a_view_of_its_source),
        TEST(an_access_beyond_a_matched_region_is_refused),
        TEST(overflow_counts_in_indices_and_not_in_data),
        TEST(a_condition_of_data_may_wrap_in_an_index),
        TEST(division_by_zero_is_refused),
        TEST(asserts_stop_the_run_with_their_text),
        TEST(while_break_continue_and_return_leave_where_they_should),
        TEST(loops_honour_minimum_step_and_empty_ranges),
        TEST(vectors_are_loaded_and_stored_lane_by_lane),
        TEST(elements_that_are_vectors_have_lanes_of_their_own),
        TEST(symbolic_sizes_come_from_the_arguments),
        TEST(aliases_share_their_memory),
        TEST(limits_and_cancellation_end_a_run),
        TEST(functions_of_the_module_are_called_by_name),
        TEST(arguments_that_do_not_fit_are_refused),
        TEST(thread_attributes_run_as_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

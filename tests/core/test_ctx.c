/*
 * test_ctx - contexts: memory, forks, mark and release, limits, work.
 *
 * The vectors and maps that live in them, and the end of the program, are here too. The
 * oracle of pointer equality is equality by structure, under random marks and releases.
 */
#include "core_test.h"
#include "moonloop/core/error.h"
#include "moonloop/core/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void memory_is_aligned_zeroed_and_kept(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    char *all[300];
    for (size_t k = 0; k < 300; k++) {
        all[k] = ml_zalloc(cx, k * 37);
        assert_int_equal((uintptr_t)all[k] % 16, 0);
        for (size_t i = 0; i < k * 37; i++)
            assert_int_equal(all[k][i], 0);
        memset(all[k], (int)(k & 0x7f), k * 37);
    }
    for (size_t k = 1; k < 300; k++)
        for (size_t i = 0; i < k * 37; i++)
            assert_int_equal(all[k][i], (int)(k & 0x7f));
    assert_true(ml_ctx_bytes(cx) >= 37 * 299 * 300 / 2);
    assert_string_equal(ml_format(cx, "%d-%s", 7, "x"), "7-x");
    ml_ctx_unref(cx);
}

static void release_takes_back_bytes_and_numbers(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_i32(cx, 3);
    size_t bytes = ml_ctx_bytes(cx);
    for (int round = 0; round < 5; round++) {
        ml_Mark mark = ml_mark(cx);
        ml_Uid uid = ml_fresh_uid(cx);
        for (int k = 0; k < 4000; k++)
            ml_add(cx, ml_var(cx, ml_var_new(cx, "v", ML_DT_I32)), ml_i32(cx, k));
        assert_true(ml_ctx_n_exprs(cx) > 8000);
        ml_release(cx, mark);
        assert_int_equal(ml_ctx_bytes(cx), bytes);
        assert_int_equal(ml_ctx_n_exprs(cx), 1);
        assert_int_equal(ml_ctx_next_uid(cx), uid);
    }
    ml_ctx_unref(cx);
}

static void a_mark_before_the_first_allocation_takes_back_all(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Mark mark = ml_mark(cx);
    for (int k = 0; k < 1000; k++)
        ml_i32(cx, k);
    ml_release(cx, mark);
    assert_int_equal(ml_ctx_bytes(cx), 0);
    assert_int_equal(ml_ctx_n_exprs(cx), 0);
    assert_int_equal(ml_i32(cx, 5)->id, 0);
    ml_ctx_unref(cx);
}

/* A random expression over the given variables. */
static const ml_Expr *random_expr(ml_Ctx *cx, Rng *r, const ml_Var *const *vars, unsigned n,
                                  int depth)
{
    if (depth == 0 || rng_below(r, 5) == 0)
        return rng_below(r, 2) ? ml_var(cx, vars[rng_below(r, n)])
                               : ml_i32(cx, (int64_t)rng_below(r, 9) + 1);
    ml_ExprKind kind = (ml_ExprKind)(ML_EXPR_ADD + rng_below(r, 9));
    const ml_Expr *a = random_expr(cx, r, vars, n, depth - 1);
    const ml_Expr *b = random_expr(cx, r, vars, n, depth - 1);
    return ml_raw_binary(cx, kind, a, b);
}

/* Equality by structure, the oracle for equality by pointer. */
static bool same_tree(const ml_Expr *a, const ml_Expr *b)
{
    if (a->kind != b->kind || !ml_dtype_eq(a->type, b->type) || a->n_args != b->n_args)
        return false;
    if (a->kind == ML_EXPR_INT && a->as.i != b->as.i)
        return false;
    if (a->kind == ML_EXPR_VAR && a->as.var->uid != b->as.var->uid)
        return false;
    for (size_t k = 0; k < a->n_args; k++)
        if (!same_tree(a->args[k], b->args[k]))
            return false;
    return true;
}

static void after_any_release_nodes_are_fresh_and_unique(void **state)
{
    Rng r = {1};
    ml_Ctx *base = ml_ctx_new(0);
    const ml_Var *vars[4];
    for (int k = 0; k < 4; k++)
        vars[k] = ml_var_new(base, "i", ML_DT_I32);
    for (int k = 0; k < 50; k++)
        random_expr(base, &r, vars, 4, 3);
    ml_Ctx *cx = ml_ctx_fork(base);

    enum { KEEP = 200 };
    const ml_Expr *kept[KEEP];
    ml_Mark marks[8];
    size_t n_at[8];
    size_t n = 0;
    size_t n_marks = 0;
    for (int step = 0; step < 3000; step++) {
        uint32_t what = rng_below(&r, 10);
        if (what == 0 && n_marks < 8) {
            n_at[n_marks] = n;
            marks[n_marks++] = ml_mark(cx);
        } else if (what == 1 && n_marks > 0) {
            n_marks--;
            ml_release(cx, marks[n_marks]);
            n = n_at[n_marks];
        } else if (n < KEEP) {
            const ml_Expr *e = random_expr(cx, &r, vars, 4, 4);
            for (size_t k = 0; k < n; k++)
                assert_true((kept[k] == e) == same_tree(kept[k], e));
            kept[n++] = e;
        } else {
            ml_ctx_reset(cx);
            n = n_marks = 0;
        }
    }
    ml_ctx_unref(cx);
    ml_ctx_unref(base);
}

static void a_fork_reads_its_parents_nodes_and_numbers_on(void **state)
{
    ml_Ctx *base = ml_ctx_new(0);
    const ml_Var *v = ml_var_new(base, "i", ML_DT_I32);
    const ml_Expr *sum = ml_add(base, ml_var(base, v), ml_i32(base, 1));
    uint32_t n = ml_ctx_n_exprs(base);
    ml_Uid uid = ml_ctx_next_uid(base);

    ml_Ctx *a = ml_ctx_fork(base);
    ml_Ctx *b = ml_ctx_fork(base);
    assert_true(ml_ctx_frozen(base));
    assert_ptr_equal(ml_add(a, ml_var(a, v), ml_i32(a, 1)), sum);
    assert_int_equal(ml_ctx_n_exprs(a), n);
    const ml_Expr *in_a = ml_i32(a, 77);
    const ml_Expr *in_b = ml_i32(b, 77);
    assert_ptr_not_equal(in_a, in_b);
    assert_int_equal(in_a->id, n);
    assert_int_equal(in_a->hash, in_b->hash);
    assert_int_equal(ml_fresh_uid(a), uid);
    assert_true(ml_ctx_descends(a, base) && !ml_ctx_descends(a, b));

    ml_ctx_reset(a);
    assert_int_equal(ml_ctx_next_uid(a), uid);
    assert_int_equal(ml_ctx_n_exprs(a), n);
    ml_ctx_unref(a);
    assert_true(ml_ctx_frozen(base));
    ml_ctx_unref(b);
    assert_false(ml_ctx_frozen(base));
    ml_ctx_seal(base);
    assert_true(ml_ctx_frozen(base));
    ml_ctx_unref(base);
}

/* Integers and variables are remembered by number: what was released must not come back,
 * and what shares a slot, a value or a number must not be taken for another. */
static void leaves_asked_for_again_are_the_live_ones(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Expr *kept[600];

    for (int64_t k = 0; k < 600; k++)
        kept[k] = ml_i32(cx, k - 300);
    for (int round = 0; round < 20; round++) {
        ml_Mark mark = ml_mark(cx);
        const ml_Var *v = ml_var_new(cx, "v", round % 2 ? ML_DT_I32 : ML_DT_I64);
        const ml_Expr *e = ml_var(cx, v);

        assert_ptr_equal(ml_var(cx, v), e);
        assert_ptr_equal(e->as.var, v);
        for (int64_t k = 0; k < 600; k++) {
            const ml_Expr *wide = ml_int(cx, ML_DT_I64, k - 300);
            const ml_Expr *more = ml_i32(cx, 1000 + 7 * k + round);

            assert_ptr_equal(ml_i32(cx, k - 300), kept[k]);
            assert_int_equal(wide->type.bits, 64);
            assert_int_equal(wide->as.i, k - 300);
            assert_ptr_equal(ml_int(cx, ML_DT_I64, k - 300), wide);
            assert_int_equal(more->as.i, 1000 + 7 * k + round);
            assert_ptr_equal(ml_i32(cx, 1000 + 7 * k + round), more);
        }
        ml_release(cx, mark);
    }
    assert_false(ml_ctx_overflowed(cx));
    ml_int(cx, ML_DT_I32, (int64_t)1 << 40);
    assert_true(ml_ctx_overflowed(cx));
    assert_int_equal(ml_int(cx, ML_DT(ML_UINT, 8), 300)->as.i, 44);
    assert_int_equal(ml_int(cx, ML_DT(ML_UINT, 8), 300)->as.i, 44);

    ml_Ctx *child = ml_ctx_fork(cx);

    for (int64_t k = 0; k < 600; k++) {
        assert_ptr_equal(ml_i32(child, k - 300), kept[k]);
        assert_ptr_equal(ml_i32(cx, k - 300), kept[k]); /* frozen: found, not noted */
    }
    const ml_Expr *own = ml_i32(child, 123456);

    assert_ptr_equal(ml_i32(child, 123456), own);
    ml_ctx_reset(child);
    assert_ptr_equal(ml_i32(child, 5), kept[305]);
    assert_int_equal(ml_i32(child, 123456)->as.i, 123456);
    ml_ctx_unref(child);
    ml_ctx_unref(cx);
}

static void texts_longer_than_the_first_guess_are_whole(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    char want[1000];

    for (size_t n = 190; n < 210; n++) {
        memset(want, 'x', n);
        want[n] = 0;
        assert_string_equal(ml_format(cx, "%s", want), want);
    }
    memset(want, 'y', 999);
    want[999] = 0;
    assert_string_equal(ml_format(cx, "%.500s%s", want, want + 500), want);
    assert_string_equal(ml_numbered(cx, "i", "_", 0), "i_0");
    assert_string_equal(ml_numbered(cx, "", "", 10), "10");
    snprintf(want, sizeof want, "ax%zu", SIZE_MAX);
    assert_string_equal(ml_numbered(cx, "ax", "", SIZE_MAX), want);
    ml_ctx_unref(cx);
}

static void a_fork_keeps_its_parent_alive(void **state)
{
    ml_Ctx *base = ml_ctx_new(0);
    const ml_Expr *e = ml_i32(base, 5);
    ml_Ctx *fork = ml_ctx_fork(base);
    ml_ctx_unref(base);
    assert_ptr_equal(ml_i32(fork, 5), e);
    ml_ctx_unref(fork);
    ml_ctx_unref(NULL);
}

static void imported_numbers_are_skipped(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_ctx_reserve_uid(cx, 100);
    assert_int_equal(ml_fresh_uid(cx), 101);
    ml_ctx_reserve_uid(cx, 50);
    assert_int_equal(ml_fresh_uid(cx), 102);
    ml_ctx_unref(cx);
}

static void the_byte_limit_sets_an_error_and_serves_all_the_same(void **state)
{
    ml_Ctx *cx = ml_ctx_new(50000);
    size_t n = 0;
    while (ml_ok(cx) && n < 100000) {
        char *p = ml_alloc(cx, 1000);
        memset(p, 1, 1000);
        n++;
    }
    assert_in_range(n, 48, 50);
    assert_int_equal(ml_error(cx)->code, ML_E_OUT_OF_MEMORY);
    assert_int_equal(ml_error(cx)->facts[0].as.i, 50000);
    assert_false(ml_tick(cx));
    for (int k = 0; k < 300; k++)
        memset(ml_alloc(cx, 1000), 2, 1000);
    ml_error_clear(cx);
    assert_true(ml_ok(cx));
    for (int k = 0; k < 100; k++)
        ml_alloc(cx, 1000);
    assert_false(ml_ok(cx));
    ml_ctx_reset(cx);
    assert_true(ml_ok(cx));
    ml_alloc(cx, 1000);
    assert_true(ml_ok(cx));
    ml_alloc(cx, 200000);
    assert_false(ml_ok(cx));
    ml_ctx_unref(cx);
}

static void a_chunk_allocation_can_be_made_to_fail(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_ctx_fail_alloc(cx, 2);
    ml_alloc(cx, 10000);
    assert_true(ml_ok(cx));
    ml_alloc(cx, 10000);
    assert_false(ml_ok_or_fail(cx));
    assert_int_equal(ml_error(cx)->code, ML_E_OUT_OF_MEMORY);
    ml_error_clear(cx);
    ml_alloc(cx, 1000000);
    assert_true(ml_ok(cx));
    ml_ctx_unref(cx);
}

static void work_stops_at_the_budget_and_when_cancelled(void **state)
{
    volatile int cancel = 0;
    ml_Ctx *base = ml_ctx_new(0);
    ml_ctx_set_cancel(base, &cancel);
    ml_Ctx *cx = ml_ctx_fork(base);
    ml_ctx_set_budget(cx, 1000);
    int n = 0;
    while (ml_tick(cx))
        n++;
    assert_int_equal(n, 1000);
    assert_int_equal(ml_error(cx)->code, ML_E_WORK_LIMIT);
    ml_error_clear(cx);
    ml_ctx_set_budget(cx, 0);
    assert_true(ml_tick(cx));
    cancel = 1;
    n = 0;
    while (ml_tick(cx))
        n++;
    assert_in_range(n, 0, 1000);
    assert_int_equal(ml_error(cx)->code, ML_E_INTERRUPTED);
    assert_false(ml_ok(cx));
    ml_ctx_unref(cx);
    ml_ctx_unref(base);
}

static void marks_become_errors_and_go_with_them(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_mul(cx, ml_i32(cx, 100000), ml_i32(cx, 100000));
    assert_true(ml_ctx_overflowed(cx) && !ml_ok(cx));
    assert_false(ml_ok_or_fail(cx));
    assert_int_equal(ml_error(cx)->code, ML_E_INDEX_OVERFLOW);
    assert_int_equal(ml_error(cx)->facts[0].as.i, 10000000000);
    ml_error_clear(cx);
    assert_true(ml_ok_or_fail(cx));

    ml_ctx_mark_too_deep(cx);
    ml_ctx_clear_marks(cx);
    assert_true(ml_ok_or_fail(cx));
    ml_ctx_mark_too_deep(cx);
    assert_false(ml_ok_or_fail(cx));
    assert_int_equal(ml_error(cx)->code, ML_E_TOO_DEEP);
    ml_ctx_unref(cx);
}

static void say_saved(void)
{
    _Exit(write(1, "saved\n", 6) == 6 ? 9 : 8);
}

/* The status of a child that breaks an invariant. */
static int status_of_failure(void (*hook)(void), int again)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
            _Exit(99);
        ml_set_assert_hook(hook);
        if (again)
            ml_out_of_memory();
        ml_Ctx *cx = ml_ctx_new(0);
        ml_ctx_seal(cx);
        ml_alloc(cx, 1);
        _Exit(98);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_broken_invariant_ends_with_status_4_after_the_hook(void **state)
{
    assert_int_equal(status_of_failure(NULL, 0), 4);
    assert_int_equal(status_of_failure(NULL, 1), 4);
    assert_int_equal(status_of_failure(say_saved, 0), 9);
}

static void vectors_grow_and_maps_keep_the_order_of_insertion(void **state)
{
    Rng r = {3};
    ml_Ctx *cx = ml_ctx_new(0);
    ml_UidVec vec = {0};
    for (ml_Uid k = 0; k < 1000; k++)
        ml_push(cx, &vec, k * 3);
    for (ml_Uid k = 0; k < 1000; k++)
        assert_int_equal(vec.v[k], k * 3);

    static const char value[500];
    const void *model[500] = {0};
    uint32_t order[500];
    size_t n = 0;
    ml_Map *m = ml_map_new(cx);
    assert_null(ml_map_get(m, 0));
    assert_null(ml_map_get(NULL, 0));
    for (int step = 0; step < 3000; step++) {
        uint32_t key = rng_below(&r, 500);
        assert_int_equal(ml_map_has(m, key), model[key] != NULL);
        if (!model[key])
            order[n++] = key;
        model[key] = &value[rng_below(&r, 500)];
        ml_map_set(cx, m, key, model[key]);
        assert_ptr_equal(ml_map_get(m, key), model[key]);
    }
    assert_int_equal(ml_map_count(m), n);
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(ml_map_key_at(m, k), order[k]);
        assert_ptr_equal(ml_map_value_at(m, k), model[order[k]]);
    }
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_zeroed_and_kept),
        cmocka_unit_test(release_takes_back_bytes_and_numbers),
        cmocka_unit_test(a_mark_before_the_first_allocation_takes_back_all),
        cmocka_unit_test(after_any_release_nodes_are_fresh_and_unique),
        cmocka_unit_test(a_fork_reads_its_parents_nodes_and_numbers_on),
        cmocka_unit_test(leaves_asked_for_again_are_the_live_ones),
        cmocka_unit_test(texts_longer_than_the_first_guess_are_whole),
        cmocka_unit_test(a_fork_keeps_its_parent_alive),
        cmocka_unit_test(imported_numbers_are_skipped),
        cmocka_unit_test(the_byte_limit_sets_an_error_and_serves_all_the_same),
        cmocka_unit_test(a_chunk_allocation_can_be_made_to_fail),
        cmocka_unit_test(work_stops_at_the_budget_and_when_cancelled),
        cmocka_unit_test(marks_become_errors_and_go_with_them),
        cmocka_unit_test(a_broken_invariant_ends_with_status_4_after_the_hook),
        cmocka_unit_test(vectors_grow_and_maps_keep_the_order_of_insertion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

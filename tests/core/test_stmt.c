/* Constructors of statements, buffers and modules: summaries and normal forms. */
#include "core_test.h"
#include "moonloop/core/stmt.h"
#include "program.h"

static int setup(void **state)
{
    *state = ml_ctx_new(0);
    return 0;
}

static int teardown(void **state)
{
    ml_ctx_unref(*state);
    return 0;
}

static void summaries_count_blocks_and_levels(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Func *f = two_stages(cx, 16);
    const ml_Stmt *seq = ml_as_block(f->body)->body;

    assert_int_equal(f->body->n_blocks, 3);
    assert_true(f->body->has_block && f->body->has_loop);
    assert_int_equal(seq->depth, 3); /* for, block, store */
    assert_int_equal(f->body->depth, 4);
    assert_ptr_equal(ml_func_root(f), f->body);
}

static void blocks_below_an_init_do_not_count(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Func *f = two_stages(cx, 4);
    ml_Block b = *ml_as_block(f->body);
    const ml_Stmt *s;

    b.init = b.body;
    b.body = ml_evaluate(cx, ml_i32(cx, 0));
    s = ml_block_from(cx, &b);
    assert_int_equal(s->n_blocks, 1);
    assert_true(s->has_loop);
    assert_int_equal(s->depth, 4);
}

static void lists_are_flat_and_without_noops(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Stmt *noop = ml_evaluate(cx, ml_i32(cx, 0));
    const ml_Stmt *a = ml_break(cx), *b = ml_continue(cx), *c = ml_return(cx, NULL);
    const ml_Stmt *ab = ml_seq(cx, (const ml_Stmt *[]){a, noop, b}, 3);
    const ml_Stmt *abc = ml_seq(cx, (const ml_Stmt *[]){ab, noop, c}, 3);

    assert_int_equal(ml_as_seq(ab)->n, 2);
    assert_int_equal(ml_as_seq(abc)->n, 3);
    assert_ptr_equal(ml_as_seq(abc)->stmts[2], c);
    assert_ptr_equal(ml_seq(cx, &a, 1), a);
    assert_ptr_equal(ml_seq(cx, (const ml_Stmt *[]){noop, a}, 2), a);
    assert_ptr_equal(ml_seq(cx, &noop, 1), noop);
    assert_true(ml_is_noop(ml_seq(cx, NULL, 0)));
}

static void a_list_with_one_statement_replaced_has_the_right_summary(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Func *f = two_stages(cx, 4);
    const ml_Seq *seq = ml_as_seq(ml_as_block(f->body)->body);
    const ml_Stmt *leaf = ml_break(cx);
    const ml_Stmt *one = ml_seq_with(cx, seq, 1, leaf);
    const ml_Stmt *none = ml_seq_with(cx, ml_as_seq(one), 0, leaf);

    assert_int_equal(one->n_blocks, 1);
    assert_true(one->has_loop);
    assert_int_equal(one->depth, 3);
    assert_int_equal(none->n_blocks, 0);
    assert_false(none->has_block || none->has_loop);
    assert_int_equal(none->depth, 1);
    assert_ptr_equal(ml_seq_with(cx, seq, 0, NULL), seq->stmts[1]);
    assert_ptr_equal(ml_seq_with(cx, seq, 0, seq->stmts[0]), seq);
    assert_int_equal(ml_as_seq(ml_seq_with(cx, seq, 0, &seq->base))->n, 3);
    assert_ptr_equal(ml_seq_with(cx, seq, 0, ml_evaluate(cx, ml_i32(cx, 0))),
                     seq->stmts[1]);
}

/* A leaf, a block, a loop or a nest of some depth. */
static const ml_Stmt *random_child(ml_Ctx *cx, Rng *rng, const ml_Buffer *b)
{
    const ml_Stmt *st = ml_break(cx);

    if (rng_below(rng, 2))
        st = add_one(cx, "b", b, b, 4, ml_i32(cx, 0));
    for (uint32_t k = rng_below(rng, 4); k > 0; k--)
        st = rng_below(rng, 2)
                 ? ml_serial(cx, new_i32(cx, "i"), ml_i32(cx, 0), ml_i32(cx, 4), st)
                 : ml_while(cx, ml_bool(cx, true), st);
    return st;
}

static void lists_changed_one_by_one_have_the_summary_of_a_new_list(void **state)
{
    ml_Ctx *cx = *state;
    Rng rng = {7};
    const ml_Buffer *b = vector_of(cx, "A", 4);

    for (int round = 0; round < 200; round++) {
        const ml_Stmt *list[6];

        for (size_t k = 0; k < ML_COUNT(list); k++)
            list[k] = random_child(cx, &rng, b);
        const ml_Stmt *st = ml_seq(cx, list, ML_COUNT(list));

        while (st->kind == ML_STMT_SEQ) {
            const ml_Seq *seq = ml_as_seq(st);
            const ml_Stmt *to = rng_below(&rng, 2) ? random_child(cx, &rng, b) : NULL;

            st = ml_seq_with(cx, seq, rng_below(&rng, seq->n), to);
            if (st->kind != ML_STMT_SEQ)
                break;
            const ml_Stmt *want = ml_seq(cx, ml_as_seq(st)->stmts, ml_as_seq(st)->n);

            assert_int_equal(st->has_block, want->has_block);
            assert_int_equal(st->has_loop, want->has_loop);
            assert_int_equal(st->depth, want->depth);
            assert_int_equal(st->n_blocks, want->n_blocks);
        }
    }
}

static void nesting_past_the_limit_marks_the_context(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Stmt *s = ml_break(cx);

    for (int k = 1; k < 500; k++)
        s = ml_while(cx, ml_bool(cx, true), s);
    assert_int_equal(s->depth, 500);
    assert_false(ml_ctx_too_deep(cx));
    ml_while(cx, ml_bool(cx, true), s);
    assert_true(ml_ctx_too_deep(cx));
}

static void buffers_get_their_defaults_and_sizes(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Expr *big[] = {ml_int(cx, ML_DT_I64, INT64_MAX), ml_int(cx, ML_DT_I64, 4)};
    const ml_Expr *empty[] = {big[0], big[1], ml_int(cx, ML_DT_I64, 0)};
    const ml_Expr *free_n[] = {ml_var(cx, new_i32(cx, "n"))};
    const ml_Buffer *a = vector_of(cx, "A", 7), *s, *t;
    ml_Buffer fields = *a;

    assert_string_equal(a->scope.name, "global");
    assert_int_equal(a->align, 64);
    assert_int_equal(a->offset_factor, 1);
    assert_true(ml_is_int(a->elem_offset, 0));
    assert_int_equal(ml_buffer_const_size(a), 7);
    assert_int_equal(ml_buffer_const_size(ml_buffer_new(cx, "s", ML_DT_F32, NULL, 0, NULL)),
                     1);
    assert_int_equal(ml_buffer_const_size(ml_buffer_new(cx, "b", ML_DT_F32, big, 2, NULL)),
                     -1);
    assert_int_equal(
        ml_buffer_const_size(ml_buffer_new(cx, "e", ML_DT_F32, empty, 3, NULL)), 0);
    assert_int_equal(
        ml_buffer_const_size(ml_buffer_new(cx, "n", ML_DT_F32, free_n, 1, NULL)), -1);
    fields.scope = ml_scope("shared");
    s = ml_buffer_from(cx, &fields, true);
    t = ml_buffer_from(cx, &fields, false);
    assert_int_not_equal(s->uid, a->uid);
    assert_int_not_equal(s->data->uid, a->data->uid);
    assert_string_equal(s->data->scope, "shared");
    assert_ptr_equal(t->data, a->data);
    assert_int_not_equal(t->uid, a->uid);
}

static void modules_replace_by_name_or_append(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Func *f = two_stages(cx, 4), *g = two_stages(cx, 8);
    const ml_Module *m = ml_module_new(cx, &f, 1, NULL);
    ml_Func other = *g;

    other.name = "other";
    assert_ptr_equal(ml_module_with(cx, m, f), m);
    assert_ptr_equal(ml_module_with(cx, m, g)->funcs[0], g);
    m = ml_module_with(cx, m, ml_func_from(cx, &other));
    assert_int_equal(m->n, 2);
    assert_ptr_equal(ml_module_find(m, "main"), f);
    assert_null(ml_module_find(m, "absent"));
}

static void a_body_is_exchanged_in_every_kind_that_has_one(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Stmt *old = ml_break(cx), *body = ml_continue(cx);
    const ml_Var *v = ml_var_new(cx, "v", ML_DT_I32);
    const ml_Stmt *loop = ml_serial(cx, v, ml_i32(cx, 0), ml_i32(cx, 4), old);
    const ml_Stmt *again = ml_while(cx, ml_bool(cx, true), old);
    const ml_Block b = {
        .tag = 1, .name = "b", .predicate = ml_bool(cx, true), .init = old, .body = old};
    const ml_Attr a = {
        .key = "k", .node = ml_val_int(cx, 0), .value = ml_val_int(cx, 1), .body = old};
    const ml_Stmt *with[] = {loop, again, ml_block_from(cx, &b), ml_attr_from(cx, &a)};
    const ml_Stmt *without[] = {old, ml_if(cx, ml_bool(cx, true), old, NULL),
                                ml_seq(cx, (const ml_Stmt *[]){old, body}, 2)};

    for (size_t k = 0; k < ML_COUNT(with); k++) {
        const ml_Stmt *to = ml_stmt_with_body(cx, with[k], body);

        assert_ptr_equal(ml_stmt_body(with[k]), old);
        assert_ptr_equal(ml_stmt_body(to), body);
        assert_int_equal(to->kind, with[k]->kind);
        assert_true(ml_stmt_summary_holds(to));
    }
    for (size_t k = 0; k < ML_COUNT(without); k++)
        assert_null(ml_stmt_body(without[k]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(summaries_count_blocks_and_levels),
        T(blocks_below_an_init_do_not_count),
        T(lists_are_flat_and_without_noops),
        T(a_list_with_one_statement_replaced_has_the_right_summary),
        T(lists_changed_one_by_one_have_the_summary_of_a_new_list),
        T(nesting_past_the_limit_marks_the_context),
        T(buffers_get_their_defaults_and_sizes),
        T(modules_replace_by_name_or_append),
        T(a_body_is_exchanged_in_every_kind_that_has_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

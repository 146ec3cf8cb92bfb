/* Importing programs into another context: numbers kept, sharing kept, nothing folded. */
#include "core_test.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/index/index.h"
#include "program.h"

static void an_imported_module_outlives_its_context_and_is_equal(void **state)
{
    ml_Ctx *from = ml_ctx_new(0), *to = ml_ctx_new(0);
    const ml_Func *f = two_stages(from, 16);
    const ml_Module *m = ml_module_new(from, &f, 1, NULL), *copy;
    ml_Uid tag = ml_as_block(f->body)->tag;
    ml_Import *im = ml_import_begin(to);
    uint64_t hash = ml_hash_module(from, m, NULL);

    (void)state;
    copy = ml_import_module(im, m);
    assert_true(ml_equal_module(to, m, copy, NULL, NULL));
    assert_true(ml_ctx_next_uid(to) >= ml_ctx_next_uid(from) - 1);
    assert_true(ml_fresh_uid(to) > tag);
    ml_ctx_unref(from);
    assert_int_equal(ml_as_block(copy->funcs[0]->body)->tag, tag);
    assert_true(ml_hash_module(to, copy, NULL) == hash);
    ml_ctx_unref(to);
}

static void versions_share_what_they_shared(void **state)
{
    ml_Ctx *from = ml_ctx_new(0), *to = ml_ctx_new(0);
    const ml_Func *f = two_stages(from, 16);
    const ml_Stmt *loop = ml_as_seq(ml_as_block(f->body)->body)->stmts[0], *a, *b;
    ml_Import *im = ml_import_begin(to);

    (void)state;
    a = ml_import_stmt(im, f->body);
    b = ml_import_stmt(im, ml_stmt_replace(from, f->body, loop, ml_break(from)));
    assert_ptr_equal(ml_as_seq(ml_as_block(a)->body)->stmts[1],
                     ml_as_seq(ml_as_block(b)->body)->stmts[1]);
    assert_ptr_equal(ml_import_stmt(im, f->body), a);
    ml_ctx_unref(from);
    ml_ctx_unref(to);
}

static void nothing_is_folded_and_shared_nodes_cost_once(void **state)
{
    ml_Ctx *from = ml_ctx_new(0), *to = ml_ctx_new(0);
    const ml_Expr *three = ml_i32(from, 3), *e;
    const ml_Expr *raw = ml_raw_binary(from, ML_EXPR_ADD, three, three);
    ml_Import *im = ml_import_begin(to);
    uint32_t n;

    (void)state;
    e = ml_import_expr(im, raw);
    assert_int_equal(e->kind, ML_EXPR_ADD);
    e = ml_var(from, new_i32(from, "x"));
    for (int k = 0; k < 200; k++)
        e = ml_min(from, e, ml_add(from, e, ml_i32(from, k)));
    n = ml_ctx_n_exprs(to);
    ml_import_expr(im, e);
    assert_true(ml_ctx_n_exprs(to) - n <= 601);
    ml_ctx_unref(from);
    ml_ctx_unref(to);
}

static void constants_of_every_kind_are_copied(void **state)
{
    ml_Ctx *from = ml_ctx_new(0), *to = ml_ctx_new(0);
    const ml_Var *x = new_i32(from, "x");
    const ml_Buffer *b = vector_of(from, "B", 4);
    const ml_Expr *e = ml_add(from, ml_var(from, x), ml_i32(from, 1));
    const ml_IndexMap map = {.vars = &x, .exprs = &e, .n_vars = 1, .n_exprs = 1};
    const ml_Value *items[] = {
        ml_val_none(from),
        ml_val_bool(from, true),
        ml_val_int(from, 5),
        ml_val_float(from, 0.5),
        ml_val_expr(from, e),
        ml_val_buffer(from, b),
        ml_val_map(from, &map),
        ml_val_var(from, x),
        ml_val_string(from, ml_str("text")),
    };
    const ml_Value *list = ml_val_list(from, items, ML_COUNT(items));
    const ml_Value *dict = ml_dict_with(from, NULL, "k", list);
    const ml_Value *copy = ml_import_value(ml_import_begin(to), dict);
    const ml_Value *in = ml_dict_get(copy, "k");
    ml_Uid uid = x->uid;

    (void)state;
    ml_ctx_unref(from);
    assert_int_equal(in->n, ML_COUNT(items));
    assert_int_equal(in->as.list[2]->as.i, 5);
    assert_string_equal(in->as.list[8]->as.s, "text");
    assert_string_equal(in->as.list[5]->as.buffer->name, "B");
    assert_int_equal(in->as.list[7]->as.var->uid, uid);
    assert_ptr_equal(in->as.list[6]->as.map->vars[0], in->as.list[7]->as.var);
    assert_ptr_equal(in->as.list[6]->as.map->exprs[0], in->as.list[4]->as.expr);
    ml_ctx_unref(to);
}

/* The buffer that block `b` names as read and the one its body loads from. */
static void assert_one_buffer(const ml_Stmt *st)
{
    const ml_Block *b = ml_as_block(st);
    const ml_Expr *value = ml_as_store(b->body)->value;

    assert_int_equal(value->args[0]->kind, ML_EXPR_LOAD);
    assert_ptr_equal(value->args[0]->as.buffer, b->reads[0].buffer);
    assert_ptr_equal(b->reads[0].ranges[0].min->as.var, b->iters[0].var);
}

static void what_an_ancestor_made_is_not_copied(void **state)
{
    ml_Ctx *home = ml_ctx_new(0), *old = ml_ctx_fork(home), *to;
    const ml_Buffer *a = NULL, *b = NULL;

    (void)state;
    ml_ctx_unref(old);
    a = vector_of(home, "A", 8);
    b = vector_of(home, "B", 8);
    const ml_Stmt *first = add_one(home, "S", b, a, 8, ml_i32(home, 0));

    old = ml_ctx_fork(home);
    const ml_Stmt *next = add_one(old, "T", a, b, 8, ml_i32(old, 0));

    to = ml_ctx_fork(home);
    ml_Import *im = ml_import_begin(to);

    ml_import_keep_below(im, ml_ctx_next_uid(home));
    first = ml_import_stmt(im, first);
    next = ml_import_stmt(im, next);
    assert_one_buffer(first);
    assert_one_buffer(next);
    assert_ptr_equal(ml_as_block(first)->reads[0].buffer, a);
    ml_ctx_unref(old);
    ml_ctx_unref(to);
    ml_ctx_unref(home);
}

static void programs_brought_together_stay_apart(void **state)
{
    ml_Ctx *one = ml_ctx_new(0), *two = ml_ctx_new(0), *to = ml_ctx_new(0);
    const ml_Stmt *a, *b;

    (void)state;
    a = add_one(one, "S", vector_of(one, "B", 8), vector_of(one, "A", 8), 8,
                ml_i32(one, 0));
    b = add_one(two, "T", vector_of(two, "D", 4), vector_of(two, "C", 4), 4,
                ml_i32(two, 0));
    a = ml_import_stmt(ml_import_begin(to), a);
    b = ml_import_stmt(ml_import_begin_apart(to), b);
    assert_one_buffer(a);
    assert_one_buffer(b);
    assert_string_equal("C", ml_as_block(b)->reads[0].buffer->name);
    assert_int_not_equal(ml_as_block(a)->tag, ml_as_block(b)->tag);
    assert_true(ml_ctx_next_uid(to) > ml_as_block(b)->tag);
    ml_ctx_unref(one);
    ml_ctx_unref(two);
    ml_ctx_unref(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_imported_module_outlives_its_context_and_is_equal),
        cmocka_unit_test(versions_share_what_they_shared),
        cmocka_unit_test(nothing_is_folded_and_shared_nodes_cost_once),
        cmocka_unit_test(constants_of_every_kind_are_copied),
        cmocka_unit_test(what_an_ancestor_made_is_not_copied),
        cmocka_unit_test(programs_brought_together_stay_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Walking, substitution, fresh copies. */
#include "core_test.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/walk.h"
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

static void substitution_is_simultaneous(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Var *x = new_i32(cx, "x"), *y = new_i32(cx, "y");
    const ml_Expr *e = ml_sub(cx, ml_var(cx, x), ml_var(cx, y));
    ml_Subst s = {0};

    ml_subst_var(cx, &s, x, ml_var(cx, y));
    ml_subst_var(cx, &s, y, ml_var(cx, x));
    assert_ptr_equal(ml_expr_subst(cx, e, &s), ml_sub(cx, ml_var(cx, y), ml_var(cx, x)));
    assert_ptr_equal(ml_expr_subst1(cx, e, x, ml_i32(cx, 3)),
                     ml_sub(cx, ml_i32(cx, 3), ml_var(cx, y)));
    assert_ptr_equal(ml_expr_subst1(cx, e, new_i32(cx, "z"), ml_i32(cx, 3)), e);
}

static void substitution_in_a_shared_expression_is_linear(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Var *x = new_i32(cx, "x"), *y = new_i32(cx, "y");
    const ml_Expr *e = ml_var(cx, x), *want = ml_var(cx, y);
    ml_Subst s = {0};

    for (int k = 0; k < 200; k++) {
        e = ml_min(cx, e, ml_add(cx, e, ml_var(cx, x)));
        want = ml_min(cx, want, ml_add(cx, want, ml_var(cx, y)));
    }
    ml_subst_var(cx, &s, x, ml_var(cx, y));
    assert_ptr_equal(ml_expr_subst(cx, e, &s), want);
}

static void nothing_changed_gives_the_same_pointer(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Func *f = two_stages(cx, 16);
    ml_Subst s = {0};

    assert_ptr_equal(ml_stmt_subst(cx, f->body, &s), f->body);
    ml_subst_var(cx, &s, new_i32(cx, "z"), ml_i32(cx, 1));
    ml_subst_buffer(cx, &s, vector_of(cx, "D", 16), vector_of(cx, "E", 16));
    assert_ptr_equal(ml_stmt_subst(cx, f->body, &s), f->body);
}

static void a_buffer_is_replaced_at_all_its_uses(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Func *f = two_stages(cx, 16);
    const ml_Buffer *b = f->params[1].buffer, *to = vector_of(cx, "B2", 16);
    const ml_Seq *was = ml_as_seq(ml_as_block(f->body)->body), *seq;
    const ml_Expr *p = ml_var(cx, b->data);
    const ml_Stmt *call, *out;
    ml_Subst s = {0};

    ml_subst_buffer(cx, &s, b, to);
    out = ml_stmt_subst(cx, f->body, &s);
    assert_false(ml_stmt_uses_buffer(out, b));
    assert_true(ml_stmt_uses_buffer(out, to));
    seq = ml_as_seq(ml_as_block(out)->body);
    assert_ptr_equal(ml_as_block(ml_as_for(seq->stmts[0])->body)->writes[0].buffer, to);
    assert_ptr_equal(ml_as_block(ml_as_for(seq->stmts[1])->body)->reads[0].buffer, to);
    assert_ptr_not_equal(seq->stmts[0], was->stmts[0]);
    call = ml_evaluate(cx, ml_call_id(cx, ML_DT_I32, ML_OP_CALL_EXTERN, &p, 1));
    assert_true(ml_stmt_uses_buffer(call, b));
    assert_true(ml_stmt_uses_buffer(ml_stmt_subst(cx, call, &s), to));
}

static void an_allocation_that_is_mapped_is_replaced(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, 1),
                    *b = vector_of(cx, "B", 4);
    const ml_Span span = {"f", 3, 1, 3, 9, NULL};
    const ml_Block *out;
    ml_Buffer fields = *b;
    ml_Block block = {.tag = ml_fresh_uid(cx), .name = "x", .predicate = ml_bool(cx, true)};
    ml_Subst s = {0};

    allocs[0] = b;
    block.n_allocs = 1;
    block.allocs = allocs;
    block.base.span = &span;
    block.body = add_one_loop(cx, "i", b, b, 4);
    fields.scope = ml_scope("shared");
    ml_subst_buffer(cx, &s, b, ml_buffer_from(cx, &fields, true));
    out = ml_as_block(ml_stmt_subst(cx, ml_block_from(cx, &block), &s));
    assert_string_equal(out->allocs[0]->scope.name, "shared");
    assert_ptr_equal(out->base.span, &span);
    assert_int_equal(out->tag, block.tag);
}

static const ml_Stmt *drop_loops(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = drop_loops, .user = user};

    return s->kind == ML_STMT_FOR ? NULL : ml_stmt_map(cx, s, &m);
}

static void dropping_children_leaves_legal_statements(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Stmt *loop =
        add_one_loop(cx, "i", vector_of(cx, "A", 4), vector_of(cx, "B", 4), 4);
    const ml_Stmt *two[] = {loop, ml_break(cx)}, *out;

    assert_true(
        ml_is_noop(ml_as_block(drop_loops(cx, two_stages(cx, 4)->body, NULL))->body));
    assert_ptr_equal(drop_loops(cx, ml_seq(cx, two, 2), NULL), two[1]);
    out = drop_loops(cx, ml_if(cx, ml_bool(cx, true), loop, loop), NULL);
    assert_true(ml_is_noop(ml_as_if(out)->then));
    assert_null(ml_as_if(out)->other);
}

static void count_roles(const ml_Expr *e, ml_Role role, void *user)
{
    (void)e;
    ((int *)user)[role]++;
}

static void the_expressions_of_a_block_are_all_listed(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Var *i = new_i32(cx, "i");
    const ml_Stmt *b =
        add_one(cx, "B", vector_of(cx, "A", 4), vector_of(cx, "C", 4), 4, ml_var(cx, i));
    int n[ML_ROLE_ATTR + 1] = {0};

    ml_stmt_exprs(b, count_roles, n);
    assert_int_equal(n[ML_ROLE_DOMAIN], 2);
    assert_int_equal(n[ML_ROLE_BINDING], 1);
    assert_int_equal(n[ML_ROLE_COND], 1);
    assert_int_equal(n[ML_ROLE_REGION], 4);
    assert_true(ml_stmt_uses_var(b, i));
    assert_false(ml_stmt_uses_var(b, new_i32(cx, "i")));
}

/* Every identity defined in st, into a set; false when one occurs in `not_in`. */
typedef struct Defs {
    ml_Ctx *cx;
    ml_Map *set;
    const ml_Map *not_in;
    bool clash;
} Defs;

static void add_def(Defs *d, ml_Uid uid)
{
    d->clash |= d->not_in && ml_map_has(d->not_in, uid);
    ml_map_set(d->cx, d->set, uid, d);
}

static bool add_defs(const ml_Stmt *s, void *user)
{
    Defs *d = user;

    if (s->kind == ML_STMT_BIND)
        add_def(d, ml_as_bind(s)->var->uid);
    if (ml_stmt_uid(s))
        add_def(d, ml_stmt_uid(s));
    if (s->kind != ML_STMT_BLOCK)
        return true;
    for (size_t k = 0; k < ml_as_block(s)->n_iters; k++)
        add_def(d, ml_as_block(s)->iters[k].var->uid);
    for (size_t k = 0; k < ml_as_block(s)->n_allocs; k++) {
        add_def(d, ml_as_block(s)->allocs[k]->uid);
        add_def(d, ml_as_block(s)->allocs[k]->data->uid);
    }
    return true;
}

static void a_fresh_copy_shares_no_identity_and_is_equal(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Buffer *out = vector_of(cx, "out", 8),
                    **allocs = ML_ARRAY(cx, const ml_Buffer *, 1);
    const ml_Var *t = new_i32(cx, "t"), *u = new_i32(cx, "u"), *i = new_i32(cx, "i");
    const ml_Expr *shape[] = {ml_add(cx, ml_var(cx, i), ml_i32(cx, 1))};
    const ml_Expr *let =
        ml_let(cx, u, ml_var(cx, t), ml_add(cx, ml_var(cx, u), ml_i32(cx, 1)));
    const ml_Buffer *inner = ml_buffer_new(cx, "inner", ML_DT_F32, shape, 1, "local");
    const ml_Stmt *parts[] = {ml_bind(cx, t, ml_var(cx, i)), ml_evaluate(cx, let),
                              add_one_loop(cx, "j", inner, out, 8)};
    ml_Block block = {.tag = ml_fresh_uid(cx), .name = "x", .predicate = ml_bool(cx, true)};
    ml_Map *renamed = ml_map_new(cx);
    const ml_Stmt *st, *copy;
    const ml_Buffer *made;
    Defs a = {.cx = cx, .set = ml_map_new(cx)}, b = {.cx = cx, .set = ml_map_new(cx)};

    allocs[0] = inner;
    block.n_allocs = 1;
    block.allocs = allocs;
    block.body = ml_seq(cx, parts, 3);
    st = ml_serial(cx, i, ml_i32(cx, 0), ml_i32(cx, 8), ml_block_from(cx, &block));
    copy = ml_stmt_copy_fresh(cx, st, renamed);
    ml_stmt_visit(st, add_defs, &a);
    b.not_in = a.set;
    ml_stmt_visit(copy, add_defs, &b);
    assert_false(b.clash);
    assert_int_equal(ml_map_count(a.set), ml_map_count(b.set));
    assert_true(ml_equal_stmt(cx, st, copy, NULL, NULL));
    assert_false(ml_stmt_uses_var(copy, i) || ml_stmt_uses_var(copy, t));
    assert_false(ml_stmt_uses_var(copy, u) || ml_stmt_uses_buffer(copy, inner));
    assert_true(ml_stmt_uses_buffer(copy, out));
    made = ml_map_get(renamed, inner->uid);
    assert_ptr_equal(ml_as_block(ml_as_for(copy)->body)->allocs[0], made);
    assert_ptr_equal(ml_map_get(renamed, i->uid), ml_as_for(copy)->var);
    assert_true(ml_expr_uses_var(made->shape[0], ml_as_for(copy)->var));
    assert_int_equal((uintptr_t)ml_map_get(renamed, block.tag),
                     ml_as_block(ml_as_for(copy)->body)->tag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(substitution_is_simultaneous),
        T(substitution_in_a_shared_expression_is_linear),
        T(nothing_changed_gives_the_same_pointer),
        T(a_buffer_is_replaced_at_all_its_uses),
        T(an_allocation_that_is_mapped_is_replaced),
        T(dropping_children_leaves_legal_statements),
        T(the_expressions_of_a_block_are_all_listed),
        T(a_fresh_copy_shares_no_identity_and_is_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Well-formedness: the table of ir-and-analysis 1.8, and programs that are all right. */
#include "verify/verify_test.h"

#include "../core/program.h"
#include "../core/script/random_ir.h"

/* for i: with block("b"): v = S(8, i); B[index] = A[v], under a root block. */
typedef struct Simple {
    ml_Ctx *cx;
    const ml_Var *i, *v;
    const ml_Buffer *A, *B;
    ml_Block b;
    ml_Iter iters[3];
    ml_Findings found;
} Simple;

static Simple *simple(void)
{
    ml_Ctx *cx = ml_ctx_new(0);
    Simple *s = ML_NEW(cx, Simple);

    s->cx = cx;
    s->i = new_i32(cx, "i");
    s->v = new_i32(cx, "vi");
    s->A = vector_of(cx, "A", 8);
    s->B = vector_of(cx, "B", 8);
    s->iters[0] = (ml_Iter){.var = s->v,
                            .min = ml_i32(cx, 0),
                            .extent = ml_i32(cx, 8),
                            .value = ml_var(cx, s->i)};
    s->b = (ml_Block){.tag = ml_fresh_uid(cx),
                      .name = "b",
                      .predicate = ml_bool(cx, true),
                      .n_iters = 1,
                      .iters = s->iters};
    return s;
}

static const ml_Stmt *copy_at(Simple *s, const ml_Expr *to, const ml_Expr *from)
{
    return ml_store(s->cx, s->B, ml_load(s->cx, s->A, &from, 1), &to, 1, NULL);
}

static const ml_Stmt *loop_over(Simple *s, const ml_Var *i, const ml_Stmt *body)
{
    return ml_serial(s->cx, i, ml_i32(s->cx, 0), ml_i32(s->cx, 8), body);
}

/* Whether the function with this body under a root block is well-formed. */
static bool judge(Simple *s, const ml_Stmt *body)
{
    const ml_Buffer *bufs[] = {s->A, s->B};
    const ml_Func *f = func_of(s->cx, "main", bufs, 2, body);

    s->found.n = 0;
    ml_error_clear(s->cx);
    return ml_verify_well_formed(s->cx, ml_module_new(s->cx, &f, 1, NULL), &s->found);
}

static const ml_Error *rejected(Simple *s, const ml_Stmt *body, const char *code)
{
    assert_false(judge(s, body));
    assert_non_null(ml_error(s->cx));
    assert_string_equal(ml_error_code(ml_error(s->cx)->code), code);
    return only(&s->found, ML_SEV_ERROR, code);
}

static void w1_a_block_over_its_loop_is_accepted(void **state)
{
    Simple *s = simple();
    const ml_Expr *v = ml_var(s->cx, s->v);

    (void)state;
    s->b.body = copy_at(s, v, v);
    assert_true(judge(s, loop_over(s, s->i, ml_block_from(s->cx, &s->b))));
    assert_int_equal(s->found.n, 0);
    assert_null(ml_error(s->cx));
    ml_ctx_unref(s->cx);
}

static void w2_a_loop_variable_inside_a_block_is_rejected(void **state)
{
    Simple *s = simple();
    const ml_Error *e;

    (void)state;
    s->b.body = copy_at(s, ml_var(s->cx, s->i), ml_var(s->cx, s->v));
    e = rejected(s, loop_over(s, s->i, ml_block_from(s->cx, &s->b)),
                 "loop-variable-in-block");
    assert_int_equal(e->facts[0].as.uid, s->b.tag);
    assert_ptr_equal(e->facts[1].as.var, s->i);
    assert_non_null(strstr(e->notes[0], "block b"));
    ml_ctx_unref(s->cx);
}

static void a_loop_variable_in_a_region_is_rejected(void **state)
{
    Simple *s = simple();
    const ml_Expr *v = ml_var(s->cx, s->v);

    (void)state;
    s->b.body = copy_at(s, v, v);
    s->b.reads = point_region(s->cx, s->A, ml_var(s->cx, s->i));
    s->b.n_reads = 1;
    rejected(s, loop_over(s, s->i, ml_block_from(s->cx, &s->b)), "loop-variable-in-block");
    ml_ctx_unref(s->cx);
}

static void w3_an_opaque_block_may_use_loop_variables(void **state)
{
    Simple *s = simple();
    const ml_Expr *i = ml_var(s->cx, s->i);

    (void)state;
    s->b.n_iters = 0;
    s->b.body = copy_at(s, i, i);
    assert_true(judge(s, loop_over(s, s->i, ml_block_from(s->cx, &s->b))));
    ml_ctx_unref(s->cx);
}

static void w4_an_inner_block_may_use_outer_iters(void **state)
{
    Simple *s = simple();
    const ml_Var *w = new_i32(s->cx, "w"), *j = new_i32(s->cx, "j");
    const ml_Expr *at = ml_add(s->cx, ml_var(s->cx, s->v), ml_var(s->cx, w));
    ml_Block inner = s->b;
    ml_Iter it = s->iters[0];

    (void)state;
    it.var = w;
    it.value = ml_var(s->cx, j);
    inner.tag = ml_fresh_uid(s->cx);
    inner.iters = &it;
    inner.body = copy_at(s, at, at);
    s->b.body = loop_over(s, j, ml_block_from(s->cx, &inner));
    assert_true(judge(s, loop_over(s, s->i, ml_block_from(s->cx, &s->b))));
    ml_ctx_unref(s->cx);
}

static void w5_two_loops_of_one_variable_are_rejected(void **state)
{
    Simple *s = simple();
    const ml_Expr *i = ml_var(s->cx, s->i);
    const ml_Stmt *two[] = {loop_over(s, s->i, copy_at(s, i, i)),
                            loop_over(s, s->i, copy_at(s, i, i))};
    const ml_Error *e;

    (void)state;
    e = rejected(s, ml_seq(s->cx, two, 2), "multiple-definition");
    assert_ptr_equal(e->facts[0].as.var, s->i);
    rejected(s, loop_over(s, s->i, two[0]), "multiple-definition");
    ml_ctx_unref(s->cx);
}

static void w6_w7_a_bound_of_another_type_is_converted_when_it_fits(void **state)
{
    Simple *s = simple();
    const ml_Expr *i = ml_var(s->cx, s->i), *zero = ml_i32(s->cx, 0);
    const ml_Stmt *body = copy_at(s, zero, zero), *loop;

    (void)state;
    loop = ml_serial(s->cx, s->i, zero, ml_int(s->cx, ML_DT_I64, 3000000000), body);
    rejected(s, loop, "ill-typed");
    loop = ml_serial(s->cx, s->i, zero, ml_int(s->cx, ML_DT_I64, 16), copy_at(s, i, i));
    assert_true(judge(s, loop));
    assert_true(ml_dtype_eq(ml_as_for(loop)->extent->type, ML_DT_I32));
    ml_ctx_unref(s->cx);
}

static void w8_only_the_last_index_may_be_a_vector(void **state)
{
    Simple *s = simple();
    const ml_Expr *shape[] = {ml_i32(s->cx, 8), ml_i32(s->cx, 8)};
    const ml_Expr *ramp = ml_ramp(s->cx, ml_i32(s->cx, 0), ml_i32(s->cx, 1), 4);
    const ml_Expr *j = ml_var(s->cx, s->i);
    const ml_Expr *bad[] = {ramp, j}, *good[] = {j, ramp};
    const ml_Expr *one = ml_float(s->cx, ML_DT_F32, 1), *four = ml_broadcast(s->cx, one, 4);

    (void)state;
    s->B = ml_buffer_new(s->cx, "B", ML_DT_F32, shape, 2, NULL);
    assert_false(judge(s, loop_over(s, s->i, ml_store(s->cx, s->B, one, bad, 2, NULL))));
    assert_true(has_code(&s->found, ML_SEV_ERROR, "ill-typed"));
    assert_true(judge(s, loop_over(s, s->i, ml_store(s->cx, s->B, four, good, 2, NULL))));
    ml_ctx_unref(s->cx);
}

static void w9_a_binding_must_not_be_missing(void **state)
{
    Simple *s = simple();
    const ml_Expr *v = ml_var(s->cx, s->v);
    const ml_Error *e;

    (void)state;
    s->iters[1] = s->iters[2] = s->iters[0];
    s->iters[1].var = new_i32(s->cx, "vj");
    s->iters[2].var = new_i32(s->cx, "vk");
    s->iters[2].value = NULL;
    s->b.n_iters = 3;
    s->b.body = copy_at(s, v, v);
    e = rejected(s, loop_over(s, s->i, ml_block_from(s->cx, &s->b)), "ill-typed");
    assert_string_equal(fact_text(e, 0), "block b has 2 bindings for 3 iters");
    ml_ctx_unref(s->cx);
}

/* with block("m"): match M(4, 8) to A3[lead, rows, 0:8] */
static bool judge_match(int64_t lead, int64_t rows, const char *why)
{
    Simple *s = simple();
    const ml_Expr *big[] = {ml_i32(s->cx, 8), ml_i32(s->cx, 16), ml_i32(s->cx, 8)};
    const ml_Expr *small[] = {ml_i32(s->cx, 4), ml_i32(s->cx, 8)}, *v = ml_var(s->cx, s->v);
    const ml_Expr *zero[] = {ml_i32(s->cx, 0), ml_i32(s->cx, 0)};
    ml_Range r[] = {{ml_i32(s->cx, 3), ml_i32(s->cx, lead)},
                    {v, ml_i32(s->cx, rows)},
                    {ml_i32(s->cx, 0), ml_i32(s->cx, 8)}};
    bool ok;

    s->A = ml_buffer_new(s->cx, "A", ML_DT_F32, big, 3, NULL);
    ml_Match m = {ml_buffer_new(s->cx, "M", ML_DT_F32, small, 2, NULL), {s->A, r}};

    s->b.n_matches = 1;
    s->b.matches = &m;
    s->b.body = ml_store(s->cx, s->B, ml_load(s->cx, m.target, zero, 2), &v, 1, NULL);
    ok = judge(s, loop_over(s, s->i, ml_block_from(s->cx, &s->b)));
    if (why)
        assert_non_null(
            strstr(only(&s->found, ML_SEV_ERROR, "bad-match")->facts[1].as.text, why));
    ml_ctx_unref(s->cx);
    return ok;
}

static void w10_a_view_must_fit_its_source(void **state)
{
    (void)state;
    assert_true(judge_match(1, 4, NULL));
    assert_false(judge_match(2, 4, "the leading extent 2"));
    assert_false(judge_match(1, 3, "dimension 0 is 4"));
}

static void w11_a_buffer_is_used_only_in_its_scope(void **state)
{
    Simple *s = simple();
    const ml_Buffer *T = vector_of(s->cx, "T", 8);
    const ml_Expr *zero = ml_i32(s->cx, 0);
    const ml_Expr *one = ml_float(s->cx, ML_DT_F32, 1);
    const ml_Stmt *two[2];
    const ml_Error *e;

    (void)state;
    s->b.n_iters = 0;
    s->b.n_allocs = 1;
    s->b.allocs = &T;
    s->b.body = ml_store(s->cx, T, one, &zero, 1, NULL);
    two[0] = ml_block_from(s->cx, &s->b);
    two[1] = ml_store(s->cx, s->B, ml_load(s->cx, T, &zero, 1), &zero, 1, NULL);
    e = rejected(s, ml_seq(s->cx, two, 2), "undefined-buffer");
    assert_ptr_equal(e->facts[0].as.buffer, T);
    assert_string_equal(fact_text(e, 1), "its declaration is no longer in scope");
    e = rejected(s, two[1], "undefined-buffer");
    assert_string_equal(fact_text(e, 1), "nothing around declares it");
    ml_ctx_unref(s->cx);
}

static void w12_a_predicate_is_a_bool(void **state)
{
    Simple *s = simple();
    const ml_Expr *v = ml_var(s->cx, s->v);

    (void)state;
    s->b.predicate = ml_i32(s->cx, 1);
    s->b.body = copy_at(s, v, v);
    rejected(s, loop_over(s, s->i, ml_block_from(s->cx, &s->b)), "ill-typed");
    ml_ctx_unref(s->cx);
}

static void a_use_after_the_end_of_a_scope_says_so(void **state)
{
    Simple *s = simple();
    const ml_Expr *i = ml_var(s->cx, s->i);
    const ml_Stmt *two[] = {loop_over(s, s->i, copy_at(s, i, i)), copy_at(s, i, i)};
    const ml_Error *e;

    (void)state;
    e = rejected(s, ml_seq(s->cx, two, 2), "undefined-variable");
    assert_string_equal(fact_text(e, 1), "after its scope ended");
    e = rejected(s, two[1], "undefined-variable");
    assert_string_equal(fact_text(e, 1), "but never defined");
    ml_ctx_unref(s->cx);
}

static void an_init_without_reduce_iters_is_a_warning(void **state)
{
    Simple *s = simple();
    const ml_Expr *v = ml_var(s->cx, s->v);

    (void)state;
    s->b.body = s->b.init = copy_at(s, v, v);
    assert_true(judge(s, loop_over(s, s->i, ml_block_from(s->cx, &s->b))));
    only(&s->found, ML_SEV_WARNING, "init-without-reduce");
    ml_ctx_unref(s->cx);
}

static const ml_Stmt *launch(Simple *s, const ml_Var *v, const ml_Stmt *body)
{
    return ml_attr_from(s->cx, &(ml_Attr){.node = ml_val_var(s->cx, v),
                                          .key = "thread_extent",
                                          .value = ml_val_int(s->cx, 8),
                                          .thread = ml_thread("threadIdx.x"),
                                          .body = body});
}

static void one_variable_per_environment_thread(void **state)
{
    Simple *s = simple();
    const ml_Var *t = new_i32(s->cx, "t"), *u = new_i32(s->cx, "u");
    const ml_Expr *at = ml_var(s->cx, t), *bu = ml_var(s->cx, u);
    const ml_Stmt *two[] = {launch(s, t, copy_at(s, at, at)),
                            launch(s, t, copy_at(s, at, at))};

    (void)state;
    assert_true(judge(s, ml_seq(s->cx, two, 2)));
    two[1] = launch(s, u, copy_at(s, bu, bu));
    rejected(s, ml_seq(s->cx, two, 2), "thread-variable");
    ml_ctx_unref(s->cx);
}

static void a_lost_root_block_is_reported(void **state)
{
    Simple *s = simple();
    const ml_Expr *v = ml_var(s->cx, s->v);
    const ml_FuncParam params[] = {{ml_var_new(s->cx, "A", ML_DT_HANDLE), s->A},
                                   {ml_var_new(s->cx, "B", ML_DT_HANDLE), s->B}};
    ml_Func f = {.name = "main", .n_params = 2, .params = params, .ret = ML_DT_VOID};
    const ml_Func *func;

    (void)state;
    s->b.body = copy_at(s, v, v);
    f.body = loop_over(s, s->i, ml_block_from(s->cx, &s->b));
    func = ml_func_from(s->cx, &f);
    assert_false(
        ml_verify_well_formed(s->cx, ml_module_new(s->cx, &func, 1, NULL), &s->found));
    only(&s->found, ML_SEV_ERROR, "ill-formed");
    ml_ctx_unref(s->cx);
}

static void random_programs_are_accepted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        ml_Ctx *cx = ml_ctx_new(0);
        const ml_Func *f = random_func(
            cx, &(RandomIr){.seed = seed, .size = 25, .no_blocks = seed % 4 == 3});
        ml_Findings found = {0};

        if (!ml_verify_well_formed(cx, ml_module_new(cx, &f, 1, NULL), &found)) {
            print_message("seed %llu\n", (unsigned long long)seed);
            print_finding(&found.v[0]);
            fail();
        }
        ml_ctx_unref(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(w1_a_block_over_its_loop_is_accepted),
        cmocka_unit_test(w2_a_loop_variable_inside_a_block_is_rejected),
        cmocka_unit_test(a_loop_variable_in_a_region_is_rejected),
        cmocka_unit_test(w3_an_opaque_block_may_use_loop_variables),
        cmocka_unit_test(w4_an_inner_block_may_use_outer_iters),
        cmocka_unit_test(w5_two_loops_of_one_variable_are_rejected),
        cmocka_unit_test(w6_w7_a_bound_of_another_type_is_converted_when_it_fits),
        cmocka_unit_test(w8_only_the_last_index_may_be_a_vector),
        cmocka_unit_test(w9_a_binding_must_not_be_missing),
        cmocka_unit_test(w10_a_view_must_fit_its_source),
        cmocka_unit_test(w11_a_buffer_is_used_only_in_its_scope),
        cmocka_unit_test(w12_a_predicate_is_a_bool),
        cmocka_unit_test(a_use_after_the_end_of_a_scope_says_so),
        cmocka_unit_test(an_init_without_reduce_iters_is_a_warning),
        cmocka_unit_test(one_variable_per_environment_thread),
        cmocka_unit_test(a_lost_root_block_is_reported),
        cmocka_unit_test(random_programs_are_accepted),
    };

    return cmocka_run_group_tests_name("verify well_formed", tests, NULL, NULL);
}

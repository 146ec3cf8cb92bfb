/*
 * test_flat - flatten_buffers, make_body and the signature: what each gives, and what each
 * refuses.
 */
#include "lowering.h"

/* ---------------------------------------------------------------- flatten_buffers */

static void an_access_has_one_index_over_a_flat_alias(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4, 8, 16), \"int32\"), B: T.Buffer((16,), \"int32\")):\n"
                     "    for i, j, k in T.grid(4, 8, 16):\n"
                     "        A[i, j, k] = B[k]\n",
                "flatten_buffers",
                "    A_1 = T.decl_buffer((512,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((16,), \"int32\", data=B.data)\n"
                "    for i, j, k in T.grid(4, 8, 16):\n"
                "        A_1[i * 128 + j * 16 + k] = B_1[k]");
}

static void strides_of_an_allocation_are_in_the_index_and_the_size(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4,), \"int32\")):\n"
                     "    t = T.alloc_buffer((3, 8, 40), \"int32\")\n"
                     "    for v, i, j in T.grid(3, 8, 40):\n"
                     "        with T.block(\"w\"):\n"
                     "            a, b, c = T.axis.remap(\"SSS\", [v, i, j])\n"
                     "            T.block_attr({\"buffer_dim_align\": [[0, 1, 32, 16]]})\n"
                     "            t[a, b, c] = a\n"
                     "    for i in range(4):\n"
                     "        with T.block(\"r\"):\n"
                     "            a = T.axis.spatial(4, i)\n"
                     "            A[a] = t[a % 3, a, a]\n",
                "flatten_buffers",
                "    A_1 = T.decl_buffer((4,), \"int32\", data=A.data)\n"
                "    t = T.decl_buffer((1152,), \"int32\")\n" /* 3 * 8 * 48 */
                "    for v, i, j in T.grid(3, 8, 40):\n"
                "        t[v * 384 + i * 48 + j] = v\n"
                "    for i in range(4):\n"
                "        A_1[i] = t[i % 3 * 384 + i * 49]");
}

static void a_fused_pair_of_division_and_remainder_recombines(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4, 8), \"int32\")):\n"
                     "    for f in range(32):\n"
                     "        A[f // 8, f % 8] = 1\n",
                "flatten_buffers",
                "    A_1 = T.decl_buffer((32,), \"int32\", data=A.data)\n"
                "    for f in range(32):\n"
                "        A_1[f] = 1");
}

static void indices_are_widened_only_where_int32_may_not_count_the_elements(void **state)
{
    Fix *x = *state;

    expect_body(
        x,
        HEAD "A: T.Buffer((65536, 65536), \"int8\"), B: T.Buffer((64, 64), "
             "\"int8\")):\n"
             "    for i, j in T.grid(64, 64):\n"
             "        A[i * 1000, j] = B[i, j]\n",
        "flatten_buffers",
        "    A_1 = T.decl_buffer((T.int64(4294967296),), \"int8\", data=A.data)\n"
        "    B_1 = T.decl_buffer((4096,), \"int8\", data=B.data)\n"
        "    for i, j in T.grid(64, 64):\n"
        "        A_1[T.Cast(\"int64\", i) * T.int64(65536000) + T.Cast(\"int64\", j)] "
        "= B_1[i * 64 + j]");
}

static void symbolic_sizes_may_be_large(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "a: T.handle, b: T.handle):\n"
                     "    n = T.int32()\n"
                     "    A = T.match_buffer(a, (n, 4), \"int32\")\n"
                     "    B = T.match_buffer(b, (n,), \"int32\")\n"
                     "    for i in range(n):\n"
                     "        A[i, 1] = B[i]\n",
                "flatten_buffers",
                "    n = T.int32()\n"
                "    A = T.match_buffer(a, (n, 4), \"int32\")\n"
                "    B = T.match_buffer(b, (n,), \"int32\")\n"
                "    A_1 = T.decl_buffer((T.Cast(\"int64\", n) * T.int64(4),), \"int32\", "
                "data=A.data)\n"
                "    B_1 = T.decl_buffer((n,), \"int32\", data=B.data)\n"
                "    for i in range(n):\n"
                "        A_1[T.Cast(\"int64\", i) * T.int64(4) + T.int64(1)] = B_1[i]");
}

/* The data pointer that a body gets means element 0 of the view: its offset is in it. */
static void strides_of_a_parameter_count_and_its_offset_does_not(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "a: T.handle, B: T.Buffer((8,), \"int32\")):\n"
                     "    s = T.int32()\n"
                     "    A = T.match_buffer(a, (4, 8), \"int32\", strides=[s, 2], "
                     "elem_offset=16)\n"
                     "    for i in range(8):\n"
                     "        B[i] = A[3, i]\n",
                "flatten_buffers",
                "    A = T.match_buffer(a, (4, 8), \"int32\", strides=(\"s\", 2), "
                "elem_offset=16)\n"
                "    A_1 = T.decl_buffer((T.Cast(\"int64\", A.strides[0]) * T.int64(3) + "
                "T.int64(15),), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((8,), \"int32\", data=B.data)\n"
                "    for i in range(8):\n"
                "        B_1[i] = A_1[T.Cast(\"int64\", A.strides[0]) * T.int64(3) + "
                "T.Cast(\"int64\", i) * T.int64(2)]");
}

static void vectors_keep_their_form(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4, 64), \"int32\"), B: T.Buffer((64,), \"int32\")):\n"
                     "    for i in range(4):\n"
                     "        A[i, 0:8] = B[i:i + 8]\n"
                     "        A[i, 8:24:2] = T.Broadcast(B[3], 8)\n",
                "flatten_buffers",
                "    A_1 = T.decl_buffer((256,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    for i in range(4):\n"
                "        A_1[i * 64:i * 64 + 8] = B_1[i:i + 8]\n"
                "        A_1[i * 64 + 8:i * 64 + 8 + 16:2] = T.Broadcast(B_1[3], 8)");
}

static void masks_stay_on_flat_accesses(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4, 64), \"int32\"), m: T.bool):\n"
                     "    A.vstore([1, T.Ramp(0, 1, 4)], A.vload([2, T.Ramp(0, 1, 4)], "
                     "predicate=T.Broadcast(m, 4)), predicate=T.Broadcast(m, 4))\n",
                "flatten_buffers",
                "    A_1 = T.decl_buffer((256,), \"int32\", data=A.data)\n"
                "    A_1.vstore([T.Ramp(64, 1, 4)], A_1.vload([T.Ramp(128, 1, 4)], "
                "predicate=T.Broadcast(m, 4)), predicate=T.Broadcast(m, 4))");
}

static void a_scalar_has_one_element(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((), \"int32\"), B: T.Buffer((2,), \"int32\")):\n"
                     "    A[()] = B[1]\n",
                "flatten_buffers",
                "    A_1 = T.decl_buffer((1,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((2,), \"int32\", data=B.data)\n"
                "    A_1[0] = B_1[1]");
}

static void buffers_over_known_pointers_are_declared(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((16,), \"int32\"), p: T.handle(\"int32\", \"global\")):\n"
                     "    V = T.decl_buffer((4, 4), \"int32\", data=A.data)\n"
                     "    W = T.Buffer((2, 8), \"int32\", data=p)\n"
                     "    W[1, 2] = V[2, 3]\n",
                "flatten_buffers",
                "    V = T.decl_buffer((16,), \"int32\", data=A.data)\n"
                "    W = T.decl_buffer((16,), \"int32\", data=p)\n"
                "    W[10] = V[11]");
}

static void the_offset_of_an_alias_is_in_its_indices(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD
                "A: T.Buffer((16,), \"int32\")):\n"
                "    V = T.decl_buffer((2, 4), \"int32\", data=A.data, elem_offset=8)\n"
                "    V[1, 2] = 7\n",
                "flatten_buffers",
                "    V = T.decl_buffer((16,), \"int32\", data=A.data)\n"
                "    V[14] = 7");
}

static void the_pointer_of_a_parameter_with_an_offset_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           HEAD "a: T.handle):\n"
                                "    A = T.match_buffer(a, (4, 8), \"int32\", "
                                "elem_offset=16)\n"
                                "    T.call_extern(\"int32\", \"f\", A.data)\n",
                           "flatten_buffers", "has an element offset");
}

static void a_block_that_is_left_is_refused(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = parse(x, HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                     "    for i in range(8):\n"
                                     "        with T.block(\"b\"):\n"
                                     "            vi = T.axis.spatial(8, i)\n"
                                     "            A[vi] = 1\n");

    assert_null(ml_pass_flatten_buffers(&lo, f));
    expect_error(x, "flatten_buffers", "block root is still there");
}

static void a_buffer_larger_than_int64_counts_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           HEAD
                           "a: T.handle):\n"
                           "    A = T.match_buffer(a, (T.int64(4), T.int64(8)), \"int32\", "
                           "strides=[T.int64(4611686018427387904), T.int64(1)])\n"
                           "    A[T.int64(3), T.int64(0)] = 1\n",
                           "flatten_buffers", "does not fit int64");
}

/* ---------------------------------------------------------------- make_body, signature */

static const char sized[] =
    HEAD "a: T.handle, b: T.handle, m: T.int32):\n"
         "    n = T.int32()\n"
         "    k = T.int32()\n"
         "    s = T.int32()\n"
         "    A = T.match_buffer(a, (n, m), \"int32\")\n"
         "    B = T.match_buffer(b, (k, n), \"int32\", strides=[s, 1])\n"
         "    for i, j in T.grid(n, m):\n"
         "        A[i, j] = B[0, i] + k\n";

static void sizes_follow_the_parameters_in_order_of_occurrence(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = parse(x, sized), *g = lowered(x, &lo, f, NULL);
    static const char *const names[] = {"A", "B", "m", "n", "k", "s"};
    ml_Signature sig;

    assert_true(ml_signature_of(x->cx, f, &sig));
    assert_ptr_equal(sig.func, f);
    assert_int_equal(sig.n_sizes, 3);
    assert_int_equal(g->n_params, 6);
    for (size_t k = 0; k < 6; k++) {
        assert_null(g->params[k].buffer);
        assert_string_equal(g->params[k].var->hint, names[k]);
    }
    assert_ptr_equal(g->params[0].var, f->params[0].buffer->data);
    assert_ptr_equal(g->params[2].var, f->params[2].var);
    for (size_t k = 0; k < 3; k++)
        assert_ptr_equal(g->params[3 + k].var, sig.sizes[k]);
}

static void a_body_runs_on_pointers_and_sizes(void **state)
{
    Fix *x = *state;
    const ml_Module *m = parse_module(x, sized);
    static const int64_t sizes[] = {6, 6, 6}; /* n, k, s: make_args gives shapes of 6 */

    make_args(x, m->funcs[0]);
    x->args[2].i = 6;
    assert_true(expect_same_at_every_stage(x, m, m->funcs[0], sizes) >= 2);
}

static void a_size_in_compound_expressions_only_is_refused(void **state)
{
    Fix *x = *state;
    const ml_Var *n = IVAR("n");
    const ml_Buffer *a = BUF("A", ML_DT_I32, MUL(X(n), I(2)));
    const ml_Func *f = FUNC(ST(a, I(1), I(0)), a);
    ml_Signature sig;

    assert_false(ml_signature_of(x->cx, f, &sig));
    expect_error(x, "signature", "size n of function main occurs only inside compound");
    ml_error_clear(x->cx);
    f = parse(x, HEAD "a: T.handle, n: T.int32):\n"
                      "    A = T.match_buffer(a, (n * 2, 4), \"int32\")\n"
                      "    A[0, 0] = 1\n");
    assert_true(ml_signature_of(x->cx, f, &sig));
    assert_int_equal(sig.n_sizes, 0);
}

static void a_parameter_used_as_a_handle_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           HEAD "a: T.handle):\n"
                                "    A = T.match_buffer(a, (4,), \"int32\")\n"
                                "    A[0] = 1\n"
                                "    T.call_extern(\"int32\", \"f\", a)\n",
                           "make_body", "parameter a is used as a handle");
}

static void attributes_and_statements_of_the_function_stay(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *g =
        lowered(x, &lo,
                parse(x, HEAD "A: T.Buffer((4,), \"int32\"), n: T.int32) -> T.int32:\n"
                              "    T.func_attr({\"global_symbol\": \"main\"})\n"
                              "    assert n <= 4, \"n is too large\"\n"
                              "    A[n] = 1\n"
                              "    return n\n"),
                NULL);

    assert_non_null(ml_dict_get(g->attrs, "global_symbol"));
    assert_int_equal(g->ret.code, ML_INT);
    assert_non_null(strstr(body_text(x, g), "assert n <= 4, \"n is too large\""));
    assert_non_null(strstr(body_text(x, g), "return n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_access_has_one_index_over_a_flat_alias),
        TEST(strides_of_an_allocation_are_in_the_index_and_the_size),
        TEST(a_fused_pair_of_division_and_remainder_recombines),
        TEST(indices_are_widened_only_where_int32_may_not_count_the_elements),
        TEST(symbolic_sizes_may_be_large),
        TEST(strides_of_a_parameter_count_and_its_offset_does_not),
        TEST(vectors_keep_their_form),
        TEST(masks_stay_on_flat_accesses),
        TEST(a_scalar_has_one_element),
        TEST(buffers_over_known_pointers_are_declared),
        TEST(the_offset_of_an_alias_is_in_its_indices),
        TEST(the_pointer_of_a_parameter_with_an_offset_is_refused),
        TEST(a_block_that_is_left_is_refused),
        TEST(a_buffer_larger_than_int64_counts_is_refused),
        TEST(sizes_follow_the_parameters_in_order_of_occurrence),
        TEST(a_body_runs_on_pointers_and_sizes),
        TEST(a_size_in_compound_expressions_only_is_refused),
        TEST(a_parameter_used_as_a_handle_is_refused),
        TEST(attributes_and_statements_of_the_function_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_expr - expressions: interning, folding, casts, summaries.
 *
 * The oracle of integer folding is 128-bit arithmetic over random literals; the lists of
 * ir-and-analysis 1.2 and script 10.1, 10.2 are checked row by row.
 */
#include "core_test.h"
#include "moonloop/core/stmt.h"

#include <math.h>

typedef struct World {
    ml_Ctx *cx;
    const ml_Expr *i, *j, *f, *h, *b; /* int32, int32, float32, float16, bool */
    const ml_Var *vi;
} World;

static World world(void)
{
    World w = {.cx = ml_ctx_new(0)};
    w.vi = ml_var_new(w.cx, "i", ML_DT_I32);
    w.i = ml_var(w.cx, w.vi);
    w.j = ml_var(w.cx, ml_var_new(w.cx, "j", ML_DT_I32));
    w.f = ml_var(w.cx, ml_var_new(w.cx, "f", ML_DT_F32));
    w.h = ml_var(w.cx, ml_var_new(w.cx, "h", ML_DT(ML_FLOAT, 16)));
    w.b = ml_var(w.cx, ml_var_new(w.cx, "b", ML_DT_BOOL));
    return w;
}

static const ml_Buffer *buffer_of(ml_Ctx *cx, ml_Dtype t, uint16_t rank)
{
    ml_Buffer *b = ML_NEW(cx, ml_Buffer);
    b->uid = ml_fresh_uid(cx);
    b->type = t;
    b->rank = rank;
    b->name = "A";
    b->data = ml_var_new_handle(cx, "A", t, "global");
    return b;
}

static void equal_trees_are_one_pointer(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    assert_ptr_equal(ml_add(cx, w.i, w.j), ml_add(cx, w.i, w.j));
    assert_ptr_not_equal(ml_add(cx, w.i, w.j), ml_add(cx, w.j, w.i));
    assert_ptr_not_equal(ml_i32(cx, 1), ml_int(cx, ML_DT_I64, 1));
    assert_ptr_not_equal(ml_i32(cx, 1), ml_bool(cx, true));
    assert_ptr_equal(ml_string(cx, ml_str("s")), ml_string(cx, ml_str("s")));
    assert_ptr_not_equal(ml_float(cx, ML_DT_F32, 0.0), ml_float(cx, ML_DT_F32, -0.0));
    assert_ptr_equal(ml_float(cx, ML_DT_F32, (double)NAN),
                     ml_float(cx, ML_DT_F32, -(double)NAN));
    assert_ptr_equal(ml_float(cx, ML_DT_F32, 0.1), ml_float(cx, ML_DT_F32, (double)0.1f));
    const ml_Op *one = ml_op_intern(cx, ml_str("tir.my_op"));
    const ml_Op *two = ml_op_intern(cx, ml_str("my_op"));
    assert_ptr_equal(ml_call(cx, ML_DT_I32, one, &w.i, 1),
                     ml_call(cx, ML_DT_I32, two, &w.i, 1));
    const ml_Buffer *a = buffer_of(cx, ML_DT_F32, 1);
    assert_ptr_equal(ml_load(cx, a, &w.i, 1), ml_load(cx, a, &w.i, 1));
    assert_ptr_not_equal(ml_load(cx, a, &w.i, 1),
                         ml_load(cx, buffer_of(cx, ML_DT_F32, 1), &w.i, 1));
    assert_ptr_not_equal(ml_load(cx, a, &w.i, 1), ml_load_masked(cx, a, &w.i, 1, w.b));
    ml_ctx_unref(cx);
}

static void hashes_repeat_from_context_to_context(void **state)
{
    World v = world();
    ml_alloc(v.cx, 12345);
    World w = world();
    const ml_Expr *a =
        ml_select(v.cx, ml_lt(v.cx, v.i, v.j), v.f, ml_const(v.cx, ML_DT_F32, 2));
    const ml_Expr *b =
        ml_select(w.cx, ml_lt(w.cx, w.i, w.j), w.f, ml_const(w.cx, ML_DT_F32, 2));
    assert_int_equal(a->hash, b->hash);
    ml_ctx_unref(v.cx);
    ml_ctx_unref(w.cx);
}

/* ---- folding */

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 WideUnsigned;

static Wide floor_div(Wide a, Wide b)
{
    Wide q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static Wide exact(ml_ExprKind kind, Wide a, Wide b)
{
    switch ((int)kind) {
    case ML_EXPR_ADD: return a + b;
    case ML_EXPR_SUB: return a - b;
    case ML_EXPR_MUL: return (Wide)((WideUnsigned)a * (WideUnsigned)b);
    case ML_EXPR_DIV: return a / b;
    case ML_EXPR_MOD: return a % b;
    case ML_EXPR_FLOORDIV: return floor_div(a, b);
    case ML_EXPR_FLOORMOD: return a - floor_div(a, b) * b;
    case ML_EXPR_MIN: return a < b ? a : b;
    case ML_EXPR_MAX: return a < b ? b : a;
    case ML_EXPR_EQ: return a == b;
    case ML_EXPR_NE: return a != b;
    case ML_EXPR_LT: return a < b;
    case ML_EXPR_LE: return a <= b;
    case ML_EXPR_GT: return a > b;
    default: return a >= b;
    }
}

static Wide value_of(ml_Dtype t, int64_t i)
{
    return t.code == ML_UINT ? (Wide)(uint64_t)i : (Wide)i;
}

static int64_t random_literal(Rng *r, ml_Dtype t)
{
    static const int64_t corners[] = {0,         1,         -1,        2,        -2,
                                      INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    int64_t v = rng_below(r, 3) == 0 ? corners[rng_below(r, ML_COUNT(corners))]
                                     : (int64_t)rng_next(r) >> rng_below(r, 63);
    return ml_dtype_wrap(t, v);
}

static void integer_literals_fold_exactly_and_wrap(void **state)
{
    static const ml_Dtype types[] = {{ML_INT, 32, 1},  {ML_INT, 64, 1},  {ML_INT, 8, 1},
                                     {ML_UINT, 32, 1}, {ML_UINT, 64, 1}, {ML_UINT, 8, 1},
                                     {ML_INT, 4, 1}};
    Rng r = {11};
    ml_Ctx *cx = ml_ctx_new(0);
    for (int step = 0; step < 200000; step++) {
        ml_Mark mark = ml_mark(cx);
        ml_Dtype t = types[rng_below(&r, ML_COUNT(types))];
        ml_ExprKind kind = (ml_ExprKind)(ML_EXPR_ADD + rng_below(&r, 15));
        int64_t a = random_literal(&r, t);
        int64_t b = random_literal(&r, t);
        bool division = kind >= ML_EXPR_DIV && kind <= ML_EXPR_FLOORMOD;
        if (division && b == 0)
            continue;
        ml_ctx_clear_marks(cx);
        const ml_Expr *e = ml_binary(cx, kind, ml_int(cx, t, a), ml_int(cx, t, b));
        Wide want = exact(kind, value_of(t, a), value_of(t, b));
        bool compare = kind >= ML_EXPR_EQ;
        assert_int_equal(e->kind, ML_EXPR_INT);
        assert_true(ml_dtype_eq(e->type, compare ? ML_DT_BOOL : t));
        int64_t low = (int64_t)(uint64_t)want;
        assert_int_equal(e->as.i, compare ? (int64_t)want : ml_dtype_wrap(t, low));
        bool lost = !compare && value_of(t, e->as.i) != want;
        bool below = t.code == ML_UINT && kind == ML_EXPR_SUB && a == 0 && b != 0;
        assert_int_equal(ml_ctx_overflowed(cx), (lost && ml_dtype_is_index(t)) || below);
        ml_release(cx, mark);
    }
    ml_ctx_unref(cx);
}

/* The sum with +0 is another number for -0, the product with 0 for an infinity and NaN. */
static void identities_of_floats_fold_where_they_hold_for_every_number(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Expr *vars[] = {w.f, w.h};
    for (size_t k = 0; k < ML_COUNT(vars); k++) {
        const ml_Expr *x = vars[k];
        const ml_Expr *c0 = ml_const(cx, x->type, 0), *m0 = ml_float(cx, x->type, -0.0);
        const ml_Expr *c1 = ml_const(cx, x->type, 1);
        assert_int_equal(ml_add(cx, x, c0)->kind, ML_EXPR_ADD);
        assert_int_equal(ml_add(cx, c0, x)->kind, ML_EXPR_ADD);
        assert_int_equal(ml_mul(cx, x, c0)->kind, ML_EXPR_MUL);
        assert_int_equal(ml_mul(cx, c0, x)->kind, ML_EXPR_MUL);
        assert_int_equal(ml_div(cx, c0, x)->kind, ML_EXPR_DIV);
        assert_int_equal(ml_sub(cx, x, m0)->kind, ML_EXPR_SUB);
        assert_int_equal(ml_floordiv(cx, x, c1)->kind, ML_EXPR_FLOORDIV);
        assert_ptr_equal(ml_add(cx, x, m0), x);
        assert_ptr_equal(ml_add(cx, m0, x), x);
    }
    /* of two zeros the second, as the instruction has it */
    const ml_Expr *p = ml_float(cx, ML_DT_F32, 0), *n = ml_float(cx, ML_DT_F32, -0.0);
    assert_ptr_equal(ml_min(cx, p, n), n);
    assert_ptr_equal(ml_max(cx, n, p), p);
    ml_ctx_unref(cx);
}

static void identities_fold_and_nothing_else_does(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Expr *vars[] = {w.i, w.f, w.h};
    for (size_t k = 0; k < ML_COUNT(vars); k++) {
        const ml_Expr *x = vars[k];
        const ml_Expr *c0 = ml_const(cx, x->type, 0);
        const ml_Expr *c1 = ml_const(cx, x->type, 1);
        assert_ptr_equal(ml_sub(cx, x, c0), x);
        assert_ptr_equal(ml_mul(cx, x, c1), x);
        assert_ptr_equal(ml_mul(cx, c1, x), x);
        assert_ptr_equal(ml_div(cx, x, c1), x);
        assert_ptr_equal(ml_min(cx, x, x), x);
        assert_ptr_equal(ml_max(cx, x, x), x);
        assert_int_equal(ml_sub(cx, c0, x)->kind, ML_EXPR_SUB);
        assert_int_equal(ml_sub(cx, x, x)->kind, ML_EXPR_SUB);
        assert_int_equal(ml_div(cx, x, x)->kind, ML_EXPR_DIV);
        assert_int_equal(ml_eq(cx, x, x)->kind, ML_EXPR_EQ);
        assert_int_equal(ml_min(cx, x, c0)->kind, ML_EXPR_MIN);
    }
    const ml_Expr *c0 = ml_i32(cx, 0);
    const ml_Expr *c1 = ml_i32(cx, 1);
    assert_ptr_equal(ml_add(cx, w.i, c0), w.i);
    assert_ptr_equal(ml_add(cx, c0, w.i), w.i);
    assert_ptr_equal(ml_mul(cx, w.i, c0), c0);
    assert_ptr_equal(ml_mul(cx, c0, w.i), c0);
    assert_ptr_equal(ml_div(cx, c0, w.i), c0);
    assert_ptr_equal(ml_floordiv(cx, c0, w.i), c0);
    assert_ptr_equal(ml_floordiv(cx, w.i, c1), w.i);
    assert_ptr_equal(ml_floormod(cx, w.i, c1), c0);
    assert_ptr_equal(ml_floormod(cx, c0, w.i), c0);
    assert_ptr_equal(ml_mod(cx, w.i, c1), c0);
    assert_ptr_equal(ml_mod(cx, c0, w.i), c0);
    assert_int_equal(ml_floormod(cx, w.i, w.i)->kind, ML_EXPR_FLOORMOD);

    const ml_Expr *yes = ml_bool(cx, true);
    const ml_Expr *no = ml_bool(cx, false);
    assert_ptr_equal(ml_and(cx, w.b, yes), w.b);
    assert_ptr_equal(ml_and(cx, no, w.b), no);
    assert_ptr_equal(ml_or(cx, no, w.b), w.b);
    assert_ptr_equal(ml_or(cx, w.b, yes), yes);
    assert_ptr_equal(ml_not(cx, yes), no);
    assert_int_equal(ml_not(cx, ml_not(cx, w.b))->kind, ML_EXPR_NOT);
    assert_int_equal(ml_and(cx, w.b, w.b)->kind, ML_EXPR_AND);
    assert_ptr_equal(ml_likely(cx, yes), yes);
    assert_ptr_equal(ml_neg(cx, ml_i32(cx, 5)), ml_i32(cx, -5));
    assert_ptr_equal(ml_neg(cx, w.i), ml_raw_binary(cx, ML_EXPR_MUL, w.i, ml_i32(cx, -1)));
    assert_ptr_equal(ml_neg(cx, ml_float(cx, ML_DT_F32, 0)), ml_float(cx, ML_DT_F32, -0.0));
    assert_true(ml_ok(cx));
    ml_ctx_unref(cx);
}

static void raw_nodes_do_not_fold(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Expr *c0 = ml_i32(cx, 0);
    for (ml_ExprKind k = ML_EXPR_ADD; k <= ML_EXPR_GE; k++)
        assert_int_equal(ml_raw_binary(cx, k, c0, c0)->kind, k);
    assert_int_equal(ml_raw_binary(cx, ML_EXPR_AND, w.b, ml_bool(cx, true))->kind,
                     ML_EXPR_AND);
    assert_int_equal(ml_raw_not(cx, ml_bool(cx, true))->kind, ML_EXPR_NOT);
    assert_int_equal(ml_raw_cast(cx, ML_DT_I64, c0)->kind, ML_EXPR_CAST);
    assert_true(ml_dtype_is_bool(ml_raw_binary(cx, ML_EXPR_LT, c0, c0)->type));
    ml_ctx_unref(cx);
}

static void float_literals_fold_in_their_own_precision(void **state)
{
    Rng r = {13};
    ml_Ctx *cx = ml_ctx_new(0);
    for (int step = 0; step < 20000; step++) {
        ml_Mark mark = ml_mark(cx);
        float a = (float)rng_below(&r, 1000000) / 997.0f - 500.0f;
        float b = (float)rng_below(&r, 1000000) / 991.0f - 499.5f;
        const ml_Expr *x = ml_float(cx, ML_DT_F32, (double)a);
        const ml_Expr *y = ml_float(cx, ML_DT_F32, (double)b);
        const ml_Expr *u = ml_float(cx, ML_DT_F64, (double)a);
        const ml_Expr *v = ml_float(cx, ML_DT_F64, (double)b);
        volatile float sum = a + b, product = a * b, quotient = a / b;
        assert_true(ml_add(cx, x, y)->as.f == (double)sum);
        assert_true(ml_mul(cx, x, y)->as.f == (double)product);
        assert_true(ml_div(cx, x, y)->as.f == (double)quotient);
        assert_true(ml_div(cx, u, v)->as.f == (double)a / (double)b);
        assert_int_equal(ml_lt(cx, x, y)->as.i, a < b);
        assert_true(ml_min(cx, x, y)->as.f == (double)(a < b ? a : b));
        ml_release(cx, mark);
    }
    const ml_Dtype half = ML_DT(ML_FLOAT, 16);
    const ml_Expr *p = ml_float(cx, half, 2);
    const ml_Expr *q = ml_float(cx, half, 3);
    assert_int_equal(ml_add(cx, p, q)->kind, ML_EXPR_ADD);
    assert_true(ml_is_true(ml_lt(cx, p, q)));
    const ml_Expr *nan = ml_float(cx, ML_DT_F32, (double)NAN);
    assert_true(ml_is_false(ml_eq(cx, nan, nan)));
    assert_true(ml_is_true(ml_ne(cx, nan, nan)));
    assert_true(ml_is_false(ml_ge(cx, nan, nan)));
    const ml_Expr *zero = ml_float(cx, ML_DT_F32, 0);
    assert_int_equal(ml_div(cx, zero, zero)->kind, ML_EXPR_DIV);
    ml_ctx_unref(cx);
}

static void shifts_and_bit_operators_fold_on_index_literals(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Expr *a[] = {ml_i32(cx, -12), ml_i32(cx, 5)};
    assert_ptr_equal(ml_call_id(cx, ML_DT_I32, ML_OP_BITWISE_AND, a, 2),
                     ml_i32(cx, -12 & 5));
    assert_ptr_equal(ml_call_id(cx, ML_DT_I32, ML_OP_BITWISE_XOR, a, 2),
                     ml_i32(cx, -12 ^ 5));
    assert_ptr_equal(ml_call_id(cx, ML_DT_I32, ML_OP_BITWISE_NOT, a, 1), ml_i32(cx, 11));
    assert_ptr_equal(ml_call_id(cx, ML_DT_I32, ML_OP_SHIFT_RIGHT, a, 2), ml_i32(cx, -1));
    assert_ptr_equal(ml_call_id(cx, ML_DT_I32, ML_OP_SHIFT_LEFT, a, 2), ml_i32(cx, -384));
    const ml_Expr *far[] = {ml_i32(cx, 1), ml_i32(cx, 32)};
    assert_int_equal(ml_call_id(cx, ML_DT_I32, ML_OP_SHIFT_LEFT, far, 2)->kind,
                     ML_EXPR_CALL);
    const ml_Expr *open[] = {w.i, ml_i32(cx, 1)};
    assert_int_equal(ml_call_id(cx, ML_DT_I32, ML_OP_SHIFT_LEFT, open, 2)->kind,
                     ML_EXPR_CALL);
    assert_true(ml_ok(cx));
    ml_ctx_unref(cx);
}

static void casts_follow_the_rules(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Dtype i8 = ML_DT(ML_INT, 8), u64 = ML_DT(ML_UINT, 64);
    const ml_Dtype f32x4 = ml_dtype_lanes(ML_DT_F32, 4),
                   i64x4 = ml_dtype_lanes(ML_DT_I64, 4);
    assert_ptr_equal(ml_cast(cx, ML_DT_I32, w.i), w.i);
    assert_int_equal(ml_cast(cx, ML_DT_I64, w.i)->kind, ML_EXPR_CAST);
    assert_ptr_equal(ml_cast(cx, ML_DT_I64, ml_i32(cx, -7)), ml_int(cx, ML_DT_I64, -7));
    assert_ptr_equal(ml_cast(cx, i8, ml_i32(cx, 200)), ml_int(cx, i8, -56));
    assert_ptr_equal(ml_cast(cx, ML_DT_F32, ml_i32(cx, 3)), ml_float(cx, ML_DT_F32, 3));
    assert_ptr_equal(ml_cast(cx, ML_DT_I32, ml_float(cx, ML_DT_F32, -2.9)), ml_i32(cx, -2));
    assert_ptr_equal(ml_cast(cx, ML_DT_BOOL, ml_float(cx, ML_DT_F32, 0.5)),
                     ml_bool(cx, true));
    assert_ptr_equal(ml_cast(cx, ML_DT_I32, ml_bool(cx, true)), ml_i32(cx, 1));
    assert_int_equal(ml_cast(cx, ML_DT_I32, ml_float(cx, ML_DT_F32, 1e10))->kind,
                     ML_EXPR_CAST);
    assert_int_equal(ml_cast(cx, ML_DT_I32, ml_float(cx, ML_DT_F32, (double)NAN))->kind,
                     ML_EXPR_CAST);
    const ml_Expr *all_ones = ml_int(cx, u64, -1);
    assert_true(ml_cast(cx, ML_DT_F64, all_ones)->as.f == 0x1p64);
    assert_ptr_equal(ml_cast(cx, u64, ml_float(cx, ML_DT_F64, 0x1p63)),
                     ml_int(cx, u64, INT64_MIN));
    const ml_Expr *odd = ml_int(cx, ML_DT_I64, 0x7fffff4000000001);
    assert_true(ml_cast(cx, ML_DT_F32, odd)->as.f == (double)(float)0x7fffff4000000001);

    const ml_Expr *spread = ml_cast(cx, f32x4, w.i);
    assert_int_equal(spread->kind, ML_EXPR_BROADCAST);
    assert_int_equal(spread->args[0]->kind, ML_EXPR_CAST);
    assert_ptr_equal(ml_cast(cx, f32x4, ml_broadcast(cx, w.i, 4)), spread);
    const ml_Expr *ramp = ml_ramp(cx, w.i, ml_i32(cx, 2), 4);
    assert_int_equal(ml_cast(cx, i64x4, ramp)->kind, ML_EXPR_RAMP);
    assert_ptr_equal(ml_cast(cx, i64x4, ramp)->args[1], ml_int(cx, ML_DT_I64, 2));
    assert_int_equal(ml_cast(cx, f32x4, ramp)->kind, ML_EXPR_CAST);
    assert_true(ml_ok(cx));
    ml_cast(cx, ML_DT_I32, ml_int(cx, ML_DT_I64, (int64_t)1 << 40));
    assert_true(ml_ctx_overflowed(cx));
    ml_ctx_unref(cx);
}

static void operands_are_brought_to_their_common_dtype(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Expr *a = w.i;
    const ml_Expr *b = ml_int(cx, ML_DT_I64, 1);
    assert_true(ml_promote(cx, &a, &b));
    assert_int_equal(a->kind, ML_EXPR_CAST);
    assert_true(ml_dtype_eq(a->type, ML_DT_I64));
    a = w.h;
    b = ml_broadcast(cx, ml_i32(cx, 2), 4);
    assert_true(ml_promote(cx, &a, &b));
    assert_int_equal(a->kind, ML_EXPR_BROADCAST);
    assert_true(ml_dtype_eq(b->type, ml_dtype_lanes(ML_DT(ML_FLOAT, 16), 4)));
    b = ml_string(cx, ml_str("s"));
    assert_false(ml_promote(cx, &a, &b));
    ml_ctx_unref(cx);
}

/* ---- other children */

static void every_kind_is_rebuilt_as_its_constructor_builds_it(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Buffer *a = buffer_of(cx, ML_DT_F32, 2);
    const ml_Expr *x = w.i, *y = w.j, *one = ml_i32(cx, 1), *two = ml_i32(cx, 2);
    const ml_Expr *ij[] = {x, y}, *ji[] = {y, x};
    const ml_Expr *ijm[] = {x, y, w.b}, *jim[] = {y, x, ml_not(cx, w.b)};
    const ml_Expr *c = ml_lt(cx, x, y);
    const ml_Expr *sel[] = {c, x, y}, *sel2[] = {w.b, y, x};
    const ml_Var *v = ml_var_new(cx, "v", ML_DT_I32);
    const ml_Expr *shuf[] = {ml_broadcast(cx, x, 4), ml_broadcast(cx, y, 4), one, two};
    const ml_Expr *shuf2[] = {ml_broadcast(cx, y, 4), ml_broadcast(cx, x, 4), two, one};

    assert_ptr_equal(ml_expr_with_args(cx, ml_load(cx, a, ij, 2), ji),
                     ml_load(cx, a, ji, 2));
    assert_ptr_equal(ml_expr_with_args(cx, ml_load_masked(cx, a, ij, 2, ijm[2]), jim),
                     ml_load_masked(cx, a, ji, 2, jim[2]));
    assert_ptr_equal(ml_expr_with_args(cx, ml_select(cx, c, x, y), sel2),
                     ml_select(cx, w.b, y, x));
    assert_ptr_equal(ml_expr_with_args(cx, ml_if_then_else(cx, c, x, y), sel2),
                     ml_if_then_else(cx, w.b, y, x));
    assert_ptr_equal(ml_expr_with_args(cx, ml_if_then_else(cx, c, x, y), sel),
                     ml_if_then_else(cx, c, x, y));
    assert_ptr_equal(ml_expr_with_args(cx, ml_raw_cast(cx, ML_DT_I64, x), &one),
                     ml_int(cx, ML_DT_I64, 1));
    assert_ptr_equal(ml_expr_with_args(cx, ml_let(cx, v, x, y), ji), ml_let(cx, v, y, x));
    assert_ptr_equal(ml_expr_with_args(cx, ml_ramp(cx, x, y, 4), ji), ml_ramp(cx, y, x, 4));
    assert_ptr_equal(ml_expr_with_args(cx, ml_broadcast(cx, x, 4), &y),
                     ml_broadcast(cx, y, 4));
    assert_ptr_equal(ml_expr_with_args(cx, ml_shuffle(cx, shuf, 2, shuf + 2, 2), shuf2),
                     ml_shuffle(cx, shuf2, 2, shuf2 + 2, 2));
    assert_int_equal(ml_shuffle(cx, shuf, 2, shuf + 2, 2)->type.lanes, 2);
    const ml_Expr *yes = ml_bool(cx, true);
    assert_ptr_equal(ml_expr_with_args(cx, ml_likely(cx, w.b), &yes), yes);
    assert_ptr_equal(ml_expr_with_args(cx, ml_not(cx, w.b), &yes), ml_bool(cx, false));
    for (ml_ExprKind k = ML_EXPR_ADD; k <= ML_EXPR_GE; k++) {
        const ml_Expr *lit[] = {ml_i32(cx, 7), ml_i32(cx, 2)};
        assert_ptr_equal(ml_expr_with_args(cx, ml_binary(cx, k, x, y), lit),
                         ml_binary(cx, k, lit[0], lit[1]));
        const ml_Expr *zero[] = {x, ml_i32(cx, 0)};
        const ml_Expr *e = ml_expr_with_args(cx, ml_binary(cx, k, x, y), zero);
        if (k >= ML_EXPR_DIV && k <= ML_EXPR_FLOORMOD)
            assert_ptr_equal(e, ml_raw_binary(cx, k, x, zero[1]));
    }
    assert_ptr_equal(ml_expr_with_args(cx, x, NULL), x);
    ml_ctx_unref(cx);
}

/* ---- summaries */

static void effects_and_uses_are_known(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Buffer *a = buffer_of(cx, ML_DT_I32, 1);
    const ml_Buffer *other = buffer_of(cx, ML_DT_I32, 1);
    const ml_Expr *load = ml_load(cx, a, &w.i, 1);
    const ml_Expr *deep = ml_add(cx, ml_mul(cx, load, w.j), ml_i32(cx, 3));
    assert_int_equal(ml_expr_effect(w.i), ML_EFFECT_PURE);
    assert_int_equal(ml_expr_effect(deep), ML_EFFECT_READ);
    assert_int_equal(ml_expr_effect(ml_call_id(cx, ML_DT_F32, ML_OP_EXP, &w.f, 1)),
                     ML_EFFECT_PURE);
    assert_int_equal(ml_expr_effect(ml_call_id(cx, ML_DT_F32, ML_OP_UNDEF, NULL, 0)),
                     ML_EFFECT_READ);
    const ml_Op *op = ml_op_intern(cx, ml_str("tir.ptx_mma_sp"));
    assert_true(op->dtype_first && op->id == ML_OP_OTHER);
    assert_ptr_equal(ml_op_intern(cx, ml_str("tirx.exp")), ml_op(ML_OP_EXP));
    assert_null(ml_op_find(ml_str("expo")));
    assert_int_equal(ml_expr_effect(ml_add(cx, ml_call(cx, ML_DT_I32, op, &load, 1), w.i)),
                     ML_EFFECT_OPAQUE);
    assert_true(ml_expr_uses_buffer(deep, a) && !ml_expr_uses_buffer(deep, other));
    assert_true(ml_expr_uses_buffer(ml_var(cx, a->data), a));
    assert_true(ml_expr_uses_var(deep, w.vi) && !ml_expr_uses_var(w.j, w.vi));
    assert_true((ml_i32(cx, 1)->flags & ML_X_VAR_FREE) && !(deep->flags & ML_X_VAR_FREE));
    assert_int_equal(deep->depth, 4);
    assert_int_equal(deep->size, 6);
    ml_ctx_unref(cx);
}

static void uses_of_variables_agree_with_a_walk(void **state)
{
    Rng r = {17};
    enum { VARS = 90 };
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Var *vars[VARS];
    for (int k = 0; k < VARS; k++)
        vars[k] = ml_var_new(cx, "v", ML_DT_I32);
    for (int step = 0; step < 300; step++) {
        bool used[VARS] = {false};
        const ml_Expr *e = ml_i32(cx, 1);
        for (int k = 0; k < 20; k++) {
            uint32_t pick = rng_below(&r, VARS);
            used[pick] = true;
            e = ml_raw_binary(cx, ML_EXPR_ADD, e, ml_var(cx, vars[pick]));
            if (rng_below(&r, 3) == 0)
                e = ml_raw_binary(cx, ML_EXPR_MUL, e, e);
        }
        for (int k = 0; k < VARS; k++)
            assert_int_equal(ml_expr_uses_var(e, vars[k]), used[k]);
    }
    ml_ctx_unref(cx);
}

/* x = x + x, 900 times: as a tree of 2^900 nodes it could never be searched. */
static void shared_nodes_are_searched_once(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Buffer *a = buffer_of(cx, ML_DT_I32, 1);
    const ml_Buffer *b = buffer_of(cx, ML_DT_I32, 1);
    const ml_Expr *x = ml_load(cx, a, &w.j, 1);
    while (x->depth < 900)
        x = ml_raw_binary(cx, ML_EXPR_ADD, x, x);
    assert_int_equal(x->size, UINT32_MAX);
    assert_false(ml_expr_uses_buffer(x, b));
    assert_true(ml_expr_uses_buffer(x, a));
    for (int k = 0; k < 200; k++) /* some share the bit of j */
        assert_false(ml_expr_uses_var(x, ml_var_new(cx, "k", ML_DT_I32)));
    ml_ctx_unref(cx);
}

static void nesting_is_bounded_and_marked(void **state)
{
    World w = world();
    ml_Ctx *cx = w.cx;
    const ml_Expr *x = w.i;
    for (int k = 1; k < 1000; k++)
        x = ml_add(cx, x, w.j);
    assert_int_equal(x->depth, 1000);
    assert_true(ml_ok(cx));
    const ml_Expr *y = x;
    for (int k = 0; k < 5000; k++) {
        y = ml_add(cx, y, w.j);
        assert_true(y->depth <= 1000 && ml_dtype_eq(y->type, ML_DT_I32));
    }
    assert_true(ml_ctx_too_deep(cx));
    ml_ctx_unref(cx);
}

/* Every pair of a few numbers, not of one sign. */
static bool same_for_all(ml_ExprKind k, ml_ExprKind swapped)
{
    static const int64_t tries[] = {-3, -1, 1, 2, 5};
    bool same = true, lost;

    for (size_t i = 0; i < ML_COUNT(tries); i++)
        for (size_t j = 0; j < ML_COUNT(tries); j++)
            same &= ml_fold_int(k, ML_DT_I32, tries[i], tries[j], &lost) ==
                    ml_fold_int(swapped, ML_DT_I32, tries[j], tries[i], &lost);
    return same;
}

static void kinds_commute_as_their_arithmetic_does(void **state)
{
    (void)state;
    for (ml_ExprKind k = ML_EXPR_INT; k < ML_EXPR_KINDS; k++) {
        if (!ml_kind_computes(k) && !ml_kind_compares(k))
            continue;
        bool swaps = ml_kind_swapped(k) < ML_EXPR_KINDS;

        assert_int_equal(same_for_all(k, k), ml_kind_commutes(k));
        assert_true(!swaps || same_for_all(k, ml_kind_swapped(k)));
        assert_true(swaps || !ml_kind_compares(k));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_trees_are_one_pointer),
        cmocka_unit_test(hashes_repeat_from_context_to_context),
        cmocka_unit_test(integer_literals_fold_exactly_and_wrap),
        cmocka_unit_test(identities_of_floats_fold_where_they_hold_for_every_number),
        cmocka_unit_test(identities_fold_and_nothing_else_does),
        cmocka_unit_test(raw_nodes_do_not_fold),
        cmocka_unit_test(float_literals_fold_in_their_own_precision),
        cmocka_unit_test(shifts_and_bit_operators_fold_on_index_literals),
        cmocka_unit_test(casts_follow_the_rules),
        cmocka_unit_test(operands_are_brought_to_their_common_dtype),
        cmocka_unit_test(every_kind_is_rebuilt_as_its_constructor_builds_it),
        cmocka_unit_test(effects_and_uses_are_known),
        cmocka_unit_test(uses_of_variables_agree_with_a_walk),
        cmocka_unit_test(shared_nodes_are_searched_once),
        cmocka_unit_test(nesting_is_bounded_and_marked),
        cmocka_unit_test(kinds_commute_as_their_arithmetic_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

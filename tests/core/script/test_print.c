/* test_print - every rule of script 12 as a golden string, on programs made by
 * constructors. */
#include "../core_test.h"

#include "moonloop/core/script/script.h"
#include "moonloop/core/walk.h"
#include "random_ir.h"

#include <string.h>
#include <time.h>

static ml_Ctx *cx;

static int set_up(void **state)
{
    (void)state;
    cx = ml_ctx_new(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ml_ctx_unref(cx);
    return 0;
}

/* ---- shorthands */
static const ml_Expr *I(int64_t v)
{
    return ml_i32(cx, v);
}

static const ml_Expr *L(int64_t v)
{
    return ml_int(cx, ML_DT_I64, v);
}

static const ml_Expr *F(double v)
{
    return ml_float(cx, ML_DT_F32, v);
}

static const ml_Var *var(const char *hint)
{
    return ml_var_new(cx, hint, ML_DT_I32);
}

static const ml_Expr *V(const ml_Var *v)
{
    return ml_var(cx, v);
}

static const ml_Expr *raw(ml_ExprKind k, const ml_Expr *a, const ml_Expr *b)
{
    return ml_raw_binary(cx, k, a, b);
}

static const ml_Buffer *buf(const char *name, size_t rank, int64_t a, int64_t b)
{
    const ml_Expr *shape[2] = {I(a), I(b)};
    return ml_buffer_new(cx, name, ML_DT_F32, shape, rank, "global");
}

static const ml_Expr *at1(const ml_Buffer *b, const ml_Expr *i)
{
    return ml_load(cx, b, &i, 1);
}

static const ml_Stmt *set1(const ml_Buffer *b, const ml_Expr *i, const ml_Expr *v)
{
    return ml_store(cx, b, v, &i, 1, NULL);
}

static void expect(ml_Text *t, const char *want)
{
    if (strcmp(ml_text_z(t), want) != 0)
        fail_msg("printed:\n%s\nexpected:\n%s", ml_text_z(t), want);
    ml_text_free(t);
}

static void expr_is(const ml_Expr *e, const char *want)
{
    ml_Text t = {0};
    ml_print_expr(cx, &t, e, NULL);
    expect(&t, want);
}

static void value_is(const ml_Value *v, const char *want)
{
    ml_Text t = {0};
    ml_print_value(cx, &t, v, NULL);
    expect(&t, want);
}

static void stmt_is(const ml_Stmt *s, int spelling, const char *want)
{
    ml_Text t = {0};
    ml_PrintOpts o = {.spelling = spelling};
    ml_print_stmt(cx, &t, s, &o);
    expect(&t, want);
}

static ml_Func func(const ml_FuncParam *params, uint32_t n, const ml_Stmt *body)
{
    static const char *const KEYS[] = {"global_symbol"};
    const ml_Value *v = ml_val_string(cx, ml_str("main"));
    ml_FuncParam *kept = ML_ARRAY(cx, ml_FuncParam, n + 1);
    for (uint32_t k = 0; k < n; k++)
        kept[k] = params[k];
    return (ml_Func){.name = "main",
                     .params = kept,
                     .n_params = n,
                     .body = body,
                     .attrs = ml_val_dict(cx, KEYS, &v, 1),
                     .ret = ML_DT_VOID};
}

static void func_is(const ml_Func *f, int spelling, const char *want)
{
    ml_Text t = {0};
    ml_PrintOpts o = {.spelling = spelling, .no_header = true};
    ml_print_func(cx, &t, f, &o);
    expect(&t, want);
}

/* ---- 12.4 */
static void literals_are_typed_unless_int32(void **state)
{
    (void)state;
    expr_is(I(-3), "-3");
    expr_is(L(3), "T.int64(3)");
    expr_is(ml_bool(cx, true), "T.bool(True)");
    expr_is(F(0.5), "T.float32(0.5)");
    expr_is(F(2), "T.float32(2.0)");
    expr_is(ml_float(cx, ML_DT_F64, 1e-5), "T.float64(1e-05)");
    expr_is(F((double)3.4028234663852886e38), "T.float32(3.4028234663852886e+38)");
    expr_is(F(-__builtin_huge_val()), "T.float32(\"-inf\")");
    expr_is(F(-__builtin_nan("")), "T.float32(\"nan\")");
    expr_is(ml_int(cx, ML_DT(ML_UINT, 64), -1), "T.uint64(18446744073709551615)");
    expr_is(L(INT64_MIN), "T.int64(-9223372036854775808)");
    expr_is(ml_int(cx, ML_DT(ML_INT, 4), 3), "T.IntImm(\"int4\", 3)");
    expr_is(ml_string(cx, ml_str("a\"\\\n\t\x01\xC3\xA9\xFF")),
            "\"a\\\"\\\\\\n\\t\\x01\xC3\xA9\\xFF\"");
}

static void operators_print_only_where_reading_rebuilds_the_node(void **state)
{
    (void)state;
    const ml_Expr *i = V(var("i")), *x = V(ml_var_new(cx, "x", ML_DT_F32));
    expr_is(ml_add(cx, i, I(3)), "i + 3");
    expr_is(raw(ML_EXPR_ADD, I(3), I(4)), "T.Add(3, 4)");
    expr_is(raw(ML_EXPR_MUL, i, I(1)), "T.Mul(i, 1)");
    expr_is(raw(ML_EXPR_LT, I(0), I(8)), "T.LT(0, 8)");
    expr_is(raw(ML_EXPR_LT, L(0), L(8)), "T.int64(0) < T.int64(8)");
    expr_is(raw(ML_EXPR_SUB, I(0), i), "0 - i");
    expr_is(raw(ML_EXPR_SUB, i, I(0)), "T.Sub(i, 0)");
    expr_is(ml_neg(cx, i), "i * -1");
    expr_is(raw(ML_EXPR_DIV, i, I(2)), "T.Div(i, 2)");
    expr_is(raw(ML_EXPR_DIV, x, F(2)), "x / T.float32(2.0)");
    expr_is(raw(ML_EXPR_MUL, x, F(1)), "T.Mul(x, T.float32(1.0))");
    expr_is(raw(ML_EXPR_MOD, i, I(2)), "T.truncmod(i, 2)");
    expr_is(raw(ML_EXPR_MOD, i, I(1)), "T.Mod(i, 1)");
    expr_is(ml_floormod(cx, i, I(2)), "i % 2");
    expr_is(ml_min(cx, i, I(2)), "T.min(i, 2)");
    expr_is(raw(ML_EXPR_MAX, I(1), I(2)), "T.Max(1, 2)");
    expr_is(raw(ML_EXPR_MIN, i, i), "T.Min(i, i)");
    expr_is(ml_raw_cast(cx, ML_DT_F32, i), "T.Cast(\"float32\", i)");
    expr_is(ml_raw_cast(cx, ML_DT_I32, i), "T.Cast(\"int32\", i)");
    expr_is(raw(ML_EXPR_AND, ml_bool(cx, true), ml_bool(cx, false)),
            "T.bool(True) and T.bool(False)");
}

static void parentheses_follow_precedence(void **state)
{
    (void)state;
    const ml_Expr *a = V(var("a")), *b = V(var("b")), *c = V(var("c"));
    expr_is(raw(ML_EXPR_MUL, raw(ML_EXPR_ADD, a, b), c), "(a + b) * c");
    expr_is(raw(ML_EXPR_SUB, a, raw(ML_EXPR_SUB, b, c)), "a - (b - c)");
    expr_is(raw(ML_EXPR_SUB, raw(ML_EXPR_SUB, a, b), c), "a - b - c");
    expr_is(raw(ML_EXPR_FLOORDIV, a, raw(ML_EXPR_MUL, b, c)), "a // (b * c)");
    const ml_Expr *lt = raw(ML_EXPR_LT, a, b), *gt = raw(ML_EXPR_GT, b, c);
    expr_is(raw(ML_EXPR_EQ, lt, gt), "(a < b) == (b > c)");
    expr_is(raw(ML_EXPR_AND, raw(ML_EXPR_OR, lt, gt), lt), "(a < b or b > c) and a < b");
    expr_is(raw(ML_EXPR_AND, lt, raw(ML_EXPR_AND, gt, lt)), "a < b and (b > c and a < b)");
    expr_is(ml_raw_not(cx, raw(ML_EXPR_AND, lt, gt)), "not (a < b and b > c)");
    expr_is(raw(ML_EXPR_EQ, ml_raw_not(cx, lt), gt), "(not a < b) == (b > c)");
}

static void calls_print_raw_where_their_helper_would_change_them(void **state)
{
    (void)state;
    const ml_Expr *i = V(var("i")), *x = V(ml_var_new(cx, "x", ML_DT_F32));
    const ml_Expr *c = ml_lt(cx, i, I(4));
    const ml_Expr *ite[] = {c, x, F(0)}, *fixed[] = {ml_bool(cx, true), x, F(0)};
    expr_is(ml_call_id(cx, ML_DT_F32, ML_OP_IF_THEN_ELSE, ite, 3),
            "T.if_then_else(i < 4, x, T.float32(0.0))");
    expr_is(ml_call_id(cx, ML_DT_F32, ML_OP_IF_THEN_ELSE, fixed, 3),
            "T.call_intrin(\"float32\", \"tir.if_then_else\", T.bool(True), x, "
            "T.float32(0.0))");
    const ml_Expr *one[] = {F(1.5)};
    expr_is(ml_call_id(cx, ML_DT_F32, ML_OP_EXP, &x, 1), "T.exp(x)");
    expr_is(ml_call_id(cx, ML_DT_F64, ML_OP_EXP, &x, 1),
            "T.call_intrin(\"float64\", \"tir.exp\", x)");
    expr_is(ml_call_id(cx, ML_DT_F32, ML_OP_FLOOR, one, 1),
            "T.call_intrin(\"float32\", \"tir.floor\", T.float32(1.5))");
    const ml_Expr *sh[] = {i, I(2)}, *by_zero[] = {i, I(0)};
    expr_is(ml_call_id(cx, ML_DT_I32, ML_OP_SHIFT_LEFT, sh, 2), "T.shift_left(i, 2)");
    expr_is(ml_call_id(cx, ML_DT_I32, ML_OP_SHIFT_LEFT, by_zero, 2),
            "T.call_intrin(\"int32\", \"tir.shift_left\", i, 0)");
    const ml_Expr *ext[] = {ml_string(cx, ml_str("f")), i};
    expr_is(ml_call_id(cx, ML_DT_I32, ML_OP_CALL_EXTERN, ext, 2),
            "T.call_extern(\"int32\", \"f\", i)");
    const ml_Buffer *A = buf("A", 1, 16, 0);
    const ml_Expr *note = ml_call_id(cx, ML_DT_F32, ML_OP_TYPE_ANNOTATION, NULL, 0);
    expr_is(note, "T.type_annotation(\"float32\")");
    const ml_Expr *ld = at1(A, i);
    expr_is(ml_call_id(cx, ML_DT_HANDLE, ML_OP_ADDRESS_OF, &ld, 1), "T.address_of(A[i])");
    ml_Text t = {0};
    ml_PrintOpts o = {.spelling = ML_NEWEST};
    ml_print_expr(cx, &t, ml_call(cx, ML_DT_I32, ml_op_intern(cx, ml_str("odd")), &i, 1),
                  &o);
    expect(&t, "T.call_intrin(\"int32\", \"tirx.odd\", i)");
}

static void vectors_print_as_slices_in_indices_and_by_name_elsewhere(void **state)
{
    (void)state;
    const ml_Expr *i = V(var("i"));
    const ml_Buffer *A = buf("A", 1, 64, 0);
    expr_is(at1(A, ml_ramp(cx, I(0), I(1), 4)), "A[0:4]");
    expr_is(at1(A, ml_ramp(cx, i, I(1), 4)), "A[i:i + 4]");
    expr_is(at1(A, ml_ramp(cx, i, I(3), 4)), "A[i:i + 12:3]");
    expr_is(at1(A, ml_ramp(cx, i, I(-1), 4)), "A[T.Ramp(i, -1, 4)]");
    expr_is(at1(A, ml_ramp(cx, I(2147483647), I(1), 4)), "A[T.Ramp(2147483647, 1, 4)]");
    expr_is(ml_ramp(cx, i, I(1), 4), "T.Ramp(i, 1, 4)");
    expr_is(ml_broadcast(cx, F(1), 4), "T.Broadcast(T.float32(1.0), 4)");
    const ml_Expr *ramp = ml_ramp(cx, i, I(1), 4);
    const ml_Expr *mask = ml_broadcast(cx, ml_bool(cx, true), 4);
    expr_is(ml_load_masked(cx, A, &ramp, 1, mask),
            "A.vload([T.Ramp(i, 1, 4)], predicate=T.Broadcast(T.bool(True), 4))");
    expr_is(ml_load(cx, buf("S", 0, 0, 0), NULL, 0), "S[()]");
}

static void regions_print_points_and_ranges(void **state)
{
    (void)state;
    const ml_Buffer *A = buf("A", 2, 16, 16);
    const ml_Expr *i = V(var("i")), *n = V(var("n"));
    ml_Range r[2] = {{i, I(1)}, {I(0), I(16)}};
    ml_Text t = {0};
    ml_print_region(cx, &t, &(ml_Region){A, r}, NULL);
    expect(&t, "A[i, 0:16]");
    ml_Range s[2] = {{i, n}, {I(2), I(3)}};
    ml_print_region(cx, &t, &(ml_Region){A, s}, NULL);
    expect(&t, "A[i:i + n, 2:5]");
    ml_Range z[2] = {{i, I(0)}, {L(0), L(8)}};
    ml_print_region(cx, &t, &(ml_Region){A, z}, NULL);
    expect(&t, "A[i:T.Add(i, 0), T.int64(0):T.int64(8)]");
}

static void constants_print_plain_and_dicts_sorted(void **state)
{
    (void)state;
    static const char *const KEYS[] = {"z", "a"};
    const ml_Value *v[] = {ml_val_int(cx, 3), ml_val_float(cx, 2)};
    value_is(ml_val_dict(cx, KEYS, v, 2), "{\"a\": 2.0, \"z\": 3}");
    value_is(ml_val_list(cx, v, 2), "[3, 2.0]");
    value_is(ml_val_none(cx), "None");
    value_is(ml_val_bool(cx, false), "False");
    const ml_Var *i = ml_var_new(cx, "i", ML_DT_I64), *j = ml_var_new(cx, "i", ML_DT_I64);
    const ml_Var *vars[] = {i, j};
    const ml_Expr *exprs[] = {V(j), ml_add(cx, V(i), L(1))};
    ml_IndexMap m = {.vars = vars, .exprs = exprs, .n_vars = 2, .n_exprs = 2};
    value_is(ml_val_map(cx, &m), "T.index_map(lambda i, i_1: (i_1, i + T.int64(1)))");
    const ml_Var *x = ml_var_new(cx, "x", ML_DT_F32), *y = ml_var_new(cx, "y", ML_DT_F32);
    const ml_Expr *sum = ml_add(cx, V(x), V(y)), *zero = F(0);
    ml_Reducer red = {.n = 1, .lhs = &x, .rhs = &y, .results = &sum, .identities = &zero};
    value_is(ml_val_reducer(cx, &red),
             "T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)])");
}

/* ---- 12.3 */
static void serial_loops_join_to_a_grid(void **state)
{
    (void)state;
    const ml_Buffer *A = buf("A", 1, 16, 0);
    const ml_Var *i = var("i"), *j = var("j"), *k = var("k");
    const ml_Stmt *s = set1(A, V(i), F(1));
    const ml_Stmt *in = ml_serial(cx, j, I(0), I(4), s);
    stmt_is(ml_serial(cx, i, I(0), I(8), in), ML_CLASSIC,
            "A = T.Buffer((16,), \"float32\")\n"
            "for i, j in T.grid(8, 4):\n"
            "    A[i] = T.float32(1.0)");
    const ml_Stmt *tri = ml_serial(cx, j, I(0), V(i), ml_serial(cx, k, I(0), I(2), s));
    stmt_is(ml_serial(cx, i, I(0), I(8), tri), ML_CLASSIC,
            "A = T.Buffer((16,), \"float32\")\n"
            "for i in range(8):\n"
            "    for j, k in T.grid(i, 2):\n"
            "        A[i] = T.float32(1.0)");
}

static void loop_headers_say_their_kind(void **state)
{
    (void)state;
    static const char *const KEYS[] = {"pragma_unroll"};
    const ml_Value *yes = ml_val_bool(cx, true);
    const ml_Stmt *body = ml_evaluate(cx, I(1));
    const ml_Var *n = var("n");
    ml_For f = {.var = var("i"), .min = I(0), .extent = I(8), .body = body};
    stmt_is(ml_for_from(cx, &f), 0, "for i in range(8):\n    T.evaluate(1)");
    f.min = I(2);
    stmt_is(ml_for_from(cx, &f), 0, "for i in range(2, 10):\n    T.evaluate(1)");
    f.step = I(3);
    stmt_is(ml_for_from(cx, &f), 0, "for i in range(2, 10, 3):\n    T.evaluate(1)");
    f.min = V(n);
    f.step = NULL;
    stmt_is(ml_for_from(cx, &f), 0,
            "n = T.int32()\nfor i in range(n, n + 8):\n    T.evaluate(1)");
    f.min = I(0);
    f.kind = ML_FOR_THREAD;
    f.thread = ml_thread("threadIdx.x");
    stmt_is(ml_for_from(cx, &f), 0,
            "for i in T.thread_binding(8, thread=\"threadIdx.x\"):\n    T.evaluate(1)");
    f.thread = (ml_Thread){0};
    f.kind = ML_FOR_VECTORIZED;
    stmt_is(ml_for_from(cx, &f), 0, "for i in T.vectorized(8):\n    T.evaluate(1)");
    f.kind = ML_FOR_SERIAL;
    f.annotations = ml_val_dict(cx, KEYS, &yes, 1);
    stmt_is(
        ml_for_from(cx, &f), ML_CLASSIC,
        "for i in T.serial(8, annotations={\"pragma_unroll\": True}):\n    T.evaluate(1)");
    stmt_is(ml_for_from(cx, &f), ML_NEWEST,
            "for i in T.serial(8, unroll=True):\n    T.evaluate(1)");
}

static void sibling_loops_share_a_name_and_inner_ones_get_suffixes(void **state)
{
    (void)state;
    const ml_Stmt *body = ml_evaluate(cx, I(1));
    ml_For in = {.kind = ML_FOR_UNROLLED,
                 .var = var("i"),
                 .min = I(0),
                 .extent = I(2),
                 .body = body};
    const ml_Stmt *two[] = {ml_serial(cx, var("i"), I(0), I(4), ml_for_from(cx, &in)),
                            ml_serial(cx, var("lambda"), I(0), I(4), body),
                            ml_serial(cx, var("i"), I(0), I(4), body),
                            ml_serial(cx, var("0x"), I(0), I(4), body)};
    stmt_is(ml_seq(cx, two, 4), 0,
            "for i in range(4):\n"
            "    for i_1 in T.unroll(2):\n"
            "        T.evaluate(1)\n"
            "for lambda_1 in range(4):\n    T.evaluate(1)\n"
            "for i in range(4):\n    T.evaluate(1)\n"
            "for _0x in range(4):\n    T.evaluate(1)");
}

static void bindings_declarations_and_cells_follow_the_spelling(void **state)
{
    (void)state;
    const ml_Var *x = var("x");
    const ml_Expr *one = I(1);
    ml_Buffer b = *ml_buffer_new(cx, "c", ML_DT_F32, &one, 1, "local");
    b.is_scalar = true;
    const ml_Buffer *cell = ml_buffer_from(cx, &b, true);
    const ml_Expr *c = at1(cell, I(0));
    const ml_Stmt *list[] = {
        ml_bind(cx, x, ml_add(cx, V(x), I(1))),
        ml_alloc_stmt(cx, cell, NULL),
        set1(cell, I(0), F(2)),
        set1(cell, I(0), ml_add(cx, c, F(1.5))),
        ml_evaluate(cx, ml_call_id(cx, ML_DT_HANDLE, ML_OP_ADDRESS_OF, &c, 1)),
        ml_evaluate(cx, V(cell->data)),
    };
    list[0] = ml_bind(cx, x, I(7));
    const ml_Stmt *s = ml_seq(cx, list, 6);
    stmt_is(s, ML_CLASSIC,
            "x: T.int32 = 7\n"
            "c = T.decl_buffer((1,), scope=\"local\")\n"
            "c[0] = T.float32(2.0)\n"
            "c[0] = c[0] + T.float32(1.5)\n"
            "T.address_of(c[0])\n"
            "T.evaluate(c.data)");
    stmt_is(s, ML_NEWEST,
            "x: T.let[T.int32] = 7\n"
            "c: T.float32 = T.float32(2.0)\n"
            "c = c + T.float32(1.5)\n"
            "T.address_of(c)\n"
            "T.evaluate(c.buffer.data)");
    const ml_Buffer *sh = ml_buffer_new(cx, "S", ML_DT_F32, &one, 1, "shared");
    const ml_Buffer *odd = ml_buffer_new(cx, "D", ML_DT_F32, &one, 1, "shared.dyn");
    stmt_is(ml_alloc_stmt(cx, sh, NULL), ML_NEWEST, "S = T.alloc_shared((1,))");
    stmt_is(ml_alloc_stmt(cx, odd, NULL), ML_NEWEST,
            "D = T.alloc_buffer((1,), scope=\"shared.dyn\")");
}

static void attributes_print_with_only_before_other_statements(void **state)
{
    (void)state;
    const ml_Var *tx = var("tx");
    const ml_Stmt *body = ml_evaluate(cx, ml_add(cx, V(tx), I(1)));
    ml_Attr a = {.node = ml_val_var(cx, tx),
                 .key = "thread_extent",
                 .thread = ml_thread("threadIdx.x"),
                 .value = ml_val_int(cx, 4),
                 .body = body};
    const ml_Stmt *t = ml_attr_from(cx, &a);
    stmt_is(t, 0, "tx = T.launch_thread(\"threadIdx.x\", 4)\nT.evaluate(tx + 1)");
    const ml_Stmt *two[] = {t, ml_evaluate(cx, I(2))};
    stmt_is(ml_seq(cx, two, 2), 0,
            "with T.launch_thread(\"threadIdx.x\", 4) as tx:\n"
            "    T.evaluate(tx + 1)\n"
            "T.evaluate(2)");
    const ml_Stmt *twice[] = {t, t};
    stmt_is(ml_seq(cx, twice, 2), 0,
            "tx = T.env_thread(\"threadIdx.x\")\n"
            "with T.launch_thread(tx, 4):\n"
            "    T.evaluate(tx + 1)\n"
            "T.launch_thread(tx, 4)\n"
            "T.evaluate(tx + 1)");
    ml_Attr k = {.node = ml_val_int(cx, 0),
                 .key = "tir.key",
                 .value = ml_val_string(cx, ml_str("v")),
                 .body = ml_evaluate(cx, I(1))};
    stmt_is(ml_attr_from(cx, &k), ML_NEWEST,
            "T.attr(0, \"tirx.key\", \"v\")\nT.evaluate(1)");
}

static void branches_assertions_and_jumps(void **state)
{
    (void)state;
    static const char *const PARTS[] = {"m", "n"};
    const ml_Expr *c = ml_lt(cx, V(var("i")), I(4));
    const ml_Stmt *one = ml_evaluate(cx, I(1)), *inner = ml_if(cx, c, one, NULL);
    stmt_is(ml_if(cx, c, one, inner), 0,
            "i = T.int32()\n"
            "if i < 4:\n    T.evaluate(1)\nelse:\n    if i < 4:\n        T.evaluate(1)");
    stmt_is(ml_while(cx, c, ml_break(cx)), 0, "i = T.int32()\nwhile i < 4:\n    break");
    ml_Assert a = {.cond = c, .error = "RuntimeError", .n_parts = 1, .parts = PARTS};
    stmt_is(ml_assert_from(cx, &a), 0, "i = T.int32()\nassert i < 4, \"m\"");
    a.error = "ValueError";
    a.n_parts = 2;
    stmt_is(ml_assert_from(cx, &a), 0,
            "i = T.int32()\nassert i < 4, (\"ValueError\", [\"m\", \"n\"])");
    stmt_is(ml_return(cx, I(3)), 0, "return 3");
}

/* ---- 12.2, 12.6: the sum of the manual, by hand */
static const ml_Func *scale_sum(ml_Spelling spelling)
{
    const ml_Var *n = var("n");
    const ml_Expr *xs[] = {V(n), I(48)}, *ys[] = {V(n)};
    const ml_Buffer *X = ml_buffer_new(cx, "X", ML_DT_F32, xs, 2, "global");
    const ml_Buffer *Y = ml_buffer_new(cx, "Y", ML_DT_F32, ys, 1, "global");
    const ml_Buffer *S = ml_buffer_new(cx, "S", ML_DT_F32, xs, 2, "global");
    ml_FuncParam params[] = {{ml_var_new(cx, "x", ML_DT_HANDLE), X},
                             {ml_var_new(cx, "y", ML_DT_HANDLE), Y}};
    const ml_Var *r = var("r"), *c = var("c"), *vr = var("vr"), *vc = var("vc");
    const ml_Expr *rc[] = {V(vr), V(vc)};
    ml_Range at[] = {{V(vr), I(1)}, {V(vc), I(1)}};
    ml_Region read = {X, at}, write = {S, at};
    ml_Iter it[] = {{.var = vr, .min = I(0), .extent = V(n), .value = V(r)},
                    {.var = vc, .min = I(0), .extent = I(48), .value = V(c)}};
    ml_Block b = {.tag = ml_fresh_uid(cx),
                  .name = "scale",
                  .predicate = ml_bool(cx, true),
                  .n_iters = 2,
                  .n_reads = 1,
                  .n_writes = 1,
                  .iters = it,
                  .reads = &read,
                  .writes = &write};
    b.body = ml_store(cx, S, ml_mul(cx, ml_load(cx, X, rc, 2), F(0.5)), rc, 2, NULL);
    const ml_Stmt *one = ml_block_from(cx, &b);
    one = ml_serial(cx, r, I(0), V(n), ml_serial(cx, c, I(0), I(48), one));

    const ml_Var *r2 = var("r"), *co = var("co"), *ci = var("ci"), *wr = var("vr"),
                 *wc = var("vc");
    const ml_Expr *at2[] = {V(wr), V(wc)};
    ml_Range rs[] = {{V(wr), I(1)}, {V(wc), I(1)}};
    ml_Region rd = {S, rs}, wt = {Y, rs};
    ml_Iter it2[] = {{.var = wr, .min = I(0), .extent = V(n), .value = V(r2)},
                     {.var = wc,
                      .min = I(0),
                      .extent = I(48),
                      .kind = ML_ITER_REDUCE,
                      .value = ml_add(cx, ml_mul(cx, V(co), I(4)), V(ci))}};
    ml_Block s = {.tag = ml_fresh_uid(cx),
                  .name = "sum",
                  .predicate = ml_bool(cx, true),
                  .n_iters = 2,
                  .n_reads = 1,
                  .n_writes = 1,
                  .iters = it2,
                  .reads = &rd,
                  .writes = &wt};
    s.init = set1(Y, V(wr), F(0));
    s.body = set1(Y, V(wr), ml_add(cx, at1(Y, V(wr)), ml_load(cx, S, at2, 2)));
    const ml_Stmt *two = ml_block_from(cx, &s);
    two = ml_serial(cx, ci, I(0), I(4), two);
    two = ml_serial(cx, r2, I(0), V(n), ml_serial(cx, co, I(0), I(12), two));
    const ml_Stmt *both[] = {one, two};
    ml_Block root = {.tag = ml_fresh_uid(cx),
                     .name = "root",
                     .predicate = ml_bool(cx, true),
                     .n_allocs = 1,
                     .allocs = &S,
                     .body = ml_seq(cx, both, 2)};
    /* everything that was built on this stack lives on in a fresh copy */
    const ml_Stmt *body = ml_stmt_copy_fresh(cx, ml_block_from(cx, &root), NULL);
    ml_Func f = func(params, 2, body);
    f.name = "scale_sum";
    f.spelling = spelling;
    f.attrs =
        ml_dict_with(cx, NULL, "global_symbol", ml_val_string(cx, ml_str("scale_sum")));
    return ml_func_from(cx, &f);
}

static const char NEWEST_TEXT[] = "# from tvm.script import tirx as T\n"
                                  "\n"
                                  "@T.prim_func(s_tir=True)\n"
                                  "def scale_sum(X: T.Buffer((\"n\", 48), \"float32\"), Y: "
                                  "T.Buffer((n,), \"float32\")):\n"
                                  "    # with T.sblock(\"root\"):\n"
                                  "    S = T.sblock_alloc_buffer((n, 48))\n"
                                  "    for r, c in T.grid(n, 48):\n"
                                  "        with T.sblock(\"scale\"):\n"
                                  "            vr, vc = T.axis.remap(\"SS\", [r, c])\n"
                                  "            T.reads(X[vr, vc])\n"
                                  "            T.writes(S[vr, vc])\n"
                                  "            S[vr, vc] = X[vr, vc] * T.float32(0.5)\n"
                                  "    for r, co, ci in T.grid(n, 12, 4):\n"
                                  "        with T.sblock(\"sum\"):\n"
                                  "            vr = T.axis.spatial(n, r)\n"
                                  "            vc = T.axis.reduce(48, co * 4 + ci)\n"
                                  "            T.reads(S[vr, vc])\n"
                                  "            T.writes(Y[vr])\n"
                                  "            with T.init():\n"
                                  "                Y[vr] = T.float32(0.0)\n"
                                  "            Y[vr] = Y[vr] + S[vr, vc]";

static void the_example_of_the_manual_prints_as_there(void **state)
{
    (void)state;
    ml_Text t = {0};
    ml_print_func(cx, &t, scale_sum(ML_NEWEST), NULL);
    expect(&t, NEWEST_TEXT);
    ml_print_func(cx, &t, scale_sum(ML_CLASSIC), NULL);
    static const char HEAD[] = "# from tvm.script import tir as T\n"
                               "\n"
                               "@T.prim_func\n"
                               "def scale_sum(x: T.handle, y: T.handle):\n"
                               "    n = T.int32()\n"
                               "    X = T.match_buffer(x, (n, 48))\n"
                               "    Y = T.match_buffer(y, (n,))\n"
                               "    # with T.block(\"root\"):\n"
                               "    S = T.alloc_buffer((n, 48))\n";
    assert_int_equal(strncmp(ml_text_z(&t), HEAD, sizeof HEAD - 1), 0);
    ml_text_free(&t);
}

static void parameters_print_in_the_shortest_form_that_keeps_all(void **state)
{
    (void)state;
    const ml_Var *n = var("n"), *h = ml_var_new(cx, "h", ML_DT_HANDLE);
    const ml_Expr *shape[] = {V(n), I(4)};
    const ml_Buffer *A = ml_buffer_new(cx, "A", ML_DT_F32, shape, 2, "global");
    ml_FuncParam p[] = {{n, NULL}, {h, A}};
    const ml_Stmt *one = ml_evaluate(cx, I(1));
    ml_Func f = func(p, 2, one);
    func_is(&f, ML_CLASSIC,
            "@T.prim_func\ndef main(n: T.int32, A: T.Buffer((n, 4), \"float32\")):\n"
            "    T.evaluate(1)");
    ml_Func g = func(p, 2, ml_evaluate(cx, V(h)));
    func_is(&g, ML_CLASSIC,
            "@T.prim_func\ndef main(n: T.int32, h: T.handle):\n"
            "    A = T.match_buffer(h, (n, 4))\n    T.evaluate(h)");
    /* stride and offset variables of its own */
    ml_Buffer b = *ml_buffer_new(cx, "B", ML_DT_F32, shape, 2, "global");
    const ml_Expr *strides[] = {V(var("s0")), V(var("s1"))};
    b.strides = strides;
    b.n_strides = 2;
    b.elem_offset = V(var("off"));
    b.offset_factor = 1;
    const ml_Buffer *B = ml_buffer_from(cx, &b, true);
    ml_FuncParam q[] = {{h, B}};
    ml_Func k = func(q, 1, ml_evaluate(cx, ml_add(cx, strides[0], b.elem_offset)));
    k.attrs = NULL;
    func_is(&k, ML_CLASSIC,
            "@T.prim_func(private=True)\ndef main(h: T.handle):\n"
            "    n = T.int32()\n"
            "    B = T.match_buffer(h, (n, 4), strides=(\"s0\", \"s1\"), offset_factor=1)\n"
            "    T.evaluate(B.strides[0] + B.elem_offset)");
    func_is(&k, ML_NEWEST,
            "@T.prim_func(private=True, s_tir=True)\n"
            "def main(B: T.Buffer((\"n\", 4), \"float32\", strides=(\"s0\", \"s1\"), "
            "offset_factor=1)):\n"
            "    T.evaluate(B.strides[0] + B.elem_offset)");
    b.elem_offset = I(0);
    b.n_strides = 0;
    b.offset_factor = 8;
    ml_FuncParam z[] = {{h, ml_buffer_from(cx, &b, true)}};
    ml_Func o = func(z, 1, one);
    func_is(&o, ML_CLASSIC,
            "@T.prim_func\ndef main(h: T.handle):\n    n = T.int32()\n"
            "    B = T.match_buffer(h, (n, 4), elem_offset=0, offset_factor=8)\n"
            "    T.evaluate(1)");
}

static void a_module_prints_by_name_with_main_last(void **state)
{
    (void)state;
    ml_Func f = func(NULL, 0, ml_evaluate(cx, I(1))), g = f;
    g.name = "z";
    g.ret = ML_DT_I32;
    const ml_Func *fs[] = {ml_func_from(cx, &f), ml_func_from(cx, &g)};
    ml_Text t = {0};
    ml_print_module(cx, &t, ml_module_new(cx, fs, 2, NULL), NULL);
    expect(&t,
           "# from tvm.script import ir as I\n# from tvm.script import tir as T\n\n"
           "@I.ir_module\nclass Module:\n"
           "    @T.prim_func\n    def z() -> T.int32:\n"
           "        T.func_attr({\"global_symbol\": \"main\"})\n        T.evaluate(1)\n\n"
           "    @T.prim_func\n    def main():\n        T.evaluate(1)");
    ml_print_module(cx, &t, ml_module_new(cx, NULL, 0, NULL), NULL);
    expect(&t, "# from tvm.script import ir as I\n\n@I.ir_module\nclass Module:\n    pass");
}

/* A function is looked for by its name in what was read. */
static void functions_keep_letters_beyond_ascii(void **state)
{
    (void)state;
    static const char *const names[] = {"\xc3\xa9", "\xc3\xb6_2", "a b\xc3\xa9", "\xff"};
    static const char *const printed[] = {"def \xc3\xa9():\n        T.evaluate(0)",
                                          "def \xc3\xb6_2():\n        T.evaluate(1)",
                                          "def a_b\xc3\xa9():\n", "def _():\n"};
    const ml_Func *fs[4];
    ml_Text t = {0};
    for (int k = 0; k < 4; k++) {
        ml_Func f = func(NULL, 0, ml_evaluate(cx, I(k)));
        f.name = names[k];
        f.attrs = NULL;
        fs[k] = ml_func_from(cx, &f);
    }
    ml_print_module(cx, &t, ml_module_new(cx, fs, 4, NULL), NULL);
    for (int k = 0; k < 4; k++)
        assert_non_null(strstr(ml_text_z(&t), printed[k]));
    ml_text_clear(&t);
    ml_print_module(cx, &t, ml_module_new(cx, fs, 2, NULL), NULL);
    ml_Parsed p = ml_parse(cx, ml_str(ml_text_z(&t)), NULL);
    assert_non_null(p.mod);
    assert_non_null(ml_module_find(p.mod, names[0]));
    assert_non_null(ml_module_find(p.mod, names[1]));
    ml_text_free(&t);
}

/* ---- options */
static void marks_point_at_what_they_name(void **state)
{
    (void)state;
    ml_TextMarks marks = {0};
    ml_PrintOpts o = {.spelling = ML_NEWEST, .marks = &marks, .marks_cx = cx};
    const ml_Func *f = scale_sum(ML_NEWEST);
    ml_Text t = {0};
    ml_print_func(cx, &t, f, &o);
    size_t loops = 0, iters = 0, blocks = 0;
    for (size_t k = 0; k < marks.n; k++) {
        const ml_TextMark *m = &marks.v[k];
        const char *line = t.p;
        for (uint32_t l = 1; l < m->line; l++)
            line = strchr(line, '\n') + 1;
        const char *at = line + m->col - 1;
        assert_true(m->len > 0 && m->last_line >= m->line);
        if (m->kind == ML_MARK_LOOP) {
            static const char *const WANT[] = {"r", "c", "r", "co", "ci"};
            assert_int_equal(m->len, strlen(WANT[loops]));
            assert_memory_equal(at, WANT[loops], m->len);
            assert_int_equal(m->uid, ml_stmt_uid(m->stmt));
            assert_int_equal(m->last_line, loops < 2 ? 12 : 21);
            loops++;
        } else if (m->kind == ML_MARK_ITER) {
            assert_int_equal(m->aux, iters % 2);
            assert_memory_equal(at, iters % 2 ? "vc" : "vr", 2);
            iters++;
        } else if (m->kind == ML_MARK_BLOCK) {
            static const char *const WANT[] = {
                "# with T.sblock(\"root\"):", "with T.sblock(\"scale\"):",
                "with T.sblock(\"sum\"):"};
            assert_int_equal(m->len, strlen(WANT[blocks]));
            assert_memory_equal(at, WANT[blocks], m->len);
            blocks++;
        }
    }
    assert_int_equal(loops, 5);
    assert_int_equal(iters, 4);
    assert_int_equal(blocks, 3);
    ml_text_free(&t);
}

static void expressions_asked_for_are_marked(void **state)
{
    (void)state;
    const ml_Expr *i = V(var("i")), *sum = ml_add(cx, i, I(1));
    const ml_Expr *e = ml_mul(cx, sum, I(4));
    ml_TextMarks marks = {0};
    ml_PrintOpts o = {
        .marks = &marks, .marks_cx = cx, .mark_exprs = &sum, .n_mark_exprs = 1};
    ml_Text t = {0};
    ml_print_expr(cx, &t, e, &o);
    assert_int_equal(marks.n, 1);
    assert_int_equal(marks.v[0].col, 1);
    assert_int_equal(marks.v[0].len, strlen("(i + 1)"));
    expect(&t, "(i + 1) * 4");
}

static void display_names_are_used_as_given_and_others_avoid_them(void **state)
{
    (void)state;
    const ml_Var *i = var("a"), *x = var("k_1");
    const ml_Stmt *two[] = {ml_bind(cx, x, I(3)), ml_evaluate(cx, ml_add(cx, V(x), V(i)))};
    const ml_Stmt *s = ml_serial(cx, i, I(0), I(4), ml_seq(cx, two, 2));
    ml_Map *map = ml_map_new(cx);
    ml_map_set(cx, map, i->uid, "k_1");
    ml_Names names = {map};
    ml_PrintOpts o = {.names = &names};
    ml_Text t = {0};
    ml_print_stmt(cx, &t, s, &o);
    expect(&t, "for k_1 in range(4):\n    k_1_1: T.int32 = 3\n    T.evaluate(k_1_1 + k_1)");
}

static void underlines_labels_and_context(void **state)
{
    (void)state;
    const ml_Stmt *list[9];
    for (int k = 0; k < 9; k++)
        list[k] = ml_evaluate(cx, I(k + 1));
    const ml_Stmt *s = ml_seq(cx, list, 9);
    const char *label = "here";
    ml_PrintOpts o = {
        .underline = &list[4], .labels = &label, .n_underline = 1, .context = 1};
    ml_Text t = {0};
    ml_print_stmt(cx, &t, s, &o);
    expect(
        &t,
        "(... 3 lines skipped ...)\nT.evaluate(4)\nT.evaluate(5)  # here\n^^^^^^^^^^^^^\n"
        "T.evaluate(6)\n(... 3 lines skipped ...)");
    const ml_Stmt *loop = ml_serial(cx, var("i"), I(0), I(4), list[0]);
    ml_PrintOpts u = {
        .underline = &loop, .labels = &label, .n_underline = 1, .no_sugar = true};
    ml_print_stmt(cx, &t, loop, &u);
    expect(&t, "# here\nfor i in range(4):\n^^^^^^^^^^^^^^^^^^\n    T.evaluate(1)");
}

static void no_sugar_shows_the_root_and_every_loop(void **state)
{
    (void)state;
    ml_Text t = {0};
    ml_PrintOpts o = {.spelling = ML_CLASSIC, .no_sugar = true, .no_header = true};
    ml_print_func(cx, &t, scale_sum(ML_CLASSIC), &o);
    assert_non_null(
        strstr(ml_text_z(&t), "    with T.block(\"root\"):\n        T.reads()\n"));
    assert_non_null(strstr(ml_text_z(&t), "vc = T.axis.spatial(48, c)\n"));
    assert_null(strstr(ml_text_z(&t), "T.grid"));
    ml_text_free(&t);
}

static void regions_that_reading_infers_are_left_out_on_demand(void **state)
{
    (void)state;
    ml_Text t = {0};
    ml_PrintOpts o = {.spelling = ML_CLASSIC, .regions_auto = true, .no_header = true};
    ml_print_func(cx, &t, scale_sum(ML_CLASSIC), &o);
    assert_null(strstr(ml_text_z(&t), "T.reads"));
    assert_null(strstr(ml_text_z(&t), "T.writes"));
    assert_non_null(strstr(ml_text_z(&t), "T.init()"));
    ml_text_free(&t);
}

static void marks_of_the_context_have_no_say_in_what_is_printed(void **state)
{
    (void)state;
    ml_Text a = {0}, b = {0};
    ml_PrintOpts o = {.spelling = ML_CLASSIC, .regions_auto = true, .no_header = true};
    const ml_Func *f = scale_sum(ML_CLASSIC);
    ml_print_func(cx, &a, f, &o);
    ml_ctx_mark_overflow(cx, INT64_MAX);
    ml_print_func(cx, &b, f, &o);
    assert_string_equal(ml_text_z(&a), ml_text_z(&b));
    assert_true(ml_ctx_overflowed(cx)); /* and they stay as they were */
    ml_ctx_clear_marks(cx);
    ml_text_free(&a);
    ml_text_free(&b);
}

/* P[vi + 1] and what inference makes of it have numbers of different contexts. */
static void a_program_of_another_context_is_asked_for_its_regions_too(void **state)
{
    (void)state;
    static const char text[] = "@T.prim_func\n"
                               "def f(A: T.Buffer((20,)), P: T.Buffer((20,), \"int32\")):\n"
                               "    for i in range(16):\n"
                               "        with T.block(\"o\"):\n"
                               "            vi = T.axis.spatial(16, i)\n"
                               "            for j in range(P[vi + 1] - P[vi]):\n"
                               "                A[P[vi] + j] = 1.0\n";
    ml_PrintOpts o = {.spelling = ML_CLASSIC, .regions_auto = true};
    ml_Text t = {0};
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);
    ml_Ctx *other = ml_ctx_new(0);
    assert_non_null(p.mod);
    ml_print_module(other, &t, p.mod, &o);
    assert_null(strstr(ml_text_z(&t), "T.reads"));
    ml_text_free(&t);
    ml_ctx_unref(other);
}

/* The loads in the regions themselves come after those of the body, when it is read. */
static void the_order_of_inferred_regions_is_that_of_reading(void **state)
{
    (void)state;
    static const char text[] = "@T.prim_func\n"
                               "def f(A: T.Buffer((20,)), P: T.Buffer((20,), \"int32\"),\n"
                               "      Q: T.Buffer((20,), \"int32\")):\n"
                               "    for i in range(16):\n"
                               "        with T.block(\"o\"):\n"
                               "            vi = T.axis.spatial(16, i)\n"
                               "            A[vi] = A[vi] + A[Q[P[vi]]]\n";
    ml_PrintOpts o = {.spelling = ML_CLASSIC, .regions_auto = true};
    ml_Text t = {0};
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);
    assert_non_null(p.mod);
    ml_print_module(cx, &t, p.mod, &o);
    assert_null(strstr(ml_text_z(&t), "T.reads"));
    ml_text_free(&t);
}

static void diagnostics_print_with_lines_and_carets(void **state)
{
    (void)state;
    ml_Diag d = {.code = "E310",
                 .message = "`vk` is already defined in this scope",
                 .span = {"conv.py", 3, 3, 3, 5, NULL},
                 .n_notes = 2,
                 .help = "use another name"};
    d.notes[0].span = (ml_Span){"conv.py", 1, 3, 1, 5, NULL};
    d.notes[0].text = "first defined here";
    d.notes[1].span = d.span;
    d.notes[1].text = "second definition";
    ml_Text t = {0};
    ml_diag_print(&t, &d, ml_str("  vk = 1\n\n\tfvk = 2\n"));
    expect(&t, "error[E310]: `vk` is already defined in this scope\n"
               " --> conv.py:3:3\n"
               "   |\n"
               " 1 |   vk = 1\n"
               "   |   -- first defined here\n"
               " 3 |  fvk = 2\n"
               "   |   ^^ second definition\n"
               "   = help: use another name\n");
}

static void printing_twice_gives_the_same_bytes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        ml_Ctx *own = ml_ctx_new(0);
        RandomIr how = {
            .seed = seed, .spelling = (int)(seed & 1), .no_blocks = seed % 5 == 0};
        const ml_Func *f = random_func(own, &how);
        ml_Text a = {0}, b = {0};
        ml_print_func(own, &a, f, NULL);
        ml_print_func(cx, &b, f, NULL);
        assert_string_equal(ml_text_z(&a), ml_text_z(&b));
        assert_null(strstr(a.p, " \n"));
        ml_text_clear(&a);
        ml_text_clear(&b);
        ml_PrintOpts o = {.spelling = -1, .regions_auto = true};
        ml_print_func(own, &a, f, &o);
        ml_print_func(cx, &b, f, &o);
        assert_string_equal(ml_text_z(&a), ml_text_z(&b));
        ml_text_free(&a);
        ml_text_free(&b);
        ml_ctx_unref(own);
    }
}

static void many_names_with_one_hint_are_not_tried_again_and_again(void **state)
{
    (void)state;
    enum { N = 4000 };
    const ml_Stmt **list = ML_ARRAY(cx, const ml_Stmt *, N);
    for (size_t k = 0; k < N; k++)
        list[k] = ml_bind(cx, var("x"), I((int64_t)k + 1));
    const ml_Stmt *s = ml_seq(cx, list, N);
    ml_Text t = {0};
    clock_t begin = clock();
    ml_print_stmt(cx, &t, s, NULL);
    double ms = 1000.0 * (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_non_null(strstr(t.p, "x_3999: T.int32 = 4000"));
    ml_text_free(&t);
    assert_true(ms < 500); /* 8 million attempts would take longer */
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(literals_are_typed_unless_int32),
        T(operators_print_only_where_reading_rebuilds_the_node),
        T(parentheses_follow_precedence),
        T(calls_print_raw_where_their_helper_would_change_them),
        T(vectors_print_as_slices_in_indices_and_by_name_elsewhere),
        T(regions_print_points_and_ranges),
        T(constants_print_plain_and_dicts_sorted),
        T(serial_loops_join_to_a_grid),
        T(loop_headers_say_their_kind),
        T(sibling_loops_share_a_name_and_inner_ones_get_suffixes),
        T(bindings_declarations_and_cells_follow_the_spelling),
        T(attributes_print_with_only_before_other_statements),
        T(branches_assertions_and_jumps),
        T(the_example_of_the_manual_prints_as_there),
        T(parameters_print_in_the_shortest_form_that_keeps_all),
        T(a_module_prints_by_name_with_main_last),
        T(functions_keep_letters_beyond_ascii),
        T(marks_point_at_what_they_name),
        T(expressions_asked_for_are_marked),
        T(display_names_are_used_as_given_and_others_avoid_them),
        T(underlines_labels_and_context),
        T(no_sugar_shows_the_root_and_every_loop),
        T(regions_that_reading_infers_are_left_out_on_demand),
        T(marks_of_the_context_have_no_say_in_what_is_printed),
        T(a_program_of_another_context_is_asked_for_its_regions_too),
        T(the_order_of_inferred_regions_is_that_of_reading),
        T(diagnostics_print_with_lines_and_carets),
        T(printing_twice_gives_the_same_bytes),
        T(many_names_with_one_hint_are_not_tried_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

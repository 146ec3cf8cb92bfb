/* The estimate of operations: rows T10 and T11 of ir-and-analysis 6.7. */
#include "../core/core_test.h"
#include "verify/verify_test.h"

#define I4  "    "
#define I8  I4 I4
#define I12 I8 I4
#define I16 I8 I8
#define V64 "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")"

#define V64_N V64 ", N: T.Buffer((64,), \"int32\")"

static void expect(const char *params, const char *body, double flops)
{
    Prog g = prog_any(params, body);
    double have = ml_flops(g.cx, g.p.mod->funcs[0]);

    if (have < flops || have > flops)
        print_message("have %g, expected %g\n", have, flops);
    assert_true(have >= flops && have <= flops);
    prog_free(&g);
}

static void t10_a_matmul_counts_two_per_point_and_no_init(void **state)
{
    expect("A: T.Buffer((16, 4), \"float32\"), B: T.Buffer((4, 8), \"float32\"), C: "
           "T.Buffer((16, 8), \"float32\")",
           I4 "for i, j, k in T.grid(16, 8, 4):\n" I8 "with T.block(\"b\"):\n" I12
              "vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n" I12 "with T.init():\n" I16
              "C[vi, vj] = T.float32(0) + A[vi, vk]\n" I12
              "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n",
           1024);
}

static void t11_an_unknown_extent_counts_once(void **state)
{
    const char *head = "a: T.handle, n: T.int32";

    expect(head,
           I4 "A = T.match_buffer(a, (n,))\n" I4 "for i in range(n):\n" I8
              "A[i] = A[i] + A[i]\n",
           1);
    expect(head,
           I4 "A = T.match_buffer(a, (n,))\n" I4 "for i in range(n):\n" I8
              "A[i] = T.exp(A[i] + A[i])\n",
           1);
    expect(head,
           I4 "A = T.match_buffer(a, (n,))\n" I4 "for i in range(T.min(n, 8)):\n" I8
              "A[i] = A[i] + A[i]\n",
           8);
}

static void only_values_count(void **state)
{
    expect(V64, I4 "for i in range(32):\n" I8 "B[i + 32] = A[i + 1]\n", 0);
    expect(V64, I4 "for i in range(10):\n" I8 "B[i] = T.exp(A[i + 1] * A[i])\n", 10);
    expect(V64, I4 "for i in range(10):\n" I8 "T.evaluate(i + 1)\n", 0);
    expect(V64, I4 "for i in range(0):\n" I8 "B[i] = A[i] * A[i]\n", 0);
}

static void the_dearer_arm_counts_per_dtype(void **state)
{
    expect(V64_N,
           I4 "for i in range(10):\n" I8 "if N[i] < 3:\n" I12
              "B[i] = A[i] * A[i] + A[i]\n" I8 "else:\n" I12 "B[i] = A[i] + A[i]\n",
           20);
    expect(V64_N,
           I4 "for i in range(10):\n" I8 "if N[i] < 3:\n" I12
              "B[i] = A[i] * A[i] + A[i]\n" I8 "else:\n" I12
              "B[i] = T.cast(N[i] * 3 + N[i], \"float32\")\n",
           40);
    expect(V64_N,
           I4 "for i in range(10):\n" I8
              "B[i] = T.Select(N[i] + 1 < 3, A[i] * A[i], A[i])\n",
           20);
}

static void a_condition_on_loops_counts_what_runs(void **state)
{
    expect(V64,
           I4 "for i in range(10):\n" I8 "if i < 3:\n" I12 "B[i] = A[i] * A[i] + A[i]\n" I8
              "else:\n" I12 "B[i] = A[i] + A[i]\n",
           13);
    expect(V64,
           I4 "for i_0, i_1 in T.grid(7, 16):\n" I8 "with T.block(\"B\"):\n" I12
              "T.where(i_0 * 16 + i_1 < 100)\n" I12
              "vi = T.axis.spatial(100, i_0 * 16 + i_1)\n" I12 "B[0] = A[vi % 64] + A[0]\n",
           100);
}

static void index_arithmetic_counts_nowhere(void **state)
{
    static const struct {
        const char *body;
        double flops;
    } cases[] = {
        {"B[i] = T.cast(i * 3 + 1, \"float32\")", 0},
        {"B[i] = T.cast(i * 3 + 1, \"float32\") + T.float32(1)", 10},
        {"B[i] = T.if_then_else(i * 2 + 1 >= 3 and i % 4 < 2, A[i] + A[i], T.float32(0))",
         5},
        {"B[i] = T.if_then_else(A[i] + T.float32(1) > T.float32(0), A[i], T.float32(0))",
         10},
        {"B[i] = A[T.max(i - 1, 0)]", 0},
        {"N[i] = N[i] * 3 + 1", 20},
        {"N[i] = N[i * 2] * (i * 3 + 1)", 10},
        {"N[i] = T.if_then_else(N[i] + 1 > 0, N[i], i + 1)", 10},
        {"N[i] = T.max(T.min(N[i], 127), -128)", 20},
        {"x: T.int32 = i * 2 + 1\n" I8 "N[i] = x + 1", 0},
        {"x: T.int32 = N[i] * 2\n" I8 "N[i] = x + 1", 20},
        {"x: T.int32 = N[i]\n" I8 "y: T.int32 = x + 1\n" I8 "N[i] = y + i", 20},
        {"if i * 2 + 1 < 7:\n" I12 "B[i] = A[i] + A[i]", 3},
    };

    (void)state;
    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        ml_Text body = {0};

        ml_text_fmt(&body, I4 "for i in range(10):\n" I8 "%s\n", cases[k].body);
        print_message("%s\n", cases[k].body);
        expect(V64_N, ml_text_z(&body), cases[k].flops);
        ml_text_free(&body);
    }
}

static void an_attribute_overrides_the_count(void **state)
{
    expect(V64,
           I4 "T.func_attr({\"estimated_flops\": 77})\n" I4 "for i in range(64):\n" I8
              "B[i] = A[i] + A[i]\n",
           77);
}

static void extents_that_are_not_known_give_an_expression(void **state)
{
    static const struct {
        const char *body, *count; /* NULL: known; "": no expression */
    } cases[] = {
        {"    for i in range(n):\n        C[0] = C[0] + A[i]\n", "n"},
        {"    for i, j in T.grid(n, 4):\n        C[0] = C[0] + A[i] * A[j]\n", "n * 8"},
        {"    for i in range(8):\n        C[0] = C[0] + A[i]\n", NULL},
        {"    for i in range(n):\n        for j in range(i):\n"
         "            C[0] = C[0] + A[j]\n",
         ""},
        {"    for i in range(8):\n        if i < 4:\n            for j in range(n):\n"
         "                C[0] = C[0] + A[j]\n",
         "n * 4"},
    };

    (void)state;
    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        Prog g =
            prog_any("A: T.Buffer((64,), \"float32\"), C: T.Buffer((64,), \"float32\"), "
                     "n: T.int32",
                     cases[k].body);
        const ml_Expr *e;
        ml_Text t = {0};
        bool open = ml_flops_symbolic(g.cx, g.p.mod->funcs[0], NULL, &e);

        assert_true(open == (cases[k].count != NULL));
        if (e)
            ml_print_expr(g.cx, &t, e, &(ml_PrintOpts){.spelling = -1, .plain = true});
        if (open)
            assert_string_equal(ml_text_z(&t), cases[k].count);
        ml_text_free(&t);
        prog_free(&g);
    }
}

/* ---- against what is executed: random nests are run, operations and bytes counted */

typedef struct Run {
    ml_Ctx *cx;
    Rng rng;
    const ml_Buffer *a;
    const ml_Var *loops[4];
    int64_t at[4];
    size_t n; /* loops around */
    /* of the run */
    int64_t ops, now, most;
} Run;

static const ml_Expr *any_value(Run *r, int depth)
{
    const ml_Expr *i = ml_i32(r->cx, 3);
    const ml_Expr *load = ml_load(r->cx, r->a, &i, 1);

    if (depth == 0 || rng_below(&r->rng, 4) == 0)
        return load;
    const ml_Expr *x = any_value(r, depth - 1), *y = any_value(r, depth - 1);

    switch (rng_below(&r->rng, 5)) {
    case 0: return ml_add(r->cx, x, y);
    case 1: return ml_mul(r->cx, x, y);
    case 2: return ml_sub(r->cx, x, load);
    case 3: return ml_max(r->cx, x, load);
    default: return ml_cast(r->cx, ML_DT_F32, ml_cast(r->cx, ML_DT_I32, x));
    }
}

static const ml_Stmt *any_stmt(Run *r, int depth)
{
    ml_Ctx *cx = r->cx;
    const ml_Expr *i = ml_i32(cx, 5);

    switch (depth == 0 ? 0 : rng_below(&r->rng, 8)) {
    case 0:
    case 1: return ml_store(cx, r->a, any_value(r, 3), &i, 1, NULL);
    case 2: return ml_bind(cx, ml_var_new(cx, "x", ML_DT_F32), any_value(r, 2));
    case 3: {
        const ml_Expr *n = ml_i32(cx, rng_below(&r->rng, 9));

        return ml_alloc_stmt(cx, ml_buffer_new(cx, "L", ML_DT_F32, &n, 1, "local"), NULL);
    }
    case 4:
    case 5: {
        const ml_Stmt *part[3];
        size_t n = 2 + rng_below(&r->rng, 2);

        for (size_t k = 0; k < n; k++)
            part[k] = any_stmt(r, depth - 1);
        return ml_seq(cx, part, n);
    }
    case 6:
        if (r->n > 0) {
            const ml_Expr *v = ml_var(cx, r->loops[rng_below(&r->rng, (uint32_t)r->n)]);
            const ml_Stmt *yes = any_stmt(r, depth - 1);

            return ml_if(cx, ml_lt(cx, v, ml_i32(cx, rng_below(&r->rng, 4))), yes,
                         rng_below(&r->rng, 2) ? any_stmt(r, depth - 1) : NULL);
        }
        break;
    default: break;
    }
    if (r->n == ML_COUNT(r->loops))
        return any_stmt(r, 0);
    const ml_Var *v = r->loops[r->n++] = ml_var_new(cx, "i", ML_DT_I32);
    const ml_Stmt *body = any_stmt(r, depth - 1);

    r->n--;
    return ml_serial(cx, v, ml_i32(cx, 0), ml_i32(cx, rng_below(&r->rng, 4)), body);
}

static void count(Run *r, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_LOAD)
        return;
    r->ops += e->kind >= ML_EXPR_ADD && e->kind <= ML_EXPR_MAX;
    for (size_t k = 0; k < e->n_args; k++)
        count(r, e->args[k]);
}

static void run(Run *r, const ml_Stmt *s)
{
    int64_t before = r->now;

    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE: count(r, ml_as_store(s)->value); return;
    case ML_STMT_BIND: count(r, ml_as_bind(s)->value); return;
    case ML_STMT_ALLOC:
        r->now += 4 * ml_as_alloc(s)->buffer->shape[0]->as.i;
        r->most = r->now > r->most ? r->now : r->most;
        return;
    case ML_STMT_SEQ:
        for (size_t k = 0; k < ml_as_seq(s)->n; k++)
            run(r, ml_as_seq(s)->stmts[k]);
        return;
    case ML_STMT_IF: {
        const ml_If *f = ml_as_if(s);
        int64_t v = 0;

        for (size_t k = 0; k < r->n; k++)
            if (r->loops[k] == f->cond->args[0]->as.var)
                v = r->at[k];
        bool yes = v < f->cond->args[1]->as.i;

        if (yes)
            run(r, f->then);
        else if (f->other)
            run(r, f->other);
        break;
    }
    case ML_STMT_FOR: {
        const ml_For *f = ml_as_for(s);

        r->loops[r->n++] = f->var;
        for (int64_t k = 0; k < f->extent->as.i; k++) {
            r->at[r->n - 1] = k;
            run(r, f->body);
            r->now = before;
        }
        r->n--;
        break;
    }
    default: fail_msg("unexpected statement");
    }
    r->now = before;
}

static void what_is_said_is_what_is_executed(void **state)
{
    enum { CASES = 5000 };
    size_t exact_bytes = 0;

    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        ml_Ctx *cx = ml_ctx_new(0);
        const ml_Expr *n = ml_i32(cx, 16);
        Run r = {.cx = cx,
                 .rng = {seed * 77 + 5},
                 .a = ml_buffer_new(cx, "A", ML_DT_F32, &n, 1, "global")};
        const ml_Stmt *s = any_stmt(&r, 6);
        const ml_Func *f =
            ml_func_from(cx, &(ml_Func){.name = "main", .body = s, .ret = ML_DT_VOID});
        ml_AllocatedVec v = {0};

        run(&r, s);
        double have = ml_flops(cx, f);

        ml_allocated_memory(cx, f, &v);
        int64_t bytes = v.n ? v.v[0].bytes : 0;

        if (have < (double)r.ops || have > (double)r.ops)
            fail_msg("seed %u: %g operations are said, %lld are done", (unsigned)seed, have,
                     (long long)r.ops);
        /* A loop that is not run takes no memory: only more may be said. */
        if (bytes < r.most)
            fail_msg("seed %u: %lld bytes are said, %lld are there", (unsigned)seed,
                     (long long)bytes, (long long)r.most);
        exact_bytes += bytes == r.most;
        ml_ctx_unref(cx);
    }
    assert_true(exact_bytes > CASES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_that_are_not_known_give_an_expression),
        cmocka_unit_test(t10_a_matmul_counts_two_per_point_and_no_init),
        cmocka_unit_test(t11_an_unknown_extent_counts_once),
        cmocka_unit_test(what_is_said_is_what_is_executed),
        cmocka_unit_test(only_values_count),
        cmocka_unit_test(index_arithmetic_counts_nowhere),
        cmocka_unit_test(the_dearer_arm_counts_per_dtype),
        cmocka_unit_test(a_condition_on_loops_counts_what_runs),
        cmocka_unit_test(an_attribute_overrides_the_count),
    };

    return cmocka_run_group_tests_name("verify flops", tests, NULL, NULL);
}

/* Copies of runs and allocated memory: rows T12 to T14 of ir-and-analysis 6.7, and both
 * against enumeration on random small nests. */
#include "../core/core_test.h"
#include "verify/verify_test.h"

#include <inttypes.h>

#define I4  "    "
#define I8  I4 I4
#define I12 I8 I4

static const ml_Stmt *body_of(const Prog *g)
{
    return g->p.mod->funcs[0]->body;
}

/* from, to: "16:80 -> 0:64"; or why not. */
static void expect(const char *params, const char *body, const char *want)
{
    Prog g = prog_any(params, body);
    const char *why = "";
    ml_Memcpy m;
    char have[200];

    if (ml_is_memcpy(g.cx, g.p.mod->funcs[0], body_of(&g), &m, &why))
        snprintf(have, sizeof have, "%s %" PRId64 "+%" PRId64 " -> %s %" PRId64 "+%" PRId64,
                 m.source->name, m.from.min->as.i, m.from.extent->as.i, m.target->name,
                 m.to.min->as.i, m.to.extent->as.i);
    else
        snprintf(have, sizeof have, "%s", why);
    assert_string_equal(have, want);
    prog_free(&g);
}

#define FLAT   "A: T.Buffer((200,), \"float32\"), B: T.Buffer((200,), \"float32\")"
#define SQUARE "A: T.Buffer((4, 4), \"float32\"), B: T.Buffer((4, 4), \"float32\")"

static void t13_a_shifted_copy_is_a_memcpy(void **state)
{
    (void)state;
    expect(FLAT, I4 "for i in range(64):\n" I8 "B[i] = A[i + 16]\n", "A 16+64 -> B 0+64");
    expect(SQUARE, I4 "for i, j in T.grid(4, 4):\n" I8 "B[i, j] = A[i, j]\n",
           "A 0+16 -> B 0+16");
    expect("A: T.Buffer((4, 4), \"float32\"), B: T.Buffer((20,), \"float32\")",
           I4 "for i, j in T.grid(2, 4):\n" I8 "B[i * 4 + j + 3] = A[i + 1, j]\n",
           "A 4+8 -> B 3+8");
    expect(FLAT, I4 "B[7] = A[3]\n", "A 3+1 -> B 7+1");
}

static void t14_gaps_and_other_orders_are_none(void **state)
{
    (void)state;
    expect(FLAT, I4 "for i in range(64):\n" I8 "B[2 * i] = A[i]\n",
           "the elements are not as many as the iterations");
    expect(SQUARE, I4 "for i, j in T.grid(4, 4):\n" I8 "B[i, j] = A[j, i]\n",
           "source and target go through the loops in different orders");
    expect(SQUARE, I4 "for i, j in T.grid(4, 3):\n" I8 "B[i, j] = A[i, j]\n",
           "an offset is no one-to-one map of the loops");
    expect(FLAT, I4 "for i, j in T.grid(4, 4):\n" I8 "B[i] = A[i]\n",
           "an offset is no one-to-one map of the loops");
    expect(FLAT, I4 "for i in range(64):\n" I8 "B[i] = A[i] + A[i]\n",
           "what is stored is no single load");
    expect(FLAT, I4 "for i in range(64):\n" I8 "B[i] = A[i]\n" I8 "B[i] = A[i]\n",
           "there is more than loops around one store");
    expect(FLAT, I4 "for i in range(64):\n" I8 "B[i] = B[i + 1]\n",
           "source and target are of one buffer");
    expect(FLAT, I4 "for i in T.serial(0, 64, step=2):\n" I8 "B[i] = A[i]\n",
           "a loop has a step");
    expect(FLAT ", X: T.Buffer((64,), \"int32\")",
           I4 "for i in range(64):\n" I8 "B[i] = A[X[i]]\n",
           "an offset is no one-to-one map of the loops");
}

static void symbolic_sizes_are_copied_whole(void **state)
{
    Prog g =
        prog_any("a: T.handle, b: T.handle, n: T.int32", I4
                 "A = T.match_buffer(a, (n, 8))\n" I4 "B = T.match_buffer(b, (n * 8,))\n" I4
                 "for i, j in T.grid(n, 8):\n" I8 "B[i * 8 + j] = A[i, j]\n");
    const char *why = "";
    ml_Memcpy m;

    (void)state;
    if (!ml_is_memcpy(g.cx, g.p.mod->funcs[0], body_of(&g), &m, &why))
        fail_msg("%s", why);
    assert_true(ml_is_int(m.from.min, 0) && !ml_is_const_int(m.from.extent));
    prog_free(&g);
}

/* ---- against enumeration */

typedef struct Loop {
    const ml_Var *v;
    int64_t min, extent, at;
} Loop;

static int64_t eval(const Loop *l, size_t n, const ml_Expr *e)
{
    int64_t a, b;

    if (e->kind == ML_EXPR_INT)
        return e->as.i;
    if (e->kind == ML_EXPR_VAR) {
        for (size_t k = 0; k < n; k++)
            if (l[k].v == e->as.var)
                return l[k].at;
        fail_msg("unknown variable");
    }
    a = eval(l, n, e->args[0]);
    b = eval(l, n, e->args[1]);
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_ADD: return a + b;
    case ML_EXPR_SUB: return a - b;
    case ML_EXPR_MUL: return a * b;
    case ML_EXPR_FLOORDIV: return ml_floordiv_i64(a, b);
    case ML_EXPR_FLOORMOD: return ml_floormod_i64(a, b);
    default: fail_msg("unexpected node");
    }
    return 0;
}

static const ml_Expr *any_index(ml_Ctx *cx, Rng *r, const Loop *l, size_t n)
{
    const ml_Expr *e = NULL;
    int64_t scale = rng_below(r, 9) ? 1 : 2;

    for (size_t k = n; k-- > 0;) { /* a mixed radix, often enough */
        size_t pick = rng_below(r, 6) ? k : rng_below(r, (uint32_t)n);
        const ml_Expr *t = ml_mul(cx, ml_var(cx, l[pick].v), ml_i32(cx, scale));

        e = e ? ml_add(cx, t, e) : t;
        scale *= l[pick].extent;
        scale += rng_below(r, 12) == 0;
    }
    if (rng_below(r, 3) == 0)
        e = ml_add(cx, e, ml_i32(cx, rng_below(r, 9)));
    if (rng_below(r, 8) == 0) {
        const ml_Expr *c = ml_i32(cx, 2 + (int64_t)rng_below(r, 3));

        e = rng_below(r, 2) ? ml_floordiv(cx, e, c) : ml_floormod(cx, e, c);
    }
    return e;
}

static void copies_that_are_claimed_are_copies(void **state)
{
    enum { CASES = 20000, SIDE = 4096 };
    size_t claimed = 0, missed = 0;
    Rng r = {4711};

    (void)state;
    for (size_t at = 0; at < CASES; at++) {
        ml_Ctx *cx = ml_ctx_new(0);
        size_t n = 1 + rng_below(&r, 3), rank[2];
        const ml_Buffer *buf[2];
        const ml_Expr *idx[2][2];
        const ml_Stmt *s;
        const char *why = NULL;
        Loop l[3];
        ml_Memcpy m;

        for (size_t k = 0; k < n; k++)
            l[k] = (Loop){.v = ml_var_new(cx, "i", ML_DT_I32),
                          .min = rng_below(&r, 5) ? 0 : (int64_t)rng_below(&r, 4),
                          .extent = 1 + (int64_t)rng_below(&r, 5)};
        for (size_t b = 0; b < 2; b++) {
            const ml_Expr *e = any_index(cx, &r, l, n), *shape[2], *w;

            rank[b] = 1 + (rng_below(&r, 2) == 0);
            w = ml_i32(cx, 1 + (int64_t)rng_below(&r, 8));
            idx[b][0] = rank[b] == 1 ? e : ml_floordiv(cx, e, w);
            idx[b][1] = rank[b] == 1 ? NULL : ml_floormod(cx, e, w);
            shape[0] = ml_i32(cx, SIDE);
            shape[1] = w;
            buf[b] = ml_buffer_new(cx, b ? "B" : "A", ML_DT_F32, shape, rank[b], "global");
        }
        s = ml_store(cx, buf[1], ml_load(cx, buf[0], idx[0], rank[0]), idx[1], rank[1],
                     NULL);
        for (size_t k = n; k-- > 0;)
            s = ml_serial(cx, l[k].v, ml_i32(cx, l[k].min), ml_i32(cx, l[k].extent), s);

        bool yes = ml_is_memcpy(cx, NULL, s, &m, &why), really = true;
        int64_t low[2] = {INT64_MAX, INT64_MAX}, high[2] = {-1, -1}, delta = 0, points = 0;
        static unsigned char seen[SIDE * 16];

        memset(seen, 0, sizeof seen);
        for (size_t k = 0; k < n; k++)
            l[k].at = l[k].min;
        for (bool go = true; go;) {
            int64_t o[2];
            size_t k = n;

            for (size_t b = 0; b < 2; b++) {
                o[b] = eval(l, n, idx[b][0]);
                if (rank[b] == 2)
                    o[b] = o[b] * buf[b]->shape[1]->as.i + eval(l, n, idx[b][1]);
                low[b] = o[b] < low[b] ? o[b] : low[b];
                high[b] = o[b] > high[b] ? o[b] : high[b];
            }
            if (points++ == 0)
                delta = o[1] - o[0];
            really &= o[1] - o[0] == delta && o[0] >= 0 && !seen[o[0]];
            if (o[0] >= 0)
                seen[o[0]] = 1;
            while (k > 0 && ++l[k - 1].at == l[k - 1].min + l[k - 1].extent)
                k--, l[k].at = l[k].min;
            go = k > 0;
        }
        really &= high[0] - low[0] + 1 == points;
        if (yes && (!really || m.from.min->as.i != low[0] || m.to.min->as.i != low[1] ||
                    m.from.extent->as.i != points || m.to.extent->as.i != points))
            fail_msg("case %zu is no memcpy", at);
        if (!yes && !why)
            fail_msg("case %zu: no reason", at);
        claimed += yes;
        missed += really && !yes;
        ml_ctx_unref(cx);
    }
    print_message("%zu copies, %zu more were not seen\n", claimed, missed);
    assert_true(claimed > CASES / 20 && missed * 10 < claimed);
}

/* ---- allocated memory */

static void allocated(const char *params, const char *body, const char *want)
{
    Prog g = prog_any(params, body);
    ml_AllocatedVec v = {0};
    char have[300] = "";
    size_t at = 0;

    ml_allocated_memory(g.cx, g.p.mod->funcs[0], &v);
    for (size_t k = 0; k < v.n; k++)
        at += (size_t)snprintf(have + at, sizeof have - at, "%s%s %" PRId64, k ? ", " : "",
                               v.v[k].scope, v.v[k].bytes);
    assert_string_equal(have, want);
    prog_free(&g);
}

static void t12_neighbours_add_up_and_loops_do_not(void **state)
{
    static const char one[] = "%sB%d = T.decl_buffer((64,), scope=\"local\")\n"
                              "%sB%d[0] = T.float32(0)\n";
    char body[1000];
    int at = 0;

    (void)state;
    for (int k = 0; k < 2; k++)
        at += snprintf(body + at, sizeof body - (size_t)at, one, I4, k, I4, k);
    allocated("n: T.int32", body, "local 512");
    at = 0;
    for (int k = 0; k < 2; k++) {
        at += snprintf(body + at, sizeof body - (size_t)at, I4 "for i in range(4):\n");
        at += snprintf(body + at, sizeof body - (size_t)at, one, I8, k, I8, k);
    }
    allocated("n: T.int32", body, "local 256");
    allocated("n: T.int32", I4 "T.evaluate(n)\n", "");
}

static void scopes_are_apart_and_blocks_own(void **state)
{
    (void)state;
    allocated("A: T.Buffer((8,), \"float32\"), n: T.int32",
              I4 "S = T.alloc_buffer((4, 8), \"float16\", scope=\"shared\")\n" I4
                 "for i in range(8):\n" I8 "with T.block(\"b\"):\n" I12
                 "v = T.axis.spatial(8, i)\n" I12 "L = T.alloc_buffer((3,), \"int8\", "
                 "scope=\"local\")\n" I12 "U = T.alloc_buffer((n,), scope=\"shared\")\n" I12
                 "L[0] = T.int8(1)\n" I12 "U[0] = T.float32(0)\n" I12
                 "S[0, v] = T.float16(0)\n" I12 "A[v] = T.float32(1)\n",
              "shared 64, local 3");
    allocated("n: T.int32",
              I4 "if n > 0:\n" I8 "X = T.decl_buffer((10,))\n" I8 "X[0] = T.float32(0)\n" I4
                 "else:\n" I8 "X = T.decl_buffer((30,))\n" I8 "X[0] = T.float32(0)\n" I4
                 "Y = T.decl_buffer((5,))\n" I4 "Y[0] = T.float32(0)\n",
              "global 120");
    allocated("n: T.int32",
              I4 "X = T.decl_buffer((4000000000, 4000000000))\n" I4
                 "X[T.int64(0), T.int64(0)] = T.float32(0)\n",
              "global 9223372036854775807");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t13_a_shifted_copy_is_a_memcpy),
        cmocka_unit_test(t14_gaps_and_other_orders_are_none),
        cmocka_unit_test(symbolic_sizes_are_copied_whole),
        cmocka_unit_test(copies_that_are_claimed_are_copies),
        cmocka_unit_test(t12_neighbours_add_up_and_loops_do_not),
        cmocka_unit_test(scopes_are_apart_and_blocks_own),
    };

    return cmocka_run_group_tests_name("verify memcpy", tests, NULL, NULL);
}

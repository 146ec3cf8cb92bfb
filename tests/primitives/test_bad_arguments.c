/*
 * test_bad_arguments - every primitive with thousands of random calls, most of them wrong:
 * a call succeeds, or tells why in a sentence and leaves everything as it was.
 *
 * ML_SEED and ML_CALLS (for each program) change the run; a failure prints both the program
 * and the number of the call.
 */
#include "fixture.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/walk.h"
#include "moonloop/primitives/call/render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_POOL = 64, MAX_STEPS = 24, MAX_LIST = 6, MAX_NAMES = 64 };

typedef struct Pool {
    ml_Handle v[MAX_POOL];
    size_t n;
} Pool;

typedef struct Run {
    Fixture fx;
    ml_Schedule *foreign; /* of another program: its handles mean nothing here */
    ml_Ctx *cx;           /* of the arguments of one call */
    Pool pool;
    uint64_t rnd;
    const char *program;
    int call;
    int accepted, refused;
} Run;

static uint64_t next(Run *r)
{
    r->rnd ^= r->rnd << 13;
    r->rnd ^= r->rnd >> 7;
    r->rnd ^= r->rnd << 17;
    return r->rnd;
}

static size_t below(Run *r, size_t n)
{
    return n ? (size_t)(next(r) % n) : 0;
}

static bool chance(Run *r, unsigned percent)
{
    return below(r, 100) < percent;
}

/* ---- values */

static int64_t any_int(Run *r)
{
    static const int64_t ints[] = {0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   7,
                                   16,
                                   64,
                                   1000,
                                   -1,
                                   -2,
                                   -16,
                                   INT32_MAX,
                                   INT32_MIN,
                                   (int64_t)1 << 31,
                                   (int64_t)1 << 32,
                                   (int64_t)1 << 40,
                                   (int64_t)1 << 62,
                                   ((int64_t)1 << 62) + 1,
                                   INT64_MAX,
                                   INT64_MAX - 1,
                                   INT64_MIN,
                                   INT64_MIN + 1};

    if (chance(r, 50)) /* mostly small ones, or all calls end at the same check */
        return (int64_t)below(r, 9);
    return chance(r, 90) ? ints[below(r, ML_COUNT(ints))] : (int64_t)next(r);
}

static double any_float(Run *r)
{
    const double floats[] = {0.0,
                             -0.0,
                             1.0,
                             2.0,
                             0.5,
                             -1.5,
                             1e18,
                             9.3e18,
                             -1e300,
                             1e-320,
                             (double)NAN,
                             (double)INFINITY,
                             -(double)INFINITY};

    return floats[below(r, ML_COUNT(floats))];
}

static const char *any_string(Run *r)
{
    static const char *const words[] = {"",
                                        "i",
                                        "j",
                                        "k",
                                        "i_0",
                                        "i_1",
                                        "j_0",
                                        "ax0",
                                        "u",
                                        "A",
                                        "B",
                                        "C",
                                        "D",
                                        "C/i",
                                        "C/j",
                                        "C@0",
                                        "B@1",
                                        "C@-1",
                                        "C@99999999999999999999999",
                                        "C@",
                                        "C/",
                                        "C/*",
                                        "*",
                                        "**",
                                        "/",
                                        "@",
                                        "@0",
                                        "//@@**",
                                        "root",
                                        "main",
                                        "global",
                                        "shared",
                                        "shared.dyn",
                                        "local",
                                        "wmma.matrix_a",
                                        "blockIdx.x",
                                        "threadIdx.x",
                                        "threadIdx.w",
                                        "vthread",
                                        "vthread.x",
                                        "read",
                                        "pragma_auto_unroll_max_step",
                                        "software_pipeline_stage",
                                        "buffer_dim_align",
                                        "\xff\xfe\x80",
                                        "\xe2\x82",
                                        "\x01\x02\n\t\"\\",
                                        "%s%n%d",
                                        "nothing of that name"};

    if (chance(r, 3)) {
        char *z = ml_zalloc(r->cx, 5001);

        memset(z, 'i', 5000);
        return z;
    }
    if (chance(r, 5)) {
        char *z = ml_zalloc(r->cx, 9);

        for (int k = 0; k < 8; k++)
            z[k] = (char)(1 + below(r, 255));
        return z;
    }
    return words[below(r, ML_COUNT(words))];
}

static ml_Handle live(Run *r, ml_HandleKind kind)
{
    ml_StmtVec blocks = {0}, found = {0};
    const ml_Module *m = ml_schedule_program(r->fx.s).mod;

    for (uint32_t k = 0; k < m->n; k++)
        ml_all_blocks(r->cx, m->funcs[k]->body, &blocks);
    for (size_t k = 0; k < blocks.n; k++)
        if (kind == ML_H_LOOP)
            ml_index_loops(r->cx, ml_schedule_program(r->fx.s).index,
                           ml_stmt_uid(blocks.v[k]), &found);
    if (kind == ML_H_BLOCK)
        found = blocks;
    if (found.n == 0)
        return (ml_Handle){(uint8_t)kind, 1};
    return (ml_Handle){(uint8_t)kind, ml_stmt_uid(found.v[below(r, found.n)])};
}

static ml_Handle any_handle(Run *r)
{
    switch (below(r, 8)) {
    case 0: return live(r, ML_H_LOOP);
    case 1: return live(r, ML_H_BLOCK);
    case 2: /* of the wrong kind, or of no kind at all */
        return (ml_Handle){(uint8_t)(chance(r, 90) ? below(r, 6) : below(r, 256)),
                           live(r, chance(r, 50) ? ML_H_LOOP : ML_H_BLOCK).uid};
    case 3: return (ml_Handle){(uint8_t)below(r, 6), (ml_Uid)below(r, 200)};
    case 4: return (ml_Handle){(uint8_t)below(r, 6), UINT32_MAX - (ml_Uid)below(r, 2)};
    case 5: { /* of another schedule */
        ml_Handle h;

        if (ml_resolve(r->foreign, "X", ML_H_BLOCK, &h))
            return h;
        return (ml_Handle){ML_H_BLOCK, 1};
    }
    default: /* made by an earlier call: alive, ended or undone */
        return r->pool.n ? r->pool.v[below(r, r->pool.n)] : (ml_Handle){0};
    }
}

static const ml_Expr *leaf(Run *r)
{
    for (size_t k = 0; k < r->pool.n && chance(r, 80); k++) {
        const ml_Expr *y = ml_handle_symbol(r->fx.s, r->pool.v[below(r, r->pool.n)]);

        if (y)
            return y;
    }
    if (chance(r, 10))
        return ml_var(r->cx, ml_var_new(r->cx, "stranger", ML_DT_I32));
    return chance(r, 80) ? ml_i32(r->cx, (int64_t)below(r, 5))
                         : ml_int(r->cx, ML_DT_I64, any_int(r));
}

static const ml_Expr *any_expr(Run *r)
{
    static const ml_ExprKind ops[] = {ML_EXPR_ADD,      ML_EXPR_SUB,      ML_EXPR_MUL,
                                      ML_EXPR_FLOORDIV, ML_EXPR_FLOORMOD, ML_EXPR_DIV,
                                      ML_EXPR_MOD,      ML_EXPR_MIN,      ML_EXPR_MAX};
    const ml_Expr *e = leaf(r);
    size_t n = chance(r, 5) ? 990 : below(r, 5);

    if (chance(r, 5))
        return ml_float(r->cx, ML_DT_F32, any_float(r));
    if (chance(r, 5))
        return ml_bool(r->cx, true);
    for (size_t k = 0; k < n; k++) {
        const ml_Expr *with = leaf(r);

        if (with->type.bits != e->type.bits)
            with = ml_int(r->cx, e->type, (int64_t)below(r, 3));
        size_t op = below(r, ML_COUNT(ops));

        if (op >= 3 && op <= 6 && ml_is_int(with, 0)) /* written down: refused earlier */
            op = 0;
        e = ml_binary(r->cx, ops[op], e, with);
    }
    return e;
}

static ml_Arg any_arg(Run *r, int depth);

static ml_Arg any_list(Run *r, size_t n, int depth)
{
    ml_Arg *v = ML_ARRAY(r->cx, ml_Arg, n + 1);

    for (size_t k = 0; k < n; k++)
        v[k] = any_arg(r, depth + 1);
    return ML_ARG_LIST(v, n);
}

static ml_Arg deep_list(Run *r, size_t depth)
{
    ml_Arg a = ML_ARG_INT(1);

    for (size_t k = 0; k < depth; k++) {
        ml_Arg *v = ML_NEW(r->cx, ml_Arg);

        *v = a;
        a = ML_ARG_LIST(v, 1);
    }
    return a;
}

static ml_Arg any_arg(Run *r, int depth)
{
    static const char *const keys[] = {"a", "", "\xff", "b", "c", "d"};
    ml_Arg a = {0};

    switch (below(r, depth > 4 ? 9 : 13)) {
    case 0: return ML_ARG_AUTO;
    case 1: return ML_ARG_BOOL(chance(r, 50));
    case 2:
    case 3: return ML_ARG_INT(any_int(r));
    case 4: return (ml_Arg){.kind = ML_A_FLOAT, .as.f = any_float(r)};
    case 5: return ML_ARG_STR(any_string(r));
    case 6: return ML_ARG_HANDLE(any_handle(r));
    case 7: return (ml_Arg){.kind = ML_A_EXPR, .as.e = any_expr(r)};
    case 8: return (ml_Arg){.kind = ML_A_BUFFER, .as.buffer = (ml_Uid)below(r, 60)};
    case 9: return ML_ARG_ABSENT;
    case 10:
        if (chance(r, 10))
            return deep_list(r, chance(r, 50) ? 70 : 100000);
        return any_list(r, below(r, MAX_LIST), depth);
    case 11:
        a = any_list(r, below(r, MAX_LIST), depth);
        a.kind = ML_A_DICT;
        a.keys = keys;
        return a;
    default: return any_list(r, chance(r, 5) ? 300 : 1 + below(r, 3), depth + 2);
    }
}

/* One that may well be right, so that calls come further than the first check. */
static ml_Arg likely_arg(Run *r, const ml_Param *pa)
{
    static const char *const scopes[] = {"global", "shared", "local", "warp"},
                             *const threads[] = {"threadIdx.x", "blockIdx.y", "vthread"};

    switch ((ml_ParamKind)pa->kind) {
    case ML_P_BLOCK: return ML_ARG_HANDLE(live(r, ML_H_BLOCK));
    case ML_P_LOOP:
    case ML_P_LOOP_OR_MARK: return ML_ARG_HANDLE(live(r, ML_H_LOOP));
    case ML_P_BLOCK_OR_LOOP:
        return ML_ARG_HANDLE(live(r, chance(r, 50) ? ML_H_LOOP : ML_H_BLOCK));
    case ML_P_LOOP_BLOCKS:
        if (chance(r, 60))
            return ML_ARG_HANDLE(live(r, ML_H_LOOP));
        __attribute__((fallthrough));
    case ML_P_LOOPS:
    case ML_P_BLOCKS: {
        size_t n = 1 + below(r, 3);
        ml_Arg *v = ML_ARRAY(r->cx, ml_Arg, n);

        for (size_t k = 0; k < n; k++)
            v[k] = ML_ARG_HANDLE(live(r, pa->kind == ML_P_LOOPS ? ML_H_LOOP : ML_H_BLOCK));
        return ML_ARG_LIST(v, n);
    }
    case ML_P_FACTORS:
    case ML_P_INTS:
    case ML_P_FLOATS:
    case ML_P_DECISION: {
        size_t n = 1 + below(r, 3);
        ml_Arg *v = ML_ARRAY(r->cx, ml_Arg, n);

        for (size_t k = 0; k < n; k++)
            v[k] =
                k == 0 && pa->kind == ML_P_FACTORS ? ML_ARG_AUTO : ML_ARG_INT(any_int(r));
        return ML_ARG_LIST(v, n);
    }
    case ML_P_BUFFER: {
        ml_Arg *v = ML_ARRAY(r->cx, ml_Arg, 2);

        v[0] = ML_ARG_STR(chance(r, 50) ? "read" : "write");
        v[1] = ML_ARG_INT((int64_t)below(r, 2));
        return ML_ARG_LIST(v, 2);
    }
    case ML_P_PAD: return ML_ARG_INT(any_int(r));
    case ML_P_MAP: return ML_ARG_STR("lambda i, j: (j, i // 4, i % 4)");
    case ML_P_INT: return ML_ARG_INT(any_int(r));
    case ML_P_BOOL: return ML_ARG_BOOL(chance(r, 50));
    case ML_P_STRING:
    case ML_P_KEY:
    case ML_P_NAME: return ML_ARG_STR(any_string(r));
    case ML_P_SCOPE: return ML_ARG_STR(scopes[below(r, ML_COUNT(scopes))]);
    case ML_P_THREAD: return ML_ARG_STR(threads[below(r, ML_COUNT(threads))]);
    case ML_P_READ_BUFFER:
    case ML_P_WRITE_BUFFER: return ML_ARG_INT((int64_t)below(r, 2));
    case ML_P_VALUE: return any_arg(r, 3);
    }
    return ML_ARG_AUTO;
}

/* ---- one call */

typedef struct Before {
    ml_State state;
    ml_Program p;
    int n_versions;
    uint64_t hash;
    bool hashed;
    const char *names[MAX_NAMES];
    ml_Uid uids[MAX_NAMES];
    size_t n;
    bool alive[MAX_POOL];
} Before;

static void note_name(ml_Uid uid, const ml_Stmt *node, void *user)
{
    Before *b = user;

    if (ml_node_is_named(node) && b->n < MAX_NAMES)
        b->uids[b->n++] = uid;
}

static void look(Run *r, Before *b)
{
    ml_Schedule *s = r->fx.s;

    *b = (Before){.state = ml_schedule_state(s),
                  .p = ml_schedule_program(s),
                  .n_versions = ml_schedule_n_versions(s),
                  .hashed = chance(r, 10)};
    if (b->hashed)
        b->hash = ml_schedule_hash(s);
    ml_index_each(b->p.index, note_name, b);
    for (size_t k = 0; k < b->n; k++)
        b->names[k] = ml_name_of(s, b->uids[k]);
    for (size_t k = 0; k < r->pool.n; k++)
        b->alive[k] = ml_handle_alive(s, r->pool.v[k]);
}

static void same_as(Run *r, const Before *b)
{
    ml_Schedule *s = r->fx.s;
    ml_State st = ml_schedule_state(s);
    ml_Program p = ml_schedule_program(s);

    assert_int_equal(b->state.version, st.version);
    assert_ptr_equal(b->state.trace, st.trace);
    assert_int_equal(b->state.random, st.random);
    assert_ptr_equal(b->p.mod, p.mod);
    assert_ptr_equal(b->p.index, p.index);
    assert_int_equal(b->n_versions, ml_schedule_n_versions(s));
    if (b->hashed)
        assert_true(b->hash == ml_schedule_hash(s));
    for (size_t k = 0; k < b->n; k++)
        assert_string_equal(b->names[k], ml_name_of(s, b->uids[k]));
    for (size_t k = 0; k < r->pool.n; k++)
        assert_int_equal(b->alive[k], ml_handle_alive(s, r->pool.v[k]));
}

static void explains_itself(Run *r, const ml_Primitive *prim)
{
    const ml_Error *e = ml_schedule_error(r->fx.s);

    assert_non_null(e);
    assert_true(e->code > ML_E_OK && e->code < ML_E_COUNT);
    assert_non_null(e->primitive);
    assert_string_equal(prim->name, e->primitive);
    if (e->n_facts > 0 && e->facts[0].kind == ML_FACT_TEXT && e->facts[0].as.text)
        assert_null(strstr(e->facts[0].as.text, "gave no reason"));

    ml_Failure *f = ml_failure_take(r->fx.s);
    ml_RenderOpts o = {.no_suggestions = !chance(r, 4), .ascii = chance(r, 50)};
    ml_Text t = {0};

    assert_non_null(f);
    if (getenv("ML_LOUD"))
        fprintf(stderr, "  %s: %s [%s]\n", prim->name, ml_failure_message(f),
                ml_error_code(e->code));
    assert_true(strlen(ml_failure_message(f)) > 3);
    ml_failure_render(f, &t, &o);
    assert_true(t.n > 10);
    ml_text_free(&t);
    ml_failure_free(f);
}

static void keep_results(Run *r)
{
    const ml_Results *res = &r->fx.r;

    for (size_t k = 0; k < res->n && k < ML_MAX_RESULTS && k < 4; k++) {
        size_t at = r->pool.n < MAX_POOL ? r->pool.n++ : below(r, MAX_POOL);

        r->pool.v[at] = res->v[k];
    }
}

/* The steps that led here, the last one first. */
static const char *way_here(ml_Ctx *cx, ml_Schedule *s)
{
    ml_Text t = {0};
    ml_Step step = {0};
    const char *z;

    for (int v = ml_schedule_version(s); ml_version_step(s, v, &step) && step.prim;
         v = step.parent)
        ml_text_fmt(&t, "\n  %s", step.line);
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static void accepted(Run *r)
{
    ml_Schedule *s = r->fx.s;
    const char *what = NULL;

    r->accepted++;
    keep_results(r);
    if (chance(r, 5) && !ml_index_verify(r->cx, ml_schedule_program(s), &what))
        fail_msg("%s", what);
    if (chance(r, 20)) {
        ml_Ctx *tmp = ml_ctx_new(0);
        ml_Findings found = {0};
        ml_Step step = {0};
        bool is_step = ml_version_step(s, ml_schedule_version(s), &step) && step.prim;

        if (!ml_verify_well_formed(tmp, ml_schedule_program(s).mod, &found))
            fail_msg("an ill-formed program: %s, after%s",
                     ml_error_code(ml_error(tmp)->code), way_here(tmp, s));
        if (is_step)
            assert_true(strlen(step.line) > 0 && strlen(step.headline) > 0);
        ml_ctx_unref(tmp);
    }
    if (ml_schedule_version(s) > 0 && ml_schedule_n_versions(s) % MAX_STEPS == 0)
        assert_true(ml_schedule_goto(s, chance(r, 50) ? 0 : (int)below(r, 8)));
    else if (chance(r, 10))
        ml_schedule_undo(s, 1);
}

static void one_call(Run *r, const ml_Primitive *prim)
{
    size_t n = chance(r, 85) ? prim->n_params : below(r, prim->n_params + 3);
    unsigned likely = chance(r, 60) ? 90 : (unsigned)below(r, 100);
    ml_Arg *args;
    Before b;

    ml_ctx_reset(r->cx);
    args = ML_ARRAY(r->cx, ml_Arg, n + 1);
    for (size_t k = 0; k < n; k++)
        if (k < prim->n_params && chance(r, likely))
            args[k] = prim->params[k].optional && chance(r, 50)
                          ? ML_ARG_ABSENT
                          : likely_arg(r, &prim->params[k]);
        else
            args[k] = any_arg(r, 0);
    look(r, &b);
    if (ml_apply_prim(r->fx.s, prim, args, n, &r->fx.r)) {
        accepted(r);
        return;
    }
    r->refused++;
    explains_itself(r, prim);
    same_as(r, &b);
}

/* ---- programs */

static const char stranger[] = "@T.prim_func\n"
                               "def other(X: T.Buffer((8,), \"float32\")):\n"
                               "    for q in range(8):\n"
                               "        with T.block(\"X\"):\n"
                               "            v = T.axis.spatial(8, q)\n"
                               "            X[v] = T.float32(1)\n";

static int calls_each(void)
{
    const char *z = getenv("ML_CALLS");

    return z ? (int)strtol(z, NULL, 10) : 2500;
}

static void hammer(Run *r)
{
    const char *seed = getenv("ML_SEED");
    Fixture other;
    int n = calls_each();

    r->rnd = 88172645463325252U + (seed ? strtoull(seed, NULL, 10) : 0) * 7919;
    r->cx = ml_ctx_new(0);
    fx_text(&other, stranger);
    r->foreign = other.s;
    for (r->call = 0; r->call < n; r->call++) {
        if (getenv("ML_LOUD"))
            fprintf(stderr, "%s call %d\n", ml_schedule_name(r->fx.s), r->call);
        one_call(r, ml_primitives[below(r, ml_n_primitives)]);
    }
    print_message("%s: %d accepted, %d refused\n", ml_schedule_name(r->fx.s), r->accepted,
                  r->refused);
    assert_true(r->accepted > n / 100 && r->refused > n / 10);
    fx_close(&other);
    ml_ctx_unref(r->cx);
    fx_close(&r->fx);
}

static void text(const char *program)
{
    Run r = {.program = program};

    fx_text(&r.fx, program);
    hammer(&r);
}

static void on_a_matrix_product(void **state)
{
    Run r = {0};

    fx_matmul(&r.fx, 16, 24, 8);
    hammer(&r);
}

static void on_two_stages(void **state)
{
    Run r = {0};

    fx_stages(&r.fx, 60, "j");
    hammer(&r);
}

static void on_a_pipeline_with_a_reduction(void **state)
{
    text("@T.prim_func\n"
         "def main(A: T.Buffer((16, 16), \"float32\"), D: T.Buffer((16,), \"float32\")):\n"
         "    B = T.alloc_buffer((16, 16), \"float32\")\n"
         "    C = T.alloc_buffer((16,), \"float32\")\n"
         "    for i, j in T.grid(16, 16):\n"
         "        with T.block(\"B\"):\n"
         "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "            B[vi, vj] = A[vi, vj] * T.float32(2)\n"
         "    for i, j in T.grid(16, 16):\n"
         "        with T.block(\"C\"):\n"
         "            vi, vj = T.axis.remap(\"SR\", [i, j])\n"
         "            with T.init():\n"
         "                C[vi] = T.float32(0)\n"
         "            C[vi] = C[vi] + B[vi, vj]\n"
         "    for i in range(16):\n"
         "        with T.block(\"D\"):\n"
         "            vi = T.axis.spatial(16, i)\n"
         "            D[vi] = C[vi] + T.float32(1)\n");
}

static void on_loops_near_the_end_of_int64(void **state)
{
    text("@T.prim_func\n"
         "def main(A: T.Buffer((T.int64(4611686018427387904),), \"int8\"),\n"
         "         C: T.Buffer((T.int64(4611686018427387904),), \"int8\")):\n"
         "    for i in range(T.int64(4611686018427387904)):\n"
         "        with T.block(\"C\"):\n"
         "            v = T.axis.spatial(T.int64(4611686018427387904), i)\n"
         "            C[v] = A[v]\n");
}

static void on_loops_near_the_end_of_int32(void **state)
{
    text("@T.prim_func\n"
         "def main(A: T.Buffer((2147483647,), \"int8\"), C: T.Buffer((65536, 32767), "
         "\"int8\")):\n"
         "    B = T.alloc_buffer((65536, 32767), \"int8\")\n"
         "    for i, j in T.grid(65536, 32767):\n"
         "        with T.block(\"B\"):\n"
         "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "            B[vi, vj] = A[vi * 32767 + vj]\n"
         "    for i, j in T.grid(65536, 32767):\n"
         "        with T.block(\"C\"):\n"
         "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "            C[vi, vj] = B[vi, vj]\n");
}

static void on_symbolic_extents(void **state)
{
    text("@T.prim_func\n"
         "def main(a: T.handle, c: T.handle, n: T.int32):\n"
         "    m = T.int32()\n"
         "    A = T.match_buffer(a, (n, m), \"float32\")\n"
         "    C = T.match_buffer(c, (n, m), \"float32\")\n"
         "    B = T.alloc_buffer((n, m), \"float32\")\n"
         "    for i, j in T.grid(n, m):\n"
         "        with T.block(\"B\"):\n"
         "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "            B[vi, vj] = A[vi, vj] + T.float32(1)\n"
         "    for i, j in T.grid(n, m):\n"
         "        with T.block(\"C\"):\n"
         "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "            C[vi, vj] = B[vi, vj] * T.float32(2)\n");
}

static void on_rank_0_unit_loops_and_nested_blocks(void **state)
{
    text("@T.prim_func\n"
         "def main(A: T.Buffer((), \"int32\"), C: T.Buffer((8, 1), \"int32\")):\n"
         "    B = T.alloc_buffer((), \"int32\")\n"
         "    with T.block(\"B\"):\n"
         "        B[()] = A[()] + 1\n"
         "    for i, u in T.grid(8, 1):\n"
         "        with T.block(\"O\"):\n"
         "            vi = T.axis.spatial(8, i)\n"
         "            for j in range(1):\n"
         "                with T.block(\"C\"):\n"
         "                    vj = T.axis.spatial(1, j)\n"
         "                    C[vi, vj] = B[()]\n");
}

static void on_guards_conditions_and_several_functions(void **state)
{
    text("@I.ir_module\n"
         "class Module:\n"
         "    @T.prim_func\n"
         "    def main(A: T.Buffer((100,), \"float32\"), C: T.Buffer((100,), "
         "\"float32\")):\n"
         "        B = T.alloc_buffer((100,), \"float32\")\n"
         "        for i, j in T.grid(13, 8):\n"
         "            with T.block(\"B\"):\n"
         "                T.where(i * 8 + j < 100)\n"
         "                v = T.axis.spatial(100, i * 8 + j)\n"
         "                B[v] = A[v]\n"
         "        for i in range(100):\n"
         "            if i < 50:\n"
         "                with T.block(\"C\"):\n"
         "                    v = T.axis.spatial(100, i)\n"
         "                    C[v] = B[99 - v]\n"
         "    @T.prim_func\n"
         "    def second(A: T.Buffer((8,), \"float32\")):\n"
         "        for i in range(8):\n"
         "            with T.block(\"A\"):\n"
         "                v = T.axis.opaque(8, i)\n"
         "                A[v] = T.float32(0)\n");
}

/* ---- found by the above, or feared */

static void an_expression_that_divides_by_a_sampled_zero_has_no_value(void **state)
{
    static const ml_ExprKind ops[] = {ML_EXPR_FLOORDIV, ML_EXPR_FLOORMOD, ML_EXPR_DIV,
                                      ML_EXPR_MOD};
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0);

    fx_matmul(&fx, 8, 8, 8);
    fx_apply(&fx, "sample_categorical({0}, {1})");
    const ml_Expr *zero = ml_handle_symbol(fx.s, fx.r.v[0]);

    for (size_t k = 0; k < ML_COUNT(ops); k++) {
        const ml_Expr *e = ml_binary(cx, ops[k], ml_i32(cx, 4), zero);
        ml_Arg args[] = {ML_ARG_STR("i"), {.kind = ML_A_EXPR, .as.e = e}};

        assert_false(ml_apply(fx.s, "split", args, 2, NULL));
        assert_int_equal(ML_E_BAD_ARGUMENT, ml_schedule_error(fx.s)->code);
    }
    fx_apply(&fx, "split(\"i\", 4)");
    ml_ctx_unref(cx);
    fx_close(&fx);
}

static void lists_nested_without_end_are_refused(void **state)
{
    Run r = {.cx = ml_ctx_new(0)};

    fx_matmul(&r.fx, 8, 8, 8);
    for (size_t depth = 60; depth <= 1000000; depth *= 10) {
        ml_Arg args[] = {ML_ARG_STR("C"), ML_ARG_STR("key"), deep_list(&r, depth)};
        bool ok = ml_apply(r.fx.s, "annotate", args, 3, NULL);

        assert_int_equal(depth <= ML_MAX_ARG_DEPTH, ok);
        if (ok)
            assert_true(ml_schedule_undo(r.fx.s, 1));
        else
            explains_itself(&r, ml_primitive_find("annotate"));
    }
    ml_ctx_unref(r.cx);
    fx_close(&r.fx);
}

static void a_loop_handle_with_the_number_of_a_block_is_refused(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 8, 8, 8);
    ml_Arg block = ML_ARG_HANDLE(((ml_Handle){ML_H_LOOP, fx_handle(&fx, "C").uid}));
    ml_Arg loop = ML_ARG_HANDLE(((ml_Handle){ML_H_BLOCK, fx_handle(&fx, "i").uid}));

    assert_false(ml_apply(fx.s, "unroll", &block, 1, NULL));
    assert_int_equal(ML_E_BAD_HANDLE, ml_schedule_error(fx.s)->code);
    assert_false(ml_apply(fx.s, "compute_inline", &loop, 1, NULL));
    assert_int_equal(ML_E_BAD_HANDLE, ml_schedule_error(fx.s)->code);
    fx_close(&fx);
}

/* Copies share one memory: what one remembers of its failure goes when the other calls. */
static void the_failures_of_two_copies_do_not_mix(void **state)
{
    Fixture fx;
    ml_Schedule *c;

    fx_matmul(&fx, 64, 64, 64);
    c = ml_schedule_copy(fx.s);
    fx_refuses(&fx, ML_E_FACTORS_TOO_SMALL, "split(\"i\", {3, 5})");
    for (int k = 0; k < 50; k++)
        assert_false(ml_apply(c, "unroll", (ml_Arg[]){ML_ARG_STR("nothing")}, 1, NULL));
    ml_Failure *f = ml_failure_take(fx.s), *g = ml_failure_take(c);
    ml_Text t = {0};

    ml_failure_render(g, &t, NULL);
    assert_non_null(strstr(ml_text_z(&t), "no-such-loop"));
    if (f)
        ml_failure_render(f, &t, NULL);
    ml_text_free(&t);
    ml_failure_free(f);
    ml_failure_free(g);
    ml_schedule_unref(c);
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_a_matrix_product),
        cmocka_unit_test(on_two_stages),
        cmocka_unit_test(on_a_pipeline_with_a_reduction),
        cmocka_unit_test(on_loops_near_the_end_of_int64),
        cmocka_unit_test(on_loops_near_the_end_of_int32),
        cmocka_unit_test(on_symbolic_extents),
        cmocka_unit_test(on_rank_0_unit_loops_and_nested_blocks),
        cmocka_unit_test(on_guards_conditions_and_several_functions),
        cmocka_unit_test(an_expression_that_divides_by_a_sampled_zero_has_no_value),
        cmocka_unit_test(lists_nested_without_end_are_refused),
        cmocka_unit_test(a_loop_handle_with_the_number_of_a_block_is_refused),
        cmocka_unit_test(the_failures_of_two_copies_do_not_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

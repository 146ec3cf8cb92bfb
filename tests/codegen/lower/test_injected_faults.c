/*
 * test_injected_faults - kernels that lowering made right, made wrong in one place: each
 * barrier left out or put under a condition, each access of shared memory moved by one
 * element. The interpreter finds every one and names the statement.
 */
#include "lowering.h"

#include "moonloop/codegen/measure/check.h"

/* A product in tiles of 16 by 16, through shared memory. */
static const char product[] = HEAD
    "A: T.Buffer((32, 32), \"float32\"), B: T.Buffer((32, 32), \"float32\"), "
    "C: T.Buffer((32, 32), \"float32\")):\n"
    "    X = T.alloc_buffer((32, 32), scope=\"shared\")\n"
    "    Y = T.alloc_buffer((32, 32), scope=\"shared\")\n"
    "    L = T.alloc_buffer((32, 32), scope=\"local\")\n"
    "    for bi in T.thread_binding(2, thread=\"blockIdx.y\"):\n"
    "        for bj in T.thread_binding(2, thread=\"blockIdx.x\"):\n"
    "            for ti in T.thread_binding(16, thread=\"threadIdx.y\"):\n"
    "                for tj in T.thread_binding(16, thread=\"threadIdx.x\"):\n"
    "                    for k0 in range(2):\n"
    "                        for a in T.thread_binding(16, thread=\"threadIdx.y\"):\n"
    "                            for b in T.thread_binding(16, thread=\"threadIdx.x\"):\n"
    "                                with T.block(\"X\"):\n"
    "                                    v = T.axis.spatial(32, bi * 16 + a)\n"
    "                                    w = T.axis.spatial(32, k0 * 16 + b)\n"
    "                                    X[v, w] = A[v, w]\n"
    "                        for a in T.thread_binding(16, thread=\"threadIdx.y\"):\n"
    "                            for b in T.thread_binding(16, thread=\"threadIdx.x\"):\n"
    "                                with T.block(\"Y\"):\n"
    "                                    v = T.axis.spatial(32, k0 * 16 + a)\n"
    "                                    w = T.axis.spatial(32, bj * 16 + b)\n"
    "                                    Y[v, w] = B[v, w]\n"
    "                        for k1 in range(16):\n"
    "                            with T.block(\"C\"):\n"
    "                                i = T.axis.spatial(32, bi * 16 + ti)\n"
    "                                j = T.axis.spatial(32, bj * 16 + tj)\n"
    "                                k = T.axis.reduce(32, k0 * 16 + k1)\n"
    "                                with T.init():\n"
    "                                    L[i, j] = T.float32(0)\n"
    "                                L[i, j] = L[i, j] + X[i, k] * Y[k, j]\n"
    "                    with T.block(\"D\"):\n"
    "                        i = T.axis.spatial(32, bi * 16 + ti)\n"
    "                        j = T.axis.spatial(32, bj * 16 + tj)\n"
    "                        C[i, j] = L[i, j]\n";

/* A transposition, and sums of neighbours in the same shared memory. */
static const char neighbours[] =
    HEAD "A: T.Buffer((4, 64), \"float32\"), B: T.Buffer((4, 64), \"float32\"), "
         "C: T.Buffer((4, 64), \"float32\")):\n"
         "    S = T.alloc_buffer((4, 64), scope=\"shared\")\n"
         "    R = T.alloc_buffer((4, 64), scope=\"shared\")\n"
         "    for b in T.thread_binding(4, thread=\"blockIdx.x\"):\n"
         "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
         "            with T.block(\"S\"):\n"
         "                i, j = T.axis.remap(\"SS\", [b, t])\n"
         "                S[i, j] = A[i, j] + B[i, j]\n"
         "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
         "            with T.block(\"R\"):\n"
         "                i, j = T.axis.remap(\"SS\", [b, t])\n"
         "                R[i, j] = S[i, 63 - j] * T.float32(2)\n"
         "        for t in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
         "            with T.block(\"C\"):\n"
         "                i, j = T.axis.remap(\"SS\", [b, t])\n"
         "                C[i, j] = R[i, j % 8 * 8 + j // 8] + S[i, j]\n";

/* ---- what is made wrong */

typedef enum Wrong { WITHOUT, MOVED_STORE, MOVED_LOAD } Wrong;

typedef struct Change {
    Wrong how;
    int at, seen; /* which of them */
    bool done;
    const char *buffer; /* of the access that was moved */
} Change;

static bool is_barrier(const ml_Stmt *s)
{
    return s->kind == ML_STMT_EVALUATE &&
           ml_is_op(ml_as_evaluate(s)->value, ML_OP_STORAGE_SYNC);
}

static bool is_chosen(Change *c)
{
    return c->seen++ == c->at && (c->done = true);
}

static const ml_Expr *moved_load(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Change *c = user;

    if (e->kind == ML_EXPR_LOAD && e->as.buffer->scope.rank == ML_SCOPE_SHARED &&
        is_chosen(c)) {
        const ml_Expr *at = ml_add(cx, e->args[0], ml_int(cx, e->args[0]->type, 1));

        c->buffer = e->as.buffer->name;
        return ml_load(cx, e->as.buffer, &at, 1);
    }
    return ml_expr_map_args(cx, e, moved_load, user);
}

static const ml_Stmt *change(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Change *c = user;
    const ml_Mapper m = {
        .stmt = change, .expr = c->how == MOVED_LOAD ? moved_load : NULL, .user = user};

    if (is_barrier(s) && c->how == WITHOUT && is_chosen(c))
        return ml_stmt_at(cx, ml_evaluate(cx, ml_i32(cx, 0)), s->span);
    if (s->kind == ML_STMT_STORE && c->how == MOVED_STORE &&
        ml_as_store(s)->buffer->scope.rank == ML_SCOPE_SHARED && is_chosen(c)) {
        const ml_Store *st = ml_as_store(s);
        const ml_Expr *at = ml_add(cx, st->indices[0], ml_int(cx, st->indices[0]->type, 1));

        c->buffer = st->buffer->name;
        return ml_stmt_at(cx, ml_store(cx, st->buffer, st->value, &at, 1, NULL), s->span);
    }
    return ml_stmt_map(cx, s, &m);
}

typedef struct Tag {
    const ml_Var *var;
} Tag;

static bool find_thread(const ml_Stmt *s, void *user)
{
    Tag *t = user;

    if (s->kind == ML_STMT_ATTR &&
        ml_is_thread(ml_as_attr(s)->thread, ML_AXIS_THREAD, ML_DIM_X))
        t->var = ml_attr_defines(ml_as_attr(s));
    return true;
}

/* The barrier number `at` under `if threadIdx.x < 8`. */
typedef struct Under {
    const ml_Var *x;
    int at, seen;
} Under;

static const ml_Stmt *under(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = under, .user = user};
    Under *u = user;

    if (is_barrier(s) && u->seen++ == u->at) {
        const ml_Expr *v = ml_var(cx, u->x);

        return ml_stmt_at(cx, ml_if(cx, ml_lt(cx, v, ml_int(cx, v->type, 8)), s, NULL),
                          s->span);
    }
    return ml_stmt_map(cx, s, &m);
}

/* ---- running */

typedef struct Found {
    bool refused, differs;
    ml_ErrorCode code;
    char text[2048];
} Found;

static Found check_it(Fix *x, const ml_Func *ref, const ml_Func *got)
{
    const ml_CheckOpts o = {.side_by_side = true, .extremes = true};
    Found f = {0};
    ml_CheckResult r;

    if (!ml_check(x->cx, NULL, ref, NULL, got, &o, &r)) {
        const ml_Error *e = ml_error(x->cx);
        ml_Failure *why = ml_failure_from(e);
        size_t n;

        f.refused = true;
        f.code = e->code;
        n = (size_t)snprintf(f.text, sizeof f.text, "%s", ml_failure_message(why));
        for (size_t k = 0; k < e->n_notes && n < sizeof f.text; k++)
            n += (size_t)snprintf(f.text + n, sizeof f.text - n, "\n%s", e->notes[k]);
        ml_failure_free(why);
        ml_error_clear(x->cx);
    } else {
        f.differs = !r.ok;
    }
    return f;
}

static const ml_Func *kernel_of(Fix *x, const ml_Func *f)
{
    ml_Lower lo = lowering(x);

    lo.opts.target.kind = (uint32_t)(ml_target_kind("cuda-sim") - ml_target_kinds);
    return lowered(x, &lo, f, "lower_intrinsics");
}

static const ml_Func *changed(Fix *x, const ml_Func *f, Change *c)
{
    return ml_func_with_body(x->cx, f, change(x->cx, f->body, c));
}

static void each_missing_barrier_is_found(Fix *x, const char *program, int expected)
{
    const ml_Func *ref = parse(x, program), *kernel = kernel_of(x, ref);
    Found f = check_it(x, ref, kernel);
    int n = 0;

    if (f.refused || f.differs)
        fail_msg("the kernel itself: %s", f.text);
    for (;; n++) {
        Change c = {.how = WITHOUT, .at = n};
        const ml_Func *got = changed(x, kernel, &c);

        if (!c.done)
            break;
        f = check_it(x, ref, got);
        if (!f.refused || f.code != ML_E_THREAD_RACE)
            fail_msg("barrier %d left out: %s", n, f.refused ? f.text : "not found");
        assert_non_null(strstr(f.text, "a barrier belongs"));
        assert_non_null(strstr(f.text, "writes it in `"));
        assert_non_null(strstr(f.text, "reads it in `"));
    }
    assert_int_equal(n, expected);
}

static void each_barrier_under_a_condition_is_found(Fix *x, const char *program)
{
    const ml_Func *ref = parse(x, program), *kernel = kernel_of(x, ref);
    Tag tag = {NULL};

    ml_stmt_visit(kernel->body, find_thread, &tag);
    assert_non_null(tag.var);
    for (int n = 0;; n++) {
        Under u = {tag.var, n, 0};
        const ml_Func *got =
            ml_func_with_body(x->cx, kernel, under(x->cx, kernel->body, &u));
        Found f;

        if (u.seen <= n)
            break;
        f = check_it(x, ref, got);
        if (!f.refused || f.code != ML_E_DIVERGENT_BARRIER)
            fail_msg("barrier %d under a condition: %s", n,
                     f.refused ? f.text : "not found");
        assert_non_null(
            strstr(f.text, "waits at a barrier that thread (8, 0, 0) does not"));
    }
}

static void each_access_by_the_side_is_found(Fix *x, const char *program, Wrong how)
{
    const ml_Func *ref = parse(x, program), *kernel = kernel_of(x, ref);
    int n = 0;

    for (;; n++) {
        Change c = {.how = how, .at = n};
        const ml_Func *got = changed(x, kernel, &c);
        Found f;

        if (!c.done)
            break;
        f = check_it(x, ref, got);
        /* the last thread leaves the buffer, whatever else happens before */
        if (!f.refused || !strstr(f.text, c.buffer))
            fail_msg("access %d of %s moved: %s", n, c.buffer,
                     f.refused ? f.text : "not found");
    }
    assert_true(n >= 2);
}

static void a_barrier_that_is_missing_is_named(void **state)
{
    each_missing_barrier_is_found(*state, product, 2);
    each_missing_barrier_is_found(*state, neighbours, 2);
}

static void a_barrier_that_some_reach_is_named(void **state)
{
    each_barrier_under_a_condition_is_found(*state, product);
    each_barrier_under_a_condition_is_found(*state, neighbours);
}

static void an_index_that_is_one_off_is_named(void **state)
{
    each_access_by_the_side_is_found(*state, product, MOVED_STORE);
    each_access_by_the_side_is_found(*state, product, MOVED_LOAD);
    each_access_by_the_side_is_found(*state, neighbours, MOVED_STORE);
    each_access_by_the_side_is_found(*state, neighbours, MOVED_LOAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_barrier_that_is_missing_is_named),
        TEST(a_barrier_that_some_reach_is_named),
        TEST(an_index_that_is_one_off_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

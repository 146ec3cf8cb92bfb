/*
 * test_ctx_parallel - contexts between threads: forks of one frozen parent, pieces of
 * arenas that one thread leaves for the next, contexts handed over whole.
 *
 * What a thread computes is compared with the same work done alone; races are for
 * `make races` to find (the same test under the thread sanitizer).
 */
#include "core_test.h"
#include "moonloop/core/compare/equal.h"
#include "program.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 8, SHARED = 200, VARS = 4 };

static int rounds(int n)
{
    return getenv("ML_QUICK") ? n / 10 : n;
}

/* ---- forks of one parent */

typedef struct Base {
    ml_Ctx *cx;
    const ml_Var *vars[VARS];
    const ml_Expr *shared[SHARED];
    const ml_Func *func;
} Base;

static const ml_Expr *random_expr(ml_Ctx *cx, Rng *r, const ml_Var *const *vars, int depth)
{
    if (depth == 0 || rng_below(r, 5) == 0)
        return rng_below(r, 2) ? ml_var(cx, vars[rng_below(r, VARS)])
                               : ml_i32(cx, (int64_t)rng_below(r, 50) + 1);
    ml_ExprKind kind = (ml_ExprKind)(ML_EXPR_ADD + rng_below(r, 9));
    const ml_Expr *a = random_expr(cx, r, vars, depth - 1);
    const ml_Expr *b = random_expr(cx, r, vars, depth - 1);

    return ml_raw_binary(cx, kind, a, b);
}

static void open_base(Base *b)
{
    Rng r = {1};
    ml_Ctx *cx = b->cx = ml_ctx_new(0);
    const ml_Buffer *bufs[] = {vector_of(cx, "A", 64), vector_of(cx, "B", 64)};

    for (size_t k = 0; k < VARS; k++)
        b->vars[k] = new_i32(cx, "i");
    for (size_t k = 0; k < SHARED; k++)
        b->shared[k] = random_expr(cx, &r, b->vars, 5);
    b->func = func_of(cx, "main", bufs, 2, add_one_loop(cx, "i", bufs[1], bufs[0], 64));
}

static uint64_t mix(uint64_t sum, uint64_t v)
{
    return (sum ^ v) * 0x9E3779B97F4A7C15u;
}

/* The parent's nodes are found again, not built; false: one was not. */
static bool meets_shared(const Base *b, ml_Ctx *cx)
{
    Rng r = {1};

    for (size_t k = 0; k < SHARED; k++)
        if (random_expr(cx, &r, b->vars, 5) != b->shared[k])
            return false;
    return true;
}

static uint64_t build(const Base *b, ml_Ctx *cx, Rng *r)
{
    uint64_t sum = 0;

    for (int k = 0; k < 60; k++) {
        const ml_Expr *e = random_expr(cx, r, b->vars, 4);

        e = ml_raw_binary(cx, ML_EXPR_ADD, e, b->shared[rng_below(r, SHARED)]);
        sum = mix(mix(sum, e->hash), e->id);
    }
    return mix(sum, ml_fresh_uid(cx));
}

/* One candidate: a fork, work with marks and forks of its own, everything dropped. 0: a
 * shared node was missed. */
static uint64_t candidate(const Base *b, uint64_t seed)
{
    Rng r = {seed};
    ml_Ctx *cx = ml_ctx_fork(b->cx);
    uint64_t sum = meets_shared(b, cx) ? 1 : 0;

    if (sum) {
        ml_Mark mark = ml_mark(cx);

        sum = mix(sum, build(b, cx, &r));
        if (rng_below(&r, 2))
            ml_release(cx, mark);
        sum = mix(sum, build(b, cx, &r));
        sum = mix(sum, ml_hash_func(cx, b->func, NULL));
        memset(ml_alloc(cx, rng_below(&r, 100000)), 1, 1);
        if (rng_below(&r, 2)) {
            ml_Ctx *inner = ml_ctx_fork(cx);

            sum = mix(sum, build(b, inner, &r));
            ml_ctx_unref(inner);
        }
        if (rng_below(&r, 4) == 0)
            ml_ctx_reset(cx);
        sum = mix(sum, build(b, cx, &r)) | 1;
    }
    ml_ctx_unref(cx);
    return sum;
}

typedef struct Worker {
    pthread_t thread;
    const Base *base;
    uint64_t first, n;
    uint64_t *sums;
} Worker;

static void *run_candidates(void *user)
{
    Worker *w = user;

    for (uint64_t k = 0; k < w->n; k++)
        w->sums[k] = candidate(w->base, w->first + k);
    return NULL;
}

static void threads_that_fork_one_parent_find_what_one_alone_does(void **state)
{
    Base b;
    Worker w[THREADS];
    uint64_t n = (uint64_t)rounds(100), *sums = calloc(THREADS * n, sizeof *sums);

    assert_non_null(sums);
    open_base(&b);
    uint64_t before = ml_hash_func(b.cx, b.func, NULL);
    size_t bytes = ml_ctx_bytes(b.cx);

    for (size_t k = 0; k < THREADS; k++) {
        /* Neighbours share half of their seeds: the same work at the same time. */
        w[k] = (Worker){.base = &b, .first = 1 + k / 2 * n, .n = n, .sums = sums + k * n};
        assert_int_equal(pthread_create(&w[k].thread, NULL, run_candidates, &w[k]), 0);
    }
    for (size_t k = 0; k < THREADS; k++)
        assert_int_equal(pthread_join(w[k].thread, NULL), 0);
    assert_false(ml_ctx_frozen(b.cx));
    assert_true(ml_ctx_bytes(b.cx) == bytes);
    for (size_t k = 0; k < THREADS; k++)
        for (uint64_t m = 0; m < n; m++) {
            assert_true(sums[k * n + m] != 0);
            assert_true(sums[k * n + m] == candidate(&b, w[k].first + m));
        }
    assert_true(ml_hash_func(b.cx, b.func, NULL) == before);
    ml_ctx_unref(b.cx);
    free(sums);
}

/* ---- the parent goes on when the last fork has ended elsewhere */

typedef struct Lent {
    ml_Ctx *fork;
    const Base *base;
    uint64_t sum;
} Lent;

static void *end_fork(void *user)
{
    Lent *l = user;
    Rng r = {7};

    l->sum = build(l->base, l->fork, &r);
    ml_ctx_unref(l->fork);
    return NULL;
}

static void a_parent_is_built_on_once_its_forks_have_ended_elsewhere(void **state)
{
    for (int round = 0; round < rounds(50); round++) {
        Base b;
        Lent lent[2];
        pthread_t threads[2];
        Rng r = {7};

        open_base(&b);
        for (size_t k = 0; k < 2; k++) {
            lent[k] = (Lent){.fork = ml_ctx_fork(b.cx), .base = &b};
            assert_int_equal(pthread_create(&threads[k], NULL, end_fork, &lent[k]), 0);
        }
        while (ml_ctx_frozen(b.cx)) /* nothing else tells that they are done */
            sched_yield();
        uint64_t sum = build(&b, b.cx, &r);

        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(pthread_join(threads[k], NULL), 0);
            assert_true(lent[k].sum == sum);
        }
        ml_ctx_unref(b.cx);
    }
}

/* ---- contexts that go from hand to hand: the last to hold one drops it */

enum { SLOTS = 4 };

typedef struct Parcel {
    ml_Ctx *cx;
    const ml_Func *func;
    uint64_t hash;
} Parcel; /* in its own context */

typedef struct Ring {
    _Atomic(const Parcel *) slots[SLOTS];
    atomic_int bad;
    int n;
} Ring;

typedef struct Carrier {
    pthread_t thread;
    Ring *ring;
    uint64_t seed;
} Carrier;

/* A context of some chunks, sealed: nobody builds on it any more. */
static const Parcel *pack(Rng *r)
{
    ml_Ctx *cx = ml_ctx_new(0);
    int64_t n = 8 + rng_below(r, 100);
    const ml_Buffer *bufs[] = {vector_of(cx, "A", n), vector_of(cx, "B", n)};
    const ml_Stmt *list[20];
    Parcel *p = ML_NEW(cx, Parcel);

    for (size_t k = 0; k < ML_COUNT(list); k++)
        list[k] = add_one_loop(cx, "i", bufs[k & 1], bufs[~k & 1], n);
    memset(ml_alloc(cx, 1 + rng_below(r, 60000)), 1, 1);
    const ml_Func *f = func_of(cx, "main", bufs, 2, ml_seq(cx, list, ML_COUNT(list)));

    *p = (Parcel){.cx = cx, .func = f, .hash = ml_hash_func(cx, f, NULL)};
    ml_ctx_seal(cx);
    return p;
}

/* Two forks one after the other: the second begins with the pieces of the first. */
static bool intact(const Parcel *p, Rng *r)
{
    bool ok = true;

    for (int k = 0; k < 2; k++) {
        ml_Ctx *cx = ml_ctx_fork(p->cx);
        size_t size = 1 + rng_below(r, 40000);

        ok = ok && ml_hash_func(cx, p->func, NULL) == p->hash;
        memset(ml_alloc(cx, size), k, size);
        ml_ctx_unref(cx);
    }
    return ok;
}

static void *carry(void *user)
{
    Carrier *c = user;
    Rng r = {c->seed};

    for (int k = 0; k < c->ring->n; k++) {
        const Parcel *mine = pack(&r);
        ml_Ctx *kept = rng_below(&r, 2) ? ml_ctx_ref(mine->cx) : NULL;
        const Parcel *got = atomic_exchange(&c->ring->slots[rng_below(&r, SLOTS)], mine);

        if (kept && !intact(mine, &r)) /* while another may have it, too */
            atomic_fetch_add(&c->ring->bad, 1);
        ml_ctx_unref(kept);
        if (got && !intact(got, &r))
            atomic_fetch_add(&c->ring->bad, 1);
        ml_ctx_unref(got ? got->cx : NULL);
    }
    return NULL;
}

static void contexts_go_from_hand_to_hand_and_are_dropped_anywhere(void **state)
{
    Ring ring = {.n = rounds(150)};
    Carrier c[THREADS];

    for (size_t k = 0; k < THREADS; k++) {
        c[k] = (Carrier){.ring = &ring, .seed = k + 1};
        assert_int_equal(pthread_create(&c[k].thread, NULL, carry, &c[k]), 0);
    }
    for (size_t k = 0; k < THREADS; k++)
        assert_int_equal(pthread_join(c[k].thread, NULL), 0);
    assert_int_equal(atomic_load(&ring.bad), 0);
    for (size_t k = 0; k < SLOTS; k++) {
        const Parcel *left = atomic_load(&ring.slots[k]);

        assert_non_null(left);
        ml_ctx_unref(left->cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_fork_one_parent_find_what_one_alone_does),
        cmocka_unit_test(a_parent_is_built_on_once_its_forks_have_ended_elsewhere),
        cmocka_unit_test(contexts_go_from_hand_to_hand_and_are_dropped_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

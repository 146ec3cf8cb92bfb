/*
 * Enumeration as oracle: what the analyses claim of random small programs is compared with
 * all their points. A claim may be missing (unproved), it must never be wrong; the numbers
 * of claims made are checked to be no handful. Source: ir-and-analysis 8.5.
 */
#include "../core/core_test.h"
#include "verify/verify_test.h"

#include <inttypes.h>

enum { PROGRAMS = 20000, MAX_LOOPS = 5, MAX_BLOCKS = 3, MAX_POINTS = 4096 };

typedef struct Blk {
    const ml_Block *b;
    const ml_For *loops[MAX_LOOPS]; /* outermost first */
    size_t n_loops;
    bool writes_t;
    /* of the body */
    const ml_Expr *cond; /* or NULL */
    const ml_Var *q;     /* inner loop, or NULL */
    int64_t q_extent;
} Blk;

typedef struct World {
    Rng rng;
    uint64_t seed;
    ml_Ctx *cx;
    ml_Program p;
    ml_Facts *facts;
    const ml_Buffer *A, *T, *C;
    int64_t shape[2];
    size_t rank;
    const ml_For *outer; /* around all blocks, or NULL */
    Blk blk[MAX_BLOCKS];
    size_t n_blk;
} World;

static uint64_t n_covered, n_missed, n_disjoint, n_affine, n_clean, n_error, n_accumulated;

static uint32_t pick(World *w, uint32_t n)
{
    return rng_below(&w->rng, n);
}

static const ml_Expr *num(World *w, int64_t v)
{
    return ml_i32(w->cx, v);
}

/* ---- evaluation */

typedef struct Env {
    ml_Uid uid[16];
    int64_t v[16];
    size_t n;
} Env;

static void set(Env *e, const ml_Var *v, int64_t x)
{
    e->uid[e->n] = v->uid;
    e->v[e->n++] = x;
}

static int64_t eval(const Env *env, const ml_Expr *e)
{
    int64_t a, b;

    if (e->kind == ML_EXPR_INT)
        return e->as.i;
    if (e->kind == ML_EXPR_VAR) {
        for (size_t k = env->n; k-- > 0;)
            if (env->uid[k] == e->as.var->uid)
                return env->v[k];
        fail_msg("unknown variable");
    }
    a = eval(env, e->args[0]);
    if (e->kind == ML_EXPR_NOT)
        return !a;
    if (e->kind == ML_EXPR_CAST)
        return a;
    b = eval(env, e->args[1]);
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_ADD: return a + b;
    case ML_EXPR_SUB: return a - b;
    case ML_EXPR_MUL: return a * b;
    case ML_EXPR_FLOORDIV: return ml_floordiv_i64(a, b);
    case ML_EXPR_FLOORMOD: return ml_floormod_i64(a, b);
    case ML_EXPR_MIN: return a < b ? a : b;
    case ML_EXPR_MAX: return a > b ? a : b;
    case ML_EXPR_LT: return a < b;
    case ML_EXPR_LE: return a <= b;
    case ML_EXPR_GT: return a > b;
    case ML_EXPR_GE: return a >= b;
    case ML_EXPR_EQ: return a == b;
    case ML_EXPR_NE: return a != b;
    case ML_EXPR_AND: return a && b;
    case ML_EXPR_OR: return a || b;
    default: fail_msg("unexpected node %s", ml_expr_kind_name((ml_ExprKind)e->kind));
    }
    return 0;
}

/* Elements of T (at most 64) of a region, clipped to the shape. */
static uint64_t elements(const World *w, const Env *env, const ml_Region *r)
{
    int64_t lo[2] = {0, 0}, hi[2] = {1, 1};
    uint64_t bits = 0;

    for (size_t d = 0; d < w->rank; d++) {
        lo[d] = eval(env, r->ranges[d].min);
        hi[d] = lo[d] + eval(env, r->ranges[d].extent);
        lo[d] = lo[d] < 0 ? 0 : lo[d];
        hi[d] = hi[d] > w->shape[d] ? w->shape[d] : hi[d];
    }
    for (int64_t x = lo[0]; x < hi[0]; x++)
        for (int64_t y = lo[1]; y < hi[1]; y++)
            bits |= UINT64_C(1) << (x * (w->rank > 1 ? w->shape[1] : 1) + y);
    return bits;
}

typedef void PointFn(World *w, const Blk *b, const int64_t *loops, const Env *env,
                     void *user);

/* Every executed instance of the block, in order. */
static void each_point(World *w, const Blk *b, PointFn *fn, void *user)
{
    int64_t at[MAX_LOOPS] = {0};

    for (size_t k = 0; k < b->n_loops; k++)
        if (b->loops[k]->extent->as.i == 0)
            return;
    for (;;) {
        Env env = {.n = 0};
        size_t k = b->n_loops;

        for (size_t j = 0; j < b->n_loops; j++)
            set(&env, b->loops[j]->var, at[j]);
        if (eval(&env, b->b->predicate)) {
            for (size_t j = 0; j < b->b->n_iters; j++)
                set(&env, b->b->iters[j].var, eval(&env, b->b->iters[j].value));
            fn(w, b, at, &env, user);
        }
        while (k > 0 && ++at[k - 1] == b->loops[k - 1]->extent->as.i)
            at[--k] = 0;
        if (k == 0)
            return;
    }
}

/* ---- random programs */

static const ml_Expr *binding(World *w, const ml_For *const *own, size_t n, int64_t *top)
{
    const ml_Expr *i = n ? ml_var(w->cx, own[pick(w, (uint32_t)n)]->var) : num(w, 0);
    const ml_Expr *j = n ? ml_var(w->cx, own[n - 1]->var) : num(w, 1);
    const ml_Expr *first = n ? ml_var(w->cx, own[0]->var) : num(w, 0);
    int64_t c = 1 + pick(w, 6), inner = n ? own[n - 1]->extent->as.i : 1;
    const ml_Expr *fused = ml_add(w->cx, ml_mul(w->cx, first, num(w, inner)), j);

    if (n < 2)
        fused = first;
    switch (pick(w, 12)) {
    case 0:
    case 1:
    case 2: *top = 0; return i;
    case 3: return fused;
    case 4: return ml_floordiv(w->cx, fused, num(w, c));
    case 5: return ml_floormod(w->cx, fused, num(w, c));
    case 6: return ml_add(w->cx, i, num(w, c - 3));
    case 7: return ml_sub(w->cx, num(w, c), i);
    case 8: return ml_mul(w->cx, i, num(w, c));
    case 9: return ml_add(w->cx, ml_mul(w->cx, first, num(w, c)), j);
    case 10: return ml_add(w->cx, i, j);
    default: return num(w, pick(w, 3));
    }
}

typedef struct Span {
    int64_t lo[4], hi[4];
    bool any;
} Span;

static void widen(World *w, const Blk *b, const int64_t *loops, const Env *env, void *user)
{
    Span *s = user;

    (void)w;
    (void)loops;
    for (size_t k = 0; k < b->b->n_iters; k++) {
        int64_t v = eval(env, ml_var(w->cx, b->b->iters[k].var));

        if (!s->any || v < s->lo[k])
            s->lo[k] = v;
        if (!s->any || v > s->hi[k])
            s->hi[k] = v;
    }
    s->any = true;
}

static const ml_Expr *index_of(World *w, const ml_Expr *v, const ml_Expr *q)
{
    int64_t c = (int64_t)pick(w, 4);
    const ml_Expr *e = v;

    switch (pick(w, 7)) {
    case 0: e = ml_add(w->cx, v, num(w, c - 1)); break;
    case 1: e = ml_mul(w->cx, v, num(w, c + 1)); break;
    case 2: e = ml_floordiv(w->cx, v, num(w, c + 1)); break;
    case 3: e = ml_sub(w->cx, num(w, c + 3), v); break;
    default: break;
    }
    if (!q)
        return e;
    return pick(w, 2) ? ml_add(w->cx, e, q)
                      : ml_add(w->cx, ml_mul(w->cx, e, num(w, 1 + pick(w, 4))), q);
}

/* One block below the loops; nothing of it is left to chance later. */
static void make_block(World *w, Blk *b, const ml_For *const *own, size_t n_own,
                       bool producer, const char *name)
{
    ml_Ctx *cx = w->cx;
    bool reduce = !producer && n_own > 1 && pick(w, 3) == 0;
    size_t n_iters = w->rank + (reduce ? 1 : 0);
    ml_Iter *it = ML_ARRAY(cx, ml_Iter, n_iters);
    ml_Block nb = {.tag = ml_fresh_uid(cx),
                   .name = name,
                   .predicate = ml_bool(cx, true),
                   .n_iters = (uint32_t)n_iters,
                   .iters = it};
    const ml_Expr *to[2], *from[2], *q = NULL;
    Span span = {.any = false};
    ml_Block probe;
    int64_t top = 0;

    for (size_t k = 0; k < n_iters; k++) {
        const ml_For *const *use = own;
        size_t n = n_own;

        if (w->rank == 2 && n_own == 2 && pick(w, 2)) {
            use = own + (k < 2 ? k : 1);
            n = 1;
        }
        it[k] = (ml_Iter){.var = ml_var_new(cx, "v", ML_DT_I32),
                          .min = num(w, 0),
                          .extent = num(w, 1),
                          .value = binding(w, use, n, &top),
                          .kind = k < w->rank ? ML_ITER_SPATIAL : ML_ITER_REDUCE};
        if (reduce && k == w->rank && pick(w, 3))
            it[k].value = ml_var(cx, own[pick(w, (uint32_t)n_own)]->var);
    }
    if (n_own > 0 && pick(w, 3) == 0) {
        const ml_Expr *x = pick(w, 2) ? it[0].value : ml_var(cx, own[0]->var);
        const ml_Expr *c = num(w, pick(w, 8));

        nb.predicate = pick(w, 4) ? ml_lt(cx, x, c) : ml_ge(cx, x, num(w, pick(w, 3)));
    }
    nb.body = ml_evaluate(cx, num(w, 0));
    probe = nb;
    b->b = ml_as_block(ml_block_from(cx, &probe));
    each_point(w, b, widen, &span);
    for (size_t k = 0; k < n_iters; k++) {
        int64_t lo = span.any && pick(w, 4) ? span.lo[k] : 0;
        int64_t hi = span.any && pick(w, 8) ? span.hi[k] : (int64_t)pick(w, 8);

        it[k].min = num(w, lo);
        it[k].extent = num(w, hi - lo + 1 > 0 ? hi - lo + 1 : 1);
    }
    if (!reduce && pick(w, 3) == 0) {
        b->q = ml_var_new(cx, "q", ML_DT_I32);
        b->q_extent = 1 + pick(w, 4);
        q = ml_var(cx, b->q);
        if (pick(w, 3) == 0)
            b->cond = ml_lt(cx, pick(w, 2) ? q : ml_add(cx, q, ml_var(cx, it[0].var)),
                            num(w, 1 + pick(w, 4)));
    }
    for (size_t k = 0; k < w->rank; k++) {
        to[k] = producer ? index_of(w, ml_var(cx, it[k].var), k == 0 ? q : NULL)
                         : ml_var(cx, it[k].var);
        from[k] = producer ? ml_var(cx, it[k].var)
                           : index_of(w, ml_var(cx, it[k].var), k == 0 ? q : NULL);
    }
    if (reduce && pick(w, 2))
        from[0] = ml_add(cx, from[0], ml_var(cx, it[w->rank].var));
    const ml_Buffer *dst = producer ? w->T : w->C, *src = producer ? w->A : w->T;
    const ml_Expr *value = ml_load(cx, src, from, w->rank);

    if (reduce) {
        nb.init = ml_store(cx, dst, ml_float(cx, ML_DT_F32, 0), to, w->rank, NULL);
        value = ml_add(cx, ml_load(cx, dst, to, w->rank), value);
    }
    nb.body = ml_store(cx, dst, value, to, w->rank, NULL);
    if (b->cond)
        nb.body = ml_if(cx, b->cond, nb.body, NULL);
    if (b->q)
        nb.body = ml_serial(cx, b->q, num(w, 0), num(w, b->q_extent), nb.body);
    b->b = ml_block_reinfer(cx, NULL, ml_as_block(ml_block_from(cx, &nb)));
    assert_non_null(b->b);
    b->writes_t = producer;
}

static const ml_For *new_loop(World *w, uint32_t max, const char *tag)
{
    ml_For f = {.kind = tag ? ML_FOR_THREAD : ML_FOR_SERIAL, .thread = ml_thread(tag)};

    f.var = ml_var_new(w->cx, "i", ML_DT_I32);
    f.min = num(w, 0);
    f.extent = num(w, 1 + pick(w, max));
    f.body = ml_evaluate(w->cx, num(w, 0));
    return ml_as_for(ml_for_from(w->cx, &f));
}

static const ml_Stmt *wrap(World *w, const ml_For *f, const ml_Stmt *body)
{
    ml_For copy = *f;

    copy.body = body;
    return ml_for_from(w->cx, &copy);
}

static void make(World *w, uint64_t seed)
{
    static const char *const SCOPES[] = {"global", "global", "shared", "local"};
    static const char *const NAMES[] = {"P0", "P1", "P2"};
    const ml_Expr *shape[2], *wide[2];
    const ml_Stmt *parts[MAX_BLOCKS], *body;
    bool threads;

    *w =
        (World){.rng = {seed * 0x9E3779B97F4A7C15u + 1}, .seed = seed, .cx = ml_ctx_new(0)};
    ml_Ctx *cx = w->cx;

    w->rank = 1 + (pick(w, 3) == 0);
    for (size_t k = 0; k < w->rank; k++) {
        w->shape[k] = w->rank == 1 ? 4 + pick(w, 40) : 2 + pick(w, 6);
        shape[k] = num(w, w->shape[k]);
        wide[k] = num(w, 64);
    }
    w->A = ml_buffer_new(cx, "A", ML_DT_F32, wide, w->rank, NULL);
    w->C = ml_buffer_new(cx, "C", ML_DT_F32, wide, w->rank, NULL);
    w->T = ml_buffer_new(cx, "T", ML_DT_F32, shape, w->rank, SCOPES[pick(w, 4)]);
    threads = pick(w, 3) == 0;
    if (pick(w, 2))
        w->outer = new_loop(w, 4, threads && pick(w, 2) ? "threadIdx.x" : NULL);
    const ml_For *thread = threads && !(w->outer && w->outer->thread.axis)
                               ? new_loop(w, 5, "threadIdx.x")
                               : NULL;

    w->n_blk = 2 + pick(w, 2);
    for (size_t k = 0; k < w->n_blk; k++) {
        Blk *b = &w->blk[k];
        size_t own = 0;

        if (w->outer)
            b->loops[b->n_loops++] = w->outer;
        if (thread) {
            ml_For f = *thread;

            f.var = ml_var_fresh(cx, f.var);
            b->loops[b->n_loops++] = ml_as_for(ml_for_from(cx, &f));
        }
        for (size_t n = pick(w, 3); own < n; own++)
            b->loops[b->n_loops++] = new_loop(w, 6, NULL);
        size_t first = b->n_loops > 2 ? pick(w, (uint32_t)b->n_loops - 1) : 0;

        if (b->n_loops - first > 2)
            first = b->n_loops - 2;
        make_block(w, b, b->loops + first, b->n_loops - first, k + 1 < w->n_blk, NAMES[k]);
        body = &b->b->base;
        for (size_t j = b->n_loops; j-- > (w->outer ? 1u : 0u);) {
            body = wrap(w, b->loops[j], body);
            b->loops[j] = ml_as_for(body);
        }
        parts[k] = body;
    }
    body = ml_seq(cx, parts, w->n_blk);
    if (w->outer)
        body = wrap(w, w->outer, body);
    body = ml_block_from(cx, &(ml_Block){.tag = ml_fresh_uid(cx),
                                         .name = "root",
                                         .predicate = ml_bool(cx, true),
                                         .n_allocs = 1,
                                         .allocs = &w->T,
                                         .body = body});
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, 2);

    params[0] = (ml_FuncParam){ml_var_new(cx, "A", ML_DT_HANDLE), w->A};
    params[1] = (ml_FuncParam){ml_var_new(cx, "C", ML_DT_HANDLE), w->C};
    const ml_Func *f = ml_func_from(cx, &(ml_Func){.name = "main",
                                                   .n_params = 2,
                                                   .params = params,
                                                   .body = body,
                                                   .ret = ML_DT_VOID});

    w->p.mod = ml_module_new(cx, &f, 1, NULL);
    w->p.index = ml_index_build(cx, w->p.mod);
    w->facts = ml_facts_new(cx);
}

static void wrong(World *w, const char *what)
{
    ml_Text t = {0};

    ml_print_module(w->cx, &t, w->p.mod, NULL);
    fprintf(stderr, "%s\n%s\nseed %" PRIu64 "\n", what, ml_text_z(&t), w->seed);
    ml_text_free(&t);
    fail();
}

/* ---- signatures against bodies */

static void body_inside(World *w, const Blk *b, const int64_t *loops, const Env *at,
                        void *user)
{
    const ml_Region *r = b->writes_t ? b->b->writes : NULL;
    const ml_Stmt *s = b->b->body;
    const ml_Expr *const *idx;

    (void)loops;
    (void)user;
    /* Regions are inferred for the domains; leaving them is another finding. */
    for (size_t k = 0; k < b->b->n_iters; k++) {
        const ml_Iter *it = &b->b->iters[k];
        int64_t x = eval(at, ml_var(w->cx, it->var)) - it->min->as.i;

        if (x < 0 || x >= it->extent->as.i)
            return;
    }
    for (size_t k = 0; k < b->b->n_reads && !r; k++)
        if (b->b->reads[k].buffer == w->T)
            r = &b->b->reads[k];
    if (s->kind == ML_STMT_FOR)
        s = ml_as_for(s)->body;
    if (s->kind == ML_STMT_IF)
        s = ml_as_if(s)->then;
    const ml_Expr *v = ml_as_store(s)->value;

    if (v->kind == ML_EXPR_ADD)
        v = v->args[1];
    idx = b->writes_t ? ml_as_store(s)->indices : v->args;
    for (int64_t q = 0; q < (b->q ? b->q_extent : 1); q++) {
        Env env = *at;

        if (b->q)
            set(&env, b->q, q);
        if (b->cond && !eval(&env, b->cond))
            continue;
        if (!r)
            wrong(w, "an access is missing in the signature");
        for (size_t d = 0; r && d < w->rank; d++) {
            int64_t x = eval(&env, idx[d]), lo = eval(at, r->ranges[d].min);

            if (x < lo || x >= lo + eval(at, r->ranges[d].extent))
                wrong(w, "an access lies outside the inferred region");
        }
    }
}

/* ---- cover */

typedef struct Cover {
    size_t level;     /* loops at or above the common ancestor, as symbols */
    bool relax_outer; /* shared memory: thread loops there are not symbols */
    bool by_thread;   /* private memory: thread loops below are one symbol */
    uint64_t produced[5][6], consumed[5][6];
    const ml_Region *read;
} Cover;

static void key_of(const Cover *c, const Blk *b, const int64_t *loops, size_t *outer,
                   size_t *thread)
{
    *outer = *thread = 0;
    for (size_t k = 0; k < b->n_loops; k++) {
        bool is_thread = b->loops[k]->thread.axis;

        if (k < c->level && !(is_thread && c->relax_outer))
            *outer = (size_t)loops[k];
        if (k >= c->level && is_thread && c->by_thread)
            *thread = (size_t)loops[k];
    }
}

static void produce(World *w, const Blk *b, const int64_t *loops, const Env *env,
                    void *user)
{
    Cover *c = user;
    size_t o, t;

    key_of(c, b, loops, &o, &t);
    c->produced[o][t] |= elements(w, env, &b->b->writes[0]);
}

static void consume(World *w, const Blk *b, const int64_t *loops, const Env *env,
                    void *user)
{
    Cover *c = user;
    size_t o, t;

    key_of(c, b, loops, &o, &t);
    c->consumed[o][t] |= elements(w, env, c->read);
}

/* Whether all that the consumer reads of T was written, exactly. */
static bool exactly_covered(World *w)
{
    const Blk *last = &w->blk[w->n_blk - 1];
    Cover c = {.level = w->outer ? 1 : 0};

    c.relax_outer = ml_is_scope(w->T->scope, ML_SCOPE_SHARED);
    c.by_thread = ml_is_scope(w->T->scope, ML_SCOPE_LOCAL);
    for (size_t k = 0; k < last->b->n_reads; k++)
        if (last->b->reads[k].buffer == w->T)
            c.read = &last->b->reads[k];
    if (!c.read)
        return true;
    for (size_t k = 0; k + 1 < w->n_blk; k++)
        each_point(w, &w->blk[k], produce, &c);
    each_point(w, last, consume, &c);
    for (size_t o = 0; o < 5; o++)
        for (size_t t = 0; t < 6; t++)
            if (c.consumed[o][t] & ~c.produced[o][t])
                return false;
    return true;
}

/* ---- disjoint writes */

typedef struct Writes {
    size_t depth;     /* position of the loop in the block's loops */
    uint64_t seen[8]; /* by iteration, for one value of the outer loop */
    int64_t outer;    /* value of the outer loop looked at; -1: none above */
} Writes;

static void written(World *w, const Blk *b, const int64_t *loops, const Env *env,
                    void *user)
{
    Writes *s = user;

    if (s->depth == 0 || loops[0] == s->outer || s->outer < 0)
        s->seen[loops[s->depth]] |= elements(w, env, &b->b->writes[0]);
}

static bool meet(const uint64_t *seen)
{
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < i; j++)
            if (seen[i] & seen[j])
                return true;
    return false;
}

static void check_disjoint(World *w)
{
    if (w->outer && ml_writes_disjoint(w->cx, w->facts, w->p, w->outer->var->uid, w->T)) {
        Writes s = {.depth = 0, .outer = -1};

        n_disjoint++;
        for (size_t k = 0; k + 1 < w->n_blk; k++)
            each_point(w, &w->blk[k], written, &s);
        if (meet(s.seen))
            wrong(w, "iterations of the outer loop meet on T");
    }
    for (size_t k = 0; k + 1 < w->n_blk; k++) {
        const Blk *b = &w->blk[k];
        size_t d = w->outer ? 1 : 0;

        if (b->n_loops <= d ||
            !ml_writes_disjoint(w->cx, w->facts, w->p, b->loops[d]->var->uid, w->T))
            continue;
        n_disjoint++;
        for (int64_t o = 0; o < (d ? w->outer->extent->as.i : 1); o++) {
            Writes s = {.depth = d, .outer = d ? o : -1};

            each_point(w, b, written, &s);
            if (meet(s.seen))
                wrong(w, "iterations of a block's loop meet on T");
        }
    }
}

/* ---- bindings */

typedef struct Image {
    int64_t tuple[MAX_POINTS][3];
    size_t n;
} Image;

static void add_tuple(World *w, const Blk *b, const int64_t *loops, const Env *env,
                      void *user)
{
    Image *im = user;
    int64_t t[3] = {0, 0, 0};

    (void)loops;
    for (size_t k = 0; k < b->b->n_iters; k++)
        t[k] = eval(env, ml_var(w->cx, b->b->iters[k].var));
    for (size_t k = 0; k < im->n; k++)
        if (memcmp(im->tuple[k], t, sizeof t) == 0)
            return;
    assert_true(im->n < MAX_POINTS);
    memcpy(im->tuple[im->n++], t, sizeof t);
}

/* Number of values of iter k, and the least and the greatest. */
static int64_t projection(const Image *im, size_t k, int64_t *lo, int64_t *hi)
{
    int64_t n = 0;

    for (size_t a = 0; a < im->n; a++) {
        bool first = true;

        for (size_t b = 0; b < a && first; b++)
            first = im->tuple[b][k] != im->tuple[a][k];
        n += first;
        if (a == 0 || im->tuple[a][k] < *lo)
            *lo = im->tuple[a][k];
        if (a == 0 || im->tuple[a][k] > *hi)
            *hi = im->tuple[a][k];
    }
    return n;
}

/* ---- reductions */

typedef struct Sums {
    struct {
        int64_t key[2];
        int64_t got[64];
        size_t n;
    } at[256];
    size_t n;
} Sums;

static void accumulate(World *w, const Blk *b, const int64_t *loops, const Env *env,
                       void *user)
{
    Sums *s = user;
    const ml_Iter *r = &b->b->iters[w->rank];
    int64_t key[2] = {0, 0}, k = eval(env, ml_var(w->cx, r->var));
    size_t at;

    (void)loops;
    for (size_t d = 0; d < w->rank; d++)
        key[d] = eval(env, ml_var(w->cx, b->b->iters[d].var));
    for (at = 0; at < s->n; at++)
        if (memcmp(s->at[at].key, key, sizeof key) == 0)
            break;
    assert_true(at < 256);
    if (at == s->n) {
        memcpy(s->at[at].key, key, sizeof key);
        s->at[at].n = 0;
        s->n++;
    }
    if (k == r->min->as.i)
        s->at[at].n = 0;
    if (s->at[at].n < 64)
        s->at[at].got[s->at[at].n++] = k;
}

/* Every element has each value of the reduce iter exactly once, since its last init. */
static bool accumulates_once(World *w, const Blk *b, const Image *im)
{
    static Sums s;
    int64_t lo = 0, hi = 0, values = projection(im, w->rank, &lo, &hi);

    s.n = 0;
    each_point(w, b, accumulate, &s);
    for (size_t k = 0; k < s.n; k++) {
        if ((int64_t)s.at[k].n != values)
            return false;
        for (size_t i = 0; i < s.at[k].n; i++)
            for (size_t j = 0; j < i; j++)
                if (s.at[k].got[i] == s.at[k].got[j])
                    return false;
    }
    return true;
}

/* ---- findings */

static const ml_Finding *about(const ml_Findings *v, const Blk *b, const char *code,
                               int64_t iter)
{
    for (size_t k = 0; k < v->n; k++) {
        const ml_Error *e = v->v[k].error;
        bool here = false;

        if (!ml_streq(ml_error_code(e->code), code))
            continue;
        for (size_t f = 0; f < e->n_facts; f++) {
            if (e->facts[f].kind == ML_FACT_ITER && iter >= 0 &&
                e->facts[f].aux != (uint32_t)iter)
                here = false;
            if (e->facts[f].kind == ML_FACT_BLOCK && e->facts[f].as.uid == b->b->tag)
                here = true;
        }
        if (iter >= 0 && e->facts[0].aux != (uint32_t)iter)
            here = false;
        if (here)
            return &v->v[k];
    }
    return NULL;
}

/* A finding that is an error must have a bad point; no finding: there is none. */
static void judge(World *w, const ml_Finding *f, bool bad, const char *what)
{
    if (f && f->severity == ML_SEV_ERROR) {
        n_error++;
        if (!bad)
            wrong(w, ml_format(w->cx, "%s: error without a bad point", what));
    }
    if (!f) {
        n_clean++;
        if (bad)
            wrong(w, ml_format(w->cx, "%s: nothing found, but a point is bad", what));
    }
}

/* Whether leaving out values of the iter leaves out elements. */
static bool decides_element(const ml_Block *b, const ml_Iter *it)
{
    bool uses = false;

    for (size_t k = 0; k < b->n_writes; k++)
        for (size_t d = 0; d < b->writes[k].buffer->rank; d++)
            uses |= ml_expr_uses_var(b->writes[k].ranges[d].min, it->var);
    return uses;
}

static void check_bindings(World *w, const Blk *b, const ml_Findings *found)
{
    static Image im;
    int64_t lo[3] = {0}, hi[3] = {0}, n[3] = {0}, box = 1;
    bool output = !b->writes_t, contiguous = true;

    im.n = 0;
    each_point(w, b, add_tuple, &im);
    for (size_t k = 0; k < b->b->n_iters; k++) {
        n[k] = projection(&im, k, &lo[k], &hi[k]);
        box *= n[k];
        contiguous &= n[k] == hi[k] - lo[k] + 1;
    }
    if (ml_is_affine(w->cx, w->facts, w->p, b->b->tag, NULL) && b->n_loops > 0 &&
        im.n > 0) {
        n_affine++;
        if (box != (int64_t)im.n || !contiguous)
            wrong(w, "affine, but the values are not a box");
    }
    if (im.n == 0)
        return;
    for (size_t k = 0; k < b->b->n_iters; k++) {
        const ml_Iter *it = &b->b->iters[k];
        int64_t min = it->min->as.i, max = min + it->extent->as.i - 1;

        judge(w, about(found, b, "domain-exceeded", (int64_t)k), lo[k] < min || hi[k] > max,
              "domain-exceeded");
        if (it->kind != ML_ITER_REDUCE && !output)
            continue;
        const ml_Finding *f = about(found, b, "domain-not-equal", (int64_t)k);

        if (f || (!about(found, b, "not-independent", -1) &&
                  (it->kind == ML_ITER_REDUCE || decides_element(b->b, it))))
            judge(w, f, n[k] != it->extent->as.i || lo[k] != min || hi[k] != max,
                  "domain-not-equal");
    }
    const ml_Finding *dependent = about(found, b, "not-independent", -1);

    if (dependent || ml_is_true(b->b->predicate)) /* that one may say what is left out */
        judge(w, dependent, box != (int64_t)im.n, "not-independent");
    if (b->b->init && !dependent &&
        !about(found, b, "domain-not-equal", (int64_t)w->rank) &&
        !about(found, b, "domain-exceeded", -1) && !about(found, b, "init-excluded", -1)) {
        const ml_Finding *f = about(found, b, "accumulated-twice", -1);

        n_accumulated += f != NULL;
        judge(w, f, !accumulates_once(w, b, &im), "accumulated-twice");
    }
}

/* ---- bounds */

typedef struct Outside {
    bool yes[2]; /* per dimension of T */
} Outside;

static void look_outside(World *w, const Blk *b, const int64_t *loops, const Env *at,
                         void *user)
{
    Outside *o = user;
    const ml_Stmt *s = b->b->body;

    (void)loops;
    if (s->kind == ML_STMT_FOR)
        s = ml_as_for(s)->body;
    if (s->kind == ML_STMT_IF)
        s = ml_as_if(s)->then;
    const ml_Expr *v = ml_as_store(s)->value;

    if (v->kind == ML_EXPR_ADD)
        v = v->args[1];
    for (int64_t q = 0; q < (b->q ? b->q_extent : 1); q++) {
        Env env = *at;

        if (b->q)
            set(&env, b->q, q);
        if (b->cond && !eval(&env, b->cond))
            continue;
        for (size_t d = 0; d < w->rank; d++) {
            int64_t x = eval(&env, (b->writes_t ? ml_as_store(s)->indices : v->args)[d]);

            o->yes[d] |= x < 0 || x >= w->shape[d];
        }
    }
}

static void check_bounds(World *w, const ml_Findings *nests)
{
    ml_Findings found = {0};

    ml_verify_bounds(w->cx, w->p, &found);
    for (size_t k = 0; k < w->n_blk; k++) {
        const Blk *b = &w->blk[k];
        Outside o = {{false, false}};

        /* The proof starts from domains; bindings outside them are found elsewhere. */
        if (about(nests, b, "domain-exceeded", -1))
            continue;
        each_point(w, b, look_outside, &o);
        for (size_t d = 0; d < w->rank; d++) {
            const ml_Finding *f = NULL;

            for (size_t j = 0; j < found.n && !f; j++) {
                const ml_Error *e = found.v[j].error;
                bool here = e->facts[0].as.buffer == w->T &&
                            e->facts[1].as.i == (int64_t)d &&
                            e->facts[5].as.uid == b->b->tag;

                f = here ? &found.v[j] : NULL;
            }
            judge(w, f, o.yes[d], "access-bounds");
        }
    }
}

static void claims_agree_with_enumeration(void **state)
{
    const char *from = getenv("ML_TEST_SEED");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1;
    const char *many = getenv("ML_TEST_CASES");
    uint64_t programs = many ? strtoull(many, NULL, 10) : from ? 1 : PROGRAMS;

    (void)state;
    print_message("seeds %" PRIu64 " to %" PRIu64 "\n", first, first + programs - 1);
    for (uint64_t seed = first; seed < first + programs; seed++) {
        World w;
        ml_Findings found = {0};

        make(&w, seed);
        const Blk *last = &w.blk[w.n_blk - 1];

        for (size_t k = 0; k < w.n_blk; k++)
            each_point(&w, &w.blk[k], body_inside, NULL);
        ml_verify_nests(w.cx, w.p, &found);
        if (ml_is_covered(w.cx, w.facts, w.p, last->b->tag, false)) {
            n_covered++;
            if (!exactly_covered(&w))
                wrong(&w, "said to be covered");
        } else {
            const ml_Finding *f = about(&found, last, "not-region-covered", -1);

            if (!f)
                wrong(&w, "uncovered, but not found");
            if (f->severity == ML_SEV_ERROR) {
                n_missed++;
                if (exactly_covered(&w))
                    wrong(&w, "said to be missed");
            }
        }
        check_disjoint(&w);
        for (size_t k = 0; k < w.n_blk; k++)
            check_bindings(&w, &w.blk[k], &found);
        check_bounds(&w, &found);
        ml_facts_free(w.facts);
        ml_ctx_unref(w.cx);
    }
    print_message(
        "covered %" PRIu64 " missed %" PRIu64 " disjoint %" PRIu64 " affine %" PRIu64
        " clean %" PRIu64 " errors %" PRIu64 " accumulated %" PRIu64 "\n",
        n_covered, n_missed, n_disjoint, n_affine, n_clean, n_error, n_accumulated);
    if (!from) {
        assert_true(n_covered > PROGRAMS / 20 && n_missed > PROGRAMS / 20);
        assert_true(n_disjoint > PROGRAMS / 20 && n_affine > PROGRAMS / 4);
        assert_true(n_clean > PROGRAMS && n_error > PROGRAMS / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(claims_agree_with_enumeration)};

    return cmocka_run_group_tests_name("verify enumerate", tests, NULL, NULL);
}

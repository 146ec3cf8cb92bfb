/*
 * What is said of loops without running them, against running them: random small programs
 * (split and fused loops, triangles, conditions, inits, views of parts) are executed
 * access by access, and every execution of every loop is compared. What is said to be exact
 * must be so each time, what is said to be a bound must hold each time.
 * Source: interaction 8.
 */
#include "../core/core_test.h"
#include "verify/counts.h"
#include "verify/verify_test.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_LOOPS = 24, MAX_DEPTH = 12, MAX_BUFFERS = 8, STEPS = 40000 };

/* ---- running */

typedef struct Hit {
    uint64_t key; /* buffer and element */
    bool write;
} Hit;

typedef struct Open { /* a loop that is being executed */
    const ml_For *loop;
    int64_t counter;
    size_t from; /* its hits begin there */
    double flops;
} Open;

typedef struct Move { /* an access at the counters of all loops around it */
    const void *site;
    int64_t at[MAX_DEPTH], address;
    const ml_For *loops[MAX_DEPTH];
    size_t n;
} Move;

typedef struct Run {
    uint64_t seed;
    Prog g;
    ml_Counts counts;
    ml_Map *values; /* uid -> 1 + position in at */
    int64_t at[256];
    size_t n_at;
    const ml_Buffer *buffers[MAX_BUFFERS];
    size_t n_buffers;
    Open open[MAX_DEPTH];
    size_t n_open;
    double iterations[MAX_LOOPS];
    const ml_For *loops[MAX_LOOPS];
    size_t n_loops;
    ML_VEC(Hit) hits;
    ML_VEC(Move) moves;
    int64_t clock;
    bool in_init, over;
} Run;

static uint64_t n_exact, n_bound, n_unknown, n_tight, n_even, n_uneven, n_open_strides;

static void wrong(Run *r, const char *what, const ml_For *f, const ml_Buffer *b,
                  double said, double is)
{
    ml_Text t = {0};

    ml_print_module(r->g.cx, &t, r->g.p.mod, NULL);
    fprintf(stderr, "%s\nloop %s, %s of %s: said %g, is %g (seed %" PRIu64 ")\n",
            ml_text_z(&t), f->var->hint, what, b ? b->name : "it", said, is, r->seed);
    ml_text_free(&t);
    fail();
}

static void set(Run *r, const ml_Var *v, int64_t x)
{
    uintptr_t k = (uintptr_t)ml_map_get(r->values, v->uid);

    if (k == 0) {
        assert_true(r->n_at < ML_COUNT(r->at));
        k = ++r->n_at;
        ml_map_set(r->g.cx, r->values, v->uid, (const void *)k);
    }
    r->at[k - 1] = x;
}

static size_t buffer_number(Run *r, const ml_Buffer *b)
{
    for (size_t k = 0; k < r->n_buffers; k++)
        if (r->buffers[k] == b)
            return k;
    assert_true(r->n_buffers < MAX_BUFFERS);
    r->buffers[r->n_buffers] = b;
    return r->n_buffers++;
}

static int64_t eval(Run *r, const ml_Expr *e, bool ops);

static int64_t access_element(Run *r, const ml_Buffer *b, const ml_Expr *const *idx,
                              bool write)
{
    uint64_t key = buffer_number(r, b);
    int64_t address = 0;
    Move m = {.site = idx, .n = r->n_open};

    for (size_t d = 0; d < b->rank; d++) {
        int64_t v = eval(r, idx[d], false);

        key = key << 20 | (uint64_t)(v + 4000);
        address = address * b->shape[d]->as.i + v;
    }
    for (size_t d = b->rank; d < 2; d++)
        key <<= 20;
    ml_push(r->g.cx, &r->hits, ((Hit){key, write}));
    for (size_t k = 0; k < r->n_open; k++) {
        m.at[k] = r->open[k].counter;
        m.loops[k] = r->open[k].loop;
    }
    m.address = address;
    ml_push(r->g.cx, &r->moves, m);
    r->over |= ++r->clock > STEPS;
    return (int64_t)((key * 0x9E3779B97F4A7C15u + (uint64_t)r->clock) >> 61);
}

static void count_op(Run *r)
{
    for (size_t k = 0; k < r->n_open && !r->in_init; k++)
        r->open[k].flops++;
}

/* The right side of `and`, `or` counts, looked at or not. */
static void count_ops(Run *r, const ml_Expr *e)
{
    if (e->kind >= ML_EXPR_ADD && e->kind <= ML_EXPR_MAX)
        count_op(r);
    for (size_t k = 0; k < e->n_args && e->kind != ML_EXPR_LOAD; k++)
        count_ops(r, e->args[k]);
}

static int64_t logic(Run *r, const ml_Expr *e, bool ops)
{
    bool left = eval(r, e->args[0], ops) != 0;

    if (left == (e->kind == ML_EXPR_AND))
        return eval(r, e->args[1], ops) != 0;
    if (ops)
        count_ops(r, e->args[1]);
    return left;
}

static int64_t eval(Run *r, const ml_Expr *e, bool ops)
{
    int64_t a, b;

    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT: return e->as.i;
    case ML_EXPR_FLOAT: return (int64_t)e->as.f;
    case ML_EXPR_VAR: {
        uintptr_t k = (uintptr_t)ml_map_get(r->values, e->as.var->uid);

        if (k == 0)
            fail_msg("no value of %s", e->as.var->hint);
        return r->at[k - 1];
    }
    case ML_EXPR_LOAD: return access_element(r, e->as.buffer, e->args, false);
    case ML_EXPR_CAST: return eval(r, e->args[0], ops);
    case ML_EXPR_NOT: return !eval(r, e->args[0], ops);
    case ML_EXPR_AND:
    case ML_EXPR_OR: return logic(r, e, ops);
    case ML_EXPR_CALL:
        assert_true(ml_is_op(e, ML_OP_IF_THEN_ELSE));
        return eval(r, e->args[eval(r, e->args[0], ops) ? 1 : 2], ops);
    default: break;
    }
    if (ops && e->kind >= ML_EXPR_ADD && e->kind <= ML_EXPR_MAX)
        count_op(r);
    a = eval(r, e->args[0], ops);
    b = eval(r, e->args[1], ops);
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_ADD: return a + b;
    case ML_EXPR_SUB: return a - b;
    case ML_EXPR_MUL: return ml_dtype_is_int(e->type) ? a * b : (a ^ b);
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
    default: fail_msg("unexpected node %s", ml_expr_kind_name((ml_ExprKind)e->kind));
    }
    return 0;
}

/* ---- comparing */

static void compare(Run *r, const char *what, const ml_For *f, const ml_Buffer *b,
                    ml_Number n, double is)
{
    assert_null(n.expr);
    if (n.how == ML_UNKNOWN) {
        n_unknown++;
        return;
    }
    if (n.how == ML_EXACT ? (double)n.n != is : (double)n.n < is)
        wrong(r, what, f, b, (double)n.n, is);
    n_exact += n.how == ML_EXACT;
    n_bound += n.how == ML_AT_MOST;
    n_tight += n.how == ML_AT_MOST && (double)n.n == is;
}

static int by_key(const void *a, const void *b)
{
    const Hit *x = a, *y = b;

    return x->key < y->key ? -1 : x->key > y->key;
}

static void compare_loop(Run *r, const Open *o)
{
    const ml_LoopFacts *facts = ml_counts_of(&r->counts, o->loop->var->uid);
    size_t n = r->hits.n - o->from;
    Hit *v = ML_ARRAY(r->g.cx, Hit, n + 1);
    double distinct[MAX_BUFFERS] = {0}, loads[MAX_BUFFERS] = {0}, stores[MAX_BUFFERS] = {0};

    if (!facts) { /* of an init */
        assert_true(r->in_init);
        return;
    }
    memcpy(v, r->hits.v + o->from, n * sizeof *v);
    qsort(v, n, sizeof *v, by_key);
    for (size_t k = 0; k < n; k++) {
        size_t b = (size_t)(v[k].key >> 40);

        distinct[b] += k == 0 || v[k].key != v[k - 1].key;
        *(v[k].write ? &stores[b] : &loads[b]) += 1;
    }
    compare(r, "operations", o->loop, NULL, facts->flops, o->flops);
    for (size_t k = 0; k < r->n_buffers; k++) {
        const ml_Touched *t = NULL;

        for (uint32_t j = 0; j < facts->n_touched; j++)
            if (facts->touched[j].buffer == r->buffers[k])
                t = &facts->touched[j];
        if (!t) {
            if (distinct[k] > 0)
                wrong(r, "elements", o->loop, r->buffers[k], 0, distinct[k]);
            continue;
        }
        compare(r, "elements", o->loop, t->buffer, t->elements, distinct[k]);
        compare(r, "loads", o->loop, t->buffer, t->loads, loads[k]);
        compare(r, "stores", o->loop, t->buffer, t->stores, stores[k]);
    }
}

/* ---- statements */

static void run(Run *r, const ml_Stmt *s);

static void run_for(Run *r, const ml_For *f)
{
    int64_t min = eval(r, f->min, false), extent = eval(r, f->extent, false);
    Open *o = &r->open[r->n_open];
    size_t k = 0;

    assert_true(r->n_open < MAX_DEPTH);
    while (k < r->n_loops && r->loops[k] != f)
        k++;
    assert_true(k < MAX_LOOPS);
    if (k == r->n_loops)
        r->loops[r->n_loops++] = f;
    *o = (Open){.loop = f, .from = r->hits.n};
    r->n_open++;
    for (; o->counter < extent && !r->over; o->counter++) {
        set(r, f->var, min + o->counter);
        r->iterations[k]++;
        run(r, f->body);
    }
    r->n_open--;
    if (!r->over)
        compare_loop(r, o);
}

static void run_block(Run *r, const ml_Block *b)
{
    bool first = true;

    if (!eval(r, b->predicate, false))
        return;
    for (size_t k = 0; k < b->n_iters; k++) {
        int64_t v = eval(r, b->iters[k].value, false);

        set(r, b->iters[k].var, v);
        first &= b->iters[k].kind != ML_ITER_REDUCE || v == b->iters[k].min->as.i;
    }
    if (b->init && first) {
        r->in_init = true;
        run(r, b->init);
        r->in_init = false;
    }
    run(r, b->body);
}

static void run(Run *r, const ml_Stmt *s)
{
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE:
        eval(r, ml_as_store(s)->value, true);
        access_element(r, ml_as_store(s)->buffer, ml_as_store(s)->indices, true);
        break;
    case ML_STMT_SEQ:
        for (size_t k = 0; k < ml_as_seq(s)->n; k++)
            run(r, ml_as_seq(s)->stmts[k]);
        break;
    case ML_STMT_FOR: run_for(r, ml_as_for(s)); break;
    case ML_STMT_IF:
        if (eval(r, ml_as_if(s)->cond, true))
            run(r, ml_as_if(s)->then);
        else if (ml_as_if(s)->other)
            run(r, ml_as_if(s)->other);
        break;
    case ML_STMT_BIND:
        set(r, ml_as_bind(s)->var, eval(r, ml_as_bind(s)->value, true));
        break;
    case ML_STMT_BLOCK: run_block(r, ml_as_block(s)); break;
    case ML_STMT_EVALUATE: break;
    default: fail_msg("unexpected statement");
    }
}

/* ---- strides: an access one iteration later, all other counters the same */

static int by_counters(const void *a, const void *b)
{
    const Move *x = a, *y = b;

    if (x->site != y->site)
        return (uintptr_t)x->site < (uintptr_t)y->site ? -1 : 1;
    for (size_t k = 0; k < x->n && k < y->n; k++)
        if (x->at[k] != y->at[k])
            return x->at[k] < y->at[k] ? -1 : 1;
    return 0;
}

static const ml_Stride *stride_at(Run *r, const Move *m, size_t level)
{
    const ml_LoopFacts *f = ml_counts_of(&r->counts, m->loops[level]->var->uid);

    for (uint32_t k = 0; f && k < f->n_strides; k++)
        if (f->strides[k].site->index == m->site)
            return &f->strides[k];
    return NULL;
}

static void compare_strides(Run *r)
{
    qsort(r->moves.v, r->moves.n, sizeof *r->moves.v, by_counters);
    for (size_t k = 0; k < r->moves.n; k++)
        for (size_t level = 0; level < r->moves.v[k].n; level++) {
            const Move *m = &r->moves.v[k], *next;
            const ml_Stride *s = stride_at(r, m, level);
            Move later = *m;

            if (!s)
                continue;
            later.at[level]++;
            next = bsearch(&later, r->moves.v, r->moves.n, sizeof later, by_counters);
            if (!next || next->n != m->n)
                continue;
            assert_null(s->expr);
            if (s->kind == ML_STRIDE_EVEN && next->address - m->address != s->n)
                wrong(r, "stride", m->loops[level], s->site->buffer, (double)s->n,
                      (double)(next->address - m->address));
            n_even += s->kind == ML_STRIDE_EVEN;
            n_uneven += s->kind == ML_STRIDE_UNEVEN;
            n_open_strides += s->kind == ML_STRIDE_OPEN;
        }
}

/* ---- random programs, as text */

typedef struct Gen {
    Rng rng;
    ml_Text t;
    int vars[MAX_DEPTH], extent[MAX_DEPTH]; /* loops around; extent 0: no literal */
    int n_vars, n_loops, n_blocks, most_loops;
} Gen;

static uint32_t pick(Gen *g, uint32_t n)
{
    return rng_below(&g->rng, n);
}

static const char *value_of(Gen *g, char *out, size_t size)
{
    int k = g->n_vars ? (int)pick(g, (uint32_t)g->n_vars) : -1, c = 1 + (int)pick(g, 6);
    int j = g->n_vars > 1 && k > 0 ? k - 1 : k;

    if (k < 0) {
        snprintf(out, size, "%d", c);
        return out;
    }
    int inner = g->extent[k] ? g->extent[k] : 4, i = g->vars[j], v = g->vars[k];

    switch (pick(g, 11)) {
    case 0: snprintf(out, size, "i%d * %d + i%d", i, inner, v); break;
    case 1: snprintf(out, size, "(i%d * %d + i%d) // %d", i, inner, v, c); break;
    case 2: snprintf(out, size, "(i%d * %d + i%d) %% %d", i, inner, v, c); break;
    case 3: snprintf(out, size, "i%d + %d", v, c); break;
    case 4: snprintf(out, size, "%d - i%d", c, v); break;
    case 5: snprintf(out, size, "i%d // %d", v, c); break;
    case 6: snprintf(out, size, "i%d %% %d", v, c); break;
    case 7: snprintf(out, size, "i%d * %d + i%d", i, c, v); break;
    case 8: snprintf(out, size, "%d", c); break;
    default: snprintf(out, size, "i%d", v); break;
    }
    return out;
}

static const char *index_of(Gen *g, const char *v, const char *q, char *out, size_t size)
{
    int c = 1 + (int)pick(g, 3);

    switch (pick(g, 12)) {
    case 0: snprintf(out, size, "%s + %d", v, c); break;
    case 1: snprintf(out, size, "%s * %d", v, c); break;
    case 2: snprintf(out, size, "%s // %d", v, c); break;
    case 3: snprintf(out, size, "%s %% %d", v, c); break;
    case 4: snprintf(out, size, "%d - %s", c, v); break;
    case 5: snprintf(out, size, "%s * %d + %s", v, c, q ? q : "1"); break;
    case 6: snprintf(out, size, "%s + %s", v, q ? q : "v0"); break;
    case 7: snprintf(out, size, "T.min(%s, %d)", v, c); break;
    case 8:
        if (pick(g, 3) == 0) {
            snprintf(out, size, "I[%s]", v);
            break;
        }
        snprintf(out, size, "%s + v0 * 2", v);
        break;
    default: snprintf(out, size, "%s", v); break;
    }
    return out;
}

static void indent(Gen *g, int depth)
{
    ml_text_repeat(&g->t, ' ', (size_t)(4 * depth));
}

static void gen_block(Gen *g, int d)
{
    char a[128], b[128], e[128], x[128];
    bool reduce = pick(g, 3) == 0, q = pick(g, 4) == 0;
    const char *in = q ? "q" : NULL, *last = reduce ? "v2" : "v1";

    indent(g, d);
    ml_text_fmt(&g->t, "with T.block(\"b%d\"):\n", g->n_blocks++);
    d++;
    for (int k = 0; k < (reduce ? 3 : 2); k++) {
        indent(g, d);
        ml_text_fmt(&g->t, "v%d = T.axis.%s(64, %s)\n", k, k == 2 ? "reduce" : "spatial",
                    value_of(g, e, sizeof e));
    }
    if (pick(g, 3) == 0) {
        indent(g, d);
        ml_text_fmt(&g->t, "T.where(%s %s %u)\n", value_of(g, e, sizeof e),
                    pick(g, 3) ? "<" : ">=", pick(g, 9));
    }
    if (reduce) {
        indent(g, d);
        ml_text_add(&g->t, "with T.init():\n");
        indent(g, d + 1);
        ml_text_add(&g->t, "C[v0, v1] = T.float32(0)\n");
    }
    if (q) {
        indent(g, d++);
        ml_text_fmt(&g->t, "for q in range(%u):\n", 1 + pick(g, 4));
    }
    if (pick(g, 5) == 0) {
        indent(g, d++);
        ml_text_fmt(&g->t, "if %s %s %u:\n", index_of(g, "v0", in, e, sizeof e),
                    pick(g, 2) ? "<" : "==", pick(g, 5));
    }
    index_of(g, "v0", in, a, sizeof a);
    index_of(g, last, in, b, sizeof b);
    indent(g, d);
    if (reduce) {
        ml_text_fmt(&g->t, "C[v0, v1] = C[v0, v1] + A[%s, %s] * B[%s, v1]\n", a, b,
                    index_of(g, last, in, e, sizeof e));
    } else if (pick(g, 3) == 0) {
        ml_text_fmt(
            &g->t,
            "D[%s, %s] = T.if_then_else(%s >= 1 and %s < %u, A[%s, v1] + A[v0, %s], "
            "T.float32(0))\n",
            index_of(g, "v0", in, e, sizeof e), index_of(g, "v1", in, x, sizeof x), a, b,
            pick(g, 6), a, b);
    } else
        ml_text_fmt(&g->t, "%s[%s, v1] = %s[%s, %s] + %s[v0, v1]\n", pick(g, 2) ? "D" : "C",
                    index_of(g, "v0", in, e, sizeof e), pick(g, 2) ? "D" : "A", a, b,
                    pick(g, 2) ? "A" : "B");
}

static void gen(Gen *g, int d)
{
    uint32_t parts = 1 + (pick(g, 3) == 0) + (pick(g, 6) == 0);

    if (g->n_vars >= 4)
        parts = 1;
    for (uint32_t k = 0; k < parts; k++) {
        uint32_t what = pick(g, 10);

        if (g->n_loops >= g->most_loops || g->n_vars >= 5 || (what < 3 && g->n_vars > 0)) {
            gen_block(g, d);
            continue;
        }
        if (what == 3 && g->n_vars > 0 && d < 7) {
            char e[128];

            indent(g, d);
            ml_text_fmt(&g->t, "if %s < %u:\n", value_of(g, e, sizeof e), pick(g, 8));
            gen(g, d + 1);
            continue;
        }
        int v = g->n_loops++, n = 1 + (int)pick(g, 6);
        int outer = g->n_vars ? g->vars[pick(g, (uint32_t)g->n_vars)] : -1;

        indent(g, d);
        g->vars[g->n_vars] = v;
        g->extent[g->n_vars] = 0;
        switch (outer < 0 ? 9 : (int)pick(g, 10)) {
        case 0: ml_text_fmt(&g->t, "for i%d in range(i%d + 1):\n", v, outer); break;
        case 1:
            ml_text_fmt(&g->t, "for i%d in range(T.min(3, %d - i%d)):\n", v, n, outer);
            break;
        case 2: ml_text_fmt(&g->t, "for i%d in T.serial(2, %d):\n", v, 2 + n); break;
        case 3:
            ml_text_fmt(&g->t, "for i%d in T.serial(i%d, i%d + %d):\n", v, outer, outer, n);
            break;
        default:
            ml_text_fmt(&g->t, "for i%d in range(%d):\n", v, n);
            g->extent[g->n_vars] = n;
            break;
        }
        g->n_vars++;
        gen(g, d + 1);
        g->n_vars--;
    }
}

static bool one_program(uint64_t seed)
{
    static const char PARAMS[] =
        "A: T.Buffer((1024, 1024), \"float32\"), B: T.Buffer((1024, 1024), \"float32\"), "
        "C: T.Buffer((1024, 1024), \"float32\"), D: T.Buffer((1024, 1024), \"float32\"), "
        "I: T.Buffer((1024,), \"int32\")";
    Gen g = {.rng = {seed * 0x9E3779B97F4A7C15u + 7}, .most_loops = 1 + (int)(seed % 9)};
    Run r = {.seed = seed};
    bool ran;

    gen(&g, 1);
    r.g = prog_any(PARAMS, ml_text_z(&g.t));
    ml_text_free(&g.t);
    r.values = ml_map_new(r.g.cx);
    for (size_t k = 0; k < 5; k++)
        buffer_number(&r, r.g.p.mod->funcs[0]->params[k].buffer);
    assert_true(ml_counts(r.g.cx, r.g.p, 0, &r.counts));
    run(&r, r.g.p.mod->funcs[0]->body);
    ran = !r.over;
    for (size_t k = 0; ran && k < r.n_loops; k++) {
        const ml_LoopFacts *f = ml_counts_of(&r.counts, r.loops[k]->var->uid);

        if (f)
            compare(&r, "iterations", r.loops[k], NULL, f->iterations, r.iterations[k]);
    }
    if (ran)
        compare_strides(&r);
    prog_free(&r.g);
    return ran;
}

static void what_is_said_of_random_programs_is_what_they_do(void **state)
{
    uint64_t programs = getenv("ML_QUICK") ? 500 : 4000, ran = 0;
    const char *only = getenv("ML_SEED");

    (void)state;
    if (only) {
        one_program(strtoull(only, NULL, 10));
        return;
    }
    for (uint64_t seed = 0; seed < programs; seed++)
        ran += one_program(seed);
    print_message(
        "%" PRIu64 " programs: %" PRIu64 " numbers exact, %" PRIu64 " bounds (%" PRIu64
        " of them reached), %" PRIu64 " unknown; strides: %" PRIu64 " even, %" PRIu64
        " uneven, %" PRIu64 " open\n",
        ran, n_exact, n_bound, n_tight, n_unknown, n_even, n_uneven, n_open_strides);
    /* Nobody is served by bounds where there are numbers. */
    assert_true(ran > programs * 9 / 10);
    assert_true(n_exact > 2 * n_bound && n_unknown == 0);
    assert_true(n_even > 10 * n_uneven && n_uneven > 0 && n_open_strides > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_random_programs_is_what_they_do),
    };

    return cmocka_run_group_tests_name("verify counts", tests, NULL, NULL);
}

/*
 * What is said of loops without running them, against running them: random small programs
 * (split and fused loops, triangles, conditions, inits, views of parts) are executed
 * access by access, and every execution of every loop is compared. What is said to be exact
 * must be so each time, what is said to be a bound must hold each time.
 * Source: interaction 8.
 */
#include "../core/core_test.h"
#include "moonloop/verify/count/counts.h"
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

/* Arithmetic of which an element is a part. */
static bool of_elements(const ml_Expr *e)
{
    return e->kind >= ML_EXPR_ADD && e->kind <= ML_EXPR_MAX &&
           (ml_dtype_is_float(e->type) || (e->flags & ML_X_HAS_LOAD));
}

/* The right side of `and`, `or` counts, looked at or not. */
static void count_ops(Run *r, const ml_Expr *e)
{
    if (of_elements(e))
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
    if (ops && of_elements(e))
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
    for (size_t k = 0; k < n; k++)
        v[k] = r->hits.v[o->from + k];
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
    if (r->moves.n == 0)
        return;
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
        switch (outer < 0 ? 9 : (int)pick(g, 11)) {
        case 10:
            ml_text_fmt(&g->t, "for i%d in range(T.min(%d - i%d, 2) + 1):\n", v, n - 2,
                        outer);
            break;
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

/* ---- by hand */

typedef struct Known {
    Prog g;
    ml_Counts c;
} Known;

static Known counts_of(const char *params, const char *body)
{
    Known k = {.g = prog_any(params, body)};

    assert_true(ml_counts(k.g.cx, k.g.p, 0, &k.c));
    return k;
}

static const ml_LoopFacts *loop_of(const Known *k, const char *name)
{
    const ml_LoopFacts *f = ml_counts_of(&k->c, loop_uid(&k->g, name));

    assert_non_null(f);
    return f;
}

static const ml_Touched *touched_of(const Known *k, const char *loop, const char *buffer)
{
    const ml_LoopFacts *f = loop_of(k, loop);

    for (uint32_t j = 0; j < f->n_touched; j++)
        if (ml_streq(f->touched[j].buffer->name, buffer))
            return &f->touched[j];
    fail_msg("%s is not touched by %s", buffer, loop);
    return NULL;
}

static void is(ml_Number n, int64_t exact)
{
    assert_int_equal(n.how, ML_EXACT);
    assert_null(n.expr);
    assert_int_equal(n.n, exact);
}

static void is_at_most(ml_Number n, int64_t bound)
{
    assert_int_equal(n.how, ML_AT_MOST);
    assert_null(n.expr);
    assert_int_equal(n.n, bound);
}

static void is_text(const Known *k, ml_Number n, const char *text)
{
    ml_Text t = {0};

    assert_non_null(n.expr);
    ml_print_expr(k->g.cx, &t, n.expr, &(ml_PrintOpts){.spelling = -1, .plain = true});
    assert_string_equal(ml_text_z(&t), text);
    ml_text_free(&t);
}

static void stride_is(const Known *k, const char *loop, uint32_t site, ml_StrideKind kind,
                      int64_t n)
{
    const ml_LoopFacts *f = loop_of(k, loop);

    assert_true(site < f->n_strides);
    assert_int_equal(f->strides[site].kind, kind);
    if (kind != ML_STRIDE_OPEN)
        assert_int_equal(f->strides[site].n, n);
}

#define TWO "A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\")"

static void a_matmul_is_what_one_knows_of_it(void **state)
{
    Known k = counts_of(TWO ", C: T.Buffer((64, 64), \"float32\")",
                        "    for i, j, k in T.grid(64, 64, 64):\n"
                        "        with T.block(\"C\"):\n"
                        "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                        "            with T.init():\n"
                        "                C[vi, vj] = T.float32(0)\n"
                        "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n");
    bool exact;

    (void)state;
    is(loop_of(&k, "i")->flops, 524288);
    is(loop_of(&k, "j")->flops, 8192);
    is(loop_of(&k, "k")->iterations, 262144);
    is(touched_of(&k, "i", "B")->bytes, 16384);
    is(touched_of(&k, "j", "A")->bytes, 256);
    is(touched_of(&k, "k", "C")->bytes, 4);
    /* The init stores once for each element, whichever k that is. */
    is(touched_of(&k, "i", "C")->stores, 262144 + 4096);
    is(touched_of(&k, "i", "C")->loads, 262144);
    is(touched_of(&k, "j", "C")->stores, 4096 + 64);
    is(touched_of(&k, "k", "C")->stores, 64 + 1);
    assert_true(ml_reuse(touched_of(&k, "i", "A"), &exact) == 64 && exact);
    stride_is(&k, "i", 2, ML_STRIDE_EVEN, 64); /* init, C, A, B, C */
    stride_is(&k, "j", 3, ML_STRIDE_EVEN, 1);
    stride_is(&k, "k", 3, ML_STRIDE_EVEN, 64);
    stride_is(&k, "k", 4, ML_STRIDE_EVEN, 0);
    assert_string_equal(loop_of(&k, "i")->touched[0].buffer->name, "A");
    assert_string_equal(loop_of(&k, "i")->touched[2].buffer->name, "C");
    prog_free(&k.g);
}

static void a_stencil_is_the_union_of_its_points(void **state)
{
    Known k = counts_of(TWO, "    for i, j in T.grid(30, 40):\n"
                             "        with T.block(\"B\"):\n"
                             "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                             "            B[vi, vj] = A[vi, vj + 1] + A[vi + 2, vj + 1] + "
                             "A[vi + 1, vj] + A[vi + 1, vj + 2]\n");

    (void)state;
    /* 32 x 40 and 30 x 42, of which 30 x 40 twice. */
    is(touched_of(&k, "i", "A")->elements, 32 * 40 + 30 * 42 - 30 * 40);
    is(touched_of(&k, "j", "A")->elements, 40 + 40 + 42);
    is(touched_of(&k, "j", "A")->loads, 160);
    prog_free(&k.g);
}

static void a_fused_loop_is_even_where_memory_goes_on(void **state)
{
    Known k = counts_of(TWO ", D: T.Buffer((64, 65), \"float32\")",
                        "    for f in range(4096):\n"
                        "        with T.block(\"B\"):\n"
                        "            vi = T.axis.spatial(64, f // 64)\n"
                        "            vj = T.axis.spatial(64, f % 64)\n"
                        "            B[vi, vj] = A[vj, vi] + D[vi, vj]\n");

    (void)state;
    is(touched_of(&k, "f", "A")->elements, 4096);
    is(touched_of(&k, "f", "D")->elements, 4096);
    stride_is(&k, "f", 0, ML_STRIDE_UNEVEN, 64); /* A, by columns */
    stride_is(&k, "f", 1, ML_STRIDE_UNEVEN, 1);  /* D, a gap after each row */
    stride_is(&k, "f", 2, ML_STRIDE_EVEN, 1);
    prog_free(&k.g);
}

static void a_guard_is_counted_where_all_its_loops_run(void **state)
{
    Known k = counts_of(TWO, "    for i_0, i_1, j in T.grid(3, 24, 64):\n"
                             "        with T.block(\"B\"):\n"
                             "            vi = T.axis.spatial(64, i_0 * 24 + i_1)\n"
                             "            vj = T.axis.spatial(64, j)\n"
                             "            T.where(i_0 * 24 + i_1 < 64)\n"
                             "            B[vi, vj] = A[vj, vi] + T.float32(1)\n");

    (void)state;
    is(loop_of(&k, "i_0")->flops, 4096);
    is(touched_of(&k, "i_0", "B")->elements, 4096);
    is_at_most(loop_of(&k, "i_1")->flops, 24 * 64);
    is_at_most(touched_of(&k, "i_1", "A")->elements, 24 * 64);
    is(loop_of(&k, "i_1")->iterations, 72);
    prog_free(&k.g);
}

static void sizes_that_are_not_known_stay_in_the_numbers(void **state)
{
    Known k = counts_of("a: T.handle, b: T.handle, n: T.int64, m: T.int64",
                        "    A = T.match_buffer(a, (n, m), \"float32\")\n"
                        "    B = T.match_buffer(b, (n, m), \"float32\")\n"
                        "    for i, j in T.grid(n, m):\n"
                        "        with T.block(\"B\"):\n"
                        "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                        "            B[vi, vj] = A[vi, vj] * T.float32(2)\n");

    (void)state;
    is_text(&k, loop_of(&k, "i")->extent, "n");
    is_text(&k, loop_of(&k, "j")->iterations, "n * m");
    is_text(&k, loop_of(&k, "j")->flops, "m");
    is_text(&k, touched_of(&k, "i", "A")->bytes, "n * m * 4");
    assert_true(isnan(ml_reuse(touched_of(&k, "i", "A"), NULL)));
    assert_non_null(loop_of(&k, "i")->strides[0].expr);
    stride_is(&k, "j", 0, ML_STRIDE_EVEN, 1);
    prog_free(&k.g);
}

static void an_index_from_memory_may_be_any(void **state)
{
    Known k = counts_of(TWO ", I: T.Buffer((64,), \"int32\")",
                        "    for i, j in T.grid(16, 8):\n"
                        "        with T.block(\"B\"):\n"
                        "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                        "            B[vi, vj] = A[I[vi], vj]\n");

    (void)state;
    is_at_most(touched_of(&k, "i", "A")->elements, 16 * 8);
    is(touched_of(&k, "j", "A")->elements, 8); /* one row, whichever it is */
    is(touched_of(&k, "i", "I")->elements, 16);
    stride_is(&k, "i", 0, ML_STRIDE_OPEN, 0); /* A, I, B */
    stride_is(&k, "j", 0, ML_STRIDE_EVEN, 1);
    prog_free(&k.g);
}

static void views_are_followed_and_what_is_opaque_is_what_its_block_declares(void **state)
{
    Known k = counts_of(
        TWO,
        "    for i, j in T.grid(4, 4):\n"
        "        with T.block(\"B\"):\n"
        "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
        "            T.reads(A[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])\n"
        "            T.writes(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])\n"
        "            V = T.match_buffer(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16], "
        "(16, 16), strides=[64, 1], offset_factor=1)\n"
        "            T.evaluate(T.call_extern(\"int32\", \"work\", A.data))\n"
        "            for x, y in T.grid(16, 16):\n"
        "                V[x, y] = T.float32(1)\n");

    (void)state;
    is(touched_of(&k, "i", "B")->elements, 4096);
    is(touched_of(&k, "j", "B")->elements, 1024);
    is(touched_of(&k, "y", "B")->stores, 16);
    is_at_most(touched_of(&k, "j", "A")->elements, 1024);
    assert_int_equal(touched_of(&k, "j", "A")->loads.how, ML_UNKNOWN);
    stride_is(&k, "x", 0, ML_STRIDE_EVEN, 64);
    stride_is(&k, "j", 1, ML_STRIDE_EVEN, 16);
    prog_free(&k.g);
}

static void vectors_count_by_their_lanes(void **state)
{
    Known k = counts_of("A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")",
                        "    for i in range(8):\n"
                        "        B[i * 8:i * 8 + 8] = A[i * 8:i * 8 + 8] * "
                        "T.Broadcast(T.float32(2), 8)\n");

    (void)state;
    is(touched_of(&k, "i", "A")->elements, 64);
    is(touched_of(&k, "i", "A")->loads, 64);
    is(loop_of(&k, "i")->flops, 8); /* kinds are ignored: 6.3 */
    stride_is(&k, "i", 0, ML_STRIDE_EVEN, 8);
    prog_free(&k.g);
}

static void how_often_a_while_runs_is_not_said(void **state)
{
    Known k =
        counts_of("A: T.Buffer((64,), \"int32\")", "    for i in range(8):\n"
                                                   "        while A[0] < 10:\n"
                                                   "            for j in range(4):\n"
                                                   "                A[j] = A[j] + 1\n");

    (void)state;
    assert_int_equal(loop_of(&k, "i")->flops.how, ML_UNKNOWN);
    assert_int_equal(loop_of(&k, "j")->iterations.how, ML_UNKNOWN);
    is(loop_of(&k, "j")->flops, 4);
    is_at_most(touched_of(&k, "i", "A")->elements, 4);
    prog_free(&k.g);
}

static void what_does_not_fit_is_unknown(void **state)
{
    Known k = counts_of("A: T.Buffer((T.int64(1) << T.int64(62),), \"float32\")",
                        "    for i in T.serial(T.int64(1) << T.int64(62)):\n"
                        "        for j in range(8):\n"
                        "            A[i] = A[i] + T.float32(1)\n");

    (void)state;
    assert_int_equal(loop_of(&k, "j")->iterations.how, ML_UNKNOWN);
    assert_int_equal(loop_of(&k, "i")->flops.how, ML_UNKNOWN);
    assert_int_equal(touched_of(&k, "i", "A")->bytes.how, ML_UNKNOWN);
    is(loop_of(&k, "j")->flops, 8);
    prog_free(&k.g);
}

static void a_break_makes_bounds_of_numbers(void **state)
{
    Known k = counts_of("A: T.Buffer((64,), \"int32\")", "    for i in range(8):\n"
                                                         "        if A[i] > 3:\n"
                                                         "            break\n"
                                                         "        A[i] = A[i] + 1\n");

    (void)state;
    is_at_most(loop_of(&k, "i")->flops, 8);
    is_at_most(touched_of(&k, "i", "A")->elements, 8);
    prog_free(&k.g);
}

static void a_loop_that_never_runs_does_nothing(void **state)
{
    Known k = counts_of("A: T.Buffer((64,), \"float32\")",
                        "    for i in range(8):\n"
                        "        for j in range(0):\n"
                        "            A[j] = A[j] + T.float32(1)\n");

    (void)state;
    is(loop_of(&k, "j")->iterations, 0);
    is(loop_of(&k, "i")->flops, 0);
    is(touched_of(&k, "i", "A")->elements, 0);
    prog_free(&k.g);
}

static void one_loop_alone_tells_the_same(void **state)
{
    Known k = counts_of(TWO, "    for i, j in T.grid(64, 64):\n"
                             "        with T.block(\"B\"):\n"
                             "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                             "            B[vi, vj] = A[vj, vi]\n");
    ml_LoopFacts f;

    (void)state;
    assert_true(ml_counts_loop(k.g.cx, k.g.p, loop_uid(&k.g, "j"), &f));
    assert_ptr_equal(f.loop, loop_of(&k, "j")->loop);
    assert_ptr_equal(f.parent, loop_of(&k, "i")->loop);
    assert_int_equal(f.depth, 1);
    is(f.iterations, 4096);
    assert_int_equal(f.n_touched, 2);
    is(f.touched[0].bytes, 256);
    prog_free(&k.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matmul_is_what_one_knows_of_it),
        cmocka_unit_test(a_stencil_is_the_union_of_its_points),
        cmocka_unit_test(a_fused_loop_is_even_where_memory_goes_on),
        cmocka_unit_test(a_guard_is_counted_where_all_its_loops_run),
        cmocka_unit_test(sizes_that_are_not_known_stay_in_the_numbers),
        cmocka_unit_test(an_index_from_memory_may_be_any),
        cmocka_unit_test(views_are_followed_and_what_is_opaque_is_what_its_block_declares),
        cmocka_unit_test(vectors_count_by_their_lanes),
        cmocka_unit_test(how_often_a_while_runs_is_not_said),
        cmocka_unit_test(what_does_not_fit_is_unknown),
        cmocka_unit_test(a_break_makes_bounds_of_numbers),
        cmocka_unit_test(a_loop_that_never_runs_does_nothing),
        cmocka_unit_test(one_loop_alone_tells_the_same),
        cmocka_unit_test(what_is_said_of_random_programs_is_what_they_do),
    };

    return cmocka_run_group_tests_name("verify counts", tests, NULL, NULL);
}

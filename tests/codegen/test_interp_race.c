/*
 * test_interp_race - the race rule against its definition: random nests of serial and
 * parallel loops with random accesses, simulated directly with every access logged, each
 * pair of accesses compared. Source: DESIGN 4.
 */
#include "build.h"

#include <stdlib.h>

enum { MAX_NODES = 24, MAX_LOG = 4096, ELEMS = 3 };

/* A node: a loop with children, or a store T[(a*i + b*j + c) mod 3] = value or load + 1. */
typedef struct Node {
    bool is_loop, parallel;
    int extent, n_kids, kids[4];
    int parent;
    int buffer;        /* 0: parameter, 1: allocated */
    int c, load_c;     /* constant parts of the indices */
    int use, load_use; /* number of the enclosing loop that is added, or -1 */
    int value;         /* stored; -1: (load mod 3) + 1 instead */
    const ml_Var *var;
} Node;

typedef struct Entry {
    int node;
    int buffer, elem;
    bool store, changed;
    int depth;
    int loop[8], instance[8], iteration[8]; /* parallel loops around */
} Entry;

typedef struct Sim {
    Node node[MAX_NODES];
    int n;
    Entry log[MAX_LOG];
    int n_log;
    bool full;
    int mem[2][ELEMS];
    bool def[2][ELEMS];
    bool undefined;
    int value[MAX_NODES]; /* of the loop variables */
    int stack[8], inst[8], n_stack;
    int instances;
    int private_levels;
} Sim;

static int make(Sim *s, ml_Random *r, int parent, int depth)
{
    int k = s->n++;
    Node *n = &s->node[k];

    *n = (Node){.parent = parent, .use = -1, .load_use = -1};
    n->is_loop =
        depth == 0 || (depth < 4 && s->n < MAX_NODES - 6 && ml_random_below(r, 5) < 3);
    if (n->is_loop) {
        n->parallel = ml_random_below(r, 3) > 0;
        n->extent = 1 + (int)ml_random_below(r, 3);
        n->n_kids = 1 + (int)ml_random_below(r, 3);
        for (int c = 0; c < n->n_kids; c++) {
            if (s->n >= MAX_NODES - 4 && c > 0) {
                n->n_kids = c;
                break;
            }
            n->kids[c] = make(s, r, k, depth + 1);
        }
        return k;
    }
    n->buffer = (int)ml_random_below(r, 2);
    n->c = (int)ml_random_below(r, ELEMS);
    n->load_c = (int)ml_random_below(r, ELEMS);
    n->value = ml_random_below(r, 3) ? (int)ml_random_below(r, 2) : -1;
    for (int p = parent; p >= 0; p = s->node[p].parent) { /* one of the loops around */
        if (ml_random_below(r, 2))
            n->use = p;
        if (ml_random_below(r, 2))
            n->load_use = p;
    }
    return k;
}

/* ---------------------------------------------------------------- the program */

static const ml_Expr *index_expr(Fix *x, const Sim *s, int use, int c)
{
    const ml_Expr *e = I(c);

    if (use >= 0)
        e = ADD(X(s->node[use].var), e);
    return ml_floormod(x->cx, e, I(ELEMS));
}

static const ml_Stmt *build(Fix *x, Sim *s, int k, const ml_Buffer *const *bufs)
{
    Node *n = &s->node[k];
    const ml_Stmt *kids[4];
    const ml_Expr *v;

    if (!n->is_loop) {
        v = n->value >= 0 ? I(n->value)
                          : ADD(ml_floormod(x->cx,
                                            LD(bufs[n->buffer],
                                               index_expr(x, s, n->load_use, n->load_c)),
                                            I(3)),
                                I(1));
        return ST(bufs[n->buffer], v, index_expr(x, s, n->use, n->c));
    }
    n->var = IVAR("i");
    for (int c = 0; c < n->n_kids; c++)
        kids[c] = build(x, s, n->kids[c], bufs);
    return loop(x, n->parallel ? ML_FOR_PARALLEL : ML_FOR_SERIAL, n->var, I(n->extent),
                ml_seq(x->cx, kids, (size_t)n->n_kids));
}

/* ---------------------------------------------------------------- the simulation */

static int elem_of(const Sim *s, int use, int c)
{
    return ((use >= 0 ? s->value[use] : 0) + c) % ELEMS;
}

static void note(Sim *s, int node, int buffer, int elem, bool store, bool changed)
{
    Entry *e;

    if (s->n_log == MAX_LOG) {
        s->full = true;
        return;
    }
    e = &s->log[s->n_log++];
    *e = (Entry){
        .node = node, .buffer = buffer, .elem = elem, .store = store, .changed = changed};
    e->depth = s->n_stack;
    for (int d = 0; d < s->n_stack; d++) {
        e->loop[d] = s->stack[d];
        e->instance[d] = s->inst[d];
        e->iteration[d] = s->value[s->stack[d]];
    }
}

/* Whether the last entry of the log conflicts with an earlier one. */
static bool conflicts(const Sim *s)
{
    const Entry *q = &s->log[s->n_log - 1];
    bool last_store = true; /* no store of the element between p and q yet */

    for (int k = s->n_log - 2; k >= 0; k--) {
        const Entry *p = &s->log[k];
        if (p->buffer != q->buffer || p->elem != q->elem)
            continue;
        for (int d = 0; d < q->depth && d < p->depth; d++) {
            bool is_private = q->buffer == 1 && d < s->private_levels;
            if (p->loop[d] != q->loop[d] || p->instance[d] != q->instance[d])
                break;
            if (p->iteration[d] == q->iteration[d])
                continue;
            if (is_private ? !q->store && p->store && last_store : p->changed || q->changed)
                return true;
        }
        if (p->store)
            last_store = false;
    }
    return false;
}

/* 0: fine, 1: race, 2: undefined read */
static int simulate(Sim *s, int k)
{
    Node *n = &s->node[k];
    int elem, value;

    if (!n->is_loop) {
        value = n->value;
        if (value < 0) {
            elem = elem_of(s, n->load_use, n->load_c);
            if (!s->def[n->buffer][elem])
                return 2;
            note(s, k, n->buffer, elem, false, false);
            if (conflicts(s))
                return 1;
            value = s->mem[n->buffer][elem] % 3 + 1;
        }
        elem = elem_of(s, n->use, n->c);
        note(s, k, n->buffer, elem, true,
             !s->def[n->buffer][elem] || s->mem[n->buffer][elem] != value);
        if (conflicts(s))
            return 1;
        s->mem[n->buffer][elem] = value;
        s->def[n->buffer][elem] = true;
        return 0;
    }
    if (n->parallel) {
        s->stack[s->n_stack] = k;
        s->inst[s->n_stack++] = ++s->instances;
    }
    for (int i = 0; i < n->extent; i++) {
        int inst = s->n_stack ? s->inst[s->n_stack - 1] : 0;
        s->value[k] = i;
        for (int c = 0; c < n->n_kids; c++) {
            int r = simulate(s, n->kids[c]);
            if (r)
                return r;
        }
        if (n->parallel)
            s->inst[s->n_stack - 1] = inst;
    }
    if (n->parallel)
        s->n_stack--;
    return 0;
}

/* Parallel loops that hold all uses of the allocated buffer: a prefix of their stacks. */
static int private_levels(const Sim *s)
{
    int common[8], n_common = -1;

    for (int k = 0; k < s->n; k++) {
        int stack[8], depth = 0, d = 0;
        if (s->node[k].is_loop || s->node[k].buffer != 1)
            continue;
        for (int p = s->node[k].parent; p >= 0; p = s->node[p].parent)
            if (s->node[p].parallel)
                stack[depth++] = p;
        if (n_common < 0) {
            n_common = depth;
            for (int j = 0; j < depth; j++)
                common[j] = stack[depth - 1 - j];
            continue;
        }
        while (d < depth && d < n_common && common[d] == stack[depth - 1 - d])
            d++;
        n_common = d;
    }
    return n_common < 0 ? 0 : n_common;
}

static void random_nests_agree_with_the_definition_of_a_race(void **state)
{
    Fix *x = *state;
    int count[3] = {0, 0, 0};

    for (uint64_t seed = 1; seed <= 6000; seed++) {
        static Sim sim;
        ml_Ctx *outer = x->cx;
        ml_Random r = ml_random("race", 0, seed);
        const ml_Buffer *bufs[2];
        const ml_Func *f;
        int want;
        ml_ErrorCode got;
        x->cx = ml_ctx_new(0);
        memset(&sim, 0, sizeof sim);
        (void)make(&sim, &r, -1, 0);
        bufs[0] = BUF("A", ML_DT_I32, I(ELEMS));
        bufs[1] = BUF("T", ML_DT_I32, I(ELEMS));
        f = func(x, "main", bufs, 1,
                 SEQ(ml_alloc_stmt(x->cx, bufs[1], NULL), build(x, &sim, 0, bufs)));
        for (int e = 0; e < ELEMS; e++) {
            sim.mem[0][e] = e;
            sim.def[0][e] = true;
        }
        sim.private_levels = private_levels(&sim);
        want = simulate(&sim, 0);
        got = run(x, f);
        if (!sim.full) {
            static const ml_ErrorCode codes[3] = {ML_E_OK, ML_E_RACE, ML_E_UNDEFINED_READ};
            count[want]++;
            if (got != codes[want])
                fail_msg("seed %llu: %s, expected %s", (unsigned long long)seed,
                         ml_error_code(got), ml_error_code(codes[want]));
        }
        drop_args(x);
        ml_ctx_unref(x->cx);
        x->cx = outer;
    }
    assert_true(count[0] > 500 && count[1] > 1000 && count[2] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_nests_agree_with_the_definition_of_a_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

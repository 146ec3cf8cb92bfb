/*
 * post_loops - rewrite-parallel-vectorize-unroll: outer loops of a block become one parallel
 * loop, inner ones one vector, as far as the annotations of the root allow.
 *
 * How many loops those are goes by numbers. So that this makes no variant for each number, the
 * fused loop is put beside the loops that may become part of it:
 *
 *     for i, j           ->   for f in E_i * E_j
 *                               for i' in e_i / E_i, j' in e_j / E_j
 *                                 i = f // E_j % E_i + i', j = f % E_j + j'
 *
 * with E = e where the loop is a part, else 1: a loop of one iteration counts nothing, the fused
 * one neither.
 * Source: auto-scheduler 7.4, 13.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

enum { MOST_LOOPS = 40 };

typedef struct Ask { /* what the root says; 0: it does not */
    bool parallel, vector, unroll;
    ml_Num jobs, lanes, step;
} Ask;

typedef struct Nested { /* a block and the loops around it, outermost first */
    Sym *s;
    ml_NestNode *block;
    ml_NestNode *v[MOST_LOOPS];
    ml_Num part[MOST_LOOPS];  /* 0 or 1: part of the parallel loop */
    ml_Num lane[MOST_LOOPS];  /* of the vector */
    bool spatial[MOST_LOOPS]; /* no sum goes over it */
    ml_Num near[MOST_LOOPS];  /* 1: from there inwards all accesses are without a gap */
    size_t n;
} Nested;

static ml_Num extent_of(const Nested *b, size_t k)
{
    return b->s->n.axes.v[b->v[k]->axis].extent;
}

static ml_Num is_one(const Nested *b, ml_Num x)
{
    return ml_form_eq(b->s->f, x, ml_form_const(b->s->f, 1));
}

static bool find_loops(Nested *b)
{
    uint32_t axes[64];
    Sym *s = b->s;

    b->n = ml_nest_loops(b->block, axes, ML_COUNT(axes));
    if (b->n > MOST_LOOPS)
        return ml_sym_no(s, "that many loops");
    for (size_t k = 0; k < b->n; k++) {
        b->v[k] = ml_sym_node_of(s->n.root, axes[k]);
        b->spatial[k] = ml_sym_is_spatial(s, b->v[k], axes[k]);
        b->part[k] = b->lane[k] = ml_form_const(s->f, 0);
    }
    return true;
}

/* Whether its kind may change. */
static bool is_free(const Nested *b, size_t k)
{
    const ml_NestAxis *a = &b->s->n.axes.v[b->v[k]->axis];

    return !a->annotated && a->kind != ML_FOR_THREAD;
}

static bool is_alone(const Nested *b, size_t k) /* what is in it */
{
    return b->v[k]->kids.n == 1;
}

/* ---------------------------------------------------------------- gaps */

/* Elements between two iterations, 0 where it does not move, in the last dimension that does;
 * digits count as none, as the primitive's rule has it. */
static ml_Num stride_of(Nested *b, const ml_NestAccess *a, const ml_Sum *dims, size_t k)
{
    ml_Nest *n = &b->s->n;
    ml_Forms *f = n->f;
    const ml_NestBuffer *nb = &n->buffers.v[a->buffer];
    ml_Num size = ml_form_const(f, 1), zero = ml_form_const(f, 0);
    uint32_t axis = b->v[k]->axis;

    for (uint32_t d = a->n; d-- > 0;) {
        const ml_Sum *x = &dims[d];

        for (uint32_t m = 0; x->ok && m < x->n; m++)
            if (x->v[m].axis == axis && ml_form_is(f, x->v[m].lo, 1) &&
                x->v[m].ext == n->axes.v[axis].extent)
                return ml_form_select(f, is_one(b, x->v[m].ext), zero,
                                      ml_form_mul(f, x->v[m].coef, size));
        size = ml_form_mul(f, size, nb->shape[d]);
    }
    return zero;
}

/* From the innermost loop outwards: each goes on where the one before it ended. */
static void look_at(Nested *b, const ml_NestAccess *a)
{
    ml_Nest *n = &b->s->n;
    ml_Forms *f = n->f;
    ml_Num zero = ml_form_const(f, 0), one = ml_form_const(f, 1);
    ml_Num on = one, used = zero, extent = one;
    ml_Sum *dims = ML_ARRAY(n->cx, ml_Sum, a->n + 1);

    for (uint32_t d = 0; d < a->n; d++)
        dims[d] = ml_sum_loops(n, &a->dims[d]);
    for (size_t k = b->n; k-- > 0;) {
        ml_Num stride = stride_of(b, a, dims, k), still = ml_form_eq(f, stride, zero);
        ml_Num first = k == b->n - 1 ? one : ml_form_eq(f, stride, one);
        ml_Num goes_on =
            ml_form_select(f, ml_form_eq(f, used, zero), first,
                           ml_form_eq(f, stride, ml_form_mul(f, used, extent)));

        on = ml_form_mul(f, on, ml_form_select(f, still, one, goes_on));
        b->near[k] = ml_form_mul(f, b->near[k], on);
        used = ml_form_select(f, still, used, stride);
        extent = ml_form_select(f, still, extent, extent_of(b, k));
    }
}

static void find_gaps(Nested *b)
{
    for (size_t k = 0; k < b->n; k++)
        b->near[k] = ml_form_const(b->s->f, 1);
    for (size_t k = 0; k < b->block->kids.n; k++) {
        const ml_NestStore *st = b->block->kids.v[k]->store;

        look_at(b, &st->to);
        for (uint32_t m = 0; m < st->n_loads; m++)
            look_at(b, &st->loads[m]);
    }
}

/* ---------------------------------------------------------------- which loops */

/* The product of those that are part. */
static ml_Num product_of(const Nested *b, const ml_Num *part)
{
    ml_Forms *f = b->s->f;
    ml_Num product = ml_form_const(f, 1), one = product;

    for (size_t k = 0; k < b->n; k++)
        product = ml_form_mul(f, product, ml_form_select(f, part[k], extent_of(b, k), one));
    return product;
}

/* The outer loops, up to the first with which the product is above the limit. */
static void find_front(Nested *b, const Ask *ask)
{
    ml_Forms *f = b->s->f;
    ml_Num one = ml_form_const(f, 1), on = one, product = one;

    if (!ask->parallel || b->s->n.axes.v[b->v[0]->axis].kind == ML_FOR_PARALLEL)
        return;
    for (size_t k = 0; k < b->n && b->spatial[k] && is_free(b, k); k++) {
        b->part[k] = on;
        product = ml_form_mul(f, product, extent_of(b, k));
        on = ml_form_mul(f, on, ml_form_le(f, product, ask->jobs));
        if (!is_alone(b, k))
            break;
    }
}

/* The inner loops without gaps, up to the limit. */
static void find_back(Nested *b, const Ask *ask)
{
    ml_Forms *f = b->s->f;
    ml_Num one = ml_form_const(f, 1), on = one, product = one;

    for (size_t k = b->n;
         ask->vector && k-- > 0 && b->spatial[k] && is_alone(b, k) && is_free(b, k);) {
        product = ml_form_mul(f, product, extent_of(b, k));
        on = ml_form_mul(f, on,
                         ml_form_mul(f, b->near[k], ml_form_le(f, product, ask->lanes)));
        b->lane[k] = on;
    }
}

/* Nothing but this block is in the loops, and all of them are one without a gap, of which some is
 * to run in parallel and some as a vector. */
static bool is_one_walk(const Nested *b)
{
    ml_Forms *f = b->s->f;
    ml_Num one = ml_form_const(f, 1);
    for (size_t k = 0; k < b->n; k++)
        if (!b->spatial[k] || !is_free(b, k) || !is_alone(b, k))
            return false;
    return ml_form_holds(
        f, ml_form_mul(f, b->near[0],
                       ml_form_mul(f, ml_form_lt(f, one, product_of(b, b->part)),
                                   ml_form_lt(f, one, product_of(b, b->lane)))));
}

/* ---------------------------------------------------------------- what becomes of them */

/* Those loops that are part become one above them, or inside. NULL: none may be. */
static ml_NestNode *fuse_parts(Nested *b, const ml_Num *part, bool inside, uint8_t kind)
{
    Sym *s = b->s;
    ml_Forms *f = s->f;
    ml_Num one = ml_form_const(f, 1), zero = ml_form_const(f, 0), below = one;
    ml_Num product = product_of(b, part);
    uint32_t fused = ml_sym_new_loop(s, product);
    ml_NestNode *node = ml_nest_node(&s->n, NULL), *at;

    if (ml_form_is(f, product, 1))
        return NULL;
    s->n.axes.v[fused].kind = kind;
    s->n.axes.v[fused].parts = true;
    for (size_t k = b->n; k-- > 0;) {
        ml_NestAxis axis = s->n.axes.v[b->v[k]->axis];
        ml_Num e = axis.extent, in = ml_form_select(f, part[k], e, one);
        ml_Term *t = ML_ARRAY(s->cx, ml_Term, 2);
        uint32_t left = (uint32_t)s->n.axes.n;

        if (ml_form_is(f, part[k], 0))
            continue;
        axis.extent = ml_form_select(f, part[k], one, e);
        ml_push(s->cx, &s->n.axes, axis);
        t[0] = (ml_Term){fused, below, in, one};
        t[1] = (ml_Term){left, one, axis.extent, one};
        ml_Sum value = {.ok = true, .base = zero, .n = 2, .v = t};

        ml_sym_substitute(s, b->v[k]->axis, &value);
        b->v[k]->axis = left;
        below = ml_form_mul(f, below, in);
    }
    node->kind = ML_NEST_LOOP;
    node->axis = fused;
    at = inside ? b->v[b->n - 1]->kids.v[0] : b->v[0];
    ml_NestNode *up = at->parent;
    size_t place = ml_sym_position(at);

    up->kids.v[place] = node;
    node->parent = up;
    at->parent = node;
    ml_push(s->cx, &node->kids, at);
    return node;
}

/* All loops as one, cut into vectors. */
static bool walk_in_vectors(Nested *b, const Ask *ask)
{
    Sym *s = b->s;
    ml_Num factors[2] = {0, ask->lanes};
    uint32_t axes[2];

    if (!ml_sym_fuse_loops(s, b->v, b->n) ||
        !ml_sym_split_loop(s, b->v[0], factors, 2, 0, false, axes))
        return false;
    s->n.axes.v[axes[0]].kind = ML_FOR_PARALLEL;
    s->n.axes.v[axes[1]].kind = ML_FOR_VECTORIZED;
    return true;
}

/* The outermost loop of a sum is unrolled as far as it says. */
static void unroll(Nested *b, const Ask *ask, ml_NestNode *outer)
{
    Sym *s = b->s;
    ml_Forms *f = s->f;
    ml_NestAxis *axis = &s->n.axes.v[outer->axis];
    bool summed = false;

    for (uint32_t k = 0; k < b->block->block->n_iters; k++)
        summed |= s->n.axes.v[b->block->block->iters[k]].kind != ML_ITER_SPATIAL;
    if (!summed || !ask->unroll)
        return;
    /* of a serial loop of one iteration it counts whether it says anything */
    if (axis->kind == ML_FOR_SERIAL &&
        ml_form_holds(f, ml_form_eq(f, ask->step, ml_form_const(f, 0))))
        return;
    axis->annotated = true;
    axis->unroll = ask->step;
}

static bool rewrite(Sym *s, ml_NestNode *block, const Ask *ask)
{
    Nested b = {.s = s, .block = block};
    ml_Forms *f = s->f;

    for (size_t k = 0; k < block->kids.n; k++)
        if (block->kids.v[k]->kind != ML_NEST_STORE)
            return ml_sym_no(s, "a block that holds others");
    if (!find_loops(&b))
        return false;
    if (b.n == 0)
        return true;
    find_gaps(&b);
    find_front(&b, ask);
    find_back(&b, ask);
    ml_NestNode *outer = NULL;

    if (is_one_walk(&b)) {
        if (!walk_in_vectors(&b, ask))
            return false;
    } else {
        ml_Num many = ml_form_lt(f, ml_form_const(f, 1), product_of(&b, b.lane));

        for (size_t k = 0; k < b.n; k++) {
            b.lane[k] = ml_form_mul(f, b.lane[k], many);
            b.part[k] = ml_form_mul(f, b.part[k], ml_form_not(f, b.lane[k]));
        }
        outer = fuse_parts(&b, b.part, false, ML_FOR_PARALLEL);
        fuse_parts(&b, b.lane, true, ML_FOR_VECTORIZED);
    }
    unroll(&b, ask, outer ? outer : b.v[0]);
    return true;
}

bool ml_sym_parallel_vectorize_unroll(Sym *s, const ml_Func *func)
{
    ml_NestNode *root = s->n.root->kids.n == 1 ? s->n.root->kids.v[0] : NULL, *v[64];
    size_t n = 0;
    Ask ask = {0};
    ml_Num implicit = 0;

    (void)func;
    if (root == NULL || root->kind != ML_NEST_BLOCK)
        return ml_sym_no(s, "a function without a root");
    ask.parallel = ml_sym_said(s, root, "meta_schedule.parallel", &ask.jobs);
    ask.vector = ml_sym_said(s, root, "meta_schedule.vectorize", &ask.lanes);
    ask.unroll = ml_sym_said(s, root, "meta_schedule.unroll_explicit", &ask.step);
    if (!ask.unroll) {
        ask.unroll = ml_sym_said(s, root, "meta_schedule.unroll_implicit", &implicit);
        ask.step = implicit;
    }
    if (!ask.parallel && !ask.vector && !ask.unroll)
        return true;
    ml_sym_child_blocks(root, v, ML_COUNT(v), &n);
    if (n > ML_COUNT(v))
        return ml_sym_no(s, "that many blocks");
    for (size_t k = 0; k < n; k++)
        if (!rewrite(s, v[k], &ask))
            return false;
    return true;
}

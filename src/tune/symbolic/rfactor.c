/*
 * rfactor - the block over partial results of a reduction, and the reduction of those.
 *
 * The new block has copies of all loops; where the iters that are summed use the loop, the
 * loop becomes an iter of its own, and so does each other loop of theirs. The old block
 * keeps the loops of its spatial iters, and that one. Source: primitives 10.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

enum { LOOP, FACTOR_AXIS, DEPTH = 64 };

typedef struct Rfactor {
    Sym *s;
    ml_NestNode *block, *top;
    uint32_t loop; /* axis */
    size_t n;
    ml_NestNode *path[DEPTH]; /* loops from top down to the block */
    uint32_t copy[DEPTH];     /* their axes in the new block */
    uint32_t partial;         /* the new buffer */
    uint32_t at;              /* its dimension of the loop */
    ml_Sum *iters;            /* what old iters are in the new block */
    uint32_t own;             /* the new block's iter of the loop */
} Rfactor;

static bool find_nest(Rfactor *r, ml_NestNode *loop)
{
    ml_NestNode *x = loop;

    while (x->kind == ML_NEST_LOOP && x->kids.n == 1)
        x = x->kids.v[0];
    r->block = x;
    if (x->kind != ML_NEST_BLOCK || !x->block->plain || x->block->init == NULL ||
        x->kids.n != 2 || x->block->guarded)
        return ml_sym_no(r->s, "a block that is not plain, or guarded");
    for (r->top = loop; r->top->parent->kind == ML_NEST_LOOP; r->top = r->top->parent)
        if (r->top->parent->kids.n != 1)
            return ml_sym_no(r->s, "loops that hold other blocks");
    for (x = r->top; x != r->block; x = x->kids.v[0]) {
        if (r->n == DEPTH)
            return ml_sym_no(r->s, "that many loops");
        r->path[r->n++] = x;
    }
    return true;
}

static uint32_t copy_of(const Rfactor *r, uint32_t axis)
{
    for (size_t k = 0; k < r->n; k++)
        if (r->path[k]->axis == axis)
            return r->copy[k];
    return axis;
}

static uint32_t new_iter(Rfactor *r, ml_NestBlock *b, uint8_t kind, ml_Num extent,
                         const ml_Sum *value)
{
    ml_push(r->s->cx, &r->s->n.axes,
            ((ml_NestAxis){.iter = true,
                           .kind = kind,
                           .extent = extent,
                           .unroll = ml_form_const(r->s->f, 0),
                           .value = *value}));
    b->iters[b->n_iters++] = (uint32_t)r->s->n.axes.n - 1;
    return b->iters[b->n_iters - 1];
}

static uint32_t iter_of_loop(Rfactor *r, ml_NestBlock *b, uint8_t kind, uint32_t axis)
{
    ml_Sum value = ml_sum_axis(&r->s->n, axis);

    return new_iter(r, b, kind, r->s->n.axes.v[axis].extent, &value);
}

/* The old iter k over the iters of the new block. */
static bool take_iter(Rfactor *r, ml_NestBlock *to, uint32_t k)
{
    ml_Nest *n = &r->s->n;
    ml_NestAxis old = n->axes.v[r->block->block->iters[k]];
    ml_Term *t = ML_ARRAY(r->s->cx, ml_Term, old.value.n + 1);

    if (!old.value.ok)
        return ml_sym_no(r->s, "a binding that is not affine");
    if (old.kind == ML_ITER_SPATIAL || !ml_sum_uses(&old.value, r->loop)) {
        memcpy(t, old.value.v, old.value.n * sizeof *t);
        for (uint32_t m = 0; m < old.value.n; m++)
            t[m].axis = copy_of(r, t[m].axis);
        old.value.v = t;
        r->iters[k] = ml_sum_axis(n, new_iter(r, to, old.kind, old.extent, &old.value));
        return true;
    }
    ml_Sum sum = ml_sum_const(n, 0);

    sum.base = old.value.base;
    for (uint32_t m = 0; m < old.value.n; m++) {
        const ml_Term *x = &old.value.v[m];

        if (!ml_form_is(r->s->f, x->lo, 1) || x->ext != n->axes.v[x->axis].extent)
            return ml_sym_no(r->s, "a binding by digits");
        ml_Sum part =
            ml_sum_axis(n, x->axis == r->loop
                               ? r->own
                               : iter_of_loop(r, to, ML_ITER_REDUCE, copy_of(r, x->axis)));

        sum = ml_sum_add(n, &sum, &part, x->coef);
    }
    r->iters[k] = sum;
    return true;
}

/* dims with one more at r->at. */
static ml_NestAccess with_loop(Rfactor *r, const ml_NestAccess *a, uint32_t iter)
{
    ml_NestAccess out = {.buffer = r->partial, .n = a->n + 1};

    out.dims = ML_ARRAY(r->s->cx, ml_Sum, out.n + 1);
    for (uint32_t d = 0; d < out.n; d++)
        out.dims[d] = d == r->at ? ml_sum_axis(&r->s->n, iter) : a->dims[d - (d > r->at)];
    return out;
}

static ml_NestAccess moved(Rfactor *r, const ml_NestAccess *a, uint32_t result)
{
    const ml_NestBlock *b = r->block->block;
    ml_NestAccess out = *a;

    out.dims = ML_ARRAY(r->s->cx, ml_Sum, a->n + 1);
    for (uint32_t d = 0; d < a->n; d++) {
        out.dims[d] = a->dims[d];
        for (uint32_t k = 0; k < b->n_iters; k++)
            out.dims[d] = ml_sum_put(&r->s->n, &out.dims[d], b->iters[k], &r->iters[k]);
    }
    return a->buffer == result ? with_loop(r, &out, r->own) : out;
}

static ml_NestStore *moved_store(Rfactor *r, const ml_NestStore *st)
{
    ml_NestStore *out = ML_NEW(r->s->cx, ml_NestStore);

    *out = *st;
    out->to = moved(r, &st->to, st->to.buffer);
    out->loads = ML_ARRAY(r->s->cx, ml_NestAccess, st->n_loads + 1);
    for (uint32_t k = 0; k < st->n_loads; k++)
        out->loads[k] = moved(r, &st->loads[k], st->to.buffer);
    return out;
}

static ml_NestNode *new_block(Rfactor *r)
{
    Sym *s = r->s;
    const ml_NestBlock *b = r->block->block;
    ml_NestNode *node = ml_nest_node(&s->n, NULL);
    ml_NestBlock *to = ML_NEW(s->cx, ml_NestBlock);
    size_t most = b->n_iters + 1;

    for (uint32_t k = 0; k < b->n_iters; k++)
        most += s->n.axes.v[b->iters[k]].value.n;
    for (size_t k = 0; k < r->n; k++) {
        ml_NestAxis axis = s->n.axes.v[r->path[k]->axis];

        ml_push(s->cx, &s->n.axes, axis);
        r->copy[k] = (uint32_t)s->n.axes.n - 1;
    }
    *to = (ml_NestBlock){.name = ml_format(s->cx, "%s_rf", b->name), .plain = true};
    to->iters = ML_ARRAY(s->cx, uint32_t, most);
    r->iters = ML_ARRAY(s->cx, ml_Sum, b->n_iters + 1);
    r->own = iter_of_loop(r, to, ML_ITER_SPATIAL, copy_of(r, r->loop));
    for (uint32_t k = 0; k < b->n_iters; k++)
        if (!take_iter(r, to, k))
            return NULL;
    node->kind = ML_NEST_BLOCK;
    node->block = to;
    for (size_t k = 0; k < 2; k++) {
        ml_NestNode *st = ml_nest_node(&s->n, node);

        st->kind = ML_NEST_STORE;
        st->store = moved_store(r, r->block->kids.v[k]->store);
        to->init = k == 0 ? st->store : to->init;
    }
    return node;
}

/* The old block sums up the partial results. */
static void sum_up(Rfactor *r)
{
    Sym *s = r->s;
    ml_NestBlock *b = r->block->block;
    ml_NestStore *st = r->block->kids.v[1]->store, *to = ML_NEW(s->cx, ml_NestStore);
    const ml_NestBlock old = *b;

    b->n_iters = 0;
    b->iters = ML_ARRAY(s->cx, uint32_t, old.n_iters + 2);
    uint32_t own = iter_of_loop(r, b, ML_ITER_REDUCE, r->loop);

    for (uint32_t k = 0; k < old.n_iters; k++)
        if (s->n.axes.v[old.iters[k]].kind == ML_ITER_SPATIAL)
            b->iters[b->n_iters++] = old.iters[k];
    for (size_t k = r->n; k-- > 0;) {
        bool kept = r->path[k]->axis == r->loop;
        ml_NestNode *x = r->path[k], *in = x->kids.v[0];

        for (uint32_t m = 0; m < b->n_iters; m++)
            kept |= ml_sum_uses(&s->n.axes.v[b->iters[m]].value, x->axis);
        if (kept)
            continue;
        in->parent = x->parent;
        x->parent->kids.v[ml_sym_position(x)] = in;
        r->top = x == r->top ? in : r->top;
    }
    *to = (ml_NestStore){.to = st->to, .n_loads = 2, .top = st->top};
    to->loads = ML_ARRAY(s->cx, ml_NestAccess, 3);
    to->loads[0] = st->to;
    to->loads[1] = with_loop(r, &st->to, own);
    if (st->top >= 0)
        to->operations[st->top] = 1;
    r->block->kids.v[1]->store = to;
}

static bool make_buffer(Rfactor *r, const ml_NestStore *st)
{
    Sym *s = r->s;
    ml_Num at = ml_form_const(s->f, 0);

    if (s->args[FACTOR_AXIS].n == 1 && s->args[FACTOR_AXIS].v->kind != ML_TV_NONE &&
        !ml_sym_num(s, s->args[FACTOR_AXIS].v, &at))
        return false;
    r->partial = ml_sym_new_buffer(s, st->to.buffer, ".", "rf");
    ml_NestBuffer *nb = &s->n.buffers.v[r->partial];
    double axis = ml_form_value(s->f, at);
    const ml_Num *shape = nb->shape;

    r->at = (uint32_t)(axis < 0 ? axis + nb->rank + 1 : axis);
    if (r->at > nb->rank)
        return ml_sym_no(s, "a dimension that is not there");
    nb->rank++;
    nb->shape = ML_ARRAY(s->cx, ml_Num, nb->rank + 1u);
    for (uint32_t d = 0; d < nb->rank; d++)
        nb->shape[d] = d == r->at ? s->n.axes.v[r->loop].extent : shape[d - (d > r->at)];
    return true;
}

bool ml_sym_rfactor(Sym *s)
{
    Rfactor r = {.s = s};
    ml_NestNode *loop, *top;

    if (!ml_sym_loop(s, LOOP, &loop) || !find_nest(&r, loop))
        return false;
    r.loop = loop->axis;
    if (r.block->kids.v[1]->store->top < 0)
        return ml_sym_no(s, "a reducer of several operations");
    if (!make_buffer(&r, r.block->kids.v[1]->store))
        return false;
    ml_NestNode *block = top = new_block(&r);

    if (block == NULL)
        return false;
    for (size_t k = r.n; k-- > 0;) {
        ml_NestNode *up = ml_nest_node(&s->n, NULL);

        up->kind = ML_NEST_LOOP;
        up->axis = r.copy[k];
        ml_sym_insert(s, up, 0, top);
        top = up;
    }
    sum_up(&r);
    ml_sym_insert(s, r.top->parent, ml_sym_position(r.top), top);
    ml_sym_out_block(s, 0, block);
    return true;
}

/*
 * decompose - decompose_reduction: the init of a block becomes a block of its own before a
 * loop, under copies of the loops inside that spatial iters use. Source: primitives 10.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

static ml_NestAccess copy_access(Sym *s, const ml_NestAccess *a, const ml_NestBlock *from,
                                 const uint32_t *to)
{
    ml_NestAccess c = *a;

    c.dims = ML_ARRAY(s->cx, ml_Sum, a->n + 1);
    for (uint32_t d = 0; d < a->n; d++) {
        c.dims[d] = a->dims[d];
        for (uint32_t k = 0; k < from->n_iters; k++) {
            ml_Sum iter = ml_sum_axis(&s->n, to[k]);

            if (to[k] != from->iters[k])
                c.dims[d] = ml_sum_put(&s->n, &c.dims[d], from->iters[k], &iter);
        }
    }
    return c;
}

/* The block of the init; its iters are copies of the spatial ones. */
static ml_NestNode *init_block(Sym *s, const ml_NestBlock *b)
{
    ml_NestNode *node = ml_nest_node(&s->n, NULL), *store;
    ml_NestBlock *ib = ML_NEW(s->cx, ml_NestBlock);
    uint32_t *to = ML_ARRAY(s->cx, uint32_t, b->n_iters + 1);
    ml_NestStore *st = ML_NEW(s->cx, ml_NestStore);

    *ib = (ml_NestBlock){.name = ml_format(s->cx, "%s_init", b->name),
                         .plain = b->plain,
                         .guarded = b->guarded};
    ib->iters = ML_ARRAY(s->cx, uint32_t, b->n_iters + 1);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        ml_NestAxis axis = s->n.axes.v[b->iters[k]];

        to[k] = b->iters[k];
        if (axis.kind != ML_ITER_SPATIAL)
            continue;
        ml_push(s->cx, &s->n.axes, axis);
        to[k] = ib->iters[ib->n_iters++] = (uint32_t)s->n.axes.n - 1;
    }
    *st = *b->init;
    st->to = copy_access(s, &b->init->to, b, to);
    st->loads = ML_ARRAY(s->cx, ml_NestAccess, st->n_loads + 1);
    for (uint32_t k = 0; k < st->n_loads; k++)
        st->loads[k] = copy_access(s, &b->init->loads[k], b, to);
    node->kind = ML_NEST_BLOCK;
    node->block = ib;
    store = ml_nest_node(&s->n, node);
    store->kind = ML_NEST_STORE;
    store->store = st;
    return node;
}

static void rename_axis(Sym *s, const ml_NestBlock *b, uint32_t from, uint32_t to)
{
    for (uint32_t k = 0; k < b->n_iters; k++) {
        ml_Sum *v = &s->n.axes.v[b->iters[k]].value;
        ml_Term *t = ML_ARRAY(s->cx, ml_Term, v->n + 1);

        for (uint32_t m = 0; m < v->n; m++) {
            t[m] = v->v[m];
            t[m].axis = t[m].axis == from ? to : t[m].axis;
        }
        v->v = t;
    }
}

bool ml_sym_decompose(Sym *s, ml_NestNode *block, ml_NestNode *loop, ml_NestNode **out)
{
    ml_NestNode *init, *top;
    uint32_t inside[64];
    size_t n = 0;
    ml_NestBlock *b = block->block;

    if (!b->plain || b->init == NULL || !ml_sym_is_above(loop, block))
        return ml_sym_no(s, "a block that is not plain");
    for (const ml_NestNode *p = block->parent;; p = p->parent) {
        bool kept = false;

        for (uint32_t k = 0; k < b->n_iters; k++) {
            const ml_NestAxis *a = &s->n.axes.v[b->iters[k]];

            kept |= a->kind == ML_ITER_SPATIAL && ml_sum_uses(&a->value, p->axis);
        }
        if (kept && n < ML_COUNT(inside))
            inside[n++] = p->axis; /* innermost first */
        if (p == loop)
            break;
    }
    init = top = init_block(s, b);
    for (size_t k = 0; k < n; k++) {
        ml_NestNode *up = ml_nest_node(&s->n, NULL);
        ml_NestAxis axis = s->n.axes.v[inside[k]];

        ml_push(s->cx, &s->n.axes, axis);
        up->kind = ML_NEST_LOOP;
        up->axis = (uint32_t)s->n.axes.n - 1;
        rename_axis(s, init->block, inside[k], up->axis);
        ml_sym_insert(s, up, 0, top);
        top = up;
    }
    ml_sym_insert(s, loop->parent, ml_sym_position(loop), top);
    ml_sym_remove(block->kids.v[0]); /* an init is read first */
    b->init = NULL;
    b->name = ml_format(s->cx, "%s_update", b->name);
    *out = init;
    return true;
}

bool ml_sym_decompose_reduction(Sym *s)
{
    ml_NestNode *block, *loop, *init;

    if (!ml_sym_block(s, 0, &block) || !ml_sym_loop(s, 1, &loop) ||
        !ml_sym_decompose(s, block, loop, &init))
        return false;
    ml_sym_out_block(s, 0, init);
    return true;
}

/*
 * cache - cache_write, cache_read: a block works on a buffer of its own, and another block
 * copies the whole of it behind or before. Source: primitives 8.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

enum { BLOCK, INDEX, SCOPE, CONSUMERS };

uint32_t ml_sym_new_buffer(Sym *s, uint32_t like, const char *between, const char *suffix)
{
    ml_NestBuffer b = s->n.buffers.v[like];

    b.uid = 0;
    b.param = false;
    b.name = ml_format(s->cx, "%s%s%s", b.name, between, suffix);
    ml_push(s->cx, &s->n.buffers, b);
    return (uint32_t)s->n.buffers.n - 1;
}

/* The block to[..] = from[..] over the whole buffer, under loops of its own. */
static ml_NestNode *copy_nest(Sym *s, uint32_t from, uint32_t to, const char *name,
                              ml_NestNode **block)
{
    ml_Nest *n = &s->n;
    uint32_t rank = n->buffers.v[to].rank;
    ml_NestNode *node = ml_nest_node(n, NULL), *st, *top;
    ml_NestBlock *b = ML_NEW(s->cx, ml_NestBlock);
    ml_NestStore *store = ML_NEW(s->cx, ml_NestStore);
    uint32_t *loops = ML_ARRAY(s->cx, uint32_t, rank + 1);

    *b = (ml_NestBlock){.name = name, .plain = true, .n_iters = rank};
    b->iters = ML_ARRAY(s->cx, uint32_t, rank + 1);
    store->top = -1;
    store->to = (ml_NestAccess){to, rank, ML_ARRAY(s->cx, ml_Sum, rank + 1)};
    for (uint32_t d = 0; d < rank; d++) {
        ml_Num extent = n->buffers.v[to].shape[d];

        loops[d] = ml_sym_new_loop(s, extent);
        ml_push(s->cx, &n->axes,
                ((ml_NestAxis){.iter = true,
                               .kind = ML_ITER_SPATIAL,
                               .extent = extent,
                               .unroll = ml_form_const(s->f, 0),
                               .value = ml_sum_axis(n, loops[d])}));
        b->iters[d] = (uint32_t)n->axes.n - 1;
        store->to.dims[d] = ml_sum_axis(n, b->iters[d]);
    }
    store->n_loads = 1;
    store->loads = ML_NEW(s->cx, ml_NestAccess);
    store->loads[0] = (ml_NestAccess){from, rank, store->to.dims};
    node->kind = ML_NEST_BLOCK;
    node->block = b;
    st = ml_nest_node(n, node);
    st->kind = ML_NEST_STORE;
    st->store = store;
    *block = top = node;
    for (uint32_t d = rank; d-- > 0;) {
        ml_NestNode *up = ml_nest_node(n, NULL);

        up->kind = ML_NEST_LOOP;
        up->axis = loops[d];
        ml_sym_insert(s, up, 0, top);
        top = up;
    }
    return top;
}

static ml_NestNode *outermost(ml_NestNode *block)
{
    while (block->parent->kind == ML_NEST_LOOP)
        block = block->parent;
    return block;
}

static void use_instead(ml_NestNode *block, uint32_t from, uint32_t to)
{
    for (size_t k = 0; k < block->kids.n; k++) {
        ml_NestStore *st = block->kids.v[k]->store;

        if (st->to.buffer == from)
            st->to.buffer = to;
        for (uint32_t m = 0; m < st->n_loads; m++)
            if (st->loads[m].buffer == from)
                st->loads[m].buffer = to;
    }
}

static bool begin(Sym *s, ml_NestNode **block, uint32_t *index, const char **scope)
{
    ml_Num at;

    if (!ml_sym_block(s, BLOCK, block))
        return false;
    if (!(*block)->block->plain || s->args[INDEX].n != 1 || s->args[SCOPE].n != 1 ||
        s->args[INDEX].v->kind != ML_TV_VALUE || !ml_sym_num(s, s->args[INDEX].v, &at))
        return ml_sym_no(s, "a block that is not plain, or a buffer by name");
    *index = (uint32_t)ml_form_value(s->f, at);
    *scope = s->args[SCOPE].v->value->as.s;
    return true;
}

bool ml_sym_cache_write(Sym *s)
{
    ml_NestNode *block, *copy, *top, *nest;
    uint32_t index;
    const char *scope;

    if (!begin(s, &block, &index, &scope))
        return false;
    if (index != 0)
        return ml_sym_no(s, "a buffer that is not the first");
    uint32_t from = block->kids.v[0]->store->to.buffer;
    uint32_t to = ml_sym_new_buffer(s, from, "_", scope);

    use_instead(block, from, to);
    nest = copy_nest(s, to, from, s->n.buffers.v[to].name, &copy);
    top = outermost(block);
    ml_sym_insert(s, top->parent, ml_sym_position(top) + 1, nest);
    ml_sym_out_block(s, 0, copy);
    return true;
}

/* The k-th buffer that the block reads: of a reduction not its own result. */
static bool read_buffer(Sym *s, const ml_NestNode *block, uint32_t index, uint32_t *out)
{
    uint32_t seen[16], n = 0;

    for (size_t k = 0; k < block->kids.n; k++) {
        const ml_NestStore *st = block->kids.v[k]->store;

        for (uint32_t m = 0; m < st->n_loads; m++) {
            uint32_t b = st->loads[m].buffer;
            bool known = block->block->init && b == st->to.buffer;

            for (uint32_t i = 0; i < n; i++)
                known |= seen[i] == b;
            if (!known && n < ML_COUNT(seen))
                seen[n++] = b;
        }
    }
    if (index < n)
        *out = seen[index];
    return index < n || ml_sym_no(s, "a buffer that it does not read");
}

bool ml_sym_cache_read(Sym *s)
{
    ml_NestNode *block, *copy, *top, *nest;
    uint32_t index, from = 0;
    const char *scope;

    if (!begin(s, &block, &index, &scope) || !read_buffer(s, block, index, &from))
        return false;
    if (s->args[CONSUMERS].n > 0 &&
        !(s->args[CONSUMERS].v->kind == ML_TV_LIST && s->args[CONSUMERS].v->n == 0))
        return ml_sym_no(s, "consumers of its own");
    if (!s->n.buffers.v[from].param)
        return ml_sym_no(s, "a buffer that is no parameter");
    uint32_t to = ml_sym_new_buffer(s, from, "_", scope);

    use_instead(block, from, to);
    nest = copy_nest(s, from, to, s->n.buffers.v[to].name, &copy);
    top = outermost(block);
    ml_sym_insert(s, top->parent, ml_sym_position(top), nest);
    ml_sym_out_block(s, 0, copy);
    return true;
}

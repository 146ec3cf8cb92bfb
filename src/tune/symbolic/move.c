/*
 * move - compute_at, reverse_compute_at: a block gets new loops under another loop, over
 * what the blocks there need of it, or give it.
 *
 * What is needed of each dimension is an interval: the loops outside put its begin, those
 * inside its length. A predicate of the related block may cut the last one: where the loops
 * outside decide, the whole is taken and guarded, else it is cut. Source: primitives 7.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

enum { BLOCK, LOOP, PRESERVE_UNIT_LOOPS, INDEX };

typedef ML_VEC(ml_NestNode *) Nodes;

typedef struct Need { /* of a dimension, or of an iter */
    bool known;
    ml_Sum min;
    ml_Num extent;
} Need;

typedef struct Move {
    Sym *s;
    ml_NestNode *block, *loop;
    bool reverse;
    Nodes producers, consumers;
} Move;

/* ---------------------------------------------------------------- who reads, who writes */

static bool writes(const ml_NestNode *block, uint32_t buffer)
{
    for (size_t k = 0; k < block->kids.n; k++)
        if (block->kids.v[k]->kind == ML_NEST_STORE &&
            block->kids.v[k]->store->to.buffer == buffer)
            return true;
    return false;
}

static bool reads(const ml_NestNode *block, uint32_t buffer)
{
    for (size_t k = 0; k < block->kids.n; k++) {
        const ml_NestNode *st = block->kids.v[k];

        for (uint32_t m = 0; st->kind == ML_NEST_STORE && m < st->store->n_loads; m++)
            if (st->store->loads[m].buffer == buffer)
                return true;
    }
    return false;
}

static void find_related(Move *m, ml_NestNode *node)
{
    if (node->kind == ML_NEST_BLOCK && node != m->block) {
        bool before = false, after = false;

        for (uint32_t b = 0; b < m->s->n.buffers.n; b++) {
            before |= writes(node, b) && reads(m->block, b);
            after |= writes(m->block, b) && reads(node, b);
        }
        if (before)
            ml_push(m->s->cx, &m->producers, node);
        if (after)
            ml_push(m->s->cx, &m->consumers, node);
    }
    for (size_t k = 0; k < node->kids.n; k++)
        find_related(m, node->kids.v[k]);
}

/* ---------------------------------------------------------------- what is needed */

/* A sum over loops with those inside relaxed. */
static bool relax_sum(Move *m, const ml_Sum *all, const uint32_t *inside, size_t n,
                      Need *out)
{
    ml_Nest *nest = &m->s->n;
    ml_Forms *f = m->s->f;
    ml_Sum outside = ml_sum_const(nest, 0);
    ml_Num one = ml_form_const(f, 1), zero = ml_form_const(f, 0);

    if (!all->ok)
        return ml_sym_no(m->s, "an index that is not affine");
    *out = (Need){.known = true, .extent = one};
    outside.base = all->base;
    for (uint32_t k = 0; k < all->n; k++) {
        const ml_Term *t = &all->v[k];
        ml_Sum term = {.ok = true, .base = zero, .n = 1, .v = t};
        bool in = false;

        for (size_t i = 0; i < n; i++)
            in |= inside[i] == t->axis;
        if (!in) {
            outside = ml_sum_add(nest, &outside, &term, one);
            continue;
        }
        ml_Num by = ml_form_mul(f, t->coef, ml_form_sub(f, t->ext, one));

        if (!ml_form_holds(f, ml_form_le(f, zero, t->coef))) { /* it goes down */
            outside.base = ml_form_add(f, outside.base, by);
            by = ml_form_sub(f, zero, by);
        }
        out->extent = ml_form_add(f, out->extent, by);
    }
    out->min = outside;
    return true;
}

/* Whether an index is made of whole iters, each once. */
static bool of_whole_iters(const ml_Nest *n, const ml_Forms *f, const ml_Sum *dim)
{
    for (uint32_t k = 0; k < dim->n; k++) {
        const ml_NestAxis *x = &n->axes.v[dim->v[k].axis];

        if (!x->iter || !ml_form_is(f, dim->v[k].lo, 1) || dim->v[k].ext != x->extent)
            return false;
        for (uint32_t i = 0; i < k; i++)
            if (dim->v[i].axis == dim->v[k].axis)
                return false;
    }
    return dim->ok;
}

/* What is not affine and is moved by loops inside alone: all of the iter's domain. */
static bool relax_iter(Move *m, uint32_t axis, const uint32_t *inside, size_t n, Need *out)
{
    ml_Nest *nest = &m->s->n;
    ml_Sum iter = ml_sum_axis(nest, axis);
    size_t in = 0;

    iter = ml_sum_loops(nest, &iter);
    for (uint32_t k = 0; !iter.ok && k < iter.n; k++)
        for (size_t i = 0; i < n; i++)
            in += inside[i] == iter.v[k].axis;
    if (iter.ok || in < iter.n)
        return relax_sum(m, &iter, inside, n, out);
    *out = (Need){true, ml_sum_const(nest, 0), nest->axes.v[axis].extent};
    return true;
}

/* The same where a predicate keeps iters in their domains: one that loops inside run through
 * alone goes no further than its domain. */
static bool relax_iters(Move *m, const ml_Sum *dim, const uint32_t *inside, size_t n,
                        Need *out)
{
    ml_Nest *nest = &m->s->n;
    ml_Forms *f = m->s->f;
    ml_Num one = ml_form_const(f, 1), zero = ml_form_const(f, 0);

    *out = (Need){true, {.ok = true, .base = dim->base}, one};
    for (uint32_t k = 0; k < dim->n; k++) {
        ml_Num size = dim->v[k].ext, coef = dim->v[k].coef;
        Need x;

        if (!relax_iter(m, dim->v[k].axis, inside, n, &x))
            return false;
        if (x.min.n == 0)
            x.extent = ml_form_min(f, x.extent, ml_form_sub(f, size, x.min.base));
        ml_Num by = ml_form_mul(f, coef, ml_form_sub(f, x.extent, one));

        out->min = ml_sum_add(nest, &out->min, &x.min, coef);
        if (!ml_form_holds(f, ml_form_le(f, zero, coef))) {
            out->min.base = ml_form_add(f, out->min.base, by);
            by = ml_form_sub(f, zero, by);
        }
        out->extent = ml_form_add(f, out->extent, by);
    }
    return true;
}

/* The access with the loops inside relaxed; loops in order from outside. */
static bool relax(Move *m, bool guarded, const ml_Sum *dim, const uint32_t *inside,
                  size_t n, Need *out)
{
    ml_Nest *nest = &m->s->n;

    const ml_Sum all = ml_sum_loops(nest, dim);

    if ((guarded || !all.ok) && of_whole_iters(nest, m->s->f, dim))
        return relax_iters(m, dim, inside, n, out);
    return relax_sum(m, &all, inside, n, out);
}

static bool same_sum(Move *m, const ml_Sum *a, const ml_Sum *b)
{
    ml_Forms *f = m->s->f;
    ml_Sum d = ml_sum_add(&m->s->n, a, b, ml_form_const(f, -1));
    ml_Num zero = ml_form_const(f, 0);

    if (!d.ok || !ml_form_holds(f, ml_form_eq(f, d.base, zero)))
        return false;
    for (uint32_t k = 0; k < d.n; k++)
        if (!ml_form_holds(f, ml_form_eq(f, d.v[k].coef, zero)) &&
            !ml_form_holds(f, ml_form_eq(f, d.v[k].ext, ml_form_const(f, 1))))
            return false;
    return true;
}

static bool unite(Move *m, Need *to, const Need *from)
{
    if (!to->known) {
        *to = *from;
        return true;
    }
    if (!same_sum(m, &to->min, &from->min))
        return ml_sym_no(m->s, "needs that begin at different places");
    to->extent = ml_form_max(m->s->f, to->extent, from->extent);
    return true;
}

/* The greatest value of a sum without negative coefficients. */
static ml_Num greatest(Move *m, const ml_Sum *a, bool *moves)
{
    ml_Forms *f = m->s->f;
    ml_Num one = ml_form_const(f, 1), sum = a->base;

    *moves = false;
    for (uint32_t k = 0; k < a->n; k++) {
        *moves |= ml_form_holds(f, ml_form_lt(f, one, a->v[k].ext));
        sum = ml_form_add(f, sum,
                          ml_form_mul(f, a->v[k].coef, ml_form_sub(f, a->v[k].ext, one)));
    }
    return sum;
}

/* What goes beyond the size: cut, or guarded where the loops outside decide. */
static void fit(Move *m, Need *n, ml_Num size, bool *guard)
{
    ml_Forms *f = m->s->f;
    ml_Num one = ml_form_const(f, 1);
    bool moves;
    ml_Num last = ml_form_add(f, greatest(m, &n->min, &moves), n->extent);

    if (ml_form_holds(f, ml_form_le(f, last, size)))
        return;
    if (moves)
        *guard = true;
    else
        n->extent = ml_form_max(
            f, one, ml_form_min(f, n->extent, ml_form_sub(f, size, n->min.base)));
}

static bool need_of(Move *m, const ml_NestNode *rel, const ml_NestAccess *a, Need *need,
                    bool *guarded)
{
    uint32_t all[64], inside[64];
    size_t n = ml_nest_loops(rel, all, ML_COUNT(all)), n_in = 0;

    for (size_t k = 0; k < n; k++) {
        const ml_NestNode *node = ml_sym_node_of(m->s->n.root, all[k]);

        if (node != m->loop && ml_sym_is_above(m->loop, node))
            inside[n_in++] = all[k];
    }
    for (uint32_t d = 0; d < a->n; d++) {
        Need one;

        if (!relax(m, rel->block->guarded, &a->dims[d], inside, n_in, &one) ||
            !unite(m, &need[d], &one))
            return false;
    }
    *guarded |= rel->block->guarded;
    return true;
}

/* What the related blocks access of the buffer; *any: something. */
static bool needs(Move *m, uint32_t buffer, Need *need, bool *any, bool *guarded)
{
    const Nodes *rel = m->reverse ? &m->producers : &m->consumers;

    for (size_t k = 0; k < rel->n; k++)
        for (size_t j = 0; j < rel->v[k]->kids.n; j++) {
            const ml_NestStore *st = rel->v[k]->kids.v[j]->store;

            if (st == NULL)
                return ml_sym_no(m->s, "a related block that is not plain");
            if (m->reverse && st->to.buffer == buffer) {
                *any = true;
                if (!need_of(m, rel->v[k], &st->to, need, guarded))
                    return false;
            }
            for (uint32_t i = 0; !m->reverse && i < st->n_loads; i++)
                if (st->loads[i].buffer == buffer) {
                    *any = true;
                    if (!need_of(m, rel->v[k], &st->loads[i], need, guarded))
                        return false;
                }
        }
    return true;
}

/* Needs of dimensions become needs of the iters in the block's own index: each is an iter,
 * or digits of one that lie in several dimensions. */
static bool solve(Move *m, const ml_NestAccess *own, const Need *need, Need *iters)
{
    ml_Nest *n = &m->s->n;
    ml_Forms *f = m->s->f;
    const ml_NestBlock *b = m->block->block;
    Need *got = ML_ARRAY(m->s->cx, Need, b->n_iters + 1u);
    ml_Num one = ml_form_const(f, 1);

    for (uint32_t d = 0; d < own->n; d++) {
        const ml_Sum *x = &own->dims[d];
        uint32_t k = 0;

        if (!x->ok || x->n > 1)
            return ml_sym_no(m->s, "an index of the block that is no iter");
        if (x->n == 0)
            continue;
        while (k < b->n_iters && b->iters[k] != x->v[0].axis)
            k++;
        if (k == b->n_iters || !ml_form_is(f, x->base, 0) ||
            !ml_form_is(f, x->v[0].coef, 1))
            return ml_sym_no(m->s, "an index of the block that is no iter");
        if (!got[k].known)
            got[k] = (Need){true, ml_sum_const(n, 0), one};
        got[k].min = ml_sum_add(n, &got[k].min, &need[d].min, x->v[0].lo);
        got[k].extent =
            ml_form_add(f, got[k].extent,
                        ml_form_mul(f, x->v[0].lo, ml_form_sub(f, need[d].extent, one)));
    }
    for (uint32_t k = 0; k < b->n_iters; k++)
        if (got[k].known && !unite(m, &iters[k], &got[k]))
            return false;
    return true;
}

/* ---------------------------------------------------------------- the new nest */

static bool holds_any(const ml_NestNode *node, const Nodes *v)
{
    for (size_t k = 0; k < v->n; k++)
        if (ml_sym_is_above(node, v->v[k]))
            return true;
    return false;
}

static bool find_place(Move *m, size_t *at)
{
    const ml_TVArg *given = &m->s->args[INDEX];
    ml_Num num = ml_form_const(m->s->f, -1);
    size_t first = m->loop->kids.n, last = 0;

    if (given->n == 1 && given->v->kind != ML_TV_NONE && !ml_sym_num(m->s, given->v, &num))
        return false;
    for (size_t k = 0; k < m->loop->kids.n; k++) {
        if (holds_any(m->loop->kids.v[k], &m->producers))
            last = k + 1;
        if (first == m->loop->kids.n && holds_any(m->loop->kids.v[k], &m->consumers))
            first = k;
    }
    double index = ml_form_value(m->s->f, num);

    *at = index == -1 ? first : index == -2 ? last : (size_t)index;
    return last <= *at && *at <= first ? true : ml_sym_no(m->s, "no place for it");
}

static void put_nest(Move *m, size_t at, const Need *iters, bool guarded)
{
    Sym *s = m->s;
    ml_Forms *f = s->f;
    ml_NestBlock *b = m->block->block;
    ml_NestNode *top = m->block;
    ML_VEC(uint32_t) loops = {0};
    bool keep = ml_sym_flag(s, PRESERVE_UNIT_LOOPS, false);
    ml_Num one = ml_form_const(f, 1);

    for (uint32_t k = 0; k < b->n_iters; k++) {
        ml_Sum value = iters[k].min;

        if (keep || !ml_form_holds(f, ml_form_eq(f, iters[k].extent, one))) {
            uint32_t axis = ml_sym_new_loop(s, iters[k].extent);
            ml_Sum counter = ml_sum_axis(&s->n, axis);

            value = ml_sum_add(&s->n, &value, &counter, one);
            ml_push(s->cx, &loops, axis);
        }
        s->n.axes.v[b->iters[k]].value = value;
    }
    ml_sym_remove(m->block);
    for (size_t k = loops.n; k-- > 0;) {
        ml_NestNode *node = ml_nest_node(&s->n, NULL);

        node->kind = ML_NEST_LOOP;
        node->axis = loops.v[k];
        ml_sym_insert(s, node, 0, top);
        top = node;
    }
    ml_sym_insert(s, m->loop, at, top);
    b->guarded = guarded;
}

/* Whether the loop is the mark, which stands for no loop. */
static bool is_mark(const Sym *s, uint8_t kind)
{
    const ml_TVArg *a = &s->args[LOOP];

    return a->n == 1 && a->v->kind == ML_TV_VAR && s->vars[a->v->var].kind == kind;
}

static bool move(Sym *s, bool reverse)
{
    Move m = {.s = s, .reverse = reverse};
    bool guarded = false, cut = false;
    size_t at;

    if (is_mark(s, ML_H_ROOT_MARK))
        return true;
    if (is_mark(s, ML_H_INLINE_MARK))
        return ml_sym_no(s, "inlining");
    if (!ml_sym_block(s, BLOCK, &m.block) || !ml_sym_loop(s, LOOP, &m.loop))
        return false;
    ml_NestBlock *b = m.block->block;

    if (!b->plain || m.block->kids.n == 0 || ml_sym_is_above(m.loop, m.block))
        return ml_sym_no(s, "a block that is not plain");
    find_related(&m, s->n.root);
    if (!find_place(&m, &at))
        return false;
    Need *iters = ML_ARRAY(s->cx, Need, b->n_iters + 1u);

    for (uint32_t x = 0; x < s->n.buffers.n; x++) {
        const ml_NestBuffer *nb = &s->n.buffers.v[x];
        Need *need = ML_ARRAY(s->cx, Need, nb->rank + 1u);
        bool any = false;

        if ((reverse ? reads(m.block, x) : writes(m.block, x)) &&
            !needs(&m, x, need, &any, &guarded))
            return false;
        for (size_t j = 0; any && j < m.block->kids.n; j++) {
            const ml_NestStore *st = m.block->kids.v[j]->store;

            if (!reverse && st->to.buffer == x && !solve(&m, &st->to, need, iters))
                return false;
            for (uint32_t i = 0; reverse && i < st->n_loads; i++)
                if (st->loads[i].buffer == x && !solve(&m, &st->loads[i], need, iters))
                    return false;
        }
    }
    for (uint32_t k = 0; k < b->n_iters; k++) {
        ml_Num size = s->n.axes.v[b->iters[k]].extent;

        if (!iters[k].known)
            iters[k] = (Need){true, ml_sum_const(&s->n, 0), size};
        else if (guarded)
            fit(&m, &iters[k], size, &cut);
    }
    put_nest(&m, at, iters, cut);
    return true;
}

/* ---------------------------------------------------------------- who, and where to */

static bool out_blocks(Sym *s, const Nodes *v)
{
    if (v->n != s->in->n_outputs)
        return ml_sym_no(s, "another number of blocks");
    for (size_t k = 0; k < v->n; k++)
        ml_sym_out_block(s, k, v->v[k]);
    return true;
}

static bool related(Sym *s, Move *m)
{
    m->s = s;
    if (!ml_sym_block(s, BLOCK, &m->block))
        return false;
    find_related(m, s->n.root);
    return true;
}

bool ml_sym_get_producers(Sym *s)
{
    Move m = {0};

    return related(s, &m) && out_blocks(s, &m.producers);
}

bool ml_sym_get_consumers(Sym *s)
{
    Move m = {0};

    return related(s, &m) && out_blocks(s, &m.consumers);
}

/* No sum below is moved by the loop. */
bool ml_sym_is_spatial(const Sym *s, const ml_NestNode *node, uint32_t loop)
{
    for (uint32_t k = 0; node->kind == ML_NEST_BLOCK && k < node->block->n_iters; k++) {
        const ml_NestAxis *a = &s->n.axes.v[node->block->iters[k]];

        if (a->kind != ML_ITER_SPATIAL && ml_sum_uses(&a->value, loop))
            return false;
    }
    for (size_t k = 0; k < node->kids.n; k++)
        if (!ml_sym_is_spatial(s, node->kids.v[k], loop))
            return false;
    return true;
}

/* The loops above all consumers, as a place is sampled from. */
typedef struct Offer {
    Sym *s;
    uint32_t loops[64];
    bool spatial[64];
    size_t n, last; /* last: behind the deepest spatial one */
} Offer;

static void look_above(Offer *o, const Move *m)
{
    uint32_t all[ML_COUNT(o->loops)];
    size_t n = m->consumers.n ? ml_nest_loops(m->consumers.v[0], all, ML_COUNT(all)) : 0;

    *o = (Offer){.s = m->s};
    for (; o->n < n; o->n++) {
        const ml_NestNode *node = ml_sym_node_of(m->s->n.root, all[o->n]);

        for (size_t c = 0; c < m->consumers.n; c++)
            if (!ml_sym_is_above(node, m->consumers.v[c]))
                return;
        o->loops[o->n] = all[o->n];
        o->spatial[o->n] = ml_sym_is_spatial(m->s, node, all[o->n]);
        if (o->spatial[o->n])
            o->last = o->n + 1;
    }
}

static ml_Num runs(const Offer *o, size_t k) /* more than once */
{
    ml_Forms *f = o->s->f;

    return ml_form_lt(f, ml_form_const(f, 1), o->s->n.axes.v[o->loops[k]].extent);
}

/* The place of a number: of those that are offered the nearest that is not further in. As the
 * primitive, but that nobody tries whether the block can be moved there: that shows when the
 * variant is compared. */
static ml_Num place_of(const Offer *o, ml_Num x)
{
    ml_Forms *f = o->s->f;
    ml_Num zero = ml_form_const(f, 0), one = ml_form_const(f, 1), reduced = zero,
           bad = zero;
    ml_Num place = ml_form_min(f, x, one); /* inlined, or where it stands */

    for (size_t k = 0; k < o->n; k++) {
        ml_Num at = ml_form_const(f, (double)k - ML_SYM_PLACE), more = runs(o, k);
        ml_Num no = o->spatial[k] ? ml_form_max(f, bad, reduced) : bad;
        ml_Num yes =
            ml_form_mul(f, ml_form_le(f, at, x), ml_form_mul(f, more, ml_form_not(f, no)));

        if (o->spatial[k] || k < o->last)
            place = ml_form_select(f, yes, at, place);
        if (o->spatial[k])
            bad = ml_form_max(f, bad, ml_form_mul(f, reduced, more));
        else
            reduced = ml_form_max(f, reduced, more);
    }
    return place;
}

/* Each place is a variant. */
bool ml_sym_sample_compute_location(Sym *s)
{
    ml_Forms *f = s->f;
    Move m = {0};
    Offer o;

    if (!related(s, &m))
        return false;
    look_above(&o, &m);
    ml_push(s->cx, &s->places, o.n + 1);
    ml_Num place = place_of(&o, ml_form_input(f, s->at, 0, HUGE_VAL));
    size_t at = o.n + 1;

    while (at > 0 && !ml_form_holds(f, ml_form_eq(f, place, ml_form_const(f, (double)at))))
        at--; /* in one order whatever the numbers are: the questions are a tree */
    if (at >= 2)
        ml_sym_out_loop(s, 0, o.loops[at - 2]);
    else
        ml_sym_out_mark(s, 0, at == 0 ? ML_H_INLINE_MARK : ML_H_ROOT_MARK);
    return true;
}

bool ml_sym_compute_at(Sym *s)
{
    return move(s, false);
}

bool ml_sym_reverse_compute_at(Sym *s)
{
    return move(s, true);
}

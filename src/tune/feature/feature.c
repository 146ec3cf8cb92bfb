/*
 * feature - the stores of a nest in order, and the rows made of them: of several stores to a
 * buffer the last one counts, what is stored as a literal does not. Source: auto-scheduler
 * 14.
 */
#include "moonloop/tune/feature/feature.h"

#include "moonloop/tune/feature/feature_impl.h"

/* ---------------------------------------------------------------- stores */

static ml_Sum *loops_of(ml_Nest *n, const ml_NestAccess *a)
{
    ml_Sum *dims = ML_ARRAY(n->cx, ml_Sum, a->n + 1);

    for (uint32_t d = 0; d < a->n; d++)
        dims[d] = ml_sum_loops(n, &a->dims[d]);
    return dims;
}

static bool collect(ml_Nest *n, const ml_NestNode *node, Stores *out)
{
    if (node->kind == ML_NEST_STORE) {
        StoreAt at = {.node = node, .s = node->store};

        at.n_loops = ml_nest_loops(node, at.loops, MAX_LOOPS);
        if (at.n_loops == MAX_LOOPS)
            return false;
        at.dims = ML_ARRAY(n->cx, ml_Sum *, at.s->n_loads + 1);
        at.dims[0] = loops_of(n, &at.s->to);
        for (uint32_t k = 0; k < at.s->n_loads; k++)
            at.dims[k + 1] = loops_of(n, &at.s->loads[k]);
        ml_push(n->cx, out, at);
    }
    for (size_t k = 0; k < node->kids.n; k++)
        if (!collect(n, node->kids.v[k], out))
            return false;
    return true;
}

/* ---------------------------------------------------------------- one row */

static Use *use_of(Row *r, uint32_t buffer)
{
    size_t k = 0;

    while (k < r->n_uses && r->uses[k].buffer != buffer)
        k++;
    if (k == r->n_uses) {
        r->uses[k] = (Use){.buffer = buffer};
        r->uses[k].bytes = (double)ml_dtype_bytes(r->n->buffers.v[buffer].type);
        r->n_uses++;
    }
    return &r->uses[k];
}

static void sort_by_name(Row *r)
{
    for (size_t i = 1; i < r->n_uses; i++)
        for (size_t k = i; k > 0; k--) {
            Use *a = &r->uses[k - 1], *b = &r->uses[k], t;

            if (strcmp(r->n->buffers.v[a->buffer].name, r->n->buffers.v[b->buffer].name) <=
                0)
                break;
            t = *a;
            *a = *b;
            *b = t;
        }
}

static void find_uses(Row *r, const StoreAt *at, const Home *homes)
{
    r->uses = ML_ARRAY(r->n->cx, Use, at->s->n_loads + 1);
    for (uint32_t k = 0; k < at->s->n_loads; k++) {
        Use *u = use_of(r, at->s->loads[k].buffer);

        u->read = true;
        ml_push(r->n->cx, &u->sites, ((Site){&at->s->loads[k], at->dims[k + 1]}));
    }
    Use *u = use_of(r, at->s->to.buffer);

    u->write = true;
    if (!u->read)
        ml_push(r->n->cx, &u->sites, ((Site){&at->s->to, at->dims[0]}));
    for (size_t k = 0; k < r->n_uses; k++)
        r->uses[k].shape = homes[r->uses[k].buffer].shape;
    sort_by_name(r);
}

static void find_loops(Row *r, const StoreAt *at)
{
    ml_Forms *f = r->f;
    ml_Num one = feature_const(r, 1);

    r->n_loops = at->n_loops;
    memcpy(r->loops, at->loops, at->n_loops * sizeof r->loops[0]);
    r->inside[r->n_loops] = one;
    r->body = r->n_loops;
    for (size_t k = r->n_loops; k-- > 0;) {
        const ml_NestAxis *a = &r->n->axes.v[r->loops[k]];
        bool stays = a->kind != ML_FOR_SERIAL || a->annotated;

        r->ext[k] = a->extent;
        r->more[k] = ml_form_lt(f, one, a->extent);
        r->live[k] = stays ? one : r->more[k];
        if (a->parts) /* else it is the loop inside that has what it says */
            r->live[k] =
                ml_form_max(f, r->more[k], ml_form_lt(f, feature_const(r, 0), a->unroll));
        r->inside[k] = ml_form_mul(f, r->inside[k + 1], a->extent);
        if (r->body == k + 1 &&
            (a->kind == ML_FOR_UNROLLED || a->kind == ML_FOR_VECTORIZED))
            r->body = k;
    }
    r->points = r->inside[0];
}

static void touch(Row *r, Touches *t)
{
    for (size_t k = 0; k < r->n_loops; k++)
        for (size_t u = 0; u < r->n_uses; u++)
            ml_push(r->n->cx, t,
                    ((Touch){r->loops[k], r->uses[u].buffer, r->order, r->uses[u].size[k],
                             r->uses[u].bytes}));
}

static const ml_Num *row_of(ml_Nest *n, const ml_FeatureTarget *t, const StoreAt *at,
                            size_t order, const Home *homes, Touches *touches)
{
    Row *r = ML_NEW(n->cx, Row);

    r->n = n;
    r->f = n->f;
    r->t = t;
    r->s = at->s;
    r->order = order;
    r->block = at->node->parent->kind == ML_NEST_BLOCK ? at->node->parent->block : NULL;
    r->out = ML_ARRAY(n->cx, ml_Num, ML_FEATURES);
    for (size_t k = 0; k < ML_FEATURES; k++)
        r->out[k] = ml_form_const(n->f, 0);
    find_uses(r, at, homes);
    find_loops(r, at);
    ml_feature_touched(r);
    touch(r, touches);
    ml_feature_operations(r);
    ml_feature_loops(r);
    ml_feature_buffers(r, touches);
    ml_feature_curve(r);
    ml_feature_place(r, &homes[at->s->to.buffer]);
    ml_feature_extended(r);
    return r->out;
}

bool ml_features(ml_Nest *n, const ml_FeatureTarget *t, ml_FeatureRows *out)
{
    Stores stores = {0};
    Touches touches = {0};
    uint32_t *row_at = ML_ARRAY(n->cx, uint32_t, n->buffers.n + 1); /* 1 + row */

    out->n = 0;
    if (!collect(n, n->root, &stores))
        return false;
    const Home *homes = ml_feature_homes(n, &stores);

    for (size_t k = 0; k < stores.n; k++) {
        uint32_t b = stores.v[k].s->to.buffer;

        if (stores.v[k].s->literal)
            continue;
        if (row_at[b] == 0) {
            if (out->n == ML_MAX_ROWS)
                return false;
            row_at[b] = (uint32_t)++out->n;
        }
        out->row[row_at[b] - 1] = row_of(n, t, &stores.v[k], k, homes, &touches);
    }
    return true;
}

ml_FeatureTarget ml_feature_target(const ml_Target *t, uint32_t threads,
                                   const uint64_t cache[3])
{
    static const double usual[3] = {32768, 1048576, 33554432};
    double bytes[3];

    for (size_t k = 0; k < 3; k++)
        bytes[k] = cache[k] ? (double)cache[k] : usual[k];
    return (ml_FeatureTarget){.vector_bytes = t->vector_bits / 8,
                              .registers = t->registers,
                              .threads = threads,
                              .l1 = bytes[0],
                              .l2 = bytes[1],
                              .l3 = bytes[2]};
}

/*
 * extended - the extended set: instructions, registers, bytes that move between the caches,
 * threads.
 *
 * The innermost loops that are unrolled or vectors are the body: what it writes are
 * accumulators, which stay in registers over the loops around that do not move them. A
 * level of loops fits a cache when what it touches is at most 0.8 of it; what does not fit
 * is moved again in each iteration. Source: auto-scheduler 14.
 */
#include "moonloop/tune/feature/feature_impl.h"

enum { LINE = 64, LATENCY = 4 };
#define FITS 0.8

typedef struct Body {
    ml_Num lanes;   /* iterations of the vector loop */
    ml_Num vectors; /* that one of its iterations makes */
    ml_Num points;  /* iterations of the body */
    ml_Num trips;
    size_t vector; /* position of the loop; n_loops: none */
} Body;

static Body body_of(const Row *r, double bytes)
{
    ml_Forms *f = r->f;
    Body b = {.lanes = feature_const(r, 1), .vectors = feature_const(r, 1)};

    b.vector = r->n_loops;
    for (size_t k = r->body; k < r->n_loops; k++)
        if (r->n->axes.v[r->loops[k]].kind == ML_FOR_VECTORIZED)
            b.vector = k;
    if (b.vector < r->n_loops) {
        b.lanes = r->ext[b.vector];
        b.vectors = ml_form_ceildiv(f, ml_form_mul(f, b.lanes, feature_const(r, bytes)),
                                    feature_const(r, r->t->vector_bytes));
    }
    b.points = r->inside[r->body];
    b.trips = ml_form_div(f, r->points, b.points);
    return b;
}

/* Instructions that move what the body touches of a buffer. */
static ml_Num moves_of(const Row *r, const Use *u, const Body *b)
{
    ml_Forms *f = r->f;
    ml_Num size = u->size[r->body];

    if (b->vector == r->n_loops)
        return size;
    ml_Num wide = ml_form_mul(f, ml_form_div(f, size, b->lanes), b->vectors);

    return ml_form_select(f, ml_form_eq(f, u->stride[b->vector], feature_const(r, 1)), wide,
                          size);
}

/* The loops directly around the body that do not move the buffer, multiplied. */
static ml_Num kept_over(const Row *r, const Use *u)
{
    ml_Forms *f = r->f;
    ml_Num product = feature_const(r, 1), on = product;

    for (size_t k = r->body; k-- > 0;) {
        on = ml_form_mul(f, on, ml_form_not(f, u->uses[k]));
        product =
            ml_form_mul(f, product, ml_form_select(f, on, r->ext[k], feature_const(r, 1)));
    }
    return product;
}

static void instructions(Row *r, const Body *b, const Use *to)
{
    ml_Forms *f = r->f;
    double each = -(double)r->s->fma;
    ml_Num loads = feature_const(r, 0), one = feature_const(r, 1);
    ml_Num accumulators = moves_of(r, to, b);
    ml_Num fit = ml_form_le(f, accumulators, feature_const(r, r->t->registers));
    ml_Num kept = ml_form_select(f, fit, kept_over(r, to), one);

    for (size_t k = 0; k < ML_OPERATIONS; k++)
        each += (double)r->s->operations[k];
    for (size_t k = 0; k < r->n_uses; k++) {
        const Use *u = &r->uses[k];
        ml_Num n = moves_of(r, u, b);

        if (u->read)
            loads = ml_form_add(f, loads, u == to ? ml_form_div(f, n, kept) : n);
    }
    r->out[ML_X_FMA] =
        ml_form_slog(f, ml_form_mul(f, feature_const(r, (double)r->s->fma), r->points));
    r->out[ML_X_VECTOR_OPS] =
        ml_form_slog(f, ml_form_mul(f,
                                    ml_form_mul(f, feature_const(r, each),
                                                ml_form_div(f, r->points, b->lanes)),
                                    b->vectors));
    r->out[ML_X_LOADS] = ml_form_slog(f, ml_form_mul(f, loads, b->trips));
    r->out[ML_X_STORES] =
        ml_form_slog(f, ml_form_mul(f, ml_form_div(f, accumulators, kept), b->trips));
    r->out[ML_X_ACCUMULATORS] = ml_form_slog(f, accumulators);
    r->out[ML_X_PRESSURE] = ml_form_div(f, accumulators, feature_const(r, r->t->registers));
    if (to->read) {
        ml_Num turns = ml_form_div(f, b->points, to->size[r->body]);

        r->out[ML_X_CHAIN] = ml_form_slog(
            f, ml_form_mul(f, ml_form_mul(f, turns, b->trips), feature_const(r, LATENCY)));
    }
    r->out[ML_X_BODY] = ml_form_slog(f, ml_form_mul(f, feature_const(r, each), b->points));
    r->out[ML_X_TRIPS] = ml_form_slog(f, b->trips);
    r->out[ML_X_FIT] = ml_form_slog(f, r->memory[r->body]);
}

/* Bytes in whole lines that are touched while loops from k on run. */
static ml_Num lines_of(const Row *r, const Use *u, size_t k)
{
    ml_Forms *f = r->f;
    ml_Num line = feature_const(r, LINE);
    ml_Num run =
        ml_form_ceildiv(f, ml_form_mul(f, u->run[k], feature_const(r, u->bytes)), line);

    return ml_form_mul(f, ml_form_mul(f, ml_form_div(f, u->size[k], u->run[k]), run), line);
}

static void traffic(Row *r)
{
    ml_Forms *f = r->f;
    const double caches[3] = {r->t->l1, r->t->l2, r->t->l3};
    ml_Num *all = ML_ARRAY(r->n->cx, ml_Num, r->n_loops + 1);
    ml_Num *lines = ML_ARRAY(r->n->cx, ml_Num, r->n_uses * (r->n_loops + 1) + 1);

    for (size_t k = 0; k <= r->n_loops; k++) {
        all[k] = feature_const(r, 0);
        for (size_t u = 0; u < r->n_uses; u++) {
            ml_Num l = lines[u * (r->n_loops + 1) + k] = lines_of(r, &r->uses[u], k);

            all[k] = ml_form_add(f, all[k], l);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        ml_Num room = feature_const(r, FITS * caches[c]), sum = feature_const(r, 0);

        for (size_t u = 0; u < r->n_uses; u++) {
            const ml_Num *own = lines + u * (r->n_loops + 1);
            ml_Num moved = own[r->n_loops];
            double times = r->uses[u].write && r->uses[u].read ? 2 : 1;

            for (size_t k = r->n_loops; k-- > 0;) {
                ml_Num stays = ml_form_mul(f, ml_form_not(f, r->uses[u].uses[k]),
                                           ml_form_le(f, all[k + 1], room));
                ml_Num again =
                    ml_form_select(f, stays, moved, ml_form_mul(f, moved, r->ext[k]));

                moved = ml_form_select(f, ml_form_le(f, all[k], room), own[k], again);
            }
            sum = ml_form_add(f, sum, ml_form_mul(f, moved, feature_const(r, times)));
        }
        r->out[ML_X_L1 + c] = ml_form_slog(f, sum);
    }
}

static void threads(Row *r)
{
    ml_Forms *f = r->f;
    ml_Num product = feature_const(r, 1), outside = product, one = product;
    ml_Num launches = feature_const(r, 0), threads = feature_const(r, r->t->threads);
    ml_Num none = one;

    for (size_t k = 0; k < r->n_loops; k++) {
        const ml_NestAxis *a = &r->n->axes.v[r->loops[k]];

        if (a->kind == ML_FOR_PARALLEL) {
            ml_Num there = a->parts ? r->more[k] : one;

            product = ml_form_mul(f, product, r->ext[k]);
            launches = ml_form_select(f, ml_form_mul(f, none, there), outside, launches);
            none = ml_form_mul(f, none, ml_form_not(f, there));
        }
        outside = ml_form_mul(f, outside, r->ext[k]);
    }
    r->out[ML_X_PARALLEL] = ml_form_slog(f, product);
    r->out[ML_X_SHARE] =
        ml_form_select(f, ml_form_le(f, product, one), one,
                       ml_form_div(f, ml_form_ceildiv(f, product, threads), product));
    r->out[ML_X_LAUNCHES] = ml_form_slog(f, launches);
}

void ml_feature_extended(Row *r)
{
    ml_Forms *f = r->f;
    const Use *to = NULL;
    ml_Num instances = feature_const(r, 1);

    for (size_t k = 0; k < r->n_uses; k++)
        if (r->uses[k].write)
            to = &r->uses[k];
    if (to == NULL)
        return;
    Body b = body_of(r, to->bytes);

    instructions(r, &b, to);
    traffic(r);
    threads(r);
    for (uint32_t k = 0; r->block && k < r->block->n_iters; k++)
        instances = ml_form_mul(f, instances, r->n->axes.v[r->block->iters[k]].extent);
    if (r->block && r->block->beside > 0)
        instances = ml_form_mul(f, instances, feature_const(r, r->block->beside));
    r->out[ML_X_GUARDED] = feature_const(r, r->block && r->block->guarded);
    r->out[ML_X_WASTE] = ml_form_slog(f, ml_form_div(f, r->points, instances));
}

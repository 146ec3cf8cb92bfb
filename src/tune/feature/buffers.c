/*
 * buffers - features 57 to 146: up to five buffers of a store, those that move the most
 * lines first. Which these are depends on the numbers: blocks change places by selects.
 * Source: auto-scheduler 14.
 */
#include "moonloop/tune/feature/feature_impl.h"

enum { FIRST = 57, BLOCKS = 5, BLOCK = 18, LINE = 64, EXTRA = 1 };

typedef struct Reuse {
    ml_Num loop, serial; /* 0 or 1: which kind */
    ml_Num iterations, bytes, count;
} Reuse;

typedef struct Sorted {
    ml_Num lines, bytes;
    ml_Num v[BLOCK + EXTRA];
} Sorted;

static ml_Num bytes_below(const Row *r, size_t k)
{
    double each = 0;

    if (k < r->n_loops)
        return r->memory[k];
    for (size_t u = 0; u < r->n_uses; u++)
        each += r->uses[u].bytes;
    return feature_const(r, each);
}

static Reuse choose(ml_Forms *f, ml_Num c, Reuse yes, Reuse no)
{
    return (Reuse){ml_form_select(f, c, yes.loop, no.loop),
                   ml_form_select(f, c, yes.serial, no.serial),
                   ml_form_select(f, c, yes.iterations, no.iterations),
                   ml_form_select(f, c, yes.bytes, no.bytes),
                   ml_form_select(f, c, yes.count, no.count)};
}

/* Stores so far that touch the buffer under the loop: the same data, one after the other. */
static bool serial_reuse(const Row *r, const Use *u, size_t k, const Touches *t, Reuse *out)
{
    ml_Forms *f = r->f;
    ml_Num least = 0, bytes = feature_const(r, 0);
    double n = 0;

    for (size_t i = 0; i < t->n; i++) {
        const Touch *x = &t->v[i];

        if (x->axis != r->loops[k])
            continue;
        bytes =
            ml_form_add(f, bytes, ml_form_mul(f, x->elements, feature_const(r, x->bytes)));
        if (x->buffer != u->buffer)
            continue;
        least = n > 0 ? ml_form_min(f, least, x->elements) : x->elements;
        n++;
    }
    if (n < 2)
        return false;
    *out = (Reuse){.loop = feature_const(r, 0),
                   .serial = feature_const(r, 1),
                   .iterations = ml_form_div(f, least, r->ext[k]),
                   .bytes = ml_form_div(f, bytes, r->ext[k]),
                   .count = feature_const(r, n - 1)};
    return true;
}

/* The innermost loop that decides comes last and wins. */
static Reuse reuse_of(const Row *r, const Use *u, const Touches *t)
{
    ml_Forms *f = r->f;
    ml_Num zero = feature_const(r, 0), one = feature_const(r, 1);
    Reuse best = {zero, zero, zero, zero, zero}, serial;

    for (size_t k = 0; k < r->n_loops; k++) {
        Reuse loop = {one, zero, r->inside[k + 1], bytes_below(r, k + 1), r->ext[k]};
        ml_Num hit = ml_form_mul(f, r->more[k], ml_form_not(f, u->uses[k]));

        if (serial_reuse(r, u, k, t, &serial))
            best = choose(f, r->live[k], serial, best);
        best = choose(f, hit, loop, best);
    }
    return best;
}

static void block_of(const Row *r, const Use *u, const Touches *touches, Sorted *out)
{
    ml_Forms *f = r->f;
    ml_Num zero = feature_const(r, 0), one = feature_const(r, 1),
           line = feature_const(r, LINE);
    ml_Num each = feature_const(r, u->bytes), inner = feature_const(r, 0), below = one;
    ml_Num stride = zero;
    Reuse e = reuse_of(r, u, touches);

    /* the innermost loop that moves it, and what runs inside of that */
    for (size_t k = 0; k < r->n_loops; k++) {
        ml_Num moves = ml_form_lt(f, zero, u->stride[k]);

        inner = ml_form_select(f, moves, u->stride[k], inner);
        below = ml_form_select(f, moves, r->inside[k + 1], below);
        /* of the innermost loop that there is */
        stride = ml_form_select(f, r->live[k], u->stride[k], stride);
    }
    ml_Num bytes = ml_form_mul(f, each, r->points);
    ml_Num unique = ml_form_mul(f, u->size[0], each);
    ml_Num share = ml_form_min(f, one, ml_form_div(f, ml_form_mul(f, inner, each), line));
    ml_Num lines =
        ml_form_max(f, one, ml_form_mul(f, ml_form_div(f, r->points, below), share));
    ml_Num unique_lines =
        ml_form_max(f, one, ml_form_div(f, unique, ml_form_min(f, line, u->whole)));
    ml_Num count =
        ml_form_select(f, ml_form_eq(f, e.count, zero), feature_const(r, 0.5), e.count);
    ml_Num unit = ml_form_eq(f, stride, one);

    if (r->n_loops == 0)
        unique = lines = unique_lines = one;
    const ml_Num v[BLOCK + EXTRA] = {
        feature_const(r, u->read && !u->write),
        feature_const(r, u->write && !u->read),
        feature_const(r, u->read && u->write),
        ml_form_slog(f, bytes),
        ml_form_slog(f, unique),
        ml_form_slog(f, lines),
        ml_form_slog(f, unique_lines),
        e.loop,
        e.serial,
        ml_form_sub(f, ml_form_sub(f, one, e.loop), e.serial),
        ml_form_slog(f, e.iterations),
        ml_form_slog(f, e.bytes),
        ml_form_slog(f, e.count),
        ml_form_slog(f, ml_form_div(f, bytes, count)),
        ml_form_slog(f, ml_form_div(f, unique, count)),
        ml_form_slog(f, ml_form_div(f, lines, count)),
        ml_form_slog(f, ml_form_div(f, unique_lines, count)),
        ml_form_slog(f, stride),
        unit,
    };

    *out = (Sorted){.lines = lines, .bytes = bytes};
    memcpy(out->v, v, sizeof v);
}

/* Those of more lines first, then of more bytes, else by name, as they were. */
static void exchange(ml_Forms *f, Sorted *a, Sorted *b)
{
    ml_Num more = ml_form_lt(f, a->lines, b->lines);
    ml_Num equal = ml_form_eq(f, a->lines, b->lines);
    ml_Num swap =
        ml_form_max(f, more, ml_form_mul(f, equal, ml_form_lt(f, a->bytes, b->bytes)));
    Sorted x = *a, y = *b;

    if (ml_form_is(f, swap, 0))
        return;
    a->lines = ml_form_select(f, swap, y.lines, x.lines);
    b->lines = ml_form_select(f, swap, x.lines, y.lines);
    a->bytes = ml_form_select(f, swap, y.bytes, x.bytes);
    b->bytes = ml_form_select(f, swap, x.bytes, y.bytes);
    for (size_t k = 0; k < BLOCK + EXTRA; k++) {
        a->v[k] = ml_form_select(f, swap, y.v[k], x.v[k]);
        b->v[k] = ml_form_select(f, swap, x.v[k], y.v[k]);
    }
}

void ml_feature_buffers(Row *r, const Touches *touches)
{
    Sorted *v = ML_ARRAY(r->n->cx, Sorted, r->n_uses + 1);

    for (size_t k = 0; k < r->n_uses; k++)
        block_of(r, &r->uses[k], touches, &v[k]);
    for (size_t k = 0; k < r->n_uses && k < BLOCKS; k++)
        for (size_t m = r->n_uses - 1; m > k; m--)
            exchange(r->f, &v[m - 1], &v[m]);
    for (size_t k = 0; k < r->n_uses && k < BLOCKS; k++) {
        memcpy(r->out + FIRST + k * BLOCK, v[k].v, BLOCK * sizeof v[k].v[0]);
        r->out[ML_X_UNIT + k] = v[k].v[BLOCK];
    }
}

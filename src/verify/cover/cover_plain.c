/*
 * cover_plain - the common case of region cover, in int64 numbers: indices that are linear
 * in loops of literal ranges, or e // m beside e % m with such an e.
 *
 * true is a proof, false says nothing (cover.c then asks the prover). Every element of the
 * product of the intervals is written because no loop moves two dimensions and the steps of
 * each dimension leave no gap; two dimensions that hold the digits of one index are one.
 * What loops inside the ancestor do not move must be the same on both sides, term by term.
 * Source: ir-and-analysis 2.4, 8.3.
 */
#include "moonloop/verify/facts.h"

enum { MAX_LOOPS = 24, MAX_TERMS = 12, MAX_NODES = 64, MAX_RANK = 16 };

typedef struct Term {
    const ml_Expr *atom;
    int64_t coef;
} Term;

typedef struct Linear {
    Term v[MAX_TERMS];
    size_t n;
    int64_t base;
    size_t nodes; /* seen so far: bounds depth and work */
} Linear;

/* A block and the loops between it and the ancestor. Loops that run once, there or further
 * out, are the number that they count from. */
typedef struct Nest {
    const ml_Block *block;
    const ml_For *loops[MAX_LOOPS], *once[MAX_LOOPS];
    bool used[MAX_LOOPS]; /* moves an earlier dimension */
    size_t n, n_once;
} Nest;

/* outer + [lo, hi] */
typedef struct Span {
    Linear outer;
    int64_t lo, hi;
} Span;

static bool mul_add(int64_t *sum, int64_t a, int64_t b)
{
    int64_t p;

    return !__builtin_mul_overflow(a, b, &p) && !__builtin_add_overflow(*sum, p, sum);
}

static bool open_nest(ml_Program p, const ml_Block *b, ml_Uid ancestor, Nest *out)
{
    bool below = true;

    out->block = b;
    out->n = out->n_once = 0;
    for (ml_Up u = ml_index_up(p.index, b->tag); u.node; ml_index_next(&u)) {
        below = below && u.uid != ancestor && u.node->kind != ML_STMT_BLOCK;
        if (u.node->kind != ML_STMT_FOR)
            continue;
        const ml_For *f = ml_as_for(u.node);

        /* Threads: what a loop means depends on the storage. */
        if (f->thread.axis)
            return false;
        if (ml_is_const_int(f->min) && ml_is_int(f->extent, 1) && out->n_once < MAX_LOOPS) {
            out->once[out->n_once++] = f;
            continue;
        }
        if (!below)
            continue;
        if (!ml_is_const_int(f->min) || !ml_is_const_int(f->extent) ||
            f->extent->as.i < 1 || out->n == MAX_LOOPS)
            return false;
        out->used[out->n] = false;
        out->loops[out->n++] = f;
    }
    return true;
}

static size_t loop_of(const Nest *nest, const ml_Expr *atom)
{
    size_t k = 0;

    if (atom->kind != ML_EXPR_VAR)
        return nest->n;
    while (k < nest->n && nest->loops[k]->var->uid != atom->as.var->uid)
        k++;
    return k;
}

/* The only iteration of a loop that runs once; NULL: no such loop. */
static const ml_For *once_of(const Nest *nest, const ml_Expr *atom)
{
    for (size_t k = 0; k < nest->n_once; k++)
        if (nest->once[k]->var->uid == atom->as.var->uid)
            return nest->once[k];
    return NULL;
}

/* Neither the loops inside nor memory can change it. */
static bool is_outer(const Nest *nest, const ml_Expr *e, Linear *out)
{
    if (++out->nodes > MAX_NODES || !ml_dtype_is_index(e->type))
        return false;
    if (ml_is_const_int(e))
        return true;
    if (e->kind == ML_EXPR_VAR) {
        for (size_t k = 0; k < nest->block->n_iters; k++)
            if (nest->block->iters[k].var->uid == e->as.var->uid)
                return false;
        return loop_of(nest, e) == nest->n && !once_of(nest, e);
    }
    if (e->kind != ML_EXPR_ADD && e->kind != ML_EXPR_SUB && e->kind != ML_EXPR_MUL &&
        e->kind != ML_EXPR_FLOORDIV && e->kind != ML_EXPR_FLOORMOD)
        return false;
    return is_outer(nest, e->args[0], out) && is_outer(nest, e->args[1], out);
}

static bool add_term(Linear *out, const ml_Expr *atom, int64_t coef)
{
    size_t k = 0;

    while (k < out->n && out->v[k].atom != atom)
        k++;
    if (k == MAX_TERMS)
        return false;
    if (k == out->n)
        out->v[out->n++] = (Term){atom, 0};
    return !__builtin_add_overflow(out->v[k].coef, coef, &out->v[k].coef);
}

/* Adds coef * e, the block's iters replaced by what they are bound to. */
static bool add_linear(const Nest *nest, const ml_Expr *e, int64_t coef, Linear *out)
{
    const ml_Expr *a, *b;
    int64_t times;

    if (++out->nodes > MAX_NODES || !ml_dtype_is_index(e->type))
        return false;
    if (ml_is_const_int(e))
        return mul_add(&out->base, coef, e->as.i);
    if (e->kind == ML_EXPR_VAR) {
        for (size_t k = 0; k < nest->block->n_iters; k++)
            if (nest->block->iters[k].var->uid == e->as.var->uid)
                return add_linear(nest, nest->block->iters[k].value, coef, out);
        const ml_For *once = once_of(nest, e);

        return once ? mul_add(&out->base, coef, once->min->as.i) : add_term(out, e, coef);
    }
    if (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) {
        int64_t second = coef;

        if (e->kind == ML_EXPR_SUB && __builtin_sub_overflow(0, coef, &second))
            return false;
        return add_linear(nest, e->args[0], coef, out) &&
               add_linear(nest, e->args[1], second, out);
    }
    if (e->kind == ML_EXPR_MUL) {
        a = e->args[0];
        b = e->args[1];
        if (ml_is_const_int(a)) {
            a = e->args[1];
            b = e->args[0];
        }
        if (ml_is_const_int(b))
            return !__builtin_mul_overflow(coef, b->as.i, &times) &&
                   add_linear(nest, a, times, out);
    }
    return is_outer(nest, e, out) && add_term(out, e, coef);
}

/* Whether steps of these sizes, smallest first, fill everything from a run of `width`. */
static bool no_gap(Term *steps, size_t n, int64_t width)
{
    for (size_t k = 1; k < n; k++)
        for (size_t m = k; m > 0 && steps[m].coef < steps[m - 1].coef; m--) {
            Term t = steps[m];
            steps[m] = steps[m - 1];
            steps[m - 1] = t;
        }
    for (size_t k = 0; k < n; k++)
        if (steps[k].coef > width ||
            !mul_add(&width, steps[k].coef, steps[k].atom->as.i - 1))
            return false;
    return true;
}

/* The values of `width` indices from `min` on. exact: every one between the ends must be
 * touched, and no loop that moved an earlier dimension may move this one. */
static bool span_from(Nest *nest, const ml_Expr *min, int64_t width, bool exact, Span *out)
{
    Linear all = {.n = 0};
    Term steps[MAX_TERMS]; /* size; the atom is the loop's extent */
    size_t n_steps = 0;

    if (!add_linear(nest, min, 1, &all))
        return false;
    out->outer.n = 0;
    out->lo = out->hi = all.base;
    if (__builtin_add_overflow(out->hi, width - 1, &out->hi))
        return false;
    for (size_t k = 0; k < all.n; k++) {
        int64_t c = all.v[k].coef;
        size_t m = loop_of(nest, all.v[k].atom);

        if (c == 0)
            continue;
        if (m == nest->n) {
            out->outer.v[out->outer.n++] = all.v[k];
            continue;
        }
        const ml_For *f = nest->loops[m];

        if (!mul_add(&out->lo, c, f->min->as.i) || !mul_add(&out->hi, c, f->min->as.i) ||
            !mul_add(c > 0 ? &out->hi : &out->lo, c, f->extent->as.i - 1))
            return false;
        if (!exact || f->extent->as.i == 1)
            continue;
        if (nest->used[m] || c == INT64_MIN)
            return false;
        nest->used[m] = true;
        steps[n_steps++] = (Term){f->extent, c < 0 ? -c : c};
    }
    return !exact || no_gap(steps, n_steps, width);
}

static bool is_digit(const ml_Expr *e, ml_ExprKind kind, int64_t m)
{
    return e->kind == kind && ml_is_const_int(e->args[1]) && e->args[1]->as.i > 0 &&
           (m == 0 || e->args[1]->as.i == m);
}

/* One dimension of a region. */
static bool span_of(Nest *nest, const ml_Range *r, bool exact, Span *out)
{
    const ml_Expr *e = r->min;

    if (!ml_is_const_int(r->extent) || r->extent->as.i < 1)
        return false;
    if (span_from(nest, e, r->extent->as.i, exact, out))
        return true;
    if (exact || !ml_is_int(r->extent, 1))
        return false;
    /* What a digit may be, where nothing outside moves it. */
    if (is_digit(e, ML_EXPR_FLOORMOD, 0)) {
        *out = (Span){.lo = 0, .hi = e->args[1]->as.i - 1};
        return true;
    }
    if (!is_digit(e, ML_EXPR_FLOORDIV, 0) || !span_from(nest, e->args[0], 1, false, out) ||
        out->outer.n > 0)
        return false;
    out->lo = ml_floordiv_i64(out->lo, e->args[1]->as.i);
    out->hi = ml_floordiv_i64(out->hi, e->args[1]->as.i);
    return true;
}

/* The dimension that holds e % m where `d` holds e // m; the rank: none. */
static size_t low_digit(const ml_Region *r, size_t d, int64_t *m)
{
    const ml_Expr *e = r->ranges[d].min;
    size_t rank = r->buffer->rank, k = 0;

    if (!is_digit(e, ML_EXPR_FLOORDIV, 0) || !ml_is_int(r->ranges[d].extent, 1))
        return rank;
    *m = e->args[1]->as.i;
    while (k < rank &&
           !(is_digit(r->ranges[k].min, ML_EXPR_FLOORMOD, *m) &&
             r->ranges[k].min->args[0] == e->args[0] && ml_is_int(r->ranges[k].extent, 1)))
        k++;
    return k < rank && ml_is_int(r->buffer->shape[k], *m) ? k : rank;
}

static bool same_outer(const Linear *a, const Linear *b)
{
    if (a->n != b->n)
        return false;
    for (size_t k = 0; k < a->n; k++) {
        size_t m = 0;

        while (m < b->n && b->v[m].atom != a->v[k].atom)
            m++;
        if (m == b->n || b->v[m].coef != a->v[k].coef)
            return false;
    }
    return true;
}

/* Whether what is read lies in what is written; `n` elements there are, 0: not a number. */
static bool holds(const Span *w, Span *r, int64_t n)
{
    if (!same_outer(&w->outer, &r->outer))
        return false;
    if (n > 0 && w->outer.n == 0) {
        r->lo = r->lo < 0 ? 0 : r->lo;
        r->hi = r->hi > n - 1 ? n - 1 : r->hi;
    }
    return w->lo <= r->lo && w->hi >= r->hi;
}

static bool is_all(const Span *w, int64_t n)
{
    return n > 0 && w->outer.n == 0 && w->lo <= 0 && w->hi >= n - 1;
}

bool ml_covers_plainly(ml_Program p, ml_Uid ancestor, const ml_Block *producer,
                       const ml_Region *write, const ml_Block *consumer,
                       const ml_Region *read)
{
    const ml_Buffer *buf = read->buffer;
    bool done[MAX_RANK] = {false}; /* as the low digit of another */
    Nest from, to;

    if (write->buffer->uid != buf->uid || !ml_is_true(producer->predicate) ||
        buf->rank > MAX_RANK || !open_nest(p, producer, ancestor, &from) ||
        !open_nest(p, consumer, ancestor, &to))
        return false;
    for (size_t d = 0; d < buf->rank; d++) {
        int64_t n = ml_is_const_int(buf->shape[d]) ? buf->shape[d]->as.i : 0, m = 1;
        const ml_Range *in = &write->ranges[d], *out = &read->ranges[d];
        Span w, r;

        size_t low = low_digit(write, d, &m);

        if (low == buf->rank)
            continue;
        done[d] = done[low] = true;
        if (__builtin_mul_overflow(n, m, &n) ||
            !span_from(&from, in->min->args[0], 1, true, &w))
            return false;
        if (is_all(&w, n))
            continue;
        if (!is_digit(out->min, ML_EXPR_FLOORDIV, m) || low_digit(read, d, &m) != low ||
            !span_from(&to, out->min->args[0], 1, false, &r) || !holds(&w, &r, n))
            return false;
    }
    for (size_t d = 0; d < buf->rank; d++) {
        int64_t n = ml_is_const_int(buf->shape[d]) ? buf->shape[d]->as.i : 0;
        Span w, r;

        if (done[d])
            continue;
        if (!span_of(&from, &write->ranges[d], true, &w))
            return false;
        if (!is_all(&w, n) &&
            (!span_of(&to, &read->ranges[d], false, &r) || !holds(&w, &r, n)))
            return false;
    }
    return true;
}

/*
 * cover_plain - the common case of region cover, in int64 numbers: indices that are linear
 * in loops of literal ranges.
 *
 * true is a proof, false says nothing (cover.c then asks the prover). Every element of the
 * product of the intervals is written because no loop moves two dimensions and the steps of
 * each dimension leave no gap. What loops inside the ancestor do not move must be the same
 * on both sides, term by term. Source: ir-and-analysis 2.4, 8.3.
 */
#include "verify/facts.h"

enum { MAX_LOOPS = 24, MAX_TERMS = 12, MAX_NODES = 64 };

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

/* A block and the loops between it and the ancestor. */
typedef struct Nest {
    const ml_Block *block;
    const ml_For *loops[MAX_LOOPS];
    bool used[MAX_LOOPS]; /* moves an earlier dimension */
    size_t n;
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
    out->n = 0;
    for (ml_Uid u = ml_index_parent(p.index, b->tag); u; u = ml_index_parent(p.index, u)) {
        const ml_Stmt *node = ml_index_node(p.index, u);

        below = below && u != ancestor && node->kind != ML_STMT_BLOCK;
        if (node->kind != ML_STMT_FOR)
            continue;
        const ml_For *f = ml_as_for(node);

        /* Threads: what a loop means depends on the storage. */
        if (f->thread)
            return false;
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
        return loop_of(nest, e) == nest->n;
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
        return add_term(out, e, coef);
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

/* One dimension. exact: every element between the ends must be touched, and no loop that
 * moved an earlier dimension may move this one. */
static bool span_of(Nest *nest, const ml_Range *r, bool exact, Span *out)
{
    Linear all = {.n = 0};
    Term steps[MAX_TERMS]; /* size; the atom is the loop's extent */
    size_t n_steps = 0;

    if (!ml_is_const_int(r->extent) || r->extent->as.i < 1 ||
        !add_linear(nest, r->min, 1, &all))
        return false;
    out->outer.n = 0;
    out->lo = out->hi = all.base;
    if (__builtin_add_overflow(out->hi, r->extent->as.i - 1, &out->hi))
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
    return !exact || no_gap(steps, n_steps, r->extent->as.i);
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

bool ml_covers_plainly(ml_Program p, ml_Uid ancestor, const ml_Block *producer,
                       const ml_Region *write, const ml_Block *consumer,
                       const ml_Region *read)
{
    const ml_Buffer *buf = read->buffer;
    Nest from, to;

    if (write->buffer->uid != buf->uid || !ml_is_true(producer->predicate) ||
        !open_nest(p, producer, ancestor, &from) || !open_nest(p, consumer, ancestor, &to))
        return false;
    for (size_t d = 0; d < buf->rank; d++) {
        bool literal = ml_is_const_int(buf->shape[d]);
        int64_t last = literal ? buf->shape[d]->as.i - 1 : 0;
        Span w, r;

        if (!span_of(&from, &write->ranges[d], true, &w))
            return false;
        if (literal && w.outer.n == 0 && w.lo <= 0 && w.hi >= last)
            continue; /* all that there is */
        if (!span_of(&to, &read->ranges[d], false, &r) || !same_outer(&w.outer, &r.outer))
            return false;
        if (literal && w.outer.n == 0) {
            r.lo = r.lo < 0 ? 0 : r.lo;
            r.hi = r.hi > last ? last : r.hi;
        }
        if (w.lo > r.lo || w.hi < r.hi)
            return false;
    }
    return true;
}

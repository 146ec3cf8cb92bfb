/*
 * iter_fuse - a sum of digits becomes one digit of a fused mark: a mixed-radix number, or a
 * number whose digits overlap without a gap. Constraints recorded from the predicate are
 * consumed on the way. Source: ir-and-analysis 4.5.
 */
#include "moonloop/core/arith/iter_impl.h"

static void drop(ml_ItSum *s, size_t k)
{
    for (size_t j = k + 1; j < s->n; j++)
        s->v[j - 1] = s->v[j];
    s->n--;
}

/* Whether hi and lo are neighbouring digits of one mark, together one digit. */
static bool adjacent(ml_ItState *st, const ml_ItDigit *hi, const ml_ItDigit *lo)
{
    if (hi->mark != lo->mark || lo->open)
        return false;
    return ml_it_eq(st, hi->low, ml_it_mul(st, lo->low, lo->ext)) &&
           ml_it_eq(st, hi->scale, ml_it_mul(st, lo->scale, lo->ext)) &&
           ml_it_eq(st, ml_it_mod(st, hi->off, hi->low), ml_it_mod(st, lo->off, hi->low));
}

static void combine_two(ml_ItState *st, ml_ItSum *s, size_t hi, size_t lo)
{
    ml_ItDigit *d = &s->v[hi];

    if (d->open) {
        /* off < low of the upper one: below the new low it is an offset again */
        ml_ItVal one = ml_it_lit(1);
        d->low = s->v[lo].low;
        d->scale = s->v[lo].scale;
        ml_ItVal q = ml_it_div(st, d->off, d->low);
        s->base = ml_it_add(st, s->base, ml_it_mul(st, q, d->scale));
        d->off = ml_it_mod(st, d->off, d->low);
        ml_ItVal last = ml_it_sub(st, ml_it_add(st, d->off, d->mark->extent), one);
        d->ext = ml_it_is(d->off, 0) && ml_it_divides(st, d->low, d->mark->extent)
                     ? ml_it_div(st, d->mark->extent, d->low)
                     : ml_it_add(st, ml_it_div(st, last, d->low), one);
    } else {
        /* The period is that of the upper one, so the normal form stays. */
        d->low = s->v[lo].low;
        d->ext = ml_it_mul(st, d->ext, s->v[lo].ext);
        d->scale = s->v[lo].scale;
    }
    drop(s, lo);
}

void ml_it_combine(ml_ItState *st, ml_ItSum *s)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t a = 0; a < s->n && !again; a++)
            for (size_t b = 0; b < s->n && !again; b++)
                if (a != b && adjacent(st, &s->v[a], &s->v[b])) {
                    combine_two(st, s, a, b);
                    again = true;
                }
    }
}

/* ---- one fusing */

typedef struct Fuse {
    ml_ItState *st;
    ml_ItDigit *d; /* the non-unit digits */
    bool *used;
    size_t n;
    ml_ItSum *sum;     /* its base receives the offsets of constraints */
    ml_ItDigit *taken; /* innermost first, scales relative to s0 */
    size_t n_taken;
    ml_ItVal s0, width;
} Fuse;

/* The unused digit equal to `like` but of that scale; n: none. */
static size_t find(Fuse *f, const ml_ItDigit *like, ml_ItVal scale, const bool *used)
{
    for (size_t k = 0; k < f->n; k++)
        if (!used[k] && ml_it_same_digit(f->st, &f->d[k], like) &&
            ml_it_eq(f->st, f->d[k].scale, scale))
            return k;
    return f->n;
}

/* Whether d, times the scale, is there: itself, or when it is a whole constraint or fused
 * mark the digits that this is made of. They are marked in used; base gets the offsets. */
static bool present(Fuse *f, const ml_ItDigit *d, ml_ItVal scale, bool *used,
                    ml_ItVal *base)
{
    ml_ItState *st = f->st;
    const ml_ItMark *m = d->mark;
    size_t k = find(f, d, scale, used);

    if (k < f->n) {
        used[k] = true;
        return true;
    }
    if ((m->kind != ML_IT_CONSTRAINT && m->kind != ML_IT_FUSED) || !ml_it_is_whole(d))
        return false;
    for (size_t j = 0; j < m->sum.n; j++)
        if (!present(f, &m->sum.v[j], ml_it_mul(st, m->sum.v[j].scale, scale), used, base))
            return false;
    if (m->kind == ML_IT_CONSTRAINT)
        *base = ml_it_add(st, *base, ml_it_mul(st, m->lo, scale));
    return true;
}

/* Whether all digits of c are there, the innermost being `cur`; they are marked in used. */
static bool complete(Fuse *f, const ml_ItMark *c, const ml_ItDigit *cur, bool *used,
                     ml_ItVal *base)
{
    size_t n = c->sum.n;

    *base = ml_it_mul(f->st, c->lo, cur->scale);
    if (!ml_it_same_digit(f->st, &c->sum.v[n - 1], cur))
        return false;
    for (size_t j = 0; j + 1 < n; j++) {
        const ml_ItDigit *d = &c->sum.v[j];

        if (!present(f, d, ml_it_mul(f->st, d->scale, cur->scale), used, base))
            return false;
    }
    return true;
}

/* Replaces the current digit by the constraint that ends in it, as long as there is one. */
static void consume(Fuse *f, ml_ItDigit *cur)
{
    ml_ItState *st = f->st;

    if (st->constraints.n == 0)
        return;
    bool *used = ML_ARRAY(st->cx, bool, f->n), *best_used = ML_ARRAY(st->cx, bool, f->n);
    for (;;) {
        ml_ItMark *best = NULL;
        ml_ItVal base, best_base = ml_it_lit(0);

        for (size_t k = 0; k < st->constraints.n; k++) {
            ml_ItMark *c = st->constraints.v[k];
            if (best && c->sum.n <= best->sum.n)
                continue;
            memcpy(used, f->used, f->n * sizeof *used);
            if (!complete(f, c, cur, used, &base))
                continue;
            best = c;
            best_base = base;
            memcpy(best_used, used, f->n * sizeof *used);
        }
        if (!best)
            return;
        memcpy(f->used, best_used, f->n * sizeof *used);
        f->sum->base = ml_it_add(st, f->sum->base, best_base);
        *cur = ml_it_whole(best, cur->scale);
        if (ml_it_is_unit(cur))
            best->at_unit = true;
    }
}

static size_t factors(const ml_Expr *e)
{
    return e->kind == ML_EXPR_MUL ? factors(e->args[0]) + factors(e->args[1]) : 1;
}

/* The innermost digit: the smallest literal scale, else the one of fewest factors. */
static bool pick_base(Fuse *f, size_t *at)
{
    size_t best = f->n;

    for (size_t k = f->n; k-- > 0;) {
        const ml_ItDigit *d = &f->d[k];
        if (!d->scale.e && d->scale.i < 0 && f->n > 1)
            return false;
        if (best == f->n) {
            best = k;
            continue;
        }
        const ml_ItDigit *b = &f->d[best];
        bool better = !d->scale.e ? b->scale.e || d->scale.i < b->scale.i
                                  : b->scale.e && factors(d->scale.e) < factors(b->scale.e);
        if (better)
            best = k;
    }
    *at = best;
    return true;
}

/* The digit that comes next above the width covered so far; *overlap: it starts inside. */
static size_t pick_next(Fuse *f, bool *overlap)
{
    ml_ItState *st = f->st;
    ml_ItVal expected = ml_it_mul(st, f->width, f->s0);
    size_t best = f->n;

    *overlap = false;
    for (size_t k = f->n; k-- > 0;)
        if (!f->used[k] && ml_it_eq(st, f->d[k].scale, expected))
            return k;
    if (st->level == ML_BIJECTIVE || !ml_it_is(f->s0, 1))
        return f->n;
    for (size_t k = f->n; k-- > 0;) {
        ml_ItVal s = f->d[k].scale;
        if (f->used[k] || s.e || s.i < 1 || !ml_it_le(st, s, f->width))
            continue;
        if (best == f->n || f->d[best].scale.i < s.i)
            best = k;
    }
    *overlap = best != f->n;
    return best;
}

/* Takes digit k, or the constraint that ends in it. */
static void take(Fuse *f, size_t k, bool overlap)
{
    ml_ItState *st = f->st;
    ml_ItDigit cur = f->d[k];
    ml_ItVal relative = f->n_taken && overlap ? cur.scale : f->width;

    f->used[k] = true;
    consume(f, &cur);
    if (ml_it_is_unit(&cur))
        return;
    cur.scale = relative;
    if (overlap) {
        ml_ItVal steps = ml_it_sub(st, cur.ext, ml_it_lit(1));
        f->width = ml_it_add(st, f->width, ml_it_mul(st, steps, relative));
    } else {
        f->width = ml_it_mul(st, f->width, cur.ext);
    }
    f->taken[f->n_taken++] = cur;
}

static bool same_sum(ml_ItState *st, const ml_ItSum *a, const ml_ItSum *b)
{
    if (a->n != b->n)
        return false;
    for (size_t k = 0; k < a->n; k++)
        if (!ml_it_same_digit(st, &a->v[k], &b->v[k]) ||
            !ml_it_eq(st, a->v[k].scale, b->v[k].scale))
            return false;
    return true;
}

/* The fused mark over these digits (outermost first); equal lists give one mark. */
static ml_ItMark *fused(ml_ItState *st, ml_ItSum list, ml_ItVal extent)
{
    for (size_t k = st->n_inputs; k < st->marks.n; k++)
        if (st->marks.v[k]->kind == ML_IT_FUSED &&
            same_sum(st, &st->marks.v[k]->sum, &list))
            return st->marks.v[k];
    ml_ItMark *m = ml_it_mark(st, ML_IT_FUSED);
    m->sum = list;
    m->extent = extent;
    return m;
}

/* Puts a unit digit where its scale belongs; it contributes nothing, wherever it stands. */
static void insert_unit(ml_ItState *st, ml_ItSum *list, ml_ItDigit u, ml_ItVal s0)
{
    ml_ItVal one = ml_it_lit(1);

    u.scale = !u.scale.e && !s0.e && ml_it_divides(st, s0, u.scale) && u.scale.i / s0.i > 0
                  ? ml_it_div(st, u.scale, s0)
                  : one;
    size_t at = 0;
    /* Inside the digits of its own scale: there a unit digit is taken first (4.5, step 3).
     */
    while (at < list->n && (list->v[at].scale.e || list->v[at].scale.i >= u.scale.i))
        at++;
    ml_push(st->cx, list, u);
    for (size_t k = list->n - 1; k > at; k--)
        list->v[k] = list->v[k - 1];
    list->v[at] = u;
}

bool ml_it_fuse(ml_ItState *st, ml_ItSum *s, bool drop_units, const ml_Expr *at)
{
    size_t n_units = 0, base;

    if (s->n >= 2)
        ml_it_combine(st, s);
    for (size_t k = 0; k < s->n; k++)
        n_units += ml_it_is_unit(&s->v[k]);
    if (s->n <= 1 && n_units == 0 && (s->n == 0 || st->constraints.n == 0))
        return !st->failed;
    if (drop_units && n_units == s->n) {
        s->n = 0;
        return !st->failed;
    }
    if (n_units == 1 && s->n == 1)
        return !st->failed;

    Fuse f = {.st = st, .sum = s, .width = ml_it_lit(1), .s0 = ml_it_lit(1)};
    ml_ItDigit *units = n_units ? ML_ARRAY(st->cx, ml_ItDigit, n_units) : NULL;
    f.d = ML_ARRAY(st->cx, ml_ItDigit, s->n);
    f.taken = ML_ARRAY(st->cx, ml_ItDigit, s->n);
    f.used = ML_ARRAY(st->cx, bool, s->n);
    n_units = 0;
    for (size_t k = 0; k < s->n; k++) {
        if (ml_it_is_unit(&s->v[k]))
            units[n_units++] = s->v[k];
        else
            f.d[f.n++] = s->v[k];
    }
    if (f.n) {
        bool overlap = false;
        if (!pick_base(&f, &base))
            return ml_it_fail(st, ML_ITER_FAIL_NORMALISE, at);
        f.s0 = f.d[base].scale;
        take(&f, base, false);
        for (;;) {
            size_t left = 0;
            for (size_t k = 0; k < f.n; k++)
                left += !f.used[k];
            if (left == 0 || st->failed)
                break;
            size_t next = pick_next(&f, &overlap);
            if (next == f.n)
                return ml_it_fail(st, ML_ITER_FAIL_NORMALISE, at);
            take(&f, next, overlap);
        }
    }
    s->n = 0;
    if (drop_units)
        n_units = 0;
    if (f.n_taken + n_units == 0)
        return !st->failed;
    if (f.n_taken + n_units == 1) {
        ml_ItDigit d = f.n_taken ? f.taken[0] : units[0];
        if (f.n_taken)
            d.scale = f.s0;
        ml_push(st->cx, s, d);
        return !st->failed;
    }
    ml_ItSum list = {0};
    for (size_t k = f.n_taken; k-- > 0;)
        ml_push(st->cx, &list, f.taken[k]);
    for (size_t k = 0; k < n_units; k++)
        insert_unit(st, &list, units[k], f.s0);
    ml_push(st->cx, s, ml_it_whole(fused(st, list, f.width), f.s0));
    return !st->failed;
}

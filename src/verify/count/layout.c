/*
 * layout - the counters of the loops around a place as independent digits, and what the
 * conditions there say of them. A counter is cut wherever a form looks at a part of it; a
 * number of trips that is no multiple of the cut becomes one more condition.
 */
#include "moonloop/verify/count/counts_impl.h"

enum { MAX_CUTS = 8, MOST_POINTS = 4096 };

typedef struct Cuts {
    uint32_t axis, n;
    int64_t at[MAX_CUTS]; /* increasing, the first is 1 */
    uint32_t first;       /* digit */
} Cuts;

typedef struct Make {
    ml_Sites *s;
    Cuts cuts[ML_MAX_DIGITS];
    uint32_t n_cuts;
    ml_Digit digit[ML_MAX_DIGITS];
    uint32_t n;
    bool failed;
} Make;

static void add_axis(Make *m, uint32_t axis)
{
    for (uint32_t k = 0; k < m->n_cuts; k++)
        if (m->cuts[k].axis == axis)
            return;
    if (m->n_cuts == ML_MAX_DIGITS) {
        m->failed = true;
        return;
    }
    m->cuts[m->n_cuts++] = (Cuts){.axis = axis, .n = 1, .at = {1}};
}

static Cuts *cuts_of(Make *m, uint32_t axis)
{
    for (uint32_t k = 0; k < m->n_cuts; k++)
        if (m->cuts[k].axis == axis)
            return &m->cuts[k];
    return NULL;
}

static void cut_at(Make *m, Cuts *c, int64_t at)
{
    uint32_t k = 0;

    while (k < c->n && c->at[k] < at)
        k++;
    if (k < c->n && c->at[k] == at)
        return;
    if (c->n == MAX_CUTS) {
        m->failed = true;
        return;
    }
    memmove(&c->at[k + 1], &c->at[k], (c->n++ - k) * sizeof c->at[0]);
    c->at[k] = at;
}

/* The axes and cuts that a form asks for. */
static void cut_for(Make *m, const ml_Linear *f)
{
    for (uint32_t k = 0; f->ok && k < f->n; k++) {
        const ml_Atom *a = &f->v[k];

        if (a->size)
            continue;
        const ml_Axis *x = &m->s->env.axes.v[a->axis];

        if (x->depth == ML_INNER)
            add_axis(m, a->axis);
        Cuts *c = cuts_of(m, a->axis);

        if (!c) { /* of a loop that is no longer around: a name that outlived it */
            m->failed = true;
            return;
        }
        cut_at(m, c, a->lo);
        int64_t end;

        if (a->ext != ML_OPEN &&
            (x->trips == ML_OPEN ||
             (!__builtin_mul_overflow(a->lo, a->ext, &end) && end < x->trips)))
            cut_at(m, c, a->lo * a->ext);
    }
}

static void make_digits(Make *m, Cuts *c)
{
    const ml_Axis *x = &m->s->env.axes.v[c->axis];
    ml_Ctx *cx = m->s->cx;

    c->first = m->n;
    for (uint32_t k = 0; k < c->n; k++) {
        ml_Digit d = {.axis = c->axis, .depth = x->depth, .lo = c->at[k]};

        if (k + 1 < c->n) {
            m->failed |= c->at[k + 1] % c->at[k] != 0;
            d.ext = c->at[k + 1] / c->at[k];
        } else if (x->trips != ML_OPEN)
            d.ext = x->trips / d.lo + (x->trips % d.lo != 0);
        else {
            d.ext = ML_OPEN;
            d.expr = x->expr;
            if (d.expr && d.lo > 1 && ml_dtype_fits(d.expr->type, d.lo))
                d.expr =
                    ml_floordiv(cx, ml_add(cx, d.expr, ml_int(cx, d.expr->type, d.lo - 1)),
                                ml_int(cx, d.expr->type, d.lo));
        }
        if (m->n == ML_MAX_DIGITS) {
            m->failed = true;
            return;
        }
        m->digit[m->n++] = d;
    }
}

static void make_row(Make *m, const ml_Linear *f, ml_Row *out)
{
    *out = (ml_Row){.base = f->base, .ok = f->ok};
    out->coef = ML_ARRAY(m->s->cx, int64_t, m->n + 1);
    for (uint32_t k = 0; f->ok && k < f->n; k++) {
        const ml_Atom *a = &f->v[k];
        int64_t room = a->ext, times = 1, step;

        if (a->size) {
            out->sized = true;
            continue;
        }
        const Cuts *c = cuts_of(m, a->axis);

        for (uint32_t j = c->first; j < m->n && m->digit[j].axis == a->axis; j++) {
            const ml_Digit *d = &m->digit[j];

            if (d->lo < a->lo || room == 1)
                continue;
            if (__builtin_mul_overflow(a->coef, times, &step) ||
                __builtin_add_overflow(out->coef[j], step, &out->coef[j])) {
                out->ok = false;
                return;
            }
            if (d->ext == ML_OPEN || room == d->ext)
                break;
            if (room != ML_OPEN)
                room = room / d->ext + (room % d->ext != 0);
            if (__builtin_mul_overflow(times, d->ext, &times))
                break;
        }
    }
    for (uint32_t j = 0; j < m->n; j++)
        if (out->coef[j] != 0)
            out->mask |= UINT64_C(1) << j;
}

/* The counter of a cut loop stays below the number of its trips. */
static bool trip_guard(Make *m, const Cuts *c, ml_GuardRow *out)
{
    const ml_Axis *x = &m->s->env.axes.v[c->axis];
    int64_t last = c->at[c->n - 1];

    if (c->n == 1 || (x->trips != ML_OPEN && x->trips % last == 0))
        return false;
    *out = (ml_GuardRow){.lo = INT64_MIN,
                         .hi = x->trips - 1,
                         .depth = x->depth + 1,
                         .known = x->trips != ML_OPEN};
    out->row = (ml_Row){.ok = true, .coef = ML_ARRAY(m->s->cx, int64_t, m->n + 1)};
    for (uint32_t k = 0; k < c->n; k++) {
        out->row.coef[c->first + k] = c->at[k];
        out->row.mask |= UINT64_C(1) << (c->first + k);
    }
    return true;
}

/* Only whole counters: no other form's cuts are in its way. */
static bool is_plain(const ml_LinearEnv *env, const ml_Linear *f)
{
    for (uint32_t k = 0; k < f->n; k++)
        if (!f->v[k].size &&
            (f->v[k].lo != 1 || f->v[k].ext != env->axes.v[f->v[k].axis].trips))
            return false;
    return true;
}

/* Cuts that do not fit together: first the conditions, then the dimensions that ask for any
 * are given up. */
enum { ALL, NO_GUARDS, PLAIN, N_TRIES };

static const ml_Layout *try_layout(ml_Sites *s, const ml_Place *place,
                                   const ml_Linear *dims, uint32_t n, int how)
{
    ml_Layout *out = ML_NEW(s->cx, ml_Layout);
    Make m;
    uint32_t n_guards = 0;

    m.s = s;
    m.n = m.n_cuts = 0;
    m.failed = place->depth >= ML_MAX_DIGITS;
    if (m.failed)
        return out;
    m.n_cuts = place->depth;
    for (uint32_t l = place->loop, k = place->depth; k-- > 0; l = s->loops.v[l].parent)
        m.cuts[k] = (Cuts){.axis = s->loops.v[l].axis, .n = 1, .at = {1}};
    for (uint32_t k = 0; k < n; k++)
        if (how != PLAIN || is_plain(&s->env, &dims[k]))
            cut_for(&m, &dims[k]);
    for (const ml_Guard *g = place->guards; g; g = g->up, n_guards++)
        if (how == ALL || is_plain(&s->env, &g->form))
            cut_for(&m, &g->form);
    for (uint32_t k = 0; k < m.n_cuts && !m.failed; k++)
        make_digits(&m, &m.cuts[k]);
    if (m.failed)
        return out;
    out->ok = true;
    out->n = m.n;
    out->digit = ML_ARRAY(s->cx, ml_Digit, m.n + 1);
    memcpy(out->digit, m.digit, m.n * sizeof m.digit[0]);
    out->n_rows = n;
    out->rows = ML_ARRAY(s->cx, ml_Row, n + 1);
    for (uint32_t k = 0; k < n; k++)
        if (how != PLAIN || is_plain(&s->env, &dims[k]))
            make_row(&m, &dims[k], &out->rows[k]);
    out->guards = ML_ARRAY(s->cx, ml_GuardRow, n_guards + m.n_cuts + 1);
    for (const ml_Guard *g = place->guards; g; g = g->up) {
        ml_GuardRow *r = &out->guards[out->n_guards++];

        *r = (ml_GuardRow){.lo = g->lo,
                           .hi = g->hi,
                           .depth = g->depth,
                           .known = g->known,
                           .repeats = g->repeats};
        if (how == ALL || is_plain(&s->env, &g->form))
            make_row(&m, &g->form, &r->row);
        r->known &= r->row.ok;
    }
    for (uint32_t k = 0; k < m.n_cuts; k++)
        out->n_guards += trip_guard(&m, &m.cuts[k], &out->guards[out->n_guards]);
    return out;
}

const ml_Layout *ml_layout(ml_Sites *s, const ml_Place *place, const ml_Linear *dims,
                           uint32_t n)
{
    const ml_Layout *out = NULL;

    for (int how = ALL; how < N_TRIES; how++)
        if ((out = try_layout(s, place, dims, n, how))->ok)
            break;
    return out;
}

uint64_t ml_relaxed(const ml_Layout *l, uint32_t depth)
{
    uint64_t out = 0;

    for (uint32_t k = 0; k < l->n; k++)
        if (l->digit[k].depth >= depth)
            out |= UINT64_C(1) << k;
    return out;
}

/* ---- bounds */

static int64_t less(int64_t a, int64_t b) /* open ends stay open */
{
    int64_t c;

    if (a == INT64_MIN || a == INT64_MAX)
        return a;
    return __builtin_sub_overflow(a, b, &c) ? (b < 0 ? INT64_MAX : INT64_MIN) : c;
}

/* Least and greatest of what the digits of the mask add; false: not known. */
static bool range_of(const ml_Layout *l, const ml_Row *r, uint64_t mask, int64_t *min,
                     int64_t *max)
{
    *min = *max = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        int64_t step;

        if (!((r->mask & mask) >> k & 1))
            continue;
        if (l->digit[k].ext == ML_OPEN ||
            __builtin_mul_overflow(r->coef[k], l->digit[k].ext - 1, &step) ||
            (step < 0 ? __builtin_add_overflow(*min, step, min)
                      : __builtin_add_overflow(*max, step, max)))
            return false;
    }
    return true;
}

/* Takes digits out of the condition: it then says that some choice of them exists. */
static bool take_out(const ml_Layout *l, ml_GuardRow *g, uint64_t mask)
{
    int64_t min, max;

    if (!range_of(l, &g->row, mask, &min, &max))
        return false;
    g->lo = less(g->lo, max);
    g->hi = less(g->hi, min);
    g->row.mask &= ~mask;
    return true;
}

/* Whether both are about the same sum of the digits in their masks; -1: about the opposite
 * one. */
static int same_sum(const ml_Layout *l, const ml_Row *a, const ml_Row *b)
{
    int sign = 0;

    if (a->mask != b->mask)
        return 0;
    for (uint32_t k = 0; k < l->n; k++) {
        if (!(a->mask >> k & 1))
            continue;
        if (a->coef[k] == b->coef[k] && sign >= 0)
            sign = 1;
        else if (a->coef[k] == -b->coef[k] && sign <= 0)
            sign = -1;
        else
            return 0;
    }
    return sign;
}

static void add_bound(const ml_Layout *l, ml_Bounds *out, const ml_GuardRow *g)
{
    for (uint32_t k = 0; k < out->n; k++) {
        ml_GuardRow *have = &out->v[k];
        int sign = have->open ? 0 : same_sum(l, &have->row, &g->row);
        int64_t lo = sign > 0 ? g->lo : g->hi == INT64_MAX ? INT64_MIN : -g->hi;
        int64_t hi = sign > 0 ? g->hi : g->lo == INT64_MIN ? INT64_MAX : -g->lo;

        if (sign == 0)
            continue;
        have->lo = lo > have->lo ? lo : have->lo;
        have->hi = hi < have->hi ? hi : have->hi;
        out->never |= have->lo > have->hi;
        return;
    }
    if (out->n == ML_COUNT(out->v))
        out->most = true;
    else
        out->v[out->n++] = *g;
}

/* A condition in which the loops around have a say: kept as far as it says something of the
 * others wherever those stand. Whether some choice of the others always satisfies it is
 * found out where it has but one end. */
static void add_open(const ml_Layout *l, uint64_t in, ml_Bounds *out, const ml_GuardRow *g)
{
    int64_t min, max, out_min, out_max, room;
    ml_GuardRow r = *g;

    if (out->n_open == ML_COUNT(out->open) || out->n == ML_COUNT(out->v) ||
        !range_of(l, &g->row, in, &min, &max) ||
        !range_of(l, &g->row, ~in, &out_min, &out_max)) {
        out->most = true;
        return;
    }
    ml_OpenBound *o = &out->open[out->n_open++];

    *o = (ml_OpenBound){.mask = g->row.mask & in};
    if (g->lo == INT64_MIN)
        o->always = !__builtin_add_overflow(min, out_max, &room) && room <= g->hi;
    else if (g->hi == INT64_MAX)
        o->always = !__builtin_add_overflow(max, out_min, &room) && room >= g->lo;
    take_out(l, &r, ~in);
    if (min >= r.lo && max <= r.hi)
        return;
    r.open = out->n_open;
    out->v[out->n++] = r;
}

void ml_bounds_of(const ml_Layout *l, uint32_t depth, ml_Bounds *out)
{
    uint64_t in = ml_relaxed(l, depth);

    out->never = out->most = out->unknown = false;
    out->n = out->n_open = 0;
    for (uint32_t k = 0; k < l->n_guards; k++) {
        ml_GuardRow g = l->guards[k];
        int64_t min, max;

        if (g.depth <= depth && !(depth == 0 && g.depth == 0))
            continue; /* holds, or the loop is not reached */
        out->unknown |= g.repeats;
        if (!g.known || g.repeats) {
            out->most = true;
            continue;
        }
        g.lo = less(g.lo, g.row.base);
        g.hi = less(g.hi, g.row.base);
        g.row.base = 0;
        if (g.hi == INT64_MIN || g.lo == INT64_MAX) { /* beyond all integers */
            out->never = true;
            return;
        }
        if (g.row.sized || !range_of(l, &g.row, UINT64_MAX, &min, &max)) {
            out->most = true;
            continue;
        }
        if (max < g.lo || min > g.hi) {
            out->never = true;
            return;
        }
        if (min >= g.lo && max <= g.hi)
            continue;
        if (g.row.mask & ~in) { /* where the loops around stand has a say */
            add_open(l, in, out, &g);
            continue;
        }
        add_bound(l, out, &g);
    }
}

/* Whether a condition of its own is about these digits too. */
static bool is_shared(const ml_Bounds *b, uint32_t open)
{
    uint64_t mask = b->open[open].mask;

    for (uint32_t k = 0; k < b->n; k++)
        if (b->v[k].open != open + 1 && b->v[k].row.mask & mask)
            return true;
    for (uint32_t k = 0; k < b->n_open; k++)
        if (k != open && b->open[k].mask & mask)
            return true;
    return false;
}

void ml_bounds_project(const ml_Layout *l, uint64_t keep, ml_Bounds *b)
{
    uint32_t n = 0;

    /* What is asked of digits that do not count must only be possible. */
    for (uint32_t k = 0; k < b->n_open; k++)
        b->most |= b->open[k].mask & keep || !b->open[k].always || is_shared(b, k);

    for (uint32_t k = 0; k < b->n; k++) {
        ml_GuardRow *g = &b->v[k];
        uint64_t away = g->row.mask & ~keep, others = 0;
        int64_t min, max;

        for (uint32_t j = 0; j < b->n; j++)
            if (j != k)
                others |= b->v[j].row.mask;
        if (away & others)
            b->most = true;
        for (uint64_t left = away; left;) { /* the smallest factors first */
            uint32_t at = 0;
            int64_t least = INT64_MAX, width;

            for (uint32_t j = 0; j < l->n; j++)
                if (left >> j & 1) {
                    int64_t c = g->row.coef[j] < 0 ? -g->row.coef[j] : g->row.coef[j];

                    if (c <= least) {
                        least = c;
                        at = j;
                    }
                }
            /* Two ends leave no gap while a step is not longer than what lies between. */
            if (g->lo != INT64_MIN && g->hi != INT64_MAX &&
                !__builtin_sub_overflow(g->hi, g->lo, &width) && width < least - 1)
                b->most = true;
            take_out(l, g, UINT64_C(1) << at);
            left &= ~(UINT64_C(1) << at);
        }
        if (!range_of(l, &g->row, UINT64_MAX, &min, &max)) {
            b->most = true;
            continue;
        }
        b->never |= max < g->lo || min > g->hi;
        if (min < g->lo || max > g->hi)
            b->v[n++] = *g;
    }
    b->n = n;
}

uint64_t ml_component(const ml_Layout *l, const ml_Bounds *b, uint64_t mask, bool rows)
{
    uint64_t out = mask & -mask, before;

    do {
        before = out;
        for (uint32_t k = 0; rows && k < l->n_rows; k++)
            if (l->rows[k].ok && (l->rows[k].mask & out & mask))
                out |= l->rows[k].mask & mask;
        for (uint32_t k = 0; k < b->n; k++)
            if (b->v[k].row.mask & out)
                out |= b->v[k].row.mask & mask;
    } while (out != before);
    return out;
}

/* ---- how often */

static void sum_of(const ml_Layout *l, const ml_Row *r, uint64_t mask, ml_Sum1 *out)
{
    out->n = 0;
    for (uint32_t k = 0; k < l->n; k++)
        if (mask >> k & 1) {
            out->c[out->n] = r ? r->coef[k] : 1;
            out->e[out->n++] = l->digit[k].ext;
        }
}

/* All choices of the digits in `mask` that the bounds on them allow, one by one. */
static int64_t by_points(const ml_Layout *l, const ml_Bounds *b, uint64_t mask)
{
    int64_t at[ML_MAX_DIGITS] = {0}, n = 0;
    uint32_t k;

    do {
        bool ok = true;

        for (uint32_t g = 0; g < b->n && ok; g++) {
            int64_t v = 0;

            if (!(b->v[g].row.mask & mask))
                continue;
            for (k = 0; k < l->n; k++)
                if (b->v[g].row.mask >> k & 1)
                    v += b->v[g].row.coef[k] * at[k];
            ok = v >= b->v[g].lo && v <= b->v[g].hi;
        }
        n += ok;
        for (k = 0; k < l->n; k++) {
            if (!(mask >> k & 1))
                continue;
            if (++at[k] < l->digit[k].ext)
                break;
            at[k] = 0;
        }
    } while (k < l->n);
    return n;
}

static ml_Number bounded_ways(ml_Sites *s, const ml_Layout *l, const ml_Bounds *b,
                              uint64_t c)
{
    ml_Number best = ml_number_unknown();
    uint32_t n = 0;
    ml_Sum1 sum;
    int64_t all, ways;

    sum_of(l, NULL, c, &sum);
    if (!ml_sum1_ways(&sum, &all))
        return best;
    best = ml_number_at_most(ml_number(all));
    for (uint32_t k = 0; k < b->n; k++)
        n += (b->v[k].row.mask & c) != 0;
    if (n > 1 && all <= MOST_POINTS && s->budget > all) {
        s->budget -= all;
        return ml_number(by_points(l, b, c));
    }
    for (uint32_t k = 0; k < b->n; k++) {
        if (!(b->v[k].row.mask & c))
            continue;
        sum_of(l, &b->v[k].row, c, &sum);
        for (uint32_t j = 0, at = 0; j < l->n; j++)
            if (c >> j & 1) {
                sum.c[at] = b->v[k].row.mask >> j & 1 ? sum.c[at] : 0;
                at++;
            }
        int64_t left = s->budget < MOST_POINTS ? s->budget : MOST_POINTS, was = left;

        if (ml_sum1_between(&sum, b->v[k].lo, b->v[k].hi, &left, &ways))
            best = n == 1 ? ml_number(ways)
                          : ml_number_min(best, ml_number_at_most(ml_number(ways)));
        s->budget -= was - (left > 0 ? left : 0);
    }
    return best;
}

ml_Number ml_bounded_ways(ml_Sites *s, const ml_Layout *l, const ml_Bounds *b,
                          uint64_t mask)
{
    ml_Number n = ml_number(1);

    for (uint64_t left = mask; left;) {
        uint64_t c = ml_component(l, b, left, false);
        uint32_t k = (uint32_t)__builtin_ctzll(c);

        left &= ~c;
        if (!(c & (c - 1)) && l->digit[k].ext == ML_OPEN) {
            n = ml_number_mul(s->cx, n, ml_number_of(s->cx, l->digit[k].expr));
            continue;
        }
        bool free = true;

        for (uint32_t j = 0; j < b->n && free; j++)
            free = !(b->v[j].row.mask & c);
        n = ml_number_mul(s->cx, n,
                          free ? ml_number(l->digit[k].ext) : bounded_ways(s, l, b, c));
    }
    return n;
}

ml_Number ml_place_ways(ml_Sites *s, ml_Place *p, uint32_t depth)
{
    ml_Bounds b;
    ml_Number n;

    if (p->asked == depth + 1)
        return p->ways;
    if (!p->layout)
        p->layout = ml_layout(s, p, NULL, 0);
    if (!p->layout->ok)
        n = ml_number_unknown();
    else {
        ml_bounds_of(p->layout, depth, &b);
        if (b.never)
            n = ml_number(0);
        else if (b.unknown)
            n = ml_number_unknown();
        else {
            n = ml_bounded_ways(s, p->layout, &b, ml_relaxed(p->layout, depth));
            if (b.most || b.n_open > 0)
                n = ml_number_at_most(n);
        }
    }
    p->asked = depth + 1;
    p->ways = n;
    return n;
}

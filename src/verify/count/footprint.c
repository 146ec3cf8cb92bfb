/*
 * footprint - the distinct elements of a buffer that some accesses touch while loops run.
 *
 * Dimensions that share no digit (nor a condition on one) are independent: their numbers of
 * values multiply. Those that share some are put into one sum, each beside the other. Where
 * every dimension runs through an interval the access is a box; the boxes of several
 * accesses are united exactly. Everything else that meets is an upper bound.
 * Source: interaction 8.
 */
#include <stdlib.h>

#include "moonloop/verify/count/counts_impl.h"

enum { MAX_RANK = 16, MAX_SETS = 16, MAX_CELLS = 4096, MOST_POINTS = 4096 };

/* What one access touches. */
typedef struct Set {
    const ml_SiteAt *at;
    ml_Number n;
    bool box;             /* lo..hi hold exactly, apart from what stands still */
    bool hull;            /* lo..hi hold all of it */
    int64_t lo[MAX_RANK]; /* beside what stands still */
    int64_t hi[MAX_RANK];
} Set;

typedef struct One { /* at work on one access */
    ml_Sites *s;
    const ml_Layout *l;
    uint32_t depth;
    uint64_t in; /* relaxed digits */
    ml_Bounds b;
    Set *out;
    bool most;
} One;

static ml_Number dim_size(One *o, uint32_t d)
{
    return ml_number_of(o->s->cx, o->out->at->site.buffer->shape[d]);
}

/* The form of dimension d in the relaxed digits of a mask. */
static void sum_in(const ml_Layout *l, const ml_Row *r, uint64_t mask, ml_Sum1 *out)
{
    out->n = 0;
    for (uint32_t k = 0; k < l->n; k++)
        if ((mask & r->mask) >> k & 1) {
            out->c[out->n] = r->coef[k];
            out->e[out->n++] = l->digit[k].ext;
        }
}

/* The bound that is about this very form, to one side or the other; 0: it is not. */
static int about(const ml_Layout *l, const ml_Row *dim, uint64_t in, const ml_Row *g)
{
    int sign = 0;

    if ((dim->mask & in) != g->mask)
        return 0;
    for (uint32_t k = 0; k < l->n; k++) {
        if (!(g->mask >> k & 1))
            continue;
        int here = dim->coef[k] == g->coef[k] ? 1 : dim->coef[k] == -g->coef[k] ? -1 : 0;

        if (here == 0 || (sign != 0 && here != sign))
            return 0;
        sign = here;
    }
    return sign;
}

/* One dimension alone: an interval stays one under bounds on itself. */
static bool interval(One *o, uint32_t d, uint64_t c, const ml_Values *v)
{
    const ml_Row *r = &o->l->rows[d];
    int64_t lo = o->out->lo[d], hi = o->out->hi[d], base = r->base;

    if (!v->contiguous)
        return false;
    for (uint32_t k = 0; k < o->b.n; k++) {
        const ml_GuardRow *g = &o->b.v[k];
        int sign;

        if (!(g->row.mask & c))
            continue;
        if ((sign = about(o->l, r, o->in, &g->row)) == 0)
            return false;
        int64_t from = sign > 0 ? g->lo : g->hi == INT64_MAX ? INT64_MIN : -g->hi;
        int64_t to = sign > 0 ? g->hi : g->lo == INT64_MIN ? INT64_MAX : -g->lo;

        if (from != INT64_MIN && !__builtin_add_overflow(from, base, &from) && from > lo)
            lo = from;
        if (to != INT64_MAX && !__builtin_add_overflow(to, base, &to) && to < hi)
            hi = to;
    }
    o->out->lo[d] = lo;
    o->out->hi[d] = hi;
    return true;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Looks at every choice of the digits of c: the values of the sum that bounds allow. */
static int64_t by_points(One *o, uint64_t c, const int64_t *coef)
{
    const ml_Layout *l = o->l;
    int64_t at[ML_MAX_DIGITS] = {0}, seen[MOST_POINTS], n = 0, distinct = 0;
    uint32_t k;

    do {
        bool ok = true;
        int64_t v = 0;

        for (uint32_t g = 0; g < o->b.n && ok; g++) {
            int64_t x = 0;

            for (k = 0; k < l->n; k++)
                if ((o->b.v[g].row.mask & c) >> k & 1)
                    x += o->b.v[g].row.coef[k] * at[k];
            ok = !(o->b.v[g].row.mask & c) || (x >= o->b.v[g].lo && x <= o->b.v[g].hi);
        }
        for (k = 0; k < l->n; k++)
            v += coef[k] * at[k];
        if (ok)
            seen[n++] = v;
        for (k = 0; k < l->n; k++) {
            if (!(c >> k & 1))
                continue;
            if (++at[k] < l->digit[k].ext)
                break;
            at[k] = 0;
        }
    } while (k < l->n);
    qsort(seen, (size_t)n, sizeof seen[0], by_value);
    for (int64_t j = 0; j < n; j++)
        distinct += j == 0 || seen[j] != seen[j - 1];
    return distinct;
}

/* All dimensions of a component in one sum: each is as wide as its values reach. */
static bool flatten(One *o, uint64_t c, int64_t *coef)
{
    int64_t wide = 1;

    memset(coef, 0, ML_MAX_DIGITS * sizeof *coef);
    for (uint32_t d = o->l->n_rows; d-- > 0;) {
        const ml_Row *r = &o->l->rows[d];
        int64_t step, span;

        if (!r->ok || !(r->mask & c & o->in))
            continue;
        for (uint32_t k = 0; k < o->l->n; k++)
            if ((r->mask & c) >> k & 1 &&
                (__builtin_mul_overflow(r->coef[k], wide, &step) ||
                 __builtin_add_overflow(coef[k], step, &coef[k])))
                return false;
        if (__builtin_sub_overflow(o->out->hi[d], o->out->lo[d], &span) ||
            __builtin_add_overflow(span, 1, &span) ||
            __builtin_mul_overflow(wide, span, &wide))
            return false;
    }
    return true;
}

static ml_Number shared(One *o, uint64_t c, bool bounded)
{
    ml_Sites *s = o->s;
    int64_t coef[ML_MAX_DIGITS], all;
    ml_Sum1 sum = {.n = 0};
    ml_Values v;

    if (!flatten(o, c, coef))
        return ml_number_unknown();
    for (uint32_t k = 0; k < o->l->n; k++)
        if (c >> k & 1) {
            sum.c[sum.n] = coef[k];
            sum.e[sum.n++] = o->l->digit[k].ext;
        }
    if (!ml_sum1_values(&sum, &v))
        return ml_number_unknown();
    bool counted = ml_sum1_ways(&sum, &all);
    ml_Number most = v.exact ? ml_number(v.n) : ml_number_at_most(ml_number(v.n));

    if (!bounded && v.exact)
        return most;
    if (bounded && v.exact && counted && v.n == all) { /* each choice is another element */
        ml_Number n = ml_bounded_ways(s, o->l, &o->b, c);

        if (n.how == ML_EXACT)
            return n;
        most = ml_number_min(ml_number_at_most(most), n);
    }
    if (counted && all <= MOST_POINTS && s->budget > all) {
        s->budget -= all;
        return ml_number(by_points(o, c, coef));
    }
    return ml_number_at_most(most);
}

/* A digit of which only the size is known stands alone or not at all. */
static bool has_open(const ml_Layout *l, uint64_t c)
{
    for (uint32_t k = 0; k < l->n; k++)
        if (c >> k & 1 && l->digit[k].ext == ML_OPEN)
            return true;
    return false;
}

static ml_Number open_component(One *o, uint64_t c)
{
    ml_Number n = ml_number(1);
    uint32_t rows = 0, k = (uint32_t)__builtin_ctzll(c);
    bool bounded = false;

    for (uint32_t j = 0; j < o->b.n; j++)
        bounded |= (o->b.v[j].row.mask & c) != 0;
    for (uint32_t d = 0; d < o->l->n_rows; d++)
        if (o->l->rows[d].ok && o->l->rows[d].mask & c) {
            rows++;
            n = ml_number_mul(o->s->cx, n, dim_size(o, d));
        }
    o->out->hull = false;
    if (!(c & (c - 1)) && !bounded)
        return ml_number_of(o->s->cx, o->l->digit[k].expr);
    /* Wherever it lies, it lies in the buffer. */
    return ml_number_at_most(n);
}

static ml_Number component(One *o, uint64_t c)
{
    const ml_Layout *l = o->l;
    uint32_t rows = 0, only = 0;
    bool bounded = false;
    ml_Values v;
    ml_Sum1 sum;

    if (has_open(l, c)) {
        o->out->box = false;
        return open_component(o, c);
    }
    for (uint32_t d = 0; d < l->n_rows; d++)
        if (l->rows[d].ok && l->rows[d].mask & c & o->in) {
            rows++;
            only = d;
        }
    for (uint32_t k = 0; k < o->b.n; k++)
        bounded |= (o->b.v[k].row.mask & c) != 0;
    if (rows == 1) {
        sum_in(l, &l->rows[only], o->in, &sum);
        if (!ml_sum1_values(&sum, &v)) {
            o->out->box = false;
            return ml_number_unknown();
        }
        if (interval(o, only, c, &v)) {
            int64_t lo = o->out->lo[only], hi = o->out->hi[only];

            return ml_number(hi < lo ? 0 : hi - lo + 1);
        }
    }
    o->out->box = false;
    return shared(o, c, bounded);
}

/* Bounds of each dimension beside what stands still; false: not known. */
static void hulls(One *o)
{
    ml_Sum1 sum;

    for (uint32_t d = 0; d < o->l->n_rows; d++) {
        const ml_Row *r = &o->l->rows[d];
        int64_t min, max;

        o->out->lo[d] = o->out->hi[d] = 0;
        if (!r->ok || has_open(o->l, r->mask & o->in)) {
            o->out->hull = o->out->box = false;
            continue;
        }
        sum_in(o->l, r, o->in, &sum);
        if (!ml_sum1_range(&sum, &min, &max) ||
            __builtin_add_overflow(min, r->base, &o->out->lo[d]) ||
            __builtin_add_overflow(max, r->base, &o->out->hi[d]))
            o->out->hull = o->out->box = false;
    }
}

/* Loops at that depth or below it. */
static uint64_t deps_from(uint32_t depth)
{
    return depth >= 63 ? UINT64_C(1) << 63 : ~(ml_depth_bit(depth) - 1);
}

static void set_of(ml_Sites *s, const ml_SiteAt *at, uint32_t depth, Set *out)
{
    One o = {.s = s, .l = at->layout, .depth = depth, .out = out};
    uint64_t used = 0;
    bool vague = false;
    ml_Number ways = ml_place_ways(s, at->place, depth);

    *out = (Set){.at = at, .n = ml_number(1), .box = true, .hull = true};
    if (!o.l->ok || o.l->n_rows > MAX_RANK) {
        out->box = out->hull = false;
        for (uint32_t d = 0; d < at->site.buffer->rank; d++)
            out->n = ml_number_mul(s->cx, out->n, dim_size(&o, d));
        out->n = ml_number_at_most(out->n);
        return;
    }
    o.in = ml_relaxed(o.l, depth);
    ml_bounds_of(o.l, depth, &o.b);
    for (uint32_t d = 0; d < o.l->n_rows; d++)
        if (o.l->rows[d].ok)
            used |= o.l->rows[d].mask & o.in;
    if (!o.b.never)
        ml_bounds_project(o.l, used, &o.b);
    if (o.b.never) {
        out->n = ml_number(0);
        return;
    }
    hulls(&o);
    for (uint32_t d = 0; d < o.l->n_rows; d++) {
        if (o.l->rows[d].ok)
            continue;
        out->box = out->hull = false;
        if (!(at->dims[d].deps & deps_from(depth)))
            continue; /* one place, wherever it is */
        vague = true;
        out->n = ml_number_mul(s->cx, out->n, dim_size(&o, d));
    }
    for (uint64_t left = used; left;) {
        uint64_t c = ml_component(o.l, &o.b, left, true);

        left &= ~c;
        out->n = ml_number_mul(s->cx, out->n, component(&o, c));
    }
    if (vague || o.b.most || at->site.declared) {
        out->n = ml_number_at_most(out->n);
        if (!at->site.declared && ways.how != ML_UNKNOWN && !ways.expr)
            out->n = ml_number_min(out->n, ml_number_mul(s->cx, ml_number_at_most(ways),
                                                         ml_number(at->lanes)));
    }
    if (out->n.how != ML_EXACT || out->n.expr)
        out->box = false;
}

/* ---- several accesses */

static bool standing(const ml_Sites *s, const ml_Atom *a, uint32_t depth)
{
    return a->size || s->env.axes.v[a->axis].depth < depth;
}

/* Whether dimension d of both stands at the same place for the loops around: apart from a
 * number. */
static bool same_outside(const ml_Sites *s, const ml_Linear *a, const ml_Linear *b,
                         uint32_t depth)
{
    uint32_t i = 0, j = 0;

    if (!a->ok || !b->ok)
        return false;
    for (;; i++, j++) {
        while (i < a->n && !standing(s, &a->v[i], depth))
            i++;
        while (j < b->n && !standing(s, &b->v[j], depth))
            j++;
        if (i == a->n || j == b->n)
            return i == a->n && j == b->n;
        const ml_Atom *x = &a->v[i], *y = &b->v[j];

        if (x->axis != y->axis || x->size != y->size || x->lo != y->lo ||
            x->ext != y->ext || x->coef != y->coef)
            return false;
    }
}

static bool comparable(const ml_Sites *s, const Set *a, const Set *b, uint32_t depth)
{
    for (uint32_t d = 0; d < a->at->site.buffer->rank; d++)
        if (!same_outside(s, &a->at->dims[d], &b->at->dims[d], depth))
            return false;
    return true;
}

static bool same_form(const ml_Linear *a, const ml_Linear *b)
{
    if (!a->ok || !b->ok || a->base != b->base || a->n != b->n)
        return false;
    for (uint32_t k = 0; k < a->n; k++) {
        const ml_Atom *x = &a->v[k], *y = &b->v[k];

        if (x->axis != y->axis || x->size != y->size || x->lo != y->lo ||
            x->ext != y->ext || x->coef != y->coef)
            return false;
    }
    return true;
}

/* Guards of a that lie under the loop of that depth. */
static const ml_Guard *guards_below(const ml_SiteAt *at, uint32_t depth)
{
    const ml_Guard *g = at->place->guards;

    return g && g->depth > depth ? g : NULL;
}

/* b touches nothing that a does not: for the choices of loops are the same, and a has no
 * conditions but those that b has too. */
static bool inside(const Set *a, const Set *b, uint32_t depth)
{
    const ml_Guard *g = guards_below(a->at, depth), *h = guards_below(b->at, depth);

    if (a->at->site.declared != b->at->site.declared && a->at->site.declared)
        return false;
    if (a->at->lanes != b->at->lanes)
        return false;
    for (uint32_t d = 0; d < a->at->site.buffer->rank; d++)
        if (!same_form(&a->at->dims[d], &b->at->dims[d]))
            return false;
    while (h && h != g)
        h = h->depth > depth ? h->up : NULL;
    return h == g;
}

typedef struct Union {
    uint32_t rank;
    const Set *v[MAX_SETS];
    uint32_t n;
    int64_t cut[MAX_RANK][2 * MAX_SETS];
    uint32_t n_cuts[MAX_RANK];
} Union;

static bool add_cut(Union *u, uint32_t d, int64_t at)
{
    uint32_t k = 0, n = u->n_cuts[d];

    while (k < n && u->cut[d][k] < at)
        k++;
    if (k < n && u->cut[d][k] == at)
        return true;
    memmove(&u->cut[d][k + 1], &u->cut[d][k], (n - k) * sizeof at);
    u->cut[d][k] = at;
    u->n_cuts[d]++;
    return true;
}

/* Elements of the boxes together; only: of those that hold exactly. false: too many. */
static bool united(Union *u, bool only, int64_t *out)
{
    uint32_t at[MAX_RANK] = {0}, d;
    int64_t cells = 1;

    memset(u->n_cuts, 0, sizeof u->n_cuts);
    for (uint32_t k = 0; k < u->n; k++)
        for (d = 0; d < u->rank; d++) {
            if (u->v[k]->hi[d] == INT64_MAX)
                return false;
            add_cut(u, d, u->v[k]->lo[d]);
            add_cut(u, d, u->v[k]->hi[d] + 1);
        }
    for (d = 0; d < u->rank; d++)
        if (__builtin_mul_overflow(cells, u->n_cuts[d], &cells) || cells > MAX_CELLS)
            return false;
    *out = 0;
    do {
        int64_t size = 1;
        bool in = false;

        for (d = 0; d < u->rank; d++) {
            int64_t w =
                at[d] + 1 < u->n_cuts[d] ? u->cut[d][at[d] + 1] - u->cut[d][at[d]] : 0;

            if (__builtin_mul_overflow(size, w, &size))
                return false;
        }
        for (uint32_t k = 0; k < u->n && !in && size > 0; k++) {
            in = !only || u->v[k]->box;
            for (d = 0; d < u->rank && in; d++)
                in = u->v[k]->lo[d] <= u->cut[d][at[d]] &&
                     u->cut[d][at[d]] <= u->v[k]->hi[d];
        }
        if (in && __builtin_add_overflow(*out, size, out))
            return false;
        for (d = 0; d < u->rank && ++at[d] >= u->n_cuts[d]; d++)
            at[d] = 0;
    } while (d < u->rank);
    return true;
}

static ml_Number whole(ml_Sites *s, const ml_Buffer *b)
{
    ml_Number n = ml_number(1);

    for (uint32_t d = 0; d < b->rank; d++)
        n = ml_number_mul(s->cx, n, ml_number_of(s->cx, b->shape[d]));
    return n;
}

/* Never more than there is. */
static ml_Number within(ml_Number n, ml_Number all)
{
    if (n.how == ML_EXACT && (n.expr || all.expr || all.how == ML_UNKNOWN || n.n <= all.n))
        return n;
    return ml_number_min(ml_number_at_most(n), ml_number_at_most(all));
}

static ml_Number join(ml_Sites *s, const ml_Buffer *b, Set *sets, uint32_t n,
                      uint32_t depth)
{
    Union u = {.rank = b->rank};
    ml_Number sum = ml_number(0), largest = ml_number(0);
    bool boxes = b->rank <= MAX_RANK && b->rank > 0;
    int64_t most, least;

    for (uint32_t k = 0; k < n; k++) {
        sum = ml_number_add(s->cx, sum, sets[k].n);
        if (sets[k].n.how == ML_EXACT && !sets[k].n.expr && sets[k].n.n > largest.n)
            largest = sets[k].n;
        boxes = boxes && sets[k].hull && comparable(s, &sets[0], &sets[k], depth);
        u.v[u.n++] = &sets[k];
    }
    sum = ml_number_at_most(sum);
    if (!boxes || !united(&u, false, &most))
        return sum;
    if (united(&u, true, &least) && (least == most || largest.n == most))
        return ml_number(most);
    return ml_number_min(sum, ml_number_at_most(ml_number(most)));
}

ml_Number ml_elements(ml_Sites *s, const ml_Buffer *b, const ml_SiteAt *const *v, size_t n,
                      uint32_t depth)
{
    Set *sets = ML_ARRAY(s->cx, Set, MAX_SETS);
    ml_Number all = whole(s, b);
    uint32_t kept = 0;

    if (b->rank == 0)
        all = ml_number(1);
    for (size_t k = 0; k < n; k++) {
        Set one = {.at = v[k]};
        bool known = false;

        for (uint32_t j = 0; j < kept && !known; j++)
            known = inside(&sets[j], &one, depth);
        if (known)
            continue;
        if (kept == MAX_SETS)
            return ml_number_at_most(all);
        set_of(s, v[k], depth, &one);
        if (one.n.how == ML_EXACT && !one.n.expr && one.n.n == 0)
            continue;
        for (uint32_t j = 0; j < kept;) /* it may hold others */
            if (inside(&one, &sets[j], depth))
                sets[j] = sets[--kept];
            else
                j++;
        sets[kept++] = one;
    }
    if (kept == 0)
        return ml_number(0);
    for (uint32_t k = 0; k < kept; k++) /* nothing is left for the others */
        if (sets[k].n.how == ML_EXACT && !sets[k].n.expr && !all.expr &&
            all.how == ML_EXACT && sets[k].n.n == all.n)
            return all;
    return within(kept == 1 ? sets[0].n : join(s, b, sets, kept, depth), all);
}

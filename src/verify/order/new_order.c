/*
 * new_order - whether another order of iterations keeps the order of what depends on each
 * other.
 *
 * Two accesses of one buffer, one of them a write, are looked at for each pair of levels at
 * which iterations change places: equal in what is outside of them and in what their common
 * element tells, apart in opposite directions in these two, anything inside. What is not
 * shown so is counted where the loops are short; the first iterations of long ones at least
 * give an example. Source: Allen and Kennedy, Optimizing Compilers for Modern
 * Architectures, sections 3.3 and 5.2 (direction vectors, loop interchange).
 */
#include "moonloop/core/arith/points.h"
#include "moonloop/verify/facts.h"
#include "moonloop/verify/order/self_deps.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 8192 }; /* instances that are counted, of an access */

typedef struct Access {
    const ml_Block *block;
    size_t site;     /* position of the block */
    ml_DomVec loops; /* those that change places, then what is inside */
    ml_Touch touch;  /* in these */
    const ml_Expr *guard;
} Access;

typedef struct Order {
    ml_Ctx *cx;
    ml_Program p;
    const ml_NewOrder *o;
    ml_Uid scope;
    ML_VEC(Access) access;
} Order;

/* ---- accesses in the loops */

static void add_loops(Order *d, const ml_Block *b, ml_DomVec *out)
{
    const ml_NewOrder *o = d->o;
    ml_DomVec up = {0};

    for (ml_Uid u = ml_index_parent(d->p.index, b->tag);
         u && u != o->loops[o->n - 1].var->uid; u = ml_index_parent(d->p.index, u)) {
        const ml_Stmt *s = ml_index_node(d->p.index, u);

        if (s->kind == ML_STMT_FOR)
            ml_push(d->cx, &up,
                    ((ml_Dom){ml_as_for(s)->var, ml_as_for(s)->min, ml_as_for(s)->extent}));
    }
    for (size_t k = 0; k < o->n; k++)
        ml_push(d->cx, out, o->loops[k]);
    while (up.n > 0)
        ml_push(d->cx, out, up.v[--up.n]);
}

static void add_block(Order *d, size_t site)
{
    const ml_Block *b = d->o->blocks[site];
    ml_TouchVec touches = {0};
    ml_DomVec loops = {0};
    ml_Subst sub = {0};

    add_loops(d, b, &loops);
    ml_block_touches(d->cx, b, &touches);
    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(d->cx, &sub, b->iters[k].var, b->iters[k].value);
    for (size_t k = 0; k < touches.n; k++) {
        ml_Touch *t = &touches.v[k];
        ml_Range *at = ML_ARRAY(d->cx, ml_Range, t->buf->rank + 1u);

        for (size_t m = 0; m < t->buf->rank; m++) {
            at[m] = t->at[m];
            if (!sub.vars)
                continue;
            at[m].min = ml_expr_subst(d->cx, at[m].min, &sub);
            at[m].extent = ml_expr_subst(d->cx, at[m].extent, &sub);
        }
        t->at = at;
        ml_push(d->cx, &d->access, ((Access){b, site, loops, *t, b->predicate}));
    }
}

/* ---- one pair, by what its element tells */

static bool uses_any(const ml_Expr *e, const ml_Dom *dom, size_t n, const bool *but)
{
    for (size_t k = 0; k < n; k++)
        if (!but[k] && ml_expr_uses_var(e, dom[k].var))
            return true;
    return false;
}

/* The place of a value in the order of the key, its digits counted from the right. */
static const ml_Expr *place_of(ml_Ctx *cx, const ml_Expr *const *e,
                               const ml_Expr *const *extents, size_t n)
{
    ml_Dtype t = ML_DT_I32;

    for (size_t k = 0; k < n; k++)
        t = e[k]->type.bits > t.bits ? e[k]->type : t;
    const ml_Expr *at = ml_int(cx, t, 0);

    for (size_t k = 0; k < n; k++)
        at = ml_add(cx, ml_mul(cx, at, ml_cast(cx, t, extents[k])), ml_cast(cx, t, e[k]));
    return at;
}

/* Which of the new key's parts matter where the told loops are the same. */
typedef struct Rest {
    size_t n_loops, n_key;
    size_t *loop;          /* of the loops that are not told */
    const ml_Expr **var;   /* as expressions */
    const ml_Expr **count; /* their extents */
    const ml_Expr **key, **extent;
} Rest;

static Rest find_rest(Order *d, const bool *told)
{
    const ml_NewOrder *o = d->o;
    ml_Ctx *cx = d->cx;
    Rest r = {.loop = ML_ARRAY(cx, size_t, o->n + 1),
              .var = ML_ARRAY(cx, const ml_Expr *, o->n + 1),
              .count = ML_ARRAY(cx, const ml_Expr *, o->n + 1),
              .key = ML_ARRAY(cx, const ml_Expr *, o->n_key + 1),
              .extent = ML_ARRAY(cx, const ml_Expr *, o->n_key + 1)};

    for (size_t k = 0; k < o->n; k++)
        if (!told[k]) {
            r.loop[r.n_loops] = k;
            r.var[r.n_loops] = ml_var(cx, o->loops[k].var);
            r.count[r.n_loops++] = o->loops[k].extent;
        }
    for (size_t k = 0; k < o->n_key; k++)
        if (uses_any(o->key[k], o->loops, o->n, told)) {
            r.key[r.n_key] = o->key[k];
            r.extent[r.n_key++] = o->extents[k];
        }
    return r;
}

static bool same_order(Order *d, ml_Arith *ar, const Rest *r, const bool *told)
{
    bool same = r->n_loops == r->n_key;

    for (size_t k = 0; same && k < r->n_loops; k++)
        same = r->key[k] == r->var[k];
    if (same)
        return true;
    const ml_Expr *was = place_of(d->cx, r->var, r->count, r->n_loops);
    const ml_Expr *is = place_of(d->cx, r->key, r->extent, r->n_key);

    ml_promote(d->cx, &is, &was);
    return !uses_any(ml_simplify(ar, ml_sub(d->cx, is, was)), d->o->loops, d->o->n, told);
}

/* ---- one pair, level by level */

/* Where loop k of the rest stands in the new key; n_key: it is no loop by itself there. */
static size_t new_place(const Rest *r, size_t k)
{
    for (size_t m = 0; m < r->n_key; m++)
        if (r->key[m] == r->var[k])
            return m;
    return r->n_key;
}

static bool lies_before(ml_Arith *ar, const ml_Range *a, const ml_Range *b)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Expr *end = ml_add(cx, a->min, ml_cast(cx, a->min->type, a->extent));
    const ml_Expr *next = b->min;

    return ml_promote(cx, &end, &next) && ml_prove_symbolic(ar, ml_le(cx, end, next));
}

static bool ranges_apart(ml_Arith *ar, const ml_Range *a, const ml_Range *b)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Expr *x = a->min, *y = b->min;

    if (x->type.lanes != 1 || y->type.lanes != 1 || (x->flags | y->flags) & ML_X_HAS_LOAD)
        return false;
    return lies_before(ar, a, b) || lies_before(ar, b, a) ||
           (ml_is_int(a->extent, 1) && ml_is_int(b->extent, 1) && ml_promote(cx, &x, &y) &&
            ml_prove(ar, ml_ne(cx, x, y)));
}

/* Another instance of b's loops: in loop k later than the one that the loops' own variables
 * stand for, in loop l earlier, the same in those marked. */
static ml_Subst other_instance(Order *d, ml_Arith *ar, const Access *b, const bool *same,
                               size_t k, size_t l)
{
    ml_Ctx *cx = d->cx;
    ml_Subst to = {0};

    for (size_t j = 0; j < b->loops.n; j++) {
        const ml_Dom *f = &b->loops.v[j];
        const ml_Expr *v = ml_var(cx, f->var), *one = ml_int(cx, f->var->type, 1);

        if (same[j])
            continue;
        const ml_Var *t = ml_var_new(cx, f->var->hint, f->var->type);
        const ml_Expr *min = f->min, *extent = f->extent, *at = ml_var(cx, t);

        if (to.vars) {
            min = ml_expr_subst(cx, min, &to);
            extent = ml_expr_subst(cx, extent, &to);
        }
        if (j == k) { /* v + 1 + t, up to the last one */
            at = ml_add(cx, ml_add(cx, v, one), at);
            extent = ml_sub(cx, ml_sub(cx, ml_add(cx, min, extent), one), v);
            min = ml_int(cx, t->type, 0);
        } else if (j == l) { /* v - 1 - t, down to the first one */
            at = ml_sub(cx, ml_sub(cx, v, one), at);
            extent = ml_sub(cx, v, min);
            min = ml_int(cx, t->type, 0);
        }
        ml_arith_bind_range(ar, t, min, ml_simplify(ar, extent));
        ml_subst_var(cx, &to, f->var, at);
    }
    return to;
}

static bool apart_at(Order *d, ml_Arith *ar, const Access *a, const Access *b,
                     const bool *same, size_t k, size_t l)
{
    ml_ArithMark mark = ml_arith_save(ar);
    bool apart = false;

    for (size_t j = 0; j < a->loops.n; j++)
        ml_arith_bind_range(ar, a->loops.v[j].var, a->loops.v[j].min, a->loops.v[j].extent);
    ml_Subst to = other_instance(d, ar, b, same, k, l);

    if (!(a->guard->flags & ML_X_HAS_LOAD))
        ml_arith_assume(ar, a->guard);
    if (!(b->guard->flags & ML_X_HAS_LOAD))
        ml_arith_assume(ar, ml_expr_subst(d->cx, b->guard, &to));
    for (size_t m = 0; m < a->touch.buf->rank && !apart; m++) {
        ml_Range y = b->touch.at[m];

        y.min = ml_expr_subst(d->cx, y.min, &to);
        y.extent = ml_expr_subst(d->cx, y.extent, &to);
        apart = ranges_apart(ar, &a->touch.at[m], &y);
    }
    ml_arith_restore(ar, mark);
    return apart;
}

/* a in an instance and b in one that came later and comes earlier now, or the other way
 * round, touch different elements. */
static bool apart_by_levels(Order *d, ml_Arith *ar, const Access *a, const Access *b,
                            const bool *told, const Rest *r)
{
    size_t n = a->loops.n > b->loops.n ? a->loops.n : b->loops.n;
    bool *same = ML_ARRAY(d->cx, bool, n);

    for (size_t k = 0; k < r->n_loops; k++)
        if (new_place(r, k) == r->n_key || r->n_key != r->n_loops)
            return false;
    for (size_t k = 0; k < r->n_loops; k++)
        for (size_t l = k + 1; l < r->n_loops; l++) {
            size_t at = new_place(r, l);

            if (at > new_place(r, k))
                continue;
            memcpy(same, told, n * sizeof *same);
            for (size_t j = 0; j < r->n_loops; j++)
                same[r->loop[j]] = j < k || new_place(r, j) < at;
            if (!apart_at(d, ar, a, b, same, r->loop[k], r->loop[l]) ||
                (a != b && !apart_at(d, ar, b, a, same, r->loop[k], r->loop[l])))
                return false;
        }
    return true;
}

/* a and b touch different elements in different iterations of the loops. */
static bool never_meet(Order *d, ml_Arith *ar, const Access *a, const Access *b,
                       const bool *told, const Rest *r)
{
    size_t n = a->loops.n > b->loops.n ? a->loops.n : b->loops.n;
    bool *same = ML_ARRAY(d->cx, bool, n);

    memcpy(same, told, n * sizeof *same);
    for (size_t k = 0; k < r->n_loops; same[r->loop[k++]] = true)
        if (!apart_at(d, ar, a, b, same, r->loop[k], n) ||
            (a != b && !apart_at(d, ar, b, a, same, r->loop[k], n)))
            return false;
    return true;
}

static bool same_buffer(const Order *d, const ml_Buffer *a, const ml_Buffer *b)
{
    return a->data == b->data || ml_canonical_buffer(d->p, d->scope, a)->uid ==
                                     ml_canonical_buffer(d->p, d->scope, b)->uid;
}

static bool is_kept(Order *d, ml_Arith *ar, const Access *a, const Access *b)
{
    const ml_NewOrder *o = d->o;
    bool *told = ML_ARRAY(d->cx, bool, a->loops.n + b->loops.n);

    for (size_t k = 0; k < a->loops.n; k++)
        if (ml_is_const_int(a->loops.v[k].extent) && a->loops.v[k].extent->as.i < 1)
            return true; /* it never runs */
    if (a->touch.buf != b->touch.buf)
        return false; /* two views of one memory */
    if (a->site == b->site)
        ml_told_by(ar, &a->touch, &b->touch, a->loops.v, a->loops.n, told);
    else
        ml_told_by(ar, &a->touch, &b->touch, o->loops, o->n, told);
    for (size_t k = 0; k < o->n; k++)
        told[k] |= ml_is_int(o->loops[k].extent, 1);
    Rest r = find_rest(d, told);

    return r.n_loops == 0 || same_order(d, ar, &r, told) ||
           apart_by_levels(d, ar, a, b, told, &r) || never_meet(d, ar, a, b, told, &r);
}

/* ---- counting */

typedef struct Event {
    const int64_t *element, *was, *is; /* indices; today's loops; the key */
    size_t site, nth;                  /* in one iteration: by block, then as counted */
    bool second;                       /* of the pair */
} Event;

typedef struct Count {
    Order *d;
    const Access *a;
    bool second;
    size_t rank, nth;
    ML_VEC(Event) events;
} Count;

static void add_event(ml_Point *at, void *user)
{
    Count *c = user;
    const ml_NewOrder *o = c->d->o;
    int64_t *v = ML_ARRAY(c->d->cx, int64_t, c->rank + o->n + o->n_key + 1);
    Event e = {v, v + c->rank, v + c->rank + o->n, c->a->site, c->nth++, c->second};

    for (size_t k = 0; k < c->rank; k++)
        v[k] = ml_value_at(at, c->a->touch.at[k].min);
    for (size_t k = 0; k < o->n; k++)
        v[c->rank + k] = ml_value_at(at, ml_var(c->d->cx, o->loops[k].var));
    for (size_t k = 0; k < o->n_key; k++)
        v[c->rank + o->n + k] = ml_value_at(at, o->key[k]);
    if (!at->unknown)
        ml_push(c->d->cx, &c->events, e);
}

/* The domain of the access with short loops, after the first iteration of each loop
 * outside; *whole: nothing was left out. */
static bool domain_of(Order *d, const Access *a, ml_DomVec *out, bool *whole)
{
    ml_StmtVec outer = {0};
    int64_t most = POINTS, n = 1;

    ml_index_loops(d->cx, d->p.index, d->o->loops[0].var->uid, &outer);
    for (size_t k = 0; k < outer.n; k++) {
        const ml_For *f = ml_as_for(outer.v[k]);

        *whole &= ml_is_int(f->extent, 1);
        ml_push(d->cx, out, ((ml_Dom){f->var, f->min, ml_int(d->cx, f->extent->type, 1)}));
    }
    for (size_t k = 0; k < a->loops.n; k++) {
        const ml_Expr *e = a->loops.v[k].extent;

        if (__builtin_mul_overflow(n, ml_is_const_int(e) ? e->as.i : most, &n))
            n = INT64_MAX / 2;
    }
    for (most = INT32_MAX; n > POINTS;) { /* as many of each loop as there is room for */
        *whole = false;
        most = most == INT32_MAX ? 64 : most - 1;
        n = 1;
        for (size_t k = 0; k < a->loops.n; k++) {
            const ml_Expr *e = a->loops.v[k].extent;
            int64_t m = ml_is_const_int(e) && e->as.i < most ? e->as.i : most;

            n = n > POINTS ? n : n * m;
        }
        if (most < 2)
            return false;
    }
    for (size_t k = 0; k < a->loops.n; k++) {
        ml_Dom f = a->loops.v[k];

        if (most < INT32_MAX)
            f.extent = ml_min(d->cx, f.extent, ml_int(d->cx, f.extent->type, most));
        ml_push(d->cx, out, f);
    }
    return true;
}

static bool count_access(Count *c, const Access *a, bool second, bool *whole)
{
    int64_t budget = POINTS + 1;
    ml_DomVec dom = {0};

    c->a = a;
    c->second = second;
    c->nth = 0;
    for (size_t m = 0; m < c->rank; m++)
        if (!ml_is_int(a->touch.at[m].extent, 1))
            return false;
    return domain_of(c->d, a, &dom, whole) &&
           ml_each_point(dom.v, dom.n, a->guard, &budget, add_event, c);
}

static int compare(const int64_t *a, const int64_t *b, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (a[k] != b[k])
            return a[k] < b[k] ? -1 : 1;
    return 0;
}

static int by_number(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

/* By element, then as they come today. */
typedef struct Sorted {
    Event e;
    const Count *c;
} Sorted;

static int by_element(const void *x, const void *y)
{
    const Sorted *a = x, *b = y;
    int r = compare(a->e.element, b->e.element, a->c->rank);

    r = r ? r : compare(a->e.was, b->e.was, a->c->d->o->n);
    r = r ? r : by_number(a->e.site, b->e.site);
    return r ? r : by_number(a->e.nth, b->e.nth);
}

/* Two events of the pair on one element that would change places; false: none. */
static bool find_change(const Count *c, bool self, Event *early, Event *late)
{
    ml_Ctx *cx = c->d->cx;
    Sorted *v = ML_ARRAY(cx, Sorted, c->events.n + 1);
    const Event *last[2] = {NULL, NULL}; /* of each access: the one that comes last now */
    size_t n_key = c->d->o->n_key;

    for (size_t k = 0; k < c->events.n; k++)
        v[k] = (Sorted){c->events.v[k], c};
    qsort(v, c->events.n, sizeof *v, by_element);
    for (size_t k = 0; k < c->events.n; k++) {
        const Event *e = &v[k].e;

        if (k == 0 || compare(v[k - 1].e.element, e->element, c->rank) != 0)
            last[0] = last[1] = NULL;
        const Event *was = last[self ? e->second : !e->second];

        if (was && compare(was->is, e->is, n_key) > 0) {
            *early = *was;
            *late = *e;
            return true;
        }
        if (!last[e->second] || compare(last[e->second]->is, e->is, n_key) < 0)
            last[e->second] = e;
    }
    return false;
}

static ml_Fact element_fact(const Order *d, const Event *e, size_t rank)
{
    ml_Coord *v = ML_ARRAY(d->cx, ml_Coord, rank + 1);

    for (size_t k = 0; k < rank; k++)
        v[k].at = e->element[k];
    return ML_POINT(v, rank);
}

static ml_Fact instance_fact(const Order *d, const Event *e)
{
    ml_Coord *v = ML_ARRAY(d->cx, ml_Coord, d->o->n + 1);
    size_t n = 0;

    for (size_t k = 0; k < d->o->n; k++) {
        const ml_Var *loop = d->o->loops[k].var;

        if (!ml_is_int(d->o->loops[k].extent, 1))
            v[n++] = (ml_Coord){loop->uid, loop->hint, e->was[k]};
    }
    return ML_POINT(v, n);
}

static bool fail_at(Order *d, const Access *a, const Access *b, const Event *early,
                    const Event *late)
{
    const Access *first = early->second ? b : a, *then = late->second ? b : a;

    return ml_fail_as(
        d->cx, ML_E_ORDER_REVERSED,
        first->block == then->block
            ? "block {0} {2} {3}[{4}] at {5}, and {6} it at {7}; in the other "
              "order the second would come first"
            : "block {0} {2} {3}[{4}] at {5}, and block {1} {6} it at {7}; in "
              "the other order the second would come first",
        ML_BLOCK(first->block), ML_BLOCK(then->block),
        ML_TEXT(first->touch.write ? "writes" : "reads"), ML_BUFFER(a->touch.buf),
        element_fact(d, early, a->touch.buf->rank), instance_fact(d, early),
        ML_TEXT(then->touch.write ? "writes" : "reads"), instance_fact(d, late));
}

static bool fail_open(Order *d, const Access *a, const Access *b)
{
    return ml_unproved(d->cx, ML_E_ORDER_REVERSED,
                       a->block == b->block
                           ? "instances of block {0} which would change places touch "
                             "different elements of {2}"
                           : "instances of block {0} and block {1} which would change "
                             "places touch different elements of {2}",
                       ML_BLOCK(a->block), ML_BLOCK(b->block), ML_BUFFER(a->touch.buf));
}

static bool count_pair(Order *d, const Access *a, const Access *b)
{
    Count c = {.d = d, .rank = a->touch.buf->rank};
    Event early, late;
    bool whole = true, known;

    known = a->touch.buf == b->touch.buf && count_access(&c, a, false, &whole) &&
            (a == b || count_access(&c, b, true, &whole));
    if (known && find_change(&c, a == b, &early, &late))
        return fail_at(d, a, b, &early, &late);
    return (known && whole) || fail_open(d, a, b);
}

/* ---- the question */

static bool check_pairs(Order *d)
{
    ml_Arith *ar = ml_arith_at(d->cx, d->p, d->o->loops[0].var->uid);

    for (size_t k = 0; k < d->access.n; k++)
        for (size_t j = 0; j < d->access.v[k].loops.n; j++) {
            const ml_Dom *f = &d->access.v[k].loops.v[j];

            ml_arith_bind_range(ar, f->var, f->min, f->extent);
        }
    for (size_t k = 0; k < d->access.n; k++)
        for (size_t m = k; m < d->access.n; m++) {
            const Access *a = &d->access.v[k], *b = &d->access.v[m];

            if ((!a->touch.write && !b->touch.write) ||
                !same_buffer(d, a->touch.buf, b->touch.buf) ||
                (d->o->ignore &&
                 d->o->ignore(a->block, &a->touch, b->block, &b->touch, d->o->user)))
                continue;
            if (!is_kept(d, ar, a, b) && !count_pair(d, a, b))
                return false;
        }
    return true;
}

bool ml_keeps_order(ml_Ctx *cx, ml_Program p, const ml_NewOrder *o)
{
    Order d = {.cx = cx, .p = p, .o = o};

    if (o->n == 0 || o->n_blocks == 0)
        return true;
    d.scope = ml_index_scope(p.index, o->loops[0].var->uid);
    for (size_t k = 0; k < o->n_blocks; k++)
        add_block(&d, k);
    return check_pairs(&d);
}

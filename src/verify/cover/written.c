/*
 * written - what a block surely writes of a region of its signature.
 *
 * A signature is a box around what is written: of B[v:v+21], written by for j<5: B[j*5+v],
 * 5 elements are. Another iteration may write the others later, so that for region cover
 * the stores stand in place of the box unless they are shown to fill it. Stores to a view
 * are stores to what it shows. A block without blocks inside is taken as it is signed where
 * it cannot be looked into (opaque calls) or has no store; one that holds blocks is what
 * they are, under their predicates, also where it signs one element. Source:
 * ir-and-analysis 2.4.
 */
#include "moonloop/verify/cover/written.h"

/* ---- counting */

enum { MAX_LOOPS = 16, MAX_VIEWS = 8 };

typedef struct Count {
    const ml_Block *block;            /* whose stores are counted */
    const ml_Buffer *seen[MAX_VIEWS]; /* the buffer and its views */
    size_t n_seen;
    int64_t times, total; /* times: iterations of the loops around */
    bool symbolic;        /* no numbers: stores are looked for */
    bool threads;         /* loops of threads are loops like others */
    bool unknown;
} Count;

static bool is_seen(const Count *c, const ml_Buffer *b)
{
    for (size_t k = 0; k < c->n_seen; k++)
        if (c->seen[k]->uid == b->uid)
            return true;
    return false;
}

static void see_views(Count *c, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Buffer *t = b->matches[k].target;

        if (!is_seen(c, b->matches[k].source.buffer))
            continue;
        if (c->n_seen == MAX_VIEWS || t->auto_broadcast)
            c->unknown = true;
        else
            c->seen[c->n_seen++] = t;
    }
}

static bool names_pointer(const ml_Expr *e, void *user)
{
    Count *c = user;

    for (size_t k = 0; k < c->n_seen && e->kind == ML_EXPR_VAR; k++)
        c->unknown |= e->as.var == c->seen[k]->data;
    return !c->unknown;
}

static void look_for_pointer(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    if (e->flags & (ML_X_HAS_CALL | ML_X_EFFECT) || e->type.code == ML_HANDLE)
        ml_expr_visit(e, names_pointer, user);
}

static void count(const ml_Stmt *s, bool in_init, void *user);

static void count_stores(Count *c, int64_t n)
{
    c->unknown = __builtin_mul_overflow(c->times, n, &n) ||
                 __builtin_add_overflow(c->total, n, &c->total);
}

/* A block inside of which not all can be understood: what it signs. */
static void count_signed(Count *c, const ml_Block *b)
{
    for (uint32_t k = 0; k < b->n_writes; k++) {
        const ml_Region *r = &b->writes[k];
        int64_t n = 1;

        if (!is_seen(c, r->buffer))
            continue;
        for (size_t d = 0; d < r->buffer->rank && !c->unknown; d++) {
            c->symbolic |= !ml_is_const_int(r->ranges[d].extent);
            if (!c->symbolic)
                c->unknown = __builtin_mul_overflow(n, r->ranges[d].extent->as.i, &n);
        }
        if (!c->unknown)
            count_stores(c, n);
    }
}

/* Whether a block that holds no others is to be taken as it is signed: of what it writes of
 * the buffers seen so far. */
static bool is_opaque(const Count *c, const ml_Block *b)
{
    Count own = *c;

    if (b->body->has_block)
        return false;
    own.times = 1;
    own.total = 0;
    own.symbolic = true;
    see_views(&own, b);
    ml_stmt_children(&b->base, count, &own);
    return own.unknown || own.total == 0;
}

static void count(const ml_Stmt *s, bool in_init, void *user)
{
    Count *c = user;
    int64_t outer = c->times, n = 1;

    if (c->unknown || in_init) /* the body writes what the init does */
        return;
    switch (s->kind) {
    case ML_STMT_FOR:
        if (ml_as_for(s)->thread.axis && !c->threads) {
            c->unknown = true;
            return;
        }
        c->symbolic |= !ml_is_const_int(ml_as_for(s)->extent);
        if (!c->symbolic) {
            n = ml_as_for(s)->extent->as.i > 0 ? ml_as_for(s)->extent->as.i : 0;
            c->unknown = __builtin_mul_overflow(outer, n, &c->times);
        }
        break;
    case ML_STMT_BLOCK:
        if (ml_as_block(s) != c->block && is_opaque(c, ml_as_block(s))) {
            count_signed(c, ml_as_block(s));
            return;
        }
        see_views(c, ml_as_block(s));
        break;
    case ML_STMT_STORE:
        if (is_seen(c, ml_as_store(s)->buffer))
            count_stores(c, ml_as_store(s)->value->type.lanes);
        ml_stmt_exprs(s, look_for_pointer, c);
        break;
    case ML_STMT_SEQ:
    case ML_STMT_IF: break;
    case ML_STMT_BIND:
    case ML_STMT_EVALUATE: ml_stmt_exprs(s, look_for_pointer, c); break;
    default: c->unknown = true; return;
    }
    ml_stmt_children(s, count, c);
    c->times = outer;
}

/* The loop whose variable is added, once, to what the loops leave alone; n: none, and
 * *plain whether none is used. */
static size_t added(const ml_Expr *e, const ml_For *const *loops, size_t n, bool *plain)
{
    size_t which = n, used = 0;
    const ml_Expr *v = e;

    for (size_t k = 0; k < n; k++)
        if (ml_expr_uses_var(e, loops[k]->var)) {
            which = k;
            used++;
        }
    *plain = used == 0;
    if (used != 1)
        return n;
    if (e->kind == ML_EXPR_ADD) {
        bool first = ml_expr_uses_var(e->args[0], loops[which]->var);

        v = e->args[first ? 0 : 1];
        if (first && ml_expr_uses_var(e->args[1], loops[which]->var))
            return n;
    }
    if (v->kind != ML_EXPR_VAR || v->as.var->uid != loops[which]->var->uid)
        return n;
    return which;
}

/* The block is a nest of loops around one store, a dimension of the region each: a copy. */
static bool is_copy(const ml_Block *b, const ml_Region *r)
{
    const ml_For *loops[MAX_LOOPS];
    bool taken[MAX_LOOPS] = {false};
    const ml_Stmt *s = b->body;
    const ml_Store *st;
    size_t n = 0;

    for (; s->kind == ML_STMT_FOR && n < MAX_LOOPS; s = ml_as_for(s)->body)
        loops[n++] = ml_as_for(s);
    st = s->kind == ML_STMT_STORE ? ml_as_store(s) : NULL;
    if (!st || st->buffer->uid != r->buffer->uid || st->mask || st->n != r->buffer->rank)
        return false;
    for (size_t d = 0; d < st->n; d++) {
        bool plain;
        size_t k = added(st->indices[d], loops, n, &plain);

        if (plain && ml_is_int(r->ranges[d].extent, 1))
            continue;
        if (k == n || taken[k] || loops[k]->thread.axis || loops[k]->step ||
            !ml_is_const_int(loops[k]->min) || !ml_is_const_int(loops[k]->extent) ||
            !ml_is_int(r->ranges[d].extent, loops[k]->extent->as.i))
            return false;
        taken[k] = true;
    }
    for (size_t k = 0; k < n; k++) /* the others run */
        if (!taken[k] && (!ml_is_const_int(loops[k]->extent) || loops[k]->extent->as.i < 1))
            return false;
    return true;
}

typedef enum Filled { FILLED, HOLES, ASK } Filled;

/* By the number of stores alone; ASK: they are as many as its elements, or the region is
 * symbolic; but some may not run, or store what others do. FILLED: one element, a copy,
 * or nothing is known but the signature. */
static Filled filled(const ml_Block *b, const ml_Region *r)
{
    Count c = {.block = b, .seen = {r->buffer}, .n_seen = 1, .times = 1};
    int64_t volume = 1;

    for (size_t d = 0; d < r->buffer->rank; d++)
        c.symbolic |= !ml_is_const_int(r->ranges[d].extent);
    for (size_t d = 0; d < r->buffer->rank && !c.symbolic; d++)
        if (__builtin_mul_overflow(volume, r->ranges[d].extent->as.i, &volume))
            return FILLED;
    if (!c.symbolic && ((volume <= 1 && !b->body->has_block) || is_copy(b, r)))
        return FILLED;
    count(&b->base, false, &c);
    if (c.unknown || c.total == 0)
        return FILLED;
    return !c.symbolic && c.total < volume ? HOLES : ASK;
}

bool ml_plainly_filled(const ml_Block *b, const ml_Region *r)
{
    return filled(b, r) == FILLED;
}

/* What holds where a store writes, without what only keeps it inside of the buffer. */
static const ml_Expr *beside_bounds(ml_Arith *ar, const ml_Access1 *s, const ml_Buffer *buf)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    ml_ArithMark mark;
    bool holds;

    if (ml_is_true(s->pred))
        return s->pred;
    mark = ml_arith_save(ar);
    for (size_t k = 0; k < s->n_dom; k++)
        ml_arith_bind_range(ar, s->dom[k].var, s->dom[k].min, s->dom[k].extent);
    for (size_t d = 0; d < buf->rank; d++) {
        const ml_Expr *i = s->ranges[d].min, *n = buf->shape[d];

        if (!ml_is_int(s->ranges[d].extent, 1) || !ml_promote(cx, &i, &n))
            continue;
        ml_arith_assume(ar, ml_ge(cx, i, ml_int(cx, i->type, 0)));
        ml_arith_assume(ar, ml_lt(cx, i, n));
    }
    holds = ml_prove(ar, s->pred);
    ml_arith_restore(ar, mark);
    return holds ? ml_bool(cx, true) : s->pred;
}

static bool moves(const ml_Access1 *s, const ml_Expr *pred, size_t rank, const ml_Dom *d)
{
    bool used = ml_expr_uses_var(pred, d->var);

    for (size_t k = 0; k < rank && !used; k++)
        used = ml_expr_uses_var(s->ranges[k].min, d->var);
    for (size_t k = 0; k < s->n_dom && !used; k++)
        used = ml_expr_uses_var(s->dom[k].min, d->var) ||
               ml_expr_uses_var(s->dom[k].extent, d->var);
    return used;
}

/* The loops of the store, without those that run and decide nothing: of a sum, say. */
static void loops_of(ml_Arith *ar, const ml_Access1 *s, const ml_Expr *pred, size_t rank,
                     ml_DomVec *out)
{
    ml_ArithMark mark = ml_arith_save(ar);

    for (size_t k = 0; k < s->n_dom; k++) {
        const ml_Dom *d = &s->dom[k];

        if (moves(s, pred, rank, d) || !ml_prove_ge(ar, d->extent, 1))
            ml_push(ml_arith_ctx(ar), out, *d);
        ml_arith_bind_range(ar, d->var, d->min, d->extent);
    }
    ml_arith_restore(ar, mark);
}

/* The stores of which it is sure where they write fill the region, as far as there is a
 * buffer. */
static bool shown(ml_Ctx *cx, ml_Program p, const ml_Block *b, const ml_Region *r)
{
    size_t rank = r->buffer->rank;
    ml_AccessVec stores = {0};
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, rank + 1u);
    ml_Arith *ar = ml_arith_at(cx, p, b->tag);
    ml_Boxes *boxes = ml_boxes_new(ar, rank);

    ml_arith_bind_iters(ar, b);
    ml_stores_inside(cx, b, r, &stores);
    for (size_t k = 0; k < stores.n; k++) {
        const ml_Access1 *s = &stores.v[k];
        const ml_Expr *pred = beside_bounds(ar, s, r->buffer);

        ml_DomVec dom = {0};

        loops_of(ar, s, pred, rank, &dom);
        if (ml_region_lower(ar, s->ranges, rank, dom.v, dom.n, pred, box))
            ml_boxes_add(boxes, box);
    }
    for (size_t d = 0; d < rank; d++)
        box[d] = ml_interval_range(ar, r->ranges[d].min, r->ranges[d].extent);
    if (ml_boxes_cover(boxes, box, NULL))
        return true;
    for (size_t d = 0; d < rank; d++)
        box[d] = ml_interval_inside(ar, box[d], r->buffer, d);
    return ml_boxes_cover(boxes, box, NULL);
}

bool ml_is_filled(ml_Ctx *cx, ml_Program p, const ml_Block *b, const ml_Region *r,
                  bool *signed_only)
{
    Count c = {.block = b,
               .seen = {r->buffer},
               .n_seen = 1,
               .times = 1,
               .symbolic = true,
               .threads = true};

    count(&b->base, false, &c);
    *signed_only = c.unknown || c.total == 0;
    return *signed_only || shown(cx, p, b, r);
}

bool ml_may_have_holes(ml_Ctx *cx, ml_Program p, const ml_Block *b, const ml_Region *r)
{
    Filled f = filled(b, r);

    return f == HOLES || (f == ASK && !shown(cx, p, b, r));
}

/* ---- the stores */

typedef struct View {
    const ml_Buffer *target;
    const ml_Range *shows; /* of the buffer; its last dimensions are the target's */
} View;

typedef struct Inside {
    ml_Ctx *cx;
    const ml_Buffer *buf;
    ML_VEC(View) views;
    const ml_Block *block;
    ml_Subst iters; /* of blocks inside, by what they are bound to */
    ml_DomVec dom;
    const ml_Expr *pred;
    ml_AccessVec *out;
} Inside;

static const ml_Expr *at(Inside *in, const ml_Expr *e)
{
    return in->iters.vars ? ml_expr_subst(in->cx, e, &in->iters) : e;
}

static const View *view_of(const Inside *in, const ml_Buffer *b)
{
    for (size_t k = 0; k < in->views.n; k++)
        if (in->views.v[k].target->uid == b->uid)
            return &in->views.v[k];
    return NULL;
}

/* The region of the buffer that a region of it or of one of its views is; NULL: of another
 * buffer. */
static const ml_Range *place_of(Inside *in, const ml_Buffer *b, const ml_Range *r, size_t n)
{
    const View *v = view_of(in, b);
    size_t rank = in->buf->rank, first = rank - n;
    ml_Range *out;

    if (!v || n > rank)
        return b->uid == in->buf->uid && n == rank ? r : NULL;
    out = ML_ARRAY(in->cx, ml_Range, rank + 1u);
    for (size_t d = 0; d < rank; d++) {
        const ml_Expr *a = v->shows[d].min, *e = d < first ? NULL : r[d - first].min;

        out[d] = (ml_Range){a, e ? r[d - first].extent : ml_int(in->cx, a->type, 1)};
        if (e && !ml_promote(in->cx, &a, &e))
            return NULL;
        if (e)
            out[d].min = ml_add(in->cx, a, e);
    }
    return out;
}

static void add_views(Inside *in, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Region *from = &b->matches[k].source;
        size_t n = from->buffer->rank;
        ml_Range *r = ML_ARRAY(in->cx, ml_Range, n + 1u);
        const ml_Range *shows;

        for (size_t d = 0; d < n; d++)
            r[d] = (ml_Range){at(in, from->ranges[d].min), from->ranges[d].extent};
        shows = place_of(in, from->buffer, r, n);
        if (shows)
            ml_push(in->cx, &in->views, ((View){b->matches[k].target, shows}));
    }
}

static void add_place(Inside *in, const ml_Buffer *b, const ml_Range *r, size_t n,
                      const ml_Expr *pred)
{
    ml_Dom *dom = ML_ARRAY(in->cx, ml_Dom, in->dom.n + 1u);
    const ml_Range *place = place_of(in, b, r, n);

    if (!place)
        return;
    if (in->dom.n)
        memcpy(dom, in->dom.v, in->dom.n * sizeof *dom);
    ml_push(in->cx, in->out, ((ml_Access1){place, dom, in->dom.n, pred}));
}

static void add_store(Inside *in, const ml_Store *st)
{
    ml_Range *point = ML_ARRAY(in->cx, ml_Range, st->n + 1u);

    if (st->mask || (st->buffer->uid != in->buf->uid && !view_of(in, st->buffer)))
        return;
    for (size_t d = 0; d < st->n; d++) {
        const ml_Expr *e = st->indices[d], *lanes = ml_int(in->cx, e->type, 1);

        if (e->kind == ML_EXPR_RAMP && ml_is_int(e->args[1], 1)) {
            lanes = ml_int(in->cx, e->args[0]->type, e->type.lanes);
            e = e->args[0];
        }
        if (e->type.lanes != 1)
            return;
        point[d] = (ml_Range){at(in, e), lanes};
    }
    add_place(in, st->buffer, point, st->n, in->pred);
}

/* See is_opaque. */
static bool is_signed(const Inside *in, const ml_Block *b)
{
    Count c = {.block = b, .seen = {in->buf}, .n_seen = 1, .times = 1, .threads = true};

    for (size_t k = 0; k < in->views.n; k++) {
        if (c.n_seen == MAX_VIEWS)
            return false;
        c.seen[c.n_seen++] = in->views.v[k].target;
    }
    return is_opaque(&c, b);
}

static void add_signed(Inside *in, const ml_Block *b)
{
    for (uint32_t k = 0; k < b->n_writes; k++) {
        const ml_Region *r = &b->writes[k];
        size_t n = r->buffer->rank;
        ml_Range *box = ML_ARRAY(in->cx, ml_Range, n + 1u);

        for (size_t d = 0; d < n; d++)
            box[d] = (ml_Range){at(in, r->ranges[d].min), at(in, r->ranges[d].extent)};
        add_place(in, r->buffer, box, n, ml_and(in->cx, in->pred, at(in, b->predicate)));
    }
}

static void find_stores(const ml_Stmt *s, bool in_init, void *user);

/* What is stored under the condition as well; the predicate of it. */
static const ml_Expr *under(Inside *in, const ml_Expr *cond, const ml_Stmt *s)
{
    const ml_Expr *outer = in->pred, *here = ml_and(in->cx, outer, cond);

    in->pred = here;
    if (s)
        find_stores(s, false, in);
    in->pred = outer;
    return here;
}

static bool same_place(const ml_Access1 *a, const ml_Access1 *b, size_t rank)
{
    return a->n_dom == b->n_dom && ml_same_ranges(a->ranges, b->ranges, rank);
}

/* What both branches store is stored whatever the condition says. */
static void branches(Inside *in, const ml_If *i)
{
    const ml_Expr *cond = at(in, i->cond);
    size_t first = in->out->n;
    const ml_Expr *yes = under(in, cond, i->then);
    size_t second = in->out->n;
    const ml_Expr *no = under(in, ml_not(in->cx, cond), i->other);

    for (size_t k = first; k < second; k++)
        for (size_t m = second; m < in->out->n; m++)
            if (in->out->v[k].pred == yes && in->out->v[m].pred == no &&
                in->out->v[k].n_dom == in->dom.n &&
                same_place(&in->out->v[k], &in->out->v[m], in->buf->rank))
                in->out->v[k].pred = in->pred;
}

static void find_stores(const ml_Stmt *s, bool in_init, void *user)
{
    Inside *in = user;

    if (in_init)
        return;
    if (s->kind == ML_STMT_STORE)
        add_store(in, ml_as_store(s));
    if (s->kind == ML_STMT_BLOCK && ml_as_block(s) == in->block)
        add_views(in, in->block);
    if (s->kind == ML_STMT_IF) {
        branches(in, ml_as_if(s));
    } else if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);

        ml_push(in->cx, &in->dom, ((ml_Dom){f->var, at(in, f->min), at(in, f->extent)}));
        find_stores(f->body, false, in);
        in->dom.n--;
    } else if (s->kind == ML_STMT_BLOCK && ml_as_block(s) != in->block) {
        const ml_Block *b = ml_as_block(s);

        for (size_t k = 0; k < b->n_iters; k++)
            ml_subst_var(in->cx, &in->iters, b->iters[k].var, at(in, b->iters[k].value));
        if (is_signed(in, b)) {
            add_signed(in, b);
            return;
        }
        add_views(in, b);
        (void)under(in, at(in, b->predicate), b->body);
    } else if (s->kind == ML_STMT_BIND) {
        const ml_Bind *l = ml_as_bind(s);

        ml_subst_var(in->cx, &in->iters, l->var, at(in, l->value));
    } else if (s->kind == ML_STMT_SEQ || s->kind == ML_STMT_BLOCK) {
        ml_stmt_children(s, find_stores, in);
    }
}

void ml_stores_inside(ml_Ctx *cx, const ml_Block *b, const ml_Region *r, ml_AccessVec *out)
{
    Inside in = {
        .cx = cx, .buf = r->buffer, .block = b, .pred = ml_bool(cx, true), .out = out};

    find_stores(&b->base, false, &in);
}

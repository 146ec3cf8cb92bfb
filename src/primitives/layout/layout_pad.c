/*
 * layout_pad - what gives the elements a value that a new layout has and the old one had
 * not.
 *
 * Never written: a block that promises the value. Written by nests that traverse the old
 * shape in order: these traverse the new shape and store the pad value where no old element
 * is. Otherwise a block behind the last store writes the padding. Source: primitives 11,
 * transform_layout.
 */
#include "moonloop/primitives/layout/layout.h"

/* Loops over the shape around a new block of that name, iters v_<name> bound to them:
 * fills loops[] and iters[], of which the rank of the buffer is needed. */
static void make_iters(ml_Ctx *cx, const ml_Buffer *buf, const ml_Var *const *named,
                       const ml_Var **loops, ml_Iter *iters)
{
    for (size_t k = 0; k < buf->rank; k++) {
        ml_Dtype t = buf->shape[k]->type;
        const char *name = named[k]->hint;

        loops[k] = ml_var_new(cx, name, t);
        iters[k] = (ml_Iter){.var = ml_var_new(cx, ml_format(cx, "v_%s", name), t),
                             .min = ml_int(cx, t, 0),
                             .extent = buf->shape[k],
                             .value = ml_var(cx, loops[k]),
                             .kind = ML_ITER_SPATIAL};
    }
}

/* ---- stores of the buffer, with the way to them */

typedef struct Write {
    const ml_Store *store; /* NULL: a block writes by a view, or by a call */
    const ml_Expr *const *idx;
    const ml_Stmt *const *way; /* loops, blocks and others, outermost first */
    size_t n;
} Write;

typedef struct Writes {
    ml_Ctx *cx;
    const ml_Buffer *buf;
    ML_VEC(const ml_Stmt *) way;
    ML_VEC(Write) v;
} Writes;

static void add_write(Writes *w, const ml_Store *store, const ml_Expr *const *idx)
{
    const ml_Stmt **way = ML_ARRAY(w->cx, const ml_Stmt *, w->way.n + 1);

    if (w->way.n)
        memcpy(way, w->way.v, w->way.n * sizeof(*way));
    ml_push(w->cx, &w->v, ((Write){store, idx, way, w->way.n}));
}

static void add_region_write(Writes *w, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_writes; k++) {
        const ml_Region *r = &b->writes[k];
        const ml_Expr **idx;

        if (r->buffer->uid != w->buf->uid)
            continue;
        idx = ML_ARRAY(w->cx, const ml_Expr *, w->buf->rank + 1u);
        for (size_t d = 0; d < w->buf->rank; d++)
            idx[d] = r->ranges[d].min;
        add_write(w, NULL, idx);
        return;
    }
}

static void find_writes(const ml_Stmt *s, bool in_init, void *user)
{
    Writes *w = user;
    size_t before = w->v.n;

    (void)in_init;
    if (w->way.n == 0 && !ml_stmt_uses_buffer(s, w->buf))
        return;
    if (s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == w->buf->uid)
        add_write(w, ml_as_store(s), ml_as_store(s)->indices);
    if (s->kind == ML_STMT_SEQ) {
        ml_stmt_children(s, find_writes, w);
        return;
    }
    ml_push(w->cx, &w->way, s);
    ml_stmt_children(s, find_writes, w);
    if (s->kind == ML_STMT_BLOCK && w->v.n == before)
        add_region_write(w, ml_as_block(s));
    w->way.n--;
}

/* ---- values over the new indices */

typedef struct Pad {
    ml_Call *c;
    ml_Arith *ar;
    const ml_Relayout *to;
    const ml_Padding *pad;
} Pad;

static void subst_all(ml_Ctx *cx, ml_Subst *s, const ml_IndexMap *m,
                      const ml_Expr *const *idx)
{
    for (uint32_t k = 0; k < m->n_vars; k++)
        ml_subst_var(cx, s, m->vars[k], ml_cast(cx, m->vars[k]->type, idx[k]));
}

static const ml_Expr *is_padding(const Pad *p, const ml_Expr *const *idx)
{
    ml_Subst s = {0};

    subst_all(p->c->cx, &s, p->pad->inverse, idx);
    return ml_expr_subst(p->c->cx, p->pad->where, &s);
}

static const ml_Expr *pad_at(const Pad *p, const ml_Expr *const *idx)
{
    ml_Subst s = {0};

    if (!p->pad->map)
        return p->pad->value;
    subst_all(p->c->cx, &s, p->pad->map, idx);
    return ml_expr_subst(p->c->cx, p->pad->map->exprs[0], &s);
}

/* Loops over the new shape around a block of that name whose body is `make` of its iters.
 */
static const ml_Stmt *new_nest(const Pad *p, const char *name, bool writes)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Buffer *buf = p->to->fresh;
    size_t rank = buf->rank;
    const ml_Var **loops = ML_ARRAY(cx, const ml_Var *, rank + 1);
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, rank + 1);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, rank + 1);
    ml_Range *point = ML_ARRAY(cx, ml_Range, rank + 1);
    ml_Region *region = ML_NEW(cx, ml_Region);

    make_iters(cx, buf, p->pad->inverse->vars, loops, iters);
    for (size_t k = 0; k < rank; k++) {
        idx[k] = ml_var(cx, iters[k].var);
        point[k] = (ml_Range){idx[k], ml_int(cx, idx[k]->type, 1)};
    }
    *region = (ml_Region){buf, point};
    const ml_Expr *where = is_padding(p, idx), *value = pad_at(p, idx);
    ml_Block b = {.tag = ml_fresh_uid(cx),
                  .name = name,
                  .predicate = ml_bool(cx, true),
                  .n_iters = (uint32_t)rank,
                  .iters = iters};

    if (writes) {
        b.n_writes = 1;
        b.writes = region;
        b.body = ml_if(cx, where, ml_store(cx, buf, value, idx, rank, NULL), NULL);
    } else {
        const ml_Expr *holds =
            ml_or(cx, ml_not(cx, where), ml_eq(cx, ml_load(cx, buf, idx, rank), value));

        b.n_reads = 1;
        b.reads = region;
        b.body = ml_evaluate(cx, ml_call_id(cx, ML_DT_BOOL, ML_OP_ASSUME, &holds, 1));
    }
    const ml_Stmt *st = ml_block_from(cx, &b);

    if (p->pad->loads) { /* of the old buffer, whose accesses are still to be moved */
        const ml_Block *inferred =
            ml_block_reinfer(cx, ml_call_func(p->c), ml_as_block(st));

        st = inferred ? &inferred->base : st;
    }
    for (size_t k = rank; k-- > 0;)
        st = ml_serial(cx, loops[k], ml_int(cx, loops[k]->type, 0), buf->shape[k], st);
    return st;
}

/* ---- nests that traverse the old shape */

typedef struct Nest {
    const ml_Stmt *top; /* the outermost loop over the buffer */
    const ml_Block *block;
    size_t n_loops;        /* loops over the buffer, from top inwards */
    size_t first;          /* the first iter that is replaced */
    const ml_Stmt *inside; /* what the innermost of them holds */
    bool *is_index;        /* per iter of the block: it is an index of the buffer */
    size_t *iter_of;       /* per dimension: the iter, or SIZE_MAX: extent 1 */
} Nest;

static bool is_plain_loop(const ml_For *f, const ml_Expr *extent)
{
    return f->kind == ML_FOR_SERIAL && !f->step && ml_dict_count(f->annotations) == 0 &&
           ml_is_int(f->min, 0) && f->extent == extent;
}

static bool uses_any(const ml_Expr *e, const Write *w, size_t from, size_t n)
{
    for (size_t k = from; k < from + n; k++)
        if (ml_expr_uses_var(e, ml_as_for(w->way[k])->var))
            return true;
    return false;
}

/* Dimension d is indexed by a spatial iter of its own, over the whole of it. */
static bool find_iter(const Nest *n, const Write *w, const ml_Buffer *buf, size_t d)
{
    const ml_Expr *e = w->store->indices[d];
    const ml_Block *b = n->block;

    n->iter_of[d] = SIZE_MAX;
    if (ml_is_int(e, 0) && ml_is_int(buf->shape[d], 1))
        return true;
    for (size_t k = 0; k < b->n_iters && e->kind == ML_EXPR_VAR; k++) {
        const ml_Iter *it = &b->iters[k];

        if (it->var->uid != e->as.var->uid)
            continue;
        if (n->is_index[k] || it->kind != ML_ITER_SPATIAL || !ml_is_int(it->min, 0) ||
            it->extent != buf->shape[d] || it->value->kind != ML_EXPR_VAR)
            return false;
        n->is_index[k] = true;
        n->iter_of[d] = k;
        return true;
    }
    return false;
}

typedef struct Own {
    const ml_Store *store;
    bool other;
} Own;

/* Loads of the buffer elsewhere than at the store's indices. */
static bool loads_elsewhere(const ml_Expr *e, void *user)
{
    Own *o = user;

    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == o->store->buffer->uid) {
        for (size_t d = 0; d < o->store->n; d++)
            o->other |= e->args[d] != o->store->indices[d];
        o->other |= e->n_args > o->store->n;
    }
    return !o->other;
}

static bool is_own_store(const ml_Stmt *s, const ml_Store *like)
{
    Own o = {like, false};

    if (s->kind != ML_STMT_STORE)
        return false;
    const ml_Store *st = ml_as_store(s);

    if (st->mask || st->buffer->uid != like->buffer->uid)
        return false;
    for (size_t d = 0; d < st->n; d++)
        if (st->indices[d] != like->indices[d])
            return false;
    ml_expr_visit(st->value, loads_elsewhere, &o);
    return !o.other && ml_expr_effect(st->value) <= ML_EFFECT_READ;
}

/* Whether the store's nest is a serial traversal of the old shape in order. */
static bool find_nest(const Pad *p, const Write *w, Nest *n)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Buffer *buf = p->to->old;
    size_t at = 0, end = w->n;

    if (w->store == NULL || end == 0 || w->way[end - 1]->kind != ML_STMT_BLOCK)
        return false;
    const ml_Block *b = ml_as_block(w->way[end - 1]);

    *n = (Nest){.block = b, .first = SIZE_MAX};
    if (b->n_allocs || b->n_matches || !ml_is_true(b->predicate) ||
        !is_own_store(b->body, w->store) || (b->init && !is_own_store(b->init, w->store)))
        return false;
    n->is_index = ML_ARRAY(cx, bool, b->n_iters + 1u);
    n->iter_of = ML_ARRAY(cx, size_t, buf->rank + 1u);
    for (size_t d = 0; d < buf->rank; d++) {
        if (!find_iter(n, w, buf, d))
            return false;
        if (n->iter_of[d] == SIZE_MAX)
            continue;
        const ml_Iter *it = &b->iters[n->iter_of[d]];

        if (n->n_loops == 0)
            while (at < end && ml_stmt_uid(w->way[at]) != it->value->as.var->uid)
                at++;
        size_t here = at + n->n_loops;

        if (here >= end || w->way[here]->kind != ML_STMT_FOR ||
            ml_stmt_uid(w->way[here]) != it->value->as.var->uid ||
            !is_plain_loop(ml_as_for(w->way[here]), buf->shape[d]))
            return false;
        if (n->iter_of[d] < n->first)
            n->first = n->iter_of[d];
        n->n_loops++;
    }
    if (n->n_loops == 0)
        return false;
    for (size_t k = at; k + 1 < end; k++) { /* one chain down to the block */
        if (w->way[k]->kind != ML_STMT_FOR || ml_as_for(w->way[k])->body != w->way[k + 1])
            return false;
        const ml_For *f = ml_as_for(w->way[k]);

        if (k >= at + n->n_loops &&
            (uses_any(f->min, w, at, n->n_loops) || uses_any(f->extent, w, at, n->n_loops)))
            return false;
    }
    for (size_t k = 0; k < b->n_iters; k++)
        if (!n->is_index[k] && uses_any(b->iters[k].value, w, at, n->n_loops))
            return false;
    n->top = w->way[at];
    n->inside = w->way[at + n->n_loops];
    return true;
}

/* ---- the nest over the new shape */

typedef struct Loads {
    const ml_Relayout *to;
    const ml_Expr *const *idx;
} Loads;

/* All loads of the old buffer are at the indices of the store. */
static const ml_Expr *own_load(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Loads *l = user;

    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == l->to->old->uid)
        return ml_load(cx, l->to->fresh, l->idx, l->to->fresh->rank);
    return e->flags & ML_X_HAS_LOAD ? ml_expr_map_args(cx, e, own_load, user) : e;
}

static const ml_Stmt *padded_store(const Pad *p, const ml_Stmt *s, const ml_Subst *sub,
                                   const ml_Expr *const *idx)
{
    ml_Ctx *cx = p->c->cx;
    Loads l = {p->to, idx};
    const ml_Expr *value = own_load(cx, ml_expr_subst(cx, ml_as_store(s)->value, sub), &l);

    value = ml_if_then_else(cx, is_padding(p, idx), pad_at(p, idx), value);
    return ml_stmt_at(cx, ml_store(cx, p->to->fresh, value, idx, p->to->fresh->rank, NULL),
                      s->span);
}

typedef struct Swap {
    const ml_Stmt *old, *with;
} Swap;

static const ml_Stmt *swap(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Swap *w = user;

    if (s == w->old)
        return w->with;
    if (!s->has_block && !s->has_loop)
        return s;
    return ml_stmt_map(cx, s, &(ml_Mapper){.stmt = swap, .user = user});
}

static const ml_Stmt *padded_nest(const Pad *p, const Nest *n)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Buffer *buf = p->to->fresh;
    const ml_Block *b = n->block;
    size_t rank = buf->rank, n_iters = 0;
    const ml_Var **loops = ML_ARRAY(cx, const ml_Var *, rank + 1);
    ml_Iter *fresh = ML_ARRAY(cx, ml_Iter, rank + 1);
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, rank + b->n_iters + 1);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, rank + 1);
    ml_Subst to_new = {0}, sub = {0};
    ml_Block nb = *b;

    make_iters(cx, buf, p->pad->inverse->vars, loops, fresh);
    for (size_t k = 0; k < rank; k++)
        idx[k] = ml_var(cx, fresh[k].var);
    subst_all(cx, &to_new, p->pad->inverse, idx);
    for (size_t d = 0; d < p->to->old->rank; d++) {
        if (n->iter_of[d] == SIZE_MAX)
            continue;
        const ml_Var *v = b->iters[n->iter_of[d]].var;

        ml_subst_var(
            cx, &sub, v,
            ml_cast(cx, v->type, ml_expr_subst(cx, p->pad->inverse->exprs[d], &to_new)));
    }
    for (size_t k = 0; k < b->n_iters; k++) {
        for (size_t m = 0; k == n->first && m < rank; m++)
            iters[n_iters++] = fresh[m];
        if (!n->is_index[k])
            iters[n_iters++] = b->iters[k];
    }
    nb.iters = iters;
    nb.n_iters = (uint32_t)n_iters;
    nb.body = padded_store(p, b->body, &sub, idx);
    if (b->init)
        nb.init = padded_store(p, b->init, &sub, idx);
    const ml_Block *inferred =
        ml_block_reinfer(cx, ml_call_func(p->c), ml_as_block(ml_block_from(cx, &nb)));

    if (!inferred)
        return n->top;
    Swap w = {&b->base, &inferred->base};
    const ml_Stmt *st = swap(cx, n->inside, &w);

    for (size_t k = rank; k-- > 0;)
        st = ml_serial(cx, loops[k], ml_int(cx, loops[k]->type, 0), buf->shape[k], st);
    return st;
}

/* ---- behind the last store */

static bool is_concurrent(const ml_Stmt *s)
{
    return s->kind == ML_STMT_FOR &&
           (ml_as_for(s)->kind == ML_FOR_PARALLEL ||
            ml_as_for(s)->kind == ML_FOR_VECTORIZED || ml_as_for(s)->kind == ML_FOR_THREAD);
}

/* The outermost loop that the store depends on, or whose iterations run at the same time on
 * one buffer, or the first block on the way to it; but what iterations have each for
 * themselves stays inside of them. */
static const ml_Stmt *last_place(ml_Call *c, const ml_Buffer *buf, const Write *w)
{
    ml_Ctx *cx = c->cx;
    size_t n = buf->rank;
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, n + 1);
    const ml_Stmt *place = NULL;

    for (size_t d = 0; d < n; d++)
        idx[d] = w->idx[d];
    for (size_t k = w->n; k-- > 0;) { /* iters by their values, loops as they are */
        const ml_Stmt *s = w->way[k];
        ml_Subst sub = {0};

        if (is_concurrent(s) &&
            ml_buffer_is_private(c->cx, c->facts, c->p, ml_stmt_uid(s), buf))
            return place ? place : k + 1 < w->n ? w->way[k + 1] : &w->store->base;
        if (s->kind == ML_STMT_BLOCK) {
            const ml_Block *b = ml_as_block(s);

            for (size_t m = 0; m < b->n_iters; m++)
                ml_subst_var(cx, &sub, b->iters[m].var, b->iters[m].value);
            for (size_t d = 0; d < n && b->n_iters; d++)
                idx[d] = ml_expr_subst(cx, idx[d], &sub);
            place = s;
        }
        if (is_concurrent(s))
            place = s;
        for (size_t d = 0; d < n && s->kind == ML_STMT_FOR; d++)
            if (ml_expr_uses_var(idx[d], ml_as_for(s)->var))
                place = s;
    }
    return place ? place : w->n ? w->way[0] : &w->store->base;
}

/* ---- a pad value that is an element */

typedef struct Inside {
    const Pad *p;
    ml_Arith *ar;
    bool ok;
} Inside;

static bool is_inside(const ml_Expr *e, void *user)
{
    Inside *w = user;

    for (size_t d = 0; e->kind == ML_EXPR_LOAD && d < e->n_args; d++)
        w->ok &= ml_prove_ge(w->ar, e->args[d], 0) &&
                 ml_prove_lt_expr(w->ar, e->args[d],
                                  ml_cast(ml_arith_ctx(w->ar), e->args[d]->type,
                                          e->as.buffer->shape[d]));
    return w->ok;
}

/* Where the padding is, the element is one of the old layout. */
static bool check_inside(const Pad *p)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Buffer *buf = p->to->fresh;
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, buf->rank + 1u);
    Inside w = {p, ml_arith_new(cx), true};

    ml_arith_bind_params(w.ar, ml_call_func(p->c));
    for (size_t k = 0; k < buf->rank; k++) {
        ml_Dtype t = buf->shape[k]->type;
        const ml_Var *v = ml_var_new(cx, "i", t);

        ml_arith_bind_range(w.ar, v, ml_int(cx, t, 0), buf->shape[k]);
        idx[k] = ml_var(cx, v);
    }
    ml_arith_assume(w.ar, is_padding(p, idx));
    ml_expr_visit(pad_at(p, idx), is_inside, &w);
    if (w.ok)
        return true;
    return ml_unproved(cx, ML_E_READS_BEYOND,
                       "pad_value reads inside of {0} wherever there is padding",
                       ML_BUFFER(p->to->old));
}

/* All of the old buffer is written by blocks of the scope. */
static bool check_whole(ml_Call *c, const ml_Block *scope, const ml_Buffer *buf)
{
    ml_Ctx *cx = c->cx;
    ml_Arith *ar = ml_arith_at(cx, c->p, scope->tag);
    ml_Boxes *boxes = ml_boxes_new(ar, buf->rank);
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, buf->rank + 1u);
    ml_UidVec writers = {0};

    ml_writers(cx, c->facts, c->p, scope->tag, buf, &writers);
    for (size_t k = 0; k < writers.n; k++) {
        const ml_Block *b = ml_call_block(c, writers.v[k]);
        ml_DomVec dom = {0};
        ml_Subst values = {0};

        for (size_t m = 0; m < b->n_iters; m++)
            ml_subst_var(cx, &values, b->iters[m].var, b->iters[m].value);
        ml_relax_domain(cx, c->p, b->tag, 0, buf, &dom);
        for (size_t m = 0; m < b->n_writes; m++) {
            ml_Region r = ml_region_subst(cx, b->writes[m], &values);

            if (r.buffer->uid == buf->uid &&
                ml_region_lower(ar, r.ranges, buf->rank, dom.v, dom.n, b->predicate, box))
                ml_boxes_add(boxes, box);
        }
    }
    for (size_t d = 0; d < buf->rank; d++)
        box[d] = ml_interval_range(ar, ml_int(cx, buf->shape[d]->type, 0), buf->shape[d]);
    if (ml_boxes_cover(boxes, box, NULL))
        return true;
    return ml_unproved(cx, ML_E_COVER_LOST,
                       "all of {0} is written before pad_value reads it", ML_BUFFER(buf));
}

bool ml_layout_pad(ml_Call *c, const ml_Relayout *to, const ml_Padding *pad,
                   const ml_Block *scope, const ml_Stmt **out)
{
    ml_Ctx *cx = c->cx;
    Pad p = {.c = c, .to = to, .pad = pad};
    Writes w = {.cx = cx, .buf = to->old};
    ml_Block nb = *scope;
    ML_VEC(Nest) nests = {0};
    bool all = !pad->loads;

    find_writes(scope->body, false, &w);
    if (pad->loads &&
        (!check_inside(&p) || (pad->own && w.v.n > 0 && !check_whole(c, scope, to->old))))
        return false;
    for (size_t k = 0; k < w.v.n && all; k++) {
        Nest n;
        bool again = false;

        all = find_nest(&p, &w.v.v[k], &n);
        for (size_t m = 0; m < nests.n && all; m++)
            again |= nests.v[m].block == n.block;
        if (all && !again)
            ml_push(cx, &nests, n);
    }
    if (w.v.n == 0) {
        const ml_Stmt *both[2] = {
            new_nest(&p, ml_format(cx, "buffer_%s_assumptions", to->old->name), false),
            scope->body};

        nb.body = ml_seq(cx, both, 2);
    } else if (all) {
        for (size_t k = 0; k < nests.n; k++) {
            Swap s = {nests.v[k].top, padded_nest(&p, &nests.v[k])};

            nb.body = swap(cx, nb.body, &s);
        }
    } else {
        const ml_Stmt *at = last_place(c, to->old, &w.v.v[w.v.n - 1]);
        const ml_Stmt *both[2] = {
            at, new_nest(&p, ml_format(cx, "buffer_%s_padding", to->old->name), true)};
        Swap s = {at, ml_seq(cx, both, 2)};

        nb.body = swap(cx, nb.body, &s);
    }
    *out = ml_block_from(cx, &nb);
    return ml_ok_or_fail(cx);
}

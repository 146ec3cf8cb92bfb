/* infer - see infer.h. One walk with the ranges of the loops inside (dom) and the values of
 * bound variables (lets); conditions narrow the ranges where they are linear. */
#include "moonloop/core/script/infer.h"

#include "moonloop/core/run_on.h"

typedef struct Touch {
    const ml_Buffer *buffer;
    ml_Interval *dims;
} Touch;

typedef struct InferWalk {
    ml_Ctx *cx;
    ml_Arith *ar;
    const ml_Map *pointers;
    const ml_Block *block;
    ml_DomVec dom;
    ml_Subst lets;
    ml_Map *own;     /* uids of buffers and pointers that stay inside */
    ml_Map *alias;   /* uid of an alias inside -> the buffer outside */
    ml_Map *matches; /* uid of a match target of the block -> const ml_Match * */
    ML_VEC(Touch) reads;
    ML_VEC(Touch) writes;
    ml_Map *read_at, *write_at; /* buffer uid -> position + 1 */
    ML_VEC(const ml_Buffer *) opaque;
} InferWalk;

/* Whether a mark was made since the last time: what was computed then is no bound. The
 * analyzer must not give the same from memory, without the mark. */
static bool gave_up(InferWalk *w)
{
    if (!ml_ctx_overflowed(w->cx) && !ml_ctx_too_deep(w->cx))
        return false;
    ml_ctx_clear_marks(w->cx);
    ml_arith_forget(w->ar);
    return true;
}

static ml_Interval bounded(InferWalk *w, ml_Interval i)
{
    return gave_up(w) ? ML_EVERYTHING : i;
}

static const ml_Expr *expand(InferWalk *w, const ml_Expr *e)
{
    return w->lets.vars && ml_map_count(w->lets.vars) ? ml_expr_subst(w->cx, e, &w->lets)
                                                      : e;
}

static ml_Interval relaxed(InferWalk *w, const ml_Expr *e)
{
    e = expand(w, e);
    if (e->kind == ML_EXPR_BROADCAST)
        e = e->args[0];
    if (e->kind == ML_EXPR_RAMP && ml_is_const_int(e->args[1])) {
        int64_t span;
        ml_Interval i = ml_relax(w->ar, e->args[0], w->dom.v, w->dom.n);

        if (__builtin_mul_overflow(e->args[1]->as.i, (int64_t)e->type.lanes - 1, &span))
            return ML_EVERYTHING;
        if (span >= 0 && i.max)
            i.max =
                ml_simplify(w->ar, ml_add(w->cx, i.max, ml_int(w->cx, i.max->type, span)));
        if (span < 0 && i.min)
            i.min =
                ml_simplify(w->ar, ml_add(w->cx, i.min, ml_int(w->cx, i.min->type, span)));
        return i;
    }
    if (!ml_dtype_is_index(e->type)) /* not an index type: only a point can be said */
        return e->type.lanes == 1 && w->dom.n == 0 ? (ml_Interval){e, e, false}
                                                   : ML_EVERYTHING;
    return ml_relax(w->ar, e, w->dom.v, w->dom.n);
}

/* by + end; either may be of the wider index dtype. */
static const ml_Expr *moved(InferWalk *w, const ml_Expr *by, const ml_Expr *end)
{
    if (!end || !ml_promote(w->cx, &by, &end))
        return NULL;
    return ml_simplify(w->ar, ml_add(w->cx, by, end));
}

static ml_Interval shifted(InferWalk *w, ml_Interval i, const ml_Expr *by)
{
    i.min = moved(w, by, i.min);
    i.max = moved(w, by, i.max);
    return i;
}

static ml_Interval whole_dim(InferWalk *w, const ml_Buffer *b, size_t k)
{
    const ml_Expr *n = b->shape[k];

    return (ml_Interval){ml_int(w->cx, n->type, 0),
                         ml_sub(w->cx, n, ml_int(w->cx, n->type, 1)), false};
}

static void touch(InferWalk *w, const ml_Buffer *b, const ml_Interval *dims, bool write)
{
    const ml_Match *m = ml_map_get(w->matches, b->uid);
    const ml_Buffer *outer = ml_map_get(w->alias, b->uid);
    ml_Interval *copy;
    uintptr_t at;
    Touch t;

    if (m) { /* a view: ranges move by the source's minima */
        const ml_Buffer *src = m->source.buffer;
        size_t extra = src->rank - b->rank;

        copy = ML_ARRAY(w->cx, ml_Interval, src->rank + 1u);
        for (size_t k = 0; k < src->rank; k++) {
            ml_Range r = m->source.ranges[k];

            copy[k] = bounded(w, k < extra ? ml_relax_range(w->ar, r, w->dom.v, w->dom.n)
                                           : shifted(w, dims[k - extra], r.min));
        }
        touch(w, src, copy, write);
        return;
    }
    if (outer) {
        copy = ML_ARRAY(w->cx, ml_Interval, outer->rank + 1u);
        for (size_t k = 0; k < outer->rank; k++)
            copy[k] = whole_dim(w, outer, k);
        touch(w, outer, copy, write);
        return;
    }
    if (ml_map_has(w->own, b->uid))
        return;
    at = (uintptr_t)ml_map_get(write ? w->write_at : w->read_at, b->uid);
    if (at) {
        Touch *old = write ? &w->writes.v[at - 1] : &w->reads.v[at - 1];

        for (size_t k = 0; k < b->rank; k++)
            old->dims[k] = bounded(w, ml_interval_union(w->ar, old->dims[k], dims[k]));
        return;
    }
    t.buffer = b;
    t.dims = ML_ARRAY(w->cx, ml_Interval, b->rank + 1u);
    for (size_t k = 0; k < b->rank; k++)
        t.dims[k] = dims[k];
    if (write) {
        ml_push(w->cx, &w->writes, t);
        ml_map_set(w->cx, w->write_at, b->uid, (const void *)(uintptr_t)w->writes.n);
    } else {
        ml_push(w->cx, &w->reads, t);
        ml_map_set(w->cx, w->read_at, b->uid, (const void *)(uintptr_t)w->reads.n);
    }
}

static void touch_at(InferWalk *w, const ml_Buffer *b, const ml_Expr *const *idx, size_t n,
                     bool write)
{
    ml_Interval *dims = ML_ARRAY(w->cx, ml_Interval, n + 1);

    if (n != b->rank)
        return;
    gave_up(w); /* a bound or a value before: it wraps as it does in the program */
    size_t run = ml_run_dim(b, idx, n);
    ml_Range *box = ML_ARRAY(w->cx, ml_Range, n + 1);

    if (run < n)
        ml_run_box(w->cx, b, idx, n, run, box);
    for (size_t k = 0; k < n; k++) {
        if (run == n) {
            dims[k] = bounded(w, relaxed(w, idx[k]));
            continue;
        }
        ml_Range r = {expand(w, box[k].min), expand(w, box[k].extent)};

        dims[k] = bounded(w, ml_relax_range(w->ar, r, w->dom.v, w->dom.n));
    }
    touch(w, b, dims, write);
}

static void touch_whole(InferWalk *w, const ml_Buffer *b, bool write)
{
    ml_Interval *dims = ML_ARRAY(w->cx, ml_Interval, b->rank + 1u);

    for (size_t k = 0; k < b->rank; k++)
        dims[k] = whole_dim(w, b, k);
    touch(w, b, dims, write);
}

static void opaque(InferWalk *w, const ml_Var *pointer)
{
    const ml_Buffer *b = ml_map_get(w->pointers, pointer->uid);

    if (!b || ml_map_has(w->own, b->uid) || ml_map_has(w->own, pointer->uid))
        return;
    for (size_t k = 0; k < w->opaque.n; k++)
        if (w->opaque.v[k]->uid == b->uid)
            return;
    ml_push(w->cx, &w->opaque, b);
}

/* ---- narrowing by conditions */
/* e as coeff * v + rest; false: not linear in v. */
static bool linear(InferWalk *w, const ml_Expr *e, const ml_Var *v, int64_t *coeff)
{
    int64_t a, b;

    if (!ml_expr_uses_var(e, v)) {
        *coeff = 0;
        return true;
    }
    switch (e->kind) {
    case ML_EXPR_VAR: *coeff = 1; return true;
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
        if (!linear(w, e->args[0], v, &a) || !linear(w, e->args[1], v, &b))
            return false;
        return e->kind == ML_EXPR_ADD ? !__builtin_add_overflow(a, b, coeff)
                                      : !__builtin_sub_overflow(a, b, coeff);
    case ML_EXPR_MUL:
        if (!ml_is_const_int(e->args[1]) || !linear(w, e->args[0], v, &a))
            return false;
        return !__builtin_mul_overflow(a, e->args[1]->as.i, coeff);
    default: return false;
    }
}

/* Limits of the k-th loop by lhs - rhs <= bias (or >= when c is negative). */
static void limit(InferWalk *w, size_t k, const ml_Expr *lhs, const ml_Expr *rhs,
                  int64_t bias)
{
    ml_Dom *d = &w->dom.v[k];
    const ml_Expr *diff, *rest, *edge, *lo, *hi;
    ml_Dtype t = d->var->type;
    int64_t c;

    if (!ml_dtype_eq(lhs->type, t) || !ml_dtype_is_index(t))
        return;
    gave_up(w);
    diff = ml_sub(w->cx, lhs, rhs);
    if (!linear(w, diff, d->var, &c) || c == 0)
        return;
    rest = ml_expr_subst1(w->cx, diff, d->var, ml_int(w->cx, t, 0));
    for (size_t j = 0; j < w->dom.n; j++)
        if (ml_expr_uses_var(rest, w->dom.v[j].var))
            return;
    /* c * v <= bias - rest */
    edge = ml_simplify(w->ar, ml_sub(w->cx, ml_int(w->cx, t, bias), rest));
    if (c != 1 && c != -1 && !ml_is_const_int(edge))
        return;
    lo = d->min;
    hi = ml_sub(w->cx, ml_add(w->cx, d->min, d->extent), ml_int(w->cx, t, 1));
    if (c > 0) {
        if (c != 1)
            edge = ml_floordiv(w->cx, edge, ml_int(w->cx, t, c));
        hi = ml_min(w->cx, hi, edge);
    } else { /* v >= -floor(edge / -c) */
        if (c == INT64_MIN)
            return;
        if (c != -1)
            edge = ml_floordiv(w->cx, edge, ml_int(w->cx, t, -c));
        lo = ml_max(w->cx, lo, ml_sub(w->cx, ml_int(w->cx, t, 0), edge));
    }
    lo = ml_simplify(w->ar, lo);
    hi = ml_simplify(w->ar, ml_add(w->cx, ml_sub(w->cx, hi, lo), ml_int(w->cx, t, 1)));
    if (gave_up(w))
        return;
    d->min = lo;
    d->extent = hi;
}

static void assume(InferWalk *w, const ml_Expr *c, bool holds)
{
    ml_ExprKind k = (ml_ExprKind)c->kind;
    const ml_Expr *a, *b;

    if (ml_is_op(c, ML_OP_LIKELY) && c->kind == ML_EXPR_CALL) {
        assume(w, c->args[0], holds);
        return;
    }
    if ((k == ML_EXPR_AND && holds) || (k == ML_EXPR_OR && !holds)) {
        assume(w, c->args[0], holds);
        assume(w, c->args[1], holds);
        return;
    }
    if (k == ML_EXPR_NOT) {
        assume(w, c->args[0], !holds);
        return;
    }
    if (k < ML_EXPR_EQ || k > ML_EXPR_GE || !ml_dtype_is_index(c->args[0]->type))
        return;
    a = c->args[0];
    b = c->args[1];
    if (!holds) {
        static const uint8_t OTHER[] = {ML_EXPR_NE, ML_EXPR_EQ, ML_EXPR_GE,
                                        ML_EXPR_GT, ML_EXPR_LE, ML_EXPR_LT};

        k = (ml_ExprKind)OTHER[k - ML_EXPR_EQ];
    }
    for (size_t j = 0; j < w->dom.n; j++) {
        if (k == ML_EXPR_LT || k == ML_EXPR_LE || k == ML_EXPR_EQ)
            limit(w, j, a, b, k == ML_EXPR_LT ? -1 : 0);
        if (k == ML_EXPR_GT || k == ML_EXPR_GE || k == ML_EXPR_EQ)
            limit(w, j, b, a, k == ML_EXPR_GT ? -1 : 0);
    }
}

/* A copy of the ranges in force, to be put back with restore. */
static ml_Dom *save(InferWalk *w)
{
    ml_Dom *copy = ML_ARRAY(w->cx, ml_Dom, w->dom.n + 1);

    if (w->dom.n)
        memcpy(copy, w->dom.v, w->dom.n * sizeof *copy);
    return copy;
}

static void restore(InferWalk *w, const ml_Dom *copy, size_t n)
{
    w->dom.n = n;
    if (n)
        memcpy(w->dom.v, copy, n * sizeof *copy);
}

/* ---- the walk */
static void expr(InferWalk *w, const ml_Expr *e)
{
    if (!(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)) && e->type.code != ML_HANDLE &&
        e->kind != ML_EXPR_LET)
        return;
    switch (e->kind) {
    case ML_EXPR_LOAD: touch_at(w, e->as.buffer, e->args, ml_load_rank(e), false); break;
    case ML_EXPR_VAR: opaque(w, e->as.var); return;
    case ML_EXPR_LET: {
        const ml_Expr *value = expand(w, e->args[0]);

        expr(w, e->args[0]);
        ml_subst_var(w->cx, &w->lets, e->as.var, value);
        expr(w, e->args[1]);
        return;
    }
    case ML_EXPR_CALL:
        if (ml_is_op(e, ML_OP_ACCESS_PTR) && e->n_args == 5 &&
            e->args[1]->kind == ML_EXPR_VAR) {
            const ml_Buffer *b = ml_map_get(w->pointers, e->args[1]->as.var->uid);
            int64_t mask = ml_is_const_int(e->args[4]) ? e->args[4]->as.i : 3;

            if (b && mask == 1)
                touch_whole(w, b, false);
            else if (b && mask == 2)
                touch_whole(w, b, true);
            else
                opaque(w, e->args[1]->as.var);
            expr(w, e->args[2]);
            expr(w, e->args[3]);
            return;
        }
        if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && e->n_args == 3) {
            size_t n = w->dom.n;
            const ml_Dom *old = save(w);
            const ml_Expr *c = expand(w, e->args[0]);

            expr(w, e->args[0]);
            assume(w, c, true);
            expr(w, e->args[1]);
            restore(w, old, n);
            assume(w, c, false);
            expr(w, e->args[2]);
            restore(w, old, n);
            return;
        }
        break;
    default: break;
    }
    for (size_t k = 0; k < e->n_args; k++)
        expr(w, e->args[k]);
}

static void nested_region(InferWalk *w, const ml_Region *r, const ml_Subst *bindings,
                          bool write)
{
    ml_Interval *dims = ML_ARRAY(w->cx, ml_Interval, r->buffer->rank + 1u);

    gave_up(w);
    for (size_t k = 0; k < r->buffer->rank; k++) {
        ml_Range x = r->ranges[k];

        x.min = expand(w, bindings->vars ? ml_expr_subst(w->cx, x.min, bindings) : x.min);
        x.extent =
            expand(w, bindings->vars ? ml_expr_subst(w->cx, x.extent, bindings) : x.extent);
        dims[k] = bounded(w, ml_relax_range(w->ar, x, w->dom.v, w->dom.n));
    }
    touch(w, r->buffer, dims, write);
}

static void stmt(InferWalk *w, const ml_Stmt *s);

static void child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    stmt(user, s);
}

static void role(const ml_Expr *e, ml_Role r, void *user)
{
    (void)r;
    expr(user, e);
}

static void own(InferWalk *w, const ml_Buffer *b, bool pointer)
{
    ml_map_set(w->cx, w->own, b->uid, b);
    if (pointer)
        ml_map_set(w->cx, w->own, b->data->uid, b);
}

static void nested(InferWalk *w, const ml_Block *b)
{
    ml_Subst bindings = {NULL, NULL};

    for (uint32_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].value) {
            ml_subst_var(w->cx, &bindings, b->iters[k].var, b->iters[k].value);
            expr(w, b->iters[k].value);
        }
    if (b->predicate) /* it and the bindings are evaluated here, not in the block */
        expr(w, b->predicate);
    for (uint32_t k = 0; k < b->n_reads; k++)
        nested_region(w, &b->reads[k], &bindings, false);
    for (uint32_t k = 0; k < b->n_writes; k++)
        nested_region(w, &b->writes[k], &bindings, true);
}

static void stmt(InferWalk *w, const ml_Stmt *s)
{
    size_t n = w->dom.n;
    const ml_Dom *old;
    ml_Dom d;

    switch (s->kind) {
    case ML_STMT_STORE: {
        const ml_Store *st = ml_as_store(s);

        touch_at(w, st->buffer, st->indices, st->n, true);
        expr(w, st->value);
        for (uint32_t k = 0; k < st->n; k++)
            expr(w, st->indices[k]);
        if (st->mask)
            expr(w, st->mask);
        return;
    }
    case ML_STMT_FOR: {
        const ml_For *f = ml_as_for(s);

        expr(w, f->min);
        expr(w, f->extent);
        d = (ml_Dom){f->var, expand(w, f->min), expand(w, f->extent)};
        ml_push(w->cx, &w->dom, d);
        stmt(w, f->body);
        w->dom.n = n;
        return;
    }
    case ML_STMT_IF: {
        const ml_If *f = ml_as_if(s);
        const ml_Expr *c = expand(w, f->cond);

        expr(w, f->cond);
        old = save(w);
        assume(w, c, true);
        stmt(w, f->then);
        restore(w, old, n);
        if (f->other) {
            assume(w, c, false);
            stmt(w, f->other);
            restore(w, old, n);
        }
        return;
    }
    case ML_STMT_BIND: {
        const ml_Bind *b = ml_as_bind(s);

        expr(w, b->value);
        ml_subst_var(w->cx, &w->lets, b->var, expand(w, b->value));
        return;
    }
    case ML_STMT_ALLOC: own(w, ml_as_alloc(s)->buffer, true); return;
    case ML_STMT_DECL: {
        const ml_Alloc *a = ml_as_alloc(s);
        const ml_Buffer *outer = a->data && a->data->kind == ML_EXPR_VAR
                                     ? ml_map_get(w->pointers, a->data->as.var->uid)
                                     : NULL;

        if (outer && outer->uid != a->buffer->uid && !ml_map_has(w->own, outer->uid))
            ml_map_set(w->cx, w->alias, a->buffer->uid, outer);
        else
            own(w, a->buffer, false);
        if (a->data && a->data->kind != ML_EXPR_VAR)
            expr(w, a->data);
        return;
    }
    case ML_STMT_BLOCK: nested(w, ml_as_block(s)); return;
    case ML_STMT_ATTR:
        if (ml_as_attr(s)->value && ml_as_attr(s)->value->kind == ML_VAL_EXPR)
            expr(w, ml_as_attr(s)->value->as.expr);
        break;
    default: ml_stmt_exprs(s, role, w); break;
    }
    ml_stmt_children(s, child, w);
}

static void range(InferWalk *w, ml_Range r)
{
    expr(w, r.min);
    expr(w, r.extent);
}

static ml_Region result(InferWalk *w, const Touch *t)
{
    ml_Range *r = ML_ARRAY(w->cx, ml_Range, t->buffer->rank + 1u);

    for (size_t k = 0; k < t->buffer->rank; k++) {
        const ml_Expr *n = t->buffer->shape[k];
        ml_Range whole = {ml_int(w->cx, n->type, 0), n};
        ml_Interval i = t->dims[k];

        if (i.min && i.max && (i.min == i.max || ml_interval_is_point(w->ar, i)))
            r[k] = (ml_Range){i.min, ml_int(w->cx, i.min->type, 1)};
        else
            r[k] = ml_interval_cover(w->ar, i, whole);
        if (gave_up(w))
            r[k] = whole;
    }
    return (ml_Region){t->buffer, r};
}

bool ml_infer_regions(ml_Ctx *cx, ml_Arith *ar, const ml_Map *pointers, const ml_Block *b,
                      ml_Inferred *out)
{
    InferWalk w = {.cx = cx, .ar = ar, .pointers = pointers, .block = b};
    ml_CtxMarks before = ml_ctx_take_marks(cx);
    bool ok;

    ml_arith_bind_iters(ar, b);
    w.own = ml_map_new(cx);
    w.alias = ml_map_new(cx);
    w.matches = ml_map_new(cx);
    w.read_at = ml_map_new(cx);
    w.write_at = ml_map_new(cx);
    for (uint32_t k = 0; k < b->n_allocs; k++)
        own(&w, b->allocs[k], true);
    for (uint32_t k = 0; k < b->n_matches; k++)
        ml_map_set(cx, w.matches, b->matches[k].target->uid, &b->matches[k]);
    for (uint32_t k = 0; k < b->n_iters; k++)
        range(&w, (ml_Range){b->iters[k].min, b->iters[k].extent});
    for (uint32_t k = 0; k < b->n_allocs; k++)
        for (size_t j = 0; j < b->allocs[k]->rank; j++)
            expr(&w, b->allocs[k]->shape[j]);
    for (uint32_t k = 0; k < b->n_reads; k++)
        for (size_t j = 0; j < b->reads[k].buffer->rank; j++)
            range(&w, b->reads[k].ranges[j]);
    for (uint32_t k = 0; k < b->n_writes; k++)
        for (size_t j = 0; j < b->writes[k].buffer->rank; j++)
            range(&w, b->writes[k].ranges[j]);
    for (uint32_t k = 0; k < b->n_matches; k++)
        for (size_t j = 0; j < b->matches[k].source.buffer->rank; j++)
            range(&w, b->matches[k].source.ranges[j]);
    if (b->init)
        stmt(&w, b->init);
    stmt(&w, b->body);
    memset(out, 0, sizeof *out);
    for (size_t k = 0; k < w.writes.n; k++) {
        ml_Region r = result(&w, &w.writes.v[k]);

        ml_push(cx, &out->writes, r);
    }
    for (size_t k = 0; k < w.reads.n; k++) {
        ml_Region r;
        bool written = ml_map_has(w.write_at, w.reads.v[k].buffer->uid);

        for (uint32_t j = 0; j < b->n_writes; j++)
            written |= b->writes[j].buffer->uid == w.reads.v[k].buffer->uid;
        if (b->init && written)
            continue;
        r = result(&w, &w.reads.v[k]);
        ml_push(cx, &out->reads, r);
    }
    for (size_t k = 0; k < w.opaque.n; k++)
        ml_push(cx, &out->opaque, w.opaque.v[k]);
    ml_ctx_clear_marks(cx);
    ok = ml_ok(cx);
    ml_ctx_put_marks(cx, before);
    return ok;
}

/* ---- pointers */
typedef struct Collect {
    ml_Ctx *cx;
    ml_Map *map;
} Collect;

static void keep(Collect *c, const ml_Buffer *b)
{
    if (!ml_map_has(c->map, b->data->uid))
        ml_map_set(c->cx, c->map, b->data->uid, b);
}

static bool collect(const ml_Stmt *s, void *user)
{
    Collect *c = user;

    if (s->kind == ML_STMT_ALLOC || s->kind == ML_STMT_DECL)
        keep(c, ml_as_alloc(s)->buffer);
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        for (uint32_t k = 0; k < b->n_allocs; k++)
            keep(c, b->allocs[k]);
        for (uint32_t k = 0; k < b->n_matches; k++)
            keep(c, b->matches[k].target);
    }
    return true;
}

ml_Map *ml_infer_pointers(ml_Ctx *cx, const ml_Func *f)
{
    Collect c = {cx, ml_map_new(cx)};

    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            keep(&c, f->params[k].buffer);
    ml_stmt_visit(f->body, collect, &c);
    return c.map;
}

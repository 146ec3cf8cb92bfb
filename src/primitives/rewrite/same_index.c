/*
 * same_index - accesses of one block to one buffer that all have the same indices.
 *
 * reindex and its relatives give such a block a buffer of its own: then every access can
 * be renamed to one other element. What speaks against it is found here: other indices
 * elsewhere, a mask, a view, the pointer. Source: primitives 8, reindex.
 */
#include "moonloop/primitives/rewrite/same_index.h"

#include "moonloop/primitives/rewrite/move.h"

/* ---- finding */

typedef struct Find {
    const ml_Buffer *buf;
    ml_AccessIndex r;
} Find;

static void against(Find *f, const char *why)
{
    if (!f->r.why)
        f->r.why = why;
}

static void access_at(Find *f, const ml_Expr *const *idx, size_t n, bool masked)
{
    if (masked)
        against(f, "it is accessed under a mask");
    for (size_t d = 0; d < n; d++) {
        if (idx[d]->type.lanes != 1)
            against(f, "it is accessed as a vector");
        if (f->r.index && f->r.index[d] != idx[d])
            against(f, "its accesses have different indices");
    }
    if (!f->r.index)
        f->r.index = idx;
}

static bool in_expr(const ml_Expr *e, void *user)
{
    Find *f = user;

    if (e->kind == ML_EXPR_VAR && e->as.var->uid == f->buf->data->uid)
        against(f, "it is used through its pointer");
    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == f->buf->uid) {
        access_at(f, e->args, ml_load_rank(e), (e->flags & ML_X_MASKED) != 0);
        f->r.loads = true;
    }
    return true;
}

static void in_role(const ml_Expr *e, ml_Role role, void *user)
{
    Find *f = user;

    if (role == ML_ROLE_REGION)
        return;
    if (role != ML_ROLE_VALUE && role != ML_ROLE_INDEX && role != ML_ROLE_MASK &&
        role != ML_ROLE_COND && ml_expr_uses_buffer(e, f->buf))
        against(f, "it decides a bound");
    ml_expr_visit(e, in_expr, f);
}

static bool in_stmt(const ml_Stmt *s, void *user)
{
    Find *f = user;

    if (s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == f->buf->uid) {
        const ml_Store *st = ml_as_store(s);

        access_at(f, st->indices, st->n, st->mask != NULL);
        f->r.stores = true;
    }
    if (s->kind == ML_STMT_DECL && ml_as_alloc(s)->data &&
        ml_expr_uses_var(ml_as_alloc(s)->data, f->buf->data))
        against(f, "it is used through its pointer");
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        if (ml_expr_uses_buffer(b->predicate, f->buf))
            against(f, "a predicate reads it");
        for (size_t k = 0; k < b->n_matches; k++)
            if (b->matches[k].source.buffer->uid == f->buf->uid)
                against(f, "it is matched to a view");
    }
    ml_stmt_exprs(s, in_role, f);
    return true;
}

ml_AccessIndex ml_access_index(ml_Ctx *cx, const ml_Block *b, const ml_Buffer *buf)
{
    Find f = {.buf = buf};

    (void)cx;
    ml_stmt_visit(&b->base, in_stmt, &f);
    return f.r;
}

/* ---- variables of the indices */

static bool uses_any(const ml_Var *v, const ml_Expr *const *e, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (ml_expr_uses_var(e[k], v))
            return true;
    return false;
}

void ml_iters_used(ml_Ctx *cx, const ml_Block *b, const ml_Expr *const *e, size_t n,
                   ml_IterList *out)
{
    for (uint32_t k = 0; k < b->n_iters; k++)
        if (uses_any(b->iters[k].var, e, n))
            ml_push(cx, out, k);
}

typedef struct Inner {
    const ml_Expr *const *e;
    size_t n;
    const ml_Var *found;
} Inner;

static bool let_inside(const ml_Expr *e, void *user)
{
    Inner *in = user;

    if (e->kind == ML_EXPR_LET && uses_any(e->as.var, in->e, in->n))
        in->found = e->as.var;
    return !in->found;
}

static bool defines(const ml_Stmt *s, void *user)
{
    Inner *in = user;
    const ml_Var *v = s->kind == ML_STMT_FOR    ? ml_as_for(s)->var
                      : s->kind == ML_STMT_BIND ? ml_as_bind(s)->var
                      : s->kind == ML_STMT_ATTR ? ml_attr_defines(ml_as_attr(s))
                                                : NULL;

    if (v && uses_any(v, in->e, in->n))
        in->found = v;
    for (uint32_t k = 0; s->kind == ML_STMT_BLOCK && k < ml_as_block(s)->n_iters; k++)
        if (uses_any(ml_as_block(s)->iters[k].var, in->e, in->n))
            in->found = ml_as_block(s)->iters[k].var;
    if (!in->found)
        ml_stmt_visit_exprs(s, ML_ROLES_ALL, let_inside, in);
    return !in->found;
}

bool ml_uses_other_var(ml_Call *c, const ml_Block *b, const ml_Expr *const *e, size_t n,
                       const ml_Var **what)
{
    Inner in = {e, n, NULL};
    ml_StmtVec loops = {0};

    ml_index_loops(c->cx, c->p.index, b->tag, &loops);
    for (size_t k = 0; k < loops.n; k++)
        if (uses_any(ml_as_for(loops.v[k])->var, e, n))
            in.found = ml_as_for(loops.v[k])->var;
    if (!in.found)
        ml_stmt_visit(b->body, defines, &in);
    if (!in.found && b->init)
        ml_stmt_visit(b->init, defines, &in);
    *what = in.found;
    return in.found != NULL;
}

/* ---- rewriting */

typedef struct Move {
    const ml_Buffer *from, *to;
    const ml_Expr *const *idx;
} Move;

static const ml_Expr *move_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Move *m = user;

    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == m->from->uid)
        return ml_load(cx, m->to, m->idx, m->to->rank);
    return ml_expr_map_args(cx, e, move_expr, user);
}

ml_Region ml_point_region(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *idx)
{
    ml_Range *r = ML_ARRAY(cx, ml_Range, b->rank + 1u);

    for (size_t d = 0; d < b->rank; d++)
        r[d] = (ml_Range){idx[d], ml_int(cx, idx[d]->type, 1)};
    return (ml_Region){b, r};
}

static const ml_Region *move_regions(ml_Ctx *cx, const Move *m, const ml_Region *v,
                                     uint32_t *n)
{
    ml_Region *out = ML_ARRAY(cx, ml_Region, *n + 1u);
    Move mine = *m;
    uint32_t k, at = 0;
    bool done = false;

    for (k = 0; k < *n; k++)
        if (v[k].buffer->uid != m->from->uid)
            out[at++] = ml_region_map_loads(cx, v[k], move_expr, &mine);
        else if (!done) {
            out[at++] = ml_point_region(cx, m->to, m->idx);
            done = true;
        }
    *n = at;
    return out;
}

static const ml_Stmt *move_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const Move *m = user;

    if (s->kind == ML_STMT_BLOCK) { /* a block inside: what it declares moves, too */
        const ml_Block *b = ml_as_block(ml_stmt_map(
            cx, s, &(ml_Mapper){.stmt = move_stmt, .expr = move_expr, .user = user}));
        ml_Block nb = *b;

        nb.reads = move_regions(cx, m, b->reads, &nb.n_reads);
        nb.writes = move_regions(cx, m, b->writes, &nb.n_writes);
        ml_block_keep_said(cx, ml_as_block(s), &nb);
        return ml_block_from(cx, &nb);
    }
    if (s->kind != ML_STMT_STORE || ml_as_store(s)->buffer->uid != m->from->uid)
        return ml_stmt_map(
            cx, s, &(ml_Mapper){.stmt = move_stmt, .expr = move_expr, .user = user});
    const ml_Expr *value = move_expr(cx, ml_as_store(s)->value, user);

    return ml_stmt_at(cx, ml_store(cx, m->to, value, m->idx, m->to->rank, NULL), s->span);
}

const ml_Block *ml_with_access(ml_Ctx *cx, const ml_Block *b, const ml_Buffer *from,
                               const ml_Buffer *to, const ml_Expr *const *idx)
{
    Move m = {from, to, idx};
    ml_Block nb = *b;

    nb.body = move_stmt(cx, b->body, &m);
    if (b->init)
        nb.init = move_stmt(cx, b->init, &m);
    nb.reads = move_regions(cx, &m, b->reads, &nb.n_reads);
    nb.writes = move_regions(cx, &m, b->writes, &nb.n_writes);
    ml_block_keep_said(cx, b, &nb);
    return ml_as_block(ml_block_from(cx, &nb));
}

const ml_Expr *ml_bounds_to_ask(ml_Arith *ar, const ml_Expr *at, const ml_Expr *dim)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    if (!ml_promote(cx, &at, &dim))
        return ml_bool(cx, false);
    const ml_Expr *low = ml_ge(cx, at, ml_int(cx, at->type, 0)), *high = ml_lt(cx, at, dim);
    const ml_Expr *yes = ml_bool(cx, true);

    return ml_and(cx, ml_prove_symbolic(ar, low) ? yes : ml_simplify(ar, low),
                  ml_prove_symbolic(ar, high) ? yes : ml_simplify(ar, high));
}

const ml_Stmt *ml_copy_block(ml_Call *c, const char *name, const ml_Iter *iters, size_t n,
                             const ml_Buffer *from, const ml_Expr *const *at_from,
                             const ml_Expr *guard, const ml_Buffer *to,
                             const ml_Expr *const *at_to, ml_Uid *tag)
{
    ml_Ctx *cx = c->cx;
    ml_Region *reads = ML_NEW(cx, ml_Region), *writes = ML_NEW(cx, ml_Region);
    const ml_Expr *value = ml_load(cx, from, at_from, from->rank);
    bool gathers = guard && !ml_is_true(guard);

    if (gathers)
        value = ml_if_then_else(cx, guard, value, ml_const(cx, from->type, 0));

    *reads = ml_point_region(cx, from, at_from);
    *writes = ml_point_region(cx, to, at_to);
    for (size_t d = 0; d < from->rank; d++)
        gathers |= (at_from[d]->flags & ML_X_HAS_LOAD) != 0;
    ml_Block b = {.tag = *tag = ml_fresh_uid(cx),
                  .name = name,
                  .predicate = ml_bool(cx, true),
                  .n_iters = (uint32_t)n,
                  .n_reads = 1,
                  .n_writes = 1,
                  .iters = iters,
                  .reads = reads,
                  .writes = writes};

    b.body = ml_store(cx, to, value, at_to, to->rank, NULL);
    const ml_Stmt *st = ml_block_from(cx, &b);

    if (!gathers)
        return st;
    const ml_Block *r = ml_block_reinfer(cx, ml_call_func(c), ml_as_block(st));

    return r ? &r->base : NULL;
}

/* ---- the way from the block to its scope */

const ml_Stmt *ml_only_children(ml_Call *c, ml_Uid block)
{
    const ml_Index *ix = c->p.index;
    ml_Uid scope = ml_index_scope(ix, block), child = block;

    if (!ml_check_schedulable(c, scope, block))
        return NULL;
    for (ml_Uid up = ml_index_parent(ix, block); up != scope;
         up = ml_index_parent(ix, up)) {
        const ml_Stmt *below = ml_index_node(ix, child);

        if (ml_call_loop(c, up)->body != below) {
            ml_fail_not_only_child(c, below, ml_call_loop(c, up));
            return NULL;
        }
        child = up;
    }
    return ml_index_node(ix, child);
}

const ml_Stmt *ml_with_leaf(ml_Call *c, ml_Uid block, const ml_Stmt *with)
{
    const ml_Index *ix = c->p.index;
    ml_Uid scope = ml_index_scope(ix, block);

    for (ml_Uid up = ml_index_parent(ix, block); up != scope;
         up = ml_index_parent(ix, up)) {
        ml_For f = *ml_call_loop(c, up);

        f.body = with;
        with = ml_for_from(c->cx, &f);
    }
    return with;
}

bool ml_covers_domains(ml_Call *c, const ml_Block *b, const ml_IterList *iters)
{
    ml_Ctx *cx = c->cx;
    ml_Uid scope = ml_index_scope(c->p.index, b->tag);
    ml_Arith *ar = ml_arith_at(cx, c->p, scope);
    ml_Range *box = ML_ARRAY(cx, ml_Range, iters->n + 1);
    ml_Interval *got = ML_ARRAY(cx, ml_Interval, iters->n + 1);
    ml_DomVec dom = {0};

    ml_arith_bind_iters(ar, ml_call_block(c, scope));
    ml_relax_domain(cx, c->p, b->tag, 0, NULL, &dom);
    for (size_t k = 0; k < iters->n; k++) {
        const ml_Expr *v = b->iters[iters->v[k]].value;

        box[k] = (ml_Range){v, ml_int(cx, v->type, 1)};
    }
    if (!ml_region_lower(ar, box, iters->n, dom.v, dom.n, b->predicate, got))
        return false;
    for (size_t k = 0; k < iters->n; k++) {
        const ml_Iter *it = &b->iters[iters->v[k]];

        if (!ml_interval_includes(ar, got[k], ml_interval_range(ar, it->min, it->extent)))
            return false;
    }
    return true;
}

bool ml_check_starts_fresh(ml_Call *c, const ml_Block *b, const ml_Buffer *buf)
{
    ml_Ctx *cx = c->cx;
    const char *why = NULL;

    if (!ml_check_reduces_inside(c, b->tag))
        return false;
    if (!ml_read_of(b, buf) &&
        (!b->init || !ml_reduction_violation(cx, c->facts, c->p, b->tag, &why)))
        return true;
    if (b->init)
        return ml_need_reduction(cx, c->facts, c->p, b->tag);
    return ml_fail_as(cx, ML_E_COVER_LOST,
                      "block {0} reads {1} without an init; its own buffer would start "
                      "without those values",
                      ML_BLOCK(b), ML_BUFFER(buf));
}

/* ---- whether indices tell all values of the iters apart */

typedef struct Digit {
    const ml_Var *var;
    int64_t lower, extent; /* var // lower % extent */
} Digit;

/* The digits of an index that its value tells apart: each scale is larger than everything
 * below it together. */
static bool digits_of(ml_Arith *ar, const ml_Expr *e, const ml_DomVec *dom, Digit *out,
                      size_t *n, size_t room)
{
    ml_IterSum sum;
    __int128 below = 0;

    if (!ml_iter_normalize(ar, e, dom->v, dom->n, &sum))
        return false;
    for (size_t k = sum.n; k-- > 0;) { /* smallest scale first */
        const ml_IterDigit *d = &sum.digits[k];

        if (*n == room || !d->mark->var || !ml_is_int(d->offset, 0) ||
            !ml_is_const_int(d->lower) || !ml_is_const_int(d->extent) ||
            !ml_is_const_int(d->scale))
            return false;
        __int128 scale = d->scale->as.i < 0 ? -(__int128)d->scale->as.i : d->scale->as.i;

        if (scale <= below)
            return false;
        out[(*n)++] = (Digit){d->mark->var, d->lower->as.i, d->extent->as.i};
        below += scale * (d->extent->as.i - 1);
    }
    return true;
}

/* Whether the digits of the variable put together give it back. */
static bool digits_give(const Digit *v, size_t n, const ml_Dom *dom)
{
    int64_t have = 1;

    if (!ml_is_const_int(dom->extent))
        return false;
    for (bool more = true; more && have < dom->extent->as.i;) {
        more = false;
        for (size_t k = 0; k < n && !more; k++)
            if (v[k].var->uid == dom->var->uid && v[k].lower <= have && v[k].lower > 0 &&
                v[k].extent > have / v[k].lower && have % v[k].lower == 0) {
                more = !__builtin_mul_overflow(v[k].lower, v[k].extent, &have);
            }
    }
    return have >= dom->extent->as.i;
}

bool ml_is_injective(ml_Call *c, const ml_Block *b, const ml_IterList *iters,
                     const ml_Expr *const *e, size_t n)
{
    enum { ROOM = 64 };
    ml_Ctx *cx = c->cx;
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);
    ml_DomVec dom = {0};
    Digit digits[ROOM];
    size_t n_digits = 0;

    for (size_t k = 0; k < iters->n; k++) {
        const ml_Iter *it = &b->iters[iters->v[k]];

        ml_push(cx, &dom, ((ml_Dom){it->var, it->min, it->extent}));
    }
    if (ml_iter_holds(ar, e, n, dom.v, dom.n, ml_bool(cx, true), ML_BIJECTIVE, false))
        return true;
    /* Indices that leave gaps tell them apart too. */
    for (size_t k = 0; k < n; k++)
        if (!digits_of(ar, e[k], &dom, digits, &n_digits, ROOM))
            return false;
    for (size_t k = 0; k < dom.n; k++)
        if (!digits_give(digits, n_digits, &dom.v[k]))
            return false;
    return true;
}

bool ml_in_declared_reads(ml_Call *c, ml_Arith *ar, ml_Uid scope, const ml_Buffer *buf,
                          size_t d, const ml_Expr *at)
{
    const ml_Block *root = ml_call_block(c, scope);
    ml_Ctx *cx = c->cx;

    for (size_t k = 0; k < root->n_reads; k++) {
        if (root->reads[k].buffer->uid != buf->uid)
            continue;
        const ml_Expr *min = ml_cast(cx, at->type, root->reads[k].ranges[d].min);
        const ml_Expr *n = ml_cast(cx, at->type, root->reads[k].ranges[d].extent);

        return ml_interval_includes(ar, ml_interval_range(ar, min, n),
                                    ml_interval_point(at));
    }
    return true;
}

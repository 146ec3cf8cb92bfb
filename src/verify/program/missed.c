/*
 * missed - whether a block surely reads what nothing wrote, for findings that are errors.
 *
 * The elements surely read are held against the hull of all that any producer may have
 * written before: under the common ancestor, and in earlier iterations of the loops around
 * it. Source: ir-and-analysis 5.2 rule 7.
 */
#include "moonloop/verify/cover/cover_impl.h"

/* Some end of what is read lies provably, at some point, outside all that is written. */
static bool dimension_missed(ml_Cover *c, ml_Interval read, ml_Interval written)
{
    ml_Subst threads = {0};
    const ml_Expr *gaps[2] = {NULL, NULL};

    if (read.nothing)
        return false;
    if (written.nothing)
        return true;
    for (size_t k = 0; k < c->tags.n; k++)
        ml_subst_var(c->cx, &threads, c->tags.v[k].var,
                     ml_var(c->cx, c->tags.v[k].loop->var));
    if (read.max && written.max && ml_dtype_eq(read.max->type, written.max->type))
        gaps[0] = ml_sub(c->cx, read.max, written.max);
    if (read.min && written.min && ml_dtype_eq(read.min->type, written.min->type))
        gaps[1] = ml_sub(c->cx, written.min, read.min);
    for (size_t k = 0; k < 2; k++) {
        if (!gaps[k])
            continue;
        if (threads.vars) {
            for (size_t t = 0; t < c->tags.n; t++)
                ml_arith_bind_loop(c->ar, c->tags.v[t].loop);
            gaps[k] = ml_expr_subst(c->cx, gaps[k], &threads);
        }
        if (ml_reaches(c->ar, c->p, gaps[k], 1))
            return true;
    }
    return false;
}

/* The loops of the scope around a node, outermost first; with itself, if it is one. Not
 * those of threads that have the buffer for themselves: what another one wrote is not seen.
 */
static void loops_around(ml_Cover *c, ml_Uid uid, const ml_Buffer *buf, ml_StmtVec *out)
{
    ml_StmtVec all = {0};

    if (uid == c->scope)
        return;
    ml_index_loops(c->cx, c->p.index, uid, &all);
    if (ml_index_node(c->p.index, uid)->kind == ML_STMT_FOR)
        ml_push(c->cx, &all, ml_index_node(c->p.index, uid));
    for (size_t k = 0; k < all.n; k++) {
        ml_Thread t = ml_as_for(all.v[k])->thread;

        if (buf->scope.rank <= 0 || !t.axis || ml_scope_spans(buf->scope, t))
            ml_push(c->cx, out, all.v[k]);
    }
}

/* The loop with a variable of its own: its iterations before the present one, or all. */
static ml_Dom again(ml_Cover *c, const ml_For *f, bool before, ml_Subst *sub)
{
    const ml_Var *v = ml_var_new(c->cx, f->var->hint, f->var->type);
    ml_Dom d = {v, ml_expr_subst(c->cx, f->min, sub), ml_expr_subst(c->cx, f->extent, sub)};

    if (before && f->kind != ML_FOR_PARALLEL && f->kind != ML_FOR_THREAD)
        d.extent = ml_sub(c->cx, ml_var(c->cx, f->var), f->min);
    ml_subst_var(c->cx, sub, f->var, ml_var(c->cx, v));
    return d;
}

static void add_hull(ml_Cover *c, const ml_Region *r, const ml_DomVec *dom,
                     const ml_Expr *pred, ml_Interval *hull)
{
    size_t rank = r->buffer->rank;
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, rank + 1u);

    ml_region_upper(c->ar, r->ranges, rank, dom->v, dom->n, pred, box);
    for (size_t d = 0; d < rank; d++)
        hull[d] = ml_interval_union(c->ar, hull[d], box[d]);
}

/* What w may have written when the consumer runs: in this iteration of the loops that they
 * share, if it comes first, and in those before. */
static void add_written(ml_Cover *c, const ml_Block *consumer, const ml_Block *w,
                        const ml_Region *write, bool first, ml_Interval *hull)
{
    ml_Uid a = ml_index_lca(c->p.index, w->tag, consumer->tag);
    ml_CoverAround around;
    const ml_Expr *pred;
    ml_StmtVec shared = {0};

    ml_cover_around(c, w->tag, a == c->scope ? 0 : a, write->buffer, &around);
    if (a == w->tag)
        around.dom.n = 0; /* the consumer itself */
    ml_Region r = ml_cover_outward(c, w, write, &around, &pred);

    if (first)
        add_hull(c, &r, &around.dom, pred, hull);
    loops_around(c, a, write->buffer, &shared);
    for (size_t k = 0; k < shared.n; k++) { /* the first of them that was elsewhere */
        ml_Subst sub = {0};
        ml_DomVec dom = {0};

        for (size_t m = k; m < shared.n; m++)
            ml_push(c->cx, &dom, again(c, ml_as_for(shared.v[m]), m == k, &sub));
        for (size_t m = 0; m < around.dom.n; m++) {
            ml_Dom d = around.dom.v[m];

            d.min = ml_expr_subst(c->cx, d.min, &sub);
            d.extent = ml_expr_subst(c->cx, d.extent, &sub);
            ml_push(c->cx, &dom, d);
        }
        ml_Region then = ml_region_subst(c->cx, r, &sub);

        add_hull(c, &then, &dom, ml_expr_subst(c->cx, pred, &sub), hull);
    }
}

/* What is read of the buffer from outside of the scope. */
static void add_outer(ml_Cover *c, const ml_Buffer *buf, ml_Interval *hull)
{
    const ml_Block *root = ml_as_block(ml_index_node(c->p.index, c->scope));
    const ml_DomVec none = {0};

    for (size_t k = 0; k < root->n_reads; k++)
        if (root->reads[k].buffer->uid == buf->uid)
            add_hull(c, &root->reads[k], &none, ml_bool(c->cx, true), hull);
}

/* ---- whether a signature is more than what is read */

typedef struct Loads {
    const ml_Buffer *buf;
    const ml_Expr *one; /* the load, while there is only one */
    bool more;
} Loads;

static bool look_at_load(const ml_Expr *e, void *user)
{
    Loads *l = user;

    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == l->buf->uid) {
        l->more |= l->one && l->one != e;
        l->one = e;
    }
    return (e->flags & ML_X_HAS_LOAD) != 0;
}

static void look_for_loads(const ml_Expr *e, ml_Role role, void *user)
{
    if (role != ML_ROLE_REGION && e->flags & ML_X_HAS_LOAD)
        ml_expr_visit(e, look_at_load, user);
}

static bool loads_of(const ml_Stmt *s, void *user)
{
    ml_stmt_exprs(s, look_for_loads, user);
    return true;
}

/* Whether less may be read than a region says: it is the hull of all accesses, where
 * conditions let them happen. Calls and views are taken at their word. */
static bool is_hull(const ml_Block *b, const ml_Region *r)
{
    Loads l = {.buf = r->buffer};

    if (!ml_surely_reads(b, r->buffer))
        return true;
    if (!ml_region_is_point(r))
        ml_stmt_visit(b->body, loads_of, &l);
    return l.more;
}

typedef struct Sure {
    const ml_Buffer *buf;
    bool loads, loads_somewhere;
} Sure;

static bool look_for_sure(const ml_Expr *e, void *user)
{
    Sure *s = user;

    s->loads |= e->kind == ML_EXPR_LOAD && e->as.buffer->uid == s->buf->uid;
    if (!ml_is_op(e, ML_OP_IF_THEN_ELSE))
        return (e->flags & ML_X_HAS_LOAD) != 0;
    ml_expr_visit(e->args[0], look_for_sure, user);
    return false;
}

static void sure_in_expr(const ml_Expr *e, ml_Role role, void *user)
{
    Sure *s = user;

    if (role == ML_ROLE_REGION || !(e->flags & ML_X_HAS_LOAD))
        return;
    s->loads_somewhere |= ml_expr_uses_buffer(e, s->buf);
    ml_expr_visit(e, look_for_sure, user);
}

static bool sure_in_stmt(const ml_Stmt *st, void *user)
{
    ml_stmt_exprs(st, sure_in_expr, user);
    return true;
}

bool ml_surely_reads(const ml_Block *b, const ml_Buffer *buf)
{
    Sure s = {.buf = buf};

    ml_stmt_visit(b->body, sure_in_stmt, &s);
    return s.loads || !s.loads_somewhere;
}

/* What the blocks inside of the consumer write: some of it they may read afterwards. */
static void add_own(ml_Cover *c, const ml_Block *consumer, const ml_Region *read,
                    const ml_CoverAround *around, ml_Interval *hull)
{
    const ml_Expr *pred;

    for (size_t k = 0; k < consumer->n_writes && consumer->body->has_block; k++)
        if (consumer->writes[k].buffer->uid == read->buffer->uid) {
            ml_Region r =
                ml_cover_outward(c, consumer, &consumer->writes[k], around, &pred);

            add_hull(c, &r, &around->dom, pred, hull);
        }
}

/* The elements surely read of one region, against the hull of all that may be written. */
static bool region_missed(ml_Cover *c, ml_Facts *f, const ml_Block *consumer,
                          const ml_Region *read, ml_Uid a)
{
    size_t rank = read->buffer->rank;
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, rank + 1);
    ml_Interval *hull = ML_ARRAY(c->cx, ml_Interval, rank + 1);
    const ml_Expr *pred;
    ml_CoverAround around;
    bool first = true; /* those in front of the consumer come before it */
    ml_BlockVec users = {0};

    if (is_hull(consumer, read))
        return false;
    for (size_t d = 0; d < rank; d++)
        hull[d] = ML_NOTHING;
    ml_region_users(c->cx, f, c->p, c->scope, read, 1, &users);
    for (size_t k = 0; k < users.n; k++) {
        const ml_Block *w = users.v[k];

        first = first && w->tag != consumer->tag;
        for (size_t m = 0; m < w->n_writes; m++) {
            if (ml_cover_canonical(c, w->writes[m].buffer)->uid !=
                ml_cover_canonical(c, read->buffer)->uid)
                continue;
            if (w->writes[m].buffer->uid != read->buffer->uid)
                return false; /* a view: not decided here */
            add_written(c, consumer, w, &w->writes[m], first, hull);
        }
    }
    add_outer(c, read->buffer, hull);
    ml_cover_around(c, consumer->tag, a == c->scope ? 0 : a, read->buffer, &around);
    add_own(c, consumer, read, &around, hull);
    ml_Region r = ml_cover_outward(c, consumer, read, &around, &pred);

    for (size_t d = 0; d < around.dom.n; d++)
        if (ml_arith_bound(c->ar, around.dom.v[d].extent).lo < 1)
            return false;
    for (size_t d = 0; d < rank; d++) /* surely something is read */
        if (ml_arith_bound(c->ar, r.ranges[d].extent).lo < 1)
            return false;
    if (!ml_region_lower(c->ar, r.ranges, rank, around.dom.v, around.dom.n, pred, box))
        return false;
    /* What lies outside the buffer is not read. */
    for (size_t d = 0; d < rank; d++) {
        ml_Interval whole = ml_interval_range(
            c->ar, ml_int(c->cx, read->buffer->shape[d]->type, 0), read->buffer->shape[d]);

        if (box[d].nothing || !ml_interval_includes(c->ar, whole, box[d]))
            return false;
        /* Nor anything at all where the predicate leaves nothing. */
        if (!box[d].min || !box[d].max ||
            !ml_dtype_eq(box[d].min->type, box[d].max->type) ||
            !ml_prove_symbolic(c->ar, ml_le(c->cx, box[d].min, box[d].max)))
            return false;
    }
    for (size_t d = 0; d < rank; d++)
        if (dimension_missed(c, box[d], hull[d]))
            return true;
    return false;
}

/* Whether all of the region was written before, by producers at any level together, or read
 * from outside by the scope block; that something writes it, or not. */
static bool supplied(ml_Cover *c, const ml_Block *consumer, const ml_Region *read,
                     const ml_UidVec *producers, ml_UidVec *levels)
{
    bool written = false;

    for (size_t k = 0; k < producers->n; k++) {
        ml_Uid a = ml_index_lca(c->p.index, producers->v[k], consumer->tag);
        bool seen = false;

        written |= ml_block_writes(c->p, c->scope,
                                   ml_as_block(ml_index_node(c->p.index, producers->v[k])),
                                   ml_cover_canonical(c, read->buffer));
        for (size_t m = 0; m < levels->n; m++)
            seen |= levels->v[m] == a;
        if (!seen)
            ml_push(c->cx, levels, a);
    }
    if (!written)
        return !c->inside ||
               ml_read_of(ml_as_block(ml_index_node(c->p.index, c->scope)), read->buffer);
    for (size_t k = 0; k < levels->n; k++) {
        ml_Uid a = levels->v[k];
        ml_UidVec some = {0};

        for (size_t m = 0; m < producers->n; m++) {
            ml_Uid own = ml_index_lca(c->p.index, producers->v[m], consumer->tag);

            if (own == a || ml_index_is_above(c->p.index, own, a))
                ml_push(c->cx, &some, producers->v[m]);
        }
        ml_cover_at(c, a);
        if (ml_cover_region(c, consumer, read, a, &some))
            return true;
    }
    return false;
}

/* Whether the block reads something of the buffer that its own blocks did not write before.
 */
static bool needs(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_Block *b,
                  const ml_Buffer *buf)
{
    ml_Children ch = ml_scope_children(f, p, b->tag);
    ml_Cover c = {.cx = cx, .p = p, .scope = b->tag, .inside = true};

    if (ch.n == 0)
        return true;
    c.views = ml_has_views(p, b->tag);
    for (size_t k = 0; k < ch.n; k++) {
        ml_UidVec producers = {0};

        ml_cover_producers(&c, f, ch.v[k], &producers);
        for (size_t m = 0; m < ch.v[k]->n_reads; m++) {
            const ml_Region *r = &ch.v[k]->reads[m];
            ml_UidVec levels = {0};

            if (ml_cover_canonical(&c, r->buffer)->uid == buf->uid &&
                !supplied(&c, ch.v[k], r, &producers, &levels) &&
                needs(cx, f, p, ch.v[k], r->buffer))
                return true;
        }
    }
    return false;
}

ml_Supply ml_supply(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                    const ml_Region **missed)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_Cover c = {.cx = cx, .p = p, .scope = ml_index_scope(p.index, block)};
    ml_UidVec producers = {0};
    ml_Supply worst = ML_SUPPLY_ALL;
    ml_Mark mark = ml_mark(cx);

    c.views = ml_has_views(p, c.scope);
    c.outside = true;
    ml_cover_producers(&c, f, b, &producers);
    for (size_t r = 0; r < b->n_reads && worst != ML_SUPPLY_MISSED; r++) {
        ml_UidVec levels = {0};

        if (supplied(&c, b, &b->reads[r], &producers, &levels) ||
            !needs(cx, f, p, b, ml_cover_canonical(&c, b->reads[r].buffer)))
            continue;
        worst = ML_SUPPLY_UNKNOWN;
        for (size_t k = 0; k < levels.n && worst != ML_SUPPLY_MISSED; k++) {
            ml_cover_at(&c, levels.v[k]);
            if (region_missed(&c, f, b, &b->reads[r], levels.v[k]))
                worst = ML_SUPPLY_MISSED;
        }
        if (worst == ML_SUPPLY_MISSED)
            *missed = &b->reads[r];
    }
    ml_release(cx, mark);
    return worst;
}

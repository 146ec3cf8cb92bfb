/*
 * cache_inplace - let a block update a copy of a buffer that it reads and writes.
 *
 * A nest directly before the block copies in what one instance reads, one directly after
 * it copies back what it writes, with the block's bindings put into its regions and under
 * its predicate. What is copied back was copied in or written. Where the elements alone are
 * no independent iters over whole domains, the copies have the block's iters, too, and those
 * of the tile that one instance takes. Source: primitives 8.
 */
#include "moonloop/primitives/rewrite/cache.h"

#include "moonloop/primitives/rewrite/move.h"
#include "moonloop/primitives/rewrite/same_index.h"
#include "moonloop/verify/cover/attained.h"

enum { BLOCK, BUFFER, SCOPE };

typedef struct Inplace {
    ml_Call *c;
    const ml_Block *block;
    const ml_Buffer *old;
    ml_Arith *ar;
} Inplace;

/* The hull of what one instance touches, and how many regions there are: with the bindings
 * put in, and inside the shape; in the block's iters and as it is declared (NULL). */
static size_t hull_of(Inplace *p, ml_Arith *ar, const ml_Region *v, size_t n,
                      const ml_Subst *bound, ml_Interval *out)
{
    ml_Ctx *cx = p->c->cx;
    size_t found = 0;

    for (size_t k = 0; k < n; k++) {
        if (v[k].buffer->uid != p->old->uid)
            continue;
        ml_Region r = bound && bound->vars ? ml_region_subst(cx, v[k], bound) : v[k];

        for (size_t d = 0; d < p->old->rank; d++) {
            const ml_Expr *dim = p->old->shape[d];
            const ml_Expr *min = ml_cast(cx, dim->type, r.ranges[d].min);
            const ml_Expr *ext = ml_cast(cx, dim->type, r.ranges[d].extent);
            ml_Interval i = ml_interval_range(ar, min, ext);
            ml_Interval whole = ml_interval_range(ar, ml_int(cx, dim->type, 0), dim);

            if (bound && !ml_interval_includes(ar, whole, i))
                i = ml_interval_intersect(ar, i, whole);
            out[d] = found ? ml_interval_union(ar, out[d], i) : i;
        }
        found++;
    }
    return found;
}

/* Whether the block writes the regions that it reads of the buffer, one by one. */
static bool writes_what_it_reads(const Inplace *p)
{
    const ml_Block *b = p->block;
    size_t w = 0;

    for (size_t k = 0; k < b->n_reads; k++) {
        if (b->reads[k].buffer->uid != p->old->uid)
            continue;
        while (w < b->n_writes && b->writes[w].buffer->uid != p->old->uid)
            w++;
        if (w == b->n_writes || !ml_same_region(&b->reads[k], &b->writes[w++]))
            return false;
    }
    while (w < b->n_writes && b->writes[w].buffer->uid != p->old->uid)
        w++;
    return w == b->n_writes;
}

/* Whether every element of the box is written by the block: it is one element, and nothing
 * can keep the block from storing it. */
static bool writes_all(const Inplace *p, const ml_Interval *box, size_t n_regions)
{
    const ml_Block *b = p->block;

    for (size_t d = 0; d < p->old->rank; d++)
        if (!ml_interval_is_point(p->ar, box[d]))
            return false;
    return n_regions == 1 && ml_write_of(b, p->old) &&
           ml_stores_region(p->c, b, ml_write_of(b, p->old));
}

/* The loops of the block's scope that are around it, outermost first. */
static void loops_around(Inplace *p, ml_DomVec *out)
{
    ml_Ctx *cx = p->c->cx;
    ml_StmtVec loops = {0};

    for (ml_Uid u = ml_index_parent(p->c->p.index, p->block->tag); u;
         u = ml_index_parent(p->c->p.index, u)) {
        const ml_Stmt *st = ml_index_node(p->c->p.index, u);

        if (st->kind != ML_STMT_FOR)
            break;
        ml_push(cx, &loops, st);
    }
    for (size_t k = loops.n; k-- > 0;) {
        const ml_For *f = ml_as_for(loops.v[k]);

        ml_push(cx, out, ((ml_Dom){f->var, f->min, f->extent}));
    }
}

/* What all instances of the scope take of n ranges that lie in `all`: domains of iters. */
static ml_Range *taken(Inplace *p, const ml_Range *what, const ml_Range *all, size_t n)
{
    ml_Ctx *cx = p->c->cx;
    ml_Range *out = ML_ARRAY(cx, ml_Range, n + 1);
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, n + 1);
    ml_DomVec dom = {0};

    loops_around(p, &dom);
    ml_region_upper(p->ar, what, n, dom.v, dom.n, p->block->predicate, box);
    for (size_t d = 0; d < n; d++) {
        ml_Interval whole = ml_interval_range(p->ar, all[d].min, all[d].extent);

        if (!ml_interval_includes(p->ar, whole, box[d]))
            box[d] = ml_interval_intersect(p->ar, box[d], whole);
        out[d] = ml_interval_cover(p->ar, box[d], all[d]);
        if (ml_prove_equal(p->ar, out[d].min, all[d].min) &&
            ml_prove_equal(p->ar, out[d].extent, all[d].extent))
            out[d] = all[d];
        out[d].min = ml_cast(cx, all[d].min->type, out[d].min);
        out[d].extent = ml_cast(cx, all[d].extent->type, out[d].extent);
    }
    return out;
}

static ml_Range *whole_buffer(Inplace *p)
{
    ml_Ctx *cx = p->c->cx;
    ml_Range *out = ML_ARRAY(cx, ml_Range, p->old->rank + 1u);

    for (size_t d = 0; d < p->old->rank; d++)
        out[d] = (ml_Range){ml_int(cx, p->old->shape[d]->type, 0), p->old->shape[d]};
    return out;
}

static ml_Range *cover(Inplace *p, ml_Arith *ar, const ml_Interval *box)
{
    ml_Ctx *cx = p->c->cx;
    ml_Range *all = whole_buffer(p), *out = ML_ARRAY(cx, ml_Range, p->old->rank + 1u);

    for (size_t d = 0; d < p->old->rank; d++) {
        out[d] = ml_interval_cover(ar, box[d], all[d]);
        out[d].min = ml_cast(cx, all[d].extent->type, out[d].min);
        out[d].extent = ml_cast(cx, all[d].extent->type, out[d].extent);
    }
    return out;
}

/* ---- copies by elements: an iter for each dimension of the buffer */

/* Whether the digits take [min, min + extent), each value of it. */
static bool takes(ml_Arith *ar, const ml_IterSum *s, const ml_Range *domain)
{
    const ml_Expr *one = ml_int(ml_arith_ctx(ar), s->base->type, 1);
    bool run = s->n == 0 || (s->n == 1 && (ml_is_int(s->digits[0].scale, 1) ||
                                           ml_is_int(s->digits[0].extent, 1)));

    return run && ml_prove_equal(ar, s->base, domain->min) &&
           ml_prove_equal(ar, s->n ? s->digits[0].extent : one, domain->extent);
}

/* Whether iters over these elements are independent of each other; with a domain, whether
 * each takes the whole of it; `never` is what is said of a block that never runs. Asked as
 * of a block that is there: its bindings are as the nest makes them, and the predicate is no
 * fact about them. */
static bool by_elements(Inplace *p, const ml_Range *region, const ml_Range *domain,
                        bool never)
{
    ml_Ctx *cx = p->c->cx;
    size_t rank = p->old->rank;
    const ml_Expr **at = ML_ARRAY(cx, const ml_Expr *, rank + 1);
    const ml_Expr *pred = p->block->predicate, *yes = ml_bool(cx, true);
    ml_Arith *ar = pred == yes ? p->ar : ml_arith_at(cx, p->c->p, p->block->tag);
    ml_Arith *plain = ml_arith_new(cx);
    ml_DomVec dom = {0};

    loops_around(p, &dom);
    for (size_t d = 0; d < rank; d++) {
        const ml_Expr *n = region[d].extent;

        at[d] = region[d].min;
        if (ml_is_int(n, 1))
            continue;
        const ml_Var *ax = ml_var_new(cx, "ax", n->type);

        ml_push(cx, &dom, ((ml_Dom){ax, ml_int(cx, n->type, 0), n}));
        at[d] = ml_simplify(plain, ml_add(cx, region[d].min, ml_var(cx, ax)));
    }
    ml_IterMap m = ml_iter_detect(ar, at, rank, dom.v, dom.n, pred, ML_SURJECTIVE, false);

    if (!m.ok && m.fail == ML_ITER_FAIL_EMPTY)
        return never;
    if (!m.ok && !ml_iter_detect(ar, at, rank, dom.v, dom.n, yes, ML_SURJECTIVE, false).ok)
        return false;
    for (size_t d = 0; domain && d < rank; d++) {
        ml_IterMap one = m; /* a predicate may leave points out of all, not of this one */

        if (!m.ok)
            one = ml_iter_detect(ar, &at[d], 1, dom.v, dom.n, pred, ML_SURJECTIVE, false);
        if (!one.ok || !takes(ar, &one.sums[m.ok ? d : 0], &domain[d]))
            return false;
    }
    return true;
}

/* ---- copies by tiles: the block's iters, and one for each dimension of the tile */

typedef struct Tile {
    const ml_Buffer *from, *to;
    const char *name;
    ML_VEC(ml_Iter) iters;
    const ml_Expr **at;   /* in the iters */
    const ml_Var **loops; /* of the tile: from 0 */
    const ml_Expr **ends;
    const ml_Expr *guard; /* in the loops: what lies in the region of an instance */
} Tile;

/* An iter like this one; what is bound takes the domain that it is given, or less. */
static void add_iter(Inplace *p, Tile *t, const ml_Iter *it, ml_Subst *sub)
{
    ml_Ctx *cx = p->c->cx;
    ml_Range value = {it->value, ml_int(cx, it->value->type, 1)};
    ml_Range *domain = taken(p, &value, &(ml_Range){it->min, it->extent}, 1);
    ml_Iter own = *it;

    own.var = ml_var_fresh(cx, it->var);
    own.min = domain->min;
    own.extent = domain->extent;
    if (it->kind == ML_ITER_REDUCE) /* a copy adds nothing up */
        own.kind = ML_ITER_SPATIAL;
    ml_push(cx, &t->iters, own);
    ml_subst_var(cx, sub, it->var, ml_var(cx, own.var));
}

/* Those of the block's iters that the place of the tile needs, bound as there; a block
 * without iters may use the loops around, but its copies have iters. */
static void add_own_iters(Inplace *p, Tile *t, const ml_Expr *const *mins, ml_Subst *sub)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Index *ix = p->c->p.index;
    const ml_Block *b = p->block;
    ml_IterList used = {0};
    ml_StmtVec loops = {0};

    ml_iters_used(cx, b, mins, p->old->rank, &used);
    for (ml_Uid u = b->n_iters ? 0 : ml_index_parent(ix, b->tag); u;
         u = ml_index_parent(ix, u)) {
        const ml_Stmt *st = ml_index_node(ix, u);
        bool uses = false;

        if (st->kind == ML_STMT_BLOCK && ml_as_block(st)->n_iters > 0)
            break;
        for (size_t d = 0; st->kind == ML_STMT_FOR && d < p->old->rank; d++)
            uses |= ml_expr_uses_var(mins[d], ml_as_for(st)->var);
        if (uses)
            ml_push(cx, &loops, st);
    }
    for (size_t k = loops.n; k-- > 0;) {
        const ml_For *f = ml_as_for(loops.v[k]);

        add_iter(p, t,
                 &(ml_Iter){.var = f->var,
                            .min = f->min,
                            .extent = f->extent,
                            .value = ml_var(cx, f->var),
                            .kind = ML_ITER_SPATIAL},
                 sub);
    }
    for (size_t k = 0; k < used.n; k++)
        add_iter(p, t, &b->iters[used.v[k]], sub);
}

/* The most that a dimension of the tile has, for any values of the block's iters, of the
 * loops that one without iters uses, and of what is in memory. */
static const ml_Expr *widest(Inplace *p, ml_Arith *ar, const ml_Expr *n, const ml_Expr *dim)
{
    ml_Ctx *cx = p->c->cx;
    ml_DomVec dom = {0};
    bool fixed = (n->flags & ML_X_HAS_LOAD) == 0;

    loops_around(p, &dom);
    for (size_t k = 0; k < p->block->n_iters; k++) {
        const ml_Iter *it = &p->block->iters[k];

        ml_push(cx, &dom, ((ml_Dom){it->var, it->min, it->extent}));
    }
    for (size_t k = 0; k < dom.n; k++)
        fixed &= !ml_expr_uses_var(n, dom.v[k].var);
    if (fixed)
        return n;
    ml_Interval i = ml_relax(ar, n, dom.v, dom.n);
    const ml_Expr *most = i.max ? ml_simplify(ar, i.max) : dim;

    return ml_is_const_int(most) && !ml_prove_le_expr(ar, dim, most) ? most : dim;
}

static bool see_condition(const ml_Stmt *s, void *user)
{
    bool *found = user;

    *found |= s->kind == ML_STMT_IF || s->kind == ML_STMT_WHILE ||
              (s->kind == ML_STMT_BLOCK && !ml_is_true(ml_as_block(s)->predicate)) ||
              (s->kind == ML_STMT_FOR &&
               (!ml_is_const_int(ml_as_for(s)->extent) || ml_as_for(s)->extent->as.i < 1));
    return !*found;
}

/* Whether the block's one region is one element that it surely touches, under no condition
 * further inside: it is inside of the buffer then. */
static bool is_touched(Inplace *p, const ml_Interval *box, size_t n_regions, bool in)
{
    bool open = false;

    ml_stmt_visit(p->block->body, see_condition, &open);
    if (open)
        return false;
    for (size_t d = 0; d < p->old->rank; d++)
        if (!ml_interval_is_point(p->ar, box[d]))
            return false;
    return n_regions == 1 && (in ? ml_surely_reads(p->block, p->old)
                                 : ml_always_stores(&p->block->base, p->old));
}

/* The tile at the place that the block's iters give, with what of it is to be asked. */
static Tile make_tile(Inplace *p, bool in)
{
    ml_Ctx *cx = p->c->cx;
    size_t rank = p->old->rank;
    const ml_Block *b = p->block;
    ml_Arith *ar = ml_arith_at(cx, p->c->p, b->tag);
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, rank + 1);
    const ml_Expr **mins = ML_ARRAY(cx, const ml_Expr *, rank + 1);
    Tile t = {.at = ML_ARRAY(cx, const ml_Expr *, rank + 1),
              .loops = ML_ARRAY(cx, const ml_Var *, rank + 1),
              .ends = ML_ARRAY(cx, const ml_Expr *, rank + 1),
              .guard = p->block->predicate};
    ml_Subst own = {0}, bound = {0};

    ml_arith_bind_iters(ar, b);
    const ml_Region *v = in ? b->reads : b->writes;
    size_t n = in ? b->n_reads : b->n_writes;
    size_t n_regions = hull_of(p, ar, v, n, NULL, box);
    bool inside = is_touched(p, box, n_regions, in);
    ml_Range *r = cover(p, ar, box);

    for (size_t d = 0; d < rank; d++)
        mins[d] = r[d].min; /* as the block has it: its readers ask for it in its terms */
    add_own_iters(p, &t, mins, &own);
    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &bound, b->iters[k].var, b->iters[k].value);
    for (size_t d = 0; d < rank; d++) {
        const ml_Expr *dim = p->old->shape[d], *zero = ml_int(cx, dim->type, 0);
        const ml_Expr *size = ml_simplify(ar, r[d].extent);

        t.loops[d] = ml_var_new(cx, ml_numbered(cx, "ax", "", d), dim->type);
        t.ends[d] = widest(p, ar, size, dim);
        ml_Iter it = {.var = ml_var_new(cx, ml_numbered(cx, "v", "", d), dim->type),
                      .min = zero,
                      .extent = t.ends[d],
                      .value = ml_var(cx, t.loops[d]),
                      .kind = ML_ITER_SPATIAL};

        ml_push(cx, &t.iters, it);
        const ml_Expr *min = own.vars ? ml_expr_subst(cx, r[d].min, &own) : r[d].min;

        t.at[d] = ml_add(cx, min, ml_var(cx, it.var));
        ml_arith_bind_range(p->ar, t.loops[d], zero, t.ends[d]);
        const ml_Expr *at = ml_var(cx, t.loops[d]);
        const ml_Expr *end = bound.vars ? ml_expr_subst(cx, size, &bound) : size;

        if (t.ends[d] != size && !ml_prove_lt_expr(p->ar, at, end))
            t.guard = ml_and(cx, t.guard, ml_simplify(p->ar, ml_lt(cx, at, end)));
        at = ml_add(cx, bound.vars ? ml_expr_subst(cx, r[d].min, &bound) : r[d].min, at);
        if (!inside)
            t.guard = ml_and(cx, t.guard, ml_bounds_to_ask(p->ar, at, dim));
    }
    return t;
}

static const ml_Stmt *copy_tile(Inplace *p, const Tile *t, ml_Uid *tag)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Stmt *st = ml_copy_block(p->c, t->name, t->iters.v, t->iters.n, t->from, t->at,
                                      NULL, t->to, t->at, tag);

    for (size_t d = p->old->rank; st && d-- > 0;)
        st = ml_serial(cx, t->loops[d], ml_int(cx, t->loops[d]->type, 0), t->ends[d], st);
    return st ? ml_append_predicate(cx, st, t->guard) : NULL;
}

/* Both copies, before and after the block, of one form. */
static bool add_copies(Inplace *p, const ml_Buffer *cached, const ml_Interval *reads,
                       const ml_Interval *writes, const ml_Stmt **parts, ml_Uid *tags)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;
    ml_Cache in = {.old = p->old, .cached = cached, .region = cover(p, p->ar, reads)};
    ml_Cache out = {.old = p->old, .cached = cached, .region = cover(p, p->ar, writes)};

    /* An output is written by blocks that take their whole domains: the buffer, or what is
     * taken of it. */
    ml_Range *whole = whole_buffer(p);
    bool plain = by_elements(p, out.region, whole, false);

    out.domain = plain ? whole : taken(p, out.region, whole, p->old->rank);
    bool same = ml_same_ranges(in.region, out.region, p->old->rank);

    if ((plain || by_elements(p, out.region, out.domain, true)) &&
        (same || by_elements(p, in.region, NULL, true))) {
        parts[0] = ml_cache_nest(p->c, &in, true, &tags[0]);
        out.like = same ? parts[0] : NULL;
        parts[2] = ml_cache_nest(p->c, &out, false, &tags[1]);
        for (size_t k = 0; k < 3; k += 2)
            parts[k] = ml_append_predicate(cx, parts[k], b->predicate);
        return true;
    }
    Tile before = make_tile(p, true);
    Tile after = make_tile(p, false);

    before.name = after.name = cached->name;
    before.from = after.to = p->old;
    before.to = after.from = cached;
    parts[0] = copy_tile(p, &before, &tags[0]);
    parts[2] = copy_tile(p, &after, &tags[1]);
    return parts[0] && parts[2];
}

static int pick(const ml_Block *b, void *user)
{
    (void)b;
    (void)user;
    return 1;
}

/* Something has written the buffer when the block begins: a block that reads only what it
 * wrote itself has nothing to copy in. */
static bool check_begun(Inplace *p, ml_Uid scope)
{
    ml_Call *c = p->c;
    ml_UidVec writers = {0};
    bool is_match = false;
    ml_Uid site = ml_buffer_site(c->p, ml_index_func(c->p.index, scope), p->old, &is_match);

    if (site != scope || is_match)
        return true;
    ml_writers(c->cx, c->facts, c->p, scope, p->old, &writers);
    if (writers.n == 0 || writers.v[0] != p->block->tag)
        return true;
    return ml_fail_as(
        c->cx, ML_E_COVER_LOST,
        "nothing writes {0} before block {1}; the copy would read what nobody has written",
        ML_BUFFER(p->old), ML_BLOCK(p->block));
}

/* Whether the place of what is copied back is read from the buffer. */
static bool places_writes(const Inplace *p, const ml_Buffer *from)
{
    const ml_Block *b = p->block;

    for (size_t k = 0; k < b->n_writes; k++)
        for (size_t d = 0; b->writes[k].buffer->uid == p->old->uid && d < p->old->rank; d++)
            if (ml_expr_uses_buffer(b->writes[k].ranges[d].min, from) ||
                ml_expr_uses_buffer(b->writes[k].ranges[d].extent, from))
                return true;
    return false;
}

static bool check(Inplace *p, const ml_Interval *reads, const ml_Interval *writes,
                  size_t n_writes)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;
    bool known = true;

    if ((b->predicate->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)) != 0)
        return ml_fail_as(cx, ML_E_PART_WRITTEN,
                          "the predicate of block {0} reads memory; it may have another "
                          "value after the block",
                          ML_BLOCK(b), ML_BUFFER(p->old));
    for (size_t k = 0; k < b->n_writes; k++)
        if (places_writes(p, b->writes[k].buffer))
            return ml_fail_as(cx, ML_E_PART_WRITTEN,
                              "block {0} writes {1}, which says what of {2} it writes; "
                              "another place might be copied back after the block",
                              ML_BLOCK(b), ML_BUFFER(b->writes[k].buffer),
                              ML_BUFFER(p->old));
    for (size_t d = 0; d < p->old->rank; d++)
        known &= ml_interval_includes(p->ar, reads[d], writes[d]);
    if (!known && !writes_all(p, writes, n_writes))
        return ml_unproved(
            cx, ML_E_PART_WRITTEN,
            "block {0} reads or writes all of the region of {1} that would be copied back",
            ML_BLOCK(b), ML_BUFFER(p->old));
    return true;
}

static bool cache_inplace(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    ml_Uid uid = c->args[BLOCK].uid, scope, in, out;
    const char *scope_name = c->args[SCOPE].s;

    if (!ml_check_scope(c, scope_name) || !ml_check_not_root(c, uid))
        return false;
    Inplace p = {.c = c, .block = ml_call_block(c, uid)};
    const ml_Block *b = p.block;

    p.old = b->reads[c->args[BUFFER].i].buffer;
    p.ar = ml_arith_at(cx, c->p, uid);
    ml_arith_assume(p.ar, b->predicate);
    scope = ml_index_scope(c->p.index, uid);
    ml_Interval *reads = ML_ARRAY(cx, ml_Interval, p.old->rank + 1u);
    ml_Interval *writes = ML_ARRAY(cx, ml_Interval, p.old->rank + 1u);
    ml_UidVec readers = {0};
    ml_Subst bound = {0};
    size_t n_writes;

    if (!ML_PROVE(c, ML_SOUND, ml_check_readers(c, scope, p.old)))
        return false;
    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &bound, b->iters[k].var, b->iters[k].value);
    n_writes = hull_of(&p, p.ar, b->reads, b->n_reads, &bound, reads);
    if (writes_what_it_reads(&p))
        memcpy(writes, reads, p.old->rank * sizeof(*writes));
    else
        n_writes = hull_of(&p, p.ar, b->writes, b->n_writes, &bound, writes);
    if (!n_writes)
        return ml_fail(cx, ML_E_NOT_READ_WRITE, ML_BLOCK(b), ML_BUFFER(p.old));
    if (!ML_PROVE(c, ML_SOUND,
                  check_begun(&p, scope) && check(&p, reads, writes, n_writes)))
        return false;
    ml_Cache cache = {
        .old = p.old,
        .cached = ml_buffer_new(cx, ml_format(cx, "%s_%s", p.old->name, scope_name),
                                p.old->type, p.old->shape, p.old->rank, scope_name)};
    const ml_Stmt *parts[3];
    ml_Uid tags[2];

    if (!add_copies(&p, cache.cached, reads, writes, parts, tags) ||
        !ml_cache_rewire(c, &cache, &b->base, pick, NULL, &parts[1]))
        return false;
    in = tags[0];
    out = tags[1];
    parts[1] = ml_views_follow(cx, parts[1], cache.cached, true);
    ml_call_replace(c, uid, ml_seq(cx, parts, 3));
    ml_call_replace(c, scope,
                    &ml_block_add_alloc(cx, ml_call_block(c, scope), cache.cached)->base);
    ml_call_subject(c, ML_BLOCK_OF, in, NULL);
    ml_call_subject(c, ML_BLOCK_OF, uid, NULL);
    ml_call_subject(c, ML_BLOCK_OF, out, NULL);
    ml_call_subject(c, ML_COPY_OF, in, p.old);
    ml_readers(cx, c->facts, c->p, scope, p.old, &readers);
    for (size_t k = 0; k < readers.n; k++)
        if (readers.v[k] != in)
            ml_call_subject(c, ML_READER_OF, readers.v[k], NULL);
    ml_call_return_handles(c, (ml_Handle[]){{ML_H_BLOCK, in}, {ML_H_BLOCK, out}}, 2, true);
    return true;
}

static void suggest_cache_inplace(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                                  ml_Tries *t)
{
    const ml_Block *b = ml_failed_block(s, args[BLOCK].uid, e);

    if (!b)
        return;
    const char *scope = e->code == ML_E_BAD_STORAGE_SCOPE ? "local" : args[SCOPE].s;

    for (size_t k = 0; k < b->n_reads && scope; k++)
        ml_try(t, NULL, "cache_inplace(\"%s\", %zu, \"%s\")", ml_name_of(s, b->tag), k,
               scope);
    for (size_t k = 0; k < b->n_reads && scope; k++)
        ml_try(t, NULL, "cache_read(\"%s\", %zu, \"%s\")", ml_name_of(s, b->tag), k, scope);
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "a block that reads and writes the buffer"),
    ML_PARAM_ATTR("read_buffer_index", ML_P_READ_BUFFER, "which of its read buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE, "scope of the copy: local, shared, ..."),
};

const ml_Primitive ml_prim_cache_inplace = {
    ML_PRIM(cache_inplace, "CacheInplace"),
    .group = "caching",
    .summary = "let a block update a copy of a buffer",
    .help = "Makes a buffer <buf>_<scope>, copies into it what the block reads directly "
            "before\n"
            "the block, and back what it writes directly after it.",
    ML_PARAMS(params),
    .result = ML_R_BLOCKS,
    .posts = (const ml_Post[]){{ML_SOUND, ML_BLOCK_OF, ml_check_stays_declared, NULL},
                               {ML_STRICT, ML_BLOCK_OF, ml_check_concurrency, NULL},
                               {ML_STRICT, ML_COPY_OF, NULL, ml_check_reads_apart},
                               {ML_SOUND, ML_READER_OF, ml_check_produced, NULL},
                               {0}},
    .suggest = suggest_cache_inplace,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_STORAGE_SCOPE, ML_E_BUFFER_INDEX,
                                     ML_E_ROOT_BLOCK, ML_E_NOT_REGION_COVERED,
                                     ML_E_NOT_READ_WRITE, ML_E_COVER_LOST, ML_E_WOULD_RACE,
                                     ML_E_PART_WRITTEN, ML_E_REGION_UNDECLARED, ML_E_OK},
};

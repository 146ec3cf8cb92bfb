/*
 * solve - the domain that the iters of a block must take when it moves under a loop.
 *
 * What the related blocks touch of each buffer under the loop is solved for the block's own
 * index expressions: through the inverse of a bijective affine map, else dimension by
 * dimension. Every answer is a superset of what is needed: intervals of the inverse are
 * taken over the whole required box, not over two of its corners (a remainder has its
 * extremes inside). Source: primitives 7, steps 1 to 4.
 */
#include "moonloop/primitives/rewrite/move.h"

typedef struct Solver {
    ml_Call *c;
    ml_Arith *ar;
    const ml_Block *block;
    ml_Interval *need, *bound; /* hull over the buffers so far; nothing: no word yet */
    bool *known;
} Solver;

/* ---- required: what the related blocks touch of one buffer, relaxed to the loop */

/* Whether the width of the interval is the same in all iterations of the loops at hand. */
static bool is_steady(Solver *s, const ml_For *loop, ml_Interval i)
{
    const ml_Index *ix = s->c->p.index;

    if (!i.min || !i.max)
        return false;
    const ml_Expr *width = ml_simplify(s->ar, ml_sub(s->c->cx, i.max, i.min));

    if (width->kind == ML_EXPR_INT)
        return true;
    for (ml_Uid u = loop->var->uid; u; u = ml_index_parent(ix, u)) {
        const ml_Stmt *n = ml_index_node(ix, u);

        if (n->kind == ML_STMT_FOR && ml_expr_uses_var(width, ml_as_for(n)->var))
            return false;
    }
    return true;
}

/* A predicate may cut the interval differently in each iteration: then the whole tile is
 * taken, if that makes its width constant, and what is too much is guarded. */
static void steady(Solver *s, const ml_For *loop, ml_Range range, const ml_DomVec *dom,
                   ml_Interval *box)
{
    if (is_steady(s, loop, *box))
        return;
    ml_Interval whole = ml_relax_loads(s->ar, range, dom->v, dom->n);

    if (is_steady(s, loop, whole))
        *box = whole;
}

static void require_regions(Solver *s, const ml_For *loop, const ml_Block *rel,
                            const ml_Region *regions, size_t n, const ml_Buffer *buf,
                            bool storage, ml_Interval *hull, bool *any)
{
    ml_Ctx *cx = s->c->cx;
    ml_Subst sub = {0};
    ml_DomVec dom = {0};
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, buf->rank);

    for (size_t k = 0; k < rel->n_iters; k++)
        ml_subst_var(cx, &sub, rel->iters[k].var, rel->iters[k].value);
    ml_relax_domain(cx, s->c->p, rel->tag, loop->var->uid, storage ? buf : NULL, &dom);
    for (size_t k = 0; k < n; k++) {
        if (regions[k].buffer->uid != buf->uid)
            continue;
        ml_Region r = ml_region_subst(cx, regions[k], &sub);

        ml_region_upper(s->ar, r.ranges, buf->rank, dom.v, dom.n, rel->predicate, box);
        for (size_t d = 0; d < buf->rank; d++)
            steady(s, loop, r.ranges[d], &dom, &box[d]);
        for (size_t d = 0; d < buf->rank; d++) {
            /* An end that is not known may be anything inside the buffer. */
            const ml_Expr *last =
                ml_sub(cx, buf->shape[d], ml_int(cx, buf->shape[d]->type, 1));

            if (!box[d].min)
                box[d].min = ml_int(cx, last->type, 0);
            if (!box[d].max)
                box[d].max = ml_simplify(s->ar, last);
            hull[d] = *any ? ml_interval_union(s->ar, hull[d], box[d]) : box[d];
        }
        *any = true;
    }
}

/* ---- solving one buffer */

static void narrow(Solver *s, size_t k, ml_Interval need, ml_Interval bound,
                   ml_Interval *needs, ml_Interval *bounds, bool *got)
{
    if (!got[k]) {
        needs[k] = need;
        bounds[k] = bound;
        got[k] = true;
        return;
    }
    /* Two indices of one buffer use the iter: both must hold. */
    needs[k] = ml_interval_intersect(s->ar, needs[k], need);
    bounds[k] = ml_interval_intersect(s->ar, bounds[k], bound);
}

static const ml_Expr *mul_end(Solver *s, const ml_Expr *e, const ml_Expr *f, int64_t add)
{
    ml_Ctx *cx = s->c->cx;

    if (!e || !ml_promote(cx, &e, &f))
        return NULL;
    return ml_simplify(s->ar, ml_add(cx, ml_mul(cx, e, f), ml_int(cx, e->type, add)));
}

static const ml_Expr *div_end(Solver *s, const ml_Expr *e, const ml_Expr *f)
{
    ml_Ctx *cx = s->c->cx;

    if (!e || !ml_promote(cx, &e, &f))
        return NULL;
    return ml_simplify(s->ar, ml_floordiv(cx, e, f));
}

static ml_Interval scaled(Solver *s, ml_Interval i, const ml_Expr *f)
{
    int64_t last = f->as.i - 1;

    return (ml_Interval){mul_end(s, i.min, f, 0), mul_end(s, i.max, f, last), false};
}

/* The interval of c - x for x in *i. */
static bool mirrored(Solver *s, const ml_Expr *c, ml_Interval *i)
{
    const ml_Expr *ends[2] = {i->max, i->min};

    for (size_t k = 0; k < 2; k++) {
        const ml_Expr *x = c;

        if (!ends[k] || !ml_promote(s->c->cx, &x, &ends[k]))
            return false;
        ends[k] = ml_simplify(s->ar, ml_sub(s->c->cx, x, ends[k]));
    }
    *i = (ml_Interval){ends[0], ends[1], false};
    return true;
}

/* f where e is f times an iter, plus or minus what is no iter; else 1. */
static int64_t stride_of(const ml_Block *b, const ml_Expr *e)
{
    while ((e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) &&
           !ml_uses_iters(b, e->args[1]))
        e = e->args[0];
    if (e->kind == ML_EXPR_MUL && e->args[0]->kind == ML_EXPR_VAR &&
        e->args[1]->kind == ML_EXPR_INT && e->args[1]->as.i > 0)
        return e->args[1]->as.i;
    return 1;
}

/* e in need, where e is one index of the buffer; false: not solvable. */
static bool solve_index(Solver *s, const ml_Expr *e, ml_Interval need, ml_Interval bound,
                        ml_Interval *needs, ml_Interval *bounds, bool *got)
{
    const ml_Expr *a = e->n_args > 0 ? e->args[0] : e;
    const ml_Expr *b = e->n_args > 1 ? e->args[1] : e;

    ML_ASSERT(e->kind == ML_EXPR_CAST ? a != NULL : !ml_kind_is_binary(e->kind) || b);
    if (!ml_uses_iters(s->block, e))
        return true; /* no iter to solve for: the consumer's index is what it is */
    if (e->kind == ML_EXPR_SUB && !ml_uses_iters(s->block, a)) /* c - e' */
        return mirrored(s, a, &need) && mirrored(s, a, &bound) &&
               solve_index(s, b, need, bound, needs, bounds, got);
    switch (e->kind) {
    case ML_EXPR_VAR:
        narrow(s, ml_iter_of(s->block, e->as.var), need, bound, needs, bounds, got);
        return true;
    case ML_EXPR_CAST: return solve_index(s, a, need, bound, needs, bounds, got);
    case ML_EXPR_MUL:
        if (ml_uses_iters(s->block, b)) { /* n * v */
            const ml_Expr *t = a;

            a = b;
            b = t;
        }
        if (ml_uses_iters(s->block, b) || !ml_prove_ge(s->ar, b, 1) ||
            a->kind != ML_EXPR_VAR)
            return false;
        need = (ml_Interval){div_end(s, need.min, b), div_end(s, need.max, b), false};
        bound = (ml_Interval){div_end(s, bound.min, b), div_end(s, bound.max, b), false};
        return solve_index(s, a, need, bound, needs, bounds, got);
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
        /* e' + c, e' - c with c free of iters: move c over. */
        if (!ml_uses_iters(s->block, b)) {
            ml_Ctx *cx = s->c->cx;
            ml_Interval *both[2] = {&need, &bound};

            for (size_t k = 0; k < 2; k++) {
                const ml_Expr **ends[2] = {&both[k]->min, &both[k]->max};

                for (size_t m = 0; m < 2; m++) {
                    const ml_Expr *x = *ends[m], *y = b;

                    if (!x || !ml_promote(cx, &x, &y))
                        return false;
                    *ends[m] =
                        ml_simplify(s->ar, e->kind == ML_EXPR_ADD ? ml_sub(cx, x, y)
                                                                  : ml_add(cx, x, y));
                }
            }
            return solve_index(s, a, need, bound, needs, bounds, got);
        }
        return false;
    case ML_EXPR_FLOORDIV:
        if (b->kind != ML_EXPR_INT || b->as.i <= 0)
            return false;
        return solve_index(s, a, scaled(s, need, b), scaled(s, bound, b), needs, bounds,
                           got);
    case ML_EXPR_FLOORMOD: return true; /* says nothing about where the iter lies */
    }
    return false;
}

static ml_Interval whole_dim(Solver *s, const ml_Buffer *buf, size_t d)
{
    ml_Ctx *cx = s->c->cx;
    const ml_Expr *n = buf->shape[d], *zero = ml_int(cx, n->type, 0);

    return (ml_Interval){
        zero, ml_simplify(s->ar, ml_max(cx, ml_sub(cx, n, ml_int(cx, n->type, 1)), zero)),
        false};
}

/* The same as below for what most blocks do: each index is an iter, from 0 and of its own,
 * in a buffer of a literal shape. Then each iter is needed where its index is. */
static bool solve_plain(Solver *s, const ml_Region *r, const ml_Interval *need,
                        ml_Interval *needs, ml_Interval *bounds, bool *got)
{
    const ml_Block *b = s->block;

    for (size_t d = 0; d < r->buffer->rank; d++) {
        const ml_Expr *e = r->ranges[d].min, *lo = need[d].min, *hi = need[d].max;
        size_t k = e->kind == ML_EXPR_VAR ? ml_iter_of(b, e->as.var) : b->n_iters;

        if (k == b->n_iters || got[k] || !ml_is_int(r->ranges[d].extent, 1) ||
            !ml_is_int(b->iters[k].min, 0) || b->iters[k].extent->kind != ML_EXPR_INT ||
            b->iters[k].extent->as.i < 2 || r->buffer->shape[d]->kind != ML_EXPR_INT ||
            !ml_dtype_eq(r->buffer->shape[d]->type, e->type) || !lo || !hi ||
            !ml_dtype_eq(lo->type, e->type) || !ml_dtype_eq(hi->type, e->type) ||
            (lo->kind == ML_EXPR_INT && hi->kind == ML_EXPR_INT && hi->as.i < lo->as.i))
            return false;
        got[k] = true;
    }
    for (size_t d = 0; d < r->buffer->rank; d++) {
        size_t k = ml_iter_of(b, r->ranges[d].min->as.var);
        const ml_Expr *lo = ml_simplify(s->ar, need[d].min);
        const ml_Expr *hi = ml_simplify(s->ar, need[d].max);

        needs[k] = (ml_Interval){lo, hi, false};
        bounds[k] = whole_dim(s, r->buffer, d);
    }
    return true;
}

/* Through the inverse of the index vector, when it is a bijective map of all the iters that
 * it uses: each iter is the interval of its inverse over the box. */
static bool solve_inverse(Solver *s, const ml_Region *r, const ml_Interval *need,
                          ml_Interval *needs, ml_Interval *bounds, bool *got)
{
    ml_Ctx *cx = s->c->cx;
    size_t rank = r->buffer->rank;
    const ml_Block *b = s->block;
    ml_DomVec iters = {0};
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, rank);
    const ml_Expr **out = ML_ARRAY(cx, const ml_Expr *, rank);
    ml_Dom *box = ML_ARRAY(cx, ml_Dom, rank), *all = ML_ARRAY(cx, ml_Dom, rank);
    ml_Map *inverse = ml_map_new(cx);

    for (size_t d = 0; d < rank; d++) {
        idx[d] = r->ranges[d].min;
        if (!ml_is_int(r->ranges[d].extent, 1))
            return false;
    }
    for (size_t k = 0; k < b->n_iters; k++)
        for (size_t d = 0; d < rank; d++)
            if (ml_expr_uses_var(idx[d], b->iters[k].var)) {
                ml_push(cx, &iters,
                        ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
                break;
            }
    ml_IterMap m = ml_iter_detect(s->ar, idx, rank, iters.v, iters.n, ml_bool(cx, true),
                                  ML_BIJECTIVE, true);

    if (!m.ok)
        return false;
    for (size_t d = 0; d < rank; d++) {
        ml_Dtype t = idx[d]->type;
        const ml_Var *z = ml_var_new(cx, "z", t);
        ml_Interval w = whole_dim(s, r->buffer, d);
        const ml_Expr *one = ml_int(cx, t, 1);

        out[d] = ml_var(cx, z);
        box[d] = (ml_Dom){z, ml_cast(cx, t, need[d].min), NULL};
        box[d].extent = ml_simplify(
            s->ar, ml_add(cx, ml_sub(cx, ml_cast(cx, t, need[d].max), box[d].min), one));
        all[d] = (ml_Dom){z, ml_int(cx, t, 0), ml_add(cx, ml_cast(cx, t, w.max), one)};
    }
    if (!ml_iter_inverse(s->ar, &m, out, inverse))
        return false;
    for (size_t k = 0; k < iters.n; k++) {
        const ml_Expr *e = ml_map_get(inverse, iters.v[k].var->uid);

        if (!e) /* a unit iter without a digit */
            e = iters.v[k].min;
        ml_Interval n = ml_relax(s->ar, e, box, rank), w = ml_relax(s->ar, e, all, rank);

        if (!n.min || !n.max)
            return false;
        n = (ml_Interval){ml_simplify(s->ar, n.min), ml_simplify(s->ar, n.max), n.nothing};
        narrow(s, ml_iter_of(b, iters.v[k].var), n, w, needs, bounds, got);
    }
    return true;
}

/* outside: dimensions that say nothing (NULL: none). */
static bool solve_buffer(Solver *s, const ml_Region *r, const ml_Interval *need,
                         const bool *outside)
{
    ml_Ctx *cx = s->c->cx;
    const ml_Block *b = s->block;
    ml_Interval *needs = ML_ARRAY(cx, ml_Interval, b->n_iters);
    ml_Interval *bounds = ML_ARRAY(cx, ml_Interval, b->n_iters);
    bool *got = ML_ARRAY(cx, bool, b->n_iters);

    bool some = false;

    for (size_t d = 0; outside && d < r->buffer->rank; d++)
        some |= outside[d];
    bool plain = !some && solve_plain(s, r, need, needs, bounds, got);

    if (!plain)
        memset(got, 0, b->n_iters * sizeof *got);
    if (some || (!plain && !solve_inverse(s, r, need, needs, bounds, got))) {
        memset(got, 0, b->n_iters * sizeof *got);
        for (size_t d = 0; d < r->buffer->rank; d++) {
            const ml_Expr *e = r->ranges[d].min, *ext = r->ranges[d].extent;
            ml_Interval n = need[d], w = whole_dim(s, r->buffer, d);

            if (outside && outside[d])
                continue;
            if (!ml_is_int(ext, 1)) {
                /* A range [e, e+x) meets [a, b] when e is in [a-x+1, b]; of multiples of f,
                 * e is then f * [(a-x+f)//f, b//f], and [a//f, b//f] holds that when x <=
                 * f. */
                const ml_Expr *x = ext, *a = n.min;
                int64_t f = stride_of(b, e);

                if (ml_uses_iters(b, ext) || !ml_promote(cx, &a, &x))
                    return ml_fail(cx, ML_E_REGION_NOT_SOLVABLE, ML_BUFFER(r->buffer),
                                   ML_NUMBER("dimension", d), ML_EXPRESSION(e),
                                   ML_BLOCK(b));
                if (!(x->kind == ML_EXPR_INT && x->as.i <= f))
                    n.min = ml_simplify(
                        s->ar, ml_add(cx, ml_sub(cx, a, x), ml_int(cx, a->type, f)));
            }
            if (!solve_index(s, e, n, w, needs, bounds, got))
                return ml_fail(cx, ML_E_REGION_NOT_SOLVABLE, ML_BUFFER(r->buffer),
                               ML_NUMBER("dimension", d), ML_EXPRESSION(e), ML_BLOCK(b));
        }
    }
    for (size_t k = 0; k < b->n_iters; k++) {
        ml_Interval own = ml_interval_range(s->ar, b->iters[k].min, b->iters[k].extent);

        /* A buffer that says nothing about an iter leaves it its whole domain. */
        ml_Interval n = got[k] ? needs[k] : own, w = got[k] ? bounds[k] : own;

        s->need[k] = s->known[k] ? ml_interval_union(s->ar, s->need[k], n) : n;
        s->bound[k] = s->known[k] ? ml_interval_union(s->ar, s->bound[k], w) : w;
        s->known[k] = true;
    }
    return true;
}

/* ---- step 4 */

static bool is_literal(ml_Interval i)
{
    return i.min && i.max && i.min->kind == ML_EXPR_INT && i.max->kind == ML_EXPR_INT;
}

static ml_IterDomain settle(Solver *s, size_t k, ml_Interval own)
{
    ml_IterDomain r = {own, ML_EVERYTHING};

    if (!s->known[k])
        return r;
    ml_Interval need = s->need[k];
    ml_Interval bound = ml_interval_intersect(s->ar, s->bound[k], own);

    if (need.nothing || !need.min || !need.max)
        return r;
    if (bound.nothing)
        bound = own;
    if (ml_interval_includes(s->ar, bound, need)) {
        r.need = need;
        return r;
    }
    if (ml_interval_includes(s->ar, need, bound)) {
        r.need = bound;
        return r;
    }
    ml_Interval both = ml_interval_intersect(s->ar, need, bound);

    if (!both.nothing && is_literal(both)) {
        r.need = both;
        return r;
    }
    r.need = need;
    r.bound = bound;
    return r;
}

bool ml_solve_domains(ml_Call *c, ml_Arith *ar, const ml_Block *block, const ml_For *loop,
                      const ml_UidVec *related, bool reverse, const bool *const *outside,
                      ml_IterDomain *out)
{
    ml_Ctx *cx = c->cx;
    Solver s = {.c = c, .ar = ar, .block = block};
    const ml_Region *provided = reverse ? block->reads : block->writes;
    size_t n = reverse ? block->n_reads : block->n_writes;
    ml_Interval *own = ML_ARRAY(cx, ml_Interval, block->n_iters);
    bool harmless;

    s.need = ML_ARRAY(cx, ml_Interval, block->n_iters);
    s.bound = ML_ARRAY(cx, ml_Interval, block->n_iters);
    s.known = ML_ARRAY(cx, bool, block->n_iters);
    if (!ml_executed_values(c, block, own, &harmless) && !harmless) {
        return ml_unproved(
            cx, ML_E_INSTANCES_LOST,
            "block {0} would run the same instances when it moves: which ones its "
            "predicate and the bounds of its loops let run is not told",
            ML_BLOCK(block));
    }
    /* What was found holds where the block's loops run. One that may not run at all leaves
     * no value, which the domain says: a guard against it stands for the loop, should the
     * move drop it. */
    for (size_t k = 0; k < block->n_iters; k++) {
        const ml_Expr *min = block->iters[k].min, *extent = block->iters[k].extent;
        ml_Interval both =
            ml_interval_intersect(ar, own[k], ml_interval_range(ar, min, extent));

        if (both.min && both.max)
            own[k] = both;
        else /* no values, but ends to make a loop from */
            own[k] = (ml_Interval){min, ml_sub(cx, min, ml_int(cx, min->type, 1)), false};
    }
    for (size_t k = 0; k < n; k++) {
        const ml_Buffer *buf = provided[k].buffer;
        ml_Interval *hull = ML_ARRAY(cx, ml_Interval, buf->rank);
        bool any = false;

        for (size_t m = 0; m < related->n; m++) {
            const ml_Block *rel = ml_call_block(c, related->v[m]);

            require_regions(&s, loop, rel, reverse ? rel->writes : rel->reads,
                            reverse ? rel->n_writes : rel->n_reads, buf, !reverse, hull,
                            &any);
        }
        if (any && !solve_buffer(&s, &provided[k], hull, outside ? outside[k] : NULL))
            return false;
    }
    for (size_t k = 0; k < block->n_iters; k++)
        out[k] = settle(&s, k, own[k]);
    return true;
}

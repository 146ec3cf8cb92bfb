/*
 * disjoint - whether different iterations of a loop touch different elements of a buffer.
 *
 * Five ways to show it, each sufficient: some dimensions are, in every access, the same
 * expressions of the loop variable, and these determine it; each access has moved past each
 * other one, in some dimension, from one iteration to any later one; the element that is
 * touched determines the loop variable, and in the same way for all accesses (the indices
 * are an invertible map of it, the loops inside, the places in a tile and some of the loops
 * outside), or the place in memory does; or guards leave only one iteration. Source: ir-and-analysis 2.3 (several
 * writers), primitives 6.
 */
#include "moonloop/verify/facts.h"

typedef struct Access {
    const ml_Block *block;
    const ml_Region *region;
    bool is_read;
    ml_Interval *box; /* per dimension, relaxed over the loops inside */
} Access;

typedef struct Disjoint {
    ml_Ctx *cx;
    ml_Program p;
    const ml_For *loop;
    const ml_Buffer *buf;
    ml_Arith *ar;
    ML_VEC(Access) access;
} Disjoint;

static ml_Region bound(Disjoint *d, const ml_Block *b, const ml_Region *r)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(d->cx, &sub, b->iters[k].var, b->iters[k].value);
    return ml_region_subst(d->cx, *r, &sub);
}

static void add(Disjoint *d, const ml_Block *b, const ml_Region *v, size_t n, bool read)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer->uid == d->buf->uid)
            ml_push(d->cx, &d->access, ((Access){b, &v[k], read, NULL}));
}

/* What each access covers in one iteration, as intervals. */
static void relax_all(Disjoint *d)
{
    for (size_t k = 0; k < d->access.n; k++) {
        Access *a = &d->access.v[k];
        ml_DomVec dom = {0};
        ml_Region r = bound(d, a->block, a->region);

        a->box = ML_ARRAY(d->cx, ml_Interval, d->buf->rank);
        ml_relax_domain(d->cx, d->p, a->block->tag, d->loop->var->uid, NULL, &dom);
        if (a->is_read)
            ml_narrow_to_read(d->cx, a->block, a->region, &dom);
        for (size_t m = 0; m < d->buf->rank; m++)
            a->box[m] = ml_relax_loads(d->ar, r.ranges[m], dom.v, dom.n);
    }
}

/* Dimensions that are one and the same point expression of the loop in every access. */
static bool by_common_points(Disjoint *d)
{
    const ml_Expr **e = ML_ARRAY(d->cx, const ml_Expr *, d->buf->rank);
    ml_Dom dom = {d->loop->var, d->loop->min, d->loop->extent};
    size_t n = 0;

    for (size_t m = 0; m < d->buf->rank; m++) {
        const ml_Expr *first = d->access.v[0].box[m].min;
        bool same = first != NULL;

        for (size_t k = 0; same && k < d->access.n; k++)
            same = d->access.v[k].box[m].min == first && d->access.v[k].box[m].max == first;
        if (same && ml_expr_uses_var(first, d->loop->var))
            e[n++] = first;
    }
    return n > 0 &&
           ml_iter_holds(d->ar, e, n, &dom, 1, ml_bool(d->cx, true), ML_BIJECTIVE, false);
}

/* a < b; indices of one buffer may be of either integer type. */
static bool before(Disjoint *d, const ml_Expr *a, const ml_Expr *b)
{
    return a && b && ml_promote(d->cx, &a, &b) &&
           ml_prove_symbolic(d->ar, ml_lt(d->cx, a, b));
}

/* In dimension m the interval of k at an iteration lies before (after) that of j at any
 * later one. */
static bool passes(Disjoint *d, const Access *k, const Access *j, size_t m,
                   const ml_Expr *later)
{
    const ml_Expr *next_lo = j->box[m].min, *next_hi = j->box[m].max;
    const ml_Var *v = d->loop->var;

    next_lo = next_lo ? ml_expr_subst1(d->cx, next_lo, v, later) : NULL;
    if (before(d, k->box[m].max, next_lo))
        return true;
    next_hi = next_hi ? ml_expr_subst1(d->cx, next_hi, v, later) : NULL;
    return before(d, next_hi, k->box[m].min);
}

/* Whatever one access touches at iteration i, another one at any j > i is past it in some
 * dimension. */
static bool by_motion(Disjoint *d)
{
    ml_Ctx *cx = d->cx;
    const ml_Var *v = d->loop->var;
    const ml_Var *step = ml_var_new(cx, "t", v->type);
    const ml_Expr *one = ml_int(cx, v->type, 1);
    const ml_Expr *later = ml_add(cx, ml_add(cx, ml_var(cx, v), one), ml_var(cx, step));

    ml_arith_bind_range(d->ar, step, ml_int(cx, v->type, 0),
                        ml_simplify(d->ar, ml_sub(cx, d->loop->extent, one)));
    for (size_t k = 0; k < d->access.n; k++)
        for (size_t j = 0; j < d->access.n; j++) {
            bool apart = false;

            for (size_t m = 0; m < d->buf->rank && !apart; m++)
                apart = passes(d, &d->access.v[k], &d->access.v[j], m, later);
            if (!apart)
                return false;
        }
    return true;
}

/* An access by the index of one element that it touches, in the loops above its block, in
 * the tile that it touches and in the loops outside, which are given. */
typedef struct Element {
    ml_Region region; /* in the loops */
    const ml_Expr **idx;
    ml_DomVec loops; /* from the scope inwards, then the places in the tile */
    size_t at;       /* of the loop in question */
    const ml_Expr *predicate;
} Element;

static bool element_of(Disjoint *d, const Access *a, ml_Region r, Element *out)
{
    ml_Ctx *cx = d->cx;
    ml_DomVec tile = {0};

    *out = (Element){.region = r,
                     .idx = ML_ARRAY(cx, const ml_Expr *, d->buf->rank),
                     .predicate = a->block->predicate};
    for (size_t m = 0; m < d->buf->rank; m++) {
        ml_Range at = r.ranges[m];

        if ((at.min->flags & ML_X_HAS_LOAD) || !ml_is_const_int(at.extent))
            return false;
        out->idx[m] = at.min;
        if (ml_is_int(at.extent, 1))
            continue;
        const ml_Var *in = ml_var_new(cx, "in", at.min->type);

        ml_push(cx, &tile, ((ml_Dom){in, ml_int(cx, in->type, 0), at.extent}));
        out->idx[m] = ml_add(cx, at.min, ml_var(cx, in));
    }
    ml_relax_domain(cx, d->p, a->block->tag, 0, NULL, &out->loops);
    while (out->at < out->loops.n && out->loops.v[out->at].var != d->loop->var)
        out->at++;
    for (size_t m = 0; m < tile.n; m++)
        ml_push(cx, &out->loops, tile.v[m]);
    return out->at < out->loops.n;
}

/* The iteration of the loop that touches the element at `place`, where the index determines
 * the loops from `first` inwards that it uses, this one among them; or NULL. */
static const ml_Expr *iteration_of(Disjoint *d, const Element *e, size_t first,
                                   const ml_Expr *const *place)
{
    ml_Ctx *cx = d->cx;
    size_t rank = d->buf->rank;
    const ml_Expr *when[2] = {ml_bool(cx, true), e->predicate};
    ml_DomVec used = {0};
    bool loop_used = false;

    for (size_t k = first; k < e->loops.n; k++) {
        bool uses = false;

        for (size_t m = 0; m < rank; m++)
            uses |= ml_expr_uses_var(e->idx[m], e->loops.v[k].var);
        if (uses)
            ml_push(cx, &used, e->loops.v[k]);
        loop_used |= uses && k == e->at;
    }
    for (size_t k = 0; k < 2 && loop_used; k++) {
        if (!place) { /* whichever it is */
            if (ml_iter_holds(d->ar, e->idx, rank, used.v, used.n, when[k], ML_BIJECTIVE,
                              false))
                return when[0];
            continue;
        }
        ml_IterMap map = ml_iter_detect(d->ar, e->idx, rank, used.v, used.n, when[k],
                                        ML_BIJECTIVE, true);
        ml_Map *inverse = ml_map_new(cx);

        if (map.ok && ml_iter_inverse(d->ar, &map, place, inverse))
            return ml_map_get(inverse, d->loop->var->uid);
    }
    return NULL;
}

/* All touch the element in the same iteration, for given loops outside of the first. */
static bool agree(Disjoint *d, const Element *e, size_t n, size_t first,
                  const ml_Expr *const *place)
{
    const ml_Expr *one = iteration_of(d, &e[0], first, n > 1 ? place : NULL);

    for (size_t k = 1; one && k < n; k++) {
        const ml_Expr *other = iteration_of(d, &e[k], first, place);

        if (!other || !ml_prove_equal(d->ar, one, other))
            return false;
    }
    return one != NULL;
}

/* The element determines the loop variable, the same one for all accesses: for given loops
 * outside or together with some of them. */
static bool by_inverse(Disjoint *d)
{
    ml_Ctx *cx = d->cx;
    Element *e = ML_ARRAY(cx, Element, d->access.n);
    const ml_Expr **place = ML_ARRAY(cx, const ml_Expr *, d->buf->rank);
    size_t n = 0;

    for (size_t k = 0; k < d->access.n; k++) {
        const Access *a = &d->access.v[k];
        ml_Region r = bound(d, a->block, a->region);

        if (n > 0 && a->block == d->access.v[0].block && ml_same_region(&e[0].region, &r))
            continue;
        if (!element_of(d, a, r, &e[n++]))
            return false;
    }
    for (size_t m = 0; n > 1 && m < d->buf->rank; m++)
        place[m] = ml_var(cx, ml_var_new(cx, "e", e[0].idx[m]->type));
    /* The loop and those inside it, then with one more of the loops outside at a time: a
     * tile of theirs may take both to be put together. */
    for (size_t first = e[0].at + 1; first-- > 0;)
        if (agree(d, e, n, first, place))
            return true;
    return false;
}

/* No other iteration than the first does anything: what is written is guarded so. */
static bool by_guard(Disjoint *d)
{
    ml_Ctx *cx = d->cx;
    const ml_Var *v = d->loop->var;
    const ml_Var *step = ml_var_new(cx, "t", v->type);
    const ml_Expr *second = ml_add(cx, d->loop->min, ml_int(cx, v->type, 1));
    const ml_Expr *other = ml_add(cx, second, ml_var(cx, step));

    ml_arith_bind_range(d->ar, step, ml_int(cx, v->type, 0), d->loop->extent);
    for (size_t k = 0; k < d->access.n; k++) {
        const ml_Block *b = d->access.v[k].block;
        ml_DomVec inner = {0};

        if (ml_is_true(b->predicate) || !ml_expr_uses_var(b->predicate, v))
            return false;
        ml_relax_domain(cx, d->p, b->tag, v->uid, NULL, &inner);
        /* That its loops have iterations holds where it runs. */
        ml_ArithMark mark = ml_arith_save(d->ar);

        for (size_t m = 0; m < inner.n; m++)
            ml_arith_bind_range(d->ar, inner.v[m].var, inner.v[m].min, inner.v[m].extent);
        bool never = ml_prove_symbolic(
            d->ar, ml_not(cx, ml_expr_subst1(cx, b->predicate, v, other)));

        ml_arith_restore(d->ar, mark);
        if (!never)
            return false;
    }
    return true;
}

/* What all accesses touch of dimension m at given loops outside lies in [*from, *from +
 * *extent); that of the buffer where no more is known. */
static void bounds_of(Disjoint *d, size_t m, const ml_Expr **from, int64_t *extent)
{
    ml_Ctx *cx = d->cx;

    *from = NULL;
    *extent = 1;
    for (size_t k = 0; k < d->access.n; k++) {
        const Access *a = &d->access.v[k];
        ml_Range r = bound(d, a->block, a->region).ranges[m];
        ml_DomVec dom = {0}, inner = {0};

        ml_push(cx, &dom, ((ml_Dom){d->loop->var, d->loop->min, d->loop->extent}));
        ml_relax_domain(cx, d->p, a->block->tag, d->loop->var->uid, NULL, &inner);
        for (size_t n = 0; n < inner.n; n++)
            ml_push(cx, &dom, inner.v[n]);
        ml_Interval box = ml_relax_loads(d->ar, r, dom.v, dom.n);
        const ml_Expr *size =
            box.min && box.max ? ml_simplify(d->ar, ml_sub(cx, box.max, box.min)) : NULL;

        if (!size || !ml_is_const_int(size) || (k && box.min != *from)) {
            *from = NULL;
            *extent = d->buf->shape[m]->as.i;
            return;
        }
        *from = box.min;
        *extent = size->as.i >= *extent ? size->as.i + 1 : *extent;
    }
}

/* The elements by their places in memory, or in the box that is touched: digits of one
 * number, in several dimensions, are the number again, where a guarded tile has cut it so
 * that no digit tells the loop by itself. */
static bool by_place(Disjoint *d)
{
    ml_Ctx *cx = d->cx;
    size_t rank = d->buf->rank;
    const ml_Expr *size = ml_int(cx, ML_DT_I64, ml_buffer_const_size(d->buf));
    const ml_Expr **from = ML_ARRAY(cx, const ml_Expr *, rank + 1u);
    int64_t *extent = ML_ARRAY(cx, int64_t, rank + 1u);
    Disjoint line = {.cx = cx, .p = d->p, .loop = d->loop, .ar = d->ar};

    if (rank < 2 || size->as.i <= 0)
        return false;
    line.buf = ml_buffer_new(cx, d->buf->name, d->buf->type, &size, 1, "");
    for (size_t m = 0; m < rank; m++)
        bounds_of(d, m, &from[m], &extent[m]);
    for (size_t k = 0; k < d->access.n; k++) {
        const Access *a = &d->access.v[k];
        ml_Region r = bound(d, a->block, a->region), *place = ML_NEW(cx, ml_Region);
        ml_Range *at = ML_NEW(cx, ml_Range);
        int64_t stride = 1;

        at->min = at->extent = NULL;
        for (size_t m = rank; m-- > 0;) {
            const ml_Expr *e = r.ranges[m].min;

            if (!ml_is_int(r.ranges[m].extent, 1) || (e->flags & ML_X_HAS_LOAD))
                return false;
            e = from[m] ? ml_sub(cx, e, from[m]) : e;
            e = ml_mul(cx, e, ml_int(cx, e->type, stride));
            at->extent = r.ranges[m].extent;
            if (at->min && !ml_promote(cx, &e, &at->min))
                return false;
            at->min = at->min ? ml_add(cx, e, at->min) : e;
            if (__builtin_mul_overflow(stride, extent[m], &stride))
                return false;
        }
        at->min = ml_simplify(d->ar, at->min);
        *place = (ml_Region){line.buf, at};
        ml_push(cx, &line.access, ((Access){a->block, place, false, NULL}));
    }
    if (by_inverse(&line))
        return true;
    relax_all(&line);
    return by_motion(&line);
}

static bool shown(Disjoint *d)
{
    if (d->access.n == 0 ||
        (ml_is_const_int(d->loop->extent) && d->loop->extent->as.i <= 1))
        return true;
    if (by_inverse(d)) /* the cheapest, and the common case */
        return true;
    relax_all(d);
    return by_motion(d) || by_common_points(d) || by_guard(d) || by_place(d);
}

/* Accesses of the buffer by the blocks of the loop's scope below it; blocks inside those
 * are seen through their signatures. reads: reads too. */
static bool disjoint(ml_Ctx *cx, ml_Program p, ml_Uid loop, const ml_Buffer *b, bool reads)
{
    ml_Mark mark = ml_mark(cx);
    ml_StmtVec blocks = {0};
    Disjoint d = {.cx = cx, .p = p, .buf = b};

    d.loop = ml_as_for(ml_index_node(p.index, loop));
    d.ar = ml_arith_at(cx, p, loop);
    ml_arith_bind_loop(d.ar, d.loop);
    ml_child_blocks(cx, &d.loop->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *blk = ml_as_block(blocks.v[k]);

        add(&d, blk, blk->writes, blk->n_writes, false);
        if (reads)
            add(&d, blk, blk->reads, blk->n_reads, true);
    }
    bool yes = shown(&d);

    ml_release(cx, mark);
    return yes;
}

bool ml_writes_disjoint(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid loop,
                        const ml_Buffer *b)
{
    (void)f;
    return disjoint(cx, p, loop, b, false);
}

bool ml_accesses_disjoint(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid loop,
                          const ml_Buffer *b)
{
    (void)f;
    return disjoint(cx, p, loop, b, true);
}

/* ---- the contrary: a common element, shown at two iterations */

/* What an access surely touches at one iteration of the loop. */
static bool box_at(Disjoint *d, const ml_Block *b, const ml_Region *r, int64_t at,
                   ml_Interval *out)
{
    const ml_Var *v = d->loop->var;
    const ml_Expr *when = ml_int(d->cx, v->type, at);
    ml_Subst sub = {0};
    ml_DomVec dom = {0};

    ml_subst_var(d->cx, &sub, v, when);
    ml_Region here = bound(d, b, r);

    here = ml_region_subst(d->cx, here, &sub);
    ml_relax_domain(d->cx, d->p, b->tag, v->uid, NULL, &dom);
    for (size_t k = 0; k < dom.n; k++) {
        dom.v[k].min = ml_expr_subst(d->cx, dom.v[k].min, &sub);
        dom.v[k].extent = ml_expr_subst(d->cx, dom.v[k].extent, &sub);
        if (ml_arith_bound(d->ar, dom.v[k].extent).lo < 1)
            return false;
    }
    return ml_region_lower(d->ar, here.ranges, d->buf->rank, dom.v, dom.n,
                           ml_simplify(d->ar, ml_expr_subst(d->cx, b->predicate, &sub)),
                           out);
}

static bool boxes_meet(Disjoint *d, const ml_Interval *a, const ml_Interval *b)
{
    for (size_t k = 0; k < d->buf->rank; k++) {
        const ml_Expr *ends[4] = {a[k].min, a[k].max, b[k].min, b[k].max};

        if (a[k].nothing || b[k].nothing)
            return false;
        for (size_t m = 0; m < 4; m++)
            if (!ends[m] || !ml_dtype_eq(ends[m]->type, ends[0]->type))
                return false;
        if (!ml_prove_le_expr(d->ar, a[k].min, a[k].max) ||
            !ml_prove_le_expr(d->ar, b[k].min, b[k].max) ||
            !ml_prove_le_expr(d->ar, a[k].min, b[k].max) ||
            !ml_prove_le_expr(d->ar, b[k].min, a[k].max))
            return false;
    }
    return true;
}

enum { ITERATIONS = 6 }; /* tried from the first one */

bool ml_writes_meet(ml_Ctx *cx, ml_Program p, ml_Uid loop, const ml_Block *a,
                    const ml_Block *b, const ml_Buffer *buf)
{
    ml_Mark mark = ml_mark(cx);
    Disjoint d = {.cx = cx, .p = p, .buf = buf};
    ml_Interval *box[2][ITERATIONS] = {{0}};
    int64_t n;
    bool meet = false;

    d.loop = ml_as_for(ml_index_node(p.index, loop));
    d.ar = ml_arith_at(cx, p, loop);
    n = ml_arith_bound(d.ar, d.loop->extent).lo;
    if (!ml_is_const_int(d.loop->min))
        n = 0;
    n = n < ITERATIONS ? n : ITERATIONS;
    for (size_t k = 0; k < a->n_writes && !meet; k++)
        for (size_t m = 0; m < b->n_writes && !meet; m++) {
            const ml_Region *w[2] = {&a->writes[k], &b->writes[m]};

            if (w[0]->buffer->uid != buf->uid || w[1]->buffer->uid != buf->uid)
                continue;
            for (size_t side = 0; side < 2; side++)
                for (int64_t at = 0; at < n; at++) {
                    box[side][at] = ML_ARRAY(cx, ml_Interval, buf->rank + 1u);
                    if (!box_at(&d, side ? b : a, w[side], d.loop->min->as.i + at,
                                box[side][at]))
                        box[side][at] = NULL;
                }
            for (int64_t i = 0; i < n && !meet; i++)
                for (int64_t j = 0; j < n && !meet; j++)
                    meet = i != j && box[0][i] && box[1][j] &&
                           boxes_meet(&d, box[0][i], box[1][j]);
        }
    ml_release(cx, mark);
    return meet;
}

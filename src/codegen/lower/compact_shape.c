/*
 * compact_shape - the shape, strides and minima that a compacted buffer gets, and the
 * program over the new buffers. Source: lowering-and-codegen 2.8.
 */
#include "moonloop/codegen/lower/compact.h"

/* ---------------------------------------------------------------- buffer_dim_align */

static void align_entry(ml_Compaction *c, const ml_Block *b, const ml_Value *e,
                        bool of_allocs)
{
    const ml_Buffer *buf;
    size_t at, dim;
    ml_Align *a, one;

    if (!ml_align_entry(e, of_allocs ? b->n_allocs : b->n_writes, &at, &dim, &one))
        return;
    buf = of_allocs ? b->allocs[at] : b->writes[at].buffer;
    if (dim >= buf->rank)
        return;
    /* The map's values are this pass's own records. */
    a = (ml_Align *)(uintptr_t)ml_map_get(c->align, buf->uid);
    if (!a) {
        a = ML_ARRAY(c->lo->cx, ml_Align, buf->rank);
        ml_map_set(c->lo->cx, c->align, buf->uid, a);
    }
    a[dim] = one;
}

/* Outside in: what a view of a view asks, it asks of the buffer. */
static void asks(ml_Compaction *c, const ml_Match *m)
{
    ml_Ctx *cx = c->lo->cx;
    const ml_Buffer *t = m->target, *s = m->source.buffer;
    /* The map's values are this pass's own records. */
    ml_ViewsAsk *a = (ml_ViewsAsk *)(uintptr_t)ml_map_get(c->asked, m->source.buffer->uid);

    if (!a) {
        a = ML_NEW(cx, ml_ViewsAsk);
        *a = (ml_ViewsAsk){m->source.buffer, 1, false,
                           ML_ARRAY(cx, bool, m->source.buffer->rank + 1u)};
        ml_map_set(cx, c->asked, a->buffer->uid, a);
    }
    ml_map_set(cx, c->asked, t->uid, a);
    for (size_t d = 0; d < s->rank && s->rank <= a->buffer->rank; d++)
        a->begins[d + (a->buffer->rank - s->rank)] |=
            !ml_is_int(m->source.ranges[d].min, 0);
    if (t->offset_factor > 1 && t->elem_offset->kind == ML_EXPR_VAR)
        for (int64_t f = a->factor; a->factor % t->offset_factor != 0;)
            a->factor += f;
    for (size_t d = 0; d < t->n_strides; d++)
        a->fixed |= t->strides[d]->kind != ML_EXPR_VAR &&
                    !(d + 1u == t->rank && ml_is_int(t->strides[d], 1));
}

static bool collect(const ml_Stmt *s, void *user)
{
    ml_Compaction *c = user;
    const ml_Value *list;

    if (!s->has_block)
        return false;
    if (s->kind != ML_STMT_BLOCK)
        return true;
    for (uint32_t k = 0; k < ml_as_block(s)->n_matches; k++)
        asks(c, &ml_as_block(s)->matches[k]);
    for (size_t of_allocs = 0; of_allocs < 2; of_allocs++) {
        list = ml_dict_get(ml_as_block(s)->annotations,
                           of_allocs ? ML_ALLOC_DIM_ALIGN : "buffer_dim_align");
        if (list && list->kind != ML_VAL_LIST)
            ml_lower_note(c->lo, s->span,
                          "the annotation buffer_dim_align is no list: ignored");
        for (size_t k = 0; list && list->kind == ML_VAL_LIST && k < list->n; k++)
            align_entry(c, ml_as_block(s), list->as.list[k], of_allocs);
    }
    return true;
}

void ml_compact_align(ml_Compaction *c, const ml_Stmt *body)
{
    c->align = ml_map_new(c->lo->cx);
    c->asked = ml_map_new(c->lo->cx);
    ml_stmt_visit(body, collect, c);
}

/* ---------------------------------------------------------------- shapes */

static bool has_loop_var(const ml_Compaction *c, const ml_Expr *e)
{
    for (size_t k = 0; k < c->dom.n; k++)
        if (ml_expr_uses_var(e, c->dom.v[k].var))
            return true;
    return false;
}

/* A minimum or maximum among the terms of a sum, also of one that is divided. */
typedef struct Choice {
    const ml_Expr *node;
    bool negative; /* it is subtracted */
    uint32_t n;    /* occurrences */
} Choice;

static void find_choice(const ml_Expr *e, bool negative, Choice *c)
{
    if (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) {
        find_choice(e->args[0], negative, c);
        find_choice(e->args[1], negative != (e->kind == ML_EXPR_SUB), c);
    } else if (e->kind == ML_EXPR_MIN || e->kind == ML_EXPR_MAX) {
        if (!c->node) {
            c->node = e;
            c->negative = negative;
        }
        c->n += c->node == e;
    } else if (e->kind == ML_EXPR_FLOORDIV && ml_is_const_int(e->args[1]) &&
               e->args[1]->as.i > 0) {
        find_choice(e->args[0], negative, c); /* it grows with what is divided */
    }
}

typedef struct Put {
    const ml_Expr *from, *to;
} Put;

static const ml_Expr *put(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Put *p = user;

    if (e == p->from)
        return p->to;
    return e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB || e->kind == ML_EXPR_FLOORDIV
               ? ml_expr_map_args(cx, e, put, user)
               : e;
}

typedef struct Unknown {
    ml_Arith *ar;
    bool found;
} Unknown;

static bool is_unknown(const ml_Expr *e, void *user)
{
    Unknown *u = user;

    u->found |= e->kind == ML_EXPR_VAR && ml_arith_bound(u->ar, e).hi >= INT32_MAX;
    return !u->found;
}

/* What is known of e as it stands. What comes from the largest value of a size's dtype is
 * not known: 2^30 elements would be allocated for (n - i) // 2. */
static int64_t known_bound(ml_Compaction *c, const ml_Expr *e)
{
    enum { LARGE = 1 << 20 };
    int64_t hi = ml_arith_bound(c->ar, e).hi;
    Unknown u = {c->ar, false};

    if (hi > LARGE)
        ml_expr_visit(e, is_unknown, &u);
    return u.found ? ML_INF : hi;
}

/* An upper bound of e; minima and maxima in it are taken by cases, so that what they share
 * with other terms cancels. ML_INF: none. */
static int64_t at_most(ml_Compaction *c, const ml_Expr *e, int depth)
{
    ml_Ctx *cx = c->lo->cx;
    Choice pick = {0};
    int64_t best, v[2];

    e = ml_simplify(c->ar, e);
    best = known_bound(c, e);
    find_choice(e, false, &pick);
    if (ml_gave_up(cx, c->ar))
        return ML_INF;
    if (!pick.node || depth == 0)
        return best;
    for (size_t k = 0; k < 2; k++) {
        Put p = {pick.node, pick.node->args[k]};

        v[k] = at_most(c, put(cx, e, &p), depth - 1);
    }
    if (pick.n == 1 && (pick.node->kind == ML_EXPR_MIN) != pick.negative)
        v[0] = v[0] < v[1] ? v[0] : v[1]; /* e is the smaller of the two */
    else
        v[0] = v[0] > v[1] ? v[0] : v[1];
    return v[0] < best ? v[0] : best;
}

/* e, or when it follows the loops around a constant that is at least as large; NULL: there
 * is none. */
static const ml_Expr *steady(ml_Compaction *c, const ml_Expr *e)
{
    int64_t most;

    if (!has_loop_var(c, e))
        return e;
    most = at_most(c, e, 6);
    return most >= INT32_MAX || most < 1 ? NULL : ml_int(c->lo->cx, e->type, most);
}

/* The dimension [min, min + extent) of what is used; false: as it was. */
static bool dimension(ml_Compaction *c, const ml_Compact *r, size_t d, const ml_Expr **min,
                      const ml_Expr **extent)
{
    const ml_Expr *n = r->buffer->shape[d], *lo = r->hull[d].min, *hi = r->hull[d].max;
    ml_Ctx *cx = c->lo->cx;
    const ml_Expr *zero, *one, *all, *part = NULL;

    if ((r->opaque && (d > 0 || r->whole)) || !ml_dtype_is_index(n->type))
        return false;
    zero = *min = ml_int(cx, n->type, 0);
    one = ml_int(cx, n->type, 1);
    all = steady(c, n);
    all = all ? all : n;
    lo = lo && !r->opaque ? lo : zero;
    hi = hi ? hi : ml_sub(cx, n, one);
    if (!r->whole && !r->hull[d].nothing && ml_dtype_eq(lo->type, n->type) &&
        ml_dtype_eq(hi->type, n->type)) {
        *min = ml_simplify(c->ar, ml_max(cx, lo, zero));
        part = ml_simplify(c->ar, ml_add(cx, ml_sub(cx, hi, lo), one));
        part = steady(c, part);
    }
    *extent = part ? ml_simplify(c->ar, ml_min(cx, part, all)) : all;
    if (ml_gave_up(cx, c->ar))
        return false;
    if (*extent == all || (ml_is_const_int(*extent) && (*extent)->as.i < 1)) {
        *min = zero;
        *extent = all;
    }
    return *extent != n;
}

static const ml_Expr *const *aligned_strides(ml_Compaction *c, const ml_Buffer *b,
                                             const ml_Align *align)
{
    const ml_Expr *const *strides = ml_buffer_strides(c->ar, b, align);

    return ml_gave_up(c->lo->cx, c->ar) ? NULL : strides;
}

/* Where views begin in the middle of a dimension at multiples of the factor, its stride is a
 * multiple of it, too. What a view has whole keeps its form: intrinsics count on it. */
static const ml_Align *for_views(ml_Compaction *c, const ml_Buffer *b,
                                 const ml_Align *align, const ml_ViewsAsk *asked,
                                 const ml_Expr *const *min)
{
    ml_Ctx *cx = c->lo->cx;
    const ml_Expr *const *stride = aligned_strides(c, b, align);
    ml_Align *all = ML_ARRAY(cx, ml_Align, b->rank + 1u);
    bool more = false;

    for (size_t d = 0; d < b->rank; d++) {
        all[d] = align ? align[d] : (ml_Align){0, 0};
        if (d + 1u == b->rank || all[d].factor || !stride || !(asked->begins[d] || min[d]))
            continue;
        const ml_Expr *f = ml_int(cx, stride[d]->type, asked->factor);

        if (ml_prove_equal(c->ar, ml_floormod(cx, stride[d], f),
                           ml_int(cx, stride[d]->type, 0)))
            continue;
        all[d] = (ml_Align){asked->factor, 0};
        more = true;
    }
    return more ? all : align;
}

void ml_compact_shape(ml_Compaction *c, ml_Compact *r)
{
    static const ml_ViewsAsk none = {NULL, 1, false, NULL};
    ml_Ctx *cx = c->lo->cx;
    const ml_Buffer *b = r->buffer;
    const ml_Align *align = ml_map_get(c->align, b->uid);
    const ml_ViewsAsk *asked = ml_map_get(c->asked, b->uid);
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, b->rank + 1u);
    bool changed = false;
    ml_Buffer to = *b;

    asked = asked ? asked : &none;
    r->min = ML_ARRAY(cx, const ml_Expr *, b->rank + 1u);
    for (size_t d = 0; d < b->rank; d++) {
        const ml_Expr *min, *extent;

        shape[d] = b->shape[d];
        if ((asked->fixed && d > 0) || !dimension(c, r, d, &min, &extent) ||
            (asked->factor > 1 && d + 1u == b->rank && !ml_is_int(min, 0)))
            continue;
        changed = true;
        shape[d] = extent;
        r->min[d] = ml_is_int(min, 0) ? NULL : min;
    }
    to.shape = shape;
    if (align && r->compact) {
        ml_lower_note(c->lo, r->block->span,
                      "the alignment asked for %s is ignored: vectors run from row to row",
                      b->name);
        align = NULL;
    } else if (changed && asked->factor > 1 && b->rank > 1) {
        align = for_views(c, &to, align, asked, r->min);
    }
    if (align) {
        to.strides = aligned_strides(c, &to, align);
        to.n_strides = to.strides ? to.rank : 0;
        if (!to.strides)
            ml_lower_note(c->lo, r->block->span,
                          "the alignment asked for %s is too large: ignored", b->name);
        changed |= to.strides != NULL;
    }
    r->to = changed ? ml_buffer_from(cx, &to, false) : b;
}

/* ---------------------------------------------------------------- mentions */

typedef struct Mention {
    const ml_Buffer *b;
    bool found;
} Mention;

static void in_regions(Mention *m, const ml_Region *v, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        m->found |= v[k].buffer->uid == m->b->uid;
        for (size_t d = 0; d < v[k].buffer->rank; d++)
            m->found |= ml_expr_uses_buffer(v[k].ranges[d].min, m->b) ||
                        ml_expr_uses_buffer(v[k].ranges[d].extent, m->b);
    }
}

static void in_value(Mention *m, const ml_Value *v)
{
    if (!v)
        return;
    if (v->kind == ML_VAL_BUFFER)
        m->found |= v->as.buffer->uid == m->b->uid;
    if (v->kind == ML_VAL_LIST || v->kind == ML_VAL_DICT)
        for (uint32_t k = 0; k < v->n; k++)
            in_value(m, v->as.list[k]);
}

static bool mention(const ml_Stmt *s, void *user)
{
    Mention *m = user;

    if (s->kind == ML_STMT_ATTR)
        in_value(m, ml_as_attr(s)->node);
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        in_regions(m, b->reads, b->n_reads);
        in_regions(m, b->writes, b->n_writes);
        in_value(m, b->annotations);
    }
    return !m->found;
}

bool ml_compact_mentioned(ml_Compaction *c, const ml_Stmt *body, const ml_Buffer *b)
{
    Mention m = {b, false};

    (void)c;
    ml_stmt_visit(body, mention, &m);
    return m.found;
}

/* ---------------------------------------------------------------- rewriting */

static const ml_Compact *known(const ml_Compaction *c, const ml_Buffer *b)
{
    const ml_Compact *r = ml_map_get(c->buffers, b->uid);

    return r && r->to != r->buffer ? r : NULL;
}

static const ml_Expr *less(ml_Ctx *cx, const ml_Expr *e, const ml_Expr *min)
{
    if (!min)
        return e;
    if (e->kind == ML_EXPR_RAMP)
        return ml_ramp(cx, less(cx, e->args[0], min), e->args[1], e->type.lanes);
    if (e->kind == ML_EXPR_BROADCAST)
        return ml_broadcast(cx, less(cx, e->args[0], min), e->type.lanes);
    (void)ml_promote(cx, &e, &min);
    return ml_sub(cx, e, min);
}

static const ml_Expr *rewrite_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const ml_Compaction *c = user;
    const ml_Compact *r;
    const ml_Expr **idx;
    size_t n;

    if (!(e->flags & ML_X_HAS_LOAD))
        return e;
    e = ml_expr_map_args(cx, e, rewrite_expr, user);
    if (e->kind != ML_EXPR_LOAD || !(r = known(c, e->as.buffer)))
        return e;
    n = ml_load_rank(e);
    idx = ML_ARRAY(cx, const ml_Expr *, n + 1);
    for (size_t d = 0; d < n; d++)
        idx[d] = less(cx, e->args[d], d < r->buffer->rank ? r->min[d] : NULL);
    return (e->flags & ML_X_MASKED) ? ml_load_masked(cx, r->to, idx, n, e->args[n])
                                    : ml_load(cx, r->to, idx, n);
}

static const ml_Buffer *rewrite_buffer(ml_Ctx *cx, const ml_Buffer *b, bool is_definition,
                                       void *user)
{
    const ml_Compact *r = known(user, b);

    (void)cx;
    (void)is_definition;
    return r ? r->to : b;
}

/* Called with regions whose buffers are still the old ones. */
static ml_Region moved_region(const ml_Compaction *c, ml_Region g)
{
    const ml_Compact *r = known(c, g.buffer);
    ml_Ctx *cx = c->lo->cx;
    ml_Range *ranges;

    if (!r)
        return g;
    ranges = ML_ARRAY(cx, ml_Range, g.buffer->rank + 1u);
    for (size_t d = 0; d < g.buffer->rank; d++) {
        ranges[d] = g.ranges[d];
        if (r->min[d])
            ranges[d].min = ml_simplify(c->ar, less(cx, ranges[d].min, r->min[d]));
    }
    return (ml_Region){g.buffer, ranges};
}

static const ml_Region *moved_regions(const ml_Compaction *c, const ml_Region *v,
                                      uint32_t n)
{
    ml_Region *out = ML_ARRAY(c->lo->cx, ml_Region, n + 1u);

    for (uint32_t k = 0; k < n; k++)
        out[k] = moved_region(c, v[k]);
    return out;
}

static const ml_Stmt *rewrite(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {rewrite, rewrite_expr, rewrite_buffer, user};
    ml_Compaction *c = user;

    if (s->kind == ML_STMT_STORE) {
        const ml_Compact *r = known(c, ml_as_store(s)->buffer);
        ml_Store st = *ml_as_store(s);
        const ml_Expr **idx;

        if (!r)
            return ml_stmt_map(cx, s, &m);
        idx = ML_ARRAY(cx, const ml_Expr *, st.n + 1);
        for (uint32_t d = 0; d < st.n; d++)
            idx[d] = less(cx, rewrite_expr(cx, st.indices[d], c), r->min[d]);
        st.buffer = r->to;
        st.indices = idx;
        st.value = rewrite_expr(cx, st.value, c);
        st.mask = st.mask ? rewrite_expr(cx, st.mask, c) : NULL;
        return ml_stmt_from(cx, &st.base);
    }
    if (s->kind == ML_STMT_BLOCK) {
        ml_Block b = *ml_as_block(s);
        const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, b.n_allocs + 1u);
        ml_Match *matches = ML_ARRAY(cx, ml_Match, b.n_matches + 1u);
        uint32_t n = 0;

        b.reads = moved_regions(c, b.reads, b.n_reads);
        b.writes = moved_regions(c, b.writes, b.n_writes);
        for (uint32_t k = 0; k < b.n_matches; k++) {
            matches[k] = b.matches[k];
            matches[k].source = moved_region(c, matches[k].source);
        }
        b.matches = matches;
        for (uint32_t k = 0; k < b.n_allocs; k++) {
            const ml_Compact *r = ml_map_get(c->buffers, b.allocs[k]->uid);

            if (r->any)
                allocs[n++] = b.allocs[k];
        }
        b.allocs = allocs;
        b.n_allocs = n;
        return ml_stmt_map(cx, ml_block_from(cx, &b), &m);
    }
    return ml_stmt_map(cx, s, &m);
}

const ml_Stmt *ml_compact_rewrite(ml_Compaction *c, const ml_Stmt *body)
{
    return rewrite(c->lo->cx, body, c);
}

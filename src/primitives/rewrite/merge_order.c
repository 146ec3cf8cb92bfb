/*
 * merge_order - whether bodies of loops that become one still come in order: what they and
 * the statements between them touch. Source: see merge.c.
 */
#include "moonloop/primitives/rewrite/merge.h"

typedef ml_MergeNest Nest;
typedef ml_Merge Merge;

/* ---- what only the signatures of blocks are asked about */

static const ml_Stmt *outside_blocks(const ml_Stmt *s)
{
    const ml_Stmt *bad = NULL;

    switch (s->kind) {
    case ML_STMT_SEQ:
        for (uint32_t k = 0; !bad && k < ml_as_seq(s)->n; k++)
            bad = outside_blocks(ml_as_seq(s)->stmts[k]);
        return bad;
    case ML_STMT_FOR: {
        const ml_For *f = ml_as_for(s);

        if ((f->min->flags | f->extent->flags) & ML_X_HAS_LOAD)
            return s;
        return outside_blocks(f->body);
    }
    case ML_STMT_BLOCK: {
        const ml_Block *b = ml_as_block(s);

        bad = b->predicate->flags & ML_X_HAS_LOAD ? s : NULL;
        for (uint32_t k = 0; k < b->n_iters; k++)
            if (b->iters[k].value->flags & ML_X_HAS_LOAD)
                bad = s;
        return bad;
    }
    case ML_STMT_IF: {
        const ml_If *i = (const ml_If *)(const void *)s;

        if (i->cond->flags & (ML_X_HAS_LOAD | ML_X_EFFECT | ML_X_READ_OP))
            return s;
        bad = outside_blocks(i->then);
        return bad || !i->other ? bad : outside_blocks(i->other);
    }
    case ML_STMT_EVALUATE: return ml_is_noop(s) ? NULL : s;
    }
    return s;
}

static bool check_content(Merge *m, const ml_Stmt *s, const ml_For *loop)
{
    const ml_Stmt *bad = outside_blocks(s);

    if (!bad)
        return true;
    return ml_fail_as(m->c->cx, ML_E_OUTSIDE_BLOCKS,
                      "a statement that merge moves, or moves others across, does "
                      "something outside of blocks",
                      ML_LOOP(loop), ML_STATEMENT(bad));
}

/* ---- accesses of two blocks */

/* The buffer that a view is a part of. */
static const ml_Buffer *source_of(Merge *m, const ml_Buffer *b)
{
    for (int depth = 0; depth < 64; depth++) {
        bool is_match = false;
        ml_Uid site = ml_buffer_site(m->c->p, m->c->func, b, &is_match);

        if (!site || !is_match)
            break;
        const ml_Block *home = ml_call_block(m->c, site);

        for (uint32_t k = 0; k < home->n_matches; k++)
            if (home->matches[k].target->uid == b->uid) {
                b = home->matches[k].source.buffer;
                break;
            }
    }
    return b;
}

typedef struct Touch { /* one region of a block */
    const ml_Block *block;
    const ml_Region *region;
    bool write;
} Touch;

typedef ML_VEC(Touch) Touches;

static void add_touches(ml_Ctx *cx, const ml_Block *b, Touches *out)
{
    for (uint32_t k = 0; k < b->n_writes; k++)
        ml_push(cx, out, ((Touch){b, &b->writes[k], true}));
    for (uint32_t k = 0; k < b->n_reads; k++)
        ml_push(cx, out, ((Touch){b, &b->reads[k], false}));
}

static void touches_of(ml_Ctx *cx, const ml_StmtVec *blocks, Touches *out)
{
    for (size_t k = 0; k < blocks->n; k++)
        add_touches(cx, ml_as_block(blocks->v[k]), out);
}

/* The region in terms of the loops, with the variables of the nest at `when` (NULL: they
 * are relaxed with the loops inside), as intervals. */
static ml_Interval *box_of(Merge *m, const Touch *t, const Nest *nest,
                           const ml_Expr *const *when, bool surely)
{
    ml_Ctx *cx = m->c->cx;
    const ml_Block *b = t->block;
    size_t rank = t->region->buffer->rank;
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, rank + 1);
    ml_Subst bind = {0}, at = {0};
    ml_DomVec dom = {0};

    for (uint32_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &bind, b->iters[k].var, b->iters[k].value);
    ml_Region r = ml_region_subst(cx, *t->region, &bind);
    ml_Uid stop = when ? nest->loop[m->depth - 1]->var->uid : m->above;

    ml_relax_domain(cx, m->c->p, b->tag, stop, NULL, &dom);
    for (size_t d = 0; when && d < m->depth; d++)
        ml_subst_var(cx, &at, nest->loop[d]->var,
                     ml_cast(cx, nest->loop[d]->var->type, when[d]));
    r = ml_region_subst(cx, r, &at);
    for (size_t k = 0; k < dom.n; k++) {
        dom.v[k].min = ml_expr_subst(cx, dom.v[k].min, &at);
        dom.v[k].extent = ml_expr_subst(cx, dom.v[k].extent, &at);
    }
    if (surely) {
        const ml_Expr *p = ml_simplify(m->ar, ml_expr_subst(cx, b->predicate, &at));

        return ml_region_lower(m->ar, r.ranges, rank, dom.v, dom.n, p, box) ? box : NULL;
    }
    for (size_t d = 0; d < rank; d++)
        box[d] = ml_relax_loads(m->ar, r.ranges[d], dom.v, dom.n);
    return box;
}

static bool below(Merge *m, const ml_Expr *a, const ml_Expr *b)
{
    return a && b && ml_promote(m->c->cx, &a, &b) &&
           ml_prove_symbolic(m->ar, ml_lt(m->c->cx, a, b));
}

static bool apart(Merge *m, const ml_Interval *a, const ml_Interval *b, size_t rank)
{
    for (size_t d = 0; d < rank; d++) {
        if (a[d].nothing || b[d].nothing || below(m, a[d].max, b[d].min) ||
            below(m, b[d].max, a[d].min))
            return true;
        const ml_Expr *x = a[d].min, *y = b[d].min;

        if (x && x == a[d].max && y && y == b[d].max && ml_promote(m->c->cx, &x, &y) &&
            ml_prove(m->ar, ml_ne(m->c->cx, x, y)))
            return true;
    }
    return false;
}

/* ---- the order of two bodies */

/* Sets first to iterations of the merged nest that come after those of `second`: equal in
 * the levels before d, greater in d, any below. d = depth: the same iteration. */
static void later_at(Merge *m, size_t d)
{
    ml_Ctx *cx = m->c->cx;

    for (size_t k = 0; k < m->depth; k++) {
        ml_Dtype t = m->var[k]->type;
        const ml_Expr *v = ml_var(cx, m->var[k]), *one = ml_int(cx, t, 1);
        const ml_Expr *extent = m->extent[k];

        m->second[k] = m->first[k] = v;
        if (k < d)
            continue;
        const ml_Var *step = ml_var_new(cx, "t", t);

        for (size_t j = 0; j < k; j++)
            extent = ml_expr_subst1(cx, extent, m->var[j], m->first[j]);
        if (k == d)
            extent = ml_sub(cx, ml_sub(cx, extent, one), v);
        ml_arith_bind_range(m->ar, step, ml_int(cx, t, 0), ml_simplify(m->ar, extent));
        m->first[k] = ml_var(cx, step);
        if (k == d)
            m->first[k] = ml_add(cx, ml_add(cx, v, one), m->first[k]);
    }
}

enum { TRIED = 12 }; /* iterations from the first one, for an example */

/* The q-th iteration of the merged nest as constants; false: there is none, or unknown. */
static bool iteration(Merge *m, int64_t q, const ml_Expr **when)
{
    for (size_t d = m->depth; d-- > 0;) {
        if (!ml_is_const_int(m->extent[d]) || m->extent[d]->as.i < 1)
            return false;
        when[d] = ml_int(m->c->cx, m->var[d]->type, q % m->extent[d]->as.i);
        q /= m->extent[d]->as.i;
    }
    return q == 0;
}

static bool meet(Merge *m, const ml_Interval *a, const ml_Interval *b, size_t rank)
{
    for (size_t d = 0; d < rank; d++) {
        const ml_Expr *ends[4] = {a[d].min, a[d].max, b[d].min, b[d].max};

        if (a[d].nothing || b[d].nothing)
            return false;
        for (size_t k = 0; k < 4; k++)
            if (!ends[k] || !ml_is_const_int(ml_simplify(m->ar, ends[k])))
                return false;
            else
                ends[k] = ml_simplify(m->ar, ends[k]);
        if (ends[0]->as.i > ends[3]->as.i || ends[2]->as.i > ends[1]->as.i)
            return false;
    }
    return true;
}

static ml_Fact iteration_fact(Merge *m, const Nest *nest, const ml_Expr *const *when)
{
    ml_Coord *v = ML_ARRAY(m->c->cx, ml_Coord, m->depth + 1u);

    for (size_t d = 0; d < m->depth; d++) {
        const ml_Var *loop = nest->loop[d]->var;

        v[d] = (ml_Coord){loop->uid, loop->hint, when[d]->as.i};
    }
    return ML_POINT(v, m->depth);
}

/* Fails with an example of an element that would be touched in the wrong order; true:
 * there is none. */
static bool no_example(Merge *m, const Nest *x, const Touch *tx, const Nest *y,
                       const Touch *ty, bool same_too)
{
    const ml_Expr *when[2][TRIED][ML_MERGE_DEPTH];
    ml_Interval *box[2][TRIED] = {{0}};
    size_t rank = tx->region->buffer->rank;
    int64_t n = 0;

    while (n < TRIED && iteration(m, n, when[0][n]) && iteration(m, n, when[1][n])) {
        box[0][n] = box_of(m, tx, x, when[0][n], true);
        box[1][n] = box_of(m, ty, y, when[1][n], true);
        n++;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = n - 1; i >= j + !same_too; i--)
            if (box[0][i] && box[1][j] && meet(m, box[0][i], box[1][j], rank))
                return ml_fail_as(m->c->cx, ML_E_ORDER_REVERSED,
                                  "block {1} {2} {3} at {4} what block {0} {5} at {6}; "
                                  "merged, block {1} would come first",
                                  ML_BLOCK(tx->block), ML_BLOCK(ty->block),
                                  ML_TEXT(ty->write ? "overwrites in" : "reads of"),
                                  ML_BUFFER(ty->region->buffer),
                                  iteration_fact(m, y, when[1][j]),
                                  ML_TEXT(tx->write ? "writes" : "reads"),
                                  iteration_fact(m, x, when[0][i]));
    return true;
}

static bool out_of_order(Merge *m, const Nest *x, const Touch *tx, const Nest *y,
                         const Touch *ty, bool same_too)
{
    if (tx->region->buffer->uid == ty->region->buffer->uid &&
        !no_example(m, x, tx, y, ty, same_too))
        return false;
    return ml_unproved(
        m->c->cx, ML_E_ORDER_REVERSED,
        "block {1} still {2} what block {0} {3} of {4} in time", ML_BLOCK(tx->block),
        ML_BLOCK(ty->block), ML_TEXT(ty->write ? "overwrites" : "reads"),
        ML_TEXT(tx->write ? "writes" : "reads"), ML_BUFFER(ty->region->buffer));
}

/* x comes before y in the text; after: merged, too, in one iteration. */
static bool check_pair(Merge *m, const Nest *x, const Nest *y, bool after)
{
    ml_Ctx *cx = m->c->cx;
    Touches first = {0}, second = {0};

    touches_of(cx, &x->blocks, &first);
    touches_of(cx, &y->blocks, &second);
    for (size_t i = 0; i < first.n; i++)
        for (size_t j = 0; j < second.n; j++) {
            const Touch *a = &first.v[i], *b = &second.v[j];
            const ml_Buffer *p = a->region->buffer, *q = b->region->buffer;

            if (!a->write && !b->write)
                continue;
            if (p->uid != q->uid) {
                if (source_of(m, p)->uid != source_of(m, q)->uid &&
                    p->data->uid != q->data->uid)
                    continue;
                return out_of_order(m, x, a, y, b, !after);
            }
            for (size_t d = 0; d < m->depth + !after; d++) {
                ML_ASSERT(d == m->depth || m->extent[d]);
                if (d < m->depth && ml_is_int(m->extent[d], 1))
                    continue;
                /* That there is a later iteration in level d holds for this d alone. */
                ml_ArithMark mark = ml_arith_save(m->ar);

                later_at(m, d);
                bool fine = apart(m, box_of(m, a, x, m->first, false),
                                  box_of(m, b, y, m->second, false), p->rank);

                ml_arith_restore(m->ar, mark);
                if (!fine)
                    return out_of_order(m, x, a, y, b, !after);
            }
        }
    return true;
}

/* ---- the statements between */

static bool check_crossed(Merge *m, const Nest *nest, const ml_Stmt *s)
{
    ml_Ctx *cx = m->c->cx;
    Touches moved = {0}, crossed = {0};
    ml_StmtVec blocks = {0};

    if (!check_content(m, s, nest->loop[0]))
        return false;
    if (s->kind == ML_STMT_BLOCK)
        ml_push(cx, &blocks, s);
    else
        ml_child_blocks(cx, s, &blocks);
    touches_of(cx, &nest->blocks, &moved);
    touches_of(cx, &blocks, &crossed);
    for (size_t i = 0; i < moved.n; i++)
        for (size_t j = 0; j < crossed.n; j++) {
            const Touch *a = &moved.v[i], *b = &crossed.v[j];
            const ml_Buffer *p = a->region->buffer, *q = b->region->buffer;

            if (!a->write && !b->write)
                continue;
            if (p->uid != q->uid ? source_of(m, p)->uid != source_of(m, q)->uid &&
                                       p->data->uid != q->data->uid
                                 : apart(m, box_of(m, a, nest, NULL, false),
                                         box_of(m, b, nest, NULL, false), p->rank))
                continue;
            return ml_fail_as(
                cx, ML_E_ORDER_REVERSED,
                "block {0} stands between the nests and {1} {2}, which block {3} {4}",
                ML_BLOCK(b->block), ML_TEXT(b->write ? "writes" : "reads"), ML_BUFFER(q),
                ML_BLOCK(a->block), ML_TEXT(a->write ? "writes" : "reads"));
        }
    return true;
}

bool ml_is_merged(const Merge *m, size_t at)
{
    for (size_t k = 0; k < m->n; k++)
        if (m->nest[k].at == at)
            return true;
    return false;
}

bool ml_merge_keeps_order(Merge *m)
{
    size_t to = m->nest[m->n - 1].at;

    for (size_t k = 0; k < m->n; k++) {
        const Nest *nest = &m->nest[k];
        size_t lo = nest->at < to ? nest->at : to, hi = nest->at < to ? to : nest->at;

        if (!check_content(m, &nest->loop[0]->base, nest->loop[0]))
            return false;
        for (size_t at = lo + 1; at < hi; at++)
            if (!ml_is_merged(m, at) && !check_crossed(m, nest, m->body[at]))
                return false;
    }
    for (size_t k = 0; k < m->n; k++)
        for (size_t j = 0; j < k; j++) {
            bool as_given = m->nest[j].at < m->nest[k].at;

            if (!check_pair(m, &m->nest[as_given ? j : k], &m->nest[as_given ? k : j],
                            as_given))
                return false;
        }
    return true;
}

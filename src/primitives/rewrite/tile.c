/*
 * tile - one block divided at a place of its nest: what its iters are outside and inside.
 * Source: primitives 10, blockize; ir-and-analysis 4.8.
 */
#include "moonloop/primitives/rewrite/blockize.h"

static bool uses_any(const ml_Expr *e, const ml_StmtVec *loops)
{
    for (size_t k = 0; k < loops->n; k++)
        if (ml_expr_uses_var(e, ml_as_for(loops->v[k])->var) &&
            !ml_is_int(ml_as_for(loops->v[k])->extent, 1))
            return true;
    return false;
}

/* Points at the condition or the iter that has a part on both sides. */
static bool not_divisible(ml_Call *c, const ml_Tile *t, ml_Uid place)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = t->block;
    const ml_Stmt *node = ml_index_node(c->p.index, place);
    bool loop = node->kind == ML_STMT_FOR;
    ml_Fact at = loop ? ML_LOOP(node) : ML_BLOCK(node),
            word = ML_TEXT(loop ? "loop" : "block");

    if (uses_any(b->predicate, &t->above) && uses_any(b->predicate, &t->below))
        return ml_fail_as(
            cx, ML_E_NOT_DIVISIBLE,
            "block {0} cannot be divided at {2} {1}: its condition ties loops "
            "outside to loops inside",
            ML_BLOCK(b), at, word, ML_EXPRESSION(b->predicate));
    for (size_t m = 0; m < b->n_iters; m++)
        if (uses_any(b->iters[m].value, &t->above) &&
            uses_any(b->iters[m].value, &t->below))
            return ml_fail_as(
                cx, ML_E_NOT_DIVISIBLE,
                "block {0} cannot be divided at {2} {1}: the value of iter {4} "
                "cannot be written as outside * extent + inside",
                ML_BLOCK(b), at, word, ML_ITER(b, m), ML_VARIABLE(b->iters[m].var));
    return ml_fail_as(
        cx, ML_E_NOT_DIVISIBLE,
        "block {0} cannot be divided at {2} {1}: its iters are no independent "
        "digits of the loops",
        ML_BLOCK(b), at, word);
}

/* The block's loops, and before them those around blocks without iters that hold it: such
 * blocks may use the loops outside of them. */
static size_t all_loops(ml_Call *c, ml_Uid block, ml_StmtVec *out)
{
    const ml_Index *ix = c->p.index;
    ml_StmtVec own = {0};
    ml_Uid scope = ml_index_scope(ix, block);
    size_t n = 0;

    if (scope && ml_call_block(c, scope)->n_iters == 0 && ml_index_scope(ix, scope)) {
        all_loops(c, scope, out);
        n = out->n;
    }
    ml_index_loops(c->cx, ix, block, &own);
    for (size_t k = 0; k < own.n; k++)
        ml_push(c->cx, out, own.v[k]);
    return n;
}

bool ml_tile_divide(ml_Call *c, ml_Uid block, size_t n_above, ml_Uid place, ml_Tile *out)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, block);
    ml_StmtVec loops = {0};
    ml_DomVec dom = {0};
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1);

    *out = (ml_Tile){.block = b};
    n_above += all_loops(c, block, &loops);
    const ml_Var **inner = ML_ARRAY(cx, const ml_Var *, loops.n + 1);

    for (size_t k = 0; k < loops.n; k++) {
        const ml_For *f = ml_as_for(loops.v[k]);

        if (f->step && !ml_is_int(f->step, 1))
            return ml_fail(cx, ML_E_LOOP_STEP, ML_LOOP(f), ML_EXPRESSION(f->step));
        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
        if (k < n_above)
            ml_push(cx, &out->above, loops.v[k]);
        else {
            inner[out->below.n] = f->var;
            ml_push(cx, &out->below, loops.v[k]);
        }
    }
    for (size_t m = 0; m < b->n_iters; m++)
        values[m] = b->iters[m].value;
    ml_Arith *ar = ml_arith_at(cx, c->p, loops.n ? ml_stmt_uid(loops.v[0]) : block);

    out->d = ml_subspace_divide(ar, values, b->n_iters, dom.v, dom.n, inner, out->below.n,
                                b->predicate, ML_SURJECTIVE);
    return out->d.ok || not_divisible(c, out, place);
}

/* Where the division knows no bounds the part is the whole value, with its domain. */
static ml_Range domain(const ml_IterPart *p, const ml_Iter *it)
{
    return p->min && p->extent ? (ml_Range){p->min, p->extent}
                               : (ml_Range){it->min, it->extent};
}

ml_Range ml_tile_outer(const ml_Tile *t, size_t k)
{
    return domain(&t->d.outer[k], &t->block->iters[k]);
}

ml_Range ml_tile_inner(const ml_Tile *t, size_t k)
{
    return domain(&t->d.inner[k], &t->block->iters[k]);
}

const ml_Expr *ml_tile_value(ml_Ctx *cx, const ml_Tile *t, size_t k, const ml_Var *outer,
                             const ml_Var *inner)
{
    ml_Range o = ml_tile_outer(t, k), i = ml_tile_inner(t, k);
    const ml_Expr *a = outer ? ml_var(cx, outer) : o.min;
    const ml_Expr *b = inner ? ml_var(cx, inner) : i.min;
    ml_Dtype type = t->block->iters[k].var->type;

    if (ml_is_int(a, 0))
        return ml_cast(cx, type, b);
    return ml_cast(cx, type,
                   ml_add(cx, ml_mul(cx, ml_cast(cx, type, a), ml_cast(cx, type, i.extent)),
                          ml_cast(cx, type, b)));
}

ml_Region ml_tile_hull(ml_Arith *ar, ml_Region r, const ml_DomVec *dom, const ml_Expr *pred,
                       bool *exact)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    size_t rank = r.buffer->rank;
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, rank + 1);
    ml_Range *out = ML_ARRAY(cx, ml_Range, rank + 1);

    *exact = ml_region_strict(ar, r.ranges, rank, dom->v, dom->n, pred, box);
    if (!*exact)
        ml_region_upper(ar, r.ranges, rank, dom->v, dom->n, pred, box);
    for (size_t d = 0; d < rank; d++) {
        const ml_Expr *n = r.buffer->shape[d];

        out[d] = ml_interval_cover(ar, box[d], (ml_Range){ml_int(cx, n->type, 0), n});
        out[d].min = ml_cast(cx, r.ranges[d].min->type, out[d].min);
        out[d].extent = ml_cast(cx, r.ranges[d].min->type, out[d].extent);
    }
    return (ml_Region){r.buffer, out};
}

/* ---- the new block must not use what lies outside of it */

typedef struct Outside {
    const ml_StmtVec *loops;
    const ml_Stmt *at;
    const ml_For *inside, *used;
} Outside;

static void look(const ml_Expr *e, ml_Role role, void *user)
{
    Outside *o = user;

    (void)role;
    for (size_t k = 0; k < o->loops->n && !o->used; k++)
        if (ml_expr_uses_var(e, ml_as_for(o->loops->v[k])->var)) {
            o->used = ml_as_for(o->loops->v[k]);
            o->inside = o->at->kind == ML_STMT_FOR ? ml_as_for(o->at) : NULL;
        }
}

static bool visit_stmt(const ml_Stmt *s, void *user)
{
    Outside *o = user;

    o->at = s;
    ml_stmt_exprs(s, look, o);
    return !o->used && s->kind != ML_STMT_BLOCK;
}

bool ml_tile_closed(ml_Call *c, const ml_Tile *t, const ml_Stmt *body)
{
    Outside o = {.loops = &t->above};

    if (t->above.n == 0)
        return true;
    ml_stmt_visit(body, visit_stmt, &o);
    if (!o.used)
        return true;
    if (o.inside)
        return ml_fail(c->cx, ML_E_LOOP_DEPENDENT, ML_LOOP(o.inside), ML_LOOP(o.used));
    return ml_fail_as(
        c->cx, ML_E_NOT_DIVISIBLE,
        "block {0} cannot be divided at loop {1}: what lies inside uses that loop, "
        "which no iter has as its value",
        ML_BLOCK(t->block), ML_LOOP(o.used));
}

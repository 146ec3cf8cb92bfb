/*
 * after - checks on the result of a rewrite that moved a block: what the conditions before
 * the move cannot see. Source: ir-and-analysis 5.1 rule 6, 5.2 rule 9; primitives 1.4.
 */
#include "moonloop/primitives/rewrite/move.h"

/* Loops that drive spatial and reduce iters at once (fused ones, split again) decide
 * together which reduce instance of an element comes first. Under a division each must
 * count further than all that stand inside of it: then they count as one loop would. */
typedef struct Mixed {
    ml_Arith *ar;
    const ml_Block *b;
    const ml_DomVec *dom;
    bool ordered;
} Mixed;

static bool is_mixed(const ml_Block *b, const ml_Dom *d)
{
    bool spatial = false, reduce = false;

    for (size_t k = 0; k < b->n_iters; k++)
        if (ml_expr_uses_var(b->iters[k].value, d->var))
            *(b->iters[k].kind == ML_ITER_REDUCE ? &reduce : &spatial) = true;
    return spatial && reduce && !ml_is_int(d->extent, 1);
}

/* How far e moves with one step of v; false: not by a number. */
static bool step_of(ml_Arith *ar, const ml_Expr *e, const ml_Var *v, int64_t *step)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Expr *next = ml_add(cx, ml_var(cx, v), ml_int(cx, v->type, 1));
    const ml_Expr *d = ml_simplify(ar, ml_sub(cx, ml_expr_subst1(cx, e, v, next), e));

    *step = ml_is_const_int(d) ? d->as.i : 0;
    return ml_is_const_int(d);
}

static bool counts_as_one(const ml_Expr *e, void *user)
{
    Mixed *m = user;
    int64_t inside = 0, step = 0; /* how far the loops inside move it */
    bool open = false;            /* by no number */

    if (e->kind != ML_EXPR_FLOORDIV && e->kind != ML_EXPR_FLOORMOD)
        return m->ordered;
    for (size_t k = m->dom->n; k-- > 0 && m->ordered;) {
        const ml_Dom *d = &m->dom->v[k];

        if (!is_mixed(m->b, d) || !ml_expr_uses_var(e->args[0], d->var))
            continue;
        m->ordered = !open && step_of(m->ar, e->args[0], d->var, &step) && step > inside;
        open = !ml_is_const_int(d->extent) ||
               __builtin_mul_overflow(step, d->extent->as.i - 1, &step) ||
               __builtin_add_overflow(inside, step, &inside);
    }
    return m->ordered;
}

/* The init runs at the minimum of the reduce iters: the first iteration must be there. */
static bool init_first(ml_Call *c, const ml_Block *b, ml_Arith *ar, const ml_DomVec *dom)
{
    ml_Ctx *cx = c->cx;
    ml_Subst start = {0};
    Mixed mixed = {ar, b, dom, true};

    for (size_t d = 0; d < dom->n; d++)
        ml_subst_var(cx, &start, dom->v[d].var, dom->v[d].min);
    for (size_t k = 0; b->init && k < b->n_iters; k++)
        ml_expr_visit(b->iters[k].value, counts_as_one, &mixed);
    if (!mixed.ordered) {
        return ml_unproved(
            cx, ML_E_INIT_MISPLACED,
            "the instance that initialises comes first in the order of the loops of block "
            "{0}, which choose the element and the reduce instance together",
            ML_BLOCK(b));
    }
    for (size_t k = 0; b->init && k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        const ml_Expr *first = it->value, *min = it->min;

        if (it->kind != ML_ITER_REDUCE)
            continue;
        if (start.vars)
            first = ml_expr_subst(cx, first, &start);
        if (ml_promote(cx, &first, &min) && ml_prove_equal(ar, first, min))
            continue;
        return ml_unproved(cx, ML_E_INIT_MISPLACED,
                           "the first iteration of block {0} would be the one that "
                           "initialises: iter {1} would not start at its minimum",
                           ML_BLOCK(b), ML_VARIABLE(it->var), ML_ITER(b, k));
    }
    return true;
}

bool ml_check_accumulation(ml_Call *c, ml_Uid block)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, block);
    ml_StmtVec loops = {0};
    ml_DomVec dom = {0};
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters);
    const ml_For *first = NULL;

    if (ml_is_spatial_block(b))
        return true;
    ml_index_loops(cx, c->p.index, block, &loops);
    for (size_t k = 0; k < loops.n; k++) {
        const ml_For *f = ml_as_for(loops.v[k]);

        if (!first && ml_loop_drives(b, f, ML_ITER_REDUCE))
            first = f;
        if (first)
            ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    if (!first) /* every reduce iter takes one value: its whole domain, or it would be cut
                 */
        first = loops.n ? ml_as_for(loops.v[loops.n - 1]) : NULL;
    for (size_t k = 0; k < b->n_iters; k++)
        values[k] = b->iters[k].value;
    ml_Arith *ar = ml_arith_at(cx, c->p, first ? first->var->uid : block);
    bool once = ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, ml_bool(cx, true),
                              ML_BIJECTIVE, false) ||
                ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, b->predicate,
                              ML_BIJECTIVE, false);
    size_t n = 0;
    ml_Range *box = ML_ARRAY(cx, ml_Range, b->n_iters);
    ml_Interval *got = ML_ARRAY(cx, ml_Interval, b->n_iters);

    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind == ML_ITER_REDUCE)
            box[n++] = (ml_Range){values[k], ml_int(cx, values[k]->type, 1)};
    bool whole = ml_region_strict(ar, box, n, dom.v, dom.n, b->predicate, got);

    n = 0;
    for (size_t k = 0; whole && k < b->n_iters; k++)
        if (b->iters[k].kind == ML_ITER_REDUCE) {
            ml_Interval own = ml_interval_range(ar, b->iters[k].min, b->iters[k].extent);

            whole = ml_interval_includes(ar, got[n], own);
            n++;
        }
    if (once && whole)
        return init_first(c, b, ar, &dom);
    return once ? ml_unproved(cx, ML_E_REDUCTION_CHANGED,
                              "block {0} would still reduce over the whole domain of its "
                              "reduce iters",
                              ML_BLOCK(b))
                : ml_unproved(cx, ML_E_REDUCTION_CHANGED,
                              "block {0} would accumulate each element once", ML_BLOCK(b));
}

/* The conjuncts that use no loop of a reduction are assumed, the others must hold where
 * these loops begin. */
static bool starts(ml_Arith *ar, const ml_Expr *p, const ml_Subst *first, bool assume)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    if (p->kind == ML_EXPR_AND)
        return starts(ar, p->args[0], first, assume) &&
               starts(ar, p->args[1], first, assume);
    const ml_Expr *at = ml_expr_subst(cx, p, first);

    if (assume && at == p)
        ml_arith_assume(ar, p);
    return assume || at == p || ml_prove(ar, at);
}

bool ml_check_starts(ml_Call *c, ml_Uid block)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, block);
    ml_StmtVec loops = {0};
    ml_Subst first = {0};

    if (!b->init || ml_is_true(b->predicate))
        return true;
    ml_index_loops(cx, c->p.index, block, &loops);
    for (size_t k = 0; k < loops.n; k++)
        if (ml_loop_drives(b, ml_as_for(loops.v[k]), ML_ITER_REDUCE))
            ml_subst_var(cx, &first, ml_as_for(loops.v[k])->var,
                         ml_as_for(loops.v[k])->min);
    if (!first.vars)
        return true;
    ml_Arith *ar = ml_arith_at(cx, c->p, block);

    starts(ar, b->predicate, &first, true);
    if (starts(ar, b->predicate, &first, false))
        return true;
    return ml_unproved(
        cx, ML_E_INIT_MISPLACED,
        "the instance of block {0} that initialises is not left out by its condition",
        ML_BLOCK(b), ML_EXPRESSION(b->predicate));
}

bool ml_check_reduces_inside(ml_Call *c, ml_Uid block)
{
    ml_Uid scope = ml_index_scope(c->p.index, block);
    ml_GoesOn g;

    if (!ml_goes_on(c->cx, c->p, ml_call_block(c, block), true, scope, &g))
        return true;
    return ml_fail_as(
        c->cx, ML_E_REDUCTION_CHANGED,
        "block {0} goes on accumulating from one instance of block {1} to the "
        "next: its reduce iter {2} is bound to {3}",
        ML_BLOCK(g.block), ML_BLOCK(ml_call_block(c, scope)),
        ML_VARIABLE(g.block->iters[g.iter].var), ML_VARIABLE(g.by),
        ML_ITER(g.block, g.iter));
}

/* Threads of one block, which may reduce together. */
static bool together(const ml_For *f)
{
    return f->thread.axis == ML_AXIS_THREAD;
}

static bool is_concurrent(const ml_Stmt *node)
{
    return node->kind == ML_STMT_FOR && ml_as_for(node)->kind != ML_FOR_SERIAL &&
           ml_as_for(node)->kind != ML_FOR_UNROLLED;
}

static bool concurrent(const ml_Stmt *node)
{
    return is_concurrent(node) && !ml_is_int(ml_as_for(node)->extent, 1);
}

/* Every iter of b that the concurrent loop f drives is one that may run at the same time.
 */
static bool drives_spatial(ml_Call *c, const ml_Block *b, const ml_For *f)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (ml_expr_uses_var(b->iters[k].value, f->var) &&
            b->iters[k].kind != ML_ITER_SPATIAL &&
            !(together(f) && b->iters[k].kind == ML_ITER_REDUCE))
            return ml_fail(c->cx, ML_E_ITER_NOT_PARALLEL, ML_LOOP(f),
                           ML_TEXT(ml_for_kind_name((ml_ForKind)f->kind)), ML_ITER(b, k),
                           ML_BLOCK(b),
                           ML_TEXT(ml_iter_kind_name((ml_IterKind)b->iters[k].kind)));
    return true;
}

bool ml_check_loop_kinds(ml_Call *c, const ml_Stmt *nest)
{
    ml_StmtVec blocks = {0};

    ml_all_blocks(c->cx, nest, &blocks); /* a block without iters lets the loop through */
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        for (ml_Uid u = ml_index_parent(c->p.index, b->tag); u;
             u = ml_index_parent(c->p.index, u)) {
            const ml_Stmt *node = ml_index_node(c->p.index, u);

            if (is_concurrent(node) && !drives_spatial(c, b, ml_as_for(node)))
                return false;
        }
    }
    return true;
}

bool ml_check_concurrency(ml_Call *c, ml_Uid block)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, block);

    for (ml_Uid u = ml_index_parent(c->p.index, block); u;
         u = ml_index_parent(c->p.index, u)) {
        const ml_Stmt *node = ml_index_node(c->p.index, u);

        if (!concurrent(node))
            continue;
        const ml_For *f = ml_as_for(node);
        bool cooperate = together(f);

        if (!drives_spatial(c, b, f))
            return false;
        /* Threads that reduce together meet by design. */
        if (cooperate && b->init && ml_loop_drives(b, f, ML_ITER_REDUCE))
            continue;
        for (size_t k = 0; k < b->n_writes; k++) {
            const ml_Buffer *buf = b->writes[k].buffer;

            if (ml_buffer_is_private(cx, c->facts, c->p, u, buf))
                continue;
            if (!ml_writes_disjoint(cx, c->facts, c->p, u, buf)) {
                return ml_unproved(
                    cx, ML_E_WOULD_RACE,
                    "iterations of the {0} loop {1} would write different elements of {2}",
                    ML_TEXT(ml_for_kind_name((ml_ForKind)f->kind)), ML_LOOP(f),
                    ML_BUFFER(buf), ML_BLOCK(b));
            }
        }
    }
    return true;
}

bool ml_check_pipeline(ml_Call *c, ml_Uid scope)
{
    return ML_PROVE(c, ML_STRICT, ml_need_produced_pipeline(c->cx, c->facts, c->p, scope));
}

bool ml_still_covered(ml_Call *c, ml_Uid block, ml_Uid was, bool set_error)
{
    if (ml_is_covered(c->cx, c->facts, c->p, block, false)) /* produced, too */
        return true;
    bool seen = ml_is_covered(c->cx, c->facts, ml_schedule_program(c->sched), was, false);

    return seen ? ml_is_covered(c->cx, c->facts, c->p, block, set_error)
                : ml_is_produced(c->cx, c->facts, c->p, block, set_error);
}

bool ml_check_covered(ml_Call *c, ml_Uid block)
{
    return ml_still_covered(c, block, block, true);
}

bool ml_check_produced(ml_Call *c, ml_Uid block)
{
    return ml_is_produced(c->cx, c->facts, c->p, block, true);
}

bool ml_check_readers(ml_Call *c, ml_Uid scope, const ml_Buffer *buf)
{
    ml_UidVec readers = {0};

    ml_readers(c->cx, c->facts, c->p, scope, buf, &readers);
    for (size_t k = 0; k < readers.n; k++)
        if (!ml_check_produced(c, readers.v[k]))
            return false;
    return true;
}

void ml_name_copy(ml_Call *c, ml_Uid copy, ml_Uid block, const ml_Buffer *old, bool write)
{
    ml_UidVec readers = {0};

    ml_call_subject(c, ML_COPY_OF, copy, old);
    ml_call_subject(c, ML_BLOCK_OF, block, NULL);
    if (!write)
        ml_push(c->cx, &readers, block);
    else if (ml_call_asks(c, ML_SOUND))
        ml_raw_consumers(c->cx, c->facts, c->p, copy, &readers);
    ml_call_subjects(c, ML_READER_OF, &readers, NULL);
}

void ml_name_readers(ml_Call *c, ml_Uid block, const ml_Buffer *was)
{
    ml_UidVec readers = {0};

    if (!ml_is_private(was) || !ml_call_asks(c, ML_SOUND))
        return;
    ml_raw_consumers(c->cx, c->facts, c->p, block, &readers);
    ml_call_subjects(c, ML_READER_OF, &readers, NULL);
}

bool ml_check_reduction(ml_Call *c, ml_Uid block)
{
    return ml_need_reduction(c->cx, c->facts, c->p, block);
}

bool ml_check_compact(ml_Call *c, ml_Uid loop)
{
    return ml_need_compact_dataflow(c->cx, c->facts, c->p, loop);
}

bool ml_check_launchable(ml_Call *c, ml_Uid loop)
{
    return ml_need_launchable(c->cx, c->p, loop);
}

static bool reads_own_memory(ml_Call *c, ml_Uid block)
{
    return !ml_reads_private(ml_call_block(c, block)) || ml_check_covered(c, block);
}

bool ml_check_own_memory(ml_Call *c, ml_Uid block)
{
    ml_UidVec readers = {0};

    bool writes = false; /* what readers would have to find */

    if (!reads_own_memory(c, block))
        return false;
    for (size_t k = 0; k < ml_call_block(c, block)->n_writes; k++)
        writes |= ml_is_private(ml_call_block(c, block)->writes[k].buffer);
    if (!writes)
        return true;
    ml_raw_consumers(c->cx, c->facts, c->p, block, &readers);
    for (size_t k = 0; k < readers.n; k++)
        if (!reads_own_memory(c, readers.v[k]))
            return false;
    return true;
}

bool ml_check_reads_apart(ml_Call *c, ml_Uid block, const ml_Buffer *buf)
{
    const ml_Index *ix = c->p.index;
    ml_UidVec writers = {0};

    ml_writers(c->cx, c->facts, c->p, ml_index_scope(ix, block), buf, &writers);
    for (ml_Uid u = ml_index_parent(ix, block); u; u = ml_index_parent(ix, u)) {
        const ml_Stmt *node = ml_index_node(ix, u);
        bool inside = false;

        for (size_t k = 0; k < writers.n; k++)
            inside |= ml_index_is_above(ix, u, writers.v[k]);
        /* An iteration with a buffer of its own must have written what it reads. */
        if (!inside || !concurrent(node) ||
            (ml_buffer_is_private(c->cx, c->facts, c->p, u, buf) &&
             !ml_writes_for_later(c->cx, c->facts, c->p, u, block, buf) &&
             ml_is_covered(c->cx, c->facts, c->p, block, false)) ||
            ml_accesses_disjoint(c->cx, c->facts, c->p, u, buf))
            continue;
        return ml_unproved(c->cx, ML_E_WOULD_RACE,
                           "iterations of the {0} loop {1} would read other elements of "
                           "{2} than its other iterations write",
                           ML_TEXT(ml_for_kind_name((ml_ForKind)ml_as_for(node)->kind)),
                           ML_LOOP(ml_as_for(node)), ML_BUFFER(buf), ML_BLOCK_UID(block));
    }
    return true;
}

bool ml_check_reads_in_blocks(ml_Call *c, const ml_Stmt *st, const ml_Buffer *only)
{
    const ml_Block *writer = NULL;
    const ml_Buffer *buf = ml_read_between(c->cx, c->p, st, only, &writer);

    return !buf || ml_fail_as(c->cx, ML_E_OUTSIDE_BLOCKS,
                              "block {0} writes {1}, which is read outside of blocks, in a "
                              "bound, a condition or a binding",
                              ML_BLOCK(writer), ML_BUFFER(buf));
}

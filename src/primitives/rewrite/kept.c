/*
 * kept - whether what a block reads in a loop is still there behind it.
 *
 * A producer that writes an element in several iterations, for several instances of it
 * (`W[v % 2]`), leaves what the last one wrote: a block that reads it outside of the loop
 * reads something else. One whose instances write an element each may run again, for the
 * value is the same. Source: primitives 7; ir-and-analysis 2.3.
 */
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/primitives/rewrite/same_index.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

/* Different instances write different elements, or what is written is no single one. */
static bool is_own_element(ml_Call *c, const ml_Block *w, const ml_Region *r)
{
    ml_Ctx *cx = c->cx;
    const ml_Expr **index = ML_ARRAY(cx, const ml_Expr *, r->buffer->rank + 1u);
    ml_IterList iters = {0};

    if (!ml_region_is_point(r))
        return true;
    for (size_t d = 0; d < r->buffer->rank; d++)
        index[d] = r->ranges[d].min;
    for (uint32_t k = 0; k < w->n_iters; k++)
        if (w->iters[k].kind != ML_ITER_REDUCE && !ml_is_int(w->iters[k].extent, 1))
            ml_push(cx, &iters, k);
    return ml_is_injective(c, w, &iters, index, r->buffer->rank);
}

static bool is_kept(ml_Call *c, const ml_Block *w, const ml_Block *reader, ml_Uid loop,
                    const ml_Buffer **lost)
{
    ml_Program before = ml_schedule_program(c->sched);

    for (size_t k = 0; k < w->n_writes; k++) {
        *lost = w->writes[k].buffer;
        for (size_t m = 0; m < reader->n_reads; m++)
            if (reader->reads[m].buffer->uid == (*lost)->uid &&
                !is_own_element(c, w, &w->writes[k]) &&
                !ml_writes_disjoint(c->cx, c->facts, before, loop, *lost))
                return false;
    }
    return true;
}

/* It leaves a loop that holds other blocks, too: one of them may be a producer. */
static bool leaves_others(ml_Call *c, ml_Program before, ml_Uid block, ml_Uid at)
{
    for (ml_Up u = ml_index_up(before.index, block); u.node && u.node->kind == ML_STMT_FOR;
         ml_index_next(&u))
        if (u.node->n_blocks > 1 && !ml_is_int(ml_as_for(u.node)->extent, 1))
            return !ml_index_is_above(c->p.index, u.uid, at);
    return false;
}

bool ml_check_kept(ml_Call *c, ml_Uid block, ml_Uid at)
{
    ml_Program before = ml_schedule_program(c->sched);

    if (!leaves_others(c, before, block, at))
        return true;
    const ml_Block *b = ml_as_block(ml_index_node(before.index, block));
    ml_UidVec from = {0};

    ml_producers(c->cx, c->facts, before, block, &from);
    for (size_t k = 0; k < from.n; k++) {
        const ml_Stmt *node = ml_index_node(c->p.index, from.v[k]);
        const ml_Buffer *lost;

        if (!node)
            continue;
        for (ml_Uid u = ml_index_lca(before.index, from.v[k], block);
             u && ml_index_node(before.index, u)->kind == ML_STMT_FOR &&
             !ml_index_is_above(c->p.index, u, at);
             u = ml_index_parent(before.index, u)) {
            const ml_For *f = ml_as_for(ml_index_node(before.index, u));

            if (ml_is_int(f->extent, 1) || is_kept(c, ml_as_block(node), b, u, &lost))
                continue;
            return ml_unproved(
                c->cx, ML_E_COVER_LOST,
                "what block {0} writes of {1} in one iteration of loop {2} is still there "
                "after the others; block {3} would read it outside of the loop",
                ML_BLOCK(ml_as_block(node)), ML_BUFFER(lost), ML_LOOP(f),
                ML_BLOCK(ml_call_block(c, at)));
        }
    }
    return true;
}

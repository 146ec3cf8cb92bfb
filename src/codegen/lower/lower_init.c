/*
 * lower_init - the init of a block becomes a statement before its body, guarded by "all
 * reduction iterators are at the minimum of their domains". What the init writes is then
 * also read by the block. Source: lowering-and-codegen 2.3.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static const ml_Expr *at_first(ml_Ctx *cx, const ml_Block *b)
{
    const ml_Expr *cond = NULL;

    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        const ml_Expr *c;

        if (it->kind != ML_ITER_REDUCE)
            continue;
        c = ml_eq(cx, ml_var(cx, it->var), it->min);
        cond = cond ? ml_and(cx, cond, c) : c;
    }
    return cond;
}

/* With an init the reads of a block leave out what it writes; without one they do not. */
static void read_what_is_written(ml_Ctx *cx, ml_Block *b)
{
    ml_Region *reads = ML_ARRAY(cx, ml_Region, (size_t)b->n_reads + b->n_writes + 1);
    uint32_t n = b->n_reads;

    if (n)
        memcpy(reads, b->reads, n * sizeof *reads);
    for (uint32_t w = 0; w < b->n_writes; w++) {
        bool known = false;

        for (uint32_t r = 0; r < b->n_reads; r++)
            known |= b->reads[r].buffer->uid == b->writes[w].buffer->uid;
        if (!known)
            reads[n++] = b->writes[w];
    }
    b->reads = reads;
    b->n_reads = n;
}

static const ml_Stmt *lower_stmt(ml_Ctx *cx, const ml_Stmt *st, void *user)
{
    const ml_Mapper m = {.stmt = lower_stmt, .user = user};
    const ml_Block *block;
    const ml_Stmt *init;
    const ml_Expr *cond;
    ml_Block b;

    if (!st->has_block)
        return st;
    if (st->kind != ML_STMT_BLOCK || !ml_as_block(st)->init)
        return ml_stmt_map(cx, st, &m);
    block = ml_as_block(st);
    b = *block;
    b.init = NULL;
    b.body = lower_stmt(cx, block->body, user);
    cond = at_first(cx, block);
    init = block->init;
    if (cond)
        init = ml_at(cx, ml_if(cx, cond, init, NULL), ml_span_of(init, st->span));
    b.body = ml_then(cx, init, b.body);
    read_what_is_written(cx, &b);
    return ml_block_from(cx, &b);
}

const ml_Func *ml_pass_lower_init(ml_Lower *lo, const ml_Func *f)
{
    return ml_func_with_body(lo->cx, f, lower_stmt(lo->cx, f->body, lo));
}

/*
 * anchor - the block that a program is about, and when two programs are the same task.
 *
 * Tuned schedules of a reduction serve programs that differ around it only: the database
 * then compares what the anchor block does, wherever it stands. Source: ir-and-analysis
 * 6.3, 6.6.
 */
#include "moonloop/core/compare/equal.h"
#include "moonloop/verify/verify.h"

/* The outermost loop around the block, below the root; the block itself without one. */
static const ml_Stmt *top_of(ml_Program p, const ml_Stmt *block)
{
    const ml_Stmt *top = block;

    for (ml_Uid at = ml_index_parent(p.index, ml_stmt_uid(block)); at;
         at = ml_index_parent(p.index, at))
        if (ml_index_node(p.index, at)->kind == ML_STMT_FOR)
            top = ml_index_node(p.index, at);
    return top;
}

typedef struct Best {
    const ml_Block *block;
    const ml_Stmt *top; /* several blocks may share it: counted once */
    double flops;
} Best;

static void consider(ml_Ctx *cx, ml_Program p, const ml_Func *f, const ml_Stmt *s, Best *b)
{
    const ml_Stmt *top = top_of(p, s);

    if (b->block && top == b->top)
        return; /* a tie */
    double flops = ml_flops_stmt(cx, f, top);

    if (b->block && flops <= b->flops)
        return;
    *b = (Best){ml_as_block(s), top, flops};
}

const ml_Block *ml_anchor_block(ml_Ctx *cx, const ml_Module *m)
{
    ml_Program p = {m, ml_index_build(cx, m)};
    ml_Facts *facts = ml_facts_new(cx);
    const ml_Func **sorted = ML_ARRAY(cx, const ml_Func *, m->n + 1u);
    Best best = {0};

    for (size_t k = 0; k < m->n; k++) {
        size_t at = k;

        for (; at > 0 && strcmp(sorted[at - 1]->name, m->funcs[k]->name) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = m->funcs[k];
    }
    for (size_t k = 0; k < m->n; k++) {
        ml_StmtVec blocks = {0};

        ml_all_blocks(cx, sorted[k]->body, &blocks);
        for (size_t j = 0; j < blocks.n; j++) {
            const ml_Block *b = ml_as_block(blocks.v[j]);

            if (b->init && b->n_iters > 0 &&
                ml_reduction_violation(cx, facts, p, b->tag, NULL) == 0)
                consider(cx, p, sorted[k], blocks.v[j], &best);
        }
    }
    ml_facts_free(facts);
    return best.block;
}

ml_Identity ml_identity(ml_Ctx *cx, const ml_Module *m, ml_Sameness how)
{
    return (ml_Identity){m, how == ML_SAME_ANCHOR ? ml_anchor_block(cx, m) : NULL};
}

static const ml_EqualOpts FREE = {.map_free = true};

bool ml_identity_equal(ml_Ctx *cx, ml_Identity a, ml_Identity b, ml_Difference *diff)
{
    if (!a.anchor != !b.anchor) {
        if (diff)
            *diff = (ml_Difference){.reason = "only one of them has an anchor block",
                                    .path_a = "",
                                    .path_b = ""};
        return false;
    }
    return a.anchor ? ml_equal_block(cx, a.anchor, b.anchor, &FREE, diff)
                    : ml_equal_module(cx, a.mod, b.mod, NULL, diff);
}

uint64_t ml_identity_hash(ml_Ctx *cx, ml_Identity a)
{
    return a.anchor ? ml_hash_block(cx, a.anchor, &FREE) : ml_hash_module(cx, a.mod, NULL);
}

/*
 * reorder_block_iter_var - the iters of a block in another order, each with its binding.
 *
 * Nothing else changes: iters are known by their variables. Source: primitives 6,
 * reorder_block_iter_var.
 */
#include "moonloop/primitives/prim.h"

enum { BLOCK, NEW_ORDER };

static bool bad_order(ml_Call *c, const ml_Block *b, const char *what)
{
    return ml_fail(c->cx, ML_E_BAD_PERMUTATION, ML_TEXT(what), ML_BLOCK(b),
                   ML_NUMBER("iters", b->n_iters));
}

static bool reorder_block_iter_var(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Value *order = c->args[NEW_ORDER].value;

    if (!ml_check_not_root(c, c->args[BLOCK].uid))
        return false;
    ml_Block b = *ml_call_block(c, c->args[BLOCK].uid);
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b.n_iters + 1);
    bool *seen = ML_ARRAY(cx, bool, b.n_iters + 1);
    bool same = true;

    if (order->n != b.n_iters)
        return bad_order(c, &b,
                         ml_format(cx, "new_order holds %u numbers", (unsigned)order->n));
    for (uint32_t k = 0; k < b.n_iters; k++) {
        int64_t from = order->as.list[k]->as.i;

        if (from < 0 || from >= b.n_iters)
            return bad_order(c, &b, ml_format(cx, "new_order holds %lld", (long long)from));
        if (seen[from])
            return bad_order(c, &b,
                             ml_format(cx, "new_order holds %lld twice", (long long)from));
        seen[from] = true;
        iters[k] = b.iters[from];
        same &= from == k;
    }
    if (same)
        return true;
    b.iters = iters;
    ml_call_replace(c, b.tag, ml_block_from(cx, &b));
    return true;
}

/* Ways out: an order of the right length. */
static void suggest_reorder_block_iter_var(ml_Schedule *s, const ml_Given *args,
                                           const ml_Error *e, ml_Tries *t)
{
    const ml_Stmt *node = ml_index_node(ml_schedule_program(s).index, args[BLOCK].uid);
    ml_Text list = {0};

    if (e->code != ML_E_BAD_PERMUTATION || !node || node->kind != ML_STMT_BLOCK)
        return;
    uint32_t n = ml_as_block(node)->n_iters;

    for (uint32_t k = 0; k < n && n > 1 && n <= 16; k++)
        ml_text_fmt(&list, "%s%u", k ? ", " : "", n - 1 - k);
    if (list.n)
        ml_try(t, "from the last to the first", "reorder_block_iter_var(\"%s\", {%s})",
               ml_name_of(s, args[BLOCK].uid), ml_text_z(&list));
    ml_text_free(&list);
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block"),
    {.name = "new_order",
     .kind = ML_P_INTS,
     .names = ML_NAMES_ITERS,
     .doc = "old positions of the iters, from 0, or their names, in new order"},
};

const ml_Primitive ml_prim_reorder_block_iter_var = {
    ML_PRIM(reorder_block_iter_var, "ReorderBlockIterVar"),
    .group = "loops",
    .summary = "change the order of a block's iters",
    .help =
        "Position k of the new list is the old iter new_order[k]; bindings move along.\n"
        "Body, loops and regions stay.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .suggest = suggest_reorder_block_iter_var,
    .errors = (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_BAD_PERMUTATION, ML_E_OK},
    .one_order = true,
};

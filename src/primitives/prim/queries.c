/*
 * queries - get_block, get_loops, get_child_blocks, get_producers, get_consumers,
 * get_output_blocks.
 *
 * They change nothing; they are recorded, so that a trace can name what later instructions
 * use. Source: primitives 2.1, 4.
 */
#include "moonloop/primitives/schedule/schedule_impl.h"

/* ---- get_block */

enum { NAME, FUNC_NAME };

static bool find_func(ml_Call *c, uint32_t *pos)
{
    const ml_Module *m = c->p.mod;
    const char *name = c->args[FUNC_NAME].s;

    *pos = c->func;
    if (!name) {
        if (ml_schedule_func(c->sched))
            return true;
        return ml_fail_unchosen(c->cx, m);
    }
    for (*pos = 0; *pos < m->n; ++*pos)
        if (ml_streq(m->funcs[*pos]->name, name) && ml_func_root(m->funcs[*pos]))
            return true;
    return ml_fail_unknown_function(c->cx, m, name);
}

/* Of all blocks of the function those of that stored name. text: compared as a text has
 * them, where no buffer's name holds a dot; blocks that steps made are called after those.
 */
static void find_named(ml_Call *c, const ml_StmtVec *all, const char *name, bool text,
                       ml_UidVec *hits)
{
    if (text)
        name = ml_name_sanitize(c->cx, name, false);
    for (size_t k = 0; k < all->n; k++) {
        const char *z = ml_as_block(all->v[k])->name;

        if (ml_streq(text ? ml_name_sanitize(c->cx, z, false) : z, name))
            ml_push(c->cx, hits, ml_stmt_uid(all->v[k]));
    }
}

/* A stored name with a function name, as traces have it; else a display name first. */
static bool get_block(ml_Call *c)
{
    const char *name = c->args[NAME].s;
    ml_StmtVec all = {0};
    ml_UidVec hits = {0};
    ml_Handle h;
    uint32_t pos;

    if (!find_func(c, &pos))
        return false;
    bool here = ml_schedule_func(c->sched) && pos == ml_schedule_func_pos(c->sched);

    if (here && !c->args[FUNC_NAME].s) {
        if (!ml_resolve(c->sched, name, ML_H_BLOCK, &h))
            return false;
        ml_call_return_block(c, h.uid);
        return true;
    }
    const ml_Func *f = c->p.mod->funcs[pos];

    ml_push(c->cx, &all, f->body);
    ml_all_blocks(c->cx, f->body, &all);
    find_named(c, &all, name, false, &hits);
    if (hits.n == 0) /* the trace may be of a program whose text was read again */
        find_named(c, &all, name, true, &hits);
    if (hits.n == 0 && here && !c->sched->replaying) {
        if (!ml_resolve(c->sched, name, ML_H_BLOCK, &h))
            return false;
        ml_call_return_block(c, h.uid);
        return true;
    }
    if (hits.n == 0)
        return ml_fail(c->cx, ML_E_NO_SUCH_BLOCK, ML_TYPED(name));
    if (hits.n > 1) {
        ml_fail(c->cx, ML_E_AMBIGUOUS_BLOCK, ML_TEXT(name), ML_NUMBER("count", hits.n));
        for (size_t k = 0; k < hits.n && k < 8; k++)
            ml_error_note(c->cx, "candidate: \"%s\"", ml_name_of(c->sched, hits.v[k]));
        return false;
    }
    ml_call_return_block(c, hits.v[0]);
    return true;
}

static const ml_Param get_block_params[] = {
    ML_PARAM_ATTR("name", ML_P_NAME, "name of the block"),
    {.name = "func_name",
     .kind = ML_P_STRING,
     .optional = true,
     .attr = true,
     .doc = "function to search; default: the one worked on"},
};

const ml_Primitive ml_prim_get_block = {
    ML_PRIM(get_block, "GetBlock"),
    .group = "queries",
    .summary = "find a block by its name",
    .help = "Searches the whole function, nested blocks and the root included.",
    ML_PARAMS(get_block_params),
    .result = ML_R_BLOCK,
    .pure = true,
    .no_version = true,
    .errors =
        (const ml_ErrorCode[]){ML_E_NO_FUNCTION, ML_E_UNKNOWN_FUNCTION, ML_E_NO_BLOCKS,
                               ML_E_NO_SUCH_BLOCK, ML_E_AMBIGUOUS_BLOCK, ML_E_OK},
};

/* ---- around a block */

static bool get_loops(ml_Call *c)
{
    ml_StmtVec loops = {0};

    ml_index_loops(c->cx, c->p.index, c->args[0].uid, &loops);
    ml_call_return_loops(c, loops.v, loops.n);
    return true;
}

static void return_blocks(ml_Call *c, const ml_Uid *tags, size_t n)
{
    ml_Handle *h = ML_ARRAY(c->cx, ml_Handle, n + 1);

    for (size_t k = 0; k < n; k++)
        h[k] = (ml_Handle){ML_H_BLOCK, tags[k]};
    ml_call_return_handles(c, h, n, true);
}

static bool get_child_blocks(ml_Call *c)
{
    ml_StmtVec blocks = {0};
    ml_UidVec tags = {0};

    ml_child_blocks(c->cx, c->args[0].node, &blocks);
    for (size_t k = 0; k < blocks.n; k++)
        ml_push(c->cx, &tags, ml_stmt_uid(blocks.v[k]));
    return_blocks(c, tags.v, tags.n);
    return true;
}

static bool get_producers(ml_Call *c)
{
    ml_UidVec tags = {0};

    if (!ml_check_not_root(c, c->args[0].uid))
        return false;
    ml_producers(c->cx, c->facts, c->p, c->args[0].uid, &tags);
    return_blocks(c, tags.v, tags.n);
    return true;
}

static bool get_consumers(ml_Call *c)
{
    ml_UidVec tags = {0};

    if (!ml_check_not_root(c, c->args[0].uid))
        return false;
    ml_consumers(c->cx, c->facts, c->p, c->args[0].uid, &tags);
    return_blocks(c, tags.v, tags.n);
    return true;
}

static bool get_output_blocks(ml_Call *c)
{
    ml_StmtVec all = {0};
    ml_UidVec tags = {0};

    ml_all_blocks(c->cx, c->args[0].node, &all);
    for (size_t k = 0; k < all.n; k++)
        if (ml_is_output_block(c->p, ml_stmt_uid(all.v[k]), NULL))
            ml_push(c->cx, &tags, ml_stmt_uid(all.v[k]));
    return_blocks(c, tags.v, tags.n);
    return true;
}

static const ml_Param block_params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block"),
};
static const ml_Param node_params[] = {
    ML_PARAM("block_or_loop", ML_P_BLOCK_OR_LOOP, "where to look"),
};
static const ml_Param scope_params[] = {
    ML_PARAM("scope_block", ML_P_BLOCK, "where to look"),
};

#define QUERY(id, inst, returns, of, what, text, ...)                                      \
    const ml_Primitive ml_prim_##id = {                                                    \
        ML_PRIM(id, inst),                                                                 \
        .group = "queries",                                                                \
        .summary = what,                                                                   \
        .help = text,                                                                      \
        ML_PARAMS(of),                                                                     \
        .result = returns,                                                                 \
        .pure = true,                                                                      \
        .no_version = true,                                                                \
        .errors = (const ml_ErrorCode[]){__VA_ARGS__},                                     \
    };

QUERY(get_loops, "GetLoops", ML_R_LOOPS, block_params,
      "the loops around a block, outermost first",
      "Those inside the block's scope; none for the root.", ML_E_OK)
QUERY(get_child_blocks, "GetChildBlocks", ML_R_BLOCKS, node_params,
      "the blocks directly under a block or loop",
      "With no block in between, in program order.", ML_E_OK)
QUERY(get_producers, "GetProducers", ML_R_BLOCKS, block_params,
      "the blocks whose results a block uses",
      "Blocks of the same scope that wrote, earlier, a buffer which this block reads or\n"
      "writes.",
      ML_E_ROOT_BLOCK, ML_E_OK)
QUERY(get_consumers, "GetConsumers", ML_R_BLOCKS, block_params,
      "the blocks that use the result of a block",
      "Blocks of the same scope that later read or write a buffer which this block "
      "writes.",
      ML_E_ROOT_BLOCK, ML_E_OK)
QUERY(get_output_blocks, "GetOutputBlocks", ML_R_BLOCKS, scope_params,
      "the blocks that write results",
      "All blocks below the given one that write a buffer which the block around them\n"
      "does not allocate, outer ones first.",
      ML_E_OK)

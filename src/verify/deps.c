/*
 * deps - who produces and who consumes what among the child blocks of a scope.
 *
 * By buffers of the signatures, not by regions; edges point forward in textual order.
 * Source: ir-and-analysis 2.2, primitives 2.1.
 */
#include "moonloop/verify/facts.h"

static void add_once(ml_Ctx *cx, ml_UidVec *v, ml_Uid uid)
{
    for (size_t k = 0; k < v->n; k++)
        if (v->v[k] == uid)
            return;
    ml_push(cx, v, uid);
}

/* RAW: `to` reads what `from` writes; WAW: both write one buffer. In the order of the
 * buffers of `to`. */
static bool raw(ml_Program p, ml_Uid scope, const ml_Block *from, const ml_Block *to)
{
    for (size_t k = 0; k < to->n_reads; k++)
        if (ml_block_writes(p, scope, from,
                            ml_canonical_buffer(p, scope, to->reads[k].buffer)))
            return true;
    return false;
}

static bool waw(ml_Program p, ml_Uid scope, const ml_Block *from, const ml_Block *to)
{
    for (size_t k = 0; k < to->n_writes; k++)
        if (ml_block_writes(p, scope, from,
                            ml_canonical_buffer(p, scope, to->writes[k].buffer)))
            return true;
    return false;
}

static const ml_Block *block_at(ml_Program p, ml_Uid block)
{
    return ml_as_block(ml_index_node(p.index, block));
}

/* The writers before `b` of the buffers of the regions, buffer by buffer. */
static void add_writers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                        const ml_Block *b, const ml_Region *v, size_t n, ml_UidVec *out)
{
    for (size_t k = 0; k < n; k++) {
        const ml_Buffer *buf = ml_canonical_buffer(p, scope, v[k].buffer);
        ml_BlockVec users = {0};

        ml_scope_users(cx, f, p, scope, &buf, 1, &users);
        for (size_t m = 0; m < users.n && users.v[m] != b; m++)
            if (ml_block_writes(p, scope, users.v[m], buf))
                add_once(cx, out, users.v[m]->tag);
    }
}

void ml_producers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, ml_UidVec *out)
{
    ml_Uid scope = ml_index_scope(p.index, block);
    const ml_Block *b = block_at(p, block);

    /* Edge order: per read buffer its writers, then per written buffer its writers. */
    add_writers(cx, f, p, scope, b, b->reads, b->n_reads, out);
    add_writers(cx, f, p, scope, b, b->writes, b->n_writes, out);
}

static void add_consumers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                          bool with_waw, ml_UidVec *out)
{
    ml_Uid scope = ml_index_scope(p.index, block);
    const ml_Block *b = block_at(p, block);
    ml_BlockVec users = {0};
    size_t m = 0;

    ml_region_users(cx, f, p, scope, b->writes, b->n_writes, &users);
    while (m < users.n && users.v[m] != b)
        m++;
    for (m++; m < users.n; m++)
        if (raw(p, scope, b, users.v[m]) || (with_waw && waw(p, scope, b, users.v[m])))
            add_once(cx, out, users.v[m]->tag);
}

void ml_consumers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, ml_UidVec *out)
{
    add_consumers(cx, f, p, block, true, out);
}

void ml_raw_consumers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, ml_UidVec *out)
{
    add_consumers(cx, f, p, block, false, out);
}

void ml_writers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope, const ml_Buffer *b,
                ml_UidVec *out)
{
    ml_BlockVec users = {0};

    b = ml_canonical_buffer(p, scope, b);
    ml_scope_users(cx, f, p, scope, &b, 1, &users);
    for (size_t m = 0; m < users.n; m++)
        if (ml_block_writes(p, scope, users.v[m], b))
            ml_push(cx, out, users.v[m]->tag);
}

void ml_readers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope, const ml_Buffer *b,
                ml_UidVec *out)
{
    ml_BlockVec users = {0};

    b = ml_canonical_buffer(p, scope, b);
    ml_scope_users(cx, f, p, scope, &b, 1, &users);
    for (size_t m = 0; m < users.n; m++)
        if (ml_block_reads(p, scope, users.v[m], b))
            ml_push(cx, out, users.v[m]->tag);
}

/* ---- where buffers come from */

ml_Uid ml_buffer_site(ml_Program p, uint32_t func, const ml_Buffer *b, bool *is_match)
{
    const ml_Func *f = p.mod->funcs[func];
    ml_StmtVec all = {0};
    ml_Ctx *scratch;
    ml_Uid found = 0;

    if (is_match)
        *is_match = false;
    for (size_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer && f->params[k].buffer->uid == b->uid)
            return 0;
    const ml_Block *root = ml_func_root(f);

    if (!root)
        return 0;
    ml_Tags homes = ml_index_homes(p.index, b);

    if (homes.n == 0)
        return 0;
    if (homes.n == 1 && ml_index_func(p.index, homes.v[0]) == func) {
        const ml_Block *home = block_at(p, homes.v[0]);

        for (size_t k = 0; is_match && k < home->n_matches; k++)
            *is_match |= home->matches[k].target->uid == b->uid;
        return home->tag;
    }
    /* Several define it: the root, or the first in the text. */
    for (size_t k = 0; k < root->n_allocs; k++)
        if (root->allocs[k]->uid == b->uid)
            return root->tag;
    scratch = ml_ctx_new(0);
    ml_all_blocks(scratch, &root->base, &all);
    ml_push(scratch, &all, &root->base);
    for (size_t k = 0; k < all.n && !found; k++) {
        const ml_Block *blk = ml_as_block(all.v[k]);

        for (size_t m = 0; m < blk->n_allocs; m++)
            if (blk->allocs[m]->uid == b->uid)
                found = blk->tag;
        for (size_t m = 0; m < blk->n_matches; m++)
            if (blk->matches[m].target->uid == b->uid) {
                found = blk->tag;
                if (is_match)
                    *is_match = true;
            }
    }
    ml_ctx_unref(scratch);
    return found;
}

static bool allocates(ml_Program p, const ml_Block *b, const ml_Buffer *buf)
{
    ml_Tags homes = ml_index_homes(p.index, buf);
    bool here = false;

    for (size_t k = 0; k < homes.n; k++)
        here |= homes.v[k] == b->tag;
    for (size_t k = 0; here && k < b->n_matches; k++)
        here = b->matches[k].target->uid != buf->uid;
    return here;
}

bool ml_is_output_block(ml_Program p, ml_Uid block, const ml_Buffer **which)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_Uid scope = ml_index_scope(p.index, block);
    const ml_Block *root = scope ? ml_as_block(ml_index_node(p.index, scope)) : NULL;

    for (size_t k = 0; k < b->n_writes; k++) {
        if (!root || !allocates(p, root, b->writes[k].buffer)) {
            if (which)
                *which = b->writes[k].buffer;
            return true;
        }
    }
    return false;
}

/* ---- loops around a block */

void ml_relax_domain(ml_Ctx *cx, ml_Program p, ml_Uid block, ml_Uid stop,
                     const ml_Buffer *storage, ml_DomVec *out)
{
    ML_VEC(const ml_For *) up = {0};
    int8_t rank = storage ? storage->scope.rank : ML_SCOPE_GLOBAL;
    bool above = false; /* at or above stop, or outside the scope */

    for (ml_Up u = ml_index_up(p.index, block); u.node; ml_index_next(&u)) {
        if (u.uid == stop || u.node->kind == ML_STMT_BLOCK)
            above = true;
        if (u.node->kind == ML_STMT_BLOCK)
            continue;
        const ml_For *f = ml_as_for(u.node);

        if (!above || (rank > 0 && ml_scope_spans(storage->scope, f->thread)))
            ml_push(cx, &up, f);
        if (above && rank <= 0)
            break;
    }
    for (size_t k = up.n; k-- > 0;)
        ml_push(cx, out, ((ml_Dom){up.v[k]->var, up.v[k]->min, up.v[k]->extent}));
}

ml_Arith *ml_arith_at(ml_Ctx *cx, ml_Program p, ml_Uid uid)
{
    ml_Arith *ar = ml_arith_new(cx);
    ml_StmtVec up = {0};

    ml_arith_bind_params(ar, p.mod->funcs[ml_index_func(p.index, uid)]);
    for (ml_Up u = ml_index_up(p.index, uid); u.node; ml_index_next(&u))
        ml_push(cx, &up, u.node);
    for (size_t k = up.n; k-- > 0;) {
        if (up.v[k]->kind == ML_STMT_FOR)
            ml_arith_bind_loop(ar, ml_as_for(up.v[k]));
        else
            ml_arith_bind_iters(ar, ml_as_block(up.v[k]));
    }
    return ar;
}

/*
 * users - the child blocks of a scope that touch a buffer, in textual order.
 *
 * They are taken from the postings of the index and put in order by comparing places, so
 * that a scope of a thousand blocks is not walked for the two that matter. Where the scope
 * has views a signature may name a buffer by another one: there, and where a buffer has
 * many users, the children are walked. Source: ir-and-analysis 2.2, 8.2.
 */
#include "moonloop/verify/facts.h"

/* -DML_CHECK_INDEX: the answer is compared with that of a walk. */
#ifdef ML_CHECK_INDEX
enum { CHECK_INDEX = 1 };
#else
enum { CHECK_INDEX = 0 };
#endif

/* With more users, or in scopes of so few blocks, a walk over all children is cheaper than
 * comparing places. */
enum { MAX_USERS = 16, MIN_BLOCKS = 12 };

static bool touches(ml_Program p, ml_Uid scope, bool views, const ml_Block *b,
                    const ml_Buffer *const *bufs, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (ml_read_of(b, bufs[k]) || ml_write_of(b, bufs[k]) ||
            (views && (ml_block_reads(p, scope, b, bufs[k]) ||
                       ml_block_writes(p, scope, b, bufs[k]))))
            return true;
    return false;
}

static void walk(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                 const ml_Buffer *const *bufs, size_t n, ml_BlockVec *out)
{
    ml_Children ch = ml_scope_children(f, p, scope);
    bool views = ml_has_views(p, scope);

    for (size_t m = 0; m < ch.n; m++)
        if (touches(p, scope, views, ch.v[m], bufs, n))
            ml_push(cx, out, ch.v[m]);
}

/* Puts the block in its place among v[first..], unless it is there. */
static void insert(ml_Ctx *cx, ml_Program p, const ml_Block *b, size_t first,
                   ml_BlockVec *out)
{
    size_t at = out->n;

    for (size_t k = first; k < out->n; k++)
        if (out->v[k] == b)
            return;
    while (at > first && ml_index_before(p.index, b->tag, out->v[at - 1]->tag))
        at--;
    ml_push(cx, out, b);
    memmove(out->v + at + 1, out->v + at, (out->n - 1 - at) * sizeof(out->v[0]));
    out->v[at] = b;
}

static bool is_small(ml_Program p, ml_Uid scope)
{
    return !CHECK_INDEX && ml_index_node(p.index, scope)->n_blocks < MIN_BLOCKS;
}

void ml_scope_users(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                    const ml_Buffer *const *bufs, size_t n, ml_BlockVec *out)
{
    size_t first = out->n, total = 0;

    for (size_t k = 0; k < n; k++)
        total += ml_index_users(p.index, bufs[k]).n;
    if (total > MAX_USERS || is_small(p, scope) || ml_has_views(p, scope)) {
        walk(cx, f, p, scope, bufs, n, out);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        ml_Tags t = ml_index_users(p.index, bufs[k]);

        for (size_t m = 0; m < t.n; m++)
            if (ml_index_scope(p.index, t.v[m]) == scope)
                insert(cx, p, ml_as_block(ml_index_node(p.index, t.v[m])), first, out);
    }
    if (CHECK_INDEX) {
        ml_BlockVec all = {0};

        walk(cx, f, p, scope, bufs, n, &all);
        ML_ASSERT(all.n == out->n - first);
        for (size_t k = 0; k < all.n; k++)
            ML_ASSERT(all.v[k] == out->v[first + k]);
    }
}

void ml_region_users(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                     const ml_Region *v, size_t n, ml_BlockVec *out)
{
    const ml_Buffer *few[8], **bufs = n <= ML_COUNT(few) ? few : NULL;

    if (!bufs)
        bufs = ML_ARRAY(cx, const ml_Buffer *, n);
    for (size_t k = 0; k < n; k++)
        bufs[k] = ml_canonical_buffer(p, scope, v[k].buffer);
    ml_scope_users(cx, f, p, scope, bufs, n, out);
}

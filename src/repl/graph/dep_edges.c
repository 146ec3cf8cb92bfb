/* dep_edges - which blocks of a scope touch what others have touched, by the regions they
 * sign. Source: ir-and-analysis 2.2. */
#include "repl/graph/graph.h"

const char *ml_dep_name(ml_DepKind kind)
{
    switch (kind) {
    case ML_DEP_RAW: return "RAW";
    case ML_DEP_WAW: return "WAW";
    case ML_DEP_WAR: return "WAR";
    case ML_DEP_OPAQUE: return "opaque";
    }
    return "?";
}

typedef struct Side {
    const ml_Region *v;
    size_t n;
} Side;

static bool names(Side s, size_t n, ml_Uid uid)
{
    for (size_t k = 0; k < n; k++)
        if (s.v[k].buffer->uid == uid)
            return true;
    return false;
}

typedef struct Pair {
    const ml_StmtVec *blocks; /* of the scope, in the order of the text */
    size_t from, to;
    ml_DepFn *fn;
    void *user;
} Pair;

/* Whether the block stores every element of the buffer: each index is an iter of its own
 * that goes through the whole dimension. */
static bool writes_all(const ml_Block *b, const ml_Buffer *buf)
{
    const ml_Region *r = ml_write_of(b, buf);

    if (!r || !ml_is_true(b->predicate))
        return false;
    for (uint32_t k = 0; k < buf->rank; k++) {
        const ml_Range *at = &r->ranges[k];
        bool whole = ml_is_int(at->min, 0) && at->extent == buf->shape[k];

        for (uint32_t i = 0; !whole && i < b->n_iters; i++)
            whole = at->min->kind == ML_EXPR_VAR && at->min->as.var == b->iters[i].var &&
                    ml_is_int(b->iters[i].min, 0) && b->iters[i].extent == buf->shape[k];
        for (uint32_t i = 0; whole && i < k; i++) /* not a diagonal */
            whole = at->min->kind != ML_EXPR_VAR || r->ranges[i].min != at->min;
        if (!whole)
            return false;
    }
    return true;
}

/* What a block between has overwritten goes no further. */
static bool overwritten(const Pair *p, const ml_Buffer *buf)
{
    for (size_t k = p->from + 1; k < p->to; k++)
        if (writes_all(ml_as_block(p->blocks->v[k]), buf))
            return true;
    return false;
}

static void each_common(const Pair *p, ml_DepKind kind, Side later, Side earlier)
{
    for (size_t k = 0; k < later.n; k++) {
        const ml_Buffer *b = later.v[k].buffer;

        if (names(earlier, earlier.n, b->uid) && !names(later, k, b->uid) &&
            !overwritten(p, b))
            p->fn(ml_as_block(p->blocks->v[p->from]), ml_as_block(p->blocks->v[p->to]), b,
                  kind, p->user);
    }
}

void ml_dep_edges(const ml_StmtVec *blocks, ml_DepFn *fn, void *user)
{
    for (size_t k = 0; k < blocks->n; k++)
        for (size_t j = k + 1; j < blocks->n; j++) {
            const ml_Block *a = ml_as_block(blocks->v[k]), *b = ml_as_block(blocks->v[j]);
            Pair p = {blocks, k, j, fn, user};
            Side a_reads = {a->reads, a->n_reads}, a_writes = {a->writes, a->n_writes};
            Side b_reads = {b->reads, b->n_reads}, b_writes = {b->writes, b->n_writes};

            each_common(&p, ML_DEP_RAW, b_reads, a_writes);
            each_common(&p, ML_DEP_WAW, b_writes, a_writes);
            each_common(&p, ML_DEP_WAR, b_writes, a_reads);
        }
}

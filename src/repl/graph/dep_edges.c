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
    const ml_Block *from, *to;
    ml_DepFn *fn;
    void *user;
} Pair;

static void each_common(const Pair *p, ml_DepKind kind, Side later, Side earlier)
{
    for (size_t k = 0; k < later.n; k++) {
        const ml_Buffer *b = later.v[k].buffer;

        if (names(earlier, earlier.n, b->uid) && !names(later, k, b->uid))
            p->fn(p->from, p->to, b, kind, p->user);
    }
}

void ml_dep_edges(const ml_StmtVec *blocks, ml_DepFn *fn, void *user)
{
    for (size_t k = 0; k < blocks->n; k++)
        for (size_t j = k + 1; j < blocks->n; j++) {
            const ml_Block *a = ml_as_block(blocks->v[k]), *b = ml_as_block(blocks->v[j]);
            Pair p = {a, b, fn, user};
            Side a_reads = {a->reads, a->n_reads}, a_writes = {a->writes, a->n_writes};
            Side b_reads = {b->reads, b->n_reads}, b_writes = {b->writes, b->n_writes};

            each_common(&p, ML_DEP_RAW, b_reads, a_writes);
            each_common(&p, ML_DEP_WAW, b_writes, a_writes);
            each_common(&p, ML_DEP_WAR, b_writes, a_reads);
        }
}

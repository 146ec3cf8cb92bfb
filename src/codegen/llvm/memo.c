/*
 * memo - values already emitted, by expression, lanes and mode.
 *
 * An entry holds where the instruction that made it dominates: what is made in a loop body
 * or in one arm of a branch is taken back at its end, what reads memory at the end of its
 * statement. Open addressing; a key stays when its value is taken back.
 */
#include "moonloop/codegen/llvm/emit.h"

enum { MEMO_FIRST = 256 };

static size_t slot_of(const ml_Cg *g, uint32_t id, unsigned mode, unsigned lane0,
                      unsigned n)
{
    uint64_t h = ((uint64_t)id << 20 ^ (uint64_t)lane0 << 8 ^ (uint64_t)n << 2 ^ mode) *
                 UINT64_C(0x9e3779b97f4a7c15);
    size_t k = (size_t)(h >> 32) & (g->memo_cap - 1);

    while (g->memo[k].mode != 0 && !(g->memo[k].id == id && g->memo[k].mode == mode &&
                                     g->memo[k].lane0 == lane0 && g->memo[k].n == n))
        k = (k + 1) & (g->memo_cap - 1);
    return k;
}

static void grow(ml_Cg *g)
{
    ml_CgMemo *old = g->memo;
    size_t n = g->memo_cap;

    g->memo_cap = n ? 2 * n : MEMO_FIRST;
    g->memo = ML_ARRAY(g->cx, ml_CgMemo, g->memo_cap);
    for (size_t k = 0; k < n; k++)
        if (old[k].mode)
            g->memo[slot_of(g, old[k].id, old[k].mode, old[k].lane0, old[k].n)] = old[k];
}

LLVMValueRef ml_cg_memo_get(ml_Cg *g, const ml_Expr *e, unsigned mode, unsigned lane0,
                            unsigned n)
{
    if (g->memo_cap == 0)
        return NULL;
    return g->memo[slot_of(g, e->id, mode, lane0, n)].v;
}

void ml_cg_memo_set(ml_Cg *g, const ml_Expr *e, unsigned mode, unsigned lane0, unsigned n,
                    LLVMValueRef v)
{
    ml_CgMemo *m;

    if (2 * (g->memo_n + 1) > g->memo_cap)
        grow(g);
    m = &g->memo[slot_of(g, e->id, mode, lane0, n)];
    if (m->mode == 0)
        g->memo_n++;
    *m = (ml_CgMemo){.id = e->id,
                     .lane0 = lane0,
                     .n = (uint16_t)n,
                     .mode = (uint8_t)mode,
                     .reads = (e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)) != 0,
                     .v = v};
    ml_push(g->cx, &g->trail, *m);
}

size_t ml_cg_memo_mark(ml_Cg *g)
{
    return g->trail.n;
}

static void take_back(ml_Cg *g, const ml_CgMemo *m)
{
    g->memo[slot_of(g, m->id, m->mode, m->lane0, m->n)].v = NULL;
}

void ml_cg_memo_release(ml_Cg *g, size_t mark)
{
    while (g->trail.n > mark)
        take_back(g, &g->trail.v[--g->trail.n]);
}

void ml_cg_memo_purge(ml_Cg *g, size_t mark)
{
    size_t kept = mark;

    for (size_t k = mark; k < g->trail.n; k++)
        if (g->trail.v[k].reads)
            take_back(g, &g->trail.v[k]);
        else
            g->trail.v[kept++] = g->trail.v[k];
    g->trail.n = kept;
}

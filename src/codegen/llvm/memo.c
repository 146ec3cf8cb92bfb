/*
 * memo - values already emitted, by expression, lanes and mode, and addresses by pointer
 * and offset.
 *
 * An entry holds where the instruction that made it dominates: what is made in a loop body
 * or in one arm of a branch is taken back at its end. What was read from memory holds until
 * that memory is written; each iteration of a loop may see what the one before wrote. Open
 * addressing; a key stays when its value is taken back.
 */
#include "moonloop/codegen/llvm/emit.h"

enum { MEMO_FIRST = 256 };

/* Where the key is, or goes. */
static ml_CgMemo *place(const ml_Cg *g, const ml_CgMemo *key)
{
    uint64_t h =
        (key->a * UINT64_C(0x9e3779b97f4a7c15) ^ key->b) * UINT64_C(0xff51afd7ed558ccd);
    size_t k = (size_t)(h >> 32) & (g->memo_cap - 1);

    while (
        g->memo[k].mode != ML_MEMO_FREE &&
        !(g->memo[k].a == key->a && g->memo[k].b == key->b && g->memo[k].mode == key->mode))
        k = (k + 1) & (g->memo_cap - 1);
    return &g->memo[k];
}

static void grow(ml_Cg *g)
{
    ml_CgMemo *old = g->memo;
    size_t n = g->memo_cap;

    g->memo_cap = n ? 2 * n : MEMO_FIRST;
    g->memo = ML_ARRAY(g->cx, ml_CgMemo, g->memo_cap);
    for (size_t k = 0; k < n; k++)
        if (old[k].mode != ML_MEMO_FREE)
            *place(g, &old[k]) = old[k];
}

static void set(ml_Cg *g, const ml_CgMemo *entry)
{
    ml_CgMemo *m;

    if (2 * (g->memo_n + 1) > g->memo_cap)
        grow(g);
    m = place(g, entry);
    if (m->mode == ML_MEMO_FREE)
        g->memo_n++;
    *m = *entry;
    ml_push(g->cx, &g->trail, *entry);
}

static ml_CgMemo key_of(const ml_Expr *e, unsigned mode, unsigned lane0, unsigned n)
{
    return (ml_CgMemo){.a = (uint64_t)e->id << 32 | lane0, .b = n, .mode = (uint8_t)mode};
}

/* Whether what m was read from is as it was. */
static bool holds(const ml_Cg *g, const ml_CgMemo *m)
{
    if (m->reads == UINT64_MAX)
        return m->at == g->writes;
    if (m->reads && m->at < g->barrier)
        return false;
    for (uint64_t left = m->reads; left; left &= left - 1)
        if (m->at < g->written[__builtin_ctzll(left)])
            return false;
    return true;
}

LLVMValueRef ml_cg_memo_get(ml_Cg *g, const ml_Expr *e, unsigned mode, unsigned lane0,
                            unsigned n)
{
    const ml_CgMemo key = key_of(e, mode, lane0, n);
    const ml_CgMemo *m = g->memo_cap ? place(g, &key) : NULL;

    if (m == NULL || m->v == NULL || !holds(g, m))
        return NULL;
    g->reads |= m->reads;
    return m->v;
}

void ml_cg_memo_set(ml_Cg *g, const ml_Expr *e, unsigned mode, unsigned lane0, unsigned n,
                    LLVMValueRef v)
{
    ml_CgMemo entry = key_of(e, mode, lane0, n);

    entry.reads = g->reads;
    entry.at = g->writes;
    entry.v = v;
    set(g, &entry);
}

LLVMValueRef ml_cg_step(ml_Cg *g, LLVMTypeRef t, unsigned size, LLVMValueRef p,
                        LLVMValueRef by, bool inbounds)
{
    ml_CgMemo entry = {.a = (uint64_t)(uintptr_t)p,
                       .b =
                           ((uint64_t)(uintptr_t)by ^ (uint64_t)size << 56) << 1 | inbounds,
                       .mode = ML_MEMO_STEP};
    LLVMValueRef known = g->memo_cap ? place(g, &entry)->v : NULL;

    if (known)
        return known;
    entry.v = inbounds ? L(BuildInBoundsGEP2)(g->b, t, p, &by, 1, "")
                       : L(BuildGEP2)(g->b, t, p, &by, 1, "");
    set(g, &entry);
    return entry.v;
}

size_t ml_cg_memo_mark(ml_Cg *g)
{
    return g->trail.n;
}

static void take_back(ml_Cg *g, const ml_CgMemo *m)
{
    place(g, m)->v = NULL;
}

void ml_cg_memo_release(ml_Cg *g, size_t mark)
{
    while (g->trail.n > mark)
        take_back(g, &g->trail.v[--g->trail.n]);
}

void ml_cg_memo_reads(ml_Cg *g, uint32_t root)
{
    g->reads |= root == UINT32_MAX ? UINT64_MAX : UINT64_C(1) << root % ML_MEMO_ROOTS;
}

void ml_cg_memo_writes(ml_Cg *g, uint32_t root)
{
    g->writes++;
    if (root == UINT32_MAX)
        g->barrier = g->writes;
    else
        g->written[root % ML_MEMO_ROOTS] = g->writes;
}

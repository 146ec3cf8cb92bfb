/*
 * held - elements of local buffers that are known while statements follow each other.
 *
 * A tile of sums is stored and loaded again by each of its updates; where the element is a
 * literal, the next load takes what was stored, and memory sees the last store alone. What
 * is held is written before a branch, before a loop and at its end, and before memory that
 * may be the same is used in another way. In an arm of an expression it is written and kept:
 * the other arm does not see that store. Source: lowering-and-codegen 7.4.
 */
#include "moonloop/codegen/llvm/emit.h"

enum { MAX_BYTES = 8 << 10, MAX_HELD = 256 };

bool ml_cg_can_hold(const ml_Buffer *b, const ml_Expr *flat, int64_t extra, unsigned n)
{
    int64_t size = ml_buffer_const_size(b), from;

    if (b->scope.rank != ML_SCOPE_LOCAL || b->type.lanes != 1 || flat == NULL ||
        flat->kind != ML_EXPR_INT || size * (int64_t)ml_lane_bytes(b->type) > MAX_BYTES)
        return false;
    from = flat->as.i + extra;
    return from >= 0 && from + (n ? n : 1) <= size;
}

static LLVMValueRef address(ml_Cg *g, const ml_CgHeld *h)
{
    const ml_CgPointer *p = ml_cg_pointer(g, h->b->data);
    unsigned size = (unsigned)ml_lane_bytes(h->b->type);

    if (h->from == 0)
        return p->p;
    return ml_cg_step(g, ml_cg_memory_type(g, h->b->type, 0), size, p->p,
                      ml_cg_i64(g, h->from), true);
}

static void finish(ml_Cg *g, const ml_CgHeld *h, LLVMValueRef access)
{
    const ml_Expr *from = ml_int(g->cx, ML_DT_I64, h->from);

    L(SetAlignment)(access, ml_cg_alignment(g, h->b, from, 0));
    ml_cg_tag(g, h->root, access);
}

static void write_back(ml_Cg *g, const ml_CgHeld *h)
{
    if (h->dirty)
        finish(g, h, L(BuildStore)(g->b, h->v, address(g, h)));
}

static int64_t end_of(const ml_CgHeld *h)
{
    return h->from + (h->n ? h->n : 1);
}

/* Whether they are the same elements in the same form. */
static bool is_same(const ml_CgHeld *a, const ml_CgHeld *b)
{
    return a->b->uid == b->b->uid && a->from == b->from && a->n == b->n;
}

static bool shares_root(const ml_CgHeld *a, const ml_CgHeld *b)
{
    return a->root == b->root || a->root == UINT32_MAX || b->root == UINT32_MAX;
}

static bool overlaps(const ml_CgHeld *a, const ml_CgHeld *b)
{
    if (a->b->uid != b->b->uid)
        return shares_root(a, b);
    return !is_same(a, b) && a->from < end_of(b) && b->from < end_of(a);
}

/* Writes those that `meets` and forgets them: what an arm of an expression writes stays, for
 * it is not written in the other one. */
static void make_way(ml_Cg *g, const ml_CgHeld *for_what,
                     bool (*meets)(const ml_CgHeld *, const ml_CgHeld *))
{
    size_t kept = 0;

    if (g->held.n && ml_cg_ended(g)) /* behind a jump: nothing comes to what follows */
        g->held.n = 0;
    for (size_t k = 0; k < g->held.n; k++) {
        const ml_CgHeld *h = &g->held.v[k];
        bool met = meets(h, for_what);

        if (met)
            write_back(g, h);
        if (!met || g->arms)
            g->held.v[kept++] = *h;
    }
    g->held.n = kept;
}

void ml_cg_settle(ml_Cg *g, uint32_t root)
{
    make_way(g, &(ml_CgHeld){.root = root}, shares_root);
}

static ml_CgHeld *find(ml_Cg *g, const ml_CgHeld *h)
{
    for (size_t k = 0; k < g->held.n; k++)
        if (is_same(&g->held.v[k], h))
            return &g->held.v[k];
    return NULL;
}

static void hold(ml_Cg *g, const ml_CgHeld *h)
{
    if (g->held.n >= MAX_HELD)
        ml_cg_settle(g, UINT32_MAX);
    ml_push(g->cx, &g->held, *h);
}

LLVMValueRef ml_cg_held_load(ml_Cg *g, const ml_Buffer *b, uint32_t root, int64_t from,
                             unsigned n)
{
    ml_CgHeld h = {b, root, from, n, NULL, false};
    const ml_CgHeld *known = find(g, &h);

    if (known)
        return known->v;
    make_way(g, &h, overlaps);
    h.v = L(BuildLoad2)(g->b, ml_cg_memory_type(g, b->type, n), address(g, &h), "");
    finish(g, &h, h.v);
    if (g->arms == 0)
        hold(g, &h);
    return h.v;
}

void ml_cg_held_store(ml_Cg *g, const ml_Buffer *b, uint32_t root, int64_t from, unsigned n,
                      LLVMValueRef v)
{
    ml_CgHeld h = {b, root, from, n, v, true}, *known;

    make_way(g, &h, overlaps);
    if (g->arms) {
        write_back(g, &h);
    } else if ((known = find(g, &h)) != NULL) {
        known->v = v;
        known->dirty = true;
    } else {
        hold(g, &h);
    }
}

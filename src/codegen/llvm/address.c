/*
 * address - where an element is: data pointers, flat indices, addresses, alignment.
 *
 * A flat index is taken apart into a sum; its terms are added in the order of the loops
 * they depend on, outermost first, and the constant last, so that what does not change in a
 * loop is an instruction of its own (hoisted) and neighbours share all but a displacement.
 * Source: lowering-and-codegen 7.2, 7.3.
 */
#include "moonloop/codegen/llvm/emit.h"

enum { MAX_TERMS = 48, MAX_SPLIT = 4096 /* nodes, as a tree */ };

const ml_CgPointer *ml_cg_pointer(ml_Cg *g, const ml_Var *data)
{
    const ml_CgPointer *p = ml_map_get(g->fn->pointers, data->uid);

    if (p == NULL && !g->failed)
        ml_cg_fail(g, "the memory of `%s` is not known here",
                   data->hint ? data->hint : "data");
    return p;
}

const ml_Expr *ml_cg_flat(ml_Cg *g, const ml_Buffer *b, const ml_Expr *const *idx, size_t n)
{
    const ml_Expr *flat = NULL, *scale = NULL;

    if (n != b->rank) {
        ml_cg_fail(g, "an access of %s with %zu indices instead of %u", b->name, n,
                   b->rank);
        return ml_i32(g->cx, 0);
    }
    for (size_t d = n; d-- > 0;) {
        const ml_Expr *x = idx[d], *s = b->n_strides == b->rank ? b->strides[d] : scale;
        if (s && !ml_is_int(s, 1) && ml_promote(g->cx, &x, &s))
            x = ml_mul(g->cx, x, s);
        if (flat == NULL)
            flat = x;
        else if (ml_promote(g->cx, &x, &flat))
            flat = ml_add(g->cx, x, flat);
        s = b->shape[d];
        if (scale == NULL)
            scale = s;
        else if (ml_promote(g->cx, &s, &scale))
            scale = ml_mul(g->cx, s, scale);
    }
    if (flat == NULL)
        flat = ml_i32(g->cx, 0);
    if (ml_map_has(g->views, b->uid) && !ml_is_int(b->elem_offset, 0)) {
        const ml_Expr *o = b->elem_offset;
        if (ml_promote(g->cx, &o, &flat))
            flat = ml_add(g->cx, o, flat);
    }
    return flat;
}

/* ---------------------------------------------------------------- sums */

typedef struct Term {
    const ml_Expr *e;
    int64_t times;
    uintptr_t depth;
} Term;

typedef struct Sum {
    Term terms[MAX_TERMS];
    size_t n;
    int64_t constant;
    bool lost; /* something does not fit */
} Sum;

typedef struct Deepest {
    const ml_Cg *g;
    uintptr_t depth;
    unsigned budget;
} Deepest;

static bool see_var(const ml_Expr *e, void *user)
{
    Deepest *d = user;

    if (d->budget == 0)
        return false;
    d->budget--;
    if (e->kind == ML_EXPR_VAR) {
        uintptr_t k = (uintptr_t)ml_map_get(d->g->depth, e->as.var->uid);
        if (k > d->depth)
            d->depth = k;
    }
    return !(e->flags & ML_X_VAR_FREE);
}

static uintptr_t depth_of(const ml_Cg *g, const ml_Expr *e)
{
    Deepest d = {g, 0, 256};

    ml_expr_visit(e, see_var, &d);
    return e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL) ? UINTPTR_MAX : d.depth;
}

static void split_sum(ml_Cg *g, const ml_Expr *e, int64_t times, Sum *s)
{
    int64_t k;

    if (e->kind == ML_EXPR_INT) {
        if (__builtin_mul_overflow(times, e->as.i, &k) ||
            __builtin_add_overflow(s->constant, k, &s->constant))
            s->lost = true;
        return;
    }
    if (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) {
        split_sum(g, e->args[0], times, s);
        split_sum(g, e->args[1], e->kind == ML_EXPR_SUB ? -times : times, s);
        return;
    }
    if (e->kind == ML_EXPR_MUL && e->args[1]->kind == ML_EXPR_INT &&
        !__builtin_mul_overflow(times, e->args[1]->as.i, &k) && k > -ML_INF) {
        split_sum(g, e->args[0], k, s);
        return;
    }
    for (size_t j = 0; j < s->n; j++)
        if (s->terms[j].e == e) {
            if (__builtin_add_overflow(s->terms[j].times, times, &s->terms[j].times))
                s->lost = true;
            return;
        }
    if (s->n == MAX_TERMS) {
        s->lost = true;
        return;
    }
    s->terms[s->n++] = (Term){e, times, depth_of(g, e)};
}

static void sort_terms(Sum *s) /* outermost loop first; stable, and they are few */
{
    for (size_t k = 1; k < s->n; k++) {
        Term x = s->terms[k];
        size_t at = k;
        while (at > 0 && s->terms[at - 1].depth > x.depth) {
            s->terms[at] = s->terms[at - 1];
            at--;
        }
        s->terms[at] = x;
    }
}

/* The sum of some terms; NULL: it does not fit. */
static const ml_Expr *join(ml_Cg *g, ml_Dtype t, const Sum *s, size_t from, size_t to)
{
    const ml_Expr *sum = NULL;

    for (size_t k = from; k < to; k++) {
        const ml_Expr *e = s->terms[k].e;
        if (s->terms[k].times == 0)
            continue;
        if (!ml_dtype_fits(t, s->terms[k].times))
            return NULL;
        if (s->terms[k].times != 1)
            e = ml_mul(g->cx, e, ml_int(g->cx, t, s->terms[k].times));
        sum = sum ? ml_add(g->cx, sum, e) : e;
    }
    return sum ? sum : ml_int(g->cx, t, 0);
}

/* ---------------------------------------------------------------- addresses */

/* A flat index in the parts that an address is made of, one after the other. */
typedef struct Parts {
    const ml_Expr *outer, *inner; /* what changes in loops further out; in the innermost */
    int64_t constant;
} Parts;

static Parts parts_of(ml_Cg *g, const ml_Expr *flat, unsigned lanes, int64_t extra)
{
    const Parts whole = {flat, ml_int(g->cx, flat->type, 0), extra};
    Sum s = {.n = 0};
    Parts p;
    size_t at;

    if (flat->size > MAX_SPLIT)
        return whole;
    split_sum(g, flat, 1, &s);
    if (s.lost)
        return whole;
    sort_terms(&s);
    for (at = s.n; at > 0 && s.terms[at - 1].depth == s.terms[s.n - 1].depth; at--)
        ;
    p = (Parts){join(g, flat->type, &s, 0, at), join(g, flat->type, &s, at, s.n),
                s.constant};
    if (p.outer == NULL || p.inner == NULL ||
        __builtin_mul_overflow(p.constant, (int64_t)lanes, &p.constant) ||
        __builtin_add_overflow(p.constant, extra, &p.constant))
        return whole;
    return p;
}

LLVMValueRef ml_cg_address(ml_Cg *g, const ml_Buffer *b, const ml_Expr *flat,
                           unsigned lanes, int64_t extra, bool inbounds)
{
    const ml_CgPointer *p = ml_cg_pointer(g, b->data);
    LLVMTypeRef t = ml_cg_memory_type(g, b->type, 0);
    unsigned size = (unsigned)ml_lane_bytes(b->type);
    const ml_Expr *part[2];
    LLVMValueRef at;
    Parts s;

    if (p == NULL || !ml_dtype_is_index(flat->type)) {
        if (p)
            ml_cg_fail(g, "an index of %s is neither int32 nor int64", b->name);
        return L(GetUndef)(g->ptr);
    }
    ml_cg_settle(g, p->root);
    s = parts_of(g, flat, lanes, extra);
    part[0] = s.outer;
    part[1] = s.inner;
    /* Half way the sum may be outside, unless it only grows; a step that begins outside is
     * not inbounds either, though it ends inside. */
    if (!ml_is_int(s.outer, 0) + !ml_is_int(s.inner, 0) + (s.constant != 0) > 1)
        inbounds = inbounds && s.constant >= 0 && ml_arith_bound(g->ar, s.outer).lo >= 0 &&
                   ml_arith_bound(g->ar, s.inner).lo >= 0;
    at = p->p;
    for (size_t k = 0; k < ML_COUNT(part); k++) {
        LLVMValueRef index;

        if (ml_is_int(part[k], 0))
            continue;
        index = ml_cg_index(g, part[k]);
        if (lanes > 1)
            index = L(BuildMul)(g->b, index, ml_cg_i64(g, lanes), "");
        at = ml_cg_step(g, t, size, at, index, inbounds);
    }
    if (s.constant != 0)
        at = ml_cg_step(g, t, size, at, ml_cg_i64(g, s.constant), inbounds);
    return at;
}

static int64_t power_in(int64_t v)
{
    return v == 0 ? INT64_C(1) << 62 : v & -v;
}

unsigned ml_cg_alignment(ml_Cg *g, const ml_Buffer *b, const ml_Expr *flat, int64_t extra)
{
    const ml_CgPointer *p = ml_map_get(g->fn->pointers, b->data->uid);
    int64_t lane = (int64_t)ml_lane_bytes(b->type), align = p ? p->align : 1, at;
    int64_t lanes = b->type.lanes;
    ml_Modular m;

    if (align <= lane)
        return (unsigned)align;
    m = ml_arith_modular(g->ar, flat);
    at = power_in(m.coeff);
    if (power_in(m.base) < at)
        at = power_in(m.base);
    if (at > 4096)
        at = 4096;
    at *= lane * power_in(lanes);
    if (power_in(extra) < 4096 && power_in(extra) * lane < at)
        at = power_in(extra) * lane;
    return (unsigned)(at < align ? at : align);
}

unsigned ml_cg_lane_align(ml_Cg *g, const ml_Buffer *b)
{
    const ml_CgPointer *p = ml_map_get(g->fn->pointers, b->data->uid);
    size_t lane = ml_lane_bytes(b->type);

    return p && p->align < lane ? p->align : (unsigned)lane;
}

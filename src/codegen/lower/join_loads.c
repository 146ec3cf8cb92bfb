/*
 * join_loads - lanes that are loaded from one place after the other are one load.
 *
 * Shuffle([A[i : i + m], A[i + m : i + 2 m], ..], [0, 1, 2, ..])
 *
 * is A[i : i + n m], and so where each part is taken as an integer of as many bits: the
 * rows that an intrinsic takes of a tile, where they lie without a gap.
 * Source: lowering-and-codegen 8, 9.1.
 */
#include "moonloop/codegen/lower/lower_impl.h"

/* The load below a reinterpretation or none; NULL: masked, or something else. */
static const ml_Expr *load_of(const ml_Expr *e)
{
    if (ml_is_op(e, ML_OP_REINTERPRET))
        e = e->args[0];
    return e->kind == ML_EXPR_LOAD && ml_load_rank(e) == 1 && !(e->flags & ML_X_MASKED) &&
                   e->as.buffer->type.lanes == 1 && e->as.buffer->type.bits % 8 == 0
               ? e
               : NULL;
}

/* Where a load begins; NULL: its lanes are not next to each other, or are another load's. */
static const ml_Expr *start_of(const ml_Expr *load)
{
    const ml_Expr *at = load->args[0];

    if (at->type.lanes == 1)
        return at->flags & ML_X_HAS_LOAD ? NULL : at;
    return at->kind == ML_EXPR_RAMP && ml_is_int(at->args[1], 1) &&
                   !(at->flags & ML_X_HAS_LOAD)
               ? at->args[0]
               : NULL;
}

/* Whether a shuffle takes all lanes of its vectors, in their order. */
static bool is_whole(const ml_Expr *e, uint32_t n)
{
    uint32_t lanes = 0;

    for (uint32_t k = 0; k < n; k++)
        lanes += e->args[k]->type.lanes;
    if (e->n_args - n != lanes)
        return false;
    for (uint32_t k = 0; k < lanes; k++)
        if (!ml_is_int(e->args[n + k], k))
            return false;
    return true;
}

/* Whether load `k` begins where k others like the first end. */
static bool follows(ml_Ctx *cx, ml_Arith *ar, const ml_Expr *first, const ml_Expr *load,
                    int64_t k)
{
    const ml_Expr *from = start_of(first), *to = load ? start_of(load) : NULL;

    return to && load->as.buffer == first->as.buffer &&
           ml_dtype_eq(load->type, first->type) && ml_dtype_eq(to->type, from->type) &&
           ml_is_int(ml_simplify(ar, ml_sub(cx, to, from)), k * first->type.lanes);
}

static const ml_Expr *join(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const ml_Expr *first, *at;
    uint32_t n;

    if (!(e->flags & ML_X_HAS_LOAD))
        return e;
    e = ml_expr_map_args(cx, e, join, user);
    if (e->kind != ML_EXPR_SHUFFLE || e->as.i < 2 || !is_whole(e, n = (uint32_t)e->as.i))
        return e;
    first = load_of(e->args[0]);
    if (first == NULL || start_of(first) == NULL)
        return e;
    for (uint32_t k = 1; k < n; k++)
        if (!ml_dtype_eq(e->args[k]->type, e->args[0]->type) ||
            !follows(cx, user, first, load_of(e->args[k]), k))
            return e;
    at = start_of(first);
    at = ml_ramp(cx, at, ml_int(cx, at->type, 1), n * first->type.lanes);
    at = ml_load(cx, first->as.buffer, &at, 1);
    return e->args[0] == first ? at
                               : ml_call(cx, e->type, ml_op(ML_OP_REINTERPRET), &at, 1);
}

static const ml_Stmt *join_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {join_stmt, join, NULL, user};

    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_join_loads(ml_Lower *lo, const ml_Func *f)
{
    return ml_func_with_body(lo->cx, f, join_stmt(lo->cx, f->body, ml_lower_arith(lo, f)));
}

/*
 * expr - expressions to values: variables, vectors, branches; operators are in arith.c.
 *
 * Both arms of a select are computed; of if_then_else with a scalar condition only the one
 * taken, with a vector condition both under a mask of lanes, which loads respect. A scalar
 * that reads memory inside a masked vector is computed only if some lane is on.
 */
#include "moonloop/codegen/llvm/emit.h"

/* Expressions are shared graphs; one that is larger than this as a tree is not compiled. */
enum { MAX_TREE = 1 << 20, CHEAP_ARM = 16 };

/* ---------------------------------------------------------------- lanes */

unsigned ml_cg_chunk(const ml_Cg *g, unsigned bits, unsigned lanes)
{
    unsigned room = 4 * g->ll->target.vector_bits / bits;

    return lanes < room ? lanes : room;
}

/* ---------------------------------------------------------------- variables */

void ml_cg_set_var(ml_Cg *g, const ml_Var *v, LLVMValueRef value, bool wide)
{
    ml_CgVar *c = ML_NEW(g->cx, ml_CgVar);

    *c = (ml_CgVar){value, wide};
    ml_map_set(g->cx, g->fn->vars, v->uid, c);
}

static LLVMValueRef undefined(ml_Cg *g, const ml_Expr *e, unsigned n)
{
    LLVMTypeRef t = ml_cg_vec(g, g->i32, n);

    if (!g->failed)
        ml_cg_fail(g, "an expression has no value");
    if (e->type.lanes >= 1 && e->type.code < ML_VOID)
        t = ml_cg_type(g, e->type, n);
    return L(GetUndef)(t);
}

static LLVMValueRef variable(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Var *v = e->as.var;
    const ml_CgVar *c = ml_map_get(g->fn->vars, v->uid);
    int pick[1024];

    if (c == NULL && v->type.code == ML_HANDLE) {
        const ml_CgPointer *p = ml_cg_pointer(g, v);
        ml_cg_settle(g, p ? p->root : UINT32_MAX);
        return p ? p->p : L(GetUndef)(g->ptr);
    }
    if (c == NULL) {
        ml_cg_fail(g, "the value of `%s` is not known here", v->hint ? v->hint : "v");
        return undefined(g, e, n);
    }
    if (c->wide)
        return v->type.bits == 64
                   ? c->v
                   : L(BuildTrunc)(g->b, c->v, ml_cg_type(g, v->type, 0), "");
    if (n == 0 || (lane0 == 0 && n == v->type.lanes))
        return c->v;
    ML_ASSERT(n <= ML_COUNT(pick));
    for (unsigned k = 0; k < n; k++)
        pick[k] = (int)(lane0 + k);
    return ml_cg_shuffle(g, c->v, NULL, pick, n);
}

/* All lanes, made in parts that are not too wide. */
static LLVMValueRef whole(ml_Cg *g, const ml_Expr *e)
{
    unsigned lanes = e->type.lanes, step = ml_cg_chunk(g, ml_code_widest(e, 16), lanes);
    LLVMValueRef all = NULL;
    int *pick;

    if (step >= lanes)
        return ml_cg_value(g, e, 0, lanes);
    pick = ML_ARRAY(g->cx, int, lanes);
    for (unsigned at = 0; at < lanes; at += step) {
        unsigned n = lanes - at < step ? lanes - at : step;
        LLVMValueRef part = ml_cg_value(g, e, at, n);
        for (unsigned k = 0; k < lanes; k++)
            pick[k] = k < n ? (int)k : -1;
        part = ml_cg_shuffle(g, part, NULL, pick, lanes);
        for (unsigned k = 0; k < lanes; k++)
            pick[k] = k < at ? (int)k : k < at + n ? (int)(lanes + k - at) : -1;
        all = all ? ml_cg_shuffle(g, all, part, pick, lanes) : part;
    }
    return all;
}

void ml_cg_bind(ml_Cg *g, const ml_Var *v, const ml_Expr *value)
{
    bool index = ml_dtype_is_index(value->type);

    if (value->type.code == ML_HANDLE) {
        const ml_CgPointer *p = NULL;
        ml_CgPointer *q;
        LLVMValueRef at = ml_cg_scalar(g, value);
        if (value->kind == ML_EXPR_VAR)
            p = ml_cg_pointer(g, value->as.var);
        q = ML_NEW(g->cx, ml_CgPointer);
        *q = p ? *p : (ml_CgPointer){at, UINT32_MAX, 1};
        ml_map_set(g->cx, g->fn->pointers, v->uid, q);
        return;
    }
    if (!ml_cg_dtype_ok(g, value->type))
        return;
    if (value->type.lanes > 1) {
        ml_cg_set_var(g, v, whole(g, value), false);
        return;
    }
    if (index && !(value->flags & ML_X_HAS_LOAD)) {
        /* It may serve as an index, so its overflow is an error. */
        ml_cg_set_var(g, v, ml_cg_index(g, value), true);
        return;
    }
    ml_cg_set_var(g, v, ml_cg_value(g, value, 0, 0), false);
}

/* ---------------------------------------------------------------- branches */

static LLVMValueRef phi2(ml_Cg *g, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b,
                         LLVMBasicBlockRef from_b)
{
    LLVMValueRef p = L(BuildPhi)(g->b, L(TypeOf)(a), "");

    L(AddIncoming)(p, &a, &from_a, 1);
    L(AddIncoming)(p, &b, &from_b, 1);
    return p;
}

static bool cheap(const ml_Expr *e)
{
    return e->size <= CHEAP_ARM &&
           !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL | ML_X_EFFECT));
}

static LLVMValueRef inner_condition(ml_Cg *g, const ml_Expr *c, unsigned lane0, unsigned n)
{
    bool before = g->checked;
    LLVMValueRef v;

    if (!(c->flags & ML_X_HAS_LOAD))
        g->checked = true;
    v = ml_cg_value(g, c, lane0, n);
    g->checked = before;
    return v;
}

static LLVMValueRef branch(ml_Cg *g, LLVMValueRef c, const ml_Expr *e, unsigned lane0,
                           unsigned n)
{
    LLVMBasicBlockRef then = ml_cg_block(g, "then"), other = ml_cg_block(g, "else"),
                      end = ml_cg_block(g, "endif"), from[2];
    size_t mark = ml_cg_memo_mark(g);
    LLVMValueRef v[2];

    L(BuildCondBr)(g->b, c, then, other);
    g->arms++;
    ml_cg_place(g, then);
    v[0] = ml_cg_value(g, e->args[1], lane0, n);
    from[0] = L(GetInsertBlock)(g->b);
    ml_cg_memo_release(g, mark);
    ml_cg_goto(g, end);
    ml_cg_place(g, other);
    v[1] = ml_cg_value(g, e->args[2], lane0, n);
    from[1] = L(GetInsertBlock)(g->b);
    g->arms--;
    ml_cg_memo_release(g, mark);
    ml_cg_goto(g, end);
    ml_cg_place(g, end);
    return phi2(g, v[0], from[0], v[1], from[1]);
}

static LLVMValueRef if_then_else(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    LLVMValueRef c = inner_condition(g, e->args[0], lane0, n), a, b, mask = g->mask;

    if (cheap(e->args[1]) && cheap(e->args[2])) {
        a = ml_cg_value(g, e->args[1], lane0, n);
        b = ml_cg_value(g, e->args[2], lane0, n);
        return L(BuildSelect)(g->b, c, a, b, "");
    }
    if (e->args[0]->type.lanes <= 1)
        return branch(g, c, e, lane0, n);
    g->mask = mask ? L(BuildAnd)(g->b, mask, c, "") : c;
    a = ml_cg_value(g, e->args[1], lane0, n);
    b = L(BuildNot)(g->b, c, "");
    g->mask = mask ? L(BuildAnd)(g->b, mask, b, "") : b;
    b = ml_cg_value(g, e->args[2], lane0, n);
    g->mask = mask;
    return L(BuildSelect)(g->b, c, a, b, "");
}

/* A scalar in the middle of masked lanes: it may only be read if some lane is on. */
static LLVMValueRef if_any_lane(ml_Cg *g, const ml_Expr *e)
{
    LLVMValueRef mask = g->mask, v, any;
    LLVMBasicBlockRef then, end, from, before;
    size_t mark = ml_cg_memo_mark(g);

    g->mask = NULL;
    if (!(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL | ML_X_EFFECT))) {
        v = ml_cg_value(g, e, 0, 0);
        g->mask = mask;
        return v;
    }
    then = ml_cg_block(g, "any");
    end = ml_cg_block(g, "endany");
    any = ml_cg_intrinsic1(g, "llvm.vector.reduce.or", mask);
    before = L(GetInsertBlock)(g->b);
    L(BuildCondBr)(g->b, any, then, end);
    g->arms++;
    ml_cg_place(g, then);
    v = ml_cg_value(g, e, 0, 0);
    g->arms--;
    from = L(GetInsertBlock)(g->b);
    ml_cg_memo_release(g, mark);
    ml_cg_goto(g, end);
    ml_cg_place(g, end);
    g->mask = mask;
    return phi2(g, v, from, L(ConstNull)(L(TypeOf)(v)), before);
}

/* ---------------------------------------------------------------- vectors */

static LLVMValueRef ramp(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    LLVMValueRef base = ml_cg_scalar(g, e->args[0]), step;
    LLVMTypeRef t = ml_cg_type(g, e->args[0]->type, 0);

    if (e->args[1]->kind == ML_EXPR_INT) {
        int64_t s = e->args[1]->as.i;
        step = ml_cg_iota(g, t, n, (int64_t)((uint64_t)s * lane0), s);
    } else {
        step = ml_cg_splat(g, ml_cg_scalar(g, e->args[1]), n);
        step = L(BuildMul)(g->b, step, ml_cg_iota(g, t, n, lane0, 1), "");
    }
    return L(BuildAdd)(g->b, ml_cg_splat(g, base, n), step, "");
}

/* Lanes of one vector or two alike by one instruction of LLVM; NULL: lane by lane. */
static LLVMValueRef shuffle_two(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *a = e->args[0], *b = e->as.i == 2 ? e->args[1] : NULL;
    unsigned lanes = a->type.lanes;
    int *pick = ML_ARRAY(g->cx, int, n);
    LLVMValueRef x;

    if (e->as.i > 2 || lanes < 2 || (b && b->type.lanes != lanes) ||
        lanes > ml_cg_chunk(g, ml_code_widest(e, 16), lanes))
        return NULL;
    for (unsigned k = 0; k < n; k++) {
        unsigned lane = 0;
        const ml_Expr *from = ml_shuffle_picks(e, lane0 + k, NULL, &lane);
        if (from == NULL)
            return NULL;
        pick[k] = (int)(e->args[(size_t)e->as.i + lane0 + k]->as.i);
    }
    x = ml_cg_value(g, a, 0, lanes);
    return ml_cg_shuffle(g, x, b ? ml_cg_value(g, b, 0, lanes) : NULL, pick, n);
}

static LLVMValueRef shuffle(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    LLVMValueRef v = NULL, mask = g->mask;
    unsigned count = n ? n : 1;

    if (mask && (e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL))) {
        ml_cg_unsupported(g, "a shuffle of loads under a condition by lanes");
        return undefined(g, e, n);
    }
    g->mask = NULL;
    if (n && (v = shuffle_two(g, e, lane0, n)) != NULL) {
        g->mask = mask;
        return v;
    }
    if (n) {
        v = L(GetPoison)(ml_cg_type(g, e->type, n));
        g->gathers = true;
    }
    for (unsigned k = 0; k < count && !g->failed; k++) {
        unsigned lane = 0;
        const ml_Expr *from = ml_shuffle_picks(e, lane0 + k, NULL, &lane);
        LLVMValueRef x;
        if (from == NULL) {
            ml_cg_unsupported(g, "a shuffle whose index is not a literal lane");
            break;
        }
        x = ml_cg_value(g, from, 0, from->type.lanes);
        if (from->type.lanes > 1)
            x = L(BuildExtractElement)(g->b, x, ml_cg_i64(g, lane), "");
        v = n ? L(BuildInsertElement)(g->b, v, x, ml_cg_i64(g, k), "") : x;
    }
    g->mask = mask;
    return g->failed ? undefined(g, e, n) : v;
}

/* ---------------------------------------------------------------- all of them */

/* Whether the call itself reads memory: what its arguments read they say themselves. */
static bool may_read(const ml_Expr *e)
{
    bool reads = e->as.op->effect >= ML_EFFECT_READ;

    for (size_t k = 0; k < e->n_args && !reads; k++)
        reads = e->args[k]->type.code == ML_HANDLE;
    return reads;
}

static LLVMValueRef compute(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    LLVMValueRef a, b, c;
    size_t mark;

    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT: return ml_cg_int(g, ml_cg_type(g, e->type, 0), 0, e->as.i);
    case ML_EXPR_FLOAT:
        return ml_cg_real(g, ml_cg_type(g, e->type, 0), 0,
                          ml_cg_is_half(e->type) ? ml_dtype_round(e->type, e->as.f)
                                                 : e->as.f);
    case ML_EXPR_STRING:
        ml_cg_unsupported(g, "a string as a value in compiled code");
        return L(GetUndef)(g->ptr);
    case ML_EXPR_VAR: return variable(g, e, lane0, n);
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE:
    case ML_EXPR_AND:
    case ML_EXPR_OR: return ml_cg_binary(g, e, lane0, n);
    case ML_EXPR_NOT:
        a = ml_cg_value(g, e->args[0], lane0, n);
        return L(BuildNot)(g->b, a, "");
    case ML_EXPR_SELECT:
        c = inner_condition(g, e->args[0], lane0, n);
        a = ml_cg_value(g, e->args[1], lane0, n);
        b = ml_cg_value(g, e->args[2], lane0, n);
        return L(BuildSelect)(g->b, c, a, b, "");
    case ML_EXPR_CAST:
        a = ml_cg_value(g, e->args[0], lane0, n);
        return ml_cg_cast(g, e->args[0]->type, e->type, n, a);
    case ML_EXPR_LOAD: return ml_cg_load(g, e, lane0, n);
    case ML_EXPR_RAMP: return ramp(g, e, lane0, n);
    case ML_EXPR_BROADCAST: return ml_cg_splat(g, ml_cg_scalar(g, e->args[0]), n);
    case ML_EXPR_SHUFFLE: return shuffle(g, e, lane0, n);
    case ML_EXPR_LET:
        mark = ml_cg_memo_mark(g);
        ml_cg_bind(g, e->as.var, e->args[0]);
        a = ml_cg_value(g, e->args[1], lane0, n);
        ml_cg_memo_release(g, mark);
        return a;
    case ML_EXPR_CALL:
        if (may_read(e))
            ml_cg_memo_reads(g, UINT32_MAX);
        if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && e->n_args == 3)
            return if_then_else(g, e, lane0, n);
        return ml_cg_call(g, e, lane0, n);
    case ML_EXPR_KINDS: break;
    }
    return undefined(g, e, n);
}

/* Whether what was emitted for e may stand for it again. */
static bool can_reuse(const ml_Cg *g, const ml_Expr *e)
{
    if (e->n_args == 0 || e->kind == ML_EXPR_LET || (e->flags & ML_X_EFFECT))
        return false;
    return g->mask == NULL || !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL));
}

LLVMValueRef ml_cg_value(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    uint64_t reads = g->reads;
    bool reuse;
    LLVMValueRef v;

    if (e->type.lanes <= 1)
        lane0 = n = 0;
    if (g->failed || e->type.code >= ML_VOID)
        return undefined(g, e, n);
    if (e->size > MAX_TREE) {
        ml_cg_unsupported(g, "an expression of more than a million nodes");
        return undefined(g, e, n);
    }
    if (n == 0 && g->mask)
        return if_any_lane(g, e);
    reuse = can_reuse(g, e);
    if (reuse && (v = ml_cg_memo_get(g, e, ML_MEMO_VALUE, lane0, n)) != NULL)
        return v;
    g->reads = 0;
    v = compute(g, e, lane0, n);
    if (reuse && !g->failed)
        ml_cg_memo_set(g, e, ML_MEMO_VALUE, lane0, n, v);
    g->reads |= reads;
    return v;
}

LLVMValueRef ml_cg_scalar(ml_Cg *g, const ml_Expr *e)
{
    return ml_cg_value(g, e, 0, 0);
}

LLVMValueRef ml_cg_condition(ml_Cg *g, const ml_Expr *e)
{
    bool before = g->checked;
    LLVMValueRef v;

    g->checked = true;
    v = ml_cg_value(g, e, 0, 0);
    g->checked = before;
    return v;
}

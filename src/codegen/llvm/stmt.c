/*
 * stmt - statements: blocks of LLVM, allocations, branches, assertions, exits.
 *
 * Memory that is local or, all in all, at most 64 KiB of constant size lies on the stack of
 * the function (allocated in its entry block); the rest comes from the workspace and is
 * given back on every way out, last taken first. Source: lowering-and-codegen 5.4, 7.6.
 */
#include "moonloop/codegen/llvm/emit.h"
#include "moonloop/codegen/runtime/runtime.h"

enum { MAX_STACK = 64 << 10, STACK_ALIGN = 64 };

/* ---------------------------------------------------------------- blocks */

LLVMBasicBlockRef ml_cg_block(ml_Cg *g, const char *name)
{
    return L(AppendBasicBlockInContext)(g->lc, g->fn->fn, name);
}

bool ml_cg_ended(ml_Cg *g)
{
    return L(GetBasicBlockTerminator)(L(GetInsertBlock)(g->b)) != NULL;
}

void ml_cg_goto(ml_Cg *g, LLVMBasicBlockRef to)
{
    if (!ml_cg_ended(g))
        L(BuildBr)(g->b, to);
}

void ml_cg_place(ml_Cg *g, LLVMBasicBlockRef bb)
{
    L(MoveBasicBlockAfter)(bb, L(GetLastBasicBlock)(g->fn->fn));
    L(PositionBuilderAtEnd)(g->b, bb);
}

LLVMValueRef ml_cg_alloca(ml_Cg *g, LLVMTypeRef t, unsigned align, const char *name)
{
    LLVMBasicBlockRef here = L(GetInsertBlock)(g->b);
    LLVMValueRef p;

    L(PositionBuilderAtEnd)(g->b, g->fn->entry);
    p = L(BuildAlloca)(g->b, t, name);
    L(SetAlignment)(p, align);
    L(PositionBuilderAtEnd)(g->b, here);
    return p;
}

/* ---------------------------------------------------------------- ways out */

void ml_cg_free_down_to(ml_Cg *g, size_t n)
{
    for (size_t k = g->fn->frees.n; k > n; k--)
        (void)ml_cg_call_c(g, g->o->standalone ? "free" : "ml_workspace_free", g->none,
                           &g->ptr, &g->fn->frees.v[k - 1], 1, false);
}

void ml_cg_exit(ml_Cg *g, LLVMValueRef status)
{
    if (ml_cg_ended(g))
        return;
    ml_cg_free_down_to(g, 0);
    L(BuildRet)(g->b, status);
    g->fn->fails |= status != ml_cg_int(g, g->i32, 0, 0);
}

static void emit_return(ml_Cg *g, const ml_Return *r)
{
    if (g->fn->parallel) {
        ml_cg_fail(g, "return inside a parallel loop");
        return;
    }
    if (r->value && r->value->type.code != ML_VOID && g->func->ret.code != ML_VOID) {
        ml_cg_unsupported(g, "a function that returns a value, compiled");
        return;
    }
    ml_cg_settle(g, UINT32_MAX);
    ml_cg_exit(g, ml_cg_int(g, g->i32, 0, 0));
}

static void emit_jump(ml_Cg *g, bool out)
{
    const ml_CgLoop *l = g->fn->loops;

    if (l == NULL || (out && l->exit == NULL)) {
        ml_cg_fail(g, "%s",
                   l ? "break of a parallel loop" : "break or continue outside a loop");
        return;
    }
    if (ml_cg_ended(g))
        return;
    ml_cg_settle(g, UINT32_MAX);
    ml_cg_free_down_to(g, l->n_frees);
    ml_cg_goto(g, out ? l->exit : l->latch);
}

/* The number of an assertion, from 1: copies of one share it. */
static uint32_t number_of(ml_Cg *g, const ml_Assert *a)
{
    for (size_t k = 0; k < g->asserts.n; k++)
        if (g->asserts.v[k]->parts == a->parts && g->asserts.v[k]->error == a->error &&
            g->asserts.v[k]->base.span == a->base.span)
            return (uint32_t)k + 1;
    ml_push(g->cx, &g->asserts, a);
    return (uint32_t)g->asserts.n;
}

static void emit_assert(ml_Cg *g, const ml_Assert *a)
{
    LLVMBasicBlockRef bad = ml_cg_block(g, "failed"), ok = ml_cg_block(g, "holds");
    uint32_t number = number_of(g, a);
    LLVMValueRef c = ml_cg_condition(g, a->cond);

    ml_cg_settle(g, UINT32_MAX);
    L(BuildCondBr)(g->b, c, ok, bad);
    ml_cg_place(g, bad);
    ml_cg_exit(g, ml_cg_int(g, g->i32, 0, number));
    ml_cg_place(g, ok);
}

/* ---------------------------------------------------------------- memory */

static uint32_t root_of(ml_Cg *g, const ml_Var *data)
{
    return (uint32_t)(uintptr_t)ml_map_get(g->roots, data->uid) - 1;
}

static void set_pointer(ml_Cg *g, const ml_Var *data, LLVMValueRef p, uint32_t root,
                        uint32_t align)
{
    ml_CgPointer *q = ML_NEW(g->cx, ml_CgPointer);

    *q = (ml_CgPointer){p, root, align};
    ml_map_set(g->cx, g->fn->pointers, data->uid, q);
}

/* A block of the workspace. C wants a multiple of the alignment, and may give NULL for
 * nothing. */
static LLVMValueRef take_block(ml_Cg *g, LLVMValueRef bytes, int64_t align)
{
    LLVMTypeRef types[2] = {g->i64, g->i64};
    LLVMValueRef args[2] = {bytes, ml_cg_i64(g, align)};

    if (!g->o->standalone)
        return ml_cg_call_c(g, "ml_workspace_alloc", g->ptr, types, args, 2, false);
    args[0] = args[1];
    args[1] =
        L(BuildAnd)(g->b, L(BuildAdd)(g->b, bytes, args[0], ""), ml_cg_i64(g, -align), "");
    return ml_cg_call_c(g, "aligned_alloc", g->ptr, types, args, 2, false);
}

/* An extent in double, which does not wrap. */
static LLVMValueRef extent(ml_Cg *g, const ml_Expr *e)
{
    LLVMValueRef a, b;

    if (e->kind != ML_EXPR_MUL && e->kind != ML_EXPR_ADD)
        return L(BuildSIToFP)(g->b, ml_cg_index(g, e), g->f64, "");
    a = extent(g, e->args[0]);
    b = extent(g, e->args[1]);
    return e->kind == ML_EXPR_MUL ? L(BuildFMul)(g->b, a, b, "")
                                  : L(BuildFAdd)(g->b, a, b, "");
}

/* The bytes of a buffer. A product that wraps would be a small block: it is more than there
 * is. */
static LLVMValueRef size_of(ml_Cg *g, const ml_Buffer *b)
{
    int64_t each = (int64_t)ml_lane_bytes(b->type) * b->type.lanes;
    LLVMValueRef bytes = ml_cg_i64(g, each), far = ml_cg_real(g, g->f64, 0, (double)each);

    for (size_t d = 0; d < b->rank; d++) {
        bytes = L(BuildMul)(g->b, bytes, ml_cg_index(g, b->shape[d]), "");
        far = L(BuildFMul)(g->b, far, extent(g, b->shape[d]), "");
    }
    far = L(BuildFCmp)(g->b, LLVMRealOGT, far, ml_cg_real(g, g->f64, 0, 0x1p62), "");
    return L(BuildSelect)(g->b, far, ml_cg_i64(g, INT64_C(1) << 62), bytes, "");
}

static LLVMValueRef workspace(ml_Cg *g, const ml_Buffer *b)
{
    LLVMValueRef p, c;
    LLVMBasicBlockRef bad = ml_cg_block(g, "nomemory"), ok = ml_cg_block(g, "memory");

    p = take_block(g, size_of(g, b), b->align > STACK_ALIGN ? b->align : STACK_ALIGN);
    c = L(BuildICmp)(g->b, LLVMIntEQ, p, L(ConstNull)(g->ptr), "");
    L(BuildCondBr)(g->b, c, bad, ok);
    ml_cg_place(g, bad);
    ml_cg_exit(g, ml_cg_int(g, g->i32, 0, ML_CALL_NO_WORKSPACE));
    ml_cg_place(g, ok);
    ml_push(g->cx, &g->fn->frees, p);
    return p;
}

static void emit_alloc(ml_Cg *g, const ml_Alloc *a)
{
    const ml_Buffer *b = a->buffer;
    int64_t size = ml_buffer_const_size(b), bytes = -1;
    unsigned align = b->align > STACK_ALIGN ? b->align : STACK_ALIGN;
    bool local = b->scope.rank == ML_SCOPE_LOCAL;
    LLVMValueRef p;

    if (!ml_cg_dtype_ok(g, b->type))
        return;
    if (size >= 0 && __builtin_mul_overflow(
                         size, (int64_t)ml_lane_bytes(b->type) * b->type.lanes, &bytes))
        bytes = -1;
    if (bytes >= 0 && bytes <= MAX_STACK && (local || g->fn->stack + bytes <= MAX_STACK)) {
        LLVMTypeRef t = L(ArrayType2)(g->i8, (uint64_t)(bytes ? bytes : 1));
        p = ml_cg_alloca(g, t, align, b->name);
        if (!local)
            g->fn->stack += bytes;
    } else {
        p = workspace(g, b);
    }
    set_pointer(g, b->data, p, root_of(g, b->data), align);
}

static void emit_decl(ml_Cg *g, const ml_Alloc *d)
{
    const ml_CgPointer *p = NULL;
    LLVMValueRef at;

    if (d->data == NULL) {
        emit_alloc(g, d);
        return;
    }
    if (!ml_cg_dtype_ok(g, d->buffer->type))
        return;
    ml_map_set(g->cx, g->views, d->buffer->uid, d->buffer);
    if (d->data->kind == ML_EXPR_VAR) {
        p = ml_cg_pointer(g, d->data->as.var);
        if (p && d->data->as.var->uid != d->buffer->data->uid)
            ml_map_set(g->cx, g->fn->pointers, d->buffer->data->uid, p);
        return;
    }
    at = ml_cg_scalar(g, d->data);
    set_pointer(g, d->buffer->data, at, root_of(g, d->buffer->data),
                (unsigned)ml_lane_bytes(d->buffer->type));
}

/* ---------------------------------------------------------------- branches, lists */

static void emit_if(ml_Cg *g, const ml_If *s)
{
    LLVMBasicBlockRef then = ml_cg_block(g, "then"), end = ml_cg_block(g, "endif");
    LLVMBasicBlockRef other = s->other ? ml_cg_block(g, "else") : end;
    ml_ArithMark facts = ml_arith_save(g->ar);
    LLVMValueRef c = ml_cg_condition(g, s->cond);
    size_t mark;

    ml_cg_settle(g, UINT32_MAX);
    L(BuildCondBr)(g->b, c, then, other);
    mark = ml_cg_memo_mark(g);
    ml_cg_place(g, then);
    ml_cg_scope(g, s->then);
    ml_cg_memo_release(g, mark);
    ml_arith_restore(g->ar, facts);
    ml_cg_goto(g, end);
    if (s->other) {
        ml_cg_place(g, other);
        ml_cg_scope(g, s->other);
        ml_cg_memo_release(g, mark);
        ml_arith_restore(g->ar, facts);
        ml_cg_goto(g, end);
    }
    ml_cg_place(g, end);
}

static void emit_seq(ml_Cg *g, const ml_Seq *q)
{
    size_t mark = ml_cg_memo_mark(g), frees = g->fn->frees.n;
    ml_ArithMark facts = ml_arith_save(g->ar);

    for (uint32_t k = 0; k < q->n && !g->failed; k++) {
        if (ml_cg_ended(g)) /* nothing after a jump is reached */
            ml_cg_place(g, ml_cg_block(g, "unreached"));
        ml_cg_stmt(g, q->stmts[k]);
    }
    ml_cg_settle(g, UINT32_MAX); /* while the addresses are known */
    if (!ml_cg_ended(g))
        ml_cg_free_down_to(g, frees);
    g->fn->frees.n = frees;
    ml_cg_memo_release(g, mark);
    ml_arith_restore(g->ar, facts);
}

static void emit_bind(ml_Cg *g, const ml_Bind *b)
{
    if (b->value->type.code == ML_HANDLE) {
        const ml_CgPointer *p;
        ml_cg_bind(g, b->var, b->value);
        p = ml_map_get(g->fn->pointers, b->var->uid);
        if (p && p->root == UINT32_MAX)
            set_pointer(g, b->var, p->p, root_of(g, b->var), p->align);
        return;
    }
    ml_cg_bind(g, b->var, b->value);
    if (ml_dtype_is_index(b->value->type) &&
        !(b->value->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)))
        ml_arith_bind_value(g->ar, b->var, b->value);
}

static void emit_attr(ml_Cg *g, const ml_Attr *a)
{
    if (a->thread.axis) {
        ml_cg_unsupported(g, "thread-bound loops in code for a CPU");
        return;
    }
    ml_cg_stmt(g, a->body);
}

static void emit_evaluate(ml_Cg *g, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_INT || e->kind == ML_EXPR_STRING)
        return;
    if (e->type.code == ML_VOID || e->type.lanes < 1) {
        if (e->kind == ML_EXPR_CALL)
            (void)ml_cg_call(g, e, 0, 0);
        return;
    }
    (void)ml_cg_value(g, e, 0, e->type.lanes > 1 ? e->type.lanes : 0);
}

static void see_effect(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    if (e->flags & ML_X_EFFECT) {
        ml_cg_memo_writes(user, UINT32_MAX);
        ml_cg_settle(user, UINT32_MAX);
    }
}

void ml_cg_stmt(ml_Cg *g, const ml_Stmt *s)
{
    const ml_Stmt *before = g->stmt;

    if (g->failed || !ml_tick(g->cx)) {
        g->failed = true;
        return;
    }
    if (s->kind == ML_STMT_SEQ) {
        emit_seq(g, ml_as_seq(s));
        return;
    }
    g->stmt = s;
    g->checked = false;
    ml_cg_line(g, s->span);
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE: ml_cg_store(g, ml_as_store(s)); break;
    case ML_STMT_FOR: ml_cg_for(g, ml_as_for(s)); break;
    case ML_STMT_WHILE: ml_cg_while(g, ml_as_while(s)); break;
    case ML_STMT_IF: emit_if(g, ml_as_if(s)); break;
    case ML_STMT_BIND: emit_bind(g, ml_as_bind(s)); break;
    case ML_STMT_EVALUATE: emit_evaluate(g, ml_as_evaluate(s)->value); break;
    case ML_STMT_ALLOC: emit_alloc(g, ml_as_alloc(s)); break;
    case ML_STMT_DECL: emit_decl(g, ml_as_alloc(s)); break;
    case ML_STMT_ATTR: emit_attr(g, ml_as_attr(s)); break;
    case ML_STMT_ASSERT: emit_assert(g, ml_as_assert(s)); break;
    case ML_STMT_RETURN: emit_return(g, ml_as_return(s)); break;
    case ML_STMT_BREAK: emit_jump(g, true); break;
    case ML_STMT_CONTINUE: emit_jump(g, false); break;
    case ML_STMT_BLOCK: {
        const ml_Block *b = ml_as_block(s); /* a root that holds nothing but a body */
        if (b->n_iters || b->init || b->n_allocs || b->n_matches ||
            !ml_is_true(b->predicate))
            ml_cg_fail(g, "a block is left in a function to be compiled");
        else
            ml_cg_stmt(g, b->body);
        break;
    }
    case ML_STMT_SEQ:
    case ML_STMT_KINDS: break;
    }
    ml_stmt_exprs(s, see_effect, g);
    g->stmt = before;
}

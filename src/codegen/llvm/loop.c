/*
 * loop - loops: bottom-tested, induction in i64, a guard unless one iteration is proven.
 *
 * Below a loop annotated non_temporal whole aligned vectors are stored past the caches; a
 * fence keeps their order for whoever reads them. It waits until they have left the core, so
 * that a thread that others wait for has it once, behind its outermost loop.
 * Source: lowering-and-codegen 7.3.
 */
#include "moonloop/codegen/llvm/emit.h"

void ml_cg_scope(ml_Cg *g, const ml_Stmt *s)
{
    size_t frees = g->fn->frees.n;

    ml_cg_stmt(g, s);
    ml_cg_settle(g, UINT32_MAX);
    if (!ml_cg_ended(g))
        ml_cg_free_down_to(g, frees);
    g->fn->frees.n = frees;
}

static bool see_vector(const ml_Stmt *s, void *user)
{
    bool *found = user;

    if (s->kind == ML_STMT_STORE && ml_as_store(s)->value->type.lanes > 1)
        *found = true;
    return !*found;
}

/* A loop that the schedule has shaped is not unrolled or vectorized once more. */
static bool shaped(const ml_Cg *g, const ml_Stmt *body)
{
    bool found = g->o->opt < ML_OPT_O1;

    if (!found)
        ml_stmt_visit(body, see_vector, &found);
    return found;
}

static LLVMMetadataRef loop_id(ml_Cg *g, bool is_shaped)
{
    LLVMMetadataRef ops[4] = {L(TemporaryMDNode)(g->lc, NULL, 0), g->must_progress,
                              g->no_unroll, g->no_vectorize};
    LLVMMetadataRef t = ops[0], node;

    node = L(MDNodeInContext2)(g->lc, ops, is_shaped ? 4 : 2);
    L(MetadataReplaceAllUsesWith)(t, node); /* distinct: it names itself */
    return node;
}

/* Whether threads are started below loops of this function, who read what it stored. */
static bool others_may_read(const ml_Cg *g)
{
    return !g->fn->parallel && g->o->threads != 1;
}

void ml_cg_loop(ml_Cg *g, const ml_For *f, LLVMValueRef lo, LLVMValueRef hi,
                LLVMValueRef step, bool parallel)
{
    LLVMBasicBlockRef pre = L(GetInsertBlock)(g->b), body = ml_cg_block(g, "body"), from;
    LLVMBasicBlockRef latch = ml_cg_block(g, "latch"), exit = ml_cg_block(g, "exit");
    ml_CgLoop loop = {g->fn->loops,   f->var,
                      latch,          parallel ? NULL : exit,
                      g->fn->frees.n, g->fn->loops ? g->fn->loops->depth + 1 : 1};
    LLVMValueRef phi = NULL, next, c;
    bool once = hi == NULL; /* a single iteration: no loop is needed */
    bool streams = ml_code_annotated(f, "non_temporal"), outer = g->streams;
    ml_CgSpread *spread = g->fn->spread;
    ml_ArithMark facts = ml_arith_save(g->ar);
    size_t mark;

    ml_cg_settle(g, UINT32_MAX);
    ml_cg_goto(g, body);
    ml_cg_place(g, body);
    if (!once) {
        phi = L(BuildPhi)(g->b, g->i64, f->var->hint ? f->var->hint : "i");
        L(AddIncoming)(phi, &lo, &pre, 1);
        ml_cg_memo_writes(g, UINT32_MAX); /* by the iterations before */
    }
    mark = ml_cg_memo_mark(g);
    ml_cg_set_var(g, f->var, once ? lo : phi, true);
    ml_map_set(g->cx, g->depth, f->var->uid, (const void *)(uintptr_t)loop.depth);
    ml_arith_bind_loop(g->ar, f);
    g->fn->loops = &loop;
    if (f->annotations)
        ml_cg_prefetch(g, f);
    g->streams |= streams;
    ml_cg_scope(g, f->body);
    g->streams = outer;
    g->fn->spread = spread;
    g->fn->loops = loop.up;
    ml_cg_goto(g, latch);
    ml_cg_place(g, latch);
    ml_cg_line(g, f->base.span);
    if (once) {
        ml_cg_goto(g, exit);
    } else {
        next = L(BuildAdd)(g->b, phi, step, "");
        L(SetNSW)(next, true);
        c = L(BuildICmp)(g->b, LLVMIntSLT, next, hi, "");
        c = L(BuildCondBr)(g->b, c, body, exit);
        L(SetMetadata)
        (c, g->kind_loop, L(MetadataAsValue)(g->lc, loop_id(g, shaped(g, f->body))));
        from = L(GetInsertBlock)(g->b);
        L(AddIncoming)(phi, &next, &from, 1);
    }
    ml_cg_memo_release(g, mark);
    ml_arith_restore(g->ar, facts);
    ml_cg_place(g, exit);
    g->fn->streamed |= streams;
    if (g->fn->streamed && !outer && (loop.up == NULL || others_may_read(g))) {
        g->fn->streamed = false;
        if (g->ll->x86)
            (void)ml_cg_intrinsic(g, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
    }
}

void ml_cg_for(ml_Cg *g, const ml_For *f)
{
    LLVMBasicBlockRef some, none = NULL;
    LLVMValueRef lo, ext, hi, step, c;
    size_t mark;

    if (f->kind == ML_FOR_THREAD) {
        ml_cg_unsupported(g, "thread-bound loops in code for a CPU");
        return;
    }
    if (f->extent->kind == ML_EXPR_INT && f->extent->as.i <= 0)
        return;
    if (f->step && (f->step->kind != ML_EXPR_INT || f->step->as.i < 1)) {
        ml_cg_fail(g, "the step of a loop is no positive literal");
        return;
    }
    if (f->kind == ML_FOR_PARALLEL && !g->fn->parallel && g->o->threads != 1 &&
        !ml_is_int(f->extent, 1)) {
        ml_cg_parallel(g, f);
        return;
    }
    lo = ml_cg_index(g, f->min);
    if (ml_is_int(f->extent, 1)) {
        ml_cg_loop(g, f, lo, NULL, NULL, false);
        return;
    }
    ext = ml_cg_index(g, f->extent);
    step = ml_cg_i64(g, f->step ? f->step->as.i : 1);
    hi = ml_is_int(f->min, 0) ? ext : L(BuildAdd)(g->b, lo, ext, "");
    if (ml_arith_bound(g->ar, f->extent).lo < 1) {
        some = ml_cg_block(g, "some");
        none = ml_cg_block(g, "none");
        c = L(BuildICmp)(g->b, LLVMIntSGT, ext, ml_cg_i64(g, 0), "");
        L(BuildCondBr)(g->b, c, some, none);
        ml_cg_place(g, some);
    }
    mark = ml_cg_memo_mark(g);
    ml_cg_loop(g, f, lo, hi, step, false);
    ml_cg_memo_release(g, mark);
    if (none) {
        ml_cg_goto(g, none);
        ml_cg_place(g, none);
    }
}

void ml_cg_while(ml_Cg *g, const ml_While *w)
{
    LLVMBasicBlockRef head = ml_cg_block(g, "while"), body = ml_cg_block(g, "do"),
                      latch = ml_cg_block(g, "latch"), exit = ml_cg_block(g, "exit");
    ml_CgLoop loop = {g->fn->loops,   NULL,
                      latch,          exit,
                      g->fn->frees.n, g->fn->loops ? g->fn->loops->depth + 1 : 1};
    size_t mark = ml_cg_memo_mark(g);

    ml_cg_settle(g, UINT32_MAX);
    ml_cg_goto(g, head);
    ml_cg_place(g, head);
    ml_cg_memo_writes(g, UINT32_MAX);
    L(BuildCondBr)(g->b, ml_cg_condition(g, w->cond), body, exit);
    ml_cg_place(g, body);
    g->fn->loops = &loop;
    ml_cg_scope(g, w->body);
    g->fn->loops = loop.up;
    ml_cg_goto(g, latch);
    ml_cg_place(g, latch);
    ml_cg_goto(g, head);
    ml_cg_memo_release(g, mark);
    ml_cg_place(g, exit);
}

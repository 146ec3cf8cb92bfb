/*
 * gen_stmt - statements to register code.
 *
 * A block: predicate, bindings, domains, allocations, matches, init at the first reduction
 * point, body. Loops of every kind run in order; parallel, vectorized and thread-bound ones
 * also keep the stamps by which races are found. Source: ir-and-analysis 1.5, 1.6.
 */
#include "moonloop/codegen/interp/code.h"

/* ---------------------------------------------------------------- loops */

/* Enters level g->par_depth; false: nested too deeply. */
static bool par_begin(ml_Gen *g, const ml_Stmt *s, const ml_Var *v, ml_Thread thread)
{
    ml_Par *p;

    if (g->par_depth == ML_MAX_PAR) {
        ml_gen_unsupported(g, "more than 16 nested parallel loops");
        return false;
    }
    p = ML_NEW(g->cx, ml_Par);
    p->stmt = s;
    p->var = v;
    p->thread = thread;
    ml_push(g->cx, &g->pars, p);
    g->par[g->par_depth++] = p;
    if (g->par_depth > g->max_par)
        g->max_par = g->par_depth;
    return true;
}

static void gen_loop(ml_Gen *g, const ml_Stmt *s, const ml_Var *v, const ml_Var *alias,
                     uint32_t min, uint32_t extent, uint32_t step, bool parallel,
                     ml_Thread thread, const ml_Stmt *body)
{
    ml_Label *end = ml_gen_label(g), *next = ml_gen_label(g);
    ml_LoopLabels labels = {g->labels, next, end, g->par_depth, 0};
    ml_LoopScope *scope = ML_NEW(g->cx, ml_LoopScope);
    uint32_t var = ml_gen_reg(g), count = ml_gen_reg(g), by = ml_gen_reg(g);
    uint32_t at, site, mask = 0;
    size_t mark;

    ML_ASSERT(count == var + 1 && by == var + 2);
    ml_gen_emit(g, ML_I_MOV, 0, by, step, 0, 0);
    at =
        ml_gen_emit(g, ML_I_FOR, v->type.bits | (v->type.code == ML_INT ? 0u : ML_UNSIGNED),
                    var, min, extent, 0);
    ml_push(g->cx, &end->uses, at);
    if (parallel) {
        if (!par_begin(g, s, v, thread)) {
            ml_gen_place(g, end);
            return;
        }
        mask = 1u << (g->par_depth - 1);
        ml_gen_emit(g, ML_I_PAR, 0, 0, (int64_t)g->pars.n - 1, 0, 0);
    }
    labels.par_body = g->par_depth;
    *scope = (ml_LoopScope){g->loops, v, s, var};
    g->loops = scope;
    g->labels = &labels;
    site = ml_gen_site(g, s);
    mark = ml_gen_memo_mark(g);
    ml_gen_set_var(g, v, var, mask);
    if (alias)
        ml_gen_set_var(g, alias, var, mask);
    at = (uint32_t)g->code.n;
    if (parallel)
        ml_gen_emit(g, ML_I_PARITER, 0, 0, var, g->par_depth - 1, 0);
    ml_gen_stmt(g, body);
    ml_gen_place(g, next);
    ml_gen_emit(g, ML_I_NEXT, 0, var, 0, 0, at);
    ml_gen_memo_release(g, mark);
    g->labels = labels.up;
    g->loops = scope->up;
    g->site = site;
    g->par_depth = labels.par_depth;
    ml_gen_place(g, end);
    if (parallel)
        ml_gen_emit(g, ML_I_PARDEPTH, 0, 0, g->par_depth, 0, 0);
}

static void gen_for(ml_Gen *g, const ml_For *f)
{
    uint32_t min = ml_gen_checked(g, f->min), extent = ml_gen_checked(g, f->extent);
    uint32_t step = f->step ? ml_gen_checked(g, f->step) : ml_gen_int(g, 1);
    bool par = f->kind == ML_FOR_PARALLEL || f->kind == ML_FOR_VECTORIZED ||
               f->kind == ML_FOR_THREAD;

    gen_loop(g, &f->base, f->var, f->thread_var, min, extent, step, par, f->thread,
             f->body);
}

static void gen_attr(ml_Gen *g, const ml_Attr *a)
{
    const ml_Value *ext = a->value;
    uint32_t extent;

    if (!ml_attr_defines(a) || ext == NULL ||
        ml_map_get(g->vars, a->node->as.var->uid)) { /* the same thread again */
        ml_gen_stmt(g, a->body);
        return;
    }
    if (ext->kind == ML_VAL_INT)
        extent = ml_gen_int(g, ext->as.i);
    else if (ext->kind == ML_VAL_EXPR && ext->as.expr->type.lanes == 1)
        extent = ml_gen_checked(g, ext->as.expr);
    else {
        ml_gen_unsupported(g, "a thread extent that is no number");
        return;
    }
    gen_loop(g, &a->base, a->node->as.var, NULL, ml_gen_int(g, 0), extent, ml_gen_int(g, 1),
             true, a->thread.axis ? a->thread : ml_thread("vthread"), a->body);
    ml_map_set(g->cx, g->vars, a->node->as.var->uid, NULL);
}

static void gen_while(ml_Gen *g, const ml_While *w)
{
    ml_Label *end = ml_gen_label(g), *next = ml_gen_label(g);
    ml_LoopLabels labels = {g->labels, next, end, g->par_depth, g->par_depth};
    uint32_t top = (uint32_t)g->code.n;
    size_t mark = ml_gen_memo_mark(g);

    ml_gen_emit(g, ML_I_TICK, 0, 0, 0, 0, 0);
    ml_gen_jump(g, ML_I_JZ, ml_gen_checked(g, w->cond), end);
    g->labels = &labels;
    ml_gen_stmt(g, w->body);
    g->labels = labels.up;
    ml_gen_place(g, next);
    ml_gen_emit(g, ML_I_JMP, 0, 0, 0, 0, top);
    ml_gen_memo_release(g, mark);
    ml_gen_place(g, end);
}

static void gen_jump_out(ml_Gen *g, bool to_end)
{
    const ml_LoopLabels *l = g->labels;
    uint32_t depth;

    if (l == NULL) {
        ml_gen_unsupported(g, "break or continue outside a loop");
        return;
    }
    depth = to_end ? l->par_depth : l->par_body;
    if (depth != g->par_depth)
        ml_gen_emit(g, ML_I_PARDEPTH, 0, 0, depth, 0, 0);
    ml_gen_jump(g, ML_I_JMP, 0, to_end ? l->end : l->next);
}

/* ---------------------------------------------------------------- small statements */

static void gen_if(ml_Gen *g, const ml_If *s)
{
    ml_Label *other = ml_gen_label(g), *end = ml_gen_label(g);
    uint32_t c = ml_gen_checked(g, s->cond);
    size_t mark = ml_gen_memo_mark(g);

    ml_gen_jump(g, ML_I_JZ, c, other);
    ml_gen_stmt(g, s->then);
    ml_gen_memo_release(g, mark);
    if (s->other) {
        ml_gen_jump(g, ML_I_JMP, 0, end);
        ml_gen_place(g, other);
        ml_gen_stmt(g, s->other);
        ml_gen_memo_release(g, mark);
        ml_gen_place(g, end);
    } else {
        ml_gen_place(g, other);
    }
}

static void gen_bind(ml_Gen *g, const ml_Bind *b)
{
    ml_Memory *mem;

    if (b->value->type.code >= ML_HANDLE) { /* a pointer: a new name for known memory */
        mem = b->value->kind == ML_EXPR_VAR
                  ? ml_owned(ml_map_get(g->pointers, b->value->as.var->uid))
                  : NULL;
        if (mem)
            ml_map_set(g->cx, g->pointers, b->var->uid, mem);
        return; /* any use of another pointer fails by itself */
    }
    /* An integer that a binding names may serve as an index: overflow counts. */
    g->checked = ml_dtype_is_index(b->value->type) && !(b->value->flags & ML_X_HAS_LOAD);
    ml_gen_bind(g, b->var, b->value);
    g->checked = false;
}

static void gen_assert(ml_Gen *g, const ml_Assert *a)
{
    ml_Text text = {0};
    uint32_t c = ml_gen_checked(g, a->cond);

    for (uint32_t k = 0; k < a->n_parts; k++)
        ml_text_add(&text, a->parts[k]);
    ml_gen_emit(g, ML_I_ASSERT, 0, 0, c, 0,
                ml_gen_trap(g, ML_E_ASSERT_FAILED,
                            ml_format(g->cx, "%s: %s", a->error ? a->error : "RuntimeError",
                                      ml_text_z(&text))));
    ml_text_free(&text);
}

static void gen_evaluate(ml_Gen *g, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_INT || e->kind == ML_EXPR_STRING)
        return;
    if (e->type.lanes > 1) {
        for (unsigned l = 0; l < e->type.lanes; l++)
            (void)ml_gen_lane(g, e, l);
        return;
    }
    (void)ml_gen_lane(g, e, 0);
}

static void gen_return(ml_Gen *g, const ml_Return *r)
{
    ml_Frame *f = g->frame;

    if (r->value && r->value->type.code < ML_HANDLE && r->value->type.lanes == 1)
        ml_gen_emit(g, ML_I_MOV, 0, f->result, ml_gen_lane(g, r->value, 0), 0, 0);
    if (f->par_depth != g->par_depth)
        ml_gen_emit(g, ML_I_PARDEPTH, 0, 0, f->par_depth, 0, 0);
    ml_gen_jump(g, ML_I_JMP, 0, g->kernel && !f->in_threads ? g->threads_end : f->end);
}

static void gen_decl(ml_Gen *g, const ml_Alloc *d)
{
    const ml_Buffer *b = d->buffer;
    ml_Memory *mem = NULL;
    ml_View *v;

    if (d->data && d->data->kind == ML_EXPR_VAR)
        mem = ml_owned(ml_map_get(g->pointers, d->data->as.var->uid));
    if (d->data == NULL) {
        ml_gen_alloc(g, b);
        return;
    }
    if (mem == NULL || ml_lane_bytes(b->type) == 0) {
        ml_gen_unsupported(
            g, ml_format(g->cx, "declaring %s over a computed pointer", b->name));
        return;
    }
    ml_map_set(g->cx, g->pointers, b->data->uid, mem);
    v = ml_gen_view(g, b, mem);
    ml_gen_view_registers(g, v);
    ml_gen_emit(g, ML_I_VIEW, 0, 0, (int64_t)g->views.n - 1, 0, 0);
    ml_gen_define(g, b, v, NULL);
    { /* regions are told in terms of the buffer, not of an alias */
        ml_BufInfo *info = ML_NEW(g->cx, ml_BufInfo);
        *info = *(const ml_BufInfo *)ml_map_get(g->bufs, b->uid);
        info->implicit = true;
        ml_map_set(g->cx, g->bufs, b->uid, info);
    }
}

/* ---------------------------------------------------------------- blocks */

/* The binding is the variable of a loop with the very same bounds. */
static bool same_domain(const ml_Gen *g, const ml_Iter *it)
{
    if (it->value->kind != ML_EXPR_VAR)
        return false;
    for (const ml_LoopScope *l = g->loops; l; l = l->up)
        if (l->var == it->value->as.var) {
            const ml_For *f = l->stmt->kind == ML_STMT_FOR ? ml_as_for(l->stmt) : NULL;
            return f && f->min == it->min && f->extent == it->extent;
        }
    return false;
}

/* The class of a block with init whose reduction runs over threadIdx loops, or 0. */
static uint32_t reduction_class(ml_Gen *g, const ml_Block *b)
{
    uint32_t mask = 0, threads = 0;

    if (b->init == NULL)
        return 0;
    for (uint32_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind == ML_ITER_REDUCE)
            mask |= ml_gen_par_mask(g, b->iters[k].value);
    for (uint32_t k = 0; k < g->par_depth; k++) {
        const ml_Stmt *s = g->par[k]->stmt;
        if (s->kind == ML_STMT_FOR && ml_is_int(ml_as_for(s)->extent, 1))
            continue; /* one thread is not across threads */
        if (g->par[k]->thread.axis == ML_AXIS_THREAD)
            threads |= 1u << k;
    }
    mask &= threads;
    if (mask == 0)
        return 0;
    if (g->cls_mask.n == 0)
        ml_push(g->cx, &g->cls_mask, 0);
    ml_push(g->cx, &g->cls_mask, mask);
    return (uint32_t)g->cls_mask.n - 1;
}

static void gen_init(ml_Gen *g, const ml_Block *b)
{
    ml_Label *skip = ml_gen_label(g);
    size_t mark = ml_gen_memo_mark(g);

    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        const ml_VarInfo *info = ml_map_get(g->vars, it->var->uid);
        uint32_t ne = ml_gen_reg(g);
        if (it->kind != ML_ITER_REDUCE || info == NULL)
            continue;
        ml_gen_emit(g, ML_I_NE, 0, ne, info->reg, ml_gen_checked(g, it->min), 0);
        ml_gen_jump(g, ML_I_JNZ, ne, skip);
    }
    ml_gen_stmt(g, b->init);
    ml_gen_memo_release(g, mark);
    ml_gen_place(g, skip);
}

static void gen_block(ml_Gen *g, const ml_Block *b)
{
    ml_Label *end = ml_gen_label(g);
    size_t mark = ml_gen_memo_mark(g), bound = g->bound.n;
    uint32_t cls;

    if (g->n_blocks == ML_COUNT(g->blocks)) {
        ml_gen_unsupported(g, "blocks nested this deeply");
        return;
    }
    /* The predicate is over what is outside: where it does not hold, the bindings need have
     * no value. */
    if (!ml_is_true(b->predicate))
        ml_gen_jump(g, ML_I_JZ, ml_gen_checked(g, b->predicate), end);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        ml_gen_set_var(g, it->var, ml_gen_checked(g, it->value),
                       ml_gen_par_mask(g, it->value));
    }
    for (uint32_t k = 0; k < b->n_iters && !(g->opts.skip & ML_SKIP_REGIONS); k++) {
        const ml_Iter *it = &b->iters[k];
        const ml_VarInfo *info = ml_map_get(g->vars, it->var->uid);
        uint32_t trap;
        if (same_domain(g, it))
            continue;
        trap = ml_gen_trap(g, ML_E_DOMAIN_EXCEEDED, NULL);
        g->traps.v[trap]->block = b;
        g->traps.v[trap]->iter = k;
        ml_gen_emit(g, ML_I_DOMAIN, 0, info->reg, ml_gen_checked(g, it->min),
                    ml_gen_checked(g, it->extent), trap);
    }
    cls = reduction_class(g, b);
    g->block_cls[g->n_blocks] = cls;
    g->blocks[g->n_blocks++] = b;
    for (uint32_t k = 0; k < b->n_allocs; k++)
        ml_gen_alloc(g, b->allocs[k]);
    for (uint32_t k = 0; k < b->n_matches; k++)
        ml_gen_match(g, &b->matches[k]);
    if (b->init)
        gen_init(g, b);
    ml_gen_stmt(g, b->body);
    g->n_blocks--;
    ml_gen_unbind(g, bound);
    ml_gen_memo_release(g, mark);
    ml_gen_place(g, end);
}

void ml_gen_stmt(ml_Gen *g, const ml_Stmt *s)
{
    uint32_t site;

    if (g->failed || !ml_tick(g->cx)) {
        g->failed = true;
        return;
    }
    if (s->kind == ML_STMT_SEQ) {
        const ml_Seq *q = ml_as_seq(s);
        for (uint32_t k = 0; k < q->n; k++)
            ml_gen_stmt(g, q->stmts[k]);
        return;
    }
    site = ml_gen_site(g, s);
    g->checked = false;
    g->expr = NULL;
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE: ml_gen_store(g, ml_as_store(s)); break;
    case ML_STMT_FOR:
        if (!ml_gen_threads(g, s))
            gen_for(g, ml_as_for(s));
        break;
    case ML_STMT_WHILE: gen_while(g, ml_as_while(s)); break;
    case ML_STMT_IF: gen_if(g, ml_as_if(s)); break;
    case ML_STMT_BIND: gen_bind(g, ml_as_bind(s)); break;
    case ML_STMT_EVALUATE: gen_evaluate(g, ml_as_evaluate(s)->value); break;
    case ML_STMT_ALLOC: ml_gen_alloc(g, ml_as_alloc(s)->buffer); break;
    case ML_STMT_DECL: gen_decl(g, ml_as_alloc(s)); break;
    case ML_STMT_ATTR:
        if (!ml_gen_threads(g, s))
            gen_attr(g, ml_as_attr(s));
        break;
    case ML_STMT_ASSERT: gen_assert(g, ml_as_assert(s)); break;
    case ML_STMT_RETURN: gen_return(g, ml_as_return(s)); break;
    case ML_STMT_BREAK: gen_jump_out(g, true); break;
    case ML_STMT_CONTINUE: gen_jump_out(g, false); break;
    case ML_STMT_BLOCK: gen_block(g, ml_as_block(s)); break;
    case ML_STMT_SEQ:
    case ML_STMT_KINDS: break;
    }
    g->site = site;
}

/*
 * parallel - parallel loops: a function and a call that hands its iterations out.
 *
 * NAME.parK(env, lo, hi, step) executes iterations; env, what they need of the function
 * around them, is on its stack. Who hands out is ml_parallel of the runtime, or, in kernels
 * that are saved, a function of the module (parallel_alone.c): code that is the same for
 * every loop would be a third of what many a kernel is compiled from. A parallel loop inside
 * another runs serially. Source: lowering-and-codegen 7.5.
 */
#include "moonloop/codegen/llvm/emit.h"
#include "moonloop/codegen/runtime/runtime.h"

typedef struct Captured {
    ml_Uid uid;
    const ml_CgVar *var; /* or */
    const ml_CgPointer *pointer;
    const char *hint;
} Captured;

typedef struct Capture {
    ml_Cg *g;
    ml_Map *used, *defined;
    ML_VEC(Captured) list;
} Capture;

/* ---------------------------------------------------------------- what the body needs */

static void use(Capture *c, const ml_Var *v)
{
    Captured x = {v->uid, NULL, NULL, v->hint ? v->hint : "v"};

    if (ml_map_has(c->used, v->uid) || ml_map_has(c->defined, v->uid))
        return;
    ml_map_set(c->g->cx, c->used, v->uid, v);
    x.var = ml_map_get(c->g->fn->vars, v->uid);
    x.pointer = ml_map_get(c->g->fn->pointers, v->uid);
    if (x.var || x.pointer)
        ml_push(c->g->cx, &c->list, x);
}

static void use_expr(Capture *c, const ml_Expr *e);

static void use_buffer(Capture *c, const ml_Buffer *b)
{
    use(c, b->data);
    for (size_t d = 0; d < b->rank; d++)
        use_expr(c, b->shape[d]);
    for (size_t d = 0; d < b->n_strides; d++)
        use_expr(c, b->strides[d]);
    use_expr(c, b->elem_offset);
}

static void use_expr(Capture *c, const ml_Expr *e)
{
    if (e->flags & ML_X_VAR_FREE && !(e->flags & ML_X_HAS_LOAD))
        return;
    if (e->n_args > 0) { /* shared graphs: once */
        uint32_t key = e->id;
        if (ml_map_has(c->g->seen_exprs, key))
            return;
        ml_map_set(c->g->cx, c->g->seen_exprs, key, e);
    }
    if (e->kind == ML_EXPR_VAR)
        use(c, e->as.var);
    if (e->kind == ML_EXPR_LOAD)
        use_buffer(c, e->as.buffer);
    for (size_t k = 0; k < e->n_args; k++)
        use_expr(c, e->args[k]);
}

static void use_role(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    use_expr(user, e);
}

static bool see_definition(const ml_Stmt *s, void *user)
{
    Capture *c = user;
    const ml_Var *v = NULL;

    if (s->kind == ML_STMT_FOR)
        v = ml_as_for(s)->var;
    else if (s->kind == ML_STMT_BIND)
        v = ml_as_bind(s)->var;
    else if (s->kind == ML_STMT_ALLOC ||
             (s->kind == ML_STMT_DECL &&
              !(ml_as_alloc(s)->data && ml_as_alloc(s)->data->kind == ML_EXPR_VAR &&
                ml_as_alloc(s)->data->as.var == ml_as_alloc(s)->buffer->data)))
        v = ml_as_alloc(s)->buffer->data;
    if (v)
        ml_map_set(c->g->cx, c->defined, v->uid, v);
    return true;
}

static bool see_use(const ml_Stmt *s, void *user)
{
    Capture *c = user;

    if (s->kind == ML_STMT_STORE)
        use_buffer(c, ml_as_store(s)->buffer);
    ml_stmt_exprs(s, use_role, c);
    return true;
}

/* ---------------------------------------------------------------- the environment */

static LLVMTypeRef env_type(ml_Cg *g, const Capture *c)
{
    LLVMTypeRef *t = ML_ARRAY(g->cx, LLVMTypeRef, c->list.n + 1);

    for (size_t k = 0; k < c->list.n; k++) {
        const Captured *x = &c->list.v[k];
        t[k] = x->pointer ? g->ptr : L(TypeOf)(x->var->v);
        if (x->var && t[k] == g->i1)
            t[k] = g->i8;
    }
    return L(StructTypeInContext)(g->lc, t, (unsigned)c->list.n, false);
}

/* On the stack; NULL: nothing is captured. */
static LLVMValueRef make_env(ml_Cg *g, LLVMTypeRef env, const Capture *c)
{
    unsigned align = 8;
    LLVMValueRef p;

    if (c->list.n == 0)
        return L(ConstNull)(g->ptr);
    for (size_t k = 0; k < c->list.n; k++)
        if (c->list.v[k].var &&
            L(GetTypeKind)(L(TypeOf)(c->list.v[k].var->v)) == LLVMVectorTypeKind)
            align = 64;
    p = ml_cg_alloca(g, env, align, "env");
    for (size_t k = 0; k < c->list.n; k++) {
        const Captured *x = &c->list.v[k];
        LLVMValueRef v = x->pointer ? x->pointer->p : x->var->v;
        if (L(TypeOf)(v) == g->i1)
            v = L(BuildZExt)(g->b, v, g->i8, "");
        (void)L(BuildStore)(g->b, v, L(BuildStructGEP2)(g->b, env, p, (unsigned)k, ""));
    }
    return p;
}

static void take(ml_Cg *g, LLVMTypeRef env, LLVMValueRef p, const Capture *c)
{
    for (size_t k = 0; k < c->list.n; k++) {
        const Captured *x = &c->list.v[k];
        LLVMValueRef v = L(BuildStructGEP2)(g->b, env, p, (unsigned)k, "");

        v = L(BuildLoad2)(g->b, L(StructGetTypeAtIndex)(env, (unsigned)k), v, "");
        L(SetValueName2)(v, x->hint, strlen(x->hint));
        if (x->pointer) {
            ml_CgPointer *q = ML_NEW(g->cx, ml_CgPointer);
            *q = *x->pointer;
            q->p = v;
            ml_map_set(g->cx, g->fn->pointers, x->uid, q);
        } else {
            ml_CgVar *q = ML_NEW(g->cx, ml_CgVar);
            if (L(TypeOf)(x->var->v) == g->i1)
                v = L(BuildTrunc)(g->b, v, g->i1, "");
            *q = (ml_CgVar){v, x->var->wide};
            ml_map_set(g->cx, g->fn->vars, x->uid, q);
        }
    }
}

/* ---------------------------------------------------------------- the function */

static LLVMValueRef scaled(ml_Cg *g, const ml_For *f, LLVMValueRef v)
{
    return f->step && f->step->as.i != 1
               ? L(BuildMul)(g->b, v, ml_cg_i64(g, f->step->as.i), "")
               : v;
}

/* *fails: a status other than 0 may come out of it. */
static LLVMValueRef emit_run(ml_Cg *g, const ml_For *f, const Capture *c, LLVMTypeRef env,
                             const char *name, bool *fails)
{
    LLVMTypeRef types[4] = {g->ptr, g->i64, g->i64, g->i64};
    LLVMTypeRef type = L(FunctionType)(g->i32, types, 4, false);
    LLVMValueRef run = ml_cg_new_function(g, name, type, true), v[3];
    LLVMBasicBlockRef here = L(GetInsertBlock)(g->b);
    size_t mark = ml_cg_memo_mark(g);
    ml_CgMemo *memo = g->memo;
    size_t cap = g->memo_cap, n = g->memo_n;
    ml_CgFn fn, *outer = g->fn;

    g->memo = NULL; /* what is emitted outside means nothing in here */
    g->memo_cap = g->memo_n = 0;
    ml_cg_attr(g, run, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
    ml_cg_attr(g, run, 1, "noalias", 0);
    ml_cg_fn_begin(g, &fn, run, f->base.span);
    fn.parallel = true;
    take(g, env, L(GetParam)(run, 0), c);
    for (unsigned k = 0; k < 3; k++)
        v[k] = scaled(g, f, L(GetParam)(run, k + 1));
    if (!ml_is_int(f->min, 0)) {
        LLVMValueRef min = ml_cg_index(g, f->min);
        v[0] = L(BuildAdd)(g->b, v[0], min, "");
        v[1] = L(BuildAdd)(g->b, v[1], min, "");
    }
    ml_cg_loop(g, f, v[0], v[1], v[2], true);
    ml_cg_exit(g, ml_cg_int(g, g->i32, 0, 0));
    if (!g->failed)
        ml_cg_fn_end(g);
    g->memo = NULL;
    g->trail.n = mark;
    g->memo = memo;
    g->memo_cap = cap;
    g->memo_n = n;
    *fails = fn.fails;
    g->fn = outer;
    L(PositionBuilderAtEnd)(g->b, here);
    ml_cg_line(g, f->base.span);
    return run;
}

/* ---------------------------------------------------------------- the call */

/* What hands out iterations: ml_ParallelRun's caller. */
static LLVMValueRef call(ml_Cg *g, LLVMValueRef *args)
{
    LLVMTypeRef types[5] = {g->ptr, g->ptr, g->i64, g->i32, g->i32};
    LLVMTypeRef type = L(FunctionType)(g->i32, types, 5, false);

    if (!g->o->standalone)
        return ml_cg_call_c(g, "ml_parallel", g->i32, types, args, 5, false);
    return L(BuildCall2)(g->b, type, ml_cg_parallel_alone(g, type), args, 5, "");
}

static void leave_on_failure(ml_Cg *g, LLVMValueRef status)
{
    LLVMBasicBlockRef bad = ml_cg_block(g, "failed"), ok = ml_cg_block(g, "all");
    LLVMValueRef c = L(BuildICmp)(g->b, LLVMIntNE, status, ml_cg_int(g, g->i32, 0, 0), "");

    L(BuildCondBr)(g->b, c, bad, ok);
    ml_cg_place(g, bad);
    ml_cg_exit(g, status);
    ml_cg_place(g, ok);
}

void ml_cg_parallel(ml_Cg *g, const ml_For *f)
{
    Capture c = {.g = g, .used = ml_map_new(g->cx), .defined = ml_map_new(g->cx)};
    const char *name =
        ml_format(g->cx, "%s_body.par%u", g->func->name, (unsigned)g->n_outlined++);
    int how = ml_code_annotated(f, "stride_pattern") ? ML_PARALLEL_STRIDED
              : ml_code_annotated(f, "uneven")       ? ML_PARALLEL_UNEVEN
                                                     : ML_PARALLEL_EVEN;
    LLVMValueRef args[5], e, status;
    LLVMTypeRef env;
    size_t mark;
    bool fails = false;

    e = ml_cg_index(g, f->extent);
    ml_cg_settle(g, UINT32_MAX);
    if (f->step && f->step->as.i != 1) { /* iterations */
        e = L(BuildAdd)(g->b, e, ml_cg_i64(g, f->step->as.i - 1), "");
        e = L(BuildSDiv)(g->b, e, ml_cg_i64(g, f->step->as.i), "");
    }
    mark = ml_cg_memo_mark(g);
    g->seen_exprs = ml_map_new(g->cx);
    use_expr(&c, f->min);
    ml_map_set(g->cx, c.defined, f->var->uid, f->var);
    ml_stmt_visit(f->body, see_definition, &c);
    ml_stmt_visit(f->body, see_use, &c);
    env = env_type(g, &c);
    args[0] = emit_run(g, f, &c, env, name, &fails);
    if (g->failed)
        return;
    args[1] = make_env(g, env, &c);
    args[2] = e;
    args[3] = ml_cg_int(g, g->i32, 0, (int64_t)g->o->threads);
    args[4] = ml_cg_int(g, g->i32, 0, how);
    status = call(g, args);
    if (fails)
        leave_on_failure(g, status);
    ml_cg_memo_release(g, mark);
}

/*
 * parallel - parallel loops: two functions and a call of OpenMP's runtime.
 *
 * NAME.parK.run(env, lo, hi, step) executes iterations; NAME.parK(env) is what every thread
 * enters and hands out iterations: contiguous chunks, or every n-th (loop annotation
 * stride_pattern = 1), or one at a time through a counter when there are fewer than four
 * for each thread or they are marked uneven. env is on the caller's stack. A failed
 * assertion ends its chunk; the others finish; the least number is returned. A parallel
 * loop inside another runs serially. Source: lowering-and-codegen 7.5.
 */
#include "moonloop/codegen/llvm/emit.h"

#include "moonloop/core/base/fault.h"

enum { STATUS, COUNTER, EXTENT, CONTROL, FIRST_CAPTURED };

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
    LLVMTypeRef *t = ML_ARRAY(g->cx, LLVMTypeRef, FIRST_CAPTURED + c->list.n);

    t[STATUS] = g->i32;
    t[COUNTER] = t[EXTENT] = g->i64;
    t[CONTROL] = g->i32;
    for (size_t k = 0; k < c->list.n; k++) {
        const Captured *x = &c->list.v[k];
        t[FIRST_CAPTURED + k] = x->pointer ? g->ptr : L(TypeOf)(x->var->v);
        if (x->var && t[FIRST_CAPTURED + k] == g->i1)
            t[FIRST_CAPTURED + k] = g->i8;
    }
    return L(StructTypeInContext)(g->lc, t, (unsigned)(FIRST_CAPTURED + c->list.n), false);
}

static LLVMValueRef field(ml_Cg *g, LLVMTypeRef env, LLVMValueRef p, unsigned k)
{
    return L(BuildStructGEP2)(g->b, env, p, k, "");
}

static LLVMValueRef get(ml_Cg *g, LLVMTypeRef env, LLVMValueRef p, unsigned k)
{
    return L(BuildLoad2)(g->b, L(StructGetTypeAtIndex)(env, k), field(g, env, p, k), "");
}

static void put(ml_Cg *g, LLVMTypeRef env, LLVMValueRef p, unsigned k, LLVMValueRef v)
{
    (void)L(BuildStore)(g->b, v, field(g, env, p, k));
}

static void fill(ml_Cg *g, LLVMTypeRef env, LLVMValueRef p, const Capture *c)
{
    for (size_t k = 0; k < c->list.n; k++) {
        const Captured *x = &c->list.v[k];
        LLVMValueRef v = x->pointer ? x->pointer->p : x->var->v;
        if (L(TypeOf)(v) == g->i1)
            v = L(BuildZExt)(g->b, v, g->i8, "");
        put(g, env, p, FIRST_CAPTURED + (unsigned)k, v);
    }
}

static void take(ml_Cg *g, LLVMTypeRef env, LLVMValueRef p, const Capture *c)
{
    for (size_t k = 0; k < c->list.n; k++) {
        const Captured *x = &c->list.v[k];
        LLVMValueRef v = get(g, env, p, FIRST_CAPTURED + (unsigned)k);
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

/* ---------------------------------------------------------------- the two functions */

static LLVMValueRef scaled(ml_Cg *g, const ml_For *f, LLVMValueRef v)
{
    return f->step && f->step->as.i != 1
               ? L(BuildMul)(g->b, v, ml_cg_i64(g, f->step->as.i), "")
               : v;
}

static LLVMValueRef emit_run(ml_Cg *g, const ml_For *f, const Capture *c, LLVMTypeRef env,
                             const char *name)
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
    g->fn = outer;
    L(PositionBuilderAtEnd)(g->b, here);
    ml_cg_line(g, f->base.span);
    return run;
}

static LLVMValueRef call_run(ml_Cg *g, LLVMValueRef run, LLVMValueRef env, LLVMValueRef lo,
                             LLVMValueRef hi, LLVMValueRef step)
{
    LLVMValueRef args[4] = {env, lo, hi, step};

    return L(BuildCall2)(g->b, L(GlobalGetValueType)(run), run, args, 4, "");
}

/* The least status of a chunk that failed stays in env. */
static void report(ml_Cg *g, LLVMTypeRef env, LLVMValueRef p, LLVMValueRef status)
{
    LLVMBasicBlockRef bad = ml_cg_block(g, "bad"), ok = ml_cg_block(g, "ok");
    LLVMValueRef c = L(BuildICmp)(g->b, LLVMIntNE, status, ml_cg_int(g, g->i32, 0, 0), "");

    L(BuildCondBr)(g->b, c, bad, ok);
    ml_cg_place(g, bad);
    (void)L(BuildAtomicRMW)(g->b, LLVMAtomicRMWBinOpMin, field(g, env, p, STATUS), status,
                            LLVMAtomicOrderingMonotonic, false);
    ml_cg_goto(g, ok);
    ml_cg_place(g, ok);
}

static LLVMValueRef omp(ml_Cg *g, const char *name)
{
    LLVMValueRef v = ml_cg_call_c(g, name, g->i32, NULL, NULL, 0, false);

    return L(BuildSExt)(g->b, v, g->i64, "");
}

/* The rounding and denormal modes of the caller, on machines where they are per thread. */
static void float_modes(ml_Cg *g, LLVMTypeRef env, LLVMValueRef p, bool load)
{
    LLVMValueRef at = field(g, env, p, CONTROL);

    if (g->ll->x86)
        (void)ml_cg_intrinsic(g, load ? "llvm.x86.sse.ldmxcsr" : "llvm.x86.sse.stmxcsr",
                              NULL, 0, &at, 1);
}

/* The fault: a chunk ends where the next one has begun. */
static LLVMValueRef overlap(ml_Cg *g, LLVMValueRef hi)
{
    return ML_FAULT(PARALLEL_CHUNKS) ? L(BuildAdd)(g->b, hi, ml_cg_i64(g, 1), "") : hi;
}

static LLVMValueRef emit_driver(ml_Cg *g, const ml_For *f, LLVMTypeRef env,
                                LLVMValueRef run, const char *name, bool uneven,
                                bool strided)
{
    LLVMTypeRef type = L(FunctionType)(g->none, &g->ptr, 1, false);
    LLVMValueRef driver = ml_cg_new_function(g, name, type, true), p, n, t, e, c, lo, hi;
    LLVMBasicBlockRef here = L(GetInsertBlock)(g->b), one, got, all, some, done;
    LLVMValueRef i1 = ml_cg_i64(g, 1);
    ml_CgFn fn, *outer = g->fn;

    ml_cg_fn_begin(g, &fn, driver, f->base.span);
    p = L(GetParam)(driver, 0);
    float_modes(g, env, p, true);
    one = ml_cg_block(g, "next");
    got = ml_cg_block(g, "got");
    all = ml_cg_block(g, "static");
    some = ml_cg_block(g, "chunk");
    done = ml_cg_block(g, "done");
    e = get(g, env, p, EXTENT);
    n = omp(g, "omp_get_num_threads");
    t = omp(g, "omp_get_thread_num");
    c = L(BuildICmp)(g->b, LLVMIntSGT, L(BuildMul)(g->b, n, ml_cg_i64(g, 4), ""), e, "");
    if (uneven)
        c = ml_cg_int(g, g->i1, 0, 1);
    if (strided)
        c = ml_cg_int(g, g->i1, 0, 0);
    L(BuildCondBr)(g->b, c, one, all);
    ml_cg_place(g, one);
    lo = L(BuildAtomicRMW)(g->b, LLVMAtomicRMWBinOpAdd, field(g, env, p, COUNTER), i1,
                           LLVMAtomicOrderingMonotonic, false);
    c = L(BuildICmp)(g->b, LLVMIntSLT, lo, e, "");
    L(BuildCondBr)(g->b, c, got, done);
    ml_cg_place(g, got);
    hi = L(BuildAdd)(g->b, lo, i1, "");
    if (ML_FAULT(PARALLEL_CHUNKS)) {
        hi = overlap(g, hi);
        c = L(BuildICmp)(g->b, LLVMIntSLT, hi, e, "");
        hi = L(BuildSelect)(g->b, c, hi, e, "");
    }
    report(g, env, p, call_run(g, run, p, lo, hi, i1));
    ml_cg_goto(g, one);
    ml_cg_place(g, all);
    if (strided) {
        lo = t;
        hi = e;
    } else {
        LLVMValueRef chunk = L(BuildAdd)(g->b, e, L(BuildSub)(g->b, n, i1, ""), "");
        chunk = L(BuildSDiv)(g->b, chunk, n, "");
        lo = L(BuildMul)(g->b, t, chunk, "");
        hi = L(BuildAdd)(g->b, lo, chunk, "");
        hi = overlap(g, hi);
        c = L(BuildICmp)(g->b, LLVMIntSLT, hi, e, "");
        hi = L(BuildSelect)(g->b, c, hi, e, "");
    }
    c = L(BuildICmp)(g->b, LLVMIntSLT, lo, hi, "");
    L(BuildCondBr)(g->b, c, some, done);
    ml_cg_place(g, some);
    report(g, env, p, call_run(g, run, p, lo, hi, strided ? n : i1));
    ml_cg_goto(g, done);
    ml_cg_place(g, done);
    L(BuildRetVoid)(g->b);
    ml_cg_fn_end(g);
    g->fn = outer;
    L(PositionBuilderAtEnd)(g->b, here);
    ml_cg_line(g, f->base.span);
    return driver;
}

/* ---------------------------------------------------------------- the caller */

static void enter(ml_Cg *g, LLVMTypeRef env, LLVMValueRef p, LLVMValueRef driver,
                  LLVMValueRef run, LLVMValueRef e)
{
    LLVMBasicBlockRef plain = ml_cg_block(g, "plain"), many = ml_cg_block(g, "many"),
                      end = ml_cg_block(g, "joined"), bad, ok, from[2];
    LLVMTypeRef types[4] = {g->ptr, g->ptr, g->i32, g->i32};
    LLVMValueRef args[4] = {driver, p, ml_cg_int(g, g->i32, 0, 0),
                            ml_cg_int(g, g->i32, 0, 0)};
    LLVMValueRef c, status[2], phi, limit = ml_cg_i64(g, g->o->threads);

    c = L(BuildICmp)(g->b, LLVMIntEQ, e, ml_cg_i64(g, 1), "");
    if (g->o->threads) { /* never more than there are iterations */
        LLVMValueRef few = L(BuildICmp)(g->b, LLVMIntSLT, e, limit, "");
        args[2] = L(BuildSelect)(g->b, few, e, limit, "");
        args[2] = L(BuildTrunc)(g->b, args[2], g->i32, "");
    }
    L(BuildCondBr)(g->b, c, plain, many);
    ml_cg_place(g, plain);
    status[0] = call_run(g, run, p, ml_cg_i64(g, 0), e, ml_cg_i64(g, 1));
    from[0] = L(GetInsertBlock)(g->b);
    ml_cg_goto(g, end);
    ml_cg_place(g, many);
    (void)ml_cg_call_c(g, "GOMP_parallel", g->none, types, args, 4, false);
    status[1] = get(g, env, p, STATUS);
    c = L(BuildICmp)(g->b, LLVMIntEQ, status[1], ml_cg_int(g, g->i32, 0, INT32_MAX), "");
    status[1] = L(BuildSelect)(g->b, c, ml_cg_int(g, g->i32, 0, 0), status[1], "");
    from[1] = L(GetInsertBlock)(g->b);
    ml_cg_goto(g, end);
    ml_cg_place(g, end);
    phi = L(BuildPhi)(g->b, g->i32, "status");
    L(AddIncoming)(phi, status, from, 2);
    bad = ml_cg_block(g, "failed");
    ok = ml_cg_block(g, "all");
    c = L(BuildICmp)(g->b, LLVMIntNE, phi, ml_cg_int(g, g->i32, 0, 0), "");
    L(BuildCondBr)(g->b, c, bad, ok);
    ml_cg_place(g, bad);
    ml_cg_exit(g, phi);
    ml_cg_place(g, ok);
}

void ml_cg_parallel(ml_Cg *g, const ml_For *f)
{
    Capture c = {.g = g, .used = ml_map_new(g->cx), .defined = ml_map_new(g->cx)};
    LLVMBasicBlockRef some = ml_cg_block(g, "some"), none = ml_cg_block(g, "none");
    const char *name =
        ml_format(g->cx, "%s_body.par%u", g->func->name, (unsigned)g->n_outlined++);
    LLVMValueRef e, p, run, driver, cond;
    LLVMTypeRef env;
    size_t mark = ml_cg_memo_mark(g);

    e = ml_cg_index(g, f->extent);
    ml_cg_memo_purge(g, mark);
    if (f->step && f->step->as.i != 1) { /* iterations */
        e = L(BuildAdd)(g->b, e, ml_cg_i64(g, f->step->as.i - 1), "");
        e = L(BuildSDiv)(g->b, e, ml_cg_i64(g, f->step->as.i), "");
    }
    cond = L(BuildICmp)(g->b, LLVMIntSGT, e, ml_cg_i64(g, 0), "");
    L(BuildCondBr)(g->b, cond, some, none);
    ml_cg_place(g, some);
    mark = ml_cg_memo_mark(g);
    g->seen_exprs = ml_map_new(g->cx);
    use_expr(&c, f->min);
    ml_map_set(g->cx, c.defined, f->var->uid, f->var);
    ml_stmt_visit(f->body, see_definition, &c);
    ml_stmt_visit(f->body, see_use, &c);
    env = env_type(g, &c);
    run = emit_run(g, f, &c, env, ml_format(g->cx, "%s.run", name));
    if (g->failed)
        return;
    driver = emit_driver(g, f, env, run, name, ml_cg_annotated(f, "uneven"),
                         ml_cg_annotated(f, "stride_pattern"));
    p = ml_cg_alloca(g, env, 64, "env");
    put(g, env, p, STATUS, ml_cg_int(g, g->i32, 0, INT32_MAX));
    put(g, env, p, COUNTER, ml_cg_i64(g, 0));
    put(g, env, p, EXTENT, e);
    float_modes(g, env, p, false);
    fill(g, env, p, &c);
    enter(g, env, p, driver, run, e);
    ml_cg_memo_release(g, mark);
    ml_cg_goto(g, none);
    ml_cg_place(g, none);
}

/*
 * parallel_alone - handing out iterations in kernels that are saved, which know nothing of
 * moonloop's runtime: what ml_parallel does, as code of the module.
 *
 * NAME.parallel(run, env, extent, threads, how) enters OpenMP's runtime with its state on
 * the stack; NAME.thread(state) is what every thread enters. Source: lowering-and-codegen
 * 7.5.
 */
#include "moonloop/codegen/llvm/emit.h"
#include "moonloop/codegen/runtime/runtime.h"

enum { STATUS, CONTROL, COUNTER, EXTENT, RUN, ENV, HOW, FIELDS };

typedef struct State {
    ml_Cg *g;
    LLVMTypeRef type;
    LLVMValueRef p;
} State;

static LLVMTypeRef state_type(ml_Cg *g)
{
    LLVMTypeRef t[FIELDS] = {
        [STATUS] = g->i32, [CONTROL] = g->i32, [COUNTER] = g->i64, [EXTENT] = g->i64,
        [RUN] = g->ptr,    [ENV] = g->ptr,     [HOW] = g->i32,
    };

    return L(StructTypeInContext)(g->lc, t, FIELDS, false);
}

static LLVMValueRef field(const State *s, unsigned k)
{
    ml_Cg *g = s->g;

    return L(BuildStructGEP2)(g->b, s->type, s->p, k, "");
}

static LLVMValueRef get(const State *s, unsigned k)
{
    ml_Cg *g = s->g;

    return L(BuildLoad2)(g->b, L(StructGetTypeAtIndex)(s->type, k), field(s, k), "");
}

static void put(const State *s, unsigned k, LLVMValueRef v)
{
    ml_Cg *g = s->g;

    (void)L(BuildStore)(g->b, v, field(s, k));
}

static LLVMValueRef call_run(ml_Cg *g, LLVMValueRef run, LLVMValueRef env, LLVMValueRef lo,
                             LLVMValueRef hi, LLVMValueRef step)
{
    LLVMTypeRef types[4] = {g->ptr, g->i64, g->i64, g->i64};
    LLVMTypeRef type = L(FunctionType)(g->i32, types, 4, false);
    LLVMValueRef args[4] = {env, lo, hi, step};

    return L(BuildCall2)(g->b, type, run, args, 4, "");
}

/* Runs a chunk; the least status of those that failed stays in the state. */
static void run_chunk(const State *s, LLVMValueRef lo, LLVMValueRef hi, LLVMValueRef step)
{
    ml_Cg *g = s->g;
    LLVMBasicBlockRef bad = ml_cg_block(g, "bad"), ok = ml_cg_block(g, "ok");
    LLVMValueRef status = call_run(g, get(s, RUN), get(s, ENV), lo, hi, step), c;

    c = L(BuildICmp)(g->b, LLVMIntNE, status, ml_cg_int(g, g->i32, 0, 0), "");
    L(BuildCondBr)(g->b, c, bad, ok);
    ml_cg_place(g, bad);
    (void)L(BuildAtomicRMW)(g->b, LLVMAtomicRMWBinOpMin, field(s, STATUS), status,
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
static void float_modes(const State *s, bool load)
{
    ml_Cg *g = s->g;
    LLVMValueRef at = field(s, CONTROL);

    if (g->ll->x86)
        (void)ml_cg_intrinsic(g, load ? "llvm.x86.sse.ldmxcsr" : "llvm.x86.sse.stmxcsr",
                              NULL, 0, &at, 1);
}

static LLVMValueRef is_how(const State *s, int how)
{
    ml_Cg *g = s->g;

    return L(BuildICmp)(g->b, LLVMIntEQ, get(s, HOW), ml_cg_int(g, g->i32, 0, how), "");
}

/* One iteration at a time, through the counter. */
static void emit_one_by_one(const State *s, LLVMValueRef e, LLVMBasicBlockRef done)
{
    ml_Cg *g = s->g;
    LLVMBasicBlockRef next = ml_cg_block(g, "next"), got = ml_cg_block(g, "got");
    LLVMValueRef i1 = ml_cg_i64(g, 1), lo, c;

    ml_cg_goto(g, next);
    ml_cg_place(g, next);
    lo = L(BuildAtomicRMW)(g->b, LLVMAtomicRMWBinOpAdd, field(s, COUNTER), i1,
                           LLVMAtomicOrderingMonotonic, false);
    c = L(BuildICmp)(g->b, LLVMIntSLT, lo, e, "");
    L(BuildCondBr)(g->b, c, got, done);
    ml_cg_place(g, got);
    run_chunk(s, lo, L(BuildAdd)(g->b, lo, i1, ""), i1);
    ml_cg_goto(g, next);
}

/* All at once: every n-th, or a contiguous chunk. */
static void emit_at_once(const State *s, LLVMValueRef e, LLVMValueRef n, LLVMValueRef t,
                         LLVMValueRef strided, LLVMBasicBlockRef done)
{
    ml_Cg *g = s->g;
    LLVMBasicBlockRef some = ml_cg_block(g, "chunk");
    LLVMValueRef i1 = ml_cg_i64(g, 1), chunk, lo, hi, c;

    chunk = L(BuildAdd)(g->b, e, L(BuildSub)(g->b, n, i1, ""), "");
    chunk = L(BuildSDiv)(g->b, chunk, n, "");
    lo = L(BuildMul)(g->b, t, chunk, "");
    hi = L(BuildAdd)(g->b, lo, chunk, "");
    c = L(BuildICmp)(g->b, LLVMIntSLT, hi, e, "");
    hi = L(BuildSelect)(g->b, c, hi, e, "");
    lo = L(BuildSelect)(g->b, strided, t, lo, "");
    hi = L(BuildSelect)(g->b, strided, e, hi, "");
    c = L(BuildICmp)(g->b, LLVMIntSLT, lo, hi, "");
    L(BuildCondBr)(g->b, c, some, done);
    ml_cg_place(g, some);
    run_chunk(s, lo, hi, L(BuildSelect)(g->b, strided, n, i1, ""));
    ml_cg_goto(g, done);
}

/* Whether threads would have different numbers of iterations. */
static LLVMValueRef does_not_come_out(ml_Cg *g, LLVMValueRef extent, LLVMValueRef threads)
{
    return L(BuildICmp)(g->b, LLVMIntNE, L(BuildSRem)(g->b, extent, threads, ""),
                        ml_cg_i64(g, 0), "");
}

static LLVMValueRef emit_thread(ml_Cg *g, const char *name)
{
    LLVMTypeRef type = L(FunctionType)(g->none, &g->ptr, 1, false);
    LLVMValueRef f = ml_cg_new_function(g, name, type, true), e, n, t, c, strided;
    LLVMBasicBlockRef all, some, done;
    State s = {g, state_type(g), L(GetParam)(f, 0)};
    ml_CgFn fn;

    ml_cg_fn_begin(g, &fn, f, NULL);
    float_modes(&s, true);
    e = get(&s, EXTENT);
    n = omp(g, "omp_get_num_threads");
    t = omp(g, "omp_get_thread_num");
    strided = is_how(&s, ML_PARALLEL_STRIDED);
    c = L(BuildICmp)(g->b, LLVMIntSGT, L(BuildMul)(g->b, n, ml_cg_i64(g, 4), ""), e, "");
    c = L(BuildAnd)(g->b, c, does_not_come_out(g, e, n), "");
    c = L(BuildOr)(g->b, c, is_how(&s, ML_PARALLEL_UNEVEN), "");
    c = L(BuildAnd)(g->b, c, L(BuildNot)(g->b, strided, ""), "");
    some = ml_cg_block(g, "some");
    all = ml_cg_block(g, "all");
    done = ml_cg_block(g, "done");
    L(BuildCondBr)(g->b, c, some, all);
    ml_cg_place(g, some);
    emit_one_by_one(&s, e, done);
    ml_cg_place(g, all);
    emit_at_once(&s, e, n, t, strided, done);
    ml_cg_place(g, done);
    L(BuildRetVoid)(g->b);
    ml_cg_fn_end(g);
    return f;
}

/* One iteration runs here; none is no call. */
static void emit_caller(ml_Cg *g, LLVMValueRef f, LLVMValueRef thread)
{
    LLVMValueRef run = L(GetParam)(f, 0), env = L(GetParam)(f, 1), e = L(GetParam)(f, 2);
    LLVMValueRef i1 = ml_cg_i64(g, 1), i0 = ml_cg_i64(g, 0), zero, args[4], c, v;
    LLVMTypeRef types[4] = {g->ptr, g->ptr, g->i32, g->i32};
    LLVMBasicBlockRef some, one, many;
    State s = {g, state_type(g), NULL};
    ml_CgFn fn;

    ml_cg_fn_begin(g, &fn, f, NULL);
    zero = ml_cg_int(g, g->i32, 0, 0);
    some = ml_cg_block(g, "some");
    one = ml_cg_block(g, "one");
    many = ml_cg_block(g, "many");
    c = L(BuildICmp)(g->b, LLVMIntSGT, e, i1, "");
    L(BuildCondBr)(g->b, c, many, some);
    ml_cg_place(g, some);
    c = L(BuildICmp)(g->b, LLVMIntEQ, e, i1, "");
    some = ml_cg_block(g, "none");
    L(BuildCondBr)(g->b, c, one, some);
    ml_cg_place(g, one);
    L(BuildRet)(g->b, call_run(g, run, env, i0, i1, i1));
    ml_cg_place(g, some);
    L(BuildRet)(g->b, zero);
    ml_cg_place(g, many);
    s.p = ml_cg_alloca(g, s.type, 64, "state");
    put(&s, STATUS, ml_cg_int(g, g->i32, 0, INT32_MAX));
    put(&s, COUNTER, i0);
    put(&s, EXTENT, e);
    put(&s, RUN, run);
    put(&s, ENV, env);
    put(&s, HOW, L(GetParam)(f, 4));
    float_modes(&s, false);
    v = L(BuildSExt)(g->b, L(GetParam)(f, 3), g->i64, ""); /* never more threads than */
    c = L(BuildICmp)(g->b, LLVMIntSLT, e, v, "");          /* iterations */
    v = L(BuildTrunc)(g->b, L(BuildSelect)(g->b, c, e, v, ""), g->i32, "");
    args[0] = thread;
    args[1] = s.p;
    args[2] = v;
    args[3] = zero;
    (void)ml_cg_call_c(g, "GOMP_parallel", g->none, types, args, 4, false);
    v = get(&s, STATUS);
    c = L(BuildICmp)(g->b, LLVMIntEQ, v, ml_cg_int(g, g->i32, 0, INT32_MAX), "");
    L(BuildRet)(g->b, L(BuildSelect)(g->b, c, zero, v, ""));
    ml_cg_fn_end(g);
}

LLVMValueRef ml_cg_parallel_alone(ml_Cg *g, LLVMTypeRef type)
{
    const char *name = ml_format(g->cx, "%s_body.parallel", g->func->name);
    LLVMBasicBlockRef here = L(GetInsertBlock)(g->b);
    LLVMValueRef f = L(GetNamedFunction)(g->m, name), thread;
    ml_CgFn *outer = g->fn;

    if (f)
        return f;
    thread = emit_thread(g, ml_format(g->cx, "%s_body.thread", g->func->name));
    f = ml_cg_new_function(g, name, type, true);
    ml_cg_attr(g, f, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
    emit_caller(g, f, thread);
    g->fn = outer;
    L(PositionBuilderAtEnd)(g->b, here);
    ml_cg_line(g, g->stmt ? g->stmt->span : NULL);
    return f;
}

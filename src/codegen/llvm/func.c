/*
 * func - functions: attributes, parameters, alias scopes, the wrapper that takes words,
 * debug scopes.
 *
 * NAME_body takes the parameters of the function: a pointer for a buffer or handle, the
 * number for a scalar (bool as int8, float16 and bfloat16 as float). Buffers do not overlap
 * (each has its alias scope) unless the function's attribute tir.noalias is false.
 * Source: lowering-and-codegen 5.2, 7.3.
 */
#include "moonloop/codegen/llvm/emit.h"
#include "moonloop/codegen/runtime/runtime.h"

enum { MAX_SCOPES = 200 };

#define AT_FUNCTION ((unsigned)LLVMAttributeFunctionIndex)

void ml_cg_attr(ml_Cg *g, LLVMValueRef f, unsigned at, const char *name, uint64_t value)
{
    unsigned kind = L(GetEnumAttributeKindForName)(name, strlen(name));

    ML_ASSERT(kind != 0);
    L(AddAttributeAtIndex)(f, at, L(CreateEnumAttribute)(g->lc, kind, value));
}

static void text_attr(ml_Cg *g, LLVMValueRef f, const char *key, const char *value)
{
    L(AddAttributeAtIndex)
    (f, AT_FUNCTION,
     L(CreateStringAttribute)(g->lc, key, (unsigned)strlen(key), value,
                              (unsigned)strlen(value)));
}

LLVMValueRef ml_cg_new_function(ml_Cg *g, const char *name, LLVMTypeRef type, bool internal)
{
    LLVMValueRef f = L(AddFunction)(g->m, name, type);
    const char *width = ml_format(g->cx, "%u", (unsigned)g->ll->target.vector_bits);

    if (internal)
        L(SetLinkage)(f, LLVMInternalLinkage);
    ml_cg_attr(g, f, AT_FUNCTION, "nounwind", 0);
    text_attr(g, f, "target-cpu", g->ll->cpu);
    text_attr(g, f, "target-features", g->ll->features);
    text_attr(g, f, "no-trapping-math", "true");
    text_attr(g, f, "frame-pointer", "none");
    text_attr(g, f, "prefer-vector-width", width);
    text_attr(g, f, "min-legal-vector-width", width);
    return f;
}

/* ---------------------------------------------------------------- debug lines */

static LLVMMetadataRef subprogram(ml_Cg *g, LLVMValueRef f, const ml_Span *span)
{
    LLVMMetadataRef type =
        L(DIBuilderCreateSubroutineType)(g->di, g->di_file, NULL, 0, LLVMDIFlagZero);
    unsigned line = span ? span->line : 1;
    size_t n;
    const char *name = L(GetValueName2)(f, &n);
    LLVMMetadataRef sp = L(DIBuilderCreateFunction)(
        g->di, g->di_file, name, n, name, n, g->di_file, line, type,
        L(GetLinkage)(f) == LLVMInternalLinkage, true, line, LLVMDIFlagZero, true);

    L(SetSubprogram)(f, sp);
    return sp;
}

void ml_cg_line(ml_Cg *g, const ml_Span *span)
{
    if (g->di && g->fn->scope && span)
        L(SetCurrentDebugLocation2)
    (g->b,
     L(DIBuilderCreateDebugLocation)(g->lc, span->line, span->col, g->fn->scope, NULL));
}

void ml_cg_fn_begin(ml_Cg *g, ml_CgFn *fn, LLVMValueRef f, const ml_Span *span)
{
    static const ml_Span nowhere = {
        .file = "", .line = 1, .col = 1, .end_line = 1, .end_col = 1};

    *fn = (ml_CgFn){.fn = f, .vars = ml_map_new(g->cx), .pointers = ml_map_new(g->cx)};
    g->fn = fn;
    g->held.n = 0;
    if (g->di)
        fn->scope = subprogram(g, f, span);
    fn->entry = ml_cg_block(g, "entry");
    L(PositionBuilderAtEnd)(g->b, ml_cg_block(g, "start"));
    L(SetCurrentDebugLocation2)(g->b, NULL);
    ml_cg_line(g, span ? span : &nowhere);
}

void ml_cg_fn_end(ml_Cg *g)
{
    LLVMBasicBlockRef start = L(GetNextBasicBlock)(g->fn->entry);

    L(PositionBuilderAtEnd)(g->b, g->fn->entry);
    L(BuildBr)(g->b, start);
}

/* ---------------------------------------------------------------- what the body uses */

typedef struct Seen { /* of one data pointer */
    int64_t bytes;    /* the largest constant size over it */
    uint32_t align;   /* the smallest alignment declared */
    uint32_t lane;    /* bytes of the smallest lane */
    bool written, any;
} Seen;

typedef struct Scan {
    ml_Cg *g;
    ml_Map *seen; /* data uid -> Seen */
    bool calls;   /* others may see the pointers */
} Scan;

static Seen *seen_of(Scan *sc, const ml_Var *data)
{
    const Seen *have = ml_map_get(sc->seen, data->uid);
    Seen *s;

    if (have)
        return (Seen *)(uintptr_t)have;
    s = ML_NEW(sc->g->cx, Seen);
    ml_map_set(sc->g->cx, sc->seen, data->uid, s);
    return s;
}

static void see_buffer(Scan *sc, const ml_Buffer *b, bool written)
{
    Seen *s = seen_of(sc, b->data);
    int64_t n = ml_buffer_const_size(b), bytes = 0;
    uint32_t align = b->align;

    if (!ml_is_int(b->elem_offset, 0) && !ml_map_has(sc->g->views, b->uid)) {
        /* The pointer is to element 0, not to what the alignment is said of. */
        uint64_t step = (uint64_t)b->offset_factor * ml_lane_bytes(b->type);
        while (align > 1 && step % align)
            align /= 2;
    }
    if (n < 0 || b->n_strides ||
        __builtin_mul_overflow(n, (int64_t)ml_lane_bytes(b->type) * b->type.lanes, &bytes))
        bytes = 0;
    s->bytes = bytes > s->bytes ? bytes : s->bytes;
    s->align = !s->any || align < s->align ? align : s->align;
    if (!s->any || ml_lane_bytes(b->type) < s->lane)
        s->lane = (uint32_t)ml_lane_bytes(b->type);
    s->any = true;
    s->written = s->written || written;
}

static void see_expr(const ml_Expr *e, Scan *sc)
{
    if (!(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)))
        return;
    if (e->kind == ML_EXPR_LOAD)
        see_buffer(sc, e->as.buffer, false);
    if (e->kind == ML_EXPR_CALL && e->as.op->effect >= ML_EFFECT_READ)
        sc->calls = true;
    if (e->kind == ML_EXPR_CALL && e->as.op->id >= ML_OP_CALL_EXTERN)
        sc->calls = true;
    if (e->size > 4096) { /* shared graphs: each node once is enough, but costs a map */
        sc->calls = true;
        return;
    }
    for (size_t k = 0; k < e->n_args; k++)
        see_expr(e->args[k], sc);
}

static void see_role(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    see_expr(e, user);
}

static void add_root(ml_Cg *g, const ml_Var *data)
{
    if (!ml_map_has(g->roots, data->uid))
        ml_map_set(g->cx, g->roots, data->uid, (const void *)(uintptr_t)++g->n_roots);
}

/* A pointer made from another belongs to its memory; from anything else to nobody's. */
static void derive_root(ml_Cg *g, const ml_Var *to, const ml_Expr *from)
{
    const ml_Var *v = NULL;

    if (from->kind == ML_EXPR_VAR)
        v = from->as.var;
    else if (ml_is_op(from, ML_OP_ADDRESS_OF) && from->n_args == 1 &&
             from->args[0]->kind == ML_EXPR_LOAD)
        v = from->args[0]->as.buffer->data;
    else if (ml_is_op(from, ML_OP_ACCESS_PTR) && from->n_args == 5 &&
             from->args[1]->kind == ML_EXPR_VAR)
        v = from->args[1]->as.var;
    if (v && v->uid != to->uid && ml_map_has(g->roots, v->uid))
        ml_map_set(g->cx, g->roots, to->uid, ml_map_get(g->roots, v->uid));
}

static bool see_stmt(const ml_Stmt *s, void *user)
{
    Scan *sc = user;

    if (s->kind == ML_STMT_STORE)
        see_buffer(sc, ml_as_store(s)->buffer, true);
    if (s->kind == ML_STMT_ALLOC || (s->kind == ML_STMT_DECL && !ml_as_alloc(s)->data))
        add_root(sc->g, ml_as_alloc(s)->buffer->data);
    else if (s->kind == ML_STMT_DECL) {
        ml_map_set(sc->g->cx, sc->g->views, ml_as_alloc(s)->buffer->uid,
                   ml_as_alloc(s)->buffer);
        derive_root(sc->g, ml_as_alloc(s)->buffer->data, ml_as_alloc(s)->data);
        see_buffer(sc, ml_as_alloc(s)->buffer, false);
    }
    if (s->kind == ML_STMT_BIND && ml_as_bind(s)->value->type.code == ML_HANDLE)
        derive_root(sc->g, ml_as_bind(s)->var, ml_as_bind(s)->value);
    ml_stmt_exprs(s, see_role, sc);
    return true;
}

/* One scope for each buffer of the function, in a domain of its own. */
static void make_scopes(ml_Cg *g)
{
    LLVMMetadataRef t = L(TemporaryMDNode)(g->lc, NULL, 0), domain, *others;

    if (g->n_roots > MAX_SCOPES) /* the lists grow with the square */
        g->n_roots = 0;
    g->scopes = ML_ARRAY(g->cx, LLVMMetadataRef, g->n_roots + 1);
    g->scope_list = ML_ARRAY(g->cx, LLVMValueRef, g->n_roots + 1);
    g->noalias_list = ML_ARRAY(g->cx, LLVMValueRef, g->n_roots + 1);
    others = ML_ARRAY(g->cx, LLVMMetadataRef, g->n_roots + 1);
    domain = L(MDNodeInContext2)(g->lc, &t, 1);
    L(MetadataReplaceAllUsesWith)(t, domain);
    for (uint32_t k = 0; k < g->n_roots; k++) {
        LLVMMetadataRef ops[2] = {L(TemporaryMDNode)(g->lc, NULL, 0), domain};
        LLVMMetadataRef self = ops[0];
        g->scopes[k] = L(MDNodeInContext2)(g->lc, ops, 2);
        L(MetadataReplaceAllUsesWith)(self, g->scopes[k]);
        g->scope_list[k] =
            L(MetadataAsValue)(g->lc, L(MDNodeInContext2)(g->lc, &g->scopes[k], 1));
    }
    for (uint32_t k = 0; k < g->n_roots; k++) {
        size_t n = 0;
        for (uint32_t j = 0; j < g->n_roots; j++)
            if (j != k)
                others[n++] = g->scopes[j];
        g->noalias_list[k] =
            L(MetadataAsValue)(g->lc, L(MDNodeInContext2)(g->lc, others, n));
    }
}

/* ---------------------------------------------------------------- parameters */

static LLVMTypeRef param_type(ml_Cg *g, const ml_FuncParam *p)
{
    if (p->buffer || p->var->type.code == ML_HANDLE)
        return g->ptr;
    if (p->var->type.lanes != 1)
        ml_cg_unsupported(g, "a parameter that is a vector");
    return p->var->type.code == ML_BOOL ? g->i8 : ml_cg_type(g, p->var->type, 0);
}

static void pointer_param(ml_Cg *g, Scan *sc, LLVMValueRef f, unsigned k, bool noalias)
{
    const ml_FuncParam *p = &g->func->params[k];
    const ml_Var *data = p->buffer ? p->buffer->data : p->var;
    const Seen *s = ml_map_get(sc->seen, data->uid);
    ml_CgPointer *q = ML_NEW(g->cx, ml_CgPointer);
    uint32_t root = (uint32_t)(uintptr_t)ml_map_get(g->roots, data->uid) - 1;

    *q = (ml_CgPointer){L(GetParam)(f, k), root, s && s->any ? s->align : 1};
    if (s && s->any && (g->o->unaligned || q->align < s->lane))
        q->align = s->lane;
    ml_map_set(g->cx, g->fn->pointers, data->uid, q);
    ml_map_set(g->cx, g->fn->pointers, p->var->uid, q);
    if (noalias)
        ml_cg_attr(g, f, k + 1, "noalias", 0);
    if (!sc->calls) {
        ml_cg_attr(g, f, k + 1, "nocapture", 0);
        if (s && !s->written)
            ml_cg_attr(g, f, k + 1, "readonly", 0);
    }
    if (q->align > 1)
        ml_cg_attr(g, f, k + 1, "align", q->align);
    if (s && s->bytes > 0)
        ml_cg_attr(g, f, k + 1, "dereferenceable", (uint64_t)s->bytes);
}

static void scalar_param(ml_Cg *g, const ml_Var *v, LLVMValueRef p)
{
    if (v->type.code == ML_BOOL)
        p = L(BuildICmp)(g->b, LLVMIntNE, p, ml_cg_int(g, g->i8, 0, 0), "");
    else if (ml_dtype_is_index(v->type)) {
        if (v->type.bits < 64)
            p = L(BuildSExt)(g->b, p, g->i64, "");
        ml_cg_set_var(g, v, p, true);
        return;
    }
    ml_cg_set_var(g, v, p, false);
}

static void wrapper(ml_Cg *g, LLVMValueRef body, LLVMTypeRef type, LLVMTypeRef *types)
{
    const ml_Func *f = g->func;
    LLVMTypeRef outer = L(FunctionType)(g->i32, &g->ptr, 1, false);
    LLVMValueRef w =
        ml_cg_new_function(g, ml_format(g->cx, "%s_call", f->name), outer, false);
    LLVMValueRef *args = ML_ARRAY(g->cx, LLVMValueRef, f->n_params + 1), r;
    ml_CgFn fn;

    /* nothing can be made better here, and most passes then pass it by */
    ml_cg_attr(g, w, AT_FUNCTION, "noinline", 0);
    ml_cg_attr(g, w, AT_FUNCTION, "optnone", 0);
    ml_cg_fn_begin(g, &fn, w, f->span);
    for (uint32_t k = 0; k < f->n_params; k++) {
        LLVMValueRef at = ml_cg_i64(g, k);
        LLVMTypeRef t = types[k];
        LLVMTypeKind kind = L(GetTypeKind)(t);
        bool is_float = kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
        LLVMTypeRef word = kind == LLVMPointerTypeKind ? g->ptr
                           : is_float                  ? g->f64
                                                       : g->i64;
        at = L(BuildInBoundsGEP2)(g->b, g->i64, L(GetParam)(w, 0), &at, 1, "");
        args[k] = L(BuildLoad2)(g->b, word, at, "");
        if (is_float && t != g->f64)
            args[k] = L(BuildFPTrunc)(g->b, args[k], t, "");
        else if (word == g->i64 && t != g->i64)
            args[k] = L(BuildTrunc)(g->b, args[k], t, "");
    }
    r = L(BuildCall2)(g->b, type, body, args, f->n_params, "");
    L(BuildRet)(g->b, r);
    ml_cg_fn_end(g);
}

void ml_cg_function(ml_Cg *g, const ml_Func *f)
{
    LLVMTypeRef *types = ML_ARRAY(g->cx, LLVMTypeRef, f->n_params + 1), type;
    bool noalias = ml_func_noalias(f);
    Scan sc = {.g = g, .seen = ml_map_new(g->cx)};
    LLVMValueRef body;
    ml_CgFn fn;

    g->func = f;
    g->roots = ml_map_new(g->cx);
    g->views = ml_map_new(g->cx);
    g->depth = ml_map_new(g->cx);
    g->n_roots = 0;
    g->asserts.n = 0;
    g->n_outlined = 0;
    for (uint32_t k = 0; k < f->n_params; k++)
        types[k] = param_type(g, &f->params[k]);
    if (g->failed)
        return;
    if (noalias)
        for (uint32_t k = 0; k < f->n_params; k++)
            if (types[k] == g->ptr)
                add_root(g, f->params[k].buffer ? f->params[k].buffer->data
                                                : f->params[k].var);
    ml_stmt_visit(f->body, see_stmt, &sc);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            see_buffer(&sc, f->params[k].buffer, false);
    make_scopes(g);
    g->ar = ml_arith_new(g->cx);
    ml_arith_bind_params(g->ar, f);

    type = L(FunctionType)(g->i32, types, f->n_params, false);
    body = ml_cg_new_function(g, ml_format(g->cx, "%s_body", f->name), type, false);
    ml_cg_fn_begin(g, &fn, body, f->span);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Var *v = f->params[k].var;
        LLVMValueRef p = L(GetParam)(body, k);
        if (v->hint)
            L(SetValueName2)(p, v->hint, strlen(v->hint));
        if (types[k] == g->ptr)
            pointer_param(g, &sc, body, k, noalias);
        else
            scalar_param(g, v, p);
    }
    ml_cg_scope(g, f->body);
    ml_cg_exit(g, ml_cg_int(g, g->i32, 0, 0));
    ml_cg_memo_release(g, 0);
    if (g->failed)
        return;
    ml_cg_fn_end(g);
    wrapper(g, body, type, types);
}

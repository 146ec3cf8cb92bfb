/*
 * random_ir - a generator of well-formed functions for tests that compare two ways of doing
 * the same thing.
 *
 * Every variable and buffer is used inside the scope of its definition only, a block with
 * iterators sees no variables from outside but those of outer blocks and parameters, and
 * dtypes agree. Indices may leave their buffers: nothing here is meant to be executed.
 */
#include "random_ir.h"

#include "moonloop/core/vec.h"

#include <math.h>

enum { MAX_SEEN = 48, MAX_DEPTH = 5 };

typedef struct Gen {
    ml_Ctx *cx;
    const RandomIr *how;
    uint64_t state;
    const ml_Var *vars[MAX_SEEN];
    size_t n_vars;
    size_t first_var; /* variables before it are hidden by a block */
    size_t n_global;  /* but these, parameters, are always seen */
    const ml_Buffer *buffers[MAX_SEEN];
    size_t n_buffers;
    /* loops around with their bounds, for plain bindings */
    struct {
        const ml_Var *var;
        const ml_Expr *min, *extent;
    } around[MAX_SEEN];
    size_t n_around;
    int budget;
    bool in_loop; /* a loop of this function, for break */
    const ml_Var *threads[4];
    bool launched[4];
} Gen;

static uint64_t next(Gen *g)
{
    uint64_t z = (g->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static unsigned below(Gen *g, unsigned n)
{
    return (unsigned)(next(g) % n);
}

static bool chance(Gen *g, unsigned percent)
{
    return below(g, 100) < percent;
}

/* ---- dtypes */
static ml_Dtype random_dtype(Gen *g)
{
    static const ml_Dtype COMMON[] = {{ML_FLOAT, 32, 1}, {ML_INT, 32, 1}, {ML_FLOAT, 16, 1},
                                      {ML_INT, 64, 1},   {ML_INT, 8, 1},  {ML_FLOAT, 64, 1},
                                      {ML_UINT, 8, 1},   {ML_BOOL, 1, 1}};
    static const ml_Dtype RARE[] = {
        {ML_UINT, 32, 1},     {ML_UINT, 64, 1},    {ML_INT, 16, 1},      {ML_UINT, 16, 1},
        {ML_BFLOAT, 16, 1},   {ML_INT, 4, 1},      {ML_F8_E4M3FN, 8, 1}, {ML_F8_E5M2, 8, 1},
        {ML_F6_E2M3FN, 6, 1}, {ML_F4_E2M1FN, 4, 1}};
    if (g->how->index_only)
        return COMMON[below(g, 4) == 2 ? 0 : below(g, 2)];
    return chance(g, 85) ? COMMON[below(g, ML_COUNT(COMMON))]
                         : RARE[below(g, ML_COUNT(RARE))];
}

/* ---- expressions */
static const ml_Expr *gen(Gen *g, ml_Dtype t, unsigned depth);

static const ml_Expr *literal(Gen *g, ml_Dtype t)
{
    if (ml_dtype_is_bool(t))
        return ml_int(g->cx, t, (int64_t)below(g, 2));
    if (ml_dtype_is_float(t)) {
        static const double VALUES[] = {0.0,   1.0, -1.0, 0.5,  2.0,
                                        -0.25, 3.0, 0.1,  1e-5, 1e10};
        double v = VALUES[below(g, ML_COUNT(VALUES))];
        if (t.bits >= 32 && chance(g, 4))
            v = chance(g, 50) ? HUGE_VAL : chance(g, 50) ? -HUGE_VAL : (double)NAN;
        if (t.bits < 32 && fabs(v) > 4.0)
            v = 1.5;
        return ml_float(g->cx, t, ml_dtype_round(t, v));
    }
    static const int64_t INTS[] = {0, 1, 2, 3, 4, 5, 7, 0, 1, 6};
    int64_t v = INTS[below(g, ML_COUNT(INTS))];
    if (t.code == ML_INT && chance(g, 25))
        v = -v;
    if (chance(g, 4))
        v = chance(g, 50) ? ml_dtype_max(t) : ml_dtype_min(t);
    return ml_int(g->cx, t, v);
}

static const ml_Expr *variable(Gen *g, ml_Dtype t)
{
    const ml_Var *fit[MAX_SEEN];
    size_t n = 0;
    for (size_t k = 0; k < g->n_vars; k++)
        if ((k < g->n_global || k >= g->first_var) && ml_dtype_eq(g->vars[k]->type, t))
            fit[n++] = g->vars[k];
    return n ? ml_var(g->cx, fit[below(g, (unsigned)n)]) : NULL;
}

static const ml_Expr *index_of(Gen *g, ml_Dtype t, unsigned depth)
{
    const ml_Expr *v = chance(g, 60) ? variable(g, t) : NULL;
    return v ? v : gen(g, t, depth > 1 ? 1 : depth);
}

static const ml_Buffer *buffer_of(Gen *g, ml_Dtype t)
{
    const ml_Buffer *fit[MAX_SEEN];
    size_t n = 0;
    for (size_t k = 0; k < g->n_buffers; k++)
        if (ml_dtype_eq(g->buffers[k]->type, t))
            fit[n++] = g->buffers[k];
    return n ? fit[below(g, (unsigned)n)] : NULL;
}

static const ml_Expr *load(Gen *g, ml_Dtype t, unsigned depth)
{
    const ml_Buffer *b = buffer_of(g, t);
    const ml_Expr *idx[8];
    if (!b)
        return NULL;
    for (size_t k = 0; k < b->rank; k++)
        idx[k] = b->is_scalar && chance(g, 90) ? ml_i32(g->cx, 0)
                                               : index_of(g, b->shape[k]->type, depth);
    return ml_load(g->cx, b, idx, b->rank);
}

static const ml_Expr *leaf(Gen *g, ml_Dtype t, unsigned depth)
{
    const ml_Expr *e = NULL;
    if (chance(g, 40))
        e = variable(g, t);
    if (!e && depth > 0 && chance(g, 50))
        e = load(g, t, depth - 1);
    return e ? e : literal(g, t);
}

static const ml_Expr *arith(Gen *g, ml_Dtype t, unsigned depth)
{
    static const ml_ExprKind KINDS[] = {
        ML_EXPR_ADD, ML_EXPR_SUB, ML_EXPR_MUL,      ML_EXPR_MIN,      ML_EXPR_MAX,
        ML_EXPR_DIV, ML_EXPR_MOD, ML_EXPR_FLOORDIV, ML_EXPR_FLOORMOD,
    };
    ml_ExprKind kind = KINDS[below(g, ml_dtype_is_int(t) ? 9 : 6)];
    const ml_Expr *a = gen(g, t, depth - 1), *b = gen(g, t, depth - 1);
    bool division = kind >= ML_EXPR_DIV && kind <= ML_EXPR_FLOORMOD;
    if (division && (b->kind == ML_EXPR_INT || b->kind == ML_EXPR_FLOAT))
        b = ml_const(g->cx, t, (double)(1 + below(g, 3)));
    return chance(g, 30) ? ml_raw_binary(g->cx, kind, a, b) : ml_binary(g->cx, kind, a, b);
}

static const ml_Expr *call(Gen *g, ml_Dtype t, unsigned depth)
{
    static const ml_OpId UNARY[] = {ML_OP_EXP,   ML_OP_SQRT,  ML_OP_TANH,
                                    ML_OP_FABS,  ML_OP_FLOOR, ML_OP_CEIL,
                                    ML_OP_TRUNC, ML_OP_ROUND, ML_OP_SIN};
    static const ml_OpId BINARY[] = {ML_OP_POW, ML_OP_ATAN2, ML_OP_FMOD, ML_OP_COPYSIGN};
    static const ml_OpId BITS[] = {ML_OP_BITWISE_AND, ML_OP_BITWISE_OR, ML_OP_BITWISE_XOR,
                                   ML_OP_SHIFT_LEFT, ML_OP_SHIFT_RIGHT};
    const ml_Expr *args[4];
    unsigned pick = below(g, 10);

    args[0] = gen(g, t, depth - 1);
    args[1] = gen(g, t, depth - 1);
    if (pick < 3) {
        args[2] = args[1];
        args[1] = args[0];
        args[0] = gen(g, ML_DT_BOOL, depth - 1);
        return ml_call_id(g->cx, t, ML_OP_IF_THEN_ELSE, args, 3);
    }
    if (pick == 9 && !g->how->index_only) {
        args[0] = ml_string(g->cx, ml_str(chance(g, 50) ? "f" : "odd \"name\"\n"));
        ml_OpId id = chance(g, 50) ? ML_OP_CALL_EXTERN : ML_OP_CALL_PURE_EXTERN;
        return ml_call_id(g->cx, t, id, args, 2);
    }
    if (pick == 8 && !g->how->index_only) { /* with the right arguments only by chance */
        static const char *const NAMES[] = {
            "some.opaque",    "tvm_mma_sync",     "tvm_tuple",     "vectorlow",
            "vectorcombine",  "tvm_struct_get",   "ptx.mma",       "ptx_commit_group",
            "isnullptr",      "tvm_warp_shuffle", "vscale",        "tvm_stack_make_shape",
            "ptx_legacy.bar", "lookup_param",     "tvm_struct_set"};

        args[2] = args[0];
        args[3] = args[1];
        return ml_call(g->cx, t,
                       ml_op_intern(g->cx, ml_str(NAMES[below(g, ML_COUNT(NAMES))])), args,
                       below(g, 5));
    }
    if (ml_dtype_is_float(t) && pick < 7)
        return ml_call_id(g->cx, t, UNARY[below(g, ML_COUNT(UNARY))], args, 1);
    if (ml_dtype_is_float(t))
        return ml_call_id(g->cx, t, BINARY[below(g, ML_COUNT(BINARY))], args, 2);
    if (ml_dtype_is_int(t) && pick == 7)
        return ml_call_id(g->cx, t, chance(g, 50) ? ML_OP_POPCOUNT : ML_OP_BITWISE_NOT,
                          args, 1);
    if (ml_dtype_is_int(t)) {
        ml_OpId id = BITS[below(g, ML_COUNT(BITS))];
        if (id == ML_OP_SHIFT_LEFT || id == ML_OP_SHIFT_RIGHT)
            args[1] = ml_int(g->cx, t, (int64_t)below(g, t.bits));
        return ml_call_id(g->cx, t, id, args, 2);
    }
    return ml_call_id(g->cx, t, ML_OP_LIKELY, args, 1);
}

static const ml_Expr *let(Gen *g, ml_Dtype t, unsigned depth)
{
    ml_Dtype vt = chance(g, 50) ? ML_DT_I32 : t;
    const ml_Expr *value = gen(g, vt, depth - 1);
    const ml_Var *v = ml_var_new(g->cx, "x", vt);
    if (g->n_vars == MAX_SEEN)
        return value->type.code == t.code && ml_dtype_eq(value->type, t) ? value
                                                                         : literal(g, t);
    g->vars[g->n_vars++] = v;
    const ml_Expr *body = gen(g, t, depth - 1);
    g->n_vars--;
    return ml_let(g->cx, v, value, body);
}

static const ml_Expr *condition(Gen *g, unsigned depth)
{
    unsigned pick = below(g, 10);
    if (pick < 6) {
        ml_Dtype t = chance(g, 60) ? ML_DT_I32 : random_dtype(g);
        ml_ExprKind kind = ML_EXPR_EQ + below(g, 6);
        const ml_Expr *a = gen(g, t, depth - 1), *b = gen(g, t, depth - 1);
        return chance(g, 30) ? ml_raw_binary(g->cx, kind, a, b)
                             : ml_binary(g->cx, kind, a, b);
    }
    const ml_Expr *a = gen(g, ML_DT_BOOL, depth - 1), *b = gen(g, ML_DT_BOOL, depth - 1);
    if (pick < 9)
        return ml_raw_binary(g->cx, pick == 6 ? ML_EXPR_OR : ML_EXPR_AND, a, b);
    return ml_raw_not(g->cx, a);
}

static const ml_Expr *gen(Gen *g, ml_Dtype t, unsigned depth)
{
    if (depth == 0 || chance(g, 25))
        return leaf(g, t, depth);
    if (ml_dtype_is_bool(t) && chance(g, 85))
        return condition(g, depth);
    unsigned pick = below(g, 20);
    if (pick < 11 && !ml_dtype_is_bool(t))
        return arith(g, t, depth);
    if (pick < 13) {
        ml_Dtype from = random_dtype(g);
        return ml_raw_cast(g->cx, t, gen(g, from, depth - 1));
    }
    if (pick < 15) {
        const ml_Expr *c = gen(g, ML_DT_BOOL, depth - 1);
        const ml_Expr *a = gen(g, t, depth - 1), *b = gen(g, t, depth - 1);
        return ml_select(g->cx, c, a, b);
    }
    if (pick == 15)
        return let(g, t, depth);
    if (pick < 19)
        return call(g, t, depth);
    return leaf(g, t, depth);
}

const ml_Expr *random_expr(ml_Ctx *cx, uint64_t seed, ml_Dtype type,
                           const ml_Var *const *vars, size_t n, unsigned depth)
{
    static const RandomIr PLAIN = {.index_only = true};
    Gen g = {.cx = cx, .how = &PLAIN, .state = seed};
    for (size_t k = 0; k < n && k < MAX_SEEN; k++)
        g.vars[g.n_vars++] = vars[k];
    return gen(&g, type, depth);
}

/* A vector of the element dtype. */
static const ml_Expr *vector(Gen *g, ml_Dtype elem, unsigned lanes, unsigned depth)
{
    ml_Dtype t = ml_dtype_lanes(elem, lanes);
    if (depth == 0 || chance(g, 30))
        return ml_broadcast(g->cx, gen(g, elem, 1), lanes);
    if (chance(g, 25)) {
        const ml_Buffer *b = buffer_of(g, elem);
        if (b && b->rank > 0) {
            const ml_Expr *idx[8];
            for (size_t k = 0; k < b->rank; k++)
                idx[k] = index_of(g, b->shape[k]->type, 1);
            ml_Dtype it = idx[b->rank - 1]->type;
            idx[b->rank - 1] = ml_ramp(g->cx, idx[b->rank - 1],
                                       ml_int(g->cx, it, chance(g, 70) ? 1 : 3), lanes);
            if (chance(g, 20)) {
                const ml_Expr *mask = ml_broadcast(g->cx, gen(g, ML_DT_BOOL, 1), lanes);
                return ml_load_masked(g->cx, b, idx, b->rank, mask);
            }
            return ml_load(g->cx, b, idx, b->rank);
        }
    }
    if (ml_dtype_is_index(elem) && chance(g, 30)) {
        const ml_Expr *base = gen(g, elem, 1), *stride = gen(g, elem, 0);
        return ml_ramp(g->cx, base, stride, lanes);
    }
    if (chance(g, 20)) {
        ml_Dtype from = random_dtype(g);
        return ml_raw_cast(g->cx, t, vector(g, from, lanes, depth - 1));
    }
    if (chance(g, 15)) {
        const ml_Expr *v[2];
        v[0] = vector(g, elem, lanes, 0);
        v[1] = vector(g, elem, lanes, 0);
        const ml_Expr *idx[8];
        for (unsigned k = 0; k < lanes; k++)
            idx[k] = ml_i32(g->cx, (int64_t)below(g, 2 * lanes));
        return ml_shuffle(g->cx, v, 2, idx, lanes);
    }
    const ml_Expr *a = vector(g, elem, lanes, depth - 1),
                  *b = vector(g, elem, lanes, depth - 1);
    if (ml_dtype_is_bool(elem))
        return ml_raw_binary(g->cx, ML_EXPR_AND, a, b);
    return ml_raw_binary(g->cx, chance(g, 50) ? ML_EXPR_ADD : ML_EXPR_MAX, a, b);
}

/* ---- values */
static const ml_Value *map_value(Gen *g)
{
    ml_IndexMap *m = ML_NEW(g->cx, ml_IndexMap);
    const ml_Var **vars = ML_ARRAY(g->cx, const ml_Var *, 2);
    const ml_Expr **exprs = ML_ARRAY(g->cx, const ml_Expr *, 3);
    ml_Dtype t = chance(g, 50) ? ML_DT_I64 : ML_DT_I32;
    m->n_vars = 1 + below(g, 2);
    m->n_exprs = 1 + below(g, 3);
    for (uint32_t k = 0; k < m->n_vars; k++)
        vars[k] = ml_var_new(g->cx, "i", t);
    for (uint32_t k = 0; k < m->n_exprs; k++)
        exprs[k] = ml_floordiv(g->cx, ml_var(g->cx, vars[below(g, m->n_vars)]),
                               ml_int(g->cx, t, 1 + below(g, 4)));
    m->vars = vars;
    m->exprs = exprs;
    return ml_val_map(g->cx, m);
}

static const ml_Value *reducer_value(Gen *g)
{
    ml_Reducer *r = ML_NEW(g->cx, ml_Reducer);
    const ml_Var **vars = ML_ARRAY(g->cx, const ml_Var *, 4);
    const ml_Expr **results = ML_ARRAY(g->cx, const ml_Expr *, 2);
    const ml_Expr **identities = ML_ARRAY(g->cx, const ml_Expr *, 2);
    r->n = 1 + below(g, 2);
    for (uint32_t k = 0; k < r->n; k++) {
        ml_Dtype t = chance(g, 50) ? ML_DT_F32 : ML_DT_I32;
        vars[k] = ml_var_new(g->cx, "x", t);
        vars[r->n + k] = ml_var_new(g->cx, "y", t);
        results[k] = ml_max(g->cx, ml_var(g->cx, vars[k]), ml_var(g->cx, vars[r->n + k]));
        identities[k] = ml_const(g->cx, t, -3);
    }
    r->lhs = vars;
    r->rhs = vars + r->n;
    r->results = results;
    r->identities = identities;
    return ml_val_reducer(g->cx, r);
}

static const ml_Value *value(Gen *g, unsigned depth)
{
    const ml_Value *items[3];
    static const char *const KEYS[] = {"b", "tir.a", "key with \"quotes\""};
    unsigned n = below(g, 4);

    switch (depth ? below(g, 9) : below(g, 5)) {
    case 0: return ml_val_int(g->cx, (int64_t)below(g, 100) - 20);
    case 1: return ml_val_bool(g->cx, chance(g, 50));
    case 2:
        return ml_val_string(g->cx, ml_str(chance(g, 50) ? "text" : "a\\b\n\xC3\xA9\x01"));
    case 3: return ml_val_float(g->cx, 0.125 * (double)below(g, 50));
    case 4: return ml_val_none(g->cx);
    case 5:
    case 6:
        for (unsigned k = 0; k < n && k < 3; k++)
            items[k] = value(g, depth - 1);
        return ml_val_list(g->cx, items, n < 3 ? n : 3);
    case 7:
        for (unsigned k = 0; k < 3; k++)
            items[k] = value(g, depth - 1);
        return ml_val_dict(g->cx, KEYS, items, n < 3 ? n : 3);
    default: {
        if (chance(g, 40))
            return chance(g, 50) ? map_value(g) : reducer_value(g);
        const ml_Expr *v = variable(g, ML_DT_I32);
        if (!v)
            return ml_val_int(g->cx, 3);
        return ml_val_expr(g->cx, ml_raw_binary(g->cx, ML_EXPR_ADD, v, ml_i32(g->cx, 5)));
    }
    }
}

static const ml_Value *annotations(Gen *g)
{
    static const char *const KEYS[] = {"pragma_x", "software_pipeline_stage", "tir.hint"};
    const ml_Value *items[3];
    if (chance(g, 75))
        return NULL;
    unsigned n = 1 + below(g, 3);
    for (unsigned k = 0; k < n; k++)
        items[k] = value(g, 2);
    return ml_val_dict(g->cx, KEYS, items, n);
}

/* ---- buffers */
static const char *hint(Gen *g, bool buffer)
{
    static const char *const NAMES[] = {"A",      "B",  "C", "buf",
                                        "lambda", "0x", "",  "A.local"};
    static const char *const VARS[] = {"i", "j", "k", "n", "range", "i_1", "v i", ""};
    return buffer ? NAMES[below(g, ML_COUNT(NAMES))] : VARS[below(g, ML_COUNT(VARS))];
}

static const char *scope(Gen *g)
{
    static const char *const SCOPES[] = {"shared", "local", "shared.dyn",
                                         "wmma.accumulator"};
    return chance(g, 70) ? "global" : SCOPES[below(g, ML_COUNT(SCOPES))];
}

/* A fresh buffer of constant shape. */
static const ml_Buffer *new_buffer(Gen *g, ml_Dtype t, const char *where)
{
    const ml_Expr *shape[4], *strides[4];
    unsigned rank = chance(g, 8) ? 0 : 1 + below(g, 3);
    ml_Dtype it = !g->how->index_only && chance(g, 10) ? ML_DT_I64 : ML_DT_I32;
    for (unsigned k = 0; k < rank; k++)
        shape[k] = ml_int(g->cx, it, (int64_t)(1 + below(g, 16)));
    const ml_Buffer *b = ml_buffer_new(g->cx, hint(g, true), t, shape, rank, where);
    if (g->how->index_only || chance(g, 70))
        return b;
    ml_Buffer c = *b;
    if (chance(g, 30))
        c.align = 128;
    if (chance(g, 20))
        c.offset_factor = 4;
    if (chance(g, 20))
        c.elem_offset = ml_int(g->cx, ml_buffer_index_dtype(b), 8);
    if (rank > 0 && chance(g, 30)) {
        for (unsigned k = 0; k < rank; k++)
            strides[k] = ml_int(g->cx, it, (int64_t)(1 + below(g, 64)));
        const ml_Expr **kept = ML_ARRAY(g->cx, const ml_Expr *, rank);
        memcpy(kept, strides, rank * sizeof(kept[0]));
        c.n_strides = (uint16_t)rank;
        c.strides = kept;
    }
    if (rank > 1 && chance(g, 15)) {
        int32_t *sep = ML_ARRAY(g->cx, int32_t, 1);
        sep[0] = 1;
        c.separators = sep;
        c.n_separators = 1;
    }
    return ml_buffer_from(g->cx, &c, true);
}

static void see_buffer(Gen *g, const ml_Buffer *b)
{
    if (g->n_buffers < MAX_SEEN)
        g->buffers[g->n_buffers++] = b;
}

static void see_var(Gen *g, const ml_Var *v)
{
    if (g->n_vars < MAX_SEEN)
        g->vars[g->n_vars++] = v;
}

/* ---- statements */
static const ml_Stmt *body(Gen *g, unsigned depth);

static const ml_Stmt *store(Gen *g)
{
    if (g->n_buffers == 0)
        return ml_evaluate(g->cx, ml_i32(g->cx, 0));
    const ml_Buffer *b = g->buffers[below(g, (unsigned)g->n_buffers)];
    const ml_Expr *idx[8];
    for (size_t k = 0; k < b->rank; k++)
        idx[k] = b->is_scalar ? ml_i32(g->cx, 0) : index_of(g, b->shape[k]->type, 2);
    if (!g->how->index_only && b->rank > 0 && !b->is_scalar && b->type.lanes == 1 &&
        chance(g, 15)) {
        unsigned lanes = chance(g, 50) ? 4 : 2;
        ml_Dtype it = idx[b->rank - 1]->type;
        idx[b->rank - 1] = ml_ramp(g->cx, idx[b->rank - 1],
                                   ml_int(g->cx, it, chance(g, 70) ? 1 : 2), lanes);
        const ml_Expr *mask =
            chance(g, 15) ? ml_broadcast(g->cx, gen(g, ML_DT_BOOL, 1), lanes) : NULL;
        return ml_store(g->cx, b, vector(g, b->type, lanes, 2), idx, b->rank, mask);
    }
    return ml_store(g->cx, b, gen(g, b->type, 1 + below(g, MAX_DEPTH - 1)), idx, b->rank,
                    NULL);
}

static const ml_Stmt *loop(Gen *g, unsigned depth)
{
    static const char *const TAGS[] = {"threadIdx.x", "blockIdx.y", "vthread.x"};
    ml_Dtype t = !g->how->index_only && chance(g, 10) ? ML_DT_I64 : ML_DT_I32;
    ml_For f = {.kind = ML_FOR_SERIAL};
    f.var = ml_var_new(g->cx, hint(g, false), t);
    f.min = ml_int(g->cx, t, 0);
    f.extent = chance(g, 70) ? ml_int(g->cx, t, (int64_t)(1 + below(g, 16))) : gen(g, t, 2);
    if (chance(g, 15))
        f.min = chance(g, 50) ? ml_int(g->cx, t, 3) : gen(g, t, 1);
    if (chance(g, 25))
        f.kind = (uint8_t)below(g, ML_FOR_KINDS);
    if (f.kind == ML_FOR_THREAD)
        f.thread = ml_thread(TAGS[below(g, 3)]);
    else if (chance(g, 8))
        f.step = ml_int(g->cx, t, 2);
    f.annotations = annotations(g);
    size_t vars = g->n_vars, buffers = g->n_buffers, around = g->n_around;
    bool in_loop = g->in_loop;
    see_var(g, f.var);
    if (g->n_around < MAX_SEEN) {
        g->around[g->n_around].var = f.var;
        g->around[g->n_around].min = f.min;
        g->around[g->n_around++].extent = f.extent;
    }
    g->in_loop = true;
    f.body = body(g, depth - 1);
    g->in_loop = in_loop;
    g->n_vars = vars;
    g->n_buffers = buffers;
    g->n_around = around;
    return ml_for_from(g->cx, &f);
}

static ml_Region region_of(Gen *g, const ml_Buffer *b, bool whole)
{
    ml_Range *r = ML_ARRAY(g->cx, ml_Range, b->rank ? b->rank : 1);
    for (size_t k = 0; k < b->rank; k++) {
        ml_Dtype t = b->shape[k]->type;
        if (whole) {
            r[k] = (ml_Range){ml_int(g->cx, t, 0), b->shape[k]};
        } else {
            r[k].min = index_of(g, t, 1);
            r[k].extent = chance(g, 60) ? ml_int(g->cx, t, 1)
                                        : ml_int(g->cx, t, (int64_t)(2 + below(g, 6)));
            if (chance(g, 10))
                r[k].extent = gen(g, t, 1);
        }
    }
    return (ml_Region){b, r};
}

static const ml_Region *regions(Gen *g, uint32_t *n)
{
    *n = g->n_buffers ? below(g, 3) : 0;
    ml_Region *r = ML_ARRAY(g->cx, ml_Region, 3);
    for (uint32_t k = 0; k < *n; k++)
        r[k] = region_of(g, g->buffers[below(g, (unsigned)g->n_buffers)], chance(g, 20));
    return r;
}

static void add_iters(Gen *g, ml_Block *b)
{
    ml_Iter *it = ML_ARRAY(g->cx, ml_Iter, 4);
    b->n_iters = 1 + below(g, 3);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        it[k].kind = (uint8_t)(chance(g, 90) ? below(g, 2) : below(g, ML_ITER_KINDS));
        if (g->n_around > 0 && chance(g, 70)) {
            size_t l = below(g, (unsigned)g->n_around);
            size_t pos = 0;
            while (pos < g->n_vars && g->vars[pos] != g->around[l].var)
                pos++;
            bool seen = pos < g->n_vars && pos >= g->first_var;
            if (seen &&
                g->around[l].min->flags & g->around[l].extent->flags & ML_X_VAR_FREE) {
                it[k].value = ml_var(g->cx, g->around[l].var);
                it[k].min = g->around[l].min;
                it[k].extent = g->around[l].extent;
            }
        }
        if (!it[k].value) {
            it[k].value = gen(g, ML_DT_I32, 2);
            it[k].min = ml_i32(g->cx, chance(g, 85) ? 0 : 2);
            it[k].extent = ml_i32(g->cx, (int64_t)(1 + below(g, 16)));
        }
    }
    for (uint32_t k = 0; k < b->n_iters; k++)
        it[k].var =
            ml_var_new(g->cx, chance(g, 80) ? "v" : hint(g, false), it[k].min->type);
    b->iters = it;
}

static void add_match(Gen *g, ml_Block *b)
{
    if (g->n_buffers == 0)
        return;
    const ml_Buffer *src = g->buffers[below(g, (unsigned)g->n_buffers)];
    if (src->is_scalar)
        return;
    ml_Buffer t = *ml_buffer_new(g->cx, hint(g, true), src->type, src->shape, src->rank,
                                 src->scope.name);
    t.align = src->align;
    ml_Dtype it = ml_buffer_index_dtype(&t);
    if (chance(g, 50)) {
        t.elem_offset = ml_var(g->cx, ml_var_new(g->cx, "off", it));
        t.offset_factor = chance(g, 50) ? 1 : 8;
    }
    if (t.rank > 0 && chance(g, 40)) {
        const ml_Expr **strides = ML_ARRAY(g->cx, const ml_Expr *, t.rank);
        for (size_t k = 0; k < t.rank; k++)
            strides[k] = ml_var(g->cx, ml_var_new(g->cx, "s", it));
        t.strides = strides;
        t.n_strides = t.rank;
    }
    ml_Match *m = ML_ARRAY(g->cx, ml_Match, 1);
    m->target = ml_buffer_from(g->cx, &t, true);
    m->source = region_of(g, src, true);
    b->matches = m;
    b->n_matches = 1;
    see_buffer(g, m->target);
    for (size_t k = 0; k < t.n_strides; k++)
        see_var(g, t.strides[k]->as.var);
    if (t.elem_offset->kind == ML_EXPR_VAR)
        see_var(g, t.elem_offset->as.var);
}

static const ml_Stmt *block(Gen *g, unsigned depth)
{
    static const char *const NAMES[] = {"C", "update", "", "root", "a \"b\""};
    ml_Block b = {.tag = ml_fresh_uid(g->cx), .name = NAMES[below(g, ML_COUNT(NAMES))]};
    size_t vars = g->n_vars, first = g->first_var, buffers = g->n_buffers,
           around = g->n_around;

    b.predicate = ml_bool(g->cx, true);
    bool in_loop = g->in_loop;
    if (chance(g, 80)) {
        add_iters(g, &b);
        if (chance(g, 20))
            b.predicate = condition(g, 2);
        /* hide what a block with iterators may not see */
        if (g->n_vars > g->first_var || g->first_var == g->n_global)
            g->first_var = g->n_vars;
        g->n_around = 0;
        for (uint32_t k = 0; k < b.n_iters; k++)
            see_var(g, b.iters[k].var);
    }
    b.reads = regions(g, &b.n_reads);
    b.writes = regions(g, &b.n_writes);
    b.annotations = annotations(g);
    if (chance(g, 25)) {
        const ml_Buffer **allocs = ML_ARRAY(g->cx, const ml_Buffer *, 1);
        allocs[0] = new_buffer(g, random_dtype(g), scope(g));
        b.allocs = allocs;
        b.n_allocs = 1;
        see_buffer(g, allocs[0]);
    }
    if (!g->how->index_only && chance(g, 25))
        add_match(g, &b);
    g->in_loop = false;
    if (chance(g, 20))
        b.init = store(g);
    b.body = body(g, depth - 1);
    g->in_loop = in_loop;
    g->n_vars = vars;
    g->first_var = first;
    g->n_buffers = buffers;
    g->n_around = around;
    return ml_block_from(g->cx, &b);
}

static const ml_Stmt *attribute(Gen *g, unsigned depth)
{
    static const char *const TAGS[] = {"threadIdx.x", "threadIdx.y", "blockIdx.x",
                                       "vthread"};
    ml_Attr a = {.key = "pragma_scope", .node = ml_val_int(g->cx, 0), .value = value(g, 1)};
    size_t vars = g->n_vars, buffers = g->n_buffers;
    unsigned tag = below(g, 4);
    bool launch = chance(g, 40) && !g->launched[tag];
    if (launch) {
        /* one variable and one extent for a tag, wherever it is launched */
        if (!g->threads[tag])
            g->threads[tag] = ml_var_new(g->cx, "tx", ML_DT_I32);
        a.thread = ml_thread(TAGS[tag]);
        a.key = ml_thread_key(a.thread);
        a.node = ml_val_var(g->cx, g->threads[tag]);
        a.value = ml_val_int(g->cx, 4 * (1 + (int64_t)tag));
        g->launched[tag] = true;
        see_var(g, g->threads[tag]);
    } else if (g->n_buffers > 0 && chance(g, 50)) {
        a.node = ml_val_buffer(g->cx, g->buffers[below(g, (unsigned)g->n_buffers)]);
        a.key = "tir.some_key";
    }
    a.body = body(g, depth - 1);
    if (launch)
        g->launched[tag] = false;
    g->n_vars = vars;
    g->n_buffers = buffers;
    return ml_attr_from(g->cx, &a);
}

static const ml_Stmt *scoped(Gen *g, unsigned depth)
{
    size_t vars = g->n_vars, buffers = g->n_buffers;
    const ml_Stmt *s = body(g, depth);
    g->n_vars = vars;
    g->n_buffers = buffers;
    return s;
}

static const ml_Stmt *branch(Gen *g, unsigned depth)
{
    const ml_Expr *c = condition(g, 2);
    if (g->in_loop && chance(g, 20))
        return ml_if(g->cx, c, chance(g, 50) ? ml_break(g->cx) : ml_continue(g->cx), NULL);
    const ml_Stmt *then = scoped(g, depth - 1);
    return ml_if(g->cx, c, then, chance(g, 40) ? scoped(g, depth - 1) : NULL);
}

static const ml_Stmt *assertion(Gen *g)
{
    static const char *const PARTS[] = {"first \"part\"", "second"};
    ml_Assert a = {
        .cond = condition(g, 2), .error = "RuntimeError", .n_parts = 1, .parts = PARTS};
    if (chance(g, 40)) {
        a.error = "ValueError";
        a.n_parts = 2;
    }
    return ml_assert_from(g->cx, &a);
}

static const ml_Stmt *declaration(Gen *g)
{
    if (chance(g, 35) && g->n_buffers > 0) {
        const ml_Buffer *src = g->buffers[below(g, (unsigned)g->n_buffers)];
        ml_Buffer b = *new_buffer(g, src->type, src->scope.name);
        b.data = src->data;
        const ml_Buffer *alias = ml_buffer_from(g->cx, &b, false);
        see_buffer(g, alias);
        return ml_decl_stmt(g->cx, alias, ml_var(g->cx, src->data));
    }
    if (g->how->spelling == ML_NEWEST && chance(g, 50)) {
        const ml_Expr *one[1] = {ml_i32(g->cx, 1)};
        ml_Dtype t = chance(g, 50) ? ML_DT_F32 : ML_DT_I32;
        ml_Buffer b = *ml_buffer_new(g->cx, "cell", t, one, 1, "local");
        b.is_scalar = true;
        const ml_Buffer *cell = ml_buffer_from(g->cx, &b, true);
        see_buffer(g, cell);
        return ml_alloc_stmt(g->cx, cell, NULL);
    }
    const ml_Buffer *b = new_buffer(g, random_dtype(g), scope(g));
    see_buffer(g, b);
    return ml_alloc_stmt(g->cx, b, NULL);
}

/* Calls that take a buffer's pointer, and pointers with a name. */
static const ml_Stmt *pointer_use(Gen *g)
{
    const ml_Buffer *b = g->n_buffers ? g->buffers[below(g, (unsigned)g->n_buffers)] : NULL;
    const ml_Expr *args[5], *idx[8];
    if (!b)
        return store(g);
    if (chance(g, 50)) {
        args[0] = ml_call_id(g->cx, b->type, ML_OP_TYPE_ANNOTATION, NULL, 0);
        args[1] = ml_var(g->cx, b->data);
        args[2] = gen(g, ML_DT_I32, 1);
        args[3] = ml_i32(g->cx, 16);
        args[4] = ml_i32(g->cx, 1 + (int64_t)below(g, 3));
        const ml_Expr *p = ml_call_id(g->cx, ML_DT_HANDLE, ML_OP_ACCESS_PTR, args, 5);
        const ml_Expr *call[] = {ml_string(g->cx, ml_str("use")), p};
        return ml_evaluate(g->cx, ml_call_id(g->cx, ML_DT_I32, ML_OP_CALL_EXTERN, call, 2));
    }
    for (size_t k = 0; k < b->rank; k++)
        idx[k] = index_of(g, b->shape[k]->type, 1);
    args[0] = ml_load(g->cx, b, idx, b->rank);
    const ml_Expr *p = ml_call_id(g->cx, ML_DT_HANDLE, ML_OP_ADDRESS_OF, args, 1);
    if (chance(g, 50))
        return ml_evaluate(g->cx, p);
    const ml_Var *v = chance(g, 50) ? ml_var_new_handle(g->cx, "p", b->type, b->scope.name)
                                    : ml_var_new(g->cx, "p", ML_DT_HANDLE);
    return ml_bind(g->cx, v, p);
}

static const ml_Stmt *statement(Gen *g, unsigned depth)
{
    unsigned pick = below(g, 100);

    g->budget--;
    if (depth == 0 || g->budget <= 0 || pick < 25)
        return store(g);
    if (pick < 50)
        return loop(g, depth);
    if (pick < 70)
        return g->how->no_blocks ? loop(g, depth) : block(g, depth);
    if (pick < 76)
        return branch(g, depth);
    if (pick < 78) {
        const ml_Expr *c = condition(g, 2);
        bool in_loop = g->in_loop;
        g->in_loop = true;
        const ml_Stmt *s = ml_while(g->cx, c, scoped(g, depth - 1));
        g->in_loop = in_loop;
        return s;
    }
    if (pick < 84) {
        ml_Dtype t = chance(g, 60) ? ML_DT_I32 : random_dtype(g);
        const ml_Expr *v = gen(g, t, 3);
        const ml_Var *x = ml_var_new(g->cx, hint(g, false), t);
        see_var(g, x);
        return ml_bind(g->cx, x, v);
    }
    if (pick < 90)
        return declaration(g);
    if (pick < 94)
        return g->how->index_only ? store(g) : attribute(g, depth);
    if (pick < 96)
        return assertion(g);
    if (g->how->index_only)
        return store(g);
    if (chance(g, 50))
        return pointer_use(g);
    return ml_evaluate(g->cx, gen(g, random_dtype(g), 2));
}

static const ml_Stmt *body(Gen *g, unsigned depth)
{
    const ml_Stmt *list[5];
    size_t n = 1 + below(g, 3);
    for (size_t k = 0; k < n; k++)
        list[k] = statement(g, depth);
    return ml_seq(g->cx, list, n);
}

/* ---- functions */
static void add_params(Gen *g, ml_FuncParam *params, uint32_t *n)
{
    const ml_Var *size = NULL;
    for (unsigned k = 0, count = 2 + below(g, 3); k < count; k++) {
        ml_FuncParam *p = &params[(*n)++];
        if (chance(g, 25)) {
            p->var = ml_var_new(g->cx, hint(g, false),
                                chance(g, 70) ? ML_DT_I32 : random_dtype(g));
            see_var(g, p->var);
            continue;
        }
        p->var = ml_var_new(g->cx, "a_handle", ML_DT_HANDLE);
        ml_Buffer b = *new_buffer(g, random_dtype(g), "global");
        if (b.rank > 0 && !b.n_strides && chance(g, 25)) { /* a symbolic dimension */
            const ml_Expr **shape = ML_ARRAY(g->cx, const ml_Expr *, b.rank);
            memcpy(shape, b.shape, b.rank * sizeof(shape[0]));
            if (!size || chance(g, 40))
                size = ml_var_new(g->cx, "n", shape[0]->type);
            if (ml_dtype_eq(size->type, shape[0]->type))
                shape[0] = ml_var(g->cx, size);
            b.shape = shape;
        }
        p->buffer = ml_buffer_from(g->cx, &b, true);
        see_buffer(g, p->buffer);
    }
    for (uint32_t k = 0; k < *n; k++)
        if (params[k].buffer)
            for (size_t d = 0; d < params[k].buffer->rank; d++)
                if (params[k].buffer->shape[d]->kind == ML_EXPR_VAR &&
                    ml_dtype_eq(params[k].buffer->shape[d]->type, ML_DT_I32))
                    see_var(g, params[k].buffer->shape[d]->as.var);
}

const ml_Func *random_func(ml_Ctx *cx, const RandomIr *how)
{
    Gen g = {.cx = cx, .how = how, .state = how->seed * 0x2545F4914F6CDD1Du + 7};
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, 8);
    ml_Func f = {.name = "main", .params = params, .ret = ML_DT_VOID};

    g.budget = (int)(how->size ? how->size : 20);
    f.spelling = how->spelling == ML_NEWEST ? ML_NEWEST : ML_CLASSIC;
    add_params(&g, params, &f.n_params);
    g.n_global = g.first_var = g.n_vars;
    if (how->no_blocks) {
        f.body = body(&g, MAX_DEPTH);
    } else {
        ml_Block root = {.tag = ml_fresh_uid(cx), .name = "root"};
        const ml_Buffer *allocs[3];
        root.predicate = ml_bool(cx, true);
        for (uint32_t n = below(&g, 3); root.n_allocs < n; root.n_allocs++) {
            allocs[root.n_allocs] = new_buffer(&g, random_dtype(&g), scope(&g));
            see_buffer(&g, allocs[root.n_allocs]);
        }
        const ml_Buffer **kept = ML_ARRAY(cx, const ml_Buffer *, 3);
        memcpy(kept, allocs, root.n_allocs * sizeof(kept[0]));
        root.allocs = kept;
        if (chance(&g, 10))
            root.annotations = annotations(&g);
        root.body = body(&g, MAX_DEPTH);
        f.body = ml_block_from(cx, &root);
    }
    static const char *const KEYS[] = {"global_symbol", "tir.noalias", "target"};
    const ml_Value *items[3] = {
        ml_val_string(cx, ml_str(chance(&g, 80) ? "main" : "other")), ml_val_bool(cx, true),
        ml_val_string(cx, ml_str("cuda"))};
    if (chance(&g, 90))
        f.attrs = ml_val_dict(cx, KEYS, items, 1 + below(&g, 3));
    return ml_func_from(cx, &f);
}

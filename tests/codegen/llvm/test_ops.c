/*
 * test_ops - every operator on every dtype against the interpreter: random expressions over
 * loads, as scalars and as vectors (wide ones are split), without contraction, bit for bit.
 */
#include "run_llvm.h"

static const ml_Dtype types[] = {{ML_INT, 8, 1},    {ML_INT, 16, 1},    {ML_INT, 32, 1},
                                 {ML_INT, 64, 1},   {ML_UINT, 8, 1},    {ML_UINT, 16, 1},
                                 {ML_UINT, 32, 1},  {ML_UINT, 64, 1},   {ML_BOOL, 1, 1},
                                 {ML_FLOAT, 16, 1}, {ML_BFLOAT, 16, 1}, {ML_FLOAT, 32, 1},
                                 {ML_FLOAT, 64, 1}};
enum { N_TYPES = ML_COUNT(types), SIZE = 192 };

typedef struct World {
    Fix *x;
    ml_Random r;
    const ml_Buffer *buf[N_TYPES];
    const ml_Expr *index; /* scalar or vector */
    unsigned lanes;
} World;

static unsigned pick(World *w, unsigned n)
{
    return (unsigned)ml_random_below(&w->r, n);
}

static const ml_Expr *wide(World *w, const ml_Expr *e)
{
    return w->lanes > 1 ? ml_broadcast(w->x->cx, e, w->lanes) : e;
}

static const ml_Expr *gen(World *w, size_t type, unsigned depth);

static const ml_Expr *leaf(World *w, size_t type)
{
    ml_Dtype t = types[type];
    ml_Ctx *cx = w->x->cx;

    if (pick(w, 5) == 0)
        return wide(w, ml_dtype_is_float(t)
                           ? ml_float(cx, t, (double)pick(w, 9) - 4.0)
                           : ml_int(cx, t, ml_dtype_wrap(t, (int64_t)pick(w, 9) - 4)));
    return ml_load(cx, w->buf[type], &w->index, 1);
}

static const ml_Expr *call(World *w, size_t type, ml_OpId id, const ml_Expr *a,
                           const ml_Expr *b)
{
    const ml_Expr *args[2] = {a, b};
    ml_Dtype t = ml_dtype_lanes(types[type], w->lanes);

    return ml_call_id(w->x->cx, t, id, args, b ? 2 : 1);
}

static const ml_Expr *condition(World *w, unsigned depth)
{
    ml_ExprKind kind = (ml_ExprKind)(ML_EXPR_EQ + pick(w, 6));
    size_t type = pick(w, N_TYPES);

    if (pick(w, 4) == 0)
        return gen(w, 8, depth);
    return ml_raw_binary(w->x->cx, kind, gen(w, type, depth), gen(w, type, depth));
}

static const ml_Expr *gen_int(World *w, size_t type, unsigned d)
{
    ml_Ctx *cx = w->x->cx;
    ml_Dtype t = types[type];
    const ml_Expr *a = gen(w, type, d), *b = gen(w, type, d);
    static const ml_OpId bits[] = {ML_OP_BITWISE_AND, ML_OP_BITWISE_OR, ML_OP_BITWISE_XOR};
    unsigned k = pick(w, 17);

    if (k < 3)
        return ml_raw_binary(cx, (ml_ExprKind)(ML_EXPR_ADD + k), a, b);
    if (k < 7) {
        b = call(w, type, ML_OP_BITWISE_OR, b, wide(w, ml_int(cx, t, 1)));
        return ml_raw_binary(cx, (ml_ExprKind)(ML_EXPR_DIV + k - 3), a, b);
    }
    if (k < 9)
        return ml_raw_binary(cx, k == 7 ? ML_EXPR_MIN : ML_EXPR_MAX, a, b);
    if (k < 12)
        return call(w, type, bits[k - 9], a, b);
    if (k == 12)
        return call(w, type, ML_OP_BITWISE_NOT, a, NULL);
    if (k < 15) {
        b = call(w, type, ML_OP_BITWISE_AND, b, wide(w, ml_int(cx, t, t.bits - 1)));
        return call(w, type, k == 13 ? ML_OP_SHIFT_LEFT : ML_OP_SHIFT_RIGHT, a, b);
    }
    return call(w, type, k == 15 ? ML_OP_POPCOUNT : ML_OP_CLZ, a, NULL);
}

static const ml_Expr *gen_float(World *w, size_t type, unsigned d)
{
    static const ml_OpId ops[] = {ML_OP_FLOOR,     ML_OP_CEIL, ML_OP_TRUNC, ML_OP_ROUND,
                                  ML_OP_NEARBYINT, ML_OP_FABS, ML_OP_SQRT};
    ml_Ctx *cx = w->x->cx;
    const ml_Expr *v[3] = {gen(w, type, d), gen(w, type, d), NULL};
    unsigned k = pick(w, 18);

    if (k < 6)
        return ml_raw_binary(cx, (ml_ExprKind)(k % 4 + ML_EXPR_ADD), v[0], v[1]);
    if (k < 8)
        return ml_raw_binary(cx, k == 6 ? ML_EXPR_MIN : ML_EXPR_MAX, v[0], v[1]);
    if (k == 8)
        return ml_raw_binary(cx, ML_EXPR_FLOORDIV, v[0], v[1]);
    if (k == 9)
        return ml_raw_binary(cx, ML_EXPR_FLOORMOD, v[0], v[1]);
    if (k == 10)
        return call(w, type, ML_OP_COPYSIGN, v[0], v[1]);
    if (k == 11)
        return call(w, type, ML_OP_FMOD, v[0], v[1]);
    if (k == 12) {
        v[2] = gen(w, type, d);
        return ml_call_id(cx, ml_dtype_lanes(types[type], w->lanes), ML_OP_FMA, v, 3);
    }
    return call(w, type, ops[pick(w, ML_COUNT(ops))], v[0], NULL);
}

static const ml_Expr *gen_bool(World *w, unsigned d)
{
    ml_Ctx *cx = w->x->cx;
    const ml_Expr *a;
    unsigned k = pick(w, 6);
    size_t type = 9 + pick(w, 4);

    if (k < 2)
        return ml_raw_binary(cx, k ? ML_EXPR_AND : ML_EXPR_OR, gen(w, 8, d), gen(w, 8, d));
    if (k == 2)
        return ml_raw_not(cx, gen(w, 8, d));
    if (k == 3) {
        a = gen(w, type, d);
        return ml_call_id(cx, ml_dtype_lanes(ML_DT_BOOL, w->lanes),
                          (ml_OpId)(ML_OP_ISNAN + pick(w, 3)), &a, 1);
    }
    return condition(w, d);
}

static const ml_Expr *gen(World *w, size_t type, unsigned depth)
{
    ml_Ctx *cx = w->x->cx;
    const ml_Var *v;
    unsigned k;

    if (depth == 0)
        return leaf(w, type);
    depth--;
    k = pick(w, 10);
    if (k == 0)
        return ml_raw_cast(cx, ml_dtype_lanes(types[type], w->lanes),
                           gen(w, pick(w, N_TYPES), depth));
    if (k == 1)
        return ml_select(cx, condition(w, depth), gen(w, type, depth), gen(w, type, depth));
    if (k == 2)
        return ml_if_then_else(cx, condition(w, depth), gen(w, type, depth),
                               gen(w, type, depth));
    if (k == 3) {
        v = ml_var_new(cx, "v", ml_dtype_lanes(types[type], w->lanes));
        return ml_let(cx, v, gen(w, type, depth),
                      ml_raw_binary(cx, type == 8 ? ML_EXPR_OR : ML_EXPR_ADD,
                                    gen(w, type, depth), ml_var(cx, v)));
    }
    if (type == 8)
        return gen_bool(w, depth);
    return type > 8 ? gen_float(w, type, depth) : gen_int(w, type, depth);
}

/* for i: OUT[index] = expression, over buffers of all dtypes. */
static const ml_Func *program(World *w, size_t type, unsigned lanes, unsigned depth)
{
    Fix *x = w->x;
    const ml_Buffer *out, *bufs[N_TYPES + 1];
    const ml_Var *i = IVAR("i");

    for (size_t k = 0; k < N_TYPES; k++)
        bufs[k] = w->buf[k] = BUF(ml_format(x->cx, "A%zu", k), types[k], I(SIZE));
    bufs[N_TYPES] = out = BUF("OUT", types[type], I(SIZE));
    w->lanes = lanes;
    w->index = lanes > 1 ? ml_ramp(x->cx, MUL(X(i), I(lanes)), I(1), lanes) : X(i);
    return func(
        x, "main", bufs, N_TYPES + 1,
        loop(x, ML_FOR_SERIAL, i, I(SIZE / lanes), ST(out, gen(w, type, depth), w->index)));
}

/* Values near the edges among the random ones. */
static void fill(World *w)
{
    Fix *x = w->x;

    for (size_t k = 0; k <= N_TYPES; k++) {
        ml_Tensor *t = x->args[k].tensor;
        ml_Tensor *edge = ml_tensor_copy(x->cx, t);
        ml_tensor_fill(t, ML_FILL_RANDOM, "ops", (uint32_t)k, w->r.s[0], -100, 100);
        ml_tensor_fill(edge, ML_FILL_ADVERSARIAL, "ops", (uint32_t)k, w->r.s[0], 0, 0);
        for (int64_t j = 0; j < t->n_lanes; j++) {
            unsigned how = pick(w, 8);
            if (how == 0)
                memcpy((char *)t->data + (size_t)j * t->lane,
                       (char *)edge->data + (size_t)j * t->lane, t->lane);
            else if (how == 1 && ml_dtype_is_float(t->type))
                ml_tensor_set(t, j, pick(w, 2) ? 1.0 / 0.0 : 0.0 / 0.0);
            else if (how == 2 && ml_dtype_is_float(t->type))
                ml_tensor_set(t, j, 1e-40 * (double)pick(w, 1000));
        }
        ml_tensor_free(edge);
    }
}

static void random_expressions(Fix *x, unsigned lanes, unsigned count)
{
    World w = {.x = x};
    ml_CodeOpts o = {.no_contract = true};
    unsigned runs = getenv("ML_QUICK") ? count / 4 : count;

    if (rig.print_for && !getenv("ML_PRINT_FOR"))
        runs = N_TYPES; /* one of a result of each type: each takes a compiler's time */
    for (unsigned k = 0; k < runs; k++) {
        ml_Mark mark = ml_mark(x->cx);
        const ml_Func *f;
        w.r = ml_random("llvm-ops", lanes, k);
        f = program(&w, k % N_TYPES, lanes, 1 + pick(&w, lanes > 64 ? 2 : 4));
        if (N_TYPES + 1 > ML_COUNT(x->args))
            fail_msg("too many arguments");
        make_args(x, f);
        fill(&w);
        same_as_interpreter(x, f, &o, EXACT);
        drop_args(x);
        ml_release(x->cx, mark);
    }
}

static void scalar_expressions_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    random_expressions(*state, 1, 260);
}

static void vector_expressions_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    random_expressions(*state, 8, 130);
    random_expressions(*state, 16, 130);
}

static void odd_and_very_wide_vectors_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    random_expressions(*state, 3, 39);
    random_expressions(*state, 96, 39);
    random_expressions(*state, 192, 26);
}

/* Of one vector and of two by one instruction; of more, lane by lane. */
static void lanes_of_several_vectors_are_picked(void **state)
{
    NEED_LLVM();
    same_text(*state,
              "@T.prim_func\ndef main(A: T.Buffer((64,), \"float32\"), B: T.Buffer((8,), "
              "\"float32\")):\n"
              "    B[T.Ramp(0, 1, 4)] = "
              "T.Shuffle([A[T.Ramp(0, 1, 4)], "
              "A[T.Ramp(4, 1, 8)], "
              "A[T.Ramp(40, 1, 4)]], [1, 5, 13, 11])\n"
              "    B[T.Ramp(4, 1, 4)] = "
              "T.Shuffle([A[T.Ramp(0, 1, 4)], "
              "A[T.Ramp(4, 1, 8)]], [3, 11, 0, 4])\n",
              EXACT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scalar_expressions_equal_the_interpreter),
        TEST(vector_expressions_equal_the_interpreter),
        TEST(odd_and_very_wide_vectors_equal_the_interpreter),
        TEST(lanes_of_several_vectors_are_picked),
    };

    return MAIN_TWICE(tests);
}

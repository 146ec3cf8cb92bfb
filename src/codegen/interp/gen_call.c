/*
 * gen_call - calls in expressions: mathematics, bits, calls of functions of the module.
 *
 * What cannot be executed here (external routines, asynchronous copies, tensor-core
 * operations) becomes an instruction that fails by name when it is reached.
 */
#include "moonloop/codegen/interp/code.h"

static uint32_t arg(ml_Gen *g, const ml_Expr *e, size_t k, unsigned lane)
{
    return ml_gen_lane(g, e->args[k], e->args[k]->type.lanes > 1 ? lane : 0);
}

static uint32_t unsupported(ml_Gen *g, const ml_Expr *e)
{
    const ml_Expr *name = e->n_args > 0 ? e->args[0] : NULL;

    if (name && name->kind == ML_EXPR_STRING)
        ml_gen_unsupported(
            g, ml_format(g->cx, "%s of %s in the interpreter", e->as.op->name, name->as.s));
    else
        ml_gen_unsupported(g, ml_format(g->cx, "%s in the interpreter", e->as.op->name));
    return ml_gen_int(g, 0);
}

static uint32_t math1(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    ml_OpId id = (ml_OpId)e->as.op->id;
    uint32_t a;

    if (e->n_args != 1)
        return unsupported(g, e);
    if (!ml_dtype_is_float(e->args[0]->type)) {
        if (!ml_dtype_is_int(e->args[0]->type))
            return unsupported(g, e);
        a = arg(g, e, 0, lane);
        if (e->as.op->family == ML_FAMILY_ROUND)
            return a;
        if (id == ML_OP_FABS)
            return ml_gen_to(g, e, ML_I_IABS, ml_int_x(e->type), a, 0, 0);
        return unsupported(g, e);
    }
    a = arg(g, e, 0, lane);
    return ml_gen_to(g, e, ML_I_MATH1, ml_gen_rounding(g, e->type), a, id, 0);
}

static uint32_t math2(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    ml_OpId id = (ml_OpId)e->as.op->id;
    uint32_t a, b;

    if (e->n_args != 2 || !ml_dtype_is_float(e->args[0]->type) ||
        (id == ML_OP_NEXTAFTER && e->type.bits < 32))
        return unsupported(g, e);
    a = arg(g, e, 0, lane);
    b = arg(g, e, 1, lane);
    if (!ml_dtype_is_float(e->args[1]->type)) {
        if (id != ML_OP_LDEXP)
            return unsupported(g, e);
        b = ml_gen_to(g, e, ML_I_ITOF, 0, b, 0, 0);
    }
    return ml_gen_to(g, e, ML_I_MATH2, ml_gen_rounding(g, e->type), a, b, id);
}

static uint32_t bits2(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    ml_Inst op = ML_I_AND;
    uint32_t a, b;

    if (e->n_args != 2 || ml_dtype_is_float(e->type) || ml_lane_bytes(e->type) == 0)
        return unsupported(g, e);
    switch ((ml_OpId)e->as.op->id) {
    case ML_OP_BITWISE_OR: op = ML_I_OR; break;
    case ML_OP_BITWISE_XOR: op = ML_I_XOR; break;
    case ML_OP_SHIFT_LEFT: op = ML_I_SHL; break;
    case ML_OP_SHIFT_RIGHT: op = ML_I_SHR; break;
    default: break; /* bitwise_and; the table of operators is not one of ours to list */
    }
    a = arg(g, e, 0, lane);
    b = arg(g, e, 1, lane);
    return ml_gen_to(g, e, op, ml_int_x(e->type), a, b,
                     g->checked && e->type.code == ML_INT);
}

static uint32_t qmul(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    bool axis = e->as.op->id == ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS;
    uint32_t *list = ML_ARRAY(g->cx, uint32_t, 5);

    if (e->n_args != (axis ? 7 : 4) || e->type.code != ML_INT || e->type.bits != 32)
        return unsupported(g, e);
    list[0] = arg(g, e, 0, lane);
    list[1] = arg(g, e, 1, lane);
    if (axis) { /* x, y, left, right, q, is left needed, is right needed */
        uint32_t zero = ml_gen_int(g, 0);
        list[2] =
            ml_gen_to(g, e, ML_I_SEL, 0, arg(g, e, 5, lane), arg(g, e, 2, lane), zero);
        list[3] =
            ml_gen_to(g, e, ML_I_SEL, 0, arg(g, e, 6, lane), arg(g, e, 3, lane), zero);
        list[4] = arg(g, e, 4, lane);
    } else { /* x, y, q, s: s > 0 shifts left first, s < 0 right with q */
        uint32_t s = arg(g, e, 3, lane), zero = ml_gen_int(g, 0);
        list[2] = ml_gen_to(g, e, ML_I_MAX, 64, s, zero, 0);
        list[3] = ml_gen_to(g, e, ML_I_MAX, 64, ml_gen_to(g, e, ML_I_SUBW, 64, zero, s, 0),
                            zero, 0);
        list[4] = arg(g, e, 2, lane);
    }
    ml_push(g->cx, &g->lists, list);
    return ml_gen_to(g, e, ML_I_QMUL, 32, (int64_t)g->lists.n - 1, 0, 0);
}

/* The bits of v from `by` on, as an unsigned number of 64 bits. */
static uint32_t shifted(ml_Gen *g, const ml_Expr *e, ml_Inst op, uint32_t v, unsigned by)
{
    return by ? ml_gen_to(g, e, op, ML_UNSIGNED | 64, v, ml_gen_int(g, by), 0) : v;
}

/* A lane as the integer of its bits. */
static uint32_t lane_bits(ml_Gen *g, const ml_Expr *e, const ml_Expr *p, unsigned lane)
{
    const ml_Dtype bits = {ML_UINT, p->type.bits, 1};
    uint32_t v = ml_gen_lane(g, p, lane);

    return ml_dtype_is_int(p->type) ? v
                                    : ml_gen_to(g, e, ML_I_REINT, 0, v,
                                                ml_gen_type(g, ml_dtype_lanes(p->type, 1)),
                                                ml_gen_type(g, bits));
}

/* Elements of another width: the lowest lane holds the lowest bits. */
static uint32_t regroup(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    const ml_Expr *p = e->args[0];
    unsigned from = p->type.bits, to = e->type.bits;
    const ml_Dtype bits = {ml_dtype_is_int(e->type) ? e->type.code : ML_UINT, to, 1};
    uint32_t all;

    if (from > to) {
        unsigned n = from / to;
        all = shifted(g, e, ML_I_SHR, lane_bits(g, e, p, lane / n), lane % n * to);
    } else {
        int64_t mask = (int64_t)((UINT64_C(1) << from) - 1); /* from < to <= 64 */
        all = ml_gen_int(g, 0);
        for (unsigned k = 0; k < to / from; k++) {
            uint32_t v = lane_bits(g, e, p, lane * (to / from) + k);
            v = ml_gen_to(g, e, ML_I_AND, ML_UNSIGNED | 64, v, ml_gen_int(g, mask), 0);
            v = shifted(g, e, ML_I_SHL, v, k * from);
            all = ml_gen_to(g, e, ML_I_OR, ML_UNSIGNED | 64, all, v, 0);
        }
    }
    all = ml_gen_to(g, e, ML_I_WRAP, ml_int_x(bits), all, 0, 0);
    return ml_dtype_is_int(e->type)
               ? all
               : ml_gen_to(g, e, ML_I_REINT, 0, all, ml_gen_type(g, bits),
                           ml_gen_type(g, ml_dtype_lanes(e->type, 1)));
}

static bool is_grouped(ml_Dtype t)
{
    bool real = t.code == ML_FLOAT || t.code == ML_BFLOAT;

    return (real || ml_dtype_is_int(t)) && t.bits >= 8 && t.bits <= 64;
}

static uint32_t reinterpret(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    const ml_Expr *p = e->n_args == 1 ? e->args[0] : NULL;

    if (p && p->type.bits != e->type.bits && is_grouped(p->type) && is_grouped(e->type) &&
        p->type.bits * p->type.lanes == e->type.bits * e->type.lanes)
        return regroup(g, e, lane);
    if (p == NULL || p->type.lanes != e->type.lanes || p->type.bits != e->type.bits ||
        ml_lane_bytes(p->type) == 0 || ml_lane_bytes(e->type) == 0)
        return unsupported(g, e);
    return ml_gen_to(g, e, ML_I_REINT, 0, ml_gen_lane(g, p, lane), ml_gen_type(g, p->type),
                     ml_gen_type(g, e->type));
}

static uint32_t extern_call(ml_Gen *g, const ml_Expr *e)
{
    const ml_Expr *name = e->n_args > 0 ? e->args[0] : NULL;
    const ml_Func *f = NULL;

    if (g->mod && name && name->kind == ML_EXPR_STRING)
        f = ml_module_find(g->mod, name->as.s);
    if (f)
        return ml_gen_inline(g, f, e);
    return unsupported(g, e);
}

/* ---- reference routines: dot products of bytes */

/* Byte number k of an integer, as an integer. */
static uint32_t byte_of(ml_Gen *g, const ml_Expr *e, uint32_t v, unsigned k, bool is_signed)
{
    v = shifted(g, e, ML_I_SHR, v, 8 * k);
    return is_signed
               ? ml_gen_to(g, e, ML_I_WRAP, 8, v, 0, 0)
               : ml_gen_to(g, e, ML_I_AND, ML_UNSIGNED | 64, v, ml_gen_int(g, 255), 0);
}

/* c + the products of four bytes of a with four of b; sums wrap. */
static uint32_t dot_of_bytes(ml_Gen *g, const ml_Expr *e, const uint32_t abc[3],
                             bool a_signed, bool b_signed)
{
    uint32_t sum = abc[2];

    for (unsigned k = 0; k < 4; k++) {
        uint32_t x = byte_of(g, e, abc[0], k, a_signed),
                 y = byte_of(g, e, abc[1], k, b_signed);

        x = ml_gen_to(g, e, ML_I_MULW, 32, x, y, 0);
        sum = ml_gen_to(g, e, ML_I_ADDW, ml_int_x(ml_dtype_lanes(e->type, 1)), sum, x, 0);
    }
    return sum;
}

/* The same of vectors of bytes, of which each lane of the result takes four. */
static uint32_t dot_of_lanes(ml_Gen *g, const ml_Expr *e, size_t first, unsigned lane)
{
    uint32_t sum = arg(g, e, first, lane);

    for (unsigned k = 4 * lane; k < 4 * lane + 4; k++) {
        uint32_t x = arg(g, e, first + 1, k), y = arg(g, e, first + 2, k);

        x = ml_gen_to(g, e, ML_I_MULW, 32, x, y, 0);
        sum = ml_gen_to(g, e, ML_I_ADDW, ml_int_x(ml_dtype_lanes(e->type, 1)), sum, x, 0);
    }
    return sum;
}

/* ---- reference routines: dot products of pairs of bfloat16 */

/* Denormals become zeros of their sign, as the instruction takes and gives them. */
static uint32_t flushed(ml_Gen *g, const ml_Expr *e, uint32_t v)
{
    unsigned x = ml_gen_rounding(g, ML_DT_F32);
    uint32_t size = ml_gen_to(g, e, ML_I_MATH1, x, v, ML_OP_FABS, 0);
    uint32_t low = ml_gen_to(g, e, ML_I_FLT, 0, size, ml_gen_float(g, 0x1p-126), 0);
    uint32_t zero = ml_gen_to(g, e, ML_I_MUL32, 0, v, ml_gen_float(g, 0), 0);

    return ml_gen_to(g, e, ML_I_SEL, 0, low, zero, v);
}

/* The high (1) or low (0) half of 32 bits, as a float32. */
static uint32_t half_of(ml_Gen *g, const ml_Expr *e, uint32_t v, int which)
{
    v = which ? ml_gen_to(g, e, ML_I_AND, ML_UNSIGNED | 64, v,
                          ml_gen_int(g, INT64_C(0xffff0000)), 0)
              : shifted(g, e, ML_I_SHL, v, 16);
    v = ml_gen_to(g, e, ML_I_WRAP, 32, v, 0, 0);
    return flushed(g, e,
                   ml_gen_to(g, e, ML_I_REINT, 0, v, ml_gen_type(g, ML_DT_I32),
                             ml_gen_type(g, ML_DT_F32)));
}

/* The 32 bits of two bfloat16, whatever the operand is a vector of. */
static uint32_t pair_of(ml_Gen *g, const ml_Expr *e, const ml_Expr *p, unsigned lane)
{
    uint32_t high;

    if (ml_dtype_is_int(p->type))
        return ml_gen_lane(g, p, lane);
    high = shifted(g, e, ML_I_SHL, lane_bits(g, e, p, 2 * lane + 1), 16);
    return ml_gen_to(g, e, ML_I_OR, ML_UNSIGNED | 64, lane_bits(g, e, p, 2 * lane), high,
                     0);
}

/* vdpbf16ps: c, then the product of the odd elements, then of the even ones is added, each
 * as one fused operation; denormals are zeros throughout. */
static uint32_t dot_of_pairs(ml_Gen *g, const ml_Expr *e, size_t first, unsigned lane)
{
    const ml_Expr *c = e->args[first], *a = e->args[first + 1], *b = e->args[first + 2];
    unsigned x = ml_gen_rounding(g, ML_DT_F32);
    uint32_t sum, pa, pb;

    for (int k = 0; k < 2; k++) {
        ml_Dtype t = k ? b->type : a->type;
        bool whole = ml_dtype_is_int(t) && t.bits == 32 && t.lanes == e->type.lanes;

        if (!whole && !(t.code == ML_BFLOAT && t.lanes == 2 * e->type.lanes))
            return unsupported(g, e);
    }
    if (!ml_dtype_eq(c->type, e->type) || e->type.code != ML_FLOAT || e->type.bits != 32)
        return unsupported(g, e);
    sum = flushed(g, e, ml_gen_lane(g, c, lane));
    pa = pair_of(g, e, a, lane);
    pb = pair_of(g, e, b, lane);
    for (int k = 1; k >= 0; k--)
        sum = flushed(
            g, e,
            ml_gen_to(g, e, ML_I_FMA, x, half_of(g, e, pa, k), half_of(g, e, pb, k), sum));
    return sum;
}

static bool is_32_bits(ml_Dtype t)
{
    return ml_dtype_is_int(t) && t.bits == 32;
}

/* The intrinsics that have a reference routine here: c, then a, then b. */
static uint32_t llvm_call(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    static const struct {
        const char *prefix;
        bool a_signed, b_signed, bytes; /* bytes: the operands are vectors of them */
    } known[] = {
        {"llvm.x86.avx512.vpdpbusd.", false, true, false},
        {"llvm.x86.avx2.vpdpbssd.", true, true, false},
        {"llvm.aarch64.neon.sdot.", true, true, true},
        {"llvm.aarch64.neon.udot.", false, false, true},
        {"llvm.aarch64.neon.usdot.", false, true, true},
    };
    const ml_Expr *name = e->n_args > 0 ? e->args[0] : NULL;
    size_t first = 1, at = 0;

    if (e->n_args > 1 && e->args[1]->kind == ML_EXPR_INT &&
        e->args[1]->type.code == ML_UINT)
        first = 2; /* the number of arguments that the signature names */
    while (name && name->kind == ML_EXPR_STRING && at < ML_COUNT(known) &&
           strncmp(name->as.s, known[at].prefix, strlen(known[at].prefix)) != 0)
        at++;
    if (name && name->kind == ML_EXPR_STRING && e->n_args == first + 3 &&
        strncmp(name->as.s, "llvm.x86.avx512bf16.dpbf16ps.", 29) == 0)
        return dot_of_pairs(g, e, first, lane);
    if (!name || name->kind != ML_EXPR_STRING || at == ML_COUNT(known) ||
        e->n_args != first + 3 || !is_32_bits(e->type) ||
        !ml_dtype_eq(e->args[first]->type, e->type))
        return unsupported(g, e);
    const ml_Dtype a = e->args[first + 1]->type, b = e->args[first + 2]->type;

    if (known[at].bytes) {
        if (!ml_dtype_is_int(a) || !ml_dtype_is_int(b) || a.bits != 8 || b.bits != 8 ||
            a.lanes != 4 * e->type.lanes || b.lanes != a.lanes ||
            (a.code == ML_INT) != known[at].a_signed ||
            (b.code == ML_INT) != known[at].b_signed)
            return unsupported(g, e);
        return dot_of_lanes(g, e, first, lane);
    }
    if (!ml_dtype_eq(a, e->type) || !ml_dtype_eq(b, e->type))
        return unsupported(g, e);
    const uint32_t abc[3] = {arg(g, e, first + 1, lane), arg(g, e, first + 2, lane),
                             arg(g, e, first, lane)};

    return dot_of_bytes(g, e, abc, known[at].a_signed, known[at].b_signed);
}

/* __dp4a of CUDA: a, b, c; the types of a and b say whether their bytes have signs. */
static uint32_t dp4a(ml_Gen *g, const ml_Expr *e)
{
    if (e->n_args != 4 || !is_32_bits(e->type) || e->type.lanes != 1 ||
        !is_32_bits(e->args[1]->type) || !is_32_bits(e->args[2]->type) ||
        !ml_dtype_eq(e->args[3]->type, e->type))
        return unsupported(g, e);
    const uint32_t abc[3] = {arg(g, e, 1, 0), arg(g, e, 2, 0), arg(g, e, 3, 0)};

    return dot_of_bytes(g, e, abc, e->args[1]->type.code == ML_INT,
                        e->args[2]->type.code == ML_INT);
}

/* long: one case an operator */
uint32_t ml_gen_call(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    const ml_Expr *p = e->n_args > 0 ? e->args[0] : NULL;

    switch ((ml_OpId)e->as.op->id) {
    case ML_OP_LIKELY: return p ? arg(g, e, 0, lane) : unsupported(g, e);
    case ML_OP_BITWISE_AND:
    case ML_OP_BITWISE_OR:
    case ML_OP_BITWISE_XOR:
    case ML_OP_SHIFT_LEFT:
    case ML_OP_SHIFT_RIGHT: return bits2(g, e, lane);
    case ML_OP_BITWISE_NOT:
        if (p == NULL || ml_dtype_is_float(p->type) || ml_lane_bytes(p->type) == 0)
            return unsupported(g, e);
        if (ml_dtype_is_bool(p->type))
            return ml_gen_to(g, e, ML_I_NOT, 0, arg(g, e, 0, lane), 0, 0);
        return ml_gen_to(g, e, ML_I_BNOT, ml_int_x(e->type), arg(g, e, 0, lane), 0, 0);
    case ML_OP_POPCOUNT:
    case ML_OP_CLZ:
        if (p == NULL || !ml_dtype_is_int(p->type))
            return unsupported(g, e);
        return ml_gen_to(g, e, e->as.op->id == ML_OP_CLZ ? ML_I_CLZ : ML_I_POPCOUNT,
                         ml_int_x(p->type), arg(g, e, 0, lane), 0, 0);
    case ML_OP_FMA: {
        uint32_t a, b;
        if (e->n_args != 3 || !ml_dtype_is_float(e->type))
            return unsupported(g, e);
        a = arg(g, e, 0, lane);
        b = arg(g, e, 1, lane);
        return ml_gen_to(g, e, ML_I_FMA, ml_gen_rounding(g, e->type), a, b,
                         arg(g, e, 2, lane));
    }
    case ML_OP_REINTERPRET: return reinterpret(g, e, lane);
#define ML_OP(ID, ...) case ML_OP_##ID:
#include "moonloop/core/ops_math.def"
#undef ML_OP
        return math1(g, e, lane);
    case ML_OP_ISNAN:
    case ML_OP_ISINF:
    case ML_OP_ISFINITE:
        if (p && ml_dtype_is_float(p->type))
            return ml_gen_to(g, e, ML_I_TEST, 0, arg(g, e, 0, lane), e->as.op->id, 0);
        if (p && ml_lane_bytes(p->type))
            return ml_gen_int(g, e->as.op->id == ML_OP_ISFINITE);
        return unsupported(g, e);
    case ML_OP_POW:
    case ML_OP_FMOD:
    case ML_OP_ATAN2:
    case ML_OP_HYPOT:
    case ML_OP_COPYSIGN:
    case ML_OP_NEXTAFTER:
    case ML_OP_LDEXP: return math2(g, e, lane);
    case ML_OP_Q_MULTIPLY_SHIFT:
    case ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS: return qmul(g, e, lane);
    case ML_OP_STORAGE_SYNC: /* iterations of a thread loop run one after the other */
    case ML_OP_ASSUME:       /* a promise: nothing is evaluated */
    case ML_OP_TYPE_ANNOTATION: return ml_gen_int(g, 0);
    case ML_OP_UNDEF:
        ml_gen_emit(g, ML_I_TRAP, 0, 0, ml_gen_trap(g, ML_E_UNDEFINED_READ, "undef"), 0, 0);
        return ml_gen_int(g, 0);
    case ML_OP_AXIS_SEPARATOR:
    case ML_OP_NAMED_LOAD: return unsupported(g, e);
    case ML_OP_THREAD_ALLREDUCE:
        ml_gen_emit(g, ML_I_TRAP, 0, 0,
                    ml_gen_trap(g, ML_E_THREADS_COOPERATE, "an all-reduce"), 0, 0);
        return ml_gen_int(g, 0);
    case ML_OP_CALL_EXTERN: return extern_call(g, e);
    case ML_OP_CALL_PURE_EXTERN:
        return p && p->kind == ML_EXPR_STRING && ml_streq(p->as.s, "__dp4a")
                   ? dp4a(g, e)
                   : extern_call(g, e);
    case ML_OP_CALL_LLVM_INTRIN:
    case ML_OP_CALL_LLVM_PURE_INTRIN: return llvm_call(g, e, lane);
    case ML_OP_CALL_PACKED:
    case ML_OP_CALL_CPACKED:
    case ML_OP_ADDRESS_OF:
    case ML_OP_ACCESS_PTR: return unsupported(g, e);
    case ML_OP_OTHER:
        if (g->mod && ml_module_find(g->mod, e->as.op->name))
            return ml_gen_inline(g, ml_module_find(g->mod, e->as.op->name), e);
        return unsupported(g, e);
    case ML_OP_IF_THEN_ELSE: /* compiled in gen_expr.c; here with a wrong argument count */
    case ML_OP_IDS: break;
    }
    return unsupported(g, e);
}

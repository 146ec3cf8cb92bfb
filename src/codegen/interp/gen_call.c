/*
 * gen_call - calls in expressions: mathematics, bits, calls of functions of the module.
 *
 * What cannot be executed here (external routines, asynchronous copies, tensor-core
 * operations) becomes an instruction that fails by name when it is reached.
 */
#include "moonloop/codegen/interp/code.h"

uint32_t ml_gen_arg(ml_Gen *g, const ml_Expr *e, size_t k, unsigned lane)
{
    return ml_gen_lane(g, e->args[k], e->args[k]->type.lanes > 1 ? lane : 0);
}

uint32_t ml_gen_no_call(ml_Gen *g, const ml_Expr *e)
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
        return ml_gen_no_call(g, e);
    if (!ml_dtype_is_float(e->args[0]->type)) {
        if (!ml_dtype_is_int(e->args[0]->type))
            return ml_gen_no_call(g, e);
        a = ml_gen_arg(g, e, 0, lane);
        if (e->as.op->family == ML_FAMILY_ROUND)
            return a;
        if (id == ML_OP_FABS)
            return ml_gen_to(g, e, ML_I_IABS, ml_int_x(e->type), a, 0, 0);
        return ml_gen_no_call(g, e);
    }
    a = ml_gen_arg(g, e, 0, lane);
    return ml_gen_to(g, e, ML_I_MATH1, ml_gen_rounding(g, e->type), a, id, 0);
}

static uint32_t math2(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    ml_OpId id = (ml_OpId)e->as.op->id;
    uint32_t a, b;

    if (e->n_args != 2 || !ml_dtype_is_float(e->args[0]->type) ||
        (id == ML_OP_NEXTAFTER && e->type.bits < 32))
        return ml_gen_no_call(g, e);
    a = ml_gen_arg(g, e, 0, lane);
    b = ml_gen_arg(g, e, 1, lane);
    if (!ml_dtype_is_float(e->args[1]->type)) {
        if (id != ML_OP_LDEXP)
            return ml_gen_no_call(g, e);
        b = ml_gen_to(g, e, ML_I_ITOF, 0, b, 0, 0);
    }
    return ml_gen_to(g, e, ML_I_MATH2, ml_gen_rounding(g, e->type), a, b, id);
}

static uint32_t bits2(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    ml_Inst op = ML_I_AND;
    uint32_t a, b;

    if (e->n_args != 2 || ml_dtype_is_float(e->type) || ml_lane_bytes(e->type) == 0)
        return ml_gen_no_call(g, e);
    switch ((ml_OpId)e->as.op->id) {
    case ML_OP_BITWISE_OR: op = ML_I_OR; break;
    case ML_OP_BITWISE_XOR: op = ML_I_XOR; break;
    case ML_OP_SHIFT_LEFT: op = ML_I_SHL; break;
    case ML_OP_SHIFT_RIGHT: op = ML_I_SHR; break;
    default: break; /* bitwise_and; the table of operators is not one of ours to list */
    }
    a = ml_gen_arg(g, e, 0, lane);
    b = ml_gen_arg(g, e, 1, lane);
    return ml_gen_to(g, e, op, ml_int_x(e->type), a, b,
                     g->checked && e->type.code == ML_INT);
}

static uint32_t qmul(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    bool axis = e->as.op->id == ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS;
    uint32_t *list = ML_ARRAY(g->cx, uint32_t, 5);

    if (e->n_args != (axis ? 7 : 4) || e->type.code != ML_INT || e->type.bits != 32)
        return ml_gen_no_call(g, e);
    list[0] = ml_gen_arg(g, e, 0, lane);
    list[1] = ml_gen_arg(g, e, 1, lane);
    if (axis) { /* x, y, left, right, q, is left needed, is right needed */
        uint32_t zero = ml_gen_int(g, 0);
        list[2] = ml_gen_to(g, e, ML_I_SEL, 0, ml_gen_arg(g, e, 5, lane),
                            ml_gen_arg(g, e, 2, lane), zero);
        list[3] = ml_gen_to(g, e, ML_I_SEL, 0, ml_gen_arg(g, e, 6, lane),
                            ml_gen_arg(g, e, 3, lane), zero);
        list[4] = ml_gen_arg(g, e, 4, lane);
    } else { /* x, y, q, s: s > 0 shifts left first, s < 0 right with q */
        uint32_t s = ml_gen_arg(g, e, 3, lane), zero = ml_gen_int(g, 0);
        list[2] = ml_gen_to(g, e, ML_I_MAX, 64, s, zero, 0);
        list[3] = ml_gen_to(g, e, ML_I_MAX, 64, ml_gen_to(g, e, ML_I_SUBW, 64, zero, s, 0),
                            zero, 0);
        list[4] = ml_gen_arg(g, e, 2, lane);
    }
    ml_push(g->cx, &g->lists, list);
    return ml_gen_to(g, e, ML_I_QMUL, 32, (int64_t)g->lists.n - 1, 0, 0);
}

uint32_t ml_gen_shifted(ml_Gen *g, const ml_Expr *e, ml_Inst op, uint32_t v, unsigned by)
{
    return by ? ml_gen_to(g, e, op, ML_UNSIGNED | 64, v, ml_gen_int(g, by), 0) : v;
}

uint32_t ml_gen_lane_bits(ml_Gen *g, const ml_Expr *e, const ml_Expr *p, unsigned lane)
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
        all = ml_gen_shifted(g, e, ML_I_SHR, ml_gen_lane_bits(g, e, p, lane / n),
                             lane % n * to);
    } else {
        int64_t mask = (int64_t)((UINT64_C(1) << from) - 1); /* from < to <= 64 */
        all = ml_gen_int(g, 0);
        for (unsigned k = 0; k < to / from; k++) {
            uint32_t v = ml_gen_lane_bits(g, e, p, lane * (to / from) + k);
            v = ml_gen_to(g, e, ML_I_AND, ML_UNSIGNED | 64, v, ml_gen_int(g, mask), 0);
            v = ml_gen_shifted(g, e, ML_I_SHL, v, k * from);
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
        return ml_gen_no_call(g, e);
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
    return ml_gen_no_call(g, e);
}

/* What a warp does as one; what it names is computed by its first lane alone, unless each lane
 * has a part of its own. */
static uint32_t warp_call(ml_Gen *g, const ml_Expr *e)
{
    ml_Label *behind = ml_gen_label(g);
    size_t mark = ml_gen_memo_mark(g);
    uint32_t r;

    if (ml_gen_warp_call(g, e))
        return ml_gen_int(g, 0);
    ml_gen_warp_begin(g, behind);
    r = ml_gen_fragment_call(g, e);
    ml_gen_memo_release(g, mark);
    ml_gen_warp_end(g, behind);
    return r;
}

/* long: one case an operator */
uint32_t ml_gen_call(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    const ml_Expr *p = e->n_args > 0 ? e->args[0] : NULL;

    switch ((ml_OpId)e->as.op->id) {
    case ML_OP_LIKELY: return p ? ml_gen_arg(g, e, 0, lane) : ml_gen_no_call(g, e);
    case ML_OP_BITWISE_AND:
    case ML_OP_BITWISE_OR:
    case ML_OP_BITWISE_XOR:
    case ML_OP_SHIFT_LEFT:
    case ML_OP_SHIFT_RIGHT: return bits2(g, e, lane);
    case ML_OP_BITWISE_NOT:
        if (p == NULL || ml_dtype_is_float(p->type) || ml_lane_bytes(p->type) == 0)
            return ml_gen_no_call(g, e);
        if (ml_dtype_is_bool(p->type))
            return ml_gen_to(g, e, ML_I_NOT, 0, ml_gen_arg(g, e, 0, lane), 0, 0);
        return ml_gen_to(g, e, ML_I_BNOT, ml_int_x(e->type), ml_gen_arg(g, e, 0, lane), 0,
                         0);
    case ML_OP_POPCOUNT:
    case ML_OP_CLZ:
        if (p == NULL || !ml_dtype_is_int(p->type))
            return ml_gen_no_call(g, e);
        return ml_gen_to(g, e, e->as.op->id == ML_OP_CLZ ? ML_I_CLZ : ML_I_POPCOUNT,
                         ml_int_x(p->type), ml_gen_arg(g, e, 0, lane), 0, 0);
    case ML_OP_FMA: {
        uint32_t a, b;
        if (e->n_args != 3 || !ml_dtype_is_float(e->type))
            return ml_gen_no_call(g, e);
        a = ml_gen_arg(g, e, 0, lane);
        b = ml_gen_arg(g, e, 1, lane);
        return ml_gen_to(g, e, ML_I_FMA, ml_gen_rounding(g, e->type), a, b,
                         ml_gen_arg(g, e, 2, lane));
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
            return ml_gen_to(g, e, ML_I_TEST, 0, ml_gen_arg(g, e, 0, lane), e->as.op->id,
                             0);
        if (p && ml_lane_bytes(p->type))
            return ml_gen_int(g, e->as.op->id == ML_OP_ISFINITE);
        return ml_gen_no_call(g, e);
    case ML_OP_POW:
    case ML_OP_FMOD:
    case ML_OP_ATAN2:
    case ML_OP_HYPOT:
    case ML_OP_COPYSIGN:
    case ML_OP_NEXTAFTER:
    case ML_OP_LDEXP: return math2(g, e, lane);
    case ML_OP_Q_MULTIPLY_SHIFT:
    case ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS: return qmul(g, e, lane);
    case ML_OP_STORAGE_SYNC: ml_gen_barrier(g, e); return ml_gen_int(g, 0);
    case ML_OP_ASSUME: /* a promise: nothing is evaluated */
    case ML_OP_TYPE_ANNOTATION: return ml_gen_int(g, 0);
    case ML_OP_UNDEF:
        ml_gen_emit(g, ML_I_TRAP, 0, 0, ml_gen_trap(g, ML_E_UNDEFINED_READ, "undef"), 0, 0);
        return ml_gen_int(g, 0);
    case ML_OP_AXIS_SEPARATOR:
    case ML_OP_NAMED_LOAD: return ml_gen_no_call(g, e);
    case ML_OP_THREAD_ALLREDUCE:
        ml_gen_emit(g, ML_I_TRAP, 0, 0,
                    ml_gen_trap(g, ML_E_THREADS_COOPERATE, "an all-reduce"), 0, 0);
        return ml_gen_int(g, 0);
    case ML_OP_CALL_EXTERN: return extern_call(g, e);
    case ML_OP_CALL_PURE_EXTERN:
        return p && p->kind == ML_EXPR_STRING && ml_streq(p->as.s, "__dp4a")
                   ? ml_gen_dp4a(g, e)
                   : extern_call(g, e);
    case ML_OP_CALL_LLVM_INTRIN:
    case ML_OP_CALL_LLVM_PURE_INTRIN: return ml_gen_llvm_call(g, e, lane);
    case ML_OP_CALL_PACKED:
    case ML_OP_CALL_CPACKED:
    case ML_OP_ADDRESS_OF:
    case ML_OP_ACCESS_PTR: return ml_gen_no_call(g, e);
    case ML_OP_OTHER:
        if (g->mod && ml_module_find(g->mod, e->as.op->name))
            return ml_gen_inline(g, ml_module_find(g->mod, e->as.op->name), e);
        return warp_call(g, e);
    case ML_OP_IF_THEN_ELSE: /* compiled in gen_expr.c; here with a wrong argument count */
    case ML_OP_IDS: break;
    }
    return ml_gen_no_call(g, e);
}

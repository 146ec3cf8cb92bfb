/*
 * call - calls in expressions: bits, fused products, reinterpretation, mathematics, others'
 * functions, which are declared with the C types of their arguments.
 *
 * Shift counts outside the width are an error of the program; here they are taken modulo
 * the width. An intrinsic of LLVM has no C.
 */
#include "moonloop/codegen/c/emit.h"

static ml_CpText bad(ml_Cp *g, const ml_Expr *e)
{
    const ml_Expr *name = e->n_args > 0 ? e->args[0] : NULL;

    if (name && name->kind == ML_EXPR_STRING)
        ml_cp_unsupported(g, "%s of %s in C", e->as.op->name, name->as.s);
    else
        ml_cp_unsupported(g, "%s in C", e->as.op->name);
    return (ml_CpText){"0", ML_CP_ATOM};
}

/* op(arguments), each of the type and lanes of the function. */
static ml_CpText apply(ml_Cp *g, const ml_Expr *e, const char *op, ml_Dtype t,
                       unsigned lane0, unsigned n)
{
    const char *name = ml_cp_op(g, op, ml_dtype_lanes(t, 1), n), *a[3] = {"", "", ""};

    for (size_t k = 0; k < e->n_args && k < 3; k++)
        a[k] = ml_cp_arg(g, e->args[k], lane0, n);
    return ml_cp_text(g, ML_CP_ATOM, "%s(%s%s%s%s%s)", name, a[0],
                      e->n_args > 1 ? ", " : "", a[1], e->n_args > 2 ? ", " : "", a[2]);
}

/* ---------------------------------------------------------------- bits */

static bool has_bits(ml_Dtype t)
{
    return ml_dtype_is_int(t) || t.code == ML_BOOL;
}

static ml_CpText bits2(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_Dtype t = e->type;

    if (e->n_args != 2 || !has_bits(t) || !has_bits(e->args[0]->type) ||
        e->args[0]->type.bits != t.bits || e->args[1]->type.bits != t.bits)
        return bad(g, e);
    switch ((int)e->as.op->id) {
    case ML_OP_BITWISE_AND: return apply(g, e, "and", t, lane0, n);
    case ML_OP_BITWISE_OR: return apply(g, e, "or", t, lane0, n);
    case ML_OP_BITWISE_XOR: return apply(g, e, "xor", t, lane0, n);
    case ML_OP_SHIFT_LEFT: return apply(g, e, "shl", t, lane0, n);
    default: return apply(g, e, "shr", t, lane0, n);
    }
}

static ml_CpText count_bits(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_Dtype t = e->n_args == 1 ? e->args[0]->type : ML_DT_VOID;

    if (!ml_dtype_is_int(t) || !ml_dtype_is_int(e->type) || !ml_cp_dtype_ok(g, t))
        return bad(g, e);
    return ml_cp_cast(
        g, t, e->type, n,
        apply(g, e, ml_is_op(e, ML_OP_POPCOUNT) ? "popcount" : "clz", t, lane0, n));
}

/* round(x * 2^left * y / 2^(q + right)), halves up, lane by lane. */
static ml_CpText multiply_shift(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    static const char text[] =
        "ML_FUNCTION int32_t ml_multiply_shift(int64_t x, int64_t y, int64_t left, int64_t "
        "right)\n"
        "{\n    uint64_t p = ((uint64_t)x << (left & 63)) * (uint64_t)y;\n\n"
        "    if (right > 62)\n        right = 62;\n"
        "    if (right > 0)\n"
        "        p = (uint64_t)((int64_t)(p + (UINT64_C(1) << (right - 1))) >> right);\n"
        "    return (int32_t)p;\n}\n\n";
    bool axis = ml_is_op(e, ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS);
    const char *a[7];
    ml_Text list = {0};
    ml_CpText r;

    if (e->n_args != (axis ? 7 : 4) || e->type.code != ML_INT || e->type.bits != 32)
        return bad(g, e);
    ml_cp_declare(g, "ml_multiply_shift", text);
    for (size_t k = 0; k < e->n_args; k++) {
        if (!has_bits(e->args[k]->type) || !ml_cp_dtype_ok(g, e->args[k]->type))
            return bad(g, e);
        a[k] = ml_cp_arg(g, e->args[k], lane0, n);
        a[k] = ml_cp_keep(g, ml_cp_type(g, e->args[k]->type, n), a[k]);
    }
    for (unsigned l = 0; l < (n ? n : 1); l++) {
        const char *v[7];
        for (size_t k = 0; k < e->n_args; k++)
            v[k] = n ? ml_format(g->cx, "ML_AT(%s, %u)", a[k], l) : a[k];
        ml_text_add(&list, l ? ", " : "");
        if (axis)
            ml_text_fmt(&list, "ml_multiply_shift(%s, %s, %s ? %s : 0, %s + (%s ? %s : 0))",
                        v[0], v[1], v[5], v[2], v[4], v[6], v[3]);
        else
            ml_text_fmt(&list,
                        "ml_multiply_shift(%s, %s, %s > 0 ? %s : 0, (int64_t)%s - (%s < 0 "
                        "? %s : 0))",
                        v[0], v[1], v[3], v[3], v[2], v[3], v[3]);
    }
    r = n ? ml_cp_text(g, ML_CP_ATOM, "((%s)ML_LIST(%s))", ml_cp_type(g, e->type, n),
                       ml_text_z(&list))
          : ml_cp_text(g, ML_CP_ATOM, "%s", ml_text_z(&list));
    ml_text_free(&list);
    return r;
}

/* ---------------------------------------------------------------- the same bits */

/* Through memory: the bits of each lane, or of all of them together. */
static ml_CpText reinterpret(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *p = e->n_args == 1 ? e->args[0] : NULL;
    ml_Dtype from = p ? ml_dtype_lanes(p->type, 1) : ML_DT_VOID,
             to = ml_dtype_lanes(e->type, 1);
    unsigned m = p && p->type.lanes > 1 ? p->type.lanes : 0, ln = n ? n : 1;
    const char *f, *a, *r;

    if (p == NULL || !ml_cp_dtype_ok(g, from) || !ml_cp_dtype_ok(g, to) ||
        from.code >= ML_HANDLE || to.code >= ML_HANDLE || from.code == ML_BOOL ||
        to.code == ML_BOOL || from.bits * p->type.lanes != to.bits * e->type.lanes)
        return bad(g, e);
    if (from.bits == to.bits)
        m = n;
    else if (ml_cp_is_half(from) || ml_cp_is_half(to) || (n && n != e->type.lanes) ||
             (m && ml_cp_chunk(p, 0, m) != m))
        return bad(g, e);
    a = ml_cp_type(g, from, m);
    r = ml_cp_type(g, to, n);
    f = ml_format(g->cx, "ml_bits_%sx%u_%sx%u", ml_cp_short(g->cx, from), m,
                  ml_cp_short(g->cx, to), n);
    {
        const char *get = ml_cp_cell(g, "get", to), *put = ml_cp_cell(g, "put", from);
        const char *v = from.bits == to.bits ? ml_cp_value(g, p, lane0, n).z
                                             : ml_cp_value(g, p, 0, m).z;
        unsigned bytes = to.bits / 8;
        if (ml_cp_first(g, f)) {
            ml_text_fmt(&g->below,
                        "ML_FUNCTION %s %s(%s a)\n{\n    char v[%u];\n    %s r%s;\n\n", r,
                        f, a, bytes * ln, r, n ? " = ML_LIST(0)" : "");
            if (m)
                ml_text_fmt(&g->below,
                            "    for (int k = 0; k < %u; k++)\n        %s(v + k * %u, "
                            "ML_AT(a, k));\n",
                            m, put, from.bits / 8u);
            else
                ml_text_fmt(&g->below, "    %s(v, a);\n", put);
            if (n)
                ml_text_fmt(&g->below,
                            "    for (int k = 0; k < %u; k++)\n        ML_AT(r, k) = %s(v "
                            "+ k * %u);\n",
                            n, get, bytes);
            else
                ml_text_fmt(&g->below, "    r = %s(v);\n", get);
            ml_text_add(&g->below, "    return r;\n}\n\n");
        }
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s)", f, v);
    }
}

/* ---------------------------------------------------------------- mathematics */

static ml_CpText ldexp_of(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    static const char text[] =
        "ML_FUNCTION double ml_ldexp_f64(double a, double b)\n{\n"
        "    return ldexp(a, b > 100000 ? 100000 : b < -100000 ? -100000 : (int)b);\n}\n\n";
    ml_Dtype t = e->args[0]->type;
    ml_CpText x, y;

    ml_cp_declare(g, "ml_ldexp_f64", text);
    x = ml_cp_cast(g, t, ML_DT_F64, n,
                   ml_cp_text(g, 0, "%s", ml_cp_arg(g, e->args[0], lane0, n)));
    y = ml_cp_cast(g, e->args[1]->type, ML_DT_F64, n,
                   ml_cp_text(g, 0, "%s", ml_cp_arg(g, e->args[1], lane0, n)));
    if (n) {
        const char *v = ml_cp_type(g, ML_DT_F64, n),
                   *f = ml_format(g->cx, "ml_ldexp_%s", v + 3);
        ml_cp_declare(
            g, f,
            ml_format(g->cx,
                      "ML_FUNCTION %s %s(%s a, %s b)\n{\n    %s r = ML_LIST(0);\n\n"
                      "    for (int k = 0; k < %u; k++)\n"
                      "        ML_AT(r, k) = ml_ldexp_f64(ML_AT(a, k), ML_AT(b, k));\n"
                      "    return r;\n}\n\n",
                      v, f, v, v, v, n));
        x = ml_cp_text(g, ML_CP_ATOM, "%s(%s, %s)", f, x.z, y.z);
    } else {
        x = ml_cp_text(g, ML_CP_ATOM, "ml_ldexp_f64(%s, %s)", x.z, y.z);
    }
    return ml_cp_cast(g, ML_DT_F64, t, n, x);
}

static ml_CpText math(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_OpId id = (ml_OpId)e->as.op->id;
    ml_Dtype t = e->n_args > 0 ? e->args[0]->type : ML_DT_VOID;

    if (e->n_args != (unsigned)ml_op(id)->n_args || !ml_cp_dtype_ok(g, t))
        return bad(g, e);
    if (!ml_dtype_is_float(t)) {
        if (!ml_dtype_is_int(t) ||
            !(e->as.op->family == ML_FAMILY_ROUND || id == ML_OP_FABS))
            return bad(g, e);
        if (id != ML_OP_FABS || t.code == ML_UINT)
            return ml_cp_value(g, e->args[0], lane0, n);
        return apply(g, e, "abs", t, lane0, n);
    }
    if (id == ML_OP_LDEXP)
        return ldexp_of(g, e, lane0, n);
    if (e->n_args == 2 &&
        (!ml_dtype_is_float(e->args[1]->type) || (id == ML_OP_NEXTAFTER && t.bits < 32)))
        return bad(g, e);
    return apply(g, e, e->as.op->name, t, lane0, n);
}

static ml_CpText tests(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *p = e->n_args == 1 ? e->args[0] : NULL;

    if (p && has_bits(p->type)) {
        const char *z = ml_is_op(e, ML_OP_ISFINITE) ? "true" : "false";
        return n ? ml_cp_text(g, ML_CP_ATOM, "%s(%s)", ml_cp_splat(g, ML_DT_BOOL, n), z)
                 : (ml_CpText){z, ML_CP_ATOM};
    }
    if (p == NULL || !ml_dtype_is_float(p->type) || !ml_cp_dtype_ok(g, p->type))
        return bad(g, e);
    return apply(g, e, e->as.op->name, ml_cp_value_type(p->type), lane0, n);
}

/* ---------------------------------------------------------------- others' functions */

static const char *outer_type(ml_Cp *g, ml_Dtype t)
{
    return t.code == ML_VOID || t.lanes == 0 ? "void"
           : t.code == ML_HANDLE             ? "void *"
                                             : ml_cp_memory_type(g->cx, t);
}

/* Those of math.h are declared by it. */
static bool in_math_h(const char *name)
{
    size_t n = strlen(name);

    for (ml_OpId id = ML_OP_OTHER + 1; id < ML_OP_IDS; id++) {
        const ml_Op *op = ml_op(id);
        size_t m = strlen(op->name);
        if (m && strncmp(op->name, name, m) == 0 &&
            (n == m || (n == m + 1 && name[m] == 'f')) &&
            (op->family != ML_FAMILY_OWN || id == ML_OP_POW || id == ML_OP_FMA ||
             id == ML_OP_FMOD || id == ML_OP_ATAN2 || id == ML_OP_HYPOT))
            return id != ML_OP_RSQRT && id != ML_OP_SIGMOID && id != ML_OP_EXP10;
    }
    return false;
}

static ml_CpText external(ml_Cp *g, const ml_Expr *e, unsigned n)
{
    const ml_Expr *name = e->n_args > 0 ? e->args[0] : NULL;
    ml_Text args = {0}, types = {0};
    ml_CpText r;

    if (name == NULL || name->kind != ML_EXPR_STRING || n || g->mask ||
        !ml_code_is_c_name(name->as.s))
        return bad(g, e);
    for (unsigned k = 1; k < e->n_args; k++) {
        const ml_Expr *a = e->args[k];
        bool text = a->kind == ML_EXPR_STRING;
        if (!text && (a->type.lanes != 1 || !ml_cp_dtype_ok(g, a->type))) {
            ml_text_free(&args);
            ml_text_free(&types);
            return bad(g, e);
        }
        ml_text_fmt(&types, "%s%s", k > 1 ? ", " : "",
                    text ? "const char *" : outer_type(g, a->type));
        ml_text_add(&args, k > 1 ? ", " : "");
        if (text) {
            ml_text_char(&args, '"');
            for (const char *c = a->as.s; *c; c++)
                if (*c == '"' || *c == '\\' || *c == '?' || (unsigned char)*c < 32)
                    ml_text_fmt(&args, "\\%03o", (unsigned char)*c);
                else
                    ml_text_char(&args, *c);
            ml_text_char(&args, '"');
        } else {
            ml_text_add(&args, a->type.code == ML_HANDLE ? "(void *)(" : "(");
            ml_text_fmt(&args, "%s)", ml_cp_value(g, a, 0, 0).z);
        }
    }
    if (!in_math_h(name->as.s))
        ml_cp_declare(g, name->as.s,
                      ml_format(g->cx, "%s %s(%s);\n\n", outer_type(g, e->type), name->as.s,
                                types.n ? ml_text_z(&types) : "void"));
    r = ml_cp_text(g, ML_CP_ATOM, "%s(%s)", name->as.s, ml_text_z(&args));
    ml_text_free(&args);
    ml_text_free(&types);
    return r;
}

ml_CpText ml_cp_call(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    switch ((ml_OpId)e->as.op->id) {
    case ML_OP_LIKELY:
        return e->n_args == 1 ? ml_cp_value(g, e->args[0], lane0, n) : bad(g, e);
    case ML_OP_BITWISE_AND:
    case ML_OP_BITWISE_OR:
    case ML_OP_BITWISE_XOR:
    case ML_OP_SHIFT_LEFT:
    case ML_OP_SHIFT_RIGHT: return bits2(g, e, lane0, n);
    case ML_OP_BITWISE_NOT:
        if (e->n_args != 1 || !has_bits(e->args[0]->type))
            return bad(g, e);
        return apply(g, e, e->type.code == ML_BOOL ? "flip" : "not", e->type, lane0, n);
    case ML_OP_POPCOUNT:
    case ML_OP_CLZ: return count_bits(g, e, lane0, n);
    case ML_OP_FMA:
        if (e->n_args != 3 || !ml_dtype_is_float(e->type))
            return bad(g, e);
        return apply(g, e, "fma", e->type, lane0, n);
    case ML_OP_REINTERPRET: return reinterpret(g, e, lane0, n);
#define ML_OP(ID, ...) case ML_OP_##ID:
#include "moonloop/core/ops_math.def"
#undef ML_OP
    case ML_OP_POW:
    case ML_OP_FMOD:
    case ML_OP_ATAN2:
    case ML_OP_HYPOT:
    case ML_OP_COPYSIGN:
    case ML_OP_NEXTAFTER:
    case ML_OP_LDEXP: return math(g, e, lane0, n);
    case ML_OP_ISNAN:
    case ML_OP_ISINF:
    case ML_OP_ISFINITE: return tests(g, e, lane0, n);
    case ML_OP_Q_MULTIPLY_SHIFT:
    case ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS: return multiply_shift(g, e, lane0, n);
    case ML_OP_CALL_EXTERN:
    case ML_OP_CALL_PURE_EXTERN: return external(g, e, n);
    case ML_OP_STORAGE_SYNC:
    case ML_OP_ASSUME:
    case ML_OP_TYPE_ANNOTATION: return (ml_CpText){"0", ML_CP_ATOM};
    case ML_OP_UNDEF:
        return n ? ml_cp_text(g, ML_CP_ATOM, "((%s)ML_LIST(0))", ml_cp_type(g, e->type, n))
                 : (ml_CpText){"0", ML_CP_ATOM};
    default: return bad(g, e);
    }
}

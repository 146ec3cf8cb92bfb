/*
 * print_call - calls of operators: the helper T.name(...) where reading it rebuilds this
 * very call, T.call_intrin("dtype", "tir.name", ...) otherwise.
 *
 * The helpers of the text fold, promote and type their result (script 10.4); `helper_ok`
 * says for each operator when none of that would happen. Source: script 12.4.
 */
#include "moonloop/core/script/lowcall.h"
#include "moonloop/core/script/print/print.h"

static bool is_literal(const ml_Expr *e)
{
    return e->kind == ML_EXPR_INT || e->kind == ML_EXPR_FLOAT ||
           (e->kind == ML_EXPR_BROADCAST && is_literal(e->args[0]));
}

static bool same_types(const ml_Expr *e)
{
    for (size_t k = 0; k < e->n_args; k++)
        if (!ml_dtype_eq(e->args[k]->type, e->type))
            return false;
    return true;
}

static bool int_or_bool(ml_Dtype t)
{
    return ml_dtype_is_int(t) || ml_dtype_is_bool(t);
}

static bool starts_with_name(const ml_Expr *e)
{
    return e->n_args > 0 && e->args[0]->kind == ML_EXPR_STRING;
}

/* A uint32 literal after the name that counts the arguments behind it is dropped on reading
 * (the signature count of older texts). */
static bool has_signature_count(const ml_Expr *e)
{
    return e->n_args > 1 && e->args[1]->kind == ML_EXPR_INT &&
           ml_dtype_eq(e->args[1]->type, ML_DT(ML_UINT, 32)) &&
           e->args[1]->as.i == (int64_t)e->n_args - 2;
}

static bool low_ok(const ml_Expr *e)
{
    const ml_Low *l = ml_low_find(ml_str(e->as.op->name));
    ml_Dtype t;

    if (!l || e->n_args < l->least || e->n_args > l->most ||
        ml_low_meant(ml_str(e->as.op->name)))
        return false;
    if (l->result == ML_LOW_FIRST || l->result == ML_LOW_LAST || l->result == ML_LOW_KEY)
        return true;
    return ml_low_type(l, e->args, e->n_args, &t) && ml_dtype_eq(t, e->type);
}

/* long: one case an operator */
static bool helper_ok(const ml_Expr *e)
{
    const ml_Op *op = e->as.op;
    /* Where the operator has no such argument, nothing below reads them. */
    const ml_Expr *a = e->n_args > 0 ? e->args[0] : e;
    const ml_Expr *b = e->n_args > 1 ? e->args[1] : e;

    if (op->n_args >= 0 && e->n_args != op->n_args)
        return false;
    switch ((ml_OpId)op->id) {
    case ML_OP_OTHER: return low_ok(e);
    case ML_OP_IF_THEN_ELSE:
        return !is_literal(a) && ml_dtype_eq(a->type, ML_DT_BOOL) &&
               ml_dtype_eq(b->type, e->type) && ml_dtype_eq(e->args[2]->type, e->type) &&
               (int_or_bool(e->type) || ml_dtype_is_float(e->type));
    case ML_OP_LIKELY: return !is_literal(a) && ml_dtype_is_bool(a->type) && same_types(e);
    case ML_OP_BITWISE_AND:
    case ML_OP_BITWISE_OR:
    case ML_OP_BITWISE_XOR:
        return same_types(e) && int_or_bool(e->type) && !(is_literal(a) && is_literal(b));
    case ML_OP_BITWISE_NOT: return same_types(e) && int_or_bool(e->type) && !is_literal(a);
    case ML_OP_SHIFT_LEFT:
    case ML_OP_SHIFT_RIGHT:
        if (!same_types(e) || !ml_dtype_is_int(e->type) || (is_literal(a) && is_literal(b)))
            return false;
        return b->kind != ML_EXPR_INT ? !is_literal(b)
                                      : b->as.i > 0 && b->as.i < (int64_t)e->type.bits;
    case ML_OP_POPCOUNT:
    case ML_OP_CLZ: return same_types(e) && ml_dtype_is_int(e->type);
    case ML_OP_FMA:
    case ML_OP_ATAN2:
    case ML_OP_HYPOT:
    case ML_OP_COPYSIGN:
    case ML_OP_NEXTAFTER: return same_types(e) && ml_dtype_is_float(e->type);
#define ML_OP(ID, ...) case ML_OP_##ID:
#include "moonloop/core/ops_math.def"
#undef ML_OP
        return same_types(e) && ml_dtype_is_float(e->type) &&
               !(op->family == ML_FAMILY_ROUND && is_literal(a));
    case ML_OP_POW:
    case ML_OP_FMOD:
        return same_types(e) && ml_dtype_is_float(e->type) &&
               !(is_literal(a) && is_literal(b));
    case ML_OP_LDEXP: return ml_dtype_eq(a->type, e->type) && ml_dtype_is_float(e->type);
    case ML_OP_ISNAN:
        return a->type.code == ML_FLOAT && a->type.bits >= 32 && !is_literal(a) &&
               ml_dtype_eq(e->type, ml_dtype_lanes(ML_DT_BOOL, a->type.lanes));
    case ML_OP_ISINF: /* T.isinf and T.isfinite expand */
    case ML_OP_ISFINITE: return false;
    case ML_OP_REINTERPRET:
        return !ml_dtype_eq(a->type, e->type) && a->type.code != ML_VOID &&
               (unsigned)a->type.bits * a->type.lanes ==
                   (unsigned)e->type.bits * e->type.lanes;
    case ML_OP_Q_MULTIPLY_SHIFT:
    case ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS:
        return ml_dtype_eq(a->type, e->type) && !is_literal(a);
    case ML_OP_CALL_EXTERN:
    case ML_OP_CALL_PURE_EXTERN: return starts_with_name(e);
    case ML_OP_CALL_LLVM_INTRIN:
    case ML_OP_CALL_LLVM_PURE_INTRIN:
        return starts_with_name(e) && strncmp(a->as.s, "llvm.", 5) == 0 &&
               !has_signature_count(e);
    case ML_OP_CALL_PACKED:
    case ML_OP_CALL_CPACKED: return starts_with_name(e) && ml_dtype_eq(e->type, ML_DT_I32);
    case ML_OP_ADDRESS_OF:
        return a->kind == ML_EXPR_LOAD && !(a->flags & ML_X_MASKED) &&
               e->type.code == ML_HANDLE;
    case ML_OP_ACCESS_PTR:
        return ml_is_op(a, ML_OP_TYPE_ANNOTATION) && e->type.code == ML_HANDLE;
    case ML_OP_TYPE_ANNOTATION: return true;
    case ML_OP_THREAD_ALLREDUCE: return e->type.code == ML_HANDLE;
    case ML_OP_STORAGE_SYNC: return ml_dtype_eq(e->type, ML_DT_I32);
    case ML_OP_ASSUME: return ml_dtype_eq(e->type, ML_DT_BOOL);
    case ML_OP_AXIS_SEPARATOR:
    case ML_OP_UNDEF: return ml_dtype_eq(e->type, ML_DT_I32);
    case ML_OP_NAMED_LOAD: return starts_with_name(e);
    case ML_OP_IDS: return false;
    }
    return false;
}

/* Whether the call is one of T.ptx that is written without the dtype void. */
static bool without_dtype(const ml_Expr *e)
{
    ml_Dtype t;

    return e->type.code == ML_VOID && strchr(e->as.op->name, '.') &&
           !(e->n_args > 0 && e->args[0]->kind == ML_EXPR_STRING &&
             ml_dtype_parse(ml_str(e->args[0]->as.s), &t));
}

static const char *helper_name(const ml_Op *op)
{
    if (op->id == ML_OP_CALL_PACKED)
        return "call_packed";
    if (op->id == ML_OP_CALL_CPACKED)
        return "call_cpacked";
    return op->name;
}

/* A call of another function of the module that is printed: Module.f(...). */
static bool print_module_call(ml_Printer *p, const ml_Expr *e)
{
    const char *name = e->as.op->name;
    const ml_Func *f = p->mod && name[0] == '@' ? ml_module_find(p->mod, name + 1) : NULL;

    if (!f || !ml_dtype_eq(f->ret, e->type) ||
        !ml_streq(ml_name_of_func(p->cx, f->name), f->name))
        return false;
    ml_pr_z(p, "Module.");
    ml_pr_z(p, f->name);
    ml_pr_z(p, "(");
    ml_pr_args(p, e->args, e->n_args);
    ml_pr_z(p, ")");
    return true;
}

void ml_pr_call(ml_Printer *p, const ml_Expr *e)
{
    if (print_module_call(p, e))
        return;

    const ml_Op *op = e->as.op;
    const ml_Low *low = op->id == ML_OP_OTHER ? ml_low_find(ml_str(op->name)) : NULL;
    bool first = low ? low->result == ML_LOW_FIRST && !without_dtype(e) : op->dtype_first;

    if (!helper_ok(e)) {
        low = NULL;
        ml_pr_t(p, "call_intrin(");
        ml_pr_dtype(p, e->type);
        ml_pr_z(p, p->newest ? ", \"tirx." : ", \"tir.");
        ml_pr_z(p, op->name);
        ml_pr_z(p, e->n_args ? "\", " : "\"");
    } else {
        ml_pr_t(p, helper_name(op));
        ml_pr_z(p, "(");
        if (first) {
            ml_pr_dtype(p, e->type);
            ml_pr_z(p, e->n_args ? ", " : "");
        }
    }
    ml_pr_args(p, e->args, e->n_args);
    if (low && low->result == ML_LOW_LAST) {
        ml_pr_z(p, e->n_args ? ", " : "");
        ml_pr_dtype(p, e->type);
    }
    if (low && low->result == ML_LOW_KEY && e->type.code != ML_VOID) {
        ml_pr_z(p, e->n_args ? ", dtype=" : "dtype=");
        ml_pr_dtype(p, e->type);
    }
    ml_pr_z(p, ")");
}

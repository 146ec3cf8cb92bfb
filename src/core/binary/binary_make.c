/*
 * binary_make - nodes from the fields that were read.
 *
 * Expressions are interned as they are, without folding; what their constructors assert is
 * asked here first, since bytes may say anything.
 */
#include "moonloop/core/binary/binary_impl.h"
#include "moonloop/core/expr_impl.h"

/* ---------------------------------------------------------------- expressions */

static bool same_type(const ml_Expr *a, const ml_Expr *b)
{
    return ml_dtype_eq(a->type, b->type);
}

static bool is_scalar(const ml_Expr *e)
{
    return e->type.lanes == 1;
}

static bool is_condition(const ml_Expr *c, ml_Dtype t)
{
    return ml_dtype_is_bool(c->type) && (is_scalar(c) || c->type.lanes == t.lanes);
}

static bool load_holds(const ml_Expr *e, const ml_Expr *const *args)
{
    const ml_Buffer *b = e->as.buffer;
    bool masked = e->flags & ML_X_MASKED;
    uint32_t lanes = b->rank ? args[b->rank - 1]->type.lanes : 1u;

    return lanes * b->type.lanes <= UINT16_MAX && lanes * b->type.lanes == e->type.lanes &&
           e->type.code == b->type.code && e->type.bits == b->type.bits &&
           (!masked || ml_dtype_is_bool(args[b->rank]->type));
}

static bool shuffle_holds(const ml_Expr *e, const ml_Expr *const *args)
{
    if (e->as.i < 1 || e->as.i >= e->n_args || e->type.lanes != e->n_args - e->as.i)
        return false;
    for (int64_t k = 0; k < e->n_args; k++)
        if (k < e->as.i
                ? args[k]->type.code != e->type.code || args[k]->type.bits != e->type.bits
                : args[k]->kind != ML_EXPR_INT)
            return false;
    return true;
}

/* Whether the dtypes of the node and its arguments, of which there are enough, fit. */
static bool types_hold(const ml_Expr *e, const ml_Expr *const *args)
{
    ml_ExprKind kind = (ml_ExprKind)e->kind;
    ml_Dtype t = e->type;

    switch (kind) {
    case ML_EXPR_INT:
        return (ml_dtype_is_int(t) || ml_dtype_is_bool(t)) && t.lanes == 1 &&
               ml_dtype_wrap(t, e->as.i) == e->as.i;
    case ML_EXPR_FLOAT: return ml_dtype_is_float(t) && t.lanes == 1;
    case ML_EXPR_STRING: return t.code == ML_VOID;
    case ML_EXPR_VAR: return ml_dtype_eq(t, e->as.var->type);
    case ML_EXPR_NOT: return ml_dtype_is_bool(t) && ml_dtype_eq(t, args[0]->type);
    case ML_EXPR_SELECT:
        return is_condition(args[0], t) && same_type(args[1], args[2]) &&
               ml_dtype_eq(t, args[1]->type);
    case ML_EXPR_CAST: return t.code != ML_VOID && t.lanes == args[0]->type.lanes;
    case ML_EXPR_LOAD: return load_holds(e, args);
    case ML_EXPR_RAMP:
        return is_scalar(args[0]) && same_type(args[0], args[1]) && t.lanes > 1 &&
               ml_dtype_eq(ml_dtype_lanes(t, 1), args[0]->type);
    case ML_EXPR_BROADCAST:
        return is_scalar(args[0]) && t.lanes > 1 &&
               ml_dtype_eq(ml_dtype_lanes(t, 1), args[0]->type);
    case ML_EXPR_SHUFFLE: return shuffle_holds(e, args);
    case ML_EXPR_LET:
        return ml_dtype_eq(e->as.var->type, args[0]->type) && ml_dtype_eq(t, args[1]->type);
    case ML_EXPR_CALL:
        return e->as.op->id != ML_OP_IF_THEN_ELSE ||
               (is_condition(args[0], t) && same_type(args[1], args[2]));
    default: break;
    }
    if (kind >= ML_EXPR_EQ && kind <= ML_EXPR_GE)
        return same_type(args[0], args[1]) && ml_dtype_is_bool(t) &&
               t.lanes == args[0]->type.lanes;
    return same_type(args[0], args[1]) && ml_dtype_eq(t, args[0]->type) &&
           (kind <= ML_EXPR_MAX || ml_dtype_is_bool(t)); /* ADD to MAX, AND, OR */
}

/* Of the arguments; -1: any number. */
static int arity(const ml_Expr *e)
{
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT:
    case ML_EXPR_FLOAT:
    case ML_EXPR_STRING:
    case ML_EXPR_VAR: return 0;
    case ML_EXPR_NOT:
    case ML_EXPR_CAST:
    case ML_EXPR_BROADCAST: return 1;
    case ML_EXPR_SELECT: return 3;
    case ML_EXPR_LOAD: return e->as.buffer->rank + (e->flags & ML_X_MASKED ? 1 : 0);
    case ML_EXPR_SHUFFLE: return -1;
    case ML_EXPR_CALL: return e->as.op->n_args;
    default: return 2;
    }
}

static const ml_Expr *make_expr(ml_BinaryIo *io)
{
    ml_BinaryExpr e = {0};
    int n;

    ml_binary_fields(io, ML_BINARY_EXPR, &e);
    if (io->bad)
        return NULL;
    n = arity(&e.head);
    if ((n >= 0 && n != e.head.n_args) || !types_hold(&e.head, e.args)) {
        ml_bin_bad(io, "an expression is ill-typed");
        return NULL;
    }
    return ml_expr_intern(io->cx, &e.head, e.args, e.head.n_args);
}

/* ---------------------------------------------------------------- other nodes */

static const ml_Stmt *make_stmt(ml_BinaryIo *io)
{
    union {
        ml_Stmt base;
        ml_Store store;
        ml_For loop;
        ml_Alloc alloc;
        ml_Attr attr;
        ml_Assert check;
        ml_Block block;
    } u;

    memset(&u, 0, sizeof u);
    ml_binary_fields(io, ML_BINARY_STMT, &u);
    return io->bad ? NULL : ml_stmt_from(io->cx, &u.base);
}

bool ml_binary_get(ml_BinaryIo *io)
{
    static const size_t sizes[ML_BINARY_CLASSES] = {
        [ML_BINARY_VAR] = sizeof(ml_Var),     [ML_BINARY_BUFFER] = sizeof(ml_Buffer),
        [ML_BINARY_VALUE] = sizeof(ml_Value), [ML_BINARY_MAP] = sizeof(ml_IndexMap),
        [ML_BINARY_FUNC] = sizeof(ml_Func),   [ML_BINARY_MODULE] = sizeof(ml_Module),
    };
    uint64_t is = 0;
    void *node = NULL;
    const void *made;

    ml_bin_number(io, &is);
    if (is >= ML_BINARY_CLASSES)
        ml_bin_bad(io, "a node is of no kind");
    if (io->bad)
        return false;
    if (is == ML_BINARY_EXPR) {
        made = make_expr(io);
    } else if (is == ML_BINARY_STMT) {
        made = make_stmt(io);
    } else {
        made = node = ml_zalloc(io->cx, sizes[is]);
        ml_binary_fields(io, (ml_BinaryClass)is, node);
    }
    if (is == ML_BINARY_VAR)
        ((ml_Var *)node)->uid = ml_fresh_uid(io->cx);
    if (is == ML_BINARY_BUFFER)
        ((ml_Buffer *)node)->uid = ml_fresh_uid(io->cx);
    io->nodes[io->n++] = (ml_BinaryNode){made, (uint8_t)is};
    return !io->bad;
}

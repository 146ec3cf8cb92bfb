/* extremes - see extremes.h. */
#include "moonloop/codegen/tensor/extremes.h"

#include "moonloop/core/walk.h"

enum { ONE_IN = 8, EXACT_AS_FLOAT = 16 };

typedef struct Use {
    bool
        steers; /* what is loaded decides where, whether or if at all something is computed */
    bool floats;
} Use;

static bool look(const ml_Expr *e, void *user)
{
    Use *u = user;
    bool shifts = ml_is_op(e, ML_OP_SHIFT_LEFT) || ml_is_op(e, ML_OP_SHIFT_RIGHT);

    u->floats |= ml_dtype_is_float(e->type);
    if ((ml_kind_divides(e->kind) || shifts) && ml_dtype_is_int(e->type))
        u->steers |= e->n_args > 1 && (e->args[1]->flags & ML_X_HAS_LOAD) != 0;
    if (e->kind == ML_EXPR_LOAD)
        for (uint16_t k = 0; k < e->n_args; k++)
            u->steers |= (e->args[k]->flags & ML_X_HAS_LOAD) != 0;
    /* A name for it may be used anywhere. */
    u->steers |= e->kind == ML_EXPR_LET && (e->args[0]->flags & ML_X_HAS_LOAD) != 0;
    u->steers |= (e->flags & ML_X_EFFECT) != 0;
    return !u->steers;
}

static void look_expr(const ml_Expr *e, ml_Role role, void *user)
{
    Use *u = user;

    if (role == ML_ROLE_VALUE)
        ml_expr_visit(e, look, u);
    else if (role != ML_ROLE_ATTR)
        u->steers |= (e->flags & ML_X_HAS_LOAD) != 0;
}

static bool look_stmt(const ml_Stmt *s, void *user)
{
    Use *u = user;

    if (s->kind == ML_STMT_BIND)
        u->steers |= (ml_as_bind(s)->value->flags & ML_X_HAS_LOAD) != 0;
    ml_stmt_exprs(s, look_expr, u);
    return !u->steers;
}

static int64_t extreme(ml_Dtype t, ml_Random *r)
{
    int64_t lo = ml_dtype_min(t), hi = ml_dtype_max(t);
    uint64_t n = ml_random_next(r);

    switch (n >> 61) {
    case 0: return lo;
    case 1: return ml_dtype_wrap(t, lo + 1);
    case 2: return hi;
    case 3: return ml_dtype_wrap(t, hi - 1);
    case 4: return ml_dtype_wrap(t, -1);
    case 5: return 0;
    case 6: return ml_dtype_wrap(t, (int64_t)(UINT64_C(1) << (n & 63)));
    default: return ml_dtype_wrap(t, (int64_t)n); /* any number at all */
    }
}

void ml_extremes_put(const ml_Func *f, ml_Tensor *t, ml_Random *r)
{
    ml_Dtype type = ml_dtype_lanes(t->type, 1);
    Use u = {0};

    if (!ml_dtype_is_int(type) || !f->body)
        return;
    ml_stmt_visit(f->body, look_stmt, &u);
    if (u.steers || (u.floats && type.bits > EXACT_AS_FLOAT))
        return;
    for (int64_t k = 0; k < t->n_lanes; k++)
        if (ml_random_below(r, ONE_IN) == 0)
            ml_tensor_set_int(t, k, extreme(type, r));
}

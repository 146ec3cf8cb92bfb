/*
 * gen_expr - expressions to register code, one lane at a time.
 *
 * A lane of a vector is an ordinary scalar: a ramp's lane is base + lane * stride, a
 * broadcast's its operand, a shuffle's the lane it picks. Both arms of select are computed,
 * of if_then_else only the one taken. Source: ir-and-analysis 1.2.
 */
#include "moonloop/codegen/interp/code.h"

static unsigned lane_of(const ml_Expr *e, unsigned lane)
{
    return e->type.lanes > 1 ? lane : 0;
}

uint32_t ml_gen_to(ml_Gen *g, const ml_Expr *e, ml_Inst op, unsigned x, int64_t a,
                   int64_t b, int64_t c)
{
    uint32_t d = ml_gen_reg(g);
    const ml_Expr *before = g->expr;

    g->expr = e;
    ml_gen_emit(g, op, x, d, a, b, c);
    g->expr = before;
    return d;
}

static uint32_t int_binary(ml_Gen *g, const ml_Expr *e, uint32_t a, uint32_t b)
{
    ml_Dtype t = e->args[0]->type;
    bool uns = t.code != ML_INT; /* bool too */
    bool check = g->checked && !uns;
    unsigned x = ml_int_x(t);

    switch (e->kind) {
    case ML_EXPR_ADD: return ml_gen_to(g, e, check ? ML_I_ADDC : ML_I_ADDW, x, a, b, 0);
    case ML_EXPR_SUB: return ml_gen_to(g, e, check ? ML_I_SUBC : ML_I_SUBW, x, a, b, 0);
    case ML_EXPR_MUL: return ml_gen_to(g, e, check ? ML_I_MULC : ML_I_MULW, x, a, b, 0);
    case ML_EXPR_DIV: return ml_gen_to(g, e, uns ? ML_I_UDIV : ML_I_TDIV, x, a, b, check);
    case ML_EXPR_MOD: return ml_gen_to(g, e, uns ? ML_I_UMOD : ML_I_TMOD, x, a, b, check);
    case ML_EXPR_FLOORDIV:
        return ml_gen_to(g, e, uns ? ML_I_UDIV : ML_I_FDIV, x, a, b, check);
    case ML_EXPR_FLOORMOD:
        return ml_gen_to(g, e, uns ? ML_I_UMOD : ML_I_FMOD, x, a, b, check);
    case ML_EXPR_MIN: return ml_gen_to(g, e, uns ? ML_I_UMIN : ML_I_MIN, x, a, b, 0);
    case ML_EXPR_MAX: return ml_gen_to(g, e, uns ? ML_I_UMAX : ML_I_MAX, x, a, b, 0);
    case ML_EXPR_EQ: return ml_gen_to(g, e, ML_I_EQ, x, a, b, 0);
    case ML_EXPR_NE: return ml_gen_to(g, e, ML_I_NE, x, a, b, 0);
    case ML_EXPR_LT: return ml_gen_to(g, e, uns ? ML_I_ULT : ML_I_LT, x, a, b, 0);
    case ML_EXPR_LE: return ml_gen_to(g, e, uns ? ML_I_ULE : ML_I_LE, x, a, b, 0);
    case ML_EXPR_GT: return ml_gen_to(g, e, uns ? ML_I_ULT : ML_I_LT, x, b, a, 0);
    case ML_EXPR_GE: return ml_gen_to(g, e, uns ? ML_I_ULE : ML_I_LE, x, b, a, 0);
    case ML_EXPR_AND: return ml_gen_to(g, e, ML_I_AND, x, a, b, 0);
    case ML_EXPR_OR: return ml_gen_to(g, e, ML_I_OR, x, a, b, 0);
    }
    ml_gen_unsupported(g, "this operator on integers");
    return a;
}

static uint32_t float_binary(ml_Gen *g, const ml_Expr *e, uint32_t a, uint32_t b)
{
    unsigned x = ml_gen_rounding(g, e->args[0]->type);
    unsigned step = (unsigned)(ML_I_ADD32 - ML_I_ADD64) * (x < 2 ? x : 2);
    uint32_t q;

    switch (e->kind) {
    case ML_EXPR_ADD: return ml_gen_to(g, e, (ml_Inst)(ML_I_ADD64 + step), x, a, b, 0);
    case ML_EXPR_SUB: return ml_gen_to(g, e, (ml_Inst)(ML_I_SUB64 + step), x, a, b, 0);
    case ML_EXPR_MUL: return ml_gen_to(g, e, (ml_Inst)(ML_I_MUL64 + step), x, a, b, 0);
    case ML_EXPR_DIV: return ml_gen_to(g, e, (ml_Inst)(ML_I_DIV64 + step), x, a, b, 0);
    case ML_EXPR_MOD: return ml_gen_to(g, e, ML_I_MATH2, x, a, b, ML_OP_FMOD);
    case ML_EXPR_FLOORDIV:
        q = ml_gen_to(g, e, (ml_Inst)(ML_I_DIV64 + step), x, a, b, 0);
        return ml_gen_to(g, e, ML_I_MATH1, x, q, ML_OP_FLOOR, 0);
    case ML_EXPR_FLOORMOD:
        q = ml_gen_to(g, e, (ml_Inst)(ML_I_DIV64 + step), x, a, b, 0);
        q = ml_gen_to(g, e, ML_I_MATH1, x, q, ML_OP_FLOOR, 0);
        q = ml_gen_to(g, e, (ml_Inst)(ML_I_MUL64 + step), x, q, b, 0);
        return ml_gen_to(g, e, (ml_Inst)(ML_I_SUB64 + step), x, a, q, 0);
    case ML_EXPR_MIN: return ml_gen_to(g, e, ML_I_FMIN, x, a, b, 0);
    case ML_EXPR_MAX: return ml_gen_to(g, e, ML_I_FMAX, x, a, b, 0);
    case ML_EXPR_EQ: return ml_gen_to(g, e, ML_I_FEQ, x, a, b, 0);
    case ML_EXPR_NE: return ml_gen_to(g, e, ML_I_FNE, x, a, b, 0);
    case ML_EXPR_LT: return ml_gen_to(g, e, ML_I_FLT, x, a, b, 0);
    case ML_EXPR_LE: return ml_gen_to(g, e, ML_I_FLE, x, a, b, 0);
    case ML_EXPR_GT: return ml_gen_to(g, e, ML_I_FLT, x, b, a, 0);
    case ML_EXPR_GE: return ml_gen_to(g, e, ML_I_FLE, x, b, a, 0);
    }
    ml_gen_unsupported(g, "this operator on floats");
    return a;
}

static uint32_t binary(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    const ml_Expr *p = e->args[0], *q = e->args[1];
    uint32_t a, b;

    if (p->type.code >= ML_HANDLE || ml_lane_bytes(p->type) == 0) {
        ml_gen_unsupported(g, "arithmetic on pointers");
        return ml_gen_int(g, 0);
    }
    a = ml_gen_lane(g, p, lane_of(p, lane));
    b = ml_gen_lane(g, q, lane_of(q, lane));
    return ml_dtype_is_float(p->type) ? float_binary(g, e, a, b) : int_binary(g, e, a, b);
}

/* The value a of type `from` as one lane of e. */
static uint32_t cast_value(ml_Gen *g, const ml_Expr *e, ml_Dtype from, uint32_t a)
{
    ml_Dtype to = e->type;

    from.lanes = to.lanes = 1;
    if (ml_dtype_eq(from, to))
        return a;
    if (ml_dtype_is_float(from)) {
        if (ml_dtype_is_float(to))
            return ml_gen_to(g, e, ML_I_FTOF, ml_gen_rounding(g, to), a, 0, 0);
        if (ml_dtype_is_bool(to))
            return ml_gen_to(g, e, ML_I_FTOB, 0, a, 0, 0);
        return ml_gen_to(g, e, ML_I_FTOI, ml_int_x(to), a, 0, 0);
    }
    if (ml_dtype_is_float(to))
        return ml_gen_to(g, e, ML_I_ITOF, ml_gen_rounding(g, to), a,
                         from.code == ML_UINT && from.bits == 64, 0);
    if (ml_dtype_is_bool(to))
        return ml_gen_to(g, e, ML_I_ITOB, 0, a, 0, 0);
    return ml_gen_to(
        g, e, ML_I_WRAP, ml_int_x(to), a,
        g->checked && to.code == ML_INT && !(from.code == ML_UINT && from.bits == 64), 0);
}

static uint32_t cast(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    const ml_Expr *p = e->args[0];

    if (ml_lane_bytes(p->type) == 0 || ml_lane_bytes(e->type) == 0) {
        ml_gen_unsupported(g, "a cast of a pointer");
        return ml_gen_int(g, 0);
    }
    return cast_value(g, e, p->type, ml_gen_lane(g, p, lane_of(p, lane)));
}

static uint32_t shuffle(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    size_t n_vec = (size_t)e->as.i;
    const ml_Expr *pick = n_vec + lane < e->n_args ? e->args[n_vec + lane] : NULL;
    int64_t want = pick && pick->kind == ML_EXPR_INT ? pick->as.i : -1;

    for (size_t k = 0; k < n_vec && want >= 0; k++) {
        unsigned lanes = e->args[k]->type.lanes;
        if (want < lanes)
            return ml_gen_lane(g, e->args[k], (unsigned)want);
        want -= lanes;
    }
    ml_gen_unsupported(g, "a shuffle whose index is not a literal lane");
    return ml_gen_int(g, 0);
}

static uint32_t variable(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    const ml_VarInfo *info = ml_map_get(g->vars, e->as.var->uid);

    if (info)
        return info->reg + lane;
    ml_gen_unsupported(g, ml_format(g->cx, "the value of `%s`, which is not known here",
                                    e->as.var->hint ? e->as.var->hint : "v"));
    return ml_gen_int(g, 0);
}

uint32_t ml_gen_condition(ml_Gen *g, const ml_Expr *c, unsigned lane)
{
    bool before = g->checked;
    uint32_t r;

    g->checked = !(c->flags & ML_X_HAS_LOAD);
    r = ml_gen_lane(g, c, lane_of(c, lane));
    g->checked = before;
    return r;
}

static uint32_t select(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    uint32_t c = ml_gen_condition(g, e->args[0], lane);
    uint32_t a = ml_gen_lane(g, e->args[1], lane_of(e->args[1], lane));
    uint32_t b = ml_gen_lane(g, e->args[2], lane_of(e->args[2], lane));

    return ml_gen_to(g, e, ML_I_SEL, 0, c, a, b);
}

static uint32_t if_then_else(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    uint32_t d = ml_gen_reg(g);
    uint32_t c = ml_gen_condition(g, e->args[0], lane);
    ml_Label *other = ml_gen_label(g), *end = ml_gen_label(g);
    size_t mark = ml_gen_memo_mark(g);

    ml_gen_jump(g, ML_I_JZ, c, other);
    ml_gen_emit(g, ML_I_MOV, 0, d, ml_gen_lane(g, e->args[1], lane_of(e->args[1], lane)), 0,
                0);
    ml_gen_memo_release(g, mark);
    ml_gen_jump(g, ML_I_JMP, 0, end);
    ml_gen_place(g, other);
    ml_gen_emit(g, ML_I_MOV, 0, d, ml_gen_lane(g, e->args[2], lane_of(e->args[2], lane)), 0,
                0);
    ml_gen_memo_release(g, mark);
    ml_gen_place(g, end);
    return d;
}

bool ml_is_copied(const ml_Expr *e)
{
    while (e->kind == ML_EXPR_CAST && ml_lane_bytes(e->type) != 0 &&
           ml_lane_bytes(e->args[0]->type) != 0)
        e = e->args[0];
    if (e->kind == ML_EXPR_SELECT || (ml_is_op(e, ML_OP_IF_THEN_ELSE) && e->n_args == 3))
        return ml_is_copied(e->args[1]) || ml_is_copied(e->args[2]);
    return e->kind == ML_EXPR_LOAD;
}

/* The value in d, whether it is defined in d + 1. */
static void copy_arm(ml_Gen *g, const ml_Expr *e, unsigned lane, uint32_t d)
{
    uint32_t state, v = ml_gen_copied(g, e, lane_of(e, lane), &state);

    ml_gen_emit(g, ML_I_MOV, 0, d, v, 0, 0);
    ml_gen_emit(g, ML_I_MOV, 0, d + 1, state, 0, 0);
}

static uint32_t choose_copy(ml_Gen *g, const ml_Expr *e, unsigned lane, uint32_t *state)
{
    uint32_t d = ml_gen_reg(g);
    uint32_t c;
    ml_Label *other = ml_gen_label(g), *end = ml_gen_label(g);
    size_t mark;

    *state = ml_gen_reg(g);
    ML_ASSERT(*state == d + 1);
    c = ml_gen_condition(g, e->args[0], lane);
    mark = ml_gen_memo_mark(g);
    ml_gen_jump(g, ML_I_JZ, c, other);
    copy_arm(g, e->args[1], lane, d);
    ml_gen_memo_release(g, mark);
    ml_gen_jump(g, ML_I_JMP, 0, end);
    ml_gen_place(g, other);
    copy_arm(g, e->args[2], lane, d);
    ml_gen_memo_release(g, mark);
    ml_gen_place(g, end);
    return d;
}

uint32_t ml_gen_copied(ml_Gen *g, const ml_Expr *e, unsigned lane, uint32_t *state)
{
    uint32_t a;

    if (!ml_is_copied(e)) {
        a = ml_gen_lane(g, e, lane);
        *state = ml_gen_int(g, 1);
        return a;
    }
    if (e->kind == ML_EXPR_LOAD) {
        a = ml_gen_load(g, e, lane, true);
        *state = a + 1;
        return a;
    }
    if (e->kind == ML_EXPR_SELECT) { /* both are loaded, one is chosen */
        uint32_t c = ml_gen_condition(g, e->args[0], lane), other[2];
        uint32_t b = ml_gen_copied(g, e->args[1], lane_of(e->args[1], lane), &other[0]);

        a = ml_gen_copied(g, e->args[2], lane_of(e->args[2], lane), &other[1]);
        *state = ml_gen_reg(g);
        ml_gen_emit(g, ML_I_SEL, 0, *state, c, other[0], other[1]);
        return ml_gen_to(g, e, ML_I_SEL, 0, c, b, a);
    }
    if (e->kind != ML_EXPR_CAST)
        return choose_copy(g, e, lane, state);
    a = ml_gen_copied(g, e->args[0], lane, state);
    return cast_value(g, e, e->args[0]->type, a);
}

void ml_gen_bind(ml_Gen *g, const ml_Var *v, const ml_Expr *value)
{
    unsigned lanes = value->type.lanes;
    uint32_t mask = ml_gen_par_mask(g, value);
    uint32_t first;

    if (lanes <= 1) {
        ml_gen_set_var(g, v, ml_gen_lane(g, value, 0), mask);
        return;
    }
    { /* lanes in consecutive registers */
        uint32_t *lane = ML_ARRAY(g->cx, uint32_t, lanes);
        for (unsigned l = 0; l < lanes; l++)
            lane[l] = ml_gen_lane(g, value, l);
        first = (uint32_t)g->regs.n;
        for (unsigned l = 0; l < lanes; l++)
            (void)ml_gen_reg(g);
        for (unsigned l = 0; l < lanes; l++)
            ml_gen_emit(g, ML_I_MOV, 0, first + l, lane[l], 0, 0);
    }
    ml_gen_set_var(g, v, first, mask);
}

static uint32_t compute(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    uint32_t a, b;
    size_t mark;

    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT: return ml_gen_int(g, e->as.i);
    case ML_EXPR_FLOAT:
        return ml_gen_float(g, ml_round_to(g, ml_gen_rounding(g, e->type), e->as.f));
    case ML_EXPR_STRING:
        ml_gen_unsupported(g, "a string as a value");
        return ml_gen_int(g, 0);
    case ML_EXPR_VAR: return variable(g, e, lane);
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE:
    case ML_EXPR_AND:
    case ML_EXPR_OR: return binary(g, e, lane);
    case ML_EXPR_NOT:
        a = ml_gen_lane(g, e->args[0], lane_of(e->args[0], lane));
        return ml_gen_to(g, e, ML_I_NOT, 0, a, 0, 0);
    case ML_EXPR_SELECT: return select(g, e, lane);
    case ML_EXPR_CAST: return cast(g, e, lane);
    case ML_EXPR_LOAD: return ml_gen_load(g, e, lane, false);
    case ML_EXPR_RAMP:
        a = ml_gen_lane(g, e->args[0], 0);
        b = ml_gen_lane(g, e->args[1], 0);
        if (lane == 0)
            return a;
        b = ml_gen_to(g, e, g->checked && e->type.code == ML_INT ? ML_I_MULC : ML_I_MULW,
                      ml_int_x(e->type), b, ml_gen_int(g, lane), 0);
        return ml_gen_to(g, e, g->checked && e->type.code == ML_INT ? ML_I_ADDC : ML_I_ADDW,
                         ml_int_x(e->type), a, b, 0);
    case ML_EXPR_BROADCAST: return ml_gen_lane(g, e->args[0], 0);
    case ML_EXPR_SHUFFLE: return shuffle(g, e, lane);
    case ML_EXPR_LET:
        mark = ml_gen_memo_mark(g); /* the value may read memory: nothing outlives it */
        ml_gen_bind(g, e->as.var, e->args[0]);
        a = ml_gen_lane(g, e->args[1], lane);
        ml_gen_memo_release(g, mark);
        return a;
    case ML_EXPR_CALL:
        if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && e->n_args == 3)
            return if_then_else(g, e, lane);
        return ml_gen_call(g, e, lane);
    case ML_EXPR_KINDS: break;
    }
    ml_gen_unsupported(g, "this expression");
    return ml_gen_int(g, 0);
}

/* Whether a register may stand for the expression later: a pure scalar that costs
 * something. */
static bool can_reuse(const ml_Expr *e)
{
    return e->type.lanes <= 1 && e->n_args > 0 && e->kind != ML_EXPR_LET &&
           !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL | ML_X_EFFECT));
}

uint32_t ml_gen_lane(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    bool reuse = can_reuse(e);
    uint32_t r;

    if (g->failed)
        return 0;
    if (e->size > ML_MAX_TREE) {
        ml_gen_unsupported(g, "an expression of more than a million nodes");
        return ml_gen_int(g, 0);
    }
    if (reuse && ml_gen_memo_get(g, e, &r))
        return r;
    r = compute(g, e, lane);
    if (reuse)
        ml_gen_memo_set(g, e, r);
    return r;
}

uint32_t ml_gen_checked(ml_Gen *g, const ml_Expr *e)
{
    bool before = g->checked;
    uint32_t r;

    g->checked = true;
    r = ml_gen_lane(g, e, 0);
    g->checked = before;
    return r;
}

/*
 * rounding - a pass over the program, repeated until nothing new is found: what is stored
 * depends on what was loaded, in a loop also on what is stored further down.
 */
#include "moonloop/codegen/params/rounding.h"

#include "moonloop/codegen/params/sources.h"
#include "moonloop/core/walk.h"

#include <math.h>

typedef struct Look {
    ml_Ctx *cx;
    ml_Rounding *r;
    ml_Map *vars; /* uid -> bits, of variables bound to a value */
    unsigned ctx; /* of the conditions around */
    bool again;   /* something new was found */
} Look;

/* ---------------------------------------------------------------- types */

/* Bits of the significand, the leading one included. */
static int precision(ml_Dtype t)
{
    switch ((ml_Code)t.code) {
    case ML_FLOAT: return t.bits == 64 ? 53 : t.bits == 32 ? 24 : 11;
    case ML_BFLOAT: return 8;
    case ML_F8_E3M4: return 5;
    case ML_F8_E4M3FN:
    case ML_F8_E4M3:
    case ML_F8_E4M3B11FNUZ:
    case ML_F8_E4M3FNUZ:
    case ML_F6_E2M3FN: return 4;
    case ML_F8_E5M2:
    case ML_F8_E5M2FNUZ:
    case ML_F6_E3M2FN: return 3;
    case ML_F4_E2M1FN: return 2;
    case ML_F8_E8M0FNU: return 1;
    case ML_BOOL:
    case ML_INT:
    case ML_UINT:
    case ML_HANDLE:
    case ML_VOID: return 0;
    }
    return 0;
}

double ml_unit_roundoff(ml_Dtype t)
{
    return ml_dtype_is_float(t) ? ldexp(1.0, -precision(t)) : 0.0;
}

double ml_ulp_at(ml_Dtype t, double v)
{
    double u = ml_unit_roundoff(t);
    int e;

    if (!(fabs(v) > 0) || !isfinite(v))
        return 0.0;
    (void)frexp(v, &e);
    return 2 * u * ldexp(1.0, e - 1);
}

ml_Dtype ml_dtype_wider(ml_Dtype t)
{
    if (!ml_dtype_is_float(t) || (t.code == ML_FLOAT && t.bits == 64))
        return t;
    return ml_dtype_lanes(t.code == ML_FLOAT && t.bits == 32 ? ML_DT_F64 : ML_DT_F32,
                          t.lanes);
}

/* ---------------------------------------------------------------- expressions */

unsigned ml_rounding(const ml_Rounding *r, const ml_Buffer *b)
{
    return (unsigned)(uintptr_t)ml_map_get(r->buffers,
                                           ml_source_of(r->sources, b)->data->uid);
}

static unsigned bits_of(Look *w, const ml_Expr *e);

/* A decision that depends on what `bits` says of its grounds. */
static unsigned decision(unsigned bits)
{
    return bits ? ML_DECIDED : 0;
}

static unsigned children(Look *w, const ml_Expr *e)
{
    unsigned bits = 0;

    for (size_t k = 0; k < e->n_args; k++)
        bits |= bits_of(w, e->args[k]);
    return bits;
}

static unsigned bits_of_cast(Look *w, const ml_Expr *e)
{
    ml_Dtype from = e->args[0]->type;
    unsigned bits = bits_of(w, e->args[0]);

    if (!ml_dtype_is_float(e->type)) /* an integer is as far off as what it is made of */
        return decision(bits) | (e->type.code == ML_BOOL ? 0 : bits & ML_ROUNDED);
    if (ml_dtype_is_float(from))
        return precision(e->type) < precision(from) ? bits | ML_ROUNDED : bits;
    return from.bits > precision(e->type) ? bits | ML_ROUNDED : bits;
}

static unsigned bits_of_call(Look *w, const ml_Expr *e)
{
    unsigned bits = children(w, e);

    if (ml_is_op(e, ML_OP_IF_THEN_ELSE)) {
        unsigned c = decision(bits_of(w, e->args[0]));

        return c | bits_of(w, e->args[1]) | bits_of(w, e->args[2]);
    }
    if (!ml_dtype_is_float(e->type))
        return decision(bits);
    if (e->as.op->family == ML_FAMILY_ROUND)
        return bits | decision(bits);
    switch (e->as.op->id) {
    case ML_OP_FABS:
    case ML_OP_LIKELY: return bits;
    case ML_OP_COPYSIGN: return bits | decision(bits);
    case ML_OP_FMOD: return bits | decision(bits) | ML_ROUNDED;
    default: return bits | ML_ROUNDED;
    }
}

static unsigned bits_of(Look *w, const ml_Expr *e)
{
    switch (e->kind) {
    case ML_EXPR_INT:
    case ML_EXPR_FLOAT:
    case ML_EXPR_STRING: return 0;
    case ML_EXPR_VAR: return (unsigned)(uintptr_t)ml_map_get(w->vars, e->as.var->uid);
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
    case ML_EXPR_DIV: return children(w, e) | (ml_dtype_is_float(e->type) ? ML_ROUNDED : 0);
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE: return decision(children(w, e));
    case ML_EXPR_SELECT:
        return decision(bits_of(w, e->args[0])) | bits_of(w, e->args[1]) |
               bits_of(w, e->args[2]);
    case ML_EXPR_CAST: return bits_of_cast(w, e);
    case ML_EXPR_LOAD: return ml_rounding(w->r, e->as.buffer) | decision(children(w, e));
    case ML_EXPR_LET: {
        uintptr_t bits = bits_of(w, e->args[0]);

        ml_map_set(w->cx, w->vars, e->as.var->uid, (const void *)bits);
        return bits_of(w, e->args[1]);
    }
    case ML_EXPR_CALL: return bits_of_call(w, e);
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_AND:
    case ML_EXPR_OR:
    case ML_EXPR_NOT:
    case ML_EXPR_RAMP:
    case ML_EXPR_BROADCAST:
    case ML_EXPR_SHUFFLE: return children(w, e);
    }
    /* MOD, FLOORDIV, FLOORMOD, and the most that can be */
    if (ml_dtype_is_float(e->type))
        return children(w, e) | decision(children(w, e)) | ML_ROUNDED;
    return children(w, e);
}

/* ---------------------------------------------------------------- statements */

static void see_control(const ml_Expr *e, ml_Role role, void *user)
{
    Look *w = user;

    if (role == ML_ROLE_BOUND || role == ML_ROLE_COND || role == ML_ROLE_BINDING)
        w->ctx |= decision(bits_of(w, e));
}

static void add_bits(Look *w, const ml_Buffer *b, unsigned bits)
{
    ml_Uid at = ml_source_of(w->r->sources, b)->data->uid;
    uintptr_t now = (uintptr_t)ml_map_get(w->r->buffers, at);

    if ((now | bits) == now)
        return;
    w->again = true;
    ml_map_set(w->cx, w->r->buffers, at, (const void *)(now | bits));
}

static void look(Look *w, const ml_Stmt *s);

static void look_child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    look(user, s);
}

static void look(Look *w, const ml_Stmt *s)
{
    unsigned ctx = w->ctx;

    if (s->kind == ML_STMT_STORE) {
        const ml_Store *st = ml_as_store(s);
        unsigned bits = bits_of(w, st->value) | w->ctx;

        for (uint32_t k = 0; k < st->n; k++)
            bits |= decision(bits_of(w, st->indices[k]));
        add_bits(w, st->buffer, bits);
        return;
    }
    if (s->kind == ML_STMT_BIND) {
        uintptr_t bits = bits_of(w, ml_as_bind(s)->value);

        ml_map_set(w->cx, w->vars, ml_as_bind(s)->var->uid, (const void *)bits);
        return;
    }
    if (s->kind == ML_STMT_BLOCK)
        ml_sources_add(w->cx, w->r->sources, ml_as_block(s));
    ml_stmt_exprs(s, see_control, w);
    ml_stmt_children(s, look_child, w);
    w->ctx = ctx;
}

ml_Rounding ml_rounding_of(ml_Ctx *cx, const ml_Func *f)
{
    ml_Rounding r = {.buffers = ml_map_new(cx), .sources = ml_map_new(cx)};
    Look w = {.cx = cx, .r = &r, .vars = ml_map_new(cx), .again = true};

    while (w.again) {
        w.again = false;
        look(&w, f->body);
    }
    return r;
}

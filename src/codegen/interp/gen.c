/*
 * gen - the tools of the compiler to register code: emitting, constants, memory of what is
 * already computed, labels, places.
 *
 * The memo maps an expression without loads and calls to the register that holds it; a
 * scope (an arm, a loop body) takes its entries back when it ends, so an entry is found
 * only where the instruction that computed it has run.
 */
#include "moonloop/codegen/interp/code.h"

uint32_t ml_gen_emit(ml_Gen *g, ml_Inst op, unsigned x, int64_t d, int64_t a, int64_t b,
                     int64_t c)
{
    ml_Ins ins = {.op = (uint16_t)op,
                  .x = (uint16_t)x,
                  .d = (int32_t)d,
                  .a = (int32_t)a,
                  .b = (int32_t)b,
                  .c = (int32_t)c};

    if (g->code.n >= 4000000) { /* a program of that size is not run here */
        if (!g->failed)
            ml_fail(g->cx, ML_E_TOO_LARGE, ML_TEXT("the program is too large to be run"));
        g->failed = true;
        return 0;
    }
    ml_push(g->cx, &g->code, ins);
    ml_push(g->cx, &g->site_of, g->site);
    ml_push(g->cx, &g->expr_of, g->expr);
    return (uint32_t)g->code.n - 1;
}

uint32_t ml_gen_reg(ml_Gen *g)
{
    ml_Cell zero = {.i = 0};

    ml_push(g->cx, &g->regs, zero);
    return (uint32_t)g->regs.n - 1;
}

uint32_t ml_gen_int(ml_Gen *g, int64_t v)
{
    uint32_t key = v >= -1000000 && v <= 1000000 ? (uint32_t)(v + 1000001) : 0;
    const void *have = key ? ml_map_get(g->constants_lo, key) : NULL;
    uint32_t r;

    if (have)
        return (uint32_t)((uintptr_t)have - 1);
    r = ml_gen_reg(g);
    g->regs.v[r].i = v;
    if (key)
        ml_map_set(g->cx, g->constants_lo, key, (const void *)((uintptr_t)r + 1));
    return r;
}

uint32_t ml_gen_float(ml_Gen *g, double v)
{
    uint32_t r = ml_gen_reg(g);

    g->regs.v[r].f = v;
    return r;
}

/* ---------------------------------------------------------------- memo */

size_t ml_gen_memo_mark(ml_Gen *g)
{
    return g->trail.n;
}

void ml_gen_memo_release(ml_Gen *g, size_t mark)
{
    while (g->trail.n > mark) {
        ml_Memo m = g->trail.v[--g->trail.n];
        ml_map_set(g->cx, g->memo[m.mode], m.id, (const void *)(uintptr_t)m.reg);
    }
}

bool ml_gen_memo_get(ml_Gen *g, const ml_Expr *e, uint32_t *reg)
{
    const void *have = ml_map_get(g->memo[1], e->id);

    if (have == NULL && !g->checked)
        have = ml_map_get(g->memo[0], e->id);
    if (have == NULL)
        return false;
    *reg = (uint32_t)((uintptr_t)have - 1);
    return true;
}

void ml_gen_memo_set(ml_Gen *g, const ml_Expr *e, uint32_t reg)
{
    ml_Map *map = g->memo[g->checked];
    ml_Memo old = {e->id, (uint32_t)(uintptr_t)ml_map_get(map, e->id), g->checked};

    ml_push(g->cx, &g->trail, old);
    ml_map_set(g->cx, map, e->id, (const void *)((uintptr_t)reg + 1));
}

/* ---------------------------------------------------------------- traps, labels, places */

uint32_t ml_gen_trap(ml_Gen *g, ml_ErrorCode code, const char *text)
{
    ml_Trap *t = ML_NEW(g->cx, ml_Trap);

    t->code = code;
    t->text = text;
    ml_push(g->cx, &g->traps, t);
    return (uint32_t)g->traps.n - 1;
}

void ml_gen_unsupported(ml_Gen *g, const char *what)
{
    ml_gen_emit(g, ML_I_TRAP, 0, 0, ml_gen_trap(g, ML_E_NOT_SUPPORTED, what), 0, 0);
}

ml_Label *ml_gen_label(ml_Gen *g)
{
    return ML_NEW(g->cx, ml_Label);
}

void ml_gen_jump(ml_Gen *g, ml_Inst op, uint32_t a, ml_Label *to)
{
    uint32_t at = ml_gen_emit(g, op, 0, 0, a, 0, 0);

    ml_push(g->cx, &to->uses, at);
}

void ml_gen_place(ml_Gen *g, ml_Label *l)
{
    for (size_t k = 0; k < l->uses.n; k++)
        if (l->uses.v[k] < g->code.n)
            g->code.v[l->uses.v[k]].c = (int32_t)g->code.n;
}

uint32_t ml_gen_site(ml_Gen *g, const ml_Stmt *s)
{
    uint32_t before = g->site;
    ml_Site site = g->instead ? g->sites.v[g->instead - 1] : (ml_Site){s, g->loops};

    ml_push(g->cx, &g->sites, site);
    g->site = (uint32_t)g->sites.n - 1;
    return before;
}

/* ---------------------------------------------------------------- variables, types */

void ml_gen_set_var(ml_Gen *g, const ml_Var *v, uint32_t reg, uint32_t par_mask)
{
    ml_VarInfo *info = ML_NEW(g->cx, ml_VarInfo);

    *info = (ml_VarInfo){reg, par_mask};
    ml_map_set(g->cx, g->vars, v->uid, info);
}

void ml_gen_bind_until(ml_Gen *g, const ml_Var *v, uint32_t reg, uint32_t par_mask)
{
    ml_gen_set_var(g, v, reg, par_mask);
    ml_push(g->cx, &g->bound, v->uid);
}

void ml_gen_unbind(ml_Gen *g, size_t mark)
{
    while (g->bound.n > mark)
        ml_map_set(g->cx, g->vars, g->bound.v[--g->bound.n], NULL);
}

uint32_t ml_gen_par_mask(ml_Gen *g, const ml_Expr *e)
{
    uint32_t mask = 0;

    if ((e->flags & ML_X_VAR_FREE) || e->size > ML_MAX_TREE)
        return 0;
    if (e->kind == ML_EXPR_VAR) {
        const ml_VarInfo *info = ml_map_get(g->vars, e->as.var->uid);
        return info ? info->par_mask : 0;
    }
    for (size_t k = 0; k < e->n_args; k++)
        mask |= ml_gen_par_mask(g, e->args[k]);
    return mask;
}

uint32_t ml_gen_type(ml_Gen *g, ml_Dtype t)
{
    t.lanes = 1;
    for (size_t k = 0; k < g->types.n; k++)
        if (ml_dtype_eq(g->types.v[k], t))
            return (uint32_t)k;
    ml_push(g->cx, &g->types, t);
    return (uint32_t)g->types.n - 1;
}

unsigned ml_gen_rounding(ml_Gen *g, ml_Dtype t)
{
    if (t.code == ML_FLOAT && t.bits == 64)
        return 0;
    if (t.code == ML_FLOAT && t.bits == 32)
        return 1;
    return 2 + ml_gen_type(g, t);
}

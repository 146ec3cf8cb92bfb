/*
 * gen_warp - ldmatrix and mma.sync: what the 32 lanes of a warp do together with registers
 * that each has for itself, a buffer of scope warp, [lane][register].
 *
 * Each lane makes the call, inside of a loop over threadIdx.x, or side by side with the others,
 * which then wait for each other before and after. What another lane brings are
 * the call's own operands with that lane's number in place of the variable, so they are
 * expressions of it, not of variables that were bound to such. A call becomes a nest of
 * stores of its own lane. Registers of 32 bits hold `per` elements; a matrix of 8 x 4 of
 * them is spread over the lanes, row by row. Source: lowering-and-codegen 9.5, PTX ISA 9.7.14.
 */
#include "moonloop/codegen/interp/code.h"

#include "moonloop/core/walk.h"

typedef struct Warp {
    ml_Gen *g;
    ml_Ctx *cx;
    const ml_Expr *lane;
    uint32_t reg, level; /* where its number is; what depends on it */
    int per;             /* elements of a register */
} Warp;

static const ml_Expr *op(Warp *w, ml_ExprKind kind, const ml_Expr *a, const ml_Expr *b)
{
    return ml_promote(w->cx, &a, &b) ? ml_binary(w->cx, kind, a, b) : a;
}

static const ml_Expr *add(Warp *w, const ml_Expr *a, const ml_Expr *b)
{
    return op(w, ML_EXPR_ADD, a, b);
}

static const ml_Expr *times(Warp *w, const ml_Expr *a, int64_t n)
{
    return op(w, ML_EXPR_MUL, a, ml_int(w->cx, a->type, n));
}

static const ml_Expr *over(Warp *w, const ml_Expr *a, int64_t n)
{
    return op(w, ML_EXPR_FLOORDIV, a, ml_int(w->cx, a->type, n));
}

static const ml_Expr *rest(Warp *w, const ml_Expr *a, int64_t n)
{
    return op(w, ML_EXPR_FLOORMOD, a, ml_int(w->cx, a->type, n));
}

/* The lane: of the threads at work, or of a loop over those of one warp. */
static bool find_lane(ml_Gen *g, Warp *w)
{
    const ml_Var *var = g->kernel && g->kernel->is_warp ? g->kernel->var[ML_DIM_X] : NULL;

    *w = (Warp){.g = g, .cx = g->cx, .level = ML_OF_LANE};
    for (size_t k = g->kernel ? 0 : g->par_depth; k-- > 0 && !var;) {
        const ml_Par *p = g->par[k];
        const ml_For *f = p->stmt->kind == ML_STMT_FOR ? ml_as_for(p->stmt) : NULL;

        if (p->thread.axis != ML_AXIS_THREAD || p->thread.dim != ML_DIM_X || !f ||
            !ml_is_int(f->min, 0) || !ml_is_int(f->extent, ML_WARP))
            continue;
        var = p->var;
        w->level = 1u << k;
    }
    if (!var)
        return false;
    w->lane = ml_var(g->cx, var);
    w->reg = ((const ml_VarInfo *)ml_map_get(g->vars, var->uid))->reg;
    return true;
}

typedef struct Lanes { /* names of the lane's number, and what they become */
    Warp *w;
    const ml_Expr *lane;
    ml_Subst sub, none;
} Lanes;

static bool see_lane(const ml_Expr *e, void *user)
{
    Lanes *l = user;
    Warp *w = l->w;
    const ml_VarInfo *info =
        e->kind == ML_EXPR_VAR ? ml_map_get(w->g->vars, e->as.var->uid) : NULL;

    if (info && info->reg == w->reg) {
        ml_subst_var(w->cx, &l->none, e->as.var, ml_int(w->cx, e->type, 0));
        ml_subst_var(w->cx, &l->sub, e->as.var, ml_cast(w->cx, e->type, l->lane));
    }
    return true;
}

/* e as the lane of that number has it; NULL: it is of a variable bound to the lane's. */
static const ml_Expr *of_lane(Warp *w, const ml_Expr *e, const ml_Expr *lane)
{
    Lanes l = {.w = w, .lane = lane};

    if (e->flags & ML_X_HAS_LOAD)
        return NULL;
    ml_expr_visit(e, see_lane, &l);
    if (!l.sub.vars)
        return ml_gen_par_mask(w->g, e) & w->level ? NULL : e;
    return ml_gen_par_mask(w->g, ml_expr_subst(w->cx, e, &l.none)) & w->level
               ? NULL
               : ml_expr_subst(w->cx, e, &l.sub);
}

static const ml_Expr *load(Warp *w, const ml_Buffer *b, const ml_Expr *at)
{
    const ml_Expr **idx = ML_ARRAY(w->cx, const ml_Expr *, b->rank + 1u);

    ml_gen_index_at(w->g, b, at, idx);
    return ml_load(w->cx, b, idx, b->rank);
}

static const ml_Stmt *store(Warp *w, const ml_Buffer *b, const ml_Expr *at,
                            const ml_Expr *value)
{
    const ml_Expr **idx = ML_ARRAY(w->cx, const ml_Expr *, b->rank + 1u);

    ml_gen_index_at(w->g, b, at, idx);
    return ml_store(w->cx, b, value, idx, b->rank, NULL);
}

/* Registers: memory of scope warp, where a lane has its own. */
static const ml_Buffer *registers(Warp *w, const ml_Expr *data)
{
    const ml_Buffer *b = ml_gen_owner(w->g, data);

    return b && b->rank > 0 && b->scope.rank == ML_SCOPE_WARP ? b : NULL;
}

static bool elements_of(Warp *w, ml_Dtype t)
{
    w->per = t.lanes == 1 && (t.bits == 8 || t.bits == 16) ? 32 / t.bits : 0;
    return w->per != 0;
}

/* ---- ldmatrix: trans, number of matrices, ".b16", registers, first one, pointer, offset */

/* The lanes whose rows are taken give places of 16 bytes. */
static const ml_Stmt *check_rows(Warp *w, const ml_Expr *row, int64_t lanes, int bytes)
{
    static const char *const TEXT[] = {"ldmatrix takes rows that begin at 16 bytes"};
    ml_Assert a = {.cond =
                       ml_eq(w->cx, rest(w, row, 16 / bytes), ml_int(w->cx, row->type, 0)),
                   .error = "RuntimeError",
                   .n_parts = 1,
                   .parts = TEXT};

    return ml_if(w->cx, ml_lt(w->cx, w->lane, ml_int(w->cx, w->lane->type, lanes)),
                 ml_assert_from(w->cx, &a), NULL);
}

static bool ldmatrix(Warp *w, const ml_Expr *e)
{
    const ml_Expr *trans = e->args[0], *n = e->args[1], *ptr = e->args[5];
    const ml_Buffer *to = registers(w, e->args[3]), *from = NULL;

    if (ml_is_op(ptr, ML_OP_ACCESS_PTR) && ptr->n_args == 5)
        from = ml_gen_owner(w->g, ptr->args[1]);
    if (!to || !from || from->rank == 0 || from->scope.rank != ML_SCOPE_SHARED ||
        trans->kind != ML_EXPR_INT || !ml_is_const_int(n) || !elements_of(w, to->type) ||
        !ml_dtype_eq(to->type, from->type) || (trans->as.i && to->type.bits != 16) ||
        (n->as.i != 1 && n->as.i != 2 && n->as.i != 4))
        return false;
    ml_GenNest nest = ml_gen_nest(w->g, 2, n->as.i, w->per, 1); /* matrix, element */
    const ml_Expr *group = over(w, w->lane, 4);
    const ml_Expr *along = add(w, times(w, rest(w, w->lane, 4), w->per), nest.at[1]);
    const ml_Expr *by = add(w, times(w, nest.at[0], 8), trans->as.i ? along : group);
    const ml_Expr *row = add(w, ptr->args[2], e->args[6]), *there = of_lane(w, row, by);

    if (!there)
        return false;
    there = add(w, there, trans->as.i ? group : along);
    ml_gen_run_nest(w->g, &(ml_GenNest){.n = 0},
                    check_rows(w, row, 8 * n->as.i, 4 / w->per));
    ml_gen_run_nest(
        w->g, &nest,
        store(w, to, add(w, e->args[4], add(w, times(w, nest.at[0], w->per), nest.at[1])),
              load(w, from, there)));
    return true;
}

/* ---- mma.sync: shape, "row", "col", types of a, b, c, and for each of them registers and
 * the first one; saturate */

static bool is_type(Warp *w, const ml_Expr *name, ml_Dtype t)
{
    static const char *const NAMES[][2] = {
        {"fp16", "float16"},       {"bf16", "bfloat16"},   {"fp32", "float32"},
        {"int8", "int8"},          {"uint8", "uint8"},     {"int32", "int32"},
        {"e4m3", "float8_e4m3fn"}, {"e5m2", "float8_e5m2"}};

    for (size_t k = 0; name->kind == ML_EXPR_STRING && k < ML_COUNT(NAMES); k++)
        if (ml_streq(name->as.s, NAMES[k][0]))
            return ml_streq(ml_dtype_name(w->cx, t), NAMES[k][1]);
    return false;
}

/* m16n8kK; 0: another shape, or none for such elements. */
static int64_t depth_of(Warp *w, const ml_Expr *shape)
{
    static const char HEAD[] = "m16n8k";

    if (shape->kind != ML_EXPR_STRING || strncmp(shape->as.s, HEAD, strlen(HEAD)) != 0)
        return 0;
    const char *k = shape->as.s + strlen(HEAD);

    for (int times = 1; times <= 2; times++)
        if (ml_streq(k, ml_format(w->cx, "%d", 4 * w->per * times)))
            return (int64_t)4 * w->per * times;
    return 0;
}

static bool mma(Warp *w, const ml_Expr *e)
{
    const ml_Expr *const *arg = e->args;
    const ml_Buffer *a = registers(w, arg[6]), *b = registers(w, arg[8]),
                    *c = registers(w, arg[10]);
    const ml_Expr *x, *k, *lane[2], *at[2], *part, *sum;
    int64_t depth;

    if (!a || !b || !c || !elements_of(w, a->type) || b->type.bits != a->type.bits ||
        !is_type(w, arg[3], a->type) || !is_type(w, arg[4], b->type) ||
        !is_type(w, arg[5], c->type) || arg[1]->kind != ML_EXPR_STRING ||
        !ml_streq(arg[1]->as.s, "row") || arg[2]->kind != ML_EXPR_STRING ||
        !ml_streq(arg[2]->as.s, "col") || !ml_is_int(arg[12], 0))
        return false;
    depth = depth_of(w, arg[0]);
    if (depth == 0)
        return false;
    ml_GenNest nest = ml_gen_nest(w->g, 2, 4, depth, 1);

    x = nest.at[0]; /* of the lane's four elements of c */
    k = nest.at[1];
    part = over(w, rest(w, k, 4 * w->per), w->per);
    lane[0] = add(w, times(w, over(w, w->lane, 4), 4), part);
    lane[1] =
        add(w, times(w, add(w, times(w, rest(w, w->lane, 4), 2), rest(w, x, 2)), 4), part);
    for (size_t m = 0; m < 2; m++) {
        const ml_Expr *place =
            add(w, times(w, over(w, k, 4 * w->per), m ? w->per : 2 * w->per),
                rest(w, k, w->per));

        if (m == 0)
            place = add(w, place, times(w, over(w, x, 2), w->per));
        at[m] = of_lane(w, arg[7 + 2 * m], lane[m]);
        if (!at[m])
            return false;
        at[m] = add(w, at[m], place);
    }
    sum = ml_mul(w->cx, ml_cast(w->cx, c->type, load(w, a, at[0])),
                 ml_cast(w->cx, c->type, load(w, b, at[1])));
    sum = ml_add(w->cx, load(w, c, add(w, arg[11], x)), sum);
    ml_gen_run_nest(w->g, &nest, store(w, c, add(w, arg[11], x), sum));
    return true;
}

bool ml_gen_warp_call(ml_Gen *g, const ml_Expr *e)
{
    const char *name = e->as.op->name;
    bool loads = ml_streq(name, "ptx_ldmatrix") && e->n_args == 7, ok;
    Warp w;

    if (!loads && !(ml_streq(name, "ptx_mma") && e->n_args == 13))
        return false;
    ml_gen_warp_meet(g);
    ok = find_lane(g, &w) && (loads ? ldmatrix(&w, e) : mma(&w, e));
    ml_gen_warp_meet(g);
    return ok;
}

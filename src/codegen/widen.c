/*
 * widen - buffers, variables and constants of a wider type; each store of a rounded buffer
 * is preceded by the store of its estimate, which may still read the old value.
 */
#include "codegen/widen.h"

#include "core/walk.h"

#include <math.h>

enum { DEEPEST = 512, LARGEST = 4000 }; /* nesting; nodes of one stored value */

/* A step that is large against the last bits of a float64 and small against the value. */
#define MAGNIFY 0x1p26

typedef struct Widen {
    ml_Ctx *cx;
    const ml_Rounding *r;
    const ml_Size *sizes;
    size_t n_sizes;
    ml_Map *wide, *estimate;   /* by uid of the buffer; estimate: of rounded ones */
    ml_Map *vars, *var_errors; /* uid -> const ml_Var * */
    ml_Map *values, *errors;   /* memo by number of the expression */
    const ml_Block *block[DEEPEST];
    uint32_t loops_above[DEEPEST], n_blocks;
    const ml_For *loop[DEEPEST];
    uint32_t n_loops;
    const ml_Func *func;
    const ml_WideSample *sample; /* or NULL */
    bool cannot;
} Widen;

static const ml_Expr *value_of(ml_Ctx *cx, const ml_Expr *e, void *user);
static const ml_Expr *error_of(Widen *w, const ml_Expr *e);

/* What is built until the end has the types that it would have. */
static const ml_Expr *give_up(Widen *w, const ml_Expr *e)
{
    w->cannot = true;
    return ml_dtype_is_float(e->type) ? ml_const(w->cx, ml_dtype_wider(e->type), 1) : e;
}

/* ---------------------------------------------------------------- buffers, variables */

static const ml_Buffer *wide_buffer(Widen *w, const ml_Buffer *b)
{
    const ml_Buffer *known = ml_map_get(w->wide, b->uid);
    ml_Buffer like = *b;

    if (known)
        return known;
    if (!ml_dtype_is_float(b->type))
        return b;
    like.type = ml_dtype_wider(b->type);
    known = ml_buffer_from(w->cx, &like, true);
    ml_map_set(w->cx, w->wide, b->uid, known);
    return known;
}

/* NULL: its elements are exact. */
static const ml_Buffer *estimate_buffer(Widen *w, const ml_Buffer *b)
{
    const ml_Buffer *known = ml_map_get(w->estimate, b->uid);
    ml_Buffer like = *b;

    if (known || !ml_dtype_is_float(b->type) || !(ml_rounding(w->r, b) & ML_ROUNDED))
        return known;
    if (b->n_strides > 0 || !ml_is_int(b->elem_offset, 0))
        w->cannot = true; /* of a view whose place is found when it is made */
    like.type = ml_dtype_lanes(ML_DT_F64, b->type.lanes);
    like.name = ml_format(w->cx, "%s_rounding", b->name);
    known = ml_buffer_from(w->cx, &like, true);
    ml_map_set(w->cx, w->estimate, b->uid, known);
    return known;
}

static const ml_Var *wide_var(Widen *w, const ml_Var *v)
{
    const ml_Var *known = ml_map_get(w->vars, v->uid);

    if (v->type.code == ML_HANDLE)
        w->cannot = true;
    if (known || !ml_dtype_is_float(v->type))
        return known ? known : v;
    known = ml_var_new(w->cx, v->hint, ml_dtype_wider(v->type));
    ml_map_set(w->cx, w->vars, v->uid, known);
    return known;
}

static const ml_Var *error_var(Widen *w, const ml_Var *v)
{
    const ml_Var *e = ml_var_new(w->cx, ml_format(w->cx, "%s_rounding", v->hint),
                                 ml_dtype_lanes(ML_DT_F64, v->type.lanes));

    ml_map_set(w->cx, w->var_errors, v->uid, e);
    return e;
}

/* ---------------------------------------------------------------- values */

static bool is_float(const ml_Expr *e)
{
    return ml_dtype_is_float(e->type);
}

/* Calls that mean the same in a wider type. */
static bool widens(const ml_Expr *e)
{
    bool floats = is_float(e);

    for (size_t k = 0; k < e->n_args; k++)
        floats |= is_float(e->args[k]);
    if (!floats)
        return ml_expr_effect(e) <= ML_EFFECT_READ;
    return e->as.op->id >= ML_OP_FMA && e->as.op->id <= ML_OP_HYPOT
               ? e->as.op->id != ML_OP_REINTERPRET
               : ml_is_op(e, ML_OP_IF_THEN_ELSE);
}

static const ml_Expr *wide_call(Widen *w, const ml_Expr *e)
{
    const ml_Expr **args = ML_ARRAY(w->cx, const ml_Expr *, e->n_args + 1u);

    if (!widens(e))
        return give_up(w, e);
    for (size_t k = 0; k < e->n_args; k++)
        args[k] = value_of(w->cx, e->args[k], w);
    return ml_call(w->cx, ml_dtype_wider(e->type), e->as.op, args, e->n_args);
}

static const ml_Expr *wide_children(Widen *w, const ml_Expr *e)
{
    const ml_Expr **a = ML_ARRAY(w->cx, const ml_Expr *, e->n_args + 1u);

    for (size_t k = 0; k < e->n_args; k++)
        a[k] = value_of(w->cx, e->args[k], w);
    switch ((ml_ExprKind)e->kind) {
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
    case ML_EXPR_GE: return ml_binary(w->cx, (ml_ExprKind)e->kind, a[0], a[1]);
    case ML_EXPR_SELECT: return ml_select(w->cx, a[0], a[1], a[2]);
    case ML_EXPR_BROADCAST: return ml_broadcast(w->cx, a[0], e->type.lanes);
    case ML_EXPR_SHUFFLE:
        return ml_shuffle(w->cx, a, (size_t)e->as.i, a + e->as.i,
                          e->n_args - (size_t)e->as.i);
    default: return is_float(e) ? give_up(w, e) : ml_expr_with_args(w->cx, e, a);
    }
}

/* n indices, and a mask when there are more arguments. */
static const ml_Expr *load_of(Widen *w, const ml_Buffer *b, const ml_Expr *const *args,
                              size_t n, size_t n_args)
{
    return n < n_args ? ml_load_masked(w->cx, b, args, n, args[n])
                      : ml_load(w->cx, b, args, n);
}

static const ml_Expr *make_value(Widen *w, const ml_Expr *e)
{
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT:
    case ML_EXPR_STRING: return e;
    case ML_EXPR_FLOAT: return ml_float(w->cx, ml_dtype_wider(e->type), e->as.f);
    case ML_EXPR_VAR: return ml_var(w->cx, wide_var(w, e->as.var));
    case ML_EXPR_CAST:
        return ml_cast(w->cx, ml_dtype_wider(e->type), value_of(w->cx, e->args[0], w));
    case ML_EXPR_LET: {
        const ml_Expr *v = value_of(w->cx, e->args[0], w);

        return ml_let(w->cx, wide_var(w, e->as.var), v, value_of(w->cx, e->args[1], w));
    }
    case ML_EXPR_LOAD: {
        const ml_Expr **i = ML_ARRAY(w->cx, const ml_Expr *, e->n_args + 1u);
        size_t n = ml_load_rank(e);

        for (size_t k = 0; k < e->n_args; k++)
            i[k] = value_of(w->cx, e->args[k], w);
        return load_of(w, wide_buffer(w, e->as.buffer), i, n, e->n_args);
    }
    case ML_EXPR_CALL: return wide_call(w, e);
    default: return wide_children(w, e);
    }
}

static const ml_Expr *value_of(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Widen *w = user;
    const ml_Expr *v = ml_map_get(w->values, e->id);

    if (v == NULL) {
        v = make_value(w, e);
        ml_map_set(cx, w->values, e->id, v);
    }
    return v;
}

/* ---------------------------------------------------------------- estimates */

/* The widened value of e as a float64, its magnitude, and arithmetic where NULL is zero. */
static const ml_Expr *as64(Widen *w, const ml_Expr *e)
{
    return ml_cast(w->cx, ml_dtype_lanes(ML_DT_F64, e->type.lanes), e);
}

static const ml_Expr *magnitude(Widen *w, const ml_Expr *e)
{
    const ml_Expr *v = as64(w, e);

    return ml_call_id(w->cx, v->type, ML_OP_FABS, &v, 1);
}

static const ml_Expr *value64(Widen *w, const ml_Expr *e)
{
    return magnitude(w, value_of(w->cx, e, w));
}

static const ml_Expr *plus(Widen *w, const ml_Expr *a, const ml_Expr *b)
{
    return a && b ? ml_add(w->cx, a, b) : a ? a : b;
}

static const ml_Expr *times(Widen *w, const ml_Expr *a, const ml_Expr *b)
{
    return a && b ? ml_mul(w->cx, a, b) : NULL;
}

static const ml_Expr *larger(Widen *w, const ml_Expr *a, const ml_Expr *b)
{
    return a && b ? ml_max(w->cx, a, b) : a ? a : b;
}

static const ml_Expr *zero_of(Widen *w, const ml_Expr *e)
{
    return ml_const(w->cx, ml_dtype_lanes(ML_DT_F64, e->type.lanes), 0);
}

static const ml_Expr *scaled(Widen *w, double by, const ml_Expr *e)
{
    return e ? ml_mul(w->cx, ml_const(w->cx, e->type, by), e) : NULL;
}

/* What the operation itself adds, `of` half units in the last place. */
static const ml_Expr *own(Widen *w, const ml_Expr *e, double of)
{
    return scaled(w, of * ml_unit_roundoff(e->type), value64(w, e));
}

/* How far the call moves when argument k moves by its estimate. */
static const ml_Expr *moved(Widen *w, const ml_Expr *e, size_t k, const ml_Expr *err)
{
    const ml_Expr **args = ML_ARRAY(w->cx, const ml_Expr *, e->n_args + 1u);
    const ml_Expr *at, *there;
    bool same = ml_dtype_eq(ml_dtype_wider(e->type), e->type); /* nothing wider */

    for (size_t j = 0; j < e->n_args; j++)
        args[j] = as64(w, value_of(w->cx, e->args[j], w));
    at = ml_call(w->cx, args[k]->type, e->as.op, args, e->n_args);
    args[k] = ml_add(w->cx, args[k], same ? scaled(w, MAGNIFY, err) : err);
    there = ml_call(w->cx, args[k]->type, e->as.op, args, e->n_args);
    there = magnitude(w, ml_sub(w->cx, there, at));
    return same ? scaled(w, 1 / MAGNIFY, there) : there;
}

static const ml_Expr *error_of_call(Widen *w, const ml_Expr *e)
{
    enum { LIBRARY = 4 }; /* half units of a function of the library */
    const ml_Expr *sum = NULL, *err;

    switch (e->as.op->id) {
    case ML_OP_IF_THEN_ELSE: {
        const ml_Expr *a = error_of(w, e->args[1]), *b = error_of(w, e->args[2]);

        if (a == NULL && b == NULL)
            return NULL;
        return ml_if_then_else(w->cx, value_of(w->cx, e->args[0], w), a ? a : zero_of(w, e),
                               b ? b : zero_of(w, e));
    }
    case ML_OP_FABS: return error_of(w, e->args[0]);
    case ML_OP_FLOOR: /* what these decide is judged by the start */
    case ML_OP_CEIL:
    case ML_OP_ROUND:
    case ML_OP_TRUNC:
    case ML_OP_NEARBYINT: return NULL;
    case ML_OP_FMA:
        sum = plus(w, times(w, value64(w, e->args[0]), error_of(w, e->args[1])),
                   times(w, value64(w, e->args[1]), error_of(w, e->args[0])));
        return plus(w, plus(w, sum, error_of(w, e->args[2])), own(w, e, 1));
    default: break;
    }
    for (size_t k = 0; k < e->n_args; k++)
        if (is_float(e->args[k]) && (err = error_of(w, e->args[k])) != NULL)
            sum = plus(w, sum, moved(w, e, k, err));
    return plus(w, sum, own(w, e, LIBRARY));
}

static const ml_Expr *error_of_let(Widen *w, const ml_Expr *e)
{
    const ml_Expr *err = is_float(e->args[0]) ? error_of(w, e->args[0]) : NULL, *body;
    const ml_Var *v = err ? error_var(w, e->as.var) : NULL;

    body = error_of(w, e->args[1]);
    if (body == NULL)
        return NULL;
    if (err)
        body = ml_let(w->cx, v, err, body);
    return ml_let(w->cx, wide_var(w, e->as.var), value_of(w->cx, e->args[0], w), body);
}

static const ml_Expr *error_of_load(Widen *w, const ml_Expr *e)
{
    const ml_Buffer *b = estimate_buffer(w, e->as.buffer);
    const ml_Expr *v = value_of(w->cx, e, w);
    size_t n = ml_load_rank(e);

    if (b == NULL)
        return NULL;
    return load_of(w, b, v->args, n, v->n_args);
}

static const ml_Expr *error_of_cast(Widen *w, const ml_Expr *e)
{
    const ml_Expr *from = e->args[0];
    bool loses = is_float(from) ? ml_unit_roundoff(e->type) > ml_unit_roundoff(from->type)
                                : from->type.bits > 8;

    return plus(w, is_float(from) ? error_of(w, from) : NULL, loses ? own(w, e, 1) : NULL);
}

static const ml_Expr *make_error(Widen *w, const ml_Expr *e)
{
    const ml_Expr *a, *b;

    if (e->n_args >= 2 && e->kind != ML_EXPR_LOAD && e->kind != ML_EXPR_LET &&
        e->kind != ML_EXPR_CALL && e->kind != ML_EXPR_SHUFFLE) {
        bool choice = e->kind == ML_EXPR_SELECT;

        a = error_of(w, e->args[choice ? 1 : 0]);
        b = error_of(w, e->args[choice ? 2 : 1]);
    } else {
        a = b = NULL;
    }
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_VAR: {
        const ml_Var *v = ml_map_get(w->var_errors, e->as.var->uid);

        return v ? ml_var(w->cx, v) : NULL;
    }
    case ML_EXPR_ADD:
    case ML_EXPR_SUB: return plus(w, plus(w, a, b), own(w, e, 1));
    case ML_EXPR_MUL:
        return plus(w,
                    plus(w, times(w, value64(w, e->args[0]), b),
                         times(w, value64(w, e->args[1]), a)),
                    own(w, e, 1));
    case ML_EXPR_DIV: {
        const ml_Expr *by = value64(w, e->args[1]);

        b = times(w, value64(w, e), b);
        a = plus(w, a, b);
        return plus(w, a ? ml_div(w->cx, a, by) : NULL, own(w, e, 1));
    }
    case ML_EXPR_MIN:
    case ML_EXPR_MAX: return larger(w, a, b);
    case ML_EXPR_SELECT:
        if (a == NULL && b == NULL)
            return NULL;
        return ml_select(w->cx, value_of(w->cx, e->args[0], w), a ? a : zero_of(w, e),
                         b ? b : zero_of(w, e));
    case ML_EXPR_CAST: return error_of_cast(w, e);
    case ML_EXPR_LOAD: return error_of_load(w, e);
    case ML_EXPR_LET: return error_of_let(w, e);
    case ML_EXPR_CALL: return error_of_call(w, e);
    case ML_EXPR_BROADCAST:
        a = error_of(w, e->args[0]);
        return a ? ml_broadcast(w->cx, a, e->type.lanes) : NULL;
    case ML_EXPR_SHUFFLE: {
        size_t n = (size_t)e->as.i;
        const ml_Expr **v = ML_ARRAY(w->cx, const ml_Expr *, n + 1u);

        for (size_t k = 0; k < n; k++) {
            a = error_of(w, e->args[k]);
            v[k] = a ? a : zero_of(w, e->args[k]);
        }
        return ml_shuffle(w->cx, v, n, e->args + n, e->n_args - n);
    }
    default: return NULL; /* constants; remainders are judged by the start */
    }
}

/* The estimate of a float expression; NULL: it is exact. */
static const ml_Expr *error_of(Widen *w, const ml_Expr *e)
{
    const ml_Expr *v = ml_map_get(w->errors, e->id);

    if (v == NULL && !ml_map_has(w->errors, e->id)) {
        v = make_error(w, e);
        ml_map_set(w->cx, w->errors, e->id, v);
    }
    return v;
}

/* ---------------------------------------------------------------- sums */

static double domain(const Widen *w, const ml_Expr *extent)
{
    int64_t n;

    return ml_eval_size(extent, w->sizes, w->n_sizes, &n) && n > 1 ? (double)n : 1.0;
}

/* The number of terms that a store adds up in one element: the reduce iterators around it,
 * and the loops inside the innermost block with iterators that its place does not name. */
static double terms(const Widen *w, const ml_Store *s)
{
    uint32_t base = 0;
    double n = 1.0;

    for (uint32_t b = 0; b < w->n_blocks; b++) {
        if (w->block[b]->n_iters > 0)
            base = w->loops_above[b];
        for (uint32_t k = 0; k < w->block[b]->n_iters; k++)
            if (w->block[b]->iters[k].kind == ML_ITER_REDUCE)
                n *= domain(w, w->block[b]->iters[k].extent);
    }
    for (uint32_t l = base; l < w->n_loops; l++) {
        bool used = false;

        for (uint32_t d = 0; d < s->n; d++)
            used = used || ml_expr_uses_var(s->indices[d], w->loop[l]->var);
        if (!used)
            n *= domain(w, w->loop[l]->extent);
    }
    return n;
}

static bool is_place(const ml_Store *s, const ml_Expr *e)
{
    return e->kind == ML_EXPR_LOAD && e->as.buffer == s->buffer &&
           ml_load_rank(e) == s->n &&
           memcmp(e->args, s->indices, s->n * sizeof *s->indices) == 0;
}

/* Adds what the terms of a sum carry and bring; *found: the place itself is one of them. */
static const ml_Expr *sum_up(Widen *w, const ml_Store *s, const ml_Expr *e, double share,
                             bool *found)
{
    if (is_place(s, e)) {
        *found = true;
        return error_of(w, e);
    }
    if (e->kind == ML_EXPR_ADD || (e->kind == ML_EXPR_SUB && !is_place(s, e->args[1])))
        return plus(w, sum_up(w, s, e->args[0], share, found),
                    sum_up(w, s, e->args[1], share, found));
    return plus(w, error_of(w, e), scaled(w, share, value64(w, e)));
}

/* Of one term, by its size. Where no wider type tells how far the start itself is off, it is
 * the bound of a sum of any order, for the start and for what is compared with it: terms of
 * one sign are rounded to one side, and roundings by chance would be called wrong. */
static double share_of(double n, ml_Dtype t)
{
    return (ml_dtype_eq(ml_dtype_wider(t), t) ? 2 * n : sqrt(n)) * ml_unit_roundoff(t);
}

static const ml_Expr *estimate_of(Widen *w, const ml_Store *s)
{
    const ml_Expr *sum = NULL;
    bool found = false;
    double n = terms(w, s);

    /* Of an unknown number of terms each partial sum counts as an operation. */
    if ((s->value->kind == ML_EXPR_ADD || s->value->kind == ML_EXPR_SUB) && n > 1)
        sum = sum_up(w, s, s->value, share_of(n, s->buffer->type), &found);
    return found ? sum : error_of(w, s->value);
}

/* ---------------------------------------------------------------- statements */

static const ml_Buffer *map_buffer(ml_Ctx *cx, const ml_Buffer *b, bool definition,
                                   void *user)
{
    (void)cx;
    (void)definition;
    return wide_buffer(user, b);
}

static const ml_Stmt *map_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

static const ml_Stmt *map_below(Widen *w, const ml_Stmt *s)
{
    const ml_Mapper m = {map_stmt, value_of, map_buffer, w};

    return ml_stmt_map(w->cx, s, &m);
}

static const ml_Stmt *map_store(Widen *w, const ml_Store *s)
{
    const ml_Buffer *b = estimate_buffer(w, s->buffer);
    const ml_Store *wide = ml_as_store(map_below(w, &s->base));
    const ml_Expr *e;

    if (b == NULL)
        return &wide->base;
    if (s->value->size > LARGEST) {
        w->cannot = true;
        return &s->base;
    }
    e = estimate_of(w, s);
    e = e ? e : zero_of(w, s->value);
    return ml_seq(
        w->cx,
        (const ml_Stmt *[]){ml_store(w->cx, b, e, wide->indices, wide->n, wide->mask),
                            &wide->base},
        2);
}

static const ml_Stmt *map_bind(Widen *w, const ml_Bind *s)
{
    const ml_Expr *v = value_of(w->cx, s->value, w);
    const ml_Expr *err = is_float(s->value) ? error_of(w, s->value) : NULL;
    const ml_Stmt *bind = ml_bind(w->cx, wide_var(w, s->var), v);

    if (err == NULL)
        return bind;
    return ml_seq(w->cx,
                  (const ml_Stmt *[]){ml_bind(w->cx, error_var(w, s->var), err), bind}, 2);
}

/* Regions, as they are in the widened block, and those of the estimates. */
static const ml_Region *regions(Widen *w, const ml_Region *old, const ml_Region *now,
                                uint32_t *n)
{
    ml_Region *v = ML_ARRAY(w->cx, ml_Region, 2 * *n + 1u);
    uint32_t all = *n;

    for (uint32_t k = 0; k < *n; k++) {
        const ml_Buffer *b = estimate_buffer(w, old[k].buffer);

        v[k] = now[k];
        if (b)
            v[all++] = (ml_Region){b, now[k].ranges};
    }
    *n = all;
    return v;
}

static const ml_Stmt *map_block(Widen *w, const ml_Block *old)
{
    uint32_t depth = w->n_blocks;
    ml_Block b;
    ml_Match *matches;
    const ml_Buffer **allocs;

    if (depth == DEEPEST) {
        w->cannot = true;
        return &old->base;
    }
    w->loops_above[w->n_blocks] = w->n_loops;
    w->block[w->n_blocks++] = old;
    b = *ml_as_block(map_below(w, &old->base));
    w->n_blocks = depth;
    b.reads = regions(w, old->reads, b.reads, &b.n_reads);
    b.writes = regions(w, old->writes, b.writes, &b.n_writes);
    allocs = ML_ARRAY(w->cx, const ml_Buffer *, 2 * b.n_allocs + 1u);
    matches = ML_ARRAY(w->cx, ml_Match, 2 * b.n_matches + 1u);
    for (uint32_t k = 0; k < old->n_allocs; k++) {
        const ml_Buffer *e = estimate_buffer(w, old->allocs[k]);

        allocs[k] = b.allocs[k];
        if (e)
            allocs[b.n_allocs++] = e;
    }
    for (uint32_t k = 0; k < old->n_matches; k++) {
        const ml_Match *m = &old->matches[k];
        const ml_Buffer *e = estimate_buffer(w, m->target);

        matches[k] = b.matches[k];
        if (e)
            matches[b.n_matches++] = (ml_Match){
                e, {estimate_buffer(w, m->source.buffer), b.matches[k].source.ranges}};
    }
    b.allocs = allocs;
    b.matches = matches;
    return ml_block_from(w->cx, &b);
}

/* ---------------------------------------------------------------- samples */

typedef struct Nest {
    const Widen *w;
    const ml_Var *var;
    bool apart; /* so far: iterations of var write their own elements of last outputs */
} Nest;

static bool is_last(const Widen *w, const ml_Buffer *b)
{
    for (uint32_t k = 0; k < w->func->n_params; k++)
        if (w->func->params[k].buffer == b)
            return w->sample->last[k];
    return false;
}

static bool see_store(const ml_Stmt *s, void *user)
{
    Nest *n = user;

    if (s->kind == ML_STMT_STORE)
        n->apart &= is_last(n->w, ml_as_store(s)->buffer);
    return true;
}

static bool see_place(const ml_Stmt *s, void *user)
{
    Nest *n = user;
    bool place = false;

    if (s->kind == ML_STMT_STORE) {
        for (uint32_t k = 0; k < ml_as_store(s)->n; k++)
            place |= ml_expr_uses_var(ml_as_store(s)->indices[k], n->var);
        n->apart &= place;
    }
    if (s->kind != ML_STMT_BLOCK)
        return true;
    for (uint32_t k = 0; k < ml_as_block(s)->n_iters; k++) {
        const ml_Iter *it = &ml_as_block(s)->iters[k];
        bool uses = ml_expr_uses_var(it->value, n->var);

        place |= uses && it->kind == ML_ITER_SPATIAL;
        n->apart &= !uses || it->kind == ML_ITER_SPATIAL;
    }
    n->apart &= place;
    return false;
}

/* The outermost loop of a nest that makes outputs that nothing reads: its first iteration,
 * its last, and some between. */
static const ml_Stmt *sampled(Widen *w, const ml_For *old, const ml_Stmt *now)
{
    Nest n = {w, old->var, true};
    ml_For f = *ml_as_for(now);
    uint32_t one_in = w->sample ? w->sample->one_in : 0;
    const ml_Expr *i = ml_var(w->cx, f.var), *end, *at;
    int64_t extent;

    if (one_in < 2 || w->n_loops > 0 || old->kind == ML_FOR_THREAD || old->step ||
        !ml_eval_size(old->extent, w->sizes, w->n_sizes, &extent) || extent < 2 * one_in)
        return now;
    ml_stmt_visit(old->body, see_store, &n);
    ml_stmt_visit(old->body, see_place, &n);
    if (!n.apart)
        return now;
    end = ml_add(w->cx, f.min, ml_sub(w->cx, f.extent, ml_int(w->cx, i->type, 1)));
    at = ml_floormod(w->cx, ml_sub(w->cx, end, i), ml_int(w->cx, i->type, one_in));
    f.body = ml_if(
        w->cx,
        ml_or(w->cx, ml_eq(w->cx, i, f.min), ml_eq(w->cx, at, ml_int(w->cx, i->type, 0))),
        f.body, NULL);
    return ml_for_from(w->cx, &f);
}

static const ml_Stmt *map_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Widen *w = user;
    uint32_t loops = w->n_loops;
    const ml_Stmt *to;

    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE: return map_store(w, ml_as_store(s));
    case ML_STMT_BLOCK: return map_block(w, ml_as_block(s));
    case ML_STMT_BIND: return map_bind(w, ml_as_bind(s));
    case ML_STMT_FOR:
        if (loops == DEEPEST)
            break;
        w->loop[w->n_loops++] = ml_as_for(s);
        to = map_below(w, s);
        w->n_loops = loops;
        return w->cannot ? s : sampled(w, ml_as_for(s), to);
    case ML_STMT_ALLOC: {
        const ml_Buffer *e = estimate_buffer(w, ml_as_alloc(s)->buffer);

        to = map_below(w, s);
        return e ? ml_seq(cx, (const ml_Stmt *[]){ml_alloc_stmt(cx, e, NULL), to}, 2) : to;
    }
    case ML_STMT_EVALUATE:
        if (!ml_is_noop(s))
            break;
        return s;
    case ML_STMT_SEQ:
    case ML_STMT_WHILE:
    case ML_STMT_IF:
    case ML_STMT_ATTR:
    case ML_STMT_ASSERT:
    case ML_STMT_CONTINUE:
    case ML_STMT_BREAK: return map_below(w, s);
    case ML_STMT_DECL: /* another view of an address */
    case ML_STMT_RETURN:
    case ML_STMT_KINDS: break;
    }
    w->cannot = true;
    return s;
}

/* ---------------------------------------------------------------- functions */

/* A parameter with the buffer, after the data pointer of `like`. */
static ml_FuncParam param_of(Widen *w, const ml_Buffer *b)
{
    return (ml_FuncParam){
        ml_var_new_handle(w->cx, b->name, ml_dtype_lanes(b->type, 1), "global"), b};
}

static bool is_written(const ml_Rounding *r, const ml_Buffer *b)
{
    return b && ml_dtype_is_float(b->type) && (ml_rounding(r, b) & ML_ROUNDED);
}

const ml_Wide *ml_widen(ml_Ctx *cx, const ml_Func *f, const ml_Rounding *r,
                        const ml_Size *sizes, size_t n_sizes, const ml_WideSample *sample)
{
    Widen *w = ML_NEW(cx, Widen);
    ml_Wide *out = ML_NEW(cx, ml_Wide);
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, 2 * f->n_params + 1u);
    ml_Func g = *f;
    const ml_Func *one;

    w->cx = cx;
    w->r = r;
    w->func = f;
    w->sample = sample;
    w->sizes = sizes;
    w->n_sizes = n_sizes;
    w->wide = ml_map_new(cx);
    w->estimate = ml_map_new(cx);
    w->vars = ml_map_new(cx);
    w->var_errors = ml_map_new(cx);
    w->values = ml_map_new(cx);
    w->errors = ml_map_new(cx);
    out->estimate = ML_ARRAY(cx, uint32_t, f->n_params + 1u);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        params[k] = f->params[k];
        if (b && ml_dtype_is_float(b->type))
            params[k] = param_of(w, wide_buffer(w, b));
        else if (b == NULL)
            params[k].var = wide_var(w, f->params[k].var);
        if (!is_written(r, b))
            continue;
        out->estimate[k] = g.n_params;
        params[g.n_params++] = param_of(w, estimate_buffer(w, b));
    }
    g.params = params;
    g.body = map_stmt(cx, f->body, w);
    if (w->cannot)
        return NULL;
    out->func = one = ml_func_from(cx, &g);
    out->mod = ml_module_new(cx, &one, 1, NULL);
    return out;
}

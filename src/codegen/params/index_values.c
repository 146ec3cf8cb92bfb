/*
 * index_values - the loads of integer arguments are variables of a range; the range is
 * widened, argument by argument, as long as the bounds of what is made of them stay inside.
 *
 * Integers that the program stores and loads again have the hull of what is stored.
 */
#include "moonloop/codegen/params/index_values.h"

#include "moonloop/codegen/params/sources.h"
#include "moonloop/core/arith/arith.h"

enum { MOST = 32767, NUMBERS = 7, FIRST_TRIES = 16, PASSES = 3 };

typedef struct Hull { /* of a buffer that the program writes */
    int64_t lo, hi;
    bool any, grown; /* grown: in the pass at work */
    bool index;      /* some index is made of it */
} Hull;

typedef struct Values {
    ml_Ctx *cx;
    const ml_Func *f;
    const ml_Size *sizes;
    size_t n_sizes;
    ml_IndexValues *v;
    ml_Map *params; /* uid of a data pointer, or of a number -> 1 + its parameter */
    ml_Map *sources;
    ml_Map *hulls;                 /* uid of a data pointer -> Hull */
    ml_Map *loads;                 /* number of an expression -> its variable */
    ML_VEC(const ml_Expr *) known; /* those loads */
    ml_Arith *ar;
    bool look; /* which parameters take part is asked, and nothing else */
    bool ok, grown;
} Values;

/* ---------------------------------------------------------------- loads as variables */

/* 1 + the parameter whose elements the buffer holds; 0: another. */
static uint32_t param_of(const Values *w, const ml_Buffer *b)
{
    return (uint32_t)(uintptr_t)ml_map_get(w->params,
                                           ml_source_of(w->sources, b)->data->uid);
}

static Hull *hull_of(const Values *w, const ml_Buffer *b)
{
    return (Hull *)(uintptr_t)ml_map_get(w->hulls, ml_source_of(w->sources, b)->data->uid);
}

static void bind_load(Values *w, const ml_Expr *load, const ml_Var *v)
{
    uint32_t k = param_of(w, load->as.buffer);
    const Hull *h = hull_of(w, load->as.buffer);
    int64_t lo = -ML_INF, hi = ML_INF, n;

    if (k > 0) {
        lo = w->v[k - 1].lo;
        hi = w->v[k - 1].hi;
    }
    if (h && h->any) {
        lo = k > 0 && lo < h->lo ? lo : h->lo;
        hi = k > 0 && hi > h->hi ? hi : h->hi;
    }
    if (lo == -ML_INF || hi == ML_INF || __builtin_sub_overflow(hi, lo, &n) ||
        !ml_dtype_fits(v->type, lo) || !ml_dtype_fits(v->type, n))
        return; /* any value */
    ml_arith_bind_range(w->ar, v, ml_int(w->cx, v->type, lo),
                        ml_int(w->cx, v->type, n + 1));
}

static const ml_Expr *variable_for(Values *w, const ml_Expr *e, const ml_Expr *load)
{
    const ml_Var *v = ml_map_get(w->loads, e->id);

    if (v == NULL) {
        v = ml_var_new(w->cx, "element", e->type);
        ml_map_set(w->cx, w->loads, e->id, v);
        ml_push(w->cx, &w->known, e);
        bind_load(w, load, v);
    }
    return ml_var(w->cx, v);
}

static const ml_Expr *load_in(const ml_Expr *e)
{
    while (e->kind == ML_EXPR_CAST && !ml_dtype_is_float(e->args[0]->type))
        e = e->args[0];
    return e->kind == ML_EXPR_LOAD ? e : NULL;
}

/* e with a variable for each load, those of narrow integers with their casts. */
static const ml_Expr *as_variables(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const ml_Expr *load = load_in(e);

    if (load && ml_dtype_is_index(e->type) && !ml_dtype_is_float(load->type))
        return variable_for(user, e, load);
    return ml_expr_map_args(cx, e, as_variables, user);
}

/* ---------------------------------------------------------------- what is asked */

typedef struct Uses {
    Values *w;
    bool any;
} Uses;

static bool see_use(const ml_Expr *e, void *user)
{
    Uses *u = user;
    uint32_t k = 0;

    if (e->kind == ML_EXPR_VAR)
        k = (uint32_t)(uintptr_t)ml_map_get(u->w->params, e->as.var->uid);
    else if (e->kind == ML_EXPR_LOAD && !ml_dtype_is_float(e->type)) {
        Hull *h = hull_of(u->w, e->as.buffer);

        k = param_of(u->w, e->as.buffer);
        u->any = true;
        if (h && !h->index)
            h->index = u->w->grown = true;
    }
    if (k == 0)
        return true;
    u->any = true;
    u->w->v[k - 1].index = true;
    return true;
}

/* Whether e is made of what is stored or given. */
static bool is_made_of_values(Values *w, const ml_Expr *e)
{
    Uses u = {w, false};

    ml_expr_visit(e, see_use, &u);
    return u.any;
}

static ml_Bound bound_of(Values *w, const ml_Expr *e)
{
    const ml_Expr *x = as_variables(w->cx, e, w);

    return ml_arith_bound(w->ar, x);
}

/* No sum or product on the way leaves its type. */
static bool is_within_types(Values *w, const ml_Expr *x)
{
    if (ml_kind_class(x->kind) == ML_CLASS_ARITH && ml_dtype_is_index(x->type)) {
        ml_Bound b = ml_arith_bound(w->ar, x);

        if (b.lo < ml_dtype_min(x->type) || b.hi > ml_dtype_max(x->type))
            return false;
    }
    for (size_t k = 0; k < x->n_args; k++)
        if (!is_within_types(w, x->args[k]))
            return false;
    return true;
}

static void need(Values *w, const ml_Expr *e, int64_t lo, int64_t hi)
{
    ml_Bound b;

    if (!is_made_of_values(w, e) || w->look)
        return;
    if (!ml_dtype_is_index(e->type)) {
        w->ok = false;
        return;
    }
    b = bound_of(w, e);
    w->ok &= b.lo >= lo && b.hi <= hi && is_within_types(w, as_variables(w->cx, e, w));
}

static void need_inside(Values *w, const ml_Expr *index, const ml_Expr *extent)
{
    int64_t n;

    if (index->type.lanes > 1 && index->kind == ML_EXPR_RAMP) {
        index = ml_add(w->cx, index->args[0],
                       ml_mul(w->cx, index->args[1],
                              ml_int(w->cx, index->args[1]->type, index->type.lanes - 1)));
    }
    if (!ml_eval_size(extent, w->sizes, w->n_sizes, &n))
        n = 1;
    need(w, index, 0, n - 1);
}

/* Facts count only once it is known that they are needed. */
static void bind_range(Values *w, const ml_Var *v, const ml_Expr *min,
                       const ml_Expr *extent)
{
    if (!w->look)
        ml_arith_bind_range(w->ar, v, as_variables(w->cx, min, w),
                            as_variables(w->cx, extent, w));
}

static void assume(Values *w, const ml_Expr *cond, bool holds)
{
    const ml_Expr *c;

    if (w->look)
        return;
    c = as_variables(w->cx, cond, w);
    ml_arith_assume(w->ar, holds ? c : ml_not(w->cx, c));
}

/* Indices, divisors and shifts in e; the parts of a choice under its condition. */
static void ask(Values *w, const ml_Expr *e)
{
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE)) {
        ml_ArithMark m = ml_arith_save(w->ar);

        ask(w, e->args[0]);
        assume(w, e->args[0], true);
        ask(w, e->args[1]);
        ml_arith_restore(w->ar, m);
        assume(w, e->args[0], false);
        ask(w, e->args[2]);
        ml_arith_restore(w->ar, m);
        return;
    }
    if (e->kind == ML_EXPR_LOAD)
        for (size_t k = 0; k < ml_load_rank(e); k++)
            need_inside(w, e->args[k], e->as.buffer->shape[k]);
    if (ml_kind_divides(e->kind) && ml_dtype_is_index(e->type))
        need(w, e->args[1], 1, ML_INF);
    if ((ml_is_op(e, ML_OP_SHIFT_LEFT) || ml_is_op(e, ML_OP_SHIFT_RIGHT)) &&
        ml_dtype_is_index(e->type))
        need(w, e->args[1], 0, e->type.bits - 1);
    for (size_t k = 0; k < e->n_args; k++)
        ask(w, e->args[k]);
}

/* ---------------------------------------------------------------- statements */

static void walk(Values *w, const ml_Stmt *s);

static void walk_child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    walk(user, s);
}

static void walk_exprs(const ml_Expr *e, ml_Role role, void *user)
{
    if (role != ML_ROLE_REGION && role != ML_ROLE_ATTR && e->size <= 1u << 16)
        ask(user, e);
}

static bool is_difference(Values *w, const ml_Expr *e)
{
    const ml_Expr *a, *b;

    if (e->kind != ML_EXPR_SUB)
        return false;
    a = load_in(e->args[0]);
    b = load_in(e->args[1]);
    return a && b && a->as.buffer == b->as.buffer && param_of(w, a->as.buffer) > 0;
}

static void walk_loop(Values *w, const ml_For *l)
{
    const ml_Expr *extent = l->extent;
    int64_t n;

    while (extent->kind == ML_EXPR_CAST)
        extent = extent->args[0];
    if (is_difference(w, extent))
        w->v[param_of(w, load_in(extent->args[0])->as.buffer) - 1].ascending = true;
    if (!ml_eval_size(l->extent, w->sizes, w->n_sizes, &n))
        need(w, l->extent, -ML_INF, ML_INDEX_LOOP);
    bind_range(w, l->var, l->min, l->extent);
    walk(w, l->body);
}

static void walk_block(Values *w, const ml_Block *b)
{
    ml_sources_add(w->cx, w->sources, b);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        int64_t lo, n;

        if (ml_eval_size(it->min, w->sizes, w->n_sizes, &lo) &&
            ml_eval_size(it->extent, w->sizes, w->n_sizes, &n))
            need(w, it->value, lo, lo + n - 1);
        bind_range(w, it->var, it->min, it->extent);
    }
    assume(w, b->predicate, true);
    if (b->init)
        walk(w, b->init);
    walk(w, b->body);
}

static void widen_hull(Values *w, const ml_Store *s)
{
    Hull *h = hull_of(w, s->buffer);
    ml_Bound b;

    if (h == NULL)
        return;
    b = ml_dtype_is_index(s->value->type) ? bound_of(w, s->value)
                                          : (ml_Bound){-ML_INF, ML_INF};
    if (h->any && b.lo >= h->lo && b.hi <= h->hi)
        return;
    h->lo = h->any && h->lo < b.lo ? h->lo : b.lo;
    h->hi = h->any && h->hi > b.hi ? h->hi : b.hi;
    h->any = h->grown = w->grown = true;
}

static void walk_store(Values *w, const ml_Store *s)
{
    for (uint32_t k = 0; k < s->n; k++)
        need_inside(w, s->indices[k], s->buffer->shape[k]);
    if (!w->look && !ml_dtype_is_float(s->value->type))
        widen_hull(w, s);
    if (w->look && hull_of(w, s->buffer) && hull_of(w, s->buffer)->index)
        (void)is_made_of_values(w, s->value);
}

static void walk(Values *w, const ml_Stmt *s)
{
    ml_ArithMark m = ml_arith_save(w->ar);

    ml_stmt_exprs(s, walk_exprs, w);
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE: walk_store(w, ml_as_store(s)); break;
    case ML_STMT_FOR: walk_loop(w, ml_as_for(s)); break;
    case ML_STMT_BLOCK: walk_block(w, ml_as_block(s)); break;
    case ML_STMT_BIND:
        if (!w->look && ml_dtype_is_index(ml_as_bind(s)->value->type))
            ml_arith_bind_value(w->ar, ml_as_bind(s)->var,
                                as_variables(w->cx, ml_as_bind(s)->value, w));
        return; /* it holds for what follows */
    case ML_STMT_IF:
        assume(w, ml_as_if(s)->cond, true);
        walk(w, ml_as_if(s)->then);
        ml_arith_restore(w->ar, m);
        assume(w, ml_as_if(s)->cond, false);
        if (ml_as_if(s)->other)
            walk(w, ml_as_if(s)->other);
        break;
    default: ml_stmt_children(s, walk_child, w); break;
    }
    ml_arith_restore(w->ar, m);
}

/* ---------------------------------------------------------------- trying ranges */

static bool see_written(const ml_Stmt *s, void *user)
{
    Values *w = user;
    ml_Uid at;

    if (s->kind == ML_STMT_STORE && !ml_dtype_is_float(ml_as_store(s)->buffer->type)) {
        at = ml_source_of(w->sources, ml_as_store(s)->buffer)->data->uid;
        if (!ml_map_get(w->hulls, at))
            ml_map_set(w->cx, w->hulls, at, ML_NEW(w->cx, Hull));
    }
    return true;
}

static void begin_pass(Values *w)
{
    w->ar = ml_arith_new(w->cx);
    w->ok = true;
    w->grown = false;
    for (uint32_t k = 0; k < w->f->n_params; k++) {
        const ml_FuncParam *p = &w->f->params[k];

        if (p->buffer)
            continue;
        if (p->var->type.code != ML_HANDLE && ml_dtype_is_index(p->var->type))
            ml_arith_bind_range(w->ar, p->var, ml_int(w->cx, p->var->type, w->v[k].lo),
                                ml_int(w->cx, p->var->type, w->v[k].hi - w->v[k].lo + 1));
    }
    for (size_t k = 0; k < w->known.n; k++)
        bind_load(w, load_in(w->known.v[k]), ml_map_get(w->loads, w->known.v[k]->id));
}

/* What grows in each pass grows for ever. */
static void end_pass(Values *w, bool last)
{
    for (size_t k = 0; k < ml_map_count(w->hulls); k++) {
        Hull *h = (Hull *)(uintptr_t)ml_map_value_at(w->hulls, k);

        if (h->grown && last) {
            h->lo = -ML_INF;
            h->hi = ML_INF;
        }
        h->grown = false;
    }
}

static bool fits(Values *w)
{
    for (size_t k = 0; k < ml_map_count(w->hulls); k++)
        *(Hull *)(uintptr_t)ml_map_value_at(w->hulls, k) = (Hull){.index = true};
    for (int pass = 0; pass <= PASSES; pass++) {
        begin_pass(w);
        walk(w, w->f->body);
        if (!w->grown)
            break;
        end_pass(w, pass + 1 >= PASSES);
    }
    return w->ok && !w->grown;
}

/* The ends of what a parameter may hold at all. */
static void ends_of(const Values *w, uint32_t k, int64_t *lo, int64_t *hi)
{
    const ml_Buffer *b = w->f->params[k].buffer;
    ml_Dtype t = b ? b->type : w->f->params[k].var->type;

    *lo = ml_dtype_is_bool(t) || t.code == ML_UINT ? 0 : -MOST - 1;
    *hi = ml_dtype_is_bool(t) ? 1 : MOST;
    if (t.bits <= 16 && !ml_dtype_is_bool(t)) {
        *lo = ml_dtype_min(t);
        *hi = ml_dtype_max(t);
    }
    if (b)
        return;
    *lo = 0;
    *hi = *hi < NUMBERS ? *hi : NUMBERS;
    for (size_t s = 0; s < w->n_sizes; s++) /* given */
        if (w->f->params[k].var->hint &&
            ml_streq(w->f->params[k].var->hint, w->sizes[s].name))
            *lo = *hi = w->sizes[s].value;
}

/* Moves one end as far as everything fits, by halves of what is left. */
static void move_end(Values *w, int64_t *at, int64_t to)
{
    int64_t good = *at, step = to - good;

    while (step != 0) {
        *at = good + step;
        if (fits(w)) {
            good = *at;
            if (good == to)
                break;
            step = (to - good) < step ? to - good : step;
            step = step / 2 ? step / 2 : step;
        } else {
            step /= 2;
        }
    }
    *at = good;
}

static bool set_all(Values *w, int64_t value)
{
    for (uint32_t k = 0; k < w->f->n_params; k++) {
        int64_t lo, hi;

        if (!w->v[k].index)
            continue;
        ends_of(w, k, &lo, &hi);
        w->v[k].lo = w->v[k].hi = value < lo ? lo : value > hi ? hi : value;
    }
    return fits(w);
}

static bool find_start(Values *w)
{
    for (int64_t v = 0; v <= FIRST_TRIES; v++)
        if (set_all(w, v) || (v > 0 && set_all(w, -v)))
            return true;
    (void)set_all(w, 0);
    return false;
}

/* Each parameter in turn to twice its width, so that none takes what others need; then each
 * as far as it goes. */
static void widen_all(Values *w)
{
    for (int64_t width = 1; width <= MOST; width *= 2)
        for (uint32_t k = 0; k < w->f->n_params; k++) {
            int64_t lo, hi, was = w->v[k].hi;

            if (!w->v[k].index)
                continue;
            ends_of(w, k, &lo, &hi);
            w->v[k].hi = w->v[k].lo + width < hi ? w->v[k].lo + width : hi;
            if (w->v[k].hi == was || !fits(w))
                w->v[k].hi = was;
        }
    for (uint32_t k = 0; k < w->f->n_params; k++) {
        int64_t lo, hi;

        if (!w->v[k].index)
            continue;
        ends_of(w, k, &lo, &hi);
        move_end(w, &w->v[k].hi, hi);
        move_end(w, &w->v[k].lo, lo);
    }
}

/* Whether any parameter takes part. */
static bool look(Values *w)
{
    bool any = false;

    if (ml_map_count(w->params) == 0)
        return false;
    w->look = true;
    do { /* what is stored in a buffer that turns out to be an index */
        begin_pass(w);
        walk(w, w->f->body);
    } while (w->grown);
    w->look = false;
    for (uint32_t k = 0; k < w->f->n_params; k++)
        any |= w->v[k].index;
    return any;
}

void ml_index_values(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                     ml_IndexValues *v)
{
    ml_Mark mark = ml_mark(cx);
    Values *w = ML_NEW(cx, Values);
    bool ok;

    *w = (Values){.cx = cx, .f = f, .sizes = sizes, .n_sizes = n_sizes, .v = v};
    w->params = ml_map_new(cx);
    w->sources = ml_map_new(cx);
    w->hulls = ml_map_new(cx);
    w->loads = ml_map_new(cx);
    for (uintptr_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        const ml_Var *n = b ? b->data : f->params[k].var;

        v[k] = (ml_IndexValues){.fits = true};
        ends_of(w, (uint32_t)k, &v[k].lo, &v[k].hi);
        if (b ? !ml_dtype_is_float(b->type) : ml_dtype_is_index(n->type))
            ml_map_set(cx, w->params, n->uid, (const void *)(k + 1));
    }
    ml_stmt_visit(f->body, see_written, w);
    if (!look(w) || fits(w)) {
        ml_release(cx, mark);
        return;
    }
    ok = find_start(w);
    if (ok)
        widen_all(w);
    for (uint32_t k = 0; k < f->n_params; k++)
        v[k].fits = ok || !v[k].index;
    ml_release(cx, mark);
}

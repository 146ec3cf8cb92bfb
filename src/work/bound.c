/* bound - see bound.h. */
#include "moonloop/work/bound.h"

#include "moonloop/codegen/params/param_roles.h"
#include "moonloop/core/walk.h"

#include <math.h>

/* ---------------------------------------------------------------- operations */

typedef struct Site { /* functions and divisions that are counted together */
    ml_Math math;
    bool f64;
    double once; /* evaluations that one will do for */
} Site;

typedef struct Around { /* a loop, an iterator of a block */
    const ml_Var *var;
    double extent;
} Around;
typedef ML_VEC(Around) Arounds;

typedef struct Look {
    ml_Ctx *cx;
    const ml_Size *sizes;
    size_t n_sizes;
    Arounds around; /* iterators of the block, loops below it */
    ML_VEC(Site) sites;
    ml_Map *of;   /* expression id -> 1 + number of its site */
    ml_Map *lets; /* variables with a value, which may be made of any others */
    bool hidden;  /* operations that cannot be counted */
} Look;

typedef struct HasLet {
    const ml_Map *lets;
    bool found;
} HasLet;

static bool see_let(const ml_Expr *e, void *user)
{
    HasLet *h = user;

    h->found |= e->kind == ML_EXPR_LET ||
                (e->kind == ML_EXPR_VAR && ml_map_has(h->lets, e->as.var->uid));
    return !h->found;
}

/* How many values of the variables around give the same e. */
static double repeats(const Look *w, const ml_Expr *e)
{
    HasLet h = {w->lets, false};
    double n = 1;

    ml_expr_visit(e, see_let, &h);
    for (size_t k = 0; k < w->around.n && !h.found; k++)
        if (!ml_expr_uses_var(e, w->around.v[k].var))
            n *= w->around.v[k].extent;
    return n;
}

static void add_site(Look *w, const ml_Expr *e, ml_Math math)
{
    Site s = {math, e->type.bits == 64, repeats(w, e)};
    size_t k = 0;

    if (math == ML_MATH_DIVIDE && repeats(w, e->args[1]) > s.once)
        s.math = ML_MATH_QUOTIENT;
    while (k < w->sites.n && (w->sites.v[k].math != s.math || w->sites.v[k].f64 != s.f64 ||
                              w->sites.v[k].once != s.once))
        k++;
    if (k == w->sites.n)
        ml_push(w->cx, &w->sites, s);
    ml_map_set(w->cx, w->of, e->id, (const void *)(uintptr_t)(k + 1));
}

static bool see_expr(const ml_Expr *e, void *user)
{
    Look *w = user;
    ml_Math k = ml_math_of(e);

    if (k != ML_MATHS && !ml_map_has(w->of, e->id))
        add_site(w, e, k);
    if (e->kind == ML_EXPR_LET)
        ml_map_set(w->cx, w->lets, e->as.var->uid, e);
    w->hidden |= e->type.lanes > 1;
    if (e->kind == ML_EXPR_CALL)
        w->hidden |= e->as.op->effect > ML_EFFECT_PURE || e->as.op->id == ML_OP_OTHER ||
                     e->as.op->id == ML_OP_CALL_PURE_EXTERN ||
                     e->as.op->id == ML_OP_CALL_LLVM_PURE_INTRIN;
    return true;
}

static void add_var(Look *w, const ml_Var *v, const ml_Expr *extent)
{
    int64_t n;
    bool known = ml_eval_size(extent, w->sizes, w->n_sizes, &n) && n > 0;

    ml_push(w->cx, &w->around, ((Around){v, known ? (double)n : 1}));
}

static void see_stmt(const ml_Stmt *s, bool in_init, void *user)
{
    Look *w = user;
    const Arounds up = w->around;

    if (in_init) /* counts for nothing */
        return;
    ml_stmt_visit_exprs(s, ML_ROLES_RUN, see_expr, w);
    if (s->kind == ML_STMT_BIND)
        ml_map_set(w->cx, w->lets, ml_as_bind(s)->var->uid, s);
    else if (s->kind == ML_STMT_FOR)
        add_var(w, ml_as_for(s)->var, ml_as_for(s)->extent);
    else if (s->kind == ML_STMT_BLOCK && ml_as_block(s)->n_iters) {
        const ml_Block *b = ml_as_block(s); /* of the loops around what its iters are */

        w->around = (Arounds){NULL, 0, 0};
        for (uint32_t k = 0; k < b->n_iters; k++)
            add_var(w, b->iters[k].var, b->iters[k].extent);
    }
    ml_stmt_children(s, see_stmt, w);
    w->around = up;
}

typedef struct Wanted {
    const ml_Map *of;
    size_t site;
} Wanted;

static bool is_wanted(const ml_Expr *e, const void *user)
{
    const Wanted *w = user;

    return (size_t)(uintptr_t)ml_map_get(w->of, e->id) == w->site + 1;
}

double ml_demand_count(ml_Ctx *cx, const ml_Func *f, const ml_WorkKind *only,
                       const ml_Size *sizes, size_t n_sizes)
{
    const ml_Expr *n;
    int64_t v;

    if (!ml_flops_symbolic(cx, f, only, &n))
        return ml_flops_of(cx, f, only);
    return n && ml_eval_size(n, sizes, n_sizes, &v) ? (double)v : 0;
}

static void count_all(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                      ml_Demand *d, bool *hidden)
{
    Look w = {.cx = cx,
              .sizes = sizes,
              .n_sizes = n_sizes,
              .of = ml_map_new(cx),
              .lets = ml_map_new(cx)};

    see_stmt(f->body, false, &w);
    d->flop = ml_demand_count(cx, f, NULL, sizes, n_sizes);
    for (size_t k = 0; k < w.sites.n; k++) {
        const Site *s = &w.sites.v[k];
        const Wanted wanted = {w.of, k};
        const ml_WorkKind only = {is_wanted, &wanted};

        d->math[s->math][s->f64] += ml_demand_count(cx, f, &only, sizes, n_sizes) / s->once;
    }
    *hidden = w.hidden;
}

/* ---------------------------------------------------------------- bytes */

/* What must move, every parameter once for reading, once for writing, and the type whose
 * peak counts: that of the last parameter that is written, or of narrower factors whose
 * products are summed in it by instructions of their own (bytes, bfloat16). */
static void add_traffic(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                        ml_Demand *d)
{
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, f->n_params + 1u);
    ml_Dtype narrow = ML_DT_VOID;

    ml_param_roles(cx, f, sizes, n_sizes, roles);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        double n = b ? (double)ml_dtype_bytes(b->type) : 0;
        int64_t extent;

        for (uint16_t i = 0; b && i < b->rank; i++)
            n *= ml_eval_size(b->shape[i], sizes, n_sizes, &extent) ? (double)extent : 0;
        d->written += roles[k].written ? n : 0;
        d->read += roles[k].output ? 0 : n;
        if (roles[k].written && b)
            d->type = b->type;
        else if (b && (b->type.code == ML_BFLOAT || b->type.bits == 8))
            narrow = b->type;
    }
    if ((narrow.code == ML_BFLOAT && d->type.code == ML_FLOAT && d->type.bits == 32) ||
        (narrow.bits == 8 && ml_dtype_is_int(d->type) && d->type.bits == 32))
        d->type = narrow;
}

ml_Demand ml_demand_of(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes)
{
    ml_Demand d = {.type = ML_DT_F32};
    bool hidden;

    add_traffic(cx, f, sizes, n_sizes, &d);
    count_all(cx, f, sizes, n_sizes, &d, &hidden);
    return d;
}

ml_Demand ml_demand_of_version(ml_Ctx *cx, const ml_Demand *start, const ml_Func *version,
                               const ml_Size *sizes, size_t n_sizes, bool *less)
{
    ml_Demand d = *start, own = {.type = ML_DT_F32};
    bool hidden, fewer;

    count_all(cx, version, sizes, n_sizes, &own, &hidden);
    fewer = !hidden && own.flop > 0 && own.flop < d.flop;
    if (fewer)
        d.flop = own.flop;
    for (int k = 0; k < ML_MATHS && !hidden; k++)
        for (int t = 0; t < ML_MATH_TYPES; t++)
            if (own.math[k][t] < d.math[k][t]) {
                d.math[k][t] = own.math[k][t];
                fewer = true;
            }
    if (less)
        *less = fewer;
    return d;
}

/* ---------------------------------------------------------------- the bound */

bool ml_demand_has_peak(const ml_Demand *d)
{
    return ml_dtype_is_float(d->type) || (ml_dtype_is_int(d->type) && d->type.bits == 8);
}

/* Whether it is a bound: there are figures for all that counts. */
static bool is_known(const ml_Roof *r, const ml_Demand *d)
{
    return r->limit > 0 && (d->read + d->written <= 0 || r->moving > 0) &&
           (d->flop <= 0 || r->peak > 0);
}

ml_TimeBound ml_time_bound(const ml_Machine *m, uint32_t threads, const ml_Demand *d,
                           bool cold)
{
    ml_Roof (*roof_of)(const ml_Machine *, uint32_t, const ml_Demand *) =
        cold ? ml_machine_roof_cold : ml_machine_roof;
    ml_TimeBound b = {.seconds = (double)NAN, .threads = 1, .roof = roof_of(m, 1, d)};
    ml_Roof all;
    double region = m->fork_join > 0 ? m->fork_join : 0;

    if (is_known(&b.roof, d))
        b.seconds = b.roof.limit;
    if (threads <= 1)
        return b;
    all = roof_of(m, threads, d);
    if (is_known(&all, d) && !(b.seconds <= all.limit + region))
        b = (ml_TimeBound){all.limit + region, all, region, threads, false};
    return b;
}

/*
 * linear - see linear.h. Divisions by literals cut digits: of 8*h + l with 0 <= l < 8 the
 * quotient by 8 is h and the rest l; a digit whose factor does not divide is cut where it
 * does.
 */
#include "moonloop/verify/count/linear.h"

enum { MAX_TERMS = 32, MAX_SIZE = 4096 };

typedef struct Terms {
    ml_Linear form;
    ml_Atom v[MAX_TERMS];
} Terms;

uint64_t ml_depth_bit(uint32_t depth)
{
    return UINT64_C(1) << (depth < 63 ? depth : 63);
}

static ml_Linear unknown(uint64_t deps)
{
    return (ml_Linear){.deps = deps};
}

static ml_Linear keep(ml_LinearEnv *s, const Terms *t)
{
    ml_Linear out = t->form;

    if (out.n > 0) {
        ml_Atom *v = ML_ARRAY(s->cx, ml_Atom, out.n);

        memcpy(v, t->v, out.n * sizeof *v);
        out.v = v;
    }
    return out;
}

static int order(const ml_Atom *a, const ml_Atom *b)
{
    if (a->axis != b->axis)
        return a->axis < b->axis ? -1 : 1;
    if (a->size && a->size->uid != b->size->uid)
        return a->size->uid < b->size->uid ? -1 : 1;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->ext < b->ext ? -1 : a->ext > b->ext;
}

/* Adds times * a; false: too many terms, or beyond int64. */
static bool put(Terms *t, const ml_Atom *a, int64_t times)
{
    uint32_t at = 0;
    int64_t c;

    if (__builtin_mul_overflow(a->coef, times, &c))
        return false;
    while (at < t->form.n && order(&t->v[at], a) < 0)
        at++;
    if (at < t->form.n && order(&t->v[at], a) == 0) {
        if (__builtin_add_overflow(t->v[at].coef, c, &c))
            return false;
        t->v[at].coef = c;
        if (c == 0)
            memmove(&t->v[at], &t->v[at + 1], (--t->form.n - at) * sizeof t->v[0]);
        return true;
    }
    if (c == 0)
        return true;
    if (t->form.n == MAX_TERMS)
        return false;
    memmove(&t->v[at + 1], &t->v[at], (t->form.n++ - at) * sizeof t->v[0]);
    t->v[at] = *a;
    t->v[at].coef = c;
    return true;
}

static bool put_all(Terms *t, const ml_Linear *a, int64_t times)
{
    int64_t base;

    t->form.deps |= a->deps;
    if (!a->ok || __builtin_mul_overflow(a->base, times, &base) ||
        __builtin_add_overflow(t->form.base, base, &t->form.base))
        return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (!put(t, &a->v[k], times))
            return false;
    return true;
}

ml_Linear ml_linear_add(ml_LinearEnv *s, const ml_Linear *a, const ml_Linear *b,
                        int64_t times)
{
    Terms t;

    t.form = (ml_Linear){.ok = true};
    if (!put_all(&t, a, 1) || !put_all(&t, b, times))
        return unknown(a->deps | b->deps);
    return keep(s, &t);
}

static ml_Linear scale_linear(ml_LinearEnv *s, const ml_Linear *a, int64_t by)
{
    ml_Linear zero = {.ok = true};

    return ml_linear_add(s, &zero, a, by);
}

ml_Linear ml_linear_axis(ml_LinearEnv *s, uint32_t axis)
{
    const ml_Axis *a = &s->axes.v[axis];
    Terms t;

    t.form = (ml_Linear){.ok = true, .deps = ml_depth_bit(a->depth)};
    if (a->trips == 1) /* stays at 0 */
        return t.form;
    put(&t, &(ml_Atom){.axis = axis, .lo = 1, .ext = a->trips, .coef = 1}, 1);
    return keep(s, &t);
}

static bool atoms_range(const ml_Atom *v, uint32_t n, int64_t *min, int64_t *max)
{
    *min = *max = 0;
    for (uint32_t k = 0; k < n; k++) {
        int64_t step;

        if (v[k].size || v[k].ext == ML_OPEN ||
            __builtin_mul_overflow(v[k].coef, v[k].ext - 1, &step) ||
            (step < 0 ? __builtin_add_overflow(*min, step, min)
                      : __builtin_add_overflow(*max, step, max)))
            return false;
    }
    return true;
}

bool ml_linear_range(const ml_Linear *a, int64_t *min, int64_t *max)
{
    return a->ok && atoms_range(a->v, a->n, min, max) &&
           !__builtin_add_overflow(*min, a->base, min) &&
           !__builtin_add_overflow(*max, a->base, max);
}

/* ---- division */

/* Whether the digit is the highest of its counter: above it there is nothing. */
static bool is_top(const ml_LinearEnv *s, const ml_Atom *a)
{
    int64_t trips = s->axes.v[a->axis].trips;

    if (a->ext == ML_OPEN || trips == ML_OPEN)
        return a->ext == ML_OPEN;
    return a->ext == trips / a->lo + (trips % a->lo != 0);
}

/* The part of a that a multiple of q keeps goes to `high`, what is left to `low`. */
static bool cut(const ml_LinearEnv *s, const ml_Atom *a, int64_t q, Terms *high, Terms *low)
{
    if (a->coef % q == 0)
        return put(high, a, 1);
    if (a->size || a->coef < 0 || q % a->coef != 0 ||
        (a->ext != ML_OPEN && a->ext <= q / a->coef))
        return put(low, a, 1);
    int64_t k = q / a->coef;
    ml_Atom l = *a, h = *a;

    if (a->ext != ML_OPEN && a->ext % k != 0 && !is_top(s, a))
        return put(low, a, 1);
    l.ext = k;
    h.coef = q;
    h.ext = a->ext == ML_OPEN ? ML_OPEN : a->ext / k + (a->ext % k != 0);
    return !__builtin_mul_overflow(a->lo, k, &h.lo) && put(low, &l, 1) && put(high, &h, 1);
}

/* q > 0: the quotient, or (rest) the rest of a floor division. */
static ml_Linear divide(ml_LinearEnv *s, const ml_Linear *a, int64_t q, bool rest)
{
    Terms high, low;
    int64_t min, max;

    high.form = low.form = (ml_Linear){.ok = true, .deps = a->deps};
    for (uint32_t k = 0; a->ok && k < a->n; k++)
        if (!cut(s, &a->v[k], q, &high, &low))
            return unknown(a->deps);
    low.form.base = ml_floormod_i64(a->base, q);
    if (!a->ok || !atoms_range(low.v, low.form.n, &min, &max) ||
        __builtin_add_overflow(min, low.form.base, &min) ||
        __builtin_add_overflow(max, low.form.base, &max) || min < 0 || max >= q)
        return unknown(a->deps);
    if (rest)
        return keep(s, &low);
    for (uint32_t k = 0; k < high.form.n; k++)
        high.v[k].coef /= q;
    high.form.base = ml_floordiv_i64(a->base, q);
    return keep(s, &high);
}

/* ---- expressions */

static bool add_deps(const ml_Expr *e, void *user)
{
    void **u = user;
    ml_LinearEnv *s = u[0];
    uint64_t *deps = u[1];
    const ml_Linear *known =
        e->kind == ML_EXPR_VAR ? ml_map_get(s->vars, e->as.var->uid) : NULL;

    if (known)
        *deps |= known->deps;
    /* What was changed may be another number each time. */
    if ((e->kind == ML_EXPR_LOAD &&
         (!s->written || ml_map_has(s->written, e->as.buffer->uid))) ||
        (e->flags & ML_X_EFFECT))
        *deps = UINT64_MAX;
    return *deps != UINT64_MAX;
}

static ml_Linear not_affine(ml_LinearEnv *s, const ml_Expr *e)
{
    uint64_t deps = 0;

    if (e->size > MAX_SIZE || (e->flags & (ML_X_OPAQUE | ML_X_READ_OP)))
        return unknown(UINT64_MAX);
    ml_expr_visit(e, add_deps, (void *[]){s, &deps});
    return unknown(deps);
}

static ml_Linear variable(ml_LinearEnv *s, const ml_Var *v)
{
    const ml_Linear *known = ml_map_get(s->vars, v->uid);
    Terms t;

    if (known)
        return *known;
    t.form = (ml_Linear){.ok = true};
    put(&t, &(ml_Atom){.axis = ML_NO_AXIS, .lo = 1, .ext = ML_OPEN, .coef = 1, .size = v},
        1);
    return keep(s, &t);
}

uint32_t ml_inner_axis(ml_LinearEnv *s, uint32_t role, int64_t trips)
{
    for (size_t k = 0; k < s->inner.n; k++) {
        const ml_Axis *a = &s->axes.v[s->inner.v[k]];

        if (a->role == role && a->trips == trips)
            return s->inner.v[k];
    }
    ml_push(s->cx, &s->axes, ((ml_Axis){.depth = ML_INNER, .role = role, .trips = trips}));
    ml_push(s->cx, &s->inner, (uint32_t)s->axes.n - 1);
    return (uint32_t)s->axes.n - 1;
}

/* Lanes of a vector are one more loop, the same for all vectors of so many. */
static ml_Linear ramp(ml_LinearEnv *s, const ml_Expr *e)
{
    ml_Linear base = ml_linear(s, e->args[0]), lane;

    if (!ml_is_const_int(e->args[1]))
        return not_affine(s, e);
    lane = ml_linear_axis(s, ml_inner_axis(s, 0, e->type.lanes));
    return ml_linear_add(s, &base, &lane, e->args[1]->as.i);
}

static ml_Linear product(ml_LinearEnv *s, const ml_Expr *e)
{
    ml_Linear a = ml_linear(s, e->args[0]), b = ml_linear(s, e->args[1]);

    if (a.ok && a.n == 0)
        return scale_linear(s, &b, a.base);
    if (b.ok && b.n == 0)
        return scale_linear(s, &a, b.base);
    return unknown(a.deps | b.deps);
}

static ml_Linear quotient(ml_LinearEnv *s, const ml_Expr *e)
{
    ml_Linear a = ml_linear(s, e->args[0]), b = ml_linear(s, e->args[1]);
    bool rest = e->kind == ML_EXPR_MOD || e->kind == ML_EXPR_FLOORMOD;
    bool floor = e->kind == ML_EXPR_FLOORDIV || e->kind == ML_EXPR_FLOORMOD;
    int64_t min, max;

    /* The truncated ones are the same from 0 on. */
    if (b.ok && b.n == 0 && b.base > 0 &&
        (floor || (ml_linear_range(&a, &min, &max) && min >= 0)))
        return divide(s, &a, b.base, rest);
    return unknown(a.deps | b.deps);
}

/* One of two that is never above the other. */
static ml_Linear lesser(ml_LinearEnv *s, const ml_Expr *e)
{
    ml_Linear a = ml_linear(s, e->args[0]), b = ml_linear(s, e->args[1]);
    ml_Linear d = ml_linear_add(s, &a, &b, -1);
    int64_t min, max;

    if (ml_linear_range(&d, &min, &max) && (max <= 0 || min >= 0))
        return (max <= 0) == (e->kind == ML_EXPR_MIN) ? a : b;
    return unknown(a.deps | b.deps);
}

ml_Linear ml_linear(ml_LinearEnv *s, const ml_Expr *e)
{
    if (e->size > MAX_SIZE)
        return unknown(UINT64_MAX);
    if (!ml_dtype_is_int(e->type) && !ml_dtype_is_bool(e->type))
        return not_affine(s, e);
    switch (e->kind) {
    case ML_EXPR_INT: return (ml_Linear){.ok = true, .base = e->as.i};
    case ML_EXPR_VAR: return variable(s, e->as.var);
    case ML_EXPR_ADD:
    case ML_EXPR_SUB: {
        ml_Linear a = ml_linear(s, e->args[0]), b = ml_linear(s, e->args[1]);

        return ml_linear_add(s, &a, &b, e->kind == ML_EXPR_ADD ? 1 : -1);
    }
    case ML_EXPR_MUL: return product(s, e);
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD: return quotient(s, e);
    case ML_EXPR_MIN:
    case ML_EXPR_MAX: return lesser(s, e);
    case ML_EXPR_CAST:
        if (ml_dtype_is_index(e->type) || e->type.lanes > 1)
            return ml_linear(s, e->args[0]);
        return not_affine(s, e);
    case ML_EXPR_RAMP: return ramp(s, e);
    case ML_EXPR_BROADCAST: return ml_linear(s, e->args[0]);
    case ML_EXPR_LET: {
        ml_Linear *v = ML_NEW(s->cx, ml_Linear);

        *v = ml_linear(s, e->args[0]);
        ml_map_set(s->cx, s->vars, e->as.var->uid, v);
        return ml_linear(s, e->args[1]);
    }
    }
    return not_affine(s, e);
}

/*
 * rolling_axes - which dimensions of what a block writes roll, and how far.
 *
 * Under the tile loop the block writes a box. A dimension rolls with the innermost loop f
 * that its beginning depends on, when the box of the next iteration of f begins inside of
 * the old one and is otherwise the same: what overlaps was written then, and is there
 * still, since nothing between two iterations of f leaves a window as long as the box.
 * Source: primitives 11, rolling_buffer.
 */
#include "moonloop/primitives/rewrite/rolling.h"

#include "moonloop/core/shown.h"

/* ---- how an expression moves when a variable grows by one */

typedef struct Steps {
    bool known;
    int64_t lo, hi;
} Steps;

static const Steps UNKNOWN = {false, 0, 0};

static Steps steps_times(Steps s, int64_t by)
{
    int64_t a, b;

    if (!s.known || __builtin_mul_overflow(s.lo, by, &a) ||
        __builtin_mul_overflow(s.hi, by, &b))
        return UNKNOWN;
    return by < 0 ? (Steps){true, b, a} : (Steps){true, a, b};
}

static Steps steps_plus(Steps s, Steps t)
{
    Steps r = {s.known && t.known, 0, 0};

    if (!r.known || __builtin_add_overflow(s.lo, t.lo, &r.lo) ||
        __builtin_add_overflow(s.hi, t.hi, &r.hi))
        return UNKNOWN;
    return r;
}

static Steps steps_of(const ml_Expr *e, const ml_Var *v)
{
    Steps a = UNKNOWN, b = UNKNOWN;

    if (!ml_expr_uses_var(e, v))
        return (Steps){true, 0, 0};
    if (e->kind == ML_EXPR_VAR)
        return (Steps){true, 1, 1};
    if (e->n_args > 0 && e->n_args <= 2) {
        a = steps_of(e->args[0], v);
        b = e->n_args == 2 ? steps_of(e->args[1], v) : a;
    }
    if (e->kind == ML_EXPR_ADD)
        return steps_plus(a, b);
    if (e->kind == ML_EXPR_SUB)
        return steps_plus(a, steps_times(b, -1));
    if (e->kind == ML_EXPR_MUL && e->args[1]->kind == ML_EXPR_INT)
        return steps_times(a, e->args[1]->as.i);
    if (e->kind == ML_EXPR_MUL && e->args[0]->kind == ML_EXPR_INT)
        return steps_times(b, e->args[0]->as.i);
    if (e->kind == ML_EXPR_FLOORDIV && a.known && e->args[1]->kind == ML_EXPR_INT &&
        e->args[1]->as.i > 0)
        return (Steps){true, ml_floordiv_i64(a.lo, e->args[1]->as.i),
                       -ml_floordiv_i64(-a.hi, e->args[1]->as.i)};
    if ((e->kind == ML_EXPR_MIN || e->kind == ML_EXPR_MAX) && a.known && b.known)
        return (Steps){true, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    if (e->kind == ML_EXPR_CAST && e->type.bits >= e->args[0]->type.bits)
        return a;
    return UNKNOWN;
}

/* ---- the box */

enum { MAX_ENDS = 8 };

typedef struct Ends { /* the least of them */
    size_t n;
    const ml_Expr *v[MAX_ENDS];
} Ends;

/* e as the least of several: min(a, b) + c is min(a + c, b + c). */
static Ends ends_of(ml_Ctx *cx, const ml_Expr *e)
{
    Ends a = {1, {e}}, b;

    if (e->n_args != 2 || e->type.lanes != 1)
        return a;
    if (e->kind == ML_EXPR_MIN) {
        a = ends_of(cx, e->args[0]);
        b = ends_of(cx, e->args[1]);
        if (a.n + b.n > MAX_ENDS)
            return (Ends){1, {e}};
        for (size_t k = 0; k < b.n; k++)
            a.v[a.n++] = b.v[k];
        return a;
    }
    bool sum = e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB;
    bool times =
        e->kind == ML_EXPR_MUL && e->args[1]->kind == ML_EXPR_INT && e->args[1]->as.i > 0;

    if (!sum && !times)
        return a;
    a = ends_of(cx, e->args[0]);
    if (e->kind == ML_EXPR_ADD && a.n == 1) {
        a = ends_of(cx, e->args[1]);
        for (size_t k = 0; k < a.n; k++)
            a.v[k] = ml_add(cx, e->args[0], a.v[k]);
        return a;
    }
    for (size_t k = 0; k < a.n; k++)
        a.v[k] = ml_binary(cx, (ml_ExprKind)e->kind, a.v[k], e->args[1]);
    return a;
}

/* The most elements from min to max. */
static int64_t length(ml_Arith *ar, const ml_Expr *min, const ml_Expr *max)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    Ends ends = ends_of(cx, max);
    int64_t least = ML_INF;

    for (size_t k = 0; k < ends.n; k++) {
        int64_t hi = ml_arith_bound(ar, ml_simplify(ar, ml_sub(cx, ends.v[k], min))).hi;

        least = hi < least ? hi : least;
    }
    return least < ML_INF ? least + 1 : ML_INF;
}

/* What the block writes while the loops from the tile loop outwards stand still: exactly.
 */
static bool find_box(ml_Rolling *r)
{
    ml_Ctx *cx = r->c->cx;
    size_t rank = r->buf->rank;
    ml_Subst values = {0};
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, rank + 1);

    for (size_t k = 0; k < r->block->n_iters; k++)
        ml_subst_var(cx, &values, r->block->iters[k].var, r->block->iters[k].value);
    ml_Region out = ml_region_subst(cx, *r->region, &values);

    ml_relax_domain(cx, r->c->p, r->block->tag, r->tile->var->uid, r->buf, &r->dom);
    if (!ml_region_strict(r->ar, out.ranges, rank, r->dom.v, r->dom.n, r->block->predicate,
                          box))
        return false;
    for (size_t d = 0; d < rank; d++) {
        ml_RollAxis *x = &r->axes[d];
        const ml_Expr *first = out.ranges[d].min, *n = out.ranges[d].extent;
        const ml_Expr *one = ml_int(cx, n->type, 1);

        if (box[d].nothing || !box[d].min || !box[d].max)
            return false;
        x->first = x->last = first;
        if (!ml_is_int(n, 1))
            x->last = ml_add(cx, first, ml_cast(cx, first->type, ml_sub(cx, n, one)));
        x->min = ml_cast(cx, first->type, ml_simplify(r->ar, box[d].min));
        x->max = ml_cast(cx, first->type, ml_simplify(r->ar, box[d].max));
        x->window = length(r->ar, x->min, x->max);
    }
    return true;
}

/* ---- one dimension */

/* What overlaps is not beyond what the iteration before wrote. */
static bool reaches_back(ml_Rolling *r, const ml_RollAxis *x, const ml_Var *v)
{
    ml_Ctx *cx = r->c->cx;
    const ml_Expr *one = ml_int(cx, v->type, 1), *now = ml_var(cx, v);
    const ml_Expr *kept = ml_add(cx, x->min, ml_int(cx, x->min->type, x->overlap - 1));
    const ml_Expr *length = ml_simplify(r->ar, ml_sub(cx, x->max, x->min));
    Ends ends = ends_of(cx, x->max);
    bool all = true;

    if (ml_is_int(length, x->window - 1)) /* as long as ever */
        return true;
    ml_ArithMark mark = ml_arith_save(r->ar);

    ml_arith_assume(r->ar, ml_ge(cx, now, one));
    for (size_t k = 0; k < ends.n && all; k++) {
        const ml_Expr *before = ml_expr_subst1(cx, ends.v[k], v, ml_sub(cx, now, one));
        bool ok = ml_prove_le_cases(r->ar, kept, before);

        for (size_t m = 0; m < ends.n && !ok; m++)
            ok = ml_prove_le_cases(r->ar, ends.v[m], before);
        all = ok;
    }
    ml_arith_restore(r->ar, mark);
    return all;
}

/* ---- one element, in the iteration before */

/* Whether the condition holds for an element in the iteration of v before when it does now.
 */
static bool stays_true(ml_Rolling *r, const ml_RollAxis *x, const ml_Var *v,
                       const ml_Expr *cond)
{
    ml_Ctx *cx = r->c->cx;
    ml_Dtype t = x->first->type;

    while (ml_is_op(cond, ML_OP_LIKELY) && cond->n_args == 1)
        cond = cond->args[0];
    if (cond->kind == ML_EXPR_AND)
        return stays_true(r, x, v, cond->args[0]) && stays_true(r, x, v, cond->args[1]);
    bool moves = ml_expr_uses_var(cond, v);

    for (size_t k = 0; k < r->dom.n; k++)
        moves |= ml_expr_uses_var(cond, r->dom.v[k].var) &&
                 ml_expr_uses_var(x->first, r->dom.v[k].var);
    if (!moves || ml_prove(r->ar, cond))
        return true;
    if (cond->n_args != 2 || !ml_dtype_eq(cond->args[0]->type, t) ||
        !ml_kind_compares(cond->kind))
        return false;
    /* It speaks of the element: of its index and what does not move. */
    const ml_Expr *e = ml_sub(cx, cond->args[0], cond->args[1]);

    for (int sign = -1; sign <= 1; sign += 2) {
        const ml_Expr *rest = ml_simplify(r->ar, sign < 0 ? ml_sub(cx, e, x->first)
                                                          : ml_add(cx, e, x->first));

        moves = ml_expr_uses_var(rest, v);
        for (size_t k = 0; k < r->dom.n; k++)
            moves |= ml_expr_uses_var(rest, r->dom.v[k].var) &&
                     ml_expr_uses_var(x->first, r->dom.v[k].var);
        if (!moves)
            return true;
    }
    return false;
}

/* The instance that writes an element runs in the iteration of v before, too, when the
 * element is in its box: v decides of nothing but where the box lies. */
static bool runs_before(ml_Rolling *r, size_t d, const ml_Var *v)
{
    const ml_RollAxis *x = &r->axes[d];
    size_t n_shaped = 0, n_loops = 0;

    for (size_t k = 0; k < r->dom.n; k++) {
        const ml_Dom *l = &r->dom.v[k];
        bool feeds = ml_expr_uses_var(x->first, l->var);

        n_loops += feeds;
        if (ml_expr_uses_var(l->min, v) || ml_expr_uses_var(l->extent, v)) {
            n_shaped++;
            if (!feeds || ml_expr_uses_var(r->block->predicate, l->var))
                return false;
        }
    }
    return (n_shaped == 0 || n_loops == 1) && stays_true(r, x, v, r->block->predicate);
}

static bool is_serial(const ml_For *f)
{
    return f->kind == ML_FOR_SERIAL || f->kind == ML_FOR_UNROLLED;
}

/* A loop inside of f, down to the tile loop, that f makes longer or shorter. */
static const ml_For *shaped_by(const ml_Rolling *r, size_t at)
{
    const ml_Var *v = ml_as_for(r->loops.v[at])->var;

    for (size_t k = at + 1; k < r->loops.n; k++) {
        const ml_For *f = ml_as_for(r->loops.v[k]);

        if (ml_expr_uses_var(f->min, v) || ml_expr_uses_var(f->extent, v))
            return f;
    }
    return NULL;
}

/* NULL, and overlap set, or why the dimension does not roll. */
static const char *look_at(ml_Rolling *r, size_t d)
{
    ml_Ctx *cx = r->c->cx;
    ml_RollAxis *x = &r->axes[d];
    const ml_For *f = NULL;
    size_t at = r->loops.n;

    while (at > 0 && !f)
        if (ml_expr_uses_var(x->min, ml_as_for(r->loops.v[--at])->var))
            f = ml_as_for(r->loops.v[at]);
    if (!f)
        return "no loop moves it";
    if (x->window >= ML_INF || x->window < 1)
        return "how many elements it holds at once is not known";
    Steps s = steps_of(x->min, f->var);

    if (!s.known || s.lo < 0)
        return ml_format(cx, "loop %s does not move it forward evenly",
                         ml_shown(cx, f->var));
    if (s.hi >= x->window)
        return ml_format(cx,
                         "%lld elements at once, and loop %s moves it by %lld: nothing is "
                         "written twice",
                         (long long)x->window, ml_shown(cx, f->var), (long long)s.hi);
    if (!is_serial(f))
        return ml_format(cx, "the iterations of loop %s do not run one after the other",
                         ml_shown(cx, f->var));
    if (!ml_is_int(f->min, 0) || (f->step && !ml_is_int(f->step, 1)))
        return ml_format(cx, "loop %s does not count from 0 by 1", ml_shown(cx, f->var));
    if (shaped_by(r, at))
        return ml_format(cx, "the extent of loop %s depends on loop %s",
                         ml_shown(cx, shaped_by(r, at)->var), ml_shown(cx, f->var));
    for (size_t e = 0; e < r->buf->rank; e++)
        if (e != d && (ml_expr_uses_var(r->axes[e].min, f->var) ||
                       ml_expr_uses_var(r->axes[e].max, f->var)))
            return ml_format(cx, "loop %s moves dimension %zu, too", ml_shown(cx, f->var),
                             e);
    x->overlap = x->window - s.hi;
    if (!runs_before(r, d, f->var) || !reaches_back(r, x, f->var)) {
        x->overlap = 0;
        return ml_format(cx,
                         "cannot show that the iteration before of loop %s wrote what "
                         "overlaps",
                         ml_shown(cx, f->var));
    }
    x->loop = f;
    return NULL;
}

bool ml_roll_axes(ml_Rolling *r)
{
    ml_Ctx *cx = r->c->cx;
    size_t rank = r->buf->rank, best = SIZE_MAX;
    const char *why = "";

    r->axes = ML_ARRAY(cx, ml_RollAxis, rank + 1);
    if (rank == 0)
        why = "it has one element";
    else if (!find_box(r))
        why = "cannot tell which elements an iteration writes";
    for (size_t d = 0; d < rank && r->axes[d].min; d++) {
        const char *no = look_at(r, d);

        if (no)
            why = ml_format(cx, "%s%sdimension %zu: %s", why, d ? "; " : "", d, no);
        for (size_t k = 0; !no && k < r->loops.n && k < best; k++)
            if (r->loops.v[k] == &r->axes[d].loop->base) {
                best = k;
                r->roll = d;
            }
    }
    if (best < SIZE_MAX)
        return ml_ok_or_fail(cx);
    return ml_fail(cx, ML_E_NO_ROLLING_AXIS, ML_BLOCK(r->block), ML_BUFFER(r->buf),
                   ML_LOOP(r->tile), ML_TEXT(why));
}

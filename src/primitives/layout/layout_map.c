/*
 * layout_map - index maps made to fit what they are used on: typed, tried on small shapes;
 * and substitution of what buffers are made of.
 * Source: primitives 1.2, 11; ir-and-analysis 4.11.
 */
#include "moonloop/primitives/layout/layout.h"

/* ---- maps */

const ml_IndexMap *ml_map_typed(ml_Arith *ar, const ml_IndexMap *m, ml_Dtype t)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    ml_IndexMap *out = ML_NEW(cx, ml_IndexMap);
    const ml_Var **vars = ML_ARRAY(cx, const ml_Var *, m->n_vars + 1u);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, m->n_vars + 1u);
    const ml_Expr **exprs = ML_ARRAY(cx, const ml_Expr *, m->n_exprs + 1u);

    for (uint32_t k = 0; k < m->n_vars; k++) {
        vars[k] = ml_var_new(cx, m->vars[k]->hint, t);
        idx[k] = ml_var(cx, vars[k]);
    }
    ml_index_map_apply(ar, m, idx, exprs);
    for (uint32_t k = 0; k < m->n_exprs; k++)
        exprs[k] = ml_cast(cx, t, exprs[k]);
    *out = (ml_IndexMap){
        .vars = vars, .exprs = exprs, .n_vars = m->n_vars, .n_exprs = m->n_exprs};
    if (m->inverse)
        out->inverse = ml_map_typed(ar, m->inverse, t);
    return out;
}

enum { TRIED_ELEMENTS = 1024 };

static int64_t count(const ml_Expr *const *shape, size_t n)
{
    int64_t size = 1;

    for (size_t k = 0; k < n; k++)
        if (shape[k]->kind != ML_EXPR_INT || shape[k]->as.i < 0 ||
            __builtin_mul_overflow(size, shape[k]->as.i, &size))
            return -1;
    return size;
}

/* results[] of the map at the point, which are literals in tmp; false: not all are. */
static bool map_point(ml_Ctx *tmp, const ml_IndexMap *m, const int64_t *point,
                      int64_t *results)
{
    ml_Subst s = {0};

    for (uint32_t k = 0; k < m->n_vars; k++)
        ml_subst_var(tmp, &s, m->vars[k], ml_int(tmp, m->vars[k]->type, point[k]));
    for (uint32_t k = 0; k < m->n_exprs; k++) {
        const ml_Expr *v = ml_expr_subst(tmp, m->exprs[k], &s);

        if (v->kind != ML_EXPR_INT)
            return false;
        results[k] = v->as.i;
    }
    return true;
}

static const char *try_all(ml_Ctx *tmp, const ml_IndexMap *m, const ml_Expr *const *old,
                           const ml_Expr *const *fresh, bool all, int64_t n)
{
    size_t most = (size_t)(m->n_vars > m->n_exprs ? m->n_vars : m->n_exprs) + 1;
    int64_t *from = ML_ARRAY(tmp, int64_t, most), *to = ML_ARRAY(tmp, int64_t, most);
    int64_t *back = ML_ARRAY(tmp, int64_t, most);
    ml_Map *taken = ml_map_new(tmp);

    for (int64_t e = 0; e < n; e++) {
        int64_t rest = e, at = 0;

        for (size_t k = m->n_vars; k-- > 0;) {
            from[k] = rest % old[k]->as.i;
            rest /= old[k]->as.i;
        }
        if (!map_point(tmp, m, from, to))
            return NULL;
        for (size_t k = 0; k < m->n_exprs; k++) {
            if (to[k] < 0 || to[k] >= fresh[k]->as.i)
                return "an index would be outside of the new shape";
            at = at * fresh[k]->as.i + to[k];
        }
        if (ml_map_has(taken, (uint32_t)at))
            return "two of the old indices would share a place";
        ml_map_set(tmp, taken, (uint32_t)at, m);
        if (!all || !m->inverse || !map_point(tmp, m->inverse, to, back))
            continue;
        for (size_t k = 0; k < m->n_vars; k++)
            if (back[k] != from[k])
                return "the given inverse does not lead back";
    }
    return NULL;
}

const char *ml_map_try(ml_Ctx *cx, const ml_IndexMap *m, const ml_Expr *const *old,
                       const ml_Expr *const *fresh, bool all)
{
    int64_t n = count(old, m->n_vars), size = count(fresh, m->n_exprs);

    if (all && n >= 0 && size >= 0 && n != size)
        return "there are more new places than old ones";
    if (n < 0 || n > TRIED_ELEMENTS || size < 0 || size >= UINT32_MAX)
        return NULL;
    ml_Ctx *tmp = ml_ctx_fork(cx);
    const char *clash = try_all(tmp, m, old, fresh, all, n);

    ml_ctx_unref(tmp);
    return clash;
}

/* ---- tidying */

typedef struct Tidy {
    ml_Arith *ar;
    const ml_Iter *iters; /* the new ones */
    uint32_t n;
} Tidy;

/* Exactly: a filter by numbers alone would let a replay simplify something else. */
static bool is_new(const Tidy *t, const ml_Expr *e)
{
    for (uint32_t k = 0; k < t->n; k++)
        if (ml_expr_uses_var(e, t->iters[k].var))
            return true;
    return false;
}

/* Index arithmetic of the new iters, as simple as it can be. */
static const ml_Expr *tidy_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Tidy *t = user;

    if (!is_new(t, e))
        return e;
    if (e->n_args > 0 && e->type.lanes == 1 && ml_dtype_is_index(e->type) &&
        !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL))) {
        const ml_Expr *s = ml_simplify(t->ar, e);

        return s->size < e->size ? s : e;
    }
    return ml_expr_map_args(cx, e, tidy_expr, user);
}

static const ml_Stmt *tidy_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = tidy_stmt, .expr = tidy_expr, .user = user};
    const Tidy *t = user;

    return s->kind == ML_STMT_FOR ? ml_arith_map_loop(t->ar, ml_as_for(s), &m)
                                  : ml_stmt_map(cx, s, &m);
}

const ml_Stmt *ml_tidy_indices(ml_Arith *ar, const ml_Stmt *st, const ml_Iter *iters,
                               uint32_t n)
{
    Tidy t = {ar, iters, n};

    return tidy_stmt(ml_arith_ctx(ar), st, &t);
}

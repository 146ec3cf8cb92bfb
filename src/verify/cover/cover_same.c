/*
 * cover_same - region cover where what is written is no box: a reader that touches by the
 * same indices as the writer, as B[v//2, v%2] of nine elements, A[v, v] or B[v*n], or under
 * the same guard.
 *
 * The writer's indices are matched against the reader's, which gives each iter of the
 * writer as an expression of the reader's loops: the instance that wrote what is read. That
 * the indices agree is proved on the result, and that this instance ran: its iters lie in
 * the box of those that did, or the writer's loops are found in the same way and lie in
 * their ranges, where the writer's guard holds. Source: ir-and-analysis 2.4.
 */
#include "moonloop/verify/cover/cover_strides.h"

enum { MAX_SLOTS = 24, MAX_NODES = 96 };

/* Variables, and what they are found to be (NULL: not met). */
typedef struct Match {
    ml_Ctx *cx;
    ml_Arith *ar;
    const ml_Var *var[MAX_SLOTS];
    const ml_Expr *is[MAX_SLOTS];
    size_t n;
    int nodes;
} Match;

static bool has_slots(const Match *m, const ml_Expr *e)
{
    for (size_t k = 0; k < m->n; k++)
        if (ml_expr_uses_var(e, m->var[k]))
            return true;
    return false;
}

static const ml_Expr *simple(Match *m, ml_ExprKind kind, const ml_Expr *a, const ml_Expr *b)
{
    return ml_promote(m->cx, &a, &b) ? ml_simplify(m->ar, ml_binary(m->cx, kind, a, b))
                                     : NULL;
}

static bool take(Match *m, const ml_Expr *p, const ml_Expr *e)
{
    for (size_t k = 0; k < m->n && p->kind == ML_EXPR_VAR; k++)
        if (m->var[k]->uid == p->as.var->uid) {
            if (!m->is[k])
                m->is[k] = ml_cast(m->cx, p->type, e);
            return true;
        }
    return false;
}

/* Variables of the pattern p get what makes it equal to e. Only a guess: the results are
 * put in and proved equal afterwards. */
static void match(Match *m, const ml_Expr *p, const ml_Expr *e)
{
    if (!e || ++m->nodes > MAX_NODES || take(m, p, e) || p->n_args == 0 || !has_slots(m, p))
        return;
    bool sum = p->kind == ML_EXPR_ADD, linear = sum || p->kind == ML_EXPR_SUB;

    if (linear && !has_slots(m, p->args[1])) {
        match(m, p->args[0], simple(m, sum ? ML_EXPR_SUB : ML_EXPR_ADD, e, p->args[1]));
    } else if (linear && !has_slots(m, p->args[0])) {
        match(m, p->args[1],
              simple(m, ML_EXPR_SUB, sum ? e : p->args[0], sum ? p->args[0] : e));
    } else if (p->kind == e->kind && p->n_args == e->n_args && ml_kind_computes(p->kind)) {
        for (uint16_t j = 0; j < p->n_args; j++)
            match(m, p->args[j], e->args[j]);
    } else if (p->kind == ML_EXPR_MUL) {
        bool left = has_slots(m, p->args[0]);
        const ml_Expr *by = p->args[left ? 1 : 0];

        if (!has_slots(m, by) && !ml_is_int(by, 0))
            match(m, p->args[left ? 0 : 1], simple(m, ML_EXPR_FLOORDIV, e, by));
    } else if (p->kind == ML_EXPR_CAST) {
        match(m, p->args[0], e);
    }
}

/* e with what was found put in; NULL: something in it was not. */
static const ml_Expr *put_in(Match *m, const ml_Expr *e)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < m->n; k++)
        if (m->is[k])
            ml_subst_var(m->cx, &sub, m->var[k], m->is[k]);
        else if (ml_expr_uses_var(e, m->var[k]))
            return NULL;
    return sub.vars ? ml_expr_subst(m->cx, e, &sub) : e;
}

/* Whether the writer's range, as matched, holds the reader's. */
static bool agrees(Match *m, const ml_Range *w, const ml_Range *r)
{
    const ml_Expr *wlo = put_in(m, w->min), *rlo = r->min;
    const ml_Expr *wn = put_in(m, w->extent), *rn = r->extent;

    if (!wlo || !wn || !ml_promote(m->cx, &wlo, &rlo) || !ml_promote(m->cx, &wn, &rn))
        return false;
    if (ml_prove_equal(m->ar, wlo, rlo))
        return ml_prove_le_expr(m->ar, rn, wn);
    if (!ml_prove_le_expr(m->ar, wlo, rlo))
        return false;
    return ml_promote(m->cx, &wlo, &wn) && ml_promote(m->cx, &rlo, &rn) &&
           ml_prove_le_expr(m->ar, ml_add(m->cx, rlo, rn), ml_add(m->cx, wlo, wn));
}

static void bind_loops(ml_Arith *ar, const ml_Access1 *a)
{
    for (size_t k = 0; k < a->n_dom; k++)
        ml_arith_bind_range(ar, a->dom[k].var, a->dom[k].min, a->dom[k].extent);
}

/* The matched instance lies in the box of those that ran. */
static bool in_box(Match *m, const ml_Block *writer, const ml_Access1 *by,
                   const ml_Access1 *read)
{
    ml_Ctx *cx = m->cx;
    ml_Range *box = ML_ARRAY(cx, ml_Range, writer->n_iters + 1u);
    ml_Interval *ran = ML_ARRAY(cx, ml_Interval, writer->n_iters + 1u);

    for (size_t k = 0; k < writer->n_iters; k++)
        box[k] =
            (ml_Range){writer->iters[k].value, ml_int(cx, writer->iters[k].value->type, 1)};
    if (!ml_region_lower(m->ar, box, writer->n_iters, by->dom, by->n_dom, by->pred, ran))
        return false;
    for (size_t k = 0; k < writer->n_iters; k++) {
        ml_Interval at = ran[k];

        if (!m->is[k]) { /* any instance: there is one */
            if (!at.min || !at.max || at.nothing ||
                !ml_prove_le_expr(m->ar, at.min, at.max))
                return false;
            continue;
        }
        ml_Range r = {m->is[k], ml_int(cx, m->is[k]->type, 1)};

        ml_region_upper(m->ar, &r, 1, read->dom, read->n_dom, read->pred, &at);
        if (!ml_interval_includes(m->ar, ran[k], at))
            return false;
    }
    return true;
}

/* Whether v, put into the loop d, is one of its iterations. */
static bool in_loop(Match *loops, const ml_Dom *d, const ml_Expr *v)
{
    const ml_Expr *lo = put_in(loops, d->min), *n = put_in(loops, d->extent), *end, *a = v;

    if (!lo || !n || !ml_promote(loops->cx, &lo, &n))
        return false;
    end = ml_add(loops->cx, lo, n);
    if (!ml_promote(loops->cx, &a, &lo) ||
        !ml_prove_symbolic(loops->ar, ml_ge(loops->cx, a, lo)))
        return false;
    return ml_promote(loops->cx, &v, &end) &&
           ml_prove_symbolic(loops->ar, ml_lt(loops->cx, v, end));
}

static bool holds(ml_Arith *ar, const ml_Expr *p)
{
    while (ml_is_op(p, ML_OP_LIKELY) && p->n_args == 1)
        p = p->args[0];
    if (p->kind == ML_EXPR_AND)
        return holds(ar, p->args[0]) && holds(ar, p->args[1]);
    return ml_prove_symbolic(ar, p);
}

/* There are iterations of the writer's loops that run the matched instance, wherever one of
 * the reader's runs. */
static bool by_loops(Match *m, const ml_Block *writer, const ml_Access1 *by,
                     const ml_Access1 *read)
{
    ml_Ctx *cx = m->cx;
    Match loops = {.cx = cx, .ar = m->ar, .n = by->n_dom};

    if (by->n_dom > MAX_SLOTS)
        return false;
    for (size_t k = 0; k < by->n_dom; k++)
        loops.var[k] = by->dom[k].var;
    ml_arith_assume(m->ar, read->pred);
    for (size_t k = 0; k < writer->n_iters; k++)
        if (m->is[k])
            match(&loops, writer->iters[k].value, m->is[k]);
    for (size_t k = 0; k < by->n_dom; k++) { /* any iteration does; the first */
        if (!loops.is[k] && !(loops.is[k] = put_in(&loops, by->dom[k].min)))
            return false;
        if (!in_loop(&loops, &by->dom[k], loops.is[k]))
            return false;
    }
    for (size_t k = 0; k < writer->n_iters; k++) {
        const ml_Expr *v = put_in(&loops, writer->iters[k].value);

        if (m->is[k] && !ml_prove_equal(m->ar, v, m->is[k]))
            return false;
    }
    return holds(m->ar, put_in(&loops, by->pred));
}

bool ml_same_cover(ml_Ctx *cx, ml_Arith *ar, const ml_Block *writer, const ml_Region *write,
                   const ml_Access1 *by, const ml_Access1 *read)
{
    Match m = {.cx = cx, .ar = ar, .n = writer->n_iters};
    size_t rank = write->buffer->rank;
    ml_ArithMark mark = ml_arith_save(ar);
    bool ok = writer->n_iters <= MAX_SLOTS;

    for (size_t k = 0; ok && k < writer->n_iters; k++)
        m.var[k] = writer->iters[k].var;
    bind_loops(ar, read);
    /* A dimension that is an iter alone says surely which; the others follow. */
    for (int alone = 1; ok && alone >= 0; alone--)
        for (size_t d = 0; d < rank; d++)
            if ((write->ranges[d].min->kind == ML_EXPR_VAR) == alone)
                match(&m, write->ranges[d].min, read->ranges[d].min);
    for (size_t d = 0; ok && d < rank; d++)
        ok = agrees(&m, &write->ranges[d], &read->ranges[d]);
    ml_arith_restore(ar, mark);
    if (!ok)
        return false;
    if (in_box(&m, writer, by, read))
        return true;
    mark = ml_arith_save(ar);
    bind_loops(ar, read);
    ok = by_loops(&m, writer, by, read);
    ml_arith_restore(ar, mark);
    return ok;
}

/*
 * cover_same - region cover where what is written is no box: a reader that touches by the
 * same indices as the writer, as B[v//2, v%2] of nine elements, A[v, v] or B[v*n].
 *
 * The writer's indices are matched against the reader's, which gives each iter of the
 * writer as an expression of the reader's loops: the instance that wrote what is read. That
 * the indices agree is proved on the result, and that this instance ran: its iters lie in
 * the box of those that did. Source: ir-and-analysis 2.4.
 */
#include "verify/cover_strides.h"

enum { MAX_ITERS = 16, MAX_NODES = 64 };

typedef struct Match {
    ml_Ctx *cx;
    ml_Arith *ar;
    const ml_Block *writer;
    const ml_Expr *is[MAX_ITERS]; /* of the writer's iters; NULL: not met yet */
    int nodes;
} Match;

static size_t iter_of(const ml_Block *b, const ml_Expr *e)
{
    size_t k = 0;

    while (e->kind == ML_EXPR_VAR && k < b->n_iters &&
           b->iters[k].var->uid != e->as.var->uid)
        k++;
    return e->kind == ML_EXPR_VAR ? k : b->n_iters;
}

static bool has_iters(const ml_Block *b, const ml_Expr *e)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (ml_expr_uses_var(e, b->iters[k].var))
            return true;
    return false;
}

static const ml_Expr *simple(Match *m, ml_ExprKind kind, const ml_Expr *a, const ml_Expr *b)
{
    return ml_promote(m->cx, &a, &b) ? ml_simplify(m->ar, ml_binary(m->cx, kind, a, b))
                                     : NULL;
}

/* Iters of the pattern p get what makes it equal to e. Only a guess: see agrees(). */
static void match(Match *m, const ml_Expr *p, const ml_Expr *e)
{
    size_t k = iter_of(m->writer, p);

    if (!e || ++m->nodes > MAX_NODES)
        return;
    if (k < m->writer->n_iters) {
        if (!m->is[k])
            m->is[k] = ml_cast(m->cx, p->type, e);
        return;
    }
    if (p->n_args == 0 || !has_iters(m->writer, p))
        return;
    bool linear = p->kind == ML_EXPR_ADD || p->kind == ML_EXPR_SUB;

    if (linear && !has_iters(m->writer, p->args[1])) {
        match(m, p->args[0],
              simple(m, p->kind == ML_EXPR_ADD ? ML_EXPR_SUB : ML_EXPR_ADD, e, p->args[1]));
    } else if (linear && !has_iters(m->writer, p->args[0])) {
        const ml_Expr *a = p->kind == ML_EXPR_ADD ? e : p->args[0];
        const ml_Expr *b = p->kind == ML_EXPR_ADD ? p->args[0] : e;

        match(m, p->args[1], simple(m, ML_EXPR_SUB, a, b));
    } else if (p->kind == e->kind && p->n_args == e->n_args &&
               (p->kind >= ML_EXPR_ADD && p->kind <= ML_EXPR_MAX)) {
        for (uint16_t j = 0; j < p->n_args; j++)
            match(m, p->args[j], e->args[j]);
    } else if (p->kind == ML_EXPR_MUL) {
        bool left = has_iters(m->writer, p->args[0]);
        const ml_Expr *by = p->args[left ? 1 : 0];

        if (!has_iters(m->writer, by) && !ml_is_int(by, 0))
            match(m, p->args[left ? 0 : 1], simple(m, ML_EXPR_FLOORDIV, e, by));
    } else if (p->kind == ML_EXPR_CAST) {
        match(m, p->args[0], e);
    }
}

/* Whether the writer's range, its iters as matched, holds the reader's. */
static bool agrees(Match *m, const ml_Range *w, const ml_Range *r)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < m->writer->n_iters; k++)
        if (m->is[k])
            ml_subst_var(m->cx, &sub, m->writer->iters[k].var, m->is[k]);
        else if (ml_expr_uses_var(w->min, m->writer->iters[k].var) ||
                 ml_expr_uses_var(w->extent, m->writer->iters[k].var))
            return false;
    const ml_Expr *wlo = ml_expr_subst(m->cx, w->min, &sub), *rlo = r->min;
    const ml_Expr *wn = ml_expr_subst(m->cx, w->extent, &sub), *rn = r->extent;

    if (!ml_promote(m->cx, &wlo, &rlo) || !ml_promote(m->cx, &wn, &rn))
        return false;
    if (ml_prove_equal(m->ar, wlo, rlo))
        return ml_prove_le_expr(m->ar, rn, wn);
    if (!ml_prove_le_expr(m->ar, wlo, rlo))
        return false;
    return ml_promote(m->cx, &wlo, &wn) && ml_promote(m->cx, &rlo, &rn) &&
           ml_prove_le_expr(m->ar, ml_add(m->cx, rlo, rn), ml_add(m->cx, wlo, wn));
}

bool ml_same_cover(ml_Ctx *cx, ml_Arith *ar, const ml_Block *writer, const ml_Region *write,
                   const ml_Access1 *by, const ml_Access1 *read)
{
    Match m = {.cx = cx, .ar = ar, .writer = writer};
    size_t rank = write->buffer->rank;
    ml_Range *box = ML_ARRAY(cx, ml_Range, writer->n_iters + 1u);
    ml_Interval *ran = ML_ARRAY(cx, ml_Interval, writer->n_iters + 1u);
    ml_ArithMark mark = ml_arith_save(ar);
    bool ok = writer->n_iters <= MAX_ITERS;

    for (size_t k = 0; k < writer->n_iters; k++)
        box[k] =
            (ml_Range){writer->iters[k].value, ml_int(cx, writer->iters[k].value->type, 1)};
    ok = ok && ml_region_lower(ar, box, writer->n_iters, by->dom, by->n_dom, by->pred, ran);
    for (size_t k = 0; k < read->n_dom; k++)
        ml_arith_bind_range(ar, read->dom[k].var, read->dom[k].min, read->dom[k].extent);
    /* A dimension that is an iter alone says surely which; the others follow. */
    for (int alone = 1; ok && alone >= 0; alone--)
        for (size_t d = 0; d < rank; d++)
            if ((write->ranges[d].min->kind == ML_EXPR_VAR) == alone)
                match(&m, write->ranges[d].min, read->ranges[d].min);
    for (size_t d = 0; ok && d < rank; d++)
        ok = agrees(&m, &write->ranges[d], &read->ranges[d]);
    ml_arith_restore(ar, mark);

    for (size_t k = 0; ok && k < writer->n_iters; k++) {
        ml_Interval at = ran[k];

        if (!m.is[k]) { /* any instance: there is one */
            ok = at.min && at.max && !at.nothing && ml_prove_le_expr(ar, at.min, at.max);
            continue;
        }
        ml_Range r = {m.is[k], ml_int(cx, m.is[k]->type, 1)};

        ml_region_upper(ar, &r, 1, read->dom, read->n_dom, read->pred, &at);
        ok = ml_interval_includes(ar, ran[k], at);
    }
    return ok;
}

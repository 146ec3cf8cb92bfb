/*
 * access_sample - see access_sample.h.
 *
 * The body, and the init where it runs, are walked for the first, the last and some other
 * values of the iters, loops inside in all of their iterations. Only what surely happens
 * counts: where a condition or an index does not come out as a number, nothing is said.
 * Source: primitives 11, annotate_buffer_access.
 */
#include "moonloop/primitives/rewrite/access_sample.h"

#include "moonloop/core/walk.h"
#include "moonloop/primitives/rewrite/move.h"

enum { INSTANCES = 64, STEPS = 20000 };

typedef struct Sample {
    ml_Call *c;
    ml_Arith *ar;
    const ml_Block *b;
    const ml_Buffer *buf;
    bool write;
    const ml_Range *region;
    ml_Subst at; /* the iters and the loops inside, as numbers */
    size_t steps;
    bool missed; /* something that may be an access was not looked at */
    const char *found;
} Sample;

static const ml_Expr *number(Sample *s, const ml_Expr *e)
{
    return ml_simplify(s->ar, s->at.vars ? ml_expr_subst(s->c->cx, e, &s->at) : e);
}

static bool is_value(const ml_Expr *e, int64_t *out)
{
    *out = e->kind == ML_EXPR_INT ? e->as.i : 0;
    return e->kind == ML_EXPR_INT;
}

/* Outside of the region, and inside the buffer. */
static void look_at(Sample *s, const ml_Expr *const *index)
{
    ml_Ctx *cx = s->c->cx;
    const char *where = "", *iters = "";
    bool outside = false;

    for (size_t d = 0; d < s->buf->rank; d++) {
        int64_t i, lo, n, dim;

        if (!is_value(number(s, index[d]), &i) ||
            !is_value(number(s, s->region[d].min), &lo) ||
            !is_value(number(s, s->region[d].extent), &n) ||
            !is_value(s->buf->shape[d], &dim)) {
            s->missed = true;
            return;
        }
        if (i < 0 || i >= dim)
            return;
        outside |= i < lo || i - lo >= n;
        where = ml_format(cx, "%s%s%lld", where, d ? ", " : "", (long long)i);
    }
    if (!outside)
        return;
    for (size_t k = 0; k < s->b->n_iters; k++)
        iters =
            ml_format(cx, "%s%s%s = %lld", iters, k ? ", " : "", s->b->iters[k].var->hint,
                      (long long)number(s, ml_var(cx, s->b->iters[k].var))->as.i);
    s->found = ml_format(cx, "at %s it %s %s[%s]", *iters ? iters : "once",
                         s->write ? "writes" : "reads", s->buf->name, where);
}

static bool visit_expr(const ml_Expr *e, void *user)
{
    Sample *s = user;
    int64_t c;

    if (s->found)
        return false;
    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == s->buf->uid && !s->write &&
        (e->flags & ML_X_MASKED) == 0)
        look_at(s, e->args);
    if (e->kind == ML_EXPR_LET) { /* its variable has no number here */
        s->missed = true;
        return false;
    }
    if (e->kind == ML_EXPR_AND || e->kind == ML_EXPR_OR) {
        ml_expr_visit(e->args[0], visit_expr, s); /* the second one may not be looked at */
        return false;
    }
    if (!ml_is_op(e, ML_OP_IF_THEN_ELSE))
        return true;
    ml_expr_visit(e->args[0], visit_expr, s);
    if (is_value(number(s, e->args[0]), &c))
        ml_expr_visit(e->args[c ? 1 : 2], visit_expr, s);
    else
        s->missed = true;
    return false;
}

static void walk(Sample *s, const ml_Stmt *st)
{
    int64_t lo, n;

    s->missed |= ++s->steps > STEPS;
    if (s->found || s->steps > STEPS)
        return;
    switch ((ml_StmtKind)st->kind) {
    case ML_STMT_SEQ:
        for (size_t k = 0; k < ml_as_seq(st)->n; k++)
            walk(s, ml_as_seq(st)->stmts[k]);
        return;
    case ML_STMT_FOR: {
        const ml_For *f = ml_as_for(st);

        if (f->step || !is_value(number(s, f->min), &lo) ||
            !is_value(number(s, f->extent), &n)) {
            s->missed = true;
            return;
        }
        for (int64_t k = 0; k < n && s->steps <= STEPS && !s->found; k++) {
            ml_subst_var(s->c->cx, &s->at, f->var, ml_int(s->c->cx, f->var->type, lo + k));
            walk(s, f->body);
        }
        return;
    }
    case ML_STMT_IF:
        ml_expr_visit(ml_as_if(st)->cond, visit_expr, s);
        if (!is_value(number(s, ml_as_if(st)->cond), &n))
            s->missed = true;
        else if (n)
            walk(s, ml_as_if(st)->then);
        else if (ml_as_if(st)->other)
            walk(s, ml_as_if(st)->other);
        return;
    case ML_STMT_STORE: {
        const ml_Store *w = ml_as_store(st);

        if (s->write && w->buffer->uid == s->buf->uid && !w->mask)
            look_at(s, w->indices);
        for (size_t d = 0; d < w->n; d++)
            ml_expr_visit(w->indices[d], visit_expr, s);
        ml_expr_visit(w->value, visit_expr, s);
        return;
    }
    case ML_STMT_EVALUATE: ml_expr_visit(ml_as_evaluate(st)->value, visit_expr, s); return;
    case ML_STMT_BIND: {
        const ml_Bind *let = (const ml_Bind *)(const void *)st;

        ml_expr_visit(let->value, visit_expr, s);
        ml_subst_var(s->c->cx, &s->at, let->var, number(s, let->value));
        return;
    }
    default: s->missed = true;
    }
}

/* Whether the instance is one that runs the init: each reduce iter is at its first value. */
static bool begins(Sample *s)
{
    for (size_t k = 0; k < s->b->n_iters; k++) {
        const ml_Iter *it = &s->b->iters[k];

        if (it->kind == ML_ITER_REDUCE &&
            number(s, ml_var(s->c->cx, it->var)) != number(s, it->min))
            return false;
    }
    return true;
}

const char *ml_access_outside(ml_Call *c, const ml_Block *b, const ml_Buffer *buf,
                              bool write, const ml_Range *region, bool *tried)
{
    ml_Ctx *cx = c->cx;
    ml_Interval *ran = ML_ARRAY(cx, ml_Interval, b->n_iters + 1u);
    int64_t *lo = ML_ARRAY(cx, int64_t, b->n_iters + 1u);
    int64_t *hi = ML_ARRAY(cx, int64_t, b->n_iters + 1u);
    Sample s = {.c = c,
                .ar = ml_arith_new(cx),
                .b = b,
                .buf = buf,
                .write = write,
                .region = region};
    uint64_t random = 1;

    *tried = false;
    if (!ml_is_true(b->predicate) || !ml_executed_domains(c, b, ran))
        return NULL;
    for (size_t k = 0; k < b->n_iters; k++)
        if (!ran[k].min || !ran[k].max || !is_value(ran[k].min, &lo[k]) ||
            !is_value(ran[k].max, &hi[k]) || hi[k] < lo[k])
            return NULL;
    for (size_t n = 0; n < INSTANCES && !s.found; n++) {
        s.at = (ml_Subst){0};
        for (size_t k = 0; k < b->n_iters; k++) {
            uint64_t width = (uint64_t)hi[k] - (uint64_t)lo[k] + 1;

            random = random * 6364136223846793005u + 1442695040888963407u;
            int64_t v = n == 0   ? lo[k]
                        : n == 1 ? hi[k]
                                 : lo[k] + (int64_t)((random >> 33) % (width ? width : 1));
            ml_subst_var(cx, &s.at, b->iters[k].var, ml_int(cx, b->iters[k].var->type, v));
        }
        if (b->init && begins(&s))
            walk(&s, b->init);
        walk(&s, b->body);
    }
    *tried = !s.missed;
    return s.found;
}

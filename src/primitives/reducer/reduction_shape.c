/*
 * reduction_shape - see reduction_shape.h. The body is lets, then a store for each
 * accumulator. Source: primitives 9, rfactor.
 */
#include "moonloop/primitives/reducer/reduction_shape.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

typedef struct Parts {
    ml_Call *c;
    const ml_Block *b;
    size_t n_init, n_lets, n_stores;
    const ml_Store *init[ML_MAX_REDUCER + 1], *store[ML_MAX_REDUCER + 1];
    const ml_Stmt *const *lets;
} Parts;

static bool wrong(Parts *p, int number, const char *what)
{
    return ml_fail(p->c->cx, ML_E_RFACTOR_SHAPE, ML_BLOCK(p->b),
                   ML_NUMBER("condition", number), ML_TEXT(what));
}

/* The statements of a list, or the one that there is. */
static size_t list_of(const ml_Stmt *const *st, const ml_Stmt *const **out)
{
    if ((*st)->kind != ML_STMT_SEQ) {
        *out = st;
        return 1;
    }
    *out = ml_as_seq(*st)->stmts;
    return ml_as_seq(*st)->n;
}

static const ml_Store *plain_store(const ml_Stmt *s)
{
    return s->kind == ML_STMT_STORE && !ml_as_store(s)->mask ? ml_as_store(s) : NULL;
}

static bool read_init(Parts *p)
{
    const ml_Stmt *const *s;
    size_t n = list_of(&p->b->init, &s);

    for (size_t k = 0; k < n; k++)
        if (!plain_store(s[k]))
            return wrong(p, 1, "its init is not a store or a list of stores");
    if (n > ML_MAX_REDUCER)
        return ml_fail_as(p->c->cx, ML_E_NO_REDUCER,
                          "block {0} is no known reduction: no reducer has {1} results",
                          ML_BLOCK(p->b), ML_NUMBER("results", n));
    for (size_t k = 0; k < n; k++) {
        p->init[k] = ml_as_store(s[k]);
        for (size_t j = 0; j < k; j++)
            if (p->init[j]->buffer->uid == p->init[k]->buffer->uid)
                return wrong(p, 2,
                             ml_format(p->c->cx, "its init stores to %s twice",
                                       ml_shown(p->c->cx, p->init[k]->buffer)));
    }
    p->n_init = n;
    return true;
}

static bool read_body(Parts *p)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Stmt *const *s;
    size_t n = list_of(&p->b->body, &s);

    while (p->n_lets < n && s[p->n_lets]->kind == ML_STMT_BIND)
        p->n_lets++;
    p->lets = s;
    for (size_t k = p->n_lets; k < n; k++)
        if (!plain_store(s[k]))
            return wrong(p, 5,
                         p->n_lets ? "something else than stores follows its lets"
                                   : "its body is not stores, with lets before them");
    if (n - p->n_lets != p->n_init)
        return wrong(p, 6,
                     ml_format(cx, "its init has %zu store%s, its body %zu", p->n_init,
                               p->n_init == 1 ? "" : "s", n - p->n_lets));
    for (size_t k = 0; k < p->n_init; k++)
        p->store[k] = ml_as_store(s[p->n_lets + k]);
    p->n_stores = n - p->n_lets;
    return true;
}

static bool uses_result(const Parts *p, size_t n, const ml_Expr *e)
{
    for (size_t k = 0; k < n; k++)
        if (ml_expr_uses_buffer(e, p->store[k]->buffer))
            return true;
    return false;
}

/* What each store stores. Lets that use an accumulator are put in; they are evaluated
 * before anything is stored. The others stay lets. */
static bool read_values(Parts *p, const ml_Expr **combined, ml_ReductionShape *out)
{
    ml_Ctx *cx = p->c->cx;
    ml_Subst sub = {0};

    out->lets = ML_ARRAY(cx, const ml_Stmt *, p->n_lets + 1);
    for (size_t k = 0; k < p->n_lets; k++) {
        const ml_Bind *let = (const ml_Bind *)(const void *)p->lets[k];
        const ml_Expr *v = sub.vars ? ml_expr_subst(cx, let->value, &sub) : let->value;

        if ((v->flags & ML_X_EFFECT) != 0)
            return wrong(p, 7,
                         ml_format(cx, "its let %s has an effect", ml_shown(cx, let->var)));
        if (uses_result(p, p->n_stores, v))
            ml_subst_var(cx, &sub, let->var, v);
        else
            out->lets[out->n_lets++] = ml_bind(cx, let->var, v);
    }
    for (size_t k = 0; k < p->n_stores; k++) {
        const ml_Expr *v = p->store[k]->value;

        if (uses_result(p, k, v))
            return wrong(p, 7,
                         ml_format(cx, "the store to %s reads what is stored before it",
                                   ml_shown(cx, p->store[k]->buffer)));
        while (p->n_stores == 1 && v->kind == ML_EXPR_LET) {
            ml_Subst one = {0};

            ml_subst_var(cx, &one, v->as.var, v->args[0]);
            v = ml_expr_subst(cx, v->args[1], &one);
        }
        combined[k] = sub.vars ? ml_expr_subst(cx, v, &sub) : v;
    }
    return true;
}

static bool same_element(const ml_Store *a, const ml_Store *b)
{
    if (a->n != b->n)
        return false;
    for (size_t d = 0; d < a->n; d++)
        if (a->indices[d] != b->indices[d])
            return false;
    return true;
}

static bool same_shape(const ml_Buffer *a, const ml_Buffer *b)
{
    if (a->rank != b->rank)
        return false;
    for (size_t d = 0; d < a->rank; d++)
        if (a->shape[d] != b->shape[d])
            return false;
    return true;
}

static bool match_buffers(Parts *p, ml_ReductionShape *out)
{
    ml_Ctx *cx = p->c->cx;

    for (size_t k = 0; k < p->n_stores; k++) {
        const ml_Buffer *buf = p->store[k]->buffer;
        size_t at = 0;

        for (size_t j = 0; j < k; j++)
            if (p->store[j]->buffer->uid == buf->uid)
                return wrong(
                    p, 9, ml_format(cx, "its body stores to %s twice", ml_shown(cx, buf)));
        while (at < p->n_init && p->init[at]->buffer->uid != buf->uid)
            at++;
        if (at == p->n_init)
            return wrong(p, 10,
                         ml_format(cx, "its body stores to %s, which the init leaves out",
                                   ml_shown(cx, buf)));
        if (!same_shape(buf, p->store[0]->buffer))
            return wrong(p, 11,
                         ml_format(cx, "%s and %s have different shapes",
                                   ml_shown(cx, p->store[0]->buffer), ml_shown(cx, buf)));
        if (!same_element(p->store[k], p->store[0]) ||
            !same_element(p->init[at], p->store[0]))
            return wrong(p, 12, "its stores have different indices");
        out->buf[k] = buf;
        out->from[k] = p->init[at]->value;
    }
    return true;
}

bool ml_reduction_shape(ml_Call *c, const ml_Block *b, ml_ReductionShape *out)
{
    ml_Ctx *cx = c->cx;
    Parts p = {.c = c, .b = b};
    const ml_Expr *combined[ML_MAX_REDUCER], *acc[ML_MAX_REDUCER];
    const char *why;

    memset(out, 0, sizeof *out);
    if (!read_init(&p) || !read_body(&p) || !match_buffers(&p, out) ||
        !read_values(&p, combined, out))
        return false;
    ML_ASSERT(p.store[0]);
    out->n = p.n_stores;
    out->idx = p.store[0]->indices;
    out->rank = p.store[0]->n;
    for (size_t k = 0; k < out->n; k++)
        acc[k] = ml_load(cx, out->buf[k], out->idx, out->rank);
    if (!ml_combiner_find(cx, c->sched->space->intrins, out->n, acc, combined, out->from,
                          &out->combiner, &why))
        return ml_fail(cx, ML_E_NO_REDUCER, ML_BLOCK(b), ML_TEXT(why),
                       ML_EXPRESSION(combined[0]));
    return true;
}

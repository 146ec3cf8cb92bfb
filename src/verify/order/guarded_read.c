/*
 * guarded_read - where a block reads an element: conditions around the read narrow the loops.
 *
 * A running sum takes `Y[i, k - 1]` only where k > 0: the element before the first one is
 * another iteration's and nobody reads it. Told of a block of one store that reads the
 * buffer at one place, under conditions on iterators that are loops.
 * Source: ir-and-analysis 2.3.
 */
#include "moonloop/verify/facts.h"

enum { MOST = 8 };

typedef struct Find {
    const ml_Buffer *buf;
    const ml_Expr *load;
    const ml_Expr *around[MOST], *kept[MOST]; /* conditions: now, and around the load */
    size_t n, n_kept;
    bool lost;
} Find;

static void look(Find *f, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_VAR || ml_is_op(e, ML_OP_ADDRESS_OF))
        f->lost |= e->kind != ML_EXPR_VAR || e->as.var == f->buf->data;
    if (e->kind == ML_EXPR_LOAD && e->as.buffer->data == f->buf->data) {
        f->lost |= f->load != NULL;
        f->load = e;
        f->n_kept = f->n;
        memcpy(f->kept, f->around, sizeof f->kept);
    }
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && f->n < MOST) {
        look(f, e->args[0]);
        f->around[f->n++] = e->args[0];
        look(f, e->args[1]);
        f->n--;
        look(f, e->args[2]);
        return;
    }
    for (size_t k = 0; k < e->n_args; k++)
        look(f, e->args[k]);
}

/* The iterations of a loop in which var >= lo and var < hi. */
static void narrow(ml_Ctx *cx, const ml_Block *b, const ml_Expr *var, int64_t lo,
                   int64_t hi, ml_DomVec *dom)
{
    const ml_Expr *loop = NULL;

    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].var == var->as.var)
            loop = b->iters[k].value;
    for (size_t k = 0; loop && loop->kind == ML_EXPR_VAR && k < dom->n; k++) {
        ml_Dom *d = &dom->v[k];
        int64_t min, end;

        if (d->var != loop->as.var || !ml_is_const_int(d->min) ||
            !ml_is_const_int(d->extent))
            continue;
        min = d->min->as.i;
        end = min + d->extent->as.i;
        min = min > lo ? min : lo;
        end = end < hi ? end : hi;
        if (min >= end)
            return;
        d->min = ml_int(cx, d->min->type, min);
        d->extent = ml_int(cx, d->extent->type, end - min);
    }
}

static void apply(ml_Ctx *cx, const ml_Block *b, const ml_Expr *c, ml_DomVec *dom)
{
    const ml_Expr *p, *q;
    bool turned;
    int64_t v, least = -((int64_t)1 << 40), most = (int64_t)1 << 40;

    if (c->kind == ML_EXPR_AND) {
        apply(cx, b, c->args[0], dom);
        apply(cx, b, c->args[1], dom);
    }
    if (c->n_args != 2)
        return;
    turned = ml_is_const_int(c->args[0]);
    p = c->args[turned ? 1 : 0];
    q = c->args[turned ? 0 : 1];
    if (p->kind != ML_EXPR_VAR || !ml_is_const_int(q) || q->as.i < least || q->as.i > most)
        return;
    v = q->as.i;
    switch ((int)c->kind) {
    case ML_EXPR_LT: /* p < v, or v < p */
        narrow(cx, b, p, turned ? v + 1 : least, turned ? most : v, dom);
        break;
    case ML_EXPR_LE:
        narrow(cx, b, p, turned ? v : least, turned ? most : v + 1, dom);
        break;
    case ML_EXPR_GT:
        narrow(cx, b, p, turned ? least : v + 1, turned ? v : most, dom);
        break;
    case ML_EXPR_GE:
        narrow(cx, b, p, turned ? least : v, turned ? v + 1 : most, dom);
        break;
    default: break;
    }
}

void ml_narrow_to_read(ml_Ctx *cx, const ml_Block *b, const ml_Region *r, ml_DomVec *dom)
{
    Find f = {.buf = r->buffer};
    const ml_Store *st;

    if (b->body->kind != ML_STMT_STORE || b->init || b->n_matches || b->n_allocs)
        return;
    st = ml_as_store(b->body);
    for (uint32_t k = 0; k < st->n; k++)
        look(&f, st->indices[k]);
    look(&f, st->value);
    if (st->mask)
        look(&f, st->mask);
    if (!f.load || f.lost || f.load->as.buffer != r->buffer ||
        ml_load_rank(f.load) != r->buffer->rank)
        return;
    for (size_t k = 0; k < r->buffer->rank; k++)
        if (f.load->args[k] != r->ranges[k].min || !ml_is_int(r->ranges[k].extent, 1))
            return;
    for (size_t k = 0; k < f.n_kept; k++)
        apply(cx, b, f.kept[k], dom);
}

/* counts - see counts.h: one walk collects what a function does (sites.c), then each loop
 * asks what of it lies below. */
#include "moonloop/verify/count/counts.h"

#include "moonloop/verify/count/counts_impl.h"

typedef struct Each { /* the sites of one buffer below a loop */
    uint32_t stamp;   /* 1 + loop, when it was seen there */
    uint32_t n, from; /* among those of the loop */
} Each;

typedef struct Work {
    ml_Sites s;
    Each *each; /* by buffer */
    uint32_t stamp;
} Work;

/* An expression of sizes as short as it gets. */
static ml_Number tidy(ml_Ctx *cx, ml_Number n)
{
    if (n.how != ML_UNKNOWN && n.expr) {
        n.expr = ml_simplify(ml_arith_new(cx), n.expr);
        if (ml_is_const_int(n.expr)) {
            n.n = n.expr->as.i;
            n.expr = NULL;
        }
    }
    return n;
}

static ml_Number accesses(Work *w, const ml_SiteAt *const *v, size_t n, bool write,
                          uint32_t depth)
{
    ml_Ctx *cx = w->s.cx;
    ml_Number sum = ml_number(0);

    for (size_t k = 0; k < n; k++) {
        if (v[k]->site.write != write)
            continue;
        if (v[k]->site.declared) /* how often, nothing says */
            return ml_number_unknown();
        sum = ml_number_add(cx, sum,
                            ml_number_mul(cx, ml_place_ways(&w->s, v[k]->place, depth),
                                          ml_number(v[k]->lanes)));
    }
    return tidy(cx, sum);
}

static void touched(Work *w, const ml_LoopAt *l, ml_LoopFacts *out)
{
    ml_Sites *s = &w->s;
    ml_Ctx *cx = s->cx;
    uint32_t n = l->sites[1] - l->sites[0], at = 0;
    const ml_SiteAt **sites = ML_ARRAY(cx, const ml_SiteAt *, n + 1);
    ML_VEC(uint32_t) order = {0};

    w->stamp++;
    for (uint32_t k = l->buffers[0]; k < l->buffers[1]; k++) {
        Each *e = &w->each[s->named.v[k]];

        if (e->stamp == w->stamp)
            continue;
        *e = (Each){.stamp = w->stamp};
        ml_push(cx, &order, s->named.v[k]);
    }
    for (uint32_t k = l->sites[0]; k < l->sites[1]; k++)
        w->each[s->sites.v[k].buffer].n++;
    for (size_t k = 0; k < order.n; k++) {
        Each *e = &w->each[order.v[k]];

        e->from = at;
        at += e->n;
        e->n = 0;
    }
    for (uint32_t k = l->sites[0]; k < l->sites[1]; k++) {
        Each *e = &w->each[s->sites.v[k].buffer];

        sites[e->from + e->n++] = &s->sites.v[k];
    }
    ml_Touched *v = ML_ARRAY(cx, ml_Touched, order.n + 1);
    uint32_t count = 0;

    for (size_t k = 0; k < order.n; k++) {
        const Each *e = &w->each[order.v[k]];
        const ml_SiteAt *const *of = sites + e->from;
        ml_Touched *t = &v[count];

        if (e->n == 0) /* named by a block, used nowhere below */
            continue;
        count++;
        t->buffer = s->buffers.v[order.v[k]];
        t->elements = tidy(cx, ml_elements(s, t->buffer, of, e->n, l->depth));
        t->bytes =
            tidy(cx, ml_number_mul(cx, t->elements,
                                   ml_number((int64_t)ml_dtype_bytes(t->buffer->type))));
        t->loads = accesses(w, of, e->n, false, l->depth);
        t->stores = accesses(w, of, e->n, true, l->depth);
    }
    out->touched = v;
    out->n_touched = count;
}

static void strides(Work *w, const ml_LoopAt *l, ml_LoopFacts *out)
{
    ml_Stride *v = ML_ARRAY(w->s.cx, ml_Stride, l->sites[1] - l->sites[0] + 1u);

    for (uint32_t k = l->sites[0]; k < l->sites[1]; k++)
        ml_stride_of(&w->s, &w->s.sites.v[k], l, &v[out->n_strides++]);
    out->strides = v;
}

/* Of the operations from there up to there, under the loops from that depth on. */
static ml_Number flops(ml_Sites *s, uint32_t from, uint32_t to, uint32_t depth)
{
    ml_Ctx *cx = s->cx;
    ml_Number sum = ml_number(0);

    for (uint32_t k = from; k < to; k++) {
        const ml_Work1 *one = &s->work.v[k];
        ml_Number n =
            ml_number_mul(cx, ml_place_ways(s, one->place, depth), ml_number(one->ops));

        sum = ml_number_add(cx, sum, one->most ? ml_number_at_most(n) : n);
    }
    return tidy(cx, sum);
}

static void facts(Work *w, const ml_LoopAt *l, ml_LoopFacts *f)
{
    ml_Ctx *cx = w->s.cx;

    *f = (ml_LoopFacts){.loop = l->node};
    for (uint32_t up = l->parent; up != ML_NO_LOOP; up = w->s.loops.v[up].parent) {
        const ml_For *node = w->s.loops.v[up].node;

        f->parent = f->parent ? f->parent : node;
        f->depth += node != NULL;
    }
    f->extent = tidy(cx, l->extent);
    f->iterations = tidy(cx, ml_place_ways(&w->s, l->inside, 0));
    f->flops = flops(&w->s, l->work[0], l->work[1], l->depth);
    touched(w, l, f);
    strides(w, l, f);
}

enum { POINTS = 200000 };

ml_Number ml_counts_flops(ml_Ctx *cx, const ml_Func *f, const ml_WorkKind *only)
{
    ml_Sites s = {.cx = cx, .budget = POINTS, .only = only};

    if (!ml_sites_of(&s, f))
        return ml_number_unknown();
    return flops(&s, 0, (uint32_t)s.work.n, 0);
}

static bool begin(Work *w, ml_Ctx *cx, ml_Program p, uint32_t func)
{
    *w = (Work){.s = {.cx = cx, .budget = POINTS}};
    if (!ml_sites_of(&w->s, p.mod->funcs[func]))
        return false;
    w->each = ML_ARRAY(cx, Each, w->s.buffers.n + 1);
    return true;
}

bool ml_counts(ml_Ctx *cx, ml_Program p, uint32_t func, ml_Counts *out)
{
    ml_LoopFacts *v;
    Work w;

    *out = (ml_Counts){0};
    if (!begin(&w, cx, p, func))
        return false;
    v = ML_ARRAY(cx, ml_LoopFacts, w.s.loops.n + 1);
    for (size_t k = 0; k < w.s.loops.n; k++) {
        if (!w.s.loops.v[k].node || w.s.loops.v[k].in_init)
            continue;
        if (!ml_tick(cx))
            return false;
        facts(&w, &w.s.loops.v[k], &v[out->n++]);
    }
    out->loops = v;
    return ml_ok(cx);
}

bool ml_counts_loop(ml_Ctx *cx, ml_Program p, ml_Uid loop, ml_LoopFacts *out)
{
    Work w;

    *out = (ml_LoopFacts){0};
    if (!begin(&w, cx, p, ml_index_func(p.index, loop)))
        return false;
    for (size_t k = 0; k < w.s.loops.n; k++) {
        const ml_LoopAt *l = &w.s.loops.v[k];

        if (l->node && !l->in_init && l->node->var->uid == loop)
            facts(&w, l, out);
    }
    return ml_ok(cx);
}

const ml_LoopFacts *ml_counts_of(const ml_Counts *c, ml_Uid loop)
{
    for (size_t k = 0; k < c->n; k++)
        if (c->loops[k].loop->var->uid == loop)
            return &c->loops[k];
    return NULL;
}

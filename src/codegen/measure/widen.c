/*
 * widen - statements and functions of a wider type; each store of a rounded buffer is
 * preceded by the store of its estimate, which may still read the old value.
 */
#include "moonloop/codegen/measure/widen.h"

#include "moonloop/codegen/measure/widen_impl.h"

#include "moonloop/core/walk.h"

enum { LARGEST = 4000 }; /* nodes of one stored value */

/* ---------------------------------------------------------------- statements */

static const ml_Buffer *map_buffer(ml_Ctx *cx, const ml_Buffer *b, bool definition,
                                   void *user)
{
    (void)cx;
    (void)definition;
    return ml_wide_buffer(user, b);
}

static const ml_Stmt *map_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

static const ml_Stmt *map_below(ml_Widen *w, const ml_Stmt *s)
{
    const ml_Mapper m = {map_stmt, ml_wide_value, map_buffer, w};

    return ml_stmt_map(w->cx, s, &m);
}

static const ml_Stmt *map_store(ml_Widen *w, const ml_Store *s)
{
    const ml_Buffer *b = ml_wide_estimate(w, s->buffer);
    const ml_Store *wide = ml_as_store(map_below(w, &s->base));
    const ml_Expr *e;

    if (b == NULL)
        return &wide->base;
    if (s->value->size > LARGEST) {
        w->cannot = true;
        return &s->base;
    }
    e = ml_wide_stored_error(w, s);
    return ml_seq(
        w->cx,
        (const ml_Stmt *[]){ml_store(w->cx, b, e, wide->indices, wide->n, wide->mask),
                            &wide->base},
        2);
}

static const ml_Stmt *map_bind(ml_Widen *w, const ml_Bind *s)
{
    const ml_Expr *v = ml_wide_value(w->cx, s->value, w);
    const ml_Expr *err = ml_wide_error(w, s->value);
    const ml_Stmt *bind = ml_bind(w->cx, ml_wide_var(w, s->var), v);

    if (err == NULL)
        return bind;
    return ml_seq(
        w->cx, (const ml_Stmt *[]){ml_bind(w->cx, ml_wide_error_var(w, s->var), err), bind},
        2);
}

/* Regions, as they are in the widened block, and those of the estimates. */
static const ml_Region *regions(ml_Widen *w, const ml_Region *old, const ml_Region *now,
                                uint32_t *n)
{
    ml_Region *v = ML_ARRAY(w->cx, ml_Region, 2 * *n + 1u);
    uint32_t all = *n;

    for (uint32_t k = 0; k < *n; k++) {
        const ml_Buffer *b = ml_wide_estimate(w, old[k].buffer);

        v[k] = now[k];
        if (b)
            v[all++] = (ml_Region){b, now[k].ranges};
    }
    *n = all;
    return v;
}

static const ml_Stmt *map_block(ml_Widen *w, const ml_Block *old)
{
    uint32_t depth = w->at.n_blocks;
    ml_Block b;
    ml_Match *matches;
    const ml_Buffer **allocs;

    if (!ml_nesting_block(&w->at, old)) {
        w->cannot = true;
        return &old->base;
    }
    b = *ml_as_block(map_below(w, &old->base));
    if (w->shared && !w->cannot && old == ml_func_root(w->func))
        b.body = ml_wide_merged(w, b.body);
    w->at.n_blocks = depth;
    b.reads = regions(w, old->reads, b.reads, &b.n_reads);
    b.writes = regions(w, old->writes, b.writes, &b.n_writes);
    allocs = ML_ARRAY(w->cx, const ml_Buffer *, 2 * b.n_allocs + 1u);
    matches = ML_ARRAY(w->cx, ml_Match, 2 * b.n_matches + 1u);
    for (uint32_t k = 0; k < old->n_allocs; k++) {
        const ml_Buffer *e = ml_wide_estimate(w, old->allocs[k]);

        allocs[k] = b.allocs[k];
        if (e)
            allocs[b.n_allocs++] = e;
    }
    for (uint32_t k = 0; k < old->n_matches; k++) {
        const ml_Match *m = &old->matches[k];
        const ml_Buffer *e = ml_wide_estimate(w, m->target);

        matches[k] = b.matches[k];
        if (e)
            matches[b.n_matches++] = (ml_Match){
                e, {ml_wide_estimate(w, m->source.buffer), b.matches[k].source.ranges}};
    }
    b.allocs = allocs;
    b.matches = matches;
    return ml_block_from(w->cx, &b);
}

/* ---------------------------------------------------------------- the walk */

static const ml_Stmt *map_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    ml_Widen *w = user;
    uint32_t loops = w->at.n_loops;
    const ml_Stmt *to;

    switch (s->kind) {
    case ML_STMT_STORE: return map_store(w, ml_as_store(s));
    case ML_STMT_BLOCK: return map_block(w, ml_as_block(s));
    case ML_STMT_BIND: return map_bind(w, ml_as_bind(s));
    case ML_STMT_FOR:
        if (!ml_nesting_loop(&w->at, ml_as_for(s)))
            break;
        to = map_below(w, s);
        w->at.n_loops = loops;
        return w->cannot ? s : ml_wide_sampled(w, ml_as_for(s), to);
    case ML_STMT_ALLOC: {
        const ml_Buffer *e = ml_wide_estimate(w, ml_as_alloc(s)->buffer);

        to = map_below(w, s);
        return e ? ml_seq(cx, (const ml_Stmt *[]){ml_alloc_stmt(cx, e, NULL), to}, 2) : to;
    }
    case ML_STMT_EVALUATE:
        if (!ml_is_noop(s))
            break;
        return s;
    case ML_STMT_SEQ:
    case ML_STMT_WHILE:
    case ML_STMT_IF:
    case ML_STMT_ATTR:
    case ML_STMT_ASSERT:
    case ML_STMT_CONTINUE:
    case ML_STMT_BREAK: return map_below(w, s);
    }
    w->cannot = true; /* DECL is another view of an address */
    return s;
}

/* ---------------------------------------------------------------- functions */

/* A parameter with the buffer, after the data pointer of `like`. */
static ml_FuncParam param_of(ml_Widen *w, const ml_Buffer *b)
{
    return (ml_FuncParam){
        ml_var_new_handle(w->cx, b->name, ml_dtype_lanes(b->type, 1), "global"), b};
}

static bool is_written(const ml_Rounding *r, const ml_Buffer *b)
{
    return b && (ml_rounding(r, b) & ML_ROUNDED);
}

const ml_Wide *ml_widen(ml_Ctx *cx, const ml_Func *f, const ml_Rounding *r,
                        const ml_Size *sizes, size_t n_sizes, const ml_WideSample *sample)
{
    ml_Widen *w = ML_NEW(cx, ml_Widen);
    ml_Wide *out = ML_NEW(cx, ml_Wide);
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, 2 * f->n_params + 1u);
    ml_Func g = *f;
    const ml_Func *one;

    w->cx = cx;
    w->r = r;
    w->func = f;
    w->sample = sample;
    w->at.sizes = sizes;
    w->at.n_sizes = n_sizes;
    w->shared = ml_wide_shared_loops(w);
    w->wide = ml_map_new(cx);
    w->estimate = ml_map_new(cx);
    w->vars = ml_map_new(cx);
    w->var_errors = ml_map_new(cx);
    w->values = ml_map_new(cx);
    w->errors = ml_map_new(cx);
    out->estimate = ML_ARRAY(cx, uint32_t, f->n_params + 1u);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        params[k] = f->params[k];
        if (b && ml_dtype_is_float(b->type))
            params[k] = param_of(w, ml_wide_buffer(w, b));
        else if (b == NULL)
            params[k].var = ml_wide_var(w, f->params[k].var);
        if (!is_written(r, b))
            continue;
        out->estimate[k] = g.n_params;
        params[g.n_params++] = param_of(w, ml_wide_estimate(w, b));
    }
    g.params = params;
    g.body = map_stmt(cx, f->body, w);
    if (w->cannot)
        return NULL;
    out->func = one = ml_func_from(cx, &g);
    out->mod = ml_module_new(cx, &one, 1, NULL);
    return out;
}

/*
 * widen_sample - a widened program computes some of its outputs, and what these need.
 *
 * Outermost loops of a nest that makes outputs that nothing reads keep some of their
 * iterations. Where all nests share outermost loops, each of whose iterations reads what it
 * made itself (heads and rows of an attention), nests become one, of which some iterations
 * are kept; what lies between the nests is then small.
 */
#include "moonloop/codegen/measure/widen.h"

#include "moonloop/codegen/measure/widen_impl.h"

#include "moonloop/core/walk.h"

/* ---------------------------------------------------------------- loops of all nests */

typedef struct Shared {
    const ml_Widen *w;
    ml_Map *written;       /* uid of the data of what the function writes */
    const ml_Block *block; /* of the nest */
    uint32_t n;            /* loops so far */
    const ml_For *loop[ML_NESTING];
    int64_t extent[ML_NESTING];
} Shared;

static bool see_written(const ml_Stmt *s, void *user)
{
    Shared *h = user;

    if (s->kind == ML_STMT_STORE)
        ml_map_set(h->w->cx, h->written, ml_as_store(s)->buffer->data->uid, s);
    return true;
}

/* First indices are the first iterators as far as the loops are shared. */
static void see_access(Shared *h, const ml_Buffer *b, const ml_Expr *const *idx, uint32_t n)
{
    uint32_t k = 0;

    if (!ml_map_has(h->written, b->data->uid))
        return;
    while (k < h->n && k < n && idx[k]->kind == ML_EXPR_VAR &&
           idx[k]->as.var == h->block->iters[k].var)
        k++;
    h->n = k;
}

static bool see_load(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_LOAD)
        see_access(user, e->as.buffer, e->args, (uint32_t)ml_load_rank(e));
    return true;
}

static bool see_inner(const ml_Stmt *s, void *user)
{
    Shared *h = user;

    if (s->kind == ML_STMT_STORE)
        see_access(h, ml_as_store(s)->buffer, ml_as_store(s)->indices, ml_as_store(s)->n);
    else if (s->kind == ML_STMT_BLOCK &&
             (ml_as_block(s) != h->block || h->block->n_matches))
        h->n = 0;
    return h->n > 0;
}

static bool is_counted(const ml_Widen *w, const ml_For *f, int64_t *extent)
{
    return f->kind != ML_FOR_THREAD && !f->step &&
           ml_eval_size(f->extent, w->at.sizes, w->at.n_sizes, extent) && *extent > 0;
}

/* Whether it is the k-th of the loops that are shared; those of the first nest are. */
static bool is_same_loop(Shared *h, bool first, uint32_t k, const ml_For *f)
{
    int64_t extent;

    if (!ml_is_int(f->min, 0) || !is_counted(h->w, f, &extent))
        return false;
    if (first) {
        h->loop[k] = f;
        h->extent[k] = extent;
    }
    return extent == h->extent[k] && ml_dtype_eq(f->var->type, h->loop[k]->var->type);
}

static void share_with(Shared *h, const ml_Stmt *nest, bool first)
{
    const ml_Var *var[ML_NESTING];
    const ml_Stmt *s = nest;
    uint32_t n = 0;

    for (; n < h->n && s->kind == ML_STMT_FOR; s = ml_as_for(s)->body, n++) {
        if (!is_same_loop(h, first, n, ml_as_for(s)))
            break;
        var[n] = ml_as_for(s)->var;
    }
    while (s->kind == ML_STMT_FOR)
        s = ml_as_for(s)->body;
    h->n = 0;
    if (s->kind != ML_STMT_BLOCK)
        return;
    h->block = ml_as_block(s);
    while (h->n < n && h->n < h->block->n_iters) {
        const ml_Iter *it = &h->block->iters[h->n];

        if (it->kind != ML_ITER_SPATIAL || it->value->kind != ML_EXPR_VAR ||
            it->value->as.var != var[h->n])
            break;
        h->n++;
    }
    ml_stmt_visit(nest, see_inner, h);
    ml_stmt_visit_exprs_below(nest, ML_ROLES_RUN, see_load, h);
}

uint32_t ml_wide_shared_loops(const ml_Widen *w)
{
    const ml_Block *root = ml_func_root(w->func);
    Shared h = {.w = w, .written = ml_map_new(w->cx), .n = ML_NESTING};
    int64_t all = 1;

    if (!w->sample || w->sample->one_in < 2 || !root || root->body->kind != ML_STMT_SEQ)
        return 0;
    ml_stmt_visit(root->body, see_written, &h);
    for (uint32_t k = 0; k < w->func->n_params; k++) {
        const ml_Buffer *b = w->func->params[k].buffer;

        if (b && ml_map_has(h.written, b->data->uid) && !w->sample->last[k])
            return 0; /* what is left out would keep a number */
    }
    for (uint32_t k = 0; k < ml_as_seq(root->body)->n; k++)
        share_with(&h, ml_as_seq(root->body)->stmts[k], k == 0);
    for (uint32_t k = 0; k < h.n; k++) {
        if (!ml_dtype_eq(h.loop[k]->var->type, h.loop[0]->var->type) ||
            __builtin_mul_overflow(all, h.extent[k], &all) || all > INT32_MAX)
            return 0;
        if (all / 2 >= w->sample->one_in)
            return k + 1;
    }
    return 0;
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* Of the iterations of n nested loops, whose extents are evaluated: the first, the last, and
 * some between, that are in step with none of the loops. NULL: they are too few. */
static const ml_Expr *is_kept(const ml_Widen *w, const ml_For *const *loop, uint32_t n)
{
    int64_t one_in = w->sample->one_in, all = 1, extent;
    ml_Dtype type = loop[0]->var->type;
    const ml_Expr *i = NULL, *from_last;

    for (uint32_t k = 0; k < n; k++) {
        const ml_Expr *v = ml_var(w->cx, loop[k]->var);

        if (!ml_dtype_eq(loop[k]->var->type, type) || !is_counted(w, loop[k], &extent) ||
            __builtin_mul_overflow(all, extent, &all) || all > INT32_MAX)
            return NULL;
        v = ml_sub(w->cx, v, loop[k]->min);
        i = i ? ml_add(w->cx, ml_mul(w->cx, i, ml_int(w->cx, type, extent)), v) : v;
    }
    if (all / 2 < one_in)
        return NULL;
    while (gcd(all, one_in) > 1)
        one_in++;
    from_last = ml_sub(w->cx, ml_int(w->cx, type, all - 1), i);
    return ml_or(w->cx, ml_eq(w->cx, i, ml_int(w->cx, type, 0)),
                 ml_eq(w->cx, ml_floormod(w->cx, from_last, ml_int(w->cx, type, one_in)),
                       ml_int(w->cx, type, 0)));
}

const ml_Stmt *ml_wide_merged(const ml_Widen *w, const ml_Stmt *nests)
{
    const ml_Seq *seq = ml_as_seq(nests);
    const ml_Stmt **part = ML_ARRAY(w->cx, const ml_Stmt *, seq->n), *body;
    const ml_For *loop[ML_NESTING];

    for (uint32_t k = 0; k < seq->n; k++) {
        ml_Subst to_first = {0};

        part[k] = seq->stmts[k];
        for (uint32_t d = 0; d < w->shared; d++) {
            const ml_For *f = ml_as_for(part[k]);

            if (k == 0)
                loop[d] = f;
            else
                ml_subst_var(w->cx, &to_first, f->var, ml_var(w->cx, loop[d]->var));
            part[k] = f->body;
        }
        if (k > 0)
            part[k] = ml_stmt_subst(w->cx, part[k], &to_first);
    }
    body = ml_if(w->cx, is_kept(w, loop, w->shared), ml_seq(w->cx, part, seq->n), NULL);
    for (uint32_t d = w->shared; d-- > 0;) {
        ml_For f = *loop[d];

        f.body = body;
        body = ml_for_from(w->cx, &f);
    }
    return body;
}

/* ---------------------------------------------------------------- loops of one nest */

typedef struct Nest {
    const ml_Widen *w;
    const ml_Var *var;
    bool apart; /* so far: iterations of var write their own elements of last outputs */
} Nest;

static bool is_last(const ml_Widen *w, const ml_Buffer *b)
{
    for (uint32_t k = 0; k < w->func->n_params; k++)
        if (w->func->params[k].buffer == b)
            return w->sample->last[k];
    return false;
}

static bool see_store(const ml_Stmt *s, void *user)
{
    Nest *n = user;

    if (s->kind == ML_STMT_STORE)
        n->apart &= is_last(n->w, ml_as_store(s)->buffer);
    return true;
}

static bool see_place(const ml_Stmt *s, void *user)
{
    Nest *n = user;
    bool place = false;

    if (s->kind == ML_STMT_STORE) {
        for (uint32_t k = 0; k < ml_as_store(s)->n; k++)
            place |= ml_expr_uses_var(ml_as_store(s)->indices[k], n->var);
        n->apart &= place;
    }
    if (s->kind != ML_STMT_BLOCK)
        return true;
    for (uint32_t k = 0; k < ml_as_block(s)->n_iters; k++) {
        const ml_Iter *it = &ml_as_block(s)->iters[k];
        bool uses = ml_expr_uses_var(it->value, n->var);

        place |= uses && it->kind == ML_ITER_SPATIAL;
        n->apart &= !uses || it->kind == ML_ITER_SPATIAL;
    }
    n->apart &= place;
    return false;
}

/* Whether iterations of the loop write their own elements of last outputs. */
static bool is_apart(const ml_Widen *w, const ml_For *f)
{
    Nest n = {w, f->var, true};

    ml_stmt_visit(f->body, see_store, &n);
    ml_stmt_visit(f->body, see_place, &n);
    return n.apart;
}

const ml_Stmt *ml_wide_sampled(ml_Widen *w, const ml_For *old, const ml_Stmt *now)
{
    const ml_For *loop[ML_NESTING + 1];
    int64_t all = 1, extent;
    ml_For f = *ml_as_for(now);
    const ml_Expr *keep;

    if (!w->sample || w->sample->one_in < 2 || w->shared)
        return now;
    for (uint32_t k = 0; k <= w->at.n_loops; k++) {
        loop[k] = k < w->at.n_loops ? w->at.loop[k] : old;
        if (all / 2 >= w->sample->one_in || !is_counted(w, loop[k], &extent) ||
            !is_apart(w, loop[k]) || __builtin_mul_overflow(all, extent, &all))
            return now;
    }
    keep = is_kept(w, loop, w->at.n_loops + 1);
    if (keep == NULL)
        return now;
    f.body = ml_if(w->cx, keep, f.body, NULL);
    return ml_for_from(w->cx, &f);
}

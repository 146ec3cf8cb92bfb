/*
 * cache_index - compute index arithmetic that a block repeats before it, into buffers.
 *
 * Taken are pure expressions of more than one operation over the block's iters that cannot
 * fail: what a guard keeps from dividing by zero stays where it is. Regions stay those of
 * the block, because the values stay the same. Source: primitives 8, cache_index.
 */
#include "moonloop/primitives/rewrite/cache.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/copy_nest.h"
#include "moonloop/primitives/rewrite/move.h"

enum { BLOCK, SCOPE, THRESHOLD };
enum { MAX_FOUND = 256 };

typedef struct Found {
    const ml_Expr *e;     /* simplified, if of integers */
    const ml_Expr *first; /* as it first occurred */
    int64_t count;
    uint32_t order; /* post-order of the first occurrence */
    const ml_Buffer *buffer;
    const ml_Expr *load; /* what stands for it */
    ml_CopyNest copy;
    ml_Uid nest;
} Found;

typedef struct Cse {
    ml_Call *c;
    const ml_Block *block;
    ml_Arith *ar; /* knows the domains of the iters */
    ML_VEC(Found *) found;
    ML_VEC(Found *) kept;
    uint32_t order;
} Cse;

/* ---- candidates */

typedef struct Look {
    Cse *s;
    size_t ops;
    bool pure;
} Look;

/* Computed from its operands, whatever they are. */
static bool is_total(const ml_Expr *e)
{
    switch (e->kind) {
    case ML_EXPR_SELECT:
    case ML_EXPR_NOT: return true;
    case ML_EXPR_CALL:
        return e->as.op->effect <= ML_EFFECT_PURE &&
               (ml_is_op(e, ML_OP_IF_THEN_ELSE) ||
                (e->as.op->id >= ML_OP_POPCOUNT && e->as.op->id <= ML_OP_NEXTAFTER));
    default: return ml_kind_is_binary(e->kind);
    }
}

static bool is_divisor(const ml_Expr *e)
{
    return ml_is_const_int(e) && e->as.i != 0;
}

static bool find_float(const ml_Expr *e, void *user)
{
    bool *found = user;

    *found |= ml_dtype_is_float(e->type);
    return !*found;
}

static bool look_in(const ml_Expr *e, void *user)
{
    Look *l = user;

    if (e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_INT || e->kind == ML_EXPR_FLOAT)
        return true;
    if (e->type.lanes == 1 && is_total(e))
        l->ops++;
    else if (e->kind != ML_EXPR_CAST)
        l->pure = false;
    if (ml_kind_divides(e->kind) && !ml_dtype_is_float(e->type) &&
        !is_divisor(e->args[1]) &&
        !ml_prove(l->s->ar,
                  ml_ne(l->s->c->cx, e->args[1], ml_int(l->s->c->cx, e->args[1]->type, 0))))
        l->pure = false;
    return l->pure;
}

/* The expression as it is counted, or NULL: it is no candidate. */
static const ml_Expr *candidate(Cse *s, const ml_Expr *e)
{
    Look l = {.s = s, .pure = true};
    const ml_Var *other;
    bool iters = false, floats = false;
    bool widens = e->kind == ML_EXPR_CAST && !ml_dtype_is_float(e->args[0]->type);

    if (e->n_args == 0 || e->size < 4 || widens ||
        (!ml_dtype_is_index(e->type) && !ml_dtype_is_float(e->type)) ||
        (e->flags & (ML_X_HAS_LOAD | ML_X_EFFECT | ML_X_VAR_FREE)) != 0)
        return NULL;
    for (uint32_t k = 0; k < s->block->n_iters; k++)
        iters |= ml_expr_uses_var(e, s->block->iters[k].var);
    if (!iters)
        return NULL;
    ml_expr_visit(e, find_float, &floats);
    if (!floats)
        e = ml_simplify(s->ar, e);
    ml_expr_visit(e, look_in, &l);
    if (!l.pure || l.ops < 2 || ml_uses_other_var(s->c, s->block, &e, 1, &other))
        return NULL;
    return e;
}

static void count(Cse *s, const ml_Expr *e, const ml_Expr *as, int64_t times)
{
    ml_Ctx *cx = s->c->cx;
    Found *f;

    for (size_t k = 0; k < s->found.n; k++)
        if (s->found.v[k]->e == e) {
            s->found.v[k]->count += times;
            return;
        }
    if (s->found.n == MAX_FOUND)
        return;
    f = ML_NEW(cx, Found);
    *f = (Found){.e = e, .first = as, .count = times, .order = s->order++};
    ml_push(cx, &s->found, f);
}

static bool count_expr(const ml_Expr *e, void *user)
{
    const ml_Expr *key = candidate(user, e);

    if (key)
        count(user, key, e, 1);
    return !key;
}

static bool count_stmt(const ml_Stmt *st, void *user)
{
    if (st->kind == ML_STMT_STORE) {
        const ml_Store *w = ml_as_store(st);

        for (uint32_t k = 0; k < w->n; k++)
            ml_expr_visit(w->indices[k], count_expr, user);
        ml_expr_visit(w->value, count_expr, user);
    }
    return st->kind != ML_STMT_BLOCK; /* blocks inside have regions of their own */
}

/* The largest one that is not settled yet, the first found of equal ones. */
static Found *largest(Cse *s, const bool *settled)
{
    Found *best = NULL;

    for (size_t k = 0; k < s->found.n; k++) {
        Found *f = s->found.v[k];

        if (!settled[k] &&
            (!best || f->first->size > best->first->size ||
             (f->first->size == best->first->size && f->order < best->order)))
            best = f;
    }
    return best;
}

/* Those that occur often enough; the others give their counts to what they are made of. */
static void settle(Cse *s, int64_t threshold)
{
    bool settled[MAX_FOUND] = {false};
    Found *f;

    while ((f = largest(s, settled))) {
        size_t at = 0;

        while (s->found.v[at] != f)
            at++;
        settled[at] = true;
        if (f->count >= threshold) {
            ml_push(s->c->cx, &s->kept, f);
            continue;
        }
        for (uint32_t k = 0; k < f->first->n_args; k++) {
            const ml_Expr *part = candidate(s, f->first->args[k]);

            if (part)
                count(s, part, f->first->args[k], f->count);
        }
    }
}

/* ---- building */

static const ml_Stmt *make_nest(Cse *s, Found *f, size_t at, ml_Uid scope)
{
    ml_Call *c = s->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *b = s->block;
    ml_CopyNest *n = &f->copy;

    *n = (ml_CopyNest){.block = b};
    ml_iters_used(cx, b, &f->e, 1, &n->iters);
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, n->iters.n + 1);
    const ml_Expr **theirs = ML_ARRAY(cx, const ml_Expr *, n->iters.n + 1);
    const ml_Expr **mine = ML_ARRAY(cx, const ml_Expr *, n->iters.n + 1);
    ml_Region *writes = ML_NEW(cx, ml_Region);

    ml_copy_nest_find(c, n, scope);
    ml_copy_nest_open(c, n, true);
    for (size_t k = 0; k < n->iters.n; k++) {
        const ml_Iter *it = &b->iters[n->iters.v[k]];

        shape[k] = ml_simplify(s->ar, ml_add(cx, it->min, it->extent));
        theirs[k] = ml_var(cx, it->var);
        mine[k] = ml_var(cx, n->own[k].var);
    }
    f->buffer = ml_buffer_new(cx, ml_numbered(cx, "index_var_", "", at), f->e->type, shape,
                              n->iters.n, c->args[SCOPE].s);
    f->load = ml_load(cx, f->buffer, theirs, n->iters.n);
    *writes = ml_point_region(cx, f->buffer, mine);
    f->nest = ml_fresh_uid(cx);
    ml_Block nb = {.tag = f->nest,
                   .name = ml_numbered(cx, "index_", "", at),
                   .predicate = ml_bool(cx, true),
                   .n_iters = (uint32_t)n->iters.n,
                   .n_writes = 1,
                   .iters = n->own,
                   .writes = writes};

    nb.body =
        ml_store(cx, f->buffer, ml_copy_nest_expr(c, n, f->e), mine, n->iters.n, NULL);
    return ml_copy_nest_close(c, n, ml_block_from(cx, &nb));
}

static const ml_Expr *use_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Cse *s = user;
    const ml_Expr *key = candidate(s, e);

    for (size_t k = 0; key && k < s->kept.n; k++)
        if (s->kept.v[k]->e == key)
            return s->kept.v[k]->load;
    return ml_expr_map_args(cx, e, use_expr, user);
}

static const ml_Stmt *use_stmt(ml_Ctx *cx, const ml_Stmt *st, void *user)
{
    if (st->kind == ML_STMT_BLOCK)
        return st;
    if (st->kind != ML_STMT_STORE)
        return ml_stmt_map(cx, st, &(ml_Mapper){.stmt = use_stmt, .user = user});
    const ml_Store *w = ml_as_store(st);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, w->n + 1);

    for (uint32_t k = 0; k < w->n; k++)
        idx[k] = use_expr(cx, w->indices[k], user);
    return ml_stmt_at(
        cx, ml_store(cx, w->buffer, use_expr(cx, w->value, user), idx, w->n, w->mask),
        st->span);
}

static const ml_Stmt *rewritten(Cse *s)
{
    ml_Ctx *cx = s->c->cx;
    ml_Block b = *s->block;
    ml_Region *reads = ML_ARRAY(cx, ml_Region, b.n_reads + s->kept.n);

    b.body = use_stmt(cx, b.body, s);
    if (b.init)
        b.init = use_stmt(cx, b.init, s);
    if (b.n_reads)
        memcpy(reads, b.reads, b.n_reads * sizeof *reads);
    for (size_t k = 0; k < s->kept.n; k++)
        reads[b.n_reads++] =
            ml_point_region(cx, s->kept.v[k]->buffer, s->kept.v[k]->load->args);
    b.reads = reads;
    return ml_block_from(cx, &b);
}

/* ---- checks */

/* Domains must be known where the nests stand, and the values stay in them. */
static bool check_nests(Cse *s)
{
    ml_Call *c = s->c;
    ml_Ctx *cx = c->cx;

    for (size_t k = 0; k < s->kept.n; k++) {
        const ml_CopyNest *n = &s->kept.v[k]->copy;
        const ml_Iter *it = ml_call_asks(c, ML_SOUND) ? ml_copy_nest_outside(c, n) : NULL;
        const ml_Var *other = NULL;

        for (size_t m = 0; m < n->iters.n && !it; m++) {
            const ml_Iter *one = &s->block->iters[n->iters.v[m]];
            const ml_Expr *dom[2] = {one->min, one->extent};

            if (ml_uses_other_var(c, s->block, dom, 2, &other))
                it = one;
        }
        if (it)
            return ml_unproved(cx, ML_E_READS_BEYOND,
                               "iter {0} of block {1} stays in its domain on the loops "
                               "that its value uses alone",
                               ML_VARIABLE(it->var), ML_BLOCK(s->block));
    }
    return true;
}

static bool finds_indices(ml_Call *c, ml_Uid block)
{
    Cse s = {.c = c, .block = ml_as_block(c->args[BLOCK].node)};

    return ml_still_covered(c, block, block, false) ||
           ml_unproved(s.c->cx, ML_E_COVER_LOST,
                       "every index that block {0} uses is computed before",
                       ML_BLOCK(s.block));
}

static bool cache_index(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    ml_Uid uid = c->args[BLOCK].uid, top = uid;
    int64_t threshold = c->args[THRESHOLD].i;
    Cse s = {.c = c};

    if (!ml_check_scope(c, c->args[SCOPE].s) || !ml_check_not_root(c, uid))
        return false;
    if (threshold < 0)
        return ml_fail_as(cx, ML_E_BAD_ARGUMENT, "cse_thresh is {0}; it counts occurrences",
                          ML_NUMBER("threshold", (long long)threshold));
    ml_Uid scope = ml_index_scope(c->p.index, uid);

    if (!ml_check_schedulable(c, scope, uid))
        return false;
    s.block = ml_call_block(c, uid);
    s.ar = ml_arith_at(cx, c->p, uid);
    ml_arith_bind_within(s.ar, s.block);
    if (s.block->init)
        ml_stmt_visit(s.block->init, count_stmt, &s);
    ml_stmt_visit(s.block->body, count_stmt, &s);
    settle(&s, threshold);

    const ml_Stmt **nests = ML_ARRAY(cx, const ml_Stmt *, s.kept.n + 1);
    ml_Handle *made = ML_ARRAY(cx, ml_Handle, s.kept.n + 1);

    for (size_t k = 0; k < s.kept.n; k++) {
        nests[k] = make_nest(&s, s.kept.v[k], k, scope);
        made[k] = (ml_Handle){ML_H_BLOCK, s.kept.v[k]->nest};
    }
    if (!check_nests(&s))
        return false;
    while (ml_index_parent(c->p.index, top) != scope)
        top = ml_index_parent(c->p.index, top);
    size_t pos =
        ml_position_in(ml_call_block(c, scope)->body, ml_index_node(c->p.index, top));

    if (s.kept.n == 0)
        ml_call_note(c, "block %s has no index arithmetic to compute before it",
                     ml_shown(c->cx, s.block));
    else
        ml_call_replace(c, uid, rewritten(&s));
    for (size_t k = 0; k < s.kept.n; k++)
        ml_put_at(c, scope, pos + k, nests[k], scope, s.kept.v[k]->buffer);
    for (size_t k = 0; k < s.kept.n; k++)
        ml_call_subject(c, ML_COPY_OF, s.kept.v[k]->nest, NULL);
    if (s.kept.n)
        ml_call_subject(c, ML_BLOCK_OF, uid, NULL);
    ml_call_return_handles(c, made, s.kept.n, true);
    return true;
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block whose indices are computed before it"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE, "scope of the new buffers: local, ..."),
    ML_PARAM_INT("cse_thresh", 0, "how often an expression must occur"),
};

const ml_Primitive ml_prim_cache_index = {
    ML_PRIM(cache_index, "CacheIndex"),
    .group = "caching",
    .summary = "compute repeated index arithmetic beforehand",
    .help =
        "Makes a buffer index_var_<n> for each integer expression of the block's iters\n"
        "that its stores repeat, and a nest before the block that computes it.",
    ML_PARAMS(params),
    .result = ML_R_BLOCKS,
    .posts = (const ml_Post[]){{ML_STRICT, ML_COPY_OF, ml_check_concurrency, NULL},
                               {ML_STRICT, ML_BLOCK_OF, finds_indices, NULL},
                               {0}},
    .errors =
        (const ml_ErrorCode[]){ML_E_BAD_STORAGE_SCOPE, ML_E_ROOT_BLOCK, ML_E_BAD_ARGUMENT,
                               ML_E_NOT_SCHEDULABLE, ML_E_READS_BEYOND, ML_E_OK},
};

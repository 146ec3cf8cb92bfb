/*
 * threads - whether thread-bound loops make legal kernels: one extent per tag, launch
 * limits, no access from the host, cross-thread reductions, uniform barriers. Cooperative
 * and private buffers are a matter of cover (rules 14, 15 are rule 7), rule 16 of
 * execution_scope. Source: ir-and-analysis 5.3.
 */
#include "moonloop/verify/program/threads.h"

#include "moonloop/core/shown.h"

#include <inttypes.h>

int64_t ml_literal_extent(const ml_Expr *e)
{
    return ml_is_const_int(e) ? e->as.i : -1;
}

/* ---- kernels */

typedef struct Collect {
    ml_ThreadCheck *t;
    ml_Kernel *kernel; /* the walk is inside it */
} Collect;

static void collect(const ml_Stmt *s, bool in_init, void *user)
{
    Collect *c = user;
    ml_Kernel *outer = c->kernel;

    (void)in_init;
    if (!s->has_loop)
        return;
    if (s->kind == ML_STMT_FOR && ml_as_for(s)->thread.axis) {
        if (!c->kernel) {
            ml_push(c->t->cx, &c->t->kernels, ((ml_Kernel){.root = ml_as_for(s)}));
            c->kernel = &c->t->kernels.v[c->t->kernels.n - 1];
        }
        ml_push(c->t->cx, &c->kernel->loops, ml_as_for(s));
    }
    ml_stmt_children(s, collect, c);
    c->kernel = outer;
}

static bool is_below(const ml_ThreadCheck *t, const ml_For *outer, const ml_For *inner)
{
    return ml_index_is_above(t->p.index, outer->var->uid, inner->var->uid);
}

/* ---- rule 10: one thread, one extent */

/* The outer variable, and the iters that carry it inwards to the loop. */
static bool uses_outer(ml_ThreadCheck *t, const ml_For *outer, const ml_For *inner,
                       const ml_Block **where)
{
    ML_VEC(const ml_Var *) carry = {0};
    ml_StmtVec between = {0}, below = {0};

    ml_push(t->cx, &carry, outer->var);
    for (ml_Uid u = ml_index_parent(t->p.index, inner->var->uid); u && u != outer->var->uid;
         u = ml_index_parent(t->p.index, u))
        ml_push(t->cx, &between, ml_index_node(t->p.index, u));
    for (size_t k = between.n; k-- > 0;) {
        if (between.v[k]->kind != ML_STMT_BLOCK)
            continue;
        const ml_Block *b = ml_as_block(between.v[k]);

        for (size_t i = 0; i < b->n_iters; i++)
            for (size_t c = 0, n = carry.n; c < n; c++)
                if (ml_expr_uses_var(b->iters[i].value, carry.v[c]))
                    ml_push(t->cx, &carry, b->iters[i].var);
    }
    ml_all_blocks(t->cx, inner->body, &below);
    if (inner->body->kind == ML_STMT_BLOCK && below.n == 0)
        ml_push(t->cx, &below, inner->body);
    *where = below.n ? ml_as_block(below.v[0]) : NULL;
    for (size_t k = 0; k < below.n; k++)
        for (size_t c = 0; c < carry.n; c++)
            if (ml_stmt_uses_var(below.v[k], carry.v[c])) {
                *where = ml_as_block(below.v[k]);
                return true;
            }
    for (size_t c = 0; c < carry.n; c++)
        if (ml_stmt_uses_var(inner->body, carry.v[c]))
            return true;
    return false;
}

static void check_extents(ml_ThreadCheck *t, const ml_For *a, const ml_For *b)
{
    const ml_Expr *x = a->extent, *y = b->extent;

    if (!ml_dtype_eq(x->type, y->type))
        ml_promote(t->cx, &x, &y);
    if (x == y || ml_prove_equal(t->ar, x, y))
        return;
    bool differ = ml_prove(t->ar, ml_ne(t->cx, x, y));

    ml_find(&t->find, differ ? ML_SEV_ERROR : ML_SEV_UNPROVED, ML_E_THREAD_EXTENTS,
            ML_TEXT(a->thread.name), ML_TEXT(ml_expr_text(t->cx, a->extent)),
            ML_TEXT(ml_expr_text(t->cx, b->extent)), ML_LOOP(a), ML_LOOP(b));
}

static void check_nested(ml_ThreadCheck *t, const ml_For *outer, const ml_For *inner)
{
    const ml_Block *user = NULL;

    if ((!t->only || t->only == outer || t->only == inner) &&
        uses_outer(t, outer, inner, &user))
        ml_find(&t->find, ML_SEV_ERROR, ML_E_THREAD_NESTED, ML_LOOP(inner),
                ML_TEXT(inner->thread.name), user ? ML_BLOCK(user) : ML_TEXT("(no block)"),
                ML_LOOP(outer));
}

static void check_binding(ml_ThreadCheck *t, const ml_Kernel *k)
{
    for (size_t j = 0; j < k->loops.n; j++) {
        const ml_For *b = k->loops.v[j];
        bool first = true;

        if (!ml_prove_equal(t->ar, b->min, ml_int(t->cx, b->min->type, 0)))
            ml_find(&t->find,
                    ml_prove(t->ar, ml_ne(t->cx, b->min, ml_int(t->cx, b->min->type, 0)))
                        ? ML_SEV_ERROR
                        : ML_SEV_UNPROVED,
                    ML_E_LOOP_NOT_ZERO_BASED, ML_LOOP(b), ML_EXPRESSION(b->min));
        if (b->thread.axis == ML_AXIS_THREAD && !ml_is_const_int(b->extent))
            ml_find(&t->find, ML_SEV_ERROR, ML_E_LOOP_DYNAMIC, ML_LOOP(b));
        for (size_t i = 0; i < j; i++) {
            const ml_For *a = k->loops.v[i];
            bool nested, vthread = b->thread.axis == ML_AXIS_VTHREAD;

            if (!ml_thread_eq(a->thread, b->thread))
                continue;
            nested = is_below(t, a, b);
            if (nested && vthread)
                continue;
            if (first)
                check_extents(t, a, b);
            first = false;
            if (nested)
                check_nested(t, a, b);
        }
    }
}

/* ---- rule 11: launch limits */

static const struct {
    uint8_t axis, dim;
    ml_Limit limit;
} AXES[] = {
    {ML_AXIS_THREAD, ML_DIM_X, ML_LIMIT_max_thread_x},
    {ML_AXIS_THREAD, ML_DIM_Y, ML_LIMIT_max_thread_y},
    {ML_AXIS_THREAD, ML_DIM_Z, ML_LIMIT_max_thread_z},
    {ML_AXIS_BLOCK, ML_DIM_X, ML_LIMIT_max_block_x},
    {ML_AXIS_BLOCK, ML_DIM_Y, ML_LIMIT_max_block_y},
    {ML_AXIS_BLOCK, ML_DIM_Z, ML_LIMIT_max_block_z},
};

static void over_limit(ml_ThreadCheck *t, const char *what, int64_t have, int64_t limit,
                       const ml_For *at)
{
    ml_find(&t->find, ML_SEV_ERROR, ML_E_LAUNCH_LIMIT, ML_TEXT(what),
            ML_TEXT(ml_format(t->cx, "%" PRId64, have)),
            ML_TEXT(ml_format(t->cx, "%" PRId64, limit)), ML_LOOP(at));
}

static void check_launch(ml_ThreadCheck *t, const ml_Kernel *k)
{
    int64_t threads = 1, limit;
    bool all = !t->only, together = all || t->only->thread.axis == ML_AXIS_THREAD;
    const ml_For *at = k->root;

    for (size_t a = 0; a < ML_COUNT(AXES); a++) {
        bool ask = all || ml_is_thread(t->only->thread, AXES[a].axis, AXES[a].dim);
        int64_t most = -1;

        if (!ask && !(a < 3 && together))
            continue;
        for (size_t j = 0; j < k->loops.n; j++)
            if (ml_is_thread(k->loops.v[j]->thread, AXES[a].axis, AXES[a].dim) &&
                ml_literal_extent(k->loops.v[j]->extent) > most) {
                most = ml_literal_extent(k->loops.v[j]->extent);
                at = k->loops.v[j];
            }
        limit = most < 0 || !ask ? INT64_MAX : ml_target_limit(t->target, AXES[a].limit);
        if (most > limit)
            over_limit(t, at->thread.name, most, limit, at);
        if (a < 3 && most > 0 && __builtin_mul_overflow(threads, most, &threads))
            threads = INT64_MAX;
    }
    limit =
        !together ? INT64_MAX : ml_target_limit(t->target, ML_LIMIT_max_threads_per_block);
    if (threads > limit)
        over_limit(t, "the number of threads of a block", threads, limit, k->root);
    limit = !all ? 0 : ml_target_limit(t->target, ML_LIMIT_max_vthread);
    for (size_t j = 0; j < k->loops.n && all; j++)
        if (k->loops.v[j]->thread.axis == ML_AXIS_VTHREAD &&
            ml_literal_extent(k->loops.v[j]->extent) > limit)
            over_limit(t, k->loops.v[j]->thread.name,
                       ml_literal_extent(k->loops.v[j]->extent), limit, k->loops.v[j]);
}

ml_Uid ml_kernel_of(ml_Program p, ml_Uid node)
{
    ml_Uid root = 0;

    for (ml_Uid u = node; u; u = ml_index_parent(p.index, u)) {
        const ml_Stmt *s = ml_index_node(p.index, u);

        if (s->kind == ML_STMT_FOR && ml_as_for(s)->thread.axis)
            root = u;
    }
    return root;
}

bool ml_need_launchable(ml_Ctx *cx, ml_Program p, ml_Uid loop)
{
    ml_Findings found = {0};
    ml_ThreadCheck t = {.cx = cx,
                        .find = {cx, &found, ml_index_func(p.index, loop), 0},
                        .p = p,
                        .only = ml_as_for(ml_index_node(p.index, loop))};
    Collect c = {&t, NULL};
    const ml_Kernel *k;

    t.func = p.mod->funcs[t.find.func];
    collect(ml_index_node(p.index, ml_kernel_of(p, loop)), false, &c);
    ML_ASSERT(t.kernels.n == 1); /* the loop is bound */
    k = &t.kernels.v[0];
    for (size_t j = 0; j < k->loops.n; j++)
        for (size_t i = 0; i < j; i++)
            if (ml_thread_eq(k->loops.v[i]->thread, k->loops.v[j]->thread) &&
                k->loops.v[j]->thread.axis != ML_AXIS_VTHREAD &&
                is_below(&t, k->loops.v[i], k->loops.v[j]))
                check_nested(&t, k->loops.v[i], k->loops.v[j]);
    check_launch(&t, k);
    ml_findings_fail(cx, &found, 0);
    return found.n == 0;
}

/* ---- rule 12: no access from the host */

typedef struct Host {
    ml_ThreadCheck *t;
    const ml_Stmt *at; /* the innermost loop or block */
    ML_VEC(ml_Uid) said;
} Host;

static void host_access(Host *h, const ml_Buffer *b)
{
    bool param = false, said = false;

    for (size_t k = 0; k < h->t->func->n_params; k++)
        param |=
            h->t->func->params[k].buffer && h->t->func->params[k].buffer->uid == b->uid;
    for (size_t k = 0; k < h->said.n; k++)
        said |= h->said.v[k] == b->uid;
    if (!param || said)
        return;
    ml_push(h->t->cx, &h->said, b->uid);
    ml_Error *e = ml_find(&h->t->find, ML_SEV_ERROR, ML_E_HOST_ACCESS,
                          h->at && h->at->kind == ML_STMT_BLOCK ? ML_BLOCK(h->at)
                                                                : ML_TEXT("(no block)"),
                          ML_BUFFER(b));

    ml_find_note(&h->t->find, e, "did you forget to bind a loop?");
}

static bool host_expr(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_LOAD)
        host_access(user, e->as.buffer);
    return (e->flags & ML_X_HAS_LOAD) != 0;
}

static void host_walk(const ml_Stmt *s, bool in_init, void *user)
{
    Host *h = user;
    const ml_Stmt *outer = h->at;

    (void)in_init;
    if ((s->kind == ML_STMT_FOR && ml_as_for(s)->thread.axis) ||
        (s->kind == ML_STMT_ATTR && ml_as_attr(s)->thread.axis))
        return;
    if (s->kind == ML_STMT_BLOCK) {
        h->at = s;
        h->said.n = 0;
    }
    if (s->kind == ML_STMT_STORE)
        host_access(h, ml_as_store(s)->buffer);
    ml_stmt_visit_exprs(s,
                        1u << ML_ROLE_VALUE | 1u << ML_ROLE_INDEX | 1u << ML_ROLE_MASK |
                            1u << ML_ROLE_COND,
                        host_expr, h);
    ml_stmt_children(s, host_walk, h);
    h->at = outer;
}

/* ---- rule 13: reductions across threads */

static bool reads_itself(const ml_Store *s, const ml_Expr *e)
{
    if (e->kind != ML_EXPR_LOAD || e->as.buffer->uid != s->buffer->uid || e->n_args != s->n)
        return false;
    for (size_t k = 0; k < s->n; k++)
        if (e->args[k] != s->indices[k])
            return false;
    return true;
}

static bool is_reducer(const ml_Stmt *body)
{
    if (body->kind != ML_STMT_STORE)
        return false;
    const ml_Store *s = ml_as_store(body);

    switch ((ml_ExprKind)s->value->kind) {
    case ML_EXPR_ADD:
    case ML_EXPR_MUL:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_AND:
    case ML_EXPR_OR:
        return reads_itself(s, s->value->args[0]) || reads_itself(s, s->value->args[1]);
    default: return false;
    }
}

static void check_cross_thread(ml_ThreadCheck *t, const ml_Block *b)
{
    const ml_For *across = NULL;
    const char *why = NULL;
    ml_Severity severity = ML_SEV_ERROR;

    for (ml_Uid u = ml_index_parent(t->p.index, b->tag); u;
         u = ml_index_parent(t->p.index, u)) {
        const ml_Stmt *s = ml_index_node(t->p.index, u);

        if (s->kind != ML_STMT_FOR)
            break;
        for (size_t k = 0; ml_as_for(s)->thread.axis == ML_AXIS_THREAD && k < b->n_iters;
             k++)
            if (b->iters[k].kind == ML_ITER_REDUCE &&
                ml_expr_uses_var(b->iters[k].value, ml_as_for(s)->var))
                across = ml_as_for(s); /* the outermost */
    }
    if (!across)
        return;
    const ml_Stmt *s = across->body;

    while (s->kind == ML_STMT_FOR)
        s = ml_as_for(s)->body;
    if (!b->init)
        why = "it has no init";
    else if (s != &b->base)
        why = ml_format(t->cx, "it is not directly under loop %s",
                        ml_shown(t->cx, across->var));
    else if (!is_reducer(b->body)) {
        why = "its update is not one store of a known reducer";
        severity = ML_SEV_UNPROVED;
    }
    if (why)
        ml_find(&t->find, severity, ML_E_CROSS_THREAD, ML_BLOCK(b), ML_TEXT(why),
                ML_LOOP(across));
}

/* ---- rule 17: barriers */

static bool uses_threads(ml_ThreadCheck *t, const ml_Expr *cond, ml_Uid at)
{
    for (ml_Uid u = at; u; u = ml_index_parent(t->p.index, u)) {
        const ml_Stmt *s = ml_index_node(t->p.index, u);

        if (s->kind == ML_STMT_FOR && ml_as_for(s)->thread.axis == ML_AXIS_THREAD &&
            ml_expr_uses_var(cond, ml_as_for(s)->var))
            return true;
        for (size_t k = 0; s->kind == ML_STMT_BLOCK && k < ml_as_block(s)->n_iters; k++) {
            const ml_Iter *it = &ml_as_block(s)->iters[k];

            if (ml_expr_uses_var(cond, it->var) &&
                uses_threads(t, it->value, ml_index_parent(t->p.index, u)))
                return true;
        }
    }
    return false;
}

static void check_barrier(ml_ThreadCheck *t, const ml_Block *b)
{
    bool shared = false, guarded = false;
    ml_Uid below = b->tag;

    for (size_t k = 0; k < b->n_writes; k++)
        shared |= b->writes[k].buffer->scope.rank == ML_SCOPE_SHARED;
    if (!shared)
        return;
    for (ml_Uid u = ml_index_parent(t->p.index, b->tag); u && !guarded;
         u = ml_index_parent(t->p.index, u)) {
        const ml_Stmt *node = ml_index_node(t->p.index, u);
        const ml_Stmt *cond = ml_between(t->p.index, u, below);

        if (cond && cond->kind == ML_STMT_IF)
            guarded = uses_threads(t, ml_as_if(cond)->cond, u);
        if (cond && cond->kind == ML_STMT_WHILE)
            guarded = uses_threads(t, ml_as_while(cond)->cond, u);
        if (node->kind == ML_STMT_BLOCK && ml_index_parent(t->p.index, u))
            guarded |= uses_threads(t, ml_as_block(node)->predicate,
                                    ml_index_parent(t->p.index, u));
        below = u;
    }
    if (guarded)
        ml_find(&t->find, ML_SEV_UNPROVED, ML_E_BARRIER, ML_BLOCK(b));
}

/* ---- all rules */

static void check_limit_names(ml_ThreadCheck *t)
{
    for (size_t k = 0; k < ml_dict_count(t->target); k++) {
        const char *key = t->target->keys[k];

        if (strncmp(key, "max_", 4) == 0 && !ml_is_target_limit(key))
            ml_find(&t->find, ML_SEV_ERROR, ML_E_BAD_ARGUMENT,
                    ML_TEXT(ml_format(t->cx, "unknown limit %s", key)));
    }
}

void ml_verify_threads(ml_Ctx *cx, ml_Program p, const ml_Value *target, bool gpu,
                       ml_Findings *out)
{
    for (uint32_t f = 0; f < p.mod->n; f++) {
        const ml_Func *func = p.mod->funcs[f];
        ml_ThreadCheck t = {.cx = cx,
                            .find = {cx, out, f, 0},
                            .p = p,
                            .func = func,
                            .target = target,
                            .gpu = gpu,
                            .ar = ml_arith_new(cx)};
        Collect c = {&t, NULL};
        Host h = {.t = &t};
        ml_StmtVec blocks = {0};

        ml_arith_bind_params(t.ar, func);
        if (f == 0)
            check_limit_names(&t);
        collect(func->body, false, &c);
        for (size_t k = 0; k < t.kernels.n; k++) {
            check_binding(&t, &t.kernels.v[k]);
            check_launch(&t, &t.kernels.v[k]);
        }
        if (gpu)
            host_walk(func->body, false, &h);
        ml_all_blocks(cx, func->body, &blocks);
        for (size_t k = 0; k < blocks.n; k++) {
            const ml_Block *b = ml_as_block(blocks.v[k]);

            check_cross_thread(&t, b);
            ml_check_execution_scope(&t, b);
            check_barrier(&t, b);
        }
        ml_check_resources(&t);
    }
}

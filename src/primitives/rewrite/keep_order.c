/*
 * keep_order - see keep_order.h. Which updates come in any order: those that combine what
 * is at the element with values that do not depend on it, by one operator that is
 * commutative and associative, under whatever conditions, or choose the larger or smaller
 * one of both; or as a reducer of several values does.
 */
#include "moonloop/primitives/rewrite/keep_order.h"

#include "moonloop/core/walk.h"
#include "moonloop/primitives/reducer/reducer.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

/* ---- updates by one operator */

typedef struct Updates {
    const ml_Block *b;
    const ml_Buffer *buf;
    int op; /* 0: not seen yet */
    bool any, ok;
} Updates;

static bool uses_written(const Updates *u, const ml_Expr *e)
{
    const ml_Block *b = u->b;

    for (size_t k = 0; k < b->n_writes; k++) {
        if (ml_expr_uses_buffer(e, b->writes[k].buffer))
            return true;
        for (size_t m = 0; m < b->n_matches; m++)
            if (b->matches[m].source.buffer->data == b->writes[k].buffer->data &&
                ml_expr_uses_buffer(e, b->matches[m].target))
                return true;
    }
    return false;
}

static bool is_choice(const ml_Expr *e)
{
    return e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE);
}

/* A choice of two values by how they compare; 0: by something else. */
static int operator_by(const ml_Expr *cond, const ml_Expr *yes, const ml_Expr *no)
{
    bool less = cond->kind == ML_EXPR_LT || cond->kind == ML_EXPR_LE;

    if (!less && cond->kind != ML_EXPR_GT && cond->kind != ML_EXPR_GE)
        return 0;
    if (cond->args[0] == yes && cond->args[1] == no)
        return less ? ML_EXPR_MIN : ML_EXPR_MAX;
    if (cond->args[0] == no && cond->args[1] == yes)
        return less ? ML_EXPR_MAX : ML_EXPR_MIN;
    return 0;
}

/* The operator of e, as one number; 0: none that commutes. */
static int operator_of(const ml_Expr *e)
{
    if (is_choice(e))
        return operator_by(e->args[0], e->args[1], e->args[2]);
    if (ml_is_op(e, ML_OP_FMA))
        return ML_EXPR_ADD;
    switch ((int)e->kind) {
    case ML_EXPR_SUB: return ML_EXPR_ADD;
    case ML_EXPR_ADD:
    case ML_EXPR_MUL:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_AND:
    case ML_EXPR_OR: return e->kind;
    }
    if (ml_is_op(e, ML_OP_BITWISE_AND) || ml_is_op(e, ML_OP_BITWISE_OR) ||
        ml_is_op(e, ML_OP_BITWISE_XOR))
        return ML_EXPR_KINDS + 1 + (int)e->as.op->id;
    return 0;
}

static bool is_element(const ml_Expr *e, const ml_Store *st)
{
    bool same = e->kind == ML_EXPR_LOAD && e->as.buffer == st->buffer;

    for (size_t k = 0; same && k < st->n; k++)
        same = e->args[k] == st->indices[k];
    return same;
}

/* What argument k of an operator stands for may be what is combined so far. */
static bool takes_element(const ml_Expr *e, size_t k)
{
    if (e->kind == ML_EXPR_SUB)
        return k == 0;
    return is_choice(e) ? k > 0 : !ml_is_op(e, ML_OP_FMA) || k == 2;
}

/* e is the element, combined by the operator (which is set if it is none yet) with values
 * that do not depend on what the block writes. */
static bool updates(const Updates *u, const ml_Store *st, const ml_Expr *e, int *op)
{
    if (is_element(e, st))
        return true;
    if (e->kind == ML_EXPR_CAST && ml_dtype_eq(e->type, e->args[0]->type))
        return updates(u, st, e->args[0], op);
    int own = operator_of(e);

    if (!own && is_choice(e))
        return !uses_written(u, e->args[0]) && updates(u, st, e->args[1], op) &&
               updates(u, st, e->args[2], op);
    if (!own || (*op && *op != own))
        return false;
    *op = own;
    for (size_t k = 0; k < e->n_args; k++) {
        bool alone = takes_element(e, k);

        for (size_t m = is_choice(e); alone && m < e->n_args; m++)
            alone = m == k || !uses_written(u, e->args[m]);
        if (alone)
            return updates(u, st, e->args[k], op);
    }
    return false;
}

static void see_store(Updates *u, const ml_Store *st)
{
    u->any = true;
    u->ok &= st->buffer == u->buf && !st->mask;
    for (size_t k = 0; k < st->n; k++)
        u->ok &= !uses_written(u, st->indices[k]);
}

/* if v > element: element = v; it is one update. */
static bool is_chosen(Updates *u, const ml_If *s)
{
    if (s->other || s->then->kind != ML_STMT_STORE || s->cond->n_args != 2)
        return false;
    const ml_Store *st = ml_as_store(s->then);
    const ml_Expr *old = s->cond->args[is_element(s->cond->args[0], st) ? 0 : 1];
    int own = operator_by(s->cond, st->value, old);

    if (!own || (u->op && u->op != own) || !is_element(old, st) ||
        uses_written(u, st->value))
        return false;
    u->op = own;
    see_store(u, st);
    return true;
}

static bool see_update(const ml_Stmt *s, void *user)
{
    Updates *u = user;

    if (!ml_stmt_uses_buffer(s, u->buf))
        return false;
    if (s->kind == ML_STMT_STORE) {
        see_store(u, ml_as_store(s));
        u->ok = u->ok && updates(u, ml_as_store(s), ml_as_store(s)->value, &u->op);
    } else if (s->kind == ML_STMT_IF) {
        if (is_chosen(u, ml_as_if(s)))
            return false;
        u->ok &= !uses_written(u, ml_as_if(s)->cond);
    } else
        u->ok &= s->kind == ML_STMT_SEQ;
    return u->ok;
}

/* ---- updates of several values together */

static bool is_known(ml_Ctx *cx, const ml_Block *b, struct ml_Intrins *more)
{
    const ml_Stmt *const *s = &b->body;
    const ml_Expr *acc[ML_MAX_REDUCER], *combined[ML_MAX_REDUCER];
    ml_Subst lets = {0};
    ml_Combiner found;
    size_t n = 1, n_stores = 0;
    const char *why;

    if (b->body->kind == ML_STMT_SEQ) {
        s = ml_as_seq(b->body)->stmts;
        n = ml_as_seq(b->body)->n;
    }
    for (size_t k = 0; k < n; k++) {
        if (s[k]->kind == ML_STMT_BIND && n_stores == 0) {
            const ml_Bind *let = ml_as_bind(s[k]);
            const ml_Expr *v = let->value;

            ml_subst_var(cx, &lets, let->var, lets.vars ? ml_expr_subst(cx, v, &lets) : v);
            continue;
        }
        if (s[k]->kind != ML_STMT_STORE || ml_as_store(s[k])->mask ||
            n_stores == ML_MAX_REDUCER)
            return false;
        const ml_Store *st = ml_as_store(s[k]);

        combined[n_stores] = lets.vars ? ml_expr_subst(cx, st->value, &lets) : st->value;
        /* Without lets, what is stored first would be read by what comes after it. */
        for (size_t m = 0; m < n_stores && !lets.vars; m++)
            if (ml_expr_uses_buffer(st->value, acc[m]->as.buffer))
                return false;
        acc[n_stores++] = ml_load(cx, st->buffer, st->indices, st->n);
    }
    return n_stores > 0 &&
           ml_combiner_find(cx, more, n_stores, acc, combined, NULL, &found, &why) &&
           !found.first_wins;
}

static bool combines(ml_Ctx *cx, const ml_Block *b, const ml_Buffer *buf, void *user)
{
    Updates u = {.b = b, .buf = buf, .ok = true};

    ml_stmt_visit(b->body, see_update, &u);
    return (u.ok && u.any) || is_known(cx, b, user);
}

/* The reducers that are built in, and those that were registered. */
static ml_Combines list_reducers(struct ml_Intrins *more)
{
    return (ml_Combines){combines, more};
}

void ml_find_order(ml_Ctx *cx, ml_Program p, const ml_Schedule *s, ml_Findings *out)
{
    ml_verify_order(cx, p, list_reducers(s ? s->space->intrins : NULL), out);
}

/* ---- questions of primitives */

bool ml_runs_in_any_order(ml_Call *c, const ml_Block *b, ml_Runs runs)
{
    return ml_any_order(c->cx, c->facts, c->p, b, list_reducers(c->sched->space->intrins),
                        runs);
}

/* No block below the loop writes what b reads. */
static bool is_steady(ml_Call *c, const ml_Block *b, ml_Uid loop)
{
    ml_UidVec from = {0};

    ml_producers(c->cx, c->facts, c->p, b->tag, &from);
    for (size_t k = 0; k < from.n; k++)
        if (ml_index_is_above(c->p.index, loop, from.v[k]))
            return false;
    return true;
}

bool ml_check_key_order(ml_Call *c, const ml_Block *b, ml_Uid under,
                        const ml_Expr *const *key, const ml_Expr *const *extents, size_t n)
{
    ml_StmtVec loops = {0};
    ml_DomVec dom = {0};

    ml_index_loops(c->cx, c->p.index, b->tag, &loops);
    for (size_t k = 0; k < loops.n; k++) {
        const ml_For *f = ml_as_for(loops.v[k]);

        if (f->var->uid == under)
            dom.n = 0;
        else
            ml_push(c->cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    if (dom.n == 0 || ml_key_grows(dom.v, dom.n, key, n) ||
        ml_order_stays(b, dom.v, dom.n, key, n) ||
        /* Runs of one instance have one key: they stay in the order they are in. */
        ml_runs_in_any_order(c, b, ML_RUNS_ORDERED) ||
        (is_steady(c, b, dom.v[0].var->uid) && ml_runs_in_any_order(c, b, ML_RUNS_EQUAL)))
        return true;
    return ml_keeps_order(c->cx, c->p,
                          &(ml_NewOrder){.loops = dom.v,
                                         .n = dom.n,
                                         .key = key,
                                         .extents = extents,
                                         .n_key = n,
                                         .blocks = &b,
                                         .n_blocks = 1});
}

bool ml_check_iter_order(ml_Call *c, ml_Uid block, ml_Uid under)
{
    const ml_Block *b = ml_call_block(c, block);
    const ml_Expr **key = ML_ARRAY(c->cx, const ml_Expr *, b->n_iters + 1u);
    const ml_Expr **extents = ML_ARRAY(c->cx, const ml_Expr *, b->n_iters + 1u);

    for (size_t k = 0; k < b->n_iters; k++) {
        key[k] = b->iters[k].value;
        extents[k] = b->iters[k].extent;
    }
    return ml_check_key_order(c, b, under, key, extents, b->n_iters);
}

bool ml_check_order(ml_Call *c, ml_Uid block)
{
    return ml_check_iter_order(c, block, 0);
}

bool ml_check_place_order(ml_Call *c, const ml_Block *b, const ml_Buffer *buf,
                          const ml_Expr *const *at)
{
    const ml_Expr **key = ML_ARRAY(c->cx, const ml_Expr *, buf->rank + 1u);
    ml_Subst sub = {0};
    bool made = false;

    for (size_t k = 0; k < buf->rank; k++) {
        for (size_t m = 0; m < b->n_iters && !key[k]; m++)
            if (at[k]->kind == ML_EXPR_VAR && at[k]->as.var == b->iters[m].var)
                key[k] = b->iters[m].value;
        if (key[k])
            continue;
        for (size_t m = 0; m < b->n_iters && !made; m++)
            ml_subst_var(c->cx, &sub, b->iters[m].var, b->iters[m].value);
        made = true;
        key[k] = sub.vars ? ml_expr_subst(c->cx, at[k], &sub) : at[k];
    }
    return ml_check_key_order(c, b, 0, key, buf->shape, buf->rank);
}

bool ml_check_inits_first(ml_Call *c, const ml_Block *b, ml_Uid loop)
{
    ml_StmtVec loops = {0};
    bool *told = ML_ARRAY(c->cx, bool, b->n_iters + 1u);

    /* each element is begun once */
    if (!b->init || ml_elements_tell(b, true) || ml_runs_in_any_order(c, b, ML_RUNS_EQUAL))
        return true;
    ml_iters_told(c->cx, c->p, b, told);
    ml_index_loops(c->cx, c->p.index, b->tag, &loops);
    for (size_t k = loops.n; k-- > 0;) {
        const ml_For *f = ml_as_for(loops.v[k]);

        for (size_t m = 0; m < b->n_iters; m++) {
            if (told[m] || b->iters[m].kind != ML_ITER_SPATIAL || ml_is_int(f->extent, 1) ||
                !ml_expr_uses_var(b->iters[m].value, f->var))
                continue;
            return ml_unproved(c->cx, ML_E_INIT_MISPLACED,
                               "instances of block {0} with different values of iter {1} "
                               "write different elements: the init of one would come "
                               "before the updates of another that it takes back today",
                               ML_BLOCK(b), ML_VARIABLE(b->iters[m].var), ML_ITER(b, m));
        }
        if (f->var->uid == loop)
            break;
    }
    return true;
}

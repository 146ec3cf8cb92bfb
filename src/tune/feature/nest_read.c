/*
 * nest_read - a function as a nest: loops, blocks with their iters, stores with what they
 * load and compute.
 *
 * Iters are axes of their own, so that a block can move; one that does not start at 0 is
 * seen through at once, as names and views are. Source: auto-scheduler 14.
 */
#include "moonloop/tune/feature/nest.h"

#include "moonloop/core/walk.h"
#include "moonloop/verify/count/linear.h"

typedef struct Read {
    ml_Nest *n;
    ml_LinearEnv env;
    ML_VEC(uint32_t) axis_of; /* of an axis of env; ML_NO_AXIS */
    ML_VEC(uint32_t) around;  /* the loops around */
    ml_Map *buffers;          /* uid -> 1 + position */
    ml_Map *views;            /* uid -> const ml_Match * */
    ml_Map *movers;           /* uid of a name for what is not affine -> const ml_Sum * */
    const ml_Func *func;
    bool units; /* an axis of one iteration is none of those that stay at 0 */
} Read;

/* ---------------------------------------------------------------- indices */

/* The axis of an atom; ML_NO_AXIS: it is of a size, or counts lanes. */
static uint32_t axis_at(Read *r, const ml_Atom *a)
{
    if (a->size)
        return ML_NO_AXIS;
    while (r->axis_of.n < r->env.axes.n)
        ml_push(r->n->cx, &r->axis_of, ML_NO_AXIS);
    return r->axis_of.v[a->axis];
}

typedef struct Movers { /* the axes that an expression depends on */
    Read *r;
    ML_VEC(ml_Term) v;
} Movers;

static void add_mover(Movers *m, uint32_t axis)
{
    ml_Num one = ml_form_const(m->r->n->f, 1);

    for (size_t k = 0; k < m->v.n; k++)
        if (m->v.v[k].axis == axis)
            return;
    ml_push(m->r->n->cx, &m->v, ((ml_Term){axis, one, one, one}));
}

/* A name for something that is not affine depends on what that does. */
static bool look_mover(const ml_Expr *e, void *user)
{
    Movers *m = user;
    const ml_Linear *l =
        e->kind == ML_EXPR_VAR ? ml_map_get(m->r->env.vars, e->as.var->uid) : NULL;

    for (uint32_t k = 0; l && l->ok && k < l->n; k++)
        if (axis_at(m->r, &l->v[k]) != ML_NO_AXIS)
            add_mover(m, axis_at(m->r, &l->v[k]));
    if (l == NULL || l->ok)
        return true;
    const ml_Sum *s = ml_map_get(m->r->movers, e->as.var->uid);

    for (uint32_t k = 0; s && k < s->n; k++)
        add_mover(m, s->v[k].axis);
    for (uint32_t k = 0; !s && k < m->r->around.n; k++)
        add_mover(m, m->r->around.v[k]);
    return true;
}

/* e NULL: nobody knows what it is. */
static ml_Sum not_affine(Read *r, const ml_Expr *e)
{
    Movers m = {.r = r};

    if (e)
        ml_expr_visit(e, look_mover, &m);
    for (uint32_t k = 0; !e && k < r->around.n; k++)
        add_mover(&m, r->around.v[k]);
    return (ml_Sum){.base = ml_form_const(r->n->f, 0), .n = (uint32_t)m.v.n, .v = m.v.v};
}

static ml_Sum sum_of(Read *r, const ml_Linear *l, const ml_Expr *e)
{
    ml_Forms *f = r->n->f;
    ml_Sum s = {.ok = l->ok};
    ml_Term *v;

    if (!l->ok)
        return not_affine(r, e);
    v = ML_ARRAY(r->n->cx, ml_Term, l->n + 1);
    for (uint32_t k = 0; k < l->n; k++) {
        const ml_Atom *a = &l->v[k];

        if (a->size) /* stays as it is */
            continue;
        if (a->ext == ML_OPEN || axis_at(r, a) == ML_NO_AXIS)
            return not_affine(r, e);
        uint32_t axis = axis_at(r, a);
        bool unit = r->env.axes.v[a->axis].trips == 2 &&
                    ml_form_is(f, r->n->axes.v[axis].extent, 1);

        v[s.n++] = (ml_Term){axis, ml_form_const(f, (double)a->lo),
                             ml_form_const(f, unit ? 1 : (double)a->ext),
                             ml_form_const(f, (double)a->coef)};
    }
    s.base = ml_form_const(f, (double)l->base);
    s.v = v;
    return s;
}

static void bind(Read *r, const ml_Var *v, const ml_Linear *l)
{
    ml_Linear *own = ML_NEW(r->n->cx, ml_Linear);

    *own = *l;
    ml_map_set(r->n->cx, r->env.vars, v->uid, own);
}

/* A name for e, which is l. */
static void bind_value(Read *r, const ml_Var *v, const ml_Linear *l, const ml_Expr *e)
{
    if (!l->ok) {
        ml_Sum *s = ML_NEW(r->n->cx, ml_Sum);

        *s = not_affine(r, e);
        ml_map_set(r->n->cx, r->movers, v->uid, s);
    }
    bind(r, v, l);
}

/* A new axis of both; its counter. */
static ml_Linear new_axis(Read *r, uint32_t depth, int64_t trips, const ml_NestAxis *axis)
{
    while (r->axis_of.n < r->env.axes.n)
        ml_push(r->n->cx, &r->axis_of, ML_NO_AXIS);
    ml_push(r->n->cx, &r->axis_of, (uint32_t)r->n->axes.n);
    if (r->units && trips == 1)
        trips = 2; /* else it would not be there; its extent is 1 all the same */
    ml_push(r->n->cx, &r->env.axes, ((ml_Axis){.depth = depth, .trips = trips}));
    ml_push(r->n->cx, &r->n->axes, *axis);
    return ml_linear_axis(&r->env, (uint32_t)r->env.axes.n - 1);
}

static uint32_t buffer_of(Read *r, const ml_Buffer *b)
{
    uintptr_t at = (uintptr_t)ml_map_get(r->buffers, b->uid);
    ml_NestBuffer nb = {b->uid, b->name, b->type, false, b->rank, NULL};

    if (at)
        return (uint32_t)at - 1;
    nb.shape = ML_ARRAY(r->n->cx, ml_Num, b->rank + 1u);
    for (uint32_t d = 0; d < b->rank; d++) {
        bool known = ml_is_const_int(b->shape[d]);

        nb.shape[d] = ml_form_const(r->n->f, known ? (double)b->shape[d]->as.i : 1);
        r->n->open |= !known;
    }
    for (uint32_t k = 0; k < r->func->n_params; k++)
        nb.param |= r->func->params[k].buffer && r->func->params[k].buffer->uid == b->uid;
    ml_push(r->n->cx, &r->n->buffers, nb);
    ml_map_set(r->n->cx, r->buffers, b->uid, (const void *)(uintptr_t)r->n->buffers.n);
    return (uint32_t)r->n->buffers.n - 1;
}

static ml_NestAccess access_of(Read *r, const ml_Buffer *b, const ml_Expr *const *index,
                               size_t n)
{
    const ml_Match *m = ml_map_get(r->views, b->uid);
    ml_Sum *dims;

    if (m) { /* what a view is of, somewhere */
        r->n->opaque = true;
        return access_of(r, m->source.buffer, NULL, 0);
    }
    ml_NestAccess a = {.buffer = buffer_of(r, b), .n = b->rank};

    a.dims = dims = ML_ARRAY(r->n->cx, ml_Sum, b->rank + 1u);
    for (size_t d = 0; d < b->rank && d < n; d++) {
        ml_Linear l = ml_linear(&r->env, index[d]);

        dims[d] = sum_of(r, &l, index[d]);
    }
    for (size_t d = n; d < b->rank; d++)
        dims[d] = not_affine(r, NULL);
    return a;
}

/* ---------------------------------------------------------------- what is computed */

typedef struct Value {
    Read *r;
    ml_NestStore *s;
    ML_VEC(ml_NestAccess) loads;
} Value;

enum {
    ADDSUB = 1,
    TIMES,
    DIVMOD,
    COMPARE,
    MATH,
    OTHER_CALL,
    INTEGER = 7,
    LOGIC = 14,
    CHOOSE,
    UNSEEN = -2
};

static bool look_value(const ml_Expr *e, void *user)
{
    Value *v = user;
    ml_Dtype t = ml_kind_compares(e->kind) ? e->args[0]->type : e->type;
    int of = ml_dtype_is_float(t) ? 0 : INTEGER, at = -1;

    if (e->kind == ML_EXPR_LOAD) {
        if (v->s->top == UNSEEN)
            v->s->top = -1;
        ml_push(v->r->n->cx, &v->loads,
                access_of(v->r, e->as.buffer, e->args, ml_load_rank(e)));
        return false;
    }
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_ADD:
        v->s->fma += (e->args[0]->kind == ML_EXPR_MUL || e->args[1]->kind == ML_EXPR_MUL) &&
                     ml_dtype_is_float(t);
        at = of + ADDSUB;
        break;
    case ML_EXPR_SUB: at = of + ADDSUB; break;
    case ML_EXPR_MUL: at = of + TIMES; break;
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD: at = of + DIVMOD; break;
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE: at = of + COMPARE; break;
    case ML_EXPR_AND:
    case ML_EXPR_OR:
    case ML_EXPR_NOT: at = LOGIC; break;
    case ML_EXPR_SELECT: at = CHOOSE; break;
    case ML_EXPR_CALL:
        at = of + (e->as.op->effect <= ML_EFFECT_PURE ? MATH : OTHER_CALL);
        v->r->n->opaque |= e->as.op->effect > ML_EFFECT_READ;
        break;
    case ML_EXPR_INT:
    case ML_EXPR_FLOAT:
    case ML_EXPR_STRING:
    case ML_EXPR_VAR:
    case ML_EXPR_CAST:
    case ML_EXPR_LOAD:
    case ML_EXPR_RAMP:
    case ML_EXPR_BROADCAST:
    case ML_EXPR_SHUFFLE:
    case ML_EXPR_LET:
    case ML_EXPR_KINDS: break;
    }
    if (v->s->top == UNSEEN)
        v->s->top = at;
    if (at >= 0)
        v->s->operations[at] += (float)e->type.lanes;
    return true;
}

static bool is_literal(const ml_Expr *e)
{
    while (e->kind == ML_EXPR_BROADCAST || e->kind == ML_EXPR_CAST)
        e = e->args[0];
    return e->kind == ML_EXPR_INT || e->kind == ML_EXPR_FLOAT;
}

static ml_NestStore *store_of(Read *r, const ml_Store *st)
{
    ml_NestStore *s = ML_NEW(r->n->cx, ml_NestStore);
    Value v = {.r = r, .s = s};

    s->to = access_of(r, st->buffer, st->indices, st->n);
    s->literal = is_literal(st->value);
    s->top = UNSEEN;
    ml_expr_visit(st->value, look_value, &v);
    s->n_loads = (uint32_t)v.loads.n;
    s->loads = v.loads.v;
    return s;
}

/* ---------------------------------------------------------------- statements */

static void walk(Read *r, ml_NestNode *up, uint32_t depth, const ml_Stmt *s);

uint8_t ml_nest_thread(ml_Thread t)
{
    if (t.axis == ML_AXIS_VTHREAD)
        return 7;
    if ((t.axis == ML_AXIS_BLOCK || t.axis == ML_AXIS_THREAD) && t.dim <= ML_DIM_Z)
        return (uint8_t)(1 + (t.axis == ML_AXIS_THREAD ? 3 : 0) + t.dim);
    return 0;
}

static void walk_for(Read *r, ml_NestNode *up, uint32_t depth, const ml_For *f)
{
    ml_Forms *fs = r->n->f;
    bool known = ml_is_const_int(f->extent) && f->step == NULL;
    int64_t trips = known ? f->extent->as.i : 1;
    const ml_Value *pragma =
        f->annotations ? ml_dict_get(f->annotations, "pragma_auto_unroll_max_step") : NULL;
    ml_NestAxis axis = {.uid = f->var->uid,
                        .kind = f->kind,
                        .thread = ml_nest_thread(f->thread),
                        .annotated = ml_dict_count(f->annotations) > 0,
                        .extent = ml_form_const(fs, (double)trips)};
    ml_Linear min = ml_linear(&r->env, f->min), counter;

    r->n->open |= !known;
    axis.unroll =
        ml_form_const(fs, pragma && pragma->kind == ML_VAL_INT ? (double)pragma->as.i : 0);
    counter = new_axis(r, depth, known ? trips : ML_OPEN, &axis);
    counter = ml_linear_add(&r->env, &min, &counter, 1);
    bind(r, f->var, &counter);
    if (f->thread_var)
        bind(r, f->thread_var, &counter);

    ml_NestNode *node = ml_nest_node(r->n, up);

    node->kind = ML_NEST_LOOP;
    node->axis = (uint32_t)r->n->axes.n - 1;
    ml_push(r->n->cx, &r->around, node->axis);
    walk(r, node, depth + 1, f->body);
    r->around.n--;
}

static void take_iter(Read *r, ml_NestBlock *b, uint32_t depth, const ml_Iter *it)
{
    ml_Linear value = ml_linear(&r->env, it->value);
    bool known = ml_is_const_int(it->extent) && ml_is_int(it->min, 0) && value.ok;
    ml_NestAxis axis = {.uid = it->var->uid, .iter = true, .kind = it->kind};

    axis.value = sum_of(r, &value, it->value);
    if (!known || !axis.value.ok) {
        b->plain = false;
        if (ml_is_const_int(it->extent))
            b->beside = (b->beside > 0 ? b->beside : 1) * (double)it->extent->as.i;
        bind_value(r, it->var, &value, it->value);
        return;
    }
    axis.extent = ml_form_const(r->n->f, (double)it->extent->as.i);
    axis.unroll = ml_form_const(r->n->f, 0);
    b->iters[b->n_iters++] = (uint32_t)r->n->axes.n;
    value = new_axis(r, depth, it->extent->as.i, &axis);
    bind(r, it->var, &value);
}

static void walk_block(Read *r, ml_NestNode *up, uint32_t depth, const ml_Block *b)
{
    ml_NestNode *node = ml_nest_node(r->n, up);
    ml_NestBlock *nb = ML_NEW(r->n->cx, ml_NestBlock);

    *nb = (ml_NestBlock){.uid = b->tag,
                         .name = b->name,
                         .iters = ML_ARRAY(r->n->cx, uint32_t, b->n_iters + 1),
                         .plain = b->n_allocs == 0 && b->n_matches == 0,
                         .guarded = !ml_is_true(b->predicate),
                         .annotations = b->annotations};
    node->kind = ML_NEST_BLOCK;
    node->block = nb;
    for (uint32_t k = 0; k < b->n_iters; k++)
        take_iter(r, nb, depth, &b->iters[k]);
    for (uint32_t k = 0; k < b->n_matches; k++)
        ml_map_set(r->n->cx, r->views, b->matches[k].target->uid, &b->matches[k]);
    if (b->init)
        walk(r, node, depth, b->init);
    if (node->kids.n == 1) /* one store, or the block is not plain */
        nb->init = node->kids.v[0]->store;
    walk(r, node, depth, b->body);
    for (size_t k = 0; k < node->kids.n; k++)
        nb->plain &= node->kids.v[k]->kind == ML_NEST_STORE;
}

static void walk(Read *r, ml_NestNode *up, uint32_t depth, const ml_Stmt *s)
{
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_FOR: walk_for(r, up, depth, ml_as_for(s)); break;
    case ML_STMT_BLOCK: walk_block(r, up, depth, ml_as_block(s)); break;
    case ML_STMT_STORE: {
        ml_NestNode *node = ml_nest_node(r->n, up);

        node->kind = ML_NEST_STORE;
        node->store = store_of(r, ml_as_store(s));
        break;
    }
    case ML_STMT_SEQ:
        for (uint32_t k = 0; k < ml_as_seq(s)->n; k++)
            walk(r, up, depth, ml_as_seq(s)->stmts[k]);
        break;
    case ML_STMT_IF:
        r->n->opaque = true;
        walk(r, up, depth, ml_as_if(s)->then);
        if (ml_as_if(s)->other)
            walk(r, up, depth, ml_as_if(s)->other);
        break;
    case ML_STMT_WHILE:
        r->n->opaque = true;
        walk(r, up, depth, ml_as_while(s)->body);
        break;
    case ML_STMT_ATTR: walk(r, up, depth, ml_as_attr(s)->body); break;
    case ML_STMT_BIND: {
        ml_Linear l = ml_linear(&r->env, ml_as_bind(s)->value);

        bind_value(r, ml_as_bind(s)->var, &l, ml_as_bind(s)->value);
        break;
    }
    case ML_STMT_EVALUATE: r->n->opaque |= !ml_is_noop(s); break;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL:
    case ML_STMT_ASSERT:
    case ML_STMT_RETURN:
    case ML_STMT_BREAK:
    case ML_STMT_CONTINUE:
    case ML_STMT_KINDS: break;
    }
}

void ml_nest_read(ml_Nest *n, ml_Ctx *cx, ml_Forms *f, const ml_Func *func, bool steps)
{
    Read r = {.n = n, .func = func, .units = steps};

    *n = (ml_Nest){.cx = cx, .f = f};
    r.env.cx = cx;
    r.env.vars = ml_map_new(cx);
    r.buffers = ml_map_new(cx);
    r.views = ml_map_new(cx);
    r.movers = ml_map_new(cx);
    n->root = ml_nest_node(n, NULL);
    walk(&r, n->root, 0, func->body);
}

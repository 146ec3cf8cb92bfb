/*
 * rules - what schedule rules written in Lua ask of a block: its iterators, what it reads
 * and writes with which strides, and what kind of body it has. Nothing here depends on
 * measurements. Source: auto-scheduler 5.
 */
#include "repl/bind/work/tuning.h"

#include "moonloop/core/index/index.h"
#include "moonloop/core/walk.h"

typedef struct Body {
    lua_State *L;
    ml_Ctx *cx;
    const ml_Block *b;
    const ml_Func *f;
    int list; /* stack index of the table of reads */
    int n;
    int64_t ops;
    bool guard, calls;
} Body;

/* An iterator in an index: its stride in elements. by, unless 0: it is in a part that is not
 * affine, which changes in steps of so many iterations (1: any); period, unless 0: for each
 * remainder by so many, all is affine in the quotient. */
typedef struct Use {
    bool used;
    int64_t stride, by, period;
} Use;

static int64_t common(int64_t a, int64_t b)
{
    return b == 0 ? a : common(b, a % b);
}

/* Adds coefficient * e to the strides of u[0..n_iters); what is not affine in the iterators
 * sets *irregular, and `by` of those in it. */
static void linear(const ml_Block *b, const ml_Expr *e, int64_t coefficient, Use *u,
                   bool *irregular)
{
    if (e->kind == ML_EXPR_VAR) {
        for (uint32_t k = 0; k < b->n_iters; k++)
            if (b->iters[k].var == e->as.var) {
                u[k].used = true;
                if (__builtin_add_overflow(u[k].stride, coefficient, &u[k].stride))
                    *irregular = true;
            }
        return;
    }
    if (e->flags & ML_X_VAR_FREE)
        return;
    if (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) {
        linear(b, e->args[0], coefficient, u, irregular);
        linear(b, e->args[1], e->kind == ML_EXPR_ADD ? coefficient : -coefficient, u,
               irregular);
        return;
    }
    if (e->kind == ML_EXPR_MUL && ml_is_const_int(e->args[1]) &&
        !__builtin_mul_overflow(coefficient, e->args[1]->as.i, &coefficient)) {
        linear(b, e->args[0], coefficient, u, irregular);
        return;
    }
    if (e->kind == ML_EXPR_CAST) {
        linear(b, e->args[0], coefficient, u, irregular);
        return;
    }
    bool divides = (e->kind == ML_EXPR_FLOORDIV || e->kind == ML_EXPR_FLOORMOD) &&
                   ml_is_const_int(e->args[1]) && e->args[1]->as.i > 0;
    int64_t d = divides ? e->args[1]->as.i : 1;

    *irregular = true;
    for (uint32_t k = 0; k < b->n_iters; k++)
        if (ml_expr_uses_var(e, b->iters[k].var)) {
            bool steps = e->kind == ML_EXPR_FLOORDIV && e->args[0]->kind == ML_EXPR_VAR;

            u[k].used = true;
            u[k].by = common(steps ? d : 1, u[k].by);
            u[k].period = u[k].period == 0 || u[k].period == d ? d : 1;
        }
}

static bool is_param(const ml_Func *f, const ml_Buffer *b)
{
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer == b)
            return true;
    return false;
}

static void push_or_false(lua_State *L, bool is, int64_t n)
{
    if (is)
        lua_pushinteger(L, (lua_Integer)n);
    else
        lua_pushboolean(L, false);
}

/* {buffer=, dtype=, elements=, shape=, param=, irregular=, strides={elements by iterator; false:
 * not used}, by={steps by iterator; false: affine}, period={by iterator; false: affine}} */
static void push_access(Body *c, const ml_Buffer *buffer, const ml_Expr *const *idx,
                        size_t n)
{
    lua_State *L = c->L;
    Use *u = ML_ARRAY(c->cx, Use, c->b->n_iters + 1u);
    int64_t stride = 1;
    bool irregular = false;

    for (size_t d = n; d-- > 0;) {
        linear(c->b, idx[d], stride, u, &irregular);
        if (!ml_is_const_int(buffer->shape[d]) || buffer->n_strides ||
            __builtin_mul_overflow(stride, buffer->shape[d]->as.i, &stride))
            irregular = true;
    }
    lua_createtable(L, 0, 8);
    bind_set_string(L, "buffer", buffer->name);
    bind_set_int(L, "id", buffer->uid);
    bind_push_dtype(L, buffer->type);
    lua_setfield(L, -2, "dtype");
    bind_set_int(L, "elements", ml_buffer_const_size(buffer));
    bind_set_bool(L, "param", is_param(c->f, buffer));
    bind_set_bool(L, "irregular", irregular);
    lua_createtable(L, (int)n, 0);
    for (size_t d = 0; d < n; d++) {
        push_or_false(L, ml_is_const_int(buffer->shape[d]), buffer->shape[d]->as.i);
        lua_rawseti(L, -2, (lua_Integer)d + 1);
    }
    lua_setfield(L, -2, "shape");
    for (int k = 0; k < 3; k++)
        lua_createtable(L, (int)c->b->n_iters, 0);
    for (uint32_t k = 0; k < c->b->n_iters; k++) {
        push_or_false(L, u[k].used, u[k].stride);
        lua_rawseti(L, -4, (lua_Integer)k + 1);
        push_or_false(L, u[k].by != 0, u[k].by);
        lua_rawseti(L, -3, (lua_Integer)k + 1);
        push_or_false(L, u[k].by != 0, u[k].period);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -4, "period");
    lua_setfield(L, -3, "by");
    lua_setfield(L, -2, "strides");
}

static bool writes(const ml_Block *b, const ml_Buffer *buffer)
{
    for (uint32_t k = 0; k < b->n_writes; k++)
        if (b->writes[k].buffer == buffer)
            return true;
    return false;
}

static bool visit_expr(const ml_Expr *e, void *user)
{
    Body *c = user;

    if (ml_kind_computes(e->kind))
        c->ops++;
    if (e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE))
        c->guard = true;
    else if (e->kind == ML_EXPR_CALL)
        c->calls = true;
    if (e->kind != ML_EXPR_LOAD)
        return true;
    if (!writes(c->b, e->as.buffer)) { /* what it accumulates into is not listed */
        push_access(c, e->as.buffer, e->args, ml_load_rank(e));
        lua_rawseti(c->L, c->list, ++c->n);
    }
    return false; /* arithmetic of indices is none of the body's */
}

/* loop: the handle of the loop that an iterator alone is bound to. */
static void push_iters(lua_State *L, const ml_Block *b)
{
    lua_createtable(L, (int)b->n_iters, 0);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        lua_createtable(L, 0, 5);
        bind_set_string(L, "name", it->var->hint);
        bind_set_string(L, "kind", ml_iter_kind_name((ml_IterKind)it->kind));
        if (ml_is_const_int(it->extent)) {
            bind_set_int(L, "extent", it->extent->as.i);
        }
        bind_set_bool(L, "plain", it->value->kind == ML_EXPR_VAR);
        if (it->value->kind == ML_EXPR_VAR) {
            bind_push_handle(L, 1, (ml_Handle){ML_H_LOOP, it->value->as.var->uid});
            lua_setfield(L, -2, "loop");
        }
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
}

/* The first store of a body of one; or, of a tuple, of values that are bound before. */
static const ml_Store *first_store(Body *c, const ml_Stmt *s, bool tuple, int64_t *stores)
{
    const ml_Store *first = NULL;

    if (s->kind == ML_STMT_STORE && ml_as_store(s)->mask == NULL) {
        ++*stores;
        ml_expr_visit(ml_as_store(s)->value, visit_expr, c);
        return ml_as_store(s);
    }
    if (!tuple || s->kind != ML_STMT_SEQ)
        return NULL;
    for (uint32_t k = 0; k < ml_as_seq(s)->n; k++) {
        const ml_Stmt *one = ml_as_seq(s)->stmts[k];
        const ml_Store *st;

        if (one->kind == ML_STMT_BIND && !first) {
            ml_expr_visit(ml_as_bind(one)->value, visit_expr, c);
            continue;
        }
        st = one->kind == ML_STMT_STORE ? first_store(c, one, false, stores) : NULL;
        if (st == NULL)
            return NULL;
        first = first ? first : st;
    }
    return first;
}

/* block_body(s, block, tuple): {iters=, reads=, write=, stores=, init=, ops=, guard=, calls=,
 * copy=}, or nil when its body is not one store; tuple: nor a tuple, of which `write` is the
 * first, a parameter where any of them is. */
static int block_body(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    bool tuple = lua_toboolean(L, 3);
    int64_t stores = 0;
    ml_Handle h;

    lua_settop(L, 2);
    if (!ml_lua_to_handle(L, 2, &from, &h) || !bind_same_family(from, s) ||
        h.kind != ML_H_BLOCK || !ml_handle_alive(s, h))
        return bind_bad(L, "block_body: a block of the schedule is needed");
    const ml_Block *b = ml_as_block(ml_index_node(ml_schedule_program(s).index, h.uid));
    ml_Ctx *cx = bind_scratch(L); /* 3 */
    Body c = {.L = L, .cx = cx, .b = b, .f = ml_schedule_func(s)};
    const ml_Store *st;

    lua_createtable(L, 0, 9); /* 4 */
    lua_newtable(L);          /* 5 */
    c.list = lua_gettop(L);
    st = first_store(&c, b->body, tuple, &stores);
    if (st == NULL || b->n_allocs || b->n_matches) {
        lua_pushnil(L);
        return 1;
    }
    lua_setfield(L, 4, "reads");
    push_iters(L, b);
    lua_setfield(L, 4, "iters");
    push_access(&c, st->buffer, st->indices, st->n);
    for (uint32_t k = 0; k < b->n_writes; k++)
        if (is_param(c.f, b->writes[k].buffer))
            bind_set_bool(L, "param", true);
    lua_setfield(L, 4, "write");
    bind_set_int(L, "stores", stores);
    bind_set_bool(L, "init", b->init != NULL);
    bind_set_int(L, "ops", c.ops);
    bind_set_bool(L, "guard", c.guard);
    bind_set_bool(L, "calls", c.calls);
    bind_set_bool(L, "copy", st->value->kind == ML_EXPR_LOAD);
    return 1;
}

/* target_limits(kind [, arch]): what the table of targets says of it: name, backend (whether
 * there is one), gpu, arch, and each limit by its name; -1: there is none */
static int target_limits(lua_State *L)
{
    const char *kind = bind_string(L, 1, "target: kind"),
               *arch = lua_isnoneornil(L, 2) ? NULL : bind_string(L, 2, "target: arch");

    lua_settop(L, 2);
    ml_Ctx *cx = bind_scratch(L); /* 3 */
    const ml_Value *t = ml_dict_with(cx, NULL, "kind", ml_val_string(cx, ml_str(kind)));

    if (arch)
        t = ml_dict_with(cx, t, "arch", ml_val_string(cx, ml_str(arch)));
    const ml_TargetKind *row = ml_target_row(t);

    if (!row) {
        ml_Text names = {0};

        for (size_t k = 0; k < ml_n_target_kinds; k++)
            ml_text_fmt(&names, "%s%s", k ? ", " : "", ml_target_kinds[k].name);
        const char *all = ml_strdup(cx, ml_str(ml_text_z(&names)));

        ml_text_free(&names);
        return ml_lua_fail(L, ML_E_NO_TARGET, "no target is named %s: %s are", kind, all);
    }
    lua_newtable(L);
    bind_set_string(L, "name", row->name);
    bind_set_bool(L, "backend", row->backend != NULL);
    bind_set_bool(L, "gpu", row->pipeline == ML_PIPE_GPU);
    if (ml_target_sm(row))
        bind_set_string(L, "arch", ml_format(cx, "sm_%d", ml_target_sm(row)));
    for (int k = 0; k < ML_LIMITS; k++)
        bind_set_int(L, ml_limit_name((ml_Limit)k), ml_target_limit(t, (ml_Limit)k));
    bind_scratch_done(L, 3);
    return 1;
}

int bind_rule_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"block_body", block_body}, {"target_limits", target_limits}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

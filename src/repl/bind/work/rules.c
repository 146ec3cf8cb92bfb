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
    const ml_Buffer *own; /* written: its own loads are not listed */
    int64_t ops;
    bool guard, calls;
} Body;

/* Adds coefficient * e to v[0..n_iters); what is not affine in the iterators sets `used`
 * alone and *irregular. */
static void linear(const ml_Block *b, const ml_Expr *e, int64_t coefficient, int64_t *v,
                   bool *used, bool *irregular)
{
    if (e->kind == ML_EXPR_VAR) {
        for (uint32_t k = 0; k < b->n_iters; k++)
            if (b->iters[k].var == e->as.var) {
                used[k] = true;
                if (__builtin_add_overflow(v[k], coefficient, &v[k]))
                    *irregular = true;
            }
        return;
    }
    if (e->flags & ML_X_VAR_FREE)
        return;
    if (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) {
        linear(b, e->args[0], coefficient, v, used, irregular);
        linear(b, e->args[1], e->kind == ML_EXPR_ADD ? coefficient : -coefficient, v, used,
               irregular);
        return;
    }
    if (e->kind == ML_EXPR_MUL && ml_is_const_int(e->args[1]) &&
        !__builtin_mul_overflow(coefficient, e->args[1]->as.i, &coefficient)) {
        linear(b, e->args[0], coefficient, v, used, irregular);
        return;
    }
    if (e->kind == ML_EXPR_CAST) {
        linear(b, e->args[0], coefficient, v, used, irregular);
        return;
    }
    *irregular = true;
    for (uint32_t k = 0; k < b->n_iters; k++)
        if (ml_expr_uses_var(e, b->iters[k].var))
            used[k] = true;
}

static bool is_param(const ml_Func *f, const ml_Buffer *b)
{
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer == b)
            return true;
    return false;
}

/* {buffer=, dtype=, elements=, param=, irregular=, strides={elements by iterator; false:
 * not used}} */
static void push_access(Body *c, const ml_Buffer *buffer, const ml_Expr *const *idx,
                        size_t n)
{
    lua_State *L = c->L;
    int64_t *v = ML_ARRAY(c->cx, int64_t, c->b->n_iters + 1u), stride = 1;
    bool *used = ML_ARRAY(c->cx, bool, c->b->n_iters + 1u), irregular = false;

    for (size_t d = n; d-- > 0;) {
        linear(c->b, idx[d], stride, v, used, &irregular);
        if (!ml_is_const_int(buffer->shape[d]) || buffer->n_strides ||
            __builtin_mul_overflow(stride, buffer->shape[d]->as.i, &stride))
            irregular = true;
    }
    lua_createtable(L, 0, 6);
    bind_set_string(L, "buffer", buffer->name);
    bind_set_int(L, "id", buffer->uid);
    bind_push_dtype(L, buffer->type);
    lua_setfield(L, -2, "dtype");
    bind_set_int(L, "elements", ml_buffer_const_size(buffer));
    bind_set_bool(L, "param", is_param(c->f, buffer));
    bind_set_bool(L, "irregular", irregular);
    lua_createtable(L, (int)c->b->n_iters, 0);
    for (uint32_t k = 0; k < c->b->n_iters; k++) {
        if (used[k])
            lua_pushinteger(L, (lua_Integer)v[k]);
        else
            lua_pushboolean(L, false);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "strides");
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
    if (e->as.buffer != c->own) {
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

/* block_body(s, block): {iters=, reads=, write=, init=, ops=, guard=, calls=, copy=}, or
 * nil when its body is not one store. */
static int block_body(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    ml_Handle h;

    lua_settop(L, 2);
    if (!ml_lua_to_handle(L, 2, &from, &h) || !bind_same_family(from, s) ||
        h.kind != ML_H_BLOCK || !ml_handle_alive(s, h))
        return bind_bad(L, "block_body: a block of the schedule is needed");
    const ml_Block *b = ml_as_block(ml_index_node(ml_schedule_program(s).index, h.uid));

    if (b->body->kind != ML_STMT_STORE || b->n_allocs || b->n_matches) {
        lua_pushnil(L);
        return 1;
    }
    const ml_Store *st = ml_as_store(b->body);
    ml_Ctx *cx = bind_scratch(L); /* 3 */
    Body c = {.L = L, .cx = cx, .b = b, .f = ml_schedule_func(s), .own = st->buffer};

    lua_createtable(L, 0, 8); /* 4 */
    push_iters(L, b);
    lua_setfield(L, 4, "iters");
    push_access(&c, st->buffer, st->indices, st->n);
    lua_setfield(L, 4, "write");
    lua_newtable(L); /* 5 */
    c.list = lua_gettop(L);
    ml_expr_visit(st->value, visit_expr, &c);
    lua_setfield(L, 4, "reads");
    bind_set_bool(L, "init", b->init != NULL);
    bind_set_int(L, "ops", c.ops);
    bind_set_bool(L, "guard", c.guard);
    bind_set_bool(L, "calls", c.calls);
    bind_set_bool(L, "copy", st->value->kind == ML_EXPR_LOAD);
    return 1;
}

int bind_rule_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"block_body", block_body}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

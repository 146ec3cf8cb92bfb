/*
 * func - functions and their buffers as Lua objects; copies with identities of their own.
 * Source: lua-api 2.
 */
#include "repl/bind/ir/ir.h"

#include "moonloop/core/walk.h"

/* ---- a copy that fits beside other functions */

typedef struct Fresh {
    ml_Ctx *cx;
    ml_Subst s;
    ml_Map *seen;
} Fresh;

static void fresh_var(Fresh *r, const ml_Var *v)
{
    if (ml_map_has(r->seen, v->uid))
        return;
    ml_map_set(r->cx, r->seen, v->uid, v);
    ml_subst_var(r->cx, &r->s, v, ml_var(r->cx, ml_var_fresh(r->cx, v)));
}

static bool fresh_sizes(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_VAR)
        fresh_var(user, e->as.var);
    return true;
}

static const ml_Expr *const *substituted(Fresh *r, const ml_Expr *const *e, size_t n)
{
    const ml_Expr **out = ML_ARRAY(r->cx, const ml_Expr *, n + 1);

    for (size_t k = 0; k < n; k++)
        out[k] = ml_expr_subst(r->cx, e[k], &r->s);
    return out;
}

static const ml_Var *replacement(const Fresh *r, const ml_Var *v)
{
    const ml_Expr *e = ml_map_get(r->s.vars, v->uid);

    return e->as.var;
}

/* A copy of f in cx in which every identity is fresh: one module may hold it beside others.
 */
const ml_Func *bind_import_fresh(ml_Ctx *cx, const ml_Func *f)
{
    ml_Func g = *ml_import_func(ml_import_begin_apart(cx), f);
    Fresh r = {.cx = cx, .seen = ml_map_new(cx)};
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, (size_t)g.n_params + 1);

    for (uint32_t k = 0; k < g.n_params; k++) {
        const ml_Buffer *b = g.params[k].buffer;

        fresh_var(&r, g.params[k].var);
        for (uint16_t d = 0; b && d < b->rank; d++)
            ml_expr_visit(b->shape[d], fresh_sizes, &r);
        for (uint16_t d = 0; b && d < b->n_strides; d++)
            ml_expr_visit(b->strides[d], fresh_sizes, &r);
        if (b)
            ml_expr_visit(b->elem_offset, fresh_sizes, &r);
    }
    for (uint32_t k = 0; k < g.n_params; k++) {
        const ml_Buffer *b = g.params[k].buffer;

        params[k].var = replacement(&r, g.params[k].var);
        if (!b)
            continue;
        ml_Buffer nb = *b;

        nb.shape = substituted(&r, b->shape, b->rank);
        nb.strides = substituted(&r, b->strides, b->n_strides);
        nb.elem_offset = ml_expr_subst(cx, b->elem_offset, &r.s);
        params[k].buffer = ml_buffer_from(cx, &nb, true);
        ml_subst_buffer(cx, &r.s, b, params[k].buffer);
    }
    g.params = params;
    g.body = ml_stmt_subst(cx, ml_stmt_copy_fresh(cx, g.body, NULL), &r.s);
    return ml_func_from(cx, &g);
}

/* ---- functions */

BindFunc *bind_open_func(lua_State *L)
{
    return bind_new_in(L, &bind_func_class, sizeof(BindFunc), NULL);
}

static int func_with_attr(lua_State *L)
{
    BindFunc *o = bind_check(L, 1, &bind_func_class);
    const char *key = bind_string(L, 2, "key");
    BindFunc *to = bind_open_func(L);
    ml_Ctx *cx = to->sp->cx;
    ml_Func f = *ml_import_func(ml_import_begin(cx), o->f);

    if (lua_isnoneornil(L, 3))
        f.attrs = ml_dict_without(cx, f.attrs, key);
    else
        f.attrs = ml_dict_with(cx, f.attrs, key, bind_read_value(L, 3, cx));
    to->f = ml_func_from(cx, &f);
    ml_ctx_seal(cx);
    return 1;
}

static bool func_get(lua_State *L, const char *key)
{
    BindFunc *o = bind_check(L, 1, &bind_func_class);

    if (!o->f)
        return false;
    if (ml_streq(key, "name"))
        lua_pushstring(L, o->f->name);
    else if (ml_streq(key, "params")) {
        lua_createtable(L, (int)o->f->n_params, 0);
        for (uint32_t k = 0; k < o->f->n_params; k++) {
            const ml_FuncParam *p = &o->f->params[k];

            if (p->buffer)
                bind_push_buffer(L, o->sp, p->buffer);
            else
                lua_pushstring(L, p->var->hint);
            lua_rawseti(L, -2, (lua_Integer)k + 1);
        }
    } else if (ml_streq(key, "buffers")) {
        lua_Integer n = 0;

        lua_newtable(L);
        for (uint32_t k = 0; k < o->f->n_params; k++)
            if (o->f->params[k].buffer) {
                bind_push_buffer(L, o->sp, o->f->params[k].buffer);
                lua_pushvalue(L, -1);
                lua_rawseti(L, -3, ++n);
                lua_setfield(L, -2, o->f->params[k].buffer->name);
            }
    } else if (ml_streq(key, "attrs")) {
        if (o->f->attrs)
            bind_push_value(L, o->sp, o->f->attrs);
        else
            lua_newtable(L);
    } else
        return false;
    return true;
}

static void print_func(lua_State *L, ml_Text *t)
{
    const ml_Func *f = ((BindFunc *)lua_touserdata(L, 1))->f;

    ml_text_fmt(t, f ? "function %s(" : "function", f ? f->name : "");
    for (uint32_t k = 0; f && k < f->n_params; k++) {
        const ml_FuncParam *p = &f->params[k];

        ml_text_fmt(t, "%s%s", k ? ", " : "", p->buffer ? p->buffer->name : p->var->hint);
    }
    ml_text_add(t, f ? ")" : "");
}

static bool func_program(lua_State *L, int idx, BindProgram *out)
{
    BindFunc *o = lua_touserdata(L, idx);

    if (o->f)
        *out = (BindProgram){.cx = o->sp->cx, .f = o->f};
    return o->f != NULL;
}

static const luaL_Reg func_meta[] = {{"__eq", bind_program_eq}, {NULL, NULL}};
static const luaL_Reg func_methods[] = {{"script", bind_program_script},
                                        {"hash", bind_program_hash},
                                        {"with_attr", func_with_attr},
                                        {NULL, NULL}};
static const char *const func_fields[] = {"name", "params", "buffers", "attrs", NULL};
const BindClass bind_func_class = {
    .name = "moonloop.function",
    .meta = func_meta,
    .methods = func_methods,
    .fields = func_fields,
    .get = func_get,
    .in_space = true,
    .print = print_func,
    .program = func_program,
};

/* ---- buffers */

static void push_extents(lua_State *L, BindSpace *sp, const ml_Expr *const *e, size_t n)
{
    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        if (ml_is_const_int(e[k]))
            lua_pushinteger(L, e[k]->as.i);
        else
            bind_push_expr(L, sp, e[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
}

static bool buffer_get(lua_State *L, const char *key)
{
    BindBuffer *o = bind_check(L, 1, &bind_buffer_class);
    const ml_Buffer *b = o->b;

    if (ml_streq(key, "name"))
        lua_pushstring(L, b->name);
    else if (ml_streq(key, "shape"))
        push_extents(L, o->sp, b->shape, b->rank);
    else if (ml_streq(key, "strides"))
        push_extents(L, o->sp, b->strides, b->n_strides);
    else if (ml_streq(key, "dtype"))
        bind_push_dtype(L, b->type);
    else if (ml_streq(key, "scope"))
        lua_pushstring(L, b->scope.name);
    else
        return false;
    return true;
}

static void print_buffer(lua_State *L, ml_Text *t)
{
    const ml_Buffer *b = ((BindBuffer *)lua_touserdata(L, 1))->b;
    ml_Ctx *cx = bind_scratch(L);

    ml_text_fmt(t, "%s: ", b->name);
    ml_dtype_print(t, b->type);
    ml_text_char(t, '[');
    for (uint16_t k = 0; k < b->rank; k++) {
        if (k)
            ml_text_add(t, ", ");
        ml_print_expr(cx, t, b->shape[k], NULL);
    }
    ml_text_char(t, ']');
    if (!ml_is_scope(b->scope, ML_SCOPE_GLOBAL))
        ml_text_fmt(t, " %s", b->scope.name);
}

static int buffer_eq(lua_State *L)
{
    BindBuffer *a = bind_test(L, 1, &bind_buffer_class),
               *b = bind_test(L, 2, &bind_buffer_class);

    lua_pushboolean(L, a && b && a->b == b->b);
    return 1;
}

static bool buffer_arg(const BindAsk *ask, ml_Arg *out)
{
    const BindBuffer *o = lua_touserdata(ask->L, ask->idx);

    *out = (ml_Arg){.kind = ML_A_BUFFER, .as.buffer = o->b->uid};
    return true;
}

static const luaL_Reg buffer_meta[] = {{"__eq", buffer_eq}, {NULL, NULL}};
static const char *const buffer_fields[] = {"name",  "shape",   "dtype",
                                            "scope", "strides", NULL};
const BindClass bind_buffer_class = {
    .name = "moonloop.buffer",
    .meta = buffer_meta,
    .fields = buffer_fields,
    .get = buffer_get,
    .in_space = true,
    .print = print_buffer,
    .arg = buffer_arg,
};

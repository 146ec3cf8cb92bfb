/*
 * box - userdata that own what is outside Lua: spaces, scratch contexts, texts; and
 * classes.
 *
 * A box on the stack is emptied at the end of a call that succeeds; after an error the
 * collector empties it, so that nothing leaks whatever raises.
 */
#include "repl/bind/base/base.h"

/* ---- spaces */

BindSpace *bind_space_new(lua_State *L, ML_TAKES ml_Ctx *cx)
{
    BindSpace *sp = ML_NEW(cx, BindSpace);

    (void)L;
    sp->cx = cx;
    return sp;
}

void bind_space_ref(BindSpace *sp)
{
    sp->refs++;
}

void bind_space_unref(BindSpace *sp)
{
    if (!sp || --sp->refs > 0)
        return;
    if (!sp->st || sp->st->builder != sp)
        ml_ctx_unref(sp->cx);
}

/* One that nothing refers to any more is given back here and nowhere else, so that a C
 * function may hold the builder while the collector runs. */
BindSpace *bind_builder(lua_State *L)
{
    enum { WORTH_GIVING_BACK = 64 * 1024 };
    BindState *st = bind_state(L);

    if (st->builder && st->builder->refs == 0 &&
        ml_ctx_bytes(st->builder->cx) > WORTH_GIVING_BACK) {
        ml_ctx_unref(st->builder->cx);
        st->builder = NULL;
    }
    if (!st->builder) {
        st->builder = bind_space_new(L, bind_new_ctx(L));
        st->builder->st = st;
        bind_pressure(L, 4096);
    }
    return st->builder;
}

/* ---- boxes */

void *bind_box(lua_State *L, size_t size, const char *name, lua_CFunction gc)
{
    void *p = lua_newuserdatauv(L, size, 1);

    memset(p, 0, size);
    if (luaL_newmetatable(L, name)) {
        lua_pushcfunction(L, gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return p;
}

static int context_gc(lua_State *L)
{
    ml_Ctx **cx = lua_touserdata(L, 1);

    ml_ctx_unref(*cx);
    *cx = NULL;
    return 0;
}

static int failure_gc(lua_State *L)
{
    ml_Failure **f = lua_touserdata(L, 1);

    ml_failure_free(*f);
    *f = NULL;
    return 0;
}

/* ---- scratch */

typedef struct Scratch {
    ml_Ctx *cx;
    BindState *st;
    ml_Mark start;
} Scratch;

static void empty(Scratch *s)
{
    ml_Ctx *cx = s->cx;

    if (!cx)
        return;
    s->cx = NULL;
    ml_error_clear(cx);
    ml_ctx_clear_marks(cx);
    if (s->st->spare || ml_ctx_frozen(cx)) {
        ml_ctx_unref(cx);
        return;
    }
    ml_release(cx, s->start);
    s->st->spare = cx;
}

static int scratch_gc(lua_State *L)
{
    empty(lua_touserdata(L, 1));
    return 0;
}

ml_Ctx **bind_context_box(lua_State *L)
{
    return bind_box(L, sizeof(ml_Ctx *), "moonloop.context", context_gc);
}

ml_Ctx **bind_fork(lua_State *L, ml_Ctx *cx)
{
    ml_Ctx **box = bind_context_box(L);

    *box = ml_ctx_fork(cx);
    ml_ctx_set_cancel(*box, bind_state(L)->interrupt);
    return box;
}

ml_Ctx *bind_scratch(lua_State *L)
{
    BindState *st = bind_state(L);
    Scratch *s = bind_box(L, sizeof(*s), "moonloop.scratch", scratch_gc);

    s->st = st;
    s->cx = st->spare ? st->spare : ml_ctx_new(0);
    st->spare = NULL;
    ml_ctx_set_cancel(s->cx, st->interrupt);
    ml_ctx_set_watch(s->cx, st->watch, st->watch_user);
    ml_ctx_set_limit(s->cx, st->limit);
    s->start = ml_mark(s->cx);
    return s->cx;
}

ml_Failure **bind_failure_box(lua_State *L)
{
    return bind_box(L, sizeof(ml_Failure *), "moonloop.failure", failure_gc);
}

void bind_scratch_done(lua_State *L, int idx)
{
    empty(lua_touserdata(L, idx));
}

void bind_anchor(lua_State *L, int idx)
{
    idx = lua_absindex(L, idx);
    luaL_checkstack(L, 3, NULL);
    if (lua_getiuservalue(L, idx, 1) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setiuservalue(L, idx, 1);
    }
    lua_insert(L, -2);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
}

/* ---- texts */

static int text_gc(lua_State *L)
{
    ml_text_free(lua_touserdata(L, 1));
    return 0;
}

ml_Text *bind_text(lua_State *L)
{
    return bind_box(L, sizeof(ml_Text), "moonloop.text", text_gc);
}

void bind_push_text(lua_State *L, ml_Text *t)
{
    lua_pushlstring(L, ml_text_z(t), t->n);
    ml_text_free(t);
    *t = (ml_Text){0};
}

int bind_give_text(lua_State *L, ml_Text *t)
{
    bind_push_text(L, t);
    return 1;
}

/* ---- classes */

void bind_functions(lua_State *L, const luaL_Reg *fns)
{
    luaL_setfuncs(L, fns, 0);
}

static bool is_field(const BindClass *c, const char *name)
{
    for (size_t k = 0; c->fields && c->fields[k]; k++)
        if (ml_streq(c->fields[k], name))
            return true;
    return false;
}

/* __index: methods, then fields; nil for a field that this object lacks. Upvalues: the table
 * of methods, the class. */
static int index_object(lua_State *L)
{
    const BindClass *c = lua_touserdata(L, lua_upvalueindex(2));

    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
        if (c->method_of)
            c->method_of(L, 1);
        return 1;
    }
    lua_settop(L, 2);
    bool named = lua_type(L, 2) == LUA_TSTRING;

    if (c->get && (named || c->any_key) && c->get(L, named ? lua_tostring(L, 2) : NULL))
        return 1;
    lua_settop(L, 2);
    if (named && !is_field(c, lua_tostring(L, 2)))
        bind_no_member(L, c);
    if (!named && !c->any_key)
        bind_no_element(L, c);
    lua_pushnil(L);
    return 1;
}

static int print_object(lua_State *L)
{
    const BindClass *c = lua_touserdata(L, lua_upvalueindex(1));

    lua_settop(L, 1);
    bind_check(L, 1, c);
    ml_Text *t = bind_text(L);

    c->print(L, t);
    return bind_give_text(L, t);
}

static int next_entry(lua_State *L)
{
    lua_settop(L, 2);
    if (!lua_istable(L, 1)) /* a script has taken the function out of `pairs` */
        bind_bad(L, "a table is needed, got %s", bind_type(L, 1));
    if (lua_next(L, 1))
        return 2;
    lua_pushnil(L);
    return 1;
}

/* __pairs: fields with their values, then methods; for completion. */
static int pairs_object(lua_State *L)
{
    const BindClass *c = lua_touserdata(L, lua_upvalueindex(2));

    lua_settop(L, 1);
    lua_pushnil(L);
    lua_newtable(L); /* 3 */
    for (lua_pushnil(L); lua_next(L, lua_upvalueindex(1));) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, 3);
    }
    for (size_t k = 0; c->fields && c->fields[k]; k++) {
        lua_pushstring(L, c->fields[k]);
        lua_replace(L, 2);
        if (c->get(L, c->fields[k]))
            lua_setfield(L, 3, c->fields[k]);
        lua_settop(L, 3);
    }
    lua_pushcfunction(L, next_entry);
    lua_pushvalue(L, 3);
    lua_pushnil(L);
    return 3;
}

static int space_gc(lua_State *L)
{
    BindSpace **sp = lua_touserdata(L, 1);

    bind_space_unref(*sp);
    *sp = NULL;
    return 0;
}

/* upvalue: the class */
static int close_object(lua_State *L)
{
    const BindClass *c = lua_touserdata(L, lua_upvalueindex(1));

    c->close(bind_check(L, 1, c));
    return 0;
}

/* In the table on top of the stack. */
static void set_close(lua_State *L, const BindClass *c, const char *name)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)c);
    lua_pushcclosure(L, close_object, 1);
    lua_setfield(L, -2, name);
}

void bind_class(lua_State *L, const BindClass *c)
{
    luaL_newmetatable(L, c->name);
    lua_newtable(L);
    if (c->methods)
        luaL_setfuncs(L, c->methods, 0);
    if (c->close)
        set_close(L, c, "close");
    if (c->add_methods)
        c->add_methods(L);
    lua_pushlightuserdata(L, (void *)(uintptr_t)c);
    lua_setfield(L, -3, "class");
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "methods"); /* this and the next: for completion */
    lua_newtable(L);
    for (size_t k = 0; c->fields && c->fields[k]; k++)
        bind_set_bool(L, c->fields[k], true);
    lua_setfield(L, -3, "fields");
    lua_pushvalue(L, -1);
    lua_pushlightuserdata(L, (void *)(uintptr_t)c);
    lua_pushcclosure(L, index_object, 2);
    lua_setfield(L, -3, "__index");
    lua_pushlightuserdata(L, (void *)(uintptr_t)c);
    lua_pushcclosure(L, bind_no_field_set, 1);
    lua_setfield(L, -3, "__newindex");
    if (c->methods || c->get) {
        lua_pushvalue(L, -1);
        lua_pushlightuserdata(L, (void *)(uintptr_t)c);
        lua_pushcclosure(L, pairs_object, 2);
        lua_setfield(L, -3, "__pairs");
    }
    lua_pop(L, 1);
    if (c->meta)
        luaL_setfuncs(L, c->meta, 0);
    if (c->close) {
        set_close(L, c, "__gc");
        set_close(L, c, "__close");
    }
    if (c->in_space) {
        lua_pushcfunction(L, space_gc);
        lua_setfield(L, -2, "__gc");
    }
    if (c->print) {
        lua_pushlightuserdata(L, (void *)(uintptr_t)c);
        lua_pushcclosure(L, print_object, 1);
        lua_setfield(L, -2, "__tostring");
    }
    lua_pushboolean(L, 0); /* getmetatable(object) gives false: no script calls __gc */
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void *bind_new(lua_State *L, const BindClass *c, size_t size, int n_uservalues)
{
    void *p = lua_newuserdatauv(L, size, n_uservalues);

    memset(p, 0, size);
    luaL_setmetatable(L, c->name);
    return p;
}

void *bind_new_in(lua_State *L, const BindClass *c, size_t size, BindSpace *sp)
{
    void *o = bind_new(L, c, size, 1);

    if (!sp) {
        bind_pressure(L, (size_t)32 * 1024);
        sp = bind_space_new(L, bind_new_ctx(L));
    }
    bind_space_ref(sp);
    *(BindSpace **)o = sp;
    return o;
}

void *bind_test(lua_State *L, int idx, const BindClass *c)
{
    return luaL_testudata(L, idx, c->name);
}

const BindClass *bind_class_of(lua_State *L, int idx)
{
    const BindClass *c = NULL;

    if (lua_type(L, idx) != LUA_TUSERDATA || !luaL_getmetafield(L, idx, "class"))
        return NULL;
    if (lua_islightuserdata(L, -1)) /* a library's could have a field of that name */
        c = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return c;
}

/* sch.mod(): the name of the method that runs without its object; or NULL. */
static const char *called_with_dot(lua_State *L, int idx, const BindClass *c)
{
    lua_Debug ar;

    if (idx != 1 || !lua_isnone(L, 1) || !lua_getstack(L, 0, &ar) ||
        !lua_getinfo(L, "nf", &ar) || !ml_streq(ar.namewhat, "field"))
        return NULL;
    if (luaL_getmetatable(L, c->name) != LUA_TTABLE ||
        lua_getfield(L, -1, "methods") != LUA_TTABLE)
        return NULL;
    lua_getfield(L, -1, ar.name);
    return lua_rawequal(L, -1, -4) ? ar.name : NULL;
}

void *bind_check(lua_State *L, int idx, const BindClass *c)
{
    void *p = luaL_testudata(L, idx, c->name);
    const char *dot = strchr(c->name, '.');
    const char *method = p ? NULL : called_with_dot(L, lua_absindex(L, idx), c);

    if (method)
        bind_bad(L, "%s is a method, which a colon calls: x:%s()", method, method);
    if (!p)
        bind_bad(L, "%s is needed, got %s", dot ? dot + 1 : c->name, bind_type(L, idx));
    return p;
}

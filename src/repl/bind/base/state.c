/*
 * state - one Lua state's share of moonloop: what it owns, interruption, what --safe allows.
 */
#include "moonloop/primitives/intrin.h"
#include "repl/bind/base/base.h"

static const char state_key;

/* ---- the state */

static int state_gc(lua_State *L)
{
    BindState *st = lua_touserdata(L, 1);

    ml_engine_free(st->engine);
    st->engine = NULL;
    ml_intrins_unref(st->intrins);
    st->intrins = NULL;
    ml_ctx_unref(st->spare);
    st->spare = NULL;
    if (st->builder && st->builder->refs == 0)
        ml_ctx_unref(st->builder->cx);
    else if (st->builder)
        st->builder->st = NULL;
    st->builder = NULL;
    return 0;
}

BindState *bind_state(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
    BindState *st = lua_touserdata(L, -1);

    lua_pop(L, 1);
    return st;
}

ml_Engine *ml_lua_engine(lua_State *L)
{
    BindState *st = bind_state(L);

    if (!st->engine)
        st->engine = ml_engine_new();
    return st->engine;
}

ml_Intrins *bind_intrins(lua_State *L)
{
    BindState *st = bind_state(L);

    if (!st->intrins)
        st->intrins = ml_intrins_new();
    return st->intrins;
}

void bind_new_state(lua_State *L)
{
    BindState *st = lua_newuserdatauv(L, sizeof(*st), 0);

    *st = (BindState){.seed = 1};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, state_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
}

ml_Ctx *bind_new_ctx(lua_State *L)
{
    ml_Ctx *cx = ml_ctx_new(bind_state(L)->limit);

    ml_ctx_set_cancel(cx, bind_state(L)->interrupt);
    ml_ctx_set_watch(cx, bind_state(L)->watch, bind_state(L)->watch_user);
    return cx;
}

void bind_pressure(lua_State *L, size_t bytes)
{
    size_t kib = bytes / 1024;

    lua_gc(L, LUA_GCSTEP, kib > 1 << 20 ? 1 << 20 : (int)kib + 1);
}

/* ---- interruption */

static void poll_interrupt(lua_State *L, lua_Debug *ar)
{
    BindState *st = bind_state(L);

    (void)ar;
    if (st && st->watch)
        st->watch(st->watch_user, 0);
    if (!st || !st->interrupt || !*st->interrupt)
        return;
    if (*st->interrupt == ML_INTERRUPT_HARD) /* a coroutine, too: here at every turn */
        lua_sethook(L, poll_interrupt,
                    LUA_MASKCOUNT | LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE, 1);
    else
        *st->interrupt = 0;
    ml_lua_fail(L, ML_E_INTERRUPTED, "interrupted");
}

void bind_watch_interrupt(lua_State *L)
{
    enum { INSTRUCTIONS = 1000 };
    bool on = bind_state(L)->interrupt != NULL;

    lua_sethook(L, on ? poll_interrupt : NULL, on ? LUA_MASKCOUNT : 0, INSTRUCTIONS);
}

void ml_lua_set_interrupt(lua_State *L, volatile sig_atomic_t *flag)
{
    bind_state(L)->interrupt = flag;
    bind_watch_interrupt(L);
}

void ml_lua_set_watch(lua_State *L, ml_WatchFn *fn, void *user)
{
    bind_state(L)->watch = fn;
    bind_state(L)->watch_user = user;
}

void ml_lua_set_seed(lua_State *L, int64_t seed)
{
    bind_state(L)->seed = seed;
}

void ml_lua_set_verify(lua_State *L, bool on)
{
    bind_state(L)->verify = on;
}

void ml_lua_set_limit(lua_State *L, size_t bytes)
{
    bind_state(L)->limit = bytes;
}

/* ---- --safe */

void bind_may_read(lua_State *L, const char *path)
{
    BindState *st = bind_state(L);

    if (!st->safe)
        return;
    ml_Ctx *cx = bind_scratch(L);

    if (!ml_reach_allows(st->reach, cx, path))
        bind_raise(L, cx);
    bind_scratch_done(L, -1);
    lua_pop(L, 1);
}

void bind_not_safe(lua_State *L, const char *what)
{
    if (bind_state(L)->safe)
        ml_lua_fail(L, ML_E_NOT_SUPPORTED, "%s under --safe", what);
}

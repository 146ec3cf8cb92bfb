/*
 * host_topic - what moon.help knows, for :help, :apropos and completion. Source:
 * interaction 4.
 */
#include "repl/bind/bind.h"
#include "repl/host/host_impl.h"

void ml_host_push_moon(lua_State *L)
{
    luaopen_moonloop(L);
}

/* The field as text; nothing when there is none. A list is joined. */
static void take(lua_State *L, const char *field, ml_Text *out)
{
    int type = lua_getfield(L, -1, field);

    for (lua_Unsigned k = 1; type == LUA_TTABLE && k <= lua_rawlen(L, -1); k++) {
        lua_rawgeti(L, -1, (lua_Integer)k);
        ml_text_fmt(out, "%s%s", out->n ? ", " : "", luaL_tolstring(L, -1, NULL));
        lua_pop(L, 2);
    }
    if (type == LUA_TSTRING)
        ml_text_add(out, lua_tostring(L, -1));
    lua_pop(L, 1);
}

/* out, name: whether it is known. */
static int l_topic(lua_State *L)
{
    ml_HostTopic *out = lua_touserdata(L, 1);

    ml_host_push_moon(L);
    lua_getfield(L, -1, "help");
    lua_pushvalue(L, 2);
    lua_call(L, 1, 1);
    bool known = lua_istable(L, -1);

    if (known) {
        take(L, "name", &out->name);
        take(L, "signature", &out->signature);
        take(L, "summary", &out->summary);
        take(L, "text", &out->text);
        take(L, "example", &out->example);
        take(L, "lines", &out->lines);
        take(L, "others", &out->others);
    }
    lua_pushboolean(L, known);
    return 1;
}

bool ml_host_topic(ml_Host *h, const char *name, ml_HostTopic *out)
{
    lua_State *L = h->L;
    int top = lua_gettop(L);

    *out = (ml_HostTopic){0};
    lua_pushcfunction(L, l_topic);
    lua_pushlightuserdata(L, out);
    lua_pushstring(L, name);
    bool ok = ml_host_call(h, 2, 1) == LUA_OK && lua_toboolean(L, -1);

    if (!ok)
        ml_host_topic_free(out);
    lua_settop(L, top);
    return ok;
}

void ml_host_topic_free(ml_HostTopic *t)
{
    ml_text_free(&t->name);
    ml_text_free(&t->signature);
    ml_text_free(&t->summary);
    ml_text_free(&t->text);
    ml_text_free(&t->example);
    ml_text_free(&t->lines);
    ml_text_free(&t->others);
}

/* each(fn of name and summary) over the names, in order */
static const char walk[] = "local moon, fn = ...\n"
                           "for _, name in ipairs(moon.help()) do\n"
                           "    local t = moon.help(name)\n"
                           "    fn(name, t.summary or '', t.text or '')\n"
                           "end\n";

typedef struct TopicWalk {
    ml_HostTopicFn *fn;
    void *user;
} TopicWalk;

static int l_tell(lua_State *L)
{
    TopicWalk *w = lua_touserdata(L, lua_upvalueindex(1));

    w->fn(lua_tostring(L, 1), lua_tostring(L, 2), lua_tostring(L, 3), w->user);
    return 0;
}

void ml_host_topics(ml_Host *h, ml_HostTopicFn *fn, void *user)
{
    lua_State *L = h->L;
    int top = lua_gettop(L);
    TopicWalk w = {fn, user};

    if (luaL_loadbuffer(L, walk, sizeof walk - 1, "=topics") == LUA_OK) {
        ml_host_push_moon(L);
        lua_pushlightuserdata(L, &w);
        lua_pushcclosure(L, l_tell, 1);
        ml_host_call(h, 2, 0); /* out of memory: no more names */
    }
    lua_settop(L, top);
}

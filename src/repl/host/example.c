/*
 * host_example - pieces of Lua run for others: an example of the help, its output taken; a
 * test of the focus. Source: interaction 4, 6.
 */
#include "repl/host/host_impl.h"

#include "repl/bind/bind.h"
#include "repl/command/house.h"
#include "repl/session/frame.h"

static const char setup[] = "local s = moon.schedule(moon.workload.matmul(8, 8, 8))\n";

bool ml_host_example(ml_Host *h, const char *code, ml_Text *out)
{
    ml_Text chunk = {0};
    lua_State *L = h->L;
    int top = lua_gettop(L);
    ml_RunOpts run = {.sink.out = out, .mode = ML_MODE_SCRIPT}; /* its schedules do not
                                                                    become the focus */
    ml_RunFrame f;

    ml_text_add(&chunk, setup);
    ml_text_add(&chunk, code);
    ml_frame_push(h->ss, &f, &run);
    bool ok = luaL_loadbuffer(L, ml_text_z(&chunk), chunk.n, "=example") == LUA_OK &&
              ml_host_call(h, 0, 0) == LUA_OK;

    ml_frame_pop(h->ss, &f);
    if (!ok) {
        ml_text_add(out, luaL_tolstring(L, -1, NULL));
        ml_text_char(out, '\n');
    }
    lua_settop(L, top);
    ml_text_free(&chunk);
    return ok;
}

bool ml_host_test(ml_Host *h, const char *code, ml_Text *why)
{
    ml_Text chunk = {0};
    lua_State *L = h->L;
    int top = lua_gettop(L);
    bool ok;

    ml_text_add(&chunk, "return ");
    ml_text_add(&chunk, code);
    ok = luaL_loadbuffer(L, ml_text_z(&chunk), chunk.n, "=test") == LUA_OK ||
         luaL_loadbuffer(L, code, strlen(code), "=test") == LUA_OK;
    if (ok) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, h->env);
        lua_setupvalue(L, -2, 1);
        ok = ml_host_call(h, 0, 1) == LUA_OK;
    }
    if (ok && lua_isfunction(L, -1)) {
        ml_lua_push_schedule(L, ml_schedule_ref(h->ss->focus));
        ok = ml_host_call(h, 1, 1) == LUA_OK;
    }
    ml_text_clear(why);
    if (!ok) {
        const char *z = luaL_tolstring(L, -1, NULL), *end = strchr(z, '\n');

        ml_text_fmt(why, "%.*s", end ? (int)(end - z) : (int)strlen(z), z);
    }
    ok = ok && lua_toboolean(L, -1);
    lua_settop(L, top);
    ml_text_free(&chunk);
    return ok;
}

/* moon.explain(code) -> why, text of the examples or why there is none. */
static const char explain[] =
    "local moon, code, text_of = ...\n"
    "local e = moon.explain(code)\n"
    "local out = {}\n"
    "local function indented(text)\n"
    "    return '    ' .. text:gsub('\\n+$', ''):gsub('\\n', '\\n    ') .. '\\n'\n"
    "end\n"
    "local function show(title, which)\n"
    "    out[#out + 1] = title .. '\\n'\n"
    "    local what, session = e.run(which)\n"
    "    if session then out[#out + 1] = indented(session) return end\n"
    "    if type(what) == 'table' then what = what.text end\n"
    "    out[#out + 1] = indented(e[which]) .. '  gives\\n'\n"
    "    out[#out + 1] = indented(what and text_of(what) or 'ok')\n"
    "end\n"
    "if e.run then\n"
    "    show('  breaks it', 'example')\n"
    "    show('  does not', 'counter_example')\n"
    "elseif e.no_example then\n"
    "    out[1] = '  There is no small example. ' .. e.no_example .. '\\n'\n"
    "end\n"
    "return e.why, table.concat(out)\n";

/* text_of(error): as an error of the session would be shown, narrower by the indentation.
 */
static int l_text_of(lua_State *L)
{
    ml_Failure *f = ml_lua_to_failure(L, 1);
    const ml_Session *ss = ml_host_of(L)->ss;
    ml_RenderOpts o = {.width = ss->out.width, .ascii = ss->out.ascii};

    if (!f || ml_lua_failure_text(L, 1)) {
        luaL_tolstring(L, 1, NULL);
        return 1;
    }
    ml_Text *t = bind_text(L);

    ml_failure_render(f, t, &o);
    return bind_give_text(L, t);
}

/* moon.hooks.typed(lines): the code of the first error or nil, and the session as text. */
int ml_host_typed(lua_State *L)
{
    ml_Text *t = bind_text(L);
    ml_ErrorCode code =
        ml_house()->run_typed(ml_host_of(L)->ss, bind_string(L, 1, "lines"), t);

    if (code == ML_E_OK)
        lua_pushnil(L);
    else
        lua_pushstring(L, ml_error_code(code));
    bind_push_text(L, t);
    return 2;
}

bool ml_host_explain(ml_Host *h, const char *code, ml_Text *why, ml_Text *examples)
{
    lua_State *L = h->L;
    int top = lua_gettop(L);
    bool ok = luaL_loadbuffer(L, explain, sizeof explain - 1, "=explain") == LUA_OK;

    if (ok) {
        ml_host_push_moon(L);
        lua_pushstring(L, code);
        lua_pushcfunction(L, l_text_of);
        ok = ml_host_call(h, 3, 2) == LUA_OK;
    }
    if (ok && lua_isstring(L, -2))
        ml_text_add(why, lua_tostring(L, -2));
    if (ok && lua_isstring(L, -1))
        ml_text_add(examples, lua_tostring(L, -1));
    lua_settop(L, top);
    return ok;
}

/*
 * host_saved - saved schedules come back: opened as the focus, or built aside to see that
 * what :save writes can be read. Scripts that return a schedule are such, too.
 * Source: interaction 6.
 */
#include "repl/host/host_impl.h"

#include <errno.h>

#include "moonloop/core/base/file.h"
#include "moonloop/primitives/trace.h"
#include "repl/bind/bind.h"
#include "repl/session/frame.h"

/* ---- JSON */

/* text, name, no_check, unchecked: the schedule, as moon.open makes it of a file. */
static int l_of_json(lua_State *L)
{
    static const char CODE[] =
        "local moon, text, name, program, func, target, check, unchecked = ...\n"
        "local s = moon.schedule(moon.parse(program), {name = name, func = func,\n"
        "    target = target, enable_check = check, unchecked = unchecked})\n"
        "moon.trace(text):apply(s)\n"
        "return s\n";
    size_t n;
    const char *text = lua_tolstring(L, 1, &n);

    lua_settop(L, 4);
    ml_Ctx *cx = bind_scratch(L);
    ml_Saved saved = {0};

    if (!ml_saved_read(cx, (ml_Str){text, n}, &saved))
        return bind_raise(L, cx);
    if (luaL_loadbuffer(L, CODE, sizeof CODE - 1, "=saved") != LUA_OK)
        return lua_error(L);
    ml_host_push_moon(L);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushstring(L, saved.program);
    lua_pushstring(L, saved.func);
    lua_pushstring(L, saved.target);
    lua_pushboolean(L, !lua_toboolean(L, 3) && !saved.no_check);
    lua_pushboolean(L, lua_toboolean(L, 4) || saved.unchecked);
    lua_call(L, 8, 1);
    return 1;
}

static int l_open_saved(lua_State *L)
{
    l_of_json(L);
    ml_session_focus(ml_host_of(L)->ss, ml_lua_to_schedule(L, -1));
    return 0;
}

bool ml_host_open_saved(ml_Host *h, const char *text, const char *name, bool no_check,
                        bool unchecked)
{
    lua_pushcfunction(h->L, l_open_saved);
    lua_pushstring(h->L, text);
    lua_pushstring(h->L, name);
    lua_pushboolean(h->L, no_check);
    lua_pushboolean(h->L, unchecked);
    return ml_host_run(h, 4, 0, true);
}

/* ---- Lua */

/* What version 0.1.0 wrote had neither the mark nor a result. */
static bool is_older_script(const char *text)
{
    static const char HEAD[] = "local moon = moon or require \"moonloop\"\n"
                               "local program = moon.parse([";

    return strncmp(text, HEAD, sizeof HEAD - 1) == 0 && strstr(text, "\nlocal sch = ");
}

/* Where Lua begins: behind a byte order mark and a first line with #. */
static ml_Str lua_text(ml_Text *t)
{
    ml_Str z = {ml_text_z(t), t->n};
    size_t skip = strncmp(z.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    if (z.p[skip] == '#')
        skip += strcspn(z.p + skip, "\n"); /* its newline counts as a line */
    return (ml_Str){z.p + skip, z.n - skip};
}

bool ml_host_load_script(lua_State *L, const char *path, int *status)
{
    ml_Text t = {0};

    if (!path) {
        *status = luaL_loadfilex(L, NULL, "t");
        return true;
    }
    if (!ml_file_read(path, &t)) {
        int error = errno;

        ml_text_free(&t);
        errno = error;
        return false;
    }
    if (is_older_script(ml_text_z(&t)))
        ml_text_add(&t, "\nreturn sch\n");
    ml_Str lua = lua_text(&t);

    lua_pushfstring(L, "@%s", path);
    ml_host_keep_script(L, lua);
    *status = luaL_loadbufferx(L, lua.p, lua.n, lua_tostring(L, -1), "t");
    lua_remove(L, -2);
    if (*status != LUA_OK && t.n && memchr(t.p, '\0', t.n)) {
        lua_pop(L, 1);
        lua_pushfstring(L, "%s:1: the file is no text: it holds a zero byte", path);
    }
    ml_text_free(&t);
    return true;
}

/* text: the schedule that the script returns. Names of the user do not reach it. */
static int l_of_lua(lua_State *L)
{
    size_t n;
    const char *text = lua_tolstring(L, 1, &n);

    if (luaL_loadbufferx(L, text, n, "=saved", "t") != LUA_OK)
        return lua_error(L);
    lua_createtable(L, 0, 1);
    ml_host_push_moon(L);
    lua_setfield(L, -2, "moon");
    lua_createtable(L, 0, 1);
    lua_pushglobaltable(L);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    return 1;
}

/* ---- aside */

ML_GIVES ml_Schedule *ml_host_rebuild(ml_Host *h, ml_Str text, bool lua, ml_Text *why,
                                      bool *stopped)
{
    lua_State *L = h->L;
    int top = lua_gettop(L);
    ml_RunFrame frame;
    ml_Schedule *s = NULL;

    *stopped = false;
    /* What is made does not become the focus. */
    ml_frame_push(h->ss, &frame, &(ml_RunOpts){.mode = ML_MODE_SCRIPT});
    lua_pushcfunction(L, lua ? l_of_lua : l_of_json);
    lua_pushlstring(L, text.p, text.n);
    if (ml_host_call(h, 1, 1) != LUA_OK) {
        ml_Failure *f = ml_lua_to_failure(L, -1);

        *stopped = f && ml_failure_code(f) == ML_E_INTERRUPTED;
        ml_host_add_why(L, why);
    } else if ((s = ml_lua_to_schedule(L, -1)) != NULL)
        ml_schedule_ref(s);
    else
        ml_text_add(why, "the script returns no schedule");
    ml_frame_pop(h->ss, &frame);
    lua_settop(L, top);
    return s;
}

/*
 * host_lib - the functions of moon, and of the prompt, that need the session: print,
 * schedule and open with focus, cmd, set and get; a primitive's name on the focus. Source:
 * interaction 3, 4.
 */
#include "repl/host/host_impl.h"

#include "moonloop/core/json/data.h"
#include "repl/bind/bind.h"
#include "repl/command/command.h"
#include "repl/host/json.h"
#include "repl/session/frame.h"

static int l_print(lua_State *L)
{
    ml_Host *h = ml_host_of(L);
    ml_Text *t = bind_text(L);
    int n = lua_gettop(L) - 1;

    for (int k = 1; k <= n; k++) {
        if (k > 1)
            ml_text_char(t, '\t');
        if (!ml_host_add_own(L, k, t)) {
            size_t len;
            const char *z = luaL_tolstring(L, k, &len);

            ml_text_addn(t, z, len);
            lua_pop(L, 1);
        }
    }
    ml_out_line(&h->ss->out, ml_text_z(t));
    if (h->ss->out.broken)
        return luaL_error(L, "cannot write to standard output: %s",
                          strerror(h->ss->out.fault));
    return 0;
}

/* tostring: what is moonloop's as what it is. */
static int l_tostring(lua_State *L)
{
    ml_Text *t = bind_text(L);

    luaL_checkany(L, 1);
    if (ml_host_add_own(L, 1, t))
        bind_push_text(L, t);
    else
        luaL_tolstring(L, 1, NULL);
    return 1;
}

/* Schedule(mod) of a copied script, whose program has another name here or none (mod is a
 * method): that of the focus is meant, as it was at the start. */
static void take_program_of_focus(lua_State *L, ml_Host *h)
{
    ml_Schedule *s = h->ss->focus;

    bind_push_imported(L, ml_version_program(s, 0).mod);
    lua_replace(L, 1);
    if (lua_isnoneornil(L, 2)) {
        lua_settop(L, 1);
        lua_newtable(L);
    }
    if (lua_istable(L, 2) && lua_getfield(L, 2, "name") == LUA_TNIL) {
        lua_pushstring(L, ml_schedule_name(s));
        lua_setfield(L, 2, "name");
    }
    lua_settop(L, 2);
    ml_err_say(&h->ss->out, "note: Schedule was given no program; that of %s is taken",
               ml_schedule_name(s));
}

/* moon.schedule and open: what they make becomes the focus, except in script files. Upvalue 2:
 * it is a spelling of Python's. */
static int l_schedule(lua_State *L)
{
    ml_Host *h = ml_host_of(L);

    if (lua_toboolean(L, lua_upvalueindex(2)) && lua_gettop(L) > 0 &&
        (lua_isnil(L, 1) || lua_isfunction(L, 1)) && h->ss->focus &&
        h->ss->mode == ML_MODE_TYPED)
        take_program_of_focus(L, h);
    int n = lua_gettop(L);

    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    ml_Schedule *s = lua_gettop(L) > 0 ? ml_lua_to_schedule(L, 1) : NULL;

    if (s && h->ss->mode != ML_MODE_SCRIPT) {
        ml_session_focus(h->ss, s);
        ml_session_saved(h->ss, s); /* its steps, if it has any, are those of a file */
    }
    return lua_gettop(L);
}

static int l_focus(lua_State *L)
{
    ml_Host *h = ml_host_of(L);

    if (!lua_isnoneornil(L, 1)) {
        ml_Schedule *s = ml_lua_to_schedule(L, 1);

        if (!s)
            return bind_bad(L, "focus takes a schedule, not %s", bind_type(L, 1));
        ml_session_focus(h->ss, s);
        lua_settop(L, 1);
        return 1;
    }
    if (!h->ss->focus) {
        lua_pushnil(L);
        return 1;
    }
    ml_lua_push_schedule(L, ml_schedule_ref(h->ss->focus));
    return 1;
}

static void push_focus(lua_State *L, const char *what)
{
    ml_Host *h = ml_host_of(L);

    if (!h->ss->focus)
        ml_lua_fail(
            L, ML_E_UNKNOWN_NAME,
            "%s works on the focus, and there is none: s = schedule(workload.matmul(64, "
            "64, 64)) makes one",
            what);
    ml_lua_push_schedule(L, ml_schedule_ref(h->ss->focus));
}

/* upvalue 1: a method's name. f(...) is focus:f(...). */
static int l_on_focus(lua_State *L)
{
    const char *name = lua_tostring(L, lua_upvalueindex(1));
    int n = lua_gettop(L);

    push_focus(L, name);
    lua_insert(L, 1);
    lua_getfield(L, 1, name);
    lua_insert(L, 1);
    lua_call(L, n + 1, LUA_MULTRET);
    return lua_gettop(L);
}

static const char GIVEN[] = "moonloop.given"; /* names of Python that were set to nil */

/* __newindex of the globals: None = nil takes the name back. */
static int l_new_global(lua_State *L)
{
    if (lua_isnil(L, 3) && lua_type(L, 2) == LUA_TSTRING) {
        luaL_getsubtable(L, LUA_REGISTRYINDEX, GIVEN);
        lua_pushvalue(L, 2);
        lua_pushboolean(L, true);
        lua_rawset(L, -3);
        lua_pop(L, 1);
    }
    lua_rawset(L, 1);
    return 0;
}

/* What a script copied from Python says: None is auto. */
static bool push_python_name(lua_State *L, const char *name)
{
    static const char *const FROM_MOON[] = {"tir", "s_tir", "Schedule", "create_schedule",
                                            "te"};

    luaL_getsubtable(L, LUA_REGISTRYINDEX, GIVEN);
    if (lua_getfield(L, -1, name) != LUA_TNIL)
        return false;
    if (ml_streq(name, "tvm")) { /* tvm.tir.Schedule(…) */
        ml_host_push_moon(L);
        return true;
    }
    if (ml_streq(name, "True") || ml_streq(name, "False")) {
        lua_pushboolean(L, *name == 'T');
        return true;
    }
    for (size_t k = 0; k < ML_COUNT(FROM_MOON) + 1; k++) {
        bool none = k == ML_COUNT(FROM_MOON);

        if (!ml_streq(name, none ? "None" : FROM_MOON[k]))
            continue;
        lua_pushglobaltable(L);
        lua_pushliteral(L, "moon");
        if (lua_rawget(L, -2) != LUA_TTABLE)
            return false;
        lua_getfield(L, -1, none ? "auto" : FROM_MOON[k]);
        return true;
    }
    return false;
}

void ml_host_push_methods(lua_State *L)
{
    luaL_getmetatable(L, bind_schedule_class.name);
    lua_getfield(L, -1, "methods");
    lua_remove(L, -2);
}

bool ml_host_is_method(lua_State *L, const char *name)
{
    ml_host_push_methods(L);
    lua_pushstring(L, name);
    bool yes = lua_rawget(L, -2) == LUA_TFUNCTION;

    lua_pop(L, 2);
    return yes;
}

bool ml_host_knows(ml_Host *h, const char *name, bool method)
{
    lua_pushglobaltable(h->L);
    lua_pushstring(h->L, name);
    bool yes = lua_rawget(h->L, -2) != LUA_TNIL;

    lua_pop(h->L, 2);
    return yes || (method && ml_host_is_method(h->L, name));
}

void ml_host_keep_script(lua_State *L, ml_Str text)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "moonloop.scripts");
    lua_pushvalue(L, -2);
    lua_pushlstring(L, text.p, text.n);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* The text in which the running function stands: the typed line, all lines that hold functions,
 * the script. NULL: it is not known. It may be on the stack. */
static const char *text_of_caller(lua_State *L, ml_Host *h)
{
    lua_Debug ar;

    if (!lua_getstack(L, 1, &ar) || !lua_getinfo(L, "S", &ar))
        return NULL;
    if (ml_streq(ar.source, "=input") || ml_streq(ar.source, "=-e")) {
        if (!ml_streq(ar.what, "main"))
            return ml_text_z(&h->functions);
        return h->python.n ? ml_text_z(&h->python) : h->line;
    }
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "moonloop.scripts");
    lua_getfield(L, -1, ar.source);
    return lua_tostring(L, -1);
}

/* Raises what is wrong with the undefined name, where what reads it has it as an element that a
 * list would lose. */
static void refuse_dropped(lua_State *L, const char *name)
{
    ml_Host *h = ml_host_of(L);
    int top = lua_gettop(L);
    const char *text = text_of_caller(L, h);

    if (text && ml_host_is_dropped(h, text, name)) {
        ml_Text *said = bind_text(L);

        ml_host_unknown(h, name, false, said);
        ml_lua_fail(L, ML_E_UNKNOWN_NAME, "%s", ml_text_z(said));
    }
    lua_settop(L, top);
}

/* __index of the globals, so that script files have these names too. */
static int l_python_name(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;

    if (name && push_python_name(L, name))
        return 1;
    if (name)
        refuse_dropped(L, name);
    lua_pushnil(L);
    return 1;
}

/* Globals first, then methods of the focus (a primitive is one), then names that Python
 * scripts use. */
int ml_host_name(lua_State *L)
{
    const char *name = lua_tostring(L, 2);

    lua_pushglobaltable(L);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TNIL)
        return 1;
    if (name && lua_type(L, 2) == LUA_TSTRING && ml_host_is_method(L, name)) {
        lua_pushvalue(L, 2);
        lua_pushcclosure(L, l_on_focus, 1);
        return 1;
    }
    if (name && push_python_name(L, name))
        return 1;
    if (name && ml_streq(name, "sch") && ml_host_of(L)->ss->focus)
        ml_lua_push_schedule(L, ml_schedule_ref(ml_host_of(L)->ss->focus));
    else {
        ml_Host *h = ml_host_of(L);

        snprintf(h->nothing, sizeof h->nothing, "%s", name ? name : "");
        if (name && lua_type(L, 2) == LUA_TSTRING)
            refuse_dropped(L, name);
        lua_pushnil(L);
    }
    return 1;
}

/* The rows of a command as members 1 to n of the table on top; where there can be but one,
 * its fields too. */
static void set_rows(lua_State *L, ml_Data *d)
{
    const char *p = ml_data_lines(d);
    ml_Ctx *cx = bind_scratch(L);

    lua_insert(L, -2); /* below the table */
    for (lua_Integer n = 1; *p; n++) {
        size_t len = strcspn(p, "\n");
        ml_JsonError why = {0};
        const ml_Json *j = ml_json_read(cx, (ml_Str){p, len}, &why);

        if (!j)
            luaL_error(L, "a command told what is no data: %s at %u", why.what, why.col);
        if (d->one)
            ml_host_json_fields(L, j);
        ml_host_json_push(L, j);
        if (d->of)
            bind_facts_hint(L, d->of);
        lua_rawseti(L, -2, n);
        p += len + (p[len] == '\n');
    }
    bind_scratch_done(L, -2);
    lua_remove(L, -2);
    if (d->of && d->one)
        bind_facts_hint(L, d->of);
}

static int free_data(lua_State *L)
{
    ml_data_free(lua_touserdata(L, 1));
    return 0;
}

/* An argument as a word, which stays on the stack; handles are their names. */
static const char *push_word(lua_State *L, int idx)
{
    int type = lua_type(L, idx);
    size_t n;

    if (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TBOOLEAN &&
        !bind_test(L, idx, &bind_handle_class))
        bind_bad(L,
                 "moon.cmd: word %d: a string, number, boolean or handle is needed, "
                 "got %s",
                 idx - 1, bind_type(L, idx));
    lua_pushvalue(L, idx);
    bind_whole(L, -1);
    const char *z = luaL_tolstring(L, -1, &n);

    lua_remove(L, -2);
    if (strlen(z) != n)
        bind_bad(L, "moon.cmd: word %d holds a zero byte", idx - 1);
    return z;
}

/* moon.cmd(name, ...): {ok =, text =} and what it told as data */
static int l_cmd(lua_State *L)
{
    ml_Host *h = ml_host_of(L);
    int n = lua_gettop(L);
    const char *name = bind_string(L, 1, "name");
    const char *words[ML_MAX_WORDS];

    while (n > 1 && lua_isnil(L, n))
        n--;
    if (n - 1 > ML_MAX_WORDS)
        return bind_bad(L, "moon.cmd: at most %d words are given, got %d", ML_MAX_WORDS,
                        n - 1);
    luaL_checkstack(L, n + 8, "words");
    for (int k = 2; k <= n; k++)
        words[k - 2] = push_word(L, k);
    ml_Text *got = bind_text(L);
    ml_Data *data = bind_box(L, sizeof *data, "moonloop.data", free_data);
    ml_RunFrame f;

    ml_frame_push(h->ss, &f, &(ml_RunOpts){.sink.out = got});
    bool ok = ml_command_words(h->ss, name, words, (size_t)n - 1, data);

    ml_frame_pop(h->ss, &f);
    lua_newtable(L);
    set_rows(L, data);
    bind_set_bool(L, "ok", ok);
    bind_push_text(L, got);
    lua_setfield(L, -2, "text");
    return 1;
}

/* As :set asks; what it would print becomes the error's text. */
static bool is_allowed(ml_Session *ss, int id, const char *value, ml_Text *why)
{
    ml_Text said = {0};
    ml_RunFrame f;

    ml_frame_push(ss, &f, &(ml_RunOpts){.sink.err = &said, .apart = true});
    bool ok = ml_settings_allow(ss, id, value);

    ml_frame_pop(ss, &f);
    if (!ok)
        ml_text_add(why, ss->last ? ml_failure_message(ss->last) : "it is refused");
    ml_text_free(&said);
    return ok;
}

static int setting_id(lua_State *L, const char *name)
{
    int id = ml_setting_find(name);

    if (id < 0) {
        ml_Text *why = bind_text(L);

        ml_setting_unknown(name, why);
        ml_lua_fail(L, ML_E_UNKNOWN_NAME, "%s", ml_text_z(why));
    }
    return id;
}

static void set_one(lua_State *L, const char *name, const char *value)
{
    ml_Host *h = ml_host_of(L);
    int id = setting_id(L, name);
    ml_Text *why = bind_text(L);

    if (!is_allowed(h->ss, id, value, why) || !ml_setting_set(&h->ss->set, id, value, why))
        bind_bad(L, "%s", ml_text_z(why));
    lua_pop(L, 1);
}

static int l_set(lua_State *L)
{
    bind_table(L, 1, "set");
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            return bind_bad(L, "moon.set{name = value, ...}");
        bind_whole(L, -1);
        const char *value = luaL_tolstring(L, -1, NULL);

        set_one(L, lua_tostring(L, -3), value);
        lua_pop(L, 1);
    }
    ml_settings_apply(ml_host_of(L)->ss);
    return 0;
}

/* moon.alias{name = "command words", other = false} */
static int l_alias(lua_State *L)
{
    ml_Host *h = ml_host_of(L);

    bind_table(L, 1, "alias");
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        bool gone = lua_type(L, -1) == LUA_TBOOLEAN && !lua_toboolean(L, -1);

        if (lua_type(L, -2) != LUA_TSTRING || (!gone && lua_type(L, -1) != LUA_TSTRING))
            return bind_bad(L, "moon.alias{name = \"command words\", ...}; false takes one "
                               "away");
        ml_Text *why = bind_text(L);

        if (!ml_command_alias(h->ss, lua_tostring(L, -3), gone ? NULL : lua_tostring(L, -2),
                              why))
            return bind_bad(L, "%s", ml_text_z(why));
        lua_pop(L, 1);
    }
    return 0;
}

static int l_get(lua_State *L)
{
    const ml_Settings *set = &ml_host_of(L)->ss->set;
    ml_SettingId id = (ml_SettingId)setting_id(L, bind_string(L, 1, "name"));

    if (ml_settings[id].kind == ML_SET_INT)
        lua_pushinteger(L, ml_setting_int(set, id));
    else if (ml_settings[id].kind == ML_SET_BOOL)
        lua_pushboolean(L, ml_setting_bool(set, id));
    else
        lua_pushstring(L, ml_setting_word(set, id));
    return 1;
}

/* moon.hooks.topics(topic): help on the commands, by topic(name, summary, text, lines). */
static int l_topics(lua_State *L)
{
    lua_settop(L, 1);
    if (!lua_isfunction(L, 1))
        return bind_bad(L, "moon.hooks.topics takes a function, not %s", bind_type(L, 1));
    for (size_t k = 0; k < ml_n_commands; k++) {
        lua_pushvalue(L, 1);
        lua_pushfstring(L, ":%s", ml_commands[k].name);
        lua_pushnil(L);
        lua_pushstring(L, ml_commands[k].text);
        lua_pushstring(L, ml_commands[k].example);
        bind_call(L, 4, 0, "topics: the function");
    }
    return 0;
}

void ml_host_add_functions(lua_State *L)
{
    static const char *const FROM_MOON[] = {"schedule", "workload", "open",
                                            "focus",    "auto",     "bind_key"};
    static const char *const ON_FOCUS[] = {"loops", "blocks"};
    enum { OWN = 2 };
    static const char *const MAKE[] = {"open", "schedule", "Schedule", "create_schedule"};

    lua_pushglobaltable(L);
    lua_newtable(L);
    lua_pushcfunction(L, l_python_name);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, l_new_global);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
    lua_pushcfunction(L, l_print);
    lua_setglobal(L, "print");
    lua_pushcfunction(L, l_tostring);
    lua_setglobal(L, "tostring");
    lua_pushvalue(L, -1);
    lua_setglobal(L, "moon");
    for (size_t k = 0; k < ML_COUNT(MAKE); k++) {
        lua_getfield(L, -1, MAKE[k]);
        lua_pushboolean(L, k >= OWN);
        lua_pushcclosure(L, l_schedule, 2);
        lua_setfield(L, -2, MAKE[k]);
    }
    lua_getfield(L, -1, "tir"); /* s_tir is the same table */
    lua_getfield(L, -2, "Schedule");
    lua_setfield(L, -2, "Schedule");
    lua_pop(L, 1);
    const luaL_Reg fns[] = {{"focus", l_focus},       {"cmd", l_cmd},
                            {"set", l_set},           {"get", l_get},
                            {"alias", l_alias},       {"bind_key", ml_host_bind_key},
                            {"theme", ml_host_theme}, {NULL, NULL}};

    bind_functions(L, fns);
    lua_getfield(L, -1, "hooks");
    lua_pushcfunction(L, ml_host_typed);
    lua_setfield(L, -2, "typed");
    lua_pushcfunction(L, l_topics);
    lua_setfield(L, -2, "topics");
    lua_pop(L, 1);
    for (size_t k = 0; k < ML_COUNT(FROM_MOON); k++) {
        lua_getfield(L, -1, FROM_MOON[k]);
        lua_setglobal(L, FROM_MOON[k]);
    }
    for (size_t k = 0; k < ML_COUNT(ON_FOCUS); k++) {
        lua_pushstring(L, ON_FOCUS[k]);
        lua_pushcclosure(L, l_on_focus, 1);
        lua_setglobal(L, ON_FOCUS[k]);
    }
}

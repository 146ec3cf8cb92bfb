/*
 * open - opening moonloop in a Lua state: its classes, its functions, its Lua files.
 *
 * Files of lua/ are looked for below the folders of MOONLOOP_PATH, then among those
 * compiled in. `moon` is assembled by lua/moonloop/init.lua from a table of C functions.
 */
#include "repl/bind/bind.h"

#include <stdlib.h>

#include "config.h"
#include "moonloop/core/base/embedded.h"
#include "repl/bind/work/kernel.h"
#include "repl/bind/work/tuning.h"

static const char moon_key, env_key;

/* ---- Lua files */

static bool load_from_path(lua_State *L, const char *name)
{
    const char *at = getenv("MOONLOOP_PATH");

    while (at && *at) {
        size_t n = strcspn(at, ":;");

        if (n > 0) {
            lua_pushlstring(L, at, n);
            lua_pushfstring(L, "%s/%s", lua_tostring(L, -1), name);
            lua_remove(L, -2);
            int status = luaL_loadfilex(L, lua_tostring(L, -1), "t");

            if (status == LUA_OK) {
                lua_remove(L, -2);
                return true;
            }
            if (status != LUA_ERRFILE)
                bind_throw(L); /* found, and broken */
            lua_pop(L, 2);
        }
        at += n + (at[n] != '\0');
    }
    return false;
}

/* The globals that the files of lua/ see: those of the time of opening, so that a session
 * may call its own variables `table` or `type`. */
static void new_environment(lua_State *L)
{
    static const char *const names[] = {
        "assert", "error",        "getmetatable", "ipairs",   "math",     "next",
        "pairs",  "pcall",        "print",        "rawequal", "rawget",   "rawlen",
        "rawset", "select",       "string",       "table",    "tonumber", "tostring",
        "type",   "setmetatable", "xpcall",       "require",  "load"};

    lua_createtable(L, 0, (int)ML_COUNT(names));
    for (size_t k = 0; k < ML_COUNT(names); k++) {
        lua_getglobal(L, names[k]);
        lua_setfield(L, -2, names[k]);
    }
    lua_rawsetp(L, LUA_REGISTRYINDEX, &env_key);
}

static bool find_file(lua_State *L, const char *name);

/* Pushes the chunk of the file below lua/, or returns false. */
static bool load_file(lua_State *L, const char *name)
{
    if (!find_file(L, name))
        return false;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &env_key);
    if (!lua_setupvalue(L, -2, 1))
        lua_pop(L, 1);
    return true;
}

static bool find_file(lua_State *L, const char *name)
{
    if (load_from_path(L, name))
        return true;
    for (const ml_EmbeddedFile *f = ml_lua_files; f->name; f++)
        if (ml_streq(f->name, name)) {
            lua_pushfstring(L, "@lua/%s", name);
            if (luaL_loadbufferx(L, f->text, f->size, lua_tostring(L, -1), "t") != LUA_OK)
                bind_throw(L);
            lua_remove(L, -2);
            return true;
        }
    return false;
}

/* load(name): the chunk of lua/moonloop/NAME.lua */
static int core_load(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    lua_pushfstring(L, "moonloop/%s.lua", name);
    if (!load_file(L, lua_tostring(L, -1)))
        return luaL_error(L, "moonloop: lua/moonloop/%s.lua is missing", name);
    return 1;
}

static int push_found(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    return 1;
}

/* moon.NAME; raises where moon has none. */
static int push_part(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &moon_key);
    lua_pushvalue(L, 1);
    lua_gettable(L, -2);
    return 1;
}

/* The entry of package.searchers: require "moonloop.te" is moon.te; what lies below
 * MOONLOOP_PATH/moonloop is a module, the files that moon is made of are none. */
static int search_lua(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    if (strncmp(name, "moonloop.", 9) != 0)
        return 0;
    lua_pushcfunction(L, push_part);
    lua_pushstring(L, name + 9);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_istable(L, -1)) {
        lua_pushcclosure(L, push_found, 1);
        lua_pushstring(L, name);
        return 2;
    }
    luaL_gsub(L, name, ".", "/");
    const char *file = lua_pushfstring(L, "%s.lua", lua_tostring(L, -1));

    for (const ml_EmbeddedFile *f = ml_lua_files; f->name; f++)
        if (ml_streq(f->name, file)) {
            lua_pushfstring(L, "'%s' is a part of moonloop and no module", name);
            return 1;
        }
    if (load_file(L, file)) {
        lua_pushstring(L, file);
        return 2;
    }
    lua_pushfstring(L, "no file '%s' in MOONLOOP_PATH", file);
    return 1;
}

/* Modules of one's own below MOONLOOP_PATH are found by require, too. */
static void add_path(lua_State *L, int package)
{
    const char *at = getenv("MOONLOOP_PATH");
    luaL_Buffer b;

    if (!at || !*at)
        return;
    luaL_buffinit(L, &b);
    while (*at) {
        size_t n = strcspn(at, ":;");

        if (n > 0) {
            luaL_addlstring(&b, at, n);
            luaL_addstring(&b, "/?.lua;");
            luaL_addlstring(&b, at, n);
            luaL_addstring(&b, "/?/init.lua;");
        }
        at += n + (at[n] != '\0');
    }
    luaL_pushresult(&b);
    lua_getfield(L, package, "path");
    if (lua_type(L, -1) != LUA_TSTRING) {
        lua_pop(L, 2);
        return;
    }
    lua_concat(L, 2);
    lua_setfield(L, package, "path");
}

static void add_searcher(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, "package");
    if (lua_istable(L, -1)) {
        add_path(L, lua_absindex(L, -1));
        if (lua_getfield(L, -1, "searchers") == LUA_TTABLE) {
            lua_pushcfunction(L, search_lua);
            lua_rawseti(L, -2, luaL_len(L, -2) + 1);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
}

/* ---- opening */

static const BindClass *const classes[] = {
    &bind_error_class,    &bind_auto_class,  &bind_module_class, &bind_func_class,
    &bind_buffer_class,   &bind_expr_class,  &bind_stmt_class,   &bind_map_class,
    &bind_handle_class,   &bind_hexpr_class, &bind_trace_class,  &bind_tensor_class,
    &bind_schedule_class, &bind_db_class,    &bind_tuner_class,  &bind_kernel_class,
    &bind_tasks_class,
};

static int set_seed(lua_State *L)
{
    ml_lua_set_seed(L, bind_int(L, 1, "seed"));
    return 0;
}

static int get_seed(lua_State *L)
{
    lua_pushinteger(L, bind_state(L)->seed);
    return 1;
}

/* fail(code, message): raises an error object from Lua */
static int core_fail(lua_State *L)
{
    const char *code = luaL_checkstring(L, 1);
    ml_ErrorCode e = ml_error_find(code);

    return ml_lua_fail(L, e == ML_E_OK ? ML_E_LUA_ERROR : e, "%s", luaL_checkstring(L, 2));
}

/* params(function): the names of its parameters; nil when it takes any number */
static int core_params(lua_State *L)
{
    lua_Debug ar;

    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    lua_getinfo(L, ">u", &ar);
    if (ar.isvararg)
        return 0;
    lua_createtable(L, ar.nparams, 0);
    for (int k = 1; k <= ar.nparams; k++) {
        lua_pushvalue(L, 1);
        const char *name =
            lua_getlocal(L, NULL, k); /* of the function on top, which stays */

        lua_pop(L, 1);
        if (name)
            lua_pushstring(L, name);
        else
            lua_pushfstring(L, "i%d", k - 1); /* stripped of its names */
        lua_rawseti(L, 2, k);
    }
    return 1;
}

/* want(value, kind, what): raises bad-argument unless the value is of that kind: a type of
 * Lua, or a class ("schedule"); with ? behind it nil will do */
static int core_want(lua_State *L)
{
    static const char *const types[] = {"table", "string", "number", "function", "boolean"};
    const char *kind = luaL_checkstring(L, 2), *what = luaL_checkstring(L, 3);
    size_t n = strlen(kind);

    if (kind[n - 1] == '?') {
        if (lua_isnil(L, 1))
            return 0;
        kind = lua_pushlstring(L, kind, n - 1);
    }
    for (size_t k = 0; k < ML_COUNT(types); k++)
        if (ml_streq(types[k], kind)) {
            if (!ml_streq(luaL_typename(L, 1), kind))
                bind_bad(L, "%s: a %s is needed, got %s", what, kind, bind_type(L, 1));
            return 0;
        }
    if (!luaL_testudata(L, 1, lua_pushfstring(L, "moonloop.%s", kind)))
        bind_bad(L, "%s: a %s is needed, got %s", what, kind, bind_type(L, 1));
    return 0;
}

/* is_c(value): whether it is a function, and not one of Lua */
static int core_is_c(lua_State *L)
{
    lua_pushboolean(L, lua_iscfunction(L, 1));
    return 1;
}

/* methods(class): its table of methods, for those that are written in Lua */
static int core_methods(lua_State *L)
{
    lua_pushfstring(L, "moonloop.%s", luaL_checkstring(L, 1));
    lua_getfield(L, LUA_REGISTRYINDEX, lua_tostring(L, -1));
    lua_getfield(L, -1, "__index");
    if (!lua_getupvalue(L, -1, 1))
        return luaL_error(L, "no class %s", lua_tostring(L, 1));
    return 1;
}

int luaopen_moonloop(lua_State *L)
{
    static const luaL_Reg own[] = {{"load", core_load},
                                   {"fail", core_fail},
                                   {"seed", set_seed},
                                   {"get_seed", get_seed},
                                   {"params", core_params},
                                   {"methods", core_methods},
                                   {"want", core_want},
                                   {"is_c", core_is_c},
                                   {"unknown", bind_no_name},
                                   {"nearest", bind_nearest},
                                   {NULL, NULL}};

    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &moon_key) == LUA_TTABLE)
        return 1;
    lua_pop(L, 1);
    luaL_checkstack(L, 40, "moonloop");
    bind_new_state(L);
    new_environment(L);
    for (size_t k = 0; k < ML_COUNT(classes); k++)
        bind_class(L, classes[k]);
    add_searcher(L);

    lua_createtable(L, 0, 64);
    bind_functions(L, own);
    bind_program_functions(L);
    bind_schedule_functions(L);
    bind_info_functions(L);
    bind_map_functions(L);
    bind_tensor_functions(L);
    bind_check_functions(L);
    bind_counts_functions(L);
    bind_time_functions(L);
    bind_build_functions(L);
    bind_machine_functions(L);
    bind_reference_functions(L);
    bind_reference_rows(L);
    bind_db_functions(L);
    bind_tune_functions(L);
    bind_tasks_functions(L);
    bind_rule_functions(L);
    bind_view_functions(L);
    bind_limit_functions(L);
    bind_specialize_functions(L);
    bind_intrin_functions(L);
    bind_reducer_functions(L);
    bind_new(L, &bind_auto_class, 1, 0);
    lua_setfield(L, -2, "auto");
    bind_ir_table(L);
    lua_setfield(L, -2, "ir");
    bind_set_string(L, "version", ML_VERSION);
    if (!load_file(L, "moonloop/init.lua"))
        return luaL_error(L, "moonloop: lua/moonloop/init.lua is missing");
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &moon_key);
    return 1;
}

void ml_lua_open(lua_State *L)
{
    luaopen_moonloop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_istable(L, -1)) {
        lua_pushvalue(L, -2);
        lua_setfield(L, -2, "moonloop");
    }
    lua_pop(L, 1);
}

/* specialize - programs for sizes that are known, in Lua. Source: lua-api 6. */
#include "repl/bind/work/tuning.h"
#include "repl/bind/work/work.h"

#include "moonloop/core/specialize.h"

/* specialize(program, "n=16"): a module of its function for these sizes, and operations */
static int specialize(lua_State *L)
{
    lua_settop(L, 2);
    BindProgram p = bind_program(L, 1);
    const ml_Func *f = bind_program_func(L, &p, NULL);
    const char *text = bind_string(L, 2, "sizes");
    ml_Ctx *cx = bind_scratch(L);
    ml_Constant v[ML_MOST_CONSTANTS];
    size_t n;
    const char *why = ml_constants_read(cx, text, v, &n);

    if (why)
        return bind_bad(L, "specialize: %s", why);
    f = ml_func_specialize(cx, ml_import_func(ml_import_begin(cx), f), v, n);
    if (f == NULL)
        return bind_raise(L, cx);
    bind_push_imported(L, ml_module_new(cx, &f, 1, NULL));
    lua_pushnumber(L, ml_flops(cx, f));
    return 2;
}

/* symbols(program): names of the symbolic sizes of the parameters, in order */
static int symbols(lua_State *L)
{
    lua_settop(L, 1);
    BindProgram p = bind_program(L, 1);
    const ml_Func *f = bind_program_func(L, &p, NULL);
    ml_Ctx *cx = bind_scratch(L);
    ml_VarVec v = {0};

    ml_func_symbols(cx, f, true, &v);
    lua_createtable(L, (int)v.n, 0);
    for (size_t k = 0; k < v.n; k++) {
        lua_pushstring(L, v.v[k]->hint);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    return 1;
}

int bind_specialize_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"specialize", specialize}, {"symbols", symbols}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

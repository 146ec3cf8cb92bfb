/*
 * intrin - tensor intrinsics from Lua: registering, fetching, listing. What is registered
 * is run first: the implementation must compute what the description says, where the
 * interpreter knows its calls. Source: lua-api 2, lowering-and-codegen 9.
 */
#include "repl/bind/ir/ir.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/primitives/intrin.h"

/* The function at idx, whether it is one, a module of one, or a text. */
static const ml_Func *function_at(lua_State *L, int idx, const char *what)
{
    if (lua_type(L, idx) == LUA_TSTRING) {
        bind_parse(L, bind_str(L, idx, what), NULL);
        lua_replace(L, idx);
    }
    BindProgram p = bind_program(L, idx);

    if (p.f)
        return p.f;
    if (p.m->n != 1)
        bind_bad(L, "%s: a module of one function is needed, this one has %u", what,
                 p.m->n);
    return p.m->funcs[0];
}

/* Both run on random bytes; what cannot be run is left to whoever uses it. */
static void compare(lua_State *L, ml_Ctx *cx, const ml_Func *desc, const ml_Func *impl)
{
    ml_Func a = *ml_import_func(ml_import_begin(cx), desc);
    ml_Func b = *ml_import_func(ml_import_begin_apart(cx), impl);
    const ml_Func *fa, *fb;
    ml_CheckResult r = {0};
    ml_CheckOpts o = {.inputs = ML_FILL_RANDOM, .extremes = true};

    for (uint32_t k = 0; k < a.n_params && k < b.n_params; k++)
        if (!a.params[k].buffer || !b.params[k].buffer ||
            a.params[k].buffer->rank != b.params[k].buffer->rank)
            return; /* registering says what is wrong */
    a.name = b.name = "main";
    fa = ml_func_from(cx, &a);
    fb = ml_func_from(cx, &b);
    const ml_Module *ma = ml_module_new(cx, &fa, 1, NULL),
                    *mb = ml_module_new(cx, &fb, 1, NULL);

    if (!ml_check(cx, ma, fa, mb, fb, &o, &r)) {
        if (ml_error(cx)->code != ML_E_NOT_SUPPORTED)
            bind_raise(L, cx);
        ml_error_clear(cx);
        return;
    }
    if (!r.ok)
        ml_lua_fail(L, ML_E_MISMATCH,
                    "the implementation gives %g at %s, the description %g", r.first_got,
                    r.first_at, r.first_ref);
}

/* intrin_register(name, desc, impl, override) */
static int intrin_register(lua_State *L)
{
    const char *name = bind_string(L, 1, "name");

    lua_settop(L, 4);
    const ml_Func *desc = function_at(L, 2, "desc"), *impl = function_at(L, 3, "impl");
    ml_Ctx *cx = bind_scratch(L);

    if (desc->n_params == impl->n_params)
        compare(L, cx, desc, impl);
    if (!ml_intrin_register(cx, bind_intrins(L), name, desc, impl, lua_toboolean(L, 4)))
        return bind_raise(L, cx);
    bind_scratch_done(L, 5);
    return 0;
}

static void push_function(lua_State *L, ml_Ctx *cx, const ml_Func *f)
{
    const ml_Func *one = ml_import_func(ml_import_begin_apart(cx), f);

    bind_push_imported(L, ml_module_new(cx, &one, 1, NULL));
}

/* intrin_get(name): the description and the implementation, a module each */
static int intrin_get(lua_State *L)
{
    const char *name = bind_string(L, 1, "name");
    const ml_Intrin *in = ml_intrin_find(bind_intrins(L), name);

    lua_settop(L, 1);
    if (!in)
        return ml_lua_fail(L, ML_E_NO_SUCH_INTRIN, "%s", name);
    ml_Ctx *cx = bind_scratch(L);

    push_function(L, cx, in->desc);
    push_function(L, cx, in->impl);
    bind_scratch_done(L, 2);
    return 2;
}

/* intrin_names(): sorted */
static int intrin_names(lua_State *L)
{
    const char *const *names;

    lua_settop(L, 0);
    ml_Ctx *cx = bind_scratch(L);
    size_t n = ml_intrin_names(cx, bind_intrins(L), &names);

    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        lua_pushstring(L, names[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    bind_scratch_done(L, 1);
    return 1;
}

int bind_intrin_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"intrin_register", intrin_register},
                                   {"intrin_get", intrin_get},
                                   {"intrin_names", intrin_names},
                                   {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

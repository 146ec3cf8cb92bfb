/*
 * reducer - reductions from Lua: what rfactor may take apart beside what it knows.
 *
 * The functions are called once for each list of types, over fresh variables; what they
 * give is kept. Source: primitives 9, rfactor.
 */
#include "repl/bind/ir/ir.h"

#include "moonloop/primitives/reducer/reducer.h"

/* The n values on top, or those of the one list on top, as expressions of these types. */
static void values_on_top(lua_State *L, int first, size_t n, BindSpace *sp,
                          const ml_Dtype *types, const char *what, const ml_Expr **out)
{
    if (lua_gettop(L) == first && lua_istable(L, first)) {
        if (lua_rawlen(L, first) != n)
            bind_bad(L, "%s: %d values are needed, got %d", what, (int)n,
                     (int)lua_rawlen(L, first));
        for (size_t k = 0; k < n; k++)
            lua_rawgeti(L, first, (lua_Integer)k + 1);
        first++;
    }
    if (lua_gettop(L) - first + 1 != (int)n)
        bind_bad(L, "%s: %d values are needed, got %d", what, (int)n,
                 lua_gettop(L) - first + 1);
    for (size_t k = 0; k < n; k++)
        out[k] = bind_expr(L, first + (int)k, sp, types[k], what);
    lua_settop(L, first - 1);
}

/* reducer_register(n, combine, identity, {dtype, ...}) */
static int reducer_register(lua_State *L)
{
    int64_t n = bind_int(L, 1, "n");
    ml_OwnReducer r = {0};
    ml_Dtype types[ML_MAX_REDUCER];

    lua_settop(L, 4);
    if (n < 1 || n > ML_MAX_REDUCER)
        bind_bad(L, "n is %lld; a reducer has 1 to %d values", (long long)n,
                 ML_MAX_REDUCER);
    if (!lua_isfunction(L, 2))
        bind_bad(L, "combine: a function is needed, got %s", bind_type(L, 2));
    if (!lua_istable(L, 4) || (int64_t)lua_rawlen(L, 4) != n)
        bind_bad(L, "dtypes: a list of %lld is needed", (long long)n);
    r.n = (size_t)n;
    for (size_t k = 0; k < r.n; k++) {
        lua_rawgeti(L, 4, (lua_Integer)k + 1);
        types[k] = bind_dtype(L, -1, "dtypes");
        lua_pop(L, 1);
    }
    BindSpace *sp = bind_builder(L);

    luaL_checkstack(L, 4 * ML_MAX_REDUCER + 8, "reducer");
    lua_pushvalue(L, 2);
    for (size_t side = 0; side < 2; side++)
        for (size_t k = 0; k < r.n; k++) {
            const ml_Expr *v =
                ml_var(sp->cx, ml_var_new(sp->cx, side ? "y" : "x", types[k]));

            (side ? r.y : r.x)[k] = v;
            bind_push_expr(L, sp, v);
        }
    bind_call(L, 2 * (int)n, LUA_MULTRET, "combine");
    values_on_top(L, 5, r.n, sp, types, "combine", r.result);
    if (lua_isfunction(L, 3)) {
        lua_pushvalue(L, 3);
        for (size_t k = 0; k < r.n; k++)
            bind_push_dtype(L, types[k]);
        bind_call(L, (int)n, LUA_MULTRET, "identity");
    } else
        lua_pushvalue(L, 3);
    values_on_top(L, 5, r.n, sp, types, "identity", r.identity);
    ml_Ctx *cx = bind_scratch(L);
    ml_Import *im = ml_import_begin(cx);

    for (size_t k = 0; k < r.n; k++) {
        r.x[k] = ml_import_expr(im, r.x[k]);
        r.y[k] = ml_import_expr(im, r.y[k]);
        r.result[k] = ml_import_expr(im, r.result[k]);
        r.identity[k] = ml_import_expr(im, r.identity[k]);
    }
    if (!ml_reducer_register(cx, bind_intrins(L), &r))
        return bind_raise(L, cx);
    bind_scratch_done(L, lua_gettop(L));
    return 0;
}

int bind_reducer_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"reducer_register", reducer_register}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

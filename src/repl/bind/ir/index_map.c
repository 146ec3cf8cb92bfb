/*
 * index_map - index maps from Lua functions and texts.
 *
 * A function is called once, over fresh variables named after its parameters.
 * Source: primitives 1.2, lua-api 2.
 */
#include "repl/bind/ir/ir.h"

enum { MAX_MAP = 64 };

/* Number of parameters of the function; raises for those that take any number. */
static int parameters(lua_State *L, int idx)
{
    lua_Debug ar;

    lua_pushvalue(L, idx);
    lua_getinfo(L, ">u", &ar);
    if (ar.isvararg || ar.nparams > MAX_MAP)
        bind_bad(L, "an index map is a function with a fixed number of parameters");
    return ar.nparams;
}

/* The results from stack position `first` on, with {begin, end} as two; a single value
 * among pairs is a point. Returns the new number. */
static int flatten_ranges(lua_State *L, int first, int n)
{
    bool pairs = false;

    for (int k = 0; k < n; k++)
        pairs |= lua_istable(L, first + k);
    if (!pairs)
        return n;
    if (n > MAX_MAP)
        bind_bad(L, "at most %d ranges are given", MAX_MAP);
    luaL_checkstack(L, 2 * n + 8, "ranges");
    for (int k = 0; k < n; k++) {
        if (!lua_istable(L, first + k)) {
            lua_pushvalue(L, first + k);
            lua_pushvalue(L, first + k);
            lua_pushinteger(L, 1);
            lua_arith(L, LUA_OPADD);
            continue;
        }
        if (lua_rawlen(L, first + k) != 2)
            bind_bad(L, "a range is {begin, end}, got a list of %d",
                     (int)lua_rawlen(L, first + k));
        lua_rawgeti(L, first + k, 1);
        lua_rawgeti(L, first + k, 2);
    }
    for (int k = 0; k < n; k++)
        lua_remove(L, first);
    return 2 * n;
}

/* Pushes an object with an empty map, and returns that. */
static ml_IndexMap *push_map(lua_State *L, BindSpace *sp)
{
    BindMap *o = bind_new_in(L, &bind_map_class, sizeof(*o), sp);
    ml_IndexMap *m = ML_NEW(sp->cx, ml_IndexMap);

    o->m = m;
    return m;
}

ml_IndexMap *bind_map_from_function(lua_State *L, int idx, bool ranges)
{
    idx = lua_absindex(L, idx);
    int n = parameters(L, idx), top = lua_gettop(L);
    BindSpace *sp = bind_builder(L);
    ml_IndexMap *m = push_map(L, sp);

    luaL_checkstack(L, n + MAX_MAP + 8, "index map");
    const ml_Var **vars = ML_ARRAY(sp->cx, const ml_Var *, (size_t)n + 1);

    lua_pushvalue(L, idx);
    for (int k = 0; k < n; k++) {
        lua_pushvalue(L, idx);
        const char *name = lua_getlocal(L, NULL, k + 1); /* of the function on top */

        lua_pop(L, 1);
        vars[k] =
            ml_var_new(sp->cx, ml_strdup(sp->cx, ml_str(name ? name : "i")), ML_DT_I32);
        bind_push_expr(L, sp, ml_var(sp->cx, vars[k]));
    }
    bind_call(L, n, LUA_MULTRET, "the function of the index map");
    int n_out = lua_gettop(L) - top - 1, first = top + 2;

    if (n_out == 1 && lua_istable(L, first)) { /* one list */
        n_out = (int)lua_rawlen(L, first);
        luaL_checkstack(L, n_out + 4, "index map");
        for (int k = 0; k < n_out; k++)
            lua_rawgeti(L, first, k + 1);
        first++;
    }
    if (ranges)
        n_out = flatten_ranges(L, first, n_out);
    if (n_out > MAX_MAP)
        bind_bad(L, "an index map gives at most %d expressions", MAX_MAP);
    const ml_Expr **out = ML_ARRAY(sp->cx, const ml_Expr *, (size_t)n_out + 1);

    for (int k = 0; k < n_out; k++) {
        bind_whole(L, first + k);
        out[k] = bind_expr(L, first + k, sp, ML_DT_I32, "index map");
    }
    *m = (ml_IndexMap){
        .vars = vars, .n_vars = (uint32_t)n, .exprs = out, .n_exprs = (uint32_t)n_out};
    lua_settop(L, top + 1);
    return m;
}

/* From a list of variables and a list of expressions over them, at 1 and 2. */
static ml_IndexMap *map_from_lists(lua_State *L)
{
    BindSpace *sp = bind_builder(L);
    ml_IndexMap *m = push_map(L, sp);
    size_t n_vars, n_exprs;

    if (!lua_istable(L, 2))
        bind_bad(L, "index map: a list of expressions is needed, got %s", bind_type(L, 2));
    for (int k = 1; k <= 2; k++)
        if (lua_rawlen(L, k) > MAX_MAP)
            bind_bad(L, "an index map has at most %d indices", MAX_MAP);
    const ml_Expr **given = bind_exprs(L, 1, sp, ML_DT_I32, "index map", &n_vars);
    const ml_Var **vars = ML_ARRAY(sp->cx, const ml_Var *, n_vars + 1u);

    for (size_t k = 0; k < n_vars; k++) {
        if (given[k]->kind != ML_EXPR_VAR)
            bind_bad(L, "index map: entry %d of the first list is no variable (te.var)",
                     (int)k);
        vars[k] = given[k]->as.var;
    }
    m->vars = vars;
    m->exprs = bind_exprs(L, 2, sp, ML_DT_I32, "index map", &n_exprs);
    m->n_vars = (uint32_t)n_vars;
    m->n_exprs = (uint32_t)n_exprs;
    return m;
}

static int map_from_text(lua_State *L)
{
    ml_Str text = bind_str(L, 1, "index map");
    BindSpace *sp = bind_builder(L);
    ml_Parsed diags = {0};
    const ml_IndexMap *m;

    ml_IndexMap *to = push_map(L, sp); /* holds the builder */

    m = ml_parse_index_map(sp->cx, text, ML_DT_I32, &diags);
    if (!m)
        return bind_raise_parse(L, sp->cx, &diags, text);
    *to = *m;
    return 1;
}

/* moon.index_map(function or text [, inverse]), moon.index_map({i, j}, {j, i} [, inverse])
 */
int bind_new_index_map(lua_State *L)
{
    bool lists = lua_istable(L, 1);
    int at = lists ? 3 : 2;

    lua_settop(L, at);
    if (lua_isfunction(L, at)) {
        bind_map_from_function(L, at, false);
        lua_replace(L, at);
    } else if (!lua_isnil(L, at))
        bind_check(L, at, &bind_map_class);
    if (!lists && !lua_isfunction(L, 1))
        return map_from_text(L);
    const BindMap *inverse = lua_touserdata(L, at);
    ml_IndexMap *m = lists ? map_from_lists(L) : bind_map_from_function(L, 1, false);

    m->inverse = inverse ? inverse->m : NULL;
    return 1;
}

static void print_map(lua_State *L, ml_Text *t)
{
    const ml_IndexMap *m = ((BindMap *)lua_touserdata(L, 1))->m;
    ml_Ctx *cx = bind_scratch(L);

    ml_text_add(t, "lambda ");
    for (uint32_t k = 0; m && k < m->n_vars; k++)
        ml_text_fmt(t, "%s%s", k ? ", " : "", m->vars[k]->hint);
    ml_text_add(t, ": (");
    for (uint32_t k = 0; m && k < m->n_exprs; k++) {
        if (k)
            ml_text_add(t, ", ");
        ml_print_expr(cx, t, m->exprs[k], NULL);
    }
    ml_text_add(t, ")");
}

static bool map_arg(const BindAsk *ask, ml_Arg *out)
{
    const BindMap *o = lua_touserdata(ask->L, ask->idx);

    *out = (ml_Arg){.kind = ML_A_MAP, .as.map = o->m};
    return true;
}

const BindClass bind_map_class = {
    .name = "moonloop.index_map",
    .in_space = true,
    .print = print_map,
    .arg = map_arg,
};

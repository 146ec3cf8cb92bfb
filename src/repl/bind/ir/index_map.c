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

void bind_map_from_function(lua_State *L, int idx, int inverse, bool ranges)
{
    idx = lua_absindex(L, idx);
    int n = parameters(L, idx), top = lua_gettop(L);
    BindSpace *sp = bind_builder(L);
    BindMap *o = bind_new(L, &bind_map_class, sizeof(*o), 0);

    luaL_checkstack(L, n + MAX_MAP + 8, "index map");
    o->sp = sp;
    bind_space_ref(sp);
    ml_IndexMap m = {.n_vars = (uint32_t)n};
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

    for (int k = 0; k < n_out; k++)
        out[k] = bind_expr(L, first + k, sp, ML_DT_I32, "index map");
    m.vars = vars;
    m.exprs = out;
    m.n_exprs = (uint32_t)n_out;
    if (inverse) {
        BindMap *inv = bind_check(L, inverse, &bind_map_class);

        m.inverse = inv->m;
    }
    ml_IndexMap *kept = ML_NEW(sp->cx, ml_IndexMap);

    *kept = m;
    o->m = kept;
    lua_settop(L, top + 1);
}

/* The list at idx as expressions of sp; raises. */
static const ml_Expr **expressions(lua_State *L, int idx, BindSpace *sp, uint32_t *n)
{
    lua_Unsigned len = lua_rawlen(L, idx);

    if (len > MAX_MAP)
        bind_bad(L, "an index map has at most %d indices", MAX_MAP);
    const ml_Expr **out = ML_ARRAY(sp->cx, const ml_Expr *, (size_t)len + 1);

    for (lua_Unsigned k = 0; k < len; k++) {
        lua_rawgeti(L, idx, (lua_Integer)k + 1);
        out[k] = bind_expr(L, -1, sp, ML_DT_I32, "index map");
        lua_pop(L, 1);
    }
    *n = (uint32_t)len;
    return out;
}

/* From a list of variables and a list of expressions over them, at 1 and 2. */
static void map_from_lists(lua_State *L, int inverse)
{
    BindSpace *sp = bind_builder(L);
    BindMap *o = bind_new(L, &bind_map_class, sizeof(*o), 0);
    ml_IndexMap *m = ML_NEW(sp->cx, ml_IndexMap);

    o->sp = sp;
    bind_space_ref(sp);
    if (!lua_istable(L, 2))
        bind_bad(L, "index map: a list of expressions is needed, got %s", bind_type(L, 2));
    *m = (ml_IndexMap){0};
    const ml_Expr **given = expressions(L, 1, sp, &m->n_vars);
    const ml_Var **vars = ML_ARRAY(sp->cx, const ml_Var *, m->n_vars + 1u);

    for (uint32_t k = 0; k < m->n_vars; k++) {
        if (given[k]->kind != ML_EXPR_VAR)
            bind_bad(L, "index map: entry %u of the first list is no variable (te.var)", k);
        vars[k] = given[k]->as.var;
    }
    m->vars = vars;
    m->exprs = expressions(L, 2, sp, &m->n_exprs);
    if (inverse)
        m->inverse = ((BindMap *)bind_check(L, inverse, &bind_map_class))->m;
    o->m = m;
}

/* moon.index_map(function or text [, inverse]), moon.index_map({i, j}, {j, i} [, inverse])
 */
int bind_new_index_map(lua_State *L)
{
    if (lua_istable(L, 1)) {
        lua_settop(L, 3);
        if (lua_isfunction(L, 3)) {
            bind_map_from_function(L, 3, 0, false);
            lua_replace(L, 3);
        } else if (!lua_isnil(L, 3))
            bind_check(L, 3, &bind_map_class);
        map_from_lists(L, lua_isnil(L, 3) ? 0 : 3);
        return 1;
    }
    lua_settop(L, 2);
    if (lua_isfunction(L, 2)) {
        bind_map_from_function(L, 2, 0, false);
        lua_replace(L, 2);
    } else if (!lua_isnil(L, 2))
        bind_check(L, 2, &bind_map_class);
    if (lua_isfunction(L, 1)) {
        bind_map_from_function(L, 1, lua_isnil(L, 2) ? 0 : 2, false);
        return 1;
    }
    size_t n;

    bind_string(L, 1, "index map");
    const char *z = lua_tolstring(L, 1, &n);
    BindSpace *sp = bind_builder(L);
    BindMap *o = bind_new(L, &bind_map_class, sizeof(*o), 0);
    ml_Parsed diags = {0};

    o->sp = sp;
    bind_space_ref(sp);
    o->m = ml_parse_index_map(sp->cx, (ml_Str){z, n}, ML_DT_I32, &diags);
    if (!o->m)
        return bind_raise_parse(L, sp->cx, &diags, (ml_Str){z, n});
    return 1;
}

static int map_tostring(lua_State *L)
{
    BindMap *o = bind_check(L, 1, &bind_map_class);
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *t = bind_text(L);

    ml_text_add(t, "lambda ");
    for (uint32_t k = 0; o->m && k < o->m->n_vars; k++)
        ml_text_fmt(t, "%s%s", k ? ", " : "", o->m->vars[k]->hint);
    ml_text_add(t, ": (");
    for (uint32_t k = 0; o->m && k < o->m->n_exprs; k++) {
        if (k)
            ml_text_add(t, ", ");
        ml_print_expr(cx, t, o->m->exprs[k], NULL);
    }
    ml_text_add(t, ")");
    bind_push_text(L, t);
    return 1;
}

static bool map_arg(lua_State *L, int idx, ml_Ctx *cx, ml_Schedule *s, ml_Arg *out)
{
    BindMap *o = lua_touserdata(L, idx);

    (void)cx;
    (void)s;
    *out = (ml_Arg){.kind = ML_A_MAP, .as.map = o->m};
    return true;
}

static const luaL_Reg map_meta[] = {
    {"__gc", bind_space_gc}, {"__tostring", map_tostring}, {NULL, NULL}};
const BindClass bind_map_class = {
    .name = "moonloop.index_map",
    .meta = map_meta,
    .arg = map_arg,
};

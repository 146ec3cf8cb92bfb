/*
 * expr - expressions as Lua objects with operators, index maps, and the expression part of
 * moon.ir.
 *
 * Everything that is being built lives in the builder's space. A plain number takes the
 * dtype of the other operand where it can. Lua's == compares structure. Source: lua-api 2.
 */
#include "repl/bind/ir/ir.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/walk.h"

#include <math.h>

void bind_push_expr(lua_State *L, BindSpace *sp, const ml_Expr *e)
{
    BindExpr *x = bind_new_in(L, &bind_expr_class, sizeof(*x), sp);

    x->e = e;
}

/* ---- reading */

static const ml_Expr *number(lua_State *L, int idx, BindSpace *sp, ml_Dtype like,
                             const char *what)
{
    bool like_float = like.lanes == 1 && ml_dtype_is_float(like);
    bool like_int = like.lanes == 1 && ml_dtype_is_int(like);

    if (!lua_isinteger(L, idx))
        return ml_float(sp->cx, like_float ? like : ML_DT_F32, lua_tonumber(L, idx));
    int64_t v = lua_tointeger(L, idx);

    if (like_float)
        return ml_float(sp->cx, like, (double)v);
    if (like_int && ml_dtype_fits(like, v))
        return ml_int(sp->cx, like, v);
    if (!ml_dtype_fits(ML_DT_I32, v) && !ml_dtype_fits(ML_DT_I64, v))
        bind_bad(L, "%s: the number is too large", what);
    return ml_int(sp->cx, ml_dtype_fits(ML_DT_I32, v) ? ML_DT_I32 : ML_DT_I64, v);
}

const ml_Expr *bind_expr(lua_State *L, int idx, BindSpace *sp, ml_Dtype like,
                         const char *what)
{
    BindExpr *x = bind_test(L, idx, &bind_expr_class);
    const BindClass *c;
    int64_t v;

    if (x && (x->sp == sp || ml_ctx_descends(sp->cx, x->sp->cx)))
        return x->e;
    if (x && (x->e->kind == ML_EXPR_INT || x->e->kind == ML_EXPR_FLOAT))
        return ml_import_expr(ml_import_begin(sp->cx), x->e);
    if (x)
        bind_bad(L, "%s: the expression belongs to another program", what);
    switch (lua_type(L, idx)) {
    case LUA_TNUMBER: return number(L, idx, sp, like, what);
    case LUA_TBOOLEAN: return ml_bool(sp->cx, lua_toboolean(L, idx) != 0);
    case LUA_TUSERDATA:
        c = bind_class_of(L, idx);
        if (c && c->is_number) {
            lua_getfield(L, idx, "value");
            v = bind_int(L, -1, what);
            lua_pop(L, 1);
            return ml_int(sp->cx, ml_dtype_fits(ML_DT_I32, v) ? ML_DT_I32 : ML_DT_I64, v);
        }
        break;
    default: break;
    }
    bind_bad(L, "%s: an expression or number is needed, got %s", what, bind_type(L, idx));
    return NULL;
}

const ml_Expr **bind_exprs(lua_State *L, int idx, BindSpace *sp, ml_Dtype like,
                           const char *what, size_t *n)
{
    idx = lua_absindex(L, idx);
    if (!lua_istable(L, idx))
        bind_bad(L, "%s: a list is needed, got %s", what, bind_type(L, idx));
    *n = lua_rawlen(L, idx);
    const ml_Expr **e = ML_ARRAY(sp->cx, const ml_Expr *, *n + 1);

    for (size_t k = 0; k < *n; k++) {
        lua_rawgeti(L, idx, (lua_Integer)k + 1);
        bind_whole(L, -1);
        e[k] = bind_expr(L, lua_gettop(L), sp, like, what);
        lua_pop(L, 1);
    }
    return e;
}

static ml_Dtype type_of(lua_State *L, int idx)
{
    BindExpr *x = bind_test(L, idx, &bind_expr_class);

    return x ? x->e->type : ML_DT_VOID;
}

/* Raises what a constructor left behind: an overflow, too deep a nesting. */
static void check_marks(lua_State *L, BindSpace *sp)
{
    if (!ml_ok_or_fail(sp->cx))
        bind_raise(L, sp->cx);
}

static int push_checked(lua_State *L, BindSpace *sp, const ml_Expr *e)
{
    check_marks(L, sp);
    bind_push_expr(L, sp, e);
    return 1;
}

/* Two operands in one dtype. */
static void operands(lua_State *L, BindSpace *sp, const ml_Expr **a, const ml_Expr **b)
{
    *a = bind_expr(L, 1, sp, type_of(L, 2), "left operand");
    *b = bind_expr(L, 2, sp, type_of(L, 1), "right operand");
    if (ml_promote(sp->cx, a, b))
        return;
    bind_push_dtype(L, (*a)->type);
    bind_push_dtype(L, (*b)->type);
    bind_bad(L, "there is no common dtype of %s and %s", lua_tostring(L, -2),
             lua_tostring(L, -1));
}

static bool is_logical(ml_ExprKind k)
{
    return k == ML_EXPR_AND || k == ML_EXPR_OR;
}

static int binary(lua_State *L, ml_ExprKind k)
{
    BindSpace *sp = bind_builder(L);
    const ml_Expr *a, *b;

    operands(L, sp, &a, &b);
    if (is_logical(k) && !(ml_dtype_is_bool(a->type) && ml_dtype_is_bool(b->type)))
        return bind_bad(L, "conditions are needed on both sides");
    if (ml_kind_divides(k) && k != ML_EXPR_DIV && !ml_dtype_is_int(a->type))
        return bind_bad(L, "integers are needed on both sides of %s",
                        k == ML_EXPR_MOD        ? "truncmod"
                        : k == ML_EXPR_FLOORDIV ? "//"
                                                : "%");
    if (ml_kind_divides(k) && !ml_dtype_is_float(a->type) && ml_is_int(b, 0))
        return ml_lua_fail(L, ML_E_DIVIDE_BY_ZERO, "the expression");
    if (ml_dtype_is_bool(a->type) && !is_logical(k) && k < ML_EXPR_EQ)
        return bind_bad(L, "arithmetic on conditions");
    return push_checked(L, sp, ml_binary(sp->cx, k, a, b));
}

/* The operators of two operands: names in moon.ir, and events of Lua's operators. */
static const struct {
    const char *name, *event;
    ml_ExprKind kind;
} OPERATORS[] = {
    {"add", "__add", ML_EXPR_ADD},
    {"sub", "__sub", ML_EXPR_SUB},
    {"mul", "__mul", ML_EXPR_MUL},
    {"floordiv", "__idiv", ML_EXPR_FLOORDIV},
    {"floormod", "__mod", ML_EXPR_FLOORMOD},
    {"truncmod", NULL, ML_EXPR_MOD},
    {"min", NULL, ML_EXPR_MIN},
    {"max", NULL, ML_EXPR_MAX},
    {"eq", NULL, ML_EXPR_EQ},
    {"ne", NULL, ML_EXPR_NE},
    {"lt", NULL, ML_EXPR_LT},
    {"le", NULL, ML_EXPR_LE},
    {"gt", NULL, ML_EXPR_GT},
    {"ge", NULL, ML_EXPR_GE},
    {"and_", NULL, ML_EXPR_AND},
    {"or_", NULL, ML_EXPR_OR},
};

/* Upvalue 1: the kind. */
static int op_binary(lua_State *L)
{
    return binary(L, (ml_ExprKind)lua_tointeger(L, lua_upvalueindex(1)));
}

/* Adds them to the table on top, and to the class. */
static void add_operators(lua_State *L)
{
    luaL_getmetatable(L, bind_expr_class.name);
    for (size_t k = 0; k < ML_COUNT(OPERATORS); k++) {
        lua_pushinteger(L, OPERATORS[k].kind);
        lua_pushcclosure(L, op_binary, 1);
        if (OPERATORS[k].event) {
            lua_pushvalue(L, -1);
            lua_setfield(L, -3, OPERATORS[k].event);
        }
        lua_setfield(L, -3, OPERATORS[k].name);
    }
    lua_pop(L, 1);
}

/* `/` is the true division of floats. */
static int op_div(lua_State *L)
{
    BindSpace *sp = bind_builder(L);
    const ml_Expr *a, *b;

    operands(L, sp, &a, &b);
    if (!ml_dtype_is_float(a->type))
        return bind_bad(L, "/ divides floats; integers are divided by // or te.truncdiv");
    return push_checked(L, sp, ml_div(sp->cx, a, b));
}

static int op_truncdiv(lua_State *L)
{
    BindSpace *sp = bind_builder(L);
    const ml_Expr *a, *b;

    operands(L, sp, &a, &b);
    if (!ml_dtype_is_int(a->type))
        return bind_bad(L, "truncdiv: integers are needed on both sides");
    if (ml_is_int(b, 0))
        return ml_lua_fail(L, ML_E_DIVIDE_BY_ZERO, "the expression");
    return push_checked(L, sp, ml_div(sp->cx, a, b));
}

static int op_neg(lua_State *L)
{
    BindSpace *sp = bind_builder(L);
    const ml_Expr *a = bind_expr(L, 1, sp, ML_DT_VOID, "operand");

    if (!ml_dtype_is_int(a->type) && !ml_dtype_is_float(a->type))
        return bind_bad(L, "- needs a number");
    return push_checked(L, sp, ml_neg(sp->cx, a));
}

static int op_not(lua_State *L)
{
    BindSpace *sp = bind_builder(L);
    const ml_Expr *a = bind_expr(L, 1, sp, ML_DT_BOOL, "condition");

    if (!ml_dtype_is_bool(a->type))
        return bind_bad(L, "not_ needs a condition");
    return push_checked(L, sp, ml_not(sp->cx, a));
}

static int no_order(lua_State *L)
{
    return bind_bad(
        L, "< and <= cannot give expressions in Lua; te.lt, te.le, te.gt, te.ge do");
}

/* ---- the expression part of moon.ir */

/* var(name [, dtype]), size(name [, dtype]) */
static int new_var(lua_State *L, bool is_size)
{
    lua_settop(L, 2);
    const char *name = bind_string(L, 1, "name");
    ml_Dtype t = lua_isnil(L, 2) ? ML_DT_I32 : bind_dtype(L, 2, "dtype");
    BindSpace *sp = bind_builder(L);

    if (!*name)
        return bind_bad(L, "name: a name is needed");
    name = ml_strdup(sp->cx, ml_str(name));
    bind_push_expr(L, sp,
                   ml_var(sp->cx, is_size ? ml_var_new_size(sp->cx, name, t)
                                          : ml_var_new(sp->cx, name, t)));
    return 1;
}

static int ir_var(lua_State *L)
{
    return new_var(L, false);
}

static int ir_size(lua_State *L)
{
    return new_var(L, true);
}

/* const(value [, dtype]) */
static int ir_const(lua_State *L)
{
    lua_settop(L, 2);
    BindSpace *sp = bind_builder(L);

    if (lua_type(L, 1) == LUA_TSTRING && lua_isnil(L, 2)) {
        bind_push_expr(L, sp, ml_string(sp->cx, bind_str(L, 1, "value")));
        return 1;
    }
    if (lua_isnil(L, 2)) {
        bind_push_expr(L, sp, bind_expr(L, 1, sp, ML_DT_VOID, "value"));
        return 1;
    }
    ml_Dtype t = bind_dtype(L, 2, "dtype");

    if (lua_isboolean(L, 1))
        lua_pushinteger(L, lua_toboolean(L, 1));
    else
        lua_pushvalue(L, 1);
    if (lua_type(L, 3) != LUA_TNUMBER)
        return bind_bad(L, "value: a number is needed, got %s", bind_type(L, 1));
    if (ml_dtype_is_int(t) || ml_dtype_is_bool(t)) {
        int64_t v = bind_int(L, 3, "value");

        if (!ml_dtype_fits(ml_dtype_lanes(t, 1), v))
            return bind_bad(L, "value: %lld does not fit %s", (long long)v,
                            lua_tostring(L, 2));
        bind_push_expr(L, sp, ml_int(sp->cx, t, v));
    } else if (ml_dtype_is_float(t))
        bind_push_expr(L, sp, ml_float(sp->cx, t, lua_tonumber(L, 3)));
    else
        return bind_bad(L, "dtype: %s has no constants", lua_tostring(L, 2));
    return 1;
}

/* limit(dtype, highest): the largest or smallest finite value */
static int ir_limit(lua_State *L)
{
    ml_Dtype t = bind_dtype(L, 1, "dtype");
    bool high = lua_toboolean(L, 2) != 0;
    BindSpace *sp = bind_builder(L);

    if (ml_dtype_is_float(t))
        bind_push_expr(L, sp,
                       ml_float(sp->cx, t, high ? ml_dtype_fmax(t) : ml_dtype_flowest(t)));
    else if (ml_dtype_is_int(t) || ml_dtype_is_bool(t))
        bind_push_expr(L, sp, ml_int(sp->cx, t, high ? ml_dtype_max(t) : ml_dtype_min(t)));
    else
        return bind_bad(L, "dtype: %s has no limits", lua_tostring(L, 1));
    return 1;
}

static int ir_cast(lua_State *L)
{
    ml_Dtype t = bind_dtype(L, 2, "dtype");
    BindSpace *sp = bind_builder(L);
    const ml_Expr *e = bind_expr(L, 1, sp, ML_DT_VOID, "value");

    if (t.code == ML_VOID || t.code == ML_HANDLE || e->type.code == ML_VOID)
        return bind_bad(L, "cast: %s is no dtype of values", lua_tostring(L, 2));
    if (t.lanes == 1 && e->type.lanes > 1)
        t = ml_dtype_lanes(t, e->type.lanes);
    if (t.lanes != e->type.lanes)
        return bind_bad(L, "cast: the lanes differ");
    return push_checked(L, sp, ml_cast(sp->cx, t, e));
}

static int choose(lua_State *L, bool lazy)
{
    BindSpace *sp = bind_builder(L);
    const ml_Expr *c = bind_expr(L, 1, sp, ML_DT_BOOL, "condition");
    const ml_Expr *a = bind_expr(L, 2, sp, type_of(L, 3), "value");
    const ml_Expr *b = bind_expr(L, 3, sp, type_of(L, 2), "value");

    if (!ml_dtype_is_bool(c->type))
        return bind_bad(L, "condition: a comparison is needed");
    if (!ml_promote(sp->cx, &a, &b))
        return bind_bad(L, "the two values have no common dtype");
    return push_checked(
        L, sp, lazy ? ml_if_then_else(sp->cx, c, a, b) : ml_select(sp->cx, c, a, b));
}

static int ir_select(lua_State *L)
{
    return choose(L, false);
}

static int ir_if_then_else(lua_State *L)
{
    return choose(L, true);
}

/* call(op [, dtype], args...): a known operator; dtype nil: that of the first argument */
static int ir_call(lua_State *L)
{
    const char *name = bind_string(L, 1, "operator");
    BindSpace *sp = bind_builder(L);
    const ml_Op *op = ml_op_find(ml_str(name));
    int n = lua_gettop(L) - 2;
    ml_Dtype t;

    if (!op)
        return bind_bad(L, "no operator is named %s", name);
    if (n < 0 || (op->n_args >= 0 && n != op->n_args))
        return bind_bad(L, "%s takes %d arguments, got %d", name, (int)op->n_args,
                        n < 0 ? 0 : n);
    const ml_Expr **args = ML_ARRAY(sp->cx, const ml_Expr *, (size_t)n + 1);

    for (int k = 0; k < n; k++)
        args[k] =
            bind_expr(L, k + 3, sp, k > 0 ? args[0]->type : type_of(L, 4), "argument");
    if (!lua_isnil(L, 2))
        t = bind_dtype(L, 2, "dtype");
    else if (n > 0)
        t = args[0]->type;
    else
        return bind_bad(L, "%s: a dtype is needed", name);
    return push_checked(L, sp, ml_call(sp->cx, t, op, args, (size_t)n));
}

/* load(buffer, indices...) */
static int ir_load(lua_State *L)
{
    BindBuffer *b = bind_check(L, 1, &bind_buffer_class);
    BindSpace *sp = bind_builder(L);
    int n = lua_gettop(L) - 1;
    const ml_Expr **idx = ML_ARRAY(sp->cx, const ml_Expr *, (size_t)n + 1);

    if (b->sp != sp)
        return bind_bad(L, "buffer %s belongs to another program", b->b->name);
    if (n != b->b->rank)
        return bind_bad(L, "%s takes an index for each dimension: %d, not %d", b->b->name,
                        (int)b->b->rank, n);
    for (int k = 0; k < n; k++) {
        bind_whole(L, k + 2);
        idx[k] = bind_expr(L, k + 2, sp, ml_buffer_index_dtype(b->b), "index");
        if (!ml_dtype_is_int(idx[k]->type))
            return bind_bad(L, "index %d of %s is no integer", k, b->b->name);
    }
    return push_checked(L, sp, ml_load(sp->cx, b->b, idx, (size_t)n));
}

/* subst(e, v1, to1, v2, to2, ...): variables by expressions, all at once */
static int ir_subst(lua_State *L)
{
    BindSpace *sp = bind_builder(L);
    const ml_Expr *e = bind_expr(L, 1, sp, ML_DT_VOID, "expression");
    ml_Subst s = {0};

    for (int k = 2; k < lua_gettop(L); k += 2) {
        const ml_Expr *v = bind_expr(L, k, sp, ML_DT_VOID, "variable");
        const ml_Expr *to = bind_expr(L, k + 1, sp, v->type, "value");

        if (v->kind != ML_EXPR_VAR || !ml_dtype_eq(v->type, to->type))
            return bind_bad(L, "subst: a variable and a value of its dtype are needed");
        ml_subst_var(sp->cx, &s, v->as.var, to);
    }
    return push_checked(L, sp, ml_expr_subst(sp->cx, e, &s));
}

/* parse_expr(text, {name = expression or buffer}) */
static int ir_parse(lua_State *L)
{
    size_t n = 0;

    lua_settop(L, 2);
    ml_Str text = bind_str(L, 1, "text");
    BindSpace *sp = bind_builder(L);

    bind_push_expr(L, sp, ml_i32(sp->cx, 0)); /* holds the builder while names are read */
    if (!lua_isnil(L, 2))
        for (bind_table(L, 2, "names"), lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1))
            n++;
    ml_ParseName *names = ML_ARRAY(sp->cx, ml_ParseName, n + 1);
    ml_Parsed diags = {0};

    n = 0;
    if (!lua_isnil(L, 2))
        for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
            BindBuffer *b = bind_test(L, -1, &bind_buffer_class);

            if (lua_type(L, -2) != LUA_TSTRING)
                bind_bad(L, "names: a table by name is needed");
            names[n].name = ml_strdup(sp->cx, ml_str(lua_tostring(L, -2)));
            if (b)
                names[n].buffer = b->b;
            else
                names[n].expr = bind_expr(L, lua_gettop(L), sp, ML_DT_VOID, "name");
            n++;
        }
    const ml_Expr *e = ml_parse_expr(sp->cx, text, names, n, &diags);

    if (!e)
        return bind_raise_parse(L, sp->cx, &diags, text);
    return push_checked(L, sp, e);
}

/* ---- looking at expressions */

static void print_expr(lua_State *L, ml_Text *t)
{
    ml_print_expr(bind_scratch(L), t, ((BindExpr *)lua_touserdata(L, 1))->e, NULL);
}

static int expr_eq(lua_State *L)
{
    BindExpr *a = bind_test(L, 1, &bind_expr_class), *b = bind_test(L, 2, &bind_expr_class);

    if (!a || !b)
        lua_pushboolean(L, 0);
    else if (a->sp == b->sp)
        lua_pushboolean(L, a->e == b->e);
    else
        lua_pushboolean(L, ml_equal_expr(bind_scratch(L), a->e, b->e, NULL, NULL));
    return 1;
}

static bool expr_get(lua_State *L, const char *key)
{
    BindExpr *x = bind_check(L, 1, &bind_expr_class);

    if (ml_streq(key, "dtype"))
        bind_push_dtype(L, x->e->type);
    else if (ml_streq(key, "kind"))
        lua_pushstring(L, ml_expr_kind_name((ml_ExprKind)x->e->kind));
    else if (ml_streq(key, "name") && x->e->kind == ML_EXPR_VAR)
        lua_pushstring(L, x->e->as.var->hint);
    else if (ml_streq(key, "value") && x->e->kind == ML_EXPR_INT)
        lua_pushinteger(L, x->e->as.i);
    else if (ml_streq(key, "value") && x->e->kind == ML_EXPR_FLOAT)
        lua_pushnumber(L, x->e->as.f);
    else if (ml_streq(key, "op") && x->e->kind == ML_EXPR_CALL)
        lua_pushstring(L, x->e->as.op->name);
    else if (ml_streq(key, "buffer") && x->e->kind == ML_EXPR_LOAD)
        bind_push_buffer(L, x->sp, x->e->as.buffer);
    else if (ml_streq(key, "args")) {
        lua_createtable(L, x->e->n_args, 0);
        for (uint16_t k = 0; k < x->e->n_args; k++) {
            bind_push_expr(L, x->sp, x->e->args[k]);
            lua_rawseti(L, -2, k + 1);
        }
    } else
        return false;
    return true;
}

static bool expr_arg(const BindAsk *ask, ml_Arg *out)
{
    const ml_Expr *e = ((BindExpr *)lua_touserdata(ask->L, ask->idx))->e;

    if (e->kind == ML_EXPR_INT)
        *out = ml_dtype_is_bool(e->type) ? ML_ARG_BOOL(e->as.i != 0) : ML_ARG_INT(e->as.i);
    else if (e->kind == ML_EXPR_FLOAT)
        *out = (ml_Arg){.kind = ML_A_FLOAT, .as.f = e->as.f};
    else
        *out = (ml_Arg){.kind = ML_A_EXPR,
                        .as.e = ml_import_expr(ml_import_begin(ask->cx), e)};
    return true;
}

static const luaL_Reg expr_meta[] = {{"__eq", expr_eq},  {"__div", op_div},
                                     {"__unm", op_neg},  {"__lt", no_order},
                                     {"__le", no_order}, {NULL, NULL}};
static const char *const expr_fields[] = {"dtype", "kind", "name", "value",
                                          "op",    "args", NULL};
const BindClass bind_expr_class = {
    .name = "moonloop.expression",
    .meta = expr_meta,
    .fields = expr_fields,
    .get = expr_get,
    .in_space = true,
    .print = print_expr,
    .arg = expr_arg,
};

int bind_ir_table(lua_State *L)
{
    static const luaL_Reg fns[] = {{"var", ir_var},
                                   {"size", ir_size},
                                   {"const", ir_const},
                                   {"limit", ir_limit},
                                   {"cast", ir_cast},
                                   {"select", ir_select},
                                   {"if_then_else", ir_if_then_else},
                                   {"call", ir_call},
                                   {"load", ir_load},
                                   {"subst", ir_subst},
                                   {"parse_expr", ir_parse},
                                   {"div", op_div},
                                   {"truncdiv", op_truncdiv},
                                   {"not_", op_not},
                                   {"neg", op_neg},
                                   {"index_map", bind_new_index_map},
                                   {NULL, NULL}};

    lua_newtable(L);
    bind_functions(L, fns);
    add_operators(L);
    bind_stmt_functions(L);
    return 1;
}

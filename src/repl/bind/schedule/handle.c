/*
 * handle - blocks, loops and numbers of a schedule as Lua objects, and arithmetic on
 * numbers.
 *
 * A handle is an identity number that keeps its schedule. Arithmetic on number handles
 * gives a small tree of Lua objects, made into an expression when a primitive takes it.
 * Source: primitives 1.2, 1.3.
 */
#include "repl/bind/schedule/schedule.h"

/* The schedule of the handle or expression at idx; pushes nothing. */
static ml_Schedule *schedule_of(lua_State *L, int idx, int uservalue)
{
    lua_getiuservalue(L, idx, uservalue);
    ml_Schedule *s = bind_check_schedule(L, -1);

    lua_pop(L, 1);
    return s;
}

void bind_push_handle(lua_State *L, int sched, ml_Handle h)
{
    sched = lua_absindex(L, sched);
    BindHandle *b = bind_new(L, &bind_handle_class, sizeof(*b), 1);

    b->h = h;
    lua_pushvalue(L, sched);
    lua_setiuservalue(L, -2, 1);
}

static void push_result(lua_State *L, int sched, ml_Handle h)
{
    if (h.kind == ML_H_NONE)
        bind_new(L, &bind_auto_class, 1, 0);
    else
        bind_push_handle(L, sched, h);
}

/* list[0] and list[-1] of elsewhere; behind the last there is nothing, as in any list. */
static int index_list(lua_State *L)
{
    if (bind_whole(L, 2) && lua_tointeger(L, 2) < 1)
        return ml_lua_fail(
            L, ML_E_UNKNOWN_NAME,
            "a list counts from 1 and has no element [%d]; the last of `l` is "
            "l[#l]",
            (int)lua_tointeger(L, 2));
    lua_pushnil(L);
    return 1;
}

void bind_new_handles(lua_State *L, size_t n)
{
    static const char key;

    lua_createtable(L, (int)n, 0);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_createtable(L, 0, 1);
        lua_pushcfunction(L, index_list);
        lua_setfield(L, -2, "__index");
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
    }
    lua_setmetatable(L, -2);
}

int bind_push_results(lua_State *L, int sched, const ml_Results *r)
{
    const ml_Handle *v = r->more ? r->more : r->v;

    if (!r->is_list) {
        if (r->n == 0)
            return 0;
        push_result(L, sched, v[0]);
        return 1;
    }
    bind_new_handles(L, r->n);
    for (size_t k = 0; k < r->n; k++) {
        push_result(L, sched, v[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    return 1;
}

bool ml_lua_to_handle(lua_State *L, int idx, ml_Schedule **s, ml_Handle *h)
{
    BindHandle *b = bind_test(L, idx, &bind_handle_class);

    if (!b)
        return false;
    *s = schedule_of(L, idx, 1);
    *h = b->h;
    return true;
}

bool bind_same_family(ml_Schedule *from, ml_Schedule *s)
{
    return from == s || ml_schedule_ctx(from) == ml_schedule_ctx(s);
}

/* ---- fields */

static const char *kind_name(uint8_t kind)
{
    switch ((ml_HandleKind)kind) {
    case ML_H_NONE: return "auto";
    case ML_H_BLOCK: return "block";
    case ML_H_LOOP: return "loop";
    case ML_H_EXPR: return "number";
    case ML_H_INLINE_MARK: return "inline mark";
    case ML_H_ROOT_MARK: return "root mark";
    }
    return "?";
}

static void push_name(lua_State *L, int idx)
{
    BindHandle *b = bind_check(L, idx, &bind_handle_class);
    ml_Schedule *s = schedule_of(L, idx, 1);
    int64_t v;

    if (b->h.kind == ML_H_BLOCK || b->h.kind == ML_H_LOOP)
        lua_pushstring(L, ml_name_of(s, b->h.uid));
    else if (b->h.kind == ML_H_EXPR && ml_handle_value(s, b->h, &v))
        lua_pushfstring(L, "%I", (LUAI_UACINT)v);
    else
        lua_pushstring(L, kind_name(b->h.kind));
}

static bool handle_get(lua_State *L, const char *key)
{
    BindHandle *b = bind_check(L, 1, &bind_handle_class);
    ml_Schedule *s = schedule_of(L, 1, 1);
    int64_t v;

    if (ml_streq(key, "kind"))
        lua_pushstring(L, kind_name(b->h.kind));
    else if (ml_streq(key, "name"))
        push_name(L, 1);
    else if (ml_streq(key, "alive"))
        lua_pushboolean(L, ml_handle_alive(s, b->h));
    else if (ml_streq(key, "ended_by")) {
        int by = ml_handle_ended_by(s, b->h);

        if (by < 0)
            return false;
        lua_pushinteger(L, by);
    } else if (ml_streq(key, "value") && ml_handle_value(s, b->h, &v))
        lua_pushinteger(L, v);
    else if (ml_streq(key, "schedule"))
        lua_getiuservalue(L, 1, 1);
    else
        return false;
    return true;
}

static int handle_tostring(lua_State *L)
{
    push_name(L, 1);
    return 1;
}

static int handle_eq(lua_State *L)
{
    BindHandle *a = bind_test(L, 1, &bind_handle_class),
               *b = bind_test(L, 2, &bind_handle_class);

    lua_pushboolean(L, a && b && a->h.kind == b->h.kind && a->h.uid == b->h.uid &&
                           bind_same_family(schedule_of(L, 1, 1), schedule_of(L, 2, 1)));
    return 1;
}

/* ---- arithmetic over number handles */

/* Pushes the schedule of the operand and returns true; false: a plain number. */
static bool operand(lua_State *L, int idx)
{
    BindHandle *h = bind_test(L, idx, &bind_handle_class);

    if (h) {
        if (h->h.kind != ML_H_EXPR)
            bind_bad(L, "arithmetic needs numbers, got a %s", kind_name(h->h.kind));
        lua_getiuservalue(L, idx, 1);
        return true;
    }
    if (bind_test(L, idx, &bind_hexpr_class)) {
        lua_getiuservalue(L, idx, 3);
        return true;
    }
    bind_int(L, idx, "operand");
    return false;
}

/* With an expression on the other side a number counts as its value. */
static bool with_expression(lua_State *L, ml_ExprKind op)
{
    static const char *const events[ML_EXPR_KINDS] = {[ML_EXPR_ADD] = "__add",
                                                      [ML_EXPR_SUB] = "__sub",
                                                      [ML_EXPR_MUL] = "__mul",
                                                      [ML_EXPR_FLOORDIV] = "__idiv",
                                                      [ML_EXPR_FLOORMOD] = "__mod"};
    int idx = bind_test(L, 1, &bind_expr_class)   ? 1
              : bind_test(L, 2, &bind_expr_class) ? 2
                                                  : 0;

    if (!idx)
        return false;
    luaL_getmetafield(L, idx, events[op]);
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return true;
}

static int combine(lua_State *L, ml_ExprKind op)
{
    lua_settop(L, 2);
    if (with_expression(L, op))
        return 1;
    if (operand(L, 1)) {
        if (operand(L, 2)) {
            if (!bind_same_family(bind_check_schedule(L, 3), bind_check_schedule(L, 4)))
                bind_bad(L, "the numbers belong to different schedules");
            lua_settop(L, 3);
        }
    } else
        operand(L, 2);
    BindHexpr *x = bind_new(L, &bind_hexpr_class, sizeof(*x), 3);

    x->op = (uint8_t)op;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, -2, 2);
    lua_pushvalue(L, 3);
    lua_setiuservalue(L, -2, 3);
    return 1;
}

static int op_add(lua_State *L)
{
    return combine(L, ML_EXPR_ADD);
}
static int op_sub(lua_State *L)
{
    return combine(L, ML_EXPR_SUB);
}
static int op_mul(lua_State *L)
{
    return combine(L, ML_EXPR_MUL);
}
static int op_idiv(lua_State *L)
{
    return combine(L, ML_EXPR_FLOORDIV);
}
static int op_mod(lua_State *L)
{
    return combine(L, ML_EXPR_FLOORMOD);
}
static int op_neg(lua_State *L)
{
    lua_settop(L, 1);
    lua_pushinteger(L, -1);
    return combine(L, ML_EXPR_MUL);
}

enum { MAX_TREE = 200 };

static const ml_Expr *tree(lua_State *L, int idx, ml_Ctx *cx, ml_Schedule *s, int depth)
{
    BindHandle *h = bind_test(L, idx, &bind_handle_class);
    BindHexpr *x = bind_test(L, idx, &bind_hexpr_class);

    luaL_checkstack(L, 8, "nested expressions");
    if (depth > MAX_TREE)
        bind_bad(L, "the expression is nested too deep");
    if (h) {
        const ml_Expr *e = ml_handle_symbol(s, h->h);

        if (!e || !bind_same_family(schedule_of(L, idx, 1), s))
            ml_lua_fail(L, ML_E_BAD_HANDLE, "a number in the expression");
        return ml_var(cx, e->as.var);
    }
    if (!x) {
        int64_t v = bind_int(L, idx, "operand");

        return ml_int(cx, ML_DT_I32, v);
    }
    idx = lua_absindex(L, idx);
    lua_getiuservalue(L, idx, 1);
    const ml_Expr *a = tree(L, lua_gettop(L), cx, s, depth + 1);

    lua_getiuservalue(L, idx, 2);
    const ml_Expr *b = tree(L, lua_gettop(L), cx, s, depth + 1);

    lua_pop(L, 2);
    if ((x->op == ML_EXPR_FLOORDIV || x->op == ML_EXPR_FLOORMOD) && ml_is_int(b, 0))
        ml_lua_fail(L, ML_E_DIVIDE_BY_ZERO, "the expression");
    return ml_binary(cx, (ml_ExprKind)x->op, a, b);
}

static bool hexpr_arg(const BindAsk *ask, ml_Arg *out)
{
    if (ask->s)
        *out =
            (ml_Arg){.kind = ML_A_EXPR, .as.e = tree(ask->L, ask->idx, ask->cx, ask->s, 0)};
    return ask->s != NULL;
}

static bool handle_arg(const BindAsk *ask, ml_Arg *out)
{
    const BindHandle *b = lua_touserdata(ask->L, ask->idx);
    ml_Schedule *from = schedule_of(ask->L, ask->idx, 1);

    if (ask->s && !bind_same_family(from, ask->s))
        ml_lua_fail(ask->L, ML_E_BAD_HANDLE, "%s of %s",
                    b->h.kind == ML_H_BLOCK ? "the block" : "the handle",
                    ml_schedule_name(from));
    *out = ML_ARG_HANDLE(b->h);
    return true;
}

/* A variable inside e, as an expression; NULL: there is none. */
static const ml_Expr *some_variable(const ml_Expr *e)
{
    while (e->kind != ML_EXPR_VAR) {
        const ml_Expr *next = NULL;

        for (size_t k = 0; !next && k < e->n_args; k++)
            if (!(e->args[k]->flags & ML_X_VAR_FREE))
                next = e->args[k];
        if (!next)
            return NULL;
        e = next;
    }
    return e;
}

/* Whether no number in it was forgotten by remove_rv. */
static bool all_known(lua_State *L, int idx, int depth)
{
    BindHandle *h = bind_test(L, idx, &bind_handle_class);
    bool ok = true;

    luaL_checkstack(L, 8, "nested expressions");
    if (h)
        return h->h.uid != 0;
    if (!bind_test(L, idx, &bind_hexpr_class) || depth > MAX_TREE)
        return true;
    idx = lua_absindex(L, idx);
    for (int k = 1; k <= 2 && ok; k++) {
        lua_getiuservalue(L, idx, k);
        ok = all_known(L, lua_gettop(L), depth + 1);
        lua_pop(L, 1);
    }
    return ok;
}

static bool hexpr_get(lua_State *L, const char *key)
{
    bind_check(L, 1, &bind_hexpr_class);
    if (!ml_streq(key, "value") || !all_known(L, 1, 0))
        return false;
    ml_Schedule *s = schedule_of(L, 1, 3);
    ml_Ctx *cx = bind_scratch(L);
    const ml_Expr *e = tree(L, 1, cx, s, 0);

    for (;;) { /* variables are number handles: their values are known */
        const ml_Expr *v = some_variable(e);
        int64_t value;

        if (!v || !ml_handle_value(s, (ml_Handle){ML_H_EXPR, v->as.var->uid}, &value))
            break;
        e = ml_expr_subst1(cx, e, v->as.var, ml_int(cx, v->type, value));
    }
    if (!ml_is_const_int(e))
        return false;
    lua_pushinteger(L, e->as.i);
    bind_scratch_done(L, -2);
    return true;
}

/* What is deeper than a schedule takes is not shown: Lua's own way through it would end in
 * a stack that is full. */
static void add_tree(lua_State *L, int idx, ml_Text *t, int depth)
{
    static const char *const ops[ML_EXPR_KINDS] = {[ML_EXPR_ADD] = "+",
                                                   [ML_EXPR_SUB] = "-",
                                                   [ML_EXPR_MUL] = "*",
                                                   [ML_EXPR_FLOORDIV] = "//",
                                                   [ML_EXPR_FLOORMOD] = "%"};

    BindHexpr *x = bind_test(L, idx, &bind_hexpr_class);

    luaL_checkstack(L, 8, "nested expressions");
    if (!x || depth > MAX_TREE) {
        ml_text_add(t, x ? "..." : luaL_tolstring(L, idx, NULL));
        lua_pop(L, x ? 0 : 1);
        return;
    }
    ml_text_char(t, '(');
    for (int k = 1; k <= 2; k++) {
        if (k == 2)
            ml_text_fmt(t, " %s ", ops[x->op]);
        lua_getiuservalue(L, idx, k);
        add_tree(L, lua_gettop(L), t, depth + 1);
        lua_pop(L, 1);
    }
    ml_text_char(t, ')');
}

static void print_hexpr(lua_State *L, ml_Text *t)
{
    add_tree(L, 1, t, 0);
}

#define ARITHMETIC                                                                         \
    {"__add", op_add}, {"__sub", op_sub}, {"__mul", op_mul}, {"__idiv", op_idiv},          \
        {"__mod", op_mod},                                                                 \
    {                                                                                      \
        "__unm", op_neg                                                                    \
    }

static const luaL_Reg handle_meta[] = {
    {"__tostring", handle_tostring}, {"__eq", handle_eq}, ARITHMETIC, {NULL, NULL}};
static const char *const handle_fields[] = {"kind",  "name",     "alive", "ended_by",
                                            "value", "schedule", NULL};
const BindClass bind_handle_class = {
    .name = "moonloop.handle",
    .meta = handle_meta,
    .fields = handle_fields,
    .get = handle_get,
    .is_number = true,
    .arg = handle_arg,
};

static const luaL_Reg hexpr_meta[] = {ARITHMETIC, {NULL, NULL}};
static const char *const hexpr_fields[] = {"value", NULL};
const BindClass bind_hexpr_class = {
    .name = "moonloop.number",
    .meta = hexpr_meta,
    .fields = hexpr_fields,
    .get = hexpr_get,
    .print = print_hexpr,
    .is_number = true,
    .arg = hexpr_arg,
};

/* ---- auto */

static int auto_tostring(lua_State *L)
{
    lua_pushliteral(L, "auto");
    return 1;
}

static int auto_eq(lua_State *L)
{
    lua_pushboolean(L,
                    bind_test(L, 1, &bind_auto_class) && bind_test(L, 2, &bind_auto_class));
    return 1;
}

static bool auto_arg(const BindAsk *ask, ml_Arg *out)
{
    (void)ask;
    *out = ML_ARG_AUTO;
    return true;
}

static const luaL_Reg auto_meta[] = {
    {"__tostring", auto_tostring}, {"__eq", auto_eq}, {NULL, NULL}};
const BindClass bind_auto_class = {
    .name = "moonloop.auto",
    .meta = auto_meta,
    .arg = auto_arg,
};

/*
 * tensor - tensors as Lua objects, and running programs on them in the interpreter.
 *
 * Positions count from 0, as everywhere where parts of a program are counted.
 * Source: lua-api 5.
 */
#include "repl/bind/ir/ir.h"

#include "moonloop/codegen/interp/interp.h"

enum { MAX_RANK = 64 };

ml_Tensor *bind_tensor(lua_State *L, int idx)
{
    BindTensor *o = bind_check(L, idx, &bind_tensor_class);

    if (!o->t)
        bind_bad(L, "the tensor was closed");
    return o->t;
}

void bind_push_tensor(lua_State *L, BindTensor **box)
{
    *box = bind_new(L, &bind_tensor_class, sizeof(**box), 0);
}

static void adopt(lua_State *L, BindTensor *box, ml_Ctx *cx, ml_Tensor *t)
{
    if (!t)
        bind_raise(L, cx);
    box->t = t;
    bind_pressure(L, t->bytes > 1u << 28 ? 1u << 28 : t->bytes);
}

/* The list of integers at idx. */
static size_t read_shape(lua_State *L, int idx, int64_t shape[MAX_RANK])
{
    size_t n;

    idx = lua_absindex(L, idx);
    if (!lua_istable(L, idx))
        bind_bad(L, "shape: a list of integers is needed, got %s", bind_type(L, idx));
    n = lua_rawlen(L, idx);
    if (n > MAX_RANK)
        bind_bad(L, "shape: at most %d dimensions", MAX_RANK);
    for (size_t k = 0; k < n; k++) {
        lua_rawgeti(L, idx, (lua_Integer)k + 1);
        shape[k] = bind_int(L, -1, "shape");
        if (shape[k] < 0)
            bind_bad(L, "shape: the extent of axis %d is negative: %lld", (int)k,
                     (long long)shape[k]);
        lua_pop(L, 1);
    }
    return n;
}

static void set_from_table(lua_State *L, ml_Tensor *t, int idx, size_t dim, int64_t *at)
{
    if (dim == t->rank) {
        if (lua_type(L, idx) != LUA_TNUMBER && !lua_isboolean(L, idx))
            bind_bad(L, "init: numbers are needed, got %s", bind_type(L, idx));
        if (lua_isboolean(L, idx))
            ml_tensor_set_int(t, *at, lua_toboolean(L, idx));
        else if (lua_isinteger(L, idx) && !ml_dtype_is_float(t->type))
            ml_tensor_set_int(t, *at, lua_tointeger(L, idx));
        else
            ml_tensor_set(t, *at, lua_tonumber(L, idx));
        (*at)++;
        return;
    }
    luaL_checkstack(L, 4, NULL);
    if (!lua_istable(L, idx) || (int64_t)lua_rawlen(L, idx) != t->shape[dim])
        bind_bad(L, "init: dimension %d needs a list of %lld", (int)dim,
                 (long long)t->shape[dim]);
    for (int64_t k = 0; k < t->shape[dim]; k++) {
        lua_rawgeti(L, idx, k + 1);
        set_from_table(L, t, lua_gettop(L), dim + 1, at);
        lua_pop(L, 1);
    }
}

/* A number everywhere, or a filling by its name; false: the value at idx is neither. */
static bool fill(lua_State *L, ml_Tensor *t, int idx)
{
    ml_Fill how;

    if (lua_type(L, idx) == LUA_TSTRING) {
        if (!ml_fill_parse(ml_str(lua_tostring(L, idx)), &how))
            return false;
        ml_tensor_fill(t, how, "tensor", 0, 1, 0, 0);
        return true;
    }
    if (lua_type(L, idx) != LUA_TNUMBER)
        return false;
    bool whole = lua_isinteger(L, idx) && !ml_dtype_is_float(t->type);

    for (int64_t k = 0; k < t->n_lanes; k++)
        if (whole)
            ml_tensor_set_int(t, k, lua_tointeger(L, idx));
        else
            ml_tensor_set(t, k, lua_tonumber(L, idx));
    return true;
}

/* moon.tensor(shape, dtype [, init]): init a number, a table, or the name of a filling */
static int new_tensor(lua_State *L)
{
    int64_t shape[MAX_RANK], at = 0;

    lua_settop(L, 3);
    size_t rank = read_shape(L, 1, shape);
    ml_Dtype t = lua_isnil(L, 2) ? ML_DT_F32 : bind_dtype(L, 2, "dtype");
    BindTensor *box;

    bind_push_tensor(L, &box); /* 4 */
    ml_Ctx *cx = bind_scratch(L);

    adopt(L, box, cx, ml_tensor_new(cx, t, shape, rank));
    bind_scratch_done(L, 5);
    if (lua_istable(L, 3)) {
        if (t.lanes != 1)
            return bind_bad(L, "init: a vector dtype has no table form");
        set_from_table(L, box->t, 3, 0, &at);
    } else if (!lua_isnil(L, 3) && !fill(L, box->t, 3))
        return lua_type(L, 3) == LUA_TSTRING
                   ? bind_bad(L, "init: unknown filling %s", lua_tostring(L, 3))
                   : bind_bad(L,
                              "init: a number, a table or the name of a filling is needed");
    lua_settop(L, 4);
    return 1;
}

/* ---- elements */

static int64_t element(lua_State *L, const ml_Tensor *t, int idx)
{
    int64_t at = 0;

    idx = lua_absindex(L, idx);
    if (bind_whole(L, idx) && t->rank == 1) {
        at = lua_tointeger(L, idx);
        if (at < 0 || at >= t->shape[0])
            bind_bad(L, "index %lld is outside [0, %lld)", (long long)at,
                     (long long)t->shape[0]);
        return at * t->type.lanes;
    }
    if (!lua_istable(L, idx) || lua_rawlen(L, idx) != t->rank)
        bind_bad(L, "an element is t[{...}] with %d indices", (int)t->rank);
    for (uint32_t k = 0; k < t->rank; k++) {
        lua_rawgeti(L, idx, k + 1);
        int64_t i = bind_int(L, -1, "index");

        if (i < 0 || i >= t->shape[k])
            bind_bad(L, "index %lld of dimension %d is outside [0, %lld)", (long long)i,
                     (int)k, (long long)t->shape[k]);
        at = at * t->shape[k] + i;
        lua_pop(L, 1);
    }
    return at * t->type.lanes;
}

static void push_lane(lua_State *L, const ml_Tensor *t, int64_t lane)
{
    if (ml_dtype_is_bool(t->type))
        lua_pushboolean(L, ml_tensor_get_int(t, lane) != 0);
    else if (ml_dtype_is_int(t->type))
        lua_pushinteger(L, ml_tensor_get_int(t, lane));
    else
        lua_pushnumber(L, ml_tensor_get(t, lane));
}

static bool tensor_get(lua_State *L, const char *key)
{
    ml_Tensor *t = ((BindTensor *)bind_check(L, 1, &bind_tensor_class))->t;

    if (!t)
        return false;
    if (!key) {
        push_lane(L, t, element(L, t, 2));
        return true;
    }
    if (ml_streq(key, "shape")) {
        lua_createtable(L, (int)t->rank, 0);
        for (uint32_t k = 0; k < t->rank; k++) {
            lua_pushinteger(L, t->shape[k]);
            lua_rawseti(L, -2, k + 1);
        }
    } else if (ml_streq(key, "dtype"))
        bind_push_dtype(L, t->type);
    else if (ml_streq(key, "bytes"))
        lua_pushinteger(L, (lua_Integer)t->bytes);
    else if (ml_streq(key, "size"))
        lua_pushinteger(L, t->n);
    else
        return false;
    return true;
}

static int tensor_newindex(lua_State *L)
{
    ml_Tensor *t = bind_tensor(L, 1);
    int64_t at = element(L, t, 2);

    lua_settop(L, 3);
    set_from_table(L, t, 3, t->rank, &at);
    return 0;
}

/* ---- methods */

static int tensor_fill(lua_State *L)
{
    if (!fill(L, bind_tensor(L, 1), 2))
        return bind_bad(L, "fill: a number or the name of a filling is needed");
    lua_settop(L, 1);
    return 1;
}

/* t:random(seed [, lo, hi]) */
static int tensor_random(lua_State *L)
{
    ml_Tensor *t = bind_tensor(L, 1);
    int64_t seed = lua_isnoneornil(L, 2) ? 1 : bind_int(L, 2, "seed");

    ml_tensor_fill(t, ML_FILL_RANDOM, "tensor", 0, (uint64_t)seed,
                   bind_number_or(L, 3, "lo", 0), bind_number_or(L, 4, "hi", 0));
    lua_settop(L, 1);
    return 1;
}

/* t:generate(how, id, position, seed [, lo, hi]): the generators of the workloads */
static int tensor_generate(lua_State *L)
{
    ml_Tensor *t = bind_tensor(L, 1);
    ml_Fill how;

    if (!ml_fill_parse(ml_str(bind_string(L, 2, "filling")), &how))
        return bind_bad(L, "unknown filling %s", lua_tostring(L, 2));
    ml_tensor_fill(t, how, bind_string(L, 3, "id"), (uint32_t)bind_int(L, 4, "position"),
                   (uint64_t)bind_int(L, 5, "seed"), bind_number_or(L, 6, "lo", 0),
                   bind_number_or(L, 7, "hi", 0));
    lua_settop(L, 1);
    return 1;
}

static int tensor_copy(lua_State *L)
{
    ml_Tensor *t = bind_tensor(L, 1);
    BindTensor *box;

    bind_push_tensor(L, &box);
    ml_Ctx *cx = bind_scratch(L);

    adopt(L, box, cx, ml_tensor_copy(cx, t));
    bind_scratch_done(L, -1);
    lua_pop(L, 1);
    return 1;
}

static void push_nested(lua_State *L, const ml_Tensor *t, uint32_t dim, int64_t *at)
{
    luaL_checkstack(L, 4, NULL);
    if (dim == t->rank) {
        push_lane(L, t, *at);
        *at += t->type.lanes;
        return;
    }
    lua_createtable(L, (int)t->shape[dim], 0);
    for (int64_t k = 0; k < t->shape[dim]; k++) {
        push_nested(L, t, dim + 1, at);
        lua_rawseti(L, -2, k + 1);
    }
}

static int tensor_totable(lua_State *L)
{
    int64_t at = 0;

    push_nested(L, bind_tensor(L, 1), 0, &at);
    return 1;
}

static int tensor_save(lua_State *L)
{
    ml_Tensor *t = bind_tensor(L, 1);
    const char *path = bind_string(L, 2, "path");

    bind_not_safe(L, "save: no file is written");
    ml_Ctx *cx = bind_scratch(L);

    if (!ml_tensor_save(cx, t, path))
        return bind_raise(L, cx);
    return 0;
}

/* tensor_load(path [, dtype]) */
static int tensor_load(lua_State *L)
{
    ml_Dtype want = ML_DT_VOID;

    lua_settop(L, 2);
    const char *path = bind_string(L, 1, "path");
    bool given = !lua_isnil(L, 2);
    BindTensor *box;

    bind_may_read(L, path);

    if (given)
        want = bind_dtype(L, 2, "dtype");
    bind_push_tensor(L, &box);
    ml_Ctx *cx = bind_scratch(L);

    adopt(L, box, cx, ml_tensor_load(cx, path, given ? &want : NULL));
    lua_settop(L, 3);
    return 1;
}

/* t:compare(other [, {rtol=, atol=, exact=}]) */
static int tensor_compare(lua_State *L)
{
    static const char *const known[] = {"rtol", "atol", "exact", NULL};
    ml_Tolerance tol = {.exact = true};

    lua_settop(L, 3);
    ml_Tensor *a = bind_tensor(L, 1), *b = bind_tensor(L, 2);

    if (!ml_dtype_eq(a->type, b->type) || a->rank != b->rank ||
        memcmp(a->shape, b->shape, a->rank * sizeof(a->shape[0])) != 0)
        return bind_bad(L, "compare: the tensors differ in dtype or shape");
    if (bind_options(L, 3, known)) {
        tol.rtol = bind_opt_number(L, 3, "rtol", 0);
        tol.atol = bind_opt_number(L, 3, "atol", 0);
        tol.exact = bind_opt_bool(L, 3, "exact", tol.rtol == 0 && tol.atol == 0);
    }
    ml_Comparison c = ml_tensor_compare(a, b, tol);

    lua_createtable(L, 0, 4);
    bind_set_bool(L, "ok", c.outside == 0);
    bind_set_int(L, "outside", c.outside);
    bind_set_number(L, "largest", c.largest);
    if (c.first >= 0) {
        ml_Text *t = bind_text(L);

        ml_tensor_place(t, a, c.first);
        bind_push_text(L, t);
        lua_setfield(L, -3, "first_at");
        lua_pop(L, 1);
    }
    bind_facts_hint(L, &ml_check_fields);
    return 1;
}

static void print_tensor(lua_State *L, ml_Text *text)
{
    const ml_Tensor *t = ((BindTensor *)lua_touserdata(L, 1))->t;

    ml_text_add(text, t ? "tensor " : "tensor (closed)");
    if (!t)
        return;
    ml_dtype_print(text, t->type);
    for (uint32_t k = 0; k < t->rank; k++)
        ml_text_fmt(text, "%s%lld", k ? ", " : "[", (long long)t->shape[k]);
    ml_text_add(text, t->rank ? "]" : "[]");
}

static int tensor_gc(lua_State *L)
{
    BindTensor *o = lua_touserdata(L, 1);

    ml_tensor_free(o->t);
    o->t = NULL;
    return 0;
}

static const luaL_Reg tensor_meta[] = {
    {"__gc", tensor_gc}, {"__newindex", tensor_newindex}, {NULL, NULL}};
static const luaL_Reg tensor_methods[] = {
    {"fill", tensor_fill},         {"random", tensor_random},
    {"generate", tensor_generate}, {"copy", tensor_copy},
    {"totable", tensor_totable},   {"save", tensor_save},
    {"compare", tensor_compare},   {NULL, NULL}};
static const char *const tensor_fields[] = {"shape", "dtype", "bytes", "size", NULL};
const BindClass bind_tensor_class = {
    .name = "moonloop.tensor",
    .meta = tensor_meta,
    .methods = tensor_methods,
    .fields = tensor_fields,
    .get = tensor_get,
    .any_key = true,
    .print = print_tensor,
};

/* ---- running */

static void read_run_arg(lua_State *L, int idx, const ml_FuncParam *p, ml_RunArg *a)
{
    const char *name = p->buffer ? p->buffer->name : p->var->hint;

    if (p->buffer) {
        BindTensor *o = bind_test(L, idx, &bind_tensor_class);

        if (!o || !o->t)
            ml_lua_fail(L, ML_E_BAD_RUN_ARGUMENT, "%s: a tensor is needed, got %s", name,
                        bind_type(L, idx));
        a->tensor = o->t;
        return;
    }
    if (lua_type(L, idx) != LUA_TNUMBER)
        ml_lua_fail(L, ML_E_BAD_RUN_ARGUMENT, "%s: a number is needed, got %s", name,
                    bind_type(L, idx));
    a->f = lua_tonumber(L, idx);
    if (!ml_dtype_is_float(p->var->type))
        a->i = bind_int(L, idx, name);
}

/* The arguments in the table at idx: in order, or by parameter name. */
static ml_RunArg *run_args(lua_State *L, int idx, ml_Ctx *cx, const ml_Func *f)
{
    ml_RunArg *a = ML_ARRAY(cx, ml_RunArg, (size_t)f->n_params + 1);
    size_t n = lua_istable(L, idx) ? lua_rawlen(L, idx) : 0;

    if (!lua_istable(L, idx))
        bind_bad(L, "a list of arguments is needed, got %s", bind_type(L, idx));
    if (n > f->n_params || (n > 0 && n < f->n_params))
        ml_lua_fail(L, ML_E_BAD_RUN_ARGUMENT, "%s takes %d arguments, got %d", f->name,
                    (int)f->n_params, (int)n);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_FuncParam *p = &f->params[k];

        if (n > 0)
            lua_rawgeti(L, idx, k + 1);
        else
            lua_getfield(L, idx, p->buffer ? p->buffer->name : p->var->hint);
        read_run_arg(L, lua_gettop(L), p, &a[k]);
        lua_pop(L, 1);
    }
    return a;
}

/* moon.interpret(program, {tensors} [, {func=, env=, skip={}, max_iterations=}]) */
static int interpret(lua_State *L)
{
    static const char *const known[] = {
        "func", "env", "races", "regions", "undefined", "max_iterations", NULL};
    ml_InterpOpts o = {0};
    ml_InterpReport r = {0};

    lua_settop(L, 3);
    BindProgram p = bind_program(L, 1);
    const char *name = NULL;

    if (bind_options(L, 3, known)) {
        name = bind_opt_string(L, 3, "func", NULL);
        o.max_iterations = (uint64_t)bind_opt_int(L, 3, "max_iterations", 0);
        o.skip = (bind_opt_bool(L, 3, "races", true) ? 0 : ML_SKIP_RACES) |
                 (bind_opt_bool(L, 3, "regions", true) ? 0 : ML_SKIP_REGIONS) |
                 (bind_opt_bool(L, 3, "undefined", true) ? 0 : ML_SKIP_UNDEFINED);
        lua_getfield(L, 3, "env");
        if (!lua_isnil(L, -1))
            return ml_lua_fail(L, ML_E_NOT_YET, "moon.interpret with env");
    }
    const ml_Func *f = bind_program_func(L, &p, name);

    ml_RunArg *args = run_args(L, 2, bind_scratch(L), f);
    ml_Ctx **cx = bind_fork(L, p.cx); /* no Lua function between here and its end */
    bool ok = ml_interpret(*cx, p.m, f, args, f->n_params, &o, &r);

    if (!ok)
        return bind_raise_box(L, cx);
    ml_RunArg result = r.result;

    ml_ctx_unref(*cx);
    *cx = NULL;
    if (f->ret.code == ML_VOID)
        return 0;
    if (ml_dtype_is_float(f->ret))
        lua_pushnumber(L, result.f);
    else
        lua_pushinteger(L, result.i);
    return 1;
}

int bind_tensor_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"tensor", new_tensor},
                                   {"tensor_load", tensor_load},
                                   {"interpret", interpret},
                                   {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

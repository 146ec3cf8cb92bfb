/*
 * prim - one C function for every primitive, and what the table says of them.
 *
 * The table entry is the upvalue. Arguments are read into scratch memory, lined up with the
 * parameters, and the call is made with no Lua function in between. Source: style 9,
 * lua-api 1 and 7.
 */
#include "repl/bind/schedule/schedule.h"

#include "moonloop/core/base/embedded.h"
#include "repl/bind/schedule/calls.h"

/* Whether the value is the one table of a call by name: it has a string key. */
static bool has_names(lua_State *L, int idx)
{
    if (lua_type(L, idx) != LUA_TTABLE)
        return false;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) {
            lua_pop(L, 2);
            return true;
        }
    return false;
}

/* Loops are given one by one: a hole among them is a name without quotes, or the second
 * variable of `a, b = split(...)`, whose loops come in one list. */
static void no_nil_among(lua_State *L, const ml_Primitive *prim, int top)
{
    int list = 0;

    for (int k = 2; k <= top && !list; k++)
        if (lua_istable(L, k))
            list = k;
    for (int k = 2; k <= top; k++) {
        if (!lua_isnil(L, k))
            continue;
        if (list)
            bind_bad(L,
                     "%s: argument %d is nil and argument %d a list: a step returns its "
                     "loops in one list, a, b = table.unpack(split(\"i\", {auto, 4}))",
                     prim->name, k - 1, list - 1);
        bind_bad(L,
                 "%s: argument %d is nil: a loop is named by a string, as in %s(\"i\", "
                 "\"j\"); without quotes i is a variable of Lua",
                 prim->name, k - 1, prim->name);
    }
}

/* One loop or block is wanted first: a list of them is what get_loops gave. */
static void no_list_for_one(lua_State *L, const ml_Primitive *prim)
{
    ml_ParamKind kind = prim->n_params ? (ml_ParamKind)prim->params[0].kind : ML_P_VALUE;
    bool one = kind == ML_P_LOOP || kind == ML_P_BLOCK || kind == ML_P_BLOCK_OR_LOOP;

    if (!one || !lua_istable(L, 2) || has_names(L, 2))
        return;
    bool handles = lua_rawgeti(L, 2, 1) != LUA_TNIL && bind_test(L, -1, &bind_handle_class);

    lua_pop(L, 1);
    if (handles)
        bind_bad(L,
                 "%s: %s: one is needed, and this is a list of %d: i, j = "
                 "table.unpack(list) names what is in it, list[1] is its first",
                 prim->name, prim->params[0].name, (int)lua_rawlen(L, 2));
}

typedef struct Given {
    const ml_Arg *pos, *values;
    size_t n_pos, n_named;
    const char *const *keys;
} Given;

/* Arguments from stack position 2 to top. */
static Given read_given(lua_State *L, const ml_Primitive *prim, int top, ml_Ctx *cx,
                        int box, ml_Schedule *s)
{
    Given g = {0};
    ml_Arg *pos;

    if (top == 2 && has_names(L, 2)) {
        size_t n = lua_rawlen(L, 2), names = 0;
        ml_Arg *list = ML_ARRAY(cx, ml_Arg, n + 1);

        for (size_t k = 0; k < n; k++) {
            lua_rawgeti(L, 2, (lua_Integer)k + 1);
            list[k] = bind_read_arg_of(L, prim, -1, cx, box, s);
            lua_pop(L, 1);
        }
        lua_newtable(L); /* the named part alone */
        for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
            bool in_list = lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 &&
                           lua_tointeger(L, -2) <= (lua_Integer)n;

            if (in_list)
                continue;
            if (lua_type(L, -2) != LUA_TSTRING)
                bind_bad(L,
                         "a call by name has a list and parameter names, not keys like %s",
                         bind_type(L, -2));
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, -5);
            names++;
        }
        g.pos = list;
        g.n_pos = n;
        if (names > 0) {
            ml_Arg dict = bind_read_arg_of(L, prim, -1, cx, box, s);

            g.keys = dict.keys;
            g.values = dict.as.list;
            g.n_named = dict.n;
        }
        lua_pop(L, 1);
        return g;
    }
    if (prim->n_params > 0 && prim->params[0].kind == ML_P_LOOPS)
        no_nil_among(L, prim, top);
    no_list_for_one(L, prim);
    while (top > 1 && lua_isnil(L, top)) /* trailing nils are not given */
        top--;
    g.n_pos = (size_t)(top - 1);
    pos = ML_ARRAY(cx, ml_Arg, g.n_pos + 1);
    for (size_t k = 0; k < g.n_pos; k++)
        pos[k] = bind_read_arg_of(L, prim, (int)k + 2, cx, box, s);
    g.pos = pos;
    return g;
}

/* Upvalues: the table entry; the schedule that the function was taken from, for calls in
 * the style of Python, sch.split(...), where it is not the first argument. dry: the call is
 * only tried. */
static int call(lua_State *L, bool dry)
{
    const ml_Primitive *prim = lua_touserdata(L, lua_upvalueindex(1));
    bool yes = false;

    if (!bind_test(L, 1, &bind_schedule_class) &&
        lua_type(L, lua_upvalueindex(2)) == LUA_TUSERDATA) {
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_insert(L, 1);
    }
    int top = lua_gettop(L), box = top + 1;
    ml_Schedule *s = bind_check_schedule(L, 1);
    ml_Ctx *cx = bind_scratch(L);
    ml_Arg *args = ML_ARRAY(cx, ml_Arg, prim->n_params + 1);
    ml_Results results;

    Given g = read_given(L, prim, top, cx, box, s);

    if (!ml_args_by_name(cx, prim, g.pos, g.n_pos, g.keys, g.values, g.n_named, args)) {
        ml_error_set_primitive(cx, prim->name);
        return bind_raise(L, cx);
    }
    bool ok = dry ? ml_would_apply(s, prim, args, prim->n_params, &yes)
                  : ml_apply_prim(s, prim, args, prim->n_params, &results);

    bind_scratch_done(L, box);
    if (!ok)
        return bind_raise_schedule(L, s);
    if (!dry)
        return bind_push_results(L, 1, &results);
    lua_pushboolean(L, yes);
    if (yes)
        return 1;
    bind_push_failure(L, s);
    return 2;
}

static int call_primitive(lua_State *L)
{
    return call(L, false);
}

/* s:can_split(...): true, or false and the error. */
static int try_primitive(lua_State *L)
{
    return call(L, true);
}

/* Upvalues: what is not recorded (sch.show(), sch.get(v)), the schedule. */
static int call_dotted(lua_State *L)
{
    if (!bind_test(L, 1, &bind_schedule_class)) {
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_insert(L, 1);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

void bind_method_of(lua_State *L, int object)
{
    lua_CFunction own = lua_tocfunction(L, -1);

    if (own != call_primitive && own != try_primitive) {
        const char *name = lua_tostring(L, object + 1);

        if (name && ml_schedule_call_find(name)) {
            lua_pushvalue(L, object);
            lua_pushcclosure(L, call_dotted, 2);
        }
        return;
    }
    lua_getupvalue(L, -1, 1);
    lua_pushvalue(L, object);
    lua_pushcclosure(L, own, 2);
    lua_replace(L, -2);
}

/* Every spelling of primitives 13 that names a primitive of this table. */
static const char *const other_names[] = {"get_sblock", "get_axes",  "get_child_sblocks",
                                          "pragma",     "set_dtype", NULL};

static void add_primitive(lua_State *L, const ml_Primitive *p, const char *name)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)p);
    lua_pushcclosure(L, call_primitive, 1);
    lua_setfield(L, -2, name);
    if (p->no_version)
        return;
    lua_pushfstring(L, "can_%s", name);
    lua_pushlightuserdata(L, (void *)(uintptr_t)p);
    lua_pushcclosure(L, try_primitive, 1);
    lua_rawset(L, -3);
}

void bind_schedule_primitives(lua_State *L)
{
    for (size_t k = 0; k < ml_n_primitives; k++)
        add_primitive(L, ml_primitives[k], ml_primitives[k]->name);
    for (size_t k = 0; other_names[k]; k++) {
        const ml_Primitive *p = ml_primitive_find(other_names[k]);

        if (p)
            add_primitive(L, p, other_names[k]);
    }
}

/* ---- the table as Lua sees it */

static const char *param_kind(uint8_t kind)
{
    switch ((ml_ParamKind)kind) {
    case ML_P_BLOCK: return "block";
    case ML_P_LOOP: return "loop";
    case ML_P_BLOCK_OR_LOOP: return "block or loop";
    case ML_P_LOOP_OR_MARK: return "loop or mark";
    case ML_P_LOOPS: return "loops";
    case ML_P_BLOCKS: return "blocks";
    case ML_P_LOOP_BLOCKS: return "loop or blocks";
    case ML_P_FACTORS: return "factors";
    case ML_P_INT: return "integer";
    case ML_P_BOOL: return "boolean";
    case ML_P_STRING: return "string";
    case ML_P_SCOPE: return "storage scope";
    case ML_P_THREAD: return "thread axis";
    case ML_P_READ_BUFFER: return "read buffer";
    case ML_P_WRITE_BUFFER: return "write buffer";
    case ML_P_BUFFER: return "buffer";
    case ML_P_VALUE: return "value";
    case ML_P_KEY: return "annotation key";
    case ML_P_INTS: return "integers";
    case ML_P_FLOATS: return "numbers";
    case ML_P_DECISION: return "decision";
    case ML_P_NAME: return "block name";
    case ML_P_MAP: return "index map";
    case ML_P_PAD: return "pad value";
    }
    return "?";
}

static const char *result_kind(uint8_t kind)
{
    switch ((ml_ResultKind)kind) {
    case ML_R_NONE: return "nothing";
    case ML_R_LOOP: return "loop";
    case ML_R_LOOPS: return "loops";
    case ML_R_BLOCK: return "block";
    case ML_R_BLOCKS: return "blocks";
    case ML_R_EXPR: return "number";
    case ML_R_EXPRS: return "numbers";
    }
    return "?";
}

/* Pushes a default and returns true; false: the parameter must be given, or has none. */
static bool push_default(lua_State *L, const ml_Param *pa)
{
    if (!pa->optional)
        return false;
    if (pa->kind == ML_P_BOOL)
        lua_pushboolean(L, pa->def != 0);
    else if (pa->kind == ML_P_INT)
        lua_pushinteger(L, pa->def);
    else if (pa->def_s)
        lua_pushstring(L, pa->def_s);
    else
        return false;
    return true;
}

static void push_primitive(lua_State *L, const ml_Primitive *p)
{
    lua_createtable(L, 0, 13);
    bind_set_string(L, "name", p->name);
    bind_set_bool(L, "recorded", !p->not_recorded);
    bind_set_string(L, "kind", p->kind);
    bind_set_string(L, "group", p->group);
    bind_set_string(L, "summary", p->summary);
    bind_set_string(L, "help", p->help);
    bind_set_string(L, "returns", result_kind(p->result));
    lua_newtable(L); /* args, kinds, defaults, optional, docs: -5 ... -1 */
    lua_newtable(L);
    lua_newtable(L);
    lua_newtable(L);
    lua_newtable(L);
    for (size_t k = 0; k < p->n_params; k++) {
        const ml_Param *pa = &p->params[k];

        lua_pushstring(L, pa->name);
        lua_rawseti(L, -6, (lua_Integer)k + 1);
        lua_pushstring(L, param_kind(pa->kind));
        lua_rawseti(L, -5, (lua_Integer)k + 1);
        if (push_default(L, pa))
            lua_setfield(L, -4, pa->name);
        lua_pushboolean(L, pa->optional || pa->input_if_given);
        lua_setfield(L, -3, pa->name);
        bind_set_string(L, pa->name, pa->doc);
    }
    lua_setfield(L, -6, "docs");
    lua_setfield(L, -5, "optional");
    lua_setfield(L, -4, "defaults");
    lua_setfield(L, -3, "kinds");
    lua_setfield(L, -2, "args");
    lua_newtable(L);
    for (size_t k = 0; p->errors && p->errors[k] != ML_E_OK; k++) {
        lua_pushstring(L, ml_error_code(p->errors[k]));
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "errors");
}

/* moon.primitives(): the table, in its order, then the calls that are not recorded; also by
 * name */
static int primitives(lua_State *L)
{
    int n = (int)(ml_n_primitives + ml_n_schedule_calls);

    lua_createtable(L, n, n);
    for (size_t k = 0; k < ml_n_primitives; k++) {
        push_primitive(L, ml_primitives[k]);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, (lua_Integer)k + 1);
        lua_setfield(L, -2, ml_primitives[k]->name);
    }
    for (size_t k = 0; k < ml_n_schedule_calls; k++) {
        bind_push_schedule_call(L, &ml_schedule_calls[k]);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, (lua_Integer)(ml_n_primitives + k) + 1);
        lua_setfield(L, -2, ml_schedule_calls[k].name);
    }
    return 1;
}

/* moon.codes(): every error code, in the order of the catalogue */
static int codes(lua_State *L)
{
    lua_newtable(L);
    for (int k = ML_E_OK + 1; k < ML_E_COUNT; k++) {
        lua_pushstring(L, ml_error_code((ml_ErrorCode)k));
        lua_rawseti(L, -2, k - ML_E_OK);
    }
    return 1;
}

/* ---- the cases of a primitive: "== title", program, "-- call", then the result or "!!
 * code" */

static const ml_EmbeddedFile *case_file(const char *name)
{
    size_t n = name ? strlen(name) : 0;

    for (const ml_EmbeddedFile *f = ml_case_files; n > 0 && f->name; f++)
        if (strncmp(f->name, name, n) == 0 && ml_streq(f->name + n, ".case"))
            return f;
    return NULL;
}

/* The case after `at` (NULL: the first), with *n its length; NULL: no more. */
static const char *next_case(const ml_EmbeddedFile *f, const char *at, size_t *n)
{
    const char *begin = at ? strstr(at, "\n== ") : f->text, *end;

    if (!begin)
        return NULL;
    begin += *begin == '\n';
    if (strncmp(begin, "== ", 3) != 0)
        return at ? NULL : next_case(f, begin, n);
    end = strstr(begin, "\n== ");
    *n = end ? (size_t)(end - begin) : strlen(begin);
    while (*n > 0 && begin[*n - 1] == '\n')
        --*n;
    return begin;
}

static bool refuses_with(const char *text, size_t n, const char *code)
{
    const char *at = strstr(text, "\n!! ");
    size_t len = strlen(code);

    if (!at || at >= text + n)
        return false;
    at += 4;
    return strncmp(at, code, len) == 0 &&
           (at[len] == ' ' || at[len] == '\n' || at[len] == '\0');
}

/* Sets example (a case that ends with the code) and counter_example (the same primitive's
 * first case) of the table on top, when a case shows it. */
static void set_examples(lua_State *L, const char *code)
{
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_EmbeddedFile *f = case_file(ml_primitives[k]->cases);
        size_t n = 0, n_first = 0;
        const char *first = f ? next_case(f, NULL, &n_first) : NULL;

        for (const char *at = first; at; at = next_case(f, at, &n))
            if (at != first && refuses_with(at, n, code)) {
                lua_pushlstring(L, at, n);
                lua_setfield(L, -2, "example");
                lua_pushlstring(L, first, n_first);
                lua_setfield(L, -2, "counter_example");
                return;
            }
    }
}

/* family: the name of the codes that are asked for together; codes: of such a name, they. */
static void set_family(lua_State *L, ml_ErrorCode e)
{
    const char *family = ml_error_family(e);
    lua_Integer n = 0;

    if (!family)
        return;
    bind_set_string(L, "family", family);
    if (!ml_streq(family, ml_error_code(e)))
        return;
    lua_newtable(L);
    for (int k = 1; k < ML_E_COUNT; k++) {
        const char *of = ml_error_family((ml_ErrorCode)k);

        if (!of || !ml_streq(of, family) || k == (int)e)
            continue;
        lua_pushstring(L, ml_error_code((ml_ErrorCode)k));
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "codes");
}

/* explain(code): what is wrong, the rule, and the primitives that may say so; nil: unknown
 */
static int explain(lua_State *L)
{
    const char *code = bind_string(L, 1, "code");
    ml_ErrorCode e = ml_error_find(code);
    lua_Integer n = 0;
    ml_Text says = {0};

    if (e == ML_E_OK)
        return 0;
    lua_createtable(L, 0, 4);
    bind_set_string(L, "code", code);
    ml_error_meaning(&says, e);
    bind_set_string(L, "says", ml_text_z(&says));
    ml_text_free(&says);
    bind_set_string(L, "rule", ml_error_rule(e));
    lua_newtable(L);
    for (size_t k = 0; k < ml_n_primitives; k++)
        for (const ml_ErrorCode *at = ml_primitives[k]->errors; at && *at != ML_E_OK; at++)
            if (*at == e) {
                lua_pushstring(L, ml_primitives[k]->name);
                lua_rawseti(L, -2, ++n);
                break;
            }
    lua_setfield(L, -2, "primitives");
    set_family(L, e);
    set_examples(L, code);
    return 1;
}

int bind_info_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"primitives", primitives}, {"codes", codes}, {"explain", explain}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

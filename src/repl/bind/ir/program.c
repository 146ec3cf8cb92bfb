/*
 * program - modules, functions and buffers as Lua objects; reading, printing, comparing.
 *
 * A module or function keeps its context through a space; a module's context is sealed once
 * it is built. Source: lua-api 2.
 */
#include "repl/bind/ir/ir.h"

#include "moonloop/core/base/file.h"
#include "moonloop/core/compare/equal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- pushing */

void bind_push_func(lua_State *L, BindSpace *sp, const ml_Func *f)
{
    BindFunc *o = bind_new_in(L, &bind_func_class, sizeof(*o), sp);

    o->f = f;
}

void bind_push_buffer(lua_State *L, BindSpace *sp, const ml_Buffer *b)
{
    BindBuffer *o = bind_new_in(L, &bind_buffer_class, sizeof(*o), sp);

    o->b = b;
}

/* A module object without a module, whose space is there to be filled. */
static BindModule *open_module(lua_State *L)
{
    return bind_new_in(L, &bind_module_class, sizeof(BindModule), NULL);
}

static void close_module(BindModule *o, const ml_Module *m)
{
    o->m = m;
    ml_ctx_seal(o->sp->cx);
}

void bind_push_imported(lua_State *L, const ml_Module *m)
{
    BindModule *o = open_module(L);

    close_module(o, ml_import_module(ml_import_begin(o->sp->cx), m));
}

/* ---- reading */

void bind_parse(lua_State *L, ml_Str text, const ml_ParseOpts *opts)
{
    BindModule *o = open_module(L);
    BindSpace *builder = bind_state(L)->builder;
    ml_Parsed p;

    bind_state(L)->builder = o->sp; /* functions among the values build there */
    p = ml_parse(o->sp->cx, text, opts);
    bind_state(L)->builder = builder;
    if (!p.mod)
        bind_raise_parse(L, o->sp->cx, &p, text);
    close_module(o, p.mod);
    if (p.n_diags == 0)
        return;
    lua_newtable(L); /* m.warnings */
    lua_createtable(L, (int)p.n_diags, 0);
    for (size_t k = 0; k < p.n_diags; k++) {
        ml_Text *t = bind_text(L);

        ml_diag_print(t, &p.diags[k], text);
        bind_push_text(L, t);
        lua_rawseti(L, -3, (lua_Integer)k + 1);
        lua_pop(L, 1);
    }
    lua_setfield(L, -2, "warnings");
    lua_setiuservalue(L, -2, 1);
}

/* ---- values of the caller: constants, and functions that give expressions */
typedef struct ValueFn {
    lua_State *L;
    int table; /* where the values stand on the stack */
    const char *name;
} ValueFn;

typedef struct ValueCall {
    const ValueFn *fn;
    const ml_Value *const *args;
    size_t n;
    const ml_Value *out;
} ValueCall;

static const ml_Value *result(lua_State *L, int idx, BindSpace *sp, int depth)
{
    const ml_Value **list;
    size_t n;

    luaL_checkstack(L, 4, "nested results");
    if (bind_test(L, idx, &bind_expr_class))
        return ml_val_expr(sp->cx, bind_expr(L, idx, sp, ML_DT_VOID, "result"));
    if (!lua_istable(L, idx) || (n = (size_t)lua_rawlen(L, idx)) == 0)
        return bind_read_value(L, idx, sp->cx);
    if (depth > 50)
        bind_bad(L, "the result is nested too deep");
    list = ML_ARRAY(sp->cx, const ml_Value *, n);
    for (size_t k = 0; k < n; k++) {
        lua_rawgeti(L, idx, (lua_Integer)k + 1);
        list[k] = result(L, lua_gettop(L), sp, depth + 1);
        lua_pop(L, 1);
    }
    return ml_val_list(sp->cx, list, n);
}

static int call_value(lua_State *L)
{
    ValueCall *c = lua_touserdata(L, 2);
    BindSpace *sp = bind_state(L)->builder;

    lua_getfield(L, 1, c->fn->name);
    luaL_checkstack(L, (int)c->n + 8, "arguments");
    for (size_t k = 0; k < c->n; k++) {
        if (c->args[k]->kind == ML_VAL_BUFFER)
            bind_push_buffer(L, sp, c->args[k]->as.buffer);
        else
            bind_push_value(L, sp, c->args[k]);
    }
    lua_call(L, (int)c->n, 1);
    c->out = result(L, lua_gettop(L), sp, 0);
    return 0;
}

static const ml_Value *value_function(ml_Ctx *cx, void *user, const ml_Value *const *args,
                                      size_t n, const char **why)
{
    const ValueFn *fn = user;
    ValueCall c = {fn, args, n, NULL};
    lua_State *L = fn->L;
    int top = lua_gettop(L);

    if (!lua_checkstack(L, 8)) {
        *why = "the stack is full";
        return NULL;
    }
    lua_pushcfunction(L, call_value);
    lua_pushvalue(L, fn->table);
    lua_pushlightuserdata(L, &c);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK) {
        *why = ml_strdup(cx, ml_str(luaL_tolstring(L, -1, NULL)));
        c.out = NULL;
    }
    lua_settop(L, top);
    ml_error_clear(cx);
    return c.out;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ml_ParseValue *)a)->name, ((const ml_ParseValue *)b)->name);
}

/* The table at idx; functions stay in it. */
static void read_values(lua_State *L, int idx, ml_Ctx *cx, ml_ParseOpts *o)
{
    ML_VEC(ml_ParseValue) v = {0};

    if (!lua_istable(L, idx))
        bind_bad(L, "values: a table of names and constants is needed");
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        ml_ParseValue one = {0};

        if (lua_type(L, -2) != LUA_TSTRING)
            bind_bad(L, "values: a table of names and constants is needed");
        one.name = ml_strdup(cx, ml_str(lua_tostring(L, -2)));
        if (lua_type(L, -1) == LUA_TFUNCTION) {
            ValueFn *fn = ML_NEW(cx, ValueFn);

            *fn = (ValueFn){L, idx, one.name};
            one.call = value_function;
            one.user = fn;
        } else {
            one.value = bind_read_value(L, -1, cx);
        }
        ml_push(cx, &v, one);
    }
    if (v.n > 0) /* nothing depends on the order of the table */
        qsort(v.v, v.n, sizeof *v.v, by_name);
    o->values = v.v;
    o->n_values = v.n;
}

static const char *const spellings[] = {"classic", "newest", NULL};

/* moon.parse(text [, {name=, values=, spelling=, archaic=, file_mode=}]) */
static int parse(lua_State *L)
{
    static const char *const known[] = {"name",    "values",    "spelling",
                                        "archaic", "file_mode", NULL};
    ml_ParseOpts o = {.spelling = -1};

    lua_settop(L, 2);
    ml_Str text = bind_str(L, 1, "text");
    ml_Ctx *cx = bind_scratch(L);

    if (bind_options(L, 2, known)) {
        o.file = bind_opt_string(L, 2, "name", NULL);
        o.spelling = bind_opt_word(L, 2, "spelling", spellings, -1);
        o.archaic = bind_opt_bool(L, 2, "archaic", false);
        o.file_mode = bind_opt_bool(L, 2, "file_mode", false);
        if (lua_getfield(L, 2, "values") != LUA_TNIL)
            read_values(L, lua_gettop(L), cx, &o);
    }
    if (o.file)
        o.file = ml_strdup(cx, ml_str(o.file));
    bind_parse(L, text, &o);
    bind_scratch_done(L, 3);
    return 1;
}

static int close_file(lua_State *L)
{
    FILE **f = lua_touserdata(L, 1);

    if (*f)
        fclose(*f);
    *f = NULL;
    return 0;
}

void bind_read_file(lua_State *L, const char *path)
{
    int top = lua_gettop(L);
    ml_Text *t = bind_text(L);

    ml_file_home(path, t);
    path = ml_text_z(t);
    bind_may_read(L, path);
    FILE **f = bind_box(L, sizeof(*f), "moonloop.file", close_file);
    luaL_Buffer b;
    size_t n;

    errno = 0;
    *f = fopen(path, "rb");
    if (!*f) {
        int error = errno;
        ml_Text *other = bind_text(L);
        bool found = error == ENOENT && ml_file_with_suffix(path, other);

        ml_lua_fail(L, ML_E_NO_FILE, "%s: %s%s%s%s", path, strerror(error),
                    found ? "; did you mean " : "", ml_text_z(other), found ? "?" : "");
    }
    luaL_buffinit(L, &b);
    do {
        char *p = luaL_prepbuffer(&b);

        n = fread(p, 1, LUAL_BUFFERSIZE, *f);
        luaL_addsize(&b, n);
    } while (n == LUAL_BUFFERSIZE);
    if (ferror(*f))
        ml_lua_fail(L, ML_E_NO_FILE, "%s: %s", path, strerror(errno));
    fclose(*f);
    *f = NULL;
    luaL_pushresult(&b);
    lua_insert(L, top + 1);
    lua_settop(L, top + 1);
}

/* read_file(path): the file as a string */
static int read_file(lua_State *L)
{
    bind_read_file(L, bind_string(L, 1, "path"));
    return 1;
}

/* ---- what a program is */

BindProgram bind_program(lua_State *L, int idx)
{
    const BindClass *c = bind_class_of(L, idx);
    BindProgram p = {0};

    if (!c || !c->program || !c->program(L, idx, &p))
        bind_bad(L, "a program (module, function or schedule) is needed, got %s%s",
                 bind_type(L, idx),
                 lua_type(L, idx) == LUA_TSTRING
                     ? "; workload(\"GMM-0\") makes one, moon.open(path) reads one"
                     : "");
    return p;
}

bool ml_lua_to_program(lua_State *L, int idx, ml_Ctx **cx, const ml_Module **m)
{
    const BindClass *c = bind_class_of(L, idx);
    BindProgram p = {0};

    if (!c || !c->program || !c->program(L, idx, &p) || !p.m)
        return false;
    *cx = p.cx;
    *m = p.m;
    return true;
}

static bool is_entry(const ml_Func *f)
{
    const ml_Value *v = ml_dict_get(f->attrs, "tir.is_entry_func");

    return v && (v->kind == ML_VAL_BOOL || v->kind == ML_VAL_INT) && v->as.i != 0;
}

const ml_Func *bind_program_func(lua_State *L, const BindProgram *p, const char *name)
{
    const ml_Func *f = p->f;

    if (f && (!name || ml_streq(name, f->name)))
        return f;
    if (name) {
        f = p->m ? ml_module_find(p->m, name) : NULL;
        if (!f)
            ml_lua_fail(L, ML_E_UNKNOWN_FUNCTION, "%s", name);
        return f;
    }
    if (p->s && ml_schedule_func(p->s))
        return ml_schedule_func(p->s);
    for (uint32_t k = 0; k < p->m->n; k++)
        if (is_entry(p->m->funcs[k]))
            return p->m->funcs[k];
    f = ml_module_find(p->m, "main");
    if (!f && p->m->n == 1)
        f = p->m->funcs[0];
    if (!f) {
        ml_Ctx *cx = bind_scratch(L);

        ml_fail_no_function(cx, p->m);
        bind_raise(L, cx);
    }
    return f;
}

bool bind_print_opts(lua_State *L, int idx, ml_PrintOpts *o)
{
    static const char *const known[] = {"spelling", "regions", "prefix", "sugar", NULL};
    static const char *const regions[] = {"always", "auto", NULL};

    *o = (ml_PrintOpts){.spelling = -1};
    if (!bind_options(L, idx, known))
        return false;
    o->spelling = bind_opt_word(L, idx, "spelling", spellings, -1);
    o->regions_auto = bind_opt_word(L, idx, "regions", regions, 0) == 1;
    o->no_sugar = !bind_opt_bool(L, idx, "sugar", true);
    o->prefix = bind_opt_string(L, idx, "prefix", NULL);
    return true;
}

/* p:script([opts]) of modules and functions */
int bind_program_script(lua_State *L)
{
    ml_PrintOpts o;

    lua_settop(L, 2);
    BindProgram p = bind_program(L, 1);

    bind_print_opts(L, 2, &o);
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *t = bind_text(L);

    if (p.f)
        ml_print_func(cx, t, p.f, &o);
    else
        ml_print_module(cx, t, p.m, &o);
    ml_text_char(t, '\n');
    return bind_give_text(L, t);
}

static void push_hash(lua_State *L, uint64_t h)
{
    char text[20];

    snprintf(text, sizeof text, "%016llx", (unsigned long long)h);
    lua_pushstring(L, text);
}

int bind_program_hash(lua_State *L)
{
    BindProgram p = bind_program(L, 1);
    ml_Ctx *cx = bind_scratch(L);

    push_hash(L, p.f ? ml_hash_func(cx, p.f, NULL) : ml_hash_module(cx, p.m, NULL));
    return 1;
}

static bool equal_programs(ml_Ctx *cx, const BindProgram *a, const BindProgram *b,
                           const ml_EqualOpts *o, ml_Difference *d)
{
    const ml_Func *fa = a->f, *fb = b->f;

    if (!fa && !fb)
        return ml_equal_module(cx, a->m, b->m, o, d);
    if (!fa && a->m->n == 1)
        fa = a->m->funcs[0];
    if (!fb && b->m->n == 1)
        fb = b->m->funcs[0];
    if (fa && fb)
        return ml_equal_func(cx, fa, fb, o, d);
    if (d)
        *d = (ml_Difference){
            .reason = "a function and a module", .path_a = "", .path_b = ""};
    return false;
}

/* moon.equal(a, b [, {map_free=, ignore_symbol=}]): true, or false and where */
static int equal(lua_State *L)
{
    static const char *const known[] = {"map_free", "ignore_symbol", NULL};
    ml_EqualOpts o = {0};
    ml_Difference d = {0};

    lua_settop(L, 3);
    if (bind_options(L, 3, known)) {
        o.map_free = bind_opt_bool(L, 3, "map_free", false);
        o.ignore_symbol = bind_opt_bool(L, 3, "ignore_symbol", false);
    }
    BindExpr *ea = bind_test(L, 1, &bind_expr_class),
             *eb = bind_test(L, 2, &bind_expr_class);
    ml_Ctx *cx = bind_scratch(L);
    bool same;

    if (ea && eb)
        same = ml_equal_expr(cx, ea->e, eb->e, &o, &d);
    else {
        BindProgram a = bind_program(L, 1), b = bind_program(L, 2);

        same = equal_programs(cx, &a, &b, &o, &d);
    }
    lua_pushboolean(L, same);
    if (same)
        return 1;
    lua_createtable(L, 0, 3);
    bind_set_string(L, "reason", d.reason ? d.reason : "");
    bind_set_string(L, "a", d.path_a ? d.path_a : "");
    bind_set_string(L, "b", d.path_b ? d.path_b : "");
    bind_scratch_done(L, 4);
    return 2;
}

/* Equal as programs, or two modules; anything else is not equal. */
int bind_program_eq(lua_State *L)
{
    for (int k = 1; k <= 2; k++)
        if (!bind_test(L, k, &bind_module_class) && !bind_test(L, k, &bind_func_class)) {
            lua_pushboolean(L, 0);
            return 1;
        }
    BindProgram a = bind_program(L, 1), b = bind_program(L, 2);
    ml_Ctx *cx = bind_scratch(L);

    lua_pushboolean(L, a.f ? b.f && ml_equal_func(cx, a.f, b.f, NULL, NULL)
                           : b.m && ml_equal_module(cx, a.m, b.m, NULL, NULL));
    return 1;
}

/* ---- modules */

static int module_func(lua_State *L)
{
    BindModule *o = bind_check(L, 1, &bind_module_class);
    const char *name = bind_string(L, 2, "name");
    const ml_Func *f = ml_module_find(o->m, name);

    if (!f)
        return ml_lua_fail(L, ML_E_UNKNOWN_FUNCTION, "%s", name);
    bind_push_func(L, o->sp, f);
    return 1;
}

/* m:with(name, f): a module of its own with that function replaced or added */
static int module_with(lua_State *L)
{
    BindModule *o = bind_check(L, 1, &bind_module_class);
    const char *name = bind_string(L, 2, "name");
    BindFunc *f = bind_check(L, 3, &bind_func_class);
    BindModule *to = open_module(L);
    ml_Ctx *cx = to->sp->cx;
    const ml_Module *m = ml_import_module(ml_import_begin(cx), o->m);
    ml_Func g = *bind_import_fresh(cx, f->f);

    g.name = ml_strdup(cx, ml_str(name));
    close_module(to, ml_module_with(cx, m, ml_func_from(cx, &g)));
    return 1;
}

/* moon.module(f...): a module of the given functions, under their names */
static int new_module(lua_State *L)
{
    int n = lua_gettop(L);

    luaL_checkstack(L, 4, NULL);
    BindModule *to = open_module(L);
    ml_Ctx *cx = to->sp->cx;
    const ml_Func **list = ML_ARRAY(cx, const ml_Func *, (size_t)n + 1);

    for (int k = 1; k <= n; k++) {
        BindFunc *f = bind_check(L, k, &bind_func_class);

        for (int j = 1; j < k; j++)
            if (ml_streq(list[j - 1]->name, f->f->name))
                return bind_bad(L, "two functions are named %s", f->f->name);
        list[k - 1] = n == 1 ? ml_import_func(ml_import_begin(cx), f->f)
                             : bind_import_fresh(cx, f->f);
    }
    close_module(to, ml_module_new(cx, list, (size_t)n, NULL));
    return 1;
}

/* attach(module, table): further fields of a module object */
static int attach(lua_State *L)
{
    bind_check(L, 1, &bind_module_class);
    bind_table(L, 2, "attach");
    lua_settop(L, 2);
    lua_setiuservalue(L, 1, 1);
    return 1;
}

static bool module_get(lua_State *L, const char *key)
{
    BindModule *o = bind_check(L, 1, &bind_module_class);

    if (!key || !o->m)
        return false;
    if (ml_streq(key, "names")) {
        lua_createtable(L, (int)o->m->n, 0);
        for (uint32_t k = 0; k < o->m->n; k++) {
            lua_pushstring(L, o->m->funcs[k]->name);
            lua_rawseti(L, -2, (lua_Integer)k + 1);
        }
        return true;
    }
    if (lua_getiuservalue(L, 1, 1) == LUA_TTABLE) {
        if (lua_getfield(L, -1, key) != LUA_TNIL)
            return true;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    const ml_Func *f = ml_module_find(o->m, key);

    if (!f)
        return false;
    bind_push_func(L, o->sp, f);
    return true;
}

static void print_module(lua_State *L, ml_Text *t)
{
    const ml_Module *m = ((BindModule *)lua_touserdata(L, 1))->m;

    ml_text_add(t, "module");
    for (uint32_t k = 0; m && k < m->n; k++)
        ml_text_fmt(t, "%s %s", k ? "," : "", m->funcs[k]->name);
}

static int module_len(lua_State *L)
{
    BindModule *o = bind_check(L, 1, &bind_module_class);

    lua_pushinteger(L, o->m->n);
    return 1;
}

static bool module_program(lua_State *L, int idx, BindProgram *out)
{
    BindModule *o = lua_touserdata(L, idx);

    if (o->m)
        *out = (BindProgram){.cx = o->sp->cx, .m = o->m};
    return o->m != NULL;
}

static const luaL_Reg module_meta[] = {
    {"__eq", bind_program_eq}, {"__len", module_len}, {NULL, NULL}};
static const luaL_Reg module_methods[] = {{"script", bind_program_script},
                                          {"hash", bind_program_hash},
                                          {"func", module_func},
                                          {"with", module_with},
                                          {NULL, NULL}};
static const char *const module_fields[] = {"names", "inputs", "reference", "flop",
                                            "bytes", "id",     "warnings",  NULL};
const BindClass bind_module_class = {
    .name = "moonloop.module",
    .meta = module_meta,
    .methods = module_methods,
    .fields = module_fields,
    .get = module_get,
    .any_key = true,
    .in_space = true,
    .print = print_module,
    .program = module_program,
};

int bind_program_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"parse", parse},         {"equal", equal},
                                   {"module", new_module},   {"attach", attach},
                                   {"read_file", read_file}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

/*
 * program - modules, functions and buffers as Lua objects; reading, printing, comparing.
 *
 * A module or function keeps its context through a space; a module's context is sealed once
 * it is built. Source: lua-api 2.
 */
#include "repl/bind/bind.h"

#include "core/equal.h"
#include "core/walk.h"

#include <errno.h>
#include <stdio.h>

/* ---- pushing */

void bind_push_module(lua_State *L, BindSpace *sp, const ml_Module *m)
{
    BindModule *o = bind_new(L, &bind_module_class, sizeof(*o), 1);

    bind_space_ref(sp);
    *o = (BindModule){sp, m};
}

void bind_push_func(lua_State *L, BindSpace *sp, const ml_Func *f)
{
    BindFunc *o = bind_new(L, &bind_func_class, sizeof(*o), 0);

    bind_space_ref(sp);
    *o = (BindFunc){sp, f};
}

void bind_push_buffer(lua_State *L, BindSpace *sp, const ml_Buffer *b)
{
    BindBuffer *o = bind_new(L, &bind_buffer_class, sizeof(*o), 0);

    bind_space_ref(sp);
    *o = (BindBuffer){sp, b};
}

/* A module object without a module, whose space is there to be filled. */
static BindModule *open_module(lua_State *L)
{
    BindModule *o = bind_new(L, &bind_module_class, sizeof(*o), 1);

    bind_pressure(L, 32 * 1024);
    o->sp = bind_space_new(L, bind_new_ctx(L));
    bind_space_ref(o->sp);
    return o;
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
    ml_Parsed p = ml_parse(o->sp->cx, text, opts);

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

static const char *const spellings[] = {"classic", "newest", NULL};

/* moon.parse(text [, {name=, values=, spelling=, archaic=, file_mode=}]) */
static int parse(lua_State *L)
{
    static const char *const known[] = {"name",    "values",    "spelling",
                                        "archaic", "file_mode", NULL};
    size_t n = 0;
    ml_ParseOpts o = {.spelling = -1};

    lua_settop(L, 2);
    bind_string(L, 1, "text");
    const char *text = lua_tolstring(L, 1, &n);
    ml_Ctx *cx = bind_scratch(L);

    if (bind_options(L, 2, known)) {
        o.file = bind_opt_string(L, 2, "name", NULL);
        o.spelling = bind_opt_word(L, 2, "spelling", spellings, -1);
        o.archaic = bind_opt_bool(L, 2, "archaic", false);
        o.file_mode = bind_opt_bool(L, 2, "file_mode", false);
        if (lua_getfield(L, 2, "values") != LUA_TNIL) {
            ml_Arg dict = bind_read_arg(L, -1, cx, 3, NULL);
            ml_ParseValue *v = ML_ARRAY(cx, ml_ParseValue, dict.n + 1);

            if (dict.kind != ML_A_DICT && dict.n > 0)
                bind_bad(L, "values: a table of names and constants is needed");
            for (uint32_t k = 0; k < dict.n; k++) {
                v[k].name = dict.keys[k];
                lua_getfield(L, -1, dict.keys[k]);
                v[k].value = bind_read_value(L, -1, cx);
                lua_pop(L, 1);
            }
            o.values = v;
            o.n_values = dict.n;
        }
    }
    if (o.file)
        o.file = ml_strdup(cx, ml_str(o.file));
    bind_parse(L, (ml_Str){text, n}, &o);
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
    FILE **f = lua_newuserdatauv(L, sizeof(*f), 0);
    luaL_Buffer b;
    size_t n;

    *f = NULL;
    if (luaL_newmetatable(L, "moonloop.file")) {
        lua_pushcfunction(L, close_file);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    errno = 0;
    *f = fopen(path, "rb");
    if (!*f)
        ml_lua_fail(L, ML_E_NO_FILE, "%s: %s", path, strerror(errno));
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
    BindModule *m = bind_test(L, idx, &bind_module_class);
    BindFunc *f = bind_test(L, idx, &bind_func_class);
    BindSchedule *s = bind_test(L, idx, &bind_schedule_class);

    if (m && m->m)
        return (BindProgram){.cx = m->sp->cx, .m = m->m};
    if (f && f->f)
        return (BindProgram){.cx = f->sp->cx, .f = f->f};
    if (s && s->s)
        return (BindProgram){
            .cx = ml_schedule_ctx(s->s), .m = ml_schedule_program(s->s).mod, .s = s->s};
    bind_bad(L, "a program (module, function or schedule) is needed, got %s",
             bind_type(L, idx));
    return (BindProgram){0};
}

bool ml_lua_to_program(lua_State *L, int idx, ml_Ctx **cx, const ml_Module **m)
{
    BindModule *mod = bind_test(L, idx, &bind_module_class);
    BindSchedule *s = bind_test(L, idx, &bind_schedule_class);

    if (mod && mod->m) {
        *cx = mod->sp->cx;
        *m = mod->m;
        return true;
    }
    if (!s || !s->s)
        return false;
    *cx = ml_schedule_ctx(s->s);
    *m = ml_schedule_program(s->s).mod;
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
    if (!f)
        ml_lua_fail(L, ML_E_NO_FUNCTION, "%d functions", (int)p->m->n);
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
static int script(lua_State *L)
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
    bind_push_text(L, t);
    return 1;
}

static void push_hash(lua_State *L, uint64_t h)
{
    char text[20];

    snprintf(text, sizeof text, "%016llx", (unsigned long long)h);
    lua_pushstring(L, text);
}

static int hash(lua_State *L)
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
    lua_pushstring(L, d.reason ? d.reason : "");
    lua_setfield(L, -2, "reason");
    lua_pushstring(L, d.path_a ? d.path_a : "");
    lua_setfield(L, -2, "a");
    lua_pushstring(L, d.path_b ? d.path_b : "");
    lua_setfield(L, -2, "b");
    bind_scratch_done(L, 4);
    return 2;
}

/* Equal as programs, or two modules; anything else is not equal. */
static int program_eq(lua_State *L)
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

typedef struct Fresh {
    ml_Ctx *cx;
    ml_Subst s;
    ml_Map *seen;
} Fresh;

static void fresh_var(Fresh *r, const ml_Var *v)
{
    if (ml_map_has(r->seen, v->uid))
        return;
    ml_map_set(r->cx, r->seen, v->uid, v);
    ml_subst_var(r->cx, &r->s, v, ml_var(r->cx, ml_var_fresh(r->cx, v)));
}

static bool fresh_sizes(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_VAR)
        fresh_var(user, e->as.var);
    return true;
}

static const ml_Expr *const *substituted(Fresh *r, const ml_Expr *const *e, size_t n)
{
    const ml_Expr **out = ML_ARRAY(r->cx, const ml_Expr *, n + 1);

    for (size_t k = 0; k < n; k++)
        out[k] = ml_expr_subst(r->cx, e[k], &r->s);
    return out;
}

static const ml_Var *replacement(const Fresh *r, const ml_Var *v)
{
    const ml_Expr *e = ml_map_get(r->s.vars, v->uid);

    return e->as.var;
}

/* A copy of f in cx in which every identity is fresh: one module may hold it beside others.
 */
static const ml_Func *import_fresh(ml_Ctx *cx, const ml_Func *f)
{
    ml_Func g = *ml_import_func(ml_import_begin(cx), f);
    Fresh r = {.cx = cx, .seen = ml_map_new(cx)};
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, (size_t)g.n_params + 1);

    for (uint32_t k = 0; k < g.n_params; k++) {
        const ml_Buffer *b = g.params[k].buffer;

        fresh_var(&r, g.params[k].var);
        for (uint16_t d = 0; b && d < b->rank; d++)
            ml_expr_visit(b->shape[d], fresh_sizes, &r);
        for (uint16_t d = 0; b && d < b->n_strides; d++)
            ml_expr_visit(b->strides[d], fresh_sizes, &r);
        if (b)
            ml_expr_visit(b->elem_offset, fresh_sizes, &r);
    }
    for (uint32_t k = 0; k < g.n_params; k++) {
        const ml_Buffer *b = g.params[k].buffer;

        params[k].var = replacement(&r, g.params[k].var);
        if (!b)
            continue;
        ml_Buffer nb = *b;

        nb.shape = substituted(&r, b->shape, b->rank);
        nb.strides = substituted(&r, b->strides, b->n_strides);
        nb.elem_offset = ml_expr_subst(cx, b->elem_offset, &r.s);
        params[k].buffer = ml_buffer_from(cx, &nb, true);
        ml_subst_buffer(cx, &r.s, b, params[k].buffer);
    }
    g.params = params;
    g.body = ml_stmt_subst(cx, ml_stmt_copy_fresh(cx, g.body, NULL), &r.s);
    return ml_func_from(cx, &g);
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
    ml_Func g = *import_fresh(cx, f->f);

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
        list[k - 1] =
            n == 1 ? ml_import_func(ml_import_begin(cx), f->f) : import_fresh(cx, f->f);
    }
    close_module(to, ml_module_new(cx, list, (size_t)n, NULL));
    return 1;
}

/* attach(module, table): further fields of a module object */
static int attach(lua_State *L)
{
    bind_check(L, 1, &bind_module_class);
    luaL_checktype(L, 2, LUA_TTABLE);
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

static int module_tostring(lua_State *L)
{
    BindModule *o = bind_check(L, 1, &bind_module_class);

    if (!o->m) {
        lua_pushliteral(L, "module");
        return 1;
    }
    ml_Text *t = bind_text(L);

    ml_text_add(t, "module");
    for (uint32_t k = 0; k < o->m->n; k++)
        ml_text_fmt(t, "%s %s", k ? "," : "", o->m->funcs[k]->name);
    bind_push_text(L, t);
    return 1;
}

static int module_len(lua_State *L)
{
    BindModule *o = bind_check(L, 1, &bind_module_class);

    lua_pushinteger(L, o->m->n);
    return 1;
}

static int space_gc(lua_State *L) /* every object that begins with its space */
{
    BindSpace **sp = lua_touserdata(L, 1);

    bind_space_unref(*sp);
    *sp = NULL;
    return 0;
}

static const luaL_Reg module_meta[] = {{"__gc", space_gc},
                                       {"__tostring", module_tostring},
                                       {"__eq", program_eq},
                                       {"__len", module_len},
                                       {NULL, NULL}};
static const luaL_Reg module_methods[] = {{"script", script},
                                          {"hash", hash},
                                          {"func", module_func},
                                          {"with", module_with},
                                          {NULL, NULL}};
static const char *const module_fields[] = {"names", "inputs", "reference", "flop",
                                            "bytes", "id",     "warnings",  NULL};
const BindClass bind_module_class = {"moonloop.module", module_meta, module_methods,
                                     module_fields, module_get};

/* ---- functions */

static int func_with_attr(lua_State *L)
{
    BindFunc *o = bind_check(L, 1, &bind_func_class);
    const char *key = bind_string(L, 2, "key");
    BindFunc *to = bind_new(L, &bind_func_class, sizeof(*to), 0);

    to->sp = bind_space_new(L, bind_new_ctx(L));
    bind_space_ref(to->sp);
    ml_Ctx *cx = to->sp->cx;
    ml_Func f = *ml_import_func(ml_import_begin(cx), o->f);

    if (lua_isnoneornil(L, 3))
        f.attrs = ml_dict_without(cx, f.attrs, key);
    else
        f.attrs = ml_dict_with(cx, f.attrs, key, bind_read_value(L, 3, cx));
    to->f = ml_func_from(cx, &f);
    ml_ctx_seal(cx);
    return 1;
}

static bool func_get(lua_State *L, const char *key)
{
    BindFunc *o = bind_check(L, 1, &bind_func_class);

    if (!o->f)
        return false;
    if (ml_streq(key, "name"))
        lua_pushstring(L, o->f->name);
    else if (ml_streq(key, "params")) {
        lua_createtable(L, (int)o->f->n_params, 0);
        for (uint32_t k = 0; k < o->f->n_params; k++) {
            const ml_FuncParam *p = &o->f->params[k];

            if (p->buffer)
                bind_push_buffer(L, o->sp, p->buffer);
            else
                lua_pushstring(L, p->var->hint);
            lua_rawseti(L, -2, (lua_Integer)k + 1);
        }
    } else if (ml_streq(key, "buffers")) {
        lua_Integer n = 0;

        lua_newtable(L);
        for (uint32_t k = 0; k < o->f->n_params; k++)
            if (o->f->params[k].buffer) {
                bind_push_buffer(L, o->sp, o->f->params[k].buffer);
                lua_pushvalue(L, -1);
                lua_rawseti(L, -3, ++n);
                lua_setfield(L, -2, o->f->params[k].buffer->name);
            }
    } else if (ml_streq(key, "attrs")) {
        lua_newtable(L);
        for (uint32_t k = 0; o->f->attrs && k < o->f->attrs->n; k++) {
            bind_push_value(L, o->sp, o->f->attrs->as.list[k]);
            lua_setfield(L, -2, o->f->attrs->keys[k]);
        }
    } else
        return false;
    return true;
}

static int func_tostring(lua_State *L)
{
    BindFunc *o = bind_check(L, 1, &bind_func_class);

    if (!o->f) {
        lua_pushliteral(L, "function");
        return 1;
    }
    ml_Text *t = bind_text(L);

    ml_text_fmt(t, "function %s(", o->f->name);
    for (uint32_t k = 0; k < o->f->n_params; k++) {
        const ml_FuncParam *p = &o->f->params[k];

        ml_text_fmt(t, "%s%s", k ? ", " : "", p->buffer ? p->buffer->name : p->var->hint);
    }
    ml_text_char(t, ')');
    bind_push_text(L, t);
    return 1;
}

static const luaL_Reg func_meta[] = {
    {"__gc", space_gc}, {"__tostring", func_tostring}, {"__eq", program_eq}, {NULL, NULL}};
static const luaL_Reg func_methods[] = {
    {"script", script}, {"hash", hash}, {"with_attr", func_with_attr}, {NULL, NULL}};
static const char *const func_fields[] = {"name", "params", "buffers", "attrs", NULL};
const BindClass bind_func_class = {"moonloop.function", func_meta, func_methods,
                                   func_fields, func_get};

/* ---- buffers */

static void push_extents(lua_State *L, BindSpace *sp, const ml_Expr *const *e, size_t n)
{
    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        if (ml_is_const_int(e[k]))
            lua_pushinteger(L, e[k]->as.i);
        else
            bind_push_expr(L, sp, e[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
}

static bool buffer_get(lua_State *L, const char *key)
{
    BindBuffer *o = bind_check(L, 1, &bind_buffer_class);
    const ml_Buffer *b = o->b;

    if (ml_streq(key, "name"))
        lua_pushstring(L, b->name);
    else if (ml_streq(key, "shape"))
        push_extents(L, o->sp, b->shape, b->rank);
    else if (ml_streq(key, "strides"))
        push_extents(L, o->sp, b->strides, b->n_strides);
    else if (ml_streq(key, "dtype"))
        bind_push_dtype(L, b->type);
    else if (ml_streq(key, "scope"))
        lua_pushstring(L, b->scope);
    else
        return false;
    return true;
}

static int buffer_tostring(lua_State *L)
{
    BindBuffer *o = bind_check(L, 1, &bind_buffer_class);
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *t = bind_text(L);

    ml_text_fmt(t, "%s: ", o->b->name);
    ml_dtype_print(t, o->b->type);
    ml_text_char(t, '[');
    for (uint16_t k = 0; k < o->b->rank; k++) {
        if (k)
            ml_text_add(t, ", ");
        ml_print_expr(cx, t, o->b->shape[k], NULL);
    }
    ml_text_char(t, ']');
    if (!ml_streq(o->b->scope, "global"))
        ml_text_fmt(t, " %s", o->b->scope);
    bind_push_text(L, t);
    return 1;
}

static int buffer_eq(lua_State *L)
{
    BindBuffer *a = bind_test(L, 1, &bind_buffer_class),
               *b = bind_test(L, 2, &bind_buffer_class);

    lua_pushboolean(L, a && b && a->b == b->b);
    return 1;
}

static const luaL_Reg buffer_meta[] = {
    {"__gc", space_gc}, {"__tostring", buffer_tostring}, {"__eq", buffer_eq}, {NULL, NULL}};
static const char *const buffer_fields[] = {"name",  "shape",   "dtype",
                                            "scope", "strides", NULL};
const BindClass bind_buffer_class = {"moonloop.buffer", buffer_meta, NULL, buffer_fields,
                                     buffer_get};

int bind_program_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"parse", parse},         {"equal", equal},
                                   {"module", new_module},   {"attach", attach},
                                   {"read_file", read_file}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

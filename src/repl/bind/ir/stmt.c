/*
 * stmt - the statement part of moon.ir: buffers, statements, blocks, functions.
 *
 * What is built lives in the builder's space; a finished function is imported into a sealed
 * context of its own, after a check that it is well-formed. Source: ir-and-analysis 1,
 * lua-api 2.
 */
#include "repl/bind/ir/ir.h"

#include "moonloop/verify/verify.h"

static int push_stmt(lua_State *L, BindSpace *sp, const ml_Stmt *s)
{
    if (!ml_ok_or_fail(sp->cx))
        return bind_raise(L, sp->cx);
    BindStmt *o = bind_new_in(L, &bind_stmt_class, sizeof(*o), sp);

    o->s = s;
    return 1;
}

static const ml_Stmt *stmt_at(lua_State *L, int idx, BindSpace *sp, const char *what)
{
    BindStmt *o = bind_test(L, idx, &bind_stmt_class);

    if (!o)
        bind_bad(L, "%s: a statement is needed, got %s", what, bind_type(L, idx));
    if (o->sp != sp)
        bind_bad(L, "%s: the statement belongs to another program", what);
    return o->s;
}

static const ml_Buffer *buffer_at(lua_State *L, int idx, BindSpace *sp, const char *what)
{
    BindBuffer *o = bind_test(L, idx, &bind_buffer_class);

    if (!o)
        bind_bad(L, "%s: a buffer is needed, got %s", what, bind_type(L, idx));
    if (o->sp != sp)
        bind_bad(L, "%s: buffer %s belongs to another program", what, o->b->name);
    return o->b;
}

/* Brings an expression to the integer dtype t; raises when it is no integer of it. */
static const ml_Expr *as_index(lua_State *L, BindSpace *sp, const ml_Expr *e, ml_Dtype t,
                               const char *what)
{
    if (ml_dtype_eq(e->type, t))
        return e;
    if (!ml_dtype_is_int(e->type) || e->type.lanes != 1)
        bind_bad(L, "%s: an integer is needed", what);
    if (!ml_is_const_int(e) && e->type.bits > t.bits)
        bind_bad(L, "%s: the dtype is wider than the variable's", what);
    if (ml_is_const_int(e) && !ml_dtype_fits(t, e->as.i))
        bind_bad(L, "%s: %lld does not fit the variable", what, (long long)e->as.i);
    return ml_cast(sp->cx, t, e);
}

/* The field `key` of the table at t as an integer of dtype `type`. */
static const ml_Expr *index_field(lua_State *L, int t, BindSpace *sp, const char *key,
                                  ml_Dtype type)
{
    lua_getfield(L, t, key);
    bind_whole(L, -1);
    const ml_Expr *e = bind_expr(L, lua_gettop(L), sp, type, key);

    lua_pop(L, 1);
    return as_index(L, sp, e, type, key);
}

/* The same of `min`, which may be missing. */
static const ml_Expr *min_field(lua_State *L, int t, BindSpace *sp, ml_Dtype type)
{
    bool given = lua_getfield(L, t, "min") != LUA_TNIL;

    lua_pop(L, 1);
    return given ? index_field(L, t, sp, "min", type) : ml_int(sp->cx, type, 0);
}

static const ml_Stmt *stmt_field(lua_State *L, int t, BindSpace *sp, const char *key)
{
    lua_getfield(L, t, key);
    const ml_Stmt *s = stmt_at(L, lua_gettop(L), sp, key);

    lua_pop(L, 1);
    return s;
}

/* A value of the field, in the arena; NULL: there is none. */
static const ml_Value *value_field(lua_State *L, int t, BindSpace *sp, const char *key)
{
    const ml_Value *v = NULL;

    if (lua_getfield(L, t, key) != LUA_TNIL)
        v = bind_read_value(L, lua_gettop(L), sp->cx);
    lua_pop(L, 1);
    return v;
}

/* Pushes the list of that field and returns its length; whatever else stands there counts as
 * an empty one. */
static uint32_t list_field(lua_State *L, int t, const char *key)
{
    return lua_getfield(L, t, key) == LUA_TTABLE ? (uint32_t)lua_rawlen(L, -1) : 0;
}

static const ml_Expr *condition_at(lua_State *L, int idx, BindSpace *sp)
{
    const ml_Expr *c = bind_expr(L, idx, sp, ML_DT_BOOL, "condition");

    if (!ml_dtype_is_bool(c->type) || c->type.lanes != 1)
        bind_bad(L, "condition: a comparison is needed");
    return c;
}

static const ml_Var *var_at(lua_State *L, int idx, BindSpace *sp, const char *what)
{
    const ml_Expr *e = bind_expr(L, idx, sp, ML_DT_VOID, what);

    if (e->kind != ML_EXPR_VAR)
        bind_bad(L, "%s: a variable is needed", what);
    return e->as.var;
}

static const ml_Var *var_field(lua_State *L, int t, BindSpace *sp)
{
    lua_getfield(L, t, "var");
    const ml_Var *v = var_at(L, lua_gettop(L), sp, "var");

    lua_pop(L, 1);
    return v;
}

/* buffer(name, shape [, dtype [, scope]]) */
static int ir_buffer(lua_State *L)
{
    size_t n;

    lua_settop(L, 4);
    BindSpace *sp = bind_builder(L);
    const char *name = ml_strdup(sp->cx, ml_str(bind_string(L, 1, "name")));
    const ml_Expr **shape = bind_exprs(L, 2, sp, ML_DT_I32, "shape", &n);
    ml_Dtype t = lua_isnil(L, 3) ? ML_DT_F32 : bind_dtype(L, 3, "dtype");
    const char *where =
        lua_isnil(L, 4) ? "" : ml_strdup(sp->cx, ml_str(bind_string(L, 4, "scope")));

    if (ml_scope(where).rank == ML_SCOPE_UNKNOWN)
        return ml_lua_fail(L, ML_E_BAD_STORAGE_SCOPE, "%s", where);
    if (n > UINT16_MAX)
        return bind_bad(L, "shape: too many dimensions");
    if (t.code == ML_VOID || t.code == ML_HANDLE)
        return bind_bad(L, "dtype: %s cannot be stored", lua_tostring(L, 3));
    for (size_t k = 0; k < n; k++) {
        if (!ml_dtype_is_index(shape[k]->type))
            return bind_bad(L, "shape: the extent of axis %d is no integer", (int)k);
        if (ml_is_const_int(shape[k]) && shape[k]->as.i < 0)
            return bind_bad(L, "shape: the extent of axis %d is negative: %lld", (int)k,
                            (long long)shape[k]->as.i);
        if (n > 0 && !ml_dtype_eq(shape[k]->type, shape[0]->type))
            shape[k] = as_index(L, sp, shape[k], ML_DT_I64, "shape");
    }
    bind_push_buffer(L, sp, ml_buffer_new(sp->cx, name, t, shape, n, where));
    return 1;
}

/* store(buffer, value, indices) */
static int ir_store(lua_State *L)
{
    size_t n;
    BindSpace *sp = bind_builder(L);
    const ml_Buffer *b = buffer_at(L, 1, sp, "buffer");
    const ml_Expr *v = bind_expr(L, 2, sp, b->type, "value");
    const ml_Expr **idx = bind_exprs(L, 3, sp, ml_buffer_index_dtype(b), "indices", &n);

    if (n != b->rank)
        return bind_bad(L, "%s takes an index for each dimension: %d, not %d", b->name,
                        (int)b->rank, (int)n);
    for (size_t k = 0; k < n; k++)
        if (!ml_dtype_is_int(idx[k]->type) || idx[k]->type.lanes != 1)
            return bind_bad(L, "index %d of %s is no integer", (int)k, b->name);
    if (!ml_dtype_eq(v->type, b->type)) {
        if (v->type.lanes != b->type.lanes || v->type.code == ML_VOID)
            return bind_bad(L, "the value does not fit %s", b->name);
        v = ml_cast(sp->cx, b->type, v);
    }
    return push_stmt(L, sp, ml_store(sp->cx, b, v, idx, n, NULL));
}

/* seq{s1, s2, ...} */
static int ir_seq(lua_State *L)
{
    BindSpace *sp = bind_builder(L);

    if (!lua_istable(L, 1))
        return bind_bad(L, "a list of statements is needed");
    size_t n = lua_rawlen(L, 1);
    const ml_Stmt **v = ML_ARRAY(sp->cx, const ml_Stmt *, n + 1);

    for (size_t k = 0; k < n; k++) {
        lua_rawgeti(L, 1, (lua_Integer)k + 1);
        v[k] = stmt_at(L, -1, sp, "statement");
        lua_pop(L, 1);
    }
    return push_stmt(L, sp, ml_seq(sp->cx, v, n));
}

/* loop{var=, min=0, extent=, kind="serial", thread=, annotations=, body=} */
static int ir_loop(lua_State *L)
{
    static const char *const known[] = {"var",    "min",         "extent", "kind",
                                        "thread", "annotations", "body",   NULL};
    static const char *const kinds[] = {"serial",   "parallel",       "vectorized",
                                        "unrolled", "thread_binding", NULL};
    ml_For f = {0};

    lua_settop(L, 1);
    if (!bind_options(L, 1, known))
        return bind_bad(L, "loop: a table is needed");
    BindSpace *sp = bind_builder(L);

    f.kind = (uint8_t)bind_opt_word(L, 1, "kind", kinds, 0);
    f.var = var_field(L, 1, sp);
    if (!ml_dtype_is_int(f.var->type))
        return bind_bad(L, "var: an integer variable is needed");
    f.extent = index_field(L, 1, sp, "extent", f.var->type);
    f.min = min_field(L, 1, sp, f.var->type);
    f.body = stmt_field(L, 1, sp, "body");
    f.annotations = value_field(L, 1, sp, "annotations");
    const char *thread = bind_opt_string(L, 1, "thread", NULL);

    if ((thread != NULL) != (f.kind == ML_FOR_THREAD))
        return bind_bad(L, "thread: given exactly when the kind is thread_binding");
    if (thread) {
        f.thread = ml_thread(ml_strdup(sp->cx, ml_str(thread)));
        if (ml_thread_rank(f.thread) < 0)
            return bind_bad(L, "thread: unknown thread axis %s", thread);
    }
    return push_stmt(L, sp, ml_for_from(sp->cx, &f));
}

/* if_(condition, then [, else]) */
static int ir_if(lua_State *L)
{
    lua_settop(L, 3);
    BindSpace *sp = bind_builder(L);
    const ml_Expr *c = condition_at(L, 1, sp);

    return push_stmt(L, sp,
                     ml_if(sp->cx, c, stmt_at(L, 2, sp, "then"),
                           lua_isnil(L, 3) ? NULL : stmt_at(L, 3, sp, "else")));
}

/* while_(condition, body) */
static int ir_while(lua_State *L)
{
    BindSpace *sp = bind_builder(L);
    const ml_Expr *c = condition_at(L, 1, sp);

    return push_stmt(L, sp, ml_while(sp->cx, c, stmt_at(L, 2, sp, "body")));
}

/* evaluate(expression) */
static int ir_evaluate(lua_State *L)
{
    BindSpace *sp = bind_builder(L);

    return push_stmt(L, sp, ml_evaluate(sp->cx, bind_expr(L, 1, sp, ML_DT_I32, "value")));
}

/* bind(variable, value): visible to the statements after it */
static int ir_bind(lua_State *L)
{
    BindSpace *sp = bind_builder(L);
    const ml_Var *v = var_at(L, 1, sp, "variable");
    const ml_Expr *e = bind_expr(L, 2, sp, v->type, "value");

    if (!ml_dtype_eq(v->type, e->type))
        return bind_bad(L, "the value's dtype differs from the variable's");
    return push_stmt(L, sp, ml_bind(sp->cx, v, e));
}

/* ---- blocks */

/* {var=, extent=, min=0, kind="spatial", value=} at the top */
static ml_Iter read_iter(lua_State *L, BindSpace *sp)
{
    static const char *const known[] = {"var", "extent", "min", "kind", "value", NULL};
    static const char *const kinds[] = {"spatial", "reduce", "scan", "opaque", NULL};
    int t = lua_gettop(L);
    ml_Iter it = {0};

    if (!bind_options(L, t, known))
        bind_bad(L, "iters: each is a table with var, extent, kind and value");
    it.kind = (uint8_t)bind_opt_word(L, t, "kind", kinds, 0);
    it.var = var_field(L, t, sp);
    it.extent = index_field(L, t, sp, "extent", it.var->type);
    it.min = min_field(L, t, sp, it.var->type);
    it.value = index_field(L, t, sp, "value", it.var->type);
    lua_settop(L, t);
    return it;
}

/* {buffer, {min, extent}...} at the top */
static ml_Region read_region(lua_State *L, BindSpace *sp)
{
    int t = lua_gettop(L);

    if (!lua_istable(L, t))
        bind_bad(L, "a region is a list {buffer, {min, extent}, ...}");
    lua_rawgeti(L, t, 1);
    const ml_Buffer *b = buffer_at(L, t + 1, sp, "region");
    ml_Range *r = ML_ARRAY(sp->cx, ml_Range, (size_t)b->rank + 1);
    ml_Dtype it = ml_buffer_index_dtype(b);

    if (lua_rawlen(L, t) != (size_t)b->rank + 1)
        bind_bad(L, "region of %s: %d ranges are needed", b->name, (int)b->rank);
    for (int k = 0; k < b->rank; k++) {
        lua_settop(L, t + 1);
        if (lua_rawgeti(L, t, k + 2) != LUA_TTABLE)
            bind_bad(L, "region of %s: each range is {min, extent}", b->name);
        lua_rawgeti(L, t + 2, 1);
        lua_rawgeti(L, t + 2, 2);
        bind_whole(L, t + 3);
        bind_whole(L, t + 4);
        r[k].min = bind_expr(L, t + 3, sp, it, "min");
        r[k].extent = bind_expr(L, t + 4, sp, r[k].min->type, "extent");
        if (!ml_dtype_is_int(r[k].min->type) ||
            !ml_promote(sp->cx, &r[k].min, &r[k].extent))
            bind_bad(L, "region of %s: integers are needed", b->name);
    }
    lua_settop(L, t);
    return (ml_Region){b, r};
}

/* The regions of the field; false: it is not given. */
static bool region_field(lua_State *L, int t, BindSpace *sp, const char *key,
                         const ml_Region **out, uint32_t *n)
{
    *n = list_field(L, t, key);
    bool given = lua_istable(L, -1);
    ml_Region *v = ML_ARRAY(sp->cx, ml_Region, *n + 1);

    for (uint32_t k = 0; k < *n; k++) {
        lua_rawgeti(L, -1, k + 1);
        v[k] = read_region(L, sp);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    *out = v;
    return given;
}

/* block{name=, iters={}, predicate=, reads=, writes=, allocs={}, annotations=, init=,
 * body=}; regions that are not given are worked out from the body */
static int ir_block(lua_State *L)
{
    static const char *const known[] = {"name",   "iters",  "predicate",   "reads",
                                        "writes", "allocs", "annotations", "init",
                                        "body",   NULL};
    ml_Block b = {.name = "root"};

    lua_settop(L, 1);
    if (!bind_options(L, 1, known))
        return bind_bad(L, "block: a table is needed");
    BindSpace *sp = bind_builder(L);

    b.name = ml_strdup(sp->cx, ml_str(bind_opt_string(L, 1, "name", "root")));
    lua_settop(L, 1);
    b.tag = ml_fresh_uid(sp->cx);
    b.n_iters = list_field(L, 1, "iters"); /* 2 */
    ml_Iter *iters = ML_ARRAY(sp->cx, ml_Iter, b.n_iters + 1);

    for (uint32_t k = 0; k < b.n_iters; k++) {
        lua_rawgeti(L, 2, k + 1);
        iters[k] = read_iter(L, sp);
        lua_pop(L, 1);
    }
    b.iters = iters;
    b.predicate = lua_getfield(L, 1, "predicate") == LUA_TNIL
                      ? ml_bool(sp->cx, true)
                      : bind_expr(L, 3, sp, ML_DT_BOOL, "predicate");
    if (!ml_dtype_is_bool(b.predicate->type))
        return bind_bad(L, "predicate: a comparison is needed");
    b.n_allocs = list_field(L, 1, "allocs"); /* 4 */
    const ml_Buffer **allocs = ML_ARRAY(sp->cx, const ml_Buffer *, b.n_allocs + 1);

    for (uint32_t k = 0; k < b.n_allocs; k++) {
        lua_rawgeti(L, 4, k + 1);
        allocs[k] = buffer_at(L, 5, sp, "allocs");
        lua_pop(L, 1);
    }
    b.allocs = allocs;
    b.annotations = value_field(L, 1, sp, "annotations");
    if (lua_getfield(L, 1, "init") != LUA_TNIL)
        b.init = stmt_at(L, 5, sp, "init");
    b.body = stmt_field(L, 1, sp, "body");
    bool reads = region_field(L, 1, sp, "reads", &b.reads, &b.n_reads);
    bool writes = region_field(L, 1, sp, "writes", &b.writes, &b.n_writes);
    const ml_Block *made = ml_as_block(ml_block_from(sp->cx, &b));

    if (!(reads && writes) &&
        b.n_iters > 0) { /* a block without iters, the root, needs none */
        const ml_Block *all = ml_block_reinfer(sp->cx, NULL, made);

        if (!all)
            return bind_raise(L, sp->cx);
        b.reads = reads ? b.reads : all->reads;
        b.n_reads = reads ? b.n_reads : all->n_reads;
        b.writes = writes ? b.writes : all->writes;
        b.n_writes = writes ? b.n_writes : all->n_writes;
        made = ml_as_block(ml_block_from(sp->cx, &b));
    }
    return push_stmt(L, sp, &made->base);
}

/* ---- functions */

/* func{name="main", params={buffers and variables}, body=, attrs={}} */
static int ir_func(lua_State *L)
{
    static const char *const known[] = {"name", "params", "body", "attrs", "private", NULL};
    ml_Func f = {.ret = ML_DT_VOID, .spelling = ML_CLASSIC};
    ml_Findings findings = {0};

    lua_settop(L, 1);
    if (!bind_options(L, 1, known))
        return bind_bad(L, "func: a table is needed");
    BindSpace *sp = bind_builder(L);
    ml_Ctx *cx = sp->cx;

    f.name = ml_strdup(cx, ml_str(bind_opt_string(L, 1, "name", "main")));
    bool private = bind_opt_bool(L, 1, "private", false);

    lua_settop(L, 1);
    if (lua_getfield(L, 1, "params") != LUA_TTABLE)
        return bind_bad(L, "params: a list is needed");
    f.n_params = (uint32_t)lua_rawlen(L, 2);
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, f.n_params + 1);

    for (uint32_t k = 0; k < f.n_params; k++) {
        lua_rawgeti(L, 2, k + 1);
        if (bind_test(L, 3, &bind_buffer_class)) {
            params[k].buffer = buffer_at(L, 3, sp, "params");
            params[k].var = ml_var_new(cx, params[k].buffer->name, ML_DT_HANDLE);
        } else
            params[k].var = var_at(L, 3, sp, "params");
        lua_pop(L, 1);
    }
    f.params = params;
    f.body = stmt_field(L, 1, sp, "body");
    f.attrs = value_field(L, 1, sp, "attrs");
    if (f.attrs && f.attrs->kind != ML_VAL_DICT) {
        if (f.attrs->n > 0)
            return bind_bad(L, "attrs: a table by name is needed");
        f.attrs = NULL;
    }
    if (!private && !ml_dict_get(f.attrs, "global_symbol"))
        f.attrs =
            ml_dict_with(cx, f.attrs, "global_symbol", ml_val_string(cx, ml_str(f.name)));
    const ml_Func *made = ml_func_from(cx, &f);

    if (made->body->has_block && !ml_func_root(made)) { /* as at import: a root block */
        ml_Block root = {
            .name = "root", .predicate = ml_bool(cx, true), .body = made->body};

        root.tag = ml_fresh_uid(cx);
        made = ml_func_with_body(cx, made, ml_block_from(cx, &root));
    }
    const ml_Module *one = ml_module_new(cx, &made, 1, NULL);

    if (!ml_ok_or_fail(cx) || !ml_verify_well_formed(cx, one, &findings))
        return bind_raise(L, cx);
    BindFunc *to = bind_open_func(L);

    to->f = ml_import_func(ml_import_begin(to->sp->cx), made);
    ml_ctx_seal(to->sp->cx);
    return 1;
}

/* ---- the object */

static void print_stmt(lua_State *L, ml_Text *t)
{
    ml_print_stmt(bind_scratch(L), t, ((BindStmt *)lua_touserdata(L, 1))->s, NULL);
}

const BindClass bind_stmt_class = {
    .name = "moonloop.statement",
    .in_space = true,
    .print = print_stmt,
};

int bind_stmt_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"buffer", ir_buffer},     {"store", ir_store}, {"seq", ir_seq},
        {"loop", ir_loop},         {"if_", ir_if},      {"while_", ir_while},
        {"evaluate", ir_evaluate}, {"bind", ir_bind},   {"block", ir_block},
        {"func", ir_func},         {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

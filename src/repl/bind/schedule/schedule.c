/*
 * schedule - schedules as Lua objects: program, versions, handles, text.
 *
 * The primitives are methods too (prim.c). A schedule object holds one reference; handles
 * and traces hold the object. Source: lua-api 3.
 */
#include "repl/bind/schedule/schedule.h"

#include <stdio.h>

ml_Schedule *bind_check_schedule(lua_State *L, int idx)
{
    BindSchedule *o = bind_check(L, idx, &bind_schedule_class);

    if (!o->s)
        bind_bad(L, "the schedule was closed");
    return o->s;
}

ml_Schedule *ml_lua_to_schedule(lua_State *L, int idx)
{
    BindSchedule *o = bind_test(L, idx, &bind_schedule_class);

    return o ? o->s : NULL;
}

void ml_lua_push_schedule(lua_State *L, ML_TAKES ml_Schedule *s)
{
    BindSchedule *o = bind_new(L, &bind_schedule_class, sizeof(*o), 0);

    o->s = s;
}

/* ---- making one */

static const char *const schedule_options[] = {"target",
                                               "seed",
                                               "name",
                                               "func",
                                               "debug_mask",
                                               "debug_mode",
                                               "error_render_level",
                                               "enable_check",
                                               "unchecked",
                                               NULL};

static void read_options(lua_State *L, int idx, ml_Ctx *cx, ml_ScheduleOpts *o)
{
    static const char *const levels[] = {"brief", "detail", "fast", "none", NULL};
    static const char *const masks[] = {"none", "all", NULL};

    o->seed = bind_state(L)->seed;
    o->intrins = bind_intrins(L);
    if (!bind_options(L, idx, schedule_options))
        return;
    o->name = bind_opt_string(L, idx, "name", NULL);
    o->func = bind_opt_string(L, idx, "func", NULL);
    o->seed = bind_opt_int(L, idx, "seed", o->seed);
    o->render = (ml_RenderLevel)bind_opt_word(L, idx, "error_render_level", levels, 0);
    o->no_check = !bind_opt_bool(L, idx, "enable_check", true);
    o->unchecked = bind_opt_bool(L, idx, "unchecked", false);
    for (int k = 0; k < 2; k++) {
        const char *key = k ? "debug_mode" : "debug_mask";

        if (lua_getfield(L, idx, key) == LUA_TNUMBER) {
            lua_Integer mask = bind_int(L, -1, key);

            if (mask < -1 || mask > 3)
                bind_bad(L, "%s: 0, 1, 2, 3 or -1 (all) is needed, got %lld", key,
                         (long long)mask);
            o->debug_mask = (uint32_t)mask;
        } else if (!lua_isnil(L, -1))
            o->debug_mask = bind_opt_word(L, idx, key, masks, 0) ? UINT32_MAX : 0;
        lua_pop(L, 1);
    }
    if (o->seed == 0 || o->seed > INT32_MAX)
        bind_bad(
            L, "seed: an integer of 1 to 2147483647 is needed, or -1 for entropy, got %lld",
            (long long)o->seed);
    if (lua_getfield(L, idx, "target") != LUA_TNIL)
        o->target = bind_read_value(L, -1, cx);
    lua_pop(L, 1);
}

/* schedule(program [, opts]) */
static int new_schedule(lua_State *L)
{
    ml_ScheduleOpts o = {0};
    const ml_Error *error = NULL;

    lua_settop(L, 2);
    BindProgram p = bind_program(L, 1);
    BindModule *holder = NULL; /* of the context with what the options add */
    BindSchedule *to = bind_new(L, &bind_schedule_class, sizeof(*to), 0);
    ml_Ctx *cx = p.cx;

    bind_pressure(L, (size_t)64 * 1024);
    if (p.s) { /* another schedule's program: a module of its own */
        bind_push_imported(L, p.m);
        BindModule *m = lua_touserdata(L, -1);

        p = (BindProgram){.cx = m->sp->cx, .m = m->m};
        cx = p.cx;
    }
    if (p.f || !lua_isnil(L, 2)) {
        holder = bind_new(L, &bind_module_class, sizeof(*holder), 1);
        holder->sp = bind_space_new(L, ml_ctx_fork(cx));
        bind_space_ref(holder->sp);
        cx = holder->sp->cx;
    }
    if (p.f) {
        ml_Func f = *p.f;
        const ml_Func *one;

        f.name = "main";
        one = ml_func_from(cx, &f);
        p.m = ml_module_new(cx, &one, 1, NULL);
    }
    read_options(L, 2, cx, &o);
    if (!o.target && bind_state(L)->engine && ml_engine_device(bind_state(L)->engine)) {
        const char *kind = ml_engine_device(bind_state(L)->engine)->name;

        o.target = ml_dict_with(cx, NULL, "kind", ml_val_string(cx, ml_str(kind)));
    }
    if (!o.name && p.f)
        o.name = p.f->name;
    to->s = ml_schedule_new(cx, p.m, &o, &error);
    if (!to->s)
        return bind_raise(L, cx);
    ml_schedule_verify_each(to->s, bind_state(L)->verify);
    lua_pushvalue(L, 3);
    return 1;
}

static int copy(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    BindSchedule *to = bind_new(L, &bind_schedule_class, sizeof(*to), 0);

    to->s = ml_schedule_copy(s);
    return 1;
}

/* trial_copy(s): a copy to try steps on; nothing of s changes, its random state neither. */
static int trial_copy(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    const ml_State before = ml_schedule_state(s);
    int n = copy(L);

    ml_schedule_restore(s, before);
    return n;
}

/* ---- program */

/* s:text([version]): the program with display names */
static int text(lua_State *L)
{
    ml_PrintOpts o = {.spelling = -1, .regions_auto = true};

    lua_settop(L, 2);
    ml_Schedule *s = bind_check_schedule(L, 1);
    int v = lua_isnil(L, 2) ? ml_schedule_version(s) : bind_version(L, 2, s);
    ml_Text *t = bind_text(L);

    ml_schedule_print(s, v, t, &o);
    return bind_give_text(L, t);
}

static int mod(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);

    bind_push_imported(L, ml_schedule_program(s).mod);
    return 1;
}

/* s:func([name]): the function worked on, or that one, imported */
static int func(lua_State *L)
{
    lua_settop(L, 2);
    BindProgram p = bind_program(L, 1);
    const ml_Func *f =
        bind_program_func(L, &p, lua_isnil(L, 2) ? NULL : bind_string(L, 2, "name"));
    BindFunc *to = bind_open_func(L);

    to->f = ml_import_func(ml_import_begin(to->sp->cx), f);
    ml_ctx_seal(to->sp->cx);
    return 1;
}

static int hash(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    int64_t digits = lua_isnoneornil(L, 2) ? 16 : bind_int(L, 2, "digits");
    char z[20];

    if (digits < 1 || digits > 16)
        return bind_bad(L, "digits: 1 to 16 are needed, got %d", (int)digits);
    snprintf(z, sizeof z, "%016llx", (unsigned long long)ml_schedule_hash(s));
    lua_pushlstring(L, z, (size_t)digits);
    return 1;
}

/* ---- the loop tree */

typedef struct Tree {
    ml_Schedule *s;
    ml_Ctx *cx;
    ml_Text *t;
    const char *separator;
    int depth;
} Tree;

static void tree_line(Tree *r, const ml_Stmt *st)
{
    ml_text_repeat(r->t, ' ', (size_t)(2 * r->depth));
    if (st->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(st);

        ml_text_fmt(r->t, "%s ", ml_name_of(r->s, f->var->uid));
        if (ml_is_const_int(f->extent)) /* without its dtype */
            ml_text_int(r->t, f->extent->as.i);
        else
            ml_print_expr(r->cx, r->t, f->extent, NULL);
        if (f->kind == ML_FOR_THREAD)
            ml_text_fmt(r->t, " bind %s", f->thread.name);
        else if (f->kind != ML_FOR_SERIAL)
            ml_text_fmt(r->t, " %s", ml_for_kind_name((ml_ForKind)f->kind));
    } else {
        const ml_Block *b = ml_as_block(st);

        ml_text_fmt(r->t, "%s", ml_name_of(r->s, b->tag));
        for (uint32_t k = 0; k < b->n_reads; k++)
            ml_text_fmt(r->t, "%s%s", k ? ", " : "   reads ",
                        ml_name_of(r->s, b->reads[k].buffer->uid));
        for (uint32_t k = 0; k < b->n_writes; k++)
            ml_text_fmt(r->t, "%s%s", k ? ", " : "   writes ",
                        ml_name_of(r->s, b->writes[k].buffer->uid));
    }
    ml_text_char(r->t, '\n');
}

static void tree_child(const ml_Stmt *st, bool in_init, void *user)
{
    Tree *r = user;
    bool line = st->kind == ML_STMT_FOR ||
                (st->kind == ML_STMT_BLOCK && ml_as_block(st)->n_iters > 0);

    if (in_init || !st->has_block) /* loops inside a leaf block have no names */
        return;
    if (line)
        tree_line(r, st);
    r->depth += line;
    ml_stmt_children(st, tree_child, r);
    r->depth -= line;
}

/* s:tree(): loops with extents and kinds, blocks with what they read and write */
static int tree(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    const ml_Module *m = ml_schedule_program(s).mod;
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *t = bind_text(L);

    for (uint32_t k = 0; k < m->n; k++) {
        Tree r = {s, cx, t, "", 1};

        ml_text_fmt(t, "%s\n", m->funcs[k]->name);
        tree_child(m->funcs[k]->body, false, &r);
    }
    return bind_give_text(L, t);
}

/* ---- handles */

static void resolve(lua_State *L, ml_Schedule *s, const char *z, ml_HandleKind want,
                    ml_Handle *h)
{
    if (!ml_resolve(s, z, want, h))
        bind_raise_schedule(L, s);
}

/* s:handle(v): by any name; a handle is given back */
static int handle(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    ml_Handle h;

    lua_settop(L, 2);
    if (ml_lua_to_handle(L, 2, &from, &h)) {
        if (!bind_same_family(from, s))
            return ml_lua_fail(L, ML_E_BAD_HANDLE, "the handle");
    } else
        resolve(L, s, bind_string(L, 2, "name"), ML_H_NONE, &h);
    bind_push_handle(L, 1, h);
    return 1;
}

static void push_handles(lua_State *L, const ml_StmtVec *v, ml_HandleKind kind)
{
    bind_new_handles(L, v->n);
    for (size_t k = 0; k < v->n; k++) {
        bind_push_handle(L, 1, (ml_Handle){(uint8_t)kind, ml_stmt_uid(v->v[k])});
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
}

/* s:loops(block): the loops above it, outermost first */
static int loops(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    ml_StmtVec v = {0};
    ml_Handle h;

    lua_settop(L, 2);
    ml_Ctx *cx = bind_scratch(L);

    if (!ml_lua_to_handle(L, 2, &from, &h))
        resolve(L, s, bind_string(L, 2, "block"), ML_H_BLOCK, &h);
    else if (!bind_same_family(from, s))
        return ml_lua_fail(L, ML_E_BAD_HANDLE, "the block");
    if (h.kind != ML_H_BLOCK)
        return bind_bad(L, "loops: a block is needed");
    if (!ml_handle_alive(s, h))
        return ml_lua_fail(L, ML_E_EXPIRED_HANDLE, "block %s is gone",
                           ml_name_of(s, h.uid));
    ml_index_loops(cx, ml_schedule_program(s).index, h.uid, &v);
    push_handles(L, &v, ML_H_LOOP);
    bind_scratch_done(L, 3);
    return 1;
}

/* s:blocks(): all blocks of the function worked on but its root, in program order */
static int blocks(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    const ml_Func *f = ml_schedule_func(s);
    ml_StmtVec v = {0};

    lua_settop(L, 1);
    ml_Ctx *cx = bind_scratch(L);

    if (!f) {
        ml_fail_unchosen(cx, ml_schedule_program(s).mod);
        return bind_raise(L, cx);
    }
    ml_all_blocks(cx, f->body, &v);
    push_handles(L, &v, ML_H_BLOCK);
    bind_scratch_done(L, 2);
    return 1;
}

/* ---- not in the table of primitives */

static int seed(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);

    if (!ml_schedule_seed(s, bind_int(L, 2, "seed")))
        return bind_raise_schedule(L, s);
    return 0;
}

static int fork_seed(lua_State *L)
{
    lua_pushinteger(L, ml_schedule_fork_seed(bind_check_schedule(L, 1)));
    return 1;
}

/* s:get(handle): the value of a number; what a loop or block is, as a table */
static int get(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    ml_Handle h;
    int64_t v;

    lua_settop(L, 2);
    if (bind_test(L, 2, &bind_hexpr_class)) {
        lua_getfield(L, 2, "value");
        return 1;
    }
    if (bind_test(L, 2, &bind_auto_class) || lua_isinteger(L, 2))
        return 1;
    if (!ml_lua_to_handle(L, 2, &from, &h))
        resolve(L, s, bind_string(L, 2, "handle"), ML_H_NONE, &h);
    else if (!bind_same_family(from, s))
        return ml_lua_fail(L, ML_E_BAD_HANDLE, "the handle");
    if (ml_handle_value(s, h, &v)) {
        lua_pushinteger(L, v);
        return 1;
    }
    const ml_Stmt *st = ml_index_node(ml_schedule_program(s).index, h.uid);

    if (!st)
        return ml_lua_fail(L, ML_E_EXPIRED_HANDLE, "%s is gone", ml_name_of(s, h.uid));
    lua_createtable(L, 0, 4);
    bind_set_string(L, "name", ml_name_of(s, h.uid));
    if (st->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(st);

        bind_set_string(L, "node", "loop");
        bind_set_string(L, "kind", ml_for_kind_name((ml_ForKind)f->kind));
        if (ml_is_const_int(f->extent)) {
            bind_set_int(L, "extent", f->extent->as.i);
        }
        if (f->thread.axis) {
            bind_set_string(L, "thread", f->thread.name);
        }
        bind_push_value(L, NULL, f->annotations);
        lua_setfield(L, -2, "annotations");
        return 1;
    }
    const ml_Block *b = ml_as_block(st);

    bind_set_string(L, "node", "block");
    bind_push_value(L, NULL, b->annotations);
    lua_setfield(L, -2, "annotations");
    lua_createtable(L, (int)b->n_iters, 0);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        lua_createtable(L, 0, 2);
        bind_set_string(L, "name", b->iters[k].var->hint);
        bind_set_string(L, "kind", ml_iter_kind_name((ml_IterKind)b->iters[k].kind));
        if (ml_is_const_int(b->iters[k].extent)) {
            bind_set_int(L, "extent", b->iters[k].extent->as.i);
        }
        lua_rawseti(L, -2, k + 1);
    }
    lua_setfield(L, -2, "iters");
    return 1;
}

/* s:notes(): what the last accepted step wants to tell */
static int notes(lua_State *L)
{
    const char *const *list = NULL;
    size_t n = ml_schedule_notes(bind_check_schedule(L, 1), &list);

    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        lua_pushstring(L, list[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    return 1;
}

static int trace(lua_State *L)
{
    bind_check_schedule(L, 1);
    lua_settop(L, 1);
    bind_push_trace(L, 1);
    return 1;
}

static int saved(lua_State *L, void (*write)(ml_Schedule *, ml_Text *))
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    ml_Text *t = bind_text(L);

    write(s, t);
    return bind_give_text(L, t);
}

static int saved_json(lua_State *L)
{
    return saved(L, ml_saved_write);
}

static int saved_lua(lua_State *L)
{
    return saved(L, ml_saved_lua);
}

static bool schedule_get(lua_State *L, const char *key)
{
    BindSchedule *o = bind_check(L, 1, &bind_schedule_class);

    if (!o->s)
        return false;
    if (ml_streq(key, "name"))
        lua_pushstring(L, ml_schedule_name(o->s));
    else if (ml_streq(key, "target") && ml_schedule_opts(o->s)->target)
        bind_push_value(L, NULL, ml_schedule_opts(o->s)->target);
    else
        return false;
    return true;
}

static int schedule_tostring(lua_State *L)
{
    BindSchedule *o = bind_check(L, 1, &bind_schedule_class);

    if (!o->s)
        lua_pushliteral(L, "schedule (closed)");
    else
        lua_pushfstring(L, "schedule %s v%d", ml_schedule_name(o->s),
                        ml_schedule_version(o->s));
    return 1;
}

static int schedule_gc(lua_State *L)
{
    BindSchedule *o = lua_touserdata(L, 1);

    ml_schedule_unref(o->s);
    o->s = NULL;
    return 0;
}

/* Two objects of one schedule (the host pushes it anew) are equal. */
static int schedule_eq(lua_State *L)
{
    BindSchedule *a = bind_test(L, 1, &bind_schedule_class);
    BindSchedule *b = bind_test(L, 2, &bind_schedule_class);

    lua_pushboolean(L, a && b && a->s == b->s);
    return 1;
}

static bool schedule_program(lua_State *L, int idx, BindProgram *out)
{
    BindSchedule *o = lua_touserdata(L, idx);

    if (o->s)
        *out = (BindProgram){
            .cx = ml_schedule_ctx(o->s), .m = ml_schedule_program(o->s).mod, .s = o->s};
    return o->s != NULL;
}

static void add_methods(lua_State *L)
{
    bind_schedule_primitives(L);
    bind_schedule_calls(L);
    bind_schedule_versions(L);
}

static const luaL_Reg schedule_meta[] = {{"__gc", schedule_gc},
                                         {"__tostring", schedule_tostring},
                                         {"__eq", schedule_eq},
                                         {NULL, NULL}};
static const luaL_Reg schedule_methods[] = {{"script", bind_program_script},
                                            {"text", text},
                                            {"mod", mod},
                                            {"func", func},
                                            {"hash", hash},
                                            {"tree", tree},
                                            {"copy", copy},
                                            {"handle", handle},
                                            {"loops", loops},
                                            {"blocks", blocks},
                                            {"seed", seed},
                                            {"fork_seed", fork_seed},
                                            {"get", get},
                                            {"notes", notes},
                                            {"trace", trace},
                                            {"saved_json", saved_json},
                                            {"saved_lua", saved_lua},
                                            {NULL, NULL}};
static const char *const schedule_fields[] = {"name", "target", NULL};
const BindClass bind_schedule_class = {
    .name = "moonloop.schedule",
    .meta = schedule_meta,
    .methods = schedule_methods,
    .fields = schedule_fields,
    .get = schedule_get,
    .add_methods = add_methods,
    .method_of = bind_method_of,
    .program = schedule_program,
};

int bind_schedule_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"schedule", new_schedule},
                                   {"trace", bind_trace_new},
                                   {"trial_copy", trial_copy},
                                   {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}

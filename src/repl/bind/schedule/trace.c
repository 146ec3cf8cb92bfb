/*
 * trace - traces as Lua objects: printed, simplified, changed, replayed.
 *
 * A trace keeps the context that its instructions live in and has a context of its own for
 * what is made anew. Source: primitives 12, lua-api 3.
 */
#include "repl/bind/schedule/schedule.h"

#include "moonloop/core/json/json.h"

typedef struct BindTrace {
    ml_Ctx *own;  /* of the list */
    ml_Ctx *held; /* of the schedule's instructions, or NULL */
    ml_Trace t;
} BindTrace; /* uservalue 1: the trace or schedule that it was made from, or nil */

static BindTrace *new_trace(lua_State *L)
{
    BindTrace *o = bind_new(L, &bind_trace_class, sizeof(*o), 1);

    bind_pressure(L, (size_t)16 * 1024);
    o->own = bind_new_ctx(L);
    return o;
}

void bind_push_trace(lua_State *L, int sched)
{
    sched = lua_absindex(L, sched);
    ml_Schedule *s = bind_check_schedule(L, sched);
    BindTrace *o = new_trace(L);

    o->held = ml_ctx_ref(ml_schedule_ctx(s));
    o->t = ml_schedule_trace(s, o->own);
    lua_pushvalue(L, sched);
    lua_setiuservalue(L, -2, 1);
}

/* A trace made from the one at idx, which it keeps. */
static BindTrace *derived(lua_State *L, int idx)
{
    BindTrace *o = new_trace(L);

    lua_pushvalue(L, idx);
    lua_setiuservalue(L, -2, 1);
    return o;
}

static BindTrace *check_trace(lua_State *L, int idx)
{
    return bind_check(L, idx, &bind_trace_class);
}

/* {remove_postproc=} and what else is known */
static bool remove_postproc(lua_State *L, int idx, const char *const *known)
{
    return bind_options(L, idx, known) && bind_opt_bool(L, idx, "remove_postproc", false);
}

/* The trace at 1 less what postprocessors added. */
static ml_Trace cut(ml_Trace t, bool postproc)
{
    for (size_t k = 0; postproc && k < t.n; k++)
        if (ml_streq(t.insts[k]->prim->kind, "EnterPostproc"))
            t.n = k;
    return t;
}

static const char *const only_postproc[] = {"remove_postproc", NULL};

static int trace_lua(lua_State *L)
{
    lua_settop(L, 2);
    BindTrace *o = check_trace(L, 1);
    ml_Trace t = cut(o->t, remove_postproc(L, 2, only_postproc));
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *out = bind_text(L);

    ml_trace_lua(cx, out, &t);
    return bind_give_text(L, out);
}

/* t:show(): through the print of the moment, which may be the host's */
static int trace_show(lua_State *L)
{
    lua_settop(L, 1);
    lua_getglobal(L, "print");
    lua_pushcfunction(L, trace_lua);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    lua_call(L, 1, 0);
    return 0;
}

static int trace_python(lua_State *L)
{
    static const char *const known[] = {"remove_postproc", "spelling", NULL};
    static const char *const spellings[] = {"classic", "newest", NULL};

    lua_settop(L, 2);
    BindTrace *o = check_trace(L, 1);
    ml_Trace t = cut(o->t, remove_postproc(L, 2, known));
    bool newest = bind_opt_word(L, 2, "spelling", spellings, 0) == 1;
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *out = bind_text(L);

    ml_trace_python(cx, out, &t, newest);
    return bind_give_text(L, out);
}

/* t:json([{remove_postproc=, program=}]); program: with the schedule's program around it */
static int trace_json(lua_State *L)
{
    static const char *const known[] = {"remove_postproc", "program", NULL};

    lua_settop(L, 2);
    BindTrace *o = check_trace(L, 1);
    ml_Trace t = cut(o->t, remove_postproc(L, 2, known));
    bool program = bind_opt_bool(L, 2, "program", false);

    lua_getiuservalue(L, 1, 1);
    ml_Schedule *s = ml_lua_to_schedule(L, 3);

    if (program && !s)
        return bind_bad(L, "program: only the trace of a schedule has one");
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *out = bind_text(L);

    if (program)
        ml_saved_write(s, out);
    else
        ml_trace_json(cx, out, &t);
    return bind_give_text(L, out);
}

static int trace_simplified(lua_State *L)
{
    lua_settop(L, 2);
    BindTrace *o = check_trace(L, 1);
    bool postproc = remove_postproc(L, 2, only_postproc);
    BindTrace *to = derived(L, 1);

    to->t = ml_trace_simplified(to->own, &o->t, postproc);
    return 1;
}

static const ml_Value *no_none(const ml_Value *v)
{
    return v && v->kind == ML_VAL_NONE ? NULL : v;
}

static size_t position(lua_State *L, int idx, const BindTrace *o)
{
    int64_t k = bind_int(L, idx, "position");

    if (k < 1 || (uint64_t)k > o->t.n)
        bind_bad(L, "the trace has instructions 1 to %d, got %lld", (int)o->t.n,
                 (long long)k);
    return (size_t)(k - 1);
}

/* t:with_decision(i, d [, o]) */
static int trace_with_decision(lua_State *L)
{
    lua_settop(L, 4);
    BindTrace *o = check_trace(L, 1);
    size_t k = position(L, 2, o);
    bool postproc = remove_postproc(L, 4, only_postproc);
    BindTrace *to = derived(L, 1);

    if (!o->t.insts[k]->prim->has_decision)
        return bind_bad(L, "instruction %d, %s, has no decision", (int)k + 1,
                        o->t.insts[k]->prim->kind);
    ml_Trace t = cut(o->t, postproc);

    if (k >= t.n)
        return bind_bad(L, "instruction %d is behind enter_postproc", (int)k + 1);
    to->t = ml_trace_with_decision(to->own, &t, k, no_none(bind_read_value(L, 3, to->own)));
    return 1;
}

/* t:pop(): takes the last instruction off and gives it as a table */
static bool push_inst(lua_State *L, BindTrace *o, size_t k);

static int trace_pop(lua_State *L)
{
    BindTrace *o = check_trace(L, 1);

    if (o->t.n == 0 || !push_inst(L, o, o->t.n - 1))
        return 0;
    o->t.n--;
    return 1;
}

/* become(t, u): t holds what u holds; for t:append, which is written in Lua */
static int trace_become(lua_State *L)
{
    BindTrace *o = check_trace(L, 1), *u = check_trace(L, 2);

    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, 1, 1);
    o->t = u->t; /* its list lives as long as u */
    return 0;
}

/* ---- replay */

typedef struct Decide {
    lua_State *L;
    int fn;    /* stack position of the function; 0: none */
    int trace; /* of the trace */
    BindTrace *o;
    size_t k;    /* instructions seen */
    ml_Ctx *cx;  /* where decisions are made */
    bool failed; /* the error is on top of the stack */
} Decide;

static int read_decision(lua_State *L)
{
    Decide *d = lua_touserdata(L, 1);
    const ml_Value **out = lua_touserdata(L, 2);

    *out = no_none(bind_read_value(L, 3, d->cx));
    return 0;
}

/* Lua errors are caught and raised when the replay is over. */
static const ml_Value *decide(const ml_Inst *inst, const ml_Value *decision, void *user)
{
    Decide *d = user;
    lua_State *L = d->L;
    const ml_Value *made = decision;
    size_t k = 0;

    if (d->failed)
        return decision;
    while (k < d->o->t.n && d->o->t.insts[k] != inst)
        k++;
    if (k == d->o->t.n)
        return decision;
    int top = lua_gettop(L);

    lua_pushvalue(L, d->fn);
    push_inst(L, d->o, k);
    bind_push_value(L, NULL, decision);
    if (lua_pcall(L, 2, 1, 0) != LUA_OK) {
        d->failed = true;
        return decision;
    }
    if (lua_isboolean(L, -1) && !lua_toboolean(L, -1)) {
        made = NULL; /* drawn afresh */
    } else if (!lua_isnil(L, -1)) {
        lua_pushcfunction(L, read_decision);
        lua_insert(L, -2);
        lua_pushlightuserdata(L, d);
        lua_insert(L, -2);
        lua_pushlightuserdata(L, (void *)&made);
        lua_insert(L, -2);
        if (lua_pcall(L, 3, 0, 0) != LUA_OK) {
            d->failed = true;
            return decision;
        }
    }
    lua_settop(L, top);
    return made;
}

/* t:apply(s [, {remove_postproc=, decide=}]): the number of instructions replayed */
static int trace_apply(lua_State *L)
{
    static const char *const known[] = {"remove_postproc", "decide", NULL};

    lua_settop(L, 3);
    BindTrace *o = check_trace(L, 1);
    ml_Schedule *s = bind_check_schedule(L, 2);
    bool postproc = remove_postproc(L, 3, known);
    Decide d = {.L = L, .trace = 1, .o = o};
    size_t done = 0;

    if (!lua_isnil(L, 3) && lua_getfield(L, 3, "decide") != LUA_TNIL) {
        if (!lua_isfunction(L, -1))
            return bind_bad(L, "decide: a function is needed, got %s", bind_type(L, -1));
        d.fn = lua_gettop(L);
        luaL_checkstack(L, 20, NULL);
        d.cx = bind_scratch(L);
    }
    bool ok = ml_trace_apply(s, &o->t, postproc, d.fn ? decide : NULL, &d, &done);

    if (d.failed)
        bind_throw(L);
    if (!ok)
        return bind_raise_schedule(L, s);
    lua_pushinteger(L, (lua_Integer)done);
    return 1;
}

/* ---- one instruction as a table; values as in the JSON form */

static void push_tv(lua_State *L, const ml_Trace *t, const ml_TV *v);

static void push_var(lua_State *L, const ml_Trace *t, uint32_t num)
{
    for (size_t k = 0; k < t->n; k++)
        for (uint32_t j = 0; j < t->insts[k]->n_outputs; j++) {
            const ml_TVar *o = &t->insts[k]->outputs[j];

            if (o->kind != ML_H_NONE && o->num == num) {
                lua_pushfstring(L, "%s%I",
                                o->kind == ML_H_BLOCK  ? "b"
                                : o->kind == ML_H_EXPR ? "v"
                                                       : "l",
                                (LUAI_UACINT)num);
                return;
            }
        }
    lua_pushfstring(L, "v%I", (LUAI_UACINT)num);
}

static void push_tv(lua_State *L, const ml_Trace *t, const ml_TV *v)
{
    luaL_checkstack(L, 6, NULL);
    switch ((ml_TVKind)v->kind) {
    case ML_TV_NONE: lua_pushliteral(L, "None"); return;
    case ML_TV_VAR: push_var(L, t, v->var); return;
    case ML_TV_VALUE:
        if (v->value && v->value->kind == ML_VAL_STRING) {
            ml_Text *text = bind_text(L);

            ml_json_string(text, v->value->as.s);
            bind_push_text(L, text);
            lua_remove(L, -2);
            return;
        }
        bind_push_value(L, NULL, v->value);
        return;
    case ML_TV_LIST:
        lua_createtable(L, (int)v->n, 0);
        for (uint32_t k = 0; k < v->n; k++) {
            push_tv(L, t, &v->list[k]);
            lua_rawseti(L, -2, (lua_Integer)k + 1);
        }
        return;
    case ML_TV_EXPR: {
        ml_Ctx *cx = bind_scratch(L);
        ml_Text *text = bind_text(L);

        ml_print_expr(cx, text, v->expr, NULL);
        bind_push_text(L, text);
        lua_replace(L, -3);
        lua_pop(L, 1);
        return;
    }
    case ML_TV_MAP: lua_pushliteral(L, "index map"); return;
    }
    lua_pushnil(L);
}

static bool push_inst(lua_State *L, BindTrace *o, size_t k)
{
    const ml_Inst *in = o->t.insts[k];

    lua_createtable(L, 0, 6);
    bind_set_string(L, "kind", in->prim->kind);
    lua_createtable(L, (int)in->n_inputs, 0);
    for (uint32_t j = 0; j < in->n_inputs; j++) {
        push_tv(L, &o->t, &in->inputs[j]);
        lua_rawseti(L, -2, (lua_Integer)j + 1);
    }
    lua_setfield(L, -2, "inputs");
    lua_createtable(L, (int)in->n_attrs, 0);
    for (uint32_t j = 0; j < in->n_attrs; j++) {
        if (in->attrs[j].kind == ML_TV_VALUE)
            bind_push_value(L, NULL, in->attrs[j].value);
        else
            push_tv(L, &o->t, &in->attrs[j]);
        lua_rawseti(L, -2, (lua_Integer)j + 1);
    }
    lua_setfield(L, -2, "attrs");
    lua_createtable(L, (int)in->n_outputs, 0);
    for (uint32_t j = 0; j < in->n_outputs; j++) {
        if (in->outputs[j].kind == ML_H_NONE)
            lua_pushliteral(L, "_");
        else
            push_var(L, &o->t, in->outputs[j].num);
        lua_rawseti(L, -2, (lua_Integer)j + 1);
    }
    lua_setfield(L, -2, "outputs");
    bind_push_value(L, NULL, in->decision);
    lua_setfield(L, -2, "decision");
    bind_set_int(L, "version", in->version);
    return true;
}

static bool trace_get(lua_State *L, const char *key)
{
    BindTrace *o = check_trace(L, 1);

    if (key || !bind_whole(L, 2))
        return false;
    lua_Integer k = lua_tointeger(L, 2);

    return k >= 1 && (uint64_t)k <= o->t.n && push_inst(L, o, (size_t)k - 1);
}

/* ---- from JSON */

/* trace_from_json(text) */
int bind_trace_new(lua_State *L)
{
    ml_Str text = bind_str(L, 1, "JSON");
    BindTrace *o = new_trace(L);
    ml_Saved saved;

    if (!ml_saved_read(o->own, text, &saved))
        return bind_raise(L, o->own);
    o->t = saved.trace;
    if (!saved.program)
        return 1;
    lua_createtable(L, 0, 6); /* what a saved schedule has around it */
    bind_set_string(L, "program", saved.program);
    bind_set_string(L, "func", saved.func);
    bind_set_string(L, "target", saved.target);
    bind_set_string(L, "hash", saved.hash);
    bind_set_bool(L, "check", !saved.no_check);
    bind_set_bool(L, "unchecked", saved.unchecked);
    return 2;
}

static int trace_tostring(lua_State *L)
{
    lua_pushfstring(L, "trace of %d instructions", (int)check_trace(L, 1)->t.n);
    return 1;
}

static int trace_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)check_trace(L, 1)->t.n);
    return 1;
}

static int trace_gc(lua_State *L)
{
    BindTrace *o = lua_touserdata(L, 1);

    ml_ctx_unref(o->own);
    ml_ctx_unref(o->held);
    *o = (BindTrace){0};
    return 0;
}

static const luaL_Reg trace_meta[] = {
    {"__gc", trace_gc}, {"__tostring", trace_tostring}, {"__len", trace_len}, {NULL, NULL}};
static const luaL_Reg trace_methods[] = {{"lua", trace_lua},
                                         {"show", trace_show},
                                         {"python", trace_python},
                                         {"json", trace_json},
                                         {"simplified", trace_simplified},
                                         {"with_decision", trace_with_decision},
                                         {"pop", trace_pop},
                                         {"become", trace_become},
                                         {"apply", trace_apply},
                                         {NULL, NULL}};
const BindClass bind_trace_class = {
    .name = "moonloop.trace",
    .meta = trace_meta,
    .methods = trace_methods,
    .get = trace_get,
    .any_key = true,
};

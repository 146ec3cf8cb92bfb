/*
 * calls - work_on, show, get_sref, remove_rv: what is not recorded and was nowhere else.
 *
 * copy, seed, fork_seed and get stand in schedule.c. Source: primitives 4.
 */
#include "repl/bind/schedule/calls.h"

#include "repl/bind/schedule/schedule.h"

const ml_ScheduleCall ml_schedule_calls[] = {
#define ML_CALL(name, args, summary, help, example) {#name, args, summary, help, example},
#include "repl/bind/schedule/calls.def"
#undef ML_CALL
};
const size_t ml_n_schedule_calls = ML_COUNT(ml_schedule_calls);

const ml_ScheduleCall *ml_schedule_call_find(const char *name)
{
    for (size_t k = 0; k < ml_n_schedule_calls; k++)
        if (ml_streq(ml_schedule_calls[k].name, name))
            return &ml_schedule_calls[k];
    return NULL;
}

static int work_on(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);

    if (!ml_schedule_work_on(s, bind_string(L, 2, "name")))
        return bind_raise_schedule(L, s);
    return 0;
}

static int show(lua_State *L)
{
    ml_PrintOpts o = {.spelling = -1, .regions_auto = true};

    lua_settop(L, 1);
    ml_Schedule *s = bind_check_schedule(L, 1);
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *t = bind_text(L);
    ml_Trace trace = ml_schedule_trace(s, cx);

    ml_schedule_print(s, ml_schedule_version(s), t, &o);
    ml_text_add(t, trace.n ? "\n\n" : "\n");
    ml_trace_lua(cx, t, &trace);
    while (t->n > 0 && t->p[t->n - 1] == '\n')
        t->p[--t->n] = '\0';
    lua_getglobal(L, "print");
    bind_push_text(L, t);
    lua_call(L, 1, 0);
    return 0;
}

/* The handle at 2 that s may use; a name is looked up. */
static ml_Handle handle_at_2(lua_State *L, ml_Schedule *s)
{
    ml_Schedule *from;
    ml_Handle h;

    if (!ml_lua_to_handle(L, 2, &from, &h)) {
        if (!ml_resolve(s, bind_string(L, 2, "handle"), ML_H_NONE, &h))
            bind_raise_schedule(L, s);
    } else if (!bind_same_family(from, s))
        ml_lua_fail(L, ML_E_BAD_HANDLE, "the handle");
    return h;
}

/* Position among the statements of the parent's body; -1: it stands alone, or under an
 * `if`. */
static lua_Integer position(const ml_Stmt *parent, const ml_Stmt *st)
{
    const ml_Stmt *body = ml_node_body(parent);

    for (uint32_t k = 0; body->kind == ML_STMT_SEQ && k < ml_as_seq(body)->n; k++)
        if (ml_as_seq(body)->stmts[k] == st)
            return k;
    return -1;
}

static int get_sref(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);

    lua_settop(L, 2);
    ml_Handle h = handle_at_2(L, s);
    const ml_Index *ix = ml_schedule_program(s).index;

    if (h.kind == ML_H_INLINE_MARK || h.kind == ML_H_ROOT_MARK)
        return 1;
    if (h.kind == ML_H_EXPR)
        return ml_lua_fail(L, ML_E_WRONG_HANDLE_KIND,
                           "the handle is a number; a block or loop is needed");
    const ml_Stmt *st = h.uid ? ml_index_node(ix, h.uid) : NULL;

    if (!st)
        return h.uid
                   ? ml_lua_fail(L, ML_E_EXPIRED_HANDLE, "%s is gone", ml_name_of(s, h.uid))
                   : ml_lua_fail(L, ML_E_BAD_HANDLE, "the handle");
    ml_Uid up = ml_index_parent(ix, h.uid);
    const ml_Stmt *parent = up ? ml_index_node(ix, up) : NULL;

    lua_createtable(L, 0, 2);
    lua_pushinteger(L, parent ? position(parent, st) : -1);
    lua_setfield(L, -2, "index");
    if (parent) {
        bind_push_handle(
            L, 1, (ml_Handle){parent->kind == ML_STMT_FOR ? ML_H_LOOP : ML_H_BLOCK, up});
        lua_setfield(L, -2, "parent");
    }
    return 1;
}

/* The object names nothing any more; others of the same loop or block are as before. */
static int remove_rv(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    ml_Handle h;

    lua_settop(L, 2);
    if (!ml_lua_to_handle(L, 2, &from, &h))
        return bind_bad(L, "handle: a handle is needed, got %s", bind_type(L, 2));
    if (!bind_same_family(from, s) || h.uid == 0)
        return ml_lua_fail(L, ML_E_BAD_HANDLE, "the handle");
    BindHandle *b = bind_check(L, 2, &bind_handle_class);

    b->h.uid = 0;
    return 0;
}

void bind_schedule_calls(lua_State *L)
{
    static const luaL_Reg fns[] = {{"work_on", work_on},
                                   {"show", show},
                                   {"get_sref", get_sref},
                                   {"remove_rv", remove_rv},
                                   {"tile_with_intrinsic", bind_tile_with_intrinsic},
                                   {NULL, NULL}};

    luaL_setfuncs(L, fns, 0);
}

void bind_push_schedule_call(lua_State *L, const ml_ScheduleCall *c)
{
    lua_createtable(L, 0, 10);
    bind_set_string(L, "name", c->name);
    bind_set_string(L, "group", "queries");
    bind_set_string(L, "summary", c->summary);
    bind_set_string(L, "help", c->help);
    bind_set_string(L, "example", c->example);
    bind_set_bool(L, "recorded", false);
    lua_newtable(L);
    if (*c->args) {
        lua_pushstring(L, c->args);
        lua_rawseti(L, -2, 1);
    }
    lua_setfield(L, -2, "args");
    lua_newtable(L);
    lua_setfield(L, -2, "kinds");
    lua_newtable(L);
    lua_setfield(L, -2, "defaults");
    lua_newtable(L);
    lua_setfield(L, -2, "errors");
}

/*
 * test_any_tuple - any argument of any type at any position, from Lua: every primitive, and
 * every call on a schedule that is not recorded, is given 10,000 random tuples. A call
 * succeeds, or raises an error object and leaves program, trace, random state, names and
 * handles as they were.
 *
 * The tuples are made in any_tuple.lua. With sanitizers all of them run always; without, a
 * tenth does when tests are to be short. ML_CALLS (of each) and ML_SEED change the run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "moonloop/primitives/prim.h"
#include "repl/bind/bind.h"
#include "repl/bind/schedule/calls.h"

enum { TUPLES = 10000, MAX_MADE = 64, MAX_NAMES = 200 };

/* What a call that fails must leave alone. */
typedef struct Before {
    ml_State state;
    ml_Program p;
    const ml_Func *func;
    int n_versions;
    uint64_t hash;
    size_t n_made, n_names;
    bool alive[MAX_MADE], closely;
    ml_Uid uids[MAX_NAMES];
    const char *names[MAX_NAMES];
    unsigned turn;
} Before;

static void note_name(ml_Uid uid, const ml_Stmt *node, void *user)
{
    Before *b = user;

    if (node->has_block && b->n_names < MAX_NAMES)
        b->uids[b->n_names++] = uid;
}

static bool is_alive(lua_State *L, lua_Integer at)
{
    ml_Schedule *s;
    ml_Handle h;
    bool alive;

    lua_rawgeti(L, 2, at);
    alive = ml_lua_to_handle(L, -1, &s, &h) && ml_handle_alive(s, h);
    lua_pop(L, 1);
    return alive;
}

/* look(s, made) */
static int look(lua_State *L)
{
    Before *b = lua_touserdata(L, lua_upvalueindex(1));
    ml_Schedule *s = ml_lua_to_schedule(L, 1);
    unsigned turn = b->turn + 1;

    *b = (Before){.state = ml_schedule_state(s),
                  .p = ml_schedule_program(s),
                  .func = ml_schedule_func(s),
                  .n_versions = ml_schedule_n_versions(s),
                  .n_made = lua_rawlen(L, 2),
                  .closely = turn % 8 == 0,
                  .turn = turn};
    if (!b->closely)
        return 0;
    b->hash = ml_schedule_hash(s);
    ml_index_each(b->p.index, note_name, b);
    for (size_t k = 0; k < b->n_names; k++)
        b->names[k] = ml_name_of(s, b->uids[k]);
    for (size_t k = 0; k < b->n_made && k < MAX_MADE; k++)
        b->alive[k] = is_alive(L, (lua_Integer)k + 1);
    return 0;
}

static const char *what_changed(lua_State *L, const Before *b, ml_Schedule *s)
{
    ml_State st = ml_schedule_state(s);
    ml_Program p = ml_schedule_program(s);

    if (st.version != b->state.version || b->n_versions != ml_schedule_n_versions(s))
        return "the version";
    if (st.trace != b->state.trace)
        return "the trace";
    if (st.random != b->state.random)
        return "the random state";
    if (p.mod != b->p.mod || p.index != b->p.index)
        return "the program";
    if (ml_schedule_func(s) != b->func)
        return "the function worked on";
    if (!b->closely)
        return NULL;
    if (ml_schedule_hash(s) != b->hash)
        return "the hash";
    for (size_t k = 0; k < b->n_names; k++)
        if (!ml_streq(b->names[k], ml_name_of(s, b->uids[k])))
            return "a name";
    for (size_t k = 0; k < b->n_made && k < MAX_MADE; k++)
        if (b->alive[k] != is_alive(L, (lua_Integer)k + 1))
            return "a handle";
    return NULL;
}

/* refused(s, made, error, name, call): raises what is wrong with it. */
static int refused(lua_State *L)
{
    const Before *b = lua_touserdata(L, lua_upvalueindex(1));
    ml_Schedule *s = ml_lua_to_schedule(L, 1);
    const char *name = lua_tostring(L, 4);
    ml_Failure *f = ml_lua_to_failure(L, 3);
    const char *changed;

    if (!f)
        return luaL_error(L, "call %d, %s: no error object but %s",
                          (int)lua_tointeger(L, 5), name, luaL_tolstring(L, 3, NULL));
    changed = what_changed(L, b, s);
    if (changed)
        return luaL_error(L, "call %d, %s failed and changed %s: %s",
                          (int)lua_tointeger(L, 5), name, changed, ml_failure_message(f));
    if (strlen(ml_failure_message(f)) < 4 ||
        strstr(ml_failure_message(f), "without a reason"))
        return luaL_error(L, "call %d, %s does not say why: %s", (int)lua_tointeger(L, 5),
                          name, ml_failure_message(f));
    if (b->turn % 32 == 0) { /* with the program and what else could be done */
        luaL_tolstring(L, 3, NULL);
        if (lua_rawlen(L, -1) < 10)
            return luaL_error(L, "%s: %s", name, lua_tostring(L, -1));
    }
    return 0;
}

/* settle(s, n): goes back to version n when there are many steps in a row. */
static int settle(lua_State *L)
{
    ml_Schedule *s = ml_lua_to_schedule(L, 1);
    ml_Step step = {0};
    int depth = 0;

    for (int v = ml_schedule_version(s); ml_version_step(s, v, &step) && step.prim;
         v = step.parent)
        depth++;
    if (depth > 5)
        ml_schedule_goto(s, (int)lua_tointeger(L, 2));
    return 0;
}

static int silent(lua_State *L)
{
    (void)L;
    return 0;
}

static lua_Integer calls_of_each(void)
{
    const char *z = getenv("ML_CALLS"), *san = getenv("ML_SAN");

    if (z)
        return strtol(z, NULL, 10);
    return getenv("ML_QUICK") && !(san && *san) ? TUPLES / 10 : TUPLES;
}

static int traceback(lua_State *L)
{
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

static lua_Integer field(lua_State *L, const char *call, const char *key)
{
    lua_Integer n;

    if (lua_getfield(L, -1, call) != LUA_TTABLE)
        fail_msg("%s was never called", call);
    lua_getfield(L, -1, key);
    n = lua_tointeger(L, -1);
    lua_pop(L, 2);
    return n;
}

static void every_call_survives_any_tuple(void **state)
{
    static const luaL_Reg fns[] = {
        {"look", look}, {"refused", refused}, {"settle", settle}, {NULL, NULL}};
    const char *seed = getenv("ML_SEED");
    lua_Integer n = calls_of_each(), accepted = 0, total = 0;
    lua_State *L = luaL_newstate();
    Before *b;

    luaL_openlibs(L);
    ml_lua_open(L);
    lua_setglobal(L, "moon");
    lua_pushcfunction(L, silent);
    lua_setglobal(L, "print");
    lua_pushcfunction(L, traceback);
    if (luaL_loadfile(L, "tests/repl/any_tuple.lua") != LUA_OK)
        fail_msg("%s", lua_tostring(L, -1));
    lua_newtable(L);
    b = lua_newuserdatauv(L, sizeof *b, 0);
    *b = (Before){.n_made = 0};
    luaL_setfuncs(L, fns, 1);
    lua_pushinteger(L, n);
    lua_pushinteger(L, seed ? 1 + strtol(seed, NULL, 10) % 2147483645 : 20261122);
    if (lua_pcall(L, 3, 1, 1) != LUA_OK)
        fail_msg("%s", lua_tostring(L, -1));
    for (size_t k = 0; k < ml_n_primitives + ml_n_schedule_calls; k++) {
        const char *name = k < ml_n_primitives
                               ? ml_primitives[k]->name
                               : ml_schedule_calls[k - ml_n_primitives].name;
        lua_Integer yes = field(L, name, "accepted"), no = field(L, name, "refused");

        print_message("%-26s %6d accepted %6d refused\n", name, (int)yes, (int)no);
        assert_int_equal(n, yes + no);
        accepted += yes;
        total += yes + no;
    }
    assert_true(accepted > total / 20);
    lua_close(L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_survives_any_tuple)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

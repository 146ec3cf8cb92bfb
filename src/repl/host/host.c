/*
 * host - the session's Lua state: running lines and files, printing results, telling
 * errors.
 *
 * Typed lines and -e run in an environment whose unknown names are primitives on the focus;
 * their assignments go to the globals, so that scripts see them. Source: interaction 3,
 * 4, 7.
 */
#include "repl/host/host.h"

#include <errno.h>
#include <stdlib.h>

#include "moonloop/primitives/tokens.h"
#include "repl/bind/bind.h"
#include "repl/host/host_impl.h"
#include "repl/host/python.h"

static const char host_key;

ml_Host *ml_host_of(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key);
    ml_Host *h = lua_touserdata(L, -1);

    lua_pop(L, 1);
    return h;
}

static void *host_alloc(void *ud, void *p, size_t was, size_t n)
{
    ml_Host *h = ud;

    if (!p)
        was = 0;
    if (n == 0) {
        h->bytes -= was;
        free(p);
        return NULL;
    }
    if (h->limit && n > was && h->bytes + (n - was) > h->limit)
        return NULL;
    void *q =
        realloc(p, n); /* NOLINT: Lua's allocator is the one place beside the arenas */

    if (q)
        h->bytes = h->bytes - was + n;
    return q;
}

size_t ml_host_memory(ml_Host *h)
{
    return h->bytes;
}

ml_Engine *ml_host_engine(ml_Host *h)
{
    return ml_lua_engine(h->L);
}

struct ml_Intrins *ml_host_intrins(ml_Host *h)
{
    return bind_intrins(h->L);
}

/* ---- opening */

static int open_state(lua_State *L)
{
    ml_Host *h = lua_touserdata(L, 1);

    luaL_openlibs(L);
    if (h->ss->safe)
        ml_host_make_safe(L);
    luaopen_moonloop(L);
    bind_state(L)->safe = h->ss->safe;
    bind_state(L)->reach = h->ss->reach;
    ml_host_add_functions(L);
    ml_host_take_writes(L);
    if (h->ss->safe)
        ml_host_keep_path(L);
    lua_newtable(L); /* the environment of typed lines */
    lua_newtable(L);
    lua_pushcfunction(L, ml_host_name);
    lua_setfield(L, -2, "__index");
    lua_pushglobaltable(L);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    h->env = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

/* ---- with the session */

static void take_settings(void *user, ml_Session *ss)
{
    ml_Host *h = user;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Target t;
    long threads =
        ml_setting_count(ml_setting_word(&ss->set, ML_SET_threads), ML_MOST_THREADS);

    ml_lua_set_limit(h->L, (size_t)ml_setting_int(&ss->set, ML_SET_memory_limit) << 20);
    ml_lua_set_seed(h->L, ml_setting_int(&ss->set, ML_SET_seed));
    ml_lua_set_verify(h->L, ml_setting_bool(&ss->set, ML_SET_verify_each));
    ml_engine_set_threads(ml_host_engine(h), (uint32_t)threads); /* 0: of the machine */
    if (ml_target_read(cx, ml_setting_word(&ss->set, ML_SET_target), &t)) {
        const ml_TargetKind *kind = &ml_target_kinds[t.kind];
        bool gpu = kind->pipeline == ML_PIPE_GPU;

        t.kind = gpu ? 0 : t.kind;
        ml_engine_set_device(ml_host_engine(h), gpu ? kind : NULL);
        ml_engine_set_target(ml_host_engine(h), &t);
    }
    ml_ctx_unref(cx);
}

static void end_host(void *user, ml_Session *ss)
{
    ml_Host *h = user;

    ml_text_free(&h->kept);
    ml_text_free(&h->typed);
    ml_text_free(&h->python);
    ml_text_free(&h->preamble);
    ml_text_free(&h->functions);
    lua_close(h->L);
    free(h);
    ss->host = NULL;
}

static void tell_tick(void *user, unsigned ticks)
{
    (void)ticks;
    ml_tell_tick(user);
}

ml_Host *ml_host_new(ml_Session *ss)
{
    ml_Host *h = calloc(1, sizeof *h); /* NOLINT: see host_alloc */

    ML_ASSERT(h);
    h->ss = ss;
    h->observer = (ml_Observer){
        .name = "host", .user = h, .on_settings = take_settings, .on_end = end_host};
    h->result = h->error = h->kept_chunk = LUA_NOREF;
    h->L = lua_newstate(host_alloc, h);
    ML_ASSERT(h->L);
    lua_pushlightuserdata(h->L, h);
    lua_rawsetp(h->L, LUA_REGISTRYINDEX, &host_key);
    lua_pushcfunction(h->L, open_state);
    lua_pushlightuserdata(h->L, h);
    if (lua_pcall(h->L, 1, 0, 0) != LUA_OK)
        ml_host_report(h, true);
    else
        ml_lua_set_interrupt(h->L, ml_interrupt_flag());
    ml_lua_set_watch(h->L, tell_tick, ss);
    ml_session_observe(ss, &h->observer);
    return h;
}

/* ---- calls */

static int l_interrupted(lua_State *L)
{
    return ml_lua_fail(L, ML_E_INTERRUPTED, "interrupted");
}

static size_t limit_of(const ml_Host *h)
{
    return (size_t)ml_setting_int(&h->ss->set, ML_SET_memory_limit) << 20;
}

/* Between calls the session's own few objects are made without protection, but collectors
 * of a script run, too: under --safe there is a limit that a script cannot have used up. */
static size_t limit_at_rest(const ml_Host *h)
{
    enum { OWN = 64 << 20 };

    return h->ss->safe && limit_of(h) ? limit_of(h) + OWN : 0;
}

int ml_host_call(ml_Host *h, int n_args, int n_results)
{
    h->limit = limit_of(h);
    int status = lua_pcall(h->L, n_args, n_results, 0);
    bool hard = *ml_interrupt_flag() == ML_INTERRUPT_HARD;

    h->limit = limit_at_rest(h);
    ml_lua_set_interrupt(h->L, ml_interrupt_flag()); /* a hard one looks at every turn */
    if (ml_interrupted() && status == LUA_OK)
        ml_interrupt_note(false);
    ml_interrupt_answer();
    if (status != LUA_OK && hard) {
        lua_pop(h->L, 1);
        lua_pushcfunction(h->L, l_interrupted);
        status = lua_pcall(h->L, 0, 0, 0);
    }
    return status;
}

bool ml_host_protected(ml_Host *h, lua_CFunction fn, void *user)
{
    int top = lua_gettop(h->L);

    lua_pushcfunction(h->L, fn);
    lua_pushlightuserdata(h->L, user);
    bool ok = lua_pcall(h->L, 1, 0, 0) == LUA_OK;

    lua_settop(h->L, top);
    return ok;
}

void ml_host_add_why(lua_State *L, ml_Text *why)
{
    ml_Failure *f = ml_lua_to_failure(L, -1);
    const char *z = f ? ml_failure_message(f) : lua_tostring(L, -1);

    ml_text_add(why, z ? z : "an error without a text");
    lua_pop(L, 1);
}

bool ml_host_run(ml_Host *h, int n_args, int n_results, bool typed)
{
    if (ml_host_call(h, n_args, n_results) == LUA_OK)
        return true;
    ml_host_report(h, typed);
    return false;
}

/* ---- lines */

/* What a function reads when it runs in a later line is looked for in these. */
static void keep_functions(ml_Host *h, const char *text)
{
    enum { MOST = 1 << 16 };

    if (!strstr(text, "function"))
        return;
    if (h->functions.n > MOST)
        ml_text_clear(&h->functions);
    ml_text_fmt(&h->functions, "%s\n", text);
}

static bool eval(ml_Host *h, const char *text)
{
    lua_State *L = h->L;
    bool typed = h->ss->mode == ML_MODE_TYPED;
    int status = ml_host_load_line(h, text, typed);

    ml_host_drop_result(h);
    if (status != LUA_OK) {
        ml_host_report(h, typed);
        return false;
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->env);
    if (!lua_setupvalue(L, -2, 1))
        lua_pop(L, 1);
    ml_host_note_python(h);
    keep_functions(h, h->python.n ? ml_text_z(&h->python) : text);
    lua_pushcfunction(L, ml_host_spread_values); /* its `...` */
    if (!ml_host_run_for_result(h, 1))
        return false;
    if (!typed)
        return true;
    ml_host_note_assigned(h, text);
    return ml_host_is_something(h, text);
}

bool ml_host_eval(ml_Host *h, const char *text)
{
    h->line = text;
    h->nothing[0] = '\0';
    bool ok = eval(h, text);

    h->line = NULL;
    return ok;
}

/* ---- files */

bool ml_host_run_script(ml_Host *h, const char *path, int argc, char **argv, bool *returned)
{
    lua_State *L = h->L;
    int top = lua_gettop(L);
    ml_RunFrame f;

    if (path && !ml_session_may_read(h->ss, path))
        return false;
    lua_createtable(L, argc, 1);
    for (int k = 0; k < argc; k++) {
        lua_pushstring(L, argv[k]);
        lua_rawseti(L, -2, k + 1);
    }
    lua_pushstring(L, path ? path : "-");
    lua_rawseti(L, -2, 0);
    lua_setglobal(L, "arg");
    int status;

    if (!ml_host_load_script(L, path, &status))
        return ml_session_error(h->ss, ML_E_NO_FILE, "cannot open %s: %s", path,
                                strerror(errno));
    if (status != LUA_OK) {
        ml_host_report(h, false);
        return false;
    }
    for (int k = 0; k < argc; k++)
        lua_pushstring(L, argv[k]);
    ml_frame_push(h->ss, &f, &(ml_RunOpts){.mode = ML_MODE_SCRIPT});
    bool ok = ml_host_run(h, argc, 1, false);
    ml_Schedule *s = ok ? ml_lua_to_schedule(L, -1) : NULL;

    ml_frame_pop(h->ss, &f);
    *returned = s != NULL;
    if (s) {
        ml_session_focus(h->ss, s);
        ml_session_saved(h->ss, s); /* the script makes it again */
    }
    lua_settop(L, top);
    return ok;
}

bool ml_host_file(ml_Host *h, const char *path, int argc, char **argv)
{
    bool returned;

    return ml_host_run_script(h, path, argc, argv, &returned);
}

static int l_require(lua_State *L)
{
    lua_getglobal(L, "require");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    lua_setglobal(L, lua_tostring(L, 1));
    return 0;
}

bool ml_host_require(ml_Host *h, const char *name)
{
    h->named = name;
    lua_pushcfunction(h->L, l_require);
    lua_pushstring(h->L, name);
    bool ok = ml_host_run(h, 1, 0, false);

    h->named = NULL;
    return ok;
}

static int l_start(lua_State *L)
{
    const ml_HostStart *from = lua_touserdata(L, 1);

    ml_host_push_moon(L);
    lua_getfield(L, -1, "schedule");
    lua_getfield(L, -2, "parse");
    lua_pushstring(L, from->program);
    lua_call(L, 1, 1);
    lua_createtable(L, 0, 4);
    bind_set_string(L, "func", from->func);
    bind_set_string(L, "name", from->name);
    bind_set_bool(L, "enable_check", from->check);
    if (from->target) {
        bind_push_value(L, NULL, from->target);
        lua_setfield(L, -2, "target");
    }
    lua_call(L, 2, 1);
    ml_session_focus(ml_host_of(L)->ss, ml_lua_to_schedule(L, -1));
    return 0;
}

ml_Schedule *ml_host_start(ml_Host *h, ml_HostStart *from, ml_Text *why)
{
    lua_pushcfunction(h->L, l_start);
    lua_pushlightuserdata(h->L, from);
    if (ml_host_call(h, 1, 0) == LUA_OK)
        return h->ss->focus;
    ml_host_add_why(h->L, why);
    return NULL;
}

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
    if (ml_target_read(cx, ml_setting_word(&ss->set, ML_SET_target), &t))
        ml_engine_set_target(ml_host_engine(h), &t);
    ml_ctx_unref(cx);
}

static void end_host(void *user, ml_Session *ss)
{
    ml_Host *h = user;

    ml_text_free(&h->kept);
    ml_text_free(&h->typed);
    ml_text_free(&h->preamble);
    lua_close(h->L);
    free(h);
    ss->host = NULL;
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

static bool incomplete_message(lua_State *L)
{
    size_t n;
    const char *msg = lua_tolstring(L, -1, &n);

    return n >= 5 && ml_streq(msg + n - 5, "<eof>");
}

/* A `local` at the beginning of a typed line is kept for the session. */
static const char *without_local(const char *text)
{
    if (strncmp(text, "local ", 6) != 0)
        return text;
    text += 6;
    while (*text == ' ')
        text++;
    /* `local x` alone declares nothing that could be kept; attributes need the keyword. */
    return strchr(text, '=') && !strchr(text, '<') ? text
           : strncmp(text, "function ", 9) == 0    ? text
                                                   : text - 6;
}

/* Whether `return LINE` cannot be meant: it begins with a keyword of a statement, or
 * assigns. */
static bool is_statement(const char *text)
{
    static const char *const VALUES[] = {"function", "nil", "true", "false", "not"};
    ml_Tokens t = {.p = text, .n = strlen(text)};
    ml_Token k = ml_token_code(&t);
    int depth = 0;

    if (ml_is_lua_keyword(k.text)) {
        for (size_t n = 0; n < ML_COUNT(VALUES); n++)
            if (ml_token_is(k, VALUES[n]))
                return false;
        return true;
    }
    for (; k.kind != ML_TOKEN_END && !ml_is_lua_keyword(k.text); k = ml_token_code(&t)) {
        if (k.kind != ML_TOKEN_MARK)
            continue;
        if (depth == 0 && ml_token_is(k, "="))
            return true;
        depth += strchr("([{", *k.text.p) ? 1 : strchr(")]}", *k.text.p) ? -1 : 0;
    }
    return false;
}

/* Pushes the line as a function, or what is wrong with it: Lua's status. */
static int compile_line(ml_Host *h, const char *text, bool typed)
{
    lua_State *L = h->L;
    const char *name = typed ? "=input" : "=-e";

    if (!is_statement(text)) {
        size_t n;
        const char *value = lua_pushfstring(L, "return %s", text);

        lua_tolstring(L, -1, &n);
        if (luaL_loadbufferx(L, value, n, name, "t") == LUA_OK) {
            lua_remove(L, -2);
            return LUA_OK;
        }
        lua_pop(L, 2);
    }
    if (typed)
        text = without_local(text);
    return luaL_loadbufferx(L, text, strlen(text), name, "t");
}

static void drop_kept(ml_Host *h)
{
    ml_text_clear(&h->kept);
    luaL_unref(h->L, LUA_REGISTRYINDEX, h->kept_chunk);
    h->kept_chunk = LUA_NOREF;
}

bool ml_host_incomplete(ml_Host *h, const char *text)
{
    drop_kept(h);
    h->kept_status = compile_line(h, text, true);
    if (h->kept_status == LUA_ERRSYNTAX && incomplete_message(h->L)) {
        lua_pop(h->L, 1);
        return true;
    }
    ml_text_add(&h->kept, text);
    h->kept_chunk = luaL_ref(h->L, LUA_REGISTRYINDEX);
    return false;
}

/* The same, of a typed line that was asked about just before without compiling it anew. */
static int load_line(ml_Host *h, const char *text, bool typed)
{
    size_t n = strlen(text);
    const char *z = ml_text_z(&h->kept);
    bool kept = typed && h->kept.n >= n && n > 0 && memcmp(z, text, n) == 0 &&
                z[n + strspn(z + n, " \t\r\n")] == '\0';

    if (kept)
        lua_rawgeti(h->L, LUA_REGISTRYINDEX, h->kept_chunk);
    drop_kept(h);
    return kept ? h->kept_status : compile_line(h, text, typed);
}

static bool eval(ml_Host *h, const char *text)
{
    lua_State *L = h->L;
    bool typed = h->ss->mode == ML_MODE_TYPED;
    int status = load_line(h, text, typed);

    ml_host_drop_result(h);
    if (status != LUA_OK) {
        ml_host_report(h, typed);
        return false;
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->env);
    if (!lua_setupvalue(L, -2, 1))
        lua_pop(L, 1);
    if (!ml_host_run_for_result(h, 0))
        return false;
    if (!typed)
        return true;
    ml_host_note_assigned(h, text);
    return ml_host_is_something(h, text);
}

bool ml_host_eval(ml_Host *h, const char *text)
{
    h->line = text;
    bool ok = eval(h, text);

    h->line = NULL;
    return ok;
}

/* ---- files */

/* *returned: a schedule, which is the focus now. */
static bool run_script(ml_Host *h, const char *path, int argc, char **argv, bool *returned)
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

    return run_script(h, path, argc, argv, &returned);
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

/* "examples/matmul.py" -> "matmul" */
static void push_stem(lua_State *L, const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    const char *dot = strrchr(from, '.');

    lua_pushlstring(L, from, dot && dot > from ? (size_t)(dot - from) : strlen(from));
}

/* What the reader wants to tell of the module on the top: the first lines of some. */
static void tell_warnings(lua_State *L)
{
    enum { SHOWN = 3 };
    ml_Out *out = &ml_host_of(L)->ss->out;
    lua_Integer n;
    char line[400];

    if (lua_getfield(L, -1, "warnings") == LUA_TTABLE) {
        n = luaL_len(L, -1);
        for (lua_Integer k = 1; k <= n && k <= SHOWN; k++) {
            const char *z, *said, *at;

            lua_rawgeti(L, -1, k);
            z = lua_tostring(L, -1); /* warning[W103]: said\n --> FILE:LINE:COLUMN\n ... */
            said = z ? strstr(z, "]: ") : NULL;
            at = said ? strstr(said, "--> ") : NULL;
            if (at) {
                snprintf(line, sizeof line, "warning: %.*s: %.*s",
                         (int)strcspn(at + 4, "\n"), at + 4, (int)strcspn(said + 3, "\n"),
                         said + 3);
                ml_err_line(out, line);
            }
            lua_pop(L, 1);
        }
        if (n > SHOWN) {
            snprintf(line, sizeof line,
                     "warning: %lld more; moon.open(\"FILE\").warnings has them",
                     (long long)(n - SHOWN));
            ml_err_line(out, line);
        }
    }
    lua_pop(L, 1);
}

/* moon.NAME(text), and moon.schedule of what it gives when that is a module. */
static int l_open(lua_State *L)
{
    const char *fn = lua_tostring(L, 1);

    ml_host_push_moon(L);
    bool file = ml_streq(fn, "open");

    lua_getfield(L, -1, fn);
    lua_pushvalue(L, 2);
    lua_createtable(L, 0, 1);
    bind_set_bool(L, "file_mode", true); /* other Python may stand around what is pasted */
    lua_call(L, 2, 1);
    if (!ml_lua_to_schedule(L, -1)) {
        tell_warnings(L);
        lua_getfield(L, -2, "schedule");
        lua_insert(L, -2);
        if (file) { /* named after the file: the function is `main` in most */
            lua_createtable(L, 0, 1);
            push_stem(L, lua_tostring(L, 2));
            lua_setfield(L, -2, "name");
        }
        lua_call(L, file ? 2 : 1, 1);
    }
    ml_session_focus(ml_host_of(L)->ss, ml_lua_to_schedule(L, -1));
    return 0;
}

/* Whether the text, read strictly, lacks a program and nothing else. */
static bool is_preamble(ml_Host *h, const char *text)
{
    lua_State *L = h->L;
    int top = lua_gettop(L);

    ml_host_push_moon(L);
    lua_getfield(L, -1, "parse");
    lua_pushstring(L, text);
    bool ok = ml_host_call(h, 1, 0) == LUA_OK;
    const ml_Failure *f = ok ? NULL : ml_lua_to_failure(L, -1);
    bool yes = f && ml_failure_code(f) == ML_E_E612;

    lua_settop(L, top);
    return yes;
}

bool ml_host_open_text(ml_Host *h, const char *text)
{
    lua_State *L = h->L;
    ml_Text whole = {0};

    ml_text_addn(&whole, ml_text_z(&h->preamble), h->preamble.n);
    ml_text_add(&whole, text);
    lua_pushcfunction(L, l_open);
    lua_pushliteral(L, "parse");
    lua_pushstring(L, ml_text_z(&whole));
    bool ok = ml_host_call(h, 2, 0) == LUA_OK;
    const ml_Failure *f = ok ? NULL : ml_lua_to_failure(L, -1);

    if (f && ml_failure_code(f) == ML_E_E612 && is_preamble(h, ml_text_z(&whole))) {
        lua_pop(L, 1);
        ok = true;
        ml_text_clear(&h->preamble);
        ml_text_fmt(&h->preamble, "%s\n", ml_text_z(&whole));
        ml_err_say(&h->ss->out,
                   "note: no program yet; these lines stand before the next ones");
    } else if (!ok)
        ml_host_report(h, true);
    ml_text_free(&whole);
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

/* A script that returns a schedule, which is the focus then. */
static bool open_script(ml_Host *h, const char *path)
{
    bool returned = false;

    if (!run_script(h, path, 0, NULL, &returned))
        return false;
    return returned ||
           ml_session_error(h->ss, ML_E_BAD_FILE,
                            "%s was run, but it returns no schedule; :save FILE.lua writes "
                            "scripts that do",
                            path);
}

bool ml_host_open(ml_Host *h, const char *path)
{
    const char *dot = strrchr(path, '.');

    if (dot && ml_streq(dot, ".lua"))
        return open_script(h, path);
    lua_pushcfunction(h->L, l_open);
    lua_pushliteral(h->L, "open");
    lua_pushstring(h->L, path);
    bool ok = ml_host_run(h, 2, 0, true);

    if (ok)
        ml_session_saved(h->ss, h->ss->focus);
    return ok;
}

/*
 * host - the session's Lua state: running lines and files, printing results, telling
 * errors.
 *
 * Typed lines and -e run in an environment whose unknown names are primitives on the focus;
 * their assignments go to the globals, so that scripts see them. Source: interaction 3,
 * 4, 7.
 */
#include "repl/bind/host.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/script/report.h"
#include "repl/bind/bind.h"
#include "repl/command.h"

struct ml_Host {
    ml_Session *ss;
    lua_State *L;
    int env;          /* registry references */
    int result;       /* table of the last line's values, or LUA_NOREF */
    int error;        /* the last error object */
    const char *line; /* what is being run, or NULL */
    size_t bytes;     /* held by Lua */
    size_t limit;     /* 0: none */
};

static const char host_key;

static ml_Host *host_of(lua_State *L)
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

void ml_host_set_seed(ml_Host *h, int64_t seed)
{
    ml_lua_set_seed(h->L, seed);
}

/* ---- functions of moon that need the session */

static int l_print(lua_State *L)
{
    ml_Host *h = host_of(L);
    ml_Text *t = bind_text(L);
    int n = lua_gettop(L) - 1;

    for (int k = 1; k <= n; k++) {
        size_t len;
        const char *z = luaL_tolstring(L, k, &len);

        if (k > 1)
            ml_text_char(t, '\t');
        ml_text_addn(t, z, len);
        lua_pop(L, 1);
    }
    ml_out_line(&h->ss->out, ml_text_z(t));
    if (h->ss->out.broken)
        return luaL_error(L, "cannot write to standard output: %s",
                          strerror(h->ss->out.fault));
    return 0;
}

/* moon.schedule and open: what they make becomes the focus, except in script files. */
static int l_schedule(lua_State *L)
{
    ml_Host *h = host_of(L);
    int n = lua_gettop(L);

    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    ml_Schedule *s = lua_gettop(L) > 0 ? ml_lua_to_schedule(L, 1) : NULL;

    if (s && h->ss->mode != ML_MODE_SCRIPT)
        ml_session_focus(h->ss, s);
    return lua_gettop(L);
}

static int l_focus(lua_State *L)
{
    ml_Host *h = host_of(L);

    if (!lua_isnoneornil(L, 1)) {
        ml_Schedule *s = ml_lua_to_schedule(L, 1);

        if (!s)
            return ml_lua_fail(L, ML_E_BAD_ARGUMENT, "focus takes a schedule, not %s",
                               bind_type(L, 1));
        ml_session_focus(h->ss, s);
        lua_settop(L, 1);
        return 1;
    }
    if (!h->ss->focus) {
        lua_pushnil(L);
        return 1;
    }
    ml_lua_push_schedule(L, ml_schedule_ref(h->ss->focus));
    return 1;
}

static void push_focus(lua_State *L, const char *what)
{
    ml_Host *h = host_of(L);

    if (!h->ss->focus)
        ml_lua_fail(
            L, ML_E_UNKNOWN_NAME,
            "%s works on the focus, and there is none: s = schedule(workload.matmul(64, "
            "64, 64)) makes one",
            what);
    ml_lua_push_schedule(L, ml_schedule_ref(h->ss->focus));
}

/* upvalue 1: a method's name. f(...) is focus:f(...). */
static int l_on_focus(lua_State *L)
{
    const char *name = lua_tostring(L, lua_upvalueindex(1));
    int n = lua_gettop(L);

    push_focus(L, name);
    lua_insert(L, 1);
    lua_getfield(L, 1, name);
    lua_insert(L, 1);
    lua_call(L, n + 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* The environment's __index: globals first, then primitives on the focus. */
static int l_name(lua_State *L)
{
    const char *name = lua_tostring(L, 2);

    lua_pushglobaltable(L);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TNIL)
        return 1;
    if (name && ml_primitive_find(name)) {
        lua_pushvalue(L, 2);
        lua_pushcclosure(L, l_on_focus, 1);
        return 1;
    }
    lua_pushnil(L);
    return 1;
}

static void add_word(ml_Text *t, const char *z)
{
    ml_text_add(t, " \"");
    for (; *z; z++) {
        if (*z == '"' || *z == '\\')
            ml_text_char(t, '\\');
        ml_text_char(t, *z);
    }
    ml_text_char(t, '"');
}

/* moon.cmd(name, ...): {ok =, text =} */
static int l_cmd(lua_State *L)
{
    ml_Host *h = host_of(L);
    int n = lua_gettop(L);
    const char *name = bind_string(L, 1, "name");
    ml_Text *line = bind_text(L), *got = bind_text(L);

    ml_text_add(line, name);
    for (int k = 2; k <= n; k++) {
        add_word(line, luaL_tolstring(L, k, NULL));
        lua_pop(L, 1);
    }
    ml_Text *was = h->ss->out.capture;

    h->ss->out.capture = got;
    bool ok = ml_command_run(h->ss, ml_text_z(line));

    h->ss->out.capture = was;
    lua_newtable(L);
    lua_pushboolean(L, ok);
    lua_setfield(L, -2, "ok");
    bind_push_text(L, got);
    lua_setfield(L, -2, "text");
    return 1;
}

static void set_one(lua_State *L, const char *name, const char *value)
{
    ml_Host *h = host_of(L);
    int id = ml_setting_find(name);
    ml_Text *why;

    if (id < 0)
        ml_lua_fail(L, ML_E_UNKNOWN_NAME, "no setting is called %s; :set lists them", name);
    why = bind_text(L);
    if (!ml_setting_set(&h->ss->set, id, value, why))
        ml_lua_fail(L, ML_E_BAD_ARGUMENT, "%s", ml_text_z(why));
    lua_pop(L, 1);
}

static int l_set(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            return ml_lua_fail(L, ML_E_BAD_ARGUMENT, "moon.set{name = value, ...}");
        const char *value = luaL_tolstring(L, -1, NULL);

        set_one(L, lua_tostring(L, -3), value);
        lua_pop(L, 1);
    }
    return 0;
}

static int l_get(lua_State *L)
{
    ml_Host *h = host_of(L);
    const char *name = bind_string(L, 1, "name");
    int id = ml_setting_find(name);

    if (id < 0)
        return ml_lua_fail(L, ML_E_UNKNOWN_NAME, "no setting is called %s; :set lists them",
                           name);
    if (ml_settings[id].kind == ML_SET_INT)
        lua_pushinteger(L, ml_setting_int(&h->ss->set, (ml_SettingId)id));
    else if (ml_settings[id].kind == ML_SET_BOOL)
        lua_pushboolean(L, ml_setting_bool(&h->ss->set, (ml_SettingId)id));
    else
        lua_pushstring(L, ml_setting_word(&h->ss->set, (ml_SettingId)id));
    return 1;
}

/* ---- opening */

/* Lua without what reaches beyond the session, for scripts one does not trust. */
static void make_safe(lua_State *L)
{
    static const char *const GLOBALS[] = {"io", "debug", "dofile", "loadfile"};
    static const char *const OS[] = {"execute", "remove", "rename",   "exit",
                                     "tmpname", "getenv", "setlocale"};

    for (size_t k = 0; k < ML_COUNT(GLOBALS); k++) {
        lua_pushnil(L);
        lua_setglobal(L, GLOBALS[k]);
    }
    lua_getglobal(L, "os");
    for (size_t k = 0; k < ML_COUNT(OS); k++) {
        lua_pushnil(L);
        lua_setfield(L, -2, OS[k]);
    }
    lua_pop(L, 1);
    lua_getglobal(L, "package");
    lua_pushnil(L);
    lua_setfield(L, -2, "loadlib");
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "cpath");
    lua_getfield(L, -1, "loaded");
    for (size_t k = 0; k < 2; k++) {
        lua_pushnil(L);
        lua_setfield(L, -2, GLOBALS[k]);
    }
    lua_pop(L, 2);
}

static int open_state(lua_State *L)
{
    static const char *const FROM_MOON[] = {"schedule", "workload", "open", "focus",
                                            "auto"};
    static const char *const ON_FOCUS[] = {"loops", "blocks"};
    ml_Host *h = lua_touserdata(L, 1);

    luaL_openlibs(L);
    if (h->ss->safe)
        make_safe(L);
    lua_pushcfunction(L, l_print);
    lua_setglobal(L, "print");
    luaopen_moonloop(L);
    lua_pushvalue(L, -1);
    lua_setglobal(L, "moon");
    lua_getfield(L, -1, "schedule");
    lua_pushcclosure(L, l_schedule, 1);
    lua_setfield(L, -2, "schedule");
    lua_getfield(L, -1, "open");
    lua_pushcclosure(L, l_schedule, 1);
    lua_setfield(L, -2, "open");
    const luaL_Reg fns[] = {
        {"focus", l_focus}, {"cmd", l_cmd}, {"set", l_set}, {"get", l_get}, {NULL, NULL}};

    bind_functions(L, fns);
    for (size_t k = 0; k < ML_COUNT(FROM_MOON); k++) {
        lua_getfield(L, -1, FROM_MOON[k]);
        lua_setglobal(L, FROM_MOON[k]);
    }
    for (size_t k = 0; k < ML_COUNT(ON_FOCUS); k++) {
        lua_pushstring(L, ON_FOCUS[k]);
        lua_pushcclosure(L, l_on_focus, 1);
        lua_setglobal(L, ON_FOCUS[k]);
    }
    lua_newtable(L); /* the environment of typed lines */
    lua_newtable(L);
    lua_pushcfunction(L, l_name);
    lua_setfield(L, -2, "__index");
    lua_pushglobaltable(L);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    h->env = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

static void report(ml_Host *h, bool typed);

ml_Host *ml_host_new(ml_Session *ss)
{
    ml_Host *h = calloc(1, sizeof *h); /* NOLINT: see host_alloc */

    ML_ASSERT(h);
    h->ss = ss;
    h->result = h->error = LUA_NOREF;
    h->L = lua_newstate(host_alloc, h);
    ML_ASSERT(h->L);
    lua_pushlightuserdata(h->L, h);
    lua_rawsetp(h->L, LUA_REGISTRYINDEX, &host_key);
    lua_pushcfunction(h->L, open_state);
    lua_pushlightuserdata(h->L, h);
    if (lua_pcall(h->L, 1, 0, 0) != LUA_OK)
        report(h, true);
    else
        ml_lua_set_interrupt(h->L, &ss->interrupt);
    return h;
}

void ml_host_free(ml_Host *h)
{
    lua_close(h->L);
    free(h);
}

/* ---- errors */

/* Names near to an undefined one: primitives and globals. */
static const char *near_name(ml_Host *h, const char *name, char *buf, size_t n)
{
    size_t best = 3;

    buf[0] = '\0';
    for (size_t k = 0; k < ml_n_primitives; k++) {
        size_t d = ml_edit_distance(ml_str(name), ml_str(ml_primitives[k]->name), best);

        if (d < best) {
            best = d;
            snprintf(buf, n, "%s", ml_primitives[k]->name);
        }
    }
    lua_pushglobaltable(h->L);
    for (lua_pushnil(h->L); lua_next(h->L, -2); lua_pop(h->L, 1)) {
        if (lua_type(h->L, -2) != LUA_TSTRING)
            continue;
        size_t d = ml_edit_distance(ml_str(name), ml_str(lua_tostring(h->L, -2)), best);

        if (d < best) {
            best = d;
            snprintf(buf, n, "%s", lua_tostring(h->L, -2));
        }
    }
    lua_pop(h->L, 1);
    return buf[0] ? buf : NULL;
}

/* "input:3: message" -> message; *line is the number, 0 when there is none. */
static const char *strip_place(const char *msg, char *chunk, size_t n, int *line)
{
    const char *colon = strchr(msg, ':');
    char *end;

    *line = 0;
    chunk[0] = '\0';
    if (!colon || colon[1] < '0' || colon[1] > '9')
        return msg;
    *line = (int)strtol(colon + 1, &end, 10);
    if (*end != ':') {
        *line = 0;
        return msg;
    }
    size_t len = (size_t)(colon - msg);

    if (len >= n)
        len = n - 1;
    memcpy(chunk, msg, len);
    chunk[len] = '\0';
    return end[1] == ' ' ? end + 2 : end + 1;
}

/* `global 'spilt'` in a message of Lua's: the name. */
static bool undefined_name(const char *msg, char *buf, size_t n)
{
    const char *p = strstr(msg, "a nil value (global '");
    const char *end;

    if (!p)
        return false;
    p += strlen("a nil value (global '");
    end = strchr(p, '\'');
    if (!end || (size_t)(end - p) >= n)
        return false;
    memcpy(buf, p, (size_t)(end - p));
    buf[end - p] = '\0';
    return true;
}

/* Line `n` of what was typed, with a caret where `near 'x'` of the message points. */
static void add_source_line(ml_Text *at, const char *text, int n, const char *what)
{
    const char *p = text, *near = strstr(what, "near '"), *end;
    char token[64];
    size_t len;

    while (p && n-- > 1) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    if (!p || !*p)
        return;
    len = strcspn(p, "\n");
    ml_text_fmt(at, "%s     | %.*s", at->n ? "\n" : "", (int)len, p);
    if (!near || !(end = strrchr(near + 6, '\'')) ||
        (size_t)(end - near - 6) >= sizeof token)
        return;
    memcpy(token, near + 6, (size_t)(end - near - 6));
    token[end - near - 6] = '\0';
    /* Lua does not say which one: a caret under a wrong one would mislead. */
    const char *hit = NULL;
    int hits = 0;

    for (const char *q = p; *token && (q = strstr(q, token)) && q < p + len; q++, hits++)
        hit = q;
    if (hits == 1) {
        ml_text_add(at, "\n     | ");
        ml_text_repeat(at, ' ', (size_t)(hit - p));
        ml_text_repeat(at, '^', strlen(token));
    }
}

static void report_text(ml_Host *h, const char *msg, bool typed)
{
    ml_Session *ss = h->ss;
    char chunk[120], name[80], near[80];
    int line;
    const char *what = strip_place(msg, chunk, sizeof chunk, &line);
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text at = {0};

    if (line && !(typed && ml_streq(chunk, "input")))
        ml_text_fmt(&at, "  at     %s:%d", chunk, line);
    else if (line && h->line && !undefined_name(what, name, sizeof name))
        add_source_line(&at, h->line, line, what);
    if (undefined_name(what, name, sizeof name)) {
        const char *other = near_name(h, name, near, sizeof near);

        if (!typed && ml_primitive_find(name))
            ml_fail(
                cx, ML_E_UNKNOWN_NAME,
                ML_TEXT(ml_format(cx,
                                  "no function '%s' in a script: write s:%s(…), or call "
                                  "focus(s) and use the prompt",
                                  name, name)));
        else if (other)
            ml_fail(cx, ML_E_UNKNOWN_NAME,
                    ML_TEXT(ml_format(cx, "no function or primitive '%s'; did you mean %s?",
                                      name, other)));
        else
            ml_fail(cx, ML_E_UNKNOWN_NAME,
                    ML_TEXT(ml_format(cx, "no function or primitive '%s'", name)));
    } else if (ml_streq(what, "not enough memory"))
        ml_fail(cx, ML_E_OUT_OF_MEMORY, ML_NUMBER("bytes", h->limit));
    else
        ml_fail(cx, ML_E_LUA_ERROR, ML_TEXT(what));
    ml_session_report(ss, ml_failure_from(ml_error(cx)), true, ml_text_z(&at));
    ml_text_free(&at);
    ml_ctx_unref(cx);
}

static void report_failure(ml_Host *h, ml_Failure *f, bool typed)
{
    lua_State *L = h->L;
    ml_Text at = {0};
    const char *name, *chunk, *diags = ml_lua_failure_text(L, -1);
    int line;

    /* The call that was typed stands before one's eyes; deeper frames and files do not. */
    for (size_t k = 0; (chunk = ml_lua_failure_frame(L, -1, k, &name, &line)) != NULL;
         k++) {
        if ((typed && ml_streq(chunk, "input")) || strncmp(chunk, "lua/moonloop/", 13) == 0)
            continue;
        ml_text_fmt(&at, "%s  at     %s:%d%s%s", at.n ? "\n" : "", chunk, line,
                    *name ? " in " : "", name);
        if (k == 0 && !*name)
            continue;
    }
    if (diags) {
        ml_err_line(&h->ss->out, diags);
        if (at.n)
            ml_err_line(&h->ss->out, ml_text_z(&at));
        if (h->ss->status == 0)
            h->ss->status = 1;
        if (h->ss->last_owned)
            ml_failure_free(h->ss->last);
        h->ss->last = f;
        h->ss->last_owned = false;
    } else
        ml_session_report(h->ss, f, false, ml_text_z(&at));
    ml_text_free(&at);
    luaL_unref(L, LUA_REGISTRYINDEX, h->error);
    lua_pushvalue(L, -1);
    h->error = luaL_ref(L, LUA_REGISTRYINDEX); /* owns f */
}

/* What to say of an error value that is neither text nor ours; runs no metamethod. */
static const char *plain(lua_State *L)
{
    return lua_isnil(L, -1)
               ? "an error without a message"
               : lua_pushfstring(L, "(an error of type %s)", luaL_typename(L, -1));
}

/* The error value is on top; it is printed and popped. */
static void report(ml_Host *h, bool typed)
{
    int top = lua_gettop(h->L);
    ml_Failure *f = ml_lua_to_failure(h->L, -1);

    if (f)
        report_failure(h, f, typed);
    else if (lua_type(h->L, -1) == LUA_TSTRING)
        report_text(h, lua_tostring(h->L, -1), typed);
    else
        report_text(h, plain(h->L), typed);
    lua_settop(h->L, top - 1);
}

/* ---- interruption: a second Ctrl-C within a second gets past every pcall */

static ml_Host
    *volatile running; /* the host whose code is at work, for the signal handler */

static void hard_stop(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    lua_sethook(L, hard_stop, LUA_MASKCOUNT | LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE, 1);
    luaL_error(L, "interrupted");
}

void ml_host_hard_stop(void)
{
    ml_Host *h = running;

    if (h)
        lua_sethook(h->L, hard_stop,
                    LUA_MASKCOUNT | LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE, 1);
}

/* Calls what is on the stack; false: the error was printed. */
static bool run(ml_Host *h, int n_args, int n_results, bool typed)
{
    running = h;
    h->limit = (size_t)ml_setting_int(&h->ss->set, ML_SET_memory_limit) << 20;
    int status = lua_pcall(h->L, n_args, n_results, 0);

    running = NULL;
    h->limit = 0;
    ml_lua_set_interrupt(h->L, &h->ss->interrupt); /* in place of a hard stop */
    h->ss->interrupt = 0;
    if (status == LUA_OK)
        return true;
    report(h, typed);
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

static int load_line(ml_Host *h, const char *text, bool typed)
{
    lua_State *L = h->L;
    const char *name = typed ? "=input" : "=-e";

    lua_pushfstring(L, "return %s", text);
    size_t n;
    const char *as_value = lua_tolstring(L, -1, &n);

    if (luaL_loadbufferx(L, as_value, n, name, "t") == LUA_OK) {
        lua_remove(L, -2);
        return LUA_OK;
    }
    lua_pop(L, 2);
    if (typed)
        text = without_local(text);
    return luaL_loadbufferx(L, text, strlen(text), name, "t");
}

bool ml_host_incomplete(ml_Host *h, const char *text)
{
    int status = load_line(h, text, true);
    bool more = status == LUA_ERRSYNTAX && incomplete_message(h->L);

    lua_pop(h->L, 1);
    return more;
}

static bool eval(ml_Host *h, const char *text, bool *incomplete)
{
    lua_State *L = h->L;
    bool typed = h->ss->mode == ML_MODE_TYPED;
    int status = load_line(h, text, typed);

    luaL_unref(L, LUA_REGISTRYINDEX, h->result);
    h->result = LUA_NOREF;
    if (status != LUA_OK) {
        if (incomplete && status == LUA_ERRSYNTAX && incomplete_message(L)) {
            *incomplete = true;
            lua_pop(L, 1);
            return true;
        }
        report(h, typed);
        return false;
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->env);
    if (!lua_setupvalue(L, -2, 1))
        lua_pop(L, 1);
    int base = lua_gettop(L) - 1;

    if (!run(h, 0, LUA_MULTRET, typed))
        return false;
    int n = lua_gettop(L) - base;

    lua_createtable(L, n, 0);
    lua_insert(L, base + 1);
    for (int k = n; k > 0; k--)
        lua_rawseti(L, base + 1, k);
    lua_pushinteger(L, n);
    lua_setfield(L, base + 1, "n");
    h->result = luaL_ref(L, LUA_REGISTRYINDEX);
    return true;
}

bool ml_host_eval(ml_Host *h, const char *text, bool *incomplete)
{
    h->line = text;
    bool ok = eval(h, text, incomplete);

    h->line = NULL;
    return ok;
}

/* ---- results */

/* Handles, or a list of nothing else: their names. */
static bool add_handles(lua_State *L, int idx, ml_Text *out)
{
    ml_Schedule *s;
    ml_Handle hd;

    idx = lua_absindex(L, idx);
    if (ml_lua_to_handle(L, idx, &s, &hd)) {
        if (out->n)
            ml_text_add(out, ", ");
        ml_text_add(out, luaL_tolstring(L, idx, NULL));
        lua_pop(L, 1);
        return true;
    }
    if (lua_type(L, idx) != LUA_TTABLE || lua_rawlen(L, idx) == 0)
        return false;
    for (lua_Unsigned k = 1; k <= lua_rawlen(L, idx); k++) {
        lua_rawgeti(L, idx, (lua_Integer)k);
        bool yes = ml_lua_to_handle(L, -1, &s, &hd);

        if (yes) {
            ml_text_fmt(out, "%s%s", out->n ? ", " : "", luaL_tolstring(L, -1, NULL));
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
        if (!yes)
            return false;
    }
    return true;
}

static void add_quoted(ml_Text *t, const char *z, size_t n)
{
    ml_text_char(t, '"');
    for (size_t k = 0; k < n; k++) {
        unsigned char c = (unsigned char)z[k];

        if (c == '"' || c == '\\')
            ml_text_fmt(t, "\\%c", c);
        else if (c == '\n')
            ml_text_add(t, "\\n");
        else if (c < 32 || c == 127)
            ml_text_fmt(t, "\\%d", c);
        else
            ml_text_char(t, (char)c);
    }
    ml_text_char(t, '"');
}

static void add_value(lua_State *L, int idx, ml_Text *t, int depth);

static void add_table(lua_State *L, int idx, ml_Text *t, int depth)
{
    size_t n = 0;
    lua_Integer next = 1;

    idx = lua_absindex(L, idx);
    if (depth == 0 || !lua_checkstack(L, 8)) {
        ml_text_add(t, "{…}");
        return;
    }
    ml_text_char(t, '{');
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1), n++) {
        if (n == 40) {
            ml_text_add(t, ", …");
            lua_pop(L, 2);
            break;
        }
        if (n)
            ml_text_add(t, ", ");
        if (lua_isinteger(L, -2) && lua_tointeger(L, -2) == next)
            next++;
        else if (lua_type(L, -2) == LUA_TSTRING)
            ml_text_fmt(t, "%s = ", lua_tostring(L, -2));
        else {
            ml_text_char(t, '[');
            add_value(L, -2, t, 0);
            ml_text_add(t, "] = ");
        }
        add_value(L, -1, t, depth - 1);
    }
    ml_text_char(t, '}');
}

static void add_value(lua_State *L, int idx, ml_Text *t, int depth)
{
    size_t n;
    const char *z;

    idx = lua_absindex(L, idx);
    if (lua_type(L, idx) == LUA_TSTRING) {
        z = lua_tolstring(L, idx, &n);
        add_quoted(t, z, n);
    } else if (lua_type(L, idx) == LUA_TTABLE &&
               luaL_getmetafield(L, idx, "__tostring") == LUA_TNIL)
        add_table(L, idx, t, depth);
    else {
        if (lua_type(L, idx) == LUA_TTABLE)
            lua_pop(L, 1);
        z = luaL_tolstring(L, idx, &n);
        ml_text_addn(t, z, n);
        lua_pop(L, 1);
    }
}

/* The values as text in the box at the top: runs __tostring, so it may raise. */
static int l_show(lua_State *L)
{
    ml_Text *t = lua_touserdata(L, 2), names = {0};
    lua_Integer n;

    lua_getfield(L, 1, "n");
    n = lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (n == 1) {
        lua_rawgeti(L, 1, 1);
        if (add_handles(L, -1, &names)) {
            ml_text_fmt(t, "→ %s", ml_text_z(&names));
            ml_text_free(&names);
            return 0;
        }
        ml_text_free(&names);
        if (lua_isnil(L, -1))
            return 0;
        lua_pop(L, 1);
    }
    for (lua_Integer k = 1; k <= n; k++) {
        lua_rawgeti(L, 1, k);
        if (k > 1)
            ml_text_add(t, "\t");
        add_value(L, -1, t, 3);
        lua_pop(L, 1);
    }
    return 0;
}

void ml_host_print_result(ml_Host *h, bool silent)
{
    lua_State *L = h->L;
    ml_Text t = {0};

    if (h->result == LUA_NOREF)
        return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->result);
    lua_rawgeti(L, -1, 1);
    lua_setglobal(L, "_");
    if (silent) {
        lua_pop(L, 1);
    } else {
        lua_pushcfunction(L, l_show);
        lua_insert(L, -2);
        lua_pushlightuserdata(L, &t);
        if (run(h, 2, 0, true) && t.n)
            ml_out_line(&h->ss->out, ml_text_z(&t));
    }
    ml_text_free(&t);
    luaL_unref(L, LUA_REGISTRYINDEX, h->result);
    h->result = LUA_NOREF;
}

/* ---- files */

bool ml_host_file(ml_Host *h, const char *path, int argc, char **argv)
{
    lua_State *L = h->L;
    ml_Mode was = h->ss->mode;

    lua_createtable(L, argc, 1);
    for (int k = 0; k < argc; k++) {
        lua_pushstring(L, argv[k]);
        lua_rawseti(L, -2, k + 1);
    }
    lua_pushstring(L, path ? path : "-");
    lua_rawseti(L, -2, 0);
    lua_setglobal(L, "arg");
    if (path) {
        FILE *f = fopen(path, "r");

        if (!f)
            return ml_session_error(h->ss, ML_E_NO_FILE, "cannot open %s: %s", path,
                                    strerror(errno));
        fclose(f);
    }
    if (luaL_loadfilex(L, path, "t") != LUA_OK) {
        report(h, false);
        return false;
    }
    for (int k = 0; k < argc; k++)
        lua_pushstring(L, argv[k]);
    h->ss->mode = ML_MODE_SCRIPT;
    bool ok = run(h, argc, 0, false);

    h->ss->mode = was;
    return ok;
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
    lua_pushcfunction(h->L, l_require);
    lua_pushstring(h->L, name);
    return run(h, 1, 0, false);
}

/* "examples/matmul.py" -> "matmul" */
static void push_stem(lua_State *L, const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    const char *dot = strrchr(from, '.');

    lua_pushlstring(L, from, dot && dot > from ? (size_t)(dot - from) : strlen(from));
}

/* moon.NAME(text), and moon.schedule of what it gives when that is a module. */
static int l_open(lua_State *L)
{
    const char *fn = lua_tostring(L, 1);

    lua_getglobal(L, "moon");
    lua_getfield(L, -1, fn);
    lua_pushvalue(L, 2);
    lua_call(L, 1, 1);
    if (!ml_lua_to_schedule(L, -1)) {
        lua_getfield(L, -2, "schedule");
        lua_insert(L, -2);
        bool file = ml_streq(fn, "open");

        if (file) { /* named after the file: the function is `main` in most */
            lua_createtable(L, 0, 1);
            push_stem(L, lua_tostring(L, 2));
            lua_setfield(L, -2, "name");
        }
        lua_call(L, file ? 2 : 1, 1);
    }
    ml_session_focus(host_of(L)->ss, ml_lua_to_schedule(L, -1));
    return 0;
}

bool ml_host_open_text(ml_Host *h, const char *text)
{
    lua_pushcfunction(h->L, l_open);
    lua_pushliteral(h->L, "parse");
    lua_pushstring(h->L, text);
    return run(h, 2, 0, true);
}

bool ml_host_open(ml_Host *h, const char *path)
{
    lua_pushcfunction(h->L, l_open);
    lua_pushliteral(h->L, "open");
    lua_pushstring(h->L, path);
    return run(h, 2, 0, true);
}

/* ---- names for completion */

static const char *kind_of(lua_State *L, int idx)
{
    int t = lua_type(L, idx);

    return t == LUA_TFUNCTION ? "function" : t == LUA_TTABLE ? "table" : lua_typename(L, t);
}

typedef struct NamesWanted {
    const char *path, *prefix;
    void (*fn)(const char *name, const char *what, void *user);
    void *user;
} NamesWanted;

/* The names of the table on top; what: their kind, or NULL for that of each value. */
static void tell_names(lua_State *L, const NamesWanted *w, const char *what)
{
    size_t n = strlen(w->prefix);

    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING &&
            strncmp(lua_tostring(L, -2), w->prefix, n) == 0)
            w->fn(lua_tostring(L, -2), what ? what : kind_of(L, -1), w->user);
}

/* Protected: memory may end here, too. */
static int l_names(lua_State *L)
{
    const NamesWanted *w = lua_touserdata(L, 1);
    const char *path = w->path;

    lua_pushglobaltable(L);
    while (*path) {
        size_t len = strcspn(path, ".:");

        if (lua_type(L, -1) != LUA_TTABLE)
            return 0;
        lua_pushlstring(L, path, len);
        lua_rawget(L, -2);
        path += len + (path[len] != '\0');
    }
    if (lua_type(L, -1) == LUA_TTABLE)
        tell_names(L, w, NULL);
    else if (lua_type(L, -1) == LUA_TSTRING) {
        lua_pushglobaltable(L);
        lua_pushliteral(L, LUA_STRLIBNAME);
        if (lua_rawget(L, -2) == LUA_TTABLE)
            tell_names(L, w, "method");
    } else if (lua_type(L, -1) == LUA_TUSERDATA) { /* see bind_class */
        int object = lua_gettop(L);

        if (luaL_getmetafield(L, object, "methods") == LUA_TTABLE)
            tell_names(L, w, "method");
        lua_settop(L, object);
        if (luaL_getmetafield(L, object, "fields") == LUA_TTABLE)
            tell_names(L, w, "field");
    }
    return 0;
}

void ml_host_names(ml_Host *h, const char *path, const char *prefix,
                   void (*fn)(const char *name, const char *what, void *user), void *user)
{
    NamesWanted w = {path, prefix, fn, user};
    int top = lua_gettop(h->L);

    lua_pushcfunction(h->L, l_names);
    lua_pushlightuserdata(h->L, &w);
    lua_pcall(h->L, 1, 0, 0); /* out of memory: no more names */
    lua_settop(h->L, top);
}

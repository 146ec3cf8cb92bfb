/*
 * host_error - what the session says of an error value: a failure of ours with the frames
 * it passed, or a message of Lua's with the typed line marked and a near name.
 * Source: interaction 7.
 */
#include "repl/host/host_impl.h"
#include "repl/host/python.h"

#include <stdio.h>
#include <stdlib.h>

#include "moonloop/core/base/letters.h"
#include "moonloop/core/base/utf8.h"
#include "moonloop/core/script/report.h"
#include "moonloop/primitives/habits.h"
#include "repl/bind/bind.h"
#include "repl/command/command.h"

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
    snprintf(chunk, n, "%.*s", (int)(colon - msg), msg);
    return end[1] == ' ' ? end + 2 : end + 1;
}

/* `a nil value (global 'spilt')` in a message of Lua's, where what is global: the name. */
static bool nil_name(const char *msg, const char *what, char *buf, size_t n)
{
    char head[48];
    const char *p, *end;

    snprintf(head, sizeof head, "a nil value (%s '", what);
    p = strstr(msg, head);
    if (!p)
        return false;
    p += strlen(head);
    end = strchr(p, '\'');
    if (!end || (size_t)(end - p) >= n)
        return false;
    snprintf(buf, n, "%.*s", (int)(end - p), p);
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
    ml_text_add(at, at->n ? "\n     | " : "     | ");
    for (size_t k = 0; k < len; k++) /* a column each: the caret stands below its place */
        ml_text_char(at, (unsigned char)p[k] < ' ' || p[k] == 0x7f ? '?' : p[k]);
    if (!near || !(end = strrchr(near + 6, '\'')) ||
        (size_t)(end - near - 6) >= sizeof token)
        return;
    snprintf(token, sizeof token, "%.*s", (int)(end - near - 6), near + 6);
    /* Lua does not say which one: a caret under a wrong one would mislead. */
    const char *hit = NULL;
    int hits = 0;

    for (const char *q = p; *token && (q = strstr(q, token)) && q < p + len; q++, hits++)
        hit = q;
    if (hits == 1) {
        ml_text_add(at, "\n     | ");
        ml_text_repeat(at, ' ', ml_columns_to(p, hit));
        ml_text_repeat(at, '^', ml_columns_to(hit, hit + strlen(token)));
    }
}

/* The command that the line begins with, with words behind it and no colon before; or NULL. */
static const char *lone_command(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz");

    for (size_t k = 0; n > 0 && text[n] == ' ' && k < ml_n_commands; k++)
        if (strlen(ml_commands[k].name) == n && memcmp(ml_commands[k].name, text, n) == 0)
            return ml_commands[k].name;
    return NULL;
}

/* Where Lua could not read the line and Python could: how it is written here. */
static void add_python_hint(ml_Text *at, const char *text, const char *what)
{
    bool command = strstr(what, " near ") || strstr(what, "no visible label");
    ml_Text hint = {0};

    if (command && lone_command(text)) { /* open mm.py, goto v0 */
        ml_text_fmt(at, "%s  note   a command begins with a colon: :%.*s",
                    at->n ? "\n" : "", (int)strcspn(text, "\n"), text);
        return;
    }

    if (strstr(what, " near ") || strstr(what, "global 'f'")) /* f"…", a call of f */
        ml_python_hint(text, &hint);
    if (hint.n)
        ml_text_fmt(at, "%s  note   in Lua: %s", at->n ? "\n" : "", ml_text_z(&hint));
    ml_text_free(&hint);
}

/* sch.mod.show(), where a method was indexed: its name; empty: another message. */
static ml_Str indexed_method(lua_State *L, const char *what)
{
    static const char HEAD[] = "attempt to index a function value (field '";
    size_t n = sizeof HEAD - 1;
    char name[80];

    if (strncmp(what, HEAD, n) != 0)
        return (ml_Str){NULL, 0};
    ml_Str field = {what + n, strcspn(what + n, "'")};

    snprintf(name, sizeof name, "%.*s", (int)field.n, field.p);
    return ml_host_is_method(L, name) ? field : (ml_Str){NULL, 0};
}

static bool in_name(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* The .NAME of a line that has it once; or NULL. */
static const char *only_field(const char *line, ml_Str name)
{
    const char *hit = NULL;

    for (const char *p = strchr(line, '.'); p; p = strchr(p + 1, '.'))
        if (strncmp(p + 1, name.p, name.n) == 0 && !in_name(p[1 + name.n])) {
            if (hit)
                return NULL;
            hit = p;
        }
    return hit;
}

/* The typed line with the method called: sch:mod()["main"], sch:trace():show(); a module is
 * shown by its schedule, sch:show(). The form of it where the line is not that simple. */
static void add_called(ml_Text *out, const char *line, ml_Str name)
{
    const char *at = line && !strchr(line, '\n') ? only_field(line, name) : NULL;

    if (!at) {
        ml_text_fmt(out, "x:%.*s()", (int)name.n, name.p);
        return;
    }
    const char *rest = at + 1 + name.n, *end = rest + (*rest == '.');

    while (in_name(*end))
        end++;
    bool method = *rest == '.' && *end == '(';

    ml_text_addn(out, line, (size_t)(at - line));
    if (!(method && ml_str_eq(name, ml_str("mod")) && strncmp(rest, ".show(", 6) == 0))
        ml_text_fmt(out, ":%.*s()", (int)name.n, name.p);
    ml_text_add(out, method ? ":" : "");
    ml_text_add(out, rest + method);
}

/* The quote that opens a string which the line does not close; NULL: none. */
static const char *find_open_quote(const char *line)
{
    const char *open = NULL;

    for (const char *p = line; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (open && *p == *open)
            open = NULL;
        else if (!open && (*p == '"' || *p == '\''))
            open = p;
    }
    return open;
}

/* What Lua's own words leave open: of a nil the name that was read and is nothing, of a line
 * as it would stand in Python. */
static void add_note(ml_Host *h, ml_Text *at, const char *what)
{
    const char *quote =
        h->line && strstr(what, "unfinished string") ? find_open_quote(h->line) : NULL;

    if (quote)
        ml_text_fmt(at, "%s  note   the quote before `%.12s` is not closed",
                    at->n ? "\n" : "", quote + 1);
    if (h->line && h->nothing[0] && strstr(what, "nil")) {
        ml_text_fmt(at, "%s  note   ", at->n ? "\n" : "");
        ml_host_unknown(h, h->nothing, false, at);
    }
    if (strstr(what, "']' expected near ','"))
        ml_text_fmt(
            at,
            "%s  note   Lua has no [i, j]: an element of a te tensor is A(i, j), one "
            "of a table of tables t[i][j]",
            at->n ? "\n" : "");
}

/* Lua names a byte of a letter beyond ASCII, near '<\195>'; the letter itself is said, where
 * the typed line has one beginning so. */
static const char *say_letter(ml_Ctx *cx, const char *what, const char *text)
{
    static const char NEAR[] = "near '<\\";
    const char *at = strstr(what, NEAR), *end = text ? text + strlen(text) : NULL;
    char *stop;

    if (!at || !text)
        return what;
    long byte = strtol(at + strlen(NEAR), &stop, 10);

    for (const char *p = text; p < end; p++) {
        size_t n = (unsigned char)*p == byte ? ml_utf8_length(p, end) : 0;

        if (n > 1 && ml_streq(stop, ">'"))
            return ml_format(cx, "%.*snear '%.*s'%s", (int)(at - what), what, (int)n, p,
                             ml_letter(p, end, false)
                                 ? "; names of Lua are ASCII: loops and blocks "
                                   "are given as strings"
                                 : "");
    }
    return what;
}

static void report_text(ml_Host *h, const char *msg, bool typed)
{
    ml_Session *ss = h->ss;
    char chunk[120], name[80];
    int line;
    const char *what = strip_place(msg, chunk, sizeof chunk, &line);
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text at = {0}, said = {0};
    bool global = nil_name(what, "global", name, sizeof name);
    bool called = strncmp(what, "attempt to call ", 16) == 0;

    what = say_letter(cx, what, line && typed ? h->line : NULL);
    if (line && !(typed && ml_streq(chunk, "input")))
        ml_text_fmt(&at, "  at     %s:%d", chunk, line);
    else if (line && h->line && !global)
        add_source_line(&at, h->line, line, what);
    if (typed && h->line && line)
        add_python_hint(&at, h->line, what);
    ml_Str method = indexed_method(h->L, what);
    const char *gone = ss->safe ? ml_host_gone(what) : NULL;

    if (gone) {
        ml_fail(cx, ML_E_NOT_SUPPORTED, ML_TEXT(ml_format(cx, "%s under --safe", gone)));
    } else if (global) {
        if (!typed && ml_host_is_method(h->L, name))
            ml_text_fmt(&said,
                        "no function '%s' in a script: write s:%s(…), or call focus(s) "
                        "and use the prompt",
                        name, name);
        else
            ml_host_unknown(h, name, called, &said);
        ml_fail(cx, ML_E_UNKNOWN_NAME, ML_TEXT(ml_text_z(&said)));
    } else if (called && (nil_name(what, "method", name, sizeof name) ||
                          nil_name(what, "field", name, sizeof name))) {
        const char *habit = ml_habit(name);

        ml_fail(cx, ML_E_UNKNOWN_NAME,
                ML_TEXT(ml_format(cx, "the value has no function '%s'%s%s", name,
                                  habit ? "; instead: " : "", habit ? habit : "")));
    } else if (ml_streq(what, "not enough memory"))
        ml_fail(cx, ML_E_OUT_OF_MEMORY,
                ML_NUMBER("bytes", ml_setting_int(&ss->set, ML_SET_memory_limit) << 20));
    else if (method.n) {
        ml_text_fmt(&said, "%.*s is a function; instead: ", (int)method.n, method.p);
        add_called(&said, typed && !h->python.n ? h->line : NULL, method);
        ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT(ml_text_z(&said)));
    } else {
        ml_fail(cx, ML_E_LUA_ERROR, ML_TEXT(what));
        add_note(h, &at, what);
    }
    ml_session_report(ss, ml_failure_from(ml_error(cx)), true, ml_text_z(&at));
    ml_text_free(&at);
    ml_text_free(&said);
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
    }
    if (diags && h->ss->json) {
        ml_text_fmt(&at, "%s%s", at.n ? "\n" : "", diags);
        ml_session_report(h->ss, f, false, ml_text_z(&at));
    } else if (diags) {
        ml_err_prose(&h->ss->out, diags);
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

void ml_host_report(ml_Host *h, bool typed)
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

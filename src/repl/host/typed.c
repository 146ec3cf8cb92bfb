/*
 * host_typed - what is left to be said of a typed line that has run: that a name was nothing,
 * that what it assigned is not yet what the next line will want; and of one that runs, whether
 * a list in it would lose a name. Source: interaction 4, 7.
 */
#include "repl/host/host_impl.h"

#include "moonloop/primitives/habits.h"
#include "moonloop/primitives/tokens.h"
#include "repl/bind/bind.h"

enum { TOLD_PYTHON = 1 << 8, TOLD_SPREAD = 1 << 9 }; /* of told, beside the habits */

/* The line as a.b.c; empty: it is more than names. */
static void read_chain(const char *text, ml_Text *out)
{
    ml_Tokens t = {.p = text, .n = strlen(text)};
    bool want_name = true;

    ml_text_clear(out);
    for (ml_Token k = ml_token_code(&t); k.kind != ML_TOKEN_END; k = ml_token_code(&t)) {
        bool fits = want_name ? k.kind == ML_TOKEN_NAME && !ml_is_lua_keyword(k.text)
                              : ml_token_is(k, ".");

        if (!fits) {
            ml_text_clear(out);
            return;
        }
        ml_text_addn(out, k.text.p, k.text.n);
        want_name = !want_name;
    }
    if (want_name)
        ml_text_clear(out);
}

/* load("mm.py"), which is Lua's and gives nil and a message: what is meant is a command. */
static void note_load(ml_Host *h, const char *text)
{
    lua_State *L = h->L;

    if (strncmp(text, "load", 4) != 0)
        return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->result);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    if (lua_isnil(L, -2) && lua_isstring(L, -1))
        ml_err_say(&h->ss->out, "note: load compiles a text of Lua; instead: %s",
                   ml_habit("load"));
    lua_pop(L, 3);
}

bool ml_host_is_something(ml_Host *h, const char *text)
{
    lua_State *L = h->L;

    read_chain(text, &h->typed);
    note_load(h, text);
    const char *name = h->typed.n ? ml_text_z(&h->typed) : "_";

    if (strchr(name, '.') || ml_streq(name, "_"))
        return true;
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->result);
    bool some = lua_rawgeti(L, -1, 1) != LUA_TNIL;

    lua_pop(L, 2);
    if (some)
        return true;
    ml_Text said = {0};

    ml_host_unknown(h, name, false, &said);
    ml_session_error(h->ss, ML_E_UNKNOWN_NAME, "%s", ml_text_z(&said));
    ml_text_free(&said);
    return false;
}

/* ---- undefined names in lists */

/* Whether what begins with the mark k is given to a method of the focus or of a schedule: b, a
 * are the tokens before it; outer: what stands around it is. */
static bool is_given(ml_Host *h, ml_Token b, ml_Token a, ml_Token k, bool outer)
{
    char name[80];

    if (a.kind != ML_TOKEN_NAME || ml_is_lua_keyword(a.text))
        return outer && !ml_token_is(k, "[") && !ml_token_is(a, ")") &&
               !ml_token_is(a, "]");
    if (a.text.n >= sizeof name || ml_token_is(b, "."))
        return false;
    memcpy(name, a.text.p, a.text.n);
    name[a.text.n] = '\0';
    return ml_host_is_method(h->L, name) &&
           (ml_token_is(b, ":") || !ml_host_knows(h, name, false));
}

bool ml_host_is_dropped(ml_Host *h, const char *text, const char *name)
{
    enum { DEPTH = 32 };
    ml_Tokens t = {.p = text, .n = strlen(text)};
    ml_Token b = {0}, a = {0}, k = ml_token_code(&t), next;
    bool given[DEPTH] = {false}, table[DEPTH] = {false}, last = false;
    size_t depth = 0;

    for (; k.kind != ML_TOKEN_END; b = a, a = k, k = next) {
        next = ml_token_code(&t);
        if (ml_token_is(k, "(") || ml_token_is(k, "[") || ml_token_is(k, "{")) {
            if (depth + 1 == DEPTH)
                return false;
            given[depth + 1] = is_given(h, b, a, k, given[depth]);
            table[++depth] = ml_token_is(k, "{");
        } else if (ml_token_is(k, ")") || ml_token_is(k, "]") || ml_token_is(k, "}"))
            depth -= depth > 0;
        else if (k.kind == ML_TOKEN_NAME && ml_token_is(k, name)) {
            bool ends = ml_token_is(next, "}");

            if (!given[depth] || !table[depth] || !(ends || ml_token_is(next, ",")) ||
                !(ml_token_is(a, "{") || ml_token_is(a, ",")))
                return false;
            last |= ends;
        }
    }
    return last;
}

/* ---- Python */

void ml_host_note_python(ml_Host *h)
{
    unsigned all = h->habits | TOLD_PYTHON;

    if (h->python.n == 0 || (all & ~h->told) == 0)
        return;
    const char *z = ml_text_z(&h->python), *first = strchr(z, '{');

    h->told |= all;
    while (first && first > z && first[-1] != '\n')
        first--;
    if (!first)
        first = z;
    ml_err_say(&h->ss->out, "note: read as Python; in Lua it is %.*s",
               (int)strcspn(first, "\n"), first);
}

/* ---- assignments */

enum { TARGETS = 16 };
typedef struct Assigned {
    size_t n;
    ml_Str names[TARGETS];
    ml_Str values; /* what stands behind the = */
    ml_Str rest;   /* of the line, behind them */
    bool one_call; /* they are one call */
} Assigned;

/* Whether the values are one call: a chain that ends in brackets. */
static bool is_one_call(ml_Str values)
{
    ml_Tokens t = {.p = values.p, .n = values.n};
    int depth = 0;
    bool closed = false;

    for (ml_Token k = ml_token_code(&t); k.kind != ML_TOKEN_END; k = ml_token_code(&t)) {
        if (k.kind == ML_TOKEN_MARK && strchr("([{", *k.text.p))
            depth++;
        else if (k.kind == ML_TOKEN_MARK && strchr(")]}", *k.text.p))
            depth--;
        else if (depth == 0 && k.kind == ML_TOKEN_MARK && !ml_token_is(k, ".") &&
                 !ml_token_is(k, ":"))
            return false;
        closed = ml_token_is(k, ")") || ml_token_is(k, "}");
    }
    return depth == 0 && closed;
}

/* How much of the text is the first statement's: up to a semicolon, or to a name behind a
 * closed bracket, which begins the next one. */
static size_t first_values(ml_Str text)
{
    ml_Tokens t = {.p = text.p, .n = text.n};
    int depth = 0;
    bool closed = false;

    for (ml_Token k = ml_token_code(&t); k.kind != ML_TOKEN_END; k = ml_token_code(&t)) {
        bool mark = k.kind == ML_TOKEN_MARK;

        if (depth == 0 && (ml_token_is(k, ";") || (closed && k.kind == ML_TOKEN_NAME)))
            return (size_t)(k.text.p - text.p);
        depth += mark && strchr("([{", *k.text.p) ? 1 : 0;
        depth -= mark && strchr(")]}", *k.text.p) ? 1 : 0;
        closed = mark && strchr(")]}", *k.text.p);
    }
    return text.n;
}

/* a, b = VALUES; false: the line is another. What follows on the line is `rest`. */
static bool read_assignment(const char *text, Assigned *a)
{
    ml_Tokens t = {.p = text, .n = strlen(text)};
    ml_Token k = ml_token_code(&t);

    *a = (Assigned){0};
    if (ml_token_is(k, "local"))
        k = ml_token_code(&t);
    for (;; k = ml_token_code(&t)) {
        if (k.kind != ML_TOKEN_NAME || ml_is_lua_keyword(k.text) || a->n == TARGETS)
            return false;
        a->names[a->n++] = k.text;
        k = ml_token_code(&t);
        if (ml_token_is(k, "="))
            break;
        if (!ml_token_is(k, ","))
            return false;
    }
    a->values = (ml_Str){text + t.at, strlen(text + t.at)};
    while (a->values.n && strchr(" \t", *a->values.p)) {
        a->values.p++;
        a->values.n--;
    }
    size_t first = first_values(a->values);

    a->rest = (ml_Str){a->values.p + first, a->values.n - first};
    a->values.n = first;
    while (a->values.n && strchr(" \t\n", a->values.p[a->values.n - 1]))
        a->values.n--;
    a->one_call = is_one_call(a->values);
    return a->values.n > 0;
}

static void push_global(lua_State *L, ml_Str name)
{
    lua_pushglobaltable(L);
    lua_pushlstring(L, name.p, name.n);
    lua_rawget(L, -2);
    lua_remove(L, -2);
}

/* Whether a list of handles is on top. */
static bool is_handles(lua_State *L)
{
    bool all = lua_istable(L, -1) && lua_rawlen(L, -1) > 0;

    for (lua_Unsigned k = 1; all && k <= lua_rawlen(L, -1); k++) {
        lua_rawgeti(L, -1, (lua_Integer)k);
        all = bind_test(L, -1, &bind_handle_class) || bind_test(L, -1, &bind_hexpr_class);
        lua_pop(L, 1);
    }
    return all;
}

bool ml_host_spread(const char *text, ml_Text *out)
{
    Assigned a;

    if (!read_assignment(text, &a) || a.n < 2 || !a.one_call)
        return false;
    const char *names = a.names[0].p, *end = a.names[a.n - 1].p + a.names[a.n - 1].n;

    /* a comment may end the line */
    ml_text_fmt(out, "%.*s = (...)(%zu, %.*s\n) %.*s", (int)(end - names), names, a.n,
                (int)a.values.n, a.values.p, (int)a.rest.n, a.rest.p);
    return true;
}

int ml_host_spread_values(lua_State *L)
{
    ml_Host *h = ml_host_of(L);
    lua_Integer n = lua_tointeger(L, 1);
    Assigned a;

    if (lua_gettop(L) != 2 || !is_handles(L))
        return lua_gettop(L) - 1;
    if ((lua_Integer)lua_rawlen(L, 2) != n)
        return bind_bad(L,
                        "the call gives a list of %d, and %d names stand before the =; "
                        "nothing was assigned",
                        (int)lua_rawlen(L, 2), (int)n);
    if (h->line && !h->ss->quiet_line && !(h->told & TOLD_SPREAD) &&
        read_assignment(h->line, &a)) {
        const char *names = a.names[0].p, *end = a.names[a.n - 1].p + a.names[a.n - 1].n;

        h->told |= TOLD_SPREAD;
        ml_err_say(
            &h->ss->out,
            "note: the call gives one list; its elements are taken, as in Python. In "
            "Lua: %.*s = table.unpack(%.*s)",
            (int)(end - names), names, (int)a.values.n, a.values.p);
    }
    luaL_checkstack(L, (int)n, NULL);
    for (lua_Integer k = 1; k <= n; k++)
        lua_rawgeti(L, 2, k);
    return (int)n;
}

/* user: the text of the line. Protected: names are made in Lua. */
static int l_note(lua_State *L)
{
    ml_Host *h = ml_host_of(L);
    Assigned a;

    if (!read_assignment(lua_touserdata(L, 1), &a))
        return 0;
    for (size_t k = 0; k < a.n; k++) {
        push_global(L, a.names[k]);
        if (bind_test(L, -1, &bind_module_class))
            ml_err_say(&h->ss->out,
                       "note: %.*s is a module, a program without steps: s = "
                       "schedule(%.*s) begins to schedule it",
                       (int)a.names[k].n, a.names[k].p, (int)a.names[k].n, a.names[k].p);
        lua_pop(L, 1);
    }
    return 0;
}

void ml_host_note_assigned(ml_Host *h, const char *text)
{
    if (!h->ss->quiet_line && strchr(text, '='))
        ml_host_protected(h, l_note, (void *)(uintptr_t)text);
}

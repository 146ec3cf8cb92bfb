/*
 * host_pattern - string.find, match, gmatch and gsub of the prompt.
 *
 * They give what Lua's own give, message by message (a test compares them), but look for
 * Ctrl-C on the way: a pattern can take time that is exponential in its subject, and the
 * hook of a state is not called inside a C function. Source: interaction 9; the manual of
 * Lua 5.4, 6.4.1.
 */
#define _GNU_SOURCE /* NOLINT: memmem */
#include "repl/host/host_impl.h"

#include <ctype.h>
#include <string.h>

#include "repl/bind/bind.h"

enum {
    CAPTURES = 32,
    DEPTH = 200,    /* of the matcher's own calls */
    LOOK = 0x3fff,  /* steps between two looks at Ctrl-C, less one */
    CAP_OPEN = -1,  /* its end has not been seen */
    CAP_PLACE = -2, /* () */
};

typedef struct Match {
    lua_State *L;
    const char *text, *end, *pat_end;
    unsigned steps;
    int depth, n;
    struct {
        const char *at;
        ptrdiff_t len;
    } cap[CAPTURES];
} Match;

static void step(Match *m)
{
    if ((++m->steps & LOOK) == 0)
        ml_lua_poll(m->L);
}

/* ---- one character */

static bool in_class(int c, int class)
{
    bool in;

    switch (tolower(class)) {
    case 'a': in = isalpha(c); break;
    case 'c': in = iscntrl(c); break;
    case 'd': in = isdigit(c); break;
    case 'g': in = isgraph(c); break;
    case 'l': in = islower(c); break;
    case 'p': in = ispunct(c); break;
    case 's': in = isspace(c); break;
    case 'u': in = isupper(c); break;
    case 'w': in = isalnum(c); break;
    case 'x': in = isxdigit(c); break;
    case 'z': in = c == 0; break; /* of Lua 5.1; still there */
    default: return class == c;
    }
    return isupper(class) ? !in : in;
}

static int at(const char *p)
{
    return (unsigned char)*p;
}

/* p at the `[`, close at the `]` that ends it. */
static bool in_set(int c, const char *p, const char *close)
{
    bool in = true;

    if (p[1] == '^') {
        in = false;
        p++;
    }
    while (++p < close) {
        if (*p == '%') {
            if (in_class(c, at(++p)))
                return in;
        } else if (p[1] == '-' && p + 2 < close) {
            if (at(p) <= c && c <= at(p + 2))
                return in;
            p += 2;
        } else if (at(p) == c)
            return in;
    }
    return !in;
}

/* Behind the item for one character that begins at p. */
static const char *item_end(Match *m, const char *p)
{
    char c = *p++;

    if (c == '%') {
        if (p == m->pat_end)
            luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (c != '[')
        return p;
    if (*p == '^')
        p++;
    do {
        if (p == m->pat_end)
            luaL_error(m->L, "malformed pattern (missing ']')");
        if (*p++ == '%' && p < m->pat_end)
            p++;
    } while (*p != ']');
    return p + 1;
}

static bool matches_one(Match *m, const char *s, const char *p, const char *behind)
{
    step(m);
    if (s >= m->end)
        return false;
    switch (*p) {
    case '.': return true;
    case '%': return in_class(at(s), at(p + 1));
    case '[': return in_set(at(s), p, behind - 1);
    default: return *p == *s;
    }
}

/* ---- items; each gives where the rest of the subject begins, or NULL */

static const char *match(Match *m, const char *s, const char *p);

static const char *balanced(Match *m, const char *s, const char *p)
{
    int open = 1;

    if (p >= m->pat_end - 1)
        luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->end || *s != p[0])
        return NULL;
    while (++s < m->end) {
        step(m);
        if (*s == p[1]) {
            if (--open == 0)
                return s + 1;
        } else if (*s == p[0])
            open++;
    }
    return NULL;
}

/* As many as there are, then fewer. */
static const char *greedy(Match *m, const char *s, const char *p, const char *behind)
{
    ptrdiff_t n = 0;

    while (matches_one(m, s + n, p, behind))
        n++;
    for (; n >= 0; n--) {
        const char *end = match(m, s + n, behind + 1);

        if (end)
            return end;
    }
    return NULL;
}

static const char *lazy(Match *m, const char *s, const char *p, const char *behind)
{
    for (;;) {
        const char *end = match(m, s, behind + 1);

        if (end)
            return end;
        if (!matches_one(m, s, p, behind))
            return NULL;
        s++;
    }
}

static const char *open_capture(Match *m, const char *s, const char *p, int what)
{
    const char *end;

    if (m->n >= CAPTURES)
        luaL_error(m->L, "too many captures");
    m->cap[m->n].at = s;
    m->cap[m->n++].len = what;
    end = match(m, s, p);
    if (!end)
        m->n--;
    return end;
}

static const char *close_capture(Match *m, const char *s, const char *p)
{
    int k = m->n - 1;
    const char *end;

    while (k >= 0 && m->cap[k].len != CAP_OPEN)
        k--;
    if (k < 0)
        luaL_error(m->L, "invalid pattern capture");
    m->cap[k].len = s - m->cap[k].at;
    end = match(m, s, p);
    if (!end)
        m->cap[k].len = CAP_OPEN;
    return end;
}

static const char *again(Match *m, const char *s, int digit)
{
    int k = digit - '1';

    if (k < 0 || k >= m->n || m->cap[k].len == CAP_OPEN)
        luaL_error(m->L, "invalid capture index %%%d", k + 1);
    size_t n = (size_t)m->cap[k].len;

    ML_ASSERT(m->cap[k].at);
    return (size_t)(m->end - s) >= n && memcmp(m->cap[k].at, s, n) == 0 ? s + n : NULL;
}

static bool at_frontier(const Match *m, const char *s, const char *p, const char *behind)
{
    int before = s == m->text ? 0 : at(s - 1), here = s < m->end ? at(s) : 0;

    return !in_set(before, p, behind - 1) && in_set(here, p, behind - 1);
}

/* The items that are not of one character; *next: they were passed, go on at *s and *p. */
static const char *special(Match *m, const char **s, const char **p, bool *next)
{
    const char *behind, *end;

    switch ((*p)[0] == '%' ? (*p)[1] : (*p)[0]) {
    case 'b':
        end = balanced(m, *s, *p + 2);
        *p += 4;
        break;
    case 'f':
        *p += 2;
        if (**p != '[')
            luaL_error(m->L, "missing '[' after '%%f' in pattern");
        behind = item_end(m, *p);
        end = at_frontier(m, *s, *p, behind) ? *s : NULL;
        *p = behind;
        break;
    default: end = again(m, *s, at(*p + 1)); *p += 2;
    }
    *next = end != NULL;
    *s = end ? end : *s;
    return end;
}

static bool is_special(const Match *m, const char *p)
{
    return *p == '%' && p + 1 < m->pat_end &&
           (p[1] == 'b' || p[1] == 'f' || isdigit(at(p + 1)));
}

static const char *match_here(Match *m, const char *s, const char *p)
{
    while (p != m->pat_end) {
        bool next = false;

        if (*p == '(')
            return p[1] == ')' ? open_capture(m, s, p + 2, CAP_PLACE)
                               : open_capture(m, s, p + 1, CAP_OPEN);
        if (*p == ')')
            return close_capture(m, s, p + 1);
        if (*p == '$' && p + 1 == m->pat_end)
            return s == m->end ? s : NULL;
        if (is_special(m, p)) {
            if (!special(m, &s, &p, &next))
                return NULL;
            continue;
        }
        const char *behind = item_end(m, p);
        char how = behind < m->pat_end ? *behind : '\0';

        if (how == '*' || how == '+')
            return how == '*'                     ? greedy(m, s, p, behind)
                   : matches_one(m, s, p, behind) ? greedy(m, s + 1, p, behind)
                                                  : NULL;
        if (how == '-')
            return lazy(m, s, p, behind);
        bool one = matches_one(m, s, p, behind);

        if (how == '?') {
            const char *end = one ? match(m, s + 1, behind + 1) : NULL;

            if (end)
                return end;
            p = behind + 1;
            continue;
        }
        if (!one)
            return NULL;
        s++;
        p = behind;
    }
    return s;
}

static const char *match(Match *m, const char *s, const char *p)
{
    const char *end;

    step(m);
    if (m->depth-- == 0)
        luaL_error(m->L, "pattern too complex");
    end = match_here(m, s, p);
    m->depth++;
    return end;
}

/* ---- captures */

static void begin(Match *m, lua_State *L, const char *text, size_t n, const char *pat_end)
{
    *m = (Match){.L = L, .text = text, .end = text + n, .pat_end = pat_end};
}

static const char *try_at(Match *m, const char *s, const char *p)
{
    m->n = 0;
    m->depth = DEPTH;
    return match(m, s, p);
}

static void push_capture(Match *m, int k, const char *s, const char *end)
{
    if (k >= m->n) {
        if (k != 0)
            luaL_error(m->L, "invalid capture index %%%d", k + 1);
        lua_pushlstring(m->L, s, (size_t)(end - s)); /* all of it */
    } else if (m->cap[k].len == CAP_PLACE)
        lua_pushinteger(m->L, m->cap[k].at - m->text + 1);
    else if (m->cap[k].len == CAP_OPEN)
        luaL_error(m->L, "unfinished capture");
    else
        lua_pushlstring(m->L, m->cap[k].at, (size_t)m->cap[k].len);
}

/* s NULL: only what the pattern captures. */
static int push_captures(Match *m, const char *s, const char *end)
{
    int n = m->n == 0 && s ? 1 : m->n;

    luaL_checkstack(m->L, n, "too many captures");
    for (int k = 0; k < n; k++)
        push_capture(m, k, s, end);
    return n;
}

/* ---- find, match */

/* A place as it is given to string functions, from 1 on. */
static size_t place_of(lua_Integer i, size_t n)
{
    if (i > 0)
        return (size_t)i;
    return i == 0 || i < -(lua_Integer)n ? 1 : n + (size_t)i + 1;
}

static bool is_plain(const char *p, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (p[k] && strchr("^$*+?.([%-", p[k]))
            return false;
    return true;
}

static int look_for(lua_State *L, bool find)
{
    size_t n, n_pat;
    const char *text = luaL_checklstring(L, 1, &n), *p = luaL_checklstring(L, 2, &n_pat);
    size_t from = place_of(luaL_optinteger(L, 3, 1), n) - 1;
    Match m;

    if (from > n) {
        lua_pushnil(L);
        return 1;
    }
    if (find && (lua_toboolean(L, 4) || is_plain(p, n_pat))) {
        const char *s = memmem(text + from, n - from, p, n_pat);

        if (!s) {
            lua_pushnil(L);
            return 1;
        }
        lua_pushinteger(L, s - text + 1);
        lua_pushinteger(L, s - text + (lua_Integer)n_pat);
        return 2;
    }
    bool anchored = *p == '^';

    begin(&m, L, text, n, p + n_pat);
    p += anchored;
    for (const char *s = text + from;; s++) {
        const char *end = try_at(&m, s, p);

        if (end && find) {
            lua_pushinteger(L, s - text + 1);
            lua_pushinteger(L, end - text);
            return push_captures(&m, NULL, NULL) + 2;
        }
        if (end)
            return push_captures(&m, s, end);
        if (s == m.end || anchored)
            break;
    }
    lua_pushnil(L);
    return 1;
}

static int l_find(lua_State *L)
{
    return look_for(L, true);
}

static int l_match(lua_State *L)
{
    return look_for(L, false);
}

/* ---- gmatch */

typedef struct PatternWalk { /* the strings are upvalues beside it */
    Match m;
    const char *s, *p, *last;
} PatternWalk;

static int l_next(lua_State *L)
{
    PatternWalk *w = lua_touserdata(L, lua_upvalueindex(3));

    w->m.L = L;
    for (const char *s = w->s; s <= w->m.end; s++) {
        const char *end = try_at(&w->m, s, w->p);

        if (end && end != w->last) {
            w->s = w->last = end;
            return push_captures(&w->m, s, end);
        }
    }
    return 0;
}

static int l_gmatch(lua_State *L)
{
    size_t n, n_pat;
    const char *text = luaL_checklstring(L, 1, &n), *p = luaL_checklstring(L, 2, &n_pat);
    size_t from = place_of(luaL_optinteger(L, 3, 1), n) - 1;

    lua_settop(L, 2);
    PatternWalk *w = lua_newuserdatauv(L, sizeof *w, 0);

    begin(&w->m, L, text, n, p + n_pat);
    w->s = text + (from > n ? n + 1 : from);
    w->p = p;
    w->last = NULL;
    lua_pushcclosure(L, l_next, 3);
    return 1;
}

/* ---- gsub */

static void add_template(Match *m, luaL_Buffer *b, const char *s, const char *end)
{
    size_t n;
    const char *t = lua_tolstring(m->L, 3, &n), *stop = t + n;

    for (; t < stop; t++) {
        if (*t != '%') {
            luaL_addchar(b, *t);
            continue;
        }
        t++;
        if (t < stop && *t == '%')
            luaL_addchar(b, '%');
        else if (t < stop && *t == '0')
            luaL_addlstring(b, s, (size_t)(end - s));
        else if (t < stop && isdigit(at(t))) {
            int k = *t - '1';

            if (k >= m->n && k != 0)
                luaL_error(m->L, "invalid capture index %%%d in replacement string", k + 1);
            push_capture(m, k, s, end);
            luaL_tolstring(m->L, -1, NULL); /* a place is a number */
            lua_remove(m->L, -2);
            luaL_addvalue(b);
        } else
            luaL_error(m->L, "invalid use of '%%' in replacement string");
    }
}

/* true: what was found is replaced by something. */
static bool add_value(Match *m, luaL_Buffer *b, const char *s, const char *end, int type)
{
    lua_State *L = m->L;

    if (type == LUA_TTABLE) {
        push_capture(m, 0, s, end);
        lua_gettable(L, 3);
    } else if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, end), 1);
    } else {
        add_template(m, b, s, end);
        return true;
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(b, s, (size_t)(end - s));
        return false;
    }
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    luaL_addvalue(b);
    return true;
}

static int l_gsub(lua_State *L)
{
    size_t n, n_pat;
    const char *s = luaL_checklstring(L, 1, &n), *p = luaL_checklstring(L, 2, &n_pat);
    const char *last = NULL;
    int type = lua_type(L, 3);
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)n + 1), done = 0;
    bool anchored = *p == '^', changed = false;
    luaL_Buffer b;
    Match m;

    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TFUNCTION &&
        type != LUA_TTABLE)
        return luaL_typeerror(L, 3, "string/function/table");
    begin(&m, L, s, n, p + n_pat);
    p += anchored;
    luaL_buffinit(L, &b);
    ML_ASSERT(s);
    while (done < most) {
        const char *end = try_at(&m, s, p);

        if (end && end != last) {
            done++;
            changed |= add_value(&m, &b, s, end, type);
            s = last = end;
        } else if (s < m.end)
            luaL_addchar(&b, *s++);
        else
            break;
        if (anchored)
            break;
    }
    if (!changed)
        lua_pushvalue(L, 1);
    else {
        luaL_addlstring(&b, s, (size_t)(m.end - s));
        luaL_pushresult(&b);
    }
    lua_pushinteger(L, done);
    return 2;
}

void ml_host_add_patterns(lua_State *L)
{
    static const luaL_Reg FUNCTIONS[] = {{"find", l_find},
                                         {"match", l_match},
                                         {"gmatch", l_gmatch},
                                         {"gsub", l_gsub},
                                         {NULL, NULL}};

    lua_getglobal(L, LUA_STRLIBNAME);
    luaL_setfuncs(L, FUNCTIONS, 0);
    lua_pop(L, 1);
}

/*
 * host_line - a typed line as a function of Lua: an expression or a chunk, or a piece of
 * Python; whether it wants more lines. Source: interaction 3, 4.
 */
#include "moonloop/primitives/tokens.h"
#include "repl/host/host_impl.h"
#include "repl/host/python.h"

/* Whether the text compiled would go on in another line. A string in quotes does so only
 * behind a backslash, or in Python between three. */
static bool incomplete_message(lua_State *L, const char *text)
{
    size_t n, len = strlen(text);
    const char *msg = lua_tolstring(L, -1, &n);

    if (n < 5 || !ml_streq(msg + n - 5, "<eof>"))
        return false;
    while (len && text[len - 1] == '\n')
        len--;
    return !strstr(msg, "unfinished string") || (len && text[len - 1] == '\\') ||
           strstr(text, "\"\"\"") || strstr(text, "'''");
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

/* What is no Lua may be a piece of Python: its chunk takes the place of the message on top;
 * else that stays. The status. more: lines are wanted. */
static int compile_python(ml_Host *h, const char *text, bool *more)
{
    size_t n = strlen(text);
    ml_PythonIs is = ml_python_read(text, &h->python, &h->habits);

    *more = is == ML_PYTHON_MORE || (is == ML_PYTHON_DEFINES && text[n - 1] != '\n');
    bool ok =
        (is == ML_PYTHON_IS || is == ML_PYTHON_DEFINES) &&
        luaL_loadbufferx(h->L, ml_text_z(&h->python), h->python.n, "=input", "t") == LUA_OK;

    if (ok)
        lua_remove(h->L, -2);
    else {
        if (is == ML_PYTHON_IS || is == ML_PYTHON_DEFINES)
            lua_pop(h->L, 1);
        ml_text_clear(&h->python);
    }
    return ok ? LUA_OK : LUA_ERRSYNTAX;
}

/* Pushes the line as a function, or what is wrong with it: Lua's status. */
static int compile_lua(ml_Host *h, const char *text, bool typed)
{
    lua_State *L = h->L;
    const char *name = typed ? "=input" : "=-e";
    ml_Text spread = {0};

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
    bool spreads = typed && ml_host_spread(text, &spread) &&
                   luaL_loadbufferx(L, ml_text_z(&spread), spread.n, name, "t") == LUA_OK;

    if (!spreads && spread.n)
        lua_pop(L, 1);
    int status = spreads ? LUA_OK : luaL_loadbufferx(L, text, strlen(text), name, "t");

    ml_text_free(&spread);
    return status;
}

/* `# tile`, where no variable has that name: its length is not meant. */
static bool is_lone_comment(ml_Host *h, const char *text)
{
    ml_Tokens t = {.p = text + 1, .n = strlen(text + 1)};
    ml_Token k = text[0] == '#' && text[1] == ' ' ? ml_token_next(&t) : (ml_Token){0};

    if (k.kind != ML_TOKEN_NAME || ml_token_next(&t).kind != ML_TOKEN_END)
        return false;
    lua_pushglobaltable(h->L);
    lua_pushlstring(h->L, k.text.p, k.text.n);
    bool none = lua_rawget(h->L, -2) == LUA_TNIL;

    lua_pop(h->L, 2);
    return none;
}

/* The same, of a typed line also where it is Python. *more: it wants more lines. */
static int compile_line(ml_Host *h, const char *text, bool typed, bool *more)
{
    int status = LUA_ERRSYNTAX;

    *more = false;
    ml_text_clear(&h->python);
    if (typed && is_lone_comment(h, text))
        lua_pushliteral(h->L, "a line that begins with # is Python's");
    else
        status = compile_lua(h, text, typed);
    if (status != LUA_ERRSYNTAX || !typed)
        return status;
    *more = incomplete_message(h->L, text) && !ml_python_is_block(text);
    return *more ? status : compile_python(h, text, more);
}

static void drop_kept(ml_Host *h)
{
    ml_text_clear(&h->kept);
    luaL_unref(h->L, LUA_REGISTRYINDEX, h->kept_chunk);
    h->kept_chunk = LUA_NOREF;
}

bool ml_host_incomplete(ml_Host *h, const char *text)
{
    bool more;

    drop_kept(h);
    h->kept_status = compile_line(h, text, true, &more);
    if (more) {
        lua_pop(h->L, 1);
        return true;
    }
    ml_text_add(&h->kept, text);
    h->kept_chunk = luaL_ref(h->L, LUA_REGISTRYINDEX);
    return false;
}

bool ml_host_reads(ml_Host *h, const char *text)
{
    bool more;

    drop_kept(h);
    int status = compile_line(h, text, true, &more);

    lua_pop(h->L, 1);
    return more || status == LUA_OK;
}

/* One that was asked about just before is not compiled anew. */
int ml_host_load_line(ml_Host *h, const char *text, bool typed)
{
    size_t n = strlen(text);
    const char *z = ml_text_z(&h->kept);
    bool kept = typed && h->kept.n >= n && n > 0 && memcmp(z, text, n) == 0 &&
                z[n + strspn(z + n, " \t\r\n")] == '\0';

    if (kept)
        lua_rawgeti(h->L, LUA_REGISTRYINDEX, h->kept_chunk);
    drop_kept(h);
    bool more;

    return kept ? h->kept_status : compile_line(h, text, typed, &more);
}

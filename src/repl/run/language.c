/* language - what a line is read as, by its beginning. Source: interaction 4. */
#include "repl/run/language.h"

#include "moonloop/primitives/tokens.h"

/* Where the next line begins, or the end; a line with an open bracket or text goes on, and
 * *open says that it does so at the end. */
static const char *behind_line(const char *p, const char *stop, bool *open)
{
    ml_Tokens t = {.p = p, .n = (size_t)(stop - p), .script = true};
    int depth = 0;

    for (size_t from = 0;; from = t.at) {
        ml_Token k = ml_token_next(&t);
        const char *end = memchr(p + from, '\n', (size_t)(k.text.p - p) - from);

        if (end && depth <= 0)
            return end + 1;
        *open = (k.open && k.kind != ML_TOKEN_COMMENT) || depth > 0;
        if (k.kind == ML_TOKEN_END || k.open)
            return stop;
        if (k.kind == ML_TOKEN_MARK)
            depth += strchr("([{", *k.text.p) ? 1 : strchr(")]}", *k.text.p) ? -1 : 0;
    }
}

/* `import tvm`, `from tvm.script import tir`, `def f`: in Lua two names never stand side by
 * side. */
static bool begins_with_names(const char *p, const char *first)
{
    ml_Tokens t = {.p = p, .n = strcspn(p, "\n"), .script = true};

    if (!ml_token_is(ml_token_next(&t), first))
        return false;
    ml_Token k = ml_token_next(&t);

    return k.kind == ML_TOKEN_NAME && !ml_is_lua_keyword(k.text);
}

static bool is_import(const char *p)
{
    return begins_with_names(p, "import") || begins_with_names(p, "from");
}

/* Three quotes: Lua has no such text. */
static bool is_docstring(const char *p)
{
    return strncmp(p, "\"\"\"", 3) == 0 || strncmp(p, "'''", 3) == 0;
}

/* `# from tvm.script import tir as T`, which Lua cannot mean: #t is its length of t. */
static bool is_comment(const char *p)
{
    ml_Tokens t = {.p = p + 1, .n = strcspn(p, "\n") - 1, .script = true};

    if (*p != '#')
        return false;
    ml_Token k = ml_token_next(&t);

    return k.kind == ML_TOKEN_NAME && (strncmp(k.text.p, "moonloop:", 9) == 0 ||
                                       ml_token_next(&t).kind == ML_TOKEN_NAME);
}

/* `M, N = 64, 64`, which may stand before a program; it is Lua by itself. */
static bool is_constant(const char *p)
{
    ml_Tokens t = {.p = p, .n = strcspn(p, "\n"), .script = true};

    for (;;) {
        ml_Token k = ml_token_next(&t);

        if (k.kind != ML_TOKEN_NAME || ml_is_lua_keyword(k.text))
            return false;
        k = ml_token_next(&t);
        if (ml_token_is(k, "="))
            return true;
        if (!ml_token_is(k, ","))
            return false;
    }
}

static bool is_script(const char *p)
{
    const char *stop = p + strlen(p);
    bool open;

    for (; *p; p = behind_line(p, stop, &open)) {
        p += strspn(p, "\n");
        if (*p == '@' || is_comment(p) || is_import(p) || is_docstring(p) ||
            begins_with_names(p, "def"))
            return true;
        if (begins_with_names(p, "class")) /* `class Name:`, `class Name(Base):` */
            return memchr(p, ':', strcspn(p, "\n"));
        if (*p != '#' && !is_constant(p))
            return false;
    }
    return false;
}

const char *ml_behind_script_line(const char *p)
{
    bool open;

    return behind_line(p, p + strlen(p), &open);
}

bool ml_stands_above_program(const char *p)
{
    return *p == '#' || is_import(p) || is_docstring(p) || is_constant(p);
}

bool ml_is_whole_preamble(const char *p)
{
    const char *stop = p + strlen(p);
    bool open = false;

    for (; *p && !open; p = behind_line(p, stop, &open))
        if (*p != '#' && *p != '\n' && !is_import(p))
            return false;
    return !open;
}

ml_Language ml_language_of_input(const char *p)
{
    p += strspn(p, " \t\n");
    const char *mark = strchr(p, '?');

    if (*p == ':' && p[1] != ':')
        return ML_LANGUAGE_COMMAND;
    if (*p == '?' || (mark && p[strlen(p) - 1] == '?' && !strpbrk(p, " (\"'")))
        return ML_LANGUAGE_HELP;
    if (*p == '!')
        return ML_LANGUAGE_SHELL;
    return is_script(p) ? ML_LANGUAGE_SCRIPT : ML_LANGUAGE_LUA;
}

/* language - what a line is read as, by its beginning. Source: interaction 4. */
#include "repl/run/language.h"

#include "moonloop/primitives/tokens.h"

static bool is_script(const char *p)
{
    static const char *const HEADS[] = {"@T.", "@I.", "from tvm", "import tvm"};
    ml_Tokens t = {.p = p, .n = strcspn(p, "\n"), .script = true};

    for (size_t k = 0; k < ML_COUNT(HEADS); k++)
        if (strncmp(p, HEADS[k], strlen(HEADS[k])) == 0)
            return true;
    /* `class Name:`, `class Name(Base):`; in Lua two names never stand side by side. */
    return *p == 'c' && ml_token_is(ml_token_next(&t), "class") &&
           ml_token_next(&t).kind == ML_TOKEN_NAME && memchr(p, ':', t.n);
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

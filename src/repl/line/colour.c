/*
 * colour - the words of a line with the roles they have.
 *
 * A walk along the tokens of Lua or TVMScript, whatever they are: what is not known is plain
 * text. Source: interaction 4, 10.
 */
#include "repl/line/colour.h"

#include "moonloop/primitives/prim.h"
#include "moonloop/primitives/tokens.h"
#include "repl/bind/schedule/calls.h"
#include "repl/command/command.h"

typedef struct Words {
    ml_Ctx *cx;
    ml_Tokens t;
    ml_Token before; /* the token before the one at work */
    bool block;      /* after T.block( : the string names one */
    ml_RoleSpans *out;
} Words;

static void add(Words *w, ml_Str s, ml_CellRole role)
{
    size_t from = (size_t)(s.p - w->t.p);

    ml_push(w->cx, w->out,
            ((ml_RoleSpan){(uint32_t)from, (uint32_t)(from + s.n), (uint8_t)role}));
}

static bool is_mark(ml_Token k, char c)
{
    return k.kind == ML_TOKEN_MARK && k.text.n == 1 && *k.text.p == c;
}

static bool is_keyword(const Words *w, ml_Str s)
{
    static const char *const SCRIPT[] = {
        "and", "as",   "assert", "class",  "def",   "elif",   "else", "False",
        "for", "from", "if",     "import", "in",    "lambda", "None", "not",
        "or",  "pass", "return", "True",   "while", "with"};

    if (!w->t.script)
        return ml_is_lua_keyword(s) || ml_str_eq(s, ml_str("auto"));
    for (size_t k = 0; k < ML_COUNT(SCRIPT); k++)
        if (s.p[0] == SCRIPT[k][0] && ml_str_eq(s, ml_str(SCRIPT[k])))
            return true;
    return false;
}

/* What follows T. : loops have the role of their kind. */
static ml_CellRole script_role(ml_Str w)
{
    static const struct {
        const char *name;
        ml_CellRole role;
    } ROLES[] = {{"grid", ML_ROLE_LOOP_SERIAL},
                 {"serial", ML_ROLE_LOOP_SERIAL},
                 {"parallel", ML_ROLE_LOOP_PARALLEL},
                 {"vectorized", ML_ROLE_LOOP_VECTOR},
                 {"unroll", ML_ROLE_LOOP_UNROLL},
                 {"thread_binding", ML_ROLE_LOOP_THREAD},
                 {"Buffer", ML_ROLE_BUFFER},
                 {"alloc_buffer", ML_ROLE_BUFFER},
                 {"match_buffer", ML_ROLE_BUFFER},
                 {"block", ML_ROLE_BLOCK},
                 {"sblock", ML_ROLE_BLOCK}};

    for (size_t k = 0; k < ML_COUNT(ROLES); k++)
        if (ml_str_eq(w, ml_str(ROLES[k].name)))
            return ROLES[k].role;
    return ML_ROLE_NAME;
}

static bool is_primitive(ml_Ctx *cx, ml_Str w)
{
    const char *name = ml_strdup(cx, w);

    return ml_primitive_find(name) || ml_schedule_call_find(name) ||
           (strncmp(name, "can_", 4) == 0 && ml_primitive_find(name + 4));
}

/* The rest of a dotted name of a program, which the walk goes on behind. */
static void take_dotted(Words *w, ml_Str *name, bool all)
{
    bool dot = true;

    for (; w->t.at < w->t.n; w->t.at++) {
        char c = w->t.p[w->t.at];

        if (!ml_in_name(c, true) && !(c == '.' && dot))
            break;
        dot = all;
    }
    name->n = (size_t)(w->t.p + w->t.at - name->p);
}

static void colour_script_name(Words *w, ml_Str s)
{
    bool ours = s.n == 1 && (*s.p == 'T' || *s.p == 'I');

    if (is_mark(w->before, '@') &&
        w->before.text.p + 1 == s.p) { /* the decorator, dots and all */
        s.p = w->before.text.p;
        take_dotted(w, &s, true);
        add(w, s, ML_ROLE_KEYWORD);
    } else if (ours && w->t.at < w->t.n && w->t.p[w->t.at] == '.') {
        take_dotted(w, &s, false);
        ml_CellRole role = script_role((ml_Str){s.p + 2, s.n - 2});

        add(w, s, role);
        w->block = role == ML_ROLE_BLOCK;
    } else if (!is_mark(w->before, '.') && is_keyword(w, s))
        add(w, s, ML_ROLE_KEYWORD);
}

static void colour_lua_name(Words *w, ml_Str s)
{
    bool member = is_mark(w->before, '.');
    size_t next = w->t.at;

    while (next < w->t.n && w->t.p[next] == ' ')
        next++;
    bool called = next < w->t.n && w->t.p[next] && strchr("({\"'", w->t.p[next]);

    if (!member && !is_mark(w->before, ':') && is_keyword(w, s))
        add(w, s, ML_ROLE_KEYWORD);
    else if (!member && called && is_primitive(w->cx, s))
        add(w, s, ML_ROLE_PRIMITIVE);
}

static void colour_words(Words *w)
{
    ml_Token k;

    while ((k = ml_token_next(&w->t)).kind != ML_TOKEN_END) {
        bool block = w->block;

        w->block = block && is_mark(k, '(');
        switch (k.kind) {
        case ML_TOKEN_COMMENT: add(w, k.text, ML_ROLE_COMMENT); continue;
        case ML_TOKEN_NAME:
            (w->t.script ? colour_script_name : colour_lua_name)(w, k.text);
            break;
        case ML_TOKEN_NUMBER: add(w, k.text, ML_ROLE_NUMBER); break;
        case ML_TOKEN_STRING: add(w, k.text, block ? ML_ROLE_BLOCK : ML_ROLE_STRING); break;
        case ML_TOKEN_MARK:
        case ML_TOKEN_END: break;
        }
        w->before = k;
    }
}

/* The name behind the colon, when it is one; the rest like Lua, which some commands take.
 */
static void colour_command(Words *w)
{
    ml_Str s = {w->t.p, w->t.n};
    ml_Text why = {0};
    size_t from = 0, word, end;

    while (from < s.n && (s.p[from] == ' ' || s.p[from] == '\t'))
        from++;
    for (word = from + 1; word < s.n && s.p[word] == ' ';)
        word++;
    for (end = word; end < s.n && !strchr(" \t\n", s.p[end]);)
        end++;
    if (end > word &&
        ml_command_find(ml_strdup(w->cx, (ml_Str){s.p + word, end - word}), &why))
        add(w, (ml_Str){s.p + from, end - from}, ML_ROLE_KEY);
    ml_text_free(&why);
    w->t.at = end < s.n ? end : s.n;
    colour_words(w);
}

void ml_colour(ml_Ctx *cx, ml_Language lang, const char *text, size_t n, ml_RoleSpans *out)
{
    Words w = {.cx = cx,
               .t = {.p = text, .n = n, .script = lang == ML_LANGUAGE_SCRIPT},
               .out = out};

    switch (lang) {
    case ML_LANGUAGE_LUA:
    case ML_LANGUAGE_SCRIPT: colour_words(&w); return;
    case ML_LANGUAGE_COMMAND: colour_command(&w); return;
    case ML_LANGUAGE_HELP:
    case ML_LANGUAGE_SHELL: return;
    }
}

/* ---- which language */

ml_Language ml_language_of_line(const char *p)
{
    static const char *const FIRST[] = {"@",      "#",     "with ", "def ",
                                        "class ", "elif ", "from ", "import "};
    size_t n = strlen(p);

    p += strspn(p, " \t");
    for (size_t k = 0; k < ML_COUNT(FIRST); k++)
        if (strncmp(p, FIRST[k], strlen(FIRST[k])) == 0)
            return ML_LANGUAGE_SCRIPT;
    if (strstr(p, "T.") || (n > 0 && p[strlen(p) - (*p != '\0')] == ':'))
        return ML_LANGUAGE_SCRIPT;
    /* C[vi, vj] = … : Lua has no lists of indices */
    const char *open = strchr(p, '['), *close = open ? strchr(open, ']') : NULL;

    for (const char *q = p; open && q < open; q++)
        if (!ml_in_name(*q, true))
            return ML_LANGUAGE_LUA;
    return close && close[1] == ' ' && close[2] == '=' ? ML_LANGUAGE_SCRIPT
                                                       : ML_LANGUAGE_LUA;
}

/*
 * colour - the words of a line with the roles they have.
 *
 * One lexer for Lua and TVMScript, which differ in comments, keywords and long strings. It
 * takes any bytes: what it does not know is plain text, and a string that does not end
 * reaches to the end. Source: interaction 4, 10.
 */
#include "repl/line/colour.h"

#include "primitives/prim.h"
#include "repl/bind/calls.h"
#include "repl/command/command.h"

typedef struct Lexer {
    ml_Ctx *cx;
    const char *p;
    size_t n, at;
    bool script;
    char before; /* the last character that is no blank */
    bool block;  /* after T.block( : the string names one */
    ml_RoleSpans *out;
} Lexer;

static bool is_letter(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char at(const Lexer *x, size_t k)
{
    return x->at + k < x->n ? x->p[x->at + k] : '\0';
}

static void add(Lexer *x, size_t from, size_t to, ml_CellRole role)
{
    ml_RoleSpan s = {(uint32_t)from, (uint32_t)to, (uint8_t)role};

    if (to > from)
        ml_push(x->cx, x->out, s);
}

/* ---- strings and comments */

/* [[ … ]], [==[ … ]==]: moves behind it; false: none begins here. */
static bool skip_long(Lexer *x)
{
    size_t k = 1, level;

    if (at(x, 0) != '[')
        return false;
    while (at(x, k) == '=')
        k++;
    if (at(x, k) != '[')
        return false;
    level = k - 1;
    for (x->at += k + 1; x->at < x->n; x->at++) {
        size_t e = 1;

        if (x->p[x->at] != ']')
            continue;
        while (e <= level && at(x, e) == '=')
            e++;
        if (e == level + 1 && at(x, e) == ']') {
            x->at += e + 1;
            return true;
        }
    }
    return true;
}

static bool lex_comment(Lexer *x)
{
    size_t from = x->at;

    if (x->script ? at(x, 0) != '#' : at(x, 0) != '-' || at(x, 1) != '-')
        return false;
    x->at += x->script ? 1 : 2;
    if (x->script || !skip_long(x))
        while (x->at < x->n && x->p[x->at] != '\n')
            x->at++;
    add(x, from, x->at, ML_ROLE_COMMENT);
    return true;
}

static bool lex_string(Lexer *x)
{
    size_t from = x->at;
    char quote = at(x, 0);

    if (!x->script && skip_long(x)) {
        add(x, from, x->at, ML_ROLE_STRING);
        return true;
    }
    if (quote != '"' && quote != '\'')
        return false;
    for (x->at++; x->at < x->n && x->p[x->at] != quote && x->p[x->at] != '\n';)
        x->at += x->p[x->at] == '\\' ? 2 : 1;
    if (x->at > x->n)
        x->at = x->n;
    if (x->at < x->n && x->p[x->at] == quote)
        x->at++;
    add(x, from, x->at, x->block ? ML_ROLE_BLOCK : ML_ROLE_STRING);
    return true;
}

static bool lex_number(Lexer *x)
{
    size_t from = x->at;
    bool hex = at(x, 0) == '0' && (at(x, 1) == 'x' || at(x, 1) == 'X');

    if (!is_digit(at(x, 0)) && !(at(x, 0) == '.' && is_digit(at(x, 1))))
        return false;
    while (x->at < x->n) {
        char c = x->p[x->at];
        bool exponent = hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E';

        if (!is_digit(c) && !is_letter(c) && c != '.')
            break;
        x->at++;
        if (exponent && (at(x, 0) == '+' || at(x, 0) == '-') && is_digit(at(x, 1)))
            x->at++;
    }
    add(x, from, x->at, ML_ROLE_NUMBER);
    return true;
}

/* ---- words */

static bool is_one_of(ml_Str w, const char *const *words)
{
    for (; *words; words++)
        if (ml_str_eq(w, ml_str(*words)))
            return true;
    return false;
}

static bool is_keyword(const Lexer *x, ml_Str w)
{
    static const char *const LUA[] = {
        "and",      "break",  "do",   "else", "elseif", "end",   "false", "for",
        "function", "goto",   "if",   "in",   "local",  "nil",   "not",   "or",
        "repeat",   "return", "then", "true", "until",  "while", "auto",  NULL};
    static const char *const SCRIPT[] = {
        "and", "as",   "assert", "class",  "def",   "elif",   "else", "False",
        "for", "from", "if",     "import", "in",    "lambda", "None", "not",
        "or",  "pass", "return", "True",   "while", "with",   NULL};

    return is_one_of(w, x->script ? SCRIPT : LUA);
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

static bool is_primitive(ml_Str w)
{
    char name[64];

    if (w.n >= sizeof name)
        return false;
    memcpy(name, w.p, w.n);
    name[w.n] = '\0';
    return ml_primitive_find(name) || ml_schedule_call_find(name) ||
           (strncmp(name, "can_", 4) == 0 && ml_primitive_find(name + 4));
}

static void lex_word(Lexer *x)
{
    size_t from = x->at;

    while (is_letter(at(x, 0)) || is_digit(at(x, 0)))
        x->at++;
    ml_Str w = {x->p + from, x->at - from};
    char next = at(x, 0);

    if (next == ' ')
        next = at(x, 1);
    if (x->script && x->before == '@') { /* the decorator, dots and all */
        while (is_letter(at(x, 0)) || is_digit(at(x, 0)) || at(x, 0) == '.')
            x->at++;
        add(x, from - 1, x->at, ML_ROLE_KEYWORD);
    } else if (x->script && (ml_str_eq(w, ml_str("T")) || ml_str_eq(w, ml_str("I"))) &&
               at(x, 0) == '.') {
        size_t name = ++x->at;

        while (is_letter(at(x, 0)) || is_digit(at(x, 0)))
            x->at++;
        w = (ml_Str){x->p + name, x->at - name};
        ml_CellRole role = script_role(w);

        add(x, from, x->at, role);
        x->block = role == ML_ROLE_BLOCK;
        return;
    } else if (x->before != '.' && x->before != ':' && is_keyword(x, w))
        add(x, from, x->at, ML_ROLE_KEYWORD);
    else if (!x->script && x->before != '.' &&
             (next == '(' || next == '{' || next == '"' || next == '\'') && is_primitive(w))
        add(x, from, x->at, ML_ROLE_PRIMITIVE);
    x->block = false;
}

static void lex(Lexer *x)
{
    while (x->at < x->n) {
        char c = x->p[x->at];

        if (lex_comment(x))
            continue;
        if (is_letter(c)) {
            lex_word(x);
            x->before = 'a';
        } else if (lex_string(x)) {
            x->before = '"';
            x->block = false;
        } else if (lex_number(x))
            x->before = '0';
        else {
            if (c != ' ' && c != '\t')
                x->before = c;
            if (c != '(')
                x->block = false;
            x->at++;
        }
    }
}

/* The name behind the colon, when it is one; the rest like Lua, which some commands take.
 */
static void lex_command(Lexer *x)
{
    ml_Text name = {0}, why = {0};

    while (at(x, 0) == ' ' || at(x, 0) == '\t')
        x->at++;
    size_t from = x->at++;

    while (at(x, 0) == ' ')
        x->at++;
    size_t word = x->at;

    while (x->at < x->n && !strchr(" \t\n", x->p[x->at]))
        x->at++;
    ml_text_addn(&name, x->p + word, x->at - word);
    if (name.n > 0 && ml_command_find(ml_text_z(&name), &why))
        add(x, from, x->at, ML_ROLE_KEY);
    ml_text_free(&name);
    ml_text_free(&why);
    x->before = 'a';
    lex(x);
}

void ml_colour(ml_Ctx *cx, ml_Language lang, const char *text, size_t n, ml_RoleSpans *out)
{
    Lexer x = {
        .cx = cx, .p = text, .n = n, .script = lang == ML_LANGUAGE_SCRIPT, .out = out};

    switch (lang) {
    case ML_LANGUAGE_LUA:
    case ML_LANGUAGE_SCRIPT: lex(&x); return;
    case ML_LANGUAGE_COMMAND: lex_command(&x); return;
    case ML_LANGUAGE_OTHER: return;
    }
}

/* ---- which language */

static bool begins(const char *p, const char *with)
{
    return strncmp(p, with, strlen(with)) == 0;
}

ml_Language ml_language_of_input(const char *p)
{
    p += strspn(p, " \t");
    if (*p == ':' && p[1] != ':')
        return ML_LANGUAGE_COMMAND;
    if (*p == '?' || *p == '!')
        return ML_LANGUAGE_OTHER;
    if (begins(p, "@T.") || begins(p, "@I.") || begins(p, "from tvm") ||
        begins(p, "import tvm") || begins(p, "class "))
        return ML_LANGUAGE_SCRIPT;
    return ML_LANGUAGE_LUA;
}

ml_Language ml_language_of_line(const char *p)
{
    static const char *const FIRST[] = {"@",      "#",     "with ", "def ",
                                        "class ", "elif ", "from ", "import "};
    size_t n = strlen(p);

    p += strspn(p, " \t");
    for (size_t k = 0; k < ML_COUNT(FIRST); k++)
        if (begins(p, FIRST[k]))
            return ML_LANGUAGE_SCRIPT;
    if (strstr(p, "T.") || (n > 0 && p[strlen(p) - (*p != '\0')] == ':'))
        return ML_LANGUAGE_SCRIPT;
    /* C[vi, vj] = … : Lua has no lists of indices */
    const char *open = strchr(p, '['), *close = open ? strchr(open, ']') : NULL;

    for (const char *q = p; open && q < open; q++)
        if (!is_letter(*q) && !is_digit(*q))
            return ML_LANGUAGE_LUA;
    return close && close[1] == ' ' && close[2] == '=' ? ML_LANGUAGE_SCRIPT
                                                       : ML_LANGUAGE_LUA;
}

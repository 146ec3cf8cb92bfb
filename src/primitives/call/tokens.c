/*
 * tokens - a text of Lua cut into its tokens, as Lua's own reader cuts it.
 *
 * Names are ASCII, as in Lua; in TVMScript all that is not ASCII is part of one. Source: interaction 4; Lua 5.4 reference manual 3.1.
 */
#include "moonloop/primitives/tokens.h"

#include "moonloop/core/base/utf8.h"

const char *const ml_lua_keywords[] = {
    "and",      "break",  "do",   "else", "elseif", "end",   "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",   "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while", NULL};

bool ml_is_lua_keyword(ml_Str w)
{
    for (const char *const *k = ml_lua_keywords; *k; k++)
        if (w.n > 1 && w.p[0] == (*k)[0] && ml_str_eq(w, ml_str(*k)))
            return true;
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ml_is_name_char(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
}

bool ml_is_name(const char *z)
{
    size_t n = 0;

    while (ml_is_name_char(z[n]))
        n++;
    return n > 0 && z[n] == '\0' && !is_digit(z[0]);
}

bool ml_in_name(char c, bool script)
{
    return ml_is_name_char(c) || (script && ((unsigned char)c & 0x80));
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_newline(char c)
{
    return c == '\n' || c == '\r';
}

static char at(const ml_Tokens *t, size_t k)
{
    return t->at + k < t->n ? t->p[t->at + k] : '\0';
}

/* ---- where a token ends */

/* Length of the bracket [, =…, [ (or of its like) that stands `k` bytes on; 0: none. */
static size_t long_bracket(const ml_Tokens *t, size_t k, char bracket)
{
    size_t end = k + 1;

    if (at(t, k) != bracket)
        return 0;
    while (at(t, end) == '=')
        end++;
    return at(t, end) == bracket ? end + 1 - k : 0;
}

/* From the opening bracket of that length on; false: nothing closes it. */
static bool skip_long(ml_Tokens *t, size_t length)
{
    for (t->at += length; t->at < t->n; t->at++)
        if (long_bracket(t, 0, ']') == length) {
            t->at += length;
            return true;
        }
    return false;
}

static bool skip_comment(ml_Tokens *t)
{
    size_t length;

    t->at += t->script ? 1 : 2;
    if (!t->script && (length = long_bracket(t, 0, '[')) > 0)
        return skip_long(t, length);
    while (t->at < t->n && !is_newline(t->p[t->at]))
        t->at++;
    return t->at < t->n;
}

static bool skip_quoted(ml_Tokens *t)
{
    char quote = t->p[t->at++];

    while (t->at < t->n && t->p[t->at] != quote && !is_newline(t->p[t->at])) {
        bool escape = t->p[t->at++] == '\\';

        if (escape && !t->script && at(t, 0) == 'z')
            while (t->at + 1 < t->n && is_blank(t->p[t->at + 1]))
                t->at++;
        t->at += escape && t->at < t->n;
    }
    if (at(t, 0) != quote)
        return false;
    t->at++;
    return true;
}

static void skip_number(ml_Tokens *t)
{
    bool hex = at(t, 0) == '0' && (at(t, 1) == 'x' || at(t, 1) == 'X');

    while (ml_is_name_char(at(t, 0)) || at(t, 0) == '.') {
        char c = t->p[t->at++];
        bool exponent = hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E';

        t->at += exponent && (at(t, 0) == '+' || at(t, 0) == '-');
    }
}

static size_t mark_length(const ml_Tokens *t)
{
    char c = at(t, 0), next = at(t, 1);

    if (c == '.' && next == '.')
        return at(t, 2) == '.' ? 3 : 2;
    if (next == '=')
        return c == '=' || c == '~' || c == '<' || c == '>' ? 2 : 1;
    return c == next && (c == '/' || c == ':' || c == '<' || c == '>') ? 2 : 1;
}

ml_Token ml_token_next(ml_Tokens *t)
{
    ml_Token k = {.kind = ML_TOKEN_END};
    size_t from, length;

    while (t->at < t->n && is_blank(t->p[t->at]))
        t->at++;
    from = t->at;
    char c = at(t, 0);

    if (from == t->n) {
        /* the end */
    } else if (t->script ? c == '#' : c == '-' && at(t, 1) == '-') {
        k.kind = ML_TOKEN_COMMENT;
        k.open = !skip_comment(t);
    } else if (is_digit(c) || (c == '.' && is_digit(at(t, 1)))) {
        k.kind = ML_TOKEN_NUMBER;
        skip_number(t);
    } else if (ml_in_name(c, t->script)) {
        k.kind = ML_TOKEN_NAME;
        while (ml_in_name(at(t, 0), t->script))
            t->at++;
    } else if (c == '"' || c == '\'') {
        k.kind = ML_TOKEN_STRING;
        k.open = !skip_quoted(t);
    } else if (!t->script && (length = long_bracket(t, 0, '[')) > 0) {
        k.kind = ML_TOKEN_STRING;
        k.open = !skip_long(t, length);
    } else {
        k.kind = ML_TOKEN_MARK;
        t->at += mark_length(t);
    }
    k.text = (ml_Str){t->p + from, t->at - from};
    return k;
}

ml_Token ml_token_code(ml_Tokens *t)
{
    ml_Token k;

    do
        k = ml_token_next(t);
    while (k.kind == ML_TOKEN_COMMENT);
    return k;
}

bool ml_token_is(ml_Token k, const char *text)
{
    return (k.kind == ML_TOKEN_NAME || k.kind == ML_TOKEN_MARK) &&
           ml_str_eq(k.text, ml_str(text));
}

/* ---- what a string stands for */

ml_Str ml_token_inside(ml_Token k)
{
    ml_Tokens t = {.p = k.text.p, .n = k.text.n};
    size_t quote = long_bracket(&t, 0, '[');

    quote = quote ? quote : 1;
    return (ml_Str){k.text.p + quote, k.text.n - quote - (k.open ? 0 : quote)};
}

static int hex_digit(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The escape behind a backslash at s.p, put at z, which goes on behind it; how many bytes it
 * takes, 0: it is none of Lua's. */
static size_t read_escape(ml_Str s, char **z)
{
    static const char FROM[] = "abfnrtv\\\"'\n", TO[] = "\a\b\f\n\r\t\v\\\"'\n";
    const char *plain = s.n > 0 && *s.p ? strchr(FROM, *s.p) : NULL;
    size_t k = 0;
    uint32_t v = 0;

    if (plain) {
        *(*z)++ = TO[plain - FROM];
        return 1;
    }
    if (s.n > 0 && *s.p == 'z') {
        for (k = 1; k < s.n && is_blank(s.p[k]);)
            k++;
        return k;
    }
    if (s.n > 2 && *s.p == 'x') {
        int high = hex_digit(s.p[1]), low = hex_digit(s.p[2]);

        *(*z)++ = (char)(unsigned char)(high * 16 + low);
        return high < 0 || low < 0 ? 0 : 3;
    }
    if (s.n > 3 && *s.p == 'u' && s.p[1] == '{') {
        for (k = 2; k < s.n && hex_digit(s.p[k]) >= 0 && v <= 0x10ffff; k++)
            v = v * 16 + (uint32_t)hex_digit(s.p[k]);
        if (v > 0x10ffff)
            return 0;
        *z += ml_utf8_put(*z, v);
        return k > 2 && k < s.n && s.p[k] == '}' ? k + 1 : 0;
    }
    for (; k < 3 && k < s.n && is_digit(s.p[k]); k++)
        v = v * 10 + (uint32_t)(s.p[k] - '0');
    *(*z)++ = (char)(unsigned char)v;
    return v > 255 ? 0 : k;
}

const char *ml_token_string(ml_Ctx *cx, ml_Token k)
{
    ml_Str s = ml_token_inside(k);
    bool is_long = k.text.p[0] == '[';
    char *out = ml_alloc(cx, s.n + 1), *z = out;

    if (k.open)
        return NULL;
    if (is_long && s.n > 0 && s.p[0] == '\n')
        s = (ml_Str){s.p + 1, s.n - 1};
    while (s.n > 0) {
        size_t n = 1;

        if (*s.p == '\\' && !is_long) {
            size_t took = read_escape((ml_Str){s.p + 1, s.n - 1}, &z);

            if (took == 0)
                return NULL;
            n += took;
        } else
            *z++ = *s.p;
        s = (ml_Str){s.p + n, s.n - n};
    }
    *z = '\0';
    return memchr(out, '\0', (size_t)(z - out)) ? NULL : out;
}

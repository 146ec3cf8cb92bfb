/*
 * lex_fstring - the fields of an f-string: {expression}, {expression!r},
 * {expression:format}.
 *
 * The expression is lexed as inside parentheses, where it stands, so that what is said of
 * it points into the text. Source: script 2.
 */
#include "moonloop/core/script/syntax/lex_impl.h"

typedef struct Extent {
    const char *expr_end; /* where the expression ends */
    const char *end;      /* the closing brace */
    char conversion;
    const char *format; /* or NULL */
} Extent;

static bool wrong(ml_Lexer *x, const char *what)
{
    ml_report(x->rep, ML_E_E111, (ml_Place){x->line, x->col, x->line, x->col + 1}, "%s",
              what);
    return false;
}

/* Passes over a string inside the field; NULL: it has no end there. */
static const char *inner_string(const char *p, const char *end)
{
    char q = *p++;

    for (; p < end && *p != q; p++)
        if (*p == '\n' || *p == '\r' || (*p == '\\' && ++p == end))
            return NULL;
    return p < end ? p + 1 : NULL;
}

/* What ends the expression: `!r`, `:` or the brace, outside brackets and strings. */
static bool measure(ml_Lexer *x, char quote, bool triple, Extent *out)
{
    const char *p = x->p + 1, *end = x->end;
    size_t depth = 0;

    *out = (Extent){0};
    while (p < end) {
        char c = *p;

        if (triple ? end - p >= 3 && c == quote && p[1] == quote && p[2] == quote
                   : c == quote || c == '\n' || c == '\r')
            break;
        if (c == '"' || c == '\'') {
            p = inner_string(p, end);
            if (!p)
                break;
            continue;
        }
        if (c == '#' || c == '\\')
            return wrong(x, c == '#' ? "a field of an f-string cannot hold a comment"
                                     : "a field of an f-string cannot hold a backslash");
        if (c == '(' || c == '[' || c == '{') {
            depth++;
        } else if (depth > 0) {
            depth -= c == ')' || c == ']' || c == '}';
        } else if (c == ')' || c == ']') {
            return wrong(x, "a bracket is closed in this field that was not opened there");
        } else if (c == '=' && p + 1 < end && (p[1] == '}' || p[1] == '!' || p[1] == ':') &&
                   !strchr("=!<>", p[-1])) {
            return wrong(x, "`=` at the end of a field is not supported");
        } else if (c == '}' || c == ':' || (c == '!' && p + 1 < end && p[1] != '=')) {
            out->expr_end = p;
            break;
        }
        p++;
    }
    if (!out->expr_end)
        return wrong(x, "a field of this f-string is never closed");
    if (*p == '!') {
        if (!strchr("sra", p[1]) || p + 2 >= end || (p[2] != '}' && p[2] != ':'))
            return wrong(x, "a conversion is `!s`, `!r` or `!a`");
        out->conversion = p[1];
        p += 2;
    }
    if (*p == ':') {
        out->format = ++p;
        while (p < end && *p != '}' && *p != '{' && *p != quote && *p != '\n' &&
               *p != '\r' && *p != '\\')
            p++;
        if (p >= end || *p != '}')
            return wrong(x, p < end && *p == '{'
                                ? "a field inside a format is not supported"
                                : "a field of this f-string is never closed");
    }
    out->end = p;
    return true;
}

bool ml_lex_field(ml_Lexer *x, char quote, bool triple, ml_FString *out)
{
    uint32_t line = x->line, col = x->col;
    ml_Lexed *inside = ML_NEW(x->sc, ml_Lexed);
    ml_FPart part = {.expr = inside};
    Extent e;

    if (!measure(x, quote, triple, &e)) {
        ml_lex_advance(x, 1);
        return false;
    }
    ml_lex_advance(x, 1);
    ml_lex_inside(x, (size_t)(e.expr_end - x->p), inside);
    if (x->broken || x->p != e.expr_end)
        return false;
    part.at = ml_lex_from(x, line, col);
    if (inside->n == 1) {
        ml_report(x->rep, ML_E_E111, part.at, "a field of an f-string is empty");
        return false;
    }
    part.conversion = e.conversion;
    if (e.format)
        part.text =
            (ml_Str){ml_strdup(x->sc, (ml_Str){e.format, (size_t)(e.end - e.format)}),
                     (size_t)(e.end - e.format)};
    else
        part.text = (ml_Str){"", 0};
    ml_lex_advance(x, (size_t)(e.end - x->p) + 1);
    part.at = ml_lex_from(x, line, col);
    ml_push(x->sc, &out->parts, part);
    return true;
}

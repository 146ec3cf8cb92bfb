/*
 * lex_literal - numbers and strings: their forms, their values, what is wrong with them.
 * A malformed one is reported and leaves an ERROR token. Source: script 2.
 */
#include "moonloop/core/script/syntax/lex_impl.h"

#include "moonloop/core/base/utf8.h"

#include <math.h>
#include <stdlib.h>

/* ---- numbers */
static int digit_of(char c)
{
    return ml_lex_digit(c)        ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

/* Whether every digit before the exponent is 0. */
static bool says_zero(const char *number)
{
    char c = number[strspn(number, "0.")];

    return !ml_lex_digit(c);
}

/* Digits of the base with single underscores between them; false: malformed. */
static bool digits(const char **pp, const char *end, int base, ml_Text *clean)
{
    const char *p = *pp;
    bool any = false;

    while (p < end) {
        if (*p == '_' && any && p + 1 < end && digit_of(p[1]) < base) {
            p++;
            continue;
        }
        if (digit_of(*p) >= base)
            break;
        ml_text_char(clean, *p++);
        any = true;
    }
    *pp = p;
    return any;
}

void ml_lex_number(ml_Lexer *x)
{
    const char *b = x->p, *p = b;
    uint32_t line = x->line, col = x->col;
    int base = 10;
    bool ok = true, real = false;
    ml_Text clean = {0};
    ml_Tok *t;

    if (*p == '0' && p + 1 < x->end && strchr("xXoObB", p[1]) && p[1]) {
        base = (p[1] | 32) == 'x' ? 16 : (p[1] | 32) == 'o' ? 8 : 2;
        p += 2;
        if (p < x->end && *p == '_')
            p++;
        ok = digits(&p, x->end, base, &clean);
    } else {
        if (*p != '.')
            ok = digits(&p, x->end, 10, &clean);
        if (p < x->end && *p == '.') {
            real = true;
            ml_text_char(&clean, *p++);
            digits(&p, x->end, 10, &clean);
        }
        if (p < x->end && (*p | 32) == 'e' &&
            (p + 1 < x->end &&
             (ml_lex_digit(p[1]) ||
              ((p[1] == '+' || p[1] == '-') && p + 2 < x->end && ml_lex_digit(p[2]))))) {
            real = true;
            ml_text_char(&clean, *p++);
            if (!ml_lex_digit(*p))
                ml_text_char(&clean, *p++);
            digits(&p, x->end, 10, &clean);
        }
    }
    while (p < x->end && (ml_lex_name_start(*p) || ml_lex_digit(*p)))
        p++, ok = false;
    ml_lex_advance(x, (size_t)(p - b));
    if (!ok) {
        bool complex = (p[-1] | 32) == 'j';

        ml_report(x->rep, ML_E_E111, ml_lex_from(x, line, col), "%s `%.*s`",
                  complex ? "complex numbers are not supported:" : "malformed number",
                  (int)(p - b), b);
        ml_lex_push(x, ML_TOK_ERROR, ml_lex_from(x, line, col));
    } else if (!real && base == 10 && *b == '0' &&
               strspn(ml_text_z(&clean), "0") < clean.n) {
        const char *z = ml_text_z(&clean) + strspn(ml_text_z(&clean), "0");
        bool octal = strspn(z, "01234567") == strlen(z);

        ml_report(x->rep, ML_E_E105, ml_lex_from(x, line, col),
                  octal ? "leading zeros are not allowed; write %s or 0o%s"
                        : "leading zeros are not allowed; write %s",
                  z, z);
        ml_lex_push(x, ML_TOK_ERROR, ml_lex_from(x, line, col));
    } else if (real) {
        t = ml_lex_push(x, ML_TOK_FLOAT, ml_lex_from(x, line, col));
        t->as.f = strtod(ml_text_z(&clean), NULL);
        if (isinf(t->as.f) ||
            (fpclassify(t->as.f) == FP_ZERO && !says_zero(ml_text_z(&clean))))
            ml_report(x->rep, ML_E_W513, ml_lex_from(x, line, col),
                      "the number is beyond float64: it is read as %s",
                      isinf(t->as.f) ? "infinity" : "0.0");
    } else {
        uint64_t v = 0;

        t = ml_lex_push(x, ML_TOK_INT, ml_lex_from(x, line, col));
        for (const char *z = ml_text_z(&clean); *z; z++) {
            t->big |= __builtin_mul_overflow(v, (uint64_t)base, &v);
            t->big |= __builtin_add_overflow(v, (uint64_t)digit_of(*z), &v);
        }
        t->as.i = v;
    }
    ml_text_free(&clean);
}

/* ---- strings */
/* The escape behind a backslash; false: malformed. */
static bool escape(ml_Lexer *x, ml_Text *t)
{
    static const char NAMES[] = "\\'\"ntrabfv", VALUES[] = "\\'\"\n\t\r\a\b\f\v";
    char c = x->p[1];
    const char *at = c ? strchr(NAMES, c) : NULL;
    uint32_t line = x->line, col = x->col, v = 0;
    size_t n;
    char z[4];

    if (at) {
        ml_text_char(t, VALUES[at - NAMES]);
        ml_lex_advance(x, 2);
        return true;
    }
    if (c >= '0' && c <= '7') {
        for (n = 1; n <= 3 && x->p + n < x->end && x->p[n] >= '0' && x->p[n] <= '7'; n++)
            v = v * 8 + (uint32_t)(x->p[n] - '0');
        ml_lex_advance(x, n);
    } else if (c == 'x' || c == 'u' || c == 'U') {
        size_t want = c == 'x' ? 2 : c == 'u' ? 4 : 8;

        for (n = 2; n < want + 2 && x->p + n < x->end && digit_of(x->p[n]) < 16; n++)
            v = v * 16 + (uint32_t)digit_of(x->p[n]);
        ml_lex_advance(x, n);
        if (n < want + 2 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) {
            ml_report(x->rep, ML_E_E111, ml_lex_from(x, line, col),
                      "malformed escape in a string");
            return false;
        }
    } else {
        ml_report(x->rep, ML_E_W102, (ml_Place){line, col, line, col + 2},
                  "unknown escape in a string; the backslash stays");
        ml_text_char(t, '\\');
        ml_lex_advance(x, 1);
        return true;
    }
    if (v == 0 || v > 0x10ffff) {
        ml_report(x->rep, ML_E_E111, ml_lex_from(x, line, col),
                  "a string cannot hold a NUL");
        return false;
    }
    ml_text_addn(t, z, ml_utf8_put(z, v));
    return true;
}

/* Moves the text read so far into the f-string. */
static void keep_text(ml_Lexer *x, ml_FString *out, ml_Text *t)
{
    ml_FPart part = {.text = {ml_strdup(x->sc, (ml_Str){ml_text_z(t), t->n}), t->n}};

    if (t->n)
        ml_push(x->sc, &out->parts, part);
    ml_text_free(t);
    *t = (ml_Text){0};
}

/* What a string is like, from what stands before its text. */
typedef struct Quoting {
    bool raw, fields, triple;
    char quote;
} Quoting;

/* Over the prefix and the opening quotes; false: reported. */
static bool open_string(ml_Lexer *x, size_t prefix, Quoting *q)
{
    bool ok = true;

    for (size_t k = 0; k < prefix; k++) {
        char c = (char)(x->p[k] | 32);

        q->raw |= c == 'r';
        q->fields |= c == 'f';
        if (c == 'b') {
            ml_report(x->rep, ML_E_E108,
                      (ml_Place){x->line, x->col, x->line, x->col + (uint32_t)prefix},
                      "byte strings are not supported in script functions");
            ok = false;
        }
    }
    ml_lex_advance(x, prefix);
    q->quote = *x->p;
    q->triple = x->end - x->p >= 3 && x->p[1] == q->quote && x->p[2] == q->quote;
    ml_lex_advance(x, q->triple ? 3 : 1);
    return ok;
}

static bool at_close(const ml_Lexer *x, const Quoting *q)
{
    return *x->p == q->quote && (!q->triple || (x->end - x->p >= 3 && x->p[1] == q->quote &&
                                                x->p[2] == q->quote));
}

/* A brace in an f-string: doubled it is text, alone it opens a field. */
static bool brace(ml_Lexer *x, const Quoting *q, ml_FString *fs, ml_Text *t)
{
    if (x->p + 1 < x->end && x->p[1] == *x->p) {
        ml_text_char(t, *x->p);
        ml_lex_advance(x, 2);
        return true;
    }
    if (*x->p == '}') {
        ml_report(x->rep, ML_E_E111, (ml_Place){x->line, x->col, x->line, x->col + 1},
                  "a `}` in the text of an f-string is written `}}`");
        ml_lex_advance(x, 1);
        return false;
    }
    keep_text(x, fs, t);
    return ml_lex_field(x, q->quote, q->triple, fs);
}

/* A backslash and what stands behind it. */
static bool backslash(ml_Lexer *x, bool raw, ml_Text *t)
{
    bool line_end = x->p[1] == '\n' || x->p[1] == '\r';

    if (!raw && !line_end)
        return escape(x, t);
    ml_lex_advance(x, 1);
    if (raw)
        ml_text_char(t, '\\');
    if (line_end) {
        ml_lex_newline(x);
        if (raw)
            ml_text_char(t, '\n');
    } else if ((x->p[0] & 0x80) == 0) {
        ml_text_char(t, *x->p);
        ml_lex_advance(x, 1);
    }
    return true;
}

static bool plain_char(ml_Lexer *x, ml_Text *t)
{
    size_t n = ml_utf8_length(x->p, x->end);
    bool ok = n != 0 && *x->p != 0;

    if (!ok) {
        ml_lex_bad_bytes(x, x->line, x->col,
                         n ? "a NUL byte in the text" : "the text is not valid UTF-8");
        n = 1;
    }
    ml_text_addn(t, x->p, n);
    ml_lex_advance(x, n);
    return ok;
}

void ml_lex_string(ml_Lexer *x, size_t prefix)
{
    uint32_t line = x->line, col = x->col;
    Quoting q = {0};
    bool ok = open_string(x, prefix, &q);
    ml_FString fs = {0};
    ml_Text t = {0};

    while (x->p < x->end && !x->broken && !at_close(x, &q)) {
        if (ml_lex_at_newline(x)) {
            if (!q.triple)
                break;
            ml_lex_newline(x);
            ml_text_char(&t, '\n');
        } else if (q.fields && (*x->p == '{' || *x->p == '}')) {
            ok &= brace(x, &q, &fs, &t);
        } else if (*x->p == '\\' && x->p + 1 < x->end) {
            ok &= backslash(x, q.raw, &t);
        } else {
            ok &= plain_char(x, &t);
        }
    }
    if (x->p < x->end && !x->broken && at_close(x, &q)) {
        ml_lex_advance(x, q.triple ? 3 : 1);
    } else if (!x->broken) {
        ml_report(x->rep, ML_E_E104,
                  q.triple ? (ml_Place){line, col, line, col + 3}
                           : ml_lex_from(x, line, col),
                  q.triple ? "unterminated triple-quoted string" : "unterminated string");
        ok = false;
    }
    ml_Tok *k =
        ml_lex_push(x, ok ? ML_TOK_STRING : ML_TOK_ERROR, ml_lex_from(x, line, col));

    if (ok && fs.parts.n) {
        ml_FString *own = ML_NEW(x->sc, ml_FString);

        keep_text(x, &fs, &t);
        *own = fs;
        k->big = true;
        k->as.fs = own;
    } else if (ok) {
        k->as.s = (ml_Str){ml_strdup(x->sc, (ml_Str){ml_text_z(&t), t.n}), t.n};
    }
    ml_text_free(&t);
}

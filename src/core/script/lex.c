/*
 * lex - see lex.h. A bracket that is never closed would swallow the rest of the text: the
 * statement is then lexed again up to the next line that is indented like it.
 */
#include "core/script/lex.h"

#include <errno.h>
#include <stdlib.h>

static const char *const OP_TEXT[ML_OPR_COUNT] = {
    "",      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",
    "break", "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",
    "for",   "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal",
    "not",   "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
    "**=",   "//=",   "<<=",      ">>=",   "...",    "**",   "//",     "<<",     ">>",
    "<=",    ">=",    "==",       "!=",    "->",     "+=",   "-=",     "*=",     "/=",
    "%=",    "&=",    "|=",       "^=",    "@=",     ":=",   "+",      "-",      "*",
    "/",     "%",     "@",        "&",     "|",      "^",    "~",      "<",      ">",
    "(",     ")",     "[",        "]",     "{",      "}",    ",",      ":",      ".",
    ";",     "="};

const char *ml_tok_op_text(ml_TokOp op)
{
    return OP_TEXT[op];
}

/* ---- symbols */
static uint32_t hash_name(ml_Str s)
{
    uint32_t h = 2166136261u;

    for (size_t k = 0; k < s.n; k++)
        h = (h ^ (unsigned char)s.p[k]) * 16777619u;
    return h;
}

ml_Sym *ml_symbol(ml_Symbols *t, ml_Str name)
{
    uint32_t h = hash_name(name);
    ml_Sym *s;
    size_t k;

    if (2 * (t->n + 1) > t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 256;
        ml_Sym **slots = ML_ARRAY(t->sc, ml_Sym *, cap);

        for (size_t j = 0; j < t->cap; j++) {
            if (!t->slots[j])
                continue;
            k = t->slots[j]->hash & (cap - 1);
            while (slots[k])
                k = (k + 1) & (cap - 1);
            slots[k] = t->slots[j];
        }
        t->slots = slots;
        t->cap = cap;
    }
    for (k = h & (t->cap - 1); t->slots[k]; k = (k + 1) & (t->cap - 1))
        if (t->slots[k]->hash == h && ml_str_eq(t->slots[k]->name, name))
            return t->slots[k];
    s = ML_NEW(t->sc, ml_Sym);
    s->name = (ml_Str){ml_strdup(t->sc, name), name.n};
    s->hash = h;
    for (unsigned kw = ML_KW_FALSE; kw <= ML_KW_YIELD; kw++)
        if (ml_str_eq(name, ml_str(OP_TEXT[kw])))
            s->keyword = (uint8_t)kw;
    t->slots[k] = s;
    t->n++;
    return s;
}

/* ---- the lexer */
enum { MAX_BRACKETS = 200, MAX_INDENTS = 256 };

typedef struct Lexer {
    ml_Ctx *sc;
    ml_Symbols *syms;
    ml_Report *rep;
    ml_Lexed *out;
    size_t cap;
    const char *p, *end; /* end: of what may be read now */
    uint32_t line, col;
    size_t depth;
    struct {
        char open;
        ml_Place at;
    } brackets[MAX_BRACKETS + 1];
    uint32_t indents[MAX_INDENTS], alts[MAX_INDENTS];
    size_t n_indents;
    uint32_t last_line, last_col; /* end of the last token */
    bool broken;                  /* a bracket is not matched */
    bool too_deep;                /* ... because there are too many */
    bool bad_byte;                /* one report of bad bytes is enough */
} Lexer;

static ml_Tok *push(Lexer *x, ml_TokKind kind, ml_Place at)
{
    ml_Lexed *o = x->out;

    if (o->n == x->cap)
        o->toks = ml_vec_grow(x->sc, o->toks, &x->cap, o->n, sizeof(ml_Tok));
    o->toks[o->n] = (ml_Tok){.kind = (uint8_t)kind, .at = at};
    x->last_line = at.end_line;
    x->last_col = at.end_col;
    return &o->toks[o->n++];
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Length of the valid UTF-8 sequence at p, 0: none. */
static size_t utf8_len(const char *p, const char *end)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t n = u[0] < 0x80                   ? 1
               : u[0] >= 0xc2 && u[0] < 0xe0 ? 2
               : u[0] >= 0xe0 && u[0] < 0xf0 ? 3
               : u[0] >= 0xf0 && u[0] < 0xf5 ? 4
                                             : 0;

    if (n == 0 || (size_t)(end - p) < n)
        return 0;
    for (size_t k = 1; k < n; k++)
        if ((u[k] & 0xc0) != 0x80)
            return 0;
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
        (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
        return 0;
    return n;
}

/* Moves over n bytes of one line, counting code points. */
static void advance(Lexer *x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        x->col += ((unsigned char)x->p[k] & 0xc0) != 0x80;
    x->p += n;
}

static bool at_newline(const Lexer *x)
{
    return x->p < x->end && (*x->p == '\n' || *x->p == '\r');
}

static void take_newline(Lexer *x)
{
    x->p += x->p[0] == '\r' && x->p + 1 < x->end && x->p[1] == '\n' ? 2 : 1;
    x->line++;
    x->col = 1;
}

static ml_Place from(const Lexer *x, uint32_t line, uint32_t col)
{
    return (ml_Place){line, col, x->line, x->col};
}

static void skip_line(Lexer *x)
{
    while (x->p < x->end && !at_newline(x)) {
        x->col += ((unsigned char)*x->p & 0xc0) != 0x80;
        x->p++;
    }
}

static void comment(Lexer *x)
{
    const char *b = x->p;
    ml_Str s;
    static const char KEY[] = "moonloop:";

    skip_line(x);
    s = (ml_Str){b + 1, (size_t)(x->p - b) - 1};
    while (s.n && (*s.p == ' ' || *s.p == '\t'))
        s.p++, s.n--;
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    if (s.n < sizeof KEY - 1 || memcmp(s.p, KEY, sizeof KEY - 1) != 0)
        return;
    s.p += sizeof KEY - 1;
    s.n -= sizeof KEY - 1;
    while (s.n && *s.p == ' ')
        s.p++, s.n--;
    if (ml_str_eq(s, ml_str("spelling=classic")) ||
        ml_str_eq(s, ml_str("spelling=newest"))) {
        ml_Pragma g = {x->line, s.p[9] == 'c' ? ML_CLASSIC : ML_NEWEST};

        ml_push(x->sc, &x->out->pragmas, g);
    } else {
        ml_report(x->rep, ML_E_W101, (ml_Place){x->line, 1, x->line, x->col},
                  "unknown pragma `%.*s`; expected spelling=classic or spelling=newest",
                  (int)s.n, s.p);
    }
}

static void bad_bytes(Lexer *x, uint32_t line, uint32_t col, const char *what)
{
    if (!x->bad_byte)
        ml_report(x->rep, ML_E_E110, (ml_Place){line, col, line, col + 1}, "%s", what);
    x->bad_byte = true;
}

/* ---- numbers */
static int digit_of(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
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

static void number(Lexer *x)
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
            (p + 1 < x->end && (is_digit(p[1]) || ((p[1] == '+' || p[1] == '-') &&
                                                   p + 2 < x->end && is_digit(p[2]))))) {
            real = true;
            ml_text_char(&clean, *p++);
            if (!is_digit(*p))
                ml_text_char(&clean, *p++);
            digits(&p, x->end, 10, &clean);
        }
    }
    while (p < x->end && (is_name_start(*p) || is_digit(*p)))
        p++, ok = false;
    advance(x, (size_t)(p - b));
    if (!ok) {
        bool complex = (p[-1] | 32) == 'j';

        ml_report(x->rep, ML_E_E111, from(x, line, col), "%s `%.*s`",
                  complex ? "complex numbers are not supported:" : "malformed number",
                  (int)(p - b), b);
        push(x, ML_TOK_ERROR, from(x, line, col));
    } else if (!real && base == 10 && *b == '0' &&
               strspn(ml_text_z(&clean), "0") < clean.n) {
        const char *z = ml_text_z(&clean) + strspn(ml_text_z(&clean), "0");
        bool octal = strspn(z, "01234567") == strlen(z);

        ml_report(x->rep, ML_E_E105, from(x, line, col),
                  octal ? "leading zeros are not allowed; write %s or 0o%s"
                        : "leading zeros are not allowed; write %s",
                  z, z);
        push(x, ML_TOK_ERROR, from(x, line, col));
    } else if (real) {
        t = push(x, ML_TOK_FLOAT, from(x, line, col));
        t->as.f = strtod(ml_text_z(&clean), NULL);
    } else {
        uint64_t v = 0;

        t = push(x, ML_TOK_INT, from(x, line, col));
        for (const char *z = ml_text_z(&clean); *z; z++) {
            t->big |= __builtin_mul_overflow(v, (uint64_t)base, &v);
            t->big |= __builtin_add_overflow(v, (uint64_t)digit_of(*z), &v);
        }
        t->as.i = v;
    }
    ml_text_free(&clean);
}

/* ---- strings */
static void put_utf8(ml_Text *t, uint32_t c)
{
    if (c < 0x80) {
        ml_text_char(t, (char)c);
    } else if (c < 0x800) {
        ml_text_char(t, (char)(0xc0 | c >> 6));
        ml_text_char(t, (char)(0x80 | (c & 63)));
    } else if (c < 0x10000) {
        ml_text_char(t, (char)(0xe0 | c >> 12));
        ml_text_char(t, (char)(0x80 | (c >> 6 & 63)));
        ml_text_char(t, (char)(0x80 | (c & 63)));
    } else {
        ml_text_char(t, (char)(0xf0 | c >> 18));
        ml_text_char(t, (char)(0x80 | (c >> 12 & 63)));
        ml_text_char(t, (char)(0x80 | (c >> 6 & 63)));
        ml_text_char(t, (char)(0x80 | (c & 63)));
    }
}

/* The escape behind a backslash; false: malformed. */
static bool escape(Lexer *x, ml_Text *t)
{
    static const char NAMES[] = "\\'\"ntrabfv", VALUES[] = "\\'\"\n\t\r\a\b\f\v";
    char c = x->p[1];
    const char *at = c ? strchr(NAMES, c) : NULL;
    uint32_t line = x->line, col = x->col, v = 0;
    size_t n;

    if (at) {
        ml_text_char(t, VALUES[at - NAMES]);
        advance(x, 2);
        return true;
    }
    if (c >= '0' && c <= '7') {
        for (n = 1; n <= 3 && x->p + n < x->end && x->p[n] >= '0' && x->p[n] <= '7'; n++)
            v = v * 8 + (uint32_t)(x->p[n] - '0');
        advance(x, n);
    } else if (c == 'x' || c == 'u' || c == 'U') {
        size_t want = c == 'x' ? 2 : c == 'u' ? 4 : 8;

        for (n = 2; n < want + 2 && x->p + n < x->end && digit_of(x->p[n]) < 16; n++)
            v = v * 16 + (uint32_t)digit_of(x->p[n]);
        advance(x, n);
        if (n < want + 2 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) {
            ml_report(x->rep, ML_E_E111, from(x, line, col),
                      "malformed escape in a string");
            return false;
        }
    } else {
        ml_report(x->rep, ML_E_W102, (ml_Place){line, col, line, col + 2},
                  "unknown escape in a string; the backslash stays");
        ml_text_char(t, '\\');
        advance(x, 1);
        return true;
    }
    if (v == 0 || v > 0x10ffff) {
        ml_report(x->rep, ML_E_E111, from(x, line, col), "a string cannot hold a NUL");
        return false;
    }
    put_utf8(t, v);
    return true;
}

static void string(Lexer *x, size_t prefix)
{
    uint32_t line = x->line, col = x->col;
    bool raw = false, ok = true, closed = false, triple;
    ml_Text t = {0};
    char quote;

    for (size_t k = 0; k < prefix; k++) {
        char c = (char)(x->p[k] | 32);

        raw |= c == 'r';
        if (c == 'b' || c == 'f') {
            ml_report(x->rep, ML_E_E108,
                      (ml_Place){line, col, line, col + (uint32_t)prefix},
                      "%s are not supported in script functions",
                      c == 'b' ? "byte strings" : "f-strings");
            ok = false;
        }
    }
    advance(x, prefix);
    quote = *x->p;
    triple = x->end - x->p >= 3 && x->p[1] == quote && x->p[2] == quote;
    advance(x, triple ? 3 : 1);
    while (x->p < x->end) {
        if (*x->p == quote &&
            (!triple || (x->end - x->p >= 3 && x->p[1] == quote && x->p[2] == quote))) {
            advance(x, triple ? 3 : 1);
            closed = true;
            break;
        }
        if (at_newline(x)) {
            if (!triple)
                break;
            take_newline(x);
            ml_text_char(&t, '\n');
        } else if (*x->p == '\\' && x->p + 1 < x->end) {
            bool line_end = x->p[1] == '\n' || x->p[1] == '\r';

            if (raw) {
                ml_text_char(&t, '\\');
                advance(x, 1);
                if (line_end) {
                    take_newline(x);
                    ml_text_char(&t, '\n');
                } else if ((x->p[0] & 0x80) == 0) {
                    ml_text_char(&t, *x->p);
                    advance(x, 1);
                }
            } else if (line_end) {
                advance(x, 1);
                take_newline(x);
            } else {
                ok &= escape(x, &t);
            }
        } else {
            size_t n = utf8_len(x->p, x->end);

            if (n == 0 || *x->p == 0) {
                bad_bytes(x, x->line, x->col,
                          n ? "a NUL byte in the text" : "the text is not valid UTF-8");
                ok = false;
                n = 1;
            }
            ml_text_addn(&t, x->p, n);
            advance(x, n);
        }
    }
    if (!closed) {
        if (!triple)
            ml_report(x->rep, ML_E_E104, from(x, line, col), "unterminated string");
        else
            ml_report(x->rep, ML_E_E104, (ml_Place){line, col, line, col + 3},
                      "unterminated triple-quoted string");
        ok = false;
    }
    if (ok) {
        ml_Tok *k = push(x, ML_TOK_STRING, from(x, line, col));

        k->as.s = (ml_Str){ml_strdup(x->sc, (ml_Str){ml_text_z(&t), t.n}), t.n};
    } else {
        push(x, ML_TOK_ERROR, from(x, line, col));
    }
    ml_text_free(&t);
}

/* ---- names and operators */
static void name(Lexer *x)
{
    const char *b = x->p, *p = b;
    uint32_t line = x->line, col = x->col;
    ml_Tok *t;
    ml_Sym *s;

    while (p < x->end && (is_name_start(*p) || is_digit(*p))) {
        size_t n = utf8_len(p, x->end);

        if (n == 0) {
            advance(x, (size_t)(p - b));
            bad_bytes(x, x->line, x->col, "the text is not valid UTF-8");
            advance(x, 1);
            push(x, ML_TOK_ERROR, from(x, line, col));
            return;
        }
        p += n;
    }
    if (p < x->end && (*p == '"' || *p == '\'') && p - b <= 2 &&
        strspn(b, "rRuUbBfF") >= (size_t)(p - b)) {
        string(x, (size_t)(p - b));
        return;
    }
    advance(x, (size_t)(p - b));
    s = ml_symbol(x->syms, (ml_Str){b, (size_t)(p - b)});
    t = push(x, s->keyword ? ML_TOK_KEYWORD : ML_TOK_NAME, from(x, line, col));
    t->op = s->keyword;
    t->as.sym = s;
}

static void unmatched(Lexer *x)
{
    ml_report(x->rep, ML_E_E101, x->brackets[x->depth - 1].at, "`%c` is never closed",
              x->brackets[x->depth - 1].open);
}

static void op_token(Lexer *x)
{
    uint32_t line = x->line, col = x->col;
    size_t left = (size_t)(x->end - x->p);
    ml_Tok *t;

    for (unsigned op = ML_OPR_POW_EQ; op < ML_OPR_COUNT; op++) {
        size_t n;

        if (OP_TEXT[op][0] != *x->p)
            continue;
        n = strlen(OP_TEXT[op]);
        if (n > left || memcmp(x->p, OP_TEXT[op], n) != 0)
            continue;
        advance(x, n);
        if (op == ML_OPR_LPAREN || op == ML_OPR_LBRACKET || op == ML_OPR_LBRACE) {
            if (x->depth >= MAX_BRACKETS) {
                ml_report(x->rep, ML_E_E109, from(x, line, col),
                          "brackets are nested deeper than %d", MAX_BRACKETS);
                x->broken = x->too_deep = true;
                return;
            }
            x->brackets[x->depth].open = OP_TEXT[op][0];
            x->brackets[x->depth++].at = from(x, line, col);
        } else if (op == ML_OPR_RPAREN || op == ML_OPR_RBRACKET || op == ML_OPR_RBRACE) {
            char want = op == ML_OPR_RPAREN ? '(' : op == ML_OPR_RBRACKET ? '[' : '{';

            if (x->depth == 0) {
                ml_report(x->rep, ML_E_E101, from(x, line, col), "`%s` was never opened",
                          OP_TEXT[op]);
                push(x, ML_TOK_ERROR, from(x, line, col));
                return;
            }
            if (x->brackets[x->depth - 1].open != want) {
                x->broken = true;
                return;
            }
            x->depth--;
        }
        t = push(x, ML_TOK_OP, from(x, line, col));
        t->op = (uint8_t)op;
        return;
    }
    if (*x->p == 0)
        bad_bytes(x, line, col, "a NUL byte in the text");
    else
        ml_report(x->rep, ML_E_E100, (ml_Place){line, col, line, col + 1},
                  "unexpected character `%c`", *x->p);
    advance(x, 1);
    push(x, ML_TOK_ERROR, from(x, line, col));
}

/* Tokens up to the end of the logical line; the newline is taken. */
static void logical_line(Lexer *x)
{
    while (x->p < x->end && !x->broken && !ml_report_full(x->rep)) {
        char c = *x->p;

        if (at_newline(x)) {
            take_newline(x);
            if (x->depth == 0)
                return;
        } else if (c == ' ' || c == '\t' || c == '\f') {
            advance(x, 1);
        } else if (c == '#') {
            comment(x);
        } else if (c == '\\' && x->p + 1 < x->end && (x->p[1] == '\n' || x->p[1] == '\r')) {
            advance(x, 1);
            take_newline(x);
        } else if (c == '"' || c == '\'') {
            string(x, 0);
        } else if (is_digit(c) || (c == '.' && x->p + 1 < x->end && is_digit(x->p[1]))) {
            number(x);
        } else if (is_name_start(c)) {
            name(x);
        } else {
            op_token(x);
        }
    }
}

typedef struct Column {
    uint32_t col, alt, chars; /* tabs as 8, as 1; characters */
} Column;

static Column indentation(const Lexer *x, const char *p)
{
    Column c = {0, 0, 0};

    for (; p < x->end && (*p == ' ' || *p == '\t' || *p == '\f'); p++, c.chars++) {
        if (*p == '\f')
            continue;
        c.col = *p == '\t' ? (c.col / 8 + 1) * 8 : c.col + 1;
        c.alt++;
    }
    return c;
}

/* INDENT and DEDENT for a line that starts at column c; p stands at its first token. */
static void indent_to(Lexer *x, Column c)
{
    size_t top = x->n_indents - 1;
    ml_Place space = {x->line, 1, x->line, x->col},
             first = {x->line, x->col, x->line, x->col};
    bool mixed = false;

    if (c.col > x->indents[top]) {
        mixed = c.alt <= x->alts[top];
        if (x->n_indents == MAX_INDENTS) {
            ml_report(x->rep, ML_E_E109, space, "blocks are nested deeper than 200");
            return;
        }
        x->indents[x->n_indents] = c.col;
        x->alts[x->n_indents++] = c.alt;
        push(x, ML_TOK_INDENT, first);
    } else {
        size_t n = x->n_indents;

        while (n > 1 && x->indents[n - 1] > c.col)
            n--;
        if (x->indents[n - 1] != c.col) {
            ml_Text open = {0};
            const char *q = x->p;
            size_t len = 1;

            for (size_t k = 0; k < x->n_indents; k++)
                ml_text_fmt(&open, "%s%u", k ? ", " : "", (unsigned)(x->indents[k] + 1));
            if (is_name_start(*q))
                for (len = 0; q < x->end && (is_name_start(*q) || is_digit(*q)); q++)
                    len += ((unsigned char)*q & 0xc0) != 0x80;
            ml_report(x->rep, ML_E_E102,
                      (ml_Place){x->line, x->col, x->line, x->col + (uint32_t)len},
                      "unindent matches no outer level (open: %s)", ml_text_z(&open));
            ml_text_free(&open);
            if (x->indents[n - 1] < c.col && n < x->n_indents)
                x->indents[n] = c.col, x->alts[n] = c.alt,
                n++; /* go on as if it were open */
        } else {
            mixed = x->alts[n - 1] != c.alt;
        }
        while (x->n_indents > n) {
            x->n_indents--;
            push(x, ML_TOK_DEDENT, first);
        }
    }
    if (mixed)
        ml_report(x->rep, ML_E_E103, space, "inconsistent use of tabs and spaces");
}

/* The place where reading goes on after an unclosed bracket in a statement at column col.
 */
static const char *resume_point(const Lexer *x, const char *p, uint32_t col)
{
    const char *end = x->end;

    for (;;) {
        const char *q;

        while (p < end && *p != '\n' && *p != '\r')
            p++;
        if (p >= end)
            return end;
        p += p[0] == '\r' && p + 1 < end && p[1] == '\n' ? 2 : 1;
        q = p + indentation(x, p).chars;
        if (q < end && !strchr("\r\n#)]}", *q) && *q && indentation(x, p).col <= col)
            return p;
    }
}

void ml_lex(ml_Ctx *sc, ml_Symbols *syms, ml_Report *rep, ml_Str text, ml_Lexed *out)
{
    Lexer *x = ML_NEW(sc, Lexer); /* its bracket stack is large */
    const char *whole_end = text.p + text.n;
    bool first = true;
    ml_Place here;

    x->sc = sc;
    x->syms = syms;
    x->rep = rep;
    x->out = out;
    x->p = text.p;
    x->end = whole_end;
    x->line = x->col = 1;
    x->n_indents = 1;
    x->last_line = x->last_col = 1;
    if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
        x->p += 3;
    while (x->p < x->end && !ml_report_full(rep)) {
        Column c = indentation(x, x->p);
        const char *start;
        uint32_t line, col;
        size_t n_toks, n_diags;

        advance(x, c.chars);
        if (x->p >= x->end)
            break;
        if (at_newline(x)) {
            take_newline(x);
            continue;
        }
        if (*x->p == '#') {
            comment(x);
            continue;
        }
        if (first) {
            x->indents[0] = c.col;
            x->alts[0] = c.alt;
            first = false;
        }
        indent_to(x, c);
        start = x->p;
        line = x->line;
        col = x->col;
        n_toks = out->n;
        n_diags = rep->diags.n;
        logical_line(x);
        if (x->broken || x->depth > 0) {
            const char *stop = resume_point(x, start, c.col);

            ml_report_cut(rep, n_diags);
            x->p = start;
            x->line = line;
            x->col = col;
            x->depth = 0;
            x->broken = x->too_deep = false;
            x->end = stop;
            out->n = n_toks;
            logical_line(x);
            if (x->depth > 0 && !x->too_deep)
                unmatched(x);
            x->too_deep = false;
            while (x->p < x->end) /* the rest of the broken statement */
                if (at_newline(x))
                    take_newline(x);
                else
                    skip_line(x);
            x->depth = 0;
            x->broken = false;
            x->end = whole_end;
            here = (ml_Place){line, col, line, col + 1};
            out->n = n_toks;
            push(x, ML_TOK_ERROR, here);
        }
        here = (ml_Place){x->last_line, x->last_col, x->last_line, x->last_col + 1};
        if (out->n > n_toks)
            push(x, ML_TOK_NEWLINE, here);
    }
    here = (ml_Place){x->line, x->col, x->line, x->col};
    while (x->n_indents-- > 1)
        push(x, ML_TOK_DEDENT, here);
    push(x, ML_TOK_EOF, here);
}

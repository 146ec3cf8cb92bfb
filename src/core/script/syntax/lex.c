/*
 * lex - see lex.h: logical lines, indentation, names and operators. A bracket that is never
 * closed would swallow the rest of the text: the statement is then lexed again up to the
 * next line that is indented like it.
 */
#include "moonloop/core/script/syntax/lex.h"

#include "moonloop/core/script/syntax/lex_impl.h"

#include <ctype.h>

#include "moonloop/core/base/utf8.h"

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
    return (uint32_t)ml_fnv(ML_FNV, s.p, s.n);
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

/* ---- moving over the text */
ml_Tok *ml_lex_push(ml_Lexer *x, ml_TokKind kind, ml_Place at)
{
    ml_Lexed *o = x->out;

    if (o->n == x->cap)
        o->toks = ml_vec_grow(x->sc, o->toks, &x->cap, o->n, sizeof(ml_Tok));
    o->toks[o->n] = (ml_Tok){.kind = (uint8_t)kind, .at = at};
    x->last_line = at.end_line;
    x->last_col = at.end_col;
    return &o->toks[o->n++];
}

/* Moves over n bytes of one line, counting code points. */
void ml_lex_advance(ml_Lexer *x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        x->col += ((unsigned char)x->p[k] & 0xc0) != 0x80;
    x->p += n;
}

void ml_lex_newline(ml_Lexer *x)
{
    x->p += x->p[0] == '\r' && x->p + 1 < x->end && x->p[1] == '\n' ? 2 : 1;
    x->line++;
    x->col = 1;
}

static void skip_line(ml_Lexer *x)
{
    while (x->p < x->end && !ml_lex_at_newline(x)) {
        x->col += ((unsigned char)*x->p & 0xc0) != 0x80;
        x->p++;
    }
}

/* "from tvm.script import tirx as T" in a comment: how printed programs begin. On a narrow
 * screen "as T" stands in the next line. */
static void import_in_comment(ml_Lexer *x, ml_Str s)
{
    static const char *const TEXTS[] = {"from tvm.script import tir as ",
                                        "from tvm.script import tirx as "};

    for (int k = 0; k < 2; k++) {
        size_t n = strlen(TEXTS[k]), least = n - strlen(" as ");
        bool folded = s.n == least && memcmp(s.p, TEXTS[k], least) == 0;
        bool whole = folded || (s.n > n && memcmp(s.p, TEXTS[k], n) == 0);
        ml_Str name = folded ? ml_str("T") : (ml_Str){s.p + n, whole ? s.n - n : 0};

        for (size_t j = 0; whole && j < name.n; j++)
            whole = isalpha((unsigned char)name.p[j]) || name.p[j] == '_' ||
                    (j > 0 && isdigit((unsigned char)name.p[j]));
        if (whole) {
            ml_Pragma g = {x->line, k ? ML_NEWEST : ML_CLASSIC, ml_symbol(x->syms, name)};

            ml_push(x->sc, &x->out->imports, g);
        }
    }
}

static void comment(ml_Lexer *x)
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
    import_in_comment(x, s);
    if (s.n < sizeof KEY - 1 || memcmp(s.p, KEY, sizeof KEY - 1) != 0)
        return;
    s.p += sizeof KEY - 1;
    s.n -= sizeof KEY - 1;
    while (s.n && *s.p == ' ')
        s.p++, s.n--;
    if (ml_str_eq(s, ml_str("spelling=classic")) ||
        ml_str_eq(s, ml_str("spelling=newest"))) {
        ml_Pragma g = {x->line, s.p[9] == 'c' ? ML_CLASSIC : ML_NEWEST, NULL};

        ml_push(x->sc, &x->out->pragmas, g);
    } else {
        ml_report(x->rep, ML_E_W101, (ml_Place){x->line, 1, x->line, x->col},
                  "unknown pragma `%.*s`; expected spelling=classic or spelling=newest",
                  (int)s.n, s.p);
    }
}

void ml_lex_bad_bytes(ml_Lexer *x, uint32_t line, uint32_t col, const char *what)
{
    if (!x->bad_byte)
        ml_report(x->rep, ML_E_E110, (ml_Place){line, col, line, col + 1}, "%s", what);
    x->bad_byte = true;
}

/* ---- names and operators */
static void name(ml_Lexer *x)
{
    const char *b = x->p, *p = b;
    uint32_t line = x->line, col = x->col;
    ml_Tok *t;
    ml_Sym *s;

    while (p < x->end && (ml_lex_name_start(*p) || ml_lex_digit(*p))) {
        size_t n = ml_utf8_length(p, x->end);

        if (n == 0) {
            ml_lex_advance(x, (size_t)(p - b));
            ml_lex_bad_bytes(x, x->line, x->col, "the text is not valid UTF-8");
            ml_lex_advance(x, 1);
            ml_lex_push(x, ML_TOK_ERROR, ml_lex_from(x, line, col));
            return;
        }
        p += n;
    }
    if (p < x->end && (*p == '"' || *p == '\'') && p - b <= 2 &&
        strspn(b, "rRuUbBfF") >= (size_t)(p - b)) {
        ml_lex_string(x, (size_t)(p - b));
        return;
    }
    ml_lex_advance(x, (size_t)(p - b));
    s = ml_symbol(x->syms, (ml_Str){b, (size_t)(p - b)});
    t = ml_lex_push(x, s->keyword ? ML_TOK_KEYWORD : ML_TOK_NAME,
                    ml_lex_from(x, line, col));
    t->op = s->keyword;
    t->as.sym = s;
}

static void unmatched(ml_Lexer *x)
{
    ml_report(x->rep, ML_E_E101, x->brackets[x->depth - 1].at, "`%c` is never closed",
              x->brackets[x->depth - 1].open);
}

static void op_token(ml_Lexer *x)
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
        ml_lex_advance(x, n);
        if (op == ML_OPR_LPAREN || op == ML_OPR_LBRACKET || op == ML_OPR_LBRACE) {
            if (x->depth >= ML_MAX_BRACKETS) {
                ml_report(x->rep, ML_E_E109, ml_lex_from(x, line, col),
                          "brackets are nested deeper than %d", ML_MAX_BRACKETS);
                x->broken = x->too_deep = true;
                return;
            }
            x->brackets[x->depth].open = OP_TEXT[op][0];
            x->brackets[x->depth++].at = ml_lex_from(x, line, col);
        } else if (op == ML_OPR_RPAREN || op == ML_OPR_RBRACKET || op == ML_OPR_RBRACE) {
            char want = op == ML_OPR_RPAREN ? '(' : op == ML_OPR_RBRACKET ? '[' : '{';

            if (x->depth == 0) {
                ml_report(x->rep, ML_E_E101, ml_lex_from(x, line, col),
                          "`%s` was never opened", OP_TEXT[op]);
                ml_lex_push(x, ML_TOK_ERROR, ml_lex_from(x, line, col));
                return;
            }
            if (x->brackets[x->depth - 1].open != want) {
                x->broken = true;
                return;
            }
            x->depth--;
        }
        t = ml_lex_push(x, ML_TOK_OP, ml_lex_from(x, line, col));
        t->op = (uint8_t)op;
        return;
    }
    if (*x->p == 0)
        ml_lex_bad_bytes(x, line, col, "a NUL byte in the text");
    else if ((unsigned char)*x->p < ' ' || *x->p == 0x7f)
        ml_report(x->rep, ML_E_E100, (ml_Place){line, col, line, col + 1},
                  "unexpected control character U+%04X", (unsigned)*x->p);
    else
        ml_report(x->rep, ML_E_E100, (ml_Place){line, col, line, col + 1},
                  "unexpected character `%c`", *x->p);
    ml_lex_advance(x, 1);
    ml_lex_push(x, ML_TOK_ERROR, ml_lex_from(x, line, col));
}

/* Tokens up to the end of the logical line; the newline is taken. */
static void logical_line(ml_Lexer *x)
{
    while (x->p < x->end && !x->broken && !ml_report_full(x->rep)) {
        char c = *x->p;

        if (ml_lex_at_newline(x)) {
            ml_lex_newline(x);
            if (x->depth == 0)
                return;
        } else if (c == ' ' || c == '\t' || c == '\f') {
            ml_lex_advance(x, 1);
        } else if (c == '#') {
            comment(x);
        } else if (c == '\\' && x->p + 1 < x->end && (x->p[1] == '\n' || x->p[1] == '\r')) {
            ml_lex_advance(x, 1);
            ml_lex_newline(x);
        } else if (c == '"' || c == '\'') {
            ml_lex_string(x, 0);
        } else if (ml_lex_digit(c) ||
                   (c == '.' && x->p + 1 < x->end && ml_lex_digit(x->p[1]))) {
            ml_lex_number(x);
        } else if (ml_lex_name_start(c)) {
            name(x);
        } else {
            op_token(x);
        }
    }
}

void ml_lex_inside(ml_Lexer *x, size_t n, ml_Lexed *out)
{
    ml_Lexed *outer = x->out;
    size_t cap = x->cap, depth = x->depth;
    const char *end = x->end;

    x->out = out;
    x->cap = 0;
    x->end = x->p + n;
    if (depth >= ML_MAX_BRACKETS) {
        x->broken = x->too_deep = true;
        ml_report(x->rep, ML_E_E109, ml_lex_from(x, x->line, x->col),
                  "brackets are nested deeper than %d", ML_MAX_BRACKETS);
    } else {
        x->brackets[x->depth].open = '(';
        x->brackets[x->depth++].at = ml_lex_from(x, x->line, x->col);
        logical_line(x);
        x->broken |= x->depth != depth + 1;
    }
    ml_lex_push(x, ML_TOK_EOF, ml_lex_from(x, x->line, x->col));
    x->out = outer;
    x->cap = cap;
    x->depth = depth;
    x->end = end;
}

typedef struct Column {
    uint32_t col, alt, chars; /* tabs as 8, as 1; characters */
} Column;

static Column indentation(const ml_Lexer *x, const char *p)
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
static void indent_to(ml_Lexer *x, Column c)
{
    size_t top = x->n_indents - 1;
    ml_Place space = {x->line, 1, x->line, x->col},
             first = {x->line, x->col, x->line, x->col};
    bool mixed = false;

    if (c.col > x->indents[top]) {
        mixed = c.alt <= x->alts[top];
        if (x->n_indents == ML_MAX_INDENTS) {
            ml_report(x->rep, ML_E_E109, space, "blocks are nested deeper than 200");
            return;
        }
        x->indents[x->n_indents] = c.col;
        x->alts[x->n_indents++] = c.alt;
        ml_lex_push(x, ML_TOK_INDENT, first);
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
            if (ml_lex_name_start(*q))
                for (len = 0; q < x->end && (ml_lex_name_start(*q) || ml_lex_digit(*q));
                     q++)
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
            ml_lex_push(x, ML_TOK_DEDENT, first);
        }
    }
    if (mixed)
        ml_report(x->rep, ML_E_E103, space, "inconsistent use of tabs and spaces");
}

/* The place where reading goes on after an unclosed bracket in a statement at column col.
 */
static const char *resume_point(const ml_Lexer *x, const char *p, uint32_t col)
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
    ml_Lexer *x = ML_NEW(sc, ml_Lexer); /* its bracket stack is large */
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

        ml_lex_advance(x, c.chars);
        if (x->p >= x->end)
            break;
        if (ml_lex_at_newline(x)) {
            ml_lex_newline(x);
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
                if (ml_lex_at_newline(x))
                    ml_lex_newline(x);
                else
                    skip_line(x);
            x->depth = 0;
            x->broken = false;
            x->end = whole_end;
            here = (ml_Place){line, col, line, col + 1};
            out->n = n_toks;
            ml_lex_push(x, ML_TOK_ERROR, here);
        }
        here = (ml_Place){x->last_line, x->last_col, x->last_line, x->last_col + 1};
        if (out->n > n_toks)
            ml_lex_push(x, ML_TOK_NEWLINE, here);
    }
    here = (ml_Place){x->line, x->col, x->line, x->col};
    while (x->n_indents-- > 1)
        ml_lex_push(x, ML_TOK_DEDENT, here);
    ml_lex_push(x, ML_TOK_EOF, here);
}

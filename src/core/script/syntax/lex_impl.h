/* lex_impl - what the files of the lexer share: its state, moving over the text, tokens. */
#ifndef ML_CORE_SCRIPT_LEX_IMPL_H
#define ML_CORE_SCRIPT_LEX_IMPL_H

#include "moonloop/core/script/syntax/lex.h"

enum { ML_MAX_BRACKETS = 200, ML_MAX_INDENTS = 256 };

typedef struct ml_Lexer {
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
    } brackets[ML_MAX_BRACKETS + 1];
    uint32_t indents[ML_MAX_INDENTS], alts[ML_MAX_INDENTS];
    size_t n_indents;
    uint32_t last_line, last_col; /* end of the last token */
    bool broken;                  /* a bracket is not matched */
    bool too_deep;                /* ... because there are too many */
    bool bad_byte;                /* one report of bad bytes is enough */
} ml_Lexer;

ml_Tok *ml_lex_push(ml_Lexer *x, ml_TokKind kind, ml_Place at);
void ml_lex_advance(ml_Lexer *x, size_t n); /* over n bytes of one line */
void ml_lex_newline(ml_Lexer *x);           /* over the newline that is there */
void ml_lex_bad_bytes(ml_Lexer *x, uint32_t line, uint32_t col, const char *what);

/* The tokens of the n bytes that come next, as inside parentheses; they end with EOF. */
void ml_lex_inside(ml_Lexer *x, size_t n, ml_Lexed *out);

/* ---- literals (lex_literal.c, lex_fstring.c) */
void ml_lex_number(ml_Lexer *x);
void ml_lex_string(ml_Lexer *x, size_t prefix); /* prefix: letters before the quote */
/* The field of an f-string that begins with the brace at hand; false: reported. */
bool ml_lex_field(ml_Lexer *x, char quote, bool triple, ml_FString *out);

static inline bool ml_lex_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static inline bool ml_lex_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ml_lex_at_newline(const ml_Lexer *x)
{
    return x->p < x->end && (*x->p == '\n' || *x->p == '\r');
}

static inline ml_Place ml_lex_from(const ml_Lexer *x, uint32_t line, uint32_t col)
{
    return (ml_Place){line, col, x->line, x->col};
}

#endif

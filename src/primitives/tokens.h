/*
 * tokens - a text of Lua cut into its tokens, as Lua's own reader cuts it.
 *
 * Colours, completion, trials and calls read as data all walk along this one stream; so do
 * colours of TVMScript, which differs in comments and long strings. It takes any bytes and
 * never fails: what is none of the others is a mark. Source: interaction 4.
 */
#ifndef ML_PRIMITIVES_TOKENS_H
#define ML_PRIMITIVES_TOKENS_H

#include "moonloop/core/ctx.h"

typedef enum ml_TokenKind {
    ML_TOKEN_END,
    ML_TOKEN_COMMENT,
    ML_TOKEN_NAME, /* keywords, too */
    ML_TOKEN_NUMBER,
    ML_TOKEN_STRING, /* "…", '…', [[…]], [==[…]==] */
    ML_TOKEN_MARK,   /* an operator, a bracket; a byte that Lua does not know */
} ml_TokenKind;

typedef struct ml_Token {
    ml_TokenKind kind;
    ml_Str text; /* as written; of the end: empty, where the text ends */
    bool open;   /* a string or comment that nothing ends */
} ml_Token;

typedef struct ml_Tokens {
    const char *p;
    size_t n, at; /* bytes; the next token begins at `at` or behind the blanks there */
    bool script;  /* TVMScript: # begins a comment, and no string is long */
} ml_Tokens;

/* The next token, comments among them. */
ml_Token ml_token_next(ml_Tokens *t);
/* The next one that is no comment. */
ml_Token ml_token_code(ml_Tokens *t);
bool ml_token_is(ml_Token k, const char *text); /* a name or mark written so */
/* A string without its quotes, as written. */
ml_Str ml_token_inside(ml_Token k);
/* What a string stands for, in cx; NULL: it has no end, an escape in it is none of Lua's,
 * or it holds a zero byte or \u beyond Unicode. */
const char *ml_token_string(ml_Ctx *cx, ml_Token k);

bool ml_is_name_char(char c); /* letter, digit, _ */
/* The same of a text: TVMScript has letters beyond ASCII, too. */
bool ml_in_name(char c, bool script);
bool ml_is_name(const char *z);             /* a name by its letters; it may be a keyword */
extern const char *const ml_lua_keywords[]; /* NULL ends them */
bool ml_is_lua_keyword(ml_Str w);

#endif

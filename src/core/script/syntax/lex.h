/*
 * lex - from text to tokens with places. Source: script 2.
 *
 * The whole text becomes one array of tokens with NEWLINE, INDENT and DEDENT in it. What is
 * wrong is reported here and leaves an ERROR token, which the parser passes over silently.
 * Names are interned: one ml_Sym for each, so that scopes need no hashing.
 */
#ifndef ML_CORE_SCRIPT_LEX_H
#define ML_CORE_SCRIPT_LEX_H

#include "moonloop/core/script/report.h"

typedef struct ml_Binding ml_Binding;
typedef struct ml_Sym {
    ml_Str name;
    uint32_t hash;
    uint8_t keyword;     /* an ml_TokOp, 0: none */
    bool looked_up;      /* whether `builtin` is known */
    const void *builtin; /* T.name, an ml_Builtin, or NULL */
    ml_Binding *top;     /* innermost visible definition */
    ml_Binding *dead;    /* the last one whose scope has ended */
} ml_Sym;

typedef struct ml_Symbols {
    ml_Ctx *sc;
    ml_Sym **slots;
    size_t n, cap;
} ml_Symbols;
ml_Sym *ml_symbol(ml_Symbols *t, ml_Str name);

typedef enum ml_TokKind {
    ML_TOK_EOF,
    ML_TOK_NEWLINE,
    ML_TOK_INDENT,
    ML_TOK_DEDENT,
    ML_TOK_NAME,
    ML_TOK_KEYWORD, /* op */
    ML_TOK_INT,     /* i; big: above 2^64 - 1 */
    ML_TOK_FLOAT,
    ML_TOK_STRING, /* s, decoded */
    ML_TOK_OP,
    ML_TOK_ERROR, /* reported already */
} ml_TokKind;

/* Keywords and operators, in the order of the table in lex.c. */
typedef enum ml_TokOp {
    ML_OPR_NONE,
    ML_KW_FALSE,
    ML_KW_NONE,
    ML_KW_TRUE,
    ML_KW_AND,
    ML_KW_AS,
    ML_KW_ASSERT,
    ML_KW_ASYNC,
    ML_KW_AWAIT,
    ML_KW_BREAK,
    ML_KW_CLASS,
    ML_KW_CONTINUE,
    ML_KW_DEF,
    ML_KW_DEL,
    ML_KW_ELIF,
    ML_KW_ELSE,
    ML_KW_EXCEPT,
    ML_KW_FINALLY,
    ML_KW_FOR,
    ML_KW_FROM,
    ML_KW_GLOBAL,
    ML_KW_IF,
    ML_KW_IMPORT,
    ML_KW_IN,
    ML_KW_IS,
    ML_KW_LAMBDA,
    ML_KW_NONLOCAL,
    ML_KW_NOT,
    ML_KW_OR,
    ML_KW_PASS,
    ML_KW_RAISE,
    ML_KW_RETURN,
    ML_KW_TRY,
    ML_KW_WHILE,
    ML_KW_WITH,
    ML_KW_YIELD,
    ML_OPR_POW_EQ, /* longest first */
    ML_OPR_FLOORDIV_EQ,
    ML_OPR_SHL_EQ,
    ML_OPR_SHR_EQ,
    ML_OPR_ELLIPSIS,
    ML_OPR_POW,
    ML_OPR_FLOORDIV,
    ML_OPR_SHL,
    ML_OPR_SHR,
    ML_OPR_LE,
    ML_OPR_GE,
    ML_OPR_EQ,
    ML_OPR_NE,
    ML_OPR_ARROW,
    ML_OPR_ADD_EQ,
    ML_OPR_SUB_EQ,
    ML_OPR_MUL_EQ,
    ML_OPR_DIV_EQ,
    ML_OPR_MOD_EQ,
    ML_OPR_AND_EQ,
    ML_OPR_OR_EQ,
    ML_OPR_XOR_EQ,
    ML_OPR_AT_EQ,
    ML_OPR_WALRUS,
    ML_OPR_ADD,
    ML_OPR_SUB,
    ML_OPR_MUL,
    ML_OPR_DIV,
    ML_OPR_MOD,
    ML_OPR_AT,
    ML_OPR_BITAND,
    ML_OPR_BITOR,
    ML_OPR_BITXOR,
    ML_OPR_BITNOT,
    ML_OPR_LT,
    ML_OPR_GT,
    ML_OPR_LPAREN,
    ML_OPR_RPAREN,
    ML_OPR_LBRACKET,
    ML_OPR_RBRACKET,
    ML_OPR_LBRACE,
    ML_OPR_RBRACE,
    ML_OPR_COMMA,
    ML_OPR_COLON,
    ML_OPR_DOT,
    ML_OPR_SEMICOLON,
    ML_OPR_ASSIGN,
    ML_OPR_COUNT
} ml_TokOp;
const char *ml_tok_op_text(ml_TokOp op);

typedef struct ml_FString ml_FString;
typedef struct ml_Tok {
    uint8_t kind;
    uint8_t op;
    bool big; /* of a STRING: an f-string */
    ml_Place at;
    union {
        ml_Sym *sym;
        uint64_t i;
        double f;
        ml_Str s;
        const ml_FString *fs;
    } as;
} ml_Tok;

typedef struct ml_Pragma { /* "# moonloop: spelling=newest" */
    uint32_t line;
    int spelling;
    ml_Sym *as; /* of "# from tvm.script import tirx as T": T; NULL otherwise */
} ml_Pragma;

typedef struct ml_Lexed {
    ml_Tok *toks;
    size_t n;
    ML_VEC(ml_Pragma) pragmas;
    ML_VEC(ml_Pragma) imports; /* in comments, as programs are printed */
} ml_Lexed;

/* A part of an f-string: a piece of text, or a field {expression!conversion:format}. */
typedef struct ml_FPart {
    const ml_Lexed *expr; /* NULL: text */
    ml_Str text;          /* of a field: its format, "" when there is none */
    char conversion;      /* 's', 'r', 'a' or 0 */
    ml_Place at;
} ml_FPart;
struct ml_FString {
    ML_VEC(ml_FPart) parts;
};

/* Tokens and symbols live in sc; the list always ends with EOF. */
void ml_lex(ml_Ctx *sc, ml_Symbols *syms, ml_Report *rep, ml_Str text, ml_Lexed *out);

#endif

/*
 * ast - syntax trees, in a scratch context that is dropped after evaluation.
 *
 * Bodies of branches that are not taken are parsed too; evaluation happens on the tree.
 * Source: script 3.
 */
#ifndef ML_CORE_SCRIPT_AST_H
#define ML_CORE_SCRIPT_AST_H

#include "moonloop/core/script/syntax/lex.h"

typedef enum ml_NodeKind {
    /* expressions */
    ML_N_NAME,   /* sym */
    ML_N_INT,    /* i, big */
    ML_N_FLOAT,  /* f */
    ML_N_STRING, /* s */
    ML_N_CONST,  /* op: ML_KW_TRUE, ML_KW_FALSE, ML_KW_NONE */
    ML_N_TUPLE,
    ML_N_LIST,
    ML_N_DICT, /* kids: key, value, key, value ... */
    ML_N_ATTR, /* kids[0] . sym */
    ML_N_CALL, /* kids[0] ( kids[1] ... ); keys[k]: keyword of kids[k] or NULL */
    ML_N_SUB, /* kids[0] [ kids[1] ... ]; big: the index was a tuple of one (trailing comma)
               */
    ML_N_SLICE,   /* kids[0..2], each may be NULL */
    ML_N_UNARY,   /* op kids[0] */
    ML_N_BIN,     /* kids[0] op kids[1], and / or too */
    ML_N_CMP,     /* kids[0] ops[0] kids[1] ops[1] ... */
    ML_N_COND,    /* kids[0] if kids[1] else kids[2] */
    ML_N_LAMBDA,  /* keys[0..n_keys): parameters; kids[0] */
    ML_N_STAR,    /* * kids[0] */
    ML_N_COMP,    /* [kids[0] for ... if ...]: kids[1..] are FOR and IF without a body */
    ML_N_FSTRING, /* kids: STRING and FIELD */
    ML_N_FIELD,   /* kids[0]; op: conversion; s: format */
    /* statements */
    ML_N_EXPR_STMT,
    ML_N_ASSIGN, /* kids[0..n-1): targets of a chain, kids[n-1]: value */
    ML_N_AUG,    /* kids[0] op= kids[1]; op is the binary operator */
    ML_N_ANN,    /* kids[0] : kids[1] = kids[2]; kids[2] may be NULL */
    ML_N_ASSERT, /* kids[0], kids[1] */
    ML_N_RETURN, /* kids[0] may be NULL */
    ML_N_PASS,
    ML_N_BREAK,
    ML_N_CONTINUE,
    ML_N_FOR,   /* kids[0] in kids[1]: body */
    ML_N_WHILE, /* kids[0]: body */
    ML_N_IF,    /* kids[0]: body else other (may be NULL; elif: a suite of one IF) */
    ML_N_WITH,  /* kids: item, target or NULL, item, target ...; body */
    ML_N_FUNC, /* sym; kids: decorators; keys: type parameters; params; ret or NULL; body */
    ML_N_CLASS,   /* sym; kids: decorators; body */
    ML_N_IMPORT,  /* from: kids[0] module (NAME or ATTR chain) or NULL, names below */
    ML_N_SUITE,   /* kids: statements */
    ML_N_BAD,     /* reported already */
    ML_N_SKIPPED, /* s: why; kids: names that it would define, big: only what they hold */
} ml_NodeKind;

typedef struct ml_Node ml_Node;
typedef struct ml_ParamNode {
    ml_Sym *sym;
    ml_Place at;
    ml_Node *ann; /* NULL: missing */
    ml_Node *def; /* default value, refused */
    uint8_t star; /* 1: *args, 2: **kwargs, 3: a lone marker; all refused */
} ml_ParamNode;

struct ml_Node {
    uint8_t kind, op;
    bool big;
    uint16_t depth;
    uint32_t n, n_keys;
    ml_Place at;
    ml_Place
        name_at; /* of sym in ATTR, FUNC, CLASS; of the keyword in compound statements */
    ml_Node **kids;
    ml_Sym **keys;
    ml_Place *key_at;
    union {
        ml_Sym *sym;
        ml_Str s;
        uint64_t i;
        double f;
        const uint8_t *ops;
        struct {
            ml_ParamNode *v;
            size_t n;
        } params;
        ml_Node *iter;
    } as;
    ml_Sym *sym; /* of FUNC, CLASS */
    ml_Node *ret;
    ml_Node *body, *other;
    uint32_t tok, tok_end; /* of a FUNC: its tokens */
};

typedef struct ml_Ast {
    ml_Node **tops;
    size_t n;
} ml_Ast;

typedef struct ml_SynOpts {
    bool file_mode;
} ml_SynOpts;

/* The statements of a text. file_mode: other top-level Python is skipped with a warning. */
void ml_syntax(ml_Ctx *sc, ml_Report *rep, const ml_Lexed *lx, bool file_mode, ml_Ast *out);
/* One expression that is the whole text; NULL: reported. */
ml_Node *ml_syntax_expr(ml_Ctx *sc, ml_Report *rep, const ml_Lexed *lx);

/* ---- shared by syntax.c and the files syntax_*.c */
typedef struct ml_Parser {
    ml_Ctx *sc;
    ml_Report *rep;
    const ml_Lexed *lx;
    size_t k;      /* the next token */
    bool failed;   /* the statement at hand is given up */
    size_t depth;  /* recursion of expressions */
    size_t blocks; /* nesting of statements */
    bool file_mode;
} ml_Parser;
typedef ML_VEC(ml_Node *) ml_NodeVec;

enum { ML_MAX_BLOCKS = 200, ML_MAX_EXPR_DEPTH = 1000 };

const ml_Tok *ml_syn_peek(const ml_Parser *p);
bool ml_syn_at(const ml_Parser *p, ml_TokOp op);
bool ml_syn_take(ml_Parser *p, ml_TokOp op);
/* "expected ..." at the next token, unless something is wrong already. */
void ml_syn_expected(ml_Parser *p, const char *what);
void ml_syn_unsupported(ml_Parser *p, ml_Place at, const char *what);
ml_Node *ml_syn_node(ml_Parser *p, ml_NodeKind kind, ml_Place at, size_t n_kids);
ml_Node *ml_syn_bad(ml_Parser *p);
void ml_syn_keep(ml_Parser *p, ml_Node *nd, const ml_NodeVec *kids);
/* The depth of a node whose children are there. */
void ml_syn_measure(ml_Parser *p, ml_Node *nd);
ml_Node *ml_syn_expr(ml_Parser *p);
ml_Node *ml_syn_test(ml_Parser *p);    /* no lambda, no choice */
ml_Node *ml_syn_starred(ml_Parser *p); /* an expression, or one with a star before it */
/* A name, a literal, or what stands between brackets. */
ml_Node *ml_syn_atom(ml_Parser *p);
/* The clauses behind an element; it alone when there are none. */
ml_Node *ml_syn_comprehension(ml_Parser *p, ml_Node *element);
/* what: the kind that is not supported here. */
bool ml_syn_no_comprehension(ml_Parser *p, const char *what);
/* expr {',' expr} with stars: a tuple when there is a comma. */
ml_Node *ml_syn_expr_list(ml_Parser *p);
/* The same without `in` as an operator: the target of a loop. */
ml_Node *ml_syn_target_list(ml_Parser *p);

/* The names (NAME nodes) that the statements of the tokens [from, to) would bind, whatever
 * they are; big: only what the name holds is changed (syntax_names.c). */
void ml_syn_bound_names(ml_Ctx *sc, const ml_Lexed *lx, size_t from, size_t to,
                        ml_NodeVec *out);
/* From `from` to the last token read. */
ml_Place ml_syn_so_far(const ml_Parser *p, ml_Place from);
/* Passes over the rest of the logical line and the indented block below it. */
void ml_syn_skip(ml_Parser *p);
ml_Node *ml_syn_suite(ml_Parser *p, ml_NodeVec *v, ml_Place at);
/* ':' and the block behind it. `what` names the header for messages. */
ml_Node *ml_syn_block(ml_Parser *p, const char *what);
/* A node for the statement that begins with the keyword at hand, which is taken. */
ml_Node *ml_syn_keyword(ml_Parser *p, ml_NodeKind kind, size_t kids);
/* One statement of a line, without its end. */
ml_Node *ml_syn_simple(ml_Parser *p);
ml_Node *ml_syn_for(ml_Parser *p);
ml_Node *ml_syn_while(ml_Parser *p);
ml_Node *ml_syn_if(ml_Parser *p);
ml_Node *ml_syn_with(ml_Parser *p);
ml_Node *ml_syn_definition(ml_Parser *p); /* a function or class, with its decorators */

#endif

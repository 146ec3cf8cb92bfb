/*
 * error - errors are values: a code of errors.def, facts, notes. Text is made only when
 * somebody looks (primitives/call/render.h shows it with the program). An error is set once,
 * where it is found (cx's sticky error); callers add notes. A function that can fail
 * returns false or NULL; whoever handles a failure clears it. Source: style 5.
 */
#ifndef ML_CORE_ERROR_H
#define ML_CORE_ERROR_H

#include "moonloop/core/stmt.h"

typedef enum ml_ErrorCode {
    ML_E_OK,
#define ML_ERROR(NAME, code, sentence, rule) ML_E_##NAME,
#include "moonloop/core/errors.def"
#undef ML_ERROR
    ML_E_COUNT
} ml_ErrorCode;

typedef enum ml_FactKind {
    ML_FACT_STOP,
    ML_FACT_LOOP,   /* uid */
    ML_FACT_BLOCK,  /* uid */
    ML_FACT_ITER,   /* uid of the block, aux = position */
    ML_FACT_BUFFER, /* buffer */
    ML_FACT_EXPR,   /* expr */
    ML_FACT_VAR,    /* var */
    ML_FACT_NUMBER, /* i; `name` is the field of e.numbers */
    ML_FACT_TEXT,   /* text, copied by ml_fail */
    ML_FACT_DTYPE,  /* type */
    ML_FACT_STMT,   /* stmt: marked, printed as its kind ("if", "while") */
    ML_FACT_POINT,  /* point: aux coordinates, of an element or of an instance */
} ml_FactKind;

/* One number of a point: of an element ("3"), or a loop's value ("i = 3"). */
typedef struct ml_Coord {
    ml_Uid loop;      /* 0: of an element */
    const char *hint; /* the loop's own name */
    int64_t at;
} ml_Coord;

typedef struct ml_Fact {
    uint8_t kind;
    uint32_t aux;
    const char
        *name; /* label: of a NUMBER its field; of others the word shown at the mark */
    const char *hint; /* of a LOOP, BLOCK, ITER its own name, shown when it has no other: a
                         rewrite that failed made it */
    union {
        ml_Uid uid;
        int64_t i;
        const char *text;
        const ml_Expr *expr;
        const ml_Buffer *buffer;
        const ml_Var *var;
        const ml_Stmt *stmt;
        const ml_Coord *point; /* copied by ml_fail */
        ml_Dtype type;
    } as;
} ml_Fact;

#define ML_FACT_(k, field, x, nm) ((ml_Fact){.kind = (k), .name = (nm), .as.field = (x)})
/* Loops and blocks as nodes (const ml_Stmt *, const ml_For *, const ml_Block *) or uids. */
#define ML_LOOP(x)      ml_node_fact(ML_FACT_LOOP, (const ml_Stmt *)(x))
#define ML_LOOP_UID(u)  ML_FACT_(ML_FACT_LOOP, uid, (u), NULL)
#define ML_BLOCK(x)     ml_node_fact(ML_FACT_BLOCK, (const ml_Stmt *)(x))
#define ML_BLOCK_UID(u) ML_FACT_(ML_FACT_BLOCK, uid, (u), NULL)
#define ML_ITER(blk, k)                                                                    \
    ((ml_Fact){.kind = ML_FACT_ITER,                                                       \
               .aux = (uint32_t)(k),                                                       \
               .hint = (blk)->iters[k].var->hint,                                          \
               .as.uid = (blk)->tag})
#define ML_BUFFER(b)     ML_FACT_(ML_FACT_BUFFER, buffer, (b), NULL)
#define ML_EXPRESSION(e) ML_FACT_(ML_FACT_EXPR, expr, (e), NULL)
#define ML_VARIABLE(v)   ML_FACT_(ML_FACT_VAR, var, (v), NULL)
#define ML_NUMBER(nm, x) ML_FACT_(ML_FACT_NUMBER, i, (int64_t)(x), (nm))
#define ML_TEXT(z)       ML_FACT_(ML_FACT_TEXT, text, (z), NULL)
/* A word that was typed: an empty one is seen as "". */
#define ML_TYPED(z) ML_TEXT(*(z) ? (z) : "\"\"")
/* A text in which {k} stands for the k-th fact; and an expression that only such a text
 * shows, marked nowhere. */
#define ML_TEMPLATE     "template"
#define ML_HIDDEN       "hidden"
#define ML_TEMPLATED(z) ML_FACT_(ML_FACT_TEXT, text, (z), ML_TEMPLATE)
#define ML_SHOWN_IN(e)  ML_FACT_(ML_FACT_EXPR, expr, (e), ML_HIDDEN)
#define ML_DTYPE(t)     ML_FACT_(ML_FACT_DTYPE, type, (t), NULL)
#define ML_STATEMENT(s) ML_FACT_(ML_FACT_STMT, stmt, (s), NULL)
#define ML_POINT(v, n)                                                                     \
    ((ml_Fact){.kind = ML_FACT_POINT, .aux = (uint32_t)(n), .as.point = (v)})
#define ML_FACT_END ((ml_Fact){.kind = ML_FACT_STOP})

enum { ML_MAX_FACTS = 12 };

struct ml_Error {
    ml_ErrorCode code;
    const char *says; /* the sentence where it was found, a literal; NULL: the code's */
    const char *primitive; /* name of the primitive at fault, or NULL */
    uint32_t n_facts;
    ml_Fact facts[ML_MAX_FACTS];
    uint32_t n_notes;
    const char *const *notes; /* one sentence each */
    const ml_Span *place;     /* in a file or chunk, or NULL */
    /* A proof failed rather than the rule: `says` is what could not be shown, and "cannot
     * show that" comes before it. */
    bool unproved;
};

ml_Fact ml_node_fact(ml_FactKind kind, const ml_Stmt *node);

/* Sets the error of cx and returns false. Facts are ML_LOOP(x) ... in the order of the
 * sentence's placeholders; further ones are marked in the source only. Variable facts'
 * texts are copied. An error already set stays (the first is the cause). */
bool ml_fail_(ml_Ctx *cx, ml_ErrorCode code, ...);
#define ml_fail(cx, ...) ml_fail_((cx), __VA_ARGS__, ML_FACT_END)
/* The same in words of its own, a literal with {0}, {1} ... for the facts. */
bool ml_fail_as_(ml_Ctx *cx, ml_ErrorCode code, const char *says, ...);
#define ml_fail_as(cx, code, ...) ml_fail_as_((cx), (code), __VA_ARGS__, ML_FACT_END)
/* What `says` claims could not be shown. */
bool ml_unproved_(ml_Ctx *cx, ml_ErrorCode code, const char *says, ...);
#define ml_unproved(cx, code, ...) ml_unproved_((cx), (code), __VA_ARGS__, ML_FACT_END)

const ml_Error *ml_error(const ml_Ctx *cx); /* NULL: none */
void ml_error_clear(ml_Ctx *cx);
void ml_error_note(ml_Ctx *cx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ml_error_set_primitive(ml_Ctx *cx, const char *name);
void ml_error_set_unproved(ml_Ctx *cx);
void ml_error_set_place(ml_Ctx *cx, const ml_Span *place);
/* A copy in another context's arena (expressions and buffers stay where they are: `to` must
 * be a descendant of, or outlived by, the context that owns them). */
const ml_Error *ml_error_copy(ml_Ctx *to, const ml_Error *e);
/* Moves the error of `from` to `to` (texts copied). */
void ml_error_move(ml_Ctx *to, ml_Ctx *from);

const char *ml_error_code(ml_ErrorCode c);     /* "not-only-child" */
const char *ml_error_sentence(ml_ErrorCode c); /* with {0}, {1} ... */
/* The sentence of this error, with {0}, {1} ..., and what comes before it ("" or "cannot
 * show that "). */
const char *ml_error_says(const ml_Error *e);
const char *ml_error_opening(const ml_Error *e);
/* "unsound" for its codes, else NULL. */
const char *ml_error_family(ml_ErrorCode c);
/* What a code stands for, in one line: its sentence with … for the facts, or the rule. */
void ml_error_meaning(ml_Text *t, ml_ErrorCode code);
const char *ml_error_rule(ml_ErrorCode c); /* or "" */
/* Whether the rule says more than the sentence of an error: only then it stands below. */
bool ml_error_rule_is_shown(ml_ErrorCode c);
ml_ErrorCode ml_error_find(const char *code); /* ML_E_OK: unknown */

#endif

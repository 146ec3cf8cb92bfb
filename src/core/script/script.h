/* script - the text dialect: reading and printing programs, diagnostics with places.
 * Source: script.md. */
#ifndef ML_CORE_SCRIPT_H
#define ML_CORE_SCRIPT_H

#include "moonloop/core/error.h"
#include "moonloop/core/vec.h"

/* ---- reading */
typedef struct ml_Diag { /* one diagnostic of script 14 */
    const char *code;    /* "E310", "W..." */
    bool warning;
    ml_Span span;
    const char *message;
    uint32_t n_notes;
    struct {
        ml_Span span;
        const char *text; /* "first defined here" */
    } notes[4];
    const char *help; /* or NULL */
} ml_Diag;

/* A function of the caller, called while the text is read: its result is a constant or an
 * expression in cx, which is the text's. NULL: *why says what is wrong. It must return. */
typedef const ml_Value *ml_ParseCall(ml_Ctx *cx, void *user, const ml_Value *const *args,
                                     size_t n, const char **why);
typedef struct ml_ParseValue { /* a captured constant of the caller, or */
    const char *name;
    const ml_Value *value;
    ml_ParseCall *call; /* a function */
    void *user;
} ml_ParseValue;

typedef struct ml_ParseOpts {
    const char *file; /* name for diagnostics; NULL: "<text>" */
    int spelling;     /* -1: by the rules of script 1; else an ml_Spelling */
    bool file_mode;   /* load(file): other top-level Python is skipped with warnings */
    bool archaic;
    const ml_ParseValue *values;
    size_t n_values;
} ml_ParseOpts;

typedef struct ml_Parsed {
    const ml_Module *mod; /* NULL when there is any error */
    size_t n_diags;
    const ml_Diag *diags; /* in source order */
    size_t n_errors;
} ml_Parsed;

/* Reads a text. Everything lives in cx. On errors also sets cx's error to the first one. */
ml_Parsed ml_parse(ml_Ctx *cx, ml_Str text, const ml_ParseOpts *opts);
/* One expression over the given names; buffers by name as A[...]. NULL: error set. */
typedef struct ml_ParseName {
    const char *name;
    const ml_Expr *expr; /* or */
    const ml_Buffer *buffer;
} ml_ParseName;
const ml_Expr *ml_parse_expr(ml_Ctx *cx, ml_Str text, const ml_ParseName *names, size_t n,
                             ml_Parsed *diags);
/* "lambda i, j: (j, i)" as an index map over fresh variables of the given dtype. */
const ml_IndexMap *ml_parse_index_map(ml_Ctx *cx, ml_Str text, ml_Dtype index,
                                      ml_Parsed *diags);
/* The text of one diagnostic as script 14 shows it, with the source lines. */
void ml_diag_print(ml_Text *out, const ml_Diag *d, ml_Str source);

/* ---- names on screen */
/* Display names: uid of a loop variable, block tag, buffer, other variable -> name. */
typedef struct ml_Names {
    const ml_Map *map; /* values: const char * ; may be NULL */
} ml_Names;

/* ---- printing */
/* Where things ended up in the printed text. Lines and columns are 1-based; columns count
 * bytes of the line as printed (ASCII, except in strings). */
typedef enum ml_MarkKind {
    ML_MARK_LOOP,  /* the loop variable in its header; uid */
    ML_MARK_BLOCK, /* the block's header; uid */
    ML_MARK_ITER, /* the iterator's name in its axis line; uid of the block, aux position */
    ML_MARK_STMT, /* any other statement's first line; stmt */
    ML_MARK_BUFFER, /* a definition of a buffer; uid of the buffer */
    ML_MARK_EXPR,   /* an expression that was asked for in opts.mark_exprs */
} ml_MarkKind;
typedef struct ml_TextMark {
    uint8_t kind;
    uint32_t aux;
    ml_Uid uid;
    const ml_Stmt *stmt; /* statement it belongs to */
    const ml_Expr *expr;
    uint32_t line, col, len;
    uint32_t last_line; /* of a loop, block or other compound: last line of its body */
} ml_TextMark;
typedef ML_VEC(ml_TextMark) ml_TextMarks;

typedef struct ml_PrintOpts {
    int spelling;       /* -1: the function's own; else an ml_Spelling */
    const char *prefix; /* NULL: "T" */
    int indent;         /* 0: 4 */
    bool no_sugar;
    bool regions_auto; /* reads/writes only where inference would give others */
    bool no_header;    /* without the comment lines about imports */
    bool plain;        /* indices without their dtypes: for people, not to be read back */
    bool no_root_comment; /* without the comment that stands for a plain root block */
    bool own_root; /* a plain root block that is not called root stands there as a block */
    const ml_Names *names;
    ml_Ctx *marks_cx;    /* arena of marks; needed when marks is given */
    ml_TextMarks *marks; /* filled when not NULL */
    const ml_Expr *const
        *mark_exprs; /* expressions (by pointer) to be marked wherever they occur */
    size_t n_mark_exprs;
    /* 12.7: underlines and comments */
    const ml_Stmt *const *underline; /* statements whose header line is underlined */
    const char *const *labels;       /* comment for each, or NULL */
    size_t n_underline;
    int context; /* > 0: skip lines farther than this from an underline */
} ml_PrintOpts;

/* opts NULL: defaults. No final newline. cx is for scratch. */
void ml_print_module(ml_Ctx *cx, ml_Text *out, const ml_Module *m,
                     const ml_PrintOpts *opts);
/* For a trace that follows: blocks have the names by which it may look them up. */
void ml_print_start(ml_Ctx *cx, ml_Text *out, const ml_Module *m);
void ml_print_func(ml_Ctx *cx, ml_Text *out, const ml_Func *f, const ml_PrintOpts *opts);
void ml_print_stmt(ml_Ctx *cx, ml_Text *out, const ml_Stmt *s, const ml_PrintOpts *opts);
/* One expression, without declarations of its free names. */
void ml_print_expr(ml_Ctx *cx, ml_Text *out, const ml_Expr *e, const ml_PrintOpts *opts);
void ml_print_value(ml_Ctx *cx, ml_Text *out, const ml_Value *v, const ml_PrintOpts *opts);
void ml_print_region(ml_Ctx *cx, ml_Text *out, const ml_Region *r,
                     const ml_PrintOpts *opts);
/* The name a hint becomes before uniqueness: letters of any script stay, what can stand in
 * no name is a _. Source: script 12.5. */
const char *ml_name_sanitize(ml_Ctx *cx, const char *hint, bool is_buffer);
/* The name as which a function is printed. It is looked for by it, so letters beyond ASCII,
 * which the text reads in names, stay. */
const char *ml_name_of_func(ml_Ctx *cx, const char *name);
bool ml_name_is_reserved(const char *name);
/* Names for the parameters of an index map, out[0..n): the hints where each of them can
 * stand in a lambda of the text, of Python and of moonloop's Lua beside the others, else
 * the like of it. Names that come of it stay as they are. out may be hints. */
void ml_lambda_names(ml_Ctx *cx, const char *const *hints, size_t n, const char **out);

#endif

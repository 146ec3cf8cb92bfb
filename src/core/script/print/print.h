/*
 * print - the inside of the printer: names in scope, what a variable is called, output.
 *
 * Two passes walk a program in the same order. The first (scan.c) numbers the scopes of
 * the text, counts uses and finds out what has to be declared where; the second writes.
 * Both open scopes at the same places, so that a scope has one number in both.
 * Source: script 12.
 */
#ifndef ML_CORE_SCRIPT_PRINT_H
#define ML_CORE_SCRIPT_PRINT_H

#include "moonloop/core/script/infer.h"
#include "moonloop/core/script/script.h"

/* ---- names (names.c) */
typedef struct ml_NameSlot ml_NameSlot;
struct ml_NameSlot {
    const char *text;
    uint32_t len, hash;
    uint32_t n_uses;   /* definitions in force; > 0: not free */
    uint32_t next;     /* all of text_1 .. text_(next-1) were found taken */
    ml_NameSlot *base; /* of text_k: the slot of text; NULL otherwise */
    uint32_t suffix;
};
typedef struct ml_NameTable {
    ml_Ctx *cx;
    ml_NameSlot **slots;
    size_t n, cap;
} ml_NameTable;
void ml_names_init(ml_NameTable *t, ml_Ctx *cx);
/* Takes the first free of hint, hint_1, hint_2, ... */
ml_NameSlot *ml_names_take(ml_NameTable *t, const char *hint, bool is_buffer);
/* Takes exactly this name, free or not. */
ml_NameSlot *ml_names_take_as_is(ml_NameTable *t, const char *name);
void ml_names_release(ml_NameSlot *s);

/* ---- what is known of a variable or buffer */
typedef enum ml_How { /* how a variable is written */
                      ML_HOW_NAME,
                      ML_HOW_DATA,   /* A.data */
                      ML_HOW_STRIDE, /* A.strides[k] */
                      ML_HOW_OFFSET, /* A.elem_offset */
} ml_How;

typedef struct ml_NameInfo {
    const char *name;  /* in scope now; NULL: not */
    const char *fixed; /* display name of the caller, or NULL */
    ml_NameSlot *fixed_slot;
    uint8_t how;     /* an ml_How */
    bool env;        /* a thread variable that needs T.env_thread */
    bool cell;       /* a scalar cell that prints as a variable */
    uint16_t k;      /* of a stride */
    uint32_t active; /* first pass: definitions in force */
    uint32_t n_uses;
    uint32_t n_launches;
    int32_t free_scope; /* innermost scope around all uses without a definition; -1: none */
    int32_t launch_scope; /* the same of its launches */
    const char *tag;      /* of a thread variable */
    const ml_For *loop;   /* the loop around, while it is printed */
    const ml_Buffer *owner;
    const ml_Var *var; /* one of these two */
    const ml_Buffer *buffer;
} ml_NameInfo;

typedef ML_VEC(ml_NameInfo *) ml_InfoVec;

typedef struct ml_PrintScope {
    int32_t parent;
    uint32_t depth;
    ml_InfoVec pending; /* variables to be declared at its start */
} ml_PrintScope;

typedef struct ml_ScopeUndo {
    ml_NameInfo *info;
    ml_NameSlot *slot;
    const char *before;
} ml_ScopeUndo;

typedef struct ml_Printer {
    ml_Ctx *cx;
    ml_Text *out;
    const ml_PrintOpts *o;
    ml_CtxMarks before; /* of cx; expressions made for the text leave none */
    const char *prefix;
    int indent;
    bool newest, no_sugar;
    bool newest_header;  /* the line of the import says tirx */
    const ml_Func *func; /* NULL in fragments */
    bool elide_root;     /* its root block is a comment */

    bool started;      /* something was written */
    size_t begin;      /* where in *out this text begins */
    size_t line_start; /* where in *out the line begins */
    uint32_t line;
    int level;
    const ml_Expr *whole; /* of a store: its value, which may be a slice */
    const ml_Module *mod; /* being printed; NULL: a function or fragment */
    const ml_Stmt *stmt;  /* being printed, for marks */
    uint32_t n_around;    /* blocks around, an elided root included */
    /* regions_auto: what reading would infer is asked of a copy of the function, in a
     * context of its own: the printed one need not belong to cx. NULL: not asked. */
    ml_Arith *ar;
    const ml_Map *pointers;
    ml_Map *copies; /* block tag -> the block of the copy */

    ml_Map *infos;    /* uid -> ml_NameInfo * */
    ml_InfoVec order; /* the same, in order of first occurrence */
    ml_NameTable names;
    ML_VEC(ml_ScopeUndo) undo;
    ML_VEC(ml_PrintScope) scopes;
    int32_t scope;      /* the current one */
    int32_t next_scope; /* second pass: number of the next one to be opened */
    ml_InfoVec free_buffers;
    ML_VEC(ml_NameInfo *) trail; /* first pass: definitions in force, innermost last */
    ML_VEC(uint32_t) underlines; /* numbers of the lines of ^ */
} ml_Printer;

/* ---- print_scan.c: the first pass */
ml_NameInfo *ml_pr_var(ml_Printer *p, const ml_Var *v);
ml_NameInfo *ml_pr_buffer(ml_Printer *p, const ml_Buffer *b);
void ml_pr_scan_func(ml_Printer *p, const ml_Func *f);
void ml_pr_scan_stmt(ml_Printer *p, const ml_Stmt *s);
/* The root block of script 12.2 that prints as a comment. */
bool ml_pr_is_plain_root(const ml_Stmt *s);
/* A scalar cell that the newest spelling writes as a variable. */
bool ml_pr_is_cell(ml_Printer *p, const ml_Buffer *b);
/* Whether the attribute is written with T.launch_thread. */
bool ml_pr_is_launch(const ml_Attr *a);
/* Positions of variables that a parameter's buffer or match target may define: calls fn for
 * every variable inside shape, strides and offset, in this order. */
void ml_pr_buffer_vars(const ml_Buffer *b, void (*fn)(const ml_Var *v, void *user),
                       void *user);

/* ---- output */
void ml_pr_begin(ml_Printer *p, ml_Ctx *cx, ml_Text *out, const ml_PrintOpts *opts);
void ml_pr_line(ml_Printer *p);  /* starts a line with its indentation */
void ml_pr_blank(ml_Printer *p); /* an empty line follows what stands there */
static inline void ml_pr_z(ml_Printer *p, const char *z)
{
    ml_text_add(p->out, z);
}
/* "T." and the name. */
void ml_pr_t(ml_Printer *p, const char *name);
uint32_t ml_pr_col(const ml_Printer *p); /* 1-based, of what comes next */
ml_TextMark *ml_pr_mark(ml_Printer *p, ml_MarkKind kind, ml_Uid uid, uint32_t col);

/* ---- names in the second pass */
size_t ml_pr_scope_mark(const ml_Printer *p);
void ml_pr_scope_end(ml_Printer *p, size_t mark);
const char *ml_pr_define_var(ml_Printer *p, const ml_Var *v);
const char *ml_pr_define_buffer(ml_Printer *p, const ml_Buffer *b);
void ml_pr_new_buffer(ml_Printer *p, const ml_Buffer *b); /* written and marked, too */
/* How a variable or buffer in scope is written; one that is not gets a name now. */
void ml_pr_var_name(ml_Printer *p, const ml_Var *v);
const char *ml_pr_buffer_name(ml_Printer *p, const ml_Buffer *b);
/* The buffer itself where one is required: x.buffer for a cell. */
void ml_pr_buffer_ref(ml_Printer *p, const ml_Buffer *b);

/* ---- print_expr.c, print_call.c, print_value.c, print_buffer.c */
enum { /* precedence, low to high; a value is "at least this tight" */
       ML_PREC_TEST,
       ML_PREC_OR,
       ML_PREC_AND,
       ML_PREC_NOT,
       ML_PREC_CMP,
       ML_PREC_SUM,
       ML_PREC_TERM,
       ML_PREC_UNARY,
       ML_PREC_ATOM,
};
void ml_pr_expr(ml_Printer *p, const ml_Expr *e, int prec);
void ml_pr_call(ml_Printer *p, const ml_Expr *e);
void ml_pr_args(ml_Printer *p, const ml_Expr *const *args, size_t n); /* a, b, c */
void ml_pr_tuple(ml_Printer *p, const ml_Expr *const *args,
                 size_t n); /* (a, b), (a,), () */
void ml_pr_string(ml_Printer *p, const char *z, size_t n);
void ml_pr_dtype(ml_Printer *p, ml_Dtype t); /* "float32" in quotes */
/* The end of [min, min + extent), so that reading it gives this very extent. */
void ml_pr_stop(ml_Printer *p, const ml_Expr *min, const ml_Expr *extent);
/* With brackets; slices: a vector index is written as one where it can be. */
void ml_pr_indices(ml_Printer *p, const ml_Expr *const *idx, size_t n, bool slices);
void ml_pr_region(ml_Printer *p, const ml_Region *r);
bool ml_pr_is_zero(const ml_Expr *e); /* the literal 0, int or float */
/* T.int32, T.handle("float32", "shared"): the type of a variable. call: with parentheses.
 */
void ml_pr_type(ml_Printer *p, const ml_Var *v, bool call);
void ml_pr_value(ml_Printer *p, const ml_Value *v);
/* A dict of attributes or annotations: keys beginning tir. follow the spelling. */
void ml_pr_attrs(ml_Printer *p, const ml_Value *dict, const char *without);
void ml_pr_key(ml_Printer *p, const char *key);

enum {                      /* of ml_pr_buffer_args */
       ML_BUF_DTYPE = 1,    /* the dtype always */
       ML_BUF_DEFINES = 2,  /* defines its own stride and offset variables */
       ML_BUF_QUOTE = 4,    /* quotes dimensions with variables that have no name yet */
       ML_BUF_NO_SCOPE = 8, /* the scope is said by the function's name */
};
/* (shape), "dtype", k=v ... without parentheses around. */
void ml_pr_buffer_args(ml_Printer *p, const ml_Buffer *b, unsigned flags,
                       const ml_Expr *data);
/* Declares the variables of b that have no name: "n, m = T.int32(), T.int32()". */
void ml_pr_declare_dims(ml_Printer *p, const ml_Buffer *b);
void ml_pr_declare(ml_Printer *p, ml_NameInfo *const *infos, size_t n);

/* ---- print_stmt.c, print_block.c */
void ml_pr_list(ml_Printer *p,
                const ml_Stmt *s); /* the statements of a body, in this scope */
void ml_pr_body(ml_Printer *p, const ml_Stmt *s); /* indented, in a scope of its own */
void ml_pr_block(ml_Printer *p, const ml_Block *b);
void ml_pr_elided_root(ml_Printer *p, const ml_Block *b);
int32_t ml_pr_open(ml_Printer *p); /* the next scope; declares what it has to */
void ml_pr_close(ml_Printer *p, int32_t before, size_t mark);
void ml_pr_pending(ml_Printer *p, int32_t scope);
/* Around the first line of a statement: labels and underlines. */
void ml_pr_label_above(ml_Printer *p, const ml_Stmt *s);
void ml_pr_underline(ml_Printer *p, const ml_Stmt *s, uint32_t col, uint32_t len,
                     bool simple);
/* Fills in the end of the marks added since there were n, where it was still open. */
void ml_pr_end_mark(ml_Printer *p, size_t k);
size_t ml_pr_n_marks(const ml_Printer *p);
/* Context of underlines: replaces distant lines. */
void ml_pr_fold(ml_Printer *p);

#endif

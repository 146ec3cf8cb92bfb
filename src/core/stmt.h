/*
 * stmt - immutable statement trees, buffers, blocks, functions, modules.
 *
 * A rewrite builds the nodes on the path from the change to the root and shares the rest:
 * pointer equality means "unchanged". A loop is known by its variable's uid, a block by its
 * tag (both ml_Uid): copies on a rewritten path keep them; whoever duplicates a statement
 * gives the copy fresh ones (copy.h). One node is TensorIR's block and block-realize in
 * one. Source: ir-and-analysis 1.3 to 1.7, DESIGN section 3.
 */
#ifndef ML_CORE_STMT_H
#define ML_CORE_STMT_H

#include "moonloop/core/base/thread.h"
#include "moonloop/core/expr.h"

/* A place in source text; belongs to the statement that was read there. Lines and columns
 * are 1-based, columns count code points; the end is exclusive. */
typedef struct ml_ExprSpans ml_ExprSpans; /* spans.h */
typedef struct ml_Span {
    const char *file; /* or "<text>" */
    uint32_t line, col, end_line, end_col;
    const ml_ExprSpans *exprs; /* of a statement's expressions; NULL: not known */
} ml_Span;

/* ---- buffers */
struct ml_Buffer {
    ml_Uid uid;
    ml_Dtype type; /* of an element; may be a vector */
    uint16_t rank;
    uint16_t n_strides; /* 0 (compact, row-major) or rank */
    uint16_t n_separators;
    bool auto_broadcast;    /* buffer_type "auto" */
    bool is_scalar;         /* a scalar cell of the newest spelling (mutable local) */
    bool says_offset;       /* the text gives the offset 0; for printing, not compared */
    uint32_t align;         /* bytes, > 0 */
    uint32_t offset_factor; /* >= 1 */
    const char *name;       /* hint */
    ml_Scope scope;         /* of storage, global by default */
    const ml_Var *data;     /* the data pointer */
    const ml_Expr *const *shape;
    const ml_Expr *const *strides;
    const ml_Expr *elem_offset; /* in elements; never NULL */
    const int32_t *separators;
    const ml_Span *span;
};

/* A compact row-major buffer of its own, with a fresh data pointer. */
const ml_Buffer *ml_buffer_new(ml_Ctx *cx, const char *name, ml_Dtype type,
                               const ml_Expr *const *shape, size_t rank, const char *scope);
/* `like` with the fields that the caller changed in the copy: it gets a uid of its own.
 *   ml_Buffer b = *like; b.scope = ml_scope("shared"); ml_buffer_from(cx, &b, true)
 * fresh also gives it a fresh data pointer of the right element type and scope. Arrays and
 * texts are kept, not copied. */
const ml_Buffer *ml_buffer_from(ml_Ctx *cx, const ml_Buffer *fields, bool fresh);
ml_Dtype ml_buffer_index_dtype(const ml_Buffer *b); /* of shape[0]; int32 for rank 0 */
/* Number of elements when every extent is a literal; -1 otherwise (or on overflow). */
int64_t ml_buffer_const_size(const ml_Buffer *b);

typedef struct ml_Range {
    const ml_Expr *min, *extent;
} ml_Range;

typedef struct ml_Region {
    const ml_Buffer *buffer;
    const ml_Range *ranges; /* buffer->rank of them */
} ml_Region;

/* ---- statements */
typedef enum ml_StmtKind {
#define ML_STMT(NAME, type, shape, word) ML_STMT_##NAME,
#include "moonloop/core/stmt.def"
    ML_STMT_KINDS
} ml_StmtKind;

typedef struct ml_Stmt ml_Stmt;
struct ml_Stmt {
    uint8_t kind;        /* an ml_StmtKind */
    bool has_block;      /* a BLOCK at or below (init included) */
    bool has_loop;       /* a FOR at or below */
    bool has_view;       /* a BLOCK with views at or below (init included) */
    uint16_t depth;      /* nesting of statements below, 1 for a leaf */
    uint32_t n_blocks;   /* blocks at or below, not counting those below an init */
    const ml_Span *span; /* where it came from; NULL when made by a program */
};

/* How many statements stand directly in one. */
typedef enum ml_StmtShape {
    ML_SHAPE_LEAF,   /* none */
    ML_SHAPE_LIST,   /* SEQ */
    ML_SHAPE_BODY,   /* one body: FOR, WHILE, ATTR */
    ML_SHAPE_BRANCH, /* IF */
    ML_SHAPE_BLOCK,  /* a body and perhaps an init */
} ml_StmtShape;

static inline ml_StmtShape ml_stmt_shape(const ml_Stmt *s)
{
    static const uint8_t shapes[ML_STMT_KINDS] = {
#define ML_STMT(NAME, type, shape, word) [ML_STMT_##NAME] = ML_SHAPE_##shape,
#include "moonloop/core/stmt.def"
    };

    return (ml_StmtShape)shapes[s->kind];
}
const char *ml_stmt_word(ml_StmtKind k); /* "store", "for", ... */

typedef enum ml_ForKind {
    ML_FOR_SERIAL,
    ML_FOR_PARALLEL,
    ML_FOR_VECTORIZED,
    ML_FOR_UNROLLED,
    ML_FOR_THREAD, /* thread_binding: `thread` is the tag */
    ML_FOR_KINDS
} ml_ForKind;

typedef struct ml_Store {
    ml_Stmt base;
    const ml_Buffer *buffer;
    const ml_Expr *value;
    const ml_Expr *mask; /* or NULL */
    uint32_t n;          /* indices = rank */
    const ml_Expr *const *indices;
} ml_Store;

typedef struct ml_Seq {
    ml_Stmt base;
    uint32_t n; /* >= 2; no child is a SEQ */
    const ml_Stmt *const *stmts;
} ml_Seq;

typedef struct ml_For {
    ml_Stmt base;
    uint8_t kind; /* an ml_ForKind */
    const ml_Var *var;
    const ml_Expr *min, *extent; /* of var's dtype */
    const ml_Expr *step;         /* NULL: 1 */
    ml_Thread thread;            /* exactly when kind is ML_FOR_THREAD */
    const ml_Var *thread_var;    /* the axis variable, or NULL */
    const ml_Value *annotations; /* dict or NULL */
    const ml_Stmt *body;
} ml_For;

typedef struct ml_While {
    ml_Stmt base;
    const ml_Expr *cond;
    const ml_Stmt *body;
} ml_While;

typedef struct ml_If {
    ml_Stmt base;
    const ml_Expr *cond;
    const ml_Stmt *then;
    const ml_Stmt *other; /* or NULL */
} ml_If;

typedef struct ml_Bind {
    ml_Stmt base;
    const ml_Var *var;
    const ml_Expr *value;
} ml_Bind;

typedef struct ml_Evaluate {
    ml_Stmt base;
    const ml_Expr *value;
} ml_Evaluate;

typedef struct ml_Alloc { /* also DECL */
    ml_Stmt base;
    const ml_Buffer *buffer;
    const ml_Expr *data;         /* DECL: the pointer expression; ALLOC: NULL */
    const ml_Value *annotations; /* ALLOC; dict or NULL */
} ml_Alloc;

typedef struct ml_Attr {
    ml_Stmt base;
    const ml_Value *node; /* buffer, var, int 0, string, ... */
    const char *key;
    const ml_Value *value;
    const ml_Stmt *body;
    /* thread_extent, virtual_thread: node is the variable, value the extent expression */
    ml_Thread thread; /* where its tag is known */
} ml_Attr;

typedef struct ml_Assert {
    ml_Stmt base;
    const ml_Expr *cond;
    const char *error; /* "RuntimeError" by default */
    uint32_t n_parts;
    const char *const *parts;
} ml_Assert;

typedef struct ml_Return {
    ml_Stmt base;
    const ml_Expr *value; /* or NULL */
} ml_Return;

typedef enum ml_IterKind {
    ML_ITER_SPATIAL,
    ML_ITER_REDUCE,
    ML_ITER_ORDERED, /* scan */
    ML_ITER_OPAQUE,
    ML_ITER_KINDS
} ml_IterKind;

typedef struct ml_Iter {
    const ml_Var *var;
    const ml_Expr *min, *extent; /* domain [min, min + extent) */
    const ml_Expr *value;        /* the binding */
    uint8_t kind;                /* an ml_IterKind */
    uint8_t said_bits; /* of a literal binding in the text, 0: those of var; not compared */
    const ml_Span *span;
} ml_Iter;

typedef struct ml_Match { /* match_buffer: target is a view of the source region */
    const ml_Buffer *target;
    ml_Region source;
} ml_Match;

typedef struct ml_Block {
    ml_Stmt base;
    ml_Uid tag;
    const char *name;         /* stored name; not unique; "" allowed */
    const ml_Expr *predicate; /* bool; never NULL */
    uint32_t n_iters, n_reads, n_writes, n_allocs, n_matches;
    const ml_Iter *iters;
    const ml_Region *reads, *writes;
    const ml_Buffer *const *allocs;
    const ml_Match *matches;
    const ml_Value *annotations; /* dict or NULL */
    const ml_Stmt *init;         /* or NULL */
    const ml_Stmt *body;
} ml_Block;

/* The first of the n regions that is one of the buffer, or NULL; and what the block says that
 * it reads or writes of the buffer. Views of the buffer are buffers of their own. */
static inline const ml_Region *ml_region_of(const ml_Region *v, size_t n,
                                            const ml_Buffer *b)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer->uid == b->uid)
            return &v[k];
    return NULL;
}
static inline const ml_Region *ml_read_of(const ml_Block *block, const ml_Buffer *b)
{
    return ml_region_of(block->reads, block->n_reads, b);
}
static inline const ml_Region *ml_write_of(const ml_Block *block, const ml_Buffer *b)
{
    return ml_region_of(block->writes, block->n_writes, b);
}

/* Checked downcasts: ml_as_for(s) and so on. */
#define ML_DOWNCAST(name, type, KIND, OR_KIND)                                             \
    static inline const type *ml_as_##name(const ml_Stmt *s)                               \
    {                                                                                      \
        ML_ASSERT(s->kind == ML_STMT_##KIND || s->kind == ML_STMT_##OR_KIND);              \
        return (const type *)(const void *)s;                                              \
    }
ML_DOWNCAST(store, ml_Store, STORE, STORE)
ML_DOWNCAST(seq, ml_Seq, SEQ, SEQ)
ML_DOWNCAST(for, ml_For, FOR, FOR)
ML_DOWNCAST(while, ml_While, WHILE, WHILE)
ML_DOWNCAST(if, ml_If, IF, IF)
ML_DOWNCAST(bind, ml_Bind, BIND, BIND)
ML_DOWNCAST(evaluate, ml_Evaluate, EVALUATE, EVALUATE)
ML_DOWNCAST(alloc, ml_Alloc, ALLOC, DECL)
ML_DOWNCAST(attr, ml_Attr, ATTR, ATTR)
ML_DOWNCAST(assert, ml_Assert, ASSERT, ASSERT)
ML_DOWNCAST(return, ml_Return, RETURN, RETURN)
ML_DOWNCAST(block, ml_Block, BLOCK, BLOCK)
#undef ML_DOWNCAST

/* Room for a node of any kind. */
typedef union ml_AnyStmt {
    ml_Stmt base;
#define ML_STMT(NAME, type, shape, word) type NAME;
#include "moonloop/core/stmt.def"
} ml_AnyStmt;

/* The body of a statement of the shapes BODY and BLOCK; NULL for others. */
const ml_Stmt *ml_stmt_body(const ml_Stmt *s);

/* Constructors. The struct forms (ml_..._from) copy *fields into the arena, fill in `base`
 * (kind and summaries; base.span is taken from the fields) and keep every array and string
 * that the fields point to: those must live in cx, in an ancestor, or be static. The forms
 * that take a list as (pointer, count), which are ml_store, ml_seq and its relatives,
 * ml_buffer_new and ml_module_new, copy the list, so that it may be on the stack. The usual
 * way to change a node:  ml_For f = *loop; f.body = body; return ml_for_from(cx, &f);
 * Nesting past 500 levels (lists do not count) marks the context (too-deep). */
/* Any kind, as base.kind says; *fields is the base of the whole node of that kind. */
const ml_Stmt *ml_stmt_from(ml_Ctx *cx, const ml_Stmt *fields);
const ml_Stmt *ml_for_from(ml_Ctx *cx, const ml_For *fields);
const ml_Stmt *ml_block_from(ml_Ctx *cx, const ml_Block *fields);
const ml_Stmt *ml_attr_from(ml_Ctx *cx, const ml_Attr *fields);
const ml_Stmt *ml_assert_from(ml_Ctx *cx, const ml_Assert *fields);
const ml_Stmt *ml_serial(ml_Ctx *cx, const ml_Var *var, const ml_Expr *min,
                         const ml_Expr *extent, const ml_Stmt *body);
const ml_Stmt *ml_store(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *value,
                        const ml_Expr *const *idx, size_t n, const ml_Expr *mask);
/* Flattens nested SEQs, drops evaluate(0) while anything else remains; no statements give
 * evaluate(0), one gives itself. */
const ml_Stmt *ml_seq(ml_Ctx *cx, const ml_Stmt *const *stmts, size_t n);
const ml_Stmt *ml_seq_at(ml_Ctx *cx, const ml_Stmt *const *stmts, size_t n,
                         const ml_Span *span); /* a SEQ made here has this span */
/* The list with its statement at pos replaced; a SEQ is spliced in, NULL removes. */
const ml_Stmt *ml_seq_with(ml_Ctx *cx, const ml_Seq *seq, size_t pos, const ml_Stmt *child);
const ml_Stmt *ml_if(ml_Ctx *cx, const ml_Expr *cond, const ml_Stmt *then,
                     const ml_Stmt *other);
const ml_Stmt *ml_while(ml_Ctx *cx, const ml_Expr *cond, const ml_Stmt *body);
/* Whether has_block, has_loop, has_view, depth and n_blocks are what the children give. */
bool ml_stmt_summary_holds(const ml_Stmt *s);
const ml_Stmt *ml_bind(ml_Ctx *cx, const ml_Var *v, const ml_Expr *value);
const ml_Stmt *ml_evaluate(ml_Ctx *cx, const ml_Expr *value);
const ml_Stmt *ml_alloc_stmt(ml_Ctx *cx, const ml_Buffer *b, const ml_Value *annotations);
const ml_Stmt *ml_decl_stmt(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *data);
const ml_Stmt *ml_return(ml_Ctx *cx, const ml_Expr *value);
const ml_Stmt *ml_break(ml_Ctx *cx);
const ml_Stmt *ml_continue(ml_Ctx *cx);
/* Such a statement with another body. */
const ml_Stmt *ml_stmt_with_body(ml_Ctx *cx, const ml_Stmt *s, const ml_Stmt *body);
/* The same statement with another span (a copy). */
const ml_Stmt *ml_stmt_at(ml_Ctx *cx, const ml_Stmt *s, const ml_Span *span);
bool ml_is_noop(const ml_Stmt *s); /* evaluate of a literal */

/* Uid of a loop (its variable's) or block (its tag); 0 for other statements. */
ml_Uid ml_stmt_uid(const ml_Stmt *s);
/* Whether it is a thread_extent or virtual_thread attribute: a loop of a GPU program. */
bool ml_attr_is_launch(const ml_Attr *a);
/* The thread variable that a thread_extent or virtual_thread attribute defines, or NULL. */
const ml_Var *ml_attr_defines(const ml_Attr *a);
const char *ml_for_kind_name(ml_ForKind k);   /* "serial", "parallel", "vectorized", ... */
const char *ml_iter_kind_name(ml_IterKind k); /* "spatial", "reduce", "scan", "opaque" */

/* ---- functions and modules */
typedef struct ml_FuncParam {
    const ml_Var *var;
    const ml_Buffer *buffer; /* matched to it, or NULL */
} ml_FuncParam;

typedef enum ml_Spelling { ML_CLASSIC, ML_NEWEST } ml_Spelling;

typedef struct ml_Func {
    const char *name; /* the key in its module */
    uint32_t n_params;
    const ml_FuncParam *params;
    const ml_Stmt *body;   /* a root block when it contains blocks */
    const ml_Value *attrs; /* dict; global_symbol when not private; or NULL */
    ml_Dtype ret;          /* ML_DT_VOID: none */
    ml_Spelling spelling;  /* preferred for printing; not compared */
    bool no_s_tir;         /* newest, read without s_tir=True; not compared */
    const ml_Span *span;
} ml_Func;

typedef struct ml_Module {
    uint32_t n;
    const ml_Func *const *funcs;
    const ml_Value *attrs; /* dict or NULL */
} ml_Module;

const ml_Func *ml_func_from(ml_Ctx *cx, const ml_Func *fields);
const ml_Func *ml_func_with_body(ml_Ctx *cx, const ml_Func *f, const ml_Stmt *body);
const ml_Module *ml_module_new(ml_Ctx *cx, const ml_Func *const *funcs, size_t n,
                               const ml_Value *attrs);
const ml_Func *ml_module_find(const ml_Module *m, const char *name); /* NULL: none */
const ml_Module *ml_module_with(ml_Ctx *cx, const ml_Module *m, const ml_Func *f);
/* Whether its buffers share no memory: so, unless the attribute tir.noalias is false. */
bool ml_func_noalias(const ml_Func *f);
/* The root block of a function with blocks, or NULL (the body is no block without iters).
 */
const ml_Block *ml_func_root(const ml_Func *f);

#endif

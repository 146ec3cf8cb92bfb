/*
 * eval - evaluating a syntax tree: compile-time values in, IR out. Internal to the reader.
 *
 * Every expression gives an ml_Cv. A failed one gives a poison value, which silences what
 * follows from it. Names are resolved through the symbols themselves: each points to its
 * innermost definition, and a scope that ends puts back the outer ones. Source: script
 * 4-10.
 */
#ifndef ML_CORE_SCRIPT_EVAL_H
#define ML_CORE_SCRIPT_EVAL_H

#include "moonloop/core/arith/arith.h"
#include "moonloop/core/script/syntax/ast.h"
#include "moonloop/core/spans.h"

typedef enum ml_CvKind {
    ML_CV_POISON,  /* an error that has been reported */
    ML_CV_SKIPPED, /* skipped: of a name alone; its use is an error */
    ML_CV_NONE,
    ML_CV_BOOL,   /* i */
    ML_CV_INT,    /* i; big: the bits of a uint64 above INT64_MAX */
    ML_CV_FLOAT,  /* f */
    ML_CV_STRING, /* s */
    ML_CV_TUPLE,  /* list, n */
    ML_CV_LIST,
    ML_CV_DICT,   /* list: key, value, ...; n: both */
    ML_CV_SLICE,  /* list[3], absent parts are NONE */
    ML_CV_DTYPE,  /* dt; elem, scope of a handle */
    ML_CV_FRESH,  /* a variable that waits for its name: dt, elem, scope, hint s, big: size
                   */
    ML_CV_EXPR,   /* e */
    ML_CV_BUFFER, /* b */
    ML_CV_CELL,   /* b: a scalar cell, read as b[0] */
    ML_CV_SPEC,   /* spec: T.Buffer(...) not yet given a name */
    ML_CV_LOOP,   /* loop: a loop header */
    ML_CV_BLOCK,  /* s: T.block(name); self: axes in the header (archaic), or NULL */
    ML_CV_INIT,   /* T.init() */
    ML_CV_SCOPE, /* done by the call; only a `with` may hold it. list[0]: the value of as */
    ML_CV_DONE,  /* a statement that has been done; no value */
    ML_CV_LET,   /* T.let, T.let[t]: dt, big: with a type */
    ML_CV_ARRAY, /* T.float32[4]: dt, list: shape */
    ML_CV_META,  /* list[0]: T.meta_var(v) */
    ML_CV_CALLEE,  /* fn: a function of the module */
    ML_CV_LAMBDA,  /* node; self: a MACRO, the names where it stands */
    ML_CV_REDUCER, /* reducer */
    ML_CV_MAP,     /* map */
    ML_CV_RANGE,   /* list[2]: T.Range(lo, hi) */
    ML_CV_VALUE,   /* val: a target and the like */
    ML_CV_NS,      /* i: an ml_Namespace; dt.code: flavour */
    ML_CV_FN,      /* builtin */
    ML_CV_PYFN,    /* i: a Python builtin */
    ML_CV_METHOD,  /* s: name; list[0]: the object */
    ML_CV_MACRO,   /* macro */
    ML_CV_HOST,    /* host: a function of the caller */
} ml_CvKind;

typedef enum ml_Namespace {
    ML_NS_T, /* tir, tirx */
    ML_NS_I, /* tvm.script.ir */
    ML_NS_TVM,
    ML_NS_SCRIPT, /* tvm.script */
    ML_NS_AXIS,   /* T.axis */
    ML_NS_LOW,    /* T.ptx, T.cuda ...; scope: "ptx." */
    ML_NS_SELF,   /* Module, cls */
    ML_NS_R,      /* relax: refused */
    ML_NS_OTHER,  /* imported, unknown */
} ml_Namespace;

typedef struct ml_Cv ml_Cv;
typedef struct ml_Eval ml_Eval;
typedef struct ml_Args ml_Args;
typedef struct ml_Macro ml_Macro;
typedef struct ml_Builtin {
    const char *name;
    ml_Cv (*run)(ml_Eval *ev, ml_Args *a);
    int arg;   /* of the handler's choice */
    bool lazy; /* the handler evaluates positional arguments itself */
} ml_Builtin;

typedef struct ml_LoopHeader {
    uint8_t kind;
    ml_Thread thread;
    uint32_t n;
    const ml_Expr **min, **extent;
    const ml_Place *part; /* of a grid: where each of them stands; NULL otherwise */
    const ml_Expr *step;
    const ml_Value *annotations;
} ml_LoopHeader;

typedef struct ml_Spec { /* the fields of a buffer before it has a name */
    ml_Buffer b;
    const ml_Expr *data;
    const char **stride_names; /* per stride: a variable to make, or NULL */
    bool has_dtype, has_shape, has_offset, has_factor, has_strides, has_scope, has_align,
        is_auto;
    const ml_Value *annotations;
    ml_Args *args; /* what it is read from */
    ml_Place at;
} ml_Spec;

typedef struct ml_Skipped { /* a statement that was passed over */
    ml_Place at;
    const char *why;
    uint32_t told; /* the function in which a use was reported last */
} ml_Skipped;

typedef struct ml_Callee {
    const char *name;
    ml_Dtype ret;
    ml_Place at;
} ml_Callee;

struct ml_Cv {
    uint8_t kind;
    bool big;
    uint8_t axis; /* RANGE in an archaic header: the kind of its axis + 1 */
    ml_Dtype dt, elem;
    uint32_t n;
    union {
        int64_t i;
        double f;
        ml_Str s;
        const ml_Cv *list;
        const ml_Expr *e;
        const ml_Buffer *b;
        ml_Spec *spec;
        const ml_LoopHeader *loop;
        const ml_Callee *fn;
        const ml_Node *node;
        const ml_Reducer *reducer;
        const ml_IndexMap *map;
        const ml_Value *val;
        const ml_Builtin *builtin;
        ml_Macro *macro;
        const ml_ParseValue *host;
        ml_Skipped *skipped;
    } as;
    const ml_Cv *self; /* METHOD, BLOCK */
    const char *scope; /* handles */
};

struct ml_Binding {
    ml_Sym *sym;
    ml_Binding *prev; /* what the symbol meant outside */
    ml_Cv val;
    ml_Place at;
    uint32_t scope, func;
    bool hidden;           /* from the macro that is being read */
    bool loop;             /* a loop variable; val is EXPR (or a TUPLE of them) */
    struct ml_BlockB *blk; /* innermost block when it was defined */
};

/* A loop in force: remap reads its range. */
typedef struct ml_LoopInfo {
    const ml_Var *var;
    const ml_Expr *min, *extent;
} ml_LoopInfo;

typedef enum ml_FrameKind {
    ML_FRAME_FUNC,
    ML_FRAME_FOR,
    ML_FRAME_WHILE,
    ML_FRAME_IF,
    ML_FRAME_BLOCK,
    ML_FRAME_INIT,
    ML_FRAME_WITH,
} ml_FrameKind;

typedef struct ml_Item {
    const ml_Stmt *s;
    const ml_Attr *wrap; /* an attribute that encloses the rest of the list */
} ml_Item;

typedef struct ml_Frame {
    struct ml_Frame *up;
    uint8_t kind;
    ml_Place at; /* header */
    struct ml_BlockB *blk;
    ML_VEC(ml_Item) items;
    size_t n_wraps;
} ml_Frame;

typedef struct ml_Use { /* of a loop variable inside a block */
    ml_Binding *binding;
    ml_Place at;
} ml_Use;

typedef struct ml_BlockB {
    struct ml_BlockB *up;
    ml_Place at;
    const char *name;
    ML_VEC(ml_Iter) iters;
    const ml_Expr *predicate;
    ml_Place where_at, reads_at, writes_at, init_at; /* line 0: not given */
    ML_VEC(ml_Region) reads;
    ML_VEC(ml_Region) writes;
    ML_VEC(const ml_Buffer *) allocs;
    ML_VEC(ml_Match) matches;
    const ml_Value *annotations;
    const ml_Stmt *init;
    bool header; /* its axes stand in the header (archaic) */
    ML_VEC(ml_Use) uses;
} ml_BlockB;

/* What completion and checking must know of a block beyond the node; keyed by its tag. */
typedef struct ml_BlockNote {
    bool no_reads, no_writes;
    ml_Place at;
} ml_BlockNote;

typedef struct ml_FuncB { /* the function at hand */
    const ml_Node *node;
    bool newest, private_, check;
    ml_Dtype ret;
    ML_VEC(ml_FuncParam) params;
    ML_VEC(ml_Place) param_at;
    ML_VEC(const ml_Buffer *) allocs;   /* function-level block-owned allocations */
    ML_VEC(const ml_Buffer *) pointers; /* made by T.allocate */
    ML_VEC(const ml_Var *) threads;     /* T.env_thread: variables and their tags */
    ML_VEC(ml_Thread) thread_tags;
    ML_VEC(const ml_Value *) thread_extents;
    ML_VEC(const char *) attr_keys;
    ML_VEC(const ml_Value *) attr_values;
    ml_Map *notes;   /* block tag -> ml_BlockNote */
    ml_Map *places;  /* variable uid -> ml_Place where it was defined */
    ml_Map *matched; /* handle parameter uid -> const ml_Buffer * */
    uint32_t id;
} ml_FuncB;

struct ml_Eval {
    ml_Ctx *cx; /* of the IR */
    ml_Ctx *sc; /* of the trees */
    ml_Report *rep;
    ml_Symbols *syms;
    const ml_ParseOpts *opts;
    const ml_Lexed *lx;
    ml_Arith *ar;
    ml_FuncB *fn;
    ml_Frame *frame;
    ml_BlockB *blk;     /* innermost open block */
    ml_BlockB *blk_ctx; /* whose content is being read: bindings belong to the outer one */
    ML_VEC(ml_Binding *) bound;
    ML_VEC(ml_LoopInfo) loops;
    uint32_t scope, n_scopes, n_funcs, n_loops;
    const ml_Node *target; /* of the assignment at hand */
    const ml_Node *rhs;    /* its right side: the call that may take the target's name */
    const ml_Node *stmt;   /* a call in statement position */
    const ml_Node *with;   /* a call in a with header */
    size_t depth;          /* of evaluation, lambdas included */
    size_t steps;          /* of compile-time work */
    size_t nest;           /* of statement lists */
    size_t expanding;      /* macros that are being read */
    const char *suffix;    /* of block names in them; NULL: none */
    ml_Sym *module;        /* name of the class at hand */
    ml_Place lost;         /* the first poison in a function that nobody had reported */
    ML_VEC(ml_Callee *) callees;
    ML_VEC(ml_ExprPlace) read; /* expressions, for the statements they belong to */
    size_t read_from;          /* of the statement at hand */
};

static inline ml_Cv ml_cv(ml_CvKind k)
{
    return (ml_Cv){.kind = (uint8_t)k, .dt = ML_DT_VOID, .elem = ML_DT_VOID};
}
static inline ml_Cv ml_cv_poison(void)
{
    return ml_cv(ML_CV_POISON);
}
static inline bool ml_cv_is_ir(ml_Cv v) /* part of the program, not of its text alone */
{
    return v.kind == ML_CV_EXPR || v.kind == ML_CV_CELL;
}
static inline bool ml_ev_has_arith(ml_Dtype t)
{
    return t.code != ML_VOID && t.code != ML_HANDLE;
}
ml_Cv ml_cv_int(int64_t i);
ml_Cv ml_cv_bool(bool b);
ml_Cv ml_cv_ns(ml_Namespace which);
ml_Cv ml_cv_float(double f);
ml_Cv ml_cv_str(ml_Str s);
ml_Cv ml_cv_expr(const ml_Expr *e); /* NULL: poison */
ml_Cv ml_cv_buffer(const ml_Buffer *b);
ml_Cv ml_cv_list(ml_Eval *ev, ml_CvKind kind, const ml_Cv *list, size_t n);
bool ml_cv_same(ml_Cv a, ml_Cv b);
/* "int32", "a tuple", "a buffer". */
const char *ml_cv_describe(ml_Eval *ev, ml_Cv v);

/* Reports and gives poison; false; NULL. */
#define ml_ev_fail(ev, code, at, ...)                                                      \
    ((void)ml_report((ev)->rep, ML_E_##code, (at), __VA_ARGS__), ml_cv_poison())
#define ml_ev_reject(ev, code, at, ...)                                                    \
    ((void)ml_report((ev)->rep, ML_E_##code, (at), __VA_ARGS__), false)
#define ml_ev_nothing(ev, code, at, ...)                                                   \
    ((void)ml_report((ev)->rep, ML_E_##code, (at), __VA_ARGS__), NULL)

/* ---- names (eval_value.c) */
uint32_t ml_ev_push_scope(ml_Eval *ev); /* the mark for pop */
void ml_ev_pop_scope(ml_Eval *ev, uint32_t saved, size_t n_bound);
ml_Binding *ml_ev_bind(ml_Eval *ev, ml_Sym *sym, ml_Cv v, ml_Place at);
/* Defines a name; E310 when the same scope has it with another value. */
ml_Binding *ml_ev_define(ml_Eval *ev, ml_Sym *sym, ml_Cv v, ml_Place at);
ml_Cv ml_ev_name(ml_Eval *ev, ml_Sym *sym, ml_Place at);
/* Python's operators on plain values. */
ml_Cv ml_ev_python_binary(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at);
ml_Cv ml_ev_python_compare(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at);
ml_Cv ml_ev_python_call(ml_Eval *ev, int which, ml_Args *a);
int ml_ev_python_find(ml_Str name); /* -1: none */
bool ml_ev_truth(ml_Cv v);          /* of a compile-time value */
bool ml_ev_decides(ml_Cv v);        /* whether it is a constant that a condition may be */
/* Python's str or repr of v; false: reported, it has none. */
bool ml_ev_show(ml_Eval *ev, ml_Text *t, ml_Cv v, bool repr, ml_Place at);
bool ml_ev_format(ml_Eval *ev, ml_Text *out, ml_Cv v, const ml_Node *field);
ml_Cv ml_ev_comprehension(ml_Eval *ev, const ml_Node *nd);
ml_Cv ml_ev_fstring(ml_Eval *ev, const ml_Node *nd);

/* ---- expressions (eval_expr.c, eval_op.c, eval_convert.c) */
ml_Cv ml_ev_raw(ml_Eval *ev, const ml_Node *nd);   /* cells stay cells */
ml_Cv ml_ev_value(ml_Eval *ev, const ml_Node *nd); /* cells are loaded */
ml_Cv ml_ev_load_cell(ml_Eval *ev, ml_Cv v);
const ml_Expr *ml_ev_to_expr(ml_Eval *ev, ml_Cv v, ml_Place at); /* NULL: reported */
const ml_Expr *ml_ev_expr(ml_Eval *ev, const ml_Node *nd);
/* An integer expression; what: "loop extent". E501 otherwise. */
const ml_Expr *ml_ev_to_int(ml_Eval *ev, ml_Cv v, ml_Place at, const char *what);
/* A constant for a dtype, E513 when out of range; NULL: reported. */
const ml_Expr *ml_ev_const(ml_Eval *ev, ml_Dtype t, ml_Cv v, ml_Place at);
ml_Cv ml_ev_binary(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at);
ml_Cv ml_ev_compare(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at);
ml_Cv ml_ev_logic(ml_Eval *ev, ml_ExprKind kind, ml_Cv a, ml_Cv b, ml_Place at);
ml_Cv ml_ev_not(ml_Eval *ev, ml_Cv a, ml_Place at);
bool ml_ev_promote(ml_Eval *ev, const ml_Expr **a, const ml_Expr **b);
/* b - a under the difference rule of script 7. */
const ml_Expr *ml_ev_difference(ml_Eval *ev, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_ev_cast(ml_Eval *ev, ml_Dtype t, const ml_Expr *e, ml_Place at);
bool ml_ev_too_deep(ml_Eval *ev, const ml_Expr *e, ml_Place at);
ml_Cv ml_ev_checked(ml_Eval *ev, const ml_Expr *e, ml_Place at); /* or poison: too deep */
ml_Cv ml_ev_apply(ml_Eval *ev, const ml_Node *lambda, const ml_Cv *args, size_t n,
                  ml_Place at);
const ml_Value *ml_ev_to_value(ml_Eval *ev, ml_Cv v, ml_Place at);  /* of attributes */
bool ml_ev_dtype(ml_Eval *ev, ml_Cv v, ml_Place at, ml_Dtype *out); /* a string or object */

ml_Cv ml_ev_from_value(ml_Eval *ev, const ml_Value *v);

/* ---- subscripts (eval_index.c) */
ml_Cv ml_ev_subscript(ml_Eval *ev, const ml_Node *nd);
/* Indices of a load or store; false: reported. */
typedef ML_VEC(const ml_Expr *) ml_ExprVec;
bool ml_ev_indices(ml_Eval *ev, const ml_Buffer *b, const ml_Node *nd, bool is_store,
                   ml_ExprVec *out);
bool ml_ev_region(ml_Eval *ev, const ml_Node *nd, ml_Region *out, const char *what);

/* ---- calls (eval_args.c, eval_call.c, eval_math.c) */
typedef struct ml_Arg {
    const ml_Node *node;
    ml_Sym *key; /* NULL: positional */
    ml_Place at; /* of the value */
    ml_Place key_at;
    ml_Cv v;
    bool used;
} ml_Arg;
struct ml_Args {
    const ml_Node *call;
    const ml_Builtin *fn;
    const char *name; /* "T.grid" for messages */
    ml_Arg *v;
    size_t n, n_pos;
    const ml_Cv *self; /* of a method */
};
ml_Cv ml_ev_call(ml_Eval *ev, const ml_Node *nd);
/* Slots by name, positional first; NULL where absent. false: reported (E412). names ends
 * with NULL; keyword-only names begin with '*'. */
bool ml_ev_slots(ml_Eval *ev, ml_Args *a, const char *const *names, ml_Arg **out);
/* The keyword argument of that name, marked as used; NULL: absent. */
ml_Arg *ml_ev_keyword(ml_Args *a, const char *name);
bool ml_ev_no_more(ml_Eval *ev, ml_Args *a, size_t max_pos);   /* E412 for what is left */
void ml_ev_missing(ml_Eval *ev, ml_Args *a, const char *name); /* E414 */
static inline bool ml_ev_need(ml_Eval *ev, ml_Args *a, const ml_Arg *slot, const char *name)
{
    if (!slot)
        ml_ev_missing(ev, a, name);
    return slot != NULL;
}
bool ml_ev_arg_string(ml_Eval *ev, ml_Args *a, ml_Arg *arg, const char *what, ml_Str *out);
bool ml_ev_poisoned(const ml_Args *a);
const ml_Builtin *ml_ev_builtin(ml_Str name); /* T.name; NULL: none */
const ml_Builtin *ml_ev_axis_builtin(ml_Str name);
bool ml_ev_dtype_name(ml_Str name, ml_Dtype *out);
bool ml_ev_is_scalable(ml_Str name); /* a dtype like int32xvscalex4: refused too */
/* The hint of what the call makes: the target's k-th name, or `other`. */
const char *ml_ev_hint(ml_Eval *ev, const ml_Node *call, size_t k, const char *other);
ml_Cv ml_ev_dtype_call(ml_Eval *ev, ml_Cv dt, ml_Args *a);
/* T.name, or with space "ptx." T.ptx.name, when that is a low-level call (eval_low.c). */
const ml_Builtin *ml_ev_low_builtin(ml_Eval *ev, const char *space, ml_Str name);
/* What stands behind T.ptx, T.cuda ...; space: "ptx.", "ptx.mbarrier.". */
ml_Cv ml_ev_low_member(ml_Eval *ev, const ml_Node *nd, const char *space);
/* "ptx.mbarrier." for the call ptx.mbarrier, which may be a namespace too; NULL: it is
 * none. */
const char *ml_ev_low_path(ml_Eval *ev, const ml_Builtin *b);
extern const ml_Builtin ml_ev_math_table[]; /* ends with name NULL; so do the others */
extern const ml_Builtin ml_ev_call_table[];
extern const ml_Builtin ml_ev_buffer_table[];
extern const ml_Builtin ml_ev_alloc_table[];
extern const ml_Builtin ml_ev_loop_table[];
extern const ml_Builtin ml_ev_block_table[];
extern const ml_Builtin ml_ev_axis_table[];
extern const ml_Builtin ml_ev_stmt_table[];

ml_IndexMap *ml_ev_index_map(ml_Eval *ev, const ml_Node *fn, ml_Dtype index, ml_Place at);

/* ---- buffers (eval_buffer.c, eval_member.c) */
/* Extents, or one alone; quoting: text is an expression, as in newest annotations. */
bool ml_ev_shape(ml_Eval *ev, ml_Cv v, ml_Place at, bool quoting, ml_ExprVec *out);
bool ml_ev_spec(ml_Eval *ev, ml_Args *a, size_t first, bool shape_needed, ml_Spec *out);
const ml_Buffer *ml_ev_make_buffer(ml_Eval *ev, ml_Spec *s, const char *name,
                                   const ml_Var *data);
/* Tells that the annotations of s have no place: only an allocation statement keeps them.
 */
void ml_ev_no_annotations(ml_Eval *ev, const ml_Spec *s);
/* T.Buffer[...] of an annotation. */
ml_Cv ml_ev_buffer_subscript(ml_Eval *ev, const ml_Node *nd);
ml_Cv ml_ev_declare(ml_Eval *ev, ml_Spec *s, const char *name); /* a Decl, or an Alloc */
ml_Cv ml_ev_attribute(ml_Eval *ev, const ml_Node *nd);          /* A.data, T.grid ... */
ml_Cv ml_ev_method(ml_Eval *ev, ml_Str name, ml_Args *a);

/* ---- statements (eval_stmt.c, eval_loop.c, eval_block.c) */
void ml_ev_suite(ml_Eval *ev, const ml_Node *suite);
/* A statement's span: where it stands and what was read for it so far; part: of that only
 * what stands inside it, or NULL. */
const ml_Span *ml_ev_span(ml_Eval *ev, ml_Place at, const ml_Place *part);
void ml_ev_emit(ml_Eval *ev, const ml_Stmt *s, ml_Place at);
void ml_ev_wrap(ml_Eval *ev, const ml_Attr *attr, ml_Place at);
ml_Frame *ml_ev_open(ml_Eval *ev, ml_FrameKind kind, ml_Place at);
const ml_Stmt *ml_ev_close(ml_Eval *ev); /* the list as one statement */
void ml_ev_assignment(ml_Eval *ev, const ml_Node *nd);
void ml_ev_annotated(ml_Eval *ev, const ml_Node *nd);
void ml_ev_augmented(ml_Eval *ev, const ml_Node *nd);
void ml_ev_poison_targets(ml_Eval *ev, const ml_Node *target);
void ml_ev_assert(ml_Eval *ev, ml_Cv c, ml_Place c_at, ml_Cv msg, ml_Place msg_at,
                  ml_Place at);
void ml_ev_return(ml_Eval *ev, const ml_Expr *e, ml_Place at);
void ml_ev_for(ml_Eval *ev, const ml_Node *nd);
void ml_ev_with_block(ml_Eval *ev, const ml_Node *nd, ml_Cv header);
void ml_ev_with_init(ml_Eval *ev, const ml_Node *nd, ml_Place at);
/* Whether the call stands at the top level of an open block; reports E602, E603. */
ml_BlockB *ml_ev_block_top(ml_Eval *ev, const char *what, ml_Place at);
void ml_ev_remember(ml_Eval *ev, const ml_Var *v, ml_Place at);

/* Joins T.allocate with the only declaration over its pointer (eval_alloc.c). */
const ml_Stmt *ml_ev_merge_allocations(ml_Eval *ev, const ml_Stmt *body);

/* ---- older spellings (eval_archaic.c) */
/* What a name without a prefix means when nothing else has it. */
bool ml_ev_archaic_name(ml_Eval *ev, ml_Sym *sym, ml_Cv *out);
const ml_Builtin *ml_ev_archaic_builtin(const ml_Eval *ev, ml_Str name);
bool ml_ev_is_archaic_script(const ml_Eval *ev, ml_Str decorator);
void ml_ev_header_axes(ml_Eval *ev, ml_BlockB *b, const ml_Cv *axes, const ml_Node *as);
/* T.bind(axis, value); false: it is another T.bind. */
bool ml_ev_header_bind(ml_Eval *ev, ml_Args *a, ml_Cv *out);
/* At the end of the block: whether loops are to come around it. */
bool ml_ev_header_close(ml_Eval *ev, ml_BlockB *b);
const ml_Stmt *ml_ev_header_loops(ml_Eval *ev, const ml_BlockB *b, const ml_Stmt *body);

/* ---- macros (eval_macro.c) */
bool ml_ev_is_macro(const ml_Node *fn); /* by its decorator */
void ml_ev_macro_define(ml_Eval *ev, const ml_Node *nd);
ml_Cv ml_ev_macro_call(ml_Eval *ev, ml_Macro *m, ml_Args *a);
/* A lambda, which sees the names of the place where it stands, in macros too. */
ml_Cv ml_ev_lambda(ml_Eval *ev, const ml_Node *nd);
ml_Cv ml_ev_lambda_call(ml_Eval *ev, ml_Cv lambda, const ml_Cv *args, size_t n,
                        ml_Place at);

/* ---- decorators (eval_deco.c) */
/* The decorator without its arguments, and its last name. */
const ml_Node *ml_ev_deco_name(const ml_Node *d, ml_Str *name);
bool ml_ev_deco_has(const ml_Node *deco, const char *key);
bool ml_ev_deco_flag(ml_Eval *ev, const ml_Node *deco, const char *name, bool otherwise);
/* Whether its keywords are among `known`, which ends with NULL; reports E412. */
bool ml_ev_deco_check(ml_Eval *ev, const ml_Node *deco, const char *const *known);
/* Whether its first name means something, if it has dots: T of T.prim_func. say: why not is
 * reported. */
bool ml_ev_deco_known(ml_Eval *ev, const ml_Node *deco, bool say);
/* The spelling in which the function is read: the first rule of script 1 that applies. */
int ml_ev_deco_mode(ml_Eval *ev, const ml_Node *fn, const ml_Node *deco);
bool ml_ev_is_prim_func(ml_Eval *ev, const ml_Node *nd, bool say); /* by its decorators */

/* ---- other Python (eval_skip.c) */
/* Passes over a statement of the file that the grammar knows; why: what is wrong with it,
 * or NULL. */
void ml_ev_skip(ml_Eval *ev, const ml_Node *s, const char *why);
void ml_ev_skipped(ml_Eval *ev, const ml_Node *s); /* one that it does not know */
/* Of a text without a function: E612 in place of all that was said of its other statements,
 * unless errors tell of what should have been one. */
void ml_ev_no_program(ml_Eval *ev);

/* ---- functions (eval_func.c) and what comes after them */
/* The root block and the regions that were left out (complete.c). */
const ml_Stmt *ml_complete(ml_Eval *ev, const ml_Stmt *body);
/* script 11, as far as the reader has not seen to it already (check.c). */
void ml_check_func(ml_Eval *ev, const ml_Func *f);

#endif

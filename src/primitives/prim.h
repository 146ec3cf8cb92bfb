/*
 * prim - what a primitive is made of, and what it may use.
 *
 * A primitive declares itself once (an ml_Primitive beside its code, one line in
 * primitives.def); argument checks, Lua binding, completion, help, trace kinds, JSON and
 * manual come from that declaration. Its function sees resolved arguments, checks what it
 * can first, then builds, then replaces once, and names what that concerns: of these the
 * call asks the posts of the declaration. Source: style 8, primitives 1.
 */
#ifndef ML_PRIMITIVES_PRIM_H
#define ML_PRIMITIVES_PRIM_H

#include "moonloop/primitives/schedule.h"

/* ---- parameters */
typedef enum ml_ParamKind {
    ML_P_BLOCK,         /* uid, node */
    ML_P_LOOP,          /* uid, node */
    ML_P_BLOCK_OR_LOOP, /* uid, node */
    ML_P_LOOP_OR_MARK,  /* uid, node; or handle kind INLINE_MARK / ROOT_MARK in h */
    ML_P_LOOPS,         /* n, uids: all remaining positional arguments, or one list */
    ML_P_BLOCKS,        /* n, uids: one list (or one block) */
    ML_P_LOOP_BLOCKS,   /* uid, node of a loop; or n, uids: a list of blocks (or one) */
    ML_P_FACTORS,       /* n, exprs (NULL: auto); one integer means {auto, it} */
    ML_P_INT,           /* i */
    ML_P_BOOL,          /* b */
    ML_P_STRING,        /* s */
    ML_P_SCOPE,         /* s: a storage scope; "" becomes "global" */
    ML_P_THREAD,        /* s: a thread axis */
    ML_P_READ_BUFFER,   /* i: position in the block's reads; by number, name or object */
    ML_P_WRITE_BUFFER,  /* i: position in the block's writes */
    ML_P_BUFFER,   /* i, b: position in its reads or (b) writes; {"write", i}, name, object
                    */
    ML_P_VALUE,    /* value: an annotation value (expression handles are their value) */
    ML_P_KEY,      /* s: an annotation key */
    ML_P_INTS,     /* value: list of integers */
    ML_P_FLOATS,   /* value: list of numbers */
    ML_P_DECISION, /* value or NULL */
    ML_P_NAME,     /* s: the name of a block, looked up by the primitive itself */
    ML_P_MAP,      /* map: an index map over its own variables, of integers */
    ML_P_PAD,      /* value: a number, or map: an index map to one value; or neither */
} ml_ParamKind;

typedef enum ml_ListNames {
    ML_NAMES_NONE,
    ML_NAMES_ITERS,   /* iters of the block before it */
    ML_NAMES_BUFFERS, /* what that block reads, or writes, as the string before it says */
} ml_ListNames;

typedef struct ml_Param {
    const char *name;
    uint8_t kind;        /* an ml_ParamKind */
    bool optional;       /* has the default below */
    bool attr;           /* recorded among the attrs, not the inputs (primitives 12.1) */
    bool input_if_given; /* BLOCKS: recorded only when given */
    uint8_t names;       /* INTS: what a string in the list names, an ml_ListNames */
    bool marks;          /* MAP: axis separators may stand between its results */
    bool ranges; /* MAP: gives begin and end per dimension of the BUFFER before it */
    int64_t def; /* default of INT and BOOL; strings default to def_s */
    const char *def_s;
    const char *doc; /* one line */
} ml_Param;

#define ML_PARAM(nm, k, d)                                                                 \
    {                                                                                      \
        .name = (nm), .kind = (k), .doc = (d)                                              \
    }
#define ML_PARAM_ATTR(nm, k, d)                                                            \
    {                                                                                      \
        .name = (nm), .kind = (k), .attr = true, .doc = (d)                                \
    }
#define ML_PARAM_FLAG(nm, dflt, d)                                                         \
    {                                                                                      \
        .name = (nm), .kind = ML_P_BOOL, .optional = true, .attr = true, .def = (dflt),    \
        .doc = (d)                                                                         \
    }
#define ML_PARAM_INT(nm, dflt, d)                                                          \
    {                                                                                      \
        .name = (nm), .kind = ML_P_INT, .optional = true, .attr = true, .def = (dflt),     \
        .doc = (d)                                                                         \
    }

/* ---- a resolved argument */
typedef struct ml_Given {
    bool given;
    ml_Handle h;
    ml_Uid uid;
    const ml_Stmt *node; /* the loop or block in the current version */
    int64_t i;
    bool b;
    const char *s;
    size_t n;
    const ml_Uid *uids;
    const ml_Expr *const *exprs;
    const ml_Value *value;
    const ml_IndexMap *map;
} ml_Given;

/* ---- what a step asks of the program, before the rewrite and of its result */
typedef enum ml_Proof {
    ML_SOUND = 1,  /* left out where a trace known to be good is replayed (unchecked) */
    ML_STRICT = 2, /* so, and where enable_check is off (primitives 1.4) */
    ML_RULE = 4,   /* left out where enable_check is off alone */
} ml_Proof;

/* What something has to do with a step, as far as its result is looked at. */
typedef enum ml_Part {
    ML_BLOCK_OF,    /* works otherwise than before */
    ML_COPY_OF,     /* a new block that copies */
    ML_PRODUCER_OF, /* writes what a block of these reads */
    ML_READER_OF,   /* reads what may not be there any more */
    ML_SHARER_OF,   /* reads what the iterations of a loop share */
    ML_LOOP_OF,     /* a loop */
    ML_THREAD_OF,   /* a loop that is a thread now */
    ML_SCOPE_OF,    /* a block or loop with all inside */
} ml_Part;

typedef struct ml_Subject {
    ml_Uid uid;
    const ml_Buffer *buf; /* or NULL */
    uint8_t part;         /* an ml_Part */
} ml_Subject;

struct ml_Call;
/* Asked of each subject of the part that the result still has, in their order. */
typedef struct ml_Post {
    uint8_t proof, part; /* an ml_Proof, an ml_Part */
    bool (*holds)(struct ml_Call *c, ml_Uid uid);
    bool (*of_buffer)(struct ml_Call *c, ml_Uid uid, const ml_Buffer *buf); /* instead */
} ml_Post;

/* ---- a call */
typedef struct ml_Call {
    ml_Ctx *cx; /* the schedule's context: arena, error */
    ml_Schedule *sched;
    const ml_Primitive *prim;
    ml_Facts *facts;
    ml_Program p;  /* current program; ml_call_replace moves it on */
    uint32_t func; /* position of the function worked on */
    const ml_Given *args;
    uint8_t asks; /* a set of ml_Proof */
    void *work;   /* what apply leaves to the questions of its own primitive */
    ML_VEC(ml_Subject) subjects;
    /* results */
    ml_Results results;
    const ml_Value *decision; /* in: the given one or NULL; out: what is stored */
    ml_UidVec ended;          /* filled by ml_call_replace */
    ML_VEC(const char *) notes;
    bool changed; /* a new program was set */
} ml_Call;

/* Whether such proofs are asked of the call. */
static inline bool ml_call_asks(const ml_Call *c, ml_Proof p)
{
    return (c->asks & p) != 0;
}
/* Whether the condition holds; true, and nothing is looked at, where it is not asked. */
#define ML_PROVE(c, proof, ...) (!ml_call_asks((c), (proof)) || (__VA_ARGS__))
/* What the posts of the primitive are asked of, when the rewrite is made. */
void ml_call_subject(ml_Call *c, ml_Part part, ml_Uid uid, const ml_Buffer *buf);
void ml_call_subjects(ml_Call *c, ml_Part part, const ml_UidVec *v, const ml_Buffer *buf);
/* All blocks inside of the node. */
void ml_call_subjects_below(ml_Call *c, ml_Part part, ml_Uid node);
/* The rewrite of the primitive and what must hold of its result, with the arguments and on
 * the program of this call. */
bool ml_call_run(ml_Call *c, const ml_Primitive *prim);
/* The same on trial: *c stays as it is. *over: memory or time is out, the error is set. */
bool ml_call_would(const ml_Call *c, const ml_Primitive *prim, const ml_Given *args,
                   bool *over);

/* The node of a loop or block argument in the program as it is now. */
const ml_For *ml_call_loop(const ml_Call *c, ml_Uid uid);
const ml_Block *ml_call_block(const ml_Call *c, ml_Uid uid);
const ml_Func *ml_call_func(const ml_Call *c);
/* Replaces the statement of `uid` (NULL: removes it) in c->p. */
void ml_call_replace(ml_Call *c, ml_Uid uid, const ml_Stmt *with);
void ml_call_note(ml_Call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ml_call_return_loop(ml_Call *c, const ml_Stmt *loop);
void ml_call_return_block(ml_Call *c, ml_Uid tag);
void ml_call_return_loops(ml_Call *c, const ml_Stmt *const *loops, size_t n); /* a list */
void ml_call_return_handles(ml_Call *c, const ml_Handle *h, size_t n, bool is_list);

/* ---- declaration */
typedef enum ml_ResultKind {
    ML_R_NONE,
    ML_R_LOOP,
    ML_R_LOOPS, /* a list */
    ML_R_BLOCK,
    ML_R_BLOCKS, /* a list */
    ML_R_EXPR,
    ML_R_EXPRS, /* a list */
} ml_ResultKind;

/* A way out: one or two calls in Lua form, tried on a scratch copy before it is shown. The
 * remark may be NULL: then the trial's outcome is described (notes, new loops). */
typedef struct ml_Tries ml_Tries;
/* text: "split(\"i\", {auto, 100})"; calls of two steps are separated by one space. */
void ml_try(ml_Tries *t, const char *remark, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct ml_Primitive {
    const char *name;    /* "split" */
    const char *kind;    /* instruction kind "Split" */
    const char *group;   /* "loops", "blocks", "compute location", "caching", ... */
    const char *summary; /* one line */
    const char *help;    /* a few lines: what it does, preconditions */
    const ml_Param *params;
    size_t n_params;
    uint8_t result; /* an ml_ResultKind */
    bool pure;      /* dead-code elimination may drop it */
    bool has_decision;
    bool no_version; /* query or sampling: no new version */
    bool not_recorded;
    bool one_order; /* what is read and written stays in its order, whatever the buffers;
                     * or the primitive tells memory apart itself */
    bool (*apply)(ml_Call *c);
    const ml_Post *posts;       /* what must hold of the result, in order; or NULL */
    const ml_ErrorCode *errors; /* its errors, ended by ML_E_OK */
    void (*suggest)(ml_Schedule *s, const ml_Given *args, const ml_Error *e, ml_Tries *t);
    /* The rule that was broken, where it is not the one of errors.def; or NULL. */
    const char *(*rule)(const ml_Error *e);
    /* "j → j_0[64] j_1[16]"; NULL: made from arguments and results. c->p: after the step.
     */
    void (*describe)(const ml_Call *c, ml_Program before, ml_Text *out);
    const char *cases; /* file src/primitives/cases/NAME.case; first case: the example */
};

/* What an entry begins with: its function and its cases are called as it is. */
#define ML_PRIM(id, inst) .name = #id, .kind = (inst), .apply = (id), .cases = #id
#define ML_PARAMS(list)   .params = (list), .n_params = ML_COUNT(list)

/* The table, in the order of primitives.def. */
extern const ml_Primitive *const ml_primitives[];
extern const size_t ml_n_primitives;
const ml_Primitive *
ml_primitive_find(const char *name); /* other spellings too (primitives 13) */
const ml_Primitive *ml_primitive_of_kind(const char *kind);
/* split(loop, factors, preserve_unit_iters = true, ...) */
void ml_primitive_signature(ml_Text *t, const ml_Primitive *p);

/* Arguments by position and by name lined up with the parameters: out has room for
 * prim->n_params. Loops given one by one become one list; other spellings of parameter
 * names (primitives 13) are understood. false: bad-argument set in cx, naming the nearest
 * one. */
bool ml_args_by_name(ml_Ctx *cx, const ml_Primitive *prim, const ml_Arg *pos, size_t n_pos,
                     const char *const *keys, const ml_Arg *values, size_t n_named,
                     ml_Arg *out);

/* ---- shared rewriting helpers (primitives 2.4), in rewrite.c */
/* Rewrites the iter values of the non-opaque blocks directly under `st` (looking through
 * opaque blocks) through the iterator map of all loops above them: those inside st and, via
 * the program, above `at`. */
const ml_Stmt *ml_simplify_bindings(ml_Call *c, ml_Uid at, const ml_Stmt *st,
                                    bool preserve_unit_iters);
/* `where old and p` on every block directly under st. */
const ml_Stmt *ml_append_predicate(ml_Ctx *cx, const ml_Stmt *st, const ml_Expr *p);
/* Whether what s does outside of blocks gets the predicate as a condition around it. */
bool ml_takes_guard(const ml_Stmt *s);
/* Leaf removal plan: the uid and replacement that remove `block` from its scope; false:
 * only-leaf set. */
typedef struct ml_Removal {
    ml_Uid uid;          /* loop or block to be replaced */
    const ml_Stmt *with; /* its replacement without the leaf */
} ml_Removal;
bool ml_leaf_removal(ml_Call *c, ml_Uid block, ml_Removal *out);
/* The block with its guard and its iters mapped: what is evaluated outside of it. */
const ml_Block *ml_block_map_head(ml_Ctx *cx, const ml_Block *b, ml_ExprFn *fn, void *user);
/* The region with the loads in its ends, where there are any, mapped. */
ml_Region ml_region_map_loads(ml_Ctx *cx, ml_Region r, ml_ExprFn *fn, void *user);
/* Alloc list of the scope root with b appended / without b. */
const ml_Block *ml_block_add_alloc(ml_Ctx *cx, const ml_Block *root, const ml_Buffer *b);
const ml_Block *ml_block_drop_alloc(ml_Ctx *cx, const ml_Block *root, const ml_Buffer *b);
/* The buffer, fresh, in another scope and named after it. */
const ml_Buffer *ml_buffer_in_scope(ml_Ctx *cx, const ml_Buffer *b, ml_Scope scope);
/* root with the match_buffer targets of buf, and views of them, in the scope of buf;
 * renamed: and named after it. */
const ml_Stmt *ml_views_follow(ml_Ctx *cx, const ml_Stmt *root, const ml_Buffer *buf,
                               bool renamed);
/* Checks shared by many: fail with root-block; not-schedulable between two nodes. */
bool ml_check_not_root(ml_Call *c, ml_Uid block);
bool ml_check_scope(ml_Call *c, const char *scope); /* fails with bad-storage-scope */
bool ml_check_schedulable(ml_Call *c, ml_Uid scope, ml_Uid node);
/* Whether a buffer of the module is declared over a pointer. */
bool ml_has_aliases(const ml_Module *m);
/* The memory that is used under the loop or block has one name in the function, or is only
 * read (names-overlap). */
bool ml_check_one_name(ml_Call *c, ml_Uid node);
/* loop-annotated, loop-not-zero-based, loop-step. */
bool ml_check_plain_loop(ml_Call *c, const ml_For *loop);

/* ---- errors that say which of their causes it is, in refusal.c; all give false */
/* not-same-scope: two loops or blocks that are no neighbours. */
bool ml_fail_apart(ml_Call *c, ml_Uid a, ml_Uid b);
/* not-schedulable: `cross` stands between a loop or block and one above it. */
bool ml_fail_crossing(ml_Call *c, const ml_Stmt *cross, const ml_Stmt *inner,
                      const ml_Stmt *outer);
/* not-only-child: the loop holds more than the loop or block below it. */
bool ml_fail_not_only_child(ml_Call *c, const ml_Stmt *below, const ml_For *loop);
/* buffer-not-allocated: no block allocates the buffer that `user` uses. */
bool ml_fail_not_allocated(ml_Call *c, const ml_Buffer *buf, const ml_Block *user);
/* opaque-access: `user` uses the buffer otherwise than by loads and stores. */
bool ml_fail_opaque(ml_Call *c, const ml_Buffer *buf, const ml_Block *user);

#endif

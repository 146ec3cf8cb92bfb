/*
 * schedule - a program's versions, its handles, names, steps and trace.
 *
 * A schedule owns one context, a child of its module's, shared by copies. Each accepted
 * primitive that changes the program makes a child of the current version: a step. Queries
 * and sampling only append to the trace. A handle is an identity number with its kind,
 * never a pointer. A failed primitive leaves program, handles, random state and trace as
 * they were. Source: primitives 1 to 4, 12; interaction 3, 5, 6; DESIGN section 3.
 */
#ifndef ML_PRIMITIVES_SCHEDULE_H
#define ML_PRIMITIVES_SCHEDULE_H

#include "moonloop/core/script/script.h"
#include "moonloop/verify/verify.h"

typedef struct ml_Schedule ml_Schedule;
typedef struct ml_Primitive ml_Primitive;

typedef enum ml_HandleKind {
    ML_H_NONE, /* a result that is none: the auto tile of a dynamic loop */
    ML_H_BLOCK,
    ML_H_LOOP,
    ML_H_EXPR,        /* a sampled or computed integer; uid is its symbol's */
    ML_H_INLINE_MARK, /* of sample_compute_location */
    ML_H_ROOT_MARK,
} ml_HandleKind;
typedef struct ml_Handle {
    uint8_t kind; /* an ml_HandleKind */
    ml_Uid uid;
} ml_Handle;

/* A raw argument, as a script or C program gives it; names are resolved at the call. */
typedef enum ml_ArgKind {
    ML_A_ABSENT, /* not given: the default */
    ML_A_NONE,   /* auto */
    ML_A_BOOL,
    ML_A_INT,
    ML_A_FLOAT,
    ML_A_STRING, /* also the name of a loop, block or buffer */
    ML_A_HANDLE,
    ML_A_EXPR,   /* over expression handles' symbols */
    ML_A_BUFFER, /* a buffer object, by uid */
    ML_A_MAP,    /* an index map */
    ML_A_LIST,
    ML_A_DICT, /* keys with args: annotation values */
} ml_ArgKind;
typedef struct ml_Arg ml_Arg;
struct ml_Arg {
    uint8_t kind;
    uint32_t n; /* LIST, DICT */
    union {
        bool b;
        int64_t i;
        double f;
        const char *s;
        ml_Handle h;
        const ml_Expr *e;
        ml_Uid buffer;
        const ml_IndexMap *map;
        const ml_Arg *list;
    } as;
    const char *const *keys;
};
#define ML_ARG_ABSENT     ((ml_Arg){.kind = ML_A_ABSENT})
#define ML_ARG_AUTO       ((ml_Arg){.kind = ML_A_NONE})
#define ML_ARG_INT(x)     ((ml_Arg){.kind = ML_A_INT, .as.i = (x)})
#define ML_ARG_BOOL(x)    ((ml_Arg){.kind = ML_A_BOOL, .as.b = (x)})
#define ML_ARG_STR(x)     ((ml_Arg){.kind = ML_A_STRING, .as.s = (x)})
#define ML_ARG_HANDLE(x)  ((ml_Arg){.kind = ML_A_HANDLE, .as.h = (x)})
#define ML_ARG_LIST(v, k) ((ml_Arg){.kind = ML_A_LIST, .n = (uint32_t)(k), .as.list = (v)})

typedef enum ml_RenderLevel {
    ML_RENDER_BRIEF,
    ML_RENDER_DETAIL,
    ML_RENDER_FAST,
    ML_RENDER_NONE
} ml_RenderLevel;

typedef struct ml_ScheduleOpts {
    const char *name;    /* on screen; NULL: the function's */
    const char *func;    /* function worked on; NULL: by the rules of primitives 4 */
    int64_t seed;        /* 0: not given, 1; -1: entropy */
    uint32_t debug_mask; /* ML_CHECK_...: self-checks after each step */
    ml_RenderLevel render;
    bool no_check;              /* enable_check = false (primitives 1.4) */
    bool unchecked;             /* replay of known-good traces (ir-and-analysis 8.4) */
    const ml_Value *target;     /* dict or NULL; of the module's context */
    struct ml_Intrins *intrins; /* counted by the schedule; NULL: what is built in */
} ml_ScheduleOpts;

/* module_cx owns `m` and is sealed by the call. NULL: *error is set (in module_cx's error
 * space; copy it out before the next use). One reference. */
ML_GIVES ml_Schedule *ml_schedule_new(ml_Ctx *module_cx, const ml_Module *m,
                                      const ml_ScheduleOpts *opts, const ml_Error **error);
ml_Schedule *ml_schedule_ref(ml_Schedule *s);
void ml_schedule_unref(ml_Schedule *s);
/* A second schedule at this version: shares the context, same handles; its random state is
 * fork_seed of the original, which advances. */
ML_GIVES ml_Schedule *ml_schedule_copy(ml_Schedule *s);
/* A schedule in a fork of s's context, at `version` (its version 0), for trials: s must not
 * be used for calls until it is gone. Names are those of s. */
ML_GIVES ml_Schedule *ml_schedule_fork_at(ml_Schedule *s, int version);
ml_Ctx *ml_schedule_ctx(ml_Schedule *s);

/* As a debug mask of all bits, switched on and off while it lives. */
void ml_schedule_verify_each(ml_Schedule *s, bool on);

/* ---- applying */
enum { ML_MAX_RESULTS = 64 };
typedef struct ml_Results {
    bool is_list; /* a list even when it has one element */
    size_t n;
    ml_Handle v[ML_MAX_RESULTS];
    const ml_Handle *more; /* all n of them when n > ML_MAX_RESULTS; in the arena */
} ml_Results;
/* args[k] for the k-th parameter (missing ones at the end are absent). false:
 * ml_schedule_error tells why and the schedule is as before. */
bool ml_apply_prim(ml_Schedule *s, const ml_Primitive *prim, const ml_Arg *args, size_t n,
                   ml_Results *out);
/* Whether the call would succeed; nothing stays of it. *yes false: ml_schedule_error says
 * why, as after a call that failed. false: the arguments are none for this primitive. */
bool ml_would_apply(ml_Schedule *s, const struct ml_Primitive *prim, const ml_Arg *args,
                    size_t n, bool *yes);
bool ml_apply(ml_Schedule *s, const char *name, const ml_Arg *args, size_t n,
              ml_Results *out);
/* The last failure; valid until the next call on this schedule. */
const ml_Error *ml_schedule_error(const ml_Schedule *s);
/* What the last accepted step wants to tell (notes of interaction 5): n sentences. */
size_t ml_schedule_notes(const ml_Schedule *s, const char *const **notes);

/* ---- the current version */
ml_Program ml_schedule_program(const ml_Schedule *s);
const ml_Func *ml_schedule_func(const ml_Schedule *s); /* function worked on; NULL: none */
uint32_t ml_schedule_func_pos(const ml_Schedule *s);
/* The function that names are looked up in, from now on; false: unknown-function. */
bool ml_schedule_work_on(ml_Schedule *s, const char *name);
/* Sets no-function, which names the functions there are; false. */
bool ml_fail_no_function(ml_Ctx *cx, const ml_Module *m);
/* For what needs blocks: no function is chosen, or none holds any. */
bool ml_fail_unchosen(ml_Ctx *cx, const ml_Module *m);
/* No function is called that, or the one that is holds no blocks. */
bool ml_fail_unknown_function(ml_Ctx *cx, const ml_Module *m, const char *name);
const char *ml_schedule_name(const ml_Schedule *s);
ml_Facts *ml_schedule_facts(ml_Schedule *s);
const ml_ScheduleOpts *ml_schedule_opts(const ml_Schedule *s);
uint64_t ml_schedule_hash(ml_Schedule *s);

/* ---- versions: numbers count from 0 (the start) in order of creation and never change */
typedef struct ml_Step {      /* how a version came from its parent */
    const ml_Primitive *prim; /* NULL: the start version, or several functions' import */
    int parent;               /* version number; -1 for the start */
    const char *line; /* the call as Lua text with display names: split("j", {auto, 16}) */
    const char *headline; /* "split  j → j_0[64] j_1[16]" */
    double seconds;
    size_t n_notes;
    const char *const *notes;
    const char *check; /* "ok", "FAIL" or NULL: result of a check of that version */
    const char *speed; /* "58.4 GFLOP/s" or NULL: what timing it gave last */
} ml_Step;
int ml_schedule_version(const ml_Schedule *s);
/* What the steps have asked of the analyses, copies of the schedule included. */
ml_FactCounts ml_schedule_fact_counts(const ml_Schedule *s);
int ml_schedule_n_versions(const ml_Schedule *s);
bool ml_version_step(ml_Schedule *s, int version,
                     ml_Step *out); /* false: no such version */
ml_Program ml_version_program(const ml_Schedule *s, int version);
typedef ML_VEC(ml_Moved) ml_MovedVec;
/* The layouts that steps from version `from` to `version` (of it or below) gave parameters
 * of function `func` of its program, in order; in cx. false: a step is not known any more.
 */
bool ml_version_moved(ml_Schedule *s, int from, int version, uint32_t func, ml_Ctx *cx,
                      ml_MovedVec *out);
bool ml_version_known(const ml_Schedule *s,
                      int version); /* false: dropped by the undo limit */
/* Moves; false (bad-argument) when there is none. undo goes to ancestors, redo to the child
 * visited last. */
bool ml_schedule_undo(ml_Schedule *s, int n);
bool ml_schedule_redo(ml_Schedule *s, int n);
bool ml_schedule_goto(ml_Schedule *s, int version);
bool ml_schedule_mark(ml_Schedule *s, const char *name); /* names the current version */
int ml_schedule_find_mark(const ml_Schedule *s, const char *name); /* -1: none */
/* The k-th name of a version, marks or (branches) labels, in the order of the joined ones;
 * NULL: it has no more. */
const char *ml_version_name(const ml_Schedule *s, int version, bool branches, size_t k);
/* Names of marks of a version, joined; NULL: none. */
const char *ml_schedule_marks_of(const ml_Schedule *s, int version);
/* A branch is a label at a version. Steps from there take it along; who goes back leaves it
 * where it is, and who comes to it goes on with it. */
bool ml_schedule_branch(ml_Schedule *s,
                        const char *name); /* puts the label here, from where it was */
void ml_schedule_detach(ml_Schedule *s);   /* steps from here leave the labels behind */
int ml_schedule_find_branch(const ml_Schedule *s, const char *name); /* -1: none */
const char *ml_schedule_branch_name(const ml_Schedule *s); /* gone on with; NULL: none */
/* The labels at a version, joined; NULL: none. */
const char *ml_version_branch(const ml_Schedule *s, int version);
void ml_schedule_set_check(ml_Schedule *s, int version, const char *result);
void ml_schedule_set_speed(ml_Schedule *s, int version, const char *speed);
/* Keeps only the newest n versions reachable (and ancestors needed by them): undo-limit. */
void ml_schedule_set_undo_limit(ml_Schedule *s, int n);
/* Imports what is reachable into a fresh context when dead bytes exceed live ones. Happens
 * by itself after a step: pointers into programs, traces and notes of this schedule and its
 * copies are good until the next accepted step (numbers, names and texts of steps for
 * ever). */
void ml_schedule_compact(ml_Schedule *s);
/* Everything that changes with steps, as one value: what a line of the prompt goes back to.
 */
typedef struct ml_State {
    int version;
    const void *trace;
    uint32_t random;
    const char *branch;
    const void *labels;
} ml_State;
ml_State ml_schedule_state(const ml_Schedule *s);
void ml_schedule_restore(ml_Schedule *s, ml_State st);
/* Goes there as to a place: labels that came since stay, and the one that was gone on with
 * there and is gone on with here goes along. */
void ml_schedule_return(ml_Schedule *s, ml_State st);

/* ---- random state (primitives 4) */
bool ml_schedule_seed(ml_Schedule *s, int64_t seed);
uint32_t ml_schedule_fork_seed(ml_Schedule *s);

/* ---- handles */
bool ml_handle_alive(ml_Schedule *s, ml_Handle h);
/* The step (version number) that ended it on the current line, -1: alive or unknown. */
int ml_handle_ended_by(ml_Schedule *s, ml_Handle h);
bool ml_handle_value(ml_Schedule *s, ml_Handle h, int64_t *out); /* of an EXPR */
const ml_Expr *ml_handle_symbol(ml_Schedule *s, ml_Handle h); /* of an EXPR: its variable */

/* ---- display names (interaction 3): unique in the function, kept over versions. Loops and
 * buffers share one set, blocks have theirs. Names are worked out when asked for. */
const ml_Names *ml_schedule_names(ml_Schedule *s); /* for the current version */
const ml_Names *ml_version_names(ml_Schedule *s, int version);
const char *ml_name_of(ml_Schedule *s,
                       ml_Uid uid); /* loop, block or buffer; "?" if unknown */
/* Any form of interaction 3; false: error set (no-such-..., ambiguous-...). want:
 * ML_H_BLOCK, ML_H_LOOP, or ML_H_NONE for either. */
bool ml_resolve(ml_Schedule *s, const char *text, ml_HandleKind want, ml_Handle *out);
/* "C/" followed by a star, where a list of loops is expected. */
bool ml_resolve_loops(ml_Schedule *s, const char *text, ml_UidVec *out);
/* Buffer by name among all of the function; NULL: error set. */
const ml_Buffer *ml_resolve_buffer(ml_Schedule *s, const char *text);
/* Up to n names nearest to `text` by edit distance among the given kind. */
size_t ml_nearest_names(ml_Schedule *s, const char *text, ml_HandleKind kind,
                        const char **out, size_t n);
/* Those that an ambiguous name may mean, in program order; 0: it is not ambiguous. */
size_t ml_candidate_names(ml_Schedule *s, const char *text, ml_HandleKind want,
                          const char **out, size_t n);

/* ---- printing a version with display names, as screens show it: the comment that stands
 * for the root block is left out (no_root_comment is set). opts NULL: without header lines,
 * regions where inference would give others. */
void ml_schedule_print(ml_Schedule *s, int version, ml_Text *out, ml_PrintOpts *opts);

#endif

/*
 * schedule_impl - the inside of a schedule, for the files of this folder.
 *
 * A *space* is the memory that a schedule and its copies share: the context of programs and
 * traces, and a second one (`home`) for names and texts, which a failed call never rolls
 * back. The arena is released to the mark of a failed call only when the next call begins,
 * so that the error and what it points to stay readable until then: whoever allocates in
 * the space's context calls ml_space_settle first. Source: DESIGN section 3,
 * primitives 1.4.
 */
#ifndef ML_PRIMITIVES_SCHEDULE_IMPL_H
#define ML_PRIMITIVES_SCHEDULE_IMPL_H

#include "moonloop/core/base/arena.h"
#include "moonloop/primitives/call_text.h"
#include "moonloop/primitives/trace.h"

/* ---- what copies share */
typedef struct ml_Symbol { /* of an expression handle */
    const ml_Expr *var;
    int64_t value;
} ml_Symbol;

typedef struct ml_Space {
    ml_Ctx *cx;   /* programs, traces, arguments */
    ml_Ctx *home; /* names, texts, symbols' table */
    unsigned refs;
    bool in_call;
    struct ml_Schedule *caller; /* whose call it is, while in_call */
    bool dirty; /* the last call failed: release to `dirty_mark` when the next begins */
    ml_Mark dirty_mark;
    ml_Map
        *names; /* in home: uid -> display name of every loop, block, buffer ever named */
    ml_Map *stored; /* in home: block uid -> the stored name its display name came from */
    const struct ml_Rename *alts;   /* in home: display names under later stored names */
    const struct ml_Rename *synced; /* those that `names` shows at the moment */
    ml_Map *symbols; /* in home: uid -> ml_Symbol *; NULL: of a failed call */
    size_t n_symbols, symbols_at_mark; /* made so far; before the failed call */
    ml_Facts *facts;                   /* NULL until first asked for */
    size_t facts_at_mark;              /* entries there were when the failed call began */
    ml_FactCounts counted;             /* by those that were given up */
    struct ml_TraceNode *nodes;        /* all of them, newest first, for compaction */
    ml_Schedule *first;                /* those that share it */
    bool is_fork;                      /* reads another space's objects: never compacted */
    size_t live;                       /* bytes after the last compaction */
    struct ml_Intrins *intrins;        /* counted */
    unsigned epoch; /* counts compactions: pointers from before are void */
} ml_Space;

enum { ML_MAX_ARG_DEPTH = 64 }; /* lists in lists of a raw argument */

void ml_space_settle(ml_Space *sp);
void ml_space_set_ctx(ml_Space *sp, ML_TAKES ml_Ctx *cx);
/* Sets bad-argument with this sentence; false. */
bool ml_bad_argument(ml_Ctx *cx, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
ml_Facts *ml_space_facts(ml_Space *sp);
void ml_space_drop_facts(ml_Space *sp);

/* ---- the trace, newest instruction first; shared by versions and copies. The nodes lie in
 * `home`, so that an ml_State outlives compactions; these replace the instructions. */
typedef struct ml_TraceNode ml_TraceNode;
struct ml_TraceNode {
    const ml_TraceNode *prev;
    ml_TraceNode *older; /* of all nodes of the space */
    const ml_Inst *inst;
    uint32_t n;        /* instructions from the start up to here */
    uint32_t next_var; /* number of the next output */
    uint32_t serial;   /* its own among those of the space */
};

/* ---- names of blocks that a primitive renamed (an update block): a list */
typedef struct ml_Rename ml_Rename;
struct ml_Rename {
    const ml_Rename *next;
    ml_Uid uid;
    const char *stored, *display,
        *was; /* was: the display name under the first stored name */
};

/* ---- versions */
typedef struct ml_Version {
    ml_Program p;
    const ml_TraceNode *trace;  /* with the step's own instruction */
    const ml_TraceNode *before; /* the trace just before the step */
    uint32_t random, random_before;
    int parent;               /* -1: the start */
    int redo;                 /* the child visited last; -1: none */
    bool known;               /* false: its program was dropped by the undo limit */
    bool named;               /* every node of it has a display name */
    const ml_Rename *renames; /* blocks that have another name than at first */
    const char *check, *speed;
    double seconds;
    /* the step; NULL prim for the start */
    const ml_Primitive *prim;
    const ml_Given *args;
    const ml_Handle *results;
    uint32_t n_results, n_ended, n_notes;
    bool result_list;
    const ml_Uid *ended;
    const char *const *notes;
    const ml_Value *decision;
    const char *line, *plain_line, *headline; /* made when first asked for */
} ml_Version;

typedef struct ml_MarkName ml_MarkName;
struct ml_MarkName { /* newest first */
    const ml_MarkName *prev;
    const char *name;
    int version;
};

struct ml_Schedule {
    unsigned refs;
    ml_Space *space;
    ml_Schedule *next; /* of those that share the space */
    ml_ScheduleOpts opts;
    const char *name;
    bool has_func;
    uint32_t func;
    ml_Version *v;
    int n_versions, cap_versions, cur;
    const ml_TraceNode *trace;
    uint32_t random;
    const char
        *branch; /* the label that steps take along, at the current version; or NULL */
    const ml_MarkName *marks, *labels;
    int undo_limit; /* 0: none */
    ml_Names names; /* what ml_schedule_names gives out */
    bool verify;    /* self-checks after each step, whatever the mask says */
    bool aliased;   /* the start declares buffers over pointers */
    bool replaying; /* names in lookups are stored names */
    /* the last call */
    const char *const *notes;
    size_t n_notes;
    bool failed;
    const ml_Primitive *failed_prim;
    const ml_Given *failed_args; /* resolved as far as it went; good until the next call */
    const ml_Arg *failed_raw;    /* the same as given, copied */
    size_t n_failed_args;
    bool failed_in_call; /* the mistake is in how the call is written */
};

/* Begins a call on the schedule: settles, clears the last error. */
void ml_schedule_begin(ml_Schedule *s);
/* Adds a version below the current one and moves there. */
ml_Version *ml_version_add(ml_Schedule *s);
bool ml_version_ok(const ml_Schedule *s, int version); /* in range and known */

/* ---- handles.c */
/* The node of a live loop or block in the current version; NULL: error set. */
const ml_Stmt *ml_handle_node(ml_Schedule *s, ml_Handle h, ml_HandleKind want);
/* A fresh expression handle with this value. */
ml_Handle ml_symbol_new(ml_Schedule *s, int64_t value);
/* An expression over symbols as an integer; false: bad-argument set, naming `what`. */
bool ml_eval_symbols(ml_Schedule *s, const ml_Expr *e, const char *what, int64_t *out);

/* ---- names.c */
void ml_names_ensure(ml_Schedule *s, int version);
/* Loops and blocks that have names: those with blocks below them (ir-and-analysis 2.1). */
bool ml_node_is_named(const ml_Stmt *st);
/* In the names of any version; NULL: it was never named. */
const char *ml_name_known(const ml_Space *sp, ml_Uid uid);

/* ---- trace_record.c */
/* Records a call made at the current version: lookups for what the trace cannot name yet,
 * then the instruction. false: error set; s->trace may have moved. */
bool ml_record(ml_Schedule *s, const ml_Call *c, const ml_Arg *const *raw, int version);

/* ---- versions.c: the label comes to the current version and is gone on with */
void ml_schedule_label(ml_Schedule *s, const char *name);

/* ---- describe.c: texts of steps */
const char *ml_step_line(ml_Schedule *s, int version);       /* split("j", {auto, 16}) */
const char *ml_step_plain_line(ml_Schedule *s, int version); /* split(j, {auto, 16}) */
const char *ml_step_headline(ml_Schedule *s, int version);
/* The programmer-independent Lua form of a string: "a\"b"; of a key: ["a b"] = */
void ml_text_quote(ml_Text *out, const char *z);
void ml_text_lua_key(ml_Text *out, const char *z);

/* ---- compact.c: after a step, when dead bytes exceed live ones */
void ml_schedule_compact_when_due(ml_Schedule *s);

/* ---- failure.c */
/* Resolved arguments without their nodes. */
const ml_Given *ml_given_copy(ml_Ctx *cx, ml_Import *im, const ml_Given *from, size_t n);
/* A copy of raw arguments without the expressions of other contexts. */
const ml_Arg *ml_args_copy(ml_Ctx *cx, const ml_Arg *const *raw, size_t n);

/* ---- trace.c */
const ml_Inst *ml_inst_copy(ml_Ctx *cx, ml_Import *im, const ml_Inst *in);

/* ---- table.c */
/* The primitive whose name is near, or NULL. */
const char *ml_primitive_nearest(const char *name);

#endif

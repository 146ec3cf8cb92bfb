/* trace - the instructions that made a version: data, printed as Lua, Python and JSON, and
 * replayed. Source: primitives 12. */
#ifndef ML_PRIMITIVES_TRACE_H
#define ML_PRIMITIVES_TRACE_H

#include "moonloop/primitives/prim.h"

/* An input or attr of an instruction; variables by their number in the trace. */
typedef enum ml_TVKind {
    ML_TV_NONE,
    ML_TV_VAR,   /* var: a handle that an earlier instruction made */
    ML_TV_VALUE, /* value: int, float, bool, string, dict, ... */
    ML_TV_EXPR,  /* expr over the symbols of expression variables */
    ML_TV_MAP,
    ML_TV_LIST,
} ml_TVKind;
typedef struct ml_TV ml_TV;
struct ml_TV {
    uint8_t kind;
    uint32_t n;
    uint32_t var;
    const ml_Value *value;
    const ml_Expr *expr;
    const ml_IndexMap *map;
    const ml_TV *list;
};
typedef struct ml_TVar { /* an output */
    uint8_t kind;        /* ml_HandleKind; NONE prints _ */
    uint32_t num;        /* number in the trace; unused when NONE */
    ml_Uid uid; /* in the schedule that recorded it: of the loop, block or symbol */
} ml_TVar;
typedef struct ml_Inst {
    const ml_Primitive *prim;
    uint32_t n_inputs, n_attrs, n_outputs;
    const ml_TV *inputs, *attrs;
    const ml_TVar *outputs;
    const ml_Value *decision; /* or NULL */
    int version;              /* the version it made, or was recorded at */
} ml_Inst;
typedef struct ml_Trace {
    size_t n;
    const ml_Inst *const *insts;
} ml_Trace;

/* The trace of the current version, in cx. */
ml_Trace ml_schedule_trace(ml_Schedule *s, ml_Ctx *cx);
ml_Trace ml_trace_simplified(ml_Ctx *cx, const ml_Trace *t, bool remove_postproc);
ml_Trace ml_trace_with_decision(ml_Ctx *cx, const ml_Trace *t, size_t inst,
                                const ml_Value *decision);
/* Replays onto s; false: s's error says which instruction failed (a note) and s is at the
 * version before it. decide (may be NULL) may replace each decision. Names are not resolved
 * and nothing is printed. */
typedef const ml_Value *ml_DecideFn(const ml_Inst *inst, const ml_Value *decision,
                                    void *user);
bool ml_trace_apply(ml_Schedule *s, const ml_Trace *t, bool remove_postproc,
                    ml_DecideFn *decide, void *user, size_t *n_done);
/* How many instructions there were just before the step that made the version. */
size_t ml_trace_before(const ml_Schedule *s, int version);
size_t ml_trace_after(const ml_Schedule *s, int version); /* just after it */
/* The steps of the current line that use what was sampled, and those that copy or run in
 * parallel, in words: `j=2×4×16, i=32×4, parallel(i_0)`. */
void ml_schedule_design(ml_Schedule *s, ml_Text *out);
/* What the step that made the current version returned: n handles, in cx. */
const ml_Handle *ml_version_results(const ml_Schedule *s, ml_Ctx *cx, size_t *n);
/* Repeats the instructions from `first` on of the schedule's own trace (taken at a later
 * version) on its current version, in which what the earlier ones made is still meant; but
 * the outputs of instruction first - 1 are the n handles of `instead`, by position (NULL:
 * they stay what they were). */
bool ml_trace_continue(ml_Schedule *s, const ml_Trace *own, size_t first,
                       const ml_Handle *instead, size_t n, size_t *n_done);
void ml_trace_lua(ml_Ctx *cx, ml_Text *out, const ml_Trace *t); /* native Lua, on `sch` */
void ml_trace_python(ml_Ctx *cx, ml_Text *out, const ml_Trace *t, bool newest);
void ml_trace_json(ml_Ctx *cx, ml_Text *out, const ml_Trace *t);
/* NULL: cx's error is bad-trace / no-such-instruction with the position. */
bool ml_trace_from_json(ml_Ctx *cx, ml_Str json, ml_Trace *out);
/* A saved schedule file: program text, function, trace, hash; bare traces have no program.
 */
typedef struct ml_Saved {
    const char *program; /* or NULL */
    const char *func;
    const char *target;
    const char *hash;
    bool no_check, unchecked; /* the schedule's switches of these names */
    ml_Trace trace;
} ml_Saved;
bool ml_saved_read(ml_Ctx *cx, ml_Str json, ml_Saved *out);
void ml_saved_write(ml_Schedule *s, ml_Text *out);
/* A Lua script that rebuilds the version from its start, asserts its hash and returns the
 * schedule; its first line begins with the mark. */
#define ML_SAVED_LUA "-- moonloop schedule: "
void ml_saved_lua(ml_Schedule *s, ml_Text *out);
/* The same for all versions, with marks and branches; version k is version k again. */
void ml_saved_lua_all(ml_Schedule *s, ml_Text *out);

#endif

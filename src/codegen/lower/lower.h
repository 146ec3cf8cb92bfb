/*
 * lower - from a scheduled function to one without blocks, loops of vectors and n-D
 * buffers: passes in a fixed order, each function -> function, each in a file of its own.
 *
 * A pass leaves its input untouched and shares what it does not change, so that any two
 * stages can be shown side by side. Every statement that a pass makes carries the span of
 * the statement it came from (base.span): a function is lowered as it was read from its
 * printed form, so that spans are lines of that text. ml_lower_verify refuses a statement
 * without one. Source: lowering-and-codegen 1 to 3, 4.1, 5.
 */
#ifndef ML_CODEGEN_LOWER_H
#define ML_CODEGEN_LOWER_H

#include "moonloop/codegen/target/target.h"
#include "moonloop/core/arith/arith.h"
#include "moonloop/core/stmt.h"

/* Program stages (1.1); each implies the invariants listed there. */
typedef enum ml_Stage {
    ML_STAGE_SCHEDULABLE, /* S: blocks with iterators */
    ML_STAGE_OPAQUE,      /* O: blocks without iterators and init */
    ML_STAGE_FLAT,        /* F: no blocks; ALLOC; 1-D buffers; loops from 0 in steps of 1 */
    ML_STAGE_VECTOR,      /* V: no vectorized loops; ramps and masks */
    ML_STAGE_BODY,        /* as V; parameters are plain: data pointers and scalars (5.2) */
    ML_STAGES
} ml_Stage;
const char *ml_stage_name(ml_Stage s);

typedef struct ml_LowerOpts {
    ml_Target target;
    bool partition_const_loop;                               /* true for CPU (3.2) */
    uint32_t auto_max_step, auto_max_depth, auto_max_extent; /* unroll (3.6) */
    bool debug_verify; /* the stage verifier after every pass; on in tests */
} ml_LowerOpts;
ml_LowerOpts ml_lower_defaults(const ml_Target *t);

/* Remarks of passes (warnings, reports): one sentence each with the statement's span. */
typedef struct ml_LowerNote {
    const ml_Span *span; /* or NULL */
    const char *text;
} ml_LowerNote;

typedef struct ml_Lower { /* the state of one lowering */
    ml_Ctx *cx;           /* everything made lives here */
    ml_LowerOpts opts;
    const ml_Module *module; /* for functions called by name; may be NULL */
    ML_VEC(ml_LowerNote) notes;
} ml_Lower;
void ml_lower_note(ml_Lower *lo, const ml_Span *span, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* NULL with cx's error: it carries the pass (error's primitive), the statement, the rule.
 */
typedef const ml_Func *ml_PassFn(ml_Lower *lo, const ml_Func *f);
typedef struct ml_Pass {
    const char *name; /* as :ir names it: "compact_buffers" */
    ml_Stage in, out;
    ml_Pipeline pipelines; /* that run it */
    ml_PassFn *run;
    const char *help; /* one line */
} ml_Pass;
/* In order; passes.def lists them. */
extern const ml_Pass ml_passes[];
extern const size_t ml_n_passes;
const ml_Pass *ml_pass_find(const char *name);           /* NULL: unknown */
bool ml_pass_runs(const ml_Pass *p, const ml_Target *t); /* in the pipeline of its kind */

/* Called after each pass with its result; false stops the lowering there. */
typedef bool ml_LowerHook(const ml_Pass *pass, const ml_Func *f, void *user);
/* Runs the passes; stop_after: name of the last pass to run, or NULL for all of them. */
const ml_Func *ml_lower(ml_Lower *lo, const ml_Func *f, const char *stop_after,
                        ml_LowerHook *hook, void *user);
/* Whether f is of the stage, spans included; false: cx's error names the statement. */
bool ml_lower_verify(ml_Ctx *cx, const ml_Func *f, ml_Stage stage);
/* Sets the error `lowering-failed` with pass, statement and sentence; NULL. */
const ml_Func *ml_lower_fail(ml_Lower *lo, const char *pass, const ml_Stmt *at,
                             const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ---- after make_body: how a caller's arguments become the words that a body takes.
 * Body parameters in order: for each parameter of the function its data pointer (to
 * element 0 of the declared view, offset included) or scalar; then every size variable
 * that is no parameter of its own, in order of first occurrence in shapes, strides and
 * offsets. */
typedef struct ml_Signature {
    const ml_Func *func; /* as it was before lowering: names, buffers, dtypes */
    uint32_t n_sizes;
    const ml_Var *const *sizes; /* those appended */
} ml_Signature;
/* Of the function before lowering; false: the error says what cannot be found (a size that
 * occurs in compound expressions only). */
bool ml_signature_of(ml_Ctx *cx, const ml_Func *f, ml_Signature *out);

#endif

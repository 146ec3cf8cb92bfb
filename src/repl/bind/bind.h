/*
 * bind - the Lua side of moonloop: what the host calls, and what the files of this folder
 * share.
 *
 * Objects are full userdata. Those that are part of a program hold a *space*: a counted
 * reference to the context that owns the nodes. No Lua function that may raise is called
 * while something outside an arena or a userdata is owned. Source: lua-api, style 9.
 */
#ifndef ML_REPL_BIND_BIND_H
#define ML_REPL_BIND_BIND_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <signal.h>

#include "codegen/machine/engine.h"
#include "codegen/tensor/tensor.h"
#include "core/reach.h"
#include "primitives/call/render.h"
#include "primitives/trace.h"
#include "repl/out/interrupt.h"

/* ---- for the host */

/* Leaves `moon` on the stack; the same table each time in one state; writes no global. */
int luaopen_moonloop(lua_State *L);
/* The same, and package.loaded.moonloop is set. */
void ml_lua_open(lua_State *L);
/* While *flag is not 0, running Lua code and primitives at work raise `interrupted`, which
 * sets the flag back to 0, except from ML_INTERRUPT_HARD: that is raised again and again,
 * past every pcall, until the caller resets it. NULL: none. Contexts made meanwhile keep
 * watching the flag: it outlives the state. */
void ml_lua_set_interrupt(lua_State *L, volatile sig_atomic_t *flag);
/* The seed of schedules that are made without one. */
void ml_lua_set_seed(lua_State *L, int64_t seed);
/* Bytes that one program, and one tensor, may take from now on; 0: as much as there is. */
void ml_lua_set_limit(lua_State *L, size_t bytes);
/* Whether schedules that are made check themselves after each step. */
void ml_lua_set_verify(lua_State *L, bool on);
/* The schedule at that index, not counted; NULL: it is no schedule. */
ml_Schedule *ml_lua_to_schedule(lua_State *L, int idx);
void ml_lua_push_schedule(lua_State *L, ML_TAKES ml_Schedule *s);
/* The failure inside an error object; NULL: it is none. */
ml_Failure *ml_lua_to_failure(lua_State *L, int idx);
/* The diagnostics of a text that could not be read, as they are shown; NULL: none. */
const char *ml_lua_failure_text(lua_State *L, int idx);
/* Where the Lua code stood when the error was raised, innermost first; NULL at the end. */
const char *ml_lua_failure_frame(lua_State *L, int idx, size_t k, const char **name,
                                 int *line);
/* Raises an error object of this code; the text is the sentence's first fact. Functions
 * that only raise have a result so that they can be returned, as lua_error can. */
_Noreturn int ml_lua_fail(lua_State *L, ml_ErrorCode code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The program (module, function or schedule) at that index, or false. */
bool ml_lua_to_program(lua_State *L, int idx, ml_Ctx **cx, const ml_Module **m);
/* What this state compiles, runs and times with; made when it is first asked for. */
ml_Engine *ml_lua_engine(lua_State *L);
/* A handle's name, schedule and kind; false: it is no handle. */
bool ml_lua_to_handle(lua_State *L, int idx, ml_Schedule **s, ml_Handle *h);

/* ---- inside: one state */

typedef struct BindSpace BindSpace;
typedef struct BindState {
    volatile sig_atomic_t *interrupt;
    BindSpace *builder; /* where expressions are built now; not counted; or NULL */
    ml_Ctx *spare;      /* a scratch context at rest, or NULL */
    int64_t seed;
    bool verify;                /* of new schedules */
    ml_Engine *engine;          /* or NULL */
    struct ml_Intrins *intrins; /* or NULL */
    bool safe;                  /* the prompt's --safe: Lua writes no file and */
    const ml_Reach *reach;      /* reads these only */
    size_t limit;               /* bytes of a context; 0: none */
} BindState;
BindState *bind_state(lua_State *L);
/* The tensor intrinsics of this state; made when they are first asked for. */
struct ml_Intrins *bind_intrins(lua_State *L);

/* ---- spaces: a context with the number of Lua objects that point into it */
struct BindSpace {
    ml_Ctx *cx;
    size_t refs;
    BindState *st; /* of the builder's space; else NULL */
};
/* Takes over the reference to cx (not frozen); no object yet. */
BindSpace *bind_space_new(lua_State *L, ML_TAKES ml_Ctx *cx);
void bind_space_ref(BindSpace *sp);
void bind_space_unref(BindSpace *sp); /* NULL is fine */
BindSpace *bind_builder(lua_State *L);
int bind_space_gc(lua_State *L); /* __gc of every object that begins with its space */
/* A fresh context that knows the interrupt flag. Call inside a box (below). */
ML_GIVES ml_Ctx *bind_new_ctx(lua_State *L);
/* Memory outside Lua was taken: the collector goes on as if Lua had. */
void bind_pressure(lua_State *L, size_t bytes);

/* ---- scratch and texts: userdata on the stack that own what C needs for one call */
/* Pushes a box with a scratch context; bind_scratch_done empties it. */
ml_Ctx *bind_scratch(lua_State *L);
void bind_scratch_done(lua_State *L, int idx);
/* Keeps the value on top of the stack alive as long as the box at idx; pops it. */
void bind_anchor(lua_State *L, int idx);
/* Pushes a box for a context, to be filled by the caller. */
ml_Ctx **bind_context_box(lua_State *L);
/* Pushes a box with an empty text. */
ml_Text *bind_text(lua_State *L);
/* Pushes the text as a string and empties it. */
void bind_push_text(lua_State *L, ml_Text *t);

/* ---- classes */
typedef struct BindClass {
    const char *name;               /* __name, also the key in the registry */
    const luaL_Reg *meta, *methods; /* either may be NULL */
    const char *const *fields;      /* ended by NULL; NULL: none */
    /* Pushes the field of the object at 1 and returns true; false: there is none. */
    bool (*get)(lua_State *L, const char *key);
} BindClass;
void bind_class(lua_State *L, const BindClass *c);
/* A zeroed object of the class. */
void *bind_new(lua_State *L, const BindClass *c, size_t size, int n_uservalues);
void *bind_test(lua_State *L, int idx, const BindClass *c); /* NULL: another thing */
void *bind_check(lua_State *L, int idx, const BindClass *c);
/* Adds the functions to the table on top of the stack. */
void bind_functions(lua_State *L, const luaL_Reg *fns);

extern const BindClass bind_module_class, bind_func_class, bind_buffer_class,
    bind_schedule_class, bind_handle_class, bind_hexpr_class, bind_trace_class,
    bind_expr_class, bind_stmt_class, bind_map_class, bind_tensor_class, bind_error_class,
    bind_auto_class;

/* ---- errors */
/* Raises what is set in cx, as a failure of no schedule. */
_Noreturn int bind_raise(lua_State *L, ml_Ctx *cx);
_Noreturn int bind_raise_box(lua_State *L, ml_Ctx **box);
_Noreturn int bind_raise_schedule(lua_State *L, ml_Schedule *s);
/* Pushes the error of a call that was only tried. */
void bind_push_failure(lua_State *L, ml_Schedule *s);
/* Raises cx's error with the rendered diagnostics of a text. */
_Noreturn int bind_raise_parse(lua_State *L, ml_Ctx *cx, const ml_Parsed *parsed,
                               ml_Str source);
_Noreturn int bind_bad(lua_State *L, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn int bind_not_yet(lua_State *L); /* upvalue 1: the name */
_Noreturn void bind_throw(lua_State *L);  /* the value on top of the stack */
/* lua_call of a function that was given as an argument: what it raises otherwise than as an
 * error object becomes bad-argument, which begins with `what`. */
void bind_call(lua_State *L, int n_args, int n_results, const char *what);

/* ---- arguments of plain functions; all raise bad-argument */
const char *bind_type(lua_State *L, int idx); /* what a value is, for messages */
int64_t bind_int(lua_State *L, int idx, const char *what);
const char *bind_string(lua_State *L, int idx, const char *what);
double bind_number(lua_State *L, int idx, const char *what);
/* Of what may be missing (nil). */
double bind_number_or(lua_State *L, int idx, const char *what, double def);
void bind_table(lua_State *L, int idx, const char *what);
/* The table of options at idx (nil counts as empty); names outside `known` are refused.
 * Leaves nothing on the stack; false: there are none. */
bool bind_options(lua_State *L, int idx, const char *const *known);
/* Option readers; the value stays on the stack where it is a text. */
bool bind_opt_bool(lua_State *L, int idx, const char *key, bool def);
int64_t bind_opt_int(lua_State *L, int idx, const char *key, int64_t def);
double bind_opt_number(lua_State *L, int idx, const char *key, double def);
const char *bind_opt_string(lua_State *L, int idx, const char *key, const char *def);
/* Position of the option's text in `words` (ended by NULL). */
int bind_opt_word(lua_State *L, int idx, const char *key, const char *const *words,
                  int def);
ml_Dtype bind_dtype(lua_State *L, int idx, const char *what);
void bind_push_dtype(lua_State *L, ml_Dtype t);

/* ---- fields of the table on top of the stack */
void bind_set_string(lua_State *L, const char *key, const char *z); /* NULL: no field */
void bind_set_int(lua_State *L, const char *key, int64_t v);
void bind_set_number(lua_State *L, const char *key, double v);
void bind_set_bool(lua_State *L, const char *key, bool v);

/* ---- values */
/* The Lua value at idx as a raw argument in cx. box: a scratch box that keeps what it
 * points to; s: the schedule whose handles may occur, or NULL. */
ml_Arg bind_read_arg(lua_State *L, int idx, ml_Ctx *cx, int box, ml_Schedule *s);
/* The same for an argument of that primitive: functions for ranges may give pairs. */
ml_Arg bind_read_arg_of(lua_State *L, const ml_Primitive *prim, int idx, ml_Ctx *cx,
                        int box, ml_Schedule *s);
/* The same without functions: no Lua is run. */
ml_Arg bind_read_held_arg(lua_State *L, int idx, ml_Ctx *cx, ml_Schedule *s);
/* Constants: numbers, strings, booleans, lists, dicts, expressions of the space. */
const ml_Value *bind_read_value(lua_State *L, int idx, ml_Ctx *cx);
void bind_push_value(lua_State *L, BindSpace *sp, const ml_Value *v);

/* ---- programs */
typedef struct BindModule {
    BindSpace *sp;
    const ml_Module *m;
} BindModule; /* uservalue 1: a table of further fields, or nil */
typedef struct BindFunc {
    BindSpace *sp;
    const ml_Func *f;
} BindFunc;
typedef struct BindBuffer {
    BindSpace *sp;
    const ml_Buffer *b;
} BindBuffer;
void bind_push_module(lua_State *L, BindSpace *sp, const ml_Module *m);
void bind_push_func(lua_State *L, BindSpace *sp, const ml_Func *f);
void bind_push_buffer(lua_State *L, BindSpace *sp, const ml_Buffer *b);
/* A copy of f in cx in which every identity is fresh: one module may hold it beside others.
 */
const ml_Func *bind_import_fresh(ml_Ctx *cx, const ml_Func *f);
/* Methods of modules and functions. */
int bind_program_script(lua_State *L);
int bind_program_hash(lua_State *L);
int bind_program_eq(lua_State *L);
/* Reads a text into a module; raises with all its diagnostics. */
void bind_parse(lua_State *L, ml_Str text, const ml_ParseOpts *opts);
/* A copy of the module in a context of its own, pushed as a module. */
void bind_push_imported(lua_State *L, const ml_Module *m);
/* Raises not-supported when --safe keeps Lua from reading the file, or from doing `what`.
 */
void bind_may_read(lua_State *L, const char *path);
void bind_not_safe(lua_State *L, const char *what);
/* Reads a file whole onto the stack as a string; raises no-file. */
void bind_read_file(lua_State *L, const char *path);
bool bind_print_opts(lua_State *L, int idx,
                     ml_PrintOpts *o); /* spelling, regions, prefix */

typedef struct BindProgram {
    ml_Ctx *cx;         /* owns it; frozen or not */
    const ml_Module *m; /* NULL when it is a lone function */
    const ml_Func *f;   /* the lone function, or NULL */
    ml_Schedule *s;     /* or NULL */
} BindProgram;
/* A module, function or schedule; raises. */
BindProgram bind_program(lua_State *L, int idx);
/* The function meant: by name, or the schedule's, the entry, main, the only one; raises. */
const ml_Func *bind_program_func(lua_State *L, const BindProgram *p, const char *name);

/* ---- schedules and handles */
typedef struct BindSchedule {
    ml_Schedule *s;
} BindSchedule;
typedef struct BindHandle {
    ml_Handle h;
} BindHandle; /* uservalue 1: the schedule */
typedef struct BindHexpr {
    uint8_t op; /* an ml_ExprKind */
} BindHexpr;    /* uservalues 1, 2: operands; 3: the schedule */
ml_Schedule *bind_check_schedule(lua_State *L, int idx);
void bind_push_handle(lua_State *L, int sched, ml_Handle h);
/* The results of a call on the schedule at `sched`, as Lua sees them; number of values. */
int bind_push_results(lua_State *L, int sched, const ml_Results *r);
/* An arithmetic expression over handles; false: the value at idx is none. */
bool bind_hexpr(lua_State *L, int idx, ml_Ctx *cx, ml_Schedule *s, const ml_Expr **out);
/* Whether a handle made by `from` may be used with s. */
bool bind_same_family(ml_Schedule *from, ml_Schedule *s);
/* Version number or mark at idx. */
int bind_version(lua_State *L, int idx, ml_Schedule *s);
void bind_push_trace(lua_State *L, int sched);
int bind_trace_new(lua_State *L);
void bind_schedule_primitives(lua_State *L); /* adds them to the table on top */
/* The primitive on top, or call that is not recorded, becomes one that knows the schedule
 * at `object`; its name stands above that. */
void bind_method_of(lua_State *L, int object);
void bind_schedule_versions(lua_State *L); /* methods of the version tree, likewise */
void bind_schedule_calls(lua_State *L);    /* what no trace records, likewise */
struct ml_ScheduleCall;
void bind_push_schedule_call(lua_State *L, const struct ml_ScheduleCall *c);

/* ---- expressions and statements */
typedef struct BindExpr {
    BindSpace *sp;
    const ml_Expr *e;
} BindExpr;
typedef struct BindStmt {
    BindSpace *sp;
    const ml_Stmt *s;
} BindStmt;
typedef struct BindMap {
    BindSpace *sp;
    const ml_IndexMap *m;
} BindMap;
void bind_push_expr(lua_State *L, BindSpace *sp, const ml_Expr *e);
/* A number, boolean or expression as an expression of the builder's space; raises. `like`:
 * the dtype that a plain number takes where it can (code ML_VOID: none). */
const ml_Expr *bind_expr(lua_State *L, int idx, BindSpace *sp, ml_Dtype like,
                         const char *what);
/* The function at idx, called once over fresh variables; pushes an index map. */
void bind_map_from_function(lua_State *L, int idx, int inverse, bool ranges);
int bind_new_index_map(lua_State *L);  /* moon.index_map */
int bind_ir_table(lua_State *L);       /* pushes moon.ir */
int bind_stmt_functions(lua_State *L); /* adds to moon.ir on top */

/* ---- tensors, runs, checks, tables */
typedef struct BindTensor {
    ml_Tensor *t;
} BindTensor;
ml_Tensor *bind_tensor(lua_State *L, int idx);
void bind_push_tensor(lua_State *L, BindTensor **box); /* an empty one, to be filled */
int bind_tensor_functions(lua_State *L);
int bind_check_functions(lua_State *L);
int bind_time_functions(lua_State *L);
int bind_counts_functions(lua_State *L);
int bind_machine_functions(lua_State *L);
int bind_reference_functions(lua_State *L);
int bind_info_functions(lua_State *L);
int bind_program_functions(lua_State *L);
int bind_intrin_functions(lua_State *L);
int bind_reducer_functions(lua_State *L);
int bind_tile_with_intrinsic(lua_State *L); /* schedule:tile_with_intrinsic */
int bind_schedule_functions(lua_State *L);

#endif

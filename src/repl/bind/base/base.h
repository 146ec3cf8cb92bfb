/*
 * base - what all files that speak with Lua share: the state, boxes, classes, errors,
 * arguments.
 *
 * Objects are full userdata. Those that are part of a program hold a *space*: a counted
 * reference to the context that owns the nodes. No Lua function that may raise is called
 * while something outside an arena or a userdata is owned. Source: lua-api, style 9.
 */
#ifndef ML_REPL_BIND_BASE_BASE_H
#define ML_REPL_BIND_BASE_BASE_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <signal.h>

#include "moonloop/codegen/machine/engine.h"
#include "moonloop/core/reach.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/work/fact/fact.h"
#include "repl/out/interrupt.h"

/* ---- one state */

typedef struct BindSpace BindSpace;
typedef struct BindState {
    volatile sig_atomic_t *interrupt;
    ml_WatchFn *watch; /* called now and then while Lua or a context is at work; or NULL */
    void *watch_user;
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
void bind_new_state(lua_State *L); /* once, before all else */
BindState *bind_state(lua_State *L);
/* The tensor intrinsics of this state; made when they are first asked for. */
struct ml_Intrins *bind_intrins(lua_State *L);
/* While *flag is not 0, running Lua code and primitives at work raise `interrupted`, which
 * sets the flag back to 0, except from ML_INTERRUPT_HARD: that is raised again and again,
 * past every pcall, until the caller resets it. NULL: none. Contexts made meanwhile keep
 * watching the flag: it outlives the state. */
void ml_lua_set_interrupt(lua_State *L, volatile sig_atomic_t *flag);
/* A thread of this state looks for the flag, as new ones do. */
void bind_watch_interrupt(lua_State *L);
/* Calls fn now and then while Lua runs, and what is made for it; fn runs no Lua. */
void ml_lua_set_watch(lua_State *L, ml_WatchFn *fn, void *user);
/* The seed of schedules that are made without one. */
void ml_lua_set_seed(lua_State *L, int64_t seed);
/* Bytes that one program, and one tensor, may take from now on; 0: as much as there is. */
void ml_lua_set_limit(lua_State *L, size_t bytes);
/* Whether schedules that are made check themselves after each step. */
void ml_lua_set_verify(lua_State *L, bool on);
/* What this state compiles, runs and times with; made when it is first asked for. */
ml_Engine *ml_lua_engine(lua_State *L);
/* Raises not-supported when --safe keeps Lua from reading the file, or from doing `what`.
 */
void bind_may_read(lua_State *L, const char *path);
void bind_not_safe(lua_State *L, const char *what);

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
/* A fresh context that knows the interrupt flag. Call inside a box (below). */
ML_GIVES ml_Ctx *bind_new_ctx(lua_State *L);
/* Memory outside Lua was taken: the collector goes on as if Lua had. */
void bind_pressure(lua_State *L, size_t bytes);

/* ---- scratch and texts: userdata on the stack that own what C needs for one call */
/* Pushes zeroed memory; gc frees what it owns by then, also when it is still zeroed. */
void *bind_box(lua_State *L, size_t size, const char *name, lua_CFunction gc);
/* Pushes a box with a scratch context; bind_scratch_done empties it. */
ml_Ctx *bind_scratch(lua_State *L);
void bind_scratch_done(lua_State *L, int idx);
/* Keeps the value on top of the stack alive as long as the box at idx; pops it. */
void bind_anchor(lua_State *L, int idx);
/* Pushes a box for a context, to be filled by the caller. */
ml_Ctx **bind_context_box(lua_State *L);
ml_Failure **bind_failure_box(lua_State *L); /* the same for a failure */
/* Pushes a box with a child of cx, which knows the interrupt flag. */
ml_Ctx **bind_fork(lua_State *L, ml_Ctx *cx);
/* Pushes a box with an empty text. */
ml_Text *bind_text(lua_State *L);
/* Pushes the text as a string and empties it. */
void bind_push_text(lua_State *L, ml_Text *t);
int bind_give_text(lua_State *L, ml_Text *t); /* the same as the one result: 1 */

/* ---- classes */
struct BindProgram;
typedef struct BindAsk {
    lua_State *L;
    int idx;
    ml_Ctx *cx;
    ml_Schedule *s;
} BindAsk;
typedef struct BindClass {
    const char *name;               /* __name, also the key in the registry */
    const luaL_Reg *meta, *methods; /* either may be NULL */
    const char *const *fields;      /* ended by NULL; NULL: none */
    /* Pushes the field of the object at 1 and returns true; false: there is none. */
    bool (*get)(lua_State *L, const char *key);
    bool any_key;   /* get is asked for keys that are no strings, too: its key is NULL */
    bool is_number; /* its field `value` is an integer */
    bool in_space;  /* its objects begin with their space (bind_new_in) */
    /* The rest may be NULL. Frees what the object holds; it is called again for an empty one.
     * Makes __gc, __close and the method close. */
    void (*close)(void *object);
    /* Writes what tostring gives of the object at 1; else meta does. */
    void (*print)(lua_State *L, ml_Text *t);
    /* Adds more methods to the table on top of the stack. */
    void (*add_methods)(lua_State *L);
    /* The method on top becomes one that knows the object at that index. */
    void (*method_of)(lua_State *L, int object);
    /* What it is as a program (ir.h), and as an argument of a primitive of s (NULL: none), in
     * cx; false: nothing. */
    bool (*program)(lua_State *L, int idx, struct BindProgram *out);
    bool (*arg)(const struct BindAsk *ask, ml_Arg *out);
} BindClass;
void bind_class(lua_State *L, const BindClass *c);
/* A zeroed object of the class. */
void *bind_new(lua_State *L, const BindClass *c, size_t size, int n_uservalues);
/* The same of a class whose objects begin with their space; NULL: a new one of its own. */
void *bind_new_in(lua_State *L, const BindClass *c, size_t size, BindSpace *sp);
void *bind_test(lua_State *L, int idx, const BindClass *c); /* NULL: another thing */
const BindClass *bind_class_of(lua_State *L, int idx);      /* NULL: none of ours */
void *bind_check(lua_State *L, int idx, const BindClass *c);
/* What __index does with a name, or another key, at 2 that the object at 1 does not have: they
 * raise unknown-name. */
_Noreturn int bind_no_member(lua_State *L, const BindClass *c);
_Noreturn int bind_no_element(lua_State *L, const BindClass *c);
/* unknown(where, name, table): raises the same of a name in a table of moon */
int bind_no_name(lua_State *L);
/* nearest(name, table): its key that is spelt most alike, or nil */
int bind_nearest(lua_State *L);
int bind_no_field_set(lua_State *L); /* __newindex; upvalue: the class */
/* Adds the functions to the table on top of the stack. */
void bind_functions(lua_State *L, const luaL_Reg *fns);

extern const BindClass bind_error_class;

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
_Noreturn void bind_throw(lua_State *L); /* the value on top of the stack */
/* lua_call of a function that was given as an argument: what it raises otherwise than as an
 * error object becomes bad-argument, which begins with `what`. */
void bind_call(lua_State *L, int n_args, int n_results, const char *what);
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

/* ---- arguments of plain functions; all raise bad-argument */
const char *bind_type(lua_State *L, int idx); /* what a value is, for messages */
/* Puts the integer in the place of a float that is one, 1e3: where an integer is wanted. Whether
 * it is one now. */
bool bind_whole(lua_State *L, int idx);
int64_t bind_int(lua_State *L, int idx, const char *what);
const char *bind_string(lua_State *L, int idx, const char *what);
ml_Str bind_str(lua_State *L, int idx, const char *what); /* with its length */
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
/* Pushes the facts of s as a table, by the fields that --json prints; reading a name of
 * before raises unknown-name, which tells the name of now. */
void bind_push_facts(lua_State *L, const ml_FieldTable *t, const void *s);
/* Pushes that fact alone, nil where it is left out; false: there is no such field. */
bool bind_push_fact(lua_State *L, const ml_FieldTable *t, const char *name, const void *s);
void bind_facts_hint(lua_State *L,
                     const ml_FieldTable *t); /* the same for a table on top */

#endif

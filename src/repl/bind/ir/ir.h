/*
 * ir - programs and what they are made of as Lua objects: modules, functions, buffers,
 * expressions, statements, index maps, tensors; Lua values as constants and arguments.
 * Source: lua-api 2.
 */
#ifndef ML_REPL_BIND_IR_IR_H
#define ML_REPL_BIND_IR_IR_H

#include "moonloop/codegen/tensor/tensor.h"
#include "moonloop/primitives/trace.h"
#include "repl/bind/base/base.h"

extern const BindClass bind_module_class, bind_func_class, bind_buffer_class,
    bind_expr_class, bind_stmt_class, bind_map_class, bind_tensor_class;

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
void bind_push_func(lua_State *L, BindSpace *sp, const ml_Func *f);
/* One in a space of its own, to be filled and sealed. */
BindFunc *bind_open_func(lua_State *L);
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
/* The program (module, function or schedule) at that index, or false. */
bool ml_lua_to_program(lua_State *L, int idx, ml_Ctx **cx, const ml_Module **m);

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
/* The list at idx, as n of them. */
const ml_Expr **bind_exprs(lua_State *L, int idx, BindSpace *sp, ml_Dtype like,
                           const char *what, size_t *n);
/* The function at idx, called once over fresh variables; pushes an index
 * map, which may still be completed. */
ml_IndexMap *bind_map_from_function(lua_State *L, int idx, bool ranges);
int bind_new_index_map(lua_State *L);  /* moon.index_map */
int bind_ir_table(lua_State *L);       /* pushes moon.ir */
int bind_stmt_functions(lua_State *L); /* adds to moon.ir on top */

/* ---- tensors */
typedef struct BindTensor {
    ml_Tensor *t;
} BindTensor;
ml_Tensor *bind_tensor(lua_State *L, int idx);
void bind_push_tensor(lua_State *L, BindTensor **box); /* an empty one, to be filled */

/* ---- functions of moon, added to the table on top */
int bind_program_functions(lua_State *L);
int bind_tensor_functions(lua_State *L);
int bind_intrin_functions(lua_State *L);
int bind_reducer_functions(lua_State *L);

#endif

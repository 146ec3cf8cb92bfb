/* equal - structural equality and the machine-independent hash.
 * Source: script 13, ir-and-analysis 6.6. Names are ignored; operands are not commuted. */
#ifndef ML_CORE_EQUAL_H
#define ML_CORE_EQUAL_H

#include "moonloop/core/stmt.h"

typedef struct ml_EqualOpts {
    bool map_free;      /* free variables may map to each other, consistently */
    bool ignore_symbol; /* the attribute global_symbol is skipped */
} ml_EqualOpts;

/* Where the first difference is, on both sides. */
typedef struct ml_Difference {
    const char *reason;             /* one line: "extent 64 vs 128"; in cx's arena */
    const char *path_a, *path_b;    /* e.g. main.body[1].for i.block C.value.args[0] */
    const ml_Stmt *stmt_a, *stmt_b; /* nearest enclosing statements, or NULL */
} ml_Difference;

/* cx is for scratch and for the text of *diff (diff may be NULL; then nothing is
 * formatted); a and b may be of any contexts. opts NULL: all false. */
bool ml_equal_expr(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b, const ml_EqualOpts *opts,
                   ml_Difference *diff);
bool ml_equal_stmt(ml_Ctx *cx, const ml_Stmt *a, const ml_Stmt *b, const ml_EqualOpts *opts,
                   ml_Difference *diff);
/* What a block does, wherever it stands: its bindings and predicate do not count. With
 * map_free, buffers and sizes from outside map to each other. */
bool ml_equal_block(ml_Ctx *cx, const ml_Block *a, const ml_Block *b,
                    const ml_EqualOpts *opts, ml_Difference *diff);
bool ml_equal_func(ml_Ctx *cx, const ml_Func *a, const ml_Func *b, const ml_EqualOpts *opts,
                   ml_Difference *diff);
bool ml_equal_module(ml_Ctx *cx, const ml_Module *a, const ml_Module *b,
                     const ml_EqualOpts *opts, ml_Difference *diff);

/* equal => same hash; without free variables (or with map_free) the same on all machines.
 */
uint64_t ml_hash_expr(ml_Ctx *cx, const ml_Expr *e, const ml_EqualOpts *opts);
uint64_t ml_hash_stmt(ml_Ctx *cx, const ml_Stmt *s, const ml_EqualOpts *opts);
uint64_t ml_hash_block(ml_Ctx *cx, const ml_Block *b, const ml_EqualOpts *opts);
uint64_t ml_hash_func(ml_Ctx *cx, const ml_Func *f, const ml_EqualOpts *opts);
uint64_t ml_hash_module(ml_Ctx *cx, const ml_Module *m, const ml_EqualOpts *opts);

#endif

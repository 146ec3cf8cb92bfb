/* canon - the canonical sequence of words of a program, read by equality and hash. Two
 * programs are structurally equal exactly when their sequences are. Internal to core. */
#ifndef ML_CORE_CANON_H
#define ML_CORE_CANON_H

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/vec.h"

typedef struct ml_CanonPath ml_CanonPath;
typedef ML_VEC(uint64_t) ml_WordVec;

typedef struct ml_Canon {
    ml_Ctx *cx;
    ml_EqualOpts opts;
    /* what to do with the words; exactly one of hashing, keep, compare, and reporting */
    bool hashing;
    uint64_t hash;
    ml_WordVec *keep;          /* appended to */
    const ml_WordVec *compare; /* stops at the first difference */
    bool reporting;            /* stops at word number stop_at and describes the place */
    size_t stop_at;
    /* state */
    size_t n;         /* words so far */
    bool stopped;     /* at a difference or at stop_at, which is then n */
    ml_Map *ordinals; /* uid -> its number, from 1, in order of definition */
    ml_Map *seen;     /* id of a large expression -> its number, from 1 */
    ml_Map *bound;    /* ids of large expressions searched for variables to define */
    const ml_CanonPath *top;
    const ml_Stmt *stmt;
    /* the report */
    const char *path, *label, *shown;
    const ml_Stmt *where;
} ml_Canon;

/* A walk that has not begun; opts NULL: all false. */
ml_Canon ml_canon_begin(ml_Ctx *cx, const ml_EqualOpts *opts);
void ml_canon_expr(ml_Canon *c, const ml_Expr *e);
void ml_canon_stmt(ml_Canon *c, const ml_Stmt *st);
void ml_canon_block(ml_Canon *c, const ml_Block *b); /* without its realization */
void ml_canon_func(ml_Canon *c, const ml_Func *f);
void ml_canon_module(ml_Canon *c, const ml_Module *m);

#endif

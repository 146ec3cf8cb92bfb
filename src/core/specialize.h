/* specialize - a function for sizes that are known: symbols become constants. */
#ifndef ML_CORE_SPECIALIZE_H
#define ML_CORE_SPECIALIZE_H

#include "moonloop/core/stmt.h"
#include "moonloop/core/vec.h"

/* A symbolic size or integer parameter, by its name, and what it is from now on. */
typedef struct ml_Constant {
    const char *name;
    int64_t value;
} ml_Constant;

enum { ML_MOST_CONSTANTS = 16 };

typedef ML_VEC(const ml_Var *) ml_VarVec;
/* What a caller chooses besides memory: variables of the parameters' shapes, strides and
 * offsets, and integer parameters, each once, in the order of the text. Those of the shapes
 * come first when `shapes` is set, which leaves the others out. Appended to out. */
void ml_func_symbols(ml_Ctx *cx, const ml_Func *f, bool shapes, ml_VarVec *out);
/* A copy of the program for some sizes: `if n == 16: block`. */
typedef struct ml_Arm {
    const ml_Block *block;
    ml_Constant sizes[ML_MOST_CONSTANTS];
    size_t n;
} ml_Arm;
typedef struct ml_Arms {
    ML_VEC(ml_Arm) v;
    const ml_Block *root;    /* NULL: the function holds no blocks */
    const ml_Block *general; /* for all other sizes; the root where there are no arms */
} ml_Arms;
/* The arms that a function consists of, told by their form: conditions that compare symbols
 * with constants, arms that are one block without iters. */
void ml_func_arms(ml_Ctx *cx, const ml_Func *f, ml_Arms *out);
/* "n=16,m=64": at least one, at most ML_MOST_CONSTANTS, each name once, values from 1. NULL:
 * they are in out; else why it is none, in cx. */
const char *ml_constants_read(ml_Ctx *cx, const char *text, ml_Constant *out, size_t *n);
/* The constants as a text that is read back; how: "n=16,m=64" with "=" and ",". */
void ml_constants_text(ml_Text *out, const ml_Constant *v, size_t n, const char *is,
                       const char *between);
/* f with the constants in place of its symbols, in cx, where it lives: loops, blocks and
 * symbols that are left keep their identity, parameters' buffers whose shape changes are new
 * ones over the same pointer. Scalar parameters stay and are not looked at. NULL: cx's error
 * is bad-argument: no such symbol, a value that its dtype does not hold, a buffer of more
 * than 2^62 bytes. Source: ir-and-analysis 8.2. */
const ml_Func *ml_func_specialize(ml_Ctx *cx, const ml_Func *f, const ml_Constant *v,
                                  size_t n);

#endif

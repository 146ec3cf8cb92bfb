/* asm_loops - assembly as lines, and the innermost loops among them (asm_view only). */
#ifndef ML_REPL_SHOW_ASM_LOOPS_H
#define ML_REPL_SHOW_ASM_LOOPS_H

#include "moonloop/core/ctx.h"
#include "moonloop/core/vec.h"

typedef struct ml_AsmLine {
    ml_Str text;   /* trimmed, without a comment */
    uint32_t line; /* of the program; 0: not known */
    bool label, spill;
    size_t func; /* number of the function it is in */
} ml_AsmLine;
typedef ML_VEC(ml_AsmLine) ml_AsmLines;

typedef struct ml_AsmRange {
    size_t from, to; /* lines, both included */
} ml_AsmRange;
/* What a loop executes: stretches of lines in the order of the text, in which the compiler
 * may have put other code between them. */
typedef struct ml_AsmLoop {
    size_t n;
    const ml_AsmRange *parts;
} ml_AsmLoop;
typedef ML_VEC(ml_AsmLoop) ml_AsmLoopList;

/* Natural loops that hold no other, in the order of their headers. */
void ml_asm_inner_loops(ml_Ctx *cx, const ml_AsmLines *v, ml_AsmLoopList *out);

#endif

/*
 * shown - the names that a reader of the program sees, for sentences about it. Two loops
 * may both have been born as `i`; the printed program calls one of them i_1, and a reason
 * that names it i would be about another loop. Source: interaction 3.
 */
#ifndef ML_CORE_SHOWN_H
#define ML_CORE_SHOWN_H

#include "moonloop/core/stmt.h"

/* The display name of a loop, block, buffer or variable while a step is worked on in cx
 * (ml_ctx_set_names); without such a step, or for what the step has just made, its own. */
#define ml_shown(cx, x)                                                                    \
    _Generic((x),                                                                          \
        ml_Var *: ml_shown_var,                                                            \
        const ml_Var *: ml_shown_var,                                                      \
        ml_For *: ml_shown_loop,                                                           \
        const ml_For *: ml_shown_loop,                                                     \
        ml_Block *: ml_shown_block,                                                        \
        const ml_Block *: ml_shown_block,                                                  \
        ml_Buffer *: ml_shown_buffer,                                                      \
        const ml_Buffer *: ml_shown_buffer)((cx), (x))

const char *ml_shown_var(ml_Ctx *cx, const ml_Var *v);
const char *ml_shown_loop(ml_Ctx *cx, const ml_For *f);
const char *ml_shown_block(ml_Ctx *cx, const ml_Block *b);
const char *ml_shown_buffer(ml_Ctx *cx, const ml_Buffer *b);

#endif

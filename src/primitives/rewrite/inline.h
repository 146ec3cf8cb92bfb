/* inline - what compute_inline and reverse_compute_inline share. Source: primitives 7. */
#ifndef ML_PRIMITIVES_INLINE_H
#define ML_PRIMITIVES_INLINE_H

#include "moonloop/primitives/rewrite/move.h"

/* The only store of a leaf block's body; NULL: the body is something else. */
const ml_Store *ml_single_store(const ml_Block *b);
/* A block of the scope (recursively) that uses the buffer through its pointer, or matches a
 * sub-buffer of it; NULL: none. */
const ml_Block *ml_opaque_user(ml_Ctx *cx, const ml_Stmt *scope_body, const ml_Buffer *buf);
/* The scope block without `removal`'s leaf and without the allocation of `buf`. */
void ml_inline_finish(ml_Call *c, ml_Uid scope, const ml_Buffer *buf);

#endif

/*
 * run_on - vector accesses whose lanes run on into the rows that follow.
 *
 * B[0, Ramp(0, 1, 64)] of a compact 16 x 4 buffer is 64 elements in a row, as its memory
 * has them. That an access is one can be seen in its text: the lanes are more than the last
 * dimension has, or pass its end from a constant on. Source: lowering-and-codegen 9.
 */
#ifndef ML_CORE_RUN_ON_H
#define ML_CORE_RUN_ON_H

#include "moonloop/core/stmt.h"

/* The dimension in which the lanes of the access run; n (indices): it is no such one. */
size_t ml_run_dim(const ml_Buffer *b, const ml_Expr *const *index, size_t n);
/* The scalar indices of one lane, n of them; those of lane 0 are the access's own, so that
 * a begin outside of the buffer stays outside. */
void ml_run_lane(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *index, size_t n,
                 size_t dim, unsigned lane, const ml_Expr **out);
/* The smallest box that holds all lanes. */
void ml_run_box(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *index, size_t n,
                size_t dim, ml_Range *out);

#endif

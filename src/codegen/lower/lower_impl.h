/*
 * lower_impl - what the passes share: their declarations, places of statements that they
 * make, ranges of loops, marks of analyses. Internal to codegen/lower.
 */
#ifndef ML_CODEGEN_LOWER_IMPL_H
#define ML_CODEGEN_LOWER_IMPL_H

#include "moonloop/codegen/lower/lower.h"
#include "moonloop/core/arith/region.h"

#define ML_PASS(name, in, out, pipes, help)                                                \
    const ml_Func *ml_pass_##name(ml_Lower *lo, const ml_Func *f);
#include "moonloop/codegen/lower/passes.def"
#undef ML_PASS

/* Loop annotation that marks a loop with a break or continue of its own: it stays as it
 * is. */
#define ML_IRREGULAR_LOOP "irregular_loop_mark"

/* Block annotation like buffer_dim_align, by position among the block's allocations: for a
 * buffer that is in no write region any longer. Between plan_allocations and
 * compact_buffers. */
#define ML_ALLOC_DIM_ALIGN "alloc_dim_align"

/* The span of s; of the first statement below it that has one; else `otherwise`. */
const ml_Span *ml_span_of(const ml_Stmt *s, const ml_Span *otherwise);
/* s, made by a pass, with a span where it has none (SEQs are looked into). */
const ml_Stmt *ml_at(ml_Ctx *cx, const ml_Stmt *s, const ml_Span *span);
/* ml_seq of a and b; the span of a SEQ is a's. */
const ml_Stmt *ml_then(ml_Ctx *cx, const ml_Stmt *a, const ml_Stmt *b);

/* ml_stmt_subst that also remakes the buffers defined below whose shape, strides or offset
 * mention a variable that is replaced. dynamic: ml_dynamic_buffers of the function. */
const ml_Stmt *ml_lower_subst(ml_Ctx *cx, const ml_Stmt *st, ml_Subst *s, bool dynamic);
/* Whether a buffer defined in the body has a shape, strides or offset with variables. */
bool ml_dynamic_buffers(const ml_Stmt *body);

/* Whether an analysis passed the limits of a dtype or of nesting since the last time: its
 * result is no bound. Takes the marks away; ar (may be NULL) forgets. */
bool ml_gave_up(ml_Ctx *cx, ml_Arith *ar);
/* An analyzer that knows the sizes of the function. */
ml_Arith *ml_lower_arith(ml_Lower *lo, const ml_Func *f);

/* Of an attribute that defines a thread's variable; NULL: it says none. */
const ml_Expr *ml_attr_extent(ml_Ctx *cx, const ml_Attr *a);

/* Text of an expression for a message, in the arena. */
const char *ml_lower_text(ml_Ctx *cx, const ml_Expr *e);
/* "block C", "loop i", "the store to A" ... of a statement, for a message. */
const char *ml_lower_name(ml_Ctx *cx, const ml_Stmt *s);

#endif

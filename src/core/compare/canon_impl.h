/* canon_impl - words and steps that both halves of the canonical walk write: canon.c
 * (variables, buffers, expressions, constants) and canon_stmt.c. Internal to canon. */
#ifndef ML_CORE_CANON_IMPL_H
#define ML_CORE_CANON_IMPL_H

#include "moonloop/core/compare/canon.h"

/* How a word is shown in the reason of a difference. */
typedef enum ml_Show {
    ML_SHOW_NUMBER,
    ML_SHOW_TEXT,
    ML_SHOW_DTYPE,
    ML_SHOW_EXPR,
    ML_SHOW_DOUBLE
} ml_Show;

/* A place in the walk: "body", "args"[2], "for " "i". */
struct ml_CanonPath {
    const ml_CanonPath *up;
    const char *what;
    const char *name; /* follows `what` after a space, or NULL */
    int64_t index;    /* in brackets, or -1 */
};

#define ML_CANON_AT(c, ...)                                                                \
    const ml_CanonPath at_here = {(c)->top, __VA_ARGS__};                                  \
    (c)->top = &at_here
#define ML_CANON_LEAVE(c) ((c)->top = at_here.up)

/* One word; `label` (NULL: the last step of the path) and p say what it is, for the reason
 * of a difference. */
void ml_canon_put(ml_Canon *c, uint64_t word, const char *label, ml_Show show,
                  const void *p);
void ml_canon_put_number(ml_Canon *c, int64_t v, const char *label);
void ml_canon_put_text(ml_Canon *c, const char *z, const char *label);
void ml_canon_put_dtype(ml_Canon *c, ml_Dtype t, const char *label);
void ml_canon_put_expr(ml_Canon *c, const ml_Expr *e, const char *what, int64_t index);
void ml_canon_put_exprs(ml_Canon *c, const ml_Expr *const *list, size_t n,
                        const char *what);
void ml_canon_put_dict(ml_Canon *c, const ml_Value *dict, const char *skip,
                       const char *what);
void ml_canon_put_value(ml_Canon *c, const ml_Value *v);
void ml_canon_put_kind(ml_Canon *c, ml_ValueKind kind);
void ml_canon_put_region(ml_Canon *c, const ml_Region *r);
void ml_canon_put_regions(ml_Canon *c, const ml_Region *list, size_t n, const char *what);
void ml_canon_define_var(ml_Canon *c, const ml_Var *v, bool is_data);
void ml_canon_define_buffer(ml_Canon *c, const ml_Buffer *b, bool binds);
void ml_canon_use_buffer(ml_Canon *c, const ml_Buffer *b);

#endif

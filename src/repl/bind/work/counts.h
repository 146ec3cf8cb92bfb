/* counts - s:counts(), and how accesses are written. Source: lua-api 4. */
#ifndef ML_REPL_BIND_COUNTS_H
#define ML_REPL_BIND_COUNTS_H

#include "core/script/script.h"
#include "verify/count/counts.h"

/* `A[vi, vk]`, as it stands in the program. */
void ml_text_access(ml_Ctx *cx, ml_Text *out, const ml_Site *site, const ml_Names *names);
/* Numbers that depend on sizes, for people and data: `n * 64`. */
void ml_text_sizes(ml_Ctx *cx, ml_Text *out, const ml_Expr *e, const ml_Names *names);
/* The name that is shown; NULL names, or none of that uid: hint. */
const char *ml_shown_name(const ml_Names *names, ml_Uid uid, const char *hint);
const char *ml_stride_kind_name(ml_StrideKind k); /* even, uneven, not affine */

#endif

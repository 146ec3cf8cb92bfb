/* rewrite - the rewriter's parts that are not tables. */
#ifndef ML_CORE_ARITH_REWRITE_H
#define ML_CORE_ARITH_REWRITE_H

#include "moonloop/core/arith/rule.h"

/* A binary operator over vectors; NULL: nothing to do. */
const ml_Expr *ml_rewrite_vector(ml_Arith *ar, const ml_Expr *e);

#endif

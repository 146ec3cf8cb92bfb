/*
 * simplify_flat - indices, bounds and conditions once more, after vectorizing and
 * unrolling. Source: lowering-and-codegen 3.8.
 */
#include "moonloop/codegen/lower/lower_impl.h"

const ml_Func *ml_pass_simplify_flat(ml_Lower *lo, const ml_Func *f)
{
    return ml_pass_simplify(lo, f);
}

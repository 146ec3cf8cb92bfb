/* extremes - the ends of integer types among random inputs. Source: interaction 8. */
#ifndef ML_CODEGEN_EXTREMES_H
#define ML_CODEGEN_EXTREMES_H

#include "moonloop/codegen/tensor/tensor.h"
#include "moonloop/core/stmt.h"

/* Gives some lanes of an integer argument of f the least and the greatest numbers of its
 * type and their neighbours, so that sums and products wrap. Nothing where f might then be
 * undefined (what is loaded serves as an index, bound, condition, divisor or shift), and
 * nothing wide where it computes with floats. */
void ml_extremes_put(const ml_Func *f, ml_Tensor *t, ml_Random *r);

#endif

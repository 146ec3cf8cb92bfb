/* compare - whether a tensor holds what is expected, fast where it does. */
#ifndef ML_CODEGEN_WORKER_COMPARE_H
#define ML_CODEGEN_WORKER_COMPARE_H

#include "moonloop/codegen/tensor/tensor.h"

/* As ml_tensor_compare; the common case (all inside, float32 or integers) in one pass that
 * a compiler vectorizes. Then `largest` is not looked for. */
ml_Comparison ml_compare_fast(const ml_Tensor *ref, const ml_Tensor *got, ml_Tolerance tol);

#endif

/* library - functions of other libraries as kernels, for comparison. */
#ifndef ML_CODEGEN_WORKER_LIBRARY_H
#define ML_CODEGEN_WORKER_LIBRARY_H

#include "moonloop/codegen/runtime/runtime.h"
#include "moonloop/codegen/worker/set.h"

/* "openblas:sgemm": C[m, n] = A[m, k] x B[k, n] with the shapes of the set's first three
 * tensors; also dgemm. NULL: cx's error says what is missing. One at a time. */
ml_KernelFn *ml_library_kernel(ml_Ctx *cx, const char *name, const ml_WorkSet *s);

#endif

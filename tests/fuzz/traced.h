/* traced - the trace of addresses against that of a whole run of the interpreter. */
#ifndef ML_TESTS_FUZZ_TRACED_H
#define ML_TESTS_FUZZ_TRACED_H

#include "moonloop/codegen/trace/tracer.h"
#include "moonloop/core/base/text.h"

/* Whether both tell the same of f: what was touched and which iterations began, in order.
 * Where the whole run is refused, the other one may be, too. */
bool fz_traces_the_same(ml_Ctx *cx, const ml_Module *m, const ml_Func *f,
                        const ml_Size *sizes, size_t n_sizes, ml_Text *why);

#endif

/* fault - the switch of the built-in faults; only in builds with FAULTS=1. */
#include "moonloop/core/base/fault.h"

#ifdef ML_FAULTS
int ml_fault;
#else
typedef int ml_no_faults; /* a translation unit is never empty */
#endif

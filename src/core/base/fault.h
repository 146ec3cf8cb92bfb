/*
 * fault - faults built in on purpose, to see whether the tests find them (make FAULTS=1).
 * Without ML_FAULTS every ML_FAULT(n) is the constant 0. fault.def lists them.
 */
#ifndef ML_CORE_FAULT_H
#define ML_CORE_FAULT_H

#ifdef ML_FAULTS
enum {
    ML_FAULT_NONE,
#define ML_FAULT_NAME(id, text) ML_FAULT_##id,
#include "moonloop/core/base/fault.def"
#undef ML_FAULT_NAME
};
extern int ml_fault; /* the one that is switched on; 0: none */
#define ML_FAULT(id) (ml_fault == ML_FAULT_##id)
#else
#define ML_FAULT(id) 0
#endif

#endif

/* targets - the kinds of targets: who makes their code, which lowering serves them, what
 * they can take. One row of targets.def each. */
#ifndef ML_CORE_TARGETS_H
#define ML_CORE_TARGETS_H

#include "moonloop/core/value.h"

typedef enum ml_Limit {
#define ML_LIMIT(name, cuda) ML_LIMIT_##name,
#include "moonloop/core/targets.def"
#undef ML_LIMIT
    ML_LIMITS
} ml_Limit;

typedef enum ml_Pipeline { /* of lowering; a pass is of a set of them */
                           ML_PIPE_CPU = 1,
                           ML_PIPE_GPU = 2,
                           ML_PIPE_ALL = 3,
} ml_Pipeline;

typedef struct ml_TargetKind {
    const char *name;
    const char *backend; /* NULL: no code is made for it yet */
    ml_Pipeline pipeline;
    int64_t limits[ML_LIMITS]; /* 0: as CUDA */
} ml_TargetKind;
extern const ml_TargetKind ml_target_kinds[];
extern const size_t ml_n_target_kinds;
const ml_TargetKind *ml_target_kind(const char *name); /* NULL: unknown */

/* The row of a target (a dict): of its kind, or of its kind and arch together; NULL: the
 * kind is unknown, or it says none. */
const ml_TargetKind *ml_target_row(const ml_Value *target);
/* The architecture of CUDA that a kind is of, 80 of "cuda-sm_80"; 0: it is of none. */
int ml_target_sm(const ml_TargetKind *kind);
const char *ml_limit_name(ml_Limit limit);
/* A limit as the target (a dict, NULL: CUDA) or its kind say; -1: there is none. */
int64_t ml_target_limit(const ml_Value *target, ml_Limit limit);
bool ml_is_target_limit(const char *name);

#endif

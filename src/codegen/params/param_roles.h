/* param_roles - what a function does with its parameters, and how exact what it leaves in
 * them can be. Source: interaction 8. */
#ifndef ML_CODEGEN_PARAM_ROLES_H
#define ML_CODEGEN_PARAM_ROLES_H

#include "moonloop/codegen/params/count.h"

/* What is known of a parameter. */
typedef struct ml_ParamRole {
    bool written, output;
    bool no_terms; /* it is a sum, or the like, over a domain that the sizes leave empty */
    double unit;   /* roundoff of the least precise float type on the way to it */
    double reduction; /* product of the reduction domains along the longest chain */
} ml_ParamRole;
/* roles[f->n_params]. */
void ml_param_roles(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                    ml_ParamRole *roles);

#endif

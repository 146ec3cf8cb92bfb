/*
 * enter_postproc - a mark in the trace: what follows was added by postprocessors, which are
 * run again, not replayed, when a search changes the trace. Source: primitives 12.4.
 */
#include "moonloop/primitives/prim.h"

static bool enter_postproc(ml_Call *c)
{
    (void)c;
    return true;
}

const ml_Primitive ml_prim_enter_postproc = {
    ML_PRIM(enter_postproc, "EnterPostproc"),
    .group = "sampling",
    .summary = "mark that postprocessing begins",
    .help = "Changes nothing. A replay that leaves postprocessing out stops before the\n"
            "first mark; dead-code elimination keeps it.",
    .result = ML_R_NONE,
    .no_version = true,
    .errors = (const ml_ErrorCode[]){ML_E_OK},
};

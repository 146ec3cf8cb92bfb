/*
 * causes - what may keep a stage from its bound: how it is seen in the model, what it costs
 * by a closed form, and which steps mend it.
 */
#ifndef ML_WORK_WHY_CAUSES_H
#define ML_WORK_WHY_CAUSES_H

#include "moonloop/core/base/text.h"
#include "moonloop/work/why/model.h"
#include "moonloop/work/why/propose.h"

typedef struct ml_WhySight { /* what a cause looks at */
    const ml_WhyModel *model;
    const ml_WhyStage *stage;
    const ml_WhyLoop *loop; /* the costliest of the stage; NULL: none */
    const ml_Machine *machine;
    const ml_Target *target;
    uint32_t threads;
    double start_flop; /* of the start version */
    bool parallel;     /* some loop of the program is */
} ml_WhySight;

typedef struct ml_WhyKind {
    const char *name, *help;
    /* The seconds that would be gone if it was mended; 0: it is not seen. The evidence is a
     * sentence with its figures. */
    double (*sees)(const ml_WhySight *s, ml_Text *evidence);
    ml_WhyPropose *propose[3]; /* one after the other */
    const char *undo[4];       /* primitives: the last step of one of them is left out */
    bool once;                 /* of the whole program, not of each stage */
} ml_WhyKind;
extern const ml_WhyKind ml_why_kinds[];
extern const size_t ml_n_why_kinds;

#endif

/* footprint - how many bytes of each buffer a loop touches. Source: interaction 5, 8. */
#ifndef ML_REPL_FOOTPRINT_H
#define ML_REPL_FOOTPRINT_H

#include "verify/verify.h"

typedef struct ml_Footprint {
    const ml_Buffer *buffer;
    int64_t bytes; /* -1: no number, as a size is not known */
    bool exact;    /* else at most so many */
} ml_Footprint;
typedef ML_VEC(ml_Footprint) ml_Footprints;

/* What all iterations of the loop together touch, the loops around it standing still: the
 * regions that the blocks below read and write, buffers in the order in which they occur.
 */
void ml_footprints(ml_Ctx *cx, ml_Program p, ml_Uid loop, ml_Footprints *out);

/* 64 B, 4 KiB, 1.5 MiB */
void ml_text_bytes(ml_Text *out, int64_t bytes);

#endif

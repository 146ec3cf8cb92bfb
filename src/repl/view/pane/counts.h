/* counts - what loops touch and compute, worked out bit by bit. Source: interaction 8,
 * 10. */
#ifndef ML_REPL_VIEW_PANE_COUNTS_H
#define ML_REPL_VIEW_PANE_COUNTS_H

#include "repl/view/pane/panes.h"

typedef struct ml_LoopCount {
    const char *bytes; /* of all buffers, distinct: `4 KiB`, `≤ 2 MiB`, `?` */
    const char *flops; /* of all iterations: `2.15 G` */
} ml_LoopCount;

/* NULL: not worked out yet; ml_pane_counts_idle is going to. */
const ml_LoopCount *ml_pane_count(ml_View *v, const ml_Shown *sh, ml_Uid loop);
/* true: there is more to do. */
bool ml_pane_counts_idle(ml_View *v, int ms);

#endif

/* rolling - what the files of rolling_buffer share. Source: primitives 11, rolling_buffer.
 */
#ifndef ML_PRIMITIVES_ROLLING_H
#define ML_PRIMITIVES_ROLLING_H

#include "moonloop/primitives/layout/layout.h"
#include "moonloop/primitives/rewrite/move.h"

/* What an iteration of the tile loop writes along one dimension. */
typedef struct ml_RollAxis {
    const ml_For *loop;       /* whose next iteration finds some of it there; or NULL */
    const ml_Expr *min, *max; /* both included */
    const ml_Expr *first;     /* what one instance of the block writes */
    const ml_Expr *last;
    int64_t window;  /* most elements at once */
    int64_t overlap; /* that the iteration before has written, too; 0: none */
} ml_RollAxis;

typedef struct ml_Rolling {
    ml_Call *c;
    const ml_Block *block;
    const ml_Region *region; /* of the buffer, among the block's writes */
    const ml_Buffer *buf;
    const ml_For *tile; /* the innermost loop around the block and its consumers */
    ml_StmtVec loops;   /* of the scope, from the outermost down to the tile loop */
    ml_Arith *ar;       /* inside of the tile loop */
    ml_DomVec dom;      /* the loops that write one box */
    ml_RollAxis *axes;
    size_t roll; /* the dimension that becomes a window */
} ml_Rolling;

/* Fills axes and roll. false: no-rolling-axis. */
bool ml_roll_axes(ml_Rolling *r);

/* While the loop that rolls runs, the block writes the same to an element whenever it
 * writes it. false: value-changed, reduction-changed, instances-lost,
 * not-region-covered. */
bool ml_roll_values(ml_Rolling *r);

#endif

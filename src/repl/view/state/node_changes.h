/* node_changes - which loops and blocks the last step changed. Source: interaction 10. */
#ifndef ML_REPL_VIEW_STATE_NODE_CHANGES_H
#define ML_REPL_VIEW_STATE_NODE_CHANGES_H

#include "moonloop/core/index/index.h"

/* Whether a loop or block of `now` is new, is another one than before by itself (extent,
 * kind, bindings, regions, what it computes), or stands below other nodes that both
 * programs have. What changed below it does not count. */
bool ml_node_changed(ml_Program before, ml_Program now, ml_Uid uid);

#endif

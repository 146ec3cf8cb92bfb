/* counts_view - the counts of a version as text and as data. Source: interaction 8, 15 D.
 */
#ifndef ML_REPL_SHOW_COUNTS_VIEW_H
#define ML_REPL_SHOW_COUNTS_VIEW_H

#include "moonloop/core/json/data.h"
#include "moonloop/verify/count/counts.h"
#include "repl/session/session.h"

typedef struct ml_CountsOpts {
    ml_Uid loop; /* that one alone; 0: all */
    bool all;    /* elements, loads and stores too */
    bool plain;  /* for a comparison: values alone, no columns, no width */
} ml_CountsOpts;

/* A table of the loops and one of the strides. false: interrupted. */
bool ml_show_counts(ml_Session *ss, ml_Schedule *s, int version, const ml_CountsOpts *o,
                    ml_Text *out);
/* One row for each loop: loop, extent, flops, bytes by buffer; at_most names those that are
 * bounds, a number that depends on sizes is a text, one that is not known null. all: also
 * iterations, and by buffer elements, loads, stores, reuse; the strides of accesses. */
bool ml_counts_data(ml_Schedule *s, int version, const ml_CountsOpts *o, ml_Data *d);

#endif

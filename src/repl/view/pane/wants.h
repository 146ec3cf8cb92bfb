/*
 * wants - what the rows of each nest take, kept for as long as the nest is the same: a step
 * changes one nest, the others want what they wanted. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_PANE_WANTS_H
#define ML_REPL_VIEW_PANE_WANTS_H

#include "repl/view/pane/panes.h"

/* The room that the rows of one nest take; r is empty, *out zero. */
typedef void ml_NestWants(ml_Rows *r, const ml_Shown *sh, const ml_Stmt *nest,
                          ml_Want *out);

/* The most of all nests that are shown. users: it depends on the other nests that use the
 * buffers of one, too. pane: whose rows these are. */
void ml_nests_want(ml_View *v, ml_Rows *r, const ml_Shown *sh, ml_PaneId pane, bool users,
                   ml_NestWants *wants, ml_Want *out);

#endif

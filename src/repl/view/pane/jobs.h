/* jobs - what pane 7 shows, for the requests of its keys. Source: interaction 11. */
#ifndef ML_REPL_VIEW_PANE_JOBS_H
#define ML_REPL_VIEW_PANE_JOBS_H

#include "repl/job/jobs.h"
#include "repl/tuning/board.h"
#include "repl/view/state/view.h"

/* The search whose board is shown: the newest job that is one. false: none is. */
bool ml_pane_search(const ml_View *v, ml_JobInfo *out);
/* The record that a row of the board stands for; 0: none. */
int64_t ml_pane_record(const ml_Row *row);
/* A row of a grid as the begin of a row. */
void ml_pane_put_grid(ml_Rows *r, const ml_Grid *g, int y);

#endif

/* pane_jobs - pane 7: running work. Source: interaction 9, 10. */
#include "repl/view/panes.h"

void ml_pane_jobs(ml_View *v, ml_Rows *r)
{
    if (v->message.n > 0)
        ml_rows_add(r, ML_ROLE_TEXT, "%s", ml_text_z(&v->message));
    else
        ml_rows_add(r, ML_ROLE_DIM, "nothing runs in the background");
}

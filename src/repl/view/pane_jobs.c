/*
 * pane_jobs - pane 7: running work, and what lines and programs printed.
 * Source: interaction 9, 10.
 */
#include "repl/view/panes.h"

/* The newest lines, oldest first: those that one would scroll back to. */
static void put_log(ml_Rows *r, const char *text)
{
    enum { MOST = 2000 };
    size_t lines = 0;

    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    for (const char *p = text, *end; *p; p = *end ? end + 1 : end) {
        end = strchr(p, '\n');
        end = end ? end : p + strlen(p);
        if (lines > MOST) {
            lines--;
            continue;
        }
        ml_rows_begin(r);
        ml_rows_put_n(r, strncmp(p, "error:", 6) == 0 ? ML_ROLE_ERROR : ML_ROLE_TEXT, p,
                      (size_t)(end - p));
        ml_rows_end(r);
    }
}

void ml_pane_jobs(ml_View *v, ml_Rows *r)
{
    ml_rows_add(r, ML_ROLE_DIM, "nothing runs in the background");
    put_log(r, ml_text_z(&v->log));
}

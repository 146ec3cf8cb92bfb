/*
 * jobs - pane 7: running work, and what lines and programs printed.
 * Source: interaction 9, 10.
 */
#include <math.h>

#include "moonloop/work/say.h"
#include "repl/job/jobs.h"
#include "repl/view/pane/panes.h"

static ml_CellRole state_role(ml_JobState s)
{
    switch (s) {
    case ML_JOB_RUNNING: return ML_ROLE_NOTE;
    case ML_JOB_DONE: return ML_ROLE_OK;
    case ML_JOB_FAILED:
    case ML_JOB_KILLED: return ML_ROLE_ERROR;
    case ML_JOB_STOPPING:
    case ML_JOB_STOPPED: break;
    }
    return ML_ROLE_DIM;
}

/* `2 running  tune --trials 512   matmul v5   43 %   12.3 s`, and what it said last. */
static void put_job(ml_Rows *r, const ml_JobInfo *j)
{
    const char *key = ml_format(r->cx, "%d", j->number);
    ml_Text t = {0};

    ml_rows_put(r, ML_ROLE_KEY, "%s ", key);
    ml_rows_put(r, state_role(j->state), "%-8s", ml_job_state_name(j->state));
    ml_rows_put(r, ML_ROLE_STRONG, " %s", j->what);
    if (!isnan(j->share) && j->state == ML_JOB_RUNNING)
        ml_rows_put(r, ML_ROLE_NUMBER, "   %.0f %%", j->share * 100);
    ml_text_seconds(&t, j->seconds);
    ml_rows_put(r, ML_ROLE_DIM, "   %s v%d   %s", j->schedule, j->version, ml_text_z(&t));
    ml_rows_end(r)->key = key;
    ml_text_free(&t);
    if (*j->progress) {
        ml_rows_put(r, ML_ROLE_TEXT, "  %s", j->progress);
        ml_rows_end(r)->key = key;
    }
}

/* The newest lines, oldest first: those that one would scroll back to. */
static void put_log(ml_Rows *r, const char *text)
{
    enum { MOST = 2000 };
    size_t lines = ml_count_lines(text);
    ml_Str line;

    while (ml_next_line(&text, &line))
        if (lines > MOST)
            lines--;
        else
            ml_rows_add(r, strncmp(line.p, "error:", 6) == 0 ? ML_ROLE_ERROR : ML_ROLE_TEXT,
                        "%.*s", (int)line.n, line.p);
}

void ml_pane_jobs(ml_View *v, ml_Rows *r)
{
    ml_JobInfo j;

    if (ml_jobs_running(v->ss) == 0)
        ml_rows_add(r, ML_ROLE_DIM, "nothing runs in the background");
    for (size_t k = 0; ml_job_info(v->ss, k, &j); k++)
        put_job(r, &j);
    put_log(r, ml_text_z(&v->log));
}

/* Some of the log: it grows with each line that is run. */
void ml_pane_jobs_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    enum { LOG = 6, COLUMNS = 56 };
    ml_JobInfo j;

    (void)r;
    while (ml_job_info(v->ss, (size_t)out->rows, &j))
        out->rows++;
    out->rows = 2 * out->rows + LOG;
    out->columns = COLUMNS;
}

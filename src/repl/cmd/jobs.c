/* cmd_jobs - :jobs and :stop. Source: interaction 9. */
#include <math.h>
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "repl/command/command.h"
#include "repl/job/jobs.h"
#include "repl/out/interrupt.h"
#include "repl/out/loop.h"
#include "repl/session/progress.h"
#include "repl/show/show.h"

enum { LOOK_MS = 100 }; /* between two looks at Ctrl-C while :jobs --wait waits */

/* ---------------------------------------------------------------- :jobs */

static void add_row(ml_Text *t, const ml_JobInfo *j)
{
    ml_Text since = {0};

    ml_text_duration(&since, j->seconds);
    ml_text_fmt(t, "%3d  %-8s  %7s  %s v%d  %s", j->number, ml_job_state_name(j->state),
                ml_text_z(&since), j->schedule, j->version, j->what);
    if (*j->progress)
        ml_text_fmt(t, "\n     %s", j->progress);
    ml_text_char(t, '\n');
    ml_text_free(&since);
}

#define ML_FIELDS       "repl/cmd/jobs.def"
#define ML_FIELDS_TABLE ml_job_fields
#define ML_FIELDS_NAME  "jobs"
#define ML_FIELDS_WHAT  "work in the background"
#include "moonloop/core/json/field_table.def"

static bool list(ml_Session *ss)
{
    ml_Data *d = ml_session_data(ss);
    ml_Text t = {0};
    ml_JobInfo j;

    for (size_t k = 0; ml_job_info(ss, k, &j); k++) {
        add_row(&t, &j);
        ml_data_row(d);
        ml_data_fields(d, &ml_job_fields, &j);
    }
    if (t.n == 0)
        ml_text_add(&t, "no jobs; :tune --background starts one\n");
    t.p[--t.n] = '\0';
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

static bool find(ml_Session *ss, const char *word, ml_JobInfo *out)
{
    char *end;
    long n = strtol(word, &end, 10);

    if (end != word && !*end)
        for (size_t k = 0; ml_job_info(ss, k, out); k++)
            if (out->number == n)
                return true;
    return ml_session_error(ss, ML_E_UNKNOWN_NAME, "no job %s; :jobs lists them", word);
}

static bool show_log(ml_Session *ss, const ml_JobInfo *j)
{
    ml_Data *d = ml_session_data(ss);
    ml_Text t = {0};

    add_row(&t, j);
    ml_data_row(d);
    ml_data_fields(d, &ml_job_fields, j);
    ml_data_list(d, "log");
    for (size_t k = 0; k < j->n_log; k++) {
        ml_text_fmt(&t, "     | %s\n", ml_job_log(ss, j->number, k));
        ml_data_str(d, NULL, ml_job_log(ss, j->number, k));
    }
    ml_data_end(d);
    ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

/* Until none runs, or Ctrl-C; the jobs go on then. */
static bool wait_for_all(ml_Session *ss)
{
    ml_Progress p;

    ml_progress_begin(&p, ss, "waiting");
    bool fatal = ml_interrupt_fatal(false);

    while (ml_jobs_running(ss) > 0 && !ml_interrupted()) {
        ml_JobInfo j, one = {.progress = ""};

        for (size_t k = 0; ml_job_info(ss, k, &j); k++)
            if (j.state == ML_JOB_RUNNING || j.state == ML_JOB_STOPPING)
                one = j;
        /* On the screen the job's own words tell its share. */
        ml_progress(&p, p.live ? (double)NAN : one.share, one.progress);
        ml_loop_wait(-1, -1, LOOK_MS, NULL);
        ml_tell_tick(ss);
    }
    ml_interrupt_fatal(fatal);
    ml_progress_end(&p);
    if (ml_interrupted()) {
        ml_interrupt_answer();
        if (ss->batch)
            ss->status = 130;
        return ml_session_error(ss, ML_E_INTERRUPTED, "the jobs go on");
    }
    return true;
}

bool cmd_jobs(ml_Session *ss, const ml_Words *w)
{
    ml_JobInfo j;

    bool wait = w->n == 1 && ml_streq(w->v[0], "--wait");

    ml_loop_poll();
    if (wait && !wait_for_all(ss))
        return false;
    if (w->n == 0 || wait) {
        ml_jobs_seen(ss);
        return list(ss);
    }
    if (w->n == 1 && w->v[0][0] != '-') {
        bool ok = find(ss, w->v[0], &j) && show_log(ss, &j);

        if (ok)
            ml_jobs_seen(ss);
        return ok;
    }
    return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":jobs [NUMBER|--wait], not %s",
                            w->v[0]);
}

/* ---------------------------------------------------------------- :stop */

bool cmd_stop(ml_Session *ss, const ml_Words *w)
{
    ml_Data *d = ml_session_data(ss);
    ml_JobInfo j = {0};
    size_t n = 0;
    bool all = w->n == 1 && ml_streq(w->v[0], "all");

    ml_loop_poll();
    if (w->n > 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":stop [NUMBER|all]");
    if (w->n == 1 && !all) {
        if (!find(ss, w->v[0], &j))
            return false;
        if (ml_job_stop(ss, j.number)) {
            ml_data_row(d);
            ml_data_fields(d, &ml_job_fields, &j);
            return true;
        }
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "job %d has ended already: %s",
                                j.number, ml_job_state_name(j.state));
    }
    if (!all && ml_jobs_running(ss) > 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "%zu jobs run: :stop NUMBER, or :stop all",
                                ml_jobs_running(ss));
    for (size_t k = 0; ml_job_info(ss, k, &j); k++)
        if (ml_job_stop(ss, j.number)) {
            ml_data_row(d);
            ml_data_fields(d, &ml_job_fields, &j);
            n++;
        }
    return n > 0 || ml_session_error(ss, ML_E_BAD_ARGUMENT, "no job runs");
}

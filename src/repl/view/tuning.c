/*
 * tuning - keys of pane 7 while it shows the board of a search: pause, stop, adopt, and pages about
 * records, failures and what was foretold. Without a search its keys are those of all panes.
 * Source: interaction 11.
 */
#include "moonloop/core/base/arena.h"
#include "repl/cmd/tune_record.h"
#include "repl/host/tune.h"
#include "repl/view/pane/jobs.h"
#include "repl/view/view.h"

#include <stdlib.h>

/* The search; false: there is none, and what the key asks for in other panes was done. */
static bool find_search(ml_View *v, ml_JobInfo *j)
{
    if (ml_pane_search(v, j))
        return true;
    ml_view_request(v, (ml_Request)v->row->way, v->count);
    return false;
}

/* The file that its line names, in cx; NULL: the usual one. */
static const char *db_of(const ml_JobInfo *j, ml_Ctx *cx)
{
    static const char option[] = "--db";
    const char *p = strstr(j->what, option);
    size_t n;

    if (!p)
        return NULL;
    p += strlen(option);
    p += strspn(p, " =");
    n = *p == '"' ? strcspn(++p, "\"") : strcspn(p, " ");
    return ml_format(cx, "%.*s", (int)n, p);
}

/* The chosen record, or the fastest; 0: there is none, which is said. */
static int64_t record_of(ml_View *v, const ml_JobInfo *j)
{
    int64_t record = ml_pane_record(ml_view_row(v, ML_PANE_JOBS));

    if (record == 0 && j->board->n_ranks)
        record = j->board->rank[0].record;
    if (record == 0)
        ml_view_say(v, "nothing is measured yet");
    return record;
}

/* A page about a record against the fastest. */
static void show_record(ml_View *v, const ml_JobInfo *j, int64_t record, const char *title,
                        void (*page)(const ml_RecordSeen *, int64_t, int64_t, ml_Text *))
{
    ml_Ctx *cx = ml_ctx_new(0);
    char *warning = NULL;
    ml_Db *db = ml_host_db(v->ss->host, db_of(j, cx), &warning);
    int64_t best = j->board->n_ranks ? j->board->rank[0].record : record;
    ml_Text t = {0};

    free(warning); /* NOLINT: strdup there */
    if (db) {
        page(&(ml_RecordSeen){v->ss, j->s, db, j->board}, record, best, &t);
        ml_view_page_text(v, title, ml_text_z(&t));
    } else
        ml_view_say(v, "the records of job %d cannot be read", j->number);
    ml_text_free(&t);
    ml_ctx_unref(cx);
}

void ml_view_inspect(ml_View *v, int64_t record)
{
    ml_JobInfo j;

    if (ml_pane_search(v, &j))
        show_record(v, &j, record, "record", ml_record_inspect);
}

void ml_do_job_pause(ml_View *v)
{
    ml_JobInfo j;

    if (!find_search(v, &j))
        return;
    bool on = !j.board->paused;

    if (!ml_job_pause(v->ss, j.number, on))
        ml_view_say(v, "job %d has ended", j.number);
    else if (on)
        ml_view_say(v,
                    "job %d is paused: what is at work is finished, nothing new is begun",
                    j.number);
    else
        ml_view_say(v, "job %d goes on", j.number);
}

void ml_do_job_stop(ml_View *v)
{
    ml_JobInfo j;

    if (!find_search(v, &j))
        return;
    if (ml_job_stop(v->ss, j.number))
        ml_view_say(v, "job %d is asked to stop; all that was measured is kept", j.number);
    else
        ml_view_say(v, "job %d has ended", j.number);
}

void ml_do_job_adopt(ml_View *v)
{
    ml_JobInfo j;
    ml_Text line = {0};
    int64_t record;

    if (!find_search(v, &j) || (record = record_of(v, &j)) == 0)
        return;
    if (j.s != v->ss->focus) {
        ml_view_say(v, "the search is of %s, which is not the focus", j.schedule);
        return;
    }
    ml_Ctx *cx = ml_ctx_new(0);
    const char *db = db_of(&j, cx);

    ml_text_fmt(&line, ":adopt %lld", (long long)record);
    if (db)
        ml_text_fmt(&line, " --db \"%s\"", db);
    ml_view_run(v, ml_text_z(&line), NULL);
    ml_text_free(&line);
    ml_ctx_unref(cx);
}

void ml_do_job_diff(ml_View *v)
{
    ml_JobInfo j;
    int64_t record;

    if (find_search(v, &j) && (record = record_of(v, &j)) != 0)
        show_record(v, &j, record, "diff against rank 1", ml_record_diff);
}

void ml_do_job_failures(ml_View *v)
{
    ml_JobInfo j;
    ml_Text t = {0};

    if (!find_search(v, &j))
        return;
    ml_record_failures(j.board, &t);
    ml_view_page_text(v, "failures", ml_text_z(&t));
    ml_text_free(&t);
}

void ml_do_job_scatter(ml_View *v)
{
    ml_JobInfo j;
    ml_Grid g;

    if (!find_search(v, &j))
        return;
    int w = v->grid.w - 4;
    ml_Rows *r = ml_view_page_open(v, "predicted against measured");

    ml_grid_init(&g, w > 1 ? w : 1, ml_view_page_room(v), v->grid.ascii);
    ml_board_scatter(j.board, &g, (ml_Rect){0, 0, g.w, g.h});
    for (int y = 0; y < g.h; y++) {
        ml_pane_put_grid(r, &g, y);
        ml_rows_end(r);
    }
    ml_grid_free(&g);
}

/*
 * jobs - pane 7: running work, the board of a search, and what lines and programs printed.
 * Source: interaction 9, 10, 11.
 */
#include "repl/view/pane/jobs.h"

#include <math.h>
#include <stdlib.h>

#include "moonloop/work/say.h"
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

/* `2 running  tune --trials 512   matmul v5   43 %   12.3 s`, and what it said last; brief: its
 * board says it. */
static void put_job(ml_Rows *r, const ml_JobInfo *j, bool brief)
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
    if (*j->progress && !brief) {
        ml_rows_put(r, ML_ROLE_TEXT, "  %s", j->progress);
        ml_rows_end(r)->key = key;
    }
}

/* ---- the board of a search */

bool ml_pane_search(const ml_View *v, ml_JobInfo *out)
{
    bool any = false;
    ml_JobInfo j;

    for (size_t k = 0; ml_job_info(v->ss, k, &j); k++)
        if (j.board) {
            *out = j;
            any = true;
        }
    return any;
}

void ml_pane_put_grid(ml_Rows *r, const ml_Grid *g, int y)
{
    int end = g->w;

    while (end > 0 && ml_grid_at(g, end - 1, y)->z[0] == ' ')
        end--;
    for (int x = 0; x < end; x++) {
        const ml_Cell *c = ml_grid_at(g, x, y);

        ml_rows_put_n(r, (ml_CellRole)c->role, c->z, strlen(c->z));
    }
}

/* As high as leaves room for the rows above it and some of the log. Rows of the fastest have the
 * record behind the job's number in their keys, others their own number. */
static void put_board(ml_View *v, ml_Rows *r, const ml_JobInfo *j)
{
    enum { LEAST = 10, MOST = 30, LOG = 2, NARROW = 20 };
    int h = v->pane[ML_PANE_JOBS].at.h - (int)r->v.n - LOG;
    int w = ml_pane_width(v, ML_PANE_JOBS) - 2;
    ml_Grid g;
    ml_BoardAt at = {0, 0};
    const ml_BoardLook look = {.cursor = -1, .at = &at};

    h = h < LEAST ? LEAST : h > MOST ? MOST : h;
    ml_grid_init(&g, w < NARROW ? NARROW : w, h, v->grid.ascii);
    int n = ml_board_draw(j->board, &g, (ml_Rect){0, 0, g.w, g.h}, &look);

    for (int y = 0; y < n; y++) {
        bool rank = y >= at.ranks && y < at.ranks + at.n;

        ml_pane_put_grid(r, &g, y);
        ml_rows_end(r)->key =
            rank ? ml_format(r->cx, "%d %lld", j->number,
                             (long long)j->board->rank[y - at.ranks].record)
                 : ml_format(r->cx, "%d #%d", j->number, y);
    }
    ml_grid_free(&g);
}

int64_t ml_pane_record(const ml_Row *row)
{
    const char *p = row && row->key ? strchr(row->key, ' ') : NULL;

    return p && p[1] != '#' ? strtoll(p, NULL, 10) : 0;
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
    ml_JobInfo j, search;

    if (ml_jobs_running(v->ss) == 0)
        ml_rows_add(r, ML_ROLE_DIM, "nothing runs in the background");
    bool board = ml_pane_search(v, &search);

    for (size_t k = 0; ml_job_info(v->ss, k, &j); k++)
        put_job(r, &j, board && j.number == search.number && !search.board->over);
    if (board)
        put_board(v, r, &search);
    put_log(r, ml_text_z(&v->log));
}

/* Some of the log: it grows with each line that is run. */
void ml_pane_jobs_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    enum { LOG = 6, COLUMNS = 56, BOARD_ROWS = 14, BOARD_COLUMNS = 76 };
    ml_JobInfo j;

    (void)r;
    while (ml_job_info(v->ss, (size_t)out->rows, &j))
        out->rows++;
    out->rows = 2 * out->rows + LOG;
    out->columns = COLUMNS;
    if (ml_pane_search(v, &j)) {
        out->rows += BOARD_ROWS;
        out->columns = BOARD_COLUMNS;
    }
}

/*
 * tasks - several programs under one budget, read from their tasks and drawn as a table.
 * Source: interaction 11; auto-scheduler 18.
 */
#include "repl/tuning/board.h"

#include <math.h>
#include <stdio.h>

#include "moonloop/core/base/arena.h"
#include "moonloop/work/say.h"

/* ---------------------------------------------------------------- reading */

static void read_task(ml_Board *b, size_t k, const ml_TaskStatus *s, bool next)
{
    if (k == b->tasks.n)
        ml_push(b->cx, &b->tasks,
                ((ml_BoardTask){.name = ml_strdup(b->cx, ml_str(s->name))}));
    ml_BoardTask *t = &b->tasks.v[k];

    t->weight = s->weight;
    t->flop = s->flop;
    t->best = s->best;
    t->bound = s->bound;
    t->done = s->done;
    t->gain = s->batches > 1 ? s->gain : (double)NAN;
    t->hope = s->hope;
    t->favour = s->favour;
    t->next = next;
    t->over = s->over;
    t->skipped = s->skipped;
}

/* Why the task whose turn it is has been chosen. */
static void find_why(ml_Board *b, const ml_TasksStatus *s, const ml_TaskStatus *t,
                     ml_TaskRule rule)
{
    ml_Text why = {0};

    ml_text_fmt(&why, "%s: ", t->name);
    if (s->turns)
        ml_text_add(&why, "its fastest are measured by turns");
    else if (t->batches <= 1 && t->before == 0)
        ml_text_add(&why, "its first batch");
    else if (rule == ML_TASKS_ROUND_ROBIN)
        ml_text_add(&why, "the next in the row");
    else if (t->hope > 0) {
        ml_text_add(&why, "its next batch is expected to save ");
        ml_text_seconds(&why, t->hope);
        ml_text_add(&why, " of the sum");
        if (t->favour != 1)
            ml_text_fmt(&why, ", counted ×%.3g", t->favour);
        ml_text_add(&why, ", the most of all");
    } else
        ml_text_add(&why, "no task is expected to save anything: chosen at random");
    snprintf(b->why, sizeof b->why, "%s", ml_text_z(&why));
    ml_text_free(&why);
}

void ml_board_read_tasks(ml_Board *b, ml_Tasks *ts, ml_TaskRule rule)
{
    const ml_TasksStatus *s = ml_tasks_status(ts);
    const ml_Tuner *t = ml_tasks_tuner(ts);
    int64_t was = b->st.done;

    b->st = (ml_TuneStatus){.done = s->done,
                            .total = s->total,
                            .before = s->before,
                            .elapsed = s->elapsed,
                            .eta = s->eta,
                            .best = s->weighted,
                            .generation = b->st.generation};
    b->st.failed[ML_PHASE_RUN] = s->failed;
    b->without = s->without;
    for (size_t k = 0; k < ml_tasks_count(ts); k++) {
        bool next = s->now == SIZE_MAX ? k < b->tasks.n && b->tasks.v[k].next : s->now == k;

        read_task(b, k, ml_tasks_task(ts, k), next);
    }
    if (s->now != SIZE_MAX)
        find_why(b, s, ml_tasks_task(ts, s->now), rule);
    if (t) {
        const ml_TuneStatus *at = ml_tuner_status(ml_tasks_tuner(ts));

        b->st.generation = at->generation;
        b->with = at->with;
        b->model = at->model;
    }
    if (s->without == 0 && b->trials.n == 0 && s->done > 0)
        was = s->done - 1;
    for (; s->without == 0 && was < s->done; was++)
        ml_board_trial(b, &(ml_BoardTrial){.seconds = s->weighted});
}

/* ---------------------------------------------------------------- the table */

enum { WIDE = 76, MIDDLE = 40 }; /* columns of one with all there is, with fewer */

static int name_width(int w)
{
    return w >= 110 ? 44 : w >= WIDE ? 24 : w >= MIDDLE ? 16 : 8;
}

/* Weighted milliseconds. */
static void add_saving(ml_Text *t, double seconds)
{
    if (isnan(seconds))
        ml_text_fmt(t, " %8s", "-");
    else
        ml_text_fmt(t, " %8.3f", seconds * 1e3);
}

static void put_task(ml_Grid *g, ml_Rect row, const ml_BoardTask *k)
{
    ml_Text t = {0};
    bool wide = row.w >= WIDE;
    int name = name_width(row.w);
    ml_Rect at = {row.x, row.y, name + 2, 1};

    ml_grid_put(g, row, row.x, row.y,
                k->next      ? "▶"
                : k->skipped ? "-"
                             : " ",
                ML_ROLE_CURSOR);
    ml_grid_put_cut(g, at, row.x + 2, row.y, k->name,
                    k->over ? ML_ROLE_DIM : ML_ROLE_STRONG);
    if (wide)
        ml_text_fmt(&t, " %6.4g ", k->weight);
    ml_text_fmt(&t, " %6lld", (long long)k->done);
    if (k->best > 0 && k->flop > 0)
        ml_text_fmt(&t, " %8.1f", k->flop / k->best * 1e-9);
    else if (k->best > 0)
        ml_text_fmt(&t, " %5.3g ms", k->best * 1e3);
    else
        ml_text_fmt(&t, " %8s", "-");
    if (wide) {
        if (k->best > 0 && k->bound > 0)
            ml_text_fmt(&t, "  %5.1f %%", fmin(100, 100 * k->bound / k->best));
        else
            ml_text_fmt(&t, "  %7s", "-");
        add_saving(&t, k->gain);
        add_saving(&t, k->hope);
    }
    ml_grid_put_cut(g, row, row.x + name + 2, row.y, ml_text_z(&t),
                    k->over ? ML_ROLE_DIM : ML_ROLE_TEXT);
    ml_text_free(&t);
}

/* The first that is shown, so that the chosen one, else the next one, is in sight. */
static int first_of(const ml_Board *b, int room, int cursor)
{
    int at = cursor;

    for (size_t k = 0; cursor < 0 && k < b->tasks.n; k++)
        if (b->tasks.v[k].next)
            at = (int)k;
    return at >= room ? at - room + 1 : 0;
}

int ml_board_put_tasks(const ml_Board *b, ml_Grid *g, ml_Rect in, int cursor)
{
    int room = in.h - 1, first = first_of(b, room, cursor), y = 0;
    ml_Text t = {0};

    ml_text_fmt(&t, "  %-*s", name_width(in.w), "task");
    ml_text_add(&t, in.w >= WIDE ? " weight  trials  GFLOP/s  of roof  gain ms  hope ms"
                                 : " trials  GFLOP/s");
    ml_grid_put_cut(g, in, in.x, in.y, ml_text_z(&t), ML_ROLE_DIM);
    ml_text_free(&t);
    for (; y < room && (size_t)(first + y) < b->tasks.n; y++) {
        ml_Rect row = {in.x, in.y + 1 + y, in.w, 1};

        put_task(g, row, &b->tasks.v[first + y]);
        if (first + y == cursor)
            ml_grid_attr(g, row, ML_ATTR_ON_CURSOR);
    }
    return y + 1;
}

/*
 * tune_all_seen - what :tune --all shows at a terminal while it searches: the board of its tasks, and
 * what its keys ask for. Source: interaction 11.
 */
#include <math.h>
#include <stdio.h>

#include "moonloop/core/base/arena.h"
#include "moonloop/work/say.h"
#include "repl/cmd/tune_words.h"
#include "repl/tuning/live.h"

struct ml_TasksSeen {
    ml_Session *ss;
    ml_Tasks *ts;
    ml_TaskRule rule;
    ml_Board b;
    ml_Live *live;
};

/* ---- what keys ask for */

static void on_task(void *user, size_t task, char key, ml_Text *said)
{
    ml_TasksSeen *n = user;
    const ml_TaskStatus *s = ml_tasks_task(n->ts, task);

    if (key == 'k' && s->over)
        ml_text_fmt(said, "%s gets no further batch as it is", s->name);
    else if (key == 'k') {
        ml_tasks_skip(n->ts, task);
        ml_text_fmt(said, "%s is skipped: what it has is kept", s->name);
    } else if (n->rule == ML_TASKS_ROUND_ROBIN)
        ml_text_add(said, "round-robin gives each task the same");
    else {
        ml_tasks_favour(n->ts, task, key == '+' ? 2 : 0.5);
        ml_text_fmt(said, "what %s is expected to save counts ×%.4g from now on", s->name,
                    s->favour);
    }
}

static void add_seconds(ml_Text *out, const char *what, double seconds)
{
    ml_text_fmt(out, "%-12s", what);
    if (seconds > 0)
        ml_text_seconds(out, seconds);
    else
        ml_text_add(out, "not known");
    ml_text_add(out, "\n");
}

static void show_task(void *user, size_t task, ml_Text *out)
{
    const ml_TaskStatus *s = ml_tasks_task(((ml_TasksSeen *)user)->ts, task);

    ml_text_fmt(out, "== %s\n%-12s%.6g\n%-12s", s->name, "weight", s->weight, "operations");
    ml_text_si(out, s->flop);
    ml_text_add(out, "FLOP\n");
    add_seconds(out, "best", s->best);
    if (s->best > 0)
        ml_text_fmt(out, "%-12s%lld\n", "record", (long long)s->best_record);
    add_seconds(out, "bound", s->bound);
    ml_text_fmt(out, "%-12s%lld records, %lld of them earlier, %lld failed; %lld batches\n",
                "trials", (long long)s->done, (long long)s->before, (long long)s->failed,
                (long long)s->batches);
    add_seconds(out, "hope", isnan(s->hope) ? 0 : s->hope);
    if (s->favour != 1)
        ml_text_fmt(out, "%-12s×%.4g\n", "counted", s->favour);
    ml_text_fmt(out, "%-12s%s\n", "state",
                s->refused     ? s->refused
                : s->skipped   ? "skipped"
                : s->exhausted ? "its space holds no further program"
                : s->over      ? "it gets no further batch"
                               : "open");
    ml_text_fmt(out, "%-12s%s\n", "program", s->hash);
}

static void pause_tasks(void *user, bool on)
{
    ml_tasks_pause(((ml_TasksSeen *)user)->ts, on);
}

/* ---- its life */

ml_TasksSeen *ml_tasks_seen_open(ml_Session *ss, ml_Tasks *ts, const ml_TasksAsk *ask)
{
    ml_Ctx *cx = ml_ctx_new(0);
    size_t count = ml_tasks_count(ts);
    ml_TasksSeen *n = NULL;

    if (ml_tune_has_terminal(ss)) {
        n = ml_heap_zalloc(sizeof *n);
        *n = (ml_TasksSeen){.ss = ss,
                            .ts = ts,
                            .rule = ask->rule && ml_streq(ask->rule, "round-robin")
                                        ? ML_TASKS_ROUND_ROBIN
                                        : ML_TASKS_GRADIENT};
        ml_board_init(&n->b, ml_format(cx, "%zu task%s", count, count == 1 ? "" : "s"),
                      ml_target_level(ml_engine_target(ml_host_engine(ss->host))),
                      ask->seed, ask->threads);
        ml_board_read_tasks(&n->b, ts, n->rule);
        const ml_LiveCalls calls = {
            .user = n, .pause = pause_tasks, .task = on_task, .show_task = show_task};

        n->live = ml_live_open(ss, &n->b, &calls);
    }
    if (n && !n->live) {
        ml_board_free(&n->b);
        ml_heap_free(n);
        n = NULL;
    }
    ml_ctx_unref(cx);
    return n;
}

bool ml_tasks_seen_step(ml_TasksSeen *n)
{
    ml_board_read_tasks(&n->b, n->ts, n->rule);
    return ml_live_step(n->live, n->b.paused ? 0.1 : 0);
}

void ml_tasks_seen_warn(ml_TasksSeen *n, const char *why)
{
    snprintf(n->b.note, sizeof n->b.note, "warning: %s", why);
}

void ml_tasks_seen_close(ml_TasksSeen *n)
{
    if (!n)
        return;
    ml_tasks_pause(n->ts, false);
    ml_board_read_tasks(&n->b, n->ts, n->rule);
    ml_live_close(n->live);
    ml_board_free(&n->b);
    ml_heap_free(n);
}

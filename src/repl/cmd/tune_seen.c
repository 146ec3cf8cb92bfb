/*
 * tune_seen - what :tune shows at a terminal while it searches: the board, and what its keys
 * ask for. Source: interaction 11.
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "moonloop/core/base/arena.h"
#include "repl/cmd/tune_record.h"
#include "repl/cmd/tune_words.h"
#include "repl/host/tune.h"
#include "repl/screen/screen.h"
#include "repl/session/frame.h"
#include "repl/tuning/live.h"

struct ml_TuneSeen {
    ml_Session *ss;
    ml_Tuner *t;
    ml_Board b;
    ml_Live *live;
};

/* ---- what keys ask for */

static ml_RecordSeen seen_of(const ml_TuneSeen *n)
{
    return (ml_RecordSeen){n->ss, n->ss->focus, ml_tuner_db(n->t), &n->b};
}

static void inspect(void *user, int64_t record, int64_t best, ml_Text *out)
{
    const ml_RecordSeen r = seen_of(user);

    ml_record_inspect(&r, record, best, out);
}

static void diff(void *user, int64_t record, int64_t best, ml_Text *out)
{
    const ml_RecordSeen r = seen_of(user);

    ml_record_diff(&r, record, best, out);
}

static void failures(void *user, ml_Text *out)
{
    ml_record_failures(&((ml_TuneSeen *)user)->b, out);
}

static void adopt(void *user, int64_t record, ml_Text *said)
{
    ml_TuneSeen *n = user;
    const ml_DbQuery q = {.record = record, .any_seed = true};
    const ml_RunOpts run = {.sink = {said, said}, .tells = true, .apart = true};
    ml_Ctx *cx = ml_ctx_new(0);
    ml_RunFrame f;
    ml_Record *v;
    size_t found = 0;

    ml_frame_push(n->ss, &f, &run);
    if (ml_db_records(ml_tuner_db(n->t), cx, &q, &v, &found) && found > 0)
        ml_tune_adopt(n->ss, cx, v);
    ml_frame_pop(n->ss, &f);
    ml_ctx_unref(cx);
}

static void pause_search(void *user, bool on)
{
    ml_tuner_pause(((ml_TuneSeen *)user)->t, on);
}

/* ---- its life */

bool ml_tune_has_terminal(const ml_Session *ss)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) &&
           !ss->batch && !ss->json && !ss->job && !ss->out.sink.out && !ss->out.sink.err &&
           !ml_screen_is_open();
}

/* Seconds of the start version as it was timed in this session; 0: it was not. */
static double start_seconds(ml_Session *ss, double flop, double bytes)
{
    ml_Step step;
    double s = (double)NAN;

    if (ml_version_step(ss->focus, 0, &step) && step.speed)
        s = ml_speed_seconds(step.speed, flop, bytes);
    return s > 0 ? s : 0;
}

void ml_tune_board(ml_Board *b, ml_Session *ss, const char *target, int64_t seed,
                   uint32_t threads, ml_Amount amount, double roof)
{
    ml_board_init(b, ml_schedule_name(ss->focus), target, seed, threads);
    b->amount = amount;
    b->roof = roof;
    b->start = start_seconds(ss, amount.bytes ? 0 : amount.n, amount.bytes ? amount.n : 0);
}

ml_TuneSeen *ml_tune_seen_open(ml_Session *ss, ml_Tuner *t, const char *target,
                               int64_t seed, uint32_t threads, ml_Amount amount,
                               double roof)
{
    ml_TuneSeen *n;

    const ml_TuneStatus *s = ml_tuner_status(t);

    if (!ml_tune_has_terminal(ss) || s->done >= s->total) /* nothing is to be searched */
        return NULL;
    n = ml_heap_zalloc(sizeof *n);
    n->ss = ss;
    n->t = t;
    ml_tune_board(&n->b, ss, target, seed, threads, amount, roof);
    ml_board_read(&n->b, t, ss->focus);
    const ml_LiveCalls calls = {.user = n,
                                .adopt = adopt,
                                .inspect = inspect,
                                .diff = diff,
                                .failures = failures,
                                .pause = pause_search};

    n->live = ml_live_open(ss, &n->b, &calls);
    if (n->live) {
        ml_live_step(n->live, 0);
        return n;
    }
    ml_board_free(&n->b);
    ml_heap_free(n);
    return NULL;
}

bool ml_tune_seen_step(ml_TuneSeen *n)
{
    ml_board_read(&n->b, n->t, n->ss->focus);
    return ml_live_step(n->live, n->b.paused ? 0.1 : 0);
}

void ml_tune_seen_warn(ml_TuneSeen *n, const char *why)
{
    snprintf(n->b.note, sizeof n->b.note, "warning: %s", why);
}

void ml_tune_seen_close(ml_TuneSeen *n)
{
    if (!n)
        return;
    ml_tuner_pause(n->t, false);
    ml_board_read(&n->b, n->t, n->ss->focus);
    ml_live_close(n->live);
    ml_board_free(&n->b);
    ml_heap_free(n);
}

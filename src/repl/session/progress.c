/* progress - how far long work is, in the form that the reader can use. Source:
 * interaction 9. */
#include "repl/session/progress.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "moonloop/core/json/data.h"
#include "repl/out/interrupt.h"

#define QUIET      0.15 /* seconds that need no word at a screen (interaction 1) */
#define QUIET_PIPE 1.0
#define EVERY_LINE 0.1
#define EVERY_JSON 0.5
#define EVERY_ROW  30.0

void ml_text_duration(ml_Text *t, double s)
{
    long n = lround(s);

    if (s < 9.95)
        ml_text_fmt(t, "%.1fs", s);
    else if (n < 60)
        ml_text_fmt(t, "%lds", n);
    else if (n < 3600)
        ml_text_fmt(t, "%ldm%02lds", n / 60, n % 60);
    else
        ml_text_fmt(t, "%ldh%02ldm", n / 3600, n / 60 % 60);
}

/* A pipe that is full has a reader who is busy: what is told in passing must not wait. */
bool ml_progress_due(ml_Session *ss, double *at)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    double now = ml_clock();

    if (now - *at < EVERY_JSON ||
        (!ss->out.sink.err && (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))))
        return false;
    *at = now;
    return true;
}

void ml_progress_begin(ml_Progress *p, ml_Session *ss, const char *what)
{
    *p = (ml_Progress){.ss = ss, .what = what, .began = ml_clock()};
    p->row_at = p->began;
    p->live = isatty(STDERR_FILENO) && !ss->batch && !ss->json && !ss->out.sink.err;
}

static void tell_json(ml_Progress *p, double share, const char *text, double spent)
{
    ml_Data d = {.schema = true};

    if (!ml_progress_due(p->ss, &p->line_at))
        return;
    ml_data_row(&d);
    ml_data_str(&d, "progress", p->what);
    ml_data_real(&d, "share", share);
    ml_data_real(&d, "elapsed", spent);
    ml_data_str(&d, "text", text);
    ml_err(&p->ss->out, ml_data_lines(&d));
    ml_data_free(&d);
}

static void add_line(ml_Text *t, const ml_Progress *p, double share, const char *text,
                     double spent)
{
    ml_text_add(t, p->what);
    if (!isnan(share))
        ml_text_fmt(t, "   %.0f %%", floor(100 * share));
    ml_text_add(t, "   ");
    ml_text_duration(t, spent);
    if (share > 0.02 && share < 1) {
        ml_text_add(t, "   eta ");
        ml_text_duration(t, spent / share * (1 - share));
    }
    if (text && *text)
        ml_text_fmt(t, "   %s", text);
}

/* What replays sessions wants the same text on a slow machine. */
static bool is_off(void)
{
    const char *word = getenv("MOONLOOP_PROGRESS");

    return word && ml_streq(word, "off");
}

void ml_progress(ml_Progress *p, double share, const char *text)
{
    double now = ml_clock(), spent = now - p->began;
    ml_Text t = {0};

    if (spent < (p->live ? QUIET : QUIET_PIPE) || is_off())
        return;
    share = share < 0 ? 0 : share > 1 ? 1 : share; /* NAN stays */
    if (p->ss->json) {
        tell_json(p, share, text, spent);
        return;
    }
    if (p->live && now - p->line_at >= EVERY_LINE) {
        p->line_at = now;
        add_line(&t, p, share, text, spent);
        ml_out_status(&p->ss->out, ml_text_z(&t));
    } else if (!p->live &&
               !getenv("ML_REPLAYED")) { /* set where a transcript is replayed */
        int tenth = isnan(share) ? 0 : (int)(10 * share);

        if (tenth > p->rows || now - p->row_at >= EVERY_ROW) {
            p->rows = tenth > p->rows ? tenth : p->rows;
            p->row_at = now;
            add_line(&t, p, share, text, spent);
            ml_text_char(&t, '\n');
            /* How long it took is no part of a transcript. */
            ml_err_as(&p->ss->out, ml_text_z(&t), NULL);
        }
    }
    ml_text_free(&t);
}

void ml_progress_end(ml_Progress *p)
{
    ml_out_clear_status(&p->ss->out);
}

/* ---------------------------------------------------------------- of a command */

enum { PER_TICK = 256 }; /* iterations of the interpreter */

static void on_work(void *user, unsigned ticks)
{
    ml_Session *ss = user;
    ml_Progress *p = ss->progress;
    double share;

    ml_tell_tick(ss);
    if (!p)
        return;
    p->done += (double)ticks * PER_TICK;
    share = p->total > 0 ? p->done / p->total : 0;
    ml_progress(p, share < 0.01 ? (double)NAN : share > 0.99 ? 0.99 : share, NULL);
}

void ml_session_guard(ml_Session *ss, ml_Ctx *cx)
{
    ml_interrupt_guard(cx);
    ml_ctx_set_watch(cx, on_work, ss);
}

void ml_progress_watch(ml_Progress *p, ml_Session *ss, const char *what)
{
    ml_progress_begin(p, ss, what);
    if (ss->progress)
        return;
    ss->progress = p;
    if (ss->focus)
        ml_session_guard(ss, ml_schedule_ctx(ss->focus));
}

void ml_progress_unwatch(ml_Progress *p)
{
    if (p->ss->progress == p)
        p->ss->progress = NULL;
    ml_progress_end(p);
}

void ml_progress_expect(ml_Session *ss, double iterations)
{
    if (ss->progress)
        ss->progress->total += iterations;
}

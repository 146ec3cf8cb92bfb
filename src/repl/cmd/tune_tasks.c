/*
 * cmd_tune_tasks - what :tune --all and :tune --shape share: the options, the search until it
 * ends, and the words at its end. Source: interaction 9, 11; auto-scheduler 18.
 */
#include <float.h>
#include <math.h>

#include "moonloop/work/say.h"
#include "repl/cmd/options.h"
#include "repl/cmd/tune_words.h"
#include "repl/command/command.h"
#include "repl/host/tune.h"
#include "repl/out/interrupt.h"
#include "repl/screen/grid.h"
#include "repl/session/progress.h"

bool ml_tasks_read(ml_Session *ss, const ml_Words *w, const char *who, ml_TasksAsk *a)
{
    bool all = false;
    const ml_Option OPTIONS[] = {
        {"--all", ML_OPTION_FLAG, &all, 0, 0, NULL},
        {"--trials", ML_OPTION_WHOLE, &a->trials, 1, ML_TUNE_MAX_TRIALS,
         "--trials takes a number from 1 to 1000000"},
        {"--each", ML_OPTION_WHOLE, &a->each, 1, ML_TUNE_MAX_TRIALS,
         "--each takes a number from 1 to 1000000"},
        {"--seed", ML_OPTION_WHOLE, &a->seed, 1, 0x1p63, "--seed takes a number from 1"},
        {"--seconds", ML_OPTION_REAL, &a->seconds, DBL_MIN, DBL_MAX,
         "--seconds takes a number above 0"},
        {"--rule", ML_OPTION_TEXT, &a->rule, 0, 0, "--rule takes gradient or round-robin"},
        {"--space", ML_OPTION_TEXT, &a->space, 0, 0, "--space takes the name of one"},
        {"--with", ML_OPTION_TEXT, &a->with, 0, 0, "--with takes a strategy: :help tune"},
        {"--model", ML_OPTION_TEXT, &a->model, 0, 0,
         "--model takes xgb, analytic or random"},
        {"--db", ML_OPTION_TEXT, &a->db, 0, 0, "--db takes a file"},
        {"--fresh", ML_OPTION_FLAG, &a->fresh, 0, 0, NULL},
    };

    *a = (ml_TasksAsk){.seed = ml_setting_int(&ss->set, ML_SET_seed),
                       .threads = ml_engine_threads(ml_host_engine(ss->host))};
    ml_Text knows = {0};

    ml_text_fmt(&knows,
                "%s knows --trials, --each, --seconds, --seed, --rule, --space, --with, "
                "--model, --fresh and --db",
                who);
    bool ok = ml_read_options(ss, w, ml_text_z(&knows), OPTIONS, ML_COUNT(OPTIONS));

    ml_text_free(&knows);
    return ok;
}

void ml_tasks_announce(ml_Session *ss, const char *what, const ml_TasksAsk *a)
{
    const ml_Target *target = ml_engine_target(ml_host_engine(ss->host));

    ml_err_say(&ss->out, "tune %s  llvm %s  seed %lld  %u thread%s", what,
               ml_target_level(target), (long long)a->seed, a->threads,
               a->threads == 1 ? "" : "s");
}

/* ---------------------------------------------------------------- progress */

void ml_tasks_weighted(ml_Text *t, const ml_TasksStatus *s)
{
    ml_text_fmt(t, "%.4g ms", s->weighted * 1e3);
    if (s->without)
        ml_text_fmt(t, " without %zu task%s", s->without, s->without == 1 ? "" : "s");
}

static void progress(ml_Progress *p, ml_Tasks *ts)
{
    const ml_TasksStatus *s = ml_tasks_status(ts);
    double share = s->total ? (double)s->done / (double)s->total : 0;
    ml_Text t = {0};

    if (s->seconds > 0)
        share = fmax(share, s->elapsed / s->seconds);
    ml_text_fmt(&t, "%lld", (long long)s->done);
    if (s->total)
        ml_text_fmt(&t, "/%lld", (long long)s->total);
    ml_text_add(&t, " trials   sum ");
    ml_tasks_weighted(&t, s);
    if (s->now != SIZE_MAX)
        ml_text_fmt(&t, "   %s", ml_tasks_task(ts, s->now)->name);
    ml_progress(p, fmin(1, share), ml_text_z(&t));
    ml_text_free(&t);
}

ml_TasksState ml_tune_turn(ml_Session *ss, ml_Tasks *ts, ml_Ctx *cx, const ml_TasksAsk *ask,
                           bool warned)
{
    enum { KEYS = 30 }; /* ms that a key may have to wait */
    ml_TasksState state = ML_TASKS_MORE;
    ml_TasksSeen *seen = ml_tasks_seen_open(ss, ts, ask);
    const char *late = NULL; /* a warning that came while nothing could be printed */
    ml_Progress p;

    ml_progress_begin(&p, ss, "tune");
    bool fatal = ml_interrupt_fatal(false), go = true;

    while ((state == ML_TASKS_MORE || state == ML_TASKS_OPEN) && go) {
        const ml_TasksStatus *s;

        if (state == ML_TASKS_OPEN && !ml_host_tasks_open(ss->host, ts)) {
            state = ml_interrupted() ? ML_TASKS_CANCELLED : ML_TASKS_FAILED;
            break;
        }
        state = ml_tasks_step(ts, cx, seen ? KEYS * 1e-3 : 0.1);
        s = ml_tasks_status(ts);
        if (s->warning && !warned && seen)
            ml_tasks_seen_warn(seen, late = s->warning);
        else if (s->warning && !warned)
            ml_tune_warn(ss, s->warning);
        warned |= s->warning != NULL;
        if (seen)
            go = ml_tasks_seen_step(seen);
        else
            progress(&p, ts);
        ml_tell_tick(ss);
    }
    ml_tasks_seen_close(seen);
    if (late)
        ml_tune_warn(ss, late);
    ml_interrupt_fatal(fatal);
    ml_progress_end(&p);
    return go ? state : ML_TASKS_CANCELLED;
}

/* ---------------------------------------------------------------- the end of it */

void ml_tasks_name(ml_Text *t, const char *name, size_t width)
{
    ml_Text shown = {0};

    ml_out_shown(&shown, name, false);
    const char *z = ml_text_z(&shown);
    bool cut = ml_columns(z) > width;
    size_t n = ml_columns_fit(z, cut ? width - 1 : width);

    ml_text_fmt(t, "%.*s%s", (int)n, z, cut ? "…" : "");
    ml_text_repeat(t, ' ', cut ? 0 : width - ml_columns(z));
    ml_text_free(&shown);
}

void ml_tasks_ended(ml_Text *t, const ml_TasksStatus *s, ml_TasksState state)
{
    if (state == ML_TASKS_CANCELLED)
        ml_text_add(t, "stopped after ");
    if (s->total)
        ml_text_trials(t, s->done, s->total);
    else
        ml_text_fmt(t, "%lld trials", (long long)s->done);
    ml_text_add(t, " (");
    ml_text_duration(t, s->elapsed);
    ml_text_char(t, ')');
    if (s->before)
        ml_text_fmt(t, "; %lld of them earlier", (long long)s->before);
    if (s->failed)
        ml_text_fmt(t, "; %lld failed", (long long)s->failed);
}

void ml_tasks_refused(ml_Session *ss, const char *name, const char *why)
{
    if (why)
        ml_err_say(&ss->out, "note: %s: not tuned: %s", name, why);
}

/*
 * cmd_tune_all - :tune --all, several programs under one budget, and the table at its end.
 *
 * Ctrl-C stops it; what was measured is in the database, and the same line goes on.
 * Source: interaction 9, 11; auto-scheduler 18.
 */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/say.h"
#include "repl/cmd/options.h"
#include "repl/cmd/tune_words.h"
#include "repl/command/command.h"
#include "repl/host/tune.h"
#include "repl/out/interrupt.h"
#include "repl/screen/grid.h"
#include "repl/session/progress.h"
#include "repl/show/show.h"

/* ---------------------------------------------------------------- the line */

/* The end of a word that may hold blanks in brackets and quotes. */
static const char *word_end(const char *p)
{
    int depth = 0;
    char quote = 0;

    for (; *p && (quote || depth > 0 || !isspace((unsigned char)*p)); p++) {
        if (quote) {
            if (*p == '\\' && p[1])
                p++;
            else if (*p == quote)
                quote = 0;
        } else if (*p == '"' || *p == '\'') {
            quote = *p;
        } else {
            depth += strchr("([{", *p) != NULL;
            depth -= strchr(")]}", *p) != NULL;
        }
    }
    return p;
}

/* What is left of the line when its options are taken away: Lua, with its quotes. options:
 * those, as words. */
static void split_line(const char *rest, ml_Ctx *cx, ml_Words *options, ml_Text *code)
{
    static const char *const flags[] = {"--all", "--fresh", NULL};
    bool value = false; /* the word before wants one */

    for (const char *p = rest, *end; *(p += strspn(p, " \t")); p = end) {
        end = word_end(p);
        bool option = strncmp(p, "--", 2) == 0;
        const char *word = ml_format(cx, "%.*s", (int)(end - p), p);

        if ((option || value) && options->n < ML_MAX_WORDS) {
            size_t n = strlen(word);

            if (value && n > 1 && (*word == '"' || *word == '\'') && word[n - 1] == *word)
                word = ml_format(cx, "%.*s", (int)n - 2, word + 1);
            options->v[options->n++] = word;
            value = option && !strchr(word, '=');
            for (size_t k = 0; value && flags[k]; k++)
                value = !ml_streq(word, flags[k]);
        } else {
            ml_text_fmt(code, "%s%s", code->n ? " " : "", word);
        }
    }
}

static bool read_ask(ml_Session *ss, const ml_Words *w, ml_TasksAsk *a)
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
    return ml_read_options(ss, w,
                           ":tune --all knows --trials, --each, --seconds, --seed, --rule, "
                           "--space, --with, --model, --fresh and --db",
                           OPTIONS, ML_COUNT(OPTIONS));
}

/* ---------------------------------------------------------------- progress */

static void add_weighted(ml_Text *t, const ml_TasksStatus *s)
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
    add_weighted(&t, s);
    if (s->now != SIZE_MAX)
        ml_text_fmt(&t, "   %s", ml_tasks_task(ts, s->now)->name);
    ml_progress(p, fmin(1, share), ml_text_z(&t));
    ml_text_free(&t);
}

/* ---------------------------------------------------------------- the table */

/* What a table has beside names and times, and the columns that it takes with them. */
typedef enum Detail { ALONE, WITH_TRIALS, ALL } Detail;
static const size_t BESIDE[] = {[ALONE] = 13, [WITH_TRIALS] = 21, [ALL] = 66};
enum { SHORT = 8 }; /* columns of a name */

/* Three digits, at most `most` behind the point. */
static void number(ml_Text *t, int width, double v, int most)
{
    int digits = v >= 99.95 ? 1 : v >= 0.995 ? 2 : 3;

    if (v > 0)
        ml_text_fmt(t, "  %*.*f", width, digits < most ? digits : most, v);
    else
        ml_text_fmt(t, "  %*s", width, "N/A");
}

/* Cut, or with blanks behind it. */
static void add_name(ml_Text *t, const char *name, size_t width)
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

static void add_task(ml_Text *t, size_t k, const ml_TaskStatus *s, size_t width,
                     Detail detail)
{
    ml_Text flop = {0};

    ml_text_fmt(t, "%3zu  ", k);
    add_name(t, s->name, width);
    if (detail == ALL) {
        ml_text_si(&flop, s->flop);
        ml_text_fmt(t, "  %7s  %6.4g", ml_text_z(&flop), s->weight);
        number(t, 7, s->best > 0 ? s->flop / s->best * 1e-9 : 0, 1);
        number(t, 8, s->best * 1e6, 3);
        number(t, 9, s->weight * s->best * 1e6, 3);
        ml_text_fmt(t, "  %6lld  %4s\n", (long long)s->done, s->over ? "Y" : "");
    } else {
        number(t, detail == ALONE ? 6 : 8, s->best * 1e6, detail == ALONE ? 1 : 2);
        if (detail == WITH_TRIALS)
            ml_text_fmt(t, "  %4lld", (long long)s->done);
        ml_text_char(t, '\n');
    }
    ml_text_free(&flop);
}

/* The columns of auto-scheduler 18, in its order. width: of the screen, ML_LEAST_WIDTH at
 * least; 0: names are whole. */
static void add_table(ml_Tasks *ts, size_t width, ml_Text *t)
{
    Detail detail = ALL;
    size_t longest = strlen("name");

    while (width && detail > ALONE && width < BESIDE[detail] + SHORT)
        detail--;
    for (size_t k = 0; k < ml_tasks_count(ts); k++) {
        size_t n = ml_columns(ml_tasks_task(ts, k)->name);

        longest = n > longest ? n : longest;
    }
    if (width && longest + BESIDE[detail] > width)
        longest = width - BESIDE[detail];
    ml_text_fmt(t, "%3s  ", "id");
    add_name(t, "name", longest);
    if (detail == ALL)
        ml_text_fmt(t, "  %7s  %6s  %7s  %8s  %9s  %6s  %4s\n", "FLOP", "weight", "GFLOP/s",
                    "us", "weighted", "trials", "done");
    else
        ml_text_fmt(t, "  %*s%s\n", detail == ALONE ? 6 : 8, "us",
                    detail == ALONE ? "" : "  done");
    for (size_t k = 0; k < ml_tasks_count(ts); k++)
        add_task(t, k, ml_tasks_task(ts, k), longest, detail);
}

static void tell_table(ml_Session *ss, ml_Tasks *ts)
{
    size_t width = ss->out.folds && !ss->out.sink.out ? (size_t)ss->out.width : 0;
    ml_Text shown = {0}, raw = {0};

    add_table(ts, width, &shown);
    add_table(ts, 0, &raw);
    ml_page_as(ss, ml_text_z(&shown), ml_text_z(&raw));
    ml_text_free(&shown);
    ml_text_free(&raw);
}

static void tell_refused(ml_Session *ss, ml_Tasks *ts)
{
    for (size_t k = 0; k < ml_tasks_count(ts); k++) {
        const ml_TaskStatus *s = ml_tasks_task(ts, k);

        if (s->refused)
            ml_err_say(&ss->out, "note: %s: not tuned: %s", s->name, s->refused);
    }
}

static void tell_end(ml_Session *ss, ml_Tasks *ts, ml_TasksState state)
{
    const ml_TasksStatus *s = ml_tasks_status(ts);
    ml_Text t = {0};

    tell_table(ss, ts);
    if (state == ML_TASKS_CANCELLED)
        ml_text_add(&t, "stopped after ");
    if (s->total)
        ml_text_trials(&t, s->done, s->total);
    else
        ml_text_fmt(&t, "%lld trials", (long long)s->done);
    ml_text_add(&t, " (");
    ml_text_duration(&t, s->elapsed);
    ml_text_char(&t, ')');
    if (s->before)
        ml_text_fmt(&t, "; %lld of them earlier", (long long)s->before);
    if (s->failed)
        ml_text_fmt(&t, "; %lld failed", (long long)s->failed);
    ml_text_add(&t, "; sum of weighted times ");
    add_weighted(&t, s);
    if (state == ML_TASKS_CANCELLED)
        ml_text_add(&t, "; all records are kept, the same line goes on");
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
    tell_refused(ss, ts);
}

static void tell_result(ml_Session *ss, ml_Tasks *ts, ml_TasksState state)
{
    ml_Data *d = ml_session_data(ss);

    ml_data_one(d);
    ml_data_list(d, "tasks");
    for (size_t k = 0; k < ml_tasks_count(ts); k++) {
        ml_data_object(d, NULL);
        ml_data_fields(d, &ml_task_fields, ml_tasks_task(ts, k));
        ml_data_end(d);
    }
    ml_data_end(d);
    ml_data_str(d, "state", state == ML_TASKS_CANCELLED ? "cancelled" : "done");
    ml_data_fields(d, &ml_tasks_fields, ml_tasks_status(ts));
}

/* ---------------------------------------------------------------- :tune --all */

static void announce(ml_Session *ss, ml_Tasks *ts, const ml_TasksAsk *a)
{
    const ml_Target *target = ml_engine_target(ml_host_engine(ss->host));
    size_t n = ml_tasks_count(ts);

    ml_err_say(&ss->out, "tune %zu task%s  llvm %s  seed %lld  %u thread%s", n,
               n == 1 ? "" : "s", ml_target_level(target), (long long)a->seed, a->threads,
               a->threads == 1 ? "" : "s");
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

bool ml_tune_all(ml_Session *ss, const ml_Words *w)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text code = {0};
    ml_Words options = {0};
    ml_TasksAsk ask;
    ml_Tasks *ts = NULL;
    ml_TasksState state = ML_TASKS_FAILED;
    const char *warning = NULL;

    split_line(w->rest, cx, &options, &code);
    if (read_ask(ss, &options, &ask) && (code.n || ss->focus))
        ts =
            ml_host_tasks_begin(ss->host, code.n ? ml_text_z(&code) : NULL, &ask, &warning);
    else if (!code.n && !ss->focus)
        ml_session_error(ss, ML_E_UNKNOWN_NAME,
                         ":tune --all takes a list of programs, moon.net(\"resnet50\"), or "
                         "the functions of the focus, and there is none");
    if (ts) {
        if (warning)
            ml_tune_warn(ss, warning);
        announce(ss, ts, &ask);
        state = ml_tune_turn(ss, ts, cx, &ask, warning != NULL);
        if (state == ML_TASKS_FAILED && ml_error(cx))
            ml_session_ctx_error(ss, cx);
        else if (state != ML_TASKS_FAILED) {
            tell_end(ss, ts, state);
            ml_tune_left_out(ss);
            tell_result(ss, ts, state);
        }
        ml_host_tasks_end(ss->host);
    }
    if (ts && state == ML_TASKS_CANCELLED) {
        ml_interrupt_answer();
        if (ss->batch)
            ss->status = 130;
    }
    ml_text_free(&code);
    ml_ctx_unref(cx);
    return state == ML_TASKS_DONE || (state == ML_TASKS_CANCELLED && !ss->batch);
}

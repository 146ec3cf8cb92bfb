/*
 * cmd_tune_shapes - :tune --shape, one program tuned for a list of its symbolic sizes under one
 * budget, and the kernel that is put together of what was found.
 *
 * The tasks are turned as those of :tune --all. Ctrl-C stops the search; what was measured is in
 * the database and in the kernel, and the same line goes on. Source: interaction 9, 11;
 * auto-scheduler 18.
 */
#include <float.h>
#include <math.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/say.h"
#include "repl/cmd/options.h"
#include "repl/cmd/tune_words.h"
#include "repl/command/command.h"
#include "repl/out/interrupt.h"
#include "repl/session/progress.h"
#include "repl/show/show.h"

/* ---------------------------------------------------------------- the line */

static bool is_shape(const char *word)
{
    static const char NAME[] = "--shape";

    return strncmp(word, NAME, sizeof NAME - 1) == 0 &&
           (word[sizeof NAME - 1] == '=' || word[sizeof NAME - 1] == '\0');
}

bool ml_tune_has_shape(const ml_Words *w)
{
    for (size_t k = 0; k < w->n; k++)
        if (is_shape(w->v[k]))
            return true;
    return false;
}

/* "n=1, 16" is two words, "n=1 m=64" are two as well: those behind --shape that go on with it. */
static bool goes_on(ml_Text *so_far, const char *word)
{
    size_t n = so_far->n;
    bool open = n > 0 && ml_text_z(so_far)[n - 1] == ',';

    return *word != '-' && (open || *word == ',' || strchr(word, '='));
}

/* Takes the values of --shape out of the words: "n=1,16;m=64" for two options. */
static void take_shapes(const ml_Words *w, ml_Words *left, ml_Text *shape)
{
    *left = (ml_Words){.rest = w->rest};
    for (size_t k = 0; k < w->n; k++) {
        const char *value = w->v[k] + strlen("--shape");
        bool first = true;

        if (!is_shape(w->v[k])) {
            left->v[left->n++] = w->v[k];
            continue;
        }
        ml_text_add(shape, shape->n ? ";" : "");
        if (*value == '=') {
            ml_text_add(shape, value + 1);
            first = false;
        }
        while (k + 1 < w->n && w->v[k + 1][0] != '-' &&
               (first || goes_on(shape, w->v[k + 1]))) {
            const char *word = w->v[++k];
            bool joined = first || *word == ',' || ml_text_z(shape)[shape->n - 1] == ',';

            ml_text_fmt(shape, "%s%s", joined ? "" : ",", word);
            first = false;
        }
    }
}

static bool read_ask(ml_Session *ss, const ml_Words *w, ml_TasksAsk *a)
{
    const ml_Option OPTIONS[] = {
        {"--trials", ML_OPTION_WHOLE, &a->trials, 1, ML_TUNE_MAX_TRIALS,
         "--trials takes a number from 1 to 1000000"},
        {"--each", ML_OPTION_WHOLE, &a->each, 1, ML_TUNE_MAX_TRIALS,
         "--each takes a number from 1 to 1000000"},
        {"--seed", ML_OPTION_WHOLE, &a->seed, 1, 0x1p63, "--seed takes a number from 1"},
        {"--seconds", ML_OPTION_REAL, &a->seconds, DBL_MIN, DBL_MAX,
         "--seconds takes a number above 0"},
        {"--rule", ML_OPTION_TEXT, &a->rule, 0, 0, "--rule takes gradient or round-robin"},
        {"--with", ML_OPTION_TEXT, &a->with, 0, 0, "--with takes a strategy: :help tune"},
        {"--model", ML_OPTION_TEXT, &a->model, 0, 0,
         "--model takes xgb, analytic or random"},
        {"--space", ML_OPTION_TEXT, &a->space, 0, 0, "--space takes the name of one"},
        {"--db", ML_OPTION_TEXT, &a->db, 0, 0, "--db takes a file"},
        {"--fresh", ML_OPTION_FLAG, &a->fresh, 0, 0, NULL},
    };

    *a = (ml_TasksAsk){.seed = ml_setting_int(&ss->set, ML_SET_seed),
                       .threads = ml_engine_threads(ml_host_engine(ss->host))};
    return ml_read_options(ss, w,
                           ":tune --shape knows --trials, --each, --seconds, --seed, "
                           "--rule, --with, --model, --space, --fresh and --db",
                           OPTIONS, ML_COUNT(OPTIONS));
}

/* ---------------------------------------------------------------- the end of it */

static void add_micro(ml_Text *t, int width, double seconds)
{
    if (seconds > 0)
        ml_text_fmt(t, "  %*.4g", width, seconds * 1e6);
    else
        ml_text_fmt(t, "  %*s", width, "-");
}

static void tell_table(ml_Session *ss, ml_Tasks *ts, const ml_Shapes *sh)
{
    int wide = (int)strlen("sizes");
    ml_Text t = {0};

    for (size_t k = 0; k < sh->n; k++)
        wide = (int)strlen(sh->v[k].text) > wide ? (int)strlen(sh->v[k].text) : wide;
    ml_text_fmt(&t, "%-*s  %8s  %9s  %9s  %6s\n", wide, "sizes", "GFLOP/s", "us alone",
                "in kernel", "trials");
    for (size_t k = 0; k < sh->n; k++) {
        const ml_TaskStatus *task = ml_tasks_task(ts, k);
        double s = sh->v[k].seconds > 0 ? sh->v[k].seconds : sh->v[k].best;

        ml_text_fmt(&t, "%-*s", wide, sh->v[k].text);
        if (s > 0 && task->flop > 0)
            ml_text_fmt(&t, "  %8.1f", task->flop / s * 1e-9);
        else
            ml_text_fmt(&t, "  %8s", "-");
        add_micro(&t, 9, sh->v[k].best);
        add_micro(&t, 9, sh->v[k].seconds);
        ml_text_fmt(&t, "  %6lld\n", (long long)task->done);
    }
    ml_page_as(ss, ml_text_z(&t), ml_text_z(&t));
    ml_text_free(&t);
}

/* s: as it was when the search ended. */
static void tell_end(ml_Session *ss, ml_Tasks *ts, const ml_TasksStatus *s,
                     ml_TasksState state, const ml_Shapes *sh)
{
    size_t arms = 0;
    ml_Text t = {0};

    tell_table(ss, ts, sh);
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
    if (state == ML_TASKS_CANCELLED)
        ml_text_add(&t, "; all records are kept, the same line goes on");
    for (size_t k = 0; k < sh->n; k++)
        arms += sh->v[k].best > 0;
    if (sh->record)
        ml_text_fmt(&t,
                    "\none kernel: %zu size%s with steps of %s own, all others %s\n"
                    "record %lld; :adopt %lld makes it a branch",
                    arms, arms == 1 ? "" : "s", arms == 1 ? "its" : "their", sh->other,
                    (long long)sh->record, (long long)sh->record);
    else
        ml_text_add(&t, "\nno candidate could be measured");
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
    for (size_t k = 0; k < sh->n; k++)
        if (sh->v[k].refused)
            ml_err_say(&ss->out, "note: %s: not tuned: %s", sh->v[k].text,
                       sh->v[k].refused);
}

static void tell_result(ml_Session *ss, ml_Tasks *ts, const ml_TasksStatus *s,
                        ml_TasksState state, const ml_Shapes *sh)
{
    ml_Data *d = ml_session_data(ss);

    ml_data_one(d);
    ml_data_str(d, "workload", ml_schedule_name(ss->focus));
    ml_data_list(d, "sizes");
    for (size_t k = 0; k < sh->n; k++) {
        ml_data_object(d, NULL);
        ml_data_str(d, "sizes", sh->v[k].text);
        ml_data_real(d, "seconds", sh->v[k].seconds > 0 ? sh->v[k].seconds : (double)NAN);
        ml_data_fields(d, &ml_task_fields, ml_tasks_task(ts, k));
        ml_data_end(d);
    }
    ml_data_end(d);
    ml_data_str(d, "other", sh->other);
    if (sh->record)
        ml_data_int(d, "record", sh->record);
    ml_data_str(d, "state", state == ML_TASKS_CANCELLED ? "cancelled" : "done");
    ml_data_fields(d, &ml_tasks_fields, s);
}

/* ---------------------------------------------------------------- :tune --shape */

static void announce(ml_Session *ss, ml_Tasks *ts, const ml_TasksAsk *a)
{
    const ml_Target *target = ml_engine_target(ml_host_engine(ss->host));
    size_t n = ml_tasks_count(ts);

    ml_err_say(&ss->out, "tune %s for %zu size%s  llvm %s  seed %lld  %u thread%s",
               ml_schedule_name(ss->focus), n, n == 1 ? "" : "s", ml_target_level(target),
               (long long)a->seed, a->threads, a->threads == 1 ? "" : "s");
}

/* Of a search that was stopped, and where a person does not wait for measurements, what is
 * known is put together without any. */
static bool join(ml_Session *ss, ml_Ctx *cx, ml_TasksState state, ml_Shapes *sh)
{
    bool stopped = state == ML_TASKS_CANCELLED;

    if (!stopped && ml_host_shapes_join(ss->host, cx, false, sh))
        return true;
    if (!stopped && !ml_interrupted())
        return false;
    ml_interrupt_answer();
    return ml_host_shapes_join(ss->host, cx, true, sh);
}

bool ml_tune_shapes(ml_Session *ss, const ml_Words *w)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text shape = {0};
    ml_TasksState state = ML_TASKS_FAILED;
    const char *warning = NULL;
    ml_Shapes sh = {0};
    ml_Tasks *ts = NULL;
    ml_TasksAsk ask;
    ml_Words left;

    take_shapes(w, &left, &shape);
    if (read_ask(ss, &left, &ask))
        ts = ml_host_shapes_begin(ss->host, ss->focus, ml_text_z(&shape), &ask, &warning);
    ml_text_free(&shape);
    if (ts) {
        if (warning)
            ml_tune_warn(ss, warning);
        announce(ss, ts, &ask);
        state = ml_tune_turn(ss, ts, cx, &ask, warning != NULL);
        const ml_TasksStatus end = *ml_tasks_status(ts);

        if (state == ML_TASKS_FAILED && ml_error(cx))
            ml_session_ctx_error(ss, cx);
        else if (state != ML_TASKS_FAILED && !join(ss, cx, state, &sh))
            state = ML_TASKS_FAILED;
        if (state != ML_TASKS_FAILED) {
            tell_end(ss, ts, &end, state, &sh);
            if (sh.warning)
                ml_err_say(&ss->out,
                           "warning: %s; the kernel is kept in memory for this session",
                           sh.warning);
            tell_result(ss, ts, &end, state, &sh);
        }
        ml_host_tasks_end(ss->host);
    }
    if (state == ML_TASKS_CANCELLED && ss->batch)
        ss->status = 130;
    ml_ctx_unref(cx);
    return (state == ML_TASKS_DONE && sh.record != 0) ||
           (state == ML_TASKS_CANCELLED && !ss->batch);
}

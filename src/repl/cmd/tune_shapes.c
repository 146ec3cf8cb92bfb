/*
 * cmd_tune_shapes - :tune --shape, one program tuned for a list of its symbolic sizes under one
 * budget, and the kernel that is put together of what was found.
 *
 * The tasks are turned as those of :tune --all. Ctrl-C stops the search; what was measured is in
 * the database and in the kernel, and the same line goes on. Source: interaction 9, 11;
 * auto-scheduler 18.
 */
#include <math.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/say.h"
#include "repl/cmd/tune_words.h"
#include "repl/command/command.h"
#include "repl/out/interrupt.h"
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

/* ---------------------------------------------------------------- the end of it */

/* What a table has beside the sizes, and the columns that it takes with them. */
typedef enum Detail { IN_KERNEL, ALONE_TOO, ALL } Detail;
static const size_t BESIDE[] = {[IN_KERNEL] = 11, [ALONE_TOO] = 22, [ALL] = 40};
enum { SHORT = 8 }; /* columns of sizes */

static void add_micro(ml_Text *t, double seconds)
{
    if (seconds > 0)
        ml_text_fmt(t, "  %9.4g", seconds * 1e6);
    else
        ml_text_fmt(t, "  %9s", "-");
}

static void add_row(ml_Text *t, const ml_ShapeRow *row, const ml_TaskStatus *task,
                    size_t width, Detail detail)
{
    double s = row->seconds > 0 ? row->seconds : row->best;

    ml_tasks_name(t, row->text, width);
    if (detail == ALL && s > 0 && task->flop > 0)
        ml_text_fmt(t, "  %8.1f", task->flop / s * 1e-9);
    else if (detail == ALL)
        ml_text_fmt(t, "  %8s", "-");
    if (detail != IN_KERNEL)
        add_micro(t, row->best);
    add_micro(t, row->seconds);
    if (detail == ALL)
        ml_text_fmt(t, "  %6lld", (long long)task->done);
    ml_text_char(t, '\n');
}

/* width: of the screen; 0: sizes are whole. */
static void add_table(ml_Tasks *ts, const ml_Shapes *sh, size_t width, ml_Text *t)
{
    Detail detail = ALL;
    size_t longest = strlen("sizes");

    while (width && detail > IN_KERNEL && width < BESIDE[detail] + SHORT)
        detail--;
    for (size_t k = 0; k < sh->n; k++)
        longest = strlen(sh->v[k].text) > longest ? strlen(sh->v[k].text) : longest;
    if (width && longest + BESIDE[detail] > width)
        longest = width - BESIDE[detail];
    ml_tasks_name(t, "sizes", longest);
    ml_text_fmt(t, "%s%s  %9s%s\n", detail == ALL ? "   GFLOP/s" : "",
                detail == IN_KERNEL ? "" : "   us alone",
                detail == IN_KERNEL ? "us" : "in kernel", detail == ALL ? "  trials" : "");
    for (size_t k = 0; k < sh->n; k++)
        add_row(t, &sh->v[k], ml_tasks_task(ts, k), longest, detail);
}

static void tell_table(ml_Session *ss, ml_Tasks *ts, const ml_Shapes *sh)
{
    size_t width = ss->out.folds && !ss->out.sink.out ? (size_t)ss->out.width : 0;
    ml_Text shown = {0}, raw = {0};

    add_table(ts, sh, width, &shown);
    add_table(ts, sh, 0, &raw);
    ml_page_as(ss, ml_text_z(&shown), ml_text_z(&raw));
    ml_text_free(&shown);
    ml_text_free(&raw);
}

/* s: as it was when the search ended. */
static void tell_end(ml_Session *ss, ml_Tasks *ts, const ml_TasksStatus *s,
                     ml_TasksState state, const ml_Shapes *sh)
{
    size_t arms = 0;
    ml_Text t = {0};

    tell_table(ss, ts, sh);
    ml_tasks_ended(&t, s, state);
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
        ml_tasks_refused(ss, sh->v[k].text, sh->v[k].refused);
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
    if (ml_tasks_read(ss, &left, ":tune --shape", &ask))
        ts = ml_host_shapes_begin(ss->host, ss->focus, ml_text_z(&shape), &ask, &warning);
    ml_text_free(&shape);
    if (ts) {
        size_t n = ml_tasks_count(ts);

        if (warning)
            ml_tune_warn(ss, warning);
        ml_tasks_announce(ss,
                          ml_format(cx, "%s for %zu size%s", ml_schedule_name(ss->focus), n,
                                    n == 1 ? "" : "s"),
                          &ask);
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

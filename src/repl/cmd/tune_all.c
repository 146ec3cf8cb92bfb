/*
 * cmd_tune_all - :tune --all, several programs under one budget, and the table at its end.
 *
 * Ctrl-C stops it; what was measured is in the database, and the same line goes on.
 * Source: interaction 9, 11; auto-scheduler 18.
 */
#include <ctype.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/say.h"
#include "repl/cmd/tune_words.h"
#include "repl/command/command.h"
#include "repl/host/tune.h"
#include "repl/out/interrupt.h"
#include "repl/screen/grid.h"
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

static void add_task(ml_Text *t, size_t k, const ml_TaskStatus *s, size_t width,
                     Detail detail)
{
    ml_Text flop = {0};

    ml_text_fmt(t, "%3zu  ", k);
    ml_tasks_name(t, s->name, width);
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
    ml_tasks_name(t, "name", longest);
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

static void tell_end(ml_Session *ss, ml_Tasks *ts, ml_TasksState state)
{
    const ml_TasksStatus *s = ml_tasks_status(ts);
    ml_Text t = {0};

    tell_table(ss, ts);
    ml_tasks_ended(&t, s, state);
    ml_text_add(&t, "; sum of weighted times ");
    ml_tasks_weighted(&t, s);
    if (state == ML_TASKS_CANCELLED)
        ml_text_add(&t, "; all records are kept, the same line goes on");
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
    for (size_t k = 0; k < ml_tasks_count(ts); k++)
        ml_tasks_refused(ss, ml_tasks_task(ts, k)->name, ml_tasks_task(ts, k)->refused);
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
    if (ml_tasks_read(ss, &options, ":tune --all", &ask) && (code.n || ss->focus))
        ts =
            ml_host_tasks_begin(ss->host, code.n ? ml_text_z(&code) : NULL, &ask, &warning);
    else if (!code.n && !ss->focus)
        ml_session_error(ss, ML_E_UNKNOWN_NAME,
                         ":tune --all takes a list of programs, moon.net(\"resnet50\"), or "
                         "the functions of the focus, and there is none");
    if (ts) {
        size_t n = ml_tasks_count(ts);

        if (warning)
            ml_tune_warn(ss, warning);
        ml_tasks_announce(ss, ml_format(cx, "%zu task%s", n, n == 1 ? "" : "s"), &ask);
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

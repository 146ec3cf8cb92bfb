/*
 * cmd_tune_compare - :tune --with A,B,... --compare, several strategies on one program, by turns,
 * and their curves.
 *
 * Each begins anew, and its records are kept in memory: none learns from another, and nothing of
 * it is in the database. Source: interaction 11; auto-scheduler 12.
 */
#include <math.h>
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/roofs.h"
#include "repl/cmd/tune_words.h"
#include "repl/keep/record.h"
#include "repl/out/interrupt.h"
#include "repl/session/progress.h"
#include "repl/session/searched.h"
#include "repl/show/curves.h"
#include "repl/show/show.h"

enum {
    MOST = 8,   /* strategies */
    SLICE = 16, /* trials, then it is the next one's turn */
    HIGH = 18,  /* lines of the picture */
};
#define NEAR 0.95 /* of the best: the trials until then are told */

typedef struct Compare {
    ml_Session *ss;
    ml_Ctx *cx;
    size_t n;
    int64_t trials;
    struct {
        const char *name;
        ml_Tuner *t;
        bool over;
    } v[MOST];
} Compare;

/* ---------------------------------------------------------------- the names */

static bool take_names(Compare *c, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, ",");
        const char *name = ml_format(c->cx, "%.*s", (int)n, list);

        for (size_t k = 0; k < c->n; k++)
            if (ml_streq(c->v[k].name, name))
                return ml_session_error(c->ss, ML_E_BAD_ARGUMENT,
                                        "--with: %s is there twice", name);
        if (c->n == MOST)
            return ml_session_error(c->ss, ML_E_BAD_ARGUMENT,
                                    "--compare takes %d strategies at most", MOST);
        c->v[c->n++].name = name;
        list += n + (list[n] == ',');
    }
    return c->n > 0 ||
           ml_session_error(c->ss, ML_E_BAD_ARGUMENT, "--with takes names of strategies");
}

/* ---------------------------------------------------------------- the turns */

static void tell_progress(Compare *c, ml_Progress *p, size_t at)
{
    ml_Text t = {0};
    int64_t done = 0;

    for (size_t k = 0; k < c->n; k++)
        done += ml_tuner_status(c->v[k].t)->done;
    ml_text_fmt(&t, "%lld/%lld trials   %s", (long long)done,
                (long long)(c->trials * (int64_t)c->n), c->v[at].name);
    ml_progress(p, (double)done / (double)(c->trials * (int64_t)c->n), ml_text_z(&t));
    ml_text_free(&t);
}

static ml_TuneState step_on(Compare *c, ml_Progress *p, size_t at)
{
    ml_TuneState state = ML_TUNE_MORE;

    while (state == ML_TUNE_MORE) {
        state = ml_tuner_step(c->v[at].t, c->cx, 0.1);
        tell_progress(c, p, at);
        ml_tell_tick(c->ss);
    }
    return state;
}

/* One search until its slice is done; after the last its fastest run by turns. */
static ml_TuneState slice(Compare *c, ml_Progress *p, size_t at)
{
    ml_Tuner *t = c->v[at].t;
    const ml_TuneStatus *s = ml_tuner_status(t);
    int64_t left = c->trials - s->total;

    if (s->done == s->total)
        ml_tuner_more(t, left < SLICE ? left : SLICE);
    ml_tuner_turns(t, false);

    ml_TuneState state = step_on(c, p, at);

    s = ml_tuner_status(t);
    c->v[at].over = s->total >= c->trials || s->done < s->total;
    if (!c->v[at].over || state != ML_TUNE_DONE)
        return state;
    ml_tuner_turns(t, true);
    return step_on(c, p, at);
}

static ml_TuneState run(Compare *c)
{
    ml_TuneState state = ML_TUNE_DONE;
    ml_Progress p;
    bool more = true;

    ml_progress_begin(&p, c->ss, "tune");
    bool fatal = ml_interrupt_fatal(false);

    while (more && state == ML_TUNE_DONE) {
        more = false;
        for (size_t k = 0; k < c->n && state == ML_TUNE_DONE; k++) {
            if (!c->v[k].over)
                state = slice(c, &p, k);
            more |= !c->v[k].over;
        }
    }
    ml_interrupt_fatal(fatal);
    ml_progress_end(&p);
    return state;
}

/* ---------------------------------------------------------------- what came of it */

/* The least time of all; INFINITY: nothing was measured. */
static double best_of(const Compare *c)
{
    double best = (double)INFINITY;

    for (size_t k = 0; k < c->n; k++) {
        const ml_TuneTrial *v;
        size_t n = ml_tuner_trials(c->v[k].t, &v);

        if (n > 0 && v[n - 1].best > 0)
            best = fmin(best, v[n - 1].best);
    }
    return best;
}

static ml_Curve curve_of(const Compare *c, size_t k, double best)
{
    const ml_TuneTrial *v;
    size_t n = ml_tuner_trials(c->v[k].t, &v);
    double *y = ML_ARRAY(c->cx, double, n + 1);

    for (size_t m = 0; m < n; m++)
        y[m] = v[m].best > 0 ? best / v[m].best : (double)NAN;
    return (ml_Curve){c->v[k].name, n, y};
}

/* 0: never. */
static size_t trials_until(const ml_Curve *v)
{
    for (size_t k = 0; k < v->n; k++)
        if (v->y[k] >= NEAR)
            return k + 1;
    return 0;
}

static void tell_table(Compare *c, const ml_Curve *v)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "%-14s %6s %10s %8s %8s %7s", "strategy", "trials", "best us",
                "to 95 %", "search s", "failed");
    for (size_t k = 0; k < c->n; k++) {
        const ml_TuneStatus *s = ml_tuner_status(c->v[k].t);
        int64_t failed = 0;

        for (size_t m = ML_PHASE_BUILD; m < ML_PHASES; m++)
            failed += s->failed[m];
        ml_text_fmt(&t, "\n%-14s %6lld ", v[k].name, (long long)s->done);
        if (s->best > 0)
            ml_text_fmt(&t, "%10.4g ", s->best * 1e6);
        else
            ml_text_fmt(&t, "%10s ", "-");
        if (trials_until(&v[k]))
            ml_text_fmt(&t, "%8zu", trials_until(&v[k]));
        else
            ml_text_fmt(&t, "%8s", "-");
        ml_text_fmt(&t, " %8.2f %7lld", s->search_seconds, (long long)failed);
    }
    ml_out_line(&c->ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

static void tell_result(Compare *c, const ml_Curve *v, ml_TuneState state)
{
    ml_Data *d = ml_session_data(c->ss);

    ml_data_one(d);
    ml_data_str(d, "state", state == ML_TUNE_CANCELLED ? "cancelled" : "done");
    ml_data_list(d, "strategies");
    for (size_t k = 0; k < c->n; k++) {
        const ml_TuneStatus *s = ml_tuner_status(c->v[k].t);
        const ml_TuneTrial *trial;
        size_t n = ml_tuner_trials(c->v[k].t, &trial);

        ml_data_object(d, NULL);
        ml_data_str(d, "with", v[k].name);
        ml_data_int(d, "done", s->done);
        ml_data_real(d, "best_seconds", s->best > 0 ? s->best : (double)NAN);
        ml_data_int(d, "trials_to_95", (int64_t)trials_until(&v[k]));
        ml_data_real(d, "search_seconds", s->search_seconds);
        ml_data_list(d, "curve");
        for (size_t m = 0; m < n; m++)
            ml_data_real(d, NULL, trial[m].best > 0 ? trial[m].best : (double)NAN);
        ml_data_end(d);
        ml_data_end(d);
    }
    ml_data_end(d);
}

/* For :graph search. */
static void keep_curves(Compare *c)
{
    ml_Session *ss = c->ss;
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(ss->focus));
    uint32_t at = ml_schedule_func(ss->focus) ? ml_schedule_func_pos(ss->focus) : 0;
    ml_SearchCurve v[MOST];

    for (size_t k = 0; k < c->n; k++) {
        const ml_TuneTrial *trial;
        size_t n = ml_tuner_trials(c->v[k].t, &trial);
        double *best = ML_ARRAY(c->cx, double, n + 1);

        for (size_t m = 0; m < n; m++)
            best[m] = trial[m].best;
        v[k] = (ml_SearchCurve){c->v[k].name, n, best};
    }
    ml_searched_keep(ss, &(ml_Searched){ml_schedule_name(ss->focus),
                                        ml_own_amount(cx, ml_host_engine(ss->host),
                                                      ss->focus, at, 0, NULL),
                                        c->n, v});
    ml_ctx_unref(cx);
}

static void tell(Compare *c, ml_TuneState state)
{
    ml_Curve v[MOST];
    double best = best_of(c);
    ml_Text t = {0};

    for (size_t k = 0; k < c->n; k++)
        v[k] = curve_of(c, k, best);
    if (isfinite(best)) {
        ml_curves_draw(v, c->n, c->ss->out.width, HIGH, &t);
        ml_out(&c->ss->out, ml_text_z(&t));
    } else
        ml_out_prose(&c->ss->out, "no candidate could be measured");
    tell_table(c, v);
    tell_result(c, v, state);
    keep_curves(c);
    ml_text_free(&t);
}

bool ml_tune_compare(ml_Session *ss, const ml_TuneAsk *ask)
{
    Compare c = {.ss = ss, .cx = ml_ctx_new(0)};
    ml_TuneAsk one = *ask;
    ml_TuneState state = ML_TUNE_FAILED;
    bool ok = take_names(&c, ask->with ? ask->with : "evolve,mutate");

    c.trials = ask->trials ? ask->trials : ML_TUNE_TRIALS;
    one.trials = c.trials < SLICE ? c.trials : SLICE;
    ml_record_unseen(ss); /* measurements are others the next time */
    for (size_t k = 0; k < c.n && ok; k++) {
        one.with = c.v[k].name;
        c.v[k].t = ml_host_tuner_apart(ss->host, ss->focus, &one);
        ok = c.v[k].t != NULL;
    }
    if (ok) {
        state = run(&c);
        if (state == ML_TUNE_FAILED)
            ml_session_ctx_error(ss, c.cx);
        else
            tell(&c, state);
        ml_tune_left_out(ss);
    }
    ml_host_tuners_end(ss->host);
    ml_ctx_unref(c.cx);
    if (state == ML_TUNE_CANCELLED) {
        ml_interrupt_answer();
        if (ss->batch)
            ss->status = 130;
    }
    return state == ML_TUNE_DONE || (state == ML_TUNE_CANCELLED && !ss->batch);
}

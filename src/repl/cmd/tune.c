/*
 * cmd_tune - :tune, a search with its progress and its end.
 *
 * A search ends by itself or by Ctrl-C; what was measured is in the database before it is
 * told here. At a terminal the board of the search stands below the line (tune_seen.c); one
 * that cannot place its cursor gets a line on standard error that is written over and a row
 * now and then, a pipe rows alone. Source: interaction 9, 11, 15 E.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/roofs.h"
#include "moonloop/work/work.h"
#include "repl/cmd/options.h"
#include "repl/cmd/tune_words.h"
#include "repl/command/command.h"
#include "repl/host/tune.h"
#include "repl/job/background.h"
#include "repl/out/interrupt.h"
#include "repl/session/progress.h"
#include "repl/session/searched.h"

enum { ROWS = 10, LEAST_ROW = 16 }; /* rows of a search; candidates between two */

typedef struct Show {
    ml_Session *ss;
    ml_Amount amount; /* what speeds are told of */
    double roof;      /* of these per second; NAN: not measured */
    int64_t next_row;
    double row_at, line_at; /* when they were printed last */
    bool live;
    bool head;
} Show;

/* By what is known of the machine without measuring. */
static void find_amount(Show *sh)
{
    ml_Schedule *s = sh->ss->focus;
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    uint32_t at = ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0;

    sh->amount = ml_own_amount(cx, ml_host_engine(sh->ss->host), s, at, 0, &sh->roof);
    ml_ctx_unref(cx);
}

static bool has_share(const Show *sh)
{
    return sh->roof > 0 && sh->amount.n > 0;
}

static void rate(ml_Text *t, const Show *sh, double seconds)
{
    if (sh->amount.n > 0) {
        ml_text_giga(t, sh->amount, seconds);
        ml_text_fmt(t, " %s", ml_rate_unit(sh->amount));
    } else
        ml_text_fmt(t, "%.3g ms", seconds * 1e3);
    if (has_share(sh))
        ml_text_fmt(t, " (%.1f %%%s)", 100 * sh->amount.n / seconds / sh->roof,
                    sh->amount.bytes ? " of the bandwidth" : "");
}

static int64_t failures(const ml_TuneStatus *s)
{
    int64_t n = 0;

    for (size_t k = ML_PHASE_BUILD; k < ML_PHASES; k++)
        n += s->failed[k];
    return n;
}

/* ---------------------------------------------------------------- progress */

static void add_state(ml_Text *t, const Show *sh, const ml_TuneStatus *s)
{
    ml_text_fmt(t, "%lld/%lld trials   %.0f/s   ", (long long)s->done, (long long)s->total,
                s->rate);
    ml_text_duration(t, s->elapsed);
    if (isfinite(s->eta)) {
        ml_text_add(t, "   eta ");
        ml_text_duration(t, s->eta);
    }
    if (s->best > 0) {
        ml_text_add(t, "   best ");
        rate(t, sh, s->best);
    }
}

/* The search ranks by the fastest of few measurements, the turns by medians. */
static bool is_measured_anew(const ml_TuneStatus *s)
{
    return s->final_of && s->searched > 0 && s->best > s->searched * 1.005;
}

static void live_line(Show *sh, const ml_TuneStatus *s)
{
    ml_Text t = {0};

    if (!sh->live || ml_clock() - sh->line_at < 0.1)
        return;
    sh->line_at = ml_clock();
    add_state(&t, sh, s);
    ml_out_status(&sh->ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

static void row(Show *sh, const ml_TuneStatus *s)
{
    enum { WIDE = 64 };
    ml_Text t = {0};
    bool share = has_share(sh), rated = sh->amount.n > 0;
    bool wide =
        sh->ss->out.width >= WIDE; /* else generations, failures, times are left out */

    if (!sh->head) {
        ml_text_fmt(&t, " %strials   %12s%s%s", wide ? "gen  " : "",
                    !rated             ? "best in ms"
                    : sh->amount.bytes ? "best GB/s"
                                       : "best GFLOP/s",
                    !share             ? ""
                    : sh->amount.bytes ? "   % roof"
                                       : "   % peak",
                    wide ? "   failed   remaining" : "   …");
        ml_err_prose(&sh->ss->out, ml_text_z(&t));
        ml_text_clear(&t);
        sh->head = true;
    }
    if (wide)
        ml_text_fmt(&t, "%4lld  ", (long long)s->generation);
    ml_text_fmt(&t, wide ? "%6lld" : "%7lld", (long long)s->done);
    ml_Text best = {0};

    if (s->best > 0 && rated)
        ml_text_giga(&best, sh->amount, s->best);
    else if (s->best > 0)
        ml_text_fmt(&best, "%.4f", s->best * 1e3);
    ml_text_fmt(&t, "   %12s", s->best > 0 ? ml_text_z(&best) : "-");
    ml_text_free(&best);
    if (share && s->best > 0)
        ml_text_fmt(&t, "   %6.1f", 100 * sh->amount.n / s->best / sh->roof);
    else if (share)
        ml_text_fmt(&t, "   %6s", "-");
    ml_Text left = {0};

    if (isfinite(s->eta))
        ml_text_duration(&left, s->eta);
    else
        ml_text_char(&left, '-');
    if (wide)
        ml_text_fmt(&t, "   %6lld   %9s", (long long)failures(s), ml_text_z(&left));
    ml_err_line(&sh->ss->out, ml_text_z(&t));
    ml_text_free(&left);
    ml_text_free(&t);
    sh->row_at = ml_clock();
}

/* --json, and what the session of a job hears. */
static void tell_progress(Show *sh, const ml_TuneStatus *s)
{
    ml_Data d = {.schema = true};
    ml_Text t = {0};

    if (!ml_progress_due(sh->ss, &sh->line_at))
        return;
    add_state(&t, sh, s);
    ml_data_row(&d);
    ml_data_str(&d, "progress", "tune");
    ml_data_real(&d, "share",
                 s->total > 0 ? (double)s->done / (double)s->total : (double)NAN);
    ml_data_fields(&d, &ml_search_fields, s);
    ml_data_str(&d, "text", ml_text_z(&t));
    ml_err(&sh->ss->out, ml_data_lines(&d));
    ml_data_free(&d);
    ml_text_free(&t);
}

static void progress(Show *sh, const ml_TuneStatus *s, bool last)
{
    if (sh->ss->json) {
        tell_progress(sh, s);
        return;
    }
    int64_t by = s->total / ROWS > LEAST_ROW ? s->total / ROWS : LEAST_ROW;

    if (s->done >= sh->next_row || (!sh->live && ml_clock() - sh->row_at >= 30)) {
        row(sh, s);
        sh->next_row = (s->done / by + 1) * by;
    } else if (!last) {
        live_line(sh, s);
    }
}

/* ---------------------------------------------------------------- the end of it */

static void tell_failures(ml_Text *t, const ml_TuneStatus *s)
{
    static const char *const names[] = {"replay", "build", "run", "verify", "timeout"};
    const char *between = "";

    if (failures(s) == 0)
        return;
    ml_text_fmt(t, "failed %lld: ", (long long)failures(s));
    for (size_t k = ML_PHASE_BUILD; k < ML_PHASES; k++)
        if (s->failed[k]) {
            ml_text_fmt(t, "%s%s %lld", between, names[k], (long long)s->failed[k]);
            between = ", ";
        }
    ml_text_char(t, '\n');
}

static void tell_end(Show *sh, const ml_TuneStatus *s, ml_TuneState state)
{
    ml_Text t = {0};
    double spent = s->search_seconds + s->build_seconds + s->run_seconds;

    if (state == ML_TUNE_CANCELLED || (s->done < s->total && !s->exhausted)) {
        ml_text_fmt(&t, "stopped after %lld", (long long)s->done);
        if (s->done < s->total)
            ml_text_fmt(&t, " of %lld", (long long)s->total);
        ml_text_add(&t, " trials (");
        ml_text_duration(&t, s->elapsed);
        ml_text_fmt(&t, "); %lld records kept", (long long)s->done);
        if (s->done < s->total)
            ml_text_fmt(&t, "; :tune continues to %lld", (long long)s->total);
        ml_text_char(&t, '\n');
    } else {
        ml_text_trials(&t, s->done, s->total);
        ml_text_add(&t, " (");
        ml_text_duration(&t, s->elapsed);
        ml_text_char(&t, ')');
        if (s->before)
            ml_text_fmt(&t, "; %lld of them earlier", (long long)s->before);
        if (s->exhausted)
            ml_text_add(&t, "; the design space has no further program");
        if (spent > 0)
            ml_text_fmt(&t, "; search %.0f %%, build %.0f %%, run %.0f %%",
                        100 * s->search_seconds / spent, 100 * s->build_seconds / spent,
                        100 * s->run_seconds / spent);
        ml_text_char(&t, '\n');
    }
    tell_failures(&t, s);
    if (s->best > 0) {
        ml_text_add(&t, "best   ");
        rate(&t, sh, s->best);
        if (s->final_of)
            ml_text_fmt(&t, ", first of %lld measured by turns", (long long)s->final_of);
        ml_text_fmt(&t, ", record %lld; :adopt makes it a branch",
                    (long long)s->best_record);
        if (is_measured_anew(s)) {
            ml_text_add(&t, "\n       a single measurement of the search had given ");
            rate(&t, sh, s->searched);
            ml_text_add(&t, "; the turns tell the median");
        }
    } else {
        ml_text_add(&t, "no candidate could be measured");
    }
    ml_out_prose(&sh->ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

static void tell_result(const Show *sh, const ml_TuneStatus *s, ml_TuneState state)
{
    ml_Data *d = ml_session_data(sh->ss);

    ml_data_one(d);
    ml_data_str(d, "workload", ml_schedule_name(sh->ss->focus));
    ml_data_str(d, "state", state == ML_TUNE_CANCELLED ? "cancelled" : "done");
    ml_data_fields(d, &ml_search_fields, s);
    if (s->best > 0 && sh->amount.bytes)
        ml_data_real(d, "byte_rate", sh->amount.n / s->best);
}

void ml_tune_left_out(ml_Session *ss)
{
    const char *note = ml_host_left_out(ss->host);

    if (note)
        ml_err_say(&ss->out, "%s", note);
}

/* ---------------------------------------------------------------- :tune */

static bool is_target_for_host(ml_Session *ss, const char *name);

static bool read_ask(ml_Session *ss, const ml_Words *w, ml_TuneAsk *a)
{
    const char *target = NULL;

    *a = (ml_TuneAsk){.seed = ml_setting_int(&ss->set, ML_SET_seed),
                      .threads = ml_engine_threads(ml_host_engine(ss->host))};
    const ml_Option OPTIONS[] = {
        {"--trials", ML_OPTION_WHOLE, &a->trials, 1, ML_TUNE_MAX_TRIALS,
         "--trials takes a number from 1 to 1000000"},
        {"--seed", ML_OPTION_WHOLE, &a->seed, 1, 0x1p63, "--seed takes a number from 1"},
        {"--seconds", ML_OPTION_REAL, &a->seconds, DBL_MIN, DBL_MAX,
         "--seconds takes a number above 0"},
        {"--db", ML_OPTION_TEXT, &a->db, 0, 0, "--db takes a file"},
        {"--space", ML_OPTION_TEXT, &a->space, 0, 0, "--space takes the name of one"},
        {"--target", ML_OPTION_TEXT, &target, 0, 0, "--target takes the name of one"},
        {"--fresh", ML_OPTION_FLAG, &a->fresh, 0, 0, NULL},
        {"--with", ML_OPTION_TEXT, &a->with, 0, 0, "--with takes a strategy: :help tune"},
        {"--model", ML_OPTION_TEXT, &a->model, 0, 0,
         "--model takes xgb, analytic or random"},
        {"--compare", ML_OPTION_FLAG, &a->compare, 0, 0, NULL},
    };

    _Static_assert(ML_TUNE_MAX_TRIALS == 1000000, "the refusal says so");
    return ml_read_options(
               ss, w,
               ":tune knows --trials, --seed, --seconds, --fresh, --db, "
               "--space, --target, --with, --model, --compare, --all, --shape and "
               "--background",
               OPTIONS, ML_COUNT(OPTIONS)) &&
           is_target_for_host(ss, target) &&
           (a->compare || a->with == NULL || strchr(a->with, ',') == NULL ||
            ml_session_error(ss, ML_E_BAD_ARGUMENT,
                             "--with takes one strategy, several with --compare")) &&
           (!a->compare || a->db == NULL ||
            ml_session_error(ss, ML_E_BAD_ARGUMENT,
                             "--compare keeps its records in memory, so that no search "
                             "learns from another: --db has nothing to say there"));
}

/* The function that a search begins with; NULL: none is chosen. */
static const ml_Func *start_of(ml_Session *ss)
{
    const ml_Func *f = ml_schedule_func(ss->focus);
    const ml_Module *m = ml_version_program(ss->focus, 0).mod;

    return f && m ? ml_module_find(m, f->name) : NULL;
}

/* Nothing builds or times programs for that target yet: what does work. */
static bool no_runner(ml_Session *ss, const char *who, const char *kind)
{
    return ml_session_error(
        ss, ML_E_NO_DEVICE,
        "%s target is %s, and nothing here builds or times programs for it yet; "
        "moon.tune.space{target = \"%s\"}.sketches(schedule()) makes the sketches that a "
        "search would start from, :intrinsics --target %s shows what a block maps to",
        who, kind, kind, kind);
}

/* --target: of a search it is this machine. */
static bool is_target_for_host(ml_Session *ss, const char *name)
{
    const ml_TargetKind *kind =
        name && !ml_streq(name, "native") ? ml_target_kind(name) : NULL;

    if (!name || ml_streq(name, "native") || (kind && kind->backend))
        return true;
    if (kind)
        return no_runner(ss, "the", kind->name);
    return ml_session_error(ss, ML_E_NO_TARGET,
                            "no target is named '%s': a search is for llvm, this machine",
                            name);
}

static bool is_for_host(ml_Session *ss)
{
    const ml_TargetKind *said = ml_target_row(ml_schedule_opts(ss->focus)->target);

    if (said && !said->backend)
        return no_runner(ss, "the schedule's", said->name);
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Func *start = start_of(ss);
    const char *foreign = ml_work_foreign(cx, ss->focus);

    if (!foreign && start)
        foreign = ml_work_for_gpu(cx, start);
    bool ok = foreign == NULL || ml_session_error(ss, ML_E_NO_DEVICE, "%s", foreign);

    ml_ctx_unref(cx);
    return ok;
}

/* A note where the focus is bound to threads: a search begins with the start, on the CPU. */
static void say_start(ml_Session *ss)
{
    const ml_Func *f = ml_schedule_func(ss->focus);
    const ml_For *loop = f ? ml_work_bound(f) : NULL;

    if (!loop)
        return;
    ml_err_say(&ss->out,
               "note: loop %s is bound to %s, which only a GPU has; what is tuned is the "
               "start, v0, on the CPU",
               ml_name_of(ss->focus, loop->var->uid), loop->thread.name);
}

static const char *level_of(const Show *sh)
{
    return ml_target_level(ml_engine_target(ml_host_engine(sh->ss->host)));
}

static void announce(Show *sh, const ml_TuneAsk *a)
{
    ml_Text t = {0};

    if (!sh->ss->job) /* a job's session has said it */
        say_start(sh->ss);

    ml_text_fmt(&t, "tune %s  llvm %s  seed %lld  %u thread%s",
                ml_schedule_name(sh->ss->focus), level_of(sh), (long long)a->seed,
                a->threads, a->threads == 1 ? "" : "s");
    ml_err_prose(&sh->ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

static bool has_word(const ml_Words *w, const char *word)
{
    for (size_t k = 0; k < w->n; k++)
        if (ml_streq(w->v[k], word))
            return true;
    return false;
}

static bool run_apart(ml_Session *ss, const ml_Words *w)
{
    if (ss->safe)
        return ml_session_error(ss, ML_E_NOT_SUPPORTED,
                                ":tune --background under --safe: its records are kept in "
                                "memory and would end with it");
    say_start(ss);
    return ml_run_apart(ss, "tune", w);
}

/* What a model has to say, once a session. */
static void tell_note(ml_Session *ss, const ml_TuneStatus *s)
{
    static bool told;

    if (s->note && !told)
        ml_err_say(&ss->out, "note: the cost model is %s: %s", s->model ? s->model : "none",
                   s->note);
    told |= s->note != NULL;
}

/* Until it is done, or the person has it stop. */
static ml_TuneState search(Show *sh, ml_Tuner *t, ml_Ctx *cx, const ml_TuneAsk *a,
                           bool warned)
{
    enum { KEYS = 30 }; /* ms that a key may have to wait */
    ml_Session *ss = sh->ss;
    ml_TuneState state = ML_TUNE_MORE;
    const char *late = NULL; /* a warning that came while nothing could be printed */
    bool fatal = ml_interrupt_fatal(false), go = true, typed;
    ml_TuneSeen *seen =
        ml_tune_seen_open(ss, t, level_of(sh), a->seed, a->threads, sh->amount, sh->roof);
    ml_Board b;

    ml_tune_board(&b, ss, level_of(sh), a->seed, a->threads, sh->amount, sh->roof);
    ml_TuneTold *told = ml_tune_told_open(ss, t, &b);

    while (state == ML_TUNE_MORE && go) {
        state = ml_tuner_step(t, cx, seen ? KEYS * 1e-3 : 0.1);
        const ml_TuneStatus *s = ml_tuner_status(t);

        if (s->warning && !warned && seen)
            ml_tune_seen_warn(seen, late = s->warning);
        else if (s->warning && !warned)
            ml_tune_warn(ss, s->warning);
        warned = warned || s->warning != NULL;
        if (seen == NULL)
            tell_note(ss, s);
        if (seen)
            go = ml_tune_seen_step(seen);
        else
            progress(sh, s, state != ML_TUNE_MORE);
        ml_tune_told_step(told);
        ml_tell_tick(ss);
    }
    ml_tune_told_close(told);
    ml_tune_seen_close(seen);
    tell_note(ss, ml_tuner_status(t));
    if (seen && late)
        ml_tune_warn(ss, late);
    ml_interrupt_fatal(fatal);
    typed = sh->live && !seen && state == ML_TUNE_CANCELLED;
    ss->out.status |= typed; /* the ^C that was typed */
    ml_out_clear_status(&ss->out);
    return go ? state : ML_TUNE_CANCELLED;
}

/* For :graph search. */
static void keep_curve(const Show *sh, ml_Tuner *t)
{
    const ml_TuneTrial *v;
    size_t n = ml_tuner_trials(t, &v);
    ml_Ctx *cx = ml_ctx_new(0);
    double *best = ML_ARRAY(cx, double, n + 1);

    for (size_t k = 0; k < n; k++)
        best[k] = v[k].best;
    if (n > 0)
        ml_searched_keep(
            sh->ss, &(ml_Searched){ml_schedule_name(sh->ss->focus), sh->amount, 1,
                                   &(ml_SearchCurve){ml_tuner_status(t)->with, n, best}});
    ml_ctx_unref(cx);
}

bool cmd_tune(ml_Session *ss, const ml_Words *w)
{
    ml_TuneAsk ask;
    const char *warning = NULL;
    static const char *const OF_ALL[] = {"--each", "--rule"};
    Show sh = {.ss = ss};
    ml_TuneState state = ML_TUNE_MORE;
    const ml_TuneStatus *s;

    bool shapes = ml_tune_has_shape(w);

    if (has_word(w, "--all"))
        return shapes
                   ? ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                      "--all is for several programs, --shape for several "
                                      "sizes of one; only one of them")
                   : ml_tune_all(ss, w);
    for (size_t k = 0; k < ML_COUNT(OF_ALL); k++)
        if (!shapes && has_word(w, OF_ALL[k]))
            return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                    "%s is for several programs or sizes under one budget: "
                                    ":tune --all %s, :tune --shape n=1,16 %s",
                                    OF_ALL[k], OF_ALL[k], OF_ALL[k]);
    if (!ss->focus)
        return ml_command_no_focus(ss, "tune");
    if (shapes)
        return is_for_host(ss) && ml_tune_shapes(ss, w);
    if (has_word(w, ML_BACKGROUND))
        return run_apart(ss, w);
    if (!read_ask(ss, w, &ask) || !is_for_host(ss))
        return false;
    if (ask.compare)
        return ml_tune_compare(ss, &ask);
    ml_Tuner *t = ml_host_tuner_begin(ss->host, ss->focus, &ask, &warning);
    if (t == NULL)
        return false;
    ml_Ctx *cx = ml_ctx_new(0);

    if (warning)
        ml_tune_warn(ss, warning);
    if (ml_host_tuner_note(ss->host))
        ml_err_say(&ss->out, "%s", ml_host_tuner_note(ss->host));
    s = ml_tuner_status(t);
    find_amount(&sh);
    sh.live = isatty(STDERR_FILENO) && !ss->batch && !ss->json;
    sh.row_at = ml_clock();
    sh.next_row = s->done + 1 > LEAST_ROW ? s->done + 1 : LEAST_ROW;
    announce(&sh, &ask);
    state = search(&sh, t, cx, &ask, warning != NULL);
    s = ml_tuner_status(t);
    keep_curve(&sh, t);
    if (state == ML_TUNE_FAILED)
        ml_session_ctx_error(ss, cx);
    else {
        tell_end(&sh, s, state);
        ml_tune_left_out(ss);
        tell_result(&sh, s, state);
    }
    ml_ctx_unref(cx);
    if (state == ML_TUNE_CANCELLED) { /* also by a key, that is no Ctrl-C */
        ml_interrupt_answer();
        if (ss->batch)
            ss->status = 130;
    }
    ml_host_tuner_end(ss->host, ask.db);
    return state == ML_TUNE_DONE || (state == ML_TUNE_CANCELLED && !ss->batch);
}

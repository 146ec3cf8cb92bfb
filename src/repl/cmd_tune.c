/*
 * cmd_tune - :tune and what is done with its records: :best, :adopt, :db.
 *
 * A search ends by itself or by Ctrl-C; what was measured is in the database before it is
 * told here. Progress goes to standard error: at a terminal one line that is written over,
 * and a row now and then; in a pipe rows alone. Source: interaction 9, 11, 15 E.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "codegen/machine.h"
#include "repl/bind/host_tune.h"
#include "repl/command.h"

enum { ROWS = 10, LEAST_ROW = 16 }; /* rows of a search; candidates between two */

typedef struct Show {
    ml_Session *ss;
    double peak; /* operations per second; NAN: not measured */
    double flop;
    int64_t next_row;
    double row_at, line_at; /* when they were printed last */
    bool live, line;        /* line: one stands on the screen */
    bool head;
} Show;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 4.2s, 1m19s, 2h05m */
static void duration(ml_Text *t, double s)
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

/* What is known of the machine without measuring. */
static double peak_of(ml_Session *ss, uint32_t threads)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Machine *m = ml_machine_known(cx, ml_host_engine(ss->host));
    const ml_Func *f = ml_schedule_func(ss->focus);
    double peak = (double)NAN;

    for (uint32_t k = 0; m && f && k < f->n_params; k++)
        if (f->params[k].buffer)
            peak = ml_machine_peak(m, f->params[k].buffer->type, threads);
    ml_ctx_unref(cx);
    return peak > 0 ? peak : (double)NAN;
}

static void rate(ml_Text *t, const Show *sh, double seconds)
{
    if (sh->flop > 0)
        ml_text_fmt(t, "%.1f GFLOP/s", sh->flop / seconds * 1e-9);
    else
        ml_text_fmt(t, "%.3g ms", seconds * 1e3);
    if (isfinite(sh->peak) && sh->flop > 0)
        ml_text_fmt(t, " (%.1f %%)", 100 * sh->flop / seconds / sh->peak);
}

static int64_t failures(const ml_TuneStatus *s)
{
    int64_t n = 0;

    for (size_t k = ML_PHASE_BUILD; k < ML_PHASES; k++)
        n += s->failed[k];
    return n;
}

/* ---------------------------------------------------------------- progress */

static void erase(Show *sh)
{
    if (sh->line) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    sh->line = false;
}

static void live_line(Show *sh, const ml_TuneStatus *s)
{
    ml_Text t = {0};

    if (!sh->live || now() - sh->line_at < 0.1)
        return;
    sh->line_at = now();
    ml_text_fmt(&t, "%lld/%lld trials   %.0f/s   ", (long long)s->done, (long long)s->total,
                s->rate);
    duration(&t, s->elapsed);
    ml_text_add(&t, "   eta ");
    duration(&t, s->eta);
    if (s->best > 0) {
        ml_text_add(&t, "   best ");
        rate(&t, sh, s->best);
    }
    fprintf(stderr, "\r%.*s\033[K", sh->ss->out.width - 1, ml_text_z(&t));
    fflush(stderr);
    sh->line = true;
    ml_text_free(&t);
}

static void row(Show *sh, const ml_TuneStatus *s)
{
    ml_Text t = {0};
    bool share = isfinite(sh->peak) && sh->flop > 0;

    erase(sh);
    if (!sh->head) {
        ml_text_fmt(&t, " gen  trials   %s%s   failed   remaining",
                    sh->flop > 0 ? "best GFLOP/s" : "   best in ms",
                    share ? "   % peak" : "");
        ml_err_line(&sh->ss->out, ml_text_z(&t));
        ml_text_clear(&t);
        sh->head = true;
    }
    ml_text_fmt(&t, "%4lld  %6lld", (long long)s->generation, (long long)s->done);
    if (s->best > 0)
        ml_text_fmt(&t, "   %12.*f", sh->flop > 0 ? 1 : 4,
                    sh->flop > 0 ? sh->flop / s->best * 1e-9 : s->best * 1e3);
    else
        ml_text_fmt(&t, "   %12s", "-");
    if (share && s->best > 0)
        ml_text_fmt(&t, "   %6.1f", 100 * sh->flop / s->best / sh->peak);
    else if (share)
        ml_text_fmt(&t, "   %6s", "-");
    ml_text_fmt(&t, "   %6lld   ", (long long)failures(s));
    ml_Text left = {0};

    duration(&left, s->eta);
    ml_text_fmt(&t, "%9s", ml_text_z(&left));
    ml_err_line(&sh->ss->out, ml_text_z(&t));
    ml_text_free(&left);
    ml_text_free(&t);
    sh->row_at = now();
}

static void progress(Show *sh, const ml_TuneStatus *s, bool last)
{
    int64_t by = s->total / ROWS > LEAST_ROW ? s->total / ROWS : LEAST_ROW;

    if (s->done >= sh->next_row || (!sh->live && now() - sh->row_at >= 30)) {
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

    erase(sh);
    if (state == ML_TUNE_CANCELLED || (s->done < s->total && !s->exhausted)) {
        ml_text_fmt(&t, "stopped after %lld of %lld trials (", (long long)s->done,
                    (long long)s->total);
        duration(&t, s->elapsed);
        ml_text_fmt(&t, "); %lld records kept; :tune continues to %lld\n",
                    (long long)s->done, (long long)s->total);
    } else {
        ml_text_fmt(&t, "%lld of %lld trials (", (long long)s->done, (long long)s->total);
        duration(&t, s->elapsed);
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
        ml_text_fmt(&t, ", record %lld; :adopt makes it a branch",
                    (long long)s->best_record);
    } else {
        ml_text_add(&t, "no candidate could be measured");
    }
    ml_out_prose(&sh->ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

static void warn(ml_Session *ss, const char *why)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "warning: %s; records are kept in memory for this session", why);
    ml_err_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

/* ---------------------------------------------------------------- :tune */

/* `--name value` or `--name=value`; NULL: another word. */
static const char *value_of(const ml_Words *w, size_t *k, const char *name)
{
    size_t n = strlen(name);

    if (strncmp(w->v[*k], name, n) != 0)
        return NULL;
    if (w->v[*k][n] == '=')
        return w->v[*k] + n + 1;
    if (w->v[*k][n] == '\0')
        return *k + 1 < w->n ? w->v[++*k] : "";
    return NULL;
}

static bool whole(const char *text, int64_t from, int64_t to, int64_t *out)
{
    char *end;
    long long v = strtoll(text, &end, 10);

    *out = v;
    return end != text && !*end && v >= from && v <= to;
}

static bool read_ask(ml_Session *ss, const ml_Words *w, ml_TuneAsk *a)
{
    *a = (ml_TuneAsk){.seed = ml_setting_int(&ss->set, ML_SET_seed),
                      .threads = ml_engine_threads(ml_host_engine(ss->host))};
    for (size_t k = 0; k < w->n; k++) {
        const char *v, *word = w->v[k];
        char *end;

        if ((v = value_of(w, &k, "--trials")) != NULL) {
            if (!whole(v, 1, ML_TUNE_MAX_TRIALS, &a->trials))
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "--trials takes a number from 1 to %d, not '%s'",
                                        ML_TUNE_MAX_TRIALS, v);
        } else if ((v = value_of(w, &k, "--seed")) != NULL) {
            if (!whole(v, 1, INT64_MAX, &a->seed))
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "--seed takes a number from 1, not '%s'", v);
        } else if ((v = value_of(w, &k, "--seconds")) != NULL) {
            a->seconds = strtod(v, &end);
            if (end == v || *end || !(a->seconds > 0) || !isfinite(a->seconds))
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "--seconds takes a number above 0, not '%s'", v);
        } else if ((v = value_of(w, &k, "--db")) != NULL) {
            if (!*v)
                return ml_session_error(ss, ML_E_BAD_ARGUMENT, "--db takes a file");
            a->db = v;
        } else if (ml_streq(word, "--fresh")) {
            a->fresh = true;
        } else {
            return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                    ":tune knows --trials, --seed, --seconds, --fresh and "
                                    "--db, not %s",
                                    word);
        }
    }
    return true;
}

static void announce(Show *sh, const ml_TuneAsk *a)
{
    ml_Text t = {0};
    const ml_Target *target = ml_engine_target(ml_host_engine(sh->ss->host));

    ml_text_fmt(&t, "tune %s  llvm %s  seed %lld  %u thread%s",
                ml_schedule_name(sh->ss->focus), ml_target_level(target),
                (long long)a->seed, a->threads, a->threads == 1 ? "" : "s");
    ml_err_line(&sh->ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

bool cmd_tune(ml_Session *ss, const ml_Words *w)
{
    ml_TuneAsk ask;
    const char *warning = NULL;
    Show sh = {.ss = ss};
    ml_TuneState state = ML_TUNE_MORE;
    const ml_TuneStatus *s;
    bool warned = false;

    if (!read_ask(ss, w, &ask))
        return false;
    ml_Tuner *t = ml_host_tuner_begin(ss->host, ss->focus, &ask, &warning);
    if (t == NULL)
        return false;
    ml_Ctx *cx = ml_ctx_new(0);

    if (warning)
        warn(ss, warning);
    s = ml_tuner_status(t);
    sh.peak = peak_of(ss, ask.threads);
    sh.flop = s->flop;
    sh.live = isatty(STDERR_FILENO) && !ss->batch;
    sh.row_at = now();
    sh.next_row = s->done + 1 > LEAST_ROW ? s->done + 1 : LEAST_ROW;
    announce(&sh, &ask);
    ss->stops_itself = 1;
    while (state == ML_TUNE_MORE) {
        state = ml_tuner_step(t, cx, 0.1);
        s = ml_tuner_status(t);
        if (s->warning && !warned && !warning) {
            erase(&sh);
            warn(ss, s->warning);
        }
        warned = s->warning != NULL;
        progress(&sh, s, state != ML_TUNE_MORE);
    }
    ss->stops_itself = 0;
    erase(&sh);
    if (state == ML_TUNE_FAILED)
        ml_session_fail(ss, ml_failure_from(ml_error(cx)));
    else
        tell_end(&sh, s, state);
    ml_ctx_unref(cx);
    if (state == ML_TUNE_CANCELLED) {
        ss->interrupt = 0;
        if (ss->batch)
            ss->status = 130;
    }
    ml_host_tuner_end(ss->host, ask.db);
    return state == ML_TUNE_DONE || (state == ML_TUNE_CANCELLED && !ss->batch);
}

/* ---------------------------------------------------------------- :best, :adopt, :db */

typedef struct Look {
    ml_Ctx *cx;
    ml_Db *db;
    ml_DbWorkload w;
    const char *number, *path;
} Look;

/* [NUMBER] [--db FILE], and the focus' workload; known: it must be there. */
static bool look(ml_Session *ss, const ml_Words *w, const char *what, Look *l)
{
    char *warning = NULL;
    const ml_Func *f = ml_schedule_func(ss->focus);
    const ml_Module *start = ml_version_program(ss->focus, 0).mod;
    const char *hash;

    *l = (Look){0};
    for (size_t k = 0; k < w->n; k++) {
        const char *v = value_of(w, &k, "--db");

        if (v)
            l->path = v;
        else if (l->number == NULL && w->v[k][0] != '-')
            l->number = w->v[k];
        else
            return ml_session_error(ss, ML_E_BAD_ARGUMENT, "%s, not %s", what, w->v[k]);
    }
    l->db = ml_host_db(ss->host, l->path, &warning);
    if (warning)
        warn(ss, warning);
    free(warning);
    if (l->db == NULL)
        return false;
    l->cx = ml_ctx_new(0);
    hash = ml_tune_hash(l->cx, start, f ? f->name : NULL);
    if (hash && ml_db_find_workload(l->db, l->cx, hash, &l->w))
        return true;
    if (ml_error(l->cx))
        ml_session_fail(ss, ml_failure_from(ml_error(l->cx)));
    else
        ml_session_error(ss, ML_E_UNKNOWN_NAME, "%s has no records in %s; :tune makes some",
                         ml_schedule_name(ss->focus), ml_db_path(l->db));
    ml_ctx_unref(l->cx);
    return false;
}

static bool best_records(ml_Session *ss, Look *l, int64_t limit, ml_Record **v, size_t *n)
{
    ml_Text target = {0};
    ml_DbQuery q = {.workload = l->w.id,
                    .any_seed = true,
                    .valid_only = true,
                    .by_time = true,
                    .limit = limit,
                    .threads = ml_engine_threads(ml_host_engine(ss->host))};
    bool ok;

    ml_target_json(ml_engine_target(ml_host_engine(ss->host)), &target);
    q.target = ml_text_z(&target);
    ok = ml_db_records(l->db, l->cx, &q, v, n);
    ml_text_free(&target);
    if (!ok)
        ml_session_fail(ss, ml_failure_from(ml_error(l->cx)));
    return ok;
}

/* The decisions of a trace: what is behind its instructions. */
static const char *decisions(const char *trace)
{
    const char *last = NULL;

    for (const char *p = trace; p && (p = strstr(p, "], [[")) != NULL; p++)
        last = p + 3;
    return last ? last : "";
}

bool cmd_best(ml_Session *ss, const ml_Words *w)
{
    Look l;
    int64_t n_asked = 10;
    ml_Record *v;
    size_t n;
    bool ok;

    if (!look(ss, w, ":best [N] [--db FILE]", &l))
        return false;
    ok = !l.number || whole(l.number, 1, 100000, &n_asked) ||
         ml_session_error(ss, ML_E_BAD_ARGUMENT, ":best takes a number from 1, not %s",
                          l.number);
    ok = ok && best_records(ss, &l, n_asked, &v, &n);
    if (ok && n == 0)
        ok = ml_session_error(ss, ML_E_UNKNOWN_NAME,
                              "%s has no measured record for this machine and thread count",
                              ml_schedule_name(ss->focus));
    if (ok) {
        ml_Text t = {0};
        bool flop = l.w.flop > 0;

        ml_text_fmt(&t, "rank  %12s  of best  record  seed  decisions\n",
                    flop ? "GFLOP/s" : "ms");
        for (size_t k = 0; k < n; k++) {
            double s = ml_record_best(&v[k]);
            const char *d = decisions(v[k].trace);
            int at = (int)strlen(d) - 1;

            ml_text_fmt(&t, "%4zu  %12.*f  %5.1f %%  %6lld  %4llu  %.*s\n", k + 1,
                        flop ? 1 : 4, flop ? l.w.flop / s * 1e-9 : s * 1e3,
                        100 * ml_record_best(&v[0]) / s, (long long)v[k].id,
                        (unsigned long long)v[k].seed, at > 0 ? at : 0, d);
        }
        ml_page_prose(ss, ml_text_z(&t));
        ml_text_free(&t);
    }
    ml_ctx_unref(l.cx);
    return ok;
}

/* tuned-1, tuned-2, ...: the first that is free. */
static const char *free_name(ml_Session *ss, ml_Ctx *cx)
{
    for (int k = 1;; k++) {
        const char *name = ml_format(cx, "tuned-%d", k);

        if (ml_schedule_find_branch(ss->focus, name) < 0 &&
            ml_schedule_find_mark(ss->focus, name) < 0)
            return name;
    }
}

static bool adopt(ml_Session *ss, Look *l, const ml_Record *r)
{
    ml_Schedule *s = ss->focus;
    ml_State was = ml_schedule_state(s);
    const char *name = free_name(ss, l->cx);
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text said = {0};
    int from, steps = 0;
    ml_Step step;
    bool ok =
        ml_schedule_goto(s, 0) && ml_schedule_branch(s, name) && ml_tune_apply(cx, s, r);

    if (!ok) {
        if (ml_error(cx))
            ml_session_fail(ss, ml_failure_from(ml_error(cx)));
        else
            ml_session_schedule_error(ss, s);
        ml_schedule_restore(s, was);
        ml_ctx_unref(cx);
        return false;
    }
    for (from = ml_schedule_version(s); from > 0 && ml_version_step(s, from, &step);
         from = step.parent)
        steps++;
    ml_text_fmt(&said, "branch %s: %d steps from record %lld", name, steps,
                (long long)r->id);
    ml_out_prose(&ss->out, ml_text_z(&said));
    ml_text_free(&said);
    ml_ctx_unref(cx);
    ss->quiet_line = true; /* no diff of each of them */
    return true;
}

bool cmd_adopt(ml_Session *ss, const ml_Words *w)
{
    Look l;
    int64_t id = 0;
    ml_Record *v = NULL;
    size_t n = 0;
    bool ok;

    if (!look(ss, w, ":adopt [RECORD] [--db FILE]", &l))
        return false;
    if (l.number) {
        ok = whole(l.number, 1, INT64_MAX, &id) ||
             ml_session_error(ss, ML_E_BAD_ARGUMENT,
                              ":adopt takes a record's number, not %s", l.number);
        if (ok) {
            const ml_DbQuery q = {.record = id, .workload = l.w.id, .any_seed = true};

            ok = ml_db_records(l.db, l.cx, &q, &v, &n);
            if (!ok)
                ml_session_fail(ss, ml_failure_from(ml_error(l.cx)));
        }
    } else {
        ok = best_records(ss, &l, 1, &v, &n);
    }
    if (ok && n == 0)
        ok = id ? ml_session_error(ss, ML_E_UNKNOWN_NAME, "%s has no record %lld",
                                   ml_schedule_name(ss->focus), (long long)id)
                : ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                   "%s has no measured record for this machine and thread "
                                   "count; :tune makes some",
                                   ml_schedule_name(ss->focus));
    ok = ok && adopt(ss, &l, &v[0]);
    ml_ctx_unref(l.cx);
    return ok;
}

bool cmd_db(ml_Session *ss, const ml_Words *w)
{
    char *warning = NULL;
    ml_Db *db;
    ml_Ctx *cx;
    ml_DbSummary *v;
    size_t n;
    int64_t records = 0, failed = 0;
    ml_Text t = {0};

    if (w->n > 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":db [FILE]");
    db = ml_host_db(ss->host, w->n ? w->v[0] : NULL, &warning);
    if (warning)
        warn(ss, warning);
    free(warning);
    if (db == NULL)
        return false;
    cx = ml_ctx_new(0);
    if (!ml_db_summary(db, cx, &v, &n)) {
        ml_session_fail(ss, ml_failure_from(ml_error(cx)));
        ml_ctx_unref(cx);
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        records += v[k].records;
        failed += v[k].failed;
    }
    ml_text_fmt(&t, "%s%s   %zu workload%s, %lld record%s (%lld failed)", ml_db_path(db),
                ml_db_read_only(db) ? " (read only)" : "", n, n == 1 ? "" : "s",
                (long long)records, records == 1 ? "" : "s", (long long)failed);
    for (size_t k = 0; k < n; k++) {
        ml_text_fmt(&t, "\n  %-16s %s  %6lld records", v[k].w.name, v[k].w.hash,
                    (long long)v[k].records);
        if (v[k].best > 0 && v[k].w.flop > 0)
            ml_text_fmt(&t, "   best %.1f GFLOP/s", v[k].w.flop / v[k].best * 1e-9);
        else if (v[k].best > 0)
            ml_text_fmt(&t, "   best %.4f ms", v[k].best * 1e3);
    }
    ml_text_char(&t, '\n');
    ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    ml_ctx_unref(cx);
    return true;
}

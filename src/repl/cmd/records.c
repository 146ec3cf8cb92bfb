/* cmd_records - what is done with records: :best, :adopt, :db. Source: interaction 11. */
#include <math.h>
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/records.h"
#include "moonloop/work/say.h"
#include "repl/cmd/options.h"
#include "repl/cmd/tune_words.h"
#include "repl/command/command.h"
#include "repl/host/tune.h"
#include "repl/job/jobs.h"
#include "repl/out/interrupt.h"
#include "repl/out/wrap.h"
#include "repl/show/show.h"

void ml_tune_warn(ml_Session *ss, const char *why)
{

    ml_err_say(&ss->out, "warning: %s; records are kept in memory for this session", why);
}

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

    *l = (Look){0};
    const ml_Option OPTIONS[] = {
        {"--db", ML_OPTION_TEXT, &l->path, 0, 0, "--db takes a file"},
        {NULL, ML_OPTION_WORD, &l->number, 0, 0, NULL},
    };

    if (!ml_read_options(ss, w, what, OPTIONS, ML_COUNT(OPTIONS)))
        return false;
    l->db = ml_host_db(ss->host, l->path, &warning);
    if (warning)
        ml_tune_warn(ss, warning);
    free(warning);
    if (l->db == NULL)
        return false;
    l->cx = ml_ctx_new(0);
    if (ml_records_workload(l->cx, ss->focus, l->db, &l->w))
        return true;
    if (ml_error(l->cx))
        ml_session_ctx_error(ss, l->cx);
    else
        ml_session_error(ss, ML_E_UNKNOWN_NAME, "%s has no records in %s; :tune makes some",
                         ml_schedule_name(ss->focus), ml_db_path(l->db));
    ml_ctx_unref(l->cx);
    return false;
}

static bool best_records(ml_Session *ss, Look *l, int64_t limit, ml_Record **v, size_t *n)
{
    if (ml_records_best(l->cx, ml_host_engine(ss->host), l->db, l->w.id, limit, v, n))
        return true;
    return ml_session_ctx_error(ss, l->cx);
}

/* Records whose times can be compared: of one run, and measured in one way. */
typedef struct Group {
    int run;
    bool turns;
    size_t n;    /* rows so far */
    double best; /* seconds of the first */
} Group;

typedef struct Rows {
    ml_Session *ss;
    const Look *l;
    const int *run; /* of each record */
    bool mixed;     /* some were measured by turns */
    ML_VEC(Group) groups;
    ml_Text shown, raw; /* as wide as the screen; a line for each record */
} Rows;

static Group *group_of(Rows *rows, const ml_Record *r, int run)
{
    Group g = {.run = run, .turns = r->median > 0, .best = ml_record_seconds(r)};

    for (size_t k = 0; k < rows->groups.n; k++)
        if (rows->groups.v[k].run == g.run && rows->groups.v[k].turns == g.turns)
            return &rows->groups.v[k];
    ml_push(rows->l->cx, &rows->groups, g);
    return &rows->groups.v[rows->groups.n - 1];
}

static void add_row(Rows *rows, const char *numbers, const char *design)
{
    enum { COLUMN = 46 };
    const ml_Out *o = &rows->ss->out;

    ml_text_fmt(&rows->raw, "%s%s%s\n", numbers, *design ? "  " : "", design);
    ml_wrap_row(&rows->shown, numbers, design, 0, COLUMN,
                o->height > 0 && !o->sink.out ? (size_t)o->width : 0);
}

static void add_record(Rows *rows, const ml_Record *r, int run)
{
    ml_Data *data = ml_session_data(rows->ss);
    double s = ml_record_seconds(r), flop = rows->l->w.flop;
    Group *g = group_of(rows, r, run);
    ml_Text design = {0}, line = {0};

    g->n++;
    g->best = fmin(g->best, s);
    ml_record_design(rows->ss->focus, r, &design);
    ml_data_row(data);
    ml_data_fields(data, &ml_best_fields,
                   &(ml_BestRow){.rank = g->n,
                                 .run = run,
                                 .measured = g->turns ? "turns" : "alone",
                                 .design = ml_text_z(&design),
                                 .flop = flop,
                                 .record = *r});
    ml_text_fmt(&line, "%4zu  %3d  %s%9.*f  %5.1f %%  %6lld  %4llu", g->n, run,
                g->turns || !rows->mixed ? " "
                : flop > 0               ? "≤"
                                         : "≥",
                flop > 0 ? 1 : 4, flop > 0 ? flop / s * 1e-9 : s * 1e3, 100 * g->best / s,
                (long long)r->id, (unsigned long long)r->seed);
    add_row(rows, ml_text_z(&line), ml_text_z(&design));
    ml_text_free(&design);
    ml_text_free(&line);
}

/* What the numbers of several groups do not say. */
static void add_caution(Rows *rows)
{
    static const char *const caution = "ranks and shares hold within one run, and there "
                                       "among records measured by turns or "
                                       "among those with a bound, measured alone: their "
                                       "minima flatter. :time compares any "
                                       "two";

    if (rows->groups.n < 2)
        return;
    ml_wrap(&rows->shown, caution, 0,
            rows->ss->out.height > 0 && !rows->ss->out.sink.out
                ? (size_t)rows->ss->out.width
                : 0);
    ml_text_fmt(&rows->raw, "%s\n", caution);
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
    ok = !l.number || ml_read_whole(l.number, 1, 100000, &n_asked) ||
         ml_session_error(ss, ML_E_BAD_ARGUMENT, ":best takes a number from 1, not %s",
                          l.number);
    ok = ok && best_records(ss, &l, n_asked, &v, &n);
    if (ok && n == 0)
        ok = ml_session_error(ss, ML_E_UNKNOWN_NAME,
                              "%s has no measured record for this machine and thread count",
                              ml_schedule_name(ss->focus));
    if (ok) {
        Rows rows = {.ss = ss, .l = &l, .run = ml_records_runs(l.cx, l.db, l.w.id, v, n)};

        for (size_t k = 0; k < n; k++)
            rows.mixed |= v[k].median > 0;
        (void)ml_schedule_names(ss->focus); /* before its context is frozen */
        add_row(&rows,
                l.w.flop > 0 ? "rank  run     GFLOP/s  of best  record  seed"
                             : "rank  run          ms  of best  record  seed",
                "design");
        for (size_t k = 0; k < n && !ml_interrupted(); k++)
            add_record(&rows, &v[k], rows.run[k]);
        add_caution(&rows);
        ml_page_as(ss, ml_text_z(&rows.shown), ml_text_z(&rows.raw));
        ml_text_free(&rows.shown);
        ml_text_free(&rows.raw);
    }
    ml_ctx_unref(l.cx);
    return ok;
}

static bool adopt(ml_Session *ss, Look *l, const ml_Record *r)
{
    ml_Schedule *s = ss->focus;
    ml_Data *d = ml_session_data(ss);
    ml_Text said = {0};
    const char *name = NULL;
    ml_Step step;
    int steps = 0;

    if (!ml_record_adopt(l->cx, s, r, &name)) {
        if (ml_error(l->cx))
            ml_session_ctx_error(ss, l->cx);
        else
            ml_session_schedule_error(ss, s);
        return false;
    }
    for (int v = ml_schedule_version(s); v > 0 && ml_version_step(s, v, &step);
         v = step.parent)
        steps++;
    ml_text_fmt(&said, "branch %s: %d steps from record %lld", name, steps,
                (long long)r->id);
    ml_out_prose(&ss->out, ml_text_z(&said));
    ml_data_one(d);
    ml_data_str(d, "branch", name);
    ml_data_int(d, "record", r->id);
    ml_data_int(d, "steps", steps);
    ml_data_int(d, "version", ml_schedule_version(s));
    ml_text_clear(&said);
    ml_text_speed(&said, l->w.flop, ml_record_seconds(r), 0);
    ml_schedule_set_speed(s, ml_schedule_version(s), ml_text_z(&said));
    ml_data_str(d, "speed", ml_text_z(&said));
    ml_text_free(&said);
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
        ok = ml_read_whole(l.number, 1, 0x1p63, &id) ||
             ml_session_error(ss, ML_E_BAD_ARGUMENT,
                              ":adopt takes a record's number, not %s", l.number);
        if (ok) {
            const ml_DbQuery q = {.record = id, .workload = l.w.id, .any_seed = true};

            ok = ml_db_records(l.db, l.cx, &q, &v, &n);
            if (!ok)
                ml_session_ctx_error(ss, l.cx);
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
    if (ok)
        ml_jobs_seen(ss);
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
    ml_Data *d = ml_session_data(ss);
    ml_Text t = {0};

    if (w->n > 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":db [FILE]");
    db = ml_host_db(ss->host, w->n ? w->v[0] : NULL, &warning);
    if (warning)
        ml_tune_warn(ss, warning);
    free(warning);
    if (db == NULL)
        return false;
    cx = ml_ctx_new(0);
    if (!ml_db_summary(db, cx, &v, &n)) {
        ml_session_ctx_error(ss, cx);
        ml_ctx_unref(cx);
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        records += v[k].records;
        failed += v[k].failed;
        ml_data_row(d);
        ml_data_fields(d, &ml_db_fields, &(ml_DbRow){ml_db_path(db), v[k]});
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

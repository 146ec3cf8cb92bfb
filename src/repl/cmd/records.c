/* cmd_records - what is done with records: :best, :adopt. Source: interaction 11. */
#include <math.h>
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/records.h"
#include "moonloop/work/roofs.h"
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
    const char *number, *path, *by;
} Look;

/* [NUMBER] [--db FILE], and the focus' workload; known: it must be there. */
static bool look(ml_Session *ss, const ml_Words *w, const char *what, Look *l)
{
    char *warning = NULL;

    *l = (Look){0};
    const ml_Option OPTIONS[] = {
        {"--db", ML_OPTION_TEXT, &l->path, 0, 0, "--db takes a file"},
        {"--by", ML_OPTION_TEXT, &l->by, 0, 0, "--by takes machine, target or shape"},
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
    if (ml_records_workload(l->cx, ss->focus, l->db, &l->w) ||
        (!ml_error(l->cx) && l->by &&
         ml_streq(l->by, "shape"))) /* of others there may be */
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

/* What speeds of the focus are told of. The time of a kernel for several sizes is for the
 * work of sizes of 1, as the operations of its workload are. */
static ml_Amount amount_of(ml_Session *ss, const Look *l)
{
    uint32_t at = ml_schedule_func(ss->focus) ? ml_schedule_func_pos(ss->focus) : 0;
    ml_Amount a = ml_own_amount(l->cx, ml_host_engine(ss->host), ss->focus, at, 0, NULL);

    return a.n > 0 ? a : (ml_Amount){.n = l->w.flop};
}

/* The error of one that has no records with the threads of now; it tells of others. */
static bool none_here(ml_Session *ss, Look *l)
{
    uint32_t threads = ml_engine_threads(ml_host_engine(ss->host));
    const char *name = ml_schedule_name(ss->focus), *s = threads == 1 ? "" : "s";
    const ml_DbQuery q = {.workload = l->w.id,
                          .any_seed = true,
                          .valid_only = true,
                          .by_time = true,
                          .limit = 1};
    ml_Record *v;
    size_t n;

    if (!ml_db_records(l->db, l->cx, &q, &v, &n))
        return ml_session_ctx_error(ss, l->cx);
    if (n > 0 && v->threads == 0)
        return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                "%s has no record measured with %u thread%s here, but "
                                "imported ones, whose threads are not known: :adopt %lld "
                                "takes their best, :tune makes others",
                                name, threads, s, (long long)v->id);
    if (n > 0 && v->threads != threads)
        return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                "%s has no record measured with %u thread%s here; the best "
                                "with %u is %lld: :adopt %lld takes it, :tune makes others",
                                name, threads, s, v->threads, (long long)v->id,
                                (long long)v->id);
    return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                            "%s has no measured record for this machine and %u thread%s; "
                            ":tune makes some",
                            name, threads, s);
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
    const int *run;   /* of each record */
    ml_Amount amount; /* what speeds are told of */
    bool mixed;       /* some were measured by turns */
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

enum { COLUMN = 46 }; /* in which the design stands */

/* The columns that rows are folded at; 0: they are not. */
static size_t folded_at(const ml_Session *ss)
{
    return ss->out.folds && !ss->out.sink.out ? (size_t)ss->out.width : 0;
}

/* few: the numbers without those that a narrow screen has no room for. */
static void add_row(Rows *rows, const char *numbers, const char *few, const char *design)
{
    size_t width = folded_at(rows->ss);

    ml_text_fmt(&rows->raw, "%s%s%s\n", numbers, *design ? "  " : "", design);
    ml_wrap_row(&rows->shown, width && width < COLUMN ? few : numbers, design, 0, COLUMN,
                width);
}

static void add_record(Rows *rows, const ml_Record *r, int run)
{
    ml_Data *data = ml_session_data(rows->ss);
    double s = ml_record_seconds(r);
    bool rate = rows->amount.n > 0;
    Group *g = group_of(rows, r, run);
    ml_Text design = {0}, line = {0}, few = {0};

    g->n++;
    g->best = fmin(g->best, s);
    ml_record_design(rows->ss->focus, r, &design);
    ml_data_row(data);
    ml_data_fields(data, &ml_best_fields,
                   &(ml_BestRow){.rank = g->n,
                                 .run = run,
                                 .measured = g->turns ? "turns" : "alone",
                                 .design = ml_text_z(&design),
                                 .flop = rows->l->w.flop,
                                 .bytes = rows->amount.bytes ? rows->amount.n : 0,
                                 .record = *r});
    ml_Text speed = {0};

    if (rate)
        ml_text_giga(&speed, rows->amount, s);
    else
        ml_text_fmt(&speed, "%.4f", s * 1e3);
    ml_text_fmt(&line, "%4zu  %3d  %s%9s  %5.1f %%  %6lld  %4llu", g->n, run,
                g->turns || !rows->mixed ? " "
                : rate                   ? "≤"
                                         : "≥",
                ml_text_z(&speed), 100 * g->best / s, (long long)r->id,
                (unsigned long long)r->seed);
    ml_text_fmt(&few, "%4zu  %9s  %5.1f %%  %6lld", g->n, ml_text_z(&speed),
                100 * g->best / s, (long long)r->id);
    ml_text_free(&speed);
    add_row(rows, ml_text_z(&line), ml_text_z(&few), ml_text_z(&design));
    ml_text_free(&design);
    ml_text_free(&line);
    ml_text_free(&few);
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
    ml_wrap(&rows->shown, caution, 0, folded_at(rows->ss));
    ml_text_fmt(&rows->raw, "%s\n", caution);
}

static bool best_by(ml_Session *ss, Look *l)
{
    static const char *const names[] = {"machine", "target", "shape"};

    for (size_t k = 0; k < ML_COUNT(names); k++)
        if (ml_streq(l->by, names[k]))
            return ml_best_by(ss, l->cx, l->db, &l->w, (ml_BestBy)k);
    return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                            "--by takes machine, target or shape, "
                            "not %s",
                            l->by);
}

bool cmd_best(ml_Session *ss, const ml_Words *w)
{
    Look l;
    int64_t n_asked = 10;
    ml_Record *v;
    size_t n;
    bool ok;

    if (!look(ss, w, ":best [N] [--by WHAT] [--db FILE]", &l))
        return false;
    if (l.by) {
        ok = best_by(ss, &l);
        ml_ctx_unref(l.cx);
        return ok;
    }
    ok = !l.number || ml_read_whole(l.number, 1, 100000, &n_asked) ||
         ml_session_error(ss, ML_E_BAD_ARGUMENT, ":best takes a number from 1, not %s",
                          l.number);
    ok = ok && best_records(ss, &l, n_asked, &v, &n);
    ok = ok && (n > 0 || none_here(ss, &l));
    if (ok) {
        Rows rows = {.ss = ss, .l = &l, .run = ml_records_runs(l.cx, l.db, l.w.id, v, n)};

        for (size_t k = 0; k < n; k++)
            rows.mixed |= v[k].median > 0;
        (void)ml_schedule_names(ss->focus); /* before its context is frozen */
        rows.amount = amount_of(ss, &l);
        const char *unit = rows.amount.n > 0 ? ml_rate_unit(rows.amount) : "ms";

        add_row(&rows, ml_format(l.cx, "rank  run  %10s  of best  record  seed", unit),
                ml_format(l.cx, "rank  %9s  of best  record …", unit), "design");
        for (size_t k = 0; k < n && !ml_interrupted(); k++)
            add_record(&rows, &v[k], rows.run[k]);
        add_caution(&rows);
        if (folded_at(ss) && folded_at(ss) < COLUMN)
            ml_text_add(&rows.shown, "… run, seed: --json has all\n");
        ml_page_as(ss, ml_text_z(&rows.shown), ml_text_z(&rows.raw));
        ml_text_free(&rows.shown);
        ml_text_free(&rows.raw);
    }
    ml_ctx_unref(l.cx);
    return ok;
}

/* Of a record that was measured with other threads than those of now: says so, and what may
 * be expected, in seconds. NAN: its time holds here, too. */
static double say_threads(ml_Session *ss, Look *l, const ml_Record *r)
{
    ml_Engine *e = ml_host_engine(ss->host);
    const ml_Func *f = ml_schedule_func(ss->focus);
    uint32_t here = ml_engine_threads(e);
    ml_Amount a = amount_of(ss, l);
    double seconds = (double)NAN;
    ml_Text t = {0};

    if (r->threads == 0 || r->threads == here || !isfinite(ml_record_seconds(r)))
        return seconds;
    ml_text_fmt(&t, "note: record %lld was measured with %u thread%s, ", (long long)r->id,
                r->threads, r->threads == 1 ? "" : "s");
    ml_text_speed(&t, a, ml_record_seconds(r), 0);
    if (f && !ml_is_parallel(f))
        ml_text_fmt(&t, "; it has no parallel loop: with the %u of now expect the same",
                    here);
    else {
        seconds = ml_record_expected(l->cx, e, ss->focus, r, here);
        ml_text_fmt(&t, "; with the %u of now expect %s ", here,
                    here > r->threads ? "at most" : "about");
        ml_text_speed(&t, a, seconds, 0);
    }
    ml_text_add(&t, ". :time measures it, :tune seeks what suits them");
    ml_err_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
    return seconds;
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
    ml_text_clear(&said);
    ml_AdoptRow row = {.branch = name,
                       .steps = steps,
                       .version = ml_schedule_version(s),
                       .record = *r,
                       .expected = say_threads(ss, l, r)};

    if (isnan(row.expected)) {
        ml_text_speed(&said, amount_of(ss, l), ml_record_seconds(r), 0);
        ml_schedule_set_speed(s, row.version, ml_text_z(&said));
        row.speed = ml_text_z(&said);
    }
    ml_data_one(d);
    ml_data_fields(d, &ml_adopt_fields, &row);
    ml_text_free(&said);
    ss->quiet_line = true; /* no diff of each of them */
    return true;
}

bool ml_tune_adopt(ml_Session *ss, ml_Ctx *cx, const ml_Record *r)
{
    return adopt(ss, &(Look){.cx = cx}, r);
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
    if (l.by) {
        ml_ctx_unref(l.cx);
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":adopt [RECORD] [--db FILE], not --by");
    }
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
                : none_here(ss, &l);
    ok = ok && adopt(ss, &l, &v[0]);
    if (ok)
        ml_jobs_seen(ss);
    ml_ctx_unref(l.cx);
    return ok;
}

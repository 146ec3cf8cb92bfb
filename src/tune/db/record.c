/* record - putting and finding records. */
#include "moonloop/tune/db/db_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double ml_record_best(const ml_Record *r)
{
    double best = (double)INFINITY;

    for (size_t k = 0; k < r->n_run; k++)
        best = fmin(best, r->run_secs[k]);
    return best;
}

double ml_record_seconds(const ml_Record *r)
{
    return r->median > 0 ? r->median : ml_record_best(r);
}

static void bind_text(sqlite3_stmt *st, int k, const char *z)
{
    if (z)
        sqlite3_bind_text(st, k, z, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(st, k);
}

static void seconds_text(ml_Text *t, const ml_Record *r)
{
    ml_text_char(t, '[');
    for (size_t k = 0; k < r->n_run; k++)
        ml_text_fmt(t, "%s%.17g", k ? ", " : "", r->run_secs[k]);
    ml_text_char(t, ']');
}

static bool fail_read_only(const ml_Db *db, ml_Ctx *cx)
{
    return ml_fail(cx, ML_E_BAD_DATABASE,
                   ML_TEXT(ml_format(cx, "%s: may not be written", db->path)));
}

bool ml_db_put(ml_Db *db, ml_Ctx *cx, ml_Record *r)
{
    sqlite3_stmt *st;
    ml_Text secs = {0};
    bool row, ok;

    if (db->read_only)
        return fail_read_only(db, cx);
    st = ml_db_prepare(db, cx,
                       "insert into record(workload, target, space, seed, threads, trace, "
                       "run_secs, best, error, phase, args, machine, version, time) "
                       "values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    if (st == NULL)
        return false;
    if (r->time == 0)
        r->time = (int64_t)time(NULL);
    sqlite3_bind_int64(st, 1, r->workload);
    bind_text(st, 2, r->target);
    bind_text(st, 3, r->space);
    sqlite3_bind_int64(st, 4, (int64_t)r->seed);
    sqlite3_bind_int64(st, 5, r->threads);
    bind_text(st, 6, r->trace);
    if (r->n_run) {
        seconds_text(&secs, r);
        bind_text(st, 7, ml_text_z(&secs));
        sqlite3_bind_double(st, 8, ml_record_best(r));
    }
    bind_text(st, 9, r->error);
    bind_text(st, 10, r->phase);
    bind_text(st, 11, r->args);
    bind_text(st, 12, r->machine);
    bind_text(st, 13, r->version);
    sqlite3_bind_int64(st, 14, r->time);
    ok = ml_db_step(db, cx, st, &row);
    if (ok)
        r->id = sqlite3_last_insert_rowid(db->sq);
    sqlite3_finalize(st);
    ml_text_free(&secs);
    return ok;
}

/* ---------------------------------------------------------------- by turns */

/* Readers of the format's first version pass over a table that they do not know. */
static const char TURNS[] =
    "create table if not exists turns(record integer primary key, median real, "
    "samples integer, at integer)";

static bool execute(ml_Db *db, ml_Ctx *cx, const char *sql)
{
    sqlite3_stmt *st = ml_db_prepare(db, cx, sql);
    bool row, ok = st && ml_db_step(db, cx, st, &row);

    sqlite3_finalize(st);
    return ok;
}

bool ml_db_make_turns(ml_Db *db, ml_Ctx *cx)
{
    return execute(db, cx, TURNS);
}

bool ml_db_begin(ml_Db *db, ml_Ctx *cx)
{
    return (!db->read_only || fail_read_only(db, cx)) && execute(db, cx, "begin immediate");
}

bool ml_db_end(ml_Db *db, ml_Ctx *cx, bool ok)
{
    ok = ok && execute(db, cx, "commit");
    if (!ok)
        sqlite3_exec(db->sq, "rollback", NULL, NULL, NULL);
    return ok;
}

bool ml_db_put_turn(ml_Db *db, ml_Ctx *cx, const ml_DbTurn *t)
{
    sqlite3_stmt *st =
        ml_db_prepare(db, cx,
                      "insert or replace into turns(record, median, samples, at) "
                      "values(?, ?, ?, ?)");
    bool row, ok;

    if (st == NULL)
        return false;
    sqlite3_bind_int64(st, 1, t->record);
    sqlite3_bind_double(st, 2, t->median);
    sqlite3_bind_int64(st, 3, t->samples);
    sqlite3_bind_int64(st, 4, (int64_t)time(NULL));
    ok = ml_db_step(db, cx, st, &row);
    sqlite3_finalize(st);
    return ok;
}

/* Another session may have made the table since. */
static bool has_turns(ml_Db *db, ml_Ctx *cx, bool *there)
{
    sqlite3_stmt *st;
    bool row = false, ok;

    *there = db->turns;
    if (db->turns)
        return true;
    st = ml_db_prepare(db, cx,
                       "select 1 from sqlite_master where type = 'table' and name = "
                       "'turns'");
    ok = st && ml_db_step(db, cx, st, &row);
    sqlite3_finalize(st);
    *there = db->turns = ok && row;
    return ok;
}

/* ---------------------------------------------------------------- finding */

/* "[1e-3, 2e-3]" */
static void read_seconds(ml_Ctx *cx, const char *z, ml_Record *r)
{
    ML_VEC(double) v = {0};

    for (const char *p = z ? strchr(z, '[') : NULL; p && *p && *p != ']';) {
        char *end;
        double x = strtod(p + 1, &end);

        if (end == p + 1)
            break;
        ml_push(cx, &v, x);
        p = end + strcspn(end, ",]");
    }
    r->run_secs = v.v;
    r->n_run = v.n;
}

static void where(ml_Text *sql, const ml_DbQuery *q)
{
    ml_text_add(sql, " where 1");
    if (q->record)
        ml_text_add(sql, " and id = ?1");
    if (q->workload)
        ml_text_add(sql, " and workload = ?2");
    if (q->target)
        ml_text_add(sql, " and target = ?3");
    if (q->space)
        ml_text_add(sql, " and space = ?4");
    if (!q->any_seed)
        ml_text_add(sql, " and seed = ?5");
    if (q->threads)
        ml_text_add(sql, " and threads = ?6");
    if (q->after)
        ml_text_add(sql, " and id > ?7");
    if (q->valid_only)
        ml_text_add(sql,
                    " and best is not null and best < 1e10 and trace not like '[[],%'");
}

static void bind_query(sqlite3_stmt *st, const ml_DbQuery *q)
{
    sqlite3_bind_int64(st, 1, q->record);
    sqlite3_bind_int64(st, 2, q->workload);
    bind_text(st, 3, q->target);
    bind_text(st, 4, q->space);
    sqlite3_bind_int64(st, 5, (int64_t)q->seed);
    sqlite3_bind_int64(st, 6, q->threads);
    sqlite3_bind_int64(st, 7, q->after);
}

static bool forget_turns(ml_Db *db, ml_Ctx *cx, const ml_DbQuery *key)
{
    ml_Text sql = {0};
    sqlite3_stmt *st;
    bool row, ok;

    ml_text_add(&sql, "delete from turns where record in (select id from record");
    where(&sql, key);
    ml_text_char(&sql, ')');
    st = ml_db_prepare(db, cx, ml_text_z(&sql));
    ml_text_free(&sql);
    if (st == NULL)
        return false;
    bind_query(st, key);
    ok = ml_db_step(db, cx, st, &row);
    sqlite3_finalize(st);
    return ok;
}

bool ml_db_put_turns(ml_Db *db, ml_Ctx *cx, const ml_DbQuery *key, const ml_DbTurn *v,
                     size_t n)
{
    bool ok;

    if (!ml_db_begin(db, cx))
        return false;
    ok = ml_db_make_turns(db, cx) && forget_turns(db, cx, key);
    for (size_t k = 0; k < n && ok; k++)
        ok = ml_db_put_turn(db, cx, &v[k]);
    ok = ml_db_end(db, cx, ok);
    db->turns |= ok;
    return ok;
}

/* As ml_DbQuery says. */
static void order(ml_Text *sql, const ml_DbQuery *q, bool turns)
{
    if (!q->by_time) {
        ml_text_add(sql, " order by id");
        return;
    }
    ml_text_add(sql, " order by best is null, ");
    if (turns) {
        ml_text_add(sql, "case when median is null then best else (select min(best) from "
                         "record join turns on turns.record = record.id");
        where(sql, q);
        ml_text_add(sql, ") end, median is null, median, ");
    }
    ml_text_add(sql, "best, id");
}

static sqlite3_stmt *query(ml_Db *db, ml_Ctx *cx, const char *columns, const ml_DbQuery *q)
{
    ml_Text sql = {0};
    sqlite3_stmt *st = NULL;
    bool turns;

    if (q->limit < 0) {
        ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT("the number of records is at least 0"));
        return NULL;
    }
    if (!has_turns(db, cx, &turns))
        return NULL;
    ml_text_fmt(&sql, "select %s%s from record", columns,
                turns ? ", (select median from turns where turns.record = record.id) as "
                        "median"
                      : ", null as median");
    where(&sql, q);
    order(&sql, q, turns);
    if (q->limit)
        ml_text_fmt(&sql, " limit %lld", (long long)q->limit);
    st = ml_db_prepare(db, cx, ml_text_z(&sql));
    ml_text_free(&sql);
    if (st == NULL)
        return NULL;
    bind_query(st, q);
    return st;
}

bool ml_db_records(ml_Db *db, ml_Ctx *cx, const ml_DbQuery *q, ml_Record **out, size_t *n)
{
    sqlite3_stmt *st =
        query(db, cx,
              "id, workload, target, space, seed, threads, trace, run_secs, error, phase, "
              "args, machine, version, time",
              q);
    ML_VEC(ml_Record) v = {0};
    bool row = true, ok = st != NULL;

    while (ok && row) {
        ok = ml_db_step(db, cx, st, &row);
        if (ok && row) {
            ml_Record r = {.id = sqlite3_column_int64(st, 0),
                           .workload = sqlite3_column_int64(st, 1),
                           .target = ml_db_text(cx, st, 2),
                           .space = ml_db_text(cx, st, 3),
                           .seed = (uint64_t)sqlite3_column_int64(st, 4),
                           .threads = (uint32_t)sqlite3_column_int64(st, 5),
                           .trace = ml_db_text(cx, st, 6),
                           .error = ml_db_text(cx, st, 8),
                           .phase = ml_db_text(cx, st, 9),
                           .args = ml_db_text(cx, st, 10),
                           .machine = ml_db_text(cx, st, 11),
                           .version = ml_db_text(cx, st, 12),
                           .time = sqlite3_column_int64(st, 13),
                           .median = sqlite3_column_double(st, 14)};

            read_seconds(cx, (const char *)sqlite3_column_text(st, 7), &r);
            ml_push(cx, &v, r);
        }
    }
    sqlite3_finalize(st);
    *out = v.v;
    *n = v.n;
    return ok;
}

bool ml_db_count(ml_Db *db, ml_Ctx *cx, const ml_DbQuery *q, int64_t *n)
{
    ml_DbQuery all = *q;
    sqlite3_stmt *st;
    bool row, ok;

    all.limit = 0;
    all.by_time = false;
    st = query(db, cx, "count(*)", &all);
    ok = st && ml_db_step(db, cx, st, &row);
    *n = ok ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_finalize(st);
    return ok;
}

bool ml_db_summary(ml_Db *db, ml_Ctx *cx, ml_DbSummary **out, size_t *n)
{
    sqlite3_stmt *st =
        ml_db_prepare(db, cx,
                      "select w.id, w.hash, w.name, w.flop, count(r.id), "
                      "count(r.id) - count(r.best), min(r.best) from workload w left "
                      "join record r on r.workload = w.id group by w.id order by w.id");
    ML_VEC(ml_DbSummary) v = {0};
    bool row = true, ok = st != NULL;

    while (ok && row) {
        ok = ml_db_step(db, cx, st, &row);
        if (ok && row) {
            ml_DbSummary s = {.w = {.id = sqlite3_column_int64(st, 0),
                                    .hash = ml_db_text(cx, st, 1),
                                    .name = ml_db_text(cx, st, 2),
                                    .flop = sqlite3_column_double(st, 3)},
                              .records = sqlite3_column_int64(st, 4),
                              .failed = sqlite3_column_int64(st, 5),
                              .best = sqlite3_column_double(st, 6)};

            ml_push(cx, &v, s);
        }
    }
    sqlite3_finalize(st);
    *out = v.v;
    *n = v.n;
    return ok;
}

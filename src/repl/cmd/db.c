/* cmd_db - :db, the database of records: what is in it, and another one's taken in.
 * Source: interaction 11; auto-scheduler 17. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "repl/cmd/tune_words.h"
#include "repl/command/command.h"
#include "repl/host/tune.h"
#include "repl/show/show.h"

static bool list_workloads(ml_Session *ss, ml_Db *db)
{
    ml_Ctx *cx;
    ml_DbSummary *v;
    size_t n;
    int64_t records = 0, failed = 0;
    ml_Data *d = ml_session_data(ss);
    ml_Text t = {0};

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

/* The database of that path, told why when it is one in memory; NULL: the error was printed.
 */
static ml_Db *open_db(ml_Session *ss, const char *path)
{
    char *warning = NULL;
    ml_Db *db = ml_host_db(ss->host, path, &warning);

    if (warning)
        ml_tune_warn(ss, warning);
    free(warning);
    return db;
}

/* Nothing is made where there is nothing to take. */
static bool merge(ml_Session *ss, const char *into, const char *path)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Db *from = ml_db_open_existing(cx, path),
          *db = from ? ml_host_db_to_write(ss->host, into) : NULL;
    size_t n = 0;
    ml_Data *d = ml_session_data(ss);
    bool ok = db && ml_db_merge(db, cx, from, &n);

    if (ok) {
        ml_out_say(&ss->out, "%zu record%s of %s came into %s", n, n == 1 ? "" : "s", path,
                   ml_db_path(db));
        ml_data_one(d);
        ml_data_str(d, "db", ml_db_path(db));
        ml_data_int(d, "merged", (int64_t)n);
    } else if (db || !from) {
        ml_session_ctx_error(ss, cx);
    }
    if (db && !ok)
        ml_host_db_unmake(ss->host, into);
    ml_db_close(from);
    ml_ctx_unref(cx);
    return ok;
}

static bool write_lines(ml_Session *ss, const char *from, const char *folder)
{
    ml_Db *db = open_db(ss, from);

    if (!db)
        return false;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Data *d = ml_session_data(ss);
    size_t n = 0;
    bool ok = ml_db_export(db, cx, folder, &n) || ml_session_ctx_error(ss, cx);

    if (ok) {
        ml_out_say(&ss->out, "%zu record%s of %s written to %s", n, n == 1 ? "" : "s",
                   ml_db_path(db), folder);
        ml_data_one(d);
        ml_data_str(d, "db", ml_db_path(db));
        ml_data_int(d, "exported", (int64_t)n);
    }
    ml_ctx_unref(cx);
    return ok;
}

/* What another system's lines stand for is the focus' start; the arguments of their records
 * are compared with its. */
static bool read_lines(ml_Session *ss, const char *into, const char *folder)
{
    const ml_Func *f = ss->focus ? ml_schedule_func(ss->focus) : NULL;

    if (access(folder, R_OK) != 0) /* before a database is made for it */
        return ml_session_error(ss, ML_E_NO_FILE, "%s: %s", folder, strerror(errno));
    ml_Db *db = ml_host_db_to_write(ss->host, into);

    if (!db)
        return false;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Data *d = ml_session_data(ss);
    ml_DbPrograms programs = {0};
    size_t n = 0, skipped = 0;

    if (f)
        programs.others = ml_module_find(ml_version_program(ss->focus, 0).mod, f->name);
    bool ok = ml_db_import(db, cx, folder, &programs, &n, &skipped) ||
              ml_session_ctx_error(ss, cx);

    if (ok) {
        ml_out_say(&ss->out, "%zu record%s came into %s; %zu line%s passed over", n,
                   n == 1 ? "" : "s", ml_db_path(db), skipped, skipped == 1 ? "" : "s");
        ml_data_one(d);
        ml_data_str(d, "db", ml_db_path(db));
        ml_data_int(d, "imported", (int64_t)n);
        ml_data_int(d, "skipped", (int64_t)skipped);
    } else {
        ml_host_db_unmake(ss->host, into);
    }
    ml_ctx_unref(cx);
    return ok;
}

bool cmd_db(ml_Session *ss, const ml_Words *w)
{
    static const struct {
        const char *name;
        bool (*run)(ml_Session *ss, const char *db, const char *what);
    } DO[] = {{"merge", merge}, {"export", write_lines}, {"import", read_lines}};
    const char *path = w->n > 2 ? w->v[2] : NULL;

    for (size_t k = 0; w->n > 0 && k < ML_COUNT(DO); k++) {
        if (!ml_streq(w->v[0], DO[k].name))
            continue;
        if (w->n < 2 || w->n > 3)
            return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":db %s %s [FILE]", DO[k].name,
                                    k == 0 ? "OTHER" : "FOLDER");
        if (ml_session_forbids(ss, ":db merge, export and import"))
            return false;
        return DO[k].run(ss, path, w->v[1]);
    }
    if (w->n > 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":db [FILE], or :db merge OTHER, export FOLDER, import "
                                "FOLDER");
    ml_Db *db = open_db(ss, w->n ? w->v[0] : NULL);

    return db && list_workloads(ss, db);
}

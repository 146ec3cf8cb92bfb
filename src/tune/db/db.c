/* db - opening, schema, workloads. */
#include "moonloop/tune/db/db.h"
#include "moonloop/tune/db/db_impl.h"

#include "moonloop/core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const char *ml_db_default_path(ml_Ctx *cx)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

    if (data && *data)
        return ml_format(cx, "%s/moonloop/db/tuning.db", data);
    return home && *home ? ml_format(cx, "%s/.local/share/moonloop/db/tuning.db", home)
                         : NULL;
}

enum { APPLICATION = 0x6d6f6f6e, VERSION = 1, BUSY_MS = 5000, ASK_AGAIN_MS = 10 };

static const char SCHEMA[] =
    "begin immediate;"
    "create table if not exists workload(id integer primary key, hash text unique, "
    "name text, program text, flop real);"
    "create table if not exists record(id integer primary key, workload integer, "
    "target text, space text, seed integer, threads integer, trace text, run_secs text, "
    "best real, error text, phase text, args text, machine text, version text, "
    "time integer);"
    "create index if not exists record_best on record(workload, target, threads, best);"
    "create index if not exists record_search on "
    "record(workload, target, space, seed, id);"
    "pragma application_id = 1836019566;" /* 0x6d6f6f6e */
    "pragma user_version = 1;"
    "commit;";

/* Sets cx's error from the last failure of the database, with its path; false. */
static bool fail_db(const ml_Db *db, ml_Ctx *cx, const char *what)
{
    int code = sqlite3_errcode(db->sq);
    ml_ErrorCode e =
        code == SQLITE_FULL || code == SQLITE_IOERR ? ML_E_NO_SPACE : ML_E_BAD_DATABASE;

    return ml_fail(
        cx, e,
        ML_TEXT(ml_format(cx, "%s: %s: %s", db->path, what, sqlite3_errmsg(db->sq))));
}

sqlite3_stmt *ml_db_prepare(const ml_Db *db, ml_Ctx *cx, const char *sql)
{
    sqlite3_stmt *st = NULL;

    if (sqlite3_prepare_v2(db->sq, sql, -1, &st, NULL) == SQLITE_OK)
        return st;
    fail_db(db, cx, "cannot be read");
    sqlite3_finalize(st);
    return NULL;
}

bool ml_db_step(const ml_Db *db, ml_Ctx *cx, sqlite3_stmt *st, bool *row)
{
    int code = sqlite3_step(st);

    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ||
           fail_db(db, cx,
                   sqlite3_stmt_readonly(st) ? "cannot be read" : "cannot be written");
}

const char *ml_db_text(ml_Ctx *cx, sqlite3_stmt *st, int column)
{
    const unsigned char *z = sqlite3_column_text(st, column);

    return z ? ml_strdup(cx, ml_str((const char *)z)) : NULL;
}

static bool ask(ml_Db *db, ml_Ctx *cx, const char *sql, int64_t *out)
{
    sqlite3_stmt *st = ml_db_prepare(db, cx, sql);
    bool row = false, ok = st && ml_db_step(db, cx, st, &row);

    if (ok && row)
        *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return ok;
}

/* Two who hold a new file for reading and both want to make it a WAL file would wait for each
 * other, so that SQLite tells one of them "locked" at once, whatever its busy timeout says. That
 * one holds nothing any more, and asks again. */
static bool run_when_free(ml_Db *db, const char *sql)
{
    double end = ml_clock() + BUSY_MS / 1e3;
    int code = sqlite3_exec(db->sq, sql, NULL, NULL, NULL);

    while (code == SQLITE_BUSY && ml_clock() < end) {
        if (!sqlite3_get_autocommit(db->sq))
            sqlite3_exec(db->sq, "rollback", NULL, NULL, NULL);
        sqlite3_sleep(ASK_AGAIN_MS);
        code = sqlite3_exec(db->sq, sql, NULL, NULL, NULL);
    }
    return code == SQLITE_OK;
}

/* The file is ours, or empty and becomes ours. */
static bool check_schema(ml_Db *db, ml_Ctx *cx)
{
    int64_t application = 0, version = 0, tables = 0;

    if (!ask(db, cx, "select count(*) from sqlite_master", &tables) ||
        !ask(db, cx, "pragma application_id", &application) ||
        !ask(db, cx, "pragma user_version", &version))
        return false;
    if (tables > 0 && application != APPLICATION)
        return ml_fail(cx, ML_E_BAD_DATABASE,
                       ML_TEXT(ml_format(cx,
                                         "%s: a database of another program; nothing "
                                         "was written",
                                         db->path)));
    if (tables > 0 && version != VERSION)
        return ml_fail(cx, ML_E_BAD_DATABASE,
                       ML_TEXT(ml_format(cx,
                                         "%s: version %lld of the format; this "
                                         "moonloop knows version %d; nothing was written",
                                         db->path, (long long)version, VERSION)));
    if (db->read_only || (db->as_it_is && tables == 0))
        return tables > 0 ||
               ml_fail(cx, ML_E_BAD_DATABASE,
                       ML_TEXT(ml_format(cx,
                                         db->read_only ? "%s: empty, and may not be written"
                                                       : "%s: a database of no tables",
                                         db->path)));
    return (run_when_free(db, "pragma journal_mode = wal; pragma synchronous = normal") &&
            (tables > 0 || run_when_free(db, SCHEMA))) ||
           fail_db(db, cx, "cannot be written");
}

/* "file:PATH?OPTION" with what has a meaning there escaped. */
static const char *uri(ml_Ctx *cx, const char *path, const char *option)
{
    ml_Text t = {0};
    const char *z;

    ml_text_add(&t, "file:");
    for (; *path; path++)
        if (strchr("?#%", *path))
            ml_text_fmt(&t, "%%%02x", (unsigned char)*path);
        else
            ml_text_char(&t, *path);
    ml_text_fmt(&t, "?%s", option);
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static bool reads(sqlite3 *sq)
{
    return sqlite3_exec(sq, "select count(*) from sqlite_master", NULL, NULL, NULL) ==
           SQLITE_OK;
}

/* For reading. A file in WAL mode wants another beside it, which cannot be made in a folder
 * that may not be written; nobody writes there, so that it does not change meanwhile. */
static int open_to_read(ml_Db *db, ml_Ctx *cx)
{
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    int code = sqlite3_open_v2(uri(cx, db->path, "mode=ro"), &db->sq, flags, NULL);

    if (code != SQLITE_OK || reads(db->sq))
        return code;
    if (sqlite3_errcode(db->sq) != SQLITE_CANTOPEN &&
        sqlite3_errcode(db->sq) != SQLITE_READONLY)
        return code; /* the check of the schema tells what is wrong */
    sqlite3_close(db->sq);
    return sqlite3_open_v2(uri(cx, db->path, "immutable=1"), &db->sq, flags, NULL);
}

/* A new file is its owner's alone. */
static int open_to_write(ml_Db *db, bool file)
{
    if (db->as_it_is)
        return sqlite3_open_v2(db->path, &db->sq, SQLITE_OPEN_READWRITE, NULL);
    if (file) {
        int fd = open(db->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        db->made = fd >= 0;
        if (fd >= 0)
            close(fd);
    }
    return sqlite3_open_v2(db->path, &db->sq, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                           NULL);
}

static ml_Db *open_db(ml_Ctx *cx, const char *path, bool as_it_is)
{
    ml_Db *db;
    struct stat st;

    if (path && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        ml_fail(cx, ML_E_BAD_DATABASE, ML_TEXT(ml_format(cx, "%s: a folder", path)));
        return NULL;
    }
    db = calloc(1, sizeof *db);
    if (db == NULL)
        ml_out_of_memory();
    db->as_it_is = as_it_is;
    db->path = strdup(path ? path : ":memory:");
    if (db->path == NULL)
        ml_out_of_memory();
    db->read_only = path && access(path, F_OK) == 0 && access(path, W_OK) != 0;
    if ((db->read_only ? open_to_read(db, cx) : open_to_write(db, path != NULL)) !=
        SQLITE_OK) {
        if (db->sq)
            fail_db(db, cx, "cannot be opened");
        else
            ml_out_of_memory();
        ml_db_close(db);
        return NULL;
    }
    sqlite3_busy_timeout(db->sq, BUSY_MS);
    if (!check_schema(db, cx)) {
        ml_db_close(db);
        return NULL;
    }
    return db;
}

ml_Db *ml_db_open(ml_Ctx *cx, const char *path)
{
    const char *usual = path ? ml_db_default_path(cx) : NULL;
    const char *name = path ? strrchr(path, '/') : NULL;
    char *copy = ml_strdup(cx, ml_str(path));
    bool ours = usual && ml_streq(path, usual);
    size_t n = ours ? ml_file_folders(copy) : 0;

    if (name && name > path && !ours) { /* a folder that is named is one that is there */
        copy[name - path] = '\0';
        if (access(copy, F_OK) != 0) {
            ml_fail(cx, ML_E_NO_FILE,
                    ML_TEXT(ml_format(cx, "%s: there is no folder %s", path, copy)));
            return NULL;
        }
    }
    if (n == 0)
        return open_db(cx, path, false);
    ml_fail(cx, ML_E_NO_FILE,
            ML_TEXT(ml_format(cx, "the folder %.*s cannot be made: %s", (int)n, copy,
                              strerror(errno))));
    return NULL;
}

ml_Db *ml_db_open_existing(ml_Ctx *cx, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 && errno != ENOENT && errno != ENOTDIR)
        ml_fail(cx, ML_E_NO_FILE, ML_TEXT(ml_format(cx, "%s: %s", path, strerror(errno))));
    else if (stat(path, &st) != 0 || (S_ISREG(st.st_mode) && st.st_size == 0))
        ml_fail(cx, ML_E_NO_FILE,
                ML_TEXT(ml_format(cx, "no database at %s yet: :tune makes one", path)));
    else
        return open_db(cx, path, true);
    return NULL;
}

ml_Db *ml_db_share(ml_Db *db)
{
    db->shared++;
    return db;
}

void ml_db_close(ml_Db *db)
{
    if (db == NULL || db->shared-- > 0)
        return;
    sqlite3_close(db->sq);
    free(db->path);
    free(db);
}

static bool is_empty(ml_Db *db)
{
    ml_Ctx *cx = ml_ctx_new(0);
    int64_t n = 1;
    bool ok = ask(db, cx, "select count(*) from workload", &n);

    ml_ctx_unref(cx);
    return ok && n == 0;
}

/* Leaving the mode of the log takes a lock that only one can have who is alone. */
static bool is_alone(ml_Db *db)
{
    sqlite3_stmt *st = NULL;
    bool alone = sqlite3_prepare_v2(db->sq, "pragma journal_mode = delete", -1, &st,
                                    NULL) == SQLITE_OK &&
                 sqlite3_step(st) == SQLITE_ROW &&
                 ml_streq((const char *)sqlite3_column_text(st, 0), "delete");

    sqlite3_finalize(st);
    return alone;
}

bool ml_db_unmake(ml_Db *db)
{
    return db->made && is_empty(db) && is_alone(db) && unlink(db->path) == 0;
}

const char *ml_db_path(const ml_Db *db)
{
    return db->path;
}

bool ml_db_read_only(const ml_Db *db)
{
    return db->read_only;
}

/* ---------------------------------------------------------------- workloads */

static bool read_workload(ml_Db *db, ml_Ctx *cx, sqlite3_stmt *st, ml_DbWorkload *out)
{
    bool row = false, ok = ml_db_step(db, cx, st, &row);

    if (ok && row)
        *out = (ml_DbWorkload){.id = sqlite3_column_int64(st, 0),
                               .hash = ml_db_text(cx, st, 1),
                               .name = ml_db_text(cx, st, 2),
                               .program = ml_db_text(cx, st, 3),
                               .flop = sqlite3_column_double(st, 4)};
    sqlite3_finalize(st);
    return ok && row;
}

bool ml_db_find_workload(ml_Db *db, ml_Ctx *cx, const char *hash, ml_DbWorkload *out)
{
    sqlite3_stmt *st = ml_db_prepare(
        db, cx, "select id, hash, name, program, flop from workload where hash = ?");

    if (st == NULL)
        return false;
    sqlite3_bind_text(st, 1, hash, -1, SQLITE_STATIC);
    return read_workload(db, cx, st, out);
}

bool ml_db_workload_at(ml_Db *db, ml_Ctx *cx, int64_t id, ml_DbWorkload *out)
{
    sqlite3_stmt *st = ml_db_prepare(
        db, cx, "select id, hash, name, program, flop from workload where id = ?");

    if (st == NULL)
        return false;
    sqlite3_bind_int64(st, 1, id);
    return read_workload(db, cx, st, out);
}

bool ml_db_put_workload(ml_Db *db, ml_Ctx *cx, ml_DbWorkload *w)
{
    ml_DbWorkload old;
    sqlite3_stmt *st;
    bool row, ok;

    if (ml_db_find_workload(db, cx, w->hash, &old)) {
        w->id = old.id;
        return true;
    }
    if (ml_error(cx))
        return false;
    st = ml_db_prepare(db, cx,
                       "insert into workload(hash, name, program, flop) values(?, ?, ?, ?) "
                       "on conflict(hash) do nothing");
    if (st == NULL)
        return false;
    sqlite3_bind_text(st, 1, w->hash, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, w->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 3, w->program, -1, SQLITE_STATIC);
    sqlite3_bind_double(st, 4, w->flop);
    ok = ml_db_step(db, cx, st, &row);
    sqlite3_finalize(st);
    if (!ok || !ml_db_find_workload(db, cx, w->hash, &old)) /* perhaps another session's */
        return false;
    w->id = old.id;
    return true;
}

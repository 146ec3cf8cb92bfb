/*
 * db - tuning records in one SQLite file.
 *
 * WAL mode with synchronous = NORMAL: a record is committed, one transaction each, before
 * it is reported, survives the death of the process, and costs no fsync. Sessions share a
 * file (busy timeout 5 s). A file that is corrupt, foreign or of another version is refused
 * by name and never written. Source: auto-scheduler 17.
 */
#ifndef ML_TUNE_DB_H
#define ML_TUNE_DB_H

#include "moonloop/core/base/text.h"
#include "moonloop/core/error.h"
#include "moonloop/core/stmt.h"
#include "moonloop/core/vec.h"

typedef struct ml_Db ml_Db;
/* path NULL: in memory only. Folders of the usual path are made, others are there or not. NULL: cx's error (bad-database, no-file,
 * no-space), with the path. A file that may not be written is opened for reading. */
ML_GIVES ml_Db *ml_db_open(ml_Ctx *cx, const char *path);
/* The same of a file that is there: nothing is made. no-file: it is not there, or empty. */
ML_GIVES ml_Db *ml_db_open_existing(ml_Ctx *cx, const char *path);
/* The same database for somebody else, who closes it as well: it ends with the last. */
ML_GIVES ml_Db *ml_db_share(ml_Db *db);
void ml_db_close(ml_Db *db); /* NULL is fine */
/* What came first into a file that this opening made has failed: the file goes, where nothing is
 * in it and nobody else has it open. Whether it went; the database is to be closed then. */
bool ml_db_unmake(ml_Db *db);
const char *ml_db_path(const ml_Db *db); /* ":memory:" */
bool ml_db_read_only(const ml_Db *db);
/* $XDG_DATA_HOME/moonloop/db/tuning.db, else below ~/.local/share; in cx. NULL: no home. */
const char *ml_db_default_path(ml_Ctx *cx);

typedef struct ml_DbWorkload {
    int64_t id;
    const char *hash;           /* 16 hex digits: the structural hash */
    const char *name, *program; /* script form */
    double flop;
} ml_DbWorkload;
/* Idempotent by hash; sets w->id. false: cx's error. */
bool ml_db_put_workload(ml_Db *db, ml_Ctx *cx, ml_DbWorkload *w);
/* false without an error: there is none. Texts in cx. */
bool ml_db_find_workload(ml_Db *db, ml_Ctx *cx, const char *hash, ml_DbWorkload *out);
bool ml_db_workload_at(ml_Db *db, ml_Ctx *cx, int64_t id, ml_DbWorkload *out);
/* Each workload with its records, in order of its number. */
typedef struct ml_DbSummary {
    ml_DbWorkload w;
    int64_t records, failed;
    double best; /* of all targets; 0: none */
} ml_DbSummary;
bool ml_db_summary(ml_Db *db, ml_Ctx *cx, ml_DbSummary **out, size_t *n);

typedef struct ml_Record {
    int64_t id, workload;
    const char *target; /* canonical JSON */
    const char *space;  /* name of the design space */
    uint64_t seed;
    uint32_t threads;
    const char *trace; /* [instructions, decisions] */
    size_t n_run;
    const double *run_secs;    /* none: a failure */
    const char *error, *phase; /* of a failure: code and phase; or NULL */
    const char *args;          /* JSON list of ["TENSOR", dtype, shape] */
    const char *machine, *version;
    int64_t time;  /* Unix seconds; 0 on the way in: now */
    double median; /* of its turns, when it was measured again by turns with others; 0 */
} ml_Record;
double ml_record_best(const ml_Record *r);    /* its minimum; infinity for a failure */
double ml_record_seconds(const ml_Record *r); /* its median by turns, else its minimum */
/* Committed when it returns true; sets r->id. The median is put by ml_db_put_turns. */
bool ml_db_put(ml_Db *db, ml_Ctx *cx, ml_Record *r);
/* What came of measuring a record by turns with others. */
typedef struct ml_DbTurn {
    int64_t record;
    double median;   /* of the least of every turn */
    int64_t samples; /* in all of them */
} ml_DbTurn;

/* What to look for; 0 or NULL: anything.
 *
 * A minimum of few samples flatters, so minima and medians are not compared with each
 * other: the fastest are ordered by minimum, but those measured by turns stand together,
 * where the least minimum among them would stand, in the order of their medians. */
typedef struct ml_DbQuery {
    int64_t workload, record;
    int64_t after; /* records with greater ids */
    const char *target, *space;
    uint64_t seed;
    bool any_seed; /* seed is not looked at */
    uint32_t threads;
    bool valid_only; /* with a run time and an instruction */
    bool by_time;    /* the fastest first, ties in commit order; else in commit order */
    int64_t limit;   /* 0: all; negative is an error */
} ml_DbQuery;
/* Puts all of them or none. Medians that records of `key` had before go: they were
 * measured with others. */
bool ml_db_put_turns(ml_Db *db, ml_Ctx *cx, const ml_DbQuery *key, const ml_DbTurn *v,
                     size_t n);
/* Records and their number, in cx. false: cx's error. */
bool ml_db_records(ml_Db *db, ml_Ctx *cx, const ml_DbQuery *q, ml_Record **out, size_t *n);
bool ml_db_count(ml_Db *db, ml_Ctx *cx, const ml_DbQuery *q, int64_t *n);

/* Takes over what another database has: its workloads, and those of its records that are not
 * here, with their medians where the search they are of has none here. All of it or nothing.
 * *n: records that came. false: cx's error. */
bool ml_db_merge(ml_Db *db, ml_Ctx *cx, ml_Db *from, size_t *n);

/* [["TENSOR", dtype, shape], ...] of the buffers that f is given; -1: a size that is not known.
 * In cx. */
const char *ml_db_args(ml_Ctx *cx, const ml_Func *f);

/* Exchange with TVM's two files, database_workload.json and
 * database_tuning_record.json in a folder (made). Malformed lines are skipped and counted.
 * A record that the database had before (workload, target, trace, run times) is passed over
 * and not counted.
 *
 * programs[k]: the function that line k of the workloads stands for, told by the caller; NULL,
 * or k >= n_programs: the text of the line. Another system's text cannot be read: without a
 * function for it nothing is imported. A record whose arguments are not those of a function
 * that was told is an error, too. */
bool ml_db_export(ml_Db *db, ml_Ctx *cx, const char *folder, size_t *n_records);
typedef struct ml_DbPrograms {
    const ml_Func *const *v;
    size_t n;
    const ml_Func *others; /* for lines whose text cannot be read; NULL */
} ml_DbPrograms;
bool ml_db_import(ml_Db *db, ml_Ctx *cx, const char *folder, const ml_DbPrograms *programs,
                  size_t *n_records, size_t *n_skipped);

#endif

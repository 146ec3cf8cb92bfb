/* db_impl - the open database; shared by the files of tune/db. */
#ifndef ML_TUNE_DB_IMPL_H
#define ML_TUNE_DB_IMPL_H

#include "moonloop/tune/db/db.h"

#include <sqlite3.h>

struct ml_Db {
    sqlite3 *sq;
    char *path;
    int shared; /* how many have it besides who opened it */
    bool read_only;
    bool as_it_is; /* opened as it was found: nothing is made of an empty one */
    bool made;     /* the file was not there before */
    bool turns;    /* the table of ml_db_put_turns is there */
};

/* A statement with its text; NULL: cx's error. */
sqlite3_stmt *ml_db_prepare(const ml_Db *db, ml_Ctx *cx, const char *sql);
/* One step; false with *row unset on an error. */
bool ml_db_step(const ml_Db *db, ml_Ctx *cx, sqlite3_stmt *st, bool *row);
/* A transaction; false: cx's error. It ends with commit when ok, else all is taken back; what
 * came of it. */
bool ml_db_begin(ml_Db *db, ml_Ctx *cx);
bool ml_db_end(ml_Db *db, ml_Ctx *cx, bool ok);
/* Within a transaction: the table of medians, and a row of it. */
bool ml_db_make_turns(ml_Db *db, ml_Ctx *cx);
bool ml_db_put_turn(ml_Db *db, ml_Ctx *cx, const ml_DbTurn *t);
/* The text of a column in cx; NULL for null. */
const char *ml_db_text(ml_Ctx *cx, sqlite3_stmt *st, int column);

#endif

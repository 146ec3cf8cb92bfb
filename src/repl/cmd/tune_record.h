/* tune_record - pages about what a search has measured. Source: interaction 11. */
#ifndef ML_REPL_CMD_TUNE_RECORD_H
#define ML_REPL_CMD_TUNE_RECORD_H

#include "repl/session/session.h"
#include "repl/tuning/board.h"

typedef struct ml_RecordSeen {
    ml_Session *ss;
    ml_Schedule *s; /* whose function is searched */
    ml_Db *db;      /* where its records are */
    const ml_Board *b;
} ml_RecordSeen;
/* Times, trace and program against those of the best, machine code. */
void ml_record_inspect(const ml_RecordSeen *n, int64_t record, int64_t best, ml_Text *out);
/* The program against that of the best. */
void ml_record_diff(const ml_RecordSeen *n, int64_t record, int64_t best, ml_Text *out);
/* By phase and code, with the last record of each. */
void ml_record_failures(const ml_Board *b, ml_Text *out);

#endif

/* records - what searches have measured of a schedule's function, and schedules made of it.
 * Source: interaction 11. */
#ifndef ML_WORK_RECORDS_H
#define ML_WORK_RECORDS_H

#include "moonloop/codegen/machine/engine.h"
#include "moonloop/tune/tune.h"

/* The workload that s's function is at its start. false: the database does not know it, or
 * cx's error. */
bool ml_records_workload(ml_Ctx *cx, ml_Schedule *s, ml_Db *db, ml_DbWorkload *w);
/* The fastest of a workload for e's target and threads, at most `limit`, in cx. false: cx's
 * error. */
bool ml_records_best(ml_Ctx *cx, const ml_Engine *e, ml_Db *db, int64_t workload,
                     int64_t limit, ml_Record **v, size_t *n);
/* Which run of a search each of v was measured in, counted from 1: a run commits records of
 * one seed without long breaks. In cx. */
const int *ml_records_runs(ml_Ctx *cx, ml_Db *db, int64_t workload, const ml_Record *v,
                           size_t n);
/* What a record chose, in words: its trace is replayed beside s, whose names are known
 * (ml_schedule_names). */
void ml_record_design(ml_Schedule *s, const ml_Record *r, ml_Text *out);
/* Seconds that it may be expected to take with so many threads: as the roof of its program
 * rises or falls with them, as far as the machine is known; else as their number. */
double ml_record_expected(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, const ml_Record *r,
                          uint32_t threads);
/* Makes a record a branch of s, tuned-1 or the next that is free, and goes there; *branch in
 * cx. false: s is where it was; cx's error, or else the schedule's. */
bool ml_record_adopt(ml_Ctx *cx, ml_Schedule *s, const ml_Record *r, const char **branch);

#endif

/*
 * lesson - a database's records as samples that a model learns from.
 *
 * Each record's trace is replayed on its workload's program and the rows of features are
 * read from what comes out, for the record's target and threads. Source: auto-scheduler 15.
 */
#ifndef ML_TUNE_LESSON_H
#define ML_TUNE_LESSON_H

#include "moonloop/tune/db/db.h"
#include "moonloop/tune/model/model.h"

/* Records of one workload in one design space. */
typedef struct ml_LessonGroup {
    const char *name, *space;
    double flop;
    size_t first, n; /* samples */
    double best;     /* seconds; 0: all failed */
} ml_LessonGroup;

typedef struct ml_Lesson {
    ml_Learned l;
    size_t n_groups;
    const ml_LessonGroup
        *group;     /* a workload each, in the order of the database; a sample's
                                    group number is 1 + its place here */
    size_t skipped; /* records that could not be replayed or read */
} ml_Lesson;

/* All records, in cx. false: cx's error: the database cannot be read. */
bool ml_lesson_read(ml_Ctx *cx, ml_Db *db, ml_Lesson *out);
/* Those of some groups (wanted: n_groups), in cx. */
ml_Learned ml_lesson_part(ml_Ctx *cx, const ml_Lesson *l, const bool *wanted);

#endif

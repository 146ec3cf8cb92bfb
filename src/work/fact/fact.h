/*
 * fact - the tables of what is reported (core/json/field.h), and structs for what is
 * reported of several things together. Source: interaction 2, 8.
 */
#ifndef ML_WORK_FACT_H
#define ML_WORK_FACT_H

#include "moonloop/core/json/field.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/schedule.h"
#include "moonloop/tune/db/db.h"
#include "moonloop/verify/count/counts.h"

#define ML_FACTS(table, of) extern const ml_FieldTable table;
#include "moonloop/work/fact/tables.def"
#undef ML_FACTS
/* All of them, for the manual. */
extern const ml_FieldTable *const ml_field_tables[];
extern const size_t ml_n_field_tables;

/* A record among others. */
typedef struct ml_BestRow {
    size_t rank;
    int run;
    const char *measured, *design; /* "turns" or "alone"; the decisions in words */
    double flop, bytes;            /* of its program, bytes where they limit it; or 0 */
    ml_Record record;
} ml_BestRow;

typedef struct ml_AdoptRow {
    const char *branch, *speed; /* NULL: it was measured with other threads */
    int steps, version;
    ml_Record record;
    double expected; /* seconds; NAN: as it was measured */
} ml_AdoptRow;

typedef struct ml_LoopRow {
    ml_Ctx *cx; /* for texts */
    const ml_Names *names;
    const ml_LoopFacts *f;
    bool brief; /* extent, operations and bytes alone */
} ml_LoopRow;

enum {
    ML_IS_AFFINE,
    ML_IS_SPATIAL,
    ML_IS_TRIVIAL, /* the rest is known of blocks in a scope only */
    ML_IS_COMPLETE,
    ML_IS_REDUCTION,
    ML_IS_COVERED,
    ML_IS_PIPELINE,
    ML_IS_OUTPUT,
    ML_BLOCK_PROPERTIES,
};
typedef struct ml_BlockRow {
    ml_Ctx *cx; /* for texts */
    ml_Schedule *s;
    ml_Uid tag;
    const ml_Block *block;
    bool in_scope; /* it is no root */
    bool is[ML_BLOCK_PROPERTIES];
    const char *why[ML_BLOCK_PROPERTIES]; /* why not; or NULL */
    ml_UidVec after, before;              /* producers, consumers */
} ml_BlockRow;
/* Of a block of the current version; cx: a fork of the schedule's context, made after its
 * names; facts: of that context. */
void ml_block_row(ml_Ctx *cx, ml_Facts *facts, ml_Schedule *s, ml_Uid tag,
                  ml_BlockRow *out);

typedef struct ml_VersionRow {
    ml_Schedule *s;
    int version;
    ml_Step step; /* by ml_version_step */
} ml_VersionRow;

typedef struct ml_ErrorRow {
    ml_Failure *f;
    const char *at;   /* lines that stand below its text; or NULL */
    bool suggestions; /* they are wanted: to find them takes a while */
} ml_ErrorRow;

typedef struct ml_FindingRow {
    ml_ErrorRow error; /* first: its place is told as of errors */
    const char *severity;
} ml_FindingRow;

typedef struct ml_ProfileRow {
    ml_Schedule *s;
    int version;
    const struct ml_Profile *p;
} ml_ProfileRow;

typedef struct ml_DbRow {
    const char *db; /* its path */
    ml_DbSummary of;
} ml_DbRow;

/* `i: C_init, C_update`: the loop and the blocks of a nest, by display names. */
void ml_nest_label(ml_Schedule *s, const ml_Stmt *nest, ml_Text *t);

/* ---- accesses and sizes in words */
/* `A[vi, vk]`, as it stands in the program. */
void ml_text_access(ml_Ctx *cx, ml_Text *out, const ml_Site *site, const ml_Names *names);
/* Numbers that depend on sizes, for people and data: `n * 64`. */
void ml_text_sizes(ml_Ctx *cx, ml_Text *out, const ml_Expr *e, const ml_Names *names);
/* The name that is shown; NULL names, or none of that uid: hint. */
const char *ml_shown_name(const ml_Names *names, ml_Uid uid, const char *hint);

#endif

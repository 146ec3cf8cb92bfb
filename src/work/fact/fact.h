/*
 * fact - the tables of what is reported (core/json/field.h), and structs for what is
 * reported of several things together. Source: interaction 2, 8.
 */
#ifndef ML_WORK_FACT_H
#define ML_WORK_FACT_H

#include "core/json/field.h"
#include "primitives/schedule.h"
#include "tune/db/db.h"
#include "verify/count/counts.h"

/* Of ml_Timing; of ml_Timing as what it was compared with; ml_Roofline; ml_CheckResult; ml_Machine;
 * ml_Record; ml_BestRow; ml_TuneStatus; ml_LoopRow; ml_VersionRow. */
extern const ml_FieldTable ml_timing_fields, ml_rival_fields, ml_roofline_fields,
    ml_check_fields, ml_machine_fields, ml_record_fields, ml_best_fields, ml_search_fields,
    ml_loop_fields, ml_version_fields;
/* All of them, for the manual. */
extern const ml_FieldTable *const ml_field_tables[];
extern const size_t ml_n_field_tables;
/* That of a command, or of a name; NULL: there is none. */
const ml_FieldTable *ml_field_table(const char *name);

/* A record among others. */
typedef struct ml_BestRow {
    size_t rank;
    int run;
    const char *measured, *design; /* "turns" or "alone"; the decisions in words */
    double flop;                   /* of its program; 0: not known */
    ml_Record record;
} ml_BestRow;

typedef struct ml_LoopRow {
    ml_Ctx *cx; /* for texts */
    const ml_Names *names;
    const ml_LoopFacts *f;
    bool brief; /* extent, operations and bytes alone */
} ml_LoopRow;

typedef struct ml_VersionRow {
    ml_Schedule *s;
    int version;
    ml_Step step; /* by ml_version_step */
} ml_VersionRow;

/* ---- accesses and sizes in words */
/* `A[vi, vk]`, as it stands in the program. */
void ml_text_access(ml_Ctx *cx, ml_Text *out, const ml_Site *site, const ml_Names *names);
/* Numbers that depend on sizes, for people and data: `n * 64`. */
void ml_text_sizes(ml_Ctx *cx, ml_Text *out, const ml_Expr *e, const ml_Names *names);
/* The name that is shown; NULL names, or none of that uid: hint. */
const char *ml_shown_name(const ml_Names *names, ml_Uid uid, const char *hint);
const char *ml_stride_kind_name(ml_StrideKind k); /* even, uneven, not affine */

#endif

/*
 * report - collecting the diagnostics of one text: places, notes, suggestions, the limit.
 *
 * Places are code points, 1-based, end exclusive. At most ML_MAX_REPORTED errors are kept;
 * a poisoned value silences what follows from it. Source: script 14.
 */
#ifndef ML_CORE_SCRIPT_REPORT_H
#define ML_CORE_SCRIPT_REPORT_H

#include "moonloop/core/script/script.h"

enum { ML_MAX_REPORTED = 20, ML_MAX_WARNINGS = 100 };

typedef struct ml_Place {
    uint32_t line, col, end_line, end_col;
} ml_Place;

typedef struct ml_Report {
    ml_Ctx *cx;
    const char *file;
    size_t n_errors, n_warnings;
    ML_VEC(ml_Diag) diags;
    ML_VEC(ml_ErrorCode) codes; /* parallel to diags */
} ml_Report;

/* Adds a diagnostic; NULL when it was dropped (too many). The pointer is good until the
 * next one is added. */
ml_Diag *ml_report(ml_Report *r, ml_ErrorCode code, ml_Place at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void ml_report_note(ml_Report *r, ml_Diag *d, ml_Place at, const char *text);
void ml_report_help(ml_Report *r, ml_Diag *d, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool ml_report_full(const ml_Report *r);
/* Forgets what was added since there were n diagnostics. */
void ml_report_cut(ml_Report *r, size_t n);
/* Source order; sets the error of cx to the first error. */
ml_Parsed ml_report_finish(ml_Report *r, const ml_Module *mod);

ml_Place ml_place_join(ml_Place a, ml_Place b);
const ml_Span *ml_place_span(ml_Report *r, ml_Place at);

/* Edit distance of two names, two letters that changed places being one edit; capped: anything
 * above `limit` is limit + 1. */
size_t ml_edit_distance(ml_Str a, ml_Str b, size_t limit);
/* The best candidate so far for "did you mean", of those that are near. */
typedef struct ml_Nearest {
    ml_Str want, best;
    size_t distance;
} ml_Nearest;
ml_Nearest ml_nearest_begin(ml_Str want);
void ml_nearest_try(ml_Nearest *n, ml_Str name);
/* "; did you mean `x`?" or "". */
const char *ml_nearest_text(ml_Ctx *cx, const ml_Nearest *n, const char *prefix);

#endif

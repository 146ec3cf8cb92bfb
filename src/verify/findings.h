/* findings - what a validation reports: errors as values, without touching the context's
 * own. */
#ifndef ML_VERIFY_FINDINGS_H
#define ML_VERIFY_FINDINGS_H

#include "moonloop/verify/facts.h"

/* Where findings of one function go. */
typedef struct ml_Finder {
    ml_Ctx *cx;
    ml_Findings *out;
    uint32_t func;
    size_t errors; /* found so far */
} ml_Finder;

/* Adds a finding; the facts are ML_LOOP(x) ... as for ml_fail; texts must live in cx.
 * Returns it for ml_find_note. */
ml_Error *ml_find_(ml_Finder *f, ml_Severity severity, ml_ErrorCode code, ...);
#define ml_find(f, severity, ...) ml_find_((f), (severity), __VA_ARGS__, ML_FACT_END)
void ml_find_note(ml_Finder *f, ml_Error *e, const char *note);

/* The first error among those from `from` on becomes the context's. */
void ml_findings_fail(ml_Ctx *cx, const ml_Findings *found, size_t from);

/* Name of an iter as the text shows it. */
const char *ml_iter_name(const ml_Block *b, size_t k);

#endif

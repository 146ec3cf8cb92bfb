/* scan - what is open where the cursor stands in a line of Lua: calls, tables, a string.
 * Source: interaction 4. */
#ifndef ML_REPL_LINE_SCAN_H
#define ML_REPL_LINE_SCAN_H

#include "moonloop/primitives/prim.h"

enum { ML_SCAN_OPEN = 32, ML_SCAN_ARGS = 16 };

typedef struct ml_ScanCall {
    char kind;                     /* ( { [ */
    ml_Str callee;                 /* a.b:c before it; empty: none */
    int arg;                       /* commas so far */
    ml_Str key;                    /* of a table: the name before the last = */
    ml_Str arg_text[ML_SCAN_ARGS]; /* string literals among the arguments */
    ml_Str loop_key, block_key;    /* literals under the keys of that name */
} ml_ScanCall;

typedef struct ml_Scan {
    const char *p;
    size_t n;
    ml_ScanCall open[ML_SCAN_OPEN];
    size_t depth;     /* may exceed ML_SCAN_OPEN: then the innermost are not known */
    ml_Str chain;     /* names and separators just before the cursor: a.b:c, a.b. */
    char quote;       /* the cursor is in a string that began with it; 0: it is not */
    size_t string_at; /* its first byte */
    bool nowhere;     /* in a comment or long string */
} ml_Scan;

/* Walks from the beginning to the cursor (p, n are set); needs no complete line and never
 * fails. */
void ml_scan(ml_Scan *s);
/* The parameter at that position (the last one may take all that follow), or of the name
 * when there is one; NULL: none. */
const ml_Param *ml_scan_param(const ml_Primitive *prim, int position, ml_Str key);
/* The last name of a.b:c; *method: a colon or nothing stands before it. */
ml_Str ml_scan_last_name(ml_Str chain, bool *method);

#endif

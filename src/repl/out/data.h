/*
 * data - what a command tells, as data: rows of named values.
 *
 * A command fills them in where it makes its text, whenever somebody asked: --json prints
 * them, one JSON object a line, in place of the text, and moon.cmd gives them as a table.
 * When nobody did, ml_session_data is NULL, which every function here takes. Source:
 * interaction 2, 4.
 *
 *     ml_Data *d = ml_session_data(ss);
 *
 *     ml_data_row(d);                        {"loop":"i","extent":64,
 *     ml_data_str(d, "loop", "i");            "bytes":{"A":16384}}
 *     ml_data_int(d, "extent", 64);
 *     ml_data_object(d, "bytes");
 *     ml_data_int(d, "A", 16384);
 *     ml_data_end(d);
 */
#ifndef ML_REPL_OUT_DATA_H
#define ML_REPL_OUT_DATA_H

#include "core/base/text.h"

enum { ML_DATA_DEPTH = 16 };
typedef struct ml_Data {
    ml_Text text; /* finished rows, a line each, and the open one */
    size_t n;     /* rows begun */
    bool one;     /* all there is to tell is one row: moon.cmd has its fields at hand */
    bool comma;   /* something stands before in the innermost list or object */
    int depth;
    char close[ML_DATA_DEPTH]; /* what ends the open ones */
} ml_Data;

void ml_data_row(ml_Data *d); /* begins the next one, and ends the one before */
void ml_data_one(ml_Data *d); /* begins the only one */
/* In a list the key is NULL. A text that is NULL, and a number that is NaN, leave the field
 * out (in a list: null). */
void ml_data_str(ml_Data *d, const char *key, const char *z);
void ml_data_int(ml_Data *d, const char *key, int64_t v);
void ml_data_real(ml_Data *d, const char *key, double v);
void ml_data_bool(ml_Data *d, const char *key, bool v);
void ml_data_json(ml_Data *d, const char *key, const char *json); /* one value, as it is */
void ml_data_list(ml_Data *d, const char *key);
void ml_data_object(ml_Data *d, const char *key);
void ml_data_end(ml_Data *d); /* of the innermost list or object */
/* All rows, each with its newline. */
const char *ml_data_lines(ml_Data *d);
void ml_data_free(ml_Data *d);
/* A text as JSON, whatever bytes it holds: what is no UTF-8 becomes U+FFFD. */
void ml_data_quote(ml_Text *out, const char *z);

#endif

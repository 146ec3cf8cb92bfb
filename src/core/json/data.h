/*
 * data - what is told, as rows of named values: one telling, several media.
 *
 * Who knows a fact tells it here and does not ask where it goes: to lines of JSON, one
 * object a line (--json, moon.cmd), or to a medium of somebody else's, as the bindings' for
 * tables of Lua. NULL, for nobody asked, is taken by every function. Rows of structs are
 * told from tables of fields (field.h). Source: interaction 2, 4.
 *
 *     ml_data_row(d);                        {"loop":"i","extent":64,
 *     ml_data_str(d, "loop", "i");            "bytes":{"A":16384}}
 *     ml_data_int(d, "extent", 64);
 *     ml_data_object(d, "bytes");
 *     ml_data_int(d, "A", 16384);
 *     ml_data_end(d);
 */
#ifndef ML_CORE_JSON_DATA_H
#define ML_CORE_JSON_DATA_H

#include "moonloop/core/base/text.h"

/* Of names and units: one more when a fact gets another name, unit or type. */
#define ML_DATA_SCHEMA 3

typedef struct ml_Data ml_Data;
typedef enum ml_DataKind {
    ML_TOLD_NULL,
    ML_TOLD_BOOL,
    ML_TOLD_INT,
    ML_TOLD_REAL,
    ML_TOLD_TEXT
} ml_DataKind;
typedef struct ml_DataValue {
    ml_DataKind kind;
    bool yes;
    int64_t n;
    double real;
    const char *text;
} ml_DataValue;

/* Where else than to JSON it is told. key: NULL within a list; close ends the innermost. */
typedef struct ml_Medium {
    void (*value)(ml_Data *d, const char *key, const ml_DataValue *v);
    void (*open)(ml_Data *d, const char *key, bool list);
    void (*close)(ml_Data *d);
} ml_Medium;

enum { ML_DATA_DEPTH = 16 };
struct ml_Data {
    const ml_Medium *medium; /* NULL: JSON */
    void *user;              /* the medium's */
    bool schema;             /* JSON: each row begins with the number of the schema */
    ml_Text text;            /* JSON: finished rows, a line each, and the open one */
    size_t n;                /* rows begun */
    const struct ml_FieldTable
        *of;    /* the fields that rows were told from (field.h), or NULL */
    bool one;   /* all there is to tell is one row: moon.cmd has its fields at hand */
    bool comma; /* something stands before in the innermost list or object */
    int depth;
    char close[ML_DATA_DEPTH]; /* what ends the open ones */
};

void ml_data_row(ml_Data *d);  /* begins the next one, and ends the one before */
void ml_data_one(ml_Data *d);  /* begins the only one */
void ml_data_done(ml_Data *d); /* ends the last one */
/* In a list the key is NULL. A text that is NULL, and a number that is NaN, leave the field
 * out (in a list: null). */
void ml_data_str(ml_Data *d, const char *key, const char *z);
void ml_data_int(ml_Data *d, const char *key, int64_t v);
void ml_data_real(ml_Data *d, const char *key, double v);
void ml_data_bool(ml_Data *d, const char *key, bool v);
/* One value of JSON, as it is; other media take it as a text. */
void ml_data_json(ml_Data *d, const char *key, const char *json);
void ml_data_list(ml_Data *d, const char *key);
void ml_data_object(ml_Data *d, const char *key);
void ml_data_end(ml_Data *d); /* of the innermost list or object */
/* All rows of JSON, each with its newline. */
const char *ml_data_lines(ml_Data *d);
void ml_data_free(ml_Data *d);
/* A text as JSON, whatever bytes it holds: what is no UTF-8 becomes U+FFFD. */
void ml_data_quote(ml_Text *out, const char *z);

#endif

/*
 * field - tables of what is told of a struct: name, unit and meaning of each fact, once.
 *
 * A table is a .def of the rows below, made by field_table.def in one .c file. From it come
 * the JSON of --json, the table of Lua, the hint that an old name gets, and the list of
 * names in the manual. Units are the base units: seconds, bytes, FLOP/s, shares of 0 to 1.
 *
 *     ML_FIELD(S, member, UNIT, "what it is")             a member by its own name
 *     ML_FIELD_AT(S, name, member, UNIT, "")              a member by another name
 *     ML_FIELD_IS(S, name, type, UNIT, (value of s), "")  computed from `s`, a const S *
 *     ML_FIELD_BY(S, name, TYPE, UNIT, function, "")      told by a function
 *     ML_FIELD_SAID(name, TYPE, UNIT, "")                 told in words of its own, where a
 *                                                         row has no struct
 *     ML_FIELD_WAS(S, old, "what to read in its place")
 *
 * The name of an old fact may be one of a row within: ML_FIELD_WAS(S, "accesses.reuse", …).
 *
 * Left out are: a text that is NULL or empty, a number that is NaN, an integer below 0. That
 * is how a struct says that it does not know.
 */
#ifndef ML_CORE_JSON_FIELD_H
#define ML_CORE_JSON_FIELD_H

#include <stddef.h>

#include "moonloop/core/json/data.h"

typedef enum ml_FieldUnit {
#define ML_FIELD_UNIT(name, sign) ML_IN_##name,
#include "moonloop/core/json/field_units.def"
#undef ML_FIELD_UNIT
} ml_FieldUnit;
const char *ml_field_unit(ml_FieldUnit u); /* "FLOP/s"; "" where there is nothing to say */

typedef enum ml_FieldKind {
    ML_FIELD_BOOL,
    ML_FIELD_INT,
    ML_FIELD_UNSIGNED,
    ML_FIELD_LONG,
    ML_FIELD_SIZE,
    ML_FIELD_REAL,
    ML_FIELD_TEXT,
    ML_FIELD_SIZES, /* a number, or a text of the sizes that decide it */
    ML_FIELD_LIST,
    ML_FIELD_OBJECT,
} ml_FieldKind;

typedef const char *ml_FieldText; /* the type of texts in ML_FIELD_IS */

typedef struct ml_Field {
    const char *name, *help;
    /* Of the kind's type from the struct; told: an ml_FieldTell, or NULL. Else NULL: it is a
     * member. */
    void (*get)(void);
    size_t at; /* of the member */
    ml_FieldUnit unit;
    ml_FieldKind kind;
    bool told; /* by a function or in words of its own */
} ml_Field;
typedef void ml_FieldTell(ml_Data *d, const char *key, const void *s);

typedef struct ml_FieldWas {
    const char *old, *now;
} ml_FieldWas;

typedef struct ml_FieldTable ml_FieldTable;
struct ml_FieldTable {
    const char *name, *what; /* `time`: the command's name where one tells it */
    const ml_Field *v;
    size_t n;
    const ml_FieldWas *was; /* ended by NULL */
};

const char *ml_field_type(ml_FieldKind k); /* number, text, list, … */
/* Tells every fact of s into the open row or object. */
void ml_data_fields(ml_Data *d, const ml_FieldTable *t, const void *s);
/* Tells that one; false: there is no field of that name. */
bool ml_data_field(ml_Data *d, const ml_FieldTable *t, const char *name, const void *s);
/* What to read in place of an old name; NULL: it is none. */
const char *ml_field_was(const ml_FieldTable *t, const char *old);

/* By a pointer to a constant one: an array of characters is no text. */
#define ML_FIELD_KIND(pointer)                                                             \
    _Generic((pointer),                                                                    \
        const bool *: ML_FIELD_BOOL,                                                       \
        const int *: ML_FIELD_INT,                                                         \
        const unsigned *: ML_FIELD_UNSIGNED,                                               \
        const long *: ML_FIELD_LONG,                                                       \
        const unsigned long *: ML_FIELD_SIZE,                                              \
        const double *: ML_FIELD_REAL,                                                     \
        const ml_FieldText *: ML_FIELD_TEXT)
#define ML_FIELDS_PASTE(table, what)  ML_FIELDS_PASTE2(table, what)
#define ML_FIELDS_PASTE2(table, what) table##_##what

#endif

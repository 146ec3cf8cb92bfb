/* json - a strict reader of JSON with places, and writing of strings and numbers. What is
 * read lives in the arena. Depth, duplicate keys, trailing text, bad UTF-8 and NUL
 * characters are errors. Source: primitives 12.3. */
#ifndef ML_CORE_JSON_H
#define ML_CORE_JSON_H

#include "moonloop/core/base/text.h"
#include "moonloop/core/value.h"

typedef enum ml_JsonKind {
    ML_JSON_NULL,
    ML_JSON_BOOL,
    ML_JSON_INT, /* no point, no exponent, fits int64 */
    ML_JSON_FLOAT,
    ML_JSON_STRING,
    ML_JSON_LIST,
    ML_JSON_OBJECT,
} ml_JsonKind;

typedef struct ml_Json ml_Json;
struct ml_Json {
    uint8_t kind;       /* an ml_JsonKind */
    uint32_t n;         /* LIST, OBJECT: members; STRING: bytes */
    uint32_t line, col; /* where it begins, from 1; columns count bytes */
    union {
        bool b;
        int64_t i;
        double f;
        const char *s; /* zero-terminated */
        const ml_Json *list;
    } as;
    const char *const *keys; /* OBJECT, in order of writing */
};

typedef struct ml_JsonError {
    uint32_t line, col;
    const char *what;
} ml_JsonError;

/* NULL: *error says where and why. */
const ml_Json *ml_json_read(ml_Ctx *cx, ml_Str text, ml_JsonError *error);
const ml_Json *ml_json_get(const ml_Json *object, const char *key); /* NULL: absent */
/* What j is, where j may be NULL: a string without zero bytes, else NULL; whether it is an
 * integer of lo..hi; the i-th of a list, else NULL. */
const char *ml_json_text(const ml_Json *j);
bool ml_json_whole(const ml_Json *j, int64_t lo, int64_t hi, int64_t *out);
const ml_Json *ml_json_item(const ml_Json *j, uint32_t i);

void ml_json_string(ml_Text *out, const char *z); /* with quotes and escapes */
void ml_json_key(ml_Text *out, const char *z);    /* the same and its colon */
/* Infinite numbers become +-1e999, which reads back as such; NaN becomes null. */
void ml_json_real(ml_Text *out, double v);
/* Constants only: none, booleans, numbers, strings, lists, dicts; all others become null.
 */
void ml_json_value(ml_Text *out, const ml_Value *v);
/* The constant; lists and objects become lists and dicts, null becomes none. */
const ml_Value *ml_json_to_value(ml_Ctx *cx, const ml_Json *j);

#endif

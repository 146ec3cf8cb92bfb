/*
 * json - a strict reader of JSON with places, and writing of strings and numbers.
 * Source: RFC 8259; primitives 12.3.
 */
#include "moonloop/core/json/json.h"

#include "moonloop/core/base/utf8.h"
#include "moonloop/core/json/value_text.h"
#include "moonloop/core/vec.h"

#include <float.h>
#include <stdlib.h>

enum { MAX_DEPTH = 200, MAX_KEYS = 4096 };

typedef struct Reader {
    ml_Ctx *cx;
    const char *p, *end, *line_start;
    uint32_t line;
    int depth;
    ml_JsonError *error;
} Reader;

static bool bad(Reader *r, const char *what)
{
    if (!r->error->what)
        *r->error = (ml_JsonError){r->line, (uint32_t)(r->p - r->line_start) + 1, what};
    return false;
}

static void skip(Reader *r)
{
    for (; r->p < r->end; r->p++) {
        if (*r->p == '\n') {
            r->line++;
            r->line_start = r->p + 1;
        } else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r')
            return;
    }
}

static bool accept(Reader *r, char c)
{
    skip(r);
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

/* ---- strings */

static bool hex4(Reader *r, uint32_t *out)
{
    *out = 0;
    if (r->end - r->p < 4)
        return bad(r, "four hexadecimal digits are expected after \\u");
    for (int k = 0; k < 4; k++) {
        char c = *r->p++;
        uint32_t d;

        if (c >= '0' && c <= '9')
            d = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            d = (uint32_t)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            d = (uint32_t)(c - 'A') + 10;
        else
            return bad(r, "four hexadecimal digits are expected after \\u");
        *out = *out * 16 + d;
    }
    return true;
}

static bool escape(Reader *r, char *z, size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint32_t c, low;
    const char *at;

    if (r->p == r->end)
        return bad(r, "the string does not end");
    char e = *r->p++;

    if (e != 'u') {
        at = e ? strchr(from, e) : NULL;
        if (!at)
            return bad(r, "unknown escape");
        z[(*n)++] = to[at - from];
        return true;
    }
    if (!hex4(r, &c))
        return false;
    if (c >= 0xd800 && c < 0xdc00) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
            return bad(r, "half of a surrogate pair");
        r->p += 2;
        if (!hex4(r, &low))
            return false;
        if (low < 0xdc00 || low >= 0xe000)
            return bad(r, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xdc00 && c < 0xe000)
        return bad(r, "half of a surrogate pair");
    if (c == 0)
        return bad(r, "a NUL character");
    *n += ml_utf8_put(z + *n, c);
    return true;
}

static bool read_string(Reader *r, const char **out, uint32_t *len)
{
    const char *stop = r->p; /* the closing quote, to know how much room is needed */
    size_t n = 0;

    while (stop < r->end && *stop != '"')
        stop += *stop == '\\' && r->end - stop > 1 ? 2 : 1;
    char *z = ml_alloc(r->cx, (size_t)(stop - r->p) + 8);

    for (;;) {
        if (r->p == r->end)
            return bad(r, "the string does not end");
        if (*r->p == '"')
            break;
        if ((unsigned char)*r->p < ' ')
            return bad(r, "a control character in a string");
        if (*r->p == '\\') {
            r->p++;
            if (!escape(r, z, &n))
                return false;
            continue;
        }
        size_t u = ml_utf8_length(r->p, r->end);

        if (u == 0)
            return bad(r, "the text is not UTF-8");
        memcpy(z + n, r->p, u);
        n += u;
        r->p += u;
    }
    r->p++;
    z[n] = 0;
    *out = z;
    *len = (uint32_t)n;
    return true;
}

/* ---- numbers */

static bool digits(Reader *r)
{
    const char *from = r->p;

    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return r->p > from;
}

static bool read_number(Reader *r, ml_Json *out)
{
    const char *from = r->p;
    bool real = false, fits = true, negative = *r->p == '-';
    int64_t v = 0;

    if (negative)
        r->p++;
    if (r->p < r->end && *r->p == '0')
        r->p++;
    else if (!digits(r))
        return bad(r, "a value is expected");
    if (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        return bad(r, "a number does not begin with 0");
    if (r->p < r->end && *r->p == '.') {
        real = true;
        r->p++;
        if (!digits(r))
            return bad(r, "digits are expected after the point");
    }
    if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        real = true;
        r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-'))
            r->p++;
        if (!digits(r))
            return bad(r, "digits are expected in the exponent");
    }
    for (const char *d = from + negative; !real && d < r->p; d++)
        fits = fits && !__builtin_mul_overflow(v, (int64_t)10, &v) &&
               !__builtin_sub_overflow(v, (int64_t)(*d - '0'), &v);
    if (!real && fits && (negative || v != INT64_MIN)) {
        out->kind = ML_JSON_INT;
        out->as.i = negative ? v : -v;
        return true;
    }
    out->kind = ML_JSON_FLOAT;
    out->as.f = strtod(ml_strdup(r->cx, (ml_Str){from, (size_t)(r->p - from)}), NULL);
    return true;
}

/* ---- values */

static bool read_value(Reader *r, ml_Json *out);

static bool word(Reader *r, const char *z)
{
    size_t n = strlen(z);

    if ((size_t)(r->end - r->p) < n || memcmp(r->p, z, n) != 0)
        return bad(r, "a value is expected");
    r->p += n;
    return true;
}

static bool read_list(Reader *r, ml_Json *out)
{
    ML_VEC(ml_Json) v = {0};

    out->kind = ML_JSON_LIST;
    for (bool first = true; !accept(r, ']'); first = false) {
        ml_Json one;

        if (!first && !accept(r, ','))
            return bad(r, "a comma or ] is expected");
        if (!read_value(r, &one))
            return false;
        ml_push(r->cx, &v, one);
    }
    out->n = (uint32_t)v.n;
    out->as.list = v.v;
    return true;
}

static bool read_object(Reader *r, ml_Json *out)
{
    ML_VEC(ml_Json) v = {0};
    ML_VEC(const char *) keys = {0};

    out->kind = ML_JSON_OBJECT;
    for (bool first = true; !accept(r, '}'); first = false) {
        const char *key;
        uint32_t n;
        ml_Json one;

        if (!first && !accept(r, ','))
            return bad(r, "a comma or } is expected");
        if (!accept(r, '"'))
            return bad(r, "a key in quotes is expected");
        if (!read_string(r, &key, &n))
            return false;
        if (keys.n == MAX_KEYS)
            return bad(r, "too many keys");
        for (size_t k = 0; k < keys.n; k++)
            if (ml_streq(keys.v[k], key))
                return bad(r, "a key occurs twice");
        if (!accept(r, ':'))
            return bad(r, "a colon is expected");
        if (!read_value(r, &one))
            return false;
        ml_push(r->cx, &keys, key);
        ml_push(r->cx, &v, one);
    }
    out->n = (uint32_t)v.n;
    out->as.list = v.v;
    out->keys = keys.v;
    return true;
}

static bool read_value(Reader *r, ml_Json *out)
{
    bool ok = true;

    skip(r);
    *out = (ml_Json){.line = r->line, .col = (uint32_t)(r->p - r->line_start) + 1};
    if (r->p == r->end)
        return bad(r, "a value is expected");
    switch (*r->p) {
    case '"':
        out->kind = ML_JSON_STRING;
        r->p++;
        return read_string(r, &out->as.s, &out->n);
    case '[':
    case '{':
        if (r->depth == MAX_DEPTH)
            return bad(r, "nested too deep");
        r->depth++;
        ok = *r->p++ == '[' ? read_list(r, out) : read_object(r, out);
        r->depth--;
        return ok;
    case 't':
        out->kind = ML_JSON_BOOL;
        out->as.b = true;
        return word(r, "true");
    case 'f': out->kind = ML_JSON_BOOL; return word(r, "false");
    case 'n': return word(r, "null");
    default: return read_number(r, out);
    }
}

const ml_Json *ml_json_read(ml_Ctx *cx, ml_Str text, ml_JsonError *error)
{
    Reader r = {
        .cx = cx, .p = text.p, .end = text.p + text.n, .line_start = text.p, .line = 1};
    ml_Json *out = ML_NEW(cx, ml_Json);

    r.error = error;
    *error = (ml_JsonError){0};
    if (!read_value(&r, out))
        return NULL;
    skip(&r);
    if (r.p < r.end) {
        bad(&r, "text after the value");
        return NULL;
    }
    return out;
}

const ml_Json *ml_json_get(const ml_Json *object, const char *key)
{
    if (object && object->kind == ML_JSON_OBJECT)
        for (uint32_t k = 0; k < object->n; k++)
            if (ml_streq(object->keys[k], key))
                return &object->as.list[k];
    return NULL;
}

const char *ml_json_text(const ml_Json *j)
{
    return j && j->kind == ML_JSON_STRING && strlen(j->as.s) == j->n ? j->as.s : NULL;
}

bool ml_json_whole(const ml_Json *j, int64_t lo, int64_t hi, int64_t *out)
{
    if (!j || j->kind != ML_JSON_INT || j->as.i < lo || j->as.i > hi)
        return false;
    *out = j->as.i;
    return true;
}

const ml_Json *ml_json_item(const ml_Json *j, uint32_t i)
{
    return j && j->kind == ML_JSON_LIST && i < j->n ? &j->as.list[i] : NULL;
}

/* ---- writing */

void ml_json_string(ml_Text *out, const char *z)
{
    ml_text_string(out, z, ML_ESCAPE_JSON);
}

void ml_json_key(ml_Text *out, const char *z)
{
    ml_json_string(out, z);
    ml_text_add(out, ": ");
}

void ml_json_real(ml_Text *out, double v)
{
    if (v != v)
        ml_text_add(out, "null");
    else if (v > DBL_MAX || v < -DBL_MAX)
        ml_text_add(out, v > 0 ? "1e999" : "-1e999");
    else
        ml_text_double(out, v);
}

void ml_json_value(ml_Text *out, const ml_Value *v)
{
    static const ml_Notation json = {
        .no = "false",
        .yes = "true",
        .none = "null",
        .object = "null",
        .list = "[]",
        .dict = "{}",
        .integer = ml_text_int,
        .real = ml_json_real,
        .string = ml_json_string,
        .key = ml_json_key,
    };

    ml_value_text(out, v, &json);
}

const ml_Value *ml_json_to_value(ml_Ctx *cx, const ml_Json *j)
{
    switch ((ml_JsonKind)j->kind) {
    case ML_JSON_NULL: return ml_val_none(cx);
    case ML_JSON_BOOL: return ml_val_bool(cx, j->as.b);
    case ML_JSON_INT: return ml_val_int(cx, j->as.i);
    case ML_JSON_FLOAT: return ml_val_float(cx, j->as.f);
    case ML_JSON_STRING: return ml_val_string(cx, (ml_Str){j->as.s, j->n});
    case ML_JSON_LIST:
    case ML_JSON_OBJECT: break;
    }
    const ml_Value **list = ML_ARRAY(cx, const ml_Value *, j->n + 1);

    for (uint32_t k = 0; k < j->n; k++)
        list[k] = ml_json_to_value(cx, &j->as.list[k]);
    return j->kind == ML_JSON_LIST ? ml_val_list(cx, list, j->n)
                                   : ml_val_dict(cx, j->keys, list, j->n);
}

/* data - rows of named values, written as JSON while they are told, or handed to another
 * medium. Source: interaction 2, 4. */
#include "moonloop/core/json/data.h"

#include <math.h>

#include "moonloop/core/json/json.h"

void ml_data_quote(ml_Text *out, const char *z)
{
    ml_Text t = {0};

    ml_text_utf8(&t, z, strlen(z));
    ml_json_string(out, ml_text_z(&t));
    ml_text_free(&t);
}

/* Everything before a value of JSON. */
static void lead(ml_Data *d, const char *key)
{
    ML_ASSERT(d->depth > 0 && (key == NULL) == (d->close[d->depth - 1] == ']'));
    if (d->comma)
        ml_text_char(&d->text, ',');
    if (key)
        ml_data_quote(&d->text, key);
    if (key)
        ml_text_char(&d->text, ':');
    d->comma = true;
}

static void open_one(ml_Data *d, const char *key, bool list)
{
    ML_ASSERT(d->depth < ML_DATA_DEPTH);
    if (d->medium)
        d->medium->open(d, key, list);
    else {
        if (d->depth > 0)
            lead(d, key);
        ml_text_char(&d->text, list ? '[' : '{');
    }
    d->close[d->depth++] = list ? ']' : '}';
    d->comma = false;
}

static void close_one(ml_Data *d)
{
    ML_ASSERT(d->depth > 0);
    d->depth--;
    if (d->medium)
        d->medium->close(d);
    else
        ml_text_char(&d->text, d->close[d->depth]);
    d->comma = true;
}

void ml_data_done(ml_Data *d)
{
    if (!d || d->depth == 0)
        return;
    while (d->depth > 0)
        close_one(d);
    if (!d->medium)
        ml_text_char(&d->text, '\n');
}

void ml_data_row(ml_Data *d)
{
    if (!d)
        return;
    ml_data_done(d);
    d->n++;
    open_one(d, NULL, false);
    if (d->schema)
        ml_data_int(d, "schema", ML_DATA_SCHEMA);
}

void ml_data_one(ml_Data *d)
{
    if (!d)
        return;
    ML_ASSERT(d->n == 0);
    ml_data_row(d);
    d->one = true;
}

static void write_value(ml_Data *d, const char *key, const ml_DataValue *v)
{
    lead(d, key);
    switch (v->kind) {
    case ML_TOLD_NULL: ml_text_add(&d->text, "null"); return;
    case ML_TOLD_BOOL: ml_text_add(&d->text, v->yes ? "true" : "false"); return;
    case ML_TOLD_INT: ml_text_int(&d->text, v->n); return;
    case ML_TOLD_REAL: ml_json_real(&d->text, v->real); return;
    case ML_TOLD_TEXT: ml_data_quote(&d->text, v->text); return;
    }
}

static void tell(ml_Data *d, const char *key, ml_DataValue v)
{
    if (d)
        (d->medium ? d->medium->value : write_value)(d, key, &v);
}

void ml_data_str(ml_Data *d, const char *key, const char *z)
{
    if (z || !key)
        tell(d, key, (ml_DataValue){.kind = z ? ML_TOLD_TEXT : ML_TOLD_NULL, .text = z});
}

void ml_data_int(ml_Data *d, const char *key, int64_t v)
{
    tell(d, key, (ml_DataValue){.kind = ML_TOLD_INT, .n = v});
}

void ml_data_real(ml_Data *d, const char *key, double v)
{
    if (!isnan(v) || !key)
        tell(d, key,
             (ml_DataValue){.kind = isnan(v) ? ML_TOLD_NULL : ML_TOLD_REAL, .real = v});
}

void ml_data_bool(ml_Data *d, const char *key, bool v)
{
    tell(d, key, (ml_DataValue){.kind = ML_TOLD_BOOL, .yes = v});
}

void ml_data_json(ml_Data *d, const char *key, const char *json)
{
    if (!d)
        return;
    if (d->medium) {
        ml_data_str(d, key, json);
        return;
    }
    lead(d, key);
    for (; *json;
         json++) /* outside strings a newline is white space; inside, there is none */
        if (*json != '\n' && *json != '\r')
            ml_text_char(&d->text, *json);
}

void ml_data_list(ml_Data *d, const char *key)
{
    if (d)
        open_one(d, key, true);
}

void ml_data_object(ml_Data *d, const char *key)
{
    if (d)
        open_one(d, key, false);
}

void ml_data_end(ml_Data *d)
{
    if (!d)
        return;
    ML_ASSERT(d->depth > 1);
    close_one(d);
}

const char *ml_data_lines(ml_Data *d)
{
    ml_data_done(d);
    return ml_text_z(&d->text);
}

void ml_data_free(ml_Data *d)
{
    ml_text_free(&d->text);
    *d = (ml_Data){0};
}

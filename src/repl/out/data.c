/* data - rows of named values, written as JSON while they are told. Source: interaction 2,
 * 4. */
#include "repl/out/data.h"

#include <math.h>

#include "core/base/utf8.h"
#include "core/json/json.h"

void ml_data_quote(ml_Text *out, const char *z)
{
    static const char UNKNOWN[] = "\xef\xbf\xbd";
    const char *end = z + strlen(z);
    ml_Text t = {0};

    while (z < end) {
        size_t n = ml_utf8_length(z, end);

        ml_text_addn(&t, n ? z : UNKNOWN, n ? n : sizeof UNKNOWN - 1);
        z += n ? n : 1;
    }
    ml_json_string(out, ml_text_z(&t));
    ml_text_free(&t);
}

static void open_one(ml_Data *d, char begin, char end)
{
    ML_ASSERT(d->depth < ML_DATA_DEPTH);
    ml_text_char(&d->text, begin);
    d->close[d->depth++] = end;
    d->comma = false;
}

static void close_one(ml_Data *d)
{
    ML_ASSERT(d->depth > 0);
    ml_text_char(&d->text, d->close[--d->depth]);
    d->comma = true;
}

static void end_row(ml_Data *d)
{
    if (d->depth == 0)
        return;
    while (d->depth > 0)
        close_one(d);
    ml_text_char(&d->text, '\n');
}

void ml_data_row(ml_Data *d)
{
    if (!d)
        return;
    end_row(d);
    d->n++;
    open_one(d, '{', '}');
}

void ml_data_one(ml_Data *d)
{
    if (!d)
        return;
    ML_ASSERT(d->n == 0);
    ml_data_row(d);
    d->one = true;
}

/* Everything before a value. */
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

void ml_data_str(ml_Data *d, const char *key, const char *z)
{
    if (!d || (!z && key))
        return;
    lead(d, key);
    if (z)
        ml_data_quote(&d->text, z);
    else
        ml_text_add(&d->text, "null");
}

void ml_data_int(ml_Data *d, const char *key, int64_t v)
{
    if (!d)
        return;
    lead(d, key);
    ml_text_int(&d->text, v);
}

void ml_data_real(ml_Data *d, const char *key, double v)
{
    if (!d || (isnan(v) && key))
        return;
    lead(d, key);
    ml_json_real(&d->text, v);
}

void ml_data_bool(ml_Data *d, const char *key, bool v)
{
    if (!d)
        return;
    lead(d, key);
    ml_text_add(&d->text, v ? "true" : "false");
}

void ml_data_json(ml_Data *d, const char *key, const char *json)
{
    if (!d)
        return;
    lead(d, key);
    for (; *json;
         json++) /* outside strings a newline is white space; inside, there is none */
        if (*json != '\n' && *json != '\r')
            ml_text_char(&d->text, *json);
}

void ml_data_list(ml_Data *d, const char *key)
{
    if (!d)
        return;
    lead(d, key);
    open_one(d, '[', ']');
}

void ml_data_object(ml_Data *d, const char *key)
{
    if (!d)
        return;
    lead(d, key);
    open_one(d, '{', '}');
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
    end_row(d);
    return ml_text_z(&d->text);
}

void ml_data_free(ml_Data *d)
{
    ml_text_free(&d->text);
    *d = (ml_Data){0};
}

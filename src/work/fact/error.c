/* error - an error as facts. Source: interaction 2, 7. */
#include "moonloop/work/fact/fact.h"

enum { MAX_PLACES = 8 };

static void tell_program_place(ml_Data *d, const char *key, const ml_FailurePlace *p)
{
    ml_data_object(d, key);
    ml_data_int(d, "line", p->line);
    ml_data_int(d, "column", p->column);
    ml_data_int(d, "length", p->length);
    ml_data_str(d, "label", p->label);
    ml_data_end(d);
}

/* The first place in the program stands for the whole, unless that is one of a text. */
static void tell_place(ml_Data *d, const char *key, const void *s)
{
    ml_Failure *f = ((const ml_ErrorRow *)s)->f;
    const ml_Span *at = ml_failure_place(f);
    ml_FailurePlace first;

    if (at) {
        ml_data_object(d, key);
        ml_data_str(d, "file", at->file ? at->file : "<text>");
        ml_data_int(d, "line", at->line);
        ml_data_int(d, "column", at->col);
        ml_data_end(d);
    } else if (ml_failure_places(f, &first, 1) > 0)
        tell_program_place(d, key, &first);
}

static void tell_places(ml_Data *d, const char *key, const void *s)
{
    ml_Failure *f = ((const ml_ErrorRow *)s)->f;
    ml_FailurePlace v[MAX_PLACES];
    size_t n = ml_failure_places(f, v, ML_COUNT(v));

    ml_data_list(d, key);
    for (size_t k = ml_failure_place(f) ? 0 : 1; k < n; k++)
        tell_program_place(d, NULL, &v[k]);
    ml_data_end(d);
}

static void tell_names(ml_Data *d, const char *key, const void *s,
                       const char *(*name)(ml_Failure *f, size_t k))
{
    ml_Failure *f = ((const ml_ErrorRow *)s)->f;
    const char *z;

    ml_data_list(d, key);
    for (size_t k = 0; (z = name(f, k)) != NULL; k++)
        ml_data_str(d, NULL, z);
    ml_data_end(d);
}

static void tell_loops(ml_Data *d, const char *key, const void *s)
{
    tell_names(d, key, s, ml_failure_loop);
}

static void tell_blocks(ml_Data *d, const char *key, const void *s)
{
    tell_names(d, key, s, ml_failure_block);
}

static void tell_buffers(ml_Data *d, const char *key, const void *s)
{
    tell_names(d, key, s, ml_failure_buffer);
}

static void tell_notes(ml_Data *d, const char *key, const void *s)
{
    tell_names(d, key, s, ml_failure_note);
}

static void tell_numbers(ml_Data *d, const char *key, const void *s)
{
    ml_Failure *f = ((const ml_ErrorRow *)s)->f;
    const char *name;
    int64_t v;

    ml_data_object(d, key);
    for (size_t k = 0; ml_failure_number(f, k, &name, &v); k++) {
        const char *other;
        int64_t unused;
        bool again = false;

        for (size_t m = 0; name && m < k && ml_failure_number(f, m, &other, &unused); m++)
            again |= other && ml_streq(name, other);
        if (name && *name && !again) /* a key stands once in an object */
            ml_data_int(d, name, v);
    }
    ml_data_end(d);
}

/* Point p: a list of numbers, or an object from loops to their values. */
static void tell_point(ml_Data *d, const char *key, ml_Failure *f, size_t p, bool instance)
{
    const char *loop;
    int64_t at;

    if (instance)
        ml_data_object(d, key);
    else
        ml_data_list(d, key);
    for (size_t k = 0; ml_failure_coord(f, p, k, &loop, &at); k++)
        ml_data_int(d, loop, at);
    ml_data_end(d);
}

static void tell_element(ml_Data *d, const char *key, const void *s)
{
    ml_Failure *f = ((const ml_ErrorRow *)s)->f;
    const char *loop;
    int64_t at;

    for (size_t p = 0; ml_failure_coord(f, p, 0, &loop, &at); p++)
        if (!loop) {
            tell_point(d, key, f, p, false);
            return;
        }
}

static void tell_instances(ml_Data *d, const char *key, const void *s)
{
    ml_Failure *f = ((const ml_ErrorRow *)s)->f;
    const char *loop;
    int64_t at;

    ml_data_list(d, key);
    for (size_t p = 0; ml_failure_coord(f, p, 0, &loop, &at); p++)
        if (loop)
            tell_point(d, NULL, f, p, true);
    ml_data_end(d);
}

/* `  at     mm.lua:3 in tile`: what stands behind the word. */
static void tell_at(ml_Data *d, const char *key, const void *s)
{
    static const char HEAD[] = "  at     ";
    const char *at = ((const ml_ErrorRow *)s)->at;

    if (!at || !*at)
        return;
    ml_data_list(d, key);
    while (*at) {
        size_t n = strcspn(at, "\n");
        ml_Text line = {0};

        ml_text_addn(&line, at, n);
        const char *z = ml_text_z(&line);

        ml_data_str(d, NULL,
                    strncmp(z, HEAD, sizeof HEAD - 1) == 0 ? z + sizeof HEAD - 1 : z);
        ml_text_free(&line);
        at += n + (at[n] == '\n');
    }
    ml_data_end(d);
}

static void tell_suggestions(ml_Data *d, const char *key, const void *s)
{
    const ml_ErrorRow *r = s;
    const ml_Suggestion *v = NULL;
    size_t n = r->suggestions ? ml_failure_suggestions(r->f, &v) : 0;

    ml_data_list(d, key);
    for (size_t k = 0; k < n; k++) {
        ml_data_object(d, NULL);
        ml_data_str(d, "call", v[k].call);
        ml_data_str(d, "remark", v[k].remark);
        ml_data_end(d);
    }
    ml_data_end(d);
}

#define ML_FIELDS       "work/fact/error.def"
#define ML_FIELDS_TABLE ml_error_fields
#define ML_FIELDS_NAME  "error"
#define ML_FIELDS_WHAT  "what was refused, and why"
#include "moonloop/core/json/field_table.def"

#define ML_FIELDS       "work/fact/finding.def"
#define ML_FIELDS_TABLE ml_finding_fields
#define ML_FIELDS_NAME  "finding"
#define ML_FIELDS_WHAT  "what is wrong with a program"
#include "moonloop/core/json/field_table.def"

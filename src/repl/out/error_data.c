/* error_data - an error of the session as data. Source: interaction 2, 7. */
#include "repl/out/error_data.h"

enum { MAX_PLACES = 8 };

/* Where in a text that was read, else the first of the places in the program. */
static void add_place(ml_Data *d, ml_Failure *f)
{
    const ml_Span *at = ml_failure_place(f);
    ml_FailurePlace v[MAX_PLACES];
    size_t n = ml_failure_places(f, v, ML_COUNT(v));

    if (at) {
        ml_data_object(d, "place");
        ml_data_str(d, "file", at->file);
        ml_data_int(d, "line", at->line);
        ml_data_int(d, "column", at->col);
        ml_data_end(d);
    } else if (n == 0) {
        ml_data_json(d, "place", "null");
    }
    for (size_t k = 0; k < n; k++) {
        if (k == (at ? 0 : 1)) /* the first is "place", unless that is one of a text */
            ml_data_list(d, "places");
        ml_data_object(d, k == 0 && !at ? "place" : NULL);
        ml_data_int(d, "line", v[k].line);
        ml_data_int(d, "column", v[k].column);
        ml_data_int(d, "length", v[k].length);
        ml_data_str(d, "label", v[k].label);
        ml_data_end(d);
    }
    if (n > (at ? 0 : 1))
        ml_data_end(d);
}

static void add_names(ml_Data *d, ml_Failure *f, const char *key,
                      const char *(*name)(ml_Failure *f, size_t k))
{
    const char *z = name(f, 0);

    if (!z)
        return;
    ml_data_list(d, key);
    for (size_t k = 0; (z = name(f, k)) != NULL; k++)
        ml_data_str(d, NULL, z);
    ml_data_end(d);
}

static const char *note_of(ml_Failure *f, size_t k)
{
    return ml_failure_note(f, k);
}

static void add_numbers(ml_Data *d, ml_Failure *f)
{
    const char *name;
    int64_t v;
    bool any = false;

    for (size_t k = 0; ml_failure_number(f, k, &name, &v); k++) {
        bool again = false;
        const char *other;
        int64_t unused;

        for (size_t m = 0; m < k && ml_failure_number(f, m, &other, &unused); m++)
            again |= ml_streq(name, other);
        if (!*name || again) /* a key stands once in an object */
            continue;
        if (!any)
            ml_data_object(d, "numbers");
        any = true;
        ml_data_int(d, name, v);
    }
    if (any)
        ml_data_end(d);
}

/* "element": [1, 2], "instances": [{"i": 0}, {"i": 1}] */
static void add_points(ml_Data *d, ml_Failure *f, bool instances)
{
    const char *loop;
    int64_t at;
    bool any = false;

    for (size_t p = 0; ml_failure_coord(f, p, 0, &loop, &at); p++) {
        if ((loop != NULL) != instances || (any && !instances))
            continue;
        if (instances && !any)
            ml_data_list(d, "instances");
        any = true;
        if (instances)
            ml_data_object(d, NULL);
        else
            ml_data_list(d, "element");
        for (size_t k = 0; ml_failure_coord(f, p, k, &loop, &at); k++)
            ml_data_int(d, loop, at);
        ml_data_end(d);
    }
    if (any && instances)
        ml_data_end(d);
}

/* `  at     mm.lua:3 in tile`: what stands behind the word. */
static void add_frames(ml_Data *d, const char *at)
{
    static const char HEAD[] = "  at     ";

    if (!at || !*at)
        return;
    ml_data_list(d, "at");
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

void ml_error_data(ml_Data *d, ml_Failure *f, const char *at, bool suggestions)
{
    const ml_Suggestion *s = NULL;

    ml_data_row(d);
    ml_data_str(d, "error", ml_error_code(ml_failure_code(f)));
    if (ml_error_family(ml_failure_code(f)))
        ml_data_str(d, "family", ml_error_family(ml_failure_code(f)));
    ml_data_str(d, "primitive", ml_failure_primitive(f));
    ml_data_str(d, "message", ml_failure_message(f));
    add_place(d, f);
    add_names(d, f, "loops", ml_failure_loop);
    add_names(d, f, "blocks", ml_failure_block);
    add_names(d, f, "buffers", ml_failure_buffer);
    add_numbers(d, f);
    add_points(d, f, false);
    add_points(d, f, true);
    add_names(d, f, "notes", note_of);
    add_frames(d, at);
    ml_data_list(d, "suggestions");
    for (size_t k = 0, n = suggestions ? ml_failure_suggestions(f, &s) : 0; k < n; k++) {
        ml_data_object(d, NULL);
        ml_data_str(d, "call", s[k].call);
        ml_data_str(d, "remark", s[k].remark);
        ml_data_end(d);
    }
    ml_data_end(d);
}

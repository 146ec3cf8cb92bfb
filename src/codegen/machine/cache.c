/*
 * cache - measured figures in a file: {"machines": [...]}, the newest last.
 *
 * An entry counts on the processor, features, cores, threads and version it was made with.
 * The file is written beside itself and renamed, so that a reader sees one or the other. A
 * file that cannot be understood is as good as none. Source: interaction 2, 8.
 */
#include "moonloop/codegen/machine/machine.h"

#include "config.h"
#include "moonloop/core/base/arena.h"
#include "moonloop/core/base/file.h"
#include "moonloop/core/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 1 << 20, MOST_ENTRIES = 16 };

const char *ml_machine_path(ml_Ctx *cx)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && *cache == '/') /* others are to be ignored */
        return ml_format(cx, "%s/moonloop/machine.json", cache);
    if (home && *home)
        return ml_format(cx, "%s/.cache/moonloop/machine.json", home);
    return NULL;
}

/* ---------------------------------------------------------------- the list of figures */

typedef struct Figure {
    const char *name;
    double *v;
    int n;
    bool open; /* may be missing: measured when it is needed */
} Figure;
enum { FIGURES = 3 + ML_MACHINE_KINDS + ML_MACHINE_LEVELS * ML_TRAFFICS + ML_MATHS };

/* The same for reading and writing. */
static void figures_of(ml_Ctx *cx, ml_Machine *m, Figure *to)
{
    *to++ = (Figure){"clock", &m->clock_measured, 1, false};
    *to++ = (Figure){"call", &m->call, 1, false};
    *to++ = (Figure){"fork-join", &m->fork_join, 1, false};
    for (int k = 0; k < ML_MACHINE_KINDS; k++)
        *to++ = (Figure){ml_format(cx, "peak-%s", ml_machine_kind_name((ml_MachineKind)k)),
                         m->peak[k], 2, false};
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        for (int t = 0; t < ML_TRAFFICS; t++)
            *to++ =
                (Figure){ml_format(cx, "%s-%s", ml_machine_level_name((ml_MachineLevel)l),
                                   ml_traffic_name((ml_Traffic)t)),
                         m->bandwidth[l][t], 2, false};
    for (int k = 0; k < ML_MATHS; k++)
        *to++ = (Figure){ml_format(cx, "rate-%s", ml_math_name((ml_Math)k)), m->math[k],
                         ML_MATH_TYPES, true};
}

/* ---------------------------------------------------------------- reading */

static const ml_Json *read_file(ml_Ctx *cx, const char *path)
{
    FILE *f = fopen(path, "r");
    const ml_Json *j;
    ml_JsonError where;
    char *text;
    size_t n;

    if (f == NULL)
        return NULL;
    text = ml_heap_zalloc(MOST_BYTES + 1);
    n = fread(text, 1, MOST_BYTES + 1, f);
    fclose(f);
    j = n <= MOST_BYTES ? ml_json_read(cx, (ml_Str){text, n}, &where) : NULL;
    ml_heap_free(text);
    if (j == NULL || j->kind != ML_JSON_OBJECT)
        return NULL;
    j = ml_json_get(j, "machines");
    return j && j->kind == ML_JSON_LIST ? j : NULL;
}

static bool text_is(const ml_Json *entry, const char *key, const char *value)
{
    const ml_Json *j = ml_json_get(entry, key);

    return j && j->kind == ML_JSON_STRING && ml_streq(j->as.s, value);
}

static bool int_is(const ml_Json *entry, const char *key, int64_t value)
{
    const ml_Json *j = ml_json_get(entry, key);

    return j && j->kind == ML_JSON_INT && j->as.i == value;
}

static bool is_of(const ml_Json *entry, const ml_Machine *m)
{
    return entry->kind == ML_JSON_OBJECT && text_is(entry, "cpu", m->cpu) &&
           text_is(entry, "features", m->target.features) &&
           int_is(entry, "cores", m->target.cores) &&
           int_is(entry, "threads", m->threads) && text_is(entry, "moonloop", ML_VERSION);
}

/* A positive number, or null for what was not measured. */
static bool read_number(const ml_Json *j, double *to)
{
    double v;

    if (j->kind == ML_JSON_NULL) {
        *to = (double)NAN;
        return true;
    }
    if (j->kind != ML_JSON_FLOAT && j->kind != ML_JSON_INT)
        return false;
    v = j->kind == ML_JSON_INT ? (double)j->as.i : j->as.f;
    *to = v;
    return v >= 0 && !isinf(v);
}

static bool read_entry(ml_Ctx *cx, const ml_Json *entry, ml_Machine *m)
{
    const ml_Json *full = ml_json_get(entry, "full");
    Figure figures[FIGURES];

    if (full == NULL || full->kind != ML_JSON_BOOL)
        return false;
    m->full = full->as.b;
    figures_of(cx, m, figures);
    for (int k = 0; k < FIGURES; k++) {
        const ml_Json *j = ml_json_get(entry, figures[k].name);

        if (j == NULL && figures[k].open)
            continue;
        if (j == NULL)
            return false;
        if (figures[k].n == 1) {
            if (!read_number(j, figures[k].v))
                return false;
            continue;
        }
        if (j->kind != ML_JSON_LIST || j->n != 2 ||
            !read_number(&j->as.list[0], &figures[k].v[0]) ||
            !read_number(&j->as.list[1], &figures[k].v[1]))
            return false;
    }
    return m->peak[ML_MACHINE_F32][0] > 0 && m->peak[ML_MACHINE_F32][1] > 0;
}

bool ml_machine_load(ml_Ctx *cx, const char *path, ml_Machine *m)
{
    const ml_Json *list = read_file(cx, path);

    for (uint32_t k = list ? list->n : 0; k-- > 0;) {
        ml_Machine found = *m;

        if (!is_of(&list->as.list[k], m))
            continue;
        if (!read_entry(cx, &list->as.list[k], &found))
            return false;
        *m = found;
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------- writing */

static void write_entry(ml_Ctx *cx, ml_Text *out, const ml_Machine *m)
{
    ml_Machine copy = *m;
    Figure figures[FIGURES];

    ml_text_add(out, "{\"cpu\": ");
    ml_json_string(out, m->cpu);
    ml_text_add(out, ", \"features\": ");
    ml_json_string(out, m->target.features);
    ml_text_fmt(out, ", \"cores\": %u, \"threads\": %u, \"moonloop\": ", m->target.cores,
                m->threads);
    ml_json_string(out, ML_VERSION);
    ml_text_fmt(out, ", \"full\": %s", m->full ? "true" : "false");
    figures_of(cx, &copy, figures);
    for (int k = 0; k < FIGURES; k++) {
        if (figures[k].open && isnan(figures[k].v[0]) && isnan(figures[k].v[1]))
            continue;
        ml_text_fmt(out, ", \"%s\": %s", figures[k].name, figures[k].n > 1 ? "[" : "");
        ml_json_real(out, figures[k].v[0]);
        if (figures[k].n > 1) {
            ml_text_add(out, ", ");
            ml_json_real(out, figures[k].v[1]);
            ml_text_char(out, ']');
        }
    }
    ml_text_char(out, '}');
}

bool ml_machine_store(ml_Ctx *cx, const char *path, const ml_Machine *m)
{
    const ml_Json *list = read_file(cx, path);
    uint32_t n = list ? list->n : 0;
    ml_Text t = {0};
    bool ok;

    ml_text_add(&t, "{\"machines\": [\n");
    for (uint32_t k = n > MOST_ENTRIES - 1 ? n - (MOST_ENTRIES - 1) : 0; k < n; k++) {
        if (is_of(&list->as.list[k], m))
            continue;
        ml_json_value(&t, ml_json_to_value(cx, &list->as.list[k]));
        ml_text_add(&t, ",\n");
    }
    write_entry(cx, &t, m);
    ml_text_add(&t, "\n]}\n");
    ok = !t.bad && ml_file_folders(ml_strdup(cx, ml_str(path))) == 0 &&
         ml_file_write_own(path, t.p, t.n);
    ml_text_free(&t);
    return ok;
}

/*
 * trace_json - traces and saved schedules as JSON.
 *
 * A tuning record of TVM is read for its trace, a file of such records for the fastest.
 * Source: primitives 12.3.
 */
#include "moonloop/primitives/trace/trace_value.h"

#include "moonloop/core/json/json.h"

#include <math.h>

/* ---- writing */

/* A string among the inputs carries its quotes, to tell it from names and expressions. */
static void add_string(ml_Text *out, const char *z)
{
    ml_Text inner = {0};

    ml_json_string(&inner, z);
    ml_json_string(out, ml_text_z(&inner));
    out->bad |= inner.bad;
    ml_text_free(&inner);
}

static void add_real(ml_Text *out, double v)
{
    if (isnan(v))
        ml_text_add(out, "\"nan\"");
    else
        ml_json_real(out, v);
}

/* As TVM has it; with parts that it has not, as text. */
static void add_map(const ml_TraceWriter *w, ml_Text *out, const ml_IndexMap *m)
{
    ml_Text text = {0};

    ml_print_value(w->cx, &text, ml_val_map(w->cx, m), NULL);
    if (strstr(ml_text_z(&text), "SEPARATOR") || !ml_trace_map_nodes(out, m))
        ml_text_add(out, ml_text_z(&text));
    out->bad |= text.bad;
    ml_text_free(&text);
}

static const ml_Notation notation = {
    .no = "false",
    .yes = "true",
    .none = "\"None\"",
    .object = "null",
    .list = "[]",
    .dict = "{}",
    .integer = ml_text_int,
    .real = add_real,
    .string = add_string,
    .key = ml_json_key,
};

static const ml_TraceForm form = {
    .notation = &notation, .word = ml_json_string, .map = add_map};

static void write_inst(const ml_TraceWriter *w, const ml_Inst *in)
{
    ml_text_char(w->out, '[');
    ml_json_string(w->out, in->prim->kind);
    ml_text_add(w->out, ", [");
    ml_write_inputs(w, in->inputs, in->n_inputs);
    ml_text_add(w->out, "], [");
    for (uint32_t k = 0; k < in->n_attrs; k++) {
        if (k)
            ml_text_add(w->out, ", ");
        if (in->attrs[k].kind == ML_TV_VALUE)
            ml_json_value(w->out, in->attrs[k].value);
        else if (in->attrs[k].kind == ML_TV_MAP)
            ml_write_input(w, &in->attrs[k]);
        else
            ml_text_add(w->out, "null");
    }
    ml_text_add(w->out, "], [");
    ml_write_outputs(w, in);
    ml_text_add(w->out, "]]");
}

/* [[instructions], [decisions]] of those from `first` on. */
void ml_trace_json_part(ml_Text *out, const ml_Trace *t, size_t first, const char *between)
{
    ml_TraceWriter w = ml_trace_writer(out, t, &form);
    size_t n = 0;

    ml_text_add(out, "[[");
    for (size_t k = first; k < t->n; k++) {
        ml_text_add(out, k > first ? "," : "");
        ml_text_add(out, between);
        write_inst(&w, t->insts[k]);
    }
    ml_text_add(out, "], [");
    for (size_t k = first; k < t->n; k++) {
        if (!t->insts[k]->decision)
            continue;
        ml_text_fmt(out, "%s[%zu, ", n++ ? ", " : "", k - first);
        ml_json_value(out, t->insts[k]->decision);
        ml_text_char(out, ']');
    }
    ml_text_add(out, "]]");
    ml_trace_writer_end(&w);
}

void ml_trace_json(ml_Ctx *cx, ml_Text *out, const ml_Trace *t)
{
    (void)cx;
    ml_trace_json_part(out, t, 0, "\n  ");
}

void ml_saved_write(ml_Schedule *s, ml_Text *out)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text program = {0};
    ml_Trace t = ml_schedule_trace(s, tmp);
    const ml_Func *f = ml_schedule_func(s);

    ml_print_start(tmp, &program, s->v[0].p.mod);
    ml_text_add(out, "{\"moonloop\": 1,\n\"program\": ");
    ml_json_string(out, ml_text_z(&program));
    ml_text_add(out, ",\n\"func\": ");
    if (f)
        ml_json_string(out, f->name);
    else
        ml_text_add(out, "null");
    ml_text_add(out, ",\n\"target\": ");
    if (s->opts.target)
        ml_json_value(out, s->opts.target);
    else
        ml_text_add(out, "null");
    if (s->opts.no_check)
        ml_text_add(out, ",\n\"check\": false");
    if (s->opts.unchecked)
        ml_text_add(out, ",\n\"unchecked\": true");
    ml_text_add(out, ",\n\"trace\": ");
    ml_trace_json(tmp, out, &t);
    ml_text_fmt(out, ",\n\"hash\": \"%016llx\"}\n",
                (unsigned long long)ml_schedule_hash(s));
    ml_text_free(&program);
    ml_ctx_unref(tmp);
}

/* ---- reading */

static bool read_trace(ml_Ctx *cx, const ml_Json *j, ml_Trace *out)
{
    ml_TraceReader r = {.cx = cx};

    return ml_trace_read(&r, j, out);
}

static const ml_Json *read_json(ml_Ctx *cx, ml_Str json)
{
    ml_JsonError e;
    const ml_Json *j = ml_json_read(cx, json, &e);

    if (!j)
        ml_bad_json(cx, &(ml_Json){.line = e.line, .col = e.col}, e.what);
    return j;
}

/* ---- records: [trace, run_secs, target, args_info], in a database behind the number of
 * their workload */

static bool looks_like_trace(const ml_Json *j)
{
    const ml_Json *list = j->as.list;

    if (j->kind != ML_JSON_LIST || j->n != 2 || list[0].kind != ML_JSON_LIST ||
        list[1].kind != ML_JSON_LIST)
        return false;
    return list[0].n == 0 ||
           (list[0].as.list[0].kind == ML_JSON_LIST && list[0].as.list[0].n > 0 &&
            list[0].as.list[0].as.list[0].kind == ML_JSON_STRING);
}

/* The record's list, or NULL. */
static const ml_Json *record_of(const ml_Json *j)
{
    if (j->kind == ML_JSON_LIST && j->n == 2 && j->as.list[0].kind == ML_JSON_INT)
        j = &j->as.list[1];
    return j->kind == ML_JSON_LIST && j->n > 1 && looks_like_trace(&j->as.list[0]) ? j
                                                                                   : NULL;
}

/* Of its runs on average; infinite when it was not run. */
static double seconds_of(const ml_Json *record)
{
    const ml_Json *runs = &record->as.list[1];
    double sum = 0;

    if (runs->kind != ML_JSON_LIST || runs->n == 0)
        return (double)INFINITY;
    for (uint32_t k = 0; k < runs->n; k++) {
        const ml_Json *one = &runs->as.list[k];

        if (one->kind == ML_JSON_INT)
            sum += (double)one->as.i;
        else if (one->kind == ML_JSON_FLOAT)
            sum += one->as.f;
        else
            return (double)INFINITY;
    }
    return sum / runs->n;
}

/* The fastest of a file with one record in each line; NULL: it is none (no error is set).
 */
static const ml_Json *fastest_line(ml_Ctx *cx, ml_Str text)
{
    const ml_Json *best = NULL;

    for (size_t at = 0, n; at < text.n; at += n + 1) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        ml_JsonError e;

        n = end ? (size_t)(end - text.p) - at : text.n - at;
        if (strspn(text.p + at, " \t\r") >= n)
            continue;
        const ml_Json *j = ml_json_read(cx, (ml_Str){text.p + at, n}, &e);
        const ml_Json *record = j ? record_of(j) : NULL;

        if (!record)
            return NULL;
        if (!best || seconds_of(record) < seconds_of(best))
            best = record;
    }
    return best;
}

static bool is_flag(const ml_Json *j, const char *key, bool value)
{
    const ml_Json *f = ml_json_get(j, key);

    return f && f->kind == ML_JSON_BOOL && f->as.b == value;
}

bool ml_saved_read(ml_Ctx *cx, ml_Str json, ml_Saved *out)
{
    const ml_Json *best = memchr(json.p, '\n', json.n) ? fastest_line(cx, json) : NULL;
    const ml_Json *j = best ? best : read_json(cx, json);
    const ml_Json *version, *target, *trace;

    *out = (ml_Saved){0};
    if (!j)
        return false;
    if (j->kind == ML_JSON_LIST) {
        const ml_Json *record = record_of(j);

        return read_trace(cx, record ? &record->as.list[0] : j, &out->trace);
    }
    version = ml_json_get(j, "moonloop");
    if (!version || version->kind != ML_JSON_INT)
        return ml_bad_json(cx, j,
                           "this is no saved schedule: the field moonloop is missing");
    if (version->as.i != 1)
        return ml_bad_json(cx, version, "the file was written by a later version");
    trace = ml_json_get(j, "trace");
    if (!trace)
        return ml_bad_json(cx, j, "the field trace is missing");
    out->program = ml_json_text(ml_json_get(j, "program"));
    out->func = ml_json_text(ml_json_get(j, "func"));
    out->hash = ml_json_text(ml_json_get(j, "hash"));
    out->no_check = is_flag(j, "check", false);
    out->unchecked = is_flag(j, "unchecked", true);
    target = ml_json_get(j, "target");
    if (target && target->kind != ML_JSON_NULL) {
        ml_Text t = {0};

        ml_json_value(&t, ml_json_to_value(cx, target));
        out->target = ml_strdup(cx, (ml_Str){ml_text_z(&t), t.n});
        ml_text_free(&t);
    }
    return read_trace(cx, trace, &out->trace);
}

bool ml_trace_from_json(ml_Ctx *cx, ml_Str json, ml_Trace *out)
{
    ml_Saved saved;

    if (!ml_saved_read(cx, json, &saved))
        return false;
    *out = saved.trace;
    return true;
}

/*
 * trace_json - traces and saved schedules as JSON.
 *
 * Reading checks everything: shapes, kinds, counts, names defined before they are used,
 * decisions in range and once each. A tuning record of TVM is read for its trace, a file of
 * such records for the fastest. Source: primitives 12.3.
 */
#include "primitives/trace_value.h"

#include "core/json.h"

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

void ml_trace_json(ml_Ctx *cx, ml_Text *out, const ml_Trace *t)
{
    ml_TraceWriter w = ml_trace_writer(out, t, &form);
    size_t n = 0;

    (void)cx;
    ml_text_add(out, "[[");
    for (size_t k = 0; k < t->n; k++) {
        ml_text_add(out, k ? ",\n  " : "\n  ");
        write_inst(&w, t->insts[k]);
    }
    ml_text_add(out, "], [");
    for (size_t k = 0; k < t->n; k++) {
        if (!t->insts[k]->decision)
            continue;
        ml_text_fmt(out, "%s[%zu, ", n++ ? ", " : "", k);
        ml_json_value(out, t->insts[k]->decision);
        ml_text_char(out, ']');
    }
    ml_text_add(out, "]]");
    ml_trace_writer_end(&w);
}

void ml_saved_write(ml_Schedule *s, ml_Text *out)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text program = {0};
    ml_Trace t = ml_schedule_trace(s, tmp);
    const ml_Func *f = ml_schedule_func(s);

    ml_print_module(tmp, &program, s->v[0].p.mod, NULL);
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
    ml_text_add(out, ",\n\"trace\": ");
    ml_trace_json(tmp, out, &t);
    ml_text_fmt(out, ",\n\"hash\": \"%016llx\"}\n",
                (unsigned long long)ml_schedule_hash(s));
    ml_text_free(&program);
    ml_ctx_unref(tmp);
}

/* ---- reading */

typedef struct Reader {
    ml_Ctx *cx;
    ML_VEC(const char *) names;     /* by number */
    ML_VEC(const ml_Var *) symbols; /* by number; NULL for loops and blocks */
} Reader;

static bool bad_at(ml_Ctx *cx, const ml_Json *j, const char *what)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "line %u, column %u: %s", j->line, j->col, what);
    ml_fail(cx, ML_E_BAD_TRACE, ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}

static bool is_name(const char *z)
{
    if (!((*z >= 'a' && *z <= 'z') || (*z >= 'A' && *z <= 'Z') || *z == '_'))
        return false;
    for (; *z; z++)
        if (!((*z >= 'a' && *z <= 'z') || (*z >= 'A' && *z <= 'Z') || *z == '_' ||
              (*z >= '0' && *z <= '9')))
            return false;
    return true;
}

/* The newest variable of that name: a trace may use one again. */
static bool find_name(const Reader *r, const char *z, uint32_t *num)
{
    for (size_t k = r->names.n; k-- > 0;)
        if (ml_streq(r->names.v[k], z)) {
            *num = (uint32_t)k;
            return true;
        }
    return false;
}

static bool read_expr(Reader *r, const ml_Json *j, ml_TV *out)
{
    ML_VEC(ml_ParseName) names = {0};
    ml_Parsed diags = {0};

    for (size_t k = 0; k < r->names.n; k++)
        if (r->symbols.v[k]) {
            ml_ParseName one = {.name = r->names.v[k],
                                .expr = ml_var(r->cx, r->symbols.v[k])};

            ml_push(r->cx, &names, one);
        }
    const ml_Expr *e =
        ml_parse_expr(r->cx, (ml_Str){j->as.s, j->n}, names.v, names.n, &diags);

    if (!e) {
        ml_error_clear(r->cx);
        return bad_at(r->cx, j,
                      "this is neither a name defined before nor an expression of such");
    }
    *out = (ml_TV){.kind = ML_TV_EXPR, .expr = e};
    return true;
}

static bool read_input(Reader *r, const ml_Json *j, ml_TV *out);

/* Text in quotes inside the string. */
static bool read_inner(Reader *r, const ml_Json *j, ml_TV *out)
{
    ml_JsonError e;
    const ml_Json *inner = ml_json_read(r->cx, (ml_Str){j->as.s, j->n}, &e);

    if (!inner || inner->kind != ML_JSON_STRING)
        return bad_at(r->cx, j, "the quoted text inside the string is wrong");
    *out = (ml_TV){.kind = ML_TV_VALUE,
                   .value = ml_val_string(r->cx, (ml_Str){inner->as.s, inner->n})};
    return true;
}

static bool read_map(Reader *r, const ml_Json *j, ml_TV *out)
{
    ml_Parsed diags = {0};
    const char *z = *j->as.s == '{' ? ml_trace_node_map(r->cx, j->as.s) : j->as.s;

    *out =
        (ml_TV){.kind = ML_TV_MAP,
                .map = z ? ml_parse_index_map(r->cx, ml_str(z), ML_DT_I32, &diags) : NULL};
    if (out->map)
        return true;
    ml_error_clear(r->cx);
    return bad_at(r->cx, j, "this is no index map");
}

static bool read_text(Reader *r, const ml_Json *j, ml_TV *out)
{
    const char *z = j->as.s;

    if (strlen(z) != j->n)
        return bad_at(r->cx, j, "a NUL character");
    if (*z == '"')
        return read_inner(r, j, out);
    *out = (ml_TV){.kind = ML_TV_NONE};
    if (ml_streq(z, "None"))
        return true;
    if (ml_streq(z, "nan")) {
        *out = (ml_TV){.kind = ML_TV_VALUE, .value = ml_val_float(r->cx, (double)NAN)};
        return true;
    }
    if (strncmp(z, "T.index_map(", 12) == 0 || *z == '{')
        return read_map(r, j, out);
    if (is_name(z)) {
        out->kind = ML_TV_VAR;
        return find_name(r, z, &out->var) ||
               bad_at(r->cx, j, "no earlier instruction defines this name");
    }
    return read_expr(r, j, out);
}

static bool read_dict(Reader *r, const ml_Json *j, ml_TV *out)
{
    const ml_Value **list = ML_ARRAY(r->cx, const ml_Value *, j->n + 1);

    for (uint32_t k = 0; k < j->n; k++) {
        ml_TV one;

        if (!read_input(r, &j->as.list[k], &one))
            return false;
        if (one.kind == ML_TV_LIST) { /* of constants */
            const ml_Value **items = ML_ARRAY(r->cx, const ml_Value *, one.n + 1);

            for (uint32_t m = 0; m < one.n; m++) {
                if (one.list[m].kind != ML_TV_VALUE)
                    return bad_at(r->cx, j, "a map holds constants");
                items[m] = one.list[m].value;
            }
            one = (ml_TV){.kind = ML_TV_VALUE, .value = ml_val_list(r->cx, items, one.n)};
        }
        if (one.kind != ML_TV_VALUE)
            return bad_at(r->cx, &j->as.list[k], "a map holds constants");
        list[k] = one.value;
    }
    *out = (ml_TV){.kind = ML_TV_VALUE, .value = ml_val_dict(r->cx, j->keys, list, j->n)};
    return true;
}

static bool read_input(Reader *r, const ml_Json *j, ml_TV *out)
{
    switch ((ml_JsonKind)j->kind) {
    case ML_JSON_STRING: return read_text(r, j, out);
    case ML_JSON_LIST: {
        ml_TV *list = ML_ARRAY(r->cx, ml_TV, j->n + 1);

        for (uint32_t k = 0; k < j->n; k++)
            if (!read_input(r, &j->as.list[k], &list[k]))
                return false;
        *out = (ml_TV){.kind = ML_TV_LIST, .n = j->n, .list = list};
        return true;
    }
    case ML_JSON_OBJECT: return read_dict(r, j, out);
    case ML_JSON_NULL: *out = (ml_TV){.kind = ML_TV_NONE}; return true;
    case ML_JSON_BOOL:
    case ML_JSON_INT:
    case ML_JSON_FLOAT:
        *out = (ml_TV){.kind = ML_TV_VALUE, .value = ml_json_to_value(r->cx, j)};
        return true;
    }
    return bad_at(r->cx, j, "a value is expected");
}

static uint8_t result_kind(const ml_Primitive *prim)
{
    switch ((ml_ResultKind)prim->result) {
    case ML_R_LOOP:
    case ML_R_LOOPS: return ML_H_LOOP;
    case ML_R_BLOCK:
    case ML_R_BLOCKS: return ML_H_BLOCK;
    case ML_R_EXPR:
    case ML_R_EXPRS: return ML_H_EXPR;
    case ML_R_NONE: break;
    }
    return ML_H_NONE;
}

static bool read_outputs(Reader *r, const ml_Json *j, ml_Inst *in)
{
    ml_TVar *out = ML_ARRAY(r->cx, ml_TVar, j->n + 1);
    uint8_t kind = result_kind(in->prim);

    if (j->n > 0 && kind == ML_H_NONE)
        return bad_at(r->cx, j, "this kind has no outputs");
    if (j->n != 1 && !ml_returns_list(in->prim) && kind != ML_H_NONE)
        return bad_at(r->cx, j, "this kind has one output");
    for (uint32_t k = 0; k < j->n; k++) {
        const ml_Json *one = &j->as.list[k];

        if (one->kind != ML_JSON_STRING ||
            (!is_name(one->as.s) && !ml_streq(one->as.s, "None")))
            return bad_at(r->cx, one, "the name of an output is expected");
        if (ml_streq(one->as.s, "_") || ml_streq(one->as.s, "None"))
            continue;
        const ml_Var *v =
            kind == ML_H_EXPR ? ml_var_new(r->cx, one->as.s, ML_DT_I32) : NULL;

        out[k] =
            (ml_TVar){.kind = kind, .num = (uint32_t)r->names.n, .uid = v ? v->uid : 0};
        ml_push(r->cx, &r->names, one->as.s);
        ml_push(r->cx, &r->symbols, v);
    }
    in->n_outputs = j->n;
    in->outputs = out;
    return true;
}

static bool read_counts(Reader *r, const ml_Json *j, const ml_Inst *in)
{
    ml_TVArg args[ML_MAX_PARAMS];

    if (!ml_inst_args(in, args))
        return bad_at(r->cx, j,
                      "the number of inputs or attributes does not fit this kind");
    for (size_t k = 0; k < in->prim->n_params; k++) {
        const ml_Param *pa = &in->prim->params[k];
        bool may_miss = pa->attr || pa->optional || pa->input_if_given ||
                        pa->kind == ML_P_DECISION || pa->kind == ML_P_LOOPS;

        if (args[k].n == 0 && !may_miss)
            return bad_at(r->cx, j, "the number of inputs does not fit this kind");
    }
    return true;
}

/* Strings among the attrs of a primitive may be index maps. */
static bool takes_maps(const ml_Primitive *prim)
{
    for (size_t k = 0; k < prim->n_params; k++)
        if (prim->params[k].attr &&
            (prim->params[k].kind == ML_P_MAP || prim->params[k].kind == ML_P_PAD))
            return true;
    return false;
}

static bool is_map_text(const ml_Json *j)
{
    return j->kind == ML_JSON_STRING && strlen(j->as.s) == j->n &&
           (strncmp(j->as.s, "T.index_map(", 12) == 0 || *j->as.s == '{');
}

static bool read_inst(Reader *r, const ml_Json *j, const ml_Inst **out)
{
    ml_Inst *in = ML_NEW(r->cx, ml_Inst);

    if (j->kind != ML_JSON_LIST || j->n != 4 || j->as.list[0].kind != ML_JSON_STRING)
        return bad_at(r->cx, j, "an instruction is [kind, inputs, attrs, outputs]");
    const ml_Json *part = j->as.list;

    for (int k = 1; k < 4; k++)
        if (part[k].kind != ML_JSON_LIST)
            return bad_at(r->cx, &part[k], "a list is expected");
    in->prim = ml_primitive_of_kind(part[0].as.s);
    if (!in->prim) {
        ml_fail(r->cx, ML_E_NO_SUCH_INSTRUCTION, ML_TEXT(part[0].as.s));
        ml_error_note(r->cx, "at line %u, column %u", part[0].line, part[0].col);
        return false;
    }
    ml_TV *inputs = ML_ARRAY(r->cx, ml_TV, part[1].n + 1);
    ml_TV *attrs = ML_ARRAY(r->cx, ml_TV, part[2].n + 1);

    for (uint32_t k = 0; k < part[1].n; k++)
        if (!read_input(r, &part[1].as.list[k], &inputs[k]))
            return false;
    for (uint32_t k = 0; k < part[2].n; k++) {
        const ml_Json *a = &part[2].as.list[k];

        if (is_map_text(a) && takes_maps(in->prim)) {
            if (!read_map(r, a, &attrs[k]))
                return false;
        } else if (a->kind != ML_JSON_NULL)
            attrs[k] = (ml_TV){.kind = ML_TV_VALUE, .value = ml_json_to_value(r->cx, a)};
    }
    in->n_inputs = part[1].n;
    in->inputs = inputs;
    in->n_attrs = part[2].n;
    in->attrs = attrs;
    *out = in;
    return read_counts(r, j, in) && read_outputs(r, &part[3], in);
}

static bool read_decision(ml_Ctx *cx, const ml_Json *j, const ml_Inst **insts, size_t n)
{
    if (j->kind != ML_JSON_LIST || j->n != 2 || j->as.list[0].kind != ML_JSON_INT)
        return bad_at(cx, j, "a decision is [index of the instruction, value]");
    int64_t at = j->as.list[0].as.i;

    if (at < 0 || (uint64_t)at >= n)
        return bad_at(cx, j, "there is no instruction of this index");
    if (!insts[at]->prim->has_decision)
        return bad_at(cx, j, "this instruction has no decision");
    if (insts[at]->decision)
        return bad_at(cx, j, "a second decision for one instruction");
    ml_Inst *in = ML_NEW(cx, ml_Inst);

    *in = *insts[at];
    in->decision = ml_json_to_value(cx, &j->as.list[1]);
    if (in->decision->kind != ML_VAL_INT && in->decision->kind != ML_VAL_LIST)
        return bad_at(cx, &j->as.list[1], "a decision is an integer or a list of such");
    insts[at] = in;
    return true;
}

static bool read_trace(ml_Ctx *cx, const ml_Json *j, ml_Trace *out)
{
    Reader r = {.cx = cx};

    if (j->kind != ML_JSON_LIST || j->n != 2 || j->as.list[0].kind != ML_JSON_LIST ||
        j->as.list[1].kind != ML_JSON_LIST)
        return bad_at(cx, j, "a trace is [instructions, decisions]");
    const ml_Json *list = &j->as.list[0], *decisions = &j->as.list[1];
    const ml_Inst **insts = ML_ARRAY(cx, const ml_Inst *, list->n + 1);

    for (uint32_t k = 0; k < list->n; k++)
        if (!read_inst(&r, &list->as.list[k], &insts[k]))
            return false;
    for (uint32_t k = 0; k < decisions->n; k++)
        if (!read_decision(cx, &decisions->as.list[k], insts, list->n))
            return false;
    *out = (ml_Trace){list->n, insts};
    return ml_ok_or_fail(cx);
}

static const ml_Json *read_json(ml_Ctx *cx, ml_Str json)
{
    ml_JsonError e;
    const ml_Json *j = ml_json_read(cx, json, &e);

    if (!j)
        bad_at(cx, &(ml_Json){.line = e.line, .col = e.col}, e.what);
    return j;
}

static const char *text_field(const ml_Json *j, const char *key)
{
    const ml_Json *f = ml_json_get(j, key);

    return f && f->kind == ML_JSON_STRING && strlen(f->as.s) == f->n ? f->as.s : NULL;
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
        return bad_at(cx, j, "this is no saved schedule: the field moonloop is missing");
    if (version->as.i != 1)
        return bad_at(cx, version, "the file was written by a later version");
    trace = ml_json_get(j, "trace");
    if (!trace)
        return bad_at(cx, j, "the field trace is missing");
    out->program = text_field(j, "program");
    out->func = text_field(j, "func");
    out->hash = text_field(j, "hash");
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

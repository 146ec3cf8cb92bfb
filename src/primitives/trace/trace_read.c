/*
 * trace_read - the instructions of a trace out of JSON.
 *
 * Reading checks everything: shapes, kinds, counts, names defined before they are used,
 * decisions in range and once each. A reader may be given one list after the other: the
 * later ones use what the earlier ones define. Source: primitives 12.3.
 */
#include "moonloop/primitives/trace/trace_value.h"

#include <math.h>

#include "moonloop/primitives/tokens.h"

bool ml_bad_json(ml_Ctx *cx, const ml_Json *j, const char *what)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "line %u, column %u: %s", j->line, j->col, what);
    ml_fail(cx, ML_E_BAD_TRACE, ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}

/* The newest variable of that name: a trace may use one again. */
static bool find_name(const ml_TraceReader *r, const char *z, uint32_t *num)
{
    for (size_t k = r->names.n; k-- > 0;)
        if (ml_streq(r->names.v[k], z)) {
            *num = (uint32_t)k;
            return true;
        }
    return false;
}

static bool read_expr(ml_TraceReader *r, const ml_Json *j, ml_TV *out)
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
        return ml_bad_json(
            r->cx, j, "this is neither a name defined before nor an expression of such");
    }
    *out = (ml_TV){.kind = ML_TV_EXPR, .expr = e};
    return true;
}

static bool read_input(ml_TraceReader *r, const ml_Json *j, ml_TV *out);

/* Text in quotes inside the string. */
static bool read_inner(ml_TraceReader *r, const ml_Json *j, ml_TV *out)
{
    ml_JsonError e;
    const ml_Json *inner = ml_json_read(r->cx, (ml_Str){j->as.s, j->n}, &e);

    if (!inner || inner->kind != ML_JSON_STRING)
        return ml_bad_json(r->cx, j, "the quoted text inside the string is wrong");
    *out = (ml_TV){.kind = ML_TV_VALUE,
                   .value = ml_val_string(r->cx, (ml_Str){inner->as.s, inner->n})};
    return true;
}

static bool read_map(ml_TraceReader *r, const ml_Json *j, ml_TV *out)
{
    ml_Parsed diags = {0};
    const char *z = *j->as.s == '{' ? ml_trace_node_map(r->cx, j->as.s) : j->as.s;

    *out =
        (ml_TV){.kind = ML_TV_MAP,
                .map = z ? ml_parse_index_map(r->cx, ml_str(z), ML_DT_I32, &diags) : NULL};
    if (out->map)
        return true;
    ml_error_clear(r->cx);
    return ml_bad_json(r->cx, j, "this is no index map");
}

static bool read_text(ml_TraceReader *r, const ml_Json *j, ml_TV *out)
{
    const char *z = j->as.s;

    if (strlen(z) != j->n)
        return ml_bad_json(r->cx, j, "a NUL character");
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
    if (ml_is_name(z)) {
        out->kind = ML_TV_VAR;
        return find_name(r, z, &out->var) ||
               ml_bad_json(r->cx, j, "no earlier instruction defines this name");
    }
    return read_expr(r, j, out);
}

static bool read_dict(ml_TraceReader *r, const ml_Json *j, ml_TV *out)
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
                    return ml_bad_json(r->cx, j, "a map holds constants");
                items[m] = one.list[m].value;
            }
            one = (ml_TV){.kind = ML_TV_VALUE, .value = ml_val_list(r->cx, items, one.n)};
        }
        if (one.kind != ML_TV_VALUE)
            return ml_bad_json(r->cx, &j->as.list[k], "a map holds constants");
        list[k] = one.value;
    }
    *out = (ml_TV){.kind = ML_TV_VALUE, .value = ml_val_dict(r->cx, j->keys, list, j->n)};
    return true;
}

static bool read_input(ml_TraceReader *r, const ml_Json *j, ml_TV *out)
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
    return ml_bad_json(r->cx, j, "a value is expected");
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

static bool read_outputs(ml_TraceReader *r, const ml_Json *j, ml_Inst *in)
{
    ml_TVar *out = ML_ARRAY(r->cx, ml_TVar, j->n + 1);
    uint8_t kind = result_kind(in->prim);

    if (j->n > 0 && kind == ML_H_NONE)
        return ml_bad_json(r->cx, j, "this kind has no outputs");
    if (j->n != 1 && !ml_returns_list(in->prim) && kind != ML_H_NONE)
        return ml_bad_json(r->cx, j, "this kind has one output");
    for (uint32_t k = 0; k < j->n; k++) {
        const ml_Json *one = &j->as.list[k];

        if (one->kind != ML_JSON_STRING ||
            (!ml_is_name(one->as.s) && !ml_streq(one->as.s, "None")))
            return ml_bad_json(r->cx, one, "the name of an output is expected");
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

static bool read_counts(ml_TraceReader *r, const ml_Json *j, const ml_Inst *in)
{
    ml_TVArg args[ML_MAX_PARAMS];

    if (!ml_inst_args(in, args))
        return ml_bad_json(r->cx, j,
                           "the number of inputs or attributes does not fit this kind");
    for (size_t k = 0; k < in->prim->n_params; k++) {
        const ml_Param *pa = &in->prim->params[k];
        bool may_miss = pa->attr || pa->optional || pa->input_if_given ||
                        pa->kind == ML_P_DECISION || pa->kind == ML_P_LOOPS;

        if (args[k].n == 0 && !may_miss)
            return ml_bad_json(r->cx, j, "the number of inputs does not fit this kind");
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

static bool read_inst(ml_TraceReader *r, const ml_Json *j, const ml_Inst **out)
{
    ml_Inst *in = ML_NEW(r->cx, ml_Inst);

    if (j->kind != ML_JSON_LIST || j->n != 4 || j->as.list[0].kind != ML_JSON_STRING)
        return ml_bad_json(r->cx, j, "an instruction is [kind, inputs, attrs, outputs]");
    const ml_Json *part = j->as.list;

    for (int k = 1; k < 4; k++)
        if (part[k].kind != ML_JSON_LIST)
            return ml_bad_json(r->cx, &part[k], "a list is expected");
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
        return ml_bad_json(cx, j, "a decision is [index of the instruction, value]");
    int64_t at = j->as.list[0].as.i;

    if (at < 0 || (uint64_t)at >= n)
        return ml_bad_json(cx, j, "there is no instruction of this index");
    if (!insts[at]->prim->has_decision)
        return ml_bad_json(cx, j, "this instruction has no decision");
    if (insts[at]->decision)
        return ml_bad_json(cx, j, "a second decision for one instruction");
    ml_Inst *in = ML_NEW(cx, ml_Inst);

    *in = *insts[at];
    in->decision = ml_json_to_value(cx, &j->as.list[1]);
    if (in->decision->kind != ML_VAL_INT && in->decision->kind != ML_VAL_LIST)
        return ml_bad_json(cx, &j->as.list[1],
                           "a decision is an integer or a list of such");
    insts[at] = in;
    return true;
}

bool ml_trace_read(ml_TraceReader *r, const ml_Json *j, ml_Trace *out)
{
    ml_Ctx *cx = r->cx;

    if (j->kind != ML_JSON_LIST || j->n != 2 || j->as.list[0].kind != ML_JSON_LIST ||
        j->as.list[1].kind != ML_JSON_LIST)
        return ml_bad_json(cx, j, "a trace is [instructions, decisions]");
    const ml_Json *list = &j->as.list[0], *decisions = &j->as.list[1];
    const ml_Inst **insts = ML_ARRAY(cx, const ml_Inst *, list->n + 1);

    for (uint32_t k = 0; k < list->n; k++)
        if (!read_inst(r, &list->as.list[k], &insts[k]))
            return false;
    for (uint32_t k = 0; k < decisions->n; k++)
        if (!read_decision(cx, &decisions->as.list[k], insts, list->n))
            return false;
    *out = (ml_Trace){list->n, insts};
    return ml_ok_or_fail(cx);
}

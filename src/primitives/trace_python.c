/*
 * trace_python - a trace in the exchange dialect, as TensorIR users write it.
 * Source: primitives 12.2.
 */
#include "primitives/trace_impl.h"

#include <math.h>
#include <stdio.h>

typedef struct Printer {
    ml_Ctx *cx;
    ml_Text *out;
    const ml_TVar *vars;
    ml_Names names;
    bool newest;
} Printer;

static void add_string(ml_Text *out, const char *z)
{
    ml_text_char(out, '"');
    for (; *z; z++) {
        unsigned char c = (unsigned char)*z;

        if (c == '"' || c == '\\')
            ml_text_fmt(out, "\\%c", c);
        else if (c == '\n')
            ml_text_add(out, "\\n");
        else if (c < ' ')
            ml_text_fmt(out, "\\x%02x", c);
        else
            ml_text_char(out, (char)c);
    }
    ml_text_char(out, '"');
}

static void add_float(ml_Text *out, double v)
{
    if (isnan(v))
        ml_text_add(out, "float(\"nan\")");
    else if (isinf(v))
        ml_text_add(out, v > 0 ? "float(\"inf\")" : "float(\"-inf\")");
    else {
        char buf[40];
        int n = snprintf(buf, sizeof(buf), "%.17g", v);

        ml_text_add(out, buf);
        if (n > 0 && !strpbrk(buf, ".e"))
            ml_text_add(out, ".0");
    }
}

static void add_value(ml_Text *out, const ml_Value *v)
{
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_BOOL: ml_text_add(out, v->as.i ? "True" : "False"); return;
    case ML_VAL_INT: ml_text_int(out, v->as.i); return;
    case ML_VAL_FLOAT: add_float(out, v->as.f); return;
    case ML_VAL_STRING: add_string(out, v->as.s); return;
    case ML_VAL_LIST:
    case ML_VAL_DICT:
        ml_text_char(out, v->kind == ML_VAL_LIST ? '[' : '{');
        for (uint32_t k = 0; k < v->n; k++) {
            if (k)
                ml_text_add(out, ", ");
            if (v->kind == ML_VAL_DICT) {
                add_string(out, v->keys[k]);
                ml_text_add(out, ": ");
            }
            add_value(out, v->as.list[k]);
        }
        ml_text_char(out, v->kind == ML_VAL_LIST ? ']' : '}');
        return;
    case ML_VAL_NONE:
    case ML_VAL_EXPR:
    case ML_VAL_BUFFER:
    case ML_VAL_VAR:
    case ML_VAL_MAP:
    case ML_VAL_REDUCER: ml_text_add(out, "None"); return;
    }
}

static void add_var(const Printer *p, uint32_t num)
{
    ml_text_add(p->out, ml_trace_var_name(p->cx, &p->vars[num]));
}

static void add_map(const Printer *p, const ml_IndexMap *m)
{
    ml_Map *names = ml_map_new(p->cx);
    ml_Names n = {names};

    if (m->inverse)
        ml_text_add(p->out, "tvm.tir.IndexMap.from_func(");
    ml_text_add(p->out, "lambda ");
    for (uint32_t k = 0; k < m->n_vars; k++) {
        const char *z = ml_format(p->cx, "i%u", k);

        ml_map_set(p->cx, names, m->vars[k]->uid, z);
        ml_text_fmt(p->out, "%s%s", k ? ", " : "", z);
    }
    ml_text_add(p->out, ": (");
    for (uint32_t k = 0; k < m->n_exprs; k++) {
        ml_print_expr(p->cx, p->out, m->exprs[k],
                      &(ml_PrintOpts){.spelling = -1, .names = &n});
        ml_text_add(p->out, k + 1 < m->n_exprs ? ", " : ",");
    }
    ml_text_char(p->out, ')');
    if (m->inverse) {
        ml_text_add(p->out, ", inverse_index_map=");
        add_map(p, m->inverse);
        ml_text_char(p->out, ')');
    }
}

static void add_tv(const Printer *p, const ml_TV *v)
{
    switch ((ml_TVKind)v->kind) {
    case ML_TV_NONE: ml_text_add(p->out, "None"); return;
    case ML_TV_VAR: add_var(p, v->var); return;
    case ML_TV_VALUE: add_value(p->out, v->value); return;
    case ML_TV_EXPR:
        ml_print_expr(p->cx, p->out, v->expr,
                      &(ml_PrintOpts){.spelling = -1, .names = &p->names});
        return;
    case ML_TV_MAP: add_map(p, v->map); return;
    case ML_TV_LIST:
        ml_text_char(p->out, '[');
        for (uint32_t k = 0; k < v->n; k++) {
            if (k)
                ml_text_add(p->out, ", ");
            add_tv(p, &v->list[k]);
        }
        ml_text_char(p->out, ']');
        return;
    }
}

/* The kinds whose only or first input is given without a name (the * of the registry). */
static bool positional(const ml_Primitive *prim)
{
    return prim->params[0].kind == ML_P_LOOPS || ml_streq(prim->kind, "GetChildBlocks");
}

static const char *spelled(const Printer *p, const ml_Primitive *prim)
{
    if (p->newest && ml_streq(prim->name, "get_block"))
        return "get_sblock";
    return prim->name;
}

static void add_inst(const Printer *p, const ml_Inst *in)
{
    const ml_Primitive *prim = in->prim;
    bool list = ml_returns_list(prim);
    ml_TVArg args[ML_MAX_PARAMS];
    size_t n = 0;

    ml_text_add(p->out, "  ");
    for (uint32_t k = 0; k < in->n_outputs; k++) {
        if (k)
            ml_text_add(p->out, ", ");
        if (in->outputs[k].kind == ML_H_NONE)
            ml_text_char(p->out, '_');
        else
            add_var(p, in->outputs[k].num);
    }
    if (in->n_outputs > 0)
        ml_text_add(p->out, list && in->n_outputs == 1 ? ", = " : " = ");
    ml_text_fmt(p->out, "sch.%s(", spelled(p, prim));
    ml_inst_args(in, args);
    for (size_t k = 0; k < prim->n_params; k++) {
        const ml_Param *pa = &prim->params[k];

        if (pa->kind == ML_P_DECISION || (args[k].n == 0 && pa->kind != ML_P_FACTORS))
            continue;
        if (n++)
            ml_text_add(p->out, ", ");
        if (!(k == 0 && positional(prim)))
            ml_text_fmt(p->out, "%s=", pa->name);
        if (pa->kind == ML_P_FACTORS)
            ml_text_char(p->out, '[');
        for (size_t m = 0; m < args[k].n; m++) {
            if (m)
                ml_text_add(p->out, ", ");
            add_tv(p, &args[k].v[m]);
        }
        if (pa->kind == ML_P_FACTORS)
            ml_text_char(p->out, ']');
    }
    if (in->decision) {
        ml_text_add(p->out, n ? ", decision=" : "decision=");
        add_value(p->out, in->decision);
    }
    ml_text_add(p->out, ")\n");
}

void ml_trace_python(ml_Ctx *cx, ml_Text *out, const ml_Trace *t, bool newest)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    Printer p = {.cx = tmp, .out = out, .vars = ml_trace_vars(tmp, t), .newest = newest};
    const char *ns = newest ? "s_tir" : "tir";

    (void)cx;
    p.names = ml_trace_names(tmp, t);
    ml_text_fmt(out, "# from tvm import %s\ndef apply_trace(sch: %s.Schedule) -> None:\n",
                ns, ns);
    if (t->n == 0)
        ml_text_add(out, "  pass\n");
    for (size_t k = 0; k < t->n; k++)
        add_inst(&p, t->insts[k]);
    ml_ctx_unref(tmp);
}

/*
 * trace_python - a trace in the exchange dialect, as TensorIR users write it.
 * Source: primitives 12.2.
 */
#include "moonloop/primitives/trace/trace_value.h"

#include <math.h>
#include <stdio.h>

static void add_string(ml_Text *out, const char *z)
{
    ml_text_string(out, z, ML_ESCAPE_PYTHON);
}

static void add_key(ml_Text *out, const char *z)
{
    add_string(out, z);
    ml_text_add(out, ": ");
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

static void add_map(const ml_TraceWriter *w, ml_Text *out, const ml_IndexMap *m)
{
    if (m->inverse)
        ml_text_add(out, "tvm.tir.IndexMap.from_func(");
    ml_text_add(out, "lambda ");
    ml_Names names = ml_write_map_vars(w, out, m);

    ml_text_add(out, ": (");
    for (uint32_t k = 0; k < m->n_exprs; k++) {
        if (ml_is_op(m->exprs[k], ML_OP_AXIS_SEPARATOR))
            ml_text_add(out, "tvm.tir.IndexMap.AXIS_SEPARATOR");
        else
            ml_print_expr(w->cx, out, m->exprs[k],
                          &(ml_PrintOpts){.spelling = -1, .names = &names});
        ml_text_add(out, k + 1 < m->n_exprs ? ", " : ",");
    }
    ml_text_char(out, ')');
    if (m->inverse) {
        ml_text_add(out, ", inverse_index_map=");
        add_map(w, out, m->inverse);
        ml_text_char(out, ')');
    }
}

/* [(i0, i0 + 1), ...]: what gives a region gives begin and end per dimension. */
static void add_ranges(const ml_TraceWriter *w, const ml_IndexMap *m)
{
    ml_Text t = {0};

    ml_text_add(&t, "lambda ");
    ml_Names names = ml_write_map_vars(w, &t, m);

    ml_text_add(&t, ": [");
    for (uint32_t k = 0; k < m->n_exprs; k++) {
        ml_text_add(&t, k % 2 ? ", " : k ? ", (" : "(");
        ml_print_expr(w->cx, &t, m->exprs[k],
                      &(ml_PrintOpts){.spelling = -1, .names = &names});
        if (k % 2)
            ml_text_char(&t, ')');
    }
    ml_text_char(&t, ']');
    ml_text_add(w->out, ml_text_z(&t));
    w->out->bad |= t.bad;
    ml_text_free(&t);
}

static const ml_Notation notation = {
    .no = "False",
    .yes = "True",
    .none = "None",
    .object = "None",
    .list = "[]",
    .dict = "{}",
    .integer = ml_text_int,
    .real = add_float,
    .string = add_string,
    .key = add_key,
};

static const ml_TraceForm form = {
    .notation = &notation, .word = ml_text_add, .map = add_map};

/* The kinds whose only or first input is given without a name (the * of the registry). */
static bool positional(const ml_Primitive *prim)
{
    return prim->params[0].kind == ML_P_LOOPS || ml_streq(prim->kind, "GetChildBlocks");
}

static const char *spelled(const ml_Primitive *prim, bool newest)
{
    if (newest && ml_streq(prim->name, "get_block"))
        return "get_sblock";
    return prim->name;
}

static void add_inst(const ml_TraceWriter *w, const ml_Inst *in, bool newest)
{
    const ml_Primitive *prim = in->prim;
    bool list = ml_returns_list(prim);
    ml_TVArg args[ML_MAX_PARAMS];
    size_t n = 0;

    ml_text_add(w->out, "  ");
    ml_write_outputs(w, in);
    if (in->n_outputs > 0)
        ml_text_add(w->out, list && in->n_outputs == 1 ? ", = " : " = ");
    ml_text_fmt(w->out, "sch.%s(", spelled(prim, newest));
    ml_inst_args(in, args);
    for (size_t k = 0; k < prim->n_params; k++) {
        const ml_Param *pa = &prim->params[k];

        if (pa->kind == ML_P_DECISION || (args[k].n == 0 && pa->kind != ML_P_FACTORS))
            continue;
        if (n++)
            ml_text_add(w->out, ", ");
        if (!(k == 0 && positional(prim)))
            ml_text_fmt(w->out, "%s=", pa->name);
        if (pa->ranges && args[k].n == 1 && args[k].v->kind == ML_TV_MAP &&
            args[k].v->map->n_exprs % 2 == 0)
            add_ranges(w, args[k].v->map);
        else
            ml_write_arg(w, pa, &args[k]);
    }
    if (in->decision) {
        ml_text_add(w->out, n ? ", decision=" : "decision=");
        ml_write_constant(w, in->decision);
    }
    ml_text_add(w->out, ")\n");
}

void ml_trace_python(ml_Ctx *cx, ml_Text *out, const ml_Trace *t, bool newest)
{
    ml_TraceWriter w = ml_trace_writer(out, t, &form);
    const char *ns = newest ? "s_tir" : "tir";

    (void)cx;
    ml_text_fmt(out, "# from tvm import %s\ndef apply_trace(sch: %s.Schedule) -> None:\n",
                ns, ns);
    if (t->n == 0)
        ml_text_add(out, "  pass\n");
    for (size_t k = 0; k < t->n; k++)
        add_inst(&w, t->insts[k], newest);
    ml_trace_writer_end(&w);
}

/*
 * trace_value - the walk over the values of a trace that its three texts share.
 *
 * A writer owns a scratch context from ml_trace_writer to ml_trace_writer_end: names and
 * printed expressions live there, the text outside. Source: primitives 12.2, 12.3.
 */
#include "moonloop/primitives/trace/trace_value.h"

ml_TraceWriter ml_trace_writer(ml_Text *out, const ml_Trace *t, const ml_TraceForm *form)
{
    ml_Ctx *cx = ml_ctx_new(0);

    return (ml_TraceWriter){.cx = cx,
                            .out = out,
                            .form = form,
                            .vars = ml_trace_vars(cx, t),
                            .names = ml_trace_names(cx, t),
                            .prefix = ""};
}

void ml_trace_writer_end(ml_TraceWriter *w)
{
    ml_ctx_unref(w->cx);
    w->cx = NULL;
}

void ml_trace_writer_prefix(ml_TraceWriter *w, const char *prefix)
{
    ml_Map *map = ml_map_new(w->cx);

    for (size_t k = 0; k < ml_map_count(w->names.map); k++) {
        const char *name = ml_map_value_at(w->names.map, k);

        ml_map_set(w->cx, map, ml_map_key_at(w->names.map, k),
                   ml_format(w->cx, "%s%s", prefix, name));
    }
    w->names.map = map;
    w->prefix = prefix;
}

static void add_name(const ml_TraceWriter *w, const char *name)
{
    w->form->word(w->out, *w->prefix ? ml_format(w->cx, "%s%s", w->prefix, name) : name);
}

void ml_write_inputs(const ml_TraceWriter *w, const ml_TV *v, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (k)
            ml_text_add(w->out, ", ");
        ml_write_input(w, &v[k]);
    }
}

static void add_list(const ml_TraceWriter *w, const ml_TV *v, size_t n)
{
    ml_text_char(w->out, w->form->notation->list[0]);
    ml_write_inputs(w, v, n);
    ml_text_char(w->out, w->form->notation->list[1]);
}

/* What is printed first and then, perhaps, put in quotes. */
static void add_printed(const ml_TraceWriter *w, const ml_TV *v)
{
    ml_Text t = {0};

    if (v->kind == ML_TV_MAP)
        w->form->map(w, &t, v->map);
    else
        ml_print_expr(w->cx, &t, v->expr,
                      &(ml_PrintOpts){.spelling = -1, .names = &w->names});
    w->form->word(w->out, ml_text_z(&t));
    w->out->bad |= t.bad;
    ml_text_free(&t);
}

void ml_write_input(const ml_TraceWriter *w, const ml_TV *v)
{
    switch ((ml_TVKind)v->kind) {
    case ML_TV_NONE: ml_text_add(w->out, w->form->notation->none); return;
    case ML_TV_VAR: add_name(w, ml_trace_var_name(w->cx, &w->vars[v->var])); return;
    case ML_TV_VALUE: ml_write_constant(w, v->value); return;
    case ML_TV_EXPR:
    case ML_TV_MAP: add_printed(w, v); return;
    case ML_TV_LIST: add_list(w, v->list, v->n); return;
    }
}

/* ("read", 0) or {"read", 0} of position and side; as inputs they are two arguments. */
static void add_side(const ml_TraceWriter *w, const ml_Param *pa, const ml_TV *v)
{
    const char *brackets = w->form->notation->list;
    const ml_Value *side = v[1].value;
    bool write =
        side && (side->kind == ML_VAL_STRING ? side->as.s[0] == 'w' : side->as.i != 0);

    if (!pa->attr) {
        ml_write_input(w, &v[0]);
        ml_text_fmt(w->out, ", buf_type%s\"%s\"", *brackets == '[' ? "=" : " = ",
                    write ? "write" : "read");
        return;
    }
    if (*brackets == '[')
        brackets = "()";
    ml_text_fmt(w->out, "%c\"%s\", ", brackets[0], write ? "write" : "read");
    ml_write_input(w, &v[0]);
    ml_text_char(w->out, brackets[1]);
}

void ml_write_arg(const ml_TraceWriter *w, const ml_Param *pa, const ml_TVArg *a)
{
    if (pa->kind == ML_P_BUFFER && a->n == 2)
        add_side(w, pa, a->v);
    else if (pa->kind == ML_P_FACTORS)
        add_list(w, a->v, a->n);
    else
        ml_write_inputs(w, a->v, a->n);
}

void ml_write_outputs(const ml_TraceWriter *w, const ml_Inst *in)
{
    for (uint32_t k = 0; k < in->n_outputs; k++) {
        const ml_TVar *o = &in->outputs[k];

        if (k)
            ml_text_add(w->out, ", ");
        add_name(w, o->kind == ML_H_NONE ? "_" : ml_trace_var_name(w->cx, o));
    }
}

void ml_write_constant(const ml_TraceWriter *w, const ml_Value *v)
{
    ml_value_text(w->out, v, w->form->notation);
}

ml_Names ml_write_map_vars(const ml_TraceWriter *w, ml_Text *out, const ml_IndexMap *m)
{
    ml_Map *map = ml_map_new(w->cx);
    const char **names = ML_ARRAY(w->cx, const char *, m->n_vars + 1u);

    for (uint32_t k = 0; k < m->n_vars; k++)
        names[k] = m->vars[k]->hint;
    ml_lambda_names(w->cx, names, m->n_vars, names);
    for (uint32_t k = 0; k < m->n_vars; k++) {
        ml_map_set(w->cx, map, m->vars[k]->uid, names[k]);
        ml_text_fmt(out, "%s%s", k ? ", " : "", names[k]);
    }
    return (ml_Names){map};
}

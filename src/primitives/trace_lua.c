/*
 * trace_lua - a trace as Lua text on `sch`, and a saved schedule as a Lua script.
 *
 * The text runs as it stands and rebuilds the same program and trace. Lua allows 200 local
 * variables in a function; longer traces keep theirs in a table. Source: primitives 12.2,
 * interaction 6 and 15.
 */
#include "primitives/trace_impl.h"

#include <math.h>

enum { MAX_LOCALS = 180 };

typedef struct Printer {
    ml_Ctx *cx;
    ml_Text *out;
    const ml_TVar *vars;
    ml_Names names;
    const char *prefix; /* "" or "v." */
} Printer;

static void add_value(ml_Text *out, const ml_Value *v)
{
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_BOOL: ml_text_add(out, v->as.i ? "true" : "false"); return;
    case ML_VAL_INT:
        if (v->as.i == INT64_MIN)
            ml_text_add(out, "math.mininteger");
        else
            ml_text_int(out, v->as.i);
        return;
    case ML_VAL_FLOAT:
        if (isnan(v->as.f))
            ml_text_add(out, "(0/0)");
        else if (isinf(v->as.f))
            ml_text_add(out, v->as.f > 0 ? "math.huge" : "-math.huge");
        else
            ml_text_double(out, v->as.f);
        return;
    case ML_VAL_STRING: ml_text_quote(out, v->as.s); return;
    case ML_VAL_LIST:
    case ML_VAL_DICT:
        ml_text_char(out, '{');
        for (uint32_t k = 0; k < v->n; k++) {
            if (k)
                ml_text_add(out, ", ");
            if (v->kind == ML_VAL_DICT) {
                ml_text_char(out, '[');
                ml_text_quote(out, v->keys[k]);
                ml_text_add(out, "] = ");
            }
            add_value(out, v->as.list[k]);
        }
        ml_text_char(out, '}');
        return;
    case ML_VAL_NONE:
    case ML_VAL_EXPR:
    case ML_VAL_BUFFER:
    case ML_VAL_VAR:
    case ML_VAL_MAP:
    case ML_VAL_REDUCER: ml_text_add(out, "moon.auto"); return;
    }
}

static void add_var(const Printer *p, uint32_t num)
{
    ml_text_fmt(p->out, "%s%s", p->prefix, ml_trace_var_name(p->cx, &p->vars[num]));
}

static void add_map(const Printer *p, const ml_IndexMap *m)
{
    ml_Map *names = ml_map_new(p->cx);
    ml_PrintOpts o = {.spelling = -1};

    ml_text_add(p->out, "function(");
    for (uint32_t k = 0; k < m->n_vars; k++) {
        const char *z = ml_format(p->cx, "i%u", k);

        ml_map_set(p->cx, names, m->vars[k]->uid, z);
        ml_text_fmt(p->out, "%s%s", k ? ", " : "", z);
    }
    ml_text_add(p->out, ") return ");
    ml_Names n = {names};

    o.names = &n;
    for (uint32_t k = 0; k < m->n_exprs; k++) {
        if (k)
            ml_text_add(p->out, ", ");
        ml_print_expr(p->cx, p->out, m->exprs[k], &o);
    }
    ml_text_add(p->out, " end");
}

static void add_tv(const Printer *p, const ml_TV *v)
{
    switch ((ml_TVKind)v->kind) {
    case ML_TV_NONE: ml_text_add(p->out, "moon.auto"); return;
    case ML_TV_VAR: add_var(p, v->var); return;
    case ML_TV_VALUE: add_value(p->out, v->value); return;
    case ML_TV_EXPR:
        ml_print_expr(p->cx, p->out, v->expr,
                      &(ml_PrintOpts){.spelling = -1, .names = &p->names});
        return;
    case ML_TV_MAP: add_map(p, v->map); return;
    case ML_TV_LIST:
        ml_text_char(p->out, '{');
        for (uint32_t k = 0; k < v->n; k++) {
            if (k)
                ml_text_add(p->out, ", ");
            add_tv(p, &v->list[k]);
        }
        ml_text_char(p->out, '}');
        return;
    }
}

static void add_arg(const Printer *p, const ml_Param *pa, const ml_TVArg *a)
{
    if (pa->kind == ML_P_FACTORS)
        ml_text_char(p->out, '{');
    for (size_t k = 0; k < a->n; k++) {
        if (k)
            ml_text_add(p->out, ", ");
        add_tv(p, &a->v[k]);
    }
    if (pa->kind == ML_P_FACTORS)
        ml_text_char(p->out, '}');
}

/* What is not the default, by name; loops come first, without a name. */
static void add_call(const Printer *p, const ml_Inst *in)
{
    const ml_Primitive *prim = in->prim;
    ml_TVArg args[ML_MAX_PARAMS];
    size_t named = 0, n = 0;
    bool variadic = prim->n_params > 0 && prim->params[0].kind == ML_P_LOOPS;

    ml_inst_args(in, args);
    for (size_t k = variadic; k < prim->n_params; k++)
        named += prim->params[k].kind != ML_P_DECISION &&
                 !ml_tv_is_default(&prim->params[k], &args[k]);
    named += in->decision != NULL;
    bool bare = named == 0 && (variadic || prim->n_params == 0);

    ml_text_fmt(p->out, "sch:%s%c", prim->name, bare ? '(' : '{');
    for (size_t k = 0; k < prim->n_params; k++) {
        const ml_Param *pa = &prim->params[k];
        bool loops = variadic && k == 0;

        if (pa->kind == ML_P_DECISION ||
            (loops ? args[k].n == 0
                   : ml_tv_is_default(pa, &args[k]) && pa->kind != ML_P_FACTORS))
            continue;
        if (n++)
            ml_text_add(p->out, ", ");
        if (!loops)
            ml_text_fmt(p->out, "%s = ", pa->name);
        add_arg(p, pa, &args[k]);
    }
    if (in->decision) {
        ml_text_add(p->out, n ? ", decision = " : "decision = ");
        add_value(p->out, in->decision);
    }
    ml_text_char(p->out, bare ? ')' : '}');
}

static void add_inst(const Printer *p, const ml_Inst *in)
{
    bool list = ml_returns_list(in->prim) || in->n_outputs > 1;

    if (in->n_outputs > 0) {
        if (!*p->prefix)
            ml_text_add(p->out, "local ");
        for (uint32_t k = 0; k < in->n_outputs; k++) {
            if (k)
                ml_text_add(p->out, ", ");
            if (in->outputs[k].kind == ML_H_NONE)
                ml_text_fmt(p->out, "%s_", p->prefix);
            else
                add_var(p, in->outputs[k].num);
        }
        ml_text_add(p->out, list ? " = table.unpack(" : " = ");
    }
    add_call(p, in);
    if (in->n_outputs > 0 && list)
        ml_text_char(p->out, ')');
    ml_text_char(p->out, '\n');
}

void ml_trace_lua(ml_Ctx *cx, ml_Text *out, const ml_Trace *t)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    size_t n_outputs = 0;
    Printer p = {.cx = tmp, .out = out, .vars = ml_trace_vars(tmp, t), .prefix = ""};

    (void)cx;
    p.names = ml_trace_names(tmp, t);
    for (size_t k = 0; k < t->n; k++)
        n_outputs += t->insts[k]->n_outputs;
    if (n_outputs > MAX_LOCALS) {
        ml_Map *map = ml_map_new(tmp);

        p.prefix = "v.";
        for (size_t k = 0; k < ml_map_count(p.names.map); k++)
            ml_map_set(
                tmp, map, ml_map_key_at(p.names.map, k),
                ml_format(tmp, "v.%s", (const char *)ml_map_value_at(p.names.map, k)));
        p.names.map = map;
        ml_text_add(out, "local v = {}\n");
    }
    for (size_t k = 0; k < t->n; k++)
        add_inst(&p, t->insts[k]);
    ml_ctx_unref(tmp);
}

/* ---- a script */

/* [==[ ... ]==] with as many = as the text needs. */
static void long_string(ml_Text *out, const char *z)
{
    size_t level = 1;

    for (const char *p = strchr(z, ']'); p; p = strchr(p + 1, ']')) {
        size_t n = strspn(p + 1, "=");

        if (p[1 + n] == ']' && n >= level)
            level = n + 1;
    }
    ml_text_char(out, '[');
    ml_text_repeat(out, '=', level);
    ml_text_add(out, "[\n");
    ml_text_add(out, z);
    ml_text_add(out, "\n]");
    ml_text_repeat(out, '=', level);
    ml_text_char(out, ']');
}

void ml_saved_lua(ml_Schedule *s, ml_Text *out)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text program = {0};
    ml_Trace t = ml_schedule_trace(s, tmp);
    const ml_Func *f = ml_schedule_func(s);

    ml_print_module(tmp, &program, s->v[0].p.mod, NULL);
    ml_text_add(out, "local moon = moon or require \"moonloop\"\n");
    ml_text_add(out, "local program = moon.parse(");
    long_string(out, ml_text_z(&program));
    ml_text_add(out, ")\nlocal sch = moon.schedule(program, {");
    if (f) {
        ml_text_add(out, "func = ");
        ml_text_quote(out, f->name);
        ml_text_add(out, ", ");
    }
    ml_text_add(out, "name = ");
    ml_text_quote(out, s->name);
    if (s->opts.target) {
        ml_text_add(out, ", target = ");
        add_value(out, s->opts.target);
    }
    ml_text_add(out, "})\n");
    ml_trace_lua(tmp, out, &t);
    ml_text_fmt(out, "assert(sch:hash(8) == \"%08x\")\n",
                (unsigned)(ml_schedule_hash(s) >> 32));
    ml_text_free(&program);
    ml_ctx_unref(tmp);
}

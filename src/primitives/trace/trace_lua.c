/*
 * trace_lua - a trace as Lua text on `sch`, and a saved schedule as a Lua script.
 *
 * The text runs as it stands and rebuilds the same program and trace. Lua allows 200 local
 * variables in a function; longer traces keep theirs in a table. Source: primitives 12.2,
 * interaction 6 and 15.
 */
#include "moonloop/primitives/call/args.h"
#include "moonloop/primitives/trace/trace_value.h"

#include <math.h>

enum { MAX_LOCALS = 180 };

static void add_integer(ml_Text *out, int64_t v)
{
    if (v == INT64_MIN)
        ml_text_add(out, "math.mininteger");
    else
        ml_text_int(out, v);
}

static void add_real(ml_Text *out, double v)
{
    if (isnan(v))
        ml_text_add(out, "(0/0)");
    else if (isinf(v))
        ml_text_add(out, v > 0 ? "math.huge" : "-math.huge");
    else
        ml_text_double(out, v);
}

static void add_map(const ml_TraceWriter *w, ml_Text *out, const ml_IndexMap *m)
{
    ml_map_lua(w->cx, out, m);
}

static const ml_Notation notation = {
    .no = "false",
    .yes = "true",
    .none = "moon.auto",
    .object = "moon.auto",
    .list = "{}",
    .dict = "{}",
    .integer = add_integer,
    .real = add_real,
    .string = ml_text_quote,
    .key = ml_text_lua_key,
};

static const ml_TraceForm form = {
    .notation = &notation, .word = ml_text_add, .map = add_map};

/* What is not the default, by name; loops come first, without a name. */
static void add_call(const ml_TraceWriter *w, const ml_Inst *in)
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

    ml_text_fmt(w->out, "sch:%s%c", prim->name, bare ? '(' : '{');
    for (size_t k = 0; k < prim->n_params; k++) {
        const ml_Param *pa = &prim->params[k];
        bool loops = variadic && k == 0;

        if (pa->kind == ML_P_DECISION ||
            (loops ? args[k].n == 0
                   : ml_tv_is_default(pa, &args[k]) && pa->kind != ML_P_FACTORS))
            continue;
        if (n++)
            ml_text_add(w->out, ", ");
        if (!loops)
            ml_text_fmt(w->out, "%s = ", pa->name);
        ml_write_arg(w, pa, &args[k]);
    }
    if (in->decision) {
        ml_text_add(w->out, n ? ", decision = " : "decision = ");
        ml_write_constant(w, in->decision);
    }
    ml_text_char(w->out, bare ? ')' : '}');
}

static void add_inst(const ml_TraceWriter *w, const ml_Inst *in)
{
    bool list = ml_returns_list(in->prim) || in->n_outputs > 1;

    if (in->n_outputs > 0) {
        if (!*w->prefix)
            ml_text_add(w->out, "local ");
        ml_write_outputs(w, in);
        ml_text_add(w->out, list ? " = table.unpack(" : " = ");
    }
    add_call(w, in);
    if (in->n_outputs > 0 && list)
        ml_text_char(w->out, ')');
    ml_text_char(w->out, '\n');
}

void ml_trace_lua(ml_Ctx *cx, ml_Text *out, const ml_Trace *t)
{
    ml_TraceWriter w = ml_trace_writer(out, t, &form);
    size_t n_outputs = 0;

    (void)cx;
    for (size_t k = 0; k < t->n; k++)
        n_outputs += t->insts[k]->n_outputs;
    if (n_outputs > MAX_LOCALS) {
        ml_trace_writer_prefix(&w, "v.");
        ml_text_add(out, "local v = {}\n");
    }
    for (size_t k = 0; k < t->n; k++)
        add_inst(&w, t->insts[k]);
    ml_trace_writer_end(&w);
}

void ml_trace_lua_part(ml_Text *out, const ml_Trace *t, size_t first)
{
    ml_TraceWriter w = ml_trace_writer(out, t, &form);

    ml_trace_writer_prefix(&w, "v.");
    for (size_t k = first; k < t->n; k++)
        add_inst(&w, t->insts[k]);
    ml_trace_writer_end(&w);
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

static void save(ml_Schedule *s, ml_Text *out, bool all)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text program = {0};
    ml_Trace t = ml_schedule_trace(s, tmp);
    const ml_Func *f = ml_schedule_func(s);

    ml_print_start(tmp, &program, s->v[0].p.mod);
    ml_text_fmt(out, ML_SAVED_LUA "%s v%d\n", s->name, s->cur);
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
        ml_value_text(out, s->opts.target, &notation);
    }
    if (s->opts.no_check)
        ml_text_add(out, ", enable_check = false");
    if (s->opts.unchecked)
        ml_text_add(out, ", unchecked = true");
    ml_text_add(out, "})\n");
    if (all)
        ml_trace_lua_tree(s, out);
    else
        ml_trace_lua(tmp, out, &t);
    ml_text_fmt(out, "assert(sch:hash(8) == \"%08x\")\nreturn sch\n",
                (unsigned)(ml_schedule_hash(s) >> 32));
    ml_text_free(&program);
    ml_ctx_unref(tmp);
}

void ml_saved_lua(ml_Schedule *s, ml_Text *out)
{
    save(s, out, false);
}

void ml_saved_lua_all(ml_Schedule *s, ml_Text *out)
{
    save(s, out, true);
}

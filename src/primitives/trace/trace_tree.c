/*
 * trace_tree - all versions of a schedule as one Lua script: steps in the order of their
 * making, jumps between branches, marks and names of branches.
 *
 * The script makes version k where the schedule has version k. Variables of all branches
 * share one table, numbered through. Source: interaction 6, `:save --all`.
 */
#include "moonloop/primitives/trace/trace_impl.h"

typedef struct Tree {
    ml_Ctx *cx;
    ml_Schedule *s;
    ml_Text *out;
    ml_Map *first; /* serial of a trace node -> number of its first output + 1 */
    uint32_t next;
} Tree;

/* The instructions up to the node, with the numbers of the whole script; *known: how many
 * of them were written before. */
static ml_Trace chain(Tree *r, const ml_TraceNode *last, size_t *known)
{
    uint32_t n = last ? last->n : 0;
    const ml_Inst **insts = ML_ARRAY(r->cx, const ml_Inst *, n + 1u);
    uint32_t *serial = ML_ARRAY(r->cx, uint32_t, n + 1u);
    uint32_t *to = ML_ARRAY(r->cx, uint32_t, (last ? last->next_var : 0) + 1u);

    for (const ml_TraceNode *t = last; t; t = t->prev) {
        insts[t->n - 1] = t->inst;
        serial[t->n - 1] = t->serial + 1;
    }
    *known = 0;
    for (uint32_t k = 0; k < n; k++) {
        uintptr_t at = (uintptr_t)ml_map_get(r->first, serial[k]);

        if (at)
            *known = k + 1;
        else {
            at = (uintptr_t)r->next + 1;
            ml_map_set(r->cx, r->first, serial[k], (const void *)at);
            r->next += insts[k]->n_outputs;
        }
        for (uint32_t m = 0; m < insts[k]->n_outputs; m++)
            if (insts[k]->outputs[m].kind != ML_H_NONE)
                to[insts[k]->outputs[m].num] = (uint32_t)at - 1 + m;
    }
    ml_trace_renumber(r->cx, insts, n, to);
    return (ml_Trace){n, insts};
}

static void add_quoted(Tree *r, const char *call, const char *name)
{
    ml_text_fmt(r->out, "sch:%s(", call);
    ml_text_quote(r->out, name);
    ml_text_add(r->out, ")\n");
}

static void add_marks(Tree *r, int version)
{
    const ml_Schedule *s = r->s;

    for (const ml_MarkName *m = s->marks; m; m = m->prev)
        if (m->version == version && ml_schedule_find_mark(s, m->name) == version)
            add_quoted(r, "mark", m->name);
}

static void jump(Tree *r, int *at, int to)
{
    if (*at != to)
        ml_text_fmt(r->out, "sch:jump(%d)\n", to);
    *at = to;
}

/* All labels, when no step follows that would take them along; the oldest first, as of
 * several at a version the last one is gone on with. */
static void add_labels(Tree *r, const ml_MarkName *m, int *at)
{
    const ml_Schedule *s = r->s;

    if (!m)
        return;
    add_labels(r, m->prev, at);
    for (const ml_MarkName *newer = s->labels; newer != m; newer = newer->prev)
        if (ml_streq(newer->name, m->name))
            return;
    jump(r, at, m->version);
    add_quoted(r, "branch", m->name);
}

void ml_trace_lua_tree(ml_Schedule *s, ml_Text *out)
{
    Tree r = {.cx = ml_ctx_new(0), .s = s, .out = out};
    int at = 0;
    size_t known;

    r.first = ml_map_new(r.cx);
    ml_text_add(out, "local v = {}\n");
    add_marks(&r, 0);
    for (int k = 1; k < s->n_versions; k++) {
        jump(&r, &at, s->v[k].parent);
        ml_Trace t = chain(&r, s->v[k].trace, &known);

        ml_trace_lua_part(out, &t, known);
        add_marks(&r, at = k);
    }
    add_labels(&r, s->labels, &at);
    jump(&r, &at, s->cur);
    ml_Trace t = chain(&r, s->trace, &known);

    ml_trace_lua_part(out, &t, known);
    ml_ctx_unref(r.cx);
}

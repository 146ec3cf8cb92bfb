/*
 * compact - what the versions still need, moved to a fresh context; the rest is given back.
 *
 * Every step leaves intermediate expressions and replaced nodes in the arena. Identity
 * numbers are kept, so that handles, names and states stay right; pointers into programs do
 * not. Source: DESIGN section 3.
 */
#include "moonloop/primitives/schedule/schedule_impl.h"

/* Below this many bytes it is not worth the trouble. */
enum { WORTH = 16 << 20 };

typedef struct Moved Moved;
struct Moved {
    const Moved *next; /* another one whose address ends alike */
    const ml_Module *from;
    ml_Program to;
};

typedef struct Mover {
    ml_Ctx *cx, *tmp;
    ml_Import *im;
    ml_Map *programs; /* end of the old address -> const Moved * */
    ml_Program last;  /* moved before: the next one shares most of its nodes */
} Mover;

/* Version 0 is the module's own and stays where it is. */
static ml_Program move_program(Mover *m, const ml_Module *mod, bool own)
{
    uint32_t key = (uint32_t)((uintptr_t)mod >> 4);
    const Moved *first = ml_map_get(m->programs, key);

    for (const Moved *p = first; p; p = p->next)
        if (p->from == mod)
            return p->to;
    Moved *one = ML_NEW(m->tmp, Moved);

    one->next = first;
    one->from = mod;
    one->to.mod = own ? ml_import_module(m->im, mod) : mod;
    one->to.index = m->last.mod ? ml_index_follow(m->cx, m->last, one->to.mod)
                                : ml_index_build(m->cx, one->to.mod);
    m->last = one->to;
    ml_map_set(m->tmp, m->programs, key, one);
    return one->to;
}

static void *copy_of(ml_Ctx *cx, const void *from, size_t n)
{
    void *to = ml_alloc(cx, n + 1);

    if (n > 0)
        memcpy(to, from, n);
    return to;
}

static void move_version(Mover *m, ml_Version *v, const ml_Module *start)
{
    if (v->known)
        v->p = move_program(m, v->p.mod, v->p.mod != start);
    if (!v->prim)
        return;
    v->results = copy_of(m->cx, v->results, v->n_results * sizeof(*v->results));
    v->ended = copy_of(m->cx, v->ended, v->n_ended * sizeof(*v->ended));
    if (!v->known) { /* dropped by the undo limit: its texts and what it ended stay */
        v->args = NULL;
        v->notes = NULL;
        v->n_notes = 0;
        v->decision = NULL;
        return;
    }
    const char **notes = ML_ARRAY(m->cx, const char *, v->n_notes + 1);

    for (uint32_t k = 0; k < v->n_notes; k++)
        notes[k] = ml_strdup(m->cx, ml_str(v->notes[k]));
    v->notes = notes;
    v->args = ml_given_copy(m->cx, m->im, v->args, v->prim->n_params);
    if (v->decision)
        v->decision = ml_import_value(m->im, v->decision);
}

static void move_schedule(Mover *m, ml_Schedule *s)
{
    const ml_Module *start = s->v[0].p.mod;

    for (int v = 0; v < s->n_versions; v++)
        move_version(m, &s->v[v], start);
    s->failed = false;
    s->failed_prim = NULL;
    s->failed_args = NULL;
    s->failed_raw = NULL;
    s->n_notes = s->n_notes > 0 ? s->v[s->cur].n_notes : 0;
    s->notes = s->v[s->cur].notes;
}

static void move_symbols(Mover *m, ml_Space *sp)
{
    for (size_t k = 0; k < ml_map_count(sp->symbols); k++) {
        const ml_Symbol *from = ml_map_value_at(sp->symbols, k);

        if (!from)
            continue;
        ml_Symbol *y = ML_NEW(sp->home, ml_Symbol);

        *y = *from;
        y->var = ml_import_expr(m->im, y->var);
        ml_map_set(sp->home, sp->symbols, ml_map_key_at(sp->symbols, k), y);
    }
}

/* ---- the trace: what a version that can be returned to is made of */

/* `inst` of a node that is not needed is NULL. Nodes are kept with all before them, so that
 * a walk may end at one that was kept already (copied: it lies in the new context). */
static void need(Mover *m, ml_Map *done, const ml_TraceNode *t)
{
    for (; t && !ml_map_has(done, t->serial); t = t->prev)
        ml_map_set(m->tmp, done, t->serial, t);
}

static void move_trace(Mover *m, ml_Space *sp)
{
    ml_Map *done = ml_map_new(m->tmp);
    ml_TraceNode **at = &sp->nodes;

    for (const ml_Schedule *s = sp->first; s; s = s->next) {
        need(m, done, s->trace);
        for (int v = 0; v < s->n_versions; v++)
            if (s->v[v].known) {
                need(m, done, s->v[v].trace);
                need(m, done, s->v[v].before);
            }
    }
    /* Queries and samples that a state remembers (ml_State) were recorded at its version.
     */
    for (const ml_TraceNode *t = sp->nodes; t; t = t->older)
        for (const ml_Schedule *s = sp->first; s; s = s->next)
            if (ml_version_ok(s, t->inst->version))
                need(m, done, t);
    while (*at) {
        ml_TraceNode *t = *at;

        if (ml_map_has(done, t->serial)) {
            t->inst = ml_inst_copy(m->cx, m->im, t->inst);
            at = &t->older;
        } else
            *at = t->older;
    }
}

/* The texts of steps whose program is dropped are made now: what describes a step looks at
 * its nodes. Those of other steps can be made as long as their programs are kept. */
static void make_texts(ml_Schedule *s)
{
    for (int v = 0; v < s->n_versions; v++)
        if (s->v[v].prim && !s->v[v].known && s->v[v].args) {
            ml_step_headline(s, v);
            ml_step_line(s, v);
            ml_step_plain_line(s, v);
        }
}

void ml_schedule_compact(ml_Schedule *s)
{
    ml_Space *sp = s->space;
    ml_Ctx *old = sp->cx;

    if (sp->in_call || sp->is_fork || ml_ctx_frozen(old))
        return;
    ml_space_settle(sp);
    for (ml_Schedule *one = sp->first; one; one = one->next)
        make_texts(one);
    Mover m = {.cx = ml_ctx_fork(ml_ctx_parent(old)), .tmp = ml_ctx_new(0)};

    m.im = ml_import_begin_in(m.cx, m.tmp);
    ml_import_keep_below(m.im, ml_ctx_next_uid(ml_ctx_parent(old)));
    m.programs = ml_map_new(m.tmp);
    ml_ctx_limits_of(m.cx, old);
    ml_ctx_reserve_uid(m.cx, ml_ctx_next_uid(old) - 1);
    for (ml_Schedule *one = sp->first; one; one = one->next)
        move_schedule(&m, one);
    move_trace(&m, sp);
    move_symbols(&m, sp);
    ml_space_drop_facts(sp);
    ml_space_set_ctx(sp, m.cx);
    sp->epoch++;
    sp->live = ml_ctx_bytes(m.cx);
    ml_ctx_unref(m.tmp);
    ml_ctx_unref(old);
}

void ml_schedule_compact_when_due(ml_Schedule *s)
{
    size_t bytes = ml_ctx_bytes(s->space->cx), limit = ml_ctx_limit(s->space->cx);
    bool near = limit > 0 && bytes >= limit / 2;

    if ((bytes >= WORTH || near) && bytes >= 2 * s->space->live)
        ml_schedule_compact(s);
}

/*
 * materialise - a candidate becomes a program: its sketch is replayed with its decisions on
 * a fork of the start, hashed, and written for a worker when somebody wants to build it.
 *
 * Every replay is checked: what is measured is a legal schedule. Source: auto-scheduler 2.
 */
#include "moonloop/tune/search/tuner_impl.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"

#include <stdlib.h>

bool ml_start_make(ml_Tuner *t, ml_Ctx *cx)
{
    const ml_ScheduleOpts opts = {.func = t->func->name, .render = ML_RENDER_NONE};

    t->start = ml_schedule_new(t->base, t->mod, &opts, NULL);
    if (t->start)
        return true;
    ml_error_move(cx, t->base);
    return false;
}

typedef struct Decide {
    ml_Ctx *tmp;
    const Sketch *sk;
    const int64_t *d;
    uint32_t at;
} Decide;

const ml_Value *ml_decision_value(ml_Ctx *cx, const Sampling *s, const int64_t *d)
{
    const ml_Value **list;

    if (!s->tile)
        return ml_val_int(cx, d[s->at] + s->from);
    list = ML_ARRAY(cx, const ml_Value *, s->n);
    for (uint32_t k = 0; k < s->n; k++)
        list[k] = ml_val_int(cx, d[s->at + k]);
    return ml_val_list(cx, list, s->n);
}

/* NULL: sampled afresh. */
static const ml_Value *decide(const ml_Inst *in, const ml_Value *old, void *user)
{
    Decide *de = user;
    const Sampling *s = &de->sk->s[de->at++];

    (void)in;
    (void)old;
    if (de->d == NULL || de->d[s->at] < 0)
        return NULL;
    return ml_decision_value(de->tmp, s, de->d);
}

/* On a fork of the start; NULL: it is not legal. */
static ml_Schedule *replay(ml_Tuner *t, const ml_Trace *trace, bool remove_postproc,
                           ml_DecideFn *fn, void *user, uint32_t seed)
{
    ml_Schedule *s = ml_schedule_fork_at(t->start, 0);

    if (ml_schedule_seed(s, seed ? seed : 1) &&
        ml_trace_apply(s, trace, remove_postproc, fn, user, NULL))
        return s;
    ml_schedule_unref(s);
    return NULL;
}

static uint64_t hash_of(ml_Schedule *s)
{
    return ml_hash_func(ml_schedule_ctx(s), ml_schedule_func(s), NULL);
}

bool ml_materialise(ml_Tuner *t, const Candidate *c, Made *out)
{
    const Sketch *sk = &t->sketches[c->sketch];
    ml_Mark mark = ml_mark(t->tmp);
    Decide de = {t->tmp, sk, c->d, 0};
    ml_Trace trace;

    *out = (Made){.s = replay(t, &sk->trace, true, decide, &de, c->seed)};
    if (out->s && t->post.fn && !t->post.fn(out->s, sk->space, t->post.user))
        ml_made_free(out);
    if (out->s) {
        int64_t *d = ML_ARRAY(t->keep, int64_t, sk->n_numbers + 1);

        trace = ml_schedule_trace(out->s, t->tmp);
        if (ml_decisions_of(sk, &trace, d)) {
            out->c = (Candidate){.sketch = c->sketch, .d = d};
            out->hash = hash_of(out->s);
        } else
            ml_made_free(out);
    }
    if (out->s == NULL)
        t->st.failed[ML_PHASE_REPLAY]++;
    ml_error_clear(t->tmp);
    ml_release(t->tmp, mark);
    return out->s != NULL;
}

static char *heap(ml_Text *t)
{
    char *z = strdup(ml_text_z(t));

    if (z == NULL)
        ml_out_of_memory();
    ml_text_free(t);
    return z;
}

/* Without lines: nobody reads the text of a candidate. */
static ml_Binary bytes_of(ml_Schedule *s)
{
    ml_Binary b = ml_binary_write(ml_schedule_ctx(s), ml_schedule_program(s).mod, false);
    uint8_t *copy = malloc(b.n);

    if (copy == NULL)
        ml_out_of_memory();
    memcpy(copy, b.v, b.n);
    return (ml_Binary){copy, b.n};
}

void ml_made_print(ml_Tuner *t, Made *m)
{
    ml_Ctx *cx = ml_schedule_ctx(m->s);
    ml_Mark mark = ml_mark(t->tmp);
    const ml_Trace trace = ml_schedule_trace(m->s, t->tmp);
    ml_Text json = {0};

    m->program = bytes_of(m->s);
    ml_trace_json(cx, &json, &trace);
    m->trace = heap(&json);
    ml_schedule_unref(m->s);
    m->s = NULL;
    ml_release(t->tmp, mark);
}

char *ml_made_text(const Made *m)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_BinaryRead r;
    ml_Text text = {0};

    if (ml_binary_read(cx, m->program, "", &r))
        ml_print_module(cx, &text, r.mod, NULL);
    ml_ctx_unref(cx);
    return heap(&text);
}

void ml_made_free(Made *m)
{
    union {
        const uint8_t *from;
        void *v;
    } program = {m->program.v};

    ml_schedule_unref(m->s);
    free(program.v);
    free(m->trace);
    m->s = NULL;
    m->program = (ml_Binary){0};
    m->trace = NULL;
}

bool ml_candidate_of_record(ml_Tuner *t, const ml_Record *r, Candidate *out, uint64_t *hash)
{
    ml_Ctx *cx = ml_ctx_fork(t->base);
    ml_Trace trace;
    ml_Schedule *s;
    bool found = false;

    *hash = 0;
    if (r->trace && ml_trace_from_json(cx, ml_str(r->trace), &trace)) {
        found = ml_candidate_of_trace(t, &trace, out);
        s = replay(t, &trace, false, NULL, NULL, 1);
        *hash = s ? hash_of(s) : 0;
        ml_schedule_unref(s);
    }
    ml_ctx_unref(cx);
    return found;
}

const char *ml_tune_hash(ml_Ctx *cx, const ml_Module *m, const char *func)
{
    const ml_Func *f = func ? ml_module_find(m, func) : m->n == 1 ? m->funcs[0] : NULL;

    if (f == NULL) {
        ml_fail_no_function(cx, m);
        return NULL;
    }
    return ml_format(cx, "%016llx", (unsigned long long)ml_hash_func(cx, f, NULL));
}

bool ml_tune_apply(ml_Ctx *cx, ml_Schedule *s, const ml_Record *r)
{
    ml_Trace trace;

    return ml_trace_from_json(cx, ml_str(r->trace ? r->trace : "[[],[]]"), &trace) &&
           ml_trace_apply(s, &trace, false, NULL, NULL, NULL);
}

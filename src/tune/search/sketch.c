/*
 * sketch - design spaces as the search holds them: traces, their sampling instructions, and
 * candidates, which are vectors of decisions replayed on a fork of the base context.
 *
 * Every replay is checked: what is measured is a legal schedule. Source: auto-scheduler 2.
 */
#include "tune/search/tuner_impl.h"

#include "core/compare/equal.h"
#include "core/script/script.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- taking sketches over */

static const char *signature_of(ml_Ctx *cx, const ml_Trace *t)
{
    const ml_Inst **insts = ML_ARRAY(cx, const ml_Inst *, t->n + 1);
    ml_Trace bare = {t->n, insts};
    ml_Text json = {0};
    const char *z;

    for (size_t k = 0; k < t->n; k++) {
        ml_Inst *in = ML_NEW(cx, ml_Inst);

        *in = *t->insts[k];
        in->decision = NULL;
        insts[k] = in;
    }
    ml_trace_json(cx, &json, &bare);
    z = ml_strdup(cx, ml_str(ml_text_z(&json)));
    ml_text_free(&json);
    return z;
}

static uint32_t list_length(const ml_TV *v)
{
    if (v->kind == ML_TV_LIST)
        return v->n;
    return v->kind == ML_TV_VALUE && v->value->kind == ML_VAL_LIST ? v->value->n : 0;
}

static bool read_sampling(const ml_Inst *in, size_t k, Sampling *out)
{
    *out = (Sampling){.inst = k, .tile = ml_streq(in->prim->kind, "SamplePerfectTile")};
    if (out->tile)
        out->n = in->n_outputs;
    else if (ml_streq(in->prim->kind, "SampleCategorical"))
        out->n = in->n_attrs ? list_length(&in->attrs[0]) : 0;
    return out->n > 0;
}

/* A decision as numbers; false: it has another form. */
static bool numbers_of(const Sampling *s, const ml_Value *d, int64_t *out)
{
    if (d == NULL)
        return false;
    if (!s->tile) {
        *out = d->as.i;
        return d->kind == ML_VAL_INT;
    }
    if (d->kind != ML_VAL_LIST || d->n != s->n)
        return false;
    for (uint32_t k = 0; k < s->n; k++) {
        if (d->as.list[k]->kind != ML_VAL_INT)
            return false;
        out[k] = d->as.list[k]->as.i;
    }
    return true;
}

static bool decisions_of(const Sketch *sk, const ml_Trace *t, int64_t *out)
{
    for (uint32_t k = 0; k < sk->n_samplings; k++) {
        const Sampling *s = &sk->s[k];

        if (s->inst >= t->n || !numbers_of(s, t->insts[s->inst]->decision, out + s->at))
            return false;
    }
    return true;
}

static bool take_sketch(ml_Tuner *t, ml_Ctx *cx, const ml_Sketch *from, Sketch *to)
{
    ml_Text json = {0};
    bool ok;

    ml_trace_json(cx, &json, &from->trace);
    ok = ml_trace_from_json(t->base, (ml_Str){ml_text_z(&json), json.n}, &to->trace);
    ml_text_free(&json);
    if (!ok) {
        ml_error_move(cx, t->base);
        return false;
    }
    to->name = ml_strdup(t->keep, ml_str(from->name ? from->name : ""));
    to->signature = signature_of(t->keep, &to->trace);
    to->s = ML_ARRAY(t->keep, Sampling, to->trace.n + 1);
    for (size_t k = 0; k < to->trace.n; k++) {
        Sampling *s = &to->s[to->n_samplings];

        if (!to->trace.insts[k]->prim->has_decision)
            continue;
        if (!read_sampling(to->trace.insts[k], k, s))
            return ml_fail(cx, ML_E_NOT_SUPPORTED,
                           ML_TEXT(ml_format(cx, "%s in a design space",
                                             to->trace.insts[k]->prim->name)));
        s->at = to->n_numbers;
        to->n_numbers += s->tile ? s->n : 1;
        to->n_samplings++;
    }
    to->first = ML_ARRAY(t->keep, int64_t, to->n_numbers + 1);
    if (!decisions_of(to, &to->trace, to->first))
        to->first = NULL;
    return true;
}

bool ml_sketches_take(ml_Tuner *t, ml_Ctx *cx, const ml_Sketch *v, size_t n)
{
    t->sketches = ML_ARRAY(t->keep, Sketch, n + 1);
    t->n_sketches = n;
    for (size_t k = 0; k < n; k++)
        if (!take_sketch(t, cx, &v[k], &t->sketches[k]))
            return false;
    return true;
}

/* ---------------------------------------------------------------- candidates */

typedef struct Decide {
    ml_Ctx *tmp;
    const Sketch *sk;
    const int64_t *d;
    uint32_t at;
} Decide;

/* NULL: sampled afresh. */
static const ml_Value *decide(const ml_Inst *in, const ml_Value *old, void *user)
{
    Decide *de = user;
    const Sampling *s = &de->sk->s[de->at++];
    const ml_Value **list;

    (void)in;
    (void)old;
    if (de->d == NULL || de->d[s->at] < 0)
        return NULL;
    if (!s->tile)
        return ml_val_int(de->tmp, de->d[s->at]);
    list = ML_ARRAY(de->tmp, const ml_Value *, s->n);
    for (uint32_t k = 0; k < s->n; k++)
        list[k] = ml_val_int(de->tmp, de->d[s->at + k]);
    return ml_val_list(de->tmp, list, s->n);
}

static char *heap(ml_Text *t)
{
    char *z = strdup(ml_text_z(t));

    if (z == NULL)
        ml_out_of_memory();
    ml_text_free(t);
    return z;
}

static ml_Schedule *replay(ml_Tuner *t, const ml_Trace *trace, ml_DecideFn *fn, void *user,
                           int64_t seed)
{
    const ml_ScheduleOpts opts = {
        .func = t->func->name, .seed = seed, .render = ML_RENDER_NONE};
    const ml_Error *why = NULL;
    ml_Schedule *s = ml_schedule_new(t->base, t->mod, &opts, &why);

    if (s == NULL)
        return NULL;
    if (ml_trace_apply(s, trace, true, fn, user, NULL))
        return s;
    ml_schedule_unref(s);
    return NULL;
}

static uint64_t hash_of(ml_Schedule *s)
{
    return ml_hash_func(ml_schedule_ctx(s), ml_schedule_func(s), NULL);
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

char *ml_candidate_text(const Candidate *c)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_BinaryRead r;
    ml_Text text = {0};

    if (ml_binary_read(cx, c->program, "", &r))
        ml_print_module(cx, &text, r.mod, NULL);
    ml_ctx_unref(cx);
    return heap(&text);
}

bool ml_candidate_make(ml_Tuner *t, uint32_t k, const int64_t *d, uint32_t seed,
                       Candidate *out)
{
    const Sketch *sk = &t->sketches[k];
    ml_Mark mark = ml_mark(t->tmp);
    Decide de = {t->tmp, sk, d, 0};
    ml_Schedule *s = replay(t, &sk->trace, decide, &de, (int64_t)(seed ? seed : 1));
    ml_Trace trace;
    ml_Text text = {0};
    bool ok = s != NULL;

    *out = (Candidate){.sketch = k};
    if (ok) {
        trace = ml_schedule_trace(s, t->tmp);
        out->d = ML_ARRAY(t->keep, int64_t, sk->n_numbers + 1);
        ok = decisions_of(sk, &trace, out->d);
    }
    if (ok) {
        out->hash = hash_of(s);
        out->program = bytes_of(s);
        ml_trace_json(ml_schedule_ctx(s), &text, &trace);
        out->trace = heap(&text);
    } else {
        t->st.failed[ML_PHASE_REPLAY]++;
    }
    ml_schedule_unref(s);
    ml_error_clear(t->tmp);
    ml_release(t->tmp, mark);
    return ok;
}

void ml_candidate_free(Candidate *c)
{
    union {
        const uint8_t *from;
        void *v;
    } program = {c->program.v};

    free(program.v);
    free(c->trace);
    c->program = (ml_Binary){0};
    c->trace = NULL;
}

bool ml_candidate_of_record(ml_Tuner *t, const ml_Record *r, uint32_t *sketch, int64_t **d,
                            uint64_t *hash)
{
    ml_Ctx *cx = ml_ctx_fork(t->base);
    const char *signature;
    ml_Trace trace;
    ml_Schedule *s;
    bool found = false;

    *hash = 0;
    if (r->trace == NULL || !ml_trace_from_json(cx, ml_str(r->trace), &trace)) {
        ml_ctx_unref(cx);
        return false;
    }
    signature = signature_of(cx, &trace);
    for (uint32_t k = 0; k < t->n_sketches && !found; k++)
        if (ml_streq(signature, t->sketches[k].signature)) {
            *sketch = k;
            *d = ML_ARRAY(t->keep, int64_t, t->sketches[k].n_numbers + 1);
            found = decisions_of(&t->sketches[k], &trace, *d);
        }
    s = replay(t, &trace, NULL, NULL, 1);
    if (s) {
        *hash = hash_of(s);
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
           ml_trace_apply(s, &trace, true, NULL, NULL, NULL);
}

/*
 * mutant - what the mutators of a space make of a candidate: its trace goes to a function of the
 * caller, and what comes back is a candidate of the sketch it is of. One of no sketch, as where
 * a constant of a step was changed, is a new sketch; of these there are few. Source:
 * auto-scheduler 8.
 */
#include "moonloop/tune/search/tuner_impl.h"

#include <stdlib.h>

/* The sketch's steps with these decisions. */
static const char *text_of(ml_Ctx *cx, const Sketch *sk, const int64_t *d)
{
    ml_Trace t = {sk->trace.n, NULL};
    const ml_Inst **insts = ML_ARRAY(cx, const ml_Inst *, t.n + 1);
    ml_Text json = {0};
    const char *z;
    uint32_t at = 0;

    t.insts = insts;
    for (size_t k = 0; k < t.n; k++) {
        ml_Inst *in = ML_NEW(cx, ml_Inst);

        *in = *sk->trace.insts[k];
        if (in->prim->has_decision)
            in->decision = ml_decision_value(cx, &sk->s[at++], d);
        insts[k] = in;
    }
    ml_trace_json(cx, &json, &t);
    z = ml_strdup(cx, ml_str(ml_text_z(&json)));
    ml_text_free(&json);
    return z;
}

/* A sketch of that trace, behind the others. */
static bool add_sketch(ml_Tuner *t, const char *json, uint32_t of, Candidate *out)
{
    Sketch *to = &t->sketches[t->n_sketches];
    ml_Sketch from = {.name = t->sketches[of].name,
                      .posts = t->sketches[of].posts,
                      .n_posts = t->sketches[of].n_posts};

    if (t->n_sketches == t->most_sketches)
        return false;
    if (t->more == NULL)
        t->more = ml_ctx_fork(t->base);
    if (!ml_trace_from_json(t->more, ml_str(json), &from.trace) ||
        !ml_sketch_take(t, t->more, &from, to) || to->first == NULL)
        return false;
    to->space = t->sketches[of].space;
    *out = (Candidate){.sketch = (uint32_t)t->n_sketches, .d = to->first};
    t->shown[t->n_sketches++].name = to->name;
    return true;
}

bool ml_candidate_mutate(ml_Tuner *t, ml_Random *r, const Candidate *from, Candidate *out)
{
    const Sketch *sk = &t->sketches[from->sketch];
    uint32_t seed = (uint32_t)ml_random_below(r, 2147483646) + 1;
    ml_Ctx *cx;
    ml_Trace trace;
    char *json;
    bool ok = false;

    if (t->mutate.fn == NULL)
        return false;
    cx = ml_ctx_fork(t->base);
    json = t->mutate.fn(text_of(cx, sk, from->d), sk->space, seed, t->mutate.user);
    if (json && ml_trace_from_json(cx, ml_str(json), &trace))
        ok =
            ml_candidate_of_trace(t, &trace, out) || add_sketch(t, json, from->sketch, out);
    out->seed = seed;
    free(json);
    ml_ctx_unref(cx);
    return ok;
}

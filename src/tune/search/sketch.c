/*
 * sketch - design spaces as the search holds them: traces and their sampling instructions,
 * whose decisions are a vector of integers. Source: auto-scheduler 2.
 */
#include "moonloop/tune/search/tuner_impl.h"

/* ---------------------------------------------------------------- taking sketches over */

/* What postprocessors added follows from the rest. */
static const char *signature_of(ml_Ctx *cx, const ml_Trace *t)
{
    const ml_Inst **insts = ML_ARRAY(cx, const ml_Inst *, t->n + 1);
    ml_Trace bare = {0, insts};
    ml_Text json = {0};
    const char *z;

    while (bare.n < t->n && !ml_streq(t->insts[bare.n]->prim->kind, "EnterPostproc")) {
        ml_Inst *in = ML_NEW(cx, ml_Inst);

        *in = *t->insts[bare.n];
        in->decision = NULL;
        insts[bare.n++] = in;
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
    *out = (Sampling){.inst = k,
                      .tile = ml_streq(in->prim->kind, "SamplePerfectTile") ||
                              ml_streq(in->prim->kind, "SamplePartitionedTile")};
    if (ml_streq(in->prim->kind, "SampleComputeLocation")) {
        out->place = true;
        out->from = -2;
        out->n = 1;
    } else if (out->tile)
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
        *out = d->as.i - s->from;
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

bool ml_decisions_of(const Sketch *sk, const ml_Trace *t, int64_t *out)
{
    for (uint32_t k = 0; k < sk->n_samplings; k++) {
        const Sampling *s = &sk->s[k];

        if (s->inst >= t->n || !numbers_of(s, t->insts[s->inst]->decision, out + s->at))
            return false;
    }
    return true;
}

bool ml_sketch_take(ml_Tuner *t, ml_Ctx *in, const ml_Sketch *from, Sketch *to)
{
    ml_Text json = {0};
    bool ok;

    *to = (Sketch){0};
    ml_trace_json(in, &json, &from->trace);
    ok = ml_trace_from_json(in, (ml_Str){ml_text_z(&json), json.n}, &to->trace);
    ml_text_free(&json);
    if (!ok)
        return false;
    to->name = ml_strdup(t->keep, ml_str(from->name ? from->name : ""));
    const char **posts = ML_ARRAY(t->keep, const char *, from->n_posts + 1);

    for (size_t k = 0; k < from->n_posts; k++)
        posts[k] = ml_strdup(t->keep, ml_str(from->posts[k]));
    to->posts = from->posts ? posts : NULL;
    to->n_posts = from->n_posts;
    to->signature = signature_of(t->keep, &to->trace);
    to->s = ML_ARRAY(t->keep, Sampling, to->trace.n + 1);
    for (size_t k = 0; k < to->trace.n; k++) {
        Sampling *s = &to->s[to->n_samplings];

        if (!to->trace.insts[k]->prim->has_decision)
            continue;
        if (!read_sampling(to->trace.insts[k], k, s))
            return ml_fail(in, ML_E_NOT_SUPPORTED,
                           ML_TEXT(ml_format(in, "%s in a design space",
                                             to->trace.insts[k]->prim->name)));
        s->at = to->n_numbers;
        to->n_numbers += s->tile ? s->n : 1;
        to->n_samplings++;
    }
    to->first = ML_ARRAY(t->keep, int64_t, to->n_numbers + 1);
    if (!ml_decisions_of(to, &to->trace, to->first))
        to->first = NULL;
    return true;
}

bool ml_sketches_take(ml_Tuner *t, ml_Ctx *cx, const ml_Sketch *v, size_t n)
{
    t->most_sketches = n + (t->mutate.fn ? ML_MUTANTS : 0);
    t->sketches = ML_ARRAY(t->keep, Sketch, t->most_sketches + 1);
    t->n_sketches = n;
    for (size_t k = 0; k < n; k++) {
        if (!ml_sketch_take(t, t->base, &v[k], &t->sketches[k])) {
            ml_error_move(cx, t->base);
            return false;
        }
        t->sketches[k].space = k;
    }
    return true;
}

/* ---------------------------------------------------------------- candidates */

bool ml_candidate_of_trace(ml_Tuner *t, const ml_Trace *trace, Candidate *out)
{
    ml_Mark mark = ml_mark(t->tmp);
    const char *signature = signature_of(t->tmp, trace);
    bool found = false;

    for (uint32_t k = 0; k < t->n_sketches && !found; k++) {
        const Sketch *sk = &t->sketches[k];
        int64_t *d;

        if (!ml_streq(signature, sk->signature))
            continue;
        d = ML_ARRAY(t->keep, int64_t, sk->n_numbers + 1);
        found = ml_decisions_of(sk, trace, d);
        *out = (Candidate){.sketch = k, .d = d};
    }
    ml_release(t->tmp, mark);
    return found;
}

static uint64_t mix(uint64_t h, int64_t v)
{
    h = (h ^ (uint64_t)v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

uint64_t ml_candidate_key(const ml_Tuner *t, const Candidate *c)
{
    uint64_t h = mix(1, c->sketch);

    for (uint32_t k = 0; k < t->sketches[c->sketch].n_numbers; k++) {
        if (c->d == NULL || c->d[k] < 0)
            return 0;
        h = mix(h, c->d[k]);
    }
    return h;
}

/*
 * propose - which program is measured next: first each sketch with the decisions it came
 * with, then what the strategy chooses. A program that was seen before is no proposal.
 * Source: auto-scheduler 12.
 */
#include "moonloop/tune/search/strategy.h"

#include "moonloop/codegen/tensor/tensor.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- programs seen */

/* Where the hash is, or goes. */
static uint64_t *place(const Seen *s, uint64_t hash)
{
    size_t k = (size_t)hash & (s->cap - 1);

    while (s->v[k] && s->v[k] != hash)
        k = (k + 1) & (s->cap - 1);
    return &s->v[k];
}

static void grow(Seen *s)
{
    Seen to = {.n = s->n, .cap = s->cap ? 2 * s->cap : 256};

    to.v = calloc(to.cap, sizeof *to.v);
    if (to.v == NULL)
        ml_out_of_memory();
    for (size_t k = 0; k < s->cap; k++)
        if (s->v[k])
            *place(&to, s->v[k]) = s->v[k];
    free(s->v);
    *s = to;
}

bool ml_seen_has(const Seen *s, uint64_t hash)
{
    return s->n > 0 && *place(s, hash ? hash : 1);
}

bool ml_seen_add(Seen *s, uint64_t hash)
{
    uint64_t *at;

    hash = hash ? hash : 1;
    if (2 * (s->n + 1) > s->cap)
        grow(s);
    at = place(s, hash);
    if (*at)
        return false;
    *at = hash;
    s->n++;
    return true;
}

void ml_valid_add(ml_Tuner *t, const Measured *m)
{
    size_t k = t->valid.n;

    ml_push(t->keep, &t->valid, ((Measured){0}));
    for (; k > 0 && t->valid.v[k - 1].seconds > m->seconds; k--)
        t->valid.v[k] = t->valid.v[k - 1];
    t->valid.v[k] = *m;
}

/* ---------------------------------------------------------------- the next one */

/* What has the decisions of one that was there is not replayed. */
bool ml_candidate_take(ml_Tuner *t, const Candidate *c, Made *out)
{
    uint64_t key = ml_candidate_key(t, c);

    if ((key && ml_seen_has(&t->points, key)) || !ml_materialise(t, c, out))
        return false;
    ml_seen_add(&t->points, ml_candidate_key(t, &out->c));
    if (!ml_seen_add(&t->programs, out->hash)) {
        ml_made_free(out);
        return false;
    }
    ml_made_print(t, out);
    t->proposed++;
    return true;
}

Candidate ml_candidate_any(const ml_Tuner *t, ml_Random *r)
{
    Candidate c = {.sketch = (uint32_t)ml_random_below(r, t->n_sketches)};

    c.seed = (uint32_t)ml_random_below(r, 2147483646) + 1;
    return c;
}

/* How many may be chosen together: no more than are left. */
static size_t batch_of(const ml_Tuner *t)
{
    int64_t left = t->st.total - t->proposed;
    size_t n = t->strategy->kind->batch < ML_BATCH ? t->strategy->kind->batch : ML_BATCH;

    return left > 0 && (size_t)left < n ? (size_t)left : n;
}

bool ml_propose(ml_Tuner *t, Made *out)
{
    while (t->first_left > 0) {
        Candidate c = {.sketch = (uint32_t)(t->n_sketches - t->first_left--)};

        c.d = t->sketches[c.sketch].first;
        if (c.d && ml_candidate_take(t, &c, out))
            return true;
    }
    while (t->n_queue == 0 && !t->used_up) {
        int n = t->strategy->kind->next(t->strategy, batch_of(t), t->queue);

        t->used_up = n < 0;
        t->n_queue = n < 0 ? 0 : (size_t)n;
    }
    if (t->n_queue == 0)
        return false;
    *out = t->queue[0];
    memmove(&t->queue[0], &t->queue[1], --t->n_queue * sizeof t->queue[0]);
    return true;
}

/* ---------------------------------------------------------------- strategies by name */

const StrategyKind *ml_strategy_find(ml_Ctx *cx, const char *name)
{
    ml_Text names = {0};
    size_t k = 0;

    if (name == NULL)
        return ml_strategy_kinds[0];
    for (; ml_strategy_kinds[k]; k++) {
        const ml_Strategy *a = &ml_strategy_kinds[k]->about;

        if (ml_streq(name, a->name) || (a->alias && ml_streq(name, a->alias)))
            return ml_strategy_kinds[k];
    }
    for (k = 0; ml_strategy_kinds[k]; k++) {
        const ml_Strategy *a = &ml_strategy_kinds[k]->about;

        ml_text_fmt(&names, "%s%s%s%s%s", k ? ", " : "", a->name, a->alias ? " (" : "",
                    a->alias ? a->alias : "", a->alias ? ")" : "");
    }
    ml_fail(cx, ML_E_UNKNOWN_NAME,
            ML_TEXT(ml_format(cx, "no strategy is named %s: there are %s", name,
                              ml_text_z(&names))));
    ml_text_free(&names);
    return NULL;
}

const ml_Strategy *ml_strategy_at(size_t k)
{
    for (size_t m = 0; m < k; m++)
        if (ml_strategy_kinds[m] == NULL)
            return NULL;
    return ml_strategy_kinds[k] ? &ml_strategy_kinds[k]->about : NULL;
}

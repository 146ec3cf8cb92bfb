/*
 * baseline - the versions that a timing is compared with: the start, the one before, the
 * best.
 *
 * Where a run is short they are timed again by turns with it: what was measured in another
 * moment says little.
 */
#include "moonloop/work/timing_impl.h"

#include <math.h>

#define SHORT_RUN 0.05 /* seconds; what takes longer is not timed again */
#define LONG_RUN  0.5

enum { ROUNDS = 4, START_SECONDS = 60, MOST_BASELINES = 3, TURN_SAMPLES = 5 };

static uint64_t key_of(const ml_TimingRun *r, int version)
{
    const ml_Module *m = ml_version_program(r->s, version).mod;

    return ml_timing_key(r->cx, r->e, m->funcs[r->at], r->o);
}

/* As it was timed last. */
static void look_up(const ml_TimingRun *r, int version, ml_Baseline *b)
{
    uint64_t key = key_of(r, version);

    *b = (ml_Baseline){version, ml_engine_known(r->e, key), ml_timing_spread(r->e, key),
                       (double)NAN};
}

/* The start is timed briefly when it was not yet; one that fails is not compared with. */
static bool find_start(const ml_TimingRun *r, ml_Baseline *b)
{
    const ml_Work work = ml_work_of(r->cx, r->s, 0, r->at);
    ml_TimeOpts to = ml_timing_opts(r->e, r->o);
    ml_TimeReport t;

    look_up(r, 0, b);
    if (!isnan(b->seconds))
        return true;
    to.mode = ML_TIMING_TUNE; /* a slow start is called twice, and not checked again */
    to.limit = START_SECONDS;
    to.unguarded = true;
    if (!ml_time_work(r->cx, r->w, &work, r->set, &to, &t))
        return ml_timing_goes_on(r->cx);
    b->seconds = t.median;
    b->spread = t.spread;
    ml_engine_remember(r->e, key_of(r, 0), t.median, t.spread);
    return true;
}

static void find_best(const ml_TimingRun *r, ml_Baseline *best)
{
    ml_Baseline b;

    for (int v = 0; v < ml_schedule_n_versions(r->s); v++) {
        if (!ml_version_known(r->s, v))
            continue;
        look_up(r, v, &b);
        if (!isnan(b.seconds) && !(best->seconds <= b.seconds))
            *best = b;
    }
}

static void find_parent(const ml_TimingRun *r, ml_Baseline *b)
{
    ml_Step step;

    if (ml_version_step(r->s, r->version, &step) && step.parent >= 0 &&
        ml_version_known(r->s, step.parent))
        look_up(r, step.parent, b);
}

static bool take_turns(const ml_TimingRun *r, ml_Baseline *const *base, size_t n)
{
    ml_TimeOpts to = ml_timing_opts(r->e, r->o);
    ml_Contender c[MOST_BASELINES + 1] = {{.worker = r->w, .work = r->work}};
    ml_TimeReport t[MOST_BASELINES + 1];
    ml_Work works[MOST_BASELINES];
    ml_Baseline *who[MOST_BASELINES];
    double own = r->out->t.median, longest = own;
    size_t m = 0;

    for (size_t k = 0; k < n && own <= LONG_RUN; k++) {
        if (!(base[k]->seconds <= SHORT_RUN))
            continue;
        longest = fmax(longest, base[k]->seconds);
        works[m] = ml_work_of(r->cx, r->s, base[k]->version, r->at);
        who[m] = base[k];
        c[m + 1] = (ml_Contender){.worker = r->w, .work = &works[m]};
        m++;
    }
    if (m == 0)
        return true;
    to.mode = ML_TIMING_TURN;
    to.runs = longest > SHORT_RUN / TURN_SAMPLES ? 1 : TURN_SAMPLES;
    to.unguarded = true; /* each has been run before */
    if (!ml_time_contest(r->cx, c, m + 1, r->set, &to, ROUNDS, t))
        return ml_timing_goes_on(r->cx); /* of another layout, say */
    for (size_t k = 0; k < m; k++) {
        uint64_t key = key_of(r, who[k]->version);

        ml_engine_remember(r->e, key, t[k + 1].median, t[k + 1].spread);
        who[k]->seconds = t[k + 1].median;
        who[k]->spread = fmax(t[k + 1].spread, ml_timing_spread(r->e, key));
        who[k]->ratio = t[k + 1].median / t[0].median;
    }
    return true;
}

bool ml_timing_compare(const ml_TimingRun *r)
{
    ml_Timing *out = r->out;
    ml_Baseline *all[MOST_BASELINES] = {&out->start, &out->parent, &out->best};
    ml_Baseline *apart[MOST_BASELINES];
    uint64_t key = key_of(r, r->version);
    size_t n = 0;

    ml_engine_remember(r->e, key, out->t.median, out->t.spread);
    out->t.spread = ml_timing_spread(r->e, key);
    out->times = ml_engine_range(r->e, key, &out->least, &out->most);
    if (!r->o->alone && !find_start(r, &out->start))
        return false;
    find_parent(r, &out->parent);
    find_best(r, &out->best);
    for (size_t k = 0; k < MOST_BASELINES; k++) {
        bool again = all[k]->version < 0 || all[k]->version == r->version;

        if (all[k]->version != r->version)
            all[k]->ratio = all[k]->seconds / out->t.median;
        for (size_t j = 0; j < n; j++)
            again |= apart[j]->version == all[k]->version;
        if (!again)
            apart[n++] = all[k];
    }
    if (!r->o->alone && !take_turns(r, apart, n))
        return false;
    for (size_t k = 0; k < MOST_BASELINES; k++) /* one version has one time */
        for (size_t j = 0; j < n; j++)
            if (apart[j]->version == all[k]->version)
                *all[k] = *apart[j];
    return true;
}

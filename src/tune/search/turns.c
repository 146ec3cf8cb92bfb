/*
 * turns - the fastest of a search, measured again before one of them is chosen.
 *
 * A search scores by the least of a few samples, and the least of many such scores is
 * partly luck. So when it ends, the first five are run by turns, A B C D E A B ..., nothing
 * else running. Of a turn's few samples the least counts, so that a moment's disturbance is
 * none; over the turns the lower quartile, since what disturbs the machine for longer
 * disturbs all of them, but not alike: who uses one thread gains by it. While even that is
 * far above what the search measured, the contest goes on. The least of these wins. The
 * winner of an earlier contest takes part. Source: auto-scheduler 16.
 */
#include "moonloop/tune/search/tuner_impl.h"

#include "moonloop/codegen/worker/timing.h"

#include <math.h>

enum {
    ROUNDS = 9,
    LEAST_ROUNDS = 4,
    LONG_ROUNDS = 3, /* the least, of long runs */
    TURN_MS = 300, /* for all of it, or SHARE of the search; the least rounds at any rate */
    PATIENCE = 5,  /* times that, where the machine is disturbed */
};
#define SHARE     0.1
#define DISTURBED 1.15 /* times what the search measured */
#define LONG_RUN  0.01 /* seconds; of such programs none that is WORSE takes part */
#define WORSE     1.1  /* times the first */

/* Whether nobody new is among the first: a contest has places for four and the winner of
 * the one before. */
static bool is_settled(const ml_Tuner *t)
{
    for (size_t k = 0; k < t->valid.n && k < ML_FINAL - 1; k++)
        if (t->valid.v[k].median <= 0)
            return false;
    return true;
}

bool ml_turns_wanted(const ml_Tuner *t)
{
    return !t->decided && !t->no_turns && t->valid.n > 1 && !is_settled(t);
}

/* The winner of the contest before; NULL: there was none. */
static const Measured *champion(const ml_Tuner *t)
{
    const Measured *best = NULL;

    for (size_t k = 0; k < t->valid.n; k++) {
        const Measured *m = &t->valid.v[k];

        if (m->median > 0 && (best == NULL || m->median < best->median))
            best = m;
    }
    return best;
}

/* One that cannot be made again, or has no record to win for, stays out. */
static void enter(ml_Tuner *t, const Measured *m)
{
    Finalist *f = &t->final[t->n_final];

    *f = (Finalist){.record = m->record};
    if (!m->record || !ml_materialise(t, &m->c, &f->m))
        return;
    ml_made_print(t, &f->m);
    t->n_final++;
}

static void choose(ml_Tuner *t)
{
    const Measured *before = champion(t);

    if (before)
        enter(t, before);
    for (size_t k = 0; k < t->valid.n && t->n_final < ML_FINAL; k++) {
        const Measured *m = &t->valid.v[k];

        if (m->seconds > LONG_RUN && m->seconds > WORSE * t->valid.v[0].seconds)
            break;
        if (m != before)
            enter(t, m);
    }
    t->turns_begin = ml_clock();
    t->final_among = t->records.n;
}

/* What a finalist's turns say; sorts them. */
static double score(Finalist *f)
{
    (void)ml_median(f->least.v, f->least.n);
    return f->least.n ? f->least.v[(f->least.n - 1) / 4] : (double)INFINITY;
}

static bool is_disturbed(ml_Tuner *t)
{
    double best = (double)INFINITY;

    for (size_t k = 0; k < t->n_final; k++)
        best = fmin(best, score(&t->final[k]));
    return best > DISTURBED * t->valid.v[0].seconds;
}

static bool is_over(ml_Tuner *t)
{
    double spent = ml_clock() - t->turns_begin;
    double budget = fmax(1e-3 * TURN_MS, SHARE * (t->turns_begin - t->begin));
    size_t rounds = t->turns / t->n_final;
    size_t least = t->valid.v[0].seconds > LONG_RUN ? LONG_ROUNDS : LEAST_ROUNDS;

    if (t->turns % t->n_final != 0)
        return false;
    if (rounds < ROUNDS && (rounds < least || spent < budget))
        return false;
    return rounds >= (size_t)PATIENCE * ROUNDS || spent >= PATIENCE * budget ||
           !is_disturbed(t);
}

static void put_median(ml_Tuner *t, const ml_DbTurn *turn)
{
    for (size_t k = 0; k < t->valid.n; k++)
        if (t->valid.v[k].record == turn->record)
            t->valid.v[k].median = turn->median;
}

static void decide(ml_Tuner *t)
{
    ml_DbQuery key = ml_records_key(t);
    ml_DbTurn v[ML_FINAL];
    int64_t turns = 0;
    size_t n = 0;

    t->decided = true;
    for (size_t k = 0; k < t->n_final; k++) {
        Finalist *f = &t->final[k];

        if (f->failed || f->least.n == 0)
            continue;
        v[n++] = (ml_DbTurn){f->record, score(f), f->samples};
        turns += (int64_t)f->least.n;
    }
    if (n < 2)
        return;
    for (size_t k = 0; k < t->valid.n; k++)
        t->valid.v[k].median = 0;
    for (size_t k = 0; k < n; k++)
        put_median(t, &v[k]);
    t->st.final_of = (int64_t)n;
    t->st.final_turns = turns / (int64_t)n;
    t->st.searched = t->st.best;
    ml_best_update(t);
    key.after = 0;
    if (!ml_db_put_turns(t->db, t->tmp, &key, v, n))
        ml_error_clear(t->tmp); /* the records are there; what they say is told */
}

static ml_Job job_of(const ml_Tuner *t, const Finalist *f)
{
    return (ml_Job){.binary = f->m.program,
                    .func = t->func->name,
                    .target = t->target,
                    .set = t->set,
                    .want = ML_WANT_TIMES | ML_WANT_KEEP,
                    .timing = ML_TIMING_TURN,
                    .compile_limit = 30,
                    .run_limit = fmin(10, ML_RUN_SPARE + 60 * t->valid.v[0].seconds)};
}

bool ml_turns_next(ml_Tuner *t, ml_Ctx *cx)
{
    Slot *s = &t->slot[0];

    if (t->turns == 0 || t->final_among != t->records.n) {
        ml_turns_free(t);
        choose(t);
    }
    if (t->n_final < 2 || is_over(t)) {
        decide(t);
        return true;
    }
    const Finalist *f = &t->final[t->turns++ % t->n_final];
    const ml_Job j = job_of(t, f);

    if (f->failed)
        return true;
    s->since = ml_clock();
    s->doing = SLOT_TURN;
    if (ml_worker_send(s->w, t->tmp, &j))
        return true;
    ml_error_move(cx, t->tmp);
    return false;
}

/* again: the worker was killed from outside, which is no fault of the program. */
void ml_turns_take(ml_Tuner *t, const ml_JobResult *r, bool again)
{
    Finalist *f = &t->final[(t->turns - 1) % t->n_final];

    double least = (double)INFINITY;

    f->failed |= !r->ok && !again;
    for (size_t k = 0; r->ok && k < r->n_samples; k++)
        least = fmin(least, r->samples[k]);
    if (isfinite(least)) {
        ml_push(t->keep, &f->least, least);
        f->samples += (int64_t)r->n_samples;
    }
}

void ml_turns_free(ml_Tuner *t)
{
    for (size_t k = 0; k < t->n_final; k++)
        ml_made_free(&t->final[k].m);
    t->n_final = t->turns = 0;
}

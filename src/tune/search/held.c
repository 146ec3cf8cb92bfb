/*
 * held - results that wait until it is known that no neighbour disturbed them.
 *
 * What was timed since the last look is held back; then the guard, the fastest program
 * known, is timed once more. Where it takes as long as before, the results become records.
 * Where it does not, the machine was, or is, not ours alone: what might be fast among them
 * is timed again first, and of its times the least counts, since a disturbance only makes
 * things slower. A guard that stays slow is the machine as it is now. Source: auto-scheduler
 * 16 (noise).
 */
#include "moonloop/tune/search/tuner_impl.h"

#include <math.h>

enum { ROUNDS = 3 }; /* of timing again */

#define LONGEST   0.5 /* seconds that a result is held, about, */
#define RUNS      20  /* and so many runs of the guard */
#define APART     1.1 /* ratio of two timings of the guard from which on they disagree */
#define MIGHT_WIN 3.0 /* times the best: a disturbed program can be that slow, */
#define LONG_RUN  0.02
#define LONG_WIN  1.5 /* not one that runs for longer than that many seconds */

/* ---------------------------------------------------------------- holding */

double ml_held_best(const ml_Tuner *t)
{
    double best = t->valid.n ? t->valid.v[0].seconds : 0;

    for (size_t k = 0; k < t->n_held; k++)
        if (t->held[k].seconds > 0 && (best <= 0 || t->held[k].seconds < best))
            best = t->held[k].seconds;
    return best;
}

void ml_held_add(ml_Tuner *t, Slot *s, double seconds)
{
    if (t->n_held == 0)
        t->held_since = ml_clock();
    t->held[t->n_held++] = (Held){.m = s->at, .slot = s, .seconds = seconds};
}

bool ml_held_due(const ml_Tuner *t)
{
    return t->n_held > 0 &&
           (t->n_held == ML_BLOCK ||
            ml_clock() - t->held_since >= fmax(LONGEST, RUNS * ml_held_best(t)));
}

/* The fastest of them becomes the guard where it is faster than the one there is. */
static void choose_guard(ml_Tuner *t)
{
    Held *best = NULL;

    for (size_t k = 0; k < t->n_held; k++)
        if (best == NULL || t->held[k].seconds < best->seconds)
            best = &t->held[k];
    if (best == NULL || (t->guard.seconds > 0 && t->guard.seconds <= best->seconds))
        return;
    ml_made_free(&t->guard.m);
    t->guard = *best;
    t->guard.m.trace = NULL;
    best->m.program = (ml_Binary){0};
}

void ml_held_flush(ml_Tuner *t)
{
    for (size_t k = 0; k < t->n_held; k++)
        ml_records_put(t, &t->held[k].m, &(ml_JobResult){.ok = true}, t->held[k].seconds);
    choose_guard(t);
    for (size_t k = 0; k < t->n_held; k++)
        ml_made_free(&t->held[k].m);
    t->n_held = 0;
    t->looks = 0;
}

void ml_held_free(ml_Tuner *t)
{
    for (size_t k = 0; k < t->n_held; k++)
        ml_made_free(&t->held[k].m);
    ml_made_free(&t->guard.m);
    t->n_held = 0;
}

/* ---------------------------------------------------------------- looking again */

static bool send(ml_Tuner *t, ml_Ctx *cx, Held *h, Slot *s, bool guard)
{
    const ml_Job j = {.binary = h->m.program,
                      .func = t->func->name,
                      .target = t->target,
                      .set = t->set,
                      .want = ML_WANT_TIMES | (guard ? ML_WANT_KEEP : 0),
                      .timing = ML_TIMING_TURN,
                      .compile_limit = 30,
                      .run_limit = fmin(10, ML_RUN_SPARE + 60 * h->seconds)};

    s->since = ml_clock();
    s->doing = guard ? SLOT_GUARD : SLOT_AGAIN;
    if (ml_worker_send(s->w, t->tmp, &j))
        return true;
    ml_error_move(cx, t->tmp);
    return false;
}

static Held *guard_of(ml_Tuner *t)
{
    Held *best = &t->guard;

    for (size_t k = 0; k < t->n_held && t->guard.seconds <= 0; k++)
        if (best == &t->guard || t->held[k].seconds < best->seconds)
            best = &t->held[k];
    return best;
}

/* One that is idle, that of the result if possible; NULL: none is. */
static Slot *idle_slot(ml_Tuner *t, const Held *h)
{
    Slot *s = NULL;

    for (size_t k = t->n_slots; k-- > 0;)
        if (t->slot[k].doing == SLOT_IDLE && (s == NULL || &t->slot[k] == h->slot))
            s = &t->slot[k];
    return s;
}

bool ml_held_next(ml_Tuner *t, ml_Ctx *cx)
{
    double best = ml_held_best(t);
    Held *h;
    Slot *s;

    while (t->looks > 0 && t->again < t->n_held &&
           t->held[t->again].seconds >= (best > LONG_RUN ? LONG_WIN : MIGHT_WIN) * best)
        t->again++;
    bool guard = t->looks == 0 || t->again == t->n_held;

    h = guard ? guard_of(t) : &t->held[t->again];
    if ((s = idle_slot(t, h)) == NULL)
        return true;
    t->again += !guard;
    return send(t, cx, h, s, guard);
}

static double least_of(const ml_JobResult *r)
{
    double least = (double)INFINITY;

    for (size_t k = 0; r->ok && k < r->n_samples; k++)
        least = fmin(least, r->samples[k]);
    return least;
}

void ml_held_take(ml_Tuner *t, Slot *s, const ml_JobResult *r)
{
    double now = least_of(r);
    Held *h = s->doing == SLOT_GUARD ? guard_of(t) : &t->held[t->again - 1];
    bool slower = now > APART * h->seconds, faster = APART * now < h->seconds;

    h->seconds = fmin(h->seconds, now);
    if (s->doing == SLOT_AGAIN)
        return;
    if (isinf(now) || !(slower || faster) || t->looks == ROUNDS) {
        if (slower && !isinf(now)) /* so it is from now on */
            h->seconds = now;
        ml_held_flush(t);
        return;
    }
    t->looks++;
    t->st.disturbed++;
    t->again = 0;
}

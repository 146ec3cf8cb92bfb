/*
 * task - the crank over several searches.
 *
 * Between two steps at most one search has work, so that all use one pair of workers. A task
 * is given so many trials as a quarter of its even share of the budget, or so long; then the
 * rule (rule.c) chooses again. Searches that are not at work are kept, with what they
 * know, but not more than MOST_OPEN: one that was closed is opened again from its records.
 * When the budget is used the fastest of each task are measured again by turns, the tasks
 * that take longest first; of a budget in seconds a part is kept for that.
 * Source: auto-scheduler 18.
 */
#include "moonloop/tune/task/task.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/vec.h"
#include "moonloop/core/walk.h"
#include "moonloop/verify/verify.h"

#include <math.h>
#include <stdlib.h>

enum {
    WORKERS = 2,
    MOST_OPEN = 32,
    ROUNDS = 4, /* batches of a task, were all given the same */
    BATCH = 64, /* at most */
};
#define LEAST_SLICE 0.1  /* seconds */
#define FIRST_SHARE 0.5  /* of the seconds: for the first batches */
#define TURNS_SHARE 0.12 /* of the seconds: for turns at the end, */
#define TURNS_LEAST 0.4  /* which take about so many for each task */

typedef struct Task {
    ml_TaskStatus st;
    ml_Ctx *home; /* of its program */
    const ml_Module *mod;
    ml_Tuner *t;            /* NULL: not open */
    ML_VEC(double) history; /* seconds of the best after each batch */
    uint64_t used;          /* when it had work last, to find who waits longest */
    bool measured;          /* its fastest were measured by turns */
} Task;

struct ml_Tasks {
    ml_Ctx *keep;
    ml_TasksOpts o;
    ML_VEC(Task) v;
    ml_Worker *worker[WORKERS];
    uint32_t n_workers;
    ml_Random random;
    enum { PHASE_SEARCH, PHASE_TURNS } phase;
    size_t now, last; /* the task whose turn it is; the one that the rule chose last */
    bool at_work;     /* `now` has work */
    int64_t had;      /* records of `now` before its batch */
    uint64_t clock;   /* counts batches */
    double slice,
        opened_at;   /* of `now`: seconds it was given; when its search was asked for */
    double beside;   /* seconds of first batches beside their slices, */
    size_t n_beside; /* of so many */
    bool begun;
    double begin;
    double paused_at; /* 0: it is not */
    ml_TasksStatus st;
};

/* ---------------------------------------------------------------- the list */

ml_Tasks *ml_tasks_new(ml_Ctx *cx, const ml_TasksOpts *o)
{
    ml_Target host = ml_target_host();
    const ml_WorkerOpts w = {.program = o->worker,
                             .threads = o->threads ? o->threads : ml_threads(&host)};
    ml_Tasks *ts;

    if (o->trials < 0 || o->trials > ML_TUNE_MAX_TRIALS || o->each < 0) {
        ml_fail(cx, ML_E_BAD_ARGUMENT,
                ML_TEXT(ml_format(cx, "trials: from 1 to %d", ML_TUNE_MAX_TRIALS)));
        return NULL;
    }
    if (!(o->seconds >= 0)) {
        ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT("seconds: a number above 0"));
        return NULL;
    }
    ts = calloc(1, sizeof *ts);
    if (ts == NULL)
        ml_out_of_memory();
    ts->keep = ml_ctx_new(0);
    ml_ctx_limits_of(ts->keep, cx);
    ml_ctx_set_limit(ts->keep, 0);
    ts->o = *o;
    ts->o.threads = w.threads;
    ts->random = ml_random("tasks", 0, o->seed);
    ts->now = ts->last = SIZE_MAX;
    ts->n_workers = host.cores > 1 ? WORKERS : 1;
    for (uint32_t k = 0; k < ts->n_workers; k++)
        if ((ts->worker[k] = ml_worker_new(cx, &w)) == NULL) {
            ml_tasks_free(ts);
            return NULL;
        }
    return ts;
}

void ml_tasks_free(ml_Tasks *ts)
{
    if (ts == NULL)
        return;
    for (size_t k = 0; k < ts->v.n; k++) {
        ml_tuner_free(ts->v.v[k].t);
        ml_ctx_unref(ts->v.v[k].home);
    }
    for (uint32_t k = 0; k < ts->n_workers; k++)
        ml_worker_free(ts->worker[k]);
    ml_ctx_unref(ts->keep);
    free(ts);
}

bool ml_task_is_open(const ml_Func *f)
{
    const ml_Value *v = ml_dict_get(f->attrs, "tir.is_scheduled");

    return v == NULL || ((v->kind == ML_VAL_INT || v->kind == ML_VAL_BOOL) && v->as.i == 0);
}

bool ml_tasks_add(ml_Tasks *ts, ml_Ctx *cx, const ml_Module *m, const char *func,
                  const char *name, double weight, double bound, size_t *at)
{
    const ml_Func *f = func ? ml_module_find(m, func) : m->n == 1 ? m->funcs[0] : NULL;
    const char *hash;
    Task t = {.st = {.weight = weight, .bound = bound, .hope = (double)NAN, .favour = 1}};

    if (f == NULL)
        return ml_fail_no_function(cx, m);
    if (!(weight > 0) || !isfinite(weight))
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT("the weight of a task is a number above 0"));
    if (ts->v.n == ML_TASKS_MOST)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT(ml_format(cx, "at most %d tasks", ML_TASKS_MOST)));
    hash = ml_tune_hash(cx, m, f->name);
    for (size_t k = 0; k < ts->v.n; k++)
        if (ml_streq(ts->v.v[k].st.hash, hash)) {
            ts->v.v[k].st.weight += weight;
            *at = k;
            return true;
        }
    t.home = ml_ctx_new(0);
    f = ml_import_func(ml_import_begin(t.home), f);
    t.mod = ml_module_new(t.home, &f, 1, NULL);
    t.st.name = ml_strdup(ts->keep, ml_str(name ? name : f->name));
    t.st.hash = ml_strdup(ts->keep, ml_str(hash));
    ml_Ctx *scratch = ml_ctx_fork(t.home);

    t.st.flop = fmax(1, ml_flops(scratch, f));
    ml_ctx_unref(scratch);
    *at = ts->v.n;
    ml_push(ts->keep, &ts->v, t);
    return true;
}

size_t ml_tasks_count(const ml_Tasks *ts)
{
    return ts->v.n;
}

const ml_TaskStatus *ml_tasks_task(const ml_Tasks *ts, size_t k)
{
    return &ts->v.v[k].st;
}

ml_Db *ml_tasks_db(const ml_Tasks *ts, size_t k)
{
    ml_Tuner *t = ts->v.v[k].t;

    return t ? ml_tuner_db(t) : NULL;
}

ml_Tuner *ml_tasks_tuner(const ml_Tasks *ts)
{
    return ts->now == SIZE_MAX ? NULL : ts->v.v[ts->now].t;
}

/* ---------------------------------------------------------------- the budget */

static double elapsed(const ml_Tasks *ts)
{
    double now = ts->paused_at > 0 ? ts->paused_at : ml_clock();

    return ts->begun ? now - ts->begin : 0;
}

void ml_tasks_pause(ml_Tasks *ts, bool on)
{
    if (on == (ts->paused_at > 0))
        return;
    if (!on)
        ts->begin += ml_clock() - ts->paused_at;
    ts->paused_at = on ? ml_clock() : 0;
    if (ts->at_work)
        ml_tuner_pause(ts->v.v[ts->now].t, on);
}

void ml_tasks_skip(ml_Tasks *ts, size_t k)
{
    ts->v.v[k].st.skipped = ts->v.v[k].st.over = true;
}

void ml_tasks_favour(ml_Tasks *ts, size_t k, double by)
{
    ts->v.v[k].st.favour = fmin(1e6, fmax(1e-6, ts->v.v[k].st.favour * by));
}

/* Seconds of the search that are left; infinity: there is no limit. */
static double time_left(const ml_Tasks *ts)
{
    if (ts->o.seconds <= 0)
        return (double)INFINITY;
    return ts->o.seconds * (ts->phase == PHASE_SEARCH ? 1 - TURNS_SHARE : 1) - elapsed(ts);
}

static int64_t trials_done(const ml_Tasks *ts)
{
    int64_t n = 0;

    for (size_t k = 0; k < ts->v.n; k++)
        n += ts->v.v[k].st.done;
    return n;
}

static int64_t trials_left(const ml_Tasks *ts)
{
    return ts->st.total ? ts->st.total - trials_done(ts) : ML_TUNE_MAX_TRIALS;
}

/* What a first batch may take where earlier runs have measured so much of some tasks that
 * nothing is left for the others; 0: nothing waits for it. */
static int64_t trials_for_first(const ml_Tasks *ts)
{
    int64_t before = 0;
    bool waits = false;

    for (size_t k = 0; k < ts->v.n; k++) {
        before += ts->v.v[k].st.before;
        waits |= !ts->v.v[k].st.over && ts->v.v[k].history.n == 0;
    }
    if (!waits || before == 0 || ts->st.total < (int64_t)ts->v.n)
        return 0;
    return ts->st.total - (trials_done(ts) - before);
}

/* Of a task, by its own limit. */
static int64_t room_of(const ml_Tasks *ts, const Task *t)
{
    return ts->o.each ? ts->o.each - t->st.done : ML_TUNE_MAX_TRIALS - t->st.done;
}

static int64_t batch_of(const ml_Tasks *ts, const Task *t)
{
    int64_t n = BATCH, left = trials_left(ts), room = room_of(ts, t);

    if (ts->st.total) {
        n = ts->st.total / ((int64_t)ts->v.n * ROUNDS);
        n = n < 1 ? 1 : n > BATCH ? BATCH : n;
    }
    if (left <= 0 && t->history.n == 0)
        left = trials_for_first(ts);
    n = n < left ? n : left;
    return n < room ? n : room;
}

/* To open a task takes a while, about as long as the others took. */
static double slice_of(const ml_Tasks *ts, const Task *t)
{
    double left = time_left(ts), beside = 0, share;
    size_t first = 0;

    if (isinf(left))
        return 0;
    for (size_t k = 0; k < ts->v.n; k++)
        first += !ts->v.v[k].st.over && ts->v.v[k].history.n == 0;
    if (ts->n_beside)
        beside = ts->beside / (double)ts->n_beside * (double)(first - 1);
    if (t->history.n == 0)
        share = FIRST_SHARE * (left - beside) / (double)first;
    else
        share = fmin(left, fmax(LEAST_SLICE, ts->o.seconds / (double)(ROUNDS * ts->v.n)));
    return fmax(LEAST_SLICE / 10, share);
}

/* ---------------------------------------------------------------- a task's batch */

/* Takes over what its search says. */
static void look(Task *t)
{
    const ml_TuneStatus *s = ml_tuner_status(t->t);

    t->st.done = s->done;
    t->st.failed = 0;
    for (size_t k = ML_PHASE_BUILD; k < ML_PHASES; k++)
        t->st.failed += s->failed[k];
    t->st.best = s->best;
    t->st.best_record = s->best_record;
    t->st.exhausted = s->exhausted;
}

static void give_batch(ml_Tasks *ts, Task *t)
{
    const ml_TuneStatus *s = ml_tuner_status(t->t);
    int64_t n = batch_of(ts, t);

    ts->had = s->done;
    t->st.batches++;
    t->used = ++ts->clock;
    ml_tuner_turns(t->t, false);
    ml_tuner_more(t->t, s->done + n - s->total);
    ts->slice = slice_of(ts, t);
    ml_tuner_within(t->t, ts->slice);
}

/* The task that waits longest is closed, where too many are open. What is in memory alone
 * stays. */
static void close_one(ml_Tasks *ts)
{
    Task *oldest = NULL;
    size_t n = 0;

    for (size_t k = 0; k < ts->v.n; k++) {
        Task *t = &ts->v.v[k];

        if (t->t == NULL)
            continue;
        n++;
        if (!ml_tuner_status(t->t)->warning && (!oldest || t->used < oldest->used))
            oldest = t;
    }
    if (n < MOST_OPEN || oldest == NULL)
        return;
    ml_tuner_free(oldest->t);
    oldest->t = NULL;
}

/* The batch is at its end. One that measured nothing was the last: whatever gives nothing
 * now will not give more if it is asked again. */
static void join(ml_Tasks *ts)
{
    Task *t = &ts->v.v[ts->now];
    double before = t->history.n ? t->history.v[t->history.n - 1] : 0;

    look(t);
    if (t->history.n == 0 && ts->opened_at > 0) {
        ts->beside += fmax(0, ml_clock() - ts->opened_at - ts->slice);
        ts->n_beside++;
    }
    ml_push(ts->keep, &t->history, t->st.best);
    t->st.gain = before > 0 ? t->st.weight * (before - t->st.best) : 0;
    if (t->st.exhausted || room_of(ts, t) <= 0 || t->st.done == ts->had)
        t->st.over = true;
}

/* ---------------------------------------------------------------- whose turn it is */

static size_t next_task(ml_Tasks *ts)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_TaskTurn *v = ML_ARRAY(tmp, ml_TaskTurn, ts->v.n + 1);
    size_t at;

    for (size_t k = 0; k < ts->v.n; k++) {
        Task *t = &ts->v.v[k];

        v[k] = (ml_TaskTurn){t->history.v, t->history.n, t->st.weight, t->st.bound,
                             t->st.over};
        t->st.hope = t->st.over       ? 0
                     : t->st.best > 0 ? ml_task_gradient(&v[k])
                                      : (double)NAN;
        v[k].weight *= t->st.favour;
    }
    at = ml_task_next(ts->o.rule, v, ts->v.n, ts->last, &ts->random);
    ml_ctx_unref(tmp);
    return at;
}

/* Of those whose fastest were not measured by turns, the one that takes longest. */
static size_t next_of_turns(const ml_Tasks *ts)
{
    size_t at = SIZE_MAX;

    for (size_t k = 0; k < ts->v.n; k++) {
        const Task *t = &ts->v.v[k];

        if (!t->measured && !t->st.refused && t->st.best > 0 && t->st.batches > 0 &&
            (at == SIZE_MAX ||
             t->st.weight * t->st.best > ts->v.v[at].st.weight * ts->v.v[at].st.best))
            at = k;
    }
    return at;
}

static bool search_is_over(const ml_Tasks *ts)
{
    return time_left(ts) <= 0 || (trials_left(ts) <= 0 && trials_for_first(ts) <= 0);
}

static size_t choose(ml_Tasks *ts)
{
    size_t at = SIZE_MAX;

    if (ts->phase == PHASE_SEARCH) {
        at = search_is_over(ts) ? SIZE_MAX : next_task(ts);
        if (at == SIZE_MAX)
            ts->phase = PHASE_TURNS;
        else
            ts->last = at;
    }
    if (ts->phase == PHASE_TURNS && time_left(ts) > TURNS_LEAST)
        at = next_of_turns(ts);
    return at;
}

/* Gives the next task work. */
static ml_TasksState give_work(ml_Tasks *ts)
{
    Task *t;

    if (ts->now == SIZE_MAX && (ts->now = choose(ts)) == SIZE_MAX)
        return ML_TASKS_DONE;
    t = &ts->v.v[ts->now];
    if (t->t == NULL) {
        close_one(ts);
        ts->opened_at = ml_clock();
        return ML_TASKS_OPEN;
    }
    if (ts->phase == PHASE_TURNS) {
        t->measured = true;
        ml_tuner_turns(t->t, true);
        ml_tuner_more(t->t, 0);
    } else if (room_of(ts, t) > 0) {
        give_batch(ts, t);
    } else {
        t->st.over = true;
        ts->now = SIZE_MAX;
        return ML_TASKS_MORE;
    }
    ts->at_work = true;
    return ML_TASKS_MORE;
}

size_t ml_tasks_wanted(const ml_Tasks *ts)
{
    return ts->now;
}

void ml_tasks_opts(const ml_Tasks *ts, ml_TuneOpts *o)
{
    const Task *t = &ts->v.v[ts->now];

    o->mod = t->mod;
    o->func = NULL;
    o->name = t->st.name;
    o->threads = ts->o.threads;
    o->shared = ts->worker;
    o->n_workers = ts->n_workers;
}

/* What was measured in earlier runs counts as batches that brought nothing: how it went is
 * not known. */
static void remember(ml_Tasks *ts, Task *t)
{
    int64_t n = batch_of(ts, t);

    t->st.before = t->st.done;
    for (int64_t k = 0; k<t->st.before; k += n> 0 ? n : BATCH)
        ml_push(ts->keep, &t->history, t->st.best);
}

void ml_tasks_open(ml_Tasks *ts, ml_Tuner *tuner)
{
    Task *t = &ts->v.v[ts->now];

    t->t = tuner;
    t->used = ++ts->clock;
    look(t);
    if (t->history.n == 0 && t->st.done > 0) {
        remember(ts, t);
        ts->now = SIZE_MAX; /* the first batch was there: the rule goes on */
    }
}

void ml_tasks_refuse(ml_Tasks *ts, const char *why)
{
    Task *t = &ts->v.v[ts->now];

    t->st.refused = ml_strdup(ts->keep, ml_str(why));
    t->st.over = true;
    ts->now = SIZE_MAX;
}

/* ---------------------------------------------------------------- the crank */

static const char *first_text(const ml_Error *e)
{
    for (uint32_t k = 0; e && k < e->n_facts; k++)
        if (e->facts[k].kind == ML_FACT_TEXT)
            return e->facts[k].as.text;
    return e ? ml_error_code(e->code) : "not known why";
}

/* A search that fails is its task's end; where no worker can be had nothing goes on. */
static ml_TasksState fail_task(ml_Tasks *ts, ml_Ctx *cx)
{
    const ml_Error *e = ml_error(cx);
    Task *t = &ts->v.v[ts->now];

    if (e && e->code == ML_E_NO_WORKER)
        return ML_TASKS_FAILED;
    look(t);
    ml_tuner_free(t->t);
    t->t = NULL;
    ml_tasks_refuse(ts, first_text(e));
    ml_error_clear(cx);
    return ML_TASKS_MORE;
}

ml_TasksState ml_tasks_step(ml_Tasks *ts, ml_Ctx *cx, double seconds)
{
    ml_TasksState st;
    Task *t;

    if (!ts->begun) {
        ts->begun = true;
        ts->begin = ml_clock();
        ts->st.total = ts->o.trials || ts->o.seconds > 0
                           ? ts->o.trials
                           : ML_TUNE_TRIALS * (int64_t)ts->v.n;
    }
    if (!ts->at_work) {
        if (!ml_poll_cancel(ts->keep)) {
            ml_error_clear(ts->keep);
            return ML_TASKS_CANCELLED;
        }
        if (ts->paused_at > 0)
            return ML_TASKS_MORE; /* who waits waits for something else */
        st = give_work(ts);
        if (!ts->at_work)
            return st;
    }
    t = &ts->v.v[ts->now];
    switch (ml_tuner_step(t->t, cx, seconds)) {
    case ML_TUNE_MORE: look(t); return ML_TASKS_MORE;
    case ML_TUNE_CANCELLED: look(t); return ML_TASKS_CANCELLED;
    case ML_TUNE_FAILED: ts->at_work = false; return fail_task(ts, cx);
    case ML_TUNE_DONE: break;
    }
    if (ts->phase == PHASE_SEARCH)
        join(ts);
    else
        look(t);
    ts->at_work = false;
    ts->now = SIZE_MAX;
    return ML_TASKS_MORE;
}

const ml_TasksStatus *ml_tasks_status(ml_Tasks *ts)
{
    ml_TasksStatus *s = &ts->st;
    int64_t fresh;

    s->done = s->before = s->failed = 0;
    s->weighted = 0;
    s->without = 0;
    s->now = ts->now;
    s->turns = ts->phase == PHASE_TURNS;
    for (size_t k = 0; k < ts->v.n; k++) {
        const Task *t = &ts->v.v[k];

        s->done += t->st.done;
        s->before += t->st.before;
        s->failed += t->st.failed;
        s->weighted += t->st.weight * t->st.best;
        s->without += !(t->st.best > 0);
        if (!s->warning && t->t && ml_tuner_status(t->t)->warning)
            s->warning = ml_strdup(ts->keep, ml_str(ml_tuner_status(t->t)->warning));
    }
    s->elapsed = elapsed(ts);
    s->seconds = ts->o.seconds;
    fresh = s->done - s->before;
    s->eta = (double)NAN;
    if (s->total && fresh > 0)
        s->eta = s->elapsed * fmax(0, (double)(s->total - s->done)) / (double)fresh;
    if (s->seconds > 0)
        s->eta = isnan(s->eta) ? fmax(0, s->seconds - s->elapsed)
                               : fmin(s->eta, fmax(0, s->seconds - s->elapsed));
    return s;
}

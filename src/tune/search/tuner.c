/*
 * tuner - the crank: candidates go to workers to be built, then one after the other to be
 * checked and timed, and into the database; at the end the fastest by turns (turns.c).
 *
 * Programs of one thread: while one worker times, the other builds. Programs of several
 * threads need every core while they are timed, so blocks of candidates are built on all
 * workers and then timed one by one, nothing else running. A worker keeps what it built.
 * Where runs are long, they are what a search waits for: most candidates are given up by
 * the run that checks them, or ended by a limit that follows from the best.
 * Source: auto-scheduler 16.
 */
#include "moonloop/tune/search/strategy.h"

#include "moonloop/codegen/params/count.h"
#include "moonloop/core/script/script.h"
#include "moonloop/tune/model/model.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#define LONG_RUN  0.02 /* seconds of a checking run */
#define FAR_WORSE 6    /* times that of the best, for which it is not waited any more */

/* ---------------------------------------------------------------- making one */

static bool sizes_are_known(ml_Ctx *cx, const ml_Func *f)
{
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        int64_t extent;

        for (uint16_t d = 0; b && d < b->rank; d++)
            if (!ml_eval_size(b->shape[d], NULL, 0, &extent))
                return ml_fail(cx, ML_E_NOT_SUPPORTED,
                               ML_TEXT(ml_format(cx,
                                                 "a program with symbolic sizes is tuned "
                                                 "for some of them: :tune --shape n=1,16 "
                                                 "(dimension %u of %s is one)",
                                                 (unsigned)d, b->name)));
    }
    return true;
}

/* The function alone, in a base context of the search's own. */
static bool take_program(ml_Tuner *t, ml_Ctx *cx, const ml_TuneOpts *o)
{
    const ml_Func *f = o->func ? ml_module_find(o->mod, o->func)
                               : (o->mod->n == 1 ? o->mod->funcs[0] : NULL);
    ml_Text text = {0};

    if (f == NULL)
        return ml_fail_no_function(cx, o->mod);
    if (!sizes_are_known(cx, f))
        return false;
    f = ml_import_func(ml_import_begin(t->base), f);
    t->mod = ml_module_new(t->base, &f, 1, NULL);
    t->func = t->mod->funcs[0];
    ml_print_module(t->tmp, &text, t->mod, NULL);
    t->program = ml_strdup(t->keep, ml_str(ml_text_z(&text)));
    ml_text_free(&text);
    t->args_json = ml_db_args(t->keep, t->func);
    ml_Ctx *of_base = ml_ctx_fork(t->base); /* whose program it is */

    t->st.flop = ml_flops(of_base, t->func);
    ml_ctx_unref(of_base);
    return true;
}

static void take_target(ml_Tuner *t, const ml_TuneOpts *o)
{
    ml_Text json = {0};

    t->target = o->target;
    t->threads = o->threads ? o->threads : ml_threads(&t->target);
    ml_target_json(&t->target, &json);
    t->target_json = ml_strdup(t->keep, ml_str(ml_text_z(&json)));
    ml_text_free(&json);
    t->machine =
        ml_format(t->keep, "%s, %u cores", ml_target_level(&t->target), t->target.cores);
}

static bool make_workers(ml_Tuner *t, ml_Ctx *cx, const ml_TuneOpts *o)
{
    const ml_WorkerOpts w = {.program = o->worker, .threads = t->threads};

    t->shared = o->shared != NULL;
    t->n_slots = o->n_workers ? o->n_workers : t->target.cores > 1 ? 2 : 1;
    t->n_slots = t->n_slots > ML_MAX_WORKERS ? ML_MAX_WORKERS : t->n_slots;
    t->exclusive = t->threads > 1 || t->target.cores < 2;
    for (size_t k = 0; k < t->n_slots; k++) {
        t->slot[k].w = t->shared ? o->shared[k] : ml_worker_new(cx, &w);
        if (t->slot[k].w == NULL)
            return false;
    }
    return true;
}

static bool open_model(ml_Tuner *t, ml_Ctx *cx, const ml_TuneOpts *o)
{
    const ml_ModelOpts opts = {.threads = t->threads, .seed = t->seed};

    t->model = ml_model_open(cx, o->model ? o->model : "xgb", &opts);
    t->st.note = t->model ? t->model->note : NULL;
    return t->model != NULL;
}

ml_Tuner *ml_tuner_new(ml_Ctx *cx, const ml_TuneOpts *o)
{
    const StrategyKind *with = ml_strategy_find(cx, o->with);
    ml_Tuner *t;

    if (with == NULL)
        return NULL;
    if (o->trials < 0 || o->trials > ML_TUNE_MAX_TRIALS) {
        ml_fail(cx, ML_E_BAD_ARGUMENT,
                ML_TEXT(ml_format(cx, "trials: from 1 to %d", ML_TUNE_MAX_TRIALS)));
        return NULL;
    }
    if (o->n_sketches == 0) {
        ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT("the design space has no schedule"));
        return NULL;
    }
    t = calloc(1, sizeof *t);
    if (t == NULL)
        ml_out_of_memory();
    t->base = ml_ctx_new(0);
    t->keep = ml_ctx_new(0);
    t->tmp = ml_ctx_new(0);
    ml_ctx_limits_of(t->tmp, cx);
    ml_ctx_set_limit(t->tmp, 0);
    t->seed = o->seed ? o->seed : 1;
    t->seconds = o->seconds;
    t->name = ml_strdup(t->keep, ml_str(o->name ? o->name : "main"));
    t->space = ml_strdup(t->keep, ml_str(o->space ? o->space : "default"));
    t->post = o->post;
    t->mutate = o->mutate;
    take_target(t, o);
    if (!take_program(t, cx, o) || !ml_sketches_take(t, cx, o->sketches, o->n_sketches) ||
        !ml_start_make(t, cx) || !make_workers(t, cx, o)) {
        ml_tuner_free(t);
        return NULL;
    }
    t->shown = ML_ARRAY(t->keep, ml_TuneSketch, t->most_sketches + 1);
    for (size_t k = 0; k < t->n_sketches; k++)
        t->shown[k].name = t->sketches[k].name;
    t->st.with = with->about.name;
    if ((with->kin->scores || o->model) && !open_model(t, cx, o)) {
        ml_tuner_free(t);
        return NULL;
    }
    if (!with->kin->scores) { /* its name was right; it is asked nothing */
        ml_model_close(t->model);
        t->model = NULL;
        t->st.note = NULL;
    }
    t->strategy = with->kin->start(t);
    t->strategy->kind = with;
    if (!ml_records_open(t, cx, o)) {
        ml_tuner_free(t);
        return NULL;
    }
    return t;
}

void ml_tuner_free(ml_Tuner *t)
{
    if (t == NULL)
        return;
    for (size_t k = 0; k < t->n_slots; k++) {
        Slot *s = &t->slot[k];

        if (s->doing == SLOT_BUILD || s->doing == SLOT_RUN)
            ml_made_free(&s->at);
        for (size_t m = 0; m < s->n_built; m++)
            ml_made_free(&s->built[m]);
        if (!t->shared)
            ml_worker_free(s->w);
        else if (s->doing != SLOT_IDLE)
            ml_worker_kill(s->w);
    }
    for (size_t k = 0; k < t->n_queue; k++)
        ml_made_free(&t->queue[k]);
    if (t->strategy && t->strategy->kind->kin->end)
        t->strategy->kind->kin->end(t->strategy);
    ml_model_close(t->model);
    ml_held_free(t);
    ml_turns_free(t);
    ml_log_stop(t);
    ml_workset_free(t->set);
    ml_db_close(t->given);
    ml_db_close(t->own);
    free(t->programs.v);
    free(t->points.v);
    free(t->log);
    ml_schedule_unref(t->start);
    ml_ctx_unref(t->tmp);
    ml_ctx_unref(t->more);
    ml_ctx_unref(t->keep);
    ml_ctx_unref(t->base);
    free(t);
}

/* ---------------------------------------------------------------- jobs */

/* Whether runs are so long that they, and not compiling, are what a search waits for. */
static bool runs_are_long(const ml_Tuner *t)
{
    return t->checked > LONG_RUN;
}

static ml_Job job_of(const ml_Tuner *t, const Made *m, bool run)
{
    double best = ml_held_best(t);
    double slow = 5 * t->start_seconds; /* what is slower than the start is no find */
    double limit = fmin(10, ML_RUN_SPARE + (best > 0 ? fmin(60 * best, slow) : slow));

    if (runs_are_long(t))
        limit = fmin(limit, 1 + FAR_WORSE * t->checked);
    return (ml_Job){.binary = m->program,
                    .func = t->func->name,
                    .target = t->target,
                    .set = t->set,
                    .want = ML_WANT_KEEP |
                            (run ? ML_WANT_CHECK | ML_WANT_TIMES : ML_WANT_OBJECT),
                    .timing = ML_TIMING_TUNE,
                    .best = best,
                    .checked = t->checked,
                    .compile_limit = 30,
                    .run_limit = limit};
}

static size_t in_work(const ml_Tuner *t)
{
    size_t n = 0;

    for (size_t k = 0; k < t->n_slots; k++)
        n += t->slot[k].n_built + (t->slot[k].doing != SLOT_IDLE);
    return n + t->n_held;
}

static bool any_doing(const ml_Tuner *t, int what)
{
    for (size_t k = 0; k < t->n_slots; k++)
        if ((int)t->slot[k].doing == what)
            return true;
    return false;
}

static bool is_idle(const ml_Tuner *t)
{
    for (size_t k = 0; k < t->n_slots; k++)
        if (t->slot[k].doing != SLOT_IDLE)
            return false;
    return true;
}

/* Whether a program is timed, whatever for. */
static bool is_timing(const ml_Tuner *t)
{
    return any_doing(t, SLOT_RUN) || any_doing(t, SLOT_GUARD) || any_doing(t, SLOT_AGAIN);
}

/* Whether something is left that is no record and waits for nothing else. */
static bool only_held(const ml_Tuner *t)
{
    return t->n_held > 0 && in_work(t) == t->n_held;
}

static bool out_of_time(const ml_Tuner *t)
{
    return t->seconds > 0 && ml_clock() - t->begin >= t->seconds;
}

/* ml_tuner_within */
static bool out_of_slice(const ml_Tuner *t)
{
    return t->slice_end > 0 && ml_clock() >= t->slice_end &&
           t->st.done + (int64_t)in_work(t) > t->slice_from;
}

static bool wants_more(const ml_Tuner *t)
{
    return !t->used_up && !out_of_time(t) && !out_of_slice(t) &&
           t->st.done + (int64_t)in_work(t) < t->st.total;
}

static bool send(ml_Tuner *t, ml_Ctx *cx, Slot *s, bool run)
{
    ml_Job j = job_of(t, &s->at, run);

    s->since = ml_clock();
    s->doing = run ? SLOT_RUN : SLOT_BUILD;
    if (ml_worker_send(s->w, t->tmp, &j))
        return true;
    ml_error_move(cx, t->tmp);
    return false;
}

static bool start_build(ml_Tuner *t, ml_Ctx *cx, Slot *s)
{
    double begin = ml_clock();
    bool ok;

    if (t->round_left-- <= 0) {
        t->round_left = ML_BLOCK - 1;
        t->st.generation++;
        ml_records_refresh(t);
        if (!wants_more(t))
            return true;
    }
    ok = ml_propose(t, &s->at);
    t->st.search_seconds += ml_clock() - begin;
    return !ok || send(t, cx, s, false);
}

static bool start_run(ml_Tuner *t, ml_Ctx *cx, Slot *s)
{
    s->at = s->built[0];
    memmove(&s->built[0], &s->built[1], --s->n_built * sizeof s->built[0]);
    return send(t, cx, s, true);
}

/* Everything runs at once, but one timing at a time; what is held is looked at between. */
static bool assign_shared(ml_Tuner *t, ml_Ctx *cx)
{
    if ((ml_held_due(t) || (only_held(t) && !wants_more(t))) && !is_timing(t) &&
        !ml_held_next(t, cx))
        return false;
    for (size_t k = 0; k < t->n_slots; k++) {
        Slot *s = &t->slot[k];
        bool ok = true;

        if (s->doing != SLOT_IDLE)
            continue;
        if (s->n_built > 0 && !is_timing(t) && !ml_held_due(t))
            ok = start_run(t, cx, s);
        else if (s->n_built < ML_AHEAD && wants_more(t))
            ok = start_build(t, cx, s);
        if (!ok)
            return false;
    }
    return true;
}

/* Blocks of building and of timing. */
static bool assign_exclusive(ml_Tuner *t, ml_Ctx *cx)
{
    size_t share = ML_BLOCK / t->n_slots;

    for (size_t k = 0; k < t->n_slots && !t->timing; k++) {
        Slot *s = &t->slot[k];

        if (s->doing == SLOT_IDLE && s->n_built < share && wants_more(t) &&
            !start_build(t, cx, s))
            return false;
    }
    if (any_doing(t, SLOT_BUILD) || is_timing(t))
        return true;
    t->timing = false;
    if (ml_held_due(t) || (only_held(t) && !wants_more(t))) {
        t->timing = true;
        return ml_held_next(t, cx);
    }
    for (size_t k = 0; k < t->n_slots; k++)
        if (t->slot[k].n_built > 0) {
            t->timing = true;
            return start_run(t, cx, &t->slot[k]);
        }
    return true;
}

/* ---------------------------------------------------------------- results */

static double least(const ml_JobResult *r)
{
    double best = 0;

    for (size_t k = 0; k < r->n_samples; k++)
        if (best == 0 || r->samples[k] < best)
            best = r->samples[k];
    return best;
}

/* A worker that ends at once, whatever it is given, is none; one that ends now and then is
 * a candidate that the compiler cannot stand. */
static bool ended_by_candidate(ml_Tuner *t, Slot *s, bool build, ml_JobResult *r)
{
    const ml_Error *e = ml_error(t->tmp);

    if (e == NULL || e->code != ML_E_NO_WORKER || ++s->ended >= MOST_ENDED)
        return false;
    *r = (ml_JobResult){.code = ML_E_WORKER_CRASHED, .phase = build ? "compile" : "run"};
    ml_error_clear(t->tmp);
    return true;
}

/* SIGKILL comes from outside (a person, a lack of memory): the candidate need not be why.
 */
static bool killed(const ml_JobResult *r)
{
    return !r->ok && r->code == ML_E_WORKER_CRASHED && r->signal == SIGKILL && r->phase &&
           ml_streq(r->phase, "worker");
}

/* What the checking run of the fastest takes is what those of others are judged by. */
static void learn_length(ml_Tuner *t, const ml_JobResult *r)
{
    if (t->fastest > 0 && t->fastest <= least(r))
        return;
    t->fastest = least(r);
    t->checked = r->run_seconds;
}

static bool take(ml_Tuner *t, ml_Ctx *cx, Slot *s)
{
    ml_JobResult r = {0};
    bool build = s->doing == SLOT_BUILD;
    double spent;

    if (ml_worker_take(s->w, t->tmp, &r)) {
        s->ended = 0;
    } else if (!ended_by_candidate(t, s, build, &r)) {
        ml_error_move(cx, t->tmp);
        return false;
    }
    spent = ml_clock() - s->since;
    *(build ? &t->st.build_seconds : &t->st.run_seconds) += spent;
    free(r.object.v);
    if (s->doing == SLOT_GUARD || s->doing == SLOT_AGAIN) {
        ml_held_take(t, s, &r);
        s->doing = SLOT_IDLE;
        return true;
    }
    if (s->doing == SLOT_TURN) {
        s->doing = SLOT_IDLE;
        ml_turns_take(t, &r, killed(&r));
        return true;
    }
    s->doing = SLOT_IDLE;
    if (killed(&r) && !s->at.again) {
        s->at.again = true;
        return send(t, cx, s, !build);
    }
    if (build && r.ok) {
        s->built[s->n_built++] = s->at;
        return true;
    }
    if (r.ok && least(&r) > 0) {
        learn_length(t, &r);
        ml_held_add(t, s, least(&r));
        return true;
    }
    ml_records_put(t, &s->at, &r, 0);
    ml_made_free(&s->at);
    return true;
}

static bool wait_for(ml_Tuner *t, ml_Ctx *cx, double seconds)
{
    struct pollfd pf[ML_MAX_WORKERS];
    Slot *who[ML_MAX_WORKERS];
    nfds_t n = 0;

    for (size_t k = 0; k < t->n_slots; k++) {
        Slot *s = &t->slot[k];
        double left;

        if (s->doing == SLOT_IDLE)
            continue;
        left = ml_worker_time_left(s->w);
        seconds = fmin(seconds, fmax(left, 0));
        pf[n] = (struct pollfd){.fd = ml_worker_fd(s->w), .events = POLLIN};
        who[n++] = s;
    }
    if (poll(pf, n, (int)ceil(1e3 * seconds)) < 0)
        return true; /* a signal: the flag is looked at next */
    for (nfds_t k = 0; k < n; k++)
        if (ml_worker_done(who[k]->w) && !take(t, cx, who[k]))
            return false;
    return true;
}

/* ---------------------------------------------------------------- the crank */

static ml_TuneState failed(ml_Ctx *cx)
{
    const ml_Error *e = ml_error(cx);

    if (e && e->code == ML_E_INTERRUPTED) {
        ml_error_clear(cx);
        return ML_TUNE_CANCELLED;
    }
    return ML_TUNE_FAILED;
}

ml_TuneState ml_tuner_step(ml_Tuner *t, ml_Ctx *cx, double seconds)
{
    ml_Mark mark = ml_mark(t->tmp);
    bool ok = true;

    if (!ml_poll_cancel(t->tmp)) {
        ml_error_clear(t->tmp);
        ml_held_flush(t);
        return ML_TUNE_CANCELLED;
    }
    if (t->st.done >= t->st.total && in_work(t) == 0 && !ml_turns_wanted(t))
        return ML_TUNE_DONE;
    if (!t->ready) {
        t->begin = ml_clock();
        ok = ml_tune_reference(t, cx, t->slot[0].w);
        t->ready = ok;
        t->start_done = ml_clock();
        if (ok)
            ml_log_start(t);
    }
    if (ok && t->slice > 0 && t->slice_end <= 0)
        t->slice_end = ml_clock() + t->slice;
    if (ok && !t->paused)
        ok = t->exclusive ? assign_exclusive(t, cx) : assign_shared(t, cx);
    if (ok && !t->paused && in_work(t) == 0) {
        bool more = wants_more(t);

        t->st.exhausted = t->used_up;
        if (!more && (more = ml_turns_wanted(t)))
            ok = ml_turns_next(t, cx);
        if (ok && in_work(t) == 0) {
            ml_release(t->tmp, mark);
            return more ? ML_TUNE_MORE : ML_TUNE_DONE;
        }
    }
    if (ok && !is_idle(t)) /* else there is something to begin, or it is paused */
        ok = wait_for(t, cx, seconds);
    ml_release(t->tmp, mark);
    return ok ? ML_TUNE_MORE : failed(cx);
}

void ml_tuner_more(ml_Tuner *t, int64_t n)
{
    int64_t room = ML_TUNE_MAX_TRIALS - t->st.total;

    t->st.total += n < 0 ? 0 : n < room ? n : room;
    t->decided = false; /* whoever comes now takes part in another contest */
}

void ml_tuner_pause(ml_Tuner *t, bool on)
{
    double now = ml_clock(), for_ = t->paused ? now - t->paused : 0;

    t->begin += for_; /* what counts the time since then */
    t->start_done += for_;
    t->turns_begin += for_;
    t->held_since += for_;
    t->paused = on ? now : 0;
}

void ml_tuner_turns(ml_Tuner *t, bool wanted)
{
    t->no_turns = !wanted;
}

void ml_tuner_within(ml_Tuner *t, double seconds)
{
    t->slice = seconds;
    t->slice_end = 0;
    t->slice_from = t->st.done;
}

const ml_TuneStatus *ml_tuner_status(ml_Tuner *t)
{
    ml_TuneStatus *s = &t->st;
    double left = (double)(s->total - s->done), now = t->paused ? t->paused : ml_clock();

    s->elapsed = t->ready ? now - t->begin : 0;
    s->rate = s->elapsed > 0 ? (double)t->records.n / s->elapsed : 0;
    s->eta = (double)NAN; /* what earlier searches measured tells nothing about now */
    if (left <= 0)
        s->eta = 0;
    else if (t->records.n > 0)
        s->eta = left * (now - t->start_done) / (double)t->records.n;
    if (t->seconds > 0)
        s->eta = fmin(s->eta, fmax(0, t->seconds - s->elapsed));
    if (t->strategy->kind->kin->show)
        t->strategy->kind->kin->show(t->strategy, s, t->shown);
    return s;
}

size_t ml_tuner_trials(const ml_Tuner *t, const ml_TuneTrial **out)
{
    *out = t->trials.v;
    return t->trials.n;
}

size_t ml_tuner_sketches(ml_Tuner *t, const ml_TuneSketch **out)
{
    if (t->strategy->kind->kin->show)
        t->strategy->kind->kin->show(t->strategy, &t->st, t->shown);
    *out = t->shown;
    return t->n_sketches;
}

ml_Model *ml_tuner_model(ml_Tuner *t)
{
    return t->model;
}

size_t ml_tuner_records(const ml_Tuner *t, const ml_Record *const **out)
{
    *out = t->records.v;
    return t->records.n;
}

ml_Db *ml_tuner_db(ml_Tuner *t)
{
    return t->db;
}

ml_Db *ml_tuner_take_db(ml_Tuner *t)
{
    ml_Db *db = t->own;

    t->own = NULL;
    return db;
}

bool ml_tuner_propose(ml_Tuner *t, ml_Proposal *out)
{
    Made m;

    if (!ml_propose(t, &m))
        return false;
    *out = (ml_Proposal){m.c.sketch, ml_made_text(&m), m.trace, m.hash};
    m.trace = NULL;
    ml_made_free(&m);
    return true;
}

void ml_proposal_free(ml_Proposal *p)
{
    free(p->program);
    free(p->trace);
    *p = (ml_Proposal){0};
}

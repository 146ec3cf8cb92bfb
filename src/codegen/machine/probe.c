/*
 * probe - measures the machine: compiles the programs and takes the best of their times.
 *
 * A figure that cannot be had (an instruction that cannot be written yet, no room) stays
 * NAN; only what ends all of it (no LLVM, no worker, an interruption) is an error. Each
 * program is timed as candidates of a search are, for a few milliseconds, and the least
 * time counts: what disturbs a probe can only make it slower.
 * Source: lowering-and-codegen 8.1, 12; workloads 10.
 */
#include "moonloop/codegen/machine/machine_impl.h"

#include <math.h>

enum {
    PEAK_ROUNDS = 1 << 17, /* of 24 products: half a millisecond */
    CHAIN_ROUNDS = 1 << 14,
    MATH_ROUNDS = 1 << 8, /* of 32 vectors */
    FULL_TRIES = 2,
    PEAK_TRIES = 8,
    COLD_BYTES = 16 << 20,  /* of a stream that is not to be in any cache */
    WARM_BYTES = 128 << 20, /* at most, of one that is too large for all caches */
};

#define PATIENCE 1.0 /* seconds, after which nothing is timed twice */

typedef struct Probe {
    ml_Ctx *cx;
    ml_Worker *w;
    ml_Machine *m;
    bool quick;
    double begin;    /* of all of it */
    const char *why; /* the last program that failed did, or NULL */
} Probe;

/* ---------------------------------------------------------------- one program */

/* Least seconds per call of `tries` timings (one, when the machine is busy); NAN in
 * *seconds: it cannot be compiled or run. false: nothing more can be measured. */
static bool time_program(Probe *p, const char *text, const ml_WorkSet *set, bool cold,
                         int tries, double *seconds)
{
    ml_Job j = {.program = text,
                .target = p->m->target,
                .set = set,
                .want = ML_WANT_TIMES,
                .timing = ML_TIMING_TUNE,
                .cold = cold};
    double least = (double)INFINITY;
    bool crashed = false;

    if (cold) /* emptying the caches takes long: hopeless against this, after two samples */
        j.best = 1e-9;
    *seconds = (double)NAN;
    for (int k = 0; k < tries && (k == 0 || ml_clock() - p->begin < PATIENCE); k++) {
        ml_JobResult r;

        if (!ml_worker_run(p->w, p->cx, &j, &r))
            return false;
        if (!r.ok && r.code == ML_E_NO_TARGET)
            return ml_job_fail(p->cx, &r, "the probe of this machine");
        if (!r.ok) {
            p->why = r.message;
            if (r.code != ML_E_WORKER_CRASHED || crashed)
                return true;
            crashed = true; /* whatever ended it, not the program: once more */
            k--;
            continue;
        }
        for (size_t s = 0; s < r.n_samples; s++)
            least = fmin(least, r.samples[s]);
    }
    if (least > 0 && !isinf(least))
        *seconds = least;
    return true;
}

static ml_WorkArg number(int64_t v)
{
    return (ml_WorkArg){.scalar = {.i = v}, .type = ML_DT_I32};
}

static ml_WorkArg output(ml_Dtype type, const int64_t *lanes)
{
    return (ml_WorkArg){
        .is_tensor = true, .type = type, .rank = 1, .shape = lanes, .written = true};
}

/* ---------------------------------------------------------------- peaks */

/* Accumulators go to and fro between s and c - s: never large, never denormal, and no
 * register holds what it held before. Integers are any. */
static void fill(ml_Tensor *t, bool operands)
{
    ml_Random r = ml_random("machine", operands ? 1 : 0, 1);

    for (int64_t k = 0; k < t->n_lanes; k++) {
        double v = (double)(ml_random_next(&r) >> 40) * 0x1p-24;

        if (ml_dtype_is_int(t->type))
            ml_tensor_set_int(t, k, (int64_t)(int32_t)ml_random_next(&r));
        else if (!operands)
            ml_tensor_set(t, k, 0.25 + 0.5 * v);
        else
            ml_tensor_set(t, k, k < t->n_lanes / 2 ? -1.0 : 1.5 + 0.5 * v);
    }
}

static ml_WorkSet *peak_set(Probe *p, const ml_PeakProbe *q, uint32_t threads)
{
    int64_t n_acc = q->n_acc, n_in = q->n_in, n_out = q->n_acc * (int64_t)p->m->threads;
    ml_Tensor *s = ml_tensor_new(p->cx, q->acc, &n_acc, 1);
    ml_Tensor *x = ml_tensor_new(p->cx, q->in, &n_in, 1);
    ml_WorkSet *set = NULL;

    if (s && x) {
        ml_WorkArg args[5] = {number(threads), number(PEAK_ROUNDS), output(q->acc, &n_acc),
                              output(q->in, &n_in), output(q->acc, &n_out)};

        fill(s, false);
        fill(x, true);
        args[2].initial = s;
        args[3].initial = x;
        args[2].written = args[3].written = false;
        set = ml_workset_new(p->cx, args, ML_COUNT(args));
    }
    ml_tensor_free(s);
    ml_tensor_free(x);
    return set;
}

/* What is to be expected: n times the peak of one thread, or what clock and table say. */
static double likely_peak(const ml_Machine *m, ml_MachineKind k, uint32_t n)
{
    return n > 1 ? n * m->peak[k][0] : ml_machine_nominal(m, k, 1);
}

/* Least seconds of a call; timed again where that is far above what is to be expected
 * (NAN: nothing is), or two timings disagree: a neighbour took part of the time. */
static bool time_steadily(Probe *p, const char *text, const ml_WorkSet *set,
                          double expected, double *seconds)
{
    double least = (double)INFINITY, before = (double)INFINITY, t;

    *seconds = (double)NAN;
    for (int k = 0; k < PEAK_TRIES; k++) {
        if (!time_program(p, text, set, false, 1, &t))
            return false;
        if (isnan(t))
            return true;
        *seconds = least = fmin(least, t);
        if (k > 0 && fmax(t, before) < 1.01 * least && !(least > 1.1 * expected))
            break;
        before = t;
    }
    return true;
}

static bool measure_peak(Probe *p, ml_MachineKind k)
{
    ml_Machine *m = p->m;
    ml_PeakProbe q = ml_probe_peak(p->cx, &m->target, k, m->threads);

    if (q.text == NULL)
        return true;
    for (int all = 0; all < 2; all++) {
        uint32_t n = all ? m->threads : 1;
        ml_WorkSet *set;
        double t;
        bool ok;

        if (all && n == 1) {
            m->peak[k][1] = m->peak[k][0];
            break;
        }
        set = peak_set(p, &q, n);
        ok = set && time_steadily(p, q.text, set,
                                  q.flop * PEAK_ROUNDS * n / likely_peak(m, k, n), &t);
        ml_workset_free(set);
        if (!ok)
            return false;
        m->peak[k][all] = q.flop * PEAK_ROUNDS * n / t;
    }
    return true;
}

/* ---------------------------------------------------------------- the clock */

static bool measure_clock(Probe *p)
{
    int64_t two = 2, one = 1;
    ml_Tensor *x = ml_tensor_new(p->cx, ML_DT_I64, &two, 1);
    ml_WorkArg args[3] = {number(CHAIN_ROUNDS), output(ML_DT_I64, &two),
                          output(ML_DT_I64, &one)};
    ml_WorkSet *set;
    double t;
    bool ok;

    if (x == NULL)
        return false;
    ml_tensor_fill(x, ML_FILL_RANDOM, "machine", 0, 1, 0, 0);
    args[1].initial = x;
    args[1].written = false;
    set = ml_workset_new(p->cx, args, ML_COUNT(args));
    ml_tensor_free(x);
    ok = set && time_program(p, ml_probe_chain(p->cx), set, false, FULL_TRIES, &t);
    ml_workset_free(set);
    if (ok)
        p->m->clock_measured = (double)ML_CHAIN * CHAIN_ROUNDS / t;
    return ok;
}

/* ---------------------------------------------------------------- bandwidth */

typedef struct Level {
    uint64_t bytes;   /* that one thread goes through */
    uint64_t at_once; /* that it moves in a call, at least */
    bool there, cold;
} Level;

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How much memory stays in a level and in none before it. */
static Level level_of(const ml_Machine *m, ml_MachineLevel l, uint32_t threads)
{
    uint64_t l1 = m->cache[ML_MACHINE_L1], l2 = m->cache[ML_MACHINE_L2];
    uint64_t l3 = m->cache[ML_MACHINE_L3], last = larger(larger(l1, l2 * threads), l3);
    Level v = {.there = true};

    switch (l) {
    case ML_MACHINE_L1:
        v.bytes = (l1 ? l1 : 32 << 10) / 2;
        v.at_once = 32 << 20;
        break;
    case ML_MACHINE_L2:
        v.there = l2 >= 4 * l1;
        v.bytes = l2 / 2;
        v.at_once = 16 << 20;
        break;
    case ML_MACHINE_L3: /* the half of a cache that others use too, past what L2s hold */
        v.bytes = smaller(4 * l2, (l3 + l2 * threads) / 2 / threads);
        v.there = v.bytes > 3 * l2 / 2;
        v.at_once = 8 << 20;
        break;
    case ML_MACHINE_MEMORY:
        v.cold = 2 * last > WARM_BYTES;
        v.bytes = (v.cold ? COLD_BYTES : smaller(WARM_BYTES, larger(4 * last, 64 << 20))) /
                  threads;
        break;
    case ML_MACHINE_LEVELS: break;
    }
    return v;
}

static ml_StreamProbe stream_of(Probe *p, ml_MachineLevel l, ml_Traffic what,
                                uint32_t threads, const int64_t room[2])
{
    Level v = level_of(p->m, l, threads);
    uint64_t rounds = (v.at_once + v.bytes - 1) / v.bytes;

    return ml_probe_stream(p->cx, &p->m->target, what, v.bytes, threads,
                           (uint32_t)larger(rounds, 1), room);
}

/* Two buffers for all warm streams, or for those that begin outside the caches. */
static ml_WorkSet *stream_set(Probe *p, bool cold, int64_t room[2])
{
    const int64_t none[2] = {0, 0};

    room[0] = room[1] = 0;
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        for (int k = 0; k < 2 * ML_TRAFFICS; k++) {
            uint32_t n = k % 2 ? p->m->threads : 1;
            Level v = level_of(p->m, (ml_MachineLevel)l, n);
            ml_StreamProbe q;

            if (!v.there || v.cold != cold)
                continue;
            q = stream_of(p, (ml_MachineLevel)l, (ml_Traffic)(k / 2), n, none);
            for (int b = 0; b < 2; b++)
                room[b] = q.lanes[b] > room[b] ? q.lanes[b] : room[b];
        }
    if (room[0] == 0)
        return NULL;
    const ml_WorkArg args[2] = {output(ML_DT_F32, &room[0]), output(ML_DT_F32, &room[1])};

    return ml_workset_new(p->cx, args, ML_COUNT(args));
}

/* Two threads together move no less than one of them. */
static bool is_plausible(const double v[2], uint32_t threads)
{
    return threads > 1 ? v[1] >= v[0] || (isnan(v[0]) && !isnan(v[1])) : !isnan(v[0]);
}

static bool measure_streams(Probe *p, bool cold)
{
    ml_Machine *m = p->m;
    int64_t room[2];
    ml_WorkSet *set = stream_set(p, cold, room);
    bool ok = true;

    if (set == NULL) { /* no such level, or no room for it */
        ml_error_clear(p->cx);
        return true;
    }
    for (int l = 0; l < ML_MACHINE_LEVELS && ok; l++)
        for (int k = 0; k < 2 * ML_TRAFFICS && ok; k++) {
            uint32_t n = k % 2 ? m->threads : 1;
            Level v = level_of(m, (ml_MachineLevel)l, n);
            double *to = &m->bandwidth[l][k / 2][k % 2], t;
            ml_StreamProbe q;

            if (!v.there || v.cold != cold)
                continue;
            if (k % 2 && n == 1) {
                *to = m->bandwidth[l][k / 2][0];
                continue;
            }
            q = stream_of(p, (ml_MachineLevel)l, (ml_Traffic)(k / 2), n, room);
            *to = (double)NAN;
            for (int once = 0; ok && once < 3 && !is_plausible(m->bandwidth[l][k / 2], n);
                 once++) {
                ok = time_program(p, q.text, set, cold, cold ? 3 : 1, &t);
                *to = ok ? fmax(*to, q.bytes / t) : (double)NAN;
            }
        }
    ml_workset_free(set);
    return ok;
}

/* ---------------------------------------------------------------- calls */

static bool measure_calls(Probe *p)
{
    uint32_t n = p->m->threads;
    int64_t lanes = 16 * (int64_t)n, few = 16;
    const ml_WorkArg many = output(ML_DT_F32, &lanes), one = output(ML_DT_F32, &few);
    ml_WorkSet *set = ml_workset_new(p->cx, &one, 1);
    double all = (double)NAN;
    bool ok;

    ok = set &&
         time_program(p, ml_probe_fork(p->cx, 1), set, false, FULL_TRIES, &p->m->call);
    ml_workset_free(set);
    if (!ok || n == 1)
        return ok;
    set = ml_workset_new(p->cx, &many, 1);
    ok = set && time_program(p, ml_probe_fork(p->cx, n), set, false, FULL_TRIES, &all);
    ml_workset_free(set);
    p->m->fork_join = fmax(all - p->m->call, 0);
    if (isnan(all))
        p->m->fork_join = all;
    return ok;
}

/* ---------------------------------------------------------------- functions */

/* Arguments between 1/2 and 1, where each of them is defined and nothing is denormal. */
static ml_WorkSet *math_set(ml_Ctx *cx, const ml_MathProbe *q, int64_t rounds)
{
    int64_t n_in = 2 * q->lanes;
    ml_WorkArg args[3] = {number(rounds), output(q->type, &n_in),
                          output(q->type, &q->lanes)};
    ml_Tensor *x = ml_tensor_new(cx, q->type, &n_in, 1);
    ml_Random r = ml_random("machine", 2, 1);
    ml_WorkSet *set;

    if (x == NULL)
        return NULL;
    for (int64_t k = 0; k < n_in; k++)
        ml_tensor_set(x, k, 0.5 + (double)(ml_random_next(&r) >> 41) * 0x1p-24);
    args[1].initial = x;
    args[1].written = false;
    set = ml_workset_new(cx, args, ML_COUNT(args));
    ml_tensor_free(x);
    return set;
}

bool ml_machine_measure_math(ml_Ctx *cx, ml_Engine *e, ml_Math k, bool f64, double *rate)
{
    ml_Machine *m = ml_engine_machine(e);
    Probe p = {.cx = cx, .w = ml_engine_worker(e, cx, 0), .m = m, .begin = ml_clock()};
    ml_MathProbe q = ml_probe_math(cx, &m->target, k, f64);
    ml_WorkSet *set = p.w ? math_set(cx, &q, MATH_ROUNDS) : NULL;
    double t = (double)NAN;
    bool ok = set && time_steadily(&p, q.text, set, (double)NAN, &t);

    ml_workset_free(set);
    *rate = MATH_ROUNDS * (double)q.lanes / t;
    return ok;
}

/* ---------------------------------------------------------------- all of it */

bool ml_machine_measure(ml_Ctx *cx, ml_Engine *e, bool quick, ml_Machine *out)
{
    ml_Machine m;
    Probe p = {.cx = cx,
               .w = ml_engine_worker(e, cx, 0),
               .m = &m,
               .quick = quick,
               .begin = ml_clock()};

    if (p.w == NULL)
        return false;
    ml_machine_host(ml_engine_threads(e), &m);
    if (!measure_peak(&p, ML_MACHINE_F32) || !measure_peak(&p, ML_MACHINE_F64))
        return false;
    if (isnan(m.peak[ML_MACHINE_F32][0]) || isnan(m.peak[ML_MACHINE_F32][1]))
        return ml_fail(cx, ML_E_CODEGEN_FAILED,
                       ML_TEXT(ml_format(cx, "the probe of this machine failed: %s",
                                         p.why ? p.why : "no time was measured")));
    if (!quick) {
        if (!measure_peak(&p, ML_MACHINE_F16) || !measure_peak(&p, ML_MACHINE_BF16) ||
            !measure_peak(&p, ML_MACHINE_INT8) || !measure_clock(&p) ||
            !measure_calls(&p) || !measure_streams(&p, false) || !measure_streams(&p, true))
            return false;
        m.full = true;
    }
    *out = m;
    return true;
}

/*
 * threads - the threads of a block, each with registers and a place in the code of its own.
 *
 * They run one after the other, each to the next barrier; when all are there, the epoch
 * of the block ends and they go on. Lanes of a warp meet in the same way, before the next
 * warp's turn. Memory of a thread or a warp is put in place when its turn comes. Source:
 * lowering-and-codegen 11.
 */
#include "moonloop/codegen/interp/code.h"

#include <stdlib.h>

enum { WARP = 32, MOST_THREADS = 1 << 16 };

typedef enum Turn { RUNS, AT_WARP, AT_BLOCK, DONE } Turn;

typedef struct Own { /* of a thread or a warp: what a memory holds while it runs */
    uint8_t *data, *defined;
    uint32_t *shadow;
    size_t cap, bytes;
    uint32_t launch;
} Own;

struct ml_Threads {
    const ml_Kernel *kernel;
    uint32_t n, extent[3];
    size_t n_regs;
    ml_Cell *regs;
    uint32_t *pc, *step;
    uint8_t *turn;
    Own *own;        /* n * kernel->n_own; of a warp: at its first lane */
    Own *outside;    /* of the block: kernel->n_own */
    uint32_t epochs; /* over the whole run */
    bool late;       /* a fault that waits for the end of the epoch, with its registers */
    ml_Fault late_fault;
    ml_Cell *late_regs;
    uint32_t late_thread;
};

/* ---- memory of one thread or warp */

static ml_Memory *owned(const ml_Run *run, uint32_t k)
{
    return run->g->owned.v[run->threads->kernel->own + k];
}

static Own *place_of(const ml_Run *run, uint32_t thread, uint32_t k)
{
    const ml_Threads *t = run->threads;
    uint32_t who = owned(run, k)->of == ML_OF_WARP ? thread / WARP * WARP : thread;

    return &t->own[(size_t)who * t->kernel->n_own + k];
}

static void put(ml_Memory *m, const Own *o)
{
    m->data = o->data;
    m->defined = o->defined;
    m->shadow = o->shadow;
    m->cap = o->cap;
    m->bytes = o->bytes;
    m->launch = o->launch;
}

static Own taken(const ml_Memory *m)
{
    return (Own){m->data, m->defined, m->shadow, m->cap, m->bytes, m->launch};
}

static void put_away(const ml_Run *run, uint32_t thread, bool back)
{
    for (uint32_t k = 0; k < run->threads->kernel->n_own; k++) {
        Own *o = place_of(run, thread, k);

        if (back)
            put(owned(run, k), o);
        else
            *o = taken(owned(run, k));
    }
}

/* What was there before the block. */
static void put_outside(const ml_Run *run)
{
    for (uint32_t k = 0; k < run->threads->kernel->n_own; k++)
        put(owned(run, k), &run->threads->outside[k]);
}

void ml_threads_free(ml_Run *run)
{
    ml_Threads *t = run->threads;

    if (!t)
        return;
    if (run->now.epoch) { /* it failed in a thread, whose memory is in place */
        put_away(run, run->now.thread, false);
        put_outside(run);
    }
    for (size_t i = 0; t->own && i < (size_t)t->n * t->kernel->n_own; i++) {
        free(t->own[i].data);
        free(t->own[i].defined);
        free(t->own[i].shadow);
    }
    free(t->regs);
    free(t->own);
    run->threads = NULL;
}

/* Room like `like` for one thread, undefined. */
static bool make_like(ml_Run *run, const ml_Memory *m, const Own *like, Own *o)
{
    size_t units = like->cap / m->unit + 1,
           shadow = like->shadow ? units * m->words * sizeof *o->shadow : 0;

    if (o->cap < like->cap) {
        free(o->data);
        free(o->defined);
        free(o->shadow);
        *o = (Own){0};
        if (!ml_run_take(run, like->cap + units + shadow))
            return false;
        *o = (Own){calloc(like->cap, 1),
                   malloc(units),
                   shadow ? malloc(shadow) : NULL,
                   like->cap,
                   like->bytes,
                   0};
        if (!o->data || !o->defined || (shadow && !o->shadow))
            return false;
    }
    o->bytes = like->bytes;
    memset(o->defined, 0, units);
    if (shadow)
        memset(o->shadow, 0, shadow);
    return true;
}

/* Memory that was taken outside is undefined in each block: shared once, a thread's as
 * often as there are threads. */
static bool make_copies(ml_Run *run)
{
    ml_Threads *t = run->threads;

    for (uint32_t k = 0; k < t->kernel->n_own; k++) {
        t->outside[k] = taken(owned(run, k));
        for (uint32_t i = 0; i < t->n && t->outside[k].data; i++)
            if (!make_like(run, owned(run, k), &t->outside[k], place_of(run, i, k)))
                return false;
    }
    for (size_t k = 0; k < run->g->memories.n; k++) {
        ml_Memory *m = run->g->memories.v[k];

        if (m->owned && m->defined && m->buffer->scope.rank == ML_SCOPE_SHARED)
            memset(m->defined, 0, m->bytes / m->unit);
    }
    return true;
}

/* ---- a block */

static bool no_room(ml_Run *run)
{
    run->fault.code = ML_E_NOT_SUPPORTED;
    run->fault.word = "a block of this many threads in the memory of the run";
    run->fault.pc = run->threads->kernel->body;
    return false;
}

/* Room for the threads of a block of this kernel. */
static bool make_room(ml_Run *run, const ml_Kernel *k, const uint32_t *extent, uint32_t n)
{
    ml_Threads *t = run->threads;
    uint32_t epochs = t ? t->epochs : 0;

    if (t && t->kernel == k && t->n == n) {
        memcpy(t->extent, extent, sizeof t->extent);
        return true;
    }
    ml_threads_free(run);
    t = run->threads = ML_NEW(run->g->cx, ml_Threads);
    t->kernel = k;
    t->n_regs = run->g->regs.n + 1;
    t->epochs = epochs;
    memcpy(t->extent, extent, sizeof t->extent);
    if (n > MOST_THREADS || !ml_run_take(run, n * t->n_regs * sizeof *t->regs))
        return no_room(run);
    t->n = n;
    t->outside = ML_ARRAY(run->g->cx, Own, k->n_own + 1);
    t->pc = ML_ARRAY(run->g->cx, uint32_t, n);
    t->step = ML_ARRAY(run->g->cx, uint32_t, n);
    t->turn = ML_ARRAY(run->g->cx, uint8_t, n);
    t->regs = malloc(n * t->n_regs * sizeof *t->regs);
    t->own = calloc((size_t)n * k->n_own + 1, sizeof *t->own);
    return (t->regs && t->own) || no_room(run);
}

static void start(ml_Run *run, const ml_Kernel *k)
{
    ml_Threads *t = run->threads;

    for (uint32_t i = 0; i < t->n; i++) {
        ml_Cell *r = t->regs + i * t->n_regs;
        uint32_t rest = i;

        memcpy(r, run->r, t->n_regs * sizeof *r);
        for (unsigned d = 0; d < 3; d++) {
            if (k->var[d])
                r[k->reg[d]].i = rest % t->extent[d];
            rest /= t->extent[d];
        }
        r[k->lane].i = i % WARP;
        t->pc[i] = k->body;
        t->turn[i] = RUNS;
        t->step[i] = 0;
    }
}

bool ml_threads_put_off(ml_Run *run)
{
    ml_Threads *t = run->threads;

    if (!t->late ||
        (run->fault.code == ML_E_THREAD_RACE && t->late_fault.code != ML_E_THREAD_RACE)) {
        t->late = true;
        t->late_fault = run->fault;
        t->late_fault.pc = run->pc;
        t->late_thread = run->now.thread;
        if (!t->late_regs)
            t->late_regs = ML_ARRAY(run->g->cx, ml_Cell, t->n_regs);
        memcpy(t->late_regs, run->r, t->n_regs * sizeof *run->r);
    }
    run->fault = (ml_Fault){0};
    return true;
}

/* The fault that was put off: all threads are where they should be, or one failed. */
static bool raise_late(ml_Run *run)
{
    const ml_Threads *t = run->threads;

    run->fault = t->late_fault;
    memcpy(t->regs + t->late_thread * t->n_regs, t->late_regs, t->n_regs * sizeof *t->regs);
    run->r = t->regs + t->late_thread * t->n_regs;
    return false;
}

/* A thread up to where it waits, or to its end. */
static bool run_thread(ml_Run *run, uint32_t i)
{
    ml_Threads *t = run->threads;
    const ml_Ins *at;

    run->r = t->regs + i * t->n_regs;
    run->now.thread = i;
    run->now.step = t->step[i];
    put_away(run, i, true);
    if (!ml_run_from(run, t->pc[i])) {
        return t->late ? raise_late(run) : false; /* it may come of that one */
    }
    put_away(run, i, false);
    at = &run->g->code.v[run->stop];
    t->pc[i] = run->stop + 1;
    t->step[i] = run->now.step;
    t->turn[i] = at->op != ML_I_BARRIER ? DONE : at->x ? AT_WARP : AT_BLOCK;
    return true;
}

static bool diverge(ml_Run *run, uint32_t waits, uint32_t other)
{
    const ml_Threads *t = run->threads;
    ml_Clash *c = ML_NEW(run->g->cx, ml_Clash);

    c->first = (ml_Visit){.thread = waits, .pc = t->pc[waits] - 1};
    c->second = (ml_Visit){.thread = other, .pc = t->pc[other] - 1};
    c->ended = t->turn[other] == DONE;
    run->fault.code = ML_E_DIVERGENT_BARRIER;
    run->fault.pc = c->first.pc;
    run->fault.clash = c;
    run->now.thread = waits;
    run->r = t->regs + waits * t->n_regs;
    put_away(run, waits, true);
    return false;
}

/* Whether threads `from` to `to` wait at one barrier: 1; are all done: 0; -1: neither. */
static int gather(ml_Run *run, uint32_t from, uint32_t to, Turn turn)
{
    const ml_Threads *t = run->threads;
    uint32_t waits = to;

    for (uint32_t i = from; i < to && waits == to; i++)
        if (t->turn[i] == turn)
            waits = i;
    if (waits == to)
        return 0;
    for (uint32_t i = from; i < to; i++)
        if (t->turn[i] != turn || t->pc[i] != t->pc[waits])
            return diverge(run, waits, i) ? 1 : -1;
    for (uint32_t i = from; i < to; i++) {
        t->turn[i] = RUNS;
        if (turn == AT_BLOCK)
            t->step[i] = 0;
    }
    return 1;
}

static bool run_warp(ml_Run *run, uint32_t from, uint32_t to)
{
    const ml_Threads *t = run->threads;
    int met;

    do {
        run->now.warp = ++run->threads->epochs;
        for (uint32_t i = from; i < to; i++)
            if (t->turn[i] == RUNS && !run_thread(run, i))
                return false;
        met = gather(run, from, to, AT_WARP);
    } while (met > 0);
    return met == 0;
}

/* Threads of a block, in each direction 0 or more. */
static uint64_t size_of(const ml_Run *run, const ml_Kernel *k, uint32_t *extent)
{
    uint64_t n = 1;

    for (unsigned d = 0; d < 3; d++) {
        int64_t e = k->var[d] ? run->r[k->extent[d]].i : 1;

        e = e < 0 ? 0 : e > MOST_THREADS ? MOST_THREADS + 1 : e;
        extent[d] = (uint32_t)e;
        n *= (uint64_t)e;
    }
    return n;
}

bool ml_run_threads(ml_Run *run, const ml_Kernel *k)
{
    ml_Cell *outside = run->r;
    uint32_t extent[3];
    uint64_t n = size_of(run, k, extent);
    int met;

    if (n == 0)
        return true;
    if (!make_room(run, k, extent, n > MOST_THREADS ? MOST_THREADS + 1 : (uint32_t)n))
        return false;
    run->launch++;
    start(run, k);
    if (!make_copies(run))
        return no_room(run);
    do {
        run->now.epoch = ++run->threads->epochs;
        for (uint32_t i = 0; i < n; i += WARP)
            if (!run_warp(run, i, i + WARP < n ? i + WARP : (uint32_t)n))
                return false;
        met = gather(run, 0, (uint32_t)n, AT_BLOCK);
        if (run->threads->late && met >= 0) {
            put_away(run, run->threads->late_thread, true);
            run->now.thread = run->threads->late_thread;
            return raise_late(run);
        }
    } while (met > 0);
    if (met < 0)
        return false;
    put_outside(run);
    run->now.epoch = 0;
    run->r = outside;
    return true;
}

const char *ml_thread_text(ml_Ctx *cx, const ml_Run *run, uint32_t thread)
{
    const uint32_t *e = run->threads->extent;

    return ml_format(cx, "(%u, %u, %u)", thread % e[0], thread / e[0] % e[1],
                     thread / e[0] / e[1]);
}

/*
 * race - conflicts between iterations of parallel loops, by time stamps.
 *
 * The clock ticks when an instance of a parallel loop begins and when one of its iterations
 * does. An earlier access with stamp t is of another iteration of the active loop L exactly
 * if start(L) <= t < current(L). Kept per unit of memory: the last change, the last store
 * (changing or not) with the reduction class of its block, and, for each level k, the
 * latest touch that was of an earlier iteration of that level, besides the latest of all;
 * an older one can then never matter. Storing what is there already counts as a read.
 *
 * Two exceptions (DESIGN 4): accesses by one init-form reduction whose reduction runs over
 * threadIdx do not conflict at those levels; and in memory that lowering gives each
 * iteration its own copy of, only reading what another iteration stored last is a conflict.
 */
#include "moonloop/codegen/interp/code.h"

enum { W_CHANGE, W_STORE, W_CLASS, W_READS };

static uint32_t cls_mask(const ml_Run *run, uint32_t cls)
{
    return cls == 0 || cls == ML_CLS_MIXED ? 0 : run->g->cls_mask.v[cls];
}

static bool is_shared(ml_Scope s)
{
    return s.rank == ML_SCOPE_SHARED || s.rank == ML_SCOPE_WARP || ml_scope_is_fragment(s);
}

/* An element of memory that only one thread loop uses was never written: what is read here
 * can only be another thread's. */
bool ml_race_waits(ml_Run *run, const ml_Access *ac)
{
    const ml_Memory *mem = ac->view->mem;

    if (!mem->owned || !is_shared(mem->buffer->scope) || !mem->written_in_parallel)
        return false;
    for (uint32_t k = 0; k < run->n_par; k++)
        if (((mem->private_levels >> k) & 1) && run->par[k]->thread.axis &&
            run->par[k]->thread.axis != ML_AXIS_BLOCK) {
            run->fault.code = ML_E_THREADS_COOPERATE;
            run->fault.par = run->par[k];
            run->fault.buffer = mem->buffer;
            return true;
        }
    return false;
}

/* Describes a conflict with the access at `stamp` at level k. */
static bool conflict(ml_Run *run, const ml_Access *ac, uint32_t k, uint32_t stamp,
                     bool reads)
{
    ml_Par *p = run->par[k];
    ml_Fault *f = &run->fault;
    uint32_t i = p->n;

    while (i > 1 && p->stamps[i - 1] > stamp)
        i--;
    f->code = ML_E_RACE;
    if (p->thread.axis && reads && is_shared(ac->view->mem->buffer->scope))
        f->code = ML_E_THREADS_COOPERATE;
    f->par = p;
    f->buffer = ac->view->mem->buffer;
    f->number[0] = p->values[0] + (p->n > 1 ? (p->values[1] - p->values[0]) * (i - 1) : 0);
    f->number[1] = p->last;
    ml_fault_place(f, run->r, ac->index, ac->view->rank);
    return false;
}

static bool within(const ml_Par *p, uint32_t t)
{
    return t >= p->start && t < p->cur;
}

/* A touch against changes by other iterations. */
static bool against_changes(ml_Run *run, const ml_Access *ac, const uint32_t *w, bool reads)
{
    uint32_t own = ac->view->mem->private_levels;
    uint32_t skip = w[W_CLASS] == ac->cls ? cls_mask(run, ac->cls) : 0;

    if (w[W_STORE] < run->par[0]->start)
        return true;
    for (uint32_t k = 0; k < run->n_par; k++) {
        bool is_private = (own >> k) & 1;
        uint32_t t = is_private ? w[W_STORE] : w[W_CHANGE];
        if ((skip >> k) & 1)
            continue;
        if (within(run->par[k], t) && (!is_private || reads))
            return conflict(run, ac, k, t, reads);
    }
    return true;
}

static void note_touch(ml_Run *run, const ml_Access *ac, uint32_t *w)
{
    uint32_t depth = run->g->max_par, now = run->clock;
    uint32_t *stamp = w + W_READS, *cls = w + W_READS + depth + 1;
    uint32_t last = stamp[depth];

    if (last == now && cls[depth] == ac->cls)
        return;
    for (uint32_t k = 0; k < run->n_par; k++)
        if (last < run->par[k]->cur && last > 0) {
            bool mixed = stamp[k] >= run->par[k]->start && cls[k] != cls[depth];
            stamp[k] = last;
            cls[k] = mixed ? ML_CLS_MIXED : cls[depth];
        }
    if (last >= run->par[run->n_par - 1]->cur && cls[depth] != ac->cls)
        cls[depth] = ML_CLS_MIXED;
    else
        cls[depth] = ac->cls;
    stamp[depth] = now;
}

/* A change against touches by other iterations. */
static bool against_touches(ml_Run *run, const ml_Access *ac, const uint32_t *w)
{
    uint32_t depth = run->g->max_par, own = ac->view->mem->private_levels;
    const uint32_t *stamp = w + W_READS, *cls = w + W_READS + depth + 1;

    if (stamp[depth] < run->par[0]->start)
        return true;
    for (uint32_t k = 0; k < run->n_par; k++) {
        uint32_t at = stamp[depth] < run->par[k]->cur ? depth : k;
        if (((own >> k) & 1) || !within(run->par[k], stamp[at]))
            continue;
        if (cls[at] == ac->cls && ((cls_mask(run, ac->cls) >> k) & 1))
            continue;
        /* What a thread reads of what they share may be what another one writes first. */
        return conflict(run, ac, k, stamp[at], true);
    }
    return true;
}

bool ml_race_read(ml_Run *run, const ml_Access *ac, size_t unit)
{
    const ml_Memory *mem = ac->view->mem;
    uint32_t *w = mem->shadow + unit * mem->words;
    uint32_t active = (1u << run->n_par) - 1;
    uint32_t part = w[W_CLASS] == ac->cls ? 0 : cls_mask(run, w[W_CLASS]);

    if (run->n_par == 0)
        return true;
    if (part) /* a reduction across threads whose threads have not all come by yet */
        for (uint32_t k = 0; k < run->n_par; k++)
            if (((part >> k) & 1) && w[W_STORE] >= run->par[k]->start && w[W_STORE] > 0) {
                (void)conflict(run, ac, k, w[W_STORE], true);
                run->fault.code = ML_E_THREADS_COOPERATE;
                return false;
            }
    if (!against_changes(run, ac, w, true))
        return false;
    if ((~mem->private_levels & active) != 0)
        note_touch(run, ac, w);
    return true;
}

bool ml_race_write(ml_Run *run, const ml_Access *ac, size_t unit, bool changed)
{
    const ml_Memory *mem = ac->view->mem;
    uint32_t *w = mem->shadow + unit * mem->words;
    uint32_t active = (1u << run->n_par) - 1;

    if (run->n_par == 0)
        return true;
    if (!against_changes(run, ac, w, false))
        return false;
    if (changed && !against_touches(run, ac, w))
        return false;
    if (!changed && (~mem->private_levels & active) != 0)
        note_touch(run, ac, w);
    w[W_STORE] = run->clock;
    w[W_CLASS] = ac->cls;
    if (changed)
        w[W_CHANGE] = run->clock;
    return true;
}

static bool tick(ml_Run *run)
{
    if (run->clock < UINT32_MAX - 1) {
        run->clock++;
        return true;
    }
    run->fault.code = ML_E_TOO_LARGE;
    return false;
}

bool ml_race_enter(ml_Run *run, ml_Par *par)
{
    if (!tick(run))
        return false;
    par->n = 0;
    par->start = par->cur = run->clock;
    run->par[run->n_par++] = par;
    return true;
}

bool ml_race_iteration(ml_Run *run, ml_Par *par, int64_t value)
{
    if (!tick(run))
        return false;
    if (par->n == par->cap) {
        uint32_t cap = par->cap ? par->cap * 2 : 64;
        uint32_t *stamps = ML_ARRAY(run->g->cx, uint32_t, cap);
        if (par->n > 0)
            memcpy(stamps, par->stamps, par->n * sizeof *stamps);
        par->stamps = stamps;
        par->cap = cap;
    }
    par->cur = run->clock;
    par->stamps[par->n] = run->clock;
    if (par->n < 2)
        par->values[par->n] = value;
    par->last = value;
    par->n++;
    return true;
}

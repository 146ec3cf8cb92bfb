/*
 * thread_race - accesses of an element by two threads of a block with no barrier between.
 *
 * Kept per unit of memory: the last write, and the last reads of two threads, each with the
 * epoch of its block. Two accesses of one epoch by different threads clash when one of them
 * writes, unless the lanes of one warp met in between. A write of the value that is there
 * already clashes with reads alone. Source: lowering-and-codegen 11.3.
 */
#include "moonloop/codegen/interp/code.h"

#include <stdlib.h>

enum { WARP = 32 };

static bool apart(const ml_Run *run, const ml_Visit *m)
{
    const ml_Visit *now = &run->now;

    return m->epoch == now->epoch && m->thread != now->thread &&
           (m->thread / WARP != now->thread / WARP || m->warp == now->warp);
}

static bool clash(ml_Run *run, const ml_Access *ac, const ml_Visit *first, bool wrote,
                  bool writes)
{
    ml_Clash *c = ML_NEW(run->g->cx, ml_Clash);

    *c = (ml_Clash){.first = *first, .second = run->now, .writes = {wrote, writes}};
    run->fault.code = ML_E_THREAD_RACE;
    run->fault.buffer = ac->view->mem->buffer;
    run->fault.clash = c;
    ml_fault_place(&run->fault, run->r, ac->index, ac->view->rank);
    return ml_threads_put_off(run);
}

static bool make_room(ml_Run *run, ml_Memory *mem)
{
    size_t n = mem->bytes / mem->unit + 1;

    if (n <= mem->n_seen)
        return true;
    free(mem->seen);
    mem->seen =
        ml_run_take(run, n * sizeof *mem->seen) ? calloc(n, sizeof *mem->seen) : NULL;
    mem->n_seen = mem->seen ? n : 0;
    if (mem->seen)
        return true;
    run->fault.code = ML_E_TOO_LARGE;
    run->fault.buffer = mem->buffer;
    return false;
}

bool ml_seen_access(ml_Run *run, const ml_Access *ac, size_t unit, bool write, bool changed)
{
    ml_Seen *s;

    if (!make_room(run, ac->view->mem))
        return false;
    s = &ac->view->mem->seen[unit];
    run->now.pc = run->pc;
    run->now.step++;
    if (apart(run, &s->write) && (!write || changed))
        return clash(run, ac, &s->write, true, write);
    if (!write) {
        ml_Visit *r = &s->read[s->read[0].epoch == run->now.epoch &&
                               s->read[0].thread != run->now.thread];

        *r = run->now;
        return true;
    }
    for (unsigned k = 0; k < 2; k++)
        if (apart(run, &s->read[k]))
            return clash(run, ac, &s->read[k], false, true);
    s->write = run->now;
    return true;
}

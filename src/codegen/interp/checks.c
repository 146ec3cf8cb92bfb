/*
 * checks - what a block promises, checked at run time: its regions, the shapes of its match
 * targets, the domains of its iterators.
 */
#include "moonloop/codegen/interp/code.h"

static bool in_a_box(const ml_Cell *r, const ml_BoxCheck *c)
{
    for (uint32_t k = 0; k < c->n; k++) {
        uint32_t d = 0;
        while (d < c->rank) {
            int64_t ext = r[c->extent[k * c->rank + d]].i;
            uint64_t off =
                (uint64_t)r[c->index[d]].i - (uint64_t)r[c->min[k * c->rank + d]].i;
            if (ext <= 0 || off >= (uint64_t)ext)
                break;
            d++;
        }
        if (d == c->rank)
            return true;
    }
    return false;
}

bool ml_check_region(ml_Run *run, const ml_BoxCheck *c)
{
    ml_Fault *f = &run->fault;

    if (in_a_box(run->r, c))
        return true;
    f->code = ML_E_OUTSIDE_REGION;
    f->block = c->block;
    f->buffer = c->buffer;
    f->word = c->write ? "writes" : "reads";
    ml_fault_place(f, run->r, c->index, c->rank);
    return false;
}

bool ml_check_bounds(ml_Run *run, const ml_BoxCheck *c)
{
    for (uint32_t d = 0; d < c->rank; d++) {
        int64_t i = run->r[c->index[d]].i, ext = run->r[c->extent[d]].i;
        if (i >= 0 && i < ext)
            continue;
        run->fault.code = ML_E_OUT_OF_BOUNDS;
        run->fault.buffer = c->buffer;
        run->fault.number[0] = i;
        run->fault.number[1] = d;
        run->fault.number[2] = ext;
        return false;
    }
    return true;
}

bool ml_check_domain(ml_Run *run, const ml_Ins *ins)
{
    int64_t v = run->r[ins->d].i, min = run->r[ins->a].i, ext = run->r[ins->b].i;
    ml_Fault *f = &run->fault;

    if (ext > 0 && v >= min && (uint64_t)v - (uint64_t)min < (uint64_t)ext)
        return true;
    f->trap = run->g->traps.v[ins->c];
    f->code = f->trap->code;
    f->number[0] = v;
    { /* "[0, 16)" in the place's text */
        uint32_t both[2] = {(uint32_t)ins->a, (uint32_t)ins->b};
        ml_Cell cells[2] = {run->r[both[0]], {.i = 0}};
        static const uint32_t order[2] = {0, 1};
        size_t n;
        if (__builtin_add_overflow(min, ext, &cells[1].i))
            cells[1].i = INT64_MAX;
        ml_fault_place(f, cells, order, 2);
        n = strlen(f->place);
        f->place[n - 1] = ')';
    }
    return false;
}

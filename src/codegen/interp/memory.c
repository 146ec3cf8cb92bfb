/*
 * memory - the memory of allocated buffers: taken when the allocation is reached, kept for
 * the next time it is reached, counted against the limit of the run.
 */
#include "moonloop/codegen/interp/code.h"

#include <stdlib.h>

static bool too_large(ml_Run *run, const ml_View *v)
{
    run->fault.code = ML_E_TOO_LARGE;
    run->fault.buffer = v->buffer;
    return false;
}

bool ml_run_take(ml_Run *run, size_t bytes)
{
    uint64_t limit = run->g->opts.max_bytes ? run->g->opts.max_bytes : UINT64_C(4) << 30;

    run->used_bytes += bytes;
    return run->used_bytes <= limit;
}

static bool geometry(ml_Run *run, ml_View *v, int64_t *size)
{
    const ml_Cell *r = run->r;
    int64_t compact = 1, last = 0, by;
    bool lost = false, empty = false;

    for (size_t d = v->rank; d-- > 0;) {
        int64_t ext = r[v->r_extent[d]].i;
        if (ext < 0)
            ext = 0;
        v->extent[d] = ext;
        v->stride[d] = v->r_stride ? r[v->r_stride[d]].i : compact;
        empty = empty || ext == 0;
        lost = lost || __builtin_mul_overflow(compact, ext ? ext : 1, &compact);
        lost = lost || __builtin_mul_overflow(ext ? ext - 1 : 0, v->stride[d], &by) ||
               by < 0 || __builtin_add_overflow(last, by, &last);
    }
    v->offset = v->r_offset == UINT32_MAX ? 0 : r[v->r_offset].i;
    lost = lost || v->offset < 0 || __builtin_add_overflow(last, v->offset, &last);
    lost = lost || __builtin_add_overflow(last, empty ? 0 : 1, size);
    lost = lost || __builtin_mul_overflow(*size, (int64_t)(v->lane_bytes * v->lanes), size);
    return !lost && *size <= (INT64_C(1) << 46);
}

bool ml_run_shadow(ml_Run *run, ml_Memory *mem)
{
    size_t units = mem->cap / mem->unit + 1;

    mem->words = 3 + 2 * (run->g->max_par + 1); /* see race.c */
    if (!ml_run_take(run, units * mem->words * sizeof(uint32_t)))
        return false;
    free(mem->shadow);
    mem->shadow = calloc(units * mem->words, sizeof(uint32_t));
    return mem->shadow != NULL;
}

bool ml_run_alloc(ml_Run *run, ml_View *v)
{
    ml_Memory *mem = v->mem;
    int64_t size;
    size_t units;

    if (!geometry(run, v, &size))
        return too_large(run, v);
    if (run->now.epoch && mem->of != ML_OF_THREAD) { /* a block or warp has it once */
        if (mem->launch == run->launch)
            return true;
        mem->launch = run->launch;
    }
    mem->bytes = (size_t)size;
    if (mem->shape_only)
        return true;
    if (mem->cap < mem->bytes || mem->data == NULL) {
        void *data = NULL;
        size_t cap = (mem->bytes + 63) / 64 * 64 + 64;
        if (!ml_run_take(run, cap + cap / mem->unit))
            return too_large(run, v);
        free(mem->data);
        free(mem->defined);
        mem->data = mem->defined = NULL;
        mem->cap = cap;
        if (posix_memalign(&data, 64, cap) != 0)
            return too_large(run, v);
        mem->data = data;
        memset(mem->data, 0, cap);
        mem->defined = malloc(cap / mem->unit + 1);
        if (mem->defined == NULL)
            return too_large(run, v);
        if (mem->written_in_parallel && !ml_run_shadow(run, mem))
            return too_large(run, v);
    }
    units = (mem->bytes + mem->unit - 1) / mem->unit;
    memset(mem->defined, 0, units);
    if (mem->shadow)
        memset(mem->shadow, 0, units * mem->words * sizeof(uint32_t));
    return true;
}

bool ml_run_view(ml_Run *run, ml_View *v)
{
    int64_t size;

    if ((v->mem->data == NULL && !v->mem->shape_only) || !geometry(run, v, &size))
        return too_large(run, v);
    if (size > (int64_t)v->mem->bytes) {
        run->fault.code = ML_E_OUT_OF_BOUNDS;
        run->fault.buffer = v->buffer;
        run->fault.number[0] = size;
        run->fault.number[1] = -1;
        run->fault.number[2] = (int64_t)v->mem->bytes;
        return false;
    }
    return true;
}

void ml_run_free(ml_Run *run)
{
    ml_threads_free(run);
    for (size_t k = 0; k < run->g->memories.n; k++) {
        ml_Memory *m = run->g->memories.v[k];
        free(m->shadow);
        free(m->seen);
        if (m->owned) {
            free(m->data);
            free(m->defined);
        }
    }
}

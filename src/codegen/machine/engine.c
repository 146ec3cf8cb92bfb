/* engine - workers, and times that were measured. */
#include "moonloop/codegen/machine/engine.h"

#include "moonloop/codegen/machine/machine.h"

#include <math.h>
#include <stdlib.h>

enum { KNOWN = 256 };

typedef struct Known { /* a measurement */
    uint64_t key;
    double seconds, spread;
    double least, most; /* of all medians so far */
    uint32_t times;
} Known;

struct ml_Engine {
    ml_Target target;
    const ml_TargetKind *device;
    uint32_t threads;
    ml_Worker *workers[ML_ENGINE_WORKERS];
    Known known[KNOWN];
    size_t n_known; /* ever put; the oldest are overwritten */
    ml_Machine machine;
    ml_Reference *reference;
};

ml_Engine *ml_engine_new(void)
{
    ml_Engine *e = calloc(1, sizeof *e);

    if (e == NULL)
        ml_out_of_memory();
    e->target = ml_target_host();
    return e;
}

void ml_engine_stop(ml_Engine *e)
{
    for (size_t k = 0; k < ML_ENGINE_WORKERS; k++) {
        ml_worker_free(e->workers[k]);
        e->workers[k] = NULL;
    }
}

void ml_engine_free(ml_Engine *e)
{
    if (e == NULL)
        return;
    ml_engine_stop(e);
    ml_reference_free(e->reference);
    free(e);
}

void ml_engine_set_target(ml_Engine *e, const ml_Target *t)
{
    e->target = *t;
}

void ml_engine_set_device(ml_Engine *e, const ml_TargetKind *kind)
{
    e->device = kind;
}

const ml_TargetKind *ml_engine_device(const ml_Engine *e)
{
    return e->device;
}

void ml_engine_set_threads(ml_Engine *e, uint32_t threads)
{
    if (threads == e->threads)
        return;
    e->threads = threads;
    ml_engine_stop(e); /* the number is part of a worker's environment */
}

const ml_Target *ml_engine_target(const ml_Engine *e)
{
    return &e->target;
}

uint32_t ml_engine_threads(const ml_Engine *e)
{
    return e->threads ? e->threads : ml_threads(&e->target);
}

ml_Worker *ml_engine_worker(ml_Engine *e, ml_Ctx *cx, unsigned k)
{
    const ml_WorkerOpts o = {.threads = ml_engine_threads(e)};

    ML_ASSERT(k < ML_ENGINE_WORKERS);
    if (e->workers[k] == NULL)
        e->workers[k] = ml_worker_new(cx, &o);
    return e->workers[k];
}

/* The place of a key, or NULL. */
static const Known *find_known(const ml_Engine *e, uint64_t key)
{
    for (size_t k = e->n_known < KNOWN ? e->n_known : KNOWN; k-- > 0;)
        if (e->known[k].key == key)
            return &e->known[k];
    return NULL;
}

double ml_engine_known(const ml_Engine *e, uint64_t key)
{
    const Known *k = find_known(e, key);

    return k ? k->seconds : (double)NAN;
}

double ml_engine_spread(const ml_Engine *e, uint64_t key)
{
    const Known *k = find_known(e, key);

    return k ? k->spread : 0;
}

void ml_engine_remember(ml_Engine *e, uint64_t key, double seconds, double spread)
{
    const Known *there = find_known(e, key);
    size_t k = there ? (size_t)(there - e->known) : e->n_known++ % KNOWN;
    Known now = {key, seconds, spread, seconds, seconds, 1};

    if (there) {
        now.least = fmin(there->least, seconds);
        now.most = fmax(there->most, seconds);
        now.times = there->times + 1;
    }
    e->known[k] = now;
}

uint32_t ml_engine_range(const ml_Engine *e, uint64_t key, double *least, double *most)
{
    const Known *k = find_known(e, key);

    *least = k ? k->least : (double)NAN;
    *most = k ? k->most : (double)NAN;
    return k ? k->times : 0;
}

ml_Machine *ml_engine_machine(ml_Engine *e)
{
    return &e->machine;
}

ml_Reference **ml_engine_reference(ml_Engine *e)
{
    return &e->reference;
}

/*
 * machine - what an engine knows of its machine, and what follows from it for a kernel.
 * Source: interaction 8; lowering-and-codegen 8.1.
 */
#include "moonloop/codegen/machine/machine.h"

#include "moonloop/codegen/machine/machine_impl.h"

#include <math.h>

/* ---------------------------------------------------------------- getting it */

/* Whether what e keeps was measured with the threads it has now. */
static bool fits(const ml_Engine *e, const ml_Machine *m)
{
    return m->threads == ml_engine_threads(e) && m->peak[ML_MACHINE_F32][0] > 0;
}

const ml_Machine *ml_machine_known(ml_Ctx *cx, ml_Engine *e)
{
    ml_Machine *m = ml_engine_machine(e), found;
    const char *path;

    if (fits(e, m))
        return m;
    path = ml_machine_path(cx);
    ml_machine_host(ml_engine_threads(e), &found);
    if (path == NULL || !ml_machine_load(cx, path, &found))
        return NULL;
    found.peak_set = m->peak_set;
    *m = found;
    return m;
}

static double better(double was, double now)
{
    return fmax(was, now); /* NAN where both are */
}

/* The larger of the figures, the smaller of the times. */
static void merge(ml_Machine *now, const ml_Machine *was)
{
    now->clock_measured = better(was->clock_measured, now->clock_measured);
    now->call = fmin(was->call, now->call);
    now->fork_join = fmin(was->fork_join, now->fork_join);
    for (int n = 0; n < 2; n++) {
        for (int k = 0; k < ML_MACHINE_KINDS; k++)
            now->peak[k][n] = better(was->peak[k][n], now->peak[k][n]);
        for (int l = 0; l < ML_MACHINE_LEVELS; l++)
            for (int t = 0; t < ML_TRAFFICS; t++)
                now->bandwidth[l][t][n] =
                    better(was->bandwidth[l][t][n], now->bandwidth[l][t][n]);
    }
    for (int k = 0; k < ML_MATHS; k++)
        for (int t = 0; t < ML_MATH_TYPES; t++)
            now->math[k][t] = better(was->math[k][t], now->math[k][t]);
    now->full |= was->full;
}

const ml_Machine *ml_machine_calibrate(ml_Ctx *cx, ml_Engine *e, bool full, bool keep)
{
    const ml_Machine *known = ml_machine_known(cx, e);
    ml_Machine *m = ml_engine_machine(e), now;
    const char *path = ml_machine_path(cx);

    if (!ml_machine_measure(cx, e, !full, &now))
        return NULL;
    if (keep && known)
        merge(&now, known);
    now.peak_set = m->peak_set;
    if (keep) {
        now.probes = m->probes;
        now.probed = m->probed;
    }
    *m = now;
    if (path)
        (void)ml_machine_store(cx, path, m); /* measured again next time */
    return m;
}

const ml_Machine *ml_machine_get(ml_Ctx *cx, ml_Engine *e, bool full)
{
    const ml_Machine *m = ml_machine_known(cx, e);

    return m && (m->full || !full) ? m : ml_machine_calibrate(cx, e, full, true);
}

bool ml_machine_math(ml_Ctx *cx, ml_Engine *e, const ml_Demand *d)
{
    ml_Machine *m = ml_engine_machine(e);
    const char *path = ml_machine_path(cx);
    bool any = false;

    for (int k = 0; k < ML_MATHS; k++)
        for (int t = 0; t < ML_MATH_TYPES; t++)
            if (d->math[k][t] > 0 && isnan(m->math[k][t])) {
                if (!ml_machine_measure_math(cx, e, (ml_Math)k, t != 0, &m->math[k][t]))
                    return false;
                any = true;
            }
    if (any && path)
        (void)ml_machine_store(cx, path, m);
    return true;
}

void ml_machine_set_peak(ml_Engine *e, double peak)
{
    ml_engine_machine(e)->peak_set = peak > 0 && !isinf(peak) ? peak : 0;
}

/* ---------------------------------------------------------------- beaten figures */

/* Whether a quick measurement has what limits it. */
static bool is_peak(const ml_Demand *d, const ml_Roof *r)
{
    return !r->memory && r->math == ML_MATHS && ml_dtype_is_float(d->type) &&
           d->type.code == ML_FLOAT && d->type.bits >= 32;
}

enum { PROBES = 3 }; /* anew, within PROBES_LAST seconds */
#define PROBES_LAST 60.0

bool ml_machine_beaten(ml_Ctx *cx, ml_Engine *e, const ml_Demand *d, const ml_Roof *r,
                       bool *anew)
{
    ml_Machine *m = ml_engine_machine(e), was;
    bool late = m->probes >= PROBES && ml_clock() - m->probed < PROBES_LAST;

    *anew = !late && !(m->peak_set > 0);
    if (!*anew)
        return true;
    was = *m;
    was.probes = was.probes >= PROBES ? 1 : was.probes + 1;
    was.probed = ml_clock();
    if (!ml_machine_calibrate(cx, e, !is_peak(d, r), true))
        return false;
    m->probes = was.probes;
    m->probed = was.probed;
    for (int k = 0; k < ML_MATHS; k++)
        for (int t = 0; t < ML_MATH_TYPES; t++)
            if (d->math[k][t] > 0)
                m->math[k][t] = (double)NAN;
    if (!ml_machine_math(cx, e, d))
        return false;
    for (int k = 0; k < ML_MATHS; k++)
        for (int t = 0; t < ML_MATH_TYPES; t++)
            m->math[k][t] = better(m->math[k][t], was.math[k][t]);
    return true;
}

/*
 * machine - what an engine knows of its machine, and what follows from it for a kernel.
 * Source: interaction 8; lowering-and-codegen 8.1.
 */
#include "moonloop/codegen/machine/machine.h"

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

void ml_machine_set_peak(ml_Engine *e, double peak)
{
    ml_engine_machine(e)->peak_set = peak > 0 && !isinf(peak) ? peak : 0;
}

/* ---------------------------------------------------------------- roofs */

static int kind_of(const ml_Machine *m, ml_Dtype t)
{
    bool bf16 = m->peak[ML_MACHINE_BF16][0] > 0, f16 = m->peak[ML_MACHINE_F16][0] > 0;

    switch ((ml_Code)t.code) {
    case ML_FLOAT:
        return t.bits == 64          ? ML_MACHINE_F64
               : t.bits == 16 && f16 ? ML_MACHINE_F16
                                     : ML_MACHINE_F32;
    case ML_BFLOAT: return bf16 ? ML_MACHINE_BF16 : ML_MACHINE_F32;
    case ML_INT:
    case ML_UINT: return t.bits == 8 ? ML_MACHINE_INT8 : -1;
    case ML_F8_E4M3FN:
    case ML_F8_E5M2:
    case ML_F8_E4M3:
    case ML_F8_E3M4:
    case ML_F8_E4M3B11FNUZ:
    case ML_F8_E4M3FNUZ:
    case ML_F8_E5M2FNUZ:
    case ML_F8_E8M0FNU:
    case ML_F6_E2M3FN:
    case ML_F6_E3M2FN:
    case ML_F4_E2M1FN: return ML_MACHINE_F32;
    case ML_BOOL:
    case ML_HANDLE:
    case ML_VOID: return -1;
    }
    return -1;
}

/* t times the figure of one thread, between those of one and of all. */
static double between(const ml_Machine *m, const double v[2], uint32_t threads)
{
    if (threads <= 1)
        return v[0];
    if (threads >= m->threads || isnan(v[0]) || isnan(v[1]))
        return v[1];
    return fmin(threads * v[0], fmax(v[0], v[1]));
}

double ml_machine_peak(const ml_Machine *m, ml_Dtype t, uint32_t threads)
{
    int k = kind_of(m, t);
    double of_all = m->peak[ML_MACHINE_F32][1];
    double scale = m->peak_set > 0 && of_all > 0 ? m->peak_set / of_all : 1;

    return k < 0 ? (double)NAN : scale * between(m, m->peak[k], threads);
}

/* The best of these patterns where they were measured, else of all that were. */
static double best_stream(const ml_Machine *m, ml_MachineLevel l, uint32_t threads,
                          int first, int last)
{
    double best = (double)NAN;

    for (int at = l; at < ML_MACHINE_LEVELS && isnan(best); at++) {
        for (int t = first; t <= last; t++)
            best = fmax(best, between(m, m->bandwidth[at][t], threads));
        for (int t = 0; t < ML_TRAFFICS && isnan(best); t++)
            best = fmax(best, between(m, m->bandwidth[at][t], threads));
    }
    return best;
}

double ml_machine_bandwidth(const ml_Machine *m, ml_MachineLevel l, uint32_t threads)
{
    return best_stream(m, l, threads, 0, ML_TRAFFICS - 1);
}

double ml_machine_stream(const ml_Machine *m, ml_MachineLevel l, uint32_t threads,
                         bool reads)
{
    return reads ? best_stream(m, l, threads, ML_TRAFFIC_READ, ML_TRAFFIC_READ)
                 : best_stream(m, l, threads, ML_TRAFFIC_COPY, ML_TRAFFICS - 1);
}

ml_MachineLevel ml_machine_level(const ml_Machine *m, uint32_t threads, double bytes)
{
    double n = threads > 0 ? threads : 1;

    for (int l = 0; l < ML_MACHINE_MEMORY; l++)
        if (bytes <= (double)m->cache[l] * (l == ML_MACHINE_L3 ? 1 : n))
            return (ml_MachineLevel)l;
    return ML_MACHINE_MEMORY;
}

ml_Roof ml_machine_roof(const ml_Machine *m, ml_Dtype t, uint32_t threads, double flop,
                        double bytes, double written)
{
    ml_Roof r = {.peak = ml_machine_peak(m, t, threads),
                 .level = ml_machine_level(m, threads, bytes),
                 .intensity = bytes > 0 ? flop / bytes : (double)INFINITY};
    double computing, moving;

    r.bandwidth = ml_machine_stream(m, r.level, threads, 16 * written < bytes);
    computing = flop > 0 && r.peak > 0 ? flop / r.peak : 0;
    moving = bytes > 0 && r.bandwidth > 0 ? bytes / r.bandwidth : 0;
    r.memory = moving > computing;
    r.limit = fmax(computing, moving);
    return r;
}

/* Whether its peak is among those that a quick measurement leaves out. */
static bool is_narrow(ml_Dtype t)
{
    return t.code == ML_BFLOAT || (t.code == ML_FLOAT && t.bits == 16) ||
           (ml_dtype_is_int(t) && t.bits == 8);
}

enum { PROBES = 3 }; /* anew, when a kernel beats the peak */

bool ml_machine_share(ml_Ctx *cx, ml_Engine *e, ml_Dtype t, uint32_t threads, double rate,
                      double *share)
{
    const ml_Machine *m = ml_machine_get(cx, e, is_narrow(t));

    if (m == NULL)
        return false;
    *share = rate / ml_machine_peak(m, t, threads);
    for (int k = 0; k<PROBES && * share> ML_SHARE_MOST && !(m->peak_set > 0); k++) {
        m = ml_machine_calibrate(cx, e, is_narrow(t), true);
        if (m == NULL)
            return false;
        *share = rate / ml_machine_peak(m, t, threads);
    }
    return true;
}

/*
 * roof - what follows from the measured figures for a program: how long it takes at least.
 *
 * Reading and writing share what moves them in a way of its own on each level, so that a mix
 * is made of the patterns that were measured, whichever take least together. Functions of
 * floats keep the units of products busy, and add to them; divisions and roots have a unit
 * of their own, beside which products go on.
 * Source: workloads 10; lowering-and-codegen 8.1.
 */
#include "moonloop/codegen/machine/machine.h"

#include <math.h>

static int kind_of(const ml_Machine *m, ml_Dtype t)
{
    bool bf16 = m->peak[ML_MACHINE_BF16][0] > 0, f16 = m->peak[ML_MACHINE_F16][0] > 0;

    if (ml_dtype_is_int(t))
        return t.bits == 8 ? ML_MACHINE_INT8 : -1;
    if (!ml_dtype_is_float(t))
        return -1;
    if (t.code == ML_FLOAT && t.bits == 64)
        return ML_MACHINE_F64;
    if (t.code == ML_FLOAT && t.bits == 16 && f16)
        return ML_MACHINE_F16;
    return t.code == ML_BFLOAT && bf16 ? ML_MACHINE_BF16 : ML_MACHINE_F32;
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

/* How many times the measured figures the user says the machine can do. */
static double scale_of(const ml_Machine *m)
{
    double of_all = m->peak[ML_MACHINE_F32][1];

    return m->peak_set > 0 && of_all > 0 ? m->peak_set / of_all : 1;
}

double ml_machine_peak(const ml_Machine *m, ml_Dtype t, uint32_t threads)
{
    int k = kind_of(m, t);

    return k < 0 ? (double)NAN : scale_of(m) * between(m, m->peak[k], threads);
}

/* ---------------------------------------------------------------- moving */

static bool was_measured(const ml_Machine *m, ml_MachineLevel l)
{
    for (int t = 0; t < ML_TRAFFICS; t++)
        if (m->bandwidth[l][t][0] > 0 || m->bandwidth[l][t][1] > 0)
            return true;
    return false;
}

/* That level, or the next one that was measured. */
static ml_MachineLevel measured(const ml_Machine *m, ml_MachineLevel l)
{
    while (l < ML_MACHINE_MEMORY && !was_measured(m, l))
        l++;
    return l;
}

double ml_machine_bandwidth(const ml_Machine *m, ml_MachineLevel l, uint32_t threads)
{
    double best = (double)NAN;

    l = measured(m, l);
    for (int t = 0; t < ML_TRAFFICS; t++)
        best = fmax(best, between(m, m->bandwidth[l][t], threads));
    return best;
}

/* Seconds of so many bytes as a bytes of pattern p and b of q; INFINITY: they have other
 * shares of bytes read. */
static double of_two(const double rate[ML_TRAFFICS], int p, int q, double read,
                     double written)
{
    double rp = ml_traffic_read((ml_Traffic)p), rq = ml_traffic_read((ml_Traffic)q);
    double all = read + written, a = p == q ? all : (read - rq * all) / (rp - rq);
    double b = all - a, slack = 1e-9 * all;

    if (!(rate[p] > 0) || !(rate[q] > 0) || a < -slack || b < -slack ||
        (p == q && fabs(rp * all - read) > slack))
        return (double)INFINITY;
    return a / rate[p] + b / rate[q];
}

double ml_machine_moving(const ml_Machine *m, ml_MachineLevel l, uint32_t threads,
                         double read, double written)
{
    double rate[ML_TRAFFICS], best, least = (double)INFINITY;

    l = measured(m, l);
    best = ml_machine_bandwidth(m, l, threads);
    if (!(best > 0))
        return (double)NAN;
    for (int t = 0; t < ML_TRAFFICS; t++)
        rate[t] = between(m, m->bandwidth[l][t], threads);
    for (int p = 0; p < ML_TRAFFICS; p++)
        for (int q = p; q < ML_TRAFFICS; q++)
            if (p == q || ml_traffic_read((ml_Traffic)p) != ml_traffic_read((ml_Traffic)q))
                least = fmin(least, of_two(rate, p, q, read, written));
    /* what nothing like it was measured for is not judged by more than the best */
    return isinf(least) ? (read + written) / best : least;
}

/* Bytes that the caches of that level hold for so many threads. */
static double room_of(const ml_Machine *m, int l, uint32_t threads)
{
    double n = threads > 0 && l != ML_MACHINE_L3 ? threads : 1;

    return (double)m->cache[l] * n;
}

ml_MachineLevel ml_machine_level(const ml_Machine *m, uint32_t threads, double bytes)
{
    for (int l = 0; l < ML_MACHINE_MEMORY; l++)
        if (bytes <= room_of(m, l, threads))
            return (ml_MachineLevel)l;
    return ML_MACHINE_MEMORY;
}

/* Shares of a cache from which on what is gone through again and again comes from the next
 * level in part, and altogether: sets fill unevenly, and what goes is only a guess of what is
 * not needed soon. Measured on caches of 2 MiB, reads, writes and copies. */
#define FULL     0.7
#define OVERFULL 1.7

double ml_machine_touring(const ml_Machine *m, uint32_t threads, double read,
                          double written)
{
    double bytes = read + written, part;
    int l = 0, next;

    while (l < ML_MACHINE_MEMORY && !(bytes < OVERFULL * room_of(m, l, threads)))
        l++;
    if (l == ML_MACHINE_MEMORY)
        return ml_machine_moving(m, ML_MACHINE_MEMORY, threads, read, written);
    for (next = l + 1; next < ML_MACHINE_MEMORY && m->cache[next] == 0;)
        next++;
    part = (bytes / room_of(m, l, threads) - FULL) / (OVERFULL - FULL);
    part = fmax(0, part);
    return (1 - part) * ml_machine_moving(m, (ml_MachineLevel)l, threads, read, written) +
           part * ml_machine_moving(m, (ml_MachineLevel)next, threads, read, written);
}

/* ---------------------------------------------------------------- computing */

/* Results per second of a function on so many threads; NAN: not measured. */
static double math_rate(const ml_Machine *m, ml_Math k, bool f64, uint32_t threads)
{
    const double *peak = m->peak[f64 ? ML_MACHINE_F64 : ML_MACHINE_F32];

    return scale_of(m) * m->math[k][f64] *
           (threads > 1 ? between(m, peak, threads) / peak[0] : 1);
}

/* Whether a unit of its own does it, while others multiply. */
static bool is_apart(ml_Math k)
{
    return k == ML_MATH_DIVIDE || k == ML_MATH_SQRT || k == ML_MATH_RSQRT;
}

static void add_math(const ml_Machine *m, uint32_t threads, const ml_Demand *d, ml_Roof *r)
{
    double beside = 0, apart = 0, most = 0;

    r->math = ML_MATHS;
    for (int k = 0; k < ML_MATHS; k++) {
        double t = 0;

        for (int f64 = 0; f64 < ML_MATH_TYPES; f64++) {
            double rate = math_rate(m, (ml_Math)k, f64 != 0, threads);

            t += d->math[k][f64] > 0 && rate > 0 ? d->math[k][f64] / rate : 0;
        }
        *(is_apart((ml_Math)k) ? &apart : &beside) += t;
        if (t > most) {
            most = t;
            r->math = (ml_Math)k;
        }
    }
    r->in_math = most;
    r->computing = fmax(r->computing + beside, apart);
    if (most <= 0.5 * r->computing)
        r->math = ML_MATHS;
}

static ml_Roof roof_at(const ml_Machine *m, uint32_t threads, const ml_Demand *d,
                       ml_MachineLevel l, double moving)
{
    double bytes = d->read + d->written;
    ml_Roof r = {.peak = ml_machine_peak(m, d->type, threads),
                 .level = l,
                 .intensity = bytes > 0 ? d->flop / bytes : (double)INFINITY};

    r.computing = d->flop > 0 && r.peak > 0 ? d->flop / r.peak : 0;
    add_math(m, threads, d, &r);
    r.bandwidth = bytes > 0 ? bytes / moving : ml_machine_bandwidth(m, l, threads);
    r.moving = bytes > 0 && moving > 0 ? moving : 0;
    r.memory = r.moving > r.computing;
    r.limit = fmax(r.computing, r.moving);
    return r;
}

ml_Roof ml_machine_roof(const ml_Machine *m, uint32_t threads, const ml_Demand *d)
{
    return roof_at(m, threads, d, ml_machine_level(m, threads, d->read + d->written),
                   ml_machine_touring(m, threads, d->read, d->written));
}

ml_Roof ml_machine_roof_cold(const ml_Machine *m, uint32_t threads, const ml_Demand *d)
{
    return roof_at(m, threads, d, ML_MACHINE_MEMORY,
                   ml_machine_moving(m, ML_MACHINE_MEMORY, threads, d->read, d->written));
}

const char *ml_roof_name(const ml_Roof *r)
{
    return r->memory                             ? ml_machine_level_name(r->level)
           : r->math != ML_MATHS && r->limit > 0 ? ml_math_name(r->math)
                                                 : "compute";
}

/* roofs - see roofs.h. */
#include "moonloop/work/roofs.h"

#include "moonloop/core/specialize.h"
#include "moonloop/work/timing_impl.h"

#include <math.h>

/* What must be computed and moved: by the start's count, or by that which was given. */
typedef struct Needs {
    ml_Demand start, own; /* own: of the version */
    bool less;
} Needs;

static Needs needs_of(ml_Ctx *cx, const ml_Func *start, const ml_Func *version,
                      const ml_TimingOpts *o, double flop)
{
    Needs n = {.start = ml_demand_of(cx, start, o->sizes, o->n_sizes)};

    n.start.flop = flop;
    n.own = version == start ? n.start
                             : ml_demand_of_version(cx, &n.start, version, o->sizes,
                                                    o->n_sizes, &n.less);
    return n;
}

static ml_MachineKind kind_of(ml_Dtype t)
{
    if (t.code == ML_FLOAT && t.bits == 64)
        return ML_MACHINE_F64;
    return t.code == ML_FLOAT && t.bits == 16 ? ML_MACHINE_F16 : ML_MACHINE_F32;
}

static void add_roofs(const ml_Machine *m, uint32_t all, const Needs *n,
                      const ml_TimingOpts *o, ml_Timing *out)
{
    out->roof =
        (o->cold ? ml_machine_roof_cold : ml_machine_roof)(m, out->threads, &n->own);
    out->bounded = ml_time_bound(m, all, &n->own, o->cold);
    out->bounded.less = n->less;
}

/* Seconds that it took less than the machine allows, as a factor. */
static double beaten_by(const ml_Timing *out)
{
    return fmax(out->bounded.seconds, out->roof.limit) / out->t.median;
}

static void add_shares(const ml_Machine *m, const Needs *n, ml_Timing *out)
{
    double bytes = n->own.read + n->own.written;

    if (n->start.flop > 0 && ml_demand_has_peak(&n->start)) {
        out->peak = ml_machine_peak(m, n->start.type, out->threads);
        out->share = n->start.flop / out->t.median / out->peak;
        out->nominal = ml_machine_nominal(m, kind_of(n->start.type), out->threads);
        out->by_hand = m->peak_set > 0;
    }
    if (bytes > 0 && out->roof.bandwidth > 0)
        out->moved = fmin(1, bytes / out->t.median / out->roof.bandwidth);
    out->has_roof = ml_demand_has_peak(&n->own) || n->own.flop <= 0;
    if (!out->has_roof || !(out->bounded.seconds > 0))
        return;
    out->bound = out->bounded.seconds;
    if (out->bound <= ML_SHARE_MOST * out->t.median)
        out->of_bound = fmin(1, out->bound / out->t.median);
}

bool ml_timing_roof(ml_Ctx *cx, ml_Engine *e, const ml_Func *start, const ml_Func *version,
                    const ml_TimingOpts *o, ml_Timing *out)
{
    const Needs n = needs_of(cx, start, version, o, out->flop);
    bool anew = true;

    out->bytes = n.start.read + n.start.written;
    out->share = out->peak = out->nominal = out->moved = (double)NAN;
    out->bound = out->of_bound = out->bounded.seconds = (double)NAN;
    if (out->t.median <= 0 || (out->flop <= 0 && out->bytes <= 0) ||
        !ml_machine_get(cx, e, true) || !ml_machine_math(cx, e, &n.own))
        return ml_timing_goes_on(cx);
    add_roofs(ml_engine_machine(e), ml_engine_threads(e), &n, o, out);
    while (anew && beaten_by(out) > ML_SHARE_MOST) {
        if (!ml_machine_beaten(cx, e, &n.own, &out->roof, &anew))
            return ml_timing_goes_on(cx);
        add_roofs(ml_engine_machine(e), ml_engine_threads(e), &n, o, out);
    }
    add_shares(ml_engine_machine(e), &n, out);
    return true;
}

static void roofs_of(ml_Ctx *cx, ml_Engine *e, const ml_Machine *m, ml_Schedule *s,
                     uint32_t at, const ml_TimingOpts *o, ml_Roofline *out)
{
    ml_Demand *d = &out->demand;

    *d = (ml_Demand){.type = ML_DT_F32};
    if (out->threads == 0)
        out->threads = ml_engine_threads(e);
    if (s) {
        *d =
            ml_demand_of(cx, ml_version_program(s, 0).mod->funcs[at], o->sizes, o->n_sizes);
        out->flop = d->flop;
        out->bytes = d->read + d->written;
    }
    out->type = d->type;
    if (!ml_demand_has_peak(d)) { /* its operations have no measured peak */
        out->no_peak = out->flop > 0;
        out->type = d->type = ML_DT_F32;
        out->flop = d->flop = 0;
    }
    out->cpu = ml_strdup(cx, ml_str(m->cpu));
    out->peak = ml_machine_peak(m, out->type, out->threads);
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        out->bandwidth[l] = l < ML_MACHINE_MEMORY && m->cache[l] == 0
                                ? (double)NAN
                                : ml_machine_bandwidth(m, (ml_MachineLevel)l, out->threads);
    out->roof = ml_machine_roof(m, out->threads, d);
    out->bound = ml_time_bound(m, out->threads, d, o->cold);
}

bool ml_roofline_roofs(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at,
                       const ml_TimingOpts *o, ml_Roofline *out)
{
    const ml_Machine *m = ml_machine_get(cx, e, true);

    *out = (ml_Roofline){.type = ML_DT_F32};
    if (m == NULL)
        return false;
    roofs_of(cx, e, m, s, at, o, out);
    return true;
}

ml_Amount ml_own_amount(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at,
                        uint32_t threads, double *roof)
{
    const ml_TimingOpts o = {0};
    const ml_Machine *m = ml_machine_known(cx, e);
    const ml_Func *f = ml_version_program(s, 0).mod->funcs[at];
    double flop = ml_timing_flop(cx, f, &o);
    ml_Roofline r = {.threads = threads};
    ml_VarVec symbols = {0};

    if (roof)
        *roof = (double)NAN;
    ml_func_symbols(cx, f, true, &symbols);
    if (symbols.n > 0) /* as much as the sizes say, and nobody has */
        return (ml_Amount){0};
    if (m == NULL || !m->full) {
        ml_error_clear(cx);
        return (ml_Amount){flop, false};
    }
    roofs_of(cx, e, m, s, at, &o, &r);
    ml_Amount a = ml_timing_amount(flop, r.bytes, r.no_peak ? NULL : &r.roof);

    if (roof && !r.no_peak)
        *roof = a.bytes ? r.roof.bandwidth : r.roof.peak;
    return a;
}

double ml_own_bound(ml_Engine *e, const ml_Module *m, const char *func, uint32_t threads)
{
    const ml_ScheduleOpts so = {.func = func, .render = ML_RENDER_NONE};
    ml_Ctx *home = ml_ctx_new(0);
    const ml_Error *why = NULL;
    ml_Schedule *s =
        ml_schedule_new(home, ml_import_module(ml_import_begin(home), m), &so, &why);
    double roof = (double)NAN, seconds = 0;

    if (s && ml_schedule_func(s)) {
        ml_Ctx *tmp = ml_ctx_fork(ml_schedule_ctx(s));
        ml_Amount a = ml_own_amount(tmp, e, s, ml_schedule_func_pos(s), threads, &roof);

        if (roof > 0 && a.n > 0)
            seconds = a.n / roof;
        ml_ctx_unref(tmp);
    }
    ml_schedule_unref(s);
    ml_ctx_unref(home);
    return seconds;
}

ml_TimeBound ml_roofline_bound(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, int version,
                               uint32_t at, const ml_TimingOpts *o, const ml_Roofline *r)
{
    bool less;
    const ml_Demand own =
        ml_demand_of_version(cx, &r->demand, ml_version_program(s, version).mod->funcs[at],
                             o->sizes, o->n_sizes, &less);
    ml_TimeBound b = ml_time_bound(ml_engine_machine(e), r->threads, &own, o->cold);

    b.less = less;
    return b;
}

bool ml_roofline_of(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at,
                    const ml_TimingOpts *o, ml_Roofline *out)
{
    if (!ml_roofline_roofs(cx, e, s, at, o, out) || !ml_machine_math(cx, e, &out->demand))
        return false;
    roofs_of(cx, e, ml_engine_machine(e), s, at, o, out); /* functions have a rate now */
    for (int v = 0; s && v < ml_schedule_n_versions(s); v++) {
        double t = ml_timing_known(cx, e, s, v, at, o);

        if (!isnan(t) && t > 0)
            ml_push(cx, &out->points,
                    ((ml_RoofPoint){v, t, v == ml_schedule_version(s),
                                    ml_roofline_bound(cx, e, s, v, at, o, out).seconds}));
    }
    return true;
}

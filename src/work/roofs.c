/* roofs - see roofs.h. */
#include "moonloop/work/roofs.h"

#include "moonloop/work/timing_impl.h"

#include <math.h>

/* What must move, every parameter once for reading, once for writing, and the type whose
 * peak counts: that of the last parameter that is written, or of narrower factors whose
 * products are summed in it by instructions of their own (bytes, bfloat16). */
typedef struct Traffic {
    double bytes, written;
    ml_Dtype type;
} Traffic;

static Traffic traffic_of(ml_Ctx *cx, const ml_Func *f, const ml_TimingOpts *o)
{
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, f->n_params + 1u);
    Traffic v = {.type = ML_DT_F32};
    ml_Dtype narrow = ML_DT_VOID;

    ml_param_roles(cx, f, o->sizes, o->n_sizes, roles);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        double n = b ? (double)ml_dtype_bytes(b->type) : 0;
        int64_t extent;

        for (uint16_t d = 0; b && d < b->rank; d++)
            n *= ml_eval_size(b->shape[d], o->sizes, o->n_sizes, &extent) ? (double)extent
                                                                          : 0;
        v.written += roles[k].written ? n : 0;
        v.bytes += n * ((roles[k].written ? 1 : 0) + (roles[k].output ? 0 : 1));
        if (roles[k].written && b)
            v.type = b->type;
        else if (b && (b->type.code == ML_BFLOAT || b->type.bits == 8))
            narrow = b->type;
    }
    if ((narrow.code == ML_BFLOAT && v.type.code == ML_FLOAT && v.type.bits == 32) ||
        (narrow.bits == 8 && ml_dtype_is_int(v.type) && v.type.bits == 32))
        v.type = narrow;
    return v;
}

/* Whether operations of the type have a measured peak. */
static bool has_peak(ml_Dtype t)
{
    return ml_dtype_is_float(t) || (ml_dtype_is_int(t) && t.bits == 8);
}

static ml_MachineKind kind_of(ml_Dtype t)
{
    if (t.code == ML_FLOAT && t.bits == 64)
        return ML_MACHINE_F64;
    return t.code == ML_FLOAT && t.bits == 16 ? ML_MACHINE_F16 : ML_MACHINE_F32;
}

/* Cold runs read from memory, whatever the caches hold. */
static void add_bandwidth(const ml_Machine *m, const ml_TimingOpts *o, ml_Timing *out,
                          bool reads)
{
    if (o->cold && out->roof.level != ML_MACHINE_MEMORY) {
        double moving;

        out->roof.level = ML_MACHINE_MEMORY;
        out->roof.bandwidth = ml_machine_stream(m, ML_MACHINE_MEMORY, out->threads, reads);
        moving = out->bytes / out->roof.bandwidth;
        out->roof.memory = out->flop <= 0 || moving > out->flop / out->roof.peak;
        out->roof.limit = fmax(out->roof.limit, moving);
    }
    if (out->bytes > 0 && out->roof.bandwidth > 0)
        out->moved = fmin(1, out->bytes / out->t.median / out->roof.bandwidth);
}

/* The roof, and where threads take part one region that they enter and leave. What is done
 * in clearly less time leaves operations out that are counted: then it is no bound. */
static void add_bound(const ml_Machine *m, ml_Timing *out)
{
    double region = out->threads > 1 && m->fork_join > 0 ? m->fork_join : 0;
    double bound = out->roof.limit + region;

    if (!(bound > 0) || isnan(out->roof.peak + out->roof.bandwidth))
        return;
    out->bound = bound;
    if (out->roof.memory || out->share <= ML_SHARE_MOST)
        out->of_bound = fmin(1, bound / out->t.median);
}

bool ml_timing_roof(ml_Ctx *cx, ml_Engine *e, const ml_Func *start, const ml_TimingOpts *o,
                    ml_Timing *out)
{
    const ml_Machine *m = NULL;
    const Traffic v = traffic_of(cx, start, o);
    const ml_Dtype t = v.type;
    bool computes = has_peak(t) && out->flop > 0;

    out->bytes = v.bytes;
    out->share = out->peak = out->nominal = out->moved = (double)NAN;
    out->bound = out->of_bound = (double)NAN;
    if (out->t.median <= 0 || (!computes && out->bytes <= 0) ||
        (computes && !ml_machine_share(cx, e, t, out->threads, out->flop / out->t.median,
                                       &out->share)) ||
        (m = ml_machine_get(cx, e, true)) == NULL)
        return ml_timing_goes_on(cx);
    out->roof =
        ml_machine_roof(m, t, out->threads, computes ? out->flop : 0, v.bytes, v.written);
    if (computes) {
        out->peak = ml_machine_peak(m, t, out->threads);
        out->nominal = ml_machine_nominal(m, kind_of(t), out->threads);
        out->by_hand = m->peak_set > 0;
    }
    out->has_roof = computes || out->flop <= 0;
    add_bandwidth(m, o, out, 16 * v.written < v.bytes);
    if (out->has_roof)
        add_bound(m, out);
    return true;
}

static void roofs_of(ml_Ctx *cx, ml_Engine *e, const ml_Machine *m, ml_Schedule *s,
                     uint32_t at, const ml_TimingOpts *o, ml_Roofline *out)
{
    Traffic v = {.type = ML_DT_F32};

    if (out->threads == 0)
        out->threads = ml_engine_threads(e);
    if (s) {
        const ml_Func *start = ml_version_program(s, 0).mod->funcs[at];

        out->flop = ml_timing_flop(cx, start, o);
        v = traffic_of(cx, start, o);
        out->bytes = v.bytes;
    }
    out->type = v.type;
    if (!has_peak(v.type)) { /* its operations have no measured peak */
        out->no_peak = out->flop > 0;
        out->type = ML_DT_F32;
        out->flop = 0;
    }
    out->cpu = ml_strdup(cx, ml_str(m->cpu));
    out->peak = ml_machine_peak(m, out->type, out->threads);
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        out->bandwidth[l] = l < ML_MACHINE_MEMORY && m->cache[l] == 0
                                ? (double)NAN
                                : ml_machine_bandwidth(m, (ml_MachineLevel)l, out->threads);
    out->roof = ml_machine_roof(m, out->type, out->threads, out->flop, v.bytes, v.written);
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
    double flop = ml_timing_flop(cx, ml_version_program(s, 0).mod->funcs[at], &o);
    ml_Roofline r = {.threads = threads};

    if (roof)
        *roof = (double)NAN;
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

bool ml_roofline_of(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at,
                    const ml_TimingOpts *o, ml_Roofline *out)
{
    if (!ml_roofline_roofs(cx, e, s, at, o, out))
        return false;
    for (int v = 0; s && v < ml_schedule_n_versions(s); v++) {
        double t = ml_timing_known(cx, e, s, v, at, o);

        if (!isnan(t) && t > 0)
            ml_push(cx, &out->points, ((ml_RoofPoint){v, t, v == ml_schedule_version(s)}));
    }
    return true;
}

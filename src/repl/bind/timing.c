/*
 * timing - one version, the start beside it, perhaps a library by turns.
 *
 * Operations are counted in the start version, so that recomputing cannot look like speed.
 * Times are remembered by the hash of the function, so that the start is timed once.
 */
#include "repl/bind/timing.h"

#include "core/compare/equal.h"
#include "repl/bind/checking.h"
#include "verify/verify.h"

#include <math.h>

#define NOISY 0.05 /* relative spread: interaction 8 */

#define SHORT_RUN 0.05 /* seconds; what takes longer is not timed again */
#define LONG_RUN  0.5

enum { ROUNDS = 4, START_SECONDS = 60, MOST_BASELINES = 3, TURN_SAMPLES = 5 };

static const char *const units[] = {"s", "ms", "µs", "ns"};

/* The unit in which `like` is written: how often it is multiplied by 1000. */
static size_t unit_of(double like)
{
    size_t k = 0;

    while (k + 1 < ML_COUNT(units) && like < 0.99995) {
        like *= 1000;
        k++;
    }
    return k;
}

void ml_text_seconds_like(ml_Text *t, double s, double like)
{
    for (size_t k = unit_of(like); k > 0; k--)
        s *= 1000;
    ml_text_fmt(t, "%.*f", s < 9.995 ? 2 : s < 99.95 ? 1 : 0, s);
}

void ml_text_seconds(ml_Text *t, double s)
{
    ml_text_seconds_like(t, s, s);
    ml_text_fmt(t, " %s", units[unit_of(s)]);
}

void ml_text_noise(ml_Text *t, double spread)
{
    if (spread > NOISY)
        ml_text_fmt(t, " ±%.0f %%", spread * 100);
}

double ml_timing_flop(ml_Ctx *cx, const ml_Func *f, const ml_TimingOpts *o)
{
    const ml_Expr *count;
    int64_t n;

    if (!ml_flops_symbolic(cx, f, &count))
        return ml_flops(cx, f);
    return count && ml_eval_size(count, o->sizes, o->n_sizes, &n) ? (double)n : 0;
}

static bool see_parallel(const ml_Stmt *s, void *user)
{
    bool *found = user;

    *found |= s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_PARALLEL;
    return !*found;
}

uint32_t ml_timing_threads(const ml_Engine *e, const ml_Func *f)
{
    bool found = false;

    ml_stmt_visit(f->body, see_parallel, &found);
    return found ? ml_engine_threads(e) : 1;
}

/* What must move: every parameter once for reading, once for writing. */
static double bytes_of(ml_Ctx *cx, const ml_Func *f, const ml_TimingOpts *o)
{
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, f->n_params + 1u);
    double sum = 0;

    ml_param_roles(cx, f, o->sizes, o->n_sizes, roles);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        double n = b ? (double)ml_dtype_bytes(b->type) : 0;
        int64_t extent;

        for (uint16_t d = 0; b && d < b->rank; d++)
            n *= ml_eval_size(b->shape[d], o->sizes, o->n_sizes, &extent) ? (double)extent
                                                                          : 0;
        sum += n * ((roles[k].written ? 1 : 0) + (roles[k].output ? 0 : 1));
    }
    return sum;
}

static uint64_t key_of(ml_Ctx *cx, const ml_Engine *e, const ml_Func *f,
                       const ml_TimingOpts *o)
{
    uint64_t h = ml_hash_func(cx, f, NULL) ^ (uint64_t)ml_engine_threads(e) << 48;

    for (size_t k = 0; k < o->n_sizes; k++)
        h = (h ^ (uint64_t)o->sizes[k].value) * UINT64_C(0x9e3779b97f4a7c15);
    return o->cold ? ~h : h;
}

static ml_TimeOpts time_opts(const ml_Engine *e, const ml_TimingOpts *o)
{
    return (ml_TimeOpts){.target = *ml_engine_target(e),
                         .code = {.threads = ml_engine_threads(e)},
                         .mode = o->report ? ML_TIMING_REPORT : ML_TIMING_TIME,
                         .cold = o->cold,
                         .runs = o->runs,
                         .limit = o->limit};
}

/* Spread of the last timing, or half the range of all of this session where that is more.
 */
static double spread_of(const ml_Engine *e, uint64_t key)
{
    double least, most, known = ml_engine_known(e, key);
    uint32_t times = ml_engine_range(e, key, &least, &most);
    double own = ml_engine_spread(e, key);

    return times > 1 && known > 0 ? fmax(own, (most - least) / (2 * known)) : own;
}

/* Median seconds of the start, timed briefly when it was not yet; NAN: it fails. */
static double time_start(ml_Ctx *cx, ml_Engine *e, ml_Worker *w, ml_Schedule *s,
                         uint32_t at, const ml_WorkSet *set, const ml_TimingOpts *o,
                         double *spread)
{
    ml_Work work = ml_work_of(cx, s, 0, at);
    uint64_t key = key_of(cx, e, work.func, o);
    double known = ml_engine_known(e, key);
    ml_TimeOpts to = time_opts(e, o);
    ml_TimeReport r;

    *spread = spread_of(e, key);
    if (!isnan(known))
        return known;
    to.mode = ML_TIMING_TUNE; /* a slow start is called twice, and not checked again */
    to.limit = START_SECONDS;
    to.unguarded = true;
    if (!ml_time_work(cx, w, &work, set, &to, &r)) {
        const ml_Error *err = ml_error(cx);

        if (err && err->code != ML_E_INTERRUPTED)
            ml_error_clear(cx);
        return (double)NAN;
    }
    *spread = r.spread;
    ml_engine_remember(e, key, r.median, r.spread);
    return r.median;
}

void ml_timing_remember(ml_Engine *e, ml_Schedule *s, int version, double seconds,
                        double spread)
{
    const ml_TimingOpts plain = {.seed = 1};
    const ml_Module *m = ml_version_program(s, version).mod;
    uint32_t at = ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0;
    ml_Ctx *cx = ml_ctx_new(0);

    if (at < m->n)
        ml_engine_remember(e, key_of(cx, e, m->funcs[at], &plain), seconds, spread);
    ml_ctx_unref(cx);
}

static void find_best(ml_Ctx *cx, const ml_Engine *e, ml_Schedule *s, uint32_t at,
                      const ml_TimingOpts *o, ml_Timing *out)
{
    out->best = (double)NAN;
    for (int v = 0; v < ml_schedule_n_versions(s); v++) {
        double known;
        uint64_t key;

        if (!ml_version_known(s, v))
            continue;
        key = key_of(cx, e, ml_version_program(s, v).mod->funcs[at], o);
        known = ml_engine_known(e, key);
        if (!isnan(known) && (isnan(out->best) || known < out->best)) {
            out->best = known;
            out->best_spread = spread_of(e, key);
            out->best_version = v;
        }
    }
}

static const char *routine(ml_Ctx *cx, const ml_Func *f, const char *against)
{
    ml_Dtype t =
        f->n_params == 3 && f->params[0].buffer ? f->params[0].buffer->type : ML_DT_VOID;

    if (!ml_streq(against, "openblas"))
        return NULL;
    return ml_format(cx, "openblas:%s", t.bits == 64 ? "dgemm" : "sgemm");
}

static bool contest(ml_Ctx *cx, ml_Engine *e, const ml_Work *work, const ml_WorkSet *set,
                    const ml_TimingOpts *o, ml_Timing *out)
{
    ml_TimeOpts to = time_opts(e, o);
    ml_Contender c[2] = {{.work = work}, {.library = routine(cx, work->func, o->against)}};
    ml_TimeReport r[2];

    if (c[1].library == NULL) {
        out->no_rival = ml_format(cx, "no library named %s: openblas is known", o->against);
        c[0].worker = ml_engine_worker(e, cx, 0);
        return c[0].worker && ml_time_work(cx, c[0].worker, work, set, &to, &out->t);
    }
    for (unsigned k = 0; k < 2; k++)
        if ((c[k].worker = ml_engine_worker(e, cx, k)) == NULL)
            return false;
    if (ml_time_contest(cx, c, 2, set, &to, ROUNDS, r)) {
        out->t = r[0];
        out->rival = o->against;
        out->rival_t = r[1];
        return true;
    }
    if (r[1].job.ok || r[1].job.message == NULL)
        return false;
    out->no_rival = r[1].job.message; /* the library is missing, or has no such routine */
    ml_error_clear(cx);
    return ml_time_work(cx, c[0].worker, work, set, &to, &out->t);
}

/* The element type of what is computed: of the last parameter that is written. */
static ml_Dtype type_of(ml_Ctx *cx, const ml_Func *f, const ml_TimingOpts *o)
{
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, f->n_params + 1u);
    ml_Dtype t = ML_DT_F32;

    ml_param_roles(cx, f, o->sizes, o->n_sizes, roles);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (roles[k].written && f->params[k].buffer)
            t = f->params[k].buffer->type;
    return t;
}

static ml_MachineKind kind_of(ml_Dtype t)
{
    if (t.code == ML_FLOAT && t.bits == 64)
        return ML_MACHINE_F64;
    return t.code == ML_FLOAT && t.bits == 16 ? ML_MACHINE_F16 : ML_MACHINE_F32;
}

/* Cold runs read from memory, whatever the caches hold. */
static void add_bandwidth(const ml_Machine *m, const ml_TimingOpts *o, ml_Timing *out)
{
    if (o->cold && out->roof.level != ML_MACHINE_MEMORY) {
        double moving;

        out->roof.level = ML_MACHINE_MEMORY;
        out->roof.bandwidth = ml_machine_bandwidth(m, ML_MACHINE_MEMORY, out->threads);
        moving = out->bytes / out->roof.bandwidth;
        out->roof.memory = out->flop <= 0 || moving > out->flop / out->roof.peak;
        out->roof.limit = fmax(out->roof.limit, moving);
    }
    if (out->bytes > 0 && out->roof.bandwidth > 0)
        out->moved = out->bytes / out->t.median / out->roof.bandwidth;
}

/* Beside the machine's limits, as far as they can be measured; false: interrupted. */
static bool add_roof(ml_Ctx *cx, ml_Engine *e, const ml_Func *start, const ml_TimingOpts *o,
                     ml_Timing *out)
{
    ml_Dtype t = type_of(cx, start, o);
    bool computes = ml_dtype_is_float(t) && out->flop > 0;
    const ml_Machine *m = NULL;

    out->share = out->peak = out->nominal = out->moved = (double)NAN;
    if (out->t.median <= 0 || (!computes && out->bytes <= 0) ||
        (computes && !ml_machine_share(cx, e, t, out->threads, out->flop / out->t.median,
                                       &out->share)) ||
        (m = ml_machine_get(cx, e, true)) == NULL) {
        if (ml_error(cx) && ml_error(cx)->code == ML_E_INTERRUPTED)
            return false;
        ml_error_clear(cx);
        return true;
    }
    out->roof = ml_machine_roof(m, t, out->threads, computes ? out->flop : 0, out->bytes);
    if (computes) {
        out->peak = ml_machine_peak(m, t, out->threads);
        out->nominal = ml_machine_nominal(m, kind_of(t), out->threads);
        out->by_hand = m->peak_set > 0;
    }
    out->has_roof = computes || out->flop <= 0;
    add_bandwidth(m, o, out);
    return true;
}

static void find_parent(ml_Ctx *cx, const ml_Engine *e, ml_Schedule *s, int version,
                        uint32_t at, const ml_TimingOpts *o, ml_Timing *out)
{
    ml_Step step;

    if (!ml_version_step(s, version, &step) || step.parent < 0 ||
        !ml_version_known(s, step.parent))
        return;
    out->parent_version = step.parent;
    uint64_t key = key_of(cx, e, ml_version_program(s, step.parent).mod->funcs[at], o);

    out->parent = ml_engine_known(e, key);
    out->parent_spread = spread_of(e, key);
}

/* What a version is compared with. */
typedef struct Baseline {
    int version;
    double *seconds, *spread, *ratio;
} Baseline;

/* Times the baselines again by turns with the work, where a run is short: what was measured
 * in another moment says little. */
static bool take_turns(ml_Ctx *cx, ml_Engine *e, ml_Worker *w, ml_Schedule *s, uint32_t at,
                       const ml_Work *work, const ml_WorkSet *set, const ml_TimingOpts *o,
                       const Baseline *base, size_t n, double own)
{
    ml_TimeOpts to = time_opts(e, o);
    ml_Contender c[MOST_BASELINES + 1] = {{.worker = w, .work = work}};
    ml_TimeReport r[MOST_BASELINES + 1];
    ml_Work works[MOST_BASELINES];
    const Baseline *who[MOST_BASELINES];
    double longest = own;
    size_t m = 0;

    for (size_t k = 0; k < n && own <= LONG_RUN; k++) {
        if (!(*base[k].seconds <= SHORT_RUN))
            continue;
        longest = fmax(longest, *base[k].seconds);
        works[m] = ml_work_of(cx, s, base[k].version, at);
        who[m] = &base[k];
        c[m + 1] = (ml_Contender){.worker = w, .work = &works[m]};
        m++;
    }
    if (m == 0)
        return true;
    to.mode = ML_TIMING_TURN;
    to.runs = longest > SHORT_RUN / TURN_SAMPLES ? 1 : TURN_SAMPLES;
    to.unguarded = true; /* each has been run before */
    if (!ml_time_contest(cx, c, m + 1, set, &to, ROUNDS, r)) {
        if (ml_error(cx) && ml_error(cx)->code == ML_E_INTERRUPTED)
            return false;
        ml_error_clear(cx); /* of another layout, say */
        return true;
    }
    for (size_t k = 0; k < m; k++) {
        uint64_t key = key_of(cx, e, works[k].func, o);

        ml_engine_remember(e, key, r[k + 1].median, r[k + 1].spread);
        *who[k]->seconds = r[k + 1].median;
        *who[k]->spread = fmax(r[k + 1].spread, spread_of(e, key));
        *who[k]->ratio = r[k + 1].median / r[0].median;
    }
    return true;
}

/* The baselines that are known, and how they compare. */
static bool compare_baselines(ml_Ctx *cx, ml_Engine *e, ml_Worker *w, ml_Schedule *s,
                              int version, uint32_t at, const ml_Work *work,
                              const ml_WorkSet *set, const ml_TimingOpts *o, ml_Timing *out)
{
    Baseline b[MOST_BASELINES];
    size_t n = 0;

    find_best(cx, e, s, at, o, out);
    find_parent(cx, e, s, version, at, o, out);
    if (version != 0)
        b[n++] = (Baseline){0, &out->start, &out->start_spread, &out->start_ratio};
    if (out->parent_version > 0)
        b[n++] = (Baseline){out->parent_version, &out->parent, &out->parent_spread,
                            &out->parent_ratio};
    if (out->best_version > 0 && out->best_version != version &&
        out->best_version != out->parent_version)
        b[n++] =
            (Baseline){out->best_version, &out->best, &out->best_spread, &out->best_ratio};
    for (size_t k = 0; k < n; k++)
        *b[k].ratio = *b[k].seconds / out->t.median;
    return o->alone || take_turns(cx, e, w, s, at, work, set, o, b, n, out->t.median);
}

bool ml_timing_run(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, int version, uint32_t at,
                   const ml_TimingOpts *o, ml_Timing *out)
{
    ml_Work work = ml_work_of(cx, s, version, at);
    const char *target = ml_work_foreign(cx, s);
    const char *foreign = target ? target : ml_work_for_gpu(cx, work.func);
    const char *bad_size =
        ml_checking_bad_size(cx, work.mod, work.func, o->sizes, o->n_sizes);
    const ml_Func *start = ml_version_program(s, 0).mod->funcs[at];
    const ml_CheckOpts inputs = {.inputs = ML_FILL_RANDOM,
                                 .seed = o->seed,
                                 .id = ml_schedule_name(s),
                                 .sizes = o->sizes,
                                 .n_sizes = o->n_sizes};
    ml_TimeOpts to = time_opts(e, o);
    ml_Worker *w = foreign ? NULL : ml_engine_worker(e, cx, 0);
    ml_WorkSet *set = NULL;
    bool ok;

    if (foreign)
        return ml_fail(cx, ML_E_NO_DEVICE, ML_TEXT(foreign));
    if (bad_size)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT(ml_format(cx, "shape: %s", bad_size)));
    set = w ? ml_inputs_share(cx, work.func, &inputs) : NULL;
    *out = (ml_Timing){.threads = ml_timing_threads(e, work.func),
                       .start = (double)NAN,
                       .best = (double)NAN,
                       .best_version = -1,
                       .parent = (double)NAN,
                       .parent_version = -1,
                       .start_ratio = (double)NAN,
                       .best_ratio = (double)NAN,
                       .parent_ratio = (double)NAN};
    if (set == NULL)
        return false;
    ok = o->against ? contest(cx, e, &work, set, o, out)
                    : ml_time_work(cx, w, &work, set, &to, &out->t);
    if (ok) {
        uint64_t key = key_of(cx, e, work.func, o);

        ml_engine_remember(e, key, out->t.median, out->t.spread);
        out->t.spread = spread_of(e, key);
        out->times = ml_engine_range(e, key, &out->least, &out->most);
        if (!o->alone)
            out->start = time_start(cx, e, w, s, at, set, o, &out->start_spread);
        ok = ml_error(cx) == NULL &&
             compare_baselines(cx, e, w, s, version, at, &work, set, o, out);
    }
    ml_workset_free(set);
    if (!ok)
        return false;
    out->flop = ml_timing_flop(cx, start, o);
    out->bytes = bytes_of(cx, start, o);
    out->noisy = out->t.spread > NOISY;
    return add_roof(cx, e, start, o, out);
}

bool ml_timing_work(ml_Ctx *cx, ml_Engine *e, const ml_Work *work, double flop,
                    const ml_Target *target, const ml_CodeOpts *code,
                    const ml_TimingOpts *o, ml_Timing *out)
{
    const ml_CheckOpts inputs = {.inputs = ML_FILL_RANDOM,
                                 .seed = o->seed,
                                 .id = work->func->name,
                                 .sizes = o->sizes,
                                 .n_sizes = o->n_sizes};
    ml_TimeOpts to = time_opts(e, o);
    ml_Worker *w = ml_engine_worker(e, cx, 0);
    ml_WorkSet *set = w ? ml_inputs_share(cx, work->func, &inputs) : NULL;
    bool ok;

    *out = (ml_Timing){.threads = ml_timing_threads(e, work->func),
                       .start = (double)NAN,
                       .best = (double)NAN,
                       .best_version = -1,
                       .parent = (double)NAN,
                       .parent_version = -1,
                       .start_ratio = (double)NAN,
                       .best_ratio = (double)NAN,
                       .parent_ratio = (double)NAN};
    if (set == NULL)
        return false;
    to.target = *target;
    to.code = *code;
    ok = ml_time_work(cx, w, work, set, &to, &out->t);
    ml_workset_free(set);
    if (!ok)
        return false;
    out->flop = flop;
    out->bytes = bytes_of(cx, work->func, o);
    out->noisy = out->t.spread > NOISY;
    return add_roof(cx, e, work->func, o, out);
}

void ml_timing_work_of(ml_Ctx *cx, ml_Schedule *s, uint32_t at, const ml_TimingOpts *o,
                       double *flop, double *bytes, ml_Dtype *type)
{
    const ml_Func *start = ml_version_program(s, 0).mod->funcs[at];

    *flop = ml_timing_flop(cx, start, o);
    *bytes = bytes_of(cx, start, o);
    *type = type_of(cx, start, o);
}

double ml_timing_known(ml_Ctx *cx, const ml_Engine *e, ml_Schedule *s, int version,
                       uint32_t at, const ml_TimingOpts *o)
{
    if (!ml_version_known(s, version))
        return (double)NAN;
    return ml_engine_known(e,
                           key_of(cx, e, ml_version_program(s, version).mod->funcs[at], o));
}

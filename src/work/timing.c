/*
 * timing - one version, the start beside it, perhaps a library by turns.
 *
 * Operations are counted in the start version, so that recomputing cannot look like speed.
 * Times are remembered by the hash of the function, so that the start is timed once.
 */
#include "moonloop/work/timing.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/walk.h"
#include "moonloop/verify/verify.h"
#include "moonloop/work/say.h"
#include "moonloop/work/timing_impl.h"

#include <math.h>

enum { ROUNDS = 4 }; /* against a library */

double ml_timing_flop(ml_Ctx *cx, const ml_Func *f, const ml_TimingOpts *o)
{
    return ml_demand_count(cx, f, NULL, o->sizes, o->n_sizes);
}

static bool see_parallel(const ml_Stmt *s, void *user)
{
    bool *found = user;

    *found |= s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_PARALLEL;
    return !*found;
}

bool ml_is_parallel(const ml_Func *f)
{
    bool found = false;

    ml_stmt_visit(f->body, see_parallel, &found);
    return found;
}

uint32_t ml_timing_threads(const ml_Engine *e, const ml_Func *f)
{
    return ml_is_parallel(f) ? ml_engine_threads(e) : 1;
}

uint64_t ml_timing_key(ml_Ctx *cx, const ml_Engine *e, const ml_Func *f,
                       const ml_TimingOpts *o)
{
    uint64_t h = ml_hash_func(cx, f, NULL) ^ (uint64_t)ml_engine_threads(e) << 48;

    for (size_t k = 0; k < o->n_sizes; k++)
        h = (h ^ (uint64_t)o->sizes[k].value) * UINT64_C(0x9e3779b97f4a7c15);
    return o->cold ? ~h : h;
}

ml_TimeOpts ml_timing_opts(const ml_Engine *e, const ml_TimingOpts *o)
{
    return (ml_TimeOpts){.target = *ml_engine_target(e),
                         .code = {.threads = ml_engine_threads(e)},
                         .mode = o->report ? ML_TIMING_REPORT : ML_TIMING_TIME,
                         .cold = o->cold,
                         .runs = o->runs,
                         .limit = o->limit};
}

double ml_timing_spread(const ml_Engine *e, uint64_t key)
{
    double least, most, known = ml_engine_known(e, key);
    uint32_t times = ml_engine_range(e, key, &least, &most);
    double own = ml_engine_spread(e, key);

    return times > 1 && known > 0 ? fmax(own, (most - least) / (2 * known)) : own;
}

void ml_timing_remember(ml_Engine *e, ml_Schedule *s, int version, double seconds,
                        double spread)
{
    const ml_TimingOpts plain = {.seed = 1};
    const ml_Module *m = ml_version_program(s, version).mod;
    uint32_t at = ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0;
    ml_Ctx *cx = ml_ctx_new(0);

    if (at < m->n)
        ml_engine_remember(e, ml_timing_key(cx, e, m->funcs[at], &plain), seconds, spread);
    ml_ctx_unref(cx);
}

static const char *routine(ml_Ctx *cx, const ml_Func *f, const char *against)
{
    ml_Dtype t =
        f->n_params == 3 && f->params[0].buffer ? f->params[0].buffer->type : ML_DT_VOID;

    if (!ml_streq(against, "openblas"))
        return NULL;
    return ml_format(cx, "openblas:%s", t.bits == 64 ? "dgemm" : "sgemm");
}

static bool contest(const ml_TimingRun *r, const ml_TimeOpts *to)
{
    const char *against = r->o->against;
    ml_Contender c[2] = {{r->w, r->work, NULL},
                         {NULL, NULL, routine(r->cx, r->work->func, against)}};
    ml_Timing *out = r->out;
    ml_TimeReport v[2];

    if (c[1].library == NULL) {
        out->no_rival = ml_format(r->cx, "no library named %s: openblas is known", against);
        return ml_time_work(r->cx, r->w, r->work, r->set, to, &out->t);
    }
    if ((c[1].worker = ml_engine_worker(r->e, r->cx, 1)) == NULL)
        return false;
    if (ml_time_contest(r->cx, c, 2, r->set, to, ROUNDS, v)) {
        out->t = v[0];
        out->rival = against;
        out->rival_t = v[1];
        return true;
    }
    if (v[1].job.ok || v[1].job.message == NULL)
        return false;
    out->no_rival = v[1].job.message; /* the library is missing, or has no such routine */
    ml_error_clear(r->cx);
    return ml_time_work(r->cx, r->w, r->work, r->set, to, &out->t);
}

bool ml_timing_goes_on(ml_Ctx *cx)
{
    const ml_Error *e = ml_error(cx);

    if (e && e->code == ML_E_INTERRUPTED)
        return false;
    ml_error_clear(cx);
    return true;
}

ml_WorkSet *ml_timing_inputs(ml_Ctx *cx, const ml_Func *f, const char *id,
                             const ml_TimingOpts *o)
{
    const ml_CheckOpts inputs = {.inputs = ML_FILL_RANDOM,
                                 .seed = o->seed,
                                 .id = id,
                                 .sizes = o->sizes,
                                 .n_sizes = o->n_sizes};

    return ml_inputs_share(cx, f, &inputs);
}

bool ml_timing_may(ml_Ctx *cx, ml_Schedule *s, const ml_Work *work, const ml_TimingOpts *o)
{
    const char *target = ml_work_foreign(cx, s);
    const char *foreign = target ? target : ml_work_for_gpu(cx, work->func);
    const char *size =
        ml_checking_bad_size(cx, work->mod, work->func, o->sizes, o->n_sizes);

    if (foreign)
        return ml_fail(cx, ML_E_NO_DEVICE, ML_TEXT(foreign));
    return size == NULL ||
           ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT(ml_format(cx, "shape: %s", size)));
}

ml_Amount ml_timing_amount(double flop, double bytes, const ml_Roof *roof)
{
    return roof && roof->memory && bytes > 0 ? (ml_Amount){bytes, true}
                                             : (ml_Amount){flop, false};
}

ml_Amount ml_timing_of(const ml_Timing *t)
{
    return ml_timing_amount(t->flop, t->bytes, t->has_roof ? &t->roof : NULL);
}

static const char *speed_words(ml_Ctx *cx, const ml_Timing *t)
{
    ml_Text out = {0};

    ml_text_speed(&out, ml_timing_of(t), t->t.median, t->t.spread);
    const char *z = ml_strdup(cx, ml_str(ml_text_z(&out)));

    ml_text_free(&out);
    return z;
}

/* What both kinds of timing do. base: the function whose bytes, and (flop < 0) operations
 * count. */
static bool run(ml_TimingRun *r, const char *id, const ml_TimeOpts *to, const ml_Func *base,
                double flop)
{
    static const ml_Baseline none = {-1, (double)NAN, 0, (double)NAN};
    ml_WorkSet *set;
    bool ok;

    *r->out = (ml_Timing){.schedule = r->s ? ml_schedule_name(r->s) : NULL,
                          .version = r->s ? r->version : -1,
                          .threads = ml_timing_threads(r->e, r->work->func),
                          .start = none,
                          .parent = none,
                          .best = none};
    r->w = ml_engine_worker(r->e, r->cx, 0);
    r->set = set = r->w ? ml_timing_inputs(r->cx, r->work->func, id, r->o) : NULL;
    if (set == NULL)
        return false;
    ok = r->o->against ? contest(r, to)
                       : ml_time_work(r->cx, r->w, r->work, set, to, &r->out->t);
    if (ok && r->s)
        ok = ml_timing_compare(r);
    ml_workset_free(set);
    if (!ok)
        return false;
    r->out->flop = flop < 0 ? ml_timing_flop(r->cx, base, r->o) : flop;
    r->out->noisy = r->out->t.spread > ML_NOISY;
    if (!ml_timing_roof(r->cx, r->e, base, r->work->func, r->o, r->out))
        return false;
    r->out->speed = speed_words(r->cx, r->out);
    return true;
}

bool ml_timing_run(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, int version, uint32_t at,
                   const ml_TimingOpts *o, ml_Timing *out)
{
    const ml_Work work = ml_work_of(cx, s, version, at);
    const ml_TimeOpts to = ml_timing_opts(e, o);
    ml_TimingRun r = {
        .cx = cx, .e = e, .s = s, .version = version, .at = at, .work = &work, .o = o};

    r.out = out;
    return ml_timing_may(cx, s, &work, o) &&
           run(&r, ml_schedule_name(s), &to, ml_version_program(s, 0).mod->funcs[at], -1);
}

bool ml_timing_work(ml_Ctx *cx, ml_Engine *e, const ml_Work *work, double flop,
                    const ml_Target *target, const ml_CodeOpts *code,
                    const ml_TimingOpts *o, ml_Timing *out)
{
    ml_TimeOpts to = ml_timing_opts(e, o);
    ml_TimingRun r = {.cx = cx, .e = e, .work = work, .o = o, .out = out};

    to.target = *target;
    to.code = *code;
    return run(&r, work->func->name, &to, work->func, flop);
}

double ml_timing_known(ml_Ctx *cx, const ml_Engine *e, ml_Schedule *s, int version,
                       uint32_t at, const ml_TimingOpts *o)
{
    const ml_Module *m;

    if (!ml_version_known(s, version))
        return (double)NAN;
    m = ml_version_program(s, version).mod;
    return ml_engine_known(e, ml_timing_key(cx, e, m->funcs[at], o));
}

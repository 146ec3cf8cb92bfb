/*
 * why - a version timed, modelled, and what its causes propose, judged by the same model.
 *
 * Each step is applied on a fork; the fork is printed, lowered and modelled as the version
 * itself. What does not apply here is tried before one of the last steps, the later ones
 * repeated. Of a cause the step with the largest gain is kept.
 */
#include "moonloop/work/why/why.h"

#include "moonloop/core/script/script.h"
#include "moonloop/core/walk.h"
#include "moonloop/primitives/trace.h"
#include "moonloop/work/roofs.h"
#include "moonloop/work/timing_impl.h"
#include "moonloop/work/why/causes.h"

#include <math.h>

#define LEAST_SHARE 0.04 /* of the time, of a cause that is looked at */
#define LEAST_GAIN  1.03 /* of one that is told */
#define AT_BOUND    0.9
/* Steps before which something is tried; programs looked at for a cause; by turns. */
enum { EARLIER = 6, MODELS = 12, ROUNDS = 3 };

typedef struct Run {
    ml_Ctx *cx;
    ml_Engine *e;
    ml_Schedule *s;
    uint32_t at;
    const ml_Machine *m;
    const ml_WhyOpts *o;
    ml_Why *out;
    ml_Trace trace;
    ml_WhySight sight;
    uint32_t models; /* made for the cause that is looked at */
    ML_VEC(ml_WhyCause) causes;
} Run;

typedef struct Found { /* the best step so far */
    double seconds;
    const char *line;
    const char *text; /* of the program with it */
} Found;

/* ---------------------------------------------------------------- a try */

static bool is_stopped(const Run *r)
{
    return !ml_poll_cancel(r->cx);
}

/* Keeps the fork's step when it is the fastest so far; whether it is. */
static bool judge(Run *r, ml_Schedule *fork, const char *line, Found *best)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(fork));
    const ml_Work w = ml_work_of(cx, fork, ml_schedule_version(fork), r->at);
    ml_WhyModel model;
    bool better;

    r->models++;
    ml_ctx_set_limit(cx, 0);
    better = ml_why_model(cx, r->e, r->m, &w, &r->o->timing, &model) &&
             model.seconds < 0.99 * best->seconds;
    if (better)
        *best = (Found){model.seconds, ml_strdup(r->cx, ml_str(line)),
                        ml_strdup(r->cx, ml_str(w.text))};
    ml_ctx_unref(cx);
    return better;
}

/* The block in a fork of an earlier version, where decomposing has not renamed it yet. */
static ml_Uid block_of(ml_Schedule *s, const char *name)
{
    static const char *const ENDS[] = {"", "_update", "_init"};
    size_t n = strlen(name);
    ml_Handle h;

    for (size_t k = 0; k < ML_COUNT(ENDS); k++) {
        size_t m = strlen(ENDS[k]);
        ml_Ctx *cx = ml_ctx_new(0);
        const char *cut = n > m && ml_streq(name + n - m, ENDS[k])
                              ? ml_strdup(cx, (ml_Str){name, n - m})
                              : NULL;
        bool ok = cut && ml_resolve(s, cut, ML_H_BLOCK, &h);

        ml_ctx_unref(cx);
        if (ok)
            return h.uid;
    }
    return 0;
}

static uint32_t lanes_of(const Run *r)
{
    return r->sight.target->vector_bits / 32;
}

/* The proposal on a fork of `version`: before step `step` where that is not 0, or (edit) in
 * its place. Whether it came out faster than what was tried before. */
static bool try_at(Run *r, ml_WhyPropose *fn, unsigned k, int version, int step, bool edit,
                   Found *best)
{
    ml_WhyTry t = {.s = ml_schedule_fork_at(r->s, version),
                   .lanes = lanes_of(r),
                   .threads = r->sight.threads};
    ml_Uid block = block_of(t.s, r->sight.stage->block);
    bool ok = block && ml_why_look(t.s, block, &t.nest) && fn(&t, k);
    ml_Text line = {0};

    if (ok && step) {
        size_t from = edit ? ml_trace_after(r->s, step) : ml_trace_before(r->s, step);

        ok = ml_trace_continue(t.s, &r->trace, from, NULL, 0, NULL);
    }
    if (ok) {
        if (step)
            ml_text_fmt(&line, ":%s %d ", edit ? "edit" : "before", step);
        ml_text_add(&line, ml_text_z(&t.line));
        ok = judge(r, t.s, ml_text_z(&line), best);
    }
    ml_text_free(&line);
    ml_text_free(&t.line);
    ml_schedule_unref(t.s);
    return ok;
}

/* It says how a loop runs and gives nothing that later steps could use. */
static bool is_mark(const ml_Primitive *prim)
{
    return prim && (ml_streq(prim->name, "parallel") || ml_streq(prim->name, "unroll") ||
                    ml_streq(prim->name, "vectorize"));
}

static void try_proposal(Run *r, ml_WhyPropose *fn, unsigned k, Found *best)
{
    int version = r->out->version;
    ml_Step step;

    if (try_at(r, fn, k, version, 0, false, best))
        return;
    for (int n = 0, v = version;
         n < EARLIER && v > 0 && r->models < MODELS && !is_stopped(r); n++, v = step.parent)
        if (!ml_version_step(r->s, v, &step) || step.parent < 0 ||
            !ml_version_known(r->s, step.parent) ||
            try_at(r, fn, k, step.parent, v, false, best) ||
            (is_mark(step.prim) && try_at(r, fn, k, step.parent, v, true, best)))
            return;
}

/* The last step of that primitive is left out, and perhaps taken on another loop. */
static void try_undo(Run *r, const char *prim, Found *best)
{
    ml_Step step;

    for (int v = r->out->version; v > 0; v = step.parent) {
        ml_Schedule *fork;

        if (!ml_version_step(r->s, v, &step) || step.parent < 0 || step.prim == NULL ||
            !ml_version_known(r->s, step.parent))
            return;
        if (!ml_streq(step.prim->name, prim))
            continue;
        fork = ml_schedule_fork_at(r->s, step.parent);
        if (ml_trace_continue(fork, &r->trace, ml_trace_after(r->s, v), NULL, 0, NULL)) {
            ml_Ctx *tmp = ml_ctx_new(0);

            judge(r, fork, ml_format(tmp, ":drop %d", v), best);
            ml_ctx_unref(tmp);
        }
        ml_schedule_unref(fork);
    }
}

/* ---------------------------------------------------------------- causes */

static void look_for(Run *r, const ml_WhyKind *kind)
{
    const ml_WhyModel *m = r->sight.model;
    ml_Text evidence = {0};
    double gone = kind->sees(&r->sight, &evidence);
    Found best = {m->seconds, NULL, NULL};
    ml_WhyCause c = {.name = kind->name,
                     .block = r->sight.stage->block,
                     .line = r->sight.loop ? r->sight.loop->line : r->sight.stage->line,
                     .tried = (double)NAN};

    r->models = 0;
    if (gone > LEAST_SHARE * m->seconds) {
        for (size_t p = 0; p < ML_COUNT(kind->propose) && kind->propose[p]; p++)
            for (unsigned k = 0; k < ML_WHY_ALTERNATIVES && !is_stopped(r); k++)
                try_proposal(r, kind->propose[p], k, &best);
        for (size_t p = 0; p < ML_COUNT(kind->undo) && kind->undo[p]; p++)
            try_undo(r, kind->undo[p], &best);
        c.step = best.line;
        c.program = best.text;
        c.gain = best.line ? m->seconds / best.seconds
                           : m->seconds / fmax(m->seconds - gone, 0.05 * m->seconds);
        c.evidence = ml_strdup(r->cx, ml_str(ml_text_z(&evidence)));
        if (c.gain >= LEAST_GAIN)
            ml_push(r->cx, &r->causes, c);
    }
    ml_text_free(&evidence);
}

/* Causes with a step stand before those without. */
static bool is_before(const ml_WhyCause *a, const ml_WhyCause *b)
{
    if ((a->step != NULL) != (b->step != NULL))
        return a->step != NULL;
    return a->gain > b->gain;
}

static void sort(Run *r)
{
    for (size_t k = 1; k < r->causes.n; k++) {
        ml_WhyCause c = r->causes.v[k];
        size_t at = k;

        for (; at > 0 && is_before(&c, &r->causes.v[at - 1]); at--)
            r->causes.v[at] = r->causes.v[at - 1];
        r->causes.v[at] = c;
    }
    r->out->causes = r->causes.v;
    r->out->n = (uint32_t)r->causes.n;
}

static bool look_at_all(Run *r, void (*told)(void *user, double share), void *user)
{
    const ml_WhyModel *m = r->sight.model;

    for (uint32_t g = 0; g < m->n; g++) {
        r->sight.stage = &m->stages[g];
        r->sight.loop = m->stages[g].n_loops ? &m->stages[g].loops[0] : NULL;
        for (size_t k = 0; k < ml_n_why_kinds; k++) {
            if (is_stopped(r))
                return false;
            if (told)
                told(user,
                     (double)(g * ml_n_why_kinds + k) / (double)(m->n * ml_n_why_kinds));
            if (m->stages[g].seconds >= LEAST_SHARE * m->seconds &&
                (!ml_why_kinds[k].once || g + 1 == m->n))
                look_for(r, &ml_why_kinds[k]);
        }
    }
    sort(r);
    return true;
}

/* ---------------------------------------------------------------- measuring */

/* The step's program against the version's, by turns. false: interrupted. */
static bool measure(Run *r, const ml_Work *now, ml_WhyCause *c)
{
    const ml_ParseOpts po = {.file = "the program", .spelling = -1};
    ml_Parsed p = ml_parse(r->cx, ml_str(c->program), &po);
    ml_Work then = {.text = c->program, .mod = p.mod};
    ml_Contender v[2];
    ml_TimeReport t[2];
    ml_TimeOpts to = ml_timing_opts(r->e, &r->o->timing);
    ml_WorkSet *set;
    ml_CheckResult same;
    ml_CheckRuns runs;
    bool ok;

    then.func = p.mod ? ml_module_find(p.mod, now->func->name) : NULL;
    if (then.func == NULL || !ml_work_check(r->cx, r->e, now, &then, NULL, &same, &runs))
        return ml_timing_goes_on(r->cx);
    if (!same.ok) {
        c->step = NULL; /* not offered */
        return true;
    }
    v[0] = (ml_Contender){ml_engine_worker(r->e, r->cx, 0), now, NULL};
    v[1] = (ml_Contender){ml_engine_worker(r->e, r->cx, 1), &then, NULL};
    set = v[0].worker && v[1].worker
              ? ml_timing_inputs(r->cx, now->func, "why", &r->o->timing)
              : NULL;
    if (set == NULL)
        return ml_timing_goes_on(r->cx);
    ok = ml_time_contest(r->cx, v, 2, set, &to, ROUNDS, t);
    ml_workset_free(set);
    if (!ok)
        return ml_timing_goes_on(r->cx);
    c->tried = t[0].median / t[1].median;
    return true;
}

static bool measure_all(Run *r, const ml_Work *now)
{
    for (size_t k = 0; k < r->causes.n; k++)
        if (r->causes.v[k].step && !measure(r, now, &r->causes.v[k]))
            return false;
    return true;
}

/* The rates of the functions that the start has. false: cx's error. */
static bool know_functions(Run *r)
{
    const ml_Func *start = ml_version_program(r->s, 0).mod->funcs[r->at];
    const ml_TimingOpts *o = &r->o->timing;
    const ml_Demand d = ml_demand_of(r->cx, start, o->sizes, o->n_sizes);

    return ml_machine_math(r->cx, r->e, &d);
}

/* That of :time. false: cx's error. */
static bool find_bound(Run *r)
{
    ml_Why *out = r->out;
    const ml_TimingOpts *o = &r->o->timing;
    ml_Roofline roof;
    ml_TimeBound b;

    out->bound = out->share = (double)NAN;
    if (!ml_roofline_roofs(r->cx, r->e, r->s, r->at, o, &roof))
        return false;
    if (roof.no_peak)
        return true;
    b = ml_roofline_bound(r->cx, r->e, r->s, out->version, r->at, o, &roof);
    out->limit = ml_roof_name(&b.roof);
    out->bound = b.seconds;
    if (out->timing.t.median > 0 && out->bound <= ML_SHARE_MOST * out->timing.t.median)
        out->share = fmin(1, out->bound / out->timing.t.median);
    out->at_bound =
        out->bound >= AT_BOUND * out->timing.t.median && out->timing.t.median > 0;
    return true;
}

bool ml_why_run(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at, const ml_WhyOpts *o,
                void (*told)(void *user, double share), void *user, ml_Why *out)
{
    int version = ml_schedule_version(s);
    const ml_Work w = ml_work_of(cx, s, version, at);
    const ml_Machine *m = ml_machine_get(cx, e, true);
    Run r = {.cx = cx, .e = e, .s = s, .at = at, .m = m, .o = o, .out = out};

    *out = (ml_Why){.schedule = ml_schedule_name(s), .version = version};
    if (!ml_timing_may(cx, s, &w, &o->timing) || m == NULL || !know_functions(&r) ||
        !ml_why_model(cx, e, m, &w, &o->timing, &out->model) ||
        (!o->estimate && !ml_timing_run(cx, e, s, version, at, &o->timing, &out->timing)))
        return false;
    out->model.flop = ml_timing_flop(cx, w.func, &o->timing);
    r.trace = ml_schedule_trace(s, cx);
    r.sight = (ml_WhySight){.model = &out->model,
                            .machine = m,
                            .target = ml_engine_target(e),
                            .threads = ml_engine_threads(e),
                            .start_flop = ml_timing_flop(
                                cx, ml_version_program(s, 0).mod->funcs[at], &o->timing),
                            .parallel = ml_is_parallel(w.func)};
    if (!find_bound(&r))
        return false;
    return out->at_bound ||
           (look_at_all(&r, told, user) && (!o->measure || measure_all(&r, &w)));
}

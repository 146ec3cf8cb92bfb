/*
 * verify_each - the setting of that name: what each step of a line made is checked from
 * outside, after the step itself has been checked by the schedule (ml_self_check).
 *
 * The program must be well-formed, and on small shapes the interpreter must compute what
 * the start computes; symbolic sizes get a small prime. What is too long to run or cannot
 * be run is left out. Source: interaction 4, ir-and-analysis 8.5.
 */
#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/walk.h"
#include "moonloop/work/work.h"
#include "repl/command/command.h"
#include "repl/run/run.h"
#include "repl/session/progress.h"

enum { MAX_ITERATIONS = 100000, MAX_SIZES = 16, SMALL = 7 };

typedef struct Sizes {
    ml_Size v[MAX_SIZES];
    size_t n;
} Sizes;

static bool size_var(const ml_Expr *e, void *user)
{
    Sizes *z = user;

    if (e->kind != ML_EXPR_VAR)
        return true;
    for (size_t k = 0; k < z->n; k++)
        if (ml_streq(z->v[k].name, e->as.var->hint))
            return true;
    if (z->n < MAX_SIZES)
        z->v[z->n++] = (ml_Size){.name = e->as.var->hint, .value = SMALL};
    return true;
}

static void sizes_of(const ml_Func *f, Sizes *z)
{
    for (uint32_t k = 0; k < f->n_params; k++)
        for (size_t d = 0; f->params[k].buffer && d < f->params[k].buffer->rank; d++)
            ml_expr_visit(f->params[k].buffer->shape[d], size_var, z);
}

static bool runs_alike(ml_Session *ss, ml_Ctx *cx, int version, const char *line,
                       uint32_t at)
{
    ml_Program start = ml_version_program(ss->focus, 0),
               now = ml_version_program(ss->focus, version);
    Sizes z = {.n = 0};
    ml_CheckOpts o = {.extremes = true,
                      .seed = (uint64_t)ml_setting_int(&ss->set, ML_SET_seed),
                      .sizes = z.v,
                      .limit = MAX_ITERATIONS};
    ml_CheckResult r = {0};
    ml_MovedVec moved = {0};

    sizes_of(start.mod->funcs[at], &z);
    o.n_sizes = z.n;
    if (ml_version_moved(ss->focus, 0, version, at, cx, &moved)) {
        o.moved = moved.v;
        o.n_moved = moved.n;
    }
    if (!ml_check(cx, start.mod, start.mod->funcs[at], now.mod, now.mod->funcs[at], &o,
                  &r)) {
        if (!ml_checking_is_verdict(ml_error(cx)))
            return true;
        ml_session_fail(ss, ml_failure_about(ml_error(cx), ss->focus, NULL));
        return false;
    }
    if (r.ok)
        return true;
    if (r.problem && *r.problem)
        return ml_session_error(ss, ML_E_SELF_CHECK, "after v%d %s: %s (seed %llu)",
                                version, line, r.problem, (unsigned long long)r.seed);
    return ml_session_error(
        ss, ML_E_SELF_CHECK,
        "after v%d %s: the interpreter gives %.9g instead of %.9g at %s (seed %llu)",
        version, line, r.first_got, r.first_ref, r.first_at, (unsigned long long)r.seed);
}

static bool well_formed(ml_Session *ss, ml_Ctx *cx, int version)
{
    ml_Findings found = {0};

    ml_verify_well_formed(cx, ml_version_program(ss->focus, version).mod, &found);
    ml_error_clear(cx);
    for (size_t k = 0; k < found.n; k++)
        if (found.v[k].severity == ML_SEV_ERROR) {
            ml_session_fail(ss, ml_failure_about(found.v[k].error, ss->focus, NULL));
            return false;
        }
    return true;
}

static bool verify(ml_Session *ss, int version, const char *line)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    const ml_Module *start = ml_version_program(s, 0).mod,
                    *now = ml_version_program(s, version).mod;
    bool ok;

    ml_ctx_set_limit(cx, 0);
    ml_session_guard(ss, cx);
    ok = well_formed(ss, cx, version);
    for (uint32_t k = 0; ok && k < start->n && k < now->n; k++)
        if (start->funcs[k] != now->funcs[k])
            ok = runs_alike(ss, cx, version, line, k);
    ml_ctx_unref(cx);
    return ok;
}

bool ml_verify_steps(ml_Session *ss, int from)
{
    ml_Schedule *s = ss->focus;
    int v = ml_schedule_version(s), n = 0;
    int *line = NULL;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Step step;
    bool ok = true;

    line = ML_ARRAY(cx, int, ml_schedule_n_versions(s) + 1);
    while (v != from && v > 0 && ml_version_known(s, v) && ml_version_step(s, v, &step)) {
        line[n++] = v;
        v = step.parent;
    }
    while (ok && n > 0 && ml_version_known(s, 0))
        if (ml_version_step(s, line[--n], &step))
            ok = verify(ss, line[n], step.line ? step.line : "");
    ml_ctx_unref(cx);
    return ok;
}

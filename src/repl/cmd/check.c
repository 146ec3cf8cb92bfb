/* cmd_check - :check and :graph. Source: interaction 8, 12. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "moonloop/codegen/measure/check.h"
#include "moonloop/codegen/params/count.h"
#include "moonloop/core/json/data.h"
#include "moonloop/core/specialize.h"
#include "moonloop/core/vec.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/work.h"
#include "repl/cmd/options.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/session/progress.h"
#include "repl/show/show.h"

/* ---- :check */

#define LONG_RUN INT64_C(2000000000) /* innermost iterations: several seconds */

typedef struct CheckArgs {
    ml_CheckOpts o;
    ml_Sizes sizes;
} CheckArgs;

static const char INPUTS[] = "--inputs is random, zeros, ones, iota or adversarial";

static bool read_args(ml_Session *ss, const ml_Words *w, CheckArgs *a)
{
    int64_t seed = ml_setting_int(&ss->set, ML_SET_seed);
    double rtol = -1, atol = -1;
    const char *inputs = NULL;
    const ml_Option OPTIONS[] = {
        {"--seed", ML_OPTION_WHOLE, &seed, 1, 0x1p63, "--seed takes a number from 1"},
        {"--inputs", ML_OPTION_TEXT, &inputs, 0, 0, INPUTS},
        {"--shape", ML_OPTION_SIZE, &a->sizes, 0, 0, ML_SIZE_REFUSAL},
        {"--rtol", ML_OPTION_REAL, &rtol, 0, DBL_MAX, "a tolerance is a number from 0"},
        {"--atol", ML_OPTION_REAL, &atol, 0, DBL_MAX, "a tolerance is a number from 0"},
    };

    if (!ml_read_options(ss, w,
                         ":check knows --seed, --inputs, --shape, --rtol, --atol and "
                         "--background",
                         OPTIONS, ML_COUNT(OPTIONS)))
        return false;
    if (inputs && !ml_fill_parse(ml_str(inputs), &a->o.inputs))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "%s, not %s", INPUTS, inputs);
    a->o.seed = (uint64_t)seed;
    a->o.extremes = true;
    a->o.own_tolerance = rtol >= 0 || atol >= 0;
    a->o.rtol = fmax(rtol, 0);
    a->o.atol = fmax(atol, 0);
    a->o.sizes = a->sizes.v;
    a->o.n_sizes = a->sizes.n;
    return true;
}

/* Below what was found: that the bound says little of values this small. */
static void tell_vacuous(ml_Text *t, const ml_CheckResult *r)
{
    if (r->blind && *r->blind)
        ml_text_fmt(t, "\n     vacuous: %s", r->blind);
    if (!(r->vacuous > 0))
        return;
    ml_text_fmt(t, "\n     vacuous: the bound %.1e is ", r->vacuous);
    if (r->magnitude > 0)
        ml_text_fmt(t, "%.2g %% of", 100 * r->vacuous / r->magnitude);
    else
        ml_text_add(t, "above");
    ml_text_fmt(t,
                " the largest value, %.1e, and says little; --rtol and --atol set a "
                "smaller one",
                r->magnitude);
}

static void tell_bounds(ml_Text *t, const ml_CheckResult *r)
{
    if (r->bounds && *r->bounds)
        ml_text_fmt(t, "\n     bounds: %s", r->bounds);
}

static void tell_refused(ml_Text *t, const ml_CheckResult *r)
{
    if (*r->refused)
        ml_text_fmt(t, "\n     interpreted alone, as the compiler refuses it: %s",
                    r->refused);
}

static void report(ml_Session *ss, const ml_CheckResult *r, const char *names)
{
    ml_Text t = {0};

    if (r->ok && r->n_outputs == 0) {
        ml_text_fmt(&t, "ok   %snothing to compare: no parameter is written", names);
    } else if (r->ok) {
        ml_text_fmt(&t, "ok   %s equals v0 ", names);
        if (r->rtol == 0 && r->atol == 0)
            ml_text_add(&t, "exactly");
        else
            ml_text_fmt(&t, "within %.1e (largest difference %.1e)",
                        r->atol > 0 ? r->atol : r->rtol, r->largest);
        if (r->elements >= 0) {
            ml_text_add(&t, ", ");
            ml_text_thousands(&t, r->elements);
            ml_text_add(&t, r->elements == 1 ? " element" : " elements");
        }
        if (r->unwritten) {
            ml_text_add(&t, ", ");
            ml_text_thousands(&t, r->unwritten);
            ml_text_add(&t, " of them not written by v0");
        }
        ml_text_fmt(&t, ", seed %llu", (unsigned long long)r->seed);
        tell_bounds(&t, r);
        tell_vacuous(&t, r);
    } else if (r->problem && *r->problem) {
        ml_text_fmt(&t, "FAIL %s (seed %llu)", r->problem, (unsigned long long)r->seed);
    } else {
        ml_text_fmt(&t, "FAIL %s: ", names);
        ml_text_thousands(&t, r->outside);
        if (r->elements >= 0) {
            ml_text_add(&t, " of ");
            ml_text_thousands(&t, r->elements);
        }
        if (r->rtol > 0)
            ml_text_fmt(&t, " elements differ by more than %.1e + %.1e × |expected|\n",
                        r->atol, r->rtol);
        else
            ml_text_fmt(&t, " elements differ by more than %.1e\n", r->atol);
        if (*r->largest_at)
            ml_text_fmt(&t, "     largest %.3g at %s\n", r->largest, r->largest_at);
        ml_text_fmt(&t, "     first at %s: %.9g ", r->first_at, r->first_got);
        if (r->first_unwritten)
            ml_text_add(&t, "where v0 writes nothing");
        else
            ml_text_fmt(&t, "instead of %.9g", r->first_ref);
        ml_text_fmt(&t, ", seed %llu", (unsigned long long)r->seed);
        tell_bounds(&t, r);
        tell_vacuous(&t, r);
    }
    tell_refused(&t, r);
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

typedef struct Verdict {
    bool ok, known;
} Verdict;

static void expect(ml_Session *ss, ml_Ctx *cx, const ml_Work *w, const CheckArgs *a)
{
    double n = (double)ml_count_iterations(cx, w->func, a->o.sizes, a->o.n_sizes);

    if (n > 0)
        ml_progress_expect(ss, n);
}

/* One function of the current version against the same of the start. sizes: said before what
 * was found; NULL: those were given. */
static Verdict check_func(ml_Session *ss, const CheckArgs *a, uint32_t at, bool name_it,
                          const char *sizes)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    ml_CheckOpts o = a->o;
    ml_MovedVec moved = {0};
    ml_Work start, now;
    const ml_Func *f;
    ml_CheckResult r = {0};
    ml_CheckRuns runs;
    Verdict v = {false, true};

    ml_ctx_set_limit(cx, 0);
    ml_session_guard(ss, cx);
    start = ml_work_of(cx, s, 0, at);
    now = ml_work_of(cx, s, ml_schedule_version(s), at);
    f = start.func;
    if (!ml_sizes_given(cx, f, a->o.sizes, a->o.n_sizes, false)) {
        ml_session_fail(ss, ml_failure_about(ml_error(cx), s, NULL));
        ml_ctx_unref(cx);
        return (Verdict){false, false};
    }
    expect(ss, cx, &start, a);
    expect(ss, cx, &now, a);
    int64_t count = ml_count_iterations(cx, f, a->o.sizes, a->o.n_sizes);

    if (count > LONG_RUN && count != ML_INF)
        ml_err_prose(&ss->out,
                     "checking: the start version runs first, which takes a while; "
                     "Ctrl-C ends it");
    if (ml_version_moved(s, 0, ml_schedule_version(s), at, cx, &moved)) {
        o.moved = moved.v;
        o.n_moved = moved.n;
    }
    if (!ml_work_check(cx, ml_host_engine(ss->host), &start, &now, &o, &r, &runs)) {
        v.known = ml_checking_is_verdict(ml_error(cx));
        ml_session_fail(ss, ml_failure_about(ml_error(cx), s, NULL));
    } else {
        const char *names =
            name_it ? ml_format(cx, "%s: %s", f->name, r.written) : r.written;

        ml_data_row(ml_session_data(ss));
        if (sizes)
            ml_data_str(ml_session_data(ss), "shape", sizes);
        ml_data_fields(ml_session_data(ss), &ml_check_fields, &r);
        report(ss, &r, sizes ? ml_format(cx, "%s: %s", sizes, names) : names);
        if (runs.loop_by_loop)
            ml_err_prose(&ss->out, ml_format(cx, "note: %s", runs.loop_by_loop));
        v.ok = r.ok;
        if (!r.ok && ss->status == 0)
            ss->status = 1;
    }
    ml_ctx_unref(cx);
    return v;
}

/* ---- sizes that nobody gave, of a version that has arms for some */

enum { DRAWN = 2, DRAWN_MOST = 40, DRAWN_TIMES = 8 }; /* sizes without an arm */

/* The sizes of the arm, others drawn; more: that many above those of the arm. */
static void draw_sizes(CheckArgs *to, const ml_VarVec *symbols, const ml_Arm *arm,
                       int64_t more, ml_Random *random)
{
    to->sizes.n = 0;
    for (size_t k = 0; k < symbols->n && k < ML_COUNT(to->sizes.v); k++) {
        const char *name = symbols->v[k]->hint;
        int64_t value = 1 + (int64_t)ml_random_below(random, DRAWN_MOST);

        for (size_t m = 0; arm && m < arm->n; m++)
            if (ml_streq(arm->sizes[m].name, name))
                value = arm->sizes[m].value + more;
        to->sizes.v[to->sizes.n++] = (ml_Size){name, value};
    }
    to->o.sizes = to->sizes.v;
    to->o.n_sizes = to->sizes.n;
}

typedef ML_VEC(const char *) Seen; /* sizes that were checked */

static const char *sizes_text(ml_Ctx *cx, const CheckArgs *a)
{
    ml_Text t = {0};

    for (size_t k = 0; k < a->sizes.n; k++)
        ml_text_fmt(&t, "%s%s=%lld", k ? "," : "", a->sizes.v[k].name,
                    (long long)a->sizes.v[k].value);
    const char *text = ml_strdup(cx, ml_str(ml_text_z(&t)));

    ml_text_free(&t);
    return text;
}

static bool is_seen(const Seen *seen, const char *text)
{
    for (size_t k = 0; k < seen->n; k++)
        if (ml_streq(seen->v[k], text))
            return true;
    return false;
}

static Verdict both(Verdict a, Verdict b)
{
    return (Verdict){a.ok && b.ok, a.known && b.known};
}

/* Each arm, what is beside the first one, and sizes that are drawn; none of them twice. */
static Verdict check_arms(ml_Session *ss, const CheckArgs *given, uint32_t at, bool name_it,
                          ml_Ctx *cx, const ml_Arms *arms, const ml_VarVec *symbols)
{
    Verdict all = {true, true};
    CheckArgs a = *given;
    ml_Random random = ml_random("sizes", 0, given->o.seed);
    size_t n = arms->v.n;
    Seen seen = {0};

    for (size_t k = 0; k <= n + DRAWN && all.known; k++) {
        const ml_Arm *arm = k < n ? &arms->v.v[k] : k == n ? &arms->v.v[0] : NULL;
        const char *text = NULL;

        for (int tries = 0; tries < DRAWN_TIMES && (!text || is_seen(&seen, text));
             tries++) {
            draw_sizes(&a, symbols, arm, k == n, &random);
            text = sizes_text(cx, &a);
        }
        if (is_seen(&seen, text))
            continue;
        ml_push(cx, &seen, text);
        all = both(all, check_func(ss, &a, at, name_it, text));
    }
    return all;
}

static Verdict check_one(ml_Session *ss, const CheckArgs *a, uint32_t at, bool name_it,
                         ml_Ctx *cx)
{
    const ml_Module *now = ml_schedule_program(ss->focus).mod;
    ml_VarVec symbols = {0};
    ml_Arms arms = {0};

    if (a->o.n_sizes == 0 && at < now->n) {
        ml_func_arms(cx, now->funcs[at], &arms);
        ml_func_symbols(cx, now->funcs[at], true, &symbols);
    }
    return arms.v.n > 0 && symbols.n > 0
               ? check_arms(ss, a, at, name_it, cx, &arms, &symbols)
               : check_func(ss, a, at, name_it, NULL);
}

bool cmd_check(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    const ml_Module *start = ml_version_program(s, 0).mod;
    ml_Ctx *cx = ml_ctx_new(0);
    CheckArgs a = {0};
    Verdict all = {true, true};
    const char *why = NULL;
    bool ok;

    ss->check_ok = false;
    ok = read_args(ss, w, &a);
    if (ok)
        why = ml_checking_bad_size(cx, start, NULL, a.o.sizes, a.o.n_sizes);
    if (why)
        ok = ml_session_error(ss, ML_E_BAD_ARGUMENT, "--shape: %s", why);
    if (!ok) {
        ml_ctx_unref(cx);
        return false;
    }
    for (uint32_t k = 0; k < start->n && all.known; k++) {
        if (!ml_checking_wants(s, start, k))
            continue;
        Verdict v = check_one(ss, &a, k, start->n > 1, cx);

        all.ok &= v.ok;
        all.known &= v.known;
    }
    if (all.known)
        ml_schedule_set_check(s, ml_schedule_version(s), all.ok ? "ok" : "FAIL");
    ml_ctx_unref(cx);
    ss->check_ok = all.ok && all.known;
    return ss->check_ok;
}

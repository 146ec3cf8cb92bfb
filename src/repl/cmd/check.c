/* cmd_check - :check and :graph. Source: interaction 8, 12. */
#include <math.h>
#include <stdlib.h>

#include "codegen/measure/check.h"
#include "codegen/params/count.h"
#include "repl/cmd/tune_words.h"
#include "repl/command/command.h"
#include "repl/graph/graph.h"
#include "repl/host/host.h"
#include "repl/out/data.h"
#include "repl/session/progress.h"
#include "repl/show/show.h"
#include "work/work.h"

/* ---- :check */

#define LONG_RUN INT64_C(2000000000) /* innermost iterations: several seconds */

typedef struct CheckArgs {
    ml_CheckOpts o;
    ml_Size sizes[16];
} CheckArgs;

static bool number(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

/* A whole number that a double holds exactly. */
static bool whole(const char *text, double from, double *out)
{
    return number(text, out) && *out >= from && *out <= 0x1p53 && *out == floor(*out);
}

static bool read_shape(ml_Session *ss, CheckArgs *a, char *text)
{
    char *eq = strchr(text, '=');
    double v;

    if (!eq || eq == text || !whole(eq + 1, 0, &v))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "--shape n=127, not %s", text);
    if (a->o.n_sizes == ML_COUNT(a->sizes))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "at most %zu sizes are taken",
                                ML_COUNT(a->sizes));
    *eq = '\0';
    a->sizes[a->o.n_sizes++] = (ml_Size){.name = text, .value = (int64_t)v};
    return true;
}

static bool read_args(ml_Session *ss, const ml_Words *w, CheckArgs *a, ml_Ctx *cx)
{
    a->o.seed = (uint64_t)ml_setting_int(&ss->set, ML_SET_seed);
    a->o.extremes = true;
    for (size_t k = 0; k < w->n; k++) {
        const char *v;
        double x = 0;

        if ((v = ml_tune_value(w, &k, "--seed")) != NULL) {
            if (!whole(v, 1, &x))
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "--seed takes a number from 1, not %s", v);
            a->o.seed = (uint64_t)x;
        } else if ((v = ml_tune_value(w, &k, "--inputs")) != NULL) {
            if (!ml_fill_parse(ml_str(v), &a->o.inputs))
                return ml_session_error(
                    ss, ML_E_BAD_ARGUMENT,
                    "--inputs is random, zeros, ones, iota or adversarial, not %s", v);
        } else if ((v = ml_tune_value(w, &k, "--shape")) != NULL) {
            if (!read_shape(ss, a, ml_strdup(cx, ml_str(v))))
                return false;
        } else if ((v = ml_tune_value(w, &k, "--rtol")) != NULL ||
                   (v = ml_tune_value(w, &k, "--atol")) != NULL) {
            bool r = strstr(w->v[k > 0 && v == w->v[k] ? k - 1 : k], "--rtol") != NULL;

            if (!number(v, &x) || x < 0)
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "a tolerance is a number from 0, not %s", v);
            a->o.own_tolerance = true;
            if (r)
                a->o.rtol = x;
            else
                a->o.atol = x;
        } else
            return ml_session_error(
                ss, ML_E_BAD_ARGUMENT,
                ":check knows --seed, --inputs, --shape, --rtol, --atol and --background, "
                "not %s",
                w->v[k]);
    }
    a->o.sizes = a->sizes;
    return true;
}

/* -1: not known, or more than a run could have. */
static int64_t elements_of(const ml_Buffer *b, const CheckArgs *a)
{
    int64_t n = 1, extent;

    for (uint16_t d = 0; d < b->rank; d++)
        if (!ml_eval_size(b->shape[d], a->o.sizes, a->o.n_sizes, &extent) ||
            __builtin_mul_overflow(n, extent, &n))
            return -1;
    return n;
}

/* Names of the outputs, and how many elements they have where that is constant. */
static int64_t outputs(ml_Ctx *cx, const ml_Func *f, const CheckArgs *a, ml_Text *names)
{
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, f->n_params);
    int64_t n = 0;

    ml_param_roles(cx, f, a->sizes, a->o.n_sizes, roles);
    for (size_t k = 0; k < f->n_params; k++) {
        if (!roles[k].written || !f->params[k].buffer)
            continue;
        int64_t m = elements_of(f->params[k].buffer, a);

        ml_text_fmt(names, "%s%s", names->n ? ", " : "", f->params[k].buffer->name);
        n = m < 0 || n < 0 ? -1 : n + m;
    }
    return n;
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

static void report(ml_Session *ss, const ml_CheckResult *r, const char *names,
                   int64_t elements)
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
        if (elements >= 0) {
            ml_text_add(&t, ", ");
            ml_text_thousands(&t, elements);
            ml_text_add(&t, elements == 1 ? " element" : " elements");
        }
        ml_text_fmt(&t, ", seed %llu", (unsigned long long)r->seed);
        tell_bounds(&t, r);
        tell_vacuous(&t, r);
    } else if (r->problem && *r->problem) {
        ml_text_fmt(&t, "FAIL %s (seed %llu)", r->problem, (unsigned long long)r->seed);
    } else {
        ml_text_fmt(&t, "FAIL %s: ", names);
        ml_text_thousands(&t, r->outside);
        if (elements >= 0) {
            ml_text_add(&t, " of ");
            ml_text_thousands(&t, elements);
        }
        if (r->rtol > 0)
            ml_text_fmt(&t, " elements differ by more than %.1e + %.1e × |expected|\n",
                        r->atol, r->rtol);
        else
            ml_text_fmt(&t, " elements differ by more than %.1e\n", r->atol);
        ml_text_fmt(&t, "     largest %.3g at %s\n", r->largest, r->largest_at);
        ml_text_fmt(&t, "     first at %s: %.9g instead of %.9g, seed %llu", r->first_at,
                    r->first_got, r->first_ref, (unsigned long long)r->seed);
        tell_bounds(&t, r);
        tell_vacuous(&t, r);
    }
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

static void tell(ml_Data *d, const ml_CheckResult *r, const char *func, const char *names,
                 int64_t elements)
{
    ml_data_row(d);
    ml_data_str(d, "verdict", r->ok ? "ok" : "FAIL");
    ml_data_bool(d, "ok", r->ok);
    ml_data_str(d, "function", func);
    ml_data_str(d, "outputs", names);
    if (elements >= 0)
        ml_data_int(d, "elements", elements);
    ml_data_int(d, "seed", (int64_t)r->seed);
    ml_data_real(d, "rtol", r->rtol);
    ml_data_real(d, "atol", r->atol);
    ml_data_str(d, "bounds", r->bounds && *r->bounds ? r->bounds : NULL);
    if (r->vacuous > 0) {
        ml_data_real(d, "vacuous", r->vacuous);
        ml_data_real(d, "magnitude", r->magnitude);
    }
    ml_data_str(d, "blind", r->blind && *r->blind ? r->blind : NULL);
    ml_data_int(d, "outside", r->outside);
    ml_data_real(d, "largest", r->largest);
    ml_data_str(d, "problem", r->problem && *r->problem ? r->problem : NULL);
    if (r->outside > 0) {
        ml_data_str(d, "largest_at", r->largest_at);
        ml_data_str(d, "first_at", r->first_at);
        ml_data_real(d, "first_got", r->first_got);
        ml_data_real(d, "first_expected", r->first_ref);
    }
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

/* One function of the current version against the same of the start. */
static Verdict check_func(ml_Session *ss, const CheckArgs *a, uint32_t at, bool name_it)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    ml_CheckOpts o = a->o;
    ml_MovedVec moved = {0};
    ml_Work start, now;
    const ml_Func *f;
    ml_CheckResult r = {0};
    ml_CheckRuns runs;
    ml_Text names = {0};
    Verdict v = {false, true};

    ml_ctx_set_limit(cx, 0);
    ml_session_guard(ss, cx);
    start = ml_work_of(cx, s, 0, at);
    now = ml_work_of(cx, s, ml_schedule_version(s), at);
    f = start.func;
    expect(ss, cx, &start, a);
    expect(ss, cx, &now, a);
    if (ml_count_iterations(cx, f, a->o.sizes, a->o.n_sizes) > LONG_RUN)
        ml_err_line(&ss->out,
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
        int64_t n = outputs(cx, f, a, &names);

        tell(ml_session_data(ss), &r, f->name, ml_text_z(&names), n);
        report(ss, &r,
               name_it ? ml_format(cx, "%s: %s", f->name, ml_text_z(&names))
                       : ml_text_z(&names),
               n);
        v.ok = r.ok;
        if (!r.ok && ss->status == 0)
            ss->status = 1;
    }
    ml_text_free(&names);
    ml_ctx_unref(cx);
    return v;
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
    ok = read_args(ss, w, &a, cx);
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
        Verdict v = check_func(ss, &a, k, start->n > 1);

        all.ok &= v.ok;
        all.known &= v.known;
    }
    if (all.known)
        ml_schedule_set_check(s, ml_schedule_version(s), all.ok ? "ok" : "FAIL");
    ml_ctx_unref(cx);
    ss->check_ok = all.ok && all.known;
    return ss->check_ok;
}

/* ---- :graph */

bool cmd_graph(ml_Session *ss, const ml_Words *w)
{
    ml_Graph g;
    ml_GraphWhy why = {.code = ML_E_NO_FILE};
    ml_Text said = {0};
    bool ok;

    if (w->n == 2 && ml_session_forbids(ss, ":graph FILE"))
        return false;
    if (w->n != 1 && w->n != 2)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":graph loops|deps [FILE] (.svg .png .pdf .txt .dot)");
    if (!ml_graph_build(ss->focus, w->v[0], &g)) {
        ml_Ctx *cx = ml_schedule_ctx(ss->focus);
        ml_Failure *f = ml_failure_from(ml_error(cx));

        ml_error_clear(cx);
        ml_session_fail(ss, f);
        return false;
    }
    ok = w->n == 1 ? ml_graph_text(&g, w->v[0], ss->out.ascii, &said, &why)
                   : ml_graph_write(&g, w->v[0], w->v[1], &why);
    if (ok && w->n == 1) {
        ml_page(ss, said.n ? ml_text_z(&said) : "there is nothing to draw");
    } else if (ok) {
        ml_Data *d = ml_session_data(ss);

        ml_data_one(d);
        ml_data_str(d, "file", w->v[1]);
        ml_data_int(d, "nodes", (int64_t)g.nodes);
        ml_data_int(d, "edges", (int64_t)g.edges);
        ml_text_fmt(&said, "wrote %s (%zu node%s, %zu edge%s)", w->v[1], g.nodes,
                    g.nodes == 1 ? "" : "s", g.edges, g.edges == 1 ? "" : "s");
        ml_out_prose(&ss->out, ml_text_z(&said));
    } else
        ml_session_error(ss, why.code, "%s", ml_text_z(&why.message));
    ml_text_free(&g.dot);
    ml_text_free(&why.message);
    ml_text_free(&said);
    return ok;
}

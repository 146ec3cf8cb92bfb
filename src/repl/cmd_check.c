/* cmd_check - :check and :graph. Source: interaction 8, 12. */
#include <math.h>
#include <stdlib.h>

#include "codegen/check.h"
#include "repl/command.h"
#include "repl/graph/graph.h"

/* ---- :check */

typedef struct CheckArgs {
    ml_CheckOpts o;
    ml_Size sizes[16];
} CheckArgs;

static bool number(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end;
}

/* `--name value` or `--name=value`. */
static const char *value_of(const ml_Words *w, size_t *k, const char *name)
{
    size_t n = strlen(name);

    if (strncmp(w->v[*k], name, n) != 0)
        return NULL;
    if (w->v[*k][n] == '=')
        return w->v[*k] + n + 1;
    if (w->v[*k][n] == '\0')
        return *k + 1 < w->n ? w->v[++*k] : "";
    return NULL;
}

static bool read_shape(ml_Session *ss, CheckArgs *a, char *text)
{
    char *eq = strchr(text, '=');
    double v;

    if (!eq || !number(eq + 1, &v) || v < 0 || a->o.n_sizes == ML_COUNT(a->sizes))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "--shape n=127, not %s", text);
    *eq = '\0';
    a->sizes[a->o.n_sizes++] = (ml_Size){.name = text, .value = (int64_t)v};
    return true;
}

static bool read_args(ml_Session *ss, const ml_Words *w, CheckArgs *a, ml_Ctx *cx)
{
    a->o.seed = (uint64_t)ml_setting_int(&ss->set, ML_SET_seed);
    for (size_t k = 0; k < w->n; k++) {
        const char *v;
        double x = 0;

        if ((v = value_of(w, &k, "--seed")) != NULL) {
            if (!number(v, &x) || x < 1)
                return ml_session_error(ss, ML_E_BAD_ARGUMENT, "--seed takes a number from 1, not %s", v);
            a->o.seed = (uint64_t)x;
        } else if ((v = value_of(w, &k, "--inputs")) != NULL) {
            if (!ml_fill_parse(ml_str(v), &a->o.inputs))
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "--inputs is random, zeros, ones, iota or adversarial, not %s",
                                        v);
        } else if ((v = value_of(w, &k, "--shape")) != NULL) {
            if (!read_shape(ss, a, ml_strdup(cx, ml_str(v))))
                return false;
        } else if ((v = value_of(w, &k, "--rtol")) != NULL || (v = value_of(w, &k, "--atol")) != NULL) {
            bool r = strstr(w->v[k > 0 && v == w->v[k] ? k - 1 : k], "--rtol") != NULL;

            if (!number(v, &x) || x < 0)
                return ml_session_error(ss, ML_E_BAD_ARGUMENT, "a tolerance is a number from 0, not %s", v);
            a->o.own_tolerance = true;
            if (r)
                a->o.rtol = x;
            else
                a->o.atol = x;
        } else
            return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                    ":check knows --seed, --inputs, --shape, --rtol and --atol, not %s",
                                    w->v[k]);
    }
    a->o.sizes = a->sizes;
    return true;
}

/* Names of the outputs, and how many elements they have where that is constant. */
static int64_t outputs(ml_Session *ss, ml_Ctx *cx, const ml_Func *f, const CheckArgs *a, ml_Text *names)
{
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, f->n_params);
    int64_t n = 0;

    (void)ss;
    ml_param_roles(cx, f, a->sizes, a->o.n_sizes, roles);
    for (size_t k = 0; k < f->n_params; k++) {
        if (!roles[k].written || !f->params[k].buffer)
            continue;
        int64_t m = ml_buffer_const_size(f->params[k].buffer);

        ml_text_fmt(names, "%s%s", names->n ? ", " : "", f->params[k].buffer->name);
        n = m < 0 || n < 0 ? -1 : n + m;
    }
    return n;
}

static void report(ml_Session *ss, const ml_CheckResult *r, const char *names, int64_t elements)
{
    ml_Text t = {0};

    if (r->ok) {
        ml_text_fmt(&t, "ok   %s equals v0 ", names);
        if (r->rtol == 0)
            ml_text_add(&t, "exactly");
        else
            ml_text_fmt(&t, "within %.1e (largest difference %.1e)", r->rtol, r->largest);
        if (elements >= 0) {
            ml_text_add(&t, ", ");
            ml_text_thousands(&t, elements);
            ml_text_add(&t, " elements");
        }
        ml_text_fmt(&t, ", seed %llu", (unsigned long long)r->seed);
    } else if (r->problem && *r->problem) {
        ml_text_fmt(&t, "FAIL %s (seed %llu)", r->problem, (unsigned long long)r->seed);
    } else {
        ml_text_fmt(&t, "FAIL %s: ", names);
        ml_text_thousands(&t, r->outside);
        if (elements >= 0) {
            ml_text_add(&t, " of ");
            ml_text_thousands(&t, elements);
        }
        ml_text_fmt(&t, " elements differ by more than %.1e × (1 + |expected|)\n", r->rtol);
        ml_text_fmt(&t, "     largest %.3g at %s\n", r->largest, r->largest_at);
        ml_text_fmt(&t, "     first at %s: %.9g instead of %.9g, seed %llu", r->first_at,
                    r->first_got, r->first_ref, (unsigned long long)r->seed);
    }
    ml_out_line(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

bool cmd_check(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Program now = ml_schedule_program(s), start = ml_version_program(s, 0);
    uint32_t at = ml_schedule_func_pos(s);
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    CheckArgs a = {0};
    ml_CheckResult r = {0};
    ml_Text names = {0};
    bool ok;

    ml_ctx_set_limit(cx, 0);
    ml_ctx_set_cancel(cx, (const volatile int *)&ss->interrupt);
    if (!read_args(ss, w, &a, cx)) {
        ml_ctx_unref(cx);
        return false;
    }
    ok = ml_check(cx, start.mod, start.mod->funcs[at], now.mod, now.mod->funcs[at], &a.o, &r);
    if (!ok) {
        ml_Failure *f = ml_failure_from(ml_error(cx));

        ml_schedule_set_check(s, ml_schedule_version(s), "FAIL");
        ml_session_fail(ss, f);
    } else {
        int64_t n = outputs(ss, cx, start.mod->funcs[at], &a, &names);

        report(ss, &r, ml_text_z(&names), n);
        ml_schedule_set_check(s, ml_schedule_version(s), r.ok ? "ok" : "FAIL");
        if (!r.ok && ss->status == 0)
            ss->status = 1;
    }
    ss->check_ok = ok && r.ok;
    ml_text_free(&names);
    ml_ctx_unref(cx);
    return ok && r.ok;
}

/* ---- :graph */

bool cmd_graph(ml_Session *ss, const ml_Words *w)
{
    ml_Graph g;
    ml_Text why = {0}, said = {0};
    bool ok;

    if (w->n != 2)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":graph loops|deps FILE (.svg .png .pdf .dot)");
    if (!ml_graph_build(ss->focus, w->v[0], &g)) {
        ml_Ctx *cx = ml_schedule_ctx(ss->focus);
        ml_Failure *f = ml_failure_from(ml_error(cx));

        ml_error_clear(cx);
        ml_session_fail(ss, f);
        return false;
    }
    ok = ml_graph_write(&g, w->v[1], &why);
    if (ok) {
        ml_text_fmt(&said, "wrote %s (%zu node%s, %zu edge%s)", w->v[1], g.nodes,
                    g.nodes == 1 ? "" : "s", g.edges, g.edges == 1 ? "" : "s");
        ml_out_line(&ss->out, ml_text_z(&said));
    } else
        ml_session_error(ss, ML_E_NO_FILE, "%s", ml_text_z(&why));
    ml_text_free(&g.dot);
    ml_text_free(&why);
    ml_text_free(&said);
    return ok;
}

/* cmd_machine - :machine, what was measured of this machine beside what the table says.
 * Source: interaction 8. */
#include <math.h>
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/say.h"
#include "repl/cmd/machine_report.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/session/progress.h"

enum { WIDE = 12 }; /* of a column of figures */

static void cell(ml_Text *t, double v, double unit)
{
    ml_Text n = {0};

    if (isnan(v))
        ml_text_add(&n, "-");
    else if (v / unit >= 99.95)
        ml_text_thousands(&n, llround(v / unit));
    else
        ml_text_fmt(&n, "%.*f", v / unit < 9.995 ? 2 : 1, v / unit);
    ml_text_repeat(t, ' ', n.n < WIDE ? WIDE - n.n : 1);
    ml_text_add(t, ml_text_z(&n));
    ml_text_free(&n);
}

static void heads(ml_Text *t, const char *what, uint32_t threads, const char *last)
{
    ml_text_fmt(t, "%-18s%*s", what, WIDE, "1 thread");
    if (threads > 1) {
        ml_Text n = {0};

        ml_text_fmt(&n, "%u threads", threads);
        ml_text_fmt(t, "%*s", WIDE, ml_text_z(&n));
        ml_text_free(&n);
    }
    ml_text_fmt(t, "%*s\n", last ? WIDE : 0, last ? last : "");
}

static void add_peaks(const ml_Machine *m, ml_Text *t)
{
    heads(t, "peak, GFLOP/s", m->threads, "nominal");
    for (int k = 0; k < ML_MACHINE_KINDS; k++) {
        ml_MachineKind kind = (ml_MachineKind)k;
        bool dot = kind == ML_MACHINE_BF16 || kind == ML_MACHINE_INT8;
        double nominal = ml_machine_nominal(m, kind, m->threads);
        ml_Text name = {0};

        if (isnan(m->peak[k][0]) && isnan(nominal) &&
            !(kind == ML_MACHINE_BF16 && m->target.bf16))
            continue;
        ml_text_fmt(&name, "  %s%s", ml_machine_kind_name(kind), dot ? " dot" : "");
        ml_text_fmt(t, "%-18s", ml_text_z(&name));
        ml_text_free(&name);
        cell(t, m->peak[k][0], 1e9);
        if (m->threads > 1)
            cell(t, m->peak[k][1], 1e9);
        cell(t, nominal, 1e9);
        if (isnan(m->peak[k][0]))
            ml_text_add(t, "   not measured");
        ml_text_char(t, '\n');
    }
    if (m->peak_set > 0) {
        ml_text_add(t, "  set by hand: ");
        ml_text_thousands(t, llround(m->peak_set * 1e-9));
        ml_text_fmt(t, " for float32 on %u thread%s\n", m->threads,
                    m->threads == 1 ? "" : "s");
    }
}

static void add_bandwidths(const ml_Machine *m, ml_Text *t)
{
    heads(t, "bandwidth, GB/s", m->threads, NULL);
    for (int l = 0; l < ML_MACHINE_LEVELS; l++) {
        ml_MachineLevel level = (ml_MachineLevel)l;

        for (int k = 0; k < ML_TRAFFICS; k++) {
            const double *v = m->bandwidth[l][k];

            if (isnan(v[0]) && isnan(v[1]))
                continue;
            ml_text_fmt(t, "  %-8s%-8s", k ? "" : ml_machine_level_name(level),
                        ml_traffic_name((ml_Traffic)k));
            cell(t, v[0], 1e9);
            if (m->threads > 1)
                cell(t, v[1], 1e9);
            if (k == 0 && level < ML_MACHINE_MEMORY) {
                ml_text_add(t, "   ");
                ml_text_fmt(t, m->cache[l] % (1 << 20) ? "%.0f KiB" : "%.0f MiB",
                            (double)m->cache[l] /
                                (m->cache[l] % (1 << 20) ? 1024 : 1 << 20));
            }
            ml_text_char(t, '\n');
        }
    }
}

/* Of the functions that some program needed. */
static void add_rates(const ml_Machine *m, ml_Text *t)
{
    bool any = false;

    for (int k = 0; k < ML_MATHS; k++) {
        const double *v = m->math[k];

        if (!(v[0] > 0) && !(v[1] > 0))
            continue;
        if (!any)
            ml_text_fmt(t, "%-18s%*s%*s\n", "results, G/s", WIDE, "float32", WIDE,
                        "float64");
        any = true;
        ml_text_fmt(t, "  %-16s", ml_math_name((ml_Math)k));
        cell(t, v[0], 1e9);
        cell(t, v[1], 1e9);
        ml_text_add(t, "   1 thread\n");
    }
}

void ml_machine_report(const ml_Machine *m, ml_Text *t)
{
    ml_text_fmt(t, "%s\n%u core%s, %u thread%s   %s, vectors of %u bits", m->cpu,
                m->target.cores, m->target.cores == 1 ? "" : "s", m->threads,
                m->threads == 1 ? "" : "s", ml_target_level(&m->target),
                m->target.vector_bits);
    if (!isnan(m->flop_per_cycle))
        ml_text_fmt(t, ", %.0f FLOP/cycle", m->flop_per_cycle);
    ml_text_add(t, "\nclock ");
    if (m->clock > 0)
        ml_text_fmt(t, "%.2f GHz at most", m->clock * 1e-9);
    else
        ml_text_add(t, "not told by the system");
    if (!isnan(m->clock_measured))
        ml_text_fmt(t, ", %.2f GHz measured", m->clock_measured * 1e-9);
    ml_text_char(t, '\n');
    add_peaks(m, t);
    add_bandwidths(m, t);
    add_rates(m, t);
    ml_text_add(t, "a call ");
    ml_text_seconds(t, m->call);
    if (!isnan(m->fork_join)) {
        ml_text_fmt(t, ", a parallel loop over %u threads ", m->threads);
        ml_text_seconds(t, m->fork_join);
    }
}

static void report(ml_Session *ss, const ml_Machine *m)
{
    ml_Text t = {0};

    ml_data_one(ml_session_data(ss));
    ml_data_fields(ml_session_data(ss), &ml_machine_fields, m);
    ml_machine_report(m, &t);
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

/* peak=GFLOPs, or peak=auto. */
static bool set(ml_Session *ss, ml_Engine *e, const char *what)
{
    const char *v = strncmp(what, "peak=", 5) == 0 ? what + 5 : NULL;
    char *end;
    double g;

    if (v && ml_streq(v, "auto")) {
        ml_machine_set_peak(e, 0);
        return true;
    }
    g = v ? strtod(v, &end) : 0;
    if (v == NULL || end == v || *end || !(g > 0) || !(g < 1e12))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":machine set peak=GFLOPs, or peak=auto for the measured "
                                "one, not %s",
                                what);
    ml_machine_set_peak(e, g * 1e9);
    return true;
}

bool cmd_machine(ml_Session *ss, const ml_Words *w)
{
    ml_Engine *e = ml_host_engine(ss->host);
    bool anew = false, ok = true;
    const ml_Machine *m;
    ml_Ctx *cx;

    if (w->n > 0 && ml_session_forbids(ss, ":machine set, --calibrate"))
        return false;
    for (size_t k = 0; k < w->n; k++) {
        if (ml_streq(w->v[k], "--calibrate"))
            anew = true;
        else if (!ml_streq(w->v[k], "set") || k + 1 == w->n)
            return ml_session_error(
                ss, ML_E_BAD_ARGUMENT,
                ":machine knows set peak=GFLOPs and --calibrate, not %s", w->v[k]);
        else if (!set(ss, e, w->v[++k]))
            return false;
    }
    cx = ml_ctx_new(0);
    ml_session_guard(ss, cx);
    if (w->n > 0 && !anew && ml_machine_known(cx, e) == NULL) {
        ml_ctx_unref(cx); /* it was set: nothing needs to be measured for that */
        return true;
    }
    m = anew ? ml_machine_calibrate(cx, e, true, false) : ml_machine_get(cx, e, true);
    if (m)
        report(ss, m);
    else {
        ok = ml_session_ctx_error(ss, cx);
    }
    ml_ctx_unref(cx);
    return ok;
}

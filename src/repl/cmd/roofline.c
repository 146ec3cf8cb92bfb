/* cmd_roofline - :roofline, how far each version is from what the machine can do. Source:
 * interaction 8. */
#include <math.h>
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/say.h"
#include "moonloop/work/work.h"
#include "repl/cmd/timing_args.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/keep/record.h"
#include "repl/out/interrupt.h"
#include "repl/show/roofline.h"

#define BRIEF 100e-9 /* seconds of a run of which no roof tells */

enum { HEIGHT = 18, LOW = 14 }; /* lines of the plot; on a narrow screen */

static void giga(ml_Text *t, double v)
{
    double g = v * 1e-9;

    ml_text_fmt(t, "%.*f", g < 9.995 ? 2 : g < 99.95 ? 1 : 0, g);
}

static void legend(const ml_Roofline *r, ml_Text *t)
{
    static const char MARK[ML_MACHINE_LEVELS] = {'1', '2', '3', 'm'};

    ml_text_fmt(t, "%s, %u thread%s: ", r->cpu, r->threads, r->threads == 1 ? "" : "s");
    if (isfinite(r->peak)) {
        ml_text_add(t, "peak ");
        giga(t, r->peak);
        ml_text_add(t, " GFLOP/s of ");
        ml_dtype_print(t, r->type);
    } else
        ml_text_add(t, "no peak was measured");
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        if (isfinite(r->bandwidth[l])) {
            ml_text_fmt(t, ", %c %s ", MARK[l], ml_machine_level_name((ml_MachineLevel)l));
            giga(t, r->bandwidth[l]);
        }
    ml_text_add(t, " GB/s\n");
}

/* Its own roof, and the other one beside it. */
static void say_roof(const ml_Roofline *r, ml_Text *t)
{
    bool peak = r->flop > 0 && r->roof.peak > 0, moves = r->roof.bandwidth > 0;
    double allowed = moves ? r->flop / r->bytes * r->roof.bandwidth : 0;

    if (r->flop > 0)
        ml_text_fmt(t, "%.3g FLOP/B: ", r->flop / r->bytes);
    if (r->roof.memory) {
        ml_text_fmt(t, "the bandwidth of %s is the roof, ",
                    ml_machine_level_name(r->roof.level));
        giga(t, r->roof.bandwidth);
        ml_text_add(t, " GB/s");
    } else if (r->roof.math != ML_MATHS && r->roof.limit > 0) {
        ml_text_fmt(t, "%s is the roof, ", ml_math_name(r->roof.math));
        ml_text_seconds(t, r->roof.in_math);
    } else if (peak) {
        ml_text_add(t, "the peak is the roof, ");
        giga(t, r->roof.peak);
        ml_text_add(t, " GFLOP/s");
    }
    if (r->roof.memory && r->flop > 0) {
        ml_text_add(t, " or ");
        giga(t, allowed);
        ml_text_add(t, " GFLOP/s");
    }
    if (r->roof.memory && peak) {
        ml_text_add(t, "; the peak is ");
        giga(t, r->roof.peak);
    } else if (peak && moves) {
        ml_text_add(t, "; the ");
        giga(t, r->roof.bandwidth);
        ml_text_fmt(t, " GB/s of %s would allow ", ml_machine_level_name(r->roof.level));
        giga(t, allowed);
    }
    ml_text_char(t, '\n');
    if (r->bound.seconds > 0) {
        ml_text_add(t, "the bound is ");
        ml_text_bound(t, r->bound.seconds, ml_roof_name(&r->bound.roof));
        ml_text_fmt(t, ", %u thread%s\n", r->bound.threads,
                    r->bound.threads == 1 ? "" : "s");
    }
}

static void table(const ml_Roofline *r, ml_Text *t)
{
    const ml_Amount a = ml_timing_amount(r->flop, r->bytes, &r->roof);

    say_roof(r, t);
    if (r->points.n == 0) {
        ml_text_add(t, "no version was timed yet: :time\n");
        return;
    }
    bool brief = false;

    ml_text_fmt(t, "%-8s%12s%10s%14s\n", "version", "time", ml_rate_unit(a),
                "of the bound");
    for (size_t k = 0; k < r->points.n; k++) {
        const ml_RoofPoint *p = &r->points.v[k];
        ml_Text s = {0}, g = {0}, name = {0};

        ml_text_seconds(&s, p->seconds);
        giga(&g, a.n / p->seconds);
        ml_text_fmt(&name, "v%d%s", p->version, p->current ? " ◀" : "");
        ml_text_add(t, ml_text_z(&name));
        ml_text_repeat(t, ' ', 8 - ml_columns(ml_text_z(&name)) % 8);
        ml_text_repeat(t, ' ', 12 - ml_columns(ml_text_z(&s)));
        ml_text_fmt(t, "%s%10s", ml_text_z(&s), ml_text_z(&g));
        if (p->bound > 0 && p->bound <= ML_SHARE_MOST * p->seconds)
            ml_text_fmt(t, "%12.1f %%", 100 * fmin(1, p->bound / p->seconds));
        ml_text_char(t, '\n');
        brief |= p->seconds < BRIEF;
        ml_text_free(&s);
        ml_text_free(&g);
        ml_text_free(&name);
    }
    if (brief)
        ml_text_add(t, "a run under 100 ns is mostly its call and the wait for single "
                       "operations: no roof tells of these\n");
}

static const ml_TimingArgs ARGS = {.knows = ":roofline knows --cold and --shape n=N"};

static bool show(ml_Session *ss, ml_Ctx *cx, ml_Schedule *s, uint32_t at,
                 const ml_TimingOpts *o)
{
    ml_Engine *e = ml_host_engine(ss->host);
    bool narrow = ss->out.width < 60;
    ml_Roofline r;
    ml_Text t = {0};

    if (ml_machine_known(cx, e) == NULL)
        ml_err_prose(&ss->out, "measuring this machine: some seconds, once");
    if (!ml_roofline_of(cx, e, s, at, o, &r))
        return ml_session_ctx_error(ss, cx);
    ml_roofline_draw(&r, ss->out.width, narrow ? LOW : HEIGHT, &t);
    ml_out(&ss->out, ml_text_z(&t));
    ml_text_clear(&t);
    legend(&r, &t);
    if (r.bytes > 0 && !r.no_peak)
        table(&r, &t);
    else if (s)
        ml_text_add(&t, "the program has no operations of floats to compare with\n");
    t.p[--t.n] = '\0';
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_data_one(ml_session_data(ss));
    ml_data_fields(ml_session_data(ss), &ml_roofline_fields, &r);
    ml_text_free(&t);
    return true;
}

bool cmd_roofline(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *tmp = ml_ctx_new(0), *cx;
    ml_TimingOpts o = {0};
    ml_Sizes sizes = {.n = 0};
    bool ok = ml_read_timing(ss, &ARGS, w, &o, &sizes);

    ml_record_unseen(ss); /* a picture of measurements is another one the next time */
    const char *why = ok && s ? ml_checking_bad_size(tmp, ml_schedule_program(s).mod, NULL,
                                                     o.sizes, o.n_sizes)
                              : NULL;

    if (why)
        ok = ml_session_error(ss, ML_E_BAD_ARGUMENT, "--shape: %s", why);
    if (ok && s && ml_schedule_func(s) == NULL && ml_schedule_program(s).mod->n != 1)
        s = NULL; /* no function to compare */
    if (ok) {
        cx = s ? ml_ctx_fork(ml_schedule_ctx(s)) : ml_ctx_new(0);
        ml_ctx_set_limit(cx, 0);
        ml_interrupt_guard(cx);
        ok = show(ss, cx, s, s && ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0, &o);
        ml_ctx_unref(cx);
    }
    ml_ctx_unref(tmp);
    return ok;
}

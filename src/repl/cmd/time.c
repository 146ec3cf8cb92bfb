/* cmd_time - :time. Source: interaction 8, 15 A. */
#include <math.h>
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/say.h"
#include "repl/cmd/timing_args.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/session/progress.h"

static const ml_TimingArgs ARGS = {.knows =
                                       ":time knows --runs N, --cold, --report, --against "
                                       "LIBRARY, --shape n=N and --background",
                                   .runs = true,
                                   .rivals = true};

static void add_rate(ml_Text *t, ml_Amount a, double seconds, double spread)
{
    if (a.n > 0 && seconds > 0) {
        ml_text_add(t, "   ");
        ml_text_rate(t, a, seconds);
        ml_text_noise(t, spread);
    }
}

static void add_seconds(double seconds, double spread, ml_Text *t)
{
    ml_text_seconds(t, seconds);
    ml_text_noise(t, spread);
}

/* How much faster this is than another version; the noise of both is its own. */
static void add_ratio(const ml_Timing *r, const ml_Baseline *b, const char *what,
                      int indent, ml_Text *t)
{
    ml_text_fmt(t, "\n%*s×%.3g", indent, "", b->ratio);
    ml_text_noise(t, hypot(r->t.spread, b->spread));
    ml_text_fmt(t, " against %s (", what);
    add_seconds(b->seconds, b->spread, t);
    ml_text_char(t, ')');
}

static void add_baselines(ml_Ctx *cx, int version, const ml_Timing *r, int indent,
                          ml_Text *t)
{
    int parent = r->parent.version, best = r->best.version;

    if (r->t.median <= 0)
        return;
    if (!isnan(r->start.seconds) && version != 0)
        add_ratio(r, &r->start, "the start", indent, t);
    if (!isnan(r->parent.seconds) && parent != 0)
        add_ratio(r, &r->parent, ml_format(cx, "v%d, the step before", parent), indent, t);
    if (!isnan(r->best.seconds) && best > 0 && best != version && best != parent &&
        r->best.seconds < r->t.median * 0.98)
        add_ratio(r, &r->best, ml_format(cx, "the best version, v%d", best), indent, t);
}

static void add_giga(ml_Text *t, double v)
{
    ml_text_thousands(t, (int64_t)llround(v * 1e-9));
}

static void add_share(ml_Text *t, int indent, double share)
{
    ml_text_fmt(t, "\n%*s%.*f %% of ", indent, "", share < 0.0995 ? 1 : 0, share * 100);
}

static void add_bandwidth(const ml_Timing *r, ml_Text *t)
{
    ml_text_add(t, "the ");
    ml_text_rate(t, (ml_Amount){.n = r->roof.bandwidth, .bytes = true}, 1);
    ml_text_fmt(t, " of %s", ml_machine_level_name(r->roof.level));
}

static void add_peak(const ml_Timing *r, int indent, ml_Text *t)
{
    if (isnan(r->share))
        return;
    if (r->share > ML_SHARE_MOST && !r->by_hand) {
        ml_text_fmt(t, "\n%*smore than the measured peak, ", indent, "");
        add_giga(t, r->peak);
        ml_text_add(t, r->bounded.less
                           ? " GFLOP/s, by the operations of the start, of which this "
                             "leaves some out"
                           : " GFLOP/s, which was probed anew and still comes out low: the "
                             "machine is busy, or this computes less than the start");
        return;
    }
    add_share(t, indent, r->by_hand ? r->share : fmin(1, r->share));
    ml_text_add(t, r->by_hand ? "the peak set by hand, " : "the measured peak, ");
    add_giga(t, r->peak);
    ml_text_add(t, " GFLOP/s");
    if (!isnan(r->nominal)) {
        ml_text_add(t, " (nominal ");
        add_giga(t, r->nominal);
        ml_text_char(t, ')');
    }
}

/* What must be moved and what must be computed take at least so long. */
static void add_limits(const ml_Timing *r, ml_Text *t)
{
    bool peak = r->roof.computing > 0, moves = r->roof.moving > 0;

    ml_text_add(t, ": ");
    if (r->roof.memory)
        ml_text_add(t, "the bandwidth");
    else
        ml_text_limit(t, ml_roof_name(&r->roof));
    ml_text_add(t, " is the roof");
    if (!peak || !moves)
        return;
    ml_text_add(t, "; at least ");
    ml_text_seconds(t, r->roof.computing);
    ml_text_add(t, " to compute");
    if (r->roof.math != ML_MATHS && r->roof.computing > 0) {
        ml_text_add(t, ", ");
        ml_text_seconds(t, r->roof.in_math);
        ml_text_fmt(t, " of it %s", ml_math_name(r->roof.math));
    }
    ml_text_add(t, ", ");
    ml_text_seconds(t, r->roof.moving);
    ml_text_add(t, " to move at ");
    add_bandwidth(r, t);
}

static bool tells_bandwidth(const ml_Timing *r)
{
    return r->has_roof && r->roof.memory && !isnan(r->moved);
}

/* The share of the roof, which is told first, is that of the bound. */
static bool says_bound(const ml_Timing *r)
{
    double share = tells_bandwidth(r) ? r->moved : r->by_hand ? (double)NAN : r->share;

    return fabs(share - r->of_bound) < 0.005 * r->of_bound;
}

/* What the machine allows of what this does, with as many threads as there are. */
static void add_bound(const ml_Timing *r, int indent, ml_Text *t)
{
    if (isnan(r->bound))
        return;
    ml_text_fmt(t, "\n%*sthe bound is ", indent, "");
    ml_text_bound(t, r->bound, ml_roof_name(&r->bounded.roof));
    ml_text_fmt(t, ", %u thread%s", r->bounded.threads, r->bounded.threads == 1 ? "" : "s");
    if (r->bounded.less)
        ml_text_add(t, ", for what it computes");
    if (!isnan(r->of_bound) && !says_bound(r))
        ml_text_fmt(t, ": %.*f %% is reached", r->of_bound < 0.0995 ? 1 : 0,
                    r->of_bound * 100);
    else if (isnan(r->of_bound))
        ml_text_add(t, ", and this takes less: the machine was measured in a bad moment, "
                       "or it was disturbed just now");
}

/* How near its own roof it comes, what it must do at least, and the other roof beside it. */
static void add_roofs(const ml_Timing *r, int indent, ml_Text *t)
{
    bool moves = tells_bandwidth(r);

    if (moves) {
        add_share(t, indent, r->moved);
        add_bandwidth(r, t);
    } else
        add_peak(r, indent, t);
    if (r->bytes > 0) {
        ml_text_fmt(t, "\n%*smoves at least ", indent, "");
        ml_text_si(t, r->bytes);
        ml_text_add(t, "B");
        if (r->flop > 0)
            ml_text_fmt(t, ", %.3g FLOP/B", r->flop / r->bytes);
        if (r->has_roof)
            add_limits(r, t);
    }
    if (moves && r->flop > 0 && r->t.median > 0) {
        ml_text_fmt(t, "\n%*s", indent, "");
        ml_text_rate(t, (ml_Amount){r->flop, false}, r->t.median);
        if (r->share <= ML_SHARE_MOST) {
            ml_text_fmt(t, ", %.*f %% of the measured peak, ", r->share < 0.0995 ? 1 : 0,
                        fmin(1, r->share) * 100);
            add_giga(t, r->peak);
            ml_text_add(t, " GFLOP/s");
        }
    }
}

/* Whether timings of one session say more of its spread than the runs of the last one. */
static bool ranges_widely(const ml_Timing *r)
{
    return r->times > 1 && r->most - r->least >= 1.9 * r->t.spread * r->t.median;
}

static void add_range(const ml_Timing *r, ml_Text *t)
{
    if (!r->noisy || !ranges_widely(r))
        return;
    ml_text_fmt(t, "   noisy: timed %u times, ", r->times);
    ml_text_seconds(t, r->least);
    ml_text_add(t, " to ");
    ml_text_seconds(t, r->most);
}

static void report(ml_Session *ss, ml_Ctx *cx, const ml_Timing *r)
{
    ml_Text t = {0};
    int indent;

    ml_text_fmt(&t, "%s v%d   ", r->schedule, r->version);
    indent = (int)t.n;
    add_seconds(r->t.median, r->t.spread, &t);
    ml_text_fmt(&t, "   median of %zu (min ", r->t.n);
    ml_text_seconds_like(&t, r->t.min, r->t.median);
    ml_text_add(&t, ", p90 ");
    ml_text_seconds_like(&t, r->t.p90, r->t.median);
    ml_text_char(&t, ')');
    add_rate(&t, ml_timing_of(r), r->t.median, r->t.spread);
    ml_text_fmt(&t, "   %u thread%s", r->threads, r->threads == 1 ? "" : "s");
    add_range(r, &t);
    if (r->noisy && !ranges_widely(r))
        ml_text_fmt(&t, "   noisy: half of the runs lie within ±%.0f %% of the median%s",
                    r->t.spread * 100,
                    r->threads > 1 ? "; fewer threads may be steadier, :set threads 1"
                                   : "");
    add_roofs(r, indent, &t);
    add_bound(r, indent, &t);
    add_baselines(cx, r->version, r, indent, &t);
    if (r->rival) {
        ml_text_fmt(&t, "\n%*s%s: ", indent, "", r->rival);
        add_seconds(r->rival_t.median, r->rival_t.spread, &t);
        add_rate(&t, ml_timing_of(r), r->rival_t.median, r->rival_t.spread);
        ml_text_fmt(&t, ", sampled by turns: ×%.2f", r->rival_t.median / r->t.median);
        ml_text_noise(&t, hypot(r->t.spread, r->rival_t.spread));
        ml_text_add(&t, " of its speed");
    } else if (r->no_rival) {
        ml_text_fmt(&t, "\n%*snot compared: %s", indent, "", r->no_rival);
    }
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

bool cmd_time(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    ml_Program p = ml_schedule_program(s);
    ml_TimingOpts o = {0};
    ml_Sizes sizes = {.n = 0};
    ml_Timing r;
    bool ok;

    ml_ctx_set_limit(cx, 0);
    ml_session_guard(ss, cx);
    o.runs =
        (uint32_t)ml_setting_count(ml_setting_word(&ss->set, ML_SET_runs), ML_MAX_SAMPLES);
    ok = ml_read_timing(ss, &ARGS, w, &o, &sizes);
    if (ok && ml_schedule_func(s) == NULL && p.mod->n != 1) {
        ml_fail_no_function(cx, p.mod);
        ok = ml_session_ctx_error(ss, cx);
    } else if (ok) {
        uint32_t at = ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0;

        ok = ml_timing_run(cx, ml_host_engine(ss->host), s, ml_schedule_version(s), at, &o,
                           &r);
        if (ok) {
            r.version = ml_session_version(ss);
            report(ss, cx, &r);
            ml_schedule_set_speed(s, ml_schedule_version(s), r.speed);
            ml_data_one(ml_session_data(ss));
            ml_data_fields(ml_session_data(ss), &ml_timing_fields, &r);
        } else
            ml_session_ctx_error(ss, cx);
    }
    ml_ctx_unref(cx);
    return ok;
}

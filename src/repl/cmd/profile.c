/* cmd_profile - :profile, where the time goes. Source: interaction 8. */
#include <math.h>
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/core/walk.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/profile.h"
#include "moonloop/work/say.h"
#include "repl/cmd/timing_args.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/out/interrupt.h"
#include "repl/session/profiles.h"
#include "repl/session/progress.h"

typedef struct Show {
    ml_Session *ss;
    ml_Schedule *s;
    ml_Text t;
    ml_Progress bar;
} Show;

static void told(void *user, uint32_t k, uint32_t n)
{
    Show *sh = user;

    ml_progress(&sh->bar, n ? (double)k / n : 0, NULL);
}

static void rate(ml_Text *t, double flop, double seconds, int width)
{
    if (flop > 0 && seconds > 0) {
        double g = flop / seconds * 1e-9;
        ml_text_fmt(t, "%*.*f", width, g < 9.995 ? 2 : g < 99.95 ? 1 : 0, g);
    } else {
        ml_text_fmt(t, "%*s", width, "-");
    }
}

/* Padded by columns, not bytes. */
static void cell(ml_Text *t, const char *text, size_t width)
{
    size_t n = ml_columns(text);

    ml_text_repeat(t, ' ', n < width ? width - n : 1);
    ml_text_add(t, text);
}

static void seconds(ml_Text *t, double s, size_t width)
{
    ml_Text v = {0};

    ml_text_seconds(&v, s);
    cell(t, ml_text_z(&v), width);
    ml_text_free(&v);
}

static size_t label_width(Show *sh, const ml_Profile *p)
{
    size_t wide = 5, most = sh->ss->out.width >= 60 ? 34 : 14;

    for (uint32_t k = 0; k < p->n; k++) {
        ml_Text t = {0};

        ml_nest_label(sh->s, p->nests[k].nest.stmt, &t);
        wide = ml_columns(ml_text_z(&t)) > wide ? ml_columns(ml_text_z(&t)) : wide;
        ml_text_free(&t);
    }
    return wide < most ? wide : most;
}

/* Text to a width, a longer one on a line of its own. */
static void first_cell(ml_Text *t, const char *text, size_t width)
{
    ml_text_fmt(t, "%s", text);
    if (ml_columns(text) > width) {
        ml_text_char(t, '\n');
        ml_text_repeat(t, ' ', width);
    } else
        ml_text_repeat(t, ' ', width - ml_columns(text));
}

static void nests(Show *sh, const ml_Profile *p)
{
    size_t wide = label_width(sh, p);
    ml_Text *t = &sh->t;

    ml_text_fmt(t, "%-*s%12s%8s%10s\n", (int)wide, "nest", "time", "share", "GFLOP/s");
    for (uint32_t k = 0; k < p->n; k++) {
        const ml_NestTime *v = &p->nests[k];
        ml_Text name = {0};

        ml_nest_label(sh->s, v->nest.stmt, &name);
        first_cell(t, ml_text_z(&name), wide);
        ml_text_free(&name);
        seconds(t, v->seconds, 12);
        ml_text_fmt(t, "%6.1f %%", p->sum > 0 ? 100 * v->seconds / p->sum : 0);
        rate(t, v->flop, v->seconds, 10);
        if (v->spread > 0.05)
            ml_text_char(t, ' ');
        ml_text_noise(t, v->spread);
        ml_text_char(t, '\n');
    }
    ml_text_fmt(t, "%-*s", (int)wide, "sum");
    seconds(t, p->sum, 12);
    ml_text_repeat(t, ' ', 8);
    rate(t, p->flop, p->sum, 10);
    ml_text_char(t, '\n');
    ml_text_fmt(t, "%-*s", (int)wide, "whole");
    seconds(t, p->whole.t.median, 12);
    ml_text_repeat(t, ' ', 8);
    rate(t, p->flop, p->whole.t.median, 10);
    if (p->whole.noisy)
        ml_text_char(t, ' ');
    ml_text_noise(t, p->whole.t.spread);
    ml_text_char(t, '\n');
    if (p->together)
        ml_text_fmt(t, "timed as one: %s\n", p->together);
}

static void counter_row(ml_Text *t, const char *name, size_t wide, const ml_Counters *c)
{
    first_cell(t, name, wide);
    for (int e = 0; e < ML_COUNTERS; e++) {
        ml_Text v = {0};

        if (c->known >> e & 1) {
            ml_text_si(&v, c->v[e]);
            while (v.n && v.p[v.n - 1] == ' ')
                v.p[--v.n] = '\0';
        } else
            ml_text_char(&v, '-');
        cell(t, ml_text_z(&v), 10);
        ml_text_free(&v);
    }
    if ((c->known & 3) == 3 && c->v[ML_COUNT_CYCLES] > 0)
        ml_text_fmt(t, "%8.2f", c->v[ML_COUNT_INSTRUCTIONS] / c->v[ML_COUNT_CYCLES]);
    ml_text_char(t, '\n');
}

static void counters(Show *sh, const ml_Profile *p)
{
    size_t wide = label_width(sh, p);
    ml_Text *t = &sh->t;

    if (p->counters.error) {
        ml_text_add(t, "no hardware counters: ");
        ml_counters_why(t, p->counters.error);
        ml_text_char(t, '\n');
        return;
    }
    ml_text_fmt(t, "%-*s%10s%10s%10s%10s%10s%10s%8s\n", (int)wide, "of a call", "cycles",
                "instr.", "L1 miss", "last miss", "TLB miss", "br. miss", "instr/c");
    for (uint32_t k = 0; k < p->n; k++) {
        ml_Text name = {0};

        ml_nest_label(sh->s, p->nests[k].nest.stmt, &name);
        counter_row(t, ml_text_z(&name), wide, &p->nests[k].counters);
        ml_text_free(&name);
    }
    counter_row(t, "whole", wide, &p->counters);
}

static const ml_TimingArgs ARGS = {
    .knows = ":profile knows --runs N, --cold and --shape n=N", .runs = true};

bool cmd_profile(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Program p = ml_schedule_program(s);
    Show sh = {.ss = ss, .s = s};
    ml_TimingOpts o = {0};
    ml_Sizes sizes = {.n = 0};
    ml_Profile r;
    ml_Ctx *cx;
    bool ok;

    (void)ml_schedule_names(s); /* before its context is frozen */
    cx = ml_ctx_fork(ml_schedule_ctx(s));
    ml_ctx_set_limit(cx, 0);
    ml_interrupt_guard(cx);
    ok = ml_read_timing(ss, &ARGS, w, &o, &sizes);
    if (ok && ml_schedule_func(s) == NULL && p.mod->n != 1) {
        ml_fail_no_function(cx, p.mod);
        ok = ml_session_ctx_error(ss, cx);
    } else if (ok) {
        uint32_t at = ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0;

        ml_progress_begin(&sh.bar, ss, "profile");
        ok = ml_profile_run(cx, ml_host_engine(ss->host), s, ml_schedule_version(s), at, &o,
                            told, &sh, &r);
        ml_progress_end(&sh.bar);
        if (ok) {
            ml_text_fmt(&sh.t, "%s v%d   %u nest%s   %u thread%s\n", ml_schedule_name(s),
                        ml_schedule_version(s), r.n, r.n == 1 ? "" : "s", r.whole.threads,
                        r.whole.threads == 1 ? "" : "s");
            if (o.n_sizes == 0 && !o.cold) /* other sizes are another question */
                ml_profiles_keep(ss, s, ml_schedule_version(s), &r);
            nests(&sh, &r);
            counters(&sh, &r);
            sh.t.p[--sh.t.n] = '\0';
            ml_out_prose(&ss->out, ml_text_z(&sh.t));
            ml_data_one(ml_session_data(ss));
            ml_data_fields(ml_session_data(ss), &ml_profile_fields,
                           &(ml_ProfileRow){s, ml_schedule_version(s), &r});
            ml_text_free(&sh.t);
        } else
            ml_session_ctx_error(ss, cx);
    }
    ml_ctx_unref(cx);
    return ok;
}

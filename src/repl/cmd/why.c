/* cmd_why - :why-slow, what keeps a program from its bound and what would change it. Source:
 * interaction 8. */
#include "moonloop/work/why/why.h"

#include <math.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "repl/cmd/options.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/out/interrupt.h"
#include "repl/session/progress.h"
#include "repl/show/asm_view.h"

static void on_progress(void *user, double share)
{
    ml_progress(user, share, NULL);
}

/* `2.3×`, no more digits than a prediction has. */
static void add_gain(ml_Text *t, double gain)
{
    ml_text_fmt(t, "×%.*f", gain < 9.95 ? 1 : 0, gain);
}

/* Of some hundred cycles, of which its bound is a small part. */
static bool is_short(const ml_Why *w)
{
    double s = w->timing.t.median > 0 ? w->timing.t.median : w->model.seconds;

    return s < 100e-9 && w->share < 0.5;
}

static void head(const ml_Why *w, ml_Text *t)
{
    ml_text_fmt(t, "%s v%d   ", w->schedule, w->version);
    if (w->timing.t.median > 0) {
        ml_text_seconds(t, w->timing.t.median);
        ml_text_noise(t, w->timing.t.spread);
        ml_text_add(t, ", the model says ");
    } else
        ml_text_add(t, "the model says ");
    ml_text_seconds(t, w->model.seconds);
    if (!isnan(w->share)) {
        ml_text_add(t, "; the bound is ");
        ml_text_bound(t, w->bound, w->limit);
        ml_text_fmt(t, ", of which %.*f %% is reached", w->share < 0.0995 ? 1 : 0,
                    w->share * 100);
    }
    ml_text_char(t, '\n');
    if (w->at_bound)
        ml_text_add(t, "it is at its bound: nothing keeps it from there\n");
    else if (w->n == 0 && is_short(w))
        ml_text_add(t, "it is so short that most of its time is the call and the wait for "
                       "single operations, which the bound does not count: a larger size "
                       "shows what keeps the program\n");
    else if (w->n == 0)
        ml_text_add(t, "no cause is seen that costs more than a few percent\n");
    if (w->model.opaque)
        ml_text_add(t, "calls that the model knows nothing of count for nothing\n");
}

static void say(const ml_Why *w, ml_Text *t)
{
    head(w, t);
    for (uint32_t k = 0; k < w->n; k++) {
        const ml_WhyCause *c = &w->causes[k];

        ml_text_fmt(t, "%u. %s, %s", k + 1, c->name, c->block);
        if (c->line)
            ml_text_fmt(t, " (line %u)", c->line);
        ml_text_add(t, "   ");
        add_gain(t, c->gain);
        ml_text_add(t, c->step ? " predicted" : " at most");
        if (!isnan(c->tried)) {
            ml_text_add(t, ", ");
            add_gain(t, c->tried);
            ml_text_add(t, " measured");
        }
        ml_text_fmt(t, "\n   %s\n", c->evidence);
        if (c->code &&
            (k == 0 ||
             !ml_streq(c->code, w->causes[k - 1].code ? w->causes[k - 1].code : "")))
            ml_text_fmt(t, "   the code: %s\n", c->code);
        if (c->step)
            ml_text_fmt(t, "   → %s\n", c->step);
    }
    t->p[--t->n] = '\0';
}

/* The hottest loop of the machine code that came from the line of each cause. */
static bool add_code(ml_Session *ss, ml_Ctx *cx, uint32_t at, ml_Why *w)
{
    ml_Engine *e = ml_host_engine(ss->host);
    const ml_Work work = ml_work_of(cx, ss->focus, w->version, at);
    ml_Worker *worker = w->n ? ml_engine_worker(e, cx, 0) : NULL;
    ml_Job j = ml_work_job(e, &work, "asm", true);
    ml_JobResult r;

    if (worker == NULL)
        return w->n == 0;
    if (!ml_worker_run(worker, cx, &j, &r))
        return false;
    for (uint32_t k = 0; k < w->n && r.ok && r.text; k++) {
        ml_WhyCause *c = &w->causes[k];
        const ml_AsmOpts o = {.from = c->line, .to = c->line, .plain = true};
        ml_AsmSummary sum;
        ml_Text view = {0}, t = {0};

        if (c->line && ml_asm_view(cx, r.text, &o, &view, &sum) && sum.is_loop) {
            ml_asm_summary(&t, &sum);
            t.p[--t.n] = '\0';
            c->code = ml_strdup(cx, ml_str(ml_text_z(&t)));
        }
        ml_text_free(&view);
        ml_text_free(&t);
    }
    return true;
}

static bool run(ml_Session *ss, ml_Ctx *cx, const ml_WhyOpts *o)
{
    ml_Schedule *s = ss->focus;
    uint32_t at = ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0;
    ml_Progress bar;
    ml_Text t = {0};
    ml_Why w;
    bool ok;

    ml_progress_begin(&bar, ss, "why-slow");
    ok = ml_why_run(cx, ml_host_engine(ss->host), s, at, o, on_progress, &bar, &w);
    ml_progress_end(&bar);
    ok = ok && (o->estimate || add_code(ss, cx, at, &w));
    if (!ok)
        return ml_session_ctx_error(ss, cx);
    say(&w, &t);
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_data_one(ml_session_data(ss));
    ml_data_fields(ml_session_data(ss), &ml_why_fields, &w);
    ml_text_free(&t);
    return true;
}

bool cmd_why(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Program p = ml_schedule_program(s);
    ml_WhyOpts o = {.timing = {.alone = true}};
    ml_Sizes sizes = {.n = 0};
    const ml_Option OPTIONS[] = {
        {"--try", ML_OPTION_FLAG, &o.measure, 0, 0, NULL},
        {"--estimate", ML_OPTION_FLAG, &o.estimate, 0, 0, NULL},
        {"--shape", ML_OPTION_SIZE, &sizes, 0, 0, ML_SIZE_REFUSAL},
    };
    ml_Ctx *cx;
    const char *why;
    bool ok;

    if (!ml_read_options(ss, w, ":why-slow knows --try, --estimate and --shape n=N",
                         OPTIONS, ML_COUNT(OPTIONS)))
        return false;
    (void)ml_schedule_names(s); /* before its context is frozen */
    cx = ml_ctx_fork(ml_schedule_ctx(s));
    ml_ctx_set_limit(cx, 0);
    ml_interrupt_guard(cx);
    o.timing.sizes = sizes.v;
    o.timing.n_sizes = sizes.n;
    why = ml_checking_bad_size(cx, p.mod, NULL, sizes.v, sizes.n);
    if (why)
        ok = ml_session_error(ss, ML_E_BAD_ARGUMENT, "--shape: %s", why);
    else if (ml_schedule_func(s) == NULL && p.mod->n != 1) {
        ml_fail_no_function(cx, p.mod);
        ok = ml_session_ctx_error(ss, cx);
    } else
        ok = run(ss, cx, &o);
    ml_ctx_unref(cx);
    return ok;
}

/* cmd_memory - :memory, how a buffer is used. The counting is codegen/trace's. Source:
 * interaction 4. */
#include <math.h>
#include <stdlib.h>

#include "codegen/machine/engine.h"
#include "repl/cmd/shape.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/out/interrupt.h"
#include "repl/session/progress.h"
#include "repl/show/memory_text.h"
#include "work/work.h"

typedef struct Args {
    const char *buffer;
    ml_Size sizes[16];
    size_t n_sizes;
    int64_t budget;
    uint32_t threads; /* 0: those of code here */
} Args;

static bool read_args(ml_Session *ss, const ml_Words *w, ml_Ctx *cx, Args *a)
{
    for (size_t k = 0; k < w->n; k++) {
        const char *v = w->v[k];
        char *end;

        if (ml_streq(v, "--shape") && k + 1 < w->n && a->n_sizes < ML_COUNT(a->sizes)) {
            if (!ml_read_shape(ss, cx, w->v[++k], &a->sizes[a->n_sizes++]))
                return false;
        } else if (ml_streq(v, "--budget") && k + 1 < w->n) {
            double n = strtod(w->v[++k], &end);
            if (end == w->v[k] || *end || !(n >= 1) || n > 1e9)
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "--budget takes accesses, from 1 to 1e9, not %s",
                                        w->v[k]);
            a->budget = (int64_t)n;
        } else if (ml_streq(v, "--threads") && k + 1 < w->n) {
            long n = strtol(w->v[++k], &end, 10);
            if (end == w->v[k] || *end || n < 1 || n > ML_MAX_TRACE_THREADS)
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "--threads takes a number from 1 to %d, not %s",
                                        ML_MAX_TRACE_THREADS, w->v[k]);
            a->threads = (uint32_t)n;
        } else if (*v == '-' || a->buffer) {
            return ml_session_error(
                ss, ML_E_BAD_ARGUMENT,
                ":memory knows BUFFER, --threads N, --shape n=N and --budget "
                "N, not %s",
                v);
        } else {
            a->buffer = v;
        }
    }
    if (!a->buffer)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":memory BUFFER: which buffer? :buffers lists them");
    return true;
}

static void on_progress(void *user, uint64_t done, double of)
{
    ml_Text t = {0};

    ml_text_si(&t, (double)done);
    ml_text_add(&t, t.p[t.n - 1] == ' ' ? "accesses" : " accesses");
    ml_progress(user, of > 0 ? (double)done / of : (double)NAN, ml_text_z(&t));
    ml_text_free(&t);
}

static bool measure(ml_Session *ss, ml_Ctx *cx, const Args *a, const ml_Buffer *b)
{
    ml_Schedule *s = ss->focus;
    ml_Program p = ml_schedule_program(s);
    uint32_t at = ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0;
    ml_Progress bar;
    ml_MemoryOpts o = {.buffer = b,
                       .threads = a->threads ? a->threads
                                             : ml_engine_threads(ml_host_engine(ss->host)),
                       .trace = {.budget = a->budget,
                                 .sizes = a->sizes,
                                 .n_sizes = a->n_sizes,
                                 .seed = (uint64_t)ml_setting_int(&ss->set, ML_SET_seed)},
                       .progress = on_progress,
                       .user = &bar};
    const char *name = ml_strdup(cx, ml_str(ml_name_of(s, b->uid)));
    ml_MemoryFacts f;
    bool ok;

    ml_progress_begin(&bar, ss, ml_format(cx, "memory %s", name));
    ok = ml_memory_measure(cx, p.mod, p.mod->funcs[at], &o, &f);
    ml_progress_end(&bar);
    if (!ok) {
        ml_session_fail(ss, ml_failure_about(ml_error(cx), s, NULL));
        return false;
    }
    ml_MemoryTell c = {
        .ss = ss, .s = s, .f = &f, .name = name, .narrow = ss->out.width < 72};

    if (f.buffer == NULL)
        ml_text_fmt(&c.t, "%s is not touched", name);
    else
        ml_memory_text(&c);
    ml_out_prose(&ss->out, ml_text_z(&c.t));
    if (f.buffer)
        ml_memory_data(&c);
    ml_text_free(&c.t);
    ml_memory_free(&f);
    return true;
}

bool cmd_memory(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *tmp = ml_ctx_new(0), *cx;
    Args a = {0};
    const ml_Buffer *b = NULL;
    const char *why;
    bool ok = read_args(ss, w, tmp, &a);

    if (ok && (b = ml_resolve_buffer(s, a.buffer)) == NULL)
        ok = ml_session_schedule_error(ss, s);
    why =
        ok ? ml_checking_bad_size(tmp, ml_schedule_program(s).mod, NULL, a.sizes, a.n_sizes)
           : NULL;
    if (why)
        ok = ml_session_error(ss, ML_E_BAD_ARGUMENT, "--shape: %s", why);
    if (ok && b) {
        (void)ml_schedule_names(s); /* before its context is frozen */
        cx = ml_ctx_fork(ml_schedule_ctx(s));
        ml_ctx_set_limit(cx, 0);
        ml_interrupt_guard(cx);
        ok = measure(ss, cx, &a, b);
        ml_ctx_unref(cx);
    }
    ml_ctx_unref(tmp);
    return ok;
}

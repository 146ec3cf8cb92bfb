/* cmd_memory - :memory, how a buffer is used. The counting is codegen/trace's. Source:
 * interaction 4. */
#include <math.h>
#include <stdlib.h>

#include "moonloop/codegen/machine/engine.h"
#include "moonloop/core/json/data.h"
#include "moonloop/work/work.h"
#include "repl/cmd/options.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/out/interrupt.h"
#include "repl/session/progress.h"
#include "repl/show/memory_text.h"

typedef struct Args {
    const char *buffer;
    ml_Sizes sizes;
    int64_t budget;
    int64_t threads; /* 0: those of code here */
} Args;

static bool read_args(ml_Session *ss, const ml_Words *w, Args *a)
{
    const ml_Option OPTIONS[] = {
        {NULL, ML_OPTION_WORD, &a->buffer, 0, 0, NULL},
        {"--shape", ML_OPTION_SIZE, &a->sizes, 0, 0, ML_SIZE_REFUSAL},
        {"--budget", ML_OPTION_WHOLE, &a->budget, 1, 1e9,
         "--budget takes accesses, from 1 to 1e9"},
        {"--threads", ML_OPTION_WHOLE, &a->threads, 1, ML_MAX_TRACE_THREADS,
         "--threads takes a number from 1 to 32"},
    };

    _Static_assert(ML_MAX_TRACE_THREADS == 32, "the refusal says so");
    if (!ml_read_options(ss, w,
                         ":memory knows BUFFER, --threads N, --shape n=N and --budget N",
                         OPTIONS, ML_COUNT(OPTIONS)))
        return false;
    return a->buffer ||
           ml_session_error(ss, ML_E_BAD_ARGUMENT,
                            ":memory BUFFER: which buffer? :buffers lists them");
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
                       .threads = a->threads ? (uint32_t)a->threads
                                             : ml_engine_threads(ml_host_engine(ss->host)),
                       .trace = {.budget = a->budget,
                                 .sizes = a->sizes.v,
                                 .n_sizes = a->sizes.n,
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
    if (f.buffer) {
        ml_data_one(ml_session_data(ss));
        ml_data_fields(ml_session_data(ss), &ml_memory_fields, &c);
    }
    ml_text_free(&c.t);
    ml_memory_free(&f);
    return true;
}

bool cmd_memory(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *tmp = ml_ctx_new(0), *cx;
    Args a = {.buffer = NULL};
    const ml_Buffer *b = NULL;
    const char *why;
    bool ok = read_args(ss, w, &a);

    if (ok && (b = ml_resolve_buffer(s, a.buffer)) == NULL)
        ok = ml_session_schedule_error(ss, s);
    why = ok ? ml_checking_bad_size(tmp, ml_schedule_program(s).mod, NULL, a.sizes.v,
                                    a.sizes.n)
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

/*
 * serve_run - the worker and its runner: one is forked when there is none, is given
 * objects, and is replaced after a crash, a time-out or a wrong result; what a failure
 * means is found here, where the program is. Source: DESIGN 4; lowering-and-codegen 12.
 */
#include "moonloop/codegen/worker/serve_impl.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void ml_serve_stop_runner(ml_Server *sv)
{
    int status;

    if (sv->runner < 0)
        return;
    close(sv->runner);
    kill(sv->pid, SIGKILL);
    while (waitpid(sv->pid, &status, 0) < 0 && errno == EINTR)
        ;
    sv->runner = -1;
}

static bool start_runner(ml_ServerJob *w)
{
    ml_Server *sv = w->sv;
    int pair[2];

    if (sv->runner >= 0)
        return true;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return ml_serve_fail_text(w, ML_E_WORKER_CRASHED, "run",
                                  "no socket for the runner");
    sv->pid = fork();
    if (sv->pid == 0) {
        close(pair[0]);
        close(sv->fd);
        ml_runner_main(pair[1], sv->code, sv->sets);
    }
    close(pair[1]);
    if (sv->pid < 0) {
        close(pair[0]);
        return ml_serve_fail_text(w, ML_E_WORKER_CRASHED, "run",
                                  "the runner could not be started");
    }
    sv->runner = pair[0];
    return true;
}

static const char *name_of_arg(const ml_ServerJob *w, int32_t k)
{
    const ml_FuncParam *p;

    if (w->func == NULL || k < 0 || (uint32_t)k >= w->func->n_params)
        return "an argument";
    p = &w->func->params[k];
    return p->buffer ? p->buffer->name : p->var->hint ? p->var->hint : "v";
}

static const char *signal_name(int s)
{
    switch (s) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    case SIGABRT: return "SIGABRT";
    case SIGKILL: return "SIGKILL";
    default: return "a signal";
    }
}

/* ---------------------------------------------------------------- failures */

/* "access of B at element 1030, it has 1024". */
static void explain_access(const ml_ServerJob *w, const ml_FaultReport *f, ml_Text *t)
{
    const ml_WorkSet *s = ml_sets_find(&w->sv->sets, w->set_id);
    const ml_SetArg *a = s && (uint32_t)f->argument < s->n ? &s->args[f->argument] : NULL;
    int64_t size = a ? (int64_t)ml_dtype_bytes(a->type) : 1;

    size = size ? size : 1;
    ml_text_fmt(t, ": access of %s at element %lld, it has %lld",
                name_of_arg(w, f->argument), (long long)ml_floordiv_i64(f->byte, size),
                (long long)(a ? (int64_t)a->bytes / size : 0));
}

/* Where in the program a crash was, and what it touched. */
static void explain_fault(ml_ServerJob *w, const ml_FaultReport *f)
{
    ml_Text t = {0};
    ml_CodeOpts o = w->job.code;
    bool memory = f->signal == SIGSEGV || f->signal == SIGBUS;

    w->r.signal = f->signal;
    if (w->lowered && w->sv->code) {
        ml_serve_lines(w);
        o.lines = true;
        w->r.line =
            ml_code_line_at(w->sv->code, w->cx, &w->lowered, 1, &o,
                            ml_format(w->cx, "%s_body", w->lowered->name), f->offset);
    }
    ml_error_clear(w->cx);
    ml_text_fmt(&t, "%s", signal_name(f->signal));
    if (w->r.line)
        ml_text_fmt(&t, ", line %u of the program", w->r.line);
    if (memory && f->argument >= 0)
        explain_access(w, f, &t);
    else if (memory && f->workspace >= 0)
        ml_text_fmt(&t, ": access at byte %lld of a buffer of the workspace, it has %lld",
                    (long long)f->byte, (long long)f->workspace);
    else if (memory && f->stack)
        ml_text_add(&t, ": the stack is full");
    else if (memory)
        ml_text_fmt(&t, ": address %#llx belongs to no buffer",
                    (unsigned long long)f->address);
    else if (f->signal == SIGFPE && f->detail == FPE_INTDIV)
        ml_text_add(&t, ": division by zero");
    ml_serve_fail_text(w, ML_E_WORKER_CRASHED, "run",
                       ml_strdup(w->cx, ml_str(ml_text_z(&t))));
    ml_text_free(&t);
}

static void explain_death(ml_ServerJob *w)
{
    ml_Server *sv = w->sv;
    int status = 0;

    close(sv->runner);
    sv->runner = -1;
    while (waitpid(sv->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status)) {
        w->r.signal = WTERMSIG(status);
        ml_serve_fail_text(w, ML_E_WORKER_CRASHED, "run",
                           ml_format(w->cx, "the process that ran it was ended by %s%s",
                                     signal_name(w->r.signal),
                                     w->r.signal == SIGKILL ? " (out of memory?)" : ""));
    } else {
        ml_serve_fail_text(w, ML_E_WORKER_CRASHED, "run",
                           ml_format(w->cx, "the process that ran it ended with status %d",
                                     WEXITSTATUS(status)));
    }
}

/* ---------------------------------------------------------------- answers */

/* The session keeps the same limits, for the case that this process is stopped. */
static void tell_alive(const ml_ServerJob *w)
{
    ml_frame_send(w->sv->fd, 0, ML_FRAME_ALIVE, NULL, NULL, 0);
}

/* The next frame that says something; each sign of life begins the limit anew. */
static bool wait_answer(ml_ServerJob *w, double limit, ml_Frame *f)
{
    tell_alive(w);
    while (ml_frame_receive(w->sv->runner, ml_clock() + limit, f)) {
        if (f->kind != ML_FRAME_ALIVE)
            return true;
        ml_frame_free(f);
        tell_alive(w);
    }
    if (errno != ETIMEDOUT) {
        explain_death(w);
        return false;
    }
    ml_serve_stop_runner(w->sv);
    return ml_serve_fail_text(w, ML_E_WORKER_TIMEOUT, "run",
                              ml_format(w->cx, "it did not end within %g s", limit));
}

static bool take_fault(ml_ServerJob *w, const ml_Frame *f)
{
    ml_Unpack u = {.v = f->body.v, .n = f->body.n};
    ml_FaultReport report = {.argument = -1, .workspace = -1};
    const void *v = ml_unpack_bytes(&u, sizeof report);

    if (v)
        memcpy(&report, v, sizeof report);
    ml_serve_stop_runner(w->sv);
    tell_alive(w); /* it is compiled again, with lines */
    explain_fault(w, &report);
    return false;
}

static bool explain_assert(ml_ServerJob *w, const ml_JobResult *r)
{
    const ml_Assert *a = ml_packed_assert(w->cx, w->lowered, r->status);

    ml_serve_lines(w);
    if (a && a->base.span)
        w->r.line = a->base.span->line;
    return ml_serve_fail_text(w, r->code, r->phase, ml_packed_assert_text(w->cx, a));
}

static bool take_result(ml_ServerJob *w, const ml_Frame *f)
{
    ml_Unpack u = {.v = f->body.v, .n = f->body.n};
    ml_JobResult r;

    if (f->kind != ML_FRAME_RAN || !ml_result_unpack(&u, w->cx, &r)) {
        ml_serve_stop_runner(w->sv);
        return ml_serve_fail_text(w, ML_E_WORKER_CRASHED, "run",
                                  "the runner answered nonsense");
    }
    free(r.object.v);
    w->r.link_seconds = r.link_seconds;
    w->r.run_seconds = r.run_seconds;
    w->r.status = r.status;
    w->r.bad_arg = r.bad_arg;
    w->r.outside = r.outside;
    w->r.first_lane = r.first_lane;
    w->r.largest = r.largest;
    w->r.samples = r.samples;
    w->r.n_samples = r.n_samples;
    w->r.given_up = r.given_up;
    w->r.spread = r.spread;
    w->r.switches = r.switches;
    w->r.counters = r.counters;
    if (r.ok)
        return true;
    if (r.code == ML_E_MISMATCH || r.code == ML_E_WORKER_CRASHED)
        ml_serve_stop_runner(w->sv); /* it may have been scribbled on */
    if (r.code == ML_E_ASSERT_FAILED && w->lowered)
        return explain_assert(w, &r);
    if (r.bad_arg >= 0 && r.message)
        r.message = ml_format(w->cx, "%s: %s", name_of_arg(w, r.bad_arg), r.message);
    return ml_serve_fail_text(w, r.code, r.phase ? r.phase : "run",
                              r.message ? r.message : "");
}

static bool take_answer(ml_ServerJob *w, double limit, bool *missing)
{
    ml_Frame f;
    bool ok;

    if (!wait_answer(w, limit, &f))
        return false;
    if (f.kind == ML_FRAME_MISSING && !*missing) {
        *missing = ok = true;
    } else {
        *missing = false;
        ok = f.kind == ML_FRAME_FAULT ? take_fault(w, &f) : take_result(w, &f);
    }
    ml_frame_free(&f);
    return ok;
}

/* ---------------------------------------------------------------- words */

/* A constant offset is where data begins in the declared memory. */
static uint64_t offset_of(const ml_Func *f, uint32_t k)
{
    const ml_Buffer *b = k < f->n_params ? f->params[k].buffer : NULL;

    return b && b->elem_offset->kind == ML_EXPR_INT && b->elem_offset->as.i > 0
               ? (uint64_t)b->elem_offset->as.i * ml_dtype_bytes(b->type)
               : 0;
}

/* The words of a call: sizes are found by the checks that every call goes through. */
static bool make_words(ml_ServerJob *w, const ml_WorkSet *s, ml_RunJob *q)
{
    ml_Signature sig;
    ml_PackedArg *args = ML_ARRAY(w->cx, ml_PackedArg, s->n + 1u);
    ml_DLTensor *dl = ML_ARRAY(w->cx, ml_DLTensor, s->n + 1u);
    static max_align_t nowhere[8]; /* an address that is aligned and not NULL */
    ml_CallOpts o = {.unaligned = true};
    ml_Word *words;
    int32_t *tensor;

    if (!ml_signature_of(w->cx, w->func, &sig))
        return ml_serve_fail(w, "run");
    for (uint32_t k = 0; k < s->n; k++) {
        const ml_SetArg *a = &s->args[k];

        if (a->is_tensor) {
            dl[k].data = nowhere;
            dl[k].device.type = 1;
            dl[k].ndim = (int32_t)a->rank;
            dl[k].dtype = ml_dl_type(a->type);
            dl[k].shape = a->shape;
            dl[k].byte_offset = offset_of(w->func, k);
            args[k].kind = ML_PACKED_TENSOR;
            args[k].as.tensor = &dl[k];
        } else if (ml_dtype_is_float(a->type)) {
            args[k].kind = ML_PACKED_FLOAT;
            args[k].as.f = a->f;
        } else {
            args[k].kind = ML_PACKED_INT;
            args[k].as.i = a->i;
        }
    }
    words = ML_ARRAY(w->cx, ml_Word, w->func->n_params + sig.n_sizes + 1u);
    tensor = ML_ARRAY(w->cx, int32_t, w->func->n_params + sig.n_sizes + 1u);
    if (ml_packed_decode(w->cx, &sig, args, (int32_t)s->n, &o, words) != 0)
        return ml_serve_fail(w, "run");
    q->n_words = w->func->n_params + sig.n_sizes;
    for (uint32_t k = 0; k < q->n_words; k++)
        tensor[k] = k < s->n && s->args[k].is_tensor ? (int32_t)k : -1;
    q->words = words;
    q->tensor = tensor;
    return true;
}

static bool library_words(ml_ServerJob *w, const ml_WorkSet *s, ml_RunJob *q)
{
    ml_Word *words = ML_ARRAY(w->cx, ml_Word, s->n + 1u);
    int32_t *tensor = ML_ARRAY(w->cx, int32_t, s->n + 1u);

    for (uint32_t k = 0; k < s->n; k++) {
        tensor[k] = s->args[k].is_tensor ? (int32_t)k : -1;
        words[k].i = s->args[k].i;
    }
    q->n_words = s->n;
    q->words = words;
    q->tensor = tensor;
    return true;
}

/* A runner that was killed while it waited is replaced. */
static bool send_run(ml_ServerJob *w, const ml_RunJob *q)
{
    ml_Pack p = {0};
    bool ok = false;

    ml_run_pack(&p, q);
    for (int tries = 0; tries < 2 && !ok; tries++) {
        if (!start_runner(w))
            break;
        ok = ml_frame_send(w->sv->runner, 0, ML_FRAME_RUN, &p, NULL, 0);
        if (!ok && tries == 0)
            ml_serve_stop_runner(w->sv);
        else if (!ok)
            explain_death(w);
    }
    ml_pack_free(&p);
    return ok;
}

/* One that is kept is sent to a runner once: it is asked for when it is not there. */
static bool run(ml_ServerJob *w, ml_RunJob *q, const ml_Bytes *object)
{
    double limit = w->job.run_limit > 0 ? w->job.run_limit : 10.0;
    bool missing = false;

    q->keep = w->keep;
    if (object && !q->keep) {
        q->object = object->v;
        q->object_bytes = object->n;
    }
    if (!send_run(w, q) || !take_answer(w, limit, &missing))
        return false;
    if (!missing)
        return true;
    ML_ASSERT(object != NULL); /* a library is never missing */
    q->object = object->v;
    q->object_bytes = object->n;
    return send_run(w, q) && take_answer(w, limit, &missing);
}

bool ml_serve_run(ml_ServerJob *w, const ml_Bytes *object)
{
    const ml_WorkSet *s = ml_sets_find(&w->sv->sets, w->set_id);
    ml_RunJob q = {.set = w->set_id,
                   .library = w->job.library,
                   .want = w->job.want,
                   .timing = w->job.timing,
                   .cold = w->job.cold,
                   .runs = w->job.runs,
                   .best = w->job.best,
                   .checked = w->job.checked,
                   .memory_limit = w->job.memory_limit};
    bool ok;

    if (s == NULL)
        return ml_serve_fail_text(w, ML_E_WORKER_CRASHED, "run",
                                  "the arguments were not passed on");
    if (w->job.library) {
        ok = library_words(w, s, &q);
    } else {
        q.symbol = ml_format(w->cx, "%s_call", w->lowered->name);
        q.body = ml_format(w->cx, "%s_body", w->lowered->name);
        ok = make_words(w, s, &q);
    }
    return ok && run(w, &q, object);
}

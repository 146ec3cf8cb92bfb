/*
 * serve - the worker's side: reads a program, lowers, compiles, has its runner run it.
 *
 * The worker is single-threaded and keeps its backend open; objects are kept by the text, the
 * target and the options they were made from. It leaves as soon as its socket closes.
 */
#include "moonloop/codegen/worker/message.h"
#include "moonloop/codegen/worker/serve_impl.h"
#include "moonloop/core/script/script.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

bool ml_serve_fail(ml_ServerJob *w, const char *phase)
{
    const ml_Error *e = ml_error(w->cx);

    w->r.ok = false;
    w->r.phase = phase;
    w->r.code = e ? e->code : ML_E_WORKER_CRASHED;
    w->r.message = e ? ml_error_line(w->cx, e) : "failed without a reason";
    for (uint32_t k = 0; e && k < e->n_facts; k++)
        if (e->facts[k].kind == ML_FACT_STMT && e->facts[k].as.stmt->span)
            w->r.line = e->facts[k].as.stmt->span->line;
    if (e && e->place)
        w->r.line = e->place->line;
    return false;
}

bool ml_serve_fail_text(ml_ServerJob *w, ml_ErrorCode code, const char *phase,
                        const char *text)
{
    w->r.ok = false;
    w->r.code = code;
    w->r.phase = phase;
    w->r.message = text;
    return false;
}

/* ---------------------------------------------------------------- time for compiling */

/* What is answered when the compiler does not come back; the worker ends then, and the
 * session starts another. */
static struct Late {
    int fd;
    ml_Pack answer;
} late;

static void on_alarm(int sig)
{
    (void)sig;
    /* It only sends: sendmsg, send and poll. */
    ml_frame_send(/* NOLINT(bugprone-signal-handler,cert-sig30-c) */
                  late.fd, 0, ML_FRAME_RESULT, &late.answer, NULL, 0);
    _exit(0);
}

static void set_alarm(double seconds)
{
    struct itimerval t = {0};

    t.it_value.tv_sec = (time_t)seconds;
    t.it_value.tv_usec = (suseconds_t)((seconds - (double)t.it_value.tv_sec) * 1e6);
    setitimer(ITIMER_REAL, &t, NULL);
}

static void begin_compiling(ml_ServerJob *w)
{
    double limit = w->job.compile_limit > 0 ? w->job.compile_limit : 30.0;
    ml_JobResult r = {.code = ML_E_WORKER_TIMEOUT, .phase = "compile", .bad_arg = -1};

    r.message = ml_format(w->cx, "it was not compiled within %g s", limit);
    late.fd = w->sv->fd;
    late.answer.n = 0;
    ml_result_pack(&late.answer, &r);
    set_alarm(fmin(fmax(limit, 1e-3), 1e6));
}

/* ---------------------------------------------------------------- compiling */

static const ml_Module *read_module(ml_ServerJob *w)
{
    static const char file[] = "the program";
    ml_ParseOpts o = {.file = file, .spelling = -1};
    ml_BinaryRead r;

    if (w->job.binary.n == 0)
        return ml_parse(w->cx, ml_str(w->job.program ? w->job.program : ""), &o).mod;
    if (!ml_binary_read(w->cx, w->job.binary, file, &r))
        return NULL;
    if (r.ordinals) {
        w->lines = ML_NEW(w->cx, ml_Lines);
        *w->lines = (ml_Lines){r.mod, r.ordinals, r.n_ordinals, false};
    }
    return r.mod;
}

static bool read_program(ml_ServerJob *w)
{
    w->mod = read_module(w);
    if (w->mod == NULL)
        return ml_serve_fail(w, "parse");
    if (w->job.func)
        w->func = ml_module_find(w->mod, w->job.func);
    else if (w->mod->n == 1)
        w->func = w->mod->funcs[0];
    if (w->func == NULL)
        return ml_serve_fail_text(w, ML_E_UNKNOWN_FUNCTION, "parse",
                                  "the function is not in the program");
    if (w->job.code.lines)
        ml_serve_lines(w);
    return true;
}

typedef struct InOrder { /* statements, outside in */
    ml_Ctx *cx;
    ML_VEC(ml_Span *) v;
} InOrder;

static bool add_in_order(const ml_Stmt *s, void *user)
{
    InOrder *o = user;
    union {
        const ml_Span *from;
        ml_Span *ours;
    } span = {s->span};

    ml_push(o->cx, &o->v, span.ours);
    return true;
}

bool ml_serve_lines(ml_ServerJob *w)
{
    ml_Lines *l = w->lines;
    ml_TextMarks marks = {0};
    ml_PrintOpts o = {.spelling = -1, .marks_cx = w->cx, .marks = &marks};
    InOrder all = {.cx = w->cx};
    ml_Text t = {0};
    uint32_t *line;

    if (l == NULL || l->known)
        return false;
    l->known = true;
    line = ML_ARRAY(w->cx, uint32_t, l->n);
    ml_print_module(w->cx, &t, l->mod, &o);
    ml_text_free(&t);
    for (size_t k = 0; k < marks.n; k++) {
        const ml_Stmt *s = marks.v[k].stmt;
        uint32_t *at = s && s->span ? &line[s->span->line - 1] : NULL;

        if (at && *at == 0)
            *at = marks.v[k].line;
    }
    for (uint32_t k = 0; k < l->mod->n; k++)
        ml_stmt_visit(l->mod->funcs[k]->body, add_in_order, &all);
    for (size_t k = all.v.n; k-- > 0;) { /* what has no line has that of what is in it */
        uint32_t at = all.v.v[k]->line - 1,
                 below = k + 1 < all.v.n ? all.v.v[k + 1]->line : 1;

        all.v.v[k]->line = at < l->n && line[at] ? line[at] : below;
    }
    return true;
}

static bool lower(ml_ServerJob *w)
{
    double t = ml_clock();

    w->lower = (ml_Lower){
        .cx = w->cx, .opts = ml_lower_defaults(&w->job.target), .module = w->mod};
    w->lowered = ml_lower(&w->lower, w->func,
                          w->job.want & ML_WANT_IR ? w->job.stop_after : NULL, NULL, NULL);
    w->r.lower_seconds = ml_clock() - t;
    if (w->lower.notes.n) {
        ml_serve_lines(w);
        const char **notes = ML_ARRAY(w->cx, const char *, w->lower.notes.n);

        for (size_t k = 0; k < w->lower.notes.n; k++) {
            const ml_LowerNote *n = &w->lower.notes.v[k];

            notes[k] =
                n->span ? ml_format(w->cx, "line %u: %s", n->span->line, n->text) : n->text;
        }
        w->r.notes = notes;
        w->r.n_notes = w->lower.notes.n;
    }
    return w->lowered != NULL || ml_serve_fail(w, "lower");
}

static bool open_backend(ml_ServerJob *w)
{
    ml_Server *sv = w->sv;

    if (sv->code && memcmp(&sv->target, &w->job.target, sizeof sv->target) == 0)
        return true;
    ml_serve_stop_runner(sv); /* it was forked with the other one */
    ml_code_close(sv->code);
    sv->target = w->job.target;
    sv->code = ml_code_open(w->cx, &w->job.target);
    return sv->code != NULL || ml_serve_fail(w, "compile");
}

/* FNV over everything that decides the object. */
static uint64_t key_of(const ml_ServerJob *w)
{
    uint64_t h;
    ml_Pack p = {0};

    ml_job_pack_key(&p, &w->job);
    ml_pack_str(&p, w->func ? w->func->name : w->job.func);
    h = ml_fnv(ML_FNV, p.v, p.n);
    ml_pack_free(&p);
    return h;
}

static Kept *find_kept(ml_Server *sv, uint64_t key)
{
    for (size_t k = 0; k < KEPT; k++)
        if (sv->kept[k].object.v && sv->kept[k].key == key) {
            sv->kept[k].used = ++sv->clock;
            return &sv->kept[k];
        }
    return NULL;
}

static Kept *keep(ml_Server *sv, uint64_t key, ml_Bytes object)
{
    Kept *oldest = &sv->kept[0];

    for (size_t k = 1; k < KEPT; k++)
        if (sv->kept[k].used < oldest->used)
            oldest = &sv->kept[k];
    free(oldest->object.v);
    ml_ctx_unref(oldest->cx);
    *oldest = (Kept){.key = key, .object = object, .used = ++sv->clock};
    return oldest;
}

static bool text_wanted(ml_ServerJob *w)
{
    const char *name = w->job.text ? w->job.text : "";
    ml_Text t = {0};
    bool ok = ml_code_text(w->sv->code, w->cx, &w->lowered, 1, &w->job.code, name, &t);

    if (ok)
        w->r.text = ml_strdup(w->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return ok || ml_serve_fail(w, "compile");
}

static bool compile(ml_ServerJob *w, const ml_Bytes **out)
{
    uint64_t key = key_of(w);
    Kept *k = find_kept(w->sv, key);

    w->r.cached = k != NULL;
    if (k == NULL) {
        ml_Bytes object = {0};
        double t = ml_clock();

        if (!ml_code_object(w->sv->code, w->cx, &w->lowered, 1, &w->job.code, &object))
            return ml_serve_fail(w, "compile");
        w->r.compile_seconds = ml_clock() - t;
        k = keep(w->sv, key, object);
    }
    if (w->job.want & ML_WANT_KEEP) {
        w->keep = key;
        if (k->cx == NULL) {
            k->cx = ml_ctx_ref(w->cx);
            k->mod = w->mod;
            k->func = w->func;
            k->lines = w->lines;
            k->lowered = w->lowered;
        }
    }
    w->r.object_bytes = k->object.n;
    *out = &k->object;
    return true;
}

/* A program that was kept with its object is not even read again. */
static bool take_kept(ml_ServerJob *w, const ml_Bytes **out)
{
    const uint32_t only = ML_WANT_KEEP | ML_WANT_CHECK | ML_WANT_OUTPUTS | ML_WANT_TIMES;
    Kept *k;

    if (!(w->job.want & ML_WANT_KEEP) || (w->job.want & ~only) || !w->job.func ||
        !(k = find_kept(w->sv, key_of(w))) || !k->cx)
        return false;
    ml_ctx_unref(w->cx);
    w->cx = ml_ctx_fork(k->cx);
    w->mod = k->mod;
    w->func = k->func;
    w->lowered = k->lowered;
    w->lines = k->lines;
    w->keep = k->key;
    w->r.cached = true;
    w->r.object_bytes = k->object.n;
    *out = &k->object;
    return true;
}

static bool ir_wanted(ml_ServerJob *w)
{
    ml_Text t = {0};

    ml_print_func(w->cx, &t, w->lowered, NULL);
    w->r.text = ml_strdup(w->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return true;
}

/* Code for another processor is made and never run: it would end somewhere. */
static bool runs_here(ml_ServerJob *w)
{
    const ml_Target *t = &w->job.target;
    const char *lacks = ml_target_is_foreign(t) ? NULL : ml_target_lacks(w->cx, t);

    if (ml_target_is_foreign(t))
        return ml_serve_fail_text(w, ML_E_NOT_SUPPORTED, "run",
                                  ml_format(w->cx,
                                            "the target is %s: its code can be saved, and "
                                            "not run on this machine",
                                            t->triple));
    return lacks == NULL ||
           ml_serve_fail_text(w, ML_E_NOT_SUPPORTED, "run",
                              ml_format(w->cx,
                                        "the target is a processor with %s, which this one "
                                        "has not: its code can be saved, and not run here",
                                        lacks));
}

/* Text and object, as far as they are wanted. *done: nothing is to be run. */
static bool make_code(ml_ServerJob *w, const ml_Bytes **object, bool *done)
{
    uint32_t runs = ML_WANT_CHECK | ML_WANT_OUTPUTS | ML_WANT_TIMES;

    *done = true;
    if (((w->job.want & runs) && !runs_here(w)) || !lower(w))
        return false;
    if (w->job.want & ML_WANT_IR)
        return ir_wanted(w);
    if (!(w->job.want & (ML_WANT_TEXT | ML_WANT_OBJECT | runs)))
        return true; /* it can be lowered: that is all */
    if (!open_backend(w) || ((w->job.want & ML_WANT_TEXT) && !text_wanted(w)))
        return false;
    if (!(w->job.want & (ML_WANT_OBJECT | runs)))
        return true;
    if (!compile(w, object))
        return false;
    if (w->job.want & ML_WANT_OBJECT)
        w->r.object = **object;
    *done = !(w->job.want & runs);
    return true;
}

/* What fails is done again where the error speaks of ordinals. */
static bool read_and_make(ml_ServerJob *w, const ml_Bytes **object, bool *done)
{
    if (!read_program(w))
        return false;
    if (make_code(w, object, done))
        return true;
    if (!ml_serve_lines(w))
        return false;
    ml_error_clear(w->cx);
    w->r = (ml_JobResult){.ok = true, .bad_arg = -1};
    return make_code(w, object, done);
}

static bool do_job(ml_ServerJob *w)
{
    const ml_Bytes *object = NULL;
    bool ok, done = false;

    if (w->job.library)
        return ml_serve_run(w, NULL);
    begin_compiling(w);
    ok = take_kept(w, &object) ? open_backend(w) : read_and_make(w, &object, &done);
    set_alarm(0);
    return ok && (done || ml_serve_run(w, object));
}

/* ---------------------------------------------------------------- the loop */

static bool take_set(ml_Server *sv, const ml_Frame *f)
{
    ml_WorkSet *s = ml_set_receive(sv->fd, f);

    if (s == NULL)
        return false;
    if (sv->runner >= 0 && !ml_set_send(sv->runner, 0, s))
        ml_serve_stop_runner(sv);
    return ml_sets_put(&sv->sets, s);
}

static bool take_forget(ml_Server *sv, const ml_Frame *f)
{
    ml_Unpack u = {.v = f->body.v, .n = f->body.n};
    uint64_t id = ml_unpack_u64(&u);

    if (sv->runner >= 0 && !ml_set_send_forget(sv->runner, 0, id))
        ml_serve_stop_runner(sv);
    ml_sets_forget(&sv->sets, id);
    return !u.bad;
}

static bool take_job(ml_Server *sv, const ml_Frame *f)
{
    ml_ServerJob w = {
        .sv = sv, .cx = ml_ctx_new((size_t)4 << 30), .r = {.ok = true, .bad_arg = -1}};
    ml_Unpack u = {.v = f->body.v, .n = f->body.n};
    ml_Pack p = {0};
    bool ok = ml_job_unpack(&u, &w.job, &w.set_id);

    if (ok) {
        do_job(&w);
        ml_result_pack(&p, &w.r);
        ok = ml_frame_send(sv->fd, 0, ML_FRAME_RESULT, &p, NULL, 0);
    }
    ml_pack_free(&p);
    ml_ctx_unref(w.cx);
    return ok;
}

static bool serve(ml_Server *sv)
{
    ml_Frame f;
    bool ok = false;

    if (!ml_frame_receive(sv->fd, 0, &f))
        return false;
    if (f.kind == ML_FRAME_SET)
        ok = take_set(sv, &f);
    else if (f.kind == ML_FRAME_FORGET)
        ok = take_forget(sv, &f);
    else if (f.kind == ML_FRAME_JOB)
        ok = take_job(sv, &f);
    ml_frame_free(&f);
    return ok;
}

int ml_worker_main(int fd)
{
    ml_Server sv = {.fd = fd, .runner = -1};
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        fputs("moonloop --worker is started by moonloop itself\n", stderr);
        return 2;
    }
    ml_code_alone();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); /* the session decides; it kills the group */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, on_alarm);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    ml_frame_send(fd, 0, ML_FRAME_ALIVE, NULL, NULL, 0); /* the greeting */
    while (serve(&sv))
        ;
    ml_serve_stop_runner(&sv);
    ml_code_close(sv.code);
    ml_sets_free(&sv.sets);
    for (size_t k = 0; k < KEPT; k++) {
        free(sv.kept[k].object.v);
        ml_ctx_unref(sv.kept[k].cx);
    }
    ml_pack_free(&late.answer);
    return 0;
}

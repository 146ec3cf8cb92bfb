/*
 * code - what becomes of the program: lowered, LLVM's text, machine code.
 *
 * Lowering is done here, code is made by a worker of the view's own, so that keys go on
 * meanwhile. Lines of code tell lines of the program, and with them loops and blocks.
 * Source: interaction 8, 10.
 */
#include <poll.h>
#include <stdlib.h>

#include "moonloop/primitives/call/render.h"
#include "moonloop/work/work.h"
#include "repl/host/host.h"
#include "repl/show/asm_view.h"
#include "repl/view/pane/text.h"

enum { WORKER = ML_ENGINE_WORKERS - 1 }; /* timing takes the first ones */

static void finish(ml_PaneText *t, ml_TextState state, const char *text)
{
    ml_text_lines(t, text);
    t->state = state;
}

static void fail(ml_PaneText *t, ml_Ctx *cx)
{
    ml_Failure *f;

    if (!ml_error(cx)) {
        finish(t, ML_TEXT_FAILED, "there is no code");
        return;
    }
    f = ml_failure_from(ml_error(cx));
    finish(t, ML_TEXT_FAILED, ml_failure_message(f));
    ml_failure_free(f);
}

/* ---- whose lines are whose */

/* The loop of that name that begins on the line, else the innermost node of the line. */
static ml_Uid node_at(const ml_PaneText *program, const ml_Names *names, uint32_t line,
                      const char *loop)
{
    for (size_t k = 0; loop && k < program->heads.n; k++) {
        const ml_TextMark *m = &program->heads.v[k];
        const char *name = m->line == line ? ml_map_get(names->map, m->uid) : NULL;

        if (name && ml_streq(name, loop))
            return m->uid;
    }
    return line > 0 && line <= program->n ? program->lines[line - 1].node : 0;
}

static void link_lines(ml_PaneText *t, const ml_PaneText *program, const ml_Names *names)
{
    for (size_t k = 0; k < t->n; k++)
        if (t->lines[k].line && !t->lines[k].node)
            t->lines[k].node = node_at(program, names, t->lines[k].line, NULL);
}

/* ---- lowered */

static void own_stmts(ml_PaneText *t, const ml_TextMarks *marks, const ml_PaneText *program,
                      const ml_Names *names)
{
    for (size_t k = 0; k < t->n; k++)
        t->lines[k].line = 0;
    for (size_t k = 0; k < marks->n; k++) {
        const ml_TextMark *m = &marks->v[k];
        const ml_Stmt *st = m->stmt;
        const char *loop = m->kind == ML_MARK_LOOP && st && st->kind == ML_STMT_FOR
                               ? ml_as_for(st)->var->hint
                               : NULL;
        uint32_t last = m->last_line > m->line ? m->last_line : m->line;

        if ((m->kind != ML_MARK_LOOP && m->kind != ML_MARK_STMT) || !st || !st->span)
            continue;
        for (uint32_t line = m->line; line <= last && line <= t->n; line++) {
            t->lines[line - 1].line = st->span->line;
            t->lines[line - 1].node = node_at(program, names, st->span->line, loop);
        }
    }
}

static void lower(ml_View *v, ml_PaneText *t, ml_Ctx *cx, const ml_Work *w,
                  const ml_PaneText *program)
{
    ml_TextMarks marks = {0};
    ml_PrintOpts o = {.spelling = -1,
                      .no_header = true,
                      .regions_auto = true,
                      .no_root_comment = true,
                      .indent = 2,
                      .marks_cx = cx,
                      .marks = &marks};
    ml_Lower lo;
    ml_Text text = {0};
    const ml_Func *f = ml_work_read(cx, ml_host_engine(v->ss->host), w, &lo);

    f = f ? ml_lower(&lo, f, NULL, NULL, NULL) : NULL;
    if (f == NULL) {
        fail(t, cx);
        return;
    }
    ml_print_func(cx, &text, f, &o);
    finish(t, ML_TEXT_READY, ml_text_z(&text));
    own_stmts(t, &marks, program, ml_version_names(t->m.s, t->m.version));
    ml_text_free(&text);
}

/* ---- code */

static void read_asm(ml_PaneText *t, ml_Ctx *cx, const char *assembly)
{
    ml_AsmNumbers lines = {0};
    ml_AsmOpts o = {.lines = &lines};
    ml_AsmSummary sum;
    ml_Text text = {0}, view = {0};

    ml_asm_view(cx, assembly, &o, &view, &sum);
    ml_asm_summary(&text, &sum); /* a line */
    ml_text_add(&text, ml_text_z(&view));
    finish(t, ML_TEXT_READY, ml_text_z(&text));
    for (size_t k = 0; k < t->n; k++)
        t->lines[k].line = k > 0 && k <= lines.n ? lines.v[k - 1] : 0;
    ml_text_free(&view);
    ml_text_free(&text);
}

/* Lines of the program by the number of their !DILocation. */
static ml_Map *read_locations(ml_PaneText *t)
{
    static const char HEAD[] = "!DILocation(line: ";
    ml_Map *m = ml_map_new(t->m.cx);

    for (size_t k = 0; k < t->n; k++) {
        const char *p = t->lines[k].text.p, *at;
        char *end;
        unsigned long number, line;

        if (t->lines[k].text.n < sizeof HEAD || p[0] != '!')
            continue;
        number = strtoul(p + 1, &end, 10);
        at = strstr(end, HEAD);
        if (at == NULL || at > p + t->lines[k].text.n)
            continue;
        line = strtoul(at + sizeof HEAD - 1, NULL, 10);
        ml_map_set(t->m.cx, m, (uint32_t)number, (const void *)(uintptr_t)line);
    }
    return m;
}

/* Debug places become lines; what only describes them is left out. */
static void read_llvm(ml_PaneText *t, const char *text)
{
    ml_Map *places;
    size_t n = 0;

    finish(t, ML_TEXT_READY, text);
    places = read_locations(t);
    for (size_t k = 0; k < t->n; k++) {
        ml_TextLine l = t->lines[k];
        static const char DBG[] = ", !dbg !";

        l.line = 0;
        if (l.text.n > 0 && l.text.p[0] == '!')
            continue;
        for (size_t at = 0; at + sizeof DBG <= l.text.n; at++)
            if (memcmp(l.text.p + at, DBG, sizeof DBG - 1) == 0) {
                uint32_t number =
                    (uint32_t)strtoul(l.text.p + at + sizeof DBG - 1, NULL, 10);

                l.line = (uint32_t)(uintptr_t)ml_map_get(places, number);
                l.text.n = at;
                break;
            }
        t->lines[n++] = l;
    }
    while (n > 0 && t->lines[n - 1].text.n == 0)
        n--;
    t->n = n;
}

static void take(ml_View *v, ml_PaneText *t, ml_Ctx *cx, ml_Worker *w)
{
    const ml_PaneText *program = ml_pane_text_compiled(v, t->m.s, t->m.version);
    ml_JobResult r;

    if (!ml_worker_take(w, cx, &r)) {
        fail(t, cx);
    } else if (!r.ok) {
        ml_job_fail(cx, &r,
                    ml_version_program(t->m.s, t->m.version).mod->funcs[t->func]->name);
        fail(t, cx);
    } else if (t->level == ML_LEVEL_ASM) {
        read_asm(t, cx, r.text ? r.text : "");
    } else {
        read_llvm(t, r.text ? r.text : "");
    }
    link_lines(t, program, ml_version_names(t->m.s, t->m.version));
}

static void send(ml_View *v, ml_PaneText *t, ml_Ctx *cx, const ml_Work *work)
{
    struct ml_PaneKept *k = ml_pane_kept(v);
    ml_Engine *e = ml_host_engine(v->ss->host);
    ml_Worker *w = ml_engine_worker(e, cx, WORKER);
    ml_Job j = ml_work_job(e, work, t->level == ML_LEVEL_ASM ? "asm" : "llvm", true);

    if (w == NULL || !ml_worker_send(w, cx, &j)) {
        fail(t, cx);
        return;
    }
    t->state = ML_TEXT_COMPILING;
    k->compiling = t;
}

/* The worker that is at t; NULL: it was stopped by others meanwhile. */
static ml_Worker *at_work(ml_View *v, ml_Ctx *cx)
{
    ml_Worker *w = ml_engine_worker(ml_host_engine(v->ss->host), cx, WORKER);

    return w && ml_worker_busy(w) ? w : NULL;
}

void ml_pane_code_stop(ml_View *v)
{
    struct ml_PaneKept *k = v->kept;
    ml_Worker *w;
    ml_Ctx *cx;

    if (!k || !k->compiling)
        return;
    cx = ml_ctx_new(0);
    w = at_work(v, cx);
    if (w)
        ml_worker_kill(w);
    ((ml_PaneText *)k->compiling)->state = ML_TEXT_WAITING;
    k->compiling = NULL;
    ml_ctx_unref(cx);
}

static void begin(ml_View *v, ml_PaneText *t)
{
    const ml_PaneText *program = ml_pane_text_compiled(v, t->m.s, t->m.version);
    ml_Program p = ml_version_program(t->m.s, t->m.version);
    const char *why = NULL;
    ml_Ctx *cx;
    ml_Work w;

    if (t->func >= p.mod->n) {
        finish(t, ML_TEXT_FAILED, "the program has no functions");
        return;
    }
    cx = ml_ctx_fork(ml_schedule_ctx(t->m.s));
    ml_ctx_set_limit(cx, 0);
    w = ml_work_of(cx, t->m.s, t->m.version, t->func);
    why = ml_work_foreign(cx, t->m.s);
    why = why ? why : ml_work_for_gpu(cx, w.func);
    if (why)
        finish(t, ML_TEXT_FAILED, why);
    else if (t->level == ML_LEVEL_LOWERED)
        lower(v, t, cx, &w, program);
    else
        send(v, t, cx, &w);
    ml_ctx_unref(cx);
}

bool ml_pane_code_work(ml_View *v, ml_PaneText *t, int ms)
{
    struct ml_PaneKept *k = ml_pane_kept(v);
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Worker *w;
    bool done = true;

    if (k->compiling && k->compiling != t)
        ml_pane_code_stop(v);
    if (t->state == ML_TEXT_WAITING)
        begin(v, t);
    if (t->state == ML_TEXT_COMPILING && (w = at_work(v, cx)) != NULL) {
        struct pollfd p = {.fd = ml_worker_fd(w), .events = POLLIN};

        poll(&p, 1, ms);
        done = ml_worker_done(w);
        if (done) {
            k->compiling = NULL;
            take(v, t, cx, w);
        }
    } else if (t->state == ML_TEXT_COMPILING) {
        k->compiling = NULL;
        t->state = ML_TEXT_WAITING;
        done = false;
    }
    ml_ctx_unref(cx);
    return done;
}

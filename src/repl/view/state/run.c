/*
 * run - lines that the view runs, and what is said about them: the message row, the log of
 * pane 7, a page of text. Source: interaction 10.
 */
#include "repl/run/run.h"
#include "moonloop/core/base/arena.h"
#include "repl/command/command.h"
#include "repl/out/interrupt.h"
#include "repl/session/frame.h"
#include "repl/view/state/capture.h"
#include "repl/view/state/view.h"

/* ---- what is said */

/* The message row is one: text that was folded for a screen goes on behind a blank, what
 * was set at its right edge behind some. */
static void one_line(ml_Text *t)
{
    enum { BLANKS = 3 };
    size_t n = 0, blanks = 0;

    while (t->n && t->p[t->n - 1] == '\n')
        t->n--;
    for (size_t k = 0; k < t->n; k++) {
        if (t->p[k] == '\n')
            k += strspn(t->p + k + 1, " ");
        blanks = k < t->n && t->p[k] == ' ' ? blanks + 1 : 0;
        if (blanks <= BLANKS)
            t->p[n++] = t->p[k] == '\n' ? ' ' : t->p[k];
    }
    t->n = n;
    if (t->p)
        t->p[n] = '\0';
}

void ml_view_say(ml_View *v, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    ml_text_clear(&v->message);
    ml_text_vfmt(&v->message, fmt, ap);
    va_end(ap);
    one_line(&v->message);
    v->message_is_error = false;
}

void ml_view_log(ml_View *v, const char *text, size_t n)
{
    enum { MOST = 256 << 10 };

    if (n == 0)
        return;
    for (size_t k = 0; k < n; k++) /* no escape sequences, no zero bytes */
        if (text[k] == '\n' || (unsigned char)text[k] >= 0x20)
            ml_text_char(&v->log, text[k]);
    if (v->log.n && v->log.p[v->log.n - 1] != '\n')
        ml_text_char(&v->log, '\n');
    if (v->log.n > MOST) { /* the older half goes, from a line's begin */
        const char *cut = memchr(v->log.p + MOST / 2, '\n', v->log.n - MOST / 2);
        size_t from = cut ? (size_t)(cut + 1 - v->log.p) : MOST / 2;

        memmove(v->log.p, v->log.p + from, v->log.n - from + 1);
        v->log.n -= from;
    }
    v->pane[ML_PANE_JOBS].fresh = false;
}

/* ---- pages */

ml_Rows *ml_view_page_open(ml_View *v, const char *title)
{
    ml_rows_reset(&v->page);
    ml_text_clear(&v->page_title);
    ml_text_add(&v->page_title, title);
    v->paging = true;
    v->page_is_help = false;
    v->page_top = v->page_left = 0;
    return &v->page;
}

/* How a line of output looks: errors and differences by how they begin. */
static ml_CellRole role_of(const char *p)
{
    if (strncmp(p, "error:", 6) == 0)
        return ML_ROLE_ERROR;
    if (strncmp(p, "note:", 5) == 0)
        return ML_ROLE_NOTE;
    while (*p == ' ' || (*p >= '0' && *p <= '9'))
        p++;
    if (p[0] == '+' && p[1] == ' ')
        return ML_ROLE_DIFF_ADD;
    if (p[0] == '-' && p[1] == ' ')
        return ML_ROLE_DIFF_DEL;
    return ML_ROLE_TEXT;
}

void ml_view_page_text(ml_View *v, const char *title, const char *text)
{
    ml_Rows *r = ml_view_page_open(v, title);
    ml_Str line;

    while (ml_next_line(&text, &line))
        ml_rows_add(r, role_of(line.p), "%.*s", (int)line.n, line.p);
}

/* ---- lines */

/* The first line that says something, without blanks at its ends. */
static ml_Str first_line(const char *p)
{
    p += strspn(p, " \n");
    size_t n = strcspn(p, "\n");

    while (n > 0 && p[n - 1] == ' ')
        n--;
    return (ml_Str){p, n};
}

/* What there was before a line. */
typedef struct Before {
    ml_Schedule *s;
    int versions;
    const ml_Failure *last;
} Before;

static Before before_line(const ml_Session *ss)
{
    return (Before){.s = ss->focus,
                    .versions = ss->focus ? ml_schedule_n_versions(ss->focus) : 0,
                    .last = ss->last};
}

/* The last step of those that the line made; false: it made none. */
static bool say_step(ml_View *v, const Before *b)
{
    ml_Schedule *s = v->ss->focus;
    int at = s ? ml_schedule_version(s) : -1, more = -1;
    ml_Step step, other;
    ml_Text t = {0};

    if (s == NULL || s != b->s || at < b->versions || !ml_version_step(s, at, &step) ||
        !step.headline)
        return false;
    for (int k = at; k >= b->versions && ml_version_step(s, k, &other); k = other.parent)
        more++;
    ml_text_fmt(&t, "[%d] %s", at, step.headline);
    if (more > 0)
        ml_text_fmt(&t, "   and %d step%s before it", more, more == 1 ? "" : "s");
    if (step.check)
        ml_text_fmt(&t, "   check %s", step.check);
    for (size_t k = 0; k < step.n_notes; k++)
        ml_text_fmt(&t, "   note: %s", step.notes[k]);
    ml_view_say(v, "%s", ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

/* The columns of text that a page can show. */
static int page_columns(const ml_View *v)
{
    return v->grid.w > 40 ? v->grid.w - 4 : 40;
}

/* Its sentence, with the code where that fits beside it. */
static bool say_failure(ml_View *v, const Before *b)
{
    const ml_RenderOpts opts = {.level = ML_RENDER_FAST, .width = page_columns(v)};
    ml_Text t = {0};

    if (v->ss->last == NULL || v->ss->last == b->last)
        return false;
    ml_failure_render(v->ss->last, &t, &opts);
    ml_view_say(v, "%.*s", (int)strcspn(ml_text_z(&t), "\n"), ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

/* What came of the line: the step or the error itself; of what made neither, the line that it
 * printed first. All of it goes to the log, and what was typed gets a page when it is longer. */
static void tell(ml_View *v, const Before *b, bool ok, ml_Text *out, const char *err)
{
    const char *z = ml_text_z(out);

    if (ok ? !say_step(v, b) : !say_failure(v, b) && !say_step(v, b)) {
        ml_Str first = first_line(*z && ok ? z : err);

        if (first.n == 0)
            first = first_line(*z ? z : err);
        ml_view_say(v, "%.*s", (int)first.n, first.p);
    }
    v->message_is_error = !ok;
    ml_text_add(out, err);
    ml_view_log(v, ml_text_z(out), out->n);
    if (v->typing && ml_count_lines(ml_text_z(out)) > 1)
        ml_view_page_text(v, ml_text_z(&v->lua), ml_text_z(out));
}

bool ml_view_run(ml_View *v, const char *line, const ml_RunCall *call)
{
    ml_Session *ss = v->ss;
    ml_Text out = {0}, err = {0}, all = {0};
    ml_RunOpts run = {
        .sink = {&out, &err}, .mode = ML_MODE_TYPED, .page = page_columns(v), .call = call};
    char *kept = ml_heap_text(line); /* it may lie in what the run changes */
    Before before = before_line(ss);

    ml_interrupt_answer();
    ml_text_clear(&v->lua);
    ml_text_add(&v->lua, kept);
    ml_capture_drain(v);
    v->busy = true;
    bool ok = ml_run(ss, &run, kept);

    v->busy = false;
    ss->status = 0;        /* as at the prompt */
    ml_capture_read(&all); /* what was printed past the session */
    ml_text_add(&all, ml_text_z(&out));
    ml_view_follow(v);
    tell(v, &before, ok, &all, ml_text_z(&err));
    ml_text_free(&all);
    if (ss->quit)
        v->quit = v->end = true;
    ml_text_free(&out);
    ml_text_free(&err);
    ml_heap_free(kept);
    return ok;
}

void ml_view_page_of(ml_View *v, const char *command, const char *title)
{
    ml_Text out = {0};
    ml_RunOpts run = {.sink = {&out, &out}, .page = v->grid.w > 24 ? v->grid.w - 4 : 20};
    ml_RunFrame f;

    ml_frame_push(v->ss, &f, &run);
    ml_command_run(v->ss, command);
    ml_frame_pop(v->ss, &f);
    if (out.n == 0)
        ml_view_say(v, "%s: nothing to show", title);
    else
        ml_view_page_text(v, title, ml_text_z(&out));
    ml_text_free(&out);
}

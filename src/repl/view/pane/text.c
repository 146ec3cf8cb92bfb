/* pane_text - texts of versions by lines, kept; the program itself. Source: interaction 10.
 */
#include "repl/view/pane/text.h"

#include "repl/view/state/frame.h"

enum { KEPT = 24 }; /* texts: some versions back and forth at all levels */

static void text_free(ml_PaneText *t)
{
    ml_Schedule *s = t->s;

    ml_ctx_unref(t->cx); /* t is in it */
    ml_schedule_unref(s);
}

void ml_pane_texts_free(ml_View *v)
{
    struct ml_PaneKept *k = v->kept;

    ml_pane_code_stop(v);
    while (k->texts) {
        ml_PaneText *t = k->texts;

        k->texts = t->next;
        text_free(t);
    }
}

/* Makes room: those that were asked for last stay. */
static void drop_old(ml_View *v)
{
    ml_PaneText **at = &v->kept->texts;

    for (int n = 0; *at && n < KEPT - 1; n++)
        at = &(*at)->next;
    while (*at) {
        ml_PaneText *t = *at;

        *at = t->next;
        if (t == v->kept->compiling)
            ml_pane_code_stop(v);
        text_free(t);
    }
}

void ml_text_lines(ml_PaneText *t, const char *text)
{
    size_t n = 0;
    const char *p = ml_strdup(t->cx, ml_str(text));

    for (const char *q = p; *q; q++)
        n += *q == '\n';
    t->n = 0;
    t->lines = ML_ARRAY(t->cx, ml_TextLine, n + 1);
    while (*p) {
        const char *end = strchr(p, '\n');
        size_t len = end ? (size_t)(end - p) : strlen(p);

        t->lines[t->n] = (ml_TextLine){{p, len}, 0, (uint32_t)t->n + 1};
        t->n++;
        p += len + (end != NULL);
    }
}

/* Marks come with outer nodes before inner ones. */
static void own_lines(ml_PaneText *t, const ml_TextMarks *marks)
{
    for (size_t k = 0; k < marks->n; k++) {
        const ml_TextMark *m = &marks->v[k];

        if (m->kind != ML_MARK_LOOP && m->kind != ML_MARK_BLOCK)
            continue;
        ml_push(t->cx, &t->heads, *m);
        for (uint32_t line = m->line; line <= m->last_line && line <= t->n; line++)
            t->lines[line - 1].node = m->uid;
    }
}

static void print_program(ml_PaneText *t)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_TextMarks marks = {0};
    ml_Text text = {0};
    ml_PrintOpts o = {.spelling = -1,
                      .no_header = true,
                      .regions_auto = t->regions,
                      .indent = 2, /* panes are narrow */
                      .marks_cx = cx,
                      .marks = &marks};

    ml_schedule_print(t->s, t->version, &text, &o);
    ml_text_lines(t, ml_text_z(&text));
    own_lines(t, &marks);
    ml_text_free(&text);
    ml_ctx_unref(cx);
}

static ml_PaneText *text_of(ml_View *v, ml_Schedule *s, int version, ml_Level level,
                            bool regions)
{
    struct ml_PaneKept *k = ml_pane_kept(v);
    uint32_t func = ml_view_func(v);
    ml_PaneText *t;

    for (ml_PaneText **at = &k->texts; (t = *at) != NULL; at = &t->next)
        if (t->s == s && t->version == version && t->level == level &&
            t->regions == regions && (level == ML_LEVEL_PROGRAM || t->func == func)) {
            *at = t->next; /* to the front */
            t->next = k->texts;
            return k->texts = t;
        }
    ml_Ctx *cx = ml_ctx_new(0);

    drop_old(v);
    t = ML_NEW(cx, ml_PaneText);
    *t = (ml_PaneText){.next = k->texts,
                       .cx = cx,
                       .s = ml_schedule_ref(s),
                       .version = version,
                       .func = func,
                       .level = level,
                       .regions = regions};
    k->texts = t;
    if (level == ML_LEVEL_PROGRAM)
        print_program(t);
    else
        t->state = ML_TEXT_WAITING;
    return t;
}

ml_PaneText *ml_pane_text(ml_View *v, ml_Schedule *s, int version, ml_Level level)
{
    bool regions =
        level != ML_LEVEL_PROGRAM || ml_setting_is(&v->ss->set, ML_SET_regions, "auto");

    return text_of(v, s, version, level, regions);
}

ml_PaneText *ml_pane_text_compiled(ml_View *v, ml_Schedule *s, int version)
{
    return text_of(v, s, version, ML_LEVEL_PROGRAM, true);
}

bool ml_pane_texts_idle(ml_View *v, int ms)
{
    ml_Schedule *s = v->ss->focus;
    ml_PaneText *t;

    if (s == NULL || ml_view_coding(v) == ML_LEVEL_PROGRAM) {
        ml_pane_code_stop(v);
        return false;
    }
    t = ml_pane_text(v, s, ml_schedule_version(s), ml_view_coding(v));
    if (t->state == ML_TEXT_READY || t->state == ML_TEXT_FAILED)
        return false;
    if (!ml_pane_code_work(v, t, ms))
        return true;
    v->pane[ML_PANE_PROGRAM].fresh = v->pane[ML_PANE_CODE].fresh = false;
    if (v->frame) /* to what is selected */
        v->frame->sync[ML_PANE_PROGRAM] = v->frame->sync[ML_PANE_CODE] = true;
    return false;
}

/* pane_text - texts of versions by lines, kept. Source: interaction 10. */
#include "repl/view/pane_text.h"

enum { KEPT = 24 }; /* texts: some versions back and forth at all levels */

static void text_free(ml_PaneText *t)
{
    ml_Schedule *s = t->s;

    ml_ctx_unref(t->cx); /* t is in it */
    ml_schedule_unref(s);
}

void ml_pane_texts_free(struct ml_PaneKept *k)
{
    while (k->texts) {
        ml_PaneText *t = k->texts;

        k->texts = t->next;
        text_free(t);
    }
}

/* Makes room: those that were asked for last stay. */
static void drop_old(struct ml_PaneKept *k)
{
    ml_PaneText **at = &k->texts;

    for (int n = 0; *at && n < KEPT - 1; n++)
        at = &(*at)->next;
    while (*at) {
        ml_PaneText *t = *at;

        *at = t->next;
        text_free(t);
    }
}

static void split_lines(ml_PaneText *t, const char *text)
{
    size_t n = 0;
    const char *p = ml_strdup(t->cx, ml_str(text));

    for (const char *q = p; *q; q++)
        n += *q == '\n';
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
    split_lines(t, ml_text_z(&text));
    own_lines(t, &marks);
    ml_text_free(&text);
    ml_ctx_unref(cx);
}

const ml_PaneText *ml_pane_text(ml_View *v, const ml_Shown *sh, ml_Level level)
{
    struct ml_PaneKept *k = ml_pane_kept(v);
    bool regions = ml_setting_is(&v->ss->set, ML_SET_regions, "auto");
    ml_PaneText *t;

    for (ml_PaneText **at = &k->texts; (t = *at) != NULL; at = &t->next)
        if (t->s == sh->s && t->version == sh->version && t->level == level &&
            t->regions == regions) {
            *at = t->next; /* to the front */
            t->next = k->texts;
            return k->texts = t;
        }
    ml_Ctx *cx = ml_ctx_new(0);

    drop_old(k);
    t = ML_NEW(cx, ml_PaneText);
    *t = (ml_PaneText){.next = k->texts,
                       .cx = cx,
                       .s = ml_schedule_ref(sh->s),
                       .version = sh->version,
                       .level = level,
                       .regions = regions};
    k->texts = t;
    print_program(t);
    return t;
}

/* text - texts of versions by lines, kept; the program itself. Source: interaction 10.
 */
#include "repl/view/pane/text.h"

#include "repl/view/state/view.h"

enum { KEPT = 24 }; /* texts: some versions back and forth at all levels */

void ml_text_lines(ml_PaneText *t, const char *text)
{
    const char *p = ml_strdup(t->m.cx, ml_str(text));

    t->n = 0;
    t->lines = ML_ARRAY(t->m.cx, ml_TextLine, ml_count_lines(p) + 1);
    for (ml_Str line; ml_next_line(&p, &line); t->n++)
        t->lines[t->n] = (ml_TextLine){line, 0, (uint32_t)t->n + 1};
}

/* Marks come with outer nodes before inner ones. */
static void own_lines(ml_PaneText *t, const ml_TextMarks *marks)
{
    for (size_t k = 0; k < marks->n; k++) {
        const ml_TextMark *m = &marks->v[k];

        if (m->kind != ML_MARK_LOOP && m->kind != ML_MARK_BLOCK)
            continue;
        ml_push(t->m.cx, &t->heads, *m);
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

    ml_schedule_print(t->m.s, t->m.version, &text, &o);
    ml_text_lines(t, ml_text_z(&text));
    own_lines(t, &marks);
    t->state = ML_TEXT_READY;
    ml_text_free(&text);
    ml_ctx_unref(cx);
}

static ml_PaneText *text_of(ml_View *v, ml_Schedule *s, int version, ml_Level level,
                            bool regions)
{
    uint32_t func = level == ML_LEVEL_PROGRAM ? 0 : ml_view_func(v);
    uint32_t key = func * 2 * ML_N_LEVELS + level * 2u + regions;
    bool made;
    ml_PaneText *t =
        ml_pane_memo(v, &ml_pane_kept(v)->texts, s, version, key, sizeof *t, KEPT, &made);

    if (made) {
        t->func = func;
        t->level = level;
        t->regions = regions;
        t->state = ML_TEXT_WAITING;
        if (level == ML_LEVEL_PROGRAM)
            print_program(t);
    }
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
    /* to what is selected */
    v->pane[ML_PANE_PROGRAM].sync = v->pane[ML_PANE_CODE].sync = true;
    return false;
}

/*
 * act_preview - a line that is not run yet: whether it would work, and the program as it
 * would be.
 *
 * A trial's program lives in a fork of the focus, which must be gone before the focus is
 * used: the program is printed at once, and only the text is kept. Source: interaction 4,
 * 10.
 */
#include "core/arena.h"
#include "repl/diff.h"
#include "repl/view/act_impl.h"

void ml_act_forget_trial(ml_Act *a)
{
    if (a->tried)
        ml_trial_free(&a->trial);
    a->trial = (ml_Trial){0};
    a->tried = false;
    ml_text_clear(&a->line);
    ml_text_clear(&a->preview);
}

void ml_act_try(ml_View *v, const char *line)
{
    ml_Act *a = v->act;

    ml_act_forget_trial(a);
    ml_text_add(&a->line, line);
    ml_trial(v->ss, ml_text_z(&a->line), ML_TRIAL_MS, true, &a->trial);
    a->tried = true;
    if (a->trial.result)
        ml_schedule_print(a->trial.result, ml_schedule_version(a->trial.result),
                          &a->preview, NULL);
    ml_schedule_unref(a->trial.result);
    a->trial.result = NULL;
}

bool ml_act_preview(ml_View *v, ml_Rows *r)
{
    ml_Act *a = v->act;
    ml_Text now = {0}, line = {0};
    bool *fresh;
    size_t n = 1, at = 0;

    if (!a->tried || a->trial.kind != ML_TRIAL_WORKS || a->preview.n == 0 || !v->ss->focus)
        return false;
    ml_schedule_print(v->ss->focus, ml_schedule_version(v->ss->focus), &now, NULL);
    for (size_t k = 0; k < a->preview.n; k++)
        n += a->preview.p[k] == '\n';
    fresh = ml_heap_zalloc(n + 1);
    ml_diff_fresh(ml_text_z(&now), ml_text_z(&a->preview), fresh);
    for (const char *p = ml_text_z(&a->preview); *p; at++) {
        size_t len = strcspn(p, "\n");
        ml_Row *row;

        ml_text_clear(&line);
        ml_text_addn(&line, p, len);
        row = ml_rows_code(r, ml_text_z(&line));
        row->line = (uint32_t)at + 1;
        row->changed = fresh[at];
        row->dim = true;
        p += len + (p[len] == '\n');
    }
    ml_heap_free(fresh);
    ml_text_free(&now);
    ml_text_free(&line);
    return true;
}

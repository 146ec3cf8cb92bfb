/*
 * preview - a line that is not run yet: whether it would work, and the program as it
 * would be.
 *
 * A trial's program lives in a fork of the focus, which must be gone before the focus is
 * used: the program is printed at once, and only the text is kept. Source: interaction 4,
 * 10.
 */
#include "moonloop/core/base/arena.h"
#include "repl/view/act/act_impl.h"

void ml_act_forget_trial(ml_Act *a)
{
    if (a->tried)
        ml_trial_free(&a->trial);
    a->trial = (ml_Trial){0};
    a->tried = false;
    ml_text_clear(&a->line);
    ml_text_clear(&a->preview);
    if (a->rows.v.n > 0)
        ml_rows_reset(&a->rows);
}

/* As pane 2 prints a program. */
static void print(ml_View *v, ml_Schedule *s, ml_Text *out)
{
    ml_PrintOpts o = {.spelling = -1,
                      .no_header = true,
                      .regions_auto = ml_setting_is(&v->ss->set, ML_SET_regions, "auto"),
                      .indent = 2};

    ml_schedule_print(s, ml_schedule_version(s), out, &o);
}

void ml_act_try(ml_View *v, const char *line)
{
    ml_Act *a = v->act;

    ml_act_forget_trial(a);
    ml_text_add(&a->line, line);
    ml_trial(v->ss, ml_text_z(&a->line), ml_act_ms(v, ML_TRIAL_MS), true, &a->trial);
    a->tried = true;
    if (a->trial.result)
        print(v, a->trial.result, &a->preview);
    ml_schedule_unref(a->trial.result);
    a->trial.result = NULL;
}

/* The focus' program: the same for every key that is typed on one version. */
static const char *printed_now(ml_View *v)
{
    ml_Act *a = v->act;
    ml_Schedule *s = v->ss->focus;
    const ml_Module *m = ml_schedule_program(s).mod;
    bool regions_auto = ml_setting_is(&v->ss->set, ML_SET_regions, "auto");
    int version = ml_schedule_version(s);

    if (a->now_s != s || a->now_module != m || a->now_version != version ||
        a->now_auto != regions_auto) {
        ml_text_clear(&a->now);
        print(v, s, &a->now);
        a->now_s = s;
        a->now_module = m;
        a->now_version = version;
        a->now_auto = regions_auto;
    }
    return ml_text_z(&a->now);
}

static void make_rows(ml_View *v)
{
    ml_Act *a = v->act;
    ml_Rows *r = &a->rows;
    char *sign;
    size_t n, at = 0;
    ml_Str line;
    int width;

    n = ml_count_lines(ml_text_z(&a->preview));
    n += a->preview.p[a->preview.n - 1] != '\n';
    width = ml_digits(n);
    sign = ml_heap_zalloc(n + 1);
    a->changes = ml_diff_signs(printed_now(v), ml_text_z(&a->preview), sign);
    ml_rows_reset(r);
    for (const char *p = ml_text_z(&a->preview); ml_next_line(&p, &line); at++) {
        ml_Row *row;

        ml_rows_put_line_number(r, at + 1, width, ML_ROLE_DIM);
        ml_rows_put_script(r, line.p, line.n, v->marked, ML_MAX_MARKED);
        row = ml_rows_end(r);
        row->line = (uint32_t)at + 1;
        row->sign = sign[at] == ' ' ? '\0' : sign[at];
        row->dim = sign[at] != '+';
    }
    ml_heap_free(sign);
}

bool ml_act_preview(ml_View *v, ml_Rows *r)
{
    ml_Act *a = v->act;

    if (!a->tried || a->trial.kind != ML_TRIAL_WORKS || a->preview.n == 0 || !v->ss->focus)
        return false;
    if (a->rows.v.n == 0)
        make_rows(v);
    for (size_t k = 0; k < a->rows.v.n; k++) /* their texts stay until the next trial */
        ml_push(r->cx, &r->v, a->rows.v.v[k]);
    return true;
}

void ml_act_preview_title(const ml_View *v, ml_Text *out)
{
    const ml_Act *a = v->act;

    ml_text_fmt(out, "preview +%zu -%zu", a->changes.added, a->changes.removed);
}

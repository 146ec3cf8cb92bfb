/*
 * act_page - text to be read: what a command prints, in rows.
 */
#include <time.h>

#include "repl/command.h"
#include "repl/view/act_impl.h"

int64_t ml_act_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void ml_act_page(ml_View *v, ml_Request r, const char *command, const char *title)
{
    ml_Session *ss = v->ss;
    ml_Act *a = v->act;
    ml_Out kept = ss->out;
    ml_Text out = {0};

    ss->out.color = ss->out.err_color = ss->out.pager = false;
    ss->out.capture = ss->out.err_capture = &out;
    if (v->grid.w > 4)
        ss->out.width = v->grid.w - 2;
    ml_command_run(ss, command);
    ss->out = kept;
    if (out.n == 0) {
        ml_view_say(v, "%s: nothing to show", title);
        ml_text_free(&out);
        return;
    }
    ml_act_start(v, ML_ACT_PAGE, r);
    ml_text_clear(&a->page);
    ml_text_addn(&a->page, out.p, out.n);
    a->page_top = 0;
    a->menu_label = ml_strdup(a->cx, ml_str(title));
    ml_text_free(&out);
}

static size_t n_lines(const ml_Act *a)
{
    size_t n = 0;

    for (size_t k = 0; k < a->page.n; k++)
        n += a->page.p[k] == '\n';
    return n + (a->page.n && a->page.p[a->page.n - 1] != '\n');
}

void ml_act_page_key(ml_View *v, const ml_Key *k)
{
    ml_Act *a = v->act;
    size_t n = n_lines(a), last = n ? n - 1 : 0;
    size_t page = v->grid.h > 8 ? (size_t)v->grid.h - 6 : 4;

    if (ml_act_is(k, "up") || ml_act_is(k, "k"))
        a->page_top -= a->page_top > 0;
    else if (ml_act_is(k, "down") || ml_act_is(k, "j"))
        a->page_top += a->page_top < last;
    else if (ml_act_is(k, "pgup"))
        a->page_top -= a->page_top > page ? page : a->page_top;
    else if (ml_act_is(k, "pgdn") || ml_act_is(k, " "))
        a->page_top = a->page_top + page < last ? a->page_top + page : last;
    else if (ml_act_is(k, "home"))
        a->page_top = 0;
    else if (ml_act_is(k, "end"))
        a->page_top = last;
    else if (ml_act_is(k, "enter") || ml_act_is(k, "q"))
        ml_act_close(v);
}

void ml_act_page_rows(ml_View *v, ml_Rows *r, int *at)
{
    ml_Act *a = v->act;

    for (const char *p = ml_text_z(&a->page); *p;) {
        size_t n = strcspn(p, "\n");

        ml_rows_add(r, ML_ROLE_TEXT, "%.*s", (int)n, p);
        p += n + (p[n] == '\n');
    }
    *at = (int)a->page_top;
}

/*
 * view - the visualiser's life, and keys that come in: a key goes to what is open (a page, a
 * request, the search), else to keys.def. Source: interaction 10.
 */
#include "repl/view/view.h"

#include "moonloop/core/base/arena.h"
#include "repl/job/jobs.h"
#include "repl/view/pane/touches.h"

/* ---- life */

void ml_view_init(ml_View *v, ml_Session *ss, int w, int h, bool ascii)
{
    *v = (ml_View){.ss = ss,
                   .in = ML_PANE_LOOPS,
                   .version = -1,
                   .requests = ml_view_requests(),
                   .kinds = ml_panes};
    v->cx = ml_ctx_new(0);
    for (int s = 0; s < ML_N_SIZES; s++)
        ml_layout_usual(&v->layout[s], (ml_SizeClass)s);
    ml_grid_init(&v->grid, w, h, ascii);
    v->act = ml_act_new();
    ml_view_resize(v, w, h);
    ml_view_follow(v);
}

void ml_view_free(ml_View *v)
{
    for (int id = 0; id < ML_N_PANES; id++)
        ml_rows_free(&v->pane[id].rows);
    ml_act_free(v->act);
    ml_panes_free(v);
    for (int k = 0; k < ML_MAX_MARKED; k++)
        ml_heap_free(v->marked[k]);
    ml_heap_free(v->search);
    ml_text_free(&v->lua);
    ml_text_free(&v->message);
    ml_text_free(&v->log);
    ml_rows_free(&v->page);
    ml_rows_free(&v->line);
    ml_text_free(&v->page_title);
    ml_text_free(&v->ask);
    ml_text_free(&v->share_of);
    ml_ctx_unref(v->cx);
    ml_grid_free(&v->grid);
    *v = (ml_View){0};
}

/* ---- keys */

static bool is_digit(const ml_Key *k)
{
    return !k->name && k->ch[0] >= '1' && k->ch[0] <= '9' && k->ch[1] == '\0';
}

/* Which of several keys it is: M-3 and 3 are 3. */
static int number_of(const ml_Key *k)
{
    if (is_digit(k))
        return k->ch[0] - '0';
    if (k->name && strncmp(k->name, "M-", 2) == 0 && k->name[2] >= '1' && k->name[2] <= '9')
        return k->name[2] - '0';
    return 0;
}

static void say_no_key(ml_View *v, const ml_Key *k)
{
    ml_Request r = ml_keymap_anywhere(v->ss->keymap, k);

    if (r != ML_REQ_NONE && ml_key_info[r].pane != ML_PANE_NONE)
        ml_view_say(v, "%s works in pane %d %s: %s", ml_key_text(k),
                    (int)ml_key_info[r].pane, ml_pane_names[ml_key_info[r].pane],
                    ml_key_info[r].help);
    else
        ml_view_say(v, "%s asks for nothing; ? shows the keys", ml_key_text(k));
}

static void plain_key(ml_View *v, const ml_Key *k)
{
    ml_Request r = ml_keymap_find(v->ss->keymap, v->in, k);
    int count = v->digit;

    v->digit = 0;
    if (r == ML_REQ_NONE) {
        say_no_key(v, k);
        return;
    }
    if (r == ML_REQ_PANE) {
        ml_PaneId from = count ? v->digit_from : v->in;

        v->digit_from = from;
        v->digit = number_of(k);
        ml_view_request(v, r, v->digit);
        return;
    }
    if (r == ML_REQ_TOGGLE_PANE)
        count = number_of(k);
    else if (r == ML_REQ_FUSE && count > 1) { /* 3f: the digit was a count after all */
        v->in = v->digit_from;
        ml_view_place(v);
    } else
        count = 1;
    ml_view_request(v, r, count);
}

static void take_key(ml_View *v, const ml_Key *k)
{
    bool leaving = v->leaving;

    v->leaving = false;
    if (v->asking) {
        ml_view_search_key(v, k);
        return;
    }
    ml_text_clear(&v->message);
    v->message_is_error = false;
    if (v->paging && ml_view_page_key(v, k))
        return;
    if (ml_act_open(v)) {
        ml_act_key(v, k);
        if (!ml_act_open(v))
            v->typing = false;
        return;
    }
    v->leaving = leaving;
    plain_key(v, k);
    if (leaving && !v->quit)
        v->leaving = false;
}

void ml_view_key(ml_View *v, const ml_Key *k)
{
    take_key(v, k);
    if (v->in == ML_PANE_JOBS) /* who goes there has seen what ended */
        ml_jobs_seen(v->ss);
}

bool ml_view_idle(ml_View *v, int ms)
{
    bool asked = ml_act_idle(v, ms), panes = ml_panes_idle(v, ms);

    return asked || panes;
}

bool ml_view_rests(ml_View *v)
{
    return !ml_act_open(v) && ml_pane_touches_wait(v);
}

bool ml_view_rest(ml_View *v)
{
    return ml_view_rests(v) && ml_pane_touches_rest(v);
}

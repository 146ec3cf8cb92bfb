/*
 * draw_last - the last three rows: the line of Lua, the message or the prompt, the keys. A
 * message that is longer than a row goes on over the rows of the panes, and one that comes
 * while something is asked stands above it, so that both are seen. Source: interaction 10.
 */
#include "repl/view/pane/jobs.h"
#include "repl/view/view.h"

enum { MOST_ROWS = 4 }; /* of a message */

/* The rows that the message takes: none without one. */
static int message_rows(ml_View *v)
{
    int n = ml_grid_folded(&v->grid, ml_text_z(&v->message), v->grid.w);
    int most = v->grid.h - 6 < MOST_ROWS ? v->grid.h - 6 : MOST_ROWS;

    return v->message.n == 0 ? 0 : n < most ? n : most;
}

int ml_view_last_over(ml_View *v)
{
    int n = message_rows(v);

    return n > 1 ? n - 1 : 0;
}

static void draw_lua(ml_View *v, int y)
{
    ml_Rows *r = &v->line;

    if (v->lua.n == 0)
        return;
    bool lua = v->lua.p[0] != ':';

    ml_grid_fill(&v->grid, ml_view_row_rect(v, y), ML_ROLE_TEXT);
    int x = ml_grid_put(&v->grid, ml_view_row_rect(v, y), 0, y, lua ? "lua  " : "     ",
                        ML_ROLE_DIM);

    ml_rows_reset(r);
    ml_view_put_row(v, ml_view_row_rect(v, y), x, y, ml_rows_code(r, ml_text_z(&v->lua)), 0,
                    false);
}

/* The message, with row y as its last. */
static void draw_message(ml_View *v, int y)
{
    int n = message_rows(v);
    ml_Rect in = {0, y - n + 1, v->grid.w, n};

    if (n == 0)
        return;
    ml_grid_fill(&v->grid, in, ML_ROLE_TEXT);
    ml_grid_put_folded(&v->grid, in, ml_text_z(&v->message),
                       v->message_is_error ? ML_ROLE_ERROR : ML_ROLE_TEXT);
}

/* What is being searched for or asked; false: nothing is. */
static bool draw_asked(ml_View *v, int y)
{
    ml_Rect in = ml_view_row_rect(v, y);
    int cursor = -1;

    if (v->asking) {
        int x = ml_grid_put(&v->grid, in, 0, y, "/", ML_ROLE_STRONG);

        x += ml_grid_put(&v->grid, in, x, y, ml_text_z(&v->ask), ML_ROLE_TEXT);
        v->grid.cursor_x = x < v->grid.w ? x : v->grid.w - 1;
        v->grid.cursor_y = y;
        return true;
    }
    ml_rows_reset(&v->line);
    if (ml_act_open(v))
        ml_act_line(v, &v->line, &cursor);
    if (v->line.v.n == 0)
        return false;
    int left = cursor >= v->grid.w ? cursor - v->grid.w + 1 + v->grid.w / 4 : 0;

    ml_view_put_row(v, in, 0, y, &v->line.v.v[0], left, false);
    if (cursor >= 0) {
        v->grid.cursor_x = cursor - left;
        v->grid.cursor_y = y;
    }
    return true;
}

/* One key of the bottom line, when it fits. */
static bool add_hot(ml_View *v, int *x, ml_Request r, const char *key, const char *label)
{
    int y = v->grid.h - 1;
    ml_Rect in = ml_view_row_rect(v, y);
    int n = ml_grid_columns(&v->grid, key, strlen(key)) +
            ml_grid_columns(&v->grid, "·", strlen("·")) +
            ml_grid_columns(&v->grid, label, strlen(label));

    if (*x + n > v->grid.w || v->n_hot == ML_MAX_HOT)
        return false;
    v->hot[v->n_hot++] = (ml_Hot){*x, n, r, key};
    *x += ml_grid_put(&v->grid, in, *x, y, key, ML_ROLE_KEY);
    *x += ml_grid_put(&v->grid, in, *x, y, "·", ML_ROLE_DIM);
    *x += ml_grid_put(&v->grid, in, *x, y, label, ML_ROLE_TEXT) + 1;
    return true;
}

/* What the bottom line shows of a request. */
typedef struct HotKeys {
    ml_Request r[ML_N_REQUESTS + 4];
    size_t n;
    bool brief, tight; /* short labels; nothing stays but what stands at the end */
} HotKeys;

static const char *label_of(const ml_View *v, const HotKeys *h, ml_Request r)
{
    const char *brief = h->brief ? v->requests[r].brief : NULL;

    ml_JobInfo j;

    if (r == ML_REQ_COMMAND)
        return "open a program";
    if (r == ML_REQ_JOB_PAUSE && ml_pane_search(v, &j) && j.board->paused)
        return "go on";
    return brief ? brief : ml_key_info[r].label;
}

/* Its columns with the blank behind them; 0: no key asks for it. */
static int hot_width(const ml_View *v, const HotKeys *h, ml_Request r)
{
    const char *label = label_of(v, h, r);
    ml_Text key = {0};
    int n = 0;

    if (ml_keymap_first(v->ss->keymap, r, &key))
        n = ml_grid_columns(&v->grid, ml_text_z(&key), key.n) +
            ml_grid_columns(&v->grid, "·", strlen("·")) +
            ml_grid_columns(&v->grid, label, strlen(label)) + 1;
    ml_text_free(&key);
    return n;
}

static bool is_last(ml_Request r)
{
    return r == ML_REQ_ALL || r == ML_REQ_SEARCH || r == ML_REQ_COMMAND ||
           r == ML_REQ_UNDO || r == ML_REQ_HELP;
}

static bool is_kept(const ml_View *v, const HotKeys *h, ml_Request r)
{
    return is_last(r) || (v->requests[r].kept && !h->tight);
}

/* The columns of those that stay, or of all. */
static int hot_widths(const ml_View *v, const HotKeys *h, bool all)
{
    int n = 0;

    for (size_t k = 0; k < h->n; k++)
        n += all || is_kept(v, h, h->r[k]) ? hot_width(v, h, h->r[k]) : 0;
    return n;
}

/* What applies, most useful first; all, undo and help at the end. */
static void find_hot(ml_View *v, HotKeys *h)
{
    static const ml_Request OF_SEARCH[] = {ML_REQ_JOB_PAUSE,    ML_REQ_JOB_STOP,
                                           ML_REQ_JOB_ADOPT,    ML_REQ_JOB_DIFF,
                                           ML_REQ_JOB_FAILURES, ML_REQ_JOB_SCATTER};
    ml_Request can[ML_N_REQUESTS];
    ml_JobInfo j;
    bool search = v->in == ML_PANE_JOBS && ml_pane_search(v, &j), all = false;
    size_t n = v->ss->focus && !search ? ml_act_applicable(v, can, ML_COUNT(can)) : 0;

    for (size_t k = 0; search && k < ML_COUNT(OF_SEARCH); k++)
        h->r[h->n++] = OF_SEARCH[k];

    for (size_t k = 0; k < n; k++) {
        all = all || can[k] == ML_REQ_ALL;
        if (ml_key_info[can[k]].label && !is_last(can[k]))
            h->r[h->n++] = can[k];
    }
    h->r[h->n++] = all ? ML_REQ_ALL : ML_REQ_SEARCH;
    if (!v->ss->focus)
        h->r[h->n++] = ML_REQ_COMMAND;
    if (v->ss->n_done > 0)
        h->r[h->n++] = ML_REQ_UNDO;
    h->r[h->n++] = ML_REQ_HELP;
}

static void draw_requests(ml_View *v)
{
    enum { NARROW = 100 };
    HotKeys h = {.n = 0};
    int x = 0, room, w = v->grid.w + 1; /* no blank behind the last one */

    find_hot(v, &h);
    h.brief = v->grid.w < NARROW && hot_widths(v, &h, true) > w;
    h.tight = hot_widths(v, &h, false) > w * 2 / 3; /* the most useful ones show, too */
    room = w - hot_widths(v, &h, false);
    for (size_t k = 0; k < h.n; k++) {
        int n = hot_width(v, &h, h.r[k]);
        ml_Text key = {0};

        if (!is_kept(v, &h, h.r[k])) {
            room -= n;
            if (room < 0) /* nor what is less useful */
                continue;
        }
        if (ml_keymap_first(v->ss->keymap, h.r[k], &key) &&
            add_hot(v, &x, h.r[k], ml_text_z(&key), label_of(v, &h, h.r[k])))
            v->hot[v->n_hot - 1].key = NULL; /* the text goes away */
        ml_text_free(&key);
    }
}

/* What scrolls the page, where there is more of it, what closes it, and what others do. */
static void draw_page_keys(ml_View *v)
{
    ml_Rect in = ml_view_row_rect(v, v->hot_y);
    int x = 0;

    if ((int)v->page.v.n > ml_view_page_room(v)) {
        add_hot(v, &x, ML_REQ_NONE, "pgup", "back");
        add_hot(v, &x, ML_REQ_NONE, "pgdn", "on");
    }
    add_hot(v, &x, ML_REQ_NONE, "esc", "close");
    ml_grid_put_cut(&v->grid, in, x, v->hot_y,
                    v->grid.w < 60 ? "others work"
                                   : " other keys do what they do in the panes",
                    ML_ROLE_DIM);
}

static void draw_keys(ml_View *v)
{
    int x = 0;

    v->n_hot = 0;
    v->hot_y = v->grid.h - 1;
    if (v->paging) {
        draw_page_keys(v);
    } else if (v->asking || ml_act_open(v)) {
        add_hot(v, &x, ML_REQ_NONE, "enter", v->asking ? "search" : "apply");
        if (!v->asking && ml_act_proposes(v))
            add_hot(v, &x, ML_REQ_NONE, "tab", "propose");
        add_hot(v, &x, ML_REQ_NONE, "esc", "leave");
    } else {
        draw_requests(v);
    }
}

/* What ended in the background, until it has been seen: in the message row while that is empty
 * (whole), else in few words at the right edge of the row above. */
static void draw_unseen(ml_View *v, int y, bool whole)
{
    ml_Rect in = ml_view_row_rect(v, y);
    ml_Text t = {0};
    int x = 0;

    if (whole && ml_jobs_unseen(v->ss, false, &t))
        ml_text_add(&t, ", pane 7 shows it");
    if (ml_grid_columns(&v->grid, ml_text_z(&t), t.n) > in.w)
        ml_text_clear(&t);
    if (t.n == 0 && !ml_jobs_unseen(v->ss, true, &t))
        return;
    if (!whole) {
        x = in.w - ml_grid_columns(&v->grid, ml_text_z(&t), t.n) - 1;
        x = x < 0 ? 0 : x;
        ml_grid_fill(&v->grid, (ml_Rect){x, y, in.w - x, 1}, ML_ROLE_TEXT);
        x++;
    }
    ml_grid_put_cut(&v->grid, in, x, y, ml_text_z(&t), ML_ROLE_NOTE);
    ml_text_free(&t);
}

/* ---- all three */

/* In their place, while a line is at work. */
static void draw_busy(ml_View *v, int y)
{
    draw_lua(v, y - 1);
    ml_grid_put_cut(&v->grid, ml_view_row_rect(v, y), 0, y,
                    "this line is still at work; Ctrl-C stops it", ML_ROLE_DIM);
    v->n_hot = 0;
}

void ml_view_draw_last(ml_View *v)
{
    int y = v->grid.h - 2, over = 0;

    if (v->busy) {
        draw_busy(v, y);
        return;
    }
    bool asked = draw_asked(v, y), told = v->message.n > 0;

    if (asked && told)
        draw_message(v, y - 1); /* what was run stands in the line that is asked for */
    else if (asked)
        draw_lua(v, y - 1);
    else {
        over = ml_view_last_over(v);
        draw_lua(v, y - 1 - over);
        draw_message(v, y);
    }
    draw_unseen(v, asked || told ? y - 1 - over : y, !asked && !told);
    draw_keys(v);
}

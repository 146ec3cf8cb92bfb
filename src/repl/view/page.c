/*
 * page - text over the panes, to be read: help with all keys, what a typed command printed.
 * Source: interaction 10.
 */
#include "repl/out/wrap.h"
#include "repl/view/frame.h"
#include "repl/view/keymap.h"

int ml_view_page_room(const ml_View *v)
{
    int room = v->grid.h - 6;

    return room < 1 ? 1 : room;
}

void ml_view_page_close(ml_View *v)
{
    v->frame->paging = false;
    ml_rows_reset(&v->frame->page);
}

static void open_page(ml_View *v, const char *title)
{
    ml_Frame *f = v->frame;

    ml_rows_reset(&f->page);
    ml_text_clear(&f->page_title);
    ml_text_add(&f->page_title, title);
    f->paging = true;
    f->page_top = f->page_left = 0;
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

void ml_view_page(ml_View *v, const char *title, const char *text)
{
    open_page(v, title);
    while (*text) {
        size_t n = strcspn(text, "\n");

        ml_rows_begin(&v->frame->page);
        ml_rows_put(&v->frame->page, ML_ROLE_TEXT, "%.*s", (int)n, text);
        ml_Row *row = ml_rows_end(&v->frame->page);

        row->role = (uint8_t)role_of(row->text);
        text += n + (text[n] == '\n');
    }
}

/* ---- keys of the page */

static int last_top(const ml_View *v)
{
    int n = (int)v->frame->page.v.n - ml_view_page_room(v);

    return n > 0 ? n : 0;
}

/* Columns to go on to the right: none where every row ends in sight. */
static int sideways(const ml_View *v)
{
    const ml_Rows *r = &v->frame->page;

    for (size_t k = 0; k < r->v.n; k++)
        if (ml_grid_columns(&v->grid, r->v.v[k].text, strlen(r->v.v[k].text)) >
            v->frame->page_left + v->grid.w - 3)
            return 8;
    return 0;
}

void ml_view_page_key(ml_View *v, const ml_Key *k)
{
    ml_Frame *f = v->frame;
    ml_Request r = ml_keymap_find(v->ss, ML_PANE_NONE, k);
    int room = ml_view_page_room(v), top = f->page_top;

    switch ((int)r) {
    case ML_REQ_UP: top--; break;
    case ML_REQ_DOWN: top++; break;
    case ML_REQ_PAGE_UP: top -= room; break;
    case ML_REQ_PAGE_DOWN: top += room; break;
    case ML_REQ_HOME: top = 0; break;
    case ML_REQ_END: top = last_top(v); break;
    case ML_REQ_UNFOLD: f->page_left += sideways(v); break;
    case ML_REQ_FOLD: f->page_left -= f->page_left < 8 ? f->page_left : 8; break;
    case ML_REQ_CANCEL:
    case ML_REQ_LEAVE:
    case ML_REQ_OPEN:
    case ML_REQ_HELP: ml_view_page_close(v); return;
    default:
        if (!k->name && ml_streq(k->ch, " "))
            top += room;
        else
            ml_view_say(v, "Esc leaves this page");
        break;
    }
    top = top > last_top(v) ? last_top(v) : top;
    f->page_top = top < 0 ? 0 : top;
}

/* ---- help */

/* A sentence in as many rows as it takes. */
static void put_folded(ml_View *v, ml_Rows *r, const char *text, size_t indent)
{
    ml_Text t = {0};

    ml_wrap(&t, text, indent, (size_t)(v->grid.w > 24 ? v->grid.w - 4 : 20));
    for (const char *p = ml_text_z(&t); *p;) {
        size_t n = strcspn(p, "\n");

        ml_rows_add(r, ML_ROLE_TEXT, "%.*s", (int)n, p);
        p += n + (p[n] == '\n');
    }
    ml_text_free(&t);
}

/* The name of a request as bind_key takes it. */
static void put_name(ml_Rows *r, const char *name)
{
    char z[40];
    size_t n = 0;

    for (; *name && n + 1 < sizeof z; name++)
        z[n++] = *name == '_' ? '-' : (char)(*name - 'A' + 'a');
    z[n] = '\0';
    ml_rows_put(r, ML_ROLE_DIM, "  %s", z);
}

/* One request with its keys; on a narrow screen the help is folded below them. */
static void put_key(ml_View *v, ml_Rows *r, const char *keys, ml_Request q, bool whole)
{
    enum { KEYS = 14, NARROW = 60 };
    int n = ml_grid_columns(&v->grid, keys, strlen(keys));
    const ml_KeyInfo *info = &ml_key_info[q];
    bool narrow = v->grid.w < NARROW;

    ml_rows_begin(r);
    ml_rows_put(r, ML_ROLE_KEY, "  %s%*s", keys, n < KEYS && !narrow ? KEYS - n : 0, "");
    if (!narrow)
        ml_rows_put(r, ML_ROLE_TEXT, " %s", info->help);
    if (whole && info->pane != ML_PANE_NONE)
        ml_rows_put(r, ML_ROLE_DIM, " (pane %d)", (int)info->pane);
    if (whole)
        put_name(r, info->name);
    ml_rows_end(r);
    if (narrow)
        put_folded(v, r, info->help, 4);
}

/* What the selected thing is, and how to read more about it. */
static void say_selected(ml_View *v, ml_Rows *r)
{
    ml_Schedule *s = v->ss->focus;
    const ml_Stmt *st = s ? ml_index_node(ml_schedule_program(s).index, v->node) : NULL;
    ml_Request can[ML_N_REQUESTS];
    size_t n = st ? ml_act_applicable(v, can, ML_COUNT(can)) : 0;

    if (!st) {
        ml_rows_add(r, ML_ROLE_TEXT, "nothing is selected: %s",
                    s ? "the function has no loops" : "no program is open (: opens one)");
        return;
    }
    ml_rows_begin(r);
    ml_rows_put(r, st->kind == ML_STMT_FOR ? ML_ROLE_STRONG : ML_ROLE_BLOCK, "%s",
                ml_view_name(v, v->node));
    ml_rows_put(r, ML_ROLE_TEXT, "  %s is selected; what applies%s",
                st->kind == ML_STMT_FOR ? "this loop" : "this block",
                v->grid.w < 60 ? ":" : " to it:");
    ml_rows_end(r);
    for (size_t k = 0; k < n; k++) {
        ml_Text keys = {0};

        if (ml_keymap_first(v->ss, can[k], &keys)) {
            put_key(v, r, ml_text_z(&keys), can[k], false);
        }
        ml_text_free(&keys);
    }
    if (n == 0)
        ml_rows_add(r, ML_ROLE_DIM, "  nothing that is known yet; x tries everything");
}

void ml_view_help(ml_View *v)
{
    ml_Rows *r = &v->frame->page;

    open_page(v, "Help");
    say_selected(v, r);
    for (int k = 0; k < ML_N_REQUESTS; k++) {
        const char *head = ml_key_head((ml_Request)k);
        ml_Text keys = {0};

        if (head) {
            ml_rows_add(r, ML_ROLE_TEXT, "%s", "");
            ml_rows_add(r, ML_ROLE_STRONG, "%s", head);
        }
        ml_keymap_keys(v->ss, (ml_Request)k, &keys);
        if ((ml_Request)k == ML_REQ_PANE || (ml_Request)k == ML_REQ_TOGGLE_PANE) {
            bool usual = ml_streq(ml_text_z(&keys), ml_key_info[k].keys);

            if (usual) {
                ml_text_clear(&keys);
                ml_text_add(&keys, k == ML_REQ_PANE ? "1 … 9" : "M-1 … M-9");
            }
        }
        put_key(v, r, ml_text_z(&keys), (ml_Request)k, true);
        ml_text_free(&keys);
    }
    ml_rows_add(r, ML_ROLE_TEXT, "%s", "");
    ml_rows_add(r, ML_ROLE_STRONG, "mouse");
    put_folded(v, r,
               "click selects, on a selected name marks it; double click folds; the wheel "
               "scrolls; a loop is moved by dragging it onto another; borders can be "
               "dragged; keys of the bottom line can be clicked",
               2);
    ml_rows_add(r, ML_ROLE_TEXT, "%s", "");
    put_folded(v, r,
               "M- is Alt, C- Ctrl, S- Shift; bind_key(\"loops\", \"s\", \"split\") in "
               "the init file binds keys",
               0);
}

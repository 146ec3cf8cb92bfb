/*
 * page - a page over the panes: its keys, and help with all keys. Source: interaction 10.
 */
#include "repl/out/wrap.h"
#include "repl/view/view.h"

int ml_view_page_room(const ml_View *v)
{
    int room = v->grid.h - 6;

    return room < 1 ? 1 : room;
}

void ml_view_page_scroll(ml_View *v, int top)
{
    int last = (int)v->page.v.n - ml_view_page_room(v);

    top = top > last ? last : top;
    v->page_top = top < 0 ? 0 : top;
}

/* ---- keys of the page */

static void close_page(ml_View *v)
{
    v->paging = false;
    ml_rows_reset(&v->page);
}

bool ml_view_page_key(ml_View *v, const ml_Key *k)
{
    int room = ml_view_page_room(v), top = v->page_top;
    ml_Request r = ml_keymap_find(v->ss->keymap, v->in, k);

    switch ((int)r) {
    case ML_REQ_UP: top--; break;
    case ML_REQ_DOWN: top++; break;
    case ML_REQ_PAGE_UP: top -= room; break;
    case ML_REQ_PAGE_DOWN: top += room; break;
    case ML_REQ_HOME: top = 0; break;
    case ML_REQ_END: top = (int)v->page.v.n; break;
    case ML_REQ_UNFOLD: /* where a row goes on out of sight */
        if (ml_rows_columns(&v->grid, &v->page) > v->page_left + v->grid.w - 3)
            v->page_left += 8;
        break;
    case ML_REQ_FOLD: v->page_left -= v->page_left < 8 ? v->page_left : 8; break;
    case ML_REQ_CANCEL:
    case ML_REQ_LEAVE: /* as in a pager: who reads wants to end reading */
    case ML_REQ_QUIT:
    case ML_REQ_OPEN: close_page(v); return true;
    case ML_REQ_NONE:
        if (ml_key_is(k, " "))
            top += room;
        else
            ml_view_say(v, "Esc closes this page");
        break;
    default: /* what means something in the panes means it here */
        close_page(v);
        return r == ML_REQ_HELP && v->page_is_help;
    }
    ml_view_page_scroll(v, top);
    return true;
}

/* ---- help */

/* A sentence in as many rows as it takes. */
static void put_folded(ml_View *v, ml_Rows *r, const char *text, size_t indent)
{
    ml_Text t = {0};

    ml_wrap(&t, text, indent, (size_t)(v->grid.w > 24 ? v->grid.w - 4 : 20));
    ml_rows_add_lines(r, ML_ROLE_TEXT, ml_text_z(&t));
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
    const ml_Stmt *st = ml_view_stmt(v, v->node);
    ml_Request can[ML_N_REQUESTS];
    size_t n = st ? ml_act_applicable(v, can, ML_COUNT(can)) : 0;

    if (!st) {
        ml_rows_add(r, ML_ROLE_TEXT, "nothing is selected: %s",
                    v->ss->focus ? "the function has no loops"
                                 : "no program is open (: opens one)");
        return;
    }
    ml_rows_put(r, st->kind == ML_STMT_FOR ? ML_ROLE_STRONG : ML_ROLE_BLOCK, "%s",
                ml_view_name(v, v->node));
    ml_rows_put(r, ML_ROLE_TEXT, "  %s is selected; what applies%s",
                st->kind == ML_STMT_FOR ? "this loop" : "this block",
                v->grid.w < 60 ? ":" : " to it:");
    ml_rows_end(r);
    for (size_t k = 0; k < n; k++) {
        ml_Text keys = {0};

        if (ml_keymap_first(v->ss->keymap, can[k], &keys))
            put_key(v, r, ml_text_z(&keys), can[k], false);
        ml_text_free(&keys);
    }
    if (n == 0)
        ml_rows_add(r, ML_ROLE_DIM, "  nothing that is known yet; x tries everything");
}

static const struct { /* in the order of keys.def */
    ml_Request r;
    const char *head; /* or NULL */
} ORDER[] = {
#define ML_KEY_HEAD(text) {ML_REQ_NONE, text},
#define ML_KEY(id, ...)   {ML_REQ_##id, NULL},
#include "repl/view/keys/keys.def"
#undef ML_KEY
#undef ML_KEY_HEAD
};

static void put_head(ml_Rows *r, const char *head)
{
    ml_rows_add(r, ML_ROLE_TEXT, "%s", "");
    if (head)
        ml_rows_add(r, ML_ROLE_STRONG, "%s", head);
}

void ml_do_help(ml_View *v)
{
    ml_Rows *r = ml_view_page_open(v, "Help");

    v->page_is_help = true;
    say_selected(v, r);
    for (size_t k = 0; k < ML_COUNT(ORDER); k++) {
        ml_Request q = ORDER[k].r;
        ml_Text keys = {0};

        if (ORDER[k].head) {
            put_head(r, ORDER[k].head);
            continue;
        }
        ml_keymap_keys(v->ss->keymap, q, &keys);
        bool many = (q == ML_REQ_PANE || q == ML_REQ_TOGGLE_PANE) &&
                    ml_streq(ml_text_z(&keys), ml_key_info[q].keys);

        put_key(v, r,
                !many              ? ml_text_z(&keys)
                : q == ML_REQ_PANE ? "1 … 9"
                                   : "M-1 … M-9",
                q, true);
        ml_text_free(&keys);
    }
    put_head(r, "mouse");
    put_folded(v, r,
               "click selects, on a selected name marks it; double click folds; the wheel "
               "scrolls; a loop is moved by dragging it onto another; borders can be "
               "dragged; keys of the bottom line can be clicked",
               2);
    put_head(r, NULL);
    put_folded(v, r,
               "M- is Alt, C- Ctrl, S- Shift; bind_key(\"loops\", \"s\", \"split\") in "
               "the init file binds keys",
               0);
}

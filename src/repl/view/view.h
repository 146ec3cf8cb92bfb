/*
 * view - the visualiser whole: a session's state in panes, driven by keys, clicks and sizes.
 * It knows of no terminal; it is told what happens and draws into a grid.
 * Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_VIEW_H
#define ML_REPL_VIEW_VIEW_H

#include "repl/screen/decode.h"
#include "repl/view/act/act.h"
#include "repl/view/pane/panes.h"
#include "repl/view/state/view.h"

/* ---- view.c */
void ml_view_init(ml_View *v, ml_Session *ss, int w, int h, bool ascii);
void ml_view_free(ml_View *v);
/* A key, through whatever is open (a page, a prompt line, a menu) to keys.def. */
void ml_view_key(ml_View *v, const ml_Key *k);
/* Does some waiting work (applicability, previews, rows that are not fresh) for at most
 * `ms`; true: there is more. */
bool ml_view_idle(ml_View *v, int ms);
/* What takes tenths of a second is done when the keys have rested: whether there is some,
 * and a piece of it (true: there is more). A key ends it: pressed. */
bool ml_view_rests(ml_View *v);
bool ml_view_rest(ml_View *v);

/* ---- request.c */
const ml_RequestRow *ml_view_requests(void); /* by request */
/* Does what a request asks, `count` times where that means something. */
void ml_view_request(ml_View *v, ml_Request r, int count);
void ml_view_follow_marks(ml_View *v, const char *name); /* marks a variable, or no more */

/* ---- mouse.c */
void ml_view_mouse(ml_View *v, ml_EventKind kind, int x, int y);
void ml_view_double(ml_View *v, int x, int y); /* a click behind a click */

/* ---- draw.c, draw_title.c, draw_last.c */
ml_Rect ml_view_row_rect(const ml_View *v, int y); /* of the screen */
/* Draws everything into v->grid. */
void ml_view_draw(ml_View *v);
/* A row from column x on, scrolled by `left`; … where it is cut. `found`: what is searched
 * for is marked. */
void ml_view_put_row(ml_View *v, ml_Rect in, int x, int y, const ml_Row *row, int left,
                     bool found);
void ml_view_draw_title(ml_View *v);
void ml_view_draw_last(ml_View *v);
/* Rows of the panes that the message covers. */
int ml_view_last_over(ml_View *v);

/* ---- search.c */
void ml_view_search_key(ml_View *v, const ml_Key *k);
/* The next match in a row's text at or behind byte `from`; false: none. */
bool ml_view_match(const ml_View *v, const char *text, size_t from, size_t *at, size_t *n);

/* ---- page.c */
/* Scrolls or closes the page. false: the key means something in the panes; the page is closed,
 * and the key is still to be done. */
bool ml_view_page_key(ml_View *v, const ml_Key *k);
void ml_view_page_scroll(ml_View *v,
                         int top); /* this row first, as far as there are some */
int ml_view_page_room(const ml_View *v);

/* What is known of a record of the search that pane 7 shows, as a page (tuning.c). */
void ml_view_inspect(ml_View *v, int64_t record);

#endif

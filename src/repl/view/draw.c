/*
 * draw - the view as cells: title, panes with their rows, what is open over them, the line
 * of Lua, the message or prompt, the keys. Only what is in sight is looked at.
 * Source: interaction 10.
 */
#include "repl/view/frame.h"

#include <stdlib.h>

#include "codegen/target.h"
#include "repl/bind/host.h"
#include "repl/roofline.h"
#include "repl/view/keymap.h"

static ml_Rect row_rect(const ml_View *v, int y)
{
    return (ml_Rect){0, y, v->grid.w, 1};
}

/* ---- the title */

/* A speed as versions keep it, "58.4 GFLOP/s", in FLOP/s; 0: none. */
static double speed_of(const char *z)
{
    static const struct {
        char prefix;
        double times;
    } UNITS[] = {{'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}, {'P', 1e15}};
    char *end;
    double x = z ? strtod(z, &end) : 0;

    if (!z || end == z)
        return 0;
    while (*end == ' ')
        end++;
    for (size_t k = 0; k < ML_COUNT(UNITS); k++)
        if (*end == UNITS[k].prefix)
            return x * UNITS[k].times;
    return x;
}

enum { SPARKS = 16 };

/* One bar for each timed version on the way from the start to the current one. */
static void add_sparks(ml_Schedule *s, ml_Text *out)
{
    static const char *const BARS[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double speed[SPARKS], most = 0;
    int n = 0;
    ml_Step step;

    for (int at = ml_schedule_version(s); at >= 0 && n < SPARKS;) {
        if (!ml_version_step(s, at, &step))
            break;
        double x = speed_of(step.speed);

        if (x > 0)
            speed[n++] = x;
        most = x > most ? x : most;
        at = step.parent;
    }
    if (n < 2)
        return;
    ml_text_add(out, "  ");
    while (n-- > 0) {
        int k = (int)(speed[n] / most * 7.999);

        ml_text_add(out, BARS[k < 0 ? 0 : k > 7 ? 7 : k]);
    }
}

/* Of the peak that was measured before, for the start's type: nothing is measured here, and
 * it is worked out once for each timing. */
static double share_of_peak(ml_View *v, ml_Schedule *s, const char *speed)
{
    ml_Frame *f = v->frame;
    ml_Engine *e = ml_host_engine(v->ss->host);
    ml_TimingOpts o = {0};
    ml_Roofline line;

    ml_Text of = {0};

    ml_text_fmt(&of, "%s %s", ml_schedule_name(s), speed);
    bool same = ml_streq(ml_text_z(&of), ml_text_z(&f->share_of));

    ml_text_clear(&f->share_of);
    ml_text_add(&f->share_of, ml_text_z(&of));
    ml_text_free(&of);
    if (same)
        return f->share;
    f->share = 0;
    if (!ml_schedule_func(s) || speed_of(speed) <= 0)
        return 0;
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    const ml_Machine *m = ml_machine_known(cx, e);

    if (m && m->full && ml_roofline_roofs(cx, e, s, ml_schedule_func_pos(s), &o, &line) &&
        line.peak > 0)
        f->share = speed_of(speed) / line.peak;
    ml_ctx_unref(cx);
    return f->share;
}

static void draw_title(ml_View *v)
{
    ml_Schedule *s = v->ss->focus;
    ml_Rect in = row_rect(v, 0);
    ml_Text left = {0}, right = {0};
    const char *marks;
    ml_Step step;

    ml_grid_fill(&v->grid, in, ML_ROLE_TITLE);
    if (s) {
        int version = ml_schedule_version(s);

        ml_text_fmt(&left, " %s", ml_schedule_name(s));
        if (ml_schedule_branch_name(s))
            ml_text_fmt(&left, ":%s", ml_schedule_branch_name(s));
        ml_text_fmt(&left, " v%d", version);
        marks = ml_schedule_marks_of(s, version);
        if (marks)
            ml_text_fmt(&left, " «%s»", marks);
        if (ml_version_step(s, version, &step) && step.speed) {
            double share = share_of_peak(v, s, step.speed);

            ml_text_add(&right, step.speed);
            if (share > 0)
                ml_text_fmt(&right, "  %.*f %% of peak", share < 0.0995, 100 * share);
        }
        add_sparks(s, &right);
    } else {
        ml_text_add(&left, " moonloop");
    }
    int used = ml_grid_put_cut(&v->grid, in, 0, 0, ml_text_z(&left), ML_ROLE_TITLE);
    int wide = ml_grid_columns(&v->grid, ml_text_z(&right), right.n);
    int at = v->grid.w - wide - 1;

    if (right.n && at <= used + 1) { /* the speed alone, where there is no room for all */
        size_t n = strcspn(ml_text_z(&right), "/");

        n += strcspn(right.p + n, " ");
        if (strncmp(right.p + n, " ±", strlen(" ±")) == 0) /* noisy: ` ±34 %` */
            n += strcspn(right.p + n, "%") + 1;
        right.p[right.n = n] = '\0';
        at = v->grid.w - ml_grid_columns(&v->grid, right.p, n) - 1;
    }
    if (right.n && at > used + 1)
        ml_grid_put(&v->grid, in, at, 0, ml_text_z(&right), ML_ROLE_STRONG);
    else
        at = v->grid.w;
    ml_text_clear(&left);
    const char *target = ml_setting_word(&v->ss->set, ML_SET_target);
    const char *threads = ml_setting_word(&v->ss->set, ML_SET_threads);

    if (*target)
        ml_text_add(&left, target);
    else {
        ml_Target host = ml_target_host();
        long n = ml_setting_count(threads, 1 << 16);

        ml_text_fmt(&left, "llvm, %ld thread%s", n > 0 ? n : (long)ml_threads(&host),
                    (n > 0 ? n : (long)ml_threads(&host)) == 1 ? "" : "s");
    }
    if (used + 3 + (int)left.n < at - 1)
        ml_grid_put(&v->grid, in, used + 3, 0, ml_text_z(&left), ML_ROLE_DIM);
    ml_text_free(&left);
    ml_text_free(&right);
}

/* ---- rows */

/* A piece of a row's text in one role, with what the search found in it. */
static int put_piece(ml_View *v, ml_Rect in, int x, int y, const char *row, size_t from,
                     size_t to, ml_CellRole role, bool found)
{
    size_t at, n;
    int begin = x;

    while (found && from < to && ml_view_match(v, row, from, &at, &n) && at < to) {
        size_t end = at + n < to ? at + n : to;

        x += ml_grid_put_n(&v->grid, in, x, y, row + from, at - from, role);
        x += ml_grid_put_n(&v->grid, in, x, y, row + at, end - at, ML_ROLE_MATCH);
        from = end;
    }
    return x + ml_grid_put_n(&v->grid, in, x, y, row + from, to - from, role) - begin;
}

/* Bytes [from, to) of the row, by its spans. Returns the columns. */
static int put_spans(ml_View *v, ml_Rect in, int x, int y, const ml_Row *row, size_t from,
                     size_t to, bool found)
{
    ml_CellRole usual = row->dim ? ML_ROLE_DIM : (ml_CellRole)row->role;
    int begin = x;

    for (uint32_t k = 0; k < row->n_spans && from < to; k++) {
        const ml_RoleSpan *s = &row->spans[k];
        size_t a = s->from > from ? s->from : from, b = s->to < to ? s->to : to;

        if (s->to <= from)
            continue;
        if (a >= to)
            break;
        x += put_piece(v, in, x, y, row->text, from, a, usual, found);
        x += put_piece(v, in, x, y, row->text, a, b,
                       row->dim ? ML_ROLE_DIM : (ml_CellRole)s->role, found);
        from = b;
    }
    return x + put_piece(v, in, x, y, row->text, from, to, usual, found) - begin;
}

/* A row from column x on, scrolled by `left`; … where it is cut. */
static void put_row(ml_View *v, ml_Rect in, int x, int y, const ml_Row *row, int left,
                    bool found)
{
    size_t n = strlen(row->text), fixed = row->gutter < n ? row->gutter : n;
    int wide = put_spans(v, in, x, y, row, 0, fixed, false);
    ml_Rect rest = {x + wide, in.y, in.x + in.w - x - wide, in.h};
    int used = put_spans(v, rest, x + wide - left, y, row, fixed, n, found);

    if (x + wide - left + used > in.x + in.w && rest.w > 0)
        ml_grid_put_cut(&v->grid, (ml_Rect){in.x + in.w - 1, y, 1, 1}, in.x + in.w - 1, y,
                        "  ", ML_ROLE_DIM);
}

static void draw_choice(ml_View *v, const ml_Row *row, ml_Rect line)
{
    int place = 0;
    ml_Choice c = row->node ? ml_act_choice(v, row->node, &place) : ML_CHOICE_NONE;
    char z[16] = "";

    switch (c) {
    case ML_CHOICE_NONE: return;
    case ML_CHOICE_LEGAL: memcpy(z, "●", sizeof "●"); break;
    case ML_CHOICE_ILLEGAL: ml_grid_role(&v->grid, line, ML_ROLE_DIM); return;
    case ML_CHOICE_TAKEN: {
        char digit = (char)('0' + place % 10);

        z[0] = place > 9 ? '+' : digit;
        break;
    }
    }
    ml_grid_role(&v->grid, line, ML_ROLE_OK);
    ml_grid_put(&v->grid, line, line.x, line.y, z, ML_ROLE_OK);
}

static void draw_rows(ml_View *v, ml_PaneId id)
{
    ml_PaneState *p = &v->pane[id];
    const ml_Rows *r = ml_view_rows(v, id);
    ml_Rows preview = {0};
    bool shown = false, in = id == v->in;
    int top = p->top;

    if (id == ML_PANE_PROGRAM) { /* what it would be, where something is being tried */
        ml_rows_reset(&preview);
        shown = ml_act_preview(v, &preview);
        if (shown) {
            int first = -1;

            r = &preview;
            for (size_t k = 0; k < r->v.n && first < 0; k++)
                if (r->v.v[k].changed)
                    first = (int)k;
            if (first >= 0 && (first < top || first >= top + p->at.h))
                top = first - p->at.h / 3;
            if (top > (int)r->v.n - p->at.h)
                top = (int)r->v.n - p->at.h;
            top = top < 0 ? 0 : top;
        }
    }
    for (int y = 0; y < p->at.h && top + y < (int)r->v.n; y++) {
        const ml_Row *row = &r->v.v[top + y];
        ml_Rect line = {p->at.x, p->at.y + y, p->at.w, 1};
        bool cursor = !shown && top + y == p->cursor, linked = ml_view_linked(v, row);

        put_row(v, line, line.x + 1, line.y, row, p->left, in && v->search);
        if (row->changed)
            ml_grid_put(&v->grid, line, line.x, line.y, "▌", ML_ROLE_CHANGED);
        if (id == ML_PANE_LOOPS)
            draw_choice(v, row, line);
        if (id == ML_PANE_PROGRAM && linked && !shown) {
            ml_grid_attr(&v->grid, line, ML_ATTR_ON_LINKED);
            if (!row->changed)
                ml_grid_put(&v->grid, line, line.x, line.y, "▏", ML_ROLE_DIM);
        }
        if (cursor && in) {
            ml_grid_attr(&v->grid, line, ML_ATTR_ON_CURSOR);
            ml_grid_put(&v->grid, line, line.x + line.w - 1, line.y, "◀", ML_ROLE_STRONG);
            ml_grid_attr(&v->grid, (ml_Rect){line.x + line.w - 1, line.y, 1, 1},
                         ML_ATTR_ON_CURSOR);
        } else if (linked && id == ML_PANE_LOOPS && row->node == v->node) {
            ml_grid_attr(&v->grid, line, ML_ATTR_ON_LINKED);
            ml_grid_put(&v->grid, line, line.x + line.w - 1, line.y, "◀", ML_ROLE_STRONG);
        }
    }
    ml_rows_free(&preview);
}

static ml_CellRole border_of(const ml_View *v, ml_PaneId id)
{
    return id == v->in ? ML_ROLE_BORDER_IN : ML_ROLE_BORDER;
}

/* The title in the border, and how far the rows are scrolled. */
static void put_title(ml_View *v, ml_Rect b, const char *title, ml_CellRole role, int last,
                      int n)
{
    ml_CellRole as = role == ML_ROLE_BORDER_IN ? ML_ROLE_TITLE : ML_ROLE_STRONG;
    ml_Rect in = {b.x + 2, b.y, b.w - 4, 1};
    ml_Text t = {0};
    int wide;

    if (b.w < 8)
        return;
    ml_text_fmt(&t, " %s ", title);
    wide = ml_grid_put_cut(&v->grid, in, in.x, in.y, ml_text_z(&t), as);
    ml_text_clear(&t);
    ml_text_fmt(&t, " %d/%d ", last, n);
    if (last < n && wide + (int)t.n + 2 < in.w)
        ml_grid_put(&v->grid, in, in.x + in.w - (int)t.n, in.y, ml_text_z(&t), ML_ROLE_DIM);
    ml_text_free(&t);
}

static void draw_pane(ml_View *v, ml_PaneId id)
{
    const ml_PaneKind *kind = &ml_panes[id];
    ml_Rect b = v->frame->places.box[id];
    ml_Text title = {0}, more = {0};
    int n, last;

    ml_view_rows(v, id);
    n = (int)v->pane[id].rows.v.n;
    last = v->pane[id].top + v->pane[id].at.h;
    ml_text_fmt(&title, "%d %s", (int)id, kind->name);
    if (kind->title) {
        kind->title(v, &more);
        if (more.n)
            ml_text_fmt(&title, " %s", ml_text_z(&more));
    }
    if (id == v->in && v->frame->zoomed)
        ml_text_add(&title, " (z)");
    put_title(v, b, ml_text_z(&title), border_of(v, id), last > n ? n : last, n);
    ml_text_free(&title);
    ml_text_free(&more);
    draw_rows(v, id);
}

static void draw_panes(ml_View *v)
{
    const ml_Rect *box = v->frame->places.box;

    for (int id = 1; id < ML_N_PANES; id++)
        if (box[id].w > 0 && id != (int)v->in)
            ml_grid_box(&v->grid, box[id], NULL, ML_ROLE_BORDER);
    if (box[v->in].w > 0) /* last: it is its border that shows */
        ml_grid_box(&v->grid, box[v->in], NULL, ML_ROLE_BORDER_IN);
    for (int id = 1; id < ML_N_PANES; id++)
        if (box[id].w > 0)
            draw_pane(v, (ml_PaneId)id);
}

/* ---- what lies over the panes */

/* A box of rows at the bottom of the panes, `at` of them marked. */
static void draw_menu(ml_View *v)
{
    ml_Rows r = {0};
    int at = -1, widest = 20;
    int room =
        v->grid.h > 20 ? v->grid.h / 2 : v->grid.h - 6; /* the preview stays in sight */

    ml_rows_reset(&r);
    ml_act_menu(v, &r, &at);
    int n = (int)r.v.n;

    for (int k = 0; k < n; k++) {
        int w = ml_grid_columns(&v->grid, r.v.v[k].text, strlen(r.v.v[k].text)) + 2;

        widest = w > widest ? w : widest;
    }
    if (n > 0 && room > 0) {
        int w = widest + 2 > v->grid.w ? v->grid.w : widest + 2;
        int h = n < room ? n : room, top = 0;

        if (at >= h)
            top = at - h + 1;
        ml_Rect box = {0, v->grid.h - 3 - h - 2, w, h + 2};

        if (box.y < 1)
            box.y = 1;
        ml_grid_fill(&v->grid, box, ML_ROLE_TEXT);
        ml_grid_box(&v->grid, box, NULL, ML_ROLE_BORDER_IN);
        for (int k = 0; k < h; k++) {
            ml_Rect line = {box.x + 1, box.y + 1 + k, w - 2, 1};

            put_row(v, line, line.x + 1, line.y, &r.v.v[top + k], 0, false);
            if (top + k == at)
                ml_grid_attr(&v->grid, line, ML_ATTR_ON_CURSOR);
        }
    }
    ml_rows_free(&r);
}

static void draw_page(ml_View *v)
{
    ml_Frame *f = v->frame;
    ml_Rect box = {0, 1, v->grid.w, v->grid.h - 4};
    int room = ml_view_page_room(v), n = (int)f->page.v.n;

    if (f->page_top > n - room)
        f->page_top = n > room ? n - room : 0;
    ml_grid_fill(&v->grid, box, ML_ROLE_TEXT);
    ml_grid_box(&v->grid, box, NULL, ML_ROLE_BORDER_IN);
    put_title(v, box, ml_text_z(&f->page_title), ML_ROLE_BORDER_IN,
              f->page_top + room > n ? n : f->page_top + room, n);
    for (int k = 0; k < room && f->page_top + k < n; k++) {
        ml_Rect line = {1, box.y + 1 + k, box.w - 2, 1};

        put_row(v, line, 2, line.y, &f->page.v.v[f->page_top + k], f->page_left, false);
    }
}

/* ---- the last three rows */

static void draw_lua(ml_View *v)
{
    int y = v->grid.h - 3;
    ml_Rows *r = &v->frame->line;

    if (v->lua.n == 0)
        return;
    bool lua = v->lua.p[0] != ':';
    int x =
        ml_grid_put(&v->grid, row_rect(v, y), 0, y, lua ? "lua  " : "     ", ML_ROLE_DIM);

    ml_rows_reset(r);
    put_row(v, row_rect(v, y), x, y, ml_rows_code(r, ml_text_z(&v->lua)), 0, false);
}

static void draw_message(ml_View *v)
{
    ml_Frame *f = v->frame;
    int y = v->grid.h - 2, cursor = -1;
    ml_Rect in = row_rect(v, y);

    if (f->asking) {
        int x = ml_grid_put(&v->grid, in, 0, y, "/", ML_ROLE_STRONG);

        x += ml_grid_put(&v->grid, in, x, y, ml_text_z(&f->ask), ML_ROLE_TEXT);
        v->grid.cursor_x = x < v->grid.w ? x : v->grid.w - 1;
        v->grid.cursor_y = y;
        return;
    }
    ml_rows_reset(&f->line);
    if (ml_act_open(v))
        ml_act_line(v, &f->line, &cursor);
    if (f->line.v.n > 0) {
        int left = cursor >= v->grid.w ? cursor - v->grid.w + 1 + v->grid.w / 4 : 0;

        put_row(v, in, 0, y, &f->line.v.v[0], left, false);
        if (cursor >= 0) {
            v->grid.cursor_x = cursor - left;
            v->grid.cursor_y = y;
        }
        if (v->message.n == 0)
            return;
        ml_grid_fill(&v->grid, in, ML_ROLE_TEXT);
    }
    if (v->message.n)
        ml_grid_put_cut(&v->grid, in, 0, y, ml_text_z(&v->message),
                        f->message_is_error ? ML_ROLE_ERROR : ML_ROLE_TEXT);
}

/* One key of the bottom line, when it fits. */
static bool add_hot(ml_View *v, int *x, ml_Request r, const char *key, const char *label)
{
    ml_Frame *f = v->frame;
    int y = v->grid.h - 1;
    ml_Rect in = row_rect(v, y);
    int n = ml_grid_columns(&v->grid, key, strlen(key)) +
            ml_grid_columns(&v->grid, "·", strlen("·")) +
            ml_grid_columns(&v->grid, label, strlen(label));

    if (*x + n > v->grid.w || f->n_hot == ML_MAX_HOT)
        return false;
    f->hot[f->n_hot++] = (ml_Hot){*x, n, r, key};
    *x += ml_grid_put(&v->grid, in, *x, y, key, ML_ROLE_KEY);
    *x += ml_grid_put(&v->grid, in, *x, y, "·", ML_ROLE_DIM);
    *x += ml_grid_put(&v->grid, in, *x, y, label, ML_ROLE_TEXT) + 1;
    return true;
}

static bool add_request(ml_View *v, int *x, ml_Request r)
{
    ml_Text key = {0};
    bool ok = ml_key_info[r].label && ml_keymap_first(v->ss, r, &key) &&
              add_hot(v, x, r, ml_text_z(&key), ml_key_info[r].label);

    if (v->frame->n_hot > 0)
        v->frame->hot[v->frame->n_hot - 1].key = NULL; /* the text goes away */
    ml_text_free(&key);
    return ok;
}

static void draw_keys(ml_View *v)
{
    ml_Frame *f = v->frame;
    ml_Request can[ML_N_REQUESTS];
    int x = 0;

    f->n_hot = 0;
    f->hot_y = v->grid.h - 1;
    if (f->paging || f->asking || ml_act_open(v)) {
        if (!f->paging) {
            add_hot(v, &x, ML_REQ_NONE, "enter", f->asking ? "search" : "apply");
            if (!f->asking && ml_act_proposes(v))
                add_hot(v, &x, ML_REQ_NONE, "tab", "propose");
        } else {
            add_hot(v, &x, ML_REQ_NONE, "pgup", "back");
            add_hot(v, &x, ML_REQ_NONE, "pgdn", "on");
        }
        add_hot(v, &x, ML_REQ_NONE, "esc", "leave");
        return;
    }
    size_t n = v->ss->focus ? ml_act_applicable(v, can, ML_COUNT(can)) : 0;
    /* all, undo and help keep their places at the end */
    int keep = 8 + (v->ss->n_done > 0 ? 7 : 0) + (n > 0 ? 6 : 0), w = v->grid.w;

    for (size_t k = 0; k < n; k++) {
        const char *label = ml_key_info[can[k]].label;

        if (!label || can[k] == ML_REQ_UNDO || can[k] == ML_REQ_HELP ||
            can[k] == ML_REQ_ALL)
            continue;
        if (x + (int)strlen(label) + 3 + keep > w)
            break;
        add_request(v, &x, can[k]);
    }
    add_request(v, &x, n > 0 ? ML_REQ_ALL : ML_REQ_SEARCH);
    if (!v->ss->focus) {
        ml_Text key = {0};

        if (ml_keymap_first(v->ss, ML_REQ_COMMAND, &key) &&
            add_hot(v, &x, ML_REQ_COMMAND, ml_text_z(&key), "open a program"))
            f->hot[f->n_hot - 1].key = NULL;
        ml_text_free(&key);
    }
    if (v->ss->n_done > 0)
        add_request(v, &x, ML_REQ_UNDO);
    add_request(v, &x, ML_REQ_HELP);
}

/* ---- all of it */

void ml_view_draw(ml_View *v)
{
    ml_Grid *g = &v->grid;

    ml_grid_clear(g);
    v->frame->n_hot = 0;
    if (v->frame->size == ML_SIZE_NONE) {
        ml_Text t = {0};

        ml_text_fmt(&t, "%dx%d is too small: 40x10", g->w, g->h);
        ml_grid_put_cut(g, row_rect(v, 0), 0, 0, ml_text_z(&t), ML_ROLE_ERROR);
        ml_text_free(&t);
        return;
    }
    draw_title(v);
    if (v->frame->paging) {
        draw_page(v);
    } else {
        draw_panes(v);
        if (ml_act_open(v))
            draw_menu(v);
    }
    draw_lua(v);
    draw_message(v);
    draw_keys(v);
}

/*
 * view - the visualiser's state: what is selected, which panes there are, lines that are
 * run, keys that come in. A key goes to what is open (a page, a request, the search), else
 * to keys.def. Source: interaction 10.
 */
#include "repl/view/view.h"

#include "core/base/arena.h"
#include "repl/run/run.h"
#include "repl/session/frame.h"
#include "repl/view/capture.h"
#include "repl/view/frame.h"
#include "repl/view/keymap.h"
#include "repl/view/pane/touches.h"

/* ---- life */

void ml_view_init(ml_View *v, ml_Session *ss, int w, int h, bool ascii)
{
    *v = (ml_View){.ss = ss, .in = ML_PANE_LOOPS, .version = -1};
    v->frame = ml_heap_zalloc(sizeof *v->frame);
    v->frame->cx = ml_ctx_new(0);
    for (int s = 0; s < ML_N_SIZES; s++)
        ml_layout_usual(&v->frame->layout[s], (ml_SizeClass)s);
    ml_grid_init(&v->grid, w, h, ascii);
    v->act = ml_act_new(v);
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
        ml_heap_free(v->frame->marked[k]);
    ml_heap_free(v->search);
    ml_text_free(&v->lua);
    ml_text_free(&v->message);
    ml_text_free(&v->log);
    ml_rows_free(&v->frame->page);
    ml_rows_free(&v->frame->line);
    ml_text_free(&v->frame->page_title);
    ml_text_free(&v->frame->ask);
    ml_text_free(&v->frame->share_of);
    ml_ctx_unref(v->frame->cx);
    ml_heap_free(v->frame);
    ml_grid_free(&v->grid);
    *v = (ml_View){0};
}

/* ---- places */

void ml_view_place(ml_View *v)
{
    ml_Frame *f = v->frame;
    ml_Rect area = {0, 1, v->grid.w, v->grid.h - 4};

    bool code = v->beside != ML_LEVEL_PROGRAM && ml_view_beside_fits(v);

    f->places = (ml_Places){0};
    ml_layout_code(&f->layout[f->size], code);
    if (!code && v->in == ML_PANE_CODE)
        v->in = ML_PANE_PROGRAM;
    if (f->size != ML_SIZE_NONE)
        ml_layout_place(&f->layout[f->size], area, v->in,
                        f->zoomed || f->size == ML_SIZE_ONE, &f->places);
    for (int id = 1; id < ML_N_PANES; id++) {
        ml_Rect b = f->places.box[id], at = {0};

        if (b.w > 0)
            at = (ml_Rect){b.x + 1, b.y + 1, b.w - 2, b.h - 2};
        /* what fits into rows depends on the size */
        if (b.w > 0 && (at.w != v->pane[id].at.w || at.h != v->pane[id].at.h))
            v->pane[id].fresh = false;
        v->pane[id].at = at;
    }
}

void ml_view_resize(ml_View *v, int w, int h)
{
    ml_grid_resize(&v->grid, w, h);
    v->frame->size = ml_size_class(w, h);
    v->frame->drag = ML_DRAG_NONE;
    ml_view_place(v);
    for (int id = 1; id < ML_N_PANES; id++)
        v->frame->loose[id] = false;
    if (v->beside != ML_LEVEL_PROGRAM) /* what pane 2 shows may be another thing now */
        v->pane[ML_PANE_PROGRAM].fresh = !(v->frame->sync[ML_PANE_PROGRAM] = true);
}

void ml_view_show_pane(ml_View *v, ml_PaneId id)
{
    ml_Frame *f = v->frame;

    if (id <= ML_PANE_NONE || id >= ML_N_PANES || !ml_panes[id].rows) {
        ml_view_say(v, "pane %d comes with a later version", (int)id);
        return;
    }
    if (f->size > ML_SIZE_ONE && !f->zoomed) {
        ml_Layout *l = &f->layout[f->size];

        if (f->size == ML_SIZE_SIX && l->pane[id].column == ML_NO_COLUMN)
            ml_layout_toggle(l, id);
        else
            ml_layout_swap_in(l, id);
    }
    v->in = id;
    if (id == ML_PANE_MEMORY)
        ml_pane_touches_go_on(v);
    ml_view_place(v);
}

/* ---- what is selected */

void ml_view_stale(ml_View *v)
{
    for (int id = 0; id < ML_N_PANES; id++)
        v->pane[id].fresh = false;
}

static const ml_Stmt *node_of(const ml_View *v, ml_Uid uid)
{
    return v->ss->focus && uid ? ml_index_node(ml_schedule_program(v->ss->focus).index, uid)
                               : NULL;
}

uint32_t ml_view_func(const ml_View *v)
{
    ml_Schedule *s = v->ss->focus;

    if (!s || ml_schedule_func(s))
        return s ? ml_schedule_func_pos(s) : 0;
    return node_of(v, v->node) ? ml_index_func(ml_schedule_program(s).index, v->node) : 0;
}

const char *ml_view_name(const ml_View *v, ml_Uid node)
{
    const ml_Stmt *st = node_of(v, node);
    const char *name = st ? ml_name_of(v->ss->focus, node) : "?";

    return st && st->kind == ML_STMT_FOR && ml_streq(name, "?") ? ml_as_for(st)->var->hint
                                                                : name;
}

void ml_view_select(ml_View *v, ml_Uid node)
{
    if (!node_of(v, node))
        return;
    for (int id = 1; id < ML_N_PANES && v->frame; id++) {
        if (node != v->node && ml_panes[id].by_node)
            v->pane[id].fresh = false;
        v->frame->sync[id] = true;
        v->frame->loose[id] = false;
    }
    uint32_t was = ml_view_func(v);

    v->node = node;
    if (ml_view_func(v) != was && ml_view_coding(v) != ML_LEVEL_PROGRAM) /* other code */
        v->pane[ML_PANE_PROGRAM].fresh = v->pane[ML_PANE_CODE].fresh = false;
}

typedef struct Search { /* of the first node that another program (or NULL) does not have */
    const ml_Index *in, *not_in;
    ml_Uid found;
} Search;

static bool visit_new(const ml_Stmt *st, void *user)
{
    Search *s = user;

    if (s->found)
        return false;
    if (st->kind == ML_STMT_FOR || st->kind == ML_STMT_BLOCK) {
        ml_Uid uid = ml_stmt_uid(st);

        if (ml_index_node(s->in, uid) && !(s->not_in && ml_index_node(s->not_in, uid)))
            s->found = uid;
    }
    return !s->found;
}

/* What a node of program `was` has become in `now`: the first new node below its nearest
 * ancestor that is still there, or that ancestor; 0: nothing of the sort. */
static ml_Uid become(ml_Program was, ml_Program now, ml_Uid node)
{
    Search s = {.in = now.index, .not_in = was.index};

    for (ml_Up u = ml_index_up(was.index, node); u.node; ml_index_next(&u)) {
        const ml_Stmt *same = ml_index_node(now.index, u.uid);

        if (!same)
            continue;
        ml_stmt_visit(ml_node_body(same), visit_new, &s);
        return s.found ? s.found : u.uid;
    }
    return 0;
}

/* The first loop of the function that names mean, of the first one where they mean none;
 * else its root. */
static ml_Uid first_node(ml_Schedule *s)
{
    const ml_Func *f = ml_schedule_func(s);
    ml_Program p = ml_schedule_program(s);
    Search first = {.in = p.index};

    if (!f && p.mod->n > 0)
        f = p.mod->funcs[0];
    const ml_Block *root = f ? ml_func_root(f) : NULL;

    if (!f)
        return 0;
    ml_stmt_visit(root ? root->body : f->body, visit_new, &first);
    return first.found || !root ? first.found : root->tag;
}

void ml_view_follow(ml_View *v)
{
    ml_Schedule *s = v->ss->focus;
    ml_Uid node = v->node;

    ml_view_stale(v);
    if (!s) {
        v->node = 0;
        v->version = -1;
        v->frame->shown = NULL;
        return;
    }
    int version = ml_schedule_version(s);

    if (s != v->frame->shown) {
        v->folded.n = 0;
        node = 0;
    } else if (!node_of(v, node) && node && v->version >= 0 &&
               ml_version_known(s, v->version)) {
        node = become(ml_version_program(s, v->version), ml_schedule_program(s), node);
    }
    if (!node_of(v, node))
        node = first_node(s);
    v->version = version;
    v->frame->shown = s;
    v->node = 0;
    ml_view_select(v, node);
}

/* ---- what is said */

/* The message row is one: text that was folded for a screen goes on behind a blank, what
 * was set at its right edge behind some. */
static void one_line(ml_Text *t)
{
    enum { BLANKS = 3 };
    size_t n = 0, blanks = 0;

    while (t->n && t->p[t->n - 1] == '\n')
        t->n--;
    for (size_t k = 0; k < t->n; k++) {
        if (t->p[k] == '\n')
            k += strspn(t->p + k + 1, " ");
        blanks = k < t->n && t->p[k] == ' ' ? blanks + 1 : 0;
        if (blanks <= BLANKS)
            t->p[n++] = t->p[k] == '\n' ? ' ' : t->p[k];
    }
    t->n = n;
    if (t->p)
        t->p[n] = '\0';
}

void ml_view_say(ml_View *v, const char *fmt, ...)
{
    va_list ap;

    ml_text_clear(&v->message);
    va_start(ap, fmt);
    ml_text_vfmt(&v->message, fmt, ap);
    va_end(ap);
    one_line(&v->message);
    if (v->frame)
        v->frame->message_is_error = false;
}

void ml_view_say_error(ml_View *v, const char *fmt, ...)
{
    va_list ap;

    ml_text_clear(&v->message);
    va_start(ap, fmt);
    ml_text_vfmt(&v->message, fmt, ap);
    va_end(ap);
    one_line(&v->message);
    if (v->frame)
        v->frame->message_is_error = true;
}

void ml_view_log(ml_View *v, const char *text, size_t n)
{
    enum { MOST = 256 << 10 };

    if (n == 0)
        return;
    for (size_t k = 0; k < n; k++) /* no escape sequences, no zero bytes */
        if (text[k] == '\n' || (unsigned char)text[k] >= 0x20)
            ml_text_char(&v->log, text[k]);
    if (v->log.n && v->log.p[v->log.n - 1] != '\n')
        ml_text_char(&v->log, '\n');
    if (v->log.n > MOST) { /* the older half goes, from a line's begin */
        const char *cut = memchr(v->log.p + MOST / 2, '\n', v->log.n - MOST / 2);
        size_t from = cut ? (size_t)(cut + 1 - v->log.p) : MOST / 2;

        memmove(v->log.p, v->log.p + from, v->log.n - from + 1);
        v->log.n -= from;
    }
    v->pane[ML_PANE_JOBS].fresh = false;
}

/* ---- lines */

/* The first line that says something, without blanks at its ends. */
static ml_Str first_line(const char *p)
{
    p += strspn(p, " \n");
    size_t n = strcspn(p, "\n");

    while (n > 0 && p[n - 1] == ' ')
        n--;
    return (ml_Str){p, n};
}

static size_t count_lines(const char *p)
{
    size_t n = 0;

    for (; *p; p++)
        n += *p == '\n';
    return n;
}

static void tell(ml_View *v, bool ok, const char *out, const char *err)
{
    ml_Str first = first_line(*out && ok ? out : err);
    ml_Text both = {0};

    if (first.n == 0)
        first = first_line(*out ? out : err);
    (ok ? ml_view_say : ml_view_say_error)(v, "%.*s", (int)first.n, first.p);
    ml_text_add(&both, out);
    ml_text_add(&both, err);
    ml_view_log(v, ml_text_z(&both), both.n);
    if (v->frame->typing && count_lines(ml_text_z(&both)) > 1)
        ml_view_page(v, ml_text_z(&v->lua), ml_text_z(&both));
    ml_text_free(&both);
}

bool ml_view_run(ml_View *v, const char *line)
{
    ml_Session *ss = v->ss;
    ml_Text out = {0}, err = {0};
    ml_RunOpts run = {.sink = {&out, &err},
                      .mode = ML_MODE_TYPED,
                      .page = v->grid.w > 40 ? v->grid.w - 4 : 40};
    ml_RunFrame f;
    char *kept; /* the line may lie in what the run changes */

    kept = ml_heap_zalloc(strlen(line) + 1);
    memcpy(kept, line, strlen(line) + 1);
    ml_frame_push(ss, &f, &run);
    ss->interrupt = 0;
    ml_text_clear(&v->lua);
    ml_text_add(&v->lua, kept);
    ml_capture_drain(v);
    bool ok = ml_run(ss, NULL, kept);

    ml_frame_pop(ss, &f);
    ss->status = 0; /* as at the prompt */
    ml_capture_take(v, &out);
    ml_view_follow(v);
    tell(v, ok, ml_text_z(&out), ml_text_z(&err));
    if (ss->quit)
        v->quit = v->end = true;
    ml_text_free(&out);
    ml_text_free(&err);
    ml_heap_free(kept);
    return ok;
}

/* ---- marked variables */

void ml_view_follow_marks(ml_View *v, const char *name)
{
    int free_at = -1;

    for (int k = 0; k < ML_MAX_MARKED; k++) {
        if (!v->marked[k]) {
            free_at = free_at < 0 ? k : free_at;
            continue;
        }
        if (ml_streq(v->marked[k], name)) {
            ml_heap_free(v->frame->marked[k]);
            v->marked[k] = v->frame->marked[k] = NULL;
            v->pane[ML_PANE_PROGRAM].fresh = false;
            ml_view_say(v, "%s is not marked any more", name);
            return;
        }
    }
    if (free_at < 0) {
        ml_view_say(v,
                    "%d variables are marked already; * on one of them takes its mark "
                    "away, Esc all",
                    ML_MAX_MARKED);
        return;
    }
    size_t n = strlen(name) + 1;

    v->frame->marked[free_at] = memcpy(ml_heap_zalloc(n), name, n);
    v->marked[free_at] = v->frame->marked[free_at];
    v->pane[ML_PANE_PROGRAM].fresh = false;
    ml_view_say(v, "all occurrences of %s are marked", name);
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
    ml_Request r = ml_keymap_anywhere(v->ss, k);

    if (r != ML_REQ_NONE && ml_key_info[r].pane != ML_PANE_NONE)
        ml_view_say(v, "%s works in pane %d %s: %s", ml_key_text(k),
                    (int)ml_key_info[r].pane, ml_panes[ml_key_info[r].pane].name,
                    ml_key_info[r].help);
    else
        ml_view_say(v, "%s asks for nothing; ? shows the keys", ml_key_text(k));
}

static void plain_key(ml_View *v, const ml_Key *k)
{
    ml_Frame *f = v->frame;
    ml_Request r = ml_keymap_find(v->ss, v->in, k);
    int count = f->count;

    f->count = 0;
    if (r == ML_REQ_NONE) {
        say_no_key(v, k);
        return;
    }
    if (r == ML_REQ_PANE) {
        ml_PaneId from = count ? f->count_from : v->in;

        f->count_from = from;
        f->count = number_of(k);
        ml_view_request(v, r, f->count);
        return;
    }
    if (r == ML_REQ_TOGGLE_PANE)
        count = number_of(k);
    else if (r == ML_REQ_FUSE && count > 1) { /* 3f: the digit was a count after all */
        v->in = f->count_from;
        ml_view_place(v);
    } else
        count = 1;
    ml_view_request(v, r, count);
}

void ml_view_key(ml_View *v, const ml_Key *k)
{
    ml_Frame *f = v->frame;
    bool leaving = f->leaving;

    f->leaving = false;
    if (f->paging) {
        ml_view_page_key(v, k);
        return;
    }
    if (f->asking) {
        ml_view_search_key(v, k);
        return;
    }
    ml_text_clear(&v->message);
    f->message_is_error = false;
    if (ml_act_open(v)) {
        ml_act_key(v, k);
        if (!ml_act_open(v))
            f->typing = false;
        return;
    }
    f->leaving = leaving;
    plain_key(v, k);
    if (leaving && !v->quit)
        f->leaving = false;
}

bool ml_view_idle(ml_View *v, int ms)
{
    bool asked = ml_act_idle(v, ms), panes = ml_panes_idle(v, ms);

    return asked || panes;
}

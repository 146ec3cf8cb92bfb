/*
 * live - keys and pictures of a search at a terminal (live.h).
 *
 * The search is cranked by its command; between two steps keys are answered and, ten times a
 * second at most or after a key, the board is drawn. A page (a record, a diff, failures,
 * help) takes the place of all but the first row, and the search goes on behind it.
 * Source: interaction 11.
 */
#include "repl/tuning/live.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "moonloop/core/base/arena.h"
#include "repl/out/loop.h"
#include "repl/screen/screen.h"
#include "repl/session/themes.h"

typedef enum Page { PAGE_NONE, PAGE_TEXT, PAGE_SCATTER } Page;

struct ml_Live {
    ml_Session *ss;
    ml_Board *b;
    ml_LiveCalls calls;
    Page page;
    const char *title;
    ml_Text text; /* of the page */
    int top;      /* its first row */
    int left;     /* columns of it that are left of the screen */
    int room;     /* rows of it that were shown last */
    int cursor;   /* rank, or task */
    bool chosen;  /* by the person; else it is the task whose turn it is */
    bool stop, whole, stale, shown;
    double drawn;
    ml_Grid g;
};

/* ---- pages */

static const char HELP[] =
    "p      pause: what is at work is finished, nothing new is begun; again: go on\n"
    "s      stop, as Ctrl-C does: all that was measured is kept, :tune goes on\n"
    "↑ ↓    choose one of the fastest\n"
    "a      adopt it: a branch tuned-N of ordinary steps; the search goes on\n"
    "Enter  inspect it: times, trace and program against rank 1, machine code\n"
    "d      diff of its program against rank 1\n"
    "f      failures by reason\n"
    "c      scatter: predicted against measured speed\n"
    "Esc    back to the curve\n"
    "\n"
    "The curve is the best so far; a dot is what a trial reached, x one that\n"
    "failed. Where rounds of proposals began stands ┴, and a row of dots where the\n"
    "machine's roof is.\n"
    "Rank correlation compares the order that the model foretold with the order\n"
    "measured (1: the same, 0: chance); regret is what its own choice of the last\n"
    "32 lost. Shares and ranks hold within one search.\n";

static const char TASKS_HELP[] =
    "p      pause: what is at work is finished, nothing new is begun; again: go on\n"
    "s      stop, as Ctrl-C does: all is kept, the same line goes on from there\n"
    "↑ ↓    choose a task; Esc: the one whose turn it is\n"
    "k      skip it: it gets no further batch\n"
    "+ -    what it is expected to save counts twice, half: more or less for it\n"
    "Enter  what is known of it\n"
    "Esc    back to the table\n"
    "\n"
    "▶ stands at the task whose turn it is; why is told below the table. gain is\n"
    "what its last batch has saved of the sum of weighted times, hope what the\n"
    "next is expected to save: the gradient rule gives the next batch to the task\n"
    "with the most.\n"
    "The curve is how often a second all of them could run, each so often as it\n"
    "weighs; it begins when each has a time.\n";

static void open_page(ml_Live *l, Page page, const char *title)
{
    l->page = page;
    l->title = title;
    l->top = l->left = 0;
    ml_text_clear(&l->text);
}

static int count_rows(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n' || !text[1];
    return n;
}

static ml_CellRole role_of(const char *line)
{
    const char *sign = line + strspn(line, " 0123456789");

    if (strncmp(line, "== ", 3) == 0)
        return ML_ROLE_STRONG;
    if (sign > line && sign[0] && sign[1] == ' ' && (*sign == '+' || *sign == '-'))
        return *sign == '+' ? ML_ROLE_DIFF_ADD : ML_ROLE_DIFF_DEL;
    return ML_ROLE_TEXT;
}

static void draw_text(ml_Live *l, ml_Grid *g, ml_Rect in)
{
    const char *p = ml_text_z(&l->text);
    int rows = count_rows(p), last = rows - in.h;

    l->room = in.h;
    l->top = l->top > last ? last : l->top;
    l->top = l->top < 0 ? 0 : l->top;
    for (int k = 0; k < rows && k < l->top + in.h; k++) {
        size_t n = strcspn(p, "\n");
        ml_Text line = {0};

        ml_text_addn(&line, p, n);
        const char *z = ml_text_z(&line);

        if (k >= l->top)
            ml_grid_put_cut(g, in, in.x, in.y + k - l->top,
                            z + ml_columns_fit(z, (size_t)l->left), role_of(p));
        ml_text_free(&line);
        p += n + (p[n] == '\n');
    }
}

static void draw_page(ml_Live *l, ml_Grid *g)
{
    const ml_Board *b = l->b;
    ml_Text t = {0};

    ml_grid_fill(g, (ml_Rect){0, 0, g->w, 1}, ML_ROLE_TITLE);
    ml_text_fmt(&t, "%s   ", l->title);
    ml_board_done(b, &t);
    if (b->paused)
        ml_text_add(&t, "   paused");
    ml_grid_put_cut(g, (ml_Rect){0, 0, g->w, 1}, 0, 0, ml_text_z(&t), ML_ROLE_TITLE);
    ml_text_free(&t);
    ml_Rect in = {0, 1, g->w, g->h - 2};

    if (l->page == PAGE_SCATTER)
        ml_board_scatter(b, g, in);
    else
        draw_text(l, g, in);
    ml_grid_put_cut(g, (ml_Rect){0, 0, g->w, g->h}, 0, g->h - 1,
                    l->page == PAGE_SCATTER ? "Esc back"
                                            : "Esc back  ↑ ↓ ← → PgUp PgDn scroll",
                    ML_ROLE_KEY);
}

/* ---- the picture */

static const char *longest_of(const char *const *of, size_t n, const ml_Grid *g)
{
    size_t k = 0;

    while (k + 1 < n && ml_grid_columns(g, of[k], strlen(of[k])) > g->w)
        k++;
    return of[k];
}

static const char *keys_of_tasks(const ml_Live *l, const ml_Grid *g)
{
    static const char *const KEYS[] = {
        "p pause  s stop  ↑ ↓ choose  k skip  + - budget  Enter inspect  ? help",
        "p pause  s stop  k skip  + - budget  ? help",
        "p pause  s stop  k skip  ? help",
        "p pause s stop ?",
    };
    static const char *const PAUSED[] = {
        "p go on  s stop  ↑ ↓ choose  k skip  + - budget  Enter inspect  ? help",
        "p go on  s stop  k skip  + - budget  ? help",
        "p go on  s stop  k skip  ? help",
        "p go on s stop ?",
    };

    return longest_of(l->b->paused ? PAUSED : KEYS, ML_COUNT(KEYS), g);
}

/* The longest that fits: what is left out stands in the help. */
static const char *keys_of(const ml_Live *l, const ml_Grid *g)
{
    static const char *const KEYS[] = {
        "p pause  s stop  a adopt  Enter inspect  d diff  f failures  c scatter  ? help",
        "p pause  s stop  a adopt  Enter inspect  d diff  ? help",
        "p pause  s stop  a adopt  ? help",
        "p pause s stop ?",
    };
    static const char *const PAUSED[] = {
        "p go on  s stop  a adopt  Enter inspect  d diff  f failures  c scatter  ? help",
        "p go on  s stop  a adopt  Enter inspect  d diff  ? help",
        "p go on  s stop  a adopt  ? help",
        "p go on s stop ?",
    };

    return l->b->tasks.n ? keys_of_tasks(l, g)
                         : longest_of(l->b->paused ? PAUSED : KEYS, ML_COUNT(KEYS), g);
}

/* What ↑ and ↓ go through. */
static int n_rows(const ml_Live *l)
{
    return l->b->tasks.n ? (int)l->b->tasks.n : (int)l->b->n_ranks;
}

/* The cursor is there until somebody moves it. */
static void follow_turn(ml_Live *l)
{
    for (size_t k = 0; !l->chosen && k < l->b->tasks.n; k++)
        if (l->b->tasks.v[k].next)
            l->cursor = (int)k;
}

static void draw_board(ml_Live *l, ml_Grid *g, bool keys)
{
    const ml_BoardLook look = {
        .cursor = keys && n_rows(l) && (l->chosen || !l->b->tasks.n) ? l->cursor : -1,
        .keys = keys ? keys_of(l, g) : ""};
    int rows = ml_board_draw(l->b, g, (ml_Rect){0, 0, g->w, g->h}, &look);

    g->cursor_x = 0;
    g->cursor_y = (rows > 0 ? rows : 1) - 1;
}

void ml_live_draw(ml_Live *l, ml_Grid *g)
{
    ml_grid_clear(g);
    follow_turn(l);
    if (l->cursor >= n_rows(l))
        l->cursor = n_rows(l) ? n_rows(l) - 1 : 0;
    if (l->page != PAGE_NONE && g->h >= 3) {
        draw_page(l, g);
        g->cursor_x = 0;
        g->cursor_y = g->h - 1;
    } else
        draw_board(l, g, true);
}

/* As high as what is drawn: below text nothing else is taken. */
static void cut_grid(ml_Grid *g, int rows)
{
    g->h = rows < g->h ? rows : g->h;
    g->cursor_y = g->h - 1;
}

static void size_grid(ml_Live *l)
{
    enum { MOST = 44 };
    int w, h;

    ml_screen_size(&w, &h);
    h = h > 3 ? h - 1 : h; /* the line that began it stays in sight */
    ml_grid_resize(&l->g, w, h < MOST ? h : MOST);
}

static void show(ml_Live *l)
{
    double now = ml_clock();

    if (!l->stale && now - l->drawn < 0.1)
        return;
    size_grid(l);
    ml_live_draw(l, &l->g);
    cut_grid(&l->g, l->g.cursor_y + 1);
    ml_screen_show(&l->g, l->whole);
    l->whole = l->stale = false;
    l->shown = true;
    l->drawn = now;
}

/* ---- keys */

static void say(ml_Live *l, const char *text)
{
    snprintf(l->b->note, sizeof l->b->note, "%.*s", (int)strcspn(text, "\n"), text);
}

static int64_t chosen(const ml_Live *l)
{
    return l->cursor < (int)l->b->n_ranks ? l->b->rank[l->cursor].record : 0;
}

static void pause_search(ml_Live *l)
{
    l->b->paused = !l->b->paused;
    if (l->calls.pause)
        l->calls.pause(l->calls.user, l->b->paused);
    say(l, l->b->paused ? "paused: what is at work is finished, nothing new is begun" : "");
}

/* What needs a record; false: there is none yet. */
static bool on_record(ml_Live *l, char key)
{
    int64_t record = chosen(l), best = l->b->n_ranks ? l->b->rank[0].record : 0;
    ml_Text t = {0};

    if (!record) {
        say(l, "nothing is measured yet");
        return false;
    }
    if (key == 'a' && l->calls.adopt) {
        l->calls.adopt(l->calls.user, record, &t);
        say(l, ml_text_z(&t));
    } else if (key == 'i' && l->calls.inspect) {
        open_page(l, PAGE_TEXT, "record");
        l->calls.inspect(l->calls.user, record, best, &l->text);
    } else if (key == 'd' && l->calls.diff) {
        open_page(l, PAGE_TEXT, "diff against rank 1");
        l->calls.diff(l->calls.user, record, best, &l->text);
    }
    ml_text_free(&t);
    return true;
}

/* Keys that mean something of several programs. */
static bool task_key(ml_Live *l, char key)
{
    ml_Text t = {0};

    if (!l->calls.task || !l->b->tasks.n)
        return false;
    if (strchr("k+-", key) && key) {
        l->calls.task(l->calls.user, (size_t)l->cursor, key, &t);
        say(l, ml_text_z(&t));
    } else if (key == 'i') {
        open_page(l, PAGE_TEXT, "task");
        l->calls.show_task(l->calls.user, (size_t)l->cursor, &l->text);
    } else if (key == 'h') {
        open_page(l, PAGE_TEXT, "keys");
        ml_text_add(&l->text, TASKS_HELP);
    }
    ml_text_free(&t);
    return key != 'p' && key != 's';
}

static void move(ml_Live *l, int by)
{
    if (l->page == PAGE_TEXT) {
        l->top += by;
        return;
    }
    follow_turn(l);
    l->chosen = true;
    l->cursor += by;
    if (l->cursor >= n_rows(l))
        l->cursor = n_rows(l) - 1;
    if (l->cursor < 0)
        l->cursor = 0;
}

static bool move_key(ml_Live *l, const char *name)
{
    static const struct {
        const char *name;
        int by, pages;
    } KEYS[] = {{"up", -1, 0},  {"down", 1, 0},        {"pgup", 0, -1},
                {"pgdn", 0, 1}, {"home", -1000000, 0}, {"end", 1000000, 0}};

    for (size_t k = 0; k < ML_COUNT(KEYS); k++)
        if (ml_streq(name, KEYS[k].name)) {
            int page = l->page == PAGE_TEXT && l->room > 1 ? l->room - 1 : 5;

            move(l, KEYS[k].by + KEYS[k].pages * page);
            return true;
        }
    return false;
}

/* Long lines of a page. */
static bool shift_key(ml_Live *l, const char *name)
{
    enum { BY = 16 };
    bool right = ml_streq(name, "right");

    if (!right && !ml_streq(name, "left"))
        return false;
    l->left += right ? BY : -BY;
    l->left = l->left < 0 ? 0 : l->left;
    return true;
}

void ml_live_key(ml_Live *l, const char *name, const char *ch)
{
    l->stale = true;
    if (name && (move_key(l, name) || shift_key(l, name)))
        return;
    if (name && ml_streq(name, "C-l")) {
        l->whole = true;
        return;
    }
    bool esc = name && ml_streq(name, "esc");

    if (l->page != PAGE_NONE && (esc || *ch == 'q' || (name && ml_streq(name, "enter")))) {
        l->page = PAGE_NONE;
        return;
    }
    if (esc)
        l->chosen = false;
    if (name) {
        if (ml_streq(name, "enter") && !task_key(l, 'i'))
            on_record(l, 'i');
        return;
    }
    if (task_key(l, *ch == '?' ? 'h' : *ch))
        return;
    switch (*ch) {
    case 'p': pause_search(l); break;
    case 's': l->stop = true; break;
    case 'a':
    case 'd': on_record(l, *ch); break;
    case 'f':
        open_page(l, PAGE_TEXT, "failures");
        if (l->calls.failures)
            l->calls.failures(l->calls.user, &l->text);
        break;
    case 'c': open_page(l, PAGE_SCATTER, "predicted against measured"); break;
    case '?':
    case 'h':
        open_page(l, PAGE_TEXT, "keys");
        ml_text_add(&l->text, HELP);
        break;
    default: break;
    }
}

static bool take_keys(ml_Live *l)
{
    ml_Event e[16];
    bool ended = false;
    size_t n = ml_screen_events(e, ML_COUNT(e), &ended);

    for (size_t k = 0; k < n; k++) {
        if (e[k].kind == ML_EVENT_RESIZE || e[k].kind == ML_EVENT_RETURN)
            l->whole = l->stale = true;
        else if (e[k].kind == ML_EVENT_KEY)
            ml_live_key(l, e[k].name, e[k].ch);
    }
    if (ended)
        l->ss->lost_terminal = true;
    return !ended;
}

/* ---- its life */

static void announce(const char *text, void *user)
{
    ml_Live *l = user;

    say(l, text);
    l->stale = true;
}

ml_Live *ml_live_new(ml_Session *ss, ml_Board *b, const ml_LiveCalls *calls)
{
    ml_Live *l = ml_heap_zalloc(sizeof *l);

    l->ss = ss;
    l->b = b;
    l->calls = *calls;
    l->stale = true;
    return l;
}

void ml_live_free(ml_Live *l)
{
    if (!l)
        return;
    ml_grid_free(&l->g);
    ml_text_free(&l->text);
    ml_heap_free(l);
}

ml_Live *ml_live_open(ml_Session *ss, ml_Board *b, const ml_LiveCalls *calls)
{
    ml_ThemeDef look = ml_themes_now(ss);
    ml_Text why = {0};
    ml_Live *l = NULL;

    ml_out_flush(&ss->out);
    if (ml_screen_open_below(&look, !ss->out.color, &why)) {
        l = ml_live_new(ss, b, calls);
        ml_grid_init(&l->g, 1, 1, ss->out.ascii);
        ml_loop_set_announcer(announce, l);
    }
    ml_text_free(&why);
    return l;
}

bool ml_live_step(ml_Live *l, double seconds)
{
    struct pollfd p[2] = {{.fd = ml_screen_fd(), .events = POLLIN},
                          {.fd = ml_screen_signal_fd(), .events = POLLIN}};
    bool there = true;

    show(l);
    if (poll(p, 2, (int)(seconds * 1000)) > 0) {
        there = take_keys(l);
        show(l);
    }
    return there && !l->stop;
}

void ml_live_close(ml_Live *l)
{
    if (!l)
        return;
    l->page = PAGE_NONE;
    l->b->over = true;
    *l->b->note = '\0';
    if (l->shown && !l->ss->lost_terminal) {
        size_grid(l);
        ml_grid_clear(&l->g);
        draw_board(l, &l->g, false);
        cut_grid(&l->g, l->g.cursor_y + 1);
        ml_screen_show(&l->g, false);
    }
    ml_loop_set_announcer(NULL, NULL);
    ml_screen_close();
    ml_live_free(l);
}

/*
 * dashboard - program, tree and last timing in a second terminal, kept up to date.
 *
 * A frame is drawn into a grid of that terminal's size after each line, and written at once
 * when it is another than the last. The terminal is somebody else's: it is written to and never read,
 * its modes stay, and when it does not take what is written the frame is given up; when it
 * is gone, the dashboard is off. Source: interaction 5.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "moonloop/core/base/arena.h"
#include "repl/command/command.h"
#include "repl/screen/write_all.h"
#include "repl/screen/writer.h"
#include "repl/session/themes.h"
#include "repl/show/show.h"

enum { PATIENCE = 50 /* ms that a terminal may make us wait */, SIDE_BY_SIDE = 100 };

struct ml_Dashboard {
    int fd;
    ml_Text path;
    ml_Text shown; /* the last frame, as it was sent */
};

/* ---- one frame */

/* A line of the loop tree by its kind. */
static ml_CellRole kind_of(const char *line)
{
    static const struct {
        const char *word;
        ml_CellRole role;
    } KINDS[] = {{" parallel", ML_ROLE_LOOP_PARALLEL},
                 {" vectorize", ML_ROLE_LOOP_VECTOR},
                 {" unroll", ML_ROLE_LOOP_UNROLL},
                 {"Idx.", ML_ROLE_LOOP_THREAD},
                 {"reads ", ML_ROLE_BLOCK},
                 {"writes ", ML_ROLE_BLOCK}};

    for (size_t k = 0; k < ML_COUNT(KINDS); k++)
        if (strstr(line, KINDS[k].word))
            return KINDS[k].role;
    return ML_ROLE_TEXT;
}

/* The lines of the text from (x, y) on, as far as there is room; … stands for the rest. */
static void put_lines(ml_Grid *g, ml_Rect in, const char *text, bool tree)
{
    for (int row = 0; *text && row < in.h; row++) {
        size_t n = strcspn(text, "\n");
        ml_Text line = {0};

        if (row + 1 == in.h && text[n] && text[n + 1])
            ml_text_add(&line, "…");
        else
            ml_text_addn(&line, text, n);
        ml_grid_put_cut(g, in, in.x, in.y + row, ml_text_z(&line),
                        tree ? kind_of(ml_text_z(&line)) : ML_ROLE_TEXT);
        ml_text_free(&line);
        text += n + (text[n] == '\n');
    }
}

static int count_lines(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n' || !text[1];
    return n;
}

/* "58.4 GFLOP/s (v5)": of this version, or of the nearest one before it that was timed. */
static void add_timing(ml_Schedule *s, ml_Text *t)
{
    int at = ml_schedule_version(s);
    ml_Step step;

    for (int v = at; v >= 0 && ml_version_step(s, v, &step); v = step.parent) {
        if (!step.speed)
            continue;
        ml_text_fmt(t, v == at ? "   %s" : "   %s at v%d", step.speed, v);
        return;
    }
}

static void put_title(ml_Session *ss, ml_Grid *g)
{
    ml_Schedule *s = ss->focus;
    int v = ml_schedule_version(s);
    const char *marks = ml_schedule_marks_of(s, v), *branch = ml_schedule_branch_name(s);
    ml_Text t = {0};
    ml_Step step;

    ml_text_fmt(&t, " %s%s%s v%d", ml_schedule_name(s), branch ? ":" : "",
                branch ? branch : "", v);
    if (marks)
        ml_text_fmt(&t, " «%s»", marks);
    add_timing(s, &t);
    if (ml_version_step(s, v, &step) && step.check)
        ml_text_fmt(&t, "   %s", step.check);
    if (step.prim)
        ml_text_fmt(&t, "   [%d] %s", v, step.headline);
    ml_grid_fill(g, (ml_Rect){0, 0, g->w, 1}, ML_ROLE_TITLE);
    ml_grid_put_cut(g, (ml_Rect){0, 0, g->w, 1}, 0, 0, ml_text_z(&t), ML_ROLE_TITLE);
    ml_text_free(&t);
}

static void draw(ml_Session *ss, ml_Grid *g)
{
    ml_Schedule *s = ss->focus;
    ml_Text tree = {0}, program = {0};
    ml_Rect left = {0, 1, g->w, g->h - 1}, right = left;

    ml_show_tree(ss, s, ml_schedule_version(s), &tree);
    ml_show_program(ss, s, ml_schedule_version(s), &program);
    if (g->w >= SIDE_BY_SIDE) {
        left.w = g->w * 2 / 5;
        right.x = left.w + 2;
        right.w = g->w - right.x;
        ml_grid_vline(g, left.w, 1, g->h - 1, ML_ROLE_BORDER);
    } else {
        int all = g->h - 2, rows = count_lines(ml_text_z(&tree));

        left.h =
            rows > all / 2 ? all / 2 : rows; /* what the tree leaves is the program's */
        right.y = 2 + left.h;
        right.h = g->h - right.y;
        if (left.h > 0)
            ml_grid_hline(g, 0, 1 + left.h, g->w, ML_ROLE_BORDER);
    }
    put_title(ss, g);
    put_lines(g, left, ml_text_z(&tree), true);
    put_lines(g, right, ml_text_z(&program), false);
    ml_text_free(&tree);
    ml_text_free(&program);
}

/* ---- the terminal */

static const ml_Observer OBSERVER; /* which is told of lines */

static void end_dashboard(ml_Session *ss)
{
    ml_Dashboard *d = ss->dashboard;
    ml_Text t = {0};

    if (!d)
        return;
    ml_text_fmt(&t, "%s%s%s", ml_escape(ML_CAP_NORMAL), ml_escape(ML_CAP_CLEAR),
                ml_escape(ML_CAP_CURSOR_ON));
    (void)ml_write_within(d->fd, t.p, t.n,
                          PATIENCE); /* gone, or stopped: it keeps what it shows */
    ml_text_free(&t);
    close(d->fd);
    ml_text_free(&d->path);
    ml_text_free(&d->shown);
    ml_heap_free(d);
    ss->dashboard = NULL;
    ml_session_unobserve(ss, &OBSERVER);
}

static void give_up(ml_Session *ss, const char *why)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "note: the dashboard is off: %s: %s", ml_text_z(&ss->dashboard->path),
                why);
    end_dashboard(ss);
    ml_err_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

static void show_changes(ml_Session *ss)
{
    ml_Dashboard *d = ss->dashboard;
    struct winsize ws = {0};
    ml_ThemeDef look = ml_themes_now(ss);
    ml_Theme theme;
    ml_Writer all = {.to = ml_ansi()}; /* what its own shell has written is gone, too */
    ml_Text t = {0};
    ml_Grid g;

    if (!d)
        return;
    if (ioctl(d->fd, TIOCGWINSZ, &ws) != 0) {
        give_up(ss, strerror(errno));
        return;
    }
    if (ws.ws_col == 0 || ws.ws_row == 0) { /* it does not say */
        ws.ws_col = 80;
        ws.ws_row = 24;
    }
    ml_grid_init(&g, ws.ws_col > 1000 ? 1000 : ws.ws_col,
                 ws.ws_row > 1000 ? 1000 : ws.ws_row, ss->out.ascii);
    ml_theme_make(&theme, &look, ss->out.color ? ml_theme_depth(-1) : ML_DEPTH_NONE);
    if (ss->focus)
        draw(ss, &g);
    else
        ml_grid_put_cut(&g, (ml_Rect){0, 0, g.w, 1}, 1, 0, "no schedule yet", ML_ROLE_TEXT);
    ml_writer_show(&all, &g, &theme, &t);
    ml_writer_forget(&all);
    ml_grid_free(&g);
    if (ml_streq(ml_text_z(&t), ml_text_z(&d->shown))) {
        ml_text_free(&t);
        return;
    }
    ml_text_free(&d->shown);
    d->shown = t;
    if (!ml_write_within(d->fd, t.p, t.n, PATIENCE) && errno != EAGAIN)
        give_up(ss, strerror(errno));
}

static void after_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    (void)user;
    (void)e;
    show_changes(ss);
}

static void on_end(void *user, ml_Session *ss)
{
    (void)user;
    end_dashboard(ss);
}

static const ml_Observer OBSERVER = {
    .name = "dashboard", .after_line = after_line, .on_end = on_end};

/* ---- the command */

static bool is_ours(int fd)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && fstat(STDOUT_FILENO, &b) == 0 && a.st_rdev == b.st_rdev &&
           isatty(STDOUT_FILENO);
}

bool cmd_dashboard(ml_Session *ss, const ml_Words *w)
{
    ml_Text t = {0};

    if (w->n == 0) {
        if (ss->dashboard)
            ml_text_fmt(&t, "on %s; :dashboard off ends it",
                        ml_text_z(&ss->dashboard->path));
        else
            ml_text_add(&t, "off; :dashboard TTY, where `tty` in the other terminal tells "
                            "its name");
        ml_out_prose(&ss->out, ml_text_z(&t));
        ml_text_free(&t);
        return true;
    }
    if (w->n > 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":dashboard [TTY|off]");
    if (ml_streq(w->v[0], "off")) {
        end_dashboard(ss);
        return true;
    }
    if (ml_session_forbids(ss, ":dashboard"))
        return false;
    int fd = open(w->v[0], O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return ml_session_error(ss, ML_E_NO_FILE, "cannot open %s: %s", w->v[0],
                                strerror(errno));
    if (!isatty(fd) || is_ours(fd)) {
        bool ours = isatty(fd);

        close(fd);
        return ml_session_error(
            ss, ML_E_BAD_ARGUMENT,
            ours ? "%s is this terminal: the dashboard needs another one"
                 : "%s is no terminal; `tty` in the other terminal tells "
                   "its name",
            w->v[0]);
    }
    end_dashboard(ss);
    ss->dashboard = ml_heap_zalloc(sizeof *ss->dashboard);
    ss->dashboard->fd = fd;
    ml_text_add(&ss->dashboard->path, w->v[0]);
    ml_session_observe(ss, &OBSERVER);
    show_changes(ss);
    return true;
}

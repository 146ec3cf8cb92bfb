/*
 * script - the visualiser driven by a file: keys, clicks and sizes, and what the screen is
 * expected to show. One command a line:
 *
 *   key s  key up up enter      keys as keys.def writes them
 *   type 4,16                   the characters of the rest of the line
 *   click X Y  double X Y  wheel up|down X Y  drag X Y X Y     places count from 0
 *   resize WxH
 *   wait idle                   until nothing is left to be worked out, no job runs
 *   expect "text"  expect-not "text"      some row of the screen shows it, or none does
 *   snapshot NAME               the screen is that of NAME-WxH.txt beside the script
 *   print                       the screen goes to standard output
 *   time N KEY...               presses them N times; prints what a key took to its screen
 *   # a remark
 *
 * Snapshots are compared as transcripts are: numbers before units of time and rate stand
 * for any, … at the end of a row for the rest of it. Source: interaction 10.
 */
#include "repl/view/driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moonloop/core/base/arena.h"
#include "moonloop/core/base/file.h"
#include "repl/job/jobs.h"
#include "repl/out/loop.h"
#include "repl/run/wildcard.h"
#include "repl/view/state/capture.h"

enum { MOST_TIMED = 10000 };

typedef struct Script {
    ml_View v;
    const char *path;
    int line;
    bool update, failed;
    ml_Text told, shown; /* until standard error and output are ours again */
    double *took;        /* ms of each key to its screen; NULL: they are not timed */
    size_t n_took;
} Script;

static void complain(Script *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void complain(Script *s, const char *fmt, ...)
{
    va_list ap;

    ml_text_fmt(&s->told, "%s:%d: ", s->path, s->line);
    va_start(ap, fmt);
    ml_text_vfmt(&s->told, fmt, ap);
    va_end(ap);
    ml_text_char(&s->told, '\n');
    s->failed = true;
}

static void show_screen(Script *s)
{
    ml_grid_text(&s->v.grid, &s->told);
}

/* ---- what commands take */

static bool numbers(const char *p, int *out, int n)
{
    for (int k = 0; k < n; k++) {
        char *end;
        long x = strtol(p, &end, 10);

        if (end == p || x < -100000 || x > 100000)
            return false;
        out[k] = (int)x;
        p = end;
    }
    return p[strspn(p, " ")] == '\0';
}

bool ml_view_size_of(const char *p, int *w, int *h)
{
    char *end;
    long a = strtol(p, &end, 10), b;

    if (end == p || *end != 'x')
        return false;
    p = end + 1;
    b = strtol(p, &end, 10);
    if (end == p || *end || a < 1 || b < 1 || a > 4096 || b > 4096)
        return false;
    *w = (int)a;
    *h = (int)b;
    return true;
}

/* The text between quotes, or all of it. */
static ml_Str quoted(const char *p)
{
    size_t n = strlen(p);

    if (n >= 2 && p[0] == '"' && p[n - 1] == '"')
        return (ml_Str){p + 1, n - 2};
    return (ml_Str){p, n};
}

/* ---- the commands */

static void press(Script *s, const char *name)
{
    double start = ml_clock();
    ml_Key k;

    if (!ml_key_read(name, &k)) {
        complain(s, "there is no key %s", name);
        return;
    }
    ml_view_key(&s->v, &k);
    ml_capture_drain(&s->v);
    if (s->took && s->n_took < MOST_TIMED) {
        ml_view_draw(&s->v);
        s->took[s->n_took++] = (ml_clock() - start) * 1e3;
    }
}

static void keys(Script *s, const char *p)
{
    while (*p) {
        size_t n = strcspn(p, " ");
        ml_Text name = {0};

        ml_text_addn(&name, p, n);
        press(s, ml_text_z(&name));
        ml_text_free(&name);
        p += n;
        p += strspn(p, " ");
    }
}

static void type(Script *s, const char *p)
{
    ml_Event e = {.kind = ML_EVENT_KEY};

    while (*p) {
        size_t n = 1;

        while (n < sizeof e.ch - 1 && ((unsigned char)p[n] & 0xc0) == 0x80)
            n++;
        memset(e.ch, 0, sizeof e.ch);
        memcpy(e.ch, p, n);
        ml_view_event(&s->v, &e);
        p += n;
    }
}

static void wait_idle(Script *s)
{
    ml_view_settle(&s->v);
    while (ml_view_rest(&s->v) || ml_view_rests(&s->v))
        ml_view_settle(&s->v);
    while (ml_jobs_running(s->v.ss) > 0) {
        bool signalled;

        ml_loop_wait(-1, -1, 100, &signalled);
        ml_view_stale(&s->v);
    }
    ml_view_settle(&s->v);
}

static bool on_screen(Script *s, ml_Str what)
{
    ml_Text t = {0}, word = {0};

    ml_view_draw(&s->v);
    ml_grid_text(&s->v.grid, &t);
    ml_text_addn(&word, what.p, what.n);
    bool found = strstr(ml_text_z(&t), ml_text_z(&word)) != NULL;

    ml_text_free(&t);
    ml_text_free(&word);
    return found;
}

static void expect(Script *s, const char *p, bool there)
{
    ml_Str what = quoted(p);

    if (what.n == 0) {
        complain(s, "expect takes a text");
        return;
    }
    if (on_screen(s, what) == there)
        return;
    complain(s, there ? "the screen does not show %.*s" : "the screen shows %.*s",
             (int)what.n, what.p);
    show_screen(s);
}

static void read_whole(FILE *f, ml_Text *out)
{
    char buf[4096];
    size_t n;

    while ((n = fread(buf, 1, sizeof buf, f)) > 0)
        ml_text_addn(out, buf, n);
}

/* The next row of both, which go on behind it; whether the one stands for the other. */
static bool same_row(const char **want, const char **got, ml_Str *w, ml_Str *g)
{
    ml_Text x = {0}, y = {0};

    ml_next_line(want, w);
    ml_next_line(got, g);
    ml_text_addn(&x, w->p, w->n);
    ml_text_addn(&y, g->p, g->n);
    bool same = ml_wildcard_line(ml_text_z(&x), ml_text_z(&y), false);

    ml_text_free(&x);
    ml_text_free(&y);
    return same;
}

/* Rows as they are now, but those that were right as they stood: with their wildcards. */
static void keep_right_rows(const char *want, ml_Text *got)
{
    ml_Text all = {0};

    for (const char *p = ml_text_z(got); *p;) {
        bool more = *want;
        ml_Str w, g;
        bool same = same_row(&want, &p, &w, &g);

        ml_text_addn(&all, more && same ? w.p : g.p, more && same ? w.n : g.n);
        ml_text_char(&all, '\n');
    }
    ml_text_free(got);
    *got = all;
}

/* The first row that differs, from 1; 0: none does. */
static int differs(const char *want, const char *got)
{
    ml_Str w, g;

    for (int row = 1; *want || *got; row++)
        if (!same_row(&want, &got, &w, &g))
            return row;
    return 0;
}

static void snapshot(Script *s, const char *name)
{
    ml_Text path = {0}, got = {0}, want = {0};
    const char *slash = strrchr(s->path, '/');
    bool there;
    int row;

    if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_")]) {
        complain(s, "snapshot takes a name of small letters, digits, - and _, not %s",
                 name);
        return;
    }
    ml_view_settle(&s->v);
    ml_grid_text(&s->v.grid, &got);
    if (slash)
        ml_text_addn(&path, s->path, (size_t)(slash + 1 - s->path));
    ml_text_fmt(&path, "%s-%dx%d.txt", name, s->v.grid.w, s->v.grid.h);
    there = ml_file_read(ml_text_z(&path), &want);
    row = there ? differs(ml_text_z(&want), ml_text_z(&got)) : 1;
    if (row && s->update) {
        keep_right_rows(ml_text_z(&want), &got);
        if (!ml_file_write(ml_text_z(&path), ml_text_z(&got), got.n))
            complain(s, "cannot write %s: %s", ml_text_z(&path), strerror(errno));
    } else if (!there) {
        complain(s, "there is no %s; --update writes it; the screen is", ml_text_z(&path));
        show_screen(s);
    } else if (row) {
        complain(s, "the screen differs from %s in row %d; it is", ml_text_z(&path), row);
        show_screen(s);
    }
    ml_text_free(&path);
    ml_text_free(&got);
    ml_text_free(&want);
}

static void mouse(Script *s, const char *word, const char *p)
{
    bool drag = ml_streq(word, "drag"), wheel = ml_streq(word, "wheel");
    bool up = wheel && strncmp(p, "up ", 3) == 0;
    ml_View *v = &s->v;
    int at[4];

    if (wheel && !up && strncmp(p, "down ", 5) != 0) {
        complain(s, "wheel up X Y, or wheel down X Y");
        return;
    }
    if (!numbers(p + (!wheel ? 0 : up ? 3 : 5), at, drag ? 4 : 2)) {
        complain(s, "%s takes %s", word, drag ? "X Y X Y" : "X Y");
        return;
    }
    ml_view_draw(v); /* what is clicked at is where it was shown */
    if (wheel) {
        ml_view_mouse(v, up ? ML_EVENT_WHEEL_UP : ML_EVENT_WHEEL_DOWN, at[0], at[1]);
        return;
    }
    ml_view_mouse(v, ML_EVENT_PRESS, at[0], at[1]);
    if (drag) {
        ml_view_draw(v);
        ml_view_mouse(v, ML_EVENT_DRAG, at[2], at[3]);
        ml_view_settle(v);
    }
    ml_view_mouse(v, ML_EVENT_RELEASE, at[drag ? 2 : 0], at[drag ? 3 : 1]);
    if (ml_streq(word, "double"))
        ml_view_double(v, at[0], at[1]);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median and longest of the times from a key to the screen that it leads to. */
static void time_keys(Script *s, const char *p)
{
    char *end;
    long times = strtol(p, &end, 10);

    if (end == p || times < 1 || times > 1000 || *end != ' ' ||
        strlen(end) > MOST_TIMED / 10) {
        complain(s, "time takes a number up to 1000 and keys");
        return;
    }
    s->took = ml_heap_zalloc(MOST_TIMED * sizeof *s->took);
    s->n_took = 0;
    while (times-- > 0)
        keys(s, end + 1);
    qsort(s->took, s->n_took, sizeof *s->took, by_size);
    if (s->n_took > 0)
        ml_text_fmt(&s->shown, "%zu keys: median %.2f ms, longest %.2f ms\n", s->n_took,
                    s->took[s->n_took / 2], s->took[s->n_took - 1]);
    ml_heap_free(s->took);
    s->took = NULL;
}

static void run_line(Script *s, char *p)
{
    size_t n;
    char *rest;
    int w, h;

    p += strspn(p, " \t");
    n = strlen(p);
    while (n > 0 && (p[n - 1] == '\r' || p[n - 1] == '\n'))
        p[--n] = '\0';
    if (*p == '\0' || *p == '#')
        return;
    n = strcspn(p, " ");
    rest = p + n;
    if (*rest)
        *rest++ = '\0';
    if (ml_streq(p, "type")) { /* with its blanks */
        type(s, rest);
        return;
    }
    rest += strspn(rest, " ");
    for (n = strlen(rest); n > 0 && rest[n - 1] == ' ';)
        rest[--n] = '\0';
    if (ml_streq(p, "key"))
        keys(s, rest);
    else if (ml_streq(p, "wait") && ml_streq(rest, "idle"))
        wait_idle(s);
    else if (ml_streq(p, "click") || ml_streq(p, "double") || ml_streq(p, "drag") ||
             ml_streq(p, "wheel"))
        mouse(s, p, rest);
    else if (ml_streq(p, "resize") && ml_view_size_of(rest, &w, &h))
        ml_view_resize(&s->v, w, h);
    else if (ml_streq(p, "resize"))
        complain(s, "resize takes WxH, not %s", rest);
    else if (ml_streq(p, "expect"))
        expect(s, rest, true);
    else if (ml_streq(p, "expect-not"))
        expect(s, rest, false);
    else if (ml_streq(p, "snapshot"))
        snapshot(s, rest);
    else if (ml_streq(p, "time"))
        time_keys(s, rest);
    else if (ml_streq(p, "print")) {
        ml_view_settle(&s->v);
        ml_grid_text(&s->v.grid, &s->shown);
    } else
        complain(s,
                 "%s is none of key, type, click, double, drag, wheel, resize, wait idle, "
                 "expect, expect-not, snapshot, print, time",
                 p);
}

/* What jobs tell when they end, as at a terminal. */
static void announce(const char *text, void *user)
{
    Script *s = user;

    ml_view_say(&s->v, "%s", text);
    ml_view_log(&s->v, text, strlen(text));
}

/* Goes on after a text that was not there or a screen that differs, so that one run tells
 * all of them; ends where the view is left. */
bool ml_view_script(ml_Session *ss, const char *path, int w, int h, bool update)
{
    Script s = {.path = path, .update = update};
    ml_Text text = {0};
    FILE *f = ml_streq(path, "-") ? stdin : fopen(path, "r");

    if (!f)
        return ml_session_error(ss, ML_E_NO_FILE, "--keys %s: %s", path, strerror(errno));
    read_whole(f, &text);
    bool ok = !ferror(f);
    int error = errno;

    if (f != stdin)
        fclose(f);
    if (!ok || !ml_capture_begin()) {
        ml_text_free(&text);
        return ml_session_error(ss, ML_E_NO_FILE, "--keys %s: %s", path,
                                strerror(ok ? errno : error));
    }
    ml_view_init(&s.v, ss, w, h, ss->out.ascii);
    ss->patient = true; /* what a slow machine shows, a fast one shows too */
    ml_loop_set_announcer(announce, &s);
    for (char *p = text.p; p && *p && !s.v.quit;) {
        char *end = strchr(p, '\n');

        if (end)
            *end = '\0';
        s.line++;
        run_line(&s, p);
        if (!end)
            break;
        p = end + 1;
    }
    ml_loop_set_announcer(NULL, NULL);
    ml_capture_end();
    ml_out(&ss->out, ml_text_z(&s.shown));
    if (s.told.n)
        ml_err(&ss->out, ml_text_z(&s.told));
    ss->patient = false;
    if (s.v.end)
        ss->quit = true;
    if (s.failed && ss->status == 0)
        ss->status = 1;
    ml_view_free(&s.v);
    ml_text_free(&s.told);
    ml_text_free(&s.shown);
    ml_text_free(&text);
    return !s.failed;
}

/*
 * driver - events in, grids out. Between keys it waits in the session's one loop, so that
 * jobs and timers go on; what waits to be worked out is done in slices of a few
 * milliseconds, and a key ends the slice. Source: interaction 9, 10.
 */
#include "repl/view/driver.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/job/jobs.h"
#include "repl/out/interrupt.h"
#include "repl/out/loop.h"
#include "repl/screen/screen.h"
#include "repl/session/themes.h"
#include "repl/view/state/capture.h"
#include "repl/view/view.h"

enum { SLICE = 5, DOUBLE_CLICK = 400, REFRESH = 500, REST = 250, SHOWN = 100 }; /* ms */

void ml_view_event(ml_View *v, const ml_Event *e)
{
    ml_Key k = {.name = e->name};

    memcpy(k.ch, e->ch, sizeof k.ch);
    if (e->kind == ML_EVENT_KEY)
        ml_view_key(v, &k);
    else
        ml_view_mouse(v, e->kind, e->x, e->y);
}

void ml_view_settle(ml_View *v)
{
    while (ml_view_idle(v, SLICE)) {
    }
    ml_capture_drain(v);
    ml_view_draw(v);
}

/* ---- at a terminal */

typedef struct Driver {
    ml_View v;
    unsigned changes; /* of the jobs, when they were looked at last */
    int64_t pressed;  /* when, and where */
    int x, y;
    bool whole, stale;
    char theme[ML_SETTING_LENGTH]; /* that is shown, and what was defined then */
    unsigned themes;
    int64_t key;   /* when the last event came */
    int64_t shown; /* when what takes long was told last */
} Driver;

static void announce(const char *text, void *user)
{
    Driver *d = user;

    ml_view_say(&d->v, "%s", text);
    ml_view_log(&d->v, text, strlen(text));
    d->stale = true;
}

/* The second press at one place within a moment is a double click. */
static void press(Driver *d, const ml_Event *e)
{
    int64_t now = ml_loop_now();
    bool twice = now - d->pressed <= DOUBLE_CLICK && e->x == d->x && e->y == d->y;

    ml_view_event(&d->v, e);
    if (twice)
        ml_view_double(&d->v, e->x, e->y);
    d->pressed = twice ? 0 : now;
    d->x = e->x;
    d->y = e->y;
}

static void take(Driver *d, const ml_Event *e)
{
    int w, h;

    if (e->kind == ML_EVENT_RESIZE) {
        ml_screen_size(&w, &h);
        ml_view_resize(&d->v, w, h);
    }
    d->whole = d->whole || e->kind == ML_EVENT_RESIZE || e->kind == ML_EVENT_RETURN ||
               (e->name && ml_streq(e->name, "C-l"));
    if (e->kind == ML_EVENT_PRESS)
        press(d, e);
    else
        ml_view_event(&d->v, e);
}

/* While a line runs: the window has another size, or is there again. */
static void keep_in_shape(void *user, ml_Session *ss)
{
    Driver *d = user;
    int w, h;

    (void)ss;
    if (!d->v.busy || !ml_screen_changed())
        return;
    ml_screen_size(&w, &h);
    ml_view_resize(&d->v, w, h);
    ml_view_draw(&d->v);
    ml_screen_show(&d->v.grid, true);
}

static void send_clipboard(ml_View *v)
{
    const char *text = ml_act_clipboard(v);

    if (!text)
        return;
    ml_screen_clipboard(text);
    ml_act_clipboard_taken(v);
}

/* :set theme, and definitions, show at once. */
static void follow_theme(Driver *d)
{
    const char *name = ml_setting_word(&d->v.ss->set, ML_SET_theme);
    ml_ThemeDef look;

    if (ml_streq(name, d->theme) && d->themes == ml_themes_changes(d->v.ss))
        return;
    snprintf(d->theme, sizeof d->theme, "%s", name);
    d->themes = ml_themes_changes(d->v.ss);
    look = ml_themes_now(d->v.ss);
    ml_screen_theme(&look);
    d->whole = true;
}

/* Everything that is there now; false: the terminal is gone. */
static bool take_all(Driver *d)
{
    ml_Event e[32];
    bool ended = false;
    size_t n;

    do {
        n = ml_screen_events(e, ML_COUNT(e), &ended);
        for (size_t k = 0; k < n && !d->v.quit; k++) {
            ml_screen_busy(true);
            take(d, &e[k]);
            ml_screen_busy(false);
            d->stale = true;
        }
        send_clipboard(&d->v);
        follow_theme(d);
    } while (n == ML_COUNT(e) && !d->v.quit);
    return !ended;
}

/* While something takes long: tells how far it is, and whether an event waits. */
static bool pressed(void *user, const char *what, double share)
{
    Driver *d = user;
    struct pollfd p[2] = {{.fd = ml_screen_fd(), .events = POLLIN},
                          {.fd = ml_screen_signal_fd(), .events = POLLIN}};
    int64_t now = ml_loop_now();

    if (now - d->shown >= SHOWN && d->v.message.n == 0) {
        d->shown = now;
        ml_view_say(&d->v, "counting %s  %.0f %%   Esc stops it", what, 100 * share);
        ml_view_draw(&d->v);
        ml_screen_show(&d->v.grid, false);
        ml_text_clear(&d->v.message);
    }
    return poll(p, 2, 0) > 0 || ml_interrupted();
}

/* A piece of what is done when the keys rest; what waits is told meanwhile. */
static void rest(Driver *d)
{
    d->shown = ml_loop_now();
    (void)ml_view_rest(&d->v);
    d->stale = true;
}

static void loop(Driver *d)
{
    ml_View *v = &d->v;
    bool more = true, there = true;
    bool idled = false; /* all that was waiting has been worked out, and nothing came in */

    d->whole = d->stale = true;
    while (there && !v->quit && !v->ss->quit) {
        bool signalled = false;

        ml_capture_drain(v);
        if (ml_jobs_changes(v->ss) != d->changes) {
            d->changes = ml_jobs_changes(v->ss);
            ml_view_stale(v);
            d->stale = true;
            idled = false;
        }
        if (d->stale || d->whole) {
            ml_view_draw(v);
            /* what has been drawn may want more, but for what looks as it did */
            more = ml_screen_show(&v->grid, d->whole) || !idled;
            d->stale = d->whole = idled = false;
        }
        bool rests = !more && ml_view_rests(v);
        int64_t left = d->key + REST - ml_loop_now();
        int wait = more ? 0 : ml_jobs_running(v->ss) ? REFRESH : -1;

        if (rests && (wait < 0 || left < wait))
            wait = left > 0 ? (int)left : 0;
        bool keys = ml_loop_wait(ml_screen_fd(), ml_screen_signal_fd(), wait, &signalled);

        if (ml_interrupted()) { /* kill -INT: as Ctrl-C */
            const ml_Key k = {.name = "C-c"};

            ml_interrupt_answer();
            ml_view_key(v, &k);
            d->stale = true;
        }
        if (keys || signalled) {
            there = take_all(d);
            d->key = ml_loop_now();
            idled = false;
        } else if (rests && ml_loop_now() >= d->key + REST) {
            rest(d);
        } else if (more) {
            more = ml_view_idle(v, SLICE);
            if (!more)
                d->stale = idled = true;
        }
    }
    if (!there) {
        v->end = true;
        v->ss->lost_terminal = true;
    }
}

bool ml_view_terminal(ml_Session *ss)
{
    Driver *d = calloc(1, sizeof *d);
    ml_Text why = {0};
    int w, h;

    if (!d)
        ml_out_of_memory();
    ml_out_flush(&ss->out);
    ml_ThemeDef look = ml_themes_now(ss);

    if (!ml_screen_open(&look, ml_setting_bool(&ss->set, ML_SET_mouse),
                        ml_setting_is(&ss->set, ML_SET_color, "never"), &why)) {
        ml_session_error(ss, ML_E_NOT_SUPPORTED, ":view %s", ml_text_z(&why));
        ml_text_free(&why);
        free(d);
        return false;
    }
    if (!ml_capture_begin()) {
        int error = errno;

        ml_screen_close();
        free(d);
        return ml_session_error(ss, ML_E_NO_SPACE,
                                ":view wants a file for what is printed: %s",
                                strerror(error));
    }
    ml_screen_size(&w, &h);
    ml_view_init(&d->v, ss, w, h, ss->out.ascii);
    if (!ss->private_)
        ml_view_layout_load(&d->v);
    d->changes = ml_jobs_changes(ss);
    d->v.pressed = pressed;
    d->v.pressed_user = d;
    ml_loop_set_announcer(announce, d);
    const ml_Observer observer = {.name = "view", .user = d, .on_tick = keep_in_shape};

    ml_session_observe(ss, &observer);
    loop(d);
    ml_session_unobserve(ss, &observer);
    ml_loop_set_announcer(NULL, NULL);
    ml_screen_close();
    ml_capture_end();
    if (!ss->private_)
        ml_view_layout_save(&d->v);
    if (d->v.end)
        ss->quit = true;
    ml_view_free(&d->v);
    ml_text_free(&why);
    free(d);
    return true;
}

/*
 * line_draw - the line that is being typed, on the screen.
 *
 * Readline says what the line is and asks for it to be shown; the picture is made and sent
 * by line_grid. When the keys rest, the line is tried. What is written to the terminal in
 * between goes through here, so that what stands there is always known.
 * Source: interaction 4.
 */
#include "repl/line/line_impl.h"

#include "config.h"

#if HAVE_READLINE

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <readline/readline.h>

#include "moonloop/core/base/arena.h"
#include "repl/keep/history.h"
#include "repl/line/complete.h"
#include "repl/line/hint.h"
#include "repl/line/line_grid.h"
#include "repl/out/loop.h"
#include "repl/screen/write_all.h"
#include "repl/screen/writer.h"
#include "repl/session/themes.h"

enum { REST_MS = 30 }; /* after the last key, before the line is tried */

static struct {
    ml_Writer screen;
    ml_Text line;   /* as it was drawn last */
    ml_Trial trial; /* of that line */
    int timer;      /* until it is tried; 0: none */
    bool ghosts;    /* the terminal tells grey text from what was typed */
} draw;

void ml_terminal_write(const char *p, size_t n)
{
    fflush(stdout);
    (void)ml_write_all(STDOUT_FILENO, p, n); /* a terminal that is gone: reading tells */
}

static void send(ml_Text *t)
{
    if (t->n && !t->bad)
        ml_terminal_write(t->p, t->n);
    ml_text_free(t);
}

bool ml_draw_can(void)
{
    static ml_Terminal here;
    const char *const *can = here.cap, *term = getenv("TERM");

    here = *ml_terminal();
    here.attrs |= ML_ATTR_DIM; /* passed over where there is none */
    draw.screen = (ml_Writer){.to = &here, .among = true};
    /* DEC's terminals of old have no dim, and neither do their emulations. */
    draw.ghosts = !term || strncmp(term, "vt", 2) != 0;
    return can[ML_CAP_UP] && can[ML_CAP_DOWN] && can[ML_CAP_RIGHT] &&
           can[ML_CAP_CLEAR_ROW] && can[ML_CAP_CLEAR_BELOW];
}

/* ---- what is shown */

static ml_Theme theme_now(void)
{
    ml_Session *ss = ml_line_io.ss;
    ml_ThemeDef d = ml_themes_now(ss);
    ml_Theme t;

    ml_theme_make(&t, &d,
                  ss->out.color ? ml_theme_depth(ml_terminal()->colors) : ML_DEPTH_NONE);
    return t;
}

/* Readline shows something of its own in place of the prompt: a search, an argument. */
static bool is_message(void)
{
    return rl_display_prompt && rl_prompt && rl_display_prompt != rl_prompt &&
           !ml_streq(rl_display_prompt, rl_prompt);
}

static bool in_vi_command(void)
{
    return rl_editing_mode == 0 && rl_get_keymap() == rl_get_keymap_by_name("vi-command");
}

const char *ml_draw_suggestion(void)
{
    const ml_History *h = ml_line_io.ss->history;

    if (!draw.ghosts || ml_line_io.more || rl_end == 0 || rl_point != rl_end ||
        is_message() || in_vi_command())
        return NULL;
    for (size_t k = ml_history_count(h); k-- > 0;) {
        const char *z = ml_history_at(h, k);

        if (!ml_history_failed(h, k) && strncmp(z, rl_line_buffer, (size_t)rl_end) == 0 &&
            z[rl_end])
            return z + rl_end;
    }
    return NULL;
}

/* Its own word for the mode goes before the prompt, as Readline would put it. */
static void add_mode(ml_Text *out)
{
    const char *on = rl_variable_value("show-mode-in-prompt");
    const char *mode;

    if (!on || !ml_streq(on, "on") || is_message())
        return;
    mode = rl_variable_value(rl_editing_mode   ? "emacs-mode-string"
                             : in_vi_command() ? "vi-cmd-mode-string"
                                               : "vi-ins-mode-string");
    if (mode)
        ml_text_add(out, mode);
}

static void set_mark(ml_LineView *v)
{
#if RL_READLINE_VERSION >= 0x0801
    if (rl_mark_active_p() && rl_mark >= 0 && rl_mark <= rl_end) {
        v->mark_from = (size_t)(rl_mark < rl_point ? rl_mark : rl_point);
        v->mark_to = (size_t)(rl_mark < rl_point ? rl_point : rl_mark);
    }
#else
    (void)v;
#endif
}

static void set_hint(ml_LineView *v, int at, const ml_Hint *h)
{
    v->hints[at] = (ml_LineHint){h->text, h->spans.v, h->spans.n};
}

static void show(const char *text, size_t cursor, bool final)
{
    ml_Session *ss = ml_line_io.ss;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text prompt = {0}, out = {0};
    ml_RoleSpans spans = {0};
    ml_Grid picture = {0};
    ml_Theme theme = theme_now();
    int w = 80, h = 24;

    rl_get_screen_size(&h, &w);
    add_mode(&prompt);
    ml_text_add(&prompt, rl_display_prompt ? rl_display_prompt : "");
    ml_LineView v = {.prompt = ml_text_z(&prompt),
                     .text = text,
                     .n = strlen(text),
                     .cursor = cursor,
                     .ascii = ss->out.ascii};

    ml_colour(cx, ml_line_io.more ? ml_language_of_line(text) : ml_language_of_input(text),
              text, v.n, &spans);
    v.spans = spans.v;
    v.n_spans = spans.n;
    if (!final) {
        set_mark(&v);
        v.suggestion = ml_draw_suggestion();
    }
    if (!final && !is_message()) {
        ml_Hint hint = *text || ml_line_io.more ? ml_hint(ss, cx, text, cursor, w)
                                                : ml_hint_jobs(ss, cx);
        ml_Hint tried = ml_hint_trial(ss, cx, &draw.trial);

        set_hint(&v, 0, &hint);
        set_hint(&v, hint.text ? 1 : 0, &tried);
    }
    ml_line_draw(&v, w, h, &picture);
    ml_writer_show(&draw.screen, &picture, &theme, &out);
    ml_grid_free(&picture);
    ml_ctx_unref(cx);
    ml_text_free(&prompt);
    send(&out);
}

/* ---- the trial */

static void drop_trial(void)
{
    ml_loop_cancel(draw.timer);
    draw.timer = 0;
    ml_trial_free(&draw.trial);
}

static void on_rest(void *user)
{
    (void)user;
    draw.timer = 0;
    if (!ml_line_io.reading)
        return;
    ml_Text closed = {0};
    /* A list that was put there is shown as if the call ended behind it. */
    bool cycling =
        ml_line_cycling() && ml_completion_close(rl_line_buffer, (size_t)rl_end, &closed);

    ml_trial(ml_line_io.ss, cycling ? ml_text_z(&closed) : rl_line_buffer, ML_TRIAL_MS,
             false, &draw.trial);
    ml_text_free(&closed);
    if (draw.trial.kind != ML_TRIAL_NONE)
        ml_draw();
}

static bool may_try(void)
{
    return !ml_line_io.more && !is_message() && ml_line_io.ss->focus &&
           ml_setting_bool(&ml_line_io.ss->set, ML_SET_preview) &&
           ml_language_of_input(rl_line_buffer) == ML_LANGUAGE_LUA;
}

static bool key_waits(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

void ml_draw(void)
{
    /* More has been typed: what is shown now would be gone at once. The key that comes is
     * followed by a redisplay, too. */
    if (draw.screen.valid && ml_line_io.reading && key_waits())
        return;
    if (!draw.line.n || strcmp(ml_text_z(&draw.line), rl_line_buffer) != 0) {
        drop_trial();
        ml_text_clear(&draw.line);
        ml_text_add(&draw.line, rl_line_buffer);
        if (may_try())
            draw.timer = ml_loop_after(REST_MS, on_rest, NULL);
    }
    show(rl_line_buffer, (size_t)rl_point, false);
}

/* ---- beginning and end */

/* What was written before may not have ended its line: a mark shows where, and as many
 * blanks as the screen is wide end on the next row only then. */
void ml_draw_begin(void)
{
    int w = 80, h = 24;
    ml_Text t = {0};

    rl_get_screen_size(&h, &w);
    ml_writer_forget(&draw.screen);
    bool color = ml_line_io.ss->out.color;

    ml_text_fmt(&t, "%s%%%s", ml_style(color, ML_STYLE_REVERSE),
                ml_style(color, ML_STYLE_PLAIN));
    ml_text_repeat(&t, ' ', (size_t)(w > 1 ? w - 1 : 0));
    ml_text_add(&t, "\r \r");
    send(&t);
    ml_text_clear(&draw.line);
}

void ml_draw_end(const char *text, const char *tail)
{
    ml_Text t = {0};

    drop_trial();
    show(text, strlen(text), true);
    ml_text_clear(&draw.line);
    ml_text_add(&t, tail);
    ml_writer_forget(&draw.screen);
    send(&t);
}

void ml_draw_erase(void)
{
    ml_Text t = {0};

    ml_writer_erase(&draw.screen, &t);
    send(&t);
}

void ml_draw_below(void)
{
    ml_Text t = {0};

    if (draw.screen.valid)
        show(rl_line_buffer, (size_t)rl_end, true);
    ml_writer_leave(&draw.screen, &t);
    send(&t);
}

void ml_draw_clear(bool scrollback)
{
    ml_Text t = {0};

    ml_writer_forget(&draw.screen);
    ml_text_add(&t, ml_escape(ML_CAP_CLEAR));
    ml_text_add(&t, scrollback ? ml_escape(ML_CAP_CLEAR_SAVED) : "");
    send(&t);
    ml_draw();
}

void ml_draw_resized(void)
{
    ml_Text t = {0};
    int w = 80, h = 24;

    rl_get_screen_size(&h, &w);
    ml_writer_resized(&draw.screen, w, &t);
    send(&t);
    ml_draw();
}

void ml_draw_announce(const char *text, void *user)
{
    ml_Session *ss = ml_line_io.ss;

    (void)user;
    if (!ml_line_io.reading) {
        ml_err_line(&ss->out, text);
        return;
    }
    ml_draw_erase();
    ml_err_line(&ss->out, text);
    ml_draw();
}

void ml_draw_free(void)
{
    drop_trial();
    ml_writer_forget(&draw.screen);
    ml_text_free(&draw.line);
}

#endif

/*
 * line_editor - Readline through its callback interface: setting it up, one line, signals,
 * the keys that are ours.
 *
 * The line is drawn by line_draw, Readline writes to nowhere: all that reaches the terminal
 * is ours. Keys keep the functions that ~/.inputrc gives them; some functions are
 * replaced by ours, whatever key has them. Source: interaction 4, 9.
 */
#include "repl/line/line_impl.h"

#include "config.h"

#if HAVE_READLINE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "moonloop/core/base/file.h"
#include "repl/keep/history.h"
#include "repl/out/loop.h"
#include "repl/screen/terminal.h"
#include "repl/screen/write_all.h"

static struct {
    char *line; /* what the editor handed over */
    bool done;  /* the editor handed over: a line or, when it is NULL, the end */
} got;

/* ---- the terminal's modes */

static bool variable_on(const char *name)
{
    const char *z = rl_variable_value(name);

    return z && ml_streq(z, "on");
}

/* Readline switches the terminal's modes but its sequences go nowhere. */
static void send_modes(bool on)
{
    static const struct {
        const char *variable;
        ml_Cap on, off;
    } MODES[] = {{"enable-bracketed-paste", ML_CAP_PASTE_ON, ML_CAP_PASTE_OFF},
                 {"enable-keypad", ML_CAP_KEYPAD_ON, ML_CAP_KEYPAD_OFF}};

    for (size_t k = 0; k < ML_COUNT(MODES); k++) {
        const char *z = ml_escape(on ? MODES[k].on : MODES[k].off);

        if (variable_on(MODES[k].variable))
            ml_terminal_write(z, strlen(z));
    }
}

static void prepare(int meta)
{
    rl_prep_terminal(meta);
    send_modes(true);
}

static void unprepare(void)
{
    rl_deprep_terminal();
    send_modes(false);
}

static void show_editor(void)
{
    prepare(1);
    rl_reset_screen_size();
    ml_draw_begin();
    rl_forced_update_display();
}

/* ---- one line */

static void on_line(char *line)
{
    got.line = line;
    got.done = true;
    /* The end of the input is the caller's to show. */
    ml_draw_end(line ? line : "", line ? "\r\n" : "");
    ml_line_io.reading = false;
    rl_callback_handler_remove(); /* the terminal is back before the line runs */
}

/* Ctrl-C: what was typed stays on the screen, a new line begins. */
static void clear_line(void)
{
    rl_free_line_state();
    rl_callback_sigcleanup();
    rl_point = rl_end;
    rl_restore_prompt();
    ml_draw_end(rl_line_buffer, "^C\r\n");
    rl_callback_handler_remove();
    ml_line_io.reading = false;
}

void ml_editor_signal(int sig)
{
    if (!ml_line_io.reading)
        return;
    switch (sig) {
    case SIGINT: clear_line(); break;
    case SIGWINCH:
        rl_reset_screen_size();
        ml_draw_resized();
        break;
    case SIGTSTP:
        if (!ml_line_may_stop())
            break;
        ml_draw_below();
        unprepare();
        ml_line_stop();
        show_editor();
        ml_line_io.resumed = true;
        break;
    case SIGCONT:
        /* Stopped from outside: the shell has changed the terminal. A shell may also
         * continue us once more after Ctrl-Z, when everything is shown already. */
        if (!ml_line_io.resumed)
            show_editor();
        break;
    default: /* it ends the program */
        ml_draw_below();
        rl_callback_handler_remove();
        break;
    }
}

/* ---- functions of ours in the place of Readline's */

static bool at_suggestion(int count)
{
    return count == 1 && ml_draw_suggestion() != NULL;
}

static void accept(size_t n)
{
    char *z = strndup(ml_draw_suggestion(), n);

    if (z)
        rl_insert_text(z);
    free(z);
}

static int forward_char(int count, int key)
{
    if (!at_suggestion(count))
        return rl_forward_char(count, key);
    accept(strlen(ml_draw_suggestion()));
    return 0;
}

static int end_of_line(int count, int key)
{
    if (rl_point < rl_end || !at_suggestion(count))
        return rl_end_of_line(count, key);
    accept(strlen(ml_draw_suggestion()));
    return 0;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || (c & 0x80) != 0;
}

static int forward_word(int count, int key)
{
    const char *z;
    size_t n = 0;

    if (!at_suggestion(count))
        return rl_forward_word(count, key);
    z = ml_draw_suggestion();
    while (z[n] && !in_word(z[n]))
        n++;
    while (in_word(z[n]))
        n++;
    accept(n);
    return 0;
}

static int clear_screen(int count, int key)
{
    (void)count;
    (void)key;
    ml_draw_clear(false);
    return 0;
}

static int clear_display(int count, int key)
{
    (void)count;
    (void)key;
    ml_draw_clear(true);
    return 0;
}

static int redraw(int count, int key)
{
    (void)count;
    (void)key;
    ml_draw_erase();
    ml_draw();
    return 0;
}

static void replace(Keymap map, rl_command_func_t *from, rl_command_func_t *to, int depth)
{
    enum { MAX_DEPTH = 8 }; /* longer than any sequence that a key sends */

    for (int k = 0; map && k < KEYMAP_SIZE; k++)
        if (map[k].type == ISKMAP && depth < MAX_DEPTH)
            replace((Keymap)map[k].function, from, to, depth + 1);
        else if (map[k].type == ISFUNC && map[k].function == from)
            map[k].function = to;
}

/* At each line: an init file may have been read again. */
static void replace_functions(void)
{
    static const char *const MAPS[] = {"emacs-standard", "vi-insert", "vi-command"};
    static const struct {
        rl_command_func_t *from, *to;
    } BY[] = {
        {rl_forward_char, forward_char},
        {rl_end_of_line, end_of_line},
        {rl_forward_word, forward_word},
        {rl_clear_screen, clear_screen},
        {rl_refresh_line, redraw},
        {rl_complete, ml_line_complete},
#if RL_READLINE_VERSION >= 0x0801
        {rl_clear_display, clear_display},
#endif
    };

    for (size_t m = 0; m < ML_COUNT(MAPS); m++)
        for (size_t k = 0; k < ML_COUNT(BY); k++)
            replace(rl_get_keymap_by_name(MAPS[m]), BY[k].from, BY[k].to, 0);
    (void)clear_display;
}

/* ---- Ctrl-X Ctrl-E: the line in $EDITOR */

static int edit_outside(int count, int key)
{
    const char *editor = getenv("VISUAL"), *tmp = getenv("TMPDIR");
    ml_Text path = {0}, cmd = {0}, text = {0};

    (void)count;
    (void)key;
    if (ml_line_io.ss->safe)
        return rl_ding();
    if (!editor || !*editor)
        editor = getenv("EDITOR");
    if (!editor || !*editor)
        editor = "vi";
    ml_text_fmt(&path, "%s/moonloop.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = path.bad ? -1 : mkstemp(path.p);
    bool ok = fd >= 0 && ml_write_all(fd, rl_line_buffer, strlen(rl_line_buffer));

    if (fd >= 0)
        close(fd);
    if (ok) {
        ml_text_fmt(&cmd, "%s '%s'", editor, path.p);
        ml_draw_erase();
        unprepare();
        ml_line_give_signals();
        ok = system(ml_text_z(&cmd)) == 0; /* NOLINT(cert-env33-c): the user's own editor */
        ml_line_take_signals();
        if (ok) {
            (void)ml_file_read(path.p, &text);
            while (text.n && text.p[text.n - 1] == '\n')
                text.n--;
            rl_replace_line(ml_text_z(&text), 1);
            rl_point = rl_end;
        }
        show_editor();
    }
    if (fd >= 0)
        unlink(path.p);
    ml_text_free(&path);
    ml_text_free(&cmd);
    ml_text_free(&text);
    return ok ? 0 : rl_ding();
}

/* ---- setting up */

enum { KEY_WAIT = 150, KEY_WAIT_MAX = 199 }; /* ms; a half-typed key never holds the loop */

bool ml_editor_start(void)
{
    FILE *nowhere = ml_draw_can() ? fopen("/dev/null", "w") : NULL;

    if (!nowhere)
        return false;
    rl_readline_name = "moonloop"; /* $if moonloop */
    rl_instream = stdin;
    rl_outstream = nowhere;
    rl_prep_term_function = prepare;
    rl_deprep_term_function = unprepare;
    rl_catch_signals = 0;
    rl_catch_sigwinch = 0;
    rl_change_environment = 0;
    rl_variable_bind("enable-bracketed-paste", "on");
    rl_add_defun("edit-and-execute-command", edit_outside, -1);
    rl_bind_keyseq_if_unbound("\\C-x\\C-e", edit_outside);
    ml_line_complete_start();
    rl_initialize();
    ml_line_io.inputrc_mode = rl_editing_mode;
    rl_redisplay_function = ml_draw;
    const char *wait = rl_variable_value("keyseq-timeout");
    long ms = wait ? strtol(wait, NULL, 10) : -1;

    if (ms < 0 || ms > KEY_WAIT_MAX) {
        char text[16];

        snprintf(text, sizeof text, "%d", KEY_WAIT);
        rl_variable_bind("keyseq-timeout", text);
    }
    return true;
}

/* As the setting `keys` says, from this line on. */
static void take_keys(void)
{
    const char *keys = ml_setting_word(&ml_line_io.ss->set, ML_SET_keys);
    int mode = ml_streq(keys, "emacs") ? 1
               : ml_streq(keys, "vi")  ? 0
                                       : ml_line_io.inputrc_mode;

    if (rl_editing_mode != mode)
        rl_variable_bind("editing-mode", mode ? "emacs" : "vi");
}

/* Readline's own copy of the entries. */
static void take_history(void)
{
    const ml_History *h = ml_line_io.ss->history;

    if ((size_t)history_length > ml_history_count(h)) /* the oldest were dropped */
        clear_history();
    for (size_t k = (size_t)history_length; k < ml_history_count(h); k++)
        add_history(ml_history_at(h, k));
    using_history();
}

char *ml_editor_read(const char *prompt, bool *interrupted)
{
    got.line = NULL;
    got.done = false;
    take_keys();
    take_history();
    ml_line_take_signals();
    ml_loop_set_announcer(ml_draw_announce, NULL);
    ml_line_io.reading = true;
    replace_functions();
    ml_draw_begin();
    rl_callback_handler_install(prompt, on_line);
    while (!got.done && !*interrupted)
        if (ml_line_wait(interrupted)) {
            rl_callback_read_char();
            ml_line_io.resumed = false;
        }
    ml_line_io.reading = false;
    ml_loop_set_announcer(NULL, NULL);
    ml_line_give_signals();
    return got.line;
}

void ml_editor_end(void)
{
    clear_history();
    ml_line_complete_end();
    ml_draw_free();
    fclose(rl_outstream);
    rl_outstream = stdout;
}

#endif

/*
 * no_curses - the terminal of a build without ncurses: it cannot be opened, and says so.
 * The other one is curses.c.
 */
#include "repl/screen/screen.h"

#include "config.h"

#if !HAVE_CURSES

bool ml_screen_open(const ml_ThemeDef *theme, bool mouse, bool no_color, ml_Text *why)
{
    (void)theme, (void)mouse, (void)no_color;
    ml_text_add(why, "wants ncurses, which this program was built without");
    return false;
}

void ml_screen_theme(const ml_ThemeDef *theme)
{
    (void)theme;
}

void ml_screen_close(void)
{
}

bool ml_screen_is_open(void)
{
    return false;
}

void ml_screen_restore(void)
{
}

void ml_screen_size(int *w, int *h)
{
    *w = 80;
    *h = 24;
}

bool ml_screen_show(const ml_Grid *g, bool whole)
{
    (void)g, (void)whole;
    return false;
}

void ml_screen_scribble(const char *z)
{
    (void)z;
}

int ml_screen_fd(void)
{
    return -1;
}

int ml_screen_signal_fd(void)
{
    return -1;
}

size_t ml_screen_events(ml_Event *out, size_t n, bool *ended)
{
    (void)out, (void)n;
    *ended = true;
    return 0;
}

void ml_screen_busy(bool on)
{
    (void)on;
}

void ml_screen_clipboard(const char *text)
{
    (void)text;
}

#endif

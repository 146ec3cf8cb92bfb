/*
 * controls - text that goes to a terminal, of which nothing but its colours acts on it.
 *
 * Names, records and what Lua prints come from anywhere: a title, a cleared screen or a moved
 * cursor in one of them is shown as ^X, like in a grid. Source: interaction 4.
 */
#include "repl/out/out.h"

/* Bytes of what is shown as it is; 0: it acts, or is no text: bytes of 8-bit terminals. */
static size_t shown_as_is(const char *p, bool color)
{
    unsigned char c = (unsigned char)p[0];
    size_t look = color ? ml_escape_look(p) : 0, n = 1;

    if (look > 0 || c < 0x80)
        return look > 0 ? look : c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f);
    (void)ml_char_columns(p, strnlen(p, 4), &n);
    return ml_char_odd(p, strnlen(p, 4)) ? 0 : n;
}

bool ml_out_acts(const char *text, bool color)
{
    for (size_t n; *text; text += n)
        if ((n = shown_as_is(text, color)) == 0)
            return true;
    return false;
}

void ml_out_shown(ml_Text *out, const char *text, bool color)
{
    for (size_t n; *text; text += n) {
        unsigned char c = (unsigned char)*text;

        n = shown_as_is(text, color);
        ml_text_addn(out, text, n);
        if (n == 0 && c < 0x80)
            ml_text_fmt(out, "^%c", c ^ 0x40);
        else if (n == 0)
            ml_text_fmt(out, "<%02x>", c);
        n = n ? n : 1;
    }
}

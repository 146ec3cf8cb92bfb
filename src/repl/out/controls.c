/*
 * controls - text that goes to a terminal, of which nothing but its colours acts on it.
 *
 * Names, records and what Lua prints come from anywhere: a title, a cleared screen or a moved
 * cursor in one of them is shown as ^X, like in a grid. Source: interaction 4.
 */
#include "repl/out/out.h"

static bool is_control(const char *p)
{
    unsigned char c = (unsigned char)p[0], next = c ? (unsigned char)p[1] : 0;

    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
           (c == 0xc2 && next >= 0x80 && next < 0xa0); /* C1, as UTF-8 */
}

bool ml_out_acts(const char *text, bool color)
{
    for (size_t n; *text; text += n) {
        n = color ? ml_escape_look(text) : 0;
        if (n == 0 && is_control(text))
            return true;
        n = n ? n : 1;
    }
    return false;
}

void ml_out_shown(ml_Text *out, const char *text, bool color)
{
    for (size_t n; *text; text += n) {
        unsigned char c = (unsigned char)*text;

        n = color ? ml_escape_look(text) : 0;
        if (n > 0 || !is_control(text)) {
            n = n ? n : 1;
            ml_text_addn(out, text, n);
        } else if (c == 0xc2) {
            n = 2;
            ml_text_fmt(out, "<%02x>", (unsigned char)text[1]);
        } else {
            n = 1;
            ml_text_fmt(out, "^%c", c ^ 0x40);
        }
    }
}

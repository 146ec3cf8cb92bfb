/*
 * decode - the bytes of keys and mouse. What begins like a known sequence waits for its
 * end; what turns out to be none is dropped whole, so that no half of it is taken for keys
 * that someone typed. Pasted text comes as characters; its newlines as "C-j", which runs
 * nothing. Source: xterm's control sequences, ECMA-48, interaction 10.
 */
#include "repl/screen/decode.h"

#include <stdlib.h>

#include "moonloop/core/base/utf8.h"
#include "repl/screen/terminal.h"

static const char *const CONTROLS[32] = {
    [1] = "C-a",  [2] = "C-b",  [3] = "C-c",       [4] = "C-d",  [5] = "C-e",
    [6] = "C-f",  [7] = "C-g",  [8] = "backspace", [9] = "tab",  [10] = "C-j",
    [11] = "C-k", [12] = "C-l", [13] = "enter",    [14] = "C-n", [15] = "C-o",
    [16] = "C-p", [17] = "C-q", [18] = "C-r",      [19] = "C-s", [20] = "C-t",
    [21] = "C-u", [22] = "C-v", [23] = "C-w",      [24] = "C-x", [25] = "C-y",
    [26] = "C-z", [27] = "esc",
};

static const char *const ALT[] = {"M-0", "M-1", "M-2", "M-3", "M-4", "M-5", "M-6",
                                  "M-7", "M-8", "M-9", "M-b", "M-f", "M-d", "M-x"};

/* The key that is pressed with Alt. */
static const char *with_alt(char c)
{
    for (size_t k = 0; k < ML_COUNT(ALT); k++)
        if (ALT[k][2] == c)
            return ALT[k];
    return c == '\r' ? "M-enter" : c == 0x7f ? "M-backspace" : NULL;
}

void ml_decode_extra(ml_Decoder *d, const char *seq, const char *name)
{
    size_t n = seq ? strlen(seq) : 0;

    /* one byte would take a key away, and only sequences are waited for */
    if (n < 2 || seq[0] != ML_ESC || n >= sizeof d->extra[0].seq ||
        d->n_extra == ML_COUNT(d->extra))
        return;
    memcpy(d->extra[d->n_extra].seq, seq, n + 1);
    d->extra[d->n_extra++].name = name;
}

size_t ml_decode_room(const ml_Decoder *d)
{
    return sizeof d->buf - d->n;
}

void ml_decode_add(ml_Decoder *d, const char *p, size_t n)
{
    if (n > ml_decode_room(d))
        n = ml_decode_room(d);
    memcpy(d->buf + d->n, p, n);
    d->n += n;
}

static void drop(ml_Decoder *d, size_t n)
{
    d->n -= n;
    memmove(d->buf, d->buf + n, d->n);
}

static ml_Event key(const char *name)
{
    return (ml_Event){.kind = ML_EVENT_KEY, .name = name};
}

/* `ESC [ < b ; x ; y M`, of n bytes with its end. */
static ml_Event mouse(const char *p, size_t n)
{
    ml_Event e = {.kind = ML_EVENT_NONE};
    int v[3] = {0, 0, 0}, k = 0;
    bool up = p[n - 1] == 'm';

    for (size_t m = 3; m + 1 < n; m++) {
        if (p[m] == ';')
            k++;
        else if (p[m] < '0' || p[m] > '9' || k > 2)
            return e;
        else if (v[k] < 100000)
            v[k] = 10 * v[k] + (p[m] - '0');
    }
    if (k != 2 || v[1] < 1 || v[2] < 1 || (v[0] & 28)) /* Shift, Alt, Ctrl: not ours */
        return e;
    e.x = v[1] - 1;
    e.y = v[2] - 1;
    if (v[0] & 64)
        e.kind = v[0] == 64   ? ML_EVENT_WHEEL_UP
                 : v[0] == 65 ? ML_EVENT_WHEEL_DOWN
                              : ML_EVENT_NONE;
    else if ((v[0] & 3) == 0)
        e.kind = up ? ML_EVENT_RELEASE : v[0] & 32 ? ML_EVENT_DRAG : ML_EVENT_PRESS;
    return e;
}

static const char *known(const ml_Decoder *d, size_t n)
{
    for (size_t k = 0; k < d->n_extra; k++)
        if (strlen(d->extra[k].seq) == n && memcmp(d->extra[k].seq, d->buf, n) == 0)
            return d->extra[k].name;
    return ml_terminal_key(d->buf, n);
}

/* The length of the sequence that the buffer begins with, 0: it has not ended yet. */
static size_t length(const ml_Decoder *d)
{
    const unsigned char *p = (const unsigned char *)d->buf;
    size_t k;

    if (d->n < 2)
        return 0;
    if (p[1] == 'O')
        return d->n < 3 ? 0 : 3;
    if (p[1] == ']' || p[1] == 'P') { /* an answer of the terminal: up to BEL or ESC \ */
        for (k = 2; k < d->n; k++)
            if (p[k] == 7 || (p[k] == '\\' && p[k - 1] == 27))
                return k + 1;
        return d->n == sizeof d->buf ? d->n : 0;
    }
    if (p[1] != '[')
        return 2;
    for (k = 2; k < d->n; k++) {
        if (p[k] >= 0x40 && p[k] <= 0x7e)
            return k + 1;
        if (p[k] < 0x20 || p[k] > 0x7e)
            return k; /* broken off */
    }
    return d->n >= 64 ? d->n : 0;
}

static ml_Event decode_escape(ml_Decoder *d, bool all)
{
    size_t n = length(d);
    ml_Event e = {.kind = ML_EVENT_NONE};
    const char *name;

    if (n == 0) {
        if (!all)
            return e;
        if (d->n == 1) {
            drop(d, 1);
            return key("esc");
        }
        drop(d, d->n); /* the rest never came */
        return ml_decode_next(d, all);
    }
    if (d->buf[1] == ML_ESC) { /* two of them: the first is the key */
        drop(d, 1);
        return key("esc");
    }
    name = known(d, n);
    if (!name && n == 2)
        name = with_alt(d->buf[1]);
    if (!name && n == 2) { /* Alt with something that means nothing: ESC, then the key */
        drop(d, 1);
        return key("esc");
    }
    if (name && strncmp(name, "paste", 5) == 0) {
        d->pasting = ml_streq(name, "paste");
        name = NULL;
    } else if (!name && n > 3 && d->buf[2] == '<' &&
               (d->buf[n - 1] == 'M' || d->buf[n - 1] == 'm'))
        e = mouse(d->buf, n);
    drop(d, n);
    if (name)
        return key(name);
    return e.kind != ML_EVENT_NONE ? e : ml_decode_next(d, all);
}

ml_Event ml_decode_next(ml_Decoder *d, bool all)
{
    ml_Event e = {.kind = ML_EVENT_NONE};
    unsigned char c;
    size_t n;

    if (d->n == 0)
        return e;
    c = (unsigned char)d->buf[0];
    if (c == 27)
        return decode_escape(d, all);
    if (c < 32 || c == 127) {
        const char *name = c == 127 ? "backspace" : CONTROLS[c];

        drop(d, 1);
        if (d->pasting && (c == 13 || c == 10))
            name = "C-j";
        else if (d->pasting) {
            e = (ml_Event){.kind = ML_EVENT_KEY, .ch = " "};
            return c == 9 ? e : ml_decode_next(d, all);
        }
        return name ? key(name) : ml_decode_next(d, all);
    }
    n = ml_utf8_length(d->buf, d->buf + d->n);
    if (n == 0) {
        bool may_follow = c >= 0xc2 && c < 0xf5 && d->n < 4;

        if (may_follow && !all)
            return e;
        drop(d, 1); /* no text */
        return ml_decode_next(d, all);
    }
    e.kind = ML_EVENT_KEY;
    memcpy(e.ch, d->buf, n);
    drop(d, n);
    return e;
}

/*
 * decode - bytes from a terminal as events: characters, named keys, mouse (SGR), pasted
 * text. Knows no terminal: sequences are those of xterm and its relatives, and what the
 * entry of the terminal says beside. Source: interaction 10.
 */
#ifndef ML_REPL_SCREEN_DECODE_H
#define ML_REPL_SCREEN_DECODE_H

#include "moonloop/core/base/text.h"

typedef enum ml_EventKind {
    ML_EVENT_NONE,
    ML_EVENT_KEY,
    ML_EVENT_PRESS, /* mouse; x, y from 0 */
    ML_EVENT_RELEASE,
    ML_EVENT_DRAG,
    ML_EVENT_WHEEL_UP,
    ML_EVENT_WHEEL_DOWN,
    ML_EVENT_RESIZE,
    ML_EVENT_RETURN, /* from Ctrl-Z: draw everything */
} ml_EventKind;

typedef struct ml_Event {
    ml_EventKind kind;
    char ch[8];       /* KEY: a character, or "" */
    const char *name; /* KEY: a name as keys.def writes it, or NULL */
    int x, y;
} ml_Event;

typedef struct ml_Decoder {
    char buf[256]; /* bytes that are not decoded yet */
    size_t n;
    bool pasting;
    struct {
        char seq[16];
        const char *name;
    } extra[16]; /* of the terminal's entry */
    size_t n_extra;
} ml_Decoder;

/* A sequence of the terminal's entry, for a name; too long ones are passed over. */
void ml_decode_extra(ml_Decoder *d, const char *seq, const char *name);
/* Room for bytes to be read into; 0: decode first. */
size_t ml_decode_room(const ml_Decoder *d);
void ml_decode_add(ml_Decoder *d, const char *p, size_t n);
/* The next event; kind NONE: more bytes are needed. all: no more will come in time, and a
 * lone ESC is the key. */
ml_Event ml_decode_next(ml_Decoder *d, bool all);

#endif

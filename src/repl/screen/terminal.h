/*
 * terminal - what a terminal is sent and what its keys send: the one place where escape
 * sequences stand. What a terminal can is read from its entry in terminfo; text for a pipe
 * or for a terminal that is not ours takes what xterm and its relatives know. Source:
 * interaction 4, 10; ECMA-48, xterm's control sequences.
 */
#ifndef ML_REPL_SCREEN_TERMINAL_H
#define ML_REPL_SCREEN_TERMINAL_H

#include "repl/screen/theme.h"

typedef enum ml_Cap {
    ML_CAP_GO, /* to row a, column b, from 0 */
    ML_CAP_UP, /* by a; so the next four */
    ML_CAP_DOWN,
    ML_CAP_RIGHT,
    ML_CAP_LEFT,
    ML_CAP_BLANKS,      /* a blanks from the cursor on, which stays */
    ML_CAP_CLEAR,       /* all, and to the first cell */
    ML_CAP_CLEAR_ROW,   /* from the cursor to the row's end */
    ML_CAP_CLEAR_BELOW, /* and all rows below */
    ML_CAP_CLEAR_SAVED, /* what has scrolled off */
    ML_CAP_NORMAL,      /* no attributes, no colours */
    ML_CAP_BOLD,
    ML_CAP_DIM,
    ML_CAP_UNDERLINE,
    ML_CAP_REVERSE,
    ML_CAP_COLORS_OFF,
    ML_CAP_CURSOR_ON,
    ML_CAP_CURSOR_OFF,
    ML_CAP_SCREEN_ON, /* the other screen, which is taken for a while */
    ML_CAP_SCREEN_OFF,
    ML_CAP_KEYPAD_ON,
    ML_CAP_KEYPAD_OFF,
    ML_CAP_SAVE, /* where the cursor is */
    ML_CAP_RESTORE,
    /* switches of xterm that no entry tells of */
    ML_CAP_MOUSE_ON,
    ML_CAP_MOUSE_OFF,
    ML_CAP_PASTE_ON,
    ML_CAP_PASTE_OFF,
    ML_CAP_CLIPBOARD, /* base64 and BEL follow */
    ML_N_CAPS
} ml_Cap;

enum { ML_KEYS_OF_ENTRY = 13 };

typedef struct ml_Terminal {
    const char *cap[ML_N_CAPS]; /* as terminfo writes them, but for delays; NULL: none */
    const char *key[ML_KEYS_OF_ENTRY]; /* what keys send, ml_terminal_key_name; NULL */
    int colors;                        /* 0: none; -1: not known */
    int attrs;                         /* ML_ATTR_... that it shows */
    int uncolored;                     /* of those, without colours only */
    bool sgr;                          /* attributes and colours as ECMA-48 has them */
    bool corner;                       /* its last cell can be written: nothing scrolls */
    const char *lacks; /* NULL, or why no screen can be shown on it, as a predicate */
} ml_Terminal;

/* That of TERM, read once. Without an entry it is ml_ansi, and lacks something. */
const ml_Terminal *ml_terminal(void);
/* What xterm and its relatives take. */
const ml_Terminal *ml_ansi(void);

/* Appends a sequence with its numbers; nothing where the terminal has none. */
void ml_terminal_add(const ml_Terminal *to, ml_Cap cap, int a, int b, ml_Text *out);
/* One without numbers, as ml_ansi has it. */
const char *ml_escape(ml_Cap cap);
/* Appends what switches from a look (NULL: whatever it is) to another. */
void ml_look_add(const ml_Terminal *to, ml_Depth depth, const ml_Look *from, ml_Look look,
                 ml_Text *out);

/* The key that a sequence of n bytes is, NULL: none; and the names of ml_Terminal's. Of
 * those, "paste" and "pasted" stand around pasted text. */
const char *ml_terminal_key(const char *seq, size_t n);
const char *ml_terminal_key_name(size_t k);

enum { ML_ESC = 27 }; /* every sequence begins with it */
/* The bytes of the sequence that p begins with, up to its end; 0: none begins there. And of
 * one that changes colours or attributes. */
size_t ml_escape_length(const char *p);
size_t ml_escape_look(const char *p);

/* Looks of lines that are printed: "" without colour. */
typedef enum ml_Style {
    ML_STYLE_PLAIN,
    ML_STYLE_ADD,
    ML_STYLE_DEL,
    ML_STYLE_DIM,
    ML_STYLE_ERROR,
    ML_STYLE_NOTE,
    ML_STYLE_STRONG,
    ML_STYLE_REVERSE,
    ML_STYLE_HUE, /* six that tell things apart, ML_STYLE_HUE + k */
} ml_Style;
enum { ML_HUES = 6 };
const char *ml_style(bool color, ml_Style s);

#endif

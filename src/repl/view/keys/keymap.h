/*
 * keymap - what keys ask for in the visualiser: panes and requests by their names, and what
 * bind_key changed of keys.def. Knows no session and no view. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_KEYS_KEYMAP_H
#define ML_REPL_VIEW_KEYS_KEYMAP_H

#include "moonloop/core/base/text.h"

typedef enum ml_PaneId { /* the numbers that are typed */
                         ML_PANE_NONE,
                         ML_PANE_LOOPS,
                         ML_PANE_PROGRAM,
                         ML_PANE_BLOCK,
                         ML_PANE_DATAFLOW,
                         ML_PANE_STEPS,
                         ML_PANE_PERF,
                         ML_PANE_JOBS,
                         ML_PANE_MEMORY,
                         ML_PANE_LOOPTREE, /* 9: comes with LoopTune */
                         ML_PANE_CODE,     /* no number: code beside the program */
                         ML_N_PANES
} ml_PaneId;

typedef enum ml_Request {
#define ML_KEY(id, ...) ML_REQ_##id,
#include "repl/view/keys/keys.def"
#undef ML_KEY
    ML_N_REQUESTS,
    ML_REQ_NONE = ML_N_REQUESTS
} ml_Request;

/* A key as the terminal gives it: a character (UTF-8), or a name in `name` ("up", "S-up",
 * "enter", "esc", "tab", "S-tab", "C-r", "M-3", "pgup", "f1", "backspace", "del"). */
typedef struct ml_Key {
    char ch[8];       /* "" for a named key */
    const char *name; /* NULL for a character */
} ml_Key;
/* A key by the text that keys.def and scripts write; false: there is no such key. The name
 * lives as long as the program, the text of a character in *out. */
bool ml_key_read(const char *text, ml_Key *out);
const char *ml_key_text(const ml_Key *k);
bool ml_key_is(const ml_Key *k, const char *text);     /* a named key, or a character */
bool ml_key_among(const ml_Key *k, const char *texts); /* with blanks between */

typedef struct ml_KeyInfo {
    const char *name;  /* "MOVE_DOWN" */
    ml_PaneId pane;    /* ML_PANE_NONE: all of them */
    const char *keys;  /* by default, blanks between */
    const char *label; /* of the bottom line, or NULL */
    const char *help;
} ml_KeyInfo;
extern const ml_KeyInfo ml_key_info[ML_N_REQUESTS];
extern const char *const ml_pane_names[ML_N_PANES]; /* "Loops"; NULL: there is none yet */

typedef struct ml_Keymap ml_Keymap; /* NULL: nothing was changed */
/* What the key asks for in a pane; ML_REQ_NONE: nothing. */
ml_Request ml_keymap_find(const ml_Keymap *m, ml_PaneId in, const ml_Key *k);
/* The same without looking at the pane: for the message that it works elsewhere. */
ml_Request ml_keymap_anywhere(const ml_Keymap *m, const ml_Key *k);
/* Binds a key ("s", "C-r", "f5") of a pane ("loops", "all") to a request ("split"; "none":
 * to nothing); *m is made when it is NULL. false: *why. */
bool ml_keymap_bind(ml_Keymap **m, const char *pane, const char *key, const char *request,
                    ml_Text *why);
void ml_keymap_free(ml_Keymap *m);
/* The keys of a request in its pane, blanks between; of the bottom line: the first of them.
 */
void ml_keymap_keys(const ml_Keymap *m, ml_Request r, ml_Text *out);
bool ml_keymap_first(const ml_Keymap *m, ml_Request r, ml_Text *out);

#endif

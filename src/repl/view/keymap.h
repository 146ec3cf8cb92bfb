/*
 * keymap - which key asks for what: keys.def, and what bind_key changed of it.
 * Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_KEYMAP_H
#define ML_REPL_VIEW_KEYMAP_H

#include "repl/view/view.h"

typedef struct ml_KeyInfo {
    const char *name;  /* "move-down" */
    ml_PaneId pane;    /* ML_PANE_NONE: all of them */
    const char *keys;  /* by default, blanks between */
    const char *label; /* of the bottom line, or NULL */
    const char *help;
} ml_KeyInfo;
extern const ml_KeyInfo ml_key_info[ML_N_REQUESTS];
/* The head that stands above a request in the table, or NULL. */
const char *ml_key_head(ml_Request r);

/* What the key asks for in a pane; ML_REQ_NONE: nothing. */
ml_Request ml_keymap_find(const ml_Session *ss, ml_PaneId in, const ml_Key *k);
/* The same without looking at the pane: for the message that it works elsewhere. */
ml_Request ml_keymap_anywhere(const ml_Session *ss, const ml_Key *k);
/* Binds a key ("s", "C-r", "f5") of a pane ("loops", "all") to a request ("split"; "none":
 * to nothing). false: *why. */
bool ml_keymap_bind(ml_Session *ss, const char *pane, const char *key, const char *request,
                    ml_Text *why);
/* The keys of a request in a pane, blanks between; of the bottom line: the first of them.
 */
void ml_keymap_keys(const ml_Session *ss, ml_Request r, ml_Text *out);
bool ml_keymap_first(const ml_Session *ss, ml_Request r, ml_Text *out);
/* A key by the text that keys.def and scripts write; false: there is no such key. The name
 * lives as long as the program, the text of a character in *out. */
bool ml_key_read(const char *text, ml_Key *out);
const char *ml_key_text(const ml_Key *k);
ml_PaneId ml_pane_by_name(const char *name); /* ML_N_PANES: none of that name */

#endif

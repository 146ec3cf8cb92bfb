/*
 * manual - the manual as a man page or one HTML page, and shell completions.
 *
 * Everything comes from the tables of options, commands, keys, primitives, topics, settings
 * and error codes; examples are run while it is written, pictures drawn. Source:
 * interaction 4 (Help); style 8.
 */
#ifndef ML_REPL_MANUAL_MANUAL_H
#define ML_REPL_MANUAL_MANUAL_H

#include "repl/session/session.h"

/* kind: man, html, bash, zsh or fish; false: there is no such kind, or an example does not
 * do what it says, and *out says so. */
bool ml_manual(ml_Session *ss, const char *kind, ml_Text *out);

/* ---- what its files share */

/* A place that text is written to, in order. */
typedef struct ml_ManualPage ml_ManualPage;
typedef struct ml_ManualForm {
    void (*chapter)(ml_ManualPage *p, const char *id, const char *title);
    void (*group)(ml_ManualPage *p, const char *title);
    void (*paragraph)(ml_ManualPage *p, const char *text);
    /* Text as it stands: a program, a session. */
    void (*verbatim)(ml_ManualPage *p, const char *text);
    /* One row of a table: what it is, and a line on it. NULL as id: nothing refers to it.
     */
    void (*row)(ml_ManualPage *p, const char *id, const char *name, const char *text);
    /* Name with the whole text of :help NAME. */
    void (*entry)(ml_ManualPage *p, const char *id, const char *name, const char *text);
    /* A table of two columns of code, and a word on what differs. */
    void (*heads)(ml_ManualPage *p, const char *there, const char *here);
    void (*pair)(ml_ManualPage *p, const char *there, const char *here, const char *note);
    /* An SVG for light pages and one for dark ones. */
    void (*picture)(ml_ManualPage *p, const char *light, const char *dark, const char *alt);
    bool brief; /* rows only: what :help tells more of is left to it */
} ml_ManualForm;
struct ml_ManualPage {
    const ml_ManualForm *form;
    ml_Session *ss;
    ml_Text *out;
    bool in_table;
    ml_Text contents; /* html: the list at the side */
};

extern const ml_ManualForm ml_manual_man, ml_manual_html;
void ml_manual_begin_man(ml_ManualPage *p);
void ml_manual_begin_html(ml_ManualPage *p, ml_Text *body);
void ml_manual_shell(const char *kind, ml_Text *out); /* bash, zsh, fish */

#endif

/*
 * act - requests that change the schedule: what they ask for, what they run.
 *
 * A request with arguments opens a line of Lua to be completed (`split k[1024] into: `), a
 * menu, or a choice among nodes; each key of it is tried at once (trial.h) and the result
 * previewed. Enter runs the line, Esc leaves no trace. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_ACT_ACT_H
#define ML_REPL_VIEW_ACT_ACT_H

#include "repl/view/state/view.h"

typedef struct ml_Act ml_Act;
ml_Act *ml_act_new(void);
void ml_act_free(ml_Act *a);

/* Begins a request; false: it is none that schedules. */
bool ml_act_begin(ml_View *v, ml_Request r, int count);
/* Whether something is open that takes the keys. */
bool ml_act_open(const ml_View *v);
void ml_act_key(ml_View *v, const ml_Key *k);
void ml_act_cancel(ml_View *v);

/* Whether Tab proposes something there. */
bool ml_act_proposes(const ml_View *v);

/* What stands on the prompt row: one row (text with roles) and the cursor's column, -1
 * without one. Empty rows: nothing is open. */
void ml_act_line(ml_View *v, ml_Rows *r, int *cursor);
/* A menu or list of candidates that is open, one row each, or none; *at: the chosen one. */
void ml_act_menu(ml_View *v, ml_Rows *r, int *at);
/* The program as it would be (ml_act's trial), with changed lines marked; false: no preview
 * is there and pane 2 shows what is. And `preview +3 -1`, once that was asked. */
bool ml_act_preview(ml_View *v, ml_Rows *r);
void ml_act_preview_title(const ml_View *v, ml_Text *out);
/* While nodes are chosen (reorder, compute_at, drag): whether this one would do. */
typedef enum ml_Choice {
    ML_CHOICE_NONE,
    ML_CHOICE_LEGAL,
    ML_CHOICE_ILLEGAL,
    ML_CHOICE_TAKEN
} ml_Choice;
ml_Choice ml_act_choice(const ml_View *v, ml_Uid node, int *place);
/* The requests that apply to the selected node, most useful first, as far as they are
 * known by now (ml_act_idle finds out). Returns how many were written. */
size_t ml_act_applicable(ml_View *v, ml_Request *out, size_t n);
/* Some more of that; true: there is more to do. */
bool ml_act_idle(ml_View *v, int ms);
/* Why a request does not apply, one line. */
void ml_act_why_not(ml_View *v, ml_Request r, ml_Text *out);
/* Dropping loop a where loop b stands (the mouse). */
void ml_act_drag(ml_View *v, ml_Uid a, ml_Uid b, bool drop);
/* Text for the terminal's clipboard, or NULL; whoever owns the terminal sends it (OSC 52)
 * and says so. */
const char *ml_act_clipboard(ml_View *v);
void ml_act_clipboard_taken(ml_View *v);

#endif

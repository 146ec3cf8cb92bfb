/*
 * trial - a call tried while it is being typed: on a scratch copy, for at most some
 * milliseconds of its own, without running Lua.
 *
 * Only a complete call of a primitive on the focus is tried, whose arguments are literals,
 * lists and tables of them, `auto`, and names of the focus's loops, blocks and buffers; a
 * line of several such calls is tried in order. Nothing stays of it: no version, no step of
 * the trace, no random number. Source: interaction 4 (live checks), 10.
 */
#ifndef ML_REPL_LINE_TRIAL_H
#define ML_REPL_LINE_TRIAL_H

#include "repl/session/session.h"

typedef enum ml_TrialKind {
    ML_TRIAL_NONE, /* not a call that can be tried, or out of time */
    ML_TRIAL_WORKS,
    ML_TRIAL_FAILS,
} ml_TrialKind;
typedef struct ml_Trial {
    ml_TrialKind kind;
    ml_Text says; /* "makes j_0[64] j_1[16]", "adds a guard j_0 * 48 + j_1 < 100"; or the
                   * error's sentence */
    ml_ErrorCode code;   /* when it fails */
    ml_Schedule *result; /* the program after it, when it works and was asked for; no call
                          * on the focus until it is gone */
} ml_Trial;

enum { ML_TRIAL_MS = 20 };
/* Fills *out, which ml_trial_free empties again. keep: the copy stays in out->result. */
void ml_trial(ml_Session *ss, const char *line, int budget_ms, bool keep, ml_Trial *out);
void ml_trial_free(ml_Trial *t);
/* Whether primitive `name` could take these (raw) arguments now; code ML_E_OK: it could. Of
 * candidates in lists. */
ml_ErrorCode ml_trial_call(ml_Session *ss, const char *name, const ml_Arg *args, size_t n,
                           ml_Text *why);

#endif

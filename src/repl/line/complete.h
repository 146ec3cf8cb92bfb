/*
 * complete - what can stand where the cursor is, with a word of explanation each.
 *
 * Knows nothing of terminals and runs no Lua: names come from tables read without
 * metamethods, loops, blocks and buffers from the focus. Source: interaction 4.
 */
#ifndef ML_REPL_LINE_COMPLETE_H
#define ML_REPL_LINE_COMPLETE_H

#include "repl/session/session.h"

typedef void ml_CandidateFn(const char *text, const char *note, void *user);
typedef struct ml_CompletionPlace {
    size_t start; /* the candidates replace line[start .. cursor) */
    char after;   /* what follows a candidate that is taken; 0: nothing */
} ml_CompletionPlace;

/* Calls fn for each candidate, in the order in which they are to be shown. */
ml_CompletionPlace ml_completions(ml_Session *ss, const char *line, size_t cursor,
                                  ml_CandidateFn *fn, void *user);
/* Where a list of factors begins just before the cursor: whole ones, as `auto, 16}`, those
 * that are used most first. */
void ml_completion_tilings(ml_Session *ss, const char *line, size_t cursor,
                           ml_CandidateFn *fn, void *user);

/* Whether the primitive whose argument it is would reject the candidate, when the call
 * ended behind it; *why says the reason. false, too, when more arguments are needed to
 * know, and when it takes longer than that. */
bool ml_completion_rejected(ml_Session *ss, const char *line, ml_CompletionPlace at,
                            const char *candidate, int budget_ms, ml_Text *why);
/* The line with all that is open in it closed; false: it cannot be. */
bool ml_completion_close(const char *line, size_t n, ml_Text *out);

#endif

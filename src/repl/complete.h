/*
 * complete - what can stand where the cursor is, with a word of explanation each.
 *
 * Knows nothing of terminals and runs no Lua: names come from tables read without
 * metamethods, loops, blocks and buffers from the focus. Source: interaction 4.
 */
#ifndef ML_REPL_COMPLETE_H
#define ML_REPL_COMPLETE_H

#include "repl/session.h"

typedef void ml_CandidateFn(const char *text, const char *note, void *user);
typedef struct ml_CompletionPlace {
    size_t start; /* the candidates replace line[start .. cursor) */
    char after;   /* what follows a candidate that is taken; 0: nothing */
} ml_CompletionPlace;

/* Calls fn for each candidate, in the order in which they are to be shown. */
ml_CompletionPlace ml_completions(ml_Session *ss, const char *line, size_t cursor,
                                  ml_CandidateFn *fn, void *user);

#endif

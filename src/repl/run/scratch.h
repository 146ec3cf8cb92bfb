/* scratch - lines run as if they were typed, in a session of their own: the examples of
 * help and explanation. Source: interaction 4 (Help), 7. */
#ifndef ML_REPL_RUN_SCRATCH_H
#define ML_REPL_RUN_SCRATCH_H

#include "repl/session/session.h"

/* A session of its own, in an empty folder that is removed at the end. It neither sees nor
 * changes the session `of` or its history; Ctrl-C stops it, too. */
typedef struct ml_Scratch {
    ml_Session ss;
    ml_Session *of;
    char path[512];
    int back;  /* where one was before */
    bool came; /* Ctrl-C had come in the line that `of` runs */
} ml_Scratch;

/* What the session prints is appended to out, which also says why when it cannot begin. */
bool ml_scratch_begin(ml_Scratch *s, ml_Session *of, ml_Text *out);
void ml_scratch_end(ml_Scratch *s);
/* Runs lines in it; the code of the first error, ML_E_OK without one. */
ml_ErrorCode ml_scratch_lines(ml_Scratch *s, const char *lines);
/* Prompts, lines and what they print are appended to out; it goes on after an error. The
 * code of the first error, ML_E_OK without one. */
ml_ErrorCode ml_scratch_run(ml_Session *of, const char *lines, ml_Text *out);
/* The same for Lua on a small schedule `s`; false: it failed, and out says how. */
bool ml_scratch_example(ml_Session *of, const char *code, ml_Text *out);

#endif

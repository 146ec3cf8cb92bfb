/* hint - the rows below a line that is being typed: what the call takes that the cursor
 * stands in, and what trying the line said. Source: interaction 4. */
#ifndef ML_REPL_LINE_HINT_H
#define ML_REPL_LINE_HINT_H

#include "repl/line/colour.h"
#include "repl/line/trial.h"

typedef struct ml_Hint {
    const char *text; /* NULL: nothing to say */
    ml_RoleSpans spans;
} ml_Hint;

/* Signature with the current parameter marked, and what is said of it: of primitives,
 * functions and methods that help knows, and commands. In cx; width: columns that there
 * are. */
ml_Hint ml_hint(ml_Session *ss, ml_Ctx *cx, const char *line, size_t cursor, int width);
/* What ended in the background and has not been looked at yet: below an empty line. */
ml_Hint ml_hint_jobs(ml_Session *ss, ml_Ctx *cx);
/* `✓ makes j_0[64] j_1[16]`, `✗ factors … [factors-too-small]`. */
ml_Hint ml_hint_trial(ml_Session *ss, ml_Ctx *cx, const ml_Trial *t);

#endif

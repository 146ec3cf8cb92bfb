/* prompt - typed lines, one after the other, until the end. Source: interaction 4. */
#ifndef ML_REPL_LINE_PROMPT_H
#define ML_REPL_LINE_PROMPT_H

#include "repl/session/session.h"

/* The prompt, until the end of input or :quit. Without a terminal on standard input,
 * prompts and lines are echoed, so that the output reads like a terminal's. */
void ml_prompt_run(ml_Session *ss);

#endif

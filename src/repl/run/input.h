/* input - where lines come from: a prompt, session text, a file. Source: interaction 2, 4.
 */
#ifndef ML_REPL_RUN_INPUT_H
#define ML_REPL_RUN_INPUT_H

#include "repl/session/session.h"

/* Session text from a stream: exactly what one would type. Stops at the first error unless
 * keep_going. false: something failed. `name`: for messages; echo: prompt and line are
 * printed before each is run (a forced prompt without a terminal). */
bool ml_input_stream(ml_Session *ss, int fd, const char *name, bool echo);
/* A file by its suffix: .lua a script, .py .tir .tvm .json opened, .txt .mls session text;
 * no suffix: Lua when it begins with #!, else session text. */
bool ml_input_run_file(ml_Session *ss, const char *path);
/* The prompt's text; more: of a continuation line, blanks as wide as the first. _PROMPT and
 * _PROMPT2 of Lua override both. */
void ml_input_prompt_text(ml_Session *ss, bool more, ml_Text *out);
/* A prompt with escape sequences marked for Readline, or without any marks. */
void ml_input_mark_invisible(const char *prompt, bool readline, ml_Text *out);
bool ml_input_show_history(ml_Session *ss, int n);

#endif

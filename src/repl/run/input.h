/* input - where lines come from: a prompt, session text, a file. Source: interaction 2, 4.
 */
#ifndef ML_REPL_RUN_INPUT_H
#define ML_REPL_RUN_INPUT_H

#include "repl/session/session.h"

/* Session text from a stream: exactly what one would type. Stops at the first error unless
 * keep_going. false: something failed. `name`: for messages; echo: prompt and line are
 * printed before each is run (a forced prompt without a terminal). */
bool ml_input_stream(ml_Session *ss, int fd, const char *name, bool echo);
/* What a file is, by its suffix or its first bytes. */
typedef enum ml_FileKind {
    ML_FILE_OPENED, /* .py .tir .tvm .json: a program or a saved schedule */
    ML_FILE_SAVED, /* .lua that begins with the mark of :save: it makes the schedule again */
    ML_FILE_SCRIPT, /* another .lua, and what begins with #! */
    ML_FILE_LINES,  /* session text */
} ml_FileKind;
ml_FileKind ml_input_kind_of(const char *path);
/* A program or a saved schedule becomes the focus; a .py that holds steps of a schedule alone is run
 * on the focus, as if it were pasted. */
bool ml_input_open(ml_Session *ss, const char *path);
/* Opens or runs it by that; scripts get the arguments. */
bool ml_input_run_file(ml_Session *ss, const char *path, int argc, char **argv);
/* The prompt's text; more: of a continuation line, blanks as wide as the first. _PROMPT and
 * _PROMPT2 of Lua override both. */
void ml_input_prompt_text(ml_Session *ss, bool more, ml_Text *out);
/* A prompt with escape sequences marked for Readline, or without any marks. */
void ml_input_mark_invisible(const char *prompt, bool readline, ml_Text *out);
bool ml_input_show_history(ml_Session *ss, int n);

#endif

/* language - what a line is read as, by its beginning. Source: interaction 4. */
#ifndef ML_REPL_RUN_LANGUAGE_H
#define ML_REPL_RUN_LANGUAGE_H

#include <stdbool.h>

typedef enum ml_Language {
    ML_LANGUAGE_LUA,
    ML_LANGUAGE_SCRIPT,  /* TVMScript, up to an empty line */
    ML_LANGUAGE_COMMAND, /* :name and its words */
    ML_LANGUAGE_HELP,    /* ?name, name? */
    ML_LANGUAGE_SHELL,   /* !words */
} ml_Language;

/* What somebody types, whole or as far as it goes; blanks before it count for nothing. */
ml_Language ml_language_of_input(const char *p);
/* Of TVMScript: where the line behind that at p begins, brackets and texts closed. */
const char *ml_behind_script_line(const char *p);
/* Whether the line is a comment, an import, a text or a constant. */
bool ml_stands_above_program(const char *p);
/* Whether there are comments and imports alone, none of them open. */
bool ml_is_whole_preamble(const char *p);

#endif

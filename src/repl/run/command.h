/* command - the lines that begin with a colon: one table, from which help and completion
 * come too. Source: interaction 4. */
#ifndef ML_REPL_RUN_COMMAND_H
#define ML_REPL_RUN_COMMAND_H

#include "repl/session/session.h"

enum { ML_MAX_WORDS = 32 };
typedef struct ml_Words {
    size_t n;
    const char *v[ML_MAX_WORDS]; /* quotes removed */
    const char *rest;            /* everything after the command's name, as typed */
} ml_Words;

typedef struct ml_Command {
    const char *name, *group, *args, *help;
    bool (*run)(ml_Session *ss, const ml_Words *w); /* NULL: comes later */
    bool wants_focus;
} ml_Command;
extern const ml_Command ml_commands[];
extern const size_t ml_n_commands;

/* A line without its colon; false: an error was printed. */
bool ml_command_run(ml_Session *ss, const char *text);
/* The same with more words, which stand for themselves whatever they hold, for a caller who
 * wants what it tells as data (data.h); only its text is printed. What takes code is given
 * them with blanks between. */
bool ml_command_words(ml_Session *ss, const char *text, const char *const *words, size_t n,
                      ml_Data *data);
/* The command of a line, by its name, prefix or alias; NULL: it is none. */
const ml_Command *ml_command_of(const ml_Session *ss, const char *line);
/* By name or unambiguous prefix; NULL: *why says what there is. */
const ml_Command *ml_command_find(const char *name, ml_Text *why);

/* ---- the commands, by file */
#define ML_COMMAND(name, group, args, help, fn, focus)                                     \
    bool fn(ml_Session *ss, const ml_Words *w);
#define ML_COMMAND_LATER(name, group, args, help)
#include "repl/commands.def"
#undef ML_COMMAND
#undef ML_COMMAND_LATER

#endif

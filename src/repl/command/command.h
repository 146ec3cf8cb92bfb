/*
 * command - the lines that begin with a colon: what a command is, finding it, its words,
 * running it. The table is commands.def, from which help, completion and the manual come
 * too; it is handed over at the start (house.h). Source: interaction 4.
 */
#ifndef ML_REPL_COMMAND_COMMAND_H
#define ML_REPL_COMMAND_COMMAND_H

#include "repl/session/session.h"

#define ML_BACKGROUND "--background" /* what is ML_APART takes it */

enum { ML_MAX_WORDS = 32 };
typedef struct ml_Words {
    size_t n;
    const char *v[ML_MAX_WORDS]; /* quotes removed */
    const char *rest;            /* everything after the command's name, as typed */
} ml_Words;

typedef enum ml_CommandIs {
    ML_ON_FOCUS = 1 << 0, /* needs one */
    ML_STEPS = 1 << 1,    /* makes steps: what it did is echoed, and undone as a line */
    ML_STAYS = 1 << 2,    /* what was done stays when it fails */
    ML_SLOW = 1 << 3,     /* may take long, and has no progress of its own */
    ML_LINES = 1 << 4,    /* runs other lines, each of which speaks for itself */
    ML_APART = 1 << 5,    /* takes --background */
    ML_SHELL = 1 << 6,    /* its text is the shell's, with redirection and quotes */
    ML_CODE = 1 << 8,     /* takes Lua, in which > and | are no redirection */
    ML_UNTOLD = 1 << 7,   /* does not stand in a transcript */
} ml_CommandIs;

/* false: an error was printed. */
typedef bool ml_CommandFn(ml_Session *ss, const ml_Words *w);

/* What many an example begins with. */
#define ML_EXAMPLE "s = schedule(workload.matmul(16, 16, 16))\n"

typedef struct ml_Command {
    const char *name, *group, *args, *help;
    ml_CommandFn *run;
    unsigned is;                /* ml_CommandIs */
    const char *text, *example; /* of its help; lines, as they are typed */
} ml_Command;
extern const ml_Command *ml_commands; /* group by group */
extern size_t ml_n_commands;

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
/* Another word for a command and its arguments; text NULL: it is none any more. false: *why
 * says what is wrong with it. */
bool ml_command_alias(ml_Session *ss, const char *name, const char *text, ml_Text *why);

/* The error of a command that needs a schedule where there is none; false. */
bool ml_command_no_focus(ml_Session *ss, const char *name);
/* What a command of the system ended with, as wait() tells it; false: an error was printed. */
bool ml_command_ended(ml_Session *ss, const char *what, int rc);

/* ---- the commands, by file */
#define ML_COMMAND(name, group, args, help, fn, is, text, example) ml_CommandFn fn;
#include "repl/command/commands.def"
#undef ML_COMMAND

#endif

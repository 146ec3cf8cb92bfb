/*
 * house - what the upper floors hand down to the lower ones, once, when the program starts.
 *
 * A folder includes those below it alone. Where one below has to call one above (Lua runs a
 * typed line, a command goes on in the background), it asks for it here.
 */
#ifndef ML_REPL_COMMAND_HOUSE_H
#define ML_REPL_COMMAND_HOUSE_H

#include "repl/command/command.h"

typedef struct ml_House {
    const ml_Command *commands; /* group by group */
    size_t n_commands;
    /* Starts the command as a job on the version the focus is at; false: an error was
     * printed. */
    bool (*run_apart)(ml_Session *ss, const char *command, const ml_Words *w);
    /* Lines as if they were typed, in a session of their own (run/scratch.h). */
    ml_ErrorCode (*run_typed)(ml_Session *of, const char *lines, ml_Text *out);
} ml_House;

void ml_house_set(const ml_House *house); /* which stays */
const ml_House *ml_house(void);

#endif

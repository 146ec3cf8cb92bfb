/* takes - what a command takes behind the words that are typed already, by its arguments as
 * commands.def writes them: `[LOOP|VERSION] [--all]`. Source: interaction 4. */
#ifndef ML_REPL_LINE_TAKES_H
#define ML_REPL_LINE_TAKES_H

#include "moonloop/core/vec.h"
#include "repl/command/command.h"

typedef struct ml_Takes {
    const char *option;           /* whose value stands next, "--runs"; NULL: none */
    bool optional;                /* or anything else */
    size_t number;                /* of the word that may stand next, from 1; 0: none may */
    ML_VEC(const char *) words;   /* that stand for themselves: stop, list */
    ML_VEC(const char *) options; /* that are not given yet and fit to those given */
} ml_Takes;

/* typed: the words between the command's name and the one under the cursor. */
ml_Takes ml_command_takes(ml_Ctx *cx, const ml_Command *c, ml_Str typed);

#endif

/* help - texts from the tables. Source: interaction 4. */
#ifndef ML_REPL_CMD_HELP_H
#define ML_REPL_CMD_HELP_H

#include "moonloop/primitives/prim.h"
#include "repl/command/command.h"

void ml_help_codes(ml_Text *t); /* every error code with its sentence */
void ml_help_all(ml_Session *ss, ml_Text *t);

#endif

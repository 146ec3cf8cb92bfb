/* house - the table of commands, and what else the lower floors are given (house.h). */
#include "repl/house.h"

#include "repl/command/house.h"
#include "repl/job/background.h"
#include "repl/run/scratch.h"

static const ml_Command COMMANDS[] = {
#define ML_COMMAND(name, group, args, help, fn, is, text, example)                         \
    {name, group, args, help, fn, is, text, example},
#include "repl/command/commands.def"
#undef ML_COMMAND
};

void ml_house_open(void)
{
    static const ml_House HOUSE = {.commands = COMMANDS,
                                   .n_commands = ML_COUNT(COMMANDS),
                                   .run_apart = ml_run_apart,
                                   .run_typed = ml_scratch_run};

    ml_house_set(&HOUSE);
}

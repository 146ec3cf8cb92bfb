/* timing_args - what :time, :profile and :roofline are told about how to measure. */
#ifndef ML_REPL_CMD_TIMING_ARGS_H
#define ML_REPL_CMD_TIMING_ARGS_H

#include "repl/command/command.h"
#include "work/timing.h"

typedef struct ml_TimingArgs {
    const char *command; /* "time" */
    const char *knows;   /* its arguments, for the refusal of another */
    bool runs;           /* --runs is one of them, */
    bool rivals;         /* --against and --report are */
} ml_TimingArgs;

/* --cold and --shape are known to all. false: the error has been told. */
bool ml_read_timing(ml_Session *ss, const ml_TimingArgs *args, const ml_Words *w,
                    ml_Ctx *cx, ml_TimingOpts *o);
/* "auto", or how many. */
bool ml_read_runs(ml_Session *ss, const char *text, uint32_t *runs);

#endif

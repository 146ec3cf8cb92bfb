/* timing_args - what :time, :profile and :roofline are told about how to measure. */
#ifndef ML_REPL_CMD_TIMING_ARGS_H
#define ML_REPL_CMD_TIMING_ARGS_H

#include "moonloop/work/timing.h"
#include "repl/cmd/options.h"

typedef struct ml_TimingArgs {
    const char *knows; /* ":time knows --cold", for the refusal of another */
    bool runs;         /* --runs is one of its arguments, */
    bool rivals;       /* --against and --report are */
} ml_TimingArgs;

/* --cold and --shape are known to all; the sizes are read into z, which stays as long as
 * what is read. false: the error has been told. */
bool ml_read_timing(ml_Session *ss, const ml_TimingArgs *args, const ml_Words *w,
                    ml_TimingOpts *o, ml_Sizes *z);

#endif

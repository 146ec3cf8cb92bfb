/* export - :save of a kernel (session.c hands it on by the suffix). */
#ifndef ML_REPL_CMD_EXPORT_H
#define ML_REPL_CMD_EXPORT_H

#include "repl/command/command.h"

typedef struct ml_Export {
    const char *file;
    const char *name;   /* of its functions; NULL: the function's */
    const char *target; /* as moon.build takes it; NULL: the session's */
} ml_Export;
bool ml_export_suffix(const char *dot); /* ".o": a kernel is meant */
/* false: an error was printed, and the file is as it was. */
bool ml_export(ml_Session *ss, const ml_Export *x);

#endif

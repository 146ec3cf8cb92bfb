/* options - the command line. Source: interaction 2. */
#ifndef ML_REPL_SESSION_OPTIONS_H
#define ML_REPL_SESSION_OPTIONS_H

#include "moonloop/core/base/text.h"

typedef struct ml_Chunk { /* -e CODE or -l NAME, in order */
    char kind;            /* 'e', 'l' */
    const char *text;
} ml_Chunk;

enum { ML_MAX_CHUNKS = 256 };
typedef struct ml_Options {
    ml_Chunk chunks[ML_MAX_CHUNKS];
    int n_chunks;
    bool interactive, batch, keep_going, ascii, safe, no_init, no_history, private_,
        transcript, update, json, view;
    int color;          /* -1 auto, 0 never, 1 always */
    int width, size[2]; /* 0: not given */
    const char *init, *target, *threads, *seed, *memory_limit, *manual;
    const char *keys; /* of --view, or NULL */
    const char *file; /* or NULL */
    char **args;      /* of the file, or the files of --transcript */
    int n_args;
    const char
        *show; /* "help", "help-all", "version", "features", "codes", "worker" or NULL */
} ml_Options;

/* false: *why is the message for standard error (status 2). */
bool ml_options_read(ml_Options *o, int argc, char **argv, ml_Text *why);
void ml_options_help(ml_Text *t);
/* Every option that there is help on: its name or NULL, its letter or 0, its value's name
 * or NULL, and the help. */
typedef void ml_OptionFn(const char *name, char letter, const char *arg, const char *help,
                         void *user);
void ml_options_each(ml_OptionFn *fn, void *user);

#endif

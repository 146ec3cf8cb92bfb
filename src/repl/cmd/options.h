/* options - the words of a command by a table: --NAME VALUE, --NAME=VALUE, flags, and a word
 * that stands for itself. Source: interaction 4. */
#ifndef ML_REPL_CMD_OPTIONS_H
#define ML_REPL_CMD_OPTIONS_H

#include "moonloop/codegen/measure/check.h"
#include "repl/command/command.h"

typedef enum ml_OptionKind {
    ML_OPTION_FLAG,  /* bool */
    ML_OPTION_WHOLE, /* int64_t, from least to most */
    ML_OPTION_REAL,  /* double, the same */
    ML_OPTION_COUNT, /* uint32_t, up to most; 0: "auto" */
    ML_OPTION_TEXT,  /* const char *, not empty */
    ML_OPTION_SIZE,  /* ml_Sizes: n=127 or n=127,m=64; as often as there is room */
    ML_OPTION_WORD,  /* const char *: a word that is no option; once */
} ml_OptionKind;

typedef struct ml_Option {
    const char *name; /* "--seed"; of a WORD nothing */
    ml_OptionKind kind;
    void *to;
    double least, most;
    const char *refusal; /* of another value: "--seed takes a number from 1" */
} ml_Option;

#define ML_SIZE_REFUSAL "--shape n=127"

typedef struct ml_Sizes { /* of --shape */
    ml_Size v[16];
    size_t n;
    char names[16][64];
} ml_Sizes;

/* Reads all words; knows: what is said of one that no option takes, before ", not WORD".
 * false: an error was printed. */
bool ml_read_options(ml_Session *ss, const ml_Words *w, const char *knows,
                     const ml_Option *v, size_t n);
/* A whole number of that range. */
bool ml_read_whole(const char *text, double least, double most, int64_t *out);

#endif

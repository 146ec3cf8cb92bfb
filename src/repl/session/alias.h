/* alias - other words for commands: moon.alias{ tt = "time --runs 20" } makes :tt. Source:
 * interaction 2, the init file. */
#ifndef ML_REPL_SESSION_ALIAS_H
#define ML_REPL_SESSION_ALIAS_H

#include "moonloop/core/base/text.h"

typedef struct ml_Alias {
    char *name, *text; /* text without a colon */
} ml_Alias;
typedef struct ml_Aliases {
    ml_Alias *v;
    size_t n;
} ml_Aliases;

/* The name is a word; text NULL: it is no alias any more. false: *why says what is wrong
 * with the name. What it stands for is looked at by ml_command_alias. */
bool ml_alias_set(ml_Aliases *a, const char *name, const char *text, ml_Text *why);
const char *ml_alias_find(const ml_Aliases *a, const char *name, size_t n); /* or NULL */
void ml_aliases_free(ml_Aliases *a);

#endif

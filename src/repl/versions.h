/* versions - naming versions at the prompt: v7, 7, a mark, -2, failed, parent. */
#ifndef ML_REPL_VERSIONS_H
#define ML_REPL_VERSIONS_H

#include "repl/session.h"

/* Whether the text looks like a version: v7, -2, or a mark. */
bool ml_is_version(ml_Session *ss, const char *text);
/* false: an error was printed. */
bool ml_find_version(ml_Session *ss, const char *text, int *out);

#endif

/* versions - naming versions at the prompt (v7, 7, a mark, -2, failed), and their tree. */
#ifndef ML_REPL_VERSIONS_H
#define ML_REPL_VERSIONS_H

#include "repl/session.h"

/* Whether the text looks like a version: v7, -2, or a mark. */
bool ml_is_version(ml_Session *ss, const char *text);
/* false: an error was printed. */
bool ml_find_version(ml_Session *ss, const char *text, int *out);
/* The tree of versions as a drawing, no line wider than the screen (from 20 columns on). */
void ml_show_versions(ml_Session *ss, ml_Schedule *s, ml_Text *out);

#endif

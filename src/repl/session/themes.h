/*
 * themes - the looks of the session: those that are built in, and those that moon.theme
 * defined, for the prompt's line, the panes and the dashboard alike. Source:
 * interaction 10.
 */
#ifndef ML_REPL_SESSION_THEMES_H
#define ML_REPL_SESSION_THEMES_H

#include "repl/screen/theme.h"
#include "repl/session/session.h"

/* Defines a theme, or another one of that name: looks on top of those of `base` (built in,
 * or defined before; NULL: default). false: *why; what there was stays. */
bool ml_themes_define(ml_Session *ss, const char *name, const char *base,
                      const struct ml_RoleLook *v, size_t n, ml_Text *why);
bool ml_themes_has(const ml_Session *ss, const char *name);
/* Those that were defined, in that order; NULL: no more. */
const char *ml_themes_name(const ml_Session *ss, size_t k);
/* What to say of a name that is none. */
void ml_themes_unknown(const ml_Session *ss, const char *name, ml_Text *why);
/* The theme of the setting; good until the next definition. */
ml_ThemeDef ml_themes_now(const ml_Session *ss);
unsigned ml_themes_changes(const ml_Session *ss); /* grows with each definition */
void ml_themes_free(ml_Session *ss);

#endif

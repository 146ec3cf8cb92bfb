/* colour - the words of a line with the roles they have: Lua, TVMScript, commands.
 * Source: interaction 4, 10. */
#ifndef ML_REPL_LINE_COLOUR_H
#define ML_REPL_LINE_COLOUR_H

#include "moonloop/core/ctx.h"
#include "repl/run/language.h"
#include "repl/screen/grid.h"

/* The language of one line that is shown: part of a program, or a call. */
ml_Language ml_language_of_line(const char *p);
/* The spans of words whose role is not that of plain text, in order; in cx. text may hold
 * several lines and end anywhere. */
void ml_colour(ml_Ctx *cx, ml_Language lang, const char *text, size_t n, ml_RoleSpans *out);

#endif

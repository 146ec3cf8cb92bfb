/* wrap - paragraphs and tables of help folded to the width of the screen. */
#ifndef ML_REPL_OUT_WRAP_H
#define ML_REPL_OUT_WRAP_H

#include "moonloop/core/base/text.h"

/* Appends the text with `indent` blanks before each line and at most `width` columns (0: no
 * limit). Lines of one paragraph are joined first; an empty line ends it. A line that
 * begins with two blanks is kept as it is (a program, a table); `- ` begins an item of a
 * list, whose further lines hang. Words are never cut: one that is too long has a line of
 * its own. */
void ml_wrap(ml_Text *out, const char *text, size_t indent, size_t width);
/* One line whose further lines, where it is too long, hang by four: a signature. */
void ml_wrap_hanging(ml_Text *out, const char *text, size_t width);
/* The same as one row of a table: a name after `indent` blanks, the text from `column` on.
 * On a narrow screen, or when the name is too long, the text stands below the name. */
void ml_wrap_row(ml_Text *out, const char *name, const char *text, size_t indent,
                 size_t column, size_t width);

#endif

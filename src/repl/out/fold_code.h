/* fold_code - lines of programs that are wider than the screen. */
#ifndef ML_REPL_OUT_FOLD_CODE_H
#define ML_REPL_OUT_FOLD_CODE_H

#include "repl/out/out.h"

/* The line of an error that `line` begins with, ` 3 | …`, and the marks below it, appended
 * with no row wider than `width`; gives where they end (at a newline or the end). NULL: it
 * begins with none, or the screen is narrower than its gutter. */
const char *ml_fold_marked(const char *line, size_t width, ml_Text *out);

#endif

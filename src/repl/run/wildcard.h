/* wildcard - whether a line that was printed is the line that was written down.
 * Source: interaction 15. */
#ifndef ML_REPL_RUN_WILDCARD_H
#define ML_REPL_RUN_WILDCARD_H

#include <stdbool.h>

/* `…` at the end stands for the rest, `<x>` for one word, a number before a unit of time,
 * rate, percent or ratio for any number; blanks at the end do not count. any_number: every
 * number stands for any, and a remark `noisy` is not compared. Nor is ` ±34 %` ever. */
bool ml_wildcard_line(const char *want, const char *got, bool any_number);
/* A line that stands for any lines: `…` alone. */
bool ml_wildcard_any(const char *want);

#endif

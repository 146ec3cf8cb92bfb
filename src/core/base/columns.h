/* columns - the columns that text takes on a screen, whatever the screen. */
#ifndef ML_CORE_COLUMNS_H
#define ML_CORE_COLUMNS_H

#include "moonloop/core/base/base.h"

/* Columns of UTF-8 text; of one character, and its bytes. A control takes two, ^X. */
int ml_text_columns(const char *text, size_t n);
int ml_char_columns(const char *p, size_t n, size_t *bytes);
/* The bytes of the longest begin of z that fits into so many columns. */
size_t ml_text_fitting(const char *z, size_t n, int room);
/* No UTF-8, or something that a terminal would act on: shown as U+FFFD. */
bool ml_char_odd(const char *p, size_t n);

#endif

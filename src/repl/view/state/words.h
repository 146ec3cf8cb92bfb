/* words - texts of the view: their lines and words, what is found in them. */
#ifndef ML_REPL_VIEW_STATE_WORDS_H
#define ML_REPL_VIEW_STATE_WORDS_H

#include "moonloop/core/base/text.h"
#include "moonloop/core/ctx.h"

/* The next line of a text, which goes on behind it; false: there is none. */
bool ml_next_line(const char **text, ml_Str *line);
size_t ml_count_lines(const char *text); /* newlines */
bool ml_in_word(char c);                 /* of names and numbers */
/* Where `part` begins in the text, at or behind byte `from`; any_case: small letters match
 * great ones. false: nowhere, or part is empty. */
bool ml_find_text(const char *text, const char *part, size_t from, bool any_case,
                  size_t *at);
void ml_text_drop_last(ml_Text *t); /* a character, UTF-8 */
/* The text in cx; t is freed. */
const char *ml_text_into(ml_Ctx *cx, ml_Text *t);
/* As Lua writes a string; in cx. */
const char *ml_quoted(ml_Ctx *cx, const char *z);
char *ml_heap_text(const char *z); /* a copy on the heap */

#endif

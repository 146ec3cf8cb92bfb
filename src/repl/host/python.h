/* python - a piece of a Python schedule as Lua. Source: lua-api 7, primitives 12.2. */
#ifndef ML_REPL_HOST_PYTHON_H
#define ML_REPL_HOST_PYTHON_H

#include "moonloop/core/base/text.h"

typedef enum ml_PythonIs {
    ML_PYTHON_NOT,     /* or more than is read */
    ML_PYTHON_IS,      /* *lua is what it says */
    ML_PYTHON_DEFINES, /* the same; the function at its end may have more lines */
    ML_PYTHON_MORE,    /* it ends inside brackets */
} ml_PythonIs;
enum { ML_PYTHON_NAMED = 1, ML_PYTHON_LIST = 2 }; /* habits: split(l, factors=…), […] */

/* Appends the lines of Lua that the text stands for, and says which habits it shows. */
ml_PythonIs ml_python_read(const char *text, ml_Text *lua, unsigned *habits);
/* Whether it begins with a head of a block of Python, `if x:`, with or without its body. */
bool ml_python_is_block(const char *text);
/* Appends how a statement of Python that is not read is written in Lua, in a line; nothing: it
 * looks like none. */
void ml_python_hint(const char *text, ml_Text *out);

#endif

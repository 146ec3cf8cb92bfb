/* value_text - constants as text in the notation of another language: JSON, Lua, Python.
 * The dialect itself prints them with the rest of a program (script/print_value). */
#ifndef ML_CORE_VALUE_TEXT_H
#define ML_CORE_VALUE_TEXT_H

#include "moonloop/core/base/text.h"
#include "moonloop/core/value.h"

typedef enum ml_Escape {
    ML_ESCAPE_JSON,   /* \u0007 */
    ML_ESCAPE_LUA,    /* \007, also for 127 */
    ML_ESCAPE_PYTHON, /* \x07 */
} ml_Escape;
/* In double quotes; bytes from 128 on stay as they are. */
void ml_text_string(ml_Text *out, const char *z, ml_Escape how);

/* How one language writes constants. */
typedef struct ml_Notation {
    const char *no, *yes;
    const char *none;
    const char *object;      /* for an expression, buffer, variable, map or reducer */
    const char *list, *dict; /* both brackets: "[]" */
    void (*integer)(ml_Text *out, int64_t v);
    void (*real)(ml_Text *out, double v);
    void (*string)(ml_Text *out, const char *z);
    void (*key)(ml_Text *out, const char *z); /* with what separates it from its value */
} ml_Notation;
void ml_value_text(ml_Text *out, const ml_Value *v, const ml_Notation *how);

#endif

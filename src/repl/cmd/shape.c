/* shape - see shape.h. */
#include "repl/cmd/shape.h"

#include <stdlib.h>

bool ml_read_shape(ml_Session *ss, ml_Ctx *cx, const char *text, ml_Size *out)
{
    const char *eq = strchr(text, '=');
    char *end = NULL;
    long long n = eq ? strtoll(eq + 1, &end, 10) : -1;

    if (!eq || eq == text || end == eq + 1 || *end || n < 0)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "--shape n=127, not %s", text);
    *out = (ml_Size){ml_strdup(cx, (ml_Str){text, (size_t)(eq - text)}), n};
    return true;
}

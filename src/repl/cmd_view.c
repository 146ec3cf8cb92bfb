/* cmd_view - :view. Source: interaction 10. */
#include "repl/command.h"

#include "repl/view/capture.h"
#include "repl/view/driver.h"

bool cmd_view(ml_Session *ss, const ml_Words *w)
{
    if (w->n > 0)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":view takes no arguments");
    if (ml_capture_on())
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "this is the visualiser already");
    return ml_view_terminal(ss);
}

/* cmd_view - :view. Source: interaction 10. */
#include "repl/command/command.h"

#include "repl/keep/record.h"
#include "repl/session/frame.h"
#include "repl/view/driver.h"
#include "repl/view/state/capture.h"

bool cmd_view(ml_Session *ss, const ml_Words *w)
{
    const char *keys = NULL;
    int width = 80, height = 24;

    for (size_t k = 0; k < w->n; k++) {
        bool more = k + 1 < w->n;

        if (more && ml_streq(w->v[k], "--keys"))
            keys = w->v[++k];
        else if (!(more && ml_streq(w->v[k], "--size") &&
                   ml_view_size_of(w->v[++k], &width, &height)))
            return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                    ":view takes --keys FILE and --size WxH, not %s",
                                    w->v[k]);
    }
    if (ml_capture_on())
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "this is the visualiser already");
    if (keys && !ml_session_may_read(ss, keys))
        return false;
    if (keys)
        return ml_view_script(ss, keys, width, height, false);
    /* what is done in the panes is recorded as if it had been typed */
    ml_RunOpts how = {.outermost = ss->depth == 1};
    ml_RunFrame f;

    if (how.outermost)
        ml_record_panes(ss);
    ml_frame_push(ss, &f, &how);
    bool ok = ml_view_terminal(ss);

    ml_frame_pop(ss, &f);
    return ok;
}

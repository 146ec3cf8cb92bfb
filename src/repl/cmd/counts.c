/* cmd_counts - :counts. Source: interaction 4, 8. */
#include "repl/command/command.h"
#include "repl/show/counts_view.h"
#include "repl/show/show.h"
#include "repl/show/versions.h"

bool cmd_counts(ml_Session *ss, const ml_Words *w)
{
    ml_CountsOpts o = {0};
    int version = ml_schedule_version(ss->focus);
    bool ok, given = false;
    ml_Text t = {0};
    ml_Handle h;

    for (size_t k = 0; k < w->n; k++) {
        if (ml_streq(w->v[k], "--all"))
            o.all = true;
        else if (strncmp(w->v[k], "--", 2) == 0 || given)
            return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                    ":counts [LOOP|VERSION] [--all], not %s", w->v[k]);
        else if (ml_is_version(ss, w->v[k])) {
            if (!ml_find_version(ss, w->v[k], &version))
                return false;
            given = true;
        } else if (!ml_resolve(ss->focus, w->v[k], ML_H_LOOP, &h))
            return ml_session_schedule_error(ss, ss->focus);
        else {
            o.loop = h.uid;
            given = true;
        }
    }
    ok = ml_show_counts(ss, ss->focus, version, &o, &t);
    if (ok && ml_session_data(ss))
        ok = ml_counts_data(ss->focus, version, &o, ml_session_data(ss));
    if (ok)
        ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    return ok;
}

/* cmd_counts - :counts. Source: interaction 4, 8. */
#include "repl/cmd/options.h"
#include "repl/show/counts_view.h"
#include "repl/show/show.h"
#include "repl/show/versions.h"

bool cmd_counts(ml_Session *ss, const ml_Words *w)
{
    ml_CountsOpts o = {0};
    int version = ml_schedule_version(ss->focus);
    const char *word = NULL;
    const ml_Option OPTIONS[] = {{"--all", ML_OPTION_FLAG, &o.all, 0, 0, NULL},
                                 {NULL, ML_OPTION_WORD, &word, 0, 0, NULL}};
    bool ok;
    ml_Text t = {0};
    ml_Handle h;

    if (!ml_read_options(ss, w, ":counts [LOOP|VERSION] [--all]", OPTIONS,
                         ML_COUNT(OPTIONS)))
        return false;
    if (word && ml_is_version(ss, word)) {
        if (!ml_find_version(ss, word, &version))
            return false;
    } else if (word) {
        if (!ml_resolve(ss->focus, word, ML_H_LOOP, &h))
            return ml_session_schedule_error(ss, ss->focus);
        o.loop = h.uid;
    }
    ok = ml_show_counts(ss, ss->focus, version, &o, &t);
    if (ok && ml_session_data(ss))
        ok = ml_counts_data(ss->focus, version, &o, ml_session_data(ss));
    if (ok)
        ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    return ok;
}

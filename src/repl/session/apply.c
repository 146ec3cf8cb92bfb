/* apply - what settings do to a session: which values it can have, and what changes with
 * them. Source: interaction 4. */
#include <stdlib.h>

#include "moonloop/codegen/target/target.h"
#include "moonloop/codegen/worker/worker.h"
#include "repl/session/safe.h"
#include "repl/session/session.h"
#include "repl/session/themes.h"

void ml_settings_apply(ml_Session *ss)
{
    const char *color = ml_setting_word(&ss->set, ML_SET_color);

    if (!ml_streq(color, "auto"))
        ss->out.color = ss->out.err_color = ml_streq(color, "always");
    if (ss->columns != ml_setting_int(&ss->set, ML_SET_width)) {
        ss->columns = ml_setting_int(&ss->set, ML_SET_width);
        if (!ss->scratch)
            ml_out_measure(&ss->out, (int)ss->columns);
        else if (ss->columns > 0)
            ss->out.width = (int)ss->columns;
    }
    for (size_t k = 0; k < ss->n_schedules; k++) {
        ml_schedule_set_undo_limit(ss->schedules[k],
                                   (int)ml_setting_int(&ss->set, ML_SET_undo_limit));
        ml_schedule_verify_each(ss->schedules[k],
                                ml_setting_bool(&ss->set, ML_SET_verify_each));
        ml_ctx_set_limit(ml_schedule_ctx(ss->schedules[k]),
                         (size_t)ml_setting_int(&ss->set, ML_SET_memory_limit) << 20);
    }
    ml_tell_settings(ss);
}

/* Threads, runs and targets are more than texts; false: an error was printed. */
bool ml_settings_allow(ml_Session *ss, int id, const char *value)
{
    ml_Ctx *cx;
    ml_Target t;
    bool ok = true;
    long threads = id == ML_SET_threads ? ml_setting_count(value, ML_MOST_THREADS) : 0;

    long columns = strtol(value, NULL, 10);

    if (id == ML_SET_memory_limit && !ml_safe_allows_limit(ss, value))
        return false;
    if (threads > (long)ml_target_host().cores)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "this machine has %u cores; %s threads would wait for each "
                                "other",
                                ml_target_host().cores, value);
    if (threads < 0)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "threads is auto or a number from 1 to %d, not %s",
                                ML_MOST_THREADS, value);
    if (id == ML_SET_runs && ml_setting_count(value, ML_MAX_SAMPLES) < 0)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "runs is auto or a number from 1 to %d, not %s",
                                ML_MAX_SAMPLES, value);
    if (id == ML_SET_width && columns > 0 && columns < ML_LEAST_WIDTH)
        return ml_session_error(
            ss, ML_E_BAD_ARGUMENT,
            "width is 0 or a number from %d, not %s: fewer columns hold no "
            "name and number beside each other",
            ML_LEAST_WIDTH, value);
    if (id == ML_SET_theme && !ml_themes_has(ss, value)) {
        ml_Text why = {0};

        ml_themes_unknown(ss, value, &why);
        ml_session_error(ss, ML_E_UNKNOWN_NAME, "%s", ml_text_z(&why));
        ml_text_free(&why);
        return false;
    }
    if (id != ML_SET_target)
        return true;
    cx = ml_ctx_new(0);
    if (!ml_target_read(cx, value, &t))
        ok = ml_session_ctx_error(ss, cx);
    ml_ctx_unref(cx);
    return ok;
}

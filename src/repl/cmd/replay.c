/*
 * cmd_replay - :replay FILE: a trace applied to the focus, as far as it goes; :bisect: the
 * step at which a check begins to fail. Source: interaction 6.
 */
#include <errno.h>
#include <math.h>

#include "moonloop/core/base/file.h"
#include "moonloop/core/json/data.h"
#include "moonloop/primitives/trace.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/out/interrupt.h"
#include "repl/session/frame.h"
#include "repl/session/progress.h"

bool cmd_replay(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *cx;
    ml_Saved saved = {0};
    ml_Text text = {0}, said = {0};
    size_t done = 0;
    bool ok;

    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":replay FILE.json");
    if (!ml_session_may_read(ss, w->v[0]))
        return false;
    if (!ml_file_read(w->v[0], &text)) {
        ml_text_free(&text);
        return ml_session_error(ss, ML_E_NO_FILE, "%s: %s", w->v[0], strerror(errno));
    }
    cx = ml_ctx_new(0);
    ok = ml_saved_read(cx, (ml_Str){ml_text_z(&text), text.n}, &saved);
    if (!ok)
        ml_session_ctx_error(ss, cx);
    else {
        ok = ml_trace_apply(s, &saved.trace, false, NULL, NULL, &done);
        if (!ok) /* what was done stays: the state before the step that does not apply */
            ml_session_schedule_error(ss, s);
        ml_Data *d = ml_session_data(ss);

        ml_data_one(d);
        ml_data_bool(d, "ok", ok);
        ml_data_int(d, "done", (int64_t)done);
        ml_data_int(d, "total", (int64_t)saved.trace.n);
        ml_data_int(d, "version", ml_schedule_version(s));
        ml_text_fmt(&said, "%s %zu of %zu instructions; %s is at v%d",
                    ok ? "replayed" : "stopped after", done, saved.trace.n,
                    ml_schedule_name(s), ml_schedule_version(s));
        ml_out_prose(&ss->out, ml_text_z(&said));
    }
    ml_text_free(&text);
    ml_text_free(&said);
    ml_ctx_unref(cx);
    return ok;
}

/* ---- :bisect */

/* The verdict on the current version; what is printed on the way is thrown away. why: the
 * error by which it failed. *unjudged: the check said nothing of the version. */
static bool passes(ml_Session *ss, const char *code, ml_Text *why, bool *unjudged)
{
    ml_Schedule *s = ss->focus;
    ml_Text got = {0}, err = {0};
    ml_RunOpts run = {.sink = {&got, &err}, .as_text = true, .apart = true};
    int version = ml_schedule_version(s);
    ml_RunFrame f;
    bool ok;
    ml_Step step;

    if (!*code && version == 0) /* it is compared with itself */
        return true;
    if (!*code && ml_version_step(s, version, &step) && step.check)
        return ml_streq(step.check, "ok");
    ml_frame_push(ss, &f, &run);
    if (!*code)
        ok = ml_command_run(ss, "check");
    else if (*code == ':')
        ok = ml_command_run(ss, code + 1);
    else
        ok = ml_host_test(ss->host, code, why);
    ml_frame_pop(ss, &f);
    if (!*code && !ok && ml_version_step(s, version, &step))
        *unjudged = step.check == NULL;
    if (!ok && (*code == ':' || *unjudged) && err.n) {
        const char *sign = strstr(ml_text_z(&err), "error: ");
        const char *z = sign ? sign + 7 : ml_text_z(&err);
        const char *code_at = strstr(z, "  ");
        size_t n = strcspn(z, "\n");

        ml_text_clear(why);
        ml_text_fmt(why, "%.*s", (int)(code_at && code_at < z + n ? code_at - z : (long)n),
                    z);
    }
    if (!*code) /* its own: :versions shows verdicts that somebody asked for */
        ml_schedule_set_check(s, version, NULL);
    ml_text_free(&got);
    ml_text_free(&err);
    return ok;
}

/* Versions from the start to the current one; the number of them. */
static int path(ml_Schedule *s, ml_Ctx *cx, int **out)
{
    int n = 0, v;
    ml_Step step;

    for (v = ml_schedule_version(s); v >= 0 && ml_version_step(s, v, &step);
         v = step.parent)
        n++;
    *out = ML_ARRAY(cx, int, (size_t)n + 1);
    v = ml_schedule_version(s);
    for (int k = n; k-- > 0; v = step.parent) {
        (*out)[k] = v;
        ml_version_step(s, v, &step);
    }
    return n;
}

/* So many tries are left at most. */
static int tries_left(int good, int bad)
{
    int n = 0;

    for (int between = bad - good; between > 1; between -= between / 2)
        n++;
    return n;
}

static void say_progress(ml_Session *ss, int good, int bad, int version)
{
    ml_Text t = {0};
    int left = tries_left(good, bad);

    ml_text_fmt(&t, "v%d, %d more at most", version, left - 1);
    if (ss->progress)
        ml_progress(ss->progress, (double)NAN, ml_text_z(&t));
    ml_text_free(&t);
}

bool cmd_bisect(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_State here = ml_schedule_state(s);
    ml_Ctx *cx = ml_ctx_new(0);
    const char *code = w->rest ? w->rest : "";
    ml_Text said = {0}, why = {0};
    int *v, n = path(s, cx, &v), good = 0, bad = n - 1;
    const char **verdicts = ML_ARRAY(cx, const char *, (size_t)n + 1); /* of those tried */
    bool found = false, stopped = false, unjudged = false;
    int at = here.version; /* tried last */

    while (*code == ' ')
        code++;
    for (int k = 0; k < n && !stopped; k++)
        if (!ml_version_known(s, v[k])) {
            stopped = true;
            ml_session_error(ss, ML_E_BAD_ARGUMENT,
                             "v%d was dropped (undo limit): it cannot be tried", v[k]);
        }
    if (!stopped) {
        if (passes(ss, code, &why, &unjudged))
            ml_text_fmt(&said, "v%d passes: there is nothing to look for", here.version);
        else if (!unjudged && (n == 1 || (ml_schedule_goto(s, v[0]),
                                          !passes(ss, code, &why, &unjudged))))
            ml_text_fmt(&said, "v%d fails already%s%s: no step is to blame", v[0],
                        why.n ? ", " : "", ml_text_z(&why));
        else
            found = true;
        stopped = unjudged;
        verdicts[bad] = "FAIL";
        verdicts[good] = *code ? "ok" : NULL;
    }
    while (found && bad - good > 1 && !stopped) {
        int mid = good + (bad - good) / 2;

        stopped = ml_interrupted() || !ml_schedule_goto(s, v[mid]);
        if (stopped)
            break;
        at = v[mid];
        say_progress(ss, good, bad, at);
        if (passes(ss, code, &why, &unjudged))
            good = mid;
        else
            bad = mid;
        stopped = unjudged;
        verdicts[mid] = good == mid ? "ok" : "FAIL";
    }
    ml_schedule_restore(s, here);
    if (ml_interrupted()) {
        ml_text_clear(&said);
        ml_session_error(ss, ML_E_INTERRUPTED, "%s", "");
    } else if (unjudged) {
        ml_text_clear(&said);
        ml_session_error(ss, ML_E_BAD_ARGUMENT, "v%d cannot be judged: %s", at,
                         ml_text_z(&why));
    }
    if (found && !stopped) {
        ml_Step step;

        ml_Data *d = ml_session_data(ss);

        ml_version_step(s, v[bad], &step);
        ml_data_one(d);
        ml_data_int(d, "first_failing", v[bad]);
        ml_data_str(d, "line", step.line);
        ml_data_str(d, "why", why.n ? ml_text_z(&why) : NULL);
        ml_data_list(d, "tried");
        for (int k = 0; k < n; k++) {
            if (!verdicts[k])
                continue;
            ml_text_fmt(&said, "%sv%d %s", said.n ? "   " : "", v[k], verdicts[k]);
            ml_data_object(d, NULL);
            ml_data_int(d, "version", v[k]);
            ml_data_str(d, "verdict", verdicts[k]);
            ml_data_end(d);
        }
        ml_data_end(d);
        ml_text_fmt(&said, "\nfirst failing step: [%d] %s", v[bad], step.line);
    }
    if (said.n)
        ml_out_prose(&ss->out, ml_text_z(&said));
    if (found && !stopped && ss->status == 0)
        ss->status = 1;
    ml_text_free(&said);
    ml_text_free(&why);
    ml_ctx_unref(cx);
    return !found && !stopped;
}

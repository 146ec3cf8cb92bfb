/*
 * cmd_rewrite - :before: a step put among earlier ones on another branch, as in an
 * interactive rebase. Source: interaction 6.
 */
#include <stdlib.h>

#include "primitives/trace.h"
#include "repl/bind/host.h"
#include "repl/command.h"

/* `N` or `vN`, a step above the current version: *code is what stands behind it. */
static bool step_arg(ml_Session *ss, const ml_Words *w, int *step, const char **code)
{
    const char *p = w->rest;
    char *end;
    long n;
    ml_Step info;

    while (p && *p == ' ')
        p++;
    if (!p || !*p)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "the number of a step is wanted");
    n = strtol(p + (*p == 'v'), &end, 10);
    if (end == p + (*p == 'v') || (*end && *end != ' '))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "not a step: %s", p);
    while (*end == ' ')
        end++;
    *code = end;
    for (int v = ml_schedule_version(ss->focus); v > 0; v = info.parent) {
        if (!ml_version_step(ss->focus, v, &info) || !info.prim)
            break;
        if (v != n)
            continue;
        *step = v;
        return true;
    }
    return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                            "step %ld does not lead to v%d; :trace shows those that do", n,
                            ml_schedule_version(ss->focus));
}

/* Goes to before the step, runs the code and repeats the instructions from `first` on. */
static bool rewrite(ml_Session *ss, int step, const char *code, size_t first)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Trace trace = ml_schedule_trace(s, tmp);
    ml_Step info;
    bool ok = ml_version_step(s, step, &info);

    if (ok && !ml_schedule_goto(s, info.parent))
        ok = ml_session_schedule_error(ss, s);
    if (ok) {
        ok = ml_host_eval(ss->host, code, NULL);
        ml_host_print_result(ss->host, true); /* the steps are shown, not the values */
    }
    if (ok && !ml_trace_continue(s, &trace, first, NULL))
        ok = ml_session_schedule_error(ss, s);
    ml_ctx_unref(tmp);
    return ok;
}

bool cmd_before(ml_Session *ss, const ml_Words *w)
{
    const char *code = "";
    int step = 0;

    if (!step_arg(ss, w, &step, &code))
        return false;
    if (!*code)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":before N CODE");
    return rewrite(ss, step, code, ml_trace_before(ss->focus, step));
}

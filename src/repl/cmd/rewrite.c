/*
 * cmd_rewrite - :before, :drop, :edit: a step put among earlier ones, left out or replaced
 * on another branch, as in an interactive rebase. Source: interaction 6.
 */
#include <stdlib.h>

#include "moonloop/primitives/trace.h"
#include "repl/command/command.h"
#include "repl/host/host.h"

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

typedef enum How { BEFORE, DROP, EDIT } How;

/* What the code made stands for what the replaced step made, by position. */
static bool repeat(ml_Session *ss, How how, int step, int parent, const ml_Trace *trace,
                   ml_Ctx *tmp)
{
    ml_Schedule *s = ss->focus;
    size_t first = how == BEFORE ? ml_trace_before(s, step) : ml_trace_after(s, step);
    size_t n = 0, done = 0;
    const ml_Handle *instead = NULL;

    if (how == EDIT && ml_schedule_version(s) != parent)
        instead = ml_version_results(s, tmp, &n);
    if (ml_trace_continue(s, trace, first, instead, n, &done))
        return true;
    return ml_session_schedule_error(ss, s);
}

/* Goes to before the step, runs the code and repeats the later instructions. */
static bool rewrite(ml_Session *ss, How how, int step, const char *code)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Trace trace = ml_schedule_trace(s, tmp);
    ml_Step info;
    bool ok = ml_version_step(s, step, &info);

    if (ok && !ml_schedule_goto(s, info.parent))
        ok = ml_session_schedule_error(ss, s);
    if (ok && how != DROP) {
        ok = ml_host_eval(ss->host, code);
        ml_host_print_result(ss->host, true); /* the steps are shown, not the values */
    }
    ok = ok && repeat(ss, how, step, info.parent, &trace, tmp);
    ml_ctx_unref(tmp);
    return ok;
}

/* `branch edited-1: v8 split ─ v9 reorder`: the new line of work and its steps. */
static void name_branch(ml_Session *ss, int parent)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *cx = ml_ctx_new(0);
    ML_VEC(const char *) steps = {0};
    ml_Text said = {0};
    const char *name = NULL;
    ml_Step step;

    for (int k = 1; !name || ml_schedule_find_branch(s, name) >= 0; k++)
        name = ml_format(cx, "edited-%d", k);
    ml_schedule_branch(s, name);
    for (int v = ml_schedule_version(s); v > parent && ml_version_step(s, v, &step);
         v = step.parent)
        ml_push(cx, &steps, ml_format(cx, "v%d %s", v, step.prim->name));
    ml_text_fmt(&said, "branch %s:", name);
    for (size_t k = steps.n; k-- > 0;)
        ml_text_fmt(&said, "%s %s", k + 1 < steps.n ? " ─" : "", steps.v[k]);
    ml_out_prose(&ss->out, ml_text_z(&said));
    ml_text_free(&said);
    ml_ctx_unref(cx);
}

static bool run(ml_Session *ss, const ml_Words *w, How how, const char *usage)
{
    const char *code = "";
    int step = 0;

    if (!step_arg(ss, w, &step, &code))
        return false;
    if ((*code == '\0') != (how == DROP))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "%s", usage);
    int newest = ml_schedule_n_versions(ss->focus) - 1;

    if (!rewrite(ss, how, step, code))
        return false;
    if (ml_schedule_version(ss->focus) > newest) {
        name_branch(ss, newest);
        /* The line says all that is said of steps in brief. */
        ss->quiet_line = ml_setting_is(&ss->set, ML_SET_echo, "brief");
    }
    return true;
}

bool cmd_before(ml_Session *ss, const ml_Words *w)
{
    return run(ss, w, BEFORE, ":before N CODE");
}

bool cmd_drop(ml_Session *ss, const ml_Words *w)
{
    return run(ss, w, DROP, ":drop N");
}

bool cmd_edit(ml_Session *ss, const ml_Words *w)
{
    return run(ss, w, EDIT, ":edit N CODE");
}

/* cmd_versions - :undo :redo :goto :mark :branch :versions :diff :trace.
 * Source: interaction 6. */
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/primitives/trace.h"
#include "moonloop/work/fact/fact.h"
#include "repl/command/command.h"
#include "repl/show/counts_view.h"
#include "repl/show/diff.h"
#include "repl/show/show.h"
#include "repl/show/versions.h"

static bool number(const char *text, int *out)
{
    char *end;
    long v = strtol(text, &end, 10);

    if (end == text || *end || v < -1000000000 || v > 1000000000)
        return false;
    *out = (int)v;
    return true;
}

bool ml_is_version(ml_Session *ss, const char *text)
{
    int v;

    return (text[0] == 'v' && number(text + 1, &v) && text[1] != '-') ||
           (text[0] == '-' && number(text, &v)) ||
           ml_schedule_find_mark(ss->focus, text) >= 0 ||
           ml_schedule_find_branch(ss->focus, text) >= 0;
}

/* Whether a loop or block of the focus is named so. */
static bool is_place(ml_Schedule *s, const char *text)
{
    const char *near;

    for (int kind = 0; kind < 2; kind++)
        if (ml_nearest_names(s, text, kind ? ML_H_LOOP : ML_H_BLOCK, &near, 1) &&
            ml_streq(near, text))
            return true;
    return false;
}

bool ml_find_version(ml_Session *ss, const char *text, int *out)
{
    ml_Schedule *s = ss->focus;
    int v = ml_schedule_find_mark(s, text), k;
    ml_Step step;

    if (v < 0 && text[0] != '-' && number(text + (text[0] == 'v'), &k) && k >= 0)
        v = k;
    else if (v < 0 && text[0] == '-' && number(text, &k)) {
        v = ml_schedule_version(s);
        for (; k < 0 && v >= 0; k++)
            v = ml_version_step(s, v, &step) ? step.parent : -1;
    } else if (v < 0)
        v = ml_schedule_find_branch(s, text);
    if (v < 0 || !ml_version_known(s, v))
        return ml_session_error(
            ss, ML_E_BAD_ARGUMENT,
            "no version %s%s; :versions shows them (v0 to v%d, marks, branches, -N)", text,
            is_place(s, text) ? ": a version is meant here, not a loop or block" : "",
            ml_schedule_n_versions(s) - 1);
    *out = v;
    return true;
}

/* `[N]` or `step [N]`. */
static bool steps_arg(ml_Session *ss, const ml_Words *w, bool *steps, int *n)
{
    size_t k = 0;

    *steps = w->n > 0 && ml_streq(w->v[0], "step");
    k += *steps;
    *n = 1;
    if (w->n > k && (!number(w->v[k], n) || *n < 1))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "a number of lines or steps, from 1; not %s", w->v[k]);
    return true;
}

static bool arrived(ml_Session *ss, int from)
{
    ml_Text t = {0};
    int to = ml_schedule_version(ss->focus);
    ml_Data *d = ml_session_data(ss);
    ml_Step step;

    ml_data_one(d);
    ml_data_int(d, "from", from);
    ml_data_int(d, "version", to);
    if (ml_version_step(ss->focus, to, &step))
        ml_data_str(d, "line", step.prim ? step.line : NULL);

    if (ss->mode == ML_MODE_TYPED && !ml_setting_is(&ss->set, ML_SET_echo, "brief") &&
        !ml_setting_is(&ss->set, ML_SET_echo, "off")) {
        ml_text_fmt(&t, "v%d → v%d", from, to);
        if (ml_version_step(ss->focus, to, &step))
            ml_text_fmt(&t, "   %s", step.prim ? step.line : "the start");
        ml_err_prose(&ss->out, ml_text_z(&t));
    }
    ml_text_free(&t);
    return true;
}

bool cmd_undo(ml_Session *ss, const ml_Words *w)
{
    bool steps;
    int n, from = ml_schedule_version(ss->focus);

    if (!steps_arg(ss, w, &steps, &n))
        return false;
    ml_State was = ml_schedule_state(ss->focus);

    if (steps && !ml_schedule_undo(ss->focus, n)) {
        ml_session_schedule_error(ss, ss->focus);
        ml_schedule_restore(ss->focus, was);
        return false;
    }
    if (!steps && !ml_session_undo(ss, n))
        return false;
    return arrived(ss, from);
}

bool cmd_redo(ml_Session *ss, const ml_Words *w)
{
    bool steps;
    int n, from = ml_schedule_version(ss->focus);

    if (!steps_arg(ss, w, &steps, &n))
        return false;
    ml_State was = ml_schedule_state(ss->focus);

    if (steps && !ml_schedule_redo(ss->focus, n)) {
        ml_session_schedule_error(ss, ss->focus);
        ml_schedule_restore(ss->focus, was);
        return false;
    }
    if (!steps && !ml_session_redo(ss, n))
        return false;
    return arrived(ss, from);
}

bool cmd_goto(ml_Session *ss, const ml_Words *w)
{
    int v, from = ml_schedule_version(ss->focus);

    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":goto VERSION, a mark, or -N");
    if (!ml_find_version(ss, w->v[0], &v))
        return false;
    if (!ml_schedule_goto(ss->focus, v))
        return ml_session_schedule_error(ss, ss->focus);
    if (ml_schedule_find_branch(ss->focus, w->v[0]) == v) /* of several there, this one */
        ml_schedule_branch(ss->focus, w->v[0]);
    return arrived(ss, from);
}

/* `v7`, `7`, `-2`: what :goto takes for a number. */
static bool reads_as_version(const char *text)
{
    int v;

    return number(text, &v) || (text[0] == 'v' && number(text + 1, &v));
}

bool cmd_mark(ml_Session *ss, const ml_Words *w)
{
    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":mark NAME");
    if (reads_as_version(w->v[0]))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "%s reads as a version: a mark needs another name",
                                w->v[0]);
    int was = ml_schedule_find_mark(ss->focus, w->v[0]);
    int now = ml_schedule_version(ss->focus);

    if (!ml_schedule_mark(ss->focus, w->v[0]))
        return ml_session_schedule_error(ss, ss->focus);
    if (was >= 0 && was != now) {

        ml_err_say(&ss->out, "mark %s moved from v%d to v%d", w->v[0], was, now);
    }
    return true;
}

bool cmd_branch(ml_Session *ss, const ml_Words *w)
{
    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":branch NAME");
    if (reads_as_version(w->v[0]))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "%s reads as a version: a branch needs another name",
                                w->v[0]);
    if (!ml_schedule_branch(ss->focus, w->v[0]))
        return ml_session_schedule_error(ss, ss->focus);
    return true;
}

static void tell_versions(ml_Data *d, ml_Schedule *s)
{
    ml_VersionRow r = {.s = s};

    for (; d && r.version < ml_schedule_n_versions(s); r.version++) {
        if (!ml_version_step(s, r.version, &r.step))
            continue;
        ml_data_row(d);
        ml_data_fields(d, &ml_version_fields, &r);
    }
}

bool cmd_versions(ml_Session *ss, const ml_Words *w)
{
    ml_Text text = {0};

    if (w->n > 0)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":versions takes no argument");
    ml_show_versions(ss, ss->focus, &text);
    tell_versions(ml_session_data(ss), ss->focus);
    ml_page(ss, ml_text_z(&text));
    ml_text_free(&text);
    return true;
}

/* ---- :diff */

static void trace_text(ml_Schedule *s, int version, ml_Text *out)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ML_VEC(const char *) lines = {0};
    ml_Step step;

    for (int v = version; v >= 0 && ml_version_step(s, v, &step) && step.prim;
         v = step.parent)
        ml_push(cx, &lines, step.line);
    for (size_t k = lines.n; k-- > 0;)
        ml_text_fmt(out, "%s\n", lines.v[k]);
    ml_ctx_unref(cx);
}

bool cmd_diff(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Text a = {0}, b = {0}, out = {0};
    ml_DiffOpts o = {.color = ss->out.color};
    int v[2] = {-1, ml_schedule_version(s)};
    size_t n = 0;
    const char *view = "text";
    ml_Step step;

    for (size_t k = 0; k < w->n; k++) {
        if (ml_streq(w->v[k], "--tree") || ml_streq(w->v[k], "--trace") ||
            ml_streq(w->v[k], "--counts"))
            view = w->v[k] + 2;
        else if (strncmp(w->v[k], "--", 2) == 0)
            return ml_session_error(ss, ML_E_NOT_YET, ":diff %s", w->v[k]);
        else if (n == 2)
            return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":diff takes two versions");
        else if (!ml_find_version(ss, w->v[k], &v[n++]))
            return false;
    }
    if (n == 0)
        v[0] = ml_version_step(s, v[1], &step) && step.parent >= 0 ? step.parent : v[1];
    o.context = (int)ml_setting_int(&ss->set, ML_SET_context);
    for (size_t k = 0; k < 2; k++) {
        ml_Text *t = k ? &b : &a;

        if (ml_streq(view, "tree"))
            ml_show_tree(ss, s, v[k], t);
        else if (ml_streq(view, "trace"))
            trace_text(s, v[k], t);
        else if (ml_streq(view, "counts")) {
            if (!ml_show_counts(ss, s, v[k], &(ml_CountsOpts){.plain = true}, t)) {
                ml_text_free(&a);
                ml_text_free(&b);
                return false;
            }
        }
    }
    if (ml_streq(view, "text"))
        ml_diff_versions(ss, s, v[0], v[1], &o, &out);
    else if (ml_streq(view, "tree"))
        ml_diff_tree(&out, ml_text_z(&a), ml_text_z(&b), o.color);
    else
        ml_diff_text(&out, ml_text_z(&a), ml_text_z(&b), &o);
    ml_Data *d = ml_session_data(ss);

    ml_data_one(d);
    ml_data_int(d, "from", v[0]);
    ml_data_int(d, "to", v[1]);
    ml_data_str(d, "view", view);
    ml_data_bool(d, "same", out.n == 0);
    ml_data_str(d, "diff", ml_text_z(&out));
    ml_page_code(ss, out.n ? ml_text_z(&out) : "no difference\n",
                 ml_streq(view, "text") ? ML_GOES_ON : "");
    ml_text_free(&a);
    ml_text_free(&b);
    ml_text_free(&out);
    return true;
}

/* ---- :trace */

bool cmd_trace(ml_Session *ss, const ml_Words *w)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t = ml_schedule_trace(ss->focus, cx);
    ml_Data *d = ml_session_data(ss);
    ml_Text out = {0};
    bool ok = true;

    if (w->n == 0) {
        ML_VEC(int) line = {0};
        ml_Step step;

        for (int v = ml_schedule_version(ss->focus);
             v >= 0 && ml_version_step(ss->focus, v, &step) && step.prim; v = step.parent)
            ml_push(cx, &line, v);
        for (size_t k = line.n; k-- > 0;) {
            ml_version_step(ss->focus, line.v[k], &step);
            ml_text_fmt(&out, "[%d] %s\n", line.v[k], step.line);
            ml_data_row(d);
            ml_data_int(d, "version", line.v[k]);
            ml_data_str(d, "primitive", step.prim->name);
            ml_data_str(d, "line", step.line);
        }
        if (line.n == 0)
            ml_text_add(&out, "no steps yet\n");
    } else if (ml_streq(w->v[0], "--lua"))
        ml_trace_lua(cx, &out, &t);
    else if (ml_streq(w->v[0], "--python"))
        ml_trace_python(cx, &out, &t, false);
    else if (ml_streq(w->v[0], "--json")) {
        ml_trace_json(cx, &out, &t);
        ml_data_one(d);
        ml_data_json(d, "trace", ml_text_z(&out));
        ml_text_char(&out, '\n');
    } else
        ok = ml_session_error(ss, ML_E_BAD_ARGUMENT,
                              ":trace [--lua|--python|--json], not %s", w->v[0]);
    if (ok) {
        if (out.n && out.p[out.n - 1] != '\n')
            ml_text_char(&out, '\n');
        ml_page_code(ss, ml_text_z(&out), "");
    }
    ml_text_free(&out);
    ml_ctx_unref(cx);
    return ok;
}

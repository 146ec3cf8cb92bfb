/*
 * session - one run of the program: schedules, focus, lines as undo groups, errors.
 * Source: interaction 3, 4, 6, 7.
 */
#include "repl/session/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "repl/cmd/jobs.h"
#include "repl/host/host.h"
#include "repl/out/error_data.h"
#include "repl/out/progress.h"
#include "repl/run/command.h"
#include "repl/run/language.h"
#include "repl/session/profiles.h"
#include "repl/session/themes.h"

void ml_session_init(ml_Session *ss)
{
    *ss = (ml_Session){.mode = ML_MODE_SCRIPT};
    ml_settings_init(&ss->set);
}

void ml_session_free(ml_Session *ss)
{
    ml_tell_end(ss);
    if (ss->host)
        ml_host_free(ss->host);
    if (ss->last_owned)
        ml_failure_free(ss->last);
    for (size_t k = 0; k < ss->n_schedules; k++)
        ml_schedule_unref(ss->schedules[k]);
    ml_heap_free(ss->schedules);
    ml_heap_free(ss->saved);
    ml_heap_free(ss->done);
    ml_heap_free(ss->undone);
    ml_profiles_free(ss);
    ml_themes_free(ss);
    ml_aliases_free(&ss->aliases);
}

/* ---- focus */

/* The session keeps every schedule that was the focus. */
static void keep(ml_Session *ss, ml_Schedule *s)
{
    for (size_t k = 0; k < ss->n_schedules; k++)
        if (ss->schedules[k] == s)
            return;
    ss->schedules =
        ml_heap_grow(ss->schedules, (ss->n_schedules + 1) * sizeof *ss->schedules);
    ss->saved = ml_heap_grow(ss->saved, (ss->n_schedules + 1) * sizeof *ss->saved);
    ss->saved[ss->n_schedules] = 1; /* the start is no step */
    ss->schedules[ss->n_schedules++] = ml_schedule_ref(s);
}

void ml_session_focus(ml_Session *ss, ml_Schedule *s)
{
    if (s) {
        keep(ss, s);
        ml_session_guard(ss, ml_schedule_ctx(s));
        ml_ctx_set_limit(ml_schedule_ctx(s),
                         (size_t)ml_setting_int(&ss->set, ML_SET_memory_limit) << 20);
        ml_schedule_set_undo_limit(s, (int)ml_setting_int(&ss->set, ML_SET_undo_limit));
    }
    ss->focus = s;
}

int ml_session_version(const ml_Session *ss)
{
    return ss->job ? ss->job_version : ml_schedule_version(ss->focus);
}

void ml_session_prompt(const ml_Session *ss, ml_Text *out)
{
    ml_Schedule *s = ss->focus;

    if (!s) {
        ml_text_add(out, "> ");
        return;
    }
    ml_text_add(out, ml_schedule_name(s));
    if (ml_schedule_branch_name(s))
        ml_text_fmt(out, ":%s", ml_schedule_branch_name(s));
    ml_text_fmt(out, " v%d> ", ml_schedule_version(s));
}

/* ---- errors */

int ml_status_of(ml_ErrorCode code)
{
    switch ((int)code) {
    case ML_E_NO_FILE:
    case ML_E_NO_TARGET:
    case ML_E_NO_DEVICE:
    case ML_E_NO_WORKER:
    case ML_E_NOT_YET: return 3;
    case ML_E_INTERRUPTED: return 130;
    default: return 1;
    }
}

static ml_RenderLevel render_level(const ml_Session *ss)
{
    if (ml_setting_is(&ss->set, ML_SET_errors, "detail"))
        return ML_RENDER_DETAIL;
    if (ml_setting_is(&ss->set, ML_SET_errors, "fast"))
        return ML_RENDER_FAST;
    if (ml_setting_is(&ss->set, ML_SET_errors, "none"))
        return ML_RENDER_NONE;
    return ML_RENDER_BRIEF;
}

static void say_error(ml_Session *ss, ml_Failure *f, const char *at, ml_RenderLevel level)
{
    ml_Text t = {0};
    ml_RenderOpts opts = {.width = ss->out.width, .color = ss->out.err_color};

    opts.ascii = ss->out.ascii;
    opts.level = level;
    /* The terminal has just shown ^C where the cursor was. */
    if (ss->prompting && ml_failure_code(f) == ML_E_INTERRUPTED && isatty(STDIN_FILENO) &&
        isatty(STDERR_FILENO))
        ml_err(&ss->out, "\n");
    ml_failure_render(f, &t, &opts);
    if (at && *at)
        ml_text_fmt(&t, "\n%s", at);
    ml_err_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

static void say_error_data(ml_Session *ss, ml_Failure *f, const char *at,
                           ml_RenderLevel level)
{
    ml_Data d = {.n = 0};

    ml_error_data(&d, f, at, level == ML_RENDER_BRIEF || level == ML_RENDER_DETAIL);
    ml_err(&ss->out, ml_data_lines(&d));
    ml_data_free(&d);
}

static void report(ml_Session *ss, ml_Failure *f, bool owned, const char *at,
                   ml_RenderLevel level)
{
    int status = ml_status_of(ml_failure_code(f));

    if (!ss->out.broken) /* else the reader is gone: the program ends, and says why once */
        (ss->json ? say_error_data : say_error)(ss, f, at, level);
    if (ss->status == 0)
        ss->status = status;
    if (ss->last != f && ss->last_owned)
        ml_failure_free(ss->last);
    ss->last = f;
    ss->last_owned = owned;
}

void ml_session_report(ml_Session *ss, ml_Failure *f, bool owned, const char *at)
{
    report(ss, f, owned, at, render_level(ss));
}

void ml_session_fail(ml_Session *ss, ML_TAKES ml_Failure *f)
{
    ml_session_report(ss, f, true, NULL);
}

bool ml_session_error(ml_Session *ss, ml_ErrorCode code, const char *fmt, ...)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_fail(cx, code, ML_TEXT(ml_text_z(&t)));
    /* The sentence of a command says what its arguments are; the rule would say it less
     * well. */
    report(ss, ml_failure_from(ml_error(cx)), true, NULL,
           code == ML_E_BAD_ARGUMENT && render_level(ss) == ML_RENDER_BRIEF
               ? ML_RENDER_FAST
               : render_level(ss));
    ml_text_free(&t);
    ml_ctx_unref(cx);
    return false;
}

bool ml_session_forbids(ml_Session *ss, const char *what)
{
    if (ss->safe)
        ml_session_error(
            ss, ML_E_NOT_SUPPORTED,
            "%s: no file is written, and no command or library run, under --safe", what);
    return ss->safe;
}

bool ml_session_may_read(ml_Session *ss, const char *path)
{
    if (!ss->safe)
        return true;
    ml_Ctx *cx = ml_ctx_new(0);
    bool ok = ml_reach_allows(ss->reach, cx, path);

    if (!ok)
        ml_session_fail(ss, ml_failure_from(ml_error(cx)));
    ml_ctx_unref(cx);
    return ok;
}

bool ml_session_schedule_error(ml_Session *ss, ml_Schedule *s)
{
    ml_session_fail(ss, ml_failure_take(s));
    return false;
}

/* ---- lines */

static void push_line(ml_Session *ss, ml_Line **v, size_t *n, ml_Line l)
{
    (void)ss;
    *v = ml_heap_grow(*v, (*n + 1) * sizeof **v);
    (*v)[(*n)++] = l;
}

void ml_session_push_line(ml_Session *ss, ml_Line l)
{
    push_line(ss, &ss->done, &ss->n_done, l);
}

bool ml_session_wants_more(ml_Session *ss, const char *text)
{
    text += strspn(text, " \t\n");
    switch (ml_language_of_input(text)) {
    case ML_LANGUAGE_COMMAND:
    case ML_LANGUAGE_HELP:
    case ML_LANGUAGE_SHELL: break;
    case ML_LANGUAGE_SCRIPT: return text[strlen(text) - 1] != '\n'; /* no empty line yet */
    case ML_LANGUAGE_LUA: return ml_host_incomplete(ss->host, text);
    }
    return false;
}

/* help, quit, tree() ...: a command typed without its colon. A variable of that name, or
 * the method of the focus that the call means, goes first. */
static bool lacks_colon(ml_Session *ss, const char *text)
{
    ml_Text name = {0}, why = {0};
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    bool call = ml_streq(text + n, "()"), lone = text[n] == '\0';

    if (ss->mode != ML_MODE_TYPED || n == 0 || (!call && !lone))
        return false;
    ml_text_addn(&name, text, n);
    const char *z = ml_streq(ml_text_z(&name), "exit") ? "quit" : ml_text_z(&name);
    const ml_Command *c = ml_command_find(z, &why);
    bool yes =
        c && ml_streq(c->name, z) && !ml_host_knows(ss->host, ml_text_z(&name), call);

    if (yes)
        ml_session_error(ss, ML_E_UNKNOWN_NAME, "a command begins with a colon: :%s", z);
    ml_text_free(&name);
    ml_text_free(&why);
    return yes;
}

static bool run_command(ml_Session *ss, const char *name, const char *rest, size_t n)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "%s %.*s", name, (int)n, rest);
    bool ok = ml_command_run(ss, ml_text_z(&t));

    ml_text_free(&t);
    return ok;
}

static bool run_text(ml_Session *ss, const char *text)
{
    size_t marks = strspn(text, "?");

    if (lacks_colon(ss, text))
        return false;
    switch (ml_language_of_input(text)) {
    case ML_LANGUAGE_COMMAND: return ml_command_run(ss, text + 1);
    case ML_LANGUAGE_HELP:
        return run_command(ss, "help", text + marks, strcspn(text + marks, "?"));
    case ML_LANGUAGE_SHELL: return run_command(ss, "shell", text + 1, strlen(text + 1));
    case ML_LANGUAGE_SCRIPT: return ml_host_open_text(ss->host, text);
    case ML_LANGUAGE_LUA: break;
    }
    return ml_host_eval(ss->host, text);
}

/* Everything the line did to the focus becomes one undo group, or is taken back. newest:
 * version before the line. */
static void finish_line(ml_Session *ss, ml_Schedule *s, ml_State before, int newest,
                        bool ok)
{
    ml_State after = ml_schedule_state(s);

    if (after.version == before.version && after.trace == before.trace)
        return;
    if (!ok && ml_setting_bool(&ss->set, ML_SET_atomic) && ss->mode == ML_MODE_TYPED) {
        if (after.version > newest) { /* else the line only went there */
            ml_Text t = {0};

            ml_schedule_mark(s, "failed");
            ml_text_fmt(
                &t,
                "note: the steps of this line were taken back; they are at v%d, marked "
                "`failed`",
                after.version);
            ml_err_prose(&ss->out, ml_text_z(&t));
            ml_text_free(&t);
        }
        ml_schedule_restore(s, before);
        return;
    }
    push_line(ss, &ss->done, &ss->n_done, (ml_Line){s, before, after});
    ss->n_undone = 0;
}

/* Commands walk through the versions, which is no step to be undone; some make steps. */
static bool makes_steps(ml_Session *ss, const char *line)
{
    const ml_Command *c = ml_command_of(ss, line);

    return line[0] != ':' ||
           (c && (c->run == cmd_before || c->run == cmd_drop || c->run == cmd_edit ||
                  c->run == cmd_replay || c->run == cmd_adopt));
}

/* A line that fails is taken back, but a replay stays as far as it went. */
static bool keeps_what_was_done(ml_Session *ss, const char *line)
{
    const ml_Command *c = ml_command_of(ss, line);

    return c && c->run == cmd_replay;
}

/* :set stats on: what the line asked of the analyses. */
static void say_counts(ml_Session *ss, const ml_FactCounts *before)
{
    ml_FactCounts now = ml_schedule_fact_counts(ss->focus);
    ml_Text t = {0};

    for (size_t q = 0; q < ML_QUESTIONS; q++) {
        uint64_t asked = now.asked[q] - before->asked[q];
        uint64_t computed = now.computed[q] - before->computed[q];

        if (asked > 0)
            ml_text_fmt(&t, "%s%s %llu asked, %llu computed",
                        t.n ? "; " : "      analyses: ", ml_question_name((ml_Question)q),
                        (unsigned long long)asked, (unsigned long long)computed);
    }
    ml_out_prose(&ss->out, t.n ? ml_text_z(&t) : "      analyses: none was asked");
    ml_text_free(&t);
}

/* What settings want done after a line that made steps of the focus, since `from`. */
static bool look_at_steps(ml_Session *ss, int from)
{
    if (ml_setting_bool(&ss->set, ML_SET_verify_each) && !ml_verify_steps(ss, from))
        return false;
    if (ml_setting_bool(&ss->set, ML_SET_check_after_step) && !ml_command_run(ss, "check"))
        return false;
    return !ml_setting_bool(&ss->set, ML_SET_time_after_step) || ml_time_after_step(ss);
}

bool ml_session_line(ml_Session *ss, const char *text)
{
    ml_Text line = {0};
    ml_Schedule *focus = ss->focus;
    ml_State before = {0};
    ml_FactCounts counts = {{0}, {0}};
    bool ok, moves;
    int newest = -1;

    while (*text == ' ' || *text == '\t' || *text == '\n')
        text++;
    ml_text_add(&line, text);
    while (line.n > 0 && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\n' ||
                          line.p[line.n - 1] == '\t' || line.p[line.n - 1] == '\r'))
        line.p[--line.n] = '\0';
    if (line.n == 0) {
        ml_text_free(&line);
        return true;
    }
    const ml_Command *c = ml_command_of(ss, line.p);

    ss->quiet_line = line.p[0] != ':' && line.p[line.n - 1] == ';';
    if (!c || c->run != cmd_quit)
        ss->quit_asked = false;
    if (focus) {
        before = ml_schedule_state(focus);
        newest = ml_schedule_n_versions(focus) - 1;
        counts = ml_schedule_fact_counts(focus);
    }
    ml_LineEvent e = {.text = ml_text_z(&line), .as_read = text, .focus = focus};

    e.command = c ? c->name : NULL;
    e.from = before.version;
    e.depth = ss->depth++;
    if (e.depth == 0) {
        ss->stops = 0;
        ss->n_lines++;
    }
    e.number = ss->n_lines;
    ml_tell_before(ss, &e);
    moves = !makes_steps(ss, ml_text_z(&line));
    ok = run_text(ss, ml_text_z(&line));
    if (focus && !moves) {
        int to = ml_schedule_version(focus);

        if (ok && ss->mode == ML_MODE_TYPED && !ss->quiet_line && to != before.version)
            ml_echo_steps(ss, focus, before.version, to);
        if (to != before.version && focus == ss->focus &&
            ml_setting_bool(&ss->set, ML_SET_stats))
            say_counts(ss, &counts);
        finish_line(ss, focus, before, newest,
                    ok || keeps_what_was_done(ss, ml_text_z(&line)));
    }
    if (ss->mode == ML_MODE_TYPED && ok)
        ml_host_print_result(ss->host, ss->quiet_line);
    if (ss->focus != focus && ss->focus) {
        if (ss->mode == ML_MODE_TYPED)
            ml_session_announce(ss);
    }
    if (ok && focus && focus == ss->focus && !moves &&
        ml_schedule_version(focus) != before.version)
        ok = look_at_steps(ss, before.version);
    e.ok = ok;
    e.to = focus ? ml_schedule_version(focus) : 0;
    ss->depth--;
    if (e.depth == 0 && ss->focus && (ss->focus != focus || e.to != e.from))
        ml_tell_version(ss, ss->focus, ml_schedule_version(ss->focus));
    ml_tell_after(ss, &e);
    ml_text_free(&line);
    return ok;
}

/* Moves the top line of the focus from one stack to the other; false: there is none that
 * leads on from here. */
static bool take_line(ml_Session *ss, bool undo)
{
    ml_Line *v = undo ? ss->done : ss->undone;
    size_t *n = undo ? &ss->n_done : &ss->n_undone, at = *n;

    while (at > 0 && v[at - 1].s != ss->focus)
        at--;
    if (at == 0)
        return false;
    ml_Line l = v[at - 1];

    if (ml_schedule_state(ss->focus).version != (undo ? l.after.version : l.before.version))
        return false;
    memmove(&v[at - 1], &v[at], (*n - at) * sizeof *v);
    --*n;
    ml_schedule_return(l.s, undo ? l.before : l.after);
    if (undo)
        push_line(ss, &ss->undone, &ss->n_undone, l);
    else
        push_line(ss, &ss->done, &ss->n_done, l);
    return true;
}

/* n lines, or none: on an error everything is as it was. Steps that no line of this session
 * made are walked one by one. */
static bool walk_lines(ml_Session *ss, int n, bool undo)
{
    ml_State was = ml_schedule_state(ss->focus);
    int moved = 0, k = 0;

    while (k < n) {
        if (take_line(ss, undo))
            moved++;
        else if (!(undo ? ml_schedule_undo(ss->focus, 1) : ml_schedule_redo(ss->focus, 1)))
            break;
        k++;
    }
    if (k == n)
        return true;
    ml_schedule_restore(ss->focus, was);
    while (moved-- > 0) {
        if (undo)
            push_line(ss, &ss->done, &ss->n_done, ss->undone[--ss->n_undone]);
        else
            push_line(ss, &ss->undone, &ss->n_undone, ss->done[--ss->n_done]);
    }
    if (k == 0)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "there is nothing to %s",
                                undo ? "undo" : "redo");
    return ml_session_error(ss, ML_E_BAD_ARGUMENT, "there %s only %d line%s to %s",
                            k == 1 ? "is" : "are", k, k == 1 ? "" : "s",
                            undo ? "undo" : "redo");
}

bool ml_session_undo(ml_Session *ss, int n)
{
    return walk_lines(ss, n, true);
}

bool ml_session_redo(ml_Session *ss, int n)
{
    return walk_lines(ss, n, false);
}

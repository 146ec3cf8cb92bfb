/*
 * session - one run of the program: schedules, focus, lines as undo groups.
 * Source: interaction 3, 4, 6.
 */
#include "repl/session/session.h"

#include "moonloop/core/base/arena.h"
#include "repl/out/interrupt.h"
#include "repl/session/profiles.h"
#include "repl/session/progress.h"
#include "repl/session/searched.h"
#include "repl/session/themes.h"

void ml_session_init(ml_Session *ss)
{
    *ss = (ml_Session){.mode = ML_MODE_SCRIPT};
    ml_settings_init(&ss->set);
}

void ml_session_free(ml_Session *ss)
{
    ml_tell_end(ss);
    if (ss->last_owned)
        ml_failure_free(ss->last);
    for (size_t k = 0; k < ss->n_schedules; k++)
        ml_schedule_unref(ss->schedules[k]);
    ml_heap_free(ss->schedules);
    ml_heap_free(ss->saved);
    ml_heap_free(ss->done);
    ml_heap_free(ss->undone);
    ml_profiles_free(ss);
    ml_searched_free(ss);
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

ml_Data *ml_session_data(ml_Session *ss)
{
    return ss->data;
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

/* ---- what stands in no file */

void ml_session_saved(ml_Session *ss, const ml_Schedule *s)
{
    for (size_t k = 0; k < ss->n_schedules; k++)
        if (ss->schedules[k] == s)
            ss->saved[k] = ml_schedule_n_versions(s);
}

static long unsaved(const ml_Session *ss, size_t k)
{
    return ml_schedule_n_versions(ss->schedules[k]) - ss->saved[k];
}

long ml_session_unsaved(const ml_Session *ss)
{
    long n = 0;

    for (size_t k = 0; k < ss->n_schedules; k++)
        n += unsaved(ss, k);
    return n;
}

/* Whether another schedule has its name: then its number in :focus is told. */
static bool has_namesake(const ml_Session *ss, size_t k)
{
    const char *name = ml_schedule_name(ss->schedules[k]);

    for (size_t n = 0; n < ss->n_schedules; n++)
        if (n != k && ml_streq(ml_schedule_name(ss->schedules[n]), name))
            return true;
    return false;
}

void ml_session_add_unsaved(const ml_Session *ss, ml_Text *out)
{
    long all = ml_session_unsaved(ss);
    size_t n = 0;

    for (size_t k = 0; k < ss->n_schedules; k++) {
        if (unsaved(ss, k) <= 0)
            continue;
        ml_text_fmt(out, "%s%ld step%s of %s", n++ ? ", " : "", unsaved(ss, k),
                    unsaved(ss, k) == 1 ? "" : "s", ml_schedule_name(ss->schedules[k]));
        if (has_namesake(ss, k))
            ml_text_fmt(out, " (%zu)", k + 1);
    }
    ml_text_fmt(out, " %s not saved", all == 1 ? "is" : "are");
}

/* ---- lines */

static void push_line(ml_Line **v, size_t *n, ml_Line l)
{
    *v = ml_heap_grow(*v, (*n + 1) * sizeof **v);
    (*v)[(*n)++] = l;
}

void ml_session_push_line(ml_Session *ss, ml_Line l)
{
    push_line(&ss->done, &ss->n_done, l);
    ss->n_undone = 0;
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
        push_line(&ss->undone, &ss->n_undone, l);
    else
        push_line(&ss->done, &ss->n_done, l);
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
            push_line(&ss->done, &ss->n_done, ss->undone[--ss->n_undone]);
        else
            push_line(&ss->undone, &ss->n_undone, ss->done[--ss->n_done]);
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

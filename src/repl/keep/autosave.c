/*
 * autosave - the log of a session on disk (autosave.h).
 *
 * The file is made with the first step. A line is `SUM {…}`: the number and the text of the
 * line that was typed; news of each schedule of the session (primitives/trace/journal.h),
 * its start with the first of them; the focus, settings that are not the usual ones, the
 * lines that can be undone; at its end what is announced of an orphan. It is written with
 * one write(2), so that what the kernel has is whole lines, and without fsync: it is to
 * outlive the program, not the machine. Source: interaction 6.
 */
#include "repl/keep/autosave.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "moonloop/core/base/arena.h"
#include "moonloop/core/json/json.h"
#include "moonloop/primitives/trace/journal.h"
#include "repl/host/host.h"
#include "repl/keep/crash.h"
#include "repl/keep/registered.h"
#include "repl/keep/sessions.h"
#include "repl/screen/write_all.h"

enum {
    PROGRAM_LIMIT = 16 << 20, /* bytes: a start program larger than that is not kept */
    FILE_LIMIT = 256 << 20,
    TEXT_LIMIT = 200, /* bytes of what was typed: it is for who reads the file */
};

typedef struct Kept {
    ml_Schedule *s; /* one of the session's */
    ml_Journal *journal;
    bool left_out; /* too large */
} Kept;

struct ml_Autosave {
    int fd; /* -1: not made yet */
    bool stopped;
    ml_Text path;
    off_t size;
    Kept *v; /* by position in the session's list */
    size_t n;
    ml_Settings set;
    ml_Schedule *focus;
    ml_Registered registered;
    ml_Line line; /* the last that was written */
};

/* ---- the file */

static void stop(ml_Session *ss, const char *why)
{
    ml_Autosave *a = ss->autosave;

    ml_err_say(&ss->out, "note: nothing is autosaved%s: %s: %s",
               a->fd >= 0 ? " from here on" : "",
               a->path.n ? ml_text_z(&a->path) : "the state folder", why);
    a->stopped = true;
    if (a->fd >= 0 && ftruncate(a->fd, a->size) != 0) {
        /* half a line at the end: reading stops before it */
    }
}

/* The first line makes the file. */
static void write_line(ml_Session *ss, const ml_Text *json)
{
    ml_Autosave *a = ss->autosave;
    ml_Text t = {0};

    ml_text_fmt(&t, "%s%08x ", a->fd < 0 ? ML_SAVE_HEAD : "",
                ml_sessions_sum(json->p, json->n));
    ml_text_addn(&t, json->p, json->n);
    ml_text_char(&t, '\n');
    if (json->bad || t.bad)
        stop(ss, "out of memory");
    else if (a->size + (off_t)t.n > FILE_LIMIT)
        stop(ss, "it has grown too large");
    else if (a->fd >= 0 && !ml_write_all(a->fd, t.p, t.n))
        stop(ss, strerror(errno));
    else if (a->fd < 0 && !ml_sessions_name(&a->path))
        stop(ss, "neither XDG_STATE_HOME nor HOME is set");
    else if (a->fd < 0) {
        ml_text_add(&a->path, ML_SAVE_SUFFIX);
        a->fd = ml_sessions_create(ml_text_z(&a->path), &t);
        if (a->fd < 0)
            stop(ss, strerror(errno));
        else
            ml_crash_autosave(ml_text_z(&a->path));
    }
    if (!a->stopped)
        a->size += (off_t)t.n;
    ml_text_free(&t);
}

/* ---- one line */

static bool has_steps(const ml_Session *ss)
{
    for (size_t k = 0; k < ss->n_schedules; k++)
        if (ml_schedule_n_versions(ss->schedules[k]) > 1)
            return true;
    return false;
}

/* The session's list only grows. */
static void take_new_ones(ml_Session *ss)
{
    ml_Autosave *a = ss->autosave;

    if (a->n == ss->n_schedules)
        return;
    a->v = ml_heap_grow(a->v, ss->n_schedules * sizeof *a->v);
    for (; a->n < ss->n_schedules; a->n++)
        a->v[a->n] = (Kept){.s = ss->schedules[a->n]};
}

/* One schedule; false: there is nothing new, and nothing is added. */
static bool add_schedule(ml_Session *ss, size_t k, bool comma, ml_Text *out)
{
    Kept *one = &ss->autosave->v[k];
    ml_Text t = {0};
    bool any = false;

    if (one->left_out)
        return false;
    ml_text_fmt(&t, "%s{\"id\":%zu", comma ? "," : "", k + 1);
    if (!one->journal) {
        one->journal = ml_journal_new();
        ml_text_add(&t, ",\"start\":");
        ml_journal_start(one->journal, one->s, &t);
        one->left_out = t.n > PROGRAM_LIMIT || t.bad;
    }
    ml_text_add(&t, ",\"news\":");
    if (one->left_out)
        ml_err_say(&ss->out, "note: %s is not autosaved: its program has %zu MiB of text",
                   ml_schedule_name(one->s), t.n >> 20);
    else if (ml_journal_news(one->journal, one->s, &t)) {
        ml_text_char(&t, '}');
        ml_text_addn(out, t.p, t.n);
        any = true;
    }
    out->bad |= t.bad && !one->left_out;
    ml_text_free(&t);
    return any;
}

static size_t position(const ml_Session *ss, const ml_Schedule *s)
{
    size_t k = 0;

    while (k < ss->n_schedules && ss->schedules[k] != s)
        k++;
    return k;
}

static bool add_settings(ml_Session *ss, ml_Text *out)
{
    ml_Autosave *a = ss->autosave;
    bool any = false;

    for (int k = 0; k < ML_SETTINGS; k++) {
        if (ml_streq(a->set.value[k], ss->set.value[k]))
            continue;
        ml_text_add(out, any ? "," : ",\"set\":{");
        ml_json_key(out, ml_settings[k].name);
        ml_journal_string(out, ss->set.value[k]);
        any = true;
    }
    a->set = ss->set;
    if (any)
        ml_text_char(out, '}');
    return any;
}

/* The line on top of those that can be undone. */
static bool add_line(ml_Session *ss, ml_Text *out)
{
    ml_Autosave *a = ss->autosave;
    const ml_Line *l = ss->n_done ? &ss->done[ss->n_done - 1] : NULL;
    size_t k = l ? position(ss, l->s) : 0;

    if (!l || k >= a->n || !a->v[k].journal ||
        (l->s == a->line.s && l->before.version == a->line.before.version &&
         l->after.version == a->line.after.version))
        return false;
    a->line = *l;
    ml_text_fmt(out, ",\"line\":[%zu,", k + 1);
    ml_journal_state(a->v[k].journal, l->before, out);
    ml_text_add(out, ",");
    ml_journal_state(a->v[k].journal, l->after, out);
    ml_text_char(out, ']');
    return true;
}

static void add_typed(const ml_LineEvent *e, ml_Text *out)
{
    char text[TEXT_LIMIT];

    snprintf(text, sizeof text, "%s", e->text);
    ml_text_fmt(out, ",\"number\":%d,\"text\":", e->number);
    ml_journal_string(out, text);
}

/* What is announced of an orphan: it comes last, for who reads the end of the file only. */
static void add_summary(ml_Session *ss, ml_Text *out)
{
    const char *name = ss->focus ? ml_schedule_name(ss->focus) : "";
    long steps = 0;

    for (size_t k = 0; k < ss->n_schedules; k++)
        steps += ml_schedule_n_versions(ss->schedules[k]) - 1;
    ml_text_add(out, ", \"name\": \"");
    for (size_t k = 0; name[k] && k < 60; k++) { /* plain, whatever it is */
        bool plain = name[k] > ' ' && name[k] < 0x7f && !strchr("\"\\", name[k]);

        ml_text_char(out, plain ? name[k] : '_');
    }
    ml_text_fmt(out, "\", \"steps\": %ld}", steps);
}

static void add_news(ml_Session *ss, const ml_LineEvent *e)
{
    ml_Autosave *a = ss->autosave;
    ml_Text t = {0};
    bool any = false;

    if (!a || a->stopped || (a->fd < 0 && !has_steps(ss)))
        return;
    take_new_ones(ss);
    ml_text_add(&t, "{\"schedules\":[");
    for (size_t k = 0; k < a->n; k++)
        any |= add_schedule(ss, k, any, &t);
    ml_text_char(&t, ']');
    if (ss->focus != a->focus) {
        ml_text_fmt(&t, ",\"focus\":%zu", position(ss, ss->focus) + 1);
        a->focus = ss->focus;
        any = true;
    }
    any |= ml_registered_news(&a->registered, ml_host_intrins(ss->host), &t);
    any |= add_settings(ss, &t);
    any |= add_line(ss, &t);
    if (any) {
        if (e)
            add_typed(e, &t);
        add_summary(ss, &t);
        write_line(ss, &t);
    }
    ml_text_free(&t);
}

void ml_autosave_line(ml_Session *ss)
{
    add_news(ss, NULL);
}

bool ml_autosave_holds_all(const ml_Session *ss)
{
    const ml_Autosave *a = ss->autosave;

    if (!a || a->stopped || a->fd < 0 || a->n < ss->n_schedules)
        return false;
    for (size_t k = 0; k < a->n; k++)
        if (a->v[k].left_out)
            return false;
    return true;
}

/* ---- beginning and end */

static void announce(ml_Session *ss)
{
    ml_Orphans o;
    ml_Text t = {0};
    size_t first = 0;

    ml_orphans_find(&o);
    while (o.n_lost > 0 && o.v[first].ended)
        first++;
    if (o.n_lost > 0) {
        const ml_Orphan *one = &o.v[first];
        size_t more = o.n_lost - 1;

        if (one->name[0])
            ml_text_fmt(&t, "%ld step%s of %s from ", one->steps,
                        one->steps == 1 ? "" : "s", one->name);
        else
            ml_text_add(&t, "a damaged autosave from ");
        ml_orphan_when(one, &t);
        if (more)
            ml_text_fmt(&t, ", and %zu older session%s,", more, more == 1 ? "" : "s");
        ml_err_say(&ss->out, "%s %s not saved; :recover%s", ml_text_z(&t),
                   more || one->steps != 1 ? "were" : "was", more ? " lists them" : "");
    }
    ml_text_free(&t);
    ml_orphans_free(&o);
}

static void after_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    (void)user;
    add_news(ss, e);
}

/* What its user leaves behind unsaved can be brought back; one line says so. */
static void keep_ended(ml_Session *ss)
{
    ml_Autosave *a = ss->autosave;
    ml_Text t = {0}, name = {0};
    size_t stem = a->path.n - strlen(ML_SAVE_SUFFIX);

    ml_text_fmt(&name, "%.*s%s", (int)stem, ml_text_z(&a->path), ML_ENDED_SUFFIX);
    if (rename(ml_text_z(&a->path), ml_text_z(&name)) == 0) {
        ml_session_add_unsaved(ss, &t);
        ml_err_say(&ss->out, "%s; :recover brings %s%s back", ml_text_z(&t),
                   ml_autosave_holds_all(ss) ? "" : "some of ",
                   ml_session_unsaved(ss) == 1 ? "it" : "them");
    }
    ml_text_free(&t);
    ml_text_free(&name);
}

/* As its user meant: the file goes, unless steps are in no other one; :recover has it then,
 * and a line says so. */
static void end_autosave(void *user, ml_Session *ss)
{
    ml_Autosave *a = ss->autosave;
    bool clean = !ss->lost_terminal;

    (void)user;
    ml_crash_autosave(NULL);
    if (a->fd >= 0 && clean && ml_session_unsaved(ss) > 0)
        keep_ended(ss);
    else if (a->fd >= 0 && clean)
        unlink(ml_text_z(&a->path));
    if (a->fd >= 0)
        close(a->fd);
    if (clean)
        ml_orphans_prune();
    for (size_t k = 0; k < a->n; k++)
        ml_journal_free(a->v[k].journal);
    ml_heap_free(a->v);
    ml_text_free(&a->path);
    ml_heap_free(a);
    ss->autosave = NULL;
}

void ml_autosave_begin(ml_Session *ss)
{
    static const ml_Observer OBSERVER = {
        .name = "autosave", .after_line = after_line, .on_end = end_autosave};

    if (ss->autosave || ss->private_ || ss->batch)
        return;
    announce(ss);
    ss->autosave = ml_heap_zalloc(sizeof *ss->autosave);
    ss->autosave->fd = -1;
    ml_settings_init(&ss->autosave->set);
    ml_session_observe(ss, &OBSERVER);
    ml_autosave_line(ss);
}

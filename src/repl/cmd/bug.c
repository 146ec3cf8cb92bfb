/*
 * cmd_bug - :bug: what somebody else needs to see the same: versions, machine, settings,
 * the last error, the focus as a script, the last lines. It is shown before anything is
 * saved. Source: interaction 4.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/core/base/arena.h"
#include "moonloop/primitives/trace.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/keep/record.h"
#include "repl/show/show.h"
#include "repl/show/versions.h"

enum { LAST_LINES = 40 };

static void title(ml_Text *t, const char *what)
{
    ml_text_fmt(t, "\n-- %s\n", what);
}

static void add_env(ml_Text *t, const char *name)
{
    const char *v = getenv(name);

    ml_text_fmt(t, "  %s=%s", name, v ? v : "(not set)");
}

static void add_machine(ml_Session *ss, ml_Text *t)
{
    ml_Target host = ml_target_host();
    const ml_Machine *m = ml_engine_machine(ml_host_engine(ss->host));
    struct utsname u;

    title(t, "machine");
    if (uname(&u) == 0)
        ml_text_fmt(t, "%s %s %s, ", u.sysname, u.release, u.machine);
    ml_text_fmt(t, "%s%s%s, %u threads\n", m->cpu, m->cpu[0] ? ", " : "",
                ml_target_level(&host), ml_threads(&host));
    ml_text_fmt(t, "screen %d x %d%s%s", ss->out.width, ss->out.height,
                ss->out.color ? ", colour" : "", ss->out.ascii ? ", ASCII" : "");
    add_env(t, "TERM");
    add_env(t, "LANG");
    add_env(t, "LC_ALL");
    ml_text_char(t, '\n');
}

static void add_settings(ml_Session *ss, ml_Text *t)
{
    ml_Settings usual;
    bool any = false;

    ml_settings_init(&usual);
    for (int k = 0; k < ML_SETTINGS; k++) {
        if (ml_streq(usual.value[k], ss->set.value[k]))
            continue;
        if (!any)
            title(t, "settings");
        any = true;
        ml_text_fmt(t, ":set %s %s\n", ml_settings[k].name, ss->set.value[k]);
    }
}

static void add_error(ml_Session *ss, ml_Text *t)
{
    ml_RenderOpts o = {.width = 100, .level = ML_RENDER_DETAIL, .no_suggestions = true};

    title(t, "last error");
    if (!ss->last) {
        ml_text_add(t, "none\n");
        return;
    }
    ml_failure_render(ss->last, t, &o);
    ml_text_char(t, '\n');
}

static void add_focus(ml_Session *ss, ml_Text *t)
{
    ml_Schedule *s = ss->focus;

    title(t, "focus");
    if (!s) {
        ml_text_add(t, "none\n");
        return;
    }
    ml_text_fmt(t, "%s v%d, hash %016llx, one of %zu schedule%s\n", ml_schedule_name(s),
                ml_schedule_version(s), (unsigned long long)ml_schedule_hash(s),
                ss->n_schedules, ss->n_schedules == 1 ? "" : "s");
    ml_show_versions(ss, s, t);
    title(t, "the focus as a script");
    ml_saved_lua(s, t);
}

static void make_report(ml_Session *ss, ml_Text *t)
{
    time_t now = time(NULL);
    struct tm tm;
    char when[40] = "";

    if (localtime_r(&now, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", &tm);
    ml_text_fmt(t, "moonloop: a report of %s\n", when);
    title(t, "versions");
    if (ss->about)
        ss->about(t);
    add_machine(ss, t);
    add_settings(ss, t);
    add_error(ss, t);
    add_focus(ss, t);
    title(t, "the last lines");
    ml_record_tail(ss, LAST_LINES, t);
}

static bool save(ml_Session *ss, const char *path, const ml_Text *t)
{
    if (access(path, F_OK) == 0)
        return ml_session_write_error(ss, path, EEXIST);
    if (!ml_session_write(ss, path, t))
        return false;

    ml_out_say(&ss->out, "saved %s", path);
    return true;
}

/* At a prompt: where to, or nowhere. */
static bool offer(ml_Session *ss, const char *given, const ml_Text *t)
{
    char usual[64] = "moonloop-bug.txt";
    time_t now = time(NULL);
    struct tm tm;
    ml_Text q = {0};
    const char *path = given ? given : usual;
    bool ok = true;

    if (localtime_r(&now, &tm))
        strftime(usual, sizeof usual, "moonloop-bug-%Y%m%d-%H%M%S.txt", &tm);
    ml_text_fmt(&q, "save it as %s? [y/N] ", path);
    char *answer = ss->ask(ss, ml_text_z(&q));

    if (answer && (*answer == 'y' || *answer == 'Y'))
        ok = save(ss, path, t);
    else
        ml_out_prose(&ss->out, "nothing was saved");
    ml_heap_free(answer);
    ml_text_free(&q);
    return ok;
}

bool cmd_bug(ml_Session *ss, const ml_Words *w)
{
    ml_Text t = {0};
    const char *path = w->n ? w->v[0] : NULL;
    bool ok = true;

    if (w->n > 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":bug [FILE]");
    if (path && ml_session_forbids(ss, ":bug FILE"))
        return false;
    make_report(ss, &t);
    ml_record_unseen(ss); /* two reports are never the same */
    ml_page_code(ss, ml_text_z(&t), "");
    if (ss->ask && !ss->out.sink.out && !ss->safe)
        ok = offer(ss, path, &t);
    else if (path)
        ok = save(ss, path, &t);
    ml_text_free(&t);
    return ok;
}

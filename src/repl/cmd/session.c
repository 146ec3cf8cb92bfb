/* cmd_session - :focus :open :save :source :set :history :shell :quit. Source:
 * interaction 4. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moonloop/core/base/file.h"
#include "moonloop/core/json/data.h"
#include "moonloop/primitives/trace.h"
#include "repl/cmd/export.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/keep/record.h"
#include "repl/out/interrupt.h"
#include "repl/run/input.h"
#include "repl/run/run.h"
#include "repl/session/safe.h"
#include "repl/session/themes.h"

/* In a module of several: the function worked on, or all of them. */
static void add_functions(ml_Schedule *s, ml_Text *t)
{
    const ml_Module *m = ml_schedule_program(s).mod;
    const ml_Func *f = ml_schedule_func(s);

    if (m->n < 2)
        return;
    if (f)
        ml_text_fmt(t, "   function %s of ", f->name);
    else
        ml_text_add(t, "   functions ");
    for (uint32_t k = 0; k < m->n; k++)
        ml_text_fmt(t, "%s%s", k ? ", " : "", m->funcs[k]->name);
}

bool cmd_focus(ml_Session *ss, const ml_Words *w)
{
    ml_Data *d = ml_session_data(ss);

    if (w->n == 0) {
        for (size_t k = 0; k < ss->n_schedules; k++) {
            ml_Text t = {0};
            ml_Schedule *s = ss->schedules[k];

            ml_data_row(d);
            ml_data_int(d, "number", (int64_t)k + 1);
            ml_data_str(d, "name", ml_schedule_name(s));
            ml_data_int(d, "version", ml_schedule_version(s));
            ml_data_bool(d, "focus", s == ss->focus);

            ml_text_fmt(&t, "%c %zu  %s v%d", s == ss->focus ? '*' : ' ', k + 1,
                        ml_schedule_name(s), ml_schedule_version(s));
            add_functions(s, &t);
            ml_out_prose(&ss->out, ml_text_z(&t));
            ml_text_free(&t);
        }
        if (ss->n_schedules == 0)
            ml_out_prose(&ss->out,
                         "no schedule yet: s = schedule(workload.matmul(64, 64, 64)), or "
                         ":open FILE");
        return true;
    }
    char *end;
    long n = strtol(w->v[0], &end, 10);
    ml_Schedule *found = NULL;
    size_t fits = 0;

    if (!*end && n >= 1 && (size_t)n <= ss->n_schedules)
        found = ss->schedules[n - 1];
    for (size_t k = 0; !found && k < ss->n_schedules; k++)
        if (ml_streq(ml_schedule_name(ss->schedules[k]), w->v[0]))
            fits++;
    for (size_t k = 0; fits == 1 && k < ss->n_schedules; k++)
        if (ml_streq(ml_schedule_name(ss->schedules[k]), w->v[0]))
            found = ss->schedules[k];
    if (!found && fits > 1)
        return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                "%s names %zu schedules; give the number of :focus",
                                w->v[0], fits);
    if (!found && ss->focus && ml_module_find(ml_schedule_program(ss->focus).mod, w->v[0]))
        return ml_session_error(
            ss, ML_E_UNKNOWN_NAME,
            "%s is a function of %s, no schedule; s = schedule(focus(), {func = \"%s\"}) "
            "works on it",
            w->v[0], ml_schedule_name(ss->focus), w->v[0]);
    if (!found && end != w->v[0] && !*end)
        return ml_session_error(
            ss, ML_E_UNKNOWN_NAME,
            "no schedule has number %s; there %s %zu, :focus lists them", w->v[0],
            ss->n_schedules == 1 ? "is" : "are", ss->n_schedules);
    if (!found)
        return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                "no schedule is named %s; :focus lists them", w->v[0]);
    ml_session_focus(ss, found);
    return true;
}

bool cmd_open(ml_Session *ss, const ml_Words *w)
{
    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":open FILE (.py .tir .tvm .json "
                                ".lua)%s",
                                w->n ? ", one at a time; a name with blanks in quotes"
                                     : "");
    return ml_input_open(ss, w->v[0]);
}

/* ---- :save */

/* Steps from the start to the current version. */
static int steps_of(ml_Schedule *s)
{
    ml_Step step;
    int n = 0;

    for (int v = ml_schedule_version(s); ml_version_step(s, v, &step) && step.prim;
         v = step.parent)
        n++;
    return n;
}

/* What a saved schedule comes back as; *why is set when it is another one. */
static void compare(ml_Schedule *s, ml_Schedule *again, bool all, ml_Text *why)
{
    unsigned long long is = ml_schedule_hash(again), was = ml_schedule_hash(s);

    if (is != was)
        ml_text_fmt(why, "it replays to another program, hash %08llx", is >> 32);
    else if (all && ml_schedule_n_versions(again) != ml_schedule_n_versions(s))
        ml_text_fmt(why, "it replays to %d versions", ml_schedule_n_versions(again));
}

/* Whether the text, which :save is about to write, is the schedule. */
static bool comes_back(ml_Session *ss, ml_Text *t, bool lua, bool all)
{
    ml_Text why = {0};
    bool stopped, ok;
    ml_Schedule *again =
        ml_host_rebuild(ss->host, (ml_Str){ml_text_z(t), t->n}, lua, &why, &stopped);

    if (again) {
        compare(ss->focus, again, all, &why);
        ml_schedule_unref(again);
    }
    ok = why.n == 0;
    if (stopped)
        ml_session_error(ss, ML_E_INTERRUPTED, "nothing was saved");
    else if (!ok)
        ml_session_error(ss, ML_E_BAD_TRACE,
                         "nothing was saved, for the steps would not replay: %s. :save "
                         "FILE.py writes the program",
                         ml_text_z(&why));
    ml_text_free(&why);
    return ok;
}

/* Whether the file holds these bytes; what is no file (a pipe) was told them. */
static bool is_written(ml_Session *ss, const char *path, const ml_Text *t)
{
    struct stat st;
    ml_Text got = {0};
    bool ok = stat(path, &st) != 0 || !S_ISREG(st.st_mode);

    if (!ok)
        ok = ml_file_read(path, &got) && got.n == t->n && memcmp(got.p, t->p, t->n) == 0;
    if (!ok)
        ml_session_error(ss, ML_E_BAD_FILE, "%s does not hold what was written", path);
    ml_text_free(&got);
    return ok;
}

static void say_saved(ml_Session *ss, const char *file, bool replays, bool all)
{
    ml_Schedule *s = ss->focus;
    int n = all ? ml_schedule_n_versions(s) - 1 : steps_of(s);
    ml_Data *d = ml_session_data(ss);
    ml_Text said = {0};

    ml_data_one(d);
    ml_data_str(d, "file", file);
    ml_data_str(d, "schedule", ml_schedule_name(s));
    ml_data_int(d, "version", ml_schedule_version(s));
    if (replays)
        ml_data_int(d, "steps", n);
    ml_text_fmt(&said, "saved %s", file);
    if (replays)
        ml_text_fmt(&said, ": %d step%s, replays to %s v%d, hash %08llx", n,
                    n == 1 ? "" : "s", ml_schedule_name(s), ml_schedule_version(s),
                    (unsigned long long)(ml_schedule_hash(s) >> 32));
    ml_out_prose(&ss->out, ml_text_z(&said));
    ml_text_free(&said);
}

bool cmd_save(ml_Session *ss, const ml_Words *w)
{
    if (ml_session_forbids(ss, ":save"))
        return false;

    ml_Schedule *s = ss->focus;
    ml_Text t = {0};
    const char *file = NULL, *dot;
    bool all = false, lua;
    size_t n_files = 0;
    ml_Export x = {0};

    for (size_t k = 0; k < w->n; k++)
        if (ml_streq(w->v[k], "--all"))
            all = true;
        else if (ml_streq(w->v[k], "--name") && k + 1 < w->n)
            x.name = w->v[++k];
        else if (ml_streq(w->v[k], "--target") && k + 1 < w->n)
            x.target = w->v[++k];
        else {
            file = w->v[k];
            n_files++;
        }
    dot = n_files == 1 ? strrchr(file, '.') : NULL;
    if (all && dot && !ml_streq(dot, ".lua"))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":save FILE.lua --all: a script alone keeps all versions");
    if (!dot)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":save FILE, where the suffix is .lua, .json or .py, or of "
                                "a kernel .o, .so, .s, .ll, .c or .h");
    if (ml_export_suffix(dot)) {
        x.file = file;
        return ml_export(ss, &x);
    }
    if (x.name || x.target)
        return ml_session_error(
            ss, ML_E_BAD_ARGUMENT,
            "--name and --target are of kernels: .o, .so, .s, .ll, .c, .h");
    lua = ml_streq(dot, ".lua");
    bool replays = lua || ml_streq(dot, ".json");

    if (lua)
        (all ? ml_saved_lua_all : ml_saved_lua)(s, &t);
    else if (replays)
        ml_saved_write(s, &t);
    else if (ml_streq(dot, ".py") || ml_streq(dot, ".tir") || ml_streq(dot, ".tvm")) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_PrintOpts o = {.spelling = -1};

        ml_print_module(cx, &t, ml_schedule_program(s).mod, &o);
        ml_text_char(&t, '\n');
        ml_ctx_unref(cx);
    } else
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "%s: the suffix is .lua, .json or .py, or of a kernel .o, "
                                ".so, .s, .ll, .c or .h",
                                file);
    bool ok = (!replays || comes_back(ss, &t, lua, all)) &&
              ml_session_write(ss, file, &t) && is_written(ss, file, &t);

    if (ok && replays)
        ml_session_saved(ss, s);
    if (ok)
        say_saved(ss, file, replays, all);
    ml_text_free(&t);
    return ok;
}

bool cmd_source(ml_Session *ss, const ml_Words *w)
{
    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":source FILE");
    return ml_input_run_file(ss, w->v[0], 0, NULL);
}

/* ---- :set */

static void show_setting(ml_Session *ss, int id)
{
    ml_Data *d = ml_session_data(ss);
    ml_Text t = {0};
    char name[40];
    size_t k = 0;

    for (; ml_settings[id].name[k] && k + 1 < sizeof name; k++)
        name[k] = ml_settings[id].name[k] == '_' ? '-' : ml_settings[id].name[k];
    name[k] = '\0';
    ml_data_row(d);
    ml_data_str(d, "name", name);
    ml_data_str(d, "value", ml_setting_word(&ss->set, (ml_SettingId)id));
    ml_data_str(d, "help", ml_settings[id].help);
    ml_data_str(d, "words", ml_settings[id].words);
    ml_text_fmt(&t, "%-16s %-8s %s", name, ml_setting_word(&ss->set, (ml_SettingId)id),
                ml_settings[id].help);
    if (ml_settings[id].words)
        ml_text_fmt(&t, " (%s)", ml_settings[id].words);
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

bool cmd_set(ml_Session *ss, const ml_Words *w)
{
    ml_Text why = {0}, value = {0};
    int id;

    if (w->n == 0) {
        for (int k = 0; k < ML_SETTINGS; k++)
            show_setting(ss, k);
        return true;
    }
    id = ml_setting_find(w->v[0]);
    if (id < 0) {
        ml_setting_unknown(w->v[0], &why);
        ml_session_error(ss, ML_E_UNKNOWN_NAME, "%s", ml_text_z(&why));
        ml_text_free(&why);
        return false;
    }
    if (w->n == 1) {
        show_setting(ss, id);
        return true;
    }
    if (w->n > 2 && ml_settings[id].kind != ML_SET_TEXT)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":set NAME VALUE");
    for (size_t k = 1; k < w->n; k++) /* llvm -mcpu=znver4, with or without quotes */
        ml_text_fmt(&value, "%s%s", k > 1 ? " " : "", w->v[k]);
    bool ok = ml_settings_allow(ss, id, ml_text_z(&value));

    if (ok && !ml_setting_set(&ss->set, id, ml_text_z(&value), &why))
        ok = ml_session_error(ss, ML_E_BAD_ARGUMENT, "%s", ml_text_z(&why));
    ml_text_free(&value);
    ml_text_free(&why);
    if (ok)
        ml_settings_apply(ss);
    return ok;
}

bool cmd_history(ml_Session *ss, const ml_Words *w)
{
    long n = w->n ? strtol(w->v[0], NULL, 10) : 20;

    return ml_input_show_history(ss, n > 0 ? (int)n : 20);
}

static bool has_ended(ml_Session *ss, const char *command, int rc)
{
    ml_Text what = {0};

    ml_text_fmt(&what, "!%s", command);
    bool ok = ml_command_ended(ss, ml_text_z(&what), rc);

    ml_text_free(&what);
    return ok;
}

bool cmd_shell(ml_Session *ss, const ml_Words *w)
{
    ml_Text t = {0};
    char buf[4096];
    size_t n;

    if (ml_session_forbids(ss, ":shell"))
        return false;
    ml_Data *d = ml_session_data(ss);

    ml_out_flush(&ss->out);
    if (!ss->out.sink.out) {
        ml_record_unseen(ss);
        /* NOLINTNEXTLINE(cert-env33-c): that is what ! is for */
        return has_ended(ss, w->rest, system(w->rest));
    }
    FILE *p = popen(w->rest, "r"); /* NOLINT(cert-env33-c) */

    if (!p)
        return ml_session_error(ss, ML_E_BAD_FILE, "!%s: %s", w->rest, strerror(errno));
    ml_interrupt_child(true);
    while ((n = fread(buf, 1, sizeof buf, p)) > 0)
        ml_text_addn(&t, buf, n);
    int rc = pclose(p);
    ml_interrupt_child(false);
    int status = rc < 0 ? -1 : WIFEXITED(rc) ? WEXITSTATUS(rc) : 128 + WTERMSIG(rc);

    ml_data_one(d);
    ml_data_str(d, "command", "shell");
    ml_data_bool(d, "ok", rc == 0);
    ml_data_int(d, "status", status);
    ml_data_str(d, "text", ml_text_z(&t));
    ml_out(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
    return has_ended(ss, w->rest, rc);
}

bool cmd_quit(ml_Session *ss, const ml_Words *w)
{
    (void)w;
    ss->quit = ml_session_let_quit(ss);
    return true;
}

/*
 * manual - the chapters of the manual, whatever it is written in. See manual.h.
 */
#include "repl/manual/manual.h"

#include "repl/bind/schedule/calls.h"
#include "repl/cmd/help.h"
#include "repl/cmd/help_impl.h"
#include "repl/host/host.h"
#include "repl/manual/play.h"
#include "repl/session/options.h"

static const char INTRO[] =
    "moonloop is an interactive schedule REPL for tensor programs. A program is a TensorIR "
    "function: buffers, loop nests and blocks. A schedule is a sequence of primitives, "
    "each a "
    "checked rewrite from one program to an equivalent one. What is illegal is refused, "
    "with "
    "the reason; every version stays reachable; programs are checked against the start, "
    "compiled, timed, and tuned.";

static const struct {
    const char *file, *what;
} FILES[] = {
    {"$XDG_CONFIG_HOME/moonloop/init.lua",
     "settings, aliases and keys in Lua, run at the start (default ~/.config)"},
    {"$XDG_STATE_HOME/moonloop/history", "what was typed (default ~/.local/state)"},
    {"$XDG_STATE_HOME/moonloop/sessions/", "autosaves and crash reports"},
    {"$XDG_CACHE_HOME/moonloop/", "what was measured of the machine (default ~/.cache)"},
    {"$XDG_DATA_HOME/moonloop/db/", "tuning records (default ~/.local/share)"},
};

static const struct {
    const char *name, *what;
} ENVIRONMENT[] =
    {
        {"NO_COLOR", "set and not empty: no colour, unless --color=always"},
        {"CLICOLOR_FORCE", "colour also where there is no terminal"},
        {"TERM", "dumb: no colour, no line editing, no visualiser"},
        {"PAGER, MOONLOOP_PAGER", "what shows long text"},
        {"VISUAL, EDITOR", "what Ctrl-X Ctrl-E edits the line with"},
        {"MOONLOOP_PATH", "added to package.path"},
        {"MOONLOOP_PROGRESS", "off: long work tells nothing of how far it is"},
        {"MOONLOOP_TARGET, MOONLOOP_THREADS", "defaults of --target and --threads"},
},
  STATUS[] = {
      {"0", "everything done, every check and assertion passed"},
      {"1", "a script, step, check or comparison failed"},
      {"2", "wrong usage"},
      {"3", "something needed is absent: target, compiler, device, library, file"},
      {"4", "internal error; the path of the saved session is printed"},
      {"130, 143", "ended by SIGINT in batch mode or a third Ctrl-C, by SIGTERM"},
};

/* Keys of the visualiser by the part of the table they stand in. */
static const struct {
    const char *pane, *keys, *help;
} KEYS[] = {
#define ML_KEY(id, pane, keys, label, help, ...) {#pane, keys, help},
#include "repl/view/keys/keys.def"
#undef ML_KEY
};

static void add_option(const char *name, char letter, const char *arg, const char *help,
                       void *user)
{
    ml_ManualPage *p = user;
    ml_Text t = {0};

    if (letter)
        ml_text_fmt(&t, "-%c%s", letter, name ? ", " : "");
    if (name)
        ml_text_fmt(&t, "--%s", name);
    if (arg)
        ml_text_fmt(&t, "%s%s", name ? "=" : " ", arg);
    p->form->row(p, NULL, ml_text_z(&t), help);
    ml_text_free(&t);
}

static void usage(ml_ManualPage *p)
{
    p->form->chapter(p, "options", "Options");
    p->form->paragraph(
        p, "moonloop [options] [FILE [ARGS…]]. FILE by its suffix: .lua a script; .py .tir "
           ".tvm a program, opened; .json a saved schedule, replayed; .txt .mls session "
           "text; - a Lua chunk from standard input. At a terminal the prompt follows on a "
           "program, a saved schedule, and a .lua that :save wrote. Standard input that is "
           "no terminal is read as session text.");
    ml_options_each(add_option, p);
}

/* The entries of one kind: rows alone where the form is brief. */
static void add(ml_ManualPage *p, const char *id, const char *name, const char *summary,
                const char *help)
{
    if (p->form->brief)
        p->form->row(p, id, name, summary);
    else
        p->form->entry(p, id, name, help);
}

static void commands(ml_ManualPage *p)
{
    p->form->chapter(p, "commands", "Commands");
    p->form->paragraph(p, "Any unambiguous prefix of a name will do; :cmd args > file, >> "
                          "file and | shell redirect.");
    const char *group = "";

    for (size_t k = 0; k < ml_n_commands; k++) {
        const ml_Command *c = &ml_commands[k];
        ml_Text name = {0}, id = {0}, help = {0};

        if (!ml_streq(group, c->group))
            p->form->group(p, group = c->group);
        ml_text_fmt(&name, ":%s%s%s", c->name, *c->args ? " " : "", c->args);
        ml_text_fmt(&id, "command-%s", c->name);
        if (!p->form->brief)
            ml_help_command(p->ss, &help, c);
        add(p, ml_text_z(&id), ml_text_z(&name), c->help, ml_text_z(&help));
        ml_text_free(&name);
        ml_text_free(&id);
        ml_text_free(&help);
    }
}

static void keys(ml_ManualPage *p)
{
    p->form->chapter(p, "keys", "Keys of the visualiser");
    p->form->paragraph(p, "C- is Ctrl, M- is Alt, S- is Shift. A number typed before a key "
                          "repeats it; bind_key in the init file changes keys.");
    for (size_t k = 0; k < ML_COUNT(KEYS); k++)
        p->form->row(p, NULL, KEYS[k].keys, KEYS[k].help);
}

static void primitives(ml_ManualPage *p)
{
    const char *group = "";

    p->form->chapter(p, "primitives", "Primitives");
    p->form->paragraph(p, "Methods of a schedule; at the prompt bare names mean the focus. "
                          "Arguments in the order of the signature, or one table by name.");
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *q = ml_primitives[k];
        ml_Text help = {0}, id = {0};

        if (!ml_streq(group, q->group))
            p->form->group(p, group = q->group);
        ml_text_fmt(&id, "primitive-%s", q->name);
        if (!p->form->brief)
            ml_help_primitive(p->ss, &help, q);
        add(p, ml_text_z(&id), q->name, q->summary, ml_text_z(&help));
        ml_text_free(&help);
        ml_text_free(&id);
    }
    p->form->group(p, "not recorded");
    for (size_t k = 0; k < ml_n_schedule_calls; k++) {
        const ml_ScheduleCall *c = &ml_schedule_calls[k];
        ml_Text help = {0}, id = {0};

        ml_text_fmt(&id, "call-%s", c->name);
        if (!p->form->brief)
            ml_help_call(p->ss, &help, c);
        add(p, ml_text_z(&id), c->name, c->summary, ml_text_z(&help));
        ml_text_free(&help);
        ml_text_free(&id);
    }
}

static void add_topic(const char *name, const char *summary, const char *text, void *user)
{
    ml_ManualPage *p = user;
    ml_Text help = {0}, id = {0};

    (void)text;
    if (!*summary || name[0] == ':' || strncmp(name, "set:", 4) == 0)
        return; /* told of with the commands and the settings */
    ml_text_fmt(&id, "topic-%s", name);
    if (!p->form->brief && !ml_help_topic(p->ss, &help, name))
        ml_text_add(&help, summary);
    add(p, ml_text_z(&id), name, summary, ml_text_z(&help));
    ml_text_free(&help);
    ml_text_free(&id);
}

static void settings(ml_ManualPage *p)
{
    p->form->chapter(p, "settings", "Settings");
    p->form->paragraph(p, ":set NAME VALUE, or moon.set{name = value}.");
    for (int k = 0; k < ML_SETTINGS; k++) {
        ml_Text name = {0}, id = {0}, help = {0};

        ml_help_setting_name(&name, k);
        ml_text_fmt(&id, "set-%s", ml_text_z(&name));
        if (!p->form->brief)
            ml_help_setting(p->ss, &help, k);
        add(p, ml_text_z(&id), ml_text_z(&name), ml_settings[k].help, ml_text_z(&help));
        ml_text_free(&name);
        ml_text_free(&id);
        ml_text_free(&help);
    }
}

static void facts(ml_ManualPage *p)
{
    p->form->chapter(p, "facts", "What is told to programs");
    p->form->paragraph(p, ml_help_facts);
    const ml_FieldTable *t;

    for (size_t k = 0; (t = ml_help_facts_at(k)) != NULL; k++) {
        ml_Text name = {0};

        ml_text_fmt(&name, "%s: %s", t->name, t->what);
        p->form->group(p, ml_text_z(&name));
        ml_text_free(&name);
        for (size_t n = 0; n < t->n; n++) {
            ml_Text help = {0};

            ml_help_field(&help, &t->v[n]);
            p->form->row(p, NULL, t->v[n].name, ml_text_z(&help));
            ml_text_free(&help);
        }
    }
}

static void codes(ml_ManualPage *p)
{
    p->form->chapter(p, "errors", "Error codes");
    for (int k = 1; k < ML_E_COUNT; k++) {
        ml_ErrorCode code = (ml_ErrorCode)k;
        ml_Text meaning = {0}, id = {0}, help = {0};

        ml_error_meaning(&meaning, code);
        ml_text_fmt(&id, "error-%s", ml_error_code(code));
        if (!p->form->brief)
            ml_help_code(p->ss, &help, code);
        add(p, ml_text_z(&id), ml_error_code(code), ml_text_z(&meaning), ml_text_z(&help));
        ml_text_free(&meaning);
        ml_text_free(&id);
        ml_text_free(&help);
    }
}

/* The chapters that are played: how one begins. */
static bool first_chapters(ml_ManualPage *p, ml_Text *why)
{
    return ml_manual_story(p, why) && ml_manual_from(p, why);
}

static void chapters(ml_ManualPage *p)
{
    p->form->chapter(p, "description", "Description");
    p->form->paragraph(p, INTRO);
    usage(p);
    commands(p);
    keys(p);
    primitives(p);
    p->form->chapter(p, "functions", "Functions, methods and fields");
    ml_host_topics(p->ss->host, add_topic, p);
    facts(p);
    settings(p);
    p->form->chapter(p, "environment", "Environment");
    for (size_t k = 0; k < ML_COUNT(ENVIRONMENT); k++)
        p->form->row(p, NULL, ENVIRONMENT[k].name, ENVIRONMENT[k].what);
    p->form->chapter(p, "files", "Files");
    for (size_t k = 0; k < ML_COUNT(FILES); k++)
        p->form->row(p, NULL, FILES[k].file, FILES[k].what);
    p->form->chapter(p, "status", "Exit status");
    for (size_t k = 0; k < ML_COUNT(STATUS); k++)
        p->form->row(p, NULL, STATUS[k].name, STATUS[k].what);
    codes(p);
}

bool ml_manual(ml_Session *ss, const char *kind, ml_Text *out)
{
    ml_ManualPage p = {.ss = ss, .out = out};

    if (ml_streq(kind, "man")) {
        p.form = &ml_manual_man;
        ml_manual_begin_man(&p);
        chapters(&p);
        return true;
    }
    if (ml_streq(kind, "html")) {
        ml_Text body = {0};

        p.form = &ml_manual_html;
        p.out = &body;
        bool ok = first_chapters(&p, out);

        if (ok) {
            chapters(&p);
            p.out = out;
            ml_manual_begin_html(&p, &body);
        }
        ml_text_free(&body);
        ml_text_free(&p.contents);
        return ok;
    }
    if (ml_streq(kind, "bash") || ml_streq(kind, "zsh") || ml_streq(kind, "fish")) {
        ml_manual_shell(kind, out);
        return true;
    }
    ml_text_fmt(out, "--manual is man, html, bash, zsh or fish, not %s", kind);
    return false;
}

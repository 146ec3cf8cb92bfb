/*
 * help - :help, :apropos, :explain, and the lists of the command line. Everything comes
 * from the tables of primitives, commands, settings and errors; the example of a primitive
 * is run when it is shown. Source: interaction 4 (Help).
 */
#include "repl/cmd/help.h"

#include <strings.h>

#include "moonloop/core/script/report.h"
#include "moonloop/primitives/call/cases.h"
#include "moonloop/primitives/habits.h"
#include "repl/cmd/from.h"
#include "repl/cmd/help_impl.h"
#include "repl/host/host.h"
#include "repl/out/wrap.h"
#include "repl/run/scratch.h"
#include "repl/show/show.h"

/* ---- error codes */

const char *ml_help_code_note(ml_ErrorCode code)
{
    return *ml_error_rule(code) ? ml_error_rule(code) : "an error without a rule";
}

static void list_codes(ml_Text *t, size_t width)
{
    for (int k = 1; k < ML_E_COUNT; k++) {
        ml_Text meaning = {0};

        ml_error_meaning(&meaning, (ml_ErrorCode)k);
        ml_wrap_row(t, ml_error_code((ml_ErrorCode)k), ml_text_z(&meaning), 0, 25, width);
        ml_text_free(&meaning);
    }
}

void ml_help_codes(ml_Text *t)
{
    list_codes(t, 0);
}

/* ---- topics */

static void list_command(ml_Session *ss, ml_Text *t, const ml_Command *c)
{
    ml_Text name = {0};

    ml_text_fmt(&name, ":%s%s%s", c->name, *c->args ? " " : "", c->args);
    ml_wrap_row(t, ml_text_z(&name), c->help, 4, 36, ml_help_width(ss));
    ml_text_free(&name);
}

static void list_commands(ml_Session *ss, ml_Text *t)
{
    const char *group = "";

    for (size_t k = 0; k < ml_n_commands; k++) {
        if (!ml_streq(group, ml_commands[k].group))
            ml_text_fmt(t, "  %s\n", group = ml_commands[k].group);
        list_command(ss, t, &ml_commands[k]);
    }
}

static void list_primitives(ml_Session *ss, ml_Text *t)
{
    const char *group = "";

    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];

        if (!ml_streq(group, p->group))
            ml_text_fmt(t, "  %s\n", group = p->group);
        ml_wrap_row(t, p->name, p->summary, 4, 31, ml_help_width(ss));
    }
    ml_text_add(t, "  not recorded\n");
    for (size_t k = 0; k < ml_n_schedule_calls; k++)
        ml_wrap_row(t, ml_schedule_calls[k].name, ml_schedule_calls[k].summary, 4, 31,
                    ml_help_width(ss));
}

static void list_settings(ml_Session *ss, ml_Text *t)
{
    for (int k = 0; k < ML_SETTINGS; k++) {
        ml_Text name = {0};

        ml_help_setting_name(&name, k);
        ml_wrap_row(t, ml_text_z(&name), ml_settings[k].help, 2, 21, ml_help_width(ss));
        ml_text_free(&name);
    }
}

typedef struct Listing {
    ml_Session *ss;
    ml_Text *t;
    const char *word; /* NULL: all that are no commands or settings */
} Listing;

static void list_topic(const char *name, const char *summary, const char *text, void *user)
{
    Listing *l = user;

    (void)text;
    if (*summary)
        ml_wrap_row(l->t, name, summary, 2, 31, ml_help_width(l->ss));
}

static const char START[] =
    "A line is Lua, a command that begins with a colon, or a program text.\n\n"
    "  s = schedule(workload.matmul(128, 128, 128))   a program: the focus\n"
    "  split(\"j\", {auto, 16})                         a step, names as shown\n"
    "  :show   :tree                                  what it looks like now\n"
    "  :check  :time                                  is it right, is it fast\n"
    "  :undo   :redo   :versions                      nothing is lost\n"
    "  :explain                                       more on the last error\n\n";

static void overview(ml_Session *ss, ml_Text *t)
{
    size_t width = ml_help_width(ss);

    ml_wrap(t, START, 0, width);
    ml_text_add(t, "help\n");
    ml_wrap_row(t, ":help NAME",
                "a primitive, command, function, method, setting or error code", 2, 21,
                width);
    ml_wrap_row(t, ":apropos WORD", "search all of it", 2, 21, width);
    ml_wrap_row(t, ":help TOPIC",
                "primitives, commands, settings, functions, names, line, facts, errors; "
                "tvm, halide: what you know there, and what you type here",
                2, 21, width);
    ml_wrap_row(t, "Tab", "completes; a second Tab lists, with a word on each", 2, 21,
                width);
    ml_text_add(t, "\nprimitives (:help NAME runs an example)\n");
    list_primitives(ss, t);
    ml_text_add(t, "\ncommands (any unambiguous prefix will do)\n");
    list_commands(ss, t);
}

static const char NAMES[] =
    "Wherever a loop, block or buffer is wanted a string will do:\n";
static const struct {
    const char *form, *means;
} FORMS[] = {
    {"\"k\"", "the loop (block, buffer) of that name, as it is shown"},
    {"\"C/k\"", "the loop k above block C"},
    {"\"C@1\"", "the outermost loop above C; \"C@-1\" the innermost"},
    {"\"C/*\"", "all loops above C, where a list is expected"},
    {"\"conv*\"", "the only block that matches"},
};

static const char LINE[] =
    "While a line is typed, a row below it shows what the call takes, with the current "
    "parameter marked, and, when the call is complete, what it would do: it is tried on a "
    "copy (:set preview off: it is not).\n";
static const struct {
    const char *keys, *means;
} KEYS[] = {
    {"Tab", "completes; a second Tab lists: what would be refused is dim and says why"},
    {"Tab after {", "in a list of factors: one whole list after the other"},
    {"Right, End", "take the grey suggestion from history; Alt-F a word of it"},
    {"Up, Ctrl-R", "earlier lines, whole; search them"},
    {"Ctrl-X Ctrl-E", "edit the line in $EDITOR"},
    {"Ctrl-_", "undo in the line"},
    {"Ctrl-C", "drop the line; during work: interrupt it"},
    {"Ctrl-L, Ctrl-Z", "clear the screen; stop the program"},
};

const char ml_help_facts[] =
    "--json prints what a command tells as objects of JSON, one a line; moon.cmd and the "
    "function of the same purpose give the same names and values to Lua. Units are those "
    "of "
    "physics without a prefix: seconds, bytes, FLOP/s; a share is a number from 0 to 1. "
    "What "
    "is not known, or is not there, is left out; a list may be empty. Each object begins "
    "with \"schema\", the number of these "
    "names and units: it is one more when one of them changes. In Lua a name of before "
    "raises unknown-name, which tells the name of now.\n";

#define ML_FACTS(table) extern const ml_FieldTable table;
#include "repl/cmd/facts.def"
#undef ML_FACTS

const ml_FieldTable *ml_help_facts_at(size_t k)
{
    static const ml_FieldTable *const own[] = {
#define ML_FACTS(table) &(table),
#include "repl/cmd/facts.def"
#undef ML_FACTS
    };

    if (k < ml_n_field_tables)
        return ml_field_tables[k];
    k -= ml_n_field_tables;
    return k < ML_COUNT(own) ? own[k] : NULL;
}

void ml_help_field(ml_Text *t, const ml_Field *f)
{
    const char *unit = ml_field_unit(f->unit), *type = ml_field_type(f->kind);

    if (*unit && ml_streq(type, "number"))
        ml_text_fmt(t, "%s (%s)", f->help, unit);
    else
        ml_text_fmt(t, "%s (%s%s%s)", f->help, type, *unit ? "; " : "", unit);
}

static void list_facts(ml_Session *ss, ml_Text *t)
{
    ml_wrap(t, ml_help_facts, 0, ml_help_width(ss));
    ml_text_fmt(t, "schema %d\n", ML_DATA_SCHEMA);
    const ml_FieldTable *v;

    for (size_t k = 0; (v = ml_help_facts_at(k)) != NULL; k++) {
        ml_text_fmt(t, "\n%s: %s\n", v->name, v->what);
        for (size_t n = 0; n < v->n; n++) {
            ml_Text help = {0};

            ml_help_field(&help, &v->v[n]);
            ml_wrap_row(t, v->v[n].name, ml_text_z(&help), 2, 24, ml_help_width(ss));
            ml_text_free(&help);
        }
    }
}

static bool topic(ml_Session *ss, ml_Text *t, const char *name)
{
    if (ml_streq(name, "primitives"))
        list_primitives(ss, t);
    else if (ml_streq(name, "commands"))
        list_commands(ss, t);
    else if (ml_streq(name, "settings"))
        list_settings(ss, t);
    else if (ml_streq(name, "functions"))
        ml_host_topics(ss->host, list_topic, &(Listing){ss, t, NULL});
    else if (ml_streq(name, "facts"))
        list_facts(ss, t);
    else if (ml_streq(name, "names")) {
        ml_wrap(t, NAMES, 0, ml_help_width(ss));
        for (size_t k = 0; k < ML_COUNT(FORMS); k++)
            ml_wrap_row(t, FORMS[k].form, FORMS[k].means, 2, 12, ml_help_width(ss));
    } else if (ml_streq(name, "line")) {
        ml_wrap(t, LINE, 0, ml_help_width(ss));
        for (size_t k = 0; k < ML_COUNT(KEYS); k++)
            ml_wrap_row(t, KEYS[k].keys, KEYS[k].means, 2, 18, ml_help_width(ss));
        ml_wrap(t, "Keys are those of Readline: ~/.inputrc changes them ($if moonloop).\n",
                0, ml_help_width(ss));
    } else if (ml_streq(name, "errors"))
        list_codes(t, ml_help_width(ss));
    else if (strcasecmp(name, ml_from_tvm.topic) == 0)
        ml_from_text(&ml_from_tvm, ml_help_width(ss), t);
    else if (strcasecmp(name, ml_from_halide.topic) == 0)
        ml_from_text(&ml_from_halide, ml_help_width(ss), t);
    else
        return false;
    return true;
}

void ml_help_all(ml_Session *ss, ml_Text *t)
{
    overview(ss, t);
    for (size_t k = 0; k < ml_n_primitives; k++) {
        ml_text_add(t, "\n");
        ml_help_primitive(ss, t, ml_primitives[k]);
    }
    for (size_t k = 0; k < ml_n_schedule_calls; k++) {
        ml_text_add(t, "\n");
        ml_help_call(ss, t, &ml_schedule_calls[k]);
    }
    ml_text_add(t, "\nfunctions, methods and fields\n");
    topic(ss, t, "functions");
    ml_text_add(t, "\nsettings\n");
    list_settings(ss, t);
    ml_text_add(t, "\nerror codes\n");
    list_codes(t, ml_help_width(ss));
}

/* ---- :explain */

static void show_case(ml_Text *t, const char *title, ml_CaseExample *ex)
{
    ml_Text more = {0};

    ml_text_fmt(t, "  %s\n", title);
    ml_text_fmt(&more, "%s> %s\n%s", ml_text_z(&ex->before), ml_text_z(&ex->call),
                ml_text_z(&ex->after));
    for (const char *z = ml_text_z(&more); *z;) {
        size_t n = strcspn(z, "\n");

        ml_text_add(t, n ? "    " : "");
        ml_text_addn(t, z, n);
        ml_text_char(t, '\n');
        z += n + (z[n] == '\n');
    }
    ml_text_free(&more);
}

/* The smallest example that breaks the rule and one that does not, both run now. */
static void add_examples(ml_Session *ss, ml_Text *t, ml_ErrorCode code)
{
    int width = (int)ml_help_width(ss) - 4;
    ml_CaseExample bad = {.width = width}, good = {.width = width};
    ml_Text why = {0}, text = {0};
    ml_Scratch scratch;

    if (ml_scratch_begin(&scratch, ss, &text)) {
        ml_host_explain(scratch.ss.host, ml_error_code(code), &why, &text);
        ml_scratch_end(&scratch);
    }
    if (why.n)
        ml_wrap_row(t, "why", ml_text_z(&why), 2, 9, ml_help_width(ss));
    if (ml_case_examples_of(ml_error_code(code), &bad, &good)) {
        show_case(t, "breaks it", &bad);
        show_case(t, "does not", &good);
    } else
        ml_text_add(t, ml_text_z(&text));
    ml_case_example_free(&bad);
    ml_case_example_free(&good);
    ml_text_free(&why);
    ml_text_free(&text);
}

/* Whether the code is the name of a family, and e another one of it. */
static bool heads(ml_ErrorCode code, ml_ErrorCode e)
{
    const char *family = ml_error_family(e);

    return e != code && family && ml_streq(family, ml_error_code(code));
}

/* said: the sentence of an error that happened, or NULL. */
static void explain_code(ml_Session *ss, ml_Text *t, ml_ErrorCode code, const char *said)
{
    const char *family = ml_error_family(code);
    size_t width = ml_help_width(ss), n = 0;
    ml_Text text = {0};

    ml_text_fmt(t, "%s\n", ml_error_code(code));
    if (family && !ml_streq(family, ml_error_code(code)))
        ml_wrap_row(t, "family", family, 2, 9, width);
    if (said)
        ml_text_add(&text, said);
    else if (ml_streq(ml_error_sentence(code), "{0}"))
        ml_text_add(&text, "what is wrong there, in a sentence made where it is found");
    else
        ml_error_meaning(&text, code);
    ml_wrap_row(t, "says", ml_text_z(&text), 2, 9, width);
    if (*ml_error_rule(code))
        ml_wrap_row(t, "rule", ml_error_rule(code), 2, 9, width);
    ml_text_clear(&text);
    for (size_t k = 0; k < ml_n_primitives; k++)
        for (size_t m = 0;
             ml_primitives[k]->errors && ml_primitives[k]->errors[m] != ML_E_OK; m++)
            if (ml_primitives[k]->errors[m] == code)
                ml_text_fmt(&text, "%s%s", n++ ? ", " : "", ml_primitives[k]->name);
    if (n)
        ml_wrap_row(t, "from", ml_text_z(&text), 2, 9, width);
    ml_text_clear(&text);
    n = 0;
    for (int k = 1; k < ML_E_COUNT; k++)
        if (heads(code, (ml_ErrorCode)k))
            ml_text_fmt(&text, "%s%s", n++ ? ", " : "", ml_error_code((ml_ErrorCode)k));
    if (n)
        ml_wrap_row(t, "codes", ml_text_z(&text), 2, 9, width);
    ml_text_free(&text);
    add_examples(ss, t, code);
}

void ml_help_code(ml_Session *ss, ml_Text *t, ml_ErrorCode code)
{
    explain_code(ss, t, code, NULL);
}

/* ---- :help */

/* The nearest of the names that help knows. */
static void near_topic(const char *name, const char *summary, const char *text, void *user)
{
    const char *dot = strrchr(name, '.'), *colon = strrchr(name, ':');
    const char *last = colon > dot ? colon : dot;

    (void)summary;
    (void)text;
    ml_nearest_try(user, ml_str(name));
    if (last)
        ml_nearest_try(user, ml_str(last + 1));
}

static bool no_help(ml_Session *ss, const char *name)
{
    ml_Nearest near = ml_nearest_begin(ml_str(name));

    for (size_t k = 0; k < ml_n_primitives; k++)
        ml_nearest_try(&near, ml_str(ml_primitives[k]->name));
    for (size_t k = 0; k < ml_n_schedule_calls; k++)
        ml_nearest_try(&near, ml_str(ml_schedule_calls[k].name));
    for (size_t k = 0; k < ml_n_commands; k++)
        ml_nearest_try(&near, ml_str(ml_commands[k].name));
    for (int k = 1; k < ML_E_COUNT; k++)
        ml_nearest_try(&near, ml_str(ml_error_code((ml_ErrorCode)k)));
    ml_host_topics(ss->host, near_topic, &near);
    /* names told stay where they are: in tables, in the host's topics */
    if (near.best.n)
        ml_session_error(ss, ML_E_UNKNOWN_NAME, "no help on %s; did you mean %.*s?", name,
                         (int)near.best.n, near.best.p);
    else
        ml_session_error(ss, ML_E_UNKNOWN_NAME, "no help on %s; try :apropos %s", name,
                         name);
    return false;
}

/* Whether the whole name was given, not a prefix. */
static bool is_setting(int id, const char *name)
{
    ml_Text full = {0};

    ml_help_setting_name(&full, id);
    bool yes = ml_streq(ml_text_z(&full), name) || ml_streq(ml_settings[id].name, name);

    ml_text_free(&full);
    return yes;
}

/* From the special to the general: a topic, a name in full, the last part of one, a prefix.
 */
static bool add_help(ml_Session *ss, ml_Text *t, const char *name, const char *next)
{
    const char *bare = name[0] == ':' ? name + 1 : name;
    const ml_Primitive *p;
    const ml_ScheduleCall *call;
    ml_Text why = {0};
    const ml_Command *c = ml_command_find(bare, &why);
    bool exact = c && ml_streq(c->name, bare);
    int id = ml_setting_find(exact && ml_streq(bare, "set") && next ? next
                             : strncmp(bare, "set:", 4) == 0        ? bare + 4
                                                                    : bare);

    ml_text_free(&why);
    bool setting = id >= 0 && ((exact && ml_streq(bare, "set") && next) ||
                               strncmp(bare, "set:", 4) == 0);

    /* from what is meant in any case to what is meant when it is nothing else */
    if (!setting && name[0] != ':') {
        if (topic(ss, t, name))
            return true;
        if ((p = ml_primitive_find(name)) != NULL) {
            ml_help_primitive(ss, t, p);
            return true;
        }
    }
    if (!setting && exact) {
        ml_help_command(ss, t, c);
        return true;
    }
    if (!setting && (call = ml_schedule_call_find(bare)) != NULL) {
        ml_help_call(ss, t, call);
        return true;
    }
    if (setting || (id >= 0 && is_setting(id, bare))) {
        ml_help_setting(ss, t, id);
        return true;
    }
    if (ml_error_find(name) != ML_E_OK) {
        explain_code(ss, t, ml_error_find(name), NULL);
        return true;
    }
    if (ml_habit(name)) /* a word of elsewhere; a function of that name may follow */
        ml_wrap_row(t, name, ml_habit(name), 0, 4 + strlen(name), ml_help_width(ss));
    if (ml_help_can(ss, t, name) || ml_help_topic(ss, t, name) || ml_habit(name))
        return true;
    if (strncmp(name, "s:", 2) == 0) /* a primitive as a method */
        return add_help(ss, t, name + 2, NULL);
    if (c)
        ml_help_command(ss, t, c);
    return c != NULL;
}

bool cmd_help(ml_Session *ss, const ml_Words *w)
{
    ml_Text t = {0}, name = {0};
    bool ok = true;

    if (w->n == 0)
        overview(ss, &t);
    else {
        ml_text_addn(&name, w->v[0], strcspn(w->v[0], "({"));
        ok = name.n > 0 && add_help(ss, &t, ml_text_z(&name), w->n > 1 ? w->v[1] : NULL);
        if (!ok)
            no_help(ss, w->v[0]);
        else
            ml_help_tell(ml_session_data(ss), ml_text_z(&name), ml_text_z(&t));
    }
    if (ok)
        ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    ml_text_free(&name);
    return ok;
}

static bool has(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (; text && *text; text++)
        if (strncasecmp(text, word, n) == 0)
            return true;
    return false;
}

static void match_topic(const char *name, const char *summary, const char *text, void *user)
{
    Listing *l = user;

    if (*summary && (has(name, l->word) || has(summary, l->word) || has(text, l->word)))
        ml_wrap_row(l->t, name, summary, 0, 25, ml_help_width(l->ss));
}

bool cmd_apropos(ml_Session *ss, const ml_Words *w)
{
    size_t width = ml_help_width(ss);
    ml_Text t = {0}, name = {0};

    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":apropos WORD");
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];

        if (has(p->name, w->v[0]) || has(p->summary, w->v[0]) || has(p->help, w->v[0]))
            ml_wrap_row(&t, p->name, p->summary, 0, 25, width);
    }
    for (size_t k = 0; k < ml_n_schedule_calls; k++) {
        const ml_ScheduleCall *c = &ml_schedule_calls[k];

        if (has(c->name, w->v[0]) || has(c->summary, w->v[0]) || has(c->help, w->v[0]))
            ml_wrap_row(&t, c->name, c->summary, 0, 25, width);
    }
    for (size_t k = 0; k < ml_n_commands; k++)
        if (has(ml_commands[k].name, w->v[0]) || has(ml_commands[k].help, w->v[0])) {
            ml_text_clear(&name);
            ml_text_fmt(&name, ":%s", ml_commands[k].name);
            ml_wrap_row(&t, ml_text_z(&name), ml_commands[k].help, 0, 25, width);
        }
    for (int k = 0; k < ML_SETTINGS; k++) {
        ml_text_clear(&name);
        ml_text_add(&name, ":set ");
        ml_help_setting_name(&name, k);
        if (has(ml_text_z(&name), w->v[0]) || has(ml_settings[k].help, w->v[0]))
            ml_wrap_row(&t, ml_text_z(&name), ml_settings[k].help, 0, 25, width);
    }
    ml_host_topics(ss->host, match_topic, &(Listing){ss, &t, w->v[0]});
    for (size_t k = 0; ml_habit_words(k); k++)
        if (has(ml_habit_words(k), w->v[0]))
            ml_wrap_row(&t, ml_habit_words(k), ml_habit_at(k), 0, 25, width);
    for (int k = 1; k < ML_E_COUNT; k++) {
        ml_ErrorCode code = (ml_ErrorCode)k;

        if (!has(ml_error_code(code), w->v[0]) && !has(ml_error_sentence(code), w->v[0]) &&
            !has(ml_error_rule(code), w->v[0]))
            continue;
        ml_text_clear(&name);
        ml_error_meaning(&name, code);
        ml_wrap_row(&t, ml_error_code(code), ml_text_z(&name), 0, 25, width);
    }
    if (!t.n)
        ml_text_fmt(&t, "nothing about %s\n", w->v[0]);
    ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    ml_text_free(&name);
    return true;
}

bool cmd_explain(ml_Session *ss, const ml_Words *w)
{
    ml_Text t = {0};
    ml_ErrorCode code;

    if (w->n == 0 && !ss->last)
        return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                "no error yet; :explain CODE explains one");
    code = w->n ? ml_error_find(w->v[0]) : ml_failure_code(ss->last);
    if (code == ML_E_OK)
        return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                "no error code %s; :help errors lists them", w->v[0]);
    explain_code(ss, &t, code, w->n ? NULL : ml_failure_message(ss->last));
    ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

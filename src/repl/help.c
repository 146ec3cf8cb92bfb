/*
 * help - :help, :apropos, :explain, and the lists of the command line. Everything comes
 * from the tables of primitives, commands, settings and errors; the example of a primitive
 * is run when it is shown. Source: interaction 4 (Help).
 */
#include "repl/help.h"

#include <strings.h>

#include "core/embedded.h"
#include "primitives/cases.h"
#include "repl/bind/calls.h"
#include "repl/bind/host.h"
#include "repl/diff.h"

/* ---- primitives */

static const char *kind_word(ml_ParamKind k)
{
    switch (k) {
    case ML_P_BLOCK: return "block";
    case ML_P_LOOP: return "loop";
    case ML_P_BLOCK_OR_LOOP: return "block or loop";
    case ML_P_LOOP_OR_MARK: return "loop";
    case ML_P_LOOPS: return "loops";
    case ML_P_BLOCKS: return "blocks";
    case ML_P_LOOP_BLOCKS: return "loop, or list of blocks";
    case ML_P_FACTORS: return "list of factors";
    case ML_P_INT: return "integer";
    case ML_P_BOOL: return "true or false";
    case ML_P_STRING: return "string";
    case ML_P_SCOPE: return "storage scope";
    case ML_P_THREAD: return "thread axis";
    case ML_P_READ_BUFFER: return "buffer it reads: name or position";
    case ML_P_WRITE_BUFFER: return "buffer it writes: name or position";
    case ML_P_BUFFER: return "buffer: {\"read\" or \"write\", position} or name";
    case ML_P_VALUE: return "value";
    case ML_P_KEY: return "string";
    case ML_P_INTS: return "list of integers";
    case ML_P_FLOATS: return "list of numbers";
    case ML_P_DECISION: return "decision";
    case ML_P_NAME: return "name";
    case ML_P_MAP: return "index map: function or text";
    case ML_P_PAD: return "number, or index map to one value";
    }
    return "?";
}

void ml_help_signature(ml_Text *t, const ml_Primitive *p)
{
    ml_text_fmt(t, "%s(", p->name);
    for (size_t k = 0; k < p->n_params; k++) {
        const ml_Param *q = &p->params[k];

        ml_text_fmt(t, "%s%s", k ? ", " : "", q->name);
        if (q->kind == ML_P_LOOPS)
            ml_text_add(t, "…");
        if (!q->optional)
            continue;
        if (q->kind == ML_P_BOOL)
            ml_text_fmt(t, " = %s", q->def ? "true" : "false");
        else if (q->kind == ML_P_INT)
            ml_text_fmt(t, " = %lld", (long long)q->def);
        else if (q->def_s)
            ml_text_fmt(t, " = \"%s\"", q->def_s);
        else
            ml_text_add(t, " = nil");
    }
    ml_text_char(t, ')');
}

/* text with each line indented */
static void add_indented(ml_Text *t, const char *z)
{
    while (*z) {
        size_t n = strcspn(z, "\n");

        ml_text_add(t, "  ");
        ml_text_addn(t, z, n);
        ml_text_char(t, '\n');
        z += n + (z[n] == '\n');
    }
}

static void primitive_help(ml_Session *ss, ml_Text *t, const ml_Primitive *p, bool example)
{
    ml_help_signature(t, p);
    ml_text_fmt(t, "\n  %s\n\n", p->summary);
    add_indented(t, p->help);
    if (p->n_params)
        ml_text_add(t, "\nparameters\n");
    for (size_t k = 0; k < p->n_params; k++)
        ml_text_fmt(t, "  %-20s %s (%s)\n", p->params[k].name, p->params[k].doc,
                    kind_word((ml_ParamKind)p->params[k].kind));
    if (p->errors && p->errors[0] != ML_E_OK)
        ml_text_add(t, "\nrefused when it breaks one of these rules\n");
    for (size_t k = 0; p->errors && p->errors[k] != ML_E_OK; k++)
        ml_text_fmt(t, "  %-24s %s\n", ml_error_code(p->errors[k]),
                    ml_error_rule(p->errors[k]));
    if (!example || !p->cases)
        return;
    ml_CaseExample ex = {0};

    if (ml_case_example(p->cases, &ex)) {
        ml_Text diff = {0};
        ml_DiffOpts o = {.context = 2, .color = ss->out.color};

        ml_text_fmt(t, "\nexample: %s\n%s\n> %s\n", ml_text_z(&ex.title),
                    ml_text_z(&ex.before), ml_text_z(&ex.call));
        if (ex.ok)
            ml_diff_text(&diff, ml_text_z(&ex.before), ml_text_z(&ex.after), &o);
        ml_text_add(t, ex.ok && diff.n ? ml_text_z(&diff) : ml_text_z(&ex.after));
        ml_text_free(&diff);
    }
    ml_case_example_free(&ex);
}

/* A call that no trace records, with its example run now. */
static void call_help(ml_Session *ss, ml_Text *t, const ml_ScheduleCall *c)
{
    ml_Text got = {0};

    ml_text_fmt(t, "s:%s(%s)\n  %s\n\n", c->name, c->args, c->summary);
    add_indented(t, c->help);
    ml_text_add(t, "\nexample\n");
    add_indented(t, c->example);
    ml_host_example(ss->host, c->example, &got);
    ml_text_add(t, "gives\n");
    add_indented(t, ml_text_z(&got));
    ml_text_free(&got);
}

/* ---- topics */

static void list_commands(ml_Text *t, bool later)
{
    const char *group = "";

    for (size_t k = 0; k < ml_n_commands; k++) {
        const ml_Command *c = &ml_commands[k];

        if ((c->run == NULL) != later)
            continue;
        if (!ml_streq(group, c->group))
            ml_text_fmt(t, "  %s\n", group = c->group);
        ml_text_fmt(t, "    :%s%s%s", c->name, *c->args ? " " : "", c->args);
        size_t n = strlen(c->name) + strlen(c->args) + (*c->args ? 1 : 0);

        ml_text_repeat(t, ' ', n < 30 ? 30 - n : 1);
        ml_text_fmt(t, " %s\n", c->help);
    }
}

static void list_primitives(ml_Text *t)
{
    const char *group = "";

    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];

        if (!ml_streq(group, p->group))
            ml_text_fmt(t, "  %s\n", group = p->group);
        ml_text_fmt(t, "    %-24s %s\n", p->name, p->summary);
    }
    ml_text_add(t, "  not recorded (methods: s:copy())\n");
    for (size_t k = 0; k < ml_n_schedule_calls; k++)
        ml_text_fmt(t, "    %-24s %s\n", ml_schedule_calls[k].name,
                    ml_schedule_calls[k].summary);
}

static void overview(ml_Text *t)
{
    ml_text_add(t,
                "A line is Lua, a command that begins with a colon, or a program text.\n\n"
                "  s = schedule(workload.matmul(128, 128, 128))    a program to work on: "
                "the focus\n"
                "  split(\"j\", {auto, 16})                          a step; names as they "
                "are shown\n"
                "  :undo  :redo  :versions  :check                 nothing is lost\n\n"
                "primitives (:help NAME runs an example)\n");
    list_primitives(t);
    ml_text_add(t, "\ncommands (any unambiguous prefix will do)\n");
    list_commands(t, false);
    ml_text_add(
        t, "\nTopics: primitives, commands, later, settings, names, errors; :help CODE "
           "explains an error code.\n");
}

static bool topic(ml_Text *t, const char *name)
{
    if (ml_streq(name, "primitives"))
        list_primitives(t);
    else if (ml_streq(name, "commands"))
        list_commands(t, false);
    else if (ml_streq(name, "later")) {
        ml_text_add(t, "known by name; these come with later versions\n");
        list_commands(t, true);
    } else if (ml_streq(name, "settings"))
        for (int k = 0; k < ML_SETTINGS; k++)
            ml_text_fmt(t, "  %-18s %s\n", ml_settings[k].name, ml_settings[k].help);
    else if (ml_streq(name, "names"))
        ml_text_add(t,
                    "Wherever a loop, block or buffer is wanted a string will do:\n"
                    "  \"k\"       the loop (block, buffer) of that name, as it is shown\n"
                    "  \"C/k\"     the loop k above block C\n"
                    "  \"C@1\"     the outermost loop above C; \"C@-1\" the innermost\n"
                    "  \"C/*\"     all loops above C, where a list is expected\n"
                    "  \"conv*\"   the only block that matches\n");
    else if (ml_streq(name, "errors"))
        ml_help_codes(t);
    else
        return false;
    return true;
}

/* A sentence without its facts: … where they stand. */
static void add_sentence(ml_Text *t, ml_ErrorCode code)
{
    for (const char *z = ml_error_sentence(code); *z; z++) {
        if (*z == '{' && strchr(z, '}')) {
            ml_text_add(t, "…");
            z = strchr(z, '}');
        } else
            ml_text_char(t, *z);
    }
}

/* Whether the sentence is nothing but what is made where the error is found. */
static bool sentence_is_open(ml_ErrorCode code)
{
    return ml_streq(ml_error_sentence(code), "{0}");
}

/* What a code stands for, in one line: its sentence, or the rule that is broken. */
static void add_meaning(ml_Text *t, ml_ErrorCode code)
{
    if (!sentence_is_open(code))
        add_sentence(t, code);
    else if (*ml_error_rule(code))
        ml_text_fmt(t, "broken rule: %s", ml_error_rule(code));
    else
        ml_text_add(t, "(its sentence is made where the error is found)");
}

void ml_help_codes(ml_Text *t)
{
    for (int k = 1; k < ML_E_COUNT; k++) {
        ml_text_fmt(t, "%-24s ", ml_error_code((ml_ErrorCode)k));
        add_meaning(t, (ml_ErrorCode)k);
        ml_text_char(t, '\n');
    }
}

void ml_help_all(ml_Session *ss, ml_Text *t)
{
    overview(t);
    for (size_t k = 0; k < ml_n_primitives; k++) {
        ml_text_add(t, "\n");
        primitive_help(ss, t, ml_primitives[k], true);
    }
    for (size_t k = 0; k < ml_n_schedule_calls; k++) {
        ml_text_add(t, "\n");
        call_help(ss, t, &ml_schedule_calls[k]);
    }
    ml_text_add(t, "\nsettings\n");
    topic(t, "settings");
    ml_text_add(t, "\nerror codes\n");
    ml_help_codes(t);
}

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
    ml_CaseExample bad = {0}, good = {0};
    ml_Text why = {0}, text = {0};

    ml_host_explain(ss->host, ml_error_code(code), &why, &text);
    if (why.n)
        ml_text_fmt(t, "  why    %s\n", ml_text_z(&why));
    if (ml_case_examples_of(ml_error_code(code), &bad, &good)) {
        show_case(t, "breaks it", &bad);
        show_case(t, "does not", &good);
    } else if (text.n)
        ml_text_add(t, ml_text_z(&text));
    else
        ml_text_add(t,
                    "  There is no small example: it takes a machine in that state, or a "
                    "program that\n  cannot be written as text.\n");
    ml_case_example_free(&bad);
    ml_case_example_free(&good);
    ml_text_free(&why);
    ml_text_free(&text);
}

/* said: the sentence of an error that happened, or NULL. */
static void explain_code(ml_Session *ss, ml_Text *t, ml_ErrorCode code, const char *said)
{
    ml_text_fmt(t, "%s\n  says   ", ml_error_code(code));
    if (said)
        ml_text_add(t, said);
    else if (sentence_is_open(code))
        ml_text_add(t, "what is wrong there, in a sentence made where it is found");
    else
        add_sentence(t, code);
    ml_text_char(t, '\n');
    if (*ml_error_rule(code))
        ml_text_fmt(t, "  rule   %s\n", ml_error_rule(code));
    for (size_t k = 0, n = 0; k < ml_n_primitives; k++)
        for (size_t m = 0;
             ml_primitives[k]->errors && ml_primitives[k]->errors[m] != ML_E_OK; m++)
            if (ml_primitives[k]->errors[m] == code)
                ml_text_fmt(t, "%s%s", n++ ? ", " : "  from   ", ml_primitives[k]->name);
    if (t->n && t->p[t->n - 1] != '\n')
        ml_text_char(t, '\n');
    add_examples(ss, t, code);
}

bool cmd_help(ml_Session *ss, const ml_Words *w)
{
    ml_Text t = {0}, why = {0};
    const ml_Primitive *p;
    const ml_ScheduleCall *call;
    const ml_Command *c;
    bool ok = true;

    if (w->n == 0)
        overview(&t);
    else if (topic(&t, w->v[0]))
        ;
    else if ((p = ml_primitive_find(w->v[0])) != NULL)
        primitive_help(ss, &t, p, true);
    else if ((call = ml_schedule_call_find(w->v[0])) != NULL)
        call_help(ss, &t, call);
    else if ((c = ml_command_find(w->v[0][0] == ':' ? w->v[0] + 1 : w->v[0], &why)) != NULL)
        ml_text_fmt(&t, ":%s %s\n  %s%s\n", c->name, c->args, c->help,
                    c->run ? "" : " (comes with a later version)");
    else if (ml_error_find(w->v[0]) != ML_E_OK)
        explain_code(ss, &t, ml_error_find(w->v[0]), NULL);
    else
        ok = ml_session_error(ss, ML_E_UNKNOWN_NAME, "no help on %s; try :apropos %s",
                              w->v[0], w->v[0]);
    if (ok)
        ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    ml_text_free(&why);
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

bool cmd_apropos(ml_Session *ss, const ml_Words *w)
{
    ml_Text t = {0};

    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":apropos WORD");
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];

        if (has(p->name, w->v[0]) || has(p->summary, w->v[0]) || has(p->help, w->v[0]))
            ml_text_fmt(&t, "%-24s %s\n", p->name, p->summary);
    }
    for (size_t k = 0; k < ml_n_commands; k++)
        if (has(ml_commands[k].name, w->v[0]) || has(ml_commands[k].help, w->v[0]))
            ml_text_fmt(&t, ":%-23s %s\n", ml_commands[k].name, ml_commands[k].help);
    for (int k = 1; k < ML_E_COUNT; k++)
        if (has(ml_error_code((ml_ErrorCode)k), w->v[0]) ||
            has(ml_error_sentence((ml_ErrorCode)k), w->v[0]) ||
            has(ml_error_rule((ml_ErrorCode)k), w->v[0]))
            ml_text_fmt(&t, "%-24s %s\n", ml_error_code((ml_ErrorCode)k),
                        ml_error_sentence((ml_ErrorCode)k));
    if (!t.n)
        ml_text_fmt(&t, "nothing about %s\n", w->v[0]);
    ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
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

/*
 * help_text - what :help says of each name, from the tables of primitives, calls, commands
 * and settings and from the topics; examples are run when they are shown. Source:
 * interaction 4 (Help).
 */
#include "repl/cmd/help.h"

#include "moonloop/primitives/call/cases.h"
#include "repl/cmd/help_impl.h"
#include "repl/host/host.h"
#include "repl/out/wrap.h"
#include "repl/run/scratch.h"
#include "repl/show/diff.h"

size_t ml_help_width(const ml_Session *ss)
{
    enum { READABLE = 100 }; /* longer lines are hard to follow */

    return ss->out.width > 0 && ss->out.width < READABLE ? (size_t)ss->out.width : READABLE;
}

/* Lines as they are: programs, sessions. */
static void add_indented(ml_Text *t, const char *z)
{
    while (*z) {
        size_t n = strcspn(z, "\n");

        ml_text_add(t, n ? "  " : "");
        ml_text_addn(t, z, n);
        ml_text_char(t, '\n');
        z += n + (z[n] == '\n');
    }
}

static void add_paragraphs(ml_Session *ss, ml_Text *t, const char *text)
{
    if (!*text)
        return;
    ml_text_char(t, '\n');
    ml_wrap(t, text, 2, ml_help_width(ss));
}

static void add_heading(ml_Session *ss, ml_Text *t, const char *text)
{
    ml_text_char(t, '\n');
    ml_wrap(t, text, 0, ml_help_width(ss));
}

/* Lua, and what it prints. */
static void add_example(ml_Session *ss, ml_Text *t, const char *code)
{
    ml_Text got = {0};

    ml_scratch_example(ss, code, &got);
    ml_text_add(t, "\nexample\n");
    add_indented(t, code);
    ml_text_add(t, got.n ? "gives\n" : "gives nothing to print\n");
    add_indented(t, ml_text_z(&got));
    ml_text_free(&got);
}

/* Lines of a session, each with what comes of it. */
static void add_lines(ml_Session *ss, ml_Text *t, const char *lines)
{
    ml_Text got = {0};

    ml_text_add(t, "\nexample\n");
    ml_scratch_run(ss, lines, &got);
    add_indented(t, ml_text_z(&got));
    ml_text_free(&got);
}

/* Other things of that name: `:help moon.time`. */
static void add_others(ml_Session *ss, ml_Text *t, const char *name, ml_HostTopic *of)
{
    ml_HostTopic found;
    ml_Text list = {0};

    if (of)
        ml_text_add(&list, ml_text_z(&of->others));
    else if (ml_host_topic(ss->host, name, &found)) {
        if (!ml_streq(ml_text_z(&found.name), name))
            ml_text_add(&list, ml_text_z(&found.name));
        if (found.others.n)
            ml_text_fmt(&list, "%s%s", list.n ? ", " : "", ml_text_z(&found.others));
        ml_host_topic_free(&found);
    }
    for (char *p = list.n ? list.p : NULL; p && (p = strstr(p, "set:")) != NULL; p++)
        p[3] = ' '; /* as it is typed: :help set seed */
    if (list.n) {
        ml_text_char(t, '\n');
        ml_wrap_row(t, "also", ml_text_z(&list), 0, 6, ml_help_width(ss));
    }
    ml_text_free(&list);
}

/* ---- primitives */

const char *ml_help_kind(ml_ParamKind k)
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

/* text: of an example: what it was, the call, and the difference it makes. */
static void add_case(ml_Session *ss, ml_Text *t, ml_CaseExample *ex)
{
    ml_Text diff = {0};
    ml_DiffOpts o = {.context = 2, .color = ss->out.color};

    ml_text_fmt(t, "\nexample: %s\n%s\n> %s\n", ml_text_z(&ex->title),
                ml_text_z(&ex->before), ml_text_z(&ex->call));
    if (ex->ok)
        ml_diff_text(&diff, ml_text_z(&ex->before), ml_text_z(&ex->after), &o);
    ml_text_add(t, ex->ok && diff.n ? ml_text_z(&diff) : ml_text_z(&ex->after));
    ml_text_free(&diff);
}

void ml_help_primitive(ml_Session *ss, ml_Text *t, const ml_Primitive *p)
{
    size_t width = ml_help_width(ss);
    ml_Text sign = {0};
    ml_CaseExample ex = {.width = (int)ml_help_width(ss)};

    ml_primitive_signature(&sign, p);
    ml_wrap_hanging(t, ml_text_z(&sign), width);
    ml_text_free(&sign);
    ml_wrap(t, p->summary, 2, width);
    add_paragraphs(ss, t, p->help);
    if (p->n_params)
        ml_text_add(t, "\nparameters\n");
    for (size_t k = 0; k < p->n_params; k++) {
        ml_Text doc = {0};

        ml_text_fmt(&doc, "%s (%s)", p->params[k].doc,
                    ml_help_kind((ml_ParamKind)p->params[k].kind));
        ml_wrap_row(t, p->params[k].name, ml_text_z(&doc), 2, 23, width);
        ml_text_free(&doc);
    }
    if (p->errors && p->errors[0] != ML_E_OK)
        add_heading(ss, t, "refused when it breaks one of these rules");
    for (size_t k = 0; p->errors && p->errors[k] != ML_E_OK; k++)
        ml_wrap_row(t, ml_error_code(p->errors[k]), ml_error_rule(p->errors[k]), 2, 27,
                    width);
    if (p->cases && ml_case_example(p->cases, &ex))
        add_case(ss, t, &ex);
    ml_case_example_free(&ex);
    add_others(ss, t, p->name, NULL);
}

bool ml_help_can(ml_Session *ss, ml_Text *t, const char *name)
{
    const ml_Primitive *p =
        strncmp(name, "can_", 4) == 0 ? ml_primitive_find(name + 4) : NULL;
    ml_CaseExample ex = {.width = (int)ml_help_width(ss)};
    ml_Text code = {0};

    if (!p || p->no_version) /* what makes no step is simply called */
        return false;
    ml_text_add(&code, "s:can_");
    ml_primitive_signature(&code, p);
    ml_wrap_hanging(t, ml_text_z(&code), ml_help_width(ss));
    ml_text_clear(&code);
    ml_text_fmt(&code, "whether %s(…) would be accepted, without doing it", p->name);
    ml_wrap(t, ml_text_z(&code), 2, ml_help_width(ss));
    ml_text_clear(&code);
    ml_text_fmt(
        &code,
        "true, or false and the error that %s would raise. The schedule stays as it is. "
        "Arguments and rules are those of :help %s.",
        p->name, p->name);
    add_paragraphs(ss, t, ml_text_z(&code));
    ml_text_clear(&code);
    if (p->cases && ml_case_example(p->cases, &ex)) {
        /* The last call of the case alone is asked; those before it are made. */
        const char *call = ml_text_z(&ex.call), *last = call, *at;

        for (at = call; (at = strstr(at, p->name)) != NULL; at++)
            if (at == call || at[-1] == ' ')
                last = at;
        size_t before = last > call ? (size_t)(last - call) - 1 : 0;

        ml_text_fmt(&code, "%s\n", ml_text_z(&ex.before)); /* an empty line ends it */
        if (before > 0)
            ml_text_fmt(&code, "%.*s;\n", (int)before, call);
        ml_text_fmt(&code, "can_%s", last);
        add_lines(ss, t, ml_text_z(&code));
    }
    ml_case_example_free(&ex);
    ml_text_free(&code);
    return true;
}

/* A call that no trace records, with its example run now. */
void ml_help_call(ml_Session *ss, ml_Text *t, const ml_ScheduleCall *c)
{
    ml_Text sign = {0};

    ml_text_fmt(&sign, "s:%s(%s)", c->name, c->args);
    ml_wrap_hanging(t, ml_text_z(&sign), ml_help_width(ss));
    ml_text_free(&sign);
    ml_wrap(t, c->summary, 2, ml_help_width(ss));
    add_paragraphs(ss, t, c->help);
    add_example(ss, t, c->example);
    add_others(ss, t, c->name, NULL);
}

/* ---- commands, settings, everything else */

static void add_topic(ml_Session *ss, ml_Text *t, ml_HostTopic *f)
{
    add_paragraphs(ss, t, ml_text_z(&f->text));
    if (f->example.n)
        add_example(ss, t, ml_text_z(&f->example));
    if (f->lines.n)
        add_lines(ss, t, ml_text_z(&f->lines));
    add_others(ss, t, NULL, f);
}

static void add_fact_names(ml_Session *ss, ml_Text *t, const ml_FieldTable *v)
{
    ml_Text names = {0};

    for (size_t k = 0; k < v->n; k++)
        ml_text_fmt(&names, "%s%s", k ? ", " : "", v->v[k].name);
    ml_text_add(&names, "; :help facts");
    ml_wrap_row(t, "--json", ml_text_z(&names), 2, 9, ml_help_width(ss));
    ml_text_free(&names);
}

void ml_help_command(ml_Session *ss, ml_Text *t, const ml_Command *c)
{
    ml_HostTopic f = {0};
    ml_Text name = {0};

    ml_text_fmt(&name, ":%s %s", c->name, c->args);
    ml_wrap_hanging(t, ml_text_z(&name), ml_help_width(ss));
    ml_text_clear(&name);
    ml_text_fmt(&name, ":%s", c->name);
    ml_wrap(t, c->help, 2, ml_help_width(ss));
    if (ml_host_topic(ss->host, ml_text_z(&name), &f))
        add_topic(ss, t, &f);
    else
        add_others(ss, t, c->name, NULL);
    ml_host_topic_free(&f);
    const ml_FieldTable *v;

    for (size_t k = 0; (v = ml_help_facts_at(k)) != NULL; k++)
        if (ml_streq(v->name, c->name))
            add_fact_names(ss, t, v);
    ml_text_free(&name);
}

/* undo_limit -> undo-limit */
void ml_help_setting_name(ml_Text *t, int id)
{
    for (const char *p = ml_settings[id].name; *p; p++)
        ml_text_char(t, *p == '_' ? '-' : *p);
}

void ml_help_setting(ml_Session *ss, ml_Text *t, int id)
{
    ml_HostTopic f = {0};
    ml_Text name = {0}, is = {0};
    const char *now = ml_setting_word(&ss->set, (ml_SettingId)id);

    ml_text_add(&name, "set:");
    ml_help_setting_name(&name, id);
    bool known = ml_host_topic(ss->host, ml_text_z(&name), &f);

    ml_wrap_hanging(t, known ? ml_text_z(&f.signature) : ml_text_z(&name),
                    ml_help_width(ss));
    ml_wrap(t, ml_settings[id].help, 2, ml_help_width(ss));
    ml_text_fmt(&is, "now %s, from the start %s", *now ? now : "empty",
                *ml_settings[id].def ? ml_settings[id].def : "empty");
    ml_wrap(t, ml_text_z(&is), 2, ml_help_width(ss));
    ml_text_free(&is);
    if (known)
        add_topic(ss, t, &f);
    ml_host_topic_free(&f);
    ml_text_free(&name);
}

bool ml_help_topic(ml_Session *ss, ml_Text *t, const char *name)
{
    ml_HostTopic f = {0};
    bool ok = ml_host_topic(ss->host, name, &f);

    if (ok) {
        ml_wrap_hanging(t, ml_text_z(&f.signature), ml_help_width(ss));
        ml_wrap(t, ml_text_z(&f.summary), 2, ml_help_width(ss));
        add_topic(ss, t, &f);
    }
    ml_host_topic_free(&f);
    return ok;
}

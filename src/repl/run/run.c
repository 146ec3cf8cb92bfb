/*
 * run - one line of a session (run.h).
 *
 * What it is decides its first character; it is run; then the steps that it made are
 * echoed, kept as one group for :undo or taken back, and looked at as settings say. Who
 * else wants to know of it is an observer (session/observe.h). Source: interaction 3, 4.
 */
#include "repl/run/run.h"

#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/job/background.h"
#include "repl/out/interrupt.h"
#include "repl/run/language.h"
#include "repl/show/show.h"

/* ---- what it is */

static bool has_program(const char *text)
{
    return strstr(text, "\n@") || strstr(text, "\nclass ") || strstr(text, "\ndef ");
}

/* What ends a block of Python that is no program: a command anywhere, and below comments,
 * imports and constants any line that can be read by itself and is no Python with them. NULL: nothing does. */
static const char *behind_block(ml_Session *ss, const char *text)
{
    bool above = true;

    text += strspn(text, " \t\n");
    if (ml_language_of_input(text) != ML_LANGUAGE_SCRIPT)
        return NULL;
    for (const char *p = text; *p; p = ml_behind_script_line(p)) {
        if (*p == ':' && ml_command_of(ss, p))
            return p;
        if (!above || *p == '\n' || ml_stands_above_program(p))
            continue;
        above = false;
        switch (ml_language_of_input(p)) {
        case ML_LANGUAGE_SCRIPT:
        case ML_LANGUAGE_COMMAND: break;
        case ML_LANGUAGE_HELP:
        case ML_LANGUAGE_SHELL: return p;
        case ML_LANGUAGE_LUA:
            if (*p != ' ' && *p != '\t' && !has_program(p) && ml_host_reads(ss->host, p) &&
                !ml_host_is_python(text))
                return p;
        }
    }
    return NULL;
}

static bool script_wants_more(ml_Session *ss, const char *text)
{
    const char *next = behind_block(ss, text);

    if (next)
        return ml_wants_more(ss, next);
    if (ss->prompting && ml_is_whole_preamble(text))
        return false;
    return text[strlen(text) - 1] != '\n'; /* no empty line yet */
}

bool ml_wants_more(ml_Session *ss, const char *text)
{
    text += strspn(text, " \t\n");
    switch (ml_language_of_input(text)) {
    case ML_LANGUAGE_COMMAND:
    case ML_LANGUAGE_HELP:
    case ML_LANGUAGE_SHELL: break;
    case ML_LANGUAGE_SCRIPT: return script_wants_more(ss, text);
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

static bool run_text(ml_Session *ss, const ml_RunCall *call, const char *text)
{
    size_t marks = strspn(text, "?");

    if (call)
        return ml_host_apply(ss->host, call);
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

/* ---- what it did */

typedef struct Line {
    ml_Text text; /* without blanks before and behind */
    ml_LineEvent event;
    ml_Schedule *focus; /* before it, or NULL; the rest is of that */
    ml_State before;
    int newest; /* version */
    ml_FactCounts counts;
    bool
        steps; /* what it does to the focus can be undone; else it walks through versions */
    bool stays; /* what was done stays when it fails */
} Line;

static void begin_line(ml_Session *ss, Line *l, const char *text)
{
    const ml_Command *c;
    size_t blanks = strspn(text, " \t\n");

    if (ml_language_of_input(text) == ML_LANGUAGE_SCRIPT) /* may be indented as a whole */
        while (blanks > 0 && text[blanks - 1] != '\n')
            blanks--;
    text += blanks;
    ml_text_add(&l->text, text);
    while (l->text.n > 0 && strchr(" \t\n\r", l->text.p[l->text.n - 1]))
        l->text.p[--l->text.n] = '\0';
    if (l->text.n == 0)
        return;
    c = ml_command_of(ss, l->text.p);
    l->steps = l->text.p[0] != ':' || (c && c->is & ML_STEPS);
    l->stays = c && c->is & ML_STAYS;
    ss->quiet_line = l->text.p[0] != ':' && l->text.p[l->text.n - 1] == ';';
    l->focus = ss->focus;
    if (l->focus) {
        l->before = ml_schedule_state(l->focus);
        l->newest = ml_schedule_n_versions(l->focus) - 1;
        l->counts = ml_schedule_fact_counts(l->focus);
    }
    if (ss->depth == 0) {
        if (!ss->scratch)
            ml_interrupt_begin_line();
        ss->n_lines++;
    }
    l->event = (ml_LineEvent){.text = l->text.p,
                              .as_read = text,
                              .number = ss->n_lines,
                              .depth = ss->depth++,
                              .focus = l->focus,
                              .from = l->before.version};
    ml_tell_before(ss, &l->event);
}

static bool has_moved(const Line *l)
{
    return ml_schedule_version(l->focus) != l->before.version;
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

static void take_back(ml_Session *ss, const Line *l)
{
    int to = ml_schedule_version(l->focus);

    if (to > l->newest) { /* else the line only went there */

        ml_schedule_mark(l->focus, "failed");
        ml_err_say(&ss->out,
                   "note: the steps of this line were taken back; they are at v%d, marked "
                   "`failed`",
                   to);
    }
    ml_schedule_restore(l->focus, l->before);
}

/* Everything the line did to the focus becomes one undo group, or is taken back. */
static void finish_steps(ml_Session *ss, const Line *l, bool ok)
{
    ml_State after;

    if (ok && ss->mode == ML_MODE_TYPED && !ss->quiet_line && has_moved(l))
        ml_echo_steps(ss, l->focus, l->before.version, ml_schedule_version(l->focus));
    if (has_moved(l) && l->focus == ss->focus && ml_setting_bool(&ss->set, ML_SET_stats))
        say_counts(ss, &l->counts);
    after = ml_schedule_state(l->focus);
    if (after.version == l->before.version && after.trace == l->before.trace)
        return;
    if (!ok && !l->stays && ml_setting_bool(&ss->set, ML_SET_atomic) &&
        ss->mode == ML_MODE_TYPED)
        take_back(ss, l);
    else
        ml_session_push_line(ss, (ml_Line){l->focus, l->before, after});
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

static void end_line(ml_Session *ss, Line *l, bool ok)
{
    ml_LineEvent *e = &l->event;
    ml_Schedule *s = ss->focus;

    e->ok = ok;
    e->to = l->focus ? ml_schedule_version(l->focus) : 0;
    ss->depth--;
    if (e->depth == 0 && ss->quit_asked != e->number)
        ss->quit_asked = 0;
    if (e->depth == 0 && s && (s != l->focus || e->to != e->from))
        ml_tell_version(ss, s, ml_schedule_version(s));
    ml_tell_after(ss, e);
}

static bool run_entry(ml_Session *ss, const ml_RunCall *call, const char *text)
{
    Line l = {.focus = NULL};
    bool ok = true;

    begin_line(ss, &l, text);
    if (l.text.n > 0) {
        ok = run_text(ss, call, l.text.p);
        if (l.focus && l.steps)
            finish_steps(ss, &l, ok);
        if (ss->mode == ML_MODE_TYPED && ok)
            ml_host_print_result(ss->host, ss->quiet_line);
        else
            ml_host_drop_result(ss->host); /* the next line has nothing to show of it */
        if (ss->mode == ML_MODE_TYPED && ss->focus != l.focus)
            ml_session_announce(ss);
        if (ok && l.focus && l.focus == ss->focus && l.steps && has_moved(&l))
            ok = look_at_steps(ss, l.before.version);
        end_line(ss, &l, ok);
    }
    ml_text_free(&l.text);
    return ok;
}

/* A block of Python that another line ended runs before that line. */
static bool run_line(ml_Session *ss, const ml_RunCall *call, const char *text)
{
    const char *next = call ? NULL : behind_block(ss, text);
    ml_Text block = {0};

    if (!next)
        return run_entry(ss, call, text);
    ml_text_addn(&block, text, (size_t)(next - text));
    bool ok = run_entry(ss, NULL, ml_text_z(&block));

    ml_text_free(&block);
    if (!ok && !ss->keep_going && !ss->prompting)
        return false;
    return run_entry(ss, NULL, next) && ok;
}

bool ml_run(ml_Session *ss, const ml_RunOpts *how, const char *text)
{
    ml_RunFrame f;

    if (!how)
        return run_line(ss, NULL, text);
    ml_frame_push(ss, &f, how);
    bool ok = run_line(ss, how->call, text);

    ml_frame_pop(ss, &f);
    return ok;
}

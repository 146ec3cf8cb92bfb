/*
 * command - the lines that begin with a colon: finding the command, its words, redirection.
 * Source: interaction 4.
 */
#include "repl/command/command.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moonloop/core/base/file.h"
#include "moonloop/core/json/data.h"
#include "moonloop/core/script/report.h"
#include "moonloop/primitives/habits.h"
#include "moonloop/primitives/prim.h"
#include "moonloop/primitives/tokens.h"
#include "repl/command/house.h"
#include "repl/out/interrupt.h"
#include "repl/screen/write_all.h"
#include "repl/session/frame.h"
#include "repl/session/progress.h"

const ml_Command *ml_commands;
size_t ml_n_commands;

static const ml_House *the_house;

void ml_house_set(const ml_House *house)
{
    the_house = house;
    ml_commands = house->commands;
    ml_n_commands = house->n_commands;
}

const ml_House *ml_house(void)
{
    ML_ASSERT(the_house);
    return the_house;
}

/* ---- finding */

/* Whether a line behind a colon begins as Lua does: for, split("i", x = 3. */
static bool is_lua(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                            "0123456789");
    ml_Str word = {name, n};

    if (n > 0 && name[n])
        return strchr("({[.=,", name[n]);
    return ml_is_lua_keyword(word) || ml_primitive_find(name);
}

const ml_Command *ml_command_find(const char *name, ml_Text *why)
{
    const ml_Command *found = NULL;
    size_t n = strlen(name), fits = 0;

    for (size_t k = 0; k < ml_n_commands; k++) {
        if (ml_streq(ml_commands[k].name, name))
            return &ml_commands[k];
        if (strncmp(ml_commands[k].name, name, n) == 0) {
            found = &ml_commands[k];
            fits++;
        }
    }
    if (fits == 1)
        return found;
    if (fits == 0) {
        ml_Nearest near = ml_nearest_begin(ml_str(name));

        for (size_t k = 0; k < ml_n_commands; k++)
            ml_nearest_try(&near, ml_str(ml_commands[k].name));
        if (ml_habit(name))
            ml_text_fmt(why, "no command :%s; instead: %s", name, ml_habit(name));
        else if (is_lua(name))
            ml_text_fmt(why, "no command :%.*s; Lua and primitives begin without a colon",
                        (int)strcspn(name, "({[.=,"), name);
        else if (near.best.n && 2 * near.distance <= n)
            ml_text_fmt(why, "no command :%s; did you mean :%s?", name, near.best.p);
        else
            ml_text_fmt(why, "no command :%s; :help commands lists them", name);
        return NULL;
    }
    ml_text_fmt(why, ":%s may mean", name);
    for (size_t k = 0; k < ml_n_commands; k++)
        if (strncmp(ml_commands[k].name, name, n) == 0)
            ml_text_fmt(why, " :%s", ml_commands[k].name);
    return NULL;
}

bool ml_command_alias(ml_Session *ss, const char *name, const char *text, ml_Text *why)
{
    ml_Text word = {0};
    bool ok = true;

    for (size_t k = 0; k < ml_n_commands; k++)
        if (ml_streq(ml_commands[k].name, name)) {
            ml_text_fmt(why, "alias %s: :%s is a command", name, name);
            return false;
        }
    if (text) {
        while (*text == ':' || *text == ' ')
            text++;
        ml_text_addn(&word, text, strcspn(text, " "));
        ok = !strchr(text, '\n') && word.n && ml_command_find(ml_text_z(&word), why);
        if (!ok && !why->n)
            ml_text_fmt(why, "alias %s: one line that begins with a command is needed",
                        name);
        ml_text_free(&word);
    }
    return ok && ml_alias_set(&ss->aliases, name, text, why);
}

/* ---- words and redirection */

/* Cuts `text` into words in place; quotes group, a backslash takes the next as it is. */
static void split_words(char *text, ml_Words *w)
{
    char *p = text, *to;

    while (w->n < ML_MAX_WORDS) {
        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            return;
        w->v[w->n++] = to = p;
        char quote = 0;

        while (*p && (quote || !isspace((unsigned char)*p))) {
            if (*p == '\\' && p[1] && quote != '\'')
                *to++ = *++p;
            else if (quote ? *p == quote : (*p == '"' || *p == '\''))
                quote = quote ? 0 : *p;
            else
                *to++ = *p;
            p++;
        }
        if (*p)
            p++;
        *to = '\0';
    }
}

/* The text for that, where ~/ at the beginning of a word is the home of the user. */
static void add_with_home(ml_Text *out, const char *text)
{
    const char *home = getenv("HOME");
    char quote = 0;

    for (const char *p = text; *p; p++) {
        bool begins = p == text || isspace((unsigned char)p[-1]);

        if (!quote && begins && p[0] == '~' && p[1] == '/' && home)
            for (const char *h = home; *h; h++) {
                ml_text_char(out, '\\');
                ml_text_char(out, *h);
            }
        else
            ml_text_char(out, *p);
        if (*p == '\\' && p[1] && quote != '\'')
            ml_text_char(out, *++p);
        else if (quote ? *p == quote : (*p == '"' || *p == '\''))
            quote = quote ? 0 : *p;
    }
}

typedef struct Extra {
    const char *const *words;
    size_t n;
} Extra;

typedef struct Redirect {
    char kind; /* 0, '>', 'a' (>>), '|' */
    const char *target;
} Redirect;

/* `> file`, `>> file`, `| shell` at the end, outside quotes; cuts the text there. */
static Redirect find_redirect(char *text)
{
    Redirect r = {0};
    char quote = 0;

    for (char *p = text; *p; p++) {
        if (quote ? *p == quote : (*p == '"' || *p == '\'')) {
            quote = quote ? 0 : *p;
            continue;
        }
        if (quote || (*p != '>' && *p != '|') ||
            (p > text && !isspace((unsigned char)p[-1])))
            continue;
        r.kind = *p;
        *p++ = '\0';
        if (r.kind == '>' && *p == '>') {
            r.kind = 'a';
            p++;
        }
        while (isspace((unsigned char)*p))
            p++;
        char *end = p + strlen(p);

        while (end > p && isspace((unsigned char)end[-1]))
            end--;
        if (r.kind != '|' && end > p + 1 && *p == end[-1] && (*p == '"' || *p == '\'')) {
            p++;
            end--;
        }
        *end = '\0';
        r.target = p;
        return r;
    }
    return r;
}

/* Whether Lua stands there: `3 split(…)`, a function; not `> file`, nor `:check > file`. */
static bool holds_code(const char *rest)
{
    rest += strspn(rest, " \t0123456789");
    return *rest && !strchr(":>|", *rest);
}

/* Behind what the file holds: all of it or nothing. */
static bool append(const char *path, const ml_Text *t)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666), error = 0;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || !ml_write_all(fd, t->p, t->n))
        error = errno;
    if (error && fd >= 0 && S_ISREG(st.st_mode) && ftruncate(fd, st.st_size) != 0)
        error = errno;
    if (fd >= 0 && close(fd) != 0 && !error)
        error = errno;
    errno = error;
    return error == 0;
}

bool ml_command_ended(ml_Session *ss, const char *what, int rc)
{
    int sig = WIFSIGNALED(rc) ? WTERMSIG(rc) : 0;

    if (rc == 0)
        return true;
    if (sig == SIGINT || (WIFEXITED(rc) && WEXITSTATUS(rc) == 128 + SIGINT)) {
        ml_interrupt_note(true); /* system() and pclose() keep it from us */
        return ml_session_error(ss, ML_E_INTERRUPTED, "%s", what);
    }
    if (sig)
        return ml_session_error(ss, ML_E_BAD_FILE, "%s: ended by signal %d (%s)", what, sig,
                                strsignal(sig));
    return ml_session_error(ss, ML_E_BAD_FILE, "%s: exit status %d", what,
                            WIFEXITED(rc) ? WEXITSTATUS(rc) : -1);
}

static bool deliver(ml_Session *ss, Redirect r, const ml_Text *text)
{
    ml_Text what = {0};

    if (r.kind != '|') {
        ml_file_home(r.target, &what);
        const char *path = ml_text_z(&what);
        bool ok = r.kind == '>'
                      ? ml_session_write(ss, path, text)
                      : append(path, text) || ml_session_write_error(ss, path, errno);

        ml_text_free(&what);
        return ok;
    }
    FILE *f = popen(r.target, "w"); /* NOLINT(cert-env33-c): the command is the user's */

    if (!f)
        return ml_session_error(ss, ML_E_NO_FILE, "| %s: %s", r.target, strerror(errno));
    ml_interrupt_child(true);
    fwrite(text->n ? text->p : "", 1, text->n, f);
    int rc = pclose(f);

    ml_interrupt_child(false);
    ml_text_fmt(&what, "| %s", r.target);
    bool ok = ml_command_ended(ss, ml_text_z(&what), rc);

    ml_text_free(&what);
    return ok;
}

/* ---- running */

/* A command as it is typed with its colon means the same where none is wanted: in
 * moon.cmd, an alias, :bisect. */
static const char *behind_colon(const char *line)
{
    line += strspn(line, " \t\n");
    return line + (line[0] == ':' && line[1] != ':');
}

const ml_Command *ml_command_of(const ml_Session *ss, const char *line)
{
    ml_Text name = {0}, why = {0};
    const ml_Command *c;
    const char *alias;

    if (line[0] != ':' || line[1] == ':')
        return NULL;
    line++;
    alias = ml_alias_find(&ss->aliases, line, strcspn(line, " \t\n"));
    if (alias)
        line = behind_colon(alias);
    ml_text_addn(&name, line, strcspn(line, " \t\n"));
    c = name.n ? ml_command_find(ml_text_z(&name), &why) : NULL;
    ml_text_free(&name);
    ml_text_free(&why);
    return c;
}

static bool wants_apart(const ml_Command *c, const ml_Words *w)
{
    for (size_t k = 0; c->is & ML_APART && k < w->n; k++)
        if (ml_streq(w->v[k], ML_BACKGROUND))
            return true;
    return false;
}

/* The next option in what a command takes, `[--runs N] [--cold]`; empty: none is left. */
static ml_Str next_option(const char **p)
{
    const char *z = strstr(*p, "--");
    size_t n = 2;

    if (!z)
        return (ml_Str){0};
    while (islower((unsigned char)z[n]) || z[n] == '-')
        n++;
    *p = z + n;
    return (ml_Str){z, n};
}

/* A word that begins as an option is one that the command takes, unless it stands in code, a
 * value or a text; false: an error was printed. */
static bool knows_options(ml_Session *ss, const ml_Command *c, const ml_Words *w)
{
    static const char *const free_text[] = {"CODE", "COMMAND", "VALUE", "TOPIC", "WORD"};

    for (size_t k = 0; k < ML_COUNT(free_text); k++)
        if (strstr(c->args, free_text[k]))
            return true;
    for (size_t k = 0; k < w->n; k++) {
        ml_Str word = {w->v[k], strcspn(w->v[k], "=")}, o;
        const char *p = c->args;
        bool known = false;

        if (strncmp(word.p, "--", 2) != 0 || !isalpha((unsigned char)word.p[2]))
            continue;
        ml_Nearest near = ml_nearest_begin(word);
        ml_Text all = {0};

        while ((o = next_option(&p)).n) {
            known |= o.n == word.n && memcmp(o.p, word.p, o.n) == 0;
            ml_nearest_try(&near, o);
            ml_text_fmt(&all, "%s%.*s", all.n ? ", " : "", (int)o.n, o.p);
        }
        if (!known && !(c->is & ML_APART && ml_streq(w->v[k], ML_BACKGROUND))) {
            if (!all.n)
                ml_session_error(ss, ML_E_BAD_ARGUMENT, ":%s takes no option, not %s",
                                 c->name, w->v[k]);
            else if (near.best.n)
                ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                 ":%s has no option %s; did you mean %.*s?", c->name,
                                 w->v[k], (int)near.best.n, near.best.p);
            else
                ml_session_error(ss, ML_E_BAD_ARGUMENT, ":%s has no option %s; it knows %s",
                                 c->name, w->v[k], ml_text_z(&all));
            ml_text_free(&all);
            return false;
        }
        ml_text_free(&all);
    }
    return true;
}

static bool run_one(ml_Session *ss, const ml_Command *c, const ml_Words *w)
{
    ml_Progress p;
    bool ok;

    if (!knows_options(ss, c, w))
        return false;
    if (wants_apart(c, w))
        return ml_house()->run_apart(ss, c->name, w);
    if (!(c->is & ML_SLOW))
        return c->run(ss, w);
    ml_progress_watch(&p, ss, c->name);
    ok = c->run(ss, w);
    ml_progress_unwatch(&p);
    return ok;
}

/* For who reads a text of many lines: a list of them. */
static void put_lines(ml_Data *rows, const char *text)
{
    ml_Text line = {0};

    if (!*text)
        return;
    ml_data_list(rows, "text_lines");
    while (*text) {
        size_t n = strcspn(text, "\n");

        ml_text_clear(&line);
        ml_text_addn(&line, text, n);
        ml_data_str(rows, NULL, ml_text_z(&line));
        text += n + (text[n] == '\n');
    }
    ml_data_end(rows);
    ml_text_free(&line);
}

/* --json: the rows that the command told, or its text, as objects. */
static void print_rows(ml_Session *ss, const ml_Command *c, bool ok, ml_Data *rows,
                       ml_Text *text, ml_Text *to)
{
    if (rows->n == 0) {
        ml_data_row(rows);
        ml_data_str(rows, "command", c->name);
        ml_data_bool(rows, "ok", ok);
        ml_data_str(rows, "text", text->n ? ml_text_z(text) : NULL);
        put_lines(rows, ml_text_z(text));
    }
    if (to)
        ml_text_add(to, ml_data_lines(rows));
    else
        ml_out(&ss->out, ml_data_lines(rows));
}

/* to: where its results go; NULL: where they go now. data: who wants what it tells. */
static bool call(ml_Session *ss, const ml_Command *c, const ml_Words *w, ml_Data *data,
                 ml_Text *to)
{
    ml_Data rows = {.schema = true};
    ml_Text text = {0};
    bool json = !data && ss->json && !(c->is & ML_LINES), ok;
    /* data NULL too: what a command runs inside is not for its caller. */
    ml_RunOpts run = {.sink.out = to, .tells = true, .data = data};
    ml_RunFrame f;

    if (json) {
        run.data = &rows;
        run.sink.out = &text;
    }
    ml_frame_push(ss, &f, &run);
    ok = run_one(ss, c, w);
    ml_frame_pop(ss, &f);
    if (json)
        print_rows(ss, c, ok, &rows, &text, to);
    ml_data_free(&rows);
    ml_text_free(&text);
    return ok;
}

/* Words that a caller has, behind those of the line. A single one is a whole command of the
 * shell. */
static bool take_words(ml_Session *ss, const ml_Command *c, const Extra *more, ml_Words *w,
                       ml_Text *rest)
{
    bool shell = c->is & ML_SHELL && w->n + more->n > 1;

    if (more->n == 0)
        return true;
    if (w->n + more->n > ML_MAX_WORDS)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":%s: at most %d words are given",
                                c->name, ML_MAX_WORDS);
    ml_text_add(rest, w->rest);
    for (size_t k = 0; k < more->n; k++) {
        w->v[w->n++] = more->words[k];
        if (rest->n)
            ml_text_char(rest, ' ');
        if (shell)
            ml_text_shell(rest, more->words[k]);
        else
            ml_text_add(rest, more->words[k]);
    }
    w->rest = ml_text_z(rest);
    return true;
}

bool ml_command_no_focus(ml_Session *ss, const char *name)
{
    return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                            ":%s needs a schedule: :open FILE, or s = "
                            "schedule(workload.matmul(64, 64, 64))",
                            name);
}

static bool run_line(ml_Session *ss, const char *line, const Extra *more, ml_Data *data)
{
    ml_Text text = {0}, why = {0}, captured = {0}, words_text = {0}, rest_text = {0};
    ml_Words w = {0};
    Redirect r = {0};
    bool ok;

    line = behind_colon(line);
    size_t n = strcspn(line, " \t\n");
    const char *alias = ml_alias_find(&ss->aliases, line, n);

    ml_text_fmt(&text, "%s%s", alias ? behind_colon(alias) : "", line + (alias ? n : 0));
    n = 0;

    while (text.n && text.p[n] && !isspace((unsigned char)text.p[n]))
        n++;
    bool has_rest = text.n && text.p[n] != '\0';

    if (text.n)
        text.p[n] = '\0';
    const ml_Command *c = text.n ? ml_command_find(text.p, &why) : NULL;

    if (!c) {
        ml_session_error(ss, ML_E_UNKNOWN_NAME, "%s",
                         text.n ? ml_text_z(&why)
                                : "a command needs a name; :help lists them");
        ok = false;
    } else if (c->is & ML_ON_FOCUS && !ss->focus) {
        ok = ml_command_no_focus(ss, c->name);
    } else {
        char *rest = has_rest ? text.p + n + 1 : text.p + n;

        /* The shell does its own redirection. */
        if (!(c->is & ML_SHELL) && !(c->is & ML_CODE && holds_code(rest)))
            r = find_redirect(rest);
        w.rest = rest;
        add_with_home(&words_text, rest);
        if (words_text.n)
            split_words(words_text.p, &w);
        if (!take_words(ss, c, more, &w, &rest_text) ||
            (r.kind && ml_session_forbids(ss, r.kind == '|' ? "| COMMAND" : "> FILE"))) {
            ok = false;
        } else if (r.kind && !*r.target) {
            ok = ml_session_error(ss, ML_E_BAD_ARGUMENT, "%c needs a target",
                                  r.kind == 'a' ? '>' : r.kind);
        } else {
            ok = call(ss, c, &w, data, r.kind ? &captured : NULL);
            if (r.kind)
                ok = deliver(ss, r, &captured) && ok;
        }
    }
    ml_text_free(&text);
    ml_text_free(&why);
    ml_text_free(&captured);
    ml_text_free(&words_text);
    ml_text_free(&rest_text);
    return ok;
}

bool ml_command_run(ml_Session *ss, const char *line)
{
    return run_line(ss, line, &(Extra){0}, NULL);
}

bool ml_command_words(ml_Session *ss, const char *line, const char *const *words, size_t n,
                      ml_Data *data)
{
    return run_line(ss, line, &(Extra){words, n}, data);
}

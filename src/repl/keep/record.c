/*
 * record - the session as a transcript, or as a recording of the terminal (record.h).
 *
 * A transcript is written as it is replayed: without a screen, so unfolded and without
 * colour, from the first line of the session on; what could be taken for a typed line, and
 * what was not seen here (the output of !COMMAND), stands as `…`. What was done in the
 * panes stands there as the lines that did it. A line that Ctrl-C ended stands as a
 * comment, for it may never end by itself, and behind it what it had done. A recording
 * (.cast) shows the screen, from :record on. Source: interaction 10, 13, 15; asciicast v2.
 */
#include "repl/keep/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/json/json.h"
#include "repl/command/command.h"
#include "repl/out/interrupt.h"

enum { LOG_LIMIT = 16 << 20 };

struct ml_Record {
    ml_Text log;    /* the transcript so far */
    ml_Text line;   /* output of the line at work */
    size_t n_lines; /* typed */
    bool open;      /* a line is at work */
    bool unseen;    /* its output is not all here */
    struct {        /* how the line at work found the session */
        size_t log; /* bytes of the log */
        ml_Text prompt, text;
        ml_Schedule *focus; /* not counted: one of the session's */
        size_t n_schedules;
        int version, n_versions;
    } at;
    const char *spoilt; /* why there can be no transcript; NULL: there can */
    FILE *file;         /* being written, or NULL */
    ml_FileOut out;     /* the same */
    bool cast, skip;    /* skip: the line at work is :record itself */
    size_t written;     /* bytes of the log in the file */
    double start;       /* ml_clock */
    ml_Text path;
};

/* ---- the transcript */

static bool prompt_like(const char *p, size_t n)
{
    size_t k = 0;

    if (n == 1 && *p == '>')
        return true;
    if (n >= 2 && (strncmp(p, "> ", 2) == 0 || strncmp(p, "$ ", 2) == 0))
        return true;
    if (n >= 3 && strncmp(p, "```", 3) == 0)
        return true;
    while (k < n && p[k] != ' ') /* name v7> */
        k++;
    if (k == 0 || k + 2 >= n || p[k + 1] != 'v')
        return false;
    for (k += 2; k < n && p[k] >= '0' && p[k] <= '9';)
        k++;
    return k < n && p[k] == '>';
}

/* Bytes of `0x55d0c7e0` at p, the address of a table or function of Lua, which is another
 * one each time; 0: it is none. */
static size_t address(const char *p)
{
    enum { LEAST = 8 };
    size_t n = p[0] == '0' && p[1] == 'x' ? 2 + strspn(p + 2, "0123456789abcdef") : 0;

    return n >= 2 + LEAST ? n : 0;
}

/* The lines of the text without colour; those that would be read as typed are `…`. */
static void add_output(ml_Text *out, const char *p)
{
    ml_Text line = {0};

    while (*p) {
        ml_text_clear(&line);
        while (*p && *p != '\n') {
            if (ml_escape_length(p) > 0)
                p += ml_escape_length(p);
            else if (address(p)) {
                ml_text_add(&line, "<x>");
                p += address(p);
            } else
                ml_text_char(&line, *p++);
        }
        p += *p == '\n';
        ml_text_add(out, line.n && prompt_like(line.p, line.n) ? "…" : ml_text_z(&line));
        ml_text_char(out, '\n');
    }
    ml_text_free(&line);
}

/* Further lines of an entry stand under the first. */
static void add_typed(const char *prompt, const char *text, ml_Text *out)
{
    bool script = *text == '@' || strncmp(text, "class ", 6) == 0 ||
                  strncmp(text, "from tvm", 8) == 0 || strncmp(text, "import tvm", 10) == 0;
    size_t n = ml_columns(prompt);

    ml_text_add(out, prompt);
    for (; *text; text++) {
        ml_text_char(out, *text);
        if (*text == '\n' && text[1] && text[1] != '\n')
            ml_text_repeat(out, ' ', n);
    }
    if (out->n && out->p[out->n - 1] != '\n')
        ml_text_char(out, '\n');
    if (script) /* an empty line ends it */
        ml_text_char(out, '\n');
}

/* The entry as comments of Lua, a line each, which replaying passes over. */
static void add_comment(const ml_Text *prompt, const char *what, const ml_Text *text,
                        ml_Text *out)
{
    const char *p = text->n ? text->p : "", *end = p + text->n;

    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;

        ml_text_fmt(out, "%s-- %s", prompt->n ? prompt->p : "", what);
        ml_text_addn(out, p, (size_t)(stop - p));
        ml_text_char(out, '\n');
        p = nl ? nl + 1 : end;
    }
}

/* ---- what a line that was interrupted has done */

static void add_step(const ml_Schedule *s, int version, const char *line, ml_Text *out)
{
    ml_Text prompt = {0};

    ml_text_add(&prompt, ml_schedule_name(s));
    if (ml_schedule_branch_name(s))
        ml_text_fmt(&prompt, ":%s", ml_schedule_branch_name(s));
    ml_text_fmt(&prompt, " v%d> ", version);
    add_typed(ml_text_z(&prompt), line, out);
    ml_text_add(out, "…\n");
    ml_text_free(&prompt);
}

static void add_goto(const ml_Schedule *s, int from, int to, ml_Text *out)
{
    char line[32];

    snprintf(line, sizeof line, ":goto v%d", to);
    if (from != to)
        add_step(s, from, line, out);
}

/* Its steps as lines of their own, so that the versions have the numbers that they had;
 * false: they cannot be told so. */
static bool add_steps(ml_Session *ss, ml_Text *out)
{
    const ml_Record *r = ss->record;
    ml_Schedule *s = ss->focus;
    int at = r->at.version;
    ml_Step step;

    if (s != r->at.focus || ss->n_schedules != r->at.n_schedules)
        return false;
    for (int v = r->at.n_versions; s && v < ml_schedule_n_versions(s); v++) {
        if (!ml_version_step(s, v, &step) || !step.prim || !step.line)
            return false;
        add_goto(s, at, step.parent, out);
        add_step(s, step.parent, step.line, out);
        at = v;
    }
    if (s && at != r->at.version && at != ml_schedule_version(s) &&
        ml_schedule_find_mark(s, "failed") == at) /* taken back */
        add_step(s, at, ":mark failed", out);
    if (s)
        add_goto(s, at, ml_schedule_version(s), out);
    return true;
}

static void add_quoted(ml_Text *out, const char *arg)
{
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./=,:+";

    if (*arg && strspn(arg, PLAIN) == strlen(arg)) {
        ml_text_add(out, arg);
        return;
    }
    ml_text_char(out, '\'');
    for (; *arg; arg++)
        if (*arg == '\'')
            ml_text_add(out, "'\\''");
        else
            ml_text_char(out, *arg);
    ml_text_char(out, '\'');
}

/* What is of the terminal, or of the replay's own choice. */
static bool of_the_terminal(const char *arg, bool *with_value)
{
    static const char *const WORDS[] = {"-i",           "--no-color", "--no-init",
                                        "--no-history", "--private",  "--view"};

    *with_value =
        ml_streq(arg, "--color") || ml_streq(arg, "--width") || ml_streq(arg, "--init");
    if (*with_value || strncmp(arg, "--color=", 8) == 0 ||
        strncmp(arg, "--width=", 8) == 0 || strncmp(arg, "--init=", 7) == 0)
        return true;
    for (size_t k = 0; k < ML_COUNT(WORDS); k++)
        if (ml_streq(arg, WORDS[k]))
            return true;
    return false;
}

static void add_head(ml_Session *ss, int argc, char **argv, ml_Text *out)
{
    ml_Settings usual;
    bool nothing = true, skip = false;
    size_t at;

    ml_text_add(out, "$ moonloop");
    at = out->n;
    if (ss->out.width != 100)
        ml_text_fmt(out, " --width %d", ss->out.width);
    for (int k = 1; k < argc; k++) {
        if (skip) { /* the value of what was left out */
            skip = false;
            continue;
        }
        if (of_the_terminal(argv[k], &skip))
            continue;
        ml_text_char(out, ' ');
        add_quoted(out, argv[k]);
        nothing &= strncmp(argv[k], "--", 2) == 0;
    }
    if (out->n > at) { /* only then: bare `moonloop` is a session as it stands */
        ml_Text rest = {0};

        ml_text_add(&rest, out->p + at);
        out->n = at;
        ml_text_add(out, " -i");
        ml_text_add(out, ml_text_z(&rest));
        ml_text_free(&rest);
    }
    ml_text_add(out, nothing ? "\nmoonloop <x> · …\n" : "\n…\n");
    ml_settings_init(&usual);
    for (int k = 0; k < ML_SETTINGS; k++) {
        static const ml_SettingId OURS[] = {ML_SET_color, ML_SET_width, ML_SET_pager};
        bool ours = false;

        for (size_t m = 0; m < ML_COUNT(OURS); m++)
            ours |= k == (int)OURS[m];
        if (!ours && !ml_streq(usual.value[k], ss->set.value[k]))
            ml_text_fmt(out, "> :set %s %s\n", ml_settings[k].name, ss->set.value[k]);
    }
}

/* ---- what is shown */

static void write_text(ml_Session *ss, const char *p, size_t n);

/* One event of a recording: `o` output, `m` a marker. */
static void cast_event(ml_Session *ss, char kind, const char *text)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "[%.6f, \"%c\", ", ml_clock() - ss->record->start, kind);
    ml_json_string(&t, text);
    ml_text_add(&t, "]\n");
    write_text(ss, ml_text_z(&t), t.n);
    ml_text_free(&t);
}

/* What is shown; newlines as a terminal wants them. */
static void cast(ml_Session *ss, const char *text)
{
    ml_Text shown = {0};

    for (; *text; text++) {
        if (*text == '\n')
            ml_text_char(&shown, '\r');
        ml_text_char(&shown, *text);
    }
    if (shown.n && ss->record->file)
        cast_event(ss, 'o', ml_text_z(&shown));
    ml_text_free(&shown);
}

static void on_output(void *user, ml_Session *ss, const ml_OutputEvent *e)
{
    ml_Record *r = ss->record;

    (void)user;
    if (r->file && r->cast && !r->skip)
        cast(ss, e->shown);
    if (r->open && !r->spoilt)
        ml_text_add(&r->line, e->raw);
}

/* ---- the file */

static bool cannot_write(ml_Session *ss, const char *what, int error)
{
    return ml_session_error(ss, ml_file_no_room(error) ? ML_E_NO_SPACE : ML_E_NO_FILE,
                            "%scannot write %s: %s", what, ml_text_z(&ss->record->path),
                            strerror(error));
}

static void close_file(ml_Session *ss)
{
    ml_Record *r = ss->record;

    if (r->file && !ml_file_end(&r->out))
        cannot_write(ss, "", errno);
    r->file = NULL;
}

static void write_text(ml_Session *ss, const char *p, size_t n)
{
    ml_Record *r = ss->record;

    ml_file_add(&r->out, p, n);
    if (!r->out.error && fflush(r->file) == 0)
        return;
    int error = r->out.error ? r->out.error : errno;

    r->file = NULL; /* first: what is said now is not recorded */
    ml_file_end(&r->out);
    cannot_write(ss, "the recording ends here: ", error);
}

static void catch_up(ml_Session *ss)
{
    ml_Record *r = ss->record;

    if (r->file && !r->cast && r->written < r->log.n) {
        size_t from = r->written;

        r->written = r->log.n;
        write_text(ss, r->log.p + from, r->log.n - from);
    }
}

/* ---- the session */

static void end_record(void *user, ml_Session *ss)
{
    ml_Record *r = ss->record;

    (void)user;
    close_file(ss);
    ml_text_free(&r->log);
    ml_text_free(&r->line);
    ml_text_free(&r->at.prompt);
    ml_text_free(&r->at.text);
    ml_text_free(&r->path);
    ml_heap_free(r);
    ss->record = NULL;
}

void ml_record_spoil(ml_Session *ss, const char *why)
{
    ml_Record *r = ss->record;

    if (!r || r->spoilt)
        return;
    r->spoilt = why;
    if (r->file && !r->cast) {
        ml_Text t = {0};

        ml_text_fmt(&t, "note: the transcript ends before this line: %s", why);
        ml_err_prose(&ss->out, ml_text_z(&t));
        ml_text_free(&t);
        close_file(ss);
    }
    ml_text_free(&r->log);
}

void ml_record_unseen(ml_Session *ss)
{
    if (ss->record)
        ss->record->unseen = true;
}

/* Around each line that is typed, not those of files it runs. */
static void begin_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    ml_Record *r = ss->record;
    const char *text = e->as_read;
    const ml_Command *c = ml_command_of(ss, text);

    (void)user;
    if (e->depth > 0 || r->open)
        return;
    r->open = true;
    r->unseen = ss->out.sink.out != NULL;
    r->skip = c && c->is & ML_UNTOLD;
    ml_text_clear(&r->line);
    if (r->skip)
        return;
    r->n_lines++;
    ml_text_clear(&r->at.prompt);
    ml_session_prompt(ss, &r->at.prompt);
    ml_text_clear(&r->at.text);
    ml_text_add(&r->at.text, text);
    r->at.log = r->log.n;
    r->at.focus = ss->focus;
    r->at.n_schedules = ss->n_schedules;
    r->at.version = ss->focus ? ml_schedule_version(ss->focus) : 0;
    r->at.n_versions = ss->focus ? ml_schedule_n_versions(ss->focus) : 0;
    if (!r->spoilt)
        add_typed(ml_text_z(&r->at.prompt), text, &r->log);
    if (r->file && r->cast) {
        ml_Text t = {0};

        ml_text_fmt(&t, "%s%s\n", ml_text_z(&r->at.prompt), text);
        cast(ss, ml_text_z(&t));
        ml_text_free(&t);
    }
}

/* What the log says of the line at work: that it stands here as a comment. */
static void tell_of(ml_Record *r, const char *what)
{
    r->log.n = r->at.log;
    add_comment(&r->at.prompt, what, &r->at.text, &r->log);
}

/* false: what it has done cannot be told. */
static bool tell_interrupted(ml_Session *ss)
{
    ml_Record *r = ss->record;

    if (r->file && r->cast)
        cast_event(ss, 'm', "interrupted");
    if (r->spoilt)
        return true;
    tell_of(r, "interrupted: ");
    return add_steps(ss, &r->log);
}

static void end_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    ml_Record *r = ss->record;
    bool told = true;

    (void)user;
    if (e->depth > 0 || !r->open)
        return;
    r->open = false;
    if (r->skip)
        return;
    if (ml_interrupt_came())
        told = tell_interrupted(ss);
    if (r->spoilt)
        return;
    if (!ml_interrupt_came() && r->unseen)
        ml_text_add(&r->log, "…\n");
    else if (!ml_interrupt_came())
        add_output(&r->log, ml_text_z(&r->line));
    if (!told)
        ml_record_spoil(ss, "a line that Ctrl-C ended had begun a schedule");
    catch_up(ss);
    if (r->log.bad || r->log.n > LOG_LIMIT)
        ml_record_spoil(ss, "the session has grown too long");
}

void ml_record_begin(ml_Session *ss, int argc, char **argv)
{
    static const ml_Observer OBSERVER = {.name = "record",
                                         .before_line = begin_line,
                                         .after_line = end_line,
                                         .on_output = on_output,
                                         .on_end = end_record};

    if (ss->record || ss->json)
        return;
    ss->record = ml_heap_zalloc(sizeof *ss->record);
    add_head(ss, argc, argv, &ss->record->log);
    ml_session_observe(ss, &OBSERVER);
}

void ml_record_panes(ml_Session *ss)
{
    ml_Record *r = ss->record;

    if (!r || !r->open)
        return;
    r->open = false;
    if (r->skip || r->spoilt)
        return;
    tell_of(r, "in the panes: ");
    catch_up(ss);
}

void ml_record_tail(const ml_Session *ss, size_t lines, ml_Text *out)
{
    const ml_Record *r = ss->record;
    size_t at = r ? r->log.n : 0;

    if (at == 0) {
        ml_text_add(out, "(none are kept)\n");
        return;
    }
    for (at--; at > 0; at--)
        if (r->log.p[at - 1] == '\n' && lines-- == 0)
            break;
    ml_text_addn(out, r->log.p + at, r->log.n - at);
}

/* ---- :record */

static bool begin_file(ml_Session *ss, const char *path)
{
    ml_Record *r = ss->record;
    size_t n = strlen(path);
    struct stat st;

    r->cast = n > 5 && ml_streq(path + n - 5, ".cast");
    if (!r->cast && r->spoilt)
        return ml_session_error(
            ss, ML_E_NOT_SUPPORTED,
            "%s would be a transcript that does not replay: %s. :record "
            "NAME.cast records the screen, :save NAME.lua the steps",
            path, r->spoilt);
    ml_text_clear(&r->path);
    ml_text_add(&r->path, path);
    /* What is there stays until the recording ends; a new file grows before one's eyes. */
    if (stat(path, &st) == 0 && st.st_size > 0)
        ml_file_begin(&r->out, path, 0666);
    else
        r->out = (ml_FileOut){.stream = fopen(path, "we")};
    r->file = r->out.stream;
    if (!r->file)
        return cannot_write(ss, "", errno);
    r->written = 0;
    if (!r->cast) {
        catch_up(ss);
        return r->file != NULL;
    }
    const char *term = getenv("TERM");
    ml_Text t = {0};

    r->start = ml_clock();
    ml_text_fmt(&t, "{\"version\": 2, \"width\": %d, \"height\": %d, \"timestamp\": %ld, ",
                ss->out.width, ss->out.height > 0 ? ss->out.height : 24, (long)time(NULL));
    ml_text_add(&t, "\"env\": {\"TERM\": ");
    ml_json_string(&t, term && *term ? term : "dumb");
    ml_text_add(&t, "}}\n");
    write_text(ss, ml_text_z(&t), t.n);
    ml_text_free(&t);
    return r->file != NULL;
}

static bool stop(ml_Session *ss)
{
    ml_Record *r = ss->record;
    ml_Text t = {0};
    bool was = r->file != NULL;

    if (!was)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "nothing is being recorded");
    close_file(ss);
    ml_text_fmt(
        &t, r->cast ? "wrote %s" : "wrote %s: %zu lines; moonloop --transcript replays it",
        ml_text_z(&r->path), r->n_lines);
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

bool cmd_record(ml_Session *ss, const ml_Words *w)
{
    ml_Record *r = ss->record;
    const char *last = w->n > 0 ? w->v[w->n - 1] : "";
    bool stops = ml_streq(last, "stop") || ml_streq(last, "off");
    ml_Text t = {0};

    if (w->n == 0) {
        if (r && r->file)
            ml_text_fmt(&t, "recording to %s; :record stop ends it", ml_text_z(&r->path));
        else
            ml_text_add(&t, "nothing is being recorded; :record FILE writes the session");
        ml_out_prose(&ss->out, ml_text_z(&t));
        ml_text_free(&t);
        return true;
    }
    if (ml_session_forbids(ss, ":record"))
        return false;
    if (!r)
        return ml_session_error(ss, ML_E_NOT_SUPPORTED,
                                ":record where nothing is typed (scripts, -e, --json)");
    if (w->n > 2 || (w->n == 2 && !stops))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":record [FILE|FILE.cast] [stop]");
    if (stops && w->n == 1)
        return stop(ss);
    if (r->file)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "%s is being recorded: :record stop comes first",
                                ml_text_z(&r->path));
    return begin_file(ss, w->v[0]) && (!stops || stop(ss));
}

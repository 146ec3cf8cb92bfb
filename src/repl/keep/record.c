/*
 * record - the lines of a session and what came of them, as a transcript or as a recording of
 * the terminal (record.h).
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

#include "moonloop/core/base/arena.h"
#include "moonloop/core/base/file.h"
#include "moonloop/core/json/json.h"
#include "moonloop/core/vec.h"
#include "repl/command/command.h"
#include "repl/out/interrupt.h"

enum { LIMIT = 16 << 20 /* bytes */ };

typedef struct Line {
    const char *prompt, *text;
    const char *output; /* as the transcript has it; NULL: the line is at work */
    bool panes;         /* it opened the panes: what was done there are the next lines */
    bool stopped;       /* by Ctrl-C; the output is what it had done until then */
    bool unseen;        /* what came of it is not all here */
} Line;

typedef struct File { /* that is being written */
    ml_FileOut out;
    ml_Text path;
    bool cast;
    size_t written; /* lines of the record */
    bool begun;     /* its head stands in it */
    double start;   /* ml_clock */
} File;

struct ml_Record {
    ml_Ctx *cx; /* of all lines */
    const char *head;
    ML_VEC(Line) lines;
    ml_Text output; /* of the line at work, as it came */
    bool open;      /* the last line is at work */
    bool skip;      /* what is at work is :record itself */
    size_t bytes;
    const char *spoilt; /* why there can be no transcript; NULL: there can */
    File *file;
    struct {                /* how the line at work found the session */
        ml_Schedule *focus; /* not counted: one of the session's */
        size_t n_schedules;
        int version, n_versions;
    } at;
};

/* ---- what is typed */

static bool word_char(char c)
{
    return c == '_' || c == '.' || c == '-' || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

size_t ml_record_prompt(const char *p)
{
    size_t n = 0;

    if (*p != '>') {
        while (word_char(p[n]))
            n++;
        if (n > 0 && p[n] == ':')
            for (n++; word_char(p[n]);)
                n++;
        size_t digits =
            n > 0 && p[n] == ' ' && p[n + 1] == 'v' ? strspn(p + n + 2, "0123456789") : 0;

        if (digits == 0)
            return 0;
        n += 2 + digits;
    }
    if (p[n] != '>')
        return 0;
    n++;
    return p[n] == ' ' ? n + 1 : p[n] == '\0' ? n : 0;
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
static void add_comment(const Line *l, ml_Text *out)
{
    const char *what = l->panes ? "in the panes: " : "interrupted: ";

    for (const char *p = l->text; *p;) {
        size_t n = strcspn(p, "\n");

        ml_text_fmt(out, "%s-- %s", l->prompt, what);
        ml_text_addn(out, p, n);
        ml_text_char(out, '\n');
        p += n + (p[n] != '\0');
    }
}

/* ---- what came of it */

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
        const char *z = ml_text_z(&line);
        bool typed =
            ml_record_prompt(z) || strncmp(z, "$ ", 2) == 0 || strncmp(z, "```", 3) == 0;

        ml_text_fmt(out, "%s\n", typed ? "…" : z);
    }
    ml_text_free(&line);
}

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

/* The steps of a line that was stopped as lines of their own, so that the versions have the
 * numbers that they had; false: they cannot be told so. */
static bool add_steps(const ml_Session *ss, ml_Text *out)
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

/* ---- the transcript */

/* What is of the terminal, or of the replay's own choice. */
static bool of_the_terminal(const char *arg, bool *with_value)
{
    static const char *const WORDS[] = {"--color",      "--width",    "--init",
                                        "-i",           "--no-color", "--no-init",
                                        "--no-history", "--private",  "--view"};
    enum { WITH_VALUE = 3 };

    *with_value = false;
    for (size_t k = 0; k < ML_COUNT(WORDS); k++) {
        size_t n = strlen(WORDS[k]);

        if (strncmp(arg, WORDS[k], n) == 0 &&
            (arg[n] == '\0' || (arg[n] == '=' && k < WITH_VALUE))) {
            *with_value = k < WITH_VALUE && arg[n] == '\0';
            return true;
        }
    }
    return false;
}

static void add_head(ml_Session *ss, int argc, char **argv, ml_Text *out)
{
    ml_Settings usual;
    ml_Text args = {0};
    bool nothing = true, skip = false;

    if (ss->out.width != 100)
        ml_text_fmt(&args, " --width %d", ss->out.width);
    for (int k = 1; k < argc; k++) {
        if (skip) { /* the value of what was left out */
            skip = false;
            continue;
        }
        if (of_the_terminal(argv[k], &skip))
            continue;
        ml_text_char(&args, ' ');
        ml_text_shell(&args, argv[k]);
        nothing &= strncmp(argv[k], "--", 2) == 0;
    }
    /* Bare `moonloop` is a session as it stands. */
    ml_text_fmt(out, "$ moonloop%s%s\n%s\n", args.n ? " -i" : "", ml_text_z(&args),
                nothing ? "moonloop <x> · …" : "…");
    ml_text_free(&args);
    ml_settings_init(&usual);
    for (int k = 0; k < ML_SETTINGS; k++)
        if (k != ML_SET_color && k != ML_SET_width && k != ML_SET_pager &&
            !ml_streq(usual.value[k], ss->set.value[k]))
            ml_text_fmt(out, "> :set %s %s\n", ml_settings[k].name, ss->set.value[k]);
}

/* The lines from..to. */
static void render(const ml_Record *r, size_t from, size_t to, ml_Text *out)
{
    for (size_t k = from; k < to; k++) {
        const Line *l = &r->lines.v[k];

        if (l->panes || l->stopped)
            add_comment(l, out);
        else
            add_typed(l->prompt, l->text, out);
        ml_text_add(out, l->output ? l->output : "");
    }
}

void ml_record_tail(const ml_Session *ss, size_t lines, ml_Text *out)
{
    const ml_Record *r = ss->record;
    ml_Text t = {0};
    size_t at;

    if (r && !r->spoilt && r->lines.n <= lines)
        ml_text_add(&t, r->head);
    if (r && !r->spoilt) /* a line of the record is one of text at least */
        render(r, r->lines.n > lines ? r->lines.n - lines : 0, r->lines.n, &t);
    if (t.n == 0)
        ml_text_add(&t, "(none are kept)\n");
    for (at = t.n - 1; at > 0; at--)
        if (t.p[at - 1] == '\n' && lines-- == 0)
            break;
    ml_text_add(out, t.p + at);
    ml_text_free(&t);
}

/* ---- the file */

const char *ml_record_path(const ml_Session *ss)
{
    return ss->record && ss->record->file ? ml_text_z(&ss->record->file->path) : NULL;
}

/* error: of what was written last, or 0. */
static bool end_file(ml_Session *ss, const char *what, int error)
{
    File *f = ss->record->file;
    bool ok = true;

    ss->record->file = NULL; /* first: what is said now is not recorded */
    if (!ml_file_end(&f->out) && !error)
        error = errno;
    if (error)
        ok = ml_session_error(ss, ml_file_no_room(error) ? ML_E_NO_SPACE : ML_E_NO_FILE,
                              "%scannot write %s: %s", what, ml_text_z(&f->path),
                              strerror(error));
    ml_text_free(&f->path);
    ml_heap_free(f);
    return ok;
}

static void write_text(ml_Session *ss, ml_Text *t)
{
    File *f = ss->record->file;

    ml_file_add(&f->out, ml_text_z(t), t->n);
    if (f->out.error || fflush(f->out.stream) != 0)
        end_file(ss, "the recording ends here: ", f->out.error ? f->out.error : errno);
    ml_text_free(t);
}

/* What the transcript has not of the lines that have ended. */
static void catch_up(ml_Session *ss)
{
    ml_Record *r = ss->record;
    size_t to = r->lines.n - r->open;
    ml_Text t = {0};

    if (!r->file || r->file->cast || r->spoilt)
        return;
    if (!r->file->begun)
        ml_text_add(&t, r->head);
    r->file->begun = true;
    render(r, r->file->written, to, &t);
    r->file->written = to;
    write_text(ss, &t);
}

/* One event of a recording: `o` output, newlines as a terminal wants them; `m` a marker. */
static void cast(ml_Session *ss, char kind, const char *text)
{
    const ml_Record *r = ss->record;
    ml_Text t = {0}, shown = {0};

    if (!r->file || !r->file->cast || r->skip || !*text)
        return;
    for (; *text; text++)
        ml_text_fmt(&shown, *text == '\n' ? "\r%c" : "%c", *text);
    ml_text_fmt(&t, "[%.6f, \"%c\", ", ml_clock() - r->file->start, kind);
    ml_json_string(&t, ml_text_z(&shown));
    ml_text_add(&t, "]\n");
    write_text(ss, &t);
    ml_text_free(&shown);
}

static void cast_head(ml_Session *ss)
{
    const char *term = getenv("TERM");
    ml_Text t = {0};

    ss->record->file->start = ml_clock();
    ml_text_fmt(&t, "{\"version\": 2, \"width\": %d, \"height\": %d, \"timestamp\": %ld, ",
                ss->out.width, ss->out.height > 0 ? ss->out.height : 24, (long)time(NULL));
    ml_text_add(&t, "\"env\": {\"TERM\": ");
    ml_json_string(&t, term && *term ? term : "dumb");
    ml_text_add(&t, "}}\n");
    write_text(ss, &t);
}

bool ml_record_to(ml_Session *ss, const char *path)
{
    size_t n = strlen(path);
    bool is_cast = n > 5 && ml_streq(path + n - 5, ".cast");
    struct stat st;

    if (!is_cast && ss->record->spoilt)
        return ml_session_error(
            ss, ML_E_NOT_SUPPORTED,
            "%s would be a transcript that does not replay: %s. :record "
            "NAME.cast records the screen, :save NAME.lua the steps",
            path, ss->record->spoilt);
    File *f = ss->record->file = ml_heap_zalloc(sizeof *f);

    f->cast = is_cast;
    ml_text_add(&f->path, path);
    /* What is there stays until the recording ends; a new file grows before one's eyes. */
    if (stat(path, &st) == 0 && st.st_size > 0)
        ml_file_begin(&f->out, path, 0666);
    else
        f->out.stream = fopen(path, "we");
    if (!f->out.stream)
        return end_file(ss, "", errno);
    (is_cast ? cast_head : catch_up)(ss);
    return ss->record->file != NULL;
}

bool ml_record_stop(ml_Session *ss)
{
    const File *f = ss->record->file;
    ml_Text t = {0};

    if (!f)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, "nothing is being recorded");
    ml_text_fmt(&t, "wrote %s", ml_record_path(ss));
    if (!f->cast)
        ml_text_fmt(&t, ": %zu lines; moonloop --transcript replays it",
                    ss->record->lines.n);
    end_file(ss, "", 0);
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

/* ---- the session */

void ml_record_spoil(ml_Session *ss, const char *why)
{
    ml_Record *r = ss->record;

    if (!r || r->spoilt)
        return;
    r->spoilt = why;
    if (r->file && !r->file->cast) {
        ml_err_say(&ss->out, "note: the transcript ends before this line: %s", why);
        end_file(ss, "", 0);
    }
}

static void begin_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    ml_Record *r = ss->record;
    const ml_Command *c = ml_command_of(ss, e->text);
    ml_Schedule *s = ss->focus;
    ml_Text t = {0};

    (void)user;
    if (e->depth > 0)
        return;
    catch_up(ss); /* a line that has opened the panes */
    r->skip = c && c->is & ML_UNTOLD;
    r->open = !r->skip && !r->spoilt;
    ml_text_clear(&r->output);
    ml_session_prompt(ss, &t);
    if (r->open) {
        Line l = {.prompt = ml_strdup(r->cx, ml_str(ml_text_z(&t))),
                  .text = ml_strdup(r->cx, ml_str(e->as_read)),
                  .unseen = ss->out.sink.out != NULL};

        ml_push(r->cx, &r->lines, l);
        r->at.focus = s;
        r->at.n_schedules = ss->n_schedules;
        r->at.version = s ? ml_schedule_version(s) : 0;
        r->at.n_versions = s ? ml_schedule_n_versions(s) : 0;
    }
    ml_text_fmt(&t, "%s\n", e->as_read);
    cast(ss, 'o', ml_text_z(&t));
    ml_text_free(&t);
}

static void take_output(void *user, ml_Session *ss, const ml_OutputEvent *e)
{
    (void)user;
    cast(ss, 'o', e->shown);
    if (ss->record->open)
        ml_text_add(&ss->record->output, e->raw);
}

static void end_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    ml_Record *r = ss->record;
    ml_Text t = {0};
    bool told = true;

    (void)user;
    if (e->depth > 0)
        return;
    if (ml_interrupt_came())
        cast(ss, 'm', "interrupted");
    r->skip = false;
    if (!r->open)
        return;
    Line *l = &r->lines.v[r->lines.n - 1];

    r->open = false;
    l->stopped = ml_interrupt_came();
    if (l->stopped)
        told = add_steps(ss, &t);
    else if (l->unseen)
        ml_text_add(&t, "…\n");
    else
        add_output(&t, ml_text_z(&r->output));
    l->output = ml_strdup(r->cx, ml_str(ml_text_z(&t)));
    r->bytes += t.n + strlen(l->text);
    if (!told)
        ml_record_spoil(ss, "a line that Ctrl-C ended had begun a schedule");
    if (t.bad || r->output.bad || r->bytes > LIMIT)
        ml_record_spoil(ss, "the session has grown too long");
    ml_text_free(&t);
    catch_up(ss);
}

void ml_record_panes(ml_Session *ss)
{
    if (!ss->record || !ss->record->open)
        return;
    ss->record->open = false;
    ss->record->lines.v[ss->record->lines.n - 1].panes = true;
}

void ml_record_unseen(ml_Session *ss)
{
    if (ss->record && ss->record->open)
        ss->record->lines.v[ss->record->lines.n - 1].unseen = true;
}

static void end_record(void *user, ml_Session *ss)
{
    (void)user;
    if (ss->record->file)
        end_file(ss, "", 0);
    ml_text_free(&ss->record->output);
    ml_ctx_unref(ss->record->cx);
    ml_heap_free(ss->record);
    ss->record = NULL;
}

void ml_record_begin(ml_Session *ss, int argc, char **argv)
{
    static const ml_Observer OBSERVER = {.name = "record",
                                         .before_line = begin_line,
                                         .after_line = end_line,
                                         .on_output = take_output,
                                         .on_end = end_record};
    ml_Text head = {0};

    if (ss->record || ss->json)
        return;
    ml_Record *r = ss->record = ml_heap_zalloc(sizeof *r);

    r->cx = ml_ctx_new(0);
    add_head(ss, argc, argv, &head);
    r->head = ml_strdup(r->cx, ml_str(ml_text_z(&head)));
    ml_text_free(&head);
    ml_session_observe(ss, &OBSERVER);
}

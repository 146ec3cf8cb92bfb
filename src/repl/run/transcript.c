/*
 * transcript - replays what a manual shows, and compares.
 *
 * A transcript is a list of commands, `$ cmd`, each followed by what it prints. `$
 * moonloop` alone is a session: its lines behind a prompt are what is typed. What is
 * written and what was printed are aligned at least cost, where a wildcard costs nothing; a
 * cost of zero is equality, anything else is shown as a diff, and --update writes the
 * aligned text back with the wildcards that still stand for something. Source:
 * interaction 15.
 */
#include "repl/run/transcript.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/file.h"
#include "repl/host/host.h"
#include "repl/run/run.h"
#include "repl/run/wildcard.h"

extern char **environ;

typedef struct Line {
    const char *p; /* zero-terminated */
    size_t number; /* in the file, from 1 */
    bool any;      /* every number in it stands for any */
} Line;

typedef struct Lines {
    Line *v;
    size_t n, cap;
} Lines;

static void add_line(Lines *l, const char *p, size_t number, bool any)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->v = ml_heap_grow(l->v, l->cap * sizeof *l->v);
    }
    l->v[l->n++] = (Line){p, number, any};
}

/* Cuts the text in place. */
static void cut(Lines *l, char *p)
{
    for (size_t number = 1; *p; number++) {
        char *end = strchr(p, '\n');

        if (end)
            *end = '\0';
        add_line(l, p, number, false);
        if (!end)
            return;
        p = end + 1;
    }
}

static bool read_all(FILE *f, ml_Text *out)
{
    char buf[8192];
    size_t n;

    while ((n = fread(buf, 1, sizeof buf, f)) > 0)
        for (size_t k = 0; k < n; k++)
            if (buf[k]) /* a zero byte would end the text early */
                ml_text_char(out, buf[k]);
            else
                ml_text_add(out, "\\0");
    return !ferror(f) && !out->bad;
}

/* ---- the lines of a session */

static bool word_char(char c)
{
    return c == '_' || c == '.' || c == '-' || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* Bytes of the prompt that the line begins with, `> ` or `name v7> ` or `name:branch v7> `;
 * 0: none. */
static size_t prompt_of(const char *p)
{
    size_t n = 0;

    if (*p != '>') {
        while (word_char(p[n]))
            n++;
        if (n > 0 && p[n] == ':') {
            n++;
            while (word_char(p[n]))
                n++;
        }
        if (n == 0 || p[n] != ' ' || p[n + 1] != 'v')
            return 0;
        n += 2;
        if (!(p[n] >= '0' && p[n] <= '9'))
            return 0;
        while (p[n] >= '0' && p[n] <= '9')
            n++;
    }
    if (p[n] != '>')
        return 0;
    n++;
    return p[n] == ' ' ? n + 1 : p[n] == '\0' ? n : 0;
}

/* Commands whose figures are those of one machine. */
static bool measures(const char *line)
{
    static const char *const NAMES[] = {":time", ":profile", ":roofline", ":machine",
                                        ":tune"};

    for (size_t k = 0; k < ML_COUNT(NAMES); k++) {
        size_t n = strlen(NAMES[k]);

        if (strncmp(line, NAMES[k], n) == 0 && (line[n] == '\0' || line[n] == ' '))
            return true;
    }
    return false;
}

/* What is typed in the lines from..to of the transcript, continuation lines included; marks
 * the output of measuring commands. */
static void typed_lines(ml_Session *ss, Lines *l, size_t from, size_t to, ml_Text *out)
{
    bool any = false;

    for (size_t k = from; k < to; k++) {
        size_t n = prompt_of(l->v[k].p);
        ml_Text whole = {0};

        l->v[k].any = any && n == 0;
        if (n == 0)
            continue;
        ml_text_add(&whole, l->v[k].p + n);
        any = measures(ml_text_z(&whole));
        while (k + 1 < to && ml_wants_more(ss, ml_text_z(&whole))) {
            const char *p = l->v[++k].p;

            for (size_t m = 0; m < ml_columns(l->v[k].p) && m < n && *p == ' '; m++)
                p++;
            ml_text_char(&whole, '\n');
            ml_text_add(&whole, p);
        }
        ml_text_add(out, ml_text_z(&whole));
        ml_text_char(out, '\n');
        ml_text_free(&whole);
    }
}

/* ---- running */

typedef struct Replay {
    ml_Session *ss; /* asked whether a line wants more; runs nothing */
    const char *program;
} Replay;

/* `$ moonloop` with nothing but options: a session. */
static bool is_session(const char *cmd)
{
    if (strncmp(cmd, "moonloop", 8) != 0 || (cmd[8] && cmd[8] != ' '))
        return false;
    return cmd[8] == '\0' || strcmp(cmd + 8, " -i") == 0 ||
           strncmp(cmd + 8, " -i ", 4) == 0;
}

/* Runs sh with the text on standard input; what it prints on both streams comes to out. */
static bool run_shell(const Replay *r, const char *cmd, const ml_Text *input, ml_Text *out)
{
    static const char WRAP[] = "moonloop() { \"$ML_REPLAYED\" --no-init --private "
                               "--no-history --color=never --width=100 "
                               "\"$@\"; }; ";
    ml_Text script = {0};
    posix_spawn_file_actions_t act;
    int fds[2] = {-1, -1};
    FILE *in = tmpfile();
    bool ok = in && fwrite(input->n ? input->p : "", 1, input->n, in) == input->n &&
              fflush(in) == 0 && fseek(in, 0, SEEK_SET) == 0 && pipe(fds) == 0;
    pid_t pid = 0;

    ml_text_fmt(&script, "%s%s%s", WRAP, cmd, is_session(cmd) && !cmd[8] ? " -i" : "");
    setenv("ML_REPLAYED", r->program, 1);
    if (ok) {
        const char *argv[] = {"sh", "-c", ml_text_z(&script), NULL};
        union {
            const char **in;
            char **out;
        } args = {.in = argv};

        ok = posix_spawn_file_actions_init(&act) == 0;
        posix_spawn_file_actions_adddup2(&act, fileno(in), STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&act, fds[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&act, fds[1], STDERR_FILENO);
        posix_spawn_file_actions_addclose(&act, fds[0]);
        posix_spawn_file_actions_addclose(&act, fds[1]);
        ok = ok && posix_spawnp(&pid, "sh", &act, NULL, args.out, environ) == 0;
        posix_spawn_file_actions_destroy(&act);
        close(fds[1]);
        FILE *f = fdopen(fds[0], "r");

        ok = ok && f && read_all(f, out);
        if (f)
            fclose(f);
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (in)
        fclose(in);
    ml_text_free(&script);
    return ok;
}

/* ---- comparing */

enum { MOST_CELLS = 40000000 };

typedef struct Align { /* of written lines w with printed lines g */
    const Lines *w, *g;
    size_t from, to; /* the part of w */
    uint32_t *cost;  /* (i, j): of the rest from there */
} Align;

static uint32_t *cell(const Align *a, size_t i, size_t j)
{
    return &a->cost[i * (a->g->n + 1) + j];
}

static bool equal_lines(const Align *a, size_t i, size_t j)
{
    const Line *w = &a->w->v[a->from + i];

    return ml_wildcard_line(w->p, a->g->v[j].p, w->any);
}

static void fill(const Align *a)
{
    size_t nw = a->to - a->from, ng = a->g->n;

    for (size_t i = nw + 1; i-- > 0;)
        for (size_t j = ng + 1; j-- > 0;) {
            uint32_t best = UINT32_MAX;
            bool any = i < nw && ml_wildcard_any(a->w->v[a->from + i].p);

            if (i == nw && j == ng)
                best = 0;
            if (i < nw && *cell(a, i + 1, j) + !any < best)
                best = *cell(a, i + 1, j) + !any;
            if (j < ng && *cell(a, i, j + 1) + !any < best)
                best = *cell(a, i, j + 1) + !any;
            if (i < nw && j < ng && !any && *cell(a, i + 1, j + 1) <= best &&
                equal_lines(a, i, j))
                best = *cell(a, i + 1, j + 1);
            *cell(a, i, j) = best;
        }
}

typedef enum Move {
    SAME,
    SKIP,
    WRITTEN,
    PRINTED
} Move; /* SKIP: a wildcard took a line or ended */

static Move next_move(const Align *a, size_t i, size_t j)
{
    size_t nw = a->to - a->from, ng = a->g->n;
    uint32_t here = *cell(a, i, j);
    bool any = i < nw && ml_wildcard_any(a->w->v[a->from + i].p);

    if (any)
        return SKIP;
    if (i < nw && j < ng && *cell(a, i + 1, j + 1) == here && equal_lines(a, i, j))
        return SAME;
    if (i < nw && *cell(a, i + 1, j) + 1 == here)
        return WRITTEN;
    return PRINTED;
}

typedef struct Report {
    const char *file;
    ml_Text *shown;   /* the differences */
    ml_Text *updated; /* the text as it should be */
    size_t context;   /* the last line shown as context, so that it comes once */
} Report;

static void put(ml_Text *t, const char *sign, const char *line)
{
    ml_text_add(t, sign);
    ml_text_add(t, line);
    ml_text_char(t, '\n');
}

/* true: equal. */
static bool compare(const Lines *w, size_t from, size_t to, const Lines *g, Report *r)
{
    Align a = {.w = w, .g = g, .from = from, .to = to};
    size_t nw = to - from, i = 0, j = 0;
    bool in_hunk = false;

    if ((nw + 1) > MOST_CELLS / (g->n + 1)) {
        ml_text_fmt(r->shown, "%s:%zu: printed %zu lines, too many to compare\n", r->file,
                    w->v[from ? from - 1 : 0].number, g->n);
        return false;
    }
    a.cost = ml_heap_zalloc((nw + 1) * (g->n + 1) * sizeof *a.cost);
    fill(&a);
    bool ok = *cell(&a, 0, 0) == 0;

    while (i < nw || j < g->n) {
        const char *wl = i < nw ? w->v[from + i].p : "", *gl = j < g->n ? g->v[j].p : "";
        Move m = next_move(&a, i, j);

        if (m == WRITTEN || m == PRINTED) {
            if (!in_hunk) {
                size_t line = i < nw ? w->v[from + i].number : w->v[to - 1].number + 1;

                ml_text_fmt(r->shown, "%s:%zu: - written, + printed\n", r->file, line);
                if (i > 0 && from + i > r->context)
                    put(r->shown, "   ", w->v[from + i - 1].p);
            }
            put(r->shown, m == WRITTEN ? " - " : " + ", m == WRITTEN ? wl : gl);
            if (m == PRINTED)
                put(r->updated, "", gl);
            i += m == WRITTEN;
            j += m == PRINTED;
            in_hunk = true;
            continue;
        }
        if (in_hunk && i < nw) {
            put(r->shown, "   ", wl);
            r->context = from + i + 1;
        }
        in_hunk = false;
        if (m == SAME) {
            put(r->updated, "", wl);
            i++;
            j++;
        } else if (j < g->n && *cell(&a, i, j + 1) == *cell(&a, i, j)) {
            j++; /* the wildcard takes this line */
        } else {
            put(r->updated, "", wl);
            i++;
        }
    }
    ml_heap_free(a.cost);
    return ok;
}

/* ---- files */

static bool write_back(const char *path, const ml_Text *t)
{
    bool ok = ml_file_write(path, t->p, t->n);

    if (!ok)
        fprintf(stderr, "moonloop: cannot write %s: %s\n", path, strerror(errno));
    return ok;
}

/* One command with what it is to print; true: it did. */
static bool replay_command(const Replay *r, Lines *l, size_t at, size_t to, Report *rep)
{
    const char *cmd = l->v[at].p + 2;
    ml_Text input = {0}, printed = {0};
    Lines g = {0};
    bool ok;

    if (is_session(cmd))
        typed_lines(r->ss, l, at + 1, to, &input);
    put(rep->updated, "", l->v[at].p);
    /* An empty line before the next command belongs to the page, not to the output. */
    size_t end = to;

    while (end > at + 1 && l->v[end - 1].p[0] == '\0')
        end--;
    ok = run_shell(r, cmd, &input, &printed);
    if (!ok)
        ml_text_fmt(rep->shown, "%s:%zu: cannot run: %s: %s\n", rep->file, l->v[at].number,
                    cmd, strerror(errno));
    else {
        if (printed.n)
            cut(&g, printed.p);
        while (g.n && g.v[g.n - 1].p[0] == '\0')
            g.n--;
        ok = compare(l, at + 1, end, &g, rep);
    }
    for (; end < to; end++)
        put(rep->updated, "", "");
    ml_heap_free(g.v);
    ml_text_free(&input);
    ml_text_free(&printed);
    return ok;
}

/* Exit status for one file. */
static int replay_file(const Replay *r, const char *path, bool update)
{
    ml_Text text = {0}, shown = {0}, updated = {0};
    Lines l = {0};
    Report rep = {.file = path, .shown = &shown, .updated = &updated};
    int status = 0;
    size_t commands = 0;

    if (!ml_file_read(path, &text)) {
        fprintf(stderr, "moonloop: cannot read %s: %s\n", path, strerror(errno));
        ml_text_free(&text);
        return 3;
    }
    if (text.n)
        cut(&l, text.p);
    for (size_t at = 0; at < l.n;) {
        size_t to = at + 1;

        if (strncmp(l.v[at].p, "$ ", 2) != 0) { /* what the page says around the commands */
            put(&updated, "", l.v[at++].p);
            continue;
        }
        while (to < l.n && strncmp(l.v[to].p, "$ ", 2) != 0 &&
               strncmp(l.v[to].p, "```", 3) != 0)
            to++; /* in a page of Markdown the fence ends the output */
        if (!replay_command(r, &l, at, to, &rep))
            status = 1;
        commands++;
        at = to;
    }
    if (commands == 0) {
        fprintf(stderr, "moonloop: %s: no line begins with `$ `: nothing to replay\n",
                path);
        status = 1;
    } else if (status == 0)
        printf("%s: ok, %zu command%s\n", path, commands, commands == 1 ? "" : "s");
    else if (update && write_back(path, &updated)) {
        printf("%s: rewritten\n", path);
        status = 0;
    } else
        fputs(ml_text_z(&shown), stdout);
    ml_heap_free(l.v);
    ml_text_free(&text);
    ml_text_free(&shown);
    ml_text_free(&updated);
    return status;
}

/* The program itself, by a path that holds wherever the shell stands. */
static void own_path(const char *argv0, ml_Text *out)
{
    char buf[4096];
    ssize_t n = readlink("/proc/self/exe", buf, sizeof buf - 1);

    if (n > 0) {
        ml_text_addn(out, buf, (size_t)n);
        return;
    }
    if (argv0[0] != '/' && strchr(argv0, '/') && getcwd(buf, sizeof buf))
        ml_text_fmt(out, "%s/", buf);
    ml_text_add(out, argv0);
}

int ml_transcript_run(const char *argv0, char **files, int n, bool update)
{
    static ml_Session session;
    ml_Text path = {0};
    Replay r = {.ss = &session};
    int status = 0;

    if (n == 0) {
        fprintf(stderr, "moonloop: --transcript needs a file\n");
        return 2;
    }
    own_path(argv0, &path);
    r.program = ml_text_z(&path);
    ml_session_init(&session);
    ml_out_init(&session.out, 0, 100, false);
    session.host = ml_host_new(&session);
    /* Nothing of the surroundings may show in what is compared. */
    unsetenv("CLICOLOR_FORCE");
    unsetenv("COLUMNS");
    unsetenv("LINES");
    unsetenv("MOONLOOP_PATH");
    unsetenv("MOONLOOP_TARGET");
    unsetenv("MOONLOOP_THREADS");
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TERM", "dumb", 1);
    setenv("MOONLOOP_PROGRESS", "off",
           1); /* a slow machine prints no more than a fast one */
    for (int k = 0; k < n; k++) {
        int s = replay_file(&r, files[k], update);

        if (s > status)
            status = s;
    }
    ml_session_free(&session);
    ml_text_free(&path);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "moonloop: cannot write to standard output: %s\n", strerror(errno));
        return 1;
    }
    return status;
}

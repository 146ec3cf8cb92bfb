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
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "moonloop/core/base/file.h"
#include "moonloop/core/vec.h"
#include "repl/host/host.h"
#include "repl/keep/record.h"
#include "repl/run/run.h"
#include "repl/run/wildcard.h"

typedef struct Line {
    const char *p; /* zero-terminated */
    size_t number; /* in the file, from 1 */
    bool any;      /* every number in it stands for any */
} Line;

typedef ML_VEC(Line) Lines;

/* Cuts the text in place; a zero byte stands as \0. */
static void cut(ml_Ctx *cx, Lines *l, ml_Text *t)
{
    ml_Text plain = {0};
    char *p;

    for (size_t k = 0; k < t->n; k++)
        if (t->p[k])
            ml_text_char(&plain, t->p[k]);
        else
            ml_text_add(&plain, "\\0");
    ml_text_free(t);
    *t = plain;
    p = t->p;
    for (size_t number = 1; p && *p; number++) {
        char *end = strchr(p, '\n');

        ml_push(cx, l, ((Line){p, number, false}));
        if (!end)
            return;
        *end = '\0';
        p = end + 1;
    }
}

/* ---- the lines of a session */

/* Commands whose figures are those of one machine. */
static bool measures(const char *line)
{
    static const char *const NAMES[] = {":time",    ":profile", ":roofline",
                                        ":machine", ":tune",    ":why-slow"};

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
        size_t n = ml_record_prompt(l->v[k].p);
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
    static const char WRAP[] =
        "exec 2>&1; moonloop() { \"$ML_REPLAYED\" --no-init --private "
        "--no-history --color=never --width=100 "
        "\"$@\"; }; ";
    ml_Text script = {0};
    char buf[8192];
    FILE *in = tmpfile(), *f = NULL;
    bool ok = in && fwrite(input->n ? input->p : "", 1, input->n, in) == input->n &&
              fflush(in) == 0 && fseek(in, 0, SEEK_SET) == 0 &&
              dup2(fileno(in), STDIN_FILENO) == STDIN_FILENO;

    ml_text_fmt(&script, "%s%s%s", WRAP, cmd, is_session(cmd) && !cmd[8] ? " -i" : "");
    setenv("ML_REPLAYED", r->program, 1);
    if (ok)
        f = popen(ml_text_z(&script), "r"); /* NOLINT(cert-env33-c): a line of the page */
    for (size_t n; f && (n = fread(buf, 1, sizeof buf, f)) > 0;)
        ml_text_addn(out, buf, n);
    ok = f && !ferror(f) && !out->bad;
    if (f)
        pclose(f);
    if (in)
        fclose(in);
    ml_text_free(&script);
    return ok;
}

/* ---- comparing */

enum { MOST_CELLS = 40000000 };

typedef enum Move {
    END,
    SAME,    /* both lines */
    WRITTEN, /* a line that was not printed */
    PRINTED, /* a line that was not written */
    TAKEN,   /* the same, by a wildcard */
    OVER,    /* a wildcard has taken all it does */
} Move;

/* Of the written lines w with the printed ones g: the best move at (i, j), i * (ng + 1) + j,
 * where lines that differ cost one each. Returns the cost of all. */
static uint32_t align(ml_Ctx *cx, const Line *w, size_t nw, const Lines *g, uint8_t *move)
{
    size_t ng = g->n;
    uint32_t *below = ml_alloc(cx, (ng + 1) * sizeof *below), /* costs from line i + 1 on */
        *here = ml_alloc(cx, (ng + 1) * sizeof *here);

    for (size_t i = nw + 1; i-- > 0;) {
        bool any = i < nw && ml_wildcard_any(w[i].p);
        uint32_t *swap = below;

        for (size_t j = ng + 1; j-- > 0;) {
            Move m = END;
            uint32_t best = i == nw && j == ng ? 0 : UINT32_MAX;

            if (j < ng && here[j + 1] + !any < best) {
                best = here[j + 1] + !any;
                m = any ? TAKEN : PRINTED;
            }
            if (i < nw && (any ? below[j] < best : below[j] + 1 <= best)) {
                best = below[j] + !any;
                m = any ? OVER : WRITTEN;
            }
            if (i < nw && j < ng && !any && below[j + 1] <= best &&
                ml_wildcard_line(w[i].p, g->v[j].p, w[i].any)) {
                best = below[j + 1];
                m = SAME;
            }
            here[j] = best;
            move[i * (ng + 1) + j] = (uint8_t)m;
        }
        below = here;
        here = swap;
    }
    return below[0];
}

typedef struct Report {
    const char *file;
    ml_Text shown;   /* the differences */
    ml_Text updated; /* the text as it should be */
    size_t context;  /* the last line shown as context, so that it comes once */
} Report;

static void put(ml_Text *t, const char *sign, const char *line)
{
    ml_text_fmt(t, "%s%s\n", sign, line);
}

/* true: equal. */
static bool compare(ml_Ctx *cx, const Lines *w, size_t from, size_t to, const Lines *g,
                    Report *r)
{
    size_t nw = to - from, i = 0, j = 0, ng = g->n;
    bool in_hunk = false;

    if ((nw + 1) > MOST_CELLS / (ng + 1)) {
        ml_text_fmt(&r->shown, "%s:%zu: printed %zu lines, too many to compare\n", r->file,
                    w->v[from ? from - 1 : 0].number, ng);
        return false;
    }
    uint8_t *move = ml_alloc(cx, (nw + 1) * (ng + 1));
    bool ok = align(cx, w->v + from, nw, g, move) == 0;

    for (Move m; (m = (Move)move[i * (ng + 1) + j]) != END;) {
        const char *wl = i < nw ? w->v[from + i].p : "", *gl = j < ng ? g->v[j].p : "";
        bool differs = m == WRITTEN || m == PRINTED;

        if (differs && !in_hunk) {
            size_t line = i < nw ? w->v[from + i].number : w->v[to - 1].number + 1;

            ml_text_fmt(&r->shown, "%s:%zu: - written, + printed\n", r->file, line);
            if (i > 0 && from + i > r->context)
                put(&r->shown, "   ", w->v[from + i - 1].p);
        } else if (!differs && in_hunk && i < nw) {
            put(&r->shown, "   ", wl);
            r->context = from + i + 1;
        }
        in_hunk = differs;
        if (differs)
            put(&r->shown, m == WRITTEN ? " - " : " + ", m == WRITTEN ? wl : gl);
        if (m == SAME || m == OVER || m == PRINTED)
            put(&r->updated, "", m == PRINTED ? gl : wl);
        i += m == SAME || m == OVER || m == WRITTEN;
        j += m == SAME || m == TAKEN || m == PRINTED;
    }
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
    ml_Ctx *cx = ml_ctx_new(0);
    bool ok = false;

    if (is_session(cmd))
        typed_lines(r->ss, l, at + 1, to, &input);
    put(&rep->updated, "", l->v[at].p);
    /* An empty line before the next command belongs to the page, not to the output. */
    size_t end = to;

    while (end > at + 1 && l->v[end - 1].p[0] == '\0')
        end--;
    if (!run_shell(r, cmd, &input, &printed))
        ml_text_fmt(&rep->shown, "%s:%zu: cannot run: %s: %s\n", rep->file, l->v[at].number,
                    cmd, strerror(errno));
    else {
        cut(cx, &g, &printed);
        while (g.n && g.v[g.n - 1].p[0] == '\0')
            g.n--;
        ok = compare(cx, l, at + 1, end, &g, rep);
    }
    for (; end < to; end++)
        put(&rep->updated, "", "");
    ml_ctx_unref(cx);
    ml_text_free(&input);
    ml_text_free(&printed);
    return ok;
}

/* Exit status for one file. */
static int replay_file(const Replay *r, const char *path, bool update)
{
    ml_Text text = {0};
    Lines l = {0};
    Report rep = {.file = path};
    int status = 0;
    size_t commands = 0;

    if (!ml_file_read(path, &text)) {
        fprintf(stderr, "moonloop: cannot read %s: %s\n", path, strerror(errno));
        ml_text_free(&text);
        return 3;
    }
    ml_Ctx *cx = ml_ctx_new(0);

    cut(cx, &l, &text);
    for (size_t at = 0; at < l.n;) {
        size_t to = at + 1;

        if (strncmp(l.v[at].p, "$ ", 2) != 0) { /* what the page says around the commands */
            put(&rep.updated, "", l.v[at++].p);
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
    else if (update && write_back(path, &rep.updated)) {
        printf("%s: rewritten\n", path);
        status = 0;
    } else
        fputs(ml_text_z(&rep.shown), stdout);
    ml_ctx_unref(cx);
    ml_text_free(&text);
    ml_text_free(&rep.shown);
    ml_text_free(&rep.updated);
    return status;
}

int ml_transcript_run(char **files, int n, bool update)
{
    static const char *const UNSET[] = {"CLICOLOR_FORCE",  "COLUMNS",
                                        "LINES",           "MOONLOOP_PATH",
                                        "MOONLOOP_TARGET", "MOONLOOP_THREADS"};
    static ml_Session session;
    char path[4096] = "";
    Replay r = {.ss = &session};
    int status = 0;

    if (n == 0) {
        fprintf(stderr, "moonloop: --transcript needs a file\n");
        return 2;
    }
    /* By a path that holds wherever the shell stands. */
    r.program = readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? path : "moonloop";
    ml_session_init(&session);
    ml_out_init(&session.out, 0, 100, false);
    session.host = ml_host_new(&session);
    /* Nothing of the surroundings may show in what is compared; a slow machine prints no
     * more than a fast one. */
    for (size_t k = 0; k < ML_COUNT(UNSET); k++)
        unsetenv(UNSET[k]);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TERM", "dumb", 1);
    setenv("MOONLOOP_PROGRESS", "off", 1);
    for (int k = 0; k < n; k++) {
        int s = replay_file(&r, files[k], update);

        if (s > status)
            status = s;
    }
    ml_session_free(&session);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "moonloop: cannot write to standard output: %s\n", strerror(errno));
        return 1;
    }
    return status;
}

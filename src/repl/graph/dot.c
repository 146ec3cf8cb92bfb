/*
 * dot - what all pictures share: which functions they show, and the way through
 * moonloop-draw. Graphviz itself is linked there alone. Source: interaction 12,
 * DESIGN 4.
 */
#include "repl/graph/graph.h"

#include "moonloop/core/base/file.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void ml_graph_expr(ml_Graph *g, ml_Schedule *s, const ml_Expr *e)
{
    ml_PrintOpts print = {.names = ml_schedule_names(s)};
    ml_Text t = {0};

    if (ml_is_const_int(e)) /* without its dtype */
        ml_text_int(&t, e->as.i);
    else
        ml_print_expr(ml_schedule_ctx(s), &t, e, &print);
    ml_graph_escape(&g->dot, ml_text_z(&t));
    ml_text_free(&t);
}

void ml_graph_funcs(ml_Schedule *s, ml_Graph *g, void (*fn)(const ml_Func *f, void *user),
                    void *user)
{
    const ml_Module *m = ml_schedule_program(s).mod;
    const ml_Func *chosen = ml_schedule_func(s);

    if (chosen && ml_func_root(chosen))
        fn(chosen, user);
    for (uint32_t k = 0; !chosen && k < m->n; k++) {
        if (!ml_func_root(m->funcs[k]))
            continue;
        ml_text_fmt(&g->dot, "  subgraph cluster_func_%u {\n  ", (unsigned)k);
        ml_graph_cluster(g, m->funcs[k]->name);
        fn(m->funcs[k], user);
        ml_text_add(&g->dot, "  }\n");
    }
}

bool ml_graph_build(ml_Schedule *s, const char *kind, int since, bool dark, ml_Graph *g,
                    ml_GraphWhy *why)
{
    *g = (ml_Graph){.dark = dark};
    if (since >= 0)
        g->before = ml_version_program(s, since).mod;
    if (ml_streq(kind, "loops")) {
        ml_graph_loops(s, g);
        return true;
    }
    if (ml_streq(kind, "deps")) {
        ml_graph_deps(s, g);
        return true;
    }
    why->code = ML_E_BAD_ARGUMENT;
    ml_text_fmt(&why->message, "no picture is called %s; there are loops, deps and search",
                kind);
    return false;
}

/* ---- writing */

static bool fail_errno(ml_GraphWhy *why, const char *what, const char *file)
{
    why->code = ml_file_no_room(errno) ? ML_E_NO_SPACE : ML_E_NO_FILE;
    ml_text_fmt(&why->message, "%s %s: %s", what, file, strerror(errno));
    return false;
}

static bool write_text(const char *file, const ml_Text *text, ml_GraphWhy *why)
{
    return ml_file_write(file, text->p, text->n) || fail_errno(why, "cannot write", file);
}

/* moonloop-draw beside this program, else by name from PATH. */
static const char *draw_program(char *buf, size_t n)
{
    ssize_t k = readlink("/proc/self/exe", buf, n - 20);

    if (k > 0) {
        buf[k] = '\0';
        char *slash = strrchr(buf, '/');

        if (slash) {
            memcpy(slash + 1, "moonloop-draw", sizeof "moonloop-draw");
            if (access(buf, X_OK) == 0)
                return buf;
        }
    }
    return "moonloop-draw";
}

/* What moonloop-draw says by its status. */
enum { TOO_LONG = 3, NO_ROOM = 4, NOT_THERE = 127 };

/* Its status; what it says is a line. It reads and complains through files without a name,
 * so that neither side waits for the other. */
static int run_draw(const ml_Graph *g, const char *format, const char *file, ml_Text *said)
{
    char path[PATH_MAX + 32], name[] = "moonloop-draw", flag[] = "--layout", line[4000];
    ml_Text form = {0}, to = {0}, layout = {0};
    FILE *in = tmpfile(), *err = tmpfile();
    int status = NO_ROOM;
    pid_t pid;
    posix_spawn_file_actions_t fa;

    ml_text_add(&form, format);
    ml_text_add(&to, file);
    ml_text_add(&layout, g->layout ? g->layout : "dot");
    if (!in || !err || fwrite(g->dot.p, 1, g->dot.n, in) != g->dot.n || fflush(in) != 0) {
        ml_text_fmt(said, "cannot write a file for moonloop-draw: %s", strerror(errno));
    } else {
        char *argv[] = {name, flag, layout.p, form.p, to.p, NULL};

        rewind(in);
        posix_spawn_file_actions_init(&fa);
        posix_spawn_file_actions_adddup2(&fa, fileno(in), 0);
        posix_spawn_file_actions_adddup2(&fa, fileno(err), 2);
        int rc =
            posix_spawnp(&pid, draw_program(path, sizeof path), &fa, NULL, argv, environ);

        posix_spawn_file_actions_destroy(&fa);
        while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        status = rc != 0 ? NOT_THERE : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
        rewind(err);
        ml_text_addn(said, line, fread(line, 1, sizeof line, err));
    }
    if (in)
        fclose(in);
    if (err)
        fclose(err);
    ml_text_free(&form);
    ml_text_free(&to);
    ml_text_free(&layout);
    return status;
}

/* Where the DOT text is kept when it cannot be laid out: FILE.dot. */
static void keep_dot(const ml_Graph *g, const char *file, ml_GraphWhy *why)
{
    ml_Text name = {0};

    ml_text_fmt(&name, "%s.dot", file);
    if (ml_file_write(ml_text_z(&name), g->dot.p, g->dot.n))
        ml_text_fmt(&why->message, "; the graph is kept in %s", ml_text_z(&name));
    ml_text_free(&name);
}

/* What went wrong; true: nothing did. */
static bool drawn(int rc, ml_Text *said, ml_GraphWhy *why)
{
    const char *line = ml_text_z(said);

    if (rc == 0)
        return true;
    why->code = rc == TOO_LONG  ? ML_E_TOO_LARGE
                : rc == NO_ROOM ? ML_E_NO_SPACE
                                : ML_E_NO_FILE;
    if (rc == NOT_THERE)
        ml_text_add(&why->message,
                    "moonloop-draw is not there (it is built when Graphviz, package "
                    "libgraphviz-dev, is installed)");
    else if (*line && *line != '\n')
        ml_text_addn(&why->message, line, strcspn(line, "\n"));
    else
        ml_text_fmt(&why->message, "moonloop-draw failed with status %d", rc);
    return false;
}

/* Its only reason is the size of the picture. */
static bool in_characters(ml_Graph *g, const ml_Text *plain, const char *kind, bool ascii,
                          ml_Text *out, ml_GraphWhy *why)
{
    why->code = ML_E_TOO_LARGE;
    if (!ml_graph_chars(plain->n ? plain->p : "", ml_streq(kind, "deps"), ascii, out,
                        &why->message))
        return false;
    ml_graph_legend(g, out);
    return true;
}

bool ml_graph_text(ml_Graph *g, const char *kind, bool ascii, ml_Text *out,
                   ml_GraphWhy *why)
{
    const char *tmp = getenv("TMPDIR");
    ml_Text file = {0}, said = {0}, plain = {0};
    bool ok = false;
    int fd;

    if (g->chars.n) {
        ml_text_add(out, ml_text_z(&g->chars));
        return true;
    }
    ml_text_fmt(&file, "%s/moonloop-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    fd = mkstemp(file.p);
    if (fd < 0) {
        fail_errno(why, "cannot write", ml_text_z(&file));
    } else {
        close(fd);
        ok = drawn(run_draw(g, "plain", ml_text_z(&file), &said), &said, why) &&
             (ml_file_read(ml_text_z(&file), &plain) ||
              fail_errno(why, "cannot read", ml_text_z(&file))) &&
             in_characters(g, &plain, kind, ascii, out, why);
        unlink(ml_text_z(&file));
    }
    ml_text_free(&file);
    ml_text_free(&said);
    ml_text_free(&plain);
    return ok;
}

bool ml_graph_write(ml_Graph *g, const char *kind, const char *file, ml_GraphWhy *why)
{
    static const char *const FORMATS[] = {"svg", "png", "pdf"};
    const char *dot = strrchr(file, '.');
    ml_Text said = {0};
    const char *format = NULL;

    if (dot && ml_streq(dot, ".dot"))
        return write_text(file, &g->dot, why);
    if (dot && ml_streq(dot, ".txt")) {
        bool done =
            ml_graph_text(g, kind, false, &said, why) && write_text(file, &said, why);

        ml_text_free(&said);
        return done;
    }
    for (size_t k = 0; dot && k < ML_COUNT(FORMATS); k++)
        if (ml_streq(dot + 1, FORMATS[k]))
            format = FORMATS[k];
    if (!format) {
        why->code = ML_E_BAD_ARGUMENT;
        ml_text_fmt(&why->message,
                    "%s: a picture is written as .svg, .png, .pdf, .dot or .txt", file);
        return false;
    }
    int rc = run_draw(g, format, file, &said);
    bool ok = drawn(rc, &said, why);

    if (!ok && rc != 1 && rc != NO_ROOM)
        keep_dot(g, file, why);
    ml_text_free(&said);
    return ok;
}

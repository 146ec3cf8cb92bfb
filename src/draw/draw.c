/*
 * moonloop-draw - lays out a graph and draws it: DOT text on standard input, a picture out.
 *
 * A program of its own, because a layout may explode or crash, and because Graphviz's
 * licence (EPL) does not mix with Readline's (GPL) in one program. It keeps its own limits
 * of time and memory. The picture is made in memory and written beside the target, then
 * renamed: whoever looks at the target sees the old picture or the whole new one, never a
 * part.
 */
// For realpath; the name is that of POSIX.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cgraph.h>
#include <gvc.h>

#include "config.h"

enum { OK = 0, FAILED = 1, USAGE = 2, TOO_LONG = 3, NO_ROOM = 4 };
enum { DEFAULT_LIMIT = 10, MAX_LIMIT = 3600 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

typedef struct Options Options;
struct Options {
    const char *format;
    const char *layout;
    const char *target;
    long limit; // seconds
};

/* What the signal handler needs, and what Graphviz's message callback, which has no user
 * argument, collects: the only variables of the program that are not local. */
static char temp_name[PATH_MAX];
static volatile sig_atomic_t temp_exists;
static char limit_message[96];
static char said[512];
static int report_fd = STDERR_FILENO; // where our own messages go
static FILE *chatter;                 // where what libraries print on standard error goes

static int fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints one line, removes what is half written, and gives back the status. */
static int fail(int status, const char *format, ...)
{
    char line[1024] = "moonloop-draw: ";
    size_t n = strlen(line);
    ssize_t written;
    va_list args;

    if (temp_exists)
        unlink(temp_name);
    temp_exists = 0;
    va_start(args, format);
    vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    n = strlen(line);
    line[n] = '\n';
    line[n + 1] = '\0';
    written = write(report_fd, line, strlen(line));
    (void)written;
    return status;
}

/* The time limit, the crashes of libraries and an order to stop end here, with nothing half
 * written left behind; only async-signal-safe calls. */
static void on_signal(int signal_number)
{
    static const char crashed[] = "moonloop-draw: Graphviz crashed on this graph\n";
    bool crash = signal_number != SIGALRM;
    ssize_t written;

    if (temp_exists)
        unlink(temp_name);
    if (signal_number == SIGINT || signal_number == SIGTERM || signal_number == SIGHUP) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
        return;
    }
    written = write(report_fd, crash ? crashed : limit_message,
                    strlen(crash ? crashed : limit_message));
    (void)written;
    _exit(crash ? FAILED : TOO_LONG);
}

/* SIGALRM must arrive whatever the caller blocked or ignored. A sanitizer maps terabytes of
 * address space and reports crashes better than we do, on standard error. */
static void start_limits(long seconds)
{
    static const int crashes[] = {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL};
    struct rlimit memory = {.rlim_cur = (rlim_t)2 << 30, .rlim_max = (rlim_t)2 << 30};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t none;

    snprintf(limit_message, sizeof limit_message,
             "moonloop-draw: the layout took longer than %ld s and was stopped\n", seconds);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    alarm((unsigned)seconds);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN); // a reader that went away and a file size limit are errors of
    signal(SIGXFSZ, SIG_IGN); // write, reported like a full disk
    if (SANITIZED)
        return;

    setrlimit(RLIMIT_AS, &memory);
    for (size_t k = 0; k < sizeof crashes / sizeof *crashes; k++)
        sigaction(crashes[k], &action, NULL);
    report_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    chatter = tmpfile();
    if (report_fd < 0)
        report_fd = STDERR_FILENO;
    else if (chatter)
        dup2(fileno(chatter), STDERR_FILENO);
}

/* Graphviz reports in pieces ("Error", ": ", text); they are kept on one line in `said`. */
static int collect(char *piece)
{
    size_t n = strlen(said);

    for (; *piece && n + 1 < sizeof said; piece++) {
        if (n == 0 && (*piece == '\n' || *piece == ' '))
            continue;
        said[n++] = (char)((unsigned char)*piece < ' ' ? ' ' : *piece);
    }
    said[n] = '\0';
    return 0;
}

/* What Graphviz had to say, in one line, or the given text when it said nothing. */
static const char *reason(const char *otherwise)
{
    static const char *const prefixes[] = {"Error: ", "Warning: ", "<stdin>: ", "(null): "};
    size_t n;
    char *start = said;

    if (!said[0] && chatter) {
        rewind(chatter);
        if (!fgets(said, sizeof said, chatter))
            said[0] = '\0';
    }
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
        if (strncmp(start, prefixes[k], strlen(prefixes[k])) == 0)
            start += strlen(prefixes[k]);
    for (n = strlen(start); n > 0 && (start[n - 1] == ' ' || start[n - 1] == '\n'); n--)
        start[n - 1] = '\0';
    return n > 0 ? start : otherwise;
}

/* Exactly one graph must come, and nothing after it but space and comments. */
static int read_graph(Agraph_t **graph)
{
    Agraph_t *more;

    *graph = agread(stdin, NULL);
    if (ferror(stdin))
        return fail(FAILED, "cannot read the graph: %s", strerror(errno));
    if (!*graph || said[0])
        return fail(FAILED, "not a graph: %s", reason("nothing on standard input"));
    more = agread(stdin, NULL);
    if (more || said[0])
        return fail(FAILED, "not a graph: %s", reason("more than one on standard input"));
    return OK;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static int cannot_write(const char *target, int error)
{
    bool full = error == ENOSPC || error == EFBIG || error == EDQUOT;

    return fail(full ? NO_ROOM : FAILED, "cannot write %s: %s", target, strerror(error));
}

/* Devices, pipes and the like cannot be replaced by a new file: they are written directly.
 */
static int write_special(const char *target, const char *data, size_t size)
{
    int fd = open(target, O_WRONLY | O_NOCTTY);
    int error = fd < 0 || !write_all(fd, data, size) ? errno : 0;

    if (fd >= 0 && close(fd) != 0 && !error)
        error = errno;
    return error ? cannot_write(target, error) : OK;
}

static int write_regular(const char *target, const char *data, size_t size)
{
    int fd, error = 0;
    mode_t mask = umask(0);

    umask(mask);
    if (snprintf(temp_name, sizeof temp_name, "%s.XXXXXX", target) >= (int)sizeof temp_name)
        return fail(FAILED, "cannot write %s: %s", target, strerror(ENAMETOOLONG));
    fd = mkstemp(temp_name);
    if (fd < 0)
        return cannot_write(target, errno);
    temp_exists = 1;

    if (!write_all(fd, data, size) || fchmod(fd, (mode_t)0666 & ~mask) != 0)
        error = errno;
    if (close(fd) != 0 && !error)
        error = errno;
    if (!error && rename(temp_name, target) != 0)
        error = errno;
    if (error)
        return cannot_write(target, error);
    temp_exists = 0;
    return OK;
}

/* A link is followed, so that the file that it names is replaced and not the link. Only
 * what is a regular file, or does not exist yet, is ever replaced. */
static int write_picture(const char *target, const char *data, size_t size)
{
    struct stat there;
    bool exists = stat(target, &there) == 0;
    char *followed;
    int status;

    if (exists && S_ISDIR(there.st_mode))
        return fail(FAILED, "cannot write %s: %s", target, strerror(EISDIR));
    if (exists && !S_ISREG(there.st_mode))
        return write_special(target, data, size);
    if (exists && access(target, W_OK) != 0)
        return fail(FAILED, "cannot write %s: %s", target, strerror(errno));
    if (!exists && lstat(target, &there) == 0)
        return fail(FAILED, "cannot write %s: it is a link to nothing", target);

    followed = exists ? realpath(target, NULL) : NULL;
    if (exists && !followed)
        return write_special(target, data, size); // a file without a name: /dev/fd/1
    status = write_regular(followed ? followed : target, data, size);
    free(followed);
    return status;
}

/* What a graph leaves open: PNG at 192 dots an inch, so that it is sharp on any screen;
 * SVG and PDF in points, one for each of the graph, without a margin of paper. */
static void set_size(Agraph_t *graph, const char *format)
{
    static const char *const attributes[] = {"dpi", "margin"};
    char png[] = "192", points[] = "72", none[] = "0", nothing[] = "";
    char *values[] = {strcmp(format, "png") == 0 ? png : points, none};

    for (size_t k = 0; k < sizeof attributes / sizeof *attributes; k++) {
        char name[16];

        snprintf(name, sizeof name, "%s", attributes[k]);
        if (!agget(graph, name) || !*agget(graph, name))
            agsafeset(graph, name, values[k], nothing);
    }
}

static int draw(const Options *options)
{
    GVC_t *gvc = gvContext();
    Agraph_t *graph = NULL;
    char *picture = NULL;
    unsigned size = 0;
    int status;

    if (!gvc)
        return fail(FAILED, "Graphviz does not start: %s", reason("no reason given"));
    /* All messages go to `said`; warnings (a missing font, say) explain nothing and are
     * dropped. */
    agseterr(AGERR);
    agseterrf(collect);

    status = read_graph(&graph);
    if (status == OK && strcmp(options->format, "dot") != 0) // there it stays open
        set_size(graph, options->format);
    if (status == OK && gvLayout(gvc, graph, options->layout) != 0)
        status = fail(FAILED, "cannot lay the graph out (%s): %s", options->layout,
                      reason("no reason given"));
    else if (status == OK) {
        if (gvRenderData(gvc, graph, options->format, &picture, &size) != 0 || size == 0)
            status = fail(FAILED, "cannot draw as %s: %s", options->format,
                          reason("this Graphviz has no such output; install graphviz"));
        else
            status = write_picture(options->target, picture, size);
        gvFreeRenderData(picture);
        gvFreeLayout(gvc, graph);
    }
    if (graph)
        agclose(graph);
    gvFreeContext(gvc);
    return status;
}

static bool one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static const char *const formats[] = {"svg", "png", "pdf", "dot", "plain", NULL};
static const char *const layouts[] = {"dot", "neato", "fdp", NULL};

static const char help[] =
    "usage: moonloop-draw [--layout dot|neato|fdp] [--limit SECONDS] FORMAT OUTFILE "
    "<GRAPH\n"
    "Lays out the graph that comes as DOT text on standard input and draws it into "
    "OUTFILE.\n"
    "  FORMAT          svg, png, pdf, dot (with positions) or plain (positions only);\n"
    "                  png at 192 dpi, svg and pdf in points, unless the graph says dpi\n"
    "  --layout, -K    dot (layers, the default), neato or fdp (springs)\n"
    "  --limit SECONDS stop after so long (10)\n"
    "exit status: 0 drawn, 1 bad graph or output, 2 usage, 3 limit reached\n";

static int usage(const char *problem, const char *word)
{
    return fail(USAGE, "%s%s; see moonloop-draw --help", problem, word);
}

/* Fills *options; OK, or USAGE with the message printed. */
static int read_options(int argc, char **argv, Options *options)
{
    const char *words[2] = {"", ""};
    size_t n_words = 0;

    for (int k = 1; k < argc; k++) {
        const char *arg = argv[k];
        bool is_limit = strcmp(arg, "--limit") == 0;

        if (is_limit || strcmp(arg, "--layout") == 0 || strcmp(arg, "-K") == 0) {
            if (++k == argc)
                return usage("a value is missing after ", arg);
            if (is_limit) {
                char *end;

                options->limit = strtol(argv[k], &end, 10);
                if (end == argv[k] || *end || options->limit < 1 ||
                    options->limit > MAX_LIMIT)
                    return usage("--limit takes 1 to 3600 seconds, not ", argv[k]);
            } else {
                options->layout = argv[k];
            }
        } else if (arg[0] == '-') {
            return usage("unknown option ", arg);
        } else if (n_words == 2) {
            return usage("too many arguments: ", arg);
        } else {
            words[n_words++] = arg;
        }
    }
    if (n_words < 2)
        return usage("FORMAT and OUTFILE are needed", "");
    options->format = words[0];
    options->target = words[1];
    if (!one_of(options->format, formats))
        return usage("the format must be svg, png, pdf, dot or plain, not ", words[0]);
    if (!one_of(options->layout, layouts))
        return usage("the layout must be dot, neato or fdp, not ", options->layout);
    return OK;
}

/* For --version and --help: a full disk or a closed pipe is an error there too. */
static int print(const char *text)
{
    if (fputs(text, stdout) < 0 || fflush(stdout) != 0)
        return fail(FAILED, "cannot write to standard output: %s", strerror(errno));
    return OK;
}

int main(int argc, char **argv)
{
    Options options = {.format = "", .layout = "dot", .target = "", .limit = DEFAULT_LIMIT};
    int status;

    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return print("moonloop-draw " ML_VERSION " (Graphviz " ML_GRAPHVIZ_VERSION ")\n");
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return print(help);
    status = read_options(argc, argv, &options);
    if (status != OK)
        return status;
    start_limits(options.limit);
    return draw(&options);
}

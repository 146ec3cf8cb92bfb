/* fuzz_session - no text that is typed ends the program other than in order:
 * fuzz_session N SEED makes N sessions of commands, calls and soups of words, gives each to
 * moonloop as session text, and wants an exit status of interaction 2 within the time
 * limit. What fails is printed. MOONLOOP names the program (else the one built beside
 * this). Source: style 10. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moonloop/core/base/text.h"
#include "moonloop/primitives/prim.h"
#include "progress.h"

enum { SECONDS = 20, PATH_SIZE = 1024 };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const commands[] = {
#define ML_COMMAND(name, group, args, help, fn, is, text, example) name,
#include "repl/command/commands.def"
#undef ML_COMMAND
};

static uint64_t next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static size_t below(uint64_t *s, size_t n)
{
    return n ? (size_t)(next(s) % n) : 0;
}

static const char *pick(uint64_t *s, const char *const *list, size_t n)
{
    return list[below(s, n)];
}
#define PICK(s, list) pick((s), (list), COUNT(list))

/* ---- lines */

static void word(uint64_t *s, ml_Text *t)
{
    static const char *const words[] = {"i",
                                        "j",
                                        "k",
                                        "i_0",
                                        "j_1",
                                        "C",
                                        "B",
                                        "A",
                                        "C/i",
                                        "C@1",
                                        "C@-1",
                                        "C/*",
                                        "v0",
                                        "v1",
                                        "v99",
                                        "-1",
                                        "-99",
                                        "0",
                                        "1",
                                        "3",
                                        "99999999999999999999",
                                        "failed",
                                        "base",
                                        "--tree",
                                        "--trace",
                                        "--python",
                                        "--json",
                                        "--seed",
                                        "--inputs",
                                        "zeros",
                                        "nan",
                                        "ones",
                                        "--shape",
                                        "n=4",
                                        "n=-1",
                                        "n=",
                                        "--rtol",
                                        "1e-3",
                                        "step",
                                        "loops",
                                        "deps",
                                        "x.svg",
                                        "x.dot",
                                        "x.json",
                                        "x.lua",
                                        "x.py",
                                        "nowhere/x.py",
                                        "/",
                                        "echo",
                                        "full",
                                        "brief",
                                        "off",
                                        "on",
                                        "context",
                                        "undo_limit",
                                        "memory_limit",
                                        "2",
                                        "width",
                                        "20",
                                        "errors",
                                        "detail",
                                        "fast",
                                        "split",
                                        "no-such-loop",
                                        "\"a b\"",
                                        "\"",
                                        "'",
                                        "\\",
                                        "*",
                                        "?",
                                        "[",
                                        "%s%n",
                                        "\xff\xfe",
                                        "\xe2\x82",
                                        "µ",
                                        "#",
                                        ";",
                                        ""};

    ml_text_char(t, ' ');
    ml_text_add(t, PICK(s, words));
}

static void command(uint64_t *s, ml_Text *t)
{
    const char *name = PICK(s, commands);
    size_t n = strlen(name);

    ml_text_char(t, ':');
    if (below(s, 6) == 0)
        n = below(s, n + 1);
    ml_text_fmt(t, "%.*s", (int)n, name);
    for (size_t k = below(s, 4); k > 0; k--)
        word(s, t);
}

static void value(uint64_t *s, ml_Text *t, int depth)
{
    static const char *const values[] = {"\"i\"",
                                         "\"j\"",
                                         "\"k\"",
                                         "\"i_0\"",
                                         "\"i_1\"",
                                         "\"C\"",
                                         "\"C@1\"",
                                         "\"\"",
                                         "\"nothing\"",
                                         "0",
                                         "1",
                                         "2",
                                         "4",
                                         "16",
                                         "1000",
                                         "-1",
                                         "1e300",
                                         "0/0",
                                         "1/0",
                                         "2^53",
                                         "1 << 40",
                                         "math.mininteger",
                                         "math.maxinteger",
                                         "nil",
                                         "true",
                                         "false",
                                         "auto",
                                         "s",
                                         "moon",
                                         "{}",
                                         "print",
                                         "i",
                                         "j",
                                         "i_0",
                                         "C",
                                         "A",
                                         "s.i",
                                         "s.C",
                                         "s:get_block(\"C\")",
                                         "function() end",
                                         "\"threadIdx.x\"",
                                         "\"shared\"",
                                         "\"global\"",
                                         "\"\\xff\\0\"",
                                         "coroutine.create(print)",
                                         "io",
                                         "setmetatable({}, {__index = error})"};

    if (depth < 3 && below(s, 5) == 0) {
        ml_text_char(t, '{');
        for (size_t k = below(s, 4); k > 0; k--) {
            if (below(s, 6) == 0)
                ml_text_add(t, "x = ");
            value(s, t, depth + 1);
            ml_text_add(t, k > 1 ? ", " : "");
        }
        ml_text_char(t, '}');
    } else
        ml_text_add(t, PICK(s, values));
}

static void call(uint64_t *s, ml_Text *t)
{
    static const char *const methods[] = {"undo",
                                          "redo",
                                          "show",
                                          "mod",
                                          "trace",
                                          "copy",
                                          "seed",
                                          "work_on",
                                          "loops",
                                          "blocks",
                                          "get",
                                          "goto_version",
                                          "mark",
                                          "func_working_on",
                                          "version",
                                          "check",
                                          "nothing_like_it"};
    static const char *const functions[] = {
        "print",        "tostring",        "type",          "pairs",        "ipairs",
        "pcall",        "error",           "schedule",      "load",         "moon.set",
        "moon.check",   "moon.run",        "moon.parse",    "moon.load",    "moon.te.sum",
        "require",      "workload.matmul", "string.format", "table.concat", "moon.ir.store",
        "moon.tensor",  "moon.array",      "help",          "next",         "rawget",
        "getmetatable", "select",          "collectgarbage"};

    switch (below(s, 5)) {
    case 0: ml_text_fmt(t, "s:%s(", PICK(s, methods)); break;
    case 1: ml_text_fmt(t, "%s(", PICK(s, functions)); break;
    case 2: ml_text_add(t, "s:"); __attribute__((fallthrough));
    default: ml_text_fmt(t, "%s(", ml_primitives[below(s, ml_n_primitives)]->name); break;
    }
    for (size_t k = below(s, 4); k > 0; k--) {
        value(s, t, 0);
        ml_text_add(t, k > 1 ? ", " : "");
    }
    ml_text_add(t, below(s, 12) ? ")" : "");
    ml_text_add(t, below(s, 6) ? "" : ";");
}

static void good_step(uint64_t *s, ml_Text *t)
{
    static const char *const steps[] = {"split(\"i\", {auto, 4})",
                                        "split(\"k\", 3)",
                                        "fuse(\"i\", \"j\")",
                                        "unroll(\"k\")",
                                        "reorder(\"j\", \"i\")",
                                        "cache_read(\"C\", 0, \"shared\")",
                                        "decompose_reduction(\"C\", \"k\")",
                                        "parallel(\"i\")",
                                        "annotate(\"C\", \"x\", {1, 2})",
                                        ":undo",
                                        ":redo",
                                        ":mark here",
                                        ":before 1 unroll(\"k\")",
                                        ":drop 1",
                                        ":edit 1 split(\"i\", {2, auto})",
                                        ":bisect function(s) return s:version() < 2 end",
                                        "merge(\"i\", \"j\")",
                                        "loop_partition(\"k\", {3, auto})",
                                        "p = sample_compute_location(\"C\")",
                                        "compute_at(\"C\", p)",
                                        "s = schedule(workload.matmul(8, 8, 8))",
                                        "t = s:copy()",
                                        "s:undo(1)",
                                        ":check",
                                        "sample_perfect_tile(\"i\", 2)",
                                        "x, y = split(\"j\", {2, auto})",
                                        "vectorize(y)",
                                        ":show",
                                        ":tree"};

    ml_text_add(t, PICK(s, steps));
}

static void soup(uint64_t *s, ml_Text *t)
{
    static const char *const tokens[] = {
        "s",   ":",      ".",        "(",    ")",    "{",     "}",     "[",    "]",
        ",",   "=",      "==",       "~=",   "..",   "...",   "+",     "-",    "*",
        "//",  "%",      "^",        "#",    "&",    "~",     "|",     "<<",   "<",
        "<=",  "local",  "function", "end",  "if",   "then",  "else",  "for",  "in",
        "do",  "return", "not",      "and",  "or",   "nil",   "true",  "1",    "0x10",
        "1e5", "\"i\"",  "'",        "\"",   "[[",   "]]",    "--",    "--[[", "i",
        "C",   "split",  "fuse",     "moon", "auto", "pcall", "error", "\\",   ";",
        "::",  "?",      "!",        "@",    "$",    "\t",    "\x01",  "\x7f", "\xff",
        "µ",   "v7>",    ">",        ">>"};

    for (size_t k = 1 + below(s, 14); k > 0; k--) {
        ml_text_add(t, PICK(s, tokens));
        ml_text_add(t, below(s, 2) ? " " : "");
    }
}

static void session(uint64_t *s, ml_Text *t)
{
    if (below(s, 10)) /* what is timed is of no interest here */
        ml_text_add(t, ":set runs 1\n");
    if (below(s, 10))
        ml_text_add(t, "s = schedule(workload.matmul(16, 12, 8))\n");
    for (size_t k = 4 + below(s, 40); k > 0; k--) {
        switch (below(s, 10)) {
        case 0:
        case 1: good_step(s, t); break;
        case 2:
        case 3:
        case 4: command(s, t); break;
        case 5:
        case 6:
        case 7: call(s, t); break;
        case 8: soup(s, t); break;
        default: /* bytes */
            for (size_t n = below(s, 30); n > 0; n--)
                ml_text_char(t, (char)(1 + below(s, 255)));
        }
        ml_text_char(t, '\n');
    }
    if (below(s, 20) == 0)
        ml_text_repeat(t, "({[\"x"[below(s, 5)], 100 + below(s, 5000));
}

/* ---- one run */

/* In the child: the session text is in the file `in`, output goes to `out`. */
static _Noreturn void start(const char *program, int in, int out)
{
    struct rlimit cpu = {SECONDS, SECONDS + 2};

    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    setrlimit(RLIMIT_CPU, &cpu);
    alarm(15 * SECONDS);
    execl(program, program, "--keep-going", "--safe", "--no-init", "--private",
          (char *)NULL);
    _exit(127);
}

static int temporary(void)
{
    char name[] = "fuzz_session.XXXXXX";
    int fd = mkstemp(name);

    if (fd >= 0)
        unlink(name);
    return fd;
}

static bool in_order(int status, char *why, size_t size)
{
    if (WIFSIGNALED(status)) {
        snprintf(why, size, "ended by signal %d", WTERMSIG(status));
        return false;
    }
    snprintf(why, size, "exit status %d", WEXITSTATUS(status));
    return WEXITSTATUS(status) <= 3;
}

static bool one(const char *program, const ml_Text *text, long k, unsigned long long seed)
{
    int in = temporary(), out = temporary(), status = 0;
    char why[64];
    bool ok = in >= 0 && out >= 0 && write(in, text->p, text->n) == (ssize_t)text->n &&
              lseek(in, 0, SEEK_SET) == 0;

    if (!ok) {
        perror("fuzz_session");
        exit(2);
    }
    pid_t pid = fork();

    if (pid == 0)
        start(program, in, out);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    ok = pid > 0 && in_order(status, why, sizeof why);
    if (!ok) {
        char tail[4097];
        off_t end = lseek(out, 0, SEEK_END);
        ssize_t n;

        lseek(out, end > 4096 ? end - 4096 : 0, SEEK_SET);
        n = read(out, tail, sizeof tail - 1);
        printf("session %ld of seed %llu: %s\n---- text\n%.*s\n---- output ends\n%.*s\n", k,
               seed, why, (int)text->n, text->p, (int)(n > 0 ? n : 0), tail);
    }
    close(in);
    close(out);
    return ok;
}

/* moonloop, as built beside tests/fuzz/fuzz_session. */
static const char *program_path(const char *self, char *path)
{
    const char *given = getenv("MOONLOOP"), *end = strstr(self, "tests/fuzz/");

    if (given && *given)
        snprintf(path, PATH_SIZE, "%s", given);
    else if (end) {
        char here[PATH_SIZE / 2] = "";

        if (self[0] != '/' && !getcwd(here, sizeof here))
            return NULL;
        snprintf(path, PATH_SIZE, "%s%s%.*smoonloop", here, *here ? "/" : "",
                 (int)(end - self), self);
    } else
        return NULL;
    return access(path, X_OK) == 0 ? path : NULL;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 100, bad = 0;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    static char path[PATH_SIZE];
    char dir[] = "/tmp/fuzz_session.XXXXXX";
    const char *program = program_path(argv[0], path);

    if (!program) {
        fprintf(stderr, "fuzz_session: there is no moonloop (see MOONLOOP)\n");
        return 2;
    }
    if (!mkdtemp(dir) || chdir(dir) != 0) {
        perror(dir);
        return 2;
    }
    FzProgress progress = fz_progress("sessions", n, seed);

    for (long k = 0; k < n && bad < 5; k++) {
        fz_progress_step(&progress, k, (int)bad);
        uint64_t s = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)k * 104729 + 1;
        ml_Text t = {0};

        for (int warm = 0; warm < 4; warm++)
            next(&s);
        session(&s, &t);
        bad += !one(program, &t, k, seed);
        ml_text_free(&t);
    }
    if (chdir("/") == 0 && !bad) {
        char rm[64];

        snprintf(rm, sizeof rm, "rm -rf %s", dir);
        if (system(rm) != 0)
            perror(dir);
    }
    printf("fuzz_session: %ld sessions, %ld failed, seed %llu\n", n, bad, seed);
    return bad > 0;
}

/*
 * fuzz_space - every workload under random decisions of its design space, as machine code
 * between guard pages, against the interpreter.
 *
 *   fuzz_space N SEED [jobs=J] [each=E] [operator=NAME] [program=K [candidate=C]]
 *
 * N candidates, at most E of a program; exit 1 where any is wrong. Each program is tested by
 * a process of its own, J at once, so that a crash of the compiler costs one program. Ctrl-C
 * ends the run with its totals. program, candidate: that one again, as a finding says.
 * Source: style 10; lowering-and-codegen 13.
 */
#define _GNU_SOURCE
#include "space.h"

#include "progress.h"
#include "runner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_JOBS = 64,
    MAX_OPERATORS = 100,
    MAX_SKETCHES = 100,
    TEXT = 1 << 20,
    MAX_FAILURES = 200
};

typedef struct Slot { /* shared with the process at work */
    pid_t pid;        /* 0: none is; the parent's */
    int64_t k;
    FzSpaceResult r;
    char text[TEXT];
} Slot;

typedef struct Total {
    char operator[FZ_SPACE_NAME];
    int64_t programs, alone, candidates, calls, failed, refused_replays, refused_sketches,
        for_a_dtype, none;
} Total;

typedef struct Run {
    uint64_t seed;
    int64_t n, program, candidate; /* program -1: all of them */
    int each;
    uint32_t jobs;
    FzSpace *space;
    Slot *slots;
    Total total[MAX_OPERATORS], all;
    size_t n_totals;
    FzSketchCount sketch[MAX_SKETCHES];
    size_t n_sketches;
    int64_t next, distinct;
    uint64_t *seen; /* hashes of candidates, by open addressing */
    size_t cap;
} Run;

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
    (void)sig;
    stopped = 1;
}

/* ---------------------------------------------------------------- programs by candidates */

static void add(Total *t, const FzSpaceResult *r)
{
    t->programs++;
    t->alone += r->alone;
    t->none += r->none;
    t->candidates += r->candidates;
    t->calls += r->calls;
    t->failed += r->failed;
    t->refused_replays += r->refused_replays;
    t->refused_sketches += r->refused_sketches;
    t->for_a_dtype += r->for_a_dtype;
}

static Total *total_of(Run *run, const char *operator)
{
    size_t k = 0;

    while (k < run->n_totals && strcmp(run->total[k].operator, operator) != 0)
        k++;
    if (k == run->n_totals && run->n_totals + 1 < MAX_OPERATORS)
        snprintf(run->total[run->n_totals++].operator, FZ_SPACE_NAME, "%s", operator);
    return &run->total[k];
}

static void add_sketch(Run *run, const FzSketchCount *c)
{
    size_t k = 0;

    while (k < run->n_sketches && strcmp(run->sketch[k].name, c->name) != 0)
        k++;
    if (k == MAX_SKETCHES)
        return;
    if (k == run->n_sketches)
        snprintf(run->sketch[run->n_sketches++].name, FZ_SPACE_NAME, "%s", c->name);
    run->sketch[k].drafts += c->drafts;
    run->sketch[k].candidates += c->candidates;
}

static void see(Run *run, uint64_t hash)
{
    size_t at = hash & (run->cap - 1);

    hash = hash ? hash : 1;
    while (run->seen[at] && run->seen[at] != hash)
        at = (at + 1) & (run->cap - 1);
    run->distinct += run->seen[at] == 0;
    run->seen[at] = hash;
}

/* Takes over what a process has done; status: how it ended. */
static void take(Run *run, Slot *s, int status)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        s->r.failed++;
        printf("---- program %lld of seed %llu: its process ended (%s %d)\n",
               (long long)s->k, (unsigned long long)run->seed,
               WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    fputs(s->text, stdout);
    fflush(stdout);
    add(total_of(run, s->r.operator), &s->r);
    add(&run->all, &s->r);
    for (size_t k = 0; k < s->r.n_hashes; k++)
        see(run, s->r.hashes[k]);
    for (size_t k = 0; k < s->r.n_sketches; k++)
        add_sketch(run, &s->r.sketch[k]);
    s->pid = 0;
}

__attribute__((noreturn)) static void work(Run *run, Slot *s)
{
    ml_Text out = {0};
    int first = run->candidate > 0 ? (int)run->candidate : 0;
    bool ok;

    signal(SIGINT, SIG_IGN); /* what was begun is ended */
    signal(SIGTERM, SIG_IGN);
    fz_runner_close(); /* each has its own arguments */
    ok = fz_runner_open();
    if (ok)
        fz_space_run(run->space, run->seed, s->k, first,
                     run->candidate >= 0 ? 1 : run->each, &s->r, &out);
    snprintf(s->text, sizeof s->text, "%s", ml_text_z(&out));
    fz_runner_close();
    fflush(NULL);
    _exit(ok ? 0 : 1);
}

static void begin(Run *run, Slot *s)
{
    pid_t pid;

    s->k = run->program >= 0 ? run->program : run->next;
    run->next++;
    s->r = (FzSpaceResult){.operator= "?", .line = "?"};
    s->text[0] = '\0';
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        work(run, s);
    s->pid = pid > 0 ? pid : 0;
}

static bool is_over(const Run *run)
{
    return stopped || run->all.candidates >= run->n || run->all.failed >= MAX_FAILURES ||
           (run->program >= 0 && run->next > 0);
}

/* Waits for one of them; false: none is at work. */
static bool wait_for_one(Run *run)
{
    int status;
    pid_t pid;

    do {
        pid = wait(&status);
    } while (pid < 0 && errno == EINTR);
    for (uint32_t j = 0; pid > 0 && j < run->jobs; j++)
        if (run->slots[j].pid == pid)
            take(run, &run->slots[j], status);
    return pid > 0;
}

static void run_all(Run *run)
{
    FzProgress progress = fz_progress("candidates of design spaces", run->n, run->seed);

    do {
        for (uint32_t j = 0; j < run->jobs && !is_over(run); j++)
            if (run->slots[j].pid == 0)
                begin(run, &run->slots[j]);
        fz_progress_step(&progress, run->all.candidates, (int)run->all.failed);
    } while (wait_for_one(run));
}

/* ---------------------------------------------------------------- what is told */

static int by_name(const void *a, const void *b)
{
    const Total *x = a, *y = b;

    return strcmp(x->operator, y->operator);
}

static void print_total(const Total *t)
{
    printf("%-24s %8lld %6lld %10lld %9lld %7lld %8lld %9lld %6lld\n",
           t->operator,(long long) t->programs, (long long)t->alone,
           (long long)t->candidates, (long long)t->calls, (long long)t->refused_replays,
           (long long)t->refused_sketches, (long long)t->for_a_dtype, (long long)t->failed);
}

static int by_sketch(const void *a, const void *b)
{
    const FzSketchCount *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void print_sketches(Run *run)
{
    qsort(run->sketch, run->n_sketches, sizeof run->sketch[0], by_sketch);
    printf("%-48s %8s %10s\n", "sketch", "drafts", "candidates");
    for (size_t k = 0; k < run->n_sketches; k++)
        printf("%-48s %8lld %10lld\n", run->sketch[k].name,
               (long long)run->sketch[k].drafts, (long long)run->sketch[k].candidates);
}

static void print_totals(Run *run)
{
    print_sketches(run);
    qsort(run->total, run->n_totals, sizeof run->total[0], by_name);
    printf("%-24s %8s %6s %10s %9s %7s %8s %9s %6s\n", "operator", "programs", "alone",
           "candidates", "runs", "replays", "sketches", "no dtype", "failed");
    for (size_t k = 0; k < run->n_totals; k++)
        print_total(&run->total[k]);
    snprintf(run->all.operator, FZ_SPACE_NAME, "all");
    print_total(&run->all);
    printf("(replays and sketches: refused; no dtype: no code for its types)\n"
           "seed %llu: %lld candidates of %lld programs, %lld of them different programs, "
           "%lld runs between guard pages: %lld failures%s\n",
           (unsigned long long)run->seed, (long long)run->all.candidates,
           (long long)run->all.programs, (long long)run->distinct,
           (long long)run->all.calls, (long long)run->all.failed,
           stopped ? " (interrupted)" : "");
}

static int64_t number(const char *arg, const char *name, int64_t was)
{
    size_t n = strlen(name);

    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? strtoll(arg + n + 1, NULL, 10)
                                                       : was;
}

int main(int argc, char **argv)
{
    Run run = {.n = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000,
               .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
               .program = -1,
               .candidate = -1,
               .each = 40};
    const char *operator= NULL, *why;
    int64_t jobs = 1;
    struct sigaction sa = {.sa_handler = stop};

    for (int k = 3; k < argc; k++) {
        jobs = number(argv[k], "jobs", jobs);
        run.each = (int)number(argv[k], "each", run.each);
        run.program = number(argv[k], "program", run.program);
        run.candidate = number(argv[k], "candidate", run.candidate);
        if (strncmp(argv[k], "operator=", 9) == 0)
            operator= argv[k] + 9;
    }
    run.jobs = jobs < 1 ? 1 : jobs > MAX_JOBS ? MAX_JOBS : (uint32_t)jobs;
    run.each = run.each < 1 ? 1 : run.each > FZ_SPACE_MOST ? FZ_SPACE_MOST : run.each;
    run.cap = 1 << 17; /* a power of 2, far more than the last processes add */
    while (run.cap < 4 * (size_t)run.n)
        run.cap *= 2;
    run.seen = calloc(run.cap, sizeof *run.seen);
    run.slots = mmap(NULL, run.jobs * sizeof *run.slots, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    run.space = fz_space_open(operator, & why);
    if (run.space == NULL || run.seen == NULL || run.slots == MAP_FAILED) {
        printf("skip: nothing can be compiled: %s\n", run.space ? "no memory" : why);
        return run.space ? 1 : 0;
    }
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    run_all(&run);
    print_totals(&run);
    fz_space_close(run.space);
    free(run.seen);
    return run.all.failed ? 1 : 0;
}

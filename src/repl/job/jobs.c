/*
 * jobs - the processes of a session's jobs: starting, listening, ending.
 *
 * A job leads its own process group, so that Ctrl-C at the terminal is not for it and a
 * kill reaches what it started. Its pipes are read when the loop says so; it is over when
 * both are closed and its process has been waited for. Source: interaction 9; DESIGN 4.
 */
#define _GNU_SOURCE /* NOLINT: memfd_create */
#include "repl/job/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moonloop/codegen/worker/program.h"
#include "moonloop/core/base/arena.h"
#include "moonloop/core/json/json.h"
#include "repl/job/job.h"
#include "repl/job/job_result.h"
#include "repl/out/loop.h"
#include "repl/session/progress.h"
#include "repl/tuning/board.h"

extern char **environ;

enum {
    PATIENCE = 5000,
    AGAIN = 20
}; /* ms: for a job that was asked to end; a look later */

typedef struct Job Job;
struct Job {
    Job *next; /* the one started after it */
    ml_Session *ss;
    int number, version;
    char *what, *progress;
    char *mark;     /* told until it has been seen; NULL: nothing */
    ml_Schedule *s; /* counted */
    ml_JobState state;
    double began, share;
    double seconds; /* when it is over */
    pid_t pid;
    int fd[2];      /* its standard output and error; -1: closed */
    int words;      /* where something is said to it; -1: closed */
    ml_Board board; /* cx NULL: it has told of none */
    ml_Text in[2];
    bool asked; /* to end */
    int timer;
    char *log[ML_JOB_LOG]; /* a ring */
    size_t n_log, first;
};

struct ml_Jobs {
    Job *first;
    int last_number;
    unsigned changes;
};

/* ---------------------------------------------------------------- looking */

static Job *find(ml_Session *ss, int number)
{
    Job *j = ss->jobs ? ss->jobs->first : NULL;

    while (j && j->number != number)
        j = j->next;
    return j;
}

static bool is_over(const Job *j)
{
    return j->state != ML_JOB_RUNNING && j->state != ML_JOB_STOPPING;
}

bool ml_job_info(ml_Session *ss, size_t k, ml_JobInfo *out)
{
    const Job *j = ss->jobs ? ss->jobs->first : NULL;

    for (; j && k > 0; k--)
        j = j->next;
    if (!j)
        return false;
    *out = (ml_JobInfo){.number = j->number,
                        .what = j->what,
                        .schedule = ml_schedule_name(j->s),
                        .version = j->version,
                        .state = j->state,
                        .seconds = is_over(j) ? j->seconds : ml_clock() - j->began,
                        .share = j->share,
                        .progress = j->progress ? j->progress : "",
                        .n_log = j->n_log,
                        .s = j->s,
                        .board = j->board.cx ? &j->board : NULL};
    return true;
}

const char *ml_job_log(ml_Session *ss, int number, size_t k)
{
    const Job *j = find(ss, number);

    return j && k < j->n_log ? j->log[(j->first + k) % ML_JOB_LOG] : NULL;
}

const char *ml_job_state_name(ml_JobState s)
{
    switch (s) {
    case ML_JOB_RUNNING: return "running";
    case ML_JOB_STOPPING: return "stopping";
    case ML_JOB_DONE: return "done";
    case ML_JOB_FAILED: return "failed";
    case ML_JOB_STOPPED: return "stopped";
    case ML_JOB_KILLED: return "killed";
    }
    return "?";
}

size_t ml_jobs_running(ml_Session *ss)
{
    size_t n = 0;

    for (const Job *j = ss->jobs ? ss->jobs->first : NULL; j; j = j->next)
        n += !is_over(j);
    return n;
}

unsigned ml_jobs_changes(ml_Session *ss)
{
    return ss->jobs ? ss->jobs->changes : 0;
}

bool ml_jobs_unseen(ml_Session *ss, bool brief, ml_Text *out)
{
    const Job *last = NULL;
    size_t more = 0;

    for (const Job *j = ss->jobs ? ss->jobs->first : NULL; j; j = j->next)
        if (j->mark) {
            more += last != NULL;
            last = j;
        }
    if (last && brief)
        ml_text_fmt(out, "job %d %s", last->number,
                    strstr(last->mark, ":adopt") ? "ended: :adopt"
                    : last->state == ML_JOB_DONE ? "ended"
                                                 : "failed");
    else if (last)
        ml_text_add(out, last->mark);
    if (last && more > 0)
        ml_text_fmt(out, " (and %zu more)", more);
    return last != NULL;
}

static void drop_mark(Job *j)
{
    ml_heap_free(j->mark);
    j->mark = NULL;
}

void ml_jobs_seen(ml_Session *ss)
{
    for (Job *j = ss->jobs ? ss->jobs->first : NULL; j; j = j->next) {
        ss->jobs->changes += j->mark != NULL;
        drop_mark(j);
    }
}

/* ---------------------------------------------------------------- what it says */

static char *copy(const char *z)
{
    size_t n = strlen(z) + 1;
    char *p = ml_heap_zalloc(n);

    memcpy(p, z, n);
    return p;
}

static void set_progress(Job *j, const char *z)
{
    ml_heap_free(j->progress);
    j->progress = copy(z);
    j->ss->jobs->changes++;
}

/* Each line of the text. */
static void add_log(Job *j, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        ml_Text one = {0};
        size_t at = (j->first + j->n_log) % ML_JOB_LOG;

        ml_text_addn(&one, text, n);
        if (j->n_log == ML_JOB_LOG) {
            ml_heap_free(j->log[at]);
            j->first = (j->first + 1) % ML_JOB_LOG;
        } else
            j->n_log++;
        j->log[at] = copy(ml_text_z(&one));
        ml_text_free(&one);
        text += n + (text[n] == '\n');
    }
    j->ss->jobs->changes++;
}

/* A line of its standard error: progress, or something for the log. */
static void hear(Job *j, const char *line)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Heard h = ml_job_hear(cx, line);

    if (h.progress)
        set_progress(j, h.progress);
    if (!isnan(h.share))
        j->share = h.share;
    if (h.log)
        add_log(j, h.log);
    if (h.board && ml_board_hear(&j->board, h.board))
        j->ss->jobs->changes++;
    ml_ctx_unref(cx);
}

/* ---------------------------------------------------------------- its end */

static void announce(Job *j, const char *text)
{
    ml_Text t = {0}, folded = {0}, shown = {0};

    if (j->ss->json ||
        (!j->ss->prompting && !ml_loop_has_announcer())) { /* no line is being typed */
        ml_err_prose(&j->ss->out, text);
        return;
    }
    ml_out_fold(&j->ss->out, text, &folded);
    ml_out_shown(&shown, ml_text_z(&folded), j->ss->out.err_color);
    if (j->ss->out.ascii)
        ml_out_plain(&t, ml_text_z(&shown));
    ml_loop_announce(ml_text_z(j->ss->out.ascii ? &t : &shown));
    ml_text_free(&t);
    ml_text_free(&shown);
    ml_text_free(&folded);
}

static ml_JobState how_it_ended(const Job *j, int status, bool ok)
{
    if (j->asked)
        return ML_JOB_STOPPED;
    if (WIFSIGNALED(status))
        return ML_JOB_KILLED;
    return ok ? ML_JOB_DONE : ML_JOB_FAILED;
}

static void end(Job *j, int status)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_JobEnd e = {.job = j->number,
                   .what = j->what,
                   .s = j->s,
                   .version = j->version,
                   .answer = ml_text_z(&j->in[0]),
                   .last = j->n_log ? j->log[(j->first + j->n_log - 1) % ML_JOB_LOG] : "",
                   .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    bool ok = ml_job_result(cx, &e) && WIFEXITED(status) && WEXITSTATUS(status) == 0;

    ml_loop_cancel(j->timer);
    j->timer = 0;
    j->pid = 0;
    j->seconds = ml_clock() - j->began;
    j->state = how_it_ended(j, status, ok);
    j->board.over = true;
    j->board.paused = false;
    if (j->words >= 0)
        close(j->words);
    j->words = -1;
    ml_job_apply(j->ss, &e);
    if (e.text)
        add_log(j, e.text);
    const char *said = ml_job_sentence(cx, &e, j->state);

    set_progress(j, said);
    drop_mark(j);
    const char *mark = ml_job_mark(cx, &e, j->state);

    j->mark = mark ? copy(mark) : NULL;
    announce(j, ml_format(cx, "job %d: %s", j->number, said));
    if (j->state == ML_JOB_DONE)
        j->share = 1;
    ml_text_free(&j->in[0]);
    ml_text_free(&j->in[1]);
    ml_ctx_unref(cx);
}

/* Both pipes are closed: the process is about to end, if it has not. */
static void wait_for(void *user)
{
    Job *j = user;
    int status = 0;
    pid_t got;

    j->timer = 0;
    do
        got = waitpid(j->pid, &status, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        j->timer = ml_loop_after(AGAIN, wait_for, j);
    else
        end(j, got < 0 ? 0 : status);
}

static void listen_to(Job *j, int k)
{
    char buf[8192];
    ssize_t n;

    if (j->fd[k] < 0)
        return;
    while ((n = read(j->fd[k], buf, sizeof buf)) > 0)
        ml_text_addn(&j->in[k], buf, (size_t)n);
    if (k == 1) {
        char *nl;

        while (j->in[1].n && (nl = memchr(j->in[1].p, '\n', j->in[1].n)) != NULL) {
            size_t len = (size_t)(nl - j->in[1].p) + 1;

            *nl = '\0';
            hear(j, j->in[1].p);
            j->in[1].n -= len;
            memmove(j->in[1].p, j->in[1].p + len, j->in[1].n);
        }
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        ml_loop_unwatch(j->fd[k]);
        close(j->fd[k]);
        j->fd[k] = -1;
        if (j->fd[1 - k] < 0) {
            ml_loop_cancel(j->timer);
            wait_for(j);
        }
    }
}

static void on_output(void *user)
{
    listen_to(user, 0);
}

static void on_words(void *user)
{
    listen_to(user, 1);
}

/* ---------------------------------------------------------------- starting */

/* A file without a name that holds the text, at its beginning; -1: errno. */
static int file_of(const ml_Text *t)
{
    int fd = ml_fd_above(memfd_create("job", MFD_CLOEXEC), ML_JOB_STREAMS);
    size_t at = 0;

    while (fd >= 0 && at < t->n) {
        ssize_t k = write(fd, t->p + at, t->n - at);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            close(fd);
            return -1;
        }
        at += (size_t)k;
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Above the streams of a child, which its own are put onto; closed in children. */
static bool take_above(const int raw[2], int fd[2])
{
    for (int k = 0; k < 2; k++)
        fd[k] = ml_fd_above(raw[k], ML_JOB_STREAMS);
    return fd[0] >= 0 && fd[1] >= 0;
}

static void close_both(const int fd[2])
{
    for (int k = 0; k < 2; k++)
        if (fd[k] >= 0)
            close(fd[k]);
}

/* What is said to one that has ended is no signal to us, so they are sockets. */
static bool open_words(int fd[2])
{
    int raw[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, raw) != 0)
        return false;
    if (take_above(raw, fd))
        return true;
    close_both(fd);
    return false;
}

static bool open_pipe(int fd[2])
{
    int raw[2];

    if (pipe2(raw, O_CLOEXEC) != 0)
        return false;
    if (take_above(raw, fd) && fcntl(fd[0], F_SETFL, O_NONBLOCK) == 0)
        return true;
    close_both(fd);
    return false;
}

/* 0, or an errno: the process runs and j->fd are the ends to be read. */
static int begin(Job *j, const char *program, const ml_Text *request)
{
    int in = file_of(request), out[2] = {-1, -1}, err[2] = {-1, -1}, words[2] = {-1, -1};
    int why =
        in < 0 || !open_pipe(out) || !open_pipe(err) || !open_words(words) ? errno : 0;
    const int mine[ML_JOB_STREAMS] = {in, out[1], err[1], words[1]};

    if (why == 0)
        why = ml_program_start(program, "--job", environ, mine, ML_JOB_STREAMS, &j->pid);
    for (size_t k = 0; k < ML_JOB_STREAMS; k++)
        if (mine[k] >= 0)
            close(mine[k]);
    if (why == 0) {
        j->fd[0] = out[0];
        j->fd[1] = err[0];
        j->words = words[0];
        return 0;
    }
    close_both((const int[2]){out[0], err[0]});
    if (words[0] >= 0)
        close(words[0]);
    return why;
}

static char *program_of_jobs(void)
{
    const char *given = getenv("MOONLOOP_WORKER");

    return given && *given ? copy(given) : ml_program_find();
}

/* The request for a version, whichever one the focus is at. */
static bool request_of(ml_Session *ss, const char *command, int version, ml_Text *out)
{
    ml_State here = ml_schedule_state(ss->focus);
    bool ok = here.version == version || ml_schedule_goto(ss->focus, version);

    if (!ok)
        return ml_session_schedule_error(ss, ss->focus);
    ml_job_request(ss, command, out);
    ml_schedule_restore(ss->focus, here);
    return true;
}

/* ---------------------------------------------------------------- ending */

/* It leads its group; what it started is in groups of their own and ends with it. */
static void kill_it(const Job *j, int sig)
{
    if (j->pid > 0 && kill(-j->pid, sig) != 0)
        kill(j->pid, sig);
}

static void drop(Job *j)
{
    int status;

    ml_loop_cancel(j->timer);
    for (int k = 0; k < 2; k++)
        if (j->fd[k] >= 0) {
            ml_loop_unwatch(j->fd[k]);
            close(j->fd[k]);
        }
    if (j->pid > 0) {
        kill_it(j, SIGKILL);
        while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    if (j->words >= 0)
        close(j->words);
    ml_board_free(&j->board);
    for (size_t k = 0; k < j->n_log; k++)
        ml_heap_free(j->log[(j->first + k) % ML_JOB_LOG]);
    ml_heap_free(j->what);
    ml_heap_free(j->progress);
    drop_mark(j);
    ml_text_free(&j->in[0]);
    ml_text_free(&j->in[1]);
    ml_schedule_unref(j->s);
    ml_heap_free(j);
}

/* The session ends: all at once. */
static void end_jobs(void *user, ml_Session *ss)
{
    (void)user;
    for (Job *j = ss->jobs->first, *next; j; j = next) {
        next = j->next;
        drop(j);
    }
    ml_heap_free(ss->jobs);
    ss->jobs = NULL;
}

/* ---------------------------------------------------------------- one more */

static void append(ml_Session *ss, Job *j)
{
    static const ml_Observer OBSERVER = {.name = "jobs", .on_end = end_jobs};
    Job **at;

    if (!ss->jobs)
        ss->jobs = ml_heap_zalloc(sizeof *ss->jobs);
    ml_session_observe(ss, &OBSERVER);
    for (at = &ss->jobs->first; *at; at = &(*at)->next) {
    }
    *at = j;
    j->number = ++ss->jobs->last_number;
    ss->jobs->changes++;
}

int ml_job_start(ml_Session *ss, const char *command, int version)
{
    ml_Text request = {0};
    char *program = program_of_jobs();
    Job *j;
    int why;

    if (!program)
        return ml_session_error(
            ss, ML_E_NO_WORKER,
            "the program moonloop, which runs jobs, was found neither beside this one nor "
            "in PATH; MOONLOOP_WORKER names it");
    if (!request_of(ss, command, version, &request)) {
        free(program); /* NOLINT: malloc'ed there */
        ml_text_free(&request);
        return 0;
    }
    j = ml_heap_zalloc(sizeof *j);
    *j = (Job){.ss = ss,
               .version = version,
               .state = ML_JOB_RUNNING,
               .share = (double)NAN,
               .fd = {-1, -1},
               .words = -1};
    why = request.bad ? ENOMEM : begin(j, program, &request);
    ml_text_free(&request);
    if (why != 0) {
        ml_session_error(ss, ML_E_NO_WORKER, "%s: cannot be started: %s", program,
                         strerror(why));
        free(program); /* NOLINT */
        ml_heap_free(j);
        return 0;
    }
    free(program); /* NOLINT */
    j->what = copy(command);
    j->s = ml_schedule_ref(ss->focus);
    j->began = ml_clock();
    append(ss, j);
    ml_loop_watch(j->fd[0], on_output, j);
    ml_loop_watch(j->fd[1], on_words, j);
    return j->number;
}

static void lose_patience(void *user)
{
    Job *j = user;

    j->timer = 0;
    kill_it(j, SIGKILL);
}

bool ml_job_stop(ml_Session *ss, int number)
{
    Job *j = find(ss, number);

    if (!j || is_over(j))
        return false;
    kill_it(j, j->asked ? SIGKILL : SIGINT);
    if (!j->asked)
        j->timer = ml_loop_after(PATIENCE, lose_patience, j);
    j->asked = true;
    j->state = ML_JOB_STOPPING;
    ss->jobs->changes++;
    return true;
}

bool ml_job_pause(ml_Session *ss, int number, bool on)
{
    const char *word = on ? "pause\n" : "go-on\n";
    Job *j = find(ss, number);

    if (!j || is_over(j) || j->words < 0 ||
        send(j->words, word, strlen(word), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return false;
    j->board.paused = on;
    ss->jobs->changes++;
    return true;
}

void ml_jobs_add_running(ml_Session *ss, ml_Text *out)
{
    ml_JobInfo j;

    ml_loop_poll();
    size_t n = ml_jobs_running(ss);

    if (n == 0)
        return;
    ml_text_fmt(out,
                "note: %s still running, and would end:", n == 1 ? "a job is" : "jobs are");
    for (size_t k = 0; ml_job_info(ss, k, &j); k++)
        if (j.state == ML_JOB_RUNNING || j.state == ML_JOB_STOPPING)
            ml_text_fmt(out, " %d (%s)", j.number, j.what);
}

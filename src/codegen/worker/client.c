/*
 * client - the session's side: starts workers, sends jobs, watches limits.
 *
 * A worker leads its own process group, so that a kill reaches its runner too, and dies
 * with its parent. What it writes to standard error is kept in a file without a name and
 * told when it dies. Source: interaction 9; DESIGN 4.
 */
#define _GNU_SOURCE /* NOLINT: memfd_create */
#include "moonloop/codegen/worker/job.h"
#include "moonloop/codegen/worker/program.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { SENT = 32, CHILD_FD = 3, TAIL = 400, WORDS = 64 << 10 };
#define SEND_SECONDS  20.0 /* until a worker takes a job, at most */
#define GRACE_SECONDS 5.0  /* that a worker is late with its own limits: a busy machine */
#define GREET_SECONDS 5    /* until a process says that it is a worker */

typedef struct Sent { /* a set that the worker knows */
    uint64_t id, version;
    ml_SetLife *life;
} Sent;

struct ml_Worker {
    char *program;
    uint32_t threads;
    int fd, err; /* -1: not running */
    pid_t pid;
    bool busy, answered;    /* answered: it has ever given a result */
    double deadline, limit; /* of what it does now: until the next sign of life */
    double run_limit;
    bool running;   /* it has compiled */
    bool has_frame; /* `frame` is the result, or what stands for it */
    ml_Frame frame;
    int error; /* instead of a result: errno of the socket; -1: its other end is closed */
    Sent sent[SENT]; /* the one used last is last */
    size_t n_sent;
};

/* ---------------------------------------------------------------- which program */

static char *copy(const char *z)
{
    char *s = strdup(z);

    if (s == NULL)
        ml_out_of_memory();
    return s;
}

ml_Worker *ml_worker_new(ml_Ctx *cx, const ml_WorkerOpts *opts)
{
    const char *given = opts && opts->program ? opts->program : getenv("MOONLOOP_WORKER");
    ml_Worker *w = calloc(1, sizeof *w);

    if (w == NULL)
        ml_out_of_memory();
    w->fd = w->err = -1;
    w->threads = opts ? opts->threads : 0;
    if (given && *given) {
        if (access(given, X_OK) != 0) {
            ml_fail(
                cx, ML_E_NO_WORKER,
                ML_TEXT(ml_format(cx, "%s, which is to serve as worker, cannot be run: %s",
                                  given, strerror(errno))));
            free(w);
            return NULL;
        }
        w->program = copy(given);
    }
    if (w->program == NULL)
        w->program = ml_program_find();
    if (w->program == NULL) {
        ml_fail(
            cx, ML_E_NO_WORKER,
            ML_TEXT("the program moonloop, which compiles and runs kernels, was found "
                    "neither beside this library nor in PATH; MOONLOOP_WORKER names it"));
        free(w);
        return NULL;
    }
    return w;
}

/* ---------------------------------------------------------------- starting and ending */

/* Ends the process group; the worker's status, 0 when it is not known. */
static int end_group(pid_t pid)
{
    int status = 0;

    kill(-pid, SIGKILL);
    kill(pid, SIGKILL); /* it may not lead its group yet */
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return status;
}

static void reap(ml_Worker *w)
{
    if (w->fd >= 0)
        close(w->fd);
    if (w->err >= 0)
        close(w->err);
    if (w->pid > 0)
        end_group(w->pid);
    for (size_t k = 0; k < w->n_sent; k++)
        ml_life_drop(w->sent[k].life);
    if (w->has_frame)
        ml_frame_free(&w->frame);
    w->fd = w->err = -1;
    w->pid = 0;
    w->n_sent = 0;
    w->busy = w->has_frame = false;
    w->error = 0;
}

void ml_worker_kill(ml_Worker *w)
{
    if (w)
        reap(w);
}

void ml_worker_free(ml_Worker *w)
{
    if (w == NULL)
        return;
    reap(w);
    free(w->program);
    free(w);
}

int ml_worker_pid(const ml_Worker *w)
{
    return (int)w->pid;
}

/* Read by the OpenMP runtime and OpenBLAS when they are loaded; those without a value are
 * taken away. */
enum { OWN = 11, OWN_ROOM = 64 };

static void own_environment(const ml_Worker *w, char (*room)[OWN_ROOM])
{
    static const char *const plain[] = {
        "OMP_PLACES=cores",     "OMP_PROC_BIND=close",
        "GOMP_SPINCOUNT=20000", /* about 50 us */
        "OMP_DYNAMIC=false",    "OPENBLAS_THREAD_TIMEOUT=10",
        "OMP_WAIT_POLICY=",     "GOMP_CPU_AFFINITY=",
        "KMP_AFFINITY=",        "OMP_THREAD_LIMIT="};
    ml_Target host = ml_target_host();
    uint32_t threads = w->threads ? w->threads : ml_threads(&host);
    size_t n = ML_COUNT(plain);

    _Static_assert(ML_COUNT(plain) + 2 == OWN, "each has a place");
    for (size_t k = 0; k < n; k++)
        snprintf(room[k], OWN_ROOM, "%s", plain[k]);
    snprintf(room[n], OWN_ROOM, "OMP_NUM_THREADS=%u", threads);
    snprintf(room[n + 1], OWN_ROOM, "OPENBLAS_NUM_THREADS=%u", threads);
}

static char **environment(const ml_Worker *w, char (*room)[OWN_ROOM])
{
    size_t n = 0, at = 0;
    char **env;

    own_environment(w, room);
    while (environ && environ[n])
        n++;
    env = calloc(n + OWN + 1, sizeof *env);
    if (env == NULL)
        ml_out_of_memory();
    for (size_t k = 0; k < n; k++) {
        bool ours = false;

        for (size_t j = 0; j < OWN; j++)
            ours |= strncmp(environ[k], room[j], strcspn(room[j], "=") + 1) == 0;
        if (!ours)
            env[at++] = environ[k];
    }
    for (size_t j = 0; j < OWN; j++)
        if (room[j][strlen(room[j]) - 1] != '=')
            env[at++] = room[j];
    return env;
}

static bool cannot_start(ml_Ctx *cx, const ml_Worker *w, const char *what, int error)
{
    return ml_fail(cx, ML_E_NO_WORKER,
                   ML_TEXT(ml_format(cx, "%s: %s: %s", w->program, what, strerror(error))));
}

static bool spawn(ml_Worker *w, ml_Ctx *cx, int child)
{
    char room[OWN][OWN_ROOM];
    char **env = environment(w, room);
    const int files[] = {-1, -1, w->err, [CHILD_FD] = child};
    int k = ml_program_start(w->program, "--worker", env, files, CHILD_FD + 1, &w->pid);

    free(env);
    if (k != 0) {
        w->pid = 0;
        return cannot_start(cx, w, "cannot be started", k);
    }
    return true;
}

/* Above those that the child has, so that none is overwritten there. */
static int above(int fd)
{
    return ml_fd_above(fd, CHILD_FD + 1);
}

/* A file for what it writes to standard error; a kernel cannot fill the memory with it. */
static int words_file(void)
{
    int fd = above(memfd_create("stderr", MFD_CLOEXEC | MFD_ALLOW_SEALING));

    if (fd >= 0 && (ftruncate(fd, WORDS) != 0 ||
                    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The end of what it wrote to standard error, as one line; "" when nothing. */
static const char *last_words(const ml_Worker *w, ml_Ctx *cx)
{
    char tail[TAIL + 1];
    off_t n = w->err >= 0 ? lseek(w->err, 0, SEEK_CUR) : 0; /* its own place in it */
    ssize_t got;

    if (n <= 0)
        return "";
    got = pread(w->err, tail, TAIL < n ? TAIL : (size_t)n, n > TAIL ? n - TAIL : 0);
    while (got > 0 && (unsigned char)tail[got - 1] <= 32)
        got--;
    if (got <= 0)
        return "";
    tail[got] = '\0';
    for (char *p = tail; *p; p++)
        if ((unsigned char)*p < 32)
            *p = ' ';
    return ml_format(cx, ": %s", tail);
}

/* Waits a moment for a process that has closed its socket, so that its own status is told
 * and not that of our kill. */
static int status_of(pid_t pid)
{
    siginfo_t si = {0};

    for (int k = 0; k < 200; k++) {
        if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) != 0 || si.si_pid)
            break;
        poll(NULL, 0, 1);
    }
    return end_group(pid);
}

static const char *end_text(ml_Ctx *cx, int status)
{
    if (!WIFSIGNALED(status))
        return ml_format(cx, "status %d", WEXITSTATUS(status));
    return WTERMSIG(status) == SIGKILL   ? "SIGKILL (out of memory?)"
           : WTERMSIG(status) == SIGSEGV ? "SIGSEGV"
                                         : ml_format(cx, "signal %d", WTERMSIG(status));
}

/* The worker is gone; *out says so, or the error that it never was one (false). */
static bool died(ml_Worker *w, ml_Ctx *cx, ml_JobResult *out)
{
    int status = w->pid > 0 ? status_of(w->pid) : 0;
    const char *words = last_words(w, cx), *how = end_text(cx, status);
    bool answered = w->answered;

    w->pid = 0;
    reap(w);
    if (!answered && !WIFSIGNALED(status))
        return ml_fail(cx, ML_E_NO_WORKER,
                       ML_TEXT(ml_format(cx, "%s does not serve as worker (%s)%s",
                                         w->program, how, words)));
    *out = (ml_JobResult){
        .code = ML_E_WORKER_CRASHED,
        .phase = "worker",
        .bad_arg = -1,
        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .message = ml_format(cx, "the worker process was ended by %s%s", how, words)};
    return true;
}

/* Something else than a worker of this build is at the other end. */
static bool nonsense(ml_Worker *w, ml_Ctx *cx)
{
    reap(w);
    return cannot_start(cx, w, "answers nonsense", EPROTO);
}

/* A process that is no worker, or hangs before it serves, is known before it has a job. */
static bool greeted(ml_Worker *w, ml_Ctx *cx)
{
    enum { TURN = 100, TURNS = GREET_SECONDS * 1000 / TURN }; /* milliseconds */
    struct pollfd pf = {.fd = w->fd, .events = POLLIN};
    ml_JobResult r = {0};
    ml_Frame f;
    bool ok;

    /* Turns are counted: a machine that stood still did so for both. */
    for (int turn = 0, k; (k = poll(&pf, 1, TURN)) <= 0; turn += k == 0) {
        if (!ml_poll_cancel(cx)) {
            reap(w);
            return false;
        }
        if (turn == TURNS) {
            reap(w);
            return ml_fail(cx, ML_E_NO_WORKER,
                           ML_TEXT(ml_format(cx,
                                             "%s does not serve as worker (no sign of "
                                             "life within %d s)",
                                             w->program, GREET_SECONDS)));
        }
    }
    if (!ml_frame_receive(w->fd, ml_clock() + GREET_SECONDS, &f)) {
        if (errno == EPROTO || errno == ETIMEDOUT)
            return nonsense(w, cx);
        return died(w, cx, &r) &&
               ml_fail(cx, ML_E_NO_WORKER,
                       ML_TEXT(ml_format(cx, "%s: %s", w->program, r.message)));
    }
    ok = f.kind == ML_FRAME_ALIVE;
    ml_frame_free(&f);
    return ok || nonsense(w, cx);
}

static bool start(ml_Worker *w, ml_Ctx *cx)
{
    int pair[2];
    bool ok;

    if (w->fd >= 0)
        return true;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return cannot_start(cx, w, "no socket", errno);
    w->fd = pair[0];
    pair[1] = above(pair[1]);
    w->err = words_file();
    w->answered = false;
    ok = pair[1] >= 0 ? spawn(w, cx, pair[1]) : cannot_start(cx, w, "no socket", errno);
    if (pair[1] >= 0)
        close(pair[1]);
    if (!ok)
        reap(w);
    return ok && greeted(w, cx);
}

/* ---------------------------------------------------------------- jobs */

static bool forget(ml_Worker *w, size_t at, double deadline)
{
    Sent old = w->sent[at];
    bool ok;

    memmove(&w->sent[at], &w->sent[at + 1], (--w->n_sent - at) * sizeof old);
    ok = ml_set_send_forget(w->fd, deadline, old.id);
    ml_life_drop(old.life);
    return ok;
}

/* Sets that are gone, so that the worker closes their descriptors. */
static bool forget_dead(ml_Worker *w, double deadline)
{
    for (size_t k = 0; k < w->n_sent;) {
        if (!atomic_load(&w->sent[k].life->over))
            k++;
        else if (!forget(w, k, deadline))
            return false;
    }
    return true;
}

static bool send_set(ml_Worker *w, const ml_WorkSet *s, double deadline)
{
    Sent now = {s->id, s->version, s->life};

    for (size_t k = 0; k < w->n_sent; k++)
        if (w->sent[k].id == s->id) {
            bool same = w->sent[k].version == s->version;

            memmove(&w->sent[k], &w->sent[k + 1], (w->n_sent - 1 - k) * sizeof now);
            w->sent[w->n_sent - 1] = now;
            return same || ml_set_send(w->fd, deadline, s);
        }
    if (w->n_sent == SENT && !forget(w, 0, deadline))
        return false;
    atomic_fetch_add(&s->life->refs, 1);
    w->sent[w->n_sent++] = now;
    return ml_set_send(w->fd, deadline, s);
}

static double compile_limit(const ml_Job *job)
{
    return job->compile_limit > 0 ? job->compile_limit : 30.0;
}

/* What the worker does from now on, it does within the limit, or says that it could not. */
static void expect_within(ml_Worker *w, double limit)
{
    w->limit = limit + GRACE_SECONDS;
    w->deadline = ml_clock() + w->limit;
}

/* 0, or what went wrong (errno); w is left for died or reap. */
static int send_once(ml_Worker *w, const ml_Job *job)
{
    double deadline = ml_clock() + fmin(SEND_SECONDS, compile_limit(job) + GRACE_SECONDS);
    ml_Pack p = {0};
    bool ok;

    ml_job_pack(&p, job);
    ok = forget_dead(w, deadline) &&
         (job->set == NULL || send_set(w, job->set, deadline)) &&
         ml_frame_send(w->fd, deadline, ML_FRAME_JOB, &p, NULL, 0);
    ml_pack_free(&p);
    return ok ? 0 : errno ? errno : EPIPE;
}

bool ml_worker_send(ml_Worker *w, ml_Ctx *cx, const ml_Job *job)
{
    int error;

    ML_ASSERT(!w->busy);
    if (!start(w, cx))
        return false;
    error = send_once(w, job);
    if (error && w->answered) { /* killed between two jobs: another one is started */
        reap(w);
        if (!start(w, cx))
            return false;
        error = send_once(w, job);
    }
    if (error == EPIPE || error == ECONNRESET) {
        ml_JobResult r = {0};

        if (!died(w, cx, &r))
            return false;
        return ml_fail(cx, ML_E_NO_WORKER,
                       ML_TEXT(ml_format(cx, "%s: %s", w->program, r.message)));
    }
    if (error) {
        reap(w);
        return cannot_start(cx, w, "takes no job", error);
    }
    w->run_limit = job->run_limit > 0 ? job->run_limit : 10.0;
    w->running = false;
    expect_within(w, compile_limit(job));
    w->busy = true;
    return true;
}

int ml_worker_fd(const ml_Worker *w)
{
    return w->fd;
}

bool ml_worker_busy(const ml_Worker *w)
{
    return w->busy;
}

double ml_worker_time_left(const ml_Worker *w)
{
    return w->busy ? w->deadline - ml_clock() : 0;
}

static bool timed_out(ml_Worker *w, ml_Ctx *cx, ml_JobResult *out)
{
    *out = (ml_JobResult){.code = ML_E_WORKER_TIMEOUT,
                          .phase = w->running ? "run" : "compile",
                          .bad_arg = -1,
                          .message = ml_format(cx, "no answer within %g s", w->limit)};
    reap(w);
    return true;
}

/* Reads one frame: a sign of life begins the limit of a run anew. */
static void read_frame(ml_Worker *w)
{
    errno = 0;
    if (!ml_frame_receive(w->fd, w->deadline, &w->frame)) {
        w->error = errno ? errno : -1;
    } else if (w->frame.kind == ML_FRAME_ALIVE) {
        ml_frame_free(&w->frame);
        w->running = true;
        expect_within(w, w->run_limit);
    } else {
        w->has_frame = true;
    }
}

bool ml_worker_done(ml_Worker *w)
{
    struct pollfd pf = {.fd = w->fd, .events = POLLIN};

    while (!w->has_frame && !w->error && poll(&pf, 1, 0) > 0)
        read_frame(w);
    return w->has_frame || w->error || ml_clock() > w->deadline;
}

/* Waits until the worker has something to say, looking at the cancel flag. */
static bool wait_for(ml_Worker *w, ml_Ctx *cx)
{
    while (!ml_worker_done(w)) {
        struct pollfd pf = {.fd = w->fd, .events = POLLIN};

        if (poll(&pf, 1, 100) <= 0 && !ml_poll_cancel(cx)) {
            reap(w);
            return false;
        }
    }
    return true;
}

bool ml_worker_take(ml_Worker *w, ml_Ctx *cx, ml_JobResult *out)
{
    ml_Unpack u;
    bool ok;

    ML_ASSERT(w->busy);
    *out = (ml_JobResult){.bad_arg = -1};
    if (!wait_for(w, cx))
        return false;
    if (!w->has_frame) {
        if (w->error == EPROTO)
            return nonsense(w, cx);
        return w->error && w->error != ETIMEDOUT ? died(w, cx, out) : timed_out(w, cx, out);
    }
    u = (ml_Unpack){.v = w->frame.body.v, .n = w->frame.body.n};
    ok = w->frame.kind == ML_FRAME_RESULT && ml_result_unpack(&u, cx, out);
    ml_frame_free(&w->frame);
    w->has_frame = false;
    if (!ok)
        return nonsense(w, cx);
    w->busy = false;
    w->answered = true;
    if (out->code == ML_E_WORKER_TIMEOUT && out->phase && ml_streq(out->phase, "compile"))
        reap(w); /* it is ending */
    return true;
}

/* It was killed from outside before it came to the job, though the job could still be sent:
 * a process takes its time to die. */
static bool was_killed_before(const ml_Worker *w, const ml_JobResult *r)
{
    return !r->ok && r->signal == SIGKILL && !w->running && r->phase &&
           ml_streq(r->phase, "worker");
}

bool ml_worker_run(ml_Worker *w, ml_Ctx *cx, const ml_Job *job, ml_JobResult *out)
{
    bool answered = w->answered;

    if (!ml_worker_send(w, cx, job) || !ml_worker_take(w, cx, out))
        return false;
    if (!answered || !was_killed_before(w, out))
        return true;
    return ml_worker_send(w, cx, job) && ml_worker_take(w, cx, out);
}

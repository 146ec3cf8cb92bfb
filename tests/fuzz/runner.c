/* runner - see runner.h. */
#define _GNU_SOURCE
#include "runner.h"

#include "moonloop/codegen/runtime/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { OBJECT = 4 << 20, GUARD = 16 * FZ_PAGE };

static const size_t rooms[] = {4 * FZ_PAGE, 16 * FZ_PAGE, 64 * FZ_PAGE, FZ_ROOM};

typedef struct Shared { /* the request, and the answer */
    size_t n_object;
    ml_Word words[FZ_SLOTS];
    FzAnswer answer;
    uint8_t object[OBJECT];
} Shared;

static struct Runner {
    uint8_t *slots; /* FZ_SLOTS of each room, GUARD bytes that are not there around each */
    size_t bytes;
    Shared *shared;
    ml_Codegen *ll; /* that the child links with: the one of its first request */
    pid_t child;
    int fd;
} runner = {.fd = -1};

static size_t pitch(size_t size)
{
    return rooms[size] + 2 * (size_t)GUARD;
}

static uint8_t *slot_of(size_t size, uint32_t k)
{
    uint8_t *at = runner.slots + GUARD;

    for (size_t r = 0; r < size; r++)
        at += FZ_SLOTS * pitch(r);
    return at + k * pitch(size);
}

bool fz_runner_open(void)
{
    if (runner.shared)
        return true;
    runner.bytes = 0;
    for (size_t r = 0; r < ML_COUNT(rooms); r++)
        runner.bytes += FZ_SLOTS * pitch(r);
    runner.slots = mmap(NULL, runner.bytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    runner.shared = mmap(NULL, sizeof *runner.shared, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (runner.slots == MAP_FAILED || runner.shared == MAP_FAILED)
        return false;
    for (size_t r = 0; r < ML_COUNT(rooms); r++)
        for (uint32_t k = 0; k < FZ_SLOTS; k++)
            if (mprotect(slot_of(r, k), rooms[r], PROT_READ | PROT_WRITE) != 0)
                return false;
    return true;
}

uint8_t *fz_slot(uint32_t k, size_t bytes, size_t *room)
{
    size_t r = 0;

    while (r + 1 < ML_COUNT(rooms) && rooms[r] < bytes)
        r++;
    *room = rooms[r];
    return slot_of(r, k);
}

/* The slot that holds the address, or has it beside it; NULL: none. */
static uint8_t *slot_at(uintptr_t at)
{
    for (size_t r = 0; r < ML_COUNT(rooms); r++)
        for (uint32_t k = 0; k < FZ_SLOTS; k++) {
            uint8_t *slot = slot_of(r, k);

            if (at >= (uintptr_t)slot - GUARD && at < (uintptr_t)slot + rooms[r] + GUARD)
                return slot;
        }
    return NULL;
}

static void end_child(void)
{
    if (runner.fd >= 0)
        close(runner.fd);
    if (runner.child > 0) {
        kill(runner.child, SIGKILL);
        while (waitpid(runner.child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    runner.fd = -1;
    runner.child = 0;
}

void fz_runner_close(void)
{
    end_child();
    if (runner.shared) {
        munmap(runner.slots, runner.bytes);
        munmap(runner.shared, sizeof *runner.shared);
    }
    runner = (struct Runner){.fd = -1};
}

/* ---------------------------------------------------------------- faults */

void fz_handle_faults(void (*f)(int, siginfo_t *, void *))
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static uint8_t room[64 << 10];
    struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND};
    stack_t st = {.ss_sp = room, .ss_size = sizeof room};

    sigaltstack(&st, NULL);
    sigemptyset(&sa.sa_mask);
    sa.sa_sigaction = f;
    for (size_t k = 0; k < ML_COUNT(signals); k++)
        sigaction(signals[k], &sa, NULL);
}

static uintptr_t body_at; /* of the program that runs */

static int64_t counter_of(const void *context)
{
#if defined __x86_64__
    const ucontext_t *u = context;

    return (int64_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    const ucontext_t *u = context;

    return (int64_t)u->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    FzAnswer *a = &runner.shared->answer;
    uintptr_t at = (uintptr_t)info->si_addr;

    a->said = FZ_SAID_FAULT;
    a->signal = sig;
    a->slot = slot_at(at);
    a->byte = (int64_t)at - (int64_t)(uintptr_t)a->slot;
    a->offset = counter_of(context) - (int64_t)body_at;
    (void)!write(runner.fd, "f", 1);
    _exit(111);
}

/* ---------------------------------------------------------------- the child */

static void run_request(Shared *s, ml_Ctx *cx)
{
    ml_Linked *l = ml_code_link(runner.ll, cx, s->object, s->n_object);
    void *at = l ? ml_linked_find(l, "main_call") : NULL,
         *body = l ? ml_linked_find(l, "main_body") : NULL;
    const ml_Error *e;
    ml_KernelFn *fn;

    if (at && body) {
        memcpy(&fn, &at, sizeof fn);
        body_at = (uintptr_t)body;
        alarm(FZ_SECONDS);
        s->answer.status = fn(s->words);
        alarm(0);
        s->answer.said = FZ_SAID_RAN;
    } else {
        e = ml_error(cx);
        s->answer.said = FZ_SAID_NOT_LINKED;
        snprintf(s->answer.text, sizeof s->answer.text, "%s",
                 e && e->n_facts && e->facts[0].kind == ML_FACT_TEXT ? e->facts[0].as.text
                                                                     : "?");
    }
    ml_linked_free(l);
}

__attribute__((noreturn)) static void serve(void)
{
    char c;

    setenv("OMP_WAIT_POLICY", "passive", 1); /* read when the runtime is opened */
    fz_handle_faults(on_fault);
    while (read(runner.fd, &c, 1) == 1) {
        ml_Ctx *cx = ml_ctx_new(0);
        run_request(runner.shared, cx);
        ml_ctx_unref(cx);
        if (write(runner.fd, "d", 1) != 1)
            break;
    }
    _exit(0);
}

static bool start_child(void)
{
    int fd[2];

    if (runner.child)
        return true;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        return false;
    fflush(NULL);
    runner.child = fork();
    if (runner.child == 0) {
        close(fd[0]);
        runner.fd = fd[1];
        serve();
    }
    close(fd[1]);
    runner.fd = fd[0];
    if (runner.child > 0)
        return true;
    runner.child = 0;
    end_child();
    return false;
}

void fz_runner_run(ml_Codegen *ll, const ml_Bytes *object, const FzWord *words, uint32_t n,
                   FzAnswer *out)
{
    Shared *s = runner.shared;
    char answer = 0;

    *out = (FzAnswer){.said = FZ_SAID_TOO_LARGE};
    if (object->n > OBJECT || n > FZ_SLOTS)
        return;
    s->answer = (FzAnswer){.said = FZ_SAID_NOTHING};
    s->n_object = object->n;
    memcpy(s->object, object->v, object->n);
    for (uint32_t k = 0; k < n; k++)
        memcpy(&s->words[k], &words[k], sizeof words[k]);
    if (!runner.child)
        runner.ll = ll;
    if (start_child() && (send(runner.fd, "r", 1, MSG_NOSIGNAL) != 1 ||
                          read(runner.fd, &answer, 1) != 1 || answer != 'd'))
        end_child();
    *out = s->answer;
}

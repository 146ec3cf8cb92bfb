/*
 * loop - the one poll loop of a session that prompts: keys, signals, jobs and timers.
 *
 * A callback may register and remove whatever it likes, itself included, and may wait or
 * poll again: what is being served is not served once more inside itself. So the lists only
 * grow while callbacks run, and what was removed is swept out when the outermost is back.
 * Source: interaction 4, 9.
 */
#include "repl/out/loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "moonloop/core/base/arena.h"

typedef struct Watch {
    int fd; /* -1: removed */
    ml_LoopFn *fn;
    void *user;
    bool busy; /* its function is at work */
} Watch;

typedef struct Timer {
    int number; /* 0: removed */
    int64_t due;
    ml_LoopFn *fn;
    void *user;
} Timer;

/* Descriptors and signals belong to the process, and so does what waits for them. */
static struct {
    Watch *watches;
    size_t n_watches, cap_watches;
    Timer *timers;
    size_t n_timers, cap_timers;
    struct pollfd *ask; /* for poll: the caller's two, then one per watch */
    size_t cap_ask;
    int last_timer, depth;
    unsigned round; /* polls so far: what an older one said may no longer hold */
    void (*show)(const char *text, void *user);
    void *show_user;
} loop;

int64_t ml_loop_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---------------------------------------------------------------- registering */

void ml_loop_watch(int fd, ml_LoopFn *fn, void *user)
{
    ML_ASSERT(fd >= 0);
    ml_loop_unwatch(fd);
    if (loop.n_watches == loop.cap_watches) {
        loop.cap_watches = loop.cap_watches ? 2 * loop.cap_watches : 8;
        loop.watches = ml_heap_grow(loop.watches, loop.cap_watches * sizeof(Watch));
    }
    loop.watches[loop.n_watches++] = (Watch){.fd = fd, .fn = fn, .user = user};
}

void ml_loop_unwatch(int fd)
{
    for (size_t k = 0; k < loop.n_watches; k++)
        if (loop.watches[k].fd == fd)
            loop.watches[k].fd = -1;
}

int ml_loop_after(int ms, ml_LoopFn *fn, void *user)
{
    if (loop.n_timers == loop.cap_timers) {
        loop.cap_timers = loop.cap_timers ? 2 * loop.cap_timers : 8;
        loop.timers = ml_heap_grow(loop.timers, loop.cap_timers * sizeof(Timer));
    }
    loop.last_timer = loop.last_timer == INT_MAX ? 1 : loop.last_timer + 1;
    loop.timers[loop.n_timers++] = (Timer){.number = loop.last_timer,
                                           .due = ml_loop_now() + (ms > 0 ? ms : 0),
                                           .fn = fn,
                                           .user = user};
    return loop.last_timer;
}

void ml_loop_cancel(int timer)
{
    for (size_t k = 0; timer > 0 && k < loop.n_timers; k++)
        if (loop.timers[k].number == timer)
            loop.timers[k].number = 0;
}

/* ---------------------------------------------------------------- serving */

static void sweep(void)
{
    size_t n = 0;

    if (loop.depth > 0)
        return;
    for (size_t k = 0; k < loop.n_watches; k++)
        if (loop.watches[k].fd >= 0)
            loop.watches[n++] = loop.watches[k];
    loop.n_watches = n;
    n = 0;
    for (size_t k = 0; k < loop.n_timers; k++)
        if (loop.timers[k].number)
            loop.timers[n++] = loop.timers[k];
    loop.n_timers = n;
}

/* The next to run of the first n timers: the earliest; of two of one moment the one that
 * stands first. NULL: there is none. */
static Timer *earliest(size_t n)
{
    Timer *t = NULL;

    for (size_t k = 0; k < n; k++)
        if (loop.timers[k].number && (!t || loop.timers[k].due < t->due))
            t = &loop.timers[k];
    return t;
}

/* Those that are due now; one set by another waits for the next round. */
static bool run_timers(void)
{
    int64_t now = ml_loop_now();
    size_t n = loop.n_timers;
    bool any = false;
    Timer *t;

    loop.depth++;
    while ((t = earliest(n)) != NULL && t->due <= now) {
        ml_LoopFn *fn = t->fn;
        void *user = t->user;

        t->number = 0;
        fn(user);
        any = true;
    }
    loop.depth--;
    return any;
}

/* Those of the first n watches that poll has marked; a callback that polls itself ends it,
 * for others may have been served by that. */
static bool run_watches(const struct pollfd *answer, size_t n)
{
    unsigned round = loop.round;
    bool any = false;

    loop.depth++;
    for (size_t k = 0; k < n && loop.round == round; k++) {
        /* Not if it was removed in between, or its place in the list is another's now. */
        if (!answer[k].revents || answer[k].fd < 0 || loop.watches[k].fd != answer[k].fd ||
            loop.watches[k].busy)
            continue;
        if (answer[k].revents & POLLNVAL) {
            loop.watches[k].fd = -1;
            continue;
        }
        ml_LoopFn *fn = loop.watches[k].fn;
        void *user = loop.watches[k].user;

        loop.watches[k].busy = true;
        fn(user); /* the list may be elsewhere afterwards, but no shorter */
        loop.watches[k].busy = false;
        any = true;
    }
    loop.depth--;
    return any;
}

static int until_next_timer(int ms)
{
    const Timer *t = earliest(loop.n_timers);

    if (!t)
        return ms;
    int64_t left = t->due - ml_loop_now();

    left = left < 0 ? 0 : left > INT_MAX ? INT_MAX : left;
    return ms < 0 || left < ms ? (int)left : ms;
}

bool ml_loop_wait(int key_fd, int signal_fd, int ms, bool *signalled)
{
    static const short READABLE = POLLIN | POLLHUP | POLLERR | POLLNVAL;
    int64_t end = ms < 0 ? 0 : ml_loop_now() + ms;
    bool key = false, sig = false, done = false;

    if (signalled)
        *signalled = false;
    while (!done) {
        int64_t left = ms < 0 ? -1 : end > ml_loop_now() ? end - ml_loop_now() : 0;
        size_t n;

        sweep();
        n = loop.n_watches;
        /* A nested wait has an array of its own, since the outer one is being read. */
        struct pollfd *ask = loop.depth > 0 ? NULL : loop.ask;

        if (loop.depth > 0 || loop.cap_ask < n + 2) {
            ask = ml_heap_grow(ask, (n + 2) * sizeof *ask);
            if (loop.depth == 0) {
                loop.ask = ask;
                loop.cap_ask = n + 2;
            }
        }
        ask[0] = (struct pollfd){.fd = key_fd, .events = POLLIN};
        ask[1] = (struct pollfd){.fd = signal_fd, .events = POLLIN};
        for (size_t k = 0; k < n; k++)
            ask[k + 2] = (struct pollfd){
                .fd = loop.watches[k].busy ? -1 : loop.watches[k].fd, .events = POLLIN};
        int got = poll(ask, (nfds_t)(n + 2), until_next_timer((int)left));
        bool failed = got < 0;
        unsigned round = ++loop.round;

        /* Interrupted: whether a signal has been noted down is seen without waiting. */
        if (failed && errno == EINTR)
            got = poll(ask, (nfds_t)(n + 2), 0);
        if (got >= 0) {
            key = (ask[0].revents & READABLE) != 0;
            sig = (ask[1].revents & READABLE) != 0;
        } else {
            key = key_fd >= 0; /* reading will tell */
        }
        done = failed || key || sig;
        if (got > 0)
            done |= run_watches(ask + 2, n);
        done |= run_timers();
        done |= ms >= 0 && ml_loop_now() >= end;
        if (loop.round != round) /* somebody else has waited, and maybe read */
            key = sig = false;
        if (loop.depth > 0)
            ml_heap_free(ask);
    }
    sweep();
    if (signalled)
        *signalled = sig;
    return key;
}

void ml_loop_poll(void)
{
    ml_loop_wait(-1, -1, 0, NULL);
}

/* ---------------------------------------------------------------- announcements */

void ml_loop_announce(const char *text)
{
    if (loop.show)
        loop.show(text, loop.show_user);
    else
        fprintf(stderr, "%s\n", text);
}

void ml_loop_set_announcer(void (*show)(const char *text, void *user), void *user)
{
    loop.show = show;
    loop.show_user = user;
}

bool ml_loop_has_announcer(void)
{
    return loop.show != NULL;
}

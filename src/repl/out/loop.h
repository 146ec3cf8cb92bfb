/*
 * loop - the one poll loop of a session that prompts: keys, signals, jobs and timers.
 *
 * line.c (and the visualiser) wait here; who has something else to wait for registers it.
 * Callbacks run between keys, never while a line runs; what they have to tell they hand to
 * ml_loop_announce, which the line shows above itself. One per process, used by one thread.
 * Source: interaction 4, 9.
 */
#ifndef ML_REPL_OUT_LOOP_H
#define ML_REPL_OUT_LOOP_H

#include "moonloop/core/base/base.h"

typedef void ml_LoopFn(void *user);

/* Calls fn whenever fd can be read (or is closed at the other end). A second call for the
 * same descriptor replaces the first. A descriptor that was closed without ml_loop_unwatch
 * is dropped. */
void ml_loop_watch(int fd, ml_LoopFn *fn, void *user);
void ml_loop_unwatch(int fd);
/* Calls fn once, in `ms` from now (timers of one moment in the order they were set); the
 * number, above 0, cancels it. */
int ml_loop_after(int ms, ml_LoopFn *fn, void *user);
void ml_loop_cancel(int timer);

/* Waits for key_fd (-1: none) or signal_fd (-1: none), at most `ms` (-1: for ever), and
 * serves what else is registered. true: key_fd can be read (or is closed: reading tells).
 * *signalled (may be NULL): signal_fd can. false without a signal: the time is up,
 * something else was served (look what has changed, and wait again), or a signal came in
 * between. */
bool ml_loop_wait(int key_fd, int signal_fd, int ms, bool *signalled);
/* Serves what is ready now, without waiting: between lines, and during long work. */
void ml_loop_poll(void);

/* Milliseconds of a clock that only goes forward. */
int64_t ml_loop_now(void);

/* A line for the person, now or when the line that is being shown can be redrawn. */
void ml_loop_announce(const char *text);
/* Who shows announcements; NULL: standard error. */
void ml_loop_set_announcer(void (*show)(const char *text, void *user), void *user);
bool ml_loop_has_announcer(void);

#endif

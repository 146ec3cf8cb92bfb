/*
 * The poll loop of the prompt: who is called when, and what a callback may do.
 * Source: interaction 4, 9.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "repl/out/loop.h"

typedef struct Pipe {
    int end[2];
    int calls;
    char *log; /* one letter per call, in the order of all pipes and timers */
    char letter;
    struct Pipe *other; /* to remove, or to register, in the callback */
} Pipe;

static void make(Pipe *p, char *log, char letter)
{
    *p = (Pipe){.log = log, .letter = letter};
    assert_int_equal(pipe(p->end), 0);
}

static void drop(Pipe *p)
{
    ml_loop_unwatch(p->end[0]);
    close(p->end[0]);
    if (p->end[1] >= 0)
        close(p->end[1]);
}

static void feed(Pipe *p)
{
    assert_int_equal(write(p->end[1], "x", 1), 1);
}

static void note(Pipe *p)
{
    size_t n = strlen(p->log);

    p->log[n] = p->letter;
    p->log[n + 1] = '\0';
}

static void on_pipe(void *user)
{
    Pipe *p = user;
    char c;

    p->calls++;
    note(p);
    if (read(p->end[0], &c, 1) <= 0)
        ml_loop_unwatch(p->end[0]);
}

static void on_timer(void *user)
{
    Pipe *p = user;

    p->calls++;
    note(p);
}

static void a_watched_pipe_is_served_while_keys_are_awaited(void **state)
{
    char log[16] = "";
    Pipe keys, job;
    bool signalled = true;

    make(&keys, log, 'k');
    make(&job, log, 'j');
    ml_loop_watch(job.end[0], on_pipe, &job);
    feed(&job);
    /* Something was served: the caller is back to look, without a key. */
    assert_false(ml_loop_wait(keys.end[0], -1, 1000, &signalled));
    assert_false(signalled);
    assert_int_equal(job.calls, 1);
    feed(&keys);
    feed(&job);
    assert_true(ml_loop_wait(keys.end[0], -1, 1000, &signalled));
    assert_int_equal(job.calls, 2);
    /* A key that is not read stays a key; nothing else is called again. */
    assert_true(ml_loop_wait(keys.end[0], -1, 1000, &signalled));
    assert_int_equal(job.calls, 2);
    drop(&keys);
    drop(&job);
}

static void the_end_of_a_pipe_counts_as_something_to_read(void **state)
{
    char log[16] = "";
    Pipe keys, job;

    make(&keys, log, 'k');
    make(&job, log, 'j');
    ml_loop_watch(job.end[0], on_pipe, &job);
    close(job.end[1]);
    job.end[1] = -1;
    ml_loop_poll();
    assert_int_equal(job.calls, 1);
    ml_loop_poll(); /* it removed itself */
    assert_int_equal(job.calls, 1);
    close(keys.end[1]);
    keys.end[1] = -1;
    assert_true(ml_loop_wait(keys.end[0], -1, -1, NULL));
    drop(&keys);
    drop(&job);
}

static void a_signal_is_told_apart_from_a_key(void **state)
{
    char log[16] = "";
    Pipe keys, signals;
    bool signalled = false;

    make(&keys, log, 'k');
    make(&signals, log, 's');
    feed(&signals);
    assert_false(ml_loop_wait(keys.end[0], signals.end[0], -1, &signalled));
    assert_true(signalled);
    feed(&keys);
    assert_true(ml_loop_wait(keys.end[0], signals.end[0], -1, &signalled));
    assert_true(signalled);
    drop(&keys);
    drop(&signals);
}

static void the_time_is_up_without_anything_to_serve(void **state)
{
    bool signalled = true;

    assert_false(ml_loop_wait(-1, -1, 5, &signalled));
    assert_false(signalled);
    ml_loop_poll();
}

static void timers_run_in_the_order_of_their_times(void **state)
{
    char log[16] = "";
    Pipe a = {.log = log, .letter = 'a'}, b = {.log = log, .letter = 'b'},
         c = {.log = log, .letter = 'c'}, d = {.log = log, .letter = 'd'};

    ml_loop_after(20, on_timer, &c);
    int never = ml_loop_after(15, on_timer, &d);

    ml_loop_after(0, on_timer, &a);
    ml_loop_after(0, on_timer, &b);
    ml_loop_cancel(never);
    ml_loop_cancel(0);
    ml_loop_cancel(never + 1000);
    for (int k = 0; k < 100 && c.calls == 0; k++)
        ml_loop_wait(-1, -1, 1000, NULL);
    assert_string_equal(log, "abc");
    ml_loop_poll(); /* each once */
    assert_string_equal(log, "abc");
}

static void on_again(void *user)
{
    Pipe *p = user;

    on_timer(p);
    ml_loop_after(0, on_again, p);
}

static void a_timer_that_sets_itself_again_does_not_hold_the_loop(void **state)
{
    char log[64] = "";
    Pipe p = {.log = log, .letter = 't'};
    int first = ml_loop_after(0, on_again, &p);

    ml_loop_poll();
    assert_int_equal(p.calls, 1);
    ml_loop_poll();
    assert_int_equal(p.calls, 2);
    ml_loop_cancel(first + 2);
    ml_loop_poll();
    assert_int_equal(p.calls, 2);
}

static void on_remove(void *user)
{
    Pipe *p = user;

    on_pipe(p);
    ml_loop_unwatch(p->other->end[0]);
}

static void what_a_callback_removes_is_not_called(void **state)
{
    char log[16] = "";
    Pipe a, b;

    make(&a, log, 'a');
    make(&b, log, 'b');
    a.other = &b;
    ml_loop_watch(a.end[0], on_remove, &a);
    ml_loop_watch(b.end[0], on_pipe, &b);
    feed(&a);
    feed(&b);
    ml_loop_poll();
    assert_string_equal(log, "a");
    ml_loop_watch(b.end[0], on_pipe, &b); /* its byte is still there */
    ml_loop_poll();
    assert_string_equal(log, "ab");
    drop(&a);
    drop(&b);
}

static Pipe grown[40];

static void on_grow(void *user)
{
    on_pipe(user);
    for (size_t k = 0; k < 40; k++) {
        make(&grown[k], ((Pipe *)user)->log, 'g');
        ml_loop_watch(grown[k].end[0], on_pipe, &grown[k]);
        feed(&grown[k]);
    }
}

static void a_callback_may_register_many_others(void **state)
{
    char log[64] = "";
    Pipe a;

    make(&a, log, 'a');
    ml_loop_watch(a.end[0], on_grow, &a);
    feed(&a);
    ml_loop_poll();
    assert_string_equal(log, "a");
    ml_loop_poll();
    assert_int_equal(strlen(log), 41);
    for (size_t k = 0; k < 40; k++) {
        assert_int_equal(grown[k].calls, 1);
        drop(&grown[k]);
    }
    drop(&a);
}

static void on_nested(void *user)
{
    Pipe *p = user;

    p->calls++;
    note(p);
    ml_loop_poll(); /* its own byte is not read yet: it is not called inside itself */
    char c;

    assert_int_equal(read(p->end[0], &c, 1), 1);
}

static void a_callback_that_polls_is_not_called_inside_itself(void **state)
{
    char log[16] = "";
    Pipe a, b;

    make(&a, log, 'a');
    make(&b, log, 'b');
    ml_loop_watch(a.end[0], on_nested, &a);
    ml_loop_watch(b.end[0], on_pipe, &b);
    feed(&a);
    feed(&b);
    ml_loop_poll();
    assert_int_equal(a.calls, 1);
    assert_string_equal(log, "ab");
    drop(&a);
    drop(&b);
}

static void a_descriptor_closed_under_the_loop_is_dropped(void **state)
{
    char log[16] = "";
    Pipe a;

    make(&a, log, 'a');
    ml_loop_watch(a.end[0], on_pipe, &a);
    close(a.end[0]);
    ml_loop_poll();
    assert_int_equal(a.calls, 0);
    close(a.end[1]);
    /* The number is another's now. */
    make(&a, log, 'a');
    feed(&a);
    ml_loop_poll();
    assert_int_equal(a.calls, 0);
    drop(&a);
}

static void a_second_watch_replaces_the_first(void **state)
{
    char log[16] = "";
    Pipe a, b = {.log = log, .letter = 'b'};

    make(&a, log, 'a');
    ml_loop_watch(a.end[0], on_pipe, &a);
    ml_loop_watch(a.end[0], on_timer, &b);
    feed(&a);
    ml_loop_poll();
    assert_string_equal(log, "b");
    drop(&a);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
    alarms++;
}

static void a_signal_in_between_ends_the_waiting(void **state)
{
    struct sigaction sa = {.sa_handler = on_alarm}, was;
    struct itimerval soon = {.it_value = {.tv_usec = 2000},
                             .it_interval = {.tv_usec = 2000}},
                     off = {{0}, {0}};

    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, &was);
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_false(ml_loop_wait(-1, -1, -1, NULL)); /* would wait for ever */
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &was, NULL);
    assert_true(alarms > 0);
}

static void shown(const char *text, void *user)
{
    snprintf(user, 32, "%s", text);
}

static void announcements_go_to_who_asked_for_them(void **state)
{
    char text[32] = "";

    ml_loop_set_announcer(shown, text);
    ml_loop_announce("job 1 is done");
    assert_string_equal(text, "job 1 is done");
    ml_loop_set_announcer(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watched_pipe_is_served_while_keys_are_awaited),
        cmocka_unit_test(the_end_of_a_pipe_counts_as_something_to_read),
        cmocka_unit_test(a_signal_is_told_apart_from_a_key),
        cmocka_unit_test(the_time_is_up_without_anything_to_serve),
        cmocka_unit_test(timers_run_in_the_order_of_their_times),
        cmocka_unit_test(a_timer_that_sets_itself_again_does_not_hold_the_loop),
        cmocka_unit_test(what_a_callback_removes_is_not_called),
        cmocka_unit_test(a_callback_may_register_many_others),
        cmocka_unit_test(a_callback_that_polls_is_not_called_inside_itself),
        cmocka_unit_test(a_descriptor_closed_under_the_loop_is_dropped),
        cmocka_unit_test(a_second_watch_replaces_the_first),
        cmocka_unit_test(a_signal_in_between_ends_the_waiting),
        cmocka_unit_test(announcements_go_to_who_asked_for_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

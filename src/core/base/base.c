/* base - the end of the program when an invariant of its own is broken: file, line and
 * trace are printed, the hook saves the session, the exit status is 4. The hook is the one
 * piece of global state here: an assertion has no context at hand. Source: style section 5.
 */
#include "moonloop/core/base/base.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define ML_HAVE_BACKTRACE 1
#endif
#endif

enum { EXIT_BUG = 4, TRACE_DEPTH = 48 };

static void (*_Atomic the_hook)(void);
static atomic_flag ending = ATOMIC_FLAG_INIT;

void ml_set_assert_hook(void (*fn)(void))
{
    atomic_store(&the_hook, fn);
}

/* A second failure, in the hook or in another thread, ends at once. */
static _Noreturn void end_program(void)
{
    fflush(stderr);
    if (!atomic_flag_test_and_set(&ending)) {
        void (*hook)(void) = atomic_load(&the_hook);
        if (hook)
            hook();
    }
    _Exit(EXIT_BUG);
}

_Noreturn void ml_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
#ifdef ML_HAVE_BACKTRACE
    void *frames[TRACE_DEPTH];
    fflush(stderr);
    backtrace_symbols_fd(frames, backtrace(frames, TRACE_DEPTH), 2);
#endif
    end_program();
}

_Noreturn void ml_out_of_memory(void)
{
    fputs("moonloop: out of memory\n", stderr);
    end_program();
}

double ml_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

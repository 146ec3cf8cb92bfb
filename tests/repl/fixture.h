/*
 * fixture - a session as tests of the program have it: no terminal, so many columns,
 * nothing kept. FIXTURE(test) gives a test one that is quiet, 100 columns wide and
 * schedules a matmul of 96, 64, 32; its *state is the ml_Session.
 */
#ifndef ML_TESTS_REPL_FIXTURE_H
#define ML_TESTS_REPL_FIXTURE_H

#include "repl/host/host.h"
#include "repl/house.h"
#include "repl/run/run.h"
#include "repl/session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MATMUL_LINE "s = schedule(workload.matmul(96, 64, 32))"

static inline void open_session(ml_Session *ss, int columns, ml_Mode mode)
{
    ml_house_open();
    ml_session_init(ss);
    ml_out_init(&ss->out, 0, columns, false);
    ss->host = ml_host_new(ss);
    ss->mode = mode;
}

/* Runs a line that goes well. */
static inline void run_line(ml_Session *ss, const char *line)
{
    if (!ml_run(ss, NULL, line))
        fail_msg("%s went wrong", line);
}

static inline int begin_session(void **state)
{
    ml_Session *ss = calloc(1, sizeof *ss);

    if (!ss)
        return 1;
    open_session(ss, 100, ML_MODE_QUIET);
    run_line(ss, MATMUL_LINE);
    *state = ss;
    return 0;
}

static inline int end_session(void **state)
{
    ml_session_free(*state);
    free(*state);
    return 0;
}

#define FIXTURE(test) cmocka_unit_test_setup_teardown(test, begin_session, end_session)

#endif

/*
 * json_fixture - a session under --json in a folder of its own, as tests of what is told as
 * data have it; what it prints on either stream is text. *state is the Fixture.
 */
#ifndef ML_TESTS_REPL_JSON_FIXTURE_H
#define ML_TESTS_REPL_JSON_FIXTURE_H

#include "repl/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Fixture {
    ml_Session ss;
    ml_Text out, err;
    ml_Ctx *cx;
    char folder[64];
} Fixture;

static int begin(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    ml_Session *ss = &f->ss;

    snprintf(f->folder, sizeof f->folder, "/tmp/ml-data-XXXXXX");
    if (!mkdtemp(f->folder) || chdir(f->folder) != 0)
        return 1;
    setenv("XDG_DATA_HOME", f->folder, 1);
    setenv("XDG_CACHE_HOME", f->folder, 1);
    setenv("XDG_STATE_HOME", f->folder, 1);
    open_session(ss, 80, ML_MODE_TYPED);
    ss->batch = ss->no_history = ss->private_ = true;
    ss->json = ss->out.json = true;
    ss->out.sink.out = &f->out;
    ss->out.sink.err = &f->err;
    f->cx = ml_ctx_new(0);
    *state = f;
    return 0;
}

static int end(void **state)
{
    Fixture *f = *state;
    char cmd[100];

    ml_session_free(&f->ss);
    ml_text_free(&f->out);
    ml_text_free(&f->err);
    ml_ctx_unref(f->cx);
    if (chdir("/") != 0)
        return 1;
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", f->folder);
    int rc = system(cmd);

    free(f);
    return rc;
}

#endif

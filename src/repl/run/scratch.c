/*
 * scratch - lines run as if they were typed, in a session of their own and in an empty
 * folder that is removed afterwards. Source: interaction 4 (Help), 7.
 */
#include "repl/run/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "repl/host/host.h"
#include "repl/keep/history.h"
#include "repl/out/interrupt.h"
#include "repl/run/input.h"
#include "repl/run/run.h"
#include "repl/session/safe.h"

/* ---- the folder */

static bool enter_folder(ml_Scratch *s)
{
    const char *tmp = getenv("TMPDIR");
    int n =
        snprintf(s->path, sizeof s->path, "%s/moonloop-XXXXXX", tmp && *tmp ? tmp : "/tmp");

    if (n < 0 || (size_t)n >= sizeof s->path || !mkdtemp(s->path))
        return false;
    s->back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->back >= 0 && chdir(s->path) == 0)
        return true;
    rmdir(s->path);
    if (s->back >= 0)
        close(s->back);
    return false;
}

/* What an example wrote lies in the folder itself: nothing below it is looked at. */
static void leave_folder(ml_Scratch *s)
{
    DIR *d = opendir(s->path);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL)
        if (!ml_streq(e->d_name, ".") && !ml_streq(e->d_name, ".."))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    if (fchdir(s->back) != 0)
        perror("moonloop: cannot go back to the folder it was started in");
    close(s->back);
    rmdir(s->path);
}

/* ---- the session */

static void echo(ml_Session *ss, const char *line, bool more)
{
    ml_Text t = {0};

    ml_input_prompt_text(ss, more, &t);
    ml_text_add(&t, line);
    ml_out_line(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

/* The next line of *text; false: there is none. */
static bool next_line(const char **text, ml_Text *line)
{
    size_t n = strcspn(*text, "\n");

    ml_text_clear(line);
    if (!**text)
        return false;
    ml_text_addn(line, *text, n);
    ml_text_z(line);
    *text += n + ((*text)[n] == '\n');
    return true;
}

static ml_ErrorCode run_lines(ml_Session *ss, const char *text)
{
    ml_Text line = {0}, whole = {0}, why = {0};
    ml_ErrorCode code = ML_E_OK;

    while (!ss->quit && !ml_interrupt_came() && next_line(&text, &line)) {
        if (line.n > 0) /* an empty one ends a pasted program: nothing to be seen */
            echo(ss, ml_text_z(&line), whole.n > 0);
        if (whole.n)
            ml_text_char(&whole, '\n');
        ml_text_add(&whole, ml_text_z(&line));
        if (*text && ml_wants_more(ss, ml_text_z(&whole)))
            continue;
        ml_history_add(ss->history, ml_text_z(&whole), &why);
        if (!ml_run(ss, NULL, ml_text_z(&whole)) && code == ML_E_OK)
            code = ss->last ? ml_failure_code(ss->last) : ML_E_LUA_ERROR;
        ml_text_clear(&whole);
    }
    ml_text_free(&line);
    ml_text_free(&whole);
    ml_text_free(&why);
    return code;
}

bool ml_scratch_begin(ml_Scratch *s, ml_Session *of, ml_Text *out)
{
    ml_Session *ss = &s->ss;

    if (!enter_folder(s)) {
        ml_text_add(out,
                    "an example needs a folder for its files, and none could be made\n");
        return false;
    }
    s->of = of;
    ml_session_init(ss);
    ss->out = of->out;
    ss->out.color = ss->out.err_color = ss->out.pager = ss->out.broken = false;
    ss->out.json = false;
    ss->out.folds = false;
    ss->out.height = 0; /* folded later, with what stands around it: indented by four */
    if (ss->out.width > 44)
        ss->out.width = (ss->out.width > 100 ? 100 : ss->out.width) - 4;
    ss->out.sink.out = ss->out.sink.err = out;
    ss->argv0 = of->argv0;
    ss->safe = of->safe;
    ss->reach = of->reach;
    ss->sealed = of->sealed;
    ml_safe_inherit(ss, of);
    ss->batch = ss->no_history = ss->private_ = ss->scratch = true;
    ss->mode = ML_MODE_TYPED;
    ss->history = ml_history_new();
    ss->host = ml_host_new(ss);
    s->came = ml_interrupt_came();
    ml_interrupt_note(false);
    return true;
}

void ml_scratch_end(ml_Scratch *s)
{
    if (ml_interrupt_came())
        ml_interrupt_again(); /* Ctrl-C is for both */
    ml_interrupt_note(ml_interrupt_came() || s->came);
    ml_history_free(s->ss.history);
    ml_session_free(&s->ss);
    leave_folder(s);
}

ml_ErrorCode ml_scratch_lines(ml_Scratch *s, const char *lines)
{
    return run_lines(&s->ss, lines);
}

ml_ErrorCode ml_scratch_run(ml_Session *of, const char *lines, ml_Text *out)
{
    ml_Scratch s;

    if (!ml_scratch_begin(&s, of, out))
        return ML_E_NO_FILE;
    ml_ErrorCode code = run_lines(&s.ss, lines);

    ml_scratch_end(&s);
    return code;
}

bool ml_scratch_example(ml_Session *of, const char *code, ml_Text *out)
{
    ml_Scratch s;

    if (!ml_scratch_begin(&s, of, out))
        return false;
    bool ok = ml_host_example(s.ss.host, code, out);

    ml_scratch_end(&s);
    return ok;
}

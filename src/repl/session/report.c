/*
 * report - what goes wrong in a session: told as text or data, kept for :explain, turned
 * into the exit status; and the files that it may not read or write. Source: interaction 2,
 * 7.
 */
#include <errno.h>
#include <unistd.h>

#include "moonloop/core/base/file.h"
#include "moonloop/work/fact/fact.h"
#include "repl/screen/echo.h"
#include "repl/session/session.h"

/* The exit status: 1; 3 for something absent. */
static int status_of(ml_ErrorCode code)
{
    switch ((int)code) {
    case ML_E_NO_FILE:
    case ML_E_NO_TARGET:
    case ML_E_NO_DEVICE:
    case ML_E_NO_WORKER:
    case ML_E_NOT_YET: return 3;
    case ML_E_INTERRUPTED: return 130;
    default: return 1;
    }
}

static ml_RenderLevel render_level(const ml_Session *ss)
{
    if (ml_setting_is(&ss->set, ML_SET_errors, "detail"))
        return ML_RENDER_DETAIL;
    if (ml_setting_is(&ss->set, ML_SET_errors, "fast"))
        return ML_RENDER_FAST;
    if (ml_setting_is(&ss->set, ML_SET_errors, "none"))
        return ML_RENDER_NONE;
    return ML_RENDER_BRIEF;
}

static void say_error(ml_Session *ss, ml_Failure *f, const char *at, ml_RenderLevel level)
{
    ml_Text t = {0};
    ml_RenderOpts opts = {.width = ss->out.width, .color = ss->out.err_color};

    opts.ascii = ss->out.ascii;
    opts.level = level;
    ml_failure_render(f, &t, &opts);
    if (at && *at)
        ml_text_fmt(&t, "\n%s", at);
    /* Where the cursor was the terminal shows ^C, once for each that is pressed. */
    bool below = ss->prompting && ml_failure_code(f) == ML_E_INTERRUPTED &&
                 isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    bool held = below && ml_echo_hold();

    if (below)
        ml_err(&ss->out, "\n");
    ml_err_prose(&ss->out, ml_text_z(&t));
    ml_echo_release(held);
    ml_text_free(&t);
}

static void say_error_data(ml_Session *ss, ml_Failure *f, const char *at,
                           ml_RenderLevel level)
{
    ml_Data d = {.schema = true};

    ml_data_row(&d);
    ml_data_fields(
        &d, &ml_error_fields,
        &(ml_ErrorRow){f, at, level == ML_RENDER_BRIEF || level == ML_RENDER_DETAIL});
    ml_err(&ss->out, ml_data_lines(&d));
    ml_data_free(&d);
}

void ml_session_report(ml_Session *ss, ml_Failure *f, bool owned, const char *at)
{
    ml_RenderLevel level = render_level(ss);
    int status = status_of(ml_failure_code(f));

    if (!ss->out.broken) /* else the reader is gone: the program ends, and says why once */
        (ss->json ? say_error_data : say_error)(ss, f, at, level);
    if (ss->status == 0)
        ss->status = status;
    if (ss->last != f && ss->last_owned)
        ml_failure_free(ss->last);
    ss->last = f;
    ss->last_owned = owned;
}

void ml_session_fail(ml_Session *ss, ML_TAKES ml_Failure *f)
{
    ml_session_report(ss, f, true, NULL);
}

bool ml_session_error(ml_Session *ss, ml_ErrorCode code, const char *fmt, ...)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_fail(cx, code, ML_TEXT(ml_text_z(&t)));
    ml_session_fail(ss, ml_failure_from(ml_error(cx)));
    ml_text_free(&t);
    ml_ctx_unref(cx);
    return false;
}

bool ml_session_forbids(ml_Session *ss, const char *what)
{
    if (ss->safe)
        ml_session_error(
            ss, ML_E_NOT_SUPPORTED,
            "%s: no file is written, and no command or library run, under --safe", what);
    return ss->safe;
}

bool ml_session_may_read(ml_Session *ss, const char *path)
{
    if (!ss->safe)
        return true;
    ml_Ctx *cx = ml_ctx_new(0);
    bool ok = ml_reach_allows(ss->reach, cx, path);

    if (!ok)
        ml_session_ctx_error(ss, cx);
    ml_ctx_unref(cx);
    return ok;
}

bool ml_session_ctx_error(ml_Session *ss, ml_Ctx *cx)
{
    ml_session_fail(ss, ml_failure_from(ml_error(cx)));
    return false;
}

bool ml_session_schedule_error(ml_Session *ss, ml_Schedule *s)
{
    ml_session_fail(ss, ml_failure_take(s));
    return false;
}

bool ml_session_write_error(ml_Session *ss, const char *path, int error)
{
    return ml_session_error(ss, ml_file_no_room(error) ? ML_E_NO_SPACE : ML_E_NO_FILE,
                            "cannot write %s: %s", path, strerror(error));
}

bool ml_session_write(ml_Session *ss, const char *path, const ml_Text *t)
{
    return ml_file_write(path, t->p, t->n) || ml_session_write_error(ss, path, errno);
}

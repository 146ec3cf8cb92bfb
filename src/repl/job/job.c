/* job - the two ends of what a session hands to the process of a job. Source: interaction
 * 9. */
#include "repl/job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "moonloop/core/json/data.h"
#include "moonloop/core/json/json.h"
#include "moonloop/primitives/trace.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/session/frame.h"

/* ---------------------------------------------------------------- the session's end */

void ml_job_request(ml_Session *ss, const char *command, ml_Text *out)
{
    ml_Schedule *s = ss->focus;
    const ml_ScheduleOpts *o = ml_schedule_opts(s);
    ml_Data d = {.n = 0};

    ml_data_row(&d);
    ml_data_str(&d, "command", command);
    ml_data_str(&d, "name", ml_schedule_name(s));
    ml_data_int(&d, "version", ml_schedule_version(s));
    ml_data_bool(&d, "safe", ss->safe);
    ml_data_bool(&d, "no_check", o->no_check);
    ml_data_bool(&d, "unchecked", o->unchecked);
    ml_data_object(&d, "settings");
    for (int k = 0; k < ML_SETTINGS; k++)
        ml_data_str(&d, ml_settings[k].name, ml_setting_word(&ss->set, (ml_SettingId)k));
    ml_data_end(&d);
    ml_text_add(out, ml_data_lines(&d));
    ml_saved_write(s, out);
    ml_data_free(&d);
}

/* ---------------------------------------------------------------- the job's end */

static bool read_all(ml_Text *out)
{
    char buf[8192];
    ssize_t k;

    while ((k = read(STDIN_FILENO, buf, sizeof buf)) != 0) {
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        ml_text_addn(out, buf, (size_t)k);
    }
    return true;
}

/* A longer line is none of ours. */
const char *ml_job_word(ml_JobWords *w, double seconds)
{
    struct pollfd p = {.fd = ML_JOB_WORDS, .events = POLLIN};

    w->n = w->n && w->line[w->n - 1] == '\0' ? 0 : w->n;
    while (poll(&p, 1, (int)(seconds * 1000)) == 1 && (p.revents & POLLIN)) {
        char c;

        if (read(ML_JOB_WORDS, &c, 1) != 1)
            return NULL;
        if (w->n == sizeof w->line)
            w->n = 0;
        w->line[w->n++] = c == '\n' ? '\0' : c;
        if (c == '\n')
            return w->line;
    }
    return NULL;
}

static const char *text_of(const ml_Json *j, const char *key)
{
    const ml_Json *v = ml_json_get(j, key);

    return v && v->kind == ML_JSON_STRING ? v->as.s : NULL;
}

static bool flag_of(const ml_Json *j, const char *key)
{
    const ml_Json *v = ml_json_get(j, key);

    return v && v->kind == ML_JSON_BOOL && v->as.b;
}

/* What the session's are; one that this process does not know is left alone. */
static void take_settings(ml_Session *ss, const ml_Json *set)
{
    ml_Text why = {0};

    for (uint32_t k = 0; set && set->kind == ML_JSON_OBJECT && k < set->n; k++) {
        int id = ml_setting_find(set->keys[k]);

        if (id >= 0 && set->as.list[k].kind == ML_JSON_STRING)
            ml_setting_set(&ss->set, id, set->as.list[k].as.s, &why);
    }
    ml_text_free(&why);
    ml_settings_apply(ss);
}

static void answer(ml_Session *ss, bool ok, ml_Text *text, ml_Data *rows)
{
    ml_Data d = {.n = 0};
    const char *p = ml_data_lines(rows);

    ml_data_row(&d);
    ml_data_bool(&d, "ok", ok);
    ml_data_str(&d, "text", ml_text_z(text));
    ml_data_list(&d, "rows");
    while (*p) {
        size_t n = strcspn(p, "\n");
        ml_Text one = {0};

        ml_text_addn(&one, p, n);
        ml_data_json(&d, NULL, ml_text_z(&one));
        ml_text_free(&one);
        p += n + (p[n] == '\n');
    }
    ml_data_end(&d);
    ml_out(&ss->out, ml_data_lines(&d));
    ml_data_free(&d);
}

static bool run(ml_Session *ss, const ml_Json *ask, const char *saved)
{
    const char *command = text_of(ask, "command"), *name = text_of(ask, "name");
    const ml_Json *version = ml_json_get(ask, "version");
    ml_Text text = {0};
    ml_Data rows = {.n = 0};
    bool ok;

    if (!command || !name)
        return ml_session_error(ss, ML_E_BAD_FILE, "a job needs a command and a name");
    ss->safe = flag_of(ask, "safe");
    ss->host = ml_host_new(ss);
    take_settings(ss, ml_json_get(ask, "settings"));
    ss->sealed = ss->safe;
    ss->mode = ML_MODE_QUIET;
    ss->job = true;
    ss->job_version = version && version->kind == ML_JSON_INT ? (int)version->as.i : 0;
    ok = ml_host_open_saved(ss->host, saved, name, flag_of(ask, "no_check"),
                            flag_of(ask, "unchecked"));
    if (ok) {
        ml_RunFrame f;

        ml_frame_push(ss, &f, &(ml_RunOpts){.sink.out = &text});
        ok = ml_command_words(ss, command, NULL, 0, &rows);
        ml_frame_pop(ss, &f);
        answer(ss, ok, &text, &rows);
    }
    ml_text_free(&text);
    ml_data_free(&rows);
    return ok;
}

int ml_job_serve(ml_Session *ss)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text in = {0};
    ml_JsonError why = {0};
    const ml_Json *ask = NULL;
    size_t n = 0;

    (void)fcntl(ML_JOB_WORDS, F_SETFD, FD_CLOEXEC); /* not for its workers */
    if (read_all(&in) && in.n > 0) {
        n = strcspn(ml_text_z(&in), "\n");
        ask = ml_json_read(cx, (ml_Str){in.p, n}, &why);
    }
    if (!ask || ask->kind != ML_JSON_OBJECT)
        ml_session_error(ss, ML_E_BAD_FILE, "this is started by a session for its jobs%s%s",
                         why.what ? ": " : "", why.what ? why.what : "");
    else if (!run(ss, ask, in.p + n + (in.p[n] == '\n')) && ss->status == 0)
        ss->status = 1;
    ml_text_free(&in);
    ml_ctx_unref(cx);
    return ss->status;
}

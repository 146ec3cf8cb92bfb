/* job_result - what the process of a job said, understood. Source: interaction 9. */
#include "repl/job/job_result.h"

#include <math.h>
#include <stdio.h>

#include "moonloop/core/json/json.h"
#include "moonloop/work/say.h"
#include "moonloop/work/timing.h"
#include "repl/host/host.h"
#include "repl/session/profiles.h"

static const char *text_at(const ml_Json *j, const char *key)
{
    const ml_Json *v = j && j->kind == ML_JSON_OBJECT ? ml_json_get(j, key) : NULL;

    return v && v->kind == ML_JSON_STRING ? v->as.s : NULL;
}

static double number_at(const ml_Json *j, const char *key)
{
    const ml_Json *v = j && j->kind == ML_JSON_OBJECT ? ml_json_get(j, key) : NULL;

    return !v                         ? (double)NAN
           : v->kind == ML_JSON_INT   ? (double)v->as.i
           : v->kind == ML_JSON_FLOAT ? v->as.f
                                      : (double)NAN;
}

static bool flag_at(const ml_Json *j, const char *key)
{
    const ml_Json *v = j && j->kind == ML_JSON_OBJECT ? ml_json_get(j, key) : NULL;

    return v && v->kind == ML_JSON_BOOL && v->as.b;
}

/* ---------------------------------------------------------------- on the way */

ml_Heard ml_job_hear(ml_Ctx *cx, const char *line)
{
    ml_JsonError why = {0};
    const ml_Json *j = ml_json_read(cx, ml_str(line), &why);
    ml_Heard h = {.share = (double)NAN};
    const char *z;

    if (!j || j->kind != ML_JSON_OBJECT) { /* a library's own words, a crash */
        h.log = line;
        return h;
    }
    h.board = ml_json_get(j, "board");
    if (text_at(j, "progress")) {
        double share = number_at(j, "share"), seconds = number_at(j, "elapsed");
        ml_Text t = {0};

        if (share >= 0 && share <= 1) {
            h.share = share;
            ml_text_fmt(&t, "%.0f %%", floor(100 * share));
        } else if (!isnan(seconds))
            ml_text_fmt(&t, "%.0fs", seconds);
        if ((z = text_at(j, "text")) != NULL)
            ml_text_fmt(&t, "%s%s", t.n ? "   " : "", z);
        h.progress = ml_strdup(cx, ml_str(ml_text_z(&t)));
        ml_text_free(&t);
    } else if ((z = text_at(j, "code")) != NULL) {
        h.log = ml_format(cx, "error: %s [%s]",
                          text_at(j, "message") ? text_at(j, "message") : "", z);
    } else if ((z = text_at(j, "warning")) != NULL)
        h.log = ml_format(cx, "warning: %s", z);
    else if ((z = text_at(j, "note")) != NULL)
        h.log = z;
    return h; /* what it says of its focus is known here */
}

/* ---------------------------------------------------------------- at the end */

bool ml_job_result(ml_Ctx *cx, ml_JobEnd *e)
{
    ml_JsonError why = {0};
    const ml_Json *j = ml_json_read(cx, ml_str(e->answer), &why), *rows;

    e->text = j ? text_at(j, "text") : NULL;
    e->row = NULL;
    if (!e->text)
        return false;
    rows = ml_json_get(j, "rows");
    if (rows && rows->kind == ML_JSON_LIST && rows->n > 0)
        e->row = &rows->as.list[0];
    return flag_at(j, "ok");
}

static bool is_command(const ml_JobEnd *e, const char *name)
{
    size_t n = strlen(name);

    return strncmp(e->what, name, n) == 0 && (e->what[n] == '\0' || e->what[n] == ' ');
}

void ml_job_apply(ml_Session *ss, const ml_JobEnd *e)
{
    const char *speed = text_at(e->row, "speed"), *verdict = text_at(e->row, "verdict");
    double seconds = number_at(e->row, "median");

    if (!ml_version_known(e->s, e->version))
        return; /* the undo limit has dropped it */
    if (is_command(e, "time") && speed) {
        ml_schedule_set_speed(e->s, e->version, speed);
        /* Other sizes and cold caches are another question. */
        if (ml_streq(e->what, "time") && seconds > 0)
            ml_timing_remember(ml_host_engine(ss->host), e->s, e->version, seconds,
                               number_at(e->row, "spread"));
    }
    if (ml_streq(e->what, "profile"))
        ml_profiles_keep_job(ss, e->s, e->version, e->row);
    if (is_command(e, "check") && verdict)
        ml_schedule_set_check(e->s, e->version, verdict);
}

/* The first line, its columns drawn together. */
static void add_first_line(const char *z, ml_Text *t)
{
    for (; *z && *z != '\n'; z++)
        if (*z != ' ' || (z[1] != ' ' && z[1] != '\n' && z[1] != '\0'))
            ml_text_char(t, *z);
}

static void add_outcome(ml_Ctx *cx, const ml_JobEnd *e, ml_JobState state, ml_Text *t)
{
    double median = number_at(e->row, "median");
    const char *speed = text_at(e->row, "speed");
    ml_SpeedKind kind;

    if (is_command(e, "time") && median > 0) {
        ml_text_seconds(t, median);
        if (ml_speed_read(speed, &kind) > 0 && kind != ML_SPEED_TIME)
            ml_text_fmt(t, ", %s", speed);
        else
            ml_text_noise(t, number_at(e->row, "spread"));
    } else if (is_command(e, "tune") && !isnan(number_at(e->row, "done"))) {
        double best = number_at(e->row, "flop_rate");
        double record = number_at(e->row, "best_record");
        double bytes = number_at(e->row, "byte_rate");
        double seen = number_at(e->row, "searched_flop_rate");

        ml_text_trials(t, (int64_t)number_at(e->row, "done"),
                       (int64_t)number_at(e->row, "total"));
        if (flag_at(e->row, "exhausted"))
            ml_text_add(t, " (the design space has no further program)");
        if (bytes > 0)
            ml_text_fmt(t, ", best %.1f GB/s", bytes * 1e-9);
        else if (!isnan(best))
            ml_text_fmt(t, ", best %.1f GFLOP/s", best * 1e-9);
        if (number_at(e->row, "final_of") > 0)
            ml_text_fmt(t, ", first of %.0f measured by turns",
                        number_at(e->row, "final_of"));
        if (!isnan(seen) && !isnan(best))
            ml_text_fmt(t, " (a single measurement before: %.1f)",
                        seen * 1e-9 * (bytes > 0 ? bytes / best : 1));
        if (!isnan(record))
            ml_text_fmt(t, ", record %.0f; :adopt makes it a branch", record);
    } else if (e->text && *e->text) {
        add_first_line(e->text, t);
    } else if (state == ML_JOB_KILLED) {
        ml_text_fmt(t, "ended by %s%s",
                    e->signal == 9    ? "SIGKILL (out of memory?)"
                    : e->signal == 11 ? "SIGSEGV"
                                      : ml_format(cx, "signal %d", e->signal),
                    *e->last ? ml_format(cx, ": %s", e->last) : "");
    } else if (*e->last && state == ML_JOB_FAILED)
        ml_text_add(t, e->last);
}

const char *ml_job_sentence(ml_Ctx *cx, const ml_JobEnd *e, ml_JobState state)
{
    ml_Text t = {0}, out = {0};
    const char *z;

    ml_text_fmt(&t, "%.*s of %s", (int)strcspn(e->what, " "), e->what,
                ml_schedule_name(e->s));
    if (!is_command(e, "tune"))
        ml_text_fmt(&t, " v%d", e->version);
    if (state != ML_JOB_DONE)
        ml_text_fmt(&t, " %s", ml_job_state_name(state));
    add_outcome(cx, e, state, &out);
    if (out.n)
        ml_text_fmt(&t, ": %s", ml_text_z(&out));
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    ml_text_free(&out);
    return z;
}

const char *ml_job_mark(ml_Ctx *cx, const ml_JobEnd *e, ml_JobState state)
{
    const char *command = ml_strdup(cx, (ml_Str){e->what, strcspn(e->what, " ")});
    const char *name = ml_schedule_name(e->s);
    double best = number_at(e->row, "flop_rate");

    if (state == ML_JOB_FAILED || state == ML_JOB_KILLED)
        return is_command(e, "tune")
                   ? ml_format(cx, "tune of %s failed", name)
                   : ml_format(cx, "%s of %s v%d failed", command, name, e->version);
    if (!is_command(e, "tune"))
        return NULL;
    if (isnan(number_at(e->row, "best_record")))
        return ml_format(cx, "tune of %s ended without a record", name);
    return ml_format(cx, "tune of %s ended%s; :adopt takes it", name,
                     isnan(best) ? "" : ml_format(cx, ", best %.1f GFLOP/s", best * 1e-9));
}

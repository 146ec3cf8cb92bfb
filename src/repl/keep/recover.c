/*
 * recover - what sessions that did not end well had done, brought back (recover.h).
 *
 * The file is read line by line, each checked by its sum; where a line is damaged or does
 * not apply, reading stops, and what stands before it is there. A file that came back whole
 * goes as soon as this session's own autosave holds it all. Source: interaction 6.
 */
#include "repl/keep/recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "moonloop/core/base/file.h"
#include "moonloop/core/json/json.h"
#include "moonloop/primitives/trace/journal.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/keep/autosave.h"
#include "repl/keep/record.h"
#include "repl/keep/registered.h"
#include "repl/keep/sessions.h"

enum { FILE_LIMIT = 512 << 20 };

typedef struct Back { /* a schedule that was brought back */
    int64_t id;
    ml_Schedule *s;
    ml_Rebuild *b;
} Back;

typedef struct Recovery {
    ml_Session *ss;
    ml_Ctx *cx; /* of what was read; instructions point into it */
    ML_VEC(Back) back;
    ML_VEC(ml_Line) lines; /* that could be undone */
    int64_t focus, number; /* number: of the last line that was typed */
    const char *typed;
    ml_Settings set;
    bool has_set;
    ml_Text why; /* what is wrong with the line */
} Recovery;

static bool bad(Recovery *r, const char *what)
{
    if (!r->why.n)
        ml_text_add(&r->why, what);
    return false;
}

/* ---- one line of the file */

static Back *find(Recovery *r, const ml_Json *id)
{
    int64_t n;

    for (size_t k = 0; ml_json_whole(id, 1, INT64_MAX, &n) && k < r->back.n; k++)
        if (r->back.v[k].id == n)
            return &r->back.v[k];
    return NULL;
}

static bool start(Recovery *r, const ml_Json *j, const ml_Json *id)
{
    const ml_Json *target = ml_json_get(j, "target"), *check = ml_json_get(j, "check");
    ml_HostStart from = {.program = ml_json_text(ml_json_get(j, "program")),
                         .func = ml_json_text(ml_json_get(j, "func")),
                         .name = ml_json_text(ml_json_get(j, "name")),
                         .check = !check || check->kind != ML_JSON_BOOL || check->as.b};
    Back one = {0};

    if (!from.program || find(r, id) || !ml_json_whole(id, 1, INT64_MAX, &one.id))
        return bad(r, "a schedule without a program");
    if (target && target->kind != ML_JSON_NULL)
        from.target = ml_json_to_value(r->cx, target);
    one.s = ml_host_start(r->ss->host, &from, &r->why);
    if (!one.s)
        return false;
    ml_schedule_set_undo_limit(one.s, 0); /* all versions are to be there meanwhile */
    one.b = ml_rebuild_new(one.s);
    ml_push(r->cx, &r->back, one);
    return true;
}

static bool take_schedules(Recovery *r, const ml_Json *list)
{
    if (!list || list->kind != ML_JSON_LIST)
        return bad(r, "no list of schedules");
    for (uint32_t k = 0; k < list->n; k++) {
        const ml_Json *one = &list->as.list[k], *id = ml_json_get(one, "id"),
                      *from = ml_json_get(one, "start"), *news = ml_json_get(one, "news");

        if (one->kind != ML_JSON_OBJECT || (from && !start(r, from, id)))
            return bad(r, "no schedule");
        Back *b = find(r, id);

        if (!b || !news || news->kind != ML_JSON_OBJECT)
            return bad(r, "steps of a schedule that has no start");
        if (!ml_rebuild_add(b->b, news, &r->why))
            return false;
    }
    return true;
}

static void take_settings(Recovery *r, const ml_Json *set)
{
    ml_Text why = {0};

    for (uint32_t k = 0; set && set->kind == ML_JSON_OBJECT && k < set->n; k++) {
        int id = ml_setting_find(set->keys[k]);
        const char *z = ml_json_text(&set->as.list[k]);

        if (id >= 0 && z)
            r->has_set |= ml_setting_set(&r->set, id, z, &why);
    }
    ml_text_free(&why);
}

static void take_line(Recovery *r, const ml_Json *j)
{
    ml_Line l = {0};
    Back *b = j && j->kind == ML_JSON_LIST && j->n == 3 ? find(r, &j->as.list[0]) : NULL;

    if (!b || !ml_rebuild_state(b->b, &j->as.list[1], &l.before) ||
        !ml_rebuild_state(b->b, &j->as.list[2], &l.after))
        return;
    l.s = b->s;
    for (size_t k = 0; k < r->lines.n; k++) /* after an :undo it is written again */
        if (r->lines.v[k].s == l.s && r->lines.v[k].after.version == l.after.version)
            return;
    ml_push(r->cx, &r->lines, l);
}

static bool take(Recovery *r, const char *p, size_t n)
{
    char sum[9] = {0}, *end;
    ml_JsonError e = {0};

    if (n < 10 || p[8] != ' ')
        return bad(r, "it does not begin with a sum");
    memcpy(sum, p, 8);
    if (strtoul(sum, &end, 16) != ml_sessions_sum(p + 9, n - 9) || *end)
        return bad(r, "its sum does not fit: bytes of it were changed or lost");
    const ml_Json *j = ml_json_read(r->cx, (ml_Str){p + 9, n - 9}, &e);

    if (!j || j->kind != ML_JSON_OBJECT)
        return bad(r, j ? "it is no object" : e.what);
    if (!ml_registered_add(ml_host_intrins(r->ss->host), ml_json_get(j, "registered"),
                           &r->why) ||
        !take_schedules(r, ml_json_get(j, "schedules")))
        return false;
    take_settings(r, ml_json_get(j, "set"));
    take_line(r, ml_json_get(j, "line"));
    ml_json_whole(ml_json_get(j, "focus"), 1, INT64_MAX, &r->focus);
    if (ml_json_whole(ml_json_get(j, "number"), 1, INT64_MAX, &r->number))
        r->typed = ml_json_text(ml_json_get(j, "text"));
    return true;
}

/* ---- the file */

/* Reads what can be read; false: *line is where it stopped. */
static bool replay(Recovery *r, const ml_Text *text, size_t *line)
{
    size_t at = strlen(ML_SAVE_HEAD);

    *line = 1;
    if (text->n < at || memcmp(text->p, ML_SAVE_HEAD, at) != 0)
        return bad(r, memchr(text->n ? text->p : "", '\0', text->n)
                          ? "this is a binary file, no autosave"
                          : "this is no autosave: the first line is another one");
    while (at < text->n) {
        const char *p = text->p + at, *end = memchr(p, '\n', text->n - at);

        ++*line;
        if (!end)
            return bad(r, "it was cut off");
        if (!take(r, p, (size_t)(end - p)))
            return false;
        at = (size_t)(end - text->p) + 1;
    }
    return true;
}

/* Whether the version is the state's own or one it goes back to. */
static bool leads_to(ml_Schedule *s, int version)
{
    ml_Step step;

    for (int v = ml_schedule_version(s); v >= 0; v = step.parent) {
        if (v == version)
            return true;
        if (!ml_version_step(s, v, &step))
            return false;
    }
    return false;
}

/* Settings, undo groups, focus: of what was read. */
static void settle(Recovery *r)
{
    ml_Session *ss = r->ss;
    static const ml_SettingId OURS[] = {ML_SET_color, ML_SET_width, ML_SET_pager};

    for (size_t k = 0; k < r->lines.n; k++)
        if (leads_to(r->lines.v[k].s, r->lines.v[k].after.version))
            ml_session_push_line(ss, r->lines.v[k]);
    if (r->has_set) {
        for (size_t k = 0; k < ML_COUNT(OURS); k++) /* of this terminal */
            memcpy(r->set.value[OURS[k]], ss->set.value[OURS[k]], sizeof ss->set.value[0]);
        ss->set = r->set;
        ml_settings_apply(ss);
    }
    for (size_t k = 0; k < r->back.n; k++)
        if (r->back.v[k].id == r->focus || r->focus == 0)
            ml_session_focus(ss, r->back.v[k].s);
}

static void say_back(Recovery *r, const char *more)
{
    ml_Text t = {0};
    ml_Schedule *s = r->ss->focus;

    for (size_t k = 0; k < r->back.n; k++) {
        int n = ml_schedule_n_versions(r->back.v[k].s) - 1;

        ml_text_fmt(&t, "%s%d step%s of %s", k ? ", " : "brought back ", n,
                    n == 1 ? "" : "s", ml_schedule_name(r->back.v[k].s));
    }
    if (r->back.n == 0)
        ml_text_add(&t, "nothing could be brought back");
    else
        ml_text_fmt(&t,
                    "; %s is at v%d, hash %08llx. Variables of Lua are not: s = focus()",
                    ml_schedule_name(s), ml_schedule_version(s),
                    (unsigned long long)(ml_schedule_hash(s) >> 32));
    ml_out_say(&r->ss->out, "%s%s", ml_text_z(&t), more);
    ml_text_free(&t);
}

/* The file is damaged: it is not announced again, but kept. */
static void put_aside(ml_Session *ss, const char *path)
{
    ml_Text aside = {0};

    ml_text_fmt(&aside, "%s.damaged", path);
    if (rename(path, ml_text_z(&aside)) == 0)
        ml_err_say(&ss->out, "note: the damaged file is kept as %s", ml_text_z(&aside));
    else
        ml_err_say(&ss->out, "note: the damaged file stays: %s", strerror(errno));
    ml_text_free(&aside);
}

/* What was read of the file is in the session from now on. */
static bool finish(Recovery *r, const char *path, bool ours, size_t bad_line)
{
    ml_Session *ss = r->ss;
    ml_Schedule *was = ss->focus;
    ml_Text more = {0};

    settle(r);
    if (r->back.n == 0)
        ml_session_focus(ss, was);
    ml_autosave_line(ss);
    bool safe = ml_autosave_holds_all(ss);

    if (r->back.n)
        ml_record_spoil(ss, "what :recover brought back was not typed here");
    if (bad_line) {
        ml_session_error(ss, ML_E_BAD_FILE, "%s, line %zu: %s", path, bad_line,
                         ml_text_z(&r->why));
        ml_text_add(&more, "; what stands before the damage is there");
        if (r->typed)
            ml_text_fmt(&more, ", up to line %d of the session: %.*s", (int)r->number,
                        (int)strcspn(r->typed, "\n"), r->typed);
    } else if (!safe)
        ml_text_add(&more, "; its file stays: this session keeps no autosave");
    else if (ours && unlink(path) != 0)
        ml_text_fmt(&more, "; its file stays: %s", strerror(errno));
    if (r->back.n || !bad_line)
        say_back(r, ml_text_z(&more));
    if (bad_line && ours)
        put_aside(ss, path);
    ml_text_free(&more);
    return !bad_line;
}

bool ml_recover(ml_Session *ss, const char *path, bool ours)
{
    int fd = ml_orphan_claim(path), error = fd < 0 ? errno : 0;
    Recovery r = {.ss = ss, .set = ss->set};
    ml_Text text = {0};
    struct stat st;
    size_t line = 0;

    if (error == EWOULDBLOCK)
        return ml_session_error(ss, ML_E_NO_FILE,
                                "another session is at work on %s: nothing is lost", path);
    if (!error && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
        error = EINVAL;
    else if (!error && st.st_size > FILE_LIMIT)
        error = EFBIG;
    else if (!error && !ml_file_read(path, &text))
        error = errno;
    bool ok = false;

    if (error)
        ml_session_error(ss, ML_E_NO_FILE, "cannot read %s: %s", path, strerror(error));
    else {
        r.cx = ml_ctx_new(0);
        ok = replay(&r, &text, &line);
        ok = finish(&r, path, ours, ok ? 0 : line);
        for (size_t k = 0; k < r.back.n; k++)
            ml_rebuild_free(r.back.v[k].b);
        ml_ctx_unref(r.cx);
    }
    if (fd >= 0)
        close(fd);
    ml_text_free(&text);
    ml_text_free(&r.why);
    return ok;
}

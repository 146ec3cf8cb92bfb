/*
 * recover - :recover: what sessions that did not end well had done, brought back.
 *
 * The file is read line by line, each checked by its sum; where a line is damaged or does
 * not apply, reading stops, and what stands before it is there. A file that came back whole
 * goes as soon as this session's own autosave holds it all. Source: interaction 6.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/json/json.h"
#include "primitives/trace/journal.h"
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
    int64_t focus;
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

static const char *text_field(const ml_Json *j, const char *key)
{
    const ml_Json *f = ml_json_get(j, key);

    return f && f->kind == ML_JSON_STRING && strlen(f->as.s) == f->n ? f->as.s : NULL;
}

static Back *find(Recovery *r, const ml_Json *id)
{
    for (size_t k = 0; id && id->kind == ML_JSON_INT && k < r->back.n; k++)
        if (r->back.v[k].id == id->as.i)
            return &r->back.v[k];
    return NULL;
}

static bool start(Recovery *r, const ml_Json *j, const ml_Json *id)
{
    const ml_Json *target = ml_json_get(j, "target"), *check = ml_json_get(j, "check");
    ml_HostStart from = {.program = text_field(j, "program"),
                         .func = text_field(j, "func"),
                         .name = text_field(j, "name"),
                         .check = !check || check->kind != ML_JSON_BOOL || check->as.b};
    Back one = {0};

    if (!from.program || !id || id->kind != ML_JSON_INT || find(r, id))
        return bad(r, "a schedule without a program");
    if (target && target->kind != ML_JSON_NULL)
        from.target = ml_json_to_value(r->cx, target);
    one.id = id->as.i;
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
        Back *b;

        if (one->kind != ML_JSON_OBJECT || (from && !start(r, from, id)))
            return bad(r, "no schedule");
        b = find(r, id);
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
        const char *z = text_field(set, set->keys[k]);

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
    const ml_Json *j, *focus;

    if (n < 10 || p[8] != ' ')
        return bad(r, "it does not begin with a sum");
    memcpy(sum, p, 8);
    if (strtoul(sum, &end, 16) != ml_sessions_sum(p + 9, n - 9) || *end)
        return bad(r, "its sum does not fit: bytes of it were changed or lost");
    j = ml_json_read(r->cx, (ml_Str){p + 9, n - 9}, &e);
    if (!j || j->kind != ML_JSON_OBJECT)
        return bad(r, j ? "it is no object" : e.what);
    if (!ml_registered_add(ml_host_intrins(r->ss->host), ml_json_get(j, "registered"),
                           &r->why))
        return false;
    if (!take_schedules(r, ml_json_get(j, "schedules")))
        return false;
    take_settings(r, ml_json_get(j, "set"));
    take_line(r, ml_json_get(j, "line"));
    focus = ml_json_get(j, "focus");
    if (focus && focus->kind == ML_JSON_INT)
        r->focus = focus->as.i;
    return true;
}

/* ---- the file */

static bool read_file(int fd, ml_Text *out)
{
    struct stat st;
    char buf[65536];
    ssize_t k;

    if (fstat(fd, &st) != 0)
        return false;
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_LIMIT) {
        errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
        return false;
    }
    while ((k = read(fd, buf, sizeof buf)) != 0) {
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        ml_text_addn(out, buf, (size_t)k);
    }
    return !out->bad;
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

    for (size_t k = 0; k < r->lines.n; k++) {
        ml_Line *l = &r->lines.v[k];

        if (leads_to(l->s, l->after.version))
            ml_session_push_line(ss, *l);
    }
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
    ml_text_add(&t, more);
    ml_out_prose(&r->ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

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

static bool bring_back(ml_Session *ss, const char *path, bool in_folder)
{
    int fd = ml_orphan_claim(path);
    Recovery r = {.ss = ss, .set = ss->set};
    ml_Text text = {0}, aside = {0};
    ml_Schedule *was = ss->focus;
    size_t line = 0;
    bool whole;

    if (fd < 0 && errno == EWOULDBLOCK)
        return ml_session_error(ss, ML_E_NO_FILE,
                                "another session is at work on %s: nothing is lost", path);
    if (fd < 0 || !read_file(fd, &text)) {
        int error = errno;

        if (fd >= 0)
            close(fd);
        ml_text_free(&text);
        return ml_session_error(ss, ML_E_NO_FILE, "cannot read %s: %s", path,
                                strerror(error));
    }
    r.cx = ml_ctx_new(0);
    whole = replay(&r, &text, &line);
    settle(&r);
    if (r.back.n == 0)
        ml_session_focus(ss, was);
    ml_autosave_line(ss);
    bool safe = whole && ml_autosave_holds_all(ss);

    if (!whole) {
        ml_session_error(ss, ML_E_BAD_FILE, "%s, line %zu: %s", path, line,
                         ml_text_z(&r.why));
        if (in_folder) { /* it is not announced again, but kept */
            ml_text_fmt(&aside, "%s.damaged", path);
            if (rename(path, ml_text_z(&aside)) != 0)
                ml_text_clear(&aside);
        }
    } else if (safe && in_folder)
        unlink(path);
    if (r.back.n)
        ml_record_spoil(ss, "what :recover brought back was not typed here");
    if (r.back.n || whole)
        say_back(&r, !whole ? "; what stands before the damage is there"
                     : safe ? ""
                            : "; its file stays: this session keeps no autosave");
    if (aside.n) {
        ml_Text t = {0};

        ml_text_fmt(&t, "note: the damaged file is kept as %s", ml_text_z(&aside));
        ml_err_prose(&ss->out, ml_text_z(&t));
        ml_text_free(&t);
    }
    for (size_t k = 0; k < r.back.n; k++)
        ml_rebuild_free(r.back.v[k].b);
    ml_ctx_unref(r.cx);
    close(fd);
    ml_text_free(&text);
    ml_text_free(&aside);
    ml_text_free(&r.why);
    return whole;
}

bool ml_recover(ml_Session *ss, const char *path)
{
    return bring_back(ss, path, true);
}

/* ---- the command */

static void list(ml_Session *ss, const ml_Orphans *o)
{
    ml_Text t = {0};

    for (size_t k = 0; k < o->n; k++) {
        ml_text_fmt(&t, "%zu  ", k + 1);
        ml_orphan_when(&o->v[k], &t);
        if (o->v[k].name[0])
            ml_text_fmt(&t, "  %ld step%s of %s", o->v[k].steps,
                        o->v[k].steps == 1 ? "" : "s", o->v[k].name);
        else
            ml_text_add(&t, "  damaged at its end");
        ml_text_fmt(&t, "  %ld kB%s\n", (long)((o->v[k].size + 1023) / 1024),
                    o->v[k].ended ? "  left with :quit" : "");
    }
    ml_text_add(&t, ":recover NUMBER brings one back, :recover drop NUMBER|all forgets");
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

/* 1..n, or 0. */
static size_t number_of(const char *z, size_t n)
{
    char *end;
    unsigned long k = strtoul(z, &end, 10);

    return end != z && !*end && k >= 1 && k <= n ? (size_t)k : 0;
}

static bool drop(ml_Session *ss, const ml_Orphans *o, const char *which)
{
    size_t one = number_of(which, o->n), n = 0;
    ml_Text t = {0};

    if (!one && !ml_streq(which, "all"))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":recover drop NUMBER|all, where :recover list has the "
                                "numbers; not %s",
                                which);
    for (size_t k = 0; k < o->n; k++)
        if ((!one || k + 1 == one) && unlink(o->v[k].path) == 0)
            n++;
    ml_text_fmt(&t, "%zu session%s forgotten", n, n == 1 ? "" : "s");
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

/* What :recover alone means: the only one, or the only one that its user did not leave. */
static size_t only_one(const ml_Orphans *o, size_t n_lost)
{
    for (size_t k = 0; k < o->n; k++)
        if ((n_lost == 1 && !o->v[k].ended) || o->n == 1)
            return k + 1;
    return 0;
}

static bool choose(ml_Session *ss, const ml_Words *w, const ml_Orphans *o, size_t n_lost)
{
    size_t one = only_one(o, n_lost);

    if (w->n == 1 && strchr(w->v[0], '/'))
        return bring_back(ss, w->v[0], false);
    if (w->n == 2 && ml_streq(w->v[0], "drop"))
        return drop(ss, o, w->v[1]);
    if (w->n > 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":recover [NUMBER|FILE|list|drop NUMBER|drop all]");
    if (o->n == 0) {
        ml_out_prose(&ss->out,
                     "nothing is to be brought back: no session left steps behind");
        return true;
    }
    if ((w->n == 0 && !one) || (w->n == 1 && ml_streq(w->v[0], "list"))) {
        list(ss, o);
        return true;
    }
    if (w->n)
        one = number_of(w->v[0], o->n);
    if (!one)
        return ml_session_error(
            ss, ML_E_BAD_ARGUMENT,
            ":recover NUMBER, from 1 to %zu, or a path with a /; not %s", o->n, w->v[0]);
    return bring_back(ss, o->v[one - 1].path, true);
}

bool cmd_recover(ml_Session *ss, const ml_Words *w)
{
    ml_Orphans o = {0};
    size_t n_lost = 0;
    bool ok;

    if (ml_session_forbids(ss, ":recover"))
        return false;

    if (!ss->scratch)
        ml_orphans_find(&o, &n_lost);
    ok = choose(ss, w, &o, n_lost);
    ml_orphans_free(&o);
    return ok;
}

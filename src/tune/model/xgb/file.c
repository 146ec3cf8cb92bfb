/*
 * file - a learned model as one object of Universal Binary JSON.
 *
 * Texts and numbers say what it is and where it is from; the boosters are arrays of bytes,
 * as the library writes them (its own UBJ). A checksum goes with them: trees that were
 * damaged would lead the library astray. Source: auto-scheduler 15.
 */
#include "moonloop/tune/model/xgb/xgb.h"

#include "moonloop/core/base/file.h"
#include "moonloop/core/base/text.h"
#include "moonloop/core/error.h"
#include "moonloop/tune/feature/feature.h"
#include "moonloop/tune/model/xgb/shipped.h"

#include <errno.h>
#include <stdlib.h>

enum { VERSION = 1 };

/* ---------------------------------------------------------------- writing */

static void put_whole(ml_Text *t, uint64_t v)
{
    ml_text_char(t, 'L');
    for (int k = 7; k >= 0; k--)
        ml_text_char(t, (char)(v >> (8 * k)));
}

static void put_name(ml_Text *t, const char *name)
{
    put_whole(t, strlen(name));
    ml_text_add(t, name);
}

static void put_number(ml_Text *t, const char *name, uint64_t v)
{
    put_name(t, name);
    put_whole(t, v);
}

static void put_text(ml_Text *t, const char *name, const char *v)
{
    put_name(t, name);
    ml_text_char(t, 'S');
    put_whole(t, strlen(v));
    ml_text_add(t, v);
}

static void put_bytes(ml_Text *t, const char *name, ml_Str v)
{
    put_name(t, name);
    ml_text_add(t, "[$U#");
    put_whole(t, v.n);
    ml_text_addn(t, v.p, v.n);
}

static const char *const booster_names[ML_XGB_ALL] = {"member 0", "member 1", "member 2",
                                                      "validity"};

bool ml_xgb_save(ml_Model *model, ml_Ctx *cx, const char *path)
{
    ml_Xgb *m = (ml_Xgb *)model;
    const ml_XgbTrees *trees = ml_xgb_trees(m);
    uint64_t check = ML_FNV, n;
    ml_Text t = {0}, boosters = {0};
    bool ok = true;

    if (trees == NULL)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT("nothing was learned yet: there is nothing to save"));
    for (size_t k = 0; k < ML_XGB_ALL && ok; k++) {
        const char *bytes;

        if (!trees->of[k])
            continue;
        ok = ml_xgb_ok(m->x, cx,
                       m->x->save(trees->of[k], "{\"format\":\"ubj\"}", &n, &bytes));
        if (ok) {
            put_bytes(&boosters, booster_names[k], (ml_Str){bytes, n});
            check = ml_fnv(check, bytes, n);
        }
    }
    ml_text_char(&t, '{');
    put_text(&t, "moonloop", "xgb");
    put_number(&t, "version", VERSION);
    put_number(&t, "features", ML_FEATURES_VERSION);
    put_number(&t, "columns", m->columns);
    put_number(&t, "rounds", trees->rounds);
    put_text(&t, "made", m->model.made ? m->model.made : "");
    put_number(&t, "check", check);
    ml_text_addn(&t, boosters.p, boosters.n);
    ml_text_char(&t, '}');
    if (ok && !ml_file_write(path, t.p, t.n))
        ok = ml_fail(cx, ml_file_no_room(errno) ? ML_E_NO_SPACE : ML_E_NO_FILE,
                     ML_TEXT(ml_format(cx, "%s: %s", path, strerror(errno))));
    ml_text_free(&t);
    ml_text_free(&boosters);
    return ok;
}

/* ---------------------------------------------------------------- reading */

typedef struct Read {
    const char *p, *end;
    bool bad;
    ml_Str kind, made, booster[ML_XGB_ALL];
    uint64_t version, features, columns, rounds, check;
} Read;

static ml_Str get(Read *r, uint64_t n)
{
    ml_Str s = {r->p, (size_t)n};

    if (r->bad || n > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return (ml_Str){"", 0};
    }
    r->p += n;
    return s;
}

static bool next_is(Read *r, const char *what)
{
    ml_Str s = get(r, strlen(what));

    return !r->bad && ml_str_eq(s, ml_str(what));
}

static uint64_t get_whole(Read *r)
{
    uint64_t v = 0;

    if (!next_is(r, "L"))
        r->bad = true;
    ml_Str s = get(r, 8);

    for (size_t k = 0; k < s.n; k++)
        v = v << 8 | (unsigned char)s.p[k];
    return v;
}

static void get_field(Read *r)
{
    const struct {
        const char *name;
        uint64_t *number;
        ml_Str *text;
    } field[] = {
        {"version", &r->version, NULL}, {"features", &r->features, NULL},
        {"columns", &r->columns, NULL}, {"rounds", &r->rounds, NULL},
        {"check", &r->check, NULL},     {"moonloop", NULL, &r->kind},
        {"made", NULL, &r->made},
    };
    ml_Str name = get(r, get_whole(r)), text = {"", 0};
    uint64_t number = 0;
    char kind = r->p < r->end ? *r->p : 0;

    if (kind == 'L') {
        number = get_whole(r);
    } else if (kind == 'S') {
        r->p++;
        text = get(r, get_whole(r));
    } else if (next_is(r, "[$U#")) {
        text = get(r, get_whole(r));
    } else {
        r->bad = true;
    }
    for (size_t k = 0; k < ML_COUNT(field); k++)
        if (ml_str_eq(name, ml_str(field[k].name)) && kind == (field[k].text ? 'S' : 'L')) {
            if (field[k].text)
                *field[k].text = text;
            else
                *field[k].number = number;
        }
    for (size_t k = 0; k < ML_XGB_ALL; k++)
        if (ml_str_eq(name, ml_str(booster_names[k])) && kind == '[')
            r->booster[k] = text;
}

/* What is wrong with it; NULL: nothing. */
static const char *read_all(ml_Ctx *cx, ml_Str bytes, Read *r)
{
    uint64_t check = ML_FNV;

    *r = (Read){.p = bytes.p, .end = bytes.p + bytes.n};
    if (!next_is(r, "{") || r->p == r->end || *r->p != 'L')
        return "is no model of moonloop";
    while (!r->bad && r->p < r->end && *r->p != '}') {
        get_field(r);
        if (r->kind.n == 0)
            return "is no model of moonloop";
    }
    if (!ml_str_eq(r->kind, ml_str("xgb")))
        return ml_format(cx, "is a model of another kind: %.*s", (int)r->kind.n, r->kind.p);
    if (r->bad && (r->version == 0 || r->features == 0))
        return "is cut off";
    if (r->version != VERSION)
        return ml_format(cx, "is of version %llu of such files; this program knows %d",
                         (unsigned long long)r->version, VERSION);
    if (r->features != ML_FEATURES_VERSION)
        return ml_format(cx,
                         "was trained on version %llu of the features; this program has %d",
                         (unsigned long long)r->features, ML_FEATURES_VERSION);
    if (!next_is(r, "}"))
        return "is cut off";
    for (size_t k = 0; k < ML_XGB_ALL; k++) {
        if (r->booster[k].n == 0 && k < ML_XGB_MEMBERS)
            return ml_format(cx, "lacks its %s", booster_names[k]);
        check = ml_fnv(check, r->booster[k].p, r->booster[k].n);
    }
    if (check != r->check)
        return "is damaged: its checksum is another";
    return r->columns == 0 || r->columns > UINT32_MAX || r->rounds > UINT32_MAX
               ? "is damaged: it has no features"
               : NULL;
}

static bool load_boosters(ml_Xgb *m, ml_Ctx *cx, const Read *r, ml_XgbTrees *out)
{
    *out = (ml_XgbTrees){.rounds = (uint32_t)r->rounds};
    for (size_t k = 0; k < ML_XGB_ALL; k++) {
        if (r->booster[k].n == 0)
            continue;
        if (!ml_xgb_ok(m->x, cx, m->x->create(NULL, 0, &out->of[k])) ||
            !ml_xgb_ok(m->x, cx,
                       m->x->load(out->of[k], r->booster[k].p, r->booster[k].n)) ||
            !ml_xgb_set_up(m->x, cx, out->of[k], (uint32_t)k)) {
            ml_xgb_trees_free(m->x, out);
            return false;
        }
    }
    return true;
}

/* name: what the bytes are, for errors. */
static bool load_bytes(ml_Xgb *m, ml_Ctx *cx, ml_Str bytes, const char *name)
{
    ml_XgbTrees trees;
    Read r;
    const char *why = read_all(cx, bytes, &r);
    char *made;

    if (why)
        return ml_fail(cx, ML_E_BAD_FILE, ML_TEXT(ml_format(cx, "%s %s", name, why)));
    if (m->columns && r.columns != m->columns)
        return ml_fail(cx, ML_E_BAD_FILE,
                       ML_TEXT(ml_format(cx,
                                         "%s has %u features; those learned from before "
                                         "have %u",
                                         name, (unsigned)r.columns, (unsigned)m->columns)));
    made = malloc(r.made.n + 1);
    if (made == NULL)
        ml_out_of_memory();
    memcpy(made, r.made.p, r.made.n);
    made[r.made.n] = '\0';
    if (!load_boosters(m, cx, &r, &trees)) {
        free(made);
        ml_error_note(cx, "in %s", name);
        return false;
    }
    ml_xgb_trees_free(m->x, &m->prior);
    ml_xgb_trees_free(m->x, &m->trees); /* learned without it */
    m->prior = trees;
    m->columns = (uint32_t)r.columns;
    m->full = m->last = 0;
    free(m->made);
    m->made = made;
    m->model.made = made;
    m->model.stats.rounds = trees.rounds;
    return true;
}

bool ml_xgb_load_shipped(ml_Xgb *m, ml_Ctx *cx)
{
    return load_bytes(m, cx, ml_xgb_shipped(), "the model that is shipped");
}

bool ml_xgb_load(ml_Model *m, ml_Ctx *cx, const char *path)
{
    ml_Text t = {0};
    bool ok;

    if (ml_file_read(path, &t))
        ok = load_bytes((ml_Xgb *)m, cx, (ml_Str){t.p, t.n}, path);
    else
        ok = ml_fail(cx, ML_E_NO_FILE,
                     ML_TEXT(ml_format(cx, "%s: %s", path, strerror(errno))));
    ml_text_free(&t);
    return ok;
}

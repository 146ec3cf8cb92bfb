/* themes - looks that are built in and looks of the user's own. Source: interaction 10. */
#include "repl/session/themes.h"

#include "moonloop/core/base/arena.h"
#include "moonloop/core/script/report.h"

typedef struct Theme {
    ml_Ctx *cx; /* holds all of it */
    const char *name, *base;
    size_t n;
    struct ml_RoleLook *v;
} Theme;

struct ml_Themes {
    Theme *v;
    size_t n;
    unsigned changes;
};

static bool built_in(const char *name)
{
    ml_Theme t;

    return *name && ml_theme_init(&t, name, ML_DEPTH_NONE);
}

static Theme *find(const ml_Session *ss, const char *name)
{
    for (size_t k = 0; ss->themes && k < ss->themes->n; k++)
        if (ml_streq(ss->themes->v[k].name, name))
            return &ss->themes->v[k];
    return NULL;
}

bool ml_themes_has(const ml_Session *ss, const char *name)
{
    return built_in(name) || find(ss, name);
}

const char *ml_themes_name(const ml_Session *ss, size_t k)
{
    return ss->themes && k < ss->themes->n ? ss->themes->v[k].name : NULL;
}

void ml_themes_unknown(const ml_Session *ss, const char *name, ml_Text *why)
{
    ml_Nearest near = ml_nearest_begin(ml_str(name));
    const char *z;

    for (size_t k = 0; (z = ml_theme_name(k)) != NULL; k++)
        ml_nearest_try(&near, ml_str(z));
    for (size_t k = 0; (z = ml_themes_name(ss, k)) != NULL; k++)
        ml_nearest_try(&near, ml_str(z));
    ml_text_fmt(why, "no theme is called %s; ", name);
    if (near.best.n) {
        ml_text_fmt(why, "did you mean %.*s?", (int)near.best.n, near.best.p);
        return;
    }
    ml_text_add(why, "there are ");
    for (size_t k = 0; (z = ml_theme_name(k)) != NULL; k++)
        ml_text_fmt(why, "%s%s", k ? ", " : "", z);
    for (size_t k = 0; (z = ml_themes_name(ss, k)) != NULL; k++)
        ml_text_fmt(why, ", %s", z);
}

static bool is_name(const char *z)
{
    size_t n =
        strspn(z, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    return n > 0 && n < 32 && z[n] == '\0';
}

bool ml_themes_define(ml_Session *ss, const char *name, const char *base,
                      const struct ml_RoleLook *v, size_t n, ml_Text *why)
{
    const Theme *from = base ? find(ss, base) : NULL;
    Theme *old, t = {0};
    ml_Theme tried;

    if (!is_name(name) || built_in(name)) {
        ml_text_fmt(why,
                    is_name(name) ? "%s is built in: a theme of your own wants another "
                                    "name"
                                  : "a name of letters, digits, _ and - is wanted, not "
                                    "%s",
                    name);
        return false;
    }
    if (base && !ml_themes_has(ss, base)) {
        ml_themes_unknown(ss, base, why);
        return false;
    }
    ml_theme_init(&tried, "default", ML_DEPTH_TRUE);
    for (size_t k = 0; k < n; k++)
        if (!ml_theme_set(&tried, v[k].role, v[k].look, why))
            return false;
    t.cx = ml_ctx_new(0);
    t.name = ml_strdup(t.cx, ml_str(name));
    t.base = ml_strdup(t.cx, ml_str(from ? from->base : base ? base : "default"));
    t.v = ML_ARRAY(t.cx, struct ml_RoleLook, (from ? from->n : 0) + n + 1);
    for (size_t k = 0; from && k < from->n; k++)
        t.v[t.n++] = (struct ml_RoleLook){ml_strdup(t.cx, ml_str(from->v[k].role)),
                                          ml_strdup(t.cx, ml_str(from->v[k].look))};
    for (size_t k = 0; k < n; k++)
        t.v[t.n++] = (struct ml_RoleLook){ml_strdup(t.cx, ml_str(v[k].role)),
                                          ml_strdup(t.cx, ml_str(v[k].look))};
    if (!ss->themes)
        ss->themes = ml_heap_zalloc(sizeof *ss->themes);
    old = find(ss, name);
    if (old) {
        ml_ctx_unref(old->cx);
        *old = t;
    } else {
        ss->themes->v =
            ml_heap_grow(ss->themes->v, (ss->themes->n + 1) * sizeof *ss->themes->v);
        ss->themes->v[ss->themes->n++] = t;
    }
    ss->themes->changes++;
    return true;
}

ml_ThemeDef ml_themes_now(const ml_Session *ss)
{
    const char *name = ml_setting_word(&ss->set, ML_SET_theme);
    const Theme *t = find(ss, name);

    return t ? (ml_ThemeDef){t->base, t->n, t->v} : (ml_ThemeDef){name, 0, NULL};
}

unsigned ml_themes_changes(const ml_Session *ss)
{
    return ss->themes ? ss->themes->changes : 0;
}

void ml_themes_free(ml_Session *ss)
{
    for (size_t k = 0; ss->themes && k < ss->themes->n; k++)
        ml_ctx_unref(ss->themes->v[k].cx);
    if (ss->themes)
        ml_heap_free(ss->themes->v);
    ml_heap_free(ss->themes);
    ss->themes = NULL;
}

/* settings - the values of :set, by name. Source: interaction 4. */
#include "repl/session/settings.h"

#include <errno.h>
#include <stdlib.h>

#include "moonloop/core/script/report.h"

/* The names of the table with - for _ are made once, at compile time, by hand where it
 * matters: identifiers cannot hold a -. */
const ml_Setting ml_settings[ML_SETTINGS] = {
#define ML_SETTING(name, kind, def, words, help) {#name, ML_SET_##kind, def, words, help},
#include "repl/session/settings.def"
#undef ML_SETTING
};

static char dash(char c)
{
    return c == '_' ? '-' : c;
}

void ml_setting_unknown(const char *name, ml_Text *why)
{
    ml_Nearest near = ml_nearest_begin(ml_str(name));
    ml_Text names[ML_SETTINGS] = {0};

    for (int k = 0; k < ML_SETTINGS; k++) {
        for (const char *p = ml_settings[k].name; *p; p++)
            ml_text_char(&names[k], dash(*p));
        ml_nearest_try(&near, ml_str(ml_text_z(&names[k])));
    }
    ml_text_fmt(why, "no setting is called %s; ", name);
    if (near.best.n)
        ml_text_fmt(why, "did you mean %s?", near.best.p);
    else
        ml_text_add(why, ":set lists them");
    for (int k = 0; k < ML_SETTINGS; k++)
        ml_text_free(&names[k]);
}

/* 0: different, 1: b begins with a, 2: equal. */
static int match(const char *a, const char *b)
{
    while (*a && dash(*a) == dash(*b)) {
        a++;
        b++;
    }
    return *a ? 0 : *b ? 1 : 2;
}

int ml_setting_find(const char *name)
{
    int found = -1;

    for (int k = 0; k < ML_SETTINGS; k++) {
        int m = match(name, ml_settings[k].name);

        if (m == 2)
            return k;
        if (m == 1)
            found = found == -1 ? k : -2;
    }
    return found < 0 ? -1 : found;
}

static void store(ml_Settings *s, int id, const char *value)
{
    size_t n = strlen(value);

    if (n >= ML_SETTING_LENGTH)
        n = ML_SETTING_LENGTH - 1;
    memcpy(s->value[id], value, n);
    s->value[id][n] = '\0';
}

void ml_settings_init(ml_Settings *s)
{
    for (int k = 0; k < ML_SETTINGS; k++)
        store(s, k, ml_settings[k].def);
}

static bool has_word(const char *words, const char *w)
{
    size_t n = strlen(w);

    for (const char *p = words; n > 0 && (p = strstr(p, w)); p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

bool ml_setting_set(ml_Settings *s, int id, const char *value, ml_Text *why)
{
    const ml_Setting *d = &ml_settings[id];
    char *end;

    if (strlen(value) >= ML_SETTING_LENGTH) {
        ml_text_fmt(why, "%s: the value is longer than %d characters", d->name,
                    ML_SETTING_LENGTH - 1);
        return false;
    }
    switch (d->kind) {
    case ML_SET_WORD:
        if (!has_word(d->words, value)) {
            ml_text_fmt(why, "%s is one of: %s", d->name, d->words);
            return false;
        }
        break;
    case ML_SET_BOOL:
        if (ml_streq(value, "true") || ml_streq(value, "1"))
            value = "on";
        if (ml_streq(value, "false") || ml_streq(value, "0"))
            value = "off";
        if (!ml_streq(value, "on") && !ml_streq(value, "off")) {
            ml_text_fmt(why, "%s is on or off", d->name);
            return false;
        }
        break;
    case ML_SET_INT:
        errno = 0;
        if (strtoll(value, &end, 10) < 0 || *end || end == value || errno) {
            ml_text_fmt(why, "%s is a whole number from 0", d->name);
            return false;
        }
        break;
    case ML_SET_TEXT: break;
    }
    store(s, id, value);
    return true;
}

const char *ml_setting_word(const ml_Settings *s, ml_SettingId id)
{
    return s->value[id];
}

bool ml_setting_is(const ml_Settings *s, ml_SettingId id, const char *word)
{
    return ml_streq(s->value[id], word);
}

bool ml_setting_bool(const ml_Settings *s, ml_SettingId id)
{
    return ml_streq(s->value[id], "on");
}

int64_t ml_setting_int(const ml_Settings *s, ml_SettingId id)
{
    return strtoll(s->value[id], NULL, 10);
}

long ml_setting_count(const char *text, long most)
{
    char *end;
    long n;

    if (ml_streq(text, "auto") || !*text)
        return 0;
    n = strtol(text, &end, 10);
    return end != text && !*end && n >= 1 && n <= most ? n : -1;
}

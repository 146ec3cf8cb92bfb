/* settings - the values of :set, by name. Source: interaction 4. */
#ifndef ML_REPL_SESSION_SETTINGS_H
#define ML_REPL_SESSION_SETTINGS_H

#include "moonloop/core/base/text.h"

typedef enum ml_SettingKind {
    ML_SET_WORD,
    ML_SET_BOOL,
    ML_SET_INT,
    ML_SET_TEXT
} ml_SettingKind;

typedef enum ml_SettingId {
#define ML_SETTING(name, kind, def, words, help) ML_SET_##name,
#include "repl/session/settings.def"
#undef ML_SETTING
    ML_SETTINGS
} ml_SettingId;

typedef struct ml_Setting {
    const char *name; /* with - between words */
    ml_SettingKind kind;
    const char *def;
    const char *words; /* separated by spaces, or NULL */
    const char *help;
} ml_Setting;
extern const ml_Setting ml_settings[ML_SETTINGS];

enum { ML_SETTING_LENGTH = 64, ML_MOST_THREADS = 1024 };
/* A number from 1 to `most`; 0: "auto" or nothing; -1: neither. */
long ml_setting_count(const char *text, long most);
typedef struct ml_Settings {
    char value[ML_SETTINGS][ML_SETTING_LENGTH];
} ml_Settings;

void ml_settings_init(ml_Settings *s);
/* -1: no setting of that name; - and _ are one; a prefix that fits one setting will do. */
int ml_setting_find(const char *name);
/* What to say of a name that is no setting: the nearest one. */
void ml_setting_unknown(const char *name, ml_Text *why);
/* false: *why says what would do. */
bool ml_setting_set(ml_Settings *s, int id, const char *value, ml_Text *why);
const char *ml_setting_word(const ml_Settings *s, ml_SettingId id);
bool ml_setting_is(const ml_Settings *s, ml_SettingId id, const char *word);
bool ml_setting_bool(const ml_Settings *s, ml_SettingId id);
int64_t ml_setting_int(const ml_Settings *s, ml_SettingId id);

#endif

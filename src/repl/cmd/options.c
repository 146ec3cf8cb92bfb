/* options - the words of a command by a table (options.h). */
#include "repl/cmd/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool read_real(const char *text, double least, double most, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && *out >= least && *out <= most;
}

bool ml_read_whole(const char *text, double least, double most, int64_t *out)
{
    char *end;
    double real;

    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end != text && !*end && !errno)
        return (double)*out >= least && (double)*out <= most;
    /* 1e6, as far as a double holds it exactly */
    if (!read_real(text, least, fmin(most, 0x1p53), &real) || real != floor(real))
        return false;
    *out = (int64_t)real;
    return true;
}

/* n=127, of which several stand with commas between. */
static bool read_size(const char *text, ml_Sizes *z)
{
    char number[32];

    for (;;) {
        size_t all = strcspn(text, ","), n = strcspn(text, "=,"), digits = all - n;
        int64_t value;

        if (n == 0 || text[n] != '=' || n >= sizeof z->names[0] || z->n == ML_COUNT(z->v) ||
            digits > sizeof number)
            return false;
        snprintf(number, sizeof number, "%.*s", (int)digits - 1, text + n + 1);
        if (!ml_read_whole(number, 0, 0x1p62, &value))
            return false;
        memcpy(z->names[z->n], text, n);
        z->names[z->n][n] = '\0';
        z->v[z->n] = (ml_Size){z->names[z->n], value};
        z->n++;
        text += all;
        if (*text == '\0' || *++text == '\0') /* n=127, m=64 are two words */
            return true;
    }
}

static bool take(const ml_Option *o, const char *text)
{
    long n;

    ML_ASSERT(text);
    switch (o->kind) {
    case ML_OPTION_FLAG: *(bool *)o->to = true; return true;
    case ML_OPTION_WHOLE: return ml_read_whole(text, o->least, o->most, o->to);
    case ML_OPTION_REAL: return read_real(text, o->least, o->most, o->to);
    case ML_OPTION_SIZE: return read_size(text, o->to);
    case ML_OPTION_COUNT:
        n = *text ? ml_setting_count(text, (long)o->most) : -1;
        *(uint32_t *)o->to = (uint32_t)n;
        return n >= 0;
    case ML_OPTION_TEXT:
    case ML_OPTION_WORD: *(const char **)o->to = text; return *text != '\0';
    }
    return false;
}

/* Whether the option is that of word *k; *value: what is given it, from the word itself or
 * the next one, which is passed over. */
static bool is_option(const ml_Option *o, const ml_Words *w, size_t *k, const char **value)
{
    const char *word = w->v[*k];
    size_t n = o->name ? strlen(o->name) : 0;

    *value = word;
    if (o->kind == ML_OPTION_WORD)
        return strncmp(word, "--", 2) != 0 && !*(const char **)o->to;
    if (o->kind == ML_OPTION_SIZE && *word != '-' && strchr(word, '='))
        return true; /* the second of --shape n=127 m=64 */
    if (strncmp(word, o->name, n) != 0)
        return false;
    if (o->kind == ML_OPTION_FLAG || word[n] == '=') {
        *value = word + n + 1;
        return o->kind != ML_OPTION_FLAG || !word[n];
    }
    if (word[n])
        return false;
    *value = *k + 1 < w->n ? w->v[++*k] : "";
    return true;
}

bool ml_read_options(ml_Session *ss, const ml_Words *w, const char *knows,
                     const ml_Option *v, size_t n)
{
    for (size_t k = 0; k < w->n; k++) {
        const char *word = w->v[k], *value = NULL;
        const ml_Option *o = v;

        while (o < v + n && !is_option(o, w, &k, &value))
            o++;
        if (o == v + n)
            return ml_session_error(ss, ML_E_BAD_ARGUMENT, "%s, not %s", knows, word);
        if (!take(o, value))
            return ml_session_error(ss, ML_E_BAD_ARGUMENT, "%s, not %s", o->refusal,
                                    *value ? value : "none");
    }
    return true;
}

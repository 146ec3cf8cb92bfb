/* odd_names - see odd_names.h. */
#include "odd_names.h"

#include "moonloop/primitives/schedule/schedule_impl.h"

/* Columns of people, keywords of Lua, names of handles and of what the forms of a trace say
 * beside the map, names that steps make. */
static const char *const STYLES[][4] = {
    {"row", "col", "c", "tile"},      {"end", "local", "nil", "function"},
    {"b0", "l1", "v2", "sch"},        {"moon", "tvm", "T_1", "tir"},
    {"axis1", "axis0", "v0", "ax0"},  {"_", "__", "i0_1", "I0"},
    {"repeat", "root", "u", "until"}, {"block", "lambda_", "e", "k"},
};

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* Its name, of the parameters from p to end; the text of it when it is none. */
static void add_renamed(ml_Text *out, const char *const *style, const char *p,
                        const char *end, ml_Str word)
{
    size_t at = 0;

    for (size_t n; p < end; p += n) {
        for (n = 0; p + n < end && is_word(p[n]);)
            n++;
        if (n > 0 && ml_str_eq((ml_Str){p, n}, word)) {
            ml_text_add(out, style[at % 4]);
            if (at >= 4)
                ml_text_fmt(out, "_%zu", at);
            return;
        }
        at += n > 0;
        n += n == 0;
    }
    ml_text_addn(out, word.p, word.n);
}

void fz_rename_parameters(uint64_t *rnd, ml_Text *step)
{
    const char *z = ml_text_z(step), *p = strstr(z, "\"lambda "), *colon;
    const char *const *style = STYLES[fz_below(rnd, (int)ML_COUNT(STYLES))];
    ml_Text out = {0};

    if (!p || !(colon = strchr(p, ':')) || fz_chance(rnd, 30))
        return;
    p += strlen("\"lambda ");
    ml_text_addn(&out, z, (size_t)(p - z));
    const char *first = p;

    for (size_t n; *p && *p != '"'; p += n) {
        for (n = 0; is_word(p[n]);)
            n++;
        bool call = n > 0 && (p[n] == '.' || p[n] == '(' || p[-1] == '.');

        if (n > 0 && !call)
            add_renamed(&out, style, first, colon, (ml_Str){p, n});
        else
            ml_text_addn(&out, p, n > 0 ? n : 1);
        n += n == 0;
    }
    ml_text_add(&out, p);
    ml_text_free(step);
    *step = out;
}

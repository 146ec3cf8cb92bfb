/*
 * theme - the looks. Each is written once, as colours in RGB, one of the 16 names, and the
 * attributes for a terminal without colours; the fewer colours a terminal has, the more of
 * it is rounded. What covers whole rows is never underlined: the rows that belong to what is
 * selected have a mark at their beginning, and a ground where there are colours. The colours of `default` are those of Okabe and Ito, which people who do
 * not tell red from green see apart, and differ in lightness. Source: interaction 10.
 */
#include "repl/screen/theme.h"

#include <stdlib.h>

#include "moonloop/core/script/report.h"

typedef struct Raw {
    int32_t fg, bg; /* RGB, or -1 */
    int8_t fg16, bg16;
    uint8_t attr; /* with colours */
    uint8_t mono; /* without */
} Raw;

enum {
    B = ML_ATTR_BOLD,
    U = ML_ATTR_UNDERLINE,
    R = ML_ATTR_REVERSE,
    D = ML_ATTR_DIM,
    NO = ML_COLOR_DEFAULT
};

static const Raw DARK[ML_N_ROLES] = {
    [ML_ROLE_TEXT] = {NO, NO, NO, NO, 0, 0},
    [ML_ROLE_DIM] = {0x8a8a8a, NO, 8, NO, 0, D},
    [ML_ROLE_STRONG] = {NO, NO, NO, NO, B, B},
    [ML_ROLE_TITLE] = {0xf0e442, NO, 11, NO, B, B | R},
    [ML_ROLE_BORDER] = {0x6c6c6c, NO, 8, NO, 0, 0},
    [ML_ROLE_BORDER_IN] = {0xd0d0d0, NO, 15, NO, B, B},
    [ML_ROLE_CURSOR] = {0xffffff, 0x005f87, 15, 4, B, R},
    [ML_ROLE_LINKED] = {NO, 0x303030, NO, 8, 0, 0},
    [ML_ROLE_CHANGED] = {0xf0e442, NO, 11, NO, B, B},
    [ML_ROLE_KEY] = {0x56b4e9, NO, 14, NO, B, B},
    [ML_ROLE_OK] = {0x56b4e9, NO, 14, NO, 0, B},
    [ML_ROLE_ERROR] = {0xff8c42, NO, 9, NO, B, B | R},
    [ML_ROLE_NOTE] = {0xe69f00, NO, 3, NO, 0, B},
    [ML_ROLE_DIFF_ADD] = {0x56b4e9, NO, 14, NO, 0, B},
    [ML_ROLE_DIFF_DEL] = {0xe69f00, NO, 3, NO, 0, D},
    [ML_ROLE_HINT] = {0x8a8a8a, NO, 8, NO, 0, D},
    [ML_ROLE_SUGGESTION] = {0x767676, NO, 8, NO, 0, D},
    [ML_ROLE_MATCH] = {0x000000, 0xf0e442, 0, 11, 0, R},
    [ML_ROLE_LOOP_SERIAL] = {NO, NO, NO, NO, 0, 0},
    [ML_ROLE_LOOP_PARALLEL] = {0xf0e442, NO, 11, NO, B, B},
    [ML_ROLE_LOOP_VECTOR] = {0x56b4e9, NO, 14, NO, B, U},
    [ML_ROLE_LOOP_UNROLL] = {0xcc79a7, NO, 13, NO, 0, B | U},
    [ML_ROLE_LOOP_THREAD] = {0xe69f00, NO, 3, NO, B, B},
    [ML_ROLE_BLOCK] = {0x00c896, NO, 10, NO, B, B},
    [ML_ROLE_BUFFER] = {0xb8d8f0, NO, 14, NO, 0, 0},
    [ML_ROLE_KEYWORD] = {0x87afd7, NO, 12, NO, 0, B},
    [ML_ROLE_NUMBER] = {0xe5c890, NO, 3, NO, 0, 0},
    [ML_ROLE_STRING] = {0x9ecf9e, NO, 2, NO, 0, 0},
    [ML_ROLE_COMMENT] = {0x8a8a8a, NO, 8, NO, 0, D},
    [ML_ROLE_NAME] = {NO, NO, NO, NO, 0, 0},
    [ML_ROLE_PRIMITIVE] = {0xcc99cc, NO, 13, NO, B, B},
    [ML_ROLE_MARK1] = {0x000000, 0xe69f00, 0, 3, 0, R},
    [ML_ROLE_MARK2] = {0x000000, 0x56b4e9, 0, 6, 0, U},
    [ML_ROLE_MARK3] = {0x000000, 0x00b887, 0, 2, 0, B | U},
    [ML_ROLE_MARK4] = {0x000000, 0xf0e442, 0, 11, 0, R | B},
    [ML_ROLE_MARK5] = {0xffffff, 0x0072b2, 15, 4, 0, R | U},
    [ML_ROLE_MARK6] = {0x000000, 0xd55e00, 0, 1, 0, B},
    [ML_ROLE_MARK7] = {0x000000, 0xcc79a7, 0, 5, 0, R | B | U},
};

/* What differs on a light ground. */
static const Raw LIGHT[ML_N_ROLES] = {
    [ML_ROLE_DIM] = {0x6c6c6c, NO, 8, NO, 0, D},
    [ML_ROLE_TITLE] = {0x00507d, NO, 4, NO, B, B | R},
    [ML_ROLE_BORDER] = {0x9e9e9e, NO, 7, NO, 0, 0},
    [ML_ROLE_BORDER_IN] = {0x000000, NO, 0, NO, B, B},
    [ML_ROLE_CURSOR] = {0x000000, 0xafd7ff, 0, 14, B, R},
    [ML_ROLE_LINKED] = {NO, 0xe4e4e4, NO, 7, 0, 0},
    [ML_ROLE_CHANGED] = {0xa04000, NO, 1, NO, B, B},
    [ML_ROLE_KEY] = {0x005f9f, NO, 4, NO, B, B},
    [ML_ROLE_OK] = {0x005f9f, NO, 4, NO, 0, B},
    [ML_ROLE_ERROR] = {0xb33c00, NO, 1, NO, B, B | R},
    [ML_ROLE_NOTE] = {0x8a5a00, NO, 3, NO, 0, B},
    [ML_ROLE_DIFF_ADD] = {0x005f9f, NO, 4, NO, 0, B},
    [ML_ROLE_DIFF_DEL] = {0xa85800, NO, 1, NO, 0, D},
    [ML_ROLE_HINT] = {0x6c6c6c, NO, 8, NO, 0, D},
    [ML_ROLE_SUGGESTION] = {0x949494, NO, 8, NO, 0, D},
    [ML_ROLE_LOOP_PARALLEL] = {0x9a4f00, NO, 1, NO, B, B},
    [ML_ROLE_LOOP_VECTOR] = {0x005f9f, NO, 4, NO, B, U},
    [ML_ROLE_LOOP_UNROLL] = {0x8f3f70, NO, 5, NO, 0, B | U},
    [ML_ROLE_LOOP_THREAD] = {0x7a5c00, NO, 3, NO, B, B},
    [ML_ROLE_BLOCK] = {0x006b4f, NO, 2, NO, B, B},
    [ML_ROLE_BUFFER] = {0x004f7a, NO, 4, NO, 0, 0},
    [ML_ROLE_KEYWORD] = {0x2f4f8f, NO, 4, NO, 0, B},
    [ML_ROLE_NUMBER] = {0x7a4f00, NO, 1, NO, 0, 0},
    [ML_ROLE_STRING] = {0x2f6f3f, NO, 2, NO, 0, 0},
    [ML_ROLE_COMMENT] = {0x6c6c6c, NO, 8, NO, 0, D},
    [ML_ROLE_PRIMITIVE] = {0x7a2f8f, NO, 5, NO, B, B},
};

static const char *const ROLE_NAMES[ML_N_ROLES] = {
#define ML_ROLE(id, name, l) name,
#include "repl/screen/roles.def"
#undef ML_ROLE
};

/* ---- colours */

/* The nearest of the 216 of the cube and the 24 greys. */
static int32_t to_256(int32_t rgb)
{
    static const int STEP[6] = {0, 95, 135, 175, 215, 255};
    int part[3] = {rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255}, at[3];
    int grey = (part[0] + part[1] + part[2]) / 3, g = grey < 8 ? 0 : (grey - 3) / 10;
    int of_cube = 0, of_grey = 0;

    if (g > 23)
        g = 23;
    for (int k = 0; k < 3; k++) {
        at[k] = 0;
        for (int s = 1; s < 6; s++)
            if (abs(STEP[s] - part[k]) < abs(STEP[at[k]] - part[k]))
                at[k] = s;
        of_cube += (STEP[at[k]] - part[k]) * (STEP[at[k]] - part[k]);
        of_grey += (8 + 10 * g - part[k]) * (8 + 10 * g - part[k]);
    }
    return of_grey < of_cube ? 232 + g : 16 + 36 * at[0] + 6 * at[1] + at[2];
}

static int32_t rounded(ml_Depth depth, int32_t rgb, int named)
{
    if (rgb < 0)
        return ML_COLOR_DEFAULT;
    switch (depth) {
    case ML_DEPTH_NONE: return ML_COLOR_DEFAULT;
    case ML_DEPTH_8: return named < 0 ? ML_COLOR_DEFAULT : named & 7;
    case ML_DEPTH_16: return named;
    case ML_DEPTH_256: return to_256(rgb);
    case ML_DEPTH_TRUE: return rgb;
    }
    return ML_COLOR_DEFAULT;
}

static ml_Look look_of(ml_Depth depth, const Raw *r)
{
    ml_Look l = {ML_COLOR_DEFAULT, ML_COLOR_DEFAULT, r->mono};

    if (depth == ML_DEPTH_NONE)
        return l;
    l.fg = rounded(depth, r->fg, r->fg16);
    l.bg = rounded(depth, r->bg, r->bg16);
    l.attr = r->attr;
    if (depth == ML_DEPTH_8 && r->fg16 == 8) { /* no grey among eight */
        l.fg = ML_COLOR_DEFAULT;
        l.attr |= ML_ATTR_DIM;
    }
    if (depth == ML_DEPTH_8 && (r->bg16 == 8 || r->bg16 == 7)) {
        l.bg = ML_COLOR_DEFAULT;
        l.attr |= r->mono;
    }
    return l;
}

static const char *const THEMES[] = {"default", "light", "mono"};

const char *ml_theme_name(size_t k)
{
    return k < ML_COUNT(THEMES) ? THEMES[k] : NULL;
}

bool ml_theme_init(ml_Theme *t, const char *name, ml_Depth depth)
{
    size_t which = 0;

    while (which < ML_COUNT(THEMES) && !ml_streq(THEMES[which], name))
        which++;
    bool known = which < ML_COUNT(THEMES) || !*name;

    if (which == ML_COUNT(THEMES))
        which = 0;
    *t = (ml_Theme){.name = THEMES[which], .depth = which == 2 ? ML_DEPTH_NONE : depth};
    for (int k = 0; k < ML_N_ROLES; k++) {
        const Raw *r = &DARK[k];

        /* a row of LIGHT that says nothing is all zero: black on black, which no look is */
        if (which == 1 && (LIGHT[k].fg || LIGHT[k].bg))
            r = &LIGHT[k];
        t->look[k] = look_of(t->depth, r);
    }
    return known;
}

void ml_theme_make(ml_Theme *t, const ml_ThemeDef *d, ml_Depth depth)
{
    ml_Text why = {0};

    ml_theme_init(t, d->base, depth);
    for (size_t k = 0; k < d->n; k++)
        ml_theme_set(t, d->v[k].role, d->v[k].look, &why);
    ml_text_free(&why);
}

/* ---- looks of the user's own */

static const struct {
    const char *name;
    int attr;
} ATTRS[] = {{"bold", B}, {"underline", U}, {"reverse", R}, {"dim", D}, {"none", 0}};
static const char *const COLORS[16] = {
    "black",      "red",           "green",       "yellow",
    "blue",       "magenta",       "cyan",        "white",
    "grey",       "light-red",     "light-green", "light-yellow",
    "light-blue", "light-magenta", "light-cyan",  "light-white"};

static bool read_color(const char *p, size_t n, int32_t *rgb, int *named)
{
    static const int32_t RGB[16] = {
        0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
        0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
    int best = 0, distance = 1 << 30;

    if (n == 7 && p[0] == '#') {
        *rgb = 0;
        for (size_t k = 1; k < n; k++) {
            const char *hex = "0123456789abcdef", *at;
            char c = p[k] >= 'A' && p[k] <= 'F' ? (char)(p[k] - 'A' + 'a') : p[k];

            at = c ? strchr(hex, c) : NULL;
            if (!at)
                return false;
            *rgb = *rgb << 4 | (int32_t)(at - hex);
        }
        for (int k = 0; k < 16; k++) {
            int d = 0;

            for (int s = 0; s < 24; s += 8)
                d += abs((RGB[k] >> s & 255) - (*rgb >> s & 255));
            if (d < distance) {
                best = k;
                distance = d;
            }
        }
        *named = best;
        return true;
    }
    for (int k = 0; k < 16; k++)
        if (strlen(COLORS[k]) == n && memcmp(COLORS[k], p, n) == 0) {
            *rgb = RGB[k];
            *named = k;
            return true;
        }
    return false;
}

/* The nearest role, and where that is not clear all of them. */
static void unknown_role(const char *role, ml_Text *why)
{
    ml_Nearest near = ml_nearest_begin(ml_str(role));

    for (int k = 0; k < ML_N_ROLES; k++)
        ml_nearest_try(&near, ml_str(ROLE_NAMES[k]));
    ml_text_fmt(why, "no role is called %s; ", role);
    if (near.best.n) {
        ml_text_fmt(why, "did you mean %.*s?", (int)near.best.n, near.best.p);
        return;
    }
    ml_text_add(why, "there are ");
    for (int k = 0; k < ML_N_ROLES; k++)
        ml_text_fmt(why, "%s%s", k ? ", " : "", ROLE_NAMES[k]);
}

static void unknown_word(const char *role, const char *p, size_t n, ml_Text *why)
{
    ml_Nearest near = ml_nearest_begin((ml_Str){p, n});

    for (size_t k = 0; k < ML_COUNT(COLORS); k++)
        ml_nearest_try(&near, ml_str(COLORS[k]));
    for (size_t k = 0; k < ML_COUNT(ATTRS); k++)
        ml_nearest_try(&near, ml_str(ATTRS[k].name));
    ml_text_fmt(why, "%s: %.*s is no colour and no attribute; ", role, (int)n, p);
    if (near.best.n)
        ml_text_fmt(why, "did you mean %.*s?", (int)near.best.n, near.best.p);
    else
        ml_text_add(why, "a look is [COLOUR] [on COLOUR] and bold, underline, reverse, "
                         "dim or none; a colour is #rrggbb or a name like light-blue");
}

bool ml_theme_set(ml_Theme *t, const char *role, const char *look, ml_Text *why)
{
    Raw raw = {NO, NO, NO, NO, 0, 0};
    bool on = false;
    int which = 0;

    while (which < ML_N_ROLES && !ml_streq(ROLE_NAMES[which], role))
        which++;
    if (which == ML_N_ROLES) {
        unknown_role(role, why);
        return false;
    }
    for (const char *p = look; *p;) {
        size_t n = strcspn(p, " "), k = 0;
        int32_t rgb;
        int named;

        while (k < ML_COUNT(ATTRS) &&
               !(strlen(ATTRS[k].name) == n && memcmp(ATTRS[k].name, p, n) == 0))
            k++;
        if (k < ML_COUNT(ATTRS)) {
            raw.attr |= (uint8_t)ATTRS[k].attr;
        } else if (n == 2 && memcmp(p, "on", 2) == 0) {
            on = true;
        } else if (read_color(p, n, &rgb, &named)) {
            *(on ? &raw.bg : &raw.fg) = rgb;
            *(on ? &raw.bg16 : &raw.fg16) = (int8_t)named;
        } else if (n > 0) {
            unknown_word(role, p, n > 40 ? 40 : n, why);
            return false;
        }
        p += n;
        p += strspn(p, " ");
    }
    raw.mono = raw.attr ? raw.attr : (uint8_t)(raw.bg >= 0 ? R : 0);
    t->look[which] = look_of(t->depth, &raw);
    return true;
}

/* ---- terminals */

ml_Depth ml_theme_depth(int colors)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    const char *more = getenv("COLORTERM");

    if ((none && *none) || !term || ml_streq(term, "dumb") || colors == 0)
        return ML_DEPTH_NONE;
    if (strstr(term, "vt100") || strstr(term, "vt102") || strstr(term, "vt220") ||
        strstr(term, "-mono"))
        return ML_DEPTH_NONE;
    if (more && (ml_streq(more, "truecolor") || ml_streq(more, "24bit")))
        return ML_DEPTH_TRUE;
    if (strstr(term, "-direct"))
        return ML_DEPTH_TRUE;
    if (colors >= 256 || strstr(term, "256color"))
        return ML_DEPTH_256;
    if (colors >= 16)
        return ML_DEPTH_16;
    return ML_DEPTH_8;
}

ml_Look ml_theme_look(const ml_Theme *t, ml_CellRole role, int attr)
{
    ml_Look l = t->look[role];

    if (attr & (ML_ATTR_ON_CURSOR | ML_ATTR_ON_LINKED)) {
        const ml_Look *bar =
            &t->look[attr & ML_ATTR_ON_CURSOR ? ML_ROLE_CURSOR : ML_ROLE_LINKED];

        /* what has a ground of its own keeps it; on a bar without one the bar shows as
         * attributes */
        if (l.bg == ML_COLOR_DEFAULT)
            l.bg = bar->bg;
        if (bar->bg == ML_COLOR_DEFAULT || (attr & ML_ATTR_ON_CURSOR))
            l.attr |= bar->attr;
        if ((attr & ML_ATTR_ON_CURSOR) && bar->bg != ML_COLOR_DEFAULT && l.bg == bar->bg)
            l.fg = bar->fg;
    }
    l.attr |= attr & (B | U | R | D);
    return l;
}

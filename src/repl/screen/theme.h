/*
 * theme - how roles look on a terminal: colours as far as it has them, and attributes that
 * tell the roles apart where it has none. Source: interaction 10.
 */
#ifndef ML_REPL_SCREEN_THEME_H
#define ML_REPL_SCREEN_THEME_H

#include "repl/screen/grid.h"

typedef enum ml_Depth { /* colours of a terminal */
                        ML_DEPTH_NONE,
                        ML_DEPTH_8,
                        ML_DEPTH_16,
                        ML_DEPTH_256,
                        ML_DEPTH_TRUE
} ml_Depth;

enum { ML_COLOR_DEFAULT = -1 };
typedef struct ml_Look { /* a colour: 0xRRGGBB with ML_DEPTH_TRUE, else its number */
    int32_t fg, bg;      /* or ML_COLOR_DEFAULT */
    int attr;            /* ML_ATTR_BOLD, UNDERLINE, REVERSE, DIM */
} ml_Look;

typedef struct ml_Theme {
    const char *name;
    ml_Depth depth;
    ml_Look look[ML_N_ROLES];
} ml_Theme;

/* A theme as it is defined: looks of its own on top of one that is built in. */
typedef struct ml_ThemeDef {
    const char *base;
    size_t n;
    const struct ml_RoleLook {
        const char *role, *look;
    } * v;
} ml_ThemeDef;
/* What of it cannot be read is as in the base. */
void ml_theme_make(ml_Theme *t, const ml_ThemeDef *d, ml_Depth depth);

/* Themes "default", "light", "mono"; "" is default. false: there is none of that name, and
 * the theme is the default. */
bool ml_theme_init(ml_Theme *t, const char *name, ml_Depth depth);
/* Their names; NULL: no more. */
const char *ml_theme_name(size_t k);
/* Another look of one role (its name), as `bold #56b4e9 on #202020`, `underline`, `none`;
 * false: *why says what is wrong. */
bool ml_theme_set(ml_Theme *t, const char *role, const char *look, ml_Text *why);
/* What a terminal has, by TERM, COLORTERM, NO_COLOR and its entry's number of colours (-1:
 * not known). */
ml_Depth ml_theme_depth(int colors);

/* A cell's role and attributes together. */
ml_Look ml_theme_look(const ml_Theme *t, ml_CellRole role, int attr);

#endif

/*
 * terminal - tables of escape sequences, and the entry of terminfo. This file alone knows
 * what sequences look like, and with ncurses alone asks terminfo. Source: interaction 4, 10.
 */
#include "repl/screen/terminal.h"

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if HAVE_CURSES
#include <curses.h>
#include <term.h>
#endif

static const struct {
    const char *name; /* of terminfo */
    const char *ansi;
} CAPS[ML_N_CAPS] = {
    [ML_CAP_GO] = {"cup", "\x1b[%i%p1%d;%p2%dH"},
    [ML_CAP_UP] = {"cuu", "\x1b[%p1%dA"},
    [ML_CAP_DOWN] = {"cud", "\x1b[%p1%dB"},
    [ML_CAP_RIGHT] = {"cuf", "\x1b[%p1%dC"},
    [ML_CAP_LEFT] = {"cub", "\x1b[%p1%dD"},
    [ML_CAP_BLANKS] = {"ech", NULL},
    [ML_CAP_CLEAR] = {"clear", "\x1b[H\x1b[2J"},
    [ML_CAP_CLEAR_ROW] = {"el", "\x1b[K"},
    [ML_CAP_CLEAR_BELOW] = {"ed", "\x1b[J"},
    [ML_CAP_CLEAR_SAVED] = {"E3", "\x1b[3J"},
    [ML_CAP_NORMAL] = {"sgr0", "\x1b[0m"},
    [ML_CAP_BOLD] = {"bold", "\x1b[1m"},
    [ML_CAP_DIM] = {"dim", "\x1b[2m"},
    [ML_CAP_UNDERLINE] = {"smul", "\x1b[4m"},
    [ML_CAP_REVERSE] = {"rev", "\x1b[7m"},
    [ML_CAP_COLORS_OFF] = {"op", NULL},
    [ML_CAP_CURSOR_ON] = {"cnorm", "\x1b[?25h"},
    [ML_CAP_CURSOR_OFF] = {"civis", "\x1b[?25l"},
    [ML_CAP_SCREEN_ON] = {"smcup", NULL},
    [ML_CAP_SCREEN_OFF] = {"rmcup", NULL},
    [ML_CAP_KEYPAD_ON] = {"smkx", "\x1b[?1h\x1b="},
    [ML_CAP_KEYPAD_OFF] = {"rmkx", "\x1b[?1l\x1b>"},
    [ML_CAP_SAVE] = {"sc", "\0337"},
    [ML_CAP_RESTORE] = {"rc", "\0338"},
    [ML_CAP_MOUSE_ON] = {NULL, "\x1b[?1000h\x1b[?1002h\x1b[?1006h"},
    [ML_CAP_MOUSE_OFF] = {NULL, "\x1b[?1006l\x1b[?1002l\x1b[?1000l"},
    [ML_CAP_PASTE_ON] = {NULL, "\x1b[?2004h"},
    [ML_CAP_PASTE_OFF] = {NULL, "\x1b[?2004l"},
    [ML_CAP_CLIPBOARD] = {NULL, "\x1b]52;c;"},
};

static const struct {
    int attr;
    ml_Cap cap;
    int sgr;
    int ncv; /* its bit in terminfo's number of that name */
} ATTRS[] = {{ML_ATTR_BOLD, ML_CAP_BOLD, 1, 32},
             {ML_ATTR_DIM, ML_CAP_DIM, 2, 16},
             {ML_ATTR_UNDERLINE, ML_CAP_UNDERLINE, 4, 2},
             {ML_ATTR_REVERSE, ML_CAP_REVERSE, 7, 4}};

static const struct {
    const char *name; /* of terminfo */
    const char *key;
} ENTRY_KEYS[ML_KEYS_OF_ENTRY] = {{"kcuu1", "up"},    {"kcud1", "down"}, {"kcub1", "left"},
                                  {"kcuf1", "right"}, {"khome", "home"}, {"kend", "end"},
                                  {"kpp", "pgup"},    {"knp", "pgdn"},   {"kcbt", "S-tab"},
                                  {"kdch1", "del"},   {"kich1", "ins"},  {"kri", "S-up"},
                                  {"kind", "S-down"}};

static const struct {
    const char *seq, *name;
} KEYS[] = {
    {"\x1b[A", "up"},         {"\x1b[B", "down"},      {"\x1b[C", "right"},
    {"\x1b[D", "left"},       {"\x1bOA", "up"},        {"\x1bOB", "down"},
    {"\x1bOC", "right"},      {"\x1bOD", "left"},      {"\x1b[H", "home"},
    {"\x1b[F", "end"},        {"\x1bOH", "home"},      {"\x1bOF", "end"},
    {"\x1b[1~", "home"},      {"\x1b[4~", "end"},      {"\x1b[7~", "home"},
    {"\x1b[8~", "end"},       {"\x1b[2~", "ins"},      {"\x1b[3~", "del"},
    {"\x1b[5~", "pgup"},      {"\x1b[6~", "pgdn"},     {"\x1b[Z", "S-tab"},
    {"\x1b[1;2A", "S-up"},    {"\x1b[1;2B", "S-down"}, {"\x1b[1;2C", "S-right"},
    {"\x1b[1;2D", "S-left"},  {"\x1b[a", "S-up"},      {"\x1b[b", "S-down"},
    {"\x1b[1;5C", "C-right"}, {"\x1b[1;5D", "C-left"}, {"\x1bOP", "f1"},
    {"\x1bOQ", "f2"},         {"\x1bOR", "f3"},        {"\x1bOS", "f4"},
    {"\x1b[11~", "f1"},       {"\x1b[12~", "f2"},      {"\x1b[13~", "f3"},
    {"\x1b[14~", "f4"},       {"\x1b[15~", "f5"},      {"\x1b[17~", "f6"},
    {"\x1b[18~", "f7"},       {"\x1b[19~", "f8"},      {"\x1b[20~", "f9"},
    {"\x1b[21~", "f10"},      {"\x1b[23~", "f11"},     {"\x1b[24~", "f12"},
    {"\x1bOM", "enter"},      {"\x1b[200~", "paste"},  {"\x1b[201~", "pasted"},
};

const char *ml_style(bool color, ml_Style s)
{
    static const char *const STYLES[ML_STYLE_HUE + ML_HUES] = {
        [ML_STYLE_PLAIN] = "\x1b[0m",    [ML_STYLE_ADD] = "\x1b[32m",
        [ML_STYLE_DEL] = "\x1b[31m",     [ML_STYLE_DIM] = "\x1b[2m",
        [ML_STYLE_ERROR] = "\x1b[1;31m", [ML_STYLE_NOTE] = "\x1b[33m",
        [ML_STYLE_STRONG] = "\x1b[1m",   [ML_STYLE_REVERSE] = "\x1b[7m",
        [ML_STYLE_HUE + 0] = "\x1b[36m", [ML_STYLE_HUE + 1] = "\x1b[33m",
        [ML_STYLE_HUE + 2] = "\x1b[35m", [ML_STYLE_HUE + 3] = "\x1b[34m",
        [ML_STYLE_HUE + 4] = "\x1b[32m", [ML_STYLE_HUE + 5] = "\x1b[31m",
    };

    return color ? STYLES[s] : "";
}

/* ---- reading sequences */

size_t ml_escape_length(const char *p)
{
    size_t n = 2;

    if (p[0] != ML_ESC || (p[1] != '[' && p[1] != ']'))
        return 0;
    if (p[1] == '[')
        while (p[n] && (p[n] < '@' || p[n] > '~'))
            n++;
    else /* a title: up to BEL or ESC \ */
        while (p[n] && p[n] != '\a' && (p[n] != '\\' || p[n - 1] != ML_ESC))
            n++;
    return n + (p[n] != '\0');
}

size_t ml_escape_look(const char *p)
{
    size_t n = ml_escape_length(p);

    return n > 0 && p[1] == '[' && p[n - 1] == 'm' && strspn(p + 2, "0123456789;:") == n - 3
               ? n
               : 0;
}

const char *ml_terminal_key(const char *seq, size_t n)
{
    for (size_t k = 0; k < ML_COUNT(KEYS); k++)
        if (strlen(KEYS[k].seq) == n && memcmp(KEYS[k].seq, seq, n) == 0)
            return KEYS[k].name;
    return NULL;
}

const char *ml_terminal_key_name(size_t k)
{
    return ENTRY_KEYS[k].key;
}

/* ---- writing them */

const char *ml_escape(ml_Cap cap)
{
    return CAPS[cap].ansi;
}

/* The part of terminfo's language that movements are written in. */
void ml_terminal_add(const ml_Terminal *to, ml_Cap cap, int a, int b, ml_Text *out)
{
    int stack[4] = {0}, arg[2] = {a, b};
    unsigned top = 0; /* of four: no more is ever needed */

    for (const char *p = to->cap[cap]; p && *p; p++) {
        if (*p != '%') {
            ml_text_char(out, *p);
            continue;
        }
        switch (*++p) {
        case 'i':
            arg[0]++;
            arg[1]++;
            break;
        case 'p': stack[top++ & 3] = arg[*++p == '2']; break;
        case '\'':
            stack[top++ & 3] = (unsigned char)*++p;
            p++;
            break;
        case '+':
            top--;
            stack[(top - 1) & 3] += stack[top & 3];
            break;
        case 'd': ml_text_int(out, stack[--top & 3]); break;
        case 'c': ml_text_char(out, (char)stack[--top & 3]); break;
        default: ml_text_char(out, *p); break;
        }
    }
}

static void add_color(ml_Text *out, ml_Depth depth, int32_t c, bool ground)
{
    if (depth == ML_DEPTH_TRUE)
        ml_text_fmt(out, "%d;2;%d;%d;%d;", ground ? 48 : 38, (int)(c >> 16 & 255),
                    (int)(c >> 8 & 255), (int)(c & 255));
    else if (depth == ML_DEPTH_256)
        ml_text_fmt(out, "%d;5;%d;", ground ? 48 : 38, (int)c);
    else
        ml_text_fmt(out, "%d;", (int)c + (ground ? 40 : 30) + (c < 8 ? 0 : 60 - 8));
}

void ml_look_add(const ml_Terminal *to, ml_Depth depth, const ml_Look *from, ml_Look look,
                 ml_Text *out)
{
    static const ml_Look NORMAL = {ML_COLOR_DEFAULT, ML_COLOR_DEFAULT, 0};
    bool less = !from || (from->attr & ~look.attr) != 0 ||
                (from->fg != look.fg && look.fg == ML_COLOR_DEFAULT) ||
                (from->bg != look.bg && look.bg == ML_COLOR_DEFAULT);

    if (less)
        from = &NORMAL;
    if (less && !to->sgr)
        ml_terminal_add(to, ML_CAP_NORMAL, 0, 0, out);
    if (to->sgr)
        ml_text_add(out, less ? "\x1b[0;" : "\x1b[");
    for (size_t k = 0; k < ML_COUNT(ATTRS); k++) {
        if (!(look.attr & ~from->attr & to->attrs & ATTRS[k].attr))
            continue;
        if (to->sgr)
            ml_text_fmt(out, "%d;", ATTRS[k].sgr);
        else
            ml_terminal_add(to, ATTRS[k].cap, 0, 0, out);
    }
    if (!to->sgr)
        return;
    if (look.fg != from->fg)
        add_color(out, depth, look.fg, false);
    if (look.bg != from->bg)
        add_color(out, depth, look.bg, true);
    if (!out->bad)
        out->p[out->n - 1] = 'm'; /* in place of the last ; */
}

/* ---- the entry of terminfo */

const ml_Terminal *ml_ansi(void)
{
    static ml_Terminal t;

    if (!t.attrs) {
        for (size_t k = 0; k < ML_N_CAPS; k++)
            t.cap[k] = CAPS[k].ansi;
        for (size_t k = 0; k < ML_COUNT(ATTRS); k++)
            t.attrs |= ATTRS[k].attr;
        t.sgr = t.corner = true;
        t.colors = -1;
    }
    return &t;
}

#if HAVE_CURSES
/* Its own copy without delays ($<5>), which are for printers on paper; NULL: there is none,
 * or it takes more of the language than is known here. Kept while the program runs. */
static const char *copy_entry(const char *name)
{
    char z[16];

    snprintf(z, sizeof z, "%s", name);
    const char *from = tigetstr(z), *end;

    if (!from || from == (const char *)-1)
        return NULL;
    for (const char *p = strchr(from, '%'); p; p = strchr(p + 2, '%'))
        if (!p[1] || !strchr("ipdc+'%", p[1]))
            return NULL;
    char *copy = malloc(strlen(from) + 1), *to = copy;

    if (!copy)
        ml_out_of_memory();
    for (const char *p = from; *p; p++)
        if (p[0] == '$' && p[1] == '<' && (end = strchr(p, '>')) != NULL)
            p = end;
        else
            *to++ = *p;
    *to = '\0';
    return copy;
}

/* DEC's own and the console of Linux do not know xterm's switches, and do not pass them
 * over. */
static bool knows_switches(const char *term, const char *clear)
{
    static const char *const NOT[] = {"vt1", "vt2", "vt5", "linux"};

    for (size_t k = 0; k < ML_COUNT(NOT); k++)
        if (strncmp(term, NOT[k], strlen(NOT[k])) == 0)
            return false;
    return clear && clear[0] == ML_ESC;
}

static void read_entry(ml_Terminal *t, const char *term)
{
    char am[] = "am", xenl[] = "xenl", colors[] = "colors", ncv[] = "ncv";
    int without = tigetnum(ncv) > 0 ? tigetnum(ncv) : 0;
    bool switches;

    for (size_t k = 0; k < ML_N_CAPS; k++)
        t->cap[k] = CAPS[k].name ? copy_entry(CAPS[k].name) : NULL;
    switches = knows_switches(term, t->cap[ML_CAP_CLEAR]);
    for (size_t k = 0; k < ML_N_CAPS; k++)
        if (!CAPS[k].name && switches)
            t->cap[k] = CAPS[k].ansi;
    for (size_t k = 0; k < ML_KEYS_OF_ENTRY; k++)
        t->key[k] = copy_entry(ENTRY_KEYS[k].name);
    t->attrs = 0;
    for (size_t k = 0; k < ML_COUNT(ATTRS); k++) {
        t->attrs |= t->cap[ATTRS[k].cap] ? ATTRS[k].attr : 0;
        t->uncolored |= without & ATTRS[k].ncv ? ATTRS[k].attr : 0;
    }
    const char *normal = t->cap[ML_CAP_NORMAL];

    t->sgr = normal && strstr(normal, "\x1b[") && strchr(normal, 'm');
    t->colors = tigetnum(colors) >= 8 && t->sgr ? tigetnum(colors) : 0;
    t->corner = tigetflag(am) != 1 || tigetflag(xenl) == 1;
}

/* Why it cannot be shown on, or NULL. What Readline has asked of terminfo stays as it is. */
static const char *find_entry(ml_Terminal *t, const char *term)
{
    static char why[160];
    TERMINAL *before = cur_term;
    int error = 0;

    if (setupterm(NULL, STDOUT_FILENO, &error) != OK) {
        snprintf(why, sizeof why, "does not know this terminal (TERM=%s)", term);
        return why;
    }
    TERMINAL *asked = cur_term;

    read_entry(t, term);
    set_curterm(before);
    del_curterm(asked);
    if (t->cap[ML_CAP_GO] && t->cap[ML_CAP_CLEAR] && t->cap[ML_CAP_CLEAR_ROW])
        return NULL;
    snprintf(why, sizeof why, "wants a terminal that can place its cursor (TERM=%s)", term);
    return why;
}
#else
static const char *find_entry(ml_Terminal *t, const char *term)
{
    (void)t, (void)term;
    return "wants ncurses, which this program was built without";
}
#endif

const ml_Terminal *ml_terminal(void)
{
    static ml_Terminal t;
    static bool asked;
    const char *term = getenv("TERM");

    if (asked)
        return &t;
    asked = true;
    t = *ml_ansi();
    t.lacks = !term || !*term ? "wants a terminal: TERM is not set"
              : ml_streq(term, "dumb")
                  ? "wants a terminal that can place its cursor; TERM is dumb"
                  : find_entry(&t, term);
    return &t;
}

/*
 * line_complete - completion through Readline's own commands, so that ~/.inputrc decides
 * the keys; the list of candidates with a word of explanation each is ours.
 * Source: interaction 4.
 */
#include "repl/line/line_impl.h"

#include "config.h"

#if HAVE_READLINE

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <readline/readline.h>

#include "core/base/arena.h"
#include "repl/line/complete.h"
#include "repl/out/loop.h"

enum { JUDGE_MS = 20 }; /* for all candidates together */

typedef struct Found {
    char **text, **note;
    bool *bad; /* the primitive would reject it: the note says why */
    size_t n, cap;
} Found;

static struct {
    Found all;                /* of the last completion, for the list */
    ml_CompletionPlace place; /* where they go */
    char breaks[2];           /* the character before the word */
    /* whole lists of factors, one after the other */
    Found tilings;
    size_t shown; /* which of them stands there; n: none */
    size_t from;  /* where */
    ml_Text line; /* the line with it; another line ends it */
} comp;

static void drop_found(Found *f)
{
    for (size_t k = 0; k < f->n; k++) {
        ml_heap_free(f->text[k]);
        ml_heap_free(f->note[k]);
    }
    ml_heap_free(f->text);
    ml_heap_free(f->note);
    ml_heap_free(f->bad);
    *f = (Found){0};
}

static char *copy(const char *z)
{
    size_t n = strlen(z) + 1;
    char *p = ml_heap_zalloc(n);

    memcpy(p, z, n);
    return p;
}

static void add_found(const char *text, const char *note, void *user)
{
    Found *f = user;

    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 32;
        f->text = ml_heap_grow(f->text, f->cap * sizeof *f->text);
        f->note = ml_heap_grow(f->note, f->cap * sizeof *f->note);
        f->bad = ml_heap_grow(f->bad, f->cap * sizeof *f->bad);
    }
    f->text[f->n] = copy(text);
    f->bad[f->n] = false;
    f->note[f->n++] = copy(note);
}

static void find_all(ml_CompletionPlace *place)
{
    drop_found(&comp.all);
    *place = ml_completions(ml_line_io.ss, rl_line_buffer, (size_t)rl_point, add_found,
                            &comp.all);
    comp.place = *place;
}

/* Readline looks back from the cursor for one of the characters we return. */
static char *word_breaks(void)
{
    ml_CompletionPlace place;

    find_all(&place);
    comp.breaks[0] = place.start > 0 ? rl_line_buffer[place.start - 1] : '\0';
    comp.breaks[1] = '\0';
    return comp.breaks;
}

/* What all candidates begin with, in whole characters. */
static size_t common(const Found *f)
{
    size_t n = strlen(f->text[0]);

    for (size_t k = 1; k < f->n; k++) {
        size_t m = 0;

        while (m < n && f->text[k][m] == f->text[0][m])
            m++;
        n = m;
    }
    while (n > 0 && ((unsigned char)f->text[0][n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* The array that Readline wants: the common part, the candidates, NULL; it frees them. */
static char **matches(const char *text, int start, int end)
{
    Found *f = &comp.all;
    ml_CompletionPlace place;

    (void)text;
    (void)end;
    rl_attempted_completion_over = 1; /* no file names unless we say so */
    find_all(&place);
    if (f->n == 0 || (size_t)start != place.start)
        return NULL;
    char **v = malloc((f->n + 2) * sizeof *v); /* NOLINT: freed by Readline */

    if (!v)
        return NULL;
    v[0] = strndup(f->text[0], common(f));
    size_t n = f->n > 1 ? f->n : 0; /* of a single one the common part is all of it */

    for (size_t k = 0; k < n; k++)
        v[k + 1] = strdup(f->text[k]);
    v[n + 1] = NULL;
    rl_completion_suppress_append = place.after == '\0';
    rl_completion_append_character = (unsigned char)place.after;
    return v;
}

/* What the primitive would reject is told with the reason. */
static void judge(Found *f)
{
    int64_t end = ml_loop_now() + JUDGE_MS;

    for (size_t k = 0; k < f->n; k++) {
        ml_Text why = {0};
        int64_t left = end - ml_loop_now();

        if (left <= 0)
            return;
        if (ml_completion_rejected(ml_line_io.ss, rl_line_buffer, comp.place, f->text[k],
                                   (int)left, &why)) {
            ml_Text note = {0};

            ml_text_fmt(&note, "✗ %s", ml_text_z(&why));
            ml_heap_free(f->note[k]);
            f->note[k] = copy(ml_text_z(&note));
            f->bad[k] = true;
            ml_text_free(&note);
        }
        ml_text_free(&why);
    }
}

/* Candidate and explanation in a line of their own, cut at the width in whole characters.
 */
static char *list_line(const Found *f, size_t k, size_t wide, size_t width)
{
    ml_Text t = {0}, shown = {0};
    char *z;

    ml_text_add(&t, f->text[k]);
    if (f->note[k][0]) {
        ml_text_repeat(&t, ' ', wide - ml_columns(f->text[k]) + 2);
        ml_text_add(&t, f->note[k]);
    }
    if (ml_line_io.ss->out.ascii)
        ml_out_plain(&shown, ml_text_z(&t));
    else
        ml_text_add(&shown, ml_text_z(&t));
    ml_text_z(&shown);
    size_t n = ml_columns_fit(ml_text_z(&shown), width > 0 ? width - 1 : 0);

    z = ml_heap_zalloc(n + 1);
    memcpy(z, ml_text_z(&shown), n);
    ml_text_free(&t);
    ml_text_free(&shown);
    return z;
}

/* --More--: how many lines more are wanted; 0: none. */
static int ask_for_more(int page)
{
    static const char ASK[] = "--More--";
    const char *gone = ml_escape(ML_CAP_CLEAR_ROW);
    bool signalled = false;
    int more = -1;

    ml_terminal_write(ASK, sizeof ASK - 1);
    while (more < 0) {
        bool key = ml_loop_wait(STDIN_FILENO, ml_line_io.signal_fd, -1, &signalled);
        int c = key && !signalled ? rl_read_key() : 0;

        if (signalled || (key && (c == EOF || c == 'q' || c == 'n' || c == 'Q' ||
                                  c == '\x7f' || c == ML_ESC || c == '\x07')))
            more = 0;
        else if (c == ' ' || c == 'y' || c == '\t')
            more = page;
        else if (c == '\r' || c == '\n' || c == 'j')
            more = 1;
    }
    ml_terminal_write("\r", 1);
    ml_terminal_write(gone, strlen(gone));
    return more;
}

static void show_list(char **lines, size_t n)
{
    int w = 80, h = 24, page, left;

    rl_get_screen_size(&h, &w);
    page = h > 2 ? h - 1 : 1;
    left = page;
    ml_draw_below();
    for (size_t k = 0; k < n; k++) {
        ml_Text t = {0};

        if (left == 0 && k + 1 < n && (left = ask_for_more(page)) == 0)
            break;
        bool dim = comp.all.bad[k] && ml_line_io.ss->out.color;

        ml_text_fmt(&t, "%s%s%s\r\n", ml_style(dim, ML_STYLE_DIM), lines[k],
                    ml_style(dim, ML_STYLE_PLAIN));
        ml_terminal_write(t.p, t.n);
        ml_text_free(&t);
        left -= left > 0;
    }
    ml_draw();
}

/* The list with a word of explanation each. */
static void show_matches(char **v, int n, int longest)
{
    Found *f = &comp.all;
    char **lines;
    size_t wide = 0, max = 0, width = (size_t)ml_line_io.ss->out.width;

    (void)v;
    (void)longest;
    if ((size_t)n > f->n || n < 1)
        return;
    judge(f);
    for (size_t k = 0; k < f->n; k++)
        if (ml_columns(f->text[k]) > wide)
            wide = ml_columns(f->text[k]);
    lines = ml_heap_zalloc((f->n + 2) * sizeof *lines);
    lines[0] = copy("");
    for (size_t k = 0; k < f->n; k++) {
        lines[k + 1] = list_line(f, k, wide, width);
        if (strlen(lines[k + 1]) > max)
            max = strlen(lines[k + 1]);
    }
    if (ml_line_io.drawn)
        show_list(lines + 1, f->n);
    else {
        rl_display_match_list(lines, (int)f->n, (int)max);
        rl_forced_update_display();
    }
    for (size_t k = 0; k <= f->n; k++)
        ml_heap_free(lines[k]);
    ml_heap_free(lines);
}

/* ---- lists of factors */

bool ml_line_cycling(void)
{
    return comp.tilings.n > 0 && comp.shown < comp.tilings.n &&
           ml_streq(ml_text_z(&comp.line), rl_line_buffer) && rl_point == rl_end;
}

static bool next_tiling(void)
{
    bool again = comp.tilings.n > 0 && ml_streq(ml_text_z(&comp.line), rl_line_buffer);

    if (rl_point != rl_end)
        return false;
    if (again)
        comp.shown = (comp.shown + 1) % (comp.tilings.n + 1);
    else {
        drop_found(&comp.tilings);
        ml_completion_tilings(ml_line_io.ss, rl_line_buffer, (size_t)rl_point, add_found,
                              &comp.tilings);
        comp.shown = 0;
        comp.from = (size_t)rl_point;
    }
    if (comp.tilings.n == 0)
        return false;
    rl_begin_undo_group();
    rl_delete_text((int)comp.from, rl_end);
    rl_point = (int)comp.from;
    if (comp.shown < comp.tilings.n)
        rl_insert_text(comp.tilings.text[comp.shown]);
    rl_end_undo_group();
    ml_text_clear(&comp.line);
    ml_text_add(&comp.line, rl_line_buffer);
    return true;
}

int ml_line_complete(int count, int key)
{
    if (next_tiling())
        return 0;
    /* The second in a row lists: Readline looks for its own name. */
    if (rl_last_func == ml_line_complete)
        rl_last_func = rl_complete;
    return rl_complete(count, key);
}

void ml_line_complete_start(void)
{
    rl_attempted_completion_function = matches;
    rl_completion_word_break_hook = word_breaks;
    rl_completion_display_matches_hook = show_matches;
    rl_sort_completion_matches = 0;
}

void ml_line_complete_end(void)
{
    drop_found(&comp.all);
    drop_found(&comp.tilings);
    ml_text_free(&comp.line);
}

#endif

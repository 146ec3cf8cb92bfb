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

#include "moonloop/core/base/own_clock.h"
#include "moonloop/core/ctx.h"
#include "repl/line/complete.h"
#include "repl/out/loop.h"

enum { JUDGE_MS = 20 }; /* for all candidates together */

typedef struct Candidate {
    const char *text, *note;
    bool bad; /* the primitive would reject it: the note says why */
} Candidate;
typedef struct Found { /* in a context of their own */
    ml_Ctx *cx;
    ML_VEC(Candidate) v;
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

static void begin_found(Found *f)
{
    if (f->cx)
        ml_ctx_unref(f->cx);
    *f = (Found){.cx = ml_ctx_new(0)};
}

static void add_found(const char *text, const char *note, void *user)
{
    Found *f = user;

    ml_push(f->cx, &f->v,
            ((Candidate){ml_strdup(f->cx, ml_str(text)), ml_strdup(f->cx, ml_str(note)),
                         false}));
}

static void find_all(ml_CompletionPlace *place)
{
    begin_found(&comp.all);
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
    const char *first = f->v.v[0].text;
    size_t n = strlen(first);

    for (size_t k = 1; k < f->v.n; k++) {
        size_t m = 0;

        while (m < n && f->v.v[k].text[m] == first[m])
            m++;
        n = m;
    }
    while (n > 0 && ((unsigned char)first[n] & 0xc0) == 0x80)
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
    if (f->v.n == 0 || (size_t)start != place.start)
        return NULL;
    char **v = malloc((f->v.n + 2) * sizeof *v); /* NOLINT: freed by Readline */

    if (!v)
        return NULL;
    v[0] = strndup(f->v.v[0].text, common(f));
    size_t n = f->v.n > 1 ? f->v.n : 0; /* of a single one the common part is all of it */

    for (size_t k = 0; k < n; k++)
        v[k + 1] = strdup(f->v.v[k].text);
    v[n + 1] = NULL;
    rl_completion_suppress_append = place.after == '\0';
    rl_completion_append_character = (unsigned char)place.after;
    return v;
}

/* What the primitive would reject is told with the reason. */
static void judge(Found *f)
{
    int64_t end = ml_own_ns() / 1000000 + JUDGE_MS;

    for (size_t k = 0; k < f->v.n; k++) {
        Candidate *c = &f->v.v[k];
        ml_Text why = {0};
        int64_t left = end - ml_own_ns() / 1000000;

        if (left <= 0)
            return;
        c->bad = ml_completion_rejected(ml_line_io.ss, rl_line_buffer, comp.place, c->text,
                                        (int)left, &why);
        if (c->bad)
            c->note = ml_format(f->cx, "✗ %s", ml_text_z(&why));
        ml_text_free(&why);
    }
}

/* Candidate and explanation in a line of their own, cut at the width. */
static void show_candidate(const Candidate *c, size_t wide)
{
    const ml_Out *o = &ml_line_io.ss->out;
    ml_Text t = {0}, shown = {0};
    bool dim = c->bad && o->color;

    ml_text_add(&t, c->text);
    if (c->note[0]) {
        ml_text_repeat(&t, ' ', wide - ml_columns(c->text) + 2);
        ml_text_add(&t, c->note);
    }
    if (o->ascii)
        ml_out_plain(&shown, ml_text_z(&t));
    else
        ml_text_add(&shown, ml_text_z(&t));
    size_t n = ml_columns_fit(ml_text_z(&shown), o->width > 0 ? (size_t)o->width - 1 : 0);

    ml_text_clear(&t);
    ml_text_fmt(&t, "%s%.*s%s\r\n", ml_style(dim, ML_STYLE_DIM), (int)n, ml_text_z(&shown),
                ml_style(dim, ML_STYLE_PLAIN));
    ml_terminal_write(t.p, t.n);
    ml_text_free(&t);
    ml_text_free(&shown);
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

/* The list with a word of explanation each. */
static void show_matches(char **v, int n, int longest)
{
    Found *f = &comp.all;
    size_t wide = 0;
    int w = 80, h = 24, page, left;

    (void)v;
    (void)longest;
    if ((size_t)n > f->v.n || n < 1)
        return;
    judge(f);
    for (size_t k = 0; k < f->v.n; k++)
        if (ml_columns(f->v.v[k].text) > wide)
            wide = ml_columns(f->v.v[k].text);
    rl_get_screen_size(&h, &w);
    page = left = h > 2 ? h - 1 : 1;
    ml_draw_below();
    for (size_t k = 0; k<f->v.n; k++, left -= left> 0) {
        if (left == 0 && k + 1 < f->v.n && (left = ask_for_more(page)) == 0)
            break;
        show_candidate(&f->v.v[k], wide);
    }
    ml_draw();
}

/* ---- lists of factors */

bool ml_line_cycling(void)
{
    return comp.shown < comp.tilings.v.n &&
           ml_streq(ml_text_z(&comp.line), rl_line_buffer) && rl_point == rl_end;
}

static bool next_tiling(void)
{
    bool again = comp.tilings.v.n > 0 && ml_streq(ml_text_z(&comp.line), rl_line_buffer);

    if (rl_point != rl_end)
        return false;
    if (again)
        comp.shown = (comp.shown + 1) % (comp.tilings.v.n + 1);
    else {
        begin_found(&comp.tilings);
        ml_completion_tilings(ml_line_io.ss, rl_line_buffer, (size_t)rl_point, add_found,
                              &comp.tilings);
        comp.shown = 0;
        comp.from = (size_t)rl_point;
    }
    if (comp.tilings.v.n == 0)
        return false;
    rl_begin_undo_group();
    rl_delete_text((int)comp.from, rl_end);
    rl_point = (int)comp.from;
    if (comp.shown < comp.tilings.v.n)
        rl_insert_text(comp.tilings.v.v[comp.shown].text);
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
    for (int k = 0; k < 2; k++) {
        Found *f = k ? &comp.all : &comp.tilings;

        if (f->cx)
            ml_ctx_unref(f->cx);
        *f = (Found){0};
    }
    ml_text_free(&comp.line);
}

#endif

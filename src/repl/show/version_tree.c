/*
 * version_tree - the versions of a schedule as a drawing for :versions.
 *
 * A line of work is written from left to right and folded at the width. Where it forks, the
 * branches hang below, each after `├`, and the line that leads to the current version (else
 * to the newest) goes on after `└` at the same indentation: trials that were taken back
 * make no staircase. No line is wider than the screen from 20 columns on. Source:
 * interaction 6, 15.
 */
#include "moonloop/core/vec.h"
#include "repl/show/versions.h"

enum {
    MIN_WIDTH = 20,
    LINK = 3, /* columns of ` ─ ` and ` ─┐` */
    HANG = 2, /* of a word that hangs below the one before */
};

typedef struct Drawing {
    ml_Schedule *s;
    ml_Ctx *cx;
    ml_Text *out;
    int current;
    size_t width, col;
    int max_depth;
    bool ascii;
} Drawing;

/* ---- lines */

static void add(Drawing *d, const char *text)
{
    ml_text_add(d->out, text);
    d->col += ml_columns(text);
}

static void indent(Drawing *d, int depth)
{
    d->col = 0;
    for (int k = 0; k < depth; k++)
        add(d, "│ ");
}

/* The words of a version: `v5`, `split`, `«tiled»`, `[branch]`, `58 GFLOP/s`, `ok`, `◀`. A
 * row of versions that the undo limit dropped is one word. */
typedef struct Words {
    ML_VEC(const char *) list;
    size_t columns; /* on one line */
} Words;

static void add_word(Drawing *d, Words *w, const char *word)
{
    w->columns += ml_columns(word) + (w->list.n > 0);
    ml_push(d->cx, &w->list, word);
}

/* `«a, b»`: it may be parted behind a comma. */
static void add_marks(Drawing *d, Words *w, const char *marks)
{
    const char *text = ml_format(d->cx, "«%s»", marks), *end;

    for (; (end = strstr(text, ", ")) != NULL; text = end + 2)
        add_word(d, w, ml_strdup(d->cx, (ml_Str){text, (size_t)(end - text) + 1}));
    add_word(d, w, text);
}

static Words words_of(Drawing *d, const ml_VersionEntry *e)
{
    Words w = {0};
    ml_Step step;
    int v = e->version;
    const char *marks, *branch = ml_version_branch(d->s, v);

    if (e->last > v) {
        add_word(d, &w, ml_format(d->cx, "v%d..v%d", v, e->last));
        add_word(d, &w, "dropped");
        return w;
    }
    ml_version_step(d->s, v, &step);
    add_word(d, &w, ml_format(d->cx, "v%d", v));
    if (step.prim)
        add_word(d, &w, step.prim->name);
    if ((marks = ml_schedule_marks_of(d->s, v)) != NULL)
        add_marks(d, &w, marks);
    if (branch)
        add_word(d, &w, ml_format(d->cx, "[%s]", branch)); /* where :goto leads by it */
    if (step.speed)
        add_word(d, &w, step.speed);
    if (step.check)
        add_word(d, &w, step.check);
    if (!ml_version_known(d->s, v))
        add_word(d, &w, "dropped");
    if (v == d->current)
        add_word(d, &w, "◀");
    return w;
}

/* A word, or as much of it as the room on the line allows. */
static void put_word(Drawing *d, const char *word, size_t room)
{
    size_t dots = d->ascii ? 3 : 1, n = 0, columns = 0;

    if (ml_columns(word) <= room) {
        add(d, word);
        return;
    }
    while (word[n] && columns + dots < room) {
        n++;
        while (((unsigned char)word[n] & 0xc0) == 0x80)
            n++;
        columns++;
    }
    ml_text_addn(d->out, word, n);
    ml_text_add(d->out, "…");
    d->col += columns + dots;
}

/* The words at the cursor, which stands at the beginning of a line behind its joint; those
 * that do not fit hang below. */
static void put_words(Drawing *d, const Words *w, int depth, size_t limit)
{
    for (size_t k = 0; k < w->list.n; k++) {
        const char *word = w->list.v[k];

        if (k > 0 && d->col + 1 + ml_columns(word) > limit) {
            ml_text_char(d->out, '\n');
            indent(d, depth);
            ml_text_repeat(d->out, ' ', HANG);
            d->col += HANG;
        } else if (k > 0)
            add(d, " ");
        put_word(d, word, limit > d->col ? limit - d->col : 1);
    }
}

/* Outside Unicode `+` is the joint of a branch: the line that goes on needs another. */
static const char *on_joint(const Drawing *d)
{
    return d->ascii ? "` " : "└ ";
}

/* Draws one line of work, the entries from *k on. */
static void draw_line(Drawing *d, const ml_VersionOrder *o, size_t *k)
{
    const ml_VersionEntry *e = &o->v[*k];
    int depth = e->depth < d->max_depth ? e->depth : d->max_depth;
    int from = e->depth - (e->joint == ML_JOINT_SIDE); /* where it branches off */
    bool deep = e->joint != ML_JOINT_ROOT && from >= d->max_depth;

    indent(d, from < d->max_depth ? from : d->max_depth);
    if (e->joint != ML_JOINT_ROOT)
        add(d, e->joint == ML_JOINT_SIDE ? "├ " : on_joint(d));
    for (bool fresh = true;; fresh = false, e = &o->v[*k]) {
        Words w = words_of(d, e);
        size_t tail = e->ends ? 0 : LINK;

        ++*k;
        if (fresh && deep)
            add_word(d, &w, ml_format(d->cx, "(from v%d)", e->parent));
        if (!fresh && d->col + LINK + w.columns + tail > d->width) {
            add(d, " ─┐\n");
            indent(d, depth);
            add(d, on_joint(d));
        } else if (!fresh)
            add(d, " ─ ");
        put_words(d, &w, depth, d->width - tail);
        if (e->ends || e->forks)
            break;
    }
    if (e->forks)
        add(d, " ─┐");
    ml_text_char(d->out, '\n');
}

void ml_show_versions(ml_Session *ss, ml_Schedule *s, ml_Text *out)
{
    Drawing d = {.s = s, .cx = ml_ctx_new(0), .out = out, .ascii = ss->out.ascii};
    ml_VersionOrder order = {0};

    d.width = ss->out.width > MIN_WIDTH ? (size_t)ss->out.width : MIN_WIDTH;
    d.max_depth = (int)((d.width - MIN_WIDTH / 2) / 8) + 1;
    d.current = ml_schedule_version(s);
    ml_version_order(d.cx, s, &order);
    for (size_t k = 0; k < order.n;)
        draw_line(&d, &order, &k);
    ml_ctx_unref(d.cx);
}

/*
 * version_tree - the versions of a schedule as a drawing for :versions.
 *
 * One line of work that fits on a line stands on it. Else each version has a line of its own
 * behind the lanes, as `git log --graph` draws: a branch opens a lane at `├─╮` and is drawn
 * whole before the lane that it left goes on. The line that leads to the current version
 * (else to the newest) keeps its lane: trials that were taken back make no staircase. What
 * names a version is folded at words; what its step did stands behind it as far as there is
 * room. No line is wider than the screen from 20 columns on. Source: interaction 6, 15.
 */
#include "moonloop/core/vec.h"
#include "repl/show/versions.h"

enum {
    MIN_WIDTH = 20,
    MOST = 6,    /* a lane for so many columns of the screen: they take a third of it */
    HANG = 2,    /* of a word that hangs below the one before */
    DETAIL = 12, /* columns below which it says nothing of a step */
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

static void add_lanes(Drawing *d, int lanes)
{
    d->col = 0;
    for (int k = 0; k < lanes; k++)
        add(d, "│ ");
}

/* The words of a version: `v5`, `split`, `«tiled»`, `[branch]`, `58 GFLOP/s`, `ok`, `◀`. A
 * row of versions that the undo limit dropped is one word. */
typedef struct Words {
    ML_VEC(const char *) list;
} Words;

/* As it will be shown: outside Unicode some characters take several columns. */
static const char *to_shown(Drawing *d, const char *z)
{
    ml_Text t = {0};

    if (!d->ascii)
        return z;
    ml_out_plain(&t, z);
    z = ml_strdup(d->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static void add_word(Drawing *d, Words *w, const char *word)
{
    const char *shown = to_shown(d, word);

    ml_push(d->cx, &w->list, shown);
}

/* `«a, b»`: it may be parted behind a comma. */
static void add_marks(Drawing *d, Words *w, int version)
{
    const char *z = ml_version_name(d->s, version, false, 0), *next;

    for (size_t k = 1; z; k++, z = next) {
        next = ml_version_name(d->s, version, false, k);
        add_word(d, w, ml_format(d->cx, "%s%s%s", k == 1 ? "«" : "", z, next ? "," : "»"));
    }
}

static Words words_of(Drawing *d, const ml_VersionEntry *e)
{
    Words w = {0};
    ml_Step step;
    int v = e->version;
    const char *branch = ml_version_branch(d->s, v);

    if (e->last > v) {
        add_word(d, &w, ml_format(d->cx, "v%d..v%d", v, e->last));
        add_word(d, &w, "dropped");
        return w;
    }
    ml_version_step(d->s, v, &step);
    add_word(d, &w, ml_format(d->cx, "v%d", v));
    if (step.prim)
        add_word(d, &w, step.prim->name);
    add_marks(d, &w, v);
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
    size_t dots = d->ascii ? 3 : 1;

    if (ml_columns(word) <= room) {
        add(d, word);
        return;
    }
    ml_text_addn(d->out, word, ml_columns_fit(word, room > dots ? room - dots : 0));
    ml_text_add(d->out, "…");
    d->col += room;
}

/* The words at the cursor; those that do not fit hang below, behind the lanes. */
static void put_words(Drawing *d, const Words *w, int lanes, bool goes_on)
{
    for (size_t k = 0; k < w->list.n; k++) {
        const char *word = w->list.v[k];

        if (k > 0 && d->col + 1 + ml_columns(word) > d->width) {
            ml_text_char(d->out, '\n');
            add_lanes(d, lanes);
            add(d, goes_on ? "│ " : "  ");
            ml_text_repeat(d->out, ' ', HANG);
            d->col += HANG;
        } else if (k > 0)
            add(d, " ");
        put_word(d, word, d->width > d->col ? d->width - d->col : 1);
    }
}

/* What the step did, behind the name of its primitive, as far as the line has room. */
static void put_detail(Drawing *d, const ml_VersionEntry *e)
{
    enum { GAP = 3 };
    const char *z;
    ml_Step step;

    if (e->last > e->version || !ml_version_step(d->s, e->version, &step) || !step.prim ||
        !step.headline || d->col + GAP + DETAIL > d->width)
        return;
    z = step.headline + strlen(step.prim->name);
    while (*z == ' ')
        z++;
    if (!*z || *z == '\n')
        return;
    ml_text_repeat(d->out, ' ', GAP);
    d->col += GAP;
    z = to_shown(d, ml_strdup(d->cx, (ml_Str){z, strcspn(z, "\n")}));
    put_word(d, z, d->width - d->col);
}

static void draw_version(Drawing *d, const ml_VersionEntry *e)
{
    int lanes = e->depth < d->max_depth ? e->depth : d->max_depth;
    Words w = words_of(d, e);

    if (e->joint == ML_JOINT_SIDE && e->depth <= d->max_depth) {
        add_lanes(d, lanes - 1);
        add(d, d->ascii ? "|\\\n" : "├─╮\n");
    } else if ((e->joint == ML_JOINT_SIDE || e->joint == ML_JOINT_ON) &&
               e->depth + (e->joint == ML_JOINT_ON) > d->max_depth)
        add_word(d, &w, ml_format(d->cx, "(from v%d)", e->parent)); /* no lane leads here */
    add_lanes(d, lanes);
    if (d->ascii)
        add(d, "* ");
    else
        add(d, e->version == d->current ? "● " : "○ ");
    put_words(d, &w, lanes, !e->ends);
    put_detail(d, e);
    ml_text_char(d->out, '\n');
}

/* On one line, if they are one line of work and fit there. */
static bool draw_row(Drawing *d, const ml_VersionOrder *o)
{
    static const char link[] = " ─ ";
    ml_Text row = {0};
    bool fits = true;

    for (size_t k = 0; k < o->n && fits; k++) {
        Words w = words_of(d, &o->v[k]);

        fits = !o->v[k].forks;
        ml_text_add(&row, k > 0 ? link : "");
        for (size_t n = 0; n < w.list.n; n++)
            ml_text_fmt(&row, "%s%s", n > 0 ? " " : "", w.list.v[n]);
    }
    fits = fits && ml_columns(ml_text_z(&row)) <= d->width;
    if (fits)
        ml_text_fmt(d->out, "%s\n", ml_text_z(&row));
    ml_text_free(&row);
    return fits;
}

void ml_show_versions(ml_Session *ss, ml_Schedule *s, ml_Text *out)
{
    Drawing d = {.s = s, .cx = ml_ctx_new(0), .out = out, .ascii = ss->out.ascii};
    ml_VersionOrder order = {0};

    d.width = ss->out.width > MIN_WIDTH ? (size_t)ss->out.width : MIN_WIDTH;
    d.max_depth = (int)(d.width / MOST);
    d.current = ml_schedule_version(s);
    ml_version_order(d.cx, s, &order);
    bool drawn = draw_row(&d, &order);

    for (size_t k = 0; !drawn && k < order.n; k++)
        draw_version(&d, &order.v[k]);
    ml_ctx_unref(d.cx);
}

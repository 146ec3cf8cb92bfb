/*
 * version_tree - the versions of a schedule as a drawing for :versions.
 *
 * A line of work is written from left to right and folded at the width. Where it forks, the
 * branches hang below, each after `├`, and the line that leads to the current version (else
 * to the newest) goes on after `└` at the same indentation: trials that were taken back
 * make no staircase. No line is wider than the screen from 20 columns on. Lines of work
 * that wait for their turn are kept on a stack of our own: depth and length do not matter.
 * Source: interaction 6, 15.
 */
#include "core/vec.h"
#include "repl/versions.h"

enum {
    MIN_WIDTH = 20,
    LINK = 3, /* columns of ` ─ ` and ` ─┐` */
    HANG = 2, /* of a word that hangs below the one before */
};

typedef enum Joint { JOINT_ROOT, JOINT_SIDE, JOINT_ON } Joint;

typedef struct Pending { /* a line of work that is to be drawn */
    int first;
    int depth; /* levels of indentation before the joint */
    Joint joint;
    bool says_parent; /* the indentation is used up: it is named */
} Pending;

typedef struct Node {
    int first, last; /* children, oldest and newest; -1: none */
    int next;        /* sibling */
    bool leads;      /* to the current version, or is it */
} Node;

typedef struct Drawing {
    ml_Schedule *s;
    ml_Ctx *cx;
    ml_Text *out;
    Node *v;
    int n, current;
    size_t width, col;
    int max_depth;
    bool ascii;
    ML_VEC(Pending) stack;
} Drawing;

/* ---- the tree */

static void read_tree(Drawing *d)
{
    ml_Step step;

    d->n = ml_schedule_n_versions(d->s);
    d->current = ml_schedule_version(d->s);
    d->v = ML_ARRAY(d->cx, Node, (size_t)d->n);
    for (int v = 0; v < d->n; v++)
        d->v[v] = (Node){-1, -1, -1, false};
    for (int v = 0; v < d->n; v++) {
        if (!ml_version_step(d->s, v, &step) || step.parent < 0)
            continue;
        Node *p = &d->v[step.parent];

        if (p->last < 0)
            p->first = v;
        else
            d->v[p->last].next = v;
        p->last = v;
    }
    for (int v = d->current; v >= 0; v = ml_version_step(d->s, v, &step) ? step.parent : -1)
        d->v[v].leads = true;
}

static bool has_one_child(const Drawing *d, int v)
{
    return d->v[v].first >= 0 && d->v[v].first == d->v[v].last;
}

/* The child that goes on at the same indentation. */
static int main_child(const Drawing *d, int v)
{
    for (int c = d->v[v].first; c >= 0; c = d->v[c].next)
        if (d->v[c].leads)
            return c;
    return d->v[v].last;
}

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

static Words words_of(Drawing *d, int v, int *last)
{
    Words w = {0};
    ml_Step step;
    const char *marks, *branch = ml_version_branch(d->s, v);
    int dropped = 0;

    *last = v;
    while (!ml_version_known(d->s, *last) && has_one_child(d, *last) &&
           !ml_version_known(d->s, d->v[*last].first)) {
        *last = d->v[*last].first;
        dropped++;
    }
    if (dropped > 0) {
        add_word(d, &w, ml_format(d->cx, "v%d..v%d", v, *last));
        add_word(d, &w, "dropped");
        return w;
    }
    ml_version_step(d->s, v, &step);
    add_word(d, &w, ml_format(d->cx, "v%d", v));
    if (step.prim)
        add_word(d, &w, step.prim->name);
    if ((marks = ml_schedule_marks_of(d->s, v)) != NULL)
        add_marks(d, &w, marks);
    if (branch && ml_schedule_find_branch(d->s, branch) == v)
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

/* Puts the branches of v on the stack so that the oldest is drawn first and the line that
 * goes on last. */
static void branch_out(Drawing *d, int v, int depth)
{
    int on = main_child(d, v);
    size_t from;
    bool deep = depth >= d->max_depth;

    ml_push(d->cx, &d->stack, ((Pending){on, depth, JOINT_ON, deep}));
    from = d->stack.n;
    for (int c = d->v[v].first; c >= 0; c = d->v[c].next)
        if (c != on)
            ml_push(d->cx, &d->stack, ((Pending){c, depth, JOINT_SIDE, deep}));
    for (size_t a = from, b = d->stack.n; a + 1 < b; a++, b--) {
        Pending p = d->stack.v[a];

        d->stack.v[a] = d->stack.v[b - 1];
        d->stack.v[b - 1] = p;
    }
}

static void draw_line(Drawing *d, Pending p)
{
    int v = p.first, last, depth = p.depth;
    ml_Step step;

    indent(d, depth);
    if (p.joint != JOINT_ROOT)
        add(d, p.joint == JOINT_SIDE ? "├ " : on_joint(d));
    if (p.joint == JOINT_SIDE && depth < d->max_depth)
        depth++;
    for (bool fresh = true;; fresh = false) {
        Words w = words_of(d, v, &last);
        size_t tail = d->v[last].first >= 0 ? LINK : 0;

        if (fresh && p.says_parent && ml_version_step(d->s, v, &step))
            add_word(d, &w, ml_format(d->cx, "(from v%d)", step.parent));
        if (!fresh && d->col + LINK + w.columns + tail > d->width) {
            add(d, " ─┐\n");
            indent(d, depth);
            add(d, on_joint(d));
        } else if (!fresh)
            add(d, " ─ ");
        put_words(d, &w, depth, d->width - tail);
        if (!has_one_child(d, last))
            break;
        v = d->v[last].first;
    }
    if (d->v[last].first >= 0) {
        add(d, " ─┐");
        branch_out(d, last, depth);
    }
    ml_text_char(d->out, '\n');
}

void ml_show_versions(ml_Session *ss, ml_Schedule *s, ml_Text *out)
{
    Drawing d = {.s = s, .cx = ml_ctx_new(0), .out = out, .ascii = ss->out.ascii};

    d.width = ss->out.width > MIN_WIDTH ? (size_t)ss->out.width : MIN_WIDTH;
    d.max_depth = (int)((d.width - MIN_WIDTH / 2) / 8) + 1;
    read_tree(&d);
    ml_push(d.cx, &d.stack, ((Pending){0, 0, JOINT_ROOT, false}));
    while (d.stack.n > 0)
        draw_line(&d, d.stack.v[--d.stack.n]);
    ml_ctx_unref(d.cx);
}

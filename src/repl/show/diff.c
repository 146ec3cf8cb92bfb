/*
 * diff - what changed between two texts, by lines, as the prompt shows it after a step.
 *
 * The common beginning and end are cut off, the rest is aligned by a longest common
 * subsequence; stretches too large for the quadratic table are taken as replaced. A line
 * that only moved right or left counts as unchanged. Gutter: old and new line number, sign.
 * Source: interaction 5.
 */
#include "repl/show/diff.h"
#include "moonloop/core/base/arena.h"
#include "repl/out/out.h"

typedef struct Line {
    const char *p;
    size_t n;     /* without the newline */
    size_t strip; /* leading blanks */
} Line;

typedef struct Lines {
    Line *v;
    size_t n;
} Lines;

static Lines cut(const char *text)
{
    Lines l = {0};
    size_t cap = 1;

    for (const char *p = text; *p; p++)
        cap += *p == '\n';
    l.v = ml_heap_zalloc((cap + 1) * sizeof *l.v);
    for (const char *p = text; *p;) {
        const char *end = strchr(p, '\n');
        size_t n = end ? (size_t)(end - p) : strlen(p), strip = 0;

        while (strip < n && p[strip] == ' ')
            strip++;
        l.v[l.n++] = (Line){p, n, strip};
        p += n + (end ? 1 : 0);
    }
    return l;
}

static bool same(const Line *a, const Line *b)
{
    return a->n - a->strip == b->n - b->strip &&
           memcmp(a->p + a->strip, b->p + b->strip, a->n - a->strip) == 0;
}

enum { TABLE_LIMIT = 4000000 };

/* The lines of both texts that stay: [from, to) of each are compared. */
typedef struct Kept {
    const Lines *a, *b;
    bool *in_a, *in_b;
} Kept;

static void keep(Kept *k, size_t i, size_t j)
{
    k->in_a[i] = k->in_b[j] = true;
}

/* Those of a longest common subsequence of what stands between these lines. */
static void align(Kept *k, size_t i, size_t a_end, size_t j, size_t b_end)
{
    const Line *a = k->a->v, *b = k->b->v;

    while (i < a_end && j < b_end && same(&a[i], &b[j]))
        keep(k, i++, j++);
    while (a_end > i && b_end > j && same(&a[a_end - 1], &b[b_end - 1]))
        keep(k, --a_end, --b_end);
    size_t n = a_end - i, m = b_end - j;

    if (n == 0 || m == 0 || n > TABLE_LIMIT / m)
        return;
    uint32_t *t = ml_heap_zalloc(((n + 1) * (m + 1)) * sizeof *t);

#define AT(x, y) t[(x) * (m + 1) + (y)]
    for (size_t x = n; x-- > 0;)
        for (size_t y = m; y-- > 0;) {
            if (same(&a[i + x], &b[j + y]))
                AT(x, y) = AT(x + 1, y + 1) + 1;
            else
                AT(x, y) = AT(x + 1, y) > AT(x, y + 1) ? AT(x + 1, y) : AT(x, y + 1);
        }
    for (size_t x = 0, y = 0; x < n && y < m;) {
        if (same(&a[i + x], &b[j + y]))
            keep(k, i + x++, j + y++);
        else if (AT(x + 1, y) >= AT(x, y + 1))
            x++;
        else
            y++;
    }
#undef AT
    ml_heap_free(t);
}

/* What is told to be equal parts the texts into pieces that are compared. A name may have
 * changed all the same: then it is a line like any other. */
static void align_all(Kept *k, const ml_DiffOpts *o)
{
    size_t i = 0, j = 0;

    for (size_t s = 0; o && s < o->n_same; s++) {
        ml_DiffSame e = o->same[s];
        size_t n = 0;

        while (n < e.n && same(&k->a->v[e.a + n], &k->b->v[e.b + n]))
            n++;
        if (n < e.n)
            continue;
        align(k, i, e.a, j, e.b);
        for (i = e.a, j = e.b; n > 0; n--)
            keep(k, i++, j++);
    }
    align(k, i, k->a->n, j, k->b->n);
}

typedef struct Row {
    char sign; /* ' ', '-', '+'; of trees also '~' */
    size_t a, b;
} Row;

typedef struct Rows {
    Lines a, b;
    Row *v;
    size_t n;
} Rows;

static Rows compare(const char *a, const char *b, const ml_DiffOpts *o)
{
    Rows r = {.a = cut(a), .b = cut(b)};
    Kept k = {&r.a, &r.b, ml_heap_zalloc(r.a.n + 1), ml_heap_zalloc(r.b.n + 1)};

    r.v = ml_heap_zalloc((r.a.n + r.b.n + 1) * sizeof *r.v);
    align_all(&k, o);
    for (size_t i = 0, j = 0; i < r.a.n || j < r.b.n;) {
        if (i < r.a.n && !k.in_a[i])
            r.v[r.n++] = (Row){'-', i++, j};
        else if (j < r.b.n && !k.in_b[j])
            r.v[r.n++] = (Row){'+', i, j++};
        else
            r.v[r.n++] = (Row){' ', i++, j++};
    }
    ml_heap_free(k.in_a);
    ml_heap_free(k.in_b);
    return r;
}

static void rows_free(Rows *r)
{
    ml_heap_free(r->a.v);
    ml_heap_free(r->b.v);
    ml_heap_free(r->v);
}

ml_DiffStats ml_diff_signs(const char *a, const char *b, char *sign)
{
    Rows r = compare(a, b, NULL);
    ml_DiffStats st = {0};
    char *last = NULL;
    size_t gone = 0; /* since the last line of both, where nothing is new */

    for (size_t k = 0; k < r.n; k++) {
        const Row *row = &r.v[k];
        bool new_above = last && *last == '+';

        if (row->sign == '-') {
            st.removed++;
            gone += !new_above;
            continue;
        }
        last = &sign[row->b];
        *last = row->sign == '+' ? '+' : gone > 0 ? '-' : ' ';
        gone = 0;
        st.added += row->sign == '+';
        st.same += row->sign != '+';
    }
    if (gone > 0 && last && *last == ' ')
        *last = '-';
    rows_free(&r);
    return st;
}

static void print_row(ml_Text *out, const Row *r, const Lines *a, const Lines *b,
                      bool color)
{
    const Line *l = r->sign == '-' ? &a->v[r->a] : &b->v[r->b];

    ml_text_add(out, ml_style(color, r->sign == '-'   ? ML_STYLE_DEL
                                     : r->sign == '+' ? ML_STYLE_ADD
                                                      : ML_STYLE_PLAIN));
    if (r->sign == '+')
        ml_text_add(out, "    ");
    else
        ml_text_fmt(out, "%4zu", r->a + 1);
    if (r->sign == '-')
        ml_text_add(out, "   ");
    else
        ml_text_fmt(out, "%3zu", r->b + 1);
    ml_text_char(out, ' ');
    ml_text_char(out, r->sign);
    if (l->n > 0) {
        ml_text_char(out, ' ');
        ml_text_addn(out, l->p, l->n);
    }
    if (color && r->sign != ' ')
        ml_text_add(out, ml_style(color, ML_STYLE_PLAIN));
    ml_text_char(out, '\n');
}

static void print_fold(ml_Text *out, size_t n, bool color)
{
    ml_text_fmt(out, "%s      … %zu line%s%s\n", ml_style(color, ML_STYLE_DIM), n,
                n == 1 ? "" : "s", ml_style(color, ML_STYLE_PLAIN));
}

static ml_DiffStats print_rows(ml_Text *out, const Row *rows, size_t n, const Lines *a,
                               const Lines *b, const ml_DiffOpts *o)
{
    ml_DiffStats st = {0};
    bool *show = ml_heap_zalloc((n + 1) * sizeof *show);
    size_t first = n, folded = 0;

    for (size_t k = 0; k < n; k++) {
        st.removed += rows[k].sign == '-';
        st.added += rows[k].sign == '+';
        st.same += rows[k].sign == ' ';
        if (rows[k].sign == ' ')
            continue;
        size_t from = k > (size_t)o->context ? k - (size_t)o->context : 0;

        for (size_t m = from; m <= k + (size_t)o->context && m < n; m++)
            show[m] = true;
        if (first == n)
            first = k;
    }
    /* The function header is context for nothing. */
    for (size_t k = 0; k < first && k < n; k++)
        show[k] = show[k] && b->v[rows[k].b].strip > 0;
    /* Long stretches of one sign are folded in the middle. */
    for (size_t k = 0; o->fold > 0 && k < n;) {
        size_t end = k;

        while (end < n && rows[end].sign == rows[k].sign)
            end++;
        if (rows[k].sign != ' ' && end - k > (size_t)o->fold)
            for (size_t m = k + (size_t)o->fold * 2 / 3; m + (size_t)o->fold / 3 < end; m++)
                show[m] = false;
        k = end;
    }
    for (size_t k = 0; k < n; k++) {
        if (!show[k]) {
            folded += k > first;
            continue;
        }
        if (folded) {
            print_fold(out, folded, o->color);
            st.shown++;
        }
        folded = 0;
        print_row(out, &rows[k], a, b, o->color);
        st.shown++;
    }
    if (folded) {
        print_fold(out, folded, o->color);
        st.shown++;
    }
    ml_heap_free(show);
    return st;
}

ml_DiffStats ml_diff_text(ml_Text *out, const char *a, const char *b,
                          const ml_DiffOpts *opts)
{
    Rows r = compare(a, b, opts);
    ml_DiffStats st = print_rows(out, r.v, r.n, &r.a, &r.b, opts);

    rows_free(&r);
    return st;
}

/* ---- trees */

static ml_Str word(const Line *l)
{
    size_t n = 0;

    while (l->strip + n < l->n && l->p[l->strip + n] != ' ')
        n++;
    return (ml_Str){l->p + l->strip, n};
}

/* What stands behind the name. */
static ml_Str rest(const Line *l)
{
    size_t at = l->strip + word(l).n;

    while (at < l->n && l->p[at] == ' ')
        at++;
    return (ml_Str){l->p + at, l->n - at};
}

static bool equal(ml_Str a, ml_Str b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* The items of `reads` or `writes` in what a tree says of a block; empty: none. */
static ml_Str section(ml_Str s, const char *name)
{
    size_t n = strlen(name), from = 0, end;

    while (from + n <= s.n && memcmp(s.p + from, name, n) != 0)
        from++;
    if (from + n > s.n)
        return (ml_Str){s.p, 0};
    for (end = from += n; end < s.n; end++)
        if (memcmp(s.p + end, "   ", s.n - end < 3 ? s.n - end : 3) == 0 ||
            (s.n - end > 9 && memcmp(s.p + end, ", writes ", 9) == 0))
            break;
    return (ml_Str){s.p + from, end - from};
}

static ml_Str next_item(ml_Str *s)
{
    size_t n = 0;
    ml_Str item;

    while (n < s->n && s->p[n] != ',')
        n++;
    item = (ml_Str){s->p, n};
    n += n < s->n; /* the comma, and the blank behind it */
    n += n < s->n;
    *s = (ml_Str){s->p + n, s->n - n};
    return item;
}

static size_t count_items(ml_Str s)
{
    size_t n = 0;

    for (; s.n > 0; n++)
        next_item(&s);
    return n;
}

static void add_arrow(ml_Text *out, ml_Str a, ml_Str b)
{
    ml_text_addn(out, a.p, a.n);
    if (equal(a, b))
        return;
    ml_text_add(out, a.n > 0 && b.n > 0 ? " → " : a.n > 0 ? " → nothing" : "→ ");
    ml_text_addn(out, b.p, b.n);
}

/* `A, B → B_global`, item by item where there are as many. */
static void add_items(ml_Text *out, ml_Str a, ml_Str b)
{
    if (count_items(a) != count_items(b)) {
        add_arrow(out, a, b);
        return;
    }
    for (bool first = true; a.n > 0; first = false) {
        ml_text_add(out, first ? "" : ", ");
        ml_Str x = next_item(&a);

        add_arrow(out, x, next_item(&b));
    }
}

static void print_change(ml_Text *out, const Line *was, const Line *now)
{
    static const char *const names[] = {"reads ", "writes "};
    ml_Str a = rest(was), b = rest(now);
    size_t n = 0;

    ml_text_addn(out, now->p, (size_t)(b.p - now->p));
    for (size_t k = 0; k < ML_COUNT(names); k++) {
        ml_Str x = section(a, names[k]), y = section(b, names[k]);

        if (equal(x, y))
            continue;
        ml_text_fmt(out, "%s%s", n++ ? ", " : "", names[k]);
        add_items(out, x, y);
    }
    if (n == 0) /* a loop, or a predicate */
        add_arrow(out, a, b);
}

/* A node that went and came again under its name is one that changed. */
static void find_changes(Rows *r)
{
    size_t to = 0;

    for (size_t k = 0; k < r->n; k++) {
        size_t end = k, m;

        while (end < r->n && r->v[end].sign != ' ')
            end++;
        for (m = k; r->v[k].sign == '-' && m < end; m++)
            if (r->v[m].sign == '+' &&
                equal(word(&r->b.v[r->v[m].b]), word(&r->a.v[r->v[k].a])))
                break;
        if (r->v[k].sign == '-' && m < end)
            r->v[m] = (Row){'~', r->v[k].a, r->v[m].b};
        else
            r->v[to++] = r->v[k];
    }
    r->n = to;
}

static void print_node(ml_Text *out, const Rows *r, const Row *row, bool color)
{
    const Line *l = row->sign == '-' ? &r->a.v[row->a] : &r->b.v[row->b];

    ml_text_add(out, ml_style(color, row->sign == '-'   ? ML_STYLE_DEL
                                     : row->sign == ' ' ? ML_STYLE_PLAIN
                                                        : ML_STYLE_ADD));
    ml_text_char(out, row->sign);
    ml_text_char(out, ' ');
    if (row->sign == '~')
        print_change(out, &r->a.v[row->a], l);
    else
        ml_text_addn(out, l->p, l->n);
    if (color && row->sign != ' ')
        ml_text_add(out, ml_style(color, ML_STYLE_PLAIN));
    ml_text_char(out, '\n');
}

void ml_diff_tree(ml_Text *out, const char *a, const char *b, bool color)
{
    Rows r = compare(a, b, NULL);
    bool changed = false;

    find_changes(&r);
    for (size_t k = 0; k < r.n; k++)
        changed |= r.v[k].sign != ' ';
    for (size_t k = 0; changed && k < r.n;) {
        size_t end = k;

        /* The root, and what is behind a node that came or went, show where it is. */
        while (end < r.n && r.v[end].sign == ' ' && end > 0 &&
               (r.v[end - 1].sign == ' ' || r.v[end - 1].sign == '~'))
            end++;
        if (end - k < 2) {
            print_node(out, &r, &r.v[k++], color);
            continue;
        }
        ml_text_add(out, ml_style(color, ML_STYLE_DIM));
        ml_text_repeat(out, ' ', r.b.v[r.v[k].b].strip + 2);
        ml_text_fmt(out, "… %zu nodes%s\n", end - k, ml_style(color, ML_STYLE_PLAIN));
        k = end;
    }
    rows_free(&r);
}

/*
 * diff - what changed between two texts, by lines, as the prompt shows it after a step.
 *
 * The common beginning and end are cut off, the rest is aligned by a longest common
 * subsequence; stretches too large for the quadratic table are taken as replaced. A line
 * that only moved right or left counts as unchanged. Gutter: old and new line number, sign.
 * Source: interaction 5.
 */
#include "repl/diff.h"
#include "core/arena.h"
#include "repl/out.h"

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

/* keep_a[i], keep_b[j]: the line belongs to the common subsequence. */
static void align(const Lines *a, const Lines *b, bool *keep_a, bool *keep_b)
{
    size_t top = 0, na = a->n, nb = b->n;

    while (top < na && top < nb && same(&a->v[top], &b->v[top])) {
        keep_a[top] = keep_b[top] = true;
        top++;
    }
    while (na > top && nb > top && same(&a->v[na - 1], &b->v[nb - 1])) {
        na--;
        nb--;
        keep_a[na] = keep_b[nb] = true;
    }
    size_t n = na - top, m = nb - top;

    if (n == 0 || m == 0 || n > TABLE_LIMIT / m)
        return;
    uint32_t *t = ml_heap_zalloc(((n + 1) * (m + 1)) * sizeof *t);

#define AT(i, j) t[(i) * (m + 1) + (j)]
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            if (same(&a->v[top + i], &b->v[top + j]))
                AT(i, j) = AT(i + 1, j + 1) + 1;
            else
                AT(i, j) = AT(i + 1, j) > AT(i, j + 1) ? AT(i + 1, j) : AT(i, j + 1);
        }
    for (size_t i = 0, j = 0; i < n && j < m;) {
        if (same(&a->v[top + i], &b->v[top + j])) {
            keep_a[top + i++] = true;
            keep_b[top + j++] = true;
        } else if (AT(i + 1, j) >= AT(i, j + 1))
            i++;
        else
            j++;
    }
#undef AT
    ml_heap_free(t);
}

typedef struct Row {
    char sign; /* ' ', '-', '+' */
    size_t a, b;
} Row;

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
    Lines la = cut(a), lb = cut(b);
    bool *keep_a = ml_heap_zalloc(la.n + 1), *keep_b = ml_heap_zalloc(lb.n + 1);
    Row *rows = ml_heap_zalloc((la.n + lb.n + 1) * sizeof *rows);
    ml_DiffStats st = {0};
    size_t n = 0;

    align(&la, &lb, keep_a, keep_b);
    for (size_t i = 0, j = 0; i < la.n || j < lb.n;) {
        if (i < la.n && !keep_a[i])
            rows[n++] = (Row){'-', i++, j};
        else if (j < lb.n && !keep_b[j])
            rows[n++] = (Row){'+', i, j++};
        else
            rows[n++] = (Row){' ', i++, j++};
    }
    st = print_rows(out, rows, n, &la, &lb, opts);
    ml_heap_free(la.v);
    ml_heap_free(lb.v);
    ml_heap_free(keep_a);
    ml_heap_free(keep_b);
    ml_heap_free(rows);
    return st;
}

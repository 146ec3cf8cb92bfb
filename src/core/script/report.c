/* report - see report.h. */
#include "moonloop/core/script/report.h"

#include <stdio.h>
#include <stdlib.h>

static const char *format_in(ml_Ctx *cx, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
static const char *format_in(ml_Ctx *cx, const char *fmt, va_list ap)
{
    ml_Text t = {0};
    char *z;

    ml_text_vfmt(&t, fmt, ap);
    z = ml_strdup(cx, (ml_Str){t.p, t.n});
    ml_text_free(&t);
    return z;
}

ml_Diag *ml_report(ml_Report *r, ml_ErrorCode code, ml_Place at, const char *fmt, ...)
{
    const char *name = ml_error_code(code);
    bool warning = name[0] == 'W';
    ml_Diag d = {.code = name, .warning = warning};
    va_list ap;

    if (warning ? r->n_warnings >= ML_MAX_WARNINGS : r->n_errors >= ML_MAX_REPORTED)
        return NULL;
    d.span = (ml_Span){r->file, at.line, at.col, at.end_line, at.end_col, NULL};
    va_start(ap, fmt);
    d.message = format_in(r->cx, fmt, ap);
    va_end(ap);
    if (warning)
        r->n_warnings++;
    else
        r->n_errors++;
    ml_push(r->cx, &r->diags, d);
    ml_push(r->cx, &r->codes, code);
    return &r->diags.v[r->diags.n - 1];
}

void ml_report_note(ml_Report *r, ml_Diag *d, ml_Place at, const char *text)
{
    if (!d || d->n_notes == ML_COUNT(d->notes) || at.line == 0)
        return;
    d->notes[d->n_notes].span =
        (ml_Span){r->file, at.line, at.col, at.end_line, at.end_col, NULL};
    d->notes[d->n_notes++].text = text;
}

void ml_report_help(ml_Report *r, ml_Diag *d, const char *fmt, ...)
{
    va_list ap;

    if (!d)
        return;
    va_start(ap, fmt);
    d->help = format_in(r->cx, fmt, ap);
    va_end(ap);
}

bool ml_report_full(const ml_Report *r)
{
    return r->n_errors >= ML_MAX_REPORTED;
}

void ml_report_cut(ml_Report *r, size_t n)
{
    while (r->diags.n > n) {
        if (r->diags.v[--r->diags.n].warning)
            r->n_warnings--;
        else
            r->n_errors--;
    }
    r->codes.n = n;
}

static bool before(const ml_Diag *a, const ml_Diag *b)
{
    return a->span.line != b->span.line ? a->span.line < b->span.line
                                        : a->span.col < b->span.col;
}

/* Memory ran out, or somebody stopped the work: what there is may be a part only. */
static bool stopped(const ml_Ctx *cx)
{
    const ml_Error *e = ml_error(cx);

    return e && (e->code == ML_E_OUT_OF_MEMORY || e->code == ML_E_INTERRUPTED ||
                 e->code == ML_E_WORK_LIMIT);
}

/* Beside errors nobody asks for the lines that were passed over. */
static void drop_skipped(ml_Report *r)
{
    size_t n = 0;

    for (size_t k = 0; k < r->diags.n; k++)
        if (r->codes.v[k] != ML_E_W103) {
            r->codes.v[n] = r->codes.v[k];
            r->diags.v[n++] = r->diags.v[k];
        }
    r->n_warnings -= r->diags.n - n;
    r->codes.n = r->diags.n = n;
}

ml_Parsed ml_report_finish(ml_Report *r, const ml_Module *mod)
{
    ml_Parsed out = {0};

    if (r->n_errors)
        drop_skipped(r);
    for (size_t k = 1; k < r->diags.n; k++) { /* at most 120: insertion keeps it stable */
        ml_Diag d = r->diags.v[k];
        ml_ErrorCode c = r->codes.v[k];
        size_t at = k;

        for (; at > 0 && before(&d, &r->diags.v[at - 1]); at--) {
            r->diags.v[at] = r->diags.v[at - 1];
            r->codes.v[at] = r->codes.v[at - 1];
        }
        r->diags.v[at] = d;
        r->codes.v[at] = c;
    }
    out.diags = r->diags.v;
    out.n_diags = r->diags.n;
    out.n_errors = r->n_errors;
    out.mod = r->n_errors || stopped(r->cx) ? NULL : mod;
    for (size_t k = 0; k < r->diags.n; k++)
        if (!r->diags.v[k].warning) {
            ml_fail(r->cx, r->codes.v[k], ML_TEXT(r->diags.v[k].message));
            ml_error_set_place(r->cx, &r->diags.v[k].span);
            break;
        }
    return out;
}

ml_Place ml_place_join(ml_Place a, ml_Place b)
{
    return (ml_Place){a.line, a.col, b.end_line, b.end_col};
}

const ml_Span *ml_place_span(ml_Report *r, ml_Place at)
{
    ml_Span *s = ML_NEW(r->cx, ml_Span);

    *s = (ml_Span){r->file, at.line, at.col, at.end_line, at.end_col, NULL};
    return s;
}

size_t ml_edit_distance(ml_Str a, ml_Str b, size_t limit)
{
    enum { MAX = 48 };
    size_t rows[3][MAX + 1]; /* of the letter, the one before it, the one before that */

    if (a.n > MAX || b.n > MAX || (a.n > b.n ? a.n - b.n : b.n - a.n) > limit)
        return limit + 1;
    for (size_t k = 0; k <= b.n; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *row = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t k = 1; k <= b.n; k++) {
            size_t best = last[k - 1] + (a.p[i - 1] != b.p[k - 1]);

            best = last[k] + 1 < best ? last[k] + 1 : best;
            best = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
            if (i > 1 && k > 1 && a.p[i - 1] == b.p[k - 2] && a.p[i - 2] == b.p[k - 1] &&
                before[k - 2] + 1 < best)
                best = before[k - 2] + 1;
            row[k] = best;
        }
    }
    size_t d = rows[a.n % 3][b.n];

    return d > limit ? limit + 1 : d;
}

/* Whether a name at that distance from what was written may be meant: at most two edits and less
 * than half of the letters; where the first letter is another one, a third of them. */
static bool is_near(ml_Str want, ml_Str name, size_t distance)
{
    return distance > 0 && distance < 3 && 2 * distance < want.n && name.n > 0 &&
           (want.p[0] == name.p[0] || 3 * distance <= want.n);
}

ml_Nearest ml_nearest_begin(ml_Str want)
{
    return (ml_Nearest){want, {NULL, 0}, 3};
}

void ml_nearest_try(ml_Nearest *n, ml_Str name)
{
    size_t d = ml_edit_distance(n->want, name, 2);

    if (!is_near(n->want, name, d))
        return;
    if (d < n->distance ||
        (d == n->distance &&
         (name.n < n->best.n ||
          (name.n == n->best.n && memcmp(name.p, n->best.p, name.n) < 0)))) {
        n->best = name;
        n->distance = d;
    }
}

const char *ml_nearest_text(ml_Ctx *cx, const ml_Nearest *n, const char *prefix)
{
    if (n->distance >= 3)
        return "";
    return ml_format(cx, "; did you mean `%s%.*s`?", prefix, (int)n->best.n, n->best.p);
}

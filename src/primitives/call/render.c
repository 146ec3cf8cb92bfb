/*
 * render - an error as a person reads it: sentence, marked program lines, rule, ways out.
 *
 * Levels: brief (the form of interaction 7), detail (ir-and-analysis 7), fast (the
 * sentence), none. Columns are those of a screen (core/base/columns).
 */
#include "moonloop/primitives/call/render.h"

#include "moonloop/core/base/columns.h"

#include "moonloop/primitives/call/failure.h"

#include <stdlib.h>

enum { DEFAULT_WIDTH = 100, REMARK_STEP = 15, MAX_MARKS = 32 };

typedef struct Painter {
    ml_Failure *f;
    ml_Text *out;
    const ml_RenderOpts *o;
    size_t width;
} Painter;

static size_t columns(const char *z, size_t n)
{
    return (size_t)ml_text_columns(z, n);
}

static void color(const Painter *p, const char *code)
{
    if (p->o->color)
        ml_text_fmt(p->out, "\033[%sm", code);
}

/* error: split: SENTENCE            [code]
   The code goes on a line of its own rather than being broken by a narrow terminal. */
static void first_line(const Painter *p, bool with_code)
{
    ml_Text t = {0};
    const char *prim = p->f->e.primitive, *code = ml_error_code(p->f->e.code);
    const char *message = ml_failure_message(p->f);
    size_t used, need = strlen(code) + 2, n = prim ? strlen(prim) : 0;
    bool told = n && strncmp(message, prim, n) == 0 && message[n] == ':'; /* of a pass */

    if (prim && !told)
        ml_text_fmt(&t, "%s: ", prim);
    ml_text_add(&t, message);
    used = 7 + columns(ml_text_z(&t), t.n);
    color(p, "1;31");
    ml_text_add(p->out, "error:");
    color(p, "0");
    ml_text_fmt(p->out, " %s", ml_text_z(&t));
    if (with_code) {
        if (used + need < p->width)
            ml_text_repeat(p->out, ' ', p->width - used - need);
        else if (used / p->width == (used + need) / p->width)
            ml_text_add(p->out, " ");
        else
            ml_text_fmt(p->out, "\n%*s", (int)(p->width > need ? p->width - need : 0), "");
        color(p, "2");
        ml_text_fmt(p->out, "[%s]", code);
        color(p, "0");
    }
    ml_text_free(&t);
}

/* ---- program lines */

typedef struct Place {
    uint32_t line, col, len;
    const char *label;
} Place;

typedef struct Places {
    size_t n;
    Place v[MAX_MARKS];
} Places;

static const char *iter_word(uint8_t kind)
{
    switch ((ml_IterKind)kind) {
    case ML_ITER_SPATIAL: return "spatial";
    case ML_ITER_REDUCE: return "reduction";
    case ML_ITER_ORDERED: return "scan";
    case ML_ITER_OPAQUE:
    case ML_ITER_KINDS: break;
    }
    return "opaque";
}

static const char *iter_label(ml_Failure *f, const ml_Fact *fact)
{
    const ml_Stmt *st = ml_index_node(ml_failure_program(f).index, fact->as.uid);
    ml_PrintOpts o = {
        .spelling = -1, .plain = true, .names = ml_version_names(f->s, f->version)};
    ml_Text t = {0};
    const char *z;

    if (!st || st->kind != ML_STMT_BLOCK || fact->aux >= ml_as_block(st)->n_iters)
        return "iter";
    const ml_Iter *it = &ml_as_block(st)->iters[fact->aux];
    ml_Ctx *tmp = ml_ctx_new(0);

    ml_text_fmt(&t, "%s iter, bound to ", iter_word(it->kind));
    ml_print_expr(tmp, &t, it->value, &o);
    z = ml_strdup(f->cx, (ml_Str){ml_text_z(&t), t.n});
    ml_ctx_unref(tmp);
    ml_text_free(&t);
    return z;
}

static const char *fact_label(ml_Failure *f, size_t k)
{
    const ml_Fact *fact = &f->e.facts[k];
    const char *kind = fact->kind == ML_FACT_LOOP    ? "loop "
                       : fact->kind == ML_FACT_BLOCK ? "block "
                       : fact->kind == ML_FACT_STMT  ? "this "
                                                     : "buffer ";
    ml_Text t = {0};
    const char *z;

    if (fact->name)
        return fact->name;
    if (fact->kind == ML_FACT_ITER)
        return iter_label(f, fact);
    if (fact->kind != ML_FACT_EXPR)
        ml_text_add(&t, kind);
    ml_failure_fact(f, k, &t);
    z = ml_strdup(f->cx, (ml_Str){ml_text_z(&t), t.n});
    ml_text_free(&t);
    return z;
}

static bool marks_fact(const ml_Failure *f, size_t k, const ml_TextMark *m)
{
    const ml_Fact *fact = &f->e.facts[k];

    switch ((ml_MarkKind)m->kind) {
    case ML_MARK_LOOP: return fact->kind == ML_FACT_LOOP && fact->as.uid == m->uid;
    case ML_MARK_BLOCK: return fact->kind == ML_FACT_BLOCK && fact->as.uid == m->uid;
    case ML_MARK_ITER:
        return fact->kind == ML_FACT_ITER && fact->as.uid == m->uid && fact->aux == m->aux;
    case ML_MARK_STMT:
        return fact->kind == ML_FACT_STMT && f->stmts[k] && f->stmts[k] == m->stmt;
    case ML_MARK_BUFFER:
        return fact->kind == ML_FACT_BUFFER && fact->as.buffer->uid == m->uid;
    case ML_MARK_EXPR:
        return fact->kind == ML_FACT_EXPR && f->exprs[k] && f->exprs[k] == m->expr;
    }
    return false;
}

/* A block is not marked beside one of its iterators, nor a buffer's definition or an
 * expression where there is a loop or block to look at. */
static bool wanted(const ml_Failure *f, size_t k)
{
    const ml_Fact *fact = &f->e.facts[k];
    bool node = false;

    for (uint32_t m = 0; m < f->e.n_facts; m++) {
        const ml_Fact *other = &f->e.facts[m];

        node |= other->kind == ML_FACT_LOOP || other->kind == ML_FACT_BLOCK;
        if (fact->kind == ML_FACT_BLOCK && other->kind == ML_FACT_ITER &&
            other->as.uid == fact->as.uid)
            return false;
    }
    return !(node && (fact->kind == ML_FACT_BUFFER || fact->kind == ML_FACT_EXPR));
}

static void add_place(Places *pl, const ml_TextMark *m, const char *label)
{
    size_t at = pl->n;

    if (pl->n == MAX_MARKS)
        return;
    for (size_t k = 0; k < pl->n; k++)
        if (pl->v[k].line == m->line && pl->v[k].col == m->col)
            return;
    while (at > 0 && (pl->v[at - 1].line > m->line ||
                      (pl->v[at - 1].line == m->line && pl->v[at - 1].col > m->col))) {
        pl->v[at] = pl->v[at - 1];
        at--;
    }
    pl->v[at] = (Place){m->line, m->col, m->len ? m->len : 1, label};
    pl->n++;
}

static ml_Str nth_line(ml_Str text, uint32_t line)
{
    const char *p = text.p, *end = text.p + text.n;

    for (; line > 1 && p < end; line--) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));

        p = nl ? nl + 1 : end;
    }
    const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;

    return (ml_Str){p, (size_t)((nl ? nl : end) - p)};
}

/* The places that the error names in the printed program, and its text. */
static void find_places(ml_Failure *f, ml_Text *text, Places *pl)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_TextMarks marks = {0};
    const ml_Expr *exprs[ML_MAX_FACTS];
    ml_PrintOpts o = {.spelling = -1, .no_header = true, .regions_auto = true};
    bool same = f->s->space->epoch == f->epoch;

    o.marks_cx = tmp;
    o.marks = &marks;
    for (uint32_t k = 0; same && k < f->e.n_facts; k++)
        if (f->exprs[k])
            exprs[o.n_mark_exprs++] = f->exprs[k];
    o.mark_exprs = exprs;
    ml_schedule_print(f->s, f->version, text, &o);
    for (uint32_t k = 0; k < f->e.n_facts; k++) {
        if (!wanted(f, k))
            continue;
        for (size_t m = 0; m < marks.n; m++)
            if (marks_fact(f, k, &marks.v[m])) {
                add_place(pl, &marks.v[m], fact_label(f, k));
                if (marks.v[m].kind == ML_MARK_EXPR)
                    break;
            }
    }
    ml_ctx_unref(tmp);
}

static bool has_places(const ml_Failure *f)
{
    return ml_failure_has_program(f) && !f->in_call;
}

size_t ml_failure_places(ml_Failure *f, ml_FailurePlace *out, size_t n)
{
    ml_Text text = {0};
    Places pl = {0};

    if (has_places(f))
        find_places(f, &text, &pl);
    ml_text_free(&text);
    for (size_t k = 0; k < pl.n && k < n; k++)
        out[k] = (ml_FailurePlace){pl.v[k].line, pl.v[k].col, pl.v[k].len, pl.v[k].label};
    return pl.n < n ? pl.n : n;
}

static void program_lines(const Painter *p)
{
    ml_Text text = {0};
    Places pl = {0};

    find_places(p->f, &text, &pl);
    ml_Str all = {ml_text_z(&text), text.n};

    for (size_t k = 0; k < pl.n; k++) {
        ml_Str line = nth_line(all, pl.v[k].line);
        size_t before = pl.v[k].col - 1 < line.n ? pl.v[k].col - 1 : line.n;

        if (k == 0 || pl.v[k].line != pl.v[k - 1].line)
            ml_text_fmt(p->out, "\n%4u | %.*s", pl.v[k].line, (int)line.n, line.p);
        ml_text_add(p->out, "\n     | ");
        ml_text_repeat(p->out, ' ', columns(line.p, before));
        color(p, "1;31");
        size_t under = columns(
            line.p + before, pl.v[k].len < line.n - before ? pl.v[k].len : line.n - before);

        ml_text_repeat(p->out, '^', under ? under : 1);
        ml_text_fmt(p->out, " %s", pl.v[k].label);
        color(p, "0");
    }
    ml_text_free(&text);
}

/* ---- below the program */

static void heading(const Painter *p, const char *word)
{
    ml_text_fmt(p->out, "\n  ");
    color(p, "1");
    ml_text_add(p->out, word);
    color(p, "0");
    ml_text_repeat(p->out, ' ', 7 - strlen(word));
}

static void now_line(const Painter *p)
{
    ml_Uid uid = ml_failure_expired(p->f), heirs[8];
    size_t n = uid ? ml_failure_heirs(p->f, uid, heirs, ML_COUNT(heirs)) : 0;
    ml_Ctx *tmp;

    if (n == 0)
        return;
    tmp = ml_ctx_new(0);
    heading(p, "now");
    ml_PrintOpts o = {
        .spelling = -1, .plain = true, .names = ml_version_names(p->f->s, p->f->version)};

    for (size_t k = 0; k < n; k++) {
        const ml_Stmt *st = ml_index_node(ml_failure_program(p->f).index, heirs[k]);
        const char *z = ml_name_known(p->f->s->space, heirs[k]);

        ml_text_fmt(p->out, "%s%s", k ? ", " : "", z ? z : "?");
        if (st->kind == ML_STMT_FOR) {
            ml_text_add(p->out, " (");
            ml_print_expr(tmp, p->out, ml_as_for(st)->extent, &o);
            ml_text_char(p->out, ')');
        }
    }
    ml_ctx_unref(tmp);
}

static void rule_line(const Painter *p)
{
    const ml_Failure *f = p->f;
    const char *rule = f->prim && f->prim->rule ? f->prim->rule(&f->e) : NULL;

    if (!rule && ml_error_rule_is_shown(f->e.code))
        rule = ml_error_rule(f->e.code);
    if (!rule)
        return;
    heading(p, "rule");
    ml_text_add(p->out, rule);
}

static void try_lines(const Painter *p)
{
    const ml_Suggestion *s;
    size_t n = ml_failure_suggestions(p->f, &s), longest = 0, total = 9;
    bool remarks = false;

    if (n == 0)
        return;
    for (size_t k = 0; k < n; k++) {
        size_t c = columns(s[k].call, strlen(s[k].call));

        remarks |= s[k].remark != NULL;
        longest = c > longest ? c : longest;
        total += c + (k ? 3 : 0);
    }
    size_t at = (longest + 2 + REMARK_STEP - 1) / REMARK_STEP * REMARK_STEP;

    heading(p, "try");
    for (size_t k = 0; k < n; k++) {
        if (k)
            ml_text_add(p->out, !remarks && total <= p->width ? "   " : "\n         ");
        ml_text_add(p->out, s[k].call);
        if (s[k].remark) {
            ml_text_repeat(p->out, ' ', at - columns(s[k].call, strlen(s[k].call)));
            ml_text_add(p->out, s[k].remark);
        }
    }
}

static void brief(const Painter *p)
{
    const ml_Span *at = p->f->e.place;
    const char *note;

    first_line(p, true);
    if (has_places(p->f))
        program_lines(p);
    now_line(p);
    for (size_t k = 0; (note = ml_failure_note(p->f, k)); k++) {
        heading(p, "note");
        ml_text_add(p->out, note);
    }
    if (p->f->e.unproved) {
        heading(p, "note");
        ml_text_add(
            p->out,
            "a proof failed, which does not mean that the opposite holds; where symbols "
            "are concerned, a bound on them may help");
    }
    rule_line(p);
    if (at) {
        heading(p, "at");
        ml_text_fmt(p->out, "%s:%u:%u", at->file, at->line, at->col);
    }
    if (!p->o->no_suggestions)
        try_lines(p);
}

/* ---- detail: the whole program, the offending nodes underlined and named */

static void sentence_with_labels(const Painter *p, const char *const *labels)
{
    ml_text_add(p->out, ml_error_opening(&p->f->e));
    for (const char *z = ml_error_says(&p->f->e); *z; z++) {
        if (z[0] == '{' && z[1] >= '0' && z[1] <= '9' && z[2] == '}') {
            size_t k = (size_t)(z[1] - '0');

            if (k < p->f->e.n_facts && labels[k])
                ml_text_add(p->out, labels[k]);
            else if (k < p->f->e.n_facts)
                ml_failure_fact(p->f, k, p->out);
            z += 2;
        } else
            ml_text_char(p->out, *z);
    }
}

static void detail(const Painter *p)
{
    ml_Failure *f = p->f;
    const ml_Stmt *under[ML_MAX_FACTS];
    const char *under_labels[ML_MAX_FACTS], *labels[ML_MAX_FACTS] = {0};
    ml_PrintOpts o = {.spelling = -1, .no_header = true, .no_sugar = true};
    unsigned n = 0;

    if (f->e.primitive)
        ml_text_fmt(p->out,
                    "ScheduleError: An error occurred in the schedule primitive '%s'.",
                    f->e.primitive);
    for (uint32_t k = 0; ml_failure_has_program(f) && k < f->e.n_facts; k++) {
        const ml_Fact *fact = &f->e.facts[k];
        bool node = fact->kind == ML_FACT_LOOP || fact->kind == ML_FACT_BLOCK;
        const ml_Stmt *st = node ? ml_index_node(ml_failure_program(f).index, fact->as.uid)
                            : f->s->space->epoch == f->epoch ? f->stmts[k]
                                                             : NULL;

        if (!st)
            continue;
        labels[k] = ml_format(f->cx, "%s#%u",
                              st->kind == ML_STMT_FOR     ? "for"
                              : st->kind == ML_STMT_BLOCK ? "block"
                                                          : fact->as.text,
                              n);
        under[n] = st;
        under_labels[n++] = labels[k];
    }
    if (ml_failure_has_program(f)) {
        ml_text_fmt(p->out, "%sThe program, with the places that the message names:\n\n",
                    f->e.primitive ? "\n\n" : "");
        o.underline = under;
        o.labels = under_labels;
        o.n_underline = n;
        ml_schedule_print(f->s, f->version, p->out, &o);
    }
    ml_text_add(p->out, f->e.primitive || ml_failure_has_program(f) ? "\n\nError message: "
                                                                    : "error: ");
    sentence_with_labels(p, labels);
    ml_text_fmt(p->out, " [%s]", ml_error_code(f->e.code));
    rule_line(p);
}

void ml_failure_render(ml_Failure *f, ml_Text *out, const ml_RenderOpts *opts)
{
    static const ml_RenderOpts defaults;
    Painter p = {.f = f, .out = out, .o = opts ? opts : &defaults};

    ml_RenderLevel level = p.o->level;

    if (level == ML_RENDER_BRIEF &&
        f->s) /* nothing else was asked for: as the schedule says */
        level = f->s->opts.render;
    p.width = p.o->width > 0 ? (size_t)p.o->width : DEFAULT_WIDTH;
    switch (level) {
    case ML_RENDER_BRIEF: brief(&p); return;
    case ML_RENDER_DETAIL: detail(&p); return;
    case ML_RENDER_FAST: first_line(&p, true); return;
    case ML_RENDER_NONE:
        ml_text_fmt(out, "error: %s%sfailed", f->e.primitive ? f->e.primitive : "",
                    f->e.primitive ? " " : "the call ");
        return;
    }
}

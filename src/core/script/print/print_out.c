/*
 * print_out - what printing writes through: lines, marks, underlines, names in scope.
 *
 * Places of marks count lines and bytes of this text alone, whatever stood in the output
 * before. Source: script 12.5, 12.7.
 */
#include "moonloop/core/script/print/print.h"

#include "moonloop/core/base/columns.h"

/* ---- output */
static const ml_PrintOpts DEFAULTS = {.spelling = -1};

void ml_pr_begin(ml_Printer *p, ml_Ctx *cx, ml_Text *out, const ml_PrintOpts *opts)
{
    *p = (ml_Printer){.cx = cx, .out = out, .o = opts ? opts : &DEFAULTS};
    p->before = ml_ctx_take_marks(cx);
    p->prefix = p->o->prefix ? p->o->prefix : "T";
    p->indent = p->o->indent > 0 ? p->o->indent : 4;
    p->no_sugar = p->o->no_sugar;
    p->newest = p->o->spelling == ML_NEWEST;
    p->begin = p->line_start = out->n;
    p->line = 1;
    ml_names_init(&p->names, cx);
    ml_names_take_as_is(&p->names, p->prefix);
    p->infos = ml_map_new(cx);
}

static void new_line(ml_Printer *p)
{
    ml_text_char(p->out, '\n');
    p->line++;
    p->line_start = p->out->n;
}

void ml_pr_line(ml_Printer *p)
{
    if (p->started)
        new_line(p);
    p->started = true;
    ml_text_repeat(p->out, ' ', (size_t)p->level * (size_t)p->indent);
}

void ml_pr_blank(ml_Printer *p)
{
    if (p->started)
        new_line(p);
    p->started = true;
}

void ml_pr_t(ml_Printer *p, const char *name)
{
    ml_text_add(p->out, p->prefix);
    ml_text_char(p->out, '.');
    ml_text_add(p->out, name);
}

uint32_t ml_pr_col(const ml_Printer *p)
{
    return (uint32_t)(p->out->n - p->line_start) + 1;
}

/* ---- marks, labels, underlines */
size_t ml_pr_n_marks(const ml_Printer *p)
{
    return p->o->marks ? p->o->marks->n : 0;
}

ml_TextMark *ml_pr_mark(ml_Printer *p, ml_MarkKind kind, ml_Uid uid, uint32_t col)
{
    if (!p->o->marks)
        return NULL;
    ml_TextMark m = {.kind = (uint8_t)kind,
                     .uid = uid,
                     .stmt = p->stmt,
                     .line = p->line,
                     .col = col,
                     .last_line = p->line};
    ml_push(p->o->marks_cx, p->o->marks, m);
    return &p->o->marks->v[p->o->marks->n - 1];
}

void ml_pr_end_mark(ml_Printer *p, size_t k)
{
    if (p->o->marks && k < p->o->marks->n)
        p->o->marks->v[k].last_line = p->line;
}

static const char *label_of(const ml_Printer *p, size_t k)
{
    return p->o->labels ? p->o->labels[k] : NULL;
}

/* A comment must stay on its line, whatever the caller wrote. */
static void print_comment(ml_Printer *p, const char *text)
{
    for (; *text; text++)
        ml_text_char(p->out, (unsigned char)*text < 0x20 ? ' ' : *text);
}

void ml_pr_label_above(ml_Printer *p, const ml_Stmt *s)
{
    for (size_t k = 0; k < p->o->n_underline; k++)
        if (p->o->underline[k] == s && label_of(p, k)) {
            ml_pr_line(p);
            ml_pr_z(p, "# ");
            print_comment(p, label_of(p, k));
        }
}

void ml_pr_underline(ml_Printer *p, const ml_Stmt *s, uint32_t col, uint32_t len,
                     bool simple)
{
    bool found = false;
    for (size_t k = 0; k < p->o->n_underline; k++) {
        if (p->o->underline[k] != s)
            continue;
        found = true;
        if (simple && label_of(p, k)) {
            ml_pr_z(p, "  # ");
            print_comment(p, label_of(p, k));
        }
    }
    if (!found)
        return;
    const char *line = ml_text_z(p->out) + p->line_start;
    size_t left = p->out->n - p->line_start, before = col - 1 < left ? col - 1 : left;
    int blanks = ml_text_columns(line, before);
    int under = ml_text_columns(line + before, len < left - before ? len : left - before);

    new_line(p);
    ml_text_repeat(p->out, ' ', (size_t)blanks);
    ml_text_repeat(p->out, '^', under > 0 ? (size_t)under : 1);
    ml_push(p->cx, &p->underlines, p->line);
}

/* Marks whose line was folded away get line 0; the others follow their line. */
static void move_marks(ml_Printer *p, const uint32_t *moved)
{
    for (size_t k = 0; p->o->marks && k < p->o->marks->n; k++) {
        ml_TextMark *m = &p->o->marks->v[k];
        uint32_t last = m->last_line;
        while (last > m->line && moved[last] == 0)
            last--;
        m->line = moved[m->line];
        m->last_line = moved[last];
    }
}

static void skipped(ml_Text *t, uint32_t n)
{
    ml_text_fmt(t, "(... %u lines skipped ...)", (unsigned)n);
}

void ml_pr_fold(ml_Printer *p)
{
    uint32_t n = p->line;
    if (p->o->context <= 0 || p->underlines.n == 0 || p->out->bad)
        return;
    bool *keep = ML_ARRAY(p->cx, bool, (size_t)n + 2);
    for (size_t k = 0; k < p->underlines.n; k++) {
        /* distance counts from the underlined line and from its line of ^ */
        int64_t from = (int64_t)p->underlines.v[k] - 1 - p->o->context;
        int64_t to = (int64_t)p->underlines.v[k] + p->o->context;
        for (int64_t l = from < 1 ? 1 : from; l <= to && l <= n; l++)
            keep[l] = true;
    }
    uint32_t *moved = ML_ARRAY(p->cx, uint32_t, (size_t)n + 2);
    ml_Text t = {0};
    const char *at = p->out->p + p->begin, *end = p->out->p + p->out->n;
    uint32_t out_line = 0;
    for (uint32_t l = 1; l <= n;) {
        uint32_t run = 0;
        while (l + run <= n && !keep[l + run])
            run++;
        if (run >= 2) {
            for (uint32_t k = 0; k < run; k++) {
                const char *nl = memchr(at, '\n', (size_t)(end - at));
                at = nl ? nl + 1 : end;
            }
            if (out_line++ > 0)
                ml_text_char(&t, '\n');
            skipped(&t, run);
            l += run;
            continue;
        }
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        if (out_line++ > 0)
            ml_text_char(&t, '\n');
        ml_text_addn(&t, at, (size_t)((nl ? nl : end) - at));
        at = nl ? nl + 1 : end;
        moved[l++] = out_line;
    }
    move_marks(p, moved);
    p->out->n = p->begin;
    ml_text_addn(p->out, t.p ? t.p : "", t.n);
    p->out->bad |= t.bad;
    ml_text_free(&t);
}

/* ---- names */
size_t ml_pr_scope_mark(const ml_Printer *p)
{
    return p->undo.n;
}

void ml_pr_scope_end(ml_Printer *p, size_t mark)
{
    while (p->undo.n > mark) {
        ml_ScopeUndo *u = &p->undo.v[--p->undo.n];
        if (u->slot)
            ml_names_release(u->slot);
        u->info->name = u->before;
    }
}

static const char *give_name(ml_Printer *p, ml_NameInfo *info, const char *hint,
                             bool is_buffer)
{
    ml_ScopeUndo u = {.info = info, .before = info->name};
    if (!info->fixed)
        u.slot = ml_names_take(&p->names, hint, is_buffer);
    info->name = info->fixed ? info->fixed : u.slot->text;
    ml_push(p->cx, &p->undo, u);
    return info->name;
}

const char *ml_pr_define_var(ml_Printer *p, const ml_Var *v)
{
    return give_name(p, ml_pr_var(p, v), v->hint, false);
}

const char *ml_pr_define_buffer(ml_Printer *p, const ml_Buffer *b)
{
    ml_NameInfo *data = ml_pr_var(p, b->data);
    if (data->how == ML_HOW_DATA && !ml_pr_buffer(p, data->owner)->name)
        data->owner = b;
    return give_name(p, ml_pr_buffer(p, b), b->name, true);
}

void ml_pr_new_buffer(ml_Printer *p, const ml_Buffer *b)
{
    uint32_t col = ml_pr_col(p);
    const char *name = ml_pr_define_buffer(p, b);
    ml_TextMark *m = ml_pr_mark(p, ML_MARK_BUFFER, b->uid, col);
    if (m)
        m->len = (uint32_t)strlen(name);
    ml_pr_z(p, name);
}

const char *ml_pr_buffer_name(ml_Printer *p, const ml_Buffer *b)
{
    ml_NameInfo *info = ml_pr_buffer(p, b);
    return info->name ? info->name : ml_pr_define_buffer(p, b);
}

void ml_pr_buffer_ref(ml_Printer *p, const ml_Buffer *b)
{
    ml_pr_z(p, ml_pr_buffer_name(p, b));
    if (ml_pr_is_cell(p, b))
        ml_pr_z(p, ".buffer");
}

void ml_pr_var_name(ml_Printer *p, const ml_Var *v)
{
    const ml_NameInfo *info = ml_pr_var(p, v);
    switch ((ml_How)info->how) {
    case ML_HOW_NAME: ml_pr_z(p, info->name ? info->name : ml_pr_define_var(p, v)); return;
    case ML_HOW_DATA:
        ml_pr_buffer_ref(p, info->owner);
        ml_pr_z(p, ".data");
        return;
    case ML_HOW_STRIDE:
        ml_pr_z(p, ml_pr_buffer_name(p, info->owner));
        ml_text_fmt(p->out, ".strides[%u]", (unsigned)info->k);
        return;
    case ML_HOW_OFFSET:
        ml_pr_z(p, ml_pr_buffer_name(p, info->owner));
        ml_pr_z(p, ".elem_offset");
        return;
    }
}

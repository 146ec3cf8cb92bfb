/*
 * asm_view - reads the compiler's assembly: labels, .loc lines, instructions.
 *
 * Hottest is the inner loop with the most multiply-adds, then the most instructions: what a
 * schedule is about is there. Source: interaction 8.
 */
#include "repl/show/asm_view.h"

#include <stdlib.h>

#include "repl/screen/terminal.h"
#include "repl/show/asm_loops.h"

typedef ml_AsmLine Line;
typedef ml_AsmLines Lines;

/* ---------------------------------------------------------------- reading */

static ml_Str trimmed(const char *p, size_t n)
{
    while (n > 0 && (*p == ' ' || *p == '\t')) {
        p++;
        n--;
    }
    while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\r'))
        n--;
    return (ml_Str){p, n};
}

static bool contains(ml_Str s, const char *z)
{
    size_t n = strlen(z);

    for (size_t k = 0; k + n <= s.n; k++)
        if (memcmp(s.p + k, z, n) == 0)
            return true;
    return false;
}

/* ".loc 1 14 5 prologue_end": the second number. */
static uint32_t loc_line(ml_Str s)
{
    char *end;

    strtoul(s.p + 4, &end, 10);
    return (uint32_t)strtoul(end, NULL, 10);
}

static bool is_debug_label(ml_Str s)
{
    return ml_str_begins(s, ".Ltmp") || ml_str_begins(s, ".Lfunc_") ||
           ml_str_begins(s, ".Ldebug") || ml_str_begins(s, ".Linfo");
}

static void read(ml_Ctx *cx, const char *text, Lines *out)
{
    uint32_t at = 0;
    size_t func = 0;
    bool code = true;

    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        ml_Str s = trimmed(p, n), raw = s;
        const char *hash = memchr(s.p, '#', s.n);
        Line l = {.func = func};

        p += n + (p[n] == '\n');
        if (hash)
            s = trimmed(s.p, (size_t)(hash - s.p));
        if (s.n == 0)
            continue;
        if (ml_str_begins(s, ".section"))
            code = contains(s, ".text") || contains(s, ".ltext");
        else if (ml_str_begins(s, ".text"))
            code = true;
        if ((ml_str_begins(s, ".loc\t") || ml_str_begins(s, ".loc ")) && loc_line(s) > 0)
            at = loc_line(s); /* what has no line belongs to what is around it */
        if (!code)
            continue;
        if (s.p[s.n - 1] == ':') {
            if (is_debug_label(s))
                continue;
            if (s.p[0] != '.') { /* a function */
                l.func = ++func;
                at = 0;
            }
            l.label = true;
            s.n--;
        } else if (s.p[0] == '.') {
            continue;
        }
        l.text = s;
        l.line = at;
        l.spill = contains(raw, " Spill") || contains(raw, " Reload");
        ml_push(cx, out, l);
    }
}

/* ---------------------------------------------------------------- counting */

static bool is_memory(ml_Str s)
{
    return memchr(s.p, '(', s.n) != NULL || memchr(s.p, '[', s.n) != NULL;
}

/* AT&T order: a store has its memory operand last. */
static bool is_store(ml_Str s)
{
    return s.n > 0 &&
           (s.p[s.n - 1] == ')' || ml_str_begins(s, "str") || ml_str_begins(s, "stp")) &&
           !ml_str_begins(s, "cmp") && !ml_str_begins(s, "vcmp") &&
           !ml_str_begins(s, "test") && !ml_str_begins(s, "prefetch") &&
           !ml_str_begins(s, "call") && !ml_str_begins(s, "jmp");
}

/* vmovss, vfmadd132sd: one element of a vector register. */
static bool is_scalar(ml_Str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != ' ' && s.p[n] != '\t')
        n++;
    return n > 2 && s.p[n - 2] == 's' && (s.p[n - 1] == 's' || s.p[n - 1] == 'd') &&
           !ml_str_begins(s, "vbroadcast");
}

static void count(const Line *l, ml_AsmSummary *sum)
{
    if (l->label)
        return;
    sum->instructions++;
    if (contains(l->text, "fmadd") || contains(l->text, "fmla") ||
        contains(l->text, "fnmadd") || contains(l->text, "dpbusd"))
        sum->fmas++;
    if (is_memory(l->text) && !ml_str_begins(l->text, "lea")) {
        if (is_store(l->text))
            sum->stores++;
        else if (!ml_str_begins(l->text, "prefetch"))
            sum->loads++;
    }
    sum->spills += l->spill;
    if (is_scalar(l->text))
        return;
    if (contains(l->text, "zmm"))
        sum->vector_bits = 512;
    else if (contains(l->text, "ymm") && sum->vector_bits < 256)
        sum->vector_bits = 256;
    else if (contains(l->text, "xmm") && sum->vector_bits < 128)
        sum->vector_bits = 128;
}

static bool wanted(const Line *l, uint32_t from, uint32_t to)
{
    return from == 0 || (l->line >= from && l->line <= to);
}

/* Instructions of the wanted lines in a loop; most of them must be. */
static bool loop_wanted(const Lines *v, const ml_AsmLoop *l, uint32_t from, uint32_t to)
{
    size_t in = 0, all = 0;

    for (size_t p = 0; p < l->n; p++)
        for (size_t k = l->parts[p].from; k <= l->parts[p].to; k++)
            if (!v->v[k].label) {
                all++;
                in += wanted(&v->v[k], from, to);
            }
    return in * 2 > all;
}

static const ml_AsmLoop *hottest(const Lines *v, const ml_AsmLoopList *loops, uint32_t from,
                                 uint32_t to, ml_AsmSummary *sum)
{
    const ml_AsmLoop *found = NULL;

    for (size_t k = 0; k < loops->n; k++) {
        const ml_AsmLoop *l = &loops->v[k];
        ml_AsmSummary s = {.is_loop = true};

        if (!loop_wanted(v, l, from, to))
            continue;
        for (size_t p = 0; p < l->n; p++)
            for (size_t j = l->parts[p].from; j <= l->parts[p].to; j++)
                count(&v->v[j], &s);
        if (found && (s.fmas < sum->fmas ||
                      (s.fmas == sum->fmas && s.instructions <= sum->instructions)))
            continue;
        found = l;
        *sum = s;
    }
    return found;
}

/* ---------------------------------------------------------------- the text */

typedef struct View {
    ml_Ctx *cx;
    ml_Text *out;
    ml_AsmNumbers *lines;
    bool plain;
    const ml_AsmSummary *hues; /* NULL: no colour */
    ML_VEC(ml_Str) labels;     /* in the order in which they are shown */
} View;

static bool in_label(char c)
{
    return c == '.' || c == '_' || c == '$' || (c >= '0' && c <= '9') ||
           (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Labels by their order: their numbers in the text say nothing to a comparison. */
static size_t add_label(View *w, ml_Str s)
{
    size_t n = 0, k = 0;

    while (n < s.n && in_label(s.p[n]))
        n++;
    const ml_Str label = {s.p, n};

    while (k < w->labels.n && !ml_str_eq(w->labels.v[k], label))
        k++;
    if (k == w->labels.n)
        ml_push(w->cx, &w->labels, label);
    ml_text_fmt(w->out, ".L%zu", k + 1);
    return n;
}

static void add_code(View *w, ml_Str s)
{
    for (size_t k = 0; k < s.n;) {
        bool label = w->plain && s.p[k] == '.' && k + 1 < s.n && s.p[k + 1] == 'L' &&
                     (k == 0 || !in_label(s.p[k - 1]));

        if (label) {
            k += add_label(w, (ml_Str){s.p + k, s.n - k});
            continue;
        }
        ml_text_char(w->out, s.p[k] == '\t' ? ' ' : s.p[k]);
        k++;
    }
}

static void add_head(View *w, const char *text)
{
    if (w->lines)
        ml_push(w->cx, w->lines, 0);
    ml_text_add(w->out, text);
}

static void add_line(View *w, const Line *l)
{
    if (w->lines) {
        ml_push(w->cx, w->lines, l->label ? 0 : l->line);
    } else if (!w->plain && l->line && !l->label) {
        const char *hue = w->hues ? ml_asm_hue(w->hues, l->line) : "";
        ml_text_fmt(w->out, "%s%4u%s | ", hue, l->line, ml_style(*hue, ML_STYLE_PLAIN));
    } else if (!w->plain)
        ml_text_add(w->out, "     | ");
    if (!l->label)
        ml_text_add(w->out, "    ");
    add_code(w, l->text);
    ml_text_add(w->out, l->label ? ":\n" : l->spill ? "   # spill\n" : "\n");
}

/* Whether the next instruction behind a label is wanted: jumps lead there. */
static bool near_wanted(const Lines *v, size_t k, uint32_t from, uint32_t to)
{
    while (k < v->n && v->v[k].label)
        k++;
    return k < v->n && wanted(&v->v[k], from, to);
}

const char *ml_asm_hue(const ml_AsmSummary *sum, uint32_t line)
{
    for (uint32_t k = 0; k < sum->n_lines; k++)
        if (sum->line[k] == line)
            return ml_style(true, ML_STYLE_HUE + k % ML_HUES);
    return "";
}

static void add_hot_line(ml_AsmSummary *sum, uint32_t line)
{
    uint32_t k = sum->n_lines;

    for (uint32_t j = 0; j < sum->n_lines; j++)
        if (sum->line[j] == line)
            return;
    if (line == 0 || k == ML_ASM_LINES)
        return;
    for (; k > 0 && sum->line[k - 1] > line; k--)
        sum->line[k] = sum->line[k - 1];
    sum->line[k] = line;
    sum->n_lines++;
}

static void add_hot_lines(const Lines *v, const ml_AsmLoop *hot, ml_AsmSummary *sum)
{
    for (size_t p = 0; p < hot->n; p++)
        for (size_t k = hot->parts[p].from; k <= hot->parts[p].to; k++)
            if (!v->v[k].label)
                add_hot_line(sum, v->v[k].line);
}

bool ml_asm_view(ml_Ctx *cx, const char *assembly, const ml_AsmOpts *o, ml_Text *out,
                 ml_AsmSummary *sum)
{
    Lines v = {0};
    ml_AsmLoopList loops = {0};
    const ml_AsmLoop *hot;
    View w = {.cx = cx,
              .out = out,
              .plain = o->plain,
              .lines = o->lines,
              .hues = o->color ? sum : NULL};
    bool any = false;

    read(cx, assembly, &v);
    *sum = (ml_AsmSummary){0};
    if (v.v == NULL)
        return false;
    ml_asm_inner_loops(cx, &v, &loops);
    hot = o->near_from ? hottest(&v, &loops, o->near_from, o->near_to, sum) : NULL;
    if (hot == NULL)
        hot = hottest(&v, &loops, o->from, o->to, sum);
    if (hot) {
        add_hot_lines(&v, hot, sum);
        add_head(&w, "hottest inner loop\n");
        for (size_t p = 0; p < hot->n; p++)
            for (size_t k = hot->parts[p].from; k <= hot->parts[p].to; k++)
                add_line(&w, &v.v[k]);
        add_head(&w, o->from ? "all of it\n" : "all of the function\n");
        any = true;
    }
    for (size_t k = 0; k < v.n; k++) {
        if (!v.v[k].label && wanted(&v.v[k], o->from, o->to)) {
            any = true;
            if (!sum->is_loop)
                count(&v.v[k], sum);
        }
        if (v.v[k].label ? o->from == 0 || near_wanted(&v, k, o->from, o->to)
                         : wanted(&v.v[k], o->from, o->to))
            add_line(&w, &v.v[k]);
    }
    return any;
}

void ml_asm_summary(ml_Text *t, const ml_AsmSummary *s)
{
    ml_text_fmt(t, "%zu instructions%s, ", s->instructions,
                s->is_loop ? " an iteration of the hottest inner loop" : "");
    if (s->vector_bits)
        ml_text_fmt(t, "%u-bit vectors, ", s->vector_bits);
    else
        ml_text_add(t, "scalar, ");
    ml_text_fmt(t, "%zu multiply-add%s, %zu load%s, %zu store%s, %zu spill%s\n", s->fmas,
                s->fmas == 1 ? "" : "s", s->loads, s->loads == 1 ? "" : "s", s->stores,
                s->stores == 1 ? "" : "s", s->spills, s->spills == 1 ? "" : "s");
}

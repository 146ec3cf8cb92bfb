/*
 * asm_view - reads the compiler's assembly: labels, .loc lines, instructions.
 *
 * A loop is a jump back to a label of its function; an inner one holds no other. Hottest is
 * the inner loop with the most multiply-adds, then the most instructions: what a schedule
 * is about is there. Source: interaction 8.
 */
#include "repl/asm_view.h"

#include "core/vec.h"

#include <stdlib.h>

typedef struct Line {
    ml_Str text;   /* trimmed, without a comment */
    uint32_t line; /* of the program; 0: not known */
    bool label, spill;
    size_t func; /* number of the function it is in */
} Line;
typedef ML_VEC(Line) Lines;

typedef struct Loop {
    size_t from, to; /* lines, both included */
} Loop;
typedef ML_VEC(Loop) Loops;

/* ---------------------------------------------------------------- reading */

static bool begins(ml_Str s, const char *z)
{
    size_t n = strlen(z);

    return s.n >= n && memcmp(s.p, z, n) == 0;
}

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
    return begins(s, ".Ltmp") || begins(s, ".Lfunc_") || begins(s, ".Ldebug") ||
           begins(s, ".Linfo");
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
        if (begins(s, ".section"))
            code = contains(s, ".text") || contains(s, ".ltext");
        else if (begins(s, ".text"))
            code = true;
        if ((begins(s, ".loc\t") || begins(s, ".loc ")) && loc_line(s) > 0)
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

/* ---------------------------------------------------------------- loops */

static ml_Str operand(ml_Str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != ' ' && s.p[n] != '\t')
        n++;
    return trimmed(s.p + n, s.n - n);
}

static bool is_jump(ml_Str s)
{
    return s.n > 1 && (s.p[0] == 'j' || begins(s, "b.") || begins(s, "b\t") ||
                       begins(s, "cbnz") || begins(s, "tbnz"));
}

static void find_loops(ml_Ctx *cx, const Lines *v, Loops *out)
{
    for (size_t k = 0; k < v->n; k++) {
        ml_Str to;

        if (v->v[k].label || !is_jump(v->v[k].text))
            continue;
        to = operand(v->v[k].text);
        for (size_t j = k; j-- > 0 && v->v[j].func == v->v[k].func;)
            if (v->v[j].label && ml_str_eq(v->v[j].text, to)) {
                ml_push(cx, out, ((Loop){j, k}));
                break;
            }
    }
}

static bool is_inner(const Loops *loops, size_t k)
{
    for (size_t j = 0; j < loops->n; j++)
        if (j != k && loops->v[j].from >= loops->v[k].from &&
            loops->v[j].to <= loops->v[k].to &&
            loops->v[j].to - loops->v[j].from < loops->v[k].to - loops->v[k].from)
            return false;
    return true;
}

/* ---------------------------------------------------------------- counting */

static bool is_memory(ml_Str s)
{
    return memchr(s.p, '(', s.n) != NULL || memchr(s.p, '[', s.n) != NULL;
}

/* AT&T order: a store has its memory operand last. */
static bool is_store(ml_Str s)
{
    return s.n > 0 && (s.p[s.n - 1] == ')' || begins(s, "str") || begins(s, "stp")) &&
           !begins(s, "cmp") && !begins(s, "vcmp") && !begins(s, "test") &&
           !begins(s, "prefetch") && !begins(s, "call") && !begins(s, "jmp");
}

/* vmovss, vfmadd132sd: one element of a vector register. */
static bool is_scalar(ml_Str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != ' ' && s.p[n] != '\t')
        n++;
    return n > 2 && s.p[n - 2] == 's' && (s.p[n - 1] == 's' || s.p[n - 1] == 'd') &&
           !begins(s, "vbroadcast");
}

static void count(const Line *l, ml_AsmSummary *sum)
{
    if (l->label)
        return;
    sum->instructions++;
    if (contains(l->text, "fmadd") || contains(l->text, "fmla") ||
        contains(l->text, "fnmadd") || contains(l->text, "dpbusd"))
        sum->fmas++;
    if (is_memory(l->text) && !begins(l->text, "lea")) {
        if (is_store(l->text))
            sum->stores++;
        else if (!begins(l->text, "prefetch"))
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
static bool loop_wanted(const Lines *v, Loop l, uint32_t from, uint32_t to)
{
    size_t in = 0, all = 0;

    for (size_t k = l.from; k <= l.to; k++)
        if (!v->v[k].label) {
            all++;
            in += wanted(&v->v[k], from, to);
        }
    return in * 2 > all;
}

static bool hottest(const Lines *v, const Loops *loops, uint32_t from, uint32_t to,
                    Loop *out, ml_AsmSummary *sum)
{
    bool found = false;

    for (size_t k = 0; k < loops->n; k++) {
        ml_AsmSummary s = {.is_loop = true};

        if (!is_inner(loops, k) || !loop_wanted(v, loops->v[k], from, to))
            continue;
        for (size_t j = loops->v[k].from; j <= loops->v[k].to; j++)
            count(&v->v[j], &s);
        if (found && (s.fmas < sum->fmas ||
                      (s.fmas == sum->fmas && s.instructions <= sum->instructions)))
            continue;
        found = true;
        *sum = s;
        *out = loops->v[k];
    }
    return found;
}

/* ---------------------------------------------------------------- the text */

static void add_line(ml_Text *out, const Line *l)
{
    if (l->label) {
        ml_text_fmt(out, "     | %.*s:\n", (int)l->text.n, l->text.p);
        return;
    }
    if (l->line)
        ml_text_fmt(out, "%4u |     ", l->line);
    else
        ml_text_add(out, "     |     ");
    for (size_t k = 0; k < l->text.n; k++)
        ml_text_char(out, l->text.p[k] == '\t' ? ' ' : l->text.p[k]);
    ml_text_add(out, l->spill ? "   # spill\n" : "\n");
}

/* Whether the next instruction behind a label is wanted: jumps lead there. */
static bool near_wanted(const Lines *v, size_t k, uint32_t from, uint32_t to)
{
    while (k < v->n && v->v[k].label)
        k++;
    return k < v->n && wanted(&v->v[k], from, to);
}

bool ml_asm_view(ml_Ctx *cx, const char *assembly, uint32_t from, uint32_t to, ml_Text *out,
                 ml_AsmSummary *sum)
{
    Lines v = {0};
    Loops loops = {0};
    Loop hot = {0};
    bool any = false;

    read(cx, assembly, &v);
    find_loops(cx, &v, &loops);
    *sum = (ml_AsmSummary){0};
    if (hottest(&v, &loops, from, to, &hot, sum)) {
        ml_text_add(out, "hottest inner loop\n");
        for (size_t k = hot.from; k <= hot.to; k++)
            add_line(out, &v.v[k]);
        ml_text_add(out, from ? "all of it\n" : "all of the function\n");
        any = true;
    }
    for (size_t k = 0; k < v.n; k++) {
        if (!v.v[k].label && wanted(&v.v[k], from, to)) {
            any = true;
            if (!sum->is_loop)
                count(&v.v[k], sum);
        }
        if (v.v[k].label ? from == 0 || near_wanted(&v, k, from, to)
                         : wanted(&v.v[k], from, to))
            add_line(out, &v.v[k]);
    }
    return any;
}

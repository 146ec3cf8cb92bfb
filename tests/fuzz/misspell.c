/* misspell - see misspell.h. */
#include "misspell.h"

#include <ctype.h>
#include <string.h>

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/walk.h"

/* ---- edits */
static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The end of the string literal that begins at k. */
static size_t string_end(ml_Str t, size_t k)
{
    char quote = t.p[k];
    bool triple = k + 2 < t.n && t.p[k + 1] == quote && t.p[k + 2] == quote;

    for (k += triple ? 3 : 1; k < t.n; k++) {
        if (t.p[k] == '\\')
            k++;
        else if (t.p[k] == quote && !triple)
            return k + 1;
        else if (t.p[k] == quote && k + 2 < t.n && t.p[k + 1] == quote &&
                 t.p[k + 2] == quote)
            return k + 3;
    }
    return t.n;
}

/* Whether the name may be a new one: left of an assignment, before a type, behind `for`. */
static bool may_define(ml_Str t, const MsEdit *e, size_t line)
{
    size_t k = e->end;

    while (k < t.n && t.p[k] == ' ')
        k++;
    if (k < t.n && t.p[k] == ':')
        return true;
    if (e->at >= line + 4 && memcmp(t.p + e->at - 4, "for ", 4) == 0)
        return true;
    for (size_t j = line; j < e->at; j++)
        if (strchr("([{.", t.p[j]))
            return false;
    while (k < t.n && !strchr("\n=([", t.p[k]))
        k++;
    return k + 1 < t.n && t.p[k] == '=' && t.p[k + 1] != '=';
}

void ms_edits(ml_Ctx *cx, ml_Str t, MsEdits *out)
{
    size_t line_at = 0;
    uint32_t line = 1;

    for (size_t k = 0; k < t.n;) {
        if (t.p[k] == '#') {
            while (k < t.n && t.p[k] != '\n')
                k++;
        } else if (t.p[k] == '"' || t.p[k] == '\'') {
            k = string_end(t, k);
        } else if (isdigit((unsigned char)t.p[k])) { /* 1e5, 0x1f */
            while (k < t.n && in_name(t.p[k]))
                k++;
        } else if (in_name(t.p[k])) {
            MsEdit e = {.at = k};

            for (size_t j = 0; j < k; j++) /* strings may span lines */
                if (j == 0 || t.p[j - 1] == '\n')
                    line_at = j;
            while (k < t.n && in_name(t.p[k]))
                k++;
            e.end = k;
            e.defines = may_define(t, &e, line_at);
            if (!(k < t.n && (t.p[k] == '"' || t.p[k] == '\''))) /* f"..." */
                ml_push(cx, out, e);
        } else {
            k++;
        }
    }
    for (size_t k = 0; k < t.n; line++) {
        MsEdit e = {.at = k, .line = line, .is_line = true};

        while (k < t.n && t.p[k] != '\n')
            k++;
        k += k < t.n;
        e.end = k;
        ml_push(cx, out, e);
    }
}

static bool occurs(ml_Str t, ml_Str word)
{
    for (size_t k = 0; k + word.n <= t.n; k++)
        if (memcmp(t.p + k, word.p, word.n) == 0 && (k == 0 || !in_name(t.p[k - 1])) &&
            (k + word.n == t.n || !in_name(t.p[k + word.n])))
            return true;
    return false;
}

/* The name with a letter doubled, left out, or two changed; q where that is a name too. */
static ml_Str misspelt(ml_Ctx *cx, ml_Str t, const MsEdit *e, unsigned how)
{
    size_t n = e->end - e->at;
    char *p = ml_alloc(cx, n + 3);
    ml_Str out = {p, n};

    memcpy(p, t.p + e->at, n);
    if (how % 3 == 1 && n > 2) {
        p[n - 2] = p[n - 1];
        out.n = n - 1;
    } else if (how % 3 == 2 && n > 3) {
        p[1] = t.p[e->at + 2];
        p[2] = t.p[e->at + 1];
    } else {
        p[n] = p[n - 1];
        out.n = n + 1;
    }
    if (occurs(t, out)) {
        memcpy(p, t.p + e->at, n);
        p[n] = 'q';
        out.n = n + 1;
    }
    return out;
}

ml_Str ms_apply(ml_Ctx *cx, ml_Str t, const MsEdit *e, unsigned how)
{
    ml_Str word = e->is_line ? (ml_Str){"", 0} : misspelt(cx, t, e, how);
    size_t n = t.n - (e->end - e->at) + word.n;
    char *p = ml_alloc(cx, n + 1);

    memcpy(p, t.p, e->at);
    memcpy(p + e->at, word.p, word.n);
    memcpy(p + e->at + word.n, t.p + e->end, t.n - e->end);
    p[n] = 0;
    return (ml_Str){p, n};
}

/* ---- what is lost */
typedef struct Count {
    uint32_t without; /* a line whose statements do not count; 0: all count */
    size_t params, stmts[ML_STMT_KINDS];
} Count;

static bool count_stmt(const ml_Stmt *s, void *user)
{
    Count *c = user;

    /* the root block comes and goes with what stands beside the outermost block */
    bool root = s->kind == ML_STMT_BLOCK && ml_streq(ml_as_block(s)->name, "root");
    bool nothing =
        root || (s->kind == ML_STMT_EVALUATE && ml_is_int(ml_as_evaluate(s)->value, 0));

    if (s->kind != ML_STMT_SEQ && !nothing &&
        !(c->without && s->span && s->span->line == c->without))
        c->stmts[s->kind]++;
    if (s->kind == ML_STMT_BLOCK && ml_as_block(s)->init)
        ml_stmt_visit(ml_as_block(s)->init, count_stmt, c);
    return true;
}

/* A call of a macro is a line that stands for statements of other lines. */
static bool has_macros(ml_Str t)
{
    return occurs(t, ml_str("macro")) || occurs(t, ml_str("inline"));
}

static Count count(const ml_Module *m, uint32_t without)
{
    Count c = {.without = without};

    for (size_t k = 0; k < m->n; k++) {
        c.params += m->funcs[k]->n_params;
        ml_stmt_visit(m->funcs[k]->body, count_stmt, &c);
    }
    return c;
}

/* Equal function by function, whatever they are called. */
static bool equal(ml_Ctx *cx, const ml_Module *a, const ml_Module *b, ml_Difference *diff)
{
    ml_EqualOpts o = {.ignore_symbol = true};

    if (a->n != b->n)
        return false;
    for (size_t k = 0; k < a->n; k++) {
        bool found = false;

        for (size_t j = 0; j < b->n && !found; j++)
            found = ml_equal_func(cx, a->funcs[k], b->funcs[j], &o, NULL);
        if (!found) {
            ml_equal_func(cx, a->funcs[k], b->funcs[k], &o, diff);
            return false;
        }
    }
    return true;
}

static size_t n_lines(ml_Str t)
{
    size_t n = 1;

    for (size_t k = 0; k < t.n; k++)
        n += t.p[k] == '\n';
    return n;
}

static MsVerdict judge(ml_Ctx *cx, const ml_Module *before, ml_Str text, const MsEdit *e,
                       const ml_ParseOpts *opts, ml_Text *why)
{
    ml_ParseOpts o = *opts;
    ml_Parsed p;
    Count a, b;
    ml_Difference diff = {.reason = "?", .path_a = "?"};

    if (e->is_line && before->n) /* the line may have said which spelling it is */
        o.spelling = (int)before->funcs[0]->spelling;
    for (size_t k = 0; e->is_line && k < before->n; k++)
        if (before->funcs[k]->spelling != before->funcs[0]->spelling)
            o.spelling = -1;
    p = ml_parse(cx, text, &o);
    if (!p.mod) {
        for (size_t k = 0; k < p.n_diags; k++)
            if (!p.diags[k].warning) {
                uint32_t line = p.diags[k].span.line;

                if (line >= 1 && line <= n_lines(text) && p.diags[k].span.col >= 1)
                    return MS_REFUSED;
                ml_text_fmt(why, "an error in line %u", (unsigned)line);
                return MS_LOST;
            }
        ml_text_add(why, "neither a program nor an error");
        return MS_LOST;
    }
    if (equal(cx, before, p.mod, &diff))
        return MS_EQUAL;
    if (!e->is_line && !e->defines) {
        ml_text_fmt(why, "another program: %s at %s", diff.reason, diff.path_a);
        return MS_LOST;
    }
    a = count(before, e->is_line ? e->line : 0);
    b = count(p.mod, 0);
    if (p.mod->n < before->n || b.params < a.params) {
        ml_text_fmt(why, "%u functions with %zu parameters, there were %u with %zu",
                    (unsigned)p.mod->n, b.params, (unsigned)before->n, a.params);
        return MS_LOST;
    }
    for (size_t k = 0; k < ML_STMT_KINDS && !has_macros(text); k++)
        if (b.stmts[k] < a.stmts[k]) {
            ml_text_fmt(why, "%zu statements of kind %zu, there were %zu", b.stmts[k], k,
                        a.stmts[k]);
            return MS_LOST;
        }
    return MS_OTHER;
}

MsVerdict ms_judge(const ml_Module *before, ml_Str text, const MsEdit *e,
                   const ml_ParseOpts *opts, ml_Text *why)
{
    ml_Ctx *cx = ml_ctx_new(0);
    MsVerdict v = judge(cx, before, text, e, opts, why);

    ml_ctx_unref(cx);
    return v;
}

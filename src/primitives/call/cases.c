/*
 * cases - reading src/primitives/cases/NAME.case: what a primitive does, as data. They are
 * its tests and the example that `:help` runs. Source: style 10.
 */
#include "moonloop/primitives/call/cases.h"

#include <stdio.h>

#include "moonloop/core/arith/arith.h"
#include "moonloop/core/base/embedded.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/schedule/schedule_impl.h"
#include "moonloop/primitives/tokens.h"

static bool bad(ml_Ctx *cx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool bad(ml_Ctx *cx, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_fail(cx, ML_E_BAD_FILE, ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}

/* ---- reading */

static const char *next_line(const char **p, ml_Str *line)
{
    const char *from = *p, *nl = strchr(from, '\n');

    if (!*from)
        return NULL;
    *line = (ml_Str){from, nl ? (size_t)(nl - from) : strlen(from)};
    *p = nl ? nl + 1 : from + line->n;
    return from;
}

static const char *kept(ml_Ctx *cx, ml_Text *t)
{
    while (t->n > 0 && (t->p[t->n - 1] == '\n' || t->p[t->n - 1] == ' '))
        t->p[--t->n] = 0;
    const char *z = t->n ? ml_strdup(cx, (ml_Str){t->p, t->n}) : NULL;

    ml_text_clear(t);
    return z;
}

static bool finish(ml_Ctx *cx, const char *file, ml_Case *c, ml_Text *text, ml_Cases *out)
{
    const char *rest = kept(cx, text);

    if (!c->title)
        return true;
    if (!c->calls)
        return bad(cx, "%s:%u: the case has no call", file, c->line);
    if (!c->code)
        c->expected = rest ? rest : c->program;
    else if (rest)
        return bad(cx, "%s:%u: a program behind the error", file, c->line);
    ml_push(cx, out, *c);
    *c = (ml_Case){0};
    return true;
}

bool ml_cases_read(ml_Ctx *cx, const char *file, const char *text, ml_Cases *out)
{
    ml_Text t = {0}, calls = {0};
    ml_Case c = {0};
    unsigned n = 0;
    ml_Str line;
    bool ok = true;

    for (const char *p = text; ok && next_line(&p, &line);) {
        n++;
        if (ml_str_begins(line, "== ")) {
            ok = finish(cx, file, &c, &t, out) && ok;
            c.title = ml_strdup(cx, (ml_Str){line.p + 3, line.n - 3});
            c.line = n;
        } else if (ml_str_begins(line, "-- ")) {
            if (!c.program)
                c.program = kept(cx, &t);
            if (!c.program)
                ok = bad(cx, "%s:%u: a call without a program", file, n);
            if (c.calls)
                ml_text_fmt(&calls, "%s\n", c.calls);
            ml_text_addn(&calls, line.p + 3, line.n - 3);
            c.calls = kept(cx, &calls);
        } else if (ml_str_begins(line, "-> ")) {
            c.results = ml_strdup(cx, (ml_Str){line.p + 3, line.n - 3});
        } else if (ml_str_begins(line, "!! ")) {
            const char *z = ml_strdup(cx, (ml_Str){line.p + 3, line.n - 3});
            const char *at = strstr(z, " at ");

            c.code = at ? ml_strdup(cx, (ml_Str){z, (size_t)(at - z)}) : z;
            c.place = at ? at + 4 : NULL;
            if (ml_error_find(c.code) == ML_E_OK)
                ok = bad(cx, "%s:%u: unknown code %s", file, n, c.code);
        } else if (c.title) {
            ml_text_addn(&t, line.p, line.n);
            ml_text_char(&t, '\n');
        } else if (line.n > 0 && line.p[0] != '#')
            ok = bad(cx, "%s:%u: text before the first case", file, n);
    }
    ok = finish(cx, file, &c, &t, out) && ok;
    ml_text_free(&t);
    ml_text_free(&calls);
    return ok;
}

/* ---- fragments */

enum { MAX_BUFFERS = 16, MAX_RANK = 8, LARGE = 1 << 20 };

typedef struct Buf {
    const char *name;
    size_t rank;
    int64_t shape[MAX_RANK];
} Buf;

typedef struct Bufs {
    size_t n;
    Buf v[MAX_BUFFERS];
    ml_Ctx *cx;
    ml_Arith *ar;
} Bufs;

/* Whether the fragment itself makes it: NAME = T.alloc_buffer(...) or the like. */
static bool made_inside(const char *text, ml_Str name)
{
    for (const char *p = text; (p = strchr(p, '=')); p++) {
        const char *e = p;

        while (e > text && e[-1] == ' ')
            e--;
        if ((size_t)(e - text) >= name.n && memcmp(e - name.n, name.p, name.n) == 0 &&
            (e - name.n == text || !ml_is_name_char(e[-(long)name.n - 1])) &&
            (strncmp(p, "= T.alloc_buffer", 16) == 0 ||
             strncmp(p, "= T.match_buffer", 16) == 0))
            return true;
    }
    return false;
}

static size_t rank_of(const char *open)
{
    size_t rank = 1;
    int depth = 0;

    for (const char *p = open; *p; p++) {
        depth += *p == '[' || *p == '(';
        depth -= *p == ']' || *p == ')';
        if (depth == 0)
            break;
        rank += *p == ',' && depth == 1;
    }
    return rank;
}

static bool find_buffers(Bufs *b, const char *text)
{
    for (const char *p = text; *p; p++) {
        const char *e = p;

        if (!ml_is_name_char(*p) || (p > text && (ml_is_name_char(p[-1]) || p[-1] == '.')))
            continue;
        while (ml_is_name_char(*e))
            e++;
        ml_Str name = {p, (size_t)(e - p)};
        bool known = false;

        for (size_t k = 0; k < b->n; k++)
            known |= ml_str_eq(name, ml_str(b->v[k].name));
        if (*e == '[' && !known && !made_inside(text, name)) {
            if (b->n == MAX_BUFFERS || rank_of(e) > MAX_RANK)
                return bad(b->cx, "too many buffers or dimensions in a fragment");
            b->v[b->n] = (Buf){.name = ml_strdup(b->cx, name), .rank = rank_of(e)};
            for (size_t d = 0; d < MAX_RANK; d++)
                b->v[b->n].shape[d] = LARGE;
            b->n++;
        }
        p = e - 1;
    }
    return true;
}

static const char *wrap(ml_Ctx *cx, const Bufs *b, const char *text)
{
    ml_Text t = {0};
    const char *z;

    ml_text_add(&t, "@T.prim_func\ndef main(");
    for (size_t k = 0; k < b->n; k++) {
        ml_text_fmt(&t, "%s%s: T.Buffer((", k ? ", " : "", b->v[k].name);
        for (size_t d = 0; d < b->v[k].rank; d++)
            ml_text_fmt(&t, "%lld,", (long long)b->v[k].shape[d]);
        ml_text_add(&t, "), \"float32\")");
    }
    ml_text_add(&t, "):\n");
    ml_Str line;

    for (const char *p = text; next_line(&p, &line);)
        ml_text_fmt(&t, "    %.*s\n", (int)line.n, line.p);
    z = ml_strdup(cx, (ml_Str){t.p, t.n});
    ml_text_free(&t);
    return z;
}

static void widen(Bufs *b, const ml_Buffer *buf, size_t dim, const ml_Expr *index,
                  bool is_extent)
{
    ml_Bound bound = ml_arith_bound(b->ar, index);

    if (bound.hi == ML_INF)
        return;
    for (size_t k = 0; k < b->n; k++)
        if (ml_streq(b->v[k].name, buf->name) && dim < b->v[k].rank) {
            int64_t need = bound.hi + (is_extent ? 0 : 1);

            if (need > b->v[k].shape[dim])
                b->v[k].shape[dim] = need;
        }
}

static bool measure_expr(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_LOAD)
        for (size_t d = 0; d < ml_load_rank(e); d++)
            widen(user, e->as.buffer, d, e->args[d], false);
    return true;
}

static bool measure_stmt(const ml_Stmt *st, void *user)
{
    Bufs *b = user;

    if (st->kind == ML_STMT_FOR)
        ml_arith_bind_loop(b->ar, ml_as_for(st));
    if (st->kind == ML_STMT_BLOCK)
        ml_arith_bind_iters(b->ar, ml_as_block(st));
    if (st->kind == ML_STMT_STORE) {
        const ml_Store *s = ml_as_store(st);

        for (uint32_t d = 0; d < s->n; d++)
            widen(b, s->buffer, d, s->indices[d], false);
    }
    ml_stmt_visit_exprs(st, ML_ROLES_ALL, measure_expr, user);
    return true;
}

const char *ml_case_whole(ml_Ctx *cx, const char *text, const char *of)
{
    Bufs b = {.cx = cx};

    if (strstr(text, "def "))
        return text;
    if (!find_buffers(&b, of))
        return NULL;
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Parsed p = ml_parse(tmp, ml_str(wrap(cx, &b, of)), NULL);

    if (!p.mod) {
        bad(cx, "%s: %s in\n%s", p.diags[0].code, p.diags[0].message, wrap(cx, &b, of));
        ml_ctx_unref(tmp);
        return NULL;
    }
    for (size_t k = 0; k < b.n; k++)
        for (size_t d = 0; d < b.v[k].rank; d++)
            b.v[k].shape[d] = 1;
    b.ar = ml_arith_new(tmp);
    ml_stmt_visit(p.mod->funcs[0]->body, measure_stmt, &b);
    ml_ctx_unref(tmp);
    return wrap(cx, &b, text);
}

/* ---- the example of the help */

static void print_version(ml_Schedule *s, ml_Text *out)
{
    ml_PrintOpts o = {.spelling = -1, .no_header = true, .regions_auto = true};

    ml_schedule_print(s, ml_schedule_version(s), out, &o);
    ml_text_char(out, '\n');
}

static bool run_calls(ml_Schedule *s, ml_Ctx *cx, const char *calls)
{
    ml_CallTexts c = {0};
    ml_Results r;

    if (!ml_parse_calls(cx, ml_str(calls), &c))
        return false;
    for (size_t k = 0; k < c.n; k++)
        if (!ml_apply_prim(s, c.v[k].prim, c.v[k].args, c.v[k].n, &r))
            return false;
    return true;
}

static bool run_example(ml_Ctx *cx, const ml_Case *c, ml_CaseExample *out)
{
    const char *whole = ml_case_whole(cx, c->program, c->program);
    ml_Ctx *mod_cx = ml_ctx_new(0);
    ml_Parsed p = whole ? ml_parse(mod_cx, ml_str(whole), NULL) : (ml_Parsed){0};
    const ml_Error *why = NULL;
    ml_Schedule *s = p.mod ? ml_schedule_new(mod_cx, p.mod, NULL, &why) : NULL;
    bool ok = s != NULL;

    if (ok) {
        print_version(s, &out->before);
        ml_text_add(&out->title, c->title);
        ml_text_add(&out->call, c->calls);
        out->ok = run_calls(s, cx, c->calls);
        if (out->ok)
            print_version(s, &out->after);
        else {
            ml_Failure *f = ml_failure_take(s);

            ml_failure_render(f, &out->after, &(ml_RenderOpts){.width = out->width});
            ml_text_char(&out->after, '\n');
            ml_failure_free(f);
        }
        ml_schedule_unref(s);
    }
    ml_ctx_unref(mod_cx);
    return ok;
}

bool ml_case_example(const char *name, ml_CaseExample *out)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Cases cases = {0};
    bool ok = false;
    char file[64];

    snprintf(file, sizeof file, "%s.case", name);
    for (const ml_EmbeddedFile *f = ml_case_files; f->name && !ok; f++)
        if (ml_streq(f->name, file))
            ok = ml_cases_read(cx, file, f->text, &cases) && cases.n > 0 &&
                 run_example(cx, &cases.v[0], out);
    ml_ctx_unref(cx);
    return ok;
}

static size_t length_of(const ml_Case *c)
{
    return strlen(c->program) + strlen(c->calls);
}

bool ml_case_examples_of(const char *code, ml_CaseExample *bad, ml_CaseExample *good)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Case *best = NULL, *other = NULL;

    for (const ml_EmbeddedFile *f = ml_case_files; f->name; f++) {
        ml_Cases *cases = ML_NEW(cx, ml_Cases);
        const ml_Case *fine = NULL;

        if (!ml_cases_read(cx, f->name, f->text, cases))
            continue;
        for (size_t k = 0; k < cases->n; k++) {
            const ml_Case *c = &cases->v[k];

            if (!c->code && !fine)
                fine = c;
            if (c->code && ml_streq(c->code, code) &&
                (!best || length_of(c) < length_of(best))) {
                best = c;
                other = fine;
            }
        }
    }
    bool ok = best && other && run_example(cx, best, bad) && run_example(cx, other, good);

    ml_ctx_unref(cx);
    return ok;
}

void ml_case_example_free(ml_CaseExample *ex)
{
    ml_text_free(&ex->title);
    ml_text_free(&ex->before);
    ml_text_free(&ex->call);
    ml_text_free(&ex->after);
}

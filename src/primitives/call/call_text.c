/*
 * call_text - calls in Lua form as data: name("a", {auto, 4}) other{loop = "i", factor = 2}
 *
 * The small part of Lua that suggestions and cases are written in: literals, lists, tables
 * with names, auto. Calls follow each other, separated by space, `;` or newlines; a target
 * `s:` or `sch:` before the name is skipped. Nothing is executed.
 */
#include "primitives/call_text.h"

#include <errno.h>
#include <stdlib.h>

#include "primitives/call/args.h"

enum { MAX_DEPTH = 32 };

typedef struct Reader {
    ml_Ctx *cx;
    const char *p, *end, *start;
    int depth;
    const ml_CallNames *names; /* NULL: there are none, and named arguments need no table */
} Reader;

typedef struct Table {
    ML_VEC(ml_Arg) list;
    ML_VEC(const char *) keys;
    ML_VEC(ml_Arg) values;
} Table;

static bool syntax(Reader *r, const char *what)
{
    return ml_bad_argument(r->cx, "at character %zu of the call: %s",
                           (size_t)(r->p - r->start) + 1, what);
}

static void skip(Reader *r)
{
    for (;;) {
        while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' ||
                                 *r->p == '\r' || *r->p == ';'))
            r->p++;
        if (r->end - r->p < 2 || r->p[0] != '-' || r->p[1] != '-')
            return;
        while (r->p < r->end && *r->p != '\n')
            r->p++;
    }
}

static bool peek(Reader *r, char c)
{
    skip(r);
    return r->p < r->end && *r->p == c;
}

static bool accept(Reader *r, char c)
{
    if (!peek(r, c))
        return false;
    r->p++;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static ml_Str word(Reader *r)
{
    const char *from;

    skip(r);
    from = r->p;
    while (r->p < r->end && (is_letter(*r->p) || (r->p > from && is_digit(*r->p))))
        r->p++;
    return (ml_Str){from, (size_t)(r->p - from)};
}

static bool read_string(Reader *r, const char **out)
{
    char quote = *r->p++;
    char *z = ml_alloc(r->cx, (size_t)(r->end - r->p) + 1);
    size_t n = 0;

    while (r->p < r->end && *r->p != quote) {
        char c = *r->p++;

        if (c == '\n')
            return syntax(r, "the string does not end on its line");
        if (c == '\\' && r->p < r->end) {
            c = *r->p++;
            if (c == 'n')
                c = '\n';
            else if (c == 't')
                c = '\t';
            else if (is_digit(c)) {
                int v = c - '0';

                for (int k = 0; k < 2 && r->p < r->end && is_digit(*r->p); k++)
                    v = v * 10 + (*r->p++ - '0');
                if (v == 0 || v > 255)
                    return syntax(r, "this character cannot stand in a string");
                c = (char)v;
            }
        }
        z[n++] = c;
    }
    if (r->p == r->end)
        return syntax(r, "the string does not end");
    r->p++;
    z[n] = 0;
    *out = z;
    return true;
}

static bool read_number(Reader *r, ml_Arg *out)
{
    char buf[64];
    size_t n = 0;
    bool real = false;
    char *stop;

    while (r->p < r->end && n + 1 < sizeof(buf) &&
           (is_digit(*r->p) || strchr("+-.eExXabcdfABCDF", *r->p))) {
        real |= *r->p == '.' || *r->p == 'e' || *r->p == 'E';
        buf[n++] = *r->p++;
    }
    buf[n] = 0;
    errno = 0;
    if (real) {
        *out = (ml_Arg){.kind = ML_A_FLOAT, .as.f = strtod(buf, &stop)};
    } else
        *out = ML_ARG_INT(strtoll(buf, &stop, 0));
    if (n == 0 || *stop || errno)
        return syntax(r, "this is no number");
    return true;
}

static bool read_value(Reader *r, ml_Arg *out);

/* key = or ["key"] =; false without an error when a plain value follows. */
static bool read_key(Reader *r, char close, const char **key)
{
    const char *from = r->p;

    *key = NULL;
    if (r->names && close == ')')
        return true;
    if (accept(r, '[')) {
        skip(r);
        if (r->p < r->end && (*r->p == '"' || *r->p == '\'') && read_string(r, key) &&
            accept(r, ']') && accept(r, '='))
            return true;
    } else {
        ml_Str w = word(r);

        if (w.n > 0 && accept(r, '=')) {
            *key = ml_strdup(r->cx, w);
            return true;
        }
    }
    *key = NULL;
    r->p = from;
    return !ml_error(r->cx);
}

/* What stands between the brackets; `close` is read too. */
static bool read_table(Reader *r, char close, Table *t)
{
    size_t last = 0;

    *t = (Table){0};
    while (!accept(r, close)) {
        const char *key = NULL;
        ml_Arg v;

        skip(r);
        if (!read_key(r, close, &key) || !read_value(r, &v))
            return false;
        if (key) {
            ml_push(r->cx, &t->keys, key);
            ml_push(r->cx, &t->values, v);
        } else {
            ml_push(r->cx, &t->list, v);
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): read */
            if (v.kind != ML_A_ABSENT)
                last = t->list.n;
        }
        if (!accept(r, ',') && !peek(r, close))
            return syntax(r, "a comma or the closing bracket is expected");
    }
    t->list.n = last; /* as in Lua, nil at the end of a list is not there */
    return true;
}

/* name or name[3], as the caller knows it. */
static bool read_name_value(Reader *r, ml_Str w, ml_Arg *out)
{
    ml_Arg element = ML_ARG_INT(0);

    if (accept(r, '[')) {
        skip(r);
        if (!read_number(r, &element))
            return false;
        if (element.kind != ML_A_INT || element.as.i < 1 || !accept(r, ']'))
            return syntax(r, "the number of an element is expected");
    }
    return r->names->value(r->names->user, w, element.as.i, out) ||
           syntax(r, "this name is no argument");
}

bool ml_is_lua_keyword(ml_Str w)
{
    static const char *const WORDS[] = {
        "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
        "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
        "repeat",   "return", "then", "true", "until",  "while"};

    for (size_t k = 0; k < ML_COUNT(WORDS); k++)
        if (ml_str_eq(w, ml_str(WORDS[k])))
            return true;
    return false;
}

static bool read_word_value(Reader *r, ml_Arg *out)
{
    ml_Str w = word(r);

    if (ml_str_eq(w, ml_str("moon")) && accept(r, '.'))
        w = word(r);
    if (ml_str_eq(w, ml_str("true")) || ml_str_eq(w, ml_str("false")))
        *out = ML_ARG_BOOL(w.n == 4);
    else if (ml_str_eq(w, ml_str("nil")))
        *out = ML_ARG_ABSENT;
    else if (ml_str_eq(w, ml_str("auto")))
        *out = ML_ARG_AUTO;
    else if (r->names && w.n > 0 && !ml_is_lua_keyword(w))
        return read_name_value(r, w, out);
    else
        return syntax(r, "a string, number, list, true, false or auto is expected");
    return true;
}

static bool read_value(Reader *r, ml_Arg *out)
{
    Table t;
    bool ok;

    skip(r);
    if (r->p == r->end)
        return syntax(r, "a value is expected");
    if (*r->p == '"' || *r->p == '\'') {
        *out = (ml_Arg){.kind = ML_A_STRING};
        return read_string(r, &out->as.s);
    }
    if (is_digit(*r->p) || *r->p == '-' || *r->p == '.')
        return read_number(r, out);
    if (*r->p != '{')
        return read_word_value(r, out);
    if (r->depth == MAX_DEPTH)
        return syntax(r, "lists are nested too deep");
    r->p++;
    r->depth++;
    ok = read_table(r, '}', &t);
    r->depth--;
    if (!ok)
        return false;
    if (t.keys.n > 0 && t.list.n > 0)
        return syntax(r, "a value is a list or has names, not both");
    if (t.keys.n > 0)
        *out = (ml_Arg){.kind = ML_A_DICT,
                        .n = (uint32_t)t.keys.n,
                        .as.list = t.values.v,
                        .keys = t.keys.v};
    else
        *out = ML_ARG_LIST(t.list.v, t.list.n);
    return true;
}

static bool read_call(Reader *r, ml_CallText *out)
{
    const char *from;
    Table t;
    ml_Str receiver = {0};

    skip(r);
    from = r->p;
    ml_Str name = word(r);

    if (name.n > 0 && accept(r, ':')) {
        receiver = name;
        name = word(r);
    }
    if (name.n == 0)
        return syntax(r, "the name of a primitive is expected");
    if (r->names && !r->names->means(r->names->user, receiver, name))
        return syntax(r, "this is no primitive");
    *out = (ml_CallText){.name = ml_strdup(r->cx, name)};
    out->prim = ml_primitive_find(out->name);
    if (!out->prim) {
        const char *near = ml_primitive_nearest(out->name);
        ml_Text msg = {0};

        ml_text_fmt(&msg, "no primitive '%s'", out->name);
        if (near)
            ml_text_fmt(&msg, "; did you mean %s?", near);
        ml_fail(r->cx, ML_E_UNKNOWN_NAME, ML_TEXT(ml_text_z(&msg)));
        ml_text_free(&msg);
        return false;
    }
    if (accept(r, '{')) {
        if (!read_table(r, '}', &t))
            return false;
    } else if (accept(r, '(')) {
        if (!read_table(r, ')', &t))
            return false;
        if (t.list.n == 1 && t.keys.n == 0 && t.list.v[0].kind == ML_A_DICT) {
            const ml_Arg d = t.list.v[0]; /* one table with names: the named form */

            t.list.n = 0;
            for (uint32_t k = 0; k < d.n; k++) {
                ml_push(r->cx, &t.keys, d.keys[k]);
                ml_push(r->cx, &t.values, d.as.list[k]);
            }
        }
    } else
        return syntax(r, "( or { is expected");
    out->text = (ml_Str){from, (size_t)(r->p - from)};

    ml_Arg *args = ML_ARRAY(r->cx, ml_Arg, out->prim->n_params + 1);

    out->n = out->prim->n_params;
    out->args = args;
    return ml_args_by_name(r->cx, out->prim, t.list.v, t.list.n, t.keys.v, t.values.v,
                           t.keys.n, args);
}

bool ml_parse_call(ml_Ctx *cx, ml_Str *text, const ml_CallNames *names, ml_CallText *out)
{
    Reader r = {
        .cx = cx, .p = text->p, .start = text->p, .end = text->p + text->n, .names = names};
    bool ok;

    *out = (ml_CallText){0};
    ok = read_call(&r, out);
    *text = (ml_Str){r.p, (size_t)(r.end - r.p)};
    return ok;
}

bool ml_parse_calls(ml_Ctx *cx, ml_Str text, ml_CallTexts *out)
{
    Reader r = {.cx = cx, .p = text.p, .start = text.p, .end = text.p + text.n};

    for (skip(&r); r.p < r.end; skip(&r)) {
        ml_CallText c;

        if (!read_call(&r, &c))
            return false;
        ml_push(cx, out, c);
    }
    return true;
}

/*
 * call_text - calls in Lua form as data: name("a", {auto, 4}) other{loop = "i", factor = 2}
 *
 * The small part of Lua that suggestions and cases are written in: literals, lists, tables
 * with names, auto. Calls follow each other, separated by space, `;` or newlines; a target
 * `s:` or `sch:` before the name is skipped. Nothing is executed.
 */
#include "moonloop/primitives/call_text.h"

#include <errno.h>
#include <stdlib.h>

#include "moonloop/primitives/call/args.h"
#include "moonloop/primitives/tokens.h"

enum { MAX_DEPTH = 32 };

typedef struct Reader {
    ml_Ctx *cx;
    ml_Tokens rest;  /* behind the current token */
    ml_Token now;    /* the current token */
    const char *end; /* of the one before it */
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
                           (size_t)(r->now.text.p - r->rest.p) + 1, what);
}

static void advance(Reader *r)
{
    r->end = r->now.text.p + r->now.text.n;
    r->now = ml_token_code(&r->rest);
}

static Reader begin(ml_Ctx *cx, ml_Str text, const ml_CallNames *names)
{
    Reader r = {.cx = cx, .rest = {.p = text.p, .n = text.n}, .names = names};

    r.now.text.p = text.p;
    advance(&r);
    return r;
}

static bool accept(Reader *r, const char *mark)
{
    if (!ml_token_is(r->now, mark))
        return false;
    advance(r);
    return true;
}

/* Empty: no name stands there. */
static ml_Str word(Reader *r)
{
    ml_Str w = r->now.text;

    if (r->now.kind != ML_TOKEN_NAME)
        return (ml_Str){0};
    advance(r);
    return w;
}

static bool read_string(Reader *r, const char **out)
{
    *out = ml_token_string(r->cx, r->now);
    if (!*out)
        return syntax(r, r->now.open ? "the string does not end"
                                     : "this character cannot stand in a string");
    advance(r);
    return true;
}

static bool read_number(Reader *r, ml_Arg *out)
{
    char z[64] = "-", *stop;
    size_t minus = accept(r, "-");
    ml_Str w = r->now.text;

    if (r->now.kind != ML_TOKEN_NUMBER || w.n + minus >= sizeof z)
        return syntax(r, "this is no number");
    memcpy(z + minus, w.p, w.n);
    bool hex = w.n > 1 && (w.p[1] == 'x' || w.p[1] == 'X');

    errno = 0;
    if (strpbrk(z, hex ? ".pP" : ".eE"))
        *out = (ml_Arg){.kind = ML_A_FLOAT, .as.f = strtod(z, &stop)};
    else
        *out = ML_ARG_INT(strtoll(z, &stop, hex ? 16 : 10));
    if (*stop || errno)
        return syntax(r, "this is no number");
    advance(r);
    return true;
}

static bool read_value(Reader *r, ml_Arg *out);

/* key = or ["key"] =; without *key and without an error when a plain value follows. */
static bool read_key(Reader *r, const char **key)
{
    const Reader before = *r;

    if (accept(r, "[")) {
        if (r->now.kind == ML_TOKEN_STRING && read_string(r, key) && accept(r, "]") &&
            accept(r, "="))
            return true;
    } else {
        ml_Str w = word(r);

        if (w.n > 0 && accept(r, "=")) {
            *key = ml_strdup(r->cx, w);
            return true;
        }
    }
    *key = NULL;
    *r = before;
    return !ml_error(r->cx);
}

/* What stands between the brackets; `close` is read too. */
static bool read_table(Reader *r, const char *close, Table *t)
{
    size_t last = 0;

    *t = (Table){0};
    while (!accept(r, close)) {
        const char *key = NULL;
        ml_Arg v;

        if (!(r->names && *close == ')') && !read_key(r, &key))
            return false;
        if (!read_value(r, &v))
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
        if (!accept(r, ",") && !ml_token_is(r->now, close))
            return syntax(r, "a comma or the closing bracket is expected");
    }
    t->list.n = last; /* as in Lua, nil at the end of a list is not there */
    return true;
}

/* name or name[3], as the caller knows it. */
static bool read_name_value(Reader *r, ml_Str w, ml_Arg *out)
{
    ml_Arg element = ML_ARG_INT(0);

    if (accept(r, "[")) {
        if (!read_number(r, &element))
            return false;
        if (element.kind != ML_A_INT || element.as.i < 1 || !accept(r, "]"))
            return syntax(r, "the number of an element is expected");
    }
    return r->names->value(r->names->user, w, element.as.i, out) ||
           syntax(r, "this name is no argument");
}

static const char NO_VALUE[] = "a string, number, list, true, false or auto is expected";

static bool read_word_value(Reader *r, ml_Arg *out)
{
    ml_Str w = word(r);

    if (ml_str_eq(w, ml_str("moon")) && accept(r, "."))
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
        return syntax(r, NO_VALUE);
    return true;
}

static bool read_value(Reader *r, ml_Arg *out)
{
    Table t;
    bool ok;

    switch (r->now.kind) {
    case ML_TOKEN_STRING:
        *out = (ml_Arg){.kind = ML_A_STRING};
        return read_string(r, &out->as.s);
    case ML_TOKEN_NUMBER: return read_number(r, out);
    case ML_TOKEN_NAME: return read_word_value(r, out);
    case ML_TOKEN_END: return syntax(r, "a value is expected");
    case ML_TOKEN_COMMENT:
    case ML_TOKEN_MARK: break;
    }
    if (ml_token_is(r->now, "-"))
        return read_number(r, out);
    if (!accept(r, "{"))
        return syntax(r, NO_VALUE);
    if (r->depth == MAX_DEPTH)
        return syntax(r, "lists are nested too deep");
    r->depth++;
    ok = read_table(r, "}", &t);
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
    const char *from = r->now.text.p;
    Table t;
    ml_Str receiver = {0}, name = word(r);

    if (name.n > 0 && accept(r, ":")) {
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
    if (accept(r, "{")) {
        if (!read_table(r, "}", &t))
            return false;
    } else if (accept(r, "(")) {
        if (!read_table(r, ")", &t))
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
    out->text = (ml_Str){from, (size_t)(r->end - from)};

    ml_Arg *args = ML_ARRAY(r->cx, ml_Arg, out->prim->n_params + 1);

    out->n = out->prim->n_params;
    out->args = args;
    return ml_args_by_name(r->cx, out->prim, t.list.v, t.list.n, t.keys.v, t.values.v,
                           t.keys.n, args);
}

bool ml_parse_call(ml_Ctx *cx, ml_Str *text, const ml_CallNames *names, ml_CallText *out)
{
    Reader r = begin(cx, *text, names);

    *out = (ml_CallText){0};
    bool ok = read_call(&r, out);

    *text = (ml_Str){r.end, (size_t)(text->p + text->n - r.end)};
    return ok;
}

bool ml_parse_calls(ml_Ctx *cx, ml_Str text, ml_CallTexts *out)
{
    Reader r = begin(cx, text, NULL);

    for (;;) {
        ml_CallText c;

        while (accept(&r, ";"))
            ;
        if (r.now.kind == ML_TOKEN_END)
            return true;
        if (!read_call(&r, &c))
            return false;
        ml_push(cx, out, c);
    }
}

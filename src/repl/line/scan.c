/*
 * scan - what is open where the cursor stands in a line of Lua.
 *
 * A walk along the tokens to the cursor keeps the calls and tables that are open, so that
 * an argument is known by the function and the place it belongs to. Source: interaction 4.
 */
#include "repl/line/scan.h"

#include "moonloop/primitives/tokens.h"

static ml_ScanCall *top(ml_Scan *s)
{
    return s->depth > 0 && s->depth <= ML_SCAN_OPEN ? &s->open[s->depth - 1] : NULL;
}

static void push(ml_Scan *s, char kind)
{
    if (s->depth < ML_SCAN_OPEN)
        s->open[s->depth] = (ml_ScanCall){.kind = kind, .callee = s->chain};
    s->depth++;
    s->chain = (ml_Str){0};
}

static void note_literal(ml_Scan *s, ml_Str text)
{
    ml_ScanCall *o = top(s);

    if (!o)
        return;
    if (o->key.n && ml_str_eq(o->key, ml_str("block")))
        o->block_key = text;
    else if (o->key.n)
        o->loop_key = ml_str_eq(o->key, ml_str("loop")) ? text : o->loop_key;
    else if (o->arg < ML_SCAN_ARGS)
        o->arg_text[o->arg] = text;
}

static void scan_string(ml_Scan *s, ml_Token k)
{
    bool cut = k.open && k.text.p + k.text.n == s->p + s->n;

    if (cut && *k.text.p == '[') {
        s->nowhere = true;
        return;
    }
    if (s->chain.n) /* f "text": a call with one argument */
        push(s, '"');
    if (cut) {
        s->quote = *k.text.p;
        s->string_at = (size_t)(k.text.p + 1 - s->p);
        return;
    }
    note_literal(s, ml_token_inside(k));
    if (top(s) && top(s)->kind == '"')
        s->depth--;
    s->chain = (ml_Str){0};
}

static bool ends_chain(const ml_Scan *s, ml_Token k)
{
    return s->chain.n && s->chain.p + s->chain.n == k.text.p;
}

static void scan_name(ml_Scan *s, ml_Token k)
{
    char last = s->chain.n ? s->chain.p[s->chain.n - 1] : '\0';

    if (ends_chain(s, k) && (last == '.' || last == ':'))
        s->chain.n += k.text.n;
    else
        s->chain = k.text;
}

static void scan_mark(ml_Scan *s, ml_Token k)
{
    ml_ScanCall *o = top(s);

    switch (k.text.n == 1 ? *k.text.p : '\0') {
    case '(':
    case '{':
    case '[': push(s, *k.text.p); return;
    case ')':
    case '}':
    case ']':
        if (s->depth > 0)
            s->depth--;
        break;
    case ',':
    case ';':
        if (o) {
            o->arg++;
            o->key = (ml_Str){0};
        }
        break;
    case '=':
        if (o && o->kind == '{' && s->chain.n)
            o->key = s->chain;
        break;
    case '.':
    case ':':
        if (ends_chain(s, k))
            s->chain.n++;
        else /* After a call or an index: what stands before is not known. */
            s->chain = k.text;
        return;
    default: break;
    }
    s->chain = (ml_Str){0};
}

void ml_scan(ml_Scan *s)
{
    ml_Tokens t = {.p = s->p, .n = s->n};
    ml_Token k;

    while (!s->quote && !s->nowhere && (k = ml_token_next(&t)).kind != ML_TOKEN_END)
        switch (k.kind) {
        case ML_TOKEN_NAME:
        case ML_TOKEN_NUMBER: scan_name(s, k); break;
        case ML_TOKEN_STRING: scan_string(s, k); break;
        case ML_TOKEN_MARK: scan_mark(s, k); break;
        case ML_TOKEN_COMMENT: s->nowhere = k.open; break;
        case ML_TOKEN_END: break;
        }
}

ml_Str ml_scan_last_name(ml_Str chain, bool *method)
{
    size_t from = chain.n;

    while (from > 0 && ml_is_name_char(chain.p[from - 1]))
        from--;
    *method = from == 0 || chain.p[from - 1] == ':';
    return (ml_Str){chain.p + from, chain.n - from};
}

const ml_Param *ml_scan_param(const ml_Primitive *prim, int position, ml_Str key)
{
    for (size_t p = 0; prim && p < prim->n_params; p++) {
        const ml_Param *pa = &prim->params[p];

        if (key.n ? ml_str_eq(key, ml_str(pa->name))
                  : (int)p == position || ((int)p < position && pa->kind == ML_P_LOOPS))
            return pa;
    }
    return NULL;
}

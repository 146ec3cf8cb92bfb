/*
 * scan - what is open where the cursor stands in a line of Lua.
 *
 * A small scanner walks to the cursor and keeps the calls and tables that are open, so that
 * an argument is known by the function and the place it belongs to. Source: interaction 4.
 */
#include "repl/line/scan.h"

bool ml_scan_is_name(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

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

static void scan_string(ml_Scan *s)
{
    char quote = s->p[s->at++];
    size_t from = s->at;

    if (s->chain.n) /* f "text": a call with one argument */
        push(s, '"');
    while (s->at < s->n && s->p[s->at] != quote)
        s->at += s->p[s->at] == '\\' ? 2 : 1;
    if (s->at >= s->n) {
        s->quote = quote;
        s->string_at = from;
        return;
    }
    note_literal(s, (ml_Str){s->p + from, s->at - from});
    s->at++;
    if (top(s) && top(s)->kind == '"')
        s->depth--;
    s->chain = (ml_Str){0};
}

/* [[ ]] and comments; false: it was none. */
static bool scan_long(ml_Scan *s)
{
    const char *p = s->p + s->at;
    bool comment = s->at + 1 < s->n && p[0] == '-' && p[1] == '-';
    size_t k = comment ? 2 : 0, level = 0;

    if (s->at + k < s->n && p[k] == '[') {
        size_t m = k + 1;

        while (s->at + m < s->n && p[m] == '=') {
            m++;
            level++;
        }
        if (s->at + m < s->n && p[m] == '[') {
            for (s->at += m + 1; s->at < s->n; s->at++) {
                size_t e = 1;

                if (s->p[s->at] != ']')
                    continue;
                while (e <= level && s->at + e < s->n && s->p[s->at + e] == '=')
                    e++;
                if (e == level + 1 && s->at + e < s->n && s->p[s->at + e] == ']') {
                    s->at += e + 1;
                    return true;
                }
            }
            s->nowhere = true;
            return true;
        }
    }
    if (!comment)
        return false;
    while (s->at < s->n && s->p[s->at] != '\n')
        s->at++;
    s->nowhere = s->at == s->n;
    return true;
}

static void scan_name(ml_Scan *s)
{
    size_t from = s->at;

    while (s->at < s->n && ml_scan_is_name(s->p[s->at]))
        s->at++;
    const char *end = s->chain.p ? s->chain.p + s->chain.n : NULL;

    if (s->chain.n && end == s->p + from && (end[-1] == '.' || end[-1] == ':'))
        s->chain.n += s->at - from;
    else
        s->chain = (ml_Str){s->p + from, s->at - from};
}

static void scan_mark(ml_Scan *s)
{
    char c = s->p[s->at];
    ml_ScanCall *o = top(s);

    s->at++;
    switch (c) {
    case '(':
    case '{':
    case '[': push(s, c); return;
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
        if (o && o->kind == '{' && s->chain.n && !(s->at < s->n && s->p[s->at] == '='))
            o->key = s->chain;
        break;
    case '.':
    case ':':
        if (s->chain.n && s->chain.p + s->chain.n == s->p + s->at - 1) {
            s->chain.n++;
            return;
        }
        /* After a call or an index: what stands before is not known. */
        s->chain = (ml_Str){s->p + s->at - 1, 1};
        return;
    default: break;
    }
    s->chain = (ml_Str){0};
}

void ml_scan(ml_Scan *s)
{
    while (s->at < s->n && !s->quote && !s->nowhere) {
        char c = s->p[s->at];

        if (c == ' ' || c == '\t' || c == '\n')
            s->at++;
        else if (c == '"' || c == '\'')
            scan_string(s);
        else if ((c == '-' || c == '[') && scan_long(s))
            continue;
        else if (ml_scan_is_name(c))
            scan_name(s);
        else
            scan_mark(s);
    }
}

ml_Str ml_scan_last_name(ml_Str chain, bool *method)
{
    size_t from = chain.n;

    while (from > 0 && ml_scan_is_name(chain.p[from - 1]))
        from--;
    *method = from == 0 || chain.p[from - 1] == ':';
    return (ml_Str){chain.p + from, chain.n - from};
}

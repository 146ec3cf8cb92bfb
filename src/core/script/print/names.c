/*
 * names - identifiers of the text: sanitizing of hints, reserved words, uniqueness.
 *
 * A name is free when no definition in force has it. The first free suffix is found
 * without trying all of them again: a name remembers how far its suffixes are taken, and
 * a release moves that back. Source: script 12.5.
 */
#include "moonloop/core/script/print/print.h"

#include "moonloop/core/base/letters.h"
#include "moonloop/core/base/utf8.h"

/* Sorted; Python's keywords and what the text itself uses. */
static const char *const RESERVED[] = {
    "False",    "I",      "Module", "None",  "R",      "T",       "True",   "and",
    "as",       "assert", "async",  "await", "break",  "class",   "cls",    "continue",
    "def",      "del",    "elif",   "else",  "except", "finally", "for",    "from",
    "global",   "if",     "import", "in",    "is",     "lambda",  "len",    "metadata",
    "nonlocal", "not",    "or",     "pass",  "raise",  "range",   "return", "try",
    "while",    "with",   "yield",
};

bool ml_name_is_reserved(const char *name)
{
    size_t lo = 0, hi = ML_COUNT(RESERVED);

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = strcmp(RESERVED[mid], name);
        if (c == 0)
            return true;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

const char *ml_name_sanitize(ml_Ctx *cx, const char *hint, bool is_buffer)
{
    if (!hint || !*hint)
        return is_buffer ? "buffer" : "v";
    const char *p = hint, *end = hint + strlen(hint);
    size_t n;

    while (p < end && (n = ml_letter(p, end, p == hint)) > 0)
        p += n;
    if (p == end)
        return hint;
    char *s = ml_alloc(cx, (size_t)(end - hint) + 2), *to = s;

    if (!ml_letter(hint, end, true) && ml_letter(hint, end, false))
        *to++ = '_'; /* a digit */
    for (p = hint; p < end; p += n) {
        bool stays = (n = ml_letter(p, end, false)) > 0;

        if (!stays && (n = ml_utf8_length(p, end)) == 0)
            n = 1;
        if (stays)
            memcpy(to, p, n);
        else
            *to = '_';
        to += stays ? n : 1;
    }
    *to = '\0';
    return s;
}

const char *ml_name_of_func(ml_Ctx *cx, const char *name)
{
    const char *c = name, *end = name + strlen(name);

    while (c < end) {
        size_t n = is_word(*c) ? 1 : (unsigned char)*c < 0x80 ? 0 : ml_utf8_length(c, end);

        if (n == 0)
            return ml_name_sanitize(cx, name, false);
        c += n;
    }
    return name[0] >= '0' && name[0] <= '9' ? ml_name_sanitize(cx, name, false) : name;
}

static uint32_t hash_text(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t k = 0; k < n; k++)
        h = (h ^ (uint8_t)s[k]) * 16777619u;
    return h;
}

void ml_names_init(ml_NameTable *t, ml_Ctx *cx)
{
    *t = (ml_NameTable){.cx = cx, .cap = 64};
    t->slots = ML_ARRAY(cx, ml_NameSlot *, t->cap);
}

static void grow(ml_NameTable *t)
{
    size_t cap = t->cap * 2;
    ml_NameSlot **slots = ML_ARRAY(t->cx, ml_NameSlot *, cap);
    for (size_t k = 0; k < t->cap; k++) {
        ml_NameSlot *s = t->slots[k];
        if (!s)
            continue;
        size_t at = s->hash & (cap - 1);
        while (slots[at])
            at = (at + 1) & (cap - 1);
        slots[at] = s;
    }
    t->slots = slots;
    t->cap = cap;
}

/* The slot of that text, a new one when there is none. */
static ml_NameSlot *find(ml_NameTable *t, const char *text, size_t n)
{
    uint32_t h = hash_text(text, n);
    size_t at = h & (t->cap - 1);
    for (; t->slots[at]; at = (at + 1) & (t->cap - 1)) {
        ml_NameSlot *s = t->slots[at];
        if (s->hash == h && s->len == n && memcmp(s->text, text, n) == 0)
            return s;
    }
    ml_NameSlot *s = ML_NEW(t->cx, ml_NameSlot);
    s->text = ml_strdup(t->cx, (ml_Str){text, n});
    s->len = (uint32_t)n;
    s->hash = h;
    s->next = 1;
    s->n_uses = ml_name_is_reserved(s->text) ? 1 : 0;
    t->slots[at] = s;
    if (++t->n * 2 > t->cap)
        grow(t);
    return s;
}

ml_NameSlot *ml_names_take(ml_NameTable *t, const char *hint, bool is_buffer)
{
    const char *clean = ml_name_sanitize(t->cx, hint, is_buffer);
    ml_NameSlot *base = find(t, clean, strlen(clean));
    ml_NameSlot *s = base;
    while (s->n_uses > 0) {
        const char *text = ml_format(t->cx, "%s_%u", clean, (unsigned)base->next);
        s = find(t, text, strlen(text));
        if (!s->base) {
            s->base = base;
            s->suffix = base->next;
        }
        base->next++;
    }
    s->n_uses++;
    return s;
}

ml_NameSlot *ml_names_take_as_is(ml_NameTable *t, const char *name)
{
    ml_NameSlot *s = find(t, name, strlen(name));
    s->n_uses++;
    return s;
}

void ml_lambda_names(ml_Ctx *cx, const char *const *hints, size_t n, const char **out)
{
    ml_NameTable t;

    ml_names_init(&t, cx);
    ml_names_take_as_is(&t, "moon"); /* the results may be said with these */
    ml_names_take_as_is(&t, "tvm");
    for (size_t k = 0; k < n; k++)
        out[k] = ml_names_take(&t, hints[k], false)->text;
}

void ml_names_release(ml_NameSlot *s)
{
    ML_ASSERT(s->n_uses > 0);
    s->n_uses--;
    if (s->n_uses == 0 && s->base && s->suffix < s->base->next)
        s->base->next = s->suffix;
}

/*
 * alias - other words for commands (alias.h). An alias is looked up by its whole name,
 * before prefixes of commands are; it never hides a command, and stands for one line.
 * Source: interaction 2.
 */
#include "repl/session/alias.h"

#include "moonloop/core/base/arena.h"

static ml_Alias *find(const ml_Aliases *a, const char *name, size_t n)
{
    for (size_t k = 0; k < a->n; k++)
        if (strncmp(a->v[k].name, name, n) == 0 && a->v[k].name[n] == '\0')
            return &a->v[k];
    return NULL;
}

const char *ml_alias_find(const ml_Aliases *a, const char *name, size_t n)
{
    const ml_Alias *found = find(a, name, n);

    return found ? found->text : NULL;
}

static char *copy(const char *z)
{
    size_t n = strlen(z) + 1;

    return memcpy(ml_heap_zalloc(n), z, n);
}

static bool is_word(const char *z)
{
    size_t n =
        strspn(z, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    return n > 0 && z[n] == '\0' && z[0] != '-';
}

bool ml_alias_set(ml_Aliases *a, const char *name, const char *text, ml_Text *why)
{
    ml_Alias *was = find(a, name, strlen(name));

    if (!is_word(name)) {
        ml_text_fmt(why, "alias %s: a word of letters, digits, - and _ is needed", name);
        return false;
    }
    if (was) {
        ml_heap_free(was->name);
        ml_heap_free(was->text);
        *was = a->v[--a->n];
    }
    if (text) {
        a->v = ml_heap_grow(a->v, (a->n + 1) * sizeof *a->v);
        a->v[a->n++] = (ml_Alias){copy(name), copy(text)};
    }
    return true;
}

void ml_aliases_free(ml_Aliases *a)
{
    for (size_t k = 0; k < a->n; k++) {
        ml_heap_free(a->v[k].name);
        ml_heap_free(a->v[k].text);
    }
    ml_heap_free(a->v);
    *a = (ml_Aliases){0};
}

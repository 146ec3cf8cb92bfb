/*
 * widths - the columns that printed text takes: escape sequences take none, other controls
 * one. Characters are counted by core/base/columns.
 */
#include "repl/screen/grid.h"

#include "repl/screen/terminal.h"

const char *ml_next_char(const char *p, size_t *columns)
{
    size_t bytes = ml_escape_length(p);

    if (bytes > 0)
        return p + bytes;
    if ((unsigned char)*p < 0x80) {
        ++*columns;
        return p + 1;
    }
    *columns += (size_t)ml_char_columns(p, strnlen(p, 4), &bytes);
    return p + bytes;
}

size_t ml_columns_to(const char *p, const char *end)
{
    size_t n = 0;

    while (p < end)
        p = ml_next_char(p, &n);
    return n;
}

size_t ml_columns(const char *text)
{
    return ml_columns_to(text, text + strlen(text));
}

size_t ml_columns_fit(const char *text, size_t columns)
{
    const char *p = text;

    for (size_t n = 0; *p;) {
        const char *next = ml_next_char(p, &n);

        if (n > columns)
            break;
        p = next;
    }
    return (size_t)(p - text);
}

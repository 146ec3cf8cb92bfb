/* words - texts of the view: their lines and words, what is found in them. */
#include "repl/view/state/words.h"

#include "moonloop/core/base/arena.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

bool ml_next_line(const char **text, ml_Str *line)
{
    size_t n = strcspn(*text, "\n");

    *line = (ml_Str){*text, n};
    if (**text == '\0')
        return false;
    *text += n + ((*text)[n] == '\n');
    return true;
}

size_t ml_count_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

bool ml_in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool ml_find_text(const char *text, const char *part, size_t from, bool any_case,
                  size_t *at)
{
    size_t n = strlen(part), len = strlen(text);

    for (size_t k = from; n > 0 && k + n <= len; k++) {
        size_t m = 0;

        while (m < n &&
               (any_case ? lower(text[k + m]) == lower(part[m]) : text[k + m] == part[m]))
            m++;
        if (m == n) {
            *at = k;
            return true;
        }
    }
    return false;
}

void ml_text_drop_last(ml_Text *t)
{
    while (t->n > 0 && ((unsigned char)t->p[t->n - 1] & 0xc0) == 0x80)
        t->n--;
    if (t->n > 0)
        t->n--;
    if (t->p)
        t->p[t->n] = '\0';
}

const char *ml_text_into(ml_Ctx *cx, ml_Text *t)
{
    const char *z = ml_strdup(cx, (ml_Str){ml_text_z(t), t->n});

    ml_text_free(t);
    return z;
}

const char *ml_quoted(ml_Ctx *cx, const char *z)
{
    ml_Text t = {0};

    ml_text_quote(&t, z);
    return ml_text_into(cx, &t);
}

char *ml_heap_text(const char *z)
{
    size_t n = strlen(z) + 1;

    return memcpy(ml_heap_zalloc(n), z, n);
}

/*
 * host_python_hint - statements of Python that are not read (python.c): how they are written
 * in Lua. By their beginning alone; nothing is run. Source: interaction 7.
 */
#include "repl/host/python.h"

#include <string.h>

/* The text from p up to the `:` that ends the line; empty: none does. */
static ml_Str up_to_colon(const char *p)
{
    size_t n = strcspn(p, "\n");

    while (n > 0 && strchr(" \t\r", p[n - 1]))
        n--;
    return n > 0 && p[n - 1] == ':' ? (ml_Str){p, n - 1} : (ml_Str){0};
}

static void hint_loop(const char *text, ml_Text *out)
{
    const char *in = strstr(text, " in ");
    size_t n = in ? (size_t)(in - text) : 0;
    ml_Str of = in ? up_to_colon(in + 4) : (ml_Str){0};

    if (!of.n)
        return;
    if (of.n > 7 && memcmp(of.p, "range(", 6) == 0 && !memchr(of.p, ',', of.n))
        ml_text_fmt(out, "for %.*s = 0, %.*s - 1 do … end", (int)n, text, (int)(of.n - 7),
                    of.p + 6);
    else
        ml_text_fmt(out, "for _, %.*s in ipairs(%.*s) do … end", (int)n, text, (int)of.n,
                    of.p);
}

void ml_python_hint(const char *text, ml_Text *out)
{
    static const struct {
        const char *head, *before, *after;
    } HEADS[] = {
        {"if ", "if ", " then … end"},
        {"elif ", "elseif ", " then …"},
        {"while ", "while ", " do … end"},
        {"def ", "function ", " … end"},
    };

    text += strspn(text, " \t\n");
    if (strncmp(text, "for ", 4) == 0) {
        hint_loop(text + 4, out);
        return;
    }
    for (size_t k = 0; k < ML_COUNT(HEADS); k++) {
        size_t n = strlen(HEADS[k].head);
        ml_Str rest =
            strncmp(text, HEADS[k].head, n) == 0 ? up_to_colon(text + n) : (ml_Str){0};

        if (rest.n) {
            ml_text_fmt(out, "%s%.*s%s", HEADS[k].before, (int)rest.n, rest.p,
                        HEADS[k].after);
            return;
        }
    }
    if (strstr(text, "!="))
        ml_text_add(out, "~= is what != is elsewhere");
    else if (strstr(text, "+=") || strstr(text, "-=") || strstr(text, "*="))
        ml_text_add(out, "x = x + 1; there is no +=");
    else if (strstr(text, "]."))
        ml_text_add(
            out, "s:split(loop, …): a step takes its block or loop, there are no stages");
}

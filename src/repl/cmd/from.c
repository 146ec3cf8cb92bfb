/* from - the tables of from.h on a screen. */
#include "repl/cmd/from.h"

#include "repl/out/wrap.h"

/* Code keeps its lines. */
static void add_code(ml_Text *out, const char *code, size_t indent)
{
    while (*code) {
        size_t n = strcspn(code, "\n");

        ml_text_repeat(out, ' ', indent);
        ml_text_addn(out, code, n);
        ml_text_char(out, '\n');
        code += n + (code[n] == '\n');
    }
}

const char *ml_from_lead(const ml_From *f, const ml_FromPair *p)
{
    size_t n = strlen(f->start);
    const char *lead = p->start ? p->start : "";

    if (strncmp(lead, f->start, n) == 0)
        lead += n;
    return lead + strspn(lead, "\n");
}

void ml_from_text(const ml_From *f, size_t width, ml_Text *out)
{
    ml_wrap(out, f->intro, 0, width);
    ml_text_add(out, "\nthe tables begin with\n");
    add_code(out, f->start, 2);
    for (size_t k = 0; k < f->n; k++) {
        ml_text_fmt(out, "\n%s: there, and here\n", f->tables[k].title);
        for (size_t i = 0; i < f->tables[k].n; i++) {
            const ml_FromPair *p = &f->tables[k].pairs[i];

            add_code(out, p->there, 2);
            add_code(out, ml_from_lead(f, p), 6);
            add_code(out, p->here, 6);
            if (*p->note)
                ml_wrap(out, p->note, 8, width);
        }
    }
}

/*
 * fold_code - lines of programs and diffs that are wider than the screen: they go on behind
 * their own gutter, broken between tokens and rather outside of brackets than inside.
 *
 * A row that goes on ends in `\`, so that what is copied off the screen still parses.
 * Source: interaction 5.
 */
#include "repl/out/out.h"

enum { LEAST = 18 }; /* columns for what goes on, however deep it stands */

typedef struct Row { /* a line that is being folded */
    size_t width;
    const char *mark; /* behind what goes on; "" */
    const char *sgr;  /* the colour that is on */
    size_t sgr_n;
    char quote; /* inside of such a literal; 0 */
    int depth;  /* brackets that are open */
    bool words; /* a comment: no code */
} Row;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Behind the gutter of a diff, `   7    - `; p itself where there is none. */
static const char *gutter_end(const char *p, const char *end, const char **sign)
{
    const char *last = NULL, *q = p;

    *sign = NULL;
    while (q < end && ml_escape_length(q))
        q += ml_escape_length(q);
    while (q < end && (*q == ' ' || is_digit(*q))) {
        last = is_digit(*q) ? q : last;
        q++;
    }
    if (!last)
        return p;
    if (q + 1 < end && (*q == '+' || *q == '-') && q[1] == ' ') {
        *sign = q;
        return q + 2;
    }
    return end - last > 4 ? last + 4 : p; /* unchanged: ` ` for the sign, blanks around */
}

static bool begins(const char *p, const char *end, const char *const *words)
{
    for (; *words; words++) {
        size_t n = strlen(*words);

        if ((size_t)(end - p) >= n && memcmp(p, *words, n) == 0)
            return true;
    }
    return false;
}

enum { NEVER = -100 };

/* How good it is to break before q, in units of what a bracket costs: behind a comma and
 * before `and`; before an operator rather than behind it; hardly at a comparison; between
 * bracket and word where there is no blank. */
static int merit(const char *p, const char *q, const char *end)
{
    static const char *const joins[] = {"and ", "or ", "if ", "else ", NULL};
    static const char *const signs[] = {"+ ", "- ", "* ", "/ ", "// ", "% ", NULL};
    static const char *const tests[] = {"< ", "> ", "<= ", ">= ", "== ", "!= ", NULL};

    if (q == p)
        return NEVER;
    if (*q != ' ')
        return strchr("([{", q[-1]) ? -3 : strchr(")]}", *q) ? -4 : NEVER;
    if (q[-1] == ',' || begins(q + 1, end, joins))
        return 1;
    if (begins(q + 1, end, signs) || (q[-1] == '=' && q - p > 1 && q[-2] == ' '))
        return 0;
    return strchr("+-*/%<>=:", q[-1]) || begins(q + 1, end, tests) ? -4 : -1;
}

static void step(Row *r, const char *p)
{
    if (r->words)
        return;
    if (r->quote) {
        r->quote = *p == r->quote && p[-1] != '\\' ? '\0' : r->quote;
        return;
    }
    if (*p == '"' || *p == '\'')
        r->quote = *p;
    r->depth += *p == '(' || *p == '[' || *p == '{';
    r->depth -= *p == ')' || *p == ']' || *p == '}';
}

/* Where the row that begins at p and at that column ends: within the screen where there is
 * a place for it, never within a token; `end` when the rest fits. */
static const char *row_end(Row *r, const char *p, const char *end, size_t at)
{
    size_t limit = r->width - strlen(r->mark), column = at;
    long best_score = 0, deep = (long)(limit - at) / 6;
    const char *best = NULL;
    Row best_row = *r;

    if (at + ml_columns_to(p, end) <= r->width)
        return end;
    for (const char *q = p; q < end && (column <= limit || !best);) {
        int good = r->quote ? NEVER : merit(p, q, end);
        long score = (long)column - deep * r->depth + deep * good;

        if (good > NEVER && (!best || score >= best_score)) {
            best = q;
            best_score = score;
            best_row = *r;
        }
        if (ml_escape_length(q)) {
            r->sgr = q;
            r->sgr_n = ml_escape_length(q);
        } else
            step(r, q);
        q = ml_next_char(q, &column);
    }
    if (best)
        *r = best_row;
    return best ? best : end;
}

static void begin_row(const Row *r, size_t gutter, size_t sign, char c, size_t hang,
                      ml_Text *out)
{
    bool coloured = r->sgr_n > 0;

    if (coloured)
        ml_text_add(out, ml_style(true, ML_STYLE_PLAIN));
    ml_text_add(out, r->mark);
    ml_text_char(out, '\n');
    if (coloured)
        ml_text_addn(out, r->sgr, r->sgr_n);
    ml_text_repeat(out, ' ', sign);
    if (gutter > sign)
        ml_text_char(out, c);
    ml_text_repeat(out, ' ', hang - sign - (gutter > sign));
}

static void fold(const char *line, const char *end, size_t width, const char *mark,
                 ml_Text *out)
{
    const char *sign, *code = gutter_end(line, end, &sign), *p, *text;
    size_t gutter = ml_columns_to(line, code), indent, at;
    Row r = {.width = width, .mark = mark};

    if (ml_columns_to(line, end) <= width || gutter + 16 > width) {
        ml_text_addn(out, line, (size_t)(end - line));
        return;
    }
    for (text = code; text < end && *text == ' ';)
        text++;
    indent = (size_t)(text - code);
    if (text < end && *text == '#') { /* a comment goes on as one */
        r.words = true;
        r.mark = "";
    }
    r.sgr = line;
    r.sgr_n = ml_escape_length(line);
    at = gutter + indent;
    indent += r.words ? 0 : width < 60 ? 2 : 4;
    if (indent + LEAST > width - gutter)
        indent = width - gutter > LEAST ? width - gutter - LEAST : 0;
    ml_text_addn(out, line, (size_t)(text - line));
    if (at + 8 > width) /* nothing fits behind an indent like that */
        at = width - 8;
    for (p = text; p < end;) {
        const char *stop = row_end(&r, p, end, at);

        ml_text_addn(out, p, (size_t)(stop - p));
        for (p = stop; p < end && *p == ' ' && !r.quote;)
            p++;
        if (p >= end)
            break;
        at = gutter + indent;
        begin_row(&r, gutter, sign ? ml_columns_to(line, sign) : gutter, sign ? *sign : ' ',
                  at, out);
        if (r.words) {
            ml_text_add(out, "# ");
            at += 2;
        }
    }
}

void ml_out_fold_code(const ml_Out *o, const char *text, const char *mark, ml_Text *out)
{
    const char *end;

    if (o->height <= 0 || o->width <= 0) {
        ml_text_add(out, text);
        return;
    }
    for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        fold(text, end, (size_t)o->width, mark, out);
        ml_text_char(out, '\n');
    }
    fold(text, text + strlen(text), (size_t)o->width, mark, out);
}

void ml_out_code(ml_Out *o, const char *text, const char *mark)
{
    ml_Text shown = {0};

    if (o->sink.out)
        ml_text_add(&shown, text);
    else
        ml_out_fold_code(o, text, mark, &shown);
    ml_out_as(o, ml_text_z(&shown), text);
    ml_text_free(&shown);
}

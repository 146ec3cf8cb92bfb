/*
 * fold_code - lines of programs and diffs that are wider than the screen: they go on behind
 * their own gutter, broken between tokens and rather outside of brackets than inside.
 *
 * A row that goes on ends in `\`, so that what is copied off the screen still parses. The
 * line of an error (` 3 | …`) goes on without, and the marks below it (`   |   ^ loop i`)
 * stand below the row that holds what they mark. Source: interaction 5, 7.
 */
#include "repl/out/fold_code.h"

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

    if (!o->folds) {
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

/* ---- the line of an error, with marks below it */

enum { MOST_ROWS = 64 };

typedef struct Gutter { /* `   3 | ` */
    const char *code;   /* behind it; NULL: the line has none */
    size_t columns;     /* that it takes */
    bool numbered;
} Gutter;

static Gutter gutter_of(const char *line, const char *end)
{
    const char *p = line;
    Gutter g = {0};

    while (p < end && *p == ' ')
        p++;
    size_t blanks = (size_t)(p - line);

    while (p < end && is_digit(*p))
        p++;
    g.numbered = (size_t)(p - line) > blanks;
    if (blanks == 0 || end - p < 3 || memcmp(p, " | ", 3) != 0) {
        if (g.numbered || blanks < 2 || end - p < 2 || memcmp(p, "| ", 2) != 0)
            return g;
        p--; /* the blank before the bar was one of those in front */
    }
    g.code = p + 3;
    g.columns = (size_t)(g.code - line);
    return g;
}

typedef struct Below { /* the marks of one line: blanks, a colour, ^^^ or ---, a text */
    size_t at, n;      /* columns of the code */
    ml_Str sgr, label; /* the label with its colours; empty: none */
    char mark;
} Below;

static bool read_below(const char *p, const char *end, Below *b)
{
    *b = (Below){0};
    for (; p < end && *p == ' '; p++)
        b->at++;
    b->sgr = (ml_Str){p, p < end ? ml_escape_length(p) : 0};
    p += b->sgr.n;
    b->mark = p < end ? *p : '\0';
    for (; p < end && *p == b->mark; p++)
        b->n++;
    if (b->mark != '^' && b->mark != '-')
        return false;
    if (p < end && *p == ' ')
        b->label = (ml_Str){p + 1, (size_t)(end - p - 1)};
    else
        while (p < end && ml_escape_length(p))
            p += ml_escape_length(p);
    return b->label.n || p == end; /* else -5, a program */
}

typedef struct MarkedRow {
    const char *from, *to;
    size_t first,
        shift; /* the columns of the code before it, and of blanks that it begins with */
} MarkedRow;

/* The rows of the code; none is wider than the screen. */
static size_t break_rows(const char *code, const char *end, size_t gutter, size_t width,
                         MarkedRow *rows)
{
    Row r = {.width = width, .mark = ""};
    const char *text = code, *p = code;
    size_t n = 0, room = width - gutter, hang;

    while (text < end && *text == ' ')
        text++;
    hang = (size_t)(text - code) + 2;
    if (hang + LEAST / 2 > room)
        hang = room > LEAST / 2 ? room - LEAST / 2 : 0;
    while (n < MOST_ROWS) {
        MarkedRow *row = &rows[n++];
        size_t blanks = n > 1 ? hang : 0;
        const char *stop = row_end(&r, p, end, gutter + blanks);

        if (n == 1 && text >= stop) /* the indent alone fills the screen */
            stop = end;
        if (blanks + ml_columns_to(p, stop) > room)
            stop = p + ml_columns_fit(p, room - blanks);
        if (stop == p || n == MOST_ROWS)
            stop = end;
        *row = (MarkedRow){p, stop, ml_columns_to(code, p), blanks};
        for (p = stop; p < end && *p == ' ';)
            p++;
        if (p >= end)
            break;
    }
    return n;
}

static void begin_line(ml_Text *out, size_t gutter, size_t blanks)
{
    ml_text_repeat(out, ' ', gutter - 2);
    ml_text_add(out, "| ");
    ml_text_repeat(out, ' ', blanks);
}

/* The text of a mark behind it; below it where it does not fit there, folded where it fits
 * nowhere. */
static void add_label(const Below *b, size_t gutter, size_t at, size_t width, ml_Text *out)
{
    const char *p = b->label.p, *end = p + b->label.n;
    size_t room = width - gutter, wide = ml_columns_to(p, end), column = at;
    size_t hang = wide >= room ? 0 : at + wide > room ? room - wide : at;
    bool below = at + 1 + wide > room;

    while (p < end) {
        const char *word = p;

        while (p < end && *p != ' ')
            p++;
        if (ml_columns_to(word, p) > room)
            p = word + ml_columns_fit(word, room);
        size_t n = ml_columns_to(word, p);

        if (below || (column > hang && column + 1 + n > room)) {
            ml_text_char(out, '\n');
            begin_line(out, gutter, hang);
            column = hang;
            below = false;
        } else {
            ml_text_char(out, ' ');
            column++;
        }
        ml_text_addn(out, word, (size_t)(p - word));
        column += n;
        while (p < end && *p == ' ')
            p++;
    }
}

/* What of the mark stands below the row; the text below its last part. */
static void add_below(const Below *b, const MarkedRow *row, bool last, size_t next,
                      size_t gutter, size_t width, ml_Text *out)
{
    size_t from = b->at > row->first ? b->at : row->first;
    size_t to = last || b->at + b->n < next ? b->at + b->n : next;
    size_t at = row->shift + from - row->first, most = width - gutter;

    if (from >= to)
        return;
    if (at >= most) /* behind the end of a row that fills the screen */
        at = most - 1;
    if (at + (to - from) > most)
        to = from + most - at;
    ml_text_char(out, '\n');
    begin_line(out, gutter, at);
    ml_text_addn(out, b->sgr.p, b->sgr.n);
    ml_text_repeat(out, b->mark, to - from);
    if (last || b->at + b->n <= next)
        add_label(b, gutter, at + to - from, width, out);
    if (b->sgr.n)
        ml_text_add(out, ml_style(true, ML_STYLE_PLAIN));
}

const char *ml_fold_marked(const char *line, size_t width, ml_Text *out)
{
    enum { MOST_MARKS = 64, NARROWEST = 4 };
    const char *end = line + strcspn(line, "\n"), *text_end = end;
    Gutter g = gutter_of(line, end);
    Below below[MOST_MARKS];
    MarkedRow rows[MOST_ROWS];
    size_t n = 0, widest = ml_columns_to(line, end);

    if (!g.code || g.columns + NARROWEST > width)
        return NULL;
    while (n < MOST_MARKS && *end) {
        const char *next = end + 1, *stop = next + strcspn(next, "\n");
        Gutter m = gutter_of(next, stop);

        if (!m.code || m.numbered || !read_below(m.code, stop, &below[n]))
            break;
        widest = ml_columns_to(next, stop) > widest ? ml_columns_to(next, stop) : widest;
        end = stop;
        n++;
    }
    if (widest <= width) {
        ml_text_addn(out, line, (size_t)(end - line));
        return end;
    }
    size_t n_rows = break_rows(g.code, text_end, g.columns, width, rows);

    ml_text_addn(out, line, (size_t)(g.code - line));
    for (size_t k = 0; k < n_rows; k++) {
        bool last = k + 1 == n_rows;

        if (k) {
            ml_text_char(out, '\n');
            begin_line(out, g.columns, rows[k].shift);
        }
        ml_text_addn(out, rows[k].from, (size_t)(rows[k].to - rows[k].from));
        for (size_t m = 0; m < n; m++)
            add_below(&below[m], &rows[k], last, last ? 0 : rows[k + 1].first, g.columns,
                      width, out);
    }
    return end;
}

/*
 * rows - rows of panes: pieces of text with roles, and lines of code with the roles of
 * their words.
 *
 * A row is written into r->text and r->open and copied into the context of the rows when it
 * ends. Words of code are told by their shape alone: TVMScript and Lua have so much in
 * common that one table of keywords serves both. Source: interaction 10.
 */
#include "repl/view/rows.h"

#include "primitives/prim.h"

void ml_rows_reset(ml_Rows *r)
{
    if (r->cx)
        ml_ctx_reset(r->cx);
    else
        r->cx = ml_ctx_new(0);
    r->v.v = NULL;
    r->v.n = r->v.cap = 0;
    r->open.v = NULL;
    r->open.n = r->open.cap = 0;
    ml_text_clear(&r->text);
}

void ml_rows_free(ml_Rows *r)
{
    ml_text_free(&r->text);
    ml_ctx_unref(r->cx);
    *r = (ml_Rows){0};
}

/* ---- one row */

void ml_rows_begin(ml_Rows *r)
{
    r->open.n = 0;
    ml_text_clear(&r->text);
}

static void cover(ml_Rows *r, size_t from, ml_CellRole role)
{
    uint32_t to = (uint32_t)r->text.n;

    if (from >= r->text.n || role == ML_ROLE_TEXT)
        return;
    if (r->open.n > 0) {
        ml_RoleSpan *last = &r->open.v[r->open.n - 1];

        if (last->to == from && last->role == role) {
            last->to = to;
            return;
        }
    }
    ml_push(r->cx, &r->open, ((ml_RoleSpan){(uint32_t)from, to, (uint8_t)role}));
}

void ml_rows_put_n(ml_Rows *r, ml_CellRole role, const char *text, size_t n)
{
    size_t from = r->text.n;

    ml_text_addn(&r->text, text, n);
    cover(r, from, role);
}

void ml_rows_put(ml_Rows *r, ml_CellRole role, const char *fmt, ...)
{
    size_t from = r->text.n;
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&r->text, fmt, ap);
    va_end(ap);
    cover(r, from, role);
}

/* Columns of what was put so far, each character as one: names are no wider. */
static int columns(const ml_Rows *r)
{
    int n = 0;

    for (size_t k = 0; k < r->text.n; k++)
        n += ((unsigned char)r->text.p[k] & 0xc0) != 0x80;
    return n;
}

void ml_rows_pad(ml_Rows *r, int column, int least)
{
    int n = column - columns(r);

    ml_text_repeat(&r->text, ' ', (size_t)(n > least ? n : least));
}

ml_Row *ml_rows_end(ml_Rows *r)
{
    ml_RoleSpan *spans = ML_ARRAY(r->cx, ml_RoleSpan, r->open.n + 1);

    if (r->open.n > 0)
        memcpy(spans, r->open.v, r->open.n * sizeof *spans);
    ml_push(r->cx, &r->v,
            ((ml_Row){.text = ml_strdup(r->cx, (ml_Str){ml_text_z(&r->text), r->text.n}),
                      .spans = spans,
                      .n_spans = (uint32_t)r->open.n,
                      .version = -1}));
    return &r->v.v[r->v.n - 1];
}

ml_Row *ml_rows_add(ml_Rows *r, ml_CellRole role, const char *fmt, ...)
{
    ml_Row *row;
    va_list ap;

    ml_rows_begin(r);
    va_start(ap, fmt);
    ml_text_vfmt(&r->text, fmt, ap);
    va_end(ap);
    row = ml_rows_end(r);
    row->role = (uint8_t)role;
    return row;
}

/* ---- code */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           ((unsigned char)c & 0x80);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_keyword(const char *p, size_t n)
{
    static const char *const WORDS[] = {
        "False", "None",  "True",     "and",  "as",       "assert", "auto",   "break",
        "class", "def",   "do",       "elif", "else",     "elseif", "end",    "false",
        "for",   "from",  "function", "goto", "if",       "import", "in",     "lambda",
        "local", "nil",   "not",      "or",   "pass",     "repeat", "return", "then",
        "true",  "until", "while",    "with", "continue",
    };

    for (size_t k = 0; n >= 2 && n <= 8 && k < ML_COUNT(WORDS); k++)
        if (WORDS[k][0] == p[0] && strncmp(WORDS[k], p, n) == 0 && WORDS[k][n] == '\0')
            return true;
    return false;
}

static size_t number_end(const char *p, size_t k, size_t n)
{
    bool hex = p[k] == '0' && k + 1 < n && (p[k + 1] == 'x' || p[k + 1] == 'X');

    for (k += hex ? 2 : 1; k < n; k++) {
        bool sign =
            (p[k] == '+' || p[k] == '-') && !hex && (p[k - 1] == 'e' || p[k - 1] == 'E');

        if (!is_digit(p[k]) && !is_letter(p[k]) && p[k] != '.' && !sign)
            break;
    }
    return k;
}

static size_t string_end(const char *p, size_t k, size_t n)
{
    char quote = p[k];

    for (k++; k < n && p[k] != quote; k++)
        if (p[k] == '\\' && k + 1 < n)
            k++;
    return k < n ? k + 1 : n;
}

/* What the word [from, to) of a line is. */
static ml_CellRole word_role(const char *line, size_t from, size_t to, size_t n,
                             const char *const *marked, size_t n_marked)
{
    const char *p = line + from;
    size_t len = to - from, next = to;
    bool member = from > 0 && line[from - 1] == '.';

    for (size_t k = 0; !member && k < n_marked; k++)
        if (marked[k] && strlen(marked[k]) == len && memcmp(marked[k], p, len) == 0)
            return (ml_CellRole)(ML_ROLE_MARK1 + k);
    if (!member && is_keyword(p, len))
        return ML_ROLE_KEYWORD;
    while (next < n && line[next] == ' ')
        next++;
    bool called = next < n && (line[next] == '(' || line[next] == '{');

    if (called && !member && len < 40) {
        char name[40];

        memcpy(name, p, len);
        name[len] = '\0';
        if (ml_primitive_find(name))
            return ML_ROLE_PRIMITIVE;
    }
    return called || member ? ML_ROLE_NAME : ML_ROLE_TEXT;
}

/* A comment: `# ` and `-- ` to the end of the line. */
static bool comment_at(const char *p, size_t k, size_t n)
{
    if (p[k] == '#')
        return k + 1 == n || p[k + 1] == ' ';
    return p[k] == '-' && k + 1 < n && p[k + 1] == '-';
}

void ml_rows_put_code(ml_Rows *r, const char *line, size_t n, const char *const *marked,
                      size_t n_marked)
{
    size_t base = r->text.n;

    ml_text_addn(&r->text, line, n);
    if (r->text.n != base + n)
        return;
    for (size_t k = 0, to; k < n; k = to) {
        ml_CellRole role = ML_ROLE_TEXT;

        to = k + 1;
        if (line[k] == ' ') {
            continue;
        } else if (is_letter(line[k])) {
            while (to < n && (is_letter(line[to]) || is_digit(line[to])))
                to++;
            role = word_role(line, k, to, n, marked, n_marked);
        } else if (is_digit(line[k])) {
            to = number_end(line, k, n);
            role = ML_ROLE_NUMBER;
        } else if (line[k] == '"' || line[k] == '\'') {
            to = string_end(line, k, n);
            role = ML_ROLE_STRING;
        } else if (comment_at(line, k, n)) {
            to = n;
            role = ML_ROLE_COMMENT;
        }
        if (role != ML_ROLE_TEXT)
            ml_push(r->cx, &r->open,
                    ((ml_RoleSpan){(uint32_t)(base + k), (uint32_t)(base + to),
                                   (uint8_t)role}));
    }
}

ml_Row *ml_rows_code(ml_Rows *r, const char *line)
{
    ml_rows_begin(r);
    ml_rows_put_code(r, line, strlen(line), NULL, 0);
    return ml_rows_end(r);
}

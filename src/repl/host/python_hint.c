/*
 * host_python_hint - statements of Python and of its relatives that are not read (python.c): how
 * they are written in Lua. By their tokens alone (habits.def); nothing is run. Source:
 * interaction 7.
 */
#include "repl/host/python.h"

#include "moonloop/primitives/tokens.h"

/* ---- blocks */

typedef struct Block { /* HEAD: BODY, the head without its first word */
    ml_Str word, head, body;
} Block;

static ml_Str trimmed(const char *from, const char *end)
{
    while (from < end && strchr(" \t\r\n", *from))
        from++;
    while (end > from && strchr(" \t\r\n", end[-1]))
        end--;
    return (ml_Str){from, (size_t)(end - from)};
}

/* Its colon has blanks or nothing behind it, a method's has a name. */
static bool read_block(const char *text, Block *b)
{
    static const char *const WORDS[] = {"for", "while", "if",     "elif",    "else", "try",
                                        "def", "with",  "except", "finally", "class"};
    ml_Tokens t = {.p = text, .n = strlen(text), .script = true};
    ml_Token k = ml_token_code(&t);
    bool begins = false;
    int depth = 0;

    b->word = k.text;
    for (size_t n = 0; n < ML_COUNT(WORDS); n++)
        begins |= ml_token_is(k, WORDS[n]);
    for (k = ml_token_code(&t); begins && k.kind != ML_TOKEN_END; k = ml_token_code(&t)) {
        if (ml_token_is(k, "then") || ml_token_is(k, "do"))
            return false;
        if (depth == 0 && ml_token_is(k, ":") && strchr(" \t\r\n", text[t.at])) {
            const char *rest = text + t.at;

            b->head = trimmed(b->word.p + b->word.n, k.text.p);
            b->body = trimmed(rest, rest + strcspn(rest, "\n"));
            return true;
        }
        if (k.kind == ML_TOKEN_MARK)
            depth += strchr("([{", *k.text.p) ? 1 : strchr(")]}", *k.text.p) ? -1 : 0;
    }
    return false;
}

bool ml_python_is_block(const char *text)
{
    Block b;

    return read_block(text, &b);
}

static bool begins(ml_Str s, const char *with)
{
    size_t n = strlen(with);

    return s.n > n + 1 && memcmp(s.p, with, n) == 0 && s.p[s.n - 1] == ')';
}

/* for X in OF */
static bool add_loop(ml_Str head, ml_Text *out)
{
    const char *in = strstr(head.p, " in ");

    if (!in || in >= head.p + head.n)
        return false;
    ml_Str x = trimmed(head.p, in), of = trimmed(in + 4, head.p + head.n);

    if (begins(of, "range(")) {
        const char *from = of.p + 6, *end = of.p + of.n - 1;
        const char *comma = memchr(from, ',', (size_t)(end - from));

        if (comma && memchr(comma + 1, ',', (size_t)(end - comma - 1)))
            return false;
        ml_Str low = comma ? trimmed(from, comma) : ml_str("0");
        ml_Str high = trimmed(comma ? comma + 1 : from, end);

        ml_text_fmt(out, "for %.*s = %.*s, %.*s - 1 do ", (int)x.n, x.p, (int)low.n, low.p,
                    (int)high.n, high.p);
    } else if (begins(of, "enumerate("))
        ml_text_fmt(out, "for %.*s in ipairs%.*s do ", (int)x.n, x.p, (int)of.n - 9,
                    of.p + 9);
    else if (*of.p == '[' && memchr(of.p, ']', of.n) == of.p + of.n - 1)
        ml_text_fmt(out, "for _, %.*s in ipairs({%.*s}) do ", (int)x.n, x.p, (int)of.n - 2,
                    of.p + 1);
    else
        ml_text_fmt(out, "for _, %.*s in ipairs(%.*s) do ", (int)x.n, x.p, (int)of.n, of.p);
    return true;
}

/* The block in Lua, with what stands in it on the same line; nothing: a shape tells of it. */
static void hint_block(const Block *b, ml_Text *out)
{
    static const struct {
        const char *word, *before, *after, *end;
    } WORDS[] = {
        {"if", "if", " then ", " end"},   {"elif", "elseif", " then ", ""},
        {"else", "else", "", ""},         {"while", "while", " do ", " end"},
        {"def", "function", " ", " end"},
    };
    const char *body = b->body.n ? b->body.p : "…";
    int n = b->body.n ? (int)b->body.n : (int)strlen(body);

    if (ml_str_eq(b->word, ml_str("for"))) {
        if (add_loop(b->head, out))
            ml_text_fmt(out, "%.*s end", n, body);
        return;
    }
    for (size_t k = 0; k < ML_COUNT(WORDS); k++)
        if (ml_str_eq(b->word, ml_str(WORDS[k].word)))
            ml_text_fmt(out, "%s %.*s%s%.*s%s", WORDS[k].before, (int)b->head.n, b->head.p,
                        WORDS[k].after, n, body, WORDS[k].end);
}

/* ---- shapes */

static const struct {
    const char *tokens, *what;
} SHAPES[] = {
#define ML_SHAPE(tokens, what) {tokens, what},
#include "repl/host/habits.def"
#undef ML_SHAPE
};

/* Whether the token is what the item, n bytes long, says. */
static bool is_item(ml_Token k, const char *item, size_t n)
{
    if (k.kind == ML_TOKEN_END)
        return false;
    if (n == 1 && *item == '_')
        return true;
    if (n == 4 && memcmp(item, "NAME", n) == 0)
        return k.kind == ML_TOKEN_NAME && !ml_is_lua_keyword(k.text);
    if (n == 4 && memcmp(item, "TEXT", n) == 0)
        return k.kind == ML_TOKEN_STRING;
    if (n == 1 && !ml_is_name_char(*item))
        return ml_token_is(k, (char[]){*item, '\0'});
    for (size_t from = 0, to; from < n; from = to + 1) {
        for (to = from; to < n && item[to] != '|'; to++)
            ;
        if (k.kind != ML_TOKEN_STRING &&
            ml_str_eq(k.text, (ml_Str){item + from, to - from}))
            return true;
    }
    return false;
}

/* Whether the tokens from there on are those of the shape. */
static bool fits(const char *shape, ml_Tokens t)
{
    while (*shape) {
        size_t n = strcspn(shape, " ");
        const char *next = shape + n + (shape[n] == ' ');

        if (n == 3 && memcmp(shape, "...", n) == 0) {
            for (;; ml_token_code(&t)) {
                ml_Tokens ahead = t;

                if (fits(next, t))
                    return true;
                if (ml_token_code(&ahead).kind == ML_TOKEN_END)
                    return false;
            }
        }
        if (!is_item(ml_token_code(&t), shape, n))
            return false;
        shape = next;
    }
    return true;
}

static bool has_shape(const char *shape, const char *text)
{
    ml_Tokens t = {.p = text, .n = strlen(text), .script = true};

    if (*shape == '^')
        return fits(shape + 2, t);
    for (;;) {
        if (fits(shape, t))
            return true;
        if (ml_token_code(&t).kind == ML_TOKEN_END)
            return false;
    }
}

void ml_python_hint(const char *text, ml_Text *out)
{
    Block b;

    text += strspn(text, " \t\n");
    if (read_block(text, &b))
        hint_block(&b, out);
    for (size_t k = 0; k < ML_COUNT(SHAPES) && out->n == 0; k++)
        if (has_shape(SHAPES[k].tokens, text))
            ml_text_add(out, SHAPES[k].what);
}

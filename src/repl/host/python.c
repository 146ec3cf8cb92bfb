/*
 * host_python - a piece of a Python schedule as Lua: what TensorIR users paste, and what a
 * trace prints.
 *
 * One line of Lua for each line of Python: assignments, calls with named arguments, lists,
 * None, lambdas, indices from 0, `def` of a function. Comments, imports and annotations of
 * types are left out. What is more than that (loops, conditions, classes) is not read; a hint
 * tells how it is written here. Source: lua-api 7; primitives 12.2.
 */
#include "repl/host/python.h"

#include "moonloop/core/json/value_text.h"
#include "moonloop/core/vec.h"
#include "moonloop/primitives/prim.h"
#include "moonloop/primitives/tokens.h"
#include "repl/bind/schedule/calls.h"

enum { DEPTH = 50, MOST_WORDS = 2000 /* of a line: its texts grow with each */ };

typedef struct Word { /* a token and where it stands */
    ml_Token t;
    size_t indent; /* columns before it when it is the first of a line */
    bool first;
} Word;

typedef struct Reader {
    ml_Ctx *cx;
    ML_VEC(Word) words;
    size_t at, end; /* of the line that is read */
    int depth;
    bool open; /* the text ends inside brackets */
    unsigned habits;
} Reader;

/* ---- words and lines */

/* A line goes on while a bracket is open, or behind a backslash. */
static void cut_words(Reader *r, const char *text)
{
    ml_Tokens t = {.p = text, .n = strlen(text), .script = true};
    const char *line = text, *end = text;
    int depth = 0;
    bool goes_on = false;

    for (ml_Token k = ml_token_next(&t); k.kind != ML_TOKEN_END; k = ml_token_next(&t)) {
        Word w = {.t = k, .first = r->words.n == 0};

        for (const char *p = end; p < k.text.p; p++)
            if (*p == '\n') {
                w.first |= depth == 0 && !goes_on;
                line = p + 1;
            }
        end = k.text.p + k.text.n;
        if (k.kind == ML_TOKEN_COMMENT)
            continue;
        w.indent = (size_t)(k.text.p - line);
        goes_on = ml_token_is(k, "\\");
        if (goes_on)
            continue;
        if (k.kind == ML_TOKEN_MARK)
            depth += strchr("([{", *k.text.p) ? 1 : strchr(")]}", *k.text.p) ? -1 : 0;
        ml_push(r->cx, &r->words, w);
    }
    r->open = depth > 0;
}

static ml_Token peek_at(const Reader *r, size_t ahead)
{
    return r->at + ahead < r->end ? r->words.v[r->at + ahead].t
                                  : (ml_Token){.kind = ML_TOKEN_END};
}

static bool is_next(const Reader *r, const char *text)
{
    return ml_token_is(peek_at(r, 0), text);
}

static bool take(Reader *r, const char *text)
{
    bool is = is_next(r, text);

    r->at += is;
    return is;
}

static const char *text_of(Reader *r, ml_Token k)
{
    return ml_strdup(r->cx, k.text);
}

/* ---- expressions; NULL: not read */

static const char *expression(Reader *r);

/* Expressions up to the closing bracket, which is taken, joined by commas; *n: how many.
 * None among them is auto. */
static const char *items(Reader *r, const char *close, size_t *n, bool *comma)
{
    const char *out = "";

    *n = 0;
    *comma = false;
    while (!take(r, close)) {
        bool none = is_next(r, "None");
        const char *e = expression(r);

        if (!e)
            return NULL;
        out = ml_format(r->cx, "%s%s%s", out, *n ? ", " : "", none ? "auto" : e);
        ++*n;
        *comma = take(r, ",");
        if (!*comma && !is_next(r, close))
            return NULL;
    }
    return out;
}

/* {"a": 1}, behind the bracket */
static const char *dict(Reader *r)
{
    const char *out = "{";

    for (size_t n = 0; !take(r, "}"); n++) {
        const char *key = expression(r);
        const char *value = key && take(r, ":") ? expression(r) : NULL;

        if (!value || (!take(r, ",") && !is_next(r, "}")))
            return NULL;
        out = ml_format(r->cx, "%s%s[%s] = %s", out, n ? ", " : "", key, value);
    }
    return ml_format(r->cx, "%s}", out);
}

/* A lambda stays as it is written: index maps are read from such texts. */
static const char *lambda(Reader *r)
{
    const char *from = peek_at(r, 0).text.p, *to = from;
    bool body = false;
    int depth = 0;

    for (; r->at < r->end; r->at++) {
        ml_Token k = peek_at(r, 0);
        bool mark = k.kind == ML_TOKEN_MARK;

        if (depth == 0 && mark && (strchr(")]}", *k.text.p) || (body && *k.text.p == ',')))
            break;
        body |= depth == 0 && ml_token_is(k, ":");
        depth += mark && strchr("([{", *k.text.p)   ? 1
                 : mark && strchr(")]}", *k.text.p) ? -1
                                                    : 0;
        to = k.text.p + k.text.n;
    }
    ml_Text t = {0};
    char *line = ml_strdup(r->cx, (ml_Str){from, (size_t)(to - from)});

    for (char *p = line; *p; p++)
        *p = *p == '\n' ? ' ' : *p;
    ml_text_string(&t, line, ML_ESCAPE_PYTHON);
    const char *z = ml_strdup(r->cx, ml_str(ml_text_z(&t)));

    ml_text_free(&t);
    return body ? z : NULL;
}

/* x = lambda a, b: E is a function; so is the body of te.compute. */
static const char *function_of_lambda(Reader *r)
{
    const char *params = "";

    r->at++;
    for (size_t n = 0; !take(r, ":"); n++) {
        if (peek_at(r, 0).kind != ML_TOKEN_NAME)
            return NULL;
        params =
            ml_format(r->cx, "%s%s%s", params, n ? ", " : "", text_of(r, peek_at(r, 0)));
        r->at++;
        if (!take(r, ",") && !is_next(r, ":"))
            return NULL;
    }
    bool tuple = is_next(r, "(");
    const char *e = expression(r);
    size_t n = e ? strlen(e) : 0;

    if (n > 1 && tuple && e[0] == '{' && e[n - 1] == '}')
        e = ml_format(r->cx, "%.*s", (int)n - 2, e + 1);
    return e ? ml_format(r->cx, "function(%s) return %s end", params, e) : NULL;
}

typedef struct Given { /* of a call */
    const char *list, *named;
    size_t n_list, n_named;
    const char *only; /* the values of named ones alone */
    bool starred;     /* the last of the list is *x: Lua has no other there */
} Given;

/* name=value; the ways in which TE gives factors are what split takes. */
static bool add_named(Reader *r, Given *g, const char *callee)
{
    const char *name = text_of(r, peek_at(r, 0));

    r->at += 2;
    r->habits |= ML_PYTHON_NAMED;
    bool none = is_next(r, "None"), te = ml_streq(callee, "split");
    const char *value = expression(r);

    if (!value)
        return false;
    if (te && (ml_streq(name, "factor") || ml_streq(name, "nparts"))) {
        value = ml_format(r->cx, *name == 'f' ? "{auto, %s}" : "{%s, auto}", value);
        name = "factors";
    }
    value = none ? "nil" : value;
    g->named =
        ml_format(r->cx, "%s%s%s = %s", g->named, g->n_named ? ", " : "", name, value);
    g->only = ml_format(r->cx, "%s%s%s", g->only, g->n_named ? ", " : "",
                        ml_streq(name, "inverse_index_map")
                            ? ml_format(r->cx, "moon.index_map(%s)", value)
                            : value);
    g->n_named++;
    return true;
}

/* Arguments behind the bracket, which Lua's closing one ends. Primitives take names in one
 * table; of other functions the names are the options behind the rest. */
static const char *arguments(Reader *r, const char *callee)
{
    Given g = {.list = "", .named = "", .only = ""};
    bool prim = ml_primitive_find(callee) != NULL;
    bool plain = ml_schedule_call_find(callee) || ml_streq(callee, "from_func");

    while (!take(r, ")")) {
        bool star = take(r, "*");

        if (!star && peek_at(r, 0).kind == ML_TOKEN_NAME &&
            ml_token_is(peek_at(r, 1), "=")) {
            if (!add_named(r, &g, callee))
                return NULL;
        } else {
            bool body = ml_streq(callee, "compute") && is_next(r, "lambda");
            const char *e = g.starred ? NULL : body ? function_of_lambda(r) : expression(r);

            if (!e)
                return NULL;
            g.list = ml_format(r->cx, star ? "%s%stable.unpack(%s)" : "%s%s%s", g.list,
                               g.n_list ? ", " : "", e);
            g.n_list++;
            g.starred = star;
        }
        if (!take(r, ",") && !is_next(r, ")"))
            return NULL;
    }
    const char *both = g.n_list && g.n_named ? ", " : "";

    if (g.n_named == 0 || plain)
        return ml_format(r->cx, "(%s%s%s)", g.list, both, g.only);
    if (prim) /* names first: what unpack gives goes on to the end */
        return g.starred ? ml_format(r->cx, "{%s%s%s}", g.named, both, g.list)
                         : ml_format(r->cx, "{%s%s%s}", g.list, both, g.named);
    return ml_format(r->cx, "(%s%s{%s})", g.list, both, g.named);
}

/* A[i, j], behind the bracket: only a tensor has several indices; NULL: it is another. */
static const char *element(Reader *r, const char *of)
{
    size_t at = r->at, n;
    bool comma;
    const char *all = items(r, "]", &n, &comma);

    if (all && n > 1)
        return ml_format(r->cx, "%s(%s)", of, all);
    r->at = at;
    return NULL;
}

/* x[0], x[-1], x[1:], m["main"], behind the bracket */
static const char *subscript(Reader *r, const char *of)
{
    const char *e = element(r, of);

    if (e)
        return e;
    bool from_end = take(r, "-"), whole = peek_at(r, 0).kind == ML_TOKEN_NUMBER;
    const char *from = whole ? text_of(r, peek_at(r, 0)) : "0", *to = NULL;

    if (!whole && !from_end && peek_at(r, 0).kind == ML_TOKEN_STRING) {
        const char *key = text_of(r, peek_at(r, 0));

        r->at++;
        return take(r, "]") ? ml_format(r->cx, "%s[%s]", of, key) : NULL;
    }
    r->at += whole;
    from = ml_format(r->cx, from_end ? "#t - %s + 1" : "%s + 1", from);
    if (take(r, "]"))
        return whole ? ml_format(r->cx, "(function(t) return t[%s] end)(%s)", from, of)
                     : NULL;
    if (!take(r, ":"))
        return NULL;
    bool to_end = take(r, "-");

    to = "#t";
    if (peek_at(r, 0).kind == ML_TOKEN_NUMBER) {
        to = ml_format(r->cx, to_end ? "#t - %s" : "%s", text_of(r, peek_at(r, 0)));
        r->at++;
    }
    return take(r, "]")
               ? ml_format(r->cx, "(function(t) return {table.unpack(t, %s, %s)} end)(%s)",
                           from, to, of)
               : NULL;
}

static bool is_namespace(const char *name)
{
    static const char *const NAMES[] = {"moon", "tvm",  "tir",   "s_tir",
                                        "te",   "math", "table", "workload"};

    for (size_t k = 0; k < ML_COUNT(NAMES); k++)
        if (ml_streq(NAMES[k], name))
            return true;
    return false;
}

/* A method as Lua calls it, s:split(…), among arguments as Python writes them. A slice or a
 * dictionary has blanks there, or no bracket. */
static bool take_method_colon(Reader *r)
{
    ml_Token colon = peek_at(r, 0), name = peek_at(r, 1);
    bool is = ml_token_is(colon, ":") && name.kind == ML_TOKEN_NAME &&
              ml_token_is(peek_at(r, 2), "(") && colon.text.p + 1 == name.text.p &&
              r->at > 0 && colon.text.p[-1] != ' ';

    r->at += is;
    return is;
}

/* What stands behind a name or bracket: .name, (…), […]. last: the name before, or "". */
static const char *postfix(Reader *r, const char *e, const char *last, bool space)
{
    while (e) {
        if (take(r, "(")) {
            const char *args = arguments(r, last);

            e = !args                         ? NULL
                : ml_streq(last, "from_func") ? ml_format(r->cx, "moon.index_map%s", args)
                                              : ml_format(r->cx, "%s%s", e, args);
            space = false;
            last = "";
        } else if (take(r, "[")) {
            e = subscript(r, e);
            space = false;
        } else if (take(r, ".") || take_method_colon(r)) {
            if (peek_at(r, 0).kind != ML_TOKEN_NAME)
                return NULL;
            last = text_of(r, peek_at(r, 0));
            r->at++;
            bool call = is_next(r, "(");

            if (!space && !call && ml_streq(last, "mod") &&
                ml_token_is(peek_at(r, 1), "show"))
                continue; /* sch.mod.show() is what show does */
            if (!space && !call && (ml_streq(last, "mod") || ml_streq(last, "trace")))
                e = ml_format(r->cx, "%s:%s()", e, last);
            else
                e = ml_format(r->cx, call && !space ? "%s:%s" : "%s.%s", e, last);
        } else
            return e;
    }
    return NULL;
}

static const char *name_first(Reader *r)
{
    static const char *const NOT[] = {
        "for",   "in",     "if",    "else",   "elif",   "while", "with",  "def",
        "class", "import", "from",  "return", "is",     "async", "await", "yield",
        "del",   "try",    "raise", "global", "assert", "pass"};
    ml_Token k = peek_at(r, 0);
    const char *name = text_of(r, k);

    if (ml_streq(name, "lambda"))
        return lambda(r);
    for (size_t n = 0; n < ML_COUNT(NOT); n++)
        if (ml_streq(NOT[n], name))
            return NULL;
    if (ml_is_lua_keyword(k.text) && !ml_streq(name, "not"))
        return NULL;
    r->at++;
    if (ml_streq(name, "not")) {
        const char *e = expression(r);

        return e ? ml_format(r->cx, "not %s", e) : NULL;
    }
    if (ml_streq(name, "True") || ml_streq(name, "False"))
        return *name == 'T' ? "true" : "false";
    if (ml_streq(name, "None"))
        return "nil";
    if (ml_streq(name, "T") && ml_token_is(peek_at(r, 0), ".") &&
        ml_token_is(peek_at(r, 2), "(")) { /* T.int64(8) */
        r->at += 2;
        name = "";
    }
    return postfix(r, name, name, is_namespace(name));
}

static const char *operand(Reader *r)
{
    ml_Token k = peek_at(r, 0);
    const char *e;
    size_t n;
    bool comma;

    if (r->depth > DEPTH)
        return NULL;
    switch (k.kind) {
    case ML_TOKEN_END:
    case ML_TOKEN_COMMENT: return NULL;
    case ML_TOKEN_NUMBER:
    case ML_TOKEN_STRING:
        r->at++;
        return k.open || peek_at(r, 0).kind == ML_TOKEN_STRING ? NULL : text_of(r, k);
    case ML_TOKEN_NAME: return name_first(r);
    case ML_TOKEN_MARK: break;
    }
    if (take(r, "-")) {
        r->depth++;
        e = operand(r);
        r->depth--;
        return e ? ml_format(r->cx, "-%s", e) : NULL;
    }
    if (take(r, "[")) {
        r->habits |= ML_PYTHON_LIST;
        e = items(r, "]", &n, &comma);
        return e ? postfix(r, ml_format(r->cx, "{%s}", e), "", false) : NULL;
    }
    if (take(r, "{"))
        return dict(r);
    if (!take(r, "(") || !(e = items(r, ")", &n, &comma)))
        return NULL;
    return postfix(r, ml_format(r->cx, n == 1 && !comma ? "(%s)" : "{%s}", e), "", false);
}

static const char *operator_of(Reader *r)
{
    static const char *const SAME[] = {
        "+", "-", "/", "//", "%", "==", "<=", ">=", "<", ">", "and", "or"};

    if (is_next(r, "!") && ml_token_is(peek_at(r, 1), "=")) {
        r->at += 2;
        return "~=";
    }
    if (take(r, "*"))
        return take(r, "*") ? "^" : "*";
    for (size_t k = 0; k < ML_COUNT(SAME); k++)
        if (take(r, SAME[k]))
            return SAME[k];
    return NULL;
}

static const char *expression(Reader *r)
{
    const char *e = NULL, *op;

    r->depth++;
    e = operand(r);
    while (e && (op = operator_of(r)) != NULL) {
        const char *right = operand(r);

        e = right ? ml_format(r->cx, "%s %s %s", e, op, right) : NULL;
    }
    r->depth--;
    return e;
}

/* ---- lines */

/* a, b = …: how many names stand before the =; 0: it is no assignment. */
static size_t count_targets(const Reader *r, bool *comma)
{
    size_t n = 0;

    *comma = false;
    for (size_t k = 0; peek_at(r, k).kind == ML_TOKEN_NAME; k++) {
        n++;
        *comma = ml_token_is(peek_at(r, ++k), ",");
        if (*comma && !ml_token_is(peek_at(r, k + 1), "="))
            continue;
        return ml_token_is(peek_at(r, k + *comma), "=") ? n : 0;
    }
    return 0;
}

/* Several names take what one list holds, or a value each. */
static const char *assignment(Reader *r, size_t n, bool comma)
{
    const char *names = "", *e, *all = "";
    size_t values = 0;

    for (size_t k = 0; k < n; k++) {
        names = ml_format(r->cx, "%s%s%s", names, k ? ", " : "", text_of(r, peek_at(r, 0)));
        r->at += k + 1 < n || comma ? 2 : 1;
    }
    r->at++; /* = */
    do {
        if (!(e = is_next(r, "lambda") ? function_of_lambda(r) : expression(r)))
            return NULL;
        all = ml_format(r->cx, "%s%s%s", all, values++ ? ", " : "", e);
    } while (take(r, ","));
    if (r->at != r->end)
        return NULL;
    if (n == 1 && !comma)
        return ml_format(r->cx, values == 1 ? "%s = %s" : "%s = {%s}", names, all);
    if (n == 1)
        return ml_format(r->cx, "%s = (%s)[1]", names, all);
    return ml_format(r->cx, values == 1 ? "%s = table.unpack(%s)" : "%s = %s", names, all);
}

/* An annotation of a type, up to what ends it. */
static void skip_annotation(Reader *r)
{
    int depth = 0;

    for (; r->at < r->end; r->at++) {
        ml_Token k = peek_at(r, 0);
        bool mark = k.kind == ML_TOKEN_MARK;

        if (depth == 0 && mark && strchr(",)=", *k.text.p))
            return;
        depth += mark && strchr("([{", *k.text.p)   ? 1
                 : mark && strchr(")]}", *k.text.p) ? -1
                                                    : 0;
    }
}

/* def NAME(a: T, b=1) -> T: as function NAME(a, b), and what b is when it is not given; *name
 * is that of the function, *n how many it takes. */
static const char *definition(Reader *r, const char **name, size_t *n)
{
    const char *out, *defaults = "";

    r->at++;
    *name = text_of(r, peek_at(r, 0));
    *n = 0;
    if (peek_at(r, 0).kind != ML_TOKEN_NAME || !ml_token_is(peek_at(r, 1), "("))
        return NULL;
    r->at += 2;
    out = ml_format(r->cx, "function %s(", *name);
    while (!take(r, ")")) {
        const char *param = text_of(r, peek_at(r, 0)), *e;

        if (peek_at(r, 0).kind != ML_TOKEN_NAME)
            return NULL;
        r->at++;
        if (is_next(r, ":"))
            skip_annotation(r);
        if (take(r, "=")) {
            if (!(e = expression(r)))
                return NULL;
            defaults = ml_format(r->cx, "%s if %s == nil then %s = %s end", defaults, param,
                                 param, e);
        }
        out = ml_format(r->cx, "%s%s%s", out, (*n)++ ? ", " : "", param);
        if (!take(r, ",") && !is_next(r, ")"))
            return NULL;
    }
    return r->end > r->at && ml_token_is(r->words.v[r->end - 1].t, ":")
               ? ml_format(r->cx, "%s)%s", out, defaults)
               : NULL;
}

/* One line, whole: "" for what is left out, NULL for what is not read. */
static const char *statement(Reader *r)
{
    bool comma;
    size_t n;

    if (r->end - r->at > MOST_WORDS)
        return NULL;
    if (is_next(r, "import") || is_next(r, "from") || is_next(r, "pass"))
        return "";
    if ((n = count_targets(r, &comma)) > 0)
        return assignment(r, n, comma);
    bool back = take(r, "return");
    const char *e = back && r->at == r->end ? "" : expression(r);

    if (!e || r->at != r->end || (!back && !ml_token_is(r->words.v[r->end - 1].t, ")")))
        return NULL;
    return ml_format(r->cx, back ? "return %s" : *e == '(' ? ";%s" : "%s", e);
}

/* The words of the line from r->at on. */
static void begin_line(Reader *r)
{
    r->end = r->at + 1;
    while (r->end < r->words.n && !r->words.v[r->end].first)
        r->end++;
}

ml_PythonIs ml_python_read(const char *text, ml_Text *lua, unsigned *habits)
{
    Reader r = {.cx = ml_ctx_new(0)};
    const char *z = "", *in = NULL, *name = NULL;
    size_t n_lines = 0, n_params = 0;
    bool defines = false, ends_open = false;

    cut_words(&r, text);
    for (r.at = 0; z && r.at < r.words.n; r.at = r.end) {
        size_t indent = r.words.v[r.at].indent;

        begin_line(&r);
        if (in && indent == 0) {
            ml_text_add(lua, "end\n");
            in = NULL;
        }
        if (!in && is_next(&r, "def")) {
            z = definition(&r, &name, &n_params);
            in = name;
            defines = true;
            ends_open = z != NULL;
        } else {
            bool read = !in ? indent == r.words.v[0].indent : indent > 0;

            z = read ? statement(&r) : NULL;
            n_lines += z && *z && !in;
            ends_open &= !z || in != NULL;
        }
        if (z && *z)
            ml_text_fmt(lua, "%s\n", z);
    }
    if (in)
        ml_text_add(lua, "end\n");
    if (z && defines && n_lines == 0 && n_params == 1) /* a printed trace alone */
        ml_text_fmt(lua, "%s(focus())\n", name);
    *habits = r.habits;
    ml_PythonIs is = r.open && r.habits ? ML_PYTHON_MORE
                     : !z               ? ML_PYTHON_NOT
                     : ends_open        ? ML_PYTHON_DEFINES
                                        : ML_PYTHON_IS;
    ml_ctx_unref(r.cx);
    return is;
}

/*
 * complete - what can stand where the cursor is.
 *
 * A command line is looked at word by word. In Lua a small scanner walks to the cursor and
 * keeps the calls and tables that are open, so that a string argument is known by the
 * primitive and the parameter it belongs to; it needs no complete line and never fails.
 * Source: interaction 4.
 */
#include "repl/complete.h"

#include "repl/command.h"
#include "repl/complete_impl.h"

/* ---- the Lua scanner */

enum { MAX_OPEN = 32, MAX_ARGS = 16 };

typedef struct Open {
    char kind;                  /* ( { [ */
    ml_Str callee;              /* a.b:c before it; empty: none */
    int arg;                    /* commas so far */
    ml_Str key;                 /* of a table: the name before the last = */
    ml_Str arg_text[MAX_ARGS];  /* string literals among the arguments */
    ml_Str loop_key, block_key; /* literals under the keys of that name */
} Open;

typedef struct Scan {
    const char *p;
    size_t n, at;
    Open open[MAX_OPEN];
    size_t depth;     /* may exceed MAX_OPEN: then nothing is offered */
    ml_Str chain;     /* names and separators just before `at`: a.b:c, a.b. */
    char quote;       /* the cursor is in a string that began with it; 0: it is not */
    size_t string_at; /* its first byte */
    bool nowhere;     /* in a comment or long string */
} Scan;

static bool is_name(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

static Open *top(Scan *s)
{
    return s->depth > 0 && s->depth <= MAX_OPEN ? &s->open[s->depth - 1] : NULL;
}

static void push(Scan *s, char kind)
{
    if (s->depth < MAX_OPEN)
        s->open[s->depth] = (Open){.kind = kind, .callee = s->chain};
    s->depth++;
    s->chain = (ml_Str){0};
}

static void note_literal(Scan *s, ml_Str text)
{
    Open *o = top(s);

    if (!o)
        return;
    if (o->key.n && ml_str_eq(o->key, ml_str("block")))
        o->block_key = text;
    else if (o->key.n)
        o->loop_key = ml_str_eq(o->key, ml_str("loop")) ? text : o->loop_key;
    else if (o->arg < MAX_ARGS)
        o->arg_text[o->arg] = text;
}

static void scan_string(Scan *s)
{
    char quote = s->p[s->at++];
    size_t from = s->at;

    if (s->chain.n) /* f "text": a call with one argument */
        push(s, '"');
    while (s->at < s->n && s->p[s->at] != quote)
        s->at += s->p[s->at] == '\\' ? 2 : 1;
    if (s->at >= s->n) {
        s->quote = quote;
        s->string_at = from;
        return;
    }
    note_literal(s, (ml_Str){s->p + from, s->at - from});
    s->at++;
    if (top(s) && top(s)->kind == '"')
        s->depth--;
    s->chain = (ml_Str){0};
}

/* [[ ]] and comments; false: it was none. */
static bool scan_long(Scan *s)
{
    const char *p = s->p + s->at;
    bool comment = s->at + 1 < s->n && p[0] == '-' && p[1] == '-';
    size_t k = comment ? 2 : 0, level = 0;

    if (s->at + k < s->n && p[k] == '[') {
        size_t m = k + 1;

        while (s->at + m < s->n && p[m] == '=') {
            m++;
            level++;
        }
        if (s->at + m < s->n && p[m] == '[') {
            for (s->at += m + 1; s->at < s->n; s->at++) {
                size_t e = 1;

                if (s->p[s->at] != ']')
                    continue;
                while (e <= level && s->at + e < s->n && s->p[s->at + e] == '=')
                    e++;
                if (e == level + 1 && s->at + e < s->n && s->p[s->at + e] == ']') {
                    s->at += e + 1;
                    return true;
                }
            }
            s->nowhere = true;
            return true;
        }
    }
    if (!comment)
        return false;
    while (s->at < s->n && s->p[s->at] != '\n')
        s->at++;
    s->nowhere = s->at == s->n;
    return true;
}

static void scan_name(Scan *s)
{
    size_t from = s->at;

    while (s->at < s->n && is_name(s->p[s->at]))
        s->at++;
    const char *end = s->chain.p ? s->chain.p + s->chain.n : NULL;

    if (s->chain.n && end == s->p + from && (end[-1] == '.' || end[-1] == ':'))
        s->chain.n += s->at - from;
    else
        s->chain = (ml_Str){s->p + from, s->at - from};
}

static void scan_mark(Scan *s)
{
    char c = s->p[s->at];
    Open *o = top(s);

    s->at++;
    switch (c) {
    case '(':
    case '{':
    case '[': push(s, c); return;
    case ')':
    case '}':
    case ']':
        if (s->depth > 0)
            s->depth--;
        break;
    case ',':
    case ';':
        if (o) {
            o->arg++;
            o->key = (ml_Str){0};
        }
        break;
    case '=':
        if (o && o->kind == '{' && s->chain.n && !(s->at < s->n && s->p[s->at] == '='))
            o->key = s->chain;
        break;
    case '.':
    case ':':
        if (s->chain.n && s->chain.p + s->chain.n == s->p + s->at - 1) {
            s->chain.n++;
            return;
        }
        /* After a call or an index: what stands before is not known. */
        s->chain = (ml_Str){s->p + s->at - 1, 1};
        return;
    default: break;
    }
    s->chain = (ml_Str){0};
}

static void scan(Scan *s)
{
    while (s->at < s->n && !s->quote && !s->nowhere) {
        char c = s->p[s->at];

        if (c == ' ' || c == '\t' || c == '\n')
            s->at++;
        else if (c == '"' || c == '\'')
            scan_string(s);
        else if ((c == '-' || c == '[') && scan_long(s))
            continue;
        else if (is_name(c))
            scan_name(s);
        else
            scan_mark(s);
    }
}

/* ---- which parameter */

/* The primitive that a.b:split or split calls; NULL: none. */
static const ml_Primitive *callee(ml_Offer *o, ml_Str chain)
{
    size_t from = chain.n;

    while (from > 0 && is_name(chain.p[from - 1]))
        from--;
    if (from > 0 && chain.p[from - 1] != ':')
        return NULL;
    const char *name = ml_strdup(o->cx, (ml_Str){chain.p + from, chain.n - from});

    if (ml_streq(name, "loops"))
        name = "get_loops";
    if (strncmp(name, "can_", 4) == 0)
        name += 4;
    return ml_primitive_find(name);
}

typedef struct Place {
    const ml_Primitive *prim;
    const ml_Param *param; /* NULL: not an argument of a primitive */
    const Open *call;
    bool in_list;
} Place;

static const ml_Param *by_position(const ml_Primitive *p, int pos)
{
    for (size_t k = 0; k < p->n_params; k++)
        if (p->params[k].kind == ML_P_LOOPS && pos >= (int)k)
            return &p->params[k]; /* takes all that follow */
    return pos < (int)p->n_params ? &p->params[pos] : NULL;
}

static const ml_Param *by_name(const ml_Primitive *p, ml_Str key)
{
    for (size_t k = 0; k < p->n_params; k++)
        if (ml_str_eq(key, ml_str(p->params[k].name)))
            return &p->params[k];
    return NULL;
}

static Place find_place(ml_Offer *o, Scan *s)
{
    Place pl = {0};

    if (s->depth > MAX_OPEN)
        return pl;
    for (size_t d = s->depth; d-- > 0;) {
        const Open *f = &s->open[d];

        if (f->kind == '{' && !f->callee.n) { /* a list inside an argument */
            pl.in_list = true;
            continue;
        }
        pl.prim = f->callee.n && f->kind != '[' ? callee(o, f->callee) : NULL;
        pl.call = f;
        if (pl.prim && f->kind == '{')
            pl.param = by_name(pl.prim, f->key);
        else if (pl.prim)
            pl.param = by_position(pl.prim, f->arg);
        return pl;
    }
    return pl;
}

/* The literal given for the first parameter of that kind in the call; NULL: none. */
static const char *given(ml_Offer *o, const Place *pl, ml_ParamKind kind)
{
    const Open *f = pl->call;
    ml_Str z = {0};

    for (size_t k = 0; k < pl->prim->n_params && !z.n; k++) {
        if (pl->prim->params[k].kind != kind)
            continue;
        if (f->kind == '(' && k < MAX_ARGS)
            z = f->arg_text[k];
        else if (ml_streq(pl->prim->params[k].name, "loop"))
            z = f->loop_key;
        else if (ml_streq(pl->prim->params[k].name, "block"))
            z = f->block_key;
    }
    return z.n ? ml_strdup(o->cx, z) : NULL;
}

static void offer_argument(ml_Offer *o, const Place *pl)
{
    switch ((ml_ParamKind)pl->param->kind) {
    case ML_P_NAME:
    case ML_P_BLOCK:
    case ML_P_BLOCKS: ml_offer_blocks(o); return;
    case ML_P_LOOP:
    case ML_P_LOOPS: ml_offer_loops(o); return;
    case ML_P_LOOP_OR_MARK:
    case ML_P_LOOP_BLOCKS:
    case ML_P_BLOCK_OR_LOOP:
        if (pl->param->kind != ML_P_LOOP_OR_MARK)
            ml_offer_blocks(o);
        ml_offer_loops(o);
        return;
    case ML_P_READ_BUFFER:
    case ML_P_WRITE_BUFFER:
        ml_offer_buffers(o, given(o, pl, ML_P_BLOCK), pl->param->kind == ML_P_WRITE_BUFFER);
        return;
    case ML_P_BUFFER:
        ml_offer_buffers(o, given(o, pl, ML_P_BLOCK), false);
        ml_offer_buffers(o, given(o, pl, ML_P_BLOCK), true);
        return;
    case ML_P_SCOPE: ml_offer_scopes(o); return;
    case ML_P_THREAD: ml_offer_threads(o); return;
    case ML_P_KEY:
        ml_offer_keys(o, given(o, pl, ML_P_BLOCK_OR_LOOP),
                      ml_streq(pl->prim->name, "unannotate"));
        return;
    case ML_P_FACTORS:
    case ML_P_INT:
    case ML_P_BOOL:
    case ML_P_STRING:
    case ML_P_VALUE:
    case ML_P_INTS:
    case ML_P_FLOATS:
    case ML_P_DECISION:
    case ML_P_PAD:
    case ML_P_MAP: return; /* no names */
    }
}

static bool takes_a_file(ml_Str chain)
{
    static const char *const NAMES[] = {"open",     "moon.open", "dofile",
                                        "loadfile", "io.open",   "io.lines"};

    for (size_t k = 0; k < ML_COUNT(NAMES); k++)
        if (ml_str_eq(chain, ml_str(NAMES[k])))
            return true;
    return false;
}

/* ---- Lua */

static ml_CompletionPlace complete_lua(ml_Offer *o, const char *line, size_t cursor)
{
    Scan s = {.p = line, .n = cursor};
    ml_CompletionPlace at = {.start = cursor};
    Place pl;

    scan(&s);
    if (s.nowhere)
        return at;
    pl = find_place(o, &s);
    if (s.quote) {
        at.start = s.string_at;
        at.after = s.quote;
        o->prefix = ml_strdup(o->cx, (ml_Str){line + at.start, cursor - at.start});
        if (pl.param)
            offer_argument(o, &pl);
        else if (pl.call && takes_a_file(pl.call->callee)) {
            at.after = '\0'; /* the name may be a folder's */
            ml_offer_files(o);
        }
        return at;
    }
    while (at.start > 0 && is_name(line[at.start - 1]))
        at.start--;
    o->prefix = ml_strdup(o->cx, (ml_Str){line + at.start, cursor - at.start});
    bool digits = cursor > at.start && line[at.start] >= '0' && line[at.start] <= '9';

    if (pl.param && pl.param->kind == ML_P_FACTORS &&
        (pl.in_list || pl.call->kind == '(') &&
        (digits || at.start == cursor || !s.chain.n || ml_streq(o->prefix, "a") ||
         (o->prefix[0] == 'a' && strncmp("auto", o->prefix, strlen(o->prefix)) == 0))) {
        ml_offer_factors(o, given(o, &pl, ML_P_LOOP));
        return at;
    }
    if (digits)
        return at;
    /* a.b: the path is what stands before the last separator */
    size_t path =
        s.chain.n - (cursor - at.start <= s.chain.n ? cursor - at.start : s.chain.n);

    if (s.chain.n && s.chain.p + s.chain.n != line + cursor)
        path = 0; /* a blank in between */
    if (path > 0) {
        if (path > 1)
            ml_offer_names(o, ml_strdup(o->cx, (ml_Str){s.chain.p, path - 1}));
        return at;
    }
    ml_offer_names(o, "");
    return at;
}

/* ---- commands */

/* The command whose name or unambiguous prefix it is; NULL: none. */
static const ml_Command *command_of(ml_Ctx *cx, const char *p, size_t n)
{
    ml_Text why = {0};
    const ml_Command *c = ml_command_find(ml_strdup(cx, (ml_Str){p, n}), &why);

    ml_text_free(&why);
    return c;
}

typedef struct Word { /* the word under the cursor and the one before */
    size_t start;
    size_t number; /* 0: the command's name */
    ml_Str last;
    bool redirected; /* behind > or >> */
} Word;

static Word find_word(const char *line, size_t from, size_t cursor)
{
    Word w = {.start = from};

    for (size_t k = from; k < cursor; k++) {
        if (line[k] != ' ' && line[k] != '\t')
            continue;
        if (k > w.start) {
            w.last = (ml_Str){line + w.start, k - w.start};
            w.redirected |= line[w.start] == '>';
            w.number++;
        }
        w.start = k + 1;
    }
    return w;
}

static void offer_options(ml_Offer *o, const char *const *options)
{
    for (; *options; options++)
        ml_offer(o, *options, "option");
}

static void offer_words(ml_Offer *o, const ml_Command *c, const Word *w)
{
    static const char *const CHECK[] = {"--seed", "--inputs", "--shape",
                                        "--rtol", "--atol",   NULL};
    static const char *const INPUTS[] = {"zeros",       "ones",   "iota",
                                         "adversarial", "random", NULL};
    static const char *const DIFF[] = {"--tree", "--trace", "--counts", NULL};
    static const char *const COUNTS[] = {"--all", NULL};
    static const char *const TRACE[] = {"--python", "--json", NULL};
    static const char *const GRAPH[] = {"loops", "deps", NULL};
    static const char *const UNDO[] = {"step", NULL};
    static const char *const SAVE[] = {"--all", NULL};
    static const char *const MEMORY[] = {"--threads", "--shape", "--budget", NULL};
    static const char *const PROFILE[] = {"--runs", "--cold", "--shape", NULL};
    static const char *const ROOFLINE[] = {"--cold", "--shape", NULL};
    static const char *const ASM[] = {"--diff", NULL};
    const char *name = c->name;

    if (ml_streq(name, "help") && w->number == 1)
        ml_offer_topics(o);
    else if (ml_streq(name, "explain") && w->number == 1)
        ml_offer_codes(o);
    else if (ml_streq(name, "set") && w->number == 1)
        ml_offer_settings(o);
    else if (ml_streq(name, "set") && w->number == 2)
        ml_offer_setting_values(o, ml_strdup(o->cx, w->last));
    else if ((ml_streq(name, "goto") || ml_streq(name, "before") ||
              ml_streq(name, "drop") || ml_streq(name, "edit")) &&
             w->number == 1)
        ml_offer_versions(o);
    else if (ml_streq(name, "diff")) {
        ml_offer_versions(o);
        offer_options(o, DIFF);
    } else if (ml_streq(name, "counts")) {
        ml_offer_loops(o);
        ml_offer_versions(o);
        offer_options(o, COUNTS);
    } else if (ml_streq(name, "show") || ml_streq(name, "tree")) {
        if (name[0] == 's')
            ml_offer_blocks(o);
        ml_offer_versions(o);
    } else if (ml_streq(name, "block") && w->number == 1)
        ml_offer_blocks(o);
    else if (ml_streq(name, "where") && w->number == 1) {
        ml_offer_blocks(o);
        ml_offer_loops(o);
        ml_offer_buffers(o, NULL, false);
    } else if (ml_streq(name, "focus"))
        ml_offer_schedules(o);
    else if (ml_streq(name, "save") && w->number > 1)
        offer_options(o, SAVE);
    else if (ml_streq(name, "open") || ml_streq(name, "save") || ml_streq(name, "source") ||
             ml_streq(name, "replay") || ml_streq(name, "shell") ||
             (ml_streq(name, "graph") && w->number == 2))
        ml_offer_files(o);
    else if (ml_streq(name, "graph"))
        offer_options(o, GRAPH);
    else if (ml_streq(name, "check"))
        offer_options(o, ml_str_eq(w->last, ml_str("--inputs")) ? INPUTS : CHECK);
    else if (ml_streq(name, "trace"))
        offer_options(o, TRACE);
    else if (ml_streq(name, "memory")) {
        ml_offer_buffers(o, NULL, false);
        offer_options(o, MEMORY);
    } else if (ml_streq(name, "profile"))
        offer_options(o, PROFILE);
    else if (ml_streq(name, "roofline"))
        offer_options(o, ROOFLINE);
    else if (ml_streq(name, "asm")) {
        if (ml_str_eq(w->last, ml_str("--diff")))
            ml_offer_versions(o);
        else {
            ml_offer_blocks(o);
            ml_offer_loops(o);
            offer_options(o, ASM);
        }
    } else if ((ml_streq(name, "undo") || ml_streq(name, "redo")) && w->number == 1)
        offer_options(o, UNDO);
}

/* from: where the command's name begins. */
static ml_CompletionPlace complete_command(ml_Offer *o, const char *line, size_t from,
                                           size_t cursor)
{
    Word w = find_word(line, from, cursor);
    ml_CompletionPlace at = {.start = w.start, .after = ' '};
    bool after_arrow = ml_str_eq(w.last, ml_str(">")) || ml_str_eq(w.last, ml_str(">>"));

    o->prefix = ml_strdup(o->cx, (ml_Str){line + w.start, cursor - w.start});
    if (w.number == 0) {
        ml_offer_commands(o);
        return at;
    }
    const ml_Command *c = command_of(o->cx, line + from, strcspn(line + from, " \t"));
    bool files = after_arrow;

    if (after_arrow)
        ml_offer_files(o);
    else if (c) {
        offer_words(o, c, &w);
        files = ml_streq(c->name, "open") || ml_streq(c->name, "save") ||
                ml_streq(c->name, "source") || ml_streq(c->name, "shell") ||
                ml_streq(c->name, "graph");
    }
    if (files)
        at.after = '\0';
    return at;
}

ml_CompletionPlace ml_completions(ml_Session *ss, const char *line, size_t cursor,
                                  ml_CandidateFn *fn, void *user)
{
    ml_Offer o = {.ss = ss, .cx = ml_ctx_new(0), .fn = fn, .user = user};
    ml_CompletionPlace at;
    size_t from = 0;

    while (from < cursor && (line[from] == ' ' || line[from] == '\t'))
        from++;
    if (from < cursor && line[from] == ':' &&
        !(from + 1 < cursor && line[from + 1] == ':')) {
        from++;
        while (from < cursor && line[from] == ' ')
            from++;
        at = complete_command(&o, line, from, cursor);
    } else if (from < cursor && line[from] == '?') {
        while (from < cursor && line[from] == '?')
            from++;
        at = (ml_CompletionPlace){.start = from};
        o.prefix = ml_strdup(o.cx, (ml_Str){line + from, cursor - from});
        ml_offer_topics(&o);
    } else if (from < cursor && line[from] == '!') {
        Word w = find_word(line, from + 1, cursor);

        at = (ml_CompletionPlace){.start = w.start};
        o.prefix = ml_strdup(o.cx, (ml_Str){line + w.start, cursor - w.start});
        ml_offer_files(&o);
    } else
        at = complete_lua(&o, line, cursor);
    ml_ctx_unref(o.cx);
    return at;
}

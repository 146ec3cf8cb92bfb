/*
 * complete - what can stand where the cursor is.
 *
 * A command line is looked at word by word; in Lua a string argument is known by the
 * primitive and the parameter it belongs to (scan).
 * Source: interaction 4.
 */
#include "repl/line/complete.h"

#include "moonloop/primitives/tokens.h"
#include "repl/command/command.h"
#include "repl/line/complete_impl.h"
#include "repl/line/scan.h"
#include "repl/line/takes.h"
#include "repl/line/trial.h"
#include "repl/run/language.h"

/* ---- which parameter */

/* The primitive that a.b:split or split calls; NULL: none. */
static const ml_Primitive *callee(ml_Offer *o, ml_Str chain)
{
    bool method;
    const char *name = ml_strdup(o->cx, ml_scan_last_name(chain, &method));

    if (!method)
        return NULL;
    if (ml_streq(name, "loops"))
        name = "get_loops";
    if (strncmp(name, "can_", 4) == 0)
        name += 4;
    return ml_primitive_find(name);
}

typedef struct Place {
    const ml_Primitive *prim;
    const ml_Param *param; /* NULL: not an argument of a primitive */
    const ml_ScanCall *call;
    bool in_list;
} Place;

static Place find_place(ml_Offer *o, ml_Scan *s)
{
    Place pl = {0};

    if (s->depth > ML_SCAN_OPEN)
        return pl;
    for (size_t d = s->depth; d-- > 0;) {
        const ml_ScanCall *f = &s->open[d];

        if (f->kind == '{' && !f->callee.n) { /* a list inside an argument */
            pl.in_list = true;
            continue;
        }
        pl.prim = f->callee.n && f->kind != '[' ? callee(o, f->callee) : NULL;
        pl.call = f;
        if (pl.prim && (f->kind != '{' || f->key.n))
            pl.param = ml_scan_param(pl.prim, f->arg, f->key);
        return pl;
    }
    return pl;
}

/* The literal given for the first parameter of that kind in the call; NULL: none. */
static const char *given(ml_Offer *o, const Place *pl, ml_ParamKind kind)
{
    const ml_ScanCall *f = pl->call;
    ml_Str z = {0};

    for (size_t k = 0; k < pl->prim->n_params && !z.n; k++) {
        if (pl->prim->params[k].kind != kind)
            continue;
        if (f->kind == '(' && k < ML_SCAN_ARGS)
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

/* The function of moon that gives the names which the first argument of `chain` may be; NULL:
 * none does. */
static const char *gives_words(ml_Str chain)
{
    static const char *const GIVES[][2] = {{"moon.workload", "workload.about"},
                                           {"moon.workload.about", "workload.about"},
                                           {"moon.workload.args", "workload.about"},
                                           {"moon.workload.set", "workload.set"},
                                           {"moon.net", "net"}};

    for (size_t k = 0; k < ML_COUNT(GIVES); k++) {
        bool global = strncmp(GIVES[k][0], "moon.workload", 13) == 0;

        if (ml_str_eq(chain, ml_str(GIVES[k][0])) ||
            (global && ml_str_eq(chain, ml_str(GIVES[k][0] + 5))))
            return GIVES[k][1];
    }
    return NULL;
}

/* ---- Lua */

static ml_CompletionPlace complete_lua(ml_Offer *o, const char *line, size_t cursor)
{
    ml_Scan s = {.p = line, .n = cursor};
    ml_CompletionPlace at = {.start = cursor};
    Place pl;

    ml_scan(&s);
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
        } else if (pl.call && pl.call->arg == 0 && gives_words(pl.call->callee))
            ml_offer_words(o, gives_words(pl.call->callee));
        return at;
    }
    while (at.start > 0 && ml_is_name_char(line[at.start - 1]))
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

void ml_completion_tilings(ml_Session *ss, const char *line, size_t cursor,
                           ml_CandidateFn *fn, void *user)
{
    ml_Offer o = {.ss = ss, .cx = ml_ctx_new(0), .fn = fn, .user = user, .prefix = ""};
    ml_Scan s = {.p = line, .n = cursor};
    size_t at = cursor;
    Place pl;

    ml_scan(&s);
    pl = find_place(&o, &s);
    while (at > 0 && line[at - 1] == ' ')
        at--;
    if (!s.nowhere && !s.quote && pl.in_list && pl.param &&
        pl.param->kind == ML_P_FACTORS && at > 0 && line[at - 1] == '{')
        ml_offer_tilings(&o, given(&o, &pl, ML_P_LOOP));
    ml_ctx_unref(o.cx);
}

bool ml_completion_close(const char *line, size_t n, ml_Text *out)
{
    ml_Scan s = {.p = line, .n = n};

    ml_scan(&s);
    if (s.nowhere || s.quote || s.depth > ML_SCAN_OPEN)
        return false;
    ml_text_addn(out, line, n);
    for (size_t d = s.depth; d-- > 0;)
        ml_text_char(out, s.open[d].kind == '(' ? ')' : s.open[d].kind == '{' ? '}' : ']');
    return true;
}

bool ml_completion_rejected(ml_Session *ss, const char *line, ml_CompletionPlace at,
                            const char *candidate, int budget_ms, ml_Text *why)
{
    ml_Offer o = {.ss = ss, .cx = ml_ctx_new(0)};
    ml_Scan s = {.p = line, .n = at.start};
    ml_Text text = {0}, call = {0};
    bool rejected = false;
    Place pl;

    ml_scan(&s);
    pl = find_place(&o, &s);
    /* More loops may follow the first; a list of factors is judged when it is whole. */
    bool early = !pl.prim || !pl.param || pl.param->kind == ML_P_FACTORS ||
                 (pl.param->kind == ML_P_LOOPS && pl.call->arg == 0 && !pl.in_list);

    if (!early && ss->focus && budget_ms > 0) {
        ml_text_addn(&text, line, at.start);
        ml_text_add(&text, candidate);
        if (at.after == '"' || at.after == '\'')
            ml_text_char(&text, at.after);
        if (ml_completion_close(ml_text_z(&text), text.n, &call)) {
            ml_Trial t;

            ml_trial(ss, ml_text_z(&call), budget_ms, false, &t);
            /* An argument that is missing comes later. */
            rejected = t.kind == ML_TRIAL_FAILS && t.code != ML_E_BAD_ARGUMENT;
            if (rejected)
                ml_text_addn(why, t.says.n ? t.says.p : "", t.says.n);
            ml_trial_free(&t);
        }
    }
    ml_text_free(&text);
    ml_text_free(&call);
    ml_ctx_unref(o.cx);
    return rejected;
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
} Word;

static Word find_word(const char *line, size_t from, size_t cursor)
{
    Word w = {.start = from};

    for (size_t k = from; k < cursor; k++) {
        if (line[k] != ' ' && line[k] != '\t')
            continue;
        if (k > w.start) {
            w.last = (ml_Str){line + w.start, k - w.start};
            w.number++;
        }
        w.start = k + 1;
    }
    return w;
}

static void offer_any_buffer(ml_Offer *o)
{
    ml_offer_buffers(o, NULL, false);
}

static void offer_running_jobs(ml_Offer *o)
{
    ml_offer_jobs(o, true);
}

static void offer_all_jobs(ml_Offer *o)
{
    ml_offer_jobs(o, false);
}

static void offer_spaces(ml_Offer *o)
{
    ml_offer_words(o, "space.names");
}

/* What the words behind a command name; words that stand for themselves and options stand in
 * its arguments (takes.h). */
static const struct {
    const char *commands;
    size_t number;              /* of the word, from 1; 0: any */
    const char *last;           /* the option whose value it is; NULL: of none */
    void (*offer)(ml_Offer *o); /* or NULL */
    const char *words;          /* or NULL */
} NAMED[] = {
    {"help", 1, NULL, ml_offer_topics, NULL},
    {"explain", 1, NULL, ml_offer_codes, NULL},
    {"set", 1, NULL, ml_offer_settings, NULL},
    {"set", 2, NULL, ml_offer_setting_values, NULL},
    {"check", 0, "--inputs", NULL, "zeros ones iota adversarial random"},
    {"time", 0, "--against", NULL, "openblas"},
    {"asm c ir llvm graph", 0, "--diff", ml_offer_versions, NULL},
    {"tune best adopt graph", 0, "--db", ml_offer_files, NULL},
    {"tune", 0, "--with", NULL,
     "evolve mutate beam greedy replay-trace random replay-func"},
    {"tune", 0, "--model", NULL, "xgb analytic random"},
    {"tune", 0, "--rule", NULL, "gradient round-robin"},
    {"tune", 0, "--space", offer_spaces, NULL},
    {"tune save", 0, "--target", NULL, "llvm native"},
    {"intrinsics", 0, "--target", ml_offer_targets, NULL},
    {"best", 0, "--by", NULL, "machine target shape"},
    {"view", 0, "--keys", ml_offer_files, NULL},
    {"ir", 0, NULL, ml_offer_passes, NULL},
    {"show block where asm", 0, NULL, ml_offer_blocks, NULL},
    {"intrinsics", 1, NULL, ml_offer_blocks, NULL},
    {"where counts asm", 0, NULL, ml_offer_loops, NULL},
    {"where memory", 0, NULL, offer_any_buffer, NULL},
    {"diff counts show tree", 0, NULL, ml_offer_versions, NULL},
    {"goto", 1, NULL, ml_offer_versions, NULL},
    {"before drop edit", 1, NULL, ml_offer_steps, NULL},
    {"focus", 0, NULL, ml_offer_schedules, NULL},
    {"graph", 2, NULL, ml_offer_files, NULL},
    {"save bug db", 1, NULL, ml_offer_files, NULL},
    {"db", 2, NULL, ml_offer_files, NULL},
    {"db", 3, NULL, ml_offer_files, NULL},
    {"recover", 2, NULL, NULL, "all"},
    {"open source replay shell record", 0, NULL, ml_offer_files, NULL},
    {"jobs", 1, NULL, offer_all_jobs, NULL},
    {"stop", 1, NULL, offer_running_jobs, NULL},
};

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

static void offer_options(ml_Offer *o, const ml_Takes *t)
{
    static const char *const NOTES[][2] = {
        {ML_BACKGROUND, "in a process of its own; see :help :jobs"},
        {"--wait", "until all have ended"}};

    for (size_t k = 0; k < t->options.n; k++) {
        const char *note = "option";

        for (size_t n = 0; n < ML_COUNT(NOTES); n++)
            if (ml_streq(t->options.v[k], NOTES[n][0]))
                note = NOTES[n][1];
        ml_offer(o, t->options.v[k], note);
    }
}

/* What is named there: the value of that option, or (NULL) a word of that number. Whether they
 * were names of files, which may go on behind a slash. */
static bool offer_named(ml_Offer *o, const ml_Command *c, const char *option, size_t number)
{
    bool files = false;

    for (size_t k = 0; k < ML_COUNT(NAMED); k++) {
        const char *last = NAMED[k].last, *words = NAMED[k].words;

        if (!has_word(NAMED[k].commands, c->name) || !last != !option ||
            (last && !ml_streq(last, option)) ||
            (NAMED[k].number && NAMED[k].number != number))
            continue;
        if (NAMED[k].offer)
            NAMED[k].offer(o);
        for (size_t n = 0; words && *words; words += n + (words[n] == ' ')) {
            n = strcspn(words, " ");
            ml_offer(o, ml_strdup(o->cx, (ml_Str){words, n}), "option");
        }
        files |= NAMED[k].offer == ml_offer_files;
    }
    return files;
}

/* typed: the words behind the command's name. Whether they were names of files. */
static bool offer_behind(ml_Offer *o, const ml_Command *c, ml_Str typed)
{
    ml_Takes t = ml_command_takes(o->cx, c, typed);
    bool files = false;

    if (t.option)
        files = offer_named(o, c, t.option, 0);
    if (t.option && !t.optional)
        return files;
    if (t.number && !t.option)
        files = offer_named(o, c, NULL, t.number);
    for (size_t k = 0; k < t.words.n && !t.option; k++)
        ml_offer(o, t.words.v[k], "option");
    if (!files || o->prefix[0] == '-')
        offer_options(o, &t);
    return files;
}

/* from: where the command's name begins. */
static ml_CompletionPlace complete_command(ml_Offer *o, const char *line, size_t from,
                                           size_t cursor)
{
    Word w = find_word(line, from, cursor);
    ml_CompletionPlace at = {.start = w.start, .after = ' '};
    size_t name = from + strcspn(line + from, " \t");
    const ml_Command *c = command_of(o->cx, line + from, name - from);
    bool files = ml_str_eq(w.last, ml_str(">")) || ml_str_eq(w.last, ml_str(">>"));

    o->prefix = ml_strdup(o->cx, (ml_Str){line + w.start, cursor - w.start});
    o->last = ml_strdup(o->cx, w.last);
    if (w.number == 0)
        ml_offer_commands(o);
    else if (files)
        ml_offer_files(o);
    else if (c)
        files = offer_behind(o, c, (ml_Str){line + name, w.start - name});
    if (files)
        at.after = '\0';
    return at;
}

ml_CompletionPlace ml_completions(ml_Session *ss, const char *line, size_t cursor,
                                  ml_CandidateFn *fn, void *user)
{
    ml_Offer o = {.ss = ss, .cx = ml_ctx_new(0), .fn = fn, .user = user};
    ml_CompletionPlace at;
    size_t from = strspn(line, " \t");

    switch (from < cursor ? ml_language_of_input(line) : ML_LANGUAGE_LUA) {
    case ML_LANGUAGE_COMMAND:
        from++;
        from += strspn(line + from, " ");
        at = complete_command(&o, line, from < cursor ? from : cursor, cursor);
        break;
    case ML_LANGUAGE_HELP:
        from += strspn(line + from, "?");
        at.start = from < cursor ? from : cursor;
        at.after = '\0';
        o.prefix = ml_strdup(o.cx, (ml_Str){line + at.start, cursor - at.start});
        ml_offer_topics(&o);
        break;
    case ML_LANGUAGE_SHELL:
        at.start = find_word(line, from + 1, cursor).start;
        at.after = '\0';
        o.prefix = ml_strdup(o.cx, (ml_Str){line + at.start, cursor - at.start});
        ml_offer_files(&o);
        break;
    case ML_LANGUAGE_LUA:
    case ML_LANGUAGE_SCRIPT: at = complete_lua(&o, line, cursor); break;
    }
    ml_ctx_unref(o.cx);
    return at;
}

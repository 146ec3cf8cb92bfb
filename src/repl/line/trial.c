/*
 * trial - a call tried while it is being typed, on a fork of the focus that is thrown away.
 *
 * A line is a row of statements, each a call of a primitive that may be assigned to names:
 * those stand for the results in the calls behind it. Everything else in the line, and a
 * name whose value is no argument, make it a line that is not tried.
 * Source: interaction 4 (live checks), 10.
 */
#include "repl/line/trial.h"

#include "moonloop/core/base/own_clock.h"
#include "moonloop/core/walk.h"
#include "moonloop/primitives/call_text.h"
#include "moonloop/primitives/tokens.h"
#include "repl/host/host.h"

enum { MAX_BOUND = 32, MAX_CALLS = 16 };

typedef struct Bound { /* a name of this line; without a result when it holds none */
    ml_Str name;
    bool known;
    ml_Results r;
} Bound;

typedef struct Trying {
    ml_Session *ss;
    ml_Ctx *tmp;       /* of this line */
    ml_Schedule *fork; /* NULL: nothing was applied yet */
    ml_Str rest;       /* of the line */
    Bound bound[MAX_BOUND];
    size_t n_bound;
    size_t n_calls;
    int64_t end; /* ms of ml_own_ns */
    ml_Trial *out;
} Trying;

/* ---- what names mean */

static Bound *find_bound(Trying *t, ml_Str name)
{
    for (size_t k = t->n_bound; k-- > 0;)
        if (ml_str_eq(t->bound[k].name, name))
            return &t->bound[k];
    return NULL;
}

static ml_Arg handle_arg(ml_Handle h)
{
    return h.kind == ML_H_NONE ? ML_ARG_AUTO : ML_ARG_HANDLE(h);
}

static bool value_of(void *user, ml_Str name, int64_t element, ml_Arg *out)
{
    Trying *t = user;
    const Bound *b = find_bound(t, name);

    if (!b)
        return ml_host_held_arg(t->ss->host, name, element, t->tmp, out);
    const ml_Handle *h = b->r.more ? b->r.more : b->r.v;

    if (!b->known || (element > 0) != b->r.is_list)
        return false;
    if (b->r.is_list ? (uint64_t)element > b->r.n : b->r.n == 0)
        return false;
    *out = handle_arg(h[element > 0 ? element - 1 : 0]);
    return true;
}

static bool means(void *user, ml_Str receiver, ml_Str prim)
{
    Trying *t = user;

    if (!ml_primitive_find(ml_strdup(t->tmp, prim)))
        return false;
    if (receiver.n > 0)
        return !find_bound(t, receiver) &&
               ml_host_holds(t->ss->host, receiver) == ML_HOLDS_FOCUS;
    return !find_bound(t, prim) && ml_host_holds(t->ss->host, prim) == ML_HOLDS_NOTHING;
}

/* ---- what a call did, in words */

static void add_part(ml_Text *says, const char *text)
{
    ml_text_fmt(says, "%s%s", says->n ? ", " : "", text);
}

typedef struct Guards {
    ml_Program was;
    const ml_Block *first;
    const ml_Expr *before; /* its predicate before; NULL: it is new */
    size_t n;
} Guards;

static void see_guard(const ml_Stmt *st, bool in_init, void *user)
{
    Guards *g = user;

    (void)in_init;
    ml_Uid uid = ml_stmt_uid(st);
    const ml_Stmt *old = uid ? ml_index_node(g->was.index, uid) : NULL;

    if (old == st) /* nothing in it changed */
        return;
    if (st->kind == ML_STMT_BLOCK && !ml_is_true(ml_as_block(st)->predicate)) {
        const ml_Block *b = ml_as_block(st);
        const ml_Expr *before =
            old && old->kind == ML_STMT_BLOCK ? ml_as_block(old)->predicate : NULL;

        if (before != b->predicate && g->n++ == 0) {
            g->first = b;
            g->before = before;
        }
    }
    ml_stmt_children(st, see_guard, g);
}

static void add_guard(Trying *t, ml_Program was, ml_Text *says)
{
    const ml_Func *f = ml_schedule_func(t->fork);
    Guards g = {.was = was};

    if (!f)
        return;
    see_guard(f->body, false, &g);
    if (g.n == 0)
        return;
    const ml_Expr *p = g.first->predicate;

    if (g.before && p->kind == ML_EXPR_AND && p->args[0] == g.before)
        p = p->args[1];
    ml_PrintOpts o = {.spelling = -1, .plain = true, .names = ml_schedule_names(t->fork)};

    add_part(says, "adds a guard ");
    ml_print_expr(t->tmp, says, p, &o);
    if (g.n > 1)
        ml_text_fmt(says, " (and to %zu more block%s)", g.n - 1, g.n == 2 ? "" : "s");
}

static void add_results(Trying *t, const ml_Results *r, ml_Text *says)
{
    const ml_Handle *h = r->more ? r->more : r->v;
    int64_t v;

    ml_text_fmt(says, "%sgives ", says->n ? ", " : "");
    for (size_t k = 0; k < r->n; k++) {
        ml_text_add(says, k ? ", " : "");
        if (ml_handle_value(t->fork, h[k], &v))
            ml_text_int(says, v);
        else if (h[k].kind == ML_H_BLOCK || h[k].kind == ML_H_LOOP)
            ml_text_add(says, ml_name_of(t->fork, h[k].uid));
        else
            ml_text_add(says, h[k].kind == ML_H_NONE          ? "auto"
                              : h[k].kind == ML_H_INLINE_MARK ? "inline"
                                                              : "root");
    }
    if (r->n == 0)
        ml_text_add(says, "nothing");
}

static void describe(Trying *t, const ml_Primitive *prim, ml_Program was,
                     const ml_Results *r)
{
    static const char ARROW[] = "→ ";
    ml_Text *says = &t->out->says;
    size_t before = says->n;
    const char *const *notes;
    ml_Step step;

    if (prim->no_version) {
        add_results(t, r, says);
        return;
    }
    if (ml_version_step(t->fork, ml_schedule_version(t->fork), &step)) {
        const char *at = step.headline ? strstr(step.headline, ARROW) : NULL;

        if (at)
            ml_text_fmt(says, "%smakes %s", says->n ? ", " : "", at + sizeof ARROW - 1);
    }
    add_guard(t, was, says);
    size_t n = ml_schedule_notes(t->fork, &notes);

    for (size_t k = 0; k < n; k++)
        add_part(says, notes[k]);
    if (says->n == before)
        ml_text_fmt(says, "%s%s works", says->n ? ", " : "", prim->name);
}

/* ---- trying */

static void fail(Trying *t, ml_Failure *f, const ml_Primitive *prim)
{
    ml_ErrorCode code = ml_failure_code(f);

    ml_text_clear(&t->out->says);
    /* Out of time, or of what this machine has: that says nothing of the call. */
    if (code == ML_E_INTERRUPTED || code == ML_E_WORK_LIMIT || code == ML_E_OUT_OF_MEMORY) {
        t->out->kind = ML_TRIAL_NONE;
    } else {
        t->out->kind = ML_TRIAL_FAILS;
        t->out->code = code;
        if (t->n_calls > 1)
            ml_text_fmt(&t->out->says, "%s: ", prim->name);
        ml_text_add(&t->out->says, ml_failure_message(f));
    }
    ml_failure_free(f);
}

static ml_Schedule *fork_focus(ml_Schedule *s, int budget_ms)
{
    ml_Schedule *fork = ml_schedule_fork_at(s, ml_schedule_version(s));

    ml_schedule_verify_each(fork, false);
    ml_ctx_set_deadline(ml_schedule_ctx(fork), budget_ms > 0 ? budget_ms : 1);
    return fork;
}

/* false: the line is decided. */
static bool apply(Trying *t, const ml_CallText *call, ml_Results *r)
{
    int64_t left = t->end - ml_own_ns() / 1000000;

    *r = (ml_Results){0};
    if (left <= 0) {
        t->out->kind = ML_TRIAL_NONE;
        return false;
    }
    if (!t->fork)
        t->fork = fork_focus(t->ss->focus, (int)left);
    ml_Program was = ml_schedule_program(t->fork);

    if (!ml_apply_prim(t->fork, call->prim, call->args, call->n, r)) {
        fail(t, ml_failure_take(t->fork), call->prim);
        return false;
    }
    t->out->kind = ML_TRIAL_WORKS;
    describe(t, call->prim, was, r);
    return true;
}

/* `local a, b =` or `a, b =`, which *text goes on behind; or nothing: *n is 0. */
static void take_targets(ml_Str *text, ml_Str *v, size_t max, size_t *n)
{
    ml_Tokens t = {.p = text->p, .n = text->n};
    ml_Token k = ml_token_code(&t);

    if (ml_token_is(k, "local"))
        k = ml_token_code(&t);
    for (*n = 0; k.kind == ML_TOKEN_NAME && *n < max; k = ml_token_code(&t)) {
        v[(*n)++] = k.text;
        k = ml_token_code(&t);
        if (ml_token_is(k, "=")) {
            *text = (ml_Str){t.p + t.at, t.n - t.at};
            return;
        }
        if (!ml_token_is(k, ","))
            break;
    }
    *n = 0;
}

/* Whether another statement follows: more than blanks, separators and comments. */
static bool goes_on(Trying *t)
{
    ml_Tokens rest = {.p = t->rest.p, .n = t->rest.n};
    ml_Token k;

    do
        k = ml_token_code(&rest);
    while (ml_token_is(k, ";"));
    t->rest.n -= (size_t)(k.text.p - t->rest.p);
    t->rest.p = k.text.p;
    return k.kind != ML_TOKEN_END;
}

/* No complete call: more may come, unless a sign that Lua does not have stands among the
 * arguments. */
static void say_foreign(Trying *t, ml_Str text)
{
    ml_Tokens rest = {.p = text.p, .n = text.n};
    ml_Token k;
    bool inside = false, foreign = false;

    t->out->kind = ML_TRIAL_NONE;
    do {
        k = ml_token_code(&rest);
        inside |= ml_token_is(k, "(") || ml_token_is(k, "{");
        foreign = inside && k.kind == ML_TOKEN_MARK && k.text.n == 1 &&
                  strchr("?!$@`\\", *k.text.p);
    } while (k.kind != ML_TOKEN_END && !foreign);
    if (!foreign)
        return;
    t->out->kind = ML_TRIAL_FAILS;
    t->out->code = ML_E_LUA_ERROR;
    ml_text_fmt(&t->out->says, "%c means nothing in Lua", *k.text.p);
}

/* false: the line is decided. */
static bool statement(Trying *t)
{
    ml_CallNames names = {t, value_of, means};
    ml_Str to[8];
    size_t n;
    ml_CallText call;
    ml_Results r;

    take_targets(&t->rest, to, ML_COUNT(to), &n);
    ml_Str text = t->rest;

    if (!ml_parse_call(t->tmp, &t->rest, &names, &call)) {
        t->n_calls++;
        if (call.text.n == 0)
            say_foreign(t, text);
        else
            fail(t, ml_failure_from(ml_error(t->tmp)), call.prim);
        return false;
    }
    if (++t->n_calls > MAX_CALLS || t->n_bound + n > MAX_BOUND) {
        t->out->kind = ML_TRIAL_NONE;
        return false;
    }
    if (!apply(t, &call, &r))
        return false;
    for (size_t k = 0; k < n; k++) /* the others are nil */
        t->bound[t->n_bound++] = (Bound){to[k], k == 0, k == 0 ? r : (ml_Results){0}};
    return true;
}

void ml_trial(ml_Session *ss, const char *line, int budget_ms, bool keep, ml_Trial *out)
{
    *out = (ml_Trial){0};
    if (!ss->focus || !ss->host || !strpbrk(line, "({"))
        return;
    Trying t = {.ss = ss,
                .tmp = ml_ctx_new(0),
                .rest = ml_str(line),
                .end = ml_own_ns() / 1000000 + budget_ms,
                .out = out};

    while (goes_on(&t) && statement(&t))
        ;
    if (out->kind == ML_TRIAL_NONE)
        ml_text_clear(&out->says);
    else if (t.fork && keep && out->kind == ML_TRIAL_WORKS)
        out->result = ml_schedule_ref(t.fork);
    ml_ctx_unref(t.tmp);
    ml_schedule_unref(t.fork);
}

void ml_trial_free(ml_Trial *t)
{
    ml_text_free(&t->says);
    ml_schedule_unref(t->result);
    *t = (ml_Trial){0};
}

ml_ErrorCode ml_trial_call(ml_Session *ss, const char *name, const ml_Arg *args, size_t n,
                           ml_Text *why)
{
    const ml_Primitive *prim = ml_primitive_find(name);
    ml_ErrorCode code = ML_E_OK;

    if (!prim)
        return ML_E_UNKNOWN_NAME;
    if (!ss->focus)
        return ML_E_OK;
    ml_Schedule *fork = fork_focus(ss->focus, ss->patient ? 600000 : ML_TRIAL_MS);

    if (!ml_apply_prim(fork, prim, args, n, NULL)) {
        ml_Failure *f = ml_failure_take(fork);

        code = ml_failure_code(f);
        if (code == ML_E_INTERRUPTED || code == ML_E_WORK_LIMIT ||
            code == ML_E_OUT_OF_MEMORY)
            code = ML_E_OK;
        else if (why)
            ml_text_add(why, ml_failure_message(f));
        ml_failure_free(f);
    }
    ml_schedule_unref(fork);
    return code;
}
